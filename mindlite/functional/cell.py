"""A Cell in GRAPH_MODE: its construct, with hooks and casts, as one compiled graph cached with the Cell.

    set_context(mode=GRAPH_MODE);  net(x)    ->    run_as_graph(net, (x,), {})
"""
from typing import Any

from ..compile.jit import JitFunction
from ..pynative.jitted import call_compiled

_PLACE = "_compiled_graph"


class _Kept:
    """The JitFunction of a Cell for its declared inputs. Copies of the Cell and files of it do not get it."""

    def __init__(self, cell):
        self.inputs, self.options = cell.get_inputs(), cell.get_jit_config()
        self.compiled = JitFunction(cell, inputs=self.inputs, **self.options)

    def __deepcopy__(self, memo):
        return None

    def __copy__(self):
        return None

    def __reduce__(self):
        return type(None), ()


def compiled_cell(cell: Any) -> Any:
    """The JitFunction of a Cell; a new one where set_inputs or set_jit_config has changed."""
    kept = cell.__dict__.get(_PLACE)
    if kept is None or kept.compiled.function is not cell or kept.inputs is not cell.get_inputs() \
            or kept.options is not cell.get_jit_config():
        kept = cell.__dict__[_PLACE] = _Kept(cell)
    return kept.compiled


def run_as_graph(cell: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """cell(*args, **kwargs), compiled. cell: a Cell; args: a tuple, kwargs: a dict of what its construct takes"""
    return call_compiled(compiled_cell(cell), args, kwargs)
