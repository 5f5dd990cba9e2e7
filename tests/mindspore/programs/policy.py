"""A policy learned by clipped ratios (PPO): distributions, advantages over a trajectory, an entropy bonus, a running norm of
observations held in Parameters, two heads, several passes over one batch; a discrete and a continuous policy."""
import numpy as np
from fixed import fill, show, totals

import mindspore as ms
import mindspore.nn.probability.distribution as msd
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Orthogonal, initializer


class RunningNorm(nn.Cell):
    def __init__(self, size):
        super().__init__()
        self.count = Parameter(Tensor(1e-3, ms.float32), name="count", requires_grad=False)
        self.mean = Parameter(ops.zeros((size,), ms.float32), requires_grad=False)
        self.var = Parameter(ops.ones((size,), ms.float32), requires_grad=False)

    def update(self, x):
        mean, var, count = x.mean(0), x.var(0), float(x.shape[0])
        delta, total = mean - self.mean, self.count + count
        m2 = self.var * self.count + var * count + delta * delta * self.count * count / total
        ops.assign(self.mean, self.mean + delta * count / total)
        ops.assign(self.var, m2 / total)
        ops.assign(self.count, total)
        return self.count

    def construct(self, x):
        return ops.clamp((x - self.mean) / ops.sqrt(self.var + 1e-8), -5, 5)


class ActorCritic(nn.Cell):
    def __init__(self, inside, actions, hidden=16):
        super().__init__()
        self.norm = RunningNorm(inside)
        self.body = nn.SequentialCell([nn.Dense(inside, hidden, weight_init=Orthogonal(1.4)), nn.Tanh(),
                                       nn.Dense(hidden, hidden), nn.Tanh()])
        self.actor, self.critic = nn.Dense(hidden, actions), nn.Dense(hidden, 1)
        self.log_std = Parameter(Tensor(np.full(actions, -0.5), ms.float32), name="log_std")

    def construct(self, observation):
        hidden = self.body(self.norm(observation))
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


class CartPole:
    """The usual equations of a pole on a cart; starts where it is told."""

    def __init__(self, start):
        self.state, self.left = np.array(start, np.float64), 40

    def step(self, force):
        x, v, angle, speed = self.state
        cos, sin = np.cos(angle), np.sin(angle)
        part = (force + 0.05 * speed ** 2 * sin) / 1.1
        turn = (9.8 * sin - cos * part) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        push = part - 0.05 * turn * cos / 1.1
        self.state = np.array([x + 0.02 * v, v + 0.02 * push, angle + 0.02 * speed, speed + 0.02 * turn])
        self.left -= 1
        return self.state.astype(np.float32), 1.0 - angle ** 2, bool(abs(self.state[2]) > 0.2 or self.left == 0)


def advantages(rewards, values, done, last, gamma=0.98, lam=0.95):
    found, running = np.zeros(len(rewards), np.float32), 0.0
    for t in reversed(range(len(rewards))):
        following = last if t == len(rewards) - 1 else values[t + 1]
        running = rewards[t] + gamma * following * (1 - done[t]) - values[t] + gamma * lam * (1 - done[t]) * running
        found[t] = running
    return found, found + values


net = ActorCritic(4, 2)
show("orthogonal", [list(initializer(Orthogonal(1.0), (4, 4), ms.float32).shape)])
fill(net)
net.norm.var.set_data(ops.ones((4,), ms.float32))
net.norm.count.set_data(Tensor(1e-3, ms.float32))
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01, eps=1e-5)
categorical, normal = msd.Categorical(), msd.Normal()
draws = np.random.RandomState(6).uniform(0.05, 0.95, (2, 32))


def collect(number):
    env, rows = CartPole(np.random.RandomState(number).uniform(-0.05, 0.05, 4)), []
    observation = env.state.astype(np.float32)
    for t in range(32):
        logits, value = net(Tensor(observation[None]))
        probs = ops.softmax(logits, -1).asnumpy()[0]
        action = int(draws[number, t] > probs[0])
        after, reward, done = env.step(10.0 if action else -10.0)
        rows.append((observation, action, reward, float(done), float(value.asnumpy()[0]), float(np.log(probs[action]))))
        observation = after
        if done:
            env = CartPole([0.0, 0.01 * t, 0.02, 0.0])
            observation = env.state.astype(np.float32)
    last = float(net(Tensor(observation[None]))[1].asnumpy()[0])
    return [np.array(column, np.float32) for column in zip(*rows)], last


def ppo_loss(observation, action, old, advantage, target):
    logits, value = net(observation)
    probs = ops.softmax(logits, -1)
    log_prob = categorical.log_prob(action, probs)
    ratio = ops.exp(log_prob - old)
    surrogate = ops.minimum(ratio * advantage, ops.clamp(ratio, 0.8, 1.2) * advantage)
    entropy = categorical.entropy(probs).mean()
    policy, critic = -surrogate.mean(), ops.smooth_l1_loss(value, target, reduction="mean")
    return policy + 0.5 * critic - 0.01 * entropy, (policy, critic, entropy)


grad_fn = ms.value_and_grad(ppo_loss, None, optimizer.parameters, has_aux=True)
for number in range(2):
    (observation, action, reward, done, value, old), last = collect(number)
    show("played", [int(action.sum()), float(done.sum()), round(float(reward.sum()), 4)])
    net.norm.update(Tensor(observation))
    advantage, target = advantages(reward, value, done, last)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for epoch in range(2):
        for part in np.array_split(np.random.RandomState(epoch).permutation(32), 2):
            batch = [Tensor(a[part]) for a in (observation, action.astype(np.int32), old, advantage, target)]
            (loss, parts), grads = grad_fn(*batch)
            grads = ops.clip_by_global_norm(grads, 0.5)
            optimizer(grads)
            show("loss", [float(loss.asnumpy()), *[float(p.asnumpy()) for p in parts]])
totals(net)


@ms.jit
def continuous(observation, action):
    mean, _ = net(observation)
    std = ops.exp(net.log_std)
    squashed = ops.tanh(action)
    density = normal.log_prob(action, mean, std) - ops.log(1 - squashed ** 2 + 1e-6)
    return density.sum(-1), normal.entropy(mean, std).sum(-1), normal.kl_loss("Normal", mean, std, mean * 0.5, std * 1.5).mean()


density, entropy, divergence = continuous(Tensor(observation[:4]), Tensor(np.linspace(-1, 1, 8).reshape(4, 2).astype(np.float32)))
show("density", density)
show("entropy", entropy)
show("divergence", divergence)
