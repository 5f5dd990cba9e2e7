"""Pipelines: stages of a network on ranks of their own, run by the order of an actor plan (parallel/actors.py).

    pipe = Pipeline([first, second], nn.MSELoss(), micro_size=4)        rank 0 has `first`, rank 1 has `second`
    loss, grads = pipe(x, label)                                        grads: of this rank's weights, of the mean over the batch

A Parameter of several stages, the table of words that is also the last layer for one, has the sum of their gradients on each.

A send waits until one of the register's credits is back, that is until the receiver has taken an earlier message: back-pressure.
"""
from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from .. import functional
from ..common import dtype as dt
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.ranks import WORLD, engine
from ..common.records import dataclass
from ..common.tensor import Parameter, ParameterTuple, Tensor
from ..parallel.actors import ActorPlan, pipeline
from .cell import Cell
from .layer.basic import positive_int
from .reducers import summed_over

KINDS = [kind for kind in dt.ALL if kind.is_differentiable]
HEADER, ACTIVATION, GRADIENT = 70000, 7001, 7002             # tags: of the first tensor of the first piece
MOST_AXES, MOST_TENSORS = 8, 32


@dataclass(frozen=True)
class Program:
    """What a rank computes of one piece.

    forward : (what comes, arguments of the call) -> a Tensor or a tuple of them, the loss from the last piece
    weights : its Parameters        takes: how many Tensors come       reads: numbers of the arguments of the call
    """
    forward: Any
    weights: tuple
    takes: int
    reads: tuple


class Run:
    """The pieces of one rank in the order of a plan.

    plan     : of parallel.actors.pipeline     programs: {piece: Program} of this rank     pieces, replicas: of the plan
    shared   : [(a Parameter, the stages that have it)] of those that several stages have
    peak     : after a call, the most micro-batches whose activations were kept here at one time
    """

    def __init__(self, plan: ActorPlan, programs: dict[int, Program], pieces: int, replicas: int, shared: list) -> None:
        self.order = plan.simulate().order[engine().rank]
        self.credits = {register.name.partition(".")[0]: register.credits for register in plan.registers}
        self.programs, self.pieces, self.replicas, self.shared = programs, pieces, replicas, shared
        self.replica, self.stages = engine().rank % replicas, engine().size // replicas
        self.weights = ParameterTuple({id(p): p for program in programs.values() for p in program.weights}.values())
        self.peak = 0
        self.assigned: tuple[Tensor, ...] = ()               # what a stage of a PipelineCell assigns here: states
        self.loss_dtype: Any = np.float32
        self.described: dict[tuple, tuple] = {}              # {(rank, tag ..): shape and dtype of what travels}
        self.waiting: dict[str, deque] = {}
        self.kept: dict[int, deque] = {}
        self.totals: dict[int, Any] = {}

    def rank_of(self, piece: int) -> int:
        """Who has a piece, of this replica."""
        return piece % self.stages * self.replicas + self.replica

    def __call__(self, parts: list, seed: float, backward: bool = True) -> tuple[list, tuple]:
        """(losses of the micro-batches, on ranks of the last piece; the gradients of `weights`, summed over micro-batches and
        stages).

        parts : for each argument its micro-batches      seed: the cotangent of each loss      backward: False: losses alone
        """
        self.peak, self.described, self.waiting, self.totals = 0, {}, {}, {}
        self.kept = {piece: deque() for piece in self.programs}
        losses: list = []
        for name, number in self.order:                      # an R comes last: over_replicas
            piece = int(name[1:].partition(".")[0])
            if name[0] == "F":
                losses += self._forward(piece, [parts[k][number] for k in self.programs[piece].reads], backward)
            elif name[0] == "B" and backward:
                self._backward(piece, seed)
        for tickets in self.waiting.values():
            for ticket in tickets:
                ticket.wait()
        return losses, self._summed() if backward else ()

    def _forward(self, piece: int, args: list, backward: bool) -> list:
        """One forward; [the loss] of the last piece."""
        program = self.programs[piece]
        args = [*self._receive(piece - 1, program.takes, ACTIVATION), *args]
        if backward:
            out, pull = functional.vjp(program.forward, *args, weights=ParameterTuple(program.weights))
        else:
            out, pull = program.forward(*args), None
        outs = out if isinstance(out, tuple) else (out,)
        if backward:
            self.kept[piece].append((pull, out))
            self.peak = max(self.peak, sum(map(len, self.kept.values())))
        if piece == self.pieces - 1:
            return [outs[0]]
        self._send(outs, piece, self.rank_of(piece + 1), ACTIVATION, f"a{piece}")
        return []

    def _backward(self, piece: int, seed: float) -> None:
        program = self.programs[piece]
        pull, out = self.kept[piece].popleft()
        if piece == self.pieces - 1:
            dout: Any = Tensor(np.full(out.shape, seed, out.dtype.numpy))
        else:
            douts = self._receive(piece, len(out) if isinstance(out, tuple) else 1, GRADIENT)
            dout = tuple(douts) if isinstance(out, tuple) else douts[0]
        of_inputs, found = pull(dout)
        before = self.totals.get(piece)
        self.totals[piece] = found if before is None else tuple([a + b for a, b in zip(before, found)])
        if piece > 0:
            dxs = of_inputs if isinstance(of_inputs, tuple) else (of_inputs,)
            self._send(dxs[:program.takes], piece - 1, self.rank_of(piece - 1), GRADIENT, f"g{piece - 1}")

    def _summed(self) -> tuple:
        """The gradients of `weights`; those of shared Parameters summed over stages, in one order on all ranks."""
        made: dict[int, Any] = {}
        for piece, program in self.programs.items():
            for param, grad in zip(program.weights, self.totals[piece]):
                made[id(param)] = made[id(param)] + grad if id(param) in made else grad
        for param, stages in self.shared:
            ranks = tuple(stage * self.replicas + self.replica for stage in stages)
            if engine().rank in ranks:
                total = engine().all_reduce(np.ascontiguousarray(made[id(param)].asnumpy()), "sum", ranks)
                made[id(param)] = Tensor(total)
        return tuple([made[id(param)] for param in self.weights])

    def over_replicas(self, grads: tuple) -> tuple:
        """Gradients summed over the ranks that have the same stage: the R of the plan."""
        first = engine().rank // self.replicas * self.replicas
        return summed_over(grads, tuple(range(first, first + self.replicas))) if self.replicas > 1 else grads

    def _send(self, values: tuple, piece: int, to: int, tag: int, register: str) -> None:
        """Send the Tensors between a piece and the next one; waits until the register has a credit."""
        tickets = self.waiting.setdefault(register, deque())
        if len(tickets) == self.credits[register] * len(values):
            for _ in values:
                tickets.popleft().wait()
        for k, value in enumerate(values):
            array, here = np.ascontiguousarray(value.asnumpy()), tag + 2 * (piece * MOST_TENSORS + k)
            if (to, here) not in self.described:
                header = np.full(2 + MOST_AXES, -1, np.int64)
                header[:2 + array.ndim] = [KINDS.index(value.dtype), array.ndim, *array.shape]
                engine().post(header, to, HEADER + here, WORLD)
                self.described[to, here] = ()
            tickets.append(engine().post(array, to, here, WORLD))

    def _receive(self, piece: int, count: int, tag: int) -> list:
        """The Tensors between a piece and the next one, from the one of both that this rank has not."""
        source, found = self.rank_of(piece if tag == ACTIVATION else piece + 1), []
        for k in range(count):
            here = tag + 2 * (piece * MOST_TENSORS + k)
            if (source, here, "from") not in self.described:
                header = engine().receive((2 + MOST_AXES,), np.int64, source, HEADER + here, WORLD)
                self.described[source, here, "from"] = tuple(int(n) for n in header[2:2 + header[1]]), KINDS[int(header[0])].numpy
            shape, kind = self.described[source, here, "from"]
            found.append(Tensor(engine().receive(shape, kind, source, here, WORLD)))
        return found

    def loss_everywhere(self, losses: list, fold: Any) -> Tensor:
        """fold(losses) of the last piece, the mean over replicas, on all ranks."""
        mine = float(fold([loss.asnumpy() for loss in losses])) / self.replicas if losses else 0.0
        return Tensor(engine().all_reduce(np.array([mine]), "sum", WORLD)[0].astype(self.loss_dtype))


def micro_size(owner: str, shape: tuple[int, ...], count: int) -> int:
    """The rows of each of `count` equal parts of a batch. raises : ShapeError"""
    if shape[0] % count:
        raise ShapeError(f"{owner}: a batch of {shape[0]} does not go into {count} equal parts")
    return shape[0] // count


def micro_batches(owner: str, x: Tensor, count: int) -> list:
    """`count` equal parts of a batch along its first axis. raises : ShapeError"""
    size = micro_size(owner, x.shape, count)
    return [x[i * size:(i + 1) * size] for i in range(count)]


class Pipeline:
    """Stage s runs on rank s, or on the ranks s * replicas and on. Called with a batch, on all ranks of a replica alike, it gives
    (loss, gradients of this rank's weights), both of the mean over all rows of all replicas.

    stages     : a Cell for each stage, each of which takes what the one before it gives, one Tensor; twice as many Cells as
                 stages are two pieces for each, and so on: piece k is on stage k % stages, the interleaved schedule
    loss_fn    : (what the last stage gives, label) -> the mean loss of a micro-batch
    micro_size : into how many equal parts the batch goes         schedule: see parallel.actors.pipeline, or an ActorPlan of it
    compiled   : compile each stage, or run it operator by operator
    replicas   : how many pipelines there are, each with rows of its own
    raises     : ArgumentError, ValueRangeError
    """

    def __init__(self, stages: Any, loss_fn: Any, micro_size: int, schedule: Any = "1f1b", compiled: bool = True,
                 replicas: int = 1) -> None:
        cells = list(stages)
        if not all(isinstance(cell, Cell) for cell in cells):
            raise ArgumentError("Pipeline: stages are Cells")
        count, rest = divmod(engine().size, positive_int("Pipeline", "replicas", replicas))
        if rest or len(cells) % count or not cells:
            raise ValueRangeError(f"Pipeline: {len(cells)} stages on {engine().size} ranks, {replicas} for each",
                                  hint="a stage for each rank")
        self.micro_size = positive_int("Pipeline", "micro_size", micro_size)
        plan = schedule if isinstance(schedule, ActorPlan) else pipeline(count, micro_size, schedule, replicas=replicas,
                                                                         chunks=len(cells) // count)
        self.plan, self.loss_fn, self.compiled, last = plan, loss_fn, compiled, len(cells) - 1
        mine = range(engine().rank // replicas, len(cells), count)
        self.stage = cells[mine[0]]
        programs = {k: self._program(cells[k], k == 0, k == last) for k in mine}
        self.run = Run(plan, programs, len(cells), replicas, shared_between([cell.trainable_params() for cell in cells], count))
        self.weights = self.run.weights

    @property
    def peak(self) -> int:
        """After a call, the most micro-batches whose activations were kept here at one time."""
        return self.run.peak

    def _program(self, cell: Cell, is_first: bool, is_last: bool) -> Program:
        loss_fn = self.loss_fn
        forward = (lambda x, label: loss_fn(cell(x), label)) if is_last else lambda x: cell(x)
        reads = ((0,) if is_first else ()) + ((1,) if is_last else ())
        return Program(functional.jit(forward) if self.compiled else forward, tuple(cell.trainable_params()), int(not is_first),
                       reads)

    def __call__(self, x: Tensor, label: Tensor) -> tuple:
        parts = [micro_batches("Pipeline", value, self.micro_size) for value in (x, label)]
        losses, grads = self.run(parts, 1 / (self.micro_size * self.run.replicas))
        loss = self.run.loss_everywhere(losses, lambda found: np.mean(found, dtype=np.float64))
        return loss, self.run.over_replicas(grads)


def shared_between(pieces: list[Any], stages: int) -> list[tuple[Parameter, tuple[int, ...]]]:
    """[(a Parameter, the stages that have it)] of those that several stages have, for the weights of each piece."""
    found: dict = {}
    for piece, params in enumerate(pieces):
        for param in params:
            found.setdefault(id(param), (param, {}))[1][piece % stages] = None
    return [(param, tuple(sorted(where))) for param, where in found.values() if len(where) > 1]
