"""Diagonals of matrices: reading one, writing one, matrices that are one.

A diagonal is a strided slice of the flattened matrix: element i stands at first + i * (columns + 1). Where the number of
columns is open, so is the stride: then that many elements are a row, the diagonal is their first column, and it is written
by a mask.
"""
from __future__ import annotations

import functools
import operator

from ..common.dim import dim_max, dim_min
from ..common.errors import ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_size, normal_axis
from .basic import broadcast_to, reshape
from .creation import zeros
from .define import as_operand, cast_to, dtype_of
from .getitem import getitem, setitem
from .indexing import iota
from .logic import equal, where
from .reduction import sum
from .structure import concat, expand_dims, movedim, narrow


def _flat(name, input, dim1, dim2):
    """The two axes moved to the end and flattened; also their sizes."""
    if input.ndim < 2:
        raise ShapeError(f"{name}: a matrix has two axes", note=f"input: {list(input.shape)}")
    axes = normal_axis(name, dim1, input.ndim), normal_axis(name, dim2, input.ndim)
    if axes[0] == axes[1]:
        raise ShapeError(f"{name}: the two axes are the same", note=f"dim1: {dim1}, dim2: {dim2}")
    x = movedim(input, axes, (-2, -1))
    rows, columns = x.shape[-2:]
    return reshape(x, shape=x.shape[:-2] + (rows * columns,)), rows, columns


def _first_and_count(rows, columns, offset):
    first = offset if offset >= 0 else -offset * columns
    return first, dim_max(dim_min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def _read(flat, rows, columns, offset):
    """The diagonal of matrices [.., rows * columns]."""
    if isinstance(columns, int):
        return getitem(flat, (..., _range(rows, columns, offset)))
    first, count = _first_and_count(rows, columns, offset)
    longer = concat([flat, zeros(flat.shape[:-1] + (columns,), dtype_of(flat))], -1)     # the last row may be cut short
    lines = narrow(longer, -1, dim_min(first, rows * columns), count * (columns + 1))
    lines = reshape(lines, shape=flat.shape[:-1] + (count, columns + 1))
    return reshape(narrow(lines, -1, 0, 1), shape=flat.shape[:-1] + (count,))


def _written(flat, rows, columns, offset, src):
    """Matrices [.., rows * columns] with `src` on the diagonal, as [.., rows, columns]."""
    if isinstance(columns, int):
        made = setitem(flat, (..., _range(rows, columns, offset)), src)
        return reshape(made, shape=flat.shape[:-1] + (rows, columns))
    _, count = _first_and_count(rows, columns, offset)
    src = broadcast_to(src, shape=(*flat.shape[:-1], count))
    size, axis = (rows, -1) if offset >= 0 else (columns, -2)                            # element i is in row i, or in column i
    src = expand_dims(concat([src, zeros(flat.shape[:-1] + (size - count,), dtype_of(flat))], -1), axis)
    mask = equal(expand_dims(iota(rows), 1) + offset, expand_dims(iota(columns), 0))
    return where(mask, src, reshape(flat, shape=flat.shape[:-1] + (rows, columns)))


def _range(rows, columns, offset):
    first, count = _first_and_count(rows, columns, offset)
    return slice(first, first + count * (columns + 1),
                 columns + 1) if not isinstance(count, int) or count else slice(0, 0)


@planned
def diagonal(input: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements [.., i, i + offset] of two axes, as a new last axis.

    input  : Tensor of two axes or more, any dtype
    offset : int; above 0 a diagonal over the main one, below 0 one under it
    dim1, dim2 : int, the two axes, of which dim1 counts the rows
    out    : Tensor: the other axes of input, then the diagonal; empty where the offset leaves the matrix
    raises : ShapeError for fewer than two axes or the same axis twice, ValueRangeError for an axis outside
    """
    offset = as_size("diagonal", offset)
    flat, rows, columns = _flat("diagonal", as_operand(input), dim1, dim2)
    return _read(flat, rows, columns, offset)


@planned
def diagonal_scatter(input: TensorLike, src: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`input` with `src` written on a diagonal; see `diagonal`.

    input  : Tensor of two axes or more, any dtype
    src    : Tensor or number that broadcasts to the diagonal; it is cast to input's dtype
    offset : int; above 0 a diagonal over the main one, below 0 one under it
    dim1, dim2 : int, the two axes, of which dim1 counts the rows
    out    : Tensor like input
    raises : ShapeError for fewer than two axes, the same axis twice or a src that does not fit, ValueRangeError for an
             axis outside
    """
    input, offset = as_operand(input), as_size("diagonal_scatter", offset)
    flat, rows, columns = _flat("diagonal_scatter", input, dim1, dim2)
    made = _written(flat, rows, columns, offset, cast_to(as_operand(src), dtype_of(input)))
    return movedim(made, (-2, -1), (dim1, dim2))


@planned
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices of zeros whose diagonals are the last axis of `input`.

    input  : Tensor [.., n], any dtype
    offset : int; above 0 the diagonal over the main one, below 0 the one under it
    dim1, dim2 : int, the axes of rows and columns in the result
    out    : Tensor: the axes before the last, with two axes of size n + |offset| at dim1 and dim2
    raises : ShapeError for a tensor without axes or the same axis twice, ValueRangeError for an axis outside
    """
    input, offset = as_operand(input), as_size("diag_embed", offset)
    if not input.shape:
        raise ShapeError("diag_embed: a tensor without axes is no diagonal")
    axes = normal_axis("diag_embed", dim1, input.ndim + 1), normal_axis("diag_embed", dim2, input.ndim + 1)
    if axes[0] == axes[1]:
        raise ShapeError("diag_embed: the two axes are the same", note=f"dim1: {dim1}, dim2: {dim2}")
    n = input.shape[-1] + abs(offset)
    flat = zeros(input.shape[:-1] + (n * n,), dtype_of(input))
    return movedim(_written(flat, n, n, offset, input), (-2, -1), (dim1, dim2))


def diag(input: TensorLike) -> Tensor:
    """`input` on the diagonal of its axes and the same axes again: out[i.., j..] is input[i..] where i.. is j.., else 0.

    input  : Tensor [n, ..] of one axis or more, any dtype
    out    : Tensor [n, .., n, ..]; of a vector a matrix
    raises : ShapeError for a tensor without axes

    The diagonal of a matrix is `diagonal(x)`, in `mint` also `diag(x)`.
    """
    x = as_operand(input)
    if not x.ndim:
        raise ShapeError("diag: a tensor without axes is no diagonal")
    return diag_embed(x) if x.ndim == 1 else reshape(diag_embed(reshape(x, shape=(-1,))), shape=x.shape + x.shape)


def diag_part(input: TensorLike) -> Tensor:
    """What `diag` puts there: out[i..] is input[i.., i..].

    input  : Tensor [n, .., n, ..], the first half of its sizes is the second, any dtype
    out    : Tensor [n, ..]
    raises : ShapeError for other sizes
    """
    x = as_operand(input)
    half = x.ndim // 2
    sizes = x.shape[:half]
    if not half or x.ndim % 2 or any([first != second for first, second in zip(sizes, x.shape[half:])]):
        raise ShapeError("diag_part: the first half of the sizes has to be the second", note=f"input: {list(x.shape)}",
                         hint="diagonal(x) for matrices that are not square")
    flat = x if half == 1 else reshape(x, shape=(functools.reduce(operator.mul, sizes), -1))
    return diagonal(flat) if half == 1 else reshape(diagonal(flat), shape=sizes)


@planned
def trace(input: TensorLike) -> Tensor:
    """The sum of a matrix's diagonal.

    input  : Tensor [M, N] of any dtype
    out    : [] like input; int64 for integers and bools
    raises : ShapeError for what is no matrix
    """
    matrix = as_operand(input)
    if matrix.ndim != 2:
        raise ShapeError("trace: a matrix has two axes", note=f"input: {list(matrix.shape)}")
    return sum(diagonal(matrix))
