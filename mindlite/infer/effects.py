"""Tensors that are assigned to in place: which names mean one Tensor, and which Tensor nobody can name.

    a = x if c else y        a is `ambiguous`: it may be x or y
    x[0] = 1                 now a is `stale`: nobody knows whether what it means was assigned to
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..common.errors import Refusal
from ..mindir.graph import AnfNode
from .values import Value


class AmbiguousTarget(Refusal):
    """An assignment to items of what is one of several Tensors, by a condition that is known at run time only. No part of the
    function is left to Python, which would be given copies of Tensors."""

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message, None, **fields)


class Effects:
    """What is known of the Tensors that may be assigned to.

    ambiguous : nodes that are one of several Tensors with names of their own
    may_be    : {such a node: those Tensors}
    stale     : such nodes of whose Tensors one was assigned to
    views     : {view: (root, path, the root's value then)}
    versions  : {a value that a Tensor once had: that Tensor, which its holder means}
    held      : roots of Tensors that Python code holds
    aliases   : {what asnumpy gave: (the root whose memory that is, its value then)}
    """

    def __init__(self) -> None:
        self.ambiguous: set[AnfNode] = set()
        self.stale: set[AnfNode] = set()
        self.held: set[Any] = set()
        self.may_be: dict[AnfNode, Any] = {}
        self.views: dict[AnfNode, tuple[Any, tuple, Any]] = {}
        self.versions: dict[Any, Any] = {}
        self.aliases: dict[AnfNode, tuple[Any, Any]] = {}

    def choose(self, node: AnfNode, roots: Iterable[Any]) -> None:
        """`node` is one of these Tensors, or of those that one of them may be, or a view of one."""
        self.ambiguous.add(node)
        self.may_be.setdefault(node, set()).update(roots, *[self.may_be.get(root, ()) for root in roots])

    def read(self, value: Value) -> None:
        """What stands for a variable is read. raises : AmbiguousTarget where it may have been assigned to"""
        if value in self.stale:
            raise AmbiguousTarget("a variable is one of several Tensors, known at run time only, and one of them was "
                                  "assigned to", hint="assign to a copy: x = x + 0")

    def assign(self, target: Any) -> None:
        """A Tensor is assigned to. raises : AmbiguousTarget where others could not see it"""
        if target in self.ambiguous:
            raise AmbiguousTarget("which Tensor is assigned to is known at run time only",
                                  hint="assign to the Tensor itself, or to a copy: x = x + 0")
        if target in self.held:
            raise AmbiguousTarget("a Tensor is assigned to that Python code holds too, as a copy",
                                  hint="assign to a copy: x = x + 0")
        self.stale.update([node for node, roots in self.may_be.items() if target in roots])


class Derivatives:
    """What derivatives are taken by.

    leaves         : nodes that stand for Parameters, with which gradients stay
    stands_for     : {input of a derivative: what it is by}
    differentiated : arguments by which one is, whose hooks are looked for at each call
    """

    def __init__(self) -> None:
        self.leaves: list[AnfNode] = []
        self.stands_for: dict[AnfNode, Any] = {}
        self.differentiated: set[Any] = set()
