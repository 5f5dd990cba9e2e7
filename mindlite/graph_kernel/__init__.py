"""Graph kernels: clusters of operators become one loop nest each, and machine code.

    lowering(graph, in_place=()) -> Lowered        fusable(graph)        CannotFuse
    cluster.cluster(graph, level="O1") -> graph                    python_source.run_source(nest, *arrays)

    graph -> loopnest.build -> schedule.schedule -> lower_llvm.emit               -> cache.address_of
                                                 -> python_source -> lower_numba

config.lowering chooses between the two; docs/design/kernels.md compares them. The Python text is what people read either
way. The names are looked up when they are first used, so importing this room loads neither LLVM nor Numba.
"""
import importlib

_HOME = {"lowering": "lower", "Lowered": "lower", "fusable": "lower", "kept_kernel": "lower",
         "CannotFuse": "loopnest", "LoopNest": "loopnest"}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("." + _HOME[name], __name__), name)
