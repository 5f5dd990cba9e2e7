"""SBP: how one logical tensor lies on several devices (OneFlow; Yuan et al. 2021, section 3.1).

    f32[N:S0, C]     Split(0)      each device has a part of axis 0
    f32[N, C]        Broadcast()   each device has the whole
    f32[N:P, C]      Partial()     each device has an addend; the tensor is their sum (or product, max, min, any, all)
"""
from __future__ import annotations

from .dim import Size, order_of
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
