"""Looking up and adding at positions, under MindSpore's names: gather, embedding, tensor_scatter_add and the like."""
from __future__ import annotations

from collections.abc import Sequence

from ..common import dtype as dt
from ..common.dim import Size
from ..common.errors import ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_known_int, as_shape, axes_of, normal_axis
from .basic import broadcast_to, move_batch_axis, reshape
from .define import as_operand, as_update, cast_to, dtype_of
from .indexing import (bounded_indices, gather_axis, gather_axis_vmap, gather_elements_axis, index_add_axis, iota,
                       scatter_elements_add, scatter_nd_add, scatter_nd_update, widened)
from .logic import not_equal
from .slicing import zeros_like_shape
from .state import stop_gradient
from .structure import concat, expand_dims


@planned
def gather(input_params: TensorLike, input_indices: TensorLike, axis: int = 0, batch_dims: int = 0) -> Tensor:
    """Slices along an axis at indices: out[.., i.., ..] = input_params[.., input_indices[i..], ..].

    input_params : Tensor of at least one axis, any dtype
    input_indices : int Tensor of any shape; negative ones count from the end
    axis   : int
    batch_dims : int, 0 to axis: so many first axes of both go together
    out    : Tensor: the axis is replaced by the axes of the indices (behind batch_dims)
    raises : OperandIndexError for an index outside, DTypeError for indices that are no integers, ShapeError for a tensor
             without axes, ValueRangeError for an axis or batch_dims outside
    """
    x, indices = as_operand(input_params), as_operand(input_indices)
    if not x.shape:
        raise ShapeError("gather: a tensor without axes has no slices")
    axis = normal_axis("gather", axis, x.ndim)
    if not batch_dims:
        return gather_axis(x, indices, axis=axis)
    if not 0 < batch_dims <= min(axis, indices.ndim):
        raise ValueRangeError(f"gather: batch_dims {batch_dims} with axis {axis}")
    lead, size = tuple(x.shape[:batch_dims]), 1
    for n in lead:
        size = size * n
    flat = reshape(x, shape=(size,) + tuple(x.shape[batch_dims:]))
    indices = bounded_indices(widened(indices), what="gather: index", low=-x.shape[axis], high=x.shape[axis])
    flat_indices = reshape(indices, shape=(size,) + tuple(indices.shape[batch_dims:]))
    out, dim = gather_axis_vmap((flat, flat_indices), (0, 0), size, axis=axis - batch_dims)
    out = move_batch_axis(out, dim)
    return reshape(out, shape=lead + tuple(out.shape[1:]))


@planned
def index_select(input: TensorLike, axis: int, index: TensorLike) -> Tensor:
    """Slices along an axis at indices.

    input  : Tensor of any dtype; one without axes is taken for one element, and gives one
    axis   : int
    index  : int Tensor [n], or a number; negative ones count from the end
    out    : Tensor, of size n along the axis
    raises : OperandIndexError for an index outside, DTypeError for indices that are no integers, ShapeError for an index of
             several axes, ValueRangeError for an axis outside
    """
    if len(as_operand(index).shape) > 1:
        raise ShapeError("index_select: the index has one axis", note=f"index: {list(as_operand(index).shape)}", hint="gather")
    if not as_operand(input).shape:
        return reshape(gather(reshape(as_operand(input), shape=(1,)), index, axis), shape=())
    return gather(input, index, axis)


@planned
def gather_elements(input: TensorLike, dim: int, index: TensorLike) -> Tensor:
    """out[.., i, ..] = input[.., index[.., i, ..], ..] along `dim` (torch's gather); no axes count as one element."""
    x, places = as_operand(input), as_operand(index)
    if not x.ndim and not places.ndim:
        return reshape(gather_elements_axis(reshape(x, shape=(1,)), reshape(places, shape=(1,)), axis=dim), shape=())
    return gather_elements_axis(x, places, axis=dim)


@planned
def gather_d(x: TensorLike, dim: int, index: TensorLike) -> Tensor:
    """Elements at indices, each along an axis: out[.., i, ..] = x[.., index[.., i, ..], ..]; the same as `gather_elements`.

    x      : Tensor of any dtype
    dim    : int
    index  : int Tensor with as many axes, its other sizes at most those of x; negative ones count from the end
    out    : Tensor of index's shape and x's dtype
    raises : OperandIndexError for an index outside, DTypeError for indices that are no integers, ShapeError where index does
             not fit, ValueRangeError for an axis outside
    """
    return gather_elements(x, dim, index)


@planned
def index_add(x: TensorLike, indices: TensorLike, y: TensorLike, axis: int = 0, use_lock: bool = True,
              check_index_bound: bool = True) -> Tensor:
    """x with the slices of y added at indices along an axis; an index that comes twice is added twice.

    x      : Tensor of at least one axis
    indices : int Tensor [n]; negative ones count from the end
    y      : Tensor of x's shape, but n along the axis; it is cast to x's dtype
    axis   : int
    use_lock, check_index_bound : bool, MindSpore's; indices are always checked and added one after the other
    out    : Tensor like x; x keeps its elements
    raises : OperandIndexError for an index outside, ShapeError where y does not fit, ValueRangeError for an axis outside
    """
    x = as_operand(x)
    return index_add_axis(x, as_operand(indices), as_update("index_add", y, dtype_of(x)), axis=axis)


@planned
def tensor_scatter_add(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """input_x with updates added at indices[.., k]."""
    return scatter_nd_add(input_x, as_operand(indices), as_update("tensor_scatter_add", updates, dtype_of(input_x)))


@planned
def tensor_scatter_elements(input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none") -> Tensor:
    """input_x with updates written or added at indices along `axis`, element by element: out[indices[i][j]][j] = updates[i][j]
    for axis 0.

    input_x   : Tensor of any dtype
    indices   : int[...] of as many axes as input_x; where a place occurs twice, the last update counts ("none") or all do
                ("add")
    updates   : Tensor of the shape of indices, converted to the dtype of input_x
    axis      : int;     reduction : "none" or "add"
    raises    : ValueRangeError for another reduction or an axis outside, IndexRangeError for an index outside, ShapeError,
                DTypeError for indices that are no integers
    """
    indices, updates = cast_to(as_operand(indices), dt.int64), as_update("tensor_scatter_elements", updates, dtype_of(input_x))
    if not (input_x.ndim or indices.ndim or updates.ndim):
        one = [reshape(x, shape=(1,)) for x in (input_x, indices, updates)]
        return reshape(tensor_scatter_elements(one[0], one[1], one[2], axis, reduction), shape=())
    if reduction == "add":
        return scatter_elements_add(input_x, indices, updates, axis=axis)
    if reduction != "none":
        raise ValueRangeError(f"tensor_scatter_elements: reduction is 'none' or 'add', not {reduction!r}")
    axis, rank, shape = normal_axis("tensor_scatter_elements", axis, input_x.ndim), input_x.ndim, tuple(indices.shape)
    lines = [reshape(iota(n), shape=tuple(n if b == a else 1 for b in range(rank))) for a, n in enumerate(shape)]
    columns = [indices if a == axis else broadcast_to(line, shape=shape) for a, line in enumerate(lines)]
    return scatter_nd_update(input_x, concat([expand_dims(c, rank) for c in columns], rank), updates)


def first_elements(src: Tensor, shape: Sequence[Size]) -> Tensor:
    """The first elements of `src` along each axis, as many as `shape` has; src itself where it has more or fewer axes."""
    if src.ndim != len(shape) or tuple(src.shape) == tuple(shape):
        return src
    return src[tuple([slice(None) if n == size else slice(0, size) for n, size in zip(src.shape, shape)])]


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with src added at indices along `dim`: out[index[i][j]][j] += src[i][j] for dim 0, as torch's scatter_add.

    input  : Tensor of any dtype;      dim : int
    index  : int[...] of as many axes as input; where a place occurs twice, both are added
    src    : Tensor of the shape of index, or larger: then its first elements count; it is converted to the dtype of input
    raises : DTypeError for an index that is no integer, IndexRangeError for one outside, ShapeError
    """
    return tensor_scatter_elements(input, index, first_elements(src, index.shape), dim, "add")


@planned
def tensor_scatter_update(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """input_x with updates written at indices[.., k]."""
    return scatter_nd_update(input_x, as_operand(indices), as_update("tensor_scatter_update", updates, dtype_of(input_x)))


@planned
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: Sequence[int]) -> Tensor:
    """Zeros of `shape` with updates added at indices[.., k]."""
    updates = as_operand(updates)
    return scatter_nd_add(zeros_like_shape(updates, as_shape("scatter_nd", shape)), as_operand(indices), updates)


@planned
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of `weight` at the integers `input`: out[i.., :] = weight[input[i..], :].

    padding_idx : a row that gets no gradient
    """
    weight = as_operand(weight)
    axes_of("embedding", weight, 1)
    if padding_idx is not None:
        rows, padding_idx = weight.shape[0], as_known_int("embedding: padding_idx", padding_idx)
        if isinstance(rows, int) and not -rows <= padding_idx < rows:
            raise ValueRangeError(f"embedding: padding_idx {padding_idx} is no row of {rows}")
        row = padding_idx + rows if padding_idx < 0 else padding_idx
        keep = cast_to(not_equal(iota(rows), row), dtype_of(weight))
        unchanged = reshape(keep, shape=(rows, 1))
        from_there = stop_gradient(weight)
        weight = weight * unchanged + from_there * (1 - unchanged)
    return gather_axis(weight, as_operand(input), axis=0)
