"""Methods of lists, dicts and sets whose content stands in the store: those of Python, on a copy of the content.

    xs.insert(0, y)        content = list(store[xs]);  content.insert(0, y);  store[xs] = tuple(content)
"""
from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from ..common.errors import ArgumentError, MissingAttributeError, Refusal
from .evaluating import Evaluating
from .program import of_container
from .sharing import check_key
from .special import is_object_of_python
from .values import BoundMethod, Box, Conflict, Value

COPIES: dict[str, Callable[..., Any]] = {"list": list, "dict": dict, "set": dict.fromkeys}    # a set keeps its order
PARTS: dict[str, Callable[..., Any]] = {"items": lambda key, value: (key, value), "keys": lambda key, value: key,
                                        "values": lambda key, value: value}


def pairs_of(ev: Evaluating, args: Sequence[Value], kwargs: dict[str, Any]) -> dict:
    """{key: value} from what dict() or dict.update() is given."""
    pairs = {}
    for arg in args:
        if isinstance(arg, Box) and arg.kind == "dict":
            pairs.update(ev.store[arg])
        elif isinstance(arg, dict):
            pairs.update(arg)
        elif isinstance(arg, types.MappingProxyType) or is_object_of_python(arg) and hasattr(arg, "keys"):
            raise Refusal(f"a {type(arg).__name__} becomes a dict", None, ev.tracer.origin.location)
        else:
            for pair in ev.drain(arg):
                pair = ev.drain(pair)
                if len(pair) != 2:
                    raise ArgumentError("dict() takes pairs of key and value")
                of_container(ev, pairs.__setitem__, *pair)
    return {**pairs, **kwargs}


def change(ev: Evaluating, box: Box, fn: Callable[..., Any], *args: Value) -> Value:
    """fn(content, *args) on a copy of what a list, dict or set holds, which it holds from now on; gives what fn gives."""
    content = COPIES[box.kind](ev.store[box])
    made = of_container(ev, fn, content, *args)
    ev.store[box] = tuple(content.items() if box.kind == "dict" else content)
    return made


class DictView(tuple):
    """What items(), keys() and values() give: the parts that the dict has now, and whose they are, for those who iterate."""
    box: Box
    part: Callable[..., Any]

    @classmethod
    def of(cls, ev: Evaluating, box: Box, part: Callable[..., Any]) -> DictView:
        """The view. part: (key, value) -> what it shows of an entry"""
        made = cls(part(k, v) for k, v in ev.store[box])
        made.box, made.part = box, part
        return made


def _view(part: Callable[..., Any]) -> Callable[..., DictView]:
    return lambda ev, box: DictView.of(ev, box, part)


def _python(fn: Callable[..., Any]) -> Callable[..., Value]:
    """The method that does what `fn` does to a container of Python."""
    return lambda ev, box, *args: change(ev, box, fn, *args)


def _keyed(fn: Callable[..., Any], changes: bool = True) -> Callable[..., Value]:
    """The same for a method whose first argument is a key. changes: False for one that only reads"""
    def method(ev, box, *args):
        check_key(ev, args[:1], box.marks)
        return change(ev, box, fn, *args) if changes else of_container(ev, fn, COPIES[box.kind](ev.store[box]), *args)
    return method


def _copy(ev: Evaluating, box: Box) -> Value:
    return ev.new_box(box.kind, ev.store[box])


def _extend(ev: Evaluating, box: Box, values: Value) -> None:
    change(ev, box, list.extend, ev.drain(values))


def _update(ev: Evaluating, box: Box, *args: Value, **kwargs: Any) -> None:
    change(ev, box, dict.update, pairs_of(ev, args, kwargs))


def _sort(ev: Evaluating, box: Box, *, key: Any = None, reverse: bool = False) -> None:
    ev.store[box] = ev.store[ev.call(sorted, (box,), {"key": key, "reverse": reverse})]


METHODS_OF: dict[str, dict[str, Callable[..., Any]]] = {
    "list": {**{fn.__name__: _python(fn) for fn in (list.append, list.insert, list.pop, list.clear, list.reverse)},
             "extend": _extend, "copy": _copy, "sort": _sort},
    "dict": {**{name: _view(part) for name, part in PARTS.items()},
             "get": _keyed(dict.get, changes=False), "has_key": _keyed(dict.__contains__, changes=False),
             "pop": _keyed(dict.pop), "setdefault": _keyed(dict.setdefault), "clear": _python(dict.clear),
             "update": _update, "copy": _copy},
    "set": {"add": _keyed(dict.setdefault), "clear": _python(dict.clear), "copy": _copy},
}


def method_of_box(ev: Evaluating, box: Box, name: str) -> BoundMethod:
    """The method `name` of a list, dict or set."""
    if isinstance(ev.store[box], Conflict):
        raise ev.store[box].error
    try:
        return BoundMethod(METHODS_OF[box.kind][name], box, name)
    except KeyError:
        raise MissingAttributeError(f"{box.kind!r} object has no attribute {name!r}") from None
