"""Equations learned: derivatives of a network by its inputs in the loss (Burgers), Hessians by vmap, an operator network, an
ensemble of networks trained in one vmap, a fit by conjugate directions with products of Hessian and vector."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops


class Sine(nn.Cell):
    def construct(self, x):
        return ops.sin(x)


class FCBlock(nn.Cell):
    def __init__(self, inside, outside, width=12, depth=2, activation=nn.Tanh):
        super().__init__()
        layers = [nn.Dense(inside, width), activation()]
        for _ in range(depth - 1):
            layers += [nn.Dense(width, width), activation()]
        self.layers = nn.SequentialCell(*layers, nn.Dense(width, outside))

    def construct(self, x):
        return self.layers(x)


net = fill(FCBlock(2, 1), scale=0.4)
nu = Parameter(Tensor(0.05, ms.float32), name="nu")


def u(x, t):
    return net(ops.stack((x, t), 1)).squeeze(-1)


u_x, u_t = ms.grad(u, 0), ms.grad(u, 1)
u_xx = ms.grad(u_x, 0)


def residual(x, t):
    return u_t(x, t) + u(x, t) * u_x(x, t) - nu * u_xx(x, t)


points = Tensor(np.random.RandomState(3).uniform(-1, 1, (16, 2)).astype(np.float32))
start = Tensor(np.linspace(-1, 1, 9).astype(np.float32))


def loss_fn():
    inside = residual(points[:, 0], points[:, 1])
    at_start = u(start, ops.zeros_like(start)) + ops.sin(np.pi * start)
    return ops.mse_loss(inside, ops.zeros_like(inside)), ops.reduce_mean(ops.square(at_start))


def total():
    equation, initial = loss_fn()
    return equation + 2 * initial, (equation, initial)


params = ms.ParameterTuple([*net.trainable_params(), nu])
optimizer = nn.Adam(params, nn.exponential_decay_lr(0.02, 0.9, 8, 2, 1))
step_fn = ms.value_and_grad(total, None, params, has_aux=True)
for _ in range(5):
    (loss, parts), grads = step_fn()
    optimizer(grads)
    show("loss", [float(loss.asnumpy()), *[float(p.asnumpy()) for p in parts]])
show("nu", nu)


def value_at(point):
    return net(point.reshape(1, 2)).sum()


hessian = ms.jacfwd(ms.jacrev(value_at))
show("hessian", [hessian(point).asnumpy().round(5).tolist() for point in points[:3]])
totals(net)


class OperatorNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.branch, self.trunk = FCBlock(6, 8, activation=nn.ReLU), FCBlock(1, 8, activation=Sine)
        self.bias = Parameter(Tensor([0.0], ms.float32), name="bias")

    def construct(self, functions, places):
        return ops.matmul(self.branch(functions), self.trunk(places).swapaxes(0, 1)) + self.bias


operator = fill(OperatorNet(), scale=0.5)
places = Tensor(np.linspace(0, 1, 7).astype(np.float32).reshape(-1, 1))
coefficients = numbers(5, 6, seed=8)
wanted = Tensor((coefficients @ np.stack([places.asnumpy()[:, 0] ** (k + 1) / (k + 1) for k in range(6)])).astype(np.float32))
weights = operator.trainable_params()
optimizer = nn.RMSProp(weights, learning_rate=0.01, decay=0.9, centered=True)
slope = ms.value_and_grad(lambda f: ops.mse_loss(operator(f, places), wanted), None, weights)
for _ in range(3):
    loss, grads = slope(Tensor(coefficients))
    optimizer(grads)
    show("operator", loss)

members, x = 3, Tensor(numbers(10, 4, seed=20))
y = Tensor(numbers(10, 1, seed=21))
w1, w2 = Tensor(numbers(members, 4, 6, seed=22, scale=0.5)), Tensor(numbers(members, 6, 1, seed=23, scale=0.5))


def member_loss(w1, w2, x, y):
    error = ops.matmul(ops.tanh(ops.matmul(x, w1)), w2) - y
    return (error * error).sum() / 10


@ms.jit
def ensemble_step(w1, w2):
    loss, (g1, g2) = ops.vmap(ms.value_and_grad(member_loss, (0, 1)), (0, 0, None, None))(w1, w2, x, y)
    return loss, w1 - 0.1 * g1, w2 - 0.1 * g2


for _ in range(3):
    loss, w1, w2 = ensemble_step(w1, w2)
    show("ensemble", loss)


def energy(v):
    return member_loss(v.reshape(4, 6), w2[0], x, y) + 0.05 * (v * v).sum()


slope = ms.grad(energy)


def hvp(v, direction):
    _, product = ms.jvp(slope, v, direction)
    return product


v = w1[0].reshape(-1)
for _ in range(2):
    residue, found = -slope(v), ops.zeros_like(v)
    direction, norm = residue, ops.dot(residue.reshape(1, -1), residue.reshape(-1, 1)).squeeze()
    for _ in range(2):
        product = hvp(v, direction)
        alpha = norm / (direction * product).sum()
        found, residue = found + alpha * direction, residue - alpha * product
        after = (residue * residue).sum()
        direction, norm = residue + after / norm * direction, after
    v = v + found
    show("energy", energy(v))
