"""x with updates combined into the elements at indices[.., k]: added, multiplied, the larger, written.

Equal indices all count.
"""
from __future__ import annotations

import math

from ..common import dtype as dt
from ..common.errors import ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .arithmetic import neg
from .axes import axes_of
from .basic import cast, reshape
from .define import as_operand, as_update, dtype_of
from .indexing import scatter_nd_add, scatter_nd_div, scatter_nd_max, scatter_nd_min, scatter_nd_mul, scatter_nd_update


def _operands(x, indices, updates):
    x, indices = as_operand(x), as_operand(indices)
    updates = as_update("scatter", updates, dtype_of(x))
    axes_of("scatter", indices, 1)
    depth = indices.shape[-1]
    wanted = tuple(indices.shape[:-1]) + tuple(x.shape[depth:])
    if tuple(updates.shape) != wanted:
        raise ShapeError("scatter: the updates do not fit the indices",
                         note=f"x: {list(x.shape)}, indices: {list(indices.shape)}, updates: {list(updates.shape)}",
                         hint=f"updates of shape {list(wanted)}")
    count = math.prod(indices.shape[:-1])                    # -1 would not do where a row has no elements
    return x, reshape(indices, shape=(count, depth)), reshape(updates, shape=(count, *x.shape[depth:]))


def tensor_scatter_add(input_x, indices, updates):
    """input_x with the updates added."""
    return scatter_nd_add(*_operands(input_x, indices, updates))


@planned
def tensor_scatter_sub(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """input_x less the updates at the positions of `indices`; where a position occurs twice, both are subtracted.

    input_x : Tensor of any dtype
    indices : int[.., K], each row the first K indices of a slice
    updates : Tensor [.., *slice], converted to the dtype of input_x
    raises  : IndexRangeError for an index outside, ShapeError for other updates, DTypeError for bool and for indices that are
              no integers
    """
    input_x, indices, updates = _operands(input_x, indices, updates)
    return scatter_nd_add(input_x, indices, neg(updates))


def tensor_scatter_update(input_x, indices, updates):
    """input_x with the updates written; of equal indices the last one counts."""
    return scatter_nd_update(*_operands(input_x, indices, updates))


@planned
def tensor_scatter_mul(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """input_x multiplied by the updates at the positions of `indices`; where a position occurs twice, by both.

    input_x : Tensor of any dtype
    indices : int[.., K], each row the first K indices of a slice
    updates : Tensor [.., *slice], converted to the dtype of input_x
    raises  : IndexRangeError for an index outside, ShapeError for other updates, DTypeError for indices that are no integers
    """
    return scatter_nd_mul(*_operands(input_x, indices, updates))


@planned
def tensor_scatter_div(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """input_x divided by the updates at the positions of `indices`; where a position occurs twice, by both.

    input_x : Tensor of any dtype
    indices : int[.., K], each row the first K indices of a slice
    updates : Tensor [.., *slice], converted to the dtype of input_x
    raises  : IndexRangeError for an index outside, ShapeError for other updates, DTypeError for indices that are no integers
    """
    input_x, indices, updates = _operands(input_x, indices, updates)
    dtype = dtype_of(input_x)
    if dtype.kind in "fc":
        return scatter_nd_div(input_x, indices, updates)
    divided = scatter_nd_div(cast(input_x, dtype=dt.float64), indices, cast(updates, dtype=dt.float64))
    return cast(divided, dtype=dtype)


@planned
def tensor_scatter_max(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """The larger of input_x and the updates at the positions of `indices`; where a position occurs twice, the largest.

    input_x : Tensor of any dtype but complex
    indices : int[.., K], each row the first K indices of a slice
    updates : Tensor [.., *slice], converted to the dtype of input_x
    raises  : IndexRangeError for an index outside, ShapeError for other updates, DTypeError for complex and for indices that are
              no integers
    gradient: shared evenly among equal largest elements
    """
    return scatter_nd_max(*_operands(input_x, indices, updates))


@planned
def tensor_scatter_min(input_x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """The smaller of input_x and the updates at the positions of `indices`; where a position occurs twice, the smallest.

    input_x : Tensor of any dtype but complex
    indices : int[.., K], each row the first K indices of a slice
    updates : Tensor [.., *slice], converted to the dtype of input_x
    raises  : IndexRangeError for an index outside, ShapeError for other updates, DTypeError for complex and for indices that are
              no integers
    gradient: shared evenly among equal smallest elements
    """
    return scatter_nd_min(*_operands(input_x, indices, updates))


COMBINE = {
    "Update": tensor_scatter_update, "Add": tensor_scatter_add, "Sub": tensor_scatter_sub, "Mul": tensor_scatter_mul,
    "Div": tensor_scatter_div, "Max": tensor_scatter_max, "Min": tensor_scatter_min}
