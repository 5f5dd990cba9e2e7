"""Reverse mode of hooks: cotangents pass the graph that a gate holds.

    y = gate(x; bprop=h)             dx = h(dy)

    x' = port(x);  y = f(x');  y' = gate(y, token of the port; bprop=before, after=after)         a Cell with hooks

    dy = before(dy');  dx' = the gradient of f;  dx = after(dy, dx')

The gate is met first, as the sweep goes backwards; what its hooks let go on is kept for the port, which is met last.
Where nothing is differentiated by what goes through the port, `otherwise` runs instead, behind `before`.

In eager mode a hook is not called where nothing arrives. Where data decides, the graph asks the cotangent's
boolean (`reach.py`); where there is none, or the two ends of a Cell have different ones, the gradient is left to Python.
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

from ..common.errors import Refusal
from ..mindir.abstract import AbstractTuple
from ..mindir.builder import append, written
from ..mindir.control import cond
from ..mindir.inline import inline
from .reach import Reach, UNKNOWN, either

if TYPE_CHECKING:
    from .reverse import Reverse


def unsure(node: Any) -> Refusal:
    """The error where a graph cannot say whether hooks are called."""
    return Refusal("whether a gradient comes to a hook is known at run time only", location=node.origin.location)


def reverse_gate(sweep: Reverse, node: Any) -> None:
    """dx = h(dy)"""
    count, attrs = node.attrs["count"], node.attrs
    seen = [i for i in range(count) if sweep.cotangent(node, i) is not None]
    if not seen:
        return                                               # as in eager mode, where nothing arrives no hook is called
    reach = either([sweep.reach(node, i) for i in seen])
    ties = attrs["after"] is not None                        # the last operand is the token of a port
    if reach is UNKNOWN:
        raise unsure(node)
    read = [sweep.value(x) for x in node.args[count:len(node.args) - ties]]
    douts = [sweep.cotangent_or_zeros(node, i) for i in range(count)]
    gone = _passed(sweep, reach, attrs["bprop"], [*douts, *read], douts)
    for x, dx in zip(node.args, gone):
        sweep.add(x, dx, reach, exact=True)
    if not ties:
        return
    entry = node.args[-1].args[0]
    if entry in sweep.active:
        sweep.gated[entry] = attrs["after"], gone, read, reach
    else:
        _passed(sweep, reach, attrs["otherwise"], [*gone, *read], ())


def _passed(sweep: Reverse, reach: Reach, hook: Any, given: Any, zeros: Any) -> Any:
    """What the graph of a hook lets go on of what it is given; where nothing arrives it is not run, and `zeros` go on."""
    if reach is True:
        return inline(sweep.back, hook, given, by="grad")
    names, kinds = [p.name for p in hook.parameters], [p.abstract for p in hook.parameters]
    indices = [given.index(x) for x in zeros]
    beside = written(f"no {hook.name}", names, kinds, lambda target, *values: [values[i] for i in indices], by="grad")
    return append(cond, reach, *given, true=hook, false=beside, abstract=AbstractTuple(tuple(x.abstract for x in zeros)))


def reverse_port(sweep: Reverse, node: Any) -> None:
    """dx = after(dy, dx')"""
    seen = [i for i in range(len(node.args)) if sweep.cotangent(node, i) is not None]
    if not seen:
        return
    reach = either([sweep.reach(node, i) for i in seen])
    douts = [sweep.cotangent_or_zeros(node, i) for i in range(len(node.args))]
    if node in sweep.gated:
        after, gone, read, before = sweep.gated[node]
        if reach is not before:                               # they come through a branch inside of the Cell
            raise unsure(node)
        douts = _passed(sweep, reach, after, [*gone, *douts, *read], douts)
    for x, dx in zip(node.args, douts):
        sweep.add(x, dx, reach, exact=True)
