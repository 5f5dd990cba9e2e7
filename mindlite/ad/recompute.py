"""Gradients of a graph of which nothing was kept: it is run again, when its cotangents are there (Chen et al. 2016).

    f(x):  a = tanh(x); return a * a          recompute f(x, dout):  x = barrier(x, dout);  a = tanh(x)
                                                                     da = dout * (a + a);  return da * (1 - a * a)

A barrier is its first operand, which no pass sees through: without it, equal nodes would be merged, and what was to be
computed again would be kept.
"""
from ..mindir.abstract import AbstractTensor
from ..mindir.builder import building
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline
from ..ops.basic import barrier
from ..ops.state import stop_gradient
from .derivatives_only import gradients_only


def recompute_graph(graph, wrt, seeds):
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
