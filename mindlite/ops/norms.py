"""Norms of vectors and of matrices, and what follows from singular values: condition, pseudo-inverse.

    norm(x, ord, dim)      dim an int: of vectors; two axes, or a matrix with `ord`: of matrices; else of all elements

Source: Golub and Van Loan 2013, sections 2.2, 2.3 and 5.5.2.
"""
from __future__ import annotations

import math
from typing import Any
from collections.abc import Sequence

from ..common import dtype as dt
from ..common.annotations import Axes
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .arithmetic import abs, pow
from .axes import as_flag, as_known_number, normal_axis
from .basic import cast, reduce_sum, reshape, transpose
from .decomposition import inverse
from .define import as_operand, dtype_of
from .logic import equal, not_equal, where
from .moments import reduce_norm, root
from .reduction import amax, amin, reduce_max, reduce_min, sum
from .singular import pseudo_inverse, svd


def _as_float(x, dtype):
    x = as_operand(x)
    if dtype is not None:
        if dt.dtype(dtype).kind not in "fc":
            raise DTypeError(f"norm: dtype is a float or complex one, not {dt.dtype(dtype).name}")
        return cast(x, dtype=dt.dtype(dtype))
    return cast(x, dtype=dt.float32) if dtype_of(x).kind in "bui" else x


@planned
def vector_norm(x: Tensor, ord: Any = 2, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The norm of the vectors along `axis`: (sum |x| ** ord) ** (1 / ord).

    x        : Tensor; integers and bools count as float32, of complex numbers the absolute values
    ord      : a number; inf and -inf: the largest and the smallest absolute value; 0: how many are not zero
    axis     : int, tuple of ints, or None for all elements
    keepdims : bool; True: the axes stay, with the size 1
    dtype    : a float or complex dtype in which it is computed, or None
    raises   : ArgumentError for another order, ValueRangeError for an axis outside, DTypeError for a dtype of integers
    source   : Golub and Van Loan, Matrix Computations, section 2.2
    """
    x, ord = _as_float(x, dtype), as_known_number("vector_norm", ord)
    if isinstance(ord, (str, bool)):
        raise ArgumentError(f"vector_norm: no order {ord!r}", hint="a number, inf or -inf")
    if ord in (None, 2):
        return reduce_norm(abs(x) if dtype_of(x).kind == "c" else x, axis=axis, keepdims=keepdims)
    size = abs(x)
    if ord in (math.inf, -math.inf):
        return (reduce_max if ord > 0 else reduce_min)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return reduce_sum(cast(not_equal(x, 0), dtype=size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return reduce_sum(size, axis=axis, keepdims=keepdims)
    return root(reduce_sum(pow(size, ord), axis=axis, keepdims=keepdims), ord)


_BY_SUMS = (1, -1, math.inf, -math.inf)
_BY_SINGULAR_VALUES = (2, -2, "nuc")


@planned
def matrix_norm(A: TensorLike, ord: Any = "fro", axis: Sequence[int] = (-2, -1), keepdims: bool = False, *,
                dtype: DTypeLike | None = None) -> Tensor:
    """The norm of the matrices in the two axes.

    A        : Tensor [.., M, N]; integers and bools count as float32, of complex numbers the absolute values
    ord      : "fro" the root of the sum of squares, "nuc" the sum of singular values, 2 and -2 the largest and smallest of
               them, 1 and -1 the largest and smallest sum of a column, inf and -inf of a row
    axis     : two ints, the rows and the columns
    keepdims : bool; True: the axes stay, with the size 1
    dtype    : a float or complex dtype in which it is computed, or None
    raises   : ArgumentError for another order, ShapeError where there are no two axes, ValueRangeError for the same axis twice or
               one outside, DTypeError for a dtype of integers
    source   : Golub and Van Loan, Matrix Computations, section 2.3
    """
    x = _as_float(A, dtype)
    if x.ndim < 2:
        raise ShapeError("matrix_norm: a matrix is wanted", note=f"A: {list(x.shape)}")
    row, column = (normal_axis("matrix_norm", a, x.ndim) for a in axis)
    ord, keepdims = as_known_number("matrix_norm", ord), as_flag("matrix_norm", "keepdims", keepdims)
    if row == column:
        raise ValueRangeError("matrix_norm: the two axes are one", note=f"axis: {tuple(axis)}")
    if ord in ("fro", None):
        return vector_norm(x, 2, (row, column), keepdims)
    if not isinstance(ord, bool) and ord in _BY_SUMS:
        added, chosen = (row, column) if ord in (1, -1) else (column, row)
        best = amax if ord > 0 else amin
        return best(sum(abs(x), added, keepdims), chosen if keepdims or chosen < added else chosen - 1, keepdims)
    if isinstance(ord, bool) or ord not in _BY_SINGULAR_VALUES:
        raise ArgumentError(f"matrix_norm: no order {ord!r}", hint="'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    others = tuple(a for a in range(x.ndim) if a not in (row, column))
    values = svd(transpose(x, perm=(*others, row, column)), False, False)
    out = sum(values, -1) if ord == "nuc" else (amax if ord > 0 else amin)(values, -1)
    return reshape(out, shape=tuple(1 if a in (row, column) else n for a, n in enumerate(x.shape))) if keepdims else out


@planned
def norm(A: TensorLike, ord: Any = None, dim: Axes = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    """The norm of vectors or matrices.

    A       : Tensor; integers and bools count as float32, of complex numbers the absolute values
    ord     : see vector_norm and matrix_norm; None: the root of the sum of squares
    dim     : an int: of the vectors along it; two ints: of the matrices in them; None: without `ord` of all elements, else
              A is one vector or one matrix
    keepdim : bool; True: the axes stay, with the size 1
    dtype   : a float or complex dtype in which it is computed, or None
    raises  : ArgumentError for an order that there is not, ShapeError for an `ord` of more axes without dim, DTypeError for a
              dtype of integers
    """
    x = as_operand(A)
    if dim is None and ord is not None and x.ndim == 2:
        dim = (0, 1)
    dim = dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)
    if dim is None and ord is not None and x.ndim > 2:
        raise ShapeError(f"norm: which of the {x.ndim} axes are a vector or a matrix? dim says it", note=f"A: {list(x.shape)}")
    if dim is not None and len(dim) == 2 and ord is not None:
        return matrix_norm(x, ord, dim, keepdim, dtype=dtype)
    return vector_norm(x, 2 if ord in (None, "fro") else ord, dim, keepdim, dtype=dtype)


def cond(A: TensorLike, p: Any = None) -> Tensor:
    """The condition of each matrix: its norm times that of its inverse.

    A      : float Tensor; [.., m, n] for p None, 2 or -2, else [.., n, n]; integers become float32
    p      : None or 2: the largest singular value over the smallest; -2: the smallest over the largest; "fro", "nuc", 1, -1, inf,
             -inf: the norm as in matrix_norm
    out    : Tensor [..]; inf (p -2: 0) where the smallest singular value is 0
    raises : ShapeError for what has no two axes, is empty or not square, ArgumentError for another p, ValueRangeError (when run)
             for a singular matrix where p wants its inverse
    source : Golub and Van Loan 2013, section 2.6.2
    """
    A, p = _as_float(A, None), as_known_number("cond", p)
    if p in (None, 2, -2):
        values = svd(A, False, False)
        first, last = amax(values, -1), amin(values, -1)
        singular = equal(last, 0)
        ratio = where(singular, float("inf"), first / where(singular, 1, last))
        return 1 / ratio if p == -2 else ratio
    return matrix_norm(A, p) * matrix_norm(inverse(A), p)


def pinv(x: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse of each matrix in x[.., m, n]: [.., n, m].

    x          : float or complex Tensor; integers and bools count as float32
    atol, rtol : numbers; singular values up to the larger of atol and rtol times the largest count as 0; rtol is by default 0
                 with an atol, else the machine's accuracy times max(m, n)
    hermitian  : x is symmetric, or Hermitian; it is decomposed as any other matrix
    gradient   : where the rank stays; also where singular values are equal
    """
    atol, rtol = (None if number is None else float(as_known_number("pinv", number)) for number in (atol, rtol))
    return pseudo_inverse(_as_float(x, None), atol=atol, rtol=rtol)
