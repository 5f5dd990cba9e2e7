"""view: all that is known of a function on one HTML page."""
import pathlib

from ..mindir.graph import FuncGraph
from ..mindir.printer import show
from .page import Page
from .python_code import python
from .reports import explain, kernel
from .stages import ir, steps
from .storages import memory
from .target import compiled_of


def view(f, path=None):
    """Write a page with the stages, kernels and memory plan of a compiled function.

    path   : of the file; "<name>.html" in the working directory by default
    result : the path
    """
    compiled = compiled_of(f)
    page = Page(compiled.name)
    page.code("steps", steps(compiled))
    for stage, graph in compiled.latest().compiled.stages.items():
        opened = stage == "optimise"
        page.code(stage, show(graph) if isinstance(graph, FuncGraph) else ir(compiled, stage), opened)
    page.code("the optimised graph as Python", python(compiled), opened=False)
    page.code("kernels", kernel(compiled))
    page.code("memory", memory(compiled), opened=False)
    page.code("explain", explain(compiled, details=True), opened=False)
    return page.write(pathlib.Path(path if path is not None else f"{compiled.name}.html"))
