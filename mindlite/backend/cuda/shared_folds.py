"""Folds that the threads of a group share: each has some of the elements, and they meet in the end.

    s = sum over n, p of x[n, c, p]        ->      n, p = divmod(lane, P);  for each: part += x[n, c, p];  n, p += divmod(size, P)

The two innermost loops of a row are one axis, as lines may be short (7 x 7 pictures of a batch): neighbouring threads have
neighbouring elements, and the next ones of a thread are found without a division. Sums have parts of 1024 elements of a thread in
their own type, and totals in double.
"""
from __future__ import annotations

from typing import Any

from ...mindir.loops import BLOCK, Let, Store
from ...mindir.scalar import walk
from ..printers.arithmetic import I32, I64
from ..printers.values import DOUBLE
from .kept_rows import KeptRows
from .threads import joined

UNROLLED, MOST_UNROLLED = 4, 48         # iterations whose loads are under way at a time; of how much work


class SharedFolds(KeptRows):
    """The part of the emitter of kernels (`nvptx`) for folds."""
    loop: Any
    way: Any

    def fold(self, s):
        kind, spread = s.expr.fields[0], self.plan.shared_loop(s) if self.group is not None else None
        if kind in ("argmax", "argmin"):
            best, where = self.arithmetic.slot(self.type(s.value)), self.arithmetic.slot(I64)
            self.builder.store(self.initial(s.expr), best)
            self.builder.store(I64(0), where)
            self.iterate(s, spread, lambda: self.keep_best(s, best, where))
            if spread is not None:
                self.group[2]([(best, self.type(s.value)), (where, I64)], lambda other: self.keep_first(s, best, where, *other))
            self.names[s.expr] = self.builder.load(where, typ=I64)
            return
        type_ = self.type(s.expr)
        if kind in ("sum", "prod") and s.expr.dtype.is_float:
            acc, neutral = self.arithmetic.slot(DOUBLE), 0.0 if kind == "sum" else 1.0
            part = self.arithmetic.slot(type_)
            self.builder.store(DOUBLE(neutral), acc)
            self.iterate(s, spread, lambda: self.accumulate(s, part, self.value(s.value)), part, acc, neutral)
            if spread is not None:
                self.group[2]([(acc, DOUBLE)], lambda other: self.combine(kind, acc, other[0]))
            value = self.builder.load(acc, typ=DOUBLE)
            self.names[s.expr] = value if type_ is DOUBLE else self.builder.fptrunc(value, type_)
            return
        acc = self.arithmetic.slot(type_)
        self.builder.store(self.initial(s.expr), acc)
        self.iterate(s, spread, lambda: self.accumulate(s, acc, self.value(s.value)))
        if spread is not None:
            self.group[2]([(acc, type_)], lambda other: self.accumulate(s, acc, other[0]))
        self.names[s.expr] = self.builder.load(acc, typ=type_)

    def finish_part(self, s, part, total):
        """Add the part of a sum or product to its total, a double."""
        b, type_ = self.builder, self.type(s.expr)
        value = b.load(part, typ=type_)
        self.combine(s.expr.fields[0], total, value if type_ is DOUBLE else b.fpext(value, DOUBLE))

    def combine(self, kind, acc, value):
        b = self.builder
        b.store((b.fadd if kind == "sum" else b.fmul)(b.load(acc, typ=DOUBLE), value), acc)

    def keep_first(self, s, best, where, value, number):
        """argmax or argmin of two threads: of equals, and of NaNs, the first."""
        b = self.builder
        held, at = b.load(best, typ=self.type(s.value)), b.load(where, typ=I64)
        dtype, kind = s.value.dtype, s.expr.fields[0]
        wins, loses = (self.arithmetic.wins(kind, x, y, dtype) for x, y in ((value, held), (held, value)))
        equal = b.not_(b.or_(wins, loses))
        better = b.or_(wins, b.and_(equal, b.icmp_signed("<", number, at)))
        b.store(b.select(better, value, held), best)
        b.store(b.select(better, number, at), where)

    def iterate(self, s, spread, innermost, part=None, total=None, neutral=None):
        """The loops of a Fold; the one numbered `spread` is shared. With a part, the innermost loop is done in blocks, whose
        parts go into the total."""
        if self.keeping is not None and spread is not None:
            self.kept_iterate(s, innermost, part, total, neutral)
            return
        b, type_ = self.builder, self.type(s.expr)
        loops = [(k, loop) for k, loop in enumerate(s.loops) if loop[0] is not None]
        pair, bind = joined(s) if spread is not None and self.plan.way == "rows" else None, self.bind
        if pair is not None:                                 # one axis: (None, ..) is its variable
            *loops, (_, outer), (_, inner) = loops
            bind = self.side_by_side(outer, inner)
            loops.append((spread, (None, outer[1] * inner[1], inner[2])))
        inside = [t for variable, _, statements in s.loops if variable is None for t in statements]

        def body():
            with self.exclusive():
                self.statements(inside)
            innermost()

        def run(rest):
            if not rest:                                    # a fold of one element
                b.store(type_(neutral), part) if part is not None else None
                body()
                self.finish_part(s, part, total) if part is not None else None
                return
            (k, (variable, extent, statements)), *deeper = rest
            start, step = (self.group[0], self.group[1]) if k == spread else (I64(0), I64(1))
            stop = self.dim(extent)

            def around(i):
                (self.bind if variable is not None else bind)(variable, i)
                with self.exclusive():
                    self.statements(statements)

            def innermost_one(i):
                around(i)
                body()
            values = [*statements, *inside]
            if deeper:
                with self.loop(start, stop, step) as i:
                    around(i)
                    run(deeper)
            elif part is None:
                self.unrolled(start, stop, step, values, [s.value], innermost_one)
            elif isinstance(extent, int):
                b.store(type_(neutral), part)
                with self.loop(start, stop, step) as i:
                    innermost_one(i)
                self.finish_part(s, part, total)
            else:
                width = b.mul(step, I64(BLOCK))
                with self.loop(I64(0), stop, width) as first:
                    b.store(type_(neutral), part)
                    self.unrolled(b.add(first, start), self.at_most(b.add(first, width), stop), step, values, [s.value],
                                  innermost_one)
                    self.finish_part(s, part, total)
        run(loops)

    def side_by_side(self, outer, inner):
        """bind(_, _): bind the variables of two loops, which are one axis, to the next element of this thread."""
        b, (lane, size, _) = self.builder, self.group
        length = self.dim(inner[1])
        length = b.trunc(b.select(b.icmp_signed(">", length, I64(1)), length, I64(1)), I32)
        lane, size = b.trunc(lane, I32), b.trunc(size, I32)
        places = [self.arithmetic.slot(I32) for _ in range(2)]
        down, across = b.udiv(size, length), b.urem(size, length)
        b.store(b.udiv(lane, length), places[0])
        b.store(b.urem(lane, length), places[1])

        def bind(_, number):
            row, column = (b.load(place, typ=I32) for place in places)
            self.bind(outer[0], b.zext(row, I64))
            self.bind(inner[0], b.zext(column, I64))
            row, column = b.add(row, down), b.add(column, across)
            over = b.icmp_unsigned(">=", column, length)
            b.store(b.add(row, b.zext(over, I32)), places[0])
            b.store(b.select(over, b.sub(column, length), column), places[1])
        return bind

    def unrolled(self, start, stop, step, statements, values, once):
        """once(i) for i in range(start, stop, step), some at a time where they are short: loads do not wait for one another.

        statements, values : what is done each time
        """
        b, short = self.builder, all(isinstance(s, (Let, Store)) for s in statements)
        short = short and (self.way is None or len(self.kept.own) == 1)    # beside long ways ptxas has no registers for it
        if short and len(walk([*values, *(s.expr for s in statements)])) <= MOST_UNROLLED:
            with self.loop(start, b.sub(stop, b.mul(step, I64(UNROLLED - 1))), b.mul(step, I64(UNROLLED))) as i:
                outside = self.names
                for k in range(UNROLLED):
                    self.names = dict(outside)
                    once(b.add(i, b.mul(step, I64(k))) if k else i)
                self.names = outside
            start = i
        with self.loop(start, stop, step) as i:
            once(i)
