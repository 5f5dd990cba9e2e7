"""Patterns of `match` on values: what a mapping or class pattern takes out of its subject (PEP 634)."""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ..common.errors import MissingAttributeError, Refusal
from ..mindir.graph import AnfNode
from .access import attribute
from .evaluating import Evaluating
from .fallback import ask_python
from .state import Raises
from .program import by_python, raised_as, raises
from .values import Box, Value

# case int(x): x is the subject
ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def asked(fn: Value, *args: Any) -> Value:
    """fn(*args), of the subject's class: behind a door where inference asks (`program.by_python`)."""
    return fn(*args)


def keys_of(subject: Value, *keys: Value, ask: Callable[..., Any] = asked) -> Value:
    """The values of a mapping for these keys; None if it is none, or lacks one."""
    if not ask(isinstance, subject, Mapping) or ask(len, subject) < len(keys):
        return None
    missing = object()
    values = tuple([ask(subject.get, key, missing) for key in keys])
    return None if any(value is missing for value in values) else values


def rest_of(subject: Value, *keys: Value, ask: Callable[..., Any] = asked) -> Value:
    """The dict of what a mapping has for other keys."""
    return {key: value for key, value in ask(list, ask(subject.items)) if key not in keys}


def attribute_names(cls, count: int, names: Sequence[str]) -> Any:
    """The attributes of a class pattern; None stands for the subject itself. raises :
    Python's TypeError if it is no class or has too few __match_args__"""
    if not isinstance(cls, type):
        return TypeError("called match pattern must be a class")
    if count == 1 and issubclass(cls, ITSELF) and not hasattr(cls, "__match_args__"):
        positional: tuple = (None,)
    else:
        positional = getattr(cls, "__match_args__", ())
        if len(positional) < count:
            return TypeError(f"{cls.__name__}() accepts {len(positional)} positional sub-pattern"
                             f"{'' if len(positional) == 1 else 's'} ({count} given)")
    wanted = (*positional[:count], *names)
    for name in wanted:
        if name is not None and wanted.count(name) > 1:
            return TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
    return wanted


def attributes_of(subject: Value, cls: type, count: int, names: Sequence[str], ask: Callable[..., Any] = asked) -> Value:
    """What a class pattern takes out of its subject; None if that is no instance, or lacks an attribute."""
    wanted, values = attribute_names(cls, count, names), []
    if isinstance(wanted, TypeError):
        ask(_raise, wanted)
    if not ask(isinstance, subject, cls):
        return None
    for name in wanted:
        values.append(subject if name is None else ask(getattr, subject, name, _MISSING))
    return None if any(value is _MISSING for value in values) else tuple(values)


_MISSING = object()


def _raise(error: Exception) -> NoReturn:
    raise error


def asking(ev: Evaluating) -> Callable[..., Any]:
    """`asked` behind a door."""
    return functools.partial(by_python, ev)


def match_keys(ev: Evaluating, subject: Value, *keys: Value) -> Value:
    """keys_of for what inference knows."""
    if ev.is_object(subject):
        return ask_python(ev, keys_of, (subject, *keys), "a mapping pattern on an object that Python made")
    if not isinstance(subject, Box):
        return None if isinstance(subject, AnfNode) else keys_of(subject, *keys, ask=asking(ev)) \
            if ev.guard_content(subject) else \
            ask_python(ev, keys_of, (subject, *keys), "a mapping pattern on a dict that changes during the run")
    pairs = dict(ev.store[subject]) if subject.kind == "dict" else {}
    return tuple([pairs[key] for key in keys]) if subject.kind == "dict" and all(key in pairs for key in keys) else None


def match_rest(ev: Evaluating, subject: Value, *keys: Value) -> Value:
    """rest_of for what inference knows."""
    if ev.is_object(subject):
        return ask_python(ev, rest_of, (subject, *keys), "a mapping pattern on an object that Python made")
    pairs = dict(ev.store[subject]) if isinstance(subject, Box) else by_python(ev, dict, subject)
    return ev.new_box("dict", tuple(rest_of(pairs, *keys).items()))


def match_class(ev: Evaluating, subject: Value, cls: Value, count: int, names: Sequence[str]) -> Value:
    """attributes_of for what inference knows."""
    if ev.is_object(subject):
        return ask_python(ev, attributes_of, (subject, cls, count, names),
                          "a class pattern on an object that Python made")
    wanted = attribute_names(cls, count, names)
    if isinstance(wanted, TypeError):
        raise raises(ev, wanted)
    known = ev.call(isinstance, (subject, cls), {})
    if isinstance(known, AnfNode):
        raise Refusal("the class of the subject is known at run time only")
    try:
        return tuple([subject if name is None else attribute(ev, subject, name) for name in wanted]) if known else None
    except (MissingAttributeError, Raises) as error:
        if raised_as(error, AttributeError) is None:
            raise
        return None
