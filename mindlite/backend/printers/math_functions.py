"""Transcendental functions as straight-line code that LLVM vectorises: no call, no branch, no table.

    exp(x):   k = round(x / ln 2);  r = x - k ln 2;  p(r) * 2^h * 2^(k - h),  h = round(k / 2)

Each function takes and gives a `Value` (an LLVM value with operators) of type float or double, or a vector of them.
Argument reductions are Cody and Waite's (1980); float coefficients are from Cephes (Moshier 1989) where no other fit is
named, the double logarithm is fdlibm's (Sun 1993), the double exponential is Taylor's series. At most 2 ulp in float32,
4 ulp in float64, where nothing else is said; NaN, infinities, -0 and denormal numbers come out as in libm. What is not
here goes to libm (`LIBM`), element by element.
"""
import decimal
import math

import numpy as np

from .angles import acos, asin, atan, atan2, cos, sin, tan
from .values import BIAS, DOUBLE, FLOAT, FRACTION, Value, at_most, call, fabs, fma, is_nan, polynomial, power_of_two, within

LN2 = {FLOAT: (0.693359375, -2.12194440e-4), DOUBLE: (6.93147180369123816490e-01, 1.90821492927058770002e-10)}


# e^r for |r| <= ln 2 / 2: the float's by reweighted least squares on relative errors, 4e-09 off
_EXP = {FLOAT: (0.001381456851959229, 0.00836873147636652, 0.04166838899254799, 0.1666652113199234,
                0.4999999403953552, 1.0, 1.0),
        DOUBLE: tuple(1 / math.factorial(n) for n in range(13, -1, -1))}
_EXP_RANGE = {FLOAT: (-104.0, 89.0), DOUBLE: (-746.0, 710.0)}
# (e^r - 1 - r) / r^2, from Cephes
_EXPM1 = {FLOAT: (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
          DOUBLE: tuple(1 / math.factorial(n) for n in range(13, 1, -1))}


def _reduce_expm1(x):
    """(k, r) with x = k ln 2 + r, |r| <= ln 2 / 2; k is an integral float."""
    k = (x * (1 / math.log(2))).intrinsic("rint")
    high, low = LN2[x.type]
    return k, fma(k, x.of(-low), fma(k, x.of(-high), x))


def _clamp(x, low, high):
    """x within [low, high]; NaN becomes low."""
    x = (x > low).where(x, low)
    return (x < high).where(x, high)


def _exp_parts(x, low, high):
    """A float and the bits of two more, whose product is e^x for x within [low, high]. Adding `magic` to a number rounds it to
    an integer, which stands in the lowest bits of the sum.

    2^k is made in two steps of h = round(k / 2) and k - h, as it may be denormal or too large; the exponents' bias is
    in the two magic numbers, so that the bits of a sum, shifted, are a power of two.
    """
    fraction, bias = FRACTION[x.type], BIAS[x.type]
    magic, bounded = 1.5 * 2.0 ** fraction, within(x, low, high)
    whole = fma(bounded, x.of(1 / math.log(2)), x.of(magic + 2 * bias))
    k = whole - (magic + 2 * bias)
    half = fma(k, x.of(0.5), x.of(magic + bias))
    high, low = LN2[x.type]
    r = fma(k, x.of(-low), fma(k, x.of(-high), bounded))
    first, second = half.bits() << fraction, (whole.bits() - half.bits()) << fraction
    return polynomial(r, _EXP[x.type]), first, second


def exp(x):
    """e^x."""
    value, first, second = _exp_parts(x, *_EXP_RANGE[x.type])
    return value * first.floats() * second.floats()


def exp2(x):
    """2^x, exact for integers."""
    fraction, bias = FRACTION[x.type], BIAS[x.type]
    magic, bounded = 1.5 * 2.0 ** fraction, within(x, -bias - fraction - 2.0, bias + 2.0)
    whole = bounded + (magic + 2 * bias)
    k = whole - (magic + 2 * bias)
    half = fma(k, x.of(0.5), x.of(magic + bias))
    first, second = half.bits() << fraction, (whole.bits() - half.bits()) << fraction
    return polynomial((bounded - k) * math.log(2), _EXP[x.type]) * first.floats() * second.floats()


def expm1(x):
    """e^x - 1, accurate near 0."""
    low, high = {FLOAT: (-30.0, 89.0), DOUBLE: (-60.0, 710.0)}[x.type]
    k, r = _reduce_expm1(_clamp(x, low, high))
    small = fma(polynomial(r, _EXPM1[x.type]), r * r, r)
    k = k.to_integer()
    half = k >> 1
    a, b = power_of_two(half), power_of_two(k - half)          # 2^k as a product: 2^128 by itself would overflow
    value = fma(small, a, a - power_of_two(half - k)) * b
    value = k.equals(0).where(small, value)
    return (is_nan(x) | x.equals(0.0)).where(x, value)


_LOG_F32 = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
            2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
_LOG_F64 = (1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
            2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01)


def _mantissa(x):
    """(e, f) with x = 2^e (1 + f) and 1 + f in [sqrt(1/2), sqrt(2)), of a positive number."""
    fraction, bias = FRACTION[x.type], BIAS[x.type]
    tiny = x < 2.0 ** (1 - bias)                                # denormal: scale it up first
    scaled = tiny.where(x * 2.0 ** fraction, x)
    bits = scaled.bits()
    offset = x.of(math.sqrt(0.5)).bits()
    e = (bits - offset) >> fraction
    f = (bits - (e << fraction)).floats() - 1.0
    return e.to_float() - tiny.where(x.of(float(fraction)), x.of(0.0)), f


def _ends_of_log(x, value):
    """A logarithm of positive numbers with its values at 0, at infinity, of NaN and below 0."""
    value = (x < math.inf).where(value, x)                      # inf and NaN stay
    value = x.equals(0.0).where(-math.inf, value)
    return (x < 0.0).where(math.nan, value)


def log(x):
    """The natural logarithm; NaN below 0."""
    e, f = _mantissa(x)
    high, low = LN2[x.type]
    if x.type is FLOAT:
        z = f * f
        tail = fma(e, x.of(low), f * z * polynomial(f, _LOG_F32))
        value = fma(e, x.of(high), f + fma(z, x.of(-0.5), tail))
    else:
        s = f / (f + 2.0)
        z = s * s
        half = f * f * 0.5
        value = fma(e, x.of(high), f - (half - fma(s, half + z * polynomial(z, _LOG_F64), e * low)))
    return _ends_of_log(x, value)


# digits of a float that are cut off, so that what is left times another such number is exact
_CUT = {FLOAT: 12, DOUBLE: 32}


def _in_two(text, type_):
    """(high, low) of a number in decimal digits: their sum has more digits than a float, high ends in _CUT zeros."""
    floats, integers = {FLOAT: (np.float32, np.int32), DOUBLE: (np.float64, np.int64)}[type_]
    bits = np.array([float(text)], floats).view(integers)
    high = float((bits >> _CUT[type_] << _CUT[type_]).view(f"f{bits.itemsize}")[0])
    return high, float(decimal.Decimal(text) - decimal.Decimal(high))


# 1 / log(base), and log(2) / log(base)
_BASES = {2: ("1.4426950408889634073599246810018921", "1"),
          10: ("0.43429448190325182765112891891660508", "0.30102999566398119521373889472449303")}


def _log_to(x, base):
    """The logarithm to a base, of sums in two parts (FreeBSD's e_log2.c and e_log10.c, Kargl 2011): exact for powers of it."""
    e, f = _mantissa(x)
    (inverse, inverse_low), (two, two_low) = (_in_two(text, x.type) for text in _BASES[base])
    if x.type is FLOAT:
        half = f * f * 0.5
        rest = f * f * f * polynomial(f, _LOG_F32)
    else:
        s = f / (f + 2.0)
        half, z = f * f * 0.5, s * s
        rest = s * (half + z * polynomial(z, _LOG_F64))
    first = f - half
    first = ((first.bits() >> _CUT[x.type]) << _CUT[x.type]).floats()
    second = (f - first) - half + rest
    large, part = e * two, first * inverse
    total = large + part
    small = e * two_low + (first + second) * inverse_low + second * inverse + ((large - total) + part)
    return _ends_of_log(x, total + small)


def log2(x):
    """The logarithm to base 2."""
    return _log_to(x, 2)


def log10(x):
    """The logarithm to base 10."""
    return _log_to(x, 10)


def log1p(x):
    """log(1 + x), accurate near 0 (Kahan's correction of the rounding in 1 + x)."""
    u = x + 1.0
    value = log(u) + (x - (u - 1.0)) / u
    plain = (u.equals(1.0) | x.equals(0.0)) | x.equals(math.inf)
    value = x.equals(-1.0).where(-math.inf, value)
    return plain.where(x, value)


def _exp_below_zero(x):
    """e^x for x <= 0: 2^k is made 2^SPARE too large, so that it is a normal number also where the result is none."""
    fraction, spare = FRACTION[x.type], {FLOAT: 24, DOUBLE: 64}[x.type]
    magic, low = 1.5 * 2.0 ** fraction + BIAS[x.type] + spare, _EXP_RANGE[x.type][0]
    bounded = (x < low).where(low, x)
    whole = fma(bounded, x.of(1 / math.log(2)), x.of(magic))
    k = whole - magic
    high, low = LN2[x.type]
    r = fma(k, x.of(-low), fma(k, x.of(-high), bounded))
    return polynomial(r, _EXP[x.type]) * (whole.bits() << fraction).floats() * 2.0 ** -spare


def sigmoid(x):
    """1 / (1 + e^-x) as 1 - q or e - e q with e = e^-|x|, q = e / (1 + e): the error of q counts for half at most."""
    e = _exp_below_zero(-fabs(x))
    base = (x >= 0.0).where(x.of(1.0), e)
    return fma(-base, e / (e + 1.0), base)


# (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, minimax on errors relative to e^r - 1: 1.5e-08
_EXPM1_SHORT = (0.0013873472344130278, 0.00836762972176075, 0.04166742414236069, 0.16666536033153534, 0.4999999701976776)


def _expm1_below_zero(x):
    """(p, s) with e^x = s + p s, s a power of two, |p| < 1/2, for floats in [-80, 0]. k ln 2 needs no second part here:
    where k is not 0, 1 - e^x is more than 1/4, and the error of k ln 2 counts e^x times."""
    magic = 1.5 * 2.0 ** FRACTION[FLOAT] + BIAS[FLOAT]
    whole = fma(x, x.of(1 / math.log(2)), x.of(magic))
    r = fma(whole - magic, x.of(-math.log(2)), x)
    return fma(polynomial(r, _EXPM1_SHORT), r * r, r), (whole.bits() << FRACTION[FLOAT]).floats()


def tanh(x):
    """The hyperbolic tangent, (1 - t) / (1 + t) with t = e^(-2|x|)."""
    if x.type is FLOAT:
        p, s = _expm1_below_zero(at_most(fabs(x), 10.0) * -2.0)
        value = fma(p, -s, 1.0 - s) / fma(p, s, 1.0 + s)
    else:
        t = expm1(fabs(x) * -2.0)
        value = -t / (t + 2.0)
    return value.intrinsic("copysign", x)


# (sinh(x) / x - 1) / x^2 in x^2 up to 1, of floats from Cephes
_SINH = {FLOAT: (2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1),
         DOUBLE: tuple(1 / math.factorial(2 * k + 1) for k in range(9, 0, -1))}


def _half_exp(a):
    """e^a / 2, which is finite where sinh and cosh are."""
    value, first, second = _exp_parts(a, _EXP_RANGE[a.type][0], _EXP_RANGE[a.type][1] + 1.5)
    return value * first.floats() * (second.floats() * 0.5)


def sinh(x):
    """The hyperbolic sine, below 1 by a polynomial."""
    a = fabs(x)
    half, z = _half_exp(a), x * x
    return (a < 1.0).where(fma(polynomial(z, _SINH[x.type]) * z, a, a), half - 0.25 / half).intrinsic("copysign", x)


def cosh(x):
    """The hyperbolic cosine."""
    half = _half_exp(fabs(x))
    return half + 0.25 / half


# below, a float is its own inverse sinh and atanh; from here on, the 1 in sqrt(1 + x^2) does not count
_SAME, _HUGE = 1e-4, 2.0 ** 55


def _log_in_two(d, high):
    """(the logarithm of a float, what is to be added to it for that of a double near it)"""
    return log(high), (d - high.extend()).truncate() / high


def _log_of_sum(x, root):
    """log(x + root) of a float and a double, which is as large as x where x is large."""
    d, large = x.extend() + root, x > 1e18
    value, rest = _log_in_two(d, large.where(x, d.truncate()))
    return value + large.where(x.of(math.log(2)), rest)


def asinh(x):
    """The inverse of sinh: of floats log(x + sqrt(x^2 + 1)), that sum in double, of doubles log1p (fdlibm)."""
    if x.type is FLOAT:
        a = fabs(x)
        d = a.extend()
        value = _log_of_sum(a, fma(d, d, d.of(1.0)).intrinsic("sqrt"))
        return (a > _SAME).where(value, x).intrinsic("copysign", x)
    a = fabs(x)
    square = a * a
    large = a > _HUGE
    value = log1p(large.where(a, a + square / ((square + 1.0).intrinsic("sqrt") + 1.0)))
    return (value + large.where(x.of(math.log(2)), x.of(0.0))).intrinsic("copysign", x)


def acosh(x):
    """The inverse of cosh; NaN below 1."""
    if x.type is FLOAT:
        d = x.extend()
        value = _log_of_sum(x, ((d - 1.0) * (d + 1.0)).intrinsic("sqrt"))
    else:
        t = x - 1.0
        large = x > _HUGE
        value = log1p(large.where(t, t + (t * t + t * 2.0).intrinsic("sqrt"))) + large.where(x.of(math.log(2)), x.of(0.0))
    return (x < 1.0).where(math.nan, value)


def atanh(x):
    """The inverse of tanh; infinite at 1 and -1, NaN outside."""
    a = fabs(x)
    if x.type is FLOAT:
        d = x.extend()
        quotient = (d + 1.0) / (1.0 - d)
        value, rest = _log_in_two(quotient, quotient.truncate())
        return (a < _SAME).where(x, (value + (a < 1.0).where(rest, x.of(0.0))) * 0.5)
    return (log1p((a + a) / (1.0 - a)) * 0.5).intrinsic("copysign", x)


def hypot(x, y):
    """sqrt(x^2 + y^2) without overflow: of floats in double, of doubles the larger times a root between 1 and sqrt(2)."""
    a, b = fabs(x), fabs(y)
    if x.type is FLOAT:
        d, e = a.extend(), b.extend()
        value = fma(d, d, e * e).intrinsic("sqrt").truncate()
    else:
        large, small = (a < b).where(b, a), (a < b).where(a, b)
        share = large.equals(0.0).where(0.0, small / large)
        value = large * fma(share, share, 1.0).intrinsic("sqrt")
        value = (is_nan(a) | is_nan(b)).where(a + b, value)
    return (a.equals(math.inf) | b.equals(math.inf)).where(math.inf, value)


def fmod(x, y):
    """The remainder of x / y with the sign of x, exact: a division where the quotient has few digits, else the C library's."""
    a, b = fabs(x), fabs(y)
    a, b = (a.extend(), b.extend()) if x.type is FLOAT else (a, b)
    quotient = a / b
    rest = fma(-quotient.intrinsic("trunc"), b, a)
    rest = (rest < 0.0).where(rest + b, rest)                # the quotient was rounded up to an integer
    rest = b.equals(math.inf).where(a, rest)
    rest = (rest.truncate() if x.type is FLOAT else rest).intrinsic("copysign", x)
    few = quotient < {FLOAT: 2.0 ** 29, DOUBLE: 2.0 ** 52}[x.type]
    builder = x.builder
    with builder.goto_entry_block():
        slot = builder.alloca(rest.ir.type)
    builder.store(rest.ir, slot)
    with builder.if_then(builder.not_(few.ir), likely=False):
        symbol = "fmodf" if x.type is FLOAT else "fmod"
        builder.store(call(builder, symbol, x.type, [x.ir, y.ir]), slot)
    return Value(builder, builder.load(slot, typ=rest.ir.type))


# log(erfc(a)) / a + 2 / sqrt(pi) for 0 <= a <= 4, minimax on errors relative to erf(a): 4e-09; the last one is what
# the float 2 / sqrt(pi) lacks
_ERF = (9.259631951863412e-06, -0.00011767285468522459, 0.0006329569150693715, -0.0016672654310241342,
        0.00016065950330812484, 0.01915290206670761, -0.10277777910232544, -0.6366193890571594, 5.438848305061583e-08)


def erf(x):
    """The error function: of a float 1 - e^q with q = log(erfc(|x|)), at 4 it is 1; of a double as in Cephes."""
    if x.type is DOUBLE:
        return _erf_of_double(x)
    a = at_most(fabs(x), 4.0)
    p, s = _expm1_below_zero(fma(a, x.of(-2 / math.sqrt(math.pi)), a * polynomial(a, _ERF)))
    return fma(p, -s, 1.0 - s).intrinsic("copysign", x)


# erfc(a / sqrt(2)) / 2 * e^(a^2 / 2) for 0 <= a <= 13.289 as a quotient, minimax on relative errors: 5e-09
_TAIL = ((0.004019253421574831, 0.039977818727493286, 0.18128782510757446, 0.43566063046455383, 0.5),
         (0.010074631310999393, 0.10021691769361496, 0.46433037519454956, 1.1944053173065186, 1.669206142425537, 1.0))


def _bell(x):
    """(|x|, e^(-x^2 / 2)) of a float. The first is at most where the second, whose power of two then has the exponent
    of denormal numbers, is 0. k ln 2 needs no second part: what it lacks counts e^(-x^2 / 2) times."""
    a = at_most(fabs(x), 13.289)
    square, magic = a * a, 1.5 * 2.0 ** FRACTION[FLOAT] + BIAS[FLOAT]
    whole = fma(square, x.of(-0.5 / math.log(2)), x.of(magic))
    r = fma(whole - magic, x.of(-math.log(2)), square * -0.5)
    return a, polynomial(r, _EXP[FLOAT]) * (whole.bits() << FRACTION[FLOAT]).floats()


def normal_cdf(x):
    """The normal distribution function of a float: its lesser tail is e^(-x^2 / 2) times a quotient. At most 4 ulp off
    from -0.5 on; below, as x^2 is rounded, up to 1 + x^2 / 2 more. Beside normal_pdf the exponential is one."""
    a, e = _bell(x)
    tail = polynomial(a, _TAIL[0]) / polynomial(a, _TAIL[1]) * e          # the quotient does not wait for e
    return (x.bits() < 0).where(tail, 1.0 - tail)


def normal_pdf(x):
    """The density of the normal distribution of a float, as precise as normal_cdf."""
    return _bell(x)[1] * (1 / math.sqrt(2 * math.pi))


def pow(x, y):
    """x^y of floats, through double logarithm and exponential; signs and special values as in C99 F.9.4.4."""
    a, b = fabs(x).extend(), y.extend()
    value = exp(b * log(a)).truncate()
    floor = y.intrinsic("floor")
    integral = floor.equals(y)
    half = y * 0.5
    odd = integral & half.intrinsic("floor").differs(half) & (fabs(y) < math.inf)
    negative = x.bits() < 0
    value = (negative & odd).where(-value, value)
    value = ((x < 0.0) & integral.equals(0) & (x > -math.inf)).where(math.nan, value)
    value = (fabs(x).equals(1.0) & fabs(y).equals(math.inf)).where(1.0, value)
    value = (is_nan(x) | is_nan(y)).where(x + y, value)
    return (y.equals(0.0) | x.equals(1.0)).where(1.0, value)


# of Cephes's ndtr.c: erfc(a) e^(a^2) for 1 <= a < 8, for 8 <= a, and erf(x) / x in x^2 up to 1; quotients
_ERFC = ((2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687, 4.86371970985681366614e1,
          1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
          5.57535335369399327526e2),
         (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
          1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2))
_ERFC_FAR = ((5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414, 6.16021097993053585195,
              7.40974269950448939160, 2.97886665372100240670),
             (1.0, 2.26052863220117276590, 9.39603524938001434673, 1.20489539808096656605e1, 1.70814450747565897222e1,
              9.60896809063285878198, 3.36907645100081516050))
_ERF_F64 = ((9.60497373987051638749, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
             5.55923013010394962768e4),
            (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
             4.92673942608635921086e4))


def _exp_of_square(a):
    """e^(-a^2), with what is lost where a^2 is rounded."""
    square = a * a
    return exp(-square) * (1.0 - fma(a, a, -square))


def _erf_parts(x):
    """(|x| < 1, erf(x) there, erfc(|x|) elsewhere) of a double: one division for all."""
    a = fabs(x)
    z, near, far = x * x, a < 1.0, a < 8.0
    bounded = at_most(a, 28.0)
    above, below = [near.where(small, far.where(polynomial(bounded, middle), polynomial(bounded, large))) for small, middle, large
                    in zip((x * polynomial(z, _ERF_F64[0]), polynomial(z, _ERF_F64[1])), _ERFC, _ERFC_FAR)]
    quotient = above / below
    return near, quotient, quotient * _exp_of_square(bounded)


def _erf_of_double(x):
    near, small, tail = _erf_parts(x)
    return is_nan(x).where(x, near.where(small, (1.0 - tail).intrinsic("copysign", x)))


def erfc(x):
    """1 - erf(x): of floats by the tail of the normal distribution, of doubles as in Cephes."""
    if x.type is FLOAT:
        a = at_most(fabs(x), 10.1)
        b = a * math.sqrt(2)
        tail = polynomial(b, _TAIL[0]) / polynomial(b, _TAIL[1]) * 2.0 * _exp_of_square(a)
        return is_nan(x).where(x, (x.bits() < 0).where(2.0 - tail, tail))
    near, small, tail = _erf_parts(x)
    return is_nan(x).where(x, near.where(1.0 - small, (x.bits() < 0).where(2.0 - tail, tail)))


INLINE = {
    (name, kind): function
    for kind, functions in {
        FLOAT: (exp, exp2, expm1, log, log1p, log2, log10, sigmoid, tanh, sinh, cosh, asinh, acosh, atanh, sin, cos, tan,
                asin, acos, atan, atan2, hypot, erf, erfc, normal_cdf, normal_pdf, pow),
        DOUBLE: (exp, exp2, expm1, log, log1p, log2, log10, sigmoid, tanh, sinh, cosh, asinh, acosh, atanh, hypot, erf,
                 erfc),
    }.items() for name, function in ((f.__name__, f) for f in functions)
}
LIBM = {"exp": "exp", "exp2": "exp2", "log2": "log2", "log10": "log10", "cbrt": "cbrt", "sin": "sin", "cos": "cos",
        "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh",
        "acosh": "acosh", "atanh": "atanh", "erf": "erf", "erfc": "erfc", "lgamma": "lgamma", "gamma": "tgamma",
        "pow": "pow", "atan2": "atan2", "fmod": "fmod", "hypot": "hypot"}
INTRINSIC = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "abs": "fabs",
             "copysign": "copysign", "maximum": "maximum", "minimum": "minimum"}


def is_inline(name, type_):
    """True if a function of floats or doubles calls nothing, so that it takes vectors too."""
    return (name, type_) in INLINE or name not in LIBM


def apply(name, *args):
    """The function `name` (mindir.scalar's UNARY_FUNCTIONS and BINARY_FUNCTIONS) of floats or doubles, as Values."""
    x = args[0]
    inline = INLINE.get((name, x.type))
    if inline is not None:
        return inline(*args)
    if name in INTRINSIC:
        return x.intrinsic(INTRINSIC[name], *args[1:])
    if name == "fmod":
        return fmod(*args)
    if name in LIBM:
        symbol = LIBM[name] + ("f" if x.type is FLOAT else "")
        return Value(x.builder, call(x.builder, symbol, x.type, [a.ir for a in args]))
    return _SIMPLE[name](x)


_SIMPLE = {
    "normal_cdf": lambda x: apply("erfc", x * -math.sqrt(0.5)) * 0.5,
    "normal_pdf": lambda x: exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi)),
    "rsqrt": lambda x: 1.0 / x.intrinsic("sqrt"),
    "sign": lambda x: (x > 0.0).where(1.0, (x < 0.0).where(-1.0, is_nan(x).where(x, x.of(0.0)))),
    "isnan": is_nan,
    "isinf": lambda x: fabs(x).equals(math.inf),
    "isfinite": lambda x: fabs(x) < math.inf,
}
