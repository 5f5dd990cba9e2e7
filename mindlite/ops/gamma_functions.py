"""Incomplete gamma and beta functions, the zeta function of Hurwitz, the multivariate gamma function.

    P(a, x) = the sum over n of t_n,   t_n = exp(-x) x^(a+n) / Gamma(a + n + 1)                 (Abramowitz and Stegun 6.5.29)
    d^k t_n / da^k = t_n Y_k(log x - psi(a+n+1), -psi'(a+n+1), ..)      Y_k the complete Bell polynomials
    dP / dx = exp(-x) x^(a-1) / Gamma(a)                                its derivatives by a: with the Bell polynomials too

so derivatives of any order exist. Values for x > a + 1 are those of the continued fraction 6.5.31. zeta is the sum of
Euler and Maclaurin (23.2.3, 23.2.9), the beta function's continued fraction is 26.5.8. NumPy computes them, in float64.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from ..common.errors import ValueRangeError
from ..common.tensor import Tensor, TensorLike

from .axes import as_known_int
from .define import as_operand, elementwise, to_float
from .elementary import exp, log, log1p
from .special import BERNOULLI, FAR, digamma, lgamma, log_gamma_of_ndarray, polygamma_of, polygamma_of_ndarray

_TERMS, _TINY, _ANEW = 500, 1e-300, 32


def _bell(parts):
    """The complete Bell polynomials Y_0 .. Y_k of k numbers, arrays or Tensors: Y_m = sum of C(m-1, i) Y_(m-1-i) parts[i]."""
    made = [1.0]
    for m in range(1, len(parts) + 1):
        made.append(sum(math.comb(m - 1, i) * made[m - 1 - i] * parts[i] for i in range(m)))
    return made[-1]


def _log_gamma(x):
    """The logarithm of the gamma function of an ndarray of numbers above 0: steps up to FAR, then Stirling's series (6.1.40)."""
    steps, product = np.where(x < FAR, np.ceil(FAR - x), 0), np.ones_like(x)
    for k in range(int(steps.max(initial=0))):
        product = np.where(k < steps, product * (x + k), product)
    y = x + steps
    series = (y - 0.5) * np.log(y) - y + 0.5 * math.log(2 * math.pi) - np.log(product)
    for k, b in enumerate(BERNOULLI, 1):
        series += b / (2 * k * (2 * k - 1) * y ** (2 * k - 1))
    return series


def _lower_series(a, x, order):
    """The sum of t_n, or of its derivative, for all n that count; each is made of the one before, every _ANEW-th from a and x."""
    total, log_x = np.zeros_like(x), np.log(np.where(x > 0, x, 1.0))
    for n in range(int(np.max(x, initial=0) + 12 * math.sqrt(np.max(x, initial=0)) + 40)):
        z = a + n + 1
        if n % _ANEW == 0:
            exponent = -x + (a + n) * log_x - _log_gamma(z)
            parts = [log_x - polygamma_of_ndarray(z)] if order else []
            parts += [-polygamma_of_ndarray(z, m) for m in range(1, order)]
        term = np.exp(exponent)
        total += term * _bell(parts) if order else term
        if not order and np.all(term <= 1e-17 * total) and np.all(x <= z):      # from here on terms fall
            break
        exponent = exponent + log_x - np.log(z)
        parts = [part + (-1) ** (m + 1) * math.factorial(m) / z ** (m + 1) for m, part in enumerate(parts)]
    return np.where(x > 0, total, 0.0)


def _fraction(first, step, size):
    """A continued fraction b0 + a1 / (b1 + a2 / ..) by Lentz's method; step(n) gives (a_n, b_n)."""
    value = np.where(first == 0, _TINY, first)
    c, d = value, np.zeros_like(value)
    for n in range(1, size):
        above, below = step(n)
        d = below + above * d
        c = below + above / c
        d = 1 / np.where(d == 0, _TINY, d)
        c = np.where(c == 0, _TINY, c)
        change = c * d
        value = value * change
        if np.all(np.abs(change - 1) < 1e-16):
            break
    return value


def _incomplete_gamma(a, x, order=0, upper=False):
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    known = (a > 0) & (x >= 0) & np.isfinite(x) & np.isfinite(a)
    a, y = np.where(known, a, 1.0), np.where(known, x, 0.0)
    if order:
        out = _lower_series(a, y, order) * (-1 if upper else 1)
    else:
        far = y > a + 1
        low = _lower_series(a, np.where(far, 0.0, y), 0)
        z = np.where(far, y, a + 2)
        scale = np.exp(-z + a * np.log(z) - _log_gamma(a))
        high = scale / _fraction(z + 1 - a, lambda n: (-n * (n - a), z + 2 * n + 1 - a), _TERMS)
        out = np.where(far, high if upper else 1 - high, 1 - low if upper else low)
    ends = np.where(np.isposinf(x) & (a > 0), 0.0 if upper or order else 1.0, np.nan)
    return np.where(known, out, ends)


def _density(a, x, out, *, order, upper):
    """The derivative by x of the derivative by a of that order."""
    parts = [log(x) - digamma(a)] + [-polygamma_of(a, n=m) for m in range(1, order)]
    slope = exp((a - 1) * log(x) - x - lgamma(a)) * (_bell(parts[:order]) if order else 1.0)
    return -slope if upper else slope


def _next_order(a, x, out, *, order, upper):
    return incomplete_gamma(a, x, order=order + 1, upper=upper)


@elementwise(scalar=None, array=_incomplete_gamma, accepts="f", prepare=to_float, kernel=False, traits={"library"},
             derivatives=[_next_order, _density])
def incomplete_gamma(a, x, *, order, upper):
    """The derivative of that order by a of P(a, x), or with `upper` of 1 - P(a, x). NaN unless a > 0 and x >= 0."""


def igamma(input: TensorLike, other: TensorLike) -> Any:
    """P(input, other), the regularised lower incomplete gamma function; NaN unless input > 0 and other >= 0."""
    return incomplete_gamma(input, other, order=0, upper=False)


def igammac(input: TensorLike, other: TensorLike) -> Tensor:
    """The upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x), precise where that is near 0.

    input, other : a and x, Tensor or number of real dtype; they broadcast and are promoted, integers to float32
    out    : float of the broadcast shape, in [0, 1]; NaN where a is not above 0 or x is negative
    raises : DTypeError for complex numbers, ShapeError where the shapes do not broadcast
    source : Abramowitz and Stegun 6.5.3
    """
    return incomplete_gamma(input, other, order=0, upper=True)


# ---------------------------------------------------------------- slopes of quantiles

def _gamma_slope(a, x):
    """Minus the sum of (d t_n / da) / (dP / dx): the powers of x cancel, so nothing of it is too small for a float."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    known = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
    a, y = np.where(known, a, 1.0), np.where(known, x, 1.0)
    log_x, term = np.log(y), y / a
    psi = polygamma_of_ndarray(a + 1)
    total = np.zeros_like(y)
    past = np.max(y - a, initial=0) + 12 * math.sqrt(np.max(y, initial=0)) + 40
    for n in range(int(past)):
        total += term * (psi - log_x)
        term, psi = term * y / (a + n + 1), psi + 1 / (a + n + 1)
    return np.where(known, total, np.where((a > 0) & (x == 0), 0.0, np.nan))


@elementwise(scalar=None, array=_gamma_slope, accepts="f", prepare=to_float, kernel=False, traits={"library"}, derivatives=[
    lambda a, x, out: -incomplete_gamma(a, x, order=2, upper=False) / _density(a, x, out, order=0, upper=False)
    - out * (log(x) - digamma(a)),
    lambda a, x, out: digamma(a) - log(x) - out * ((a - 1) / x - 1)])
def gamma_quantile_slope(a, x):
    """dx / da at a constant P(a, x): how the quantile x of the gamma distribution moves with its parameter a.

    a, x : float[...], above 0; out: like both, NaN elsewhere, 0 at x = 0
    source : Figurnov, Mohamed, Mnih 2018, "Implicit reparameterization gradients", equation 5
    """


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of p x p matrices: p (p - 1) / 4 log(pi) + the sum of lgamma(input - i / 2).

    input  : Tensor of real dtype;     p : int, 1 or more
    raises : ValueRangeError below 1, ArgumentError for what is no int
    """
    input, p = as_operand(input), as_known_int("mvlgamma", p)
    if p < 1:
        raise ValueRangeError(f"mvlgamma: p is at least 1, not {p}")
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = lgamma(input - i / 2) + total
    return total


# ---------------------------------------------------------------- zeta

_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)   # B / (2j)!


def _zeta(x, q):
    x, q = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(q, np.float64))
    known, at_pole = (x > 1) & (q > 0), (q <= 0) & (q == np.floor(q)) | (x == 1)
    x, y = np.where(known, x, 2.0), np.where(known, q, 1.0)
    total = np.zeros_like(x)
    for n in range(12):
        total = total + (y + n) ** -x
    end, rise = y + 12, x
    total += end ** (1 - x) / (x - 1) + 0.5 * end ** -x
    for j, b in enumerate(_BERNOULLI):
        total += b * rise * end ** (-x - 2 * j - 1)
        rise = rise * (x + 2 * j + 1) * (x + 2 * j + 2)
    return np.where(known, total, np.where(at_pole, np.inf, np.nan))


def _slope_of_zeta(x, q, out):
    return -x * zeta(x + 1, q)


@elementwise(scalar=None, array=_zeta, accepts="f", prepare=to_float, kernel=False, traits={"library"},
             derivatives=[lambda x, q, out: out * math.nan, _slope_of_zeta])
def zeta(input: TensorLike, other: TensorLike):
    """The sum of (other + k) ** -input for k = 0, 1, ..; NaN unless input > 1 and other > 0.

    gradient : by `other`; by `input` it is NaN: not known
    """


# ---------------------------------------------------------------- incomplete beta

def _incomplete_beta(a, b, x):
    a, b, x = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, x)))
    known = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    a, b, y = np.where(known, a, 1.0), np.where(known, b, 1.0), np.where(known, x, 0.5)
    turn = y > (a + 1) / (a + b + 2)
    a, b, y = np.where(turn, b, a), np.where(turn, a, b), np.where(turn, 1 - y, y)
    inside = np.where((y > 0) & (y < 1), y, 0.25)

    def step(n):
        m = n // 2
        if n % 2 == 0:
            return m * (b - m) * inside / ((a + 2 * m - 1) * (a + 2 * m)), 1.0
        return -(a + m) * (a + b + m) * inside / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
    scale = np.exp(log_gamma_of_ndarray(a + b) - log_gamma_of_ndarray(a) - log_gamma_of_ndarray(b)
                   + a * np.log(inside) + b * np.log1p(-inside)) / a
    part = np.where(y <= 0, 0.0, np.where(y >= 1, 1.0, scale / _fraction(np.ones_like(a), step, _TERMS)))
    return np.where(known, np.where(turn, 1 - part, part), np.nan)


def _beta_density(a, b, x, out):
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + (a - 1) * log(x) + (b - 1) * log1p(-x))


@elementwise(scalar=None, array=_incomplete_beta, accepts="f", prepare=to_float, kernel=False, traits={"library"},
             derivatives=[lambda a, b, x, out: out * math.nan, lambda a, b, x, out: out * math.nan, _beta_density])
def betainc(a: TensorLike, b: TensorLike, x: TensorLike):
    """I_x(a, b), the regularised incomplete beta function; NaN unless a > 0, b > 0 and 0 <= x <= 1.

    gradient : by x; by a and b it is NaN: not known
    """


@elementwise(scalar=None, array=np.nextafter, accepts="f", kernel=False, traits={"library"},
             derivatives=[1, 0], sbp_linear=())
def nextafter(input: TensorLike, other: TensorLike):
    """The next number of this dtype from input towards other."""
