"""Rewriting a graph in place, and rewrites that read as equations.

    Rewrite("mul_one", x * 1, x)                     every x * 1 becomes x
    Rewrite("sub_neg", x - (-y), x + y)

A pattern is a tree of operators over variables and constants; a constant matches a constant node, all of whose elements
have that value. A rewrite is only done where the new node has exactly the type of the old one.
"""
import itertools
from typing import Any

import numpy as np

from .. import ops
from ..common.records import dataclass
from ..mindir.abstract import AbstractTensor
from ..mindir.builder import building
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import CNode, ValueNode
from ..ops.basic import broadcast_to, cast
from collections.abc import Callable


def applies(graph, operators):
    """True if a node of the graph applies one of these operators."""
    return any([node.fn in operators for node in graph.nodes])


def rebuild(graph, visit, operators=None):
    """Go through a typed graph, in place: visit(node) gives None to keep the node, or what stands for it from now on.

    visit runs under the builder, so operators called in it stand where the node stood. For a node with several results
    it gives their tuple. Returns how many nodes were replaced.

    operators : visit sees applications of these only; a graph without one is left as it is. None: of all
    """
    if operators is not None and not applies(graph, operators):
        return 0
    old, outputs = graph.nodes, graph.outputs
    graph.nodes, graph.output = [], None                     # it is being written: see mindir.inline.has_effects
    changed = 0
    env: dict = {}
    # What rewrites require of sizes follows from the nodes that they replace.
    with building(graph, by="optim") as builder, collecting():
        def read(arg, user=None):
            arg = env.get(arg, arg)
            if isinstance(arg, tuple):
                return graph.add(make_tuple, *arg, abstract=user.abstract)
            return arg
        for node in old:
            if node.fn is tuple_getitem:
                source = env.get(node.args[0], node.args[0])
                if isinstance(source, tuple):
                    env[node], changed = source[node.attrs["index"]], changed + 1
                    continue
                if isinstance(source, CNode) and source.fn is make_tuple:
                    env[node], changed = source.args[node.attrs["index"]], changed + 1
                    continue
            node.args = tuple([read(a, a) for a in node.args])
            builder.origin = node.origin
            made = visit(node) if operators is None or node.fn in operators else None
            if made is None:
                graph.nodes.append(node)
            else:
                env[node] = tuple([builder.lift(x) for x in made]) if isinstance(made, (tuple, list)) else builder.lift(made)
                changed += 1
        graph.set_outputs([read(output, output) for output in outputs], make_tuple)
    return changed


# ---------------------------------------------------------------- patterns

def _operator(prim):
    """Python's methods for an operator: of the left operand, of the right one."""
    return lambda self, other: Apply(prim, (self, pattern(other))), lambda self, other: Apply(prim, (pattern(other), self))


class Pattern:
    """A variable, a constant, or an operator over patterns; Python's operators build the last."""
    match: Callable[..., bool]
    make: Callable[..., Any]
    __add__, __radd__ = _operator(ops.add)
    __sub__, __rsub__ = _operator(ops.sub)
    __mul__, __rmul__ = _operator(ops.mul)
    __truediv__, __rtruediv__ = _operator(ops.true_divide)

    def __neg__(self):
        return Apply(ops.neg, (self,))


@dataclass(frozen=True)
class Var(Pattern):
    """Matches any node; the same node wherever it stands in one pattern."""
    name: str

    def match(self, node, found):
        """True if the node is what `found` has for this variable; entered there if it has none."""
        return found.setdefault(self, node) is node

    def make(self, found, like):
        """The node that was found."""
        return found[self]


@dataclass(frozen=True)
class Const(Pattern):
    """Matches a constant all of whose elements are `value`."""
    value: Any

    def match(self, node, found):
        """True if the node is that constant."""
        return is_constant(node, self.value)

    def make(self, found, like):
        """The constant, of the dtype of the node that is replaced."""
        value = np.asarray(self.value, like.dtype.numpy)
        return broadcast_to(value, shape=like.shape) if like.shape else value


@dataclass(frozen=True)
class Apply(Pattern):
    """Matches an application of `prim` to operands that match; attributes are not looked at."""
    prim: Any
    args: tuple

    def match(self, node, found):
        """True if node and operands fit."""
        return isinstance(node, CNode) and node.fn is self.prim and all(
            part.match(arg, found) for part, arg in zip(self.args, node.args))

    def make(self, found, like):
        """The operator applied to what was found."""
        return self.prim(*[part.make(found, like) for part in self.args])


def pattern(value):
    """The value as a pattern: numbers are constants."""
    return value if isinstance(value, Pattern) else Const(value)


def is_constant(node, value):
    """True for a constant, broadcast or cast perhaps, all of whose elements are `value`: of zeros of its sign too."""
    while isinstance(node, CNode) and node.fn in (broadcast_to, cast):
        node = node.args[0]
    return isinstance(node, ValueNode) and isinstance(node.abstract, AbstractTensor) and node.value.size > 0 \
        and node.value.size <= 64 and bool((node.value == value).all()) and (
            value != 0 or node.value.dtype.kind == "c" or bool((np.signbit(node.value) == np.signbit(value)).all()))


@dataclass(frozen=True)
class Rewrite:
    """An equation: name, pattern, into. kinds: kinds of dtype for which it holds exactly (NaN - NaN is not 0)."""
    name: str
    pattern: Pattern
    into: Pattern
    kinds: str = "buifc"

    def __call__(self, node):
        """What stands for the node, None where the pattern does not match."""
        found: dict = {}
        if not isinstance(node.abstract, AbstractTensor) or node.dtype.kind not in self.kinds \
                or not self.pattern.match(node, found):
            return None
        return same_type(node, pattern(self.into).make(found, node))


def same_type(node, made):
    """`made` as a node if it has exactly the type of `node`, else None."""
    if not isinstance(made, (CNode, ValueNode)) and not hasattr(made, "abstract"):
        abstract = AbstractTensor(node.dtype, ()) if np.shape(made) == () else None
        return made if abstract == node.abstract else None
    return made if made.abstract == node.abstract else None


def by_operator(rewrites):
    """{primitive: its rewrites}, so that a node is only tried against those that begin with its operator."""
    return {prim: tuple(group) for prim, group in itertools.groupby(
        sorted(rewrites, key=lambda r: r.pattern.prim.name), key=lambda r: r.pattern.prim)}
