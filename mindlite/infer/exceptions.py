"""try during inference: what is raised in it, certainly or on a condition, is one more way out, to its handler.

    try: y = 6 // n                  n: int              %1 = ne(n, 0)
    except ZeroDivisionError: y = 0                      %2 = cond(%1, n, true={floordiv(6, n)}, false={0})

An exception whose raising is certain is a value, and the handler is executed next. One that depends on a run-time value
splits what follows (`branches.open_side`); each kind of exception comes to the handler with its class known, so that
`except` chooses at compile time. Calls that run in Python inside a `try` say whether they raised, and what.

What Python would raise is asked of Python: an exception that comes up while a construct is inferred counts as the
program's only if the operators of the framework raise it, or if Python does (`program.py`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common.errors import (ArgumentError, DTypeError, EndlessRecursionError, IndexRangeError, InternalError, MindliteError,
                             MissingAttributeError, NameLookupError, Refusal, ShapeError, UndefinedNameError, ValueRangeError)
from ..common.tracebacks import without_framework
from ..mindir.abstract import AbstractScalar
from ..mindir.graph import AnfNode, CNode
from ..fallback.log import Trap
from ..fallback.record import Given
from .access import attribute
from .branches import choose, closing, go_round_or_leave, to_handler
from .evaluating import Blocks, Evaluating
from .fallback import NeedsRecord, call_unknown
from .messages import class_of
from .program import by_python, raises
from .state import Attempt, Caught, Departs, Frame, NoResultYet, Outcome, Raises, Recursion
from .values import Traceback, Value
from .widening import CannotLoop


TRACEBACK = Traceback()


# ---------------------------------------------------------------- try

def run_try(ev: Evaluating, frame: Frame, end: CNode, stops: Blocks, body: Callable[[Any], Outcome] | None = None,
            handles: bool = False) -> Outcome:
    """Execute a `try` (its terminator is `end`) up to where its ways out meet, or to one of `stops`.

    body    : what to execute, given where to stop, in place of its first block: a generator goes on in the middle
    handles : that is in its handler
    """
    attrs = end.attrs
    inner = stops if attrs["join"] is None else stops | {attrs["join"]}
    body = body or (lambda ends: ev.run_block(frame, attrs["body"], ((), {}), ends))
    if ev.concrete:
        outcome = _try_concretely(ev, frame, attrs, inner, body, handles)
    elif handles:
        outcome = body(inner | set(attrs["handler_exits"]))
    else:
        attempt = Attempt()
        outcome = _attempt(ev, frame, attempt, lambda: body(inner | set(attrs["exits"])))
        outcome = _handle(ev, frame, attempt, outcome, lambda exception: _run_handler(
            ev, frame, attrs, exception, inner))
    return ev.go_on(frame, ev.go_on(frame, outcome, inner), stops)


def _attempt(ev: Evaluating, frame: Frame, attempt: Attempt, body: Callable[[], Outcome]) -> Outcome:
    """The outcome of body() as the body of a `try`."""
    env = frame.env
    frame.env = env.new_child()
    try:
        with ev.attempts.inside(attempt):
            return closing(ev, body)
    except Raises as raised:
        if isinstance(raised.exception, Trap):
            raise
        with ev.attempts.inside(attempt):
            return to_handler(ev, raised)
    finally:
        frame.env = env


def _handle(ev: Evaluating, frame: Frame, attempt: Attempt, outcome: Outcome, handle: Callable[..., Outcome]) -> Outcome:
    """`outcome` after handle(exception) for each exception of the attempt."""
    while True:
        target = next((t for t in outcome.exits if isinstance(t, Caught) and t.attempt is attempt), None)
        if target is None:
            return outcome
        exception = outcome.exits[target]
        if outcome.single is not None:
            choose(ev, target)
            outcome = handle(exception)
        else:
            outcome = go_round_or_leave(ev, frame, target, outcome, lambda exception=exception: handle(exception))


def _run_handler(ev: Evaluating, frame: Frame, attrs: dict[str, Any], exception: Value, stops: Blocks) -> Outcome:
    with ev.attempts.handle(exception):
        outcome = ev.run_block(frame, attrs["handler"], ((), {}), stops | set(attrs["handler_exits"]))
    return ev.go_on(frame, outcome, stops)


def _try_concretely(ev: Evaluating, frame: Frame, attrs: dict[str, Any], stops: Blocks, body: Callable[[Any], Outcome],
                    handles: bool) -> Outcome:
    if handles:
        return body(stops | set(attrs["handler_exits"]))
    try:
        return body(stops | set(attrs["exits"]))
    except OF_INFERENCE:
        raise
    except Raises as raised:
        return _run_handler(ev, frame, attrs, without_framework(raised.exception), stops)
    except MindliteError as error:
        return _run_handler(ev, frame, attrs, without_framework(error), stops)


def catches(ev: Evaluating, exception: Value, classes: Value) -> Value:
    """Does `except classes` take the exception?"""
    every = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in every):
        raise raises(ev, TypeError("catching classes that do not inherit from BaseException is not allowed"))
    if isinstance(exception, AnfNode):
        return call_unknown(ev, isinstance, (exception, classes), {}, "which exception Python code raised",
                            returns=Given(abstract=AbstractScalar(bool)))
    return issubclass(class_of(exception), every)


def enter(ev: Evaluating, manager: Value) -> Value:
    """manager.__enter__()"""
    if not isinstance(manager, AnfNode) and not all(hasattr(type(manager), n) for n in ("__enter__", "__exit__")):
        raise raises(ev, TypeError(f"{type(manager).__name__!r} object does not support the context manager protocol"))
    return ev.call(_method(ev, manager, "__enter__"), (), {})


def _method(ev: Evaluating, manager: Value, name: str) -> Value:
    return by_python(ev, getattr, manager, name) if ev.concrete else attribute(ev, manager, name)


def leave_context(ev: Evaluating, manager: Value, exception: Value) -> Value:
    """manager.__exit__(..)"""
    args: tuple = (None, None, None)
    if isinstance(exception, AnfNode):
        args = (call_unknown(ev, type, (exception,), {}, "the class of what Python code raised"), exception, TRACEBACK)
    elif exception is not None:
        args = class_of(exception), exception, exception.__traceback__ if ev.concrete else TRACEBACK
    return ev.call(_method(ev, manager, "__exit__"), args, {})


# ---------------------------------------------------------------- whose exception is it?

OF_INFERENCE = (Refusal, InternalError, NeedsRecord, Recursion, NoResultYet, CannotLoop, Departs, UndefinedNameError)
OF_OPERATORS = (ShapeError, DTypeError, ValueRangeError, IndexRangeError, ArgumentError, MissingAttributeError)


def believed(ev: Evaluating, error: MindliteError) -> BaseException:
    """The meaning of an error of mindlite inside a `try`: Raises, if the program raises
    it; otherwise a refusal, so that Python runs the statement."""
    if isinstance(error, OF_INFERENCE):
        return error
    if isinstance(error, EndlessRecursionError):             # Python runs the call, and may catch its own
        return Refusal.uncertain(error)
    if isinstance(error, NameLookupError):
        return raises(ev, NameError(error.message))
    if isinstance(error, OF_OPERATORS):
        return raises(ev, error)
    return Refusal(f"{type(error).__name__}: {error.message}; in a try statement", location=error.location)
