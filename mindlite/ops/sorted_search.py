"""What sorting finds: positions in sorted rows, the different elements of a vector in a result of its own length."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.dim import Dim
from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTensor
from ..mindir.primitive import eval_rule, expand_rule, infer_rule, primitive
from .arithmetic import minimum
from .axes import as_flag
from .basic import cast, reduce_sum, reshape
from .creation import arange, ones, zeros
from .define import as_operand, cast_to, dtype_of, promote_operands
from .indexing import gather_axis, scatter_elements_add
from .logic import equal, greater, greater_equal, logical_and, logical_not, logical_or, not_equal, where
from .lookup import gather_elements
from .sbp import letters, sbp_rule
from .scan import cumsum
from .sort import argsort
from .state import stop_gradient
from .structure import concat


def searchsorted(sorted_sequence: Tensor, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
                 sorter: Tensor | None = None) -> Tensor:
    """Where each value would be put into the sorted row: the number of elements that are less than it; NaN comes last.

    sorted_sequence : [.., n]; one row for all values, or as many rows as values[.., m] has
    right, side     : with right=True or side="right" equal elements count too
    sorter          : int[.., n], an order that sorts the rows, which need not be sorted then
    out             : int64, with out_int32 int32, of the shape of `values`
    raises          : ShapeError for rows that do not fit, ValueRangeError for another side, DTypeError for complex numbers
    """
    rows, values, right = as_operand(sorted_sequence), as_operand(values), as_flag("searchsorted", "right", right)
    if side not in (None, "left", "right") or right and side == "left":
        raise ValueRangeError(f"searchsorted: side is 'left' or 'right', not {side!r}", note=f"right: {right}")
    if sorter is not None:
        rows = gather_elements(rows, -1, sorter)
    if not rows.ndim:
        raise ShapeError("searchsorted: sorted_sequence has at least one axis")
    if rows.ndim > 1 and tuple(rows.shape[:-1]) != tuple(values.shape[:-1]):
        raise ShapeError("searchsorted: there are not as many rows as values want",
                         note=f"sorted_sequence: {list(rows.shape)}, values: {list(values.shape)}")
    rows, values = promote_operands((rows, values), {})[0]
    found = sorted_positions(rows, values, inclusive=right or side == "right")
    return cast(found, dtype=dt.int32) if as_flag("searchsorted", "out_int32", out_int32) else found


FEW = 16                                                     # elements of a row up to which all are compared


@primitive(traits={"composite"})
def sorted_positions(rows, values, *, inclusive):
    """How many elements of a sorted row are less than each value, with `inclusive` equal to it too; NaN comes last."""


@infer_rule(sorted_positions)
def _infer_sorted_positions(rows, values, *, inclusive):
    if rows.dtype.kind == "c":
        raise DTypeError("searchsorted: complex numbers have no order")
    return AbstractTensor(dt.int64, values.shape)


@expand_rule(sorted_positions)
def _expand_sorted_positions(rows, values, *, inclusive):
    few = isinstance(rows.shape[-1], int) and rows.shape[-1] <= FEW
    return (_counted if few else _bisected)(stop_gradient(rows), stop_gradient(values), _beyond(rows.dtype, inclusive))


def _beyond(dtype, inclusive):
    """(element, value) -> is the element behind where the value would be put? A NaN is greater than all numbers and equal to
    NaN, as in NumPy."""
    if dtype.kind != "f":
        return greater if inclusive else greater_equal
    if inclusive:
        return lambda element, value: logical_or(greater(element, value), logical_and(not_equal(element, element),
                                                                                     equal(value, value)))
    return lambda element, value: logical_or(greater_equal(element, value), not_equal(element, element))


@eval_rule(sorted_positions)
def _evaluate_sorted_positions(rows, values, *, inclusive):
    if rows.ndim == 1 and rows.dtype.isbuiltin == 1:
        return np.searchsorted(rows, values, "right" if inclusive else "left")
    return _expand_sorted_positions(Tensor.wrap(rows), Tensor.wrap(values), inclusive=inclusive).host_array


def _positions_spec(rows, values, **attrs):
    values = letters(len(values.shape))
    lead, row = "" if len(rows.shape) == 1 else values[:-1], letters(1, len(values))
    return f"{lead}{row},{values}->{values}"                 # what parts of a row count is added up


sbp_rule(sorted_positions, _positions_spec)


def _counted(rows, values, beyond):
    """How many elements of its row are not beyond each value; NaN is beyond all numbers."""
    each = reshape(values, shape=(*values.shape, 1))
    rows = rows if rows.ndim < 2 else reshape(rows, shape=(*rows.shape[:-1], 1, rows.shape[-1]))
    return reduce_sum(cast(logical_not(beyond(rows, each)), dtype=dt.int64), axis=-1, keepdims=False)


def _bisected(rows, values, beyond):
    """The same for long rows: halves of them are left out, from the largest power of two on."""
    size, begin = rows.shape[-1], 0
    if rows.ndim > 1:
        begin = reshape(arange(0, rows.size, size), shape=(*rows.shape[:-1], 1))
    elif isinstance(size, Dim):
        rows = concat((rows, zeros((1,), dtype_of(rows))), 0)                        # there may be none
    flat, position = reshape(rows, shape=(-1,)), zeros(values.shape, dt.int64)
    for power in reversed(range(size.bit_length() if isinstance(size, int) else 31)):
        further = position + (1 << power)
        element = gather_axis(flat, begin + minimum(further, size) - 1, axis=0)
        position = where(logical_and(further <= size, logical_not(beyond(element, values))), further, position)
    return position


def unique_with_pad(x: Tensor, pad_num: float) -> Any:
    """(the different elements of the vector x in the order of their first appearance, then pad_num; where each element
    is among them, int32): both as long as x.

    x       : Tensor of one axis, of any dtype but complex;     pad_num : number
    raises  : ShapeError for what is no vector, DTypeError for complex numbers
    """
    x = as_operand(x)
    if x.ndim != 1:
        raise ShapeError("unique_with_pad: a vector is wanted", note=f"x: {list(x.shape)}")
    count, order = x.shape[0], argsort(x)                           # equal elements stay in their order
    ranked = gather_axis(x, order, axis=0)
    new = cast(concat((ones((1,), dt.bool_), not_equal(ranked[1:], ranked[:-1])), 0)[:count], dtype=dt.int64)
    group = cumsum(new, 0) - 1                                      # of each element in sorted order
    positions, many = arange(count), reduce_sum(new, axis=0, keepdims=False)
    first = where(positions < many, _put(zeros((count,), dt.int64), group, where(equal(new, 1), order, 0)), count)
    appearance = argsort(first)
    rank = _put(zeros((count,), dt.int64), appearance, positions)      # of each group
    index = _put(zeros((count,), dt.int64), order, gather_axis(rank, group, axis=0))
    found = gather_axis(concat((x, x[:1]), 0), gather_axis(first, appearance, axis=0), axis=0)
    return where(positions < many, found, cast_to(as_operand(pad_num), dtype_of(x))), cast(index, dtype=dt.int32)


def _put(base, positions, values):
    return scatter_elements_add(base, positions, values, axis=0)
