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

from ...common.errors import DeviceError
from ...common.lazy import LazyModule
from .. import object_code
from ..machine_code import load_object
from .code import MOST_THREADS, linked

llvm = LazyModule("llvmlite.binding")
STACK = 1 << 16                # bytes of a thread's stack
MET = 1                        # the status where threads wait at different barriers
_OPTIONS = {"level": 2, "reloc": "pic", "codemodel": "default"}
_NAMES = ("thread", "threads", "own_block", "own_blocks", "barrier", "warp_barrier", "shuffle")
_RULES = """
declare i64 @thread()
declare i64 @threads()
declare i64 @own_block()
declare i64 @own_blocks()
declare void @barrier()
declare void @warp_barrier()
declare i32 @shuffle(i32, i32)
"""
# What is kept of a fiber that waits: the registers that a function may not change, and where it goes on.
_SWITCH = r"""
module asm ".text"
module asm ".globl fiber_switch"
module asm "fiber_switch:"
module asm "push %rbp"
module asm "push %rbx"
module asm "push %r12"
module asm "push %r13"
module asm "push %r14"
module asm "push %r15"
module asm "mov %rsp, (%rdi)"
module asm "mov %rsi, %rsp"
module asm "pop %r15"
module asm "pop %r14"
module asm "pop %r13"
module asm "pop %r12"
module asm "pop %rbx"
module asm "pop %rbp"
module asm "ret"
"""


def _machine_text():
    """The LLVM IR of the machine: its fibers, and what a thread asks of it."""
    return _SWITCH + f"""
@now = internal global i64 0
@count = internal global i64 0
@step = internal global i64 1
@block = internal global i64 0
@blocks = internal global i64 0
@status = internal global i64 0
@entry = internal global ptr null
@words = internal global ptr null
@home = internal global i64 0
@places = internal global [{MOST_THREADS} x i64] zeroinitializer
@ended = internal global [{MOST_THREADS} x i8] zeroinitializer
@said = internal global [{MOST_THREADS} x i32] zeroinitializer
@met = internal global [{MOST_THREADS} x i64] zeroinitializer
@expected = internal global i64 -1
@stacks = internal global [{MOST_THREADS * STACK} x i8] zeroinitializer, align 64
declare void @fiber_switch(ptr, i64)
define i64 @thread() {{ %x = load i64, ptr @now ret i64 %x }}
define i64 @threads() {{ %x = load i64, ptr @count ret i64 %x }}
define i64 @own_block() {{ %x = load i64, ptr @block ret i64 %x }}
define i64 @own_blocks() {{ %x = load i64, ptr @blocks ret i64 %x }}
define void @warp_barrier() {{ call void @barrier() ret void }}

define internal i64 @next() {{
  %now = load i64, ptr @now
  %step = load i64, ptr @step
  %count = load i64, ptr @count
  %mask = sub i64 %count, 1
  %moved = add i64 %now, %step
  %next = and i64 %moved, %mask
  ret i64 %next
}}
define internal void @leave(ptr %place) {{
  %home = load i64, ptr @home
  call void @fiber_switch(ptr %place, i64 %home)
  ret void
}}
define void @barrier() {{
  %now = load i64, ptr @now
  %mine = getelementptr i64, ptr @places, i64 %now
  %count.at = getelementptr i64, ptr @met, i64 %now
  %met = load i64, ptr %count.at
  %met1 = add i64 %met, 1
  store i64 %met1, ptr %count.at
  %next = call i64 @next()
  %flag = getelementptr i8, ptr @ended, i64 %next
  %ended = load i8, ptr %flag
  %gone = icmp ne i8 %ended, 0
  br i1 %gone, label %apart, label %wait
apart:
  store i64 {MET}, ptr @status
  call void @leave(ptr %mine)
  unreachable
wait:
  %there = getelementptr i64, ptr @places, i64 %next
  %place = load i64, ptr %there
  store i64 %next, ptr @now
  call void @fiber_switch(ptr %mine, i64 %place)
  ret void
}}
define i32 @shuffle(i32 %x, i32 %distance) {{
  %now = load i64, ptr @now
  %mine = getelementptr i32, ptr @said, i64 %now
  store i32 %x, ptr %mine
  call void @barrier()
  %wide = zext i32 %distance to i64
  %other = xor i64 %now, %wide
  %place = getelementptr i32, ptr @said, i64 %other
  %y = load i32, ptr %place
  call void @barrier()
  ret i32 %y
}}
define internal void @fiber() {{
  %entry = load ptr, ptr @entry
  %words = load ptr, ptr @words
  call void %entry(ptr %words)
  %now = load i64, ptr @now
  %mine = getelementptr i64, ptr @places, i64 %now
  %flag = getelementptr i8, ptr @ended, i64 %now
  store i8 1, ptr %flag
  %count.at = getelementptr i64, ptr @met, i64 %now
  %met = load i64, ptr %count.at
  %expected = load i64, ptr @expected
  store i64 %met, ptr @expected
  %first = icmp eq i64 %expected, -1
  %same = icmp eq i64 %expected, %met
  %fine = or i1 %first, %same
  br i1 %fine, label %go, label %apart
apart:
  store i64 {MET}, ptr @status
  br label %go
go:
  %next = call i64 @next()
  %after = getelementptr i8, ptr @ended, i64 %next
  %ended = load i8, ptr %after
  %last = icmp ne i8 %ended, 0
  br i1 %last, label %out, label %on
out:
  call void @leave(ptr %mine)
  unreachable
on:
  %there = getelementptr i64, ptr @places, i64 %next
  %place = load i64, ptr %there
  store i64 %next, ptr @now
  call void @fiber_switch(ptr %mine, i64 %place)
  unreachable
}}
define i64 @launch(ptr %entry, ptr %words, i64 %threads, i64 %blocks, i64 %step) {{
start:
  store ptr %entry, ptr @entry
  store ptr %words, ptr @words
  store i64 %threads, ptr @count
  store i64 %blocks, ptr @blocks
  store i64 %step, ptr @step
  store i64 0, ptr @status
  br label %grid
grid:
  %b = phi i64 [ 0, %start ], [ %c, %back ]
  %some = icmp slt i64 %b, %blocks
  br i1 %some, label %begin, label %done
begin:
  store i64 %b, ptr @block
  store i64 -1, ptr @expected
  br label %fill
fill:
  %t = phi i64 [ 0, %begin ], [ %u, %fill ]
  %u = add i64 %t, 1
  %end = mul i64 %u, {STACK}
  %at = sub i64 %end, 128
  %top = getelementptr i8, ptr @stacks, i64 %at
  %back_to = getelementptr i8, ptr %top, i64 48
  store ptr @fiber, ptr %back_to
  %value = ptrtoint ptr %top to i64
  %slot = getelementptr i64, ptr @places, i64 %t
  store i64 %value, ptr %slot
  %flag = getelementptr i8, ptr @ended, i64 %t
  store i8 0, ptr %flag
  %met.at = getelementptr i64, ptr @met, i64 %t
  store i64 0, ptr %met.at
  %full = icmp slt i64 %u, %threads
  br i1 %full, label %fill, label %go
go:
  %backwards = icmp slt i64 %step, 0
  %last = sub i64 %threads, 1
  %first = select i1 %backwards, i64 %last, i64 0
  store i64 %first, ptr @now
  %slot0 = getelementptr i64, ptr @places, i64 %first
  %place0 = load i64, ptr %slot0
  call void @fiber_switch(ptr @home, i64 %place0)
  %status = load i64, ptr @status
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %back, label %done
back:
  %c = add i64 %b, 1
  br label %grid
done:
  %said = load i64, ptr @status
  ret i64 %said
}}
"""


_engines: list = []


@functools.lru_cache(maxsize=None)
def machine():
    """({name: address} of what a thread asks, the ctypes function that launches a grid).

    raises : DeviceError on a processor whose registers are not known here
    """
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux":
        raise DeviceError(f"CUDA's simulator runs on Linux on x86-64, not on {platform.system()} on {platform.machine()}")
    with object_code.lock:
        object_code.initialise()
        llvm.initialize_native_asmparser()
        target, module = object_code.optimised(_machine_text(), **_OPTIONS)
        engine = load_object(target.emit_object(module), {}, **_OPTIONS)
    _engines.append(engine)                                  # its code lives as long
    launch = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return {name: engine.get_function_address(name) for name in _NAMES}, launch(engine.get_function_address("launch"))


class Simulated:
    """A kernel for the simulator. texts: of `code.kernel_text`"""

    def __init__(self, texts):
        main, parts = texts
        words = main.split("define void @kernel(")[1].split(")")[0].count("%a")
        loads = "".join(f"  %p{k} = getelementptr i64, ptr %words, i64 {k}\n  %w{k} = load i64, ptr %p{k}\n"
                        for k in range(words))
        given = ", ".join(f"i64 %w{k}" for k in range(words))
        main += f"\ndefine void @run(ptr %words) {{\n{loads}  call void @kernel({given})\n  ret void\n}}\n"
        rules, self._launch = machine()
        with object_code.lock:
            target = object_code.target_machine(**_OPTIONS)
            module = linked((main, parts), _RULES, target, entry="run")
            self._engine = load_object(target.emit_object(module), rules, **_OPTIONS)
        self.address, self.words = self._engine.get_function_address("run"), words

    def run(self, words, threads=64, blocks=3, backwards=False):
        """Run a grid; True if its threads always met at the same barriers.

        words : a contiguous int64 array;   threads: a power of two, at least 32;   backwards: the last thread first
        """
        assert words.dtype == np.int64 and words.size == self.words
        with _one_at_a_time:
            return self._launch(self.address, words.ctypes.data, threads, blocks, -1 if backwards else 1) != MET


_one_at_a_time = threading.Lock()
