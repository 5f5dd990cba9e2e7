"""Bessel functions of integer order: J and Y, and the modified K; the modified I are in special.py.

    J_n' = (J_(n-1) - J_(n+1)) / 2, also of Y      K_n' = -(K_(n-1) + K_(n+1)) / 2        so derivatives of any order exist

Up to 25, exp(i x sin t) = sum of J_k(x) exp(i k t) (Jacobi and Anger): a sum over 128 samples gives any
J_k, near 0 the power series does; Y_0 and Y_1 are Neumann's series of the J_k (Abramowitz and Stegun 9.1.88), higher
orders come by recurrence. Beyond, Hankel's asymptotic series has 16 digits (9.2.5 to 9.2.10). K is the trapezoidal sum of its
integral exp(-x cosh t) cosh(n t) (9.6.24), which converges exponentially, and 9.7.2. So NumPy computes them, in float64;
kernels have shorter ways (bessel_approximations.py).
"""
from __future__ import annotations

import math

import numpy as np
from ..common.tensor import Tensor, TensorLike

from .bessel_approximations import bessel_j_element, bessel_k_element, bessel_y_element
from .define import documented, elementwise, to_float
from .special import REAL_ARGUMENT

_NEAR, _SAMPLES, _SERIES = 25.0, 128, 3.0        # where the asymptotic series begins; samples of a turn; the power series
_EULER = 0.57721566490153286061


def _series_of_j(x, n):
    """The power series of J_n (9.1.10), for x that is small."""
    term = (x / 2) ** n / math.factorial(n)
    total = term.copy()
    for k in range(1, 25):
        term = term * (-x * x / 4) / (k * (k + n))
        total += term
    return total


def _sum_of_j(x, factors):
    """The sum of factors[k] J_k(x) for 0 <= x <= 25: the Fourier transform of the factors weighs the samples."""
    turns = np.arange(_SAMPLES) * (2 * math.pi / _SAMPLES)
    weights, total = np.fft.fft(factors, _SAMPLES) / _SAMPLES, np.zeros_like(x)
    for turn, weight in zip(turns, weights):
        angle = x * math.sin(turn)
        total += weight.real * np.cos(angle) - weight.imag * np.sin(angle)
    return total


def _near_j(x, n):
    """J_n(x) for 0 <= x <= 25."""
    return np.where(x < _SERIES, _series_of_j(np.minimum(x, _SERIES), n), _sum_of_j(x, np.eye(1, n + 1, n)[0]))


def _hankel(x, n):
    """(J_n(x), Y_n(x)) for large x, n 0 or 1: the modulus and phase of Hankel's series."""
    p, q, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 30):
        term = term * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * x)
        sign = (1, 1, -1, -1)[k % 4]
        if k % 2:
            q += sign * term
        else:
            p += sign * term
    phase, size = x - (n / 2 + 0.25) * math.pi, np.sqrt(2 / (math.pi * x))
    return size * (p * np.cos(phase) - q * np.sin(phase)), size * (p * np.sin(phase) + q * np.cos(phase))


def _upwards(first, second, x, n, sign=-1):
    """The order n from those of 0 and 1: c_(k+1) = 2 k / x c_k + sign c_(k-1), infinite where its first part is."""
    if n == 0:
        return first
    for k in range(1, n):
        part = 2 * k / x * second
        first, second = second, np.where(np.isinf(part), part, part + sign * first)
    return second


def _bessel_j(x, n=0):
    """J_n of an ndarray."""
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    near = np.minimum(np.where(np.isnan(size), 0, size), _NEAR)
    far = np.where(np.isfinite(size), np.maximum(size, _NEAR), _NEAR)
    first, second = [_hankel(far, k)[0] for k in (0, 1)]
    out = np.where(size > _NEAR, _upwards(first, second, far, n), _near_j(near, n))
    out = np.where(np.isnan(size), np.nan, np.where(np.isinf(size), 0, out))
    return np.where(x < 0, -out, out) if n % 2 else out


def _bessel_y(x, n=0):
    """Y_n of an ndarray; -inf at 0, NaN below."""
    x = np.asarray(x, np.float64)
    near = np.where(x > 0, np.minimum(x, _NEAR), 1.0)
    far = np.where(np.isfinite(x), np.maximum(x, _NEAR), _NEAR)
    logarithm, k, even, odd = np.log(near / 2), np.arange(1, 30), np.zeros(61), np.zeros(61)
    sign = np.where(k % 2, -1.0, 1.0)
    even[2 * k], odd[2 * k + 1] = sign / k, sign * (2 * k + 1) / (k * (k + 1))
    j0, j1 = _near_j(near, 0), _near_j(near, 1)
    y0 = 2 / math.pi * ((logarithm + _EULER) * j0 - 2 * _sum_of_j(near, even))
    y1 = 2 / math.pi * (-j0 / near + (logarithm + _EULER - 1) * j1 - _sum_of_j(near, odd))
    first, second = [_hankel(far, m)[1] for m in (0, 1)]
    out = np.where(x > _NEAR, _upwards(first, second, far, n), _upwards(y0, y1, near, n))
    return np.where(x == 0, -np.inf, np.where(x < 0, np.nan, np.where(np.isposinf(x), 0, np.where(np.isnan(x), x, out))))


def _bessel_k(x, n=0, scaled=False):
    """K_n of an ndarray, times exp(x) if scaled; inf at 0, NaN below."""
    x = np.asarray(x, np.float64)
    inner = np.where(x > 0, np.minimum(x, _NEAR), _NEAR)
    far = np.where(np.isfinite(x), np.maximum(x, _NEAR), _NEAR)
    step = 1 / 16
    near, last = np.full_like(inner, 0.5), math.acosh(1 + 750 / max(float(inner.min(initial=_NEAR)), 1e-300))
    for t in np.arange(step, last + n + 1, step):
        near += np.exp(inner * (1 - math.cosh(min(t, 700.0))) + math.log(math.cosh(min(n * t, 700.0))))
    near *= step
    term, series = np.ones_like(far), np.ones_like(far)
    for k in range(1, 31):
        term = term * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * far)
        series += term
    out = np.where(x > _NEAR, series * np.sqrt(math.pi / (2 * far)), near)
    if not scaled:
        out = out * np.exp(-np.where(x > 0, x, 0))
    return np.where(x == 0, np.inf, np.where(x < 0, np.nan, np.where(np.isposinf(x), 0, np.where(np.isnan(x), x, out))))


def _alternating(of):
    """The derivative of an order of J or Y: half the difference of its neighbours, of which -1 is minus 1."""
    def slope(x, out, *, n):
        return -of(x, n=1) if n == 0 else (of(x, n=n - 1) - of(x, n=n + 1)) / 2
    return slope


def _j_of(x, n):
    return bessel_j_of(x, n=n)


def _y_of(x, n):
    return bessel_y_of(x, n=n)


def _slope_of_k(x, out, *, n, scaled):
    slope = (bessel_k_of(x, n=abs(n - 1), scaled=scaled) + bessel_k_of(x, n=n + 1, scaled=scaled)) / -2
    return slope + out if scaled else slope


@elementwise(scalar=bessel_j_element, array=_bessel_j, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[_alternating(_j_of)], name="bessel_j")
def bessel_j_of(x, *, n):
    """The Bessel function of the first kind of order n, an int from 0 on."""


@elementwise(scalar=bessel_y_element, array=_bessel_y, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[_alternating(_y_of)], name="bessel_y")
def bessel_y_of(x, *, n):
    """The Bessel function of the second kind of order n, an int from 0 on; -inf at 0, NaN below."""


@elementwise(scalar=bessel_k_element, array=_bessel_k, accepts="f", prepare=to_float, traits={"many passes"},
             derivatives=[_slope_of_k], name="bessel_k")
def bessel_k_of(x, *, n, scaled):
    """The modified Bessel function of the second kind of order n, an int from 0 on; scaled: times exp(x). inf at 0, NaN
    below."""


_ORDER = documented(x=REAL_ARGUMENT)


@_ORDER
def bessel_j0(x: TensorLike) -> Tensor:
    """The Bessel function of the first kind of order 0.

    {x}
    out    : float, of x's shape
    source : Abramowitz and Stegun 9.1
    """
    return bessel_j_of(x, n=0)


@_ORDER
def bessel_j1(x: TensorLike) -> Tensor:
    """The Bessel function of the first kind of order 1.

    {x}
    out    : float, of x's shape
    source : Abramowitz and Stegun 9.1
    """
    return bessel_j_of(x, n=1)


@_ORDER
def bessel_y0(x: TensorLike) -> Tensor:
    """The Bessel function of the second kind of order 0.

    {x}
    out    : float, of x's shape; -inf at 0, NaN below
    source : Abramowitz and Stegun 9.1
    """
    return bessel_y_of(x, n=0)


@_ORDER
def bessel_y1(x: TensorLike) -> Tensor:
    """The Bessel function of the second kind of order 1.

    {x}
    out    : float, of x's shape; -inf at 0, NaN below
    source : Abramowitz and Stegun 9.1
    """
    return bessel_y_of(x, n=1)


@_ORDER
def bessel_k0(x: TensorLike) -> Tensor:
    """The modified Bessel function of the second kind of order 0.

    {x}
    out    : float, of x's shape; inf at 0, NaN below
    source : Abramowitz and Stegun 9.6
    """
    return bessel_k_of(x, n=0, scaled=False)


@_ORDER
def bessel_k0e(x: TensorLike) -> Tensor:
    """The modified Bessel function of the second kind of order 0 times exp(x).

    {x}
    out    : float, of x's shape; inf at 0, NaN below
    source : Abramowitz and Stegun 9.6
    """
    return bessel_k_of(x, n=0, scaled=True)


@_ORDER
def bessel_k1(x: TensorLike) -> Tensor:
    """The modified Bessel function of the second kind of order 1.

    {x}
    out    : float, of x's shape; inf at 0, NaN below
    source : Abramowitz and Stegun 9.6
    """
    return bessel_k_of(x, n=1, scaled=False)


@_ORDER
def bessel_k1e(x: TensorLike) -> Tensor:
    """The modified Bessel function of the second kind of order 1 times exp(x).

    {x}
    out    : float, of x's shape; inf at 0, NaN below
    source : Abramowitz and Stegun 9.6
    """
    return bessel_k_of(x, n=1, scaled=True)
