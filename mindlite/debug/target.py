"""From what the user holds to what was compiled: a jit function, a bound method, a Cell, or a JitFunction itself."""
from ..common.errors import ArgumentError
from ..compile.jit import JitFunction, alive
from ..functional.cell import compiled_cell


def compiled_of(f):
    """The JitFunction behind `f`.

    raises : ArgumentError if nothing was compiled for it
    """
    if isinstance(f, JitFunction):
        return f
    inside = getattr(f, "compiled", None) or getattr(getattr(f, "construct", None), "compiled", None)
    if isinstance(inside, JitFunction):
        return inside
    if hasattr(f, "construct") and compiled_cell(f).variants:
        return compiled_cell(f)
    name = getattr(f, "__qualname__", type(f).__name__)
    raise ArgumentError(f"{name} is not compiled", hint="decorate it with @jit, or run the Cell in GRAPH_MODE, and call it once")


def compiled_functions():
    """The JitFunctions of this process that were compiled, or tried to be, in the order in which they were made."""
    return [f for f in list(alive.values()) if f.variants or f.in_python or f.refused or f.runs_in_python]
