"""What all three printers share at run time: the context, the pool of blocks, tapes, outputs, the trace.

A *context* is a vector of i64 that one run works with; the constants below name its places. The functions here are
written once, in low Python, compiled once and kept on disk; native code and the register machine call them directly,
Python through ctypes. So storages, tapes and traces cannot differ between printers.

    rt_static(context, first, count, nbytes, avoid*, navoid) -> pointer       a planned storage, 0 if nbytes is more than planned
    rt_alloc(context, slots*, count, nbytes, avoid*, navoid, id) -> pointer   a dynamic one, 0 if there is no memory
    rt_kill_static(context, first, count)   rt_kill(context, slots*, count, id)
    rt_tape_new(context) -> tape   rt_tape_push(tape, from*, nbytes) -> 0 or 1   rt_tape_pop(tape) -> pointer or 0
    rt_output(context, index, from*, nbytes, dims*, ndims) -> 0 or 1
    rt_launches(context, launches*, count, numbers*, args*) -> 0 or 1         what launch_list.py wrote
    rt_end(context)   ends a run: tapes freed, blocks free for the next run      rt_clear(context)   frees the pool

A block of the pool is malloc'ed with a head of 64 bytes before its data: [nbytes, capacity, in use, next, malloc's
pointer]. A tape is [base, length, capacity, next]; a record is its bytes, padded to 16, and 16 bytes with their
number. LIFO order; a push may move the whole tape, which is why what was popped is valid until the next push only.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...backend import narrow_floats
from ...backend.low_python import source_of
from ...backend.machine_code import MachineCode, c_address, compile_made
from ...common.lazy import LazyModule
from ...common.once import once
from ...common.sources import sources_hash

ir, words, low_writer, scalar_ir = (LazyModule(name) for name in (
    "llvmlite.ir", "mindlite.backend.words", "mindlite.backend.low_writer", "mindlite.compile.printers.scalar_ir"))

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

# What low Python calls `at.NAME`: bytes from the beginning of the context, and bytes before the data of a block
PLACES = {name: 8 * place for name, place in list(globals().items()) if name.isupper() and isinstance(place, int)}
PLACES |= {"NBYTES": -64, "CAPACITY": -56, "IN_USE": -48, "NEXT": -40, "RAW": -32}


def _module() -> Any:
    """The module of the shared functions, with everything they use."""
    module = ir.Module("runtime")
    for name, build in scalar_ir.FLOAT_FUNCTIONS.items():
        function = external(module, name)
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(build(builder, *function.args))
    low_writer.write_functions(module, _source(), PLACES)
    narrow_floats.write_accessors(module)
    return module


def _source() -> str:
    return source_of(__file__, "runtime_code")


def symbols() -> dict[str, int]:
    """{name: address} of what the shared functions use from outside."""
    return {name: c_address(c_name) for name, c_name in SYMBOLS.items()}


_I, _D = ctypes.c_int64, ctypes.c_double
SIGNATURES: dict[str, tuple[Any, list]] = {
    "rt_floordiv": (_I, [_I, _I]), "rt_mod": (_I, [_I, _I]), "rt_shl": (_I, [_I, _I]), "rt_shr": (_I, [_I, _I]),
    "rt_fdiv": (_D, [_D, _D]), "rt_fsqrt": (_D, [_D]), "rt_static": (_I, [_I] * 6), "rt_alloc": (_I, [_I] * 7),
    "rt_kill_static": (None, [_I] * 3), "rt_kill": (None, [_I] * 4), "rt_end": (None, [_I]), "rt_clear": (None, [_I]),
    "rt_trace": (None, [_I] * 5), "rt_tape_new": (_I, [_I]), "rt_tape_push": (_I, [_I] * 3), "rt_output": (_I, [_I] * 6),
    "rt_launches": (_I, [_I] * 5), "rt_tape_push_scalar": (_I, [_I] * 2), "rt_tape_pop": (_I, [_I]),
    "rt_fmod": (_D, [_D, _D]), "rt_ffloordiv": (_D, [_D, _D]), **narrow_floats.SIGNATURES,
}


def external(module: Any, name: str) -> Any:
    """One of SIGNATURES in a module of llvmlite; addresses are int64 there too."""
    result, arguments = SIGNATURES[name]
    types = {_I: words.WORD, _D: words.DOUBLE, None: words.NOTHING}
    return words.external(module, name, types[result], [types[a] for a in arguments])


class Runtime:
    """The shared functions of this process: `address[name]` for generated code, and as attributes for Python."""

    def __init__(self) -> None:
        self.code = runtime_code()
        self.address = {name: self.code.address(name) for name in SIGNATURES} | symbols()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if f"ml_{name}" not in SYMBOLS and name not in SIGNATURES:
            raise AttributeError(name)
        result, arguments = SIGNATURES.get(name, (_D, [_D] * (2 if name == "pow" else 1)))
        function = ctypes.CFUNCTYPE(result, *arguments)(self.address[name if name in SIGNATURES else f"ml_{name}"])
        setattr(self, name, function)
        return function


@once
def runtime_code() -> MachineCode:
    """Its MachineCode, which may be compiled while Python goes on."""
    def make():
        return "runtime", str(_module()), set(SYMBOLS)
    facts = sources_hash("compile"), tuple(PLACES.items())
    return compile_made(facts, make, symbols().__getitem__, passes="few", level=1, ahead=True)[1]


@once
def runtime() -> Runtime:
    """The one Runtime, compiled or loaded on first use."""
    return Runtime()
