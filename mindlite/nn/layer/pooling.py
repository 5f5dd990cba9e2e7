"""Pooling: the maximum or the mean of each window, over channels-first tensors."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...common.annotations import Floats, Ints
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.tensor import Tensor
from ..cell import Cell
from .basic import channels_first, ints


class _Pool(Cell):
    """Settings that the pools share; `axes` is the number of window axes."""
    axes = 2

    def __init__(self, kernel_size: Ints, stride: Ints, pad_mode: str, padding: Ints, ceil_mode: bool, data_format: str) -> None:
        super().__init__()
        owner, axes = type(self).__name__, self.axes
        kernel, steps = ints(owner, "kernel_size", kernel_size, (axes,)), ints(owner, "stride", stride, (axes,))
        self.kernel_size, self.stride = _short(kernel), _short(steps)
        if pad_mode.lower() not in ("same", "valid", "pad"):
            raise ValueRangeError(f"{owner}: pad_mode is same, valid or pad, not {pad_mode!r}")
        self.pad_mode, self.ceil_mode = pad_mode.upper(), ceil_mode
        ends = ints(owner, "padding", padding, (axes,), 0)
        if self.pad_mode != "PAD" and any(ends):
            raise ValueRangeError(f"{owner}: padding is used with pad_mode 'pad' only, not {pad_mode!r}")
        if not isinstance(ceil_mode, bool):
            raise ArgumentError(f"{owner}: ceil_mode is a bool, not {type(ceil_mode).__name__}")
        channels_first(owner, data_format)
        one = (1,) * (2 - axes)                                 # one-axis windows run over pictures of height 1
        self._kernel, self._stride, self._ends = one + kernel, one + steps, (0,) * len(one) + ends

    def _picture(self, x: Tensor) -> Tensor:
        if ops.rank(x) not in (self.axes + 1, self.axes + 2):
            raise ShapeError(f"{type(self).__name__}: an input of {self.axes + 2} axes is wanted, this has {x.ndim}")
        if self.axes == 1:
            x = ops.expand_dims(x, -2)
        return ops.expand_dims(x, 0) if x.ndim == 3 else x

    def _shaped(self, out: Tensor, like: Tensor) -> Tensor:
        if self.axes == 1:
            out = ops.squeeze(out, -2)
        return ops.squeeze(out, 0) if out.ndim > like.ndim else out

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


def _short(sizes: tuple[int, ...]) -> Ints:
    """One number where all are alike."""
    return sizes[0] if len(set(sizes)) == 1 else sizes


class MaxPool2d(_Pool):
    """The maximum of each window; padding counts as -inf.

    kernel_size, stride, padding, dilation : int or two
    return_indices : give (maxima, their positions h * W + w in the plane) too
    x : [N, C, H, W] or [C, H, W]; output : [N, C, H', W'] or [C, H', W']
    data_format : str with the channels on axis 1, as "NCHW"
    pad_mode : "same", "valid" or "pad"
    ceil_mode : bool: sizes are rounded up
    """

    def __init__(self, kernel_size: Ints = 1, stride: Ints = 1, pad_mode: str = "valid", padding: Ints = 0, dilation: Ints = 1,
                 return_indices: bool = False, ceil_mode: bool = False, data_format: str = "NCHW") -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        self._dilation = (1,) * (2 - self.axes) + ints(type(self).__name__, "dilation", dilation, (self.axes,))
        self.return_indices = return_indices

    def construct(self, x: Tensor) -> Any:
        out = ops.max_pool2d(self._picture(x), self._kernel, self._stride, self._ends, self._dilation,
                             self.return_indices, self.ceil_mode, pad_mode=self.pad_mode)
        if self.return_indices:
            return self._shaped(out[0], x), self._shaped(out[1], x)
        return self._shaped(out, x)


class MaxPool1d(MaxPool2d):
    """The maximum of each window of x : [N, C, L] or [C, L]. Arguments as MaxPool2d's, but ints.

    data_format : str with the channels on axis 1, as "NCHW"
    kernel_size, stride, dilation : int, or one int for each axis
    pad_mode : "same", "valid" or "pad"
    padding : int or a tuple, with pad_mode "pad" only
    ceil_mode : bool: sizes are rounded up
    return_indices : bool: give the positions of the maxima too
    """
    axes = 1


class AvgPool2d(_Pool):
    """The mean of each window.

    kernel_size, stride, padding : int or two
    count_include_pad : zeros of the padding count; with pad_mode "same" they do only where sizes are rounded up, as in MindSpore
    divisor_override  : divide by this number instead of by the count
    x : [N, C, H, W] or [C, H, W]; output : [N, C, H', W'] or [C, H', W']
    data_format : str with the channels on axis 1, as "NCHW"
    ceil_mode : bool: sizes are rounded up
    """

    def __init__(self, kernel_size: Ints = 1, stride: Ints = 1, pad_mode: str = "valid", padding: Ints = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
                 data_format: str = "NCHW") -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        self.count_include_pad = count_include_pad and (ceil_mode or self.pad_mode != "SAME")
        if divisor_override is not None and (isinstance(divisor_override, bool) or not divisor_override > 0):
            raise ValueRangeError(f"{type(self).__name__}: divisor_override is above zero, not {divisor_override!r}")
        self.divisor_override = 0 if divisor_override is None else divisor_override

    def construct(self, x: Tensor) -> Tensor:
        out = ops.avg_pool2d(self._picture(x), self._kernel, self._stride, self._ends, self.ceil_mode,
                             self.count_include_pad, self.divisor_override, pad_mode=self.pad_mode)
        return self._shaped(out, x)


class AvgPool1d(AvgPool2d):
    """The mean of each window of x : [N, C, L] or [C, L]. Arguments as AvgPool2d's, but ints.

    kernel_size, stride : int, or one int for each axis
    pad_mode : "same", "valid" or "pad"
    padding : int or a tuple, with pad_mode "pad" only
    ceil_mode : bool: sizes are rounded up
    count_include_pad : bool: zeros of the padding count
    """
    axes = 1

    def __init__(self, kernel_size: Ints = 1, stride: Ints = 1, pad_mode: str = "valid", padding: Ints = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)


class _VolumePool(_Pool):
    """Pools over volumes: [N, C, D, H, W], or [C, D, H, W]."""
    axes = 3

    def _picture(self, x: Tensor) -> Tensor:
        if ops.rank(x) not in (4, 5):
            raise ShapeError(f"{type(self).__name__}: an input of 5 axes is wanted, this has {x.ndim}")
        return ops.expand_dims(x, 0) if x.ndim == 4 else x


class MaxPool3d(_VolumePool):
    """The maximum of each window of x : [N, C, D, H, W] or [C, D, H, W]; padding counts as -inf.

    kernel_size, stride, padding, dilation : int or three
    return_indices : give (maxima, their positions (d * H + h) * W + w in the volume) too
    pad_mode : "same", "valid" or "pad"
    ceil_mode : bool: sizes are rounded up
    """

    def __init__(self, kernel_size: Ints = 1, stride: Ints = 1, pad_mode: str = "valid", padding: Ints = 0, dilation: Ints = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, "NCHW")
        self._dilation = ints("MaxPool3d", "dilation", dilation, (3,))
        self.return_indices = return_indices

    def construct(self, x: Tensor) -> Any:
        out = ops.max_pool3d(self._picture(x), self._kernel, self._stride, self._ends, self._dilation, self.ceil_mode,
                             self.return_indices, pad_mode=self.pad_mode)
        return (self._shaped(out[0], x), self._shaped(out[1], x)) if self.return_indices else self._shaped(out, x)


class AvgPool3d(_VolumePool):
    """The mean of each window of x : [N, C, D, H, W] or [C, D, H, W]. Arguments as AvgPool2d's, of three.

    kernel_size, stride : int, or one int for each axis
    pad_mode : "same", "valid" or "pad"
    padding : int or a tuple, with pad_mode "pad" only
    ceil_mode : bool: sizes are rounded up
    count_include_pad : bool: zeros of the padding count
    divisor_override : int by which sums are divided, or None: the count
    """

    def __init__(self, kernel_size: Ints = 1, stride: Ints = 1, pad_mode: str = "valid", padding: Ints = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, "NCHW")
        self.count_include_pad = count_include_pad
        self.divisor_override = 0 if divisor_override is None else divisor_override

    def construct(self, x: Tensor) -> Tensor:
        out = ops.avg_pool3d(self._picture(x), self._kernel, self._stride, self._ends, self.ceil_mode,
                             self.count_include_pad, self.divisor_override, pad_mode=self.pad_mode)
        return self._shaped(out, x)


class AdaptiveAvgPool2d(Cell):
    """The plane cut into output_size parts, each replaced by its mean.

    output_size : int or two; None keeps that axis
    x : [N, C, H, W] or [C, H, W]; output : [.., *output_size]
    """

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)

    def construct(self, x: Tensor) -> Tensor:
        return ops.adaptive_avg_pool2d(x, self.output_size)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(Cell):
    """The axis cut into output_size parts, each replaced by its mean; x : [N, C, L] or [C, L]."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        if isinstance(output_size, bool) or not isinstance(output_size, int) or output_size < 1:
            raise ValueRangeError(f"AdaptiveAvgPool1d: output_size is a positive int, not {output_size!r}")
        self.output_size = output_size

    def construct(self, x: Tensor) -> Tensor:
        return ops.squeeze(ops.adaptive_avg_pool2d(ops.expand_dims(x, -2), (1, self.output_size)), -2)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptivePool(Cell):
    """The last axes cut into output_size parts; None keeps an axis."""
    function: Any = None

    def __init__(self, output_size: int | Sequence[int | None] | None, *settings: Any) -> None:
        super().__init__()
        self.output_size, self._settings = output_size, settings

    def construct(self, x: Tensor) -> Any:
        return self.function(x, self.output_size, *self._settings)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool3d(_AdaptivePool):
    """The volume cut into output_size parts, each replaced by its mean; x : [N, C, D, H, W] or [C, D, H, W]."""
    function = staticmethod(ops.adaptive_avg_pool3d)

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__(output_size)


class AdaptiveMaxPool1d(_AdaptivePool):
    """The axis cut into output_size parts, each replaced by its maximum; x : [N, C, L] or [C, L].

    return_indices : bool: give the positions of the maxima too
    """
    function = staticmethod(ops.adaptive_max_pool1d)

    def __init__(self, output_size: int, return_indices: bool = False) -> None:
        super().__init__(output_size, return_indices)


class AdaptiveMaxPool2d(_AdaptivePool):
    """The plane cut into output_size parts, each replaced by its maximum; with return_indices also their positions.

    x : [N, C, H, W] or [C, H, W];   raises : ShapeError for other ranks
    """
    function = staticmethod(ops.adaptive_max_pool2d)

    def __init__(self, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> None:
        super().__init__(output_size, return_indices)


class AdaptiveMaxPool3d(_AdaptivePool):
    """The volume cut into output_size parts, each replaced by its maximum; with return_indices also their positions.

    output_size : int or three; None keeps that axis;   return_indices : bool
    x : [N, C, D, H, W] or [C, D, H, W]
    """
    function = staticmethod(ops.adaptive_max_pool3d)

    def __init__(self, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> None:
        super().__init__(output_size, return_indices)


class FractionalMaxPool2d(Cell):
    """Maxima of windows whose steps are drawn; see ops.fractional_max_pool2d.

    kernel_size, output_size : int or two; output_ratio : float or two in (0, 1), where output_size is None
    return_indices : give (maxima, their positions h * W + w) too
    _random_samples : float[N, C, 2] in [0, 1), or None: drawn at each call
    x              : [N, C, H, W] or [C, H, W]
    """
    def __init__(self, kernel_size: Ints, output_size: Ints | None = None, output_ratio: Floats | None = None,
                 return_indices: bool = False, _random_samples: Tensor | None = None) -> None:
        super().__init__()
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices, self._random_samples = return_indices, _random_samples

    def construct(self, x: Tensor) -> Any:
        return ops.fractional_max_pool2d(x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                                         self._random_samples)


class FractionalMaxPool3d(FractionalMaxPool2d):
    """As FractionalMaxPool2d for [N, C, D, H, W] or [C, D, H, W]; see ops.fractional_max_pool3d.

    kernel_size, output_size : int or three; output_ratio : float or three in (0, 1), where output_size is None
    return_indices : bool: give (maxima, their positions) too
    _random_samples : float[N, C, 3] in [0, 1), or None: drawn at each call
    """

    def construct(self, x: Tensor) -> Any:
        return ops.fractional_max_pool3d(x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                                         self._random_samples)
