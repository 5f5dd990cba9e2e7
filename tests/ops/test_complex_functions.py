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
