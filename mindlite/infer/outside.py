"""What inference reads of objects that stand outside of the graph: methods of the users' classes, what containers hold.

Each read leaves a guard, so that a change is seen at the next call.
"""
from __future__ import annotations

import functools
import inspect
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.location import is_framework
from ..common.tensor import Parameter, Tensor
from ..mindir.graph import AnfNode
from .evaluating import Evaluating
from .kinds import parts_of
from .values import Value

_STDLIB = inspect.__file__.rsplit("/", 1)[0].rsplit("\\", 1)[0]
HEAP_TYPE = 1 << 9                                   # of classes that were made by a class statement
UNCHANGING = frozenset([bool, int, float, complex, str, bytes, type(None), Tensor, Parameter])
CONTAINERS = (list, dict, set, bytearray, deque, np.ndarray)


@functools.lru_cache(maxsize=None)
def _is_library_file(filename: str) -> bool:
    if filename.endswith("contextlib.py"):                   # `with` needs to see into it
        return False
    return "site-packages" in filename or filename.startswith(("<frozen", _STDLIB))


def from_library(fn: Value) -> bool:
    """True for functions of the standard library and of installed packages other than mindlite: they are called, not
    parsed."""
    filename = fn.__code__.co_filename
    return _is_library_file(filename) and not is_framework(filename)


def is_users(function: Value) -> bool:
    """True for a function of Python that the user wrote."""
    return isinstance(function, types.FunctionType) and not from_library(function) \
        and not is_framework(function.__code__.co_filename)


def own_method(cls, name: str) -> Value:
    """What a user's class, or one below it, defines under a name; None for builtin and library classes."""
    for base in cls.__mro__ if cls.__flags__ & HEAP_TYPE else ():
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def method_of_class(ev: Evaluating, value: Value, name: str) -> Callable[..., Any] | None:
    """The function of Python, not a library's, that an object's class has under a special name; else None."""
    found = getattr(type(value), name, None)
    if not isinstance(found, types.FunctionType) or from_library(found):
        return None
    guard_class(ev, value, name, found)
    return found


def guard_class(ev: Evaluating, value: Value, name: str, found: Value) -> None:
    """Remember what the class of `value` has under a name, if that is not the framework's."""
    if not ev.concrete and not (type(value).__module__ or "").startswith("mindlite."):
        ev.guard("attr", type(value), name, found)
        if not hasattr(type(value), "__mindir__"):           # a Cell keeps its class
            ev.guard("attr", value, "__class__", type(value))


def guard_contents(ev: Evaluating, value: Value) -> bool:
    """Guard what a value holds that Python reads out of inference's sight: lists, dicts, sets and arrays through tuples
    and each other, attributes of an object of the user's. False if one of the containers changes during the run."""
    if isinstance(value, AnfNode) or type(value) in UNCHANGING:
        return True
    if isinstance(value, tuple):
        return all([guard_contents(ev, v) for v in value])
    if hasattr(type(value), "cell_version") and not ev.concrete:
        for _, cell in value.cells_and_names():
            ev.guard("attr", cell, "cell_version", cell.cell_version)
    elif is_users_object(value) and not ev.made_here(value):
        return _guard_containers(ev, value.__dict__)
    return _guard_containers(ev, value)


def _guard_containers(ev: Evaluating, value: Value) -> bool:
    return ev.guard_content(value) and all([_guard_containers(ev, v) for v in parts_of(value)])


def is_users_object(value: Value) -> bool:
    """True for an object with attributes whose class a class statement made, outside of mindlite."""
    cls = type(value)
    return bool(cls.__flags__ & HEAP_TYPE) and isinstance(getattr(value, "__dict__", None), dict) \
        and not isinstance(value, (type, types.ModuleType)) and not (cls.__module__ or "").startswith("mindlite.")
