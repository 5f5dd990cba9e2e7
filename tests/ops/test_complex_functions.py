"""Elementary functions of complex numbers: values are NumPy's on all sides of the branch cuts, gradients central differences,
in both modes and twice."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

_rng = np.random.default_rng(8)
X = 2 * (_rng.standard_normal(12) + 1j * _rng.standard_normal(12))
FUNCTIONS = {"rsqrt": lambda x: 1 / np.sqrt(x), "asin": np.arcsin, "acos": np.arccos, "asinh": np.arcsinh, "acosh": np.arccosh,
             "atanh": np.arctanh, "exp2": np.exp2, "sigmoid": lambda x: 1 / (1 + np.exp(-x))}


def central_differences(loss, x, step=1e-6):
    """d loss / d real part + i d loss / d imaginary part, element by element."""
    out = np.zeros_like(x)
    for at in range(x.size):
        for part in (1, 1j):
            move = np.zeros_like(x)
            move[at] = step * part
            out[at] += part * (float(loss(Tensor(x + move))) - float(loss(Tensor(x - move)))) / (2 * step)
    return out


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_of_complex_numbers(name):
    function, wanted = getattr(ops, name), FUNCTIONS[name](X)

    def loss(x):
        out = function(x)
        return (ops.real(out) * 2 + ops.imag(out)).sum()

    def steepness(x):
        return ops.abs(ms.grad(loss)(x)).sum()
    for way in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
        np.testing.assert_allclose(way(function)(Tensor(X)).asnumpy(), wanted, rtol=1e-12)
        np.testing.assert_allclose(way(ms.grad(loss))(Tensor(X)).asnumpy(), central_differences(loss, X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ms.grad(steepness)(Tensor(X)).asnumpy(), central_differences(steepness, X), rtol=1e-4, atol=1e-6)
    moved = (function(Tensor(X + 1e-6 * X)).asnumpy() - function(Tensor(X - 1e-6 * X)).asnumpy()) / 2e-6
    np.testing.assert_allclose(ms.jvp(function, Tensor(X), Tensor(X))[1].asnumpy(), moved, rtol=1e-6, atol=1e-7)
    assert function(Tensor(X.astype(np.complex64))).dtype == ms.complex64


def test_the_sigmoid_of_complex_numbers_does_not_overflow():
    far = Tensor(np.array([800 + 1j, -800 + 1j]))
    np.testing.assert_array_equal(ops.sigmoid(far).asnumpy(), [1, 0])


def drawn(*shape):
    return _rng.standard_normal(shape) + 1j * _rng.standard_normal(shape)


def convolved(x, w):
    """sum over c and k of x[n, c, i + k] w[o, c, k], by its definition."""
    sizes = [n - k + 1 for n, k in zip(x.shape[2:], w.shape[2:])]
    return sum(np.einsum("nc...,oc->no...", x[(..., *(slice(a, a + n) for a, n in zip(at, sizes)))], w[(..., *at)])
               for at in np.ndindex(*w.shape[2:]))


def spread(x, w):
    """The transpose of it: out[n, o, i + k] = sum of x[n, c, i] w[c, o, k]."""
    out = np.zeros((len(x), w.shape[1], *(n + k - 1 for n, k in zip(x.shape[2:], w.shape[2:]))), complex)
    for at in np.ndindex(*w.shape[2:]):
        out[(..., *(slice(a, a + n) for a, n in zip(at, x.shape[2:])))] += np.einsum("nc...,co->no...", x, w[(..., *at)])
    return out


OF_TWO = {
    "logaddexp": (ops.logaddexp, lambda a, b: np.log(np.exp(a) + np.exp(b)), (4,), (4,)),
    "logsumexp": (lambda a, b: ops.logsumexp(a * b, 1), lambda a, b: np.log(np.exp(a * b).sum(1)), (2, 3), (3,)),
    "l1_loss": (lambda a, b: ops.l1_loss(a, b, "none"), lambda a, b: abs(a - b), (5,), (5,)),
    "conv1d": (ops.conv1d, convolved, (1, 2, 4), (2, 2, 2)),
    "conv2d": (ops.conv2d, convolved, (1, 2, 3, 3), (1, 2, 2, 2)),
    "conv3d": (ops.conv3d, convolved, (1, 1, 2, 3, 2), (2, 1, 1, 2, 2)),
    "conv2d_transpose": (ops.conv2d_transpose, spread, (1, 2, 2, 2), (2, 1, 2, 2)),
    "conv3d_transpose": (ops.conv3d_transpose, spread, (1, 1, 2, 1, 2), (1, 2, 2, 2, 1))}


@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_complex_operands_are_those_of_numpy_and_have_true_gradients(name):
    function, definition, *shapes = OF_TWO[name]
    x, y = (drawn(*shape) for shape in shapes)

    def loss(x, y):
        out = function(x, y)
        return (ops.real(out) * 2 + ops.imag(out)).sum()
    wanted = [central_differences(lambda t: loss(t.reshape(x.shape), Tensor(y)), x.ravel()),
              central_differences(lambda t: loss(Tensor(x), t.reshape(y.shape)), y.ravel())]
    for way in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
        np.testing.assert_allclose(way(function)(Tensor(x), Tensor(y)).asnumpy(), definition(x, y), rtol=1e-10, atol=1e-12)
        for slope, numbers in zip(way(ms.grad(loss, (0, 1)))(Tensor(x), Tensor(y)), wanted):
            np.testing.assert_allclose(slope.asnumpy().ravel(), numbers, rtol=1e-5, atol=1e-6)


def test_a_real_weight_of_complex_pictures_and_a_bias():
    x, w, bias = drawn(2, 2, 5), np.arange(8.0).reshape(2, 2, 2), drawn(2)
    got = ops.conv1d(Tensor(x), Tensor(w), Tensor(bias)).asnumpy()
    np.testing.assert_allclose(got, convolved(x, w) + bias[:, None], rtol=1e-12)


def test_logarithms_of_complex_sums_do_not_overflow():
    near = Tensor(np.array([900 + 1j, -900 + 3j]))
    wanted = np.array([900 + np.log(2) + 1j, -900 + np.log(2) + 3j])
    np.testing.assert_allclose(ops.logaddexp(near, near).asnumpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(ops.logsumexp(ops.stack([near, near]), 0).asnumpy(), wanted, rtol=1e-12)
    nothing = Tensor(np.array([complex(-np.inf, 2)]))
    assert ops.logaddexp(nothing, Tensor([1 + 2j])).asnumpy()[0] == np.complex64(1 + 2j)
