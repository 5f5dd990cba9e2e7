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
from ..common.dim import Dim
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import as_expr, cast as cast_scalar
from .axes import as_shape, as_size, normal_axis
from .basic import broadcast_to, cast, reshape
from .define import as_operand, cast_to, dtype_of, is_array, is_scalar
from .indexing import iota
from .logic import equal, greater_equal, less_equal, where
from .sbp import letters, local_shape, sbp_rule


@primitive(traits={"creation"}, name="full")
def constant_tensor(*, shape, value, dtype):
    """A tensor of `shape` (ints or Dims) whose elements are all `value`, a Python number."""


@infer_rule(constant_tensor)
def full_infer(*, shape, value, dtype):
    for size in shape:
        require(">=", size, 0, lambda: ShapeError("full: a size is negative", note=str(list(shape))))
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


@primitive(traits={"creation", "library", "room"})
def room(*, shape, dtype):
    """A tensor of `shape` all of whose elements are written before one is read: compiled code leaves them as they are.
    What passes over loops make (`optim.sums`), each a memory of its own; by itself it is zeros."""


infer_rule(room)(lambda *, shape, dtype: AbstractTensor(dtype, shape))
eval_rule(room)(lambda *, shape, dtype: np.zeros(shape, dtype.numpy))
bprop_rule(room)(lambda out, dout, **attrs: ())
vmap_rule(room)(lambda args, dims, size, **attrs: (room(**attrs), None))
sbp_rule(room, lambda *, shape, **attrs: "->" + letters(len(shape)), local=local_shape)


# ---------------------------------------------------------------- constants

def full(size: Ints, fill_value: float | TensorLike, *, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of shape `size` filled with a number, or with a tensor of one element.

    dtype  : by default the number's own (float32, int64, bool)
    raises : ShapeError for a negative size
    """
    shape = as_shape("full", size)
    if is_array(fill_value) or not isinstance(fill_value, (bool, int, float, complex)):
        value = as_operand(fill_value, dtype and dt.dtype(dtype))
        return broadcast_to(cast_to(value, dt.dtype(dtype) if dtype else dtype_of(value)), shape=shape)
    wanted = dt.dtype(dtype if dtype is not None else type(fill_value))
    return constant_tensor(shape=shape, value=fill_value, dtype=wanted)


def zeros(size: Ints, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of zeros; float32 by default."""
    return full(size, 0, dtype=dtype or dt.float32)


def ones(shape: Ints, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of ones; float32 by default."""
    return full(shape, 1, dtype=dtype or dt.float32)


def full_like(input: Tensor, fill_value: float | TensorLike, *, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of input's shape, and dtype unless another is given, filled with a number."""
    return full(tuple(input.shape), fill_value, dtype=dtype or dtype_of(input))


def zeros_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of input's shape and dtype."""
    return full_like(input, 0, dtype=dtype)


def ones_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of input's shape and dtype."""
    return full_like(input, 1, dtype=dtype)


def empty(*size: Any, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor whose elements do not matter; they are zeros here."""
    return zeros(size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size, dtype)


# ---------------------------------------------------------------- ranges

def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: DTypeLike | None = None) -> Tensor:
    """start, start + step, .. up to but without `end`; with one argument from 0. Element i is start + i * step.

    start, end, step: ints (also Dims), floats; a Tensor counts where its value is known
    dtype  : int64 if all are ints, else float32
    raises : ValueRangeError if step is 0 or leads away from end
    """
    if end is None:
        start, end = 0, start
    start, end, step = (x.item() if hasattr(x, "item") else x for x in (start, end, step))
    whole = all(isinstance(x, Dim) or (is_scalar(x) and not isinstance(x, (float, complex)) and _is_whole(x))
                for x in (start, end, step))
    if isinstance(step, (int, float)) and step == 0:
        raise ValueRangeError("arange: step is 0")
    if whole:
        start, end, step = (as_size("arange", x, least=None) for x in (start, end, step))
        count = -((start - end) // step)
    else:
        if not all(isinstance(x, (int, float)) for x in (start, end, step)):
            raise ArgumentError("arange: a float range needs numbers that are known")
        count = math.ceil((end - start) / step)
    require(">=", count, 0, lambda: ValueRangeError(f"arange: from {start} to {end} with step {step} leads nowhere"))
    made = dt.dtype(dtype) if dtype is not None else dt.int64 if whole else dt.float32
    if whole:
        out = iota(count)
        out = out if isinstance(step, int) and step == 1 else out * step
        out = out if isinstance(start, int) and start == 0 else out + start
        return cast_to(out, made)
    out = cast(iota(count), dtype=dt.float64) * step + start
    return cast_to(out, made)


def _is_whole(x):
    return isinstance(x, (bool, int)) or getattr(getattr(x, "abstract", None), "type", None) in (bool, int)


def linspace(start: Any, end: Any, steps: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """`steps` numbers from start to end at equal distances, both included; float32 by default.

    raises : ValueRangeError for steps < 1
    """
    steps = as_size("linspace", steps)
    require(">=", steps, 1, lambda: ValueRangeError(f"linspace: {steps} steps"))
    made = dt.dtype(dtype) if dtype is not None else dtype_of(start) if is_array(start) else dt.float32
    index = cast(iota(steps), dtype=dt.float64)
    if isinstance(steps, int) and steps == 1:
        return cast_to(index + start, made)
    length = as_operand(end - start, dt.float64) if isinstance(steps, Dim) else end - start
    from_start = index * (length / (steps - 1)) + start
    return cast_to(where(greater_equal(index, steps - 1), end, from_start), made)


def logspace(start: Any, end: Any, steps: int, base: float = 10, *, dtype: DTypeLike | None = None) -> Tensor:
    """base ** x for x in linspace(start, end, steps)."""
    return cast_to(base ** linspace(start, end, steps, dtype=dt.float64), dt.dtype(dtype or dt.float32))


# ---------------------------------------------------------------- matrices

def _grid(rows, columns):
    """The row and column number of each element, to be broadcast."""
    return reshape(iota(rows), shape=(-1, 1)), reshape(iota(columns), shape=(1, -1))


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The identity matrix of n rows and m columns (n by default); float32 by default."""
    n = as_size("eye", n)
    rows, columns = _grid(n, n if m is None else as_size("eye", m))
    return cast(equal(rows, columns), dtype=dtype or dt.float32)


def _triangle(name, input, diagonal, keep):
    if input.ndim < 2:
        raise ShapeError(f"{name}: a matrix has two axes", note=f"input: {list(input.shape)}")
    rows, columns = _grid(*input.shape[-2:])
    return where(keep(columns - rows, diagonal), input, as_operand(0, dtype_of(input)))


def tril(input: TensorLike, diagonal: int = 0) -> Tensor:
    """The lower triangle of the last two axes, up to `diagonal`; zeros above. raises : ShapeError for under two axes"""
    return _triangle("tril", as_operand(input), diagonal, less_equal)


def triu(input: TensorLike, diagonal: int = 0) -> Tensor:
    """The upper triangle of the last two axes, from `diagonal`; zeros below. raises : ShapeError for under two axes"""
    return _triangle("triu", as_operand(input), diagonal, greater_equal)


def one_hot(indices: Tensor, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """`depth` classes along a new axis: on_value at the index, else off_value; an index outside gives off_value only.

    dtype : that of on_value: a tensor's own; int64 for ints, float32 for floats
    """
    indices = as_operand(indices)
    axis = normal_axis("one_hot", axis, indices.ndim + 1)
    shape = tuple(indices.shape)
    classes = reshape(iota(as_size("one_hot", depth)), shape=(-1,) + (1,) * (indices.ndim - axis))
    hit = equal(reshape(indices, shape=shape[:axis] + (1,) + shape[axis:]), classes)
    return where(hit, as_operand(on_value), as_operand(off_value))
