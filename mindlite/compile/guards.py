"""Guards: what was read at compile time (globals, closure cells, attributes) and must still be so at a call."""
from collections import deque

from ..infer.values import Place, kind_of
from ..mindir.syntax import Undefined


def current_value(kind, owner, name):
    """What a guard would read now."""
    if kind == "content":
        return owner
    if kind.startswith("kind of "):
        return kind_of(Place(kind[8:], owner, name).read())
    return Place(kind, owner, name).read()


def same_value(a, b):
    """Is what was read still the same? Objects by identity, numbers, strings and tuples of them by value."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Undefined):
        return True
    if type(a) in (list, deque):
        return len(a) == len(b) and all(map(same_value, a, b))
    if type(a) is dict:
        return len(a) == len(b) and all(map(same_value, a, b)) and all(map(same_value, a.values(), b.values()))
    if type(a) is set:
        return a == b
    if isinstance(a, (int, float, str, bytes, complex)):
        return a == b
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if hasattr(a, "__func__"):
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return False


def guard_holds(guard):
    """True if what one guard read at compile time is as it was."""
    kind, owner, name, value = guard
    now = current_value(kind, owner, name)
    return now is value or same_value(now, value)


def guards_hold(guards):
    """True if everything that was read at compile time is as it was."""
    return all(map(guard_holds, guards))


def changed_guard(guards):
    """Words for the first guard that does not hold."""
    for kind, owner, name, value in guards:
        if not same_value(current_value(kind, owner, name), value):
            if kind == "content":
                return f"what a {type(owner).__name__} holds"
            return f"{type(owner).__name__}.{name}" if kind.endswith("attr") else name or "a closure cell"
    return "nothing"
