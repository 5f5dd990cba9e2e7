"""AutoParallel: a network or training step that the ranks of a mesh run together.

    step = AutoParallel(nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer), parallel_mode="recursive_programming")
    step.hsdp(optimizer_level="level1")
    step(rows, labels)                     each rank gives its own rows; all have the loss of the whole batch
"""
from typing import Any

from .. import functional
from ..common.errors import ArgumentError, ValueRangeError
from ..common.ranks import engine
from ..common.tensor import Tensor
from ..functional.parallel_context import ParallelMode
from ..functional.plan import plan
from ..functional.zero import zero
from ..parallel import Layout
from ..parallel.machine import machine_here
from ..parallel.strategy import placement_of, read_strategy, strategy_of, write_strategy
from ..pynative.sharded import from_local, shard_in_place
from .cell import Cell

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
        self._step: Any = None
        self.found: Any = None

    def around(self, step: Cell) -> "AutoParallel":
        """An AutoParallel with these settings, of a training step with this network; Model makes it."""
        made = AutoParallel(step, self.parallel_mode, self.layout)
        made._dataset, made._level, made._threshold = self._dataset, self._level, self._threshold
        made._strategy_file, made._save_to = self._strategy_file, self._save_to
        return made

    def dataset_strategy(self, config: Any) -> "AutoParallel":
        """What a rank gives: "data_parallel", its own rows; "full_batch", the whole batch; a tuple with a Layout for each input
        of the whole batch. Returns self."""
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

    def save_param_strategy_file(self, file_path: str) -> None:
        """Write at the first call where each Parameter lies, on rank 0: a strategy file as MindSpore has them, protobuf (.ckpt)
        or JSON (.json), which `transform_checkpoints` reads too."""
        self._save_to = file_path

    def load_param_strategy_file(self, file_path: str) -> None:
        """Let Parameters lie as such a file says; nothing is chosen then."""
        self._strategy_file = file_path

    def __call__(self, *inputs: Any) -> Any:
        given = [self._given(x, number) if isinstance(x, Tensor) else x for number, x in enumerate(inputs)]
        if self._step is None:
            self._prepare(given)
        return self._step(*given)

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
        optimizer = getattr(self.network, "optimizer", None)
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
            zero(optimizer, self.layout, level=self._level, threshold=self._threshold)
        if self._save_to and engine().rank == 0:
            write_strategy(self._save_to, {param.name: {0: strategy_of(param.placement, tuple(param.shape), engine().size)}
                                           for param in self.network.get_parameters()})
        network = self.network
        self._step = functional.jit(lambda *inputs: network(*inputs))


def under_settings(step: Cell) -> Cell:
    """A training step as `set_auto_parallel_context` wants it: in an AutoParallel where parallel_mode is semi_auto_parallel or
    auto_parallel, else itself."""
    setting = functional.get_auto_parallel_context
    modes = {ParallelMode.SEMI_AUTO_PARALLEL: "semi_auto", ParallelMode.AUTO_PARALLEL: setting("search_mode")}
    if setting("parallel_mode") not in modes:
        return step
    made = AutoParallel(step, modes[setting("parallel_mode")])
    if setting("full_batch"):
        made.dataset_strategy("full_batch")
    if setting("enable_parallel_optimizer"):
        made.hsdp(threshold=setting("parallel_optimizer_threshold"))
    return made
