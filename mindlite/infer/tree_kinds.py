"""Of which kind a tree, or a part of one, is: a bool where that is known, else a comparison of its record's number (trees.py)."""
from __future__ import annotations

from typing import Any

from ..common.errors import Refusal
from ..mindir.abstract import AbstractTree
from ..mindir.control import J, call, cond, while_loop
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


# what may have a part of a tree as an operand; all else would take the address for a number
TAKE_TREES = (tree_kind, tree_part, tree_value, cond, while_loop, call, J)


def refuse_misuse(graph: FuncGraph) -> None:
    """raises : Refusal if anything in a typed graph, and in those below it, reads a tree as something else, or differentiates by
    one"""
    for each in graph.reachable():
        for node in each.nodes:
            trees = [n for n, arg in enumerate(node.args) if isinstance(arg.abstract, AbstractTree)]
            if trees and (node.fn not in TAKE_TREES or node.fn is J and not set(trees).isdisjoint(node.attrs["wrt"])):
                what = "a gradient by a tree" if node.fn is J else f"{getattr(node.fn, 'name', 'a graph')} of a part of a tree"
                raise Refusal(what, None, node.origin.location)
