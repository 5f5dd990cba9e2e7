"""The arguments of a function that is inferred, and what it gives and has changed, for whoever runs its graph.

    (AbstractTensor(f32, (N,)), [1, AbstractScalar(int)], Same(0))      ->      (%x0, <list> of (1, %x1_1), %x0)
    (%3, [%4, "a"], f"{%5}")      ->      outputs %3, %4, %5 and (Result(0), [Result(1), "a"], Made(text, (Result(2),)))
"""
from __future__ import annotations

import functools
from typing import Any

from ..common.errors import Refusal
from ..common.records import dataclass
from ..common.storage import copied
from ..common.tensor import Tensor
from ..mindir.abstract import Abstract, AbstractAny, AbstractTree
from ..mindir.builder import constant
from ..mindir.graph import AnfNode, Parameter
from .state import AmbiguousTarget
from .evaluating import Evaluating
from .hooks import hooks_at
from .kinds import is_leaf, kind_of, map_parts, parts_of, remade, walk
from .outside import CONTAINERS
from .region import HookHandle
from .sharing import spot
from .trees import is_tree
from .values import BoundMethod, Box, Closure, Conflict, MadeException, Place, Range, Value


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


@dataclass(frozen=True)
class Result:
    """Placeholder for output `number` of the graph in the output of a Specialised. argument: the argument that it is, if any."""
    number: int
    argument: Any = None


@dataclass(frozen=True)
class HookOn:
    """Stands, among what the function did, for argument `number`, on which it has registered a hook."""
    number: int


@dataclass(frozen=True)
class Container:
    """Stands for list or dict `number` of the arguments, itself."""
    number: int


@dataclass(frozen=True)
class Made:
    """Stands for what Python makes of results: make(*items)."""
    make: Any
    items: tuple


class Results:
    """The outputs of a graph, and how what the function gave is made of them.

    numbers : {parameter of the graph: which argument it is}      outputs : the nodes so far
    """

    def __init__(self, ev: Evaluating, arguments: Arguments) -> None:
        self.ev, self.arguments = ev, arguments
        self.outputs: list[AnfNode] = []
        self.gone: set[Any] = set()
        given = [p for p in ev.tracer.root.graph.parameters if p.default is None]
        self.numbers: dict[AnfNode, int] = {p: i for i, p in enumerate(given)}

    def output(self, node: Any, argument: int | None = None) -> Result:
        """A Result for a node. argument: the number of the argument that is this very Tensor, changed in place"""
        if is_tree(node):
            raise Refusal("a part of a tree leaves the graph", None)
        self.outputs.append(node)
        return Result(len(self.outputs) - 1, self.numbers.get(node) if argument is None else argument)

    def changed_argument(self, value: AnfNode) -> int | None:
        """The number of the argument that `value` is, if the function changes that in place: the caller gets that Tensor."""
        root, path = self.ev.tracer.root_of(value)
        return None if path or self.ev.tracer.current(root) is root else self.numbers.get(root)

    def leave(self, value: Value) -> Value:
        """What stands for a value outside. raises : Refusal for what has to be Python's, AmbiguousTarget"""
        ev = self.ev
        if isinstance(value, Tensor) and not ev.made_here(value):
            return value                                     # itself, also where the function has changed it
        argument = self.changed_argument(value) if isinstance(value, AnfNode) else None
        value = ev.tracer.current(value) if isinstance(value, (AnfNode, Tensor)) else value
        if isinstance(value, AnfNode):
            return self.output(value, argument)
        if id(value) in ev.guards.shared and any(isinstance(v, CONTAINERS) for v in walk(value)):
            return Made(lambda: value, ())
        if isinstance(value, Box):
            return Container(self.arguments.containers[value]) if value in self.arguments.containers else self.content_of(value)
        if isinstance(value, Conflict):
            raise value.error
        refuse_to_leave(value)
        if isinstance(value, tuple):
            return map_parts(self.leave, value)
        if type(value) is dict:
            return {k: self.leave(v) for k, v in value.items()}
        if not is_leaf(value):
            make = range if isinstance(value, Range) else lambda *parts: kind_of(value).python(value, iter(parts))
            return Made(make, tuple([self.leave(x) for x in parts_of(value)]))
        if isinstance(value, Tensor) and ev.made_here(value):
            return Made(functools.partial(copy_of, value), ())
        if ev.made_here(value):
            raise Refusal(f"a {type(value).__name__} that was made inside the graph leaves it", [ev.objects.mark_of(value)])
        return self.output(constant(value)) if hasattr(value, "terms") else value            # a Dim

    def content_of(self, box: Box) -> Value:
        """What stands for the content of a list, dict or set."""
        content = self.ev.store[box]
        if isinstance(content, Conflict):
            raise content.error
        if box.kind == "iterator":
            raise Refusal("an iterator that was made inside the graph leaves it", box.marks)
        if box in self.gone:
            raise Refusal(f"a {box.kind} leaves the graph in several places", box.marks)
        self.gone.add(box)
        if box.kind == "dict":
            return {k: self.leave(v) for k, v in content}
        return [self.leave(v) for v in content] if box.kind == "list" else Made(lambda *items: set(items), tuple([
            self.leave(x) for x in content]))

    def changes(self) -> list:
        """What the function did: see Specialised."""
        ev = self.ev
        found: list[tuple[Any, Value]] = [(number, self.content_of(box)) for box, number in self.arguments.containers.items()
                 if ev.store[box] is not self.arguments.contents[box]]
        for place, value in ev.store.items():
            if isinstance(place, Place) and not ev.made_here(place.owner):
                found.append((place, self.leave(value)))     # one that is there now, too: it may not be next time
        return found + [(HookOn(self.numbers[x]), self.leave(hook)) for x in ev.tracer.root.hooks if x in self.numbers
                        for hook in hooks_at(ev, ev.tracer.root, x)]

    def updates(self) -> list[tuple]:
        """[(Tensor outside or number of an argument, the number of the output that it is assigned)]"""
        found: list = []
        for target, newest in self.ev.store.items():
            if isinstance(target, Tensor) and not self.ev.made_here(target) and newest is not self.ev.tracer.input(target):
                owner: Any = target
            elif isinstance(target, AnfNode) and target in self.numbers:
                owner = self.numbers[target]                 # an argument that the function changes in place
            else:
                continue
            found.append((owner, self.output(self.ev.tracer.current(newest)).number))
        return found


def refuse_to_leave(value: Value) -> None:
    """raises : Refusal, AmbiguousTarget for what has no value outside"""
    if isinstance(value, Closure):
        raise Refusal("a function that was made inside the graph leaves it",
                      [("statement", spot(value.graph.origin.location), 0)])
    if isinstance(value, HookHandle):
        raise AmbiguousTarget("the handle of a hook leaves the graph")
    if isinstance(value, BoundMethod):
        raise Refusal(f"the method {value.name!r} of a value that is made at run time leaves the graph")
    if isinstance(value, MadeException):
        raise Refusal("an exception that was made inside the graph leaves it", value.marks)


def copy_of(tensor: Tensor) -> Tensor:
    """A Tensor of its own with the same elements."""
    return Tensor.of_elements(copied(tensor.elements))
