"""Guards: what was read at compile time (globals, closure cells, attributes) and must still be so at a call."""
from __future__ import annotations

import reprlib
import types
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..common.errors import GraphSyntaxError
from ..common.records import dataclass
from ..infer.outside import Guard, Part, current_value, same_value
from ..infer.values import Place
from ..mindir.protocol import Hooked
from ..mindir.syntax import Undefined


def guard_holds(guard: Guard) -> bool:
    """True if what one guard read at compile time is as it was."""
    kind, owner, name, value = guard
    if kind == "protocol":                   # what a Cell answers to __mindir__, asked where it has changed
        return owner.cell_version == value[0] or same_answer(owner, value[1])
    now = current_value(kind, owner, name)
    return now is value or same_value(now, value)


def same_answer(cell: Any, what: Any) -> bool:
    """Does a Cell still answer so: the same function between the same hooks?"""
    try:
        now = cell.__mindir__()
    except GraphSyntaxError:                                 # it says that it cannot be in a graph any more
        return False
    return same_protocol(now, what)


def same_protocol(a: Any, b: Any) -> bool:
    """Do two answers of a Cell say the same?"""
    if type(a) is not type(b):
        return False
    if isinstance(a, Hooked):
        return same_protocol(a.call, b.call) and same_value((a.before, a.after), (b.before, b.after))
    return same_value(a.function, b.function)


def refused_by(guards: Iterable[Guard]) -> int | None:
    """The number of the first guard that does not hold, None where all do."""
    for number, guard in enumerate(guards):
        if not guard_holds(guard):
            return number
    return None


def guards_hold(guards: Iterable[Guard]) -> bool:
    """True if everything that was read at compile time is as it was."""
    return refused_by(guards) is None


@dataclass(frozen=True)
class Change:
    """What a guard saw to change. place: the variable, if it held a number and holds another; else None."""
    what: str
    before: str = ""
    after: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.what} changed" + (f": {self.before} -> {self.after}" if self.before != self.after else "")


def changed_guard(guards: Sequence[Guard]) -> Change:
    """The Change that the first guard which does not hold has seen."""
    number = refused_by(guards)
    if number is None:
        return Change("nothing")
    kind, owner, name, value = guards[number]
    if isinstance(name, Part):
        return Change(f"{name} of a {type(owner).__name__}", brief(value), brief(current_value(kind, owner, name)))
    if kind == "content":
        return Change(f"what a {type(owner).__name__} holds", brief(value), brief(owner))
    if kind == "protocol":
        return Change(f"the construct, hooks or casts of a {type(owner).__name__}")
    has_name = isinstance(owner, (type, types.ModuleType, types.FunctionType))
    named = owner.__name__ if has_name else type(owner).__name__
    what = name or "a closure cell" if kind.endswith(("item", "cell")) else f"{named}.{name}"
    now = current_value(kind, owner, name)
    varies = kind in ("item", "cell", "attr") and type(now) is type(value) in (int, float)
    return Change(what, brief(value), brief(now), Place(kind, owner, name) if varies else None)


def brief(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, Undefined):
        return "nothing"
    if isinstance(value, np.ndarray):
        return f"array {list(value.shape)}"
    if isinstance(value, (int, float, str, bytes, type(None), list, tuple, dict, set, deque)):
        return reprlib.repr(value)
    return f"a {getattr(value, '__qualname__', type(value).__name__)}"
