"""Layers around pooling: MaxUnpool1d/2d/3d, LPPool1d/2d, CentralCrop."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...common.annotations import Ints
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.tensor import Tensor
from ..cell import Cell


class _MaxUnpool(Cell):
    """kernel_size, stride (0 or None: kernel_size), padding: as the pooling had them."""
    unpool: Any = None

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def construct(self, x: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The values x at their positions, zeros elsewhere."""
        return self.unpool(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """The reverse of MaxPool1d: see ops.max_unpool1d.

    kernel_size, stride : int, or one int for each axis
    padding : int or a tuple, as the pooling had it
    """
    unpool = staticmethod(ops.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """The reverse of MaxPool2d: see ops.max_unpool2d.

    kernel_size, stride : int, or one int for each axis
    padding : int or a tuple, as the pooling had it
    """
    unpool = staticmethod(ops.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """The reverse of max pooling over volumes: see ops.max_unpool3d.

    kernel_size, stride : int, or one int for each axis
    padding : int or a tuple, as the pooling had it
    """
    unpool = staticmethod(ops.max_unpool3d)


class _LPPool(Cell):
    pool: Any = None

    def __init__(self, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = float(norm_type), kernel_size, stride, ceil_mode

    def construct(self, x: Tensor) -> Tensor:
        """The power sums of the windows."""
        return self.pool(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPool):
    """The norm of each window of x[N, C, L]: see ops.lp_pool1d.

    norm_type : float, the power;   kernel_size : int;   stride : int, kernel_size by default
    ceil_mode : bool: sizes are rounded up
    """
    pool = staticmethod(ops.lp_pool1d)


class LPPool2d(_LPPool):
    """The norm of each window of x[N, C, H, W]: see ops.lp_pool2d.

    norm_type : float, the power;   kernel_size : int or two;   stride : int or two, kernel_size by default
    ceil_mode : bool: sizes are rounded up
    """
    pool = staticmethod(ops.lp_pool2d)


class CentralCrop(Cell):
    """The middle of pictures [C, H, W] or [N, C, H, W].

    central_fraction : how much of each side is kept, in (0, 1]
    raises           : ArgumentError for what is no float, ValueRangeError outside (0, 1]; ShapeError for other pictures
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        if not isinstance(central_fraction, float):
            raise ArgumentError(f"CentralCrop: central_fraction is a float, not {type(central_fraction).__name__}")
        if not 0 < central_fraction <= 1:
            raise ValueRangeError(f"CentralCrop: central_fraction is in (0, 1], not {central_fraction}")
        self.central_fraction = central_fraction

    def construct(self, image: Tensor) -> Tensor:
        """The cropped pictures."""
        if image.ndim not in (3, 4):
            raise ShapeError(f"CentralCrop: pictures of 3 or 4 axes are wanted, not {image.ndim}")
        top, left = [int((n - n * self.central_fraction) / 2) for n in image.shape[-2:]]
        height, width = image.shape[-2:]
        return image[..., top:height - top, left:width - left]
