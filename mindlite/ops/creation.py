"""Tensors out of nothing: constants, ranges, one-hot vectors, triangles.

Two primitives have no operand: `full` and `count_up` (0, 1, 2, ..). All else is arithmetic on them, so that sizes may
be Dims and a kernel computes the elements where they are needed.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Ints
from ..common.dim import Dim, compare, dim_max
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import Abstract, AbstractScalar, AbstractTensor
from ..mindir.constraints import Constraint, require
from ..mindir.control import tape_new
from ..mindir.graph import AnfNode
from ..mindir.primitive import bprop_rule, current_interpreter, eval_rule, infer_rule, kernel_rule, planned, primitive, vmap_rule
from ..mindir.scalar import as_expr, cast as cast_scalar
from .axes import as_number, as_size, new_shape, normal_axis
from .basic import broadcast_to, cast, reshape
from .define import as_operand, cast_to, dtype_of, is_array, is_scalar
from .indexing import iota
from .logic import equal, greater_equal, less_equal, where
from .sbp import letters, local_shape, sbp_rule
from .scalar import scalar_binary, scalar_cast, tensor_to_scalar


@primitive(traits={"creation"}, name="full")
def constant_tensor(*, shape, value, dtype):
    """A tensor of `shape` (ints or Dims) whose elements are all `value`, a Python number."""


@infer_rule(constant_tensor)
def full_infer(*, shape, value, dtype):
    for size in shape:
        require(">=", size, 0, lambda: ShapeError("full: a size is negative", note=str(list(shape))))
    if isinstance(value, complex) and dtype.kind != "c":
        raise DTypeError(f"full: {dtype.name} does not hold {value}")
    if dtype.kind in "ui" and not dtype.limits.min <= value <= dtype.limits.max:
        raise ValueRangeError(f"full: {dtype.name} does not hold {value}")
    return AbstractTensor(dtype, shape)


@eval_rule(constant_tensor)
def full_eval(*, shape, value, dtype):
    return np.full(shape, value, dtype.numpy)


@kernel_rule(constant_tensor)
def full_kernel(out, *, shape, value, dtype):
    return lambda *i: cast_scalar(as_expr(value), dtype)


bprop_rule(constant_tensor)(lambda out, dout, **attrs: ())
vmap_rule(constant_tensor)(lambda args, dims, size, **attrs: (constant_tensor(**attrs), None))
sbp_rule(constant_tensor, lambda *, shape, **attrs: "->" + letters(len(shape)), local=local_shape)


# ---------------------------------------------------------------- constants

def of_type(abstract: Abstract, value: int = 0) -> Any:
    """A value of a type, under the builder of a graph: a tensor filled with `value`, a number, or an empty tape."""
    if isinstance(abstract, AbstractTensor):
        element = np.full((), value, abstract.dtype.numpy)
        return broadcast_to(element, shape=abstract.shape) if abstract.shape else element
    return abstract.type(value) if isinstance(abstract, AbstractScalar) else tape_new()


def full(size: Ints, fill_value: float | TensorLike, *, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor filled with one number.

    size   : int, ints, or an int Tensor of one axis: the shape
    fill_value : a number, or a Tensor that broadcasts to the shape
    dtype  : by default that of fill_value: int64, float32, bool or complex64 of a number; a fraction given for an integer
             dtype is cut
    out    : Tensor of the shape
    raises : ShapeError for a negative size, ArgumentError for one that is no int, ValueRangeError for a number that an integer
             dtype does not hold
    """
    shape = new_shape("full", size)
    if is_array(fill_value) or not isinstance(fill_value, (bool, int, float, complex)):
        value = as_operand(fill_value, dtype and dt.dtype(dtype))
        return broadcast_to(cast_to(value, dt.dtype(dtype) if dtype else dtype_of(value)), shape=shape)
    wanted = dt.dtype(dtype if dtype is not None else type(fill_value))
    return constant_tensor(shape=shape, value=fill_value, dtype=wanted)


def zeros(size: Ints, dtype: DTypeLike | None = None) -> Tensor:
    """A Tensor of zeros.

    size   : int, tuple of ints, or a Tensor int[axes]: its shape
    dtype  : of it, float32 by default
    raises : ShapeError for a negative size, DTypeError for what is no dtype, ArgumentError for a size that is no int
    """
    return full(new_shape("zeros", size), 0, dtype=dtype or dt.float32)


def ones(shape: Ints, dtype: DTypeLike | None = None) -> Tensor:
    """A Tensor of ones.

    shape  : int, tuple of ints, or a Tensor int[axes]
    dtype  : of it, float32 by default
    raises : ShapeError for a negative size, DTypeError for what is no dtype, ArgumentError for a size that is no int
    """
    return full(new_shape("ones", shape), 1, dtype=dtype or dt.float32)


def full_like(input: TensorLike, fill_value: float | TensorLike, *, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of another's shape, filled with one number.

    input  : Tensor, of which shape and dtype are taken
    fill_value : a number, or a Tensor that broadcasts to the shape; a fraction is cut for an integer dtype
    dtype  : by default that of input
    out    : Tensor of input's shape
    raises : ValueRangeError for a number that an integer dtype does not hold
    """
    x = as_operand(input)
    return full(tuple(x.shape), fill_value, dtype=dtype or dtype_of(x))


def zeros_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of input's shape and dtype."""
    return full_like(input, 0, dtype=dtype)


def ones_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of input's shape and dtype."""
    return full_like(input, 1, dtype=dtype)


def empty(*size: Any, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor whose elements do not matter; here they are zeros.

    size   : ints, one tuple or list of them, or an int Tensor of one axis: the shape
    dtype  : float32 by default
    out    : Tensor of the shape
    raises : ShapeError for a negative size, ArgumentError for one that is no int
    """
    return zeros(new_shape("empty", size[0] if len(size) == 1 else size), dtype)


# ---------------------------------------------------------------- ranges

def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: DTypeLike | None = None) -> Tensor:
    """start, start + step, .. up to but without `end`; with one argument from 0. Element i is start + i * step.

    start, end, step: ints (also Dims), floats, Tensors of one real element
    dtype  : int64 if all are ints, else float32
    raises : ValueRangeError if step is 0 or leads away from end
    """
    if end is None:
        start, end = 0, start
    start, end, step = (tensor_to_scalar(x) if _is_tensor_node(x) else x.item() if hasattr(x, "item") else x
                        for x in (start, end, step))
    whole = all(isinstance(x, Dim) or (is_scalar(x) and not isinstance(x, (float, complex)) and _is_whole(x))
                for x in (start, end, step))
    if isinstance(step, float) and step == 0:
        raise ValueRangeError("arange: step is 0")
    if whole:
        start, end, step = (as_size("arange", x, least=None) for x in (start, end, step))
        require("!=", step, 0, lambda: ValueRangeError("arange: step is 0"))
        count = -((start - end) // step)
    else:
        if not all(is_scalar(x) and not isinstance(x, complex) for x in (start, end, step)):
            raise ArgumentError("arange: start, end and step are real numbers")
        count = _count_of_range(start, end, step)
    require(">=", count, 0, lambda: ValueRangeError(f"arange: from {start} to {end} with step {step} leads nowhere"))
    made = dt.dtype(dtype) if dtype is not None else dt.int64 if whole else dt.float32
    if whole:
        out = iota(count)
        out = out if isinstance(step, int) and step == 1 else out * step
        out = out if isinstance(start, int) and start == 0 else out + start
        return cast_to(out, made)
    out = cast(iota(count), dtype=dt.float64) * step + start
    return cast_to(out, made)


def _count_of_range(start, end, step):
    """ceil((end - start) / step), an int, or a Dim where one of them is known at run time only."""
    endless = ValueRangeError("arange: start, end or step is not finite")
    if all(isinstance(x, (int, float)) for x in (start, end, step)):
        if not all(map(math.isfinite, (start, end, step, (end - start) / step))):
            raise endless
        return math.ceil((end - start) / step)
    demand = current_interpreter().demand
    for x in (start, end, step):
        if isinstance(x, AnfNode):
            demand(Constraint("==", scalar_binary(x, x, op="-"), 0, endless))
        elif isinstance(x, float) and not math.isfinite(x):
            raise endless
    if isinstance(step, AnfNode):
        demand(Constraint("!=", step, 0, ValueRangeError("arange: step is 0")))
    backwards = scalar_binary(scalar_binary(start, end, op="-"), step, op="/")
    demand(Constraint("==", scalar_binary(backwards, backwards, op="-"), 0, endless))
    return -as_size("arange", scalar_cast(scalar_binary(backwards, 1.0, op="//"), type=int), least=None)


def _is_tensor_node(x):
    return isinstance(x, AnfNode) and isinstance(x.abstract, AbstractTensor)


def _is_whole(x):
    return isinstance(x, (bool, int)) or getattr(getattr(x, "abstract", None), "type", None) in (bool, int)


def linspace(start: Any, end: Any, steps: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """Numbers at equal distances from start to end, both included: start + k (end - start) / (steps - 1).

    start, end : numbers, or Tensors without axes
    steps  : int, how many
    dtype  : of the result; by default start's if that is a float or complex Tensor, else float32. It is computed in float64;
             fractions are cut for an integer dtype
    out    : Tensor [steps]
    raises : ValueRangeError for steps below 1, ArgumentError for steps that are no int, ShapeError for a Tensor with axes
    """
    return _spaced("linspace", start, end, steps, dtype)


def _spaced(name, start, end, steps, dtype):
    steps = as_size(name, steps)
    require(">=", steps, 1, lambda: ValueRangeError(f"{name}: {steps} steps"))
    for bound in (start, end):
        if not is_array(bound) and not is_scalar(bound):
            raise ArgumentError(f"{name}: start and end are numbers, not {type(bound).__name__}", note=repr(bound)[:80])
        if is_array(bound) and tuple(bound.shape) != ():
            raise ShapeError(f"{name}: start and end are numbers or tensors without axes", note=f"{list(bound.shape)}")
    made = dt.dtype(dtype) if dtype is not None else dt.float32
    if dtype is None and is_array(start) and dtype_of(start).kind in "fc":
        made = dtype_of(start)
    index = cast(iota(steps), dtype=dt.float64)
    if isinstance(steps, int) and steps == 1:
        return cast_to(index + start, made)
    length = end - start
    if isinstance(steps, Dim) and not is_array(length):
        length = full((), length, dtype=dt.float64)
    last = dim_max(steps - 1, 1)                             # of one step: start
    from_start = index * (length / last) + start
    return cast_to(where(greater_equal(index, last), end, from_start), made)


def logspace(start: Any, end: Any, steps: int, base: float = 10, *, dtype: DTypeLike | None = None) -> Tensor:
    """base ** x for the x of linspace(start, end, steps).

    start, end : numbers, or Tensors without axes: exponents
    steps  : int, how many
    base   : float; of a negative base only whole powers are numbers, others are NaN
    dtype  : of the result, float32 by default; it is computed in float64
    out    : Tensor [steps]
    raises : ValueRangeError for steps below 1, ArgumentError for steps that are no int, ShapeError for a Tensor with axes
    """
    powers = as_number("logspace", "base", base) ** _spaced("logspace", start, end, steps, dt.float64)
    return cast_to(powers, dt.dtype(dtype or dt.float32))


# ---------------------------------------------------------------- matrices

def _grid(rows, columns):
    """The row and column number of each element, to be broadcast."""
    return reshape(iota(rows), shape=(-1, 1)), reshape(iota(columns), shape=(1, -1))


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The identity matrix: ones on the main diagonal, zeros elsewhere.

    n      : int, the number of rows
    m      : int, the number of columns, n by default
    dtype  : float32 by default
    out    : Tensor [n, m]
    raises : ShapeError for a negative size, ArgumentError for one that is no int
    """
    n = as_size("eye", n)
    m = n if m is None else as_size("eye", m)
    for size in (n, m):
        require(">=", size, 0, lambda size=size: ShapeError(f"eye: a size is negative, {size}"))
    rows, columns = _grid(n, m)
    return cast(equal(rows, columns), dtype=dtype or dt.float32)


def _triangle(name, input, diagonal, keep):
    if input.ndim < 2:
        raise ShapeError(f"{name}: a matrix has two axes", note=f"input: {list(input.shape)}")
    rows, columns = _grid(*input.shape[-2:])
    diagonal = as_size(name, diagonal, least=None)
    return where(keep(columns - rows, diagonal), input, as_operand(0, dtype_of(input)))


@planned
def tril(input: TensorLike, diagonal: int = 0) -> Tensor:
    """The lower triangle of the last two axes, zeros above.

    input    : Tensor [.., M, N] of any dtype
    diagonal : int, the last one that stays; above the main one positive
    raises   : ShapeError for fewer than two axes, ArgumentError for a diagonal that is no int
    """
    return _triangle("tril", as_operand(input), diagonal, less_equal)


@planned
def triu(input: TensorLike, diagonal: int = 0) -> Tensor:
    """The upper triangle of the last two axes, zeros below.

    input    : Tensor [.., M, N] of any dtype
    diagonal : int, the first one that stays; above the main one positive
    raises   : ShapeError for fewer than two axes, ArgumentError for a diagonal that is no int
    """
    return _triangle("triu", as_operand(input), diagonal, greater_equal)


@planned
def one_hot(indices: Tensor, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """`depth` classes along a new axis: on_value at the index, else off_value; an index outside gives off_value only.

    indices             : int[...]
    depth               : int >= 0, the number of classes
    on_value, off_value : numbers or Tensors []
    axis                : int, where the new axis stands
    out                 : of the dtype of the two values: a tensor's own; int64 for ints, float32 for floats
    raises              : DTypeError for indices that are no integers, ValueRangeError for a depth below 0 or an axis outside
    """
    indices, depth = as_operand(indices), as_size("one_hot", depth)
    if dtype_of(indices).kind not in "ui":
        raise DTypeError(f"one_hot: indices are integers, not {dtype_of(indices).name}")
    if compare("<", depth, 0):
        raise ValueRangeError(f"one_hot: depth is not negative, not {depth}")
    axis = normal_axis("one_hot", axis, indices.ndim + 1)
    shape = tuple(indices.shape)
    classes = reshape(iota(depth), shape=(-1,) + (1,) * (indices.ndim - axis))
    hit = equal(reshape(indices, shape=shape[:axis] + (1,) + shape[axis:]), classes)
    return where(hit, as_operand(on_value), as_operand(off_value))
