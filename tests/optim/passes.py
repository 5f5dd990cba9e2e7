"""What the tests of passes share: before and after, as functions over nodes."""
import numpy as np

from mindlite.common import dtype as dt
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.graph import FuncGraph, ValueNode
from mindlite.mindir.inline import clone
from mindlite.optim import drop_dead


def f32(*shape):
    return AbstractTensor(dt.float32, shape)


def i64(*shape):
    return AbstractTensor(dt.int64, shape)


def text(graph):
    """A typed graph as text in which equal graphs are equal: nodes are numbered, nested graphs written out."""
    names = {p: f"p{i}" for i, p in enumerate(graph.parameters)}

    def read(node):
        return names[node] if not isinstance(node, ValueNode) else f"{np.asarray(node.value).tolist()}:{node.abstract}"
    lines = [", ".join(f"{names[p]}: {p.abstract}" for p in graph.parameters)]
    for node in graph.nodes:
        names[node] = f"n{len(names)}"
        attrs = {k: text(v) if isinstance(v, FuncGraph) else v for k, v in node.attrs.items()}
        lines.append(f"{names[node]} = {node.fn.name}({', '.join(map(read, node.args))}; {attrs}) : {node.abstract}")
    return "\n".join(lines + ["return " + ", ".join(map(read, graph.outputs))])


def apply(pass_, graph):
    """A copy of the graph after the pass, everywhere in it, and after what it left dead is dropped."""
    graph = clone(graph)
    for below in reversed(graph.reachable()):
        pass_(below)
    for below in graph.reachable():
        drop_dead(below)
    return graph


def check_pass(pass_, before, after, *abstracts):
    """The pass iterations `before` into `after`; both take nodes of these abstracts (f32[2] each by default)."""
    n = before.__code__.co_argcount
    abstracts = abstracts or (f32(2),) * n
    assert text(apply(pass_, typed(before, *abstracts))) == text(apply(drop_dead, typed(after, *abstracts)))
