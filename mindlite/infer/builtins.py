"""What calling Python's builtins does during inference: one handler each, in one table."""
from __future__ import annotations

import builtins
import dataclasses
import functools
import math
import operator
import types
from typing import Any

from ..common import dtype as dt
from ..common.dim import Dim, dim_max, dim_min
from ..common.errors import DTypeError, MissingAttributeError, Refusal
from ..common.tensor import Parameter, Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import PRIMITIVES, interpreting
from ..ops import stack, where
from ..ops.define import as_operand, cast_to, dtype_of
from ..ops.methods import METHODS
from ..ops.scalar import scalar_binary, scalar_cast, scalar_unary, tensor_to_scalar
from ..ops.state import stop_gradient
from .access import attribute, binary_value, compare_values, is_scalar_node, is_tensor, iterate, length, negate, special
from .branches import truth
from .containers import pairs_of
from .evaluating import Evaluating
from .fallback import ask_python, call_unknown
from .iterators import catching, is_iterator, iterator_of, new_iterator, next_of
from .kinds import data_in, has_nodes
from .messages import class_of, repr_of, text_of
from .state import Raises
from .outside import method_of_class
from .program import by_python, of_container, raised_as, raises, text_by_python
from .sharing import check_key
from .special import CALLED, call_special, is_object_of_python, text_of_object
from .tensor_attributes import class_of_tensor
from .trees import is_instance, is_tree
from .values import BoundMethod, Box, Closure, Conflict, Formatted, MadeException, Range, Value
from collections.abc import Callable, Sequence

BUILTINS: dict[Any, Callable[..., Any]] = {}
ASK_PYTHON: set = set()


def builtin(*functions: Value) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register what calling a Python builtin does: (evaluator, *args, **kwargs) -> value."""
    def register(handler):
        for function in functions:
            BUILTINS[function] = handler
        return handler
    return register


@builtin(range)
def _range(ev: Evaluating, *given: Value) -> Value:
    args = [_index_of(ev, a) for a in given]
    if not any(isinstance(a, (AnfNode, Dim)) for a in args):
        return by_python(ev, range, *args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return Range(start, stop, step)


def _index_of(ev: Evaluating, value: Value) -> Value:
    """An int that counts: what `operator.index` gives."""
    if is_tensor(value):
        if value.dtype.kind not in "iu":
            raise DTypeError(f"only an integer Tensor is an index, this is {dtype_of(value).name}")
        return item_of_tensor(ev, value)
    if isinstance(value, Dim) or isinstance(value, AnfNode) and value.abstract.type is int:
        return value
    if isinstance(value, AnfNode):
        raise raises(ev, TypeError(f"'{value.abstract.type.__name__}' object cannot be interpreted as an integer"))
    return by_python(ev, operator.index, ev.unbox(converted(ev, value, "__index__")))


def converted(ev: Evaluating, value: Value, *names: str) -> Value:
    """What the first of these special methods that a user's class has gives for its object; else the value itself."""
    return next((made[0] for made in (call_special(ev, value, name) for name in names) if made is not None), value)


def item_of_tensor(ev: Evaluating, value: Value) -> Value:
    """The one element of a tensor, as a number."""
    with interpreting(ev.tracer):
        return tensor_to_scalar(ev.tracer.lift(value))


@builtin(set)
def _set(ev: Evaluating, value: Value = ()) -> Value:
    items = tuple(iterate(ev, value))
    check_key(ev, items, ())
    return ev.new_box("set", tuple(of_container(ev, dict.fromkeys, items)))


@builtin(dict)
def _dict(ev: Evaluating, *args: Value, **kwargs: Any) -> Value:
    if len(args) > 1:
        raise raises(ev, TypeError(f"dict expected at most 1 argument, got {len(args)}"))
    return ev.new_box("dict", tuple(pairs_of(ev, args, kwargs).items()))


@builtin(zip)
def _zip(ev: Evaluating, *values: Value, strict: bool = False) -> Box:
    return new_iterator(ev, "zip", tuple([iterator_of(ev, v) for v in values]), strict)


@builtin(reversed)
def _reversed(ev: Evaluating, value: Value) -> Value:
    own = call_special(ev, value, "__reversed__")
    if own is not None:
        return iterator_of(ev, own[0])
    if isinstance(value, Box) and value.kind in ("iterator", "set"):
        raise raises(ev, TypeError(f"'{python_type(ev, value).__name__}' object is not reversible"))
    return iterator_of(ev, value[::-1] if isinstance(value, range) else tuple(iterate(ev, value)[::-1]))


@builtin(map)
def _map(ev: Evaluating, fn: Value, *values: Value) -> Box:
    if not values:
        raise raises(ev, TypeError("map() must have at least two arguments."))
    return new_iterator(ev, "map", fn, _zip(ev, *values))


@builtin(iter)
def _iter(ev: Evaluating, value: Value, *sentinel: Value) -> Box:
    if sentinel:
        raise Refusal("iter() of a function")
    return iterator_of(ev, value)


@builtin(next)
def _next(ev: Evaluating, iterator: Box, *default: Value) -> Value:
    if is_iterator(iterator):
        return next_of(ev, iterator, *default)
    method = method_of_class(ev, iterator, "__next__")
    if method is None:
        return ask_python(ev, next, (iterator, *default), "next() of an iterator of Python")
    if not default:
        return ev.call(method, (iterator,), {})
    more, value = catching(ev, StopIteration, lambda: ev.call(method, (iterator,), {}))
    return value if more else default[0]


@builtin(functools.update_wrapper)
def _update_wrapper(ev: Evaluating, wrapper: Value, wrapped: Value, assigned: Sequence[str] = (),
                    updated: Sequence[str] = ()) -> Value:
    if not isinstance(wrapper, Closure):
        raise Refusal("functools.wraps of what is no function of this graph")
    return dataclasses.replace(wrapper, wrapped=wrapped)


@builtin(functools.reduce)
def _reduce(ev: Evaluating, fn: Value, value: Value, *initial: Value) -> Value:
    items = [*initial, *iterate(ev, value)]
    if not items:
        raise raises(ev, TypeError("reduce() of empty iterable with no initial value"))
    total = items[0]
    for x in items[1:]:
        total = ev.call(fn, (total, x), {})
    return total


@builtin(sum)
def _sum(ev: Evaluating, value: Value, start: Value = 0) -> Value:
    if isinstance(value, (AnfNode, Tensor)):
        return ev.trace(lambda x: x.sum(0), (value,), {}) if start == 0 else binary_value(
            ev, "+", ev.trace(lambda x: x.sum(0), (value,), {}), start)
    for x in iterate(ev, value):
        start = binary_value(ev, "+", start, x)
    return start


def _any_all(word: str, stop: bool) -> Callable[..., Value]:
    def handler(ev, value):
        result: Any = not stop
        for x in iterate(ev, value):
            known = truth(ev, x)
            if isinstance(known, AnfNode):
                result = known if not isinstance(result, AnfNode) else ev.trace(PRIMITIVES[word], (result, known), {})
            elif known is stop:
                return stop
        return item_of_tensor(ev, result) if is_tensor(result) else result
    return handler


BUILTINS[any], BUILTINS[all] = _any_all("logical_or", True), _any_all("logical_and", False)


@builtin(sorted)
def _sorted(ev: Evaluating, value: Value, *, key: Any = None, reverse: bool = False) -> Value:
    items = iterate(ev, value)
    keys = [_Ordered(ev, x if key is None else ev.call(key, (x,), {})) for x in items]
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=by_python(ev, operator.index, reverse))
    return ev.new_box("list", tuple(items[i] for i in order))


class _Ordered:
    """A key of sorted(): of tuples, what stands behind the first difference is not looked at."""

    def __init__(self, ev: Evaluating, value: Value) -> None:
        self.ev, self.value = ev, value

    def __lt__(self, other: _Ordered) -> bool:
        return self.less(self.value, other.value)

    def less(self, a: Value, b: Value) -> bool:
        """a < b, if that is known."""
        if not has_nodes((a, b), self.ev.store):
            known = truth(self.ev, compare_values(self.ev, "<", a, b))
            if not isinstance(known, AnfNode):
                return known
        elif isinstance(a, tuple) and isinstance(b, tuple):
            for x, y in zip(a, b):
                if x is not y and (has_nodes((x, y), self.ev.store) or negate(self.ev, compare_values(self.ev, "==", x, y))):
                    return self.less(x, y)
            return len(a) < len(b)
        raise Refusal("sorted() by values that are known at run time only", hint="ops.sort sorts a Tensor")


def _extreme(word: str, beyond: str, of_dims: Callable[..., Any], by_keys: Callable[..., Any]) -> Callable[..., Value]:
    python: Any = {"max": max, "min": min}[word]

    def handler(ev, *given, key=None, **kwargs):
        if kwargs.keys() - ("default",) or kwargs and len(given) > 1:
            by_python(ev, python, 1, 2, **kwargs)                # Python says what is wrong
        values = given
        if len(values) == 1:
            if key is None and is_tensor(values[0]) and len(values[0].shape) == 1 and values[0].shape[0] != 0:
                return ev.trace(lambda x: _extreme_of_elements(word, x), values, {})
            values = tuple(iterate(ev, values[0]))
        if not has_nodes(values, ev.store) and not any(isinstance(v, Tensor) for v in values):
            if not values:
                return by_python(ev, python, (), **kwargs)
            keys = [x if key is None else ev.call(key, (x,), {}) for x in values]
            if any(is_object_of_python(k) for k in keys):
                return values[functools.reduce(lambda a, b: b if _is_beyond(ev, word, keys[b], keys[a]) else a, range(len(keys)))]
            if not has_nodes(tuple(keys), ev.store) and not any(isinstance(k, Tensor) for k in keys):
                return values[by_python(ev, python, range(len(keys)), key=keys.__getitem__)]
            return ev.call_function(by_keys, (values, tuple(keys)), {})
        if key is not None:
            return ev.call_function(by_keys, (values, tuple([ev.call(key, (x,), {}) for x in values])), {})
        best = values[0]
        for x in values[1:]:
            if isinstance(best, (int, Dim)) and isinstance(x, (int, Dim)):
                best = of_dims(best, x)
            elif all(isinstance(a, (bool, int, float, Dim)) or is_scalar_node(a) for a in (best, x)):
                with interpreting(ev.tracer):
                    best = scalar_binary(best, x, op=word)
            elif _are_numbers(best, x):
                best = ev.trace(lambda a, b: where(getattr(a, beyond)(b), a, b), (x, best) if is_tensor(x) else (
                    ev.tracer.lift(as_operand(x, best.dtype)), best), {})
            else:
                best = ev.call_function(by_keys, ((best, x), (best, x)), {})
        return best
    return handler


def _are_numbers(a: Value, b: Value) -> bool:
    """Two tensors of one element, one shape and one dtype, or one and a number that its dtype holds."""
    first = a if is_tensor(a) else b
    if not is_tensor(first) or any(type(n) is not int or n != 1 for n in first.shape):
        return False
    for x in (a, b):
        if is_tensor(x):
            if x.dtype is not first.dtype or tuple(x.shape) != tuple(first.shape):
                return False
        elif type(x) not in (bool, int, float) or type(x) is float and not first.dtype.is_float:
            return False
    return True


def _extreme_of_elements(word: str, x: Any) -> Any:
    """max() or min() of a tensor's elements, one after the other as Python compares them: NaN counts where it is the first."""
    if not x.dtype.is_float:
        return x[METHODS["arg" + word](x)]
    others = where(x.isnan(), -math.inf if word == "max" else math.inf, x)
    return where(x[0].isnan(), x[0], x[METHODS["arg" + word](others)])


def _largest(values: Sequence[Value], keys: Sequence[Value]) -> Value:
    best, its_key = values[0], keys[0]
    for value, key in zip(values[1:], keys[1:]):
        if key > its_key:
            best, its_key = value, key
    return best


def _smallest(values: Sequence[Value], keys: Sequence[Value]) -> Value:
    best, its_key = values[0], keys[0]
    for value, key in zip(values[1:], keys[1:]):
        if key < its_key:
            best, its_key = value, key
    return best


def _is_beyond(ev: Evaluating, word: str, a: Value, b: Value) -> bool:
    """Is a greater, or for "min" less, than b? raises : Refusal where only the run knows"""
    known = truth(ev, compare_values(ev, ">" if word == "max" else "<", a, b))
    if isinstance(known, AnfNode):
        raise Refusal(f"{word}() of objects whose order is known at run time only")
    return known


BUILTINS.update({max: _extreme("max", "__gt__", dim_max, _largest), min: _extreme("min", "__lt__", dim_min, _smallest)})


BUILTINS.update({
    len: length,
    tuple: lambda ev, value=(): tuple(iterate(ev, value)),
    list: lambda ev, value=(): ev.new_box("list", tuple(iterate(ev, value))),
    enumerate: lambda ev, iterable, start=0: new_iterator(ev, "enumerate", iterator_of(ev, iterable), _index_of(ev, start)),
    filter: lambda ev, fn, value: new_iterator(ev, "filter", fn, iterator_of(ev, value)),
    pow: lambda ev, base, exp, mod=None: binary_value(ev, "**", base, exp) if mod is None else by_python(ev, pow, base, exp, mod),
    divmod: lambda ev, a, b: (special(ev, ("__divmod__", "__rdivmod__"), a, b)
                              or ((binary_value(ev, "//", a, b), binary_value(ev, "%", a, b)),))[0],
    type: lambda ev, value, *rest: by_python(ev, type, value, *ev.unbox(rest)) if rest else python_type(ev, value),
    callable: lambda ev, value: isinstance(value, (Closure, BoundMethod)) or callable(value),
    id: lambda ev, value: id(value),
})


# ---------------------------------------------------------------- numbers

def _converter(kind: Any) -> Callable[..., Value]:
    def handler(ev, value=0, *rest):
        if rest and (kind is not int or not isinstance(value, (str, bytes))):
            return by_python(ev, kind, ev.unbox(value), *ev.unbox(rest))             # Python says what is wrong
        if ev.is_object(value):
            return ask_python(ev, kind, (value, *rest), f"{kind.__name__} of an object that Python made")
        if is_tensor(value):
            value = item_of_tensor(ev, truth(ev, value) if kind is bool else value)
        if isinstance(value, Dim):
            if kind is int:
                return value
            value = ev.tracer.lift(value)
        if isinstance(value, AnfNode):
            if kind is bool:
                return truth(ev, value)
            with interpreting(ev.tracer):
                return value if value.abstract.type is kind else scalar_cast(value, type=kind)
        if kind is bool:
            return truth(ev, value)
        own = converted(ev, value, *CALLED[kind])
        return handler(ev, own) if isinstance(own, (AnfNode, Dim)) else by_python(ev, kind, ev.unbox(own), *rest)
    return handler


BUILTINS.update({kind: _converter(kind) for kind in (int, float, bool)})


@builtin(abs)
def _abs(ev: Evaluating, value: Value) -> Value:
    if is_tensor(value):
        return ev.trace(PRIMITIVES["abs"], (value,), {})
    if isinstance(value, AnfNode):
        with interpreting(ev.tracer):
            return scalar_unary(value, op="abs")
    own = call_special(ev, value, "__abs__")
    return by_python(ev, abs, ev.unbox(value)) if own is None else own[0]


@builtin(round)
def _round(ev: Evaluating, value: Value, *digits: Value) -> Value:
    if is_tensor(value):
        return ev.trace(METHODS["__round__"], (value, *digits), {})
    own = call_special(ev, value, "__round__", *digits)
    return by_python(ev, round, ev.unbox(value), *digits) if own is None else own[0]


# ---------------------------------------------------------------- objects

CLASSES = {"list": list, "dict": dict, "set": set}
ITERATORS = {"generator": types.GeneratorType, "enumerate": enumerate, "zip": zip, "map": map, "filter": filter,
             "list": type(iter([])), "set": type(iter(set()))}


def python_type(ev: Evaluating, value: Value) -> Any:
    """The class that type(value) gives in Python."""
    if isinstance(value, Box):
        if value.kind in CLASSES:
            return CLASSES[value.kind]
        content = ev.store[value]
        if isinstance(content, Conflict) or content[0] not in ITERATORS:
            raise Refusal("the class of an iterator")
        return ITERATORS[content[0]]
    if isinstance(value, AnfNode):
        if isinstance(value.abstract, AbstractTensor):
            return class_of_tensor(ev, value)
        if isinstance(value.abstract, AbstractScalar):
            return value.abstract.type
        raise Refusal("the type of an object that is known at run time only")
    if isinstance(value, Dim):
        return int
    if isinstance(value, MadeException):
        return class_of(value)
    if isinstance(value, Range):
        return range
    if isinstance(value, (Closure, BoundMethod)):
        return types.FunctionType
    return type(value)


@builtin(isinstance)
def _isinstance(ev: Evaluating, value: Value, classes: Value) -> bool:
    if isinstance(value, MadeException):
        return by_python(ev, issubclass, class_of(value), classes)
    if is_tree(value):
        return is_instance(ev, value, classes)
    if isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor):
        of_tensors = by_python(ev, issubclass, Tensor, classes)
        if of_tensors is by_python(ev, issubclass, Parameter, classes):
            return of_tensors
    if isinstance(value, (Box, AnfNode, Dim, Range, Closure, BoundMethod)):
        return by_python(ev, issubclass, python_type(ev, value), classes)
    return by_python(ev, isinstance, value, classes)


def _named(ev: Evaluating, value: Value, name: str) -> Value:
    """value.name, for a name that is any value. raises : Raises with Python's TypeError where it is no str"""
    if not isinstance(name, (str, Formatted)):
        raise raises(ev, TypeError(f"attribute name must be string, not '{python_type(ev, name).__name__}'"))
    return attribute(ev, value, name)


@builtin(hasattr)
def _hasattr(ev: Evaluating, value: Value, name: str) -> bool:
    try:
        _named(ev, value, name)
    except (MissingAttributeError, Raises) as error:
        if raised_as(error, AttributeError) is None:
            raise
        return False
    return True


@builtin(getattr)
def _getattr(ev: Evaluating, value: Value, name: str, *default: Value) -> Value:
    try:
        return _named(ev, value, name)
    except (MissingAttributeError, Raises) as error:
        if default and raised_as(error, AttributeError) is not None:
            return default[0]
        raise


@builtin(str)
def _str(ev: Evaluating, value: Value = "") -> Value:
    if isinstance(value, (BaseException, MadeException)):
        return text_of(ev, value)
    if isinstance(value, Formatted):
        return value
    value = value if ev.concrete else ev.tracer.late(value)
    if has_nodes(value, ev.store) or isinstance(value, Tensor):
        return Formatted([(value, "", "s")])
    own = text_of_object(ev, value, "s")
    return text_by_python(ev, str, ev.unbox(value)) if own is None else own[0]


@builtin(repr)
def _repr(ev: Evaluating, value: Value) -> Value:
    if isinstance(value, MadeException):
        return repr_of(ev, value)
    if has_nodes(value, ev.store) or isinstance(value, Tensor):
        return Formatted([(value, "", "r")])
    own = text_of_object(ev, value, "r")
    return text_by_python(ev, repr, ev.unbox(value)) if own is None else own[0]


@builtin(builtins.print)
def _print(ev: Evaluating, *values: Value, sep: str = " ", end: str = "\n", **kwargs: Any) -> Value:
    if kwargs:
        raise Refusal("print inside a graph takes sep and end only")
    values = tuple(text_of(ev, v) if isinstance(v, (BaseException, MadeException)) else v for v in values)
    operands = [v for value in values for v in (value.values if isinstance(value, Formatted) else [value])]

    def show(*given):
        items, made = list(given), []
        for value in values:
            if isinstance(value, Formatted):
                made.append(value.make(items[:len(value.values)]))
                items = items[len(value.values):]
            else:
                made.append(items.pop(0))
        print(*made, sep=sep, end=end)
    show.__qualname__ = "print"
    return call_unknown(ev, show, tuple(operands), {}, "print", returns=(), keeps=False)


@builtin(Tensor)
def _tensor(ev: Evaluating, input_data: Value = None, dtype: Value = None, shape: Value = None, init: Value = None,
            const_arg: bool = False) -> Value:
    if ev.is_object(input_data):
        return ask_python(ev, Tensor, (input_data,), "a Tensor made of an object", None,
                          {} if dtype is None else {"dtype": dtype})
    if data_in(input_data, ev.store):                        # Tensors from outside too: they may change
        wanted = None if dtype is None else dt.dtype(dtype)

        def make(data):
            if isinstance(data, (list, tuple)):
                data = stack([as_operand(x) for x in data])
            made = stop_gradient(ev.tracer.lift(data)) if isinstance(data, Tensor) else as_operand(data)
            return cast_to(made, wanted) if wanted is not None else made
        return ev.trace(make, (input_data,), {})
    return ev.make_object(by_python(ev, Tensor, ev.unbox(input_data), dtype, shape, init, const_arg))
