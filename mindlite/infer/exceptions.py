"""try during inference: what is raised in it, certainly or on a condition, is one more way out, to its handler.

    try: y = 6 // n                  n: int              %1 = ne(n, 0)
    except ZeroDivisionError: y = 0                      %2 = cond(%1, n, true={floordiv(6, n)}, false={0})

An exception whose raising is certain is a value, and the handler is executed next. One that depends on a run-time value
splits what follows (`branches.open_side`); each kind of exception comes to the handler with its class known, so that
`except` chooses at compile time. Calls that run in Python inside a `try` say whether they raised, and what.

What Python would raise is asked of Python: an exception that comes up while a construct is inferred counts as the
program's only if the operators of the framework raise it, or if Python does for the same values (`believed`).
"""
import functools
import operator

from ..common.errors import (ArgumentError, DTypeError, EndlessRecursionError, GraphSyntaxError, IndexRangeError,
                             InternalError, MissingAttributeError, NameLookupError, ShapeError, UndefinedNameError,
                             ValueRangeError)
from ..common.tracebacks import without_framework
from ..mindir import syntax
from ..mindir.abstract import AbstractScalar
from ..mindir.graph import AnfNode
from ..mindir.syntax import Undefined
from ..fallback.log import Trap
from ..fallback.record import Given
from .access import COMPARISONS, OPERATORS, attribute
from .branches import choose, closing, go_round_or_leave, to_handler
from .builtins import BUILTINS
from .calls import EFFECTFUL, is_known
from .fallback import NeedsRecord, call_unknown
from .loops import CannotLoop
from .messages import class_of
from .outcome import Attempt, Caught, Departs, NoResultYet, Raises, Recursion
from .values import BoundMethod, Box, Closure, Conflict, Formatted, MadeException, Mixed, Range, Traceback, Unsure, has_nodes


TRACEBACK = Traceback()


# ---------------------------------------------------------------- try

def run_try(ev, frame, end, stops, body=None, handles=False):
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


def _attempt(ev, frame, attempt, body):
    """The outcome of body() as the body of a `try`."""
    env = frame.env
    frame.env = env.new_child()
    ev.attempts.append(attempt)
    try:
        return closing(ev, body)
    except Raises as raised:
        if isinstance(raised.exception, Trap):
            raise
        return to_handler(ev, raised)
    finally:
        ev.attempts.pop()
        frame.env = env


def _handle(ev, frame, attempt, outcome, handle):
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


def _run_handler(ev, frame, attrs, exception, stops):
    ev.handling.append(exception)
    try:
        outcome = ev.run_block(frame, attrs["handler"], ((), {}), stops | set(attrs["handler_exits"]))
    finally:
        ev.handling.pop()
    return ev.go_on(frame, outcome, stops)


def _try_concretely(ev, frame, attrs, stops, body, handles):
    if handles:
        return body(stops | set(attrs["handler_exits"]))
    try:
        return body(stops | set(attrs["exits"]))
    except OF_INFERENCE:
        raise
    except BaseException as exception:
        return _run_handler(ev, frame, attrs, without_framework(exception), stops)


def catches(ev, exception, classes):
    """Does `except classes` take the exception?"""
    every = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in every):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    if isinstance(exception, AnfNode):
        return call_unknown(ev, isinstance, (exception, classes), {}, "which exception Python code raised",
                            returns=Given(abstract=AbstractScalar(bool)))
    return issubclass(class_of(exception), every)


def enter(ev, manager):
    """manager.__enter__()"""
    if not isinstance(manager, AnfNode) and not all(hasattr(type(manager), n) for n in ("__enter__", "__exit__")):
        raise TypeError(f"{type(manager).__name__!r} object does not support the context manager protocol")
    return ev.call(_method(ev, manager, "__enter__"), (), {})


def _method(ev, manager, name):
    return getattr(manager, name) if ev.concrete else attribute(ev, manager, name)


def leave_context(ev, manager, exception):
    """manager.__exit__(..)"""
    args = (None, None, None)
    if isinstance(exception, AnfNode):
        args = (call_unknown(ev, type, (exception,), {}, "the class of what Python code raised"), exception, TRACEBACK)
    elif exception is not None:
        args = class_of(exception), exception, exception.__traceback__ if ev.concrete else TRACEBACK
    return ev.call(_method(ev, manager, "__exit__"), args, {})


# ---------------------------------------------------------------- whose exception is it?

OF_INFERENCE = (GraphSyntaxError, InternalError, NeedsRecord, Recursion, NoResultYet, CannotLoop, RecursionError,
                MemoryError, Departs, UndefinedNameError)
OF_OPERATORS = (ShapeError, DTypeError, ValueRangeError, IndexRangeError, ArgumentError, MissingAttributeError)
AGAIN = {syntax.load_item: lambda node, a, i: a[i], syntax.load_attr: lambda node, a: getattr(a, node.attrs["name"]),
         syntax.delete_item: lambda node, a, i: operator.delitem(a, i),
         syntax.store_item: lambda node, a, i, value: operator.setitem(a, i, value),
         syntax.binary: lambda node, a, b: OPERATORS[node.attrs["op"]](a, b),
         syntax.inplace: lambda node, a, b: OPERATORS[node.attrs["op"]](a, b),
         syntax.compare: lambda node, a, b: (COMPARISONS.get(node.attrs["op"]) or operator.contains)(a, b),
         syntax.unpack: lambda node, value: _unpacked(node, value), syntax.get_iter: lambda node, value: iter(value),
         syntax.format_value: lambda node, value, spec: format(value, spec),
         syntax.unary: lambda node, value: {"-": operator.neg, "+": operator.pos, "~": operator.invert,
                                            "not": operator.not_}[node.attrs["op"]](value),
         syntax.make_set: lambda node, *values: set(values),
         syntax.make_dict: lambda node, *values: dict.fromkeys(values[::2])}
# what stands for a value of Python's that only the run knows: Python would say something else of that
STAND_INS = (AnfNode, Closure, Undefined, BoundMethod, Conflict, Formatted, MadeException, Mixed, Range, Unsure)
STRUCTURAL = {syntax.load_item, syntax.delete_item, syntax.store_item, syntax.unpack, syntax.get_iter}


def _unpacked(node, value):
    count = len(list(value))
    before, star, after = (node.attrs[k] for k in ("before", "star", "after"))
    if count < before + after:
        least = "at least " if star else ""
        raise ValueError(f"not enough values to unpack (expected {least}{before + after}, got {count})")
    if count > before and not star:
        raise ValueError(f"too many values to unpack (expected {before})")


def believed(ev, node, values, error):
    """What an error inside a `try` means: Raises, if the program raises it; else the error, so that Python runs it."""
    if isinstance(error, EndlessRecursionError):
        error.certain = False                                # Python runs the call, and may catch its own
    if isinstance(error, (Raises, *OF_INFERENCE)):
        return error
    if getattr(error, "conflict", False):                    # two paths that a graph cannot join
        return GraphSyntaxError(error.message, location=error.location, hint=error.hint)
    place = ev.tracer.origin
    if isinstance(error, NameLookupError):
        error = NameError(error.message)
        return Raises(ev.make_object(error), place)
    if isinstance(error, OF_OPERATORS) or node.fn in (syntax.catches, syntax.enter_context, syntax.import_module):
        return Raises(ev.make_object(error.with_traceback(None)), place)
    again = _raised_again(ev, node, values)
    if again is not None and type(again) is type(error):
        return Raises(ev.make_object(again.with_traceback(None)), place)
    return GraphSyntaxError(f"{type(error).__name__}: {error}; in a try statement", location=place.location)


def _raised_again(ev, node, values):
    """The exception that Python raises for this construct on the same values; None if it cannot be asked."""
    if node.fn is syntax.call:
        run = _call_again(ev, node, *values)
    elif node.fn in AGAIN and not any(isinstance(v, STAND_INS) for v in values[:2]) \
            and (node.fn in STRUCTURAL or not has_nodes(tuple(values), ev.store)):
        run = functools.partial(AGAIN[node.fn], node, *[ev.unbox(v) for v in values])
    else:
        run = None
    if run is None:
        return None
    try:
        run()
    except Exception as error:
        return error
    return None


def _call_again(ev, node, fn, *args):
    """A function that makes the call again, on copies; None if that would have effects."""
    if isinstance(fn, BoundMethod) and isinstance(fn.self, (Box, tuple)):
        return functools.partial(getattr(ev.unbox(fn.self), fn.name), *ev.unbox(args))
    if isinstance(fn, (AnfNode, Closure, BoundMethod)) or any(node.attrs["layout"]) or has_nodes(args, ev.store):
        return None
    return functools.partial(fn, *ev.unbox(args)) if fn not in EFFECTFUL and (is_known(fn) or fn in BUILTINS) else None
