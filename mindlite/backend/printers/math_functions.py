"""Transcendental functions as straight-line code that LLVM vectorises: no call, no branch, no table.

    exp(x):   k = round(x / ln 2);  r = x - k ln 2;  p(r) * 2^h * 2^(k - h),  h = round(k / 2)

Each function takes and gives a `Value` (an LLVM value with operators) of type float or double, or a vector of them.
Argument reductions are Cody and Waite's (1980); float coefficients are from Cephes (Moshier 1989) where no other fit is
named, the double logarithm is fdlibm's (Sun 1993), the double exponential is Taylor's series. At most 2 ulp in float32,
4 ulp in float64, where nothing else is said; NaN, infinities, -0 and denormal numbers come out as in libm. What is not
here goes to libm (`LIBM`), element by element.
"""
import math

import llvmlite
from llvmlite import ir

from ..operators import Operators

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
_INTEGER = {FLOAT: ir.IntType(32), DOUBLE: ir.IntType(64)}
_FRACTION = {FLOAT: 23, DOUBLE: 52}
_BIAS = {FLOAT: 127, DOUBLE: 1023}

_SPLAT = tuple(map(int, llvmlite.__version__.split(".")[:2])) >= (0, 45)      # since LLVM 19

LN2 = {FLOAT: (0.693359375, -2.12194440e-4), DOUBLE: (6.93147180369123816490e-01, 1.90821492927058770002e-10)}


def as_many(type_, value):
    """`type_`, or where `value` is a vector, a vector of as many."""
    return ir.VectorType(type_, value.type.count) if isinstance(value.type, ir.VectorType) else type_


def constant_like(value, number):
    """`number` as a constant of the type of `value`, in each lane of a vector."""
    if isinstance(value.type, ir.VectorType):
        return Repeated(ir.Constant(value.type.element, number), value.type.count)
    return ir.Constant(value.type, number)


class Repeated(ir.Constant):
    """The vector of `count` times a constant, in few words where LLVM knows them; llvmlite would write lane by lane."""

    def __init__(self, constant, count):
        self.type, one = ir.VectorType(constant.type, count), f"{constant.type} {constant.get_reference()}"
        self.constant = f"splat ({one})" if _SPLAT else "<" + ", ".join([one] * count) + ">"

    def _get_reference(self):
        return self.constant


class Value(Operators):
    """An LLVM value with Python's operators; a Python number in an operation becomes a constant of its type."""
    __slots__ = ("builder", "ir")

    def __init__(self, builder, value):
        self.builder, self.ir = builder, value

    def of(self, number):
        """`number` (a number or a Value) as a Value of this one's type."""
        return number if isinstance(number, Value) else Value(self.builder, constant_like(self.ir, number))

    def made(self, value):
        """An LLVM value as a Value."""
        return Value(self.builder, value)

    def _as(self, operation, type_):
        """A conversion by the builder's `operation` to `type_`, lane by lane."""
        return Value(self.builder, operation(self.ir, as_many(type_, self.ir)))

    def where(self, a, b):
        """a where this bool is true, else b."""
        if not isinstance(a, Value):
            a = b.of(a)
        return Value(self.builder, self.builder.select(self.ir, a.ir, a.of(b).ir))

    def intrinsic(self, name, *others):
        """The LLVM intrinsic `llvm.name` of this value (and others) of one type."""
        values = [self.ir, *(self.of(o).ir for o in others)]
        return Value(self.builder, call(self.builder, f"llvm.{name}.{suffix(self.ir.type)}", self.ir.type, values))

    def bits(self):
        """The float's bits as an integer of its width."""
        return self._as(self.builder.bitcast, _INTEGER[self.type])

    def floats(self):
        """The integer's bits as a float of its width."""
        return self._as(self.builder.bitcast, FLOAT if self.type.width == 32 else DOUBLE)

    def to_integer(self):
        """The float (integral and small) as an integer of its width."""
        return self._as(self.builder.fptosi, _INTEGER[self.type])

    def to_float(self):
        """The integer as a float of its width."""
        return self._as(self.builder.sitofp, FLOAT if self.type.width == 32 else DOUBLE)

    def extend(self):
        """A float as a double."""
        return self._as(self.builder.fpext, DOUBLE)

    def truncate(self):
        """A double as a float."""
        return self._as(self.builder.fptrunc, FLOAT)


def suffix(type_):
    """How the names of LLVM's intrinsics write a type: f32, v8i64."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{suffix(type_.element)}"
    return {FLOAT: "f32", DOUBLE: "f64", ir.HalfType(): "f16"}.get(type_) or f"i{type_.width}"


def call(builder, name, type_, values):
    """Call the C function or intrinsic `name` from values to `type_`."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(type_, [v.type for v in values]), name)
        if not name.startswith("llvm."):
            function.attributes.add("nounwind")
    return builder.call(function, values)


def fma(a, b, c):
    """a * b + c, rounded once."""
    return a.intrinsic("fma", b, c)


def polynomial(x, coefficients):
    """A polynomial, the highest power's coefficient first: Horner's rule in x^2 over pairs of coefficients, which
    waits for half as many results and costs one operation more; in x where it is short."""
    first, *rest = (x.of(c) for c in coefficients)
    if len(rest) < 7:
        for c in rest:
            first = fma(first, x, c)
        return first
    if len(rest) % 2:
        first = fma(first, x, rest.pop(0))
    square = x * x
    for c, d in zip(rest[::2], rest[1::2]):
        first = fma(first, square, fma(c, x, d))
    return first


def fabs(x):
    """|x|."""
    return x.intrinsic("fabs")


def is_nan(x):
    """True for NaN."""
    return x.differs(x)


def _within(x, low, high):
    """x within [low, high]; NaN stays NaN."""
    x = (x < low).where(low, x)
    return (x > high).where(high, x)


def power_of_two(k):
    """2^k for an integer Value k in the range of normal exponents."""
    kind = FLOAT if k.type.width == 32 else DOUBLE
    return ((k + _BIAS[kind]) << _FRACTION[kind]).floats()


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


def exp(x):
    """e^x. Adding `magic` to a number rounds it to an integer, which stands in the lowest bits of the sum.

    2^k is made in two steps of h = round(k / 2) and k - h, as it may be denormal or too large; the exponents' bias is
    in the two magic numbers, so that the bits of a sum, shifted, are a power of two.
    """
    fraction, bias = _FRACTION[x.type], _BIAS[x.type]
    magic, bounded = 1.5 * 2.0 ** fraction, _within(x, *_EXP_RANGE[x.type])
    whole = fma(bounded, x.of(1 / math.log(2)), x.of(magic + 2 * bias))
    k = whole - (magic + 2 * bias)
    half = fma(k, x.of(0.5), x.of(magic + bias))
    high, low = LN2[x.type]
    r = fma(k, x.of(-low), fma(k, x.of(-high), bounded))
    first, second = half.bits() << fraction, (whole.bits() - half.bits()) << fraction
    return polynomial(r, _EXP[x.type]) * first.floats() * second.floats()


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


def log(x):
    """The natural logarithm; NaN below 0."""
    fraction, bias = _FRACTION[x.type], _BIAS[x.type]
    tiny = x < 2.0 ** (1 - bias)                                # denormal: scale it up first
    scaled = tiny.where(x * 2.0 ** fraction, x)
    bits = scaled.bits()
    # the exponent such that the mantissa m lies in [sqrt(1/2), sqrt(2))
    offset = x.of(math.sqrt(0.5)).bits()
    e = (bits - offset) >> fraction
    f = (bits - (e << fraction)).floats() - 1.0
    e = e.to_float() - tiny.where(x.of(float(fraction)), x.of(0.0))
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
    value = (x < math.inf).where(value, x)                      # inf and NaN stay
    value = x.equals(0.0).where(-math.inf, value)
    return (x < 0.0).where(math.nan, value)


def log1p(x):
    """log(1 + x), accurate near 0 (Kahan's correction of the rounding in 1 + x)."""
    u = x + 1.0
    value = log(u) + (x - (u - 1.0)) / u
    plain = (u.equals(1.0) | x.equals(0.0)) | x.equals(math.inf)
    value = x.equals(-1.0).where(-math.inf, value)
    return plain.where(x, value)


def _exp_below_zero(x):
    """e^x for x <= 0: 2^k is made 2^SPARE too large, so that it is a normal number also where the result is none."""
    fraction, spare = _FRACTION[x.type], {FLOAT: 24, DOUBLE: 64}[x.type]
    magic, low = 1.5 * 2.0 ** fraction + _BIAS[x.type] + spare, _EXP_RANGE[x.type][0]
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
    magic = 1.5 * 2.0 ** _FRACTION[FLOAT] + _BIAS[FLOAT]
    whole = fma(x, x.of(1 / math.log(2)), x.of(magic))
    r = fma(whole - magic, x.of(-math.log(2)), x)
    return fma(polynomial(r, _EXPM1_SHORT), r * r, r), (whole.bits() << _FRACTION[FLOAT]).floats()


def _at_most(x, high):
    """The smaller of x and a number; NaN stays NaN."""
    return (x > high).where(high, x)


def tanh(x):
    """The hyperbolic tangent, (1 - t) / (1 + t) with t = e^(-2|x|)."""
    if x.type is FLOAT:
        p, s = _expm1_below_zero(_at_most(fabs(x), 10.0) * -2.0)
        value = fma(p, -s, 1.0 - s) / fma(p, s, 1.0 + s)
    else:
        t = expm1(fabs(x) * -2.0)
        value = -t / (t + 2.0)
    return value.intrinsic("copysign", x)


_SIN_F32 = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS_F32 = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_HALF_PI = (1.57079632679489655800e+00, 6.12323399573676603587e-17)


def _sine(x, quarter):
    """sin(x + quarter pi/2) of a float; the argument is reduced in double, for |x| up to 2^40."""
    d = x.extend()
    n = (d * (2 / math.pi)).intrinsic("rint")
    r = fma(n, d.of(-_HALF_PI[1]), fma(n, d.of(-_HALF_PI[0]), d)).truncate()
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


# log(erfc(a)) / a + 2 / sqrt(pi) for 0 <= a <= 4, minimax on errors relative to erf(a): 4e-09; the last one is what
# the float 2 / sqrt(pi) lacks
_ERF = (9.259631951863412e-06, -0.00011767285468522459, 0.0006329569150693715, -0.0016672654310241342,
        0.00016065950330812484, 0.01915290206670761, -0.10277777910232544, -0.6366193890571594, 5.438848305061583e-08)


def erf(x):
    """The error function of a float, 1 - e^q with q = log(erfc(|x|)); at 4 it is 1."""
    a = _at_most(fabs(x), 4.0)
    p, s = _expm1_below_zero(fma(a, x.of(-2 / math.sqrt(math.pi)), a * polynomial(a, _ERF)))
    return fma(p, -s, 1.0 - s).intrinsic("copysign", x)


# erfc(a / sqrt(2)) / 2 * e^(a^2 / 2) for 0 <= a <= 13.289 as a quotient, minimax on relative errors: 5e-09
_TAIL = ((0.004019253421574831, 0.039977818727493286, 0.18128782510757446, 0.43566063046455383, 0.5),
         (0.010074631310999393, 0.10021691769361496, 0.46433037519454956, 1.1944053173065186, 1.669206142425537, 1.0))


def _bell(x):
    """(|x|, e^(-x^2 / 2)) of a float. The first is at most where the second, whose power of two then has the exponent
    of denormal numbers, is 0. k ln 2 needs no second part: what it lacks counts e^(-x^2 / 2) times."""
    a = _at_most(fabs(x), 13.289)
    square, magic = a * a, 1.5 * 2.0 ** _FRACTION[FLOAT] + _BIAS[FLOAT]
    whole = fma(square, x.of(-0.5 / math.log(2)), x.of(magic))
    r = fma(whole - magic, x.of(-math.log(2)), square * -0.5)
    return a, polynomial(r, _EXP[FLOAT]) * (whole.bits() << _FRACTION[FLOAT]).floats()


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


INLINE = {
    (name, kind): function
    for kind, functions in {
        FLOAT: (exp, expm1, log, log1p, sigmoid, tanh, sin, cos, erf, normal_cdf, normal_pdf, pow),
        DOUBLE: (exp, expm1, log, log1p, sigmoid, tanh),
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
    calls = name in LIBM or (name, type_) == ("normal_cdf", DOUBLE)
    return (name, type_) in INLINE or not calls


def apply(name, *args):
    """The function `name` (mindir.scalar's UNARY_FUNCTIONS and BINARY_FUNCTIONS) of floats or doubles, as Values."""
    x = args[0]
    inline = INLINE.get((name, x.type))
    if inline is not None:
        return inline(*args)
    if name in INTRINSIC:
        return x.intrinsic(INTRINSIC[name], *args[1:])
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
