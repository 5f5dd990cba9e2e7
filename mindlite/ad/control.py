"""Reverse mode of control flow: what stands in the forward graph, and what in the reverse.

    out = cond(p, x; t, f)           (tape, out) = cond(p, tape, x; ▶t, ▶f)
                                     (tape, dx)  = cond(p, tape, x, dout; ◀t, ◀f)
    s = while_loop(s, w; c, b)       (tape, n, s) = while_loop(tape, 0, s, w; c, (▶b, n + 1))
                                     (tape, n, ds, dw) = while_loop(tape, n, ds, 0, w; n > 0, (◀b, n - 1, dw + ..))
    out = call(x; g)                 (tape, out) = call(tape, x; ▶g)        (tape, dx) = call(tape, dout; ◀g)
    out = segment(x; f)              (recording, out) = segment(x; ▶f)      dx = segment(recording, dout; ◀f)

A branch reads its operands where they are, and a loop its invariants, so only what is made inside goes onto the tape.
The derivative of a push is a pop from a tape of cotangents and the other way round, so the derivative of a derivative
needs nothing new. A tape is used once, from tape_new to the last pop; that is why a tape that nothing differentiates
any more still has a cotangent, the empty tape: what was popped last is pushed first.

Python code is recorded on the tape of eager mode as it runs; the recording is an object that flows to the pullback.

FORWARD[primitive](node, args, tape, part) -> (*parts, *results), parts as PARTS has them; part: what REVERSE left in
                                             sweep.parts
REVERSE[primitive](sweep, node)                                              adds to the cotangents of node's arguments
"""
import numpy as np

from ..common import dtype as dt
from ..common.events import emit as announce
from ..mindir.abstract import AbstractAny, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.builder import append, written
from ..mindir.control import call, cond, custom_vjp, gate, port, segment, tape_new, tape_pop, tape_push, while_loop
from ..mindir.derivative import record_python
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline
from .. import ops
from .activity import holds_python, is_differentiable, is_integer, reached_parameters, reached_state
from .gates import reverse_gate, reverse_port, unsure
from .remat import Segments, forward_segments, refusal, reverse_segments

TAPE, COUNT = AbstractTape(), AbstractTensor(dt.int64, ())


def seeds_of(sweep, node):
    """The numbers of the results of `node` that have a cotangent, and the cotangents."""
    found = {}
    for i in sorted(sweep.active[node]):
        dout = sweep.cotangent(node, i)
        if dout is None and node.abstract.elements[i] == TAPE:
            dout = tape_new()
        if dout is not None:
            found[i] = dout
    return list(found), list(found.values())


# ---------------------------------------------------------------- cond

def forward_cond(node, args, tape, branches):
    """(tape, out) = cond(p, tape, x; ▶t, ▶f)"""
    pred, *operands = args
    return append(cond, pred, tape, *operands, true=branches[0].forward, false=branches[1].forward,
                abstract=AbstractTuple((TAPE, *node.abstract.elements)))


def reverse_cond(sweep, node):
    """(tape, dx) = cond(p, tape, x, dout; ◀t, ◀f)"""
    pred, *operands = node.args
    seeds, douts = seeds_of(sweep, node)
    if not seeds and not holds_python(node):
        return
    wrt = [i for i, x in enumerate(operands) if x in sweep.active]
    wrt = sorted(frozenset().union(*(reached_parameters(node.attrs[side], wrt, seeds) for side in ("true", "false"))))
    sure = [sweep.flows(node, i) for i in seeds]
    branches = [sweep.below(node.attrs[side], wrt, seeds, operands, sure) for side in ("true", "false")]
    given = sorted({i for branch in branches for i in branch.given()})
    for branch in branches:
        branch.finish_backward(given)
        branch.finish_forward()
    sweep.parts[node] = branches
    sweep.tape, *gradients = append(
        cond, sweep.value(pred), sweep.tape_after(node), *[sweep.value(operands[i]) for i in given], *douts,
        true=branches[0].backward, false=branches[1].backward,
        abstract=AbstractTuple((TAPE, *[sweep.sizes.abstract(operands[i].abstract) for i in wrt])))
    for i, gradient in zip(wrt, gradients):
        sweep.add(operands[i], gradient, all(branch.flows(branch.graph.parameters[i]) for branch in branches))


# ---------------------------------------------------------------- while_loop

def forward_while(node, args, tape, body):
    """(tape, n, s) = while_loop(tape, 0, s, w; c, (▶b, n + 1))"""
    if isinstance(body, Segments):
        return forward_segments(node, args, tape)

    def turn(target, tape, count, *rest):
        after, *state = inline(target, body.forward, [tape, *rest])
        return [after, ops.add(count, 1), *state]

    def test(target, tape, count, *rest):
        return inline(target, node.attrs["cond"], rest)

    kinds = [TAPE, COUNT, *[p.abstract for p in body.forward.parameters[1:]]]
    names = ["tape", "count", *[p.name for p in body.forward.parameters[1:]]]
    return append(while_loop, tape, np.int64(0), *args,
                  cond=written(node.attrs["cond"].name, names, kinds, test, by="grad"),
                body=written(body.forward.name, names, kinds, turn, by="grad"), invariants=node.attrs["invariants"],
                abstract=AbstractTuple((TAPE, COUNT, *node.abstract.elements)))


def reverse_while(sweep, node):
    """(tape, n, ds, dw) = while_loop(tape, n, ds, 0, w; n > 0, (◀b, n - 1, dw + ..))"""
    n = len(node.args) - node.attrs["invariants"]
    seeds, _ = seeds_of(sweep, node)
    if not seeds and not holds_python(node):
        return
    wrt = [*sorted(sweep.active[node]), *[i for i in range(n, len(node.args)) if node.args[i] in sweep.active]]
    reached = sorted(reached_state(node, wrt, seeds))
    state, invariants = [i for i in reached if i < n], [i for i in reached if i >= n]
    body = sweep.below(node.attrs["body"], state + invariants, state, node.args, None)
    # each turn hands on what flows to the state, so if all of it does at the end, and at one turn, it does at all
    certain = all(sweep.flows(node, i) and body.flows(body.graph.parameters[i]) for i in state)
    if not certain and any(n.fn is gate for below in body.graph.reachable() for n in below.nodes):
        raise unsure(node)
    given = [i for i in body.given() if i >= n]
    body.finish_backward(given)
    body.finish_forward()
    sweep.parts[node] = body
    segments = node.attrs.get("remat") == "sqrt"
    if segments:
        why = refusal(sweep, node, body)
        if why is not None:
            announce("remat_refused", of=node.attrs["body"].name, location=node.origin.location,
                     reason=f"a loop keeps the values of every turn: {why}")
            segments = False

    def turn(target, tape, count, *rest):
        dstate, sums, values = rest[:len(state)], rest[len(state):len(reached)], rest[len(reached):]
        tape, *gradients = inline(target, body.backward, [tape, *values, *dstate])
        return [tape, ops.sub(count, 1), *gradients[:len(state)],
                *[ops.add(total, part) for total, part in zip(sums, gradients[len(state):])]]

    def test(target, tape, count, *rest):
        return [ops.greater(count, 0)]

    values, dstate = body.backward.parameters[1:1 + len(given)], body.backward.parameters[1 + len(given):]
    sums = [sweep.sizes.abstract(node.args[i].abstract) for i in invariants]
    kinds = [TAPE, COUNT, *[d.abstract for d in dstate], *sums, *[v.abstract for v in values]]
    names = ["tape", "count", *[d.name for d in dstate], *[f"sum{i}" for i in invariants], *[v.name for v in values]]
    results = [sweep.sizes.abstract(node.args[i].abstract) for i in state] + sums
    more = written(f"{body.backward.name}/more", names, kinds, test, by="grad")
    step = written(body.backward.name, names, kinds, turn, by="grad")
    if segments:
        sweep.parts[node] = Segments(body)
        behind, count = reverse_segments(node, body, (more, step), len(reached), given), 2 + len(reached)
        given = range(n, len(node.args))
        kinds = kinds[:count] + [node.args[i].abstract for i in given]
        names = names[:count] + [f"w{i}" for i in given]
        more = written(f"{body.backward.name}/more", names, kinds, test, by="grad")
        step = written(f"{body.backward.name}/segment", names, kinds, behind, by="grad")
    made = append(while_loop, sweep.tape_after(node), sweep.value(node, "count"),
                  *[sweep.cotangent_or_zeros(node, i) for i in state],
                  *[sweep.zeros(node.args[i].abstract) for i in invariants],
                  *[sweep.value(node.args[i]) for i in given], invariants=len(given), cond=more, body=step,
                  abstract=AbstractTuple((TAPE, COUNT, *results)))
    sweep.tape = made[0]
    for i, gradient in zip(state + invariants, made[2:]):
        sweep.add(node.args[i], gradient, certain and i < n)


# ---------------------------------------------------------------- call

def forward_call(node, args, tape, callee):
    """(tape, out) = call(tape, x; ▶g)"""
    return append(call, tape, *args, graph=callee.forward, abstract=AbstractTuple((TAPE, *node.abstract.elements)))


def reverse_call(sweep, node):
    """(tape, dx) = call(tape, dout; ◀g)"""
    seeds, douts = seeds_of(sweep, node)
    if not seeds and not holds_python(node):
        return
    wrt = [i for i, x in enumerate(node.args) if x in sweep.active]
    if any(n.fn is gate for below in node.attrs["graph"].reachable() for n in below.nodes):
        raise unsure(node)
    callee = sweep.called(node.attrs["graph"], wrt, seeds)
    sweep.parts[node] = callee
    sweep.tape, *gradients = append(
        call, sweep.tape_after(node), *douts, graph=callee.backward,
        abstract=AbstractTuple((TAPE, *[sweep.sizes.abstract(node.args[i].abstract) for i in wrt])))
    for i, gradient in zip(wrt, gradients):
        sweep.add(node.args[i], gradient, False)


# ---------------------------------------------------------------- Python code

def forward_segment(node, args, tape, function):
    """(recording, out) = segment(x; ▶f)"""
    return append(segment, *args, **{**node.attrs, "function": function,
                                     "abstracts": (AbstractAny(), *node.attrs["abstracts"])},
                  abstract=AbstractTuple((AbstractAny(), *node.abstract.elements)))


def reverse_segment(sweep, node):
    """dx = segment(recording, dout; ◀f), also where nothing has flowed: another may have read what this one kept."""
    seeds, douts = seeds_of(sweep, node)
    wrt = [i for i, x in enumerate(node.args) if x in sweep.active and is_differentiable(x.abstract)
           and not is_integer(x.abstract)]
    abstracts = tuple([sweep.sizes.abstract(node.args[i].abstract) for i in wrt])
    forward, pullback = record_python(node.attrs["function"], wrt, seeds, abstracts, node.attrs["weights"], sweep.calls)
    sweep.parts[node] = forward
    gradients = append(segment, sweep.value(node, "recording"), *douts, function=Pullback(pullback),
                       abstracts=abstracts, reason=f"the gradient of: {node.attrs['reason']}", keeps=True, weights=(),
                       abstract=AbstractTuple(abstracts))
    for i, gradient in zip(wrt, gradients):
        sweep.add(node.args[i], gradient, False)


class Pullback:
    """The derivative of Python code, which reads what that has left."""

    def __init__(self, function):
        self.function = function

    def __call__(self, recording, *cotangents):
        return self.function(recording, *cotangents)


def is_pullback(node):
    """True for the derivative of Python code, and for what holds one."""
    graphs = {g for value in node.attrs.values() if isinstance(value, FuncGraph) for g in value.reachable()}
    return any(isinstance(n.attrs.get("function"), Pullback) for n in [node, *[n for g in graphs for n in g.nodes]])


# ---------------------------------------------------------------- gradients written by the user, tapes

def reverse_custom(sweep, node):
    """dx = bprop(x, out, dout); the forward node stays as it is."""
    elements = node.abstract.elements
    if not seeds_of(sweep, node)[0]:
        return
    douts = [sweep.cotangent_or_zeros(node, i) for i in range(len(elements))]
    outs = [sweep.value(node, i) for i in range(len(elements))]
    gradients = inline(sweep.back, node.attrs["bprop"], [*map(sweep.value, node.args), *outs, *douts], by="grad")
    for x, gradient in zip(node.args, gradients):
        if x in sweep.active:
            sweep.add(x, gradient)


def reverse_push(sweep, node):
    """tape, *dvalues = tape_pop(dtape)"""
    tape, *values = node.args
    dtape = sweep.cotangent(node)
    if dtape is None:
        return
    floats = [v for v in values if is_differentiable(v.abstract)]
    below, *dvalues = tape_pop(dtape, abstracts=tuple(sweep.sizes.abstract(v.abstract) for v in floats))
    sweep.add(tape, below)
    for v, dv in zip(floats, dvalues):
        sweep.add(v, dv, False)


def reverse_pop(sweep, node):
    """dtape = tape_push(dtape, *dvalues)"""
    tape, *values = node.abstract.elements
    dvalues = [sweep.cotangent_or_zeros(node, i) for i, v in enumerate(values, 1) if is_differentiable(v)]
    below = sweep.cotangent(node, 0)
    sweep.add(node.args[0], tape_push(tape_new() if below is None else below, *dvalues))


FORWARD = {cond: forward_cond, while_loop: forward_while, call: forward_call, segment: forward_segment}
PARTS = {cond: ("tape",), while_loop: ("tape", "count"), call: ("tape",), segment: ("recording",)}
REVERSE = {cond: reverse_cond, while_loop: reverse_while, call: reverse_call, custom_vjp: reverse_custom,
           segment: reverse_segment, gate: reverse_gate, port: reverse_port, tape_push: reverse_push,
           tape_pop: reverse_pop}
