"""Functions of two and more arguments that are short combinations of other operators: safe division, sums, angles.

Each is ordinary Python over ops, so that its derivatives, batches and kernels are those of its parts.
"""
from __future__ import annotations

import math
from typing import Any

from ..common import dtype as dt
from ..common.annotations import Axes, Ints
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .arithmetic import abs, add, clamp, floor_divide, fmod, mul, pow, round, sign, sub, trunc
from .basic import cast, reshape
from .axes import as_number, axes_of, normal_axis
from .complex_numbers import imag, part_dtype
from .define import as_operand, cast_to, dtype_of, promote_operands, rounded_once, to_float
from .elementary import exp2, log, logaddexp, sigmoid, sin
from .logic import (equal, greater, isfinite, isinf, less, less_equal, logical_and, logical_not, logical_or, not_equal, where)
from .moments import root
from .norms import vector_norm
from .reduction import amax, sum
from .scatter import tensor_scatter_add, tensor_scatter_sub, tensor_scatter_update
from .structure import narrow, stack


@planned
def addn(x: TensorLike) -> Tensor:
    """The sum of the tensors in the tuple or list `x`. raises : ArgumentError where there is none"""
    return _added("addn", x)


def _added(name, x):
    tensors = x if isinstance(x, (tuple, list)) else (x,)
    if not tensors:
        raise ArgumentError(f"{name}: at least one tensor is wanted")
    total = tensors[0]
    for other in tensors[1:]:
        total = add(total, other)
    return total if len(tensors) > 1 else mul(total, 1)


@planned
def accumulate_n(x: TensorLike) -> Tensor:
    """The sum of several tensors, as `addn`.

    x      : a tuple or list of Tensors (or numbers), which broadcast and are promoted; a single Tensor is its own sum
    out    : Tensor of the broadcast shape
    raises : ArgumentError where there is none, ShapeError where the shapes do not broadcast
    """
    return _added("accumulate_n", x)


@planned
def squared_difference(x: TensorLike, y: TensorLike) -> Tensor:
    """(x - y) ** 2.

    x, y   : Tensor or number of any dtype but bool, broadcast together
    raises : DTypeError for bool, ShapeError for shapes that do not broadcast
    """
    difference = sub(x, y)
    return mul(difference, difference)


def _float(x):
    x = as_operand(x, dt.float32)
    return cast_to(x, dt.float32) if dtype_of(x).kind in "bui" else x


def _real(name, x):
    if dtype_of(as_operand(x)).kind == "c":
        raise DTypeError(f"{name}: takes real numbers, not {dtype_of(as_operand(x)).name}")
    return _float(x)


@planned
def div_no_nan(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, 0 where y is 0.

    x, y   : Tensor or number, of any dtype; they broadcast and are promoted, integers and bools to float32
    out    : Tensor of the broadcast shape
    gradient: 0 in both where y is 0
    raises : ShapeError where the shapes do not broadcast
    """
    (x, y), _ = to_float((x, y), {})
    nothing = equal(y, 0)
    return where(nothing, 0, x / where(nothing, 1, y))


@planned
def mul_no_nan(x: TensorLike, y: TensorLike) -> Tensor:
    """x * y, 0 where y is 0, whatever x is there: inf or NaN.

    x, y   : Tensor or number of any dtype, broadcast together
    raises : ShapeError for shapes that do not broadcast
    """
    (x, y), _ = promote_operands((x, y), {})
    nothing = equal(y, 0)
    return where(nothing, 0, where(nothing, 0, x) * y)


@planned
def xdivy(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, 0 where both are 0.

    x, y   : Tensor or number, broadcast together; integers and bools count as float32
    raises : ShapeError for shapes that do not broadcast
    """
    (x, y), _ = to_float((x, y), {})
    nothing = logical_and(equal(x, 0), equal(y, 0))
    return where(nothing, 0, x / where(nothing, 1, y))


@planned
@rounded_once
def xlogy(input: TensorLike, other: TensorLike) -> Tensor:
    """input * log(other), 0 where input is 0 (NaN where other is); the slope by input is log(other) there too, if that is finite.

    input, other : Tensor or number, broadcast together; integers and bools count as float32
    raises       : DTypeError for complex numbers, ShapeError for shapes that do not broadcast
    """
    (input, other), _ = to_float((input, other), {})
    nothing = logical_and(equal(input, 0), logical_or(less_equal(other, 0), isinf(other)))
    return where(nothing, 0, input * log(where(nothing, 1, other)))


@planned
def truncate_div(x: Tensor, y: Any) -> Tensor:
    """x / y cut towards zero, in the dtype of x / y for floats and of x for integers. raises : DTypeError for bool"""
    if dtype_of(as_operand(x)).kind == "b" and dtype_of(as_operand(y)).kind == "b":
        raise DTypeError("truncate_div: does not take bool")
    quotient = trunc(as_operand(x) / as_operand(y))
    wanted = dtype_of(as_operand(x))
    return cast(quotient, dtype=wanted) if wanted.kind in "ui" else quotient


def truncate_mod(x: TensorLike, y: TensorLike) -> Tensor:
    """The remainder x - y * trunc(x / y): it has the sign of x.

    x, y   : Tensor or number of any dtype but bool and complex, broadcast together; an integer remainder by 0 is 0
    raises : DTypeError for bool and complex, ShapeError for shapes that do not broadcast
    """
    return fmod(x, y)


def rint(input: Tensor) -> Tensor:
    """The nearest whole number, halves to even; gradient zero.

    input  : Tensor of any dtype but bool and complex
    raises : DTypeError for these
    """
    return round(input)


@planned
@rounded_once
def deg2rad(x: TensorLike) -> Tensor:
    """Degrees as radians: x * pi / 180.

    x      : Tensor or number, of any shape; integers and bools become float32
    out    : like x
    raises : DTypeError for complex numbers
    """
    return mul(_real("deg2rad", x), math.pi / 180)


@planned
@rounded_once
def rad2deg(x: TensorLike) -> Tensor:
    """Radians as degrees: x * 180 / pi.

    x      : Tensor or number; integers and bools count as float32
    raises : DTypeError for complex numbers
    """
    return mul(_real("rad2deg", x), 180 / math.pi)


@planned
def heaviside(input: TensorLike, values: TensorLike) -> Tensor:
    """The step function of Heaviside: 0 where input < 0, 1 where input > 0, `values` where it is 0.

    input  : Tensor or number of bool, integer or float dtype; NaN counts as not above 0 and gives 0
    values : Tensor or number that broadcasts with input; it is cast to input's dtype
    out    : Tensor of the broadcast shape, in input's dtype
    raises : DTypeError for complex numbers, ShapeError where the shapes do not broadcast
    """
    step = cast_to(less(0, input), dtype_of(input))
    return where(equal(input, 0), cast_to(as_operand(values), dtype_of(input)), step)


@planned
def ldexp(x: TensorLike, other: TensorLike) -> Tensor:
    """x * 2 ** other.

    x      : Tensor or number; integers and bools become float32
    other  : Tensor or number, the exponents; they broadcast with x
    out    : Tensor of the broadcast shape, float32 or wider; finite where x * 2 ** other is, also where 2 ** other is not
    """
    x = _float(x)
    exponent = cast_to(as_operand(other), part_dtype(dtype_of(x)) if dtype_of(x).itemsize >= 8 else dt.float32)
    half = floor_divide(exponent, 2)                     # 2 ** other may overflow where x * 2 ** other does not
    return mul(x, exp2(half)) * exp2(exponent - half)


@planned
@rounded_once
def sinc(input: TensorLike) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0.

    input : Tensor or number; integers and bools count as float32
    """
    angle = _float(input) * math.pi
    nothing = equal(angle, 0)
    return where(nothing, 1, sin(angle) / where(nothing, 1, angle))


@planned
@rounded_once
def logaddexp2(input: Tensor, other: Any) -> Tensor:
    """log2(2 ** input + 2 ** other), without overflow in between.

    input, other : Tensor or number of real dtype; they broadcast and are promoted, integers to float32
    out    : Tensor of the broadcast shape
    raises : DTypeError for complex numbers, ShapeError where the shapes do not broadcast
    """
    return logaddexp(as_operand(input) * math.log(2), as_operand(other) * math.log(2)) * (1 / math.log(2))


def positive(input: Tensor) -> Tensor:
    """The input itself, of any dtype but bool.

    input  : Tensor
    raises : ArgumentError for bools
    """
    if dtype_of(input) is dt.bool_:
        raise ArgumentError("positive: does not take bool")
    return input


@planned
def float_power(input: TensorLike, exponent: TensorLike) -> Tensor:
    """input ** exponent in double precision.

    input, exponent : Tensor or number, of any dtype; they broadcast
    out    : float64 of the broadcast shape, complex128 where one of them is complex; a negative real number
             to a power that is no whole number is NaN
    raises : ShapeError where the shapes do not broadcast
    """
    operands, _ = promote_operands((input, exponent), {})
    wide = dt.complex128 if dtype_of(operands[0]).kind == "c" else dt.float64
    return pow(*[cast_to(as_operand(v, wide), wide) for v in (input, exponent)])


@planned
def isposinf(input: TensorLike) -> Tensor:
    """True where input is +inf.

    input  : Tensor or number of real dtype, any shape
    out    : bool, of input's shape; False for integers
    raises : DTypeError for complex numbers
    """
    return logical_and(isinf(input), less(0, input))


@planned
def isneginf(input: TensorLike) -> Tensor:
    """True where input is -inf.

    input  : Tensor or number of real dtype, any shape
    out    : bool, of input's shape; False for integers
    raises : DTypeError for complex numbers
    """
    return logical_and(isinf(input), less(input, 0))


def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0.

    input  : Tensor or number, of any dtype and shape
    out    : bool, of input's shape; True for all real numbers, NaN too
    """
    return equal(imag(input), 0)


def invert(x):
    """x with its bits inverted: -x - 1 for integers."""
    return ~x


@planned
def nansum(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of what is no NaN; 0 where nothing is left.

    input    : Tensor of any dtype
    axis     : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    dtype    : of the sum; None: that of input, int64 for integers and bools
    raises   : ValueRangeError for an axis outside or named twice
    """
    return sum(where(not_equal(input, input), 0, input), axis, keepdims, dtype=dtype)


@planned
def nanmean(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The mean of what is no NaN; NaN where nothing is left.

    input    : Tensor of any dtype; integers and bools count as float32
    axis     : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    dtype    : in which it is computed, or None for that of input
    raises   : ValueRangeError for an axis outside or named twice
    """
    there = cast(logical_not(not_equal(input, input)), dtype=dtype_of(input))
    return nansum(input, axis, keepdims, dtype=dtype) / sum(there, axis, keepdims)


# ---------------------------------------------------------------- signs and sizes

@planned
def signbit(input: TensorLike) -> Tensor:
    """True where the sign is minus, that of -0.0 too; False for NaN.

    input  : Tensor or number of any dtype but complex
    out    : bool[...]
    raises : DTypeError for complex numbers
    """
    x = as_operand(input)
    if dtype_of(x).kind != "f":
        return less(x, 0)
    x = cast(x, dtype=dt.float32) if dtype_of(x) in (dt.float16, dt.bfloat16) else x       # a quotient that nobody rounds
    return logical_or(less(x, 0), less(1 / x, 0))


@planned
def copysign(x: TensorLike, other: TensorLike) -> Tensor:
    """The size of x with the sign of `other`, that of -0.0 too.

    x, other : Tensor or number of real dtype; they broadcast
    out    : Tensor of the broadcast shape, in x's dtype; integers and bools become float32
    raises : DTypeError for complex numbers, ShapeError where the shapes do not broadcast
    """
    for name, operand in (("x", x), ("other", other)):
        if dtype_of(as_operand(operand)).kind == "c":
            raise DTypeError(f"copysign: {name} is not complex", note=dtype_of(as_operand(operand)).name)
    size = abs(as_operand(x))
    size = size if dtype_of(size).kind == "f" else cast(size, dtype=dt.float32)
    return where(signbit(other), -size, size)


def sgn(input: TensorLike) -> Tensor:
    """input / |input|, 0 for 0: the sign, also of complex numbers.

    input  : Tensor or number of any dtype but bool
    raises : DTypeError for bool
    """
    return sign(input)


@planned
@rounded_once
def logit(input: TensorLike, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of the sigmoid.

    input  : Tensor or number of real or complex dtype, any shape; integers become float32. Outside [0, 1] it is NaN
    eps    : float or None; if 0 or more, input is kept in [eps, 1 - eps] first
    out    : like input, float; -inf at 0 and inf at 1 without eps
    """
    x = as_operand(input)
    x = x if eps is None or as_number("logit", "eps", eps) < 0 else clamp(x, eps, 1 - eps)
    return log(x) - log(1 - x)


def is_nonzero(input: TensorLike) -> Any:
    """Whether the one element is not 0.

    input  : Tensor or number of one element, any dtype
    out    : bool[], a Tensor
    raises : ArgumentError where input has no element or several
    """
    x = as_operand(input)
    if x.size != 1:
        raise ArgumentError(f"is_nonzero: a tensor of one element is wanted, this has {x.size}")
    return reshape(not_equal(x, 0), shape=())


def approximate_equal(x: TensorLike, y: TensorLike, tolerance: float = 1e-5) -> Tensor:
    """True where |x - y| < tolerance.

    x, y   : Tensor or number; they broadcast and are promoted
    tolerance : float
    out    : bool, of the broadcast shape; False for NaN, and for equal infinities, whose difference is NaN
    raises : DTypeError for bool, ShapeError where the shapes do not broadcast
    """
    return less(abs(as_operand(x) - as_operand(y)), tolerance)


@planned
@rounded_once
def fast_gelu(x: Tensor) -> Tensor:
    """An approximation of GELU: x * sigmoid(1.702 x).

    x      : Tensor or number of real dtype, any shape; integers become float32
    out    : like x
    raises : DTypeError for complex numbers
    source : Hendrycks and Gimpel 2016, section 2
    """
    x = as_operand(x)
    return x * sigmoid(x * 1.702)


@planned
@rounded_once
def swiglu(input: TensorLike, dim: int = -1) -> Tensor:
    """silu(the first half) * the second half, along `dim`.

    input  : float[...] with an even size along dim; integers and bools count as float32
    dim    : int
    raises : ShapeError for an odd size, DTypeError for complex numbers, ValueRangeError for an axis outside
    source : Shazeer 2020, "GLU Variants Improve Transformer", equation 6
    """
    x = as_operand(input)
    size = x.shape[normal_axis("swiglu", dim, axes_of("swiglu", x, 1))]
    if isinstance(size, int) and size % 2:
        raise ShapeError(f"swiglu: an axis of size {size} has no halves", note=f"input: {list(x.shape)}, dim {dim}")
    half = size // 2
    first, second = narrow(x, dim, 0, half), narrow(x, dim, half, half)
    return first * sigmoid(first) * second


@planned
def renorm(input: TensorLike, p: float, axis: Axes, maxnorm: float) -> Tensor:
    """Each slice along `axis` whose p-norm is larger than maxnorm, scaled down to it.

    input   : Tensor of floats or complex numbers; integers count as float32
    p       : number above 0, or inf;     axis : int, along which the slices lie;     maxnorm : number >= 0
    raises  : ValueRangeError for another p or maxnorm and an axis outside, ArgumentError for an axis that is no int
    """
    x = as_operand(input)
    axis = normal_axis("renorm", axis, x.ndim)
    if not as_number("renorm", "p", p) > 0 or as_number("renorm", "maxnorm", maxnorm) < 0:
        raise ValueRangeError("renorm: p is above 0 and maxnorm is not negative", note=f"p {p}, maxnorm {maxnorm}")
    others = tuple(a for a in range(x.ndim) if a != axis)
    norms = vector_norm(x, p, others, True) if others else abs(x)
    return x * where(greater(norms, maxnorm), maxnorm / (norms + 1e-7), 1)


def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Scale a tensor, or several, so that the norm of all elements together is at most max_norm.

    x      : Tensor, or a tuple or list of Tensors; integers become float32
    max_norm : float, 0 or more
    norm_type : float, the order p of (sum |x| ** p) ** (1 / p), above 0; inf for the largest |x|
    error_if_nonfinite : bool; True refuses a norm that is inf or NaN, which needs its value, so it runs eagerly
    out    : each tensor times min(1, max_norm / (norm + 1e-6)), in its dtype; a tuple or list as x is
    raises : ValueRangeError for a max_norm below 0, a norm_type that is not above 0, or a norm that is not finite;
             ArgumentError where there is no tensor
    source : Pascanu, Mikolov, Bengio 2013, "On the difficulty of training recurrent neural networks"
    """
    if isinstance(norm_type, bool) or not isinstance(norm_type, (int, float)) or not norm_type > 0:
        raise ValueRangeError(f"clip_by_norm: norm_type is a number above 0, or inf, not {norm_type!r}")
    if isinstance(max_norm, (int, float)) and not max_norm >= 0:
        raise ValueRangeError(f"clip_by_norm: max_norm is 0 or more, not {max_norm!r}")
    single = not isinstance(x, (tuple, list))
    tensors = [_float(t) for t in ([x] if single else x)]
    if not tensors:
        raise ArgumentError("clip_by_norm: at least one tensor is wanted")
    flat = [reshape(abs(t), shape=(-1,)) for t in tensors]
    if norm_type == float("inf"):
        total = amax(stack([amax(f, 0) for f in flat]), 0)
    else:
        total = root(sum(stack([sum(pow(f, norm_type), 0) for f in flat]), 0), norm_type)
    if error_if_nonfinite and not isfinite(total):
        raise ValueRangeError(f"clip_by_norm: the norm is {total}")
    scale = clamp(max_norm / (total + 1e-6), None, 1.0)
    made = [t * cast(scale, dtype=dtype_of(t)) for t in tensors]
    return made[0] if single else type(x)(made)


def inplace_add(x: TensorLike, v: TensorLike, indices: Ints) -> Tensor:
    """x with v added to the rows `indices`, an int or a tuple of them."""
    return _rows_of(x, v, indices, tensor_scatter_add)


def inplace_sub(x: TensorLike, v: TensorLike, indices: Ints) -> Tensor:
    """x with v taken off the rows `indices`. It gives a new Tensor: x keeps its elements.

    x      : Tensor [N, ..]
    v      : Tensor [len(indices), ..], cast to x's dtype
    indices : int or tuple of ints, along axis 0; a row that is named twice takes both
    out    : like x
    raises : ShapeError where v does not fit, OperandIndexError for an index outside the axis
    """
    return _rows_of(x, v, indices, tensor_scatter_sub)


def inplace_update(x: TensorLike, v: TensorLike, indices: Ints) -> Tensor:
    """x with v written to the rows `indices`. It gives a new Tensor: x keeps its elements.

    x      : Tensor [N, ..]
    v      : Tensor [len(indices), ..], cast to x's dtype
    indices : int or tuple of ints, along axis 0; of a row that is named twice the last is kept
    out    : like x
    raises : ShapeError where v does not fit, OperandIndexError for an index outside the axis
    """
    return _rows_of(x, v, indices, tensor_scatter_update)


def _rows_of(x, v, indices, scatter):
    places = as_operand([indices] if isinstance(indices, int) else indices)
    return scatter(as_operand(x), reshape(places, shape=(-1, 1)), v)
