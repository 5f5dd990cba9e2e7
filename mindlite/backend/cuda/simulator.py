"""CUDA kernels on the CPU: the threads of a block as fibers, each with a stack, in the same machine code.

    kernel = Simulated(texts)          what `code.kernel_text` gives, for this processor
    kernel.run(words, threads=64)      its blocks, one after another; False where threads wait at different barriers

A barrier is a switch to the next fiber (7 instructions): when the last one has come, the first goes on. A shuffle is a
barrier around an array of what each thread says. So the text of a kernel is run as it is, in an order that a GPU could choose:
one thread after another between two barriers, forwards or backwards. A kernel whose threads race gives other numbers
in the other order, and one in which threads wait at different barriers is reported.

source: fibers as in Adya et al. 2002, "Cooperative Task Management Without Manual Stack Management"; blocks as loops over
threads between barriers, Stratton et al. 2008 (MCUDA)
"""
import ctypes
import functools
import platform
import threading

import numpy as np

from ...common import dtype as dt
from ...common.errors import DeviceError
from ...common.lazy import LazyModule
from ...common.once import once
from .. import narrow_floats, object_code
from ..low_python import source_of
from ..machine_code import load_object
from . import tensor_cores
from .code import MOST_THREADS, linked, words_of

llvm, ir = LazyModule("llvmlite.binding"), LazyModule("llvmlite.ir")
words, low_writer = LazyModule("mindlite.backend.words"), LazyModule("mindlite.backend.low_writer")
STACK = 1 << 16                # bytes of a thread's stack
MET = 1                        # the status where threads wait at different barriers
_OPTIONS = {"level": 2, "reloc": "pic", "codemodel": "default"}
_NAMES = ("thread", "threads", "own_block", "own_blocks", "barrier", "warp_barrier", "shuffle")
_NUMBERS = ("NOW", "COUNT", "STEP", "BLOCK", "BLOCKS", "STATUS", "ENTRY", "WORDS", "HOME", "EXPECTED")
_WORDS = {"STACKS": MOST_THREADS * STACK // 8, **dict.fromkeys(("PLACES", "ENDED", "SAID", "MET"), MOST_THREADS),
          **dict.fromkeys(_NUMBERS, 1)}
# What is saved of a fiber that waits: the registers that a function may not change, and where it goes on.
_SWITCH = """push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi)
mov %rsi, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret"""


def _machine_text():
    """The LLVM IR of the machine: its fibers, and what a thread asks of it."""
    module = ir.Module("simulator")
    kind = ir.FunctionType(words.NOTHING, [words.WORD, words.WORD])
    switch = ir.Function(module, kind, "fiber_switch")       # (where the stack of this fiber is noted, that of the next)
    switch.linkage = "internal"
    for attribute in ("naked", "noinline"):
        switch.attributes.add(attribute)
    b = ir.IRBuilder(switch.append_basic_block())
    b.asm(ir.FunctionType(words.NOTHING, []), _SWITCH.replace("\n", "; "), "", [], True)
    b.unreachable()
    offsets, total = {}, 0
    for name, count in _WORDS.items():
        offsets[name], total = total, total + count
    low_writer.write_functions(module, source_of(__file__, "simulator_code"), {"APART": MET, "STACK": STACK}, offsets, total)
    return str(module)


_engines: list = []


@once
def machine():
    """({name: address} of what a thread asks, the ctypes function that launches a grid).

    raises : DeviceError on a processor whose registers are not known here
    """
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux":
        raise DeviceError(f"CUDA's simulator runs on Linux on x86-64, not on {platform.system()} on {platform.machine()}")
    with object_code.lock:
        object_code.initialise()
        llvm.initialize_native_asmparser()
        target, module = object_code.optimised(_machine_text(), passes=1, **_OPTIONS)
        engine = load_object(target.emit_object(module), {}, **_OPTIONS)
    _engines.append(engine)                                  # its code lives as long
    launch = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return {name: engine.get_function_address(name) for name in _NAMES}, launch(engine.get_function_address("launch"))


@once
def _rules():
    """The LLVM IR of what is no function of the machine: to_bf16, as a CPU without such an instruction rounds."""
    module = ir.Module("rules")
    function = ir.Function(module, ir.FunctionType(ir.IntType(16), [ir.FloatType()]), "to_bf16")
    b = ir.IRBuilder(function.append_basic_block())
    b.ret(narrow_floats.narrow(b, function.args[0], dt.bfloat16))
    return str(module)


def _runner(count):
    """The IR of `run`, which calls the kernel with the words at an address."""
    module = ir.Module("run")
    function = ir.Function(module, ir.FunctionType(words.WORD, [words.WORD]), "run")
    b = ir.IRBuilder(function.append_basic_block())
    words.call(b, "kernel", *(words.read(b, function.args[0], k) for k in range(count)), result=words.NOTHING)
    b.ret(words.word(0))
    return str(module)


class Simulated:
    """A kernel for the simulator. texts: of `code.kernel_text`"""

    def __init__(self, texts):
        main, parts = texts
        count = words_of(main, "kernel")
        rules, self._launch = machine()
        with object_code.lock:
            target = object_code.target_machine(**_OPTIONS)
            together = functools.partial(tensor_cores.simulated_rules, MOST_THREADS)
            module = linked((main, (*parts, _runner(count))), _rules(), together, target, "run")
            self._engine = load_object(target.emit_object(module), {**rules, **tensor_cores.simulator_symbols()}, **_OPTIONS)
        self.address, self.words = self._engine.get_function_address("run"), count

    def run(self, words, threads=64, blocks=3, backwards=False):
        """Run a grid; True if its threads always met at the same barriers.

        words : a contiguous int64 array;   threads: a power of two, at least 32;   backwards: the last thread first
        """
        assert words.dtype == np.int64 and words.size == self.words
        with _one_at_a_time:
            return self._launch(self.address, words.ctypes.data, threads, blocks, -1 if backwards else 1) != MET


_one_at_a_time = threading.Lock()
