"""The progress of a training, written to standard error: a bar where somebody looks on, else one line for each epoch.

    epoch 3/10:  42%|####      | 197/469 [00:02<00:03, 91.4step/s, loss=0.213, lr=0.05, wait=3%]        with tqdm installed
    epoch 3/10: loss 0.1983, acc 0.9412, lr 0.05, 469 steps, 10.9 ms each, 3 % waiting for data         without, or to a file

wait is the part of the time in which the training waited for its data.
"""
from __future__ import annotations

import importlib.util
import sys
import time
from typing import Any

import numpy as np

from ..common.tensor import Parameter
from .callback import Callback, RunContext, loss_of

REFRESH = 0.1                                # seconds between two looks at the loss, which cost a little


def shows_bars() -> bool:
    """True in a terminal and in a notebook, where tqdm is installed."""
    if importlib.util.find_spec("tqdm") is None:
        return False
    shell = sys.modules.get("IPython")
    return sys.stderr.isatty() or shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


class ProgressBar(Callback):
    """See the module. bar : True and False choose; None looks where standard error goes"""

    def __init__(self, bar: bool | None = None) -> None:
        self.bar = bar
        self._tqdm: Any = None
        self._step = self._shown = 0
        self._begun = self._since = self._looked = self._waited = 0.0

    def __exit__(self, *error: Any) -> None:
        self._close()

    def _close(self) -> None:
        if self._tqdm is not None:
            self._tqdm.close()
            self._tqdm = None

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        self._begun = self._since = time.perf_counter()
        self._waited, self._step, self._shown, self._looked = 0.0, args.cur_step_num, 0, 0.0
        if shows_bars() if self.bar is None else self.bar:
            from tqdm.auto import tqdm
            self._tqdm = tqdm(total=args.batch_num, desc=_name(args), unit="step", file=sys.stderr)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._waited += time.perf_counter() - self._since

    def on_train_step_end(self, run_context: RunContext) -> None:
        now = self._since = time.perf_counter()
        if self._tqdm is not None and now - self._looked > REFRESH:
            self._looked = now
            self._show(run_context.original_args())

    def _show(self, args: Any) -> None:
        done = args.cur_step_num - self._step
        self._tqdm.set_postfix(self._numbers(args), refresh=False)
        self._tqdm.update(done - self._shown)
        self._shown = done

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if self._tqdm is not None:
            self._show(args)
            self._close()
            return
        steps, passed = args.cur_step_num - self._step, time.perf_counter() - self._begun
        numbers = self._numbers(args)
        waited = numbers.pop("wait")
        described = ", ".join(f"{name} {value}" for name, value in numbers.items())
        print(f"{_name(args)}: {described}, {steps} steps, {passed * 1000 / max(steps, 1):.1f} ms each, "
              f"{waited.rstrip('%')} % waiting for data", file=sys.stderr, flush=True)

    def _numbers(self, args: Any) -> dict[str, str]:
        passed = time.perf_counter() - self._begun
        found = {"loss": f"{loss_of(args.net_outputs):.4g}"}
        for name, value in (args.get("metrics") or {}).items():
            if np.ndim(value) == 0:
                found[name] = f"{float(value):.4g}"
        rate = getattr(args.get("optimizer"), "learning_rate", None)
        if isinstance(rate, Parameter):
            found["lr"] = f"{float(rate.asnumpy()):.4g}"
        return {**found, "wait": f"{100 * self._waited / passed if passed else 0:.0f}%"}


def _name(args: Any) -> str:
    return f"epoch {args.cur_epoch_num}/{args.last_epoch}"
