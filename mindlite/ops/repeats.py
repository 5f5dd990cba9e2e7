"""Slices that are repeated in place, all as often or each as often as its own number says.

    repeat_interleave([a, b], 2)  ->  [a, a, b, b]          repeat_interleave([a, b], [2, 1])  ->  [a, a, b]
"""
from __future__ import annotations

from typing import Any

from ..common import dtype as dt
from ..common.dim import compare
from ..common.errors import DTypeError, ShapeError
from ..common.tensor import Tensor
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from ..mindir.primitive import planned
from .axes import as_size
from .basic import broadcast_to, cast, reduce_sum, reshape
from .creation import arange
from .define import as_operand, dtype_of
from .indexing import bounded_indices
from .lookup import gather
from .scalar import tensor_to_scalar
from .scan import cumsum
from .sorted_search import searchsorted
from .structure import ravel, real_axis, repeat_slices, stack


@planned
def repeat_interleave(input: Tensor, repeats: Any, axis: int | None = None, output_size: int | None = None) -> Tensor:
    """Each slice along `axis` repeated in place: [a, b] -> [a, a, b, b].

    input       : Tensor of any dtype
    repeats     : int >= 0, the same for all slices; list, tuple or integer Tensor [n] with a number for each of the n slices, or
                  [1] with one for all
    axis        : int, or None for the elements in row-major order, which gives a vector
    output_size : int, the sum of `repeats` [n], where it is known: it is not computed then
    out         : like input, along `axis` of the sum of the repeats
    raises      : ValueRangeError for a negative int or an axis outside, ArgumentError for repeats that are no int,
                  DTypeError for a Tensor of no integers, ShapeError for another number of them, IndexRangeError for a
                  negative one and for another sum than output_size
    """
    input, axis = (ravel(as_operand(input)), 0) if axis is None else (as_operand(input), axis)
    axis = real_axis("repeat_interleave", axis, input.ndim)
    if not isinstance(repeats, (list, tuple, Tensor, AnfNode)):
        return repeat_slices(input, as_size("repeat_interleave", repeats), axis)
    each = stack([as_operand(count) for count in repeats]) if isinstance(repeats, (list, tuple)) else as_operand(repeats)
    if dtype_of(each).kind not in "iu":
        raise DTypeError(f"repeat_interleave: repeats are integers, not {dtype_of(each).name}")
    n = input.shape[axis]
    error = ShapeError("repeat_interleave: one number of repeats for each slice, or one for all",
                       note=f"{n} slices, repeats: {list(each.shape)}")
    if each.ndim > 1:
        raise error
    each = reshape(cast(each, dtype=dt.int64), shape=(-1,))
    if compare("==", each.shape[0], 1) is not True:
        require("==", each.shape[0], n, lambda: error)
    each = broadcast_to(each, shape=(n,))
    each = bounded_indices(each, what="repeat_interleave: the number of repeats", low=0, high=None)
    if output_size is None:
        total = reduce_sum(each)
        size: Any = as_size("repeat_interleave", tensor_to_scalar(total) if isinstance(total, AnfNode) else int(total))
    else:
        size = as_size("repeat_interleave", output_size)
        each = each + 0 * bounded_indices(reduce_sum(each), what="repeat_interleave: the sum of repeats", low=size, high=size + 1)
    return gather(input, searchsorted(cumsum(each, 0), arange(size), right=True), axis)
