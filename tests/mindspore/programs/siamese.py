"""Likeness learned: pairs and triplets through one network, a margin, cosines, a contrastive loss over a batch (InfoNCE), a
momentum encoder with a queue of keys, metrics of retrieval."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops


class Encoder(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 5, 3, pad_mode="same")
        self.bn = nn.BatchNorm1d(5)
        self.pool = nn.AdaptiveMaxPool1d(2)
        self.head = nn.SequentialCell(nn.Flatten(), nn.Dense(10, 6), nn.LeakyReLU(0.1), nn.Dense(6, 4, has_bias=False))

    def construct(self, x):
        x = self.pool(ops.relu(self.bn(self.conv(x))))
        return ops.L2Normalize(axis=-1)(self.head(x))


class MomentumContrast(nn.Cell):
    def __init__(self, query, key, size=12, momentum=0.9, temperature=0.2):
        super().__init__()
        self.query, self.key = query, key
        self.momentum, self.temperature, self.size = momentum, temperature, size
        self.queue = Parameter(Tensor(numbers(size, 4, seed=30)), name="queue", requires_grad=False)
        self.place = Parameter(Tensor(0, ms.int32), name="place", requires_grad=False)
        self.assign = ops.Assign()

    def construct(self, one, other):
        q = self.query(one)
        k = ops.stop_gradient(self.key(other))
        queue = ops.stop_gradient(self.queue.value())
        logits = ops.cat((ops.sum(q * k, -1, keepdim=True), ops.matmul(q, queue.T)), axis=1) / self.temperature
        loss = ops.cross_entropy(logits, ops.zeros(q.shape[0], ms.int32))
        rows = (self.place + ops.arange(q.shape[0])) % self.size
        ops.scatter_update(self.queue, rows.astype(ms.int32), k)
        self.assign(self.place, (self.place + q.shape[0]) % self.size)
        return loss

    def follow(self):
        for slow, fast in zip(self.key.get_parameters(), self.query.get_parameters()):
            if slow.name.endswith(("moving_mean", "moving_variance")):
                continue
            slow.set_data(Tensor(slow.asnumpy() * self.momentum + fast.asnumpy() * (1 - self.momentum)))


net = fill(Encoder(), seed=3)
anchor, near, far = (Tensor(numbers(8, 2, 8, seed=k)) for k in (1, 2, 3))


def triplet(anchor, near, far, margin=0.5):
    near, far = (ops.sqrt(((anchor - other) ** 2).sum(-1) + 1e-6) for other in (near, far))
    return ops.relu(near - far + margin).mean()


cosine = nn.CosineEmbeddingLoss(margin=0.1)
sign = Tensor(np.array([1, -1] * 4), ms.int32)


def loss_fn(a, p, n):
    one, two, three = net(a), net(p), net(n)
    return triplet(one, two, three) + cosine(one, two, sign), (one, two)


optimizer = nn.Rprop(net.trainable_params(), learning_rate=0.01)
grad_fn = ms.value_and_grad(loss_fn, None, optimizer.parameters, has_aux=True)
net.set_train()
for _ in range(4):
    (loss, (one, two)), grads = grad_fn(anchor, near, far)
    optimizer(grads)
    show("triplet", loss)
show("distance", ops.cdist(one, two).mean(axis=1))

one, two = fill(Encoder(), seed=5), fill(Encoder(), seed=5)
contrast = MomentumContrast(one, two)
contrast.set_train()
params = [p for p in contrast.trainable_params() if not p.name.startswith("key")]
optimizer = nn.Momentum(params, 0.05, 0.9, weight_decay=1e-3)
grad_fn = ms.value_and_grad(contrast, None, optimizer.parameters)
for step in range(4):
    loss, grads = grad_fn(Tensor(numbers(5, 2, 8, seed=10 + step)), Tensor(numbers(5, 2, 8, seed=20 + step)))
    optimizer(grads)
    contrast.follow()
    show("contrast", loss)
show("place", int(contrast.place.asnumpy()))
show("queue", contrast.queue.asnumpy()[:6])
one.set_train(False)
found = one(anchor)
order = ops.argsort(ops.matmul(found, found.T), axis=-1, descending=True)
show("order", order[:, 0])
totals(one)
