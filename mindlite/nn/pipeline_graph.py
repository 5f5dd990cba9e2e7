"""A rank's part of a pipeline as one graph: the schedule of its stage, and the messages between the stages.

    stage 0, 2 micro-batches        a0 = forward(x0);  post(a0);   a1 = forward(x1);  post(a1)
                                    da0 = receive();   dw = backward(da0);   da1 = receive();   dw = dw + backward(da1)

The graph of a stage is differentiated once. Its forward nodes are copied to where the plan runs a forward, the others to where it
runs that backward, so what a backward reads is a value of the graph like any other, and lives as long. Passes and memory plan see
the whole schedule; messages are effects, which keep their order. A message goes to who reads it while this rank goes on: `post`
waits where a register of the plan has no credit left.

The operator `in_stages` stands for all that until gradients are made and it is known whether anybody reads those of the pipeline.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ad.vjp import vjp_graph
from ..common import dtype as dt
from ..common.dim import Dim, Size, Symbol, symbols_of
from ..common.errors import ShapeError
from ..common.ranks import engine
from ..common.tensor import Tensor
from ..compile.passes import derive_graph
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.graph import AnfNode, CNode, FuncGraph, ValueNode
from ..mindir.inline import with_sizes
from ..mindir.primitive import current_interpreter
from ..ops.basic import cast
from ..ops.collectives import all_reduce, post, receive, settle
from ..ops.rank_program import on_rank
from ..ops.creation import full
from ..ops.slicing import take_range
from ..optim import optimise
from ..parallel.stages import Stage
from .pipeline import ACTIVATION, GRADIENT, MOST_TENSORS, Run


class StageGraph:
    """Writes the schedule of a rank's stage.

    stage : its Stage, of a micro-batch          run: the Run whose plan it follows
    same_rows : do all ranks of a stage get the same rows?
    sizes : {Symbol of the stage: (number of an argument of the pipeline, axis)}, whose size it is; of axis 0 the part of one
            micro-batch
    """

    def __init__(self, stage: Stage, run: Run, micro: int, arguments: int, sizes: dict[Symbol, tuple[int, int]],
                 same_rows: bool = False) -> None:
        self.same_rows = same_rows
        self.stage, self.run, self.micro, self.arguments, self.sizes = stage, run, micro, arguments, sizes
        self.piece = engine().rank // run.replicas
        self.is_last = self.piece == run.pieces - 1
        self.graph = optimise(derive_graph(stage.module.graph))
        self.inputs = [number for number, p in enumerate(self.graph.parameters) if p.default is None]
        self.kept = [number for number, p in enumerate(self.graph.parameters) if p.default is not None]
        self.count = len(self.graph.outputs) - len(stage.module.updates)
        seeds = (0,) if self.is_last else tuple(range(self.count))
        weights = {id(weight) for weight in run.weights}
        self.trained = [number for number in self.kept if id(self.graph.parameters[number].default) in weights]
        self.joint = vjp_graph(self.graph, (*range(stage.takes), *self.trained), seeds)

    @property
    def held(self) -> list[Tensor]:
        """The Parameters and states that it reads or assigns: those that are trained, those that are assigned, the others."""
        first = [*self.run.weights, *self.run.assigned]
        known = set(map(id, first))
        others = {id(p.default): p.default for p in self.graph.parameters if p.default is not None and id(p.default) not in known}
        return [*first, *others.values()]

    def demand(self, args: Sequence[AbstractTensor]) -> None:
        """Let batches of an open size go into equal parts. raises : ShapeError, at the call for open sizes"""
        for arg in args:
            size, micro = arg.shape[0], self.micro
            require("==", size % micro, 0, lambda: ShapeError(
                f"PipelineCell: a batch does not go into {micro} equal parts", note=f"its size is {size}"))

    def write(self, xs: Sequence[AnfNode], gradients: bool) -> tuple:
        """Append it to the graph that is being written: the loss, the gradients of the weights (zeros if they are not wanted),
        and what is assigned.

        xs : the arguments of the pipeline, then `held`
        """
        on_rank(rank=engine().rank, size=engine().size)
        return _Schedule(self, xs, gradients).run()


class _Schedule:
    """The nodes of one schedule. values: {id of a Parameter: what it holds now}; kept: {micro-batch: its copied graph and nodes};
    totals: sums of gradients"""

    def __init__(self, of: StageGraph, xs: Sequence[AnfNode], gradients: bool) -> None:
        self.of, self.xs, self.gradients = of, xs, gradients
        self.target: FuncGraph = current_interpreter().graph
        self.values = dict(zip(map(id, of.held), xs[of.arguments:]))
        self.kept: dict[int, tuple[FuncGraph, dict]] = {}
        self.losses: list = []
        self.totals: list | None = None
        sizes = {symbol: self.size(number, axis) for symbol, (number, axis) in of.sizes.items()}
        self.graph = of.joint if gradients else of.graph
        self.cloned = bool(sizes) or any(symbols_in(node.abstract) for node in (*self.graph.parameters, *self.graph.nodes))
        self.sizes = sizes

    def size(self, argument: int, axis: int) -> Size:
        """A size of a micro-batch of an argument."""
        size = self.xs[argument].abstract.shape[axis]
        return size if axis else size // self.of.micro

    def run(self) -> tuple:
        """The results."""
        for name, number in self.of.run.order:               # an R, the sum over replicas, is the reducer's
            if name[0] == "F":
                self.forward(number)
            elif name[0] == "B" and self.gradients:
                self.backward(number)
        settle()
        run = self.of.run
        loss = self.loss()
        grads = self.summed() if self.gradients else [full(p.shape, 0, dtype=p.dtype) for p in run.weights]
        return (loss, *grads, *[self.values[id(p)] for p in run.assigned])

    def forward(self, number: int) -> None:
        of, run = self.of, self.of.run
        graph = with_sizes(self.graph, self.sizes) if self.cloned else self.graph
        came = [self.receive(graph.parameters[k].abstract, k, of.piece - 1, ACTIVATION) for k in range(of.stage.takes)]
        given = iter([*came, *[self.part(argument, number) for argument in of.stage.reads]])
        env: dict = {}
        for position in range(len(of.graph.parameters)):
            default = of.graph.parameters[position].default
            env[graph.parameters[position]] = next(given) if default is None else self.values[id(default)]
        self.copy(graph.nodes[:of.joint.transforms["reverse"]] if self.gradients else graph.nodes, env)
        outs = [_read(env, output) for output in graph.outputs[:len(of.graph.outputs)]]
        for owner, output in of.stage.module.updates:
            self.values[id(of.graph.parameters[owner].default)] = outs[output]
        self.kept[number] = graph, env
        if of.is_last:
            self.losses.append(outs[0])
            return
        for k, out in enumerate(outs[:of.count]):
            self.post(out, k, of.piece, run.rank_of(of.piece + 1), ACTIVATION, f"a{of.piece}")

    def backward(self, number: int) -> None:
        of, run = self.of, self.of.run
        graph, env = self.kept.pop(number)
        outs = graph.outputs[:of.count]
        douts = [full((), 1, dtype=outs[0].abstract.dtype)] if of.is_last else [
            self.receive(out.abstract, k, of.piece, GRADIENT) for k, out in enumerate(outs)]
        env.update(zip(graph.parameters[len(of.graph.parameters):], douts))
        self.copy(graph.nodes[of.joint.transforms["reverse"]:], env)
        found = [_read(env, output) for output in graph.outputs[len(of.graph.outputs):]]
        for k, slope in enumerate(found[:of.stage.takes]):
            self.post(slope, k, of.piece - 1, run.rank_of(of.piece - 1), GRADIENT, f"g{of.piece - 1}")
        grads = found[of.stage.takes:]
        self.totals = grads if self.totals is None else [a + b for a, b in zip(self.totals, grads)]

    def copy(self, nodes: list[CNode], env: dict) -> None:
        """Append copies of nodes; env: {node: what stands for it} is filled."""
        for node in nodes:
            env[node] = self.target.add_copy(node, [_read(env, arg) for arg in node.args])

    def part(self, argument: int, number: int) -> AnfNode:
        """A micro-batch of an argument."""
        size = self.size(argument, 0)
        return take_range(self.xs[argument], 0, size * number, size * (number + 1))

    def receive(self, abstract: AbstractTensor, k: int, piece: int, tag: int) -> AnfNode:
        """The tensor k between a piece and the next one."""
        run = self.of.run
        source = run.rank_of(piece if tag == ACTIVATION else piece + 1)
        return receive(shape=abstract.shape, dtype=abstract.dtype, source=source, tag=tag + 2 * (piece * MOST_TENSORS + k))

    def post(self, value: AnfNode, k: int, piece: int, to: int, tag: int, register: str) -> None:
        post(value, to=to, tag=tag + 2 * (piece * MOST_TENSORS + k), credits=self.of.run.credits[register])

    def loss(self) -> Any:
        """The sum of the losses, the mean over replicas, on all ranks."""
        if self.losses:
            mine = self.losses[0]
            for loss in self.losses[1:]:
                mine = mine + loss
            mine = cast(mine, dtype=dt.float64) / self.of.run.replicas
        else:
            mine = full((), 0, dtype=dt.float64)
        return cast(all_reduce(mine), dtype=dt.dtype(self.of.run.loss_dtype))

    def summed(self) -> list:
        """The gradients of the weights; those of shared Parameters summed over stages."""
        run = self.of.run
        made = dict(zip([id(self.of.graph.parameters[number].default) for number in self.of.trained], self.totals or ()))
        for param, stages in run.shared:
            ranks = tuple([stage * run.replicas + run.replica for stage in stages])
            if engine().rank in ranks:
                made[id(param)] = all_reduce(made[id(param)], group=ranks)
        return [made[id(param)] for param in run.weights]


def _read(env: dict, node: AnfNode) -> AnfNode:
    return node if isinstance(node, ValueNode) else env[node]


def symbols_in(abstract: Any) -> set[Symbol]:
    """The Symbols in the sizes of a type."""
    return {symbol for size in getattr(abstract, "shape", ()) if isinstance(size, Dim) for symbol in symbols_of(size)}
