"""Gradients of ranks that have rows of their own, summed: of all ranks (data parallel), or of those that have one stage.

    reducer = nn.DistributedGradReducer(optimizer.parameters)
    optimizer(reducer(grads))
"""
from __future__ import annotations

import math
from typing import Any
from collections.abc import Iterable, Sequence

from .. import functional
from ..common.errors import ArgumentError
from ..common.ranks import WORLD, engine
from ..common.tensor import Parameter, ParameterTuple, Tensor
from ..ops.collectives import all_reduce_coalesced, broadcast_from
from ..parallel.buckets import most_joined
from .cell import Cell
from .layer.basic import positive_int


class DistributedGradReducer(Cell):
    """Gradients summed or averaged over the ranks of a group. They travel in pieces of at most 4 MiB, or as comm_fusion says, in
    the order of the parameters from the last to the first, as the backward makes them.

    mean   : divide by `degree`; None: as set_auto_parallel_context(gradients_mean=..) says
    degree : a number to divide by, the number of ranks by default          fusion_type: 0: each gradient travels by itself
    raises : ValueRangeError for a degree below 1 or a group that does not exist
    """

    def __init__(self, parameters: Iterable[Parameter], mean: bool | None = None, degree: int | None = None, fusion_type: int = 1,
                 group: str = WORLD) -> None:
        super().__init__(auto_prefix=False)
        self.group = engine().members(group)
        if degree is not None:
            positive_int("DistributedGradReducer", "degree", degree)
        self.degree, self.fusion_type = degree or len(self.group), fusion_type
        self._wished, self.__dict__["_parameters"] = mean, tuple(parameters)
        self.read_settings()

    def read_settings(self) -> None:
        """Take up the settings of this rank's runs; an AutoParallel calls it under its own."""
        self.mean = functional.get_auto_parallel_context("gradients_mean") if self._wished is None else bool(self._wished)
        self._pieces = _pieces(self._parameters, most_joined() if self.fusion_type else 0)

    def construct(self, grads: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if len(self.group) == 1 and self.degree == 1:
            return grads
        made = list(grads)
        for positions in self._pieces:
            totals = all_reduce_coalesced(*[grads[i] for i in positions], group=self.group)
            for i, total in zip(positions, totals):
                made[i] = total / self.degree if self.mean else total
        return tuple(made)


class PipelineGradReducer(Cell):
    """Gradients of a PipelineCell, divided by scale_sense and summed over the ranks that have the same stage; their mean where
    set_auto_parallel_context(gradients_mean=True) says so. With full_batch=True these have the same gradients, which stay.

    parameters  : a list or tuple of Parameters, in the order of the gradients
    scale_sense : a float, the factor by which the loss was scaled
    opt_shard   : None or False
    raises      : ArgumentError for opt_shard: `parallel.zero` splits an optimiser's states
    """

    def __init__(self, parameters: Any, scale_sense: float = 1.0, opt_shard: Any = None) -> None:
        super().__init__(auto_prefix=False)
        if opt_shard:
            raise ArgumentError("PipelineGradReducer: opt_shard is not here", hint="parallel.zero splits an optimiser's states")
        self.parameters_, self.scale_sense = ParameterTuple(parameters), scale_sense
        self.read_settings()

    def read_settings(self) -> None:
        """Take up the settings of this rank's runs; an AutoParallel calls it under its own."""
        setting = functional.get_auto_parallel_context
        self.mean = setting("gradients_mean")
        self.group = (engine().rank,) if setting("full_batch") else ranks_of_stage(setting("pipeline_stages"))

    def construct(self, grads: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if len(self.group) > 1:
            grads = summed_over(tuple(grads), self.group)
        factor = self.scale_sense * (len(self.group) if self.mean else 1)
        return tuple(grads) if factor == 1 else tuple([grad / factor for grad in grads])


def ranks_of_stage(stages: int) -> tuple[int, ...]:
    """The ranks that have the same stage as this one, of `stages`."""
    count = engine().size // stages
    first = engine().rank // count * count
    return tuple(range(first, first + count))


def summed_over(grads: tuple, ranks: tuple[int, ...]) -> tuple:
    """Gradients summed over some ranks; those of one dtype travel as one."""
    made, kinds = list(grads), []
    for grad in grads:
        if grad.dtype not in kinds:
            kinds.append(grad.dtype)
    for kind in kinds:
        places = [k for k, grad in enumerate(grads) if grad.dtype == kind]
        for place, total in zip(places, all_reduce_coalesced(*[grads[k] for k in places], group=ranks)):
            made[place] = total
    return tuple(made)


def broadcast_parameters(network: Cell, root: int = 0) -> None:
    """Give all ranks the Parameters of rank `root`."""
    for param in network.get_parameters():
        param.set_data(broadcast_from(param, root=root))


def _pieces(parameters: Sequence[Parameter], most: int) -> tuple[tuple[int, ...], ...]:
    """The numbers of the gradients that travel together, from the last to the first: of one dtype, `most` bytes or one."""
    pieces: list = []
    size = 0
    for i in reversed(range(len(parameters))):
        nbytes, kind = math.prod(parameters[i].shape) * parameters[i].dtype.itemsize, parameters[i].dtype
        if pieces and size + nbytes <= most and kind == parameters[pieces[-1][0]].dtype:
            pieces[-1].append(i)
            size += nbytes
        else:
            pieces.append([i])
            size = nbytes
    return tuple(map(tuple, pieces))
