"""Checks of arguments, in MindSpore's words."""
from __future__ import annotations

import functools
import inspect
from typing import Any

from .annotations import Function
from .errors import ArgumentError, ValueRangeError


def check_value_type(arg_name: str | None, arg_value: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """The value. raises : ArgumentError unless it is of one of the types; a bool is no int"""
    types = tuple(valid_types) if isinstance(valid_types, (tuple, list)) else (valid_types,)
    if not isinstance(arg_value, types) or isinstance(arg_value, bool) and bool not in types:
        raise ArgumentError(f"{_of(prim_name)}{arg_name} is {_names(types)}, not {type(arg_value).__name__}")
    return arg_value


def check_positive_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """The value. raises : ArgumentError for what is no int, ValueRangeError below 1"""
    check_value_type(arg_name, arg_value, int, prim_name)
    if arg_value < 1:
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is at least 1, not {arg_value}")
    return arg_value


def check_positive_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """The value. raises : ArgumentError for what is no float, ValueRangeError for 0 and below"""
    check_value_type(arg_name, arg_value, float, prim_name)
    if not arg_value > 0:
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is above 0, not {arg_value}")
    return arg_value


def check_non_negative_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """The value. raises : ArgumentError for what is no int, ValueRangeError below 0"""
    check_value_type(arg_name, arg_value, int, prim_name)
    if arg_value < 0:
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is at least 0, not {arg_value}")
    return arg_value


def args_type_check(**kinds: Any) -> Function:
    """A decorator: the arguments of these names must be of these types. raises (the call) : ArgumentError"""
    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args, **kwargs):
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in kinds and value is not None:
                    check_value_type(name, value, kinds[name], function.__name__)
            return function(*args, **kwargs)
        return checked
    return decorate


def _of(name: str | None) -> str:
    return f"{name}: " if name else ""


def _names(types: Any) -> str:
    return " or ".join(t.__name__ for t in types)
