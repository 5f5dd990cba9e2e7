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

native_ir, launch_list = (LazyModule(f"mindlite.compile.printers.{name}") for name in ("native_ir", "launch_list"))

FEW = 24                        # launches of a program that the code generator's level does not matter to


def compile_native(linked: Linked, file: str | None = None) -> tuple[int, tuple, dict[int, int]]:
    """(address of `i64 run(context)`, objects to keep, {place of the context: number}) of a Linked program.

    file : the name of its object code on the disk, where it is known; the text is not made then
    """
    runtime = R.runtime()
    code = file and cached_code(file, runtime.address, name="native")
    if not code:
        text = native_ir.print_native(linked)
        # Of a long program level 2 takes ten times as long as level 0; loops over scalars, where it pays, are short. Of a few
        # launches in a row it takes four times as long and saves a nanosecond each.
        quick = launch_list.is_long(linked) or launches_once(linked)
        code = compile_ir(text, runtime.address, level=0 if quick else 2, keep=True, name="native")
    addresses = np.array(linked.addresses() or [0], np.int64)
    places = {R.KERNELS: addresses.ctypes.data, R.LAUNCHER: launch_address()}
    return code.address("run"), (code, runtime, linked, addresses), places


def launches_once(linked: Linked) -> bool:
    """True for a program of at most FEW launches without loops and calls of Flows."""
    every = [i for flow in linked.program.all_flows() for i in F.walk(flow.body)]
    return not any(isinstance(i, (F.While, F.CallFlow)) for i in every) and sum(isinstance(i, F.CallKernel) for i in every) <= FEW


def order_native() -> None:
    """Have what every native program needs compiled while Python goes on, where it is not on the disk."""
    R.runtime_code()
    launcher_code()
