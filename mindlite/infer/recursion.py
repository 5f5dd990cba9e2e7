"""Recursion of inference: a function that calls itself under a run-time condition becomes a graph that is called.

The types of its arguments are widened like a loop's; the type of its result is that of the paths that do not recurse,
then of all, until it no longer changes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..common.dim import Symbol, lone_symbol, substitute, symbols_of
from ..common.errors import EndlessRecursionError, Refusal
from ..mindir.abstract import AbstractTensor, symbols_of_abstract
from ..mindir.control import call as call_prim, make_tuple
from ..mindir.graph import AnfNode, CNode, FuncGraph
from ..mindir.primitive import interpreting
from .branches import control_node
from .evaluating import Evaluating
from .kinds import map_parts, skeleton, walk
from .loops import Plan
from .merging import abstract_of, convert, is_data, undefined_value
from .state import NoResultYet, Recursion, barrier
from .region import Region
from .values import Box, Mixed, Unsure, Value
from .widening import CannotLoop, flat_like, widen


class RecursiveCall:
    """A function that becomes a graph of its own: state of its arguments, its graph, its result so
    far (see `called`), and the wider state that a recursive call requires."""

    def __init__(self, state: Plan, region: Region, result: tuple | None, captured: list) -> None:
        self.state, self.region, self.result, self.captured = state, region, result, captured
        self.wider: Any = None


def call_recursive(ev: Evaluating, key: Any, enter: Callable[[Sequence[Value]], Value], values: Sequence[Value]) -> Value:
    """A call that cannot be inlined: to a graph of its own, which may call itself."""
    active = ev.calls.recursive.get(key)
    if active is not None:
        return _call_again(ev, active, values)
    if ev.calls.is_active(key):
        raise Recursion(key)
    state: tuple = tuple(values)
    result: Any = None
    captured: list = []
    widened: set = set()
    own_sizes: set = set()                                   # the Symbols of sizes of results that the arguments' do not tell
    for _ in range(12):
        region = Region(key[0].name, ev.tracer.region)
        plan = Plan(ev, state, {}, widened)
        active = ev.calls.recursive[key] = RecursiveCall(plan, region, result, captured)
        before, store = ev.tracer.enter(region), ev.tracer.store
        ev.tracer.store = dict(store)
        try:
            plan.inside, _ = plan.enter(region)
            for node in captured:
                region.capture(node)
            try:
                with barrier(ev.attempts, "a recursive function"):
                    returned = enter(list(plan.inside))
            except NoResultYet:
                if active.wider is None and len(ev.calls.recursive) > 1:       # it may be another one that has no result
                    raise
                if active.wider is None:
                    raise EndlessRecursionError(f"maximum recursion depth exceeded: every path of {key[0].name} leads to "
                                                f"{key[0].name} again, a loop without end",
                                                location=key[0].origin.location) from None
            if any(v is not store.get(k, v if isinstance(k, Box) else k) for k, v in ev.tracer.store.items()):
                raise Refusal(f"{key[0].name}: a recursive function that changes what stands outside of it cannot be a graph")
            if active.wider is None:
                if any(isinstance(v, (Mixed, Unsure)) for v in walk(returned)):
                    raise Refusal(f"{key[0].name}: the recursion's results are of several types")
                found: list = []
                shape = pattern_of(returned, found)
                flat = [convert(ev, v, abstract_of(v)) for v in found]
                abstracts = [n.abstract for n in flat]
                if result is not None:
                    if skeleton(shape) != skeleton(result[0]):
                        raise Refusal(f"{key[0].name}: the recursion's results have different structures")
                    abstracts = [widen(a, b, own_sizes) for a, b in zip(result[1], abstracts)]
                inputs = [*plan.parameters, *region.captures]
                new = (shape, abstracts, [ev.tracer.may_be(v, inputs) for v in found])
                region.graph.set_outputs([region.capture(convert(ev, n, a)) for n, a in zip(flat, abstracts)],
                                         make_tuple)
        finally:
            ev.tracer.store = store
            ev.tracer.enter(before)
            del ev.calls.recursive[key]
        if active.wider is not None:
            state = active.wider
            continue
        outer = list(region.captures)
        if result is not None and new[1:] == result[1:] and outer == captured:
            inits = [convert(ev, v, p.abstract) for v, p in zip(plan.inits, plan.parameters)]
            operands = [*inits, *outer]
            return called(ev, region.graph, operands, new)
        result, captured = new, outer
    raise Refusal(f"{key[0].name}: the types of the recursion keep changing",
                           location=ev.tracer.origin.location)


def _call_again(ev: Evaluating, active: RecursiveCall, values: Sequence[Value]) -> Value:
    plan = active.state
    try:
        wider, _ = plan.widen(tuple(values), {})
    except CannotLoop as reason:
        raise reason.error from None
    if wider is not None:
        active.wider = wider
    if active.result is None:
        raise NoResultYet()
    if wider is not None:                                    # the graph is written again: any value of this type will do
        return filled(active.result[0], iter([undefined_value(ev, a) for a in active.result[1]]))
    operands = [convert(ev, v, p.abstract) for v, p in zip(flat_like(plan.inside, tuple(values)), plan.parameters, strict=True)]
    operands += [active.region.captures[node] for node in active.captured]
    return called(ev, active.region.graph, operands, active.result)


def called(ev: Evaluating, graph: FuncGraph, operands: list[AnfNode],
           result: tuple[object, list[AbstractTensor], list[list]]) -> CNode:
    """What a call gives. result: (its pattern, the types of its data, which operands each of these may be)"""
    pattern, abstracts, sources = result
    with interpreting(ev.tracer):
        results = control_node(ev, call_prim, operands, given_by(ev, graph, operands, abstracts), graph=graph)
    for node, numbers in zip(results, sources):
        if numbers and isinstance(node.abstract, AbstractTensor):
            ev.tracer.choose(node, [operands[number] for number in numbers])
    return filled(pattern, iter(results))


def given_by(ev: Evaluating, graph: FuncGraph, operands: list[AnfNode], abstracts: list[AbstractTensor]) -> list[AbstractTensor]:
    """The types of a call's results: sizes of the graph's parameters are
    replaced by those of the operands, computed sizes are new."""
    known = {symbol: symbol.dim for p in ev.tracer.root.graph.parameters for symbol in symbols_of_abstract(p.abstract)}
    for parameter, operand in zip(graph.parameters, operands):
        if isinstance(parameter.abstract, AbstractTensor):
            for size, actual in zip(parameter.abstract.shape, ev.tracer.lift(operand).abstract.shape):
                symbol = lone_symbol(size)
                if symbol is not None:
                    known[symbol] = actual

    def size_of(size):
        return substitute(size, known) if symbols_of(size) <= known.keys() else Symbol(lo=0).dim
    return [AbstractTensor(a.dtype, tuple([size_of(size) for size in a.shape])) if isinstance(a, AbstractTensor) else a
            for a in abstracts]


HOLE = object()                                              # in a pattern, for what is data


def pattern_of(value: Value, found: Value) -> Value:
    """The result of a recursion with a HOLE for each number and Tensor, which is added to `found`."""
    if not is_data(value):
        return map_parts(lambda part: pattern_of(part, found), value)
    found.append(value)
    return HOLE


def filled(pattern: Value, results: Iterator[Any]) -> Value:
    """The result with these numbers and Tensors in it. results: an iterator"""
    return next(results) if pattern is HOLE else map_parts(lambda part: filled(part, results), pattern)
