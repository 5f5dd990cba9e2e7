"""AutoParallel: a network or training step that the ranks of a mesh run together.

    step = AutoParallel(nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer), parallel_mode="recursive_programming")
    step.hsdp(optimizer_level="level1").comm_fusion({"allreduce": {"mode": "size", "config": 8}})
    step(rows, labels)                     each rank gives its own rows; all have the loss of the whole batch
"""
import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

from .. import functional
from ..common.errors import ArgumentError, ValueRangeError
from ..common.ranks import engine
from ..common.tensor import Tensor
from ..functional.parallel_context import ParallelMode, joined_bytes, under
from ..functional.plan import plan
from ..functional.zero import zero
from ..parallel import Layout
from ..parallel.machine import machine_here
from ..parallel.strategy import placement_of, read_strategy, strategy_of, write_strategy
from ..pynative.sharded import from_local, shard_in_place
from .cell import Cell
from .optim import Optimizer
from .reducers import DistributedGradReducer, PipelineGradReducer, ranks_of_stage
from .wrap import InParts, TrainOneStepCell

MODES = ("semi_auto", "sharding_propagation", "recursive_programming")
LEVELS = {"level1": 1, "level2": 2, "level3": 3}


class AutoParallel(Cell):
    """The network, compiled as one program of all ranks at its first call.

    network       : a Cell: a network, or a training step with its `optimizer`; or a function, of which no Parameters are known
                    by name (strategy files)
    parallel_mode : "semi_auto": Parameters lie as they do, operators are split as wishes (`shard`, `place`) and prices say;
                    "sharding_propagation": operators are split wherever they can be, and Parameters lie so that least is sent;
                    "recursive_programming": Parameters lie and operators are split so that a step takes least time
    layout        : a Layout of the mesh whose first axis splits the batch; None: all ranks in a line
    raises        : ArgumentError, ValueRangeError
    """

    def __init__(self, network: Any, parallel_mode: str = "semi_auto", layout: Layout | None = None) -> None:
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise ArgumentError(f"AutoParallel: takes a Cell or a function, not {type(network).__name__}")
        if parallel_mode not in MODES:
            raise ValueRangeError(f"AutoParallel: parallel_mode is one of {', '.join(MODES)}, not {parallel_mode!r}")
        self.network, self.parallel_mode = network, parallel_mode
        self.layout = layout if layout is not None else Layout((engine().size,), ("dp",))
        self._dataset: Any = "data_parallel"
        self._level, self._threshold, self._strategy_file, self._save_to = 0, 0, "", ""
        self._stages = 1
        self._settings: dict[str, Any] = {}                  # what set_auto_parallel_context is to say during a call
        self._step: Any = None
        self.found: Any = None

    def around(self, step: Cell) -> "AutoParallel":
        """An AutoParallel with these settings, of a training step with this network; Model makes it."""
        made = AutoParallel(step, self.parallel_mode, self.layout)
        made._dataset, made._level, made._threshold = self._dataset, self._level, self._threshold
        made._strategy_file, made._save_to = self._strategy_file, self._save_to
        made._stages, made._settings = self._stages, dict(self._settings)
        return made

    def dataset_strategy(self, config: Any) -> "AutoParallel":
        """What a rank gives: "data_parallel", its own rows; "full_batch", the whole batch; a tuple with a Layout for each input
        of the whole batch: a Layout, None, or, as MindSpore writes them, into how many parts each axis goes, `((2, 1), (2,))`,
        of which one number is that of the mesh's first axis and the others are 1. Returns self."""
        if isinstance(config, tuple):
            config = tuple([self._layout_of(one) for one in config])
        if config not in ("data_parallel", "full_batch") and not (isinstance(config, tuple) and all(
                layout is None or isinstance(layout, Layout) for layout in config)):
            raise ValueRangeError(f'dataset_strategy: "data_parallel", "full_batch" or a tuple of Layouts, not {config!r}')
        self._dataset = config
        return self

    def hsdp(self, shard_size: int = -1, threshold: int = 64, optimizer_level: str = "level1") -> "AutoParallel":
        """Split the optimiser's states (level1), gradients too (level2), Parameters too (level3); see `parallel.zero`.

        shard_size : -1, all ranks of the first axis of the mesh      threshold: Tensors of fewer KiB stay whole. Returns self
        """
        if optimizer_level not in LEVELS or shard_size not in (-1, self.layout.mesh.shape[0]):
            raise ValueRangeError(f"hsdp: optimizer_level is one of {', '.join(LEVELS)} and shard_size -1 or the size of the "
                                  f"mesh's first axis, not {optimizer_level!r} and {shard_size!r}")
        self._level, self._threshold = LEVELS[optimizer_level], threshold << 10
        return self

    def pipeline(self, stages: int = 1, output_broadcast: bool = False, interleave: bool = False,
                 scheduler: str = "1f1b") -> "AutoParallel":
        """Divide the ranks into groups, each of which has a stage of the PipelineCell in the network. Ranks of one stage give
        rows of their own ("data_parallel") or the same ("full_batch"), and a training step sums their gradients.

        stages     : int, which divides the number of ranks; 1: none
        output_broadcast: bool: all ranks have the result in either case
        interleave : False: a stage is one piece
        scheduler  : "1f1b" or "gpipe": the order of a stage's forwards and backwards
        out        : self
        raises     : ArgumentError, ValueRangeError, also for a parallel_mode that searches
        """
        for name, value, kind in (("stages", stages, int), ("output_broadcast", output_broadcast, bool),
                                  ("interleave", interleave, bool), ("scheduler", scheduler, str)):
            if type(value) is not kind:
                raise ArgumentError(f"pipeline: {name} is of {kind.__name__}, not {type(value).__name__}")
        if stages < 1 or engine().size % stages:
            raise ValueRangeError(f"pipeline: {stages} stages of {engine().size} ranks", hint="a number that divides them")
        if interleave or scheduler not in ("1f1b", "gpipe"):
            raise ValueRangeError(f"pipeline: a PipelineCell has no {'interleaved ' * interleave}schedule {scheduler!r}",
                                  hint="1f1b, gpipe; parallel.Pipeline interleaves Cells that it is given one by one")
        if stages > 1 and self.parallel_mode != "semi_auto":
            raise ValueRangeError(f"pipeline: stages are said by the Cells, and {self.parallel_mode} finds none",
                                  hint='parallel_mode="semi_auto"')
        self._stages = stages
        self._settings.update(pipeline_stages=stages, pipeline_scheduler=scheduler, pipeline_result_broadcast=output_broadcast)
        return self

    def get_pipeline_stages(self) -> int:
        """Into how many stages the ranks are divided."""
        return self._stages

    def comm_fusion(self, config: dict | None) -> "AutoParallel":
        """What travels as one message. Small all_reduces that do not wait for each other are joined to 4 MiB if nothing is said.

        config : {"openstate": bool, "allreduce": {"mode": "auto" or "size", "config": MiB of "size"}}; openstate False: each
                 travels by itself. "allgather" and "reducescatter" are not joined: their mode is "auto"
        out    : self
        raises : ArgumentError, ValueRangeError
        """
        joined_bytes("AutoParallel", config)
        self._settings["comm_fusion"] = config
        return self

    def enable_gradients_mean(self) -> "AutoParallel":
        """Let the DistributedGradReducers and PipelineGradReducers of the network give means over the ranks. What this program
        makes of gradients by itself are those of the loss of the whole batch in any case. Returns self."""
        self._settings["gradients_mean"] = True
        return self

    def save_param_strategy_file(self, file_path: str) -> None:
        """Write at the first call where each Parameter lies, on rank 0: a strategy file as MindSpore has them, protobuf (.ckpt)
        or JSON (.json), which `transform_checkpoints` reads too."""
        self._save_to = file_path

    def load_param_strategy_file(self, file_path: str) -> None:
        """Let Parameters lie as such a file says; nothing is chosen then."""
        self._strategy_file = file_path

    def __call__(self, *inputs: Any) -> Any:
        with under(**{**self._settings, **self._rows()}):
            if self._stages > 1:
                given = list(inputs)                         # a PipelineCell takes what each rank has
            else:
                given = [self._given(x, number) if isinstance(x, Tensor) else x for number, x in enumerate(inputs)]
            if self._step is None:
                self._prepare(given)
            return self._step(*given)

    def _rows(self) -> dict[str, Any]:
        """The settings of a pipeline: what its ranks give, and that a training step has the gradients of the mean of losses."""
        if self._stages == 1:
            return {}
        if isinstance(self._dataset, tuple):
            raise ValueRangeError("AutoParallel: the inputs of a pipeline have no Layouts",
                                  hint='dataset_strategy("data_parallel") or ("full_batch")')
        mean = {"gradients_mean": True} if isinstance(self.network, TrainOneStepCell) else {}
        return {"full_batch": self._dataset == "full_batch", **mean}

    def _layout_of(self, strategy: Any) -> Any:
        """The Layout of an input that is split into so many parts along each axis."""
        if not isinstance(strategy, tuple) or not all(type(count) is int for count in strategy):
            return strategy
        mesh = self.layout.mesh
        if any(count not in (1, mesh.shape[0]) for count in strategy) or sum(count > 1 for count in strategy) > 1:
            raise ValueRangeError(f"dataset_strategy: {strategy} on the mesh {mesh}",
                                  hint=f"one number is {mesh.shape[0]}, the others are 1; a Layout says what else there is")
        return self.layout(*[mesh.names[0] if count > 1 else "None" for count in strategy])

    def construct(self, *inputs: Any) -> Any:
        raise ArgumentError("AutoParallel: it compiles what it holds, and is called only by Python", hint="leave out jit")

    def explain(self) -> str:
        """What the compiled program sends and why; "" before the first call."""
        return "" if self._step is None else self._step.explain()

    @property
    def plan(self) -> Any:
        """The Plan of the compiled program; None before the first call, and where one rank does all."""
        return None if self._step is None else self._step.compiled.latest().compiled.plan

    def _given(self, x: Tensor, number: int) -> Tensor:
        """An input in parts."""
        if x.placement is not None:
            return x
        if isinstance(self._dataset, tuple):
            layout = self._dataset[number] if number < len(self._dataset) else None
            return x if layout is None else x.to_global(layout)
        if x.ndim == 0:
            return x
        rows = self.layout(self.layout.mesh.names[0])
        return from_local(x, rows) if self._dataset == "data_parallel" else x.to_global(rows)

    def _prepare(self, given: list) -> None:
        cells = list(_cells(self.network))
        for cell in cells:
            if isinstance(cell, (DistributedGradReducer, PipelineGradReducer, TrainOneStepCell)):
                cell.read_settings()
        staged = any(isinstance(cell, InParts) and cell.has_stages for cell in cells)
        if self._stages > 1 and isinstance(self.network, Cell) and not staged:
            raise ArgumentError("AutoParallel: a pipeline has the stages of a PipelineCell, and the network has none")
        optimizer = getattr(self.network, "optimizer", None) or next((c for c in cells if isinstance(c, Optimizer)), None)
        if (self._strategy_file or self._save_to) and not isinstance(self.network, Cell):
            raise ArgumentError("AutoParallel: strategy files name Parameters, and a function has none", hint="give a Cell")
        if self._strategy_file:
            described = read_strategy(self._strategy_file)
            for param in self.network.get_parameters():
                if param.name in described:
                    placement = placement_of(described[param.name][min(described[param.name])], self.layout.mesh)
                    if not placement.is_whole:
                        shard_in_place(param, placement)
        elif self.parallel_mode != "semi_auto":
            machine = machine_here(**{} if self.parallel_mode == "recursive_programming" else {"point": 1e-5, "flop": 1e-5})
            self.found = plan(self.network, self.layout, *given, parameters="free", machine=machine)
            for param, placement in self.found.parameters.items():
                if not placement.is_whole:
                    shard_in_place(param, placement)
        if self._level:
            if optimizer is None:
                raise ArgumentError("AutoParallel: hsdp splits what an optimiser has, and the network has none",
                                    hint="give a TrainOneStepCell")
            ranks = ranks_of_stage(self._stages)
            layout = self.layout if self._stages == 1 else Layout((len(ranks),), ("dp",), rank_list=list(ranks))
            if len(ranks) > 1:
                zero(optimizer, layout, level=self._level, threshold=self._threshold)
        if self._save_to and engine().rank == 0:
            write_strategy(self._save_to, {param.name: {0: strategy_of(param.placement, tuple(param.shape), engine().size)}
                                           for param in self.network.get_parameters()})
        network = self.network
        self._step = functional.jit(lambda *inputs: network(*inputs))


def _cells(value: Any) -> Iterator[Cell]:
    """The Cells that a Cell or a function works with: its own, and those that functions have in closures and globals."""
    waiting, seen = [value], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Cell):
            yield from (cell for _, cell in value.cells_and_names())
        elif isinstance(value, (functools.partial, types.MethodType)):
            waiting += [value.func, *value.args] if isinstance(value, functools.partial) else [value.__self__]
        elif hasattr(value, "__wrapped__"):
            waiting.append(inspect.unwrap(value))
        elif isinstance(value, types.FunctionType) and not value.__module__.startswith("mindlite."):
            found = inspect.getclosurevars(value)
            waiting += [*found.nonlocals.values(), *found.globals.values()]


def under_settings(step: Cell) -> Cell:
    """A training step as `set_auto_parallel_context` wants it: in an AutoParallel where parallel_mode is semi_auto_parallel or
    auto_parallel, else itself."""
    setting = functional.get_auto_parallel_context
    modes = {ParallelMode.SEMI_AUTO_PARALLEL: "semi_auto", ParallelMode.AUTO_PARALLEL: setting("search_mode")}
    if setting("parallel_mode") not in modes:
        return step
    made = AutoParallel(step, modes[setting("parallel_mode")])
    made.dataset_strategy("full_batch" if setting("full_batch") else setting("dataset_strategy"))
    if setting("enable_parallel_optimizer"):
        made.hsdp(threshold=setting("parallel_optimizer_threshold"))
    if setting("pipeline_stages") > 1:
        made.pipeline(setting("pipeline_stages"), scheduler=setting("pipeline_scheduler"))
    if setting("strategy_ckpt_save_file"):
        made.save_param_strategy_file(setting("strategy_ckpt_save_file"))
    if setting("strategy_ckpt_load_file"):
        made.load_param_strategy_file(setting("strategy_ckpt_load_file"))
    return made
