"""How alike two pictures are: peak signal-to-noise ratio and structural similarity."""
from __future__ import annotations

import math
from typing import Any
from collections.abc import Sequence

import numpy as np

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ...common.tensor import Tensor
from ..cell import Cell
from .basic import positive_int


_LARGEST = {d: float(np.iinfo(d.numpy).max) for d in (dt.uint8, dt.int8, dt.uint16, dt.int16, dt.int32, dt.int64)}


def _number(owner: str, name: str, value: Any, kinds: Any = (int, float)) -> Any:
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ArgumentError(f"{owner}: {name} is {' or '.join(kind.__name__ for kind in kinds)}, not {type(value).__name__}")
    return value


def _positive(owner: str, name: str, value: Any, kinds: Any = (int, float)) -> Any:
    if _number(owner, name, value, kinds) <= 0:
        raise ValueRangeError(f"{owner}: {name} is above 0, not {value}")
    return value


def _two_pictures(owner: str, img1: Tensor, img2: Tensor) -> None:
    first, second = ops.shape(img1), ops.shape(img2)
    note = f"img1: {img1.dtype}{list(first)}, img2: {img2.dtype}{list(second)}"
    if img1.dtype != img2.dtype:
        raise DTypeError(f"{owner}: the two batches have one dtype", note=note)
    if img1.shape != img2.shape:
        raise ShapeError(f"{owner}: the two batches have one shape", note=note)
    if len(img1.shape) != 4:
        raise ShapeError(f"{owner}: pictures are [N, C, H, W]", note=f"img1: {list(img1.shape)}")


def _as_float(x: Tensor, max_val: float) -> tuple[Tensor, float]:
    """x in [0, 1] as float32, where integers have their dtype's range. max_val follows."""
    if x.dtype in (dt.float16, dt.float32, dt.float64):
        return ops.cast(x, dt.float32), max_val
    largest = _LARGEST[x.dtype]
    return ops.cast(x, dt.float32) / largest, max_val / largest


class PSNR(Cell):
    """10 * log10(max_val ** 2 / mean((img1 - img2) ** 2)) for each picture.

    max_val : the range of a pixel, above 0
    img1, img2 : [N, C, H, W], one shape and dtype; output : f32[N]
    raises : ArgumentError, ValueRangeError for max_val; ShapeError, DTypeError for pictures that differ
    """

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        self.max_val = _positive("PSNR", "max_val", max_val)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _two_pictures("PSNR", img1, img2)
        img1, max_val = _as_float(img1, self.max_val)
        img2, _ = _as_float(img2, self.max_val)
        error = ops.mean(ops.square(img1 - img2), (1, 2, 3))
        return ops.log(max_val ** 2 / error) * (10 / math.log(10))


class _Similarity(Cell):
    """What SSIM and MS-SSIM share: the settings, and both terms of a scale."""

    def __init__(self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float) -> None:
        super().__init__()
        owner = type(self).__name__
        self.max_val = _positive(owner, "max_val", max_val)
        self.filter_size = positive_int(owner, "filter_size", filter_size)
        self.filter_sigma = _positive(owner, "filter_sigma", filter_sigma, (float,))
        self.k1, self.k2 = _number(owner, "k1", k1, (float,)), _number(owner, "k2", k2, (float,))
        distance = np.arange(self.filter_size) - (self.filter_size - 1) / 2
        weight = np.exp(-distance ** 2 / (2 * self.filter_sigma ** 2))
        window = np.outer(weight, weight) / weight.sum() ** 2
        self.window = Tensor(window[None, None].astype(np.float32))

    def blurred(self, x: Tensor) -> Tensor:
        """x[N, C, H, W] under the Gaussian window, channel by channel, without padding."""
        channels = x.shape[1]
        window = ops.broadcast_to(self.window, (channels, 1, self.filter_size, self.filter_size))
        return ops.conv2d(x, window, groups=channels)

    def terms(self, img1: Tensor, img2: Tensor, max_val: float) -> tuple[Tensor, Tensor]:
        """(l * c * s, c * s), the means over positions: f32[N, C] each."""
        c1, c2 = (self.k1 * max_val) ** 2, (self.k2 * max_val) ** 2
        mean1, mean2 = self.blurred(img1), self.blurred(img2)
        product, squares = mean1 * mean2, ops.square(mean1) + ops.square(mean2)
        covariance = self.blurred(img1 * img2) - product
        variances = self.blurred(ops.square(img1) + ops.square(img2)) - squares
        structure = (2 * covariance + c2) / (variances + c2)
        luminance = (2 * product + c1) / (squares + c1)
        return ops.mean(luminance * structure, (2, 3)), ops.mean(structure, (2, 3))


class SSIM(_Similarity):
    """Structural similarity of two pictures, 1 for equal ones.

    max_val      : the range of a pixel, above 0
    filter_size, filter_sigma : size and standard deviation of the Gaussian window
    k1, k2       : constants against division by small numbers
    img1, img2   : [N, C, H, W], one shape and dtype; output : [N], their dtype
    raises       : ArgumentError, ValueRangeError for bad settings; ShapeError
    source       : Wang, Bovik, Sheikh, Simoncelli 2004, section III
    """

    def __init__(self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
                 k2: float = 0.03) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _two_pictures("SSIM", img1, img2)
        dtype = img1.dtype
        img1, max_val = _as_float(img1, self.max_val)
        img2, _ = _as_float(img2, self.max_val)
        similarity, _ = self.terms(img1, img2, max_val)
        return ops.cast(ops.mean(similarity, -1), dtype)


class MSSSIM(_Similarity):
    """Structural similarity over several scales, each half the size of the one before.

    power_factors : a tuple or list of floats, the weight of each scale, from the finest
    max_val, filter_size, filter_sigma, k1, k2 : numbers, as of SSIM
    img1, img2    : float [N, C, H, W], one shape and dtype; output : [N], their dtype
    raises        : ArgumentError, ValueRangeError for bad settings; ShapeError where a scale is smaller than the filter
    source        : Wang, Simoncelli, Bovik 2003
    """

    def __init__(self, max_val: float = 1.0, power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
                 filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        if not isinstance(power_factors, (tuple, list)):
            raise ArgumentError(f"MSSSIM: power_factors is a tuple or a list, not {type(power_factors).__name__}")
        self.power_factors = tuple(power_factors)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _two_pictures("MSSSIM", img1, img2)
        dtype = img1.dtype
        img1, max_val = _as_float(img1, self.max_val)
        img2, _ = _as_float(img2, self.max_val)
        product: Any = 1.0
        for scale, power in enumerate(self.power_factors):
            if scale:
                img1, img2 = ops.avg_pool2d(img1, 2, 2), ops.avg_pool2d(img2, 2, 2)
            similarity, structure = self.terms(img1, img2, max_val)
            term = similarity if scale == len(self.power_factors) - 1 else structure
            product = product * ops.pow(ops.relu(term), power)
        return ops.cast(ops.mean(product, -1), dtype)
