"""Checks of arguments, in MindSpore's words."""
from __future__ import annotations

import functools
import inspect
import operator
import re
from collections.abc import Callable
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


def check_negative_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """The value. raises : ArgumentError for what is no int, ValueRangeError from 0 on"""
    return check_int(arg_value, 0, LT, arg_name, prim_name)


def check_non_positive_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """The value. raises : ArgumentError for what is no int, ValueRangeError above 0"""
    return check_int(arg_value, 0, LE, arg_name, prim_name)


def check_non_negative_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """The value. raises : ArgumentError for what is no float, ValueRangeError below 0"""
    return check_float(arg_value, 0, GE, arg_name, prim_name)


def check_str_by_regular(target: str, reg: str | None = None, flag: Any = re.ASCII, prim_name: str | None = None) -> bool:
    """True. raises : ValueRangeError unless the text matches; reg : by default letters, digits and _, and dots but in front"""
    pattern = reg or r"\w[\w.]*$"
    if not re.match(pattern, target, flag):
        raise ValueRangeError(f"{_of(prim_name)}{target!r} does not match {pattern!r}")
    return True


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


# ---------------------------------------------------------------- comparisons of numbers, by MindSpore's words for them

EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = range(1, 11)
_RELATIONS: dict[int, tuple[str, Callable[[Any, Any], Any]]] = {
    EQ: ("equal to", operator.eq), NE: ("other than", operator.ne), LT: ("below", operator.lt), LE: ("at most", operator.le),
    GT: ("above", operator.gt), GE: ("at least", operator.ge)}
_ENDS = {INC_NEITHER: ("(", ")", operator.gt, operator.lt), INC_LEFT: ("[", ")", operator.ge, operator.lt),
         INC_RIGHT: ("(", "]", operator.gt, operator.le), INC_BOTH: ("[", "]", operator.ge, operator.le)}


def check_number(arg_name: str, arg_value: Any, value: Any, rel: int, prim_name: str | None) -> Any:
    """arg_value. raises : ValueRangeError unless it stands in the relation `rel`, as GE, to `value`"""
    word, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is {word} {value}, not {arg_value}")
    return arg_value


def check(arg_name: str, arg_value: Any, value_name: str, value: Any, rel: int = EQ, prim_name: str | None = None,
          excp_cls: type[Exception] = ValueError) -> Any:
    """arg_value. raises : an error of `excp_cls` unless it stands in the relation to what value_name has"""
    word, holds = _RELATIONS[rel]
    if not holds(arg_value, value):
        raise excp_cls(f"{_of(prim_name)}{arg_name} is {word} {value_name}, {value}, not {arg_value}")
    return arg_value


def _check_number(kind: type, arg_value: Any, value: Any, rel: int, arg_name: str | None, prim_name: str | None) -> Any:
    check_value_type(arg_name, arg_value, kind, prim_name)
    return check_number(arg_name or "the value", arg_value, value, rel, prim_name)


def check_int(arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """arg_value. raises : ArgumentError for what is no int, ValueRangeError unless it stands in the relation to `value`"""
    return _check_number(int, arg_value, value, rel, arg_name, prim_name)


def check_float(arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """arg_value. raises : ArgumentError for what is no float, ValueRangeError unless it stands in the relation to `value`"""
    return _check_number(float, arg_value, value, rel, arg_name, prim_name)


def check_equal_int(arg_value: Any, value: int, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """arg_value. raises : ArgumentError for what is no int, ValueRangeError unless it is `value`"""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """arg_value. raises : ArgumentError for what is no int"""
    return check_value_type(arg_name, arg_value, int, prim_name)


def check_is_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """arg_value. raises : ArgumentError for what is no float"""
    return check_value_type(arg_name, arg_value, float, prim_name)


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """arg_value. raises : ArgumentError for what is no bool"""
    return check_value_type(arg_name, arg_value, bool, prim_name)


def check_number_range(arg_value: Any, lower_limit: Any, upper_limit: Any, rel: int, value_type: Any,
                       arg_name: str | None = None, prim_name: str | None = None) -> Any:
    """arg_value. raises : ArgumentError for another type, ValueRangeError outside of the range; rel: INC_BOTH and the like"""
    check_value_type(arg_name, arg_value, value_type, prim_name)
    left, right, above, below = _ENDS[rel]
    if not (above(arg_value, lower_limit) and below(arg_value, upper_limit)):
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is in {left}{lower_limit}, {upper_limit}{right}, not {arg_value}")
    return arg_value


def check_int_range(arg_value: Any, lower_limit: int, upper_limit: int, rel: int, arg_name: str | None = None,
                    prim_name: str | None = None) -> int:
    """`check_number_range` of an int."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(arg_value: Any, lower_limit: float, upper_limit: float, rel: int, arg_name: str | None = None,
                      prim_name: str | None = None) -> float:
    """`check_number_range` of a float."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, (float, int), arg_name, prim_name)


def check_string(arg_value: Any, valid_values: Any, arg_name: str | None = None, prim_name: str | None = None) -> str:
    """arg_value. raises : ValueRangeError unless it is one of the words"""
    if not isinstance(arg_value, str) or arg_value not in valid_values:
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is one of {', '.join(map(repr, valid_values))}, not {arg_value!r}")
    return arg_value


def check_subclass(arg_name: str, type_: Any, template_types: Any, prim_name: str | None,
                   addition_error_info: str | None = None) -> None:
    """Nothing. raises : ArgumentError unless the dtype, or the class, is one of them or below one"""
    wanted = tuple(template_types) if isinstance(template_types, (tuple, list)) else (template_types,)
    classes = tuple(kind for kind in wanted if isinstance(kind, type))
    if type_ not in wanted and not (isinstance(type_, type) and issubclass(type_, classes)):
        raise ArgumentError(f"{_of(prim_name)}{arg_name} is one of {', '.join(map(str, wanted))}, not {type_}",
                            note=addition_error_info or "")


def check_axis_in_range(axis: int, ndim: int) -> int:
    """The axis counted from 0. raises : ArgumentError for what is no int, ValueRangeError for an axis that there is not"""
    check_value_type("axis", axis, int)
    if not -ndim <= axis < ndim:
        raise ValueRangeError(f"the axis is in [{-ndim}, {ndim}), not {axis}")
    return axis % ndim


def check_and_canonicalize_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes, an int or several, counted from 0; none of them for None."""
    if axes is None:
        return ()
    return tuple([check_axis_in_range(axis, ndim) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))])


def _expand_tuple(n_dimensions: int) -> Callable[[Any], tuple[int, ...]]:
    """The function that makes a tuple of n ints: of one int, n times it; of such a tuple, itself.

    raises (the function) : ArgumentError for another class, another length, or elements that are no ints
    """
    def convert(value):
        made = (value,) * n_dimensions if isinstance(value, int) else value
        if not isinstance(made, tuple) or len(made) != n_dimensions or any(
                not isinstance(v, int) or isinstance(v, bool) for v in made):
            raise ArgumentError(f"an int or a tuple of {n_dimensions} is wanted, not {value!r}")
        return made
    return convert


once, twice, triple = _expand_tuple(1), _expand_tuple(2), _expand_tuple(3)


def check_input_format(input_param: str) -> str:
    """The order of axes. raises : ValueRangeError for another one than "NCHW\""""
    return check_string(input_param, ["NCHW"], "the format")


def _check_3d_int_or_tuple(arg_name: str, arg_value: Any, prim_name: str | None, allow_five: bool = False, ret_five: bool = False,
                           greater_zero: bool = True, third_one: bool = False, three_input: bool = False) -> tuple[int, ...]:
    """Three numbers: of one int, or of three, or, where `allow_five`, of the last three of five; with ret_five (1, 1, ..).

    raises : ArgumentError for other forms, ValueRangeError below 1, or below 0 where not `greater_zero`
    """
    value = (arg_value,) * 3 if isinstance(arg_value, int) else tuple(arg_value)
    if len(value) == 5 and allow_five:
        value = value[2:]
    if len(value) != 3 or not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        raise ArgumentError(f"{_of(prim_name)}{arg_name} is an int or three, not {arg_value!r}")
    if third_one and value[0] != 1:
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is 1 along the depth, not {value[0]}")
    if min(value) < (1 if greater_zero else 0):
        raise ValueRangeError(f"{_of(prim_name)}{arg_name} is {'above' if greater_zero else 'at least'} 0, not {arg_value}")
    return (1, 1, *value) if ret_five else value
