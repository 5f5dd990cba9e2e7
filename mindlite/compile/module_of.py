"""From a network and examples of its arguments to a Module: the typed graph of one signature, closed, without Python.

    export(net, Tensor(shape=[None, 3]), file_name="net")      ->      net.mindir:  graph @Net(%x0: f32[N, 3], %w: .. = ..)

What a file cannot hold is refused at the user's line: statements that run in Python, objects that are assigned to, texts
of exceptions that are made of run-time values.
"""
from __future__ import annotations

import builtins
import copy
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common import errors
from ..common.dim import Symbol
from ..common.errors import ArgumentError, GraphSyntaxError, Refusal
from ..common.tensor import Tensor
from ..fallback.record import Records
from ..infer.results import Made, Result
from ..infer.specialise import specialise
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.builder import building, constant
from ..mindir.control import check, make_tuple, segment
from ..mindir.file import Input, Module, Output
from ..mindir.graph import AnfNode, CNode, FuncGraph
from ..mindir.inline import clone, drop_dead_nodes
from ..ops.scalar import scalar_compare
from .passes import derive_graph


def module_of(function: Any, inputs: Sequence[Any], name: str) -> Module:
    """The Module of a function for arguments like `inputs`.

    inputs : Tensors (a shape may hold None: any size), tuples, lists and dicts of them; all else is a constant
    raises : GraphSyntaxError, and whatever calling the function with such arguments raises
    """
    symbols: dict = {}
    args, patterns = zip(*[described(value, symbols) for value in inputs]) if inputs else ((), ())
    try:
        made = specialise(function, args, {}, name, fullgraph=True, fallbacks=Records())
    except Refusal as refusal:
        raise refusal.error() from refusal
    for held, what in ((made.changes, "assigns to a list, a dict or an attribute"),
                       (made.places, "reads a number that it assigns to"), (made.objects, "shares an object with Python")):
        if held:
            raise GraphSyntaxError(f"{name} {what}, which a file cannot hold")
    graph = drop_dead_nodes(clone(derive_graph(made.graph)))
    demand_sizes(graph, made.constraints)
    for below in graph.reachable():
        for node in below.nodes:
            if node.fn is segment:
                raise GraphSyntaxError(f"this runs in Python, which a file cannot hold: {node.attrs['reason']}",
                                       location=node.origin.location)
            if node.fn is check:
                node.attrs = {**node.attrs, "error": exception_text(node), "again": node.attrs.get("again", False)}
    outputs = list(graph.outputs)
    changed = {id(owner): number for owner, number in made.updates if isinstance(owner, Tensor)}
    output = result(made.output, graph, outputs, name, changed)
    graph.set_outputs(outputs, make_tuple)
    return Module(graph, tuple(patterns), output, updates_of(made, graph))


def described(value: Any, symbols: dict) -> tuple[Any, Any]:
    """(an example of an argument with types in place of Tensors, the same with Inputs)."""
    if isinstance(value, Tensor):
        shape = value.shape if not value.has_init else value.init_data().shape
        if -2 in shape:
            raise ArgumentError("export: the number of axes of an argument is known")
        sizes = tuple([s if isinstance(s, int) and s >= 0 else
                       symbols.setdefault(s if isinstance(s, Symbol) else object(), s if isinstance(s, Symbol) else
                                          Symbol(lo=0)).dim for s in shape])
        return AbstractTensor(value.dtype, sizes), Input()
    if isinstance(value, np.ndarray):
        return AbstractTensor(dt.dtype(value.dtype), value.shape), Input()
    if type(value) in (tuple, list):
        parts = [described(v, symbols) for v in value]
        return type(value)([a for a, _ in parts]), type(value)([p for _, p in parts])
    if type(value) is dict:
        named = {k: described(v, symbols) for k, v in value.items()}
        return {k: a for k, (a, _) in named.items()}, {k: p for k, (_, p) in named.items()}
    if value is None or type(value) in (bool, int, float, str):
        return value, value
    raise ArgumentError(f"export: an argument is a Tensor, number, string, None, or a tuple, list or dict of them, "
                        f"not {type(value).__name__}")


def demand_sizes(graph: FuncGraph, constraints: Iterable[Any]) -> None:
    """Checks, before all else, of the facts about sizes that inference took for granted."""
    nodes, graph.nodes = graph.nodes, []
    with building(graph):
        for constraint in constraints:
            holds = scalar_compare(constant(constraint.left), constant(constraint.right), op=constraint.op)
            graph.add(check, holds, abstract=AbstractTuple(()), error=functools.partial(copy.copy, constraint.error))
    graph.nodes += nodes


def exception_text(node: CNode) -> str:
    """`ValueError: text` for the exception of a check. raises : GraphSyntaxError where it holds run-time values"""
    if len(node.args) > 1:
        raise GraphSyntaxError("the text of this exception is made of run-time values, which a file cannot hold",
                               location=node.origin.location, hint="raise it with a constant text")
    error = node.attrs["error"]()
    if exception_class(type(error).__name__) is not type(error):
        raise GraphSyntaxError(f"a file cannot hold the exception {type(error).__name__}", location=node.origin.location)
    message = getattr(error, "message", None) or (str(error.args[0]) if error.args else "")
    return f"{type(error).__name__}: {message}"


def exception_class(name: str) -> type[Exception] | None:
    """An exception of mindlite's or Python's by name, None for any other."""
    found = getattr(errors, name, None) or getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def with_exceptions(module: Module) -> Module:
    """The Module as it was before `exception_text`: its checks raise. raises : ValueError for an exception that does not exist"""
    for graph in module.graph.reachable():
        for node in graph.nodes:
            if node.fn is check:
                name, _, message = str(node.attrs.get("error")).partition(": ")
                cls = exception_class(name)
                if cls is None:
                    raise ValueError(f"there is no exception {name[:40]!r}")
                node.attrs = {**node.attrs, "error": functools.partial(cls, message)}
    return module


def result(value: Any, graph: FuncGraph, outputs: list[AnfNode], name: str, changed: dict[int, int]) -> Any:
    """The form of the result. Tensors that stand in it as they are become further outputs.

    changed : {id of a Tensor that the graph assigns to: the number of the output that is its new value}
    """
    if isinstance(value, Result):
        return Output(value.number, value.argument)
    if isinstance(value, (tuple, list)):
        return (tuple if isinstance(value, tuple) else list)([result(v, graph, outputs, name, changed) for v in value])
    if type(value) is dict:
        return {k: result(v, graph, outputs, name, changed) for k, v in value.items()}
    if isinstance(value, Made) and not value.items:          # a Tensor that was made when the graph was
        value = value.make()
    if id(value) in changed:
        return Output(changed[id(value)])
    if isinstance(value, Tensor):
        held = next((p for p in graph.parameters if p.default is value), None)
        outputs.append(constant(value) if held is None else held)
        return Output(len(outputs) - 1)
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise GraphSyntaxError(f"{name} gives a {type(value).__name__}, which a file cannot hold")


def updates_of(made: Any, graph: FuncGraph) -> tuple[tuple[int, int], ...]:
    """((number of the parameter, number of the output), ..)"""
    arguments = [n for n, p in enumerate(graph.parameters) if p.default is None]
    places = {id(p.default): n for n, p in enumerate(graph.parameters) if p.default is not None}
    return tuple([(arguments[owner] if isinstance(owner, int) else places[id(owner)], number)
                  for owner, number in made.updates])
