"""Vectorising map on typed graphs: a graph for one element becomes a graph for all of them at once.

    f(x: f32[3], w: f32[3]):  a = x * w;  return reduce_sum(a)
    vmap f, in_axes (0, None):  (x: f32[B, 3], w: f32[3]):  a = x * w;  return reduce_sum(a, axis=1)

Each node goes through its operator's batching rule with the position of the batch axis in every operand (the design of
JAX's autodidax); nodes that no mapped operand reaches stay as they are. Control flow that depends on the mapped axis
is masked: both sides of a branch run and `where` chooses, a loop goes on while any element wants to. An operator without
a rule, and what cannot be masked (effects, recursion, tapes under a predicate of each element), runs in a loop over
the elements; that is announced by the event "vmap_fallback".
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

from ..common.annotations import Function
from ..common.errors import ArgumentError, OutAxesError
from ..common.events import emit as announce
from ..common.location import Origin
from ..mindir.builder import building
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.inline import drop_dead_nodes
from ..ops.basic import move_batch_axis
from .batch import Batch, CannotMask, as_batch, batched_abstract
from .control import CONTROL
from .loop import loop_over_elements

if TYPE_CHECKING:
    from ..common.dim import Size


def vmap_graph(graph: FuncGraph, in_axes: Any, out_axes: Any, size: Size) -> FuncGraph:
    """The graph that maps `graph` over an axis of its operands.

    in_axes : per parameter the mapped axis of the operand, None for an operand that all elements share
    out_axes: per output the position of the mapped axis in the result, None for an output that does not depend on it
    size    : of the mapped axis, an int or a Dim
    raises  : ValueRangeError for an axis that a result does not have,
              ArgumentError where an output that depends on the mapped axis has out_axes None, ShapeError where a result
              has another size for each element
    """
    key = "vmap", tuple(in_axes), tuple(out_axes), size
    if key not in graph.transforms:
        graph.transforms[key] = _mapped(graph, in_axes, out_axes, size)
    return graph.transforms[key]


def _mapped(graph: FuncGraph, in_axes: Any, out_axes: Any, size: Size) -> FuncGraph:
    try:
        return _written(graph, in_axes, out_axes, size, Batch(graph, size, CONTROL, {}).emit)
    except CannotMask as reason:
        announce("vmap_fallback", of=graph.name, location=graph.origin.location, reason=str(reason))
        return _written(graph, in_axes, out_axes, size, lambda args, dims: loop_over_elements(graph, args, dims, size))


def _written(graph: FuncGraph, in_axes: Any, out_axes: Any, size: Size, write: Function) -> FuncGraph:
    """The mapped graph; write(args, dims) -> [(node, dim)] of its outputs."""
    target = FuncGraph(f"vmap {graph.name}", graph.origin)
    dims = [None if axis is None else axis % (p.abstract.ndim + 1) for p, axis in zip(graph.parameters, in_axes)]
    for p, dim in zip(graph.parameters, dims):
        target.add_parameter(p.name, batched_abstract(p.abstract, dim, size), p.origin, p.default)
    # What batching rules require of sizes follows from what the program for one element required.
    with building(target, graph.origin, by="vmap") as builder, collecting():
        made = write(list(target.parameters), dims)
        outputs = []
        for number, ((out, dim), axis) in enumerate(zip(made, out_axes)):
            location = graph.outputs[number].origin.location
            builder.origin, out = Origin(location, None, "vmap"), builder.lift(out)
            if axis is None and dim is not None:
                raise ArgumentError("vmap: a result that depends on the mapped axis has the out_axes None", location=location,
                                    hint="an int: where the axis stands in it")
            if axis is not None:
                out = as_batch(out, dim, size)
                if not -out.ndim <= axis < out.ndim:
                    raise OutAxesError(axis, out.ndim, location=location)
                out = move_batch_axis(out, 0, axis % out.ndim)
            outputs.append(out)
        target.set_outputs(outputs, make_tuple)
    return drop_dead_nodes(target)
