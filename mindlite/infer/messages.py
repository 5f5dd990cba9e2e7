"""Strings and exceptions that hold run-time values: what they are made of is known, they are made at run time.

    raise ValueError(f"too large: {x.sum()}")     MadeException(ValueError, (Formatted(["too large: ", (%1, "", "")]),))
"""
from __future__ import annotations

import copy
import types
from typing import Any

from ..common.dim import Dim
from ..common.errors import Refusal
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from .evaluating import Evaluating
from .kinds import LEAF, kind_of, maker, maker_of_content
from .outside import is_users
from .values import Box, Formatted, MadeException, Place, Value


def class_of(value: Value) -> type:
    """The class of an exception."""
    return value.cls if isinstance(value, MadeException) else type(value)


def text_of(ev: Evaluating, exception: Value) -> Value:
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


def repr_of(ev: Evaluating, exception: Value) -> Value:
    """repr(exception), of one that is made of run-time values"""
    if exception.cls.__repr__ is not BaseException.__repr__:
        raise Refusal(f"repr() of a {exception.cls.__name__} that is made of run-time values")
    args = args_of(ev, exception)
    inside = ev.call(repr, (args[0] if len(args) == 1 else args,), {})
    parts = inside.parts if isinstance(inside, Formatted) else [inside]
    before, after = ("(", ")") if len(args) == 1 else ("", "")
    return Formatted([exception.cls.__name__ + before, *parts, after])


def args_of(ev: Evaluating, exception: Value) -> tuple:
    """exception.args"""
    if isinstance(exception, MadeException) and exception.fields is not None:
        return ev.store.get(Place("attr", exception.fields, "args"), exception.args)
    return exception.args


def anew(exception: Value) -> Value:
    """An exception like this one: each run raises one of its own."""
    cls = type(exception)
    made = cls.__new__(cls, *exception.args) if is_users(cls.__init__) else copy.copy(exception)
    made.args = exception.args
    vars(made).update(vars(exception))
    for name in ("__cause__", "__context__", "__suppress_context__"):
        setattr(made, name, getattr(exception, name))
    return made


def taken_apart(ev: Evaluating, value: Value, store: dict[Any, Value] | None = None) -> tuple:
    """(the run-time parts of a value, in order; a function that makes the value of what they are at run time).

    store : the one in which what an exception's __init__ has assigned stands
    """
    operands, store = [], ev.store if store is None else store

    def leaf(value):
        if isinstance(value, (AnfNode, Tensor, Dim)):
            operands.append(value)
            number = len(operands) - 1
            return lambda now: now[number]
        if isinstance(value, Box):
            return maker_of_content(value, ev.store[value], leaf)
        if isinstance(value, MadeException):
            return exception(value)
        if isinstance(value, BaseException):
            others = ev.attempts.links_of(value)
            return raised(value, ev.made_here(value), {name: maker(other, leaf) for name, other in others.items()})
        if kind_of(value) is LEAF and not isinstance(value, (str, bytes, int, float, complex, type(None), type,
                                                             types.FunctionType)) and ev.made_here(value):
            raise Refusal(f"a {type(value).__name__} that was made inside the graph leaves it")
        return None

    def raised(value, here, others):
        def make(now):
            made = anew(value) if here else value
            for name, other in others.items():
                setattr(made, name, other(now))
            return made
        return make

    def exception(value):
        args, kwargs = maker(tuple(value.args), leaf), {name: maker(v, leaf) for name, v in value.kwargs.items()}
        cause, context = maker(value.__cause__, leaf), maker(value.__context__, leaf)
        fields = {place.name: maker(content, leaf) for place, content in store.items()
                  if value.fields is not None and isinstance(place, Place) and place.owner is value.fields}

        def make(now):
            kwargs_now = {name: of(now) for name, of in kwargs.items()}
            if value.fields is None:
                made = value.cls(*args(now), **kwargs_now)
            else:                                            # its __init__ has been executed
                made = value.cls.__new__(value.cls, *args(now), **kwargs_now)
                for name, content in fields.items():
                    setattr(made, name, content(now))
            made.__context__ = context(now)
            if value.__cause__ is not None:
                made.__cause__ = cause(now)
            return made
        return make
    make = maker(value, leaf)
    return operands, make
