"""Methods of lists, dicts and sets whose content stands in the store."""
from __future__ import annotations

from typing import Any

from ..common.errors import ArgumentError, MissingAttributeError
from .evaluating import Evaluating
from .program import by_python, of_container
from .sharing import check_key
from .values import BoundMethod, Box, Conflict, Value
from collections.abc import Callable, Sequence


def items_of(ev: Evaluating, value: Value) -> Value:
    """The items of a container, as a list."""
    if isinstance(value, Box):
        if value.kind == "iterator":
            return ev.drain(value)
        content = ev.store[value]
        return [k for k, _ in content] if value.kind == "dict" else list(content)
    return by_python(ev, list, value)


def pairs_of(ev: Evaluating, args: Sequence[Value], kwargs: dict[str, Any]) -> dict:
    """{key: value} from what dict() or dict.update() is given."""
    pairs = {}
    for arg in args:
        if isinstance(arg, Box) and arg.kind == "dict":
            pairs.update(ev.store[arg])
        elif isinstance(arg, dict):
            pairs.update(arg)
        else:
            for pair in items_of(ev, arg):
                pair = items_of(ev, pair)
                if len(pair) != 2:
                    raise ArgumentError("dict() takes pairs of key and value")
                of_container(ev, pairs.__setitem__, *pair)
    return {**pairs, **kwargs}


def _content(ev: Evaluating, box: Box) -> Value:
    return list(ev.store[box])


def _list_append(ev: Evaluating, box: Box, value: Value) -> None:
    ev.store[box] = ev.store[box] + (value,)


def _list_extend(ev: Evaluating, box: Box, values: Value) -> None:
    ev.store[box] = ev.store[box] + tuple(items_of(ev, values))


def _list_insert(ev: Evaluating, box: Box, index: Value, value: Value) -> None:
    items = _content(ev, box)
    of_container(ev, items.insert, index, value)
    ev.store[box] = tuple(items)


def _list_pop(ev: Evaluating, box: Box, index: Value = -1) -> Value:
    items = _content(ev, box)
    value = of_container(ev, items.pop, index)
    ev.store[box] = tuple(items)
    return value


def _list_clear(ev: Evaluating, box: Box) -> None:
    ev.store[box] = ()


def _list_reverse(ev: Evaluating, box: Box) -> None:
    ev.store[box] = ev.store[box][::-1]


def _list_copy(ev: Evaluating, box: Box) -> Value:
    return ev.new_box(box.kind, ev.store[box])


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


def _entry(key: Any, value: Value) -> tuple:
    return key, value


def key_of(key: Any, value: Value) -> Value:
    """What keys() shows."""
    return key


def _value_of(key: Any, value: Value) -> Value:
    return value


def _dict_items(ev: Evaluating, box: Box) -> DictView:
    return DictView.of(ev, box, _entry)


def _dict_keys(ev: Evaluating, box: Box) -> DictView:
    return DictView.of(ev, box, key_of)


def _dict_values(ev: Evaluating, box: Box) -> DictView:
    return DictView.of(ev, box, _value_of)


def _dict_get(ev: Evaluating, box: Box, key: Any, default: Value = None) -> Value:
    check_key(ev, key, box.marks)
    return of_container(ev, dict(ev.store[box]).get, key, default)


def _dict_update(ev: Evaluating, box: Box, *args: Value, **kwargs: Any) -> None:
    ev.store[box] = tuple({**dict(ev.store[box]), **pairs_of(ev, args, kwargs)}.items())


def _dict_pop(ev: Evaluating, box: Box, key: Any, *default: Value) -> Value:
    check_key(ev, key, box.marks)
    pairs = dict(ev.store[box])
    value = of_container(ev, pairs.pop, key, *default)
    ev.store[box] = tuple(pairs.items())
    return value


def _dict_setdefault(ev: Evaluating, box: Box, key: Any, default: Value | None = None) -> Value:
    check_key(ev, key, box.marks)
    pairs = dict(ev.store[box])
    value = of_container(ev, pairs.setdefault, key, default)
    ev.store[box] = tuple(pairs.items())
    return value


def _dict_has_key(ev: Evaluating, box: Box, key: Any) -> Value:
    check_key(ev, key, box.marks)
    return of_container(ev, dict(ev.store[box]).__contains__, key)


def _set_add(ev: Evaluating, box: Box, value: Value) -> None:
    check_key(ev, value, box.marks)
    ev.store[box] = tuple(of_container(ev, dict.fromkeys, [*ev.store[box], value]))


def _list_sort(ev: Evaluating, box: Box, *, key: Any = None, reverse: bool = False) -> None:
    ev.store[box] = ev.store[ev.call(sorted, (box,), {"key": key, "reverse": reverse})]


METHODS_OF: dict[str, dict[str, Callable[..., Any]]] = {
    "list": {"append": _list_append, "extend": _list_extend, "insert": _list_insert, "pop": _list_pop,
             "clear": _list_clear,
             "reverse": _list_reverse, "copy": _list_copy,
             "sort": _list_sort},
    "dict": {"items": _dict_items, "keys": _dict_keys, "values": _dict_values, "get": _dict_get, "update": _dict_update,
             "pop": _dict_pop, "setdefault": _dict_setdefault, "has_key": _dict_has_key, "clear": _list_clear,
             "copy": _list_copy},
    "set": {"add": _set_add, "clear": _list_clear, "copy": _list_copy},
}


def method_of_box(ev: Evaluating, box: Box, name: str) -> BoundMethod:
    """The method `name` of a list, dict or set."""
    if isinstance(ev.store[box], Conflict):
        raise ev.store[box].error
    try:
        return BoundMethod(METHODS_OF[box.kind][name], box, name)
    except KeyError:
        raise MissingAttributeError(f"{box.kind!r} object has no attribute {name!r}") from None
