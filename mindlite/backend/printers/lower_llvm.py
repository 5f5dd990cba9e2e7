"""A scheduled LoopNest as LLVM IR: one function `int64_t kernel(int64_t *args, int64_t begin, int64_t end)`.

The statements are printed one by one; loops get phis, accumulators are stack slots that LLVM turns into registers.
Every argument has an alias scope of its own, so that LLVM vectorises without run-time overlap checks. Arithmetic is
IEEE's, neither contracted nor reassociated, with one exception: a sum or product may be added up in any order
(`reassoc` on that one operation), in blocks of 1024 whose totals add up in double, which keeps the error near that of
pairwise summation.
"""
import contextlib
import math

from llvmlite import ir

from ...common import dtype as dt
from ...common.dim import coefficient, compare
from ...common.errors import InternalError
from ...mindir.abstract import AbstractScalar
from ...mindir.loops import BLOCK, Access, Branch, Fold, Lanes, Let, Loop, Store, reads_across
from ...mindir.scalar import BinOp, Call, Cast, Const, IndexVar, Neg, Reduce, Select, Size, compute_dtype, walk
from ..loops import AccessGroup, counted_loop
from .arithmetic import I1, I64, MEMORY, REGISTER, Arithmetic, alias_scopes, mark
from .math_functions import INLINE
from .values import DOUBLE
from .vectors import VectorLoops, fills_bytes, row_offsets, transposed, values_of, width

MOST_COPIES = 32                 # of a body in literal loops: beyond, the outer ones stay loops
SHORTEST_ROW = 4                 # neighbours in literal loops from which on vectors are made of them, not of what is around
SHORTEST_SUM = 9                 # the same where they are only added up
NO_ROW = (0, None, False)        # a fold that LLVM makes no vectors of


def emit(nest, name="kernel"):
    """The LLVM module text of a scheduled LoopNest; its one public function is `name`."""
    module = ir.Module(name)
    function = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer(), I64, I64]), name)
    _Emitter(nest, module, function).run()
    return str(module)


class _Emitter(VectorLoops):
    def __init__(self, nest, module, function):
        self.nest, self.target, self.module, self.function = nest, nest.target, module, function
        self.entry = function.append_basic_block("entry")
        self.builder = ir.IRBuilder(self.entry)
        self.arithmetic = Arithmetic(self.builder)
        self.names = {}                                   # bound expressions -> LLVM values
        self.dims = {}                                    # Symbols -> LLVM values
        self.lane = None                                  # in a loop over lanes: the number of the lane
        self.scratch = {}                                 # folds over a tile -> their accumulators
        self.copies: float = 1                            # of the innermost body, once literal loops are unrolled; inf: one stays
        self.rows = []                                    # of the innermost literal loops here: (extent, row_offsets, it writes)

    # ------------------------------------------------------------ frame

    def run(self):
        args, self.begin, self.end = self.function.args
        nest, b = self.nest, self.builder
        body = self.function.append_basic_block("body")
        done = self.function.append_basic_block("done")
        self.pointers, self.operands = {}, list(nest.inputs) + [o.operand for o in nest.outputs]
        self.apart = AccessGroup(self.module)
        scopes = alias_scopes(self.module, len(self.operands), self.apart)
        self.scopes = {id(o): scopes[nest.memory_of(k)] for k, o in enumerate(self.operands)}
        for k, operand in enumerate(self.operands):
            raw = b.load(b.gep(args, [I64(nest.memory_of(k))]), typ=I64)
            if isinstance(operand.abstract, AbstractScalar):
                self.pointers[id(operand)] = self.arithmetic.scalar_argument(raw, operand.dtype)
            else:
                self.pointers[id(operand)] = b.inttoptr(raw, MEMORY[operand.dtype.name].as_pointer())
        for k, symbol in enumerate(nest.sizes):
            self.dims[symbol] = b.load(b.gep(args, [I64(len(self.operands) + k)]), typ=I64)
        self.start = b.icmp_signed("<", self.begin, self.end)
        b.position_at_end(body)
        self.statements(nest.body)
        b.branch(done)
        b.position_at_end(done)
        b.ret(I64(0))
        b.position_at_end(self.entry)
        b.cbranch(self.start, body, done)

    @contextlib.contextmanager
    def loop(self, start, stop, step=1, iterations=None, variable=None):
        """for i in range(start, stop, step): yields i.

        iterations : a hint for LLVM (see `loop_hint`);   variable: the IndexVar that i is
        """
        beside, self.copies, rows_beside, self.rows = self.copies, 1, self.rows, []

        def hint():
            literal = iterations is None and isinstance(start, ir.Constant) and isinstance(stop, ir.Constant)
            self.copies *= len(range(start.constant, stop.constant, step)) if literal else math.inf
            if literal and self.copies <= MOST_COPIES:
                return "literal"
            self.copies = math.inf                            # what stays a loop is not copied by those around it
            if literal:
                return "rare"
            rows, self.rows = self.rows, []
            around = iterations is None and rows and variable is not None and self.are_apart(rows, variable)
            return "around" if around else iterations
        with counted_loop(self.builder, start, stop, I64(step), hint, self.apart) as i:
            yield i
        self.copies, self.rows = max(beside, self.copies), rows_beside + self.rows

    def are_apart(self, rows, variable):
        """True if these literal loops are over neighbours, and those of one iteration of `variable` over none of the next: not so
        windows that slide."""
        symbol = self.nest.symbols[variable]
        shortest = SHORTEST_ROW if any(writes for *_, writes in rows) else SHORTEST_SUM

        def is_apart(extent, offset):
            step = coefficient(offset, symbol)
            return not isinstance(step, int) or step == 0 or abs(step) >= extent
        return all(extent >= shortest and offsets is not None and all(is_apart(extent, offset) for offset in offsets)
                   for extent, offsets, _ in rows)

    def note_row(self, variable, extent, statements, value=None):
        """Remember a loop that was written, if it is literal and no loop is in it. value: what it adds up"""
        if isinstance(extent, int) and values_of(statements) is not None:
            values = () if value is None else (value,)
            offsets = None if self.is_heavy(statements, values) else row_offsets(self.nest, variable, statements, values)
            self.rows.append((extent, offsets, value is None))

    # ------------------------------------------------------------ statements

    def statements(self, statements):
        for s in statements:
            {Let: self.let, Store: self.store, Loop: self.loop_statement, Lanes: self.lanes, Fold: self.fold,
             Branch: self.branch}[type(s)](s)

    def let(self, s):
        same = self.vector is not None and self.vector.variable not in s.expr.free        # in all lanes
        with self.numbers() if same else contextlib.nullcontext():
            self.names[s.expr] = self.compute(s.expr if s.source is None else s.source)

    def store(self, s):
        operand = s.output.operand
        value = self.value(s.expr)
        pointer = self.builder.gep(self.pointers[id(operand)], [self.dim(s.offset)])
        store = self.arithmetic.store if self.vector is None else self.vector_store
        store(value, pointer, operand.dtype, self.scopes[id(operand)])

    def loop_statement(self, s):
        start, stop = (self.begin, self.end) if s.parallel else (I64(s.start), self.dim(s.extent))
        if s.parallel and s.start:
            start = self.builder.select(self.builder.icmp_signed(">", I64(s.start), start), I64(s.start), start)
        if s.stop is not None:
            stop = self.at_most(I64(s.stop), stop)
        if s.squares:
            self.squares(s, start, stop)
            return
        wide = None if s.parallel or s.tiled else width(self.nest, s.variable, s.extent, s.body)
        if wide is not None:
            self.vector_loop(s.variable, start, stop, (self.target.long,), lambda: self.statements(s.body))
            return
        heavy = s.parallel and self.is_heavy(s.body)
        if heavy:
            start = self.heavy_part(s, start, stop)
        with self.loop(start, stop, self.target.tile if s.tiled else 1, "few" if heavy else None, s.variable) as i:
            if s.tiled:
                self.tile_start = i
                self.tile_size = self.builder.sub(self.piece_end(i, self.target.tile, stop), i)
            else:
                self.bind(s.variable, i)
            self.statements(s.body)
        self.note_row(s.variable, s.extent, s.body)

    def is_heavy(self, statements, values=()):
        """True for an innermost loop with transcendental functions: some 20 operations each, with as many constants."""
        return any(isinstance(e, Call) and (e.fields[0], self.type(e)) in INLINE
                   for e in walk([*(values_of(statements) or ()), *values]))

    def heavy_part(self, s, start, stop):
        """The loop over as many iterations of `Target.wide` items as there are; the number of the first item that is left."""
        b = self.builder
        whole = b.and_(b.sub(stop, start), I64(-self.target.wide))
        middle = b.add(start, b.select(b.icmp_signed("<", whole, I64(0)), I64(0), whole))
        with self.loop(start, middle, iterations="heavy") as i:
            self.bind(s.variable, i)
            self.statements(s.body)
        return middle

    def piece_end(self, start, size, stop):
        """The end of a piece of `size` that begins at `start`: at most `stop`."""
        return self.at_most(self.builder.add(start, I64(size), flags=("nsw",)), stop)

    def at_most(self, last, stop):
        """The smaller of two ends."""
        return self.builder.select(self.builder.icmp_signed("<", last, stop), last, stop)

    def squares(self, s, start, stop):
        """Two loops, in squares. What is read in the other order comes into a square of its own first, so that the work
        on it is vectorised."""
        b, (inner,) = self.builder, s.body
        width, both, side = self.dim(inner.extent), {s.variable, inner.variable}, self.target.side
        across = [e for e in walk(t.expr for t in inner.body)
                  if e.dtype.is_float and reads_across(self.nest, e, s.variable, inner.variable) and
                  all(both.isdisjoint(part.free) for part in e.fields[2])]
        copies = {e: self.arithmetic.slot(self.type(e), side * side) for e in across}
        with self.loop(start, stop, side) as row, self.loop(I64(0), width, side) as column:
            def address(copy, i, j):
                return b.gep(copy, [b.add(b.mul(b.sub(i, row), I64(side)), b.sub(j, column))])
            rows, columns = self.piece_end(row, side, stop), self.piece_end(column, side, width)
            whole = b.icmp_signed("==", b.add(b.sub(rows, row), b.sub(columns, column)), I64(2 * side))
            with b.if_else(whole) as (vectors, numbers):
                for branch, step in ((vectors, self.target.lanes), (numbers, 1)):
                    with branch:
                        for access, copy in copies.items():
                            lanes = step if access.fields[0].dtype is dt.float32 else 1
                            with self.loop(column, columns, lanes) as j, self.loop(row, rows, lanes) as i:
                                self.copy_across(access, s.variable, i, inner.variable, j, lanes,
                                                 lambda di, dj: address(copy, b.add(i, I64(di)), b.add(j, I64(dj))))
            with self.loop(row, rows) as i:
                self.bind(s.variable, i)
                with self.loop(column, columns) as j:
                    self.bind(inner.variable, j)
                    for access, copy in copies.items():
                        self.names[access] = b.load(address(copy, i, j), typ=self.type(access))
                    self.statements([t for t in inner.body if not (isinstance(t, Let) and t.expr in copies)])
        for access in copies:
            del self.names[access]

    def copy_across(self, access, outer, i, inner, j, lanes, address):
        """Copy a block of `lanes` by `lanes` elements, which are neighbours along `outer`, to neighbours along `inner`."""
        b, rows = self.builder, []
        self.bind(outer, i)
        for k in range(lanes):
            self.bind(inner, b.add(j, I64(k)))
            rows.append(self.load(access) if lanes == 1 else self.load_vector(access, lanes))
        for k, row in enumerate(transposed(b, rows)):
            b.store(row, b.bitcast(address(k, 0), row.type.as_pointer()), align=access.dtype.itemsize)

    def load_vector(self, expr, lanes):
        """The float32 elements from that of an Access on."""
        operand, vector = expr.fields[0], ir.VectorType(self.type(expr), lanes)
        address = self.builder.bitcast(self.address(expr), vector.as_pointer())
        return mark(self.builder.load(address, typ=vector, align=operand.dtype.itemsize), self.scopes[id(operand)])

    def bind(self, variable, value):
        self.dims[self.nest.symbols[variable]] = value

    @contextlib.contextmanager
    def lane_loop(self, variable):
        with self.loop(I64(0), self.tile_size) as t:
            self.bind(variable, self.builder.add(self.tile_start, t, flags=("nsw",)))
            self.lane = t
            yield t
            self.lane = None

    def lanes(self, s):
        wide = width(self.nest, s.variable, self.nest.extents[s.variable], s.body, known=self.tile_folds())
        if wide is not None:
            stop = self.builder.add(self.tile_start, self.tile_size)
            self.vector_loop(s.variable, self.tile_start, stop, (self.target.long,), lambda: self.statements(s.body))
            return
        with self.lane_loop(s.variable):
            self.statements(s.body)

    def branch(self, s):
        b = self.builder
        result = self.arithmetic.slot(REGISTER[s.expr.dtype.name])
        with b.if_else(self.value(s.expr.fields[0])) as sides:
            for side, (statements, value) in zip(sides, (s.then, s.otherwise)):
                with side:
                    self.statements(statements)
                    b.store(self.value(value), result)
        self.names[s.expr] = b.load(result, typ=REGISTER[s.expr.dtype.name])

    # ------------------------------------------------------------ folds

    def fold(self, s):
        kind = s.expr.fields[0]
        if s.lanes is not None:
            self.fold_lanes(s)
        elif kind in ("argmax", "argmin"):
            best, where = self.arithmetic.slot(self.type(s.value)), self.arithmetic.slot(I64)
            self.builder.store(self.initial(s.expr), best)
            self.builder.store(I64(0), where)
            wide = None
            if s.loops and s.value.dtype is not dt.bool_:              # a fold over axes of one element has no loop
                variable, extent, statements = s.loops[-1]
                wide = width(self.nest, variable, extent, statements, [s.value])
            if wide is None:
                self.fold_loops(s.loops, lambda: self.keep_best(s, best, where))
                self.rows.append(NO_ROW)
            else:
                self.fold_loops(s.loops[:-1], lambda: self.fold_positions(s, best, where))
            self.names[s.expr] = self.builder.load(where, typ=I64)
        elif kind in ("sum", "prod") and s.expr.dtype.is_float:
            self.fold_blocks(s)
        else:
            acc, (*outer, (variable, extent, statements)) = self.arithmetic.slot(self.type(s.expr)), s.loops
            self.builder.store(self.initial(s.expr), acc)
            wide = width(self.nest, variable, extent, statements, [s.value])
            if wide is None:
                self.fold_loops(s.loops, lambda: self.accumulate(s, acc, self.value(s.value)))
                self.rows.append(NO_ROW)
            else:
                self.fold_loops(outer, lambda: self.accumulate(s, acc, self.fold_vectors(
                    s, variable, I64(0), self.dim(extent), wide, statements)))
            self.names[s.expr] = self.builder.load(acc, typ=self.type(s.expr))

    def fold_loops(self, loops, innermost):
        """The loops of a fold with their statements, and `innermost()` inside."""
        if not loops:
            innermost()
            return
        (variable, extent, statements), *rest = loops
        with self.loop(I64(0), self.dim(extent), variable=variable) as i:
            self.bind(variable, i)
            self.statements(statements)
            self.fold_loops(rest, innermost)

    def fold_blocks(self, s):
        """A floating-point sum or product: blocks in the elements' type, their totals in double."""
        b, kind, type_ = self.builder, s.expr.fields[0], self.type(s.expr)
        total, part = self.arithmetic.slot(DOUBLE), self.arithmetic.slot(type_)
        neutral = 0.0 if kind == "sum" else 1.0
        b.store(DOUBLE(neutral), total)
        *outer, (variable, extent, statements) = s.loops
        wide = width(self.nest, variable, extent, statements, [s.value])

        def blocks():
            stop = self.dim(extent)
            if isinstance(stop, ir.Constant):
                block(I64(0), stop)
                return
            with self.loop(I64(0), stop, BLOCK) as first:
                block(first, self.piece_end(first, BLOCK, stop))

        def block(first, last):
            if wide is None:
                b.store(type_(neutral), part)
                iterations = None if isinstance(extent, int) else self.target.lanes * 4 // s.expr.dtype.itemsize
                with self.loop(first, last, iterations=iterations) as i:
                    self.bind(variable, i)
                    self.statements(statements)
                    self.accumulate(s, part, self.value(s.value))
                self.note_row(variable, extent, statements, s.value)
                value = b.load(part, typ=type_)
            else:
                value = self.fold_vectors(s, variable, first, last, wide, statements)
            value = value if type_ is DOUBLE else b.fpext(value, DOUBLE)
            combine = b.fadd if kind == "sum" else b.fmul
            b.store(combine(b.load(total, typ=DOUBLE), value), total)

        self.fold_loops(outer, blocks)
        value = b.load(total, typ=DOUBLE)
        self.names[s.expr] = value if type_ is DOUBLE else b.fptrunc(value, type_)

    def fold_lanes(self, s):
        """A fold over a tile: one accumulator per lane in a local array."""
        b, kind, type_ = self.builder, s.expr.fields[0], self.type(s.value)
        wide = width(self.nest, s.lanes, self.nest.extents[s.lanes], s.loops[-1][-1], [s.value], self.tile_folds())
        if wide is not None and kind in ("sum", "prod", "max", "min") and fills_bytes(s.expr.dtype):
            self.fold_columns(s, wide)
            return
        best = self.arithmetic.slot(type_, self.target.tile)
        where = self.arithmetic.slot(I64, self.target.tile) if kind in ("argmax", "argmin") else None
        initial = self.initial(s.expr)
        with self.loop(I64(0), self.tile_size) as t:
            b.store(initial, b.gep(best, [t]))
            if where is not None:
                b.store(I64(0), b.gep(where, [t]))
        *loops, (_, _, statements) = s.loops

        def innermost():
            with self.lane_loop(s.lanes) as t:
                self.statements(statements)
                if where is None:
                    self.accumulate(s, b.gep(best, [t]), self.value(s.value))
                else:
                    self.keep_best(s, b.gep(best, [t]), b.gep(where, [t]))
        self.fold_loops(loops, innermost)
        self.scratch[s.expr] = best if where is None else where

    def initial(self, expr):
        kind = expr.fields[0]
        dtype = expr.fields[2].dtype
        dtype = dt.bool_ if kind in ("any", "all") else compute_dtype(dtype) if kind.startswith("arg") else expr.dtype
        type_ = REGISTER[dtype.name]
        if kind in ("sum", "prod", "any", "all"):
            return type_({"sum": 0, "prod": 1, "any": 0, "all": 1}[kind])
        largest = kind in ("max", "argmax")
        if dtype.is_float:
            return type_(-math.inf if largest else math.inf)
        if dtype.kind == "i":
            return type_(-(1 << (dtype.bits - 1)) if largest else (1 << (dtype.bits - 1)) - 1)
        return type_(0 if largest else 1 if dtype is dt.bool_ else (1 << dtype.bits) - 1)

    def accumulate(self, s, pointer, value):
        """Add one value to the fold at `pointer`."""
        acc = self.builder.load(pointer, typ=self.type(s.expr))
        self.builder.store(self.arithmetic.accumulate(s.expr.fields[0], acc, value, s.expr.dtype), pointer)

    def keep_best(self, s, best, where):
        """One step of argmax or argmin."""
        self.keep_better(s, best, where, self.value(s.value), self.number_of(s))

    def number_of(self, s):
        """Which of the elements of a Fold its loop variables are at, an int64."""
        b, number = self.builder, I64(0)
        for variable in s.expr.fields[1]:
            i = self.dims[self.nest.symbols[variable]]
            number = b.add(b.mul(number, self.dim(self.nest.extents[variable])), i)
        return number

    def keep_better(self, s, best, where, value, number):
        """argmax or argmin: keep a value and its number if it wins."""
        b = self.builder
        held = b.load(best, typ=self.type(s.value))
        better = self.arithmetic.wins(s.expr.fields[0], value, held, s.value.dtype)
        b.store(b.select(better, value, held), best)
        b.store(b.select(better, number, b.load(where, typ=I64)), where)

    # ------------------------------------------------------------ expressions

    def type(self, expr):
        return REGISTER[expr.dtype.name]

    def dim(self, polynomial):
        """The value of an int or Dim over sizes and loop variables."""
        b = self.builder
        if isinstance(polynomial, int):
            return I64(polynomial)
        total = None
        for monomial, c in sorted(polynomial.terms.items(), key=lambda t: repr(t[0])):
            part = None if c == 1 and monomial else I64(c)
            for atom, power in monomial:
                if atom not in self.dims:
                    raise InternalError(f"{atom} in the offset {polynomial} is neither a size nor a loop variable here")
                for _ in range(power):
                    part = self.dims[atom] if part is None else b.mul(part, self.dims[atom], flags=("nsw",))
            total = part if total is None else b.add(total, part, flags=("nsw",))
        return total

    def value(self, expr):
        """The LLVM value of an expression: its name, or computed here."""
        if self.vector is not None:
            return self.vector_value(expr)
        if expr in self.names:
            return self.names[expr]
        if expr in self.scratch and self.lane is not None:
            return self.builder.load(self.builder.gep(self.scratch[expr], [self.lane]), typ=self.type(expr))
        return self.compute(expr)

    def compute(self, expr):
        b, type_ = self.builder, self.type(expr)
        if isinstance(expr, Const):
            return type_(expr.fields[0] if type_ is not I1 else int(expr.fields[0]))
        if isinstance(expr, IndexVar):
            return self.vector_numbers() if self.vector is not None else self.dims[self.nest.symbols[expr]]
        if isinstance(expr, Size):
            return self.dim(self.nest.size_of(expr.fields[0]))
        if isinstance(expr, Access):
            return self.load(expr)
        if isinstance(expr, Neg):
            return b.fneg(self.value(expr.fields[0]))
        if isinstance(expr, Cast):
            return self.arithmetic.convert(self.value(expr.fields[0]), expr.fields[0].dtype, expr.dtype)
        if isinstance(expr, Select):
            return b.select(*(self.value(f) for f in expr.fields))
        if isinstance(expr, BinOp):
            op, x, y = expr.fields
            positive, divisor = isinstance(y, Const) and y.fields[0] > 0 or isinstance(y, Size), self.value(y)
            if op in ("floordiv", "mod") and isinstance(y, Size) and not compare(">=", y.fields[0], 1):
                divisor = b.select(b.icmp_signed("<", divisor, type_(1)), type_(1), divisor)     # of an axis that is empty
            return self.arithmetic.binary(op, self.value(x), divisor, x.dtype, positive)
        if isinstance(expr, Call):
            name, args = expr.fields
            return self.arithmetic.call(name, [self.value(a) for a in args], args[0].dtype)
        if isinstance(expr, Reduce):
            raise InternalError("a fold was not written before its use")
        raise InternalError(f"no code for {type(expr).__name__}")

    def load(self, expr):
        operand = expr.fields[0]
        if isinstance(operand.abstract, AbstractScalar):
            return self.pointers[id(operand)]
        if self.vector is not None:
            return self.vector_load(expr)
        return self.arithmetic.load(self.address(expr), operand.dtype, self.scopes[id(operand)])

    def address(self, expr):
        """The address of an Access."""
        operand, offset, exprs, strides, _, _ = expr.fields
        b, index = self.builder, self.dim(offset)
        for part, stride in zip(exprs, strides):
            value = self.arithmetic.convert(self.value(part), part.dtype, dt.int64)
            index = b.add(index, b.mul(value, self.dim(stride)))
        return b.gep(self.pointers[id(operand)], [index])
