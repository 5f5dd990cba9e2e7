"""Products and distances of vectors and matrices beyond the matrix product: cross, kron, cdist; parts of matrices.

Each is ordinary Python over ops, so that its derivatives, batches and kernels are those of its parts.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from ..common import dtype as dt
from ..common.annotations import Axes
from ..common.dim import dim_max
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import decide_equal, require
from ..mindir.primitive import bprop_rule, planned
from .arithmetic import abs, pow
from .axes import as_known_int, as_number, axes_of, normal_axis
from .basic import cast, reshape, transpose
from .creation import arange, ones_like
from .define import as_operand, cast_to, composite, dtype_of, promote_operands
from .elementary import sqrt
from .linalg import batch_matmul, bmm, dense, outer, added
from .logic import greater_equal, less, less_equal, logical_and, logical_or, not_equal, where
from .lookup import gather
from .reduction import amax, amin, sum
from .sbp import letters, sbp_rule
from .structure import concat, narrow, roll


def _pair(a, b):
    return promote_operands((as_operand(a), as_operand(b)), {})[0]


@planned
def cross(input: TensorLike, other: TensorLike, dim: int | None = None) -> Tensor:
    """The vector product in three dimensions, along one axis.

    input, other : Tensor or number of integer, float or complex dtype; they are promoted and broadcast; both have
             the size 3 along dim
    dim    : int; by default the first axis of input that has the size 3
    out    : Tensor of the broadcast shape
    raises : ShapeError where the axis has another size, ValueRangeError for an axis outside, DTypeError for bool
    """
    a, b = _pair(input, other)

    def no_axis():
        return ShapeError("cross: an axis of size 3 is wanted", note=f"input: {list(a.shape)}, other: {list(b.shape)}")
    if dim is not None:
        dim = normal_axis("cross", dim, min(a.ndim, b.ndim))
    else:
        dim = next((i for i, n in enumerate(a.shape) if decide_equal(n, 3, lambda n=n: ShapeError(
            "cross: which axis has the size 3 depends on a size", note=f"{n}"))), None)
    if dim is None:
        raise no_axis()
    for x in (a, b):
        require("==", x.shape[dim], 3, no_axis)
    return roll(a, -1, dim) * roll(b, -2, dim) - roll(a, -2, dim) * roll(b, -1, dim)


@planned
def kron(input: TensorLike, other: TensorLike) -> Tensor:
    """Kronecker's product: every element of input times the whole of other.

    input, other : Tensor of any dtype; they are promoted; the one of fewer axes gets axes of size 1 in front
    out    : Tensor whose sizes are the products of theirs
    """
    a, b = _pair(input, other)
    rank = max(a.ndim, b.ndim)
    first, second = ((1,) * (rank - x.ndim) + tuple(x.shape) for x in (a, b))
    spread = reshape(a, shape=tuple(n for size in first for n in (size, 1)))
    made = spread * reshape(b, shape=tuple(n for size in second for n in (1, size)))
    return reshape(made, shape=tuple(m * n for m, n in zip(first, second)))


def ger(input: TensorLike, vec2: TensorLike) -> Tensor:
    """The outer product: out[i, j] = input[i] * vec2[j].

    input  : Tensor [m] of any dtype
    vec2   : Tensor [n]; both are promoted
    out    : Tensor [m, n]
    raises : ShapeError for what is no vector
    """
    _check_vectors("ger", input=input, vec2=vec2)
    return outer(input, vec2)


def _check_vectors(name, **operands):
    for operand, x in operands.items():
        if len(as_operand(x).shape) != 1:
            raise ShapeError(f"{name}: {operand} is a vector", note=f"{operand}: {list(as_operand(x).shape)}")


@planned
def addr(x: TensorLike, vec1: TensorLike, vec2: TensorLike, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * x + alpha * outer(vec1, vec2).

    x      : Tensor that broadcasts with [m, n]; for beta 0 its elements do not matter, NaN too
    vec1, vec2 : Tensors [m] and [n]; all are promoted
    beta, alpha : numbers; a float makes integers float32
    out    : Tensor [m, n]
    raises : ShapeError for what is no vector or does not broadcast
    """
    _check_vectors("addr", vec1=vec1, vec2=vec2)
    return added("addr", x, beta, outer(vec1, vec2), alpha)


@planned
def addbmm(input: TensorLike, batch1: TensorLike, batch2: TensorLike, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * the sum over the stack of batch1[i] @ batch2[i].

    input  : Tensor that broadcasts with [m, n]; for beta 0 its elements do not matter, NaN too
    batch1, batch2 : Tensors [B, m, k] and [B, k, n]
    beta, alpha : numbers; a float makes integers float32
    out    : Tensor [m, n]
    raises : ShapeError where the sizes do not fit
    """
    product = bmm(batch1, batch2)
    return added("addbmm", input, beta, cast_to(sum(product, 0), dtype_of(product)), alpha)


@planned
def vecdot(x: TensorLike, y: TensorLike, axis: int = -1) -> Tensor:
    """The scalar products along `axis`: sum conj(x) * y.

    x, y   : Tensor of any dtype, broadcast together;     axis : int
    out    : of the dtype to which they are promoted, without the axis; int64 for integers and bools
    raises : ShapeError for shapes that do not broadcast, ValueRangeError for an axis outside
    """
    a, b = _pair(x, y)
    return sum((a.conj() if dtype_of(a).kind == "c" else a) * b, axis)


@planned
def bidense(input1: TensorLike, input2: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """out[.., o] = sum_ij input1[.., i] weight[o, i, j] input2[.., j] + bias[o]."""
    a, w = _pair(input1, weight)
    b = as_operand(input2)
    if w.ndim != 3 or not b.ndim:
        raise ShapeError("bidense: a weight of three axes and inputs of one or more are wanted",
                         note=f"weight: {list(w.shape)}, input2: {list(b.shape)}")
    o, i, j = w.shape
    left = dense(a, reshape(transpose(w, perm=(0, 2, 1)), shape=(o * j, i)))
    left = reshape(left, shape=tuple(a.shape[:-1]) + (o, j))
    out = sum(left * reshape(b, shape=tuple(b.shape[:-1]) + (1, j)), -1)
    return out if bias is None else out + bias


def _p_norm(difference, p, axis):
    """The p-norm; where all is zero its slope is 0, as torch has it."""
    size = difference if p == 2 and dtype_of(difference).kind != "c" else abs(difference)
    if p == 0:
        return sum(cast_to(not_equal(size, 0), dtype_of(size)), axis)
    if p == 1:
        return sum(size, axis)
    if p == float("inf"):
        return amax(size, axis)
    total = sum(size * size if p == 2 else pow(size, p), axis)
    still = less_equal(total, 0)
    safe = where(still, 1, total)
    return where(still, 0, sqrt(safe) if p == 2 else pow(safe, 1 / p))


@planned
def cdist(x1: TensorLike, x2: TensorLike, p: float = 2.0) -> Tensor:
    """The p-norm distances of all rows of x1[.., m, n] and x2[.., k, n] : [.., m, k]. raises : ArgumentError for p < 0"""
    if as_number("cdist", "p", p) < 0:
        raise ArgumentError(f"cdist: p is not negative, not {p}")
    a, b = _pair(x1, x2)
    _check_rows(a, b)
    alike = len(a.shape) == len(b.shape) and all(m is n or m == n for m, n in zip(a.shape[:-2], b.shape[:-2]))
    if p == 2 and alike and dtype_of(a).kind == "f":
        return row_distances(a, b)
    return _p_norm(_differences(a, b), p, -1)


def _differences(a, b):
    """a[.., i, :] - b[.., j, :] for all pairs of rows : [.., i, j, :]"""
    rows = reshape(a, shape=tuple(a.shape[:-1]) + (1, a.shape[-1]))
    return rows - reshape(b, shape=tuple(b.shape[:-2]) + (1,) + tuple(b.shape[-2:]))


def _check_rows(a, b):
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError("cdist: rows of matrices are wanted", note=f"x1: {list(a.shape)}, x2: {list(b.shape)}")


def _distances_infer(a, b):
    _check_rows(a, b)
    if a.dtype.kind != "f":
        raise DTypeError(f"cdist: does not take {a.dtype.name}", note=f"x1: {a}", hint="takes floats")
    require("==", a.shape[-1], b.shape[-1], lambda: ShapeError("cdist: rows of different sizes", note=f"x1: {a}, x2: {b}"))
    return AbstractTensor(a.dtype, (*a.shape[:-1], b.shape[-2]))


@composite(infer=_distances_infer)
def row_distances(a: Tensor, b: Tensor) -> Tensor:
    """The Euclidean distances of all rows of a[.., m, n] and b[.., k, n], floats with the same axes in front : [.., m, k]."""
    return _p_norm(_differences(a, b), 2, -1)


def _distances_spec(a, b):
    """Rows of a and of b, and the axes in front of both."""
    lead = letters(a.ndim - 2)
    return f"{lead}M_,{lead}N_->{lead}MN"


sbp_rule(row_distances, _distances_spec)


@bprop_rule(row_distances)
def row_distances_bprop(a, b, out, dout):
    """With w = dout / out, d a_i = sum_j w_ij (a_i - b_j): sums of rows and a product, as torch has it. The mean of a is
    taken off both, so that what is far from zero loses no digits."""
    dtype = dtype_of(a)
    if dtype.is_small:
        a, b, out, dout = (cast(x, dtype=dt.float32) for x in (a, b, out, dout))
    still = less_equal(out, 0)
    weight = where(still, 0, dout / where(still, 1, out))
    center = sum(a, -2, True) / dim_max(a.shape[-2], 1)
    a, b = a - center, b - center
    da = a * sum(weight, -1, True) - batch_matmul(weight, b)
    db = b * reshape(sum(weight, -2), shape=(*b.shape[:-1], 1)) - batch_matmul(weight, a, transpose_a=True)
    return cast_to(da, dtype), cast_to(db, dtype)


@planned
def pdist(input: TensorLike, p: float = 2.0) -> Tensor:
    """The p-norm distances of the pairs of rows of input[.., n, m], i < j : [.., n (n - 1) / 2]. raises : ShapeError"""
    x = as_operand(input)
    if x.ndim < 2:
        raise ShapeError(f"pdist: rows of a matrix are wanted, this has {x.ndim} axes")
    rows, columns = np.triu_indices(x.shape[-2], 1)
    return _p_norm(gather(x, rows, x.ndim - 2) - gather(x, columns, x.ndim - 2), p, -1)


@planned
def dist(input: TensorLike, other: TensorLike, p: float = 2) -> Tensor:
    """The p-norm of input - other, of all elements.

    input, other : Tensor or number; they broadcast and are promoted
    p      : float, 0 or more: 0 counts the elements that differ, inf takes the largest difference
    out    : Tensor []
    raises : ArgumentError for p below 0, ShapeError where the shapes do not broadcast, DTypeError for bool
    gradient: 0 where input equals other
    """
    if as_number("dist", "p", p) < 0:
        raise ArgumentError(f"dist: p is not negative, not {p}")
    a, b = _pair(input, other)
    return _p_norm(reshape(a - b, shape=(-1,)), p, 0)


@planned
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The matrix with x ** (N - 1), .., x, 1 as its columns (Vandermonde).

    x      : Tensor [M] of any dtype; integers and bools count as int64
    N      : int >= 1, the number of columns; None: M
    out    : [M, N]
    raises : ShapeError where x is no vector, ValueRangeError for an N below 1, ArgumentError for one that is no int
    """
    x = as_operand(x)
    if x.ndim != 1:
        raise ShapeError(f"vander: a one-axis tensor is wanted, this has {x.ndim} axes")
    count = x.shape[0] if N is None else as_known_int("vander", N)
    if count < 1:
        raise ValueRangeError(f"vander: N is at least 1, not {count}")
    x = cast(x, dtype=dt.int64) if dtype_of(x).kind in "bui" else x
    column = reshape(x, shape=(-1, 1))
    return concat([column ** k if k else ones_like(column) for k in range(count - 1, -1, -1)], 1)


@planned
def trapz(y: Tensor, x: Tensor | None = None, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral along `dim` by the trapezium rule: the sum of (y[i] + y[i + 1]) / 2 * (x[i + 1] - x[i]).

    y      : Tensor of one axis or more; integers and bools count as float32
    x      : the points: a Tensor [N], or one that broadcasts to y; None: they lie dx apart
    dx     : float;     dim : int
    out    : like y without the axis; 0 for one point
    raises : ShapeError where x has another number of points or y no axes, ValueRangeError for an axis outside
    """
    y = as_operand(y)
    if not y.ndim:
        raise ShapeError("trapz: a tensor of one or more axes is wanted")
    size = y.shape[normal_axis("trapz", dim, y.ndim)]
    if isinstance(size, int) and not size:
        return sum(y, dim) * dx
    means = (narrow(y, dim, 0, size - 1) + narrow(y, dim, 1, size - 1)) * 0.5
    if x is None:
        return sum(means, dim) * dx
    x = as_operand(x)
    axis = dim % y.ndim
    if x.ndim == 1:
        x = reshape(x, shape=tuple(-1 if a == axis else 1 for a in range(y.ndim)))
    count = x.shape[axis]
    require("==", count, size, lambda: ShapeError(f"trapz: {size} values at {count} points", note=f"y: {y.shape}, x: {x.shape}"))
    return sum(means * (narrow(x, axis, 1, count - 1) - narrow(x, axis, 0, count - 1)), dim)


# ---------------------------------------------------------------- parts of matrices

@planned
def matrix_band_part(x: Tensor, lower: Any, upper: Any) -> Tensor:
    """x[.., m, n] with zeros outside `lower` diagonals below and `upper` above the main one; negative: all of them."""
    x = as_operand(x)
    axes_of("matrix_band_part", x, 2)
    rows, columns = reshape(arange(x.shape[-2]), shape=(-1, 1)), arange(x.shape[-1])
    keep = greater_equal(rows, 0)
    for limit, distance in ((lower, rows - columns), (upper, columns - rows)):
        keep = logical_and(keep, logical_or(less(limit, 0), less_equal(distance, limit)))
    return where(keep, x, 0)


@planned
def ptp(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element minus the smallest along `axis` ("peak to peak").

    x        : Tensor of any dtype but bool and complex;     axis : int, tuple of ints, or None for all axes
    keepdims : bool; True: the axes stay, with the size 1
    raises   : DTypeError for bool and complex numbers, ShapeError for an empty axis, ValueRangeError for an axis outside
    """
    return amax(x, axis, keepdims) - amin(x, axis, keepdims)
