"""Floating types narrower than float32 that the CPU does not know: how they lie in memory, and rounding to them, once.

    widen(builder, raw, float8_e5m2) -> float          narrow(builder, value, float8_e5m2) -> raw, to nearest, ties to even

Everything follows from the type's FloatFormat (common/dtype.py): exponent and mantissa bits, its bias, whether it has
infinities. Rounding adds half of the last kept place to the bits of the float32; what is subnormal in the narrow type is
rounded by an addition in float32, to a number whose last place is the subnormal's (Hauser, "Handling floating-point exceptions
in numeric programs", 1996, has such sums). Beyond the largest number comes infinity, or NaN where the type has none, as in
ml_dtypes, torch and the OCP 8-bit specification. Values may be vectors.
"""
import ctypes
import struct
from typing import Any

from ..common import dtype as dt
from ..common.lazy import LazyModule

ir = LazyModule("llvmlite.ir")


def is_narrow(dtype):
    """True for a floating type whose elements are widened and rounded here."""
    return dtype.format is not None


def raw_type(dtype):
    """The LLVM type of an element in memory."""
    return ir.IntType(8 * dtype.itemsize)


def _many(type_, like):
    return ir.VectorType(type_, like.type.count) if isinstance(like.type, ir.VectorType) else type_


def _number(like, number):
    """A constant of the type of `like`."""
    if isinstance(like.type, ir.VectorType):
        return ir.Constant(like.type, [number] * like.type.count)
    return ir.Constant(like.type, number)


def _bits_of(number):
    return struct.unpack("I", struct.pack("f", number))[0]


def widen(b, raw, dtype):
    """An element, an integer, as a float; exact."""
    f, wide = dtype.format, b.zext(raw, _many(ir.IntType(32), raw))
    single = _many(ir.FloatType(), raw)
    if f.bias == 127:
        return b.bitcast(b.shl(wide, _number(wide, f.dropped)), single)
    sign = b.shl(b.and_(wide, _number(wide, f.sign)), _number(wide, 32 - f.bits))
    magnitude = b.and_(wide, _number(wide, f.sign - 1))
    shifted = b.shl(magnitude, _number(wide, f.dropped))
    normal = b.add(shifted, _number(wide, (127 - f.bias) << 23))
    small = b.fmul(b.uitofp(magnitude, single), _number_of(single, 2.0 ** (1 - f.bias - f.mantissa)))
    made = b.select(b.icmp_unsigned("<", magnitude, _number(wide, 1 << f.mantissa)), b.bitcast(small, wide.type), normal)
    special = b.or_(shifted, _number(wide, 0x7f800000))     # infinity keeps its mantissa of 0, NaN one that is none
    made = b.select(b.icmp_unsigned(">", magnitude, _number(wide, f.largest)), special, made)
    return b.bitcast(b.or_(made, sign), single)


def _number_of(type_, number):
    return ir.Constant(type_, [number] * type_.count if isinstance(type_, ir.VectorType) else number)


def narrow(b, value, dtype):
    """A float as an element, an integer: to nearest, ties to even."""
    f, bits = dtype.format, b.bitcast(value, _many(ir.IntType(32), value))
    if f.bias == 127:
        return b.trunc(_narrow_upper_half(b, value, bits, f), _many(raw_type(dtype), value))
    magnitude = b.and_(bits, _number(bits, 0x7fffffff))
    odd = b.and_(b.lshr(magnitude, _number(bits, f.dropped)), _number(bits, 1))
    half = b.add(odd, _number(bits, (1 << (f.dropped - 1)) - 1))
    made = b.lshr(b.add(magnitude, half), _number(bits, f.dropped))
    is_nan = b.icmp_unsigned(">", magnitude, _number(bits, 0x7f800000))
    made = b.sub(made, _number(bits, (127 - f.bias) << f.mantissa))
    first = 2.0 ** (24 - f.mantissa - f.bias)
    moved = b.fadd(b.bitcast(magnitude, value.type), _number_of(value.type, first))
    small = b.sub(b.bitcast(moved, bits.type), _number(bits, _bits_of(first)))
    made = b.select(b.icmp_unsigned("<", magnitude, _number(bits, (128 - f.bias) << 23)), small, made)
    made = b.select(b.icmp_signed(">", made, _number(bits, f.largest)), _number(bits, f.beyond), made)
    made = b.select(is_nan, _number(bits, f.nan), made)
    sign = b.and_(b.lshr(bits, _number(bits, 32 - f.bits)), _number(bits, f.sign))
    return b.trunc(b.or_(made, sign), _many(raw_type(dtype), value))


def _narrow_upper_half(b, value, bits, f):
    """The same for a type that is the upper part of a float (bfloat16): the sign stays where it is, and so do the upper bits of
    a NaN, which is made quiet."""
    last = b.and_(b.lshr(bits, _number(bits, f.dropped)), _number(bits, 1))
    made = b.add(b.add(bits, _number(bits, (1 << (f.dropped - 1)) - 1)), last)
    nan = b.or_(bits, _number(bits, 0x400000))
    return b.lshr(b.select(b.fcmp_unordered("uno", value, value), nan, made), _number(bits, f.dropped))


TYPES = tuple(d for d in dt.ALL if is_narrow(d))
_D, _I = ctypes.c_double, ctypes.c_int64
# what runs call to read and write one element at an address: {name: (result, arguments)}
SIGNATURES: dict[str, tuple[Any, list]]
SIGNATURES = {**{f"rt_load_{d.short}": (_D, [_I]) for d in TYPES}, **{f"rt_store_{d.short}": (None, [_I, _D]) for d in TYPES}}


def write_accessors(module):
    """Write these functions into a module of llvmlite."""
    pointer, double = ir.PointerType(), ir.DoubleType()
    for dtype in TYPES:
        load = ir.Function(module, ir.FunctionType(double, [ir.IntType(64)]), f"rt_load_{dtype.short}")
        b = ir.IRBuilder(load.append_basic_block("entry"))
        raw = b.load(b.inttoptr(load.args[0], pointer), typ=raw_type(dtype), align=1)
        b.ret(b.fpext(widen(b, raw, dtype), double))
        store = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.IntType(64), double]), f"rt_store_{dtype.short}")
        b = ir.IRBuilder(store.append_basic_block("entry"))
        raw = narrow(b, b.fptrunc(store.args[1], ir.FloatType()), dtype)
        b.store(raw, b.inttoptr(store.args[0], pointer), align=1)
        b.ret_void()
