"""A derivative without the function's results: what the function did to the world it has done, and is not done again.

    f(x):  print(x); return tanh(x)       pull f(x, dout):  a = tanh(x); return dout * (1 - a * a)

The values that the derivative reads are computed again, in loops and branches too, but nothing else of f.

    f(x):  a = tanh(x); return a * a          recompute f(x, dout):  x = barrier(x, dout);  a = tanh(x)
                                                                     da = dout * (a + a);  return da * (1 - a * a)

Recomputation (Chen et al. 2016) is such a derivative, which runs when its cotangents are there. A barrier is its first operand,
which no pass sees through: without it equal nodes would be merged, and what was to be computed again would be kept.
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

from ..common.errors import Refusal
from ..mindir.abstract import AbstractTensor
from ..mindir.builder import building
from ..mindir.control import make_tuple
from ..mindir.graph import CNode, FuncGraph, ValueNode
from ..mindir.inline import has_effect, inline, live_nodes, without_effects
from ..ops.basic import barrier
from ..ops.state import stop_gradient
from .control import is_pullback
from .jvp import jvp_graph
from .vjp import vjp_graph

if TYPE_CHECKING:
    from .activity import Positions


def gradients_only(graph: FuncGraph, wrt: Positions, seeds: Any, has_run: bool = False) -> FuncGraph:
    """The graph (*parameters, *cotangents) -> gradients; what hooks do to the world comes now. Arguments as `vjp_graph`.

    has_run: the graph has run, so no Python code in it may be called again
    raises : Refusal where the gradient needs that
    """
    key = "gradients", tuple(wrt), tuple(seeds), has_run
    if key not in graph.transforms:
        joint = vjp_graph(graph, wrt, seeds)
        start = joint.transforms["reverse"]
        behind = [node for node in joint.nodes[start:] if has_effect(node) and not is_pullback(node)]
        graph.transforms[key] = _only(joint, joint.outputs[len(graph.outputs):], behind, joint.nodes[:start], has_run)
    return graph.transforms[key]


def tangents_only(graph: FuncGraph, wrt: Positions) -> FuncGraph:
    """The graph (*parameters, *tangents) -> tangents of the outputs, of a graph that has run. Arguments as `jvp_graph`.

    raises : Refusal where Python code in it would have to run again
    """
    key = "tangents", tuple(wrt)
    if key not in graph.transforms:
        joint = jvp_graph(graph, wrt)
        graph.transforms[key] = _only(joint, joint.outputs[len(graph.outputs):], (), joint.nodes, True)
    return graph.transforms[key]


def _only(joint: Any, outputs: Any, also: Any, again: Any, has_run: bool) -> FuncGraph:
    """What these outputs of a graph, and the nodes `also`, need. again: nodes whose effects are not repeated"""
    target, again = FuncGraph(joint.name, joint.origin), frozenset(again)
    env: dict = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in joint.parameters}
    for node in live_nodes(joint, [*outputs, *also], effects=False)[0]:
        attrs = node.attrs
        if node in again and has_effect(node):
            attrs = {name: without_effects(v) if isinstance(v, FuncGraph) else v for name, v in attrs.items()}
        args = [a if isinstance(a, ValueNode) else env[a] for a in node.args]
        env[node] = CNode(target, node.fn, args, attrs, node.abstract, node.origin)
        if has_run and node in again and has_effect(env[node]):
            raise Refusal("a derivative that is asked for later passes Python code, which would run once more for it",
                                   location=node.origin.location)
        target.nodes.append(env[node])
    target.set_outputs([o if isinstance(o, ValueNode) else env[o] for o in outputs], make_tuple)
    return target


def recompute_graph(graph: FuncGraph, wrt: Positions, seeds: Any) -> FuncGraph:
    """The graph (*parameters, *cotangents) -> (*gradients), which computes the values of `graph` again, but repeats
    no effect of it. Arguments as `vjp_graph`.
    """
    key = "recompute", tuple(wrt), tuple(seeds)
    if key not in graph.transforms:
        only = gradients_only(graph, wrt, seeds)
        target = FuncGraph(f"recompute {graph.name}", graph.origin)
        made = [target.add_parameter(p.name, p.abstract, p.origin) for p in only.parameters]
        n = len(graph.parameters)
        with building(target, graph.origin, by="grad"):
            known = stop_gradient(made[n])
            inside = [barrier(p, known) if isinstance(p.abstract, AbstractTensor) else p for p in made[:n]]
        target.set_outputs(inline(target, only, [*inside, *made[n:]]), make_tuple)
        graph.transforms[key] = target
    return graph.transforms[key]
