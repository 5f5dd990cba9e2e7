"""Differences of numbers: losses, mean errors, similarity of vectors, overlap of regions."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...common.checks import check_value_type
from ...common.errors import ShapeError, ValueRangeError
from .metric import Metric, rearrange_inputs


class _Mean(Metric):
    """A sum over samples, divided by their number."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._sum, self._samples = 0.0, 0

    def eval(self) -> float:
        self._demand(self._samples)
        return self._sum / self._samples


class Loss(_Mean):
    """The mean of the losses of the batches, each a number or [N]. raises : ShapeError for more axes"""

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._count(inputs, 1, "the loss")
        loss = self._convert_data(inputs[0])
        if loss.ndim > 1:
            raise ShapeError("Loss.update: a loss is a number, or one for each sample", note=str(list(loss.shape)))
        self._sum += float(loss.mean())
        self._samples += 1


class MAE(_Mean):
    """sum |truth - prediction| / N, for arrays [N, ..]."""

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._arrays(inputs)
        self._sum += float(np.abs(_like(predicted, truth) - predicted).sum(dtype=np.float64))
        self._samples += len(truth)


class MSE(_Mean):
    """sum (truth - prediction)^2 / N, for arrays [N, ..]."""

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._arrays(inputs)
        self._sum += float(np.square(_like(predicted, truth) - predicted).sum(dtype=np.float64))
        self._samples += len(truth)


def _like(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    if truth.size != predicted.size:
        raise ShapeError("the truth does not have the size of the prediction",
                         note=f"{list(truth.shape)} and {list(predicted.shape)}")
    return truth.reshape(predicted.shape)


class Dice(_Mean):
    """The sum over batches of 2 |p t| / (p p + t t + smooth), divided by the number of samples, as MindSpore has it: with
    batches of one sample it is the mean Dice coefficient. raises : ShapeError where shapes differ, ValueRangeError
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        self.smooth = check_value_type("smooth", smooth, float, "Dice")
        if smooth <= 0:
            raise ValueRangeError(f"Dice: smooth {smooth} is not above 0")
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._arrays(inputs)
        if predicted.shape != truth.shape:
            raise ShapeError("Dice.update: the shapes differ", note=f"{list(predicted.shape)} and {list(truth.shape)}")
        p, t = predicted.reshape(-1).astype(np.float64), truth.reshape(-1).astype(np.float64)
        self._sum += 2 * float(p @ t) / (float(p @ p) + float(t @ t) + self.smooth)
        self._samples += len(truth)


class CosineSimilarity(Metric):
    """The matrix [N, N] of the similarities of N vectors.

    similarity : "cosine" or "dot";   zero_diagonal : that of a vector to itself is 0
    reduction  : "none", or "sum", "mean" over the last axis: [N]
    raises     : ValueRangeError
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True) -> None:
        for name, value, known in (("similarity", similarity, ("dot", "cosine")),
                                   ("reduction", reduction, ("none", "sum", "mean"))):
            if check_value_type(name, value, str, "CosineSimilarity") not in known:
                raise ValueRangeError(f"CosineSimilarity: {name} is one of {', '.join(known)}, not {value!r}")
        self.similarity, self.reduction = similarity, reduction
        self.zero_diagonal = check_value_type("zero_diagonal", zero_diagonal, bool, "CosineSimilarity")
        self.clear()

    def clear(self) -> None:
        self._vectors: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._count(inputs, 1, "vectors")
        self._vectors.append(self._convert_data(inputs[0]))

    def eval(self) -> np.ndarray:
        self._demand(self._vectors)
        vectors = np.concatenate(self._vectors)
        if self.similarity == "cosine":
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        found = vectors @ vectors.T
        if self.zero_diagonal:
            np.fill_diagonal(found, 0)
        return found if self.reduction == "none" else getattr(found, self.reduction)(axis=-1)
