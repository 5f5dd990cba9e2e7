"""Functions of the standard library that Python has in C: what they do to the values of a graph.

Those of `operator` are the operators. Those of `itertools` are written here once more, as the generators that they are,
and executed like a user's function: so items and effects come when they are asked for. So is `dataclasses.replace`.
"""
from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .access import COMPARISONS, OPERATORS, binary_value, compare_values, item, iterate, negate
from .builtins import BUILTINS, builtin
from .evaluating import Evaluating
from .iterators import iterator_of
from .kinds import has_nodes
from .values import BoundMethod, Closure, Value

# ---------------------------------------------------------------- operator, functools


def _with(sign: str, function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda ev, a, b: function(ev, sign, a, b)


BUILTINS.update({function: _with(sign, binary_value) for sign, function in OPERATORS.items()})
BUILTINS.update({function: _with(sign, compare_values) for sign, function in {
    **COMPARISONS, "is": operator.is_, "is not": operator.is_not}.items()})
BUILTINS.update({operator.contains: lambda ev, container, value: compare_values(ev, "in", value, container),
                 operator.not_: negate, operator.getitem: item})


@builtin(functools.partial)
def _partial(ev: Evaluating, fn: Value, /, *args: Value, **kwargs: Any) -> Value:
    if not isinstance(fn, (BoundMethod, Closure)) and not has_nodes((args, kwargs), ev.store):
        return ev.make_object(functools.partial(fn, *ev.unbox(args), **ev.unbox(kwargs)))

    def call(ev, _, *more, **others):
        return ev.call(fn, (*args, *more), {**kwargs, **others})
    return BoundMethod(call, (fn, args, tuple(kwargs.items())), "partial")


# ---------------------------------------------------------------- dataclasses, itertools

def written(*functions: Value) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below, executed like a user's, for one of the library."""
    def register(made):
        builtin(*functions)(lambda ev, *args, **kwargs: ev.call_function(made, args, kwargs))
        return made
    return register


def _of_all(function: Value) -> Callable[..., Value]:
    """The handler of what reads all of its arguments before it gives the first item."""
    def handler(ev, *args, **kwargs):
        read = [a if isinstance(a, int) else iterate(ev, a) for a in args]
        return iterator_of(ev, tuple(function(*read, **kwargs)))
    return handler


NOT_TO_REPLACE = TypeError if sys.version_info >= (3, 13) else ValueError


@written(dataclasses.replace)
def replace(obj: Any, /, **changes: Any) -> Any:
    if not hasattr(type(obj), "__dataclass_fields__"):
        raise TypeError("replace() should be called on dataclass instances")
    for field in dataclasses.fields(type(obj)):
        if not field.init:
            if field.name in changes:
                raise NOT_TO_REPLACE(f"field {field.name} is declared with init=False, it cannot be specified with replace()")
        elif field.name not in changes:
            changes[field.name] = getattr(obj, field.name)
    return type(obj)(**changes)


BUILTINS.update({function: _of_all(function) for function in (
    itertools.product, itertools.permutations, itertools.combinations, itertools.combinations_with_replacement)})


@written(itertools.chain)
def chain(*iterables: Any) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


@written(itertools.chain.from_iterable)
def chain_from_iterable(iterables: Value) -> Iterator[Any]:
    for iterable in iterables:
        yield from iterable


@written(itertools.accumulate)
def accumulate(iterable: Value, func: Any = operator.add, *, initial: Any = None) -> Iterator[Any]:
    iterator, total = iter(iterable), initial
    if initial is None:
        for total in iterator:
            break
        else:
            return
    yield total
    for value in iterator:
        total = func(total, value)
        yield total


@written(itertools.count)
def count(start: Value = 0, step: Value = 1) -> Iterator[Any]:
    while True:
        yield start
        start = start + step


@written(itertools.cycle)
def cycle(iterable: Value) -> Iterator[Any]:
    kept = []
    for value in iterable:
        yield value
        kept.append(value)
    while kept:
        yield from kept


@written(itertools.repeat)
def repeat(object: Any, times: Any = None) -> Iterator[Any]:
    while times is None or times > 0:
        yield object
        times = times if times is None else times - 1


@written(itertools.starmap)
def starmap(function: Value, iterable: Value) -> Iterator[Any]:
    for args in iterable:
        yield function(*args)


@written(itertools.takewhile)
def takewhile(predicate: Value, iterable: Value) -> Iterator[Any]:
    for value in iterable:
        if not predicate(value):
            return
        yield value


@written(itertools.dropwhile)
def dropwhile(predicate: Value, iterable: Value) -> Iterator[Any]:
    dropping = True
    for value in iterable:
        if dropping and predicate(value):
            continue
        dropping = False
        yield value


@written(itertools.filterfalse)
def filterfalse(predicate: Value, iterable: Value) -> Iterator[Any]:
    for value in iterable:
        if not (value if predicate is None else predicate(value)):
            yield value


@written(itertools.compress)
def compress(data: Value, selectors: Value) -> Iterator[Any]:
    for value, wanted in zip(data, selectors):
        if wanted:
            yield value


@written(itertools.pairwise)
def pairwise(iterable: Value) -> Iterator[Any]:
    first, before = True, None
    for value in iterable:
        if not first:
            yield before, value
        first, before = False, value


@written(itertools.islice)
def islice(iterable: Value, *ends: Value) -> Iterator[Any]:
    limits = slice(*ends)
    iterator, index, wanted = iter(iterable), 0, limits.start or 0
    while limits.stop is None or index < limits.stop:
        for value in iterator:
            break
        else:
            return
        if index == wanted:
            yield value
            wanted = wanted + (limits.step or 1)
        index = index + 1


@written(itertools.zip_longest)
def zip_longest(*iterables: Value, fillvalue: Value = None) -> Iterator[Any]:
    iterators = [iter(iterable) for iterable in iterables]
    left = [True for _ in iterators]
    while True:
        values = []
        for number, iterator in enumerate(iterators):
            value = fillvalue
            if left[number]:
                for value in iterator:
                    break
                else:
                    left[number] = False
            values.append(value)
        if not any(left):
            return
        yield tuple(values)
