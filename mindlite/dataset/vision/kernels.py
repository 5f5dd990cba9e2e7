"""Loops over pixels as machine code ("pixels" of a Target): bytes in another size, normalised, mirrored, in other colours.

    if byte_image(image): return linear_bytes(image, 224, 224)          the bits of the NumPy text that follows there
"""
from __future__ import annotations

import ctypes
from typing import Any, Callable

import numpy as np

from ...backend.target import current
from ...common.once import once


@once
def _function(kind: str, channels: int, *facts: Any) -> tuple[Callable, Any]:
    """(the C function of a kernel, what keeps it)"""
    kernel = current().library_kernel("pixels", kind=kind, dtype="uint8", channels=channels, facts=facts)
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(kernel.address), kernel


def _run(function: tuple[Callable, Any], end: int, *arguments: int) -> None:
    function[0]((ctypes.c_int64 * len(arguments))(*arguments), 0, end)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def byte_image(image: np.ndarray, either_way: bool = False) -> bool:
    """True for bytes (height, width, 1 or 3) whose rows lie as they are read. either_way : or from right to left"""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (1, 3) or not image.size:
        return False
    return _in_rows(image, either_way)


def float_image(image: np.ndarray) -> bool:
    """True for float32 (height, width, 1 or 3) whose rows lie as they are read."""
    return image.dtype == np.float32 and image.ndim == 3 and image.shape[2] in (1, 3) and image.size > 0 and \
        _in_rows(image, False) and not image.strides[0] % 4


def _in_rows(image: np.ndarray, either_way: bool) -> bool:
    across, channels = image.strides[1] // image.itemsize, image.shape[2]
    return (across == channels or either_way and across == -channels) and image.strides[1:] == (across * image.itemsize,
                                                                                               image.itemsize)


def linear_bytes(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """OpenCV's linear interpolation of bytes: columns first, then rows, rounded to 1/4 and to 1. image : see `byte_image`"""
    channels = image.shape[2]
    out = np.empty((height, width, channels), np.uint8)
    work = np.empty((4 + channels) * width + 4, np.int32)
    _run(_function("linear", channels), 1, _address(image), image.strides[0], *image.shape[:2], _address(out), height, width,
         _address(work))
    return out


def sampled(image: np.ndarray, height: int, width: int, mirror: bool, mean: Any, std: Any, out: np.ndarray | None) -> np.ndarray:
    """`linear_bytes`, `mirrored` or not, and `normalised` in planes, at once. image : see `byte_image`, three channels

    out : where to write it if it fits, one block of memory
    """
    if out is None or out.shape != (3, height, width) or out.dtype != np.float32:
        out = np.empty((3, height, width), np.float32)
    work, shares = np.empty(12 * width + 64, np.int32), np.empty((2, 3), np.float32)
    shares[0], shares[1] = mean, std
    _run(_function("sampled", 3, mirror), 1, _address(image), image.strides[0], *image.shape[:2], _address(out), height, width,
         _address(shares), _address(work))
    return out


def normalised(image: np.ndarray, mean: Any, std: Any, planes: bool, out: np.ndarray | None = None) -> np.ndarray:
    """(x - mean) / std by channel, in float32. image : see `byte_image`, either way;  planes : channels first in the result

    out : where to write it if it fits, one block of memory
    """
    height, width, channels = image.shape
    shape = (channels, height, width) if planes else image.shape
    if out is None or out.shape != shape or out.dtype != np.float32:
        out = np.empty(shape, np.float32)
    shares = np.empty((2, channels), np.float32)
    shares[0], shares[1] = mean, std
    backwards = image.strides[1] < 0
    begin = _address(image) - (width - 1) * channels if backwards else _address(image)
    _run(_function("normalised", channels, planes, backwards), height, begin, image.strides[0], height, width, _address(out),
         _address(shares))
    return out


def mirrored(image: np.ndarray) -> np.ndarray:
    """Left and right exchanged. image : see `byte_image` and `float_image`"""
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    _run(_function("mirrored", channels * image.itemsize), height, _address(image), image.strides[0], width, _address(out))
    return out


def reordered(image: np.ndarray, order: str) -> np.ndarray:
    """The channels in the order of the digits of `order`; A is 255, of floats 1. image : see `byte_image` and `float_image`"""
    height, width, channels = image.shape
    out = np.empty((height, width, len(order)), image.dtype)
    _run(_function("reordered", channels, order, image.dtype == np.float32), height, _address(image),
         image.strides[0] // image.itemsize, width, _address(out))
    return out


def sharpened(image: np.ndarray, factor: float) -> np.ndarray:
    """factor * image + (1 - factor) * a smoothed one; see "sharpened". image : see `byte_image` and `float_image`"""
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    shares = np.array([np.float32(factor), np.float32(1) - np.float32(factor)], np.float32)
    _run(_function("sharpened", channels, image.dtype == np.float32), height, _address(image), image.strides[0] // image.itemsize,
         height, width, _address(out), _address(shares))
    return out


def nearest(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Each pixel one of the image's, by its row and column, int64. image : see `byte_image` and `float_image`"""
    channels = image.shape[2]
    out = np.empty((len(rows), len(columns), channels), image.dtype)
    _run(_function("nearest", channels * image.itemsize), len(rows), _address(image), image.strides[0], _address(out),
         len(columns), _address(columns), _address(rows))
    return out


def grey(image: np.ndarray) -> np.ndarray:
    """The brightness of each pixel, (height, width). image : see `byte_image` and `float_image`, three channels"""
    height, width, channels = image.shape
    out = np.empty((height, width), image.dtype)
    _run(_function("grey", channels, image.dtype == np.float32), height, _address(image), image.strides[0] // image.itemsize,
         width, _address(out))
    return out


def blended(image: np.ndarray, other: Any, factor: float) -> np.ndarray:
    """factor * image + (1 - factor) * other, rounded. image : see `byte_image` and `float_image`

    other : a number, or one of the image's dtype for each pixel or for each channel of it
    """
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    how = "one" if np.ndim(other) == 0 else "same" if np.shape(other) == image.shape else "grey"
    second = np.ascontiguousarray(other, np.float32 if how == "one" else image.dtype)
    shares = np.array([np.float32(factor), np.float32(1) - np.float32(factor)], np.float32)
    _run(_function("blended", channels, how, image.dtype == np.float32), height, _address(image),
         image.strides[0] // image.itemsize, width, _address(out), _address(second), _address(shares))
    return out


def counted(image: np.ndarray) -> np.ndarray:
    """How often each value stands in each channel: int32 [channels, 256]. image : see `byte_image`"""
    height, width, channels = image.shape
    counts = np.zeros((channels, 256), np.int32)
    _run(_function("counted", channels), 1, _address(image), image.strides[0], height, width, _address(counts))
    return counts


def looked_up(image: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Each byte by the table of its channel. image : see `byte_image`;  tables : uint8 [channels, 256]"""
    height, width, channels = image.shape
    out, tables = np.empty(image.shape, np.uint8), np.ascontiguousarray(tables)
    _run(_function("looked_up", channels), height, _address(image), image.strides[0], width, _address(out), _address(tables))
    return out


def turned(image: np.ndarray, shift: int) -> np.ndarray:
    """The hue moved. image : see `byte_image`, three channels;  shift : in [0, 256)"""
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    _run(_function("hue", channels), height, _address(image), image.strides[0], width, _address(out), shift)
    return out


def blurred(image: np.ndarray, across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Weights along the rows, then the columns; their halves are shorter than these. image : see `byte_image` and `float_image`

    across, down : in 1/256 for bytes
    """
    (height, width, channels), kind = image.shape, np.float32 if image.dtype == np.float32 else np.int32
    out, weights = np.empty(image.shape, image.dtype), np.concatenate([across, down]).astype(kind)
    work = np.empty((width + len(across)) * channels + (1 + height) * width * channels, kind)
    _run(_function("blurred", channels, kind is np.float32), 1, _address(image), image.strides[0] // image.itemsize, height,
         width, _address(out), _address(weights), len(across), len(down), _address(work))
    return out


def resampled(image: np.ndarray, vertical: tuple, horizontal: tuple) -> np.ndarray:
    """Another size by weights of neighbours: (indices int64 [n, k], weights float32 [n, k]).

    image : see `byte_image`, or float32 whose rows lie as they are read
    """
    (tall, wide, channels), height, width = image.shape, len(vertical[0]), len(horizontal[0])
    tables = [np.ascontiguousarray(part) for part in (*horizontal, *vertical)]
    out = np.empty((height, width, channels), image.dtype)
    work = np.empty(wide * channels + (1 + tall) * width * channels + 8, np.float32)
    columns, shares, rows, weights = map(_address, tables)
    _run(_function("resampled", channels, image.dtype == np.float32), 1, _address(image), image.strides[0] // image.itemsize,
         tall, wide, _address(out), height, width, columns, shares, tables[0].shape[1], rows, weights, tables[2].shape[1],
         _address(work))
    return out


def warped(image: np.ndarray, size: tuple[int, int], places: np.ndarray, filling: np.ndarray,
           weights: np.ndarray | None) -> np.ndarray:
    """The image of `size` whose pixels come from places; see "warped" of `pixels_kernel`. image : see `byte_image` and

    `float_image`;  filling : of its dtype

    places  : int64 of an affine map, float64 [8] of a perspective one
    weights : float32 [32, taps], None where each pixel is one of the image
    """
    height, width, channels = image.shape
    out, taps = np.empty((*size, channels), image.dtype), 1 if weights is None else weights.shape[1]
    _run(_function("warped", channels, taps, places.dtype == np.int64, image.dtype == np.float32), size[0], _address(image),
         image.strides[0] // image.itemsize, height, width, _address(out), *size, _address(places), _address(filling),
         0 if weights is None else _address(weights))
    return out
