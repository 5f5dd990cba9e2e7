"""Special functions hold the identities of Abramowitz and Stegun, and running logarithms of sums those of sums."""
import math

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.ops.bessel import bessel_j_of, bessel_y_of

X = Tensor(np.concatenate([np.linspace(0.05, 60, 300), [1e-6, 24.999, 25.0, 25.001, 400.0]]))


def _close(got, want, rtol=1e-11):
    np.testing.assert_allclose(got.asnumpy() if isinstance(got, Tensor) else got,
                               want.asnumpy() if isinstance(want, Tensor) else want, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_bessel_functions_of_both_kinds_have_their_wronskian(n):
    j, y = (lambda k: bessel_j_of(X, n=k)), (lambda k: bessel_y_of(X, n=k))
    _close(X * (j(n + 1) * y(n) - j(n) * y(n + 1)), np.full(X.shape, 2 / math.pi))


def test_modified_bessel_functions_have_their_wronskian():
    _close(X * (ops.bessel_i0e(X) * ops.bessel_k1e(X) + ops.bessel_i1e(X) * ops.bessel_k0e(X)), np.ones(X.shape))
    near = X[X < 50]
    _close(ops.bessel_k0(near) * ops.exp(near), ops.bessel_k0e(near))


def test_bessel_functions_at_their_ends():
    ends = Tensor(np.array([0.0, -1.0, np.inf, np.nan]))
    for function, want in ((ops.bessel_y0, [-np.inf, np.nan, 0, np.nan]), (ops.bessel_k1, [np.inf, np.nan, 0, np.nan])):
        np.testing.assert_array_equal(function(ends).asnumpy(), want)
    np.testing.assert_allclose(ops.bessel_j1(ends).asnumpy(), [0, -0.44005058574493355, 0, np.nan])


def test_incomplete_functions_are_those_that_have_a_closed_form():
    x, unit = X[X < 50], Tensor(np.linspace(0, 1, 21))
    _close(ops.igamma(Tensor(1.0, ms.float64), x), -ops.expm1(-x))
    _close(ops.igammac(Tensor(2.0, ms.float64), x), (1 + x) * ops.exp(-x), 1e-9)
    _close(ops.igamma(Tensor(0.5, ms.float64), x), ops.erf(ops.sqrt(x)))
    _close(ops.betainc(Tensor(1.0, ms.float64), Tensor(3.0, ms.float64), unit), 1 - (1 - unit) ** 3)
    _close(ops.zeta(Tensor([2.0, 4.0], ms.float64), Tensor([1.0, 1.0], ms.float64)), [math.pi ** 2 / 6, math.pi ** 4 / 90])
    _close(ops.mvlgamma(Tensor([3.0], ms.float64), 2), [math.log(math.pi) / 2 + math.lgamma(3.0) + math.lgamma(2.5)])


def test_the_incomplete_beta_function_has_gradients_by_all_that_it_takes():
    def beta(a, b, x):
        return ops.betainc(a, b, x).sum()

    def slope_by_a(a, b, x):
        return ms.grad(beta, 0)(a, b, x).sum()

    x, one, three = np.array([0.0, 0.03, 0.4, 0.6, 0.97, 1.0]), Tensor(np.ones(6)), Tensor(np.full(6, 3.0))
    inner = np.where(x == 0, 1.0, x)                  # I_x(a, 1) = x^a, I_x(1, b) = 1 - (1 - x)^b
    _close(ms.grad(beta, 0)(three, one, Tensor(x)), x ** 3 * np.log(inner), 1e-14)
    _close(ms.grad(slope_by_a, 0)(three, one, Tensor(x)), x ** 3 * np.log(inner) ** 2, 1e-14)
    _close(ms.grad(slope_by_a, 2)(three, one, Tensor(x)), 3 * x ** 2 * np.log(inner) + x ** 2, 1e-13)
    _close(ms.grad(beta, 2)(three, one, Tensor(x)), 3 * x ** 2, 1e-14)
    _close(ms.grad(lambda x: ops.igamma(1.0, x).sum())(Tensor(x)), np.exp(-x), 1e-14)
    _close(ms.grad(beta, 1)(one, three, Tensor(x)), (-(1 - x) ** 3 * np.log(np.where(x == 1, 1.0, 1 - x))), 1e-14)
    compiled = ms.jit(ms.grad(beta, (0, 1, 2)), fullgraph=True)
    for got, want in zip(compiled(three, one + 1, Tensor(x)), ms.grad(beta, (0, 1, 2))(three, one + 1, Tensor(x))):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-14)


def test_gradients_of_the_incomplete_beta_function_at_large_parameters_are_sums_where_the_terms_count():
    large = Tensor(np.array([1e4, 1e6]))              # by symmetry: minus the one by b; Stirling's series gives the size
    slope = ms.grad(lambda a, b: ops.betainc(a, b, 0.5).sum(), (0, 1))(large, large)
    _close(slope[0], -slope[1], 1e-10)
    np.testing.assert_allclose(slope[0].asnumpy(), -0.5 / np.sqrt(math.pi * large.asnumpy()), rtol=1e-4)
    with pytest.raises(ValueError, match="too many terms"):
        ms.grad(lambda a: ops.betainc(a, a, 0.5).sum())(Tensor(np.array([1e12])))


def test_the_zeta_function_has_gradients_by_both():
    def zeta(s, q):
        return ops.zeta(s, q).sum()

    s, one = Tensor(np.array([2.0, 3.0])), Tensor(np.ones(2))
    known = np.array([-0.937548254315843754, -0.198126242885636853])           # zeta'(2), zeta'(3)
    _close(ms.grad(zeta, 0)(s, one), known, 1e-14)
    _close(ms.grad(zeta, 0)(s, one + 1), known, 1e-14)                          # the term of k = 0 is the constant 1
    _close(ms.grad(lambda s, q: ms.grad(zeta, 1)(s, q).sum(), 0)(Tensor(np.array([1.5])), Tensor(np.array([3.0]))),
           ms.grad(lambda s, q: ms.grad(zeta, 0)(s, q).sum(), 1)(Tensor(np.array([1.5])), Tensor(np.array([3.0]))), 1e-13)


def test_outside_of_their_domain_they_are_nan_or_infinite():
    nothing = ops.igamma(Tensor([-1.0, 1.0]), Tensor([1.0, -1.0]))
    assert np.isnan(nothing.asnumpy()).all() and ops.igamma(Tensor(0.0), Tensor(1.0)).tolist() == 1.0
    assert ops.igamma(Tensor([2.0, 2.0]), Tensor([0.0, float("inf")])).tolist() == [0.0, 1.0]
    assert ops.zeta(Tensor([1.0, 2.0]), Tensor([3.0, -1.0])).tolist() == [math.inf, math.inf]


def test_running_logarithms_of_sums_do_not_overflow_and_have_the_gradient_of_sums():
    x = Tensor(np.array([[900.0, -900.0, 901.0], [-np.inf, -np.inf, 0.0]]))
    np.testing.assert_allclose(ops.logcumsumexp(x, 1).asnumpy(),
                               [[900, 900, 901 + math.log1p(math.exp(-1))], [-np.inf, -np.inf, 0]])
    v = Tensor(np.random.default_rng(0).standard_normal((3, 4)))
    _close(ops.logcumsumexp(v, 0), ops.log(ops.cumsum(ops.exp(v), 0)))
    _close(ms.grad(lambda v: (ops.logcumsumexp(v, 0) ** 2).sum())(v),
           ms.grad(lambda v: (ops.log(ops.cumsum(ops.exp(v), 0)) ** 2).sum())(v))


def test_the_next_number_is_one_step_away():
    x = Tensor(np.array([1.0, -2.5, 0.0], np.float32))
    np.testing.assert_array_equal(ops.nextafter(x, x + 1).asnumpy(), np.nextafter(x.asnumpy(), x.asnumpy() + 1))


@pytest.mark.parametrize("name, low, high, close", [
    ("digamma", 0.01, 60, {"float32": 4e-7, "float64": 1e-14}), ("digamma", -8.4, -8.1, {"float32": 2e-6, "float64": 1e-12}),
    ("lgamma", 0.01, 60, {"float32": 6e-7, "float64": 1e-14}), ("erfinv", -0.9999, 0.9999, {"float32": 4e-7, "float64": 1e-15})])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_of_special_functions_give_what_numpy_gives(name, low, high, close, dtype):
    function, x = getattr(ops, name), np.linspace(low, high, 999).astype(dtype)
    want = function(Tensor(x.astype(np.float64))).asnumpy()
    made = ms.jit(function, fullgraph=True)(Tensor(x)).asnumpy()
    assert np.max(np.abs(made - want) / (1 + np.abs(want))) < close[dtype]


def test_kernels_of_special_functions_know_infinities_and_poles():
    compiled = ms.jit(lambda x: (ops.digamma(x), ops.lgamma(x), ops.erfinv(x)), fullgraph=True)
    x = Tensor(np.array([np.inf, -np.inf, np.nan, 0, -1, 1, 2], np.float32))
    for made, want in zip(compiled(x), (ops.digamma(x), ops.lgamma(x), ops.erfinv(x))):
        np.testing.assert_allclose(made.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)


def test_polygamma_takes_no_steps_from_a_far_pole():
    x = Tensor(np.array([-1e30, -1e6 - 0.25], np.float64))
    np.testing.assert_allclose(ops.digamma(x).asnumpy(), [np.nan, math.log(1e6) + math.pi], rtol=1e-6)
    assert ops.polygamma(1, x[:1]).asnumpy() == np.inf and ops.polygamma(2, x[:1]).asnumpy() == -np.inf
    np.testing.assert_allclose(ops.polygamma(1, x[1:]).asnumpy(), 2 * math.pi ** 2, rtol=1e-6)


def test_polygamma_of_negative_numbers_goes_by_its_recurrence():
    x = np.array([-0.3, -1.7, -5.2, -20.25])
    for n in range(5):
        steps = 30
        terms = sum((-1) ** (n + 1) * math.factorial(n) / (x + k) ** (n + 1) for k in range(steps))
        np.testing.assert_allclose(ops.polygamma(n, Tensor(x)).asnumpy(),
                                   terms + ops.polygamma(n, Tensor(x + steps)).asnumpy(), rtol=1e-10)
