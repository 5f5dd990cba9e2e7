"""Inverses, determinants and factors of complex matrices: values are NumPy's, gradients central differences, in both modes."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

_rng = np.random.default_rng(5)


def _complex(*shape):
    return _rng.standard_normal(shape) + 1j * _rng.standard_normal(shape)


ANY = _complex(2, 3, 3)
POSITIVE = ANY @ ANY.conj().swapaxes(-1, -2) + np.eye(3)
RIGHT = _complex(2, 3, 2)
CASES = {
    "inverse": (ops.inverse, np.linalg.inv, ANY), "det": (ops.det, np.linalg.det, ANY),
    "sign": (lambda x: ops.slogdet(x)[0], lambda x: np.linalg.slogdet(x)[0], ANY),
    "logarithm": (lambda x: ops.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1], ANY),
    "logdet": (ops.logdet, lambda x: np.log(np.linalg.det(x)), ANY),
    "cholesky": (ops.cholesky, np.linalg.cholesky, POSITIVE),
    "upper": (lambda x: ops.cholesky(x, True), lambda x: np.linalg.cholesky(x).conj().swapaxes(-1, -2), POSITIVE),
    "cholesky_inverse": (lambda x: ops.cholesky_inverse(ops.cholesky(x)), np.linalg.inv, POSITIVE),
    "cholesky_solve": (lambda x: ops.cholesky_solve(Tensor(RIGHT), ops.cholesky(x, True), True),
                       lambda x: np.linalg.solve(x, RIGHT), POSITIVE),
    "q": (lambda x: ops.qr(x)[0], lambda x: np.linalg.qr(x)[0], ANY),
    "r of a tall one": (lambda x: ops.qr(x)[1], lambda x: np.linalg.qr(x)[1], _complex(4, 3)),
    "r of a wide one": (lambda x: ops.qr(x)[1], lambda x: np.linalg.qr(x)[1], _complex(3, 5)),
}


def central_differences(loss, x, step=1e-6):
    """d loss / d real part + i d loss / d imaginary part, element by element."""
    out = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for part in (1, 1j):
            move = np.zeros_like(x)
            move[at] = step * part
            out[at] += part * (float(loss(Tensor(x + move))) - float(loss(Tensor(x - move)))) / (2 * step)
    return out


@pytest.mark.parametrize("name", CASES)
def test_complex_matrices_have_numpys_values_and_true_gradients(name):
    function, reference, x = CASES[name]
    wanted = reference(x)
    weight = _complex(*wanted.shape)

    def loss(x):
        out = function(x)
        real = (ops.real(out) * Tensor(weight.real)).sum()
        return real + (ops.imag(out) * Tensor(weight.imag)).sum() if out.dtype.kind == "c" else real
    slope = central_differences(loss, x)
    for way in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
        np.testing.assert_allclose(way(function)(Tensor(x)).asnumpy(), wanted, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(way(ms.grad(loss))(Tensor(x)).asnumpy(), slope, rtol=1e-6, atol=1e-7)
    tangent = _complex(*x.shape)
    ends = [function(Tensor(x + step * tangent)).asnumpy() for step in (1e-6, -1e-6)]
    moved = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(ms.jvp(function, Tensor(x), Tensor(tangent))[1].asnumpy(), moved, rtol=1e-6, atol=1e-7)


def test_single_precision_stays_single_and_the_logarithm_is_real():
    x = Tensor(ANY.astype(np.complex64))
    assert ops.inverse(x).dtype == ops.det(x).dtype == ops.logdet(x).dtype == ops.qr(x)[0].dtype == ms.complex64
    assert ops.slogdet(x)[0].dtype == ms.complex64 and ops.slogdet(x)[1].dtype == ms.float32


def test_the_gradient_of_a_singular_determinant_are_its_cofactors():
    x = np.array([[1, 2j], [1, 2j]])
    slope = ms.grad(lambda x: ops.real(ops.det(x)))(Tensor(x)).asnumpy()
    np.testing.assert_allclose(slope, np.array([[2j, -1], [-2j, 1]]).conj(), atol=1e-12)


def test_the_second_derivative_of_a_complex_determinant():
    def size(x):
        return ops.abs(ms.grad(lambda y: ops.real(ops.det(y)))(x)).sum()
    x = ANY[0]
    np.testing.assert_allclose(ms.grad(size)(Tensor(x)).asnumpy(), central_differences(size, x), rtol=1e-5, atol=1e-6)
