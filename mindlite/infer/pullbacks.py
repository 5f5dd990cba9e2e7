"""vjp and linearize in graphs: the function runs where it is called, what its derivative needs is kept, and the function that
is given pulls cotangents back, or pushes tangents, later and as often as it is called.

    value, pull = vjp(f, x)            kept = (x, what f captures), as they are now;  value = the nodes of f
    dx, = pull(dout)                   dx = J(kept, dout; graph of f, mode "pull")

The graph under the marker computes f's values again, and equal nodes are merged. What f does besides computing (it prints,
appends, assigns) is done at its call, once, as in eager mode: ad leaves it out of "pull" and "push".
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..mindir.abstract import AbstractTensor, symbols_of_abstract
from ..mindir.control import J
from ..mindir.derivative import in_order
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline, with_sizes
from ..mindir.primitive import interpreting
from ..mindir.protocol import Derivative
from ..ops.state import identity
from .evaluating import Evaluating
from .transforms import GRADIENTS, Reversal, Subgraph, along, cotangents_of, following, replace_leaves, tangents_of
from .values import Value


def differentiate(ev: Evaluating, what: Any, args: tuple, kwargs: dict[str, Any]) -> Value:
    """grad(f)(*args), value_and_grad, jvp, vjp, linearize, and what the last two gave."""
    return KINDS[what.kind](ev, what.function, what.options, args, kwargs)


class Later:
    """What vjp and linearize leave for later, without a node in it: those are handed to it as `kept`."""

    def __init__(self, kind: str, sub: Subgraph, made: Value = None) -> None:
        self.kind, self.sub, self.made = kind, sub, made
        self.graph = _renamed(sub.region.graph)
        self.outputs = sub.region.graph.outputs

    def __mindir__(self) -> Any:
        return Derivative(self, self.kind)


def _renamed(graph: FuncGraph) -> Any:
    """A copy in which sizes that the graph itself makes have names of their own: it stands beside the one that has run."""
    given = {symbol for p in graph.parameters for symbol in symbols_of_abstract(p.abstract)}
    return with_sizes(graph, {symbol: symbol.dim for symbol in given})


def _run_now(ev: Evaluating, sub: Subgraph) -> Any:
    """(the function's value, what its graph was given): kept values have no name, so nobody assigns to them later."""
    with interpreting(ev.tracer):
        kept = [_nameless(ev.tracer.lift(x)) for x in (*sub.inputs, *sub.captured)]
        results = [_nameless(x) for x in inline(ev.tracer.graph, sub.region.graph, kept)]
    return sub.finish(results), tuple(kept)


def _nameless(x: Any) -> Any:
    return identity(x) if isinstance(x.abstract, AbstractTensor) else x


def _vjp(ev: Evaluating, function: Value, options: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> Value:
    """(value, what is kept, the function (kept, cotangents) -> gradients)"""
    args, parted = in_order(args, kwargs)
    made = Reversal(ev, function, {**options, "grad_position": "all", "numbers": True}, args, parted)
    like = tuple([replace_leaves(ev, a, lambda x: x) for a in args])
    value, kept = _run_now(ev, made.sub)
    return value, (kept, like), Later("pull", made.sub, made)


def _pull(ev: Evaluating, later: Later, options: dict[str, Any], args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    (kept, like), given = args
    made = later.made
    with interpreting(ev.tracer):
        douts = cotangents_of(ev, "vjp", made.leaves, later.graph, made.seeds, given)
        gradients = J(*kept, *douts, graph=later.graph, wrt=made.wrt, seeds=made.seeds, mode="pull")
    return made.pulled(gradients, like)


def _linearize(ev: Evaluating, function: Value, options: dict[str, Any], args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """(value, what is kept, the function (kept, tangents) -> tangents of the value)"""
    sub = along(ev, function, args[0], kwargs)
    value, kept = _run_now(ev, sub)
    return value, kept, Later("push", sub)


def _push(ev: Evaluating, later: Later, options: dict[str, Any], args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    kept, tangents = args
    count = len(later.sub.inputs)
    seeds = tangents_of(ev, "linearize", kept[:count], tangents)
    with interpreting(ev.tracer):
        results = J(*kept, *seeds, graph=later.graph, wrt=tuple(range(count)), seeds=(), mode="push")
    return following(ev, later.sub, later.sub.pattern, results)


KINDS = {**GRADIENTS, "vjp": _vjp, "pull": _pull, "linearize": _linearize, "push": _push}
