"""The interpreter that writes graphs: under it, calling an operator appends a typed node.

    with building(graph, origin):            rules are ordinary Python over ops; here they emit nodes
        graph.set_outputs([tanh(x) * y], make_tuple)
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Function
from ..common.dim import Dim, UnknownValueError
from ..common.errors import ArgumentError, MindliteError
from ..common.location import NOWHERE, Origin
from ..common.tensor import Tensor
from .abstract import Abstract, AbstractScalar, AbstractTensor, AbstractTuple
from .control import make_tuple, tuple_getitem
from .graph import AnfNode, CNode, FuncGraph, ValueNode
from .primitive import Primitive, current_interpreter, infer_rule, interpreting


class Builder:
    """Appends what is bound to `graph`; every new node has `origin`, derived by the transformation `by`."""

    def __init__(self, graph: FuncGraph, origin: Origin = NOWHERE, by: str = "") -> None:
        self.graph, self.origin, self.by = graph, origin, by

    def bind(self, prim: Primitive, args: tuple[Any, ...] | list[AnfNode], attrs: dict[str, Any]) -> CNode | tuple[CNode, ...]:
        """Append prim(*args, **attrs), typed; several results come back as a tuple of nodes."""
        nodes = tuple([self.lift(arg) for arg in args])
        abstract = self.typed(prim, [node.abstract for node in nodes], attrs)
        node = CNode(self.graph, prim, nodes, attrs, abstract, self.origin)
        self.graph.nodes.append(node)
        return results_of(node) if isinstance(abstract, AbstractTuple) else node

    def typed(self, prim: Primitive, abstracts: Sequence[Abstract], attrs: dict[str, Any]) -> Abstract:
        """What the operator gives, by its infer rule."""
        try:
            return infer_rule[prim](*abstracts, **attrs)
        except MindliteError as error:
            raise error.at(self.origin.location)

    def lift(self, value: Any) -> AnfNode:
        """The node of a value: nodes as they are, arrays and numbers as constants."""
        if isinstance(value, AnfNode):
            return value
        return constant(value)

    @contextlib.contextmanager
    def at(self, origin: Origin) -> Iterator[Any]:
        """Give nodes made inside the block this origin."""
        before, self.origin = self.origin, origin.derive(self.by) if self.by else origin
        try:
            yield self
        finally:
            self.origin = before


def constant(value: Any) -> ValueNode:
    """The ValueNode of an array, Tensor or Python number."""
    if isinstance(value, Tensor):
        value = value.asnumpy()
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return ValueNode(array, AbstractTensor(dt.dtype(array.dtype), array.shape))
    if isinstance(value, (bool, int, float)):
        return ValueNode(value, AbstractScalar(type(value), value if type(value) is int else None))
    if isinstance(value, Dim):
        return ValueNode(value, AbstractScalar(int, value))
    if isinstance(value, AnfNode):
        raise UnknownValueError("a value that is known at run time only stands where a constant is wanted")
    raise ArgumentError(f"an operator cannot take {type(value).__name__}", note=repr(value)[:80])


def tensor_type(tensor: Tensor) -> AbstractTensor:
    """The type of a Tensor; its elements are not looked at."""
    elements = tensor.elements
    return AbstractTensor(dt.dtype(elements.dtype), elements.shape)


@contextlib.contextmanager
def building(graph: FuncGraph, origin: Origin = NOWHERE, by: str = "") -> Iterator[Any]:
    """Operators called inside the block append nodes to `graph`; yields the Builder."""
    with interpreting(Builder(graph, origin if not by else Origin(origin.location, origin.of, by), by)) as builder:
        yield builder


def typed(function: Any, *abstracts: Abstract, name: str | None = None, origin: Origin = NOWHERE, by: str = "") -> FuncGraph:
    """The typed graph that `function` writes when it is run over nodes of these abstracts.

    function: takes one node per abstract, returns a node, a number or a tuple of them: the outputs
    """
    graph = FuncGraph(name or function.__name__, origin)
    names = function.__code__.co_varnames[:function.__code__.co_argcount] if hasattr(function, "__code__") else ()
    for i, abstract in enumerate(abstracts):
        graph.add_parameter(names[i] if i < len(names) else f"x{i}", abstract, origin)
    with building(graph, origin, by) as builder:
        out = function(*graph.parameters)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        graph.set_outputs([builder.lift(o) for o in outs], make_tuple)
    return graph


def append(prim: Primitive, *args: Any, abstract: Any, **attrs: Any) -> tuple[CNode, ...]:
    """Under the builder: append a control node of a known type (its graphs may be empty still); its results' nodes."""
    builder = current_interpreter()
    return results_of(builder.graph.add(prim, *map(builder.lift, args), origin=builder.origin, abstract=abstract, **attrs))


def results_of(node: CNode) -> tuple[CNode, ...]:
    """The nodes of the results of a node: itself, or what reads it if it has several; they are appended to its graph."""
    if not isinstance(node.abstract, AbstractTuple):
        return (node,)
    return tuple([node.graph.add(tuple_getitem, node, index=i, origin=node.origin, abstract=element)
                  for i, element in enumerate(node.abstract.elements)])


def written(name: str, names: Sequence[str], abstracts: Sequence[Abstract], write: Function, by: str = "") -> FuncGraph:
    """A typed graph with these parameters; write(graph, *parameters) gives its outputs."""
    graph = FuncGraph(name)
    for label, abstract in zip(names, abstracts):
        graph.add_parameter(label, abstract)
    with building(graph, by=by) as builder:
        graph.set_outputs([builder.lift(out) for out in write(graph, *graph.parameters)], make_tuple)
    return graph
