"""Whose exception is it? What the program raises comes as `Raises`, through one of the doors here.

    {}["a"], 1 // 0, raise ValueError     Raises: it is the program's, at the line that is executed
    a TypeError out of infer itself       no door has let it through: an InternalError (Evaluator.execute)

Inference computes with known values by Python, and looks at the users' objects by Python. Only those calls stand behind a
door, so nothing else can pass for the program's. Where one of the values stands for what only the run knows (a node, a
function that the graph makes), Python might say something else: that is no exception but a refusal.
"""
import os

from ..common.dim import Dim
from ..common.errors import MindliteError, Passed, Refusal, Signal, is_deep
from ..common.location import is_framework
from ..mindir.abstract import AbstractScalar
from ..mindir.graph import AnfNode
from ..mindir.syntax import Undefined
from .kinds import kind_of, walk
from .outcome import Raises
from .values import Box, Closure, Conflict


def raises(ev, error):
    """What the program raises here: `error`, an exception of Python's."""
    return Raises(error if ev.concrete else ev.make_object(error.with_traceback(None)), ev.tracer.origin)


def by_python(ev, fn, *args, **kwargs):
    """fn(*args, **kwargs), by Python and now.

    raises : Raises with what Python raises; GraphSyntaxError where a value stands for one of the run
    """
    try:
        return fn(*args, **kwargs)
    except Passed as passed:
        raise judged(ev, passed.error, (fn, args, kwargs)) from passed.error
    except (MindliteError, Signal):
        raise
    except Exception as error:
        raise judged(ev, error, (fn, args, kwargs)) from error


def by_operators(ev, fn, *args, **kwargs):
    """The same for a function of the framework that is made of operators, which are written into the graph."""
    try:
        return fn(*args, **kwargs)
    except Passed as passed:
        raise judged(ev, passed.error, (args, kwargs)) from passed.error
    except (MindliteError, Signal):
        raise
    except Exception as error:
        if is_deep(error) or not of_operators(error):
            raise
        if getattr(error.__traceback__, "tb_next", None) is None and type(error) is TypeError and not kwargs and not stands_in(
                ev, [None if isinstance(a, AnfNode) else a for a in args]):
            error = TypeError(with_names_of_tensors(str(error), args))           # a Tensor has no such operator either
            raise raises(ev, error) from None
        raise judged(ev, error, (args, kwargs)) from error


def with_names_of_tensors(text, args):
    """Python's text on operands of these types, nodes among them, as it is for the values that they stand for."""
    for a in args:
        if isinstance(a, AnfNode):
            name = a.abstract.type.__name__ if isinstance(a.abstract, AbstractScalar) else "Tensor"
            text = text.replace(f"'{type(a).__name__}'", f"'{name}'", 1)
    return text


# where operators are written, and what they are given: signatures, and nodes that stand for values
OPERATORS = (*(room + os.sep for room in ("ops", "common", "numpy", "nn")), *(os.path.join("mindir", file) for file in (
    "primitive.py", "graph.py")))


def of_operators(error):
    """True for what comes out of an operator's code, not of the interpreter under which it runs."""
    below = error.__traceback__
    if below.tb_next is None:                                # Python's own: an operator that no operand's class has
        return True
    files = []
    while below is not None:
        files.append(below.tb_frame.f_code.co_filename)
        below = below.tb_next
    ours = [file for file in files if is_framework(file)]     # whoever has called what is not ours answers for it
    return not ours or any(f"{os.sep}{part}" in ours[-1] for part in OPERATORS)


def of_container(ev, fn, *args):
    """The same for what a container does with its items whatever they are: items and slices, pop, get."""
    try:
        return fn(*args)
    except Exception as error:
        raise judged(ev, error, ()) from error


def judged(ev, error, values):
    """Raises, or the refusal, for what Python has raised for these values."""
    if is_deep(error):
        return error                                         # of inference as a whole: see specialise
    if not ev.concrete and stands_in(ev, values):
        return Refusal(f"{type(error).__name__}: {error}", location=ev.tracer.origin.location)
    return raises(ev, error)


def text_by_python(ev, fn, value, *rest):
    """The text of a value, by Python and now: str, repr, format. raises : Refusal for that of a stand-in, as by_python"""
    if not ev.concrete and any(map(is_stand_in, walk(value))):
        raise Refusal("the text of what is known at run time only", location=ev.tracer.origin.location)
    return by_python(ev, fn, value, *rest)


def stands_in(ev, value):
    """True if a value, or a part of it, stands for what only the run knows."""
    return any(is_stand_in(v) or ev.made_here(v) and hasattr(v, "__dict__") for v in walk(value))


def is_stand_in(value):
    """True for what Python itself does not have: what inference knows of a value of the run."""
    return isinstance(value, (AnfNode, Closure, Undefined, Conflict, Box, Dim)) or kind_of(value).ours


def raised_as(error, classes):
    """The exception of these classes that the program raises by `error`; None for another one, and for other errors."""
    made = error.exception if isinstance(error, Raises) else error
    return made if isinstance(made, classes) and isinstance(error, (Raises, MindliteError)) else None


def own_exceptions(fn, *args):
    """fn(*args), called back by Python code, to which the program's exceptions are what they are."""
    try:
        return fn(*args)
    except Raises as raised:
        raise raised.exception
