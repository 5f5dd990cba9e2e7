"""Q learning with a target network: actions are gathered, targets carry no gradient, weights are copied."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Tensor, nn, ops


class QNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(4, 16, weight_init="zeros")
        self.value, self.advantage = nn.Dense(16, 1), nn.Dense(16, 3)

    def construct(self, state):
        h = ops.relu(self.fc1(state))
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(-1, keep_dims=True)


policy, target = fill(QNet(), 1), QNet()
for p in target.get_parameters():
    p.name = f"target.{p.name}"
pairs = list(zip(policy.get_parameters(), target.get_parameters()))
for source, copy in pairs:
    ops.assign(copy, source)
optimizer = nn.AdamWeightDecay(policy.trainable_params(), learning_rate=0.02, weight_decay=0.01)
huber = nn.HuberLoss(delta=0.5)


def loss_fn(state, action, reward, following, done):
    value = policy(state).gather_elements(1, action.reshape(-1, 1)).squeeze(1)
    best = target(following).max(axis=1)
    wanted = reward + 0.9 * ops.stop_gradient(best) * (1 - done)
    return huber(value, wanted)


grad_fn = ops.value_and_grad(loss_fn, None, optimizer.parameters)
random = np.random.RandomState(8)
for step in range(6):
    batch = (Tensor(numbers(5, 4, seed=step)), Tensor(random.randint(0, 3, 5), ms.int32), Tensor(numbers(5, seed=20 + step)),
             Tensor(numbers(5, 4, seed=40 + step)), Tensor(random.randint(0, 2, 5), ms.float32))
    loss, grads = grad_fn(*batch)
    optimizer(grads)
    show("loss", loss)
    if step % 3 == 2:
        for source, copy in pairs:
            copy.set_data(source * 0.5 + copy * 0.5)
show("greedy", policy(batch[0]).argmax(axis=1))
show("target", target(batch[0]))
totals(policy)
