"""Replacing markers: `J` and `Vmap` stand for a graph that a transformation derives; inner ones are replaced first.

    f: .. J(x, dout; graph=g, ..) ..        ->        f: .. the nodes of the derivative of g ..
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..common.annotations import Function
from ..common.dim import symbols_of
from ..common.errors import GradientError
from .abstract import AbstractTensor
from .control import make_tuple, tuple_getitem
from .graph import AnfNode, CNode, FuncGraph, Parameter, ValueNode
from .inline import inline, with_sizes
from .primitive import Primitive


def expand(graph: FuncGraph, derive: dict[Primitive, Function]) -> FuncGraph:
    """`graph` without markers, here and in the graphs of its attributes; the same graph where there were none.

    derive : {marker: function of the marker's attributes giving the graph of its operands}; for `{J: derivative_graph,
             Vmap: vmap_graph}` see `compile`
    raises : GradientError for a function that needs its own derivative, at the marker's line
    """
    return _Expander(derive).expand(graph)


class _Expander:
    def __init__(self, derive: dict[Primitive, Function]) -> None:
        self.derive = derive
        self.done: dict[FuncGraph, FuncGraph] = {}
        self.open: set[FuncGraph] = set()

    def expand(self, graph: FuncGraph) -> FuncGraph:
        if graph in self.done:
            return self.done[graph]
        if not any(node.fn in self.derive for below in graph.reachable() for node in below.nodes):
            self.done[graph] = graph
            return graph
        target = self.done[graph] = FuncGraph(graph.name, graph.origin)
        self.open.add(target)
        env: dict = {}
        for p in graph.parameters:
            env[p] = target.add_parameter(p.name, p.abstract, p.origin, p.default)
        for node in graph.nodes:
            self._copy(target, node, env)
        target.set_outputs([o if isinstance(o, ValueNode) else env[o] for o in graph.outputs], make_tuple)
        self.open.discard(target)
        return target

    def _copy(self, target: FuncGraph, node: CNode, env: Any) -> None:
        args: list[Any] = [a if isinstance(a, ValueNode) else env[a] for a in node.args]
        attrs = {name: self.expand(v) if isinstance(v, FuncGraph) else v for name, v in node.attrs.items()}
        if node.fn in self.derive:
            if self.open.intersection(attrs["graph"].reachable()):
                raise GradientError(f"{node.fn.name} of {attrs['graph'].name} needs itself: its order is unbounded",
                                    location=node.origin.location)
            derived = self.derive[node.fn](**attrs)
            sizes = _sizes(derived.parameters, args)
            env[node] = tuple(inline(target, with_sizes(derived, sizes, whole=False) if sizes else derived, args))
        elif node.fn is tuple_getitem and isinstance(args[0], tuple):
            env[node] = args[0][node.attrs["index"]]
        else:
            args = [target.add(make_tuple, *a, abstract=of.abstract, origin=node.origin) if isinstance(a, tuple) else a
                    for a, of in zip(args, node.args)]
            env[node] = target.add_copy(node, args, attrs=attrs)


def _sizes(parameters: Sequence[Parameter], args: Sequence[AnfNode]) -> dict:
    """{Symbol: size} for parameters whose size is a Symbol of their own: the cotangent of what data makes."""
    return {symbol: size for p, arg in zip(parameters, args) if isinstance(p.abstract, AbstractTensor)
            for own, size in zip(p.abstract.shape, arg.abstract.shape) if own != size for symbol in symbols_of(own)
            if own == symbol.dim}
