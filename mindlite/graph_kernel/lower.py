"""The door of the room: a cluster (FuncGraph) becomes a Kernel with the order of its arguments."""
import functools
from typing import Any

from ..backend.kernel import Kernel
from ..backend.target import current
from ..common.config import config
from ..common.records import dataclass
from ..mindir.loops import CannotFuse
from .horizontal import TOGETHER, parts_of
from .loopnest import build
from .schedule import nominal, schedule
from .signature import signature, take_nest


@dataclass(frozen=True)
class Lowered:
    """A kernel and what its launch needs; args are [one per input, one per output, one per size].

    kernel : backend.kernel.Kernel
    inputs : the graph's Parameters in argument order: a pointer, an int (bool or int scalar), or the bits of a double
    outputs: the graph's output nodes in argument order, a pointer each
    sizes  : the ints or Dims that follow, in argument order
    extent : items of the parallel axis, an int or Dim: run over [0, extent) in any chunks
    cost   : operations per item, an int or Dim
    nest   : the LoopNest, of several parts the first's; made anew, for people, where an equal cluster was lowered before
    """
    kernel: Kernel
    inputs: tuple
    outputs: tuple
    sizes: tuple
    extent: Any
    cost: Any
    scheduled: Any

    @functools.cached_property
    def nest(self):
        """The scheduled LoopNest."""
        return self.scheduled()


@dataclass(frozen=True)
class _Written:
    """What equal clusters share: the text of their kernel, and the sizes, extent and cost of its launch."""
    text: str
    sizes: tuple
    extent: Any
    cost: Any


_written: dict = {}
REMEMBERED = 1024


def lowering(graph, in_place=(), target=None):
    """The Lowered of a closed typed FuncGraph whose nodes all have kernel rules; compiles, or finds it compiled.

    A graph of kind "together" is one kernel, but each of its parts, which share no node, a loop nest of its own.

    in_place : (number of an output, number of a parameter) pairs: the launch gives both the same memory. The graph may
               read such a parameter elementwise only, at the index that is written
    target   : the Target that it is written for, by default the current one
    raises   : CannotFuse(reason) if the graph is no single kernel; InternalError if in_place is not possible
    """
    target = target or current()
    if graph.kind == TOGETHER:
        return _lowering_together(graph, parts_of(graph), in_place, target)
    written, scheduled = _write(graph, tuple(in_place), target)
    return _lowered(graph, written, scheduled, target)


def _lowering_together(graph, parts, in_place, target):
    """The Lowered of parts in one kernel. Its items are units of work. Its sizes are those of
    all parts, each followed by the part's extent and its units per item."""
    position = {node: k for k, node in enumerate((*graph.parameters, *graph.outputs))}
    texts, positions, sources, total = [], [], [], 0
    sizes: list = []
    for part, parameters, results in parts:
        made, read = ({node: number for number, node in reversed([*enumerate(nodes)])} for nodes in (results, parameters))
        shared = tuple((made[graph.outputs[o]], read[graph.parameters[p]]) for o, p in in_place
                       if graph.outputs[o] in made and graph.parameters[p] in read)
        written, scheduled = _write(part, shared, target)
        first = len(position) + len(sizes)
        sizes += [*written.sizes, written.extent, written.cost + 1]
        extent = first + len(written.sizes)
        positions.append(([*[position.get(x) for x in (*parameters, *results)], *range(first, extent)], extent, extent + 1))
        texts.append(written.text)
        sources.append(scheduled)
        total = total + written.extent * (written.cost + 1)
    text = target.write_together(texts, positions)

    def source():
        return "\n".join(target.source(scheduled()) for scheduled in dict(zip(texts, sources)).values())
    kernel = target.compiled(graph.name, text, source)
    return Lowered(kernel, tuple(graph.parameters), tuple(graph.outputs), tuple(sizes), total, 1, sources[0])


def _write(graph, in_place, target):
    """(_Written, function that gives the LoopNest)."""
    of = signature(graph)
    key = of, in_place, config.lowering, target
    known = _written.get(key)                                # other threads forget what is remembered
    if known is not None:
        return known, lambda: schedule(build(graph, in_place, target))
    nest = (None if in_place else take_nest(of, target)) or schedule(build(graph, in_place, target))
    if len(_written) >= REMEMBERED:
        _written.clear()
    made = _written[key] = _Written(target.write(nest), tuple(nest.sizes.values()), nest.extent, nest.cost)
    return made, lambda: nest


def fusable(graph, target=None):
    """None if the graph is one kernel, else the reason why it is not. Compiles nothing."""
    try:
        schedule(build(graph, target=target))
    except CannotFuse as refusal:
        return refusal.reason
    return None


def _lowered(graph, written, scheduled, target):
    def source():
        return target.source(lowered.nest)
    kernel = target.compiled(graph.name, written.text, source, max(1, nominal(written.cost)))
    lowered = Lowered(kernel, tuple(graph.parameters), tuple(graph.outputs), written.sizes, written.extent, written.cost,
                      scheduled)
    return lowered
