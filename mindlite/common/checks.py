"""Checks of arguments, in MindSpore's words."""
from .errors import ArgumentError, ValueRangeError


def check_value_type(arg_name, arg_value, valid_types, prim_name=None):
    """The value. raises : ArgumentError unless it is of one of the types; a bool is no int"""
    types = tuple(valid_types) if isinstance(valid_types, (tuple, list)) else (valid_types,)
    if not isinstance(arg_value, types) or isinstance(arg_value, bool) and bool not in types:
        raise ArgumentError(f"{_of(prim_name)}{arg_name} is {_names(types)}, not {type(arg_value).__name__}")
    return arg_value


def check_positive_int(arg_value, arg_name=None, prim_name=None):
    """The value. raises : ArgumentError for what is no int, ValueRangeError below 1"""
    check_value_type(arg_name, arg_value, int, prim_name)
    if arg_value < 1:
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is at least 1, not {arg_value}")
    return arg_value


def _of(name):
    return f"{name}: " if name else ""


def _names(types):
    return " or ".join(t.__name__ for t in types)
