"""Sine, cosine, tangent and their inverses as straight-line code (see `math_functions`)."""
import math

from .values import fabs, fma, is_nan, polynomial

_SIN_F32 = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS_F32 = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_HALF_PI = (1.57079632679489655800e+00, 6.12323399573676603587e-17)


def _reduce_turns(x):
    """(n, r) with x = n pi/2 + r of a float, n a double; the argument is reduced in double, for |x| up to 2^40."""
    d = x.extend()
    n = (d * (2 / math.pi)).intrinsic("rint")
    return n, fma(n, d.of(-_HALF_PI[1]), fma(n, d.of(-_HALF_PI[0]), d)).truncate()


def _sine(x, quarter):
    """sin(x + quarter pi/2) of a float."""
    n, r = _reduce_turns(x)
    n = (n - (n * 0.25).intrinsic("floor") * 4.0).truncate().to_integer() + quarter
    z = r * r
    sine = fma(polynomial(z, _SIN_F32) * z, r, r)
    cosine = fma(polynomial(z, _COS_F32), z * z, fma(z, x.of(-0.5), x.of(1.0)))
    value = (n & 1).equals(1).where(cosine, sine)
    return (value.bits() ^ ((n & 2) << 30)).floats()


def sin(x):
    """The sine of a float, |x| <= 2^40; beyond, the reduction loses digits. NaN for infinities."""
    return (x.equals(0.0)).where(x, _sine(x, 0))


def cos(x):
    """The cosine of a float, |x| <= 2^40."""
    return _sine(x, 1)


_TAN_F32 = (9.38540185543e-3, 3.11992232697e-3, 2.44301354525e-2, 5.34112807005e-2, 1.33387994085e-1, 3.33331568548e-1)


def tan(x):
    """The tangent of a float, |x| <= 2^40."""
    n, r = _reduce_turns(x)
    z = r * r
    value = fma(polynomial(z, _TAN_F32) * z, r, r)
    odd = (n * 0.5).intrinsic("floor").differs(n * 0.5)
    return x.equals(0.0).where(x, odd.where(-1.0 / value, value))


_ASIN_F32 = (4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1)
_HALF_PI_F32 = (1.5707963705062866, -4.371139000186241e-08)


def _arc_sine(x):
    """(|x| > 1/2, asin(|x|), or there half of acos(|x|)) of a float."""
    a = fabs(x)
    large = a > 0.5
    z = large.where((1.0 - a) * 0.5, a * a)
    s = large.where(z.intrinsic("sqrt"), a)
    return large, fma(polynomial(z, _ASIN_F32) * z, s, s)


def asin(x):
    """The inverse sine of a float; NaN outside [-1, 1]."""
    large, p = _arc_sine(x)
    return large.where(_HALF_PI_F32[0] - (p + p - _HALF_PI_F32[1]), p).intrinsic("copysign", x)


def acos(x):
    """The inverse cosine of a float; NaN outside [-1, 1]."""
    large, p = _arc_sine(x)
    middle = _HALF_PI_F32[0] - (p.intrinsic("copysign", x) - _HALF_PI_F32[1])
    twice = p + p
    return large.where((x < 0.0).where(2 * _HALF_PI_F32[0] - (twice - 2 * _HALF_PI_F32[1]), twice), middle)


_ATAN_F32 = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)


def _arc_tangent(t, base, low):
    """base + low + atan(t) of floats, |t| <= tan(pi / 8)."""
    z = t * t
    return base + (fma(polynomial(z, _ATAN_F32) * z, t, t) + low)


def atan(x):
    """The inverse tangent of a float."""
    a = fabs(x)
    large, middle = a > math.tan(3 * math.pi / 8), a > math.tan(math.pi / 8)
    above = large.where(x.of(-1.0), middle.where(a - 1.0, a))
    below = large.where(a, middle.where(a + 1.0, x.of(1.0)))
    base, low = [large.where(x.of(part), middle.where(x.of(part / 2), x.of(0.0))) for part in _HALF_PI_F32]
    return _arc_tangent(above / below, base, low).intrinsic("copysign", x)


def atan2(y, x):
    """The angle of the point (x, y) of floats; zeros and infinities as in C99 F.9.1.4."""
    a, b = fabs(x), fabs(y)
    steep = b > a
    small, large = steep.where(a, b), steep.where(b, a)
    quotient = small.equals(math.inf).where(1.0, large.equals(0.0).where(0.0, small / large))
    middle = quotient > math.tan(math.pi / 8)
    base, low = [middle.where(x.of(part / 2), x.of(0.0)) for part in _HALF_PI_F32]
    value = _arc_tangent(middle.where((quotient - 1.0) / (quotient + 1.0), quotient), base, low)
    value = steep.where(_HALF_PI_F32[0] - (value - _HALF_PI_F32[1]), value)
    value = (x.bits() < 0).where(2 * _HALF_PI_F32[0] - (value - 2 * _HALF_PI_F32[1]), value)
    return (is_nan(x) | is_nan(y)).where(x + y, value.intrinsic("copysign", y))
