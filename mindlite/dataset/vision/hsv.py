"""Hue, saturation and value of bytes as OpenCV computes them (RGB2HSV_FULL, HSV2RGB_FULL), which MindSpore uses for arrays.

Source: OpenCV 4, modules/imgproc/src/color_hsv.simd.hpp. There and back again changes a pixel by up to some levels, as there.
"""
from __future__ import annotations

import numpy as np

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
