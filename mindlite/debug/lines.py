"""One line of the user's program: what it became in the graph, in the gradient, in the kernels."""
from dataclasses import dataclass

from ..common.errors import ArgumentError
from ..mindir.graph import FuncGraph
from ..mindir.printer import show
from .reports import launches
from .target import compiled_of


@dataclass(frozen=True)
class Line:
    """What a line became, all texts: location "model.py:3", source, graph (typed), gradient (optimised), kernels (a tuple)."""
    location: str
    source: str
    graph: str
    gradient: str
    kernels: tuple

    def __str__(self):
        parts = [f"{self.location}  {self.source}"]
        for head, text in (("graph", self.graph), ("gradient", self.gradient), ("kernels", "\n".join(self.kernels))):
            if text:
                parts.append(f"{head}:\n{text}")
        return "\n".join(parts)


def line(f, number, file=None):
    """The Line of that number in a user's file, as it was compiled into `f`.

    number : counted from 1, or a text that the line contains
    file   : the end of the file's name, where the number is not enough
    raises : ArgumentError if nothing was made from such a line
    """
    compiled = compiled_of(f)
    inferred, optimised = compiled.graph("infer"), compiled.graph("optimise")

    def here(node):
        location = node.origin.location
        if location is None or (file is not None and not location.file.endswith(file)):
            return False
        return number in location.source() if isinstance(number, str) else location.line == number
    found = next((node.origin.location for g in inferred.reachable() for node in g.nodes if here(node)), None)
    if found is None:
        raise ArgumentError(f"{compiled.name}: nothing was made from line {number!r}" + (f" of {file}" if file else ""),
                            hint="ir(f, 'infer') shows the lines that are in the graph")

    def same(node):
        location = node.origin.location
        return location is not None and (location.file, location.line) == (found.file, found.line)
    kernels = tuple(made.kernel.source for nodes, made in launches(compiled) if hasattr(made, "nest") and any(
        same(inner) for node in nodes for inner in (node.fn.nodes if isinstance(node.fn, FuncGraph) else (node,))))
    return Line(str(found), found.source().strip(), show(inferred, only=same),
                show(optimised, only=lambda node: same(node) and node.origin.by == "grad"), kernels)
