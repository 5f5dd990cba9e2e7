"""Reverse mode of control flow: what stands in the forward graph, and what in the reverse.

    out = cond(p, x; t, f)           (tape, out) = cond(p, tape, x; ▶t, ▶f)
                                     (tape, dx)  = cond(p, tape, x, dout; ◀t, ◀f)
    s = while_loop(s, w; c, b)       (tape, n, s) = while_loop(tape, 0, s, w; c, (▶b, n + 1))
                                     (tape, n, ds, dw) = while_loop(tape, n, ds, 0, w; n > 0, (◀b, n - 1, dw + ..))
    out = call(x, w; g)              (tape, out) = call(tape, x, w; ▶g)     (tape, dx, dw) = call(tape, w, dout; ◀g)
    out = segment(x; f)              (recording, out) = segment(x; ▶f)      dx = segment(recording, dout; ◀f)

A branch reads its operands where they are, a loop its invariants, and a function that calls itself what it hands on as it is, so
only what is made inside goes onto the tape.
The derivative of a push is a pop from a tape of cotangents and the other way round, so the derivative of a derivative
needs nothing new. A tape is used once, from tape_new to the last pop; that is why a tape that nothing differentiates
any more still has a cotangent, the empty tape: what was popped last is pushed first.

Python code is recorded on the tape of eager mode as it runs; the recording is an object that flows to the pullback.

FORWARD[primitive](node, args, tape, part) -> (*parts, *results), parts as PARTS has them; part: what REVERSE left in
                                             sweep.parts
REVERSE[primitive](sweep, node)                                              adds to the cotangents of node's arguments
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.events import emit as announce
from ..mindir.abstract import AbstractAny, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.builder import append, written
from ..mindir.control import call, cond, custom_vjp, gate, port, segment, tape_new, tape_pop, tape_push, while_loop
from ..mindir.derivative import record_python
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline
from ..ops.logic import flowing
from .activity import holds_python, is_differentiable, is_integer, reached_branches, reached_state
from .gradient_hooks import reverse_gate, reverse_port, unsure
from .reach import (FLAG, FLAGGED, ON_TAPE, UNKNOWN, after_iterations, either, flag_of, flagged, from_tape, is_flag, of_both,
                    on_tape)
from .remat import Segments, forward_segments, refusal, reverse_segments
from .symbols import changing_sizes

if TYPE_CHECKING:
    from .reverse import Reverse

TAPE, COUNT = AbstractTape(), AbstractTensor(dt.int64, ())


def seeds_of(sweep: Reverse, node: Any) -> tuple[list, list, list]:
    """The numbers of the results of `node` that have a cotangent, the cotangents, and whether they arrive."""
    found: dict = {}
    for i in sorted(sweep.active[node]):
        dout, reach = sweep.cotangent(node, i), sweep.reach(node, i)
        if dout is None and node.abstract.elements[i] == TAPE:
            dout, reach = tape_new(), True
        if dout is not None:
            found[i] = dout, reach
    return list(found), [dout for dout, _ in found.values()], [reach for _, reach in found.values()]


# ---------------------------------------------------------------- cond

def forward_cond(node: Any, args: Any, tape: Any, branches: Any) -> Any:
    """(tape, out) = cond(p, tape, x; ▶t, ▶f)"""
    pred, *operands = args
    return append(cond, pred, tape, *operands, true=branches[0].forward, false=branches[1].forward,
                abstract=AbstractTuple((TAPE, *node.abstract.elements)))


def reverse_cond(sweep: Reverse, node: Any) -> None:
    """(tape, dx) = cond(p, tape, x, dout; ◀t, ◀f)"""
    pred, *operands = node.args
    seeds, douts, reaches = seeds_of(sweep, node)
    if not seeds and not holds_python(node):
        return
    wrt = [i for i, x in enumerate(operands) if x in sweep.active]
    wrt = sorted(reached_branches(node, wrt, seeds))
    branches = [sweep.below(node.attrs[side], wrt, seeds, operands, flagged(reaches)) for side in ("true", "false")]
    both = [of_both(*pair) for pair in zip(*[branch.reaches for branch in branches])]
    asked = [k for k, reach in enumerate(both) if reach is FLAGGED]
    for branch in branches:
        branch.close(asked)
    given = sorted({i for branch in branches for i in branch.given()})
    for branch in branches:
        branch.finish_backward(given)
        branch.finish_forward()
    sweep.parts[node] = branches
    values = [sweep.value(operands[i]) for i in given]
    sweep.tape, *made = append(
        cond, sweep.value(pred), sweep.tape_after(node), *values, *douts, *[x for x in reaches if is_flag(x)],
        true=branches[0].backward, false=branches[1].backward,
        abstract=AbstractTuple((TAPE, *[sweep.sizes.renamed(operands[i].abstract) for i in wrt], *[FLAG] * len(asked))))
    for k, flag in zip(asked, made[len(wrt):]):
        both[k] = flag
    for i, gradient, reach in zip(wrt, made, both):
        if reach is not False:
            sweep.add(operands[i], gradient, reach, exact=True)


# ---------------------------------------------------------------- while_loop

def forward_while(node: Any, args: Any, tape: Any, body: Any) -> Any:
    """(tape, n, s) = while_loop(tape, 0, s, w; c, (▶b, n + 1))"""
    if isinstance(body, Segments):
        return forward_segments(node, args, tape)

    def iteration(target, tape, count, *rest):
        after, *state = inline(target, body.forward, [tape, *rest])
        return [after, ops.add(count, 1), *state]

    def test(target, tape, count, *rest):
        return inline(target, node.attrs["cond"], rest)

    kinds = [TAPE, COUNT, *[p.abstract for p in body.forward.parameters[1:]]]
    names = ["tape", "count", *[p.name for p in body.forward.parameters[1:]]]
    return append(while_loop, tape, np.int64(0), *args,
                  cond=written(node.attrs["cond"].name, names, kinds, test, by="grad"),
                body=written(body.forward.name, names, kinds, iteration, by="grad"), invariants=node.attrs["invariants"],
                abstract=AbstractTuple((TAPE, COUNT, *node.abstract.elements)))


def reverse_while(sweep: Reverse, node: Any) -> None:
    """(tape, n, ds, dw) = while_loop(tape, n, ds, 0, w; n > 0, (◀b, n - 1, dw + ..))"""
    n = len(node.args) - node.attrs["invariants"]
    seeds, _, reaches = seeds_of(sweep, node)
    if not seeds and not holds_python(node):
        return
    wrt = [*sorted(sweep.active[node]), *[i for i in range(n, len(node.args)) if node.args[i] in sweep.active]]
    reached = sorted(reached_state(node, wrt, seeds))
    state, invariants = [i for i in reached if i < n], [i for i in reached if i >= n]
    after = dict(zip(seeds, reaches))
    body, reaches = after_iterations([after.get(i, False) for i in state], lambda reaches: sweep.below(
        node.attrs["body"], state + invariants, state, node.args, reaches, changing_sizes(node.attrs["body"])))
    # whether the state's cotangents arrive is carried from iteration to iteration, whether the invariants' ever did is collected
    kept = [k for k, reach in enumerate(reaches) if reach is FLAGGED]
    collected = [k for k in range(len(state), len(reached)) if is_flag(body.reaches[k])]
    body.close(kept + collected)
    carried = len(reached) + len(kept) + len(collected)
    given = [i for i in body.given() if i >= n]
    body.finish_backward(given)
    body.finish_forward()
    sweep.parts[node] = body
    segments = node.attrs.get("remat") == "sqrt"
    if segments:
        why = refusal(sweep, node, body)
        if why is not None:
            announce("remat_refused", of=node.attrs["body"].name, location=node.origin.location,
                     reason=f"a loop keeps the values of every iteration: {why}")
            segments = False

    def iteration(target, tape, count, *rest):
        dstate, sums, rest = rest[:len(state)], rest[len(state):len(reached)], rest[len(reached):]
        flags, ever, values = rest[:len(kept)], rest[len(kept):carried - len(reached)], rest[carried - len(reached):]
        tape, *made = inline(target, body.backward, [tape, *values, *dstate, *flags])
        gradients, reach = made[:len(reached)], made[len(reached):]
        return [tape, ops.sub(count, 1), *gradients[:len(state)],
                *[ops.add(total, part) for total, part in zip(sums, gradients[len(state):])],
                *reach[:len(kept)], *[ops.logical_or(x, y) for x, y in zip(ever, reach[len(kept):])]]

    def test(target, tape, count, *rest):
        return [ops.greater(count, 0)]

    values, dstate = body.backward.parameters[1:1 + len(given)], body.backward.parameters[1 + len(given):][:len(state)]
    flags = [f"reaches{reached[k]}" for k in kept + collected]
    sums = [sweep.sizes.renamed(node.args[i].abstract) for i in invariants]
    kinds = [TAPE, COUNT, *[d.abstract for d in dstate], *sums, *[FLAG] * len(flags), *[v.abstract for v in values]]
    names = ["tape", "count", *[d.name for d in dstate], *[f"sum{i}" for i in invariants], *flags, *[v.name for v in values]]
    results = [sweep.sizes.renamed(node.args[i].abstract) for i in state] + sums + [FLAG] * len(flags)
    more = written(f"{body.backward.name}/more", names, kinds, test, by="grad")
    step = written(body.backward.name, names, kinds, iteration, by="grad")
    if segments:
        sweep.parts[node] = Segments(body)
        behind, count = reverse_segments(node, body, (more, step), carried, given), 2 + carried
        given = list(range(n, len(node.args)))
        kinds = kinds[:count] + [node.args[i].abstract for i in given]
        names = names[:count] + [f"w{i}" for i in given]
        more = written(f"{body.backward.name}/more", names, kinds, test, by="grad")
        step = written(f"{body.backward.name}/segment", names, kinds, behind, by="grad")
    made = append(while_loop, sweep.tape_after(node), sweep.value(node, "count"),
                  *[sweep.cotangent_or_zeros(node, i) for i in state],
                  *[sweep.zeros(node.args[i].abstract) for i in invariants],
                  *[flag_of(after.get(state[k], False)) for k in kept], *[np.bool_(False)] * len(collected),
                  *[sweep.value(node.args[i]) for i in given], invariants=len(given), cond=more, body=step,
                  abstract=AbstractTuple((TAPE, COUNT, *results)))
    sweep.tape = made[0]
    reaches += body.reaches[len(state):]
    for k, flag in zip(kept + collected, made[2 + len(reached):]):
        reaches[k] = flag
    for k, (i, gradient) in enumerate(zip(reached, made[2:])):
        if reaches[k] is True and i >= n:                      # if there was an iteration
            reaches[k] = ops.greater(sweep.value(node, "count"), 0)
        if reaches[k] is not False:
            sweep.add(node.args[i], gradient, reaches[k], exact=True)


# ---------------------------------------------------------------- call

def forward_call(node: Any, args: Any, tape: Any, callee: Any) -> Any:
    """(tape, out) = call(tape, x; ▶g)"""
    return append(call, tape, *args, graph=callee.forward, abstract=AbstractTuple((TAPE, *node.abstract.elements)))


def handed_on(graph: FuncGraph) -> list[int]:
    """The numbers of the parameters of known sizes that a graph gives to itself, in their places, in every call of itself.

    [] where it does not call itself, or other called graphs do
    """
    sources: dict[Any, Any] = dict(zip(graph.parameters, graph.parameters))      # {value: the parameter of `graph` that it is}
    todo, calls = [graph], []
    while todo:
        for node in todo.pop().nodes:
            if node.fn is call and node.attrs["graph"] is graph:
                calls.append(node)
            elif node.fn is call and graph in node.attrs["graph"].reachable():
                return []
            elif node.fn is cond:
                for below in (node.attrs["true"], node.attrs["false"]):
                    sources.update((p, sources[x]) for p, x in zip(below.parameters, node.args[1:]) if x in sources)
                    todo.append(below)
            elif node.fn is while_loop:
                first = len(node.args) - node.attrs["invariants"]
                for below in (node.attrs["cond"], node.attrs["body"]):
                    sources.update((p, sources[x]) for p, x in list(zip(below.parameters, node.args))[first:] if x in sources)
                    todo.append(below)
            elif node.fn is not call and any(isinstance(value, FuncGraph) and graph in value.reachable()
                                             for value in node.attrs.values()):
                return []
    return [i for i, p in enumerate(graph.parameters) if calls and isinstance(p.abstract, AbstractTensor)
            and all(isinstance(size, int) for size in p.abstract.shape)
            and all(sources.get(node.args[i]) is p for node in calls)]


def reverse_call(sweep: Reverse, node: Any) -> None:
    """(tape, dx, dw) = call(tape, w, dout; ◀g)"""
    seeds, douts, reaches = seeds_of(sweep, node)
    if not seeds and not holds_python(node):
        return
    wrt = [i for i, x in enumerate(node.args) if x in sweep.active]
    inside = {n.fn for below in node.attrs["graph"].reachable() for n in below.nodes}
    known = UNKNOWN not in reaches and segment not in inside
    if gate in inside and not known:
        raise unsure(node)
    callee = sweep.called(node.attrs["graph"], wrt, seeds)
    sweep.parts[node] = callee
    sweep.tape, *made = append(
        call, sweep.tape_after(node), *[sweep.value(node.args[i]) for i in callee.handed], *douts,
        *[flag_of(x) for x in reaches], graph=callee.backward,
        abstract=AbstractTuple((TAPE, *[sweep.sizes.renamed(node.args[i].abstract) for i in wrt], *[FLAG] * len(wrt))))
    for i, gradient, reach in zip(wrt, made, made[len(wrt):]):
        sweep.add(node.args[i], gradient, reach if known else UNKNOWN, exact=True)


# ---------------------------------------------------------------- Python code

def forward_segment(node: Any, args: Any, tape: Any, function: Any) -> Any:
    """(recording, out) = segment(x; ▶f)"""
    return append(segment, *args, **{**node.attrs, "function": function,
                                     "abstracts": (AbstractAny(), *node.attrs["abstracts"])},
                  abstract=AbstractTuple((AbstractAny(), *node.abstract.elements)))


def reverse_segment(sweep: Reverse, node: Any) -> None:
    """dx = segment(recording, dout; ◀f), also where nothing has arrived: another may have read what this one kept."""
    seeds, douts, _ = seeds_of(sweep, node)
    wrt = [i for i, x in enumerate(node.args) if x in sweep.active and is_differentiable(x.abstract)
           and not is_integer(x.abstract)]
    abstracts = tuple([sweep.sizes.renamed(node.args[i].abstract) for i in wrt])
    forward, pullback = record_python(node.attrs["function"], wrt, seeds, abstracts, node.attrs["weights"], sweep.calls)
    sweep.parts[node] = forward
    gradients = append(segment, sweep.value(node, "recording"), *douts, function=Pullback(pullback),
                       abstracts=abstracts, reason=f"the gradient of: {node.attrs['reason']}", keeps=True, weights=(),
                       abstract=AbstractTuple(abstracts))
    for i, gradient in zip(wrt, gradients):
        sweep.add(node.args[i], gradient, UNKNOWN)


class Pullback:
    """The derivative of Python code, which reads what that has left."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, recording: Any, *cotangents: Any) -> Any:
        return self.function(recording, *cotangents)


def is_pullback(node: Any) -> bool:
    """True for the derivative of Python code, and for what holds one."""
    graphs = {g for value in node.attrs.values() if isinstance(value, FuncGraph) for g in value.reachable()}
    return any(isinstance(n.attrs.get("function"), Pullback) for n in [node, *[n for g in graphs for n in g.nodes]])


# ---------------------------------------------------------------- gradients written by the user, tapes

def reverse_custom(sweep: Reverse, node: Any) -> None:
    """dx = bprop(x, out, dout); the forward node stays as it is."""
    elements = node.abstract.elements
    seeds, _, reaches = seeds_of(sweep, node)
    if not seeds:
        return
    douts = [sweep.cotangent_or_zeros(node, i) for i in range(len(elements))]
    outs = [sweep.value(node, i) for i in range(len(elements))]
    gradients = inline(sweep.back, node.attrs["bprop"], [*[sweep.value(x) for x in node.args], *outs, *douts], by="grad")
    for x, gradient in zip(node.args, gradients):
        if x in sweep.active:
            sweep.add(x, gradient, either(reaches))


def reverse_push(sweep: Reverse, node: Any) -> None:
    """tape, *dvalues, *booleans = tape_pop(dtape)"""
    tape, *values = node.args
    dtape = sweep.cotangent(node)
    if dtape is None:
        return
    floats = [v for v in values if is_differentiable(v.abstract)]
    below, *made = tape_pop(dtape, abstracts=(*[sweep.sizes.renamed(v.abstract) for v in floats], *[ON_TAPE] * len(floats)))
    sweep.add(tape, below)
    for v, dv, reach in zip(floats, made, from_tape(made[len(floats):])):
        sweep.add(v, dv, reach, exact=True)


def reverse_pop(sweep: Reverse, node: Any) -> None:
    """dtape = tape_push(dtape, *dvalues, *booleans)"""
    _, *values = node.abstract.elements
    floats = [i for i, v in enumerate(values, 1) if is_differentiable(v)]
    below = sweep.cotangent(node, 0)
    sweep.add(node.args[0], tape_push(tape_new() if below is None else below,
                                      *[sweep.cotangent_or_zeros(node, i) for i in floats],
                                      *on_tape([sweep.reach(node, i) for i in floats])))


def reverse_new(sweep: Reverse, node: Any) -> None:
    """A tape begins here, and its tape of cotangents ends."""


def reverse_flowing(sweep: Reverse, node: Any) -> None:
    """dx = flowing(flag, dout): nothing goes on to where nothing arrives"""
    flag, x = node.args
    dout, reach = sweep.cotangent(node), sweep.reach(node)
    if dout is not None:
        flag = sweep.value(flag)
        alike = flag.abstract == FLAG and reach is not UNKNOWN
        if alike:
            reach = flag if reach is True else ops.logical_and(reach, flag)
        sweep.add(x, flowing(flag, dout), reach, exact=True)


FORWARD = {cond: forward_cond, while_loop: forward_while, call: forward_call, segment: forward_segment}
PARTS = {cond: ("tape",), while_loop: ("tape", "count"), call: ("tape",), segment: ("recording",)}
REVERSE = {cond: reverse_cond, while_loop: reverse_while, call: reverse_call, custom_vjp: reverse_custom,
           segment: reverse_segment, flowing: reverse_flowing, gate: reverse_gate, port: reverse_port, tape_new: reverse_new,
           tape_push: reverse_push, tape_pop: reverse_pop}
