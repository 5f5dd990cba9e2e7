"""Variables outside of the graph, and Python code that sees them.

Compiled code assigns to variables when the run is over, and what it reads of them is a constant under a guard. Python
code in the middle must see what was assigned before it, and what it changes must be seen behind it:

    self.n = 5                      before the call `self.n = 5` is written; from there on self.n is read at run time
    library(self)                   behind it, guards of what is read later are looked at again: one that does not hold
    return x * self.n               is a Trap, and in the next variant that variable is read at run time

All of it is undone and done again where the run begins again (`fallback/log.py`).
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from ..common.errors import Refusal
from ..common.tensor import Tensor
from ..mindir.syntax import Undefined
from .evaluating import Evaluating
from .values import Place, Value

Guard = tuple[str, Any, str, Any]            # kind, owner and name of what was read, and what it was
DATA = (bool, int, float, complex, str, bytes, tuple, type(None), Tensor, Undefined, list, dict, set, deque)


def pending(ev: Evaluating) -> list[tuple[Place, Value]]:
    """[(Place, value)] of what the graph has assigned and Python code must find: from now on it is read at run time.

    raises : Refusal inside a branch or loop, behind which nobody would know whether it was written
    """
    found = [(key, value) for key, value in ev.store.items() if isinstance(key, Place) and not ev.made_here(key.owner)]
    if found and ev.tracer.region is not ev.tracer.root:
        raise Refusal(f"Python code inside a branch or loop sees the variable {found[0][0].name!r}, which was "
                               "assigned before", location=ev.tracer.origin.location)
    for key, _ in found:
        del ev.store[key]
        ev.variables.written.add(key)
    return found


def watch(ev: Evaluating) -> dict[tuple, Guard]:
    """{key: guard} of what is read behind the call that is written now, filled as inference goes on."""
    found = {} if ev.tracer.region is ev.tracer.root else ev.guards.found      # in a loop what comes before is behind it too
    ev.guards.watches.append(found)
    return found


def changed(guards: dict[tuple, Guard]) -> list[Guard]:
    """The guards of data that do not hold now."""
    return [guard for guard in guards.values() if isinstance(guard[3], DATA) and not _holds(*guard)]


def _holds(kind: str, owner: Any, name: str, value: Any) -> bool:
    if kind not in ("attr", "item", "cell", "content"):
        return True
    now = owner if kind == "content" else Place(kind, owner, name).read()
    if now is value:
        return True
    if type(now) is not type(value) or isinstance(value, Tensor):
        return False
    if isinstance(value, (list, deque, tuple)):
        return len(now) == len(value) and all(a is b or type(a) is type(b) and _equal(a, b) for a, b in zip(now, value))
    if isinstance(value, dict):
        return len(now) == len(value) and all(key in now and (now[key] is value[key] or _equal(now[key], value[key]))
                                              for key in value)
    return _equal(now, value)


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, (bool, int, float, complex, str, bytes, Undefined)) and a == b


def restorer(kind: str, owner: Any, name: str, value: Any) -> Callable[[], None]:
    """A function that gives a variable, or a container, this value."""
    def restore():
        if kind != "content":
            Place(kind, owner, name).write(value)
            return
        if isinstance(owner, list):
            owner[:] = value
            return
        owner.clear()
        owner.extend(value) if isinstance(owner, deque) else owner.update(value)
    return restore


def again(guards: Iterable[Guard]) -> tuple[Callable[[], None], ...]:
    """Functions that give these variables what they hold now once more."""
    return tuple([restorer(kind, owner, name, type(owner)(owner) if kind == "content" else Place(kind, owner, name).read())
                  for kind, owner, name, _ in guards])
