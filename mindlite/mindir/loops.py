"""Loop programs: what a kernel is before it is printed, as data.

    y = tanh(x) * w    ->    for i0 in range(n0):                             Loop(i0, n0, [
                                 for i1 in range(n1):                             Loop(i1, n1, [
                                     out[i0*n1 + i1] = tanh(x[..]) * w[i1]            Store(0, out, BinOp(..), i0*n1 + i1)])])

`graph_kernel` makes a LoopNest of a cluster and fills in its body; `backend/printers` prints it, for whoever compiles it.
"""
from __future__ import annotations

from dataclasses import field
from typing import Any

from ..common.dim import Size, coefficient, substitute
from ..common.records import dataclass
from .scalar import Operand, ScalarExpr

BLOCK = 1024                   # elements of a sum that add up in float32 before they go into the double total


class CannotFuse(Exception):
    """The graph is no single kernel. Fields: reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Access(ScalarExpr):
    """A load with its offset: operand, offset (Dim over loop variables and sizes), exprs and strides (more terms of
    the offset that are no polynomials), variables (those in the offset), safe (cannot lie outside)."""
    __slots__ = ()


@dataclass
class Output:
    """One result: operand (name, dtype), loops (its IndexVars, outer first), offset (Dim), value (ScalarExpr)."""
    operand: Operand
    loops: tuple
    offset: Any
    value: Any


@dataclass
class LoopNest:
    """A cluster as loops.

    target          : the backend.target.Target that it is written for
    inputs, outputs : Operands / Outputs in argument order
    sizes           : {symbol n0, n1 ..: the int or Dim it stands for}, in argument order
    symbols         : {IndexVar: Symbol that stands for it in offsets}
    extents         : {IndexVar: int or Dim over the symbols of `sizes`}
    notes           : {ScalarExpr: CNode whose result it is}
    in_place        : {number of an argument: number of the argument in whose memory it lies}
    body            : the statements (made by `schedule`)
    extent          : number of items of the parallel axis, an int or Dim of the caller
    """
    name: str
    target: Any
    inputs: tuple
    outputs: list
    sizes: dict
    symbols: dict
    extents: dict
    notes: dict
    size_of: Any = None              # the caller's int or Dim -> its polynomial over n0, n1, ..
    in_place: dict = field(default_factory=dict)
    body: list = field(default_factory=list)
    extent: Any = 1
    parallel: Any = None
    cost: Any = 1

    def memory_of(self, number: int) -> int:
        """The number of the argument in whose memory argument `number` (inputs, then outputs) lies."""
        return self.in_place.get(number, number)

    def actual(self, size: Size) -> Size:
        """A polynomial over n0, n1, .. as the caller's int or Dim."""
        return substitute(size, self.sizes)


@dataclass(eq=False)
class Let:
    """name = expr. note: the CNode whose result it is, or None; source: an Access where a fold has left the value."""
    expr: Any
    note: Any = None
    source: Any = None


@dataclass(eq=False)
class Store:
    """out[offset] = expr. number: which output. offset: the output's own, or where a value waits (`row_buffer`)."""
    number: int
    output: Any
    expr: Any
    offset: Any


@dataclass(eq=False)
class Loop:
    """for variable in range(extent): body; over [begin, end) if parallel; tiled: in pieces of `Target.tile` with lane loops;
    squares: with the loop inside, which is all of the body, in squares of `Target.side`; start, stop: a piece of the range (see
    `ranges`), a number each, None for the end."""
    variable: Any
    extent: Any
    body: list
    parallel: bool = False
    tiled: bool = False
    squares: bool = False
    start: int = 0
    stop: Any = None


@dataclass(eq=False)
class Lanes:
    """The loop over the lanes of a tile: variable = start of the tile + lane."""
    variable: Any
    body: list


@dataclass(eq=False)
class Fold:
    """expr (a Reduce) = fold of value; loops: [(variable, extent, statements before the next loop)], outer first.

    lanes: the tiled variable whose lanes each have an accumulator, or None; the innermost statements belong to a lane.
    """
    expr: Any
    loops: list
    value: Any
    lanes: Any = None
    note: Any = None


@dataclass(eq=False)
class Branch:
    """expr (a Select) = value of the chosen side; each side: (statements, value)."""
    expr: Any
    then: tuple
    otherwise: tuple
    note: Any = None


def reads_across(nest: LoopNest, expr: ScalarExpr | Access, outer: ScalarExpr, inner: ScalarExpr) -> bool:
    """True for an Access that reads along the outer of two loops, and with a stride along the inner one."""
    return isinstance(expr, Access) and coefficient(expr.fields[1], nest.symbols[outer]) == 1 and \
        coefficient(expr.fields[1], nest.symbols[inner]) not in (0, 1, None)
