"""Iterators: what a training loop sees of a pipeline. Here, and nowhere else in this room, arrays become Tensors.

    for images, labels in dataset.create_tuple_iterator(num_epochs=2): ..      one epoch; the same iterator gives the next
"""
from __future__ import annotations

import copy
import itertools
import weakref
from typing import Any, Iterator as Iterable_, cast

import numpy as np

from ..common.device import target_device
from ..common.errors import MindliteError
from ..common.tensor import Tensor
from .pipeline import Run

WORTH_COPYING = 1 << 16                  # bytes from which on an array is copied to the device when it is given
META = "_meta-"                          # columns whose names begin like this are given only after `rename`
ITERATORS_LIST: list[weakref.ref[Iterator]] = []              # those that are alive; MindSpore's name


def _forget(gone: weakref.ref[Iterator]) -> None:
    ITERATORS_LIST[:] = [one for one in ITERATORS_LIST if one is not gone]


def _placed(tensor: Tensor) -> Tensor:
    """A Tensor of a batch where kernels run: its copy goes beside what a device computes of the batch before.

    Integers stay on the CPU, where labels and indices are checked without a wait for the device; so do small arrays.
    """
    where = target_device()
    if where is None or tensor.nbytes < WORTH_COPYING or not tensor.dtype.is_float:
        return tensor
    return tensor.moved_to(where)


class EndOfDataError(MindliteError, RuntimeError):
    """Rows are asked for after the last epoch."""


class Iterator:
    """Rows of a dataset, epoch after epoch.

    num_epochs   : how many epochs there are, -1 for any number
    output_numpy : arrays in place of Tensors;  do_copy : arrays that share memory with nothing
    """

    def __init__(self, dataset: Any, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False) -> None:
        self.dataset, self.num_epochs = dataset, num_epochs
        self._output_numpy, self._do_copy = output_numpy, do_copy
        self._names = dataset.get_col_names()
        self._shown = [k for k, name in enumerate(self._names) if not name.startswith(META)]
        self._run = Run(dataset)
        self._epoch, self._skip = 0, 0
        if dataset.init_step:
            self._epoch, self._skip = divmod(dataset.init_step, max(dataset.get_dataset_size(), 1))
        self._rows: Iterable_ | None = None
        self._ended = False
        ITERATORS_LIST.append(weakref.ref(self, _forget))

    @property
    def skipped(self) -> int:
        """How many bad samples have been left out (`config.set_error_samples_mode`)."""
        return self._run.skipped

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        if self._rows is None:
            if self._ended:
                raise RuntimeError("Iterator does not have a running C++ pipeline: it has been stopped, or has raised an error.")
            if 0 <= self.num_epochs <= self._epoch:
                raise EndOfDataError("EOF buffer encountered. User tries to fetch data beyond the specified number of epochs.",
                                     hint=f"num_epochs={self.num_epochs} when the iterator was made")
            self._rows = self._begin()
        try:
            row = next(self._rows, None)
        except BaseException:
            self.stop()
            raise
        if row is None:
            self._rows = None
            self._run.end_epoch()
            self._epoch += 1
            if 0 <= self.num_epochs <= self._epoch:
                self._run.close()
            raise StopIteration
        return self._given(row)

    def _begin(self) -> Iterable_:
        self._run.start()
        self._run.epoch = self._epoch
        skip, self._skip = self._skip, 0
        if not skip:
            return self._run.rows(self.dataset, self._epoch)
        return self._run.rows(cast(Any, _Later(self.dataset, skip)), self._epoch)

    def _given(self, row: list) -> Any:
        raise NotImplementedError

    def _convert(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if self._do_copy or (self._run.pool is None and not self.dataset.makes_rows):
                value = value.copy()
            return value if self._output_numpy or value.dtype.kind in "USO" else _placed(Tensor.from_numpy(value))
        if isinstance(value, dict):
            return {key: self._convert(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._convert(inner) for inner in value)
        if isinstance(value, (bool, int, float, str, bytes, np.generic)):
            return self._convert(np.asarray(value))
        return copy.deepcopy(value) if self._do_copy else value

    def _reset(self, step: int, dataset_size: int) -> None:
        """Go on after `step` rows of all epochs, with the same rows as without interruption. raises : RuntimeError"""
        if step < 0:
            raise RuntimeError(f"Cannot reset the pipeline, reset step must be >= 0. step: {step}")
        if 0 <= self.num_epochs * dataset_size <= step:
            raise RuntimeError(f"Cannot reset the pipeline, reset step must be less than dataset_size * num_epochs. "
                               f"step: {step}, dataset_size: {dataset_size}, num_epochs: {self.num_epochs}")
        rows, self._rows = self._rows, None
        if rows is not None and hasattr(rows, "close"):
            rows.close()
        self._epoch, self._skip = divmod(step, dataset_size)

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return self._names

    def stop(self) -> None:
        """End the pipeline and its worker processes; the iterator gives nothing more."""
        rows, self._rows, self._ended = self._rows, None, True
        self._run.close()
        if rows is not None and hasattr(rows, "close"):
            rows.close()

    release = stop

    def __del__(self) -> None:
        if hasattr(self, "_run"):
            self._run.close()


class _Later:
    """A dataset without its first rows, which are not computed."""

    def __init__(self, dataset: Any, skip: int) -> None:
        self.dataset, self.skip = dataset, skip

    def walk(self, run: Run, epoch: int) -> Iterable_:
        """The rows after the first ones."""
        return itertools.islice(self.dataset.walk(run, epoch), self.skip, None)

    def stays_home(self) -> bool:
        """As the dataset."""
        return self.dataset.stays_home()


class TupleIterator(Iterator):
    """Rows as lists."""

    def _given(self, row: list) -> list:
        return [self._convert(row[k]) for k in self._shown]


class DictIterator(Iterator):
    """Rows as dicts by column name."""

    def _given(self, row: list) -> dict:
        return {self._names[k]: self._convert(row[k]) for k in self._shown}


_training: list[Iterator] = []                                # the one that `_reset_training_dataset` is about


def _set_training_dataset(iterator: Iterator) -> None:
    """Say which iterator a training loop reads; MindSpore's name."""
    _training[:] = [iterator]


def _get_training_dataset() -> Iterator | None:
    """The iterator that a training loop reads."""
    return _training[0] if _training else None


def _reset_training_dataset(global_step: int, dataset_size: int) -> None:
    """Let the iterator of the training loop go on after `global_step` rows. raises : RuntimeError"""
    if not _training:
        raise RuntimeError("Training dataset is not set.")
    _training[0]._reset(global_step, dataset_size)


def _cleanup() -> None:
    """End the pipelines of all iterators."""
    for iterator in [alive() for alive in ITERATORS_LIST]:
        if iterator is not None:
            iterator.stop()


def _set_iterator_cleanup() -> None:
    """MindSpore's name: here iterators always end with the interpreter."""


def _unset_iterator_cleanup() -> None:
    """MindSpore's name: here iterators always end with the interpreter."""


__all__ = ["Iterator", "TupleIterator", "DictIterator", "EndOfDataError", "_cleanup", "_set_iterator_cleanup",
           "_unset_iterator_cleanup"]
