"""The kinds of values that have parts, one row each; what goes through a value is a fold over this table.

    Range(0, %1, 1)        parts (0, %1, 1)        with (0, %2, 1): Range(0, %2, 1)        in Python: range(0, n, 1)

All else is a leaf. The content of a Box stands in a store: a fold that looks into Boxes is given what reads it.
"""
from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..common.dim import Dim
from ..common.errors import Refusal
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from ..mindir.syntax import Undefined
from .values import BoundMethod, Box, ByExit, Conflict, Formatted, Lives, MadeException, Mixed, Range, Unsure, Value, rebuild


@dataclass(frozen=True)
class Kind:
    """One kind of value.

    parts  : (value) -> its parts, in order
    remade : (value, parts) -> a value like it with these parts
    python : (value, parts) -> what Python has for it at run time, of an iterator over what the parts are then
    frame  : (value) -> what two of them have in common where they can be merged part by part
    shared : True for leaves and containers of Python's: each is itself, and never another one with the same parts
    ours   : True for what only inference has
    """
    parts: Callable[[Any], tuple]
    remade: Callable[[Any, Any], Any]
    python: Callable[[Any, Any], Any]
    frame: Callable[[Any], Any] = lambda value: None
    shared: bool = False
    ours: bool = True


def _one_that_is(pairs: Iterator[Any]) -> Value:
    """The value behind the first condition that holds, of (condition, value, condition, value, ..)."""
    return next(value for given, value in zip(pairs, pairs) if given)


def _dict_with(value: Value, parts: Iterator[Any]) -> Value:
    made = copy.copy(value)
    made.update(zip(value, parts))
    return made


def _exception_with(value: Value, parts: Iterator[Any]) -> MadeException:
    args = [next(parts) for _ in value.args]
    return MadeException(value.cls, tuple(args), dict(zip(value.kwargs, parts)), value.fields, value.marks).after(value)


def _no_python(value: Value, parts: Iterator[Any]) -> NoReturn:
    raise Refusal(f"a {type(value).__name__} has no value of its own at run time")


KINDS: dict[type, Kind] = {
    tuple: Kind(tuple, rebuild, rebuild, lambda value: (len(value), type(value) if hasattr(value, "_make") else tuple),
                ours=False),
    list: Kind(tuple, lambda value, parts: list(parts), lambda value, parts: list(parts), shared=True, ours=False),
    dict: Kind(lambda value: tuple(value.values()), _dict_with, _dict_with, shared=True, ours=False),
    slice: Kind(lambda value: (value.start, value.stop, value.step), lambda value, parts: slice(*parts),
                lambda value, parts: slice(*parts), ours=False),
    Lives: Kind(lambda value: tuple(value.values()), _dict_with, _no_python, tuple),
    Range: Kind(lambda value: (value.start, value.stop, value.step), lambda value, parts: Range(*parts),
                lambda value, parts: range(*parts)),
    Formatted: Kind(lambda value: tuple(value.values),
                    lambda value, parts: Formatted([p if isinstance(p, str) else (next(parts), *p[1:]) for p in value.parts]),
                    lambda value, parts: value.make(parts),
                    lambda value: tuple([p if isinstance(p, str) else p[1:] for p in value.parts])),
    MadeException: Kind(lambda value: (*value.args, *value.kwargs.values()), _exception_with, _no_python,
                        lambda value: (value.cls, len(value.args), tuple(value.kwargs), id(value.__cause__), id(value.fields))),
    Unsure: Kind(lambda value: (value.given, value.value), lambda value, parts: Unsure(value.name, *parts),
                 lambda value, parts: next(parts) if next(parts) else Undefined(value.name)),
    Mixed: Kind(lambda value: tuple([part for pair in value.choices.values() for part in pair]),
                lambda value, parts: Mixed(dict(zip(value.choices, zip(parts, parts)))),
                lambda value, parts: _one_that_is(parts), lambda value: tuple(value.choices)),
    BoundMethod: Kind(lambda value: (value.self,), lambda value, parts: type(value)(value.function, *parts, value.name),
                      lambda value, parts: getattr(next(parts), value.name),
                      lambda value: (type(value), value.function, value.name)),
    ByExit: Kind(lambda value: tuple(value.values.values()),
                 lambda value, parts: ByExit(value.error, dict(zip(value.values, parts))), _no_python,
                 lambda value: tuple(value.values)),
}


LEAF = Kind(lambda value: (), lambda value, parts: value, lambda value, parts: value, shared=True, ours=False)


_kinds: dict[type, Kind] = {}                        # of the classes that were looked at
MAX_KINDS = 1024


def kind_of_class(cls: type) -> Kind:
    """The kind of the values of a class, LEAF for those that have no parts."""
    kind = _kinds.get(cls)
    if kind is None:
        if len(_kinds) >= MAX_KINDS:                         # no class is kept alive for ever
            _kinds.clear()
        kind = _kinds[cls] = next((KINDS[base] for base in cls.__mro__ if base in KINDS), LEAF)
    return kind


def kind_of(value: Value) -> Kind:
    """The kind of a value."""
    return kind_of_class(type(value))


def is_leaf(value: Value) -> bool:
    """True for what is not made of parts: a container of Python's is the same whatever is in it."""
    return kind_of_class(type(value)).shared


def parts_of(value: Value) -> tuple:
    """The parts of a value, in order; () for a leaf."""
    return kind_of_class(type(value)).parts(value)


def remade(value: Value, parts: Sequence) -> Value:
    """A value like `value` with these parts; itself where they are its own."""
    if all(new is old for new, old in zip(parts, parts_of(value))):
        return value
    return kind_of(value).remade(value, iter(parts))


def map_parts(change: Callable[[Any], Any], value: Value) -> Value:
    """The value with change(part) for each of its parts; a leaf, or a container of Python's, as it is."""
    kind = kind_of_class(type(value))
    if kind.shared:
        return value
    parts = kind.parts(value)
    changed = [change(part) for part in parts]
    return value if all(map(operator.is_, changed, parts)) else kind.remade(value, iter(changed))


def zipped(first: Value, *others: Value) -> list[tuple] | None:
    """The parts of values that can be merged part by part, side by side; None where they cannot."""
    kind = kind_of(first)
    if kind.shared or any(kind_of(v) is not kind or kind.frame(v) != kind.frame(first) for v in others):
        return None
    return list(zip(kind.parts(first), *[kind.parts(x) for x in others]))


def walk(value: Value, content: Callable[[Box], Any] | None = None) -> Iterator:
    """A value, and all that is in it, from the outside in. content: what gives what a Box holds; None: Boxes are leaves"""
    yield value
    for part in (content(value),) if isinstance(value, Box) and content else parts_of(value):
        yield from walk(part, content)


def leaves(value: Value, content: Callable[[Box], Any] | None = None) -> Iterator:
    """The leaves in a value, in order. content: see walk"""
    return (x for x in walk(value, content) if kind_of(x) is LEAF and not (isinstance(x, Box) and content))


def data_in(value: Value, store: dict) -> list:
    """The run-time nodes and Tensors in a value, in order. store: what holds the content of Boxes"""
    return [x for x in leaves(value, store.__getitem__) if isinstance(x, (AnfNode, Tensor))]


def has_nodes(value: Value, store: dict) -> bool:
    """True if any part of the value is known at run time only."""
    return any(isinstance(x, AnfNode) for x in data_in(value, store)) or isinstance(value, Dim)


def has_sizes(value: Value) -> bool:
    """True if a size that is known at run time only stands in a value."""
    return any(isinstance(x, Dim) for x in leaves(value))


def maker(value: Value, leaf: Callable[[Any], Callable | None]) -> Callable[[Any], Any]:
    """A function of what the run knows that makes what Python has for the value.

    leaf   : gives it for what has no parts, or is made in another way; None for what is made of its parts
    raises : the error of a Conflict
    """
    if isinstance(value, Conflict):
        raise value.error
    made = leaf(value)
    if made is not None:
        return made
    if is_leaf(value):
        return lambda now: value
    kind = kind_of(value)
    makers = [maker(part, leaf) for part in kind.parts(value)]
    return lambda now: kind.python(value, (make(now) for make in makers))


def maker_of_content(box: Box, content: Value, leaf: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a Box that holds this."""
    if box.kind == "iterator":
        raise Refusal("an iterator is given to Python code", box.marks)
    make = maker(content if isinstance(content, Conflict) or box.kind == "cell" else tuple(content), leaf)
    return make if box.kind == "cell" else lambda now: {"list": list, "dict": dict, "set": set}[box.kind](make(now))


def skeleton(value: Value) -> Any:
    """What two values that differ in their run-time parts at most have in common."""
    if isinstance(value, (AnfNode, Tensor, Dim, Mixed)):
        return "node"
    if isinstance(value, BaseException) and type(value).__module__ == "builtins" and not vars(value):
        return type(value), skeleton(value.args), id(value.__cause__)
    if not is_leaf(value):
        return kind_of(value).frame(value), tuple([skeleton(x) for x in parts_of(value)])
    return (type(value), repr(value)) if isinstance(value, (str, bytes, int, float, bool, type(None))) else id(value)
