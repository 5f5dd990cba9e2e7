"""What transforms are for: each is computed in eager mode, as a graph, and once more by other means."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor

RNG = np.random.default_rng(7)


@pytest.fixture(params=["eager", "jit", "GRAPH_MODE"])
def way(request):
    """A function that makes another one run in one of the three ways."""
    if request.param == "GRAPH_MODE":
        ms.set_context(mode=ms.GRAPH_MODE)
    yield (lambda f: ms.jit(f, fullgraph=True)) if request.param == "jit" else lambda f: f
    ms.set_context(mode=ms.PYNATIVE_MODE)


def close(a, b, rtol=1e-4, atol=1e-4):
    np.testing.assert_allclose(a.asnumpy() if isinstance(a, Tensor) else a, b, rtol=rtol, atol=atol)


# ---------------------------------------------------------------- the Hessian of an MLP

def mlp_weights(sizes):
    return [(RNG.normal(size=(m, n)), RNG.normal(size=n)) for m, n in zip(sizes, sizes[1:])]


def mlp(weights, x):
    for w, b in weights[:-1]:
        x = ops.tanh(ops.matmul(x, w) + b)
    w, b = weights[-1]
    return (ops.matmul(x, w) + b).sum()


def mlp_hessian_in_numpy(weights, x):
    """d2f/dx2 = sum over layers of J' diag(upstream * tanh'') J, by hand."""
    values, jacobians, pre = x, [np.eye(x.size)], []
    for w, b in weights[:-1]:
        a = values @ w + b
        into = jacobians[-1] @ w                                        # d a / d x, [inputs, units]
        pre.append((np.tanh(a), into))
        values = np.tanh(a)
        jacobians.append(into * (1 - values ** 2))
    up, hessian = weights[-1][0].sum(1), 0
    for (t, into), (w, _) in zip(reversed(pre), reversed(weights[:-1])):
        hessian = hessian + (into * (up * -2 * t * (1 - t * t))) @ into.T
        up = w @ (up * (1 - t * t))
    return hessian


@pytest.mark.parametrize("outer, inner", list(itertools.product(["jacfwd", "jacrev"], repeat=2)))
def test_the_hessian_of_an_mlp(way, outer, inner):
    arrays = mlp_weights((4, 8, 8, 3))
    weights = [(Tensor(w), Tensor(b)) for w, b in arrays]
    x = RNG.normal(size=4)
    hessian = getattr(ms, outer)(getattr(ms, inner)(lambda a: mlp(weights, a)))
    close(way(hessian)(Tensor(x)), mlp_hessian_in_numpy(arrays, x), 1e-9, 1e-9)


# ---------------------------------------------------------------- gradients of each sample

def test_the_gradient_of_each_sample(way):
    net = nn.SequentialCell(nn.Dense(3, 5), nn.Tanh(), nn.Dense(5, 2))
    weights = ms.ParameterTuple(net.trainable_params())
    x, y = RNG.normal(size=(6, 3)).astype(np.float32), RNG.normal(size=(6, 2)).astype(np.float32)

    def loss(a, b):
        return ((net(a) - b) ** 2).sum()
    per_sample = way(ms.vmap(ms.grad(loss, None, weights)))(Tensor(x), Tensor(y))
    w1, b1, w2, b2 = [w.asnumpy() for w in weights]
    for k in range(6):
        h = np.tanh(w1 @ x[k] + b1)
        d2 = 2 * (w2 @ h + b2 - y[k])
        d1 = (w2.T @ d2) * (1 - h * h)
        for gradient, expected in zip(per_sample, (np.outer(d1, x[k]), d1, np.outer(d2, h), d2)):
            close(gradient[k], expected)


# ---------------------------------------------------------------- a neural ODE

def rk4(f, y, steps, dt):
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + k1 * (dt / 2))
        k3 = f(y + k2 * (dt / 2))
        k4 = f(y + k3 * dt)
        y = y + (k1 + 2 * k2 + 2 * k3 + k4) * (dt / 6)
    return y


def test_the_gradient_through_a_neural_ode_of_a_hundred_steps(way):
    w, y0 = RNG.normal(size=(3, 3)) * 0.5, RNG.normal(size=3)

    def final(a, y):
        return (rk4(lambda s: ops.tanh(ops.matmul(s, a)), y, 100, 0.02) ** 2).sum()
    dw, dy = way(ms.grad(final, (0, 1)))(Tensor(w), Tensor(y0))

    def in_numpy(a, y):
        return (rk4(lambda s: np.tanh(s @ a), y, 100, 0.02) ** 2).sum()
    for array, gradient, put in ((w, dw, lambda e: (w + e, y0)), (y0, dy, lambda e: (w, y0 + e))):
        for index in np.ndindex(*array.shape):
            e = np.zeros_like(array)
            e[index] = 1e-6
            close(gradient.asnumpy()[index], (in_numpy(*put(e)) - in_numpy(*put(-e))) / 2e-6, 1e-6, 1e-7)


# ---------------------------------------------------------------- a physics-informed network

def test_a_loss_that_holds_second_derivatives_of_its_network(way):
    """u'' + u = 0 as a loss: the gradient of a function of a second derivative, per point by vmap."""
    w1, b1, w2 = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=6)
    points = np.linspace(0, 1, 5)

    def u(t, a, b, c):
        return (ops.tanh(t * a + b) * c).sum()

    def loss(a, b, c, ts):
        def residual(t):
            return ms.grad(ms.grad(u))(t, a, b, c) + u(t, a, b, c)
        return (ms.vmap(residual)(ts) ** 2).mean()
    gradients = way(ms.grad(loss, (0, 1, 2)))(*map(Tensor, (w1, b1, w2, points)))

    def in_numpy(a, b, c):
        t = np.tanh(points[:, None] * a + b)
        return ((((-2 * t * (1 - t * t)) * a * a * c).sum(1) + (t * c).sum(1)) ** 2).mean()
    arrays = [w1, b1, w2]
    for k, gradient in enumerate(gradients):
        for i in range(6):
            e = np.zeros(6)
            e[i] = 1e-6
            up, down = [[x + s * e if j == k else x for j, x in enumerate(arrays)] for s in (1, -1)]
            close(gradient.asnumpy()[i], (in_numpy(*up) - in_numpy(*down)) / 2e-6, 1e-5, 1e-6)


# ---------------------------------------------------------------- a conditional random field

def crf_forward(scores, transitions):
    """log of the sum over all paths of exp(score): the forward algorithm."""
    alpha = scores[0]
    for t in range(1, scores.shape[0]):
        total = ops.expand_dims(alpha, 1) + transitions
        top = total.max(axis=0)
        alpha = ops.log(ops.exp(total - top).sum(axis=0)) + top + scores[t]
    top = alpha.max()
    return ops.log(ops.exp(alpha - top).sum()) + top


@pytest.mark.parametrize("length", [2, 7])
def test_the_gradient_of_a_crf_is_the_probability_of_its_labels(way, length):
    scores, transitions = RNG.normal(size=(length, 3)), RNG.normal(size=(3, 3))
    value, (of_scores, of_transitions) = way(ms.value_and_grad(crf_forward, (0, 1)))(Tensor(scores), Tensor(transitions))
    paths = np.array(list(itertools.product(range(3), repeat=length)))
    energy = scores[np.arange(length), paths].sum(1) + transitions[paths[:, :-1], paths[:, 1:]].sum(1)
    weight = np.exp(energy - energy.max())
    close(value, np.log(weight.sum()) + energy.max(), 1e-9)
    weight /= weight.sum()
    marginals, pairs = np.zeros((length, 3)), np.zeros((3, 3))
    for path, p in zip(paths, weight):
        marginals[np.arange(length), path] += p
        np.add.at(pairs, (path[:-1], path[1:]), p)
    close(of_scores, marginals, 1e-9)
    close(of_transitions, pairs, 1e-9)


# ---------------------------------------------------------------- a loop whose iterations depend on data

def grow(x, w):
    while x.sum() < 1000:
        x = x * w
    return x.sum()


def test_the_gradient_of_a_loop_for_ten_starting_values_is_one_compile():
    gradient = ms.jit(ms.grad(grow, (0, 1)), fullgraph=True)
    w = np.array([1.5, 2.0])
    for start in np.linspace(0.1, 900, 10):
        x = np.array([start, start / 3])
        iterations, value = 0, x
        while value.sum() < 1000:
            value, iterations = value * w, iterations + 1
        for way in (gradient, ms.grad(grow, (0, 1))):
            dx, dw = way(Tensor(x), Tensor(w))
            close(dx, w ** iterations, 1e-9)
            close(dw, iterations * w ** (iterations - 1) * x, 1e-9)
    assert len(gradient.variants) == 1
