"""Convolution: three bilinear operators, each one's gradients the other two, so that any order of derivative works.

    convolution(x, w) = y     convolution_backward_data(dy, w) = dx     convolution_backward_weight(x, dy) = dw

eval is im2col and a matrix product (Chellapilla, Puri, Simard 2006). Layout NCHW and OIHW, as MindSpore's default.
"""
from __future__ import annotations

import numpy as np
from ..common.annotations import Ints

from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, cost_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, planned, primitive, vmap_rule
from ..mindir.scalar import cast as cast_scalar, reduce, where as where_scalar
from .axes import as_size
from .basic import batched, reshape, transpose
from .complex_numbers import imag, make_complex, real
from .define import as_operand, dtype_of, layer_operands
from .sbp import sbp_rule
from .windows import out_size, pad_spatial, padding_of, pair, windows_of


@primitive(traits={"library"})
def convolution(x, weight, *, stride, padding, dilation, groups):
    """2-D convolution (cross-correlation): out[n, o, y, z] = sum_{c,i,j} x[n, c, y*s + i*d - p, z*s + j*d - p]
    weight[o, c, i, j].

    x         : float[N, C, H, W]; weight: float[O, C/groups, KH, KW]; out: [N, O, OH, OW]
    stride, dilation : two ints; padding: (top, bottom, left, right) ints or Dims; groups: int
    raises    : ShapeError for other ranks, channels that do not fit, a window larger than the padded input
    """


@primitive(traits={"library"})
def convolution_backward_data(dout, weight, *, input_size, stride, padding, dilation, groups):
    """The gradient of convolution with respect to x, of spatial size `input_size` (H, W): a transposed convolution."""


@primitive(traits={"library"})
def convolution_backward_weight(x, dout, *, kernel_size, stride, padding, dilation, groups):
    """The gradient of convolution with respect to weight, of size `kernel_size` (KH, KW)."""


def _spatial_out(sizes, kernel, stride, padding, dilation):
    return tuple(out_size("conv2d", n, k, s, padding[2 * a], padding[2 * a + 1], d)
                 for a, (n, k, s, d) in enumerate(zip(sizes, kernel, stride, dilation)))


def _check(note, *operands):
    for x in operands:
        if x.dtype.kind not in "f":
            raise DTypeError(f"conv2d: does not take {x.dtype.name}", note=note)
        if x.ndim != 4:
            raise ShapeError("conv2d: tensors of four axes are wanted", note=note, hint="ops.expand_dims adds an axis")


def _check_channels(x, channels, note):
    """raises : ShapeError where axis 1 of x has another size than the weight wants; NHWC is recognised"""
    last = x.shape[-1] == channels if isinstance(x.shape[-1], int) else False
    require("==", x.shape[1], channels, lambda: ShapeError(
        f"conv2d: the channels of x and of weight differ: {x.shape[1]} != {channels}", note=note,
        hint="x looks like [N, H, W, C], and [N, C, H, W] is wanted: x.transpose(0, 3, 1, 2)" if last else ""))


def _equal(what, a, b, note):
    require("==", a, b, lambda: ShapeError(f"conv2d: {what}: {a} != {b}", note=note))


@infer_rule(convolution)
def convolution_infer(x, weight, *, stride, padding, dilation, groups):
    note = f"x: {x}, weight: {weight}, groups: {groups}"
    _check(note, x, weight)
    (n, _, *sizes), (o, per_group, *kernel) = x.shape, weight.shape
    _check_channels(x, per_group * groups, note)
    _equal("the output channels are no multiple of groups", o % groups, 0, note)
    return AbstractTensor(x.dtype, (n, o) + _spatial_out(sizes, kernel, stride, padding, dilation))


@infer_rule(convolution_backward_data)
def convolution_backward_data_infer(dout, weight, *, input_size, stride, padding, dilation, groups):
    note = f"dout: {dout}, weight: {weight}, groups: {groups}"
    _check(note, dout, weight)
    (n, o, *sizes), (o2, per_group, *kernel) = dout.shape, weight.shape
    _equal("the output channels differ", o, o2, note)
    _equal("the output channels are no multiple of groups", o % groups, 0, note)
    for have, want in zip(sizes, _spatial_out(input_size, kernel, stride, padding, dilation)):
        _equal(f"no input of size {list(input_size)} has this output", have, want, note)
    return AbstractTensor(dout.dtype, (n, per_group * groups) + tuple(input_size))


@infer_rule(convolution_backward_weight)
def convolution_backward_weight_infer(x, dout, *, kernel_size, stride, padding, dilation, groups):
    note = f"x: {x}, dout: {dout}, groups: {groups}"
    _check(note, x, dout)
    (n, c, *sizes), (n2, o, *out_sizes) = x.shape, dout.shape
    _equal("the batches differ", n, n2, note)
    for have, want in zip(out_sizes, _spatial_out(sizes, kernel_size, stride, padding, dilation)):
        _equal(f"no kernel of size {list(kernel_size)} has this output", have, want, note)
    return AbstractTensor(x.dtype, (o, c // groups) + tuple(kernel_size))


# ---------------------------------------------------------------- eval: im2col

def _wide(x):
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _columns(x, kernel, stride, padding, dilation, groups, sizes):
    """im2col: [N, G, C/G * KH * KW, OH * OW]."""
    n, c = x.shape[:2]
    view = windows_of(pad_spatial(x, padding), kernel, stride, dilation, sizes)
    return view.reshape(n, groups, c // groups * kernel[0] * kernel[1], sizes[0] * sizes[1])


@eval_rule(convolution)
def convolution_eval(x, weight, *, stride, padding, dilation, groups):
    o, kernel = weight.shape[0], weight.shape[2:]
    sizes = _spatial_out(x.shape[2:], kernel, stride, padding, dilation)
    columns = _columns(_wide(x), kernel, stride, padding, dilation, groups, sizes)
    out = np.matmul(_wide(weight).reshape(groups, o // groups, columns.shape[2]), columns)
    return out.reshape(x.shape[0], o, *sizes).astype(x.dtype, copy=False)


@eval_rule(convolution_backward_data)
def convolution_backward_data_eval(dout, weight, *, input_size, stride, padding, dilation, groups):
    (n, o, oh, ow), (_, per_group, kh, kw) = dout.shape, weight.shape
    flat = _wide(weight).reshape(groups, o // groups, per_group * kh * kw)
    columns = np.matmul(flat.transpose(0, 2, 1), _wide(dout).reshape(n, groups, o // groups, oh * ow))
    columns = columns.reshape(n, groups * per_group, kh, kw, oh, ow)
    top, bottom, left, right = padding
    (h, w), (sh, sw), (dh, dw) = input_size, stride, dilation
    out = np.zeros((n, groups * per_group, h + top + bottom, w + left + right), columns.dtype)
    for i in range(kh):                                                  # col2im
        for j in range(kw):
            out[:, :, i * dh:i * dh + (oh - 1) * sh + 1:sh, j * dw:j * dw + (ow - 1) * sw + 1:sw] += columns[:, :, i, j]
    return np.ascontiguousarray(out[:, :, top:top + h, left:left + w]).astype(dout.dtype, copy=False)


@eval_rule(convolution_backward_weight)
def convolution_backward_weight_eval(x, dout, *, kernel_size, stride, padding, dilation, groups):
    n, o, oh, ow = dout.shape
    columns = _columns(_wide(x), kernel_size, stride, padding, dilation, groups, (oh, ow))
    out = np.matmul(_wide(dout).reshape(n, groups, o // groups, oh * ow), columns.swapaxes(-1, -2)).sum(0)
    return out.reshape(o, x.shape[1] // groups, *kernel_size).astype(x.dtype, copy=False)


# ---------------------------------------------------------------- kernel rules: direct loops

def _inside(h, w, sizes):
    return (h >= 0) & (h < sizes[0]) & (w >= 0) & (w < sizes[1])


def _number(x, out):
    return cast_scalar(x, out.dtype)


@kernel_rule(convolution)
def convolution_kernel(x, weight, out, *, stride, padding, dilation, groups):
    (o_all, per_group, kh, kw), sizes = weight.shape, x.shape[2:]

    def element(n, o, y, z):
        group = o // (o_all // groups)

        def term(c, i, j):
            h, w = y * stride[0] + i * dilation[0] - padding[0], z * stride[1] + j * dilation[1] - padding[2]
            read = _number(x[n, group * per_group + c, h, w], out) * _number(weight[o, c, i, j], out)
            return where_scalar(_inside(h, w, sizes), read, 0)
        return reduce("sum", [per_group, kh, kw], term)
    return element


@kernel_rule(convolution_backward_data)
def convolution_backward_data_kernel(dout, weight, out, *, input_size, stride, padding, dilation, groups):
    (o_all, per_group, kh, kw), sizes = weight.shape, dout.shape[2:]
    outputs = o_all // groups

    def element(n, c, h, w):
        group, channel = c // per_group, c % per_group

        def term(o, i, j):
            y, z = h + padding[0] - i * dilation[0], w + padding[2] - j * dilation[1]
            hit = (y % stride[0] == 0) & (z % stride[1] == 0)
            y, z = y // stride[0], z // stride[1]
            o = group * outputs + o
            read = _number(dout[n, o, y, z], out) * _number(weight[o, channel, i, j], out)
            return where_scalar(hit & _inside(y, z, sizes), read, 0)
        return reduce("sum", [outputs, kh, kw], term)
    return element


@kernel_rule(convolution_backward_weight)
def convolution_backward_weight_kernel(x, dout, out, *, kernel_size, stride, padding, dilation, groups):
    (batch, o_all, oh, ow), per_group, sizes = dout.shape, x.shape[1] // groups, x.shape[2:]

    def element(o, c, i, j):
        group = o // (o_all // groups)

        def term(n, y, z):
            h, w = y * stride[0] + i * dilation[0] - padding[0], z * stride[1] + j * dilation[1] - padding[2]
            read = _number(x[n, group * per_group + c, h, w], out) * _number(dout[n, o, y, z], out)
            return where_scalar(_inside(h, w, sizes), read, 0)
        return reduce("sum", [batch, oh, ow], term)
    return element


# ---------------------------------------------------------------- gradients

@bprop_rule(convolution)
def convolution_bprop(x, weight, out, dout, **attrs):
    return (convolution_backward_data(dout, weight, input_size=tuple(x.shape[2:]), **attrs),
            convolution_backward_weight(x, dout, kernel_size=tuple(weight.shape[2:]), **attrs))


@bprop_rule(convolution_backward_data)
def convolution_backward_data_bprop(dout_, weight, out, dout, *, input_size, **attrs):
    return (convolution(dout, weight, **attrs),
            convolution_backward_weight(dout, dout_, kernel_size=tuple(weight.shape[2:]), **attrs))


@bprop_rule(convolution_backward_weight)
def convolution_backward_weight_bprop(x, dout_, out, dout, *, kernel_size, **attrs):
    return (convolution_backward_data(dout_, dout, input_size=tuple(x.shape[2:]), **attrs),
            convolution(x, dout, **attrs))


def _bilinear(prim):
    @jvp_rule(prim)
    def jvp(primals, tangents, out, **attrs):
        (a, b), (da, db) = primals, tangents
        parts = [prim(da, b, **attrs)] if da is not None else []
        parts += [prim(a, db, **attrs)] if db is not None else []
        return None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]


for _prim in (convolution, convolution_backward_data, convolution_backward_weight):
    _bilinear(_prim)


# ---------------------------------------------------------------- vmap: into the batch, or into the groups

def _into_channels(x, dim, size):
    """[N, B * C, ..]: each batch item becomes a stretch of the channels."""
    x = transpose(batched(x, dim, size), perm=(1, 0, 2, 3, 4))
    return reshape(x, shape=(x.shape[0], size * x.shape[2]) + tuple(x.shape[3:]))


def _merge(x, dim, size):
    """[B * N, ..]: each batch item becomes a stretch of axis 0."""
    x = batched(x, dim, size)
    return reshape(x, shape=(size * x.shape[1],) + tuple(x.shape[2:]))


def _vmap_with_weight(prim):
    @vmap_rule(prim)
    def rule(args, dims, size, *, groups, **attrs):
        x, weight = args
        if dims[1] is None:
            out = prim(_merge(x, dims[0], size), weight, groups=groups, **attrs)
            return reshape(out, shape=(size, out.shape[0] // size) + tuple(out.shape[1:])), 0
        out = prim(_into_channels(x, dims[0], size), _merge(weight, dims[1], size), groups=size * groups, **attrs)
        return reshape(out, shape=(out.shape[0], size, out.shape[1] // size) + tuple(out.shape[2:])), 1


_vmap_with_weight(convolution)
_vmap_with_weight(convolution_backward_data)


@vmap_rule(convolution_backward_weight)
def convolution_backward_weight_vmap(args, dims, size, *, groups, **attrs):
    x, dout = (_into_channels(a, d, size) for a, d in zip(args, dims))
    out = convolution_backward_weight(x, dout, groups=size * groups, **attrs)
    return reshape(out, shape=(size, out.shape[0] // size) + tuple(out.shape[1:])), 0


# ---------------------------------------------------------------- cost

@cost_rule(convolution)
def convolution_cost(x, weight, out, **attrs):
    return 2 * out.size * weight.shape[1] * weight.shape[2] * weight.shape[3]


@cost_rule(convolution_backward_data)
def convolution_backward_data_cost(dout, weight, out, **attrs):
    return 2 * dout.size * weight.shape[1] * weight.shape[2] * weight.shape[3]


@cost_rule(convolution_backward_weight)
def convolution_backward_weight_cost(x, dout, out, **attrs):
    return 2 * dout.size * out.shape[1] * out.shape[2] * out.shape[3]


def _spec(whole, grouped):
    """Channels can be split, and contracted, where there is one group; else the batch only."""
    return lambda *operands, groups, **attrs: whole if groups == 1 else grouped


sbp_rule(convolution, _spec("nc__,oc__->no__", "n___,____->n___"), linear=[{0}, {1}])
sbp_rule(convolution_backward_data, _spec("no__,oc__->nc__", "n___,____->n___"), linear=[{0}, {1}])
sbp_rule(convolution_backward_weight, _spec("nc__,no__->oc__", "n___,n___->____"), linear=[{0}, {1}])


# ---------------------------------------------------------------- public names

def _operands(name, input, weight, ndim):
    x, w = layer_operands(name, input, weight)
    if x.ndim != ndim or w.ndim != ndim:
        raise ShapeError(f"{name}: input and weight have {ndim} axes",
                         note=f"input: {list(x.shape)}, weight: {list(w.shape)}")
    return x, w


def is_complex(*operands):
    """Whether one of the operands of a layer is complex."""
    return any([dtype_of(as_operand(x)).kind == "c" for x in operands])


def of_parts(convolve, name, input, weight):
    """A convolution of complex numbers: four of their parts. convolve : (input, weight) -> the convolution of real numbers"""
    x, w = layer_operands(name, input, weight)
    a, b, c, d = real(x), imag(x), real(w), imag(w)
    return make_complex(convolve(a, c) - convolve(b, d), convolve(a, d) + convolve(b, c))


def _with_bias(out, bias):
    return out if bias is None else out + reshape(as_operand(bias), shape=(1, -1) + (1,) * (out.ndim - 2))


@planned
def conv2d(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: Ints = 1, pad_mode: str = "valid",
           padding: Ints = 0, dilation: Ints = 1, groups: int = 1) -> Tensor:
    """2-D convolution (cross-correlation) of pictures, plus bias.

    input  : float or complex Tensor [N, C, H, W]
    weight : float or complex Tensor [O, C / groups, KH, KW]
    bias   : Tensor [O], or None
    stride, dilation : int or two of them, 1 or more
    pad_mode : "valid" (no padding), "same" (as many results as size / stride, rounded up) or "pad" (`padding`)
    padding : int, (vertical, horizontal) or (top, bottom, left, right), 0 or more, with pad_mode "pad"
    groups : int that divides C and O
    out    : Tensor [N, O, OH, OW], each size (n + padding - (k - 1) dilation - 1) // stride + 1
    raises : ShapeError for operands that do not fit or a window larger than the padded axis, ValueRangeError for other settings,
             DTypeError for integers and bools
    source : Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning"
    """
    if is_complex(input, weight):
        return _with_bias(of_parts(lambda x, w: conv2d(x, w, None, stride, pad_mode, padding, dilation, groups), "conv2d", input,
                                   weight), bias)
    x, w = _operands("conv2d", input, weight, 4)
    stride, dilation = pair("conv2d", "stride", stride), pair("conv2d", "dilation", dilation)
    padding = padding_of("conv2d", pad_mode, padding, x.shape[2:], w.shape[2:], stride, dilation)
    return _with_bias(convolution(x, w, stride=stride, padding=padding, dilation=dilation,
                                  groups=as_size("conv2d", groups)), bias)


@planned
def conv1d(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: Ints = 1, pad_mode: str = "valid",
           padding: Ints = 0, dilation: Ints = 1, groups: int = 1) -> Tensor:
    """1-D convolution (cross-correlation), plus bias: out[n, o, i] = sum of input[n, c, i stride + k dilation] weight[o, c, k].

    input  : float or complex Tensor [N, C, L]
    weight : float or complex Tensor [O, C / groups, K]
    bias   : Tensor [O], or None
    stride, dilation : int, 1 or more
    pad_mode : "valid" (no padding), "same" (as many results as size / stride, rounded up) or "pad" (`padding`)
    padding : int or (left, right), 0 or more, with pad_mode "pad"
    groups : int that divides C and O
    out    : Tensor [N, O, (L + padding - (K - 1) dilation - 1) // stride + 1]
    raises : ShapeError for operands that do not fit or a window larger than the padded axis, ValueRangeError for other settings,
             DTypeError for integers and bools
    source : Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning"
    """
    if is_complex(input, weight):
        return _with_bias(of_parts(lambda x, w: conv1d(x, w, None, stride, pad_mode, padding, dilation, groups), "conv1d", input,
                                   weight), bias)
    x, w = _operands("conv1d", input, weight, 3)
    number = {"stride": stride, "dilation": dilation}
    stride, dilation = ((1, pair("conv1d", what, value)[1]) for what, value in number.items())
    ends = tuple(padding) if isinstance(padding, (tuple, list)) else (padding, padding)
    ends = ends * 2 if len(ends) == 1 else ends
    if len(ends) != 2:
        raise ArgumentError("conv1d: padding is an int or (left, right)", note=repr(padding))
    high = tuple(reshape(t, shape=tuple(t.shape[:2]) + (1, t.shape[2])) for t in (x, w))
    padding = padding_of("conv1d", pad_mode, (0, 0) + ends, high[0].shape[2:], high[1].shape[2:], stride, dilation)
    out = convolution(*high, stride=stride, padding=padding, dilation=dilation, groups=as_size("conv1d", groups))
    return _with_bias(reshape(out, shape=tuple(out.shape[:2]) + (out.shape[3],)), bias)


@planned
def conv2d_transpose(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: Ints = 1,
                     pad_mode: str = "valid", padding: Ints = 0, output_padding: Ints = 0, dilation: Ints = 1,
                     groups: int = 1) -> Tensor:
    """The transpose of conv2d: what its gradient does to the result, plus bias.

    input  : float or complex Tensor [N, C, H, W]
    weight : float or complex Tensor [C, O / groups, KH, KW]
    bias   : Tensor [O], or None
    stride, dilation : int or two of them, 1 or more
    pad_mode : "valid" (no padding), "same" (as many results as size / stride, rounded up) or "pad" (`padding`)
    padding : int, (vertical, horizontal) or (top, bottom, left, right): rows and columns taken off, with pad_mode "pad"
    output_padding : int or two of them, below stride: rows and columns added at the bottom and right; 0 with "same"
    groups : int that divides C and O
    out    : Tensor [N, O, OH, OW], each size (n - 1) stride + (k - 1) dilation + 1 - padding + output_padding, or n stride
             ("same")
    raises : ShapeError for operands that do not fit or an output_padding that no input of the convolution has, ValueRangeError
             for other settings, DTypeError for integers and bools
    source : Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning"
    """
    if is_complex(input, weight):
        return _with_bias(of_parts(lambda x, w: conv2d_transpose(x, w, None, stride, pad_mode, padding, output_padding, dilation,
                                                                 groups), "conv2d_transpose", input, weight), bias)
    x, w = _operands("conv2d_transpose", input, weight, 4)
    steps, rates = pair("conv2d_transpose", "stride", stride), pair("conv2d_transpose", "dilation", dilation)
    extra = output_padding if isinstance(output_padding, (tuple, list)) else (output_padding,) * 2
    extra = tuple(as_size("conv2d_transpose: output_padding", n) for n in extra)
    if str(pad_mode).lower() == "same":
        if any(extra):
            raise ValueRangeError("conv2d_transpose: output_padding goes with pad_mode 'pad' and 'valid', not 'same'")
        size = tuple(n * s for n, s in zip(x.shape[2:], steps))
        sides = padding_of("conv2d_transpose", "same", 0, size, w.shape[2:], steps, rates)
    else:
        sides = padding_of("conv2d_transpose", pad_mode, padding, x.shape[2:], w.shape[2:], steps, rates)
        size = tuple((n - 1) * s + (k - 1) * d + 1 - sides[2 * a] - sides[2 * a + 1] + e for a, (n, s, k, d, e) in
                     enumerate(zip(x.shape[2:], steps, w.shape[2:], rates, extra)))
    return _with_bias(convolution_backward_data(x, w, input_size=size, stride=steps, padding=sides,
                                                dilation=rates, groups=as_size("conv2d_transpose", groups)), bias)
