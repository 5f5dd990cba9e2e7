"""Metrics: numbers over a whole data set, gathered batch by batch.

    accuracy = Accuracy()                                        Model(net, loss_fn, optimizer, metrics={"acc", "loss"})
    for x, y in batches: accuracy.update(net(x), y)              model.eval(dataset)         {"acc": 0.97, "loss": 0.1}
    accuracy.eval()

Batches one after the other give what all samples at once give; only metrics of one sample (distances of surfaces, occlusion)
are those of the last one.
"""
from typing import Any

from ...common.errors import ArgumentError, MindliteError
from .classification import F1, Accuracy, Fbeta, Precision, Recall, ROC, auc
from .confusion import ConfusionMatrix, ConfusionMatrixMetric
from .error import MAE, MSE, CosineSimilarity, Dice, Loss
from .metric import Metric, rearrange_inputs
from .occlusion import OcclusionSensitivity
from .surface import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance
from .text import BleuScore, Perplexity
from .topk import Top1CategoricalAccuracy, Top5CategoricalAccuracy, TopKCategoricalAccuracy

__all__ = ["Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta",
           "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "Metric", "OcclusionSensitivity", "Perplexity",
           "Precision", "ROC", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
           "TopKCategoricalAccuracy", "auc", "get_metric_fn", "get_metrics", "names", "rearrange_inputs"]

BY_NAME: dict[str, Any]
BY_NAME = {"accuracy": Accuracy, "acc": Accuracy, "precision": Precision, "recall": Recall, "F1": F1, "dice": Dice, "roc": ROC,
           "auc": auc, "bleu_score": BleuScore, "cosine_similarity": CosineSimilarity,
           "occlusion_sensitivity": OcclusionSensitivity, "topk": TopKCategoricalAccuracy,
           "hausdorff_distance": HausdorffDistance, "top_1_accuracy": Top1CategoricalAccuracy,
           "top_5_accuracy": Top5CategoricalAccuracy, "mae": MAE, "mse": MSE, "loss": Loss,
           "mean_surface_distance": MeanSurfaceDistance, "root_mean_square_distance": RootMeanSquareDistance,
           "perplexity": Perplexity, "confusion_matrix": ConfusionMatrix, "confusion_matrix_metric": ConfusionMatrixMetric}


class UnknownMetricError(MindliteError, KeyError):
    """A metric's name that does not exist."""


def names() -> list[str]:
    """The names that `get_metric_fn` and Model take."""
    return sorted(BY_NAME)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """The metric of this name, made with these arguments. raises : UnknownMetricError"""
    if name not in BY_NAME:
        raise UnknownMetricError(f"there is no metric {name!r}", hint=", ".join(names()))
    return BY_NAME[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """{name: Metric} of what Model takes: None, a set of names, or {name: Metric}.

    raises : ArgumentError for anything else, UnknownMetricError
    """
    if metrics is None:
        return {}
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in sorted(metrics)}
    if not isinstance(metrics, dict):
        raise ArgumentError(f"metrics: takes a set of names or a dict of Metrics, not {type(metrics).__name__}")
    for name, metric in metrics.items():
        if not isinstance(name, str) or not isinstance(metric, Metric):
            raise ArgumentError(f"metrics: {name!r} is a {type(metric).__name__}, no Metric")
    return metrics
