"""The gamma function's family, the inverse of erf, modified Bessel functions: lgamma, digamma, .., erfinv, bessel_i0.

    lgamma' = digamma = polygamma(0),  polygamma(n)' = polygamma(n + 1)          so derivatives of any order exist
    I_n' = (I_(n-1) + I_(n+1)) / 2     (Abramowitz and Stegun 9.6.26)

digamma and polygamma step x up to 10 or more, psi_n(x) = psi_n(x + 1) + (-1)^(n+1) n! / x^(n+1), where the asymptotic
series of Abramowitz and Stegun 6.3.18 and 6.4.11 has converged. NumPy computes them, in float64; their kernels are expansions
of one element (`polygamma_element`, `lgamma_element`, `inverse_erf_element`).
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from ..common.tensor import Tensor, TensorLike

from ..common import dtype as dt
from ..common.errors import ValueRangeError
from ..mindir.loops import CannotFuse
from ..mindir.scalar import call as call_scalar, cast as cast_scalar, compute_dtype, logical_and, logical_or, \
    where as where_scalar
from .arithmetic import sign
from .axes import as_known_int
from .bessel_approximations import bessel_i_element, polynomial, power as _power
from .define import documented, elementwise, to_float
from .elementary import exp

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
FAR, _STEPS = 10.0, 10                          # from here on the series has 16 digits; steps from 1/2 to there
MOST_DERIVATIVES = 8                             # the highest order of polygamma that kernels compute


def _log_gamma(x):
    if x == -math.inf or x <= 0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


_log_gammas = np.frompyfunc(_log_gamma, 1, 1)


def log_gamma_of_ndarray(x):
    """The logarithm of the absolute value of the gamma function, float64."""
    return np.asarray(_log_gammas(x), np.float64)


def polygamma_of_ndarray(x, n=0):
    """psi_n of an ndarray, float64: ten steps up to FAR and the series (6.4.6, 6.4.11). Below 1/2 it is reflected (6.4.7).
    At its poles it is inf for odd n, -inf for even n and for psi at 0; psi has two limits at the others and is nan."""
    x = np.asarray(x, np.float64)
    pole = (x <= 0) & (x == np.floor(x)) & np.isfinite(x)
    if np.any(pole):
        limit = math.inf if n % 2 else np.where((x < 0) & (n == 0), math.nan, -math.inf)
        return np.where(pole, limit, polygamma_of_ndarray(np.where(pole, 1.0, x), n))
    if np.any(low := x < 0.5):
        reflected = (-1) ** n * polygamma_of_ndarray(1 - np.where(low, x, 0.0), n) - _slope_of_cotangent(np.where(low, x, 0.5), n)
        return np.where(low, reflected, polygamma_of_ndarray(np.where(low, 1.0, x), n))
    steps = np.where(np.isfinite(x) & (x < FAR), np.ceil(FAR - x), 0)
    sign, total = -1.0 if n % 2 == 0 else 1.0, np.zeros_like(x)
    factorial = math.factorial(n)
    for k in range(int(steps.max(initial=0))):
        inside = k < steps
        total += np.where(inside, sign * factorial / np.where(inside, x + k, 1.0) ** (n + 1), 0)
    y = x + steps
    if n == 0:
        series = np.log(y) - 0.5 / y
        for k, b in enumerate(BERNOULLI, 1):
            series -= b / (2 * k * y ** (2 * k))
    else:
        series = math.factorial(n - 1) / y ** n + factorial / (2 * y ** (n + 1))
        for k, b in enumerate(BERNOULLI, 1):
            series += b * math.factorial(2 * k + n - 1) / (math.factorial(2 * k) * y ** (2 * k + n))
        series *= sign
    return np.where(np.isposinf(x), np.inf if n == 0 else 0.0, total + series)


def cotangent_of_order(n):
    """The n-th derivative of cot as a polynomial of cot, the highest power first: cot' = -(1 + cot ** 2)."""
    out = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        out = -np.polynomial.Polynomial([1.0, 0.0, 1.0]) * out.deriv()
    return out.coef[::-1].tolist()


def _slope_of_cotangent(x, n):
    """The n-th derivative of pi * cot(pi * x)."""
    turn = math.pi * (x - np.round(x))
    return math.pi ** (n + 1) * polynomial(np.cos(turn) / np.sin(turn), cotangent_of_order(n))


_SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(11))[::-1]
_COSINE = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(12))[::-1]


def _sine_and_cosine_of_pi(x):
    """sin(pi x) and cos(pi x) of a ScalarExpr in float64: Taylor's series of what x is off the nearest integer, for odd ones with
    the other sign, so only their quotient and their magnitudes count."""
    off = x - call_scalar("round", x)
    square = off * off
    return off * polynomial(square, _SINE), polynomial(square, _COSINE)


def _stepped(z, step):
    """z raised by up to _STEPS steps until it is FAR at least; step(z, near) is called before each."""
    for _ in range(_STEPS):
        near = z < FAR
        step(z, near)
        z = where_scalar(near, z + 1, z)
    return z


def polygamma_element(x, n=0):
    """psi_n of a ScalarExpr, in float64: ten steps up to FAR and the series; below 1/2 the reflection (6.3.7, 6.4.7)."""
    if n > MOST_DERIVATIVES:
        raise CannotFuse(f"polygamma of order {n}, above {MOST_DERIVATIVES}, has no kernel")
    y, factorial = cast_scalar(x, dt.float64), math.factorial(n)
    low = y < 0.5
    total = cast_scalar(0.0, dt.float64)

    def add(z, near):
        nonlocal total
        total = total + where_scalar(near, _power(1 / z, n + 1), 0.0)
    z = _stepped(where_scalar(low, 1 - y, y), add)
    inverse = 1 / z
    square = inverse * inverse
    if n == 0:
        series = polynomial(square, [b / (2 * k) for k, b in reversed(list(enumerate(BERNOULLI, 1)))])
        value = call_scalar("log", z) - 0.5 * inverse - square * series - total
    else:
        series = polynomial(square, [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
                                     for k, b in reversed(list(enumerate(BERNOULLI, 1)))])
        value = math.factorial(n - 1) + inverse * (factorial / 2 + inverse * series)
        value = (-1) ** (n + 1) * (_power(inverse, n) * value + factorial * total)
        value = where_scalar(y == math.inf, 0.0, value)
    sine, cosine = _sine_and_cosine_of_pi(y)
    reflected = (-1) ** n * value - math.pi ** (n + 1) * polynomial(cosine / sine, cotangent_of_order(n))
    value = where_scalar(low, reflected, value)
    pole = logical_and(low, y == call_scalar("floor", y))
    limit = math.inf if n % 2 else where_scalar(y < 0, math.nan, -math.inf) if n == 0 else -math.inf
    return where_scalar(logical_and(pole, y > -math.inf), limit, value)


def lgamma_element(x):
    """lgamma of a ScalarExpr, of float32 in float64: the product of ten steps up to FAR, Stirling's series (6.1.41), below 1/2
    the reflection (6.1.17). Near its zeros 1 and 2 that has too few digits for a float64, which the C library computes."""
    if compute_dtype(x.dtype) is dt.float64:
        return call_scalar("lgamma", x)
    y = cast_scalar(x, dt.float64)
    low, product = y < 0.5, cast_scalar(1.0, dt.float64)

    def multiply(z, near):
        nonlocal product
        product = product * where_scalar(near, z, 1.0)
    z = _stepped(where_scalar(low, 1 - y, y), multiply)
    inverse = 1 / z
    series = polynomial(inverse * inverse, [b / (2 * k * (2 * k - 1)) for k, b in reversed(list(enumerate(BERNOULLI, 1)))])
    value = (z - 0.5) * (call_scalar("log", z) - 1) + inverse * series + (math.log(2 * math.pi) - 1) / 2
    sine = call_scalar("abs", _sine_and_cosine_of_pi(y)[0])
    left = call_scalar("log", where_scalar(low, math.pi / sine * product, product))
    value = where_scalar(low, left - value, value - left)
    value = where_scalar(logical_or(y == 1, y == 2), 0.0, value)
    return where_scalar(call_scalar("abs", y) == math.inf, math.inf, value)


_CENTRAL = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
            0.246640727, 1.50140941)
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
         1.00167406, 2.83297682)


def inverse_erf_element(y):
    """erfinv of a ScalarExpr: the polynomials of Giles (2010), in float64 with two of Halley's steps."""
    size = call_scalar("abs", y)
    w = -call_scalar("log", (1 - y) * (1 + y))
    x = where_scalar(w < 5, polynomial(w - 2.5, _CENTRAL), polynomial(call_scalar("sqrt", w) - 3, _TAIL)) * y
    if y.dtype is dt.float64:
        for _ in range(2):
            left = (1 - size) - call_scalar("erfc", call_scalar("abs", x))
            error = where_scalar(size > 0.5, left * call_scalar("copysign", 1.0, y), call_scalar("erf", x) - y)
            ratio = error * (math.sqrt(math.pi) / 2) * call_scalar("exp", x * x)
            x = x - ratio / (1 + x * ratio)
    return where_scalar(size < 1, x, where_scalar(size > 1, math.nan, y * math.inf))


def _inverse_erf(y):
    """Giles's start (2010) and three steps of Newton, on -log of what is left near 1."""
    y = np.asarray(y, np.float64)
    w = -np.log((1 - y) * (1 + y))
    a = 2 / (math.pi * 0.147) - w / 2
    x = np.copysign(np.sqrt(np.sqrt(a * a + w / 0.147) - a), y)            # Winitzki (2008): 2e-3
    erf: Any = np.frompyfunc(math.erf, 1, 1)
    erfc: Any = np.frompyfunc(math.erfc, 1, 1)
    for _ in range(3):
        inner = np.isfinite(x) & (np.abs(y) < 1)
        safe = np.where(inner, x, 0.0)
        tail = np.abs(y) > 0.5
        error = np.where(tail, np.copysign(1, y) * ((1 - np.abs(y)) - np.asarray(erfc(np.abs(safe)), np.float64)),
                         np.asarray(erf(safe), np.float64) - y)
        slope = 2 / math.sqrt(math.pi) * np.exp(-safe * safe)
        ratio = error / slope
        x = np.where(inner, safe - ratio / (1 + safe * ratio), x)            # Halley
    return x


_SERIES = 30.0                                   # up to here the ascending series, from here the asymptotic one


def _bessel_i(x, n=0, scaled=False):
    """I_n of an ndarray, times exp(-abs(x)) if scaled (Abramowitz and Stegun 9.6.10 and 9.7.1): no term of either cancels."""
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    small, large = np.minimum(size, _SERIES), np.maximum(size, _SERIES)
    term = (small / 2) ** n / math.factorial(n)
    near = term.copy()
    for k in range(1, 80):
        term = term * (small * small / 4) / (k * (k + n))
        near += term
    term, far = np.ones_like(large), np.ones_like(large)
    for k in range(1, 31):
        term = term * ((2 * k - 1) ** 2 - 4 * n * n) / (8 * k * large)
        far += term
    far /= np.sqrt(2 * math.pi * large)
    if scaled:
        out = np.where(size <= _SERIES, near * np.exp(-small), far)
    else:
        growth = np.exp(large / 2)                               # exp(x) overflows before I_n does
        out = np.where(size <= _SERIES, near, np.where(np.isposinf(size), np.inf, far * growth * growth))
    return np.where(x < 0, -out, out) if n % 2 else out


def _bessel_i_derivative(x, out, *, n, scaled):
    slope = (bessel_i_of(x, n=abs(n - 1), scaled=scaled) + bessel_i_of(x, n=n + 1, scaled=scaled)) / 2
    return slope - sign(x) * out if scaled else slope


@elementwise(scalar=bessel_i_element, array=_bessel_i, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[_bessel_i_derivative], name="bessel_i")
def bessel_i_of(x, *, n, scaled):
    """The modified Bessel function of the first kind of order n, an int that is not negative; scaled: times exp(-abs(x))."""


REAL_ARGUMENT = """
x      : Tensor or number, of any shape and real dtype, else DTypeError; integers become float32. It is computed in float64
"""
_ORDER = documented(x=REAL_ARGUMENT)


@_ORDER
def bessel_i0(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    {x}
    out    : float, of x's shape; inf where it is above the largest number of the dtype
    source : Abramowitz and Stegun 9.6
    """
    return bessel_i_of(x, n=0, scaled=False)


@_ORDER
def bessel_i0e(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind of order 0 times exp(-|x|).

    {x}
    out    : float, of x's shape; it does not overflow
    source : Abramowitz and Stegun 9.6
    """
    return bessel_i_of(x, n=0, scaled=True)


@_ORDER
def bessel_i1(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind of order 1.

    {x}
    out    : float, of x's shape; inf where it is above the largest number of the dtype
    source : Abramowitz and Stegun 9.6
    """
    return bessel_i_of(x, n=1, scaled=False)


@_ORDER
def bessel_i1e(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind of order 1 times exp(-|x|).

    {x}
    out    : float, of x's shape; it does not overflow
    source : Abramowitz and Stegun 9.6
    """
    return bessel_i_of(x, n=1, scaled=True)


def _slope_of_lgamma(x, out):
    return digamma(x)


def _slope_of_digamma(x, out):
    return polygamma_of(x, n=1)


def _slope_of_polygamma(x, out, *, n):
    return polygamma_of(x, n=n + 1)


@elementwise(scalar=lgamma_element, array=log_gamma_of_ndarray, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[_slope_of_lgamma])
def lgamma(input: TensorLike):
    """The logarithm of the absolute value of the gamma function; inf at 0, -1, -2, .."""


@elementwise(scalar=polygamma_element, array=polygamma_of_ndarray, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[_slope_of_digamma])
def digamma(input: TensorLike):
    """The derivative of lgamma; -inf at 0, NaN at -1, -2, .."""


@elementwise(scalar=polygamma_element, array=polygamma_of_ndarray, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[_slope_of_polygamma], name="polygamma")
def polygamma_of(input, *, n):
    """The n-th derivative of digamma, n an int that is not negative."""


def polygamma(n: int, input: TensorLike) -> Tensor:
    """The n-th derivative of digamma; at the poles 0, -1, -2, .. inf for an odd n, else -inf (NaN below 0 for n = 0).

    n      : int >= 0;     input : float[...]; integers and bools count as float32
    raises : DTypeError for complex numbers, ValueRangeError for a negative n, ArgumentError for one that is no int
    source : Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.11
    """
    n = as_known_int("polygamma", n)
    if n < 0:
        raise ValueRangeError(f"polygamma: n is not negative, not {n}")
    return polygamma_of(input, n=n)


@elementwise(scalar=inverse_erf_element, array=_inverse_erf, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[lambda x, out: 0.5 * math.sqrt(math.pi) * exp(out * out)])
def erfinv(input: TensorLike):
    """The number whose erf is input; inf at 1 and -1, NaN beyond."""
