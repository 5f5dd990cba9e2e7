"""Gradients that the user writes (`bprop` of a Cell) during inference: function and gradient become two closed graphs.

    out = cell(x)      ->      %1 = custom_vjp(%x; graph=construct, bprop=bprop),   bprop(x, out, dout) -> dx

Until ad has read the gradient the two stay together; then the function's graph is inlined. What is recomputed is such a
function too: its bprop runs it again.
"""
from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..common.errors import GradientError
from ..mindir.abstract import AbstractTensor
from ..mindir.builder import building
from ..mindir.control import J, custom_vjp, make_tuple
from ..mindir.derivative import check_bprop, check_gradient, gradients_of_parts
from ..mindir.graph import FuncGraph
from ..mindir.primitive import interpreting
from ..mindir.protocol import CustomGradient, Recomputed
from ..ops.basic import cast, sum_to
from ..ops.creation import of_type
from .access import is_tensor
from .evaluating import Evaluating
from .merging import fill
from .transforms import Subgraph, as_tensor, replace_leaves
from .values import Box, Value


def custom_gradient(ev: Evaluating, what: CustomGradient, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """what.function(*args), whose gradient is what.bprop(*args, out, dout)."""
    name = getattr(what.bprop, "__qualname__", "bprop").replace("<locals>.", "")
    check_bprop(name, getattr(what.bprop, "signature", None) or inspect.signature(what.bprop), len(args))

    def enter(sub):
        return tuple([replace_leaves(ev, a, lambda x: sub.parameter(x) if is_tensor(x) else x) for a in args])
    forward = Subgraph(ev, what.scope or "construct", lambda sub: ev.call(what.function, enter(sub), kwargs))
    outs = [node.abstract for node in forward.region.graph.outputs]
    given = []

    def gradient(sub):
        again, graph = enter(sub), ev.tracer.region.graph
        for prefix in ("out", "dout"):
            given.append([graph.add_parameter(f"{prefix}{i}", abstract) for i, abstract in enumerate(outs)])
        found = ev.call(what.bprop, (*again, *[fill(forward.pattern, nodes) for nodes in given]), {})
        found = ev.unbox(found) if isinstance(found, Box) else found
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(args):
            raise GradientError(f"{name} gives {len(found)} gradients for {len(args)} arguments",
                                hint="return one gradient for each argument of construct")
        return tuple([g for arg, dx in zip(args, found) for g in _gradients_of(ev, name, ev.unbox(arg), ev.unbox(dx))])
    backward = Subgraph(ev, name, gradient)
    graph, bprop, count = forward.region.graph, backward.region.graph, len(forward.inputs)
    # Both graphs take the operands (inputs, what the function captures, what the gradient captures) in this order.
    captured = [graph.parameters[count:], [p for p in bprop.parameters[count:] if p not in given[0] + given[1]]]
    with building(bprop):
        gradients = [fill(g, bprop.outputs) for g in backward.pattern]
        gradients = [of_type(x.abstract) if g is None else g for g, x in zip(gradients, forward.inputs)]
        gradients += [of_type(p.abstract) for p in captured[0] + captured[1]]
    strangers = [bprop.add_parameter(p.name, p.abstract) for p in captured[0]]
    bprop.parameters = [*bprop.parameters[:count], *strangers, *captured[1], *given[0], *given[1]]
    with building(bprop) as builder:
        bprop.set_outputs([builder.lift(g) for g in gradients], make_tuple)
    for p in captured[1]:
        graph.add_parameter(p.name, p.abstract)
    with interpreting(ev.tracer):
        results = custom_vjp(*forward.inputs, *forward.captured, *backward.captured, graph=graph, bprop=bprop)
    return forward.finish(results)


def recomputed(ev: Evaluating, what: Recomputed, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """what.function(*args); its gradient runs it again."""
    def call(sub):
        inside = [replace_leaves(ev, a, lambda x: sub.parameter(x) if is_tensor(x) else x) for a in args]
        return ev.call(what.function, tuple(inside), kwargs)
    forward = Subgraph(ev, what.scope or getattr(what.function, "__name__", "recompute"), call)
    graph, operands = forward.region.graph, [*forward.inputs, *forward.captured]
    outs = [node.abstract for node in graph.outputs]
    wrt = tuple(i for i, p in enumerate(graph.parameters) if _has_gradient(p.abstract))
    seeds = tuple(i for i, out in enumerate(outs) if _has_gradient(out))
    bprop = FuncGraph(f"recompute {graph.name}", graph.origin)
    again = [bprop.add_parameter(p.name, p.abstract) for p in graph.parameters]
    _, douts = [[bprop.add_parameter(f"{prefix}{i}", a) for i, a in enumerate(outs)] for prefix in ("out", "dout")]
    with building(bprop, ev.tracer.origin) as builder:
        found = dict(zip(wrt, J(*again, *[douts[i] for i in seeds], graph=graph, wrt=wrt, seeds=seeds,
                                mode="recompute"))) if wrt and seeds else {}
        gradients = [found[i] if i in found else of_type(p.abstract) for i, p in enumerate(again)]
        bprop.set_outputs([builder.lift(g) for g in gradients], make_tuple)
    with interpreting(ev.tracer):
        results = custom_vjp(*operands, graph=graph, bprop=bprop)
    return forward.finish(results)


def _has_gradient(abstract: Any) -> bool:
    return isinstance(abstract, AbstractTensor) and abstract.dtype.is_differentiable and abstract.dtype.kind not in "ui"


def _gradients_of(ev: Evaluating, name: str, arg: Value, gradient: Value) -> Value:
    """The gradients of the Tensors in one argument; None for none."""
    if is_tensor(arg):
        if gradient is None or (isinstance(gradient, (int, float)) and gradient == 0):
            return [None]
        made, wanted = as_tensor(ev, gradient), ev.tracer.lift(arg).abstract
        to_sum, to_cast = check_gradient(name, made.abstract, wanted)
        with interpreting(ev.tracer):
            made = cast(made, dtype=wanted.dtype) if to_cast else made
            return [sum_to(made, wanted.shape) if to_sum else made]
    return [g for part, dx in gradients_of_parts(name, arg, gradient) for g in _gradients_of(ev, name, part, dx)]
