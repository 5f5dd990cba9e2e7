"""Iterators and generators during inference: what is left of an iteration stands in the store, like a list's content.

    def count(n):                 g = count(x)     store[g] = ("generator", call, None, (x,), ())
        yield n                   next(g)          executes up to the yield:  ("generator", call, the yield, live, ())
        yield n + 1               next(g)          goes on from there

A generator is a coroutine of the evaluator: a step executes its blocks to the next `yield`, which is a way out of the
call with the values that its rest needs. So each item and each effect comes in program order, whoever asks. Where it goes on
must be known at compile time.

Source: PEP 255, 342; the state is that of a defunctionalised continuation (Reynolds 1972).
"""
from __future__ import annotations


from typing import Any

from ..common.dim import Dim
from ..common.errors import Refusal
from ..common.records import dataclass
from ..mindir.graph import AnfNode
from .access import is_tensor, item, iterate
from .branches import choose, run_raise, settle, truth
from .containers import METHODS_OF, PARTS, DictView
from .evaluating import Evaluating
from .exceptions import run_try
from .jumps import arrive
from .messages import class_of
from .state import RETURN, Attempt, Raises
from .outside import method_of_class
from .program import own_exceptions, raises
from .sharing import spot
from .special import is_sequence_of_python
from .values import Box, Conflict, Value
from collections.abc import Callable, Iterator, Sequence

DONE, RUNNING = "done", "running"


Step = tuple                     # (is there a next item, a bool or a node of one; the item)


@dataclass(frozen=True, eq=False)
class GeneratorCall:
    """A call of a generator function: its graph, the Python function it came from, the frame around it."""
    graph: Any
    function: Any
    outer: Any
    outer_env: Any
    scope: str


# ---------------------------------------------------------------- generators

def start(ev: Evaluating, call: GeneratorCall, values: Sequence[Value]) -> Value:
    """The generator that a call gives: nothing of it is executed yet."""
    if ev.concrete:
        return _live(ev, call, values)
    mark = ("statement", spot(call.graph.origin.location), 0) if call.function is None else mark_of(ev, call.function)
    return new_iterator(ev, "generator", call, None, tuple(values), (), marks=(mark,))


def mark_of(ev: Evaluating, function: Value) -> tuple:
    """The mark of a generator that Python has to make, as it is shared with Python code."""
    return "made", f"generator {function.__qualname__}", spot(ev.tracer.origin.location)


def _resume(ev: Evaluating, call: GeneratorCall, where: Any, payload: Any, exceptions: tuple, sent: Value,
            raised: Raises) -> Value:
    """Execute a generator up to its next yield or its end; the outcome."""
    frame = ev.new_frame(call)
    frame.sent = sent
    parts = where.end.attrs["parts"] if where is not None else ()
    handled = iter(exceptions)
    if where is not None:
        arrive(frame, where.end.attrs["resume"], payload)    # a handler uses it too

    def go(level, stops):
        if level < len(parts):
            end, handles = parts[level]
            return run_try(ev, frame, end, stops, lambda ends: inside(level, handles, ends), handles)
        if raised is not None:
            return run_raise(ev, [raised], ev.tracer.origin, again=True)
        if where is None:
            return ev.run_block(frame, call.graph, (payload, {}), stops)
        return ev.run_block(frame, where.end.attrs["resume"], payload, stops)

    def inside(level, handles, stops):
        if not handles:
            return go(level + 1, stops)
        with ev.attempts.handle(next(handled)):
            return go(level + 1, stops)
    return ev.within(frame, (call.graph, id(call)), lambda: go(0, frozenset()))


def _live(ev: Evaluating, call: GeneratorCall, values: Sequence[Value]) -> Iterator[Value]:
    """A generator of Python that executes `call` on real values."""
    where, payload, exceptions, sent, raised = None, tuple(values), (), None, None
    while True:
        outcome = own_exceptions(_resume, ev, call, where, payload, exceptions, sent, raised)
        where = outcome.single
        if where == RETURN:
            return outcome.exits[RETURN]
        value, payload, exceptions = outcome.exits[where]
        try:
            sent, raised = (yield value), None
        except BaseException as error:                       # what `throw` and `close` bring
            sent, raised = None, error


def _step_of_generator(ev: Evaluating, box: Box, call: GeneratorCall, where: Any, payload: Any, exceptions: tuple,
                       sent: Value = None, raised: Value = None) -> Value:
    if where == RUNNING:
        raise Refusal("whether a generator has ended is known at run time only")
    if where == DONE or where is None and raised is not None:
        ev.store[box] = "generator", call, DONE, (), ()
        return (False, None) if raised is None else run_raise(ev, [raised], ev.tracer.origin, again=True)
    if where is None and sent is not None:
        raise raises(ev, TypeError("can't send non-None value to a just-started generator"))
    ev.store[box] = "generator", call, RUNNING, (), ()
    try:
        outcome = settle(ev, _resume(ev, call, where, payload, exceptions, sent, raised))
    except Raises as error:
        ev.store[box] = "generator", call, DONE, (), ()
        if issubclass(class_of(error.exception), StopIteration):
            raise Refusal("a generator raises StopIteration") from None
        raise
    target = outcome.single
    if target is None:
        raise Refusal("how a generator goes on is known at run time only")
    choose(ev, target)
    if target == RETURN:
        ev.store[box] = "generator", call, DONE, (), ()
        return False, outcome.exits[RETURN]
    value, payload, exceptions = outcome.exits[target]
    ev.store[box] = "generator", call, target, payload, exceptions
    return True, value


# ---------------------------------------------------------------- other iterators

def new_iterator(ev: Evaluating, *content: Value, marks: tuple = ()) -> Box:
    """A fresh iterator."""
    box = Box("iterator", content[0], marks)
    ev.store[box] = content
    return box


def is_iterator(value: Value) -> bool:
    """True for an iterator that is known here."""
    return isinstance(value, Box) and value.kind == "iterator"


def iterator_of(ev: Evaluating, value: Value) -> Box:
    """iter(value)"""
    if is_iterator(value):
        return value
    if isinstance(value, Box) and value.kind == "list":
        return new_iterator(ev, "list", value, 0)
    if isinstance(value, DictView) or isinstance(value, Box) and value.kind == "dict":
        box, part = (value, PARTS["keys"]) if isinstance(value, Box) else (value.box, value.part)
        return new_iterator(ev, "dict", box, part, tuple([k for k, _ in ev.store[box]]), 0)
    if isinstance(value, Box) and value.kind == "set":
        return new_iterator(ev, "set", value, tuple(iterate(ev, value)), 0)
    own = None if isinstance(value, (Box, AnfNode)) else method_of_class(ev, value, "__iter__")
    if own is None and not ev.concrete and is_sequence_of_python(value):
        return new_iterator(ev, "numbered", value, 0)
    if own is None:
        return new_iterator(ev, "items", tuple(iterate(ev, value)) if not is_tensor(value) else value, 0)
    made = ev.call(own, (value,), {})
    if not isinstance(made, (Box, AnfNode)) and method_of_class(ev, made, "__next__") is not None:
        return new_iterator(ev, "object", made)
    return iterator_of(ev, made)


def step(ev: Evaluating, box: Box, **given: Value) -> Step:
    """(True, the next item), or (False, what a generator returned)."""
    kind, *state = ev.store[box]
    for part in state:
        if isinstance(part, Conflict):
            raise part.error
    return STEPS[kind](ev, box, *state, **given)


def _step_of_list(ev: Evaluating, box: Box, values: Value, index: int) -> Step:
    content = ev.store[values]
    ev.store[box] = "list", values, index + 1
    return (True, content[index]) if index < len(content) else (False, None)


def _step_of_dict(ev: Evaluating, box: Box, owner: Box, part: Callable[..., Any], keys: tuple, index: Value) -> Step:
    pairs = dict(ev.store[owner])
    if len(pairs) != len(keys):
        raise raises(ev, RuntimeError("dictionary changed size during iteration"))
    if index >= len(keys):
        return False, None
    if keys[index] not in pairs:
        raise Refusal("the keys of a dict change while it is iterated over")
    ev.store[box] = "dict", owner, part, keys, index + 1
    return True, part(keys[index], pairs[keys[index]])


def _step_of_set(ev: Evaluating, box: Box, owner: Value, elements: Value, index: int) -> Step:
    if len(ev.store[owner]) != len(elements):
        raise raises(ev, RuntimeError("Set changed size during iteration"))
    if index >= len(elements):
        return False, None
    ev.store[box] = "set", owner, elements, index + 1
    return True, elements[index]


def _step_of_items(ev: Evaluating, box: Box, values: Value, index: Value) -> Step:
    size = values.shape[0] if is_tensor(values) else len(values)
    if isinstance(size, Dim):
        raise Refusal("the number of items is known at run time only", None, ev.tracer.origin.location)
    if index >= size:
        return False, None
    ev.store[box] = "items", values, index + 1
    return True, item(ev, values, index)


def _step_of_enumerate(ev: Evaluating, box: Box, inner: Box, number: Value) -> Step:
    more, value = step(ev, inner)
    ev.store[box] = "enumerate", inner, number + more
    return more, (number, value)


def _step_of_zip(ev: Evaluating, box: Box, inners: Value, strict: bool) -> Step:
    values = []
    if not inners:
        return False, None
    for number, inner in enumerate(inners):
        more, value = step(ev, inner)
        if not more:
            if strict and (number or any(step(ev, other)[0] for other in inners[1:])):
                raise raises(ev, ValueError("zip() arguments have different lengths"))
            return False, None
        values.append(value)
    return True, tuple(values)


def _step_of_map(ev: Evaluating, box: Box, fn: Value, inner: Box) -> Step:
    more, values = step(ev, inner)
    return more, ev.call(fn, values, {}) if more else None


def _step_of_filter(ev: Evaluating, box: Box, fn: Value, inner: Box) -> Step:
    while True:
        more, value = step(ev, inner)
        keep = more and truth(ev, value if fn is None else ev.call(fn, (value,), {}))
        if isinstance(keep, AnfNode):
            raise Refusal("filter() by a condition that is known at run time only")
        if keep or not more:
            return more, value


def _step_of_object(ev: Evaluating, box: Box, value: Value) -> Step:
    found, made = catching(ev, StopIteration, lambda: ev.call(method_of_class(ev, value, "__next__"), (value,), {}))
    return (True, made) if found else (False, None)


def _step_of_numbered(ev: Evaluating, box: Box, value: Value, index: int) -> Step:
    found, made = catching(ev, IndexError, lambda: item(ev, value, index))
    ev.store[box] = "numbered", value, index + 1
    return (True, made) if found else (False, None)


def _step_of_ahead(ev: Evaluating, box: Box, inner: Box, _: tuple | None) -> Step:
    more, value = step(ev, inner)
    ev.store[box] = "ahead", inner, value
    return more, value


STEPS: dict[str, Callable[..., Any]]
STEPS = {"generator": _step_of_generator, "list": _step_of_list, "items": _step_of_items, "dict": _step_of_dict,
         "set": _step_of_set,
         "enumerate": _step_of_enumerate, "zip": _step_of_zip, "map": _step_of_map, "filter": _step_of_filter,
         "object": _step_of_object, "numbered": _step_of_numbered, "ahead": _step_of_ahead}


def drain(ev: Evaluating, box: Value) -> list:
    """All that is left, as a list."""
    items: list = []
    while True:
        more, value = step(ev, box)
        if not more:
            return items
        items.append(value)


def catching(ev: Evaluating, classes: Value, body: Callable[[], Value]) -> Value:
    """(True, body()), or (False, the exception) if it is certain that one of these classes is raised."""
    try:
        with ev.attempts.inside(Attempt("an iteration")):
            return True, body()
    except Raises as raised:
        if issubclass(class_of(raised.exception), classes):
            return False, raised.exception
        raise


# ---------------------------------------------------------------- methods

def next_of(ev: Evaluating, box: Value, *default: Value) -> Value:
    """next(iterator, default)"""
    more, value = step(ev, box)
    return value if more else default[0] if default else stop(ev, value)


def stop(ev: Evaluating, value: Value) -> Value:
    """StopIteration with what a generator returned."""
    return run_raise(ev, [ev.call(StopIteration, () if value is None else (value,), {})], ev.tracer.origin)


def _sent(ev: Evaluating, box: Value, **given: Value) -> Value:
    more, value = step(ev, box, **given)
    return value if more else stop(ev, value)


def send(ev: Evaluating, box: Value, value: Value) -> Value:
    """generator.send(value)"""
    return _sent(ev, box, sent=value)


def throw(ev: Evaluating, box: Value, exception: Value, *rest: Value) -> Value:
    """generator.throw(exception)"""
    if isinstance(exception, type):
        exception = rest[0] if rest and rest[0] is not None else ev.call(exception, (), {})
    return _sent(ev, box, raised=exception)


def close(ev: Evaluating, box: Value) -> None:
    """generator.close()"""
    _, call, where, _, _ = ev.store[box]
    if where is None or where == DONE:
        ev.store[box] = "generator", call, DONE, (), ()
        return
    left, made = catching(ev, (GeneratorExit, StopIteration), lambda: step(ev, box, raised=GeneratorExit()))
    if left and made[0]:
        run_raise(ev, [RuntimeError("generator ignored GeneratorExit")], ev.tracer.origin)


METHODS_OF["iterator"] = {"__next__": next_of, "__iter__": iterator_of, "send": send, "throw": throw, "close": close}
