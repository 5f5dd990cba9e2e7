"""Tensors side by side and apart, as NumPy names it: hstack, vstack, dstack, their splits, and matrices in a diagonal.

All are combinations of concat, reshape and slices.
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

from ..common.annotations import Ints
from ..common.dim import dim_max, dim_min
from ..common.errors import ArgumentError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_size, normal_axis
from .basic import reshape
from .creation import zeros
from .define import as_operand, dtype_of
from .getitem import slice_end
from .structure import concat, narrow


def _each(tensors, least):
    """Every tensor (or the one that is given) with at least `least` axes."""
    single = not isinstance(tensors, (tuple, list))
    made = [least(as_operand(x)) for x in ([tensors] if single else tensors)]
    return made[0] if single else tuple(made)


def atleast_1d(inputs: Sequence[TensorLike]) -> Any:
    """Numbers become one-axis tensors. inputs : a tensor, or several, which are given as a tuple"""
    return _each(inputs, lambda x: x if x.ndim >= 1 else reshape(x, shape=(1,)))


def atleast_2d(inputs: Sequence[TensorLike]) -> Any:
    """A tensor, or each of several, with at least two axes; new axes of size 1 stand in front.

    inputs : Tensor or number of any dtype, or a tuple or list of them
    out    : Tensor [.., ..]: a number is [1, 1], [n] is [1, n], others stay; a tuple for a tuple or list
    raises : ArgumentError for what is neither a Tensor nor a number
    """
    return _each(inputs, lambda x: x if x.ndim >= 2 else reshape(x, shape=(1,) * (2 - x.ndim) + tuple(x.shape)))


def atleast_3d(inputs: Sequence[TensorLike]) -> Any:
    """A tensor, or each of several, with at least three axes.

    inputs : Tensor or number of any dtype, or a tuple or list of them
    out    : Tensor: a number is [1, 1, 1], [n] is [1, n, 1], [m, n] is [m, n, 1], others stay; a tuple for a tuple or list
    raises : ArgumentError for what is neither a Tensor nor a number
    """
    def three(x):
        if x.ndim >= 3:
            return x
        return reshape(x, shape=tuple(x.shape) + (1,) if x.ndim == 2 else (1, *x.shape, 1) if x.ndim else (1, 1, 1))
    return _each(inputs, three)


def _several(name, tensors):
    if not isinstance(tensors, (tuple, list)):
        raise ArgumentError(f"{name}: a tuple or list of tensors is wanted, not {type(tensors).__name__}")
    if not tensors:
        raise ArgumentError(f"{name}: at least one tensor is wanted")
    return tensors


@planned
def hstack(tensors: Sequence[TensorLike]) -> Tensor:
    """Join tensors side by side: along axis 1, of one axis along axis 0.

    tensors : a tuple or list of Tensors (numbers are [1]), equal in all other sizes; their dtypes are promoted
    out    : Tensor
    raises : ArgumentError where there is none, ShapeError where the other sizes differ
    """
    made = atleast_1d(_several("hstack", tensors))
    return concat(made, 0 if made[0].ndim == 1 else 1)


@planned
def vstack(inputs: Sequence[TensorLike]) -> Tensor:
    """One below the other: along axis 0, one-axis tensors as rows.

    inputs : tuple or list of Tensors, of the dtype to which they are promoted
    raises : ShapeError where the other sizes differ, ArgumentError for no tuple or an empty one
    """
    return concat(atleast_2d(_several("vstack", inputs)), 0)


@planned
def dstack(tensors: Sequence[TensorLike]) -> Tensor:
    """Join tensors one behind the other: along axis 2, after `atleast_3d`.

    tensors : a tuple or list of Tensors, equal in all other sizes; their dtypes are promoted
    out    : Tensor of at least three axes
    raises : ArgumentError where there is none, ShapeError where the other sizes differ
    """
    return concat(atleast_3d(_several("dstack", tensors)), 2)


@planned
def column_stack(tensors: Sequence[TensorLike]) -> Tensor:
    """Join tensors as columns: each of one axis is a column of the result, others are joined along axis 1.

    tensors : a tuple or list of Tensors (numbers are [1, 1]) with as many rows; their dtypes are promoted
    out    : Tensor of at least two axes
    raises : ArgumentError where there is none, ShapeError where the other sizes differ
    """
    made = [as_operand(x) for x in _several("column_stack", tensors)]
    return concat([reshape(x, shape=(-1, 1)) if x.ndim < 2 else x for x in made], 1)


row_stack = vstack


@planned
def tensor_split(input: TensorLike, indices_or_sections: Ints, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut along an axis into parts, of nearly the same size or at given places.

    input  : Tensor of at least one axis, any dtype
    indices_or_sections : an int n >= 1 for n parts, the first `size % n` of them larger by one; or a tuple or list of ints, the
             places of the cuts: a negative one counts from the end, one beyond the end leaves an empty part
    axis   : int
    out    : tuple of Tensors
    raises : ArgumentError for a number of parts below 1 or a place that is no int, ValueRangeError for an axis outside the
             tensor, ShapeError for a tensor without axes
    """
    return _split("tensor_split", as_operand(input), indices_or_sections, axis)


def _split(name, x, indices_or_sections, axis):
    if not x.shape:
        raise ShapeError(f"{name}: a tensor without axes has no parts")
    axis = normal_axis(name, axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, (tuple, list)):
        places = [as_size(name, e) for e in indices_or_sections]
        ends = [slice_end(e, size, 1) for e in places] + [size]
    else:
        count = as_size(name, indices_or_sections)
        if count < 1:
            raise ArgumentError(f"{name}: at least one part is wanted, not {count}")
        least, more = size // count, size % count
        ends = [least * (i + 1) + dim_min(i + 1, more) for i in range(count)]
    starts = [0, *ends[:-1]]
    return tuple([narrow(x, axis, start, dim_max(end - start, 0)) for start, end in zip(starts, ends)])


def hsplit(input: TensorLike, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Cut along axis 1 (axis 0 of a tensor of one axis), as `tensor_split`.

    input  : Tensor of at least one axis, any dtype
    indices_or_sections : int, the number of parts, or a tuple or list of ints, the places of the cuts
    out    : tuple of Tensors
    raises : ArgumentError for a number of parts below 1 or a place that is no int, ShapeError for a tensor without axes
    """
    x = as_operand(input)
    return _split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(input: TensorLike, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Cut along axis 0: tensor_split.

    input               : Tensor of one axis or more
    indices_or_sections : int >= 1: so many parts of nearly the same size; or ints: the places where it is cut
    raises              : ArgumentError for a number of parts below 1, ShapeError for a tensor []
    """
    return _split("vsplit", as_operand(input), indices_or_sections, 0)


def dsplit(input: TensorLike, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """Cut along axis 2, as `tensor_split`.

    input  : Tensor of at least three axes, any dtype
    indices_or_sections : int, the number of parts, or a tuple or list of ints, the places of the cuts
    out    : tuple of Tensors
    raises : ArgumentError for a number of parts below 1 or a place that is no int, ShapeError for fewer than three axes
    """
    x = as_operand(input)
    if x.ndim < 3:
        raise ShapeError(f"dsplit: a tensor of three axes or more is wanted, this has {x.ndim}")
    return _split("dsplit", x, indices_or_sections, 2)


def block_diag(*inputs: Any) -> Tensor:
    """The matrices (numbers and rows are such) along the diagonal of a matrix of zeros."""
    blocks = atleast_2d([as_operand(x) for x in _several("block_diag", inputs)])
    for block in blocks:
        if block.ndim != 2:
            raise ShapeError("block_diag: matrices, vectors and numbers are wanted", note=f"an input: {list(block.shape)}")
    width, rows, before = sum([b.shape[1] for b in blocks]), [], 0
    for block in blocks:
        high, wide = block.shape
        parts = [zeros((high, before), dtype_of(block)), block, zeros((high, width - before - wide), dtype_of(block))]
        rows.append(concat(parts, 1))
        before += wide
    return concat(rows, 0)
