"""ZeRO: what data parallel ranks need not all keep is split between them (Rajbhandari et al. 2020, section 5).

    zero(optimizer, Layout((4,), ("dp",)), level=1)         moments.w : f32[1024, 512] (S0): each rank has 256 rows

    level 1   the optimiser's states                      bytes of states / N
    level 2   and the gradients                           bytes of gradients / N; a reduce_scatter in place of an all_reduce
    level 3   and the Parameters                          bytes of Parameters / N; gathered where they are computed with

Nothing else changes: these are SBPs of Tensors, and the program that reads them is parted as any other (parallel/partition.py).
What travels where is listed by `explain()` of a compiled step, and counted by `Engine.sent`.
"""
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.sbp import Broadcast, Split
from ..common.storage import part_here
from ..common.tensor import Parameter
from ..parallel import Layout, Placement
from ..parallel.layout import whole
from ..parallel.partition import WISH
from ..pynative.sharded import shard_in_place


def zero(optimizer: Any, layout: Layout, axis: str | None = None, level: int = 1, threshold: int = 0) -> Any:
    """Split an optimiser's states, gradients and Parameters along an axis of a mesh; returns the optimiser.

    optimizer : an nn.Optimizer, all of whose ranks have the same values
    layout    : a Layout of the mesh        axis: the name of the one along which the batch is split; None: the first
    level     : 1, 2 or 3, as above         threshold: Tensors of fewer bytes stay whole
    raises    : ArgumentError, ValueRangeError
    """
    if not isinstance(layout, Layout) or not hasattr(optimizer, "parameters"):
        raise ArgumentError(f"zero: takes an optimiser and a Layout, not {type(optimizer).__name__} and {type(layout).__name__}")
    if level not in (1, 2, 3):
        raise ValueRangeError(f"zero: level is 1, 2 or 3, not {level!r}")
    mesh = layout.mesh
    name = mesh.names[0] if axis is None else axis
    if name not in mesh.names:
        raise ValueRangeError(f"zero: {name!r} is no axis of the mesh {mesh}")
    weights = {id(param) for param in optimizer.parameters}
    states = [state for state in optimizer.get_parameters() if id(state) not in weights]
    number, placements = mesh.names.index(name), []
    for param in optimizer.parameters:
        placement = split_further(param, mesh, number, threshold)
        placements.append(placement)
        for state in states:
            if state.name.endswith(f".{param.name}") and state.shape == param.shape and placement is not None:
                shard_in_place(state, placement)
        if level == 3 and placement is not None:
            shard_in_place(param, placement)
    optimizer.gradient_placements = tuple(placements) if level > 1 else None
    return optimizer


def split_further(param: Parameter, mesh: Any, number: int, threshold: int = 0) -> Placement | None:
    """The Placement of a Parameter that is also split along axis `number` of the mesh: along its first axis that is long enough;
    None where none is, or it has fewer bytes than `threshold`."""
    base = param.placement or param.__dict__.get(WISH) or whole(mesh)
    if param.nbytes < threshold or base.mesh != mesh or not isinstance(base.sbps[number], Broadcast):
        return None
    for axis, size in enumerate(param.shape):
        parts = 1
        for sbp, count in zip(base.sbps, mesh.shape):
            parts *= count if sbp == Split(axis) else 1
        if size >= parts * mesh.shape[number]:
            return Placement(mesh, (*base.sbps[:number], Split(axis), *base.sbps[number + 1:]))
    return None


def bytes_here(tensors: Any) -> int:
    """The bytes of Tensors in this rank's memory: of a sharded one those of its part."""
    return sum(part_here(tensor.elements).nbytes for tensor in tensors)
