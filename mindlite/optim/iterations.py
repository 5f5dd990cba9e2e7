"""The way back through a loop of a known number of iterations counts in a Python number, and no tape has to say which one it is.

    while %count > 0: _, t, x = tape_pop(%tape); .. %count - 1
        ->   while n > 0: _, _, x = tape_pop(%tape); t = n - 1; .. n - 1

`%count` is a Tensor, which each iteration compares and counts down by kernels. `t` is what the way forward has pushed of its own
counter; as a function of `n` it shows that each iteration has another one (`loops.iteration_of`, `sums`).
"""
from typing import Any

import numpy as np

from ..mindir.abstract import AbstractScalar, AbstractTuple
from ..mindir.builder import append, constant
from ..mindir.control import policy_of, tape_new, tape_pop, tape_push, tuple_getitem, while_loop
from ..mindir.graph import ValueNode
from ..ops.scalar import scalar_binary, scalar_compare
from .loops import ahead_of, counter_of, counts_down, widened
from .rewrite import rebuild


def count_iterations(graph):
    """Leaves no loop that counts a Tensor of known value down to 0."""
    return rebuild(graph, _counted, {while_loop})


def _counted(loop):
    number, iterations = counts_down(loop)
    if number is None or iterations < 0:
        return None
    body, test, n = loop.attrs["body"], loop.attrs["cond"], len(loop.args) - loop.attrs["invariants"]
    counter, after = body.parameters[number], body.outputs[number]
    read = [a for node in [*body.nodes, body.output] for a in node.args]
    asked = [a for node in test.nodes for a in node.args]
    if read.count(counter) != 1 or read.count(after) != 1 or asked.count(test.parameters[number]) != 1:
        return None
    kind = AbstractScalar(int)
    replaced = {after: None, **{node: _popped(more) for node, more in _from_tapes(loop, iterations).items()}}
    elements = [e for i, e in enumerate(loop.abstract.elements) if i != number]
    made = append(while_loop, *[a for i, a in enumerate(loop.args[:n]) if i != number], ValueNode(iterations, kind),
                  *loop.args[n:],
                  cond=widened(test, (), {test.outputs[0]: lambda env, more: scalar_compare(more[0], 0, op=">")}, before=n,
                               states=[kind], without=[number]),
                  body=widened(body, (), replaced, before=n, states=[kind], without=[number],
                               after=lambda env, more: [scalar_binary(more[0], 1, op="-")]),
                  invariants=loop.attrs["invariants"], abstract=AbstractTuple((*elements, kind)), **policy_of(loop))
    end = constant(np.zeros((), counter.abstract.dtype.numpy))
    return (*made[:number], end, *made[number:-1])


def _popped(more):
    """What stands for a number from the tape that is by so much more than the loop's own."""
    return lambda env, states: scalar_binary(states[0], more, op="+") if more else states[0]


def _from_tapes(loop, iterations):
    """{node of the body: by how much it is more than the iterations that are left}, for what it pops of a counter."""
    body, found = loop.attrs["body"], {}
    for pop in (node for node in body.nodes if node.fn is tape_pop and node.args[0] in body.parameters[:len(body.outputs)]):
        index, parts = body.parameters.index(pop.args[0]), [node for node in body.nodes if pop in node.args]
        below = body.outputs[index]
        if below in parts and below.fn is tuple_getitem and below.attrs["index"] == 0:
            pushed = _pushed(loop.args[index], iterations)
            found.update({part: pushed[part.attrs["index"]] - 1 for part in parts
                          if part.fn is tuple_getitem and part.attrs["index"] in pushed})
    return found


def _pushed(tape, iterations):
    """{number of a pushed value, from 1 on: its value in the first iteration}, for
    counters that a loop of this many iterations pushes."""
    loop: Any = tape.args[0] if getattr(tape, "fn", None) is tuple_getitem else None
    if getattr(loop, "fn", None) is not while_loop:
        return {}
    number, (counter, first, count) = tape.attrs["index"], counter_of(loop)
    push = loop.attrs["body"].outputs[number]
    if counter is None or count != iterations or getattr(loop.args[number], "fn", None) is not tape_new \
            or getattr(push, "fn", None) is not tape_push or push.args[0] is not loop.attrs["body"].parameters[number]:
        return {}
    steps = {i: ahead_of(value, counter) for i, value in enumerate(push.args[1:], 1)}
    return {i: first + step for i, step in steps.items() if step is not None}
