"""Metric: the base of metrics, and what reading their inputs shares."""
from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from ...common.errors import ArgumentError, MindliteError, ShapeError, ValueRangeError
from ...common.tensor import Tensor


class NoSamplesError(MindliteError, RuntimeError):
    """eval before any update."""


class Metric:
    """Base of metrics: a subclass defines clear, update and eval."""

    _indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Which inputs of `update` count, in this order; None for all."""
        return self._indexes

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Let `update` take, of its inputs, those with these numbers; returns self. raises : ValueRangeError"""
        if not isinstance(indexes, list) or not all(isinstance(i, int) for i in indexes):
            raise ValueRangeError(f"set_indexes: takes a list of ints, not {indexes!r}")
        self._indexes = indexes
        return self

    def __call__(self, *inputs: Any) -> Any:
        self.clear()
        self.update(*inputs)
        return self.eval()

    def clear(self) -> None:
        """Forget all samples."""
        raise NotImplementedError(f"{type(self).__name__} does not define clear()")

    def update(self, *inputs: Any) -> None:
        """Count a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define update(*inputs)")

    def eval(self) -> Any:
        """The metric of all samples since `clear`. raises : NoSamplesError where there was none"""
        raise NotImplementedError(f"{type(self).__name__} does not define eval()")

    def _convert_data(self, data: Any) -> np.ndarray:
        """The array of a Tensor, list or array. raises : ArgumentError"""
        if isinstance(data, Tensor):
            data = data.asnumpy()
        elif isinstance(data, list):
            data = np.array(data)
        if not isinstance(data, np.ndarray):
            raise ArgumentError(f"{type(self).__name__}.update: takes Tensors, arrays and lists, not {type(data).__name__}")
        return data.astype(np.float32) if data.dtype.kind == "V" or data.dtype.name == "bfloat16" else data

    def _arrays(self, inputs: Any, what: str = "the prediction and the truth") -> list[np.ndarray]:
        """Two inputs as arrays. raises : ValueRangeError for another number of them"""
        self._count(inputs, 2, what)
        return [self._convert_data(value) for value in inputs]

    def _count(self, inputs: Any, number: int, what: str) -> None:
        if len(inputs) != number:
            raise ValueRangeError(f"{type(self).__name__}.update: takes {what}, {number} inputs, not {len(inputs)}")

    def _demand(self, samples: Any) -> None:
        if not samples:
            raise NoSamplesError(f"{type(self).__name__}: there are no samples", hint="call update before eval")


def rearrange_inputs(func: Callable) -> Callable:
    """A decorator of `update`: it is given the inputs that `set_indexes` chose."""
    @functools.wraps(func)
    def update(self: Metric, *inputs: Any) -> Any:
        chosen = self.indexes
        return func(self, *(inputs if not chosen else [inputs[i] for i in chosen]))
    return update


def is_one_hot(array: np.ndarray) -> bool:
    """True for zeros and ones with a single one along the axis 1."""
    return array.ndim > 1 and bool(np.equal(array ** 2, array).all()) and bool(np.equal(array.sum(axis=1), 1).all())


class ByClass(Metric):
    """What metrics of classes share: predictions [N, C, ..], truths as numbers of classes [N, ..] or one-hot; with
    eval_type "multilabel" both zeros and ones of one shape. raises : ArgumentError for another eval_type
    """

    def __init__(self, eval_type: str) -> None:
        if eval_type not in ("classification", "multilabel"):
            raise ArgumentError(f"{type(self).__name__}: eval_type is classification or multilabel, not {eval_type!r}")
        self._type, self._class_num = eval_type, 0

    def _read(self, inputs: Any) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of a batch, the truth as numbers. raises : ShapeError, ValueRangeError where they do not fit"""
        predicted, truth = self._arrays(inputs)
        name = f"{type(self).__name__}.update"
        if self._type == "classification":
            if predicted.ndim == truth.ndim and is_one_hot(truth):
                truth = truth.argmax(axis=1)
            if predicted.ndim != truth.ndim + 1 or truth.shape != predicted.shape[:1] + predicted.shape[2:]:
                raise ShapeError(f"{name}: the truth is no class for each prediction",
                                 note=f"{list(predicted.shape)} and {list(truth.shape)}")
        else:
            if predicted.shape != truth.shape:
                raise ShapeError(f"{name}: the shapes differ", note=f"{list(predicted.shape)} and {list(truth.shape)}")
            if any(not np.isin(array, (0, 1)).all() for array in (predicted, truth)):
                raise ValueRangeError(f"{name}: with several labels all elements are 0 or 1")
        classes = predicted.shape[1]
        if self._class_num not in (0, classes):
            raise ValueRangeError(f"{name}: {classes} classes, but {self._class_num} before")
        if self._type == "classification" and truth.size and truth.max() >= classes:
            raise ValueRangeError(f"{name}: class {int(truth.max())} is none of {classes}")
        self._class_num = classes
        return predicted, truth

    def _hot(self, predicted: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both as zeros and ones: [samples, classes], with several labels [classes, samples]."""
        if self._type == "classification":
            hot = np.eye(self._class_num)
            return hot[predicted.argmax(axis=1).reshape(-1)], hot[truth.reshape(-1).astype(int)]
        rows = self._class_num
        return predicted.swapaxes(1, 0).reshape(rows, -1), truth.swapaxes(1, 0).reshape(rows, -1)
