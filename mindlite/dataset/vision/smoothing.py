"""GaussianBlur."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...common.errors import ArgumentError, ValueRangeError
from ...common.lazy import LazyModule
from ..operation import image_operation, items, number, optional, whole
from .colour import as_bytes

kernels = LazyModule("mindlite.dataset.vision.kernels")


def odd(value: Any, name: str) -> tuple[int, int]:
    """One odd number or (width, height)."""
    if isinstance(value, int):
        value = (value, value)
    if isinstance(value, (list, tuple)) and len(value) not in (1, 2):
        raise ArgumentError("Kernel size should be a single integer or a list/tuple (kernel_width, kernel_height) of length 2.")
    sizes = items(whole(1))(value, name)
    sizes = sizes * 2 if len(sizes) == 1 else sizes
    if any(n % 2 == 0 for n in sizes):
        raise ValueRangeError(f"{name} should be an odd number, but got {value}.")
    return sizes                                             # type: ignore[return-value]


def sigmas(value: Any, name: str) -> tuple:
    """One number or (width, height)."""
    if isinstance(value, (int, float)):
        value = (value, value)
    if isinstance(value, (list, tuple)) and len(value) not in (1, 2):
        raise ArgumentError("Sigma should be a single number or a list/tuple of length 2 for width and height.")
    found = items(number(0))(value, name)
    return found * 2 if len(found) == 1 else found


def gaussian(size: int, sigma: float) -> np.ndarray:
    """Weights that add up to 1."""
    weights = np.exp(-(np.arange(size) - size // 2) ** 2 / (2 * sigma * sigma))
    return weights / weights.sum()


def fixed_point(weights: np.ndarray) -> np.ndarray:
    """Weights in 1/256 that add up to 1, as OpenCV has them for bytes: what rounding leaves goes on to the next one."""
    whole, left = np.zeros(len(weights), np.int64), 0.0
    for k in range(len(weights) // 2):
        wanted = weights[k] * 256 + left
        whole[k] = whole[-1 - k] = np.rint(wanted)
        left = wanted - whole[k]
    whole[len(weights) // 2] = 256 - whole.sum()
    return whole


def neighbours(size: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(indices [size, k], weights [size, k] in float32) of what each place of an axis, mirrored at its ends, is mixed of."""
    half = len(weights) // 2
    index = np.pad(np.arange(size), half, "reflect")[np.arange(size)[:, None] + np.arange(len(weights))]
    return index, np.broadcast_to(weights.astype(np.float32), index.shape)


@image_operation(kernel_size=odd, sigma=optional(sigmas), pil=False)
def GaussianBlur(image, /, kernel_size, sigma=None):
    """Smoothed by a Gaussian. kernel_size : odd, or (width, height);  sigma : 0.3 ((width - 1) / 2 - 1) + 0.8 by default"""
    across, down = (gaussian(size, s or 0.3 * ((kernel_size[0] - 1) * 0.5 - 1) + 0.8)
                    for size, s in zip(kernel_size, sigma or (None, None)))
    if image.dtype == np.uint8:
        across, down = fixed_point(across), fixed_point(down)
    floats = kernels.float_image(image)
    if (floats or kernels.byte_image(image)) and len(across) // 2 < image.shape[1] and len(down) // 2 < image.shape[0]:
        return kernels.blurred(image, across, down)
    if floats:
        return kernels.resampled(image, neighbours(image.shape[0], down), neighbours(image.shape[1], across))
    found = image.astype(np.int64 if image.dtype == np.uint8 else np.float64)
    for axis, weights in ((1, across), (0, down)):
        half = len(weights) // 2
        padded = np.pad(found, [(half, half) if a == axis else (0, 0) for a in range(found.ndim)], "reflect")
        found = sum(w * np.take(padded, np.arange(found.shape[axis]) + k, axis) for k, w in enumerate(weights))
    return ((found + 32768) >> 16).astype(np.uint8) if image.dtype == np.uint8 else as_bytes(found, image)
