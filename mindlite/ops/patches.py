"""Windows of a picture as columns (im2col), the way back, and reading a picture between its points.

    unfold  x[N, C, H, W] -> [N, C * KH * KW, L]      column l holds window l, row by row of windows
    fold    the transpose of unfold: what overlaps is added

    grid_sample(x, grid)[n, c, i, j] = x[n, c] at the point grid[n, i, j] = (x, y), of which -1 and 1 are the borders

Sources: Chellapilla et al. 2006 (im2col); Jaderberg et al. 2015 (spatial transformers), section 3.3.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ..common import dtype as dt
from ..common.annotations import Ints
from ..common.errors import ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.constraints import require
from ..mindir.primitive import planned
from .arithmetic import abs, clamp, floor, maximum, minimum, round, sign
from .axes import as_flag, as_shape
from .basic import broadcast_to, cast, reduce_sum, reshape
from .creation import linspace, ones, zeros_like
from .define import as_operand, cast_to, dtype_of
from .indexing import scatter_elements_add
from .linalg import matmul
from .logic import logical_and, where
from .lookup import gather_elements
from .structure import cat, expand_dims, pad_constant, stack, swapaxes
from .windows import out_size, padding_of, pair


def _settings(name, sizes, kernel_size, dilation, padding, stride):
    """(kernel, dilation, padding (top, bottom, left, right), stride, numbers of windows)"""
    kernel, dilation, stride = (pair(name, what, v) for what, v in (
        ("kernel_size", kernel_size), ("dilation", dilation), ("stride", stride)))
    ends = padding_of(name, "pad", padding, sizes, kernel, stride, dilation)
    counts = tuple(out_size(name, n, k, s, ends[2 * a], ends[2 * a + 1], d)
                   for a, (n, k, s, d) in enumerate(zip(sizes, kernel, stride, dilation)))
    return kernel, dilation, ends, stride, counts


def patches(name, x, kernel_size, dilation, padding, stride):
    """x[N, C, H, W] -> [N, C, KH * KW, OH, OW]"""
    if x.ndim != 4:
        raise ShapeError(f"{name}: a tensor of four axes is wanted", note=f"input: {list(x.shape)}")
    kernel, dilation, (top, bottom, left, right), stride, counts = _settings(
        name, x.shape[2:], kernel_size, dilation, padding, stride)
    x = pad_constant(x, [(0, 0), (0, 0), (top, bottom), (left, right)])
    rows, columns = ([slice(i * d, i * d + (n - 1) * s + 1, s) for i in range(k)]
                     for k, d, s, n in zip(kernel, dilation, stride, counts))
    return stack([x[:, :, r, c] for r in rows for c in columns], 2)


@planned
def unfold(input: TensorLike, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """The windows of pictures as columns: [N, C, H, W] -> [N, C * KH * KW, L], L windows in row-major order.

    input       : Tensor [N, C, H, W] of any dtype
    kernel_size : int or two (height, width);     dilation, stride : the same, at least 1
    padding     : of zeros: int, two (vertical, horizontal) or four (top, bottom, left, right)
    raises      : ShapeError for other axes or where no window fits, ValueRangeError for a size below 1 or a negative padding
    """
    made = patches("unfold", as_operand(input), kernel_size, dilation, padding, stride)
    return reshape(made, shape=(made.shape[0], made.shape[1] * made.shape[2], made.shape[3] * made.shape[4]))


def _spread(x, axis, step):
    """step - 1 zeros behind each element along `axis`, but the last."""
    if step == 1:
        return x
    wide = expand_dims(x, axis + 1)
    ends = [(0, 0)] * wide.ndim
    ends[axis + 1] = (0, step - 1)
    shape = (*x.shape[:axis], x.shape[axis] * step, *x.shape[axis + 1:])
    return reshape(pad_constant(wide, ends), shape=shape)[(slice(None),) * axis + (slice(0, shape[axis] - step + 1),)]


@planned
def fold(input: TensorLike, output_size: Sequence[int], kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0,
         stride: Ints = 1) -> Tensor:
    """The picture whose windows are the columns of input, added where they overlap: the transpose of `unfold`.

    input  : Tensor [N, C * KH * KW, L]
    output_size : two ints, the picture
    kernel_size : int or two of them, (KH, KW)
    dilation, stride : int or two of them, 1 or more
    padding : int, two (vertical, horizontal) or four (top, bottom, left, right), 0 or more
    out    : Tensor [N, C, *output_size]
    raises : ShapeError where L is not the number of windows or KH KW does not divide the channels, ValueRangeError for other
             settings
    """
    x, sizes = as_operand(input), as_shape("fold", output_size)
    kernel, rates, ends, steps, counts = _settings("fold", sizes, kernel_size, dilation, padding, stride)
    if x.ndim != 3 or x.shape[2] != counts[0] * counts[1] or x.shape[1] % (kernel[0] * kernel[1]):
        raise ShapeError(f"fold: {counts[0]} x {counts[1]} windows of {kernel[0]} x {kernel[1]} do not fit the columns",
                         note=f"input: {list(x.shape)}")
    x = reshape(x, shape=(x.shape[0], x.shape[1] // (kernel[0] * kernel[1]), kernel[0] * kernel[1], *counts))
    x = _spread(_spread(x, 3, steps[0]), 4, steps[1])
    total: Any = 0
    for number, place in enumerate(itertools.product(*map(range, kernel))):
        room = [(0, 0), (0, 0)]
        for axis, (i, d, n) in enumerate(zip(place, rates, sizes)):
            before, after = ends[2 * axis:2 * axis + 2]
            room.append((i * d, n + before + after - i * d - x.shape[3 + axis]))
        total = total + pad_constant(x[:, :, number], room)
    return total[:, :, ends[0]:ends[0] + sizes[0], ends[2]:ends[2] + sizes[1]]


def padding(x: Tensor, pad_dim_size: int = 8) -> Tensor:
    """x[.., 1] with zeros up to pad_dim_size along the last axis. raises : ShapeError for another last axis"""
    x = as_operand(x)
    if x.ndim < 2 or x.shape[-1] != 1:
        raise ShapeError("padding: two axes at least are wanted, of which the last one has the size 1",
                         note=f"x: {list(x.shape)}")
    if isinstance(pad_dim_size, bool) or not isinstance(pad_dim_size, int) or pad_dim_size < 1:
        raise ValueRangeError(f"padding: pad_dim_size is a positive int, not {pad_dim_size!r}")
    return pad_constant(x, [(0, 0)] * (x.ndim - 1) + [(0, pad_dim_size - 1)])


# ---------------------------------------------------------------- points between the pixels

def _reflected(at, low, high):
    """Coordinates folded back into low .. high, as between two mirrors, and their slopes."""
    if low == high:
        return at * 0 + low, 0
    span = high - low
    inside = abs(at - low) % (2 * span)
    back = inside > span
    return where(back, 2 * span - inside, inside) + low, where(back, -1, 1) * sign(at - low)


def _points(x, grid, padding_mode, align_corners):
    """[(coordinates in pixels, their slopes by the grid's numbers)] along each axis of the picture."""
    points, axes = [], x.ndim - 2
    for axis, n in enumerate(x.shape[2:]):
        at, slope = grid[..., axes - 1 - axis], (n - 1) / 2 if align_corners else n / 2
        at = (at + 1) / 2 * (n - 1) if align_corners else ((at + 1) * n - 1) / 2
        if padding_mode == "reflection":
            at, turn = _reflected(at, 0, n - 1) if align_corners else _reflected(at, -0.5, n - 0.5)
            slope = slope * turn
        if padding_mode != "zeros":
            slope = where(logical_and(at >= 0, at <= n - 1), slope, 0)
            at = clamp(at, 0, n - 1)
        points.append((at, slope))
    return points


def _corners(points):
    """[(places, weights along each axis, slopes of these by the coordinates)] of the pixels around each point."""
    low = [floor(at) for at, _ in points]
    for corner in itertools.product((0, 1), repeat=len(points)):
        yield ([first + up for up, first in zip(corner, low)],
               [at - first if up else 1 - (at - first) for up, (at, _), first in zip(corner, points, low)],
               [1 if up else -1 for up in corner])


def _check_grid(x, grid, mode, padding_mode):
    axes = x.ndim - 2
    if axes not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != axes or x.shape[0] != grid.shape[0]:
        raise ShapeError("grid_sample: input[N, C, (D,) H, W] and a grid of as many axes are wanted, the last one of points",
                         note=f"input: {list(x.shape)}, grid: {list(grid.shape)}")
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border", "reflection"):
        raise ValueRangeError(f"grid_sample: no mode {mode!r}, or no padding_mode {padding_mode!r}")


@planned
def grid_sample(input: TensorLike, grid: TensorLike, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """input[N, C, (D,) H, W] at the points grid[N, .., k], whose last axis is (x, y) or (x, y, z) in [-1, 1].

    mode          : "bilinear" (in 3 dimensions: trilinear) or "nearest"
    padding_mode  : outside of the picture "zeros", "border" (the nearest pixel), or "reflection"
    align_corners : -1 and 1 are the centres of the outer pixels; else (None, False) their outer edges
    """
    x, grid = as_operand(input), as_operand(grid)
    _check_grid(x, grid, mode, padding_mode)
    points = _points(x, grid, padding_mode, as_flag("grid_sample", "align_corners", align_corners or False))
    if mode == "nearest":
        return _pixels(x, [round(at) for at, _ in points])
    total: Any = 0
    for places, weights, _ in _corners(points):
        total = total + _pixels(x, places) * expand_dims(math.prod(weights), 1)
    return total


def grid_sample_backward(dout, input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """(the gradients of grid_sample for input and for grid), dout[N, C, ..]."""
    x, grid = as_operand(input), as_operand(grid)
    _check_grid(x, grid, mode, padding_mode)
    points = _points(x, grid, padding_mode, align_corners)
    if mode == "nearest":
        return _put_pixels(x, [round(at) for at, _ in points], dout), zeros_like(grid)
    dx, slopes = 0, [0] * len(points)
    for places, weights, signs in _corners(points):
        dx = dx + _put_pixels(x, places, dout * expand_dims(math.prod(weights), 1))
        found = reduce_sum(_pixels(x, places) * dout, axis=1, keepdims=False)
        for axis, (sign_, (_, slope)) in enumerate(zip(signs, points)):
            slopes[axis] = slopes[axis] + found * math.prod(weights[:axis] + weights[axis + 1:]) * sign_ * slope
    return dx, stack(slopes[::-1], -1)


def _flat_places(x, places):
    """(numbers of pixels [N, C, points], which places [N, 1, ..] are inside) of whole coordinates, one tensor an axis."""
    flat: Any = 0
    inside: Any = None
    for place, n in zip(places, x.shape[2:]):
        fits = logical_and(place >= 0, place <= n - 1)
        inside = fits if inside is None else logical_and(inside, fits)
        flat = flat * n + minimum(maximum(cast(where(fits, place, 0), dtype=dt.int64), 0), n - 1)      # so no check is needed
    count = math.prod(flat.shape[1:])
    return broadcast_to(reshape(flat, shape=(x.shape[0], 1, count)), shape=(*x.shape[:2], count)), expand_dims(inside, 1)


def _pixels(x, places):
    """x[N, C, ..] at whole coordinates; 0 outside."""
    index, inside = _flat_places(x, places)
    found = gather_elements(reshape(x, shape=(*x.shape[:2], math.prod(x.shape[2:]))), 2, index)
    return where(inside, reshape(found, shape=(*x.shape[:2], *places[0].shape[1:])), 0)


def _put_pixels(x, places, values):
    """Zeros as x, with values[N, C, ..] added at whole coordinates."""
    index, inside = _flat_places(x, places)
    flat = reshape(zeros_like(x), shape=(*x.shape[:2], math.prod(x.shape[2:])))
    return reshape(scatter_elements_add(flat, index, reshape(where(inside, values, 0), shape=index.shape), axis=2), shape=x.shape)


@planned
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The grid of points that an affine transformation reads from, for grid_sample.

    theta  : Tensor [N, 2, 3], or [N, 3, 4] for volumes
    size   : ints (N, C, H, W), or (N, C, D, H, W), of the result of grid_sample
    align_corners : bool; True puts -1 and 1 at the centres of the outermost pixels, else at their borders
    out    : Tensor [N, H, W, 2] or [N, D, H, W, 3] of theta's dtype
    raises : ShapeError where theta and size do not fit
    source : Jaderberg et al. 2015, section 3.2
    """
    theta, sizes = as_operand(theta), as_shape("affine_grid", size)
    if len(sizes) not in (4, 5) or tuple(theta.shape) != (sizes[0], len(sizes) - 2, len(sizes) - 1):
        raise ShapeError("affine_grid: theta[N, 2, 3] and four sizes, or theta[N, 3, 4] and five, are wanted",
                         note=f"theta: {list(theta.shape)}, size: {sizes}")
    spatial, lines, align_corners = sizes[2:], [], as_flag("affine_grid", "align_corners", align_corners)
    for n in spatial:
        require(">=", n, 1, lambda: ShapeError("affine_grid: a size of the grid is at least 1", note=f"size: {sizes}"))
    for axis, n in reversed(list(enumerate(spatial))):
        edge = 1 if align_corners else (n - 1) / n
        line = linspace(-edge, edge, n) if n > 1 else ones((1,)) * 0
        line = reshape(cast_to(line, dtype_of(theta)), shape=(-1,) + (1,) * (len(spatial) - axis - 1))
        lines.append(reshape(broadcast_to(line, shape=spatial), shape=(-1, 1)))
    points = cat(lines + [ones(lines[0].shape, dtype_of(theta))], 1)
    return reshape(matmul(points, swapaxes(theta, 1, 2)), shape=(sizes[0], *spatial, len(spatial)))
