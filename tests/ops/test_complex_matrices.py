"""Inverses, determinants and factors of complex matrices: values are NumPy's, gradients central differences, in both modes."""
import numpy as np
import pytest
from scipy import linalg

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.ops.elimination import eliminated
from mindlite.ops.symmetric import symmetric_eigenpairs

_rng = np.random.default_rng(5)


def _complex(*shape):
    return _rng.standard_normal(shape) + 1j * _rng.standard_normal(shape)


ANY = _complex(2, 3, 3)
POSITIVE = ANY @ ANY.conj().swapaxes(-1, -2) + np.eye(3)
RIGHT = _complex(2, 3, 2)
TALL, WIDE = _complex(4, 3), _complex(3, 4)


def _projection(place):
    """The projection on two singular vectors, which does not depend on their phases."""
    def project(x):
        vectors = ops.svd(x)[place][..., :2]
        return ops.matmul(vectors, ops.adjoint(vectors))
    return project


def _on_first(vectors):
    return ops.matmul(vectors[:, :1], ops.adjoint(vectors[:, :1]))


def _on_first_of_numpy(x):
    first = np.linalg.eigh(x)[1][:, :1]
    return first @ first.conj().T


def _of_numpy(x, right):
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    vectors = vh[:2].conj().T if right else u[:, :2]
    return vectors @ vectors.conj().T


def _pair(x):
    """u_1 v_1^H: the phases of the two cancel each other."""
    _, u, v = ops.svd(x)
    return ops.matmul(u[:, :1], ops.adjoint(v[:, :1]))


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
    "eigenvalues of a Hermitian one": (lambda x: symmetric_eigenpairs(x)[0], np.linalg.eigvalsh, ANY),
    "projection on eigenvectors": (lambda x: _on_first(symmetric_eigenpairs(x)[1]), lambda x: _on_first_of_numpy(x), ANY[0]),
    "singular values": (lambda x: ops.svd(x)[0], lambda x: np.linalg.svd(x)[1], _complex(2, 4, 3)),
    "projection on u": (_projection(1), lambda x: _of_numpy(x, False), TALL),
    "projection on v": (_projection(2), lambda x: _of_numpy(x, True), WIDE),
    "a pair of vectors": (_pair, lambda x: (lambda u, s, vh: u[:, :1] @ vh[:1])(*np.linalg.svd(x)), ANY[0]),
    "pinv": (ops.pinv, np.linalg.pinv, TALL), "pinv of a wide one": (ops.pinv, np.linalg.pinv, WIDE),
    "lstsq": (lambda x: ops.lstsq(x, Tensor(TALL[:, 0])), lambda x: np.linalg.lstsq(x, TALL[:, :1], rcond=None)[0], TALL + 1),
    "matrix_exp": (ops.matrix_exp, linalg.expm, ANY),
    "nuclear norm": (lambda x: ops.norm(x, "nuc"), lambda x: np.linalg.norm(x, "nuc"), ANY[0]),
    "cond": (ops.cond, np.linalg.cond, ANY[0]),
    "lu": (lambda x: eliminated(x)[0], lambda x: linalg.lu_factor(x)[0], ANY[0]),
    "lu of a tall one": (lambda x: eliminated(x)[0], lambda x: linalg.lu_factor(x)[0], TALL),
    "lu of a wide one": (lambda x: eliminated(x)[0], lambda x: linalg.lu_factor(x)[0], WIDE),
    "lu_solve": (lambda x: ops.lu_solve(Tensor(RIGHT[0]), *eliminated(x)), lambda x: np.linalg.solve(x, RIGHT[0]), ANY[0]),
    "orgqr": (lambda x: ops.orgqr(*ops.geqrf(x)), lambda x: linalg.qr(x, mode="economic")[0], TALL),
    "ormqr": (lambda x: ops.ormqr(*ops.geqrf(x), Tensor(TALL), True, True),
              lambda x: linalg.qr(x)[0].conj().T @ TALL, TALL + 2),
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


def test_the_pseudo_inverse_has_a_gradient_where_singular_values_are_equal_and_where_some_are_zero():
    def loss(x):
        return (ops.pinv(x) * Tensor([[1.0, 2.0], [3.0, 4.0]])).sum()
    slope = ms.grad(loss)(Tensor(np.eye(2))).asnumpy()                     # d pinv = -dx at the identity
    np.testing.assert_allclose(slope, -np.array([[1.0, 2.0], [3.0, 4.0]]), atol=1e-12)
    x, move = np.diag([2.0, 0.0]), np.array([[0.3, 0.7], [0.0, 0.0]])      # moves that leave the rank 1

    def at(h):
        return float(loss(Tensor(x + h * move)))
    np.testing.assert_allclose((ms.grad(loss)(Tensor(x)).asnumpy() * move).sum(), (at(1e-6) - at(-1e-6)) / 2e-6, rtol=1e-6)
    np.testing.assert_allclose(ms.grad(lambda x: ms.grad(loss)(x).sum())(Tensor(np.eye(2) * 2)).asnumpy().sum(), 5.0, rtol=1e-9)
