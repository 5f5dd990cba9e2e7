"""The whole state of a training in one file: a run that was killed at any moment goes on with the same bits.

    data.set_seed(1) ..                                             state = load_state("run.ckpt", network=step, dataset=data)
    model.train(10, data, callbacks=[SaveState("run.ckpt", 100)], initial_epoch=state["epoch"] if state else 0)

    part/network/<name>, part/optimizer/<name>, part/scaler/<name>      Parameters, bit by bit
    part/random, seed, numpy, python                                    where each generator of random numbers is
    epoch, step, rows                                                   how much of the data lies behind
    callback/<k>, callback/<k>/<name>/<name of a Parameter>             what callbacks keep (Callback.kept)
    extra/<name>                                                        what the program adds

The file is a .ckpt with a check sum; the old one stays until the new one is whole.
"""
from __future__ import annotations

import json
import os
import random
from typing import Any

import numpy as np

from .. import nn
from ..amp import LossScaleManager
from ..common import seed as seeds
from ..common.checks import check_non_negative_int
from ..common.config import config
from ..common.errors import ArgumentError, FileFormatError, ValueRangeError
from ..common.files import replacing
from ..common.tensor import Parameter, Tensor
from ..dataset import config as data_config
from ..ops.generator import current_state
from .callback import Callback, RunContext, as_callbacks
from .checkpoint import read_ckpt, write_ckpt
from .model import size_of

PARTS = ("network", "optimizer", "scaler")


def save_state(path: Any, *, network: nn.Cell | None = None, optimizer: nn.Cell | None = None, scaler: Any = None,
               dataset: Any = None, callbacks: Any = None, epoch: int = 0, step: int = 0, epoch_steps: int | None = None,
               **extra: Any) -> None:
    """Write the state of a training.

    network, optimizer : Cells; of a TrainOneStepCell, as Model.train_network is one, the optimizer is a part already
    scaler  : an amp.LossScaler, a LossScaleManager or a Cell
    dataset : what the batches come from; its order must not be chance
    callbacks   : a list, of which those are written that keep something (Callback.kept)
    epoch, step : epochs, and steps of the next one, that lie behind
    epoch_steps : steps of an epoch, where it is no pass over the data set (sink_size)
    extra   : numbers, strings and Tensors by name
    raises  : ArgumentError for what holds no Parameters; ValueRangeError for a data set that is shuffled without a seed;
              OSError
    """
    values: dict[str, Any] = {}
    values.update((path, param.asnumpy()) for path, param in _parameters(network, optimizer, scaler))
    if isinstance(scaler, LossScaleManager):
        values["manager"] = json.dumps({name: value for name, value in vars(scaler).items()
                                        if isinstance(value, (int, float, bool))})
    values["random"] = current_state().asnumpy()
    state: Any = np.random.get_state()
    values["numpy"] = json.dumps([state[0], state[1].tolist(), *state[2:]])
    values["python"] = json.dumps(random.getstate())
    values["seed"] = json.dumps([seeds.get_seed(), seeds.generator().bit_generator.state])
    rows = 0
    if dataset is not None:
        rows = check_non_negative_int(epoch, "epoch", "save_state") * (epoch_steps or size_of(dataset)) + step
        shuffled = getattr(dataset, "is_shuffled", None)
        if shuffled is not None and shuffled() and data_config.get_seed() == data_config.DEFAULT_SEED:
            raise ValueRangeError("save_state: the data set is shuffled by chance", hint="mindlite.set_seed(..) before it")
        values["data_seed"] = np.int64(data_config.get_seed())
    values.update(epoch=np.int64(epoch), step=np.int64(step), rows=np.int64(rows))
    for k, callback in enumerate(_keeping(callbacks)):
        values.update(_kept(f"callback/{k}", callback))
    for name, value in extra.items():
        if not isinstance(value, (bool, int, float, str, np.ndarray, Tensor)):
            raise ArgumentError(f"save_state: {name!r} is a {type(value).__name__}, no number, string or Tensor")
        values[f"extra/{name}"] = value if isinstance(value, str) else \
            value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    with replacing(path) as stream:
        write_ckpt(stream, {name: value if isinstance(value, str) else np.asarray(value) for name, value in values.items()},
                   crc=True)


def load_state(path: Any, *, network: nn.Cell | None = None, optimizer: nn.Cell | None = None, scaler: Any = None,
               dataset: Any = None, callbacks: Any = None) -> dict[str, Any] | None:
    """Take back what `save_state` wrote; gives {"epoch": .., "step": .., and extra}, or None where there is no file.

    The data set goes on after the rows that lie behind (set_init_step); callbacks, of which those that keep something are the
    same as in the file, go on in the next training (EarlyStopping counts epochs). From here on steps give the same bits
    whatever ran before them (the switch `repeatable`); so a program calls it first, whether there is a file or not.
    raises : FileFormatError for damage, another kind of file, or one that does not hold the same Parameters: then nothing is
             changed; ArgumentError for a data set that cannot begin elsewhere
    """
    config.set(repeatable=True)
    path = os.fspath(path)
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as stream:
        values = read_ckpt(stream.read(), path, crc=True)
    if not {"random", "numpy", "python", "seed", "epoch", "step", "rows"} <= values.keys():
        raise FileFormatError(f"{path} is no state of a training", hint="load_checkpoint reads Parameters")
    if dataset is not None and not hasattr(dataset, "set_init_step"):
        raise ArgumentError(f"load_state: a {type(dataset).__name__} cannot begin elsewhere", hint="one of mindlite.dataset")
    pairs: list[tuple[Parameter, np.ndarray]] = []
    for place, param in _parameters(network, optimizer, scaler):
        given = values.get(place)
        if given is None or given.shape != tuple(param.shape) or given.dtype != param.dtype.numpy:
            _, part, name = place.split("/", 2)
            raise FileFormatError(f"{path} holds another training: its {part} has no {name} of {param.dtype.short}"
                                  f"{list(param.shape)}")
        pairs.append((param, given))
    resumed = [_resumed(values, f"callback/{k}", callback, path) for k, callback in enumerate(_keeping(callbacks))]
    for callback, kept in zip(_keeping(callbacks), resumed):
        callback.resumed = kept
    for param, given in pairs:
        param.set_data(Tensor(given, param.dtype))
    if isinstance(scaler, LossScaleManager):
        vars(scaler).update(json.loads(values["manager"]))
    seed, bits = json.loads(values["seed"])
    if seed is not None:
        seeds.set_seed(seed)
    seeds.generator().bit_generator.state = bits
    current_state().overwrite(values["random"])
    kind, keys, *rest = json.loads(values["numpy"])
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    version, numbers, gauss = json.loads(values["python"])
    random.setstate((version, tuple(numbers), gauss))
    if dataset is not None:
        if "data_seed" in values and int(values["data_seed"]) != data_config.DEFAULT_SEED:
            data_config.set_seed(int(values["data_seed"]))
        dataset.set_init_step(int(values["rows"]))
    found = {"epoch": int(values["epoch"]), "step": int(values["step"])}
    found.update((name[len("extra/"):], value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value)
                 for name, value in values.items() if name.startswith("extra/"))
    return found


def _parameters(*owners: Any) -> list[tuple[str, Parameter]]:
    """(place in the file, Parameter) of network, optimizer and scaler, each once. raises : ArgumentError for what holds none"""
    found: dict[int, tuple[str, Parameter]] = {}
    for part, owner in zip(PARTS, owners):
        for name, param in _named(part, owner).items():
            found.setdefault(id(param), (f"part/{part}/{name}", param))
    return list(found.values())


def _named(part: str, owner: Any) -> dict[str, Parameter]:
    if owner is None or isinstance(owner, LossScaleManager):
        return {}
    if isinstance(owner, nn.Cell):
        return {param.name: param for param in owner.get_parameters()}
    found = {name: value for name, value in getattr(owner, "__dict__", {}).items() if isinstance(value, Parameter)}
    if not found:
        raise ArgumentError(f"save_state: the {part} is a {type(owner).__name__} without Parameters")
    return found


def _keeping(callbacks: Any) -> list[Callback]:
    return [callback for callback in as_callbacks(callbacks) if callback.kept]


def _kept(place: str, callback: Callback) -> dict[str, Any]:
    """What a callback keeps, as values of the file: numbers as JSON, Parameters as they are."""
    numbers: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for name in callback.kept:
        value = getattr(callback, name)
        if isinstance(value, dict) and value and all(isinstance(one, Parameter) for one in value.values()):
            found.update((f"{place}/{name}/{key}", param.asnumpy()) for key, param in value.items())
        else:
            numbers[name] = value
    return {place: json.dumps([type(callback).__name__, numbers], default=float), **found}


def _resumed(values: dict, place: str, callback: Callback, path: str) -> dict[str, Any]:
    """{attribute: its value} of a callback. raises : FileFormatError"""
    kind, found = json.loads(values[place]) if place in values else (None, {})
    if kind != type(callback).__name__:
        raise FileFormatError(f"{path} holds another training: its callbacks are not {type(callback).__name__} at this place",
                              hint="the callbacks of the run that wrote it, in their order")
    for name in callback.kept:
        begin = f"{place}/{name}/"
        params = {key[len(begin):]: value for key, value in values.items() if key.startswith(begin)}
        if params:
            found[name] = {key: Parameter(Tensor(value), name=key) for key, value in params.items()}
    return found


class SaveState(Callback):
    """Writes the state of a training by Model every `steps` steps, and after each epoch, when all other callbacks have been
    called. See the module.
    """
    runs_last = True

    def __init__(self, path: Any, steps: int = 0) -> None:
        self.path, self.steps = os.fspath(path), check_non_negative_int(steps, "steps", "SaveState")
        config.set(repeatable=True)

    def on_train_step_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if self.steps and args.cur_step_num % self.steps == 0:
            self._save(args, (args.cur_step_num - 1) % args.batch_num + 1)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        self._save(args, args.batch_num)

    def _save(self, args: Any, step: int) -> None:
        epochs, step = divmod((args.cur_epoch_num - 1) * args.batch_num + step, args.batch_num)
        save_state(self.path, network=args.train_network, scaler=args.loss_scale_mananger, dataset=args.train_dataset,
                   callbacks=args.list_callback, epoch=epochs, step=step, epoch_steps=args.batch_num)
