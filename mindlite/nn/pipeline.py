"""Pipeline: stages of a network on ranks of their own, run by the order of an actor plan (parallel/actors.py).

    pipe = Pipeline([first, second], nn.MSELoss(), micro_size=4)        rank 0 has `first`, rank 1 has `second`
    loss, grads = pipe(x, label)                                        grads: of this rank's weights, of the mean over the batch

A Parameter of several stages, the table of words that is also the last layer for one, has the sum of their gradients on each.

A send waits until one of the register's credits is back, that is until the receiver has taken an earlier message: back-pressure.
"""
from collections import deque
from typing import Any

import numpy as np

from .. import functional
from ..common import dtype as dt
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.ranks import WORLD, engine
from ..common.tensor import ParameterTuple, Tensor
from ..parallel.actors import pipeline
from .cell import Cell
from .layer.basic import positive_int

KINDS = [kind for kind in dt.ALL if kind.is_differentiable]
HEADER, ACTIVATION, GRADIENT = 7000, 7001, 7002              # tags
MOST_AXES = 8


class Pipeline:
    """Stage r runs on rank r. Called with a batch, on all ranks alike, it gives (loss, gradients of this rank's weights).

    stages     : a Cell for each rank, each of which takes what the one before it gives, one Tensor
    loss_fn    : (what the last stage gives, label) -> the mean loss of a micro-batch
    micro_size : into how many equal parts the batch goes         schedule: see parallel.actors.pipeline
    compiled   : compile each stage, or run it operator by operator
    peak       : after a call, the most micro-batches whose activations were kept here at one time
    raises     : ArgumentError, ValueRangeError
    """

    def __init__(self, stages: Any, loss_fn: Any, micro_size: int, schedule: Any = "1f1b", compiled: bool = True) -> None:
        stages = list(stages)
        if not all(isinstance(stage, Cell) for stage in stages):
            raise ArgumentError("Pipeline: stages are Cells")
        if len(stages) != engine().size:
            raise ValueRangeError(f"Pipeline: {len(stages)} stages on {engine().size} ranks", hint="a stage for each rank")
        self.count, self.micro_size = len(stages), positive_int("Pipeline", "micro_size", micro_size)
        self.plan = pipeline(self.count, micro_size, schedule)
        self.order = self.plan.simulate().order[engine().rank]
        self.credits = {register.name: register.credits for register in self.plan.registers}
        self.stage, self.is_last = stages[engine().rank], engine().rank == self.count - 1
        self.weights = ParameterTuple(self.stage.trainable_params())
        self.shared = _shared_between(stages)
        stage = self.stage
        forward = (lambda x, label: loss_fn(stage(x), label)) if self.is_last else lambda x: stage(x)
        self.forward = functional.jit(forward) if compiled else forward
        self.peak = 0

    def __call__(self, x: Tensor, label: Tensor) -> tuple:
        rank, kept, self.peak = engine().rank, deque[tuple](), 0
        inputs, labels = self._parts(x), self._parts(label)
        waiting: dict = {name: deque() for name in self.credits}
        described: dict = {}
        losses, total = [], None
        for name, number in self.order:
            if name[0] == "F":
                given = inputs[number] if rank == 0 else self._receive(rank - 1, ACTIVATION, described)
                args = (given, labels[number]) if self.is_last else (given,)
                out, pull = functional.vjp(self.forward, *args, weights=self.weights)
                kept.append((pull, out))
                self.peak = max(self.peak, len(kept))
                if self.is_last:
                    losses.append(out)
                else:
                    self._send(out, rank + 1, ACTIVATION, number == 0, waiting[f"a{rank}"], self.credits[f"a{rank}"])
                continue
            pull, out = kept.popleft()
            dout = Tensor(np.full(out.shape, 1 / self.micro_size, out.dtype.numpy)) if self.is_last else self._receive(
                rank + 1, GRADIENT, described)
            of_inputs, found = pull(dout)
            total = found if total is None else tuple([a + b for a, b in zip(total, found)])
            if rank > 0:
                dx = of_inputs[0] if isinstance(of_inputs, tuple) else of_inputs
                self._send(dx, rank - 1, GRADIENT, number == 0, waiting[f"g{rank - 1}"], self.credits[f"g{rank - 1}"])
        for tickets in waiting.values():
            for ticket in tickets:
                ticket.wait()
        total = self._summed(total or ())
        loss = np.mean([loss.asnumpy() for loss in losses], dtype=np.float64) if self.is_last else 0.0
        return Tensor(engine().broadcast(np.array(loss, np.float32), self.count - 1, WORLD)), total

    def _summed(self, grads: tuple) -> tuple:
        """The gradients, those of shared Parameters summed over the ranks that have them; in the same order on all ranks."""
        made = list(grads)
        for param, ranks in self.shared:
            if engine().rank in ranks:
                position = [id(weight) for weight in self.weights].index(id(param))
                made[position] = Tensor(engine().all_reduce(np.ascontiguousarray(made[position].asnumpy()), "sum", ranks))
        return tuple(made)

    def _parts(self, x: Tensor) -> list:
        if x.shape[0] % self.micro_size:
            raise ShapeError(f"Pipeline: a batch of {x.shape[0]} does not go into {self.micro_size} equal parts")
        size = x.shape[0] // self.micro_size
        return [x[i * size:(i + 1) * size] for i in range(self.micro_size)]

    @staticmethod
    def _send(value: Tensor, to: int, tag: int, first: bool, tickets: deque, credits: int) -> None:
        array = np.ascontiguousarray(value.asnumpy())
        if first:
            header = np.full(2 + MOST_AXES, -1, np.int64)
            header[:2 + array.ndim] = [KINDS.index(value.dtype), array.ndim, *array.shape]
            engine().post(header, to, HEADER + 10 * tag, WORLD)
        if len(tickets) == credits:
            tickets.popleft().wait()
        tickets.append(engine().post(array, to, tag, WORLD))

    @staticmethod
    def _receive(source: int, tag: int, described: dict) -> Tensor:
        if (source, tag) not in described:
            header = engine().receive((2 + MOST_AXES,), np.int64, source, HEADER + 10 * tag, WORLD)
            described[source, tag] = tuple(int(n) for n in header[2:2 + header[1]]), KINDS[int(header[0])].numpy
        shape, kind = described[source, tag]
        return Tensor(engine().receive(shape, kind, source, tag, WORLD))


def _shared_between(stages: list) -> list:
    """[(a Parameter, the ranks of the stages that have it)] of those that several stages have."""
    found: dict = {}
    for rank, stage in enumerate(stages):
        for param in stage.trainable_params():
            found.setdefault(id(param), (param, []))[1].append(rank)
    return [(param, tuple(ranks)) for param, ranks in found.values() if len(ranks) > 1]
