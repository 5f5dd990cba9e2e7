"""Padding: what stands around a tensor's last axes."""
from __future__ import annotations

from ... import ops
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.tensor import Tensor
from ..cell import Cell


class Pad(Cell):
    """Axis i extended by paddings[i] = (before, after), for all axes.

    mode : "CONSTANT" (zeros), "REFLECT" (mirrored without the edge) or "SYMMETRIC" (mirrored with it)
    """

    def __init__(self, paddings: tuple[tuple[int, int], ...], mode: str = "CONSTANT") -> None:
        super().__init__()
        if not isinstance(paddings, tuple) or any(len(ends) != 2 for ends in paddings):
            raise ArgumentError(f"Pad: paddings is a tuple of (before, after), not {paddings!r}")
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise ValueRangeError(f"Pad: mode is CONSTANT, REFLECT or SYMMETRIC, not {mode!r}")
        self.paddings, self.mode = paddings, mode

    def construct(self, x: Tensor) -> Tensor:
        if len(self.paddings) != x.ndim:
            raise ArgumentError(f"Pad: paddings for {len(self.paddings)} axes, the input has {x.ndim}")
        if self.mode == "CONSTANT":
            last_first = [end for ends in reversed(self.paddings) for end in ends]
            return ops.pad(x, last_first)
        for axis, (before, after) in enumerate(self.paddings):
            edge = 1 if self.mode == "REFLECT" else 0
            size = x.shape[axis]
            parts = []
            if before:
                parts.append(ops.flip(ops.narrow(x, axis, edge, before), (axis,)))
            parts.append(x)
            if after:
                parts.append(ops.flip(ops.narrow(x, axis, size - edge - after, after), (axis,)))
            if len(parts) > 1:
                x = ops.concat(tuple(parts), axis)
        return x

    def extend_repr(self) -> str:
        return f"paddings={self.paddings}, mode={self.mode}"


class _LastAxesPad(Cell):
    """(before, after) pairs for the last axes, the last axis first; `axes` is their number, `mode` is ops.pad's."""
    axes, mode = 0, "constant"

    def __init__(self, padding: int | tuple[int, ...], value: float | None = None) -> None:
        super().__init__()
        ends = (padding,) * (2 * self.axes) if isinstance(padding, int) and not isinstance(padding, bool) else padding
        if not isinstance(ends, tuple) or len(ends) != 2 * self.axes:
            raise ArgumentError(f"{type(self).__name__}: padding is an int or {2 * self.axes} of them, not {padding!r}")
        self.padding, self.value = ends, value

    def construct(self, x: Tensor) -> Tensor:
        if self.mode != "constant" and not self.axes < ops.rank(x) <= self.axes + 2:
            raise ShapeError(f"{type(self).__name__}: [N, C, ..] or [C, ..] with {self.axes} more is wanted",
                             note=f"x: {list(x.shape)}")
        return ops.pad(x, self.padding, self.mode, self.value)

    def extend_repr(self) -> str:
        return f"padding={self.padding}" + (f", value={self.value}" if self.mode == "constant" else "")


class ConstantPad1d(_LastAxesPad):
    """The last axis padded with `value`; padding : int or (left, right)."""
    axes = 1


class ConstantPad2d(_LastAxesPad):
    """The last two axes padded with `value`; padding : int or (left, right, top, bottom)."""
    axes = 2


class ConstantPad3d(_LastAxesPad):
    """The last three axes padded with `value`; padding : int or (left, right, top, bottom, front, back)."""
    axes = 3


class ZeroPad2d(ConstantPad2d):
    """The last two axes padded with zeros; padding : int or (left, right, top, bottom)."""

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding, 0)


class ReflectionPad1d(_LastAxesPad):
    """The last axis mirrored at its edges, the edge itself not repeated; padding : int or (left, right)."""
    axes, mode = 1, "reflect"

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding)


class ReflectionPad2d(ReflectionPad1d):
    """The last two axes mirrored at their edges; padding : int or (left, right, top, bottom)."""
    axes = 2


class ReplicationPad1d(ReflectionPad1d):
    """The last axis' edge elements repeated; padding : int or (left, right)."""
    axes, mode = 1, "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """The last two axes' edge elements repeated; padding : int or (left, right, top, bottom)."""
    axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """The last three axes mirrored at their edges; padding : int or (left, right, top, bottom, front, back)."""
    axes = 3


class ReplicationPad3d(ReplicationPad1d):
    """The last three axes' edge elements repeated; padding : int or (left, right, top, bottom, front, back)."""
    axes = 3
