"""A network that solves an equation: second derivatives by its inputs inside the loss; Jacobians, Hessians, products, vmap."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Tensor, jacfwd, jacrev, jvp, nn, ops, vjp, vmap


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Dense(2, 8), nn.Dense(8, 8), nn.Dense(8, 1)

    def construct(self, x):
        return self.c(ops.sin(self.b(ops.tanh(self.a(x)))))


net = fill(Net())


def u(x, t):
    return net(ops.stack([x, t], -1)).sum()


du = ms.grad(u, (0, 1))


def du_dx(x, t):
    return du(x, t)[0].sum()


def loss_fn(x, t):
    ux, ut = du(x, t)
    uxx = ms.grad(du_dx)(x, t)
    value = net(ops.stack([x, t], -1)).squeeze(-1)
    residual = ut + value * ux - 0.01 * uxx
    start = net(ops.stack([x, ops.zeros_like(x)], -1)).squeeze(-1) + ops.sin(np.pi * x)
    return (residual ** 2).mean() + (start ** 2).mean()


optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
grad_fn = ms.value_and_grad(loss_fn, None, optimizer.parameters)
for step in range(3):
    loss, grads = grad_fn(Tensor(numbers(6, seed=step)), Tensor(np.abs(numbers(6, seed=9 + step))))
    optimizer(grads)
    show("loss", loss)


def f(x):
    return ops.sin(x[:2] * x[1:]) + x.sum()


def g(x):
    return (x ** 3).sum() * x[2] + x[0] * x[1]


def one(w, x):
    return ops.tanh(w * x).sum()


def member(w, b):
    return (ops.matmul(w, x) + b).max()


x = Tensor(numbers(3, seed=4))
show("jacrev", jacrev(f)(x))
show("jacfwd", jacfwd(f)(x))
show("hessian", jacfwd(jacrev(g))(x))
show("jvp", jvp(f, x, Tensor(numbers(3, seed=5)))[1])
out, pull = vjp(f, x)
pulled = pull(Tensor(numbers(2, seed=6)))
show("vjp is", type(pulled).__name__)
show("vjp", pulled[0] if isinstance(pulled, tuple) else pulled)
show("per sample", vmap(ms.grad(one), in_axes=(None, 0))(x, Tensor(numbers(4, 3, seed=7))))
show("ensemble", vmap(member, in_axes=(0, None))(Tensor(numbers(4, 2, 3)), Tensor([1.0, 2.0])))
totals(net)
