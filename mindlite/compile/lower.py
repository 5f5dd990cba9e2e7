"""From a typed graph to a Flow: every node a kernel, a library call, a branch or arithmetic on registers.

    %1 = tanh(%x) : f32[N, 3]        ->        %5 = mul %n, 12;  %6 = alloc %5;  kernel tanh(%x, %6, ..) over ..

A tensor is a pointer (its sizes are Dims, computed where they are wanted from the registers of their Symbols), a
number a register. A reshape is the same pointer. Results of known size are written where the caller wants them; a new
value of a Parameter is written into its memory, in place where nothing reads the old value later.
"""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..common.device import Device
from ..common.dim import lone_symbol
from ..common.errors import InternalError
from ..common.records import dataclass
from ..graph_kernel import CannotFuse, lowering as lower_kernel
from ..graph_kernel.epilogue import FINISHED
from ..graph_kernel.horizontal import parts_of
from ..mindir.abstract import AbstractAny, AbstractScalar, AbstractTensor, AbstractTuple, dims_in, symbols_of_abstract
from ..mindir.builder import results_of
from ..mindir.control import (call, check, cond, make_tuple, segment, tape_new, tape_pop, tape_push, tuple_getitem,
                              while_loop)
from ..mindir.graph import AnfNode, CNode, FuncGraph, Parameter, ValueNode
from ..mindir.inline import users_of
from ..mindir.primitive import kernel_rule
from ..ops.basic import reshape
from ..ops.rank_program import open_window, read_window
from ..ops.dynamic_slicing import write_slice
from ..ops.linalg import matmul_add
from ..ops.sort import masked_put
from . import lower_control                          # noqa: F401   its rules
from .flow import OutputSpec, Program
from .library import PUTS_INTO_A_TABLE, is_in_library, library_rule, lower_finished
from .lower_numbers import is_scalar, may_be_inexact
from .lowering import ALIASES, LOWER, Lowering, Made, NotInLibrary, kind_of
from .placement import Placement
from .python_calls import Evaluation, Objects, OpenWindow, ReadWindow


Parameters = frozenset[Parameter]
Memory = Any                                 # of a node: Parameters, or those of each of its results, a tuple
_OWN: Parameters = frozenset()


@dataclass
class Lowered:
    """A Program and how its results are found.

    outputs   : per output of the graph: ("param", number of the output), ("output", index), ("value", index of the returned
                register) or ("update", number of the parameter it was written to)
    kernels   : (node, graph_kernel.Lowered, library Kernel, or the reason why it runs in Python), in order; a program from the
                disk has no nodes
    keep      : (constant arrays, Objects) whose memory the program uses
    parameters: what each parameter of the entry Flow is: ("tensor", p), ("size", p, axis), ("scalar", p), ("out", number)
    """
    program: Program
    outputs: list[tuple[str, int]]
    kernels: list[tuple[CNode | None, Any]]
    keep: tuple[list[np.ndarray], Objects]
    parameters: list[tuple]


def lower(graph: FuncGraph, updates: Iterable[tuple[int, int]] = (), device: Device | None = None,
          wholes: dict[int, tuple] | None = None) -> Lowered:
    """The Lowered of a typed graph.

    updates : (number of an output, number of the parameter whose memory gets it)
    device  : where kernels run, a Device, or None for the CPU; parameters lie where their abstracts say
    wholes  : {number of a parameter of which this rank has a part: the shape of the whole}
    """
    return _Entry(graph, dict(updates), device, wholes or {}).run()


class _Entry(Lowering):
    """Lowers an outermost graph: its parameters and results, and which rule a node has."""

    def __init__(self, graph: FuncGraph, updates: dict[int, int], device: Device | None, wholes: dict[int, tuple]) -> None:
        super().__init__(graph.name.replace("<", "").replace(">", "") or "main", device)
        self.graph, self.updates, self.wholes = graph, updates, wholes
        self.users: dict[FuncGraph, dict[AnfNode, list[CNode]]] = {}
        self.by_python: set[CNode] = set()                   # operators whose eval rule runs
        self.place = None if device is None else Placement(graph, device)

    # -- the entry

    def run(self) -> Lowered:
        """Lower the graph."""
        b, graph = self.b, self.graph
        self.parameters: list[tuple] = []
        for number, p in enumerate(graph.parameters):
            self.enter_parameter(p, self.wholes.get(number))
        self.choose_targets()
        if any(n.fn is call for g in graph.reachable() for n in g.nodes):
            self.results = b.tape()
        self.nodes(graph)
        outputs = []
        specs: list[OutputSpec] = []
        values: list[int] = []
        self.save_old_values()
        for number, node in enumerate(graph.outputs):
            outputs.append(self.leave(number, node, specs, values))
        flow = b.finish(values)
        program = Program(flow, self.flows, tuple(specs))
        return Lowered(program, outputs, self.kernels, (list(self.data.values()), self.objects), self.parameters)

    def enter_parameter(self, p: Parameter, whole: tuple | None = None) -> None:
        """Registers for a parameter: a pointer and the sizes not seen yet (of the whole, where it is a part), or a number."""
        abstract = p.abstract
        if isinstance(abstract, AbstractTensor):
            self.env[p] = self.b.param("ptr", p.name, device=abstract.device)
            self.parameters.append(("tensor", p))
            for axis, size in enumerate(abstract.shape if whole is None else whole):
                symbol = lone_symbol(size)
                if symbol is not None and symbol not in self.sizes:
                    self.sizes[symbol] = self.b.param("i64", f"{p.name}.shape[{axis}]", symbol=symbol)
                    self.parameters.append(("size", p, axis))
        else:
            symbol = lone_symbol(getattr(abstract, "dim", None))
            self.env[p] = self.b.param(kind_of(abstract), p.name, symbol=symbol)
            if symbol is not None:
                self.sizes[symbol] = self.env[p]
            self.parameters.append(("object" if isinstance(abstract, AbstractAny) else "scalar", p))

    def choose_targets(self) -> None:
        """Which nodes may write straight into the memory of a result: kernels of the outermost block, once each."""
        graph = self.graph
        known = set(self.sizes)
        used: dict[AnfNode, list[float]] = {}
        self.memories = memories(graph) if self.updates else {}
        self.parts_of = functools.lru_cache(maxsize=None)(_parts_of)    # an optimiser's kernel is asked for each parameter
        self.returned = frozenset(graph.outputs)
        for position, node in enumerate(graph.nodes):
            for a in node.args:
                used.setdefault(a, []).append(position)
                for parameter in self.parameters_behind(a):   # read at another index: not by the kernel that writes
                    used.setdefault(parameter, []).append(position + 0.5)
        for output in graph.outputs:
            for parameter in self.parameters_behind(output):
                used.setdefault(parameter, []).append(len(graph.nodes))
        order = {node: i for i, node in enumerate(graph.nodes)}
        early: set[AnfNode] = {p for p in graph.parameters if isinstance(p.abstract, AbstractScalar)}   # hoist_checks moves these
        for node in graph.nodes:
            if is_scalar(node) and all(a in early or isinstance(a, ValueNode) for a in node.args):
                early.add(node)
        last_check = max((i for i, n in enumerate(graph.nodes) if n not in early and _may_fail(n)), default=-1)
        self.out_params = {}
        for number, output in enumerate(graph.outputs):
            if not isinstance(output.abstract, AbstractTensor):
                continue
            if number in self.updates:
                parameter = graph.parameters[self.updates[number]]
                if parameter.abstract.device == self.device and self.in_place(output, parameter, order, used, last_check):
                    self.targets.setdefault(output, self.env[parameter])
            elif not (symbols_of_abstract(output.abstract) - known):
                self.out_params[number] = self.b.param("ptr", f"out{number}", device=self.place_of(output))
                self.parameters.append(("out", number))
                if self.producer_of(output) is not None and self.place_of(output) == self.device:
                    self.targets.setdefault(output, self.out_params[number])
        for node in reversed(graph.nodes):
            if self.targets.get(node) in self.out_params.values() and self.may_overwrite(node):
                self.targets.setdefault(node.args[0], self.targets[node])

    def producer_of(self, node: AnfNode) -> CNode | None:
        """The node whose kernel can be given the place of the result `node`; None where there is none."""
        made = node.args[0] if isinstance(node, CNode) and node.fn is tuple_getitem else node
        if isinstance(made, CNode) and made.graph is self.graph and made.fn is not reshape and (
                isinstance(made.fn, FuncGraph) or made.fn in kernel_rule or library_rule(made.fn)):
            return made
        return None

    def in_place(self, node: AnfNode, parameter: Parameter, order: dict[CNode, int], used: dict[AnfNode, list[float]],
                 last_check: int) -> bool:
        """May `node` be written over `parameter`? Nothing may read the old value afterwards, nor fail."""
        producer = self.producer_of(node)
        if producer is None or node in self.targets:
            return False
        place, uses = order[producer], used.get(parameter, [])
        if place <= last_check or any(i > place for i in uses) or parameter in self.returned:
            return False
        return place not in uses or reads_elementwise(producer, parameter, node, self.parts_of)

    def parameters_behind(self, node: AnfNode) -> list[Parameter]:
        """The parameters, other than `node` itself, whose memory it may be."""
        found = self.memories.get(node, frozenset())
        return [p for of in (found if isinstance(found, tuple) else (found,)) for p in of if p is not node]

    def save_old_values(self) -> None:
        """Copy the results that may be the memory of a Parameter which gets its new value before them: a, b = b, a."""
        self.saved = {}
        written: set[Parameter] = set()
        for number, node in enumerate(self.graph.outputs):
            if isinstance(node.abstract, AbstractTensor) and not written.isdisjoint(self.memories.get(node, ())):
                nbytes = self.nbytes(node.abstract)
                self.saved[number] = self.b.alloc(nbytes, node.abstract.size * node.abstract.dtype.itemsize,
                                                  self.b.devices.get(self.value(node)))
                self.b.copy(self.saved[number], self.value(node), nbytes)
            if number in self.updates:
                written.add(self.graph.parameters[self.updates[number]])

    def leave(self, number: int, node: AnfNode, specs: list[OutputSpec], values: list[int]) -> tuple[str, int]:
        """Hand out result `number`."""
        b, value = self.b, self.saved.get(number)
        value = self.value(node) if value is None else value
        if not isinstance(node.abstract, AbstractTensor):
            values.append(value)
            return "value", len(values) - 1
        if number in self.updates:
            parameter = self.updates[number]
            target = self.env[self.graph.parameters[parameter]]
            if value != target:
                b.copy(target, value, self.nbytes(node.abstract))
            return "update", parameter
        if number in self.out_params:
            target = self.out_params[number]
            if value != target:
                b.copy(target, value, self.nbytes(node.abstract))
            specs.append(OutputSpec(number, node.abstract.dtype, node.abstract.shape, target, self.b.devices.get(target)))
            return "param", number
        b.output(number, value, self.nbytes(node.abstract), [self.size(s) for s in node.abstract.shape])
        specs.append(OutputSpec(number, node.abstract.dtype, device=self.b.devices.get(value)))
        return "output", number

    def place_of(self, node: AnfNode, index: int | None = None) -> Device | None:
        if self.place is None or isinstance(node, ValueNode):
            return None
        return self.place.of(node, index)

    # -- nodes

    def nodes(self, graph: FuncGraph) -> None:
        for node in graph.nodes:
            try:
                self.env[node] = self.node(node)
            except InternalError as error:
                raise error.at(node.origin.location)
            if isinstance(node.abstract, AbstractScalar):
                self.bind(node.abstract.dim, self.env[node])

    def node(self, node: CNode) -> Made:
        """Lower one node; its register, or a tuple for several results."""
        if self.place is not None and node in self.place.on_cpu:
            device, self.device = self.device, None
            try:
                return self.operator(node)
            finally:
                self.device = device
        if node.fn in (open_window, read_window):
            return self.window(node)
        rule = LOWER.get(node.fn)
        return self.operator(node) if rule is None else rule(self, node)

    def window(self, node: CNode) -> Made:
        """Lower open_window and read_window. What is put into a window is written there by the kernel that makes it."""
        opens = node.fn is open_window
        like = node.attrs["like"] if opens else [x.abstract for x in node.args[1:]]
        run = (OpenWindow if opens else ReadWindow)(tuple([x.shape for x in like]), like[0].dtype, node.attrs["group"],
                                                    self.objects)
        kinds = [kind_of(element) for element in node.abstract.elements]
        made = self.b.python(run, [self.value(x) for x in node.args], kinds, node.origin, pure=True)
        for reader in self.graph.nodes if opens else ():
            if reader.fn is read_window and reader.args[0].args[0] is node:
                for operand, register in zip(reader.args[1:], made[1:]):
                    if self.producer_of(operand) is not None:
                        self.targets.setdefault(operand, register)
        return made

    def operator(self, node: CNode) -> Made:
        """Lower a cluster or an operator: a kernel, else its eval rule, called in Python between native code."""
        finished = isinstance(node.fn, FuncGraph) and node.fn.kind == FINISHED
        if isinstance(node.fn, FuncGraph) and not finished:
            return self.kernel(node, node.fn, node.args)
        starts = 2 if node.fn is write_slice else len(node.args)         # where a slice begins is a number
        args = [self.value_on(a, self.device, node.origin) if n < starts else self.value(a) for n, a in enumerate(node.args)]
        if finished or is_in_library(node.fn, self.target):
            goes_on = node.fn in (matmul_add, write_slice) or (
                self.may_overwrite(node) and node.args[0] not in self.by_python
                and args[0] == self.targets.get(node, self.env[node.args[0]]))
            out = args[0] if goes_on else self.allocate_all(node)
            rule: Any = lower_finished if finished else library_rule(node.fn)
            with contextlib.suppress(NotInLibrary):
                rule(self, node, args, out)
                return out
        if node.fn in kernel_rule:
            single, operands = single_node_graph(node)
            try:
                return self.kernel(node, single, operands)
            except CannotFuse as reason:
                self.kernels.append((node, reason))
        self.by_python.add(node)
        abstracts = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else (node.abstract,)
        sizes = tuple(dict.fromkeys(d for value in node.attrs.values() for d in dims_in(value)))
        operands = [*node.args, *[ValueNode(d, AbstractScalar(int, d)) for d in sizes]]
        borrowed = len(operands) if "collective" in node.fn.traits else 0                # an engine copies what it sends
        return self.python(node, Evaluation(node.fn, node.attrs, sizes), operands, abstracts, arrays=True, borrowed=borrowed)

    def may_overwrite(self, node: CNode) -> bool:
        """True for rows that are put into a table which a kernel of this graph makes, and which nothing else reads: they are put
        where it lies. So the gradient of a look-up writes its zeros once, and copies none."""
        if node.fn not in PUTS_INTO_A_TABLE or not isinstance(node.args[0], CNode):
            return False
        table, made, graph = node.args[0], node.args[0], node.graph
        if graph not in self.users:
            self.users[graph] = users_of(graph)
        if made.fn is tuple_getitem and isinstance(made.args[0], CNode):
            made = made.args[0]
            if sum(user.attrs["index"] == table.attrs["index"] for user in self.users[graph][made]) > 1:
                return False
        makes = isinstance(made.fn, FuncGraph) or made.fn in PUTS_INTO_A_TABLE or (
            made.fn in kernel_rule and made.fn not in ALIASES)
        return makes and made.graph is graph and table not in graph.outputs and self.users[graph][table] == [node]

    def allocate_all(self, node: CNode) -> Made:
        """Storage for what a node gives; a tuple of them for several results."""
        if not isinstance(node.abstract, AbstractTuple):
            return self.allocate(node.abstract, node)
        return tuple(self.allocate(a, self.readers.get((node, k))) for k, a in enumerate(node.abstract.elements))

    def kernel(self, node: CNode, graph: FuncGraph, operands: Sequence[AnfNode]) -> Made:
        """Call the kernel of a closed graph."""
        many = isinstance(node.abstract, AbstractTuple)
        wanted = [self.readers.get((node, number)) if many else node for number in range(len(graph.outputs))]
        registers = [self.env.get(a) for a in operands]
        shared = tuple((number, k) for number, w in enumerate(wanted) if w in self.targets for k, register in enumerate(registers)
                       if register == self.targets[w])
        lowered = lower_kernel(graph, in_place=shared, target=self.target)
        self.kernels.append((node, lowered))
        outputs = [self.allocate(out.abstract, w) for out, w in zip(graph.outputs, wanted)]
        where = dict(zip(graph.outputs, outputs))
        inputs = dict(zip(graph.parameters, operands))
        args = [self.value_on(inputs[p], self.device, node.origin) for p in lowered.inputs] + [where[o] for o in lowered.outputs]
        self.call_kernel(lowered.kernel, args, lowered.sizes, node, extent=lowered.extent, cost=lowered.cost)
        return tuple(outputs) if many else outputs[0]

    @functools.cached_property
    def readers(self) -> dict[tuple[AnfNode, int], CNode]:
        """{(node, number): the tuple_getitem that reads it} of the outermost graph."""
        return {(n.args[0], n.attrs["index"]): n for n in self.graph.nodes if n.fn is tuple_getitem}


def single_node_graph(node: CNode) -> tuple[FuncGraph, list[AnfNode]]:
    """(a closed graph of this one node, its operands): constants stay constants, each other operand is a parameter."""
    graph = FuncGraph(getattr(node.fn, "name", "kernel"), node.origin)
    operands: list[AnfNode] = []
    args: list[AnfNode] = []
    for a in node.args:
        if isinstance(a, ValueNode) and (not isinstance(a.abstract, AbstractTensor) or a.value.size == 1):
            args.append(a)
            continue
        operands.append(a)
        args.append(graph.add_parameter(f"x{len(operands)}", a.abstract))
    copy = graph.add_copy(node, args)
    graph.set_outputs(results_of(copy), make_tuple)
    return graph, operands


def _parts_of(graph: FuncGraph) -> list[tuple[FuncGraph, dict[AnfNode, None], dict[AnfNode, None]]]:
    """`parts_of` with parameters and results that are found by their hash."""
    return [(part, dict.fromkeys(parameters), dict.fromkeys(results)) for part, parameters, results in parts_of(graph)]


def reads_elementwise(producer: CNode, parameter: Parameter, output: AnfNode, parts_of: Callable[[FuncGraph], Any]) -> bool:
    """True if the kernel reads `parameter` only at the index that it writes: its users are
    elementwise and of one shape, and no other part of a horizontal kernel reads it."""
    if not isinstance(producer.fn, FuncGraph):
        return "elementwise" in producer.fn.traits and all(a.abstract.shape == output.abstract.shape for a in producer.args
                                                          if a is parameter)
    graph = producer.fn
    if graph.kind == FINISHED:                               # sums of a convolution stand in the result before it is finished
        return False
    result = graph.outputs[output.attrs["index"] if isinstance(output, CNode) and output.fn is tuple_getitem else 0]
    inside = {p for p, a in zip(graph.parameters, producer.args) if a is parameter}
    for part, parameters, results in parts_of(graph):
        if result not in results and not inside.isdisjoint(parameters):
            return False
        if result in results:
            made = {p for p, known in zip(part.parameters, parameters) if known in inside}
            for node in part.nodes:
                if not made.isdisjoint(node.args):
                    made.add(node)
                    if "elementwise" not in getattr(node.fn, "traits", ()):
                        return False
            if any(x.abstract.shape != output.abstract.shape for x in (*made, *results)):
                return False
    return True


def _may_fail(node: CNode) -> bool:
    """True for a check, a Python call, arithmetic that may be inexact, and control flow that holds one."""
    if isinstance(node.fn, FuncGraph):
        return False
    below = [n for v in node.attrs.values() if isinstance(v, FuncGraph) for g in v.reachable() for n in g.nodes]
    return any(n.fn in (check, segment, masked_put) or may_be_inexact(n) for n in (node, *below)
               if not isinstance(n.fn, FuncGraph))


# ---- whose memory a value may be: what must be known before a Parameter's memory is written over
#
#     r = cond(p, %w, %t)         ->      r may be the memory of w
#
# A reshape is the memory of its argument, and branches and loops hand pointers through; every other node makes memory of its own.
# The analysis is flow-insensitive and may name too many Parameters, never too few (Andersen 1994, on one level).

def memories(graph: FuncGraph) -> dict[AnfNode, Memory]:
    """{node: frozenset of the parameters of `graph` whose memory it may be}; a tuple of sets for a control node."""
    found: dict[AnfNode, Memory] = {p: frozenset((p,)) for p in graph.parameters}
    for node in graph.nodes:
        found[node] = _memory(node, [_OWN if isinstance(a, ValueNode) else found[a] for a in node.args])
    return found


def _memory(node: CNode, args: list[Memory]) -> Memory:
    if node.fn in ALIASES:
        return args[0]
    if node.fn is tuple_getitem:
        return args[0][node.attrs["index"]] if isinstance(args[0], tuple) else args[0]
    if node.fn is cond:
        sides = [_through(node.attrs[side], args[1:]) for side in ("true", "false")]
        return tuple(a | b for a, b in zip(*sides))
    if node.fn is while_loop:
        return _loop(node, args)
    if node.fn in (call, segment, tape_new, tape_push, tape_pop) or isinstance(node.fn, FuncGraph) \
            or "control" not in node.fn.traits:
        return _OWN
    return frozenset().union(*(part for a in args for part in (a if isinstance(a, tuple) else (a,))))


def _through(graph: FuncGraph, args: Sequence[Parameters]) -> list[Parameters]:
    """The sets of a graph's outputs, its parameters having the sets `args`."""
    inner, outside = memories(graph), dict(zip(graph.parameters, args))
    return [frozenset().union(*(outside[p] for p in inner.get(o, _OWN))) for o in graph.outputs]


def _loop(node: CNode, args: list[Memory]) -> Memory:
    """The state after any number of iterations: what goes in, and what the body hands round, until nothing is added."""
    count = len(args) - node.attrs["invariants"]
    state = list(args[:count])
    while True:
        after = [a | b for a, b in zip(state, _through(node.attrs["body"], state + args[count:]))]
        if after == state:
            return tuple(state)
        state = after
