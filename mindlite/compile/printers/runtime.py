"""What all three printers share at run time: the context, the pool of blocks, tapes, outputs, the trace.

A *context* is a vector of i64 that one run works with; the constants below name its places. The functions here are
written once, in LLVM IR, compiled once and kept on disk; native code and the register machine call them directly,
Python through ctypes. So storages, tapes and traces cannot differ between printers.

    rt_static(context, first, count, nbytes, avoid*, navoid) -> pointer       a planned storage, 0 if nbytes is more than planned
    rt_alloc(context, slots*, count, nbytes, avoid*, navoid, id) -> pointer   a dynamic one, 0 if there is no memory
    rt_kill_static(context, first, count)   rt_kill(context, slots*, count, id)
    rt_tape_new(context) -> tape   rt_tape_push(tape, from*, nbytes) -> 0 or 1   rt_tape_pop(tape) -> pointer or 0
    rt_output(context, index, from*, nbytes, dims*, ndims) -> 0 or 1
    rt_end(context)   ends a run: tapes freed, blocks free for the next run      rt_clear(context)   frees the pool

A block of the pool is malloc'ed with a head of 64 bytes before its data: [nbytes, capacity, in use, next, malloc's
pointer]. A tape is [base, length, capacity, next]; a record is its bytes, padded to 16, and 16 bytes with their
number. LIFO order; a push may move the whole tape, which is why what was popped is valid until the next push only.
"""
import ctypes
import functools
from typing import Any

from ...backend import narrow_floats
from ...backend.low_python import source_of, text_of
from ...backend.machine_code import c_address, compile_made

# places in the context
TABLE = 1             # -> [address, bytes] of each planned storage, then the handles
POOL = 2              # -> first block
TAPES = 3             # -> first tape
CALLBACK = 4          # address of the Python callback, (index, args*, results*) -> status
DEPTH, LIMIT = 5, 6   # calls of Flows that are open, and how many may be
FAIL_SITE, FAIL_STATUS = 7, 8
POOL_USED, POOL_PEAK, POOL_TOTAL = 9, 10, 11
TRACE, TRACE_LENGTH, TRACE_CAPACITY = 12, 13, 14        # events: 1 alloc or 0 kill, id, offset or -1, bytes
VERIFY = 15
OUTPUTS = 16          # -> records of OUTPUT_RECORD numbers: pointer, bytes, number of dims, dims
KERNELS = 17          # -> addresses of kernels (native: and then of constant arrays)
ARENA = 18
LAUNCHER = 19         # address of the launcher
CODE, FRAME, RESULTS = 20, 21, 22                       # register machine: -> table, size of a frame, results
FAIL_VALUES = 24      # values of a failed Check
MAX_VALUES = 16
PARAMS = 40
MAX_DIMS = 12
OUTPUT_RECORD = 3 + MAX_DIMS

SYMBOLS = {f"ml_{name}": name for name in
           ("malloc", "free", "realloc", "memset", "memmove", "pow", "exp", "log", "sin", "cos", "tanh", "fmod")}


DECLARATIONS = """
declare double @ml_pow(double, double)
declare double @ml_exp(double)
declare double @ml_log(double)
declare double @ml_sin(double)
declare double @ml_cos(double)
declare double @ml_tanh(double)
declare double @ml_fmod(double, double)
declare double @llvm.fabs.f64(double)
declare double @llvm.floor.f64(double)
declare double @llvm.sqrt.f64(double)
declare double @llvm.copysign.f64(double, double)
declare i64 @llvm.fptosi.sat.i64.f64(double)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.abs.i64(i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""

# Arithmetic that needs more than one instruction: inlined by the passes, the same code for every printer.
ARITHMETIC = """
define i64 @rt_floordiv(i64 %a, i64 %b) alwaysinline {
  %zero = icmp eq i64 %b, 0
  %minus = icmp eq i64 %b, -1
  %special = or i1 %zero, %minus
  %divisor = select i1 %special, i64 1, i64 %b
  %q = sdiv i64 %a, %divisor
  %r = srem i64 %a, %divisor
  %inexact = icmp ne i64 %r, 0
  %signs = xor i64 %r, %divisor
  %differ = icmp slt i64 %signs, 0
  %down = and i1 %inexact, %differ
  %one = zext i1 %down to i64
  %floored = sub i64 %q, %one
  %negated = sub i64 0, %a
  %x = select i1 %minus, i64 %negated, i64 %floored
  %y = select i1 %zero, i64 0, i64 %x
  ret i64 %y
}
define i64 @rt_mod(i64 %a, i64 %b) alwaysinline {
  %zero = icmp eq i64 %b, 0
  %minus = icmp eq i64 %b, -1
  %special = or i1 %zero, %minus
  %divisor = select i1 %special, i64 1, i64 %b
  %r = srem i64 %a, %divisor
  %inexact = icmp ne i64 %r, 0
  %signs = xor i64 %r, %divisor
  %differ = icmp slt i64 %signs, 0
  %up = and i1 %inexact, %differ
  %add = select i1 %up, i64 %divisor, i64 0
  %x = add i64 %r, %add
  ret i64 %x
}
define i64 @rt_shl(i64 %a, i64 %b) alwaysinline {
  %big = icmp ugt i64 %b, 63
  %n = and i64 %b, 63
  %x = shl i64 %a, %n
  %y = select i1 %big, i64 0, i64 %x
  ret i64 %y
}
define i64 @rt_shr(i64 %a, i64 %b) alwaysinline {
  %big = icmp ugt i64 %b, 63
  %n = select i1 %big, i64 63, i64 %b
  %x = ashr i64 %a, %n
  ret i64 %x
}
define double @rt_fdiv(double %a, double %b) alwaysinline {
  %x = fdiv double %a, %b
  ret double %x
}
define double @rt_fsqrt(double %a) alwaysinline {
  %x = call double @llvm.sqrt.f64(double %a)
  ret double %x
}
define double @rt_fmod(double %a, double %b) {
  %m = call double @ml_fmod(double %a, double %b)
  %zero = fcmp oeq double %m, 0.0
  br i1 %zero, label %exact, label %inexact
exact:
  %signed = call double @llvm.copysign.f64(double 0.0, double %b)
  ret double %signed
inexact:
  %m_negative = fcmp olt double %m, 0.0
  %b_negative = fcmp olt double %b, 0.0
  %differ = xor i1 %m_negative, %b_negative
  %sum = fadd double %m, %b
  %nan = fcmp uno double %m, %m
  %plain = xor i1 %nan, true
  %adjust = and i1 %differ, %plain
  %x = select i1 %adjust, double %sum, double %m
  ret double %x
}
define double @rt_ffloordiv(double %a, double %b) {
  %by_zero = fcmp oeq double %b, 0.0
  br i1 %by_zero, label %infinite, label %finite
infinite:
  %i = fdiv double %a, %b
  ret double %i
finite:
  %m = call double @ml_fmod(double %a, double %b)
  %difference = fsub double %a, %m
  %div = fdiv double %difference, %b
  %exact = fcmp oeq double %m, 0.0
  %m_negative = fcmp olt double %m, 0.0
  %b_negative = fcmp olt double %b, 0.0
  %differ = xor i1 %m_negative, %b_negative
  %inexact = xor i1 %exact, true
  %adjust = and i1 %inexact, %differ
  %less = fsub double %div, 1.0
  %d = select i1 %adjust, double %less, double %div
  %is_zero = fcmp oeq double %d, 0.0
  br i1 %is_zero, label %zero, label %nonzero
zero:
  %quotient = fdiv double %a, %b
  %signed = call double @llvm.copysign.f64(double 0.0, double %quotient)
  ret double %signed
nonzero:
  %floor = call double @llvm.floor.f64(double %d)
  %rest = fsub double %d, %floor
  %up = fcmp ogt double %rest, 0.5
  %more = fadd double %floor, 1.0
  %x = select i1 %up, double %more, double %floor
  ret double %x
}
"""

# What low Python calls `at.NAME`: bytes from the beginning of the context, and bytes before the data of a block
_PLACES = {name: 8 * place for name, place in list(globals().items()) if name.isupper() and isinstance(place, int)}
_PLACES |= {"NBYTES": -64, "CAPACITY": -56, "IN_USE": -48, "NEXT": -40, "RAW": -32}


def filled(text):
    """IR text with {NAME} replaced by the place of that name."""
    for name, value in globals().items():
        if isinstance(value, int) and name.isupper():
            text = text.replace("{" + name + "}", str(value))
    return text


def module_text():
    """The IR of the shared functions, with everything they use."""
    return DECLARATIONS + ARITHMETIC + text_of(_source(), _PLACES) + narrow_floats.accessors()


def _source():
    return source_of(__file__, "runtime_code")


def symbols():
    """{name: address} of what the shared functions use from outside."""
    return {name: c_address(c_name) for name, c_name in SYMBOLS.items()}


_I, _D = ctypes.c_int64, ctypes.c_double
SIGNATURES: dict[str, tuple[Any, list]] = {
    "rt_floordiv": (_I, [_I, _I]), "rt_mod": (_I, [_I, _I]), "rt_shl": (_I, [_I, _I]), "rt_shr": (_I, [_I, _I]),
    "rt_fdiv": (_D, [_D, _D]), "rt_fsqrt": (_D, [_D]), "rt_static": (_I, [_I] * 6), "rt_alloc": (_I, [_I] * 7),
    "rt_kill_static": (None, [_I] * 3), "rt_kill": (None, [_I] * 4), "rt_end": (None, [_I]), "rt_clear": (None, [_I]),
    "rt_trace": (None, [_I] * 5), "rt_tape_new": (_I, [_I]), "rt_tape_push": (_I, [_I] * 3), "rt_output": (_I, [_I] * 6),
    "rt_tape_push_scalar": (_I, [_I] * 2), "rt_tape_pop": (_I, [_I]),
    "rt_fmod": (_D, [_D, _D]), "rt_ffloordiv": (_D, [_D, _D]), **narrow_floats.SIGNATURES,
}


class Runtime:
    """The shared functions of this process: `address[name]` for generated code, and as attributes for Python."""

    def __init__(self):
        self.code = runtime_code()
        self.address = {name: self.code.address(name) for name in SIGNATURES}
        for name, (result, arguments) in SIGNATURES.items():
            setattr(self, name, ctypes.CFUNCTYPE(result, *arguments)(self.address[name]))
        self.address.update(symbols())
        for name in ("pow", "exp", "log", "sin", "cos", "tanh"):
            arguments = [_D] * (2 if name == "pow" else 1)
            setattr(self, name, ctypes.CFUNCTYPE(_D, *arguments)(c_address(name)))


@functools.lru_cache(maxsize=None)
def runtime_code():
    """Its MachineCode, which may be compiled while Python goes on."""
    def make():
        return "runtime", module_text(), set(SYMBOLS)
    facts = DECLARATIONS, ARITHMETIC, _source(), tuple(_PLACES.items())
    return compile_made(facts, make, symbols().__getitem__, passes=1, level=1, ahead=True)[1]


@functools.lru_cache(maxsize=None)
def runtime():
    """The one Runtime, compiled or loaded on first use."""
    return Runtime()
