"""Hue, saturation and value: RgbToHsv and HsvToRgb in floats, and those of bytes for operations that turn the hue.

Bytes are as OpenCV computes them (RGB2HSV_FULL, HSV2RGB_FULL), which MindSpore uses for arrays.
Source: OpenCV 4, modules/imgproc/src/color_hsv.simd.hpp. There and back again changes a pixel by up to some levels, as there.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from ...common.errors import ArgumentError
from ..operation import flag, operation

_LEVELS = np.arange(1, 256)
_SATURATIONS = np.concatenate([[0], np.rint((255 << 12) / _LEVELS)]).astype(np.int64)      # 255 / i in 1/4096
_HUES = np.concatenate([[0], np.rint((256 << 12) / (6 * _LEVELS))]).astype(np.int64)       # 256 / (6 i) in 1/4096
_SECTORS = np.array([[0, 3, 1], [2, 0, 1], [1, 0, 3], [1, 2, 0], [3, 1, 0], [0, 1, 2]])    # which of four numbers is r, g, b


def to_hsv(image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(hue, saturation, value), whole numbers in [0, 255]. image : uint8 [.., 3]"""
    red, green, blue = (image[..., k].astype(np.int64) for k in range(3))
    value = np.maximum(np.maximum(red, green), blue)
    span = value - np.minimum(np.minimum(red, green), blue)
    saturation = (span * _SATURATIONS[value] + 2048) >> 12
    turn = np.where(value == red, green - blue, np.where(value == green, blue - red + 2 * span, red - green + 4 * span))
    hue = (turn * _HUES[span] + 2048) >> 12
    return np.clip(hue + 256 * (hue < 0), 0, 255), saturation, value


def from_hsv(hue: np.ndarray, saturation: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The bytes [.., 3]; fractions are cut off."""
    turn, s, v = hue * (6 / 255) % 6, saturation / 255, value / 255
    sector = turn.astype(np.int64)
    turn -= sector
    four = np.stack([v, v * (1 - s), v * (1 - s * turn), v * (1 - s * (1 - turn))], -1)
    return np.floor(np.take_along_axis(four, _SECTORS[sector], -1) * 255 + 1e-5).astype(np.uint8)


def _channels_last(image: Any, is_hwc: bool, name: str) -> tuple[np.ndarray, np.dtype]:
    """(numbers in float64, the channels last; the dtype of the result: a float's own, else float64)"""
    if not isinstance(image, (np.ndarray, Image.Image)):
        raise ArgumentError(f"{name}: img should be NumPy or PIL image. Got {type(image)}.")
    image = np.asarray(image)
    if image.ndim not in (3, 4):
        raise ArgumentError(f"{name}: img shape should be (H, W, C)/(N, H, W, C)/(C, H, W)/(N, C, H, W). Got {image.shape}.")
    planes = image if is_hwc else np.moveaxis(image, -3, -1)
    if planes.shape[-1] != 3:
        raise ArgumentError(f"{name}: img should be 3 channels RGB img. Got {planes.shape[-1]} channels.")
    return planes.astype(np.float64), image.dtype if image.dtype.kind == "f" else np.dtype(np.float64)


def _placed(planes: list[np.ndarray], dtype: np.dtype, is_hwc: bool) -> np.ndarray:
    return np.stack(planes, -1 if is_hwc else -3).astype(dtype, copy=False)


@operation(is_hwc=flag)
def RgbToHsv(image, /, is_hwc=False):
    """Hue, saturation and value of red, green, blue in [0, 1] (Smith 1978): floats of the image's dtype, of others float64."""
    rgb, dtype = _channels_last(image, is_hwc, "RgbToHsv")
    value, spread = rgb.max(-1), np.ptp(rgb, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rc, gc, bc = ((value - rgb[..., k]) / spread for k in range(3))
        hue = np.where(rgb[..., 0] == value, bc - gc, np.where(rgb[..., 1] == value, 2 + rc - bc, 4 + gc - rc)) / 6 % 1
        saturation = np.where(spread == 0, 0, spread / value)
    return _placed([np.where(spread == 0, 0, hue), saturation, value], dtype, is_hwc)


@operation(is_hwc=flag)
def HsvToRgb(image, /, is_hwc=False):
    """Red, green, blue of hue, saturation and value in [0, 1]: floats of the image's dtype, of others float64."""
    hsv, dtype = _channels_last(image, is_hwc, "HsvToRgb")
    hue, saturation, value = hsv[..., 0], hsv[..., 1], hsv[..., 2]
    part = hue * 6.0 - np.trunc(hue * 6.0)
    p, q, t = value * (1 - saturation), value * (1 - saturation * part), value * (1 - saturation * (1 - part))
    with np.errstate(invalid="ignore"):                      # a hue that is no number has any sector
        sector = np.trunc(hue * 6.0).astype(int) % 6
    return _placed([np.choose(sector, choices) for choices in (
        (value, q, p, p, t, value), (t, value, value, q, p, p), (p, p, t, value, value, q))], dtype, is_hwc)
