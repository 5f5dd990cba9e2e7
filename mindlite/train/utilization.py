"""How much of a machine's arithmetic a training step uses: FlopsUtilizationCollector."""
from __future__ import annotations

import os
import time
from typing import Any

from ..common.checks import check_bool, check_positive_int, check_value_type
from ..common.dim import Dim
from ..common.errors import ValueRangeError
from ..common.files import replacing
from ..common.ranks import engine
from ..functional.cell import compiled_cell
from ..mindir.primitive import cost_rule
from .callback import Callback, RunContext


def flops_of(graph: Any) -> int:
    """The floating-point operations of the products and convolutions of a typed graph; those of a loop's body count once.

    raises : ValueRangeError where a size is known at run time only
    """
    total = 0
    for below in graph.reachable():
        for node in below.nodes:
            rule = cost_rule.get(node.fn)
            if rule is not None:
                total += rule(*[arg.abstract for arg in node.args], out=node.abstract, **node.attrs)
    if isinstance(total, Dim):
        raise ValueRangeError(f"FlopsUtilizationCollector: the step has sizes that are known at run time only: {total} FLOPs",
                              hint="batches of one shape: dataset.batch(.., drop_remainder=True)")
    return int(total)


class FlopsUtilizationCollector(Callback):
    """Prints the floating-point operations of a step, once, and after each epoch what part of the machine's rate they reach.

    data_size   : steps of an epoch, where the run does not say it
    computility : the most floating-point operations per second that the machine does
    full_flops  : MindSpore's: of the whole model, or of this rank's part; a rank computes its graph, whose operations these are
    enable_ma_collector : also write $MA_LOG_DIR/flops_rank_<rank>.txt and time_step_rank_<rank>.txt
    Products of matrices and convolutions are counted, forward and backward, in the graph that was compiled: what is computed
    again in the backward pass counts in it, so the hardware's number (HFU) and the model's (MFU) are one.
    raises      : ArgumentError, ValueRangeError; ValueRangeError at a step that ran no compiled graph, or one of open sizes
    """

    def __init__(self, data_size: int, computility: float = 1, full_flops: bool = True,
                 enable_ma_collector: bool = False) -> None:
        owner = "FlopsUtilizationCollector"
        self.data_size = check_positive_int(data_size, "data_size", owner)
        self.computility = check_value_type("computility", computility, (int, float), owner)
        if not computility > 0:
            raise ValueRangeError(f"{owner}: computility is above 0, not {computility}")
        self.full_flops = check_bool(full_flops, "full_flops", owner)
        self._writes = check_bool(enable_ma_collector, "enable_ma_collector", owner)
        self.full_model_flops = 0
        self._begun = time.perf_counter()

    def epoch_begin(self, run_context: RunContext) -> None:
        self._begun = time.perf_counter()

    def step_end(self, run_context: RunContext) -> None:
        if self.full_model_flops:
            return
        args = run_context.original_args()
        network = args.train_network if args.mode == "train" else args.eval_network
        if not compiled_cell(network).variants:
            raise ValueRangeError("FlopsUtilizationCollector: the step ran no compiled graph",
                                  hint="set_context(mode=GRAPH_MODE), without dataset_sink_mode")
        self.full_model_flops = flops_of(compiled_cell(network).graph("optimise"))
        print(f"Full model flops is {self.full_model_flops}, Full hardware flops is {self.full_model_flops}, "
              f"Shard model flops is {self.full_model_flops}, Shard hardware flops is {self.full_model_flops}"
              if self.full_flops else
              f"Shard model flops is {self.full_model_flops}, Shard hardware flops is {self.full_model_flops}", flush=True)
        self._write("flops", [f'flops{{type="{kind}_flops", rank_id="{engine().rank}"}} {self.full_model_flops} {_now()}\n'
                              for kind in ("model", "hardware")])

    def epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        seconds = (time.perf_counter() - self._begun) / (args.get("batch_num") or self.data_size)
        used = self.full_model_flops / seconds / self.computility
        print(f"{args.mode.title()} per step time: {seconds * 1000:5.3f} ms, mfu:{used:.2%} hfu:{used:.2%}", flush=True)
        self._write("time_step", [f'time_step{{rank_id="{engine().rank}"}} {seconds} {_now()}\n'])

    def _write(self, name: str, lines: list[str]) -> None:
        if self._writes:
            path = os.path.join(os.environ.get("MA_LOG_DIR", "./"), f"{name}_rank_{engine().rank}.txt")
            with replacing(path) as stream:
                stream.write("".join(lines).encode())


def _now() -> int:
    return round(time.time() * 1000)
