"""Resizing pictures [N, C, H, W] by interpolation: each axis is a product with a matrix of weights, so it is linear.

Rows of the matrix: out[i] = sum_j weights[i, j] x[j], two neighbours for "bilinear", one for "nearest". Boxes of
pictures, whose positions depend on data, are read with gather.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Ints
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.primitive import planned
from .arithmetic import ceil, clamp, floor
from .axes import as_known_int
from .basic import cast, reshape
from .creation import arange
from .define import as_operand, cast_to, dtype_of
from .linalg import matmul
from .logic import logical_and, where
from .structure import swapaxes


def _positions(n, size, align_corners, half_pixel_centers):
    """Where the outputs lie among the inputs."""
    i = np.arange(size, dtype=np.float64)
    if align_corners:
        return i * ((n - 1) / (size - 1) if size > 1 else 0)
    return np.maximum((i + 0.5) * (n / size) - 0.5, 0) if half_pixel_centers else i * (n / size)


def weights_of(mode, n, size, align_corners=False, half_pixel_centers=False):
    """The matrix [size, n] of an axis, float32. raises : ValueRangeError for another mode"""
    positions, made = _positions(n, size, align_corners, half_pixel_centers), np.zeros((size, n), np.float32)
    rows = np.arange(size)
    if mode == "nearest":
        if half_pixel_centers:
            positions = np.floor((rows + 0.5) * (n / size))
        chosen = np.floor(positions + 0.5) if align_corners else np.floor(positions)
        made[rows, np.minimum(chosen.astype(int), n - 1)] = 1
        return made
    if mode == "bicubic":
        return _cubic(made, (rows + 0.5) * (n / size) - 0.5 if half_pixel_centers else positions, half_pixel_centers)
    if mode != "bilinear":
        raise ValueRangeError(f"resize: mode is 'nearest', 'bilinear' or 'bicubic', not {mode!r}")
    below = np.minimum(np.floor(positions).astype(int), n - 1)
    above, part = np.minimum(below + 1, n - 1), positions - below
    np.add.at(made, (rows, below), 1 - part)
    np.add.at(made, (rows, above), part)
    return made


def _cubic(made, positions, half_pixel_centers):
    """Four points by the cubic of Keys 1981: a = -3/4, points outside are the last one; with half_pixel_centers a = -1/2, and
    points outside do not count."""
    a, n, rows = -0.5 if half_pixel_centers else -0.75, made.shape[1], np.arange(made.shape[0])
    below = np.floor(positions).astype(int)
    for k in range(-1, 3):
        d, point = np.abs(positions - below - k), below + k
        near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        weight = np.where(d <= 1, near, far)
        if half_pixel_centers:
            weight = np.where((point >= 0) & (point < n), weight, 0.0)
        np.add.at(made, (rows, np.clip(point, 0, n - 1)), weight)
    return made / made.sum(1, keepdims=True) if half_pixel_centers else made


def _matrices(name, shape, size, mode, align_corners, half_pixel_centers):
    if len(shape) != 4:
        raise ArgumentError(f"{name}: a tensor [N, C, H, W] is wanted", note=f"x: {list(shape)}")
    return [weights_of(mode, as_known_int(name, n), as_known_int(name, m), align_corners, half_pixel_centers)
            for n, m in zip(shape[2:], size)]


@planned
def resize(x: Tensor, size: Ints, mode: str = "bilinear", align_corners: bool = False,
           half_pixel_centers: bool = False) -> Tensor:
    """x[N, C, H, W] interpolated to the spatial `size` (two ints).

    mode              : "nearest", "bilinear" or "bicubic"
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


@planned
def crop_and_resize(image: Tensor, boxes: Tensor, box_indices: Tensor, crop_size: Sequence[int], method: str = "bilinear",
                    extrapolation_value: float = 0.0) -> Tensor:
    """Boxes of pictures, each interpolated to `crop_size`: [boxes, height, width, C], float32.

    image       : [N, H, W, C];   boxes: float[boxes, 4] of (y1, x1, y2, x2), 1 being the last row or column
    box_indices : int[boxes], the picture of each;   method: "bilinear" or "nearest"
    outside of the picture stands extrapolation_value
    raises      : ArgumentError for other ranks, ValueRangeError for another method
    """
    x, boxes, chosen = cast(as_operand(image), dtype=dt.float32), as_operand(boxes), as_operand(box_indices)
    if x.ndim != 4 or boxes.ndim != 2 or chosen.ndim != 1:
        raise ArgumentError("crop_and_resize: an image [N, H, W, C], boxes [n, 4] and box_indices [n] are wanted",
                            note=f"{list(x.shape)}, {list(boxes.shape)}, {list(chosen.shape)}")
    if method not in ("bilinear", "nearest"):
        raise ValueRangeError(f"crop_and_resize: method is 'bilinear' or 'nearest', not {method!r}")
    rows, in_height = _along(boxes[:, 0], boxes[:, 2], x.shape[1], crop_size[0])
    columns, in_width = _along(boxes[:, 1], boxes[:, 3], x.shape[2], crop_size[1])
    count, chosen = boxes.shape[0], reshape(chosen, shape=(-1, 1, 1))

    def read(row, column):
        return x[chosen, reshape(row, shape=(count, -1, 1)), reshape(column, shape=(count, 1, -1))]
    if method == "nearest":
        out = read(*[cast(floor(positions + 0.5), dtype=dt.int32) for positions in (rows, columns)])
    else:
        (top, bottom), (left, right) = ([cast(end(positions), dtype=dt.int32) for end in (floor, ceil)]
                                        for positions in (rows, columns))
        down = reshape(rows - floor(rows), shape=(count, -1, 1, 1))
        across = reshape(columns - floor(columns), shape=(count, 1, -1, 1))
        upper = read(top, left) + (read(top, right) - read(top, left)) * across
        lower = read(bottom, left) + (read(bottom, right) - read(bottom, left)) * across
        out = upper + (lower - upper) * down
    inside = logical_and(reshape(in_height, shape=(count, -1, 1, 1)), reshape(in_width, shape=(count, 1, -1, 1)))
    return where(inside, out, extrapolation_value)


def _along(first, last, n, size):
    """(the positions of `size` points from each box's first to last, kept inside an axis of n; where they were inside)."""
    first, last = (reshape(end, shape=(-1, 1)) * (n - 1) for end in (first, last))
    positions = first + (last - first) * (arange(size) / (size - 1)) if size > 1 else (first + last) * 0.5
    return clamp(positions, 0, n - 1), logical_and(positions >= 0, positions <= n - 1)
