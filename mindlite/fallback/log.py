"""The log of a run: what its Python calls gave, so that the run can begin again without making them twice.

Compiled code may come to a place that it was not compiled for: a call gives another type than it ever did, a path is
taken on which nothing is known yet. Everything that happened outside of it so far were Python calls, and what they
gave stands here: the function is executed again, statement by statement, takes their results from the log and goes on
from there (deoptimisation with replay; Hölzle, Chambers & Ungar 1992 map the frame instead). Where a gradient is being
made, what the calls left on the tapes of the first run enters those of the second (`pynative/segments.py`).
"""
from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..common.errors import GraphSyntaxError
from ..common.location import Location
from ..common.records import dataclass
from ..common.tensor import Tensor
from .handed import Handed, alike, tensors_in


class Trap(BaseException):
    """Compiled code came to where nothing is known. No handler of the user's sees it.

    key     : of the call;   given : [what it gave], or [] where it was not reached before
    volatile: {key: owner} of variables that the call has changed, and that were taken for constants
    in_place: it has changed a Tensor that it was given
    """

    def __init__(self, key: Any, given: Sequence[Any] = (), location: Location | None = None, volatile: Any = (),
                 in_place: bool = False) -> None:
        super().__init__(str(key))
        self.key, self.given, self.location, self.volatile = key, given, location, dict(volatile)
        self.in_place = in_place


class Raised:
    """Stands for the exception that a call has raised."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class CannotReplay(GraphSyntaxError):
    """A run was trapped after a call whose gradient is wanted, and the new run has not what that call was given."""


@dataclass(eq=False)
class Call:
    """A call of Python.

    value    : what it gave;    redo: functions that do again what it did to variables
    operands : what compiled code gave it;    places: the variables outside that were written for it
    tapes    : what it left on the tapes of compiled derivatives, inner ones first (pynative.segments.Recording)
    changed  : (array of a Tensor that it, or an earlier call, was given and has changed; what it is to hold): for the log it
               holds what it did before
    """
    value: Any
    redo: tuple = ()
    operands: tuple = ()
    places: tuple = ()
    tapes: tuple = ()
    changed: tuple = ()


class Log:
    """What the calls of a run gave, and what they did to variables.

    given   : {a construct, with the calls that lead to it: (name, Call) of its calls, in order};    last: the latest of all
    undo    : functions that undo what the run did to variables, in order
    outside : the tapes around the run on which it is not recorded
    passed  : {id: what compiled code gave a call};    met: the values of the run that begins again, where a call has tapes
    handed  : what Python code was given and kept, watched;    lent: (Tensor, what it is a copy of) for the call that begins
    again   : the Tensors that the run that begins again has given
    """

    def __init__(self, outside: Sequence[Any] = ()) -> None:
        self.given: dict[tuple, deque[tuple[str | None, Call]]] = {}
        self.last: Any = None                            # a Call
        self.undo: list[Callable[[], Any]] = []
        self.outside, self.handed = outside, Handed()
        self.passed: dict[int, Any] = {}
        self.met: list | None = None
        self.lent: Sequence[tuple[Tensor, np.ndarray]] = ()
        self.again: list[Tensor] = []

    def add(self, construct: tuple, name: str | None, call: Call) -> None:
        """A call was made."""
        self.given.setdefault(construct, deque()).append((name, call))
        self.last = call

    def take(self, construct: tuple, name: str | None, operands: Callable[[], Any]) -> list:
        """[the value of the next call of this construct], or [] where it was another or none, and has to be made.

        name: of the call (None: the construct itself);   operands: () -> what the new run gives it
        """
        calls = self.given.get(construct)
        if not calls or calls[0][0] != name:
            return []
        call = calls.popleft()[1]
        for depth, recording in enumerate(call.tapes):
            recording.enter(depth, call, [operands(), *[place.read() for place in call.places]], self)
        for function in call.redo:
            function()
        if any(each.changed for each in (call, *[c for rest in self.given.values() for _, c in rest])):
            self.change_again(call, tensors_in(operands()))
        return [call.value]

    def change_again(self, call: Call, tensors: Iterable[Tensor]) -> None:
        """What a call did to Tensors in place, done to those of the run that begins again."""
        self.again += tensors
        for array, content in call.changed:
            mine = next((t for t in reversed(self.again) if t.host_array is not array and alike(t.host_array, array)), None)
            if mine is not None:
                mine.host_array[...] = content
            array[...] = content

    def rewind(self) -> None:
        """Variables are as they were when the run began; it begins again."""
        for function in reversed(self.undo):
            function()
        self.undo = []
        calls = [call for each in self.given.values() for _, call in each]
        if any(call.tapes for call in calls):
            self.passed, self.met = {id(value): value for call in calls for value in call.operands}, []


class _Logs(threading.local):
    def __init__(self) -> None:
        self.stack: list[Log] = []


_logs = _Logs()


def current_log() -> Log | None:
    """The log of the innermost run in this thread, or None."""
    return _logs.stack[-1] if _logs.stack else None


@contextlib.contextmanager
def logging_to(log: Log) -> Iterator[Log]:
    """Runs inside the block log to `log`."""
    _logs.stack.append(log)
    try:
        yield log
    finally:
        _logs.stack.pop()
