"""Callbacks of `map`: DSCallback, WaitedDSCallback."""
from __future__ import annotations

import threading
from typing import Any

from ..common.errors import ArgumentError, MissingAttributeError, ValueRangeError
from . import config
from .config import whole_number

HOOKS = ("ds_begin", "ds_epoch_begin", "ds_epoch_end", "ds_step_begin", "ds_step_end")


class MissingHookError(MissingAttributeError, ValueRangeError):
    """A callback without any hook."""


class DSRunContext:
    """What a hook is given: cur_epoch_num, cur_step_num_in_epoch, cur_step_num, all from 1; for ds_begin 0."""

    def __init__(self, epoch: int, step_in_epoch: int, step: int) -> None:
        self.cur_epoch_num, self.cur_step_num_in_epoch, self.cur_step_num = epoch, step_in_epoch, step


class DSCallback:
    """Base of callbacks: override ds_begin, ds_epoch_begin, ds_epoch_end, ds_step_begin, ds_step_end.

    step_size : the step hooks are called at every step_size-th row
    """

    def __init__(self, step_size: int = 1) -> None:
        self.step_size = whole_number(step_size, "step_size", 1)


class WaitedDSCallback(DSCallback):
    """A callback of a dataset that waits for the training loop: override sync_epoch_begin and sync_step_begin.

    Give it to `map` and to `Model.train`: `sync_*_begin(train_context, ds_context)` is called when the loop has ended the epoch
    or the step before. A pipeline here computes a row when it is asked for one, so the loop has always got so far; what it has
    not announced is waited for no longer than `config.get_callback_timeout()` seconds.
    """

    def __init__(self, step_size: int = 1) -> None:
        super().__init__(step_size)
        self.step_event, self.epoch_event = threading.Event(), threading.Event()
        self.step_run_context: Any = None
        self.epoch_run_context: Any = None

    def sync_epoch_begin(self, train_run_context: Any, ds_run_context: DSRunContext) -> None:
        """Called before an epoch of the dataset, after the loop's epoch before it."""

    def sync_step_begin(self, train_run_context: Any, ds_run_context: DSRunContext) -> None:
        """Called before a row of the dataset, after the loop's step before it."""

    def epoch_end(self, run_context: Any) -> None:
        """Called by the training loop."""
        self.epoch_run_context = run_context
        self.epoch_event.set()

    def step_end(self, run_context: Any) -> None:
        """Called by the training loop."""
        self.step_run_context = run_context
        self.step_event.set()

    def end(self, run_context: Any) -> None:
        """Called by the training loop when it ends."""
        self.epoch_end(run_context)
        self.step_end(run_context)

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        """Waits for the loop, then calls `sync_epoch_begin`."""
        if ds_run_context.cur_epoch_num > 1:
            self._wait(self.epoch_event, "epoch_end")
            self.sync_epoch_begin(self.epoch_run_context, ds_run_context)

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        """Waits for the loop, then calls `sync_step_begin`."""
        if ds_run_context.cur_step_num > self.step_size:
            self._wait(self.step_event, "step_end")
            self.sync_step_begin(self.step_run_context, ds_run_context)

    def _wait(self, event: threading.Event, what: str) -> None:
        seconds = config.settings.callback_timeout
        if not event.wait(seconds):
            raise RuntimeError(f"ds_{what.replace('end', 'begin')} timed out after {seconds} second(s). The training loop has "
                               f"not called {what}(); is the callback given to Model.train too, and step_size the batch size?")
        event.clear()


class CallbackCalls:
    """Calls the DSCallbacks of a map: at the begin of the run, at the begin and end of each epoch of the iterator, at every
    step_size-th row. An epoch may be several passes, below a repeat."""

    def __init__(self, callbacks: list[DSCallback]) -> None:
        self.callbacks, self.epoch, self.step, self.steps = callbacks, -1, 0, 0

    def begin(self, epoch: int) -> None:
        """Before the first row of a pass."""
        if epoch == self.epoch:
            return
        if self.epoch < 0:
            self._call("ds_begin", 0)
        self.epoch, self.step = epoch, 0
        self._call("ds_epoch_begin", epoch + 1)

    def end(self) -> None:
        """After the last row of an epoch."""
        self._call("ds_epoch_end", self.epoch + 1)

    def step_begin(self) -> None:
        """Before a row."""
        self.step += 1
        self.steps += 1
        self._call("ds_step_begin", self.epoch + 1, True)

    def step_end(self) -> None:
        """After a row."""
        self._call("ds_step_end", self.epoch + 1, True)

    def _call(self, hook: str, epoch: int, steps: bool = False) -> None:
        for callback in self.callbacks:
            method = getattr(callback, hook, None)
            if method is not None and (not steps or (self.step - 1) % callback.step_size == 0):
                method(DSRunContext(epoch, self.step, self.steps))


def check_callbacks(callbacks: Any) -> list[DSCallback]:
    """A list of callbacks. raises : ArgumentError"""
    found = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for k, callback in enumerate(found):
        if not isinstance(callback, DSCallback):
            name = f"callbacks[{k}]" if isinstance(callbacks, (list, tuple)) else "callbacks"
            raise ArgumentError(f"Argument {name} with value {callback} is not of type [<class 'DSCallback'>], but got "
                                f"{type(callback)}.")
        if not any(hasattr(callback, hook) for hook in HOOKS):
            raise MissingHookError("Inheriting Callback class without overriding any methods, check the usage of user defined "
                                   "Callback.", note=f"{type(callback).__name__}: {', '.join(HOOKS)}")
    return found
