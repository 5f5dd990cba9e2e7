"""Deformable convolution: each weight of the window reads the picture at a position of its own, between pixels.

    out[n, o, y, z] = bias[o] + sum over c, i, j of weight[o, c, i, j] * m * x[n, c, y * stride + i + dy, z * stride + j + dx]

with dx, dy and the factor m from `offsets` for each (i, j, y, z), and x bilinear between pixels, 0 outside.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..common.dtype import float32
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .arithmetic import abs, clamp, floor
from .basic import broadcast_to, cast, reshape
from .creation import arange
from .define import as_operand
from .linalg import matmul
from .logic import logical_and
from .lookup import gather_elements


@planned
def deformable_conv2d(x: TensorLike, weight: TensorLike, offsets: TensorLike, kernel_size: Sequence[int], strides: Sequence[int],
                      padding: Sequence[int], bias: TensorLike | None = None, dilations: Sequence[int] = (1, 1, 1, 1),
                      groups: int = 1, deformable_groups: int = 1, modulated: bool = True) -> Tensor:
    """2-D convolution whose window reads x at positions that `offsets` moves, each value times a factor.

    x                  : Tensor float[N, C, H, W]
    weight             : Tensor float[O, C / groups, KH, KW]
    offsets            : Tensor float[N, 3 * deformable_groups * KH * KW, H', W']: for each weight of each window the ways along
                         W, then along H, then the factors
    kernel_size        : two ints, (KH, KW)
    strides, dilations : four ints, (1, 1, along H, along W)
    padding            : four ints, (top, bottom, left, right)
    bias               : Tensor float[O] or None
    groups             : int, parts of the channels that are convolved by themselves
    deformable_groups  : int, parts of the channels that have offsets of their own
    modulated          : bool, True
    out                : float[N, O, H', W']
    raises             : ArgumentError for other counts of ints, ValueRangeError for modulated=False and for strides or dilations
                         along N or C, ShapeError for operands that do not fit
    source             : Zhu et al. 2019, "Deformable ConvNets v2"
    """
    return _deformed(as_operand(x), as_operand(weight), as_operand(offsets), kernel_size, strides, padding, bias, dilations,
                     groups, deformable_groups, modulated)


def _deformed(x: Any, weight: Any, offsets: Any, kernel_size: Any, strides: Any, padding: Any, bias: Any, dilations: Any,
              groups: int, deformable_groups: int, modulated: bool) -> Tensor:
    for name, value, count in (("kernel_size", kernel_size, 2), ("strides", strides, 4), ("padding", padding, 4),
                               ("dilations", dilations, 4)):
        if not isinstance(value, (tuple, list)) or len(value) != count:
            raise ArgumentError(f"deformable_conv2d: {name} is {count} ints, not {value!r}")
    if not modulated:
        raise ValueRangeError("deformable_conv2d: modulated is True", hint="give factors of 1 as the last third of offsets")
    if tuple(strides[:2]) != (1, 1) or tuple(dilations[:2]) != (1, 1):
        raise ValueRangeError("deformable_conv2d: strides and dilations are 1 along N and C")
    n, channels, height, width = x.shape
    (high, wide), (out_channels, inner) = kernel_size, weight.shape[:2]
    if channels % groups or channels % deformable_groups or out_channels % groups or inner != channels // groups:
        raise ShapeError(f"deformable_conv2d: {channels} channels, {groups} groups and {deformable_groups} deformable groups do "
                         f"not fit a weight of {out_channels} and {inner} channels")
    rows = (height + padding[0] + padding[1] - (high - 1) * dilations[2] - 1) // strides[2] + 1
    columns = (width + padding[2] + padding[3] - (wide - 1) * dilations[3] - 1) // strides[3] + 1
    wanted = (n, 3 * deformable_groups * high * wide, rows, columns)
    if tuple(offsets.shape) != wanted or tuple(weight.shape[2:]) != (high, wide):
        raise ShapeError(f"deformable_conv2d: offsets are {wanted} and weight's window is {(high, wide)}, not "
                         f"{tuple(offsets.shape)} and {tuple(weight.shape[2:])}")
    moved = reshape(offsets, shape=(n, 3, deformable_groups, high, wide, rows, columns))
    down = _starts(rows, strides[2], padding[0], (1, 1, 1, 1, rows, 1)) + _starts(high, dilations[2], 0, (1, 1, high, 1, 1, 1))
    across = (_starts(columns, strides[3], padding[2], (1, 1, 1, 1, 1, columns))
              + _starts(wide, dilations[3], 0, (1, 1, 1, wide, 1, 1)))
    parts = (n, deformable_groups, channels // deformable_groups, -1)
    read = _between(reshape(x, shape=parts), down + moved[:, 1], across + moved[:, 0], height, width)
    read = reshape(read * reshape(moved[:, 2], shape=(n, deformable_groups, 1, -1)),
                   shape=(n, groups, inner * high * wide, rows * columns))
    out = matmul(reshape(weight, shape=(groups, out_channels // groups, inner * high * wide)), read)
    out = reshape(out, shape=(n, out_channels, rows, columns))
    return out if bias is None else out + reshape(as_operand(bias), shape=(1, out_channels, 1, 1))


def _starts(count, step, before, shape):
    """count positions that lie `step` apart, the first at -before, along one axis of `shape`."""
    return reshape(cast(arange(count) * step - before, dtype=float32), shape=shape)


def _between(flat, y, x, height, width):
    """flat[n, g, c, height * width] at the positions y, x [n, g, ..], bilinear, 0 outside: [n, g, c, positions]."""
    n, g, channels, _ = flat.shape
    top, left, total = floor(y), floor(x), None
    for row in (top, top + 1):
        for column in (left, left + 1):
            share = (1 - abs(y - row)) * (1 - abs(x - column))
            inside = logical_and(logical_and(row >= 0, row < height), logical_and(column >= 0, column < width))
            share = reshape(share * cast(inside, dtype=share.dtype), shape=(n, g, 1, -1))
            position = clamp(row, 0, height - 1) * width + clamp(column, 0, width - 1)
            position = reshape(cast(position, dtype="int32"), shape=(n, g, 1, -1))
            value = share * gather_elements(flat, 3, broadcast_to(position, shape=(n, g, channels, position.shape[3])))
            total = value if total is None else total + value
    return total
