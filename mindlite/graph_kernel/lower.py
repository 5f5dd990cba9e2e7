"""The door of the room: a cluster (FuncGraph) becomes a Kernel with the order of its arguments."""
from dataclasses import dataclass

from ..backend.kernel import Kernel
from . import cache
from .loopnest import CannotFuse, LoopNest, build
from .lower_llvm import emit
from .python_source import python_source
from .schedule import nominal, schedule


@dataclass(frozen=True)
class Lowered:
    """A kernel and what its launch needs; args are [one per input, one per output, one per size].

    kernel : backend.kernel.Kernel
    inputs : the graph's Parameters in argument order: a pointer, an int (bool or int scalar), or the bits of a double
    outputs: the graph's output nodes in argument order, a pointer each
    sizes  : the ints or Dims that follow, in argument order
    extent : items of the parallel axis, an int or Dim: run over [0, extent) in any chunks
    cost   : operations per item, an int or Dim
    nest   : the LoopNest
    """
    kernel: Kernel
    inputs: tuple
    outputs: tuple
    sizes: tuple
    extent: object
    cost: object
    nest: LoopNest


def lowering(graph, in_place=()):
    """The Lowered of a closed typed FuncGraph whose nodes all have kernel rules; compiles, or finds it compiled.

    in_place : (number of an output, number of a parameter) pairs: the launch gives both the same memory. The graph may
               read such a parameter elementwise only, at the index that is written
    raises   : CannotFuse(reason) if the graph is no single kernel; InternalError if in_place is not possible
    """
    nest = schedule(build(graph, in_place))
    text = emit(nest)
    return _lowered(graph, nest, cache.address_of(text, graph.name))


def lowering_many(graphs):
    """`lowering` of several graphs; what is new is compiled in worker processes where that pays."""
    nests = [schedule(build(graph)) for graph in graphs]
    addresses = cache.compile_many([emit(nest) for nest in nests])
    return [_lowered(*parts) for parts in zip(graphs, nests, addresses)]


def fusable(graph):
    """None if the graph is one kernel, else the reason why it is not. Compiles nothing."""
    try:
        schedule(build(graph))
    except CannotFuse as refusal:
        return refusal.reason
    return None


def _lowered(graph, nest, address):
    kernel = Kernel(graph.name, address, python_source(nest), cost=max(1, nominal(nest.cost)))
    return Lowered(kernel, tuple(graph.parameters), tuple(graph.outputs), tuple(nest.sizes.values()), nest.extent,
                   nest.cost, nest)
