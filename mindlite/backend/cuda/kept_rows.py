"""Rows that stay in the registers of their threads: softmax reads x once, where loops of their own would read it three times.

    m = max over r of x[r]                    each thread:  x0, .., x31 = its elements of the row, 128 bits at a time
    s = sum over r of exp(x[r] - m)      ->                 m = max of these, then of all threads that share the row
    for i: out[i] = exp(x[i] - m) / s                       s = ..;   out[..] = exp(x0 - m) / s, ..

All folds and loops along the row share it out alike, unrolled: thread `lane` of `size` has the elements from
(chunk * size + lane) * side on, `side` of them, in up to MOST / side chunks. The elements of a chunk are loaded and stored at
once, 128 bits of the widest array. A row that does not begin at a multiple of 16 bytes is kept one by one, fewer of its
elements by a thread, as their addresses take registers too. A longer row goes the way without registers (`nvptx`), which reads
it in each loop. The text has all three ways; length and addresses decide at run time.
"""
from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from ...common.dim import coefficient, substitute, symbols_of
from ...common.records import dataclass
from ...mindir.abstract import AbstractScalar
from ...mindir.loops import Access, Fold, Let, Loop, Store
from ...mindir.scalar import walk
from ..printers.arithmetic import I32, I64, REGISTER
from ..printers.lower_llvm import _Emitter

MOST = 32                      # elements of a row that a thread keeps
MOST_REGISTERS = 64            # of 32 bits that they take, of all arrays together; a thread has 255
FEWER_REGISTERS = 16           # the same where elements are loaded one by one: each has an address
MOST_WORK = 4096               # expressions of all copies: beyond, the text is long


@dataclass
class Kept:
    """What threads keep of a row, or how they share it out.

    extent : of the row;   side: neighbours that one thread takes;   many: elements that it takes at most, and some: those that it
             takes where it loads them one by one
    reads  : {the statement: {(number of the array, the place of the row): the Accesses that read it}}
    places : one Access for each place;   own: the places of those that differ from row to row, which are kept. What all rows
             read (the factors of a norm) comes from the cache each time
    """
    extent: Any
    side: int
    many: int
    some: int
    reads: dict
    places: dict
    own: set


class KeptRows(_Emitter):
    """The part of the emitter of kernels (`nvptx`) for rows in registers. What is only named here is in the rest of it."""
    plan: Any
    writes: Any
    group: Any
    row: Any
    exclusive: Any
    finish_part: Any
    is_aligned: Any
    address_of: Any
    load_neighbours: Any
    store_neighbours: Any
    keeping: Any = None                 # while such rows are written: (slots by place, loaded places, side, many)

    @functools.cached_property
    def kept(self) -> Any:
        """How the rows of this nest are kept, a Kept; None where nothing of them is read twice, or they are no plain rows."""
        plan = self.plan
        if plan.way != "rows" or not plan.chain or len(plan.long) != 1:
            return None
        extent, reads, stores, work = plan.long[0], {}, [], 0
        around = {self.nest.symbols[variable] for variable, _ in plan.chain}
        for s in plan.values + plan.body:
            if not isinstance(s, Loop) and not (isinstance(s, Fold) and plan.shared_loop(s) is not None):
                continue
            row = self._plain(s, extent)
            if row is None:
                return None
            variable, body, exprs = row
            found = self._places(variable, exprs)
            if found is None:
                return None
            reads[s], work = found, work + len(walk(exprs))
            stores += [t for t in body if isinstance(t, Store)]
        places = {place: accesses[0] for found in reads.values() for place, accesses in found.items()}
        own = {place for place in places if not set(symbols_of(place[1])).isdisjoint(around)}
        if not any(sum(place in found for found in reads.values()) > 1 for place in own):
            return None
        dtypes = [e.fields[0].dtype for e in places.values()] + [s.output.operand.dtype for s in stores]
        if any(dtype.name == "int4" for dtype in dtypes):
            return None
        widest = max(dtype.itemsize for dtype in dtypes)
        side, many = max(1, min(8, 16 // widest)), MOST
        registers = sum(max(1, REGISTER[e.dtype.name].width // 32 if isinstance(REGISTER[e.dtype.name], ir.IntType) else
                            e.dtype.itemsize // 4) for e in map(places.__getitem__, own))
        while many >= side and (many * registers > MOST_REGISTERS or many * work > MOST_WORK):
            many //= 2
        some = max(1, min(many, FEWER_REGISTERS // registers))
        return Kept(extent, side, many, some, reads, places, own) if many >= side else None

    def _plain(self, s, extent):
        """(variable, statements, expressions) of a loop or fold along the whole row; None of another one."""
        if isinstance(s, Loop):
            if s.extent != extent or s.start or s.stop is not None or s.tiled or s.squares:
                return None
            variable, body, values = s.variable, s.body, []
        else:
            if len(s.loops) != 1 or s.loops[0][0] is None or s.loops[0][1] != extent:
                return None
            (variable, _, body), values = s.loops[0], [s.value]
            if any(isinstance(t, Store) for t in body):
                return None
        if not all(isinstance(t, Store) or isinstance(t, Let) and t.source is None for t in body):
            return None
        return variable, body, [*(t.expr for t in body), *values]

    def _places(self, variable, exprs):
        """{place: [Access ..]} of what lies side by side along a row; None where something else is read that is written, too."""
        found: dict = {}
        symbol, written = self.nest.symbols[variable], {*self.nest.in_place.values(), *self.nest.in_place}
        numbers = {id(operand): number for number, operand in enumerate(self.nest.inputs)}
        for e in walk(exprs):
            if not isinstance(e, Access) or isinstance(e.fields[0].abstract, AbstractScalar):
                continue
            number = numbers.get(id(e.fields[0]))
            if number is None:
                return None                                  # a result, in which values wait
            if variable in e.free and not e.fields[2] and e.fields[5] and self._is_straight(e.fields[1], symbol):
                found.setdefault((number, substitute(e.fields[1], {symbol: 0})), []).append(e)
            elif number in written and variable in e.free:
                return None
        return found

    def _is_straight(self, offset, symbol):
        """Are elements along `symbol` side by side, and rows at steps that are known?"""
        return coefficient(offset, symbol) == 1 and all(
            coefficient(offset, self.nest.symbols[variable]) is not None for variable, _ in self.plan.chain)

    # ------------------------------------------------------------ code

    def fits(self, size):
        """(do the registers of so many threads hold the row, and can its elements be loaded and stored at once; do they hold it
        if not). The same for all threads of a block; asked before the row is known."""
        b, kept, symbols, variable = self.builder, self.kept, self.nest.symbols, None
        for s in kept.reads:
            variable = s.variable if isinstance(s, Loop) else s.loops[0][0]
            self.bind(variable, I64(0))
        stores = [t for s in kept.reads if isinstance(s, Loop) for t in s.body
                  if isinstance(t, Store) and self._is_straight(t.offset, symbols[s.variable])]
        aligned = self.is_aligned([*kept.places.values(), *stores], (*self.plan.chain, (variable, kept.extent)), kept.side)
        length = self.dim(kept.extent)
        return (b.and_(aligned, b.icmp_signed("<=", length, b.mul(size, I64(kept.many)))),
                b.icmp_signed("<=", length, b.mul(size, I64(kept.some))))

    def kept_row(self, lane, size, active, statements, side):
        """The statements of a row that fits. side: neighbours that a thread loads and stores at once"""
        kept = self.kept
        many = kept.many if side > 1 else kept.some
        slots = {place: [self.arithmetic.slot(self.type(e)) for _ in range(many)] for place, e in kept.places.items()}
        self.keeping = slots, set(), side, many
        self.row(lane, size, active, statements)
        self.keeping = None

    def along(self, s, variable, lane, size, body):
        """body(variable, names, numbers) where this thread has a chunk of the row: what is known of each of its elements, and
        their numbers."""
        b, kept, (slots, loaded, side, many) = self.builder, self.kept, self.keeping
        length, wanted, outside, lane = self.dim(kept.extent), kept.reads[s], self.names, self._anew(lane)
        first, step = b.mul(lane, I64(side)), b.mul(size, I64(side))
        for chunk in range(many // side):
            if chunk:
                first = self._anew(b.add(first, step))
            mine = range(chunk * side, (chunk + 1) * side)
            with b.if_then(b.icmp_signed("<", first, length)):
                for place, accesses in wanted.items():
                    if place not in loaded:
                        self.bind(variable, first)
                        for k, value in zip(mine, self.load_neighbours(accesses[0], side)):
                            b.store(value, slots[place][k])
                names = [dict(outside) for _ in mine]
                for place, accesses in wanted.items():
                    for k, own in zip(mine, names):
                        value = b.load(slots[place][k], typ=self.type(accesses[0]))
                        own.update(dict.fromkeys(accesses, value))
                body(variable, names, [b.add(first, I64(k)) for k in range(side)])
            self.names = outside
        loaded.update(place for place in wanted if place in kept.own)

    def _anew(self, number):
        """The same number below 2 ** 31, of which LLVM knows nothing: else it keeps the addresses of one loop for the next one,
        which takes more registers than the elements do."""
        b = self.builder
        return b.zext(b.asm(ir.FunctionType(I32, [I32]), "", "=r,0", [b.trunc(number, I32)], True), I64)

    def kept_loop(self, s, lane, size):
        """A loop along the row: what it stores side by side is stored at once."""
        def body(variable, names, numbers):
            for t in s.body:
                values = []
                for self.names, number in zip(names, numbers):
                    self.bind(variable, number)
                    if isinstance(t, Let):
                        self.bound(t)
                    else:
                        values.append(self.value(t.expr))
                if isinstance(t, Store):
                    with self.builder.if_then(self.writes):
                        self._store(t, variable, values, numbers)
        self.along(s, s.variable, lane, size, body)

    def bound(self, t):
        """A Let, whose element a register may have."""
        if t.expr not in self.names:
            self.let(t)

    def _store(self, s, variable, values, numbers):
        dtype = s.output.operand.dtype
        if self._is_straight(s.offset, self.nest.symbols[variable]):
            self.bind(variable, numbers[0])
            self.store_neighbours(s, [self.arithmetic.to_memory(value, dtype) for value in values])
            return
        for value, number in zip(values, numbers):
            self.bind(variable, number)
            self.arithmetic.store(value, self.address_of(s), dtype, self.scopes[id(s.output.operand)])

    def kept_iterate(self, s, innermost, part=None, total=None, neutral=None):
        """`iterate` of a Fold along the row. A part has a thread's elements, which then go into the total."""
        lane, size, _ = self.group
        (variable, _, statements), = s.loops
        if part is not None:
            self.builder.store(self.type(s.expr)(neutral), part)

        def body(variable, names, numbers):
            for self.names, number in zip(names, numbers):
                self.bind(variable, number)
                with self.exclusive():
                    for t in statements:
                        self.bound(t)
                innermost()
        self.along(s, variable, lane, size, body)
        if part is not None:
            self.finish_part(s, part, total)
