"""Rows gathered by a number: unsorted_segment_sum and its kin.

    unsorted_segment_sum(x, ids, n)[k] = the sum of the x[i] with ids[i] = k            ids may have several axes

They are scattered into a table of zeros, ones, or the dtype's ends.
"""
from __future__ import annotations

import math

from ..common import dtype as dt
from ..common.errors import DTypeError, Refusal, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.graph import AnfNode
from ..mindir.primitive import planned
from .arithmetic import maximum
from .basic import cast, reshape
from .creation import full, ones
from .axes import as_size
from .define import as_operand, check_tensors, documented, dtype_of
from .indexing import bounded_indices, gather_axis, scatter_nd_add, scatter_nd_max, scatter_nd_min, scatter_nd_mul
from .logic import greater_equal, less, logical_and, where
from .reduction import amax


def _rows(name, x, ids, num_segments):
    """(the rows [n, ..] of x, their numbers [n], the axes of a row)"""
    x, ids = as_operand(x), as_operand(ids)
    fits = all(m == n for m, n in zip(ids.shape, x.shape) if isinstance(m, int) and isinstance(n, int))
    if ids.ndim > x.ndim or not fits:
        raise ShapeError(f"{name}: segment_ids has the first axes of x", note=f"{list(ids.shape)}, {list(x.shape)}")
    ids = bounded_indices(ids, what=f"{name}: segment id", low=None, high=num_segments)
    rest = tuple(x.shape[ids.ndim:])
    return reshape(x, shape=(math.prod(ids.shape), *rest)), reshape(ids, shape=(-1,)), rest


def _scattered(name, scatter, input, segment_ids, num_segments, begin, **attrs):
    """The rows scattered into a table of begin(dtype); rows with a negative number go to one more row, which falls away."""
    num_segments = as_size(name, num_segments)
    rows, ids, rest = _rows(name, input, segment_ids, num_segments)
    inside = logical_and(greater_equal(ids, 0), less(ids, num_segments))
    positions = reshape(where(inside, ids, num_segments), shape=(-1, 1))
    table = full((num_segments + 1, *rest), begin(dtype_of(rows)), dtype=dtype_of(rows))
    return scatter(table, positions, rows, **attrs)[:num_segments]


@planned
def unsorted_segment_sum(input_x: TensorLike, segment_ids: TensorLike, num_segments: int) -> Tensor:
    """The sums of the rows that have the same number; zeros where there is none. Rows with a negative number are left out.

    input_x      : Tensor [.., *row] of any dtype
    segment_ids  : int[..], the number of each row;     num_segments : int
    out          : [num_segments, *row]
    raises       : IndexRangeError for a number that is num_segments or more, ShapeError where segment_ids has not the first axes
                   of input_x, DTypeError for numbers that are no integers, ArgumentError where num_segments is no int
    """
    return _scattered("unsorted_segment_sum", scatter_nd_add, input_x, segment_ids, num_segments, lambda dtype: 0)


def _end_of(end):
    """(dtype) -> the type's smallest or largest number: "min" or "max". raises : DTypeError of complex numbers"""
    def number(dtype):
        if dtype.kind == "c":
            raise DTypeError("unsorted_segment: complex numbers have no order")
        if dtype.kind == "b":
            return end == "max"
        return (float if dtype.kind == "f" else int)(getattr(dtype.limits, end))
    return number


_EXTREMA = documented(rest="""
    Rows with a negative number are left out.

    x            : Tensor [.., *row] of any dtype but complex
    segment_ids  : int[..], the number of each row;     num_segments : int
    out          : [num_segments, *row]
    raises       : IndexRangeError for a number that is num_segments or more, ShapeError where segment_ids has not the first axes
                   of x, DTypeError for another dtype, ArgumentError where num_segments is no int
    gradient     : shared evenly among equal ones
    """)


@planned
@_EXTREMA
def unsorted_segment_max(x: TensorLike, segment_ids: TensorLike, num_segments: int) -> Tensor:
    """The largest of the rows with the same number; the dtype's smallest where there is none.

    {rest}
    """
    return _scattered("unsorted_segment_max", scatter_nd_max, x, segment_ids, num_segments, _end_of("min"), include_self=False)


@planned
@_EXTREMA
def unsorted_segment_min(x: TensorLike, segment_ids: TensorLike, num_segments: int) -> Tensor:
    """The smallest of the rows with the same number; the dtype's largest where there is none.

    {rest}
    """
    return _scattered("unsorted_segment_min", scatter_nd_min, x, segment_ids, num_segments, _end_of("max"), include_self=False)


@planned
def unsorted_segment_prod(x: TensorLike, segment_ids: TensorLike, num_segments: int) -> Tensor:
    """The product of the rows with the same number; 1 where there is none. Rows with a negative number are left out.

    x            : Tensor [.., *row] of any dtype; integers and bools count as int64
    segment_ids  : int[..], the number of each row;     num_segments : int
    out          : [num_segments, *row]
    raises       : IndexRangeError for a number that is num_segments or more, ShapeError where segment_ids has not the first axes
                   of x, DTypeError for another dtype, ArgumentError where num_segments is no int
    """
    x = as_operand(x)
    rows = cast(x, dtype=dt.int64) if dtype_of(x).kind in "iub" else x
    return _scattered("unsorted_segment_prod", scatter_nd_mul, rows, segment_ids, num_segments, lambda dtype: 1)


def sparse_segment_mean(x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
    """The means of the rows x[indices] that have the same number; zeros where there is none.

    x           : float[n, ..]      indices : int[m], rows of x
    segment_ids : int[m], from 0 on and not falling; out has a row for each number up to the last one
    raises      : ShapeError, DTypeError for what does not fit; OperandIndexError for a row that is not there
    """
    x, indices, ids = as_operand(x), as_operand(indices), as_operand(segment_ids)
    check_tensors("sparse_segment_mean", x=x, indices=indices, segment_ids=ids)
    if dtype_of(x).kind != "f":
        raise DTypeError(f"sparse_segment_mean: x is float, not {dtype_of(x).name}")
    if not x.ndim or indices.ndim != 1 or ids.ndim != 1:
        raise ShapeError("sparse_segment_mean: rows and two vectors of numbers are wanted",
                         note=f"x: {list(x.shape)}, indices: {list(indices.shape)}, segment_ids: {list(ids.shape)}")
    if isinstance(ids, AnfNode):
        raise Refusal("sparse_segment_mean: the number of segments is known at run time only")
    count = int(amax(ids)) + 1
    total = unsorted_segment_sum(gather_axis(x, indices, axis=0), ids, count)
    rows = unsorted_segment_sum(ones((indices.shape[0],), dtype_of(x)), ids, count)
    return total / reshape(maximum(rows, 1), shape=(count,) + (1,) * (x.ndim - 1))
