"""Event files that TensorBoard opens: scalars, images, histograms, texts of graphs and Parameters over the steps of a training.

    with SummaryRecord("runs/first") as record:                          tensorboard --logdir runs
        record.add_value("scalar", "loss", Tensor(0.5));  record.record(step=1)

A file is a row of records, each u64 length, crc u32, the bytes of an Event, crc u32; the crc is CRC-32C, rotated and moved.
An Event is a protobuf message {wall_time = 1, step = 2, file_version = 3, summary = 5: {value = 1: {tag = 1, ..}}}.

Sources: tensorflow/core/util/event.proto, framework/summary.proto, lib/io/record_writer; ISO/IEC 15948 (PNG).
"""
from __future__ import annotations

import os
import re
import socket
import struct
import time
import zlib
from typing import Any
from urllib.parse import quote

import numpy as np

from .. import nn
from ..common.checks import check_positive_int, check_value_type
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.files import replacing
from ..common.tensor import Tensor
from ..dataset.files.records import crc32c, masked
from ..ops import summary
from .checkpoint import field

PLUGINS = ("scalar", "image", "tensor", "histogram", "text", "graph")
MOST_BINS = 90
LOST = 100                                   # the fields of a histogram, behind TensorBoard's, for NaN, inf and -inf: how many
PARTS = {"tensor_format": {"npy", None}}     # what export_options may hold, and the formats of it


def framed(data: bytes) -> bytes:
    """A record of a file: its length and bytes, each with its masked CRC."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(crc32c(length))) + data + struct.pack("<I", masked(crc32c(data)))


def _double(number: int, value: float) -> bytes:
    return bytes([number << 3 | 1]) + struct.pack("<d", value)


def event(step: int = 0, version: str = "", values: tuple[bytes, ...] = (), when: float | None = None) -> bytes:
    """The bytes of an Event."""
    made = _double(1, time.time() if when is None else when) + field(2, step)
    if version:
        return made + field(3, version.encode())
    return made + field(5, b"".join(field(1, value) for value in values))


def scalar_value(tag: str, value: float) -> bytes:
    """A Summary.Value of a number."""
    return field(1, tag.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", value)


def image_value(tag: str, image: np.ndarray) -> bytes:
    """A Summary.Value of a picture [H, W, C], uint8, C 1, 3 or 4."""
    height, width, colours = image.shape
    inside = field(1, height) + field(2, width) + field(3, colours) + field(4, png(image))
    return field(1, tag.encode()) + field(4, inside)


def png(image: np.ndarray) -> bytes:
    """A picture [H, W, C], uint8, as a PNG file."""
    height, width, colours = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1).tobytes()    # filter 0
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[colours], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                                           for kind, data in parts)


def bins_for(count: int) -> int:
    """Into how many bins so many numbers are sorted: about ten stand in each, and there are at most MOST_BINS."""
    return 1 if not count else 2 if count <= 5 else 3 if count <= 10 else min(MOST_BINS, count // 10 + 1)


def check_export_options(options: Any) -> dict | None:
    """export_options. raises : ArgumentError, ValueRangeError for other keys than PARTS has, or another format"""
    if options is None:
        return None
    check_value_type("export_options", options, dict, "SummaryRecord")
    for name, form in options.items():
        check_value_type("a key of export_options", name, str, "SummaryRecord")
        check_value_type(name, form, (str, type(None)), "SummaryRecord")
    if set(options) - set(PARTS):
        raise ValueRangeError(f'SummaryRecord: the keys {set(options) - set(PARTS)} of "export_options" are unsupported',
                              hint=", ".join(PARTS))
    for name, form in options.items():
        if form not in PARTS[name]:
            raise ValueRangeError(f"SummaryRecord: {name} is one of {PARTS[name]}, not {form!r}")
    return options


def histogram_value(tag: str, array: np.ndarray) -> bytes:
    """A Summary.Value of the distribution of the finite elements of an array."""
    numbers = array.astype(np.float64).reshape(-1)
    lost = [int(count) for count in (np.isnan(numbers).sum(), (numbers == np.inf).sum(), (numbers == -np.inf).sum())]
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        numbers = np.zeros(1)
    counts, limits = np.histogram(numbers, bins=bins_for(numbers.size))
    inside = b"".join(_double(number, value) for number, value in enumerate(
        (numbers.min(), numbers.max(), numbers.size, numbers.sum(), float((numbers * numbers).sum())), 1))
    inside += field(6, limits[1:].astype("<f8").tobytes()) + field(7, counts.astype("<f8").tobytes())
    inside += b"".join(field(number, count) for number, count in enumerate(lost, LOST))
    return field(1, tag.encode()) + field(5, inside)


def text_value(tag: str, text: str) -> bytes:
    """A Summary.Value of a text: a string tensor of the plugin `text`."""
    tensor = field(1, 7) + field(2, field(2, field(1, 1))) + field(8, text.encode())
    return field(1, tag.encode()) + field(8, tensor) + field(9, field(1, field(1, b"text")))


class SummaryRecord:
    """Writes values by name and step to <log_dir>/<file_prefix>.out.tfevents.<time>.<host><file_suffix>.

    log_dir       : a folder, which is made;   network : a Cell whose printed form is written at first
    max_file_size : bytes after which nothing more is written, with a warning from `record`: False
    export_options : {"tensor_format": "npy"}: tensors are also written whole, to <log_dir>/export_<time>/tensor/<tag>_<step>.npy
    num_process    : MindSpore's
    raise_exception : errors of the file system are raised by `record`, which else gives False
    While it is open, ScalarSummary, ImageSummary, TensorSummary and HistogramSummary that run are written by `record`.
    raises        : ArgumentError, ValueRangeError
    """

    def __init__(self, log_dir: str, file_prefix: str = "events", file_suffix: str = "_MS", num_process: int = 32,
                 network: nn.Cell | None = None, max_file_size: int | None = None, raise_exception: bool = False,
                 export_options: dict | None = None) -> None:
        check_value_type("raise_exception", raise_exception, bool, "SummaryRecord")
        if not log_dir:
            raise ValueRangeError("SummaryRecord: log_dir is empty")
        for name, value in (("log_dir", log_dir), ("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            check_value_type(name, os.fspath(value) if name == "log_dir" else value, str, "SummaryRecord")
        if not re.fullmatch(r"[\w.-]*", file_prefix + file_suffix):
            raise ValueRangeError(f"SummaryRecord: {file_prefix!r} and {file_suffix!r} are no parts of a file's name")
        if max_file_size is not None:
            check_positive_int(max_file_size, "max_file_size", "SummaryRecord")
        if network is not None:
            check_value_type("network", network, nn.Cell, "SummaryRecord")
        os.makedirs(log_dir, exist_ok=True)
        self._folder, self._most, self._raises = os.path.abspath(log_dir), max_file_size, raise_exception
        self._begun = int(time.time())
        while os.path.exists(self._file_name(file_prefix, file_suffix)):         # another record of the same second
            self._begun += 1
        self.full_file_name = self._file_name(file_prefix, file_suffix)
        self._stream: Any = open(self.full_file_name, "xb")
        self._stream.write(framed(event(version="brain.Event:2")))
        self._waiting: list[tuple[str, str, Any]] = []       # plugin, tag, value
        self._seen: dict[tuple[str, str], np.ndarray] = {}   # by plugin and tag: what the network's operators gave last
        self._exported = {} if check_export_options(export_options) is None else dict(export_options or {})
        self._mode = "train"
        summary.listeners.add(self)
        if network is not None:
            self._waiting.append(("graph", "network", network))

    def _file_name(self, prefix: str, suffix: str) -> str:
        return os.path.join(self._folder, f"{prefix}.out.tfevents.{self._begun}.{socket.gethostname()}{suffix}")

    def __enter__(self) -> SummaryRecord:
        if self._stream is None:
            raise ValueRangeError("SummaryRecord: it is closed", hint="make a new one")
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of the file."""
        return self.full_file_name

    def set_mode(self, mode: str) -> None:
        """Which part of a training the values are of: "train" or "eval". raises : ValueRangeError"""
        if mode not in ("train", "eval"):
            raise ValueRangeError(f"SummaryRecord.set_mode: train or eval, not {mode!r}")
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Keep a value for the next `record`.

        plugin : scalar (a number, or a Tensor of one), image ([N, C, H, W] or [C, H, W], floats in [0, 1] or bytes: the
                 first one), histogram and tensor (any Tensor: its distribution), text (a string), graph (a Cell)
        raises : ArgumentError, ValueRangeError, ShapeError
        """
        if plugin not in PLUGINS:
            raise ValueRangeError(f"SummaryRecord.add_value: there is no plugin {plugin!r}", hint=", ".join(PLUGINS))
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"SummaryRecord.add_value: a name is a string, not {name!r}")
        _value(plugin, name, value)                          # what has no form is refused here, at the user's line
        held = np.array(value.asnumpy()) if isinstance(value, Tensor) else str(value) if plugin == "graph" else value
        self._waiting.append((plugin, name, held))

    def record(self, step: int, train_network: nn.Cell | None = None, plugin_filter: Any = None) -> bool:
        """Write the values that were added since the last call; True where they are written.

        train_network : a Cell whose Parameters' distributions are written too
        plugin_filter : a function of a plugin's name: what it is false for is left out
        """
        check_value_type("step", step, int, "SummaryRecord.record")
        if self._stream is None:
            raise ValueRangeError("SummaryRecord.record: it is closed")
        if train_network is not None:
            for param in train_network.trainable_params():
                self.add_value("histogram", f"{param.name}", param)
        taken = [(plugin, name, value) for plugin, name, value in [
            *self._waiting, *((*key, value) for key, value in self._seen.items())]
            if plugin_filter is None or plugin_filter(plugin)]
        self._waiting, self._seen = [], {}
        data = framed(event(step, values=tuple([_value(*item) for item in taken])))
        if self._most is not None and self._stream.tell() + len(data) > self._most:
            return False
        try:
            self._stream.write(data)
            self._stream.flush()
            if self._exported.get("tensor_format"):
                self._export(step, [(name, value) for plugin, name, value in taken if plugin == "tensor"])
        except OSError:
            if self._raises:
                raise
            return False
        return True

    def noted(self, plugin: str, name: str, value: np.ndarray) -> None:
        """A summary operator of the network has run; of the same name the last value is written. None in an evaluation."""
        if self._mode == "train":
            self._seen[plugin, name] = value

    def _export(self, step: int, tensors: list[tuple[str, np.ndarray]]) -> None:
        folder = os.path.join(self._folder, f"export_{self._begun}", "tensor")
        os.makedirs(folder, exist_ok=True)
        for name, array in tensors:
            with replacing(os.path.join(folder, f"{quote(name, safe='')}_{step}.npy")) as stream:
                np.save(stream, array, allow_pickle=False)

    def flush(self) -> None:
        """Let what is written be in the file."""
        if self._stream is not None:
            self._stream.flush()

    def close(self) -> None:
        """Write what is left, and close the file; a second time it does nothing."""
        if self._stream is not None:
            summary.listeners.discard(self)
            self._stream.close()
            self._stream = None


def _value(plugin: str, name: str, value: Any) -> bytes:
    if plugin == "text":
        return text_value(name, check_value_type("value", value, str, "SummaryRecord.add_value"))
    if plugin == "graph":
        return text_value(name, f"```\n{value}\n```")
    array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise ArgumentError(f"SummaryRecord.add_value: {name} is a {type(value).__name__}, no Tensor of numbers")
    if plugin == "scalar":
        if array.size != 1:
            raise ShapeError(f"SummaryRecord.add_value: the scalar {name} has more than one element", note=str(array.shape))
        return scalar_value(name, float(array.reshape(-1)[0]))
    if plugin == "image":
        array = array[0] if array.ndim == 4 else array
        if array.ndim != 3 or array.shape[0] not in (1, 3, 4):
            raise ShapeError(f"SummaryRecord.add_value: the image {name} is [N, C, H, W] with 1, 3 or 4 channels",
                             note=str(array.shape))
        if array.dtype.kind == "f":
            array = np.clip(np.nan_to_num(array) * 255 + 0.5, 0, 255)
        return image_value(name, np.ascontiguousarray(np.moveaxis(array.astype(np.uint8), 0, -1)))
    return histogram_value(name, array)
