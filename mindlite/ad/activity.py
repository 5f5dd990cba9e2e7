"""Which nodes a derivative has to look at: those that depend on the differentiated parameters.

    f(x, i):  a = x * 2;  b = cast(x, int32);  c = b + i        active for a float x: x, a;  for an integer i: i, c

What is made of floats and is an integer (an index, a count) does not depend on them smoothly, so it is not active.
Python code (`segment`) may keep Tensors in lists and objects and read them there later: it is always active, and so is
the control flow around it.

The forward half of activity analysis (Hascoet, Naumann & Pascual 2005, "To be recorded" analysis in reverse-mode AD).
The backward half, what reaches a seed, is left to the sweep itself: a node without a cotangent is passed over.
"""
from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..common.location import Origin
from ..mindir.abstract import Abstract, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.builder import building, constant
from ..mindir.control import (call, cond, custom_vjp, gate, make_tuple, port, segment, tape_pop, tape_push,
                              tuple_getitem, while_loop)
from ..mindir.graph import AnfNode, CNode, FuncGraph
from ..mindir.inline import copy_graph
from ..mindir.primitive import expand_rule

Positions = Collection[int]                    # of the parameters by which a graph is differentiated
CONTROL = {call, cond, custom_vjp, gate, make_tuple, port, segment, tape_pop, tape_push, tuple_getitem, while_loop}


def is_differentiable(abstract: Any) -> bool:
    """True for tensors of numbers, and for tapes, whose derivative is a tape of derivatives."""
    if isinstance(abstract, AbstractTensor):
        return abstract.dtype.is_differentiable
    return isinstance(abstract, AbstractTape)


def active_nodes(graph: FuncGraph, wrt: Positions) -> dict[AnfNode, frozenset[int]]:
    """{node: frozenset of the numbers of its active results} for what depends on the parameters numbered in `wrt`.

    A node with one result has the set {0}; nodes that are not active are not in the dict. A tape is active as a whole:
    what a push leaves on the tape of cotangents a pop takes, so a tape that is active at one node is so from tape_new on.
    """
    forced: set = set()
    while True:
        active = _active_forwards(graph, wrt, forced)
        before, more = len(forced), _tapes_of(active)
        forced |= more
        if len(forced) == before:
            return active


def _active_forwards(graph: FuncGraph, wrt: Positions, forced: Any) -> dict[AnfNode, frozenset[int]]:
    """As `active_nodes` does; the (node, number of the result) in `forced` are active too."""
    active: dict[AnfNode, frozenset[int]] = {
        graph.parameters[i]: _ONE for i in wrt if is_differentiable(graph.parameters[i].abstract)}
    always: dict = {}
    for node, index in forced:
        always[node] = always.get(node, frozenset()) | {index}
    for node in graph.nodes:
        positions, hidden = frozenset(i for i, arg in enumerate(node.args) if arg in active), holds_python(node)
        results = always.get(node, frozenset())
        if positions or hidden:
            results |= active_results(node, positions, active)
        if results or hidden:
            active[node] = results
    return active


def _tapes_of(active: Any) -> set[AnfNode]:
    """The tapes, as (node, number of the result), that nodes with an active tape are given."""
    found: set = set()
    for node, results in active.items():
        if isinstance(node, CNode) and node.fn is not tuple_getitem and any(
                isinstance(element_of(node, i), AbstractTape) for i in results):
            found.update((source, index or 0) for source, index in [result_of(x) for x in node.args]
                         if isinstance(source, CNode) and isinstance(element_of(source, index), AbstractTape))
    return found


def element_of(node: Any, index: Any) -> Abstract:
    """The abstract of a node's result number `index`; of a node with one result for any number."""
    return node.abstract.elements[index] if isinstance(node.abstract, AbstractTuple) else node.abstract


def holds_python(node: Any) -> bool:
    """True for Python code that keeps its operands, and for control flow with such code in it. The gradient
    function of a custom call does not count: it is not recorded, and runs in the reverse pass."""
    if node.fn is segment:
        return node.attrs["keeps"]
    seen, todo = set(), [node]
    while todo:
        inner = todo.pop()
        if inner.fn is segment and inner.attrs["keeps"]:
            return True
        if inner.fn not in (gate, custom_vjp):
            graphs = [value for value in inner.attrs.values() if isinstance(value, FuncGraph) and value not in seen]
            seen.update(graphs)
            todo += [below for graph in graphs for below in graph.nodes]
    return False


def active_outputs(graph: FuncGraph, wrt: Positions) -> frozenset[int]:
    """The numbers of the outputs of `graph` that depend on the parameters numbered in `wrt`."""
    active = active_nodes(graph, wrt)
    return frozenset(i for i, node in enumerate(graph.outputs) if node in active)


def active_results(node: Any, positions: Any, active: Any = None) -> Any:
    """The numbers of the results of `node` that are active when its arguments at `positions` are."""
    prim, attrs = node.fn, node.attrs
    if prim is cond:
        operands = frozenset(i - 1 for i in positions if i > 0)
        return active_outputs(attrs["true"], operands) | active_outputs(attrs["false"], operands)
    if prim is while_loop:
        return active_state(node, positions)
    if prim is tuple_getitem:
        return _ONE if node.attrs["index"] in active[node.args[0]] else frozenset()
    if prim is make_tuple:
        return positions
    if prim is gate and min(positions) >= attrs["count"]:
        return frozenset()                                   # what its hooks read
    if "stop_gradient" in prim.traits:
        return frozenset()
    elements = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else (node.abstract,)
    whole = any(is_integer(node.args[i].abstract) for i in positions)
    return frozenset(i for i, e in enumerate(elements) if is_differentiable(e) and (whole or not is_integer(e)))


def is_integer(abstract: Any) -> bool:
    """True for tensors of integers."""
    return isinstance(abstract, AbstractTensor) and abstract.dtype.kind in "ui"


def is_smooth(abstract: Any) -> bool:
    """True for what has a tangent: tensors of floats or complex numbers, and tapes."""
    return is_differentiable(abstract) and not is_integer(abstract)


def active_state(node: Any, positions: Any) -> Any:
    """The numbers of the state variables of a while_loop that are active at some iteration: a fixpoint over its body."""
    n = len(node.args) - node.attrs["invariants"]
    invariants = frozenset(i for i in positions if i >= n)
    state = frozenset(i for i in positions if i < n)
    while True:
        grown = state | active_outputs(node.attrs["body"], state | invariants)
        if grown == state:
            return state
        state = grown


def reached_parameters(graph: FuncGraph, wrt: Positions, outputs: Any) -> frozenset[int]:
    """Which parameters numbered in `wrt` a cotangent of the outputs numbered in `outputs` can reach."""
    active = active_nodes(graph, wrt)
    wanted: dict = {}

    def want(node):
        source, index = result_of(node)
        wanted.setdefault(source, set()).add(index or 0)

    for i in outputs:
        want(graph.outputs[i])
    for node in reversed(graph.nodes):
        if node in active and (node in wanted or holds_python(node)):
            for arg in _reached_operands(node, wanted.get(node, ()), active):
                want(arg)
    return frozenset(i for i in wrt if graph.parameters[i] in wanted)


def _reached_operands(node: Any, results: Any, active: Any) -> Any:
    """The operands of an active node that a cotangent of its results numbered in `results` can reach."""
    if holds_python(node) or node.fn not in (cond, while_loop):
        return node.args
    first = 1 if node.fn is cond else 0
    wrt = [i for i, arg in enumerate(node.args[first:]) if arg in active]
    seeds = [i for i in active[node] if i in results or isinstance(node.abstract.elements[i], AbstractTape)]
    if node.fn is cond:
        found = reached_branches(node, wrt, seeds)
    else:
        n = len(node.args) - node.attrs["invariants"]
        found = reached_state(node, sorted(active[node].union(i for i in wrt if i >= n)), seeds)
    return [node.args[i + first] for i in found]


def reached_branches(node: Any, wrt: Positions, seeds: Any) -> frozenset[int]:
    """Which operands of a cond, of those numbered in `wrt`, a cotangent of its results in `seeds` can reach."""
    return frozenset().union(*(reached_parameters(node.attrs[side], wrt, seeds) for side in ("true", "false")))


def reached_state(node: Any, wrt: Positions, seeds: Any) -> Any:
    """Which operands of a while_loop, of those numbered in `wrt`, a cotangent of its results in `seeds` can reach."""
    n, reached = len(node.args) - node.attrs["invariants"], frozenset(seeds)
    while True:
        grown = reached | reached_parameters(node.attrs["body"], wrt, [i for i in reached if i < n])
        if grown == reached:
            return reached
        reached = grown


def result_of(node: Any) -> tuple[AnfNode, int | None]:
    """(node, number of the result) behind tuple_getitem and make_tuple; None for a node with one result."""
    while isinstance(node, CNode) and node.fn is tuple_getitem:
        source, index = node.args[0], node.attrs["index"]
        if not (isinstance(source, CNode) and source.fn is make_tuple):
            return source, index
        node = source.args[index]
    return node, None


def expand_composites(graph: FuncGraph, wrt: Positions, rules: Any) -> FuncGraph:
    """`graph` with each active operator that has an expand rule, and is in none of `rules`, written in smaller ones."""
    while True:
        active = active_nodes(graph, wrt)
        wanted = {node for node in graph.nodes if node in active and node.fn not in CONTROL and node.fn in expand_rule
                  and not any(node.fn in table for table in rules)}
        if not wanted:
            return graph
        graph = copy_graph(graph, emit=lambda target, node, args, chosen=wanted:
                           _expand(target, node, args) if node in chosen else None)


def _expand(target: FuncGraph, node: Any, args: Any) -> AnfNode:
    with building(target, Origin(node.origin.location, node, "expand")):
        out = expand_rule[node.fn](*args, **node.attrs)
    if isinstance(node.abstract, AbstractTuple):
        return target.add(make_tuple, *[_lift(x) for x in out], origin=node.origin, abstract=node.abstract)
    return _lift(out)


def _lift(value: Any) -> AnfNode:
    return value if isinstance(value, AnfNode) else constant(value)


_ONE = frozenset({0})
