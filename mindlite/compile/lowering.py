"""What the rules of lowering work with: the Flow that is written, the registers of nodes and sizes, calls of kernels and Python.

    @lowers(tanh)                                             LOWER[tanh] is the rule
    def lower_tanh(lowering, node): ..                        -> the register of what the node gives

`lower.py` walks a graph and asks the rules, which stand in `lower_*.py` by the kind of what they lower.
"""
from __future__ import annotations

import abc
from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Union

import numpy as np

from ..backend.kernel import Kernel
from ..backend.target import Target, target_of
from ..common.device import Device
from ..common.dim import Dim, Size, Symbol, lone_symbol, symbols_of
from ..common.errors import Refusal, Signal
from ..common.location import Origin
from ..mindir.abstract import Abstract, AbstractScalar, AbstractTensor, AbstractTuple, dims_in
from ..mindir.graph import AnfNode, CNode, FuncGraph, ValueNode
from ..mindir.primitive import Primitive
from ..ops.basic import barrier, reshape
from ..ops.complex_numbers import as_complex, as_pairs
from .flow import Flow, Registers
from .flow_builder import FlowBuilder
from .python_calls import Objects, PythonCall

Made = Union[int, Registers]                 # the register of what a node gives, or those of its several results
Rule = TypeVar("Rule", bound=Callable[..., Made])
OpenSize = tuple[Symbol, int, int]           # a Symbol that no register holds, which of some abstracts has it, on which axis
ALIASES = (reshape, barrier, as_pairs, as_complex)                 # their results are the memory of their arguments
LOWER: dict[Primitive, Callable[[Lowering, CNode], Made]] = {}


def lowers(*primitives: Primitive) -> Callable[[Rule], Rule]:
    """Register how primitives are lowered."""
    def register(rule: Rule) -> Rule:
        LOWER.update(dict.fromkeys(primitives, rule))
        return rule
    return register


class NotInLibrary(Signal):
    """No library has a kernel for a node."""


def kind_of(abstract: Abstract) -> str:
    """The kind of the register that holds a value."""
    return "f64" if isinstance(abstract, AbstractScalar) and abstract.type is float else "i64"


class Lowering(abc.ABC):
    """A graph on its way to a Flow.

    b       : the FlowBuilder;    device: where kernels run at present, None for the CPU
    env     : {node: its register, or those of its results};    sizes: {Symbol: register}
    copies  : {(node, Device): the register of its copy there};    targets: {node: where its result is to be written}
    kernels : as Lowered says;    flows: {name: Flow} of the graphs that are called, `called` what `function` said of them
    results : the tape on which called Flows leave their Tensors
    """

    def __init__(self, name: str, device: Device | None) -> None:
        self.device, self.b, self.objects = device, FlowBuilder(name), Objects()
        self.copies: ChainMap[tuple[AnfNode, Device | None], int] = ChainMap({})
        self.env: ChainMap[AnfNode, Any] = ChainMap({})
        self.sizes: ChainMap[Symbol, int] = ChainMap({})
        self.targets: dict[AnfNode, int] = {}
        self.kernels: list[tuple[CNode | None, Any]] = []
        self.data: dict[ValueNode, np.ndarray] = {}
        self.flows: dict[str, Flow] = {}
        self.called: dict[FuncGraph, tuple[str, list[Symbol], list[tuple[int, int]]]] = {}
        self.results = -1

    @abc.abstractmethod
    def nodes(self, graph: FuncGraph) -> None:
        """Lower the nodes of a graph into the block that is being written."""

    @abc.abstractmethod
    def operator(self, node: CNode) -> Made:
        """Lower a cluster or an operator."""

    @abc.abstractmethod
    def place_of(self, node: AnfNode, index: int | None = None) -> Device | None:
        """Where a tensor, or the one of a tuple with a number, is to lie."""

    # -- devices

    @property
    def target(self) -> Target:
        """The Target of the device on which the kernel runs that is being lowered."""
        return target_of(self.device)

    def library_kernel(self, name: str, **facts: Any) -> Kernel:
        """A library kernel of the Target. raises : NotInLibrary where it has none"""
        kernel = self.target.library_kernel(name, **facts) if name in self.target.library else None
        if kernel is None:
            raise NotInLibrary
        return kernel

    def value_on(self, node: AnfNode, device: Device | None, origin: Origin | None = None) -> int:
        """The register of a node as a pointer to memory of a device: a copy where it lies elsewhere, one for all readers."""
        if not isinstance(node.abstract, AbstractTensor):
            return self.value(node)
        if isinstance(node, ValueNode):
            return self.constant(node, device)
        register = self.value(node)
        if self.b.devices.get(register) == device:
            return register
        while isinstance(node, CNode) and node.fn in ALIASES and not isinstance(node.args[0], ValueNode):
            node = node.args[0]                              # the same memory
        if (node, device) not in self.copies:
            self.copies[node, device] = self.copied(register, node.abstract, device, origin or node.origin)
        return self.copies[node, device]

    def copied(self, register: int, abstract: AbstractTensor, device: Device | None, origin: Origin | None = None) -> int:
        """A copy of a tensor on a device."""
        size = abstract.size * abstract.dtype.itemsize
        made = self.b.alloc(self.size(size), size, device)
        self.b.copy(made, register, self.size(size), origin)
        return made

    # -- values

    def value(self, node: AnfNode) -> int:
        """The register of a node."""
        return self.constant(node) if isinstance(node, ValueNode) else self.env[node]

    def constant(self, node: ValueNode, device: Device | None = None) -> int:
        """A constant: a number in a register, an array by its address on a device."""
        if isinstance(node.abstract, AbstractScalar):
            if isinstance(node.value, Dim):
                return self.b.dim(node.value, self.sizes, self.b.exact)
            if node.abstract.type is int and not -1 << 63 <= node.value < 1 << 63:
                raise Refusal("an int of more than 64 bits meets numbers that are known at run time only",
                              location=node.origin.location)
            return self.b.const(node.value)
        if node not in self.data:
            self.data[node] = np.ascontiguousarray(node.value)
        return self.b.data(self.data[node], device)

    def size(self, dim: Size) -> int:
        """The register of an int or Dim."""
        return self.b.dim(dim, self.sizes)

    def nbytes(self, abstract: AbstractTensor) -> int:
        """The register of a tensor's size in bytes."""
        return self.size(abstract.size * abstract.dtype.itemsize)

    def allocate(self, abstract: AbstractTensor, node: AnfNode | None = None) -> int:
        """The pointer for a new tensor: where the result is wanted, or a storage of its own."""
        if node is not None and node in self.targets:
            return self.targets[node]
        size = abstract.size * abstract.dtype.itemsize
        return self.b.alloc(self.size(size), size, self.device)

    def bind(self, size: Size | None, register: int) -> None:
        """Remember the register of a size that is known from now on, if it is a Symbol."""
        symbol = lone_symbol(size)
        if symbol is not None and symbol not in self.sizes:
            self.sizes[symbol] = register

    def bind_sizes(self, abstract: AbstractTensor, registers: Sequence[int]) -> None:
        """The same for those of a tensor."""
        for size, register in zip(abstract.shape, registers):
            self.bind(size, register)

    def popped(self, tape: int, abstract: AbstractTensor) -> int:
        """The pointer for a tensor, with what was pushed last on a tape."""
        pointer, made = self.b.pop(tape, device=self.device), self.allocate(abstract)
        self.b.copy(made, pointer, self.nbytes(abstract))
        return made

    # -- calls

    def call_kernel(self, kernel: Kernel, args: Sequence[int], sizes: Sequence[Size], node: CNode, extent: Size | None = None,
                    cost: Size | None = None) -> None:
        """Emit the call; sizes: ints or Dims that follow the args. A kernel with `prepare` has a handle for them."""
        registers = [self.size(s) for s in sizes]
        handle = self.b.handle(kernel, registers, sizes) if kernel.prepare is not None else None
        extent = None if extent is None else self.size(extent)
        cost = None if cost is None or extent is None else self.size(cost)
        if not any(n is node and (k is kernel or getattr(k, "kernel", None) is kernel) for n, k in self.kernels):
            self.kernels.append((node, kernel))
        self.b.kernel(kernel, [*args, *registers], extent, handle, node.origin, cost, self.device)

    def python(self, node: CNode, function: Callable[..., Any], operands: Sequence[AnfNode], abstracts: Sequence[Abstract],
               arrays: bool = False, borrowed: int = 0, pure: bool = False) -> Made:
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
            kinds.append(kind_of(abstract))
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

    def subgraph(self, graph: FuncGraph, values: Sequence[int], places: Sequence[Device | None] | None = None) -> tuple[list[int],
                 ChainMap[Symbol, int]]:
        """Lower a closed graph into the present block, its parameters being `values`; the registers of its outputs.

        places : where each output is to lie, if that matters
        """
        outer_env, outer_sizes, outer_targets, outer_copies = self.env, self.sizes, self.targets, self.copies
        self.copies = outer_copies.new_child()
        self.env, self.sizes, self.targets = self.env.new_child(dict(zip(graph.parameters, values))), self.sizes.new_child(), {}
        try:
            for p, value in zip(graph.parameters, values):
                self.bind(getattr(p.abstract, "dim", None), value)
            self.nodes(graph)
            if self.device is None or places is None:
                return [self.value(o) for o in graph.outputs], self.sizes
            return [self.value_on(o, place) for o, place in zip(graph.outputs, places)], self.sizes
        finally:
            self.env, self.sizes, self.targets, self.copies = outer_env, outer_sizes, outer_targets, outer_copies

    def open_sizes(self, abstracts: Sequence[Abstract], changes: Callable[[int, int], bool] = lambda number,
                   axis: False) -> list[OpenSize]:
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

    def output_size(self, graph: FuncGraph, number: int, axis: int) -> int:
        """The register of a size of a graph's output; 0 for an undefined value, whose sizes do not matter."""
        size = graph.outputs[number].abstract.shape[axis]
        if symbols_of(size) - set(self.sizes):
            return self.b.const(0)
        return self.size(size)

    def function(self, graph: FuncGraph) -> tuple[str, list[Symbol], list[tuple[int, int]]]:
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

    def sizes_for(self, symbol: Symbol, graph: FuncGraph, node: CNode) -> int:
        """The register of a Symbol of a called graph, from the argument in whose type it stands."""
        for p, a in zip(graph.parameters, node.args):
            if isinstance(p.abstract, AbstractTensor):
                for size, actual in zip(p.abstract.shape, a.abstract.shape):
                    if lone_symbol(size) is symbol:          # in a recursion it is one of the caller's, too
                        return self.size(actual)
        if symbol in self.sizes:
            return self.sizes[symbol]
        raise Refusal(f"{graph.name}: no argument has the size {symbol}: a gradient of a recursion whose sizes change")
