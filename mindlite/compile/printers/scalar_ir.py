"""LLVM IR of one scalar instruction: shared by native code and the register machine, so that they cannot disagree.

Each function writes where an IRBuilder stands, and gives the value: an i64, which may be an address, or a double.
"""
from __future__ import annotations

from llvmlite import ir

from ...backend.narrow_floats import is_narrow
from ...backend.words import BIT, DOUBLE, NOTHING, POINTER, WORD, call
from ...common.dtype import DType

_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_PLAIN = {"and": "and_", "or": "or_"}                      # of others the IRBuilder has a method with their name
_CALLS = {"floordiv": "rt_floordiv", "mod": "rt_mod", "shl": "rt_shl", "shr": "rt_shr", "max": "llvm.smax.i64",
          "min": "llvm.smin.i64", "fpow": "ml_pow", "fmod": "rt_fmod", "ffloordiv": "rt_ffloordiv", "fexp": "ml_exp",
          "flog": "ml_log", "fsin": "ml_sin", "fcos": "ml_cos", "ftanh": "ml_tanh", "fabs": "llvm.fabs.f64",
          "fsqrt": "llvm.sqrt.f64"}


def type_of(kind: str) -> ir.Type:
    """The type of a register of that kind."""
    return DOUBLE if kind == "f64" else WORD


def arith(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """x op y"""
    floats = x.type == DOUBLE
    if op in _CALLS:
        return call(b, _CALLS[op], x, y, result=x.type)
    if op in ("fmax", "fmin"):
        return b.select(b.fcmp_ordered(">" if op == "fmax" else "<", y, x), y, x)
    if floats and op[1:] in _COMPARE:
        compare = b.fcmp_unordered if op == "fne" else b.fcmp_ordered
        return b.zext(compare(_COMPARE[op[1:]], x, y), WORD)
    if op in _COMPARE:
        return b.zext(b.icmp_signed(_COMPARE[op], x, y), WORD)
    return getattr(b, _PLAIN.get(op, op))(x, y)


def exact(b: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """(x op y, whether 64 bits do not hold it)"""
    made = getattr(b, f"s{op}_with_overflow")(x, y)
    return b.extract_value(made, 0), b.extract_value(made, 1)


def unary(b: ir.IRBuilder, op: str, x: ir.Value) -> ir.Value:
    """op x"""
    if op in _CALLS:
        return call(b, _CALLS[op], x, result=x.type)
    return {"neg": lambda: b.sub(WORD(0), x), "not": lambda: b.zext(b.icmp_signed("==", x, WORD(0)), WORD),
            "abs": lambda: call(b, "llvm.abs.i64", x, BIT(0)), "ftoi": lambda: call(b, "llvm.fptosi.sat.i64.f64", x),
            "itof": lambda: b.sitofp(x, DOUBLE), "fneg": lambda: b.fneg(x)}[op]()


def _memory_type(dtype: DType) -> ir.Type:
    floats = {"float64": DOUBLE, "float32": ir.FloatType(), "float16": ir.HalfType()}
    return floats[dtype.name] if dtype.is_float else ir.IntType(8 * dtype.itemsize)


def load(b: ir.IRBuilder, dtype: DType, address: ir.Value) -> ir.Value:
    """Element 0 at an address."""
    if is_narrow(dtype):
        return call(b, f"rt_load_{dtype.short}", address, result=DOUBLE)
    raw = b.load(b.inttoptr(address, POINTER), typ=_memory_type(dtype), align=1)
    if dtype.is_float:
        return raw if dtype.bits == 64 else b.fpext(b.fpext(raw, ir.FloatType()), DOUBLE)
    if dtype.kind == "b":
        return b.zext(b.icmp_signed("!=", raw, raw.type(0)), WORD)
    return (b.sext if dtype.kind == "i" else b.zext)(b.trunc(raw, ir.IntType(dtype.bits)), WORD)


def store(b: ir.IRBuilder, dtype: DType, address: ir.Value, value: ir.Value) -> None:
    """Element 0 at an address becomes value."""
    if is_narrow(dtype):
        call(b, f"rt_store_{dtype.short}", address, value, result=NOTHING)
        return
    type_ = _memory_type(dtype)
    if dtype.is_float:
        value = value if dtype.bits == 64 else b.fptrunc(b.fptrunc(value, ir.FloatType()), type_)
    elif dtype.kind == "b":
        value = b.zext(b.icmp_signed("!=", value, value.type(0)), type_)
    else:                                                   # the upper bits of a byte that is not filled are 0, as in ml_dtypes
        value = b.zext(b.trunc(value, ir.IntType(dtype.bits)), type_)
    b.store(value, b.inttoptr(address, POINTER), align=1)


# ---- what takes more than an instruction: functions of the runtime, the same code for every printer

def _remainder(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """(C's fmod; whether it is not 0 and its sign is not that of y)"""
    rest, zero = call(b, "ml_fmod", x, y, result=x.type), x.type(0.0)
    differ = b.icmp_signed("!=", b.fcmp_ordered("<", rest, zero), b.fcmp_ordered("<", y, zero))
    return rest, b.and_(differ, b.fcmp_ordered("!=", rest, zero))


def _modulo(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """x % y as Python has it: 0 with the sign of y."""
    rest, apart = _remainder(b, x, y)
    signed = call(b, "llvm.copysign.f64", x.type(0.0), y, result=x.type)
    return b.select(b.fcmp_ordered("==", rest, x.type(0.0)), signed, b.select(apart, b.fadd(rest, y), rest))


def _floor_quotient(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """x // y as Python has it: x / y for y = 0, the nearest whole number below otherwise."""
    zero, one = x.type(0.0), x.type(1.0)
    rest, apart = _remainder(b, x, y)
    near = b.fdiv(b.fsub(x, rest), y)
    near = b.select(apart, b.fsub(near, one), near)
    floor = call(b, "llvm.floor.f64", near, result=x.type)
    floor = b.select(b.fcmp_ordered(">", b.fsub(near, floor), x.type(0.5)), b.fadd(floor, one), floor)
    quotient = b.fdiv(x, y)
    floor = b.select(b.fcmp_ordered("==", near, zero), call(b, "llvm.copysign.f64", zero, quotient, result=x.type), floor)
    return b.select(b.fcmp_ordered("==", y, zero), quotient, floor)


FLOAT_FUNCTIONS = {"rt_fdiv": lambda b, x, y: b.fdiv(x, y), "rt_fsqrt": lambda b, x: unary(b, "fsqrt", x),
                   "rt_fmod": _modulo, "rt_ffloordiv": _floor_quotient}
