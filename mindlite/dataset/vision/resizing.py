"""Other sizes of arrays: the interpolations of OpenCV, which MindSpore uses for arrays, as weights of neighbours in NumPy.

    out[i] = sum_k weight[i, k] * row[index[i, k]], first along the height, then along the width

LINEAR samples without a filter against aliasing, with weights in 1/2048 for bytes; AREA averages; PIL images, and PILCUBIC, are
Pillow's, whose filters grow with the scale.
"""
from __future__ import annotations

import functools

import numpy as np
from PIL import Image

from ...common.lazy import LazyModule
from ..operation import DataError, as_pil
from .kinds import RESAMPLING, Inter, known

kernels = LazyModule("mindlite.dataset.vision.kernels")
_BITS = 2048                             # OpenCV's weights for bytes are whole numbers of this


def is_linear(image: np.ndarray, height: int, width: int) -> bool:
    """True if `resize_array` by LINEAR mixes neighbours: it copies an image of that size, and halves one by the mean of four."""
    return image.shape[:2] not in ((height, width), (2 * height, 2 * width))


def resize_array(image: np.ndarray, height: int, width: int, how: Inter) -> np.ndarray:
    """The image, (h, w) or (h, w, c), in another size."""
    colours = image.ndim == 3 and image.shape[2] == 3
    known(how, "arrays", Inter.NEAREST, Inter.LINEAR, Inter.CUBIC, Inter.AREA, *[Inter.PILCUBIC] * colours)
    if image.shape[:2] == (height, width):
        return image.copy()
    if how == Inter.PILCUBIC:
        if image.dtype != np.uint8:
            raise DataError(f"Resize: PILCUBIC is for images of uint8, got {image.dtype}; use CUBIC, or ToType.")
        return resize_pil(as_pil(image), height, width, how)
    if how == Inter.NEAREST:
        rows, columns = (_nearest(have, want) for have, want in ((image.shape[0], height), (image.shape[1], width)))
        if kernels.byte_image(image) or kernels.float_image(image):
            return kernels.nearest(image, rows, columns)
        return image.take(rows, 0).take(columns, 1)
    if how == Inter.LINEAR and not is_linear(image, height, width):
        how = Inter.AREA                 # OpenCV's
    if how == Inter.LINEAR and kernels.byte_image(image):
        return kernels.linear_bytes(image, height, width)
    grows = height > image.shape[0] or width > image.shape[1]
    vertical, horizontal = (_weights(have, want, how, grows) for have, want in zip(image.shape, (height, width)))
    if image.dtype == np.uint8 and (how == Inter.LINEAR or how == Inter.AREA and grows):
        return _linear_bytes(image, vertical, horizontal)
    if kernels.byte_image(image) or kernels.float_image(image):
        return kernels.resampled(image, vertical, horizontal)
    found = _along(_along(image.astype(np.float32), horizontal, 1), vertical, 0)
    if image.dtype.kind in "iu":
        limits = np.iinfo(image.dtype)
        return np.clip(np.rint(found), limits.min, limits.max).astype(image.dtype)
    return found.astype(image.dtype)


def resize_pil(image: Image.Image, height: int, width: int, how: Inter) -> np.ndarray:
    """Pillow's."""
    return np.asarray(image.resize((width, height), RESAMPLING[how]))


def _nearest(have: int, want: int) -> np.ndarray:
    return np.minimum(np.floor(np.arange(want) * (have / want)).astype(np.int64), have - 1)


@functools.lru_cache(maxsize=256)
def _weights(have: int, want: int, how: Inter, grows: bool) -> tuple[np.ndarray, np.ndarray]:
    """(indices [want, k], weights [want, k] in float32) of the neighbours of each new row. grows : one of the two sizes grows"""
    scale = have / want
    if how == Inter.AREA and not grows:
        return _areas(have, want, scale)
    if how == Inter.AREA:                # linear between the cells' borders, along both axes
        base = np.floor(np.arange(want) * scale).astype(np.int64)
        part = (np.arange(want) + 1) - (base + 1) / scale
        part = np.where(part <= 0, 0, part - np.floor(part)).astype(np.float32)
        offsets: tuple = (0, 1)
        weights = np.stack([1 - part, part], -1)
    else:
        position = ((np.arange(want) + 0.5) * scale - 0.5).astype(np.float32)
        base = np.floor(position).astype(np.int64)
        part = (position - base).astype(np.float32)
        if how == Inter.LINEAR:
            part = np.where((base < 0) | (base >= have - 1), np.float32(0), part)
            base = np.clip(base, 0, have - 1)
            offsets, weights = (0, 1), np.stack([1 - part, part], -1)
        else:                            # cubic convolution with a = -0.75
            a, offsets = np.float32(-0.75), (-1, 0, 1, 2)
            x, y = part + 1, 1 - part
            first = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
            second = ((a + 2) * part - (a + 3)) * part * part + 1
            third = ((a + 2) * y - (a + 3)) * y * y + 1
            weights = np.stack([first, second, third, 1 - first - second - third], -1)
    return np.clip(base[:, None] + np.array(offsets), 0, have - 1), weights.astype(np.float32)


def _areas(have: int, want: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    starts, ends = np.arange(want) * scale, np.minimum((np.arange(want) + 1) * scale, have)
    first = np.floor(starts).astype(np.int64)
    index = first[:, None] + np.arange(int(np.ceil(scale)) + 1)
    overlap = np.minimum(index + 1, ends[:, None]) - np.maximum(index, starts[:, None])
    weights = np.maximum(overlap, 0) / (ends - starts)[:, None]
    return np.minimum(index, have - 1), weights.astype(np.float32)


def _along(image: np.ndarray, weights: tuple[np.ndarray, np.ndarray], axis: int) -> np.ndarray:
    index, factor = weights
    shape = [1] * image.ndim
    shape[axis] = len(index)
    total = None
    for k in range(index.shape[1]):
        part = image.take(index[:, k], axis) * factor[:, k].reshape(shape)
        total = part if total is None else np.add(total, part, out=total)
    return total                                             # type: ignore[return-value]


def _linear_bytes(image: np.ndarray, vertical: tuple, horizontal: tuple) -> np.ndarray:
    """OpenCV's arithmetic in whole numbers: columns first, then rows, rounded to 1/4 and to 1."""
    columns, across = horizontal[0], np.rint(horizontal[1] * _BITS).astype(np.int32)
    rows, down = vertical[0], np.rint(vertical[1] * _BITS).astype(np.int32)
    used, position = np.unique(rows, return_inverse=True)
    position = position.reshape(rows.shape)
    wide = image[used].astype(np.int32)
    tail = (1,) * (image.ndim - 2)
    mixed = wide.take(columns[:, 0], 1) * across[:, 0].reshape(-1, *tail)
    mixed += wide.take(columns[:, 1], 1) * across[:, 1].reshape(-1, *tail)
    mixed >>= 4
    shape = (-1, 1, *tail)
    upper = (mixed[position[:, 0]] * down[:, 0].reshape(shape)) >> 16
    upper += (mixed[position[:, 1]] * down[:, 1].reshape(shape)) >> 16
    upper += 2
    upper >>= 2
    return upper.astype(np.uint8)
