"""Callbacks: what a training or evaluation run calls at its beginning and end, and around each epoch and step.

    class Stop(Callback):                                              model.train(10, data, callbacks=[Stop()])
        def on_train_step_end(self, run_context):
            if loss_of(run_context.original_args().net_outputs) < 0.1:
                run_context.request_stop()

The arguments of a run stand in one dict, whose keys are attributes too: cur_epoch_num, cur_step_num (counted over the whole
run, from 1), batch_num (steps of an epoch), epoch_num, net_outputs, train_network, optimizer, .. as MindSpore names them.
"""
from __future__ import annotations

import contextlib
import functools
import math
from typing import Any, Callable

import numpy as np

from ..common.errors import ArgumentError, MissingAttributeError
from ..common.tensor import Tensor
from ..dataset.callbacks import WaitedDSCallback

TRAIN_HOOKS = ("on_train_begin", "on_train_epoch_begin", "on_train_step_begin", "on_train_step_end", "on_train_epoch_end",
               "on_train_end")
EVAL_HOOKS = tuple(name.replace("train", "eval") for name in TRAIN_HOOKS)
HOOKS = (*TRAIN_HOOKS, *EVAL_HOOKS, *(name.replace("on_train_", "") for name in TRAIN_HOOKS))


class Callback:
    """Base of callbacks: a subclass defines the hooks that it wants. Entered before the run (`with`), left after it.

    begin, epoch_begin, step_begin, step_end, epoch_end, end   are called in training and in evaluation, unless the hook of
    the same time is defined for one of them: on_train_begin, .., on_eval_end.

    kept      : names of attributes that SaveState writes and a run that goes on begins with: numbers, texts, lists and dicts of
                them, or a dict of Parameters
    runs_last : its hooks are called after those of all others
    """
    kept: tuple[str, ...] = ()
    runs_last = False
    resumed: dict[str, Any] | None = None    # of `kept`, for the next training

    def __enter__(self) -> Callback:
        return self

    def __exit__(self, *error: Any) -> None:
        """Left after the run, and when it fails."""

    def begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before each step; where whole rounds of steps run in one native call, before each round."""

    def step_end(self, run_context: RunContext) -> None:
        """After each step, or round of steps."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After each epoch, and after the evaluation that belongs to it."""

    def end(self, run_context: RunContext) -> None:
        """After the last epoch."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """begin, of a training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """epoch_begin, of a training."""
        self.epoch_begin(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """step_begin, of a training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """step_end, of a training."""
        self.step_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """epoch_end, of a training."""
        self.epoch_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """end, of a training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """begin, of an evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """epoch_begin, of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """step_begin, of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """step_end, of an evaluation."""
        self.step_end(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """epoch_end, of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """end, of an evaluation."""
        self.end(run_context)


class RunArguments(dict):
    """The arguments of a run: a dict whose keys are attributes too."""

    def __getattr__(self, key: str) -> Any:
        if key not in self:
            raise MissingAttributeError(f"this run has no argument {key!r}", note=", ".join(self))
        return self[key]

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value


class RunContext:
    """What every hook is given. original_args : a dict. raises : ArgumentError for anything else"""

    def __init__(self, original_args: dict) -> None:
        if not isinstance(original_args, dict):
            raise ArgumentError(f"RunContext: original_args is a dict, not {type(original_args).__name__}")
        self._original_args, self._stop_requested = original_args, False

    def original_args(self) -> Any:
        """The arguments of the run, see the module."""
        return self._original_args

    def request_stop(self) -> None:
        """End the run after this step, with the hooks of its end."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """True once request_stop has been called."""
        return self._stop_requested


class Callbacks:
    """Several callbacks as one: each of their hooks in turn, entered and left together. Its hooks are methods.

    raises : ArgumentError for what is no Callback
    """

    def __init__(self, callbacks: Any) -> None:
        self.each = as_callbacks(callbacks)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Callbacks:
        entered = [(callback, self._stack.enter_context(callback)) for callback in self.each]
        self.each = [found if isinstance(found, Callback) else callback for callback, found in entered]
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._stack.__exit__(*error)

    def __getattr__(self, name: str) -> Callable[[RunContext], None]:
        if name not in HOOKS:
            raise MissingAttributeError(f"there is no hook {name!r}", note=", ".join(HOOKS))
        return functools.partial(self.call, name)

    def call(self, hook: str, context: RunContext) -> None:
        """Call the hook of this name of every callback."""
        for callback in self.each:
            getattr(callback, hook)(context)


class _OfDataset(Callback):
    """The training loop's side of a callback of a data set: it tells it of the end of steps and epochs."""

    def __init__(self, waiting: WaitedDSCallback) -> None:
        self.step_end, self.epoch_end, self.end = waiting.step_end, waiting.epoch_end, waiting.end   # type: ignore[method-assign]


def as_callbacks(callbacks: Any) -> list[Callback]:
    """The list of callbacks that None, one, or a list or tuple of them stand for, in their order. raises : ArgumentError"""
    found = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    found = [_OfDataset(callback) if isinstance(callback, WaitedDSCallback) else callback for callback in found]
    for callback in found:
        if not isinstance(callback, Callback):
            raise ArgumentError(f"callbacks: takes a Callback or a list of them, not {type(callback).__name__}")
    return sorted(found, key=lambda callback: callback.runs_last)


def resume(callbacks: list[Callback]) -> None:
    """Give callbacks, whose training has begun, what `load_state` has read for them."""
    for callback in callbacks:
        if callback.resumed is not None:
            vars(callback).update(callback.resumed)
            callback.resumed = None


def loss_of(outputs: Any) -> float:
    """The mean of what a step gave: a Tensor, or the first of several. nan where there is no number."""
    while isinstance(outputs, (tuple, list)) and outputs:
        outputs = outputs[0]
    if isinstance(outputs, Tensor):
        outputs = outputs.asnumpy()
    return float(np.mean(outputs)) if isinstance(outputs, (np.ndarray, np.number, int, float)) else math.nan


class LambdaCallback(Callback):
    """A callback of functions of the RunContext, one for each hook that is wanted. raises : ArgumentError"""

    def __init__(self, on_train_epoch_begin: Any = None, on_train_epoch_end: Any = None, on_train_step_begin: Any = None,
                 on_train_step_end: Any = None, on_train_begin: Any = None, on_train_end: Any = None,
                 on_eval_epoch_begin: Any = None, on_eval_epoch_end: Any = None, on_eval_step_begin: Any = None,
                 on_eval_step_end: Any = None, on_eval_begin: Any = None, on_eval_end: Any = None) -> None:
        given = locals()
        for name in (*TRAIN_HOOKS, *EVAL_HOOKS):
            if given[name] is not None and not callable(given[name]):
                raise ArgumentError(f"LambdaCallback: {name} is a function, not {type(given[name]).__name__}")
            setattr(self, name, given[name] or _nothing)


def _nothing(run_context: RunContext) -> None:
    pass
