"""What convolution and pooling share: pairs of numbers, padding by mode, sizes of outputs, windows of an ndarray.

Along one axis: out = (n + before + after - (k - 1) * dilation - 1) // stride + 1, all of them ints or Dims.
"""
import numpy as np

from ..common.dim import Dim, compare, dim_max, dim_min
from ..common.errors import ArgumentError, Refusal, ShapeError, ValueRangeError
from ..mindir.constraints import require
from .axes import as_size


def pair(name, what, value):
    """An int or a tuple of two (or MindSpore's four, N and C leading) as a tuple of two ints.

    raises : ArgumentError for anything else, ValueRangeError below 1
    """
    if isinstance(value, (tuple, list)):
        made = tuple(as_size(name, v) for v in value)
        made = made[2:] if len(made) == 4 else made * 2 if len(made) == 1 else made
    else:
        made = (as_size(name, value),) * 2
    if any(isinstance(v, Dim) for v in made):
        raise Refusal(f"{name}: {what} is known at run time only")
    if len(made) != 2:
        raise ArgumentError(f"{name}: {what} is an int or two of them", note=repr(value))
    if min(made) < 1:
        raise ValueRangeError(f"{name}: {what} is at least 1", note=repr(value))
    return made


def padding_of(name, pad_mode, padding, sizes, kernel, stride, dilation):
    """(top, bottom, left, right) for the spatial `sizes`: "valid" none, "same" so that out = ceil(n / stride), "pad"
    as given.

    padding : an int, (vertical, horizontal) or all four
    """
    given = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * 4
    given = tuple(as_size(name, p) for p in given)
    given = (given[0], given[0], given[1], given[1]) if len(given) == 2 else given * 4 if len(given) == 1 else given
    if len(given) != 4:
        raise ArgumentError(f"{name}: padding is an int, two or four of them", note=repr(padding))
    if any(compare("<", p, 0) for p in given):
        raise ValueRangeError(f"{name}: padding is not negative", note=repr(padding))
    mode = str(pad_mode).lower()
    if mode not in ("same", "valid", "pad"):
        raise ValueRangeError(f"{name}: pad_mode is 'same', 'valid' or 'pad', not {pad_mode!r}")
    if mode == "pad":
        return given
    if any(isinstance(p, int) and p != 0 or not isinstance(p, int) for p in given):
        raise ValueRangeError(f"{name}: padding goes with pad_mode 'pad', not {pad_mode!r}", hint='pad_mode="pad"')
    if mode == "valid":
        return (0, 0, 0, 0)
    made = []
    for n, k, s, d in zip(sizes, kernel, stride, dilation):
        total = dim_max(((n + s - 1) // s - 1) * s + (k - 1) * d + 1 - n, 0)
        made += [total // 2, total - total // 2]
    return tuple(made)


def out_size(name, n, k, stride, before, after, dilation=1, ceil_mode=False):
    """The number of windows along an axis. raises : ShapeError if the window is larger than the padded axis.

    ceil_mode : a last window that begins inside the axis or its front padding counts although it ends outside
    """
    room = n + before + after - (k - 1) * dilation - 1
    require(">=", room, 0, lambda: ShapeError(
        f"{name}: a window of {(k - 1) * dilation + 1} on an axis of size {n} with padding {before} and {after}"))
    if not ceil_mode or stride == 1:
        return room // stride + 1
    return dim_min((room + stride - 1) // stride, (n + before - 1) // stride) + 1


def pad_spatial(x, padding, value=0, extra=(0, 0)):
    """The ndarray x[N, C, H, W] with its last two axes padded; `extra` more at the bottom and right."""
    top, bottom, left, right = padding
    ends = (top, bottom + extra[0]), (left, right + extra[1])
    return np.pad(x, ((0, 0), (0, 0)) + ends, constant_values=value) if any(map(any, ends)) else x


def windows_of(padded, kernel, stride, dilation, sizes):
    """A view [N, C, KH, KW, OH, OW] of the ndarray `padded`: element (kh, kw) of window (oh, ow)."""
    (kh, kw), (sh, sw), (dh, dw), (oh, ow) = kernel, stride, dilation, sizes
    n, c, h, w = padded.strides
    return np.lib.stride_tricks.as_strided(padded, padded.shape[:2] + (kh, kw, oh, ow),
                                           (n, c, h * dh, w * dw, h * sh, w * sw),
                                           writeable=False)


def missing(n, k, stride, before, after, dilation, count):
    """How many elements the last of `count` windows reaches beyond the padded axis (ceil_mode)."""
    return max(0, (count - 1) * stride + (k - 1) * dilation + 1 - (n + before + after))
