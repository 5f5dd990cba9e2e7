"""Graph kernels: clusters of operators become one loop nest each, and machine code.

    lowering(graph, in_place=()) -> Lowered        fusable(graph)        CannotFuse
    cluster.cluster(graph, level="O1") -> graph

    graph -> loopnest.build -> schedule.schedule -> Target.write -> Target.compiled

A Target says what a kernel is written in and by whom it is compiled (`backend/target.py`; `backend/printers` for the CPU). The
names are looked up when they are first used, so importing this room loads neither LLVM nor Numba.
"""
import importlib

_HOME = {"lowering": "lower", "Lowered": "lower", "fusable": "lower",
         "CannotFuse": "loopnest", "LoopNest": "loopnest"}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOME[name], __name__), name)
