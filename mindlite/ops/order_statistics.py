"""Medians and quantiles: what stands at a place of the sorted row, with the rule of torch and MindSpore for NaN.

    median   the lower of two middle elements, with its index; NaN where there is one, with its index
    nan...   of what is no NaN; NaN where nothing is left

A median is found without sorting. A quantile's row is sorted once, NaN last, and its places are read by gather; gradients go to
the elements that were read.
"""
from __future__ import annotations

from typing import Any

from ..common import dtype as dt
from ..common.annotations import Axes
from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.constraints import require
from ..mindir.primitive import planned
from .arithmetic import ceil, floor, maximum
from .axes import as_flag, normal_axis
from .basic import broadcast_to, cast, reduce_sum, reshape
from .define import as_operand, cast_to, dtype_of
from .logic import isnan, less, less_equal, logical_and, logical_not, where
from .lookup import gather_elements
from .sort import median_along, sort
from .structure import stack


def _row(name, input, axis):
    """(the tensor, the axis from the front): all elements as one row where axis is None."""
    x = as_operand(input)
    axis = axis if axis is None else normal_axis(name, axis, x.ndim)
    x, axis = (reshape(x, shape=(-1,)), 0) if axis is None or not x.ndim else (x, axis)
    require(">=", x.shape[axis], 1, lambda: ShapeError(f"{name}: of no elements", note=f"input: {list(as_operand(input).shape)}"))
    return x, axis


def _numbers(x, axis):
    """How many elements are no NaN, along the axis that stays with size 1."""
    return reduce_sum(cast(logical_not(isnan(x)), dtype=dt.int64), axis=axis, keepdims=True)


def _read(values, place, axis):
    shape = tuple(1 if i == axis else n for i, n in enumerate(values.shape))
    return gather_elements(values, axis, broadcast_to(cast_to(as_operand(place), dt.int64), shape=shape))


def _finished(value, input, axis, keepdims):
    """Without the axis, unless keepdims."""
    x = as_operand(input)
    if axis is None or not x.ndim:
        return reshape(value, shape=(1,) * x.ndim if keepdims else ())
    axis = axis % x.ndim
    return value if keepdims else reshape(value, shape=tuple(n for i, n in enumerate(value.shape) if i != axis))


def _median(name, input, axis, keepdims, skip):
    x, at = _row(name, input, axis)
    keepdims = as_flag(name, "keepdims", keepdims)
    return tuple(_finished(part, input, axis, keepdims) for part in median_along(x, axis=at, skip=skip))


@planned
def median(input: TensorLike, axis: int | None = -1, keepdims: bool = False) -> Any:
    """(the lower of the middle elements along `axis`, its index int64); NaN, with its index, where one is NaN.

    input    : Tensor of any dtype but complex
    axis     : int, or None for all elements, with the index in row-major order
    keepdims : bool; True: the axis stays, with the size 1
    raises   : DTypeError for complex numbers, ShapeError for no elements, ValueRangeError for an axis outside
    """
    return _median("median", input, axis, keepdims, False)


@planned
def nanmedian(input: TensorLike, axis: int | None = -1, keepdims: bool = False) -> Any:
    """(the lower of the middle elements that are no NaN along `axis`, its index int64); NaN where nothing is left.

    input    : Tensor of any dtype but complex
    axis     : int, or None for all elements, with the index in row-major order
    keepdims : bool; True: the axis stays, with the size 1
    raises   : DTypeError for complex numbers, ShapeError for no elements, ValueRangeError for an axis outside
    """
    return _median("nanmedian", input, axis, keepdims, True)


def _quantile(name, input, q, axis, keepdims, skip):
    x, at = _row(name, input, axis)
    keepdims = as_flag(name, "keepdims", keepdims)
    if dtype_of(x).kind != "f":
        raise DTypeError(f"{name}: takes floats, not {dtype_of(x).name}")
    if isinstance(q, (int, float)) and not 0 <= q <= 1:
        raise ValueRangeError(f"{name}: q is in [0, 1], not {q}")
    own = dtype_of(x)
    exact = dt.float32 if own.is_small else own                 # of places: a half has no odd number above 2048
    parts, values, numbers = cast_to(as_operand(q, exact), exact), sort(x, at)[0], _numbers(x, at)
    last = numbers if skip else where(less(numbers, values.shape[at]), 0, numbers)              # 0: the result is NaN
    made = []
    for part in [parts] if parts.ndim == 0 else [parts[i] for i in range(parts.shape[0])]:
        inside = logical_and(less_equal(0, part), less_equal(part, 1))
        place = where(inside, cast_to(maximum(last - 1, 0), exact) * part, values.shape[at])    # outside: gather refuses it
        low = floor(place)
        below, above = (_read(values, cast(p, dtype=dt.int64), at) for p in (low, ceil(place)))
        out = where(less(0, last), below + (above - below) * (place - low), float("nan"))
        made.append(_finished(cast_to(out, own), input, axis, keepdims))
    return made[0] if parts.ndim == 0 else stack(made, 0)


@planned
def quantile(input: TensorLike, q: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The number below which the part q of the elements along `axis` lies: that at the place q * (N - 1) of the sorted row,
    linear between two elements. NaN where one is NaN.

    input    : float[...]
    q        : number in [0, 1], or a vector of them: a list or a Tensor
    axis     : int, or None for all elements;      keepdims : bool; True: the axis stays, with the size 1
    out      : like input without the axis; with a vector q: [len(q), ..]
    raises   : DTypeError for what is no float, ShapeError for no elements, ValueRangeError for a number q or an axis outside,
               IndexRangeError for a q outside in a Tensor
    source   : Hyndman and Fan 1996, "Sample Quantiles in Statistical Packages", definition 7
    """
    return _quantile("quantile", input, q, axis, keepdims, False)


@planned
def nanquantile(input: TensorLike, q: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The quantile of the elements along `axis` that are no NaN; NaN where nothing is left. See quantile.

    input    : float[...]
    q        : number in [0, 1], or a vector of them: a list or a Tensor
    axis     : int, or None for all elements;      keepdims : bool; True: the axis stays, with the size 1
    out      : like input without the axis; with a vector q: [len(q), ..]
    raises   : DTypeError for what is no float, ShapeError for no elements, ValueRangeError for a number q or an axis outside,
               IndexRangeError for a q outside in a Tensor
    """
    return _quantile("nanquantile", input, q, axis, keepdims, True)
