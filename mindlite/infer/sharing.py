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
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..common.dim import Dim
from ..common.errors import Refusal
from ..common.location import Location
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import AnfNode
from .state import AmbiguousTarget
from .evaluating import Evaluating
from .kinds import data_in, has_nodes, is_leaf, maker, maker_of_content, walk
from .program import raises
from .region import HookHandle
from .special import require_seen
from .trees import is_tree
from .values import Box, Closure, MadeException, Traceback, Value


def spot(location: Location | None) -> Any:
    """A Location as a part of a mark."""
    return location and (location.file, location.line, location.col, location.end_line, location.end_col)


def check_key(ev: Evaluating, key: Any, marks: Iterable[tuple]) -> None:
    """Leave a dict or set with a run-time key to Python. raises : Refusal; AmbiguousTarget for a
    Tensor, whose key is its identity; Raises for a list, dict or set"""
    require_seen(ev, dict.fromkeys, (key,))
    for part in walk(key):
        if isinstance(part, (list, dict)) or isinstance(part, Box) and part.kind in ("list", "dict", "set"):
            raise raises(ev, TypeError(f"unhashable type: '{part.kind if isinstance(part, Box) else type(part).__name__}'"))
    if not ev.concrete and any(isinstance(v, AnfNode) and isinstance(v.abstract, AbstractTensor)
                               for v in data_in(key, ev.store)):
        raise AmbiguousTarget("a Tensor is a key", location=ev.tracer.origin.location)
    if not ev.concrete and has_nodes(key, ev.store) and not any(mark in ev.fallback.marks for mark in marks):
        raise Refusal("a key is known at run time only", marks, ev.tracer.origin.location)


def flatten(ev: Evaluating, value: Value, copies: bool = False) -> tuple:
    """(the run-time parts of `value` in order, a function that puts their run-time values back).

    copies : lists, dicts and sets of the graph go as copies: nobody changes or keeps them
    raises : Refusal for what has no run-time form
    """
    nodes, location = [], ev.tracer.origin.location

    def leaf(v):
        if is_tree(v):
            raise Refusal("a part of a tree is given to Python code", None, location)
        if isinstance(v, (AnfNode, Dim)) or isinstance(v, Tensor) and (v in ev.store or ev.made_here(v)):
            nodes.append(v)
            number = len(nodes) - 1
            return lambda now: now[number]
        if isinstance(v, Box) and copies and v.kind not in ("cell", "iterator"):
            return maker_of_content(v, ev.store[v], leaf)
        if isinstance(v, (Box, MadeException)):
            what = v.kind if isinstance(v, Box) else v.cls.__name__
            raise Refusal(f"a {what} is shared with Python code", v.marks, location)
        if isinstance(v, HookHandle):
            raise AmbiguousTarget("the handle of a hook is given to Python code")
        if isinstance(v, Traceback):
            raise AmbiguousTarget("a traceback is given to Python code", location=location)
        if isinstance(v, Closure):
            raise Refusal("a function that was made inside the graph is given to Python code",
                          [("statement", spot(v.graph.origin.location), 0)], location)
        if is_leaf(v) and ev.made_here(v) and not (copies and isinstance(v, np.ndarray)):
            raise Refusal(f"a {type(v).__name__} that was made inside the graph is given to Python code",
                          [ev.objects.mark_of(v)], location)
        return None
    build = maker(value, leaf)
    return [ev.tracer.lift(node) for node in nodes], build
