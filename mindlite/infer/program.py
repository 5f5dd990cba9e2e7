"""Whose exception is it? What the program raises comes as `Raises`, through one of the doors here.

    {}["a"], 1 // 0, raise ValueError     Raises: it is the program's, at the line that is executed
    a TypeError out of infer itself       no door has let it through: an InternalError (Evaluator.execute)

Inference computes with known values by Python, and looks at the users' objects by Python. Only those calls stand behind a
door, so nothing else can pass for the program's. Where one of the values stands for what only the run knows (a node, a
function that the graph makes), Python might say something else: that is no exception but a refusal.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..common.dim import Dim, UnknownValueError
from ..common.errors import MindliteError, Passed, Refusal, Signal, is_deep
from ..mindir.abstract import AbstractScalar
from ..mindir.graph import AnfNode
from ..mindir.syntax import Undefined
from .evaluating import Evaluating
from .kinds import kind_of, walk
from .state import Raises
from .region import of_operators
from .special import CALLED, require_seen
from .values import Box, Closure, Conflict, Value


def raises(ev: Evaluating, error: BaseException) -> Raises:
    """What the program raises here: `error`, an exception of Python's."""
    return Raises(error if ev.concrete else ev.make_object(error.with_traceback(None)), ev.tracer.origin)


def by_python(ev: Evaluating, fn: Value, *args: Value, **kwargs: Any) -> Value:
    """fn(*args, **kwargs), by Python and now.

    raises : Raises with what Python raises; Refusal where a value stands for one of the run, or Python would look into one
    """
    require_seen(ev, fn, (*args, *kwargs.values()))
    try:
        return fn(*args, **kwargs)
    except Passed as passed:
        raise judged(ev, passed.error, (fn, args, kwargs)) from passed.error
    except (MindliteError, Signal):
        raise
    except Exception as error:
        raise judged(ev, error, (fn, args, kwargs)) from error


def by_operators(ev: Evaluating, fn: Value, *args: Value, **kwargs: Any) -> Value:
    """The same for a function of the framework that is made of operators, which are written into the graph."""
    require_seen(ev, fn, (*args, *kwargs.values()))
    try:
        return fn(*args, **kwargs)
    except Passed as passed:
        raise judged(ev, passed.error, (args, kwargs)) from passed.error
    except (MindliteError, Signal):
        raise
    except UnknownValueError as error:
        raise Refusal(f"{getattr(fn, '__name__', 'an operator')}: {error}") from error
    except Exception as error:
        if is_deep(error) or not of_operators(error):
            raise
        if getattr(error.__traceback__, "tb_next", None) is None and type(error) is TypeError and not kwargs and not stands_in(
                ev, [None if isinstance(a, AnfNode) else a for a in args]):
            error = TypeError(with_names_of_tensors(str(error), args))           # a Tensor has no such operator either
            raise raises(ev, error) from None
        raise judged(ev, error, (args, kwargs)) from error


def with_names_of_tensors(text: str, args: Sequence[Value]) -> str:
    """Python's text on operands of these types, nodes among them, as it is for the values that they stand for."""
    for a in args:
        if isinstance(a, AnfNode):
            name = a.abstract.type.__name__ if isinstance(a.abstract, AbstractScalar) else "Tensor"
            text = text.replace(f"'{type(a).__name__}'", f"'{name}'", 1)
    return text


def of_container(ev: Evaluating, fn: Value, *args: Value) -> Value:
    """The same for what a container does with its items whatever they are: items and slices, pop, get."""
    if fn in CALLED:
        require_seen(ev, fn, args[1:] or args)
    try:
        return fn(*args)
    except Exception as error:
        raise judged(ev, error, ()) from error


def judged(ev: Evaluating, error: Exception, values: Value) -> BaseException:
    """Raises, or the refusal, for what Python has raised for these values."""
    if is_deep(error):
        return error                                         # of inference as a whole: see specialise
    if isinstance(error, UnknownValueError):
        return Refusal(str(error), location=ev.tracer.origin.location)
    if not ev.concrete and stands_in(ev, values):
        return Refusal(f"{type(error).__name__}: {error}", location=ev.tracer.origin.location)
    return raises(ev, error)


def text_by_python(ev: Evaluating, fn: Value, value: Value, *rest: Value) -> str:
    """The text of a value, by Python and now: str, repr, format. raises : Refusal for that of a stand-in, as by_python"""
    if not ev.concrete and any(is_stand_in(x) for x in walk(value)):
        raise Refusal("the text of what is known at run time only", location=ev.tracer.origin.location)
    return by_python(ev, fn, value, *rest)


def stands_in(ev: Evaluating, value: Value) -> bool:
    """True if a value, or a part of it, stands for what only the run knows."""
    return any(is_stand_in(v) or ev.made_here(v) and hasattr(v, "__dict__") for v in walk(value))


def is_stand_in(value: Value) -> bool:
    """True for what Python itself does not have: what inference knows of a value of the run."""
    return isinstance(value, (AnfNode, Closure, Undefined, Conflict, Box, Dim)) or kind_of(value).ours


def raised_as(error: Any, classes: Any) -> Any:
    """The exception of these classes that the program raises by `error`; None for another one, and for other errors."""
    made = error.exception if isinstance(error, Raises) else error
    return made if isinstance(made, classes) and isinstance(error, (Raises, MindliteError)) else None


def own_exceptions(fn: Value, *args: Any) -> Value:
    """fn(*args), called back by Python code, to which the program's exceptions are what they are."""
    try:
        return fn(*args)
    except Raises as raised:
        raise raised.exception
