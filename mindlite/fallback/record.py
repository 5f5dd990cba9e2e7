"""What calls that run in Python gave, recorded: the types with which the code behind them is compiled.

    describe((Tensor(shape=[3]), 2.5, None, obj))     ->  (f32[3], float, None, any)
    opened(that)                                      ->  (f32[s0], float, None, any)
    widen((f32[3], None), (f32[5], 2.5))              ->  (f32[3], any)

A value that is not there (what a statement returns, where it does not return) is ABSENT; until one has been seen its
record is UNMET, and code that uses it is not compiled.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union

import numpy as np

from ..common.dim import Symbol
from ..common.tensor import Tensor
from ..mindir.abstract import Abstract, AbstractAny, AbstractScalar, AbstractTensor
from ..mindir.builder import constant
from ..mindir.syntax import Undefined


class Absent:
    """The value that is not there; using it in compiled code is a Trap."""
    __slots__ = ("key",)

    def __init__(self, key: tuple | None = None) -> None:
        self.key = key

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()

Record = Union["Given", tuple]                  # of a value, or of the items of a tuple


class Given:
    """The record of one value: a constant, or the abstract of a run-time value."""
    __slots__ = ("value", "abstract")

    def __init__(self, value: Any = None, abstract: Any = None) -> None:
        self.value, self.abstract = value, abstract

    def __str__(self) -> str:
        return str(self.abstract) if self.abstract is not None else repr(self.value)


ANY, UNMET = Given(abstract=AbstractAny()), Given(ABSENT)


def describe(value: Any) -> Record:
    """The record of what a call gave: tensors and numbers by type, tuples by their items, the rest as objects."""
    if isinstance(value, Tensor):
        return Given(abstract=constant(value).abstract)
    if type(value) in (bool, int, float) and has_register(value):
        return Given(abstract=AbstractScalar(type(value)))
    if value is ABSENT:
        return UNMET
    if value is None or isinstance(value, Undefined):
        return Given(value)
    return tuple([describe(v) for v in value]) if type(value) is tuple else ANY


def has_register(value: Any) -> bool:
    """False for an int that 64 bits do not hold."""
    return type(value) is not int or -1 << 63 <= value < 1 << 63


def fits(value: Any, record: Record) -> bool:
    """True if code that is compiled for `record` takes `value`."""
    if isinstance(record, tuple):
        return type(value) is tuple and len(value) == len(record) and all(map(fits, value, record))
    wanted = record.abstract
    if wanted is None:
        return value is record.value or isinstance(value, Undefined) and value == record.value
    if value is ABSENT or isinstance(wanted, AbstractAny):
        return True
    if isinstance(wanted, AbstractTensor):
        return isinstance(value, Tensor) and value.dtype is wanted.dtype and len(value.shape) == wanted.ndim
    return type(value) is wanted.type and has_register(value)


def widen(a: Record, b: Record) -> Record:
    """The record of what `a` or `b` is the record of."""
    if a is UNMET or b is UNMET:
        return b if a is UNMET else a
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(map(widen, a, b))
    if isinstance(a, tuple) or isinstance(b, tuple):
        return ANY
    x, y = a.abstract, b.abstract
    if isinstance(x, AbstractTensor) and isinstance(y, AbstractTensor):
        return a if x.dtype is y.dtype and x.ndim == y.ndim else ANY
    return a if x == y and a.value == b.value else ANY


def opened(record: Record) -> Record:
    """A record with every size replaced by a Symbol of its own."""
    if isinstance(record, tuple):
        return tuple(opened(r) for r in record)
    if isinstance(record.abstract, AbstractTensor):
        sizes = tuple([Symbol(lo=0).dim for _ in record.abstract.shape])
        return Given(abstract=AbstractTensor(record.abstract.dtype, sizes))
    return record


def abstracts_in(record: Record) -> list[Abstract]:
    """The types of the run-time values of a record, in order."""
    if isinstance(record, tuple):
        return [abstract for r in record for abstract in abstracts_in(r)]
    return [] if record.abstract is None else [record.abstract]


def values_in(value: Any, record: Record) -> list:
    """The run-time values in what a call gave, in the order of the record; zeros for what is absent."""
    if isinstance(record, tuple):
        return [x for v, r in zip(value, record) for x in values_in(v, r)]
    if record.abstract is None:
        return []
    if value is ABSENT and isinstance(record.abstract, AbstractTensor):
        return [Tensor.wrap(np.zeros((0,) * record.abstract.ndim, record.abstract.dtype.numpy))]
    return [record.abstract.type(0) if value is ABSENT and isinstance(record.abstract, AbstractScalar) else value]


def filled(record: Record, values: Iterator[Any]) -> Any:
    """What a record stands for, with these (an iterator) as its run-time values."""
    if isinstance(record, tuple):
        return tuple([filled(r, values) for r in record])
    return record.value if record.abstract is None else next(values)


class Records:
    """What is known of the Python code of one jitted function.

    given : {key: record} of calls that have been made
    volatile: {(kind, id of owner, name): owner} of variables outside that Python code changes during a run
    changes : how often something was learnt
    in_place: keys of calls that have changed a Tensor in place
    marks : {what Python has to do, or to hold, beside what no graph can say (see `infer/sharing.py`): why}
    """

    def __init__(self) -> None:
        self.given: dict[tuple, Record] = {}
        self.marks: dict[tuple, str] = {}
        self.volatile: dict[tuple[str, int, str], Any] = {}
        self.settled: dict[tuple, str] | None = None
        self.in_place: set[tuple] = set()
        self.changes = 0

    def __len__(self) -> int:
        return len(self.given)

    def add(self, key: tuple, value: Any) -> Record:
        """A call gave `value`; its record."""
        known, seen = self.given.get(key), describe(value)
        self.given[key] = seen = seen if known is None else widen(known, seen)
        self.changes += seen != known
        return seen

    def learn(self, volatile: dict[tuple[str, int, str], Any]) -> None:
        """These variables change during a run."""
        self.changes += not volatile.keys() <= self.volatile.keys()
        self.volatile.update(volatile)

    def learn_in_place(self, key: tuple) -> None:
        """The call changes a Tensor that Python code was given."""
        self.changes += key not in self.in_place
        self.in_place.add(key)

    def has_run(self) -> bool:
        """True if the function has run, and was recorded, with these marks."""
        return self.settled is not None and self.settled.keys() == self.marks.keys()

    def ran(self, well: bool) -> None:
        """It has run; if not well, an exception came out, and what was marked for this run is forgotten."""
        if well:
            self.settled = dict(self.marks)
        else:
            self.marks = dict(self.settled or {})
