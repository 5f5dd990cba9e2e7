"""How often the truth is among the k classes with the greatest scores."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from .metric import Metric, is_one_hot, rearrange_inputs


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class is among the k greatest scores. raises : ArgumentError, ValueRangeError; ShapeError"""

    def __init__(self, k: int) -> None:
        if isinstance(k, bool) or not isinstance(k, int):
            raise ArgumentError(f"{type(self).__name__}: k is an int, not {type(k).__name__}")
        if k < 1:
            raise ValueRangeError(f"{type(self).__name__}: k is at least 1, not {k}")
        self.k = k
        self.clear()

    def clear(self) -> None:
        self._right = self._samples = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, truth = self._arrays(inputs)
        if scores.ndim == truth.ndim and is_one_hot(truth):
            truth = truth.argmax(axis=1)
        if scores.ndim != 2 or truth.size != len(scores):
            raise ShapeError(f"{type(self).__name__}.update: scores are [N, C] and truths [N]",
                             note=f"{list(scores.shape)} and {list(truth.shape)}")
        best = np.argsort(-scores, axis=1)[:, :self.k]
        self._right += int((best == truth.reshape(-1, 1)).sum())
        self._samples += len(scores)

    def eval(self) -> float:
        self._demand(self._samples)
        return self._right / self._samples


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy with k 1."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy with k 5."""

    def __init__(self) -> None:
        super().__init__(5)
