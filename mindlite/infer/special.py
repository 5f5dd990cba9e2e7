"""Special methods of classes written in Python: what Python calls by itself for str(x), int(x), x[i], {x: 1}, sorted([x]).

What a graph has assigned to an object stands in the Evaluator's store; the object that Python would look at has another
attribute, or none. So such a method is called like any other function of the user's, and its code becomes part of the graph.
Where Python would call it unseen, or would read attributes, that is refused (`require_seen`).
"""
from __future__ import annotations

import builtins
import enum
import functools
import inspect
import operator
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..common.dim import Dim
from ..common.errors import Refusal
from ..mindir.graph import AnfNode
from .evaluating import Evaluating
from .kinds import walk
from .outside import CONTAINERS, HEAP_TYPE, UNCHANGING, VIEWS, from_library, guard_contents, is_users, method_of_class
from .state import Raises
from .values import Formatted, Place, Value

# the special methods that a function of Python's may call; those that are not here may call any, and read attributes
CALLED: dict[Any, tuple[str, ...]] = {
    bool: ("__bool__", "__len__"), len: ("__len__",), int: ("__int__", "__index__", "__trunc__"),
    float: ("__float__", "__index__"), complex: ("__complex__", "__float__", "__index__"), operator.index: ("__index__",),
    range: ("__index__",), abs: ("__abs__",), round: ("__round__",), str: ("__str__", "__repr__"), repr: ("__repr__",),
    list: ("__iter__", "__getitem__", "__len__"), operator.contains: ("__contains__", "__iter__", "__getitem__", "__eq__"),
    operator.getitem: ("__getitem__", "__index__", "__hash__", "__eq__"), dict: ("keys", "__iter__", "__hash__", "__eq__"),
    dict.fromkeys: ("__hash__", "__eq__"), operator.eq: ("__eq__",), operator.ne: ("__ne__", "__eq__"),
    operator.lt: ("__lt__", "__gt__"), operator.gt: ("__lt__", "__gt__"), operator.le: ("__le__", "__ge__"),
    operator.ge: ("__le__", "__ge__"), operator.neg: ("__neg__",), operator.pos: ("__pos__",), operator.invert: ("__invert__",),
    max: ("__lt__", "__gt__", "__iter__", "__getitem__"), min: ("__lt__", "__gt__", "__iter__", "__getitem__"),
    **dict.fromkeys((isinstance, issubclass, type, getattr, inspect.getattr_static, setattr, delattr, super, next, iter,
                     builtins.__import__), ())}
CALLED.update({getattr(operator, word): (f"__{word}__", f"__r{word}__", "__index__") for word in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "xor")})
CALLED.update({operator.and_: ("__and__", "__rand__"), operator.or_: ("__or__", "__ror__")})
# those that do so with the items of tuples, too
INTO_ITEMS = {str, repr, operator.eq, operator.ne, operator.lt, operator.gt, operator.le, operator.ge, operator.contains,
              dict.fromkeys}
COPIED = (list, dict, set, bytearray, np.ndarray)            # of which Python is given copies, or what is guarded before
# what Python takes from a special method, and what it says of anything else
GIVEN = {"__int__": (int, "__int__ returned non-int (type {})"), "__index__": (int, "__index__ returned non-int (type {})"),
         "__float__": (float, "{1}.__float__ returned non-float (type {0})"),
         "__str__": (str, "__str__ returned non-string (type {})"), "__repr__": (str, "__repr__ returned non-string (type {})"),
         "__format__": (str, "__format__ must return a str, not {}"),
         "__bool__": (bool, "__bool__ should return bool, returned {}")}
LIFE = {"__init__", "__new__", "__del__", "__init_subclass__", "__class_getitem__", "__set_name__", "__post_init__", "__enter__",
        "__exit__", "__call__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__subclasshook__", "__class__",
        "__instancecheck__", "__subclasscheck__"}


def call_special(ev: Evaluating, value: Value, name: str, *args: Value) -> tuple[Value] | None:
    """(what the special method of a user's class gives,); None where the class has none that is Python code.

    raises : Raises with Python's TypeError for a result of another class than Python takes
    """
    if ev.concrete or not is_object_of_python(value):
        return None
    method = method_of_class(ev, value, name)
    if method is None:
        return None
    made = ev.call(method, (value, *args), {})
    wanted, text = GIVEN.get(name, (object, ""))
    if not isinstance(made, (wanted, AnfNode, Dim, Formatted)):
        raise Raises(ev.make_object(TypeError(text.format(type(made).__name__, type(value).__name__))), ev.tracer.origin)
    return made,


def text_of_object(ev: Evaluating, value: Value, conversion: str, spec: str | None = None) -> tuple[Value] | None:
    """(the text,) that the methods of a user's class give for its object; None where the class has none that is Python code.
    conversion: "s", "r", "a" or ""; spec: of a format"""
    cls = type(value)
    made = call_special(ev, value, "__format__", spec) if conversion == "" and spec is not None else None
    if made is None and (conversion == "s" or conversion == "" and not spec and cls.__format__ is object.__format__):
        made = call_special(ev, value, "__str__")
    if made is None and (conversion == "r" or conversion != "a" and not spec and cls.__str__ is object.__str__):
        made = call_special(ev, value, "__repr__")
    return made


def require_seen(ev: Evaluating, fn: Any, values: Iterable[Value]) -> None:
    """Require that Python, which is about to call `fn`, needs nothing of the objects in `values` that only inference knows.

    raises : Refusal, which makes an object of the graph one of Python's from the beginning
    """
    if ev.concrete or isinstance(fn, type) and fn.__flags__ & HEAP_TYPE:         # a tuple with names keeps what it is given
        return
    names = CALLED.get(fn)
    looked_at = [value for value in values if type(value) not in UNCHANGING] if names != () else ()
    if not looked_at:
        return
    inside = walk(looked_at) if names is None or fn in INTO_ITEMS else (
        part for value in looked_at for part in ((value.start, value.stop, value.step) if isinstance(value, slice) else (value,)))
    for value in inside:
        if type(value) in UNCHANGING:
            continue
        if isinstance(value, VIEWS) or isinstance(value, CONTAINERS) and type(value) not in COPIED:
            if not ev.made_here(value) and not guard_contents(ev, value):
                raise Refusal(f"Python would look into a {type(value).__name__}, whose content may change", (),
                              ev.tracer.origin.location)
        if is_object_of_python(value) and _is_needed(ev, value, names):
            raise Refusal(f"Python would call special methods of {type(value).__name__}, or read its attributes, unseen",
                          [ev.objects.mark_of(value)] if ev.made_here(value) else (), ev.tracer.origin.location)


def has_own_state(ev: Evaluating, value: Value) -> bool:
    """True for an object of which the graph has assigned an attribute, or will."""
    places = (*ev.store, *ev.variables.varying)
    return any(isinstance(place, Place) and place.kind == "attr" and place.owner is value for place in places)


def _is_needed(ev: Evaluating, value: Value, names: tuple[str, ...] | None) -> bool:
    """Would Python run code of the user's, if it calls special methods of these names, or any code that reads attributes which
    are others for inference?"""
    cls: Any = type(value)
    code = [found for found in (getattr(cls, name, None) for name in _specials_of(cls) if names is None or name in names)
            if isinstance(found, types.FunctionType)]
    if any(is_users(found) and not found.__code__.co_filename.startswith("<") for found in code):
        return True
    if has_own_state(ev, value):
        return names is None or bool(code)
    return bool(code) and not isinstance(value, enum.Enum) and not guard_contents(ev, value)     # a library's code


@functools.lru_cache(maxsize=1024)
def _specials_of(cls: type) -> tuple[str, ...]:
    """The names of a class's special methods, and of `keys`, but for those of its making and of `with`."""
    return tuple([name for name in {name: None for base in cls.__mro__ for name in vars(base)}
                  if name == "keys" or name.startswith("__") and name not in LIFE])


def is_object_of_python(value: Value) -> bool:
    """True for an object whose class a class statement made, but for mindlite's own, classes, modules and exceptions."""
    cls: Any = type(value)
    return _is_class_of_python(cls)


@functools.lru_cache(maxsize=1024)
def _is_class_of_python(cls: type) -> bool:
    return bool(cls.__flags__ & HEAP_TYPE) and not (cls.__module__ or "").startswith("mindlite.") \
        and not issubclass(cls, (type, types.ModuleType, BaseException))


def is_sequence_of_python(value: Value) -> bool:
    """True for an object over which Python iterates by __getitem__, which is Python code."""
    cls = type(value)
    found = getattr(cls, "__getitem__", None)
    return is_object_of_python(value) and getattr(cls, "__iter__", None) is None and isinstance(found, types.FunctionType) \
        and not from_library(found)
