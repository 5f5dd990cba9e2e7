"""Reverse-mode derivatives of typed graphs.

    f(x, y):  a = tanh(x);  return a * y             grad f(x, y, dout):  a = tanh(x);  out = a * y
                                                                          da = dout * y;  dx = da * (1 - a*a)
                                                                          return out, dx

The forward nodes are copied, the bprop rules run behind them in reverse order: straight-line code becomes
straight-line code. `reverse.py` says how, `control.py` what becomes of branches, loops and recursion.
"""
from ..common.errors import GradientError
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.inline import inline
from .activity import is_differentiable
from .reverse import Reverse


def vjp_graph(graph, wrt, seeds):
    """The graph (*parameters, *cotangents) -> (*outputs, *gradients).

    wrt    : numbers of the parameters that are differentiated; a gradient has its parameter's type, and is zero where
             nothing flows
    seeds  : numbers of the outputs that have a cotangent; the others count as zero
    raises : GradientError at the user's line, where a gradient must pass an operator that has none, or a seed is no
             float
    """
    wrt, seeds = tuple(wrt), tuple(seeds)
    key = "vjp", wrt, seeds
    if key not in graph.transforms:
        for i in seeds:
            node = graph.outputs[i]
            if not is_differentiable(node.abstract):
                raise GradientError(f"an output of type {node.abstract} has no gradient", location=node.origin.location,
                                    hint="differentiate a float")
        graph.transforms[key] = _join(graph, Reverse(graph, wrt, seeds, {}, top=True))
    return graph.transforms[key]


def _join(graph, reverse):
    """Forward and reverse of a graph, one behind the other."""
    target = FuncGraph(f"grad {graph.name}", graph.origin)
    env = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in reverse.graph.parameters}
    douts = [target.add_parameter(d.name, d.abstract) for d in reverse.douts]
    reverse.emit_forward(target, env, None)
    outputs = [o if isinstance(o, ValueNode) else env[o] for o in reverse.graph.outputs]
    filled = reverse.fill(target, env)
    filled.update(zip(reverse.douts, douts))
    target.transforms["reverse"] = len(target.nodes)         # from here on it is the reverse
    back = reverse.back
    back.parameters = list(filled)
    used = inline(target, _without_tape(back), list(filled.values()))
    target.set_outputs(outputs + used, make_tuple)
    return target


def _without_tape(back):
    """The reverse graph's gradients alone: at the top every tape ends where it began."""
    back.set_outputs(back.outputs[1:], make_tuple)
    return back
