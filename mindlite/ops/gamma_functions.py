"""Incomplete gamma and beta functions, the zeta function of Hurwitz, the multivariate gamma function.

    P(a, x) = the sum over n of t_n,   t_n = exp(-x) x^(a+n) / Gamma(a + n + 1)                 (Abramowitz and Stegun 6.5.29)
    d^k t_n / da^k = t_n Y_k(log x - psi(a+n+1), -psi'(a+n+1), ..)      Y_k the complete Bell polynomials
    dP / dx = exp(-x) x^(a-1) / Gamma(a)                                its derivatives by a: with the Bell polynomials too

so derivatives of any order exist; those of the incomplete beta function and of zeta are made alike. Values for x > a + 1
are those of the continued fraction 6.5.31. zeta is the sum of Euler and Maclaurin (23.2.3, 23.2.9), the beta function's
continued fraction is 26.5.8, its series 26.5.4. NumPy computes them, in float64.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from ..common.errors import ValueRangeError
from ..common.tensor import Tensor, TensorLike

from .axes import as_known_int
from .combined import xlogy
from .define import as_operand, elementwise, to_float
from .elementary import exp, log, log1p
from .logic import equal, where
from .special import BERNOULLI, FAR, digamma, lgamma, log_gamma_of_ndarray, polygamma_of, polygamma_of_ndarray

_TERMS, _TINY, _ANEW, _WIDEST, _MOST = 500, 1e-300, 32, 1e4, 400_000


def _bell_of_two(parts, i, j):
    """The derivative i times by a, j times by b of exp(L), over exp(L): parts[p, q] is that of L, an array or a Tensor.

    With j = 0 it is the complete Bell polynomial Y_i.
    """
    made = {(0, 0): 1.0}
    for p in range(i + 1):
        for q in range(j + 1):
            if p:                                   # (exp(L) L_a), p - 1 times by a and q times by b
                made[p, q] = sum(math.comb(p - 1, u) * math.comb(q, v) * made[p - 1 - u, q - v] * parts[u + 1, v]
                                 for u in range(p) for v in range(q + 1))
            elif q:
                made[p, q] = sum(math.comb(q - 1, v) * made[0, q - 1 - v] * parts[0, v + 1] for v in range(q))
    return made[i, j]


def _bell(parts):
    """The complete Bell polynomial Y_k of k numbers, arrays or Tensors."""
    return _bell_of_two({(m, 0): part for m, part in enumerate(parts, 1)}, len(parts), 0)


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
    one = (np.isposinf(x) & (a > 0) & np.isfinite(a)) | ((a == 0) & (x > 0))
    none = np.isposinf(a) & (x >= 0) & np.isfinite(x)
    ends = np.where(one | none, 0.0 if order else np.where(one != upper, 1.0, 0.0), np.nan)
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
    return np.where(known, out, ends)


def _times(density, polynomial):
    """Their product, 0 where a density is 0: there the polynomial of log x may be infinite."""
    return where(equal(density, 0), 0.0, density * polynomial)


def _density(a, x, out, *, order, upper):
    """The derivative by x of the derivative by a of that order."""
    parts = [log(x) - digamma(a)] + [-polygamma_of(a, n=m) for m in range(1, order)]
    slope = exp(xlogy(a - 1, x) - x - lgamma(a))
    slope = _times(slope, _bell(parts[:order])) if order else slope
    return -slope if upper else slope


def _next_order(a, x, out, *, order, upper):
    return incomplete_gamma(a, x, order=order + 1, upper=upper)


@elementwise(scalar=None, array=_incomplete_gamma, accepts="f", prepare=to_float, kernel=False, traits={"library"},
             derivatives=[_next_order, _density])
def incomplete_gamma(a, x, *, order, upper):
    """The derivative of that order by a of P(a, x), or with `upper` of 1 - P(a, x). NaN unless a > 0, or a = 0 and
    x > 0, and x >= 0, and where both are inf."""


def igamma(input: TensorLike, other: TensorLike) -> Any:
    """P(input, other), the regularised lower incomplete gamma function; 1 for input = 0 and other > 0; NaN for what is
    negative, for two zeros and two infinities."""
    return incomplete_gamma(input, other, order=0, upper=False)


def igammac(input: TensorLike, other: TensorLike) -> Tensor:
    """The upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x), precise where that is near 0.

    input, other : a and x, Tensor or number of real dtype; they broadcast and are promoted, integers to float32
    out    : float of the broadcast shape, in [0, 1]; 0 for a = 0 and x > 0; NaN where one is negative, both are 0 or both inf
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


def _product(f, g):
    """The derivatives 0 .. k of f g, by Leibniz, of those of f and g."""
    return [sum(math.comb(m, i) * f[i] * g[m - i] for i in range(m + 1)) for m in range(len(f))]


def _zeta(x, q, order=0):
    x, q = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(q, np.float64))
    known, at_pole = (x > 1) & (q > 0), (q <= 0) & (q == np.floor(q)) | (x == 1)
    x, y = np.where(known, x, 2.0), np.where(known, q, 1.0)

    def power(base, more):
        return [(-np.log(base)) ** m * base ** (-x - more) for m in range(order + 1)]

    def factor(more):
        return [x + more, 1.0, *[0.0] * order][:order + 1]

    total: Any = np.zeros_like(x)
    for n in range(12):
        total = total + power(y + n, 0)[order]
    end, rise = y + 12, factor(0)
    pole = [(-1) ** m * math.factorial(m) / (x - 1) ** (m + 1) for m in range(order + 1)]
    total += _product(power(end, -1), pole)[order] + 0.5 * power(end, 0)[order]
    for j, b in enumerate(_BERNOULLI):
        total += b * _product(rise, power(end, 2 * j + 1))[order]
        rise = _product(_product(rise, factor(2 * j + 1)), factor(2 * j + 2))
    return np.where(known, total, np.where(at_pole & (order == 0), np.inf, np.nan))


def _zeta_by_x(x, q, out, *, order):
    return hurwitz_zeta(x, q, order=order + 1)


def _zeta_by_q(x, q, out, *, order):
    """d/dq is -x zeta(x + 1, q), here with its derivatives by x."""
    slope = -x * hurwitz_zeta(x + 1, q, order=order)
    return slope - order * hurwitz_zeta(x + 1, q, order=order - 1) if order else slope


@elementwise(scalar=None, array=_zeta, accepts="f", prepare=to_float, kernel=False, traits={"library"},
             derivatives=[_zeta_by_x, _zeta_by_q])
def hurwitz_zeta(x, q, *, order):
    """The derivative of that order by x of the sum of (q + k) ** -x for k = 0, 1, ..; NaN unless x > 1 and q > 0."""


def zeta(input: TensorLike, other: TensorLike) -> Any:
    """The zeta function of Hurwitz: the sum of (other + k) ** -input for k = 0, 1, ..; with gradients by both.

    input, other : Tensor or number of real dtype; they broadcast and are promoted, integers to float32
    out    : float; inf where input is 1 and where other is 0, -1, -2, .., else NaN unless input > 1 and other > 0
    source : Abramowitz and Stegun 23.2.9; its derivatives by input: each term of Euler and Maclaurin's sum differentiated
    """
    return hurwitz_zeta(input, other, order=0)


# ---------------------------------------------------------------- incomplete beta

def _incomplete_beta(a, b, x, orders=(0, 0)):
    """The derivative of those orders by a and b of I_x(a, b): for x far from the ends by I_x(a, b) = 1 - I_(1-x)(b, a)."""
    a, b, x = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, x)))
    known = (a > 0) & (b > 0) & (x >= 0) & (x <= 1) & np.isfinite(a) & np.isfinite(b)
    a, b, y = np.where(known, a, 1.0), np.where(known, b, 1.0), np.where(known, x, 0.5)
    if orders != (0, 0):
        out, turn = np.zeros_like(y), y > 0.5
        for chosen, sign, first, second, z, (i, j) in ((~turn, 1, a, b, y, orders), (turn, -1, b, a, 1 - y, orders[::-1])):
            chosen = chosen & (z > 0)                                 # at the ends I_x is 0 or 1 for all a and b
            out[chosen] = sign * _beta_series(first[chosen], second[chosen], z[chosen], i, j)
        return np.where(known, out, np.nan)
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


def _beta_series(a, b, x, i, j):
    """The derivatives of the sum of Gamma(a+b+n) / (Gamma(b) Gamma(a+n+1)) x^(a+n) (1-x)^b for 0 < x <= 1/2 (26.5.4).

    The terms rise to one place and fall from there: the sum starts where they begin to count, and ends where they have ceased to.
    """
    if not x.size:
        return x
    log_x, log_rest = np.log(x), np.log1p(-x)
    peak = np.maximum((x * (a + b) - a - 1) / (1 - x), 0.0)
    width = np.sqrt((a + b + peak) * (a + peak + 1) / np.maximum(b - 1, 1e-3)) * (peak > 0)
    if np.max(width, initial=0) + np.sqrt(np.max(a + b, initial=0)) > _WIDEST:
        raise ValueRangeError(f"betainc: derivatives by a and b are not computed where a + b is {np.max(a + b):.3g}: "
                              "their series has too many terms")
    start = np.maximum(np.floor(peak - 12 * width - 40), 0.0)
    orders = [(p, q) for p in range(i + 1) for q in range(j + 1) if p + q]
    of_b = [polygamma_of_ndarray(b, m) for m in range(j)]
    n, total, plain = start, np.zeros_like(x), np.zeros_like(x)
    for count in range(_MOST):
        both, own = a + b + n, a + n + 1
        if count % _ANEW == 0:
            exponent = _log_gamma(both) - _log_gamma(b) - _log_gamma(own) + (a + n) * log_x + b * log_rest
            of_both = [polygamma_of_ndarray(both, m) for m in range(i + j)]
            of_own = [polygamma_of_ndarray(own, m) for m in range(i)]
        parts = {(p, q): of_both[p + q - 1] - (of_own[p - 1] if not q else 0.0) - (of_b[q - 1] if not p else 0.0)
                 + (log_x if (p, q) == (1, 0) else 0.0) + (log_rest if (p, q) == (0, 1) else 0.0) for p, q in orders}
        term = np.exp(exponent)
        total, plain = total + term * _bell_of_two(parts, i, j), plain + term
        if np.all((term <= 1e-20 * plain) & (n > peak)):
            break
        exponent = exponent + np.log(both / own) + log_x
        of_both = [psi + (-1) ** m * math.factorial(m) / both ** (m + 1) for m, psi in enumerate(of_both)]
        of_own = [psi + (-1) ** m * math.factorial(m) / own ** (m + 1) for m, psi in enumerate(of_own)]
        n = n + 1
    return total


def _beta_density(a, b, x, out, *, orders):
    """The derivative by x of the derivative of those orders by a and b."""
    i, j = orders
    parts = {(1, 0): log(x) - digamma(a) + digamma(a + b), (0, 1): log1p(-x) - digamma(b) + digamma(a + b)}
    for p in range(i + 1):
        for q in range(j + 1):
            if p + q > 1:
                m = p + q - 1
                parts[p, q] = polygamma_of(a + b, n=m) - (0.0 if p and q else polygamma_of(b if q else a, n=m))
    slope = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + xlogy(a - 1, x) + xlogy(b - 1, 1 - x))
    return _times(slope, _bell_of_two(parts, i, j)) if i + j else slope


def _beta_by_a(a, b, x, out, *, orders):
    return incomplete_beta(a, b, x, orders=(orders[0] + 1, orders[1]))


def _beta_by_b(a, b, x, out, *, orders):
    return incomplete_beta(a, b, x, orders=(orders[0], orders[1] + 1))


@elementwise(scalar=None, array=_incomplete_beta, accepts="f", prepare=to_float, kernel=False, traits={"library"},
             derivatives=[_beta_by_a, _beta_by_b, _beta_density])
def incomplete_beta(a, b, x, *, orders):
    """The derivative of those orders by a and b of I_x(a, b). NaN unless a > 0, b > 0 and 0 <= x <= 1."""


def betainc(a: TensorLike, b: TensorLike, x: TensorLike) -> Any:
    """I_x(a, b), the regularised incomplete beta function, with gradients by a, b and x.

    a, b, x : Tensor or number of real dtype; they broadcast and are promoted, integers to float32
    out     : float, in [0, 1]; NaN unless a > 0, b > 0 and 0 <= x <= 1
    raises  : ValueRangeError for a gradient by a or b where they are so large that the series has too many terms
    source  : Abramowitz and Stegun 26.5.8; the derivatives by a and b: 26.5.4, each term differentiated
    """
    return incomplete_beta(a, b, x, orders=(0, 0))


@elementwise(scalar=None, array=np.nextafter, accepts="f", kernel=False, traits={"library"},
             derivatives=[1, 0], sbp_linear=())
def nextafter(input: TensorLike, other: TensorLike):
    """The next number of this dtype from input towards other."""
