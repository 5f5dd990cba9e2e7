"""Pooling over volumes [N, C, D, H, W], which is pooling over the pictures and then along the depth.

A maximum of maxima, and a mean of means of equally many, is the maximum and the mean of the whole window.
"""
from __future__ import annotations

from typing import Any

from ..common.annotations import Ints
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_known_int
from .basic import reshape
from .define import as_operand
from .lookup import gather_elements
from .nn_pool import avg_pool2d, max_pool2d


def _triple(name, value):
    made = tuple(value) if isinstance(value, (tuple, list)) else (value,) * 3
    made = made[2:] if len(made) == 5 else made
    if len(made) != 3:
        raise ArgumentError(f"{name}: an int or three of them are wanted", note=repr(value))
    return made


def _sides(name, padding):
    """Six paddings: (front, back, top, bottom, left, right)."""
    made = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * 6
    return tuple(p for p in made for _ in range(2)) if len(made) == 3 else made


def _settings(name, x, kernel_size, stride, padding, pad_mode):
    """(x, kernel, stride, pad_mode, sides of depth, sides of a picture)"""
    x = as_operand(x)
    if x.ndim != 5:
        raise ShapeError(f"{name}: a tensor [N, C, D, H, W] is wanted", note=f"x: {list(x.shape)}")
    kernel = _triple(name, kernel_size)
    step = kernel if stride is None else _triple(name, stride)
    mode, sides = str(pad_mode).lower(), _sides(name, padding)
    padded = any(sides)                                     # max_pool2d refuses it where the mode computes it
    return x, kernel, step, mode, (*sides[:2], 0, 0) if padded else 0, sides[2:] if padded else 0


def _as_pictures(x):
    n, c, d, h, w = x.shape
    return reshape(x, shape=(n, c * d, h, w))


@planned
def max_pool3d(x: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
               ceil_mode: bool = False, return_indices: bool = False, *, pad_mode: str = "pad") -> Any:
    """The maximum of each window of a volume; NaN wins.

    x              : float[N, C, D, H, W]
    kernel_size    : int or three (depth, height, width);     stride : the same, from one window to the next, None for
                     kernel_size
    padding        : of -inf: an int, three (depth, height, width) or six of them, at most half of the window
    dilation       : int or three, from one element of the window to the next
    ceil_mode      : bool; True: last windows that are not full count, too
    return_indices : bool; True: also the positions (d * H + h) * W + w of the maxima, int64, the first of equals
    pad_mode       : "pad", "same" (as many windows as size / stride, rounded up; the padding is computed) or "valid" (none)
    raises         : DTypeError for what is no float, ShapeError where no window fits or x has other axes, ValueRangeError,
                     ArgumentError
    """
    x, kernel, step, mode, depth, plane = _settings("max_pool3d", x, kernel_size, stride, padding, pad_mode)
    spread = _triple("max_pool3d", dilation)
    n, c, d, h, w = x.shape
    flat = max_pool2d(_as_pictures(x), kernel[1:], step[1:], plane, spread[1:], return_indices, ceil_mode, pad_mode=mode)
    values = flat[0] if return_indices else flat
    oh, ow = values.shape[2:]
    deep = max_pool2d(reshape(values, shape=(n, c, d, oh * ow)), (kernel[0], 1), (step[0], 1), depth, (spread[0], 1),
                      return_indices, ceil_mode, pad_mode=mode)
    if not return_indices:
        return reshape(deep, shape=(n, c, deep.shape[2], oh, ow))
    values, positions = deep
    shape = (n, c, values.shape[2], oh, ow)
    lines = reshape(positions, shape=(n, c, shape[2] * oh * ow))
    inner = gather_elements(reshape(flat[1], shape=(n, c, d * oh * ow)), 2, lines)
    return reshape(values, shape=shape), reshape(lines // (oh * ow) * (h * w) + inner, shape=shape)


@planned
def avg_pool3d(input_x: TensorLike, kernel_size: Ints = 1, stride: Ints | None = 1, padding: Ints = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int = 0, *, pad_mode: str = "pad") -> Tensor:
    """The mean of each window of a volume.

    input_x : float Tensor [N, C, D, H, W]
    kernel_size, stride : int or three of them, 1 or more; stride None is kernel_size
    padding : int, three or six of them, 0 or more: zeros at the ends, with pad_mode "pad"
    ceil_mode : bool; True counts a last window that begins inside the axis and ends outside
    count_include_pad : bool; whether zeros of the padding count
    divisor_override : int; if not 0, sums are divided by it instead of by the count
    pad_mode : "pad", "same" (as many windows as size / stride, rounded up) or "valid" (no padding)
    out    : Tensor [N, C, OD, OH, OW], each size (n + before + after - kernel) // stride + 1
    raises : ShapeError for another rank or a window larger than the padded axis, ValueRangeError for other settings, DTypeError
             for integers
    """
    divisor_override = as_known_int("avg_pool3d", divisor_override or 0)
    if divisor_override < 0:
        raise ValueRangeError(f"avg_pool3d: divisor_override is not negative, not {divisor_override}")
    x, kernel, step, mode, depth, plane = _settings("avg_pool3d", input_x, kernel_size, stride, padding, pad_mode)
    n, c, d, _, _ = x.shape
    flat = avg_pool2d(_as_pictures(x), kernel[1:], step[1:], plane, ceil_mode, count_include_pad,
                      1 if divisor_override else 0, pad_mode=mode)
    oh, ow = flat.shape[2:]
    deep = avg_pool2d(reshape(flat, shape=(n, c, d, oh * ow)), (kernel[0], 1), (step[0], 1), depth, ceil_mode,
                      count_include_pad, divisor_override, pad_mode=mode)
    return reshape(deep, shape=(n, c, deep.shape[2], oh, ow))
