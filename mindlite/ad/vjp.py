"""Reverse-mode derivatives of typed graphs.

    f(x, y):  a = tanh(x);  return a * y             grad f(x, y, dout):  a = tanh(x);  out = a * y
                                                                          da = dout * y;  dx = da * (1 - a*a)
                                                                          return out, dx

The forward nodes are copied, the bprop rules run behind them in reverse order: straight-line code becomes
straight-line code. `reverse.py` says how, `control.py` what becomes of branches, loops and recursion.
"""
from __future__ import annotations

from typing import Any

from ..common.dim import Symbol, symbols_of
from ..common.errors import GradientError, ShapeError
from ..mindir.abstract import AbstractTensor, AbstractTuple, symbols_of_abstract
from ..mindir.builder import building, constant
from ..mindir.constraints import collecting
from ..mindir.control import check, make_tuple
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.inline import inline
from ..ops.basic import reshape
from ..ops.scalar import scalar_compare
from .activity import Positions, is_differentiable
from .reverse import Reverse


def vjp_graph(graph: FuncGraph, wrt: Positions, seeds: Any) -> FuncGraph:
    """The graph (*parameters, *cotangents) -> (*outputs, *gradients).

    wrt    : numbers of the parameters that are differentiated; a gradient has its parameter's type, and is zero where
             nothing arrives
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


def _join(graph: FuncGraph, reverse: Any) -> FuncGraph:
    """Forward and reverse of a graph, one behind the other."""
    target = FuncGraph(f"grad {graph.name}", graph.origin)
    env = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in reverse.graph.parameters}
    douts = [target.add_parameter(d.name, _opened(d.abstract, reverse.graph.parameters)) for d in reverse.douts]
    reverse.emit_forward(target, env, None)
    outputs = [o if isinstance(o, ValueNode) else env[o] for o in reverse.graph.outputs]
    filled = reverse.fill(target, env)
    target.transforms["reverse"] = len(target.nodes)         # from here on it is the reverse
    with building(target, reverse.graph.origin, by="grad"), collecting():
        filled.update({d: dout if dout.abstract == d.abstract else _fitted(target, dout, d.abstract.shape)
                       for d, dout in zip(reverse.douts, douts)})
    back = reverse.back
    back.parameters = list(filled)
    used = inline(target, _without_tape(back), list(filled.values()))
    target.set_outputs(outputs + used, make_tuple)
    return target


def _opened(abstract: Any, given: Any) -> AbstractTensor:
    """The type of an incoming cotangent. A size that the function computes, which `given` do not
    have, gets its own symbol: the cotangent exists before it is computed."""
    known = {symbol for node in given for symbol in symbols_of_abstract(node.abstract)}
    return AbstractTensor(abstract.dtype, tuple([size if set(symbols_of(size)) <= known else Symbol(lo=0).dim
                                                 for size in abstract.shape]))


def _fitted(target: FuncGraph, dout: Any, shape: Any) -> Any:
    """A cotangent with the sizes that the function has made: nothing reads it before they are known to be its own."""
    for have, want in zip(dout.abstract.shape, shape):
        if have != want:
            holds = scalar_compare(constant(have), constant(want), op="==")
            target.add(check, holds, abstract=AbstractTuple(()), origin=target.origin, error=_of_another_shape, again=True)
    return reshape(dout, shape=shape)


def _of_another_shape() -> ShapeError:
    return ShapeError("a cotangent has another shape than its result")


def _without_tape(back: FuncGraph) -> FuncGraph:
    """The reverse graph's gradients only: at the top every tape ends where it began."""
    back.set_outputs(back.outputs[1:], make_tuple)
    return back
