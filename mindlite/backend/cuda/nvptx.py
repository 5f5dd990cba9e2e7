"""A scheduled LoopNest as LLVM IR for the threads of CUDA blocks (`threads` says which of them does what).

    define void @part(i64 %block, i64 %args..)        the work of one block of many
    define i64 @blocks(i64 %args..)                    how many there are

`code` adds the kernel that runs over the blocks, and what a thread asks of its machine: `@thread`, `@threads`,
`@barrier`, `@shuffle`, `@to_bf16`. A GPU answers by instructions, the simulator by what it runs on the CPU: the text of a kernel
is the same.
Arithmetic, functions and conversions are those of `lower_llvm`, one number at a time, so elementwise results are
the CPU's to the last bit; sums add up in another order.
"""
import contextlib
import functools
from typing import Any

from llvmlite import ir

from ...common import dtype as dt
from ...common.dim import coefficient
from ...mindir.abstract import AbstractScalar
from ...mindir.loops import Access, Fold, Let, Loop, Store
from ...mindir.scalar import Call, walk
from ..loops import both, counted_loop
from ..printers.arithmetic import I32, I64, MEMORY, REGISTER, Arithmetic, alias_scopes, mark
from ..printers.values import DOUBLE, FLOAT
from .shared_folds import SharedFolds
from .threads import SIDE, THREADS, WARP, flattened, plan, product_of

GLOBAL, SHARED = 1, 3                                       # address spaces of NVPTX
WORD = 8                                                    # bytes of a number that threads hand on
WARP_BITS = I64(WARP.bit_length() - 1)
VECTOR, MOST_NEIGHBOURS = 16, 8                             # bytes and numbers that a thread loads or stores at once
MOST_CALLS, MOST_WORK = 16, 512                             # functions and operations of such items: beyond, the text is long
MANY_ROWS = 2048                                            # from which on a warp, or little more, is enough for a row
BLOCKS_OF_KEPT = 2                                          # of a multiprocessor: ptxas aims at more for kept rows, and spills
# Functions of their own for rows that are kept, loaded at once or one by one, and for rows that are not: registers do not add up.
WAYS = ("vectors", "numbers", "read")
PITCH = SIDE + 1                                            # of a square: its columns lie in different banks


def emit(nest):
    """The LLVM module text of a scheduled LoopNest: `part` and `blocks`; its first line says how many bytes threads share,
    and how many blocks a multiprocessor should have at least, where that matters."""
    module = ir.Module("kernel")
    emitters = [_ThreadEmitter(nest, module)]
    kept = emitters[0].kept is not None
    emitters += [_ThreadEmitter(nest, module, way) for way in WAYS * kept]
    for emitter in emitters:
        emitter.run()
    blocks = f", {BLOCKS_OF_KEPT} blocks" if kept else ""
    return f"; shared {max(emitter.most_shared for emitter in emitters)}{blocks}\n{module}"


class _ThreadArithmetic(Arithmetic):
    """Rounds to bfloat16 by what the machine has for it. A number that was rounded is not rounded again when it is stored."""

    def __init__(self, builder, to_bf16):
        super().__init__(builder)
        self.to_bf16, self.raw = to_bf16, {}                # {register: what was rounded to it}

    def narrowed(self, value, dtype):
        if dtype is not dt.bfloat16:
            return super().narrowed(value, dtype)
        return self.raw[value] if value in self.raw else self.builder.call(self.to_bf16, [value])

    def round(self, value, want):
        if want is not dt.bfloat16:
            return super().round(value, want)
        raw = self.narrowed(value if value.type is FLOAT else self.round_to_odd(value), want)
        made = self.from_memory(raw, want)
        self.raw[made] = raw
        return made


class _ThreadEmitter(SharedFolds):
    """Writes `part` and `blocks`; way: one of WAYS, as a function of its own that `part` calls."""

    def __init__(self, nest, module, way=None):
        words = [I64] * (len(nest.inputs) + len(nest.outputs) + len(nest.sizes))
        part = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64, *words]), way or "part")
        super().__init__(nest, module, part)
        self.rules = {name: self.named(name, result, arguments) for name, result, arguments in (
            ("thread", I64, []), ("threads", I64, []), ("barrier", ir.VoidType(), []), ("warp_barrier", ir.VoidType(), []),
            ("shuffle", I32, [I32, I32]), ("to_bf16", ir.IntType(16), [FLOAT]))}
        self.arithmetic = _ThreadArithmetic(self.builder, self.rules["to_bf16"])
        self.words, self.plan, self.shared_bytes, self.most_shared, self.way = words, plan(nest), 0, 0, way
        if "shared" not in module.globals:
            ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), 0), "shared", addrspace=SHARED).linkage = "external"
        self.shared = module.globals["shared"]
        if way is not None:
            part.linkage = "internal"
            part.attributes.add("noinline")
            part.attributes.add("convergent")
        self.writes = None                                  # the condition under which this thread writes
        self.group: Any = None                              # (number in the group, size, meeting) of the threads of a fold

    def named(self, name, result, arguments):
        """The function of the module with a name, declared where it is asked for first."""
        return self.module.globals.get(name) or ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def run(self):
        """Write both functions, or that of the one way."""
        if self.way is None:
            self.write_blocks()
        nest, b = self.nest, self.builder
        block, *args = self.function.args
        self.enter(args)
        scopes = alias_scopes(self.module, len(self.operands))
        self.scopes = {id(o): scopes[nest.memory_of(k)] for k, o in enumerate(self.operands)}
        for k, operand in enumerate(self.operands):
            raw = args[nest.memory_of(k)]
            if isinstance(operand.abstract, AbstractScalar):
                self.pointers[id(operand)] = self.arithmetic.scalar_argument(raw, operand.dtype)
            else:
                self.pointers[id(operand)] = b.inttoptr(raw, MEMORY[operand.dtype.name].as_pointer(GLOBAL))
        body = self.function.append_basic_block("body")
        b.position_at_end(body)
        self.thread, self.threads = b.call(self.rules["thread"], []), b.call(self.rules["threads"], [])
        if self.way is not None or self.kept is None:
            self.statements(self.plan.before)
        getattr(self, f"by_{self.plan.way}")(block)
        b.ret_void()
        b.position_at_end(self.entry)
        b.branch(body)

    def enter(self, args):
        self.pointers, self.operands = {}, list(self.nest.inputs) + [o.operand for o in self.nest.outputs]
        self.dims = dict(zip(self.nest.sizes, args[len(self.operands):]))

    def write_blocks(self):
        """The function `blocks`."""
        here = self.builder, self.function
        self.function = ir.Function(self.module, ir.FunctionType(I64, self.words), "blocks")
        self.builder = b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.enter(self.function.args)
        self.threads, way = b.call(self.rules["threads"], []), self.plan.way
        count = self.dim(product_of(self.plan.chain))
        if way == "squares":
            for _, extent in self.plan.square[:2]:
                count = b.mul(count, self.quotient(self.dim(extent), I64(SIDE)))
        elif way == "columns":
            count = self.quotient(count, I64(WARP))
        elif way == "rows":
            count = self.quotient(count, b.lshr(self.threads, self.group_bits()))
        else:
            count = self.quotient(count, b.mul(self.threads, I64(self.neighbours)))
        b.ret(count)
        self.builder, self.function = here

    def quotient(self, a, by):
        """a / by, rounded up."""
        b = self.builder
        return b.udiv(b.add(a, b.sub(by, I64(1))), by)

    # ------------------------------------------------------------ ways

    def by_items(self, block):
        b, statements = self.builder, self.plan.values + self.plan.body
        item, count = b.add(b.mul(block, self.threads), self.thread), self.dim(product_of(self.plan.chain))
        if self.neighbours > 1:
            self.by_neighbours(block, count, statements)
            return
        with b.if_then(b.icmp_signed("<", item, count)):
            self.bind_all(self.plan.chain, item)
            self.statements(statements)

    # ------------------------------------------------------------ neighbours: items of a thread that it loads and stores at once

    def contiguous(self, statements):
        """({Access: None} of what lies side by side along the innermost axis, the Stores); None where a thread takes one item."""
        if self.plan.way != "items" or not self.plan.chain or not all(isinstance(s, (Let, Store)) for s in statements):
            return None
        *outer, symbol = [self.nest.symbols[variable] for variable, _ in self.plan.chain]

        def side_by_side(offset):
            return coefficient(offset, symbol) == 1 and all(coefficient(offset, other) is not None for other in outer)
        stores = [s for s in statements if isinstance(s, Store)]
        if not stores or not all(side_by_side(s.offset) for s in stores):
            return None
        found = {e: None for e in walk(s.expr if getattr(s, "source", None) is None else s.source for s in statements)
                 if isinstance(e, Access) and not e.fields[2] and e.fields[5] and side_by_side(e.fields[1]) and
                 not isinstance(e.fields[0].abstract, AbstractScalar)}
        return found, stores

    @functools.cached_property
    def neighbours(self):
        """How many items a thread takes: as many as 128 bits of the widest array hold, fewer of long work; 1 for other ways."""
        statements = self.plan.values + self.plan.body
        found = self.contiguous(statements)
        if found is None:
            return 1
        dtypes = [e.dtype for e in found[0]] + [s.output.operand.dtype for s in found[1]]
        many = min(MOST_NEIGHBOURS, VECTOR // max(dtype.itemsize for dtype in dtypes))
        work = list(walk(s.expr if getattr(s, "source", None) is None else s.source for s in statements))
        calls = sum(1 for e in work if isinstance(e, Call))
        while many > 1 and (many * calls > MOST_CALLS or many * len(work) > MOST_WORK):
            many //= 2
        return 1 if any(d.name == "int4" for d in dtypes) else many

    def by_neighbours(self, block, count, statements):
        """Items side by side at once where rows begin at multiples of a vector's bytes, which is the same for all threads; else
        as `by_items` does, neighbours by neighbouring threads, one after the other."""
        b, many, (variable, _) = self.builder, self.neighbours, self.plan.chain[-1]
        loads, stores = self.contiguous(statements)
        start = b.mul(b.mul(block, self.threads), I64(many))
        first = b.add(start, b.mul(self.thread, I64(many)))

        def one(item):
            self.bind_all(self.plan.chain, item)
            self.statements(statements)
        with b.if_else(self.is_aligned([*loads, *stores], self.plan.chain, many)) as (vectors, numbers):
            with vectors, b.if_then(b.icmp_signed("<", first, count)):
                with b.if_else(b.icmp_signed("<=", b.add(first, I64(many)), count)) as (whole, rest):
                    with whole:
                        self.at_once(variable, first, loads, statements)
                    with rest, self.loop(first, count) as item:
                        one(item)
            with numbers:
                stop = self.at_most(b.add(start, b.mul(self.threads, I64(many))), count)
                with self.loop(b.add(start, self.thread), stop, self.threads) as item:
                    one(item)

    def is_aligned(self, places, chain, many):
        """Are all addresses, and the steps from row to row, multiples of `many` elements? The same for all threads.

        chain: the loops, the innermost last, along which elements lie side by side; places may have another variable for it
        """
        b, rest = self.builder, I64(0)
        *outer, (_, extent) = chain
        for each, _ in chain:
            self.bind(each, I64(0))
        if outer:
            rest = b.urem(self.dim(extent), I64(many))
        for place in places:
            is_load = isinstance(place, Access)
            size = (place.fields[0] if is_load else place.output.operand).dtype.itemsize
            steps = [coefficient(place.fields[1] if is_load else place.offset, self.nest.symbols[each]) for each, _ in outer]
            for step in steps:
                rest = b.or_(rest, b.and_(b.mul(self.dim(step), I64(size)), I64(many * size - 1)))
            pointer = self.address(place) if is_load else self.address_of(place)
            rest = b.or_(rest, b.and_(b.ptrtoint(pointer, I64), I64(many * size - 1)))
        return b.icmp_unsigned("==", rest, I64(0))

    def address_of(self, s):
        """Where a Store writes."""
        return self.builder.gep(self.pointers[id(s.output.operand)], [self.dim(s.offset)])

    def at_once(self, variable, first, loads, statements):
        """Statement after statement for all items; what lies side by side is loaded and stored as a vector."""
        b, many, outside = self.builder, self.neighbours, self.names
        self.bind_all(self.plan.chain, first)
        symbol = self.nest.symbols[variable]
        numbers = [b.add(self.dims[symbol], I64(k)) for k in range(many)]
        names = [dict(outside) for _ in range(many)]
        for s in statements:
            expr = s.expr if getattr(s, "source", None) is None else s.source
            for e in walk([expr]):
                if e in loads and e not in names[0]:
                    self.bind(variable, numbers[0])
                    for k, value in enumerate(self.load_neighbours(e, many)):
                        names[k][e] = value
            values = []
            for k in range(many):
                self.bind(variable, numbers[k])
                self.names = names[k]
                if isinstance(s, Let) and expr in self.names:    # loaded above
                    self.names[s.expr] = self.names[expr]
                elif isinstance(s, Let):
                    self.let(s)
                else:
                    values.append(self.arithmetic.to_memory(self.value(s.expr), s.output.operand.dtype))
            if values:
                self.bind(variable, numbers[0])
                self.store_neighbours(s, values)
        self.names = outside

    def load_neighbours(self, e, many):
        """The elements from that of an Access on, as registers."""
        b, operand = self.builder, e.fields[0]
        if many == 1:
            return [self.load(e)]
        one, bits = MEMORY[operand.dtype.name], 8 * operand.dtype.itemsize
        together = ir.IntType(many * bits)                  # one number: LLVM takes loads of vectors apart again
        pointer = b.bitcast(self.address(e), together.as_pointer(GLOBAL))
        raw = mark(b.load(pointer, typ=together, align=many * operand.dtype.itemsize), self.scopes[id(operand)])
        parts = [b.trunc(b.lshr(raw, together(k * bits)), ir.IntType(bits)) for k in range(many)]
        return [self.arithmetic.from_memory(b.bitcast(part, one), operand.dtype) for part in parts]

    def store_neighbours(self, s, values):
        """Write the elements from that of a Store on."""
        b, operand = self.builder, s.output.operand
        raw = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
        for k, value in enumerate(values):
            raw = b.insert_element(raw, value, I32(k))
        pointer = b.bitcast(self.address_of(s), raw.type.as_pointer(GLOBAL))
        mark(b.store(raw, pointer, align=len(values) * operand.dtype.itemsize), self.scopes[id(operand)])

    def by_rows(self, block):
        b, plan = self.builder, self.plan
        bits = self.group_bits()
        size = b.shl(I64(1), bits)
        lane = b.and_(self.thread, b.sub(size, I64(1)))
        if self.kept is not None and self.way is None:
            self.choose(size)
            return
        if plan.chain:
            row = b.add(b.mul(block, b.lshr(self.threads, bits)), b.lshr(self.thread, bits))
            rows = self.dim(product_of(plan.chain))
            active = b.icmp_signed("<", row, rows)
            self.bind_all(plan.chain, b.select(active, row, b.sub(rows, I64(1))))
        else:
            active = ir.IntType(1)(1)
        statements = plan.values + plan.body
        if self.kept is None or self.way == "read":
            self.row(lane, size, active, statements)
        else:
            self.kept_row(lane, size, active, statements, self.kept.side if self.way == "vectors" else 1)

    def choose(self, size):
        """Call the function of the way that the rows of a kernel go."""
        b, (at_once, one_by_one) = self.builder, self.fits(size)
        vectors, numbers, read = (self.module.globals[name] for name in WAYS)
        with b.if_else(at_once) as (kept, others):
            with kept:
                b.call(vectors, self.function.args)
            with others, b.if_else(one_by_one) as (kept, rest):
                with kept:
                    b.call(numbers, self.function.args)
                with rest:
                    b.call(read, self.function.args)

    def group_bits(self):
        """How many threads share a row, the logarithm: a power of two from its length on, at most all of the block."""
        b = self.builder
        if not self.plan.chain:
            return self.bits_of(self.threads)
        length = I64(1)
        for extent in map(self.dim, self.plan.long):
            length = b.select(b.icmp_signed(">", extent, length), extent, length)
        bits = self.bits_of(length)
        if self.kept is not None:                            # each takes neighbours, or all that it keeps; a warp is no smaller
            many = b.icmp_signed(">=", self.dim(product_of(self.plan.chain)), I64(MANY_ROWS))
            each = b.select(many, I64(self.kept.many), I64(self.kept.side))
            warp, fewer = self.at_most(bits, WARP_BITS), self.bits_of(self.quotient(length, each))
            bits = b.select(b.icmp_signed(">", fewer, warp), fewer, warp)
        return self.at_most(bits, self.bits_of(self.threads))

    def bits_of(self, number):
        """The logarithm of the power of two from a positive number on."""
        b, count = self.builder, self.module.globals.get("llvm.ctlz.i64")
        count = count or ir.Function(self.module, ir.FunctionType(I64, [I64, ir.IntType(1)]), "llvm.ctlz.i64")
        return b.sub(I64(64), b.call(count, [b.sub(number, I64(1)), ir.IntType(1)(0)]))

    def row(self, lane, size, active, statements):
        """The statements of a row, its loops and folds shared out."""
        first = both(self.builder, active, self.builder.icmp_unsigned("==", lane, I64(0)))
        for number, s in enumerate(statements):
            if isinstance(s, Loop) and self.keeping is not None:
                with self.writing(active):
                    self.kept_loop(s, lane, size)
            elif isinstance(s, Loop):
                with self.writing(active):
                    self.shared_loop(s, lane, size)
                self.meet_after(s.body, number < len(statements) - 1, size)
            elif isinstance(s, Fold) and self.plan.shared_loop(s) is not None:
                with self.writing(active), self.sharing(lane, size, self.across_group):
                    self.fold(s)
                self.meet_after([t for _, _, body in s.loops for t in body], True, size)
            else:
                with self.writing(first):
                    self.statements([s])

    def shared_loop(self, s, lane, size):
        """A loop of a row, its iterations shared out; a chain of loops is one axis."""
        b, (axes, body, _) = self.builder, flattened(s)
        start, stop = I64(0), self.dim(product_of(axes))
        if len(axes) == 1:
            start = I64(s.start)
            stop = stop if s.stop is None else self.at_most(I64(s.stop), stop)

        def once(i):
            self.bind_all(axes, i)
            self.statements(body)
        self.unrolled(b.add(start, lane), stop, size, body, [], once)

    def meet_after(self, statements, more, size):
        """What a loop or fold has written is seen by the threads that share the row."""
        if more and any(isinstance(s, Store) for s in statements):
            self.meet(size)

    def meet(self, size):
        """Wait for the threads of a group."""
        b = self.builder
        with b.if_else(b.icmp_unsigned(">", size, I64(WARP))) as (block, warp):
            with block:
                b.call(self.rules["barrier"], [])
            with warp:
                b.call(self.rules["warp_barrier"], [])

    def by_columns(self, block):
        b = self.builder
        lane, rows = b.and_(self.thread, I64(WARP - 1)), b.lshr(self.threads, WARP_BITS)
        row = b.lshr(self.thread, WARP_BITS)
        column = b.add(b.mul(block, I64(WARP)), lane)
        count = self.dim(product_of(self.plan.chain))
        active = b.icmp_signed("<", column, count)
        self.bind_all(self.plan.chain, b.select(active, column, b.sub(count, I64(1))))
        with self.writing(both(b, active, b.icmp_unsigned("==", row, I64(0)))):
            for s in self.plan.values + self.plan.body:
                shared = isinstance(s, Fold) and self.plan.shared_loop(s) is not None
                with self.sharing(row, rows, self.across_rows) if shared else contextlib.nullcontext():
                    self.statements([s])

    def by_squares(self, block):
        b, ((outer, height), (inner, width), across) = self.builder, self.plan.square
        height, width = self.dim(height), self.dim(width)
        down, right = self.quotient(height, I64(SIDE)), self.quotient(width, I64(SIDE))
        row = b.mul(b.urem(b.udiv(block, right), down), I64(SIDE))
        column = b.mul(b.urem(block, right), I64(SIDE))
        self.bind_all(self.plan.chain, b.udiv(block, b.mul(down, right)))
        self.statements(self.plan.values)
        pointers = {e: self.room(SIDE * PITCH, REGISTER[e.dtype.name]) for e in across}

        def element(t, near, far):
            """Bind the loop variables to an element whose neighbour along `near` is the next thread's; is it there?"""
            along, other = b.urem(t, I64(SIDE)), b.udiv(t, I64(SIDE))
            i, j = (along, other) if near is outer else (other, along)
            at = b.add(row, i), b.add(column, j)
            self.bind(outer, at[0])
            self.bind(inner, at[1])
            there = both(b, b.icmp_signed("<", at[0], height), b.icmp_signed("<", at[1], width))
            return there, b.add(b.mul(j, I64(PITCH)), i)
        with self.loop(self.thread, I64(SIDE * SIDE), self.threads) as t:
            there, at = element(t, outer, inner)
            with b.if_then(there):
                for e, pointer in pointers.items():
                    b.store(self.load(e), b.gep(pointer, [at]))
        b.call(self.rules["barrier"], [])
        with self.loop(self.thread, I64(SIDE * SIDE), self.threads) as t:
            there, at = element(t, inner, outer)
            with b.if_then(there):
                for e, pointer in pointers.items():
                    self.names[e] = b.load(b.gep(pointer, [at]), typ=self.type(e))
                self.statements([s for s in self.plan.body if not (isinstance(s, Let) and s.expr in pointers)])
        b.call(self.rules["barrier"], [])

    # ------------------------------------------------------------ what threads share

    def room(self, count, type_):
        """A pointer to `count` numbers that the threads of a block share, behind what was asked for before."""
        b, start = self.builder, self.shared_bytes
        size = 8 if type_ is DOUBLE or type_ == I64 else 4 if type_ is FLOAT or type_.width == 32 else -(-type_.width // 8)
        self.shared_bytes += -(-count * size // WORD) * WORD
        self.most_shared = max(self.most_shared, self.shared_bytes)
        return b.bitcast(b.gep(self.shared, [I64(0), I64(start)]), type_.as_pointer(SHARED))

    @contextlib.contextmanager
    def writing(self, condition):
        """Stores in the block are made where the condition holds."""
        before, self.writes = self.writes, condition
        yield
        self.writes = before

    @contextlib.contextmanager
    def sharing(self, number, size, combine):
        """Folds in the block are shared by threads: this one is `number` of `size`."""
        before, self.group = self.group, (number, size, combine)
        yield
        self.group = before

    @contextlib.contextmanager
    def exclusive(self):
        """Folds in the block are this thread's own."""
        before, self.group = self.group, None
        yield
        self.group = before

    def shuffled(self, value, distance):
        """The value of the thread whose number in the warp differs in the bit `distance`."""
        b, type_ = self.builder, value.type
        if type_ in (FLOAT, DOUBLE):
            bits = b.bitcast(value, I32 if type_ is FLOAT else I64)
            return b.bitcast(self.shuffled(bits, distance), type_)
        if type_.width < 32:
            return b.trunc(self.shuffled(b.zext(value, I32), distance), type_)
        if type_.width == 32:
            return b.call(self.rules["shuffle"], [value, b.trunc(distance, I32)])
        low = self.shuffled(b.trunc(value, I32), distance)
        high = self.shuffled(b.trunc(b.lshr(value, I64(32)), I32), distance)
        return b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), I64(32)))

    def across_group(self, slots, step):
        """The threads of a row meet: step(values) folds another thread's values into the slots."""
        b, (lane, size, _) = self.builder, self.group
        half = self.arithmetic.slot(I64)
        b.store(b.lshr(self.at_most(size, I64(WARP)), I64(1)), half)
        with self.repeat(lambda: b.icmp_unsigned(">", b.load(half, typ=I64), I64(0))):
            distance = b.load(half, typ=I64)
            step([self.shuffled(b.load(slot, typ=type_), distance) for slot, type_ in slots])
            b.store(b.lshr(distance, I64(1)), half)
        with b.if_then(b.icmp_unsigned(">", size, I64(WARP))):
            first, warps = b.lshr(b.sub(self.thread, lane), WARP_BITS), b.lshr(size, WARP_BITS)
            self.through_memory(slots, step, b.lshr(self.thread, WARP_BITS), first, warps,
                                b.icmp_unsigned("==", b.and_(self.thread, I64(WARP - 1)), I64(0)), I64(1))

    def across_rows(self, slots, step):
        """The threads of a column meet."""
        b, (_, rows, _) = self.builder, self.group
        lane = b.and_(self.thread, I64(WARP - 1))
        self.through_memory(slots, step, self.thread, lane, rows, ir.IntType(1)(1), I64(WARP))

    def through_memory(self, slots, step, mine, first, count, speaks, stride):
        """Threads that speak leave their values at number `mine`; all fold those at first, first + stride, .., in order."""
        b, before = self.builder, self.shared_bytes
        pointers = [self.room(THREADS, type_) for _, type_ in slots]
        with b.if_then(speaks):
            for (slot, type_), pointer in zip(slots, pointers):
                b.store(b.load(slot, typ=type_), b.gep(pointer, [mine]))
        b.call(self.rules["barrier"], [])

        def read(number):
            at = b.add(first, b.mul(number, stride))
            return [b.load(b.gep(pointer, [at]), typ=type_) for pointer, (_, type_) in zip(pointers, slots)]
        for (slot, _), value in zip(slots, read(I64(0))):
            b.store(value, slot)
        with self.loop(I64(1), count) as k:
            step(read(k))
        b.call(self.rules["barrier"], [])
        self.shared_bytes = before                          # read by all: the next fold may write there

    @contextlib.contextmanager
    def repeat(self, condition):
        """while condition(): .."""
        b = self.builder
        head, body, after = (b.append_basic_block(n) for n in ("head", "loop", "after"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(condition(), body, after)
        b.position_at_end(body)
        yield
        b.branch(head)
        b.position_at_end(after)

    # ------------------------------------------------------------ statements

    def bind_all(self, axes, number):
        """The loop variables of a chain, from the number of an iteration of all."""
        b = self.builder
        for k, (variable, extent) in reversed(list(enumerate(axes))):
            self.bind(variable, b.urem(number, self.dim(extent)) if k else number)
            if k:
                number = b.udiv(number, self.dim(extent))

    def store(self, s):
        if self.writes is None:
            super().store(s)
            return
        with self.builder.if_then(self.writes):
            super().store(s)

    def loop_statement(self, s):
        """A loop that this thread does by itself."""
        axes, body, _ = flattened(s) if s.tiled else ([(s.variable, s.extent)], s.body, False)
        stop = self.dim(axes[0][1])
        if s.stop is not None:
            stop = self.at_most(I64(s.stop), stop)
        with self.loop(I64(s.start), stop) as i, self.exclusive():
            self.bind(s.variable, i)
            self.statements(body)

    def lanes(self, s):
        """Of the lanes of a tile each is a thread."""
        with self.exclusive():
            self.statements(s.body)

    def loop(self, start, stop, step=1, iterations=None, variable=None):
        """for i in range(start, stop, step): yields i."""
        return counted_loop(self.builder, start, stop, I64(step) if isinstance(step, int) else step)
