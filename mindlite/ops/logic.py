"""Comparisons, logic, bits, tests for special numbers, and choosing by a condition.

Comparisons and tests give bool and carry no gradient.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import bprop_rule, jvp_rule, planned, vmap_rule
from ..mindir.scalar import call as call_scalar, cast as cast_scalar, logical_and as and_scalar, \
    logical_or as or_scalar, where as where_scalar
from .axes import as_number, broadcast_shapes
from .basic import sum_to
from .define import (as_mask, as_operand, cast_to, comparable_operands, composite, dtype_of, elementwise, promote_operands,
                     same_shape_tangent, vmap_elementwise)
from .sbp import elementwise_spec, sbp_rule


def _predicate(scalar, array, accepts="buifc", prepare=promote_operands, operands=2):
    return elementwise(scalar=scalar, array=array, derivatives=[None] * operands, out_dtype=dt.bool_, accepts=accepts,
                       prepare=prepare)


# ---------------------------------------------------------------- comparisons

@_predicate(operator.eq, np.equal, prepare=comparable_operands)
def equal(input: TensorLike, other: TensorLike):
    """input == other, as bool."""


@_predicate(operator.ne, np.not_equal, prepare=comparable_operands)
def not_equal(input: TensorLike, other: TensorLike):
    """input != other, as bool."""


@_predicate(operator.lt, np.less, "buif", comparable_operands)
def less(input: TensorLike, other: TensorLike):
    """input < other, as bool."""


@_predicate(operator.le, np.less_equal, "buif", comparable_operands)
def less_equal(input: TensorLike, other: TensorLike):
    """input <= other, as bool."""


@_predicate(operator.gt, np.greater, "buif", comparable_operands)
def greater(input: TensorLike, other: TensorLike):
    """input > other, as bool."""


@_predicate(operator.ge, np.greater_equal, "buif", comparable_operands)
def greater_equal(input: TensorLike, other: TensorLike):
    """input >= other, as bool."""


eq, ne, lt, le, gt, ge = equal, not_equal, less, less_equal, greater, greater_equal


# ---------------------------------------------------------------- logic

@_predicate(operator.not_, np.logical_not, operands=1)
def logical_not(input: TensorLike):
    """True where input is zero."""


@_predicate(and_scalar, np.logical_and)
def logical_and(input: TensorLike, other: TensorLike):
    """True where both are not zero."""


@_predicate(or_scalar, np.logical_or)
def logical_or(input: TensorLike, other: TensorLike):
    """True where one is not zero."""


@_predicate(lambda x, y: cast_scalar(x, dt.bool_) ^ cast_scalar(y, dt.bool_), np.logical_xor)
def logical_xor(input: TensorLike, other: TensorLike):
    """True where exactly one is not zero."""


# ---------------------------------------------------------------- bits

@elementwise(scalar=operator.and_, array=np.bitwise_and, accepts="bui", derivatives=[None, None])
def bitwise_and(input: TensorLike, other: TensorLike):
    """input & other; logical and for bool. raises : DTypeError for floats."""


@elementwise(scalar=operator.or_, array=np.bitwise_or, accepts="bui", derivatives=[None, None])
def bitwise_or(input: TensorLike, other: TensorLike):
    """input | other; logical or for bool. raises : DTypeError for floats."""


@elementwise(scalar=operator.xor, array=np.bitwise_xor, accepts="bui", derivatives=[None, None])
def bitwise_xor(input: TensorLike, other: TensorLike):
    """input ^ other; logical xor for bool. raises : DTypeError for floats."""


@elementwise(scalar=operator.invert, array=np.invert, accepts="bui", derivatives=[None])
def bitwise_not(input: TensorLike):
    """~input; logical not for bool. raises : DTypeError for floats."""


bitwise_not.also(x="input")


@elementwise(scalar=operator.lshift, array=np.left_shift, accepts="ui", derivatives=[None, None])
def bitwise_left_shift(input: TensorLike, other: TensorLike):
    """input << other, for 0 <= other < bits."""


@elementwise(scalar=operator.rshift, array=np.right_shift, accepts="ui", derivatives=[None, None])
def bitwise_right_shift(input: TensorLike, other: TensorLike):
    """input >> other, for 0 <= other < bits; signed numbers keep their sign."""


# ---------------------------------------------------------------- special numbers

@_predicate(lambda x: call_scalar("isnan", x), np.isnan, operands=1)
def isnan(input: TensorLike):
    """True where input is not a number."""


@_predicate(lambda x: call_scalar("isinf", x), np.isinf, operands=1)
def isinf(input: TensorLike):
    """True where input is infinite."""


@_predicate(lambda x: call_scalar("isfinite", x), np.isfinite, operands=1)
def isfinite(x: TensorLike):
    """True where x is neither infinite nor NaN."""


isfinite.also(input="x")


# ---------------------------------------------------------------- where

def _where_prepare(args, attrs):
    condition, *values = args
    values, _ = promote_operands(tuple(values), {})
    return (cast_to(as_operand(condition), dt.bool_), *values), attrs


@elementwise(scalar=where_scalar, array=np.where, prepare=_where_prepare, sbp_linear=[{1, 2}])
def where(condition: TensorLike, input: TensorLike, other: TensorLike):
    """input where the condition holds, else other; the three broadcast.

    condition : bool; numbers count as true where not zero
    gradient  : only the side that was chosen receives it, so a NaN on the other side does no harm
    """


@bprop_rule(where)
def where_bprop(condition, input, other, out, dout):
    if not out.dtype.is_differentiable:
        return None, None, None
    return None, sum_to(where(condition, dout, 0), input.shape), sum_to(where(condition, 0, dout), other.shape)


@jvp_rule(where)
def where_jvp(primals, tangents, out):
    condition, (_, on_true, on_false) = primals[0], tangents
    if on_true is None and on_false is None:
        return None
    tangent = where(condition, 0 if on_true is None else on_true, 0 if on_false is None else on_false)
    return same_shape_tangent(tangent, out)


select = where


def _flowing_infer(flows, x):
    broadcast_shapes("flowing", flows.shape, x.shape)
    return x


@composite(infer=_flowing_infer)
def flowing(flows, x):
    """x where it flows, else zeros, whatever x is there: a cotangent that data may have cut off (`ad/reach.py`).

    flows : a bool tensor that broadcasts to x;   x : any tensor;   out : like x
    """
    return where(flows, x, 0)


@bprop_rule(flowing)
def flowing_bprop(flows, x, out, dout):
    return None, flowing(flows, dout)


@vmap_rule(flowing)
def flowing_vmap(args, dims, size):
    (flows, x), (dim, axis) = args, dims
    if dim is None:
        return flowing(flows, x), axis
    return vmap_elementwise(where, (flows, x, np.zeros((), x.dtype.numpy)), (dim, axis, None), size, {})


sbp_rule(flowing, lambda flows, x: elementwise_spec(flows, x), linear=[{1}])


@planned
def masked_fill(input_x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` where `mask` is true, else input_x, in input_x's dtype."""
    input_x, mask = as_operand(input_x), as_mask("masked_fill", mask)
    return where(mask, cast_to(as_operand(value, input_x.dtype), input_x.dtype), input_x)


@planned
def nan_to_num(input: Tensor, nan: float | None = None, posinf: Any = None, neginf: Any = None) -> Tensor:
    """input with NaN, inf and -inf replaced. Integers and bools stay as they are.

    input  : Tensor of any dtype
    nan    : number for NaN; None: 0
    posinf : number for inf, None: the largest finite one of the dtype;     neginf : for -inf, None: the least
    """
    input = as_operand(input)
    if dtype_of(input).kind in "bui":                       # all of its numbers are finite
        return input
    largest = float(dtype_of(input).limits.max)
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    out = where(isnan(input), 0.0 if nan is None else nan, input)
    return where(equal(out, float("inf")), high, where(equal(out, float("-inf")), low, out))


@planned
def isclose(input: Tensor, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """True where |input - other| <= atol + rtol * |other|.

    input, other : Tensor or number of any dtype; they broadcast and are promoted; integers and bools are compared as float64
    rtol, atol : float, the relative and the absolute tolerance, at least 0
    equal_nan : bool; whether two NaNs are close
    out    : bool, of the broadcast shape; equal infinities are close, an infinity and a finite number are not
    raises : ShapeError where the shapes do not broadcast
    """
    rtol, atol = as_number("isclose", "rtol", rtol, 0), as_number("isclose", "atol", atol, 0)
    (input, other), _ = promote_operands((input, other), {})
    if input.dtype.kind in "bui":
        input, other = cast_to(input, dt.float64), cast_to(other, dt.float64)
    if input.dtype.kind == "c":
        difference, size = (input - other).abs(), other.abs()
    else:
        difference, size = where(less(input, other), other - input, input - other), where(less(other, 0), -other, other)
    close = logical_or(equal(input, other), logical_and(isfinite(other), less_equal(difference, atol + rtol * size)))
    return logical_or(close, logical_and(isnan(input), isnan(other))) if equal_nan else close
