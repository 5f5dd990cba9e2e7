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

from ..common import dtype as dt
from ..common.errors import InternalError
from ..mindir.abstract import AbstractScalar
from ..mindir.scalar import BinOp, Call, Cast, Const, IndexVar, Neg, Reduce, Select, Size, compute_dtype
from . import math_functions
from .loopnest import Access
from .math_functions import DOUBLE, FLOAT, Value, call
from .schedule import TILE, Branch, Fold, Lanes, Let, Loop, Store

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
_REGISTER = {"bool": I1, "uint8": I8, "int8": I8, "uint16": I16, "int16": I16, "uint32": I32, "int32": I32,
             "uint64": I64, "int64": I64, "float16": FLOAT, "bfloat16": FLOAT, "float32": FLOAT, "float64": DOUBLE}
_MEMORY = {**_REGISTER, "bool": I8, "float16": ir.HalfType(), "bfloat16": I16}
BLOCK = 1024                        # elements of a sum that add up in float32 before they go into the double total
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def emit(nest, name="kernel"):
    """The LLVM module text of a scheduled LoopNest; its one public function is `name`."""
    module = ir.Module(name)
    function = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer(), I64, I64]), name)
    _Emitter(nest, module, function).run()
    return str(module)


class _Emitter:
    def __init__(self, nest, module, function):
        self.nest, self.module, self.function = nest, module, function
        self.entry = function.append_basic_block("entry")
        self.builder = ir.IRBuilder(self.entry)
        self.names = {}                                   # bound expressions -> LLVM values
        self.dims = {}                                    # Symbols -> LLVM values
        self.lane = None                                  # in a loop over lanes: the number of the lane
        self.scratch = {}                                 # folds over a tile -> their accumulators

    # ------------------------------------------------------------ frame

    def run(self):
        args, self.begin, self.end = self.function.args
        nest, b = self.nest, self.builder
        body = self.function.append_basic_block("body")
        done = self.function.append_basic_block("done")
        self.pointers, self.operands = {}, list(nest.inputs) + [o.operand for o in nest.outputs]
        domain = self.module.add_metadata(["mindlite"])
        scopes = [self.module.add_metadata([f"argument {k}", domain]) for k in range(len(self.operands))]
        self.scopes = {id(o): (self.module.add_metadata([scopes[k]]),
                               self.module.add_metadata(scopes[:k] + scopes[k + 1:]) if len(scopes) > 1 else None)
                       for k, o in enumerate(self.operands)}
        for k, operand in enumerate(self.operands):
            raw = b.load(b.gep(args, [I64(k)]), typ=I64)
            if isinstance(operand.abstract, AbstractScalar):
                self.pointers[id(operand)] = self.number(raw, operand.dtype)
            else:
                self.pointers[id(operand)] = b.inttoptr(raw, _MEMORY[operand.dtype.name].as_pointer())
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

    def number(self, raw, dtype):
        """A scalar argument from its 64 bits."""
        if dtype is dt.bool_:
            return self.builder.icmp_signed("!=", raw, I64(0))
        return raw if dtype is dt.int64 else self.builder.bitcast(raw, DOUBLE)

    def slot(self, type_, count=None):
        """A stack slot in the entry block."""
        with self.builder.goto_block(self.entry):
            return self.builder.alloca(type_, size=None if count is None else I64(count))

    @contextlib.contextmanager
    def loop(self, start, stop, step=1):
        """for i in range(start, stop, step): yields i."""
        b = self.builder
        before = b.block
        head, body, after = (b.append_basic_block(n) for n in ("head", "loop", "after"))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(I64)
        i.add_incoming(start, before)
        b.cbranch(b.icmp_signed("<", i, stop), body, after)
        b.position_at_end(body)
        yield i
        i.add_incoming(b.add(i, I64(step), flags=("nsw",)), b.block)
        b.branch(head)
        b.position_at_end(after)

    # ------------------------------------------------------------ statements

    def statements(self, statements):
        for s in statements:
            {Let: self.let, Store: self.store, Loop: self.loop_statement, Lanes: self.lanes, Fold: self.fold,
             Branch: self.branch}[type(s)](s)

    def let(self, s):
        self.names[s.expr] = self.compute(s.expr)

    def store(self, s):
        operand = s.output.operand
        value = self.to_memory(self.value(s.expr), operand.dtype)
        pointer = self.builder.gep(self.pointers[id(operand)], [self.dim(s.output.offset)])
        self.mark(self.builder.store(value, pointer), operand)

    def mark(self, instruction, operand):
        own, others = self.scopes[id(operand)]
        instruction.set_metadata("alias.scope", own)
        if others is not None:
            instruction.set_metadata("noalias", others)
        return instruction

    def loop_statement(self, s):
        start, stop = (self.begin, self.end) if s.parallel else (I64(0), self.dim(s.extent))
        with self.loop(start, stop, TILE if s.tiled else 1) as i:
            if s.tiled:
                self.tile_start = i
                left = self.builder.sub(stop, i)
                self.tile_size = self.builder.select(self.builder.icmp_signed("<", left, I64(TILE)), left, I64(TILE))
            else:
                self.bind(s.variable, i)
            self.statements(s.body)

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
        with self.lane_loop(s.variable):
            self.statements(s.body)

    def branch(self, s):
        b = self.builder
        result = self.slot(_REGISTER[s.expr.dtype.name])
        with b.if_else(self.value(s.expr.fields[0])) as sides:
            for side, (statements, value) in zip(sides, (s.then, s.otherwise)):
                with side:
                    self.statements(statements)
                    b.store(self.value(value), result)
        self.names[s.expr] = b.load(result, typ=_REGISTER[s.expr.dtype.name])

    # ------------------------------------------------------------ folds

    def fold(self, s):
        kind = s.expr.fields[0]
        if s.lanes is not None:
            self.fold_lanes(s)
        elif kind in ("argmax", "argmin"):
            best, where = self.slot(self.type(s.value)), self.slot(I64)
            self.builder.store(self.initial(s.expr), best)
            self.builder.store(I64(0), where)
            self.fold_loops(s.loops, lambda: self.keep_best(s, best, where))
            self.names[s.expr] = self.builder.load(where, typ=I64)
        elif kind in ("sum", "prod") and s.expr.dtype.is_float:
            self.fold_blocks(s)
        else:
            acc = self.slot(self.type(s.expr))
            self.builder.store(self.initial(s.expr), acc)
            self.fold_loops(s.loops, lambda: self.accumulate(s, acc))
            self.names[s.expr] = self.builder.load(acc, typ=self.type(s.expr))

    def fold_loops(self, loops, innermost):
        """The loops of a fold with their statements, and `innermost()` inside."""
        if not loops:
            innermost()
            return
        (variable, extent, statements), *rest = loops
        with self.loop(I64(0), self.dim(extent)) as i:
            self.bind(variable, i)
            self.statements(statements)
            self.fold_loops(rest, innermost)

    def fold_blocks(self, s):
        """A floating-point sum or product: blocks in the elements' type, their totals in double."""
        b, kind, type_ = self.builder, s.expr.fields[0], self.type(s.expr)
        total, part = self.slot(DOUBLE), self.slot(type_)
        neutral = 0.0 if kind == "sum" else 1.0
        b.store(DOUBLE(neutral), total)
        *outer, (variable, extent, statements) = s.loops

        def blocks():
            stop = self.dim(extent)
            if isinstance(stop, ir.Constant):
                block(I64(0), stop)
                return
            with self.loop(I64(0), stop, BLOCK) as first:
                last = b.add(first, I64(BLOCK), flags=("nsw",))
                block(first, b.select(b.icmp_signed("<", last, stop), last, stop))

        def block(first, last):
            b.store(type_(neutral), part)
            with self.loop(first, last) as i:
                self.bind(variable, i)
                self.statements(statements)
                self.accumulate(s, part)
            value = b.load(part, typ=type_)
            value = value if type_ is DOUBLE else b.fpext(value, DOUBLE)
            combine = b.fadd if kind == "sum" else b.fmul
            b.store(combine(b.load(total, typ=DOUBLE), value), total)

        self.fold_loops(outer, blocks)
        value = b.load(total, typ=DOUBLE)
        self.names[s.expr] = value if type_ is DOUBLE else b.fptrunc(value, type_)

    def fold_lanes(self, s):
        """A fold over a tile: one accumulator per lane in a local array."""
        b, kind, type_ = self.builder, s.expr.fields[0], self.type(s.value)
        best = self.slot(type_, TILE)
        where = self.slot(I64, TILE) if kind in ("argmax", "argmin") else None
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
                    self.accumulate(s, b.gep(best, [t]))
                else:
                    self.keep_best(s, b.gep(best, [t]), b.gep(where, [t]))
        self.fold_loops(loops, innermost)
        self.scratch[s.expr] = best if where is None else where

    def initial(self, expr):
        kind = expr.fields[0]
        dtype = expr.fields[2].dtype
        dtype = dt.bool_ if kind in ("any", "all") else compute_dtype(dtype) if kind.startswith("arg") else expr.dtype
        type_ = _REGISTER[dtype.name]
        if kind in ("sum", "prod", "any", "all"):
            return type_({"sum": 0, "prod": 1, "any": 0, "all": 1}[kind])
        largest = kind in ("max", "argmax")
        if dtype.is_float:
            return type_(-math.inf if largest else math.inf)
        if dtype.kind == "i":
            return type_(-(1 << (dtype.bits - 1)) if largest else (1 << (dtype.bits - 1)) - 1)
        return type_(0 if largest else 1 if dtype is dt.bool_ else (1 << dtype.bits) - 1)

    def accumulate(self, s, pointer):
        b, kind, dtype = self.builder, s.expr.fields[0], s.expr.dtype
        value, acc = self.value(s.value), b.load(pointer, typ=self.type(s.expr))
        if kind in ("sum", "prod"):
            if dtype.is_float:
                made = (b.fadd if kind == "sum" else b.fmul)(acc, value, flags=("reassoc",))
            else:
                made = (b.add if kind == "sum" else b.mul)(acc, value)
        elif kind in ("any", "all"):
            made = (b.or_ if kind == "any" else b.and_)(acc, value)
        else:
            made = self.extreme("maximum" if kind == "max" else "minimum", acc, value, dtype)
        b.store(made, pointer)

    def extreme(self, name, a, b, dtype):
        """The larger or smaller of two numbers; a NaN wins."""
        if dtype.is_float:
            return Value(self.builder, a).intrinsic(name, Value(self.builder, b)).ir
        signed = self.builder.icmp_signed if dtype.kind == "i" else self.builder.icmp_unsigned
        return self.builder.select(signed(">" if name == "maximum" else "<", a, b), a, b)

    def keep_best(self, s, best, where):
        """One step of argmax or argmin: the first of equals stays, the first NaN wins."""
        b, dtype = self.builder, s.value.dtype
        value, held = self.value(s.value), b.load(best, typ=self.type(s.value))
        op = ">" if s.expr.fields[0] == "argmax" else "<"
        if dtype.is_float:
            held_is_number = b.fcmp_ordered("==", held, held)
            wins = b.or_(b.fcmp_ordered(op, value, held), b.fcmp_unordered("!=", value, value))
            better = b.and_(wins, held_is_number)
        else:
            better = (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(op, value, held)
        number = I64(0)
        for variable in s.expr.fields[1]:
            i = self.dims[self.nest.symbols[variable]]
            number = b.add(b.mul(number, self.dim(self.nest.extents[variable])), i)
        b.store(b.select(better, value, held), best)
        b.store(b.select(better, number, b.load(where, typ=I64)), where)

    # ------------------------------------------------------------ expressions

    def type(self, expr):
        return _REGISTER[expr.dtype.name]

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
            return self.dims[self.nest.symbols[expr]]
        if isinstance(expr, Size):
            return self.dim(self.nest.size_of(expr.fields[0]))
        if isinstance(expr, Access):
            return self.load(expr)
        if isinstance(expr, Neg):
            return b.fneg(self.value(expr.fields[0]))
        if isinstance(expr, Cast):
            return self.convert(self.value(expr.fields[0]), expr.fields[0].dtype, expr.dtype)
        if isinstance(expr, Select):
            return b.select(*(self.value(f) for f in expr.fields))
        if isinstance(expr, BinOp):
            op, x, y = expr.fields
            return self.binary(op, self.value(x), self.value(y), x.dtype, y)
        if isinstance(expr, Call):
            name, args = expr.fields
            values = [self.value(a) for a in args]
            dtype = args[0].dtype
            if dtype.is_float:
                return math_functions.apply(name, *(Value(b, v) for v in values)).ir
            return self.integer_call(name, values, dtype)
        if isinstance(expr, Reduce):
            raise InternalError("a fold was not placed before its use")
        raise InternalError(f"no code for {type(expr).__name__}")

    def load(self, expr):
        operand, offset, exprs, strides, _, _ = expr.fields
        base = self.pointers[id(operand)]
        if isinstance(operand.abstract, AbstractScalar):
            return base
        b, index = self.builder, self.dim(offset)
        for part, stride in zip(exprs, strides):
            value = self.convert(self.value(part), part.dtype, dt.int64)
            index = b.add(index, b.mul(value, self.dim(stride)))
        raw = self.mark(b.load(b.gep(base, [index]), typ=_MEMORY[operand.dtype.name]), operand)
        if operand.dtype is dt.bool_:
            return b.icmp_unsigned("!=", raw, I8(0))
        if operand.dtype is dt.float16:
            return b.fpext(raw, FLOAT)
        if operand.dtype is dt.bfloat16:
            return b.bitcast(b.shl(b.zext(raw, I32), I32(16)), FLOAT)
        return raw

    def to_memory(self, value, dtype):
        b = self.builder
        if dtype is dt.bool_:
            return b.zext(value, I8)
        if dtype is dt.float16:
            return b.fptrunc(value, ir.HalfType())
        if dtype is dt.bfloat16:
            return b.trunc(b.lshr(b.bitcast(value, I32), I32(16)), I16)
        return value

    def convert(self, value, have, want):
        """NumPy's astype, on a register."""
        b, to = self.builder, _REGISTER[want.name]
        if have is want:
            return value
        if want is dt.bool_:
            return b.fcmp_unordered("!=", value, value.type(0)) if have.is_float else \
                b.icmp_unsigned("!=", value, value.type(0))
        if not have.is_float and not want.is_float:
            if want.bits <= have.bits and have is not dt.bool_:
                return b.trunc(value, to) if want.bits < have.bits else value
            return b.sext(value, to) if have.kind == "i" else b.zext(value, to)
        if not have.is_float:
            wide = DOUBLE if want is dt.float64 else FLOAT
            made = b.sitofp(value, wide) if have.kind == "i" else b.uitofp(value, wide)
            return self.round(made, want)
        if want.is_float:
            return self.round(value, want)
        if want is dt.uint64:
            signed = b.fptosi(value, I64)                     # negative numbers wrap, as in C on x86
            return b.select(b.fcmp_ordered("<", value, value.type(2.0 ** 63)), signed, b.fptoui(value, I64))
        made = b.fptosi(value, I64 if want.bits == 64 or want is dt.uint32 else I32)
        return made if made.type is to else b.trunc(made, to)

    def round(self, value, want):
        """A float or double as a register of the floating type `want`, rounded to nearest even."""
        b = self.builder
        if want is dt.float64:
            return value if value.type is DOUBLE else b.fpext(value, DOUBLE)
        if value.type is DOUBLE:
            value = b.fptrunc(value, FLOAT) if want is dt.float32 else self.round_to_odd(value)
        if want is dt.float16:
            return b.fpext(b.fptrunc(value, ir.HalfType()), FLOAT)
        if want is dt.bfloat16:
            x = Value(b, value)
            bits = x.bits()
            lowest = Value(b, b.lshr(bits.ir, I32(16))) & 1
            rounded = (bits + (lowest + 0x7fff)) & 0xffff0000
            return math_functions.is_nan(x).where((bits | 0x400000) & 0xffff0000, rounded).floats().ir
        return value

    def round_to_odd(self, value):
        """A double as a float whose last bit says that something was cut off: rounding it again is then right."""
        b = self.builder
        x = Value(b, value)
        near = x.truncate()
        back, bits = near.extend(), near.bits()
        inexact = back.differs(x) & math_functions.fabs(x).__lt__(math.inf) & (bits & 1).equals(0)
        too_large = math_functions.fabs(back) > math_functions.fabs(x)
        return inexact.where(too_large.where(bits - 1, bits + 1), bits).floats().ir

    def binary(self, op, a, b, dtype, right):
        builder, signed = self.builder, dtype.kind == "i"
        if op in _COMPARE:
            if dtype.is_float:
                compare = builder.fcmp_unordered if op == "ne" else builder.fcmp_ordered
            else:
                compare = builder.icmp_signed if signed else builder.icmp_unsigned
            return compare(_COMPARE[op], a, b)
        if dtype.is_float:
            if op in ("floordiv", "mod"):
                return self.float_divmod(op, a, b)
            return {"add": builder.fadd, "sub": builder.fsub, "mul": builder.fmul, "div": builder.fdiv}[op](a, b)
        if op in ("floordiv", "mod"):
            return self.integer_divmod(op, a, b, dtype, right)
        if op in ("shl", "shr"):
            inside = builder.icmp_unsigned("<", b, b.type(dtype.bits))
            if op == "shr" and signed:
                return builder.ashr(a, builder.select(inside, b, b.type(dtype.bits - 1)))
            made = (builder.shl if op == "shl" else builder.lshr)(a, builder.select(inside, b, b.type(0)))
            return builder.select(inside, made, a.type(0))
        return {"add": builder.add, "sub": builder.sub, "mul": builder.mul, "and": builder.and_, "or": builder.or_,
                "xor": builder.xor}[op](a, b)

    def integer_divmod(self, op, a, b, dtype, right):
        """Floor division and its remainder; 0 where the divisor is 0, as NumPy has it; the least // -1 wraps."""
        builder, zero = self.builder, a.type(0)
        known = isinstance(right, Const) and right.fields[0] > 0 or isinstance(right, Size)
        if dtype.kind == "u":
            none = builder.icmp_unsigned("==", b, zero)
            safe = b if known else builder.select(none, b.type(1), b)
            made = (builder.udiv if op == "floordiv" else builder.urem)(a, safe)
            return made if known else builder.select(none, zero, made)
        none, minus = builder.icmp_signed("==", b, zero), builder.icmp_signed("==", b, b.type(-1))
        safe = b if known else builder.select(builder.or_(none, minus), b.type(1), b)
        rest = builder.srem(a, safe)
        differ = builder.and_(builder.icmp_signed("!=", rest, zero),
                              builder.icmp_signed("<", builder.xor(rest, safe), zero))
        if op == "mod":
            return builder.select(differ, builder.add(rest, safe), rest)
        made = builder.sub(builder.sdiv(a, safe), builder.zext(differ, a.type))
        if known:
            return made
        return builder.select(none, zero, builder.select(minus, builder.sub(zero, a), made))

    def float_divmod(self, op, a, b):
        """NumPy's npy_divmod: the remainder has the divisor's sign, the quotient is snapped to an integer."""
        builder = self.builder
        symbol = "fmod" if a.type is DOUBLE else "fmodf"
        x, y = Value(builder, a), Value(builder, b)
        rest = Value(builder, call(builder, symbol, a.type, [a, b]))
        wrong = rest.differs(0.0) & ((y < 0.0) ^ (rest < 0.0))
        if op == "mod":
            signed = rest.equals(0.0).where(x.of(0.0).intrinsic("copysign", y), wrong.where(rest + y, rest))
            return y.equals(0.0).where(rest, signed).ir
        quotient = (x - rest) / y
        quotient = wrong.where(quotient - 1.0, quotient)
        floor = quotient.intrinsic("floor")
        floor = ((quotient - floor) > 0.5).where(floor + 1.0, floor)
        snapped = quotient.equals(0.0).where(x.of(0.0).intrinsic("copysign", x / y), floor)
        return y.equals(0.0).where(x / y, snapped).ir

    def integer_call(self, name, values, dtype):
        b = self.builder
        a = values[0]
        if name in ("maximum", "minimum"):
            return self.extreme(name, *values, dtype)
        if name == "abs":
            return b.select(b.icmp_signed("<", a, a.type(0)), b.sub(a.type(0), a), a)
        if name == "sign":
            positive = b.icmp_unsigned("!=", a, a.type(0)) if dtype.kind == "u" else b.icmp_signed(">", a, a.type(0))
            negative = I1(0) if dtype.kind == "u" else b.icmp_signed("<", a, a.type(0))
            return b.sub(b.zext(positive, a.type), b.zext(negative, a.type))
        if name in ("isnan", "isinf"):
            return I1(0)
        if name == "isfinite":
            return I1(1)
        if name == "pow":
            return self.integer_pow(*values)
        raise InternalError(f"{name} of integers has no code")

    def integer_pow(self, a, exponent):
        """a ** exponent by squaring, wrapping; a negative exponent gives 0 (NumPy refuses it)."""
        b = self.builder
        base, power, out = (self.slot(a.type) for _ in range(3))
        negative = b.icmp_signed("<", exponent, exponent.type(0))
        b.store(a, base)
        b.store(b.select(negative, exponent.type(0), exponent), power)
        b.store(b.select(negative, a.type(0), a.type(1)), out)
        head, body, after = (b.append_basic_block(n) for n in ("power", "square", "raised"))
        b.branch(head)
        b.position_at_end(head)
        left = b.load(power, typ=a.type)
        b.cbranch(b.icmp_unsigned("!=", left, a.type(0)), body, after)
        b.position_at_end(body)
        x, y = b.load(base, typ=a.type), b.load(out, typ=a.type)
        b.store(b.select(b.trunc(left, I1), b.mul(y, x), y), out)
        b.store(b.mul(x, x), base)
        b.store(b.lshr(left, a.type(1)), power)
        b.branch(head)
        b.position_at_end(after)
        return b.load(out, typ=a.type)
