"""Factors of matrices multiply to the matrix, norms are NumPy's, gradients differences."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, GradientError
from mindlite.ops import operations

SHAPES = [(4, 3), (3, 4), (3, 3)]


def _matrices(shape, seed=0):
    return np.random.default_rng(seed).standard_normal((2, *shape))


def _close(got, want, tolerance=1e-10):
    np.testing.assert_allclose(got.asnumpy(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reflections_make_the_same_matrix_as_qr_and_turn_other_matrices(shape):
    a = _matrices(shape)
    y, tau = ops.geqrf(Tensor(a))
    k = min(shape)
    q = ops.orgqr(y[..., :k], tau)
    _close(q @ ops.triu(y[..., :k, :]), a)
    _close(ops.matmul(*ops.qr(Tensor(a))), a)
    _close(ops.matmul(*ops.qr(Tensor(a), "complete")), a)
    other = Tensor(_matrices((shape[0], 2), 1))
    turned = ops.ormqr(y, tau, other)
    _close(ops.ormqr(y, tau, turned, True, True), other.asnumpy())
    _close(turned[..., :1], ops.ormqr(y, tau, other.swapaxes(-1, -2), False, True).swapaxes(-1, -2)[..., :1].asnumpy())


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_norms_of_matrices_are_those_of_numpy(shape, order):
    a = _matrices(shape)
    for keep in (False, True):
        _close(ops.matrix_norm(Tensor(a), order, keepdims=keep), np.linalg.norm(a, order, (1, 2), keep))
        _close(ops.norm(Tensor(a), order, (2, 0), keep), np.linalg.norm(a, order, (2, 0), keep))
    _close(ops.norm(Tensor(a[0]), order), np.linalg.norm(a[0], order))
    if shape == (3, 3):
        _close(ops.cond(Tensor(a), order), np.linalg.cond(a, order), 1e-9)


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3.5, np.inf, -np.inf])
def test_norms_of_vectors_are_those_of_numpy(order):
    a = _matrices((3, 4))
    _close(ops.norm(Tensor(a), order, 1), np.linalg.norm(a, order, 1))
    _close(ops.vector_norm(Tensor(a), 2 if order is None else order), np.linalg.norm(a.ravel(), order))


def test_a_norm_that_there_is_not_is_an_error():
    with pytest.raises(ArgumentError, match="no order"):
        ops.norm(Tensor([[1.0]]), "max")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_pseudo_inverse_solves_least_squares(shape):
    a, b = _matrices(shape)[0], _matrices((shape[0], 2), 3)[0]
    _close(ops.pinv(Tensor(a)), np.linalg.pinv(a))
    _close(ops.lstsq(Tensor(a), Tensor(b)), np.linalg.lstsq(a, b, None)[0])


def test_lu_factors_and_pivots_solve_and_unpack():
    lu = np.array([[[4.0, 3, 2], [0.5, 2, 1], [0.25, 0.5, 5]]] * 2)
    pivots = np.array([[2, 3, 3], [1, 2, 3]])
    p, low, up = ops.lu_unpack(Tensor(lu), Tensor(pivots))
    a = (p @ low @ up).asnumpy()
    assert p.asnumpy()[0].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    b = _matrices((3, 2))
    _close(ops.lu_solve(Tensor(b), Tensor(lu), Tensor(pivots)), np.linalg.solve(a, b))


def test_eigenvectors_are_stretched_by_their_eigenvalues():
    a = _matrices((4, 4))
    w, v = ops.eig(Tensor(a))
    _close(Tensor(a.astype(complex)) @ v, (v * w[:, None, :]).asnumpy())
    with pytest.raises(GradientError, match="full q"):
        ms.grad(lambda x: ops.qr(x, "complete")[0].sum())(Tensor(_matrices((4, 3))))


def whatever_the_phases(x):
    """Sums that do not depend on the phases of eigenvectors, complex ones too."""
    w, v = ops.eig(x)
    weights = Tensor(np.arange(1.0, 1 + x.shape[-1]))
    return (ops.real(w * w) * ops.imag(w * w + w)).sum() + ops.prod(ops.real(w * ops.conj(w)) + 1) + (
        (ops.real(v * ops.conj(v)) * weights).sum(axis=-1) * ops.real(w * ops.conj(w)).sum(axis=-1, keepdims=True)).sum()


@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_eigenvalues_and_eigenvectors_have_the_gradient_of_finite_differences(way):
    a = _matrices((4, 4))
    assert np.iscomplex(np.linalg.eigvals(a)).any()
    gradient = way(ms.grad(whatever_the_phases))(Tensor(a)).asnumpy()
    tangent = np.random.default_rng(3).standard_normal(a.shape)
    pushed = way(lambda x: ms.jvp(whatever_the_phases, x, Tensor(tangent))[1])(Tensor(a)).asnumpy()
    step = [whatever_the_phases(Tensor(a + s * 1e-6 * tangent)).asnumpy() for s in (1, -1)]
    np.testing.assert_allclose((gradient * tangent).sum(), (step[0] - step[1]) / 2e-6, rtol=1e-5)
    np.testing.assert_allclose(pushed, (gradient * tangent).sum(), rtol=1e-9)


@pytest.mark.parametrize("made", ["complex64", "complex128"])
def test_real_numbers_become_complex_ones_in_a_graph_too(made):
    def f(x):
        return ops.cast(x * 2, made) * 1j + ops.cast(x > 1, made)
    x = Tensor(np.array([0.5, 2.0]))
    np.testing.assert_array_equal(ms.jit(f)(x).asnumpy(), f(x).asnumpy())


def test_systems_of_complex_equations_are_solved_and_have_a_gradient():
    rng = np.random.default_rng(1)
    a, b, change = (rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) for _ in range(3))
    _close(ops.solve(Tensor(a), Tensor(b)), np.linalg.solve(a, b))

    def size(x):
        out = ops.solve(x, Tensor(b))
        return ops.real(out * ops.conj(out)).sum()
    gradient = ms.grad(size)(Tensor(a)).asnumpy()
    step = [size(Tensor(a + s * 1e-6 * change)).asnumpy() for s in (1, -1)]
    np.testing.assert_allclose((gradient.conj() * change).real.sum(), (step[0] - step[1]) / 2e-6, rtol=1e-6)


def test_the_exponential_of_a_matrix_sums_commuting_exponents():
    a = _matrices((3, 3))[0] * 3
    _close(ops.matrix_exp(Tensor(a)) @ ops.matrix_exp(Tensor(-a)), np.eye(3), 1e-7)
    _close(ops.matrix_exp(Tensor(np.diag([1.0, -2.0]))), np.diag(np.exp([1.0, -2.0])))


def test_the_class_LpNorm_is_of_elements_also_over_two_axes():
    x = np.arange(1, 9, dtype=np.float32).reshape(2, 2, 2)
    np.testing.assert_allclose(operations.LpNorm([0, 1], 2)(Tensor(x)).asnumpy(), np.sqrt((x ** 2).sum((0, 1))), rtol=1e-6)
    np.testing.assert_allclose(operations.LpNorm(0, 3, True)(Tensor(x)).asnumpy(), np.cbrt((x ** 3).sum(0, keepdims=True)),
                               rtol=1e-6)
