"""Kernels of special functions against SciPy: over the domain, at poles and infinities, in every float dtype, with gradients."""
import math

import numpy as np
import pytest
import scipy.special as sp

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.ops.bessel import bessel_j_of, bessel_k_of, bessel_y_of
from mindlite.ops.bessel_approximations import HIGHEST
from mindlite.ops.special import MOST_DERIVATIVES, bessel_i_of, polygamma_of

ABOVE = np.concatenate([np.linspace(1e-3, 60, 4001), 10.0 ** np.linspace(-30, 2.5, 601), [2, 5, 8, np.nextafter(8, 9)],
                        [0.0, 1.0, 1.5, np.nan]])
BOTH = np.concatenate([ABOVE, -ABOVE])
GAMMA = np.concatenate([np.linspace(-6, 40, 4001), 10.0 ** np.linspace(-8, 8, 401), [0.5, 1, 2, 10, np.nan, np.inf]])
GAMMA = GAMMA[~(np.abs(GAMMA - np.rint(np.minimum(GAMMA, 1e9))) < 1e-2) | (GAMMA > 1e-9)]
# name: (function, SciPy's, points, greatest error in units of the last place of the value or, where it oscillates, its envelope)
FUNCTIONS = {
    "i0": (ops.bessel_i0, sp.i0, BOTH, 12), "i0e": (ops.bessel_i0e, sp.i0e, BOTH, 12),
    "i1": (ops.bessel_i1, sp.i1, BOTH, 20), "i1e": (ops.bessel_i1e, sp.i1e, BOTH, 20),
    "j0": (ops.bessel_j0, sp.j0, BOTH, 40), "j1": (ops.bessel_j1, sp.j1, BOTH, 40),
    "y0": (ops.bessel_y0, sp.y0, ABOVE, 40), "y1": (ops.bessel_y1, sp.y1, ABOVE, 40),
    "k0": (ops.bessel_k0, sp.k0, ABOVE, 12), "k0e": (ops.bessel_k0e, sp.k0e, ABOVE, 12),
    "k1": (ops.bessel_k1, sp.k1, ABOVE, 12), "k1e": (ops.bessel_k1e, sp.k1e, ABOVE, 12),
    "digamma": (ops.digamma, sp.digamma, GAMMA, 40), "lgamma": (ops.lgamma, sp.gammaln, GAMMA, 40),
    "erf": (ops.erf, sp.erf, BOTH, 4), "erfc": (ops.erfc, sp.erfc, BOTH[np.abs(BOTH) < 5], 80),
    "erfinv": (ops.erfinv, sp.erfinv, np.linspace(-1, 1, 2001), 6),
    **{f"j{n}": (lambda x, n=n: bessel_j_of(x, n=n), lambda x, n=n: sp.jv(n, x), BOTH, 40) for n in (2, 4)},
    **{f"y{n}": (lambda x, n=n: bessel_y_of(x, n=n), lambda x, n=n: sp.yn(n, x), ABOVE, 40) for n in (2, 4)},
    **{f"i{n}": (lambda x, n=n: bessel_i_of(x, n=n, scaled=False), lambda x, n=n: sp.iv(n, x), BOTH, 80) for n in (2, 4)},
    **{f"k{n}": (lambda x, n=n: bessel_k_of(x, n=n, scaled=False), lambda x, n=n: sp.kn(n, x), ABOVE, 20) for n in (2, 4)},
    **{f"polygamma{n}": (lambda x, n=n: polygamma_of(x, n=n), lambda x, n=n: sp.polygamma(n, x), GAMMA[~(GAMMA <= 0)], 60)
       for n in (1, 2)},
}
DTYPES = {"float64": 2.0 ** -52, "float32": 2.0 ** -23, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}


def as_dtype(x, dtype):
    """(a Tensor of the dtype, its numbers in float64)."""
    made = Tensor(x, ms.float64).astype(getattr(ms, dtype))
    return made, made.astype(ms.float64).asnumpy()


def compiled(function):
    return ms.jit(function, fullgraph=True)


def rounded(x, dtype):
    return Tensor(x, ms.float64).astype(getattr(ms, dtype)).astype(ms.float64).asnumpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_are_scipys_functions_in_every_float_dtype(name, dtype):
    function, reference, points, units = FUNCTIONS[name]
    x, wide = as_dtype(points, dtype)
    got = compiled(function)(x).astype(ms.float64).asnumpy()
    if points is GAMMA:                                      # SciPy has NaN at some poles
        got, wide = got[(wide > 0) | (wide != np.floor(wide))], wide[(wide > 0) | (wide != np.floor(wide))]
    with np.errstate(all="ignore"):
        exact = reference(wide)
        want = rounded(exact, dtype)
        # near a zero of J, Y, digamma and lgamma the error is beside the size of the function around there
        envelope = np.maximum(np.abs(exact), 1 / np.sqrt(1 + np.abs(wide)) if name[0] in "jydl" else 0)
    known = np.isfinite(want)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want), err_msg=str(wide[np.isnan(got) != np.isnan(want)]))
    infinite = np.isinf(got) | np.isinf(want)
    np.testing.assert_array_equal(got[infinite], want[infinite], err_msg=str(wide[infinite]))
    tiny = {"float16": 2.0 ** -24, "bfloat16": 2.0 ** -133, "float32": 2.0 ** -126, "float64": 2.0 ** -1020}[dtype]
    allowed = (units if dtype in ("float64", "float32") else 1) * DTYPES[dtype] * envelope[known] + tiny
    if name[0] in "jy":
        allowed += 2.0 ** -52 * np.abs(wide[known]) * envelope[known]       # SciPy rounds the phase x - pi / 4
    error = np.abs(got[known] - exact[known])
    worst = (error / allowed).argmax()
    assert (error <= allowed).all(), (wide[known][worst], got[known][worst], exact[known][worst])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager_mode_and_kernels_agree_at_the_ends_of_the_line_and_at_poles(name):
    function = FUNCTIONS[name][0]
    ends = Tensor(np.array([0.0, -0.0, 1.0, 2.0, -1.0, -2.0, -3.0, np.inf, -np.inf, np.nan, 1e-300, 700.0, 1e5]))
    got, eager = compiled(function)(ends).asnumpy(), function(ends).asnumpy()
    np.testing.assert_allclose(got, eager, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_kernels_are_differences_of_scipys_functions(name):
    function, reference, points, _ = FUNCTIONS[name]
    x = points[(np.abs(points) < 20) & (np.abs(points) > 0.3)][::40]
    x = x[np.abs(x) < 0.95] if name == "erfinv" else x
    h = 1e-5
    with np.errstate(all="ignore"):
        want = (reference(x - 2 * h) - 8 * reference(x - h) + 8 * reference(x + h) - reference(x + 2 * h)) / (12 * h)
    got = compiled(ms.grad(lambda x: function(x).sum()))(Tensor(x)).asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)


def test_orders_for_which_there_is_no_kernel_are_computed_by_numpy_in_graphs_too():
    x = np.linspace(0.5, 30, 50)
    np.testing.assert_allclose(compiled(lambda x: bessel_j_of(x, n=HIGHEST + 1))(Tensor(x)).asnumpy(), sp.jv(HIGHEST + 1, x),
                               atol=1e-12)
    n = MOST_DERIVATIVES + 1
    np.testing.assert_allclose(compiled(lambda x: polygamma_of(x, n=n))(Tensor(x)).asnumpy(), sp.polygamma(n, x), rtol=1e-5)


def test_lgamma_of_float32_is_exactly_0_at_1_and_2():
    assert compiled(ops.lgamma)(Tensor(np.float32([1, 2]))).tolist() == [0.0, 0.0]


def test_i0_is_finite_where_the_exponential_is_not():
    for dtype, x in ((np.float32, 90.0), (np.float64, 712.0)):
        for function in (ops.bessel_i0, compiled(ops.bessel_i0)):
            got = function(Tensor(np.array([x], dtype))).asnumpy()[0]
            assert math.isclose(got, sp.i0e(x) * math.exp(x / 2) * math.exp(x / 2), rel_tol=1e-5)
