"""Boxing: from one placement of a tensor to another (Yuan et al. 2021, section 3.2, table 2), one axis of the mesh after another.

    P -> B  all_reduce    2 (n - 1) / n of the bytes        S -> S'  all_to_all    (n - 1) / n of a part
    P -> S  reduce_scatter  (n - 1) / n                     B -> S   a slice       nothing
    S -> B  all_gather      (n - 1) / n                     B -> P   one rank keeps it, the others have zeros: nothing

Where two axes of the mesh split one axis of the tensor, the outer part consists of the inner ones: before the outer one changes,
the inner one is opened, and closed again behind it.
"""
import numpy as np

from ..common.dim import product
from ..common.ranks import even_sizes, ring_bytes
from ..common.records import dataclass
from ..common.sbp import Broadcast, Partial, Split
from ..ops.collectives import all_gather, all_reduce, all_to_all, reduce_scatter
from ..ops.slicing import take_range
from .layout import Placement


@dataclass(frozen=True)
class Step:
    """One change: axis of the mesh, SBP before and after, the collective ("" for none), bytes that this rank sends: an int, or a
    Dim where sizes are open."""
    axis: int
    before: object
    after: object
    operator: str
    nbytes: int


OPERATORS = {(Partial, Broadcast): "all_reduce", (Partial, Split): "reduce_scatter", (Split, Broadcast): "all_gather",
             (Split, Split): "all_to_all", (Broadcast, Split): "", (Broadcast, Partial): ""}


def changes(have, want):
    """[(axis of the mesh, SBP before, after)] from the SBPs `have` to `want`, in an order in which each is one collective."""
    current, steps = list(have), []

    def change(k, to):
        if current[k] == to:
            return
        if (type(current[k]), type(to)) not in OPERATORS or _on_one_axis(current[k], to):
            change(k, Broadcast())                               # P(max) -> P, S -> P, parts by another unit: through the whole
        if current[k] != to:
            steps.append((k, current[k], to))
            current[k] = to
    moved = {k for k in range(len(have)) if have[k] != want[k]}
    for k in sorted(moved):
        axes = {sbp.axis for sbp in (have[k], want[k]) if isinstance(sbp, Split)}
        for inner in reversed(range(k + 1, len(have))):
            if isinstance(current[inner], Split) and current[inner].axis in axes:
                change(inner, Broadcast())
    for k in range(len(have)):
        change(k, want[k])
    return steps


def _on_one_axis(before, after):
    """True for two ways to split one axis."""
    return isinstance(before, Split) and isinstance(after, Split) and before.axis == after.axis


def steps(have, want, shape, itemsize, rank):
    """The Steps of this rank from one Placement to another, for a tensor of this (whole) shape."""
    mesh, current, found = have.mesh, list(have.sbps), []
    for k, before, after in changes(have.sbps, want.sbps):
        operator = OPERATORS[type(before), type(after)]
        placed = Placement(mesh, tuple(current))
        group = product(Placement(mesh, tuple(current[:k] + [Broadcast()] + current[k + 1:])).local_shape(shape, rank))
        mine = product(placed.local_shape(shape, rank))
        nbytes = (mine if operator == "all_to_all" else group) * itemsize
        found.append(Step(k, before, after, operator, ring_bytes(operator, nbytes, mesh.shape[k]) if operator else 0))
        current[k] = after
    return found


def box(x, have, want, shape, rank):
    """This rank's part of a tensor of `shape` as `want` places it, from its part as `have` does: operators that are called.

    x : the part, a Tensor in eager mode, a node where a graph is written
    """
    mesh, current, at = have.mesh, list(have.sbps), have.mesh.coordinates(rank)
    for k, before, after in changes(have.sbps, want.sbps):
        group, count = mesh.group(k, rank), mesh.shape[k]
        opened = Placement(mesh, tuple(current[:k] + [Broadcast()] + current[k + 1:])).local_shape(shape, rank)
        splits, gathers = [even_sizes(opened[sbp.axis], count, sbp.unit) if isinstance(sbp, Split) else ()
                           for sbp in (after, before)]
        if isinstance(before, Partial) and isinstance(after, Broadcast):
            x = all_reduce(x, reduction=before.reduction, group=group)
        elif isinstance(before, Partial):
            x = reduce_scatter(x, reduction=before.reduction, axis=after.axis, group=group, sizes=splits)
        elif isinstance(before, Split) and isinstance(after, Broadcast):
            x = all_gather(x, axis=before.axis, group=group, sizes=gathers)
        elif isinstance(before, Split):
            x = all_to_all(x, split_axis=after.axis, gather_axis=before.axis, group=group, splits=splits, gathers=gathers)
        elif isinstance(after, Split):
            begin = sum(splits[:at[k]])
            x = take_range(x, after.axis, begin, begin + splits[at[k]])
        elif after.reduction == "sum" and at[k] > 0:         # the maximum (product of one ..) of equal parts is any of them
            x = x * 0
        elif after.reduction == "prod" and at[k] > 0:
            x = x * 0 + 1
        current[k] = after
    return x


def parts(array, placement, rank, rng=None):
    """What `rank` has of a whole NumPy array; addends are drawn by `rng`, alike on all ranks."""
    mesh, at = placement.mesh, placement.mesh.coordinates(rank)
    for k, sbp in enumerate(placement.sbps):
        if isinstance(sbp, Partial):
            if sbp.reduction == "sum":
                addends = rng.standard_normal((mesh.shape[k] - 1, *array.shape)).astype(array.dtype)
                array = addends[at[k] - 1] if at[k] else array - addends.sum(0)
            elif at[k] != rng.integers(mesh.shape[k]):
                array = array - 1 if sbp.reduction == "max" else array + 1
    return np.array(array[tuple([slice(b, e) for b, e in placement.bounds(np.shape(array), rank)])])
