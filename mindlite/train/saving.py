"""Callbacks that write a training to files, and go on from them.

    config = CheckpointConfig(save_checkpoint_steps=100, keep_checkpoint_max=5)
    model.train(10, data, callbacks=[ModelCheckpoint("net", "./checkpoints", config)])      net-1_100.ckpt, net-1_200.ckpt, ..

A file holds the Parameters of the training step: those of the network and the states of the optimiser.
"""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from typing import Any, Callable

from .. import nn
from ..common.checks import check_non_negative_int, check_positive_int, check_value_type
from ..common.config import GRAPH_MODE
from ..common.config import config as switches
from ..common.errors import ArgumentError, ValueRangeError
from ..common.files import replacing
from ..common.tensor import Tensor
from ..functional.cell import compiled_cell
from ..mindir.printer import show
from .callback import Callback, RunContext
from .serialization import export, load_checkpoint, save_checkpoint, wait_for_files

INFO = ("epoch_num", "step_num")


class CheckpointConfig:
    """When ModelCheckpoint writes, what it keeps, and how.

    save_checkpoint_steps : after so many steps;   save_checkpoint_seconds : after so many seconds, where steps is 0
    keep_checkpoint_max   : the last so many files;   keep_checkpoint_per_n_minutes : one file for so many minutes, where max is 0
    saved_network : the Cell that is written, in place of the training step
    append_info   : what is written beside it: "epoch_num", "step_num", {name: number, string or Tensor}
    exception_save : write a file when the training fails
    integrated_save, async_save, enc_key, enc_mode, crc_check, format : as save_checkpoint has them
    remove_redundancy, kwargs : MindSpore's, for several devices
    raises        : ArgumentError, ValueRangeError
    """

    def __init__(self, save_checkpoint_steps: int | None = 1, save_checkpoint_seconds: int | None = 0,
                 keep_checkpoint_max: int | None = 5, keep_checkpoint_per_n_minutes: int | None = 0,
                 integrated_save: bool = True, async_save: Any = False, saved_network: nn.Cell | None = None,
                 append_info: list | None = None, enc_key: bytes | None = None, enc_mode: str = "AES-GCM",
                 exception_save: bool = False, crc_check: bool = False, remove_redundancy: bool = False, format: str = "ckpt",
                 **kwargs: Any) -> None:
        counts = {"save_checkpoint_steps": save_checkpoint_steps, "save_checkpoint_seconds": save_checkpoint_seconds,
                  "keep_checkpoint_max": keep_checkpoint_max, "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes}
        for name, count in counts.items():
            if count is not None:
                check_non_negative_int(count, name, "CheckpointConfig")
        if not any(counts.values()):
            raise ValueRangeError(f"CheckpointConfig: one of {', '.join(counts)} is above 0")
        if saved_network is not None:
            check_value_type("saved_network", saved_network, nn.Cell, "CheckpointConfig")
        for name, flag in (("integrated_save", integrated_save), ("exception_save", exception_save), ("crc_check", crc_check),
                           ("remove_redundancy", remove_redundancy)):
            check_value_type(name, flag, bool, "CheckpointConfig")
        if enc_key is not None:
            check_value_type("enc_key", enc_key, bytes, "CheckpointConfig")
        if format not in ("ckpt", "safetensors") or format == "safetensors" and (enc_key is not None or exception_save):
            raise ValueRangeError(f"CheckpointConfig: format is ckpt or safetensors, not {format!r}, and with safetensors there "
                                  "is no enc_key and no exception_save")
        self.save_checkpoint_steps = save_checkpoint_steps
        self.save_checkpoint_seconds = None if save_checkpoint_steps else save_checkpoint_seconds
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_per_n_minutes = None if keep_checkpoint_max else keep_checkpoint_per_n_minutes
        if not keep_checkpoint_max and not keep_checkpoint_per_n_minutes:
            self.keep_checkpoint_max = 1
        self.integrated_save, self.async_save, self.saved_network = integrated_save, async_save, saved_network
        self.enc_key, self.enc_mode, self.crc_check, self.format = enc_key, enc_mode, crc_check, format
        self.exception_save, self.remove_redundancy = exception_save, remove_redundancy
        self.append_dict = _info_of(append_info)

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """{name: value} of what says when a file is written and kept."""
        return {name: getattr(self, name) for name in (
            "save_checkpoint_steps", "save_checkpoint_seconds", "keep_checkpoint_max", "keep_checkpoint_per_n_minutes",
            "saved_network")}


def _info_of(append_info: Any) -> dict[str, Any] | None:
    if not append_info:
        return None
    found: dict[str, Any] = {}
    dicts = [element for element in check_value_type("append_info", append_info, list, "CheckpointConfig")
             if isinstance(element, dict)]
    for element in append_info:
        if isinstance(element, str) and element not in INFO:
            raise ValueRangeError(f"CheckpointConfig: append_info knows {' and '.join(INFO)}, not {element!r}")
        if not isinstance(element, (str, dict)) or len(dicts) > 1:
            raise ArgumentError("CheckpointConfig: append_info holds strings and at most one dict")
        if isinstance(element, str):
            found[element] = 0
    for name, value in (dicts[0] if dicts else {}).items():
        if not isinstance(name, str) or not isinstance(value, (int, float, bool, str, Tensor)) \
                and not hasattr(value, "get_state"):
            raise ArgumentError(f"CheckpointConfig: append_info gives {name!r} a {type(value).__name__}",
                                hint="a number, string, Tensor or Generator")
        found[name] = value
    return found


class ModelCheckpoint(Callback):
    """Writes the training to <directory>/<prefix>-<epoch>_<step of the epoch>.ckpt, and after its end.

    After the first step of a compiled network the text of its typed graph goes to <directory>/<prefix>-graph.meta.

    prefix, directory : strings, or functions of the run's arguments that give them; a prefix that such files have already
                        gets a number: net_1-..
    config            : a CheckpointConfig;   raises : ValueRangeError, ArgumentError
    """

    def __init__(self, prefix: Any = "CKP", directory: Any = None, config: CheckpointConfig | None = None) -> None:
        if not callable(prefix) and (not isinstance(prefix, str) or "/" in prefix):
            raise ValueRangeError(f"ModelCheckpoint: prefix is a function or a string without '/', not {prefix!r}")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise ArgumentError(f"ModelCheckpoint: config is a CheckpointConfig, not {type(config).__name__}")
        self._config = CheckpointConfig() if config is None else config
        self._prefix_function: Callable | None = prefix if callable(prefix) else None
        self._directory_function: Callable | None = directory if callable(directory) else None
        self._directory = "" if callable(directory) else os.path.abspath(os.getcwd() if directory is None else directory)
        self._prefix = "" if callable(prefix) else prefix
        self._first_prefix = self._prefix
        if self._directory:
            os.makedirs(self._directory, exist_ok=True)
            if self._prefix:
                self._prefix = free_prefix(self._directory, self._prefix, f".{self._config.format}")
        self._latest = ""
        self._last_step, self._last_time = 0, time.monotonic()
        self._kept: list[tuple[float, str]] = []             # files of this run by the time of their writing
        self._append = dict(self._config.append_dict or {})
        self._begun_at = {name: self._append.get(name, 0) for name in INFO}
        self._args: Any = None
        self._has_graph = False

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the file that was written last; "" before."""
        return self._latest

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None and self._config.exception_save and self._args is not None and self._args.cur_step_num:
            self._name_files(self._args)
            prefix = free_prefix(self._directory, self._first_prefix or self._prefix, "_breakpoint.ckpt")
            self._write(self._args, f"{prefix}-{self._args.cur_epoch_num}_{_step_of(self._args)}_breakpoint.ckpt")
        if self._config.async_save:
            wait_for_files()

    def begin(self, run_context: RunContext) -> None:
        self._args, each = run_context.original_args(), self._config.save_checkpoint_steps or 1
        self._last_step = self._args.cur_step_num // each * each         # above 0 in a run that goes on

    def step_end(self, run_context: RunContext) -> None:
        self._args = run_context.original_args()
        if not self._has_graph:
            self._has_graph = True
            self._name_files(self._args)
            save_graph(self._args.train_network, os.path.join(self._directory, f"{self._prefix}-graph.meta"))
        if self._is_due(self._args):
            self._save(self._args)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Nothing: what is evaluated is not written."""

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Nothing."""

    def on_eval_end(self, run_context: RunContext) -> None:
        """Nothing."""

    def end(self, run_context: RunContext) -> None:
        self._args = run_context.original_args()
        if self._args.cur_step_num != self._last_step:
            self._save(self._args)
        if self._config.async_save:
            wait_for_files()

    def _is_due(self, args: Any) -> bool:
        if self._config.save_checkpoint_steps:
            return args.cur_step_num >= self._last_step + self._config.save_checkpoint_steps
        seconds = self._config.save_checkpoint_seconds
        return bool(seconds) and time.monotonic() - self._last_time > (seconds or 0)

    def _name_files(self, args: Any) -> None:
        if self._prefix_function is not None:
            self._prefix = self._prefix_function(args)
            if not isinstance(self._prefix, str) or "/" in self._prefix:
                raise ValueRangeError(f"ModelCheckpoint: the function prefix gives a string without '/', not {self._prefix!r}")
        if self._directory_function is not None:
            self._directory = os.path.abspath(self._directory_function(args))
            os.makedirs(self._directory, exist_ok=True)

    def _save(self, args: Any) -> None:
        self._name_files(args)
        self._last_step, self._last_time = args.cur_step_num, time.monotonic()
        ending = "" if self._prefix_function is not None else f"-{args.cur_epoch_num}_{_step_of(args)}"
        self._write(args, f"{self._prefix}{ending}.{self._config.format}")
        self._forget()

    def _write(self, args: Any, name: str) -> None:
        for info, now in zip(INFO, (args.cur_epoch_num, args.cur_step_num)):
            if info in self._append:
                self._append[info] = self._begun_at[info] + now
        network = args.train_network if self._config.saved_network is None else self._config.saved_network
        path = os.path.join(self._directory, name)
        save_checkpoint(network, path, self._config.integrated_save, self._config.async_save, self._append,
                        self._config.enc_key, self._config.enc_mode, crc_check=self._config.crc_check,
                        format=path.rsplit(".", 1)[1])
        self._latest = args["latest_ckpt_file"] = path
        args["last_save_ckpt_step"] = args.cur_step_num
        self._kept = [(when, old) for when, old in self._kept if old != path] + [(time.time(), path)]

    def _forget(self) -> None:
        """Remove the files of this run that are too many, once the newest is whole."""
        most, minutes = self._config.keep_checkpoint_max, self._config.keep_checkpoint_per_n_minutes
        if most:
            gone = self._kept[:-most]
        else:                                        # of the files of one stretch of time its first, and the newest
            first, gone = self._kept[0][0], []
            for when, path in self._kept[1:-1]:
                if when - first < 60 * (minutes or 0):
                    gone.append((when, path))
                else:
                    first = when
        if gone and self._config.async_save:
            wait_for_files()
        for item in gone:
            self._kept.remove(item)
            with contextlib.suppress(FileNotFoundError):
                os.remove(item[1])


def save_graph(network: Any, file_name: str) -> None:
    """Write the typed graph that a Cell was compiled to last, as text; nothing where it has not run as a graph."""
    if isinstance(network, nn.Cell) and switches.mode == GRAPH_MODE and compiled_cell(network).variants:
        with replacing(file_name) as stream:
            stream.write(show(compiled_cell(network).graph("infer")).encode())


def _step_of(args: Any) -> int:
    return (args.cur_step_num - 1) % args.batch_num + 1


def free_prefix(directory: str, prefix: str, ending: str) -> str:
    """`prefix`, with the next free number where files of it are there."""
    used = -1
    for name in os.listdir(directory):
        found = re.fullmatch(re.escape(prefix) + r"(?:_(\d+))?-.*" + re.escape(ending), name)
        if found and (ending == "_breakpoint.ckpt" or not name.endswith("_breakpoint.ckpt")):
            used = max(used, int(found[1] or 0))
    return prefix if used < 0 else f"{prefix}_{used + 1}"


class BackupAndRestore(Callback):
    """Writes the training to <backup_dir>/backup.ckpt after epochs, and begins with what is there.

    save_freq : "epoch", or after so many epochs;   delete_checkpoint : remove the file after the training's end
    """

    def __init__(self, backup_dir: str, save_freq: Any = "epoch", delete_checkpoint: bool = True) -> None:
        os.makedirs(backup_dir, exist_ok=True)
        self.backup_file = os.path.join(os.path.abspath(backup_dir), "backup.ckpt")
        self.save_freq = 1 if save_freq == "epoch" else check_positive_int(save_freq, "save_freq", "BackupAndRestore")
        self.delete_checkpoint = check_value_type("delete_checkpoint", delete_checkpoint, bool, "BackupAndRestore")

    def on_train_begin(self, run_context: RunContext) -> None:
        if os.path.exists(self.backup_file):
            load_checkpoint(self.backup_file, net=run_context.original_args().train_network)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if args.cur_epoch_num % self.save_freq == 0:
            save_checkpoint(args.train_network, self.backup_file)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.delete_checkpoint:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.backup_file)


class OnRequestExit(Callback):
    """Ends a training or evaluation after the step in which a signal comes, and writes what was reached.

    save_ckpt, save_mindir : write <directory>/rank_0/<file_name>_train.ckpt (_eval), and the same as .mindir; a training and
                             an evaluation begin with the .ckpt where it is there
    config_file : a JSON file; {"GracefulExit": 1} in it counts as the signal;   sig : the signal
    raises      : ValueRangeError for SIGKILL, which no program sees
    """

    def __init__(self, save_ckpt: bool = True, save_mindir: bool = True, file_name: str = "Net", directory: str = "./",
                 config_file: str | None = None, sig: int = signal.SIGTERM) -> None:
        self.save_ckpt = check_value_type("save_ckpt", save_ckpt, bool, "OnRequestExit")
        self.save_mindir = check_value_type("save_mindir", save_mindir, bool, "OnRequestExit")
        self.sig = check_value_type("sig", sig, int, "OnRequestExit")
        if sig == signal.SIGKILL:
            raise ValueRangeError("OnRequestExit: no program sees SIGKILL", hint="SIGTERM")
        self.exit, self.config_file = False, config_file
        self._before: Any = None
        if save_ckpt or save_mindir:
            folder = os.path.join(os.path.abspath(directory or os.getcwd()), f"rank_{switches.device_id}")
            os.makedirs(folder, exist_ok=True)
            self.train_name, self.eval_name = [os.path.join(folder, f"{file_name}_{kind}") for kind in ("train", "eval")]

    def __enter__(self) -> Callback:
        self.exit, self._before = False, signal.signal(self.sig, self._requested)
        return self

    def __exit__(self, *error: Any) -> None:
        signal.signal(self.sig, self._before)

    def _requested(self, number: int, frame: Any) -> None:
        self.exit = True

    def _wanted(self) -> bool:
        if not self.exit and self.config_file is not None and os.path.isfile(self.config_file):
            with open(self.config_file, encoding="utf-8") as stream:
                self.exit = json.load(stream).get("GracefulExit") == 1
        return self.exit

    def on_train_begin(self, run_context: RunContext) -> None:
        if self.save_ckpt and os.path.isfile(f"{self.train_name}.ckpt"):
            load_checkpoint(f"{self.train_name}.ckpt", net=run_context.original_args().train_network)

    def on_train_step_end(self, run_context: RunContext) -> None:
        if self._wanted():
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if not self.exit:
            return
        if self.save_ckpt:
            save_checkpoint(args.train_network, self.train_name, append_dict={
                "epoch_num": args.cur_epoch_num, "step_num": args.cur_step_num, "batch_num": args.batch_num})
        if self.save_mindir:
            export(args.train_network, *args.train_dataset_element, file_name=self.train_name, file_format="MINDIR")

    def on_eval_begin(self, run_context: RunContext) -> None:
        for name in (self.eval_name, self.train_name) if self.save_ckpt else ():
            if os.path.isfile(f"{name}.ckpt"):
                load_checkpoint(f"{name}.ckpt", net=run_context.original_args().eval_network)
                return

    def on_eval_step_end(self, run_context: RunContext) -> None:
        if self._wanted():
            run_context.request_stop()

    def on_eval_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if not self.exit:
            return
        if self.save_ckpt:
            save_checkpoint(args.eval_network, self.eval_name)
        if self.save_mindir:
            export(args.eval_network, *args.eval_dataset_element, file_name=self.eval_name, file_format="MINDIR")
