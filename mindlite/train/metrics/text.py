"""Metrics of text: BLEU (Papineni et al. 2002) and perplexity."""
from __future__ import annotations

import collections
import math
from typing import Any

import numpy as np

from ...common.checks import check_value_type
from ...common.errors import MindliteError, ValueRangeError
from .metric import Metric, rearrange_inputs


class LabelCountError(MindliteError, RuntimeError, ValueError):
    """Another number of labels than of predictions."""


class BleuScore(Metric):
    """The geometric mean of the precisions of 1- to n_gram-grams, times the penalty for brevity.

    update : (candidates, references): a list of token lists, and for each of them a list of references
    smooth : add one to the counts;   raises : ValueRangeError
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        if not 1 <= check_value_type("n_gram", n_gram, int, "BleuScore") <= 4:
            raise ValueRangeError(f"BleuScore: n_gram is 1 to 4, not {n_gram}")
        self.n_gram, self.smooth = n_gram, check_value_type("smooth", smooth, bool, "BleuScore")
        self.clear()

    def clear(self) -> None:
        self._hits, self._total = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._length = self._reference_length = self._samples = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._count(inputs, 2, "candidates and references")
        if len(inputs[0]) != len(inputs[1]):
            raise ValueRangeError(f"BleuScore.update: {len(inputs[0])} candidates, but references for {len(inputs[1])}")
        for candidate, references in zip(*inputs):
            nearest = min(references, key=lambda reference: abs(len(candidate) - len(reference)))
            self._length, self._reference_length = self._length + len(candidate), self._reference_length + len(nearest)
            for n in range(self.n_gram):
                found = _grams(candidate, n + 1)
                known: collections.Counter = collections.Counter()
                for reference in references:
                    known |= _grams(reference, n + 1)
                self._hits[n] += sum((found & known).values())
                self._total[n] += sum(found.values())
            self._samples += 1

    def eval(self) -> Any:
        self._demand(self._samples)
        if not self._hits.all():
            return np.array(0.0)
        precisions = (self._hits + self.smooth) / (self._total + self.smooth)
        brevity = 1.0 if self._length > self._reference_length else math.exp(1 - self._reference_length / self._length)
        return brevity * np.exp(np.log(precisions).mean())


def _grams(tokens: Any, n: int) -> collections.Counter:
    return collections.Counter(tuple(tokens[i:i + n]) for i in range(len(tokens) - n + 1))


class Perplexity(Metric):
    """exp of the mean of -log p(label), p at least 1e-10.

    update       : (probabilities [.., C], labels [..]);   ignore_label : labels of this number do not count
    raises       : LabelCountError
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        if ignore_label is not None:
            check_value_type("ignore_label", ignore_label, int, "Perplexity")
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        self._loss, self._samples = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, labels = self._arrays(inputs, "probabilities and labels")
        scores, labels = scores.reshape(-1, scores.shape[-1]), labels.reshape(-1).astype(int)
        if len(scores) != labels.size:
            raise LabelCountError(f"Perplexity.update: {labels.size} labels for {len(scores)} predictions")
        counts = np.ones(labels.size, bool) if self.ignore_label is None else labels != self.ignore_label
        found = scores[np.nonzero(counts)[0], labels[counts]]
        self._loss -= float(np.log(np.maximum(1e-10, found)).sum(dtype=np.float64))
        self._samples += int(counts.sum())

    def eval(self) -> float:
        self._demand(self._samples)
        return math.exp(self._loss / self._samples)
