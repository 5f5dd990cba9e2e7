"""Resizing pictures [N, C, H, W] by interpolation: each axis is a product with a matrix of weights, so it is linear.

Rows of the matrix: out[i] = sum_j weights[i, j] x[j], two neighbours for "bilinear", one for "nearest".
"""
import numpy as np

from ..common.errors import ArgumentError, ValueRangeError
from .axes import as_size
from .define import as_operand, cast_to, dtype_of
from .linalg import matmul
from .structure import swapaxes


def _places(n, size, align_corners, half_pixel_centers):
    """Where the outputs lie among the inputs."""
    i = np.arange(size, dtype=np.float64)
    if align_corners:
        return i * ((n - 1) / (size - 1) if size > 1 else 0)
    return np.maximum((i + 0.5) * (n / size) - 0.5, 0) if half_pixel_centers else i * (n / size)


def weights_of(mode, n, size, align_corners=False, half_pixel_centers=False):
    """The matrix [size, n] of an axis, float32. raises : ValueRangeError for another mode"""
    places, made = _places(n, size, align_corners, half_pixel_centers), np.zeros((size, n), np.float32)
    rows = np.arange(size)
    if mode == "nearest":
        if half_pixel_centers:
            places = np.floor((rows + 0.5) * (n / size))
        chosen = np.floor(places + 0.5) if align_corners else np.floor(places)
        made[rows, np.minimum(chosen.astype(int), n - 1)] = 1
        return made
    if mode != "bilinear":
        raise ValueRangeError(f"resize: mode is 'nearest' or 'bilinear', not {mode!r}")
    below = np.minimum(np.floor(places).astype(int), n - 1)
    above, part = np.minimum(below + 1, n - 1), places - below
    np.add.at(made, (rows, below), 1 - part)
    np.add.at(made, (rows, above), part)
    return made


def _matrices(name, shape, size, mode, align_corners, half_pixel_centers):
    if len(shape) != 4:
        raise ArgumentError(f"{name}: a tensor [N, C, H, W] is wanted", note=f"x: {list(shape)}")
    return [weights_of(mode, as_size(name, n), as_size(name, m), align_corners, half_pixel_centers)
            for n, m in zip(shape[2:], size)]


def resize(x, size, mode="bilinear", align_corners=False, half_pixel_centers=False):
    """x[N, C, H, W] interpolated to the spatial `size` (two ints).

    align_corners     : the first and last points of input and output coincide
    half_pixel_centers: points are the centres of pixels
    """
    x = as_operand(x)
    down, across = _matrices("resize", x.shape, size, mode, align_corners, half_pixel_centers)
    return matmul(matmul(cast_to(down, dtype_of(x)), x), swapaxes(cast_to(across, dtype_of(x)), 0, 1))


def resize_backward(dout, x, mode="bilinear", align_corners=False, half_pixel_centers=False):
    """The gradient of resize for x."""
    down, across = _matrices("resize", x.shape, dout.shape[2:], mode, align_corners, half_pixel_centers)
    return matmul(matmul(swapaxes(cast_to(down, dtype_of(dout)), 0, 1), dout), cast_to(across, dtype_of(dout)))
