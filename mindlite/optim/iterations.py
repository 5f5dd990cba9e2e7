"""The way back through a loop of a known number of iterations counts in a Python number.

    while %count > 0: .. %count - 1      ->      while n > 0: .. n - 1

`%count` is a Tensor, which each iteration compares and counts down by kernels.
"""
import numpy as np

from ..mindir.abstract import AbstractScalar, AbstractTuple
from ..mindir.builder import append, constant
from ..mindir.control import policy_of, while_loop
from ..mindir.graph import ValueNode
from ..ops.scalar import scalar_binary, scalar_compare
from .loops import counts_down, widened
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
    elements = [e for i, e in enumerate(loop.abstract.elements) if i != number]
    made = append(while_loop, *[a for i, a in enumerate(loop.args[:n]) if i != number], ValueNode(iterations, kind),
                  *loop.args[n:],
                  cond=widened(test, (), {test.outputs[0]: lambda env, more: scalar_compare(more[0], 0, op=">")}, before=n,
                               states=[kind], without=[number]),
                  body=widened(body, (), {after: None}, before=n, states=[kind], without=[number],
                               after=lambda env, more: [scalar_binary(more[0], 1, op="-")]),
                  invariants=loop.attrs["invariants"], abstract=AbstractTuple((*elements, kind)), **policy_of(loop))
    end = constant(np.zeros((), counter.abstract.dtype.numpy))
    return (*made[:number], end, *made[number:-1])
