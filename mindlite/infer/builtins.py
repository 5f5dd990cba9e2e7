"""Calls during inference: who is called decides. Python's builtins and the methods of containers stand in tables here.

  what has `__mindir__`              Cells, jit, grad, vmap: by protocol
  operators and framework functions  executed over nodes: they write nodes
  builtins, methods of containers    the tables below
  the user's functions               parsed and inlined
  classes, and functions without source, on known values: executed; on run-time values: JIT Fallback
"""
import builtins
import functools
import inspect
import types

from ..common import dtype as dt
from ..common.dim import Dim, dim_max, dim_min
from ..common.errors import ArgumentError, GraphSyntaxError, MissingAttributeError
from ..common.location import is_framework
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import PRIMITIVES, Primitive, interpreting
from ..mindir.protocol import CallOf, Derivative, Mapped
from ..ops.scalar import scalar_binary, scalar_cast, scalar_unary, tensor_to_scalar
from . import control
from .fallback import call_unknown
from .outcome import LazyException
from .transforms import differentiate, map_over
from .values import BoundMethod, Box, Closure, LeavingMethod, Range, has_nodes, leaves

BUILTINS = {}
ASK_PYTHON = set()
FRAMEWORK = ("mindlite.ops", "mindlite.common", "mindlite.mindir")      # executed over nodes, not parsed


def builtin(*functions):
    """Register what calling a Python builtin does: (evaluator, *args, **kwargs) -> value."""
    def register(handler):
        for function in functions:
            BUILTINS[function] = handler
        return handler
    return register


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
    return "site-packages" in filename or filename.startswith("<frozen") or filename.startswith(_STDLIB)


_STDLIB = inspect.getsourcefile(inspect).rsplit("/", 1)[0].rsplit("\\", 1)[0]


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
        return _item(ev, method.self)
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
        from .execute import wrap_container
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
    from .execute import Formatted
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
        from .execute import wrap_container
        return wrap_container(ev, fn(*ev.unbox(args), **ev.unbox(kwargs)))
    name = getattr(fn, "__qualname__", None) or type(fn).__name__
    return call_unknown(ev, fn, args, kwargs, f"{name} has no Python source, or is a library's")


# ---------------------------------------------------------------- sequences

def length(ev, value):
    """len(value)"""
    if ev.is_object(value):
        return call_unknown(ev, len, (value,), {}, "the length of an object that Python made")
    if isinstance(value, Box):
        return len(ev.store[value])
    if isinstance(value, AnfNode):
        if isinstance(value.abstract, AbstractTensor):
            if not value.shape:
                raise ArgumentError("a Tensor without axes has no len()")
            return value.shape[0]
        raise ArgumentError(f"object of type {value.abstract} has no len()")
    if isinstance(value, Range):
        raise GraphSyntaxError("len() of a range whose end is known at run time only")
    if hasattr(value, "__mindir__") and hasattr(type(value), "__len__"):
        return call_value(ev, type(value).__len__, (value,), {})
    return len(value)


def iterate(ev, value):
    """The items of something iterable, as a list."""
    if isinstance(value, Box):
        content = ev.store[value]
        return [k for k, _ in content] if value.kind == "dict" else list(content)
    if isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor) or isinstance(value, Tensor):
        from .execute import item
        size = value.shape[0] if value.shape else None
        if size is None:
            raise ArgumentError("iteration over a Tensor without axes")
        if isinstance(size, Dim):
            raise GraphSyntaxError("the number of items is known at run time only")
        return [item(ev, value, i) for i in range(size)]
    if isinstance(value, Range):
        raise GraphSyntaxError("the number of items is known at run time only")
    if isinstance(value, AnfNode):
        raise ArgumentError(f"{value.abstract} is not iterable")
    return list(value)


@builtin(len)
def _len(ev, value):
    return length(ev, value)


@builtin(range)
def _range(ev, *args):
    args = [_number_of(ev, a) for a in args]
    if not any(isinstance(a, (AnfNode, Dim)) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return Range(start, stop, step)


def _number_of(ev, value):
    if isinstance(value, Tensor) or (isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor)):
        return _item(ev, value)
    return value


def _item(ev, value):
    with interpreting(ev.tracer):
        return tensor_to_scalar(ev.tracer.lift(value))


@builtin(tuple)
def _tuple(ev, value=()):
    return tuple(iterate(ev, value))


@builtin(list)
def _list(ev, value=()):
    return ev.new_box("list", tuple(iterate(ev, value)))


@builtin(set)
def _set(ev, value=()):
    return ev.new_box("set", tuple(dict.fromkeys(iterate(ev, value))))


@builtin(dict)
def _dict(ev, *args, **kwargs):
    pairs = {}
    for arg in args:
        pairs.update(dict(ev.store[arg]) if isinstance(arg, Box) and arg.kind == "dict" else
                     arg if isinstance(arg, dict) else [tuple(iterate(ev, pair)) for pair in iterate(ev, arg)])
    pairs.update(kwargs)
    return ev.new_box("dict", tuple(pairs.items()))


@builtin(zip)
def _zip(ev, *values, strict=False):
    lists = [iterate(ev, v) for v in values]
    if strict and len({len(x) for x in lists}) > 1:
        raise ValueError("zip() arguments have different lengths")
    return tuple(zip(*lists))


@builtin(enumerate)
def _enumerate(ev, value, start=0):
    return tuple(enumerate(iterate(ev, value), start))


@builtin(reversed)
def _reversed(ev, value):
    return value[::-1] if isinstance(value, range) else tuple(iterate(ev, value)[::-1])


@builtin(map)
def _map(ev, fn, *values):
    return tuple(call_value(ev, fn, items, {}) for items in zip(*(iterate(ev, v) for v in values)))


@builtin(filter)
def _filter(ev, fn, value):
    kept = []
    for x in iterate(ev, value):
        keep = control.truth(ev, x if fn is None else call_value(ev, fn, (x,), {}))
        if isinstance(keep, AnfNode):
            raise GraphSyntaxError("filter() by a condition that is known at run time only")
        if keep:
            kept.append(x)
    return tuple(kept)


@builtin(functools.reduce)
def _reduce(ev, fn, value, *initial):
    items = [*initial, *iterate(ev, value)]
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = items[0]
    for x in items[1:]:
        total = call_value(ev, fn, (total, x), {})
    return total


@builtin(sum)
def _sum(ev, value, start=0):
    from .execute import binary_value
    if isinstance(value, (AnfNode, Tensor)):
        return ev.trace(lambda x: x.sum(0), (value,), {}) if start == 0 else binary_value(
            ev, "+", ev.trace(lambda x: x.sum(0), (value,), {}), start)
    for x in iterate(ev, value):
        start = binary_value(ev, "+", start, x)
    return start


def _any_all(word, stop):
    def handler(ev, value):
        result = not stop
        for x in iterate(ev, value):
            known = control.truth(ev, x)
            if isinstance(known, AnfNode):
                result = known if not isinstance(result, AnfNode) else ev.trace(PRIMITIVES[word], (result, known), {})
            elif known is stop:
                return stop
        return result
    return handler


BUILTINS[any], BUILTINS[all] = _any_all("logical_or", True), _any_all("logical_and", False)


@builtin(sorted)
def _sorted(ev, value, *, key=None, reverse=False):
    items = iterate(ev, value)
    keys = [x if key is None else call_value(ev, key, (x,), {}) for x in items]
    if has_nodes(tuple(keys), ev.store):
        raise GraphSyntaxError("sorted() by values that are known at run time only", hint="ops.sort sorts a Tensor")
    order = sorted(range(len(items)), key=lambda i: keys[i], reverse=reverse)
    return ev.new_box("list", tuple(items[i] for i in order))


def _extreme(word, op, of_dims, tensor_method):
    def handler(ev, *values, key=None, **kwargs):
        if len(values) == 1:
            if isinstance(values[0], (AnfNode, Tensor)):
                return ev.trace(lambda x: getattr(x, tensor_method)(), (values[0],), {})
            values = iterate(ev, values[0])
        if not has_nodes(tuple(values), ev.store) and not any(isinstance(v, Tensor) for v in values):
            return {"max": max, "min": min}[word](values, **({"key": lambda x: call_value(ev, key, (x,), {})} if key else {}), **kwargs)
        best = values[0]
        for x in values[1:]:
            if _is_tensor(best) or _is_tensor(x):
                best = ev.trace(PRIMITIVES[op], (best, x), {})
            elif isinstance(best, (int, Dim)) and isinstance(x, (int, Dim)):
                best = of_dims(best, x)
            else:
                with interpreting(ev.tracer):
                    best = scalar_binary(best, x, op=word)
        return best
    return handler


BUILTINS[max], BUILTINS[min] = _extreme("max", "maximum", dim_max, "max"), _extreme("min", "minimum", dim_min, "min")


def _is_tensor(value):
    return isinstance(value, Tensor) or (isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor))


# ---------------------------------------------------------------- numbers

def _converter(cls, kind):
    def handler(ev, value=0, *rest):
        if ev.is_object(value):
            return call_unknown(ev, cls, (value,), {}, f"{cls.__name__} of an object that Python made")
        if _is_tensor(value):
            value = _item(ev, value)
        if isinstance(value, Dim):
            if kind is int:
                return value
            value = ev.tracer.lift(value)
        if isinstance(value, AnfNode):
            if kind is bool:
                return control.truth(ev, value)
            with interpreting(ev.tracer):
                return value if value.abstract.type is kind else scalar_cast(value, type=kind)
        if kind is bool:
            return control.truth(ev, value)
        return cls(ev.unbox(value), *rest)
    return handler


for _cls in (int, float, bool):
    BUILTINS[_cls] = _converter(_cls, _cls)


@builtin(abs)
def _abs(ev, value):
    if _is_tensor(value):
        return ev.trace(PRIMITIVES["abs"], (value,), {})
    if isinstance(value, AnfNode):
        with interpreting(ev.tracer):
            return scalar_unary(value, op="abs")
    return abs(value)


@builtin(round)
def _round(ev, value, *digits):
    return ev.trace(PRIMITIVES["round"], (value,), {}) if _is_tensor(value) else round(value, *digits)


@builtin(pow)
def _pow(ev, a, b):
    from .execute import binary_value
    return binary_value(ev, "**", a, b)


@builtin(divmod)
def _divmod(ev, a, b):
    from .execute import binary_value
    return binary_value(ev, "//", a, b), binary_value(ev, "%", a, b)


# ---------------------------------------------------------------- objects

def python_type(value):
    """The class that type(value) gives in Python."""
    if isinstance(value, Box):
        return {"list": list, "dict": dict, "set": set}[value.kind]
    if isinstance(value, AnfNode):
        if isinstance(value.abstract, AbstractTensor):
            return Tensor
        if isinstance(value.abstract, AbstractScalar):
            return value.abstract.type
        raise GraphSyntaxError("the type of an object that is known at run time only")
    if isinstance(value, Dim):
        return int
    if isinstance(value, Range):
        return range
    if isinstance(value, (Closure, BoundMethod)):
        return types.FunctionType
    return type(value)


@builtin(isinstance)
def _isinstance(ev, value, classes):
    if isinstance(value, (Box, AnfNode, Dim, Range, Closure, BoundMethod)):
        return issubclass(python_type(value), classes)
    return isinstance(value, classes)


@builtin(type)
def _type(ev, value, *rest):
    return type(value, *rest) if rest else python_type(value)


@builtin(callable)
def _callable(ev, value):
    return isinstance(value, (Closure, BoundMethod)) or callable(value)


@builtin(hasattr)
def _hasattr(ev, value, name):
    from .execute import attribute
    try:
        attribute(ev, value, name)
    except AttributeError:
        return False
    return True


@builtin(getattr)
def _getattr(ev, value, name, *default):
    from .execute import attribute
    try:
        return attribute(ev, value, name)
    except AttributeError as error:
        if default:
            return default[0]
        raise MissingAttributeError(str(error)) from None


@builtin(id)
def _id(ev, value):
    return id(value)


@builtin(str, repr)
def _str(ev, value=""):
    from .execute import Formatted
    if has_nodes(value, ev.store) or isinstance(value, Tensor):
        return Formatted([(value, "", "s")])
    return str(ev.unbox(value))


@builtin(builtins.print)
def _print(ev, *values, sep=" ", end="\n", **kwargs):
    from .execute import Formatted
    if kwargs:
        raise ArgumentError("print inside a graph takes sep and end only")
    operands = [v for value in values for v in (value.values if isinstance(value, Formatted) else [value])]

    def show(*items):
        items, made = list(items), []
        for value in values:
            if isinstance(value, Formatted):
                made.append(value.make(items[:len(value.values)]))
                items = items[len(value.values):]
            else:
                made.append(items.pop(0))
        print(*made, sep=sep, end=end)
    return call_unknown(ev, show, tuple(operands), {}, "print", returns=())


@builtin(Tensor)
def _tensor(ev, input_data=None, dtype=None, shape=None, init=None):
    if ev.is_object(input_data):
        return call_unknown(ev, Tensor, (input_data,), {} if dtype is None else {"dtype": dtype}, "a Tensor made of an object")
    if isinstance(input_data, AnfNode) or has_nodes(input_data, ev.store):
        wanted = None if dtype is None else dt.dtype(dtype)

        def make(data):
            from ..ops.define import as_operand, cast_to
            from ..ops import stack
            if isinstance(data, (list, tuple)):
                data = stack([as_operand(x) for x in data])
            made = as_operand(data)
            return cast_to(made, wanted) if wanted is not None else made
        return ev.trace(make, (input_data,), {})
    return Tensor(ev.unbox(input_data), dtype, shape, init)


# ---------------------------------------------------------------- methods of lists, dicts and sets

def _content(ev, box):
    return list(ev.store[box])


def _list_append(ev, box, value):
    ev.store[box] = ev.store[box] + (value,)


def _list_extend(ev, box, values):
    ev.store[box] = ev.store[box] + tuple(iterate(ev, values))


def _list_insert(ev, box, index, value):
    items = _content(ev, box)
    items.insert(index, value)
    ev.store[box] = tuple(items)


def _list_pop(ev, box, index=-1):
    items = _content(ev, box)
    value = items.pop(index)
    ev.store[box] = tuple(items)
    return value


def _list_clear(ev, box):
    ev.store[box] = ()


def _list_reverse(ev, box):
    ev.store[box] = ev.store[box][::-1]


def _list_copy(ev, box):
    return ev.new_box(box.kind, ev.store[box])


def _list_count(ev, box, value):
    return sum(1 for x in ev.unbox(ev.store[box]) if x is value or x == value)


def _list_index(ev, box, value):
    return ev.unbox(ev.store[box]).index(value)


def _list_remove(ev, box, value):
    _list_pop(ev, box, _list_index(ev, box, value))


def _list_sort(ev, box, *, key=None, reverse=False):
    ev.store[box] = ev.store[_sorted(ev, box, key=key, reverse=reverse)]


def _dict_items(ev, box):
    return tuple((k, v) for k, v in ev.store[box])


def _dict_keys(ev, box):
    return tuple(k for k, _ in ev.store[box])


def _dict_values(ev, box):
    return tuple(v for _, v in ev.store[box])


def _dict_get(ev, box, key, default=None):
    return dict(ev.store[box]).get(key, default)


def _dict_update(ev, box, *args, **kwargs):
    ev.store[box] = tuple({**dict(ev.store[box]), **dict(ev.store[_dict(ev, *args, **kwargs)])}.items())


def _dict_pop(ev, box, key, *default):
    pairs = dict(ev.store[box])
    value = pairs.pop(key, *default)
    ev.store[box] = tuple(pairs.items())
    return value


def _dict_setdefault(ev, box, key, default=None):
    pairs = dict(ev.store[box])
    value = pairs.setdefault(key, default)
    ev.store[box] = tuple(pairs.items())
    return value


def _dict_has_key(ev, box, key):
    return key in dict(ev.store[box])


def _set_add(ev, box, value):
    ev.store[box] = tuple(dict.fromkeys([*ev.store[box], value]))


METHODS_OF = {
    "list": {"append": _list_append, "extend": _list_extend, "insert": _list_insert, "pop": _list_pop, "clear": _list_clear,
             "reverse": _list_reverse, "copy": _list_copy, "count": _list_count, "index": _list_index, "remove": _list_remove,
             "sort": _list_sort},
    "dict": {"items": _dict_items, "keys": _dict_keys, "values": _dict_values, "get": _dict_get, "update": _dict_update,
             "pop": _dict_pop, "setdefault": _dict_setdefault, "has_key": _dict_has_key, "clear": _list_clear, "copy": _list_copy},
    "set": {"add": _set_add, "clear": _list_clear, "copy": _list_copy},
}


def method_of_box(ev, box, name):
    """The method `name` of a list, dict or set."""
    try:
        return BoundMethod(METHODS_OF[box.kind][name], box, name)
    except KeyError:
        raise MissingAttributeError(f"{box.kind!r} object has no attribute {name!r}") from None
