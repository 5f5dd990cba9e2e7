"""Pooling to a given size: an axis of n elements is cut into `count` parts, each replaced by its maximum or mean.

    part i of count over n elements:  i * n // count  ..  ceil((i + 1) * n / count)          (overlapping by at most one)

The parts have different lengths. They are read as rows of one length, in which a shorter part repeats its last element:
that changes no maximum, and not the position of the first one.

Source: PyTorch's and MindSpore's definition of adaptive pooling.
"""
from __future__ import annotations

import math
from typing import Any

from ..common.errors import ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_flag, as_size
from .basic import reduce_sum, reshape
from .creation import arange
from .define import as_operand, cast_to
from .logic import where
from .lookup import gather
from .moments import reduce_mean
from .nn_pool import check_means
from .reduction import max as max_with_index
from .structure import permute


def _wanted(name, x, output_size, axes):
    """The sizes of the result's last `axes` axes; None keeps the one of x."""
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}: a tensor of {axes + 1} or {axes + 2} axes is wanted", note=f"input: {list(x.shape)}")
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    if len(wanted) != axes:
        raise ShapeError(f"{name}: output_size is an int or {axes} of them", note=repr(output_size))
    sizes = tuple(n if w is None else as_size(name, w) for w, n in zip(wanted, x.shape[-axes:]))
    if any(isinstance(n, int) and n < 1 for n in sizes):
        raise ValueRangeError(f"{name}: a size of the result is at least 1", note=repr(output_size))
    return sizes


def _parts(n, count):
    """(first element of each part [count], numbers of the elements of each part [count, longest])"""
    whole = isinstance(n, int) and n % count == 0
    longest = n // count if whole else (n + count - 1) // count + (count > 1)
    first, last = arange(count) * n // count, ((arange(count) + 1) * n + (count - 1)) // count - 1
    each = reshape(first, shape=(-1, 1)) + arange(longest)
    limit = reshape(last, shape=(-1, 1))
    return first, longest, where(each < limit, each, limit)


def _adaptive_max(name, input, output_size, axes, return_indices):
    x, return_indices = as_operand(input), as_flag(name, "return_indices", return_indices)
    wanted, sizes, lead = _wanted(name, x, output_size, axes), tuple(x.shape[-axes:]), x.ndim - axes
    parts = [_parts(n, w) for n, w in zip(sizes, wanted)]
    for axis, (_, _, rows) in enumerate(parts):                 # [.., out, part, out, part, ..]
        x = gather(x, rows, lead + 2 * axis)
    order = [lead + 2 * a for a in range(axes)] + [lead + 2 * a + 1 for a in range(axes)]
    x = permute(x, (*range(lead), *order))
    x = reshape(x, shape=(*x.shape[:lead + axes], math.prod(longest for _, longest, _ in parts)))
    values, inside = max_with_index(x, -1)
    if not return_indices:
        return values
    position, step = 0, 1
    for axis, (first, longest, _) in reversed(list(enumerate(parts))):
        position = position + (reshape(first, shape=(-1,) + (1,) * (axes - 1 - axis)) + inside % longest) * step
        inside, step = inside // longest, step * sizes[axis]
    return values, position


@planned
def adaptive_max_pool1d(input: TensorLike, output_size: int, return_indices: bool = False) -> Any:
    """The maximum of each of output_size parts of input[.., L]; with return_indices also their positions, int64."""
    return _adaptive_max("adaptive_max_pool1d", input, output_size, 1, return_indices)


@planned
def adaptive_max_pool2d(input: TensorLike, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum of each part of the plane input[.., H, W]; with return_indices also their positions h * W + w.

    output_size : an int or two; None keeps a size;   raises : ShapeError unless input has three or four axes
    """
    return _adaptive_max("adaptive_max_pool2d", input, output_size, 2, return_indices)


@planned
def adaptive_max_pool3d(input: TensorLike, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each part of a volume that is cut into output_size parts, of nearly equal sizes.

    input  : Tensor [N, C, D, H, W] or [C, D, H, W]
    output_size : int or three of them, 1 or more; None keeps a size
    return_indices : bool; True gives the positions too, int64, counted in row-major order of a volume
    out    : Tensor [N, C, *output_size] or [C, *output_size], or (values, positions)
    raises : ShapeError for another rank or number of sizes, ValueRangeError for a size below 1
    """
    return _adaptive_max("adaptive_max_pool3d", input, output_size, 3, return_indices)


def _part_means(x, axis, count):
    """The means of the `count` parts of an axis."""
    n = x.shape[axis]
    if isinstance(n, int) and n % count == 0:
        parts = reshape(x, shape=(*x.shape[:axis], count, n // count, *x.shape[axis + 1:]))
        return reduce_mean(parts, axis=(axis + 1,), keepdims=False)
    _, longest, rows = _parts(n, count)
    last = reshape(((arange(count) + 1) * n + (count - 1)) // count - 1, shape=(-1, 1))
    sizes = last - reshape(arange(count) * n // count, shape=(-1, 1)) + 1
    over = (-1,) + (1,) * (x.ndim - axis - 1)
    inside = reshape(arange(longest), shape=(1, -1)) < sizes
    spread = where(reshape(inside, shape=(count, longest) + over[1:]), gather(x, rows, axis), 0)
    return reduce_sum(spread, axis=(axis + 1,), keepdims=False) / cast_to(reshape(sizes, shape=over), x.dtype)


def _adaptive_mean(name, input, output_size, axes):
    x = as_operand(input)
    check_means(name, x)
    wanted = _wanted(name, x, output_size, axes)
    if any(isinstance(n, int) and not n for n in x.shape[-axes:]):
        raise ShapeError(f"{name}: an axis without elements has no means")
    if wanted == (1,) * axes:
        return reduce_mean(x, axis=tuple(range(-axes, 0)), keepdims=True)
    for axis, count in zip(range(x.ndim - axes, x.ndim), wanted):
        n = x.shape[axis]
        if count is not n and count != n:
            x = _part_means(x, axis, count)
    return x


@planned
def adaptive_avg_pool1d(input: TensorLike, output_size: int) -> Tensor:
    """The mean of each of output_size parts of input[.., L]."""
    return _adaptive_mean("adaptive_avg_pool1d", input, output_size, 1)


@planned
def adaptive_avg_pool2d(input: TensorLike, output_size: Any) -> Tensor:
    """The plane of input[.., H, W] cut into output_size parts (an int or two, None keeps a size), each replaced by its
    mean."""
    return _adaptive_mean("adaptive_avg_pool2d", input, output_size, 2)


@planned
def adaptive_avg_pool3d(input: TensorLike, output_size: Any) -> Tensor:
    """The mean of each part of the volume input[.., D, H, W]; output_size: an int or three, None keeps a size."""
    return _adaptive_mean("adaptive_avg_pool3d", input, output_size, 3)
