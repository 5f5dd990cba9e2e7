"""A program in stages: the graph of a loss is cut into one graph for each stage of a pipeline.

    h = relu(x @ w0)                 stage 0: (x)    -> h           w0 is of stage 0, w1 of stage 1
    loss = mean(h @ w1 - y)          stage 1: (h, y) -> loss

An operator stands in the first stage that has all it needs: the latest of its operands, that of its Parameters. What hangs on
arguments, constants and random states alone is computed by each stage that reads it, so random numbers are those of a
process that has all stages: each stage advances the state by all draws. What a later stage reads goes from stage to stage.
A Parameter of several stages (a table of words that is read first and compared with last) is read where the others are.

Source: MindSpore cuts by `pipeline_stage` of Cells (mindspore/ccsrc, pipeline_transformer); GPipe (Huang et al. 2019).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.records import dataclass
from ..mindir.abstract import AbstractTensor
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.file import Input, Module, Output
from ..mindir.graph import AnfNode, CNode, FuncGraph, Parameter
from ..ops.rank_program import in_stages


@dataclass(frozen=True)
class Stage:
    """A part of a Module. module: takes what the stage before gives and then arguments; gives a tuple, the last stage the loss

    takes: how many tensors come from the stage before      reads: numbers of the arguments that it gets
    """
    module: Module
    takes: int
    reads: tuple[int, ...]


def cut(module: Module, declared: Callable[[Any], tuple[int, ...]], count: int) -> list[Stage]:
    """The Stages of a Module whose result is a loss.

    declared : a Parameter -> the stages to which it belongs, () for any       count: how many stages there are
    raises   : ArgumentError for a result that is no loss, for what cannot travel; ValueRangeError for stages that do not follow
               from each other, or have nothing to do
    """
    if not isinstance(module.output, Output) or module.output.input is not None:
        raise ArgumentError(f"{module.name}: a pipeline's network gives its loss, one Tensor")
    return _Cut(module, declared, count).run()


def skip_unread_gradients(graph: FuncGraph) -> None:
    """Let the pipelines of a derived graph whose gradients nobody reads run forwards alone. It is changed in place."""
    for below in graph.reachable():
        for node in [node for node in below.nodes if node.fn is in_stages]:
            read = [reader.attrs["index"] if reader.fn is tuple_getitem else 1 for reader in (*below.nodes, below.output)
                    if node in reader.args]
            node.attrs = {**node.attrs, "gradients": any(1 <= index <= node.attrs["weights"][1] for index in read)}


class _Cut:
    """at: {node: its stage}; what is in no stage hangs on arguments, constants and states alone."""

    def __init__(self, module: Module, declared: Callable[[Any], tuple[int, ...]], count: int) -> None:
        self.module, self.graph, self.count = module, module.graph, count
        self.loss = self.graph.outputs[module.output.number]
        self.arguments = [p for p in self.graph.parameters if p.default is None]
        self.allowed: dict[AnfNode, tuple[int, ...]] = {     # {Parameter, or what hangs on a shared one alone: its stages}
            p: declared(p.default) for p in self.graph.parameters if p.default is not None}
        self.of_batch: set[AnfNode] = set(self.arguments)    # what hangs on an argument
        self.at: dict[AnfNode, int] = {}
        self.last: dict[AnfNode, int] = {}                   # the last stage that reads it

    def run(self) -> list[Stage]:
        """The Stages."""
        for node in self.graph.nodes:
            self.place(node)
        if self.at.get(self.loss) != self.count - 1:
            raise ValueRangeError(f"{self.module.name}: the loss is computed in stage {self.at.get(self.loss, 0)} of "
                                  f"{self.count}", hint="a pipeline_stage for a Cell with Parameters, in each stage")
        for node in self.graph.nodes:
            for arg in node.args:
                if arg in self.at and node in self.at:
                    self.last[arg] = max(self.last.get(arg, 0), self.at[node])
        return [self.stage(number) for number in range(self.count)]

    def place(self, node: CNode) -> None:
        """Find the stage of a node. raises : ValueRangeError where a Parameter is read behind its stage"""
        least = max([self.at[arg] for arg in node.args if arg in self.at], default=None)
        allowed = [self.allowed[arg] for arg in node.args if self.allowed.get(arg)]
        if not self.of_batch.isdisjoint(node.args):
            self.of_batch.add(node)
        if not allowed:
            if least is not None:
                self.at[node] = least
            return
        both = set(allowed[0]).intersection(*allowed[1:])
        if least is None and len(both) > 1 and node not in self.of_batch:    # of a shared Parameter alone: where it is read
            self.allowed[node] = tuple(sorted(both))
            return
        fit = [stage for stage in both if least is None or stage >= least]
        if not fit:
            weight = next(arg for arg in node.args if self.allowed.get(arg))
            name = weight.default.name if isinstance(weight, Parameter) else weight.fn.name
            raise ValueRangeError(
                f"the Parameter {name!r} of stage {' and '.join(map(str, self.allowed[weight]))} is read in stage "
                f"{max(least or 0, *[min(stages) for stages in allowed])}, which has the other operands",
                location=node.origin.location,
                hint="stages follow each other: a Cell of an earlier stage gets nothing of a later one")
        self.at[node] = min(fit)

    def stage(self, number: int) -> Stage:
        """One Stage."""
        coming = [node for node in self.graph.nodes if self.at.get(node, number) < number <= self.last.get(node, -1)]
        going = [node for node in self.graph.nodes if self.at.get(node, number + 1) <= number < self.last.get(node, -1)]
        for node in going:
            if not isinstance(node.abstract, AbstractTensor) or not node.abstract.dtype.is_differentiable:
                raise ArgumentError(f"{node.abstract} would go from stage {number} to the next one: only Tensors of floats do",
                                    location=node.origin.location, hint="compute it in the stage that reads it")
        is_last = number == self.count - 1
        outputs = [self.loss] if is_last else going
        updates = [(owner, self.graph.outputs[k]) for owner, k in self.module.updates
                   if self.at.get(self.graph.outputs[k], number) == number]
        nodes = self.needed(number, [*outputs, *[output for _, output in updates]])
        read = {arg for node in nodes for arg in node.args} | {output for _, output in updates}
        taken = [p for p in self.arguments if p in read]
        held = [p for p in self.graph.parameters if p.default is not None and (
            p in read or any(self.graph.parameters[owner] is p for owner, _ in updates))]
        made = FuncGraph(f"{self.module.name}, stage {number}", self.graph.origin)
        stands: dict[AnfNode, Any] = {}
        for k, node in enumerate(coming):
            stands[node] = made.add_parameter(f"h{k}", node.abstract, node.origin)
        for p in (*taken, *held):
            stands[p] = made.add_parameter(p.name, p.abstract, p.origin, p.default)
        for node in nodes:
            args = [stands.get(arg, arg) for arg in node.args]
            stands[node] = made.add_copy(node, args)
        made.set_outputs([stands.get(output, output) for output in (*outputs, *[output for _, output in updates])], make_tuple)
        assigned = tuple([(made.parameters.index(stands[self.graph.parameters[owner]]), len(outputs) + k)
                          for k, (owner, _) in enumerate(updates)])
        result = Output(0) if is_last else tuple([Output(k) for k in range(len(outputs))])
        return Stage(Module(made, (Input(),) * (len(coming) + len(taken)), result, assigned), len(coming),
                     tuple([self.arguments.index(p) for p in taken]))

    def needed(self, number: int, outputs: list[AnfNode]) -> list[CNode]:
        """The nodes of a stage, and of those that are in none what it reads; in their order."""
        wanted: set[AnfNode] = {node for node in self.graph.nodes if self.at.get(node) == number}
        waiting = [*outputs, *wanted]
        while waiting:
            node = waiting.pop()
            if node not in self.at or self.at[node] == number:
                wanted.add(node)
                waiting += [arg for arg in getattr(node, "args", ()) if arg not in wanted and arg not in self.at]
        return [node for node in self.graph.nodes if node in wanted]
