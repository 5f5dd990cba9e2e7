"""Derivatives of derivatives through control flow that saves on one side, and through sizes that change on the way.

Each function is differentiated two or three times, in Python operator by operator and as one graph: the numbers are the same.
"""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor
from mindlite.common.config import config
from mindlite.mindir.primitive import eager

X, W = np.array([0.5, -0.3, 0.7, 0.25]), np.array([1.5, 0.8, 0.3, 0.9])


def saved_on_one_side(x, w, n):
    if x.sum() < 10:
        x = w[1] * x
    else:
        x = x * x * x
    return (x ** 4).sum()


def two_that_save_in_a_branch(x, w, n):
    if w.sum() > 0:
        if w[0] > 0:
            w = w * w
        if x[0] > 0:
            x = x * x * w[0]
        else:
            x = w[1] * x
    return (x ** 3).sum()


def loop_that_saves_at_times(x, w, n):
    for i in range(n):
        if x.sum() > i:
            x = ops.sin(x) * x
        else:
            x = w[0] * x
    return (x ** 3).sum()


def recursive(x, w, n):
    if n <= 0:
        return x
    if x.sum() < 1:
        x = w[1] * x
    else:
        x = x * x
    return recursive(x, w, n - 1)


def recursion_that_saves_at_times(x, w, n):
    return (recursive(x, w, n) ** 3).sum()


def shrinking_while_data_says_so(x, w, n):
    y = x
    while y.sum() > 0.1 and y.shape[0] > 1:
        y = ops.tanh(y[1:]) * 0.9
    return (y * y).sum()


def growing_in_a_loop(x, w, n):
    y = x
    for i in range(n):
        if y.sum() > i:
            y = ops.concat([y, x * i])
        else:
            y = ops.sin(y)[:2]
    return (y * y).sum()


def masked_in_a_loop(x, w, n):
    y = x
    for i in range(n):
        y = y[y > 0.1 * i] * 0.8
        y = ops.concat([y, x])
    return (y ** 3).sum()


def shrinking_in_a_branch(x, w, n):
    u = ops.concat([x, w])
    for _ in range(3):
        u = ops.concat([u[:2], x[x < 0.6]])
        if u.sum() < 0.3:
            break
    while u.shape[0] > 1:
        u = u[1:] * w[0]
    return (u * u).sum()


def shrinking_behind_a_branch(x, w, n):
    u = ops.concat([x, x])
    for _ in range(n):
        u = ops.concat([u[:2], ops.sin(x[x < 0.6])])
        if u.sum() < 0.3:
            break
    while u.sum() > -0.07 and u.shape[0] > 1:
        u = u[:u.shape[0] - 1] * x[0]
    return (u * u).sum()


def of_one_side_each(x, w, n):
    while n > 0:
        if x.sum() > 0.5:
            y, z = x[:x.shape[0] - 1] * w[0], x * w[1]
        else:
            z = x[:x.shape[0] - 1] * 2
            if z.sum() > 9:
                break
            v = x[:x.shape[0] - 1] * x[0]
        x, n = z, n - 1
        if x.shape[0] < 2:
            return (v * v).sum() if x.sum() < 0 else (y ** 3).sum()
    return (x ** 3).sum()


def grown(y, w, n):
    if n <= 0:
        return (y ** 3).sum()
    z = y[y > 0.1 * n]
    return grown(ops.concat([z, y[:2] * w[0]]), w, n - 1) + z.sum()


def growing_in_a_recursion(x, w, n):
    return grown(x, w, n)


def longer(n, z, x):
    if n <= 0:
        return z
    return ops.concat([longer(n - 1, z * 2, x), x])


def result_that_grows_in_a_recursion(x, w, n):
    return ((longer(n, x, x * w[0]) if w.sum() > 0 else longer(2, x[1:], w))[1:] ** 3).sum()


def halves(z, least):
    if z.sum() < least or z.shape[0] < 2:
        return z * z
    middle = (z.shape[0] + 1) // 2
    return ops.concat([halves(z[:middle], least), halves(z[middle:], least) * z[0]])


def recursion_over_halves(x, w, n):
    return (halves(ops.concat([x, w]) if w[0] > 1 else x, w[2]) ** 2).sum()


def even(n, z):
    if n <= 0:
        return z * z
    return ops.concat([odd(n - 1, z * 1.5), z])


def odd(n, z):
    if n <= 0:
        return ops.tanh(z)
    return ops.concat([even(n - 1, ops.concat([z, z])), z[:1]])


def two_that_call_each_other(x, w, n):
    return (even(int(w.sum()) + n, x) ** 2).sum()


def squares(n, y):
    if n <= 0:
        return y
    if y.sum() > 100:
        return y * y
    return ops.square(squares(n - 1, y * 2))


def recursion_of_constant_depth(x, w, n):
    return squares(2, ops.concat([x, w]) if x[0] > 0 else x).sum()


def left_with_a_size_of_the_iteration(x, w, n):
    z = x
    for i in range(int(w.sum()) + n):
        z = ops.concat([z, z[z > 0.4] * 0.5])
        if z.shape[0] > 6:
            return (z ** 2).sum() * 2
    return (z ** 3).sum()


def only_the_size_is_read(x, w, n):
    z = y = x
    for i in range(int(w.sum()) + n):
        y = ops.concat([z, z * 2])
        z = ops.concat([z, z[:1]])
    return (x ** 3).sum() * z.shape[0] * ops.ones(y.shape).sum()


BRANCHES = [saved_on_one_side, two_that_save_in_a_branch, loop_that_saves_at_times, recursion_that_saves_at_times]
SIZES = [shrinking_while_data_says_so, growing_in_a_loop, masked_in_a_loop, growing_in_a_recursion,
         result_that_grows_in_a_recursion, recursion_over_halves, two_that_call_each_other, recursion_of_constant_depth,
         left_with_a_size_of_the_iteration, only_the_size_is_read]
CASES = [(f, 3) for f in BRANCHES] + [(f, 2) for f in SIZES] + [
    (shrinking_in_a_branch, 2), (shrinking_behind_a_branch, 3), (of_one_side_each, 2)]


def order(f, n):
    """The n-th derivative: grad of the sum of the squares of the one before."""
    for _ in range(n - 1):
        f = ms.grad(f)
        f = (lambda slope: lambda x, w, n: (slope(x, w, n) ** 2).sum())(f)
    return ms.grad(f)


@pytest.fixture(autouse=True)
def _kernels_of_single_operators(monkeypatch):
    monkeypatch.setattr(config, "jit_level", "O0")


@pytest.mark.parametrize("f, n", CASES, ids=lambda case: getattr(case, "__name__", str(case)))
def test_a_derivative_of_a_derivative_is_that_of_python(f, n):
    slope = order(f, n)
    graph = ms.jit(slope, fullgraph=True)
    for x, iterations in ((X, 3), (X * 2, 2), (-X, 3)):
        with eager():
            wanted = slope(Tensor(x), Tensor(W), iterations).asnumpy()
        np.testing.assert_allclose(graph(Tensor(x), Tensor(W), iterations).asnumpy(), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("f", SIZES, ids=lambda f: f.__name__)
def test_what_grows_is_the_same_as_a_graph(f):
    graph = ms.jit(f, fullgraph=True)
    for x, iterations in ((X, 3), (X * 2, 2), (-X, 3)):
        np.testing.assert_allclose(graph(Tensor(x), Tensor(W), iterations).asnumpy(),
                                   f(Tensor(x), Tensor(W), iterations).asnumpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("f", [saved_on_one_side, shrinking_while_data_says_so], ids=lambda f: f.__name__)
def test_a_jitted_function_is_differentiated_twice_in_eager_mode(f):
    slope, jitted = order(f, 2), order(ms.jit(f, fullgraph=True), 2)
    for x, iterations in ((X, 3), (-X, 2)):
        with eager():
            wanted = slope(Tensor(x), Tensor(W), iterations).asnumpy()
        np.testing.assert_allclose(jitted(Tensor(x), Tensor(W), iterations).asnumpy(), wanted, rtol=1e-9, atol=1e-9)


def test_an_open_size_that_ten_concats_compute_from_each_other_is_differentiated():
    def slices_and_products(x, w):
        for _ in range(10):
            x = ops.concat([x[1:], x * w])
        return (x * x).sum()
    slope = ms.grad(slices_and_products, (0, 1))
    graph = ms.jit(slope, dynamic=1, fullgraph=True)
    for x in (X, X[:1], X[:0]):
        for found, wanted in zip(graph(Tensor(x), Tensor(np.array(1.125))), slope(Tensor(x), Tensor(np.array(1.125)))):
            np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-9)
