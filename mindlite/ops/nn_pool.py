"""Pooling over windows: max, average, and average to a given size.

Averaging is linear: `avg_pooling` and `avg_pooling_backward` are each other's transpose. The gradient of max goes to
the first maximum of each window, as in torch; `max_pooling_index` names it, so that any order of derivative works.
All primitives take the same attributes: kernel_size, stride, padding (top, bottom, left, right), dilation, ceil_mode.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Ints
from ..common.dim import compare
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, planned, primitive, vmap_rule
from ..mindir.scalar import (cast as cast_scalar, maximum as max_scalar, minimum as min_scalar, reduce,
                             where as where_scalar)
from .axes import as_flag, as_known_int, axes_of
from .basic import batched, reshape
from .define import as_operand
from .indexing import gather_elements_axis
from .sbp import sbp_rule
from .windows import missing, out_size, pad_spatial, padding_of, pair, windows_of


# ---------------------------------------------------------------- what all share

def _sizes(shape, kernel_size, stride, padding, dilation, ceil_mode):
    return tuple(out_size("pool2d", n, k, s, padding[2 * a], padding[2 * a + 1], d, ceil_mode)
                 for a, (n, k, s, d) in enumerate(zip(shape[2:], kernel_size, stride, dilation)))


def _check(x):
    if x.ndim != 4:
        raise ShapeError("pool2d: a tensor of four axes is wanted", note=f"x: {x}")
    if x.dtype.kind not in "f":
        raise DTypeError(f"pool2d: does not take {x.dtype.name}", note=f"x: {x}")


def _infer(x, *, kernel_size, stride, padding, dilation, ceil_mode):
    _check(x)
    return AbstractTensor(x.dtype, x.shape[:2] + _sizes(x.shape, kernel_size, stride, padding, dilation, ceil_mode))


def _infer_backward(dout, input_size, kernel_size, stride, padding, dilation, ceil_mode):
    _check(dout)
    wanted = _sizes((0, 0) + tuple(input_size), kernel_size, stride, padding, dilation, ceil_mode)
    for have, want in zip(dout.shape[2:], wanted):
        require("==", have, want, lambda: ShapeError(f"pool2d: no input of size {list(input_size)} has this output",
                                                     note=f"dout: {dout}"))
    return AbstractTensor(dout.dtype, dout.shape[:2] + tuple(input_size))


def _taps(x, value, sizes, kernel_size, stride, padding, dilation):
    """The windows of the ndarray x, [N, C, KH, KW, OH, OW]; `value` stands outside x."""
    extra = tuple(missing(n, k, s, padding[2 * a], padding[2 * a + 1], d, count) for a, (n, k, s, d, count) in
                  enumerate(zip(x.shape[2:], kernel_size, stride, dilation, sizes)))
    return windows_of(pad_spatial(x, padding, value, extra), kernel_size, stride, dilation, sizes)


def _scatter_taps(taps, input_size, kernel_size, stride, padding, dilation):
    """The transpose of _taps: [N, C, KH, KW, OH, OW] added up at their places in [N, C, H, W]."""
    n, c, _, _, oh, ow = taps.shape
    (h, w), (top, bottom, left, right), (sh, sw), (dh, dw) = input_size, padding, stride, dilation
    high = max(h + top + bottom, (oh - 1) * sh + (kernel_size[0] - 1) * dh + 1)
    wide = max(w + left + right, (ow - 1) * sw + (kernel_size[1] - 1) * dw + 1)
    out = np.zeros((n, c, high, wide), taps.dtype)
    for i in range(kernel_size[0]):
        for j in range(kernel_size[1]):
            out[:, :, i * dh:i * dh + (oh - 1) * sh + 1:sh, j * dw:j * dw + (ow - 1) * sw + 1:sw] += taps[:, :, i, j]
    return np.ascontiguousarray(out[:, :, top:top + h, left:left + w])


def _place(y, z, i, j, stride, padding, dilation):
    return y * stride[0] + i * dilation[0] - padding[0], z * stride[1] + j * dilation[1] - padding[2]


def _inside(h, w, sizes):
    return (h >= 0) & (h < sizes[0]) & (w >= 0) & (w < sizes[1])


def _covering(h, w, sizes, stride, padding, dilation):
    """For tap (i, j): is there a window (y, z) whose tap lies on (h, w), and which."""
    def window(i, j):
        y, z = h + padding[0] - i * dilation[0], w + padding[2] - j * dilation[1]
        hit = (y % stride[0] == 0) & (z % stride[1] == 0)
        y, z = y // stride[0], z // stride[1]
        return hit & _inside(y, z, sizes), y, z
    return window


def _merge_batch(prim):
    """The vmap rule of an operator whose operands are all [N, C, ..]: the batch becomes part of N."""
    @vmap_rule(prim)
    def rule(args, dims, size, **attrs):
        args = [batched(a, d, size) for a, d in zip(args, dims)]
        out = prim(*(reshape(a, shape=(size * a.shape[1],) + tuple(a.shape[2:])) for a in args), **attrs)
        return reshape(out, shape=(size, out.shape[0] // size) + tuple(out.shape[1:])), 0


# ---------------------------------------------------------------- max

@primitive(traits={"library"})
def max_pooling(x, *, kernel_size, stride, padding, dilation, ceil_mode):
    """The maximum of each window of x[N, C, H, W]; padding counts as -inf, NaN wins."""


@primitive
def max_pooling_index(x, *, kernel_size, stride, padding, dilation, ceil_mode):
    """The place h * W + w of the first maximum of each window, int64."""


@primitive(traits={"library"})
def max_pooling_backward(x, dout, *, kernel_size, stride, padding, dilation, ceil_mode):
    """The gradient of max_pooling: each dout added at the first maximum of its window."""


infer_rule(max_pooling)(_infer)


@infer_rule(max_pooling_index)
def max_pooling_index_infer(x, **attrs):
    return AbstractTensor(dt.int64, _infer(x, **attrs).shape)


@infer_rule(max_pooling_backward)
def max_pooling_backward_infer(x, dout, **attrs):
    return AbstractTensor(x.dtype, _infer_backward(dout, x.shape[2:], **attrs).shape)


def _max_taps(x, kernel_size, stride, padding, dilation, ceil_mode):
    sizes = _sizes(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    return _taps(x, np.array(-np.inf, x.dtype), sizes, kernel_size, stride, padding, dilation)


@eval_rule(max_pooling)
def max_pooling_eval(x, **attrs):
    return np.ascontiguousarray(_max_taps(x, **attrs).max((2, 3)))


def _first_maximum(x, kernel_size, **attrs):
    taps = _max_taps(x, kernel_size, **attrs)
    flat = taps.reshape(taps.shape[:2] + (kernel_size[0] * kernel_size[1],) + taps.shape[4:])
    return flat.argmax(2)


@eval_rule(max_pooling_index)
def max_pooling_index_eval(x, *, kernel_size, stride, padding, dilation, ceil_mode):
    best = _first_maximum(x, kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    oh, ow = best.shape[2:]
    h, w = _place(np.arange(oh)[:, None], np.arange(ow), best // kernel_size[1], best % kernel_size[1], stride,
                  padding, dilation)
    return np.clip(h, 0, x.shape[2] - 1) * x.shape[3] + np.clip(w, 0, x.shape[3] - 1)


@eval_rule(max_pooling_backward)
def max_pooling_backward_eval(x, dout, *, kernel_size, stride, padding, dilation, ceil_mode):
    best = _first_maximum(x, kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    count = kernel_size[0] * kernel_size[1]
    taps = np.where(np.arange(count)[:, None, None] == best[:, :, None], dout[:, :, None], np.zeros((), dout.dtype))
    taps = taps.reshape(taps.shape[:2] + tuple(kernel_size) + taps.shape[3:])
    return _scatter_taps(taps, x.shape[2:], kernel_size, stride, padding, dilation)


def _tap_value(x, n, c, y, z, stride, padding, dilation):
    def value(i, j):
        h, w = _place(y, z, i, j, stride, padding, dilation)
        return where_scalar(_inside(h, w, x.shape[2:]), x[n, c, h, w], cast_scalar(float("-inf"), x.dtype))
    return value


@kernel_rule(max_pooling)
def max_pooling_kernel(x, out, *, kernel_size, stride, padding, dilation, ceil_mode):
    return lambda n, c, y, z: reduce("max", kernel_size, _tap_value(x, n, c, y, z, stride, padding, dilation))


@kernel_rule(max_pooling_index)
def max_pooling_index_kernel(x, out, *, kernel_size, stride, padding, dilation, ceil_mode):
    def element(n, c, y, z):
        best = reduce("argmax", kernel_size, _tap_value(x, n, c, y, z, stride, padding, dilation))
        h, w = _place(y, z, best // kernel_size[1], best % kernel_size[1], stride, padding, dilation)
        h, w = max_scalar(min_scalar(h, x.shape[2] - 1), 0), max_scalar(min_scalar(w, x.shape[3] - 1), 0)
        return h * x.shape[3] + w
    return element


@kernel_rule(max_pooling_backward)
def max_pooling_backward_kernel(x, dout, out, *, kernel_size, stride, padding, dilation, ceil_mode):
    def element(n, c, h, w):
        window = _covering(h, w, dout.shape[2:], stride, padding, dilation)

        def term(i, j):
            there, y, z = window(i, j)
            best = reduce("argmax", kernel_size, _tap_value(x, n, c, y, z, stride, padding, dilation))
            return where_scalar(there, where_scalar(best == i * kernel_size[1] + j, dout[n, c, y, z], 0), 0)
        return reduce("sum", kernel_size, term)
    return element


def _pick(values, x, attrs):
    """The elements of `values`, shaped like x, at the maxima of x's windows."""
    index = max_pooling_index(x, **attrs)
    flat = reshape(values, shape=tuple(x.shape[:2]) + (x.shape[2] * x.shape[3],))
    places = reshape(index, shape=tuple(index.shape[:2]) + (index.shape[2] * index.shape[3],))
    picked = gather_elements_axis(flat, places, axis=2)
    return reshape(picked, shape=tuple(index.shape))


@bprop_rule(max_pooling)
def max_pooling_bprop(x, out, dout, **attrs):
    return max_pooling_backward(x, dout, **attrs)


@jvp_rule(max_pooling)
def max_pooling_jvp(primals, tangents, out, **attrs):
    return _pick(tangents[0], primals[0], attrs)


@bprop_rule(max_pooling_index)
def max_pooling_index_bprop(x, out, dout, **attrs):
    return None


@jvp_rule(max_pooling_index)
def max_pooling_index_jvp(primals, tangents, out, **attrs):
    return None


@bprop_rule(max_pooling_backward)
def max_pooling_backward_bprop(x, dout_, out, dout, **attrs):
    return None, _pick(dout, x, attrs)


@jvp_rule(max_pooling_backward)
def max_pooling_backward_jvp(primals, tangents, out, **attrs):
    return None if tangents[1] is None else max_pooling_backward(primals[0], tangents[1], **attrs)


# ---------------------------------------------------------------- average

@primitive(traits={"library"})
def avg_pooling(x, *, kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor):
    """The mean of each window of x[N, C, H, W]: the sum of the taps inside x over their number.

    count_include_pad : taps on the padding (though not those beyond it) count as well
    divisor           : an int that takes the number's place, or 0
    """


@primitive(traits={"library"})
def avg_pooling_backward(dout, *, input_size, kernel_size, stride, padding, dilation, ceil_mode, count_include_pad,
                         divisor):
    """The transpose of avg_pooling: each dout, over its window's number, added at all taps; input_size: (H, W)."""


@infer_rule(avg_pooling)
def avg_pooling_infer(x, *, count_include_pad, divisor, **attrs):
    return _infer(x, **attrs)


@infer_rule(avg_pooling_backward)
def avg_pooling_backward_infer(dout, *, input_size, count_include_pad, divisor, **attrs):
    return _infer_backward(dout, input_size, **attrs)


def _counts(sizes, input_size, kernel_size, stride, padding, dilation, count_include_pad, divisor):
    """The number that each window's sum is divided by, [OH, OW]."""
    if divisor:
        return np.full(sizes, divisor)
    counts = []
    for a, (count, n, k, s, d) in enumerate(zip(sizes, input_size, kernel_size, stride, dilation)):
        before, after = padding[2 * a:2 * a + 2]
        places = (np.arange(count) * s - before)[:, None] + np.arange(k) * d
        low, high = (-before, n + after) if count_include_pad else (0, n)
        counts.append(((places >= low) & (places < high)).sum(1))
    return np.maximum(counts[0][:, None] * counts[1], 1)


@eval_rule(avg_pooling)
def avg_pooling_eval(x, *, kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor):
    sizes = _sizes(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    total = _taps(wide, 0, sizes, kernel_size, stride, padding, dilation).sum((2, 3))
    counts = _counts(sizes, x.shape[2:], kernel_size, stride, padding, dilation, count_include_pad, divisor)
    return (total / counts.astype(wide.dtype)).astype(x.dtype, copy=False)


@eval_rule(avg_pooling_backward)
def avg_pooling_backward_eval(dout, *, input_size, kernel_size, stride, padding, dilation, ceil_mode,
                              count_include_pad, divisor):
    wide = dout.astype(np.float32) if dout.dtype.itemsize == 2 else dout
    counts = _counts(dout.shape[2:], input_size, kernel_size, stride, padding, dilation, count_include_pad, divisor)
    share = (wide / counts.astype(wide.dtype))[:, :, None, None]
    taps = np.broadcast_to(share, share.shape[:2] + tuple(kernel_size) + share.shape[4:])
    return _scatter_taps(taps, input_size, kernel_size, stride, padding, dilation).astype(dout.dtype, copy=False)


def _count_scalar(y, z, input_size, kernel_size, stride, padding, dilation, count_include_pad, divisor):
    if divisor:
        return divisor
    total: Any = 1
    for a, (at, n, k, s, d) in enumerate(zip((y, z), input_size, kernel_size, stride, dilation)):
        before, after = padding[2 * a:2 * a + 2]
        low, high = (-before, n + after) if count_include_pad else (0, n)
        first = at * s - before
        total = total * reduce("sum", [k], lambda r, first=first, d=d, low=low, high=high:
                               cast_scalar((first + r * d >= low) & (first + r * d < high), dt.int64))
    return max_scalar(total, 1)


@kernel_rule(avg_pooling)
def avg_pooling_kernel(x, out, *, kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor):
    def element(n, c, y, z):
        def term(i, j):
            h, w = _place(y, z, i, j, stride, padding, dilation)
            return where_scalar(_inside(h, w, x.shape[2:]), cast_scalar(x[n, c, h, w], out.dtype), 0)
        count = _count_scalar(y, z, x.shape[2:], kernel_size, stride, padding, dilation, count_include_pad, divisor)
        return reduce("sum", kernel_size, term) / cast_scalar(count, out.dtype)
    return element


@kernel_rule(avg_pooling_backward)
def avg_pooling_backward_kernel(dout, out, *, input_size, kernel_size, stride, padding, dilation, ceil_mode,
                                count_include_pad, divisor):
    def element(n, c, h, w):
        window = _covering(h, w, dout.shape[2:], stride, padding, dilation)

        def term(i, j):
            there, y, z = window(i, j)
            count = _count_scalar(y, z, input_size, kernel_size, stride, padding, dilation, count_include_pad, divisor)
            return where_scalar(there, dout[n, c, y, z] / cast_scalar(count, out.dtype), 0)
        return reduce("sum", kernel_size, term)
    return element


@bprop_rule(avg_pooling)
def avg_pooling_bprop(x, out, dout, **attrs):
    return avg_pooling_backward(dout, input_size=tuple(x.shape[2:]), **attrs)


@jvp_rule(avg_pooling)
def avg_pooling_jvp(primals, tangents, out, **attrs):
    return avg_pooling(tangents[0], **attrs)


@bprop_rule(avg_pooling_backward)
def avg_pooling_backward_bprop(dout_, out, dout, *, input_size, **attrs):
    return avg_pooling(dout, **attrs)


@jvp_rule(avg_pooling_backward)
def avg_pooling_backward_jvp(primals, tangents, out, **attrs):
    return avg_pooling_backward(tangents[0], **attrs)


for _prim in (max_pooling, max_pooling_index, max_pooling_backward, avg_pooling, avg_pooling_backward):
    _merge_batch(_prim)


sbp_rule(max_pooling, "nc__->nc__")
sbp_rule(max_pooling_index, "nc__->nc__")
sbp_rule(max_pooling_backward, "nc__,nc__->nc__", linear=[{1}])
sbp_rule(avg_pooling, "nc__->nc__", linear=[{0}])
sbp_rule(avg_pooling_backward, "nc__->nc__", linear=[{0}])


# ---------------------------------------------------------------- public names

def _attributes(name, x, kernel_size, stride, pad_mode, padding, dilation, ceil_mode):
    if x.ndim != 4:
        raise ShapeError(f"{name}: a tensor of four axes is wanted", note=f"input: {list(x.shape)}")
    kernel = pair(name, "kernel_size", kernel_size)
    stride = kernel if stride is None else pair(name, "stride", stride)
    dilation = pair(name, "dilation", dilation)
    return dict(kernel_size=kernel, stride=stride, dilation=dilation, ceil_mode=as_flag(name, "ceil_mode", ceil_mode),
                padding=padding_of(name, pad_mode, padding, x.shape[2:], kernel, stride, dilation))


@planned
def max_pool2d(x: TensorLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
               return_indices: bool = False, ceil_mode: bool = False, *, pad_mode: str = "pad") -> Any:
    """The maximum of each window of a plane; NaN wins.

    x              : float[N, C, H, W]
    kernel_size    : int or two (height, width), the window;     stride : the same, from one to the next, None for kernel_size
    padding        : of -inf: an int, (vertical, horizontal) or (top, bottom, left, right), at most half of the window
    dilation       : int or two, from one element of the window to the next
    return_indices : bool; True: (maxima, their places h * W + w in the plane, int64), the first of equals
    ceil_mode      : bool; True: last windows that are not full count, too
    pad_mode       : "pad", "same" (as many windows as size / stride, rounded up; the padding is computed) or "valid" (none)
    raises         : DTypeError for what is no float, ShapeError where no window fits or x has other axes, ValueRangeError,
                     ArgumentError
    """
    x, return_indices = as_operand(x), as_flag("max_pool2d", "return_indices", return_indices)
    attrs = _attributes("max_pool2d", x, kernel_size, stride, pad_mode, padding, dilation, ceil_mode)
    windows = [(k - 1) * d + 1 for k, d in zip(attrs["kernel_size"], attrs["dilation"]) for _ in range(2)]
    if str(pad_mode).lower() == "pad" and any(compare(">", 2 * p, k) for p, k in zip(attrs["padding"], windows)):
        raise ValueRangeError("max_pool2d: padding is at most half of the window, else a window holds nothing",
                              note=f"padding {attrs['padding']}, windows of {windows[::2]}")
    out = max_pooling(x, **attrs)
    return (out, max_pooling_index(x, **attrs)) if return_indices else out


@planned
def avg_pool2d(input_x: TensorLike, kernel_size: Ints = 1, stride: Ints | None = 1, padding: Ints = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int = 0, *, pad_mode: str = "pad") -> Tensor:
    """The mean of each window of a picture.

    input_x : float Tensor [N, C, H, W]
    kernel_size, stride : int or two of them, 1 or more; stride None is kernel_size
    padding : int, two (vertical, horizontal) or four of them, 0 or more: zeros at the ends, with pad_mode "pad"
    ceil_mode : bool; True counts a last window that begins inside the axis and ends outside
    count_include_pad : bool; whether zeros of the padding count
    divisor_override : int; if not 0, sums are divided by it instead of by the count
    pad_mode : "pad", "same" (as many windows as size / stride, rounded up) or "valid" (no padding)
    out    : Tensor [N, C, OH, OW], each size (n + before + after - kernel) // stride + 1
    raises : ShapeError for another rank or a window larger than the padded axis, ValueRangeError for other settings, DTypeError
             for integers
    """
    x = as_operand(input_x)
    divisor_override = as_known_int("avg_pool2d", divisor_override or 0)
    if divisor_override < 0:
        raise ValueRangeError(f"avg_pool2d: divisor_override is not negative, not {divisor_override}")
    attrs = _attributes("avg_pool2d", x, kernel_size, stride, pad_mode, padding, 1, ceil_mode)
    ends, window = attrs["padding"], attrs["kernel_size"]
    if str(pad_mode).lower() == "pad" and any(compare(">", ends[2 * a] + ends[2 * a + 1], window[a]) for a in (0, 1)):
        raise ValueRangeError("avg_pool2d: padding at both ends is at most the window, else a window holds nothing",
                              note=f"padding {ends}, windows of {window}")
    count_include_pad = as_flag("avg_pool2d", "count_include_pad", count_include_pad)
    return avg_pooling(x, count_include_pad=count_include_pad, divisor=divisor_override, **attrs)


def _as_picture(name, x):
    if axes_of(name, x) != 3:
        raise ShapeError(f"{name}: a tensor of three axes is wanted", note=f"input: {list(x.shape)}")
    return reshape(x, shape=tuple(x.shape[:2]) + (1, x.shape[2]))


def _one_axis(value):
    if isinstance(value, (tuple, list)) and len(value) != 1:
        raise ArgumentError(f"a pool of lines: an int or one of them is wanted, not {value!r}")
    return value[0] if isinstance(value, (tuple, list)) else value


@planned
def max_pool1d(x: TensorLike, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
               ceil_mode: bool = False, *, pad_mode: str = "pad") -> Any:
    """The maximum of each window of a line; NaN wins.

    x           : float[N, C, L]
    kernel_size : int, the window;     stride : int from one to the next, None for kernel_size
    padding     : int, how many -inf at both ends, at most half of the window
    dilation    : int, from one element of the window to the next
    ceil_mode   : bool; True: a last window that is not full counts, too
    pad_mode    : "pad", "same" (as many windows as L / stride, rounded up; the padding is computed) or "valid" (none)
    raises      : DTypeError for what is no float, ShapeError where no window fits or x has other axes, ValueRangeError,
                  ArgumentError
    """
    kernel, step = _one_axis(kernel_size), _one_axis(kernel_size if stride is None else stride)
    padding = (0, _one_axis(padding)) if _one_axis(padding) else 0
    out = max_pool2d(_as_picture("max_pool1d", x), (1, kernel), (1, step), padding, (1, _one_axis(dilation)), False,
                     ceil_mode, pad_mode=pad_mode)
    return reshape(out, shape=tuple(out.shape[:2]) + (out.shape[3],))


@planned
def avg_pool1d(input_x: TensorLike, kernel_size: Ints = 1, stride: Ints | None = 1, padding: Ints = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, *, pad_mode: str = "pad") -> Tensor:
    """The mean of each window along the last axis.

    input_x : float Tensor [N, C, L]
    kernel_size, stride : int, 1 or more; stride None is kernel_size
    padding : int, 0 or more: zeros at the ends, with pad_mode "pad"
    ceil_mode : bool; True counts a last window that begins inside the axis and ends outside
    count_include_pad : bool; whether zeros of the padding count
    pad_mode : "pad", "same" (as many windows as size / stride, rounded up) or "valid" (no padding)
    out    : Tensor [N, C, OL], OL = (L + 2 padding - kernel_size) // stride + 1
    raises : ShapeError for another rank or a window larger than the padded axis, ValueRangeError for other settings, DTypeError
             for integers
    """
    kernel, step = _one_axis(kernel_size), _one_axis(kernel_size if stride is None else stride)
    padding = (0, _one_axis(padding))
    out = avg_pool2d(_as_picture("avg_pool1d", input_x), (1, kernel), (1, step), padding, ceil_mode, count_include_pad,
                     pad_mode=pad_mode)
    return reshape(out, shape=tuple(out.shape[:2]) + (out.shape[3],))


def check_means(name, x):
    """raises : DTypeError for integers and bools, which do not hold means"""
    if x.dtype.kind not in "fc":
        raise DTypeError(f"{name}: does not take {x.dtype.name}", note=f"input: {list(x.shape)}", hint="takes floats")
