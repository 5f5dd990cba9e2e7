"""The log of a run: what its Python calls gave, so that the run can begin again without making them twice.

Compiled code may come to a place that it was not compiled for: a call gives another type than it ever did, a path is
taken on which nothing is known yet. Everything that happened outside of it so far were Python calls, and what they
gave stands here: the function is executed again, statement by statement, takes their results from the log and goes on
from there (deoptimisation with replay; Hölzle, Chambers & Ungar 1992 map the frame instead).
"""
import contextlib
import threading
from collections import deque

from ..common.errors import GraphSyntaxError


class Trap(BaseException):
    """Compiled code came to where nothing is known. No handler of the user's sees it.

    key     : of the call;   given : [what it gave], or [] where it was not reached before
    restless: {key: owner} of variables that the call has changed, and that were taken for constants
    """

    def __init__(self, key, given=(), location=None, restless=()):
        super().__init__(str(key))
        self.key, self.given, self.location, self.restless = key, given, location, dict(restless)


class Raised:
    """Stands for the exception that a call has raised."""

    def __init__(self, error):
        self.error = error


class CannotReplay(GraphSyntaxError):
    """A run was trapped after calls whose results a tape knows: it cannot begin again."""


class Log:
    """What the calls of a run gave, and what they did to variables.

    given    : {key: [what a call gave, functions that do again what it did to variables], in order}
    undo     : functions that undo what the run did to variables, in order
    recorded : some of it was made for the gradient of compiled code
    """

    def __init__(self):
        self.given, self.undo, self.recorded = {}, [], False

    def add(self, key, value, recorded=False, redo=()):
        """A call gave `value`."""
        self.given.setdefault(key, deque()).append((value, redo))
        self.recorded |= recorded

    def take(self, key):
        """[the next value of these calls], or [] where they have to be made."""
        values = self.given.get(key)
        if not values:
            return []
        value, redo = values.popleft()
        for function in redo:
            function()
        return [value]

    def rewind(self):
        """Variables are as they were when the run began."""
        for function in reversed(self.undo):
            function()
        self.undo = []


class _Logs(threading.local):
    def __init__(self):
        self.stack = []


_logs = _Logs()


def current_log():
    """The log of the innermost run in this thread, or None."""
    return _logs.stack[-1] if _logs.stack else None


@contextlib.contextmanager
def logging_to(log):
    """Runs inside the block log to `log`."""
    _logs.stack.append(log)
    try:
        yield log
    finally:
        _logs.stack.pop()
