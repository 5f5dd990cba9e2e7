"""Matrices of linear algebra and the gamma function's family against NumPy, SciPy's numbers and their own definitions."""
import math

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import DTypeError, ShapeError, ValueRangeError

rng = np.random.default_rng(8)


def matrices(*shape, size=3):
    return (rng.standard_normal((*shape, size, size)) + 3 * np.eye(size)).astype(np.float64)


def positive(*shape, size=3):
    x = matrices(*shape, size=size)
    return x @ np.swapaxes(x, -1, -2)


def close(got, want, **tolerance):
    np.testing.assert_allclose(got.asnumpy(), want, **{"rtol": 1e-9, "atol": 1e-12, **tolerance})


@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_matrices_are_inverted_solved_and_measured_as_numpy_does(way):
    x, b = matrices(2), rng.standard_normal((2, 3, 2))
    close(way(ops.inverse)(Tensor(x)), np.linalg.inv(x))
    close(way(ops.det)(Tensor(x)), np.linalg.det(x))
    for got, want in zip(way(ops.slogdet)(Tensor(-x)), np.linalg.slogdet(-x)):
        close(got, want)
    squares = x @ np.swapaxes(x, -1, -2)
    close(way(ops.logdet)(Tensor(squares)), np.log(np.linalg.det(squares)))
    close(way(ops.solve)(Tensor(x), Tensor(b)), np.linalg.solve(x, b))
    close(way(lambda a, v: ops.solve(a, v))(Tensor(x[0]), Tensor(b[0, :, 0])), np.linalg.solve(x[0], b[0, :, 0]))


def test_the_logarithm_of_a_determinant_is_nan_where_it_is_negative():
    x = np.stack([np.eye(2), np.diag([1.0, -1.0]), np.diag([2.0, 3.0])])
    np.testing.assert_allclose(ops.logdet(Tensor(x)).asnumpy(), [0, np.nan, math.log(6)])


def test_a_cholesky_factor_gives_the_matrix_again_and_solves_with_it():
    x, b = positive(2), rng.standard_normal((2, 3, 2))
    lower, upper = ops.cholesky(Tensor(x)).asnumpy(), ops.cholesky(Tensor(x), True).asnumpy()
    np.testing.assert_allclose(lower @ np.swapaxes(lower, -1, -2), x)
    np.testing.assert_allclose(np.swapaxes(upper, -1, -2) @ upper, x)
    close(ops.cholesky_solve(Tensor(b), Tensor(lower)), np.linalg.solve(x, b))
    close(ops.cholesky_solve(Tensor(b), Tensor(upper), True), np.linalg.solve(x, b))
    close(ops.cholesky_inverse(Tensor(lower[0])), np.linalg.inv(x[0]))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [0, 1, "N", "T"])
@pytest.mark.parametrize("unit", [True, False])
def test_a_triangle_is_solved_from_its_half_alone(lower, trans, unit):
    x, b = matrices(), rng.standard_normal((3, 2))
    half = np.tril(x) if lower else np.triu(x)
    if unit:
        np.fill_diagonal(half, 1)
    close(ops.solve_triangular(Tensor(x), Tensor(b), trans, lower, unit),
          np.linalg.solve(half.T if trans in (1, "T") else half, b))


def test_what_linear_algebra_does_not_take_is_refused():
    with pytest.raises(ShapeError, match="not square"):
        ops.det(Tensor(np.ones((2, 3))))
    with pytest.raises(DTypeError, match="does not take int64"):
        ops.inverse(Tensor([[1, 2], [3, 4]]))
    with pytest.raises(ShapeError, match="sizes differ"):
        ops.solve(Tensor(matrices()), Tensor(np.ones((2, 1))))
    with pytest.raises(ValueRangeError, match="[Ss]ingular"):
        ops.inverse(Tensor(np.ones((2, 2))))
    with pytest.raises(ValueRangeError, match="positive definite"):
        ops.cholesky(Tensor(-np.eye(2)))


# ---------------------------------------------------------------- the gamma function's family

def test_the_gamma_family_has_its_known_values_and_recurrences():
    euler = 0.5772156649015329
    x = Tensor(np.array([0.5, 1.0, 2.0, 7.5, 30.0, -0.5, -3.3]))
    close(ops.lgamma(x), [math.lgamma(v) for v in x.tolist()])
    close(ops.digamma(Tensor(np.array([1.0, 0.5]))), [-euler, -euler - 2 * math.log(2)])
    close(ops.polygamma(1, Tensor(np.array([1.0, 0.5]))), [math.pi ** 2 / 6, math.pi ** 2 / 2])
    close(ops.polygamma(0, x), ops.digamma(x).asnumpy())
    for n in (1, 2, 3):
        close(ops.polygamma(n, x) - ops.polygamma(n, x + 1),
              (-1) ** (n + 1) * math.factorial(n) / x.array ** (n + 1), rtol=1e-7)
    assert ops.lgamma(Tensor([0.0, -2.0])).tolist() == [math.inf, math.inf]


def test_modified_bessel_functions_are_their_integrals_and_have_derivatives_at_zero():
    x = Tensor(np.array([0.0, 1.0, -2.0, 10.0, 30.5, 200.0, math.inf]))
    angle = (np.arange(4096) + 0.5) * math.pi / 4096                     # the trapezoidal rule is exact here
    for n, plain, scaled in ((0, ops.bessel_i0, ops.bessel_i0e), (1, ops.bessel_i1, ops.bessel_i1e)):
        v = x.array[:-1, None]
        integral = (np.exp(v * np.cos(angle) - np.abs(v)) * np.cos(n * angle)).mean(axis=1)      # A&S 9.6.19
        close(scaled(x), [*integral, 0], rtol=1e-13)
        close(plain(x), [*integral * np.exp(np.abs(x.array[:-1])), math.inf], rtol=1e-13)
    close(ops.bessel_i0(Tensor([1.0, 0.0])), [1.2660658777520084, 1.0], rtol=1e-6)
    close(ms.grad(ms.grad(ops.bessel_i0))(Tensor(np.array(0.0))), 0.5)
    close(ms.jit(ms.grad(ops.bessel_i1))(Tensor(np.array(0.0))), 0.5)


def test_the_inverse_of_erf_is_its_inverse_to_the_ends():
    y = np.concatenate([np.linspace(-0.999, 0.999, 101), [1 - 1e-12, -1e-9]])
    close(ops.erf(ops.erfinv(Tensor(y))), y, rtol=1e-12)
    np.testing.assert_array_equal(ops.erfinv(Tensor(np.array([1.0, -1.0, 0.0, 2.0]))).asnumpy(),
                                  [math.inf, -math.inf, 0, np.nan])


def test_derivatives_of_lgamma_go_through_polygamma():
    x = Tensor(2.5)
    first = ms.grad(ops.lgamma)
    second = ms.grad(first)
    close(first(x), ops.digamma(x).asnumpy(), rtol=1e-6)
    close(second(x), ops.polygamma(1, x).asnumpy(), rtol=1e-6)
    close(ms.jit(ms.grad(second))(x), ops.polygamma(2, x).asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_slopes_of_determinants_hold_for_regular_singular_and_nearly_singular_matrices_of_one_stack(way):
    x = matrices(5, size=4)
    x[1, 3] = x[1, 2]                                        # rank 3
    x[2] = 0
    x[3, 3] = x[3, 2] + 1e-13 * rng.standard_normal(4)
    minors = np.array([[[np.linalg.det(np.delete(np.delete(m, i, 0), j, 1)) * (-1) ** (i + j) for j in range(4)]
                        for i in range(4)] for m in x])
    slope = way(ms.grad(lambda t: ops.det(t).sum()))
    np.testing.assert_allclose(slope(Tensor(x)).asnumpy(), minors, rtol=1e-7, atol=1e-9)
    regular = x[[0, 4]]
    np.testing.assert_allclose(slope(Tensor(regular)).asnumpy(), minors[[0, 4]], rtol=1e-9, atol=1e-10)
