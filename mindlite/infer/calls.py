"""Calls during inference: who is called decides.

  what has `__mindir__`              Cells, jit, grad, vmap: by protocol
  operators and framework functions  executed over nodes: they write nodes
  builtins, methods of containers    the tables of builtins.py and containers.py
  the user's functions               parsed and inlined
  classes, and functions without source, on known values: executed; on run-time values: JIT Fallback
"""
from __future__ import annotations

import dataclasses
import functools
import inspect
import io
import operator
import types
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..common.errors import ArgumentError, Refusal
from ..common.location import is_framework
from ..common.tensor import Parameter as TensorParameter, Tensor
from ..fallback.record import ANY
from ..mindir.graph import AnfNode
from ..mindir.primitive import PRIMITIVES, Primitive
from ..mindir.protocol import (Autocasted, CallOf, CallOfModule, CallOfModuleFor, CustomGradient, Derivative, Gate, Hooked,
                               Mapped, Recomputed, Rematerialised)
from ..ops import methods, setitem
from ..ops.define import cast_to
from .access import wrap_container
from .builtins import ASK_PYTHON, BUILTINS, item_of_tensor
from .custom import custom_gradient, recomputed
from .evaluating import Evaluating
from .fallback import CHANGERS, ask_python, call_unknown, change_outside
from .gradient_hooks import call_hooked, register_hook, remove_hook, through_gate
from .iterators import iterator_of
from .kinds import data_in, has_nodes, has_sizes, leaves
from .mapping import map_over
from .modules import call_module, call_module_for
from .outside import (
    CONTAINERS, HEAP_TYPE, VIEWS, from_library, guard_class, guard_contents, guard_part, is_users, method_of_class)
from .program import by_python
from .trees import data_of, is_tree
from .transforms import differentiate
from .values import BoundMethod, Box, Closure, Formatted, HookMethod, LeavingMethod, MadeException, Place, Value

ABOUT_OBJECTS = (isinstance, type, id, callable, hasattr, getattr)       # they do not read what an object holds
TAKE_OBJECTS = (print, str, repr, Tensor)
HOOK_METHODS: dict[str, Callable[..., Any]] = {"register_hook": register_hook, "remove": remove_hook}
FRAMEWORK = ("mindlite.ops", "mindlite.common", "mindlite.mindir", "mindlite.numpy",      # executed over nodes, not parsed
             *(f"mindlite.mint.{name}" for name in ("arithmetic", "creation", "linalg", "reductions", "shaping", "special",
                                                    "nn.functional")))


def call_value(ev: Evaluating, fn: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """fn(*args, **kwargs)"""
    if isinstance(fn, Closure):
        return ev.call_graph(fn.graph, fn.signature, fn.defaults, args, kwargs, outer=fn.frame, outer_env=fn.env)
    if ev.is_object(fn):
        return ask_python(ev, fn, args, "a function that is known at run time only", None, kwargs)
    if isinstance(fn, HookMethod):                           # what is registered may be Python's
        method = HOOK_METHODS[fn.name]
        return method(ev, fn.self, *taken_by(ev, method, (ev, fn.self), args, kwargs), **kwargs)
    if asks_python(ev, fn, (args, kwargs)):
        name = getattr(fn, "__name__", None) or getattr(fn, "name", type(fn).__name__)
        return ask_python(ev, fn, args, f"{name} of an object that Python made", None, kwargs)
    if isinstance(fn, BoundMethod):
        return _call_method(ev, fn, args, kwargs)
    if isinstance(fn, Primitive):
        return ev.trace(fn, args, kwargs)
    if isinstance(fn, functools.partial):
        return call_value(ev, fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
    protocol = getattr(fn, "__mindir__", None)
    if protocol is not None and not isinstance(fn, type):
        return _call_protocol(ev, fn, protocol(), args, kwargs)
    try:
        handler = BUILTINS.get(fn)
    except TypeError:                                        # not hashable: no builtin
        handler = None
    if handler is not None and fn in OF_NUMBERS:
        args = tuple([data_of(ev, a) if is_tree(a) else a for a in args])
    if handler is not None and not (handler in ASK_PYTHON and any(ev.is_object(a) for a in args)):
        if fn not in ABOUT_OBJECTS and fn is not len:
            guard_contents(ev, args)
        return handler(ev, *taken_by(ev, handler, (ev,), args, kwargs), **kwargs)
    if isinstance(fn, types.MethodWrapperType) and isinstance(fn.__self__, BaseException) \
            and fn.__name__ == "__init__" and not kwargs:
        return ev.write_place(Place("attr", fn.__self__, "args"), args)
    if getattr(fn, "__func__", None) is TensorParameter.set_data:
        return _set_data(ev, fn.__self__, *args, **kwargs)
    if getattr(fn, "__func__", None) in (Tensor.__setitem__, Tensor.assign_value) and not ev.concrete:
        return (_set_item if fn.__func__ is Tensor.__setitem__ else _assign_value)(ev, fn.__self__, *args, **kwargs)
    if isinstance(fn, types.MethodType):
        if hasattr(fn.__func__, "reads_registries") and not ev.concrete:
            return _listed(ev, fn, args, kwargs)
        if is_library_object(fn):                            # what it gives depends on what is in the object
            return call_unknown(ev, fn, args, kwargs, f"{fn.__func__.__qualname__} is a library's")
        return call_value(ev, fn.__func__, (fn.__self__, *args), kwargs)
    if isinstance(fn, types.FunctionType):
        return _call_function(ev, fn, args, kwargs)
    if isinstance(fn, type):
        return _construct(ev, fn, args, kwargs)
    call = method_of_class(ev, fn, "__call__")
    if call is not None and not is_framework(call.__code__.co_filename):
        return call_value(ev, call, (fn, *args), kwargs)
    return _run_or_fall_back(ev, fn, args, kwargs)


def _listed(ev: Evaluating, method: types.MethodType, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """The Cells or Parameters that a method of a Cell lists. They are read at compile time,
    with guards for the registries and the attributes of the Parameters."""
    owner: Any = method.__self__
    own = all(hasattr(getattr(type(owner), name), "reads_registries") for name in ("cells_and_names", "parameters_and_names"))
    cells = [cell for _, cell in owner.cells_and_names()] if own and not data_in((args, kwargs), ev.store) else []
    if not cells or not all([ev.guard_content(held) for cell in cells for held in (cell._cells, cell._params)]):
        return call_unknown(ev, method, args, kwargs, f"{method.__func__.__qualname__} reads what changes during the run")
    for cell in cells:
        for param in cell._params.values():
            for name in ("requires_grad", "name"):
                ev.guard("attr", param, name, getattr(param, name))
    made = by_python(ev, method, *ev.unbox(args), **ev.unbox(kwargs))
    return iterator_of(ev, tuple(made)) if isinstance(made, Iterator) else wrap_container(ev, made)


OF_NUMBERS = (int, float, abs, round, pow, divmod, min, max, complex)       # they are given what a leaf of a tree is


def taken_by(ev: Evaluating, handler: Value, own: tuple, args: Sequence[Value], kwargs: dict[str, Any]) -> Sequence[Value]:
    """`args`, if the handler of a builtin or of a method takes them. raises : ArgumentError"""
    signature = _signature_of(handler)
    try:
        signature.bind(*own, *args, **kwargs)
    except TypeError as error:
        raise ArgumentError(str(error)) from None
    return args


@functools.lru_cache(maxsize=None)
def _signature_of(handler: Value) -> inspect.Signature:
    return inspect.signature(handler)


def asks_python(ev: Evaluating, fn: Value, given: tuple) -> bool:
    """True for an operator, a builtin or a method of the graph's values that is given an object that Python made."""
    if isinstance(fn, BoundMethod) and isinstance(fn.self, Box):
        return fn.name not in ("append", "insert", "extend") and any(ev.is_object(x) for x in [*given[0], *given[1].values()])
    if isinstance(fn, (BoundMethod, Primitive)) or isinstance(fn, types.FunctionType) and (
            fn.__module__ or "").startswith(FRAMEWORK):
        return any(ev.is_object(x) for x in data_in(given, ev.store))
    try:
        return fn in BUILTINS and fn not in TAKE_OBJECTS and any(ev.is_object(x) for x in [*given[0], *given[1].values()])
    except TypeError:                                        # not hashable
        return False


def _set_data(ev: Evaluating, parameter: Value, data: Value, slice_shape: bool = False) -> Value:
    """parameter.set_data(data), which every run does."""
    if getattr(data, "shape", None) != parameter.shape:
        raise Refusal(f"Parameter {parameter.name!r} is set to data of another shape")
    ev.trace(PRIMITIVES["assign"], (parameter, ev.trace(cast_to, (ev.tracer.lift(data), parameter.dtype), {})), {})
    return parameter


def _set_item(ev: Evaluating, tensor: Value, index: Value, value: Value) -> None:
    """tensor.__setitem__(index, value), which every run does."""
    ev.tracer.assign(tensor, ev.trace(setitem, (tensor, index, value), {}))


def _assign_value(ev: Evaluating, tensor: Value, value: Value) -> Value:
    """tensor.assign_value(value), which every run does."""
    if (getattr(value, "shape", None), getattr(value, "dtype", None)) != (tensor.shape, tensor.dtype):
        raise Refusal(f"assign_value gives {tensor.name!r} data of another shape or type" if isinstance(tensor, TensorParameter)
                      else "assign_value gives a Tensor data of another shape or type")
    ev.tracer.assign(tensor, ev.tracer.lift(value))
    return tensor


def _call_function(ev: Evaluating, fn: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    module = fn.__module__ or ""
    if module.startswith(FRAMEWORK):
        return ev.trace(fn, args, kwargs)
    wrapped = getattr(fn, "__wrapped__", None)
    if wrapped is not None and hasattr(fn, "__mindir__"):
        return call_value(ev, wrapped, args, kwargs)
    if is_coroutine(fn) or from_library(fn):
        return _run_or_fall_back(ev, fn, args, kwargs)
    return ev.call_function(fn, args, kwargs)


def is_library_object(method: Any) -> bool:
    """True for a method of Python that a library's object has, of whose state graph mode knows nothing."""
    cls = method.__self__ if isinstance(method.__self__, type) else type(method.__self__)
    return isinstance(method.__func__, types.FunctionType) and from_library(method.__func__) \
        and not is_known_class(cls) and not is_users_class(cls)


def is_users_class(cls: Any) -> bool:
    """True for a class that the user wrote."""
    return cls.__flags__ & HEAP_TYPE and any(is_users(v) for v in vars(cls).values())


def is_coroutine(fn: Value) -> bool:
    """True for a function whose calls give coroutines."""
    return bool(fn.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR))


def _call_protocol(ev: Evaluating, fn: Value, what: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    if hasattr(type(fn), "cell_version"):                        # a Cell: its class's construct, its hooks, its casts
        guard_class(ev, fn, "construct", type(fn).construct)
        ev.guard("protocol", fn, "construct", (fn.cell_version, what))
    with ev.inside_cell(fn):
        return _do(ev, fn, what, args, kwargs)


def _do(ev: Evaluating, fn: Value, what: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """What the answer of `fn` says."""
    if isinstance(what, Hooked):
        return call_hooked(ev, what, args, kwargs, lambda args, kwargs: _do(ev, fn, what.call, args, kwargs))
    if type(what) not in ANSWERS:
        raise Refusal(f"{fn!r} answers __mindir__ with {type(what).__name__}")
    return ANSWERS[type(what)](ev, what, args, kwargs)


def _with(setting: str) -> Callable[..., Value]:
    """Call the function with this setting of the Tracer as the answer has it."""
    def call(ev, what, args, kwargs):
        before = getattr(ev.tracer, setting)
        setattr(ev.tracer, setting, getattr(what, setting))
        try:
            return call_value(ev, what.function, args, kwargs)
        finally:
            setattr(ev.tracer, setting, before)
    return call


ANSWERS: dict[type, Callable[..., Any]] = {
    CallOf: lambda ev, what, args, kwargs: call_value(ev, what.function, args, kwargs),
    Gate: lambda ev, what, args, kwargs: through_gate(ev, *args, **kwargs),
    Rematerialised: _with("remat"),
    Autocasted: _with("policy"),
    Derivative: differentiate,
    CustomGradient: custom_gradient,
    Recomputed: recomputed,
    CallOfModule: call_module,
    CallOfModuleFor: call_module_for,
    Mapped: map_over,
}


def _element(ev: Evaluating, tensor: Value, index: Sequence[Value]) -> Value:
    """The element that x.item(*index) names: one index counts in row-major order."""
    at = index[0] if isinstance(index[0], tuple) else index
    row = tensor if len(at) > 1 else ev.trace(methods.METHODS["reshape"], (ev.tracer.lift(tensor), -1), {})
    return ev.trace(methods.METHODS["__getitem__"], (ev.tracer.lift(row), tuple(at)), {})


def _call_method(ev: Evaluating, method: BoundMethod, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    if isinstance(method, LeavingMethod):
        return call_unknown(ev, method.function, (method.self, *args), kwargs, f"{method.name}() leaves the Tensors")
    if method.name == "item":
        return item_of_tensor(ev, _element(ev, method.self, args) if args else method.self)
    if isinstance(method.self, (Box, tuple)):
        return method.function(ev, method.self, *taken_by(ev, method.function, (ev, method.self), args, kwargs), **kwargs)
    if isinstance(method.self, AnfNode) or isinstance(method.self, Tensor):
        in_place = method.name.endswith("_") and not method.name.endswith("__")
        owner = method.self if in_place else ev.tracer.lift(method.self)     # what is written to is the very Tensor
        return ev.trace(method.function, (owner, *args), kwargs)
    return by_python(ev, method.function, method.self, *args, **kwargs)


def _construct(ev: Evaluating, cls: type, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """cls(*args, **kwargs)"""
    if issubclass(cls, BaseException):
        return make_exception(ev, cls, args, kwargs)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return by_python(ev, cls, *args, **kwargs)
    if ev.is_marked(cls.__name__):
        return call_unknown(ev, cls, args, kwargs, f"a {cls.__name__} is shared with Python code", ANY)
    if is_plain_class(cls):                                  # what object() and __init__ do
        made = ev.make_object(object.__new__(cls))
        if cls.__init__ is not object.__init__:
            ev.call(cls.__init__, (made, *args), kwargs)
        elif args or kwargs:
            by_python(ev, cls, *ev.unbox(args), **ev.unbox(kwargs))         # Python says what is wrong
        return made
    if only_keeps_its_arguments(cls):
        return ev.make_object(dataclass_object(ev, cls, args, kwargs))
    if not has_nodes((args, kwargs), ev.store) and is_known(cls):
        made = wrap_container(ev, by_python(ev, cls, *ev.unbox(args), **ev.unbox(kwargs)))
        return made if isinstance(made, (Box, *IMMUTABLE)) or is_framework_class(cls) else ev.make_object(made)
    return call_unknown(ev, cls, args, kwargs, f"the class {cls.__name__} is not known to graph mode")


def dataclass_object(ev: Evaluating, cls: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Any:
    """cls(*args, **kwargs); what the default factories make is made by the program, anew in each run."""
    fields = dataclasses.fields(cls)
    given = {f.name for f in [f for f in fields if f.init and not f.kw_only][:len(args)]} | kwargs.keys()
    made = {f.name: ev.call_function(_made_by, (f.default_factory,), {}) for f in fields
            if f.default_factory is not dataclasses.MISSING and f.name not in given}
    obj = by_python(ev, cls, *args, **kwargs, **{f.name: made[f.name] for f in fields if f.init and f.name in made})
    for f in fields:
        if not f.init and f.name in made:
            object.__setattr__(obj, f.name, made[f.name])
    return obj


def _made_by(factory: Any) -> Any:
    return factory()


def only_keeps_its_arguments(cls: Any) -> bool:
    """True for a dataclass whose objects Python need not make."""
    return hasattr(cls, "__dataclass_fields__") and not hasattr(cls, "__post_init__")


def is_framework_class(cls: Any) -> bool:
    """True for a class of mindlite's, or derived from one: a Cell, a Parameter."""
    return any((c.__module__ or "").startswith("mindlite") for c in cls.__mro__)


def is_plain_class(cls: Any) -> bool:
    """True for a user's class whose objects are made by its __init__ only, in Python that can be parsed."""
    init = cls.__init__
    own = init is object.__init__ or is_users(init) and not init.__code__.co_filename.startswith("<")
    return own and cls.__new__ is object.__new__ and type(cls) in (type, ABCMeta) and not is_framework_class(cls) \
        and cls.__flags__ & HEAP_TYPE and cls.__setattr__ is object.__setattr__


def is_known(fn: Value) -> bool:
    """True for functions that are called at compile time if their arguments are
    known: they have no effect and always return the same."""
    owner = getattr(fn, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        if isinstance(owner, (types.GeneratorType, io.IOBase)) or isinstance(owner, Iterator):
            return False
        return is_known_class(type(owner) if not isinstance(owner, type) else owner)
    if isinstance(fn, type):
        return is_known_class(fn)
    if isinstance(fn, operator.methodcaller) or getattr(fn, "__name__", "") in CHANGING:
        return False
    module = getattr(fn, "__module__", None) or ""
    if module == "builtins":
        return fn not in EFFECTFUL
    if type(fn).__name__ == "ufunc":
        return True
    return module.partition(".")[0] in PURE and not module.startswith(("numpy.random", "os.environ"))


def is_users_object(value: Value) -> bool:
    """True for an object of the user's, of whose state a library's function may make something."""
    cls = type(value)
    return bool(cls.__flags__ & HEAP_TYPE) and (cls.__module__ or "").partition(".")[0] not in PURE \
        and not is_framework_class(cls)


def is_known_class(cls: Any) -> bool:
    """True for classes whose methods compute with what is in the object."""
    module = cls.__module__ or ""
    if is_framework_class(cls):
        return True
    return (module.partition(".")[0] in PURE or module == "builtins") and not module.startswith("numpy.random")


IMMUTABLE = (int, float, complex, str, bytes, tuple, frozenset, range, slice, type(None), type, types.FunctionType)
# functions of pure modules that change what they are given
CHANGING = frozenset(("setitem", "delitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul",
                      "iand", "ior", "ixor", "ilshift", "irshift", "iconcat", "insort", "insort_left", "insort_right",
                      "copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal", "dump", "save", "savez"))
EFFECTFUL = (open, input, next, exec, eval, print, setattr, delattr, __import__, breakpoint)
PURE = {"math", "cmath", "operator", "_operator", "functools", "_functools", "copy", "string",
        "_string", "re", "numbers", "typing", "collections", "_collections", "_collections_abc", "dataclasses",
        "inspect", "types", "enum", "posixpath", "ntpath", "genericpath", "statistics", "abc", "_abc", "textwrap",
        "fractions", "numpy", "ml_dtypes", "mindlite", "struct", "_struct", "json",
        "keyword", "bisect", "_bisect", "builtins"}


def make_exception(ev: Evaluating, cls: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """cls(*args), an exception: an object if all is known, else MadeException; a user's __init__ is executed."""
    init, mark = cls.__init__, ev.mark_of(cls.__name__)
    if mark in ev.fallback.marks:
        return call_unknown(ev, cls, args, kwargs, f"a {cls.__name__} is shared with Python code")
    if ev.concrete:
        made = by_python(ev, cls.__new__, cls, *args, **kwargs)
        if is_users(init):
            ev.call(init, (made, *args), kwargs)
        else:
            by_python(ev, init, made, *args, **kwargs)
        return made
    args, kwargs = tuple([ev.tracer.late(a) for a in args]), {k: ev.tracer.late(v) for k, v in kwargs.items()}
    known = not has_nodes((args, kwargs), ev.store) and not any(
        isinstance(a, (Formatted, Box, MadeException)) for a in (*args, *kwargs.values()))
    fields, before, written = None, dict(ev.store), len(ev.tracer.graph.nodes)
    if is_users(init):
        fields = ev.make_object(by_python(ev, cls.__new__, cls))
        ev.call(init, (fields, *args), kwargs)
        known &= written == len(ev.tracer.graph.nodes) and all(
            ev.store[key] is before.get(key) or isinstance(key, Place) and key.owner is fields for key in ev.store)
    return ev.make_object(by_python(ev, cls, *args, **kwargs)) if known else MadeException(cls, args, kwargs, fields, (mark,))


def _run_or_fall_back(ev: Evaluating, fn: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """A callable without source: on known values it is executed now, else at run time."""
    owner = getattr(fn, "__self__", None)
    name = getattr(fn, "__qualname__", None) or type(fn).__name__
    if isinstance(owner, CONTAINERS) and getattr(fn, "__name__", "") in CHANGERS:
        return change_outside(ev, getattr(type(owner), fn.__name__), (owner, *args), kwargs)
    known = is_known(fn) and not data_in((args, kwargs, owner), ev.store) \
        and not (isinstance(owner, str) and has_sizes((args, kwargs)))
    known = known and not any(is_users_object(x) for x in leaves((args, tuple(kwargs.values()))))
    asks = type(owner) is dict and args and not kwargs and fn.__name__ == "get"
    if known and not ev.is_marked("result") and (guard_part(ev, owner, "get", args[0]) and guard_contents(ev, args) if asks else
                                                 guard_contents(ev, (owner, args, tuple(kwargs.values())))):
        made = wrap_container(ev, by_python(ev, fn, *ev.unbox(args), **ev.unbox(kwargs)))
        return ev.make_object(made, "result") if isinstance(made, (np.ndarray, Iterator, *VIEWS)) else made
    return call_unknown(ev, fn, args, kwargs, f"{name} has no Python source, or is a library's")
