"""Distances of the surfaces of two regions of an image or volume, of the last sample.

The surface of a region is the region without its erosion; a distance is that of each point of one surface from the nearest
of the other. Needs SciPy.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...common.checks import check_value_type
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from .metric import Metric, rearrange_inputs

METRICS = ("euclidean", "chessboard", "taxicab")


class LabelTypeError(ArgumentError, ValueError):
    """A label that is no number."""


class _Surfaces(Metric):
    """update : (prediction, truth, label): label images of one shape, and the label of the region; or masks, bool."""

    def __init__(self, distance_metric: str) -> None:
        if check_value_type("distance_metric", distance_metric, str, type(self).__name__) not in METRICS:
            raise ValueRangeError(f"{type(self).__name__}: distance_metric is one of {', '.join(METRICS)}, "
                                  f"not {distance_metric!r}")
        self.distance_metric = distance_metric
        self.clear()

    def clear(self) -> None:
        self._edges: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        from scipy import ndimage
        self._count(inputs, 3, "the prediction, the truth and a label")
        regions, label = [self._convert_data(value) for value in inputs[:2]], inputs[2]
        name = f"{type(self).__name__}.update"
        if isinstance(label, bool) or not isinstance(label, (int, float)):
            raise LabelTypeError(f"{name}: the label is a number, not {type(label).__name__}")
        if not any((region == label).any() for region in regions):
            raise ValueRangeError(f"{name}: the label {label} does not occur")
        if regions[0].shape != regions[1].shape or not regions[0].size:
            raise ShapeError(f"{name}: the shapes differ, or are empty",
                             note=f"{list(regions[0].shape)} and {list(regions[1].shape)}")
        masks = [region if region.dtype == bool else region == label for region in regions]
        self._edges = [ndimage.binary_erosion(mask) ^ mask for mask in self._around(masks)]

    def _around(self, masks: list[np.ndarray]) -> list[np.ndarray]:
        return masks

    def _distances(self, number: int) -> np.ndarray:
        """Of each point of the surface `number` from the other one; inf where that is empty."""
        from scipy import ndimage
        own, other = self._edges[number], self._edges[1 - number]
        if not other.any():
            return np.full(int(own.sum()), np.inf)
        if self.distance_metric == "euclidean":
            return ndimage.distance_transform_edt(~other)[own]
        return ndimage.distance_transform_cdt(~other, metric=self.distance_metric)[own]


class HausdorffDistance(_Surfaces):
    """The greatest distance of a point of a surface from the other one.

    percentile : a float in [0, 100]: that percentile of the distances in place of the greatest
    directed   : only from the prediction to the truth;   crop : look only at the box around both regions
    """

    def __init__(self, distance_metric: str = "euclidean", percentile: float | None = None, directed: bool = False,
                 crop: bool = True) -> None:
        if percentile is not None:
            check_value_type("percentile", percentile, float, "HausdorffDistance")
        for name, value in (("directed", directed), ("crop", crop)):
            if value is not None:
                check_value_type(name, value, bool, "HausdorffDistance")
        self.percentile, self.directed, self.crop = percentile, directed, crop
        super().__init__(distance_metric)

    def _around(self, masks: list[np.ndarray]) -> list[np.ndarray]:
        either = masks[0] | masks[1]
        if not self.crop or not either.any():
            return masks
        box = tuple([slice(places.min(), places.max() + 1) for places in np.nonzero(either)])
        return [mask[box] for mask in masks]

    def eval(self) -> float:
        self._demand(self._edges)
        if self.percentile is not None and not 0 <= self.percentile <= 100:
            raise ValueRangeError(f"HausdorffDistance: percentile {self.percentile} is outside [0, 100]")
        found = []
        for number in range(1 if self.directed else 2):
            distances = self._distances(number)
            if not distances.size:
                return np.inf
            found.append(np.percentile(distances, self.percentile) if self.percentile else distances.max())
        return max(found)


class MeanSurfaceDistance(_Surfaces):
    """The mean distance of the points of the prediction's surface from the truth's.

    symmetric : the mean of this and of the other direction
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        self.symmetric = check_value_type("symmetric", symmetric, bool, type(self).__name__)
        super().__init__(distance_metric)

    def _means(self, power: int) -> list[float]:
        self._demand(self._edges)
        both = [self._distances(number) for number in range(2 if self.symmetric else 1)]
        return [float((distances ** power).mean()) if distances.size else np.inf for distances in both]

    def eval(self) -> float:
        return float(np.mean(self._means(1)))


class RootMeanSquareDistance(MeanSurfaceDistance):
    """The mean of the squared distances, as MindSpore has it without its root; with symmetric the root of the mean of both
    directions' means.
    """

    def eval(self) -> float:
        means = self._means(2)
        return float(np.sqrt(np.mean(means))) if self.symmetric else means[0]
