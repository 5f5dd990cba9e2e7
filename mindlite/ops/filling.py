"""Elements replaced: at indices, where a mask says, along a diagonal; tensors resized in row-major order.

Each is ordinary Python over ops, so that its derivatives, batches and kernels are those of its parts.
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

from ..common.dim import product
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.constraints import require
from ..mindir.primitive import planned
from .arithmetic import clamp, maximum
from .axes import as_shape, axes_of, normal_axis
from .basic import broadcast_to, cast, reshape
from .creation import arange, full
from .define import as_operand, as_update, cast_to, dtype_of
from .indexing import bounded_indices, gather_axis, index_add_axis, scatter_elements_add, scatter_nd_max, widened
from .logic import equal, greater, logical_and, where
from .scan import cumsum
from .slicing import take_range
from .structure import broadcast_tensors, pad_constant


def _line(x, axis):
    """0, 1, .. along the axis, with as many axes as x has."""
    return reshape(arange(x.shape[axis]), shape=tuple(-1 if i == axis else 1 for i in range(x.ndim)))


def _chosen(x, axis, index):
    """bool like a line along the axis: which places `index` names."""
    hits = index_add_axis(full((x.shape[axis],), 0), as_operand(index), full(tuple(index.shape), 1), axis=0)
    return reshape(greater(hits, 0), shape=tuple(-1 if i == axis else 1 for i in range(x.ndim)))


@planned
def index_fill(x: Tensor, axis: int, index: Tensor, value: Any) -> Tensor:
    """x with the slices at `index` (int[n]) along `axis` filled with `value`, a number or a Tensor of one."""
    x, axis = as_operand(x), normal_axis("index_fill", axis, x.ndim)
    index = as_operand(index)
    index = reshape(index, shape=(-1,)) if index.ndim == 0 else index
    if not x.ndim:
        return reshape(index_fill(reshape(x, shape=(1,)), 0, index, value), shape=())
    return where(_chosen(x, axis, index), cast_to(as_operand(value), dtype_of(x)), x)


@planned
def index_copy(x: TensorLike, axis: int, index: TensorLike, source: TensorLike) -> Tensor:
    """x with the slices of `source` written at `index` (int[n]) along `axis`; of an index that comes twice the last.

    raises : IndexRangeError for an index outside the axis
    """
    return _copied("index_copy", as_operand(x), axis, index, source)


def _copied(name, x, axis, index, source):
    axis, index = normal_axis(name, axis, x.ndim), as_operand(index)
    axes_of(name, index)
    source, size = as_update("index_copy", source, dtype_of(x)), x.shape[axis]
    error = lambda: ShapeError(f"{name}: there are not as many slices as indices",  # noqa: E731
                               note=f"source: {list(source.shape)}, index: {list(index.shape)}, axis {axis}")
    if source.ndim != x.ndim or index.ndim != 1:
        raise error()
    require("==", source.shape[axis], index.shape[0], error)
    if isinstance(index.shape[0], int) and not index.shape[0]:
        return x
    index = bounded_indices(widened(as_operand(index)), what=f"{name}: index", low=-size, high=size)
    index = where(index < 0, index + size, index)
    last = scatter_nd_max(full((size,), -1), reshape(index, shape=(-1, 1)), arange(index.shape[0]))     # which slice is there
    written = gather_axis(source, maximum(last, 0), axis=axis)
    there = reshape(last >= 0, shape=tuple(-1 if i == axis else 1 for i in range(x.ndim)))
    return where(there, written, x)


@planned
def masked_scatter(x: TensorLike, mask: TensorLike, source: TensorLike) -> Tensor:
    """x with the elements of `source`, in row-major order, written where `mask` is True.

    x      : Tensor of any dtype;     mask : Tensor, True where it is not zero; x and mask are broadcast together
    source : Tensor of as many elements as there are Trues, or more; it is converted to the dtype of x
    raises : IndexRangeError where source has fewer elements, ShapeError for shapes that do not broadcast
    """
    x, mask = broadcast_tensors(as_operand(x), as_operand(mask))
    flat, source = reshape(mask, shape=(-1,)), reshape(as_operand(source), shape=(-1,))
    order = cumsum(cast(flat, dtype="int64"), 0) - 1
    chosen = gather_axis(source, where(flat, order, 0), axis=0)
    return where(mask, reshape(cast_to(chosen, dtype_of(x)), shape=tuple(x.shape)), x)


def fills(x: Tensor, value: Any) -> Tensor:
    """A tensor like x, filled with one number.

    x      : Tensor, of which shape and dtype are taken
    value  : a number, or a Tensor of one element; it is cast to x's dtype
    out    : Tensor like x
    raises : ShapeError for a value of several elements
    """
    x = as_operand(x)
    return broadcast_to(cast_to(reshape(as_operand(value), shape=()), dtype_of(x)), shape=tuple(x.shape))


def fill(type: DTypeLike, shape: Sequence[int], value: TensorLike) -> Tensor:
    """A tensor filled with one number: full(shape, value, dtype=type).

    type   : the dtype; None: float32 for a float, int64 for an int, bool for a bool
    shape  : int or ints
    value  : a number, or a Tensor that broadcasts to the shape; a fraction is cut for an integer dtype
    out    : Tensor of the shape
    raises : ShapeError for a negative size, ValueRangeError for a number that an integer dtype does not hold
    """
    return full(shape, value, dtype=type)


@planned
def fill_diagonal(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """x with its main diagonal filled. It gives a new Tensor: x keeps its elements.

    x      : Tensor [m, n], or of more axes of equal sizes; any dtype
    fill_value : a number, or a Tensor of one element; it is cast to x's dtype
    wrap   : bool; in a matrix with more rows than columns the diagonal begins again behind an empty row
    out    : Tensor like x
    raises : ShapeError for one axis, for more than two that differ, or for a fill_value of several elements
    """
    x = as_operand(x)
    if x.ndim < 2 or x.ndim > 2 and len(set(x.shape)) > 1:
        raise ShapeError("fill_diagonal: a matrix, or a cube of equal sizes, is wanted", note=f"x: {list(x.shape)}")
    if product(as_operand(fill_value).shape) != 1:
        raise ShapeError("fill_diagonal: fill_value is one number", note=f"{list(as_operand(fill_value).shape)}")
    if x.ndim == 2:
        row, column = _line(x, 0), _line(x, 1)
        on = equal(row % (x.shape[1] + 1) if wrap else row, column)
    else:
        on = equal(_line(x, 0), _line(x, 1))
        for axis in range(2, x.ndim):
            on = logical_and(on, equal(_line(x, 0), _line(x, axis)))
    return where(on, cast_to(as_operand(fill_value), dtype_of(x)), x)


def choose(x: Tensor, choices: Any, mode: str = "clip") -> Tensor:
    """out[i] = choices[x[i]][i], broadcast. mode : an index outside means the nearest ("clip"), or is counted around."""
    if mode not in ("clip", "wrap"):
        raise ValueRangeError(f"choose: mode is 'clip' or 'wrap', not {mode!r}")
    if dtype_of(as_operand(x)).kind not in "ui":
        raise DTypeError(f"choose: an index is an integer, not {dtype_of(as_operand(x)).name}")
    if not isinstance(choices, (tuple, list)) and not getattr(choices, "ndim", 0):
        raise ArgumentError(f"choose: choices are Tensors in a row, not {type(choices).__name__}")
    options = [as_operand(c) for c in choices] if not hasattr(choices, "ndim") else [choices[i] for i in range(len(choices))]
    *options, index = broadcast_tensors(*options, as_operand(x))
    index = clamp(index, 0, len(options) - 1) if mode == "clip" else index % len(options)
    out = options[0]
    for i, option in enumerate(options[1:], 1):
        out = where(equal(index, i), option, out)
    return out


def resized(x: TensorLike, *shape: Any) -> Tensor:
    """The elements of x in row-major order in a Tensor of another shape: cut off at the end, or filled with zeros.

    x      : Tensor of any dtype
    """
    flat = reshape(as_operand(x), shape=(-1,))
    shape = as_shape("resize", shape[0] if len(shape) == 1 else shape)
    wanted, given = product(shape), flat.shape[0]
    flat = take_range(flat, 0, 0, wanted) if wanted <= given else pad_constant(flat, [(0, wanted - given)])
    return reshape(flat, shape=shape)


@planned
def put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """x with the elements of `source` written, or added, at places in row-major order.

    x          : Tensor of any dtype;     index : int[...]; negative ones count from the end
    source     : Tensor of as many elements as index, converted to the dtype of x; where a place occurs twice, the last one
                 stays
    accumulate : bool; True: they are added to what is there, all of them
    raises     : IndexRangeError for a place outside, ShapeError for another number of elements, DTypeError for an index of
                 floats
    """
    x, index = as_operand(x), reshape(as_operand(index), shape=(-1,))
    source = reshape(as_update("masked_scatter", source, dtype_of(x)), shape=(-1,))
    require("==", index.shape[0], source.shape[0], lambda: ShapeError(
        f"put: {source.shape[0]} elements for {index.shape[0]} places"))
    flat = reshape(x, shape=(-1,))
    out = scatter_elements_add(flat, index, source, axis=0) if accumulate else _copied("put", flat, 0, index, source)
    return reshape(out, shape=tuple(x.shape))
