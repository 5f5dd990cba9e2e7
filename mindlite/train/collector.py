"""SummaryCollector: what of a training is written into event files, and the weights that its loss landscape is made of."""
from __future__ import annotations

import json
import logging
import os
import re
from typing import Any

import numpy as np

from .. import nn
from ..common.checks import INC_BOTH, check_int_range, check_positive_int, check_string, check_value_type
from ..common.errors import ArgumentError, MindliteError, ShapeError, ValueRangeError
from ..common.files import replacing
from ..common.tensor import Parameter, Tensor
from .callback import Callback, RunContext
from .serialization import save_checkpoint
from .summary import SummaryRecord, check_export_options

logger = logging.getLogger("mindlite")
FIRST = 5                                    # of how many Parameters the distribution is written unless a pattern names others
TENSOR_STEPS = 20                            # at how many steps whole tensors are written unless collect_tensor_freq says it
FLAGS = ("collect_metric", "collect_graph", "collect_train_lineage", "collect_eval_lineage", "collect_input_data",
         "collect_dataset_graph")
METADATA = "train_metadata.json"


class NotAFolderError(MindliteError, NotADirectoryError):
    """A file where a folder is wanted."""


def check_landscape(owner: str, settings: dict, known: Any) -> None:
    """Nothing. raises : ArgumentError, ValueRangeError for settings of a loss landscape that SummaryCollector does not know"""
    if set(settings) - set(known):
        raise ValueRangeError(f"{owner}: the keys {set(settings) - set(known)} of `collect_landscape` are unsupported",
                              hint=", ".join(known))
    if "landscape_size" in settings:
        check_int_range(settings["landscape_size"], 3, 256, INC_BOTH, "landscape_size", owner)
    if "num_samples" in settings:
        check_positive_int(settings["num_samples"], "num_samples", owner)
    if "unit" in settings:
        check_value_type("unit", settings["unit"], str, owner)
        check_string(settings["unit"], ("step", "epoch"), "unit", owner)
    for kind, wanted in check_value_type("create_landscape", settings.get("create_landscape", {}), dict, owner).items():
        check_string(kind, ("train", "result"), "a key of create_landscape", owner)
        check_value_type(kind, wanted, bool, owner)
    for interval in check_value_type("intervals", settings.get("intervals", []), list, owner):
        if len(check_value_type("an interval", interval, list, owner)) < 3:
            raise ValueRangeError(f"{owner}: an interval is three numbers or more, not {interval}")
        for number in interval:
            check_value_type("a number of an interval", number, int, owner)


class SummaryCollector(Callback):
    """Writes a training into event files: the loss, the learning rate, distributions of Parameters, the first input, the network.

    summary_dir   : a folder, which is made
    collect_freq  : how many steps (rounds of steps with dataset_sink_mode) lie between two records; the first one is written
    collect_specified_data : {"collect_metric", "collect_graph", "collect_input_data", "collect_train_lineage",
                    "collect_eval_lineage": bool, "histogram_regular": a pattern of Parameters' names, None for the first
                    five, "collect_landscape": {"landscape_size", "unit", "num_samples", "create_landscape", "intervals"}}:
                    of the steps or epochs in the intervals the weights are kept in <summary_dir>/ckpt_dir, for SummaryLandscape
    keep_default_action    : what collect_specified_data does not name is written too
    custom_lineage_data    : {name: int, float or str} that are written as a text
    collect_tensor_freq    : how many steps lie between two records of TensorSummary; None: 20 records of the whole training
    max_file_size, export_options : SummaryRecord's;   num_process : MindSpore's
    raises : ArgumentError, ValueRangeError; NotAFolderError where summary_dir is a file
    """

    _DEFAULT_SPECIFIED_DATA: dict[str, Any] = {
        **dict.fromkeys(FLAGS, True), "histogram_regular": None,
        "collect_landscape": {"landscape_size": 40, "unit": "step", "num_samples": 2048,
                              "create_landscape": {"train": True, "result": True},
                              "intervals": [list(range(1, 10)), list(range(10, 20))]}}

    def __init__(self, summary_dir: str, collect_freq: int = 10, num_process: int = 32,
                 collect_specified_data: dict | None = None, keep_default_action: bool = True,
                 custom_lineage_data: dict | None = None, collect_tensor_freq: int | None = None,
                 max_file_size: int | None = None, export_options: dict | None = None) -> None:
        owner = type(self).__name__
        if not check_value_type("summary_dir", summary_dir, str, owner):
            raise ValueRangeError(f"{owner}: summary_dir is empty")
        if os.path.exists(summary_dir) and not os.path.isdir(summary_dir):
            raise NotAFolderError(f"{owner}: {summary_dir} is no folder")
        os.makedirs(summary_dir, exist_ok=True)
        for name, count in (("collect_tensor_freq", collect_tensor_freq), ("max_file_size", max_file_size)):
            if count is not None:
                check_positive_int(count, name, owner)
        self._folder, self._most = os.path.abspath(summary_dir), max_file_size
        self._freq, self._tensor_freq = check_positive_int(collect_freq, "collect_freq", owner), collect_tensor_freq
        check_value_type("keep_default_action", keep_default_action, bool, owner)
        self._export_options = check_export_options(export_options)
        self._collect_specified_data = self._specified(collect_specified_data, keep_default_action)
        self._landscape = self._collect_specified_data.get("collect_landscape")
        if self._landscape is not None:
            check_landscape(owner, check_value_type("collect_landscape", self._landscape, dict, owner),
                            self._DEFAULT_SPECIFIED_DATA["collect_landscape"])
        self._lineage = custom_lineage_of(owner, custom_lineage_data)
        self._record: SummaryRecord | None = None
        self._temp_optimizer: Any = None                     # "Failed" where the network has none
        self._is_parse_loss_success, self._begun, self._sink = True, False, False
        self._tensor_steps: Any = ()
        self._kept_weights: dict[str, str] = {}

    def _specified(self, given: dict | None, default: bool) -> dict[str, Any]:
        owner, known = type(self).__name__, self._DEFAULT_SPECIFIED_DATA
        given = {} if given is None else check_value_type("collect_specified_data", given, dict, owner)
        for name in given:
            check_value_type("a key of collect_specified_data", name, str, owner)
        if set(given) - set(known):
            raise ValueRangeError(f"{owner}: the keys {set(given) - set(known)} of `collect_specified_data` are unsupported",
                                  hint=", ".join(known))
        for name in FLAGS:
            check_value_type(name, given.get(name, True), bool, owner)
        pattern = check_value_type("histogram_regular", given.get("histogram_regular"), (str, type(None)), owner)
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueRangeError(f"{owner}: histogram_regular {pattern!r} is no regular expression: {error}",
                                  hint="For `collect_specified_data`, the value of `histogram_regular` is given to re.match"
                                  ) from None
        return {**known, **given} if default else dict(given)

    def __enter__(self) -> Callback:
        self._record = SummaryRecord(self._folder, max_file_size=self._most, export_options=self._export_options)
        self._begun = False
        return self

    def __exit__(self, *error: Any) -> None:
        if self._record is not None:
            self._record.close()

    # ---------------------------------------------------------------- when

    def begin(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        self._check_callbacks(args)
        self._sink = bool(args.get("dataset_sink_mode"))
        if self._record is not None:
            self._record.set_mode(args.mode)

    def step_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if args.mode != "train" or self._record is None:
            return
        if not self._begun:
            self._begin_record(args)
        self._collect(args)
        self._keep_weights(args, "step", args.cur_step_num)

    def epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if self._record is None or args.mode != "train":
            return
        for name, value in (args.get("metrics") or {}).items():
            if self._collect_specified_data.get("collect_metric") and np.ndim(value) == 0:
                self._record.add_value("scalar", f"eval_{name}/auto", float(value))
        if args.get("metrics"):
            self._record.record(args.cur_step_num)
        self._keep_weights(args, "epoch", args.cur_epoch_num)

    def end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if self._record is None:
            return
        wanted = self._collect_specified_data
        if wanted.get(f"collect_{args.mode}_lineage"):
            self._record.add_value("text", f"{args.mode}_lineage", lineage_of(args, self._get_optimizer(args)))
            self._record.record(args.get("cur_step_num", 0))
        self._record.set_mode("train")
        if args.mode == "train" and self._landscape:
            self._write_metadata(args)

    def _begin_record(self, args: Any) -> None:
        """What is written once: the network, what the user says of it; and at which steps tensors will be."""
        assert self._record is not None
        if self._collect_specified_data.get("collect_graph"):
            self._record.add_value("graph", "train_network/auto", args.train_network)
        if self._lineage:
            self._record.add_value("text", "custom_lineage_data", json.dumps(self._lineage, indent=1))
        steps = args.epoch_num * (1 if self._sink else args.batch_num)
        each = self._tensor_freq or max(self._freq, steps // (TENSOR_STEPS - 1))
        self._tensor_steps = range(0, steps + 1, each)

    def _collect(self, args: Any) -> None:
        """Write what is due at this step, or round of steps."""
        assert self._record is not None
        number = args.cur_epoch_num if self._sink else args.cur_step_num
        due, tensors = number % self._freq == 0 or not self._begun, number in self._tensor_steps or not self._begun
        self._begun = True
        if not due and not tensors:
            return
        if due:
            self._collect_input_data(args)
            self._collect_metric(args)
            self._collect_histogram(args)
        self._record.record(args.cur_step_num, plugin_filter=lambda plugin: tensors if plugin == "tensor" else due)

    def _check_callbacks(self, args: Any) -> None:
        same = [callback for callback in args.get("list_callback", ()) if isinstance(callback, SummaryCollector)]
        if len(same) > 1:
            raise ValueRangeError(f"there are more than one {type(self).__name__} instance in callback list")

    # ---------------------------------------------------------------- what

    def _collect_input_data(self, args: Any) -> None:
        """The first column of the batch, if that is pictures; else it is not asked for again."""
        if not self._collect_specified_data.get("collect_input_data"):
            return
        data = args.get("train_dataset_element")
        data = data[0] if isinstance(data, (list, tuple)) and data else data
        try:
            if not isinstance(data, Tensor):
                raise ArgumentError("no Tensor")
            if self._record is not None:
                self._record.add_value("image", "input_data/auto", data)
        except (ArgumentError, ShapeError):
            logger.info("SummaryCollector: the first column of a batch is no picture and is not written")
            self._collect_specified_data["collect_input_data"] = False

    def _collect_metric(self, args: Any) -> None:
        if not self._collect_specified_data.get("collect_metric") or self._record is None:
            return
        loss = self._get_loss(args)
        if loss is not None:
            self._record.add_value("scalar", "loss/auto", loss)
        rate = getattr(self._get_optimizer(args), "learning_rate", None)
        if isinstance(rate, Parameter):
            self._record.add_value("scalar", "learning_rate/auto", rate)

    def _get_loss(self, args: Any) -> Tensor | None:
        """The mean of what the step gave, or of its first part; None, for ever, where that is no number."""
        outputs = args.net_outputs
        first = outputs[0] if isinstance(outputs, (list, tuple)) and outputs else outputs
        self._is_parse_loss_success &= isinstance(first, (int, float, Tensor))
        return Tensor(np.mean(np.asarray(Tensor(first).asnumpy()))) if self._is_parse_loss_success else None

    def _get_optimizer(self, args: Any) -> Any:
        """The optimiser of the run, or the first within its network; None where there is none."""
        if self._temp_optimizer is None:
            found = args.get("optimizer")
            if found is None:
                network = args.train_network if args.mode == "train" else args.eval_network
                inside = [cell for _, top in network.cells_and_names() for cell in (top, getattr(top, "optimizer", None))]
                found = next((cell for cell in inside if isinstance(cell, nn.Optimizer)), None)
            self._temp_optimizer = found if isinstance(found, nn.Optimizer) else "Failed"
        return None if isinstance(self._temp_optimizer, str) else self._temp_optimizer

    def _collect_histogram(self, args: Any) -> None:
        optimizer = self._get_optimizer(args)
        if "histogram_regular" not in self._collect_specified_data or optimizer is None or self._record is None:
            return
        pattern = self._collect_specified_data["histogram_regular"]
        chosen = optimizer.parameters[:FIRST] if pattern is None else [
            parameter for parameter in optimizer.parameters if re.match(pattern, parameter.name)]
        for parameter in chosen:
            self._record.add_value("histogram", f"{parameter.name}/auto", parameter)

    # ---------------------------------------------------------------- for a loss landscape

    def _keep_weights(self, args: Any, unit: str, number: int) -> None:
        if not self._landscape or self._landscape.get("unit", "step") != unit \
                or not any(number in interval for interval in self._landscape.get("intervals", ())):
            return
        path = os.path.join(self._folder, "ckpt_dir", f"{type(args.network).__name__}_{number}_{unit}.ckpt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        save_checkpoint(args.network, path)
        self._kept_weights[str(number)] = path

    def _write_metadata(self, args: Any) -> None:
        settings = {**self._DEFAULT_SPECIFIED_DATA["collect_landscape"], **(self._landscape or {})}
        intervals = settings.pop("intervals")
        os.makedirs(os.path.join(self._folder, "ckpt_dir"), exist_ok=True)
        with replacing(os.path.join(self._folder, "ckpt_dir", METADATA)) as stream:
            stream.write(json.dumps({
                "epoch_group": {str(number): interval for number, interval in enumerate(intervals)},
                "model_params_file_map": self._kept_weights, "step_per_epoch": args.batch_num, **settings}).encode())


def custom_lineage_of(owner: str, given: Any) -> dict[str, Any]:
    """{name: int, float or str}. raises : ArgumentError"""
    for name, value in check_value_type("custom_lineage_data", {} if given is None else given, dict, owner).items():
        check_value_type(f"the key {name!r} of custom_lineage_data", name, str, owner)
        check_value_type(f"custom_lineage_data[{name!r}]", value, (int, str, float), owner)
    return given or {}


def lineage_of(args: Any, optimizer: Any) -> str:
    """What was trained, or evaluated, and how: JSON."""
    if args.mode == "eval":
        found: dict[str, Any] = {"metrics": {
            name: float(value) for name, value in (args.get("metrics") or {}).items() if np.ndim(value) == 0}}
    else:
        rate = getattr(optimizer, "learning_rate", None)
        found = {"train_network": type(args.network).__name__, "epoch": args.epoch_num, "step_num": args.cur_step_num,
                 "optimizer": type(optimizer).__name__ if optimizer is not None else None,
                 "learning_rate": float(rate.asnumpy()) if isinstance(rate, Parameter) else None,
                 "loss_function": type(args.loss_fn).__name__ if args.get("loss_fn") is not None else None,
                 "ckpt": args.get("latest_ckpt_file")}
    return json.dumps(found, indent=1)
