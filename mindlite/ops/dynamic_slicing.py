"""Slices whose start is known at run time only: x[:, t] with t a loop's counter, or a tensor without axes.

Like Python's, a start below 0 counts from the end. Eagerly a slice that leaves the tensor raises IndexRangeError;
a kernel moves it to the edge, so that there is no stray read.
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

import numpy as np

from ..common import dtype as dt
from ..common.errors import DTypeError, IndexRangeError, ShapeError
from ..common.tensor import TensorLike
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import as_expr, maximum as max_scalar, minimum as min_scalar, where as where_scalar
from .axes import axes_of
from .basic import batched, broadcast_to, cast, reshape
from .define import as_operand, cast_to
from .indexing import gather_nd, iota, scatter_nd_update
from .sbp import letters, sbp_rule
from .slicing import inside_slice, zeros_like_shape
from .structure import concat, expand_dims


@primitive
def dynamic_slice(x: TensorLike, *starts: Any, sizes: Sequence[int]):
    """out[i] = x[start + i] on every axis, the starts being integers known at run time (numbers or tensors i[]).

    sizes : a tuple of int or Dim. A start below 0 counts from the end; the slice is kept inside x.
    """


def _starts_infer(x, starts):
    if len(starts) != x.ndim:
        raise ShapeError(f"dynamic_slice: {len(starts)} starts for {x.ndim} axes", note=f"x: {x}")
    for start in starts:
        if isinstance(start, AbstractScalar) and start.type is int:
            continue
        if not isinstance(start, AbstractTensor) or start.shape != () or start.dtype.kind not in "iu":
            raise DTypeError(f"dynamic_slice: a start is an integer, not {start}")


@infer_rule(dynamic_slice)
def dynamic_slice_infer(x, *starts, sizes):
    _starts_infer(x, starts)
    for n, size in zip(x.shape, sizes):
        require("<=", size, n, lambda n=n, size=size: ShapeError(
            f"dynamic_slice: {size} elements of an axis of size {n}", note=f"x: {x}"))
    return AbstractTensor(x.dtype, sizes)


def _region(shape, starts, sizes):
    made = []
    for n, start, size in zip(shape, starts, sizes):
        first = int(start)
        if not -n <= first <= n - size:
            raise IndexRangeError(f"index {first} is outside an axis of size {n}" if size == 1 else
                                  f"dynamic_slice: {size} elements from {first} leave an axis of size {n}")
        first = first + n if first < 0 else first
        made.append(slice(first, first + size))
    return tuple(made)


def _first(start, n, size):
    start = as_expr(start)
    return max_scalar(min_scalar(where_scalar(start < 0, start + n, start), n - size), 0)


@eval_rule(dynamic_slice)
def dynamic_slice_eval(x, *starts, sizes):
    return np.ascontiguousarray(x[_region(x.shape, starts, sizes)]).reshape(sizes)


@kernel_rule(dynamic_slice)
def dynamic_slice_kernel(x, *starts, out, sizes):
    return lambda *i: x[tuple(_first(s, n, size) + k for s, n, size, k in zip(starts, x.shape, sizes, i))]


@bprop_rule(dynamic_slice)
def dynamic_slice_bprop(x, *starts, out, dout, sizes):
    return (dynamic_update(zeros_like_shape(x), dout, *starts),) + (None,) * len(starts)


@jvp_rule(dynamic_slice)
def dynamic_slice_jvp(primals, tangents, out, *, sizes):
    return dynamic_slice(tangents[0], *primals[1:], sizes=sizes)


def _start_column(starts, dims, shape, sizes, size):
    """The starts of each batch item as int64[size, k], negative ones counted from the end and kept inside."""
    columns = []
    for start, d, n, count in zip(starts, dims, shape, sizes):
        start = cast_to(as_operand(start, dt.int64), dt.int64)
        start = start if d is not None else broadcast_to(reshape(start, shape=(1,)), shape=(size,))
        start = start + cast(start < 0, dtype=dt.int64) * as_operand(n, dt.int64)
        columns.append(reshape(start, shape=(size, 1)))
    return columns


def _grid(starts, dims, shape, sizes, size):
    """For batched starts: indices int64[size, sizes.., 1 + k] of every element of every item's slice."""
    rank, grid = len(sizes), [reshape(iota(size), shape=(size,) + (1,) * len(sizes))]
    for a, (column, count) in enumerate(zip(_start_column(starts, dims, shape, sizes, size), sizes)):
        line = column + iota(count)
        grid.append(reshape(line, shape=(size,) + tuple(count if b == a else 1 for b in range(rank))))
    full = (size,) + tuple(sizes)
    return concat([expand_dims(broadcast_to(g, shape=full), rank + 1) for g in grid], rank + 1)


@vmap_rule(dynamic_slice)
def dynamic_slice_vmap(args, dims, size, *, sizes):
    x, starts = batched(args[0], dims[0], size), args[1:]
    if all(d is None for d in dims[1:]):
        return dynamic_slice(x, 0, *starts, sizes=(size,) + sizes), 0
    return gather_nd(x, _grid(starts, dims[1:], x.shape[1:], sizes, size)), 0


@primitive
def dynamic_update(x: TensorLike, value: TensorLike, *starts: Any):
    """x with the slice of value's shape at `starts` replaced by value.

    x      : Tensor of any dtype
    value  : Tensor of x's dtype, with as many axes and no larger
    starts : an int, or an int Tensor [], for each axis; one below 0 counts from the end, and the slice is kept inside x
    out    : Tensor like x
    raises : ShapeError where value or the number of starts does not fit, DTypeError for a start that is no integer
    """


@infer_rule(dynamic_update)
def dynamic_update_infer(x, value, *starts):
    axes_of("dynamic_update", x), axes_of("dynamic_update", value)
    _starts_infer(x, starts)
    if value.ndim != x.ndim:
        raise ShapeError("dynamic_update: the value has other axes than x", note=f"x: {x}, value: {value}")
    for n, size in zip(x.shape, value.shape):
        require("<=", size, n, lambda n=n, size=size: ShapeError(
            f"dynamic_update: {size} elements of an axis of size {n}", note=f"x: {x}, value: {value}"))
    return x


@eval_rule(dynamic_update)
def dynamic_update_eval(x, value, *starts):
    out = np.array(x)
    out[_region(x.shape, starts, value.shape)] = value
    return out


@kernel_rule(dynamic_update)
def dynamic_update_kernel(x, value, *starts, out):
    def element(*index):
        first = tuple(_first(s, n, size) for s, n, size in zip(starts, x.shape, value.shape))
        inside, inner = inside_slice(index, value.shape, first, (1,) * len(index))
        return value[()] if inside is None else where_scalar(inside, value[inner], x[index])
    return element


@bprop_rule(dynamic_update)
def dynamic_update_bprop(x, value, *starts, out, dout):
    return (dynamic_update(dout, zeros_like_shape(value), *starts),
            dynamic_slice(dout, *starts, sizes=tuple(value.shape))) + (None,) * len(starts)


@jvp_rule(dynamic_update)
def dynamic_update_jvp(primals, tangents, out):
    dx, dvalue = (zeros_like_shape(p) if t is None else t for p, t in zip(primals[:2], tangents[:2]))
    return dynamic_update(dx, dvalue, *primals[2:])


@vmap_rule(dynamic_update)
def dynamic_update_vmap(args, dims, size):
    x, value = (batched(a, d, size) for a, d in zip(args[:2], dims[:2]))
    if all(d is None for d in dims[2:]):
        return dynamic_update(x, value, 0, *args[2:]), 0
    return scatter_nd_update(x, _grid(args[2:], dims[2:], x.shape[1:], value.shape[1:], size), value), 0


@primitive(traits={"library"})
def write_slice(x, value, *starts):
    """dynamic_update in the memory of x, which nothing else reads: what `graph_kernel.accumulate` makes of it in loops."""


for _table, _rule in ((infer_rule, dynamic_update_infer), (eval_rule, dynamic_update_eval),
                      (kernel_rule, dynamic_update_kernel), (bprop_rule, dynamic_update_bprop),
                      (jvp_rule, dynamic_update_jvp), (vmap_rule, dynamic_update_vmap)):
    _table(write_slice)(_rule)


def _covered(shape, sizes):
    return "".join(name if n == m else "_" for name, n, m in zip(letters(len(shape)), shape, sizes))


def _dynamic_slice_spec(x, *starts, sizes):
    axes = _covered(x.shape, sizes)
    return ",".join([axes] + [""] * len(starts)) + "->" + axes


def _dynamic_update_spec(x, value, *starts):
    axes = _covered(x.shape, value.shape)
    return ",".join([axes, axes] + [""] * len(starts)) + "->" + axes


sbp_rule(dynamic_slice, _dynamic_slice_spec, linear=[{0}], local=lambda attrs, shapes: {"sizes": tuple(shapes[0])})
for _update in (dynamic_update, write_slice):
    sbp_rule(_update, _dynamic_update_spec, linear=[{0, 1}])
