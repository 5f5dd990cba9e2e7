"""Convolutions: Conv1d, Conv2d, Conv3d and their transposes, over channels-first tensors.

    nn.Conv2d(3, 8, 5, pad_mode="same")(x)      x: f32[N, 3, H, W]  ->  f32[N, 8, H, W]

pad_mode "same" makes the output ceil(size / stride), "valid" pads nothing, "pad" pads by `padding`.
"""
from __future__ import annotations

from ... import ops
from ...common import dtype as dt
from ...common.dtype import DTypeLike
from ...common.annotations import Ints
from ...common.errors import ShapeError, ValueRangeError
from ...common.initializer import Init
from ...common.tensor import Tensor
from ..cell import Cell
from .basic import channels_first, flag, ints, positive_int, weight_and_bias


class _Conv(Cell):
    """What all convolutions share. `axes` is the number of window axes, `transposed` tells which way they go."""
    axes, transposed = 2, False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints, pad_mode: str, padding: Ints,
                 dilation: Ints, group: int, has_bias: bool, weight_init: Init | None, bias_init: Init | None, data_format: str,
                 dtype: DTypeLike) -> None:
        super().__init__()
        owner, axes = type(self).__name__, self.axes
        self.in_channels = positive_int(owner, "in_channels", in_channels)
        self.out_channels = positive_int(owner, "out_channels", out_channels)
        self.kernel_size = ints(owner, "kernel_size", kernel_size, (axes,))
        self.stride = ints(owner, "stride", stride, (axes,))
        self.dilation = ints(owner, "dilation", dilation, (axes,))
        self.group = positive_int(owner, "group", group)
        self.has_bias = flag(owner, "has_bias", has_bias)
        if pad_mode not in ("same", "valid", "pad"):
            raise ValueRangeError(f"{owner}: pad_mode is same, valid or pad, not {pad_mode!r}")
        self.pad_mode, self.padding = pad_mode, padding
        self._ends = ints(owner, "padding", padding, (1, 2 * axes), 0)
        if pad_mode != "pad" and any(self._ends):
            raise ValueRangeError(f"{owner}: padding is used with pad_mode 'pad' only, here it is {pad_mode!r}")
        if in_channels % group or out_channels % group:
            raise ValueRangeError(f"{owner}: {in_channels} and {out_channels} channels do not split in {group} groups")
        self.data_format = data_format if axes == 3 else channels_first(owner, data_format)
        self.weight_init, self.bias_init = weight_init, bias_init
        outer, inner = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        window = (1,) * (2 - axes) + self.kernel_size      # a 1-D window is kept with height 1, as in MindSpore
        self.weight, self.bias = weight_and_bias((outer, inner // group) + window, out_channels, weight_init, bias_init,
                                                 has_bias, dtype)

    def _check(self, x: Tensor) -> None:
        if ops.rank(x) != self.axes + 2:
            raise ShapeError(f"{type(self).__name__}: an input of {self.axes + 2} axes is wanted, this has {x.ndim}",
                             hint="ops.expand_dims(x, 0) adds a batch of one")

    def _room(self) -> tuple[int, ...]:
        """By how much, along each axis, the stride is larger than the window: what "valid" adds in a transpose."""
        return tuple([max(s - (k - 1) * d - 1, 0) for s, k, d in zip(self.stride, self.kernel_size, self.dilation)])

    def extend_repr(self) -> str:
        return (f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
                f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
                f"padding={self.padding}, dilation={self.dilation}, group={self.group}, has_bias={self.has_bias}, "
                f"weight_init={self.weight_init}, bias_init={self.bias_init}, format={self.data_format}")


class Conv2d(_Conv):
    """2-D convolution: out[n, o, y, z] = bias[o] + sum x[n, c, y * stride + i, z * stride + j] * weight[o, c, i, j].

    kernel_size, stride, dilation : int or two
    padding     : int, or (top, bottom, left, right)
    weight_init : for weight [out_channels, in_channels / group, *kernel_size]; HeUniform(sqrt(5)) by default
    bias_init   : for bias [out_channels]; uniform in +-1 / sqrt(fan_in) by default
    x           : [N, in_channels, H, W]; output : [N, out_channels, H', W']
    raises      : ArgumentError, ValueRangeError for bad arguments, ShapeError for an x that does not fit
    data_format : str with the channels on axis 1, as "NCHW"
    pad_mode : "same", "valid" or "pad"
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, pad_mode: str = "same",
                 padding: Ints = 0, dilation: Ints = 1, group: int = 1, has_bias: bool = False, weight_init: Init | None = None,
                 bias_init: Init | None = None, data_format: str = "NCHW", dtype: DTypeLike = dt.float32) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                         weight_init, bias_init, data_format, dtype)

    def construct(self, x: Tensor) -> Tensor:
        self._check(x)
        return ops.conv2d(x, self.cast_param(self.weight), self.cast_param(self.bias), self.stride, self.pad_mode,
                          self._ends, self.dilation, self.group)

    def conv2d(self, x: Tensor, weight: Tensor) -> Tensor:
        """The convolution of x with another weight by this layer's settings, without bias: for a subclass's `construct`."""
        return ops.conv2d(x, weight, None, self.stride, self.pad_mode, self._ends, self.dilation, self.group)

    def bias_add(self, x: Tensor, bias: Tensor) -> Tensor:
        """x[N, C, H, W] + bias[C]: for a subclass's `construct`."""
        return ops.bias_add(x, bias)


class Conv1d(_Conv):
    """1-D convolution, as Conv2d over pictures of height 1; weight is [out_channels, in_channels / group, 1, size].

    x : [N, in_channels, L]; output : [N, out_channels, L']; padding : int, or (left, right)
    weight_init, bias_init : a name, a number, a Tensor or an Initializer
    kernel_size, stride, dilation : int, or one int for each axis
    pad_mode : "same", "valid" or "pad"
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """
    axes = 1

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, pad_mode: str = "same",
                 padding: Ints = 0, dilation: Ints = 1, group: int = 1, has_bias: bool = False, weight_init: Init | None = None,
                 bias_init: Init | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                         weight_init, bias_init, "NCW", dtype)

    def construct(self, x: Tensor) -> Tensor:
        self._check(x)
        out = ops.conv2d(ops.expand_dims(x, 2), self.cast_param(self.weight), self.cast_param(self.bias),
                         (1, *self.stride), self.pad_mode, (0, 0, *self._ends), (1, *self.dilation), self.group)
        return ops.squeeze(out, 2)


class Conv2dTranspose(_Conv):
    """The transpose of Conv2d (Zeiler et al. 2010); weight is [in_channels, out_channels / group, *kernel_size].

    output size : (H - 1) * stride + (kernel - 1) * dilation + 1 - padding + output_padding with "pad"; H * stride with
                  "same"; with "valid" the first without padding, and at least H * stride
    output_padding : int or two, smaller than the stride; with "pad" only
    x           : [N, in_channels, H, W]; output : [N, out_channels, H', W']
    weight_init, bias_init : a name, a number, a Tensor or an Initializer
    pad_mode : "same", "valid" or "pad"
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """
    transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, pad_mode: str = "same",
                 padding: Ints = 0, output_padding: Ints = 0, dilation: Ints = 1, group: int = 1, has_bias: bool = False,
                 weight_init: Init | None = None, bias_init: Init | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                         weight_init, bias_init, "NCHW", dtype)
        self.output_padding = ints("Conv2dTranspose", "output_padding", output_padding, (2,), 0)
        if pad_mode != "pad" and any(self.output_padding):
            raise ValueRangeError(f"Conv2dTranspose: output_padding is used with pad_mode 'pad' only, not {pad_mode!r}")
        if any(extra >= max(s, d) for extra, s, d in zip(self.output_padding, self.stride, self.dilation)):
            raise ValueRangeError(f"Conv2dTranspose: output_padding {self.output_padding} is not below the stride")

    def construct(self, x: Tensor) -> Tensor:
        self._check(x)
        extra = self.output_padding
        if self.pad_mode == "valid":
            extra = self._room()
        return ops.conv2d_transpose(x, self.cast_param(self.weight), self.cast_param(self.bias), self.stride,
                                    self.pad_mode, self._ends, extra, self.dilation, self.group)


class Conv1dTranspose(_Conv):
    """The transpose of Conv1d; weight is [in_channels, out_channels / group, 1, kernel_size].

    x : [N, in_channels, L]; output : [N, out_channels, L'], sizes as Conv2dTranspose's
    weight_init, bias_init : a name, a number, a Tensor or an Initializer
    stride, dilation : int, or one int for each axis
    pad_mode : "same", "valid" or "pad"
    padding : int or a tuple, with pad_mode "pad" only
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """
    axes, transposed = 1, True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, pad_mode: str = "same",
                 padding: Ints = 0, dilation: Ints = 1, group: int = 1, has_bias: bool = False, weight_init: Init | None = None,
                 bias_init: Init | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                         weight_init, bias_init, "NCW", dtype)

    def construct(self, x: Tensor) -> Tensor:
        self._check(x)
        extra = (0, *self._room()) if self.pad_mode == "valid" else 0
        out = ops.conv2d_transpose(ops.expand_dims(x, 2), self.cast_param(self.weight), self.cast_param(self.bias),
                                   (1, *self.stride), self.pad_mode, (0, 0, *self._ends), extra, (1, *self.dilation),
                                   self.group)
        return ops.squeeze(out, 2)


class Conv3d(_Conv):
    """3-D convolution, as Conv2d over volumes; weight is [out_channels, in_channels / group, *kernel_size].

    kernel_size, stride, dilation : int or three;   padding : int, or (front, back, top, bottom, left, right)
    x : [N, in_channels, D, H, W]; output : [N, out_channels, D', H', W']
    weight_init, bias_init : a name, a number, a Tensor or an Initializer
    data_format : str with the channels on axis 1, as "NCHW"
    pad_mode : "same", "valid" or "pad"
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """
    axes = 3

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, pad_mode: str = "same",
                 padding: Ints = 0, dilation: Ints = 1, group: int = 1, has_bias: bool = False, weight_init: Init | None = None,
                 bias_init: Init | None = None, data_format: str = "NCDHW", dtype: DTypeLike = dt.float32) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                         weight_init, bias_init, _volumes(type(self).__name__, data_format), dtype)

    def construct(self, x: Tensor) -> Tensor:
        self._check(x)
        return ops.conv3d(x, self.cast_param(self.weight), self.cast_param(self.bias), self.stride, self.pad_mode,
                          self._ends, self.dilation, self.group)


class Conv3dTranspose(_Conv):
    """The transpose of Conv3d; weight is [in_channels, out_channels / group, *kernel_size].

    output_padding : int or three, with pad_mode "pad" only
    x : [N, in_channels, D, H, W]; output : [N, out_channels, D', H', W']
    weight_init, bias_init : a name, a number, a Tensor or an Initializer
    data_format : str with the channels on axis 1, as "NCHW"
    stride, dilation : int, or one int for each axis
    padding : int or a tuple, with pad_mode "pad" only
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """
    axes, transposed = 3, True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, pad_mode: str = "same",
                 padding: Ints = 0, dilation: Ints = 1, group: int = 1, output_padding: Ints = 0, has_bias: bool = False,
                 weight_init: Init | None = None, bias_init: Init | None = None, data_format: str = "NCDHW",
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                         weight_init, bias_init, _volumes(type(self).__name__, data_format), dtype)
        self.output_padding = ints("Conv3dTranspose", "output_padding", output_padding, (3,), 0)
        if pad_mode != "pad" and any(self.output_padding):
            raise ValueRangeError(f"Conv3dTranspose: output_padding is used with pad_mode 'pad' only, not {pad_mode!r}")

    def construct(self, x: Tensor) -> Tensor:
        self._check(x)
        extra = self._room() if self.pad_mode == "valid" else self.output_padding
        return ops.conv3d_transpose(x, self.cast_param(self.weight), self.cast_param(self.bias), self.stride, self.pad_mode,
                                    self._ends, extra, self.dilation, self.group)


def _volumes(owner: str, data_format: str) -> str:
    """The one format of volumes. raises : ValueRangeError for another"""
    if data_format != "NCDHW":
        raise ValueRangeError(f"{owner}: data_format is 'NCDHW', not {data_format!r}")
    return data_format
