"""Numbers in registers as LLVM IR: conversion, integer and float arithmetic as in NumPy. Both lowerings use it.

    arithmetic = Arithmetic(builder)
    arithmetic.binary("floordiv", a, b, int32)        arithmetic.convert(x, float64, bfloat16)

Floats narrower than float32 are memory formats: in a register they are floats that were rounded. A bool is one bit, an int4
has four of them in a register and takes a byte in memory.
"""
import math

from llvmlite import ir

from ...common import dtype as dt
from ...common.errors import InternalError
from ..narrow_floats import is_narrow, narrow, widen
from . import math_functions
from .values import DOUBLE, FLOAT, Value, as_many, constant_like, fabs

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
_REAL = [d for d in dt.ALL if d.kind != "c"]
REGISTER = {d.name: {"bool": I1, "float64": DOUBLE}.get(d.name) or (FLOAT if d.is_float else ir.IntType(d.bits)) for d in _REAL}
MEMORY = {d.name: ir.HalfType() if d is dt.float16 else ir.IntType(8 * d.itemsize) if is_narrow(d) or not d.is_float
          else REGISTER[d.name] for d in _REAL}
_TO_INTEGERS = ("llvm.ceil.", "llvm.floor.", "llvm.trunc.", "llvm.rint.")
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def alias_scopes(module, count, apart=None):
    """[(metadata of the scope, metadata of all others or None, apart)] for `count` arguments that do not overlap. apart: the
    AccessGroup of their loads and stores, or None"""
    domain = module.add_metadata(["mindlite"])
    scopes = [module.add_metadata([f"argument {k}", domain]) for k in range(count)]
    return [(module.add_metadata([scopes[k]]),
             module.add_metadata(scopes[:k] + scopes[k + 1:]) if count > 1 else None, apart) for k in range(count)]


def mark(instruction, scope):
    """Give a load or store its alias scope (of `alias_scopes`); returns it."""
    for name, node in zip(("alias.scope", "noalias", "llvm.access.group"), scope):
        if node is not None:
            instruction.set_metadata(name, node)
    return instruction


class Arithmetic:
    """Emits operations on registers where `builder` stands. They may be vectors, but for quotients of integers, shifts,
    integer powers and what calls libm."""

    def __init__(self, builder):
        self.builder = builder

    def slot(self, type_, count=None):
        """A stack slot (or `count` of them) in the entry block."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(type_, size=None if count is None else I64(count))

    # ------------------------------------------------------------ memory

    def scalar_argument(self, raw, dtype):
        """A bool, int64 or float64 that is an argument, from its 64 bits."""
        if dtype is dt.bool_:
            return self.builder.icmp_signed("!=", raw, I64(0))
        return raw if dtype is dt.int64 else self.builder.bitcast(raw, DOUBLE)

    def load(self, pointer, dtype, scope):
        """The element at `pointer` as a register."""
        return self.from_memory(mark(self.builder.load(pointer, typ=MEMORY[dtype.name]), scope), dtype)

    def from_memory(self, raw, dtype):
        """What was loaded as a register."""
        b = self.builder
        if dtype is dt.bool_:
            return b.icmp_unsigned("!=", raw, constant_like(raw, 0))
        if dtype is dt.float16:
            return b.fpext(raw, as_many(FLOAT, raw))
        if is_narrow(dtype):
            return widen(b, raw, dtype)
        return b.trunc(raw, as_many(REGISTER["int4"], raw)) if dtype is dt.int4 else raw

    def store(self, value, pointer, dtype, scope):
        """Write a register of `dtype` to memory."""
        mark(self.builder.store(self.to_memory(value, dtype), pointer), scope)

    def to_memory(self, value, dtype):
        b = self.builder
        if dtype is dt.bool_:
            return b.zext(value, as_many(I8, value))
        if dtype is dt.float16:
            return self.half(value)
        if is_narrow(dtype):
            return self.narrowed(value, dtype)
        return b.zext(value, as_many(I8, value)) if dtype is dt.int4 else value

    def narrowed(self, value, dtype):
        """A float as an element of a type that the machine does not know, to nearest even."""
        return narrow(self.builder, value, dtype)

    # ------------------------------------------------------------ conversion

    def convert(self, value, have, want):
        """NumPy's astype, on a register."""
        b, to = self.builder, as_many(REGISTER[want.name], value)
        if have is want:
            return value
        if want is dt.bool_:
            return (b.fcmp_unordered if have.is_float else b.icmp_unsigned)("!=", value, constant_like(value, 0))
        if not have.is_float and not want.is_float:
            if want.bits <= have.bits and have is not dt.bool_:
                return b.trunc(value, to) if want.bits < have.bits else value
            return b.sext(value, to) if have.kind == "i" else b.zext(value, to)
        if not have.is_float:
            wide = as_many(DOUBLE if want is dt.float64 else FLOAT, value)
            made = b.sitofp(value, wide) if have.kind == "i" else b.uitofp(value, wide)
            return self.round(made, want)
        if want.is_float:
            return self.round(value, want)
        if want is dt.uint64:
            signed = b.fptosi(value, to)                      # negative numbers wrap, as in C on x86
            return b.select(b.fcmp_ordered("<", value, constant_like(value, 2.0 ** 63)), signed, b.fptoui(value, to))
        made = b.fptosi(value, as_many(I64 if want.bits == 64 or want is dt.uint32 else I32, value))
        return made if made.type == to else b.trunc(made, to)

    def round(self, value, want):
        """A float or double as a register of the floating type `want`, rounded to nearest even."""
        b, single, double = self.builder, as_many(FLOAT, value), as_many(DOUBLE, value)
        if want is dt.float64:
            return value if value.type == double else b.fpext(value, double)
        if value.type == double:
            value = b.fptrunc(value, single) if want is dt.float32 else self.round_to_odd(value)
        if want is dt.float16:
            return b.fpext(self.half(value), single)
        return widen(b, self.narrowed(value, want), want) if is_narrow(want) else value

    def half(self, value):
        """A float rounded to half precision.

        LLVM would make `ceil` of a float that is rounded so one of a half, which it computes an element at a time. It leaves a
        sum alone; adding 0 loses the sign of a zero, which is that of the argument.
        """
        callee = getattr(value, "callee", None)
        if callee is not None and callee.name.startswith(_TO_INTEGERS):
            moved = Value(self.builder, self.builder.fadd(value, constant_like(value, 0.0)))
            value = moved.intrinsic("copysign", Value(self.builder, value.args[0])).ir
        return self.builder.fptrunc(value, as_many(ir.HalfType(), value))

    def round_to_odd(self, value):
        """A double as a float whose last bit says that something was cut off: rounding it again is then right."""
        b = self.builder
        x = Value(b, value)
        near = x.truncate()
        back, bits = near.extend(), near.bits()
        inexact = back.differs(x) & fabs(x).__lt__(math.inf) & (bits & 1).equals(0)
        too_large = fabs(back) > fabs(x)
        return inexact.where(too_large.where(bits - 1, bits + 1), bits).floats().ir

    # ------------------------------------------------------------ operators

    def binary(self, op, a, b, dtype, positive=False):
        """`a op b` of two registers of `dtype`. positive: b is known to be, as a divisor."""
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
            return self.integer_divmod(op, a, b, dtype, positive)
        if op in ("shl", "shr"):
            inside = builder.icmp_unsigned("<", b, b.type(dtype.bits))
            if op == "shr" and signed:
                return builder.ashr(a, builder.select(inside, b, b.type(dtype.bits - 1)))
            made = (builder.shl if op == "shl" else builder.lshr)(a, builder.select(inside, b, b.type(0)))
            return builder.select(inside, made, a.type(0))
        return {"add": builder.add, "sub": builder.sub, "mul": builder.mul, "and": builder.and_, "or": builder.or_,
                "xor": builder.xor}[op](a, b)

    def integer_divmod(self, op, a, b, dtype, known):
        """Floor division and its remainder; 0 where the divisor is 0, as NumPy has it; the least // -1 wraps."""
        builder, zero = self.builder, a.type(0)
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
        x, y = Value(builder, a), Value(builder, b)
        rest = math_functions.fmod(x, y)
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

    def accumulate(self, kind, acc, value, dtype):
        """One step of a fold. A floating-point sum or product may be formed in any order."""
        b = self.builder
        if kind in ("sum", "prod"):
            if dtype.is_float:
                return (b.fadd if kind == "sum" else b.fmul)(acc, value, flags=("reassoc",))
            return (b.add if kind == "sum" else b.mul)(acc, value)
        if kind in ("any", "all"):
            return (b.or_ if kind == "any" else b.and_)(acc, value)
        return self.extreme("maximum" if kind == "max" else "minimum", acc, value, dtype)

    def wins(self, kind, value, held, dtype):
        """Does `value` replace `held` in argmax or argmin? The first of equals stays, the first NaN wins."""
        b, op = self.builder, ">" if kind == "argmax" else "<"
        if not dtype.is_float:
            return (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(op, value, held)
        better = b.or_(b.fcmp_ordered(op, value, held), b.fcmp_unordered("!=", value, value))
        return b.and_(better, b.fcmp_ordered("==", held, held))

    # ------------------------------------------------------------ functions

    def call(self, name, values, dtype):
        """A function of mindir.scalar of registers of `dtype`."""
        if dtype.is_float:
            return math_functions.apply(name, *(Value(self.builder, v) for v in values)).ir
        return self.integer_call(name, values, dtype)

    def extreme(self, name, a, b, dtype):
        """The larger or smaller of two numbers; a NaN wins."""
        if dtype.is_float:
            return Value(self.builder, a).intrinsic(name, Value(self.builder, b)).ir
        signed = self.builder.icmp_signed if dtype.kind == "i" else self.builder.icmp_unsigned
        return self.builder.select(signed(">" if name == "maximum" else "<", a, b), a, b)

    def integer_call(self, name, values, dtype):
        b = self.builder
        a = values[0]
        if name in ("maximum", "minimum"):
            return self.extreme(name, a, values[1], dtype)
        if name == "abs":
            zero = constant_like(a, 0)
            return b.select(b.icmp_signed("<", a, zero), b.sub(zero, a), a)
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
