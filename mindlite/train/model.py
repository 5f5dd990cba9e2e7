"""Model: training, evaluation and prediction of a network, with callbacks and metrics.

    model = Model(net, loss_fn=nn.CrossEntropyLoss(), optimizer=nn.Adam(net.trainable_params()), metrics={"acc"})
    model.fit(10, train_dataset, valid_dataset, callbacks=[LossMonitor(100)])
    model.eval(valid_dataset)      {"acc": 0.98}                  model.predict(x)

    epoch_begin { step_begin  train_network(*batch)  step_end } epoch_end        train_network = the loss, its gradients, the
                                                                                 optimiser's update: one Cell

In GRAPH_MODE that Cell is one compiled graph; with dataset_sink_mode a whole round of steps is one native call. In
PYNATIVE_MODE it runs line by line. The numbers are the same. A data set is what has get_dataset_size() and
create_tuple_iterator(num_epochs), or can be iterated and has a length.
"""
from __future__ import annotations

import concurrent.futures
import copy
import itertools
from typing import Any, Callable, Iterator

import numpy as np

from .. import nn
from ..amp.build import build_train_network, check_boost_level
from ..common.checks import check_non_negative_int, check_positive_int, check_value_type
from ..common.config import GRAPH_MODE, config
from ..common.errors import ArgumentError, MindliteError, ValueRangeError
from ..common.tensor import Tensor
from ..functional.cell import compiled_cell
from ..functional.data_sink import steps_of
from ..nn.auto_parallel import AutoParallel, under_settings
from .callback import Callback, Callbacks, RunArguments, RunContext, as_callbacks, resume
from .metrics import Loss, get_metrics
from .monitors import LossMonitor, TimeMonitor
from .progress import ProgressBar

SETTINGS = ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level")
SINK_BYTES = 64 << 20                        # batches of one native call, at most


class DatasetInUseError(MindliteError, RuntimeError):
    """A data set that another Model is trained with."""


class Model:
    """See the module.

    network      : a Cell; without loss_fn it gives the loss itself
    loss_fn      : a function of (the network's result, label);   optimizer : an Optimizer
    metrics      : a set of names or {name: Metric}, for eval and fit
    eval_network : a Cell whose results the metrics are given, in place of network and loss_fn
    eval_indexes : where in its results the loss, the prediction and the label stand: three ints; None: all of them
    amp_level    : "O0" to "O3", "auto" (amp.auto_mixed_precision)     boost_level : see amp.build_train_network
    loss_scale_manager, keep_batchnorm_fp32 : see amp.build_train_network
    raises       : ArgumentError, ValueRangeError for arguments that do not fit together; UnknownMetricError
    """

    def __init__(self, network: nn.Cell, loss_fn: Any = None, optimizer: Any = None, metrics: Any = None,
                 eval_network: nn.Cell | None = None, eval_indexes: list | None = None, amp_level: str = "O0",
                 boost_level: str = "O0", **kwargs: Any) -> None:
        check_value_type("network", network, nn.Cell, "Model")
        unknown = [name for name in kwargs if name not in SETTINGS]
        if unknown:
            raise ValueRangeError(f"Model: there is no argument {unknown[0]!r}", hint=", ".join(SETTINGS))
        if isinstance(network, nn.GraphCell) and (loss_fn is not None or optimizer is not None or kwargs):
            raise ValueRangeError("Model: a GraphCell takes no loss_fn, optimizer or other settings")
        check_boost_level(kwargs.get("acc_level", boost_level))
        self._network, self._loss_fn, self._optimizer, self._amp_level = network, loss_fn, optimizer, amp_level
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        self._train_network = self._build_train_network(kwargs)
        self._metrics = get_metrics(metrics)
        self._eval_network, self._eval_indexes = self._build_eval_network(eval_network, eval_indexes)
        self._sink: Callable | None = None

    def _build_train_network(self, settings: dict) -> nn.Cell:
        if self._optimizer is None:
            for name, given in (("amp_level", self._amp_level != "O0"),
                                ("loss_scale_manager", self._loss_scale_manager is not None)):
                if given:
                    raise ValueRangeError(f"Model: {name} wants an optimizer")
            return self._network if self._loss_fn is None else nn.WithLossCell(self._network, self._loss_fn)
        known = {name: settings[name] for name in ("loss_scale_manager", "keep_batchnorm_fp32")
                 if name in settings and not (name == "keep_batchnorm_fp32" and settings[name] is None)}
        wished = self._network if isinstance(self._network, AutoParallel) else None
        network = self._network if wished is None else wished.network
        step = build_train_network(network, self._optimizer, self._loss_fn, self._amp_level, **known)
        return under_settings(step) if wished is None else wished.around(step)

    def _build_eval_network(self, network: Any, indexes: Any) -> tuple[Any, list | None]:
        if not self._metrics:
            return network, indexes
        if network is not None:
            if indexes is not None and (not isinstance(indexes, list) or len(indexes) != 3):
                raise ValueRangeError(f"Model: eval_indexes is None or three ints in a list, not {indexes!r}")
            return network, indexes
        if self._loss_fn is None:
            raise ValueRangeError("Model: metrics want a loss_fn or an eval_network")
        return nn.WithEvalCell(self._network, self._loss_fn, self._amp_level in ("O2", "O3", "auto")), [0, 1, 2]

    @property
    def train_network(self) -> nn.Cell:
        """The Cell of one training step: (data, label) -> the loss; without an optimizer only the loss."""
        return self._train_network

    @property
    def eval_network(self) -> nn.Cell | None:
        """The Cell whose results the metrics are given."""
        return self._eval_network

    @property
    def predict_network(self) -> nn.Cell:
        """The network."""
        return self._network

    # ---------------------------------------------------------------- training

    def train(self, epoch: int, train_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False,
              sink_size: int = -1, initial_epoch: int = 0) -> None:
        """Train up to `epoch`.

        callbacks         : a Callback or a list of them. Without LossMonitor and TimeMonitor the progress is shown on
                            standard error (the switch `progress`)
        dataset_sink_mode : in GRAPH_MODE the steps of an epoch run in one native call, with one step_begin and step_end
        sink_size         : then that many steps are an epoch, and the next one goes on in the data; -1: all steps
        initial_epoch     : how many epochs are done already; a data set with an init step (`set_init_step`, `load_state`)
                            begins there, within its epoch
        raises            : ArgumentError, ValueRangeError; what the network and the callbacks raise
        """
        self._fit("Model.train", epoch, train_dataset, None, 1, callbacks, dataset_sink_mode, sink_size, initial_epoch)

    def fit(self, epoch: int, train_dataset: Any, valid_dataset: Any = None, valid_frequency: Any = 1, callbacks: Any = None,
            dataset_sink_mode: bool = False, valid_dataset_sink_mode: bool = False, sink_size: int = -1,
            initial_epoch: int = 0) -> None:
        """Train, and evaluate with valid_dataset after every valid_frequency-th epoch, or after those in a list.

        What the evaluation gave stands in the arguments of epoch_end: metrics, and eval_results with eval_loss.
        """
        check_value_type("valid_dataset_sink_mode", valid_dataset_sink_mode, bool, "Model.fit")
        if isinstance(valid_frequency, bool) or not isinstance(valid_frequency, (int, list)):
            raise ArgumentError(f"Model.fit: valid_frequency is an int or a list, not {type(valid_frequency).__name__}")
        if valid_dataset is not None and not self._metrics:
            raise ValueRangeError("Model.fit: valid_dataset wants metrics", hint='Model(.., metrics={"loss"})')
        self._fit("Model.fit", epoch, train_dataset, valid_dataset, valid_frequency, callbacks, dataset_sink_mode, sink_size,
                  initial_epoch)

    def _fit(self, name: str, epoch: int, dataset: Any, valid_dataset: Any, valid_frequency: Any, callbacks: Any,
             sink_mode: bool, sink_size: int, initial_epoch: int) -> None:
        check_value_type("dataset_sink_mode", sink_mode, bool, name)
        check_value_type("sink_size", sink_size, int, name)
        check_positive_int(epoch, "epoch", name)
        if check_non_negative_int(initial_epoch, "initial_epoch", name) >= epoch:
            raise ValueRangeError(f"{name}: initial_epoch {initial_epoch} is not below epoch {epoch}")
        if sink_size < -1 or sink_size == 0:
            raise ValueRangeError(f"{name}: sink_size is -1 or above 0, not {sink_size}")
        if sink_mode and isinstance(self._network, nn.GraphCell):
            raise ValueRangeError(f"{name}: there is no dataset_sink_mode for a GraphCell")
        size = size_of(dataset)
        if size == 0:
            raise ValueRangeError(f"{name}: the data set is empty")
        self._claim(dataset)
        steps = sink_size if sink_mode and sink_size > 0 else size
        done = dataset.get_init_step() if hasattr(dataset, "get_init_step") else 0
        given = as_callbacks(callbacks)
        args = RunArguments(
            mode="train", train_network=self._train_network, network=self._network, loss_fn=self._loss_fn,
            optimizer=self._optimizer, train_dataset=dataset, epoch_num=epoch - initial_epoch, last_epoch=epoch,
            batch_num=steps, cur_step_num=done, cur_epoch_num=initial_epoch, list_callback=given,
            dataset_sink_mode=sink_mode, sink_size=steps,
            parallel_mode="stand_alone", device_number=1, train_dataset_element=None, net_outputs=None,
            last_save_ckpt_step=None, latest_ckpt_file=None, loss_scale_mananger=self._loss_scale_manager)
        shown = config.progress and not any(isinstance(c, (LossMonitor, TimeMonitor, ProgressBar)) for c in given)
        with Callbacks([*given, ProgressBar()] if shown else given) as hooks:
            context = RunContext(args)
            count = done // size + epoch - initial_epoch
            source = _Epochs(dataset, count, sink_mode and sink_size > 0, steps, done % steps)
            hooks.call("on_train_begin", context)
            resume(hooks.each)
            for number in range(initial_epoch, epoch):
                args.cur_epoch_num = number + 1
                hooks.call("on_train_epoch_begin", context)
                self._run_epoch(source, args, hooks, context)
                if valid_dataset is not None and _is_due(number + 1, valid_frequency):
                    self._evaluate_between(valid_dataset, args, hooks)
                hooks.call("on_train_epoch_end", context)
                args.pop("metrics", None)
                args.pop("eval_results", None)
                if context.get_stop_requested():
                    break
            hooks.call("on_train_end", context)

    def _claim(self, dataset: Any) -> None:
        """raises : DatasetInUseError where another Model trains with the data set"""
        held = getattr(dataset, "__dict__", None)
        if held is not None and held.setdefault("__model_hash__", hash(self)) != hash(self):
            raise DatasetInUseError("the data set is in use by another Model", hint="make a new one, with the same arguments")

    def _run_epoch(self, source: _Epochs, args: RunArguments, hooks: Callbacks, context: RunContext) -> None:
        with source.epoch() as batches:
            if args.dataset_sink_mode and config.mode == GRAPH_MODE and not isinstance(self._train_network, AutoParallel):
                hooks.call("on_train_step_begin", context)
                args.net_outputs, count, args.train_dataset_element = self._sunk(batches)
                args.cur_step_num += count
                hooks.call("on_train_step_end", context)
                return
            for batch in batches:
                self._check(batch)
                args.cur_step_num += 1
                args.train_dataset_element = batch
                hooks.call("on_train_step_begin", context)
                args.net_outputs = self._step(batch)
                hooks.call("on_train_step_end", context)
                if context.get_stop_requested():
                    break

    def _check(self, batch: tuple) -> None:
        if self._loss_fn is not None and len(batch) != 2:
            raise ValueRangeError(f"Model: with a loss_fn a batch is (data, label), not {len(batch)} columns",
                                  hint="without loss_fn the network gets all columns and gives the loss")

    def _step(self, batch: tuple) -> Any:
        self._set_mode(self._train_network, True)
        outputs = self._train_network(*batch)
        manager = self._loss_scale_manager
        if manager is not None and manager.get_drop_overflow_update():
            manager.update_loss_scale(bool(np.all(outputs[1].asnumpy())))
        return outputs

    def _sunk(self, batches: Iterator[tuple]) -> tuple[Any, int, tuple]:
        """The steps of all batches in native calls of SINK_BYTES of data; while one runs the next batches are read."""
        self._set_mode(self._train_network, True)
        if self._sink is None:
            self._sink = steps_of(self._train_network)
        outputs: Any = None
        last: tuple = ()
        count = 0
        with concurrent.futures.ThreadPoolExecutor(1) as reader:
            waiting = reader.submit(_take, batches, SINK_BYTES)
            while taken := waiting.result():
                for batch in taken:
                    self._check(batch)
                waiting = reader.submit(_take, batches, SINK_BYTES)
                outputs = self._sink(taken)
                count, last = count + len(taken), taken[-1]
        return outputs, count, tuple([Tensor(column) for column in last])

    @staticmethod
    def _set_mode(network: nn.Cell, training: bool) -> None:
        if network.training != training or any(cell.training != training for _, cell in network.cells_and_names()):
            network.set_train(training)

    # ---------------------------------------------------------------- evaluation and prediction

    def eval(self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """{name of the metric: its value} over the data set.

        raises : ValueRangeError where the Model has no metrics, or the data set is empty
        """
        check_value_type("dataset_sink_mode", dataset_sink_mode, bool, "Model.eval")
        if not self._metrics:
            raise ValueRangeError("Model.eval: the Model has no metrics", hint='Model(.., metrics={"acc"})')
        given = as_callbacks(callbacks)
        args = RunArguments(mode="eval", list_callback=given, network=self._network, parallel_mode="stand_alone",
                            device_number=1)
        with Callbacks(given) as hooks:
            return self._evaluate(valid_dataset, args, hooks)

    def _evaluate(self, dataset: Any, args: RunArguments, hooks: Callbacks) -> dict[str, Any]:
        args.update(eval_network=self._eval_network, valid_dataset=dataset, batch_num=size_of(dataset), cur_step_num=0,
                    mode="eval", dataset_sink_mode=False)
        context, loss = RunContext(args), Loss()
        for metric in self._metrics.values():
            metric.clear()
        hooks.call("on_eval_begin", context)
        hooks.call("on_eval_epoch_begin", context)
        with _Epochs(dataset, 1, False, 0).epoch() as batches:
            for batch in batches:
                args.cur_step_num += 1
                args.eval_dataset_element = batch
                hooks.call("on_eval_step_begin", context)
                self._set_mode(self._eval_network, False)
                args.net_outputs = self._eval_network(*batch)
                hooks.call("on_eval_step_end", context)
                self._update_metrics(args.net_outputs, loss)
                if context.get_stop_requested():
                    break
        hooks.call("on_eval_epoch_end", context)
        args.metrics = {name: metric.eval() for name, metric in self._metrics.items()}
        args.eval_results = copy.deepcopy(args.metrics)
        if self._eval_indexes is not None:
            args.eval_results["eval_loss"] = loss.eval()
        hooks.call("on_eval_end", context)
        return args.metrics

    def _update_metrics(self, outputs: Any, loss: Loss) -> None:
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        if not isinstance(outputs, tuple) or self._eval_indexes is not None and len(outputs) < 3:
            raise ValueRangeError("Model.eval: the eval_network gives a tuple of (loss, prediction, label)",
                                  hint="without eval_indexes the metrics are given all that it gives")
        if self._eval_indexes is None:
            for metric in self._metrics.values():
                metric.update(*outputs)
            return
        places = self._eval_indexes
        loss.update(outputs[places[0]])
        for metric in self._metrics.values():
            metric.update(*[outputs[place] for place in (places[:1] if isinstance(metric, Loss) else places[1:])])

    def _evaluate_between(self, dataset: Any, args: RunArguments, hooks: Callbacks) -> None:
        """Evaluate between two epochs of training; of mindlite's callbacks only TimeMonitor takes part."""
        before = {name: args[name] for name in ("mode", "cur_step_num", "batch_num", "dataset_sink_mode", "net_outputs")}
        own = Callbacks([c for c in hooks.each if isinstance(c, TimeMonitor) or not _is_ours(c)])
        self._evaluate(dataset, args, own)
        args.update(before)

    def predict(self, *predict_data: Any, backend: str | None = None, config: Any = None) -> Any:
        """network(*predict_data), not in training mode.

        backend : None; "lite" is MindSpore Lite, which is not here.  raises : ValueRangeError for another one
        """
        if backend not in (None, "lite") or backend == "lite":
            raise ValueRangeError(f"Model.predict: there is no backend {backend!r}", hint="leave it out")
        for value in predict_data:
            if not isinstance(value, (Tensor, int, float, str, type(None), list, tuple, dict)):
                raise ArgumentError(f"Model.predict: takes Tensors and numbers, not {type(value).__name__}")
        self._set_mode(self._network, False)
        return self._network(*predict_data)

    def build(self, train_dataset: Any = None, valid_dataset: Any = None, sink_size: int = -1, epoch: int = 1,
              sink_mode: bool = True) -> None:
        """Compile, in GRAPH_MODE, the steps of training and evaluation for the data sets' first batches, without running
        them. raises : ValueRangeError without a data set, and for valid_dataset without metrics
        """
        check_positive_int(epoch, "epoch", "Model.build")
        if train_dataset is None and valid_dataset is None:
            raise ValueRangeError("Model.build: give train_dataset or valid_dataset")
        if valid_dataset is not None and not self._metrics:
            raise ValueRangeError("Model.build: valid_dataset wants metrics")
        for dataset, network, training in ((train_dataset, self._train_network, True),
                                           (valid_dataset, self._eval_network, False)):
            if dataset is not None and config.mode == GRAPH_MODE:
                with _Epochs(dataset, 1, False, 0).epoch() as batches:
                    batch = next(iter(batches), None)
                if batch is None:
                    raise ValueRangeError("Model.build: the data set is empty")
                network.set_train(training)
                compiled_cell(network).select(batch, {})

    def infer_predict_layout(self, *predict_data: Any, skip_backend_compile: bool = False) -> None:
        """Layouts of Parameters over devices, of which there is one. raises : ValueRangeError, as MindSpore does then"""
        raise ValueRangeError("Model.infer_predict_layout: there is one device, so no layout")

    def infer_train_layout(self, train_dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1) -> None:
        """Layouts of Parameters over devices, of which there is one. raises : ValueRangeError, as MindSpore does then"""
        raise ValueRangeError("Model.infer_train_layout: there is one device, so no layout")


def _is_ours(callback: Callback) -> bool:
    return type(callback).__module__.startswith(__name__.rpartition(".")[0] + ".")


def _is_due(epoch: int, frequency: Any) -> bool:
    return epoch in frequency if isinstance(frequency, list) else epoch % frequency == 0


def size_of(dataset: Any) -> int:
    """The number of batches. raises : ArgumentError for what is no data set"""
    if hasattr(dataset, "get_dataset_size"):
        return dataset.get_dataset_size()
    if hasattr(dataset, "__len__") and hasattr(dataset, "__iter__"):
        return len(dataset)
    raise ArgumentError(f"a data set has get_dataset_size() and create_tuple_iterator(); a {type(dataset).__name__} has not",
                        hint="mindlite.dataset.GeneratorDataset makes one of a Python object")


def _take(batches: Iterator[tuple], most: int) -> list[tuple]:
    """The next batches as arrays, up to `most` bytes but at least one while there are any."""
    taken: list[tuple] = []
    size = 0
    for batch in batches:
        taken.append(tuple([a.asnumpy() if isinstance(a, Tensor) else np.asarray(a) for a in batch]))
        size += sum(array.nbytes for array in taken[-1])
        if size >= most:
            break
    return taken


class _Epochs:
    """The batches of a data set, epoch by epoch: a pass each, or (endless) `steps` batches, going on where it stopped.

    done : batches of the first epoch that lie behind
    """

    def __init__(self, dataset: Any, count: int, endless: bool, steps: int, done: int = 0) -> None:
        self.dataset, self.endless, self.steps, self.done = dataset, endless, steps, done
        self._passes: Any = dataset.create_tuple_iterator(num_epochs=-1 if endless else count) \
            if hasattr(dataset, "create_tuple_iterator") else dataset
        self._running = self._for_ever() if endless else iter(())

    def epoch(self) -> _Epochs:
        """A block in which this object gives the batches of the next epoch; after it the data set is reset."""
        return self

    def __enter__(self) -> Iterator[tuple]:
        left, self.done = self.steps - self.done, 0
        return itertools.islice(self._running, left) if self.endless else self._pass()

    def __exit__(self, *error: Any) -> None:
        if not self.endless and error[0] is None and hasattr(self.dataset, "reset"):
            self.dataset.reset()

    def _pass(self) -> Iterator[tuple]:
        for batch in self._passes:
            yield tuple(batch.values()) if isinstance(batch, dict) else \
                tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)

    def _for_ever(self) -> Iterator[tuple]:
        while True:
            empty = True
            for batch in self._pass():
                empty = False
                yield batch
            if empty:
                raise ArgumentError("the data set gives its batches once only")
            if hasattr(self.dataset, "reset"):
                self.dataset.reset()
