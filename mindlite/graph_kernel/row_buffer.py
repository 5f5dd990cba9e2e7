"""Values that a fold computes and the loop after it needs again wait in the row of the result, where room is anyhow.

    s = sum over r of exp(x[i0, r] - m)                 s = sum over r of (out[i0, r] = exp(x[i0, r] - m))
    for i1: out[i0, i1] = exp(x[i0, i1] - m) / s   ->   for i1: out[i0, i1] = out[i0, i1] / s

The row is in cache both times, so this is a store and a load in place of a transcendental function.
"""

from typing import Any

from ..common import dtype as dt
from ..common.dim import Dim, substitute, symbols_of
from ..common.records import dataclass
from ..mindir.loops import Access
from ..mindir.scalar import Call, Reduce, make_expr, walk
from .rewriter import Rewriter


@dataclass(frozen=True)
class Row:
    """A value that waits: fold (a Reduce) stores `value` as element `offset` of `output` (a number and an Output)."""
    fold: Any
    value: Any
    number: int
    output: Any
    offset: Any


def rows_of(nest):
    """({fold: its Row}, {expression: (fold, the Access that reads it from the row)}) of a LoopNest."""
    exprs = walk(o.value for o in nest.outputs)
    folds = [e for e in exprs if isinstance(e, Reduce) and len(e.fields[1]) == 1 and _calls(e.fields[2])]
    rows, waiting, taken = {}, {}, set()
    for fold in folds:
        variable, = fold.fields[1]
        for number, output in enumerate(nest.outputs):
            if number in taken or not _fits(nest, fold, variable, number, output):
                continue
            wanted = _again(nest, fold, variable, output, exprs)
            if wanted is None:
                continue
            value, readers = wanted
            offset = _renamed_offset(nest, output.offset, output.loops[-1], variable)
            rows[fold] = Row(fold, value, number, output, offset)
            taken.add(number)
            for reader, other in readers.items():
                at = _renamed_offset(nest, output.offset, output.loops[-1], other)
                waiting[reader] = fold, _access(nest, value.dtype, False, output.operand, at, (), (), True)
            break
    return rows, waiting


def _calls(expr):
    return any(isinstance(e, Call) for e in walk([expr]))


def _fits(nest, fold, variable, number, output):
    """Is the row of `output` as long as the fold and written after it, in memory of its own, without rounding?"""
    argument = len(nest.inputs) + number
    exclusive = nest.memory_of(argument) == argument and argument not in nest.in_place.values()
    return exclusive and bool(output.loops) and nest.extents[output.loops[-1]] == nest.extents[variable] and \
        not isinstance(nest.extents[variable], int) and fold.free == frozenset(output.loops[:-1]) and \
        output.operand.dtype in (dt.float32, dt.float64)


def _again(nest, fold, variable, output, exprs):
    """(the largest value inside the fold that is computed again, {each such computation: its loop variable}), or None.

    Again: in the loop that writes `output`, and perhaps in other folds over the same rows that it waits for. (One that it does
    not wait for may come after it, and then the row holds the result.)
    """
    known, before = set(exprs), set(walk([output.value]))
    others = {output.loops[-1]: before}
    for other in exprs:
        if isinstance(other, Reduce) and other in before and other is not fold and other.free == fold.free \
                and len(other.fields[1]) == 1 and nest.extents[other.fields[1][0]] == nest.extents[variable]:
            others[other.fields[1][0]] = known
    for value in reversed(walk([fold.fields[2]])):
        if value.dtype is not output.operand.dtype or variable not in value.free or not _calls(value):
            continue
        readers = {}
        for other, among in others.items():
            renamed = _Renamed(nest, variable, other)(value)
            if renamed in among:
                readers[renamed] = other
        if any(reader is output.loops[-1] for reader in readers.values()):    # expressions compare to expressions
            return value, readers
    return None


class _Renamed(Rewriter):
    """Expressions with the loop variable `new` in place of `old`."""

    def __init__(self, nest, old, new):
        super().__init__({}, {})
        self.nest, self.old, self.new, self.memo = nest, old, new, {old: new}

    def make(self, expr):
        if self.old not in expr.free or not isinstance(expr, Access):
            return super().make(expr)
        operand, offset, inner, strides, _, safe = expr.fields
        offset = _renamed_offset(self.nest, offset, self.old, self.new)
        return _access(self.nest, expr.dtype, expr.weak, operand, offset, self.field(inner), strides, safe)


def _renamed_offset(nest, offset, old, new):
    return substitute(offset, {nest.symbols[old]: nest.symbols[new].dim}) if isinstance(offset, Dim) else offset


def _access(nest, dtype, weak, operand, offset, exprs, strides, safe):
    variables = {symbol: variable for variable, symbol in nest.symbols.items()}
    inside = sorted((s for s in symbols_of(offset) if s in variables), key=lambda s: s.number)
    return make_expr(Access, dtype, weak, operand, offset, exprs, strides, tuple(variables[s] for s in inside), safe)
