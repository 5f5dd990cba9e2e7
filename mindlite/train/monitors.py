"""Callbacks that watch a run: print its loss and times, record them, stop it or change the learning rate by them."""
from __future__ import annotations

import logging
import math
import time
from typing import Any, Callable

import numpy as np

from ..common import dtype as dt
from ..common.checks import check_non_negative_int, check_positive_int, check_value_type
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Parameter, Tensor
from .callback import Callback, RunContext, loss_of
from .serialization import load_param_into_net

logger = logging.getLogger("mindlite")
SMALLER_IS_BETTER = ("hausdorff_distance", "mae", "mse", "loss", "perplexity", "mean_surface_distance",
                     "root_mean_square_distance", "eval_loss")


class LossMonitor(Callback):
    """Prints the loss of every per_print_times-th step, and after each epoch of `Model.fit` the metrics; 0: no losses.

    raises : ValueRangeError, at the end of a step whose loss is not finite
    """

    def __init__(self, per_print_times: int = 1) -> None:
        self._each = check_non_negative_int(per_print_times, "per_print_times", "LossMonitor")
        self._last = 0

    def begin(self, run_context: RunContext) -> None:
        self._last = 0

    def step_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        epoch, step = args.get("cur_epoch_num", 1), (args.cur_step_num - 1) % args.batch_num + 1
        loss = loss_of(args.net_outputs)
        if not math.isfinite(loss):
            raise ValueRangeError(f"in epoch {epoch}, step {step} the loss is {loss}: training cannot go on",
                                  hint="a smaller learning rate, or a loss_scale_manager")
        if self._each and (args.cur_step_num - self._last >= self._each or args.cur_step_num < self._last):
            self._last = args.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if args.get("metrics"):
            print(f"Eval result: epoch {args.cur_epoch_num}, metrics: {args.metrics}", flush=True)


class TimeMonitor(Callback):
    """Prints how long each epoch took, and each step of it.

    data_size : the number of steps, where the run does not say it;   data_time : also how long the steps waited for data
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        self.data_size = data_size
        self.data_time = check_value_type("data_time", data_time, bool, "TimeMonitor")
        self._begun = self._waiting_since = time.perf_counter()
        self._waited = 0.0

    def epoch_begin(self, run_context: RunContext) -> None:
        self._begun = self._waiting_since = time.perf_counter()
        self._waited = 0.0

    def step_begin(self, run_context: RunContext) -> None:
        self._waited += time.perf_counter() - self._waiting_since

    def step_end(self, run_context: RunContext) -> None:
        self._waiting_since = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        passed = (time.perf_counter() - self._begun) * 1000
        args = run_context.original_args()
        steps = check_positive_int(args.get("batch_num") or self.data_size, "data_size", "TimeMonitor")
        text = f"{args.get('mode', '').title()} epoch time: {passed:5.3f} ms, per step time: {passed / steps:5.3f} ms"
        if self.data_time:
            text += f" (data time: {self._waited * 1000 / steps:5.3f} ms)"
        print(text, flush=True)


class History(Callback):
    """Records, per epoch: history {"net_output": [losses], metric: [values], ..} and epoch {"epoch": [numbers]}."""

    def __init__(self) -> None:
        self.history: dict[str, list] = {}
        self.epoch: dict[str, list] | None = None

    def begin(self, run_context: RunContext) -> None:
        self.epoch = {"epoch": []}

    def epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if self.epoch is not None:
            self.epoch["epoch"].append(args.get("cur_epoch_num", 1))
        for name, value in {"net_output": np.float32(loss_of(args.net_outputs)), **(args.get("metrics") or {})}.items():
            self.history.setdefault(name, []).append(value)


class LearningRateScheduler(Callback):
    """Sets the learning rate after each step to learning_rate_function(learning rate, cur_step_num).

    raises : ArgumentError, when the run begins, where the optimiser's learning rate is no single number
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        self.learning_rate_function = learning_rate_function

    def on_train_begin(self, run_context: RunContext) -> None:
        _rate_of("LearningRateScheduler", run_context.original_args())

    def on_train_step_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        rate = _rate_of("LearningRateScheduler", args)
        new = self.learning_rate_function(float(str(rate.asnumpy())), args.cur_step_num)
        rate.set_data(Tensor(new, dt.float32))


def _rate_of(owner: str, args: Any) -> Parameter:
    rate = getattr(args.get("optimizer"), "learning_rate", None)
    if not isinstance(rate, Parameter):
        raise ArgumentError(f"{owner}: the optimiser's learning rate is no single number",
                            hint="it may not be a list, a schedule or one by group")
    return rate


class _Watch(Callback):
    """What EarlyStopping and ReduceLROnPlateau share: a monitored number, and whether it is better than the best so far."""

    def __init__(self, monitor: str, min_delta: float, patience: int, verbose: bool, mode: str) -> None:
        owner = type(self).__name__
        self.monitor = check_value_type("monitor", monitor, str, owner)
        self.min_delta = abs(check_value_type("min_delta", min_delta, (float, int), owner))
        self.patience = check_non_negative_int(patience, "patience", owner)
        self.verbose = check_value_type("verbose", verbose, bool, owner)
        if check_value_type("mode", mode, str, owner) not in ("auto", "min", "max"):
            raise ValueRangeError(f"{owner}: mode is auto, min or max, not {mode!r}")
        self.mode = mode
        self.sign = -1 if mode == "min" or mode == "auto" and monitor in SMALLER_IS_BETTER else 1
        self.wait, self.best = 0, -self.sign * math.inf

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait, self.best = 0, -self.sign * math.inf

    def is_improvement(self, value: float, best: float) -> bool:
        """Is `value` better than `best` by more than min_delta?"""
        return self.sign * (value - best) > self.min_delta

    def value(self, args: Any) -> float | None:
        """The monitored number: the loss of the last step, or what the epoch's evaluation gave; None where there is none."""
        if self.monitor == "loss":
            return loss_of(args.net_outputs)
        results = args.get("eval_results") or {}
        if self.monitor not in results:
            logger.warning("%s: there is no %s in this epoch, but %s", type(self).__name__, self.monitor,
                           ", ".join(["loss", *results]))
            return None
        found = np.asarray(results[self.monitor])
        if found.ndim:
            raise ValueRangeError(f"{type(self).__name__}: {self.monitor} is no number, but an array {list(found.shape)}")
        return float(found)


class EarlyStopping(_Watch):
    """Ends the training when `monitor` has not got better by more than min_delta for `patience` epochs.

    monitor  : "loss", "eval_loss" or a metric's name (Model.fit);   mode : min, max, or auto: by the name
    baseline : what counts as better must also be better than this number
    restore_best_weights : give the network the weights of its best epoch when training is ended
    raises   : ArgumentError, ValueRangeError
    """
    kept = "wait", "best", "best_weights"

    def __init__(self, monitor: str = "eval_loss", min_delta: float = 0, patience: int = 0, verbose: bool = False,
                 mode: str = "auto", baseline: float | None = None, restore_best_weights: bool = False) -> None:
        super().__init__(monitor, min_delta, patience, verbose, mode)
        self.baseline = None if baseline is None else check_value_type("baseline", baseline, (float, int), "EarlyStopping")
        self.restore_best_weights = check_value_type("restore_best_weights", restore_best_weights, bool, "EarlyStopping")
        self.stopped_epoch = 0
        self.best_weights: dict[str, Parameter] | None = None

    def on_train_begin(self, run_context: RunContext) -> None:
        super().on_train_begin(run_context)
        self.stopped_epoch, self.best_weights = 0, None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        value = self.value(args)
        if value is None:
            return
        self.wait += 1
        better = self.is_improvement(value, self.best)
        if self.restore_best_weights and (better or self.best_weights is None):
            self.best_weights = {param.name: Parameter(Tensor(param.asnumpy().copy()), name=param.name)
                                 for param in args.train_network.get_parameters()}
        if better:
            self.best = value
            if self.baseline is None or self.is_improvement(value, self.baseline):
                self.wait = 0
        if self.wait >= self.patience:
            self.stopped_epoch = args.cur_epoch_num
            run_context.request_stop()
            if self.best_weights is not None:
                load_param_into_net(args.train_network, self.best_weights)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)


class ReduceLROnPlateau(_Watch):
    """Multiplies the learning rate by `factor` when `monitor` has not got better by min_delta for `patience` epochs.

    factor   : a number in (0, 1);   cooldown : epochs after a reduction that do not count;   min_lr : the least rate
    raises   : ArgumentError, ValueRangeError; ArgumentError at an epoch's end where the rate is no single number
    """
    kept = "wait", "best", "cooldown_counter"

    def __init__(self, monitor: str = "eval_loss", factor: float = 0.1, patience: int = 10, verbose: bool = False,
                 mode: str = "auto", min_delta: float = 0.0001, cooldown: int = 0, min_lr: float = 0) -> None:
        super().__init__(monitor, min_delta, patience, verbose, mode)
        self.factor = check_value_type("factor", factor, float, "ReduceLROnPlateau")
        if not 0 < factor < 1:
            raise ValueRangeError(f"ReduceLROnPlateau: factor {factor} is outside (0, 1)")
        self.cooldown = check_non_negative_int(cooldown, "cooldown", "ReduceLROnPlateau")
        self.min_lr = check_value_type("min_lr", min_lr, (float, int), "ReduceLROnPlateau")
        self.cooldown_counter = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        super().on_train_begin(run_context)
        self.cooldown_counter = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        rate = _rate_of("ReduceLROnPlateau", args)
        value = self.value(args)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.is_improvement(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(rate, args.cur_epoch_num)
                self.cooldown_counter, self.wait = self.cooldown, 0

    def _reduce(self, rate: Parameter, epoch: int) -> None:
        now = rate.asnumpy()
        if now > np.float32(self.min_lr):
            new = max(now * np.float32(self.factor), np.float32(self.min_lr))
            rate.set_data(Tensor(new, dt.float32))
            if self.verbose:
                print(f"Epoch {epoch:05d}: the learning rate is reduced to {new}.", flush=True)
