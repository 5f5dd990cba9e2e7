"""PipelineCell: a network whose Cells say in which stage they are, split over ranks.

    net.layer1.pipeline_stage, net.layer2.pipeline_stage = 0, 1
    step = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), micro_size=4)
    loss, grads = value_and_grad(step, None, net.trainable_params())(x, label)      sums over the micro-batches, as in one process

The graph of the loss is cut where the stages meet (parallel/stages.py). Each rank has the program of its stage, compiled, and
runs forwards and backwards in the order of the plan; what the gradient needs is there when the loss is.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import functional
from ..common import dtype as dt
from ..common.dim import Dim, Symbol
from ..common.errors import ArgumentError, GradientError, ValueRangeError
from ..common.ranks import engine
from ..common.tensor import Parameter, Tensor
from ..compile.module_of import module_of
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.builder import building, tensor_type
from ..mindir.control import make_tuple
from ..mindir.file import Input, Module, Output
from ..mindir.graph import FuncGraph
from ..mindir.protocol import CallOfModuleFor
from ..ops.collectives import broadcast_from
from ..ops.rank_program import in_stages
from ..parallel.actors import pipeline
from ..parallel.stages import Stage, cut
from ..pynative import custom, is_recording
from ..pynative.custom import is_watched
from .cell import Cell
from .graph_cell import ModuleFunction
from .pipeline import Program, Run, micro_batches, micro_size, shared_between
from .pipeline_graph import StageGraph
from .wrap import InParts


class PipelineCell(InParts):
    """The sum of network(*part) over micro_size equal parts of the inputs along their first axis.

    network      : Cell, from a part of the inputs to a loss;   micro_size : int above 0
    stage_config : {name of a Cell below the network: its stage}, as `cell.pipeline_stage = ..` says it, or None
    segment_config : {name: int}, kept on the Cells; their pieces are not interleaved
    raises       : MissingAttributeError for a name that is none of them, and as GradAccumulationCell

    Where `set_auto_parallel_context(pipeline_stages=S)` says so each rank computes one stage: ranks are S groups of as many, and
    ranks that have the same stage divide the rows: each gives its own. With full_batch=True they all give the same rows, and in
    a jitted step they may split the operators of their stage. All ranks get the loss, the mean of theirs. A rank has gradients of
    the Parameters of its stage, those of others are zero; `PipelineGradReducer` sums them over ranks of one stage. Parameters of
    other stages are not trained here: `gather_parameters()` brings them. In a jitted function the call is one operator, which
    becomes the schedule of its stage: one program with what stands around it, for all sizes of a batch that are open
    (pipeline_graph.py). In eager mode the stages are compiled, and Python runs them in the order of the plan.
    """

    has_stages = True

    def __init__(self, network: Cell, micro_size: int, stage_config: dict[str, int] | None = None,
                 segment_config: dict[str, int] | None = None) -> None:
        super().__init__("PipelineCell", network, micro_size)
        self.micro_size = micro_size
        for attribute, settings in (("pipeline_stage", stage_config), ("pipeline_segment", segment_config)):
            for path, value in (settings or {}).items():
                setattr(network.get_sub_cell(path), attribute, value)
        self.__dict__["_runs"], self.__dict__["_modules"], self.__dict__["_owners"] = {}, {}, []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        stages = functional.get_auto_parallel_context("pipeline_stages")
        if stages == 1:
            return super().__call__(*args, **kwargs)
        if kwargs or not all(isinstance(arg, Tensor) for arg in args):
            raise ArgumentError("PipelineCell: over ranks it takes Tensors by position")
        if is_watched(args):
            raise GradientError("PipelineCell: over ranks there are gradients of Parameters, none of inputs")
        run = self.run_for(stages, args)
        if not is_recording():
            return run.loss_everywhere(run(self.micro(args), 1.0, backward=False)[0], np.sum)
        grads: list = []

        def forward(*inputs: Any) -> Tensor:
            losses, found = run(self.micro(args), 1.0)
            grads.extend(found)
            return run.loss_everywhere(losses, np.sum)

        def bprop(*inputs: Any) -> tuple:
            return tuple([grad * inputs[-1] for grad in grads])
        return custom(forward, bprop, tuple(run.weights)) if len(run.weights) else forward()

    def __mindir__(self) -> Any:
        stages = functional.get_auto_parallel_context("pipeline_stages")
        if stages == 1:
            return super().__mindir__()
        key = (stages, self.network.training, *map(functional.get_auto_parallel_context, ("full_batch", "pipeline_scheduler")))
        if key not in self._modules:
            self._modules[key] = CallOfModuleFor(functools.partial(self._module_for, stages))
        return self._modules[key]

    def _module_for(self, stages: int, *args: AbstractTensor) -> Module:
        """The Module of a graph of this rank's part, one operator, for arguments like these."""
        parts, sizes = self.parts_of(args)
        run, stage = self._made(stages, parts)
        schedule = StageGraph(stage, run, self.micro_size, len(args), sizes,
                              functional.get_auto_parallel_context("full_batch"))
        schedule.demand(args)
        made = FuncGraph(f"{type(self.network).__name__}, rank {engine().rank}")
        held = schedule.held
        for number, arg in enumerate(args):
            made.add_parameter(f"x{number}", arg)
        for param in held:
            made.add_parameter(getattr(param, "name", "state"), tensor_type(param), default=param)
        gives = AbstractTuple((AbstractTensor(dt.dtype(run.loss_dtype), ()), *map(tensor_type, (*run.weights, *run.assigned))))
        with building(made):
            results = in_stages(*made.parameters, schedule=schedule, gives=gives, weights=(len(args), len(run.weights)))
            made.set_outputs(results, make_tuple)
        first = len(args) + len(run.weights)
        return Module(made, (Input(),) * len(args), Output(0),
                      tuple([(first + k, 1 + len(run.weights) + k) for k in range(len(run.assigned))]))

    def parts_of(self, args: Any) -> tuple[list[Tensor], dict[Symbol, tuple[int, int]]]:
        """Micro-batches of arguments as the Tensors that a graph is made for; {Symbol: (argument, axis)} of open sizes."""
        parts, symbols = [], dict[Any, Symbol]()
        sizes: dict[Symbol, tuple[int, int]] = {}
        for number, arg in enumerate(args):
            shape: list[Any] = []
            for axis, size in enumerate(arg.shape):
                if not isinstance(size, Dim):
                    shape.append(size if axis else micro_size("PipelineCell", arg.shape, self.micro_size))
                    continue
                shape.append(symbols.setdefault((size, axis == 0), Symbol()))
                sizes.setdefault(shape[-1], (number, axis))
            parts.append(Tensor(shape=tuple(shape), dtype=arg.dtype))
        return parts, sizes

    def gather_parameters(self) -> None:
        """Give all ranks the trained Parameters and states of all stages, to save them for one; all ranks call it."""
        for param, rank in self._owners:
            whole = param if param.placement is None else param.full_tensor()    # of a stage whose ranks split it
            whole = broadcast_from(whole, root=rank)
            if param.placement is None:
                param.set_data(whole)

    def micro(self, args: Any) -> list:
        """The micro-batches of each argument."""
        return [micro_batches("PipelineCell", arg, self.micro_size) for arg in args]

    def run_for(self, stages: int, args: tuple) -> Run:
        """The Run for arguments of these kinds; it is made once for each, and for training and evaluation."""
        key = (stages, functional.get_auto_parallel_context("pipeline_scheduler"), self.network.training,
               tuple([(arg.shape, arg.dtype) for arg in args]))
        if key not in self._runs:
            self._runs[key] = self._made(stages, self.parts_of(args)[0])[0]
        return self._runs[key]

    def _made(self, stages: int, parts: list[Tensor]) -> tuple[Run, Stage]:
        """The Run of this rank for micro-batches like these, and its Stage."""
        replicas, rest = divmod(engine().size, stages)
        if rest:
            raise ValueRangeError(f"PipelineCell: {engine().size} ranks are no {stages} groups of as many")
        declared = declared_stages(self.network, stages)
        module = module_of(self.network, parts, type(self.network).__name__)
        found = cut(module, lambda param: declared.get(id(param), ()), stages)
        weights = [tuple([p for p in stage.module.parameters() if isinstance(p, Parameter) and p.requires_grad])
                   for stage in found]
        mine = engine().rank // replicas
        program = Program(ModuleFunction(found[mine].module), weights[mine], found[mine].takes, found[mine].reads)
        plan = pipeline(stages, self.micro_size, functional.get_auto_parallel_context("pipeline_scheduler"), replicas=replicas)
        run = Run(plan, {mine: program}, stages, replicas, shared_between(weights, stages))
        self.__dict__["_owners"] = [(param, stage * replicas) for param, stage in owners([stage.module for stage in found])]
        run.assigned = assigned_by(found[mine].module)
        run.loss_dtype = found[-1].module.graph.outputs[0].abstract.dtype.numpy
        return run, found[mine]


def assigned_by(module: Module) -> tuple[Tensor, ...]:
    """The Parameters and states that a Module assigns."""
    return tuple({id(held): held for held in [module.graph.parameters[number].default for number, _ in module.updates]}.values())


def owners(modules: list) -> list[tuple[Parameter, int]]:
    """[(a Parameter that a stage trains or assigns, the stage)], each once, in one order on all ranks."""
    found: dict = {}
    for stage, module in enumerate(modules):
        assigned = {number for number, _ in module.updates}
        for number, p in enumerate(module.graph.parameters):
            if isinstance(p.default, Parameter) and (p.default.requires_grad or number in assigned):
                found.setdefault(id(p.default), (p.default, stage))
    return list(found.values())


def declared_stages(network: Cell, count: int) -> dict[int, tuple[int, ...]]:
    """{id of a Parameter: the stages of the Cells that have it}. The nearest Cell around it that has a pipeline_stage counts.

    raises : ValueRangeError for a stage that does not exist, and for one without a Parameter
    """
    found: dict[int, set[int]] = {}

    def walk(cell: Cell, stage: int | None) -> None:
        stage = stage if cell.pipeline_stage is None else cell.pipeline_stage
        if stage is not None and stage >= count:
            raise ValueRangeError(f"PipelineCell: {type(cell).__name__} is in stage {stage}, and pipeline_stages is {count}")
        for param in cell.get_parameters(expand=False):
            if stage is not None:
                found.setdefault(id(param), set()).add(stage)
        for child in cell.cells():
            walk(child, stage)
    walk(network, None)
    missing = set(range(count)).difference(*found.values())
    if missing:
        raise ValueRangeError(f"PipelineCell: no Parameter is in stage {min(missing)} of {count}",
                              hint="cell.pipeline_stage = ..; count from 0")
    return {key: tuple(sorted(stages)) for key, stages in found.items()}
