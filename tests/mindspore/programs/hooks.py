"""Gradients of one's own: bprop, hooks, stopped gradients, depend, recompute, inner assignment, custom functions."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops


class Swish(nn.Cell):
    def construct(self, x):
        return x * ops.sigmoid(x)

    def bprop(self, x, out, dout):
        s = ops.sigmoid(x)
        return (dout * (s + x * s * (1 - s)) * 0.5,)


class STE(nn.Cell):
    def construct(self, x):
        return ops.stop_gradient(ops.round(x) - x) + x


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.act, self.ste, self.b = nn.Dense(4, 6), Swish(), STE(), nn.Dense(6, 2)
        self.count = Parameter(Tensor(0, ms.int32), name="count", requires_grad=False)
        self.mean = Parameter(Tensor(np.zeros(6), ms.float32), name="mean", requires_grad=False)

    def construct(self, x):
        ops.assign_add(self.count, Tensor(1, ms.int32))
        h = self.act(self.a(x))
        self.mean = 0.9 * self.mean + 0.1 * ops.stop_gradient(h).mean(0)
        return self.b(self.ste(h) - self.mean)


net = fill(nn.SequentialCell(Net()))
inner = net[0]
inner.a.recompute()
optimizer = nn.Adam(net.trainable_params(), 0.01)


def loss_fn(x):
    return ops.norm(net(x)) + (inner.a.weight ** 2).sum() * 0.01


grad_fn = ms.value_and_grad(loss_fn, 0, optimizer.parameters)
for step in range(3):
    loss, (dx, grads) = grad_fn(Tensor(numbers(5, 4, seed=step)))
    optimizer(grads)
    show("loss", loss)
    show("dx", dx)
show("count", inner.count)
show("mean", inner.mean)


def power(x, n):
    total = x
    while n > 1:
        total, n = total * x, n - 1
    return total


def branch(x):
    if x.sum() > 0:
        return ops.exp(x)
    return x * 2


def early(xs):
    total = Tensor(0.0, ms.float32)
    for x in xs:
        if x > 3:
            break
        if x < 0:
            continue
        total = total + x * x
    return total


jitted = [ms.jit(f) for f in (power, branch, early)]
show("power", ms.grad(jitted[0])(Tensor([1.0, 2.0, -1.5]), 3))
show("branch", [ms.grad(jitted[1])(Tensor(v)).asnumpy().round(5).tolist() for v in ([1.0, 0.5], [-1.0, 0.5])])
show("early", [float(jitted[2](Tensor(v, ms.float32)).asnumpy()) for v in ([1, -2, 2, 4, 1], [5], [-1, 1])])
totals(net)
