"""AdaSum: what ranks have learnt is added up as far as it is orthogonal, and averaged as far as it is parallel.

    adasum(g, ranks)      g, g -> g          orthogonal g1, g2 -> g1 + g2          a, b -> (1 - ab/2aa) a + (1 - ab/2bb) b

By recursive halving: rank r and rank r + 2^k exchange halves of what they have, the dot products are added up over the 2^(k+1)
ranks that have parts of the two vectors, and in the end the parts are gathered on the way back. Each rank sends 2 (n - 1) / n of
the vector, as a ring does, in 2 log n messages.

Source: Maleki et al. 2021 (Scaling distributed training with adaptive summation), algorithm 1.
"""
from __future__ import annotations

from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, DTypeError, ValueRangeError
from ..common.ranks import engine
from ..common.tensor import Parameter, Tensor
from ..nn import Cell
from ..nn.layer.basic import positive_int
from ..ops.collectives import all_gather, all_reduce, all_to_all


def adasum(x: Tensor, ranks: tuple[int, ...]) -> Tensor:
    """The adaptive sum of what some ranks have: a collective of them all, in both modes.

    x     : float[...] of one shape and dtype on all of them; dot products are made in float64
    ranks : in order; neighbours are added up first. Their number is a power of two
    out   : like x, the same on each
    raises: DTypeError for what are no floats; ValueRangeError for another number of ranks, and where this one is not among them
    """
    count = len(ranks)
    if not x.dtype.is_float:
        raise DTypeError(f"adasum: floats are added up, not {x.dtype}")
    if count & (count - 1) or engine().rank not in ranks:
        raise ValueRangeError(f"adasum: a power of two of ranks, this one ({engine().rank}) among them, not {list(ranks)}")
    place = ranks.index(engine().rank)
    size, part = x.size, x.reshape(-1)
    if size % count:
        part = ops.concat((part, ops.zeros((-size % count,), x.dtype)))         # which changes no dot product
    distances = [1 << k for k in range(count.bit_length() - 1)]
    for distance in distances:
        both = all_to_all(part.reshape(2, -1), split_axis=0, gather_axis=0, group=_pair(ranks, place, distance))
        begin = place // (2 * distance) * 2 * distance
        part = _combined(both[0], both[1], tuple(sorted(ranks[begin:begin + 2 * distance])))
    for distance in reversed(distances):
        part = all_gather(part, group=_pair(ranks, place, distance))
    return part[:size].reshape(x.shape)


def _pair(ranks: tuple[int, ...], place: int, distance: int) -> tuple[int, ...]:
    return tuple(sorted((ranks[place], ranks[place ^ distance])))


def _combined(a: Tensor, b: Tensor, group: tuple[int, ...]) -> Tensor:
    """What two vectors, of which the ranks of the group have parts, give together."""
    left, right = a.astype(dt.float64), b.astype(dt.float64)
    dots = all_reduce(ops.stack(((left * right).sum(), (left * left).sum(), (right * right).sum())), group=group)
    of_both, of_left, of_right = dots[0], dots[1], dots[2]
    keep_left = 1 - ops.where(of_left > 0, of_both / ops.where(of_left > 0, 2 * of_left, 1.0), 0.0)
    keep_right = 1 - ops.where(of_right > 0, of_both / ops.where(of_right > 0, 2 * of_right, 1.0), 0.0)
    return (left * keep_left + right * keep_right).astype(a.dtype)


class AdaSum(Cell):
    """Sets Parameters to what they were less the adaptive sum of what all groups of devices have learnt.

    rank            : this rank
    device_number   : ranks of one group, which have the same; partners are so many ranks apart
    group_number    : how many groups there are, a power of two
    parameter_tuple : the Parameters
    delta_weights   : a tuple of Tensors, what this rank would subtract
    parameters      : the Parameters        old_parameters: a tuple of Tensors, their values before
    out             : a tuple, the Parameters
    raises          : ArgumentError, ValueRangeError for another rank, or ranks that are not device_number x group_number
    """

    def __init__(self, rank: int, device_number: int, group_number: int, parameter_tuple: Any) -> None:
        super().__init__()
        if not isinstance(parameter_tuple, (tuple, list)) or not all(isinstance(p, Parameter) for p in parameter_tuple):
            raise ArgumentError("AdaSum: parameter_tuple is a tuple of Parameters")
        devices, groups = [positive_int("AdaSum", name, value) for name, value in (
            ("device_number", device_number), ("group_number", group_number))]
        if groups & (groups - 1):
            raise ValueRangeError(f"AdaSum: group_number is a power of two, not {groups}")
        if rank != engine().rank or devices * groups != engine().size:
            raise ValueRangeError(f"AdaSum: this is rank {engine().rank} of {engine().size}, not rank {rank} of "
                                  f"{devices} x {groups}")
        self.rank, self.device_number, self.group_number = rank, devices, groups
        self.ranks = tuple(rank % devices + devices * k for k in range(groups))

    def construct(self, delta_weights: tuple, parameters: tuple, old_parameters: tuple) -> tuple:
        for delta, param, old in zip(delta_weights, parameters, old_parameters):
            ops.assign(param, old - adasum(delta, self.ranks))
        return parameters
