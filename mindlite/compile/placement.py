"""Placement: on which device each tensor lies, with few copies (Nimble, Shen et al. 2021, section 4.4).

    x: CPU                  y = tanh(x)                     y lies on the device, x is copied once
    while i < n: ...        the state of the loop lies where most of what reads and writes it does

Values that are one memory are one *domain*, found by union-find: a reshape and its argument, a branch's parameter and the
operand, the state of a loop. A domain in which a kernel, a parameter of the graph or Python makes its value lies where that
is made. Others (the state of a loop, the result of a branch) are free: each goes where most of the values that it
comes from and goes to lie, which leaves the fewest copies at its edges. Numbers, sizes, counts and the predicates of control
flow are registers: they stay on the CPU, and a predicate that is a tensor is copied to it. So do kernels of the outermost graph
whose operands all lie on the CPU and whose results only the CPU reads: a check of indices that came with the call.

Lowering asks this for free domains and results only. What a register points to it knows itself (Flow.devices), so a copy is
never missing, whatever stands here.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Union

from ..backend.target import Target, current, target_of
from ..common.device import Device
from ..common.tensor import Parameter
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.control import (call, check, cond, make_tuple, segment, tape_new, tape_pop, tape_push, tuple_getitem, undefined,
                              while_loop)
from ..mindir.graph import AnfNode, CNode, FuncGraph, ValueNode
from ..mindir.primitive import kernel_rule
from ..ops.basic import scalar_to_tensor
from ..ops.scalar import tensor_to_scalar
from .library import is_in_library
from .lowering import ALIASES

Value = tuple[AnfNode, Union[int, None]]                    # a tensor: a node, or its result with a number
_ON_THE_CPU = (segment, check, tensor_to_scalar, scalar_to_tensor)
_ON_THE_DEVICE = (call, tape_new, tape_push, tape_pop, undefined)


def place(graph: FuncGraph, devices: Iterable[Device | None], device: Device | None) -> FuncGraph:
    """Say in the types of a graph's parameters where they lie; gives the graph.

    devices : of the parameters without a Tensor of their own, in order; a Parameter of the function's moves to the device
    device  : where the graph's kernels run, None for the CPU
    """
    given = iter(devices)
    for p in graph.parameters:
        where = next(given, None) if p.default is None else p.default.device_of
        if p.default is not None and device is not None and isinstance(p.default, Parameter):
            p.default.move_here(device)
            where = device
        if where is not None and not where.is_host:
            p.abstract = p.abstract.on(where)
    return graph


class Placement:
    """Where the tensors of a typed graph and of the graphs below it lie. device: where kernels run"""

    def __init__(self, graph: FuncGraph, device: Device) -> None:
        self.device, self.target = device, target_of(device)
        self.parent: dict[Value, Value] = {}
        self.home: dict[Value, Device | None] = {}
        self.edges: list[tuple[Value, Value | Device | None]] = []
        self.on_cpu = kernels_on_the_cpu(graph)
        for p in graph.parameters:
            if isinstance(p.abstract, AbstractTensor):
                self.made(p, p.abstract.device)
        self.walk(graph, set())
        self.decide()

    def of(self, node: AnfNode, index: int | None = None) -> Device | None:
        """The Device of a tensor, or of a result of a node with several; None for the CPU."""
        return self.home.get(self.find((node, index)), self.device)

    # -- domains

    def find(self, key: Value) -> Value:
        """The representative of a domain."""
        while self.parent.setdefault(key, key) != key:
            self.parent[key] = key = self.parent[self.parent[key]]       # path halving
        return key

    def same(self, a: Value, b: Value) -> None:
        """Two values are one memory."""
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[a] = b
            if a in self.home:
                self.home.setdefault(b, self.home.pop(a))

    def made(self, node: AnfNode, place: Device | None, index: int | None = None) -> None:
        """A value that is made on a device."""
        self.home[self.find((node, index))] = place

    def edge(self, a: Value, b: Value | Device | None) -> None:
        """What is in one domain goes to another; b may be a Device or None: who reads it there."""
        self.edges.append((a, b))

    # -- the graph

    def walk(self, graph: FuncGraph, seen: set[FuncGraph]) -> None:
        """Enter the nodes of a graph and of those below."""
        for node in graph.nodes:
            tensors = [a for a in node.args if isinstance(a.abstract, AbstractTensor) and not isinstance(a, ValueNode)]
            if node.fn in ALIASES and tensors:
                self.same((node, None), (node.args[0], None))
            elif node.fn is tuple_getitem:
                self.same((node, None), (node.args[0], node.attrs["index"]))
            elif node.fn is make_tuple:
                for index, a in enumerate(node.args):
                    self.same((node, index), (a, None))
            elif node.fn is cond:
                self.branches(node, seen)
            elif node.fn is while_loop:
                self.loop(node, seen)
            else:
                if node.fn is call:
                    self.called(node.attrs["graph"], seen)
                away = node.fn in _ON_THE_DEVICE or runs_as_kernel(node, self.target) and node not in self.on_cpu
                place = self.device if away and node.fn not in _ON_THE_CPU else None
                self.results(node, place, tensors)

    def results(self, node: CNode, place: Device | None, tensors: Iterable[AnfNode]) -> None:
        """The results of a node are made at `place`, where its operands are read."""
        for index in (None, *range(len(getattr(node.abstract, "elements", ())))):
            self.made(node, place, index)
        for a in tensors:
            self.edge((a, None), place)

    def branches(self, node: CNode, seen: set[FuncGraph]) -> None:
        """The two graphs of a cond: operands are their parameters, results come from both."""
        if isinstance(node.args[0].abstract, AbstractTensor):
            self.edge((node.args[0], None), None)
        for graph in (node.attrs["true"], node.attrs["false"]):
            for p, operand in zip(graph.parameters, node.args[1:]):
                if not isinstance(operand, ValueNode):
                    self.same((p, None), (operand, None))
            self.walk(graph, seen)
            for index, out in enumerate(graph.outputs):
                self.edge((out, None), (node, index))

    def loop(self, node: CNode, seen: set[FuncGraph]) -> None:
        """A loop's state is one domain in both graphs and after them, an invariant is one in both graphs. Values that
        enter or go round cross an edge, so they are copied before the loop and not in it."""
        body, test = node.attrs["body"], node.attrs["cond"]
        count = len(node.args) - node.attrs["invariants"]
        for index, operand in enumerate(node.args):
            inside = (body.parameters[index], None)
            self.same(inside, (test.parameters[index], None))
            if index < count:
                self.same(inside, (node, index))
            if not isinstance(operand, ValueNode):
                self.edge((operand, None), inside)
        self.walk(body, seen)
        self.walk(test, seen)
        for index, out in enumerate(body.outputs):
            self.edge((out, None), (node, index))

    def called(self, graph: FuncGraph, seen: set[FuncGraph]) -> None:
        """A graph that is called: what it takes and gives lies on the device."""
        if graph in seen:
            return
        seen.add(graph)
        for p in graph.parameters:
            self.made(p, self.device)
        self.walk(graph, seen)
        for out in graph.outputs:
            self.edge((out, None), self.device)

    # -- free domains

    def decide(self) -> None:
        """Each free domain goes where most of its edges lead; ties go to the device."""
        around: dict[Value, list[Value | Device | None]] = {}
        for a, b in self.edges:
            ends = [self.find(end) if type(end) is tuple else end for end in (a, b)]
            for mine, other in (ends, ends[::-1]):
                if type(mine) is tuple and mine not in self.home and mine != other:
                    around.setdefault(mine, []).append(other)
        while around:
            key = max(around, key=lambda k: sum(1 for other in around[k] if self.known(other)))
            votes = [self.home.get(other) if type(other) is tuple else other for other in around.pop(key)
                     if self.known(other)]
            here = sum(1 for place in votes if place is None)
            self.home[key] = None if here > len(votes) - here else self.device

    def known(self, end: Value | Device | None) -> bool:
        """True for a Device, and for a domain whose place is decided."""
        return type(end) is not tuple or end in self.home


def kernels_on_the_cpu(graph: FuncGraph) -> set[CNode]:
    """The kernels of a graph that save copies by running on the CPU: what they read lies there, and who reads them is there."""
    found: set[CNode] = set()
    users: dict[AnfNode, list[CNode]] = {}
    for node in graph.nodes:
        for a in node.args:
            users.setdefault(a, []).append(node)
    leaving = {*graph.outputs}

    def stays(node: CNode) -> bool:                                        # everything that reads it is on the CPU
        readers = users.get(node, ())
        return node not in leaving and bool(readers) and all(
            reader.fn in _ON_THE_CPU or reader in found or (reader.fn is cond and reader.args[0] is node
                                                            and node not in reader.args[1:]) for reader in readers)
    for node in reversed(graph.nodes):
        if (node.fn in ALIASES or node.fn is tuple_getitem or runs_as_kernel(node, current())) and stays(node):
            found.add(node)
    here: set[AnfNode] = {p for p in graph.parameters if isinstance(p.abstract, AbstractTensor) and p.abstract.device is None}
    for node in graph.nodes:
        tensors = [a for a in node.args if not isinstance(a, ValueNode) and not isinstance(a.abstract, AbstractScalar)]
        if node in found and all(a in here for a in tensors) or node.fn is scalar_to_tensor:
            here.add(node)
    return {node for node in found & here if runs_as_kernel(node, current()) and node.fn not in ALIASES}


def runs_as_kernel(node: CNode, target: Target) -> bool:
    """True for an operator that a Target runs as a fused, generated or library kernel. Python evaluates others, on the CPU."""
    return isinstance(node.fn, FuncGraph) or is_in_library(node.fn, target) or node.fn in kernel_rule
