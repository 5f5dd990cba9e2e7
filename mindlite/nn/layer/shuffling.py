"""Layers that move elements: blocks of pictures, groups of channels, one axis as several; and one that scales by neighbours."""
from __future__ import annotations

from collections.abc import Sequence

from ... import ops
from ...common.tensor import Tensor
from ..cell import Cell


class PixelShuffle(Cell):
    """[.., C r r, H, W] -> [.., C, H r, W r] for r = upscale_factor (Shi et al. 2016)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, x: Tensor) -> Tensor:
        return ops.pixel_shuffle(x, self.upscale_factor)


class PixelUnshuffle(Cell):
    """The inverse of PixelShuffle: [.., C, H r, W r] -> [.., C r r, H, W] for r = downscale_factor.

    downscale_factor : int above 0
    x      : [.., C, H, W] of any dtype
    raises : ValueRangeError where the sizes do not split
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, x: Tensor) -> Tensor:
        return ops.pixel_unshuffle(x, self.downscale_factor)


class ChannelShuffle(Cell):
    """The channels of groups in turn (Zhang et al. 2018).

    groups : int, into which the channels split
    x      : [N, C, ..]; output : like x
    raises : ValueRangeError where the channels do not split
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def construct(self, x: Tensor) -> Tensor:
        return ops.channel_shuffle(x, self.groups)

    def extend_repr(self) -> str:
        return f"groups={self.groups}"


class Unflatten(Cell):
    """The axis `axis` as several, of the sizes unflattened_size.

    axis   : int;   unflattened_size : tuple of int, one of which may be -1
    x      : [...] of any dtype
    raises : ShapeError where the sizes do not make up the axis
    """

    def __init__(self, axis: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.axis, self.unflattened_size = axis, unflattened_size

    def construct(self, x: Tensor) -> Tensor:
        return ops.unflatten(x, self.axis, self.unflattened_size)


class LRN(Cell):
    """Local response normalisation over channels (Krizhevsky et al. 2012, section 3.3); see ops.lrn.

    depth_radius : int, neighbours on each side
    bias, alpha, beta : float, of (bias + alpha * sum of squares) ** beta
    norm_region  : "ACROSS_CHANNELS"
    x            : float[N, C, H, W]; output : like x
    raises       : ValueRangeError for another rank of x or another norm_region
    """

    def __init__(self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
                 norm_region: str = "ACROSS_CHANNELS") -> None:
        super().__init__()
        self.settings = depth_radius, bias, alpha, beta, norm_region

    def construct(self, x: Tensor) -> Tensor:
        return ops.lrn(x, *self.settings)
