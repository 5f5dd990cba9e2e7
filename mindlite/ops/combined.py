"""Functions of two and more arguments that are short combinations of other operators: safe division, sums, angles.

Each is ordinary Python over ops, so that its derivatives, batches and kernels are those of its parts.
"""
import math

from ..common import dtype as dt
from ..common.errors import ArgumentError
from .arithmetic import fmod, mul, round, sub, trunc
from .basic import cast
from .define import as_operand, cast_to, dtype_of
from .elementary import exp2, log, sin
from .logic import equal, isinf, less, logical_and, logical_not, not_equal, where
from .reduction import sum


def addn(x):
    """The sum of the tensors in the tuple or list `x`. raises : ArgumentError where there is none"""
    if not isinstance(x, (tuple, list)):
        return as_operand(x) * 1
    if not x:
        raise ArgumentError("addn: at least one tensor is wanted")
    total = x[0]
    for other in x[1:]:
        total = total + other
    return total if len(x) > 1 else total * 1


def accumulate_n(x):
    """As addn."""
    return addn(x)


def squared_difference(x, y):
    """(x - y) ** 2"""
    difference = sub(x, y)
    return mul(difference, difference)


def _float(x):
    x = as_operand(x, dt.float32)
    return cast_to(x, dt.float32) if dtype_of(x).kind in "bui" else x


def div_no_nan(x, y):
    """x / y, 0 where y is 0."""
    x, y = _float(x), _float(y)
    nothing = equal(y, 0)
    return where(nothing, 0, x / where(nothing, 1, y))


def mul_no_nan(x, y):
    """x * y, 0 where y is 0, whatever x is there."""
    nothing = equal(y, 0)
    return where(nothing, 0, where(nothing, 0, x) * y)


def xdivy(x, y):
    """x / y, 0 where x is 0."""
    nothing = equal(x, 0)
    return where(nothing, 0, x / where(nothing, 1, y))


def xlogy(input, other):
    """input * log(other), 0 where input is 0."""
    nothing = equal(input, 0)
    return where(nothing, 0, input * log(where(nothing, 1, other)))


def truncate_div(x, y):
    """x / y cut towards zero, in the dtype of x / y for floats and of x for integers."""
    quotient = trunc(x / y)
    wanted = dtype_of(as_operand(x))
    return cast(quotient, dtype=wanted) if wanted.kind in "ui" else quotient


def truncate_mod(x, y):
    """The remainder of truncate_div: it has the sign of x."""
    return fmod(x, y)


def rint(input):
    """The nearest integer, halves to the even one."""
    return round(input)


def deg2rad(x):
    """Degrees as radians."""
    return _float(x) * (math.pi / 180)


def rad2deg(x):
    """Radians as degrees."""
    return _float(x) * (180 / math.pi)


def heaviside(input, values):
    """0 where input < 0, 1 where it is > 0, `values` where it is 0."""
    step = cast_to(less(0, input), dtype_of(input))
    return where(equal(input, 0), cast_to(as_operand(values), dtype_of(input)), step)


def ldexp(x, other):
    """x * 2 ** other"""
    return x * exp2(_float(other))


def sinc(input):
    """sin(pi x) / (pi x), 1 at 0."""
    angle = _float(input) * math.pi
    nothing = equal(angle, 0)
    return where(nothing, 1, sin(angle) / where(nothing, 1, angle))


def logaddexp2(input, other):
    """log2(2 ** input + 2 ** other), without overflow."""
    scale = math.log(2)
    from_each = where(less(input, other), other, input)
    smaller = where(less(input, other), input, other)
    return from_each + log(1 + exp2(smaller - from_each)) / scale


def positive(input):
    """The input itself. raises : ArgumentError for bools"""
    if dtype_of(input) is dt.bool_:
        raise ArgumentError("positive: does not take bool")
    return input


def float_power(input, exponent):
    """input ** exponent in float64."""
    wide = [cast_to(as_operand(v, dt.float64), dt.float64) for v in (input, exponent)]
    return wide[0] ** wide[1]


def isposinf(input):
    """True where input is +inf."""
    return logical_and(isinf(input), less(0, input))


def isneginf(input):
    """True where input is -inf."""
    return logical_and(isinf(input), less(input, 0))


def isreal(input):
    """True where the imaginary part is 0."""
    return equal(input, input) if dtype_of(input).kind != "c" else equal(input.imag(), 0)


def invert(x):
    """x with its bits inverted: -x - 1 for integers."""
    return ~x


def nansum(input, axis=None, keepdims=False, *, dtype=None):
    """The sum of what is no NaN."""
    return sum(where(not_equal(input, input), 0, input), axis, keepdims, dtype=dtype)


def nanmean(input, axis=None, keepdims=False, *, dtype=None):
    """The mean of what is no NaN."""
    there = cast(logical_not(not_equal(input, input)), dtype=dtype_of(input))
    return nansum(input, axis, keepdims, dtype=dtype) / sum(there, axis, keepdims)
