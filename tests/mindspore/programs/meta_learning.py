"""Learning to learn (MAML): an inner step inside the function whose gradient is taken, tasks by vmap, second order; implicit
layers by a loop to a fixed point; a differential equation solved in a scan of Runge-Kutta steps."""
import numpy as np
from fixed import numbers, show

import mindspore as ms
from mindspore import Tensor, jit, ops

SIZES = ((1, 8), (8,), (8, 1), (1,))
weights = tuple(Tensor(numbers(*size, seed=number, scale=0.5)) for number, size in enumerate(SIZES))


def net(params, x):
    w1, b1, w2, b2 = params
    return ops.matmul(ops.tanh(ops.matmul(x, w1) + b1), w2) + b2


def loss(w1, b1, w2, b2, x, y):
    return ((net((w1, b1, w2, b2), x) - y) ** 2).mean()


inner = ms.grad(loss, (0, 1, 2, 3))


def adapted(w1, b1, w2, b2, x, y, rate=0.1):
    params = (w1, b1, w2, b2)
    slopes = inner(w1, b1, w2, b2, x, y)
    return tuple(p - rate * g for p, g in zip(params, slopes))


def task_loss(w1, b1, w2, b2, support_x, support_y, query_x, query_y):
    new = adapted(w1, b1, w2, b2, support_x, support_y)
    return loss(new[0], new[1], new[2], new[3], query_x, query_y)


def batch_loss(w1, b1, w2, b2, tasks):
    each = ms.vmap(task_loss, (None, None, None, None, 0, 0, 0, 0))
    return each(w1, b1, w2, b2, tasks[0], tasks[1], tasks[2], tasks[3]).mean()


outer = ms.value_and_grad(batch_loss, (0, 1, 2, 3))
random = np.random.RandomState(9)
phases = random.uniform(0, 3, (4, 1, 1)).astype(np.float32)
support, query = (random.uniform(-2, 2, (4, 5, 1)).astype(np.float32) for _ in range(2))
tasks = tuple(Tensor(part) for part in (support, np.sin(support + phases), query, np.sin(query + phases)))
for step in range(4):
    value, slopes = outer(*weights, tasks)
    weights = tuple(w - 0.2 * g for w, g in zip(weights, slopes))
    show("outer", value)
new = adapted(*weights, tasks[0][0], tasks[1][0])
show("before", loss(*weights, tasks[2][0], tasks[3][0]))
show("after", loss(*new, tasks[2][0], tasks[3][0]))
first = ms.grad(lambda w, x: (ops.tanh(w * x) ** 3).sum())
second = ms.grad(lambda w, x: first(w, x).sum())
show("third", ms.grad(lambda w, x: second(w, x).sum())(Tensor([0.3, -0.2]), Tensor([1.5, 2.0])))


@jit
def fixed_point(a, x):
    """z = tanh(a z + x) by repetition until it stands still."""
    z = ops.zeros_like(x)
    moved = Tensor(1.0, ms.float32)
    steps = Tensor(0, ms.int32)
    while ops.logical_and(moved > 1e-5, steps < 60):
        new = ops.tanh(ops.matmul(a, z) + x)
        moved = ops.abs(new - z).max()
        z = new
        steps += 1
    return z


a, x = Tensor(numbers(4, 4, seed=40, scale=0.2)), Tensor(numbers(4, seed=41))
show("fixed point", fixed_point(a, x))
jacobian = ops.eye(4, 4, ms.float32)
z = fixed_point(a, x)
inverse = ops.inverse(jacobian - (1 - z * z).expand_dims(1) * a)
show("implicit", ops.matmul(inverse, ops.diag(1 - z * z)))


def field(z, theta):
    return ops.stack((z[1] * theta[0], -z[0] * theta[1] - theta[2] * z[1]))


def solve(start, theta, steps=10, h=0.1):
    z = start
    path = [z]
    for _ in range(steps):
        k1 = field(z, theta)
        k2 = field(z + h / 2 * k1, theta)
        k3 = field(z + h / 2 * k2, theta)
        k4 = field(z + h * k3, theta)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(z)
    return ops.stack(path)


theta = Tensor([1.0, 2.0, 0.1])
start = Tensor([1.0, 0.0])
wanted = solve(start, Tensor([1.1, 1.8, 0.3]))


def distance(t):
    return ((solve(start, t) - wanted) ** 2).mean()


def last(t):
    return solve(start, t)[-1]


fit = ms.value_and_grad(distance)
for _ in range(3):
    value, slope = fit(theta)
    theta = theta - 1.0 * slope
    show("fit", value)
show("theta", theta)
value, product = ms.jvp(last, theta, Tensor([1.0, 0.0, 0.0]))
show("jvp", product)
value, pull = ms.vjp(last, theta)
pulled = pull(Tensor([1.0, 1.0]))
show("one", isinstance(pulled, tuple))
show("vjp", pulled[0] if isinstance(pulled, tuple) else pulled)
