"""JIT Fallback in inference: what a graph cannot say becomes a `segment`, a Python call between native code at run
time.

What such a call gives is not known before it has run once. So the first call of a function with a segment is executed
statement by statement (`concrete.py`), for real, and what each segment gave is recorded; from then on the function is
compiled with those types, sizes staying open.
"""
import operator

import numpy as np

from ..common.errors import GraphSyntaxError
from ..common.tensor import Tensor
from ..fallback.record import describe, opened, same_kind, show, values_in
from ..fallback.segment import run_segment
from ..mindir.control import segment
from ..mindir.graph import AnfNode
from ..mindir.primitive import interpreting
from .values import BoundMethod, Box, Closure, Conflict, leaves, rebuild


class NeedsRecord(Exception):
    """A segment was met whose result is not known yet: the function must run once."""


def place(ev, name):
    """What identifies a segment: where it stands, what it calls, and through which calls one gets there."""
    location = ev.tracer.origin.location
    spot = location and (location.file, location.line, location.col, location.end_line, location.end_col)
    return spot, name, tuple(graph for (graph, _), _ in ev.calls)


class ResultChanged(GraphSyntaxError):
    """A segment gave another type of result than the one that the code behind it was compiled for."""


def name_of(ev, fn):
    """The name of a callable, in both kinds of runs."""
    return "an object" if ev.is_object(fn) else getattr(fn, "__qualname__", type(fn).__name__)


def call_unknown(ev, fn, args, kwargs, reason, returns=None):
    """Call fn at run time, between native code. returns: what it gives, where that is known (() for nothing)."""
    if ev.concrete:
        return ev.call_unknown(fn, args, kwargs, returns)
    location = ev.tracer.origin.location
    if ev.fullgraph and returns is None:
        raise GraphSyntaxError(f"fullgraph=True, but {reason}", location=location,
                               hint="leave out fullgraph=True to let this call run in Python")
    record = returns
    if record is None:
        key = place(ev, name_of(ev, fn))
        if key not in ev.fallbacks:
            raise NeedsRecord(reason)
        record = ev.fallbacks[key]
    operands, rebuild_args = flatten(ev, (fn, args, kwargs))
    abstracts, pattern = [], opened(record)
    values = []

    def collect(p):
        if isinstance(p, tuple):
            for q in p:
                collect(q)
        elif p.abstract is not None:
            abstracts.append(p.abstract)
    collect(pattern)

    def run(*leaves_now):
        fn_now, args_now, kwargs_now = rebuild_args(leaves_now)
        given = fn_now(*args_now, **kwargs_now)
        if returns is not None:
            return ()
        seen = describe(given)
        if not same_kind(seen, record):
            raise ResultChanged("a call that runs in Python gave another type of result than before", location=location,
                                hint="from now on the whole function runs in Python: call it again",
                                note=f"{show(record)} before, {show(seen)} now")
        return tuple(values_in(given, record))
    ev.reasons.append((location, reason))
    with interpreting(ev.tracer):
        values = segment(*operands, function=run, abstracts=tuple(abstracts), reason=reason)
    values = iter(values)

    def fill(p):
        if isinstance(p, tuple):
            return tuple(fill(q) for q in p)
        return p.value if p.abstract is None else next(values)
    return fill(pattern) if returns is None else None


def change_outside(ev, fn, args, kwargs=None):
    """A call that changes a list, dict or array that the graph did not make: it happens at run time, in its turn.

    What is read of the object in this function is then read at run time too.
    """
    owner = args[0]
    if ev.concrete:
        return fn(*args, **(kwargs or {}))
    if ev.made_here(owner) or isinstance(owner, np.ndarray):         # what was read of an array is a constant by now
        raise GraphSyntaxError(f"a {type(owner).__name__} of Python's is changed")
    ev.variables.add(("content", id(owner)))
    ev.kept.append(owner)
    if fn in RETURN_NOTHING or getattr(fn, "__name__", "") in RETURN_NOTHING_NAMES:
        return call_unknown(ev, fn, args, kwargs or {}, f"{fn.__name__} changes an object outside of the graph",
                            returns=())
    return call_unknown(ev, fn, args, kwargs or {}, f"{fn.__name__} changes an object outside of the graph")


RETURN_NOTHING = (operator.setitem, operator.delitem)
RETURN_NOTHING_NAMES = ("append", "extend", "insert", "clear", "sort", "reverse", "remove", "update", "add", "discard",
                        "appendleft", "extendleft", "rotate", "fill")
CHANGERS = frozenset(RETURN_NOTHING_NAMES + (
    "pop", "popitem", "setdefault", "popleft", "__setitem__", "__delitem__", "__iadd__", "__ior__", "resize", "put",
    "difference_update", "intersection_update", "symmetric_difference_update", "subtract"))


def flatten(ev, value):
    """(the run-time parts of `value` in order, a function that puts their run-time values back)."""
    raw = list(containers_outside(value))
    value = ev.unbox(value)
    for part in parts_of(value):
        if isinstance(part, (Closure, Box, BoundMethod, Conflict)) or ev.made_here(part):
            what = {Closure: "function", Box: "variable", BoundMethod: "method"}.get(type(part), type(part).__name__)
            raise GraphSyntaxError(f"a {what} that was made inside the graph is given to Python code")
    found = leaves(value, ev.store)
    outside = {id(v) for v in raw}

    def rebuild_value(now):
        now = iter(now)

        def build(v):
            if isinstance(v, (AnfNode, Tensor)):
                return next(now)
            if isinstance(v, tuple):
                return rebuild(v, [build(x) for x in v])
            if id(v) in outside:
                return v
            if type(v) is list:
                return [build(x) for x in v]
            if type(v) is dict:
                return {k: build(x) for k, x in v.items()}
            return v
        return build(value)
    return [ev.tracer.lift(leaf) for leaf in found], rebuild_value


def containers_outside(value):
    """The lists and dicts in a value that the graph did not make: Python gets them themselves."""
    if type(value) in (list, dict):
        yield value
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from containers_outside(v)
    elif type(value) is dict:
        for v in value.values():
            yield from containers_outside(v)


def parts_of(value):
    """The parts of a value through tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from parts_of(v)
    elif type(value) is dict:
        for v in value.values():
            yield from parts_of(v)
    else:
        yield value


READ_ONLY = ("mapping and class patterns run in Python",)


def interpret_statement(ev, frame, node, values):
    """A statement that graph mode leaves to Python (`try`, `with`, ...): run now if all it reads is known, else a
    segment."""
    namespace = frame.globals

    def statement(*reads):
        return run_segment(node, list(reads), namespace)

    only_reads = node.attrs["reason"] in READ_ONLY
    for value in values:
        if isinstance(value, Box) and not ev.concrete and (not only_reads or value.kind == "cell"):
            reason = node.attrs["reason"]
            raise GraphSyntaxError(f"a {value.kind} is shared with a statement that Python runs: {reason}")
    statement.__qualname__ = f"statement at line {node.origin.location.line}"
    return call_unknown(ev, statement, tuple(values), {}, node.attrs["reason"])
