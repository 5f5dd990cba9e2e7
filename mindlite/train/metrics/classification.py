"""Accuracy, precision, recall, F-beta, and the curve of true over false positives."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...common.checks import check_value_type
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from .metric import ByClass, Metric, rearrange_inputs

TINY = sys.float_info.min                    # keeps 0 / 0 at 0


class Accuracy(ByClass):
    """The share of right predictions; with eval_type "multilabel", of samples all of whose labels are right."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._right = self._total = self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._read(inputs)
        if self._type == "classification":
            right = np.equal(predicted.argmax(axis=1), truth)
        else:
            right = np.equal(predicted, truth).all(axis=1)
        self._right += int(right.sum())
        self._total += right.size

    def eval(self) -> float:
        self._demand(self._total)
        return self._right / self._total


class _Share(ByClass):
    """True positives over a count, by class; with several labels, by sample."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        self._hits: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []

    def _counted(self, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._hot(*self._read(inputs))
        self._hits.append((predicted * truth).sum(axis=0, dtype=float))
        self._counts.append(self._counted(predicted, truth).sum(axis=0, dtype=float))       # TINY is 0 in float32
        if self._type == "classification":
            self._hits, self._counts = [np.sum(self._hits, axis=0)], [np.sum(self._counts, axis=0)]

    def eval(self, average: bool = False) -> Any:
        """One number for each class (with several labels, each sample), or their mean."""
        self._demand(self._class_num)
        check_value_type("average", average, bool, type(self).__name__)
        shares = np.concatenate(self._hits) / (np.concatenate(self._counts) + TINY)
        return shares.mean() if average else shares


class Precision(_Share):
    """Of what was predicted to be of a class, the share that is; with several labels, for each sample."""

    def _counted(self, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return predicted


class Recall(_Share):
    """Of what is of a class, the share that was predicted to be; with several labels, for each sample."""

    def _counted(self, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return truth


class Fbeta(ByClass):
    """(1 + beta^2) * precision * recall / (beta^2 * precision + recall) of each class. raises : ValueRangeError"""

    def __init__(self, beta: float) -> None:
        super().__init__("classification")
        if not beta > 0:
            raise ValueRangeError(f"Fbeta: beta {beta} is not above 0")
        self.beta = beta
        self.clear()

    def clear(self) -> None:
        self._hits: Any = 0
        self._predicted: Any = 0
        self._actual: Any = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._hot(*self._read(inputs))
        self._hits = self._hits + (predicted * truth).sum(axis=0)
        self._predicted = self._predicted + predicted.sum(axis=0)
        self._actual = self._actual + truth.sum(axis=0)

    def eval(self, average: bool = False) -> Any:
        """One number for each class, or their mean."""
        check_value_type("average", average, bool, "Fbeta")
        self._demand(self._class_num)
        square = self.beta ** 2
        found = (1 + square) * self._hits / (square * self._actual + self._predicted + TINY)
        return found.mean() if average else found


class F1(Fbeta):
    """Fbeta with beta 1: the harmonic mean of precision and recall."""

    def __init__(self) -> None:
        super().__init__(1.0)


class ROC(Metric):
    """(false positive rates, true positive rates, thresholds), falling thresholds; the first is one above the greatest.

    class_num : None or 1: predictions and truths of one shape, pos_label (1) is positive; else predictions [N, class_num] and
                truths [N]: lists of one curve for each class, against all others
    raises    : ShapeError, ValueRangeError where the inputs do not fit, or (eval) one of the two kinds does not occur
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None:
                check_value_type(name, value, int, "ROC")
        self.class_num, self.pos_label = class_num, pos_label
        self.clear()

    def clear(self) -> None:
        self._scores: list[np.ndarray] = []
        self._truths: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, truth = self._arrays(inputs)
        if scores.ndim == truth.ndim:
            if self.class_num not in (None, 1):
                raise ValueRangeError(f"ROC.update: one score for each truth is for class_num 1, not {self.class_num}")
            scores, truth = scores.reshape(-1), truth.reshape(-1)
        elif scores.ndim == truth.ndim + 1:
            if self.pos_label is not None or self.class_num != scores.shape[1]:
                raise ValueRangeError(f"ROC.update: the scores are of {scores.shape[1]} classes, class_num is {self.class_num}",
                                      note=f"pos_label: {self.pos_label}", hint="give class_num, and no pos_label")
            scores = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
            truth = truth.reshape(-1)
        else:
            raise ShapeError("ROC.update: the truth is no class for each score",
                             note=f"{list(scores.shape)} and {list(truth.shape)}")
        self._scores.append(scores)
        self._truths.append(truth)

    def eval(self) -> Any:
        self._demand(self._scores)
        scores, truth = np.concatenate(self._scores), np.concatenate(self._truths)
        if scores.ndim == 1:
            return _curve(scores, truth == (1 if self.pos_label is None else self.pos_label))
        curves = [_curve(scores[:, number], truth == number) for number in range(scores.shape[1])]
        return tuple([list(column) for column in zip(*curves)])


def _curve(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if positive.all() or not positive.any():
        raise ValueRangeError(f"ROC: all samples are {'positive' if positive.any() else 'negative'}, so that one rate is 0 / 0")
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    last = np.append(np.nonzero(np.diff(scores))[0], scores.size - 1)         # the last sample of each score
    hits = np.concatenate([[0], np.cumsum(positive)[last]])
    false = np.concatenate([[0], 1 + last]) - hits
    return false / false[-1], hits / hits[-1], np.concatenate([[scores[0] + 1], scores[last]])


def auc(x: np.ndarray, y: np.ndarray, reorder: bool = False) -> float:
    """The area under a curve by the trapezoid rule.

    x, y : [n] or [n, 1], n > 1; x rises or falls, unless it is sorted first (reorder)
    raises : ArgumentError for what is no array, ShapeError, ValueRangeError
    """
    for value in (x, y):
        if not isinstance(value, np.ndarray):
            raise ArgumentError(f"auc: takes arrays, not {type(value).__name__}")
        if value.ndim not in (1, 2) or value.ndim == 2 and value.shape[1] != 1:
            raise ShapeError("auc: takes arrays of one axis", note=str(list(value.shape)))
    x, y = x.reshape(-1), y.reshape(-1)
    if x.size != y.size or x.size < 2:
        raise ShapeError("auc: x and y have the same number of points, at least two", note=f"{x.size} and {y.size}")
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise ValueRangeError("auc: x neither rises nor falls", hint="reorder=True sorts it")
    return float(abs(np.sum(steps)) and np.sum(steps * (y[1:] + y[:-1]) / 2) * np.sign(np.sum(steps)))
