"""Does a cotangent reach a value? Where run-time data decides, a boolean travels with it, and what does not arrive is zero.

    y = sqrt(x)                           dy, came = cond(p, dz;  dz -> (dz, True),  dz -> (0, False))
    z = cond(p, y;  y -> y * 2,           dx = dy / (2 y);   dx = where(came, dx, 0)
                    y -> 1)

At x = 0 the slope of sqrt is infinite. Python that does not take the side that reads y never asks for it; a graph
multiplies it by the zero that comes from the other side, and 0 * inf is nan. So a cotangent is a `Part`: its value, its reach
(whether it arrives), and whether it is exactly zero where it does not. It is annulled where it meets others, at the borders of
branches, loops and calls, and at the parameters; in between nobody looks. Straight-line code has no such parts.

This is activity analysis (Hascoet, Naumann & Pascual 2005) carried on at run time, where the static one ends.
"""
from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.graph import ValueNode
from ..ops.logic import flowing

Reach = Any                                  # True, False, UNKNOWN, FLAGGED or a boolean of the graph
FLAG = AbstractTensor(dt.bool_, ())
ON_TAPE = AbstractTensor(dt.bool_, (1,))     # with an axis, it may differ between the elements of a batch
UNKNOWN = None               # it may arrive or not, and nothing says so: what Python code hands on
FLAGGED = "flagged"                # a boolean that comes in with the cotangent says so


class Part(NamedTuple):
    """A cotangent, or what one use of a value adds to it.

    reach: True, whatever the data; UNKNOWN; or the node of a boolean
    exact: it is exactly zero where it does not arrive
    """
    value: Any
    reach: Any = True
    exact: bool = True

    def annulled(self) -> Any:
        """The value, exactly zero where it does not arrive."""
        if self.exact or self.reach is True or self.reach is UNKNOWN:
            return self.value
        return flowing(self.reach, self.value)


def either(reaches: Any) -> Reach:
    """Whether something arrives of which these say whether its pieces do."""
    reaches = list(dict.fromkeys(reaches))
    if any(reach is True for reach in reaches):
        return True
    return UNKNOWN if any(reach is UNKNOWN for reach in reaches) else reduce(ops.logical_or, reaches)


def joined(parts: Any) -> Part:
    """One part for several of the same value."""
    if len(parts) == 1:
        return parts[0]
    reach = either([part.reach for part in parts])
    values = [part.value if part.reach is reach else part.annulled() for part in parts]
    return Part(reduce(ops.add, values), reach, all(part.exact or part.reach is not reach for part in parts))


def is_flag(reach: Reach) -> bool:
    """True for a reach that is a boolean of the graph."""
    return not any(reach is known for known in (True, False, UNKNOWN))


def flag_of(reach: Reach) -> Any:
    """The boolean for a reach: False is one too, for what never arrives; UNKNOWN counts as arriving."""
    return reach if is_flag(reach) else np.bool_(reach is not False)


def flagged(reaches: Any) -> list[Reach]:
    """For a graph below, what it has to know of these: a boolean is handed to it, for what does not arrive (yet) too."""
    return [reach if reach is True or reach is UNKNOWN else FLAGGED for reach in reaches]


def of_both(true: Reach, false: Reach) -> Reach:
    """Whether what comes out of either side of a branch arrives; FLAGGED: the sides say so."""
    if true is false and (true is True or true is False):
        return true
    return UNKNOWN if true is UNKNOWN or false is UNKNOWN else FLAGGED


def after_iterations(given: Any, iteration: Any) -> tuple[Any, list]:
    """(iteration(reaches), reaches): the derivative of a loop's body, and what reaches each iteration: True, UNKNOWN or
    FLAGGED. A fixpoint, as what an iteration hands on (the `reaches` of the derivative) is what the next one is given.

    given: what reaches the first iteration
    """
    reaches = flagged(given)
    while True:
        made = iteration(reaches)
        handed = [UNKNOWN if UNKNOWN in (now, reach) else True if now is reach is True else FLAGGED
                  for now, reach in zip(reaches, made.reaches)]
        if handed == reaches:
            return made, reaches
        reaches = handed


def on_tape(reaches: Any) -> list:
    """Reaches as what stands on a tape beside the values; ON_TAPE is their type."""
    return [ops.reshape(flag_of(reach), shape=ON_TAPE.shape) for reach in reaches]


def from_tape(flags: Any) -> list:
    """What `on_tape` has put there."""
    return [ops.reshape(flag, shape=()) for flag in flags]


def keeps_zeros(gradient: Any, douts: Any, nodes: Any) -> bool:
    """True if `gradient`, made by these nodes, is exactly zero where `douts` are: no float of the forward graph is in it."""
    inside = set(nodes)
    scaled: set = set()
    for node in nodes:
        if is_float(node.abstract) and any(_scales(x, douts, inside, scaled) for x in node.args):
            scaled.add(node)
    return not _scales(gradient, douts, inside, scaled)


def _scales(x: Any, douts: Any, inside: Any, scaled: Any) -> bool:
    """True if a product with x may not be zero where the cotangents are."""
    if x in inside:
        return x in scaled
    if isinstance(x, ValueNode):
        return is_float(x.abstract) and not np.isfinite(x.value).all()
    return is_float(x.abstract) and not any(x is dout for dout in douts)


def is_float(abstract: Any) -> bool:
    """True for what can be infinite; False for integers and booleans."""
    if isinstance(abstract, AbstractTensor):
        return abstract.dtype.kind not in "uib"
    return not isinstance(abstract, AbstractScalar) or abstract.type is float
