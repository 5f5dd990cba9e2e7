"""Trees as data inside a graph: what Python asks of a tuple, dataclass, number or Tensor whose kind is known at run time only.

    if tree is None: ..            tree_kind(%t) == <None>
    x, left, right = tree          check(tree_kind(%t) == <tuple of 3>)
                                   tree_value(tree_part(%t, 0)), tree_part(%t, 1), tree_part(%t, 2)

Of which kind a tree is, is a bool where that is known, else a comparison of its record's number. No answer is remembered: each
use looks at the kind that it needs. Where the tree is of another kind the run ends, Python makes the call and raises its error.
"""
from __future__ import annotations

import copy
import types
from typing import Any

from ..common.errors import ArgumentError, MissingAttributeError, Refusal
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTree, AbstractTuple
from ..mindir.control import J, call, check, cond, while_loop
from ..mindir.graph import AnfNode, FuncGraph
from ..mindir.primitive import interpreting
from ..ops.scalar import scalar_binary, scalar_compare
from ..ops.trees import tree_kind, tree_part, tree_value
from .evaluating import Evaluating
from .values import Value


def is_tree(value: Value) -> bool:
    """True for a node that stands for a tree, or for a part of one."""
    return isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTree)


def is_data_tree(tree: AnfNode) -> bool:
    """True for a part that is a Tensor wherever a node of Python's would have no items."""
    return not any(issubclass(kind.cls, tuple) for kind in tree.abstract.type.nodes)


def kinds_of(tree: AnfNode) -> Any:
    """All kinds that it may be."""
    return (*tree.abstract.type.nodes, *tree.abstract.type.leaves)


def is_one_of(ev: Evaluating, tree: AnfNode, kinds: Any) -> Value:
    """Whether it is of one of these kinds: a bool, or a node."""
    if len(kinds) in (0, len(kinds_of(tree))):
        return bool(kinds)
    with interpreting(ev.tracer):
        number, holds = tree_kind(ev.tracer.lift(tree)), None
        for kind in kinds:
            is_it = scalar_compare(number, kind.number, op="==")
            holds = is_it if holds is None else scalar_binary(holds, is_it, op="|")
        return holds


def truth_of(ev: Evaluating, tree: AnfNode) -> Value:
    """bool(tree)"""
    if any(kind.cls is not type(None) for kind in tree.abstract.type.leaves) or any(
            hasattr(kind.cls, name) for kind in tree.abstract.type.nodes for name in ("__bool__", "__len__")
            if not issubclass(kind.cls, tuple)):
        raise Refusal("the truth value of a tree that may be a Tensor, a number or an object that says it itself", None)
    return is_one_of(ev, tree, [kind for kind in tree.abstract.type.nodes if kind.parts or not issubclass(kind.cls, tuple)])


def is_instance(ev: Evaluating, tree: AnfNode, classes: Value) -> Value:
    """isinstance(tree, classes)"""
    return is_one_of(ev, tree, [kind for kind in kinds_of(tree) if issubclass(kind.cls, classes)])


def is_sequence(ev: Evaluating, tree: AnfNode, length: int, or_more: bool) -> Value:
    """Whether it is a tuple of this length, or of more."""
    return is_one_of(ev, tree, [kind for kind in tree.abstract.type.nodes if issubclass(kind.cls, tuple)
                                and (len(kind.parts) >= length if or_more else len(kind.parts) == length)])


def the_one(ev: Evaluating, tree: AnfNode, kinds: Any, what: str) -> Any:
    """The one of `kinds`, behind a check that the tree is of it: where it is not, Python makes the call.

    what   : what asks for it
    raises : Refusal where there are several
    """
    if len(kinds) != 1:
        raise Refusal(f"{what} of a tree that may be {' or '.join(map(str, kinds or kinds_of(tree)))}", None)
    holds = is_one_of(ev, tree, kinds)
    if holds is not True:
        error = ArgumentError(f"{what} of a tree: it is no {kinds[0]}")
        ev.tracer.graph.add(check, holds, origin=ev.tracer.origin, abstract=AbstractTuple(()), error=lambda: copy.copy(error),
                            again=True)
    return kinds[0]


def part(ev: Evaluating, tree: AnfNode, kind: Any, index: int) -> AnfNode:
    """A part of a node of this kind: a tree, a Tensor, a number or None."""
    with interpreting(ev.tracer):
        made = tree_part(ev.tracer.lift(tree), index=index)
        known = kind.parts[index]
        if known is None:
            return made
        return tree_value(made, kind=known)


def data_of(ev: Evaluating, tree: AnfNode) -> Value:
    """The Tensor or number that it is, where an operator asks for one."""
    kinds = [kind for kind in tree.abstract.type.leaves if kind.cls is not type(None)]
    kind = the_one(ev, tree, kinds, "an operator asks for the Tensor or number")
    with interpreting(ev.tracer):
        return tree_value(ev.tracer.lift(tree), kind=kind)


def items_of(ev: Evaluating, tree: AnfNode, count: int | None = None) -> Value:
    """The items of the tuple that it is; count: how many are unpacked."""
    kinds = [kind for kind in tree.abstract.type.nodes if issubclass(kind.cls, tuple) and count in (None, len(kind.parts))]
    kind = the_one(ev, tree, kinds, "the items")
    return [part(ev, tree, kind, index) for index in range(len(kind.parts))]


def item_of(ev: Evaluating, tree: AnfNode, index: Value) -> Value:
    """tree[index]"""
    if type(index) is not int:
        raise Refusal("an item of a tree by an index that is no known int", None)
    kinds = [kind for kind in tree.abstract.type.nodes if issubclass(kind.cls, tuple)
             and -len(kind.parts) <= index < len(kind.parts)]
    kind = the_one(ev, tree, kinds, "an item")
    return part(ev, tree, kind, index % len(kind.parts))


def length_of(ev: Evaluating, tree: AnfNode) -> Value:
    """len(tree)"""
    kinds = [kind for kind in tree.abstract.type.nodes if issubclass(kind.cls, tuple)]
    return len(the_one(ev, tree, kinds, "the length").parts)


def attribute_of_tree(ev: Evaluating, tree: AnfNode, name: str) -> Value:
    """tree.name: a field, a method of the class, or an attribute of the Tensor that it is"""
    kinds = [kind for kind in tree.abstract.type.nodes if name in kind.names or hasattr(kind.cls, name)]
    if not kinds and any(kind.cls is Tensor for kind in tree.abstract.type.leaves):
        return ev.call(getattr, (data_of(ev, tree), name), {})
    if not kinds:
        raise MissingAttributeError(f"{tree.abstract.type} has no attribute {name!r}")
    kind = the_one(ev, tree, kinds, f"the attribute {name!r}")
    if name in kind.names:
        return part(ev, tree, kind, kind.names.index(name))
    found = getattr(kind.cls, name)
    if not isinstance(vars(kind.cls).get(name), types.FunctionType):
        raise Refusal(f"the attribute {name!r} of a tree is no field and no method of its class", None)
    return types.MethodType(found, tree)


# what may have a part of a tree as an operand; all else would take the address for a number
TAKE_TREES = (tree_kind, tree_part, tree_value, cond, while_loop, call, J)


def refuse_misuse(graph: FuncGraph) -> None:
    """raises : Refusal if a node of a typed graph, or of a graph below it,
    reads a tree as another type, or differentiates by one"""
    for each in graph.reachable():
        for node in each.nodes:
            trees = [n for n, arg in enumerate(node.args) if isinstance(arg.abstract, AbstractTree)]
            if trees and (node.fn not in TAKE_TREES or node.fn is J and not set(trees).isdisjoint(node.attrs["wrt"])):
                what = "a gradient by a tree" if node.fn is J else f"{getattr(node.fn, 'name', 'a graph')} of a part of a tree"
                raise Refusal(what, None, node.origin.location)
