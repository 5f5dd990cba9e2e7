"""Trees as data inside a graph: what Python asks of a tuple, dataclass, number or Tensor whose kind is known at run time only.

    if tree is None: ..            tree_kind(%t) == <None>
    x, left, right = tree          check(tree_kind(%t) == <tuple of 3>)
                                   tree_value(tree_part(%t, 0)), tree_part(%t, 1), tree_part(%t, 2)

Nothing is remembered of a question: each use looks at the kind that it needs. Where there is another one the run ends and
Python makes the call, which raises what it raises.
"""
from __future__ import annotations

import copy
import types
from typing import Any

from ..common.errors import ArgumentError, MissingAttributeError, Refusal
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTuple
from ..mindir.control import check
from ..mindir.graph import AnfNode
from ..mindir.primitive import interpreting
from ..ops.trees import tree_part, tree_value
from .evaluating import Evaluating
from .tree_kinds import is_one_of, kinds_of
from .values import Value


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
