"""Reverse mode through a loop of n iterations that keeps the state of about sqrt(2 n) of them.

    s = while_loop(s, w; c, b)

    (tape, j, s) = while_loop(tape, 0, s, w; c, segment)                   segment j: at most j + 1 iterations
                       tape = push(tape, s);  k, s = while_loop(0, s, w; k <= j and c, (k + 1, b));  tape = push(tape, k)
    (tape, j, ds, dw) = while_loop(tape, j, ds, 0, w; j > 0, behind)
                       tape, k = pop(tape);  tape, s = pop(tape)
                       (tape, k, s) = while_loop(tape, 0, s, w; < k, (▶b, + 1))            the segment again, recorded
                       (tape, k, ds, dw) = while_loop(tape, k, ds, dw, w; > 0, (◀b, - 1))   and backwards

The number of iterations is not known before they have run, so the segments grow: j + 1 iterations for segment j. Behind n
iterations there are m segments with m (m + 1) / 2 >= n, and the last one is as long as there are segments: 2 sqrt(2 n) states
are kept at most, for one more run of the loop (Griewank & Walther 2000 where n is known; Chen et al. 2016: sqrt(n)).
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..mindir.abstract import AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.builder import append, written
from ..mindir.control import tape_pop, tape_push, while_loop
from ..mindir.graph import FuncGraph
from ..mindir.inline import has_effect, inline
from ..ops.basic import scalar_to_tensor

if TYPE_CHECKING:
    from .reverse import Reverse

TAPE, COUNT = AbstractTape(), AbstractTensor(dt.int64, ())


class Segments:
    """What is left in sweep.parts for a loop that is run again, segment by segment. body: the Reverse of its body."""

    def __init__(self, body: Any) -> None:
        self.body = body


def refusal(sweep: Reverse, node: Any, body: Any) -> str | None:
    """Why a loop cannot be run again, None if it can."""
    if has_effect(node):
        return "it has an effect at each iteration"
    if any(isinstance(a.abstract, AbstractTape) for a in node.args):
        return "it is a loop of a derivative, which carries a tape"
    if body.needs_sizes or any(sweep.sizes.renamed(a.abstract) != a.abstract for a in node.args) or any(
            a != p.abstract for a, p in zip(node.abstract.elements, node.attrs["body"].parameters)):
        return "its state has another size at each iteration"
    return None


def _counted(target: FuncGraph, going: Any, count: Any, limit: Any) -> Any:
    """The condition of a segment: `going` (None: always) and count < limit."""
    within = ops.less(count, limit)
    if going is None:
        return within
    if isinstance(going.abstract, AbstractScalar):
        going = scalar_to_tensor(going, dtype=dt.bool_)
    elif going.dtype is not dt.bool_:
        going = ops.not_equal(going, 0)
    return ops.logical_and(going, within)


def forward_segments(node: Any, args: Any, tape: Any) -> Any:
    """(tape, j, s) = while_loop(tape, 0, s, w; c, segment)"""
    test, step = node.attrs["cond"], node.attrs["body"]
    n, (kinds, names) = len(node.args) - node.attrs["invariants"], _signature(step)

    def more(target, count, *rest):
        values, limit = rest[:n] + rest[n + 1:], rest[n]
        return [_counted(target, inline(target, test, values)[0], count, limit)]

    def iteration(target, count, *rest):
        return [ops.add(count, 1), *inline(target, step, rest[:n] + rest[n + 1:])]

    def segment(target, tape, number, *values):
        inner = [COUNT, *kinds[:n], COUNT, *kinds[n:]], ["count", *names[:n], "limit", *names[n:]]
        tape, after = tape_push(tape, *values[:n]), ops.add(number, 1)
        count, *state = append(
            while_loop, np.int64(0), *values[:n], after, *values[n:], invariants=1 + len(kinds) - n,
            cond=written(f"{test.name}/within", inner[1], inner[0], more, by="grad"),
            body=written(step.name, inner[1], inner[0], iteration, by="grad"), abstract=AbstractTuple((COUNT, *kinds[:n])))
        return [tape_push(tape, count), after, *state]

    outer = [TAPE, COUNT, *kinds], ["tape", "segment", *names]
    return append(while_loop, tape, np.int64(0), *args, invariants=node.attrs["invariants"],
                  cond=written(test.name, outer[1], outer[0],
                               lambda target, tape, number, *values: inline(target, test, values), by="grad"),
                  body=written(f"{step.name}/segment", outer[1], outer[0], segment, by="grad"),
                  abstract=AbstractTuple((TAPE, COUNT, *node.abstract.elements)))


def reverse_segments(node: Any, body: Any, loop: Any, count: Any, given: Any) -> Any:
    """The body of the reverse loop over segments: (target, tape, j, *dstate and sums, *w) -> (tape, j - 1, ..).

    loop : (cond, body) of the ordinary reverse loop, whose state is tape, count and `count` cotangents
    given: the numbers of the operands that the ordinary loop reads, its invariants
    """
    step = node.attrs["body"]
    n, (kinds, names) = len(node.args) - node.attrs["invariants"], _signature(step)

    def within(target, tape, done, *rest):
        return [_counted(target, None, done, rest[n])]

    def again(target, tape, done, *rest):
        tape, *state = inline(target, body.forward, [tape, *rest[:n], *rest[n + 1:]])
        return [tape, ops.add(done, 1), *state]

    def behind(target, tape, number, *rest):
        cotangents, fixed = rest[:count], rest[count:]
        tape, iterations = tape_pop(tape, abstracts=(COUNT,))
        tape, *state = tape_pop(tape, abstracts=tuple(kinds[:n]))
        inner = [TAPE, COUNT, *kinds[:n], COUNT, *kinds[n:]], ["tape", "count", *names[:n], "limit", *names[n:]]
        tape, *_ = append(
            while_loop, tape, np.int64(0), *state, iterations, *fixed, invariants=1 + len(fixed),
            cond=written(f"{body.forward.name}/within", inner[1], inner[0], within, by="grad"),
            body=written(body.forward.name, inner[1], inner[0], again, by="grad"),
            abstract=AbstractTuple((TAPE, COUNT, *kinds[:n])))
        made = append(
            while_loop, tape, iterations, *cotangents, *[fixed[i - n] for i in given], invariants=len(given), cond=loop[0],
            body=loop[1], abstract=AbstractTuple((TAPE, COUNT, *[c.abstract for c in cotangents])))
        return [made[0], ops.sub(number, 1), *made[2:]]
    return behind


def _signature(graph: FuncGraph) -> tuple[list, list]:
    return [p.abstract for p in graph.parameters], [p.name for p in graph.parameters]
