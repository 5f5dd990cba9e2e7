"""Whose memory a value may be: what must be known before a Parameter's memory is written over.

    r = cond(p, %w, %t)         ->      r may be the memory of w

A reshape is the memory of its argument, and branches and loops hand pointers through; every other node makes memory of
its own. The analysis is flow-insensitive and may name too many Parameters, never too few (Andersen 1994, on one level).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..mindir.control import call, cond, segment, tape_new, tape_pop, tape_push, tuple_getitem, while_loop
from ..mindir.graph import AnfNode, CNode, FuncGraph, Parameter, ValueNode
from ..ops.basic import barrier, reshape

Parameters = frozenset[Parameter]
Memory = Any                                 # of a node: Parameters, or those of each of its results, a tuple
_OWN: Parameters = frozenset()


def memories(graph: FuncGraph) -> dict[AnfNode, Memory]:
    """{node: frozenset of the parameters of `graph` whose memory it may be}; a tuple of sets for a control node."""
    found: dict[AnfNode, Memory] = {p: frozenset((p,)) for p in graph.parameters}
    for node in graph.nodes:
        found[node] = _memory(node, [_OWN if isinstance(a, ValueNode) else found[a] for a in node.args])
    return found


def _memory(node: CNode, args: list[Memory]) -> Memory:
    if node.fn in (barrier, reshape):
        return args[0]
    if node.fn is tuple_getitem:
        return args[0][node.attrs["index"]] if isinstance(args[0], tuple) else args[0]
    if node.fn is cond:
        sides = [_through(node.attrs[side], args[1:]) for side in ("true", "false")]
        return tuple(a | b for a, b in zip(*sides))
    if node.fn is while_loop:
        return _loop(node, args)
    if node.fn in (call, segment, tape_new, tape_push, tape_pop) or isinstance(node.fn, FuncGraph) \
            or "control" not in node.fn.traits:
        return _OWN
    return frozenset().union(*(part for a in args for part in (a if isinstance(a, tuple) else (a,))))


def _through(graph: FuncGraph, args: Sequence[Parameters]) -> list[Parameters]:
    """The sets of a graph's outputs, its parameters having the sets `args`."""
    inner, outside = memories(graph), dict(zip(graph.parameters, args))
    return [frozenset().union(*(outside[p] for p in inner.get(o, _OWN))) for o in graph.outputs]


def _loop(node: CNode, args: list[Memory]) -> Memory:
    """The state after any number of iterations: what goes in, and what the body hands round, until nothing is added."""
    count = len(args) - node.attrs["invariants"]
    state = list(args[:count])
    while True:
        after = [a | b for a, b in zip(state, _through(node.attrs["body"], state + args[count:]))]
        if after == state:
            return tuple(state)
        state = after
