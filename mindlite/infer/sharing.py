"""What a graph and Python code share: values that go to Python, and what has to live there from the beginning.

Tensors and numbers go as their run-time values, objects from outside as themselves. A list, an object or a function
that the graph makes has no run-time form: what is known of it stands in the Evaluator's store. So where Python code is
given one, it is *marked*, and the function is inferred again: now the list is made by Python, a node of unknown type,
and what is done with it is done by Python too. All of them see the very same object.

    mark                                        what it asks for
    ("made", what, place)                       the container, cell, object or array made at this place is Python's
    ("argument", label)                         the list or dict among the arguments is
    ("statement", place, n)                     the statement at this place, the n-th one around it, is run by Python
    ("join", place)                             what two paths, or two rounds of a loop, leave there may be of two types
"""
import numpy as np

from ..common.dim import Dim
from ..common.errors import Refusal
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.syntax import Undefined
from .region import AmbiguousTarget, HookHandle
from .values import (BoundMethod, Box, Closure, Conflict, Formatted, MadeException, Mixed, Range, Traceback, Unsure, has_nodes,
                     leaves, rebuild)


def spot(location):
    """A Location as a part of a mark."""
    return location and (location.file, location.line, location.col, location.end_line, location.end_col)


def parts_of(value):
    """The parts of a value through tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from parts_of(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from parts_of(v)
    else:
        yield value


def check_key(ev, key, marks):
    """A dict or set is Python's where a key is known at run time only. raises : Refusal; AmbiguousTarget where it is a
    Tensor, which is found by what it is and not by its value"""
    if not ev.concrete and any(isinstance(v, AnfNode) and isinstance(v.abstract, AbstractTensor)
                               for v in leaves(key, ev.store)):
        raise AmbiguousTarget("a Tensor is a key", location=ev.tracer.origin.location)
    if not ev.concrete and has_nodes(key, ev.store) and not any(mark in ev.fallbacks.marks for mark in marks):
        raise Refusal("a key is known at run time only", marks, ev.tracer.origin.location)


def flatten(ev, value, copies=False):
    """(the run-time parts of `value` in order, a function that puts their run-time values back).

    copies : lists, dicts and sets of the graph go as copies: nobody changes or keeps them
    raises : Refusal for what has no run-time form
    """
    nodes = []

    def walk(v):
        if isinstance(v, Conflict):
            raise v.error
        if isinstance(v, (AnfNode, Dim)) or isinstance(v, Tensor) and (v in ev.store or ev.made_here(v)):
            nodes.append(v)
            number = len(nodes) - 1
            return lambda now: now[number]
        if isinstance(v, tuple):
            parts = [walk(x) for x in v]
            return lambda now: rebuild(v, [part(now) for part in parts])
        if isinstance(v, slice):
            parts = [walk(x) for x in (v.start, v.stop, v.step)]
            return lambda now: slice(*[part(now) for part in parts])
        if isinstance(v, Range):
            parts = [walk(x) for x in (v.start, v.stop, v.step)]
            return lambda now: range(*[part(now) for part in parts])
        if isinstance(v, Formatted):
            parts = [walk(x) for x in v.values]
            return lambda now: v.make([part(now) for part in parts])
        if isinstance(v, Unsure):
            given, content = walk(v.given), walk(v.value)
            return lambda now: content(now) if given(now) else Undefined(v.name)
        if isinstance(v, Mixed):
            parts = [walk(x) for x in v.parts]
            return lambda now: Mixed.choose([part(now) for part in parts])
        if isinstance(v, BoundMethod):
            owner = walk(v.self)
            return lambda now: getattr(owner(now), v.name)
        if isinstance(v, Box) and copies and v.kind != "cell":
            return walk_content(v)
        if isinstance(v, (Box, MadeException)):
            what = v.kind if isinstance(v, Box) else v.cls.__name__
            raise Refusal(f"a {what} is shared with Python code", v.marks, ev.tracer.origin.location)
        if isinstance(v, HookHandle):
            raise AmbiguousTarget("the handle of a hook is given to Python code")
        if isinstance(v, Traceback):
            raise AmbiguousTarget("a traceback is given to Python code", location=ev.tracer.origin.location)
        if isinstance(v, Closure):
            raise Refusal("a function that was made inside the graph is given to Python code",
                                [("statement", spot(v.graph.origin.location), 0)], ev.tracer.origin.location)
        if ev.made_here(v) and not (copies and isinstance(v, np.ndarray)):
            raise Refusal(f"a {type(v).__name__} that was made inside the graph is given to Python code",
                                [ev.made_marks[id(v)]], ev.tracer.origin.location)
        return lambda now: v

    def walk_content(box):
        content = ev.store[box]
        if isinstance(content, Conflict):
            raise content.error
        part = walk(tuple(content))
        return lambda now: {"list": list, "dict": dict, "set": set}[box.kind](part(now))
    build = walk(value)
    return [ev.tracer.lift(node) for node in nodes], build
