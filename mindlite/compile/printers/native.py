"""A Flow as machine code: its LLVM IR (native_ir.py) compiled, or taken from the disk, and entered once per run.

No address is in the text: the same program has the same text in every process. The IR needs no passes: it is what they leave.
"""
from __future__ import annotations

import numpy as np

from ...backend.launcher import launch_address, launcher_code
from ...backend.machine_code import cached_code, compile_ir
from ...common.lazy import LazyModule
from .. import flow as F
from ..link import Linked
from . import runtime as R

native_ir = LazyModule("mindlite.compile.printers.native_ir")
# Instructions of a program. Beyond, the code is made at level 0: level 2 takes 0.4 ms a launch, level 0 a tenth of it,
# and a chain of launches runs no faster for it; loops over scalars, where it pays, are short.
LONG = 200


def compile_native(linked: Linked, file: str | None = None) -> tuple[int, tuple, dict[int, int]]:
    """(address of `i64 run(context)`, objects to keep, {place of the context: number}) of a Linked program.

    file : the name of its object code on the disk, where it is known; the text is not made then
    """
    runtime = R.runtime()
    code = file and cached_code(file, runtime.address, name="native")
    if not code:
        count = sum(1 for flow in linked.program.all_flows() for _ in F.walk(flow.body))
        text = native_ir.print_native(linked)
        code = compile_ir(text, runtime.address, level=0 if count > LONG else 2, keep=True, name="native")
    addresses = np.array(linked.addresses() or [0], np.int64)
    places = {R.KERNELS: addresses.ctypes.data, R.LAUNCHER: launch_address()}
    return code.address("run"), (code, runtime, linked, addresses), places


def order_native() -> None:
    """Have what every native program needs compiled while Python goes on, where it is not on the disk."""
    R.runtime_code()
    launcher_code()
