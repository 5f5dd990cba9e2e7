"""Sums, products, quotients, powers and extrema: what Python's arithmetic operators on tensors mean, and their kin.

Operands broadcast and are brought to one dtype first. Gradients at special points are torch's: a tie of maximum or
minimum gives each side half, abs and sign have slope 0 at 0, x ** y has slope 0 in x where y is 0.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.errors import ArgumentError
from ..common.tensor import Tensor, TensorLike
from ..mindir.scalar import call as call_scalar, where as where_scalar
from ..mindir.primitive import planned
from .basic import broadcast_to, cast
from .complex_numbers import imag, real
from .axes import as_known_int
from .define import as_operand, cast_to, dtype_of, elementwise, is_array, promote_operands, rounded_once, to_float
from .elementary import log, sqrt
from .logic import equal, greater, greater_equal, less, logical_and, where


@elementwise(scalar=operator.add, array=np.add, derivatives=[1, 1])
def add(input: TensorLike, other: TensorLike):
    """input + other. bool operands: logical or, as in NumPy."""


@elementwise(scalar=operator.sub, array=np.subtract, derivatives=[1, -1], accepts="uifc")
def sub(input: TensorLike, other: TensorLike):
    """input - other. raises : DTypeError for bool."""


@elementwise(scalar=operator.mul, array=np.multiply, derivatives=[lambda x, y, out: y, lambda x, y, out: x],
             sbp_linear=[{0}, {1}])
def mul(input: TensorLike, other: TensorLike):
    """input * other. bool operands: logical and."""


@elementwise(scalar=operator.neg, array=np.negative, derivatives=[-1], accepts="uifc")
def neg(input: TensorLike):
    """-input. raises : DTypeError for bool."""


@elementwise(scalar=operator.truediv, array=np.divide, accepts="fc", prepare=to_float, name="div",
             derivatives=[lambda x, y, out: 1 / y, lambda x, y, out: -out / y], sbp_linear=[{0}])
def true_divide(input: TensorLike, other: TensorLike):
    """input / other; integers are divided as float32. x / 0 is inf or nan, without a warning."""


@planned
def div(input: TensorLike, other: TensorLike, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; rounding_mode "floor" or "trunc" rounds the quotient to a whole number (gradient zero).

    raises : ArgumentError for another rounding_mode
    """
    if rounding_mode is None:
        return true_divide(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode != "trunc":
        raise ArgumentError(f"div: rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}")
    (input, other), _ = promote_operands((input, other), {})
    rest = fmod(input, other)
    return floor_divide(input - rest, other) if dtype_of(input).kind in "ui" else trunc(true_divide(input, other))


@elementwise(scalar=operator.floordiv, array=np.floor_divide, accepts="uif", derivatives=[None, None])
def floor_divide(input: TensorLike, other: TensorLike):
    """input // other, rounded down as in Python. No gradient: it is zero wherever it exists. An integer // 0 is 0."""


floor_divide.also(x="input", y="other")


@elementwise(scalar=operator.mod, array=np.remainder, accepts="uif",
             derivatives=[1, lambda x, y, out: -floor_divide(x, y)])
def remainder(input: TensorLike, other: TensorLike):
    """input % other with the sign of `other`, as in Python: input - (input // other) * other."""


remainder.also(x="input", y="other")


def _truncated_remainder(x, y):
    if x.dtype.kind == "f":
        return call_scalar("fmod", x, y)
    rest = x % y
    return where_scalar((rest != 0) & ((rest < 0) ^ (x < 0)), rest - y, rest)


def _slope_of_divisor(x, y, out):
    return -round_half_even((x - out) / y)                   # a whole number but for rounding, which may be down


@elementwise(scalar=_truncated_remainder, array=np.fmod, accepts="uif",
             derivatives=[1, _slope_of_divisor])
def fmod(input: TensorLike, other: TensorLike):
    """The remainder with the sign of `input`, as C's fmod: input - trunc(input / other) * other."""


def _power(x, y):
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    out = np.power(x, np.maximum(y, 0))
    return np.where(y >= 0, out, np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0)))


def _power_by_base(x, y, out):
    return where(equal(y, 0), 0, y * power(x, y - 1))


def _power_by_exponent(x, y, out):
    if dtype_of(x).kind == "c":
        return out * log(x)
    return where(logical_and(equal(x, 0), greater_equal(y, 0)), 0, out * log(x))


def _integer_power(x, y):
    if x.dtype.kind != "i":
        return call_scalar("pow", x, y)
    sign = where_scalar(y % 2 == 0, 1, -1)
    inverse = where_scalar(x == 1, 1, where_scalar(x == -1, sign, 0))
    return where_scalar(y >= 0, call_scalar("pow", x, where_scalar(y >= 0, y, 0)), inverse)


@elementwise(scalar=_integer_power, array=_power, accepts="uifc", name="pow",
             derivatives=[_power_by_base, _power_by_exponent])
def power(input: TensorLike, exponent: TensorLike):
    """input ** exponent, element by element.

    Integers stay integers: a negative exponent gives 0 unless the base is 1 or -1.
    gradient: 0 in input where exponent is 0; 0 in exponent where input is 0 and exponent is not negative
    """


MAX_UNROLLED_POWER = 16                  # each multiplication may cost a unit in the last place


def _multiplied(x, exponent):
    """x ** exponent by squaring (Knuth, TAOCP 2, 4.6.3), in the same order for numbers, arrays and kernels."""
    power_of_two, left = x, exponent if exponent > 0 else -exponent
    out: Any = None
    while left:
        if left & 1:
            out = power_of_two if out is None else out * power_of_two
        left >>= 1
        if left:
            power_of_two = power_of_two * power_of_two
    return 1 / out if exponent < 0 else out


def _multiplied_array(x, exponent):
    wide = x.astype(np.float32) if dt.dtype(x.dtype).is_float and x.dtype.itemsize == 2 else x    # they round once
    return np.array(_multiplied(wide, exponent), x.dtype)


def _multiplied_slope(x, out, *, exponent):
    return 1 if exponent == 1 else exponent * integer_pow(x, exponent=exponent - 1)


@elementwise(scalar=_multiplied, array=_multiplied_array, accepts="uifc", derivatives=[_multiplied_slope])
def integer_pow(input, *, exponent):
    """input ** exponent for an int known in advance, by multiplications: within |exponent| units in the last place.

    input    : uint[...], int[...], float[...], complex[...]
    exponent : an int other than 0; above 0 where input is an integer
    out      : like input
    """


@planned
def pow(input: TensorLike, exponent: TensorLike) -> Tensor:
    """input ** exponent, element by element, with NumPy's promotion and broadcasting.

    input, exponent : Tensors or numbers
    out             : integers where both are; a negative exponent of integers gives 0 unless the base is 1 or -1

    A whole exponent of at most 16 that is written as a number is multiplied out, and 0.5 is a root: in every mode.
    """
    if is_array(input) and isinstance(exponent, (int, float)) and not isinstance(exponent, bool):
        floats = dtype_of(input).kind in "fc"
        if exponent == 2 and (floats or isinstance(exponent, int)):
            return square(input)
        if exponent == 0.5 and floats:
            return sqrt(input)
        if exponent == 0 and (floats or isinstance(exponent, int)):
            return broadcast_to(as_operand(1, dtype_of(input)), shape=as_operand(input).shape)
        low = -MAX_UNROLLED_POWER if floats else 0
        if (floats or isinstance(exponent, int) and dtype_of(input).kind in "iu") and low <= exponent <= MAX_UNROLLED_POWER \
                and exponent == int(exponent):
            return integer_pow(input, exponent=int(exponent))
    return power(input, exponent)


@elementwise(scalar=lambda x: x * x, array=np.square, accepts="uifc", derivatives=[lambda x, out: 2 * x])
def square(input: TensorLike):
    """input * input."""


@elementwise(scalar=lambda x: 1 / x, array=np.reciprocal, accepts="fc", prepare=to_float,
             derivatives=[lambda x, out: -out * out])
def reciprocal(input: TensorLike):
    """1 / input; integers as float32."""


reciprocal.also(x="input")


# ---------------------------------------------------------------- sign and size

@elementwise(scalar=lambda x: call_scalar("sign", x), array=np.sign, accepts="uif", derivatives=[None], name="sign")
def real_sign(input: TensorLike):
    """-1, 0 or 1; NaN stays NaN. The gradient is zero."""


def sign(input: TensorLike) -> Tensor:
    """-1, 0 or 1 by the sign of each element, NaN for NaN; of complex numbers input / |input|, and 0 for 0.

    input  : Tensor or number of any dtype but bool
    out    : like input; the gradient of real numbers is zero
    raises : DTypeError for bool
    """
    x = as_operand(input)
    if dtype_of(x).kind != "c":
        return real_sign(x)
    size = abs(x)
    return x / where(equal(size, 0), 1, size)


@elementwise(scalar=lambda x: call_scalar("abs", x), array=np.abs, accepts="buif", name="abs",
             derivatives=[lambda x, out: real_sign(x)])
def real_abs(input):
    """The absolute value of real numbers; slope 0 at 0."""


def abs(input: Tensor) -> Tensor:
    """The absolute value of each element; of complex numbers the modulus.

    input  : Tensor or number, of any dtype and shape; the smallest signed integer stays as it is (it wraps)
    out    : like input; complex64 gives float32, complex128 float64
    gradient: sign(input), 0 at 0
    """
    input = as_operand(input)
    return hypot(real(input), imag(input)) if dtype_of(input).kind == "c" else real_abs(input)


@elementwise(scalar=lambda x, y: call_scalar("hypot", x, y), array=np.hypot, accepts="f", prepare=to_float,
             derivatives=[lambda x, y, out: where(equal(out, 0), 0, x / out),
                          lambda x, y, out: where(equal(out, 0), 0, y / out)])
def hypot(input: TensorLike, other: TensorLike):
    """sqrt(input ** 2 + other ** 2) without overflow in between; slope 0 at the origin."""


# ---------------------------------------------------------------- extrema

def _share(wins, ties, like):
    return cast(wins, dtype=like.dtype) + cast(ties, dtype=like.dtype) * 0.5


@elementwise(scalar=lambda x, y: call_scalar("maximum", x, y), array=np.maximum, accepts="buif",
             derivatives=[lambda x, y, out: _share(greater(x, y), equal(x, y), x),
                          lambda x, y, out: _share(greater(y, x), equal(x, y), x)])
def maximum(input: TensorLike, other: TensorLike):
    """The larger of both; NaN where either is. A tie gives each half of the gradient, as in torch."""


@elementwise(scalar=lambda x, y: call_scalar("minimum", x, y), array=np.minimum, accepts="buif",
             derivatives=[lambda x, y, out: _share(less(x, y), equal(x, y), x),
                          lambda x, y, out: _share(less(y, x), equal(x, y), x)])
def minimum(input: TensorLike, other: TensorLike):
    """The smaller of both; NaN where either is. A tie gives each half of the gradient, as in torch."""


@planned
def clamp(input: Tensor, min: TensorLike | None = None, max: TensorLike | None = None) -> Any:
    """input limited to [min, max]; a bound may be a number, a tensor or None. Where min > max the result is max.

    The gradient passes where input is inside or on a bound, else it goes to the bound.
    raises : ArgumentError if both bounds are None
    """
    if min is None and max is None:
        raise ArgumentError("clamp: min or max must be given")
    if min is not None:
        input = where(less(input, min), min, input)
    if max is not None:
        input = where(greater(input, max), max, input)
    return input


@planned
def clip_by_value(x: Tensor, clip_value_min: TensorLike | None = None, clip_value_max: Any = None) -> Any:
    """Limit each element to [clip_value_min, clip_value_max]: `clamp`.

    x      : Tensor of bool, integer or float dtype, or a tuple or list of Tensors
    clip_value_min, clip_value_max : number, Tensor that broadcasts with x, or None for no bound; they are promoted with x, so an
             int Tensor with a float bound becomes float
    out    : of the broadcast shape; for a tuple or list a tuple of each. NaN stays NaN; where min > max it is max
    raises : ArgumentError if both bounds are None, DTypeError for complex numbers, ShapeError where shapes do not broadcast
    """
    if isinstance(x, (tuple, list)) and any(map(is_array, x)):
        return tuple([clip_by_value(each, clip_value_min, clip_value_max) for each in x])
    return clamp(x, clip_value_min, clip_value_max)


# ---------------------------------------------------------------- rounding

@elementwise(scalar=lambda x: call_scalar("floor", x), array=np.floor, accepts="uif", derivatives=[None])
def floor(input: TensorLike):
    """The largest whole number that is not above; gradient zero."""


@elementwise(scalar=lambda x: call_scalar("ceil", x), array=np.ceil, accepts="uif", derivatives=[None])
def ceil(input: TensorLike):
    """The smallest whole number that is not below; gradient zero."""


@elementwise(scalar=lambda x: call_scalar("trunc", x), array=np.trunc, accepts="uif", derivatives=[None])
def trunc(input: TensorLike):
    """The whole number next to zero; gradient zero."""


@elementwise(scalar=lambda x: call_scalar("round", x), array=np.rint, accepts="uif", derivatives=[None], name="round")
def round_half_even(input):
    """The nearest whole number, halves to even; gradient zero."""


@planned
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """input rounded to `decimals` places, halves to even; gradient zero.

    input    : Tensor of any dtype but bool and complex
    decimals : int; negative ones round to tens, hundreds, .. ; other than 0: integers become float32
    raises   : DTypeError for bool and complex, ArgumentError for decimals that are no int
    """
    decimals = as_known_int("round", decimals)
    if decimals == 0:
        return round_half_even(input)
    scale = 10.0 ** decimals
    return round_half_even(input * scale) / scale


@planned
def frac(x: Tensor) -> Tensor:
    """The part behind the point, with the sign of x: x - trunc(x).

    x      : Tensor or number of integer or float dtype, any shape
    out    : like x; 0 for integers, NaN for inf and -inf
    raises : DTypeError for bool and complex numbers
    """
    return x - trunc(x)


# ---------------------------------------------------------------- sums of products

@planned
@rounded_once
def addcmul(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 * tensor2, element by element.

    input, tensor1, tensor2 : Tensor or number, any dtype; they broadcast and are promoted to one dtype
    value  : number or Tensor; a float makes an integer result float32
    out    : Tensor of the broadcast shape
    raises : ShapeError where the shapes do not broadcast
    """
    (input, tensor1, tensor2), _ = promote_operands((input, tensor1, tensor2), {})
    return add(input, mul(tensor1, tensor2) if is_one(value) else mul(value, mul(tensor1, tensor2)))


@planned
@rounded_once
def addcdiv(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 / tensor2, element by element.

    input, tensor1, tensor2 : Tensor or number, any dtype; they broadcast and are promoted to one dtype; integers are divided as
             float32
    value  : number or Tensor
    out    : Tensor of the broadcast shape, float or complex; x / 0 is inf or NaN
    raises : ShapeError where the shapes do not broadcast
    """
    (input, tensor1, tensor2), _ = promote_operands((input, tensor1, tensor2), {})
    return add(input, true_divide(tensor1, tensor2) if is_one(value) else mul(value, true_divide(tensor1, tensor2)))


def is_one(value):
    """True for the Python number 1."""
    return isinstance(value, (int, float)) and value == 1


@planned
@rounded_once
def lerp(input: TensorLike, end: TensorLike, weight: TensorLike) -> Tensor:
    """Linear interpolation: input + weight * (end - input).

    input, end : Tensor or number of integer, float or complex dtype; they broadcast and are promoted
    weight : number or Tensor that broadcasts with them; 0 gives input, 1 gives end, others lie on the line through both
    out    : Tensor of the broadcast shape; integers with a float weight give float32
    raises : DTypeError for bool, ShapeError where the shapes do not broadcast
    """
    (input, end), _ = promote_operands((input, end), {}) if is_array(input) or is_array(end) else ((input, end), {})
    return add(input, mul(weight, sub(end, input)))


def cast_like(value, like):
    """`value` in the element type of `like`."""
    return cast_to(value, dtype_of(like))


floor_div, floor_mod, mod, negative, divide = floor_divide, remainder, remainder, neg, div
absolute, subtract, multiply, clip = abs, sub, mul, clamp
