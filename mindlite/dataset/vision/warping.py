"""Maps of the plane: arrays as OpenCV maps them, which MindSpore uses for arrays; PIL images as Pillow does it.

    out[y, x] = image at inverse(x, y), between pixels by NEAREST, BILINEAR or BICUBIC

OpenCV counts from the middle of the first pixel, takes places in 1/32 of a pixel, and mixes pixels at the border with the fill
value. Pillow counts from the corner of the first pixel. Source: OpenCV 4, modules/imgproc/src/imgwarp.cpp (warpAffine,
warpPerspective, remap).
"""
from __future__ import annotations

import functools
from typing import Any, Sequence

import numpy as np
from PIL import Image

from ...common.lazy import LazyModule
from ..operation import as_pil
from .kinds import RESAMPLING, Inter, known

kernels = LazyModule("mindlite.dataset.vision.kernels")
_PARTS, _FINE = 32, 1024                 # a pixel has 32 places; an affine map is summed up in 1/1024 of a pixel
Places = tuple[np.ndarray, np.ndarray]   # (x, y) of each pixel of the result: whole pixels, or 1/32 of them


def warped(image: np.ndarray, size: tuple[int, int], inverse: Sequence[float], how: Inter, value: Any = 0) -> np.ndarray:
    """The array of `size` (height, width) whose pixel at p comes from the point that `inverse` maps p to.

    inverse : six numbers of an affine map, counted from the corner of the first pixel; or eight of a perspective one, counted
              from its middle
    value   : what stands outside: a number, or one for each of the first three channels; 0 in a fourth, which is transparent
    """
    known(how, "arrays", Inter.NEAREST, Inter.LINEAR, Inter.CUBIC, Inter.AREA, *[Inter.PILCUBIC] * (len(inverse) == 8))
    nearest, affine = how == Inter.NEAREST, len(inverse) == 6
    planes = image if image.ndim == 3 else image[..., None]
    channels = planes.shape[2]
    filling = np.zeros(channels)
    filling[:3] = value if np.ndim(value) == 0 else value[:channels]
    if planes.dtype.kind in "iu":
        limits = np.iinfo(planes.dtype)
        filling = np.clip(np.rint(filling), limits.min, limits.max)
    if kernels.byte_image(planes) or kernels.float_image(planes):
        places = np.concatenate(_parts_of_affine(size, inverse, nearest)) if affine else np.array(inverse, np.float64)
        weights = None if nearest else _weights(how in (Inter.BICUBIC, Inter.PILCUBIC))
        out = kernels.warped(planes, size, places, filling.astype(planes.dtype), weights)
        return out if image.ndim == 3 else out[..., 0]
    x, y = (_affine if affine else _perspective)(size, inverse, nearest)
    framed = np.empty((planes.shape[0] + 2, planes.shape[1] + 2, planes.shape[2]), planes.dtype)
    framed[...] = filling
    framed[1:-1, 1:-1] = planes
    if nearest:
        out = _taken(framed, x, y)
    else:
        out = _mixed(framed, x, y, _weights(how in (Inter.BICUBIC, Inter.PILCUBIC)))
    return out if image.ndim == 3 else out[..., 0]


def _parts_of_affine(size: tuple[int, int], inverse: Sequence[float], nearest: bool) -> Places:
    """Where rows begin, then what columns add to that, in 1/1024 of a pixel and with half of what is cut off."""
    a, b, c, d, e, f = inverse
    c, f = c + (a + b - 1) / 2, f + (d + e - 1) / 2
    across, down = np.arange(size[1]), np.arange(size[0])
    half = _FINE // 2 if nearest else _FINE // _PARTS // 2

    def places(step: float, slope: float, start: float) -> np.ndarray:
        row = np.rint((slope * down + start) * _FINE).astype(np.int64) + half
        return np.concatenate([row, np.rint(step * across * _FINE).astype(np.int64)])
    return places(a, b, c), places(d, e, f)


def _affine(size: tuple[int, int], inverse: Sequence[float], nearest: bool) -> Places:
    shift = 10 if nearest else 5
    x, y = ((part[:size[0], None] + part[size[0]:]) >> shift for part in _parts_of_affine(size, inverse, nearest))
    return x, y


def _perspective(size: tuple[int, int], inverse: Sequence[float], nearest: bool) -> Places:
    a, b, c, d, e, f, g, h = inverse
    x, y = np.arange(size[1]), np.arange(size[0])[:, None]
    below = g * x + h * y + 1
    factor = np.divide(1 if nearest else _PARTS, below, out=np.zeros_like(below), where=below != 0)
    return tuple(np.rint(np.clip(up * factor, -2.0 ** 31, 2.0 ** 31 - 1)).astype(np.int64)      # type: ignore[return-value]
                 for up in (a * x + b * y + c, d * x + e * y + f))


def _taken(framed: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The pixels at whole places; those outside are in the frame."""
    return framed[np.clip(y + 1, 0, framed.shape[0] - 1), np.clip(x + 1, 0, framed.shape[1] - 1)]


@functools.cache
def _weights(cubic: bool) -> np.ndarray:
    """[place between pixels, neighbour] in float32."""
    part = np.arange(_PARTS, dtype=np.float32) / _PARTS
    if not cubic:
        return np.stack([1 - part, part], 1)
    a, x, y = np.float32(-0.75), part + 1, 1 - part
    first = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    second = ((a + 2) * part - (a + 3)) * part * part + 1
    third = ((a + 2) * y - (a + 3)) * y * y + 1
    return np.stack([first, second, third, 1 - first - second - third], 1)


def _mixed(framed: np.ndarray, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Neighbours by their weights, the filling where all are outside; whole numbers are rounded, halves up."""
    across, down = weights[x % _PARTS], weights[y % _PARTS]
    first = 1 - weights.shape[1] // 2                        # of two neighbours 0, of four -1
    x, y = x // _PARTS + first, y // _PARTS + first
    kind = np.float64 if framed.dtype == np.float64 else np.float32
    total = np.zeros((*x.shape, framed.shape[2]), kind)
    for i in range(weights.shape[1]):
        for j in range(weights.shape[1]):
            total += (down[..., i] * across[..., j])[..., None] * _taken(framed, x + j, y + i)
    taps, (tall, wide) = weights.shape[1], framed.shape[:2]
    outside = (x + taps <= 0) | (x >= wide - 2) | (y + taps <= 0) | (y >= tall - 2)
    total[outside] = framed[0, 0]
    if framed.dtype.kind not in "iu":
        return total.astype(framed.dtype)
    limits = np.iinfo(framed.dtype)
    return np.clip(np.floor(total + 0.5), limits.min, limits.max).astype(framed.dtype)


def warped_pil(image: Image.Image, size: tuple[int, int], inverse: Sequence[float], how: Inter, value: Any = 0) -> Image.Image:
    """Pillow's; all maps are counted from the corner of the first pixel."""
    known(how, "PIL images", Inter.NEAREST, Inter.LINEAR, Inter.CUBIC)
    kind, resample = Image.Transform.AFFINE if len(inverse) == 6 else Image.Transform.PERSPECTIVE, RESAMPLING[how]
    array = np.asarray(image)
    channels = [array[..., c] for c in range(array.shape[2])] if array.ndim == 3 else [array]
    values = value if isinstance(value, (tuple, list)) else (value,) * len(channels)
    made = [np.asarray(as_pil(channel).transform((size[1], size[0]), kind, inverse, resample, fillcolor=v))
            for channel, v in zip(channels, values)]
    return as_pil(np.stack(made, -1) if array.ndim == 3 else made[0])
