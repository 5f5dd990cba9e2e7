"""Programs that are run while one function of mindlite raises what it never should.

Each is given a number that it has not seen, so that no kernel or graph of an earlier run is taken for it.
"""
import numpy as np

import mindlite as ms
from mindlite import Tensor, nn, ops


def vector(*values):
    return Tensor(np.array(values, np.float32))


def loops(k):
    @ms.jit
    def total(x):
        count = 0
        while x.sum() < 40.0 + k:
            x = x * 1.5 + k
            count = count + 1
            if count > 5:
                break
        for i in range(40):
            x = ops.tanh(x) * i
        for row in x.reshape((2, 2)):
            x = x + row.sum()
        return x, count
    return total(vector(1, 2, 3, 4))


def branches(k):
    @ms.jit
    def chosen(x, n):
        if x.sum() > k:
            y = x * k
        elif x.max() > 0:
            y = x - k
        else:
            return x
        if n > 2:
            y = y if y.sum() > 0 else -y
        assert y.shape == (3,), "a vector"
        if y.sum() < -1e9:
            raise ValueError(f"too small: {y.sum()}")
        return y
    return chosen(vector(1, 2, 3), 3), chosen(vector(1, 2, 3), 1)


def containers(k):
    @ms.jit
    def gathered(x):
        items, table = [x, x * k], {"a": x}
        for i in range(3):
            items.append(items[-1] + i)
        table["b"] = ops.stack(items[1:3])
        first, *rest = items
        if x.sum() > 0:
            items[0] = first + 1
        total = sum([v.sum() for v in rest if v is not None])
        return items, table, (total, len(items)), [name for name, _ in table.items()], f"{k}: {total}"
    return gathered(vector(1, 2))


def closures(k):
    @ms.jit
    def outer(x):
        count = 0

        def scale(v, by=k):
            nonlocal count
            count += 1
            return v * by

        def twice(f):
            return lambda v: f(f(v))

        def numbers(n):
            for i in range(n):
                yield i * x
        try:
            y = twice(scale)(x) + sum(numbers(3))
            y = y / (1 // count)
        except ZeroDivisionError:
            y = x
        match count:
            case 2:
                y = y + k
        return y, count
    return outer(vector(1, 2))


def recursion(k):
    def power(x, n):
        if n <= 0:
            return x
        return power(x * k, n - 1)

    @ms.jit
    def called(x, n):
        return power(x, n.sum())
    return called(vector(1, 2), Tensor(np.array([1, 2], np.int32)))


def gradient(k):
    def loss(x, w):
        for _ in range(3):
            x = ops.tanh(x @ w) * k
        if x.sum() > 0:
            x = x * x
        while x.sum() > 1:
            x = x * 0.5
        return x.sum()
    x, w = Tensor(np.eye(3, dtype=np.float32)), Tensor(np.full((3, 3), 0.3, np.float32))
    outside = ms.grad(ms.jit(loss), (0, 1))(x, w)
    inside = ms.jit(ms.value_and_grad(loss, (0, 1)))(x, w)
    pushed = ms.jit(lambda x, w: ops.jvp(lambda w: loss(x, w), (w,), (w,)))(x, w) if hasattr(ops, "jvp") else None
    return outside, inside, pushed


def mapped(k):
    def one(x, y):
        if x.sum() > k:
            return x * y
        return x - y
    xs = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2))
    return ms.jit(ms.vmap(one, (0, None)))(xs, vector(1, 2)), ms.vmap(ms.grad(lambda x: (x * k).sum()))(xs)


class Network(nn.Cell):
    def __init__(self, k):
        super().__init__()
        self.first, self.second, self.k = nn.Dense(4, 8), nn.Dense(8, 2), k

    def construct(self, x):
        return self.second(ops.relu(self.first(x)) * self.k)


def training(k):
    network = Network(k)
    optimiser, criterion = nn.Momentum(network.trainable_params(), 0.01, 0.9), nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, lambda out, label: criterion(out, label).mean()), optimiser)
    x, label = Tensor(np.ones((5, 4), np.float32)), Tensor(np.array([0, 1, 0, 1, 1], np.int32))
    run = ms.jit(lambda x, label: step(x, label))
    return [run(x, label) for _ in range(3)]


def fallback(k):
    kept = []

    @ms.jit
    def partly(x):
        y = x * k
        z = Tensor(np.sort(y.asnumpy())[::-1].copy())
        kept.append(1)
        if z.sum() > 0:
            z = z + k
        return z * 2
    return [partly(vector(3, 1, 2)) for _ in range(3)], ms.grad(lambda x: partly(x).sum())(vector(3, 1, 2))


def dynamic(k):
    @ms.jit
    def padded(x, n):
        if x.shape[0] > 4:
            x = x[1:]
        found = ops.nonzero(x > k)
        return x.sum() + found.shape[0] * n, ops.concat((x, x * k))
    return [padded(Tensor(np.arange(n, dtype=np.float32)), n) for n in (3, 4, 5, 7)]


def eager(k):
    def loss(x, w):
        y = ops.gelu(x @ w)
        return (y * k).sum() + ops.softmax(y).max()
    x, w = Tensor(np.eye(3, dtype=np.float32) * k), Tensor(np.full((3, 3), 0.3, np.float32))
    second = ms.grad(lambda w: ms.grad(loss, 1)(x, w).sum())
    return [ms.value_and_grad(loss, (0, 1))(x, w) for _ in range(3)], second(w)


PROGRAMS = (loops, branches, containers, closures, recursion, gradient, mapped, training, fallback, dynamic, eager)
