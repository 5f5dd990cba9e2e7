"""From a typed graph to a Flow: every node a kernel, a library call, a branch or arithmetic on registers.

    %1 = tanh(%x) : f32[N, 3]        ->        %5 = mul %n, 12;  %6 = alloc %5;  kernel tanh(%x, %6, ..) over ..

A tensor is a pointer (its sizes are Dims, computed where they are wanted from the registers of their Symbols), a
number a register. A reshape is the same pointer. Results of known size are written where the caller wants them; a new
value of a Parameter is written into its memory, in place where nothing reads the old value later.
"""
import functools
from collections import ChainMap
from typing import Any

import numpy as np

from ..backend.target import target_of
from ..common.dim import Dim, lone_symbol, symbols_of
from ..common.errors import InternalError, Refusal
from ..common.records import dataclass
from ..graph_kernel import CannotFuse, lowering as lower_kernel
from ..graph_kernel.epilogue import FINISHED
from ..graph_kernel.horizontal import parts_of
from ..mindir.abstract import AbstractAny, AbstractScalar, AbstractTensor, AbstractTuple, dims_in, symbols_of_abstract
from ..mindir.control import call, check, make_tuple, segment, tuple_getitem
from ..mindir.graph import CNode, FuncGraph, ValueNode
from ..mindir.primitive import kernel_rule
from ..ops.basic import reshape
from ..ops.dynamic_slicing import write_slice
from ..ops.linalg import matmul_add
from ..ops.sort import masked_put
from .aliasing import memories
from .flow import OutputSpec, Program
from .flow_builder import FlowBuilder
from .library import LIBRARY, is_in_library, lower_finished
from .lower_control import CONTROL, kind_of
from .lower_numbers import NUMBERS, is_scalar, may_be_inexact
from .lower_selected import SELECTED
from .lower_trees import TREES
from .placement import ALIASES, Placement
from .python_calls import Evaluation, Objects, PythonCall

LOWER = {**CONTROL, **NUMBERS, **SELECTED, **TREES}


@dataclass
class Lowered:
    """A Program and how its results are found.

    outputs   : per output of the graph: ("param", number of the output), ("output", index), ("value", index of the returned
                register) or ("update", number of the parameter it was written to)
    kernels   : (node, graph_kernel.Lowered, library Kernel, or the reason why it runs in Python), in order
    keep      : (constant arrays, Objects) whose memory the program uses
    parameters: what each parameter of the entry Flow is: ("tensor", p), ("size", p, axis), ("scalar", p), ("out", number)
    """
    program: Any
    outputs: list
    kernels: list
    keep: tuple
    parameters: list


def lower(graph, updates=(), device=None):
    """The Lowered of a typed graph.

    updates : (number of an output, number of the parameter whose memory gets it)
    device  : where kernels run, a Device, or None for the CPU; parameters lie where their abstracts say
    """
    return _Lowering(graph, dict(updates), device).run()


class _Lowering:
    def __init__(self, graph, updates, device):
        self.graph, self.updates, self.device = graph, updates, device
        self.place = None if device is None else Placement(graph, device)
        self.copies: ChainMap = ChainMap({})                 # {(node, Device): the register of its copy there}
        self.b = FlowBuilder(graph.name.replace("<", "").replace(">", "") or "main")
        self.env: ChainMap = ChainMap({})
        self.sizes: ChainMap = ChainMap({})
        self.kernels, self.data, self.flows, self.called = [], {}, {}, {}
        self.targets = {}
        self.objects, self.results = Objects(), None

    # -- the entry

    def run(self):
        """Lower the graph."""
        b, graph = self.b, self.graph
        self.parameters: list = []
        for p in graph.parameters:
            self.enter_parameter(p)
        self.choose_targets()
        if any(n.fn is call for g in graph.reachable() for n in g.nodes):
            self.results = b.tape()
        self.nodes(graph)
        outputs = []
        specs: list = []
        values: list = []
        self.save_old_values()
        for number, node in enumerate(graph.outputs):
            outputs.append(self.leave(number, node, specs, values))
        flow = b.finish(values)
        program = Program(flow, self.flows, tuple(specs))
        return Lowered(program, outputs, self.kernels, (list(self.data.values()), self.objects), self.parameters)

    def enter_parameter(self, p):
        """Registers for a parameter: a pointer and the sizes not seen yet, or a number."""
        abstract = p.abstract
        if isinstance(abstract, AbstractTensor):
            self.env[p] = self.b.param("ptr", p.name, device=abstract.device)
            self.parameters.append(("tensor", p))
            for axis, size in enumerate(abstract.shape):
                symbol = lone_symbol(size)
                if symbol is not None and symbol not in self.sizes:
                    self.sizes[symbol] = self.b.param("i64", f"{p.name}.shape[{axis}]", symbol=symbol)
                    self.parameters.append(("size", p, axis))
        else:
            kind = "f64" if isinstance(abstract, AbstractScalar) and abstract.type is float else "i64"
            symbol = lone_symbol(getattr(abstract, "dim", None))
            self.env[p] = self.b.param(kind, p.name, symbol=symbol)
            if symbol is not None:
                self.sizes[symbol] = self.env[p]
            self.parameters.append(("object" if isinstance(abstract, AbstractAny) else "scalar", p))

    def choose_targets(self):
        """Which nodes may write straight into the memory of a result: kernels of the outermost block, once each."""
        graph = self.graph
        known = set(self.sizes)
        used: dict = {}
        self.memories = memories(graph) if self.updates else {}
        self.parts_of = functools.lru_cache(maxsize=None)(parts_of)     # an optimiser's kernel is asked for each parameter
        for position, node in enumerate(graph.nodes):
            for a in node.args:
                used.setdefault(a, []).append(position)
                for parameter in self.parameters_behind(a):   # read at another index: not by the kernel that writes
                    used.setdefault(parameter, []).append(position + 0.5)
        for node in graph.outputs:
            for parameter in self.parameters_behind(node):
                used.setdefault(parameter, []).append(len(graph.nodes))
        order = {node: i for i, node in enumerate(graph.nodes)}
        early = {p for p in graph.parameters if isinstance(p.abstract, AbstractScalar)}      # hoist_checks moves these
        for node in graph.nodes:
            if is_scalar(node) and all(a in early or isinstance(a, ValueNode) for a in node.args):
                early.add(node)
        last_check = max((i for i, n in enumerate(graph.nodes) if n not in early and _may_fail(n)), default=-1)
        self.out_params = {}
        for number, node in enumerate(graph.outputs):
            if not isinstance(node.abstract, AbstractTensor):
                continue
            if number in self.updates:
                parameter = graph.parameters[self.updates[number]]
                if parameter.abstract.device == self.device and self.in_place(node, parameter, order, used, last_check):
                    self.targets.setdefault(node, self.env[parameter])
            elif not (symbols_of_abstract(node.abstract) - known):
                self.out_params[number] = self.b.param("ptr", f"out{number}", device=self.place_of(node))
                self.parameters.append(("out", number))
                if self.writes_itself(node) and self.place_of(node) == self.device:
                    self.targets.setdefault(node, self.out_params[number])

    def writes_itself(self, node):
        """True for nodes whose kernel can be given the place of its result."""
        if isinstance(node, CNode) and node.fn is tuple_getitem and node.args[0].graph is self.graph:
            node = node.args[0]
        return isinstance(node, CNode) and node.graph is self.graph and (
            isinstance(node.fn, FuncGraph) or node.fn in kernel_rule or node.fn in LIBRARY) and node.fn is not reshape

    def in_place(self, node, parameter, order, used, last_check):
        """May `node` be written over `parameter`? Nothing may read the old value afterwards, nor fail."""
        if not self.writes_itself(node) or node in self.targets:
            return False
        producer = node.args[0] if node.fn is tuple_getitem else node
        place = order[producer]
        uses = used.get(parameter, [])
        if place <= last_check or any(i > place for i in uses) or any(p in self.graph.outputs for p in (parameter,)):
            return False
        return place not in uses or reads_elementwise(producer, parameter, node, self.parts_of)

    def parameters_behind(self, node):
        """The parameters, other than `node` itself, whose memory it may be."""
        found = self.memories.get(node, frozenset())
        return [p for of in (found if isinstance(found, tuple) else (found,)) for p in of if p is not node]

    def save_old_values(self):
        """Copy the results that may be the memory of a Parameter which gets its new value before them: a, b = b, a."""
        self.saved = {}
        written: set = set()
        for number, node in enumerate(self.graph.outputs):
            if isinstance(node.abstract, AbstractTensor) and not written.isdisjoint(self.memories.get(node, ())):
                nbytes = self.nbytes(node.abstract)
                self.saved[number] = self.b.alloc(nbytes, node.abstract.size * node.abstract.dtype.itemsize,
                                                  self.b.devices.get(self.value(node)))
                self.b.copy(self.saved[number], self.value(node), nbytes)
            if number in self.updates:
                written.add(self.graph.parameters[self.updates[number]])

    def leave(self, number, node, specs, values):
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

    # -- devices

    @property
    def target(self):
        """The Target of the device on which the kernel runs that is being lowered."""
        return target_of(self.device)

    def library_kernel(self, name, **facts):
        """A library kernel of the Target; None where it has none."""
        return self.target.library_kernel(name, **facts) if name in self.target.library else None

    def place_of(self, node, index=None):
        """Where a tensor is to lie."""
        if self.place is None or isinstance(node, ValueNode):
            return None
        return self.place.of(node, index)

    def value_on(self, node, device, origin=None):
        """The register of a node as a pointer to memory of a device: a copy where it lies elsewhere, one for all readers."""
        if not isinstance(node.abstract, AbstractTensor):
            return self.value(node)
        if isinstance(node, ValueNode):
            return self.constant(node, device)
        register = self.value(node)
        if self.b.devices.get(register) == device:
            return register
        while getattr(node, "fn", None) in ALIASES and not isinstance(node.args[0], ValueNode):
            node = node.args[0]                              # the same memory
        if (node, device) not in self.copies:
            self.copies[node, device] = self.copied(register, node.abstract, device, origin or node.origin)
        return self.copies[node, device]

    def copied(self, register, abstract, device, origin=None):
        """A copy of a tensor on a device."""
        size = abstract.size * abstract.dtype.itemsize
        made = self.b.alloc(self.size(size), size, device)
        self.b.copy(made, register, self.size(size), origin)
        return made

    # -- values

    def value(self, node):
        """The register (or tuple of them) of a node."""
        if isinstance(node, ValueNode):
            return self.constant(node)
        return self.env[node]

    def constant(self, node, device=None):
        """A constant: a number in a register, an array by its address on a device."""
        if isinstance(node.abstract, AbstractScalar):
            if isinstance(node.value, Dim):
                return self.b.dim(node.value, self.sizes, self.b.exact)
            if node.abstract.type is int and not -1 << 63 <= node.value < 1 << 63:
                raise Refusal("an int of more than 64 bits meets numbers that are known at run time only",
                                       location=node.origin and node.origin.location)
            return self.b.const(node.value)
        if node not in self.data:
            self.data[node] = np.ascontiguousarray(node.value)
        return self.b.data(self.data[node], device)

    def size(self, dim):
        """The register of an int or Dim."""
        return self.b.dim(dim, self.sizes)

    def nbytes(self, abstract):
        """The register of a tensor's size in bytes."""
        return self.size(abstract.size * abstract.dtype.itemsize)

    def allocate(self, abstract, node=None):
        """The pointer for a new tensor: where the result is wanted, or a storage of its own."""
        if node is not None and node in self.targets:
            return self.targets[node]
        size = abstract.size * abstract.dtype.itemsize
        return self.b.alloc(self.size(size), size, self.device)

    def bind_sizes(self, abstract, registers):
        """Remember the registers of sizes that are known from now on: {Symbol: register}."""
        for size, register in zip(abstract.shape, registers):
            symbol = lone_symbol(size)
            if symbol is not None and symbol not in self.sizes:
                self.sizes[symbol] = register

    # -- nodes

    def nodes(self, graph):
        """Lower the nodes of a graph into the block that is being written."""
        for node in graph.nodes:
            try:
                self.env[node] = self.node(node)
            except InternalError as error:
                raise error.at(node.origin.location)
            if isinstance(node.abstract, AbstractScalar) and not isinstance(self.env[node], tuple):
                symbol = lone_symbol(node.abstract.dim)
                if symbol is not None and symbol not in self.sizes:
                    self.sizes[symbol] = self.env[node]

    def node(self, node):
        """Lower one node; its register, or a tuple for several results."""
        if self.place is not None and node in self.place.on_cpu:
            device, self.device = self.device, None
            try:
                return self.operator(node)
            finally:
                self.device = device
        rule = LOWER.get(node.fn)
        return self.operator(node) if rule is None else rule(self, node)

    def operator(self, node):
        """Lower a cluster or an operator: a kernel, else its eval rule."""
        finished = isinstance(node.fn, FuncGraph) and node.fn.kind == FINISHED
        if isinstance(node.fn, FuncGraph) and not finished:
            return self.fused(node, node.fn)
        starts = 2 if node.fn is write_slice else len(node.args)         # where a slice begins is a number
        args = [self.value_on(a, self.device, node.origin) if n < starts else self.value(a) for n, a in enumerate(node.args)]
        if finished or is_in_library(node.fn, self.target):
            out = args[0] if node.fn in (matmul_add, write_slice) else self.allocate_all(node)
            if (lower_finished if finished else LIBRARY[node.fn])(self, node, args, out):
                return out
        if node.fn in kernel_rule:
            single, operands = single_node_graph(node)
            try:
                return self.kernel(node, single, operands)
            except CannotFuse as reason:
                self.kernels.append((node, reason))
        return self.evaluate(node)

    def fused(self, node, graph):
        """A cluster: one kernel."""
        return self.kernel(node, graph, node.args)

    def allocate_all(self, node):
        """Storage for what a node gives; a tuple of them for several results."""
        if not isinstance(node.abstract, AbstractTuple):
            return self.allocate(node.abstract, node)
        return tuple(self.allocate(a, self.readers.get((node, k))) for k, a in enumerate(node.abstract.elements))

    def kernel(self, node, graph, operands):
        """Call the kernel of a closed graph."""
        many = isinstance(node.abstract, AbstractTuple)
        wanted = [self.readers.get((node, number)) if many else node for number in range(len(graph.outputs))]
        shared = tuple((number, k) for number, w in enumerate(wanted) for k, a in enumerate(operands)
                       if w in self.targets and self.env.get(a) == self.targets[w])
        lowered = lower_kernel(graph, in_place=shared, target=self.target)
        self.kernels.append((node, lowered))
        outputs = [self.allocate(out.abstract, w) for out, w in zip(graph.outputs, wanted)]
        where = dict(zip(graph.outputs, outputs))
        inputs = dict(zip(graph.parameters, operands))
        args = [self.value_on(inputs[p], self.device, node.origin) for p in lowered.inputs] + [where[o] for o in lowered.outputs]
        self.call_kernel(lowered.kernel, args, lowered.sizes, node, extent=lowered.extent, cost=lowered.cost)
        return tuple(outputs) if many else outputs[0]

    @property
    def readers(self):
        """{(node, number): the tuple_getitem that reads it} of the outermost graph."""
        if not hasattr(self, "_readers"):
            self._readers = {(n.args[0], n.attrs["index"]): n for n in self.graph.nodes if n.fn is tuple_getitem}
        return self._readers

    def call_kernel(self, kernel, args, sizes, node, extent=None, cost=None, prepared=False):
        """Emit the call; sizes: ints or Dims that follow the args; prepared: the kernel wants a handle for them."""
        registers = [self.size(s) for s in sizes]
        handle = self.b.handle(kernel, registers, sizes) if prepared else None
        extent = None if extent is None else self.size(extent)
        cost = None if cost is None or extent is None else self.size(cost)
        if not any(n is node and (k is kernel or getattr(k, "kernel", None) is kernel) for n, k in self.kernels):
            self.kernels.append((node, kernel))
        self.b.kernel(kernel, [*args, *registers], extent, handle, node.origin, cost, self.device)

    def evaluate(self, node):
        """An operator without a kernel: its eval rule, called in Python between native code."""
        abstracts = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else (node.abstract,)
        sizes = tuple(dict.fromkeys(d for value in node.attrs.values() for d in dims_in(value)))
        operands = [*node.args, *[ValueNode(d, AbstractScalar(int, d)) for d in sizes]]
        return self.python(node, Evaluation(node.fn, node.attrs, sizes), operands, abstracts, arrays=True)

    def python(self, node, function, operands, abstracts, arrays=False, borrowed=0, pure=False):
        """Call function(*values) in Python: values are Tensors, numbers and objects; it gives such a tuple.

        arrays: it takes arrays in place of Tensors, and only computes;   borrowed: how many of the last are not copied;
        pure: nothing outside sees that it ran

        Sizes that the abstracts leave open are bound to what came. The arrays it gives live until the run ends.
        """
        args = []
        for operand in operands:
            args.append(self.value_on(operand, None, node.origin))
            if isinstance(operand.abstract, AbstractTensor):
                args += [self.size(s) for s in operand.abstract.shape]
        kinds = []
        for abstract in abstracts:
            kinds.append("f64" if isinstance(abstract, AbstractScalar) and abstract.type is float else "i64")
            if isinstance(abstract, AbstractTensor):
                kinds += ["i64"] * abstract.ndim
        run = PythonCall(function, tuple(o.abstract for o in operands), tuple(abstracts), self.objects, arrays, borrowed)
        registers = iter(self.b.python(run, args, kinds, node.origin, pure=pure or arrays))
        made = []
        for abstract in abstracts:
            register = next(registers)
            if isinstance(abstract, AbstractTensor):
                self.bind_sizes(abstract, [next(registers) for _ in abstract.shape])
            made.append(register)
        return tuple(made) if isinstance(node.abstract, AbstractTuple) else made[0]

    # -- graphs below

    def subgraph(self, graph, values, places=None):
        """Lower a closed graph into the present block, its parameters being `values`; the registers of its outputs.

        places : where each output is to lie, if that matters
        """
        outer_env, outer_sizes, outer_targets, outer_copies = self.env, self.sizes, self.targets, self.copies
        self.copies = outer_copies.new_child()
        self.env, self.sizes, self.targets = self.env.new_child(dict(zip(graph.parameters, values))), self.sizes.new_child(), {}
        try:
            for p, value in zip(graph.parameters, values):
                if isinstance(p.abstract, AbstractScalar):
                    symbol = lone_symbol(p.abstract.dim)
                    if symbol is not None and symbol not in self.sizes:
                        self.sizes[symbol] = value
            self.nodes(graph)
            if self.device is None or places is None:
                return [self.value(o) for o in graph.outputs], self.sizes
            return [self.value_on(o, place) for o, place in zip(graph.outputs, places)], self.sizes
        finally:
            self.env, self.sizes, self.targets, self.copies = outer_env, outer_sizes, outer_targets, outer_copies

    def open_sizes(self, abstracts, changes=lambda number, axis: False):
        """The Symbols that `abstracts` use and no register holds: (Symbol, which abstract, which axis), each once.

        changes : (which, axis) -> true for a size that is another one in each iteration. A loop that is run again for its
                  gradient (`recompute`) has the Symbols of the loop that has ended, and a register holds what they were then
        """
        found, seen = [], set()
        for number, abstract in enumerate(abstracts):
            if isinstance(abstract, AbstractTensor):
                for axis, size in enumerate(abstract.shape):
                    symbol = lone_symbol(size)
                    if symbol is not None and symbol not in seen and (symbol not in self.sizes or changes(number, axis)):
                        seen.add(symbol)
                        found.append((symbol, number, axis))
        return found

    def output_size(self, graph, number, axis):
        """The register of a size of a graph's output; 0 for an undefined value, whose sizes do not matter."""
        size = graph.outputs[number].abstract.shape[axis]
        if symbols_of(size) - set(self.sizes):
            return self.b.const(0)
        return self.size(size)

    def function(self, graph):
        """The Flow of a graph that is called: (name, Symbols it takes as more arguments, (output, axis) it returns too)."""
        known = self.called.get(graph)
        if known is not None:
            return known
        inner = FlowBuilder(f"{graph.name}.{len(self.called)}")
        used = {}
        for below in graph.reachable():
            for node in [*below.parameters, *below.nodes]:
                for size in dims_in(node.abstract):
                    used.update(dict.fromkeys(sorted(symbols_of(size), key=lambda s: s.number)))
        own = {lone_symbol(s) for below in graph.reachable()
               for n in (*below.nodes, *(below.parameters if below is not graph else ())) for s in dims_in(n.abstract)} - {None}
        from_params = {lone_symbol(s) for p in graph.parameters for s in dims_in(p.abstract)} - {None}
        symbols = [s for s in used if s in from_params or s not in own or s in self.sizes]
        opened = [(n, axis) for n, out in enumerate(graph.outputs) if isinstance(out.abstract, AbstractTensor)
                  for axis, size in enumerate(out.abstract.shape) if isinstance(size, Dim)]
        self.called[graph] = known = (inner.name, symbols, opened)
        outer = self.b, self.env, self.sizes, self.targets, self.results, self.copies
        self.b, self.env, self.sizes, self.targets, self.copies = inner, ChainMap({}), ChainMap({}), {}, ChainMap({})
        try:
            for p in graph.parameters:
                tensor = isinstance(p.abstract, AbstractTensor)
                self.env[p] = inner.param("ptr" if tensor else kind_of(p.abstract), p.name,
                                          device=self.device if tensor else None)
            for s in symbols:
                self.sizes[s] = inner.param("i64", s.name)
            self.results = inner.param("i64", "results")
            self.nodes(graph)
            values = []
            for o in graph.outputs:
                if isinstance(o.abstract, AbstractTensor):
                    inner.push(self.results, self.value_on(o, self.device), self.nbytes(o.abstract))
                else:
                    values.append(self.value(o))
            values += [self.output_size(graph, n, axis) for n, axis in opened]
            self.flows[inner.name] = inner.finish(values)
        finally:
            self.b, self.env, self.sizes, self.targets, self.results, self.copies = outer
        return known

    def sizes_for(self, symbol, graph, node):
        """The register of a Symbol of a called graph, from the argument in whose type it stands."""
        for p, a in zip(graph.parameters, node.args):
            if isinstance(p.abstract, AbstractTensor):
                for size, actual in zip(p.abstract.shape, a.abstract.shape):
                    if lone_symbol(size) is symbol:          # in a recursion it is one of the caller's, too
                        return self.size(actual)
        if symbol in self.sizes:
            return self.sizes[symbol]
        raise Refusal(f"{graph.name}: no argument has the size {symbol}: a gradient of a recursion whose sizes change")


def single_node_graph(node):
    """(a closed graph of this one node, its operands): constants stay constants, each other operand is a parameter."""
    graph = FuncGraph(getattr(node.fn, "name", "kernel"), node.origin)
    operands: list = []
    args: list = []
    for a in node.args:
        if isinstance(a, ValueNode) and (not isinstance(a.abstract, AbstractTensor) or a.value.size == 1):
            args.append(a)
            continue
        operands.append(a)
        args.append(graph.add_parameter(f"x{len(operands)}", a.abstract))
    copy = CNode(graph, node.fn, args, node.attrs, node.abstract, node.origin)
    graph.nodes.append(copy)
    outs = [copy]
    if isinstance(node.abstract, AbstractTuple):
        outs = [graph.add(tuple_getitem, copy, index=i, abstract=e) for i, e in enumerate(node.abstract.elements)]
    graph.set_outputs(outs, make_tuple)
    return graph, operands


def reads_elementwise(producer, parameter, output, parts_of):
    """True if the kernel reads `parameter` at the index it writes only: what is made of it is elementwise and of one
    shape, and of several parts that are one kernel the others do not read it."""
    if not isinstance(producer.fn, FuncGraph):
        return "elementwise" in producer.fn.traits and all(a.abstract.shape == output.abstract.shape for a in producer.args
                                                          if a is parameter)
    graph = producer.fn
    if graph.kind == FINISHED:                               # sums of a convolution stand in the result before it is finished
        return False
    result = graph.outputs[output.attrs["index"] if output.fn is tuple_getitem else 0]
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


def _may_fail(node):
    """True for a check, a Python call, arithmetic that may be inexact, and control flow that holds one."""
    if isinstance(node.fn, FuncGraph):
        return False
    below = [n for v in node.attrs.values() if isinstance(v, FuncGraph) for g in v.reachable() for n in g.nodes]
    return any(n.fn in (check, segment, masked_put) or may_be_inexact(n) for n in (node, *below)
               if not isinstance(n.fn, FuncGraph))
