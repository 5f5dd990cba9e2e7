"""The loss around what a training has reached, over a plane of weights: SummaryLandscape.

    SummaryCollector(folder, collect_specified_data={"collect_landscape": {"intervals": [[1, 2, 3, 4, 5]]}})   keeps weights
    SummaryLandscape(folder).gen_landscapes_with_multi_process(callback_fn, device_ids=[0])                    draws them

A plane goes through the last weights of an interval w: loss(w + x v + y u). Along a training v and u are the two principal
directions of the weights before w, less w (the path of the training lies near that plane); for its result they are drawn at
random. Each is scaled, Parameter by Parameter, to the norm of w. Source: Li et al. 2018, Visualizing the Loss Landscape of
Neural Nets, section 4 and 7.
"""
from __future__ import annotations

import json
import os
import shutil
from typing import Any, Callable

import numpy as np

from ..common.checks import check_value_type
from ..common.errors import ArgumentError, MindliteError, ValueRangeError
from ..common.files import replacing
from ..common.seed import get_seed
from ..common.tensor import Tensor
from .collector import METADATA, SummaryCollector, check_landscape
from .serialization import load_checkpoint
from .summary import SummaryRecord

MARGIN = 0.2                                 # how far the plane goes beyond the path of the training
AROUND = 1.0                                 # how far, each way, around a result


class MetadataMissingError(MindliteError, FileNotFoundError):
    """A folder in which no SummaryCollector has kept weights."""


class SummaryLandscape:
    """Draws the loss landscapes of a training that SummaryCollector has watched.

    summary_dir : its folder
    raises      : ArgumentError, ValueRangeError; MetadataMissingError where no weights were kept
    """

    def __init__(self, summary_dir: str) -> None:
        if not check_value_type("summary_dir", summary_dir, str, "SummaryLandscape"):
            raise ValueRangeError("SummaryLandscape: summary_dir is empty")
        self._folder = os.path.abspath(summary_dir)
        self._weights = os.path.join(self._folder, "ckpt_dir")

    def clean_ckpt(self) -> None:
        """Remove the weights that were kept."""
        shutil.rmtree(self._weights, ignore_errors=True)

    def gen_landscapes_with_multi_process(self, callback_fn: Callable[[], tuple], collect_landscape: dict | None = None,
                                          device_ids: list[int] | None = None, output: str | None = None) -> None:
        """Draw each landscape: a picture in an event file, and its numbers in <output>/landscape_<first>_<last>.npz.

        callback_fn       : () -> (Model, its network, a data set, {name: Metric}); the metric "Loss" is what is drawn
        collect_landscape : what is to be otherwise than in SummaryCollector's settings, of the same keys
        device_ids        : a list of int; one process draws one landscape after the other
        output            : a folder; None: summary_dir
        A .npz has x [size], y [size], loss [size, size] (by y, x), and of a training path_x, path_y, path_loss [steps].
        """
        for number in check_value_type("device_ids", [0] if device_ids is None else device_ids, list, "SummaryLandscape"):
            check_value_type("a number of device_ids", number, int, "SummaryLandscape")
        given = {} if collect_landscape is None else check_value_type(
            "collect_landscape", collect_landscape, dict, "SummaryLandscape")
        check_landscape("SummaryLandscape", given, SummaryCollector._DEFAULT_SPECIFIED_DATA["collect_landscape"])
        settings = {**self._metadata(), **given}
        folder = self._folder if output is None else os.path.abspath(output)
        os.makedirs(folder, exist_ok=True)
        model, network, dataset, metrics = callback_fn()
        if "Loss" not in metrics:
            raise ValueRangeError('SummaryLandscape: what callback_fn gives has no metric "Loss"')
        drawn = _Plane(model, network, dataset.take(max(1, settings["num_samples"] // dataset.get_batch_size())))
        size, files = settings["landscape_size"], settings["model_params_file_map"]
        with SummaryRecord(folder) as record:
            if settings["create_landscape"].get("train"):
                for interval in settings["intervals"]:
                    drawn.along([self._kept(files, number) for number in interval], size)
                    drawn.write(record, folder, f"landscape_{interval[0]}_{interval[-1]}")
            if settings["create_landscape"].get("result"):
                last = settings["intervals"][-1][-1]
                drawn.around(self._kept(files, last), size)
                drawn.write(record, folder, f"landscape_{last}")

    def _metadata(self) -> dict[str, Any]:
        path = os.path.join(self._weights, METADATA)
        if not os.path.isfile(path):
            raise MetadataMissingError(f"SummaryLandscape: there is no {path}", hint="train with a SummaryCollector first")
        with open(path, encoding="utf-8") as stream:
            found = json.load(stream)
        return {**found, "intervals": list(found["epoch_group"].values())}

    def _kept(self, files: dict[str, str], number: int) -> dict[str, np.ndarray]:
        if str(number) not in files:
            raise ValueRangeError(f"SummaryLandscape: no weights of {number} were kept", hint=f"there are {', '.join(files)}")
        return {name: value.asnumpy() for name, value in load_checkpoint(files[str(number)]).items()}


class _Plane:
    """A grid of losses. network: a Cell, whose Parameters are as they were once a plane is drawn"""

    def __init__(self, model: Any, network: Any, dataset: Any) -> None:
        self.model, self.dataset = model, dataset
        self.params = [param for param in network.get_parameters() if param.requires_grad]
        self.found: dict[str, np.ndarray] = {}

    def along(self, weights: list[dict[str, np.ndarray]], size: int) -> None:
        """The plane of the principal directions of the weights, the last of which are its origin."""
        points = np.stack([self._flat(each) for each in weights])
        origin, moved = points[-1], points[:-1] - points[-1]
        directions = np.linalg.svd(moved, full_matrices=False)[2][:2]
        axes = np.stack([self._scaled(direction, origin) for direction in directions])
        path = np.linalg.lstsq(axes.T, (points - origin).T, rcond=None)[0]           # [2, steps]
        spans = [(low - MARGIN * (high - low or 1), high + MARGIN * (high - low or 1))
                 for low, high in zip(path.min(axis=1), path.max(axis=1))]
        self._draw(origin, axes, [np.linspace(*span, size) for span in spans], path)

    def around(self, weights: dict[str, np.ndarray], size: int) -> None:
        """A plane of two random directions, drawn from the program's seed."""
        origin = self._flat(weights)
        random = np.random.default_rng(get_seed())
        axes = np.stack([self._scaled(random.normal(size=origin.size), origin) for _ in range(2)])
        self._draw(origin, axes, [np.linspace(-AROUND, AROUND, size)] * 2)

    def _flat(self, weights: dict[str, np.ndarray]) -> np.ndarray:
        missing = [param.name for param in self.params if param.name not in weights]
        if missing:
            raise ArgumentError(f"SummaryLandscape: {missing[0]} is a Parameter of the network, but not among the kept weights")
        return np.concatenate([weights[param.name].reshape(-1).astype(np.float64) for param in self.params])

    def _scaled(self, direction: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """The direction, which has for each Parameter the norm of that Parameter."""
        ends = np.cumsum([param.size for param in self.params])[:-1]
        return np.concatenate([part * (np.linalg.norm(here) / (np.linalg.norm(part) or 1))
                               for part, here in zip(np.split(direction, ends), np.split(origin, ends))])

    def _draw(self, origin: np.ndarray, axes: np.ndarray, grid: list[np.ndarray], path: np.ndarray | None = None) -> None:
        x, y = grid
        before = [param.asnumpy().copy() for param in self.params]
        try:
            losses = [[self._loss(origin + a * axes[0] + b * axes[1]) for a in x] for b in y]
            self.found = {"x": x, "y": y, "loss": np.array(losses)}
            if path is not None:
                self.found |= {"path_x": path[0], "path_y": path[1], "path_loss": np.array([
                    self._loss(origin + a * axes[0] + b * axes[1]) for a, b in path.T])}
        finally:
            for param, values in zip(self.params, before):
                param.set_data(Tensor(values))

    def _loss(self, point: np.ndarray) -> float:
        begin = 0
        for param in self.params:
            param.set_data(Tensor(point[begin:begin + param.size].reshape(param.shape), param.dtype))
            begin += param.size
        return float(self.model.eval(self.dataset)["Loss"])

    def write(self, record: SummaryRecord, folder: str, name: str) -> None:
        """The numbers as .npz, and a picture in which the least loss is black."""
        with replacing(os.path.join(folder, name + ".npz")) as stream:
            np.savez(stream, **self.found)                                            # type: ignore[arg-type]
        loss = np.log(self.found["loss"] - self.found["loss"].min() + 1)
        shade = (loss / (loss.max() or 1) * 255).astype(np.uint8)
        record.add_value("image", name, Tensor(shade[None, None, ::-1]))
        record.record(0)
