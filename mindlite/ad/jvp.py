"""Forward-mode derivatives of typed graphs: every node is followed by its tangent.

    f(x):  a = tanh(x);  return a        jvp f(x, dx):  a = tanh(x);  da = dx * (1 - a*a);  return a, da

An operator without a jvp rule is written in smaller ones, or its bprop is transposed: it is linear in the cotangent, so
the vjp of the bprop with respect to the cotangent is the jvp (J. Townsend 2017, "A new trick for calculating Jacobian
vector products"). Control flow carries tangents beside the values; the tangent of a tape is a tape of tangents. Python code
is run with its tangents by eager mode.
"""
from __future__ import annotations

from typing import Any

from ..common.errors import GradientError, InternalError, Refusal
from ..common.location import Origin
from ..mindir.abstract import AbstractAny, AbstractTape, AbstractTuple
from ..mindir.builder import append, building, results_of
from ..mindir.constraints import collecting, sizes_may_be_asked
from ..mindir.control import (call, cond, custom_vjp, gate, make_tuple, policy_of, port, segment, tape_new, tape_pop,
                              tape_push, tuple_getitem, undefined, while_loop)
from ..mindir.derivative import push_through_python
from ..mindir.graph import CNode, FuncGraph, ValueNode
from ..mindir.inline import drop_dead_nodes, inline
from ..mindir.primitive import bprop_rule, jvp_rule
from ..ops.creation import of_type
from .activity import Positions, active_outputs, active_state, expand_composites, holds_python, is_smooth, result_of
from .reach import (FLAG, FLAGGED, ON_TAPE, Part, Reach, UNKNOWN, after_iterations, either, flag_of, flagged, from_tape,
                    is_flag, keeps_zeros, of_both, on_tape)
from .vjp import vjp_graph


def jvp_graph(graph: FuncGraph, wrt: Positions) -> FuncGraph:
    """The graph (*parameters, *tangents) -> (*outputs, *tangents of the outputs).

    wrt    : numbers of the parameters that have a tangent; a tangent has its value's type, zeros where nothing arrives
    raises : GradientError at the user's line, for an operator that has neither a jvp nor a bprop rule
    """
    key = "jvp", tuple(wrt)
    if key not in graph.transforms:
        target = FuncGraph(f"jvp {graph.name}", graph.origin)
        graph.transforms[key] = drop_dead_nodes(
            Forward(graph, tuple(wrt), tuple(range(len(graph.outputs))), {}).write(target).close(), tapes=True)
    return graph.transforms[key]


class Forward:
    """The derivative of `graph`, whose parameters numbered in `wrt` have tangents, for the outputs in `results`.

    reaches: for each of `wrt`, does its tangent reach it (`reach.py`): True, UNKNOWN or FLAGGED, where a boolean comes in,
             behind the tangents. None: all do. Once written the same of each of `results`: True, UNKNOWN, a boolean, or False
    """

    def __init__(self, graph: FuncGraph, wrt: Positions, results: Any, calls: dict, reaches: Any = None) -> None:
        self.graph = expand_composites(graph, wrt, (jvp_rule,))
        self.wrt, self.results, self.calls = wrt, results, calls
        self.reaches = [True] * len(wrt) if reaches is None else reaches
        self.env: dict = {}
        self.tangents: dict = {}

    def write(self, target: FuncGraph) -> Forward:
        """Fill the empty graph `target`, but for its outputs; returns self."""
        self.target = target
        for p in self.graph.parameters:
            self.env[p] = target.add_parameter(p.name, p.abstract, p.origin, p.default)
        wrt = [self.graph.parameters[i] for i in self.wrt]
        made = [target.add_parameter(f"d{p.name}", p.abstract, p.origin) for p in wrt]
        for p, tangent, reach in zip(wrt, made, self.reaches):
            reach = target.add_parameter(f"reaches {p.name}", FLAG, p.origin) if reach is FLAGGED else reach
            if is_smooth(p.abstract):
                self.tangents[p, None] = Part(tangent, reach)
        # What rules require of sizes follows from what the program itself required.
        with building(target, self.graph.origin, by="jvp") as self.builder, collecting():
            for node in self.graph.nodes:
                self.builder.origin = Origin(node.origin.location, node, "jvp")
                self._node(node)
            outputs = [self.graph.outputs[i] for i in self.results]
            self.outputs = [*[self.value(x) for x in self.graph.outputs], *[self.tangent_or_zeros(x) for x in outputs]]
            self.reaches = [isinstance(o.abstract, AbstractTape) or self.reach(o) for o in outputs]
        return self

    def close(self, flagged: Any = ()) -> FuncGraph:
        """The target with its outputs: the graph's, the tangents, and for those numbered in `flagged` whether they arrive."""
        flags = [flag_of(self.reaches[k]) for k in flagged]
        self.target.set_outputs([self.builder.lift(x) for x in self.outputs + flags], make_tuple)
        return self.target

    def value(self, node: Any) -> Any:
        """The node's value in the target."""
        return node if isinstance(node, ValueNode) else self.env[node]

    def part(self, node: Any) -> Part | None:
        """The node's tangent and whether it arrives, None for zero."""
        return self.tangents.get(result_of(node))

    def tangent(self, node: Any) -> Any:
        """The node's tangent, None for zero; exactly zero where data decides that nothing arrives."""
        part = self.part(node)
        if part is None:
            return None
        if not part.exact:
            part = self.tangents[result_of(node)] = Part(part.annulled(), part.reach)
        return part.value

    def reach(self, node: Any) -> Reach:
        """Whether the node's tangent arrives: True, UNKNOWN, a boolean, False."""
        part = self.part(node)
        return False if part is None else part.reach

    def tangent_or_zeros(self, node: Any) -> Any:
        """The node's tangent, zeros where it has none."""
        found = self.tangent(node)
        if found is None and isinstance(node, CNode) and node.fn == undefined:          # its size may be no value either
            return undefined(abstract=node.abstract)
        return of_type(node.abstract) if found is None else found

    def keep(self, node: Any) -> Any:
        """Copy the node as it is."""
        args = [self.value(a) for a in node.args]
        args = [self.target.add(make_tuple, *a, abstract=of.abstract) if isinstance(a, tuple) else a
                for a, of in zip(args, node.args)]
        copy = self.target.add_copy(node, args)
        self.env[node] = results_of(copy) if isinstance(node.abstract, AbstractTuple) else copy
        return self.env[node]

    def set_results(self, node: Any, made: Any, numbers: Any, reaches: Any) -> None:
        """Enter what a control node became: its results, behind them the tangents of those in `numbers`; do they arrive?"""
        count = len(node.abstract.elements)
        self.env[node] = tuple(made[:count])
        for i, tangent, reach in zip(numbers, made[count:], reaches):
            if reach is not False:
                self.tangents[node, i] = Part(tangent, reach)

    def _node(self, node: Any) -> None:
        if node.fn is tuple_getitem:
            self.env[node] = self.value(node.args[0])[node.attrs["index"]]
        elif node.fn is make_tuple:
            self.env[node] = tuple([self.value(x) for x in node.args])
        elif node.fn is tape_new:
            self.keep(node)
            self.tangents[node, None] = Part(tape_new())
        elif "stop_gradient" in node.fn.traits or not holds_python(node) and all(self.part(a) is None for a in node.args):
            self.keep(node)
        elif node.fn in (gate, port):
            raise Refusal("forward mode has no gradients, which a hook of the function wants to see",
                                   location=node.origin.location, hint="take the hook away, or use ms.grad")
        elif node.fn in CONTROL:
            CONTROL[node.fn](self, node)
        else:
            self._operator(node)

    def _operator(self, node: Any) -> None:
        out = self.keep(node)
        several = isinstance(out, tuple)
        elements = node.abstract.elements if several else (node.abstract,)
        if not any(is_smooth(x) for x in elements):
            return
        primals, parts = [self.value(a) for a in node.args], [self.part(a) for a in node.args]
        reach = either([part.reach for part in parts if part is not None])
        tangents = [part and (part.value if part.reach is reach else self.tangent(a)) for part, a in zip(parts, node.args)]
        exact = all(part is None or part.exact or part.reach is not reach for part in parts)
        start = len(self.target.nodes)
        if node.fn in jvp_rule:
            with sizes_may_be_asked(node):
                made = jvp_rule[node.fn](primals, tangents, out, **node.attrs)
            made = made if several or made is None else (made,)
        elif node.fn in bprop_rule:
            made = transposed(self, _bprop_as_graph(node), primals, tangents, out if several else (out,))
        else:
            raise GradientError(f"{node.fn.name} has no derivative", location=node.origin.location)
        for i, (element, tangent) in enumerate(zip(elements, made or ())):
            if tangent is None or not is_smooth(element):
                continue
            tangent = self.builder.lift(tangent)
            if tangent.dtype is not element.dtype or tangent.ndim != element.ndim:
                raise InternalError(f"the jvp rule of {node.fn.name} gives {tangent.abstract} for {element}",
                                    location=node.origin.location)
            whole = reach is True or exact and keeps_zeros(tangent, tangents, self.target.nodes[start:])
            self.tangents[node, i if several else None] = Part(tangent, reach, whole)


def _bprop_as_graph(node: Any) -> FuncGraph:
    """The graph (*args, *outs, *douts) -> gradients of one node, zeros where the rule gives none."""
    several = isinstance(node.abstract, AbstractTuple)
    elements = node.abstract.elements if several else (node.abstract,)
    graph = FuncGraph(f"bprop {node.fn.name}", node.origin)
    args = [graph.add_parameter(f"x{i}", a.abstract) for i, a in enumerate(node.args)]
    outs = [graph.add_parameter(f"out{i}", e) for i, e in enumerate(elements)]
    douts = [graph.add_parameter(f"d{i}", e) for i, e in enumerate(elements)]
    with building(graph, node.origin, by="jvp") as builder, sizes_may_be_asked(node):
        found = bprop_rule[node.fn](*args, out=tuple(outs) if several else outs[0],
                                    dout=tuple(douts) if several else douts[0], **node.attrs)
        found = found if isinstance(found, (tuple, list)) else (found,)
        found = [of_type(a.abstract) if g is None else g for g, a in zip(found, args)]
        graph.set_outputs([builder.lift(g) for g in found], make_tuple)
    return graph


def transposed(forward: Forward, bprop: Any, primals: Any, tangents: Any, outs: Any) -> tuple:
    """The tangents of the outputs, from `bprop`: a graph (*primals, *outs, *douts) -> gradients, linear in douts."""
    first = len(primals) + len(outs)
    numbers = [i for i, out in enumerate(outs) if is_smooth(out.abstract)]
    given = [i for i, t in enumerate(tangents) if t is not None]
    linear = vjp_graph(bprop, [first + i for i in numbers], given)
    zeros = [forward.builder.lift(of_type(out.abstract)) for out in outs]
    made = inline(forward.target, linear, [*primals, *outs, *zeros, *[tangents[i] for i in given]])
    found = dict(zip(numbers, made[len(bprop.outputs):]))
    return tuple(found.get(i) for i in range(len(outs)))


# ---------------------------------------------------------------- control flow

def _tapes(elements: Any) -> set[int]:
    return {i for i, e in enumerate(elements) if isinstance(e, AbstractTape)}


def _cond(forward: Forward, node: Any) -> None:
    """(out, dout) = cond(p, x, dx; jvp t, jvp f)"""
    pred, *operands = node.args
    elements = node.abstract.elements
    wrt = tuple(i for i, x in enumerate(operands) if forward.part(x) is not None)
    reaches = [forward.reach(operands[i]) for i in wrt]
    sides = [node.attrs["true"], node.attrs["false"]]
    results = tuple(sorted(_tapes(elements).union(*(active_outputs(side, wrt) for side in sides))))
    true, false = [Forward(side, wrt, results, forward.calls, flagged(reaches)).write(FuncGraph(f"jvp {side.name}", side.origin))
                   for side in sides]
    both = [of_both(x, y) for x, y in zip(true.reaches, false.reaches)]
    asked = [k for k, reach in enumerate(both) if reach is FLAGGED]
    made = append(cond, forward.value(pred), *[forward.value(x) for x in operands], *[forward.tangent(operands[i]) for i in wrt],
                  *[x for x in reaches if is_flag(x)], true=true.close(asked), false=false.close(asked),
                  abstract=AbstractTuple(elements + tuple(elements[i] for i in results) + (FLAG,) * len(asked)))
    for k, flag in zip(asked, made[len(elements) + len(results):]):
        both[k] = flag
    forward.set_results(node, made, results, both)


def _while(forward: Forward, node: Any) -> None:
    """(s, ds) = while_loop(s, ds, w, dw; c, jvp b)"""
    n, elements = len(node.args) - node.attrs["invariants"], node.abstract.elements
    positions = frozenset(i for i, x in enumerate(node.args) if forward.part(x) is not None)
    state = tuple(sorted(active_state(node, positions) | _tapes(elements)))
    invariants = tuple(sorted(i for i in positions if i >= n))
    test, body = node.attrs["cond"], node.attrs["body"]
    before = [isinstance(elements[i], AbstractTape) or forward.reach(node.args[i]) for i in state]
    fixed = [forward.reach(node.args[i]) for i in invariants]
    derived, reaches = after_iterations(before, lambda reaches: Forward(
        body, state + invariants, state, forward.calls, reaches + flagged(fixed)).write(
            FuncGraph(f"jvp {body.name}", body.origin)))
    kept, fixed = [k for k, reach in enumerate(reaches) if reach is FLAGGED], [x for x in fixed if is_flag(x)]
    step = derived.close(kept)
    kinds, names = [p.abstract for p in body.parameters], [p.name for p in body.parameters]

    def graph(name, run):
        target = FuncGraph(name, body.origin)

        def add(numbers, prefix="", kind=None):
            return [target.add_parameter(prefix + names[i], kind or kinds[i]) for i in numbers]
        s, ds, flags = add(range(n)), add(state, "d"), add([state[k] for k in kept], "reaches ", FLAG)
        w, dw, more = add(range(n, len(kinds))), add(invariants, "d"), add([0] * len(fixed), "reaches from ", FLAG)
        target.set_outputs(run(target, [*s, *w], [*ds, *dw, *flags, *more]), make_tuple)
        return target
    made = append(while_loop, *[forward.value(x) for x in node.args[:n]],
                  *[forward.tangent_or_zeros(node.args[i]) for i in state], *[flag_of(before[k]) for k in kept],
                  *[forward.value(x) for x in node.args[n:]], *[forward.tangent(node.args[i]) for i in invariants], *fixed,
                  cond=graph(test.name, lambda target, values, _: inline(target, test, values)),
                  body=graph(step.name, lambda target, values, tangents: inline(target, step, values + tangents)),
                  invariants=len(node.args) - n + len(invariants) + len(fixed), **policy_of(node),
                  abstract=AbstractTuple(elements + tuple(elements[i] for i in state) + (FLAG,) * len(kept)))
    for k, flag in zip(kept, made[len(elements) + len(state):]):
        reaches[k] = flag
    forward.set_results(node, made, state, reaches)


def _call(forward: Forward, node: Any) -> None:
    """(out, dout) = call(x, dx; jvp g)"""
    graph, elements = node.attrs["graph"], node.abstract.elements
    wrt = tuple(i for i, x in enumerate(node.args) if forward.part(x) is not None)
    reaches = [forward.reach(node.args[i]) for i in wrt]
    results = tuple(i for i, e in enumerate(elements) if is_smooth(e))
    if (graph, wrt) not in forward.calls:
        target = forward.calls[graph, wrt] = FuncGraph(f"jvp {graph.name}", graph.origin)
        Forward(graph, wrt, results, forward.calls, [FLAGGED] * len(wrt)).write(target).close(range(len(results)))
    made = append(call, *[forward.value(x) for x in node.args], *[forward.tangent(node.args[i]) for i in wrt],
                  *[flag_of(x) for x in reaches], graph=forward.calls[graph, wrt],
                  abstract=AbstractTuple(elements + tuple(elements[i] for i in results) + (FLAG,) * len(results)))
    known = UNKNOWN not in reaches and not any(n.fn is segment for below in graph.reachable() for n in below.nodes)
    forward.set_results(node, made, results, made[len(elements) + len(results):] if known else [UNKNOWN] * len(results))


def _segment(forward: Forward, node: Any) -> None:
    """(recording, out, dout) = segment(dx, x; jvp f), also where x has no tangent: it may read what another has kept."""
    if not node.attrs["keeps"]:
        forward.keep(node)
        return
    elements = node.abstract.elements
    wrt = [i for i, x in enumerate(node.args) if forward.part(x) is not None]
    results = [i for i, e in enumerate(elements) if is_smooth(e)]
    function = push_through_python(node.attrs["function"], wrt, results, node.attrs["weights"], forward.calls)
    abstracts = (AbstractAny(), *elements, *[elements[i] for i in results])
    made = append(segment, *[forward.tangent(node.args[i]) for i in wrt], *[forward.value(x) for x in node.args],
                  **{**node.attrs, "function": function, "abstracts": abstracts}, abstract=AbstractTuple(abstracts))
    forward.set_results(node, made[1:], results, [UNKNOWN] * len(results))


def _custom(forward: Forward, node: Any) -> None:
    """The user's bprop, transposed."""
    outs, reach = forward.keep(node), either([forward.reach(a) for a in node.args if forward.part(a) is not None])
    tangents = transposed(forward, node.attrs["bprop"], [forward.value(a) for a in node.args],
                          [forward.tangent(a) for a in node.args], outs)
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            forward.tangents[node, i] = Part(tangent, reach, exact=False)


def _push(forward: Forward, node: Any) -> None:
    """dtape = tape_push(dtape, *dvalues, *booleans)"""
    tape, *values = node.args
    floats = [v for v in values if is_smooth(v.abstract)]
    forward.keep(node)
    forward.tangents[node, None] = Part(tape_push(
        forward.tangent(tape), *[forward.tangent_or_zeros(x) for x in floats], *on_tape([forward.reach(x) for x in floats])))


def _pop(forward: Forward, node: Any) -> None:
    """dtape, *dvalues, *booleans = tape_pop(dtape)"""
    forward.keep(node)
    _, *numbers = [i for i, e in enumerate(node.abstract.elements) if is_smooth(e)]
    below, *made = tape_pop(forward.tangent(node.args[0]), abstracts=(
        *[node.abstract.elements[i] for i in numbers], *[ON_TAPE] * len(numbers)))
    forward.tangents[node, 0] = Part(below)
    for i, tangent, reach in zip(numbers, made, from_tape(made[len(numbers):])):
        forward.tangents[node, i] = Part(tangent, reach)


CONTROL = {cond: _cond, while_loop: _while, call: _call, custom_vjp: _custom, segment: _segment, tape_push: _push, tape_pop: _pop}
