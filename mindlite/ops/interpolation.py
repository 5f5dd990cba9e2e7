"""Tensors [N, C, ..] of another size between their points: each axis is a product with a matrix of weights, as in resize.

    nearest   the point at floor(i n / m)          nearest-exact  at floor((i + 1/2) n / m)          area  means
    linear, bilinear, trilinear  two neighbours    bicubic  four, by the cubic of Keys 1981 with a = -3/4
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from ..common.annotations import Ints

from ..common import dtype as dt
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .axes import as_flag, as_number, as_size
from .define import as_operand, cast_to, dtype_of
from .linalg import matmul
from .structure import swapaxes

AXES = {"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,),
        "trilinear": (3,), "bicubic": (2,)}


def _cubic(t):
    """The weights of the points at -1, 0, 1 and 2 for a place t in [0, 1]."""
    a = -0.75
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1                                 # noqa: E731
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a                            # noqa: E731
    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _axis_weights(mode, n, size, align_corners, scale):
    """The matrix [size, n] of an axis. scale : out points for each of the input; None: size / n"""
    made, i, step = np.zeros((size, n)), np.arange(size), n / size if scale is None else 1 / scale
    if mode in ("nearest", "nearest-exact"):
        places = np.floor((i + 0.5) * step if mode == "nearest-exact" else i * step).astype(int)
        made[i, np.minimum(places, n - 1)] = 1
        return made
    if mode == "area":
        for row in range(size):
            first, last = row * n // size, -(-(row + 1) * n // size)
            made[row, first:last] = 1 / (last - first)
        return made
    places = i * ((n - 1) / (size - 1) if size > 1 else 0.0) if align_corners else (i + 0.5) * step - 0.5
    if mode == "bicubic":
        below = np.floor(places)
        for shift, weight in zip((-1, 0, 1, 2), _cubic(places - below)):
            np.add.at(made, (i, np.clip(below + shift, 0, n - 1).astype(int)), weight)
        return made
    places = np.maximum(places, 0)
    below = np.minimum(np.floor(places).astype(int), n - 1)
    np.add.at(made, (i, below), 1 - (places - below))
    np.add.at(made, (i, np.minimum(below + 1, n - 1)), places - below)
    return made


@planned
def interpolate(input: TensorLike, size: Ints | None = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> Tensor:
    """input[N, C, ..] with one, two or three further axes, read at `size` points, or n * scale_factor, along each of them.

    mode          : see the module; linear is for one axis, bilinear and bicubic for two, trilinear for three
    align_corners : the first and last points of input and output coincide (linear and cubic modes)
    recompute_scale_factor : places follow from the sizes, not from scale_factor
    raises        : ArgumentError unless one of size and scale_factor is given, ValueRangeError for a mode that does not fit,
                    ShapeError for other counts and for axes without points
    """
    x, align_corners = as_operand(input), as_flag("interpolate", "align_corners", align_corners or False)
    axes = x.ndim - 2
    if mode not in AXES or axes not in AXES[mode]:
        raise ValueRangeError(f"interpolate: mode {mode!r} is not for a tensor of {x.ndim} axes", note=f"{list(x.shape)}",
                              hint=", ".join(m for m in AXES if axes in AXES[m]) or "[N, C, ..]")
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate: one of size and scale_factor is wanted")
    if align_corners and mode in ("nearest", "nearest-exact", "area"):
        raise ArgumentError(f"interpolate: align_corners is not for mode {mode!r}")
    given = size if size is not None else scale_factor
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,) * axes
    if len(given) != axes:
        raise ShapeError(f"interpolate: {axes} numbers are wanted", note=f"{given}")
    own = dtype_of(x)
    if own.is_small and not mode.startswith("nearest"):              # a half cannot hold the weights
        x = cast_to(x, dt.float32)
    for axis, number in enumerate(given, 2):
        n = as_size("interpolate", x.shape[axis])
        wanted = as_size("interpolate", number) if size is not None else \
            math.floor(n * as_number("interpolate", "scale_factor", number))
        if n < 1 or wanted < 1:
            raise ShapeError("interpolate: an axis has no point, in the input or in the result", note=f"{n} to {wanted}")
        scale = None if size is not None or recompute_scale_factor else number
        weights = _axis_weights(mode, n, wanted, align_corners, scale).T
        turned = swapaxes(x, axis, -1)
        x = swapaxes(matmul(turned, cast_to(as_operand(weights), dtype_of(x))), axis, -1)
    return cast_to(x, own)
