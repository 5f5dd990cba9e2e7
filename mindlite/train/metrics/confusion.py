"""The confusion matrix, and the rates that are made of its four counts."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...common.checks import check_value_type
from ...common.errors import ShapeError, ValueRangeError
from .metric import Metric, rearrange_inputs

NORMALIZE = ("target", "prediction", "all", "no_norm")


class ConfusionMatrix(Metric):
    """[num_classes, num_classes]: how often the class of the row was taken for that of the column.

    update    : (prediction, truth): scores [N, C, ..], classes [N, ..], or probabilities [N, ..] of class 1 over threshold
    normalize : "target": rows add up to 1, "prediction": columns do, "all": all does, "no_norm"
    raises    : ValueRangeError, ShapeError
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        self.num_classes = check_value_type("num_classes", num_classes, int, "ConfusionMatrix")
        if normalize not in NORMALIZE:
            raise ValueRangeError(f"ConfusionMatrix: normalize is one of {', '.join(NORMALIZE)}, not {normalize!r}")
        self.normalize = normalize
        self.threshold = check_value_type("threshold", threshold, float, "ConfusionMatrix")
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._samples = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._arrays(inputs)
        if predicted.ndim == truth.ndim + 1:
            predicted = predicted.argmax(axis=1)
        elif predicted.dtype.kind == "f":
            predicted = (predicted >= self.threshold).astype(int)
        if predicted.shape != truth.shape:
            raise ShapeError("ConfusionMatrix.update: the truth is no class for each prediction",
                             note=f"{list(predicted.shape)} and {list(truth.shape)}")
        rows, columns = truth.reshape(-1).astype(int), predicted.reshape(-1).astype(int)
        for classes in (rows, columns):
            if classes.size and not 0 <= classes.min() <= classes.max() < self.num_classes:
                raise ValueRangeError(f"ConfusionMatrix.update: there is a class outside [0, {self.num_classes})")
        np.add.at(self.confusion_matrix, (rows, columns), 1)
        self._samples += 1

    def eval(self) -> np.ndarray:
        self._demand(self._samples)
        counts = self.confusion_matrix.astype(float)
        if self.normalize == "no_norm":
            return counts
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        total = counts.sum(axis=axis, keepdims=True)
        return np.divide(counts, total, out=np.zeros_like(counts), where=total != 0)


def _ratio(above: Any, below: Any) -> np.ndarray:
    above, below = np.asarray(above, float), np.asarray(below, float)
    return np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0)


def _tpr(tp: Any, fp: Any, tn: Any, fn: Any) -> np.ndarray:
    return _ratio(tp, tp + fn)


def _tnr(tp: Any, fp: Any, tn: Any, fn: Any) -> np.ndarray:
    return _ratio(tn, tn + fp)


def _ppv(tp: Any, fp: Any, tn: Any, fn: Any) -> np.ndarray:
    return _ratio(tp, tp + fp)


def _npv(tp: Any, fp: Any, tn: Any, fn: Any) -> np.ndarray:
    return _ratio(tn, tn + fn)


def _threshold(*counts: Any) -> np.ndarray:
    hit, miss = _tpr(*counts), _tnr(*counts)
    return _ratio(np.sqrt(hit * (1 - miss)) + miss - 1, hit + miss - 1)


def _matthews(tp: Any, fp: Any, tn: Any, fn: Any) -> np.ndarray:
    return _ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


RATES: dict[str, Callable[..., np.ndarray]] = {
    "tpr": _tpr, "tnr": _tnr, "ppv": _ppv, "npv": _npv,
    "fnr": lambda *c: _ratio(c[3], c[0] + c[3]), "fpr": lambda *c: _ratio(c[1], c[1] + c[2]),
    "fdr": lambda *c: _ratio(c[1], c[0] + c[1]), "for": lambda *c: _ratio(c[3], c[2] + c[3]),
    "pt": _threshold, "ts": lambda *c: _ratio(c[0], c[0] + c[3] + c[1]),
    "acc": lambda *c: _ratio(c[0] + c[2], c[0] + c[1] + c[2] + c[3]), "ba": lambda *c: (_tpr(*c) + _tnr(*c)) / 2,
    "f1": lambda *c: _ratio(2 * c[0], 2 * c[0] + c[3] + c[1]), "mcc": _matthews,
    "fm": lambda *c: np.sqrt(_ppv(*c) * _tpr(*c)), "bm": lambda *c: _tpr(*c) + _tnr(*c) - 1,
    "mk": lambda *c: _ppv(*c) + _npv(*c) - 1}
SYNONYMS = {
    "sensitivity": "tpr", "recall": "tpr", "hit_rate": "tpr", "true_positive_rate": "tpr", "specificity": "tnr",
    "selectivity": "tnr", "true_negative_rate": "tnr", "precision": "ppv", "positive_predictive_value": "ppv",
    "negative_predictive_value": "npv", "miss_rate": "fnr", "false_negative_rate": "fnr", "fall_out": "fpr",
    "false_positive_rate": "fpr", "false_discovery_rate": "fdr", "false_omission_rate": "for", "prevalence_threshold": "pt",
    "threat_score": "ts", "critical_success_index": "ts", "csi": "ts", "accuracy": "acc", "balanced_accuracy": "ba",
    "f1_score": "f1", "matthews_correlation_coefficient": "mcc", "fowlkes_mallows_index": "fm", "informedness": "bm",
    "bookmaker_informedness": "bm", "markedness": "mk", "deltap": "mk"}
DECREASE = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


class UnknownRateError(ValueRangeError, NotImplementedError):
    """A rate that does not exist."""


class ConfusionMatrixMetric(Metric):
    """A rate of true and false positives and negatives, by its name: "sensitivity", "precision", "f1 score", ..

    update             : (prediction, truth): zeros and ones [N, C, ..]
    skip_channel       : False leaves out the class 0, the background, where there are others
    calculation_method : True: the rate of each sample and class, then their mean; False: of all counts
    decrease           : how with calculation_method rates of a batch are made one: "mean" or "sum", without those that are 0 / 0
    raises             : ValueRangeError, ShapeError; UnknownRateError for another name
    """

    def __init__(self, skip_channel: bool = True, metric_name: str = "sensitivity", calculation_method: bool = False,
                 decrease: str = "mean") -> None:
        self.skip_channel = check_value_type("skip_channel", skip_channel, bool, "ConfusionMatrixMetric")
        self.calculation_method = check_value_type("calculation_method", calculation_method, bool, "ConfusionMatrixMetric")
        self.metric_name = check_value_type("metric_name", metric_name, str, "ConfusionMatrixMetric")
        if check_value_type("decrease", decrease, str, "ConfusionMatrixMetric") not in DECREASE:
            raise ValueRangeError(f"ConfusionMatrixMetric: decrease is one of {', '.join(DECREASE)}, not {decrease!r}")
        self.decrease = decrease
        self.clear()

    def clear(self) -> None:
        self._counts, self._samples = np.zeros(4), 0
        self._rates, self._rated = 0.0, 0.0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._arrays(inputs)
        name = "ConfusionMatrixMetric.update"
        if predicted.shape != truth.shape or predicted.ndim < 2:
            raise ShapeError(f"{name}: both are [N, C, ..]", note=f"{list(predicted.shape)} and {list(truth.shape)}")
        if not np.isin(truth, (0, 1)).all():
            raise ValueRangeError(f"{name}: the truth is zeros and ones")
        if not self.skip_channel and truth.shape[1] > 1:
            predicted, truth = predicted[:, 1:], truth[:, 1:]
        p, t = [array.reshape(*array.shape[:2], -1) for array in (predicted, truth)]
        counts = np.stack([((p == a) & (t == b)).sum(axis=2) for a, b in ((1, 1), (1, 0), (0, 0), (0, 1))], axis=-1)
        counts[..., 1] = (t == 0).sum(axis=2) - counts[..., 2]               # what is neither 0 nor 1 is wrong
        counts[..., 3] = (t == 1).sum(axis=2) - counts[..., 0]
        self._samples += len(truth)
        self._counts += counts.sum(axis=(0, 1))
        if self._by_sample(predicted):
            self._add_rates(self._rate(counts.astype(float)))

    def _by_sample(self, predicted: np.ndarray) -> bool:
        """Rates of one sample are wanted, and it has more than one place."""
        if self.calculation_method and (predicted.ndim == 2 or predicted.ndim == 3 and predicted.shape[-1] == 1):
            return False
        return self.calculation_method

    def _add_rates(self, rates: np.ndarray) -> None:
        known = ~np.isnan(rates)
        rates = np.where(known, rates, 0)
        if self.decrease == "mean":
            per_sample, count = rates.sum(axis=1), known.sum(axis=1)
            means = np.divide(per_sample, count, out=np.zeros_like(per_sample), where=count > 0)
            rated = int((count > 0).sum())
            self._rates, self._rated = self._rates + means.sum(), self._rated + rated
        elif self.decrease == "sum":
            self._rates, self._rated = self._rates + rates.sum() * known.sum(), self._rated + int(known.sum())
        else:
            raise ValueRangeError(f"ConfusionMatrixMetric: decrease {self.decrease!r} leaves more than one number",
                                  hint="mean or sum")

    def _rate(self, counts: np.ndarray) -> np.ndarray:
        name = self.metric_name.replace(" ", "_").lower()
        rate = RATES.get(SYNONYMS.get(name, name))
        if rate is None:
            raise UnknownRateError(f"ConfusionMatrixMetric: there is no rate {self.metric_name!r}",
                                   hint=", ".join(sorted(SYNONYMS)))
        return rate(*np.moveaxis(counts, -1, 0))

    def eval(self) -> Any:
        self._demand(self._samples)
        if self._rated:
            return self._rates / self._rated
        return self._rate(self._counts[None])
