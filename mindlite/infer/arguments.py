"""The arguments of a function that is inferred: descriptions outside, values inside.

    (AbstractTensor(f32, (N,)), [1, AbstractScalar(int)], Same(0))      ->      (%x0, <list> of (1, %x1_1), %x0)
"""
from __future__ import annotations

from typing import Any

from ..common.records import dataclass
from ..mindir.abstract import Abstract, AbstractAny, AbstractTree
from ..mindir.graph import Parameter
from .evaluating import Evaluating
from .kinds import remade
from .values import Box, Value


@dataclass(frozen=True)
class Leaf:
    """Stands, among the arguments, for a Parameter: what is assigned to it gets no gradient."""
    abstract: Any


@dataclass(frozen=True)
class Same:
    """Stands, among the arguments, for the very Tensor that is number `number` of them; below 0 for a list or dict."""
    number: int


class Arguments:
    """What stands for the arguments inside.

    containers : {Box of a list or dict: its number}      contents : {Box: its first content}
    objects    : {number of a list or dict that is Python's: the parameter for it}
    """

    def __init__(self, ev: Evaluating) -> None:
        self.ev, self.graph = ev, ev.tracer.root.graph
        self.containers: dict[Value, int] = {}
        self.contents: dict[Value, Value] = {}
        self.objects: dict[int, Any] = {}
        self.tensors: list[Value] = []                       # those that Same counts
        self.boxes: list[Value] = []

    def enter(self, value: Value, label: str) -> Value:
        """The value inside of one argument, or a part of one; label: its name"""
        if isinstance(value, Abstract):
            made = self.graph.add_parameter(label, value)
            if hasattr(value, "shape") or isinstance(value, AbstractTree):       # the leaves of a call
                self.tensors.append(made)
            return made
        if isinstance(value, Leaf):
            made = self.enter(value.abstract, label)
            self.ev.tracer.derivatives.leaves.append(made)
            return made
        if isinstance(value, Same):
            return self.tensors[value.number] if value.number >= 0 else self.boxes[-1 - value.number]
        if isinstance(value, tuple):
            return remade(value, [self.enter(v, f"{label}_{i}") for i, v in enumerate(value)])
        return self.enter_container(value, label) if type(value) in (list, dict) else value

    def enter_container(self, value: Value, label: str) -> Value:
        """A list or dict: a Box, or an object of Python's where it is marked."""
        kind, number, mark = type(value).__name__, len(self.boxes), ("argument", label)
        marked = mark in self.ev.fallback.marks
        made = Parameter(self.graph, label, AbstractAny()) if marked else Box(kind, marks=(mark,))
        self.boxes.append(made)
        if marked:
            self.objects[number] = made
        content = tuple([self.enter(v, f"{label}_{i}") for i, v in enumerate(value)]) if kind == "list" else \
            tuple([(k, self.enter(v, f"{label}_{k}")) for k, v in value.items()])
        if not marked:
            self.containers[made] = number
            self.ev.store[made] = self.contents[made] = content
        return made

    def have_changed(self) -> bool:
        """True if the function has changed what a list or dict among them holds."""
        return any(self.ev.store[box] is not content for box, content in self.contents.items())
