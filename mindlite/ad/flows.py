"""Does a cotangent flow? Where run-time data decides, a boolean travels with it, and what does not flow is exactly zero.

    y = sqrt(x)                           dy, flows = cond(p, dz;  dz -> (dz, True),  dz -> (0, False))
    z = cond(p, y;  y -> y * 2,           dx = dy / (2 y);   dx = where(flows, dx, 0)
                    y -> 1)

At x = 0 the slope of sqrt is infinite. Python that does not take the side that reads y never asks for it; a graph
multiplies it by the zero that comes from the other side, and 0 * inf is nan. So a cotangent is a `Part`: its value, whether
it flows, and whether it is exactly zero where it does not. It is annulled where it meets others, at the borders of
branches, loops and calls, and at the parameters; in between nobody looks. Straight-line code has no such parts.

This is activity analysis (Hascoet, Naumann & Pascual 2005) carried on at run time, where the static one ends.
"""
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ..common import dtype as dt
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.graph import ValueNode
from ..ops.logic import flowing
from .. import ops

FLAG = AbstractTensor(dt.bool_, ())
ON_TAPE = AbstractTensor(dt.bool_, (1,))     # with an axis, it may differ between the elements of a batch
UNKNOWN = None               # it may flow or not, and nothing says so: what Python code hands on
TOLD = "told"                # a boolean that comes in with the cotangent says so


class Part(NamedTuple):
    """A cotangent, or what one use of a value adds to it.

    flow : True, whatever the data; UNKNOWN; or the node of a boolean
    exact: it is exactly zero where it does not flow
    """
    value: Any
    flow: Any = True
    exact: bool = True

    def annulled(self):
        """The value, exactly zero where it does not flow."""
        if self.exact or self.flow is True or self.flow is UNKNOWN:
            return self.value
        return flowing(self.flow, self.value)


def either(flows):
    """Whether something flows of which these say whether its pieces do."""
    flows = list(dict.fromkeys(flows))
    if any(flow is True for flow in flows):
        return True
    return UNKNOWN if any(flow is UNKNOWN for flow in flows) else reduce(ops.logical_or, flows)


def joined(parts):
    """One part for several of the same value."""
    if len(parts) == 1:
        return parts[0]
    flow = either([part.flow for part in parts])
    values = [part.value if part.flow is flow else part.annulled() for part in parts]
    return Part(reduce(ops.add, values), flow, all(part.exact or part.flow is not flow for part in parts))


def is_flag(flow):
    """True for a flow that is a boolean of the graph."""
    return flow not in (True, False, UNKNOWN)


def flag_of(flow):
    """The boolean for a flow: False is one too, for what never flows; UNKNOWN counts as flowing."""
    return flow if is_flag(flow) else np.bool_(flow is not False)


def told(flows):
    """For a graph below, what it has to know of these flows: a boolean is handed to it, for what does not flow (yet) too."""
    return [flow if flow is True or flow is UNKNOWN else TOLD for flow in flows]


def of_both(true, false):
    """Whether what comes out of either side of a branch flows; TOLD: the sides say so."""
    if true is false and true in (True, False):
        return true
    return UNKNOWN if true is UNKNOWN or false is UNKNOWN else TOLD


def after_iterations(given, iteration):
    """(iteration(flows), flows): the derivative of a loop's body, and what flows into each iteration: True, UNKNOWN or TOLD. A
    fixpoint, as what an iteration hands on (the `flows` of the derivative) is what the next one is given.

    given: what flows into the first iteration
    """
    flows = told(given)
    while True:
        made = iteration(flows)
        handed = [UNKNOWN if UNKNOWN in (now, flow) else True if now is flow is True else TOLD
                  for now, flow in zip(flows, made.flows)]
        if handed == flows:
            return made, flows
        flows = handed


def on_tape(flows):
    """Flows as what stands on a tape beside the values; ON_TAPE is their type."""
    return [ops.reshape(flag_of(flow), shape=ON_TAPE.shape) for flow in flows]


def from_tape(flags):
    """What `on_tape` has put there."""
    return [ops.reshape(flag, shape=()) for flag in flags]


def keeps_zeros(gradient, douts, nodes):
    """True if `gradient`, made by these nodes, is exactly zero where `douts` are: no float of the forward graph is in it."""
    inside = set(nodes)
    scaled: set = set()
    for node in nodes:
        if is_float(node.abstract) and any(_scales(x, douts, inside, scaled) for x in node.args):
            scaled.add(node)
    return not _scales(gradient, douts, inside, scaled)


def _scales(x, douts, inside, scaled):
    """True if a product with x may not be zero where the cotangents are."""
    if x in inside:
        return x in scaled
    if isinstance(x, ValueNode):
        return is_float(x.abstract) and not np.isfinite(x.value).all()
    return is_float(x.abstract) and not any(x is dout for dout in douts)


def is_float(abstract):
    """True for what can be infinite; False for integers and booleans."""
    if isinstance(abstract, AbstractTensor):
        return abstract.dtype.kind not in "uib"
    return not isinstance(abstract, AbstractScalar) or abstract.type is float
