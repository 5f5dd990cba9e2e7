"""Loops are cut where a condition on their variable changes, so that each piece runs without it.

    for i1 in range(n1):                                              for i1 in range(0, 128): out[i1] = x[i1]
        out[i1] = where(i1 < 128, x[i1], where(i1 - 128 < 128,   ->   for i1 in range(128, n1): out[i1] = y[i1 - 128]
                        y[i1 - 128], 0))

What joins, pads and gates are made of: with the condition inside, every element would branch and nothing would be
vectorised. Only comparisons of a loop variable, shifted by a number, with a number are decided.
"""
from ..common import dtype as dt
from ..common.dim import bounds
from ..mindir.scalar import BinOp, Const, IndexVar, constant, walk
from .index_arithmetic import folded
from .rewriter import Rewriter

MOST = 8                                    # pieces of one loop at most
_FLIPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def cuts_of(nest, variable, values):
    """The numbers inside the extent of `variable` at which a condition in one of `values` changes, ascending.

    None if there is none, or more than are worth it.
    """
    found = set()
    for expr in walk(values):
        condition = _condition(expr)
        if condition is not None and condition[0] is variable:
            _, op, limit = condition
            found.add(limit if op in ("lt", "ge") else limit + 1)
    largest = bounds(nest.actual(nest.extents[variable]))[1]
    inside = sorted(c for c in found if c > 0 and (largest is None or c < largest))
    return inside if 0 < len(inside) < MOST else None


def _condition(expr):
    """(variable, op, number) of a comparison `variable op number`, or None for another expression."""
    if not isinstance(expr, BinOp) or expr.fields[0] not in _FLIPPED:
        return None
    op, a, b = expr.fields
    if isinstance(a, Const):
        op, a, b = _FLIPPED[op], b, a
    if not isinstance(b, Const) or b.dtype is not dt.int64:
        return None
    limit = b.fields[0]
    if isinstance(a, BinOp) and a.fields[0] in ("add", "sub"):
        inner, x, y = a.fields
        if isinstance(y, Const):
            a, limit = x, limit - y.fields[0] if inner == "add" else limit + y.fields[0]
        elif isinstance(x, Const) and inner == "add":
            a, limit = y, limit - x.fields[0]
    return (a, op, limit) if isinstance(a, IndexVar) else None


class Decided(Rewriter):
    """Values with the conditions decided that hold throughout, or nowhere, while `variable` runs in [start, stop).

    stop: None for the end of the loop. The nest's notes move along.
    """

    def __init__(self, nest, variable, start, stop):
        super().__init__(nest.notes, nest.notes)
        self.nest, self.variable = nest, variable
        end = bounds(nest.actual(nest.extents[variable]))[1]
        self.range = start, end if stop is None else stop if end is None else min(stop, end)

    def make(self, expr):
        """`expr`, of whose parts the memo knows what became of them."""
        condition = _condition(expr)
        if condition is not None:
            answer = self.answer(*condition)
            return expr if answer is None else constant(answer, dt.bool_)
        return folded(super().make(expr))

    def answer(self, variable, op, limit):
        """True or False where it is the same for the whole range, else None."""
        if variable is self.variable:
            first, end = self.range
        else:
            first, end = 0, bounds(self.nest.actual(self.nest.extents[variable]))[1]
        last = None if end is None else end - 1
        if op in ("lt", "le"):
            limit += op == "le"
            return True if last is not None and last < limit else False if first >= limit else None
        limit += op == "gt"
        return True if first >= limit else False if last is not None and last < limit else None
