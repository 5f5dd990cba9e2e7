"""Are two typed graphs the same? Structure, types, constants bit for bit, names and locations; symbols pair off in the order
in which they were made. `difference` says where they part, for people.
"""
from __future__ import annotations

import struct
from dataclasses import fields
from typing import Any, cast

import numpy as np

from ..common.dim import Dim, substitute
from ..common.tensor import Parameter, Tensor
from .abstract import Abstract
from .graph import AnfNode, CNode, FuncGraph, ValueNode
from .printer import PARAMETER_FIELDS, symbols_in


def same_graph(a: FuncGraph, b: FuncGraph, locations: bool = True) -> bool:
    """True if the typed graphs a and b, with all below them, are the same.

    locations : compare also where in the user's files nodes come from
    """
    return difference(a, b, locations) is None


def difference(a: FuncGraph, b: FuncGraph, locations: bool = True) -> str | None:
    """Words for the first difference between two typed graphs, None if there is none."""
    return _Comparison(locations).graphs(a, b)


class _Comparison:
    """What was paired so far: graphs {of a: of b}, and symbols {of a: Dim of b}."""

    def __init__(self, locations: bool) -> None:
        self.locations = locations
        self.paired: dict[FuncGraph, FuncGraph] = {}
        self.symbols: dict = {}

    def graphs(self, a: FuncGraph, b: FuncGraph) -> str | None:
        """Compare two graphs and all below them."""
        left, right = symbols_in(a.reachable()), symbols_in(b.reachable())
        if [(s.name, s.lo, s.hi) for s in left] != [(s.name, s.lo, s.hi) for s in right]:
            return f"symbols {left} are not {right}"
        self.symbols = {s: t.dim for s, t in zip(left, right)}
        todo = [(a, b)]
        while todo:
            one, other = todo.pop()
            if self.paired.setdefault(one, other) is not other:
                return f"{one.name} stands for two graphs"
            here = self.graph(one, other)
            if here is not None:
                return f"in {one.name}: {here}"
            below = list(zip(one.subgraphs(), other.subgraphs()))
            todo += [pair for pair in below if pair[0] not in self.paired]
            if any(self.paired.get(x, y) is not y for x, y in below):
                return f"in {one.name}: another graph is held"
        return None

    def graph(self, a: FuncGraph, b: FuncGraph) -> str | None:
        """Compare two graphs, those below them by number only."""
        if a.name != b.name:
            return f"the name {a.name!r} is not {b.name!r}"
        if (len(a.parameters), len(a.nodes), len(a.outputs)) != (len(b.parameters), len(b.nodes), len(b.outputs)):
            return "another number of parameters, nodes or outputs"
        env: dict = {}
        for p, q in zip(a.parameters, b.parameters):
            if p.name != q.name or not self.same(p.abstract, q.abstract) or not self.same(p.default, q.default):
                return f"parameter {p} is not {q}"
            env[p] = q
        for number, (m, n) in enumerate(zip(a.nodes, b.nodes), 1):
            if m.fn is not n.fn and not (isinstance(m.fn, FuncGraph) and isinstance(n.fn, FuncGraph)):
                return f"%{number}: {m.fn} is not {n.fn}"
            if len(m.args) != len(n.args) or not all(self.operands(x, y, env) for x, y in zip(m.args, n.args)):
                return f"%{number}: other operands"
            if not self.same(m.attrs, n.attrs) or not self.same(m.abstract, n.abstract):
                return f"%{number}: another type or attribute"
            env[m] = n
        if not all(self.operands(x, y, env) for x, y in zip(a.outputs, b.outputs)):
            return "other results"
        if self.locations:
            pairs = [(a, b), (a.output, b.output), *zip(a.parameters, b.parameters), *zip(a.nodes, b.nodes)]
            for m, n in pairs:
                if (m.origin.location, m.origin.by) != (n.origin.location, n.origin.by):
                    return f"{m} comes from {m.origin.location}, {n} from {n.origin.location}"
        return None

    def operands(self, x: AnfNode, y: AnfNode, env: Any) -> bool:
        """Are two operands the same node or the same constant?"""
        if isinstance(x, ValueNode) and isinstance(y, ValueNode):
            return self.same(x.value, y.value) and self.same(x.abstract, y.abstract)
        return env.get(x) is y if not isinstance(x, ValueNode) else False

    def same(self, x: Any, y: Any) -> bool:
        """Are two static values, constants or types the same? Arrays by bytes, NumPy numbers as arrays without axes."""
        if isinstance(x, (np.ndarray, np.generic)) and isinstance(y, (np.ndarray, np.generic)):
            return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        if type(x) is not type(y):
            return False
        if isinstance(x, (tuple, list)):
            return len(x) == len(y) and all(map(self.same, x, y))
        if isinstance(x, dict):
            return list(x) == list(y) and all(map(self.same, x.values(), y.values()))
        if isinstance(x, slice):
            return all(map(self.same, (x.start, x.stop, x.step), (y.start, y.stop, y.step)))
        if isinstance(x, Dim):
            return substitute(x, self.symbols) == y
        if isinstance(x, float):
            return struct.pack("d", x) == struct.pack("d", y) or (x != x and y != y)     # a NaN's bits mean nothing
        if isinstance(x, Abstract):
            return all(self.same(getattr(x, f.name), getattr(y, f.name)) for f in fields(cast(Any, x)))
        if isinstance(x, Tensor):
            names = ("name", *PARAMETER_FIELDS) if isinstance(x, Parameter) else ()
            return self.same(x.asnumpy(), y.asnumpy()) and all(getattr(x, n) == getattr(y, n) for n in names)
        if isinstance(x, (FuncGraph, CNode)):
            return True                                      # paired by number
        return x == y
