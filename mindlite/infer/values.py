"""The values that inference computes with.

What is known at compile time stands for itself: numbers, strings, functions, Cells, Tensors are plain Python objects.
What is known at run time is a typed AnfNode. Tuples are tuples of such values; mutable containers are Boxes, whose
content stands in the Evaluator's store, so that the two sides of a branch can change it differently and be merged.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from types import CellType, CodeType
from typing import Any, NoReturn

from ..common.errors import MindliteError, Refusal
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..mindir.syntax import Undefined

Value = Any                      # what inference computes with: a Python object, a node, a Box, or another class of this module


class Box:
    """The identity of a mutable value; its content is `store[box]`.

    kind  : "list", "dict", "set", "cell"
    marks : what makes it Python's from the beginning (sharing.py)
    """
    __slots__ = ("kind", "name", "marks")

    def __init__(self, kind: str, name: str = "", marks: tuple = ()) -> None:
        self.kind, self.name, self.marks = kind, name, marks

    def __repr__(self) -> str:
        return f"<{self.kind}>"


class Constants(tuple):
    """The elements of a set display of three or more constants. Python makes the set from a frozenset constant
    (`constant`), whose order may differ from that of a set to which they are added one by one."""
    constant: frozenset

    def __new__(cls, elements: Iterable[Any], code: CodeType) -> Constants:
        self = super().__new__(cls, elements)
        self.constant = _constant_set(code, set(elements)) or frozenset(elements)
        return self


def _constant_set(code: CodeType, elements: set) -> frozenset | None:
    """The frozenset of these elements among the constants of a code object, and of those in it."""
    for value in code.co_consts:
        found = value if isinstance(value, frozenset) and value == elements else \
            _constant_set(value, elements) if isinstance(value, types.CodeType) else None
        if found is not None:
            return found
    return None


class Lives(dict):
    """The values of syntax nodes that go along where a region is left: {syntax node: value}."""


class Place:
    """A variable that stands outside of the graph: an attribute of an object, a global, or a closure cell.

    kind: "attr" (owner, name), "item" (namespace, name) or "cell" (cell). What a graph assigns to it is in the
    Evaluator's store until the run is over. Two Places are equal if they are the same variable.
    """
    __slots__ = ("kind", "owner", "name", "key", "hash")

    def __init__(self, kind: str, owner: Value, name: str) -> None:
        self.kind, self.owner, self.name, self.key = kind, owner, name, (kind, id(owner), name)
        self.hash = hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.key == other.key

    def __hash__(self) -> int:
        return self.hash

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def guard(self, value: Value) -> tuple[str, Any, str, Any]:
        """The guard that says it holds `value`."""
        return self.kind, self.owner, self.name, value

    def read(self) -> Value:
        """What it holds now, Undefined if nothing."""
        if self.kind == "item":
            return self.owner[self.name] if self.name in self.owner else Undefined(self.name)
        if self.kind == "cell":
            return content_of_cell(self.owner, Undefined(self.name))
        try:
            return getattr(self.owner, self.name)
        except Exception:                                    # of the user's own property, too
            classes = self.owner.__mro__ if isinstance(self.owner, type) else ()       # a descriptor asks for an object
            return next((cls.__dict__[self.name] for cls in classes if self.name in cls.__dict__), Undefined(self.name))

    def write(self, value: Value) -> None:
        """Assign to it; Undefined deletes it."""
        gone = isinstance(value, Undefined)
        if gone and isinstance(self.read(), Undefined):
            return                                           # assigned and deleted in the same run
        if self.kind == "item":
            self.owner.pop(self.name, None) if gone else self.owner.__setitem__(self.name, value)
        elif self.kind == "cell":
            if gone:
                del self.owner.cell_contents
            else:
                self.owner.cell_contents = value
        elif gone:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, value)


def content_of_cell(cell: CellType, otherwise: Value) -> Value:
    """What a closure cell holds; `otherwise` if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return otherwise


@dataclass(frozen=True, eq=False)
class Closure:
    """A function made inside a graph: its FuncGraph (syntax), its enclosing frame, its
    defaults. wrapped: the function that functools.wraps names, or None"""
    graph: Any
    frame: Any
    env: Any
    defaults: tuple
    signature: Any
    wrapped: Any = None


@dataclass(frozen=True, eq=False)
class BoundMethod:
    """A method of a run-time value: function(self, ...)."""
    function: Any
    self: Any
    name: str


@dataclass(frozen=True, eq=False)
class LeavingMethod(BoundMethod):
    """A method that gives NumPy's or Python's data of a run-time value, such as asnumpy: it runs in Python."""


@dataclass(frozen=True, eq=False)
class HookMethod(BoundMethod):
    """register_hook of a Tensor, remove of what that gives (gates.py)."""


@dataclass(frozen=True)
class Range:
    """range(start, stop, step) with an end that is known at run time only."""
    start: Any
    stop: Any
    step: Any


class LiveIterator:
    """An iterator of Python that is asked for item i, items in order."""

    def __init__(self, value: Value) -> None:
        self.iterator, self.number, self.item = iter(value), -1, None

    def has(self, i: int) -> bool:
        """Is there an item i?"""
        while self.number < i:
            try:
                self.item = next(self.iterator)
            except StopIteration as stop:
                self.item = stop.value
                return False
            self.number += 1
        return True

    def get(self, i: int) -> Any:
        """Item i, for which `has` was asked."""
        return self.item


class Unsure:
    """A variable that has a value on some paths only: `value`, where `given` (a bool, or a node of one) holds."""
    __slots__ = ("name", "given", "value")

    def __init__(self, name: Any, given: Value, value: Value) -> None:
        self.name, self.given, self.value = name, given, value

    @classmethod
    def of(cls, value: Value, other: Unsure | None = None) -> Unsure:
        """A variable's value as an Unsure. other: an Unsure that says what stands there where it has none"""
        if isinstance(value, Unsure):
            return value
        gone = isinstance(value, Undefined)
        return cls(value.name if gone else other and other.name, not gone, (other and other.value) if gone else value)


class Mixed:
    """A number or Tensor of several types, by the path: {type: (is it that? a bool or a node of one, the value then)}.

    A construct that does something with it is executed for each type, on the condition that it is that (`each_type`).
    """
    __slots__ = ("choices",)

    def __init__(self, choices: dict[Any, tuple]) -> None:
        self.choices = choices

    @staticmethod
    def of(value: Value, kind: Any) -> dict[Any, tuple]:
        """The choices of a value. kind: its type, if it is of one"""
        return value.choices if isinstance(value, Mixed) else {kind: (True, value)}


@dataclass(frozen=True)
class Conflict:
    """A variable whose values on two paths do not fit together; using it raises the error."""
    error: MindliteError

    def __iter__(self) -> NoReturn:
        raise self.error

    def __len__(self) -> NoReturn:
        raise self.error

    def __add__(self, other: Any) -> NoReturn:
        raise self.error


# of f-strings, and what makes of repr(x) what ascii(x) is
CONVERSIONS: dict[str, Callable[..., Any]] = {"": lambda value: value, "s": str, "r": repr, "a": ascii,
               "escaped": lambda text: text.encode("ascii", "backslashreplace").decode("ascii")}


class Formatted:
    """A string with run-time values in it: parts are strings and (value, spec, conversion)."""

    def __init__(self, parts: list) -> None:
        self.parts = parts

    @property
    def values(self) -> list:
        """The run-time values, in order."""
        return [p[0] for p in self.parts if not isinstance(p, str)]

    def make(self, values: Iterable[Any]) -> str:
        """The string for the given values."""
        values = iter(values)
        return "".join(p if isinstance(p, str) else format(CONVERSIONS[p[2]](next(values)), p[1]) for p in self.parts)


class MadeException:
    """An exception that is made of run-time values: cls(*args, **kwargs). `fields`: the object that holds what its
    __init__, if it is a user's, has assigned; None without one. marks: what makes it Python's (sharing.py); origin: where
    it was raised"""
    origin: Any = None

    def __init__(self, cls: type, args: tuple, kwargs: dict[str, Any], fields: Value = None, marks: tuple = ()) -> None:
        self.cls, self.args, self.kwargs, self.fields, self.marks = cls, args, kwargs, fields, marks
        self.__cause__ = self.__context__ = None

    def marked(self, marks: tuple) -> MadeException:
        """This exception, with these marks too."""
        self.marks = (*self.marks, *[mark for mark in marks if mark not in self.marks])
        return self

    def after(self, other: MadeException) -> MadeException:
        """This exception, with the cause and the context of another."""
        self.__cause__, self.__context__, self.origin = other.__cause__, other.__context__, other.origin
        return self


class Traceback:
    """Stands for the traceback of an exception that no frame of Python has raised."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Refusal("a traceback is not known in a graph")


@dataclass(frozen=True, eq=False)
class ByExit(Conflict):
    """A variable whose values fit together only per way out: {target: value}. It has one again when a way is taken."""
    values: dict


def assumed_of(value: Value) -> Any:
    """What a compiled graph assumes of an input: the class of a number, dtype and sizes of a Tensor."""
    if isinstance(value, Tensor):
        return Tensor, value.dtype, value.elements.shape
    return type(value) if fits(value) else "a large int"


def fits(value: Value) -> bool:
    """False for an int that a register of 64 bits does not hold."""
    return type(value) is not int or -1 << 63 <= value < 1 << 63


def rebuild(cls: Any, items: Iterable[Any]) -> tuple:
    """A tuple of the same class as `cls`: namedtuples keep theirs."""
    return cls._make(items) if hasattr(cls, "_make") else tuple(items)
