"""OcclusionSensitivity (Zeiler & Fergus 2014): how much a class's score falls when a part of the image is covered."""
from __future__ import annotations

from typing import Any

import numpy as np

from ... import nn
from ...common.checks import check_value_type
from ...common.errors import MindliteError, ValueRangeError
from ...common.tensor import Tensor
from .metric import Metric, rearrange_inputs


class BatchError(MindliteError, RuntimeError):
    """More than one image, or a label for another number of them."""


class OcclusionSensitivity(Metric):
    """score of the image - score with the neighbourhood of each place covered, of the last image.

    update  : (network, image [1, ..], label)
    pad_val : what covers;   margin : how far around a place, an int or one for each axis
    n_batch : images of one call of the network;   b_box : [low, high] of each axis: look only there
    raises  : BatchError for more than one image, ValueRangeError for a box outside
    """

    def __init__(self, pad_val: float = 0.0, margin: Any = 2, n_batch: int = 128, b_box: list | None = None) -> None:
        self.pad_val = check_value_type("pad_val", pad_val, float, "OcclusionSensitivity")
        self.margin = check_value_type("margin", margin, (int, list), "OcclusionSensitivity")
        self.n_batch = check_value_type("n_batch", n_batch, int, "OcclusionSensitivity")
        self.b_box = None if b_box is None else check_value_type("b_box", b_box, list, "OcclusionSensitivity")
        self.clear()

    def clear(self) -> None:
        self._found: Any = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._count(inputs, 3, "a network, an image and a label")
        network = check_value_type("the network", inputs[0], nn.Cell, "OcclusionSensitivity.update")
        image = self._convert_data(inputs[1])
        label = np.asarray(inputs[2]) if isinstance(inputs[2], int) else self._convert_data(inputs[2])
        if len(image) != 1 or label.size != 1:
            raise BatchError(f"OcclusionSensitivity.update: one image and its label, not {len(image)} and {label.size}")
        shape = image.shape[1:]
        low, high = self._box(shape)
        label_number = int(label.reshape(-1)[0])
        margins = [self.margin] * len(shape) if isinstance(self.margin, int) else self.margin
        baseline = network(Tensor(image)).asnumpy()[0, label_number]
        places = np.array(list(np.ndindex(*(high - low + 1)))) + low
        scores = []
        for begin in range(0, len(places), self.n_batch):
            chunk = places[begin:begin + self.n_batch]
            covered = np.repeat(image, len(chunk), axis=0)
            for picture, place in zip(covered, chunk):
                picture[tuple([slice(max(0, p - m), min(size, p + m)) for p, m, size in zip(place, margins, shape)])] \
                    = self.pad_val
            scores.append(network(Tensor(covered)).asnumpy()[:, label_number])
        self._found = baseline - np.squeeze(np.concatenate(scores).reshape(high - low + 1))

    def _box(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        sizes = np.array(shape)
        if self.b_box is None:
            return np.zeros_like(sizes), sizes - 1
        if len(self.b_box) != 2 * len(shape):
            raise ValueRangeError(f"OcclusionSensitivity: b_box has two numbers for each of {len(shape)} axes, "
                                  f"not {len(self.b_box)}")
        low, high = np.maximum(self.b_box[::2], 0), np.array(self.b_box[1::2])
        high = np.where(high < 0, sizes - 1, high)
        if (high >= sizes).any() or (low > high).any():
            raise ValueRangeError(f"OcclusionSensitivity: the box {self.b_box} is not inside {list(shape)}")
        return low, high

    def eval(self) -> np.ndarray:
        self._demand(self._found is not None)
        return self._found
