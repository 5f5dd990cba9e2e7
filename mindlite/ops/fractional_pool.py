"""Fractional max pooling: windows at steps that are drawn, so that a picture shrinks by any ratio.

Along an axis of n positions with windows of k and m of them, and a drawn u in [0, 1):

    start[i] = floor((i + u) a) - floor(u a)   for i < m - 1,  a = (n - k) / (m - 1);     start[m - 1] = n - k

Source: Graham 2014, "Fractional Max-Pooling", section 2; pseudo-random, overlapping regions.
"""
from __future__ import annotations

from typing import Any

from ..common import dtype as dt
from ..common.annotations import Ints
from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..common.tensor import TensorLike
from .arithmetic import floor
from .basic import broadcast_to, reshape
from .creation import arange, full
from .define import as_operand, cast_to, dtype_of
from .random import uniform
from .lookup import gather_elements
from .reduction import argmax
from .structure import concat, expand_dims


def _several(name, what, value, axes, kind=int):
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    if len(values) != axes:
        raise ValueRangeError(f"{name}: {what} is a number or {axes} of them, not {value!r}")
    for number in values:
        if isinstance(number, bool) or not isinstance(number, (int, kind)) or not number > 0:
            raise ValueRangeError(f"{name}: {what} is above 0, not {value!r}")
    return values


def _starts(u, size, kernel, count):
    """int64[N, C, count]: where the windows of an axis begin. u : f[N, C]"""
    last = full((*u.shape, 1), size - kernel, dtype=dt.int64)
    if count == 1:
        return last
    step, u = (size - kernel) / (count - 1), expand_dims(cast_to(u, dt.float32), 2)
    position = cast_to(arange(count - 1), dt.float32)
    return concat((cast_to(floor((position + u) * step) - floor(u * step), dt.int64), last), 2)


def _pooled(name, axes, input, kernel_size, output_size, output_ratio, return_indices, samples, order, index_dtype):
    x = as_operand(input)
    if x.ndim == axes + 1:
        found = _pooled(name, axes, expand_dims(x, 0), kernel_size, output_size, output_ratio, True, samples, order, index_dtype)
        values, positions = (part[0] for part in found)
        return (values, positions) if return_indices else values
    if x.ndim != axes + 2:
        raise ShapeError(f"{name}: the input has {axes + 1} or {axes + 2} axes", note=f"input: {list(x.shape)}")
    sizes, kernel = x.shape[2:], _several(name, "kernel_size", kernel_size, axes)
    if output_size is None and output_ratio is None:
        raise ValueRangeError(f"{name}: output_size or output_ratio is wanted")
    if output_size is None:
        ratios = _several(name, "output_ratio", output_ratio, axes, float)
        if not all(0 < ratio < 1 for ratio in ratios):
            raise ValueRangeError(f"{name}: output_ratio is between 0 and 1, not {output_ratio!r}")
        counts = tuple(int(size * ratio) for size, ratio in zip(sizes, ratios))
    else:
        counts = _several(name, "output_size", output_size, axes)
    for size, k, count in zip(sizes, kernel, counts):
        if count + k - 1 > size:
            raise ValueRangeError(f"{name}: {count} windows of {k} do not fit into {size} positions")
    batch, channels = x.shape[:2]
    if samples is None:
        samples = uniform((batch, channels, axes), 0.0, 1.0)
    samples = as_operand(samples)
    if dtype_of(samples) not in (dt.float16, dt.float32, dt.float64):
        raise DTypeError(f"{name}: _random_samples are floats, not {dtype_of(samples).name}")
    if samples.ndim != 3 or samples.shape[0] not in (1, batch) or samples.shape[1] != channels or samples.shape[2] != axes:
        raise ValueRangeError(f"{name}: _random_samples are [N, C, {axes}]", note=f"{list(samples.shape)}")
    samples = broadcast_to(samples, shape=(batch, channels, axes))
    positions, lead = 0, (batch, channels)
    for axis, (size, k, count) in enumerate(zip(sizes, kernel, counts)):
        along = expand_dims(_starts(samples[:, :, order[axis]], size, k, count), 3) + arange(k)
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = count, k
        positions = positions * size + reshape(along, shape=(*lead, *shape))
    positions = reshape(positions, shape=(*lead, *counts, -1))
    flat = reshape(x, shape=(*lead, -1))
    windows = reshape(gather_elements(flat, 2, reshape(positions, shape=(*lead, -1))), shape=positions.shape)
    best = expand_dims(argmax(windows, -1), -1)
    values, found = (reshape(gather_elements(part, -1, best), shape=(*lead, *counts)) for part in (windows, positions))
    return (values, cast_to(found, index_dtype)) if return_indices else values


def fractional_max_pool2d(input: TensorLike, kernel_size: Ints, output_size: Ints | None = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Any = None) -> Any:
    """Maxima of windows whose steps are drawn.

    input          : [N, C, H, W] or [C, H, W]
    kernel_size    : int or two; output_size : int or two, or output_ratio : float or two in (0, 1)
    return_indices : give (maxima, their positions h * W + w, int64) too
    _random_samples : f[N, C, 2] or f[1, C, 2] in [0, 1), for the columns and the rows; drawn where it is None
    raises         : ShapeError, DTypeError, ValueRangeError
    source         : Graham 2014
    """
    return _pooled("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples,
                   (1, 0), dt.int64)


def fractional_max_pool3d(input: TensorLike, kernel_size: Ints, output_size: Ints | None = None, output_ratio: Any = None,
                          return_indices: bool = False, _random_samples: Any = None) -> Any:
    """The largest element of windows at pseudo-random positions, as fractional_max_pool2d, of volumes.

    input  : Tensor [N, C, D, H, W] or [C, D, H, W]
    kernel_size : int or three of them
    output_size : int or three of them, or None
    output_ratio : float or three of them in (0, 1), output_size over the size of input; read where output_size is None
    return_indices : bool; True gives the positions too, int64, counted in row-major order of a volume
    _random_samples : Tensor [N, C, 3] of numbers in [0, 1), in the order of the axes; drawn where it is None
    out    : Tensor [N, C, *output_size] or [C, *output_size], or (values, positions)
    raises : ValueRangeError where neither size nor ratio is given, windows do not fit, a ratio is outside, or samples have
             another shape
    source : Graham 2014, "Fractional max-pooling"
    """
    return _pooled("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples,
                   (0, 1, 2), dt.int64)
