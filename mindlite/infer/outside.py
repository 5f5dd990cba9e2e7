"""What stands outside of the graph: methods of the users' classes, what containers hold, variables. Each read leaves a guard,
so that a change is seen at the next call.

Variables: compiled code assigns to them when the run is over, and what it reads of them is a constant under a guard. Python
code in the middle must see what was assigned before it, and what it changes must be seen behind it:

    self.n = 5                      before the call `self.n = 5` is written; from there on self.n is read at run time
    library(self)                   behind it, guards of what is read later are looked at again: one that does not hold
    return x * self.n               is a Trap, and in the next variant that variable is read at run time

All of it is undone and done again where the run begins again (`fallback/log.py`).
"""
from __future__ import annotations

import copy
import functools
import inspect
import types
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..common.errors import Refusal
from ..common.location import is_framework
from ..common.records import dataclass
from ..common.tensor import Parameter, Tensor
from ..mindir.graph import AnfNode
from ..mindir.syntax import Undefined
from .evaluating import Evaluating
from .kinds import parts_of
from .values import Place, Value, assumed_of

_STDLIB = inspect.__file__.rsplit("/", 1)[0].rsplit("\\", 1)[0]
HEAP_TYPE = 1 << 9                                   # of classes that were made by a class statement
UNCHANGING = frozenset([bool, int, float, complex, str, bytes, type(None), Tensor, Parameter])
# what shows the content of something else, or memory: nothing tells whether that is as it was
VIEWS: tuple[type, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()), memoryview, array)
CONTAINERS = (list, dict, set, bytearray, deque, np.ndarray)
SIZED = (list, dict, set, np.ndarray)
LARGE = 32                                           # items of a container that is guarded by what was read of it


@functools.lru_cache(maxsize=None)
def _is_library_file(filename: str) -> bool:
    if filename.endswith("contextlib.py"):                   # `with` needs to see into it
        return False
    return "site-packages" in filename or filename.startswith(("<frozen", _STDLIB))


def from_library(fn: Value) -> bool:
    """True for functions of the standard library and of installed packages other than mindlite: they are called, not
    parsed."""
    filename = fn.__code__.co_filename
    return _is_library_file(filename) and not is_framework(filename)


def is_users(function: Value) -> bool:
    """True for a function of Python that the user wrote."""
    return isinstance(function, types.FunctionType) and not from_library(function) \
        and not is_framework(function.__code__.co_filename)


def own_method(cls, name: str) -> Value:
    """What a user's class, or one below it, defines under a name; None for builtin and library classes."""
    for base in cls.__mro__ if cls.__flags__ & HEAP_TYPE else ():
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def method_of_class(ev: Evaluating, value: Value, name: str) -> Callable[..., Any] | None:
    """The function of Python, not a library's, that an object's class has under a special name; else None."""
    found = getattr(type(value), name, None)
    if not isinstance(found, types.FunctionType) or from_library(found):
        return None
    guard_class(ev, value, name, found)
    return found


def guard_class(ev: Evaluating, value: Value, name: str, found: Value) -> None:
    """Remember what the class of `value` has under a name, if that is not the framework's."""
    if not ev.concrete and not (type(value).__module__ or "").startswith("mindlite."):
        ev.guard("attr", type(value), name, found)
        if not hasattr(type(value), "__mindir__"):           # a Cell keeps its class
            ev.guard("attr", value, "__class__", type(value))


def guard_contents(ev: Evaluating, value: Value) -> bool:
    """Guard the content that Python code will read: lists, dicts, sets and arrays, also inside tuples and each other,
    and attributes of the user's objects. False if one of the containers changes during the run."""
    if isinstance(value, AnfNode) or type(value) in UNCHANGING:
        return True
    if isinstance(value, tuple):
        return all([guard_contents(ev, v) for v in value])
    if hasattr(type(value), "cell_version") and not ev.concrete:
        for _, cell in value.cells_and_names():
            ev.guard("attr", cell, "cell_version", cell.cell_version)
    elif is_users_object(value) and not ev.made_here(value):
        return _guard_containers(ev, value.__dict__) and _guard_containers(ev, value)
    return _guard_containers(ev, value)


def guard_own_content(ev: Evaluating, value: Value) -> bool:
    """Guard what Python code will read of an object itself, not of its items. False if it changes during the run."""
    own = is_users_object(value) and not hasattr(type(value), "cell_version") and not ev.made_here(value)
    return (not own or _guard_containers(ev, value.__dict__)) and ev.guard_content(value)


@dataclass(frozen=True)
class Part:
    """What was read of a large container, by which it is guarded in place of all that it holds.

    what : "item" (of a list, dict or array), "slice" (of a list or array), "get" (of a dict), "in" (is the key there?), "len"
    key  : an int or str; (start, stop, step) of a slice; "" for "len"
    """
    what: str
    key: Any = ""

    def read(self, owner: Any) -> Any:
        """What the container has there; Undefined if nothing."""
        if self.what == "len":
            return len(owner)
        if self.what == "in":
            return self.key in owner
        try:
            return owner[slice(*self.key) if self.what == "slice" else self.key]
        except (LookupError, TypeError, ValueError):
            return Undefined("an item")

    def __str__(self) -> str:
        return self.what if self.what == "len" else f"{self.what} {self.key!r}"


def is_large(value: Value) -> bool:
    """True for a container that is guarded by what was read of it."""
    return type(value) in SIZED and (type(value) is not np.ndarray or value.ndim > 0) and len(value) >= LARGE


def guard_part(ev: Evaluating, value: Value, what: str, key: Any = "") -> bool:
    """Guard what Python code will read of a large container, or else as `guard_own_content`; False if it changes during the run.
    A vocabulary, or the rows of a data set, would be compared at each call."""
    if type(key) is slice and type(value) is not dict:
        what, key = "slice", (key.start, key.stop, key.step)
    parts = key if type(key) is tuple else (key,)
    if ev.concrete or not is_large(value) or ev.variables.is_changed(value) \
            or not all(type(part) in (int, str, type(None)) for part in parts):
        return guard_own_content(ev, value)
    part = Part(what, key)
    found = part.read(value)
    missing, plain = isinstance(found, Undefined), type(found) in UNCHANGING
    if what in ("item", "slice") and missing or what == "get" and not (missing or plain):
        return guard_contents(ev, value)                     # Python will raise, or read the content of what it finds
    ev.guard("content", value, part, found.copy() if isinstance(found, np.ndarray) else found)
    return True


def _guard_containers(ev: Evaluating, value: Value) -> bool:
    return ev.guard_content(value) and all([_guard_containers(ev, v) for v in parts_of(value)])


def is_users_object(value: Value) -> bool:
    """True for an object with attributes whose class a class statement made, outside of mindlite."""
    cls = type(value)
    return bool(cls.__flags__ & HEAP_TYPE) and isinstance(getattr(value, "__dict__", None), dict) \
        and not isinstance(value, (type, types.ModuleType)) and not (cls.__module__ or "").startswith("mindlite.")


# ---------------------------------------------------------------- variables

Guard = tuple[str, Any, Any, Any]            # kind, owner and name (of content "" or a Part) of what was read, what it was
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
    return [guard for guard in guards.values() if (isinstance(guard[3], DATA) or isinstance(guard[2], Part))
            and guard[0] in ("attr", "item", "cell", "content") and not same_value(current_value(*guard[:3]), guard[3])]


def current_value(kind: str, owner: Any, name: Any) -> Any:
    """What a guard would read now."""
    if kind == "content":
        return name.read(owner) if isinstance(name, Part) else owner
    if kind.startswith("kind of "):
        return assumed_of(Place(kind[8:], owner, name).read())
    return Place(kind, owner, name).read()


def same_value(a: Any, b: Any) -> bool:
    """Is what was read still the same? Objects by identity, numbers, strings and tuples of them by value."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Undefined):
        return True
    if isinstance(a, (list, deque, tuple)):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(same_value(x, y) and same_value(a[x], b[y]) for x, y in zip(a, b))
    if type(a) is float:
        return a == b and (a != 0 or repr(a) == repr(b))     # -0.0 is another number
    if isinstance(a, (int, float, str, bytes, complex, set, bytearray)):
        return a == b
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, types.MethodType):
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return False


def restorer(kind: str, owner: Any, name: str, value: Any) -> Callable[[], None]:
    """A function that gives a variable, or a container, this value."""
    def restore():
        if kind != "content":
            Place(kind, owner, name).write(value)
            return
        if isinstance(owner, (list, np.ndarray)):
            owner[:] = value
            return
        owner.clear()
        owner.extend(value) if isinstance(owner, deque) else owner.update(value)
    return restore


def again(guards: Iterable[Guard]) -> tuple[Callable[[], None], ...]:
    """Functions that give these variables what they hold now once more."""
    return tuple([restorer(kind, owner, name, copy.copy(owner) if kind == "content" else Place(kind, owner, name).read())
                  for kind, owner, name, _ in guards])


def whole(guards: Iterable[Guard]) -> dict[int, Any]:
    """{id: a copy} of the containers of which guards know a part."""
    return {id(owner): copy.copy(owner) for owner in {id(g[1]): g[1] for g in guards if isinstance(g[2], Part)}.values()}


def undoing(guards: Iterable[Guard], held: dict[int, Any]) -> list[Callable[[], None]]:
    """Functions that give variables and containers what they held: what the guards say, or a copy of the whole (`whole`)."""
    return [restorer(kind, owner, name, held[id(owner)] if isinstance(name, Part) else value)
            for kind, owner, name, value in guards]
