"""Which part of a tensor each rank has: a mesh of ranks, and an SBP for each of its axes.

    layout = Layout((2, 2), ("dp", "mp"))                ranks  0 1
                                                                2 3
    layout("dp", "None")     f32[8, 6]: (S0, B)          rank 0 and 1: rows 0..3, rank 2 and 3: rows 4..7
    layout(("dp", "mp"), "None")        (S0, S0)         rank r: rows 2 r and 2 r + 1: the first axis of the mesh is the outer one

Sizes need not be even: the first parts have one element more. Source: OneFlow (Yuan et al. 2021) and GSPMD (Xu et al. 2021).
"""
import math

import numpy as np

from ..common.errors import ArgumentError, RankError, ValueRangeError
from ..common.ranks import engine, even_sizes
from ..common.records import dataclass
from ..common.sbp import Broadcast, Partial, Split


@dataclass(frozen=True)
class Mesh:
    """Ranks in rows and columns. shape: the sizes of its axes; names: of the axes; ranks: in row-major order."""
    shape: tuple
    names: tuple
    ranks: tuple

    def coordinates(self, rank):
        """Where a rank stands, one number for each axis."""
        position, found = self.ranks.index(rank), []
        for size in reversed(self.shape):
            position, at = divmod(position, size)
            found.append(at)
        return tuple(reversed(found))

    def group(self, axis, rank):
        """The ranks that differ from this one along one axis of the mesh only, in order; itself is among them."""
        step = math.prod(self.shape[axis + 1:])
        first = self.ranks.index(rank) - self.coordinates(rank)[axis] * step
        return tuple([self.ranks[first + i * step] for i in range(self.shape[axis])])

    def check(self, rank):
        """raises : RankError for a rank that is not of the mesh"""
        if rank not in self.ranks:
            raise RankError(f"rank {rank} is not in the mesh {self}", note=f"its ranks: {list(self.ranks)}")

    def __str__(self):
        return " x ".join(f"{name} {size}" for name, size in zip(self.names, self.shape))


@dataclass(frozen=True)
class Placement:
    """How a tensor lies on a mesh. sbps: for each axis of the mesh Split, Broadcast or Partial."""
    mesh: Mesh
    sbps: tuple

    def __str__(self):
        return f"({', '.join(map(str, self.sbps))})"

    def bounds(self, shape, rank):
        """(begin, end) of this rank's part, for each axis of a tensor of this shape."""
        found, at = [], self.mesh.coordinates(rank)
        for axis, size in enumerate(shape):
            begin, end = 0, size
            for k, sbp in enumerate(self.sbps):
                if isinstance(sbp, Split) and sbp.axis == axis:
                    sizes = even_sizes(end - begin, self.mesh.shape[k], sbp.unit)
                    begin += sum(sizes[:at[k]])
                    end = begin + sizes[at[k]]
            found.append((begin, end))
        return tuple(found)

    def local_shape(self, shape, rank):
        """The shape of this rank's part."""
        splits = {sbp.axis for sbp in self.sbps if isinstance(sbp, Split)}
        if not splits:
            return tuple(shape)
        return tuple([end - begin if axis in splits else size
                      for axis, (size, (begin, end)) in enumerate(zip(shape, self._bounds_of(shape, splits, rank)))])

    def _bounds_of(self, shape, splits, rank):
        """`bounds`, with (0, 0) for axes that are whole, whose sizes may be open."""
        return self.bounds([size if axis in splits else 0 for axis, size in enumerate(shape)], rank)

    def part_of(self, array):
        """What this rank has of an ndarray that all ranks have in whole: a new array; of addends the first rank has all.

        raises : RankError on a rank that is not of the mesh
        """
        rank = engine().rank
        self.mesh.check(rank)
        part = np.array(array[tuple([slice(begin, end) for begin, end in self.bounds(np.shape(array), rank)])], order="C")
        at = self.mesh.coordinates(rank)
        for k, sbp in enumerate(self.sbps):
            if isinstance(sbp, Partial) and at[k] and sbp.reduction in ("sum", "prod"):
                part[...] = sbp.reduction == "prod"
        return part

    def gathered(self, part, shape):
        """The whole array of this rank's part, a collective: inner axes of the mesh first, as the outer ones consist of them.

        part : an ndarray       shape: that of the whole
        """
        rank, sbps = engine().rank, list(self.sbps)
        self.mesh.check(rank)
        for k in reversed(range(len(sbps))):
            sbp, group, sbps[k] = sbps[k], self.mesh.group(k, rank), Broadcast()
            if isinstance(sbp, Partial):
                part = engine().all_reduce(part, sbp.reduction, group)
            elif isinstance(sbp, Split):
                size = Placement(self.mesh, tuple(sbps)).local_shape(shape, rank)[sbp.axis]
                part = engine().all_gather(part, even_sizes(size, self.mesh.shape[k], sbp.unit), sbp.axis, group)
        return part

    def with_partial(self, reductions):
        """The Placement with addends along some axes of the mesh. reductions: {name of the axis: how they are folded}"""
        unknown = [name for name in reductions if name not in self.mesh.names]
        if unknown:
            raise ValueRangeError(f"{unknown[0]!r} is no axis of the mesh {self.mesh}")
        return Placement(self.mesh, tuple([Partial(reductions[name]) if name in reductions else sbp
                                           for name, sbp in zip(self.mesh.names, self.sbps)]))

    def whole_shape(self, part, dtype):
        """The shape of the tensor of which this rank has a part of that shape: a collective, as parts may be uneven.

        raises : RankError where parts have other dtypes, or other sizes along an axis that is whole
        """
        rank, shape = engine().rank, list(part)
        for k, sbp in enumerate(self.sbps):
            if isinstance(sbp, Split):
                sizes = ["its rows" if axis == sbp.axis else size for axis, size in enumerate(shape)]
                kind = f"the sizes of parts {dtype}[{', '.join(map(str, sizes))}]"
                size = engine().all_reduce(np.array(shape[sbp.axis], np.int64), "sum", self.mesh.group(k, rank), kind=kind)
                shape[sbp.axis] = int(size)
        return tuple(shape)

    def behind_axis(self, axis):
        """The Placement of a tensor that has one more axis, which is whole, at `axis`; None: no more."""
        if axis is None:
            return self
        return Placement(self.mesh, tuple([Split(sbp.axis + (sbp.axis >= axis), sbp.unit) if isinstance(sbp, Split) else sbp
                                           for sbp in self.sbps]))

    @property
    def is_whole(self):
        """True if every rank has the whole tensor."""
        return all(isinstance(sbp, Broadcast) for sbp in self.sbps)


class Layout:
    """A mesh of ranks, and how one tensor lies on it.

    device_matrix : the sizes of the mesh, a tuple of ints whose product is the number of ranks
    alias_name    : a name for each of its axes          rank_list: the ranks in row-major order, 0, 1, .. by default
    raises        : ArgumentError, ValueRangeError for what is no mesh of these ranks

    Called with a word for each axis of a tensor, it gives the Layout of that tensor: the name of an axis of the mesh, a tuple
    of names (the outer one first), or "None".
    """

    def __init__(self, device_matrix, alias_name, rank_list=None):
        if not isinstance(device_matrix, tuple) or not device_matrix or not all(
                type(size) is int and size > 0 for size in device_matrix):
            raise ArgumentError(f"Layout: device_matrix is a tuple of positive ints, not {device_matrix!r}")
        if not isinstance(alias_name, tuple) or not all(isinstance(name, str) for name in alias_name):
            raise ArgumentError(f"Layout: alias_name is a tuple of names, not {alias_name!r}")
        if len(alias_name) != len(device_matrix) or len(set(alias_name)) != len(alias_name) or "None" in alias_name:
            raise ValueRangeError(f"Layout: {len(device_matrix)} different names are wanted, not {alias_name!r}",
                                  hint='"None" is the word for an axis that is not split')
        count = math.prod(device_matrix)
        if rank_list is not None and not (isinstance(rank_list, (tuple, list, range)) and all(
                type(rank) is int and rank >= 0 for rank in rank_list)):
            raise ArgumentError(f"Layout: rank_list is a list of ranks, ints from 0 on, not {rank_list!r}")
        ranks = tuple(range(count)) if rank_list is None else tuple(rank_list)
        if len(ranks) != count or len(set(ranks)) != count:
            raise ValueRangeError(f"Layout: a mesh of {count} positions wants as many different ranks, not {list(ranks)}")
        if max(ranks) >= engine().size:
            raise ValueRangeError(f"Layout: a mesh of {count} ranks, up to number {max(ranks)}, and there are {engine().size}",
                                  hint=f"mpirun -n {max(ranks) + 1}; communication.init() comes first")
        self.mesh, self.tensor_map = Mesh(device_matrix, alias_name, ranks), None

    def __call__(self, *tensor_map):
        made, seen = Layout.__new__(Layout), set()
        for entry in tensor_map:
            names = entry if isinstance(entry, tuple) else (entry,)
            if not all(isinstance(name, str) for name in names):
                raise ArgumentError(f"Layout: a word for each axis of a tensor is wanted, or a tuple of words, not {entry!r}",
                                    hint=f"the axes of the mesh: {', '.join(self.mesh.names)}, or 'None'")
            for name in names:
                if name != "None" and (name not in self.mesh.names or name in seen):
                    raise ValueRangeError(f"Layout: {name!r} is " + ("used twice" if name in seen else "no axis of the mesh"),
                                          hint=f"the axes: {', '.join(self.mesh.names)}, or 'None'")
                seen.add(name) if name != "None" else None
            positions = [self.mesh.names.index(name) for name in names if name != "None"]
            if positions != sorted(positions):
                raise ValueRangeError(f"Layout: {entry!r} has the inner axis of the mesh before the outer one",
                                      hint=f"in the order {', '.join(self.mesh.names)}")
        made.mesh, made.tensor_map = self.mesh, tuple(tensor_map)
        return made

    def placement(self, ndim):
        """The Placement of a tensor of ndim axes; without words it is whole on each rank. raises : ValueRangeError"""
        words = self.tensor_map or ()
        if len(words) > ndim:
            raise ValueRangeError(f"Layout: {len(words)} words for a tensor of {ndim} axes", note=repr(words))
        axis_of = {name: axis for axis, entry in enumerate(words) for name in (entry if isinstance(entry, tuple) else (entry,))}
        return Placement(self.mesh, tuple([Split(axis_of[name]) if name in axis_of else Broadcast()
                                           for name in self.mesh.names]))

    def __eq__(self, other):
        return isinstance(other, Layout) and (self.mesh, self.tensor_map) == (other.mesh, other.tensor_map)

    def __hash__(self):
        return hash((self.mesh, self.tensor_map))

    def __repr__(self):
        return f"Layout({self.mesh.shape}, {self.mesh.names})" + (f"{self.tensor_map}" if self.tensor_map else "")


def whole(mesh):
    """The Placement of a tensor that every rank has in whole."""
    return Placement(mesh, (Broadcast(),) * len(mesh.shape))


def is_partial(placement):
    """True if some axis of the mesh has addends."""
    return any(isinstance(sbp, Partial) for sbp in placement.sbps)
