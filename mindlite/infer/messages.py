"""Strings and exceptions that hold run-time values: what they are made of is known, they are made at run time.

    raise ValueError(f"too large: {x.sum()}")     MadeException(ValueError, (Formatted(["too large: ", (%1, "", "")]),))
"""
import copy
import types

from ..common.dim import Dim
from ..common.errors import Refusal
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from .outside import is_users
from .values import Box, Formatted, MadeException, Mixed, Place, rebuild


def class_of(value):
    """The class of an exception."""
    return value.cls if isinstance(value, MadeException) else type(value)


def kind_of(value):
    """What two values that differ in their run-time parts at most have in common: strings, exceptions."""
    if isinstance(value, (AnfNode, Tensor, Dim, Mixed)):
        return "node"
    if isinstance(value, Formatted):
        return tuple(p if isinstance(p, str) else p[1:] for p in value.parts)
    if isinstance(value, MadeException):
        return value.cls, kind_of(value.args), kind_of(value.kwargs), id(value.__cause__), id(value.fields)
    if isinstance(value, BaseException) and type(value).__module__ == "builtins" and not vars(value):
        return type(value), kind_of(value.args), id(value.__cause__)
    if isinstance(value, tuple):
        return tuple(map(kind_of, value))
    if type(value) is dict:
        return tuple((k, kind_of(v)) for k, v in value.items())
    return (type(value), repr(value)) if isinstance(value, (str, bytes, int, float, bool, type(None))) else id(value)


def text_of(ev, exception):
    """str(exception)"""
    cls = class_of(exception)
    if cls.__str__ not in (BaseException.__str__, KeyError.__str__):
        if isinstance(exception, MadeException):
            raise Refusal(f"str() of a {cls.__name__} that is made of run-time values")
        return str(exception)
    args = args_of(ev, exception)
    if not args:
        return ""
    if len(args) == 1 and cls.__str__ is BaseException.__str__:
        return ev.call(str, args, {})
    return ev.call(repr, (args[0] if len(args) == 1 else args,), {})


def repr_of(ev, exception):
    """repr(exception), of one that is made of run-time values"""
    if exception.cls.__repr__ is not BaseException.__repr__:
        raise Refusal(f"repr() of a {exception.cls.__name__} that is made of run-time values")
    args = args_of(ev, exception)
    inside = ev.call(repr, (args[0] if len(args) == 1 else args,), {})
    parts = inside.parts if isinstance(inside, Formatted) else [inside]
    before, after = ("(", ")") if len(args) == 1 else ("", "")
    return Formatted([exception.cls.__name__ + before, *parts, after])


def args_of(ev, exception):
    """exception.args"""
    if isinstance(exception, MadeException) and exception.fields is not None:
        return ev.store.get(Place("attr", exception.fields, "args"), exception.args)
    return exception.args


def anew(exception):
    """An exception like this one: each run raises one of its own."""
    cls = type(exception)
    made = cls.__new__(cls, *exception.args) if is_users(cls.__init__) else copy.copy(exception)
    made.args = exception.args
    vars(made).update(vars(exception))
    for name in ("__cause__", "__context__", "__suppress_context__"):
        setattr(made, name, getattr(exception, name))
    return made


def taken_apart(ev, value, store=None):
    """(the run-time parts of a value, in order; a function that makes the value of what they are at run time).

    store : the one in which what an exception's __init__ has assigned stands
    """
    operands, store = [], ev.store if store is None else store

    def parts(value):
        if isinstance(value, Box):
            value = ev.unbox(value)
        if isinstance(value, (AnfNode, Tensor, Dim)):
            operands.append(value)
            number = len(operands) - 1
            return lambda now: now[number]
        if isinstance(value, Formatted):
            inside = [parts(v) for v in value.values]
            return lambda now: value.make([make(now) for make in inside])
        if isinstance(value, Mixed):
            inside = [parts(v) for v in value.parts]
            return lambda now: Mixed.choose([make(now) for make in inside])
        if isinstance(value, (tuple, list)):
            made = [parts(v) for v in value]
            return lambda now: (rebuild(value, [make(now) for make in made]) if isinstance(value, tuple)
                                else [make(now) for make in made])
        if type(value) is dict:
            named = {k: parts(v) for k, v in value.items()}
            return lambda now: {k: make(now) for k, make in named.items()}
        if isinstance(value, MadeException):
            return exception(value)
        if isinstance(value, BaseException):
            others = ev.linked.get(id(value), {})
            return raised(value, ev.made_here(value), {name: parts(other) for name, other in others.items()})
        if not isinstance(value, (str, bytes, int, float, complex, type(None), type,
                                  types.FunctionType)) and ev.made_here(value):
            raise Refusal(f"a {type(value).__name__} that was made inside the graph leaves it")
        return lambda now: value

    def raised(value, here, others):
        def make(now):
            made = anew(value) if here else value
            for name, other in others.items():
                setattr(made, name, other(now))
            return made
        return make

    def exception(value):
        args, kwargs = parts(tuple(value.args)), parts(dict(value.kwargs))
        cause, context = parts(value.__cause__), parts(value.__context__)
        fields = {place.name: parts(content) for place, content in store.items()
                  if value.fields is not None and isinstance(place, Place) and place.owner is value.fields}

        def make(now):
            if value.fields is None:
                made = value.cls(*args(now), **kwargs(now))
            else:                                            # its __init__ has been executed
                made = value.cls.__new__(value.cls, *args(now), **kwargs(now))
                for name, content in fields.items():
                    setattr(made, name, content(now))
            made.__context__ = context(now)
            if value.__cause__ is not None:
                made.__cause__ = cause(now)
            return made
        return make
    make = parts(value)
    return operands, make
