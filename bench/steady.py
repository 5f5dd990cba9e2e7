"""What a row still asks of Python and of the system once it is warm: a call should compute and nothing else.

    python bench/steady.py "step: MLP"

Printed per call, over many: pages that were touched for the first time (minor faults of the process), Python functions
that were entered, bytes by which the C library's heap in use has grown, and how often machine code of our own asked for
memory. The last is counted by a function that stands before malloc when kernels are loaded. A call still allocates its
results, NumPy arrays and Tensors, which takes objects that were freed before; libraries keep buffers of their own.
"""
import argparse
import ctypes
import resource
import sys

import llvmlite.binding as llvm

from mindlite.backend import machine_code
from mindlite.backend.machine_code import c_address, compile_ir

COUNTER = """
declare ptr @real_malloc(i64)
@count = internal global i64 0
define ptr @counting_malloc(i64 %size) {
  %before = atomicrmw add ptr @count, i64 1 seq_cst
  %place = call ptr @real_malloc(i64 %size)
  ret ptr %place
}
define i64 @counted() {
  %now = load atomic i64, ptr @count seq_cst, align 8
  ret i64 %now
}
"""


class Mallinfo(ctypes.Structure):
    """glibc's struct mallinfo2."""
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                     "fsmblks", "uordblks", "fordblks", "keepcost")]


def count_allocations():
    """Let kernels that are loaded from now on count their calls of malloc; returns the function that tells how many."""
    code, find = compile_ir(COUNTER, {"real_malloc": c_address("malloc")}, name="malloc_counter"), machine_code.c_address
    counting = code.address("counting_malloc")
    llvm.add_symbol("malloc", counting)                       # for what LLVM loads, and for what is loaded without it
    machine_code.c_address = lambda name: counting if name == "malloc" else find(name)
    counted = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("counted"))
    return lambda: (counted(), code)[0]                       # the code lives as long as the function


def bytes_in_use():
    """Bytes of the C library's heap in use, mapped ones included; 0 where it does not tell."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return 0
    library.mallinfo2.restype = Mallinfo
    found = library.mallinfo2()
    return found.uordblks + found.hblkhd


def counts(run, calls, counted):
    """{what: how often or how much per call} of `calls` calls of run(); of the system the least of three times."""
    entered = []
    sys.setprofile(lambda frame, event, _: entered.append(frame.f_code) if event == "call" else None)
    for _ in range(calls):
        run()
    sys.setprofile(None)
    own = getattr(run, "__code__", None)                       # the function that calls what is measured
    names = sorted({f"{code.co_name} ({code.co_filename.rpartition('/')[2]})" for code in entered
                    if code is not own})
    least = [min(numbers) for numbers in zip(*(_asked(run, calls, counted) for _ in range(3)))]
    return {"Python functions entered": sum(code is not own for code in entered) / calls, "which": ", ".join(names),
            **dict(zip(("page faults", "bytes of heap", "allocations by machine code"), least))}


def _asked(run, calls, counted):
    """What each of `calls` calls asks of the system. A thread that gets no core may be late to grow its first piece, which
    then falls in here; what every call asks for does so each time."""
    faults, heap, asked = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, bytes_in_use(), counted()
    for _ in range(calls):
        run()
    asked, heap = counted() - asked, bytes_in_use() - heap
    return [n / calls for n in (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults, heap, asked)]


def main():
    """Print the counts of the rows whose name holds the given text."""
    import rows
    from frameworks import Mindlite
    from measure import ROWS
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("row", help="a part of the rows' names")
    parser.add_argument("--calls", type=int, default=20)
    options = parser.parse_args()
    counted = count_allocations()
    rows.load()
    for name in ROWS:
        if options.row in name and not ROWS[name].cold:
            run = ROWS[name].make(Mindlite())
            for _ in range(5):
                run()
            print(name)
            for what, found in counts(run, options.calls, counted).items():
                print(f"  {what}: {found}")


if __name__ == "__main__":
    main()
