"""Calls during inference: who is called decides.

  what has `__mindir__`              Cells, jit, grad, vmap: by protocol
  operators and framework functions  executed over nodes: they write nodes
  builtins, methods of containers    the tables of builtins.py and containers.py
  the user's functions               parsed and inlined
  classes, and functions without source, on known values: executed; on run-time values: JIT Fallback
"""
import functools
import inspect
import types

from ..common.errors import GraphSyntaxError
from ..common.location import is_framework
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import Primitive
from ..mindir.protocol import CallOf, Derivative, Mapped
from .access import Formatted, wrap_container
from .builtins import ASK_PYTHON, BUILTINS, item_of_tensor
from .fallback import call_unknown
from .outcome import LazyException
from .transforms import differentiate, map_over
from .values import BoundMethod, Box, Closure, LeavingMethod, has_nodes, leaves

FRAMEWORK = ("mindlite.ops", "mindlite.common", "mindlite.mindir")      # executed over nodes, not parsed
_STDLIB = inspect.getsourcefile(inspect).rsplit("/", 1)[0].rsplit("\\", 1)[0]


def call_value(ev, fn, args, kwargs):
    """fn(*args, **kwargs)"""
    if isinstance(fn, Closure):
        return ev.call_graph(fn.graph, fn.signature, fn.defaults, args, kwargs, outer=fn.frame, outer_env=fn.env)
    if isinstance(fn, BoundMethod):
        return _call_method(ev, fn, args, kwargs)
    if isinstance(fn, Primitive):
        return ev.trace(fn, args, kwargs)
    if ev.is_object(fn):
        return call_unknown(ev, fn, args, kwargs, "a function that is known at run time only")
    if isinstance(fn, functools.partial):
        return call_value(ev, fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
    protocol = getattr(fn, "__mindir__", None)
    if protocol is not None and not isinstance(fn, type):
        return _call_protocol(ev, fn, protocol(), args, kwargs)
    try:
        handler = BUILTINS.get(fn)
    except TypeError:                                        # not hashable: no builtin
        handler = None
    if handler is not None and not (handler in ASK_PYTHON and any(ev.is_object(a) for a in args)):
        return handler(ev, *args, **kwargs)
    if isinstance(fn, types.MethodType):
        return call_value(ev, fn.__func__, (fn.__self__, *args), kwargs)
    if isinstance(fn, types.FunctionType):
        return _call_function(ev, fn, args, kwargs)
    if isinstance(fn, type):
        return _construct(ev, fn, args, kwargs)
    call = getattr(type(fn), "__call__", None)
    if isinstance(call, types.FunctionType) and not is_framework(call.__code__.co_filename):
        return call_value(ev, call, (fn, *args), kwargs)
    return _run_or_fall_back(ev, fn, args, kwargs)


def _call_function(ev, fn, args, kwargs):
    module = fn.__module__ or ""
    if module.startswith(FRAMEWORK):
        return ev.trace(fn, args, kwargs)
    wrapped = getattr(fn, "__wrapped__", None)
    if wrapped is not None and hasattr(fn, "__mindir__"):
        return call_value(ev, wrapped, args, kwargs)
    flags = fn.__code__.co_flags
    if flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR) or _from_library(fn):
        return _run_or_fall_back(ev, fn, args, kwargs)
    return ev.call_function(fn, args, kwargs)


@functools.lru_cache(maxsize=None)
def _is_library_file(filename):
    return "site-packages" in filename or filename.startswith(("<frozen", _STDLIB))


def _from_library(fn):
    """True for functions of the standard library and of installed packages other than mindlite: they are called, not parsed."""
    filename = fn.__code__.co_filename
    return _is_library_file(filename) and not is_framework(filename)


def _call_protocol(ev, fn, what, args, kwargs):
    if isinstance(what, CallOf):
        return call_value(ev, what.function, args, kwargs)
    if isinstance(what, Derivative):
        return differentiate(ev, what, args, kwargs)
    if isinstance(what, Mapped):
        return map_over(ev, what, args, kwargs)
    raise GraphSyntaxError(f"{fn!r} answers __mindir__ with {type(what).__name__}")


def _call_method(ev, method, args, kwargs):
    if isinstance(method, LeavingMethod):
        return call_unknown(ev, method.function, (method.self, *args), kwargs, f"{method.name}() leaves the Tensors")
    if method.name == "item" and not args:
        return item_of_tensor(ev, method.self)
    if isinstance(method.self, (Box, tuple)):
        return method.function(ev, method.self, *args, **kwargs) if isinstance(method.self, Box) else \
            method.function(ev.unbox(method.self), *ev.unbox(args))
    if isinstance(method.self, AnfNode) or isinstance(method.self, Tensor):
        return ev.trace(method.function, (ev.tracer.lift(method.self), *args), kwargs)
    return method.function(method.self, *args, **kwargs)


def _construct(ev, cls, args, kwargs):
    """cls(*args, **kwargs)"""
    if issubclass(cls, BaseException):
        return _make_exception(ev, cls, args, kwargs)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return cls(*args, **kwargs)
    if not has_nodes((args, kwargs), ev.store):
        made = cls(*ev.unbox(args), **ev.unbox(kwargs))
        return wrap_container(ev, made)
    if cls.__init__ is not object.__init__ and isinstance(cls.__init__, types.FunctionType) \
            and not is_framework(cls.__init__.__code__.co_filename) and cls.__new__ is object.__new__:
        made = cls(*ev.unbox(args), **ev.unbox(kwargs)) if _stores_only(cls) else None
        if made is not None:
            return made
    return call_unknown(ev, cls, args, kwargs, f"the class {cls.__name__} is not known to graph mode")


def _stores_only(cls):
    """True for classes whose __init__ only keeps its arguments: dataclasses without __post_init__."""
    return hasattr(cls, "__dataclass_fields__") and not hasattr(cls, "__post_init__")


def _make_exception(ev, cls, args, kwargs):
    if not has_nodes(args, ev.store) and not any(isinstance(a, Formatted) for a in args):
        return cls(*ev.unbox(args), **ev.unbox(kwargs))
    operands = [v for a in args for v in (a.values if isinstance(a, Formatted) else [a])]

    def make(*values):
        values, made = list(values), []
        for a in args:
            if isinstance(a, Formatted):
                made.append(a.make(values[:len(a.values)]))
                values = values[len(a.values):]
            else:
                made.append(values.pop(0))
        return cls(*made)
    return LazyException(make, operands)


def _run_or_fall_back(ev, fn, args, kwargs):
    """A callable without source: on known values it is executed now, else at run time."""
    if not ev.concrete and not leaves((args, kwargs, getattr(fn, "__self__", None)), ev.store):
        return wrap_container(ev, fn(*ev.unbox(args), **ev.unbox(kwargs)))
    name = getattr(fn, "__qualname__", None) or type(fn).__name__
    return call_unknown(ev, fn, args, kwargs, f"{name} has no Python source, or is a library's")
