"""SBP: how one logical tensor lies on several devices (OneFlow; Yuan et al. 2021, section 3.1).

    f32[N:S0, C]     Split(0)      each device has a part of axis 0
    f32[N, C]        Broadcast()   each device has the whole
    f32[N:P, C]      Partial()     each device has an addend; the tensor is their sum (or product, max, min, any, all)
"""
from __future__ import annotations

from .dim import Size, order_of
from .errors import ValueRangeError
from .records import dataclass

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all")


@dataclass(frozen=True)
class Split:
    """Each device has its part of `axis`, counted from the front; parts are in the order of the devices.

    unit : parts are of so many elements or a multiple of them, an int or Dim that divides the size of the axis. Rows of
           [b, s, h] that became an axis of b * s are split by s
    """
    axis: int
    unit: Size = 1

    @property
    def order(self) -> tuple:
        """Its place among SBPs, the same in all processes."""
        return "S", self.axis, order_of(self.unit)

    def __str__(self) -> str:
        return f"S{self.axis}" if self.unit == 1 else f"S{self.axis} by {self.unit}"


@dataclass(frozen=True)
class Broadcast:
    """Each device has the whole tensor."""
    order = ("B",)

    def __str__(self) -> str:
        return "B"


@dataclass(frozen=True)
class Partial:
    """Each device has a tensor of the full shape; folded elementwise by `reduction` they give the tensor."""
    reduction: str = "sum"

    @property
    def order(self) -> tuple:
        """Its place among SBPs."""
        return "P", self.reduction

    def __str__(self) -> str:
        return "P" if self.reduction == "sum" else f"P({self.reduction})"


@dataclass(frozen=True)
class Parts:
    """Into how many parts each axis of an operand goes, as MindSpore's strategies say it: a placement for any mesh.

    counts : ints       owner: the name of the operator
    """
    counts: tuple[int, ...]
    owner: str
    mesh = None

    def placement(self, ndim: int) -> Parts:
        """Itself, for a tensor of that many axes. raises : ValueRangeError"""
        if ndim != len(self.counts):
            raise ValueRangeError(f"{self.owner}.shard: {self.counts} is for {len(self.counts)} axes, and the tensor has {ndim}")
        return self

    def behind_axis(self, axis: int | None) -> Parts:
        """That of a tensor that has one more axis, which is whole, at `axis`; None: no more."""
        return self if axis is None else Parts((*self.counts[:axis], 1, *self.counts[axis:]), self.owner)

    def on(self, shape: tuple[int, ...]) -> tuple[Split | Broadcast, ...]:
        """The SBPs for a mesh of that shape: each axis is split by the first axes of the mesh that are free and fit.

        raises : ValueRangeError where none does
        """
        found: list[Split | Broadcast] = [Broadcast()] * len(shape)
        free = [k for k, size in enumerate(shape) if size > 1]
        for axis, count in enumerate(self.counts):
            while count > 1:
                fits = [k for k in free if count % shape[k] == 0]
                if not fits:
                    raise ValueRangeError(f"{self.owner}.shard: no free axes of the mesh {list(shape)} make {count} parts of "
                                          f"axis {axis}", note=f"its strategy: {self.counts}", hint="a Layout names the axes")
                found[fits[0]] = Split(axis)
                free.remove(fits[0])
                count //= shape[fits[0]]
        return tuple(found)
