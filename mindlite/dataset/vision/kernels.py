"""Loops over pixels as machine code ("pixels" of a Target): bytes in another size, normalised, mirrored.

    if byte_image(image): return linear_bytes(image, 224, 224)          the bits of the NumPy text that follows there
"""
from __future__ import annotations

import ctypes
from typing import Any, Callable

import numpy as np

from ...backend.target import current
from ...common.once import once


@once
def _function(kind: str, channels: int, planes: bool = False) -> tuple[Callable, Any]:
    """(the C function of a kernel, what keeps it)"""
    kernel = current().library_kernel("pixels", kind=kind, dtype="uint8", channels=channels, planes=planes)
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(kernel.address), kernel


def _run(function: tuple[Callable, Any], end: int, *arguments: int) -> None:
    function[0]((ctypes.c_int64 * len(arguments))(*arguments), 0, end)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def byte_image(image: np.ndarray) -> bool:
    """True for bytes (height, width, 1 or 3) whose rows lie as they are read."""
    return image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] in (1, 3) and image.size > 0 and \
        image.strides[1:] == (image.shape[2], 1)


def linear_bytes(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """OpenCV's linear interpolation of bytes: columns first, then rows, rounded to 1/4 and to 1. image : see `byte_image`"""
    channels = image.shape[2]
    out = np.empty((height, width, channels), np.uint8)
    work = np.empty(2 * width + 2 * width + 2 * width * channels, np.int32)
    _run(_function("linear", channels), 1, _address(image), image.strides[0], *image.shape[:2], _address(out), height, width,
         _address(work))
    return out


def normalised(image: np.ndarray, mean: Any, std: Any, planes: bool, out: np.ndarray | None = None) -> np.ndarray:
    """(x - mean) / std by channel, in float32. image : see `byte_image`;  planes : channels first in the result

    out : where to write it, one block of memory
    """
    height, width, channels = image.shape
    if out is None:
        out = np.empty((channels, height, width) if planes else image.shape, np.float32)
    shares = np.empty((2, channels), np.float32)
    shares[0], shares[1] = mean, std
    _run(_function("normalised", channels, planes), height, _address(image), image.strides[0], height, width, _address(out),
         _address(shares))
    return out


def mirrored(image: np.ndarray) -> np.ndarray:
    """Left and right exchanged. image : see `byte_image`"""
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    _run(_function("mirrored", channels), height, _address(image), image.strides[0], width, _address(out))
    return out
