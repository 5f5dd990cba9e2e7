"""Patterns of `match` on values: what a mapping or class pattern takes out of its subject (PEP 634)."""
from collections.abc import Mapping

from ..common.errors import GraphSyntaxError
from ..mindir.graph import AnfNode
from .access import attribute
from .fallback import ask_python
from .values import Box

# case int(x): x is the subject
ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def keys_of(subject, *keys):
    """The values of a mapping for these keys; None if it is none, or lacks one."""
    if not isinstance(subject, Mapping) or len(subject) < len(keys):
        return None
    missing = object()
    values = tuple([subject.get(key, missing) for key in keys])
    return None if any(value is missing for value in values) else values


def rest_of(subject, *keys):
    """The dict of what a mapping has for other keys."""
    return {key: value for key, value in subject.items() if key not in keys}


def attribute_names(cls, count, names):
    """The attributes that a class pattern asks for; the subject itself is None.

    raises : TypeError as Python does, for what is no class or has too few __match_args__
    """
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if count == 1 and issubclass(cls, ITSELF) and not hasattr(cls, "__match_args__"):
        positional = (None,)
    else:
        positional = getattr(cls, "__match_args__", ())
        if len(positional) < count:
            raise TypeError(f"{cls.__name__}() accepts {len(positional)} positional sub-pattern"
                            f"{'' if len(positional) == 1 else 's'} ({count} given)")
    wanted = (*positional[:count], *names)
    for name in wanted:
        if name is not None and wanted.count(name) > 1:
            raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
    return wanted


def attributes_of(subject, cls, count, names):
    """What a class pattern takes out of its subject; None if that is no instance, or lacks an attribute."""
    wanted = attribute_names(cls, count, names)
    try:
        return tuple([subject if name is None else getattr(subject, name) for name in wanted]) \
            if isinstance(subject, cls) else None
    except AttributeError:
        return None


def match_keys(ev, subject, *keys):
    """keys_of for what inference knows."""
    if ev.is_object(subject):
        return ask_python(ev, keys_of, (subject, *keys), "a mapping pattern on an object that Python made")
    if not isinstance(subject, Box):
        return None if isinstance(subject, AnfNode) else keys_of(subject, *keys) if ev.guard_content(subject) else \
            ask_python(ev, keys_of, (subject, *keys), "a mapping pattern on a dict that changes during the run")
    pairs = dict(ev.store[subject]) if subject.kind == "dict" else {}
    return tuple([pairs[key] for key in keys]) if subject.kind == "dict" and all(key in pairs for key in keys) else None


def match_rest(ev, subject, *keys):
    """rest_of for what inference knows."""
    if ev.is_object(subject):
        return ask_python(ev, rest_of, (subject, *keys), "a mapping pattern on an object that Python made")
    pairs = dict(ev.store[subject]) if isinstance(subject, Box) else dict(subject)
    return ev.new_box("dict", tuple(rest_of(pairs, *keys).items()))


def match_class(ev, subject, cls, count, names):
    """attributes_of for what inference knows."""
    if ev.is_object(subject):
        return ask_python(ev, attributes_of, (subject, cls, count, names),
                          "a class pattern on an object that Python made")
    wanted = attribute_names(cls, count, names)
    known = ev.call(isinstance, (subject, cls), {})
    if isinstance(known, AnfNode):
        raise GraphSyntaxError("the class of the subject is known at run time only")
    try:
        return tuple([subject if name is None else attribute(ev, subject, name) for name in wanted]) if known else None
    except AttributeError:
        return None
