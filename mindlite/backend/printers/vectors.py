"""Rows of any length by vectors: the loops along the last axis are written with vectors here, not left to LLVM.

    for r in range(n): part += x[r]    ->    for r in range(0, n & -32, 32): part32 += x[r : r + 32]
                                             part8 = the lanes of part32 in groups of 8, added up
                                             for r in range(n & -32, n, 8): part8 += x[r : r + 8] where r + lane < n
                                             part = the lanes of part8, added up in halves

LLVM's vectoriser takes 32 elements at a time and the rest one by one, which for rows of 17 to 64 is most of the time;
its predicated loops are none of vectors. The element of a vector that is not there is neither read nor written (masked
loads and stores) and counts as the neutral element of a fold. Vectors of 32 numbers are several registers side by side:
sums do not wait for one another. Where the work on an element is long they would not fit and are not needed.

A loop that reads with a stride or by an index, calls libm, divides integers or branches is LLVM's, as are loops that
are parallel (long, so that the rest is nothing) and those of literal extent, which unroll.
"""
import contextlib
import functools
from collections.abc import Callable
from dataclasses import field
from typing import Any

from llvmlite import ir

from ...common import dtype as dt
from ...common.dim import coefficient
from ...common.records import dataclass
from ...mindir.loops import Access, Let, LoopNest, Store
from ...mindir.scalar import COMPARISONS, BinOp, Call, Cast, Const, IndexVar, Neg, Select
from ..target import Target
from .arithmetic import I32, I64, MEMORY, REGISTER, Arithmetic, mark
from .math_functions import is_inline
from .values import Repeated, call, suffix

_FLOAT_OPERATORS = {"add", "sub", "mul", "div", *COMPARISONS}
_INTEGER_OPERATORS = {"add", "sub", "mul", "and", "or", "xor", *COMPARISONS}
MASKED_SHORTS = 16              # lanes of a machine that loads some of several narrow elements at once: AVX-512
COUNTED = 1 << 30               # elements of a row whose numbers are counted in 32 bits


@dataclass
class Vector:
    """What a loop over vectors does just now: its variable, the lanes, how many and which are there (None for all)."""
    variable: Any
    count: int
    left: Any = None
    mask: Any = None
    stores: list = field(default_factory=list)            # of what is left, for the end of the iteration


def depending(values, variable, known=()):
    """The expressions in `values` that change with `variable`, each once, without those `known` and what is below."""
    found, todo = set(), list(values)
    while todo:
        expr = todo.pop()
        if variable in expr.free and expr not in found and expr not in known:
            found.add(expr)
            todo.extend(expr.children())
    return found


def values_of(statements):
    """What the Lets and Stores of a loop compute; None if there are other statements."""
    if not all(isinstance(s, (Let, Store)) for s in statements):
        return None
    return [s.source if isinstance(s, Let) and s.source is not None else s.expr for s in statements]


def width(nest, variable, extent, statements, values=(), known=()):
    """How many elements at a time the loop over `variable` is worth; None where it is no loop over vectors.

    values : what is computed besides the statements;   known: folds over a tile, whose accumulators are read
    """
    computed = values_of(statements)
    if computed is None or isinstance(extent, int) or variable is None:
        return None
    symbol, exprs = nest.symbols[variable], depending([*computed, *values], variable, known)
    if not exprs or not all(takes_vectors(e, variable, symbol) for e in exprs) or \
            not all(coefficient(s.offset, symbol) == 1 for s in statements if isinstance(s, Store)):
        return None
    long = any(isinstance(e, Call) for e in exprs) or len(exprs) > nest.target.short_work or \
        any(isinstance(e, Access) and e.fields[0].dtype.itemsize < 4 for e in exprs)
    return nest.target.long if long else nest.target.wide


def row_offsets(nest, variable, statements, values=()):
    """The offsets at which a loop over `variable` reads and writes, if all of these are neighbours along it; else None."""
    computed = values_of(statements)
    if computed is None:
        return None
    symbol, exprs = nest.symbols[variable], depending([*computed, *values], variable)
    stored = [s.offset for s in statements if isinstance(s, Store)]
    if not all(takes_vectors(e, variable, symbol) for e in exprs) or not all(coefficient(o, symbol) == 1 for o in stored):
        return None
    return [*stored, *(e.fields[1] for e in exprs if isinstance(e, Access))]


def takes_vectors(expr, variable, symbol):
    """Can the expression, which changes with the variable, be computed for neighbours along it at once?"""
    if isinstance(expr, Access):
        return coefficient(expr.fields[1], symbol) == 1 and all(variable not in e.free for e in expr.fields[2])
    if isinstance(expr, BinOp):
        dtype = expr.fields[1].dtype
        return expr.fields[0] in (_FLOAT_OPERATORS if dtype.is_float else _INTEGER_OPERATORS)
    if isinstance(expr, Call):
        name, (x, *_) = expr.fields
        return is_inline(name, REGISTER[x.dtype.name]) if x.dtype.is_float else name in ("maximum", "minimum", "abs")
    return isinstance(expr, (IndexVar, Cast, Select, Neg, Const))


def fills_bytes(dtype):
    """True for a dtype whose registers lie in an array as in a vector: those of a vector of bools or int4 share bytes."""
    return dtype not in (dt.bool_, dt.int4)


def spread(builder, value, count):
    """A number in every lane."""
    if isinstance(value, ir.Constant):
        return Repeated(value, count)
    one = ir.VectorType(value.type, 1)
    first = builder.insert_element(ir.Constant(one, ir.Undefined), value, I32(0))
    return builder.shuffle_vector(first, ir.Constant(one, ir.Undefined), ir.Constant(ir.VectorType(I32, count), None))


def halves(builder, value):
    """The first and the second half of the lanes of a vector; numbers, of two lanes."""
    half = value.type.count // 2
    if half == 1:
        return tuple(builder.extract_element(value, I32(k)) for k in range(2))
    none = ir.Constant(value.type, ir.Undefined)
    return tuple(builder.shuffle_vector(value, none, ascending(I32, half, k)) for k in (0, half))


@functools.cache
def ascending(type_, count, first=0):
    """The constant vector of first, first + 1, .."""
    return ir.Constant(ir.VectorType(type_, count), list(range(first, first + count)))


def transposed(builder, rows):
    """The columns of as many vectors as each has lanes: halves of pairs change places, 1 apart, 2 apart, 4 apart."""
    half, rows = 1, list(rows)
    while half < len(rows):
        lanes = range(len(rows))
        kind = ir.VectorType(ir.IntType(32), len(rows))
        low = kind([j if not j & half else len(rows) + j - half for j in lanes])
        high = kind([j + half if not j & half else len(rows) + j for j in lanes])
        for i in (i for i in lanes if not i & half):
            rows[i], rows[i + half] = [builder.shuffle_vector(rows[i], rows[i + half], order) for order in (low, high)]
        half *= 2
    return rows


class VectorLoops:
    """The part of an emitter that writes loops over vectors; vector: the Vector of the loop that it is in, or None."""
    builder: ir.IRBuilder
    arithmetic: Arithmetic
    target: Target
    nest: LoopNest
    names: dict
    dims: dict
    scratch: dict
    scopes: dict
    tile_start: ir.Value
    tile_size: ir.Value
    vector: Any = None

    # what the emitter has
    loop: Callable[..., Any]
    bind: Callable[..., Any]
    statements: Callable[..., Any]
    value: Callable[..., Any]
    compute: Callable[..., Any]
    type: Callable[..., Any]
    dim: Callable[..., Any]
    initial: Callable[..., Any]
    address: Callable[..., Any]
    piece_end: Callable[..., Any]
    fold_loops: Callable[..., Any]
    keep_better: Callable[..., Any]
    number_of: Callable[..., Any]

    def vector_loop(self, variable, start, stop, counts, body, narrow=None):
        """`body()` for the vectors of [start, stop): of so many elements as `counts` say, and a vector at a time what is left.

        narrow : what is done after the first loop
        """
        b, lanes = self.builder, self.target.lanes
        stop = b.select(b.icmp_signed("<", stop, start), start, stop)           # a piece may begin behind the end
        for count in counts:
            whole = b.add(start, b.and_(b.sub(stop, start), I64(-count)))
            with self.loop(start, whole, count, "written") as i:
                self.bind(variable, i)
                self.vector = Vector(variable, count)
                body()
                self.vector = None
            start = whole
            if count == counts[0] and narrow is not None:
                narrow()
        with self.loop(start, stop, lanes, "written") as i:
            self.bind(variable, i)
            left = b.trunc(b.sub(stop, i), I32)
            there = b.icmp_signed("<", ascending(I32, lanes), spread(b, left, lanes))
            self.vector = Vector(variable, lanes, left, there)
            body()
            self.write_what_is_left()
            self.vector = None

    def fold_vectors(self, s, variable, start, stop, wide, statements):
        """The fold over [start, stop) of the innermost loop of a Fold, a number."""
        b, kind, type_, target = self.builder, s.expr.fields[0], self.type(s.expr), self.target
        neutral, lanes = self.initial(s.expr), target.lanes
        slots = {count: self.arithmetic.slot(ir.VectorType(type_, count)) for count in {wide, lanes}}

        def combine(x, y):
            return self.arithmetic.accumulate(kind, x, y, s.expr.dtype)

        def body():
            self.statements(statements)
            slot, value = slots[self.vector.count], self.value(s.value)
            if self.vector.mask is not None:
                value = b.select(self.vector.mask, value, spread(b, neutral, lanes))
            b.store(combine(b.load(slot), value), slot)

        def narrow():
            value = b.load(slots[wide])
            while value.type.count > lanes:
                value = combine(*halves(b, value))
            b.store(value, slots[lanes])

        b.store(spread(b, neutral, wide), slots[wide])
        self.vector_loop(variable, start, stop, (wide, lanes) if wide == target.wide else (wide,), body, narrow)
        value = b.load(slots[lanes])
        while isinstance(value.type, ir.VectorType):
            value = combine(*halves(b, value))
        return value

    def fold_positions(self, s, best, where):
        """argmax or argmin over the innermost loop of a Fold: each lane keeps its best value and where it stood, the first of
        equals; then lanes are compared. best, where: the slots of what was found before, in rows of smaller numbers."""
        b, kind, type_, dtype = self.builder, s.expr.fields[0], self.type(s.value), s.value.dtype
        (variable, extent, statements), lanes = s.loops[-1], self.target.lanes
        wide, stop, neutral = self.target.long, self.dim(extent), self.initial(s.expr)

        def better_of(x, y):
            """The winner of two (values, numbers) that lanes have found."""
            wins = self.arithmetic.wins(kind, y[0], x[0], dtype)
            loses = self.arithmetic.wins(kind, x[0], y[0], dtype)
            wins = b.or_(wins, b.and_(b.not_(loses), b.icmp_signed("<", y[1], x[1])))
            return tuple(b.select(wins, second, first) for first, second in zip(x, y))
        slots = {count: (self.arithmetic.slot(ir.VectorType(type_, count)), self.arithmetic.slot(ir.VectorType(I32, count)))
                 for count in (wide, lanes)}

        def halved(held):
            """The winners of the two halves of the lanes."""
            return better_of(*zip(*(halves(b, part) for part in held)))
        with self.loop(I64(0), stop, COUNTED) as first:
            for slot, value in zip(slots[wide], (spread(b, neutral, wide), ir.Constant(ir.VectorType(I32, wide), None))):
                b.store(value, slot)

            def body():
                self.statements(statements)
                count, mask = self.vector.count, self.vector.mask
                start = b.trunc(b.sub(self.dims[self.nest.symbols[variable]], first), I32)
                found = self.value(s.value), b.add(spread(b, start, count), ascending(I32, count))
                held = tuple(map(b.load, slots[count]))
                wins = self.arithmetic.wins(kind, found[0], held[0], dtype)
                wins = wins if mask is None else b.and_(wins, mask)
                for slot, new, old in zip(slots[count], found, held):
                    b.store(b.select(wins, new, old), slot)

            def narrow():
                held = tuple(map(b.load, slots[wide]))
                while held[0].type.count > lanes:
                    held = halved(held)
                for slot, value in zip(slots[lanes], held):
                    b.store(value, slot)
            self.vector_loop(variable, first, self.piece_end(first, COUNTED, stop), (wide,), body, narrow)
            held = tuple(map(b.load, slots[lanes]))
            while isinstance(held[0].type, ir.VectorType):
                held = halved(held)
            self.bind(variable, b.add(first, b.zext(held[1], I64)))
            self.keep_better(s, best, where, held[0], self.number_of(s))

    def fold_columns(self, s, wide):
        """A fold over a tile: the accumulators of its columns wait in memory, some rows at a time."""
        b, kind, type_, target = self.builder, s.expr.fields[0], self.type(s.expr), self.target
        sums = self.arithmetic.slot(type_, target.tile + target.lanes)          # the last vector may have lanes behind the tile
        neutral = spread(b, self.initial(s.expr), target.lanes)
        with self.loop(I64(0), self.tile_size, target.lanes) as t:
            b.store(neutral, self.lanes_at(sums, t, target.lanes), align=s.expr.dtype.itemsize)
        *outer, (variable, extent, between), (_, _, statements) = s.loops

        def add(counts, *rows):
            def body():
                values = []
                for row in rows:
                    self.bind(variable, row)
                    self.statements(statements)
                    values.append(self.value(s.value))
                address = self.lanes_at(sums, self.first_lane(), self.vector.count)
                values.append(b.load(address, align=s.expr.dtype.itemsize))
                while len(values) > 1:
                    x, y, *values = values
                    values.append(self.arithmetic.accumulate(kind, x, y, s.expr.dtype))
                b.store(values[0], address, align=s.expr.dtype.itemsize)
            self.vector_loop(s.lanes, self.tile_start, b.add(self.tile_start, self.tile_size), counts, body)

        def all_rows():
            stop = self.dim(extent)
            if between or wide != target.wide:
                with self.loop(I64(0), stop) as i:
                    self.bind(variable, i)
                    self.statements(between)
                    add((target.long,), i)
                return
            whole = b.and_(stop, I64(-target.rows_at_once))
            with self.loop(I64(0), whole, target.rows_at_once) as i:
                add((target.long,), *(b.add(i, I64(k)) for k in range(target.rows_at_once)))
            with self.loop(whole, stop) as i:
                add((), i)
        self.fold_loops(outer, all_rows)
        self.scratch[s.expr] = sums

    def tile_folds(self):
        """The folds over a tile whose accumulators can be read as vectors."""
        return {expr for expr in self.scratch if fills_bytes(expr.dtype)}

    def lanes_at(self, slot, lane, count):
        """The address of `count` numbers of a slot."""
        address = self.builder.gep(slot, [lane])
        return self.builder.bitcast(address, ir.VectorType(slot.type.pointee, count).as_pointer())

    def first_lane(self):
        """The number of the first column of the vector in its tile."""
        return self.builder.sub(self.dims[self.nest.symbols[self.vector.variable]], self.tile_start)

    def vector_value(self, expr):
        """The lanes of an expression."""
        if self.vector.variable in expr.free:
            if expr in self.names:
                return self.names[expr]
            if expr in self.scratch:
                address = self.lanes_at(self.scratch[expr], self.first_lane(), self.vector.count)
                return self.builder.load(address, align=expr.dtype.itemsize)
            return self.compute(expr)
        count = self.vector.count
        with self.numbers():
            return spread(self.builder, self.value(expr), count)

    @contextlib.contextmanager
    def numbers(self):
        """In a loop over vectors: what is written here is of numbers."""
        held, self.vector = self.vector, None
        yield
        self.vector = held

    def vector_numbers(self):
        """The values of the loop variable in the lanes."""
        count, first = self.vector.count, self.dims[self.nest.symbols[self.vector.variable]]
        return self.builder.add(spread(self.builder, first, count), ascending(I64, count))

    def vector_load(self, access):
        """The elements from that of an Access on, those that are there; others are 0."""
        b, operand = self.builder, access.fields[0]
        dtype, scope = operand.dtype, self.scopes[id(operand)]
        kind = ir.VectorType(MEMORY[dtype.name], self.vector.count)
        with self.numbers():
            pointer = self.address(access)
        address, mask = b.bitcast(pointer, kind.as_pointer()), self.vector.mask
        if mask is None:
            raw = b.load(address, typ=kind, align=dtype.itemsize)
        elif dtype.itemsize < 4 and self.target.lanes < MASKED_SHORTS:
            return self.arithmetic.from_memory(self.load_what_is_left(pointer, kind, dtype, scope), dtype)
        else:
            raw = call(b, f"llvm.masked.load.{suffix(kind)}.p0", kind,
                       [address, I32(dtype.itemsize), mask, ir.Constant(kind, None)])
        return self.arithmetic.from_memory(mark(raw, scope), dtype)

    def load_what_is_left(self, pointer, kind, dtype, scope):
        """The elements that are there of narrow ones, 0 for the others: a masked load of them would be a branch for each."""
        b, left, count, slot = self.builder, self.vector.left, kind.count, self.arithmetic.slot(kind)

        def move(many, start, to):
            part = ir.VectorType(kind.element, many)
            value = mark(b.load(b.bitcast(start, part.as_pointer()), typ=part, align=dtype.itemsize), scope)
            b.store(value, b.bitcast(to, part.as_pointer()), align=dtype.itemsize)
        with b.if_else(b.icmp_signed(">=", left, I32(count))) as (all_of_them, some):
            with all_of_them:
                move(count, pointer, slot)
            with some:
                b.store(ir.Constant(kind, None), slot)
                to = b.bitcast(slot, kind.element.as_pointer())
                while count > 1:
                    count //= 2
                    there = b.icmp_signed("!=", b.and_(left, I32(count)), I32(0))
                    with b.if_then(there):
                        move(count, pointer, to)
                    pointer, to = (b.select(there, b.gep(place, [I64(count)]), place) for place in (pointer, to))
        return b.load(slot, typ=kind, align=dtype.itemsize)

    def vector_store(self, value, pointer, dtype, scope):
        """Write the elements that are there from `pointer` on."""
        value = self.arithmetic.to_memory(value, dtype)
        if self.vector.left is None:
            self.put(value, pointer, dtype, scope)
        else:
            self.vector.stores.append((value, pointer, dtype, scope))

    def put(self, value, pointer, dtype, scope):
        """Write all lanes of a vector, or a number."""
        address = self.builder.bitcast(pointer, value.type.as_pointer())
        mark(self.builder.store(value, address, align=dtype.itemsize), scope)

    def write_what_is_left(self):
        """The stores of an iteration that may not be whole: half of the lanes, a quarter, .. as the bits of how many there
        are say (a masked store takes an AMD Zen 3 longer)."""
        b, stores, count, left = self.builder, self.vector.stores, self.vector.count, self.vector.left
        if not stores:
            return
        with b.if_else(b.icmp_signed(">=", left, I32(count))) as (all_of_them, some):
            with all_of_them:
                for store in stores:
                    self.put(*store)
            with some:
                while count > 1:
                    count //= 2
                    parts = [halves(b, value) for value, *_ in stores]
                    there = b.icmp_signed("!=", b.and_(left, I32(count)), I32(0))
                    with b.if_then(there):
                        for (first, _), (_, *where) in zip(parts, stores):
                            self.put(first, *where)
                    stores = [(b.select(there, rest, first), b.select(there, b.gep(address, [I64(count)]), address), *kind)
                              for (first, rest), (_, address, *kind) in zip(parts, stores)]
