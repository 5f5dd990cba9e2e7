"""Convolution over volumes [N, C, D, H, W], which is convolution over pictures: the taps along the depth are channels.

    out[n, o, d] = sum_k conv2d(x[n, :, d * s + k * dilation - p], weight[o, :, k])        one conv2d of C * KD channels

The transposed convolution is the transpose of these steps: conv2d_transpose into C * KD channels, then each tap is put
in its place along the depth.
"""
from __future__ import annotations

from ..common.annotations import Ints
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_size
from .basic import reshape, transpose
from .define import as_operand, layer_operands
from .nn_conv import convolution, convolution_backward_data, is_complex, of_parts
from .slicing import pad_slice, slice_
from .structure import pad_constant, stack
from .windows import out_size, padding_of, pair


def triple(name, what, value):
    """An int or three of them (or MindSpore's five, N and C leading) as a tuple of three. raises : ArgumentError"""
    made = tuple(value) if isinstance(value, (tuple, list)) else (value,) * 3
    made = made[2:] if len(made) == 5 else made * 3 if len(made) == 1 else made
    if len(made) != 3:
        raise ArgumentError(f"{name}: {what} is an int or three of them", note=repr(value))
    return (pair(name, what, (made[0],))[0], *pair(name, what, made[1:]))


def sides_of(name, pad_mode, padding, sizes, kernel, stride, dilation):
    """(front, back, top, bottom, left, right) by mode; padding: an int, three or six of them. raises : as padding_of"""
    given = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * 6
    given = given * 6 if len(given) == 1 else tuple([p for p in given for _ in range(2)]) if len(given) == 3 else given
    if len(given) != 6:
        raise ArgumentError(f"{name}: padding is an int, three or six of them", note=repr(padding))
    along = [(v[0], 1) for v in (sizes, kernel, stride, dilation)]
    return (*padding_of(name, pad_mode, given[:2] + (0, 0), *along)[:2],
            *padding_of(name, pad_mode, given[2:], *(v[1:] for v in (sizes, kernel, stride, dilation))))


def _operands(name, input, weight):
    x, w = layer_operands(name, input, weight)
    if x.ndim != 5 or w.ndim != 5:
        raise ShapeError(f"{name}: input and weight have 5 axes",
                         note=f"input: {list(x.shape)}, weight: {list(w.shape)}")
    return x, w


def _flat(weight):
    """[O, C, KD, KH, KW] as [O, C * KD, KH, KW]."""
    o, c, depth, height, width = weight.shape
    return reshape(weight, shape=(o, c * depth, height, width))


def _with_bias(out, bias):
    return out if bias is None else out + reshape(as_operand(bias), shape=(1, -1, 1, 1, 1))


@planned
def conv3d(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: Ints = 1, pad_mode: str = "valid",
           padding: Ints = 0, dilation: Ints = 1, groups: int = 1) -> Tensor:
    """3-D convolution (cross-correlation) of volumes, plus bias.

    input  : float or complex Tensor [N, C, D, H, W]
    weight : float or complex Tensor [O, C / groups, KD, KH, KW]
    bias   : Tensor [O], or None
    stride, dilation : int or three of them, 1 or more
    pad_mode : "valid" (no padding), "same" (as many results as size / stride, rounded up) or "pad" (`padding`)
    padding : int, three (depth, height, width) or six of them, 0 or more, with pad_mode "pad"
    groups : int that divides C and O
    out    : Tensor [N, O, OD, OH, OW], each size (n + padding - (k - 1) dilation - 1) // stride + 1
    raises : ShapeError for operands that do not fit or a window larger than the padded axis, ValueRangeError for other settings,
             DTypeError for integers and bools
    source : Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning"
    """
    if is_complex(input, weight):
        return _with_bias(of_parts(lambda x, w: conv3d(x, w, None, stride, pad_mode, padding, dilation, groups), "conv3d", input,
                                   weight), bias)
    x, w = _operands("conv3d", input, weight)
    kernel, groups = tuple(w.shape[2:]), as_size("conv3d", groups)
    steps, rates = triple("conv3d", "stride", stride), triple("conv3d", "dilation", dilation)
    sides = sides_of("conv3d", pad_mode, padding, x.shape[2:], kernel, steps, rates)
    depth = out_size("conv3d", x.shape[2], kernel[0], steps[0], sides[0], sides[1], rates[0])
    x = pad_constant(x, [(0, 0), (0, 0), sides[:2], (0, 0), (0, 0)])
    n, c, _, height, width = x.shape
    taps = [slice_(x, start=(0, 0, k * rates[0], 0, 0), sizes=(n, c, depth, height, width),
                   step=(1, 1, steps[0], 1, 1)) for k in range(as_size("conv3d", kernel[0]))]
    pictures = transpose(stack(taps, 2), perm=(0, 3, 1, 2, 4, 5))                   # [N, OD, C, KD, H, W]
    pictures = reshape(pictures, shape=(n * depth, c * len(taps), height, width))
    out = convolution(pictures, _flat(w), stride=steps[1:], padding=sides[2:], dilation=rates[1:], groups=groups)
    out = reshape(out, shape=(n, depth) + tuple(out.shape[1:]))
    return _with_bias(transpose(out, perm=(0, 2, 1, 3, 4)), bias)


@planned
def conv3d_transpose(inputs: TensorLike, weight: TensorLike, bias: TensorLike | None = None, stride: Ints = 1,
                     pad_mode: str = "valid", padding: Ints = 0, output_padding: Ints = 0, dilation: Ints = 1,
                     group: int = 1) -> Tensor:
    """The transpose of conv3d: what its gradient does to the result, plus bias.

    inputs : float or complex Tensor [N, C, D, H, W]
    weight : float or complex Tensor [C, O / group, KD, KH, KW]
    bias   : Tensor [O], or None
    stride, dilation : int or three of them, 1 or more
    pad_mode : "valid" (no padding), "same" (as many results as size / stride, rounded up) or "pad" (`padding`)
    padding : int, three (depth, height, width) or six of them: what is taken off, with pad_mode "pad"
    output_padding : int or three of them, below stride: what is added at the ends; 0 with "same"
    group  : int that divides C and O
    out    : Tensor [N, O, OD, OH, OW], each size (n - 1) stride + (k - 1) dilation + 1 - padding + output_padding, or n stride
             ("same")
    raises : ShapeError for operands that do not fit or an output_padding that no input of the convolution has, ValueRangeError
             for other settings, DTypeError for integers and bools
    source : Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning"
    """
    name = "conv3d_transpose"
    if is_complex(inputs, weight):
        return _with_bias(of_parts(lambda x, w: conv3d_transpose(x, w, None, stride, pad_mode, padding, output_padding, dilation,
                                                                 group), name, inputs, weight), bias)
    x, w = _operands(name, inputs, weight)
    kernel, group = tuple(w.shape[2:]), as_size(name, group)
    steps, rates = triple(name, "stride", stride), triple(name, "dilation", dilation)
    extra = tuple(output_padding)[-3:] if isinstance(output_padding, (tuple, list)) else (output_padding,) * 3
    if str(pad_mode).lower() == "same":
        if any(extra):
            raise ValueRangeError(f"{name}: output_padding goes with pad_mode 'pad' and 'valid', not 'same'")
        size = tuple(m * s for m, s in zip(x.shape[2:], steps))
        sides = sides_of(name, "same", 0, size, kernel, steps, rates)
    else:
        sides = sides_of(name, pad_mode, padding, x.shape[2:], kernel, steps, rates)
        size = tuple((m - 1) * s + (k - 1) * d + 1 - sides[2 * a] - sides[2 * a + 1] + e for a, (m, s, k, d, e) in
                     enumerate(zip(x.shape[2:], steps, kernel, rates, extra)))
    n, c, depth, height, width = x.shape
    pictures = reshape(transpose(x, perm=(0, 2, 1, 3, 4)), shape=(n * depth, c, height, width))
    made = convolution_backward_data(pictures, _flat(w), input_size=size[1:], stride=steps[1:], padding=sides[2:],
                                     dilation=rates[1:], groups=group)
    count = as_size(name, kernel[0])
    channels = made.shape[1] // count
    made = transpose(reshape(made, shape=(n, depth, channels, count) + size[1:]), perm=(3, 0, 2, 1, 4, 5))
    padded, out = (n, channels, size[0] + sides[0] + sides[1]) + size[1:], None
    for k in range(count):
        tap = pad_slice(made[k], shape=padded, start=(0, 0, k * rates[0], 0, 0), step=(1, 1, steps[0], 1, 1),
                        value=0)
        out = tap if out is None else out + tap
    out = slice_(out, start=(0, 0, sides[0], 0, 0), sizes=(n, channels) + size, step=(1,) * 5)
    return _with_bias(out, bias)
