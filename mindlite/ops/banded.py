"""Diagonals of matrices as rows of one length: reading them, writing them, matrices made of them.

    k = (-1, 1)         matrix 3 x 3          rows, one for each diagonal from the upper k to the lower
                        a d .                 d e .         align "LEFT_RIGHT": those above the main one end at the left,
                        f b e                 a b c         those below at the right; "RIGHT_LEFT" the other way round;
                        . g c                 . f g         "LEFT_LEFT" and "RIGHT_RIGHT" one way for all

Source: MindSpore's (TensorFlow's) matrix_diag_part, MatrixSetDiagV3.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .basic import broadcast_to, reshape
from .creation import eye
from .define import as_operand, cast_to, dtype_of
from .logic import where
from .lookup import gather

ALIGNS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _band(name, k, align):
    """(lower, upper) of an int, two, or a Tensor of them whose value is known."""
    if align not in ALIGNS:
        raise ValueRangeError(f"{name}: align is one of {', '.join(ALIGNS)}, not {align!r}")
    values = np.ravel(k.asnumpy() if isinstance(k, Tensor) else k)
    if values.size not in (1, 2) or values.dtype.kind not in "iu":
        raise ArgumentError(f"{name}: k is the number of a diagonal, or of the lowest and the highest", note=repr(k))
    lower, upper = int(values[0]), int(values[-1])
    if lower > upper:
        raise ValueRangeError(f"{name}: the lowest diagonal {lower} is above the highest {upper}")
    return lower, upper


def _positions(name, rows, columns, k, align):
    """(row, column, is there an element) of each item of the diagonals, three arrays [diagonals, longest]."""
    lower, upper = _band(name, k, align)
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise ArgumentError(f"{name}: sizes that are known at run time only have no table of positions")
    if not -rows < lower <= upper < columns:
        raise ValueRangeError(f"{name}: a matrix of {rows} x {columns} has no diagonals {lower} .. {upper}")
    longest = min(rows + min(upper, 0), columns - max(lower, 0))
    number = upper - np.arange(upper - lower + 1)[:, None]
    length = np.minimum(rows + np.minimum(number, 0), columns - np.maximum(number, 0))
    right = np.where(number >= 0, align.startswith("RIGHT"), align.endswith("RIGHT"))
    item = np.arange(longest) - np.where(right, longest - length, 0)
    inside = (item >= 0) & (item < length)
    return (np.where(inside, item - np.minimum(number, 0), 0), np.where(inside, item + np.maximum(number, 0), 0), inside)


@planned
def matrix_diag_part(x: Tensor, k: Any, padding_value: float, align: str = "RIGHT_LEFT") -> Tensor:
    """The diagonals k of matrices.

    x             : Tensor [.., M, N] of any dtype
    k             : int, the number of a diagonal (above the main one positive), or (lowest, highest)
    padding_value : number, which stands where a diagonal is shorter than the longest
    align         : "RIGHT_LEFT" and so on: where a shorter diagonal stands in its row, those above the main one and those
                    below it
    out           : [.., diagonals, longest], or [.., longest] for one
    raises        : ValueRangeError for diagonals that the matrix does not have and another align, ShapeError for fewer than
                    two axes
    """
    x = as_operand(x)
    if x.ndim < 2:
        raise ShapeError("matrix_diag_part: a matrix has two axes", note=f"x: {list(x.shape)}")
    rows, columns = x.shape[-2:]
    row, column, inside = _positions("matrix_diag_part", rows, columns, k, align)
    row, column, inside = (a[0] if len(a) == 1 else a for a in (row, column, inside))
    found = gather(reshape(x, shape=(*x.shape[:-2], rows * columns)), row * columns + column, x.ndim - 2)
    return where(inside, found, cast_to(as_operand(padding_value), dtype_of(x)))


def _written(x, name, diagonal, k, align):
    """x[.., m, n] with the diagonals k replaced."""
    rows, columns = x.shape[-2:]
    row, column, inside = _positions(name, rows, columns, k, align)
    flat = cast_to(as_operand(diagonal), dtype_of(x))
    if flat.ndim < x.ndim - (len(row) == 1):
        raise ShapeError(f"{name}: the diagonals do not fit", note=f"x: {list(x.shape)}, diagonal: {list(flat.shape)}")
    if len(row) > 1 and tuple(flat.shape[-2:]) != row.shape or flat.shape[-1] != row.shape[1]:
        raise ShapeError(f"{name}: {list(row.shape)} elements are wanted", note=f"diagonal: {list(flat.shape)}")
    lead = tuple(flat.shape[:flat.ndim - 1 - (len(row) > 1)])
    flat = reshape(flat, shape=(*lead, row.size))
    source, taken = np.zeros((rows, columns), np.int64), np.zeros((rows, columns), bool)
    source[row[inside], column[inside]] = np.flatnonzero(inside)
    taken[row[inside], column[inside]] = True
    return where(taken, gather(flat, source, flat.ndim - 1), x)


@planned
def matrix_set_diag(x: Tensor, diagonal: TensorLike, k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with their diagonals k replaced.

    x        : Tensor [.., M, N] of any dtype
    diagonal : [.., longest], or [.., diagonals, longest] for several, as matrix_diag_part gives it; converted to the dtype of x
    k        : int, the number of a diagonal (above the main one positive), or (lowest, highest)
    align    : "RIGHT_LEFT" and so on: where a shorter diagonal stands in its row, those above the main one and those below it
    raises   : ValueRangeError for diagonals that the matrix does not have and another align, ShapeError for another diagonal
    """
    x = as_operand(x)
    if x.ndim < 2:
        raise ShapeError("matrix_set_diag: a matrix has two axes", note=f"x: {list(x.shape)}")
    return _written(x, "matrix_set_diag", diagonal, k, align)


@planned
def matrix_diag(x: Tensor, k: Any = 0, num_rows: int = -1, num_cols: int = -1, padding_value: float = 0,
                align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with the diagonals k made of the rows of x, padding_value elsewhere.

    x                  : Tensor [.., longest], or [.., diagonals, longest] for several
    k                  : int, the number of a diagonal (above the main one positive), or (lowest, highest)
    num_rows, num_cols : ints, the sizes of the matrices; -1: as small as they can be
    padding_value      : number
    align              : "RIGHT_LEFT" and so on: where a shorter diagonal stands in its row, those above the main one and those
                         below it
    raises             : ValueRangeError for k in the wrong order and another align, ShapeError for sizes that do not fit
    """
    x = as_operand(x)
    if not x.ndim:
        raise ShapeError("matrix_diag: a tensor of one or more axes is wanted")
    lower, upper = _band("matrix_diag", k, align)
    if lower == upper == 0 and num_rows == num_cols == -1 and isinstance(padding_value, int) and padding_value == 0:
        return reshape(x, shape=tuple(x.shape) + (1,)) * eye(x.shape[-1], x.shape[-1], dtype_of(x))
    num_rows, num_cols = (int(v.asnumpy()) if isinstance(v, Tensor) else v for v in (num_rows, num_cols))
    least_rows, least_columns = x.shape[-1] + max(-upper, 0), x.shape[-1] + max(lower, 0)
    if num_rows == num_cols == -1:
        num_rows = num_cols = max(least_rows, least_columns)
    rows, columns = least_rows if num_rows == -1 else num_rows, least_columns if num_cols == -1 else num_cols
    lead = tuple(x.shape[:-1] if lower == upper else x.shape[:-2])
    base = broadcast_to(cast_to(as_operand(padding_value), dtype_of(x)), shape=(*lead, rows, columns))
    return _written(base, "matrix_diag", x, (lower, upper), align)
