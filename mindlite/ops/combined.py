"""Functions of two and more arguments that are short combinations of other operators: safe division, sums, angles.

Each is ordinary Python over ops, so that its derivatives, batches and kernels are those of its parts.
"""
from __future__ import annotations

import math
from typing import Any

from ..common import dtype as dt
from ..common.annotations import Axes, Ints
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from .arithmetic import abs, clamp, fmod, mul, pow, round, sign, sub, trunc
from .basic import cast, reshape
from .define import as_operand, cast_to, dtype_of
from .elementary import exp2, log, logaddexp, sigmoid, sin
from .logic import (equal, greater, isfinite, isinf, less, less_equal, logical_and, logical_not, logical_or, not_equal, where)
from .moments import root
from .reduction import amax, sum
from .scatter import tensor_scatter_add, tensor_scatter_sub, tensor_scatter_update
from .structure import narrow, stack


def addn(x: TensorLike) -> Tensor:
    """The sum of the tensors in the tuple or list `x`. raises : ArgumentError where there is none"""
    if not isinstance(x, (tuple, list)):
        return as_operand(x) * 1
    if not x:
        raise ArgumentError("addn: at least one tensor is wanted")
    total = x[0]
    for other in x[1:]:
        total = total + other
    return total if len(x) > 1 else total * 1


def accumulate_n(x: TensorLike) -> Tensor:
    """As addn."""
    return addn(x)


def squared_difference(x: TensorLike, y: TensorLike) -> Tensor:
    """(x - y) ** 2"""
    difference = sub(x, y)
    return mul(difference, difference)


def _float(x):
    x = as_operand(x, dt.float32)
    return cast_to(x, dt.float32) if dtype_of(x).kind in "bui" else x


def div_no_nan(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, 0 where y is 0."""
    x, y = _float(x), _float(y)
    nothing = equal(y, 0)
    return where(nothing, 0, x / where(nothing, 1, y))


def mul_no_nan(x: TensorLike, y: TensorLike) -> Tensor:
    """x * y, 0 where y is 0, whatever x is there."""
    nothing = equal(y, 0)
    return where(nothing, 0, where(nothing, 0, x) * y)


def xdivy(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, 0 where both are 0."""
    nothing = logical_and(equal(x, 0), equal(y, 0))
    return where(nothing, 0, x / where(nothing, 1, y))


def xlogy(input: TensorLike, other: TensorLike) -> Tensor:
    """input * log(other), 0 where input is 0 (NaN where other is); the slope by input is log(other) there too, if that is
    finite."""
    nothing = logical_and(equal(input, 0), logical_or(less_equal(other, 0), isinf(other)))
    return where(nothing, 0, input * log(where(nothing, 1, other)))


def truncate_div(x: Tensor, y: Any) -> Tensor:
    """x / y cut towards zero, in the dtype of x / y for floats and of x for integers."""
    quotient = trunc(x / y)
    wanted = dtype_of(as_operand(x))
    return cast(quotient, dtype=wanted) if wanted.kind in "ui" else quotient


def truncate_mod(x: TensorLike, y: TensorLike) -> Tensor:
    """The remainder of truncate_div: it has the sign of x."""
    return fmod(x, y)


def rint(input: Tensor) -> Tensor:
    """The nearest integer, halves to the even one."""
    return round(input)


def deg2rad(x: TensorLike) -> Tensor:
    """Degrees as radians."""
    return _float(x) * (math.pi / 180)


def rad2deg(x: TensorLike) -> Tensor:
    """Radians as degrees."""
    return _float(x) * (180 / math.pi)


def heaviside(input: TensorLike, values: TensorLike) -> Tensor:
    """0 where input < 0, 1 where it is > 0, `values` where it is 0."""
    step = cast_to(less(0, input), dtype_of(input))
    return where(equal(input, 0), cast_to(as_operand(values), dtype_of(input)), step)


def ldexp(x: TensorLike, other: TensorLike) -> Tensor:
    """x * 2 ** other"""
    return x * exp2(_float(other))


def sinc(input: TensorLike) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""
    angle = _float(input) * math.pi
    nothing = equal(angle, 0)
    return where(nothing, 1, sin(angle) / where(nothing, 1, angle))


def logaddexp2(input: Tensor, other: Any) -> Tensor:
    """log2(2 ** input + 2 ** other), without overflow."""
    return logaddexp(input * math.log(2), other * math.log(2)) * (1 / math.log(2))


def positive(input: Tensor) -> Tensor:
    """The input itself. raises : ArgumentError for bools"""
    if dtype_of(input) is dt.bool_:
        raise ArgumentError("positive: does not take bool")
    return input


def float_power(input: TensorLike, exponent: TensorLike) -> Tensor:
    """input ** exponent in float64."""
    wide = [cast_to(as_operand(v, dt.float64), dt.float64) for v in (input, exponent)]
    return wide[0] ** wide[1]


def isposinf(input: TensorLike) -> Tensor:
    """True where input is +inf."""
    return logical_and(isinf(input), less(0, input))


def isneginf(input: TensorLike) -> Tensor:
    """True where input is -inf."""
    return logical_and(isinf(input), less(input, 0))


def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0."""
    return equal(input, input) if dtype_of(input).kind != "c" else equal(input.imag(), 0)


def invert(x):
    """x with its bits inverted: -x - 1 for integers."""
    return ~x


def nansum(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of what is no NaN."""
    return sum(where(not_equal(input, input), 0, input), axis, keepdims, dtype=dtype)


def nanmean(input: TensorLike, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The mean of what is no NaN."""
    there = cast(logical_not(not_equal(input, input)), dtype=dtype_of(input))
    return nansum(input, axis, keepdims, dtype=dtype) / sum(there, axis, keepdims)


# ---------------------------------------------------------------- signs and sizes

def signbit(input: TensorLike) -> Tensor:
    """True where the sign is minus, that of -0.0 too."""
    x = as_operand(input)
    if dtype_of(x).kind != "f":
        return less(x, 0)
    return logical_or(less(x, 0), logical_and(equal(x, 0), less(1 / x, 0)))


def copysign(x: TensorLike, other: TensorLike) -> Tensor:
    """The size of x with the sign of `other`."""
    size = abs(as_operand(x))
    size = size if dtype_of(size).kind == "f" else cast(size, dtype=dt.float32)
    return where(signbit(other), -size, size)


def sgn(input: TensorLike) -> Tensor:
    """x / |x|, 0 for 0: the sign, also of complex numbers."""
    x = as_operand(input)
    if dtype_of(x).kind != "c":
        return sign(x)
    size = abs(x)
    return x / where(equal(size, 0), 1, size)


def logit(input: TensorLike, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, x is kept in [eps, 1 - eps] first."""
    x = as_operand(input)
    x = x if eps is None or eps < 0 else clamp(x, eps, 1 - eps)
    return log(x) - log(1 - x)


def is_nonzero(input: TensorLike) -> Any:
    """True if the one element is not 0. raises : ArgumentError where there are several"""
    x = as_operand(input)
    if x.size != 1:
        raise ArgumentError(f"is_nonzero: a tensor of one element is wanted, this has {x.size}")
    return reshape(not_equal(x, 0), shape=())


def approximate_equal(x: TensorLike, y: TensorLike, tolerance: float = 1e-5) -> Tensor:
    """True where |x - y| < tolerance."""
    return less(abs(as_operand(x) - y), tolerance)


def fast_gelu(x: Tensor) -> Tensor:
    """x * sigmoid(1.702 x)."""
    x = as_operand(x)
    return x * sigmoid(x * 1.702)


def swiglu(input: TensorLike, dim: int = -1) -> Tensor:
    """silu(the first half) * the second half, along `dim`."""
    x = as_operand(input)
    half = x.shape[dim] // 2
    first, second = narrow(x, dim, 0, half), narrow(x, dim, half, half)
    return first * sigmoid(first) * second


def renorm(input: TensorLike, p: float, axis: Axes, maxnorm: float) -> Tensor:
    """Each part along `axis` whose p-norm is larger than maxnorm, scaled down to it."""
    x = as_operand(input)
    others = tuple(a for a in range(x.ndim) if a != axis % x.ndim)
    norms = root(sum(pow(abs(x), p), others, True), p)
    return x * where(greater(norms, maxnorm), maxnorm / (norms + 1e-7), 1)


def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """The tensor, or each of several, scaled so that the norm of all together is at most max_norm.

    raises : ValueRangeError where the norm is infinite or NaN and error_if_nonfinite is True
    """
    single = not isinstance(x, (tuple, list))
    tensors = [as_operand(t) for t in ([x] if single else x)]
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
    """x with v taken off the rows `indices`."""
    return _rows_of(x, v, indices, tensor_scatter_sub)


def inplace_update(x: TensorLike, v: TensorLike, indices: Ints) -> Tensor:
    """x with v written to the rows `indices`."""
    return _rows_of(x, v, indices, tensor_scatter_update)


def _rows_of(x, v, indices, scatter):
    places = as_operand([indices] if isinstance(indices, int) else indices)
    return scatter(as_operand(x), reshape(places, shape=(-1, 1)), v)
