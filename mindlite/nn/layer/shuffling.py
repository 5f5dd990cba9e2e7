"""Layers that move elements: blocks of pictures, groups of channels, one axis as several; and one that scales by neighbours."""
from ... import ops
from ..cell import Cell


class PixelShuffle(Cell):
    """[.., C r r, H, W] -> [.., C, H r, W r] for r = upscale_factor (Shi et al. 2016)."""

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, x):
        return ops.pixel_shuffle(x, self.upscale_factor)


class PixelUnshuffle(Cell):
    """The inverse of PixelShuffle."""

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, x):
        return ops.pixel_unshuffle(x, self.downscale_factor)


class ChannelShuffle(Cell):
    """The channels of groups in turn (Zhang et al. 2018)."""

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def construct(self, x):
        return ops.channel_shuffle(x, self.groups)

    def extend_repr(self):
        return f"groups={self.groups}"


class Unflatten(Cell):
    """The axis `axis` as several, of the sizes unflattened_size."""

    def __init__(self, axis, unflattened_size):
        super().__init__()
        self.axis, self.unflattened_size = axis, unflattened_size

    def construct(self, x):
        return ops.unflatten(x, self.axis, self.unflattened_size)


class LRN(Cell):
    """Local response normalisation over channels (Krizhevsky et al. 2012, section 3.3); see ops.lrn."""

    def __init__(self, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
        super().__init__()
        self.settings = depth_radius, bias, alpha, beta, norm_region

    def construct(self, x):
        return ops.lrn(x, *self.settings)
