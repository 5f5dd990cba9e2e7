"""Converters: MNIST, CIFAR, folders of images, CSV and TFRecord as MindRecord files."""
from __future__ import annotations

import csv
import os
import re
from typing import Any, Iterator

import numpy as np

from ...common import dtype as dt
from ..files import images, records
from ..vision.formats import encode_jpeg
from .errors import ParamTypeError, ParamValueError, PathNotExistsError
from .errors import MindRecordError
from .writer import SUCCESS, FileWriter, check_file_name

ROWS_AT_ONCE = 256


class _Converter:
    """Base: `rows()` gives the rows, `schema` and `index` describe them."""
    schema: dict
    index: list[str] = []
    description = ""

    def __init__(self, destination: Any, partition_number: int = 1) -> None:
        check_file_name(destination)
        if isinstance(partition_number, bool) or not isinstance(partition_number, int):
            raise ParamTypeError("Invalid parameter type. The parameter partition_number must be int")
        self.destination, self.partition_number = destination, partition_number

    def rows(self) -> Iterator[dict]:
        """The rows."""
        raise NotImplementedError

    def transform(self) -> str:
        """Write the files. raises : MindRecordError"""
        return self.written(self.destination, self.rows())

    run = transform

    def written(self, destination: str, rows: Iterator[dict]) -> str:
        """Write rows to one set of files."""
        writer = FileWriter(destination, self.partition_number, overwrite=False)
        writer.add_schema(self.schema, self.description)
        if self.index:
            writer.add_index(self.index)
        batch: list[dict] = []
        for row in rows:
            batch.append(row)
            if len(batch) == ROWS_AT_ONCE:
                writer.write_raw_data(batch)
                batch = []
        if batch:
            writer.write_raw_data(batch)
        return writer.commit()


FIELDS = {**dict.fromkeys(("bool", "int8", "uint8", "int16", "uint16", "int32"), "int32"),
          **dict.fromkeys(("uint32", "int64", "uint64"), "int64"), **dict.fromkeys(("float16", "float32"), "float32"),
          "float64": "float64"}


def save_rows(file_name: str, num_files: int, names: list[str], rows: Iterator[list]) -> None:
    """Write the rows of a pipeline, whole or not at all. raises : MindRecordError"""
    writer, schema = FileWriter(file_name, num_files), None
    names = [re.sub(r"[^0-9A-Za-z_]", "_", name) for name in names]      # what a field may be called
    for row in rows:
        if schema is None:
            schema = {name: _field(name, value) for name, value in zip(names, row)}
            writer.add_schema(schema)
        writer.write_raw_data([{name: _of_field(name, value, schema[name]) for name, value in zip(names, row)}])
    if schema is None:
        raise MindRecordError(f"save: the dataset has no rows, and {file_name} is not written")
    writer.commit()


def _field(name: str, value: Any) -> dict:
    """The field of a schema that holds a column, whose first value this is: the first axis of an array may change."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "US" and value.ndim == 0:
        return {"type": "bytes" if value.dtype.kind == "S" else "string"}
    kind = FIELDS.get(value.dtype.name) if isinstance(value, np.ndarray) else None
    if kind is None:
        what = f"an array of {value.dtype}, shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise MindRecordError(f"save: column {name!r} holds {what}, which no field of a MindRecord file does")
    return {"type": kind, **({"shape": [-1, *value.shape[1:]]} if value.ndim else {})}


def _of_field(name: str, value: Any, field: dict) -> Any:
    if _field(name, value) != field:
        raise MindRecordError("Tensor with dynamic shape do not currently support saving. Except for the shape of dimension 0, "
                              "the other dimension shapes must be fixed. You can reshape the Tensor to a fixed shape before "
                              "saving.",
                              note=f"column {name!r} has another type or shape in a later row: {value.dtype}, {value.shape}")
    if field["type"] in ("string", "bytes"):
        return value.item()
    if value.dtype == np.uint64 and value.size and value.max() > np.iinfo(np.int64).max:
        raise MindRecordError(f"save: column {name!r} holds {value.max()}, which int64 does not")
    array = value.astype(field["type"])
    return array if array.ndim else array.item()


def _folder(path: Any, name: str = "source") -> str:
    if not isinstance(path, str):
        raise ParamTypeError(f"Invalid parameter type. '{name}' expect str type.")
    if not os.path.isdir(path):
        raise PathNotExistsError(f"Invalid path. {path} is not a directory.")
    return path


def _file(path: Any, name: str = "source") -> str:
    if not isinstance(path, str):
        raise ParamTypeError(f"Invalid parameter type. '{name}' expect str type.")
    if not os.path.isfile(path):
        raise PathNotExistsError(f"Invalid path. {path} does not exist.")
    return path


class MnistToMR(_Converter):
    """MNIST as destination_train.mindrecord and destination_test.mindrecord: label, data (JPEG)."""
    schema = {"label": {"type": "int64"}, "data": {"type": "bytes"}}
    index = ["label"]

    def __init__(self, source: str, destination: str, partition_number: int = 1) -> None:
        super().__init__(destination, partition_number)
        self.source = _folder(source)

    def transform(self) -> str:
        """Write both sets of files."""
        for part in ("train", "test"):
            found = images.MnistDataset(self.source, part, shuffle=False).found
            self.written(f"{self.destination}_{part}.mindrecord", (
                {"label": int(label), "data": encode_jpeg(image, 95).tobytes()} for image, label in map(found.sample,
                                                                                                        range(found.count))))
        return SUCCESS

    run = transform


class _CifarToMR(_Converter):
    kind: type
    labels: tuple[str, ...]

    def __init__(self, source: str, destination: str) -> None:
        super().__init__(destination)
        self.source = _folder(source)

    def transform(self, fields: list[str] | None = None) -> str:
        """Write destination and destination_test. fields : the index fields"""
        self.index = fields or list(self.labels)
        for part, name in (("train", self.destination), ("test", self.destination + "_test")):
            found = self.kind(self.source, part, shuffle=False).found     # type: ignore[call-arg]
            self.written(name, (self._row(k, *found.sample(k)) for k in range(found.count)))
        return SUCCESS

    run = transform

    def _row(self, number: int, image: np.ndarray, *labels: Any) -> dict:
        return {"id": number, "data": encode_jpeg(image, 95).tobytes(), **{n: int(v) for n, v in zip(self.labels, labels)}}


class Cifar10ToMR(_CifarToMR):
    """CIFAR-10, the binary version, as MindRecord files: id, label, data (JPEG)."""
    kind, labels = images.Cifar10Dataset, ("label",)
    schema = {"id": {"type": "int64"}, "label": {"type": "int64"}, "data": {"type": "bytes"}}


class Cifar100ToMR(_CifarToMR):
    """CIFAR-100, the binary version, as MindRecord files: id, coarse_label, fine_label, data (JPEG)."""
    kind, labels = images.Cifar100Dataset, ("coarse_label", "fine_label")
    schema = {"id": {"type": "int64"}, "fine_label": {"type": "int64"}, "coarse_label": {"type": "int64"},
              "data": {"type": "bytes"}}


class ImageNetToMR(_Converter):
    """A folder of images for each class as MindRecord files: label, file_name, data.

    map_file : lines "folder label"
    """
    schema = {"label": {"type": "int32"}, "data": {"type": "bytes"}, "file_name": {"type": "string"}}
    index = ["label", "file_name"]

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1) -> None:
        super().__init__(destination, partition_number)
        self.map_file, self.image_dir = _file(map_file, "map_file"), _folder(image_dir, "image_dir")

    def rows(self) -> Iterator[dict]:
        with open(self.map_file, encoding="utf-8") as stream:
            for line in stream:
                words = line.split()
                if len(words) >= 2:
                    directory = os.path.join(self.image_dir, words[0])
                    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
                        with open(os.path.join(directory, name), "rb") as image:
                            yield {"label": int(words[1]), "file_name": name, "data": image.read()}


class CsvToMR(_Converter):
    """A CSV file as MindRecord files. columns_list : which columns; they are int64, float64, text, or int32 of True and False"""
    description = "csv"

    def __init__(self, source: str, destination: str, columns_list: list[str] | None = None, partition_number: int = 1) -> None:
        super().__init__(destination, partition_number)
        self.source = _file(source)
        if columns_list is not None and (not isinstance(columns_list, list) or not all(isinstance(c, str) for c in columns_list)):
            raise ParamTypeError("Invalid parameter type. The parameter columns_list must be list of str.")
        with open(source, encoding="utf-8", newline="") as stream:
            table = [row for row in csv.reader(stream) if row]
        if not table:
            raise ParamValueError("Invalid parameter value. The CSV file is empty.")
        names = table[0]
        for name in names:
            if name[:1].isdigit():
                raise ParamValueError(f"Invalid parameter value. The first line content: {name} of the CSV file is used as a "
                                      f"column "
                                      f"name and does not allow starting with a number.")
        self.columns = columns_list or names
        for name in self.columns:
            if name not in names:
                raise ParamValueError(f"Invalid parameter value. The parameter columns_list is illegal, column {name} does not "
                                      f"exist.")
        values = {name: [row[names.index(name)] for row in table[1:]] for name in self.columns}
        self.kinds = {name: _kind(column) for name, column in values.items()}
        self.schema = {name: {"type": kind[0]} for name, kind in self.kinds.items()}
        self.values = values

    def rows(self) -> Iterator[dict]:
        for row in zip(*(self.values[name] for name in self.columns)):
            yield {name: self.kinds[name][1](value) for name, value in zip(self.columns, row)}


def _kind(values: list[str]) -> tuple[str, Any]:
    if values and set(values) <= {"True", "False"}:
        return "int32", lambda value: int(value == "True")
    for name, kind in (("int64", int), ("float64", float)):
        try:
            for value in values:
                kind(value)
            return name, kind
        except ValueError:
            continue
    return "string", str


class TFRecordToMR(_Converter):
    """TFRecord files as MindRecord files.

    feature_dict : {name: FixedLenFeature or (shape, dtype)}: an object with `shape` and `dtype`, or a pair
    bytes_fields : those of the features that stay bytes; other bytes are text
    """

    def __init__(self, source: str, destination: str, feature_dict: dict, bytes_fields: list[str] | None = None) -> None:
        super().__init__(destination)
        self.source = _file(source)
        if not isinstance(feature_dict, dict) or not feature_dict:
            raise ParamTypeError("Invalid parameter type. 'feature_dict' expect dict type, not empty.")
        self.bytes_fields, self.schema = list(bytes_fields or ()), {}
        self.shapes: dict = {}
        for name, feature in feature_dict.items():
            shape, kind = (feature.shape, feature.dtype) if hasattr(feature, "shape") else feature
            kind = getattr(kind, "name", kind)
            text = kind in ("string", str, bytes)
            self.schema[name] = {"type": ("bytes" if name in self.bytes_fields else "string") if text else dt.dtype(kind).name}
            if not text and shape:
                self.schema[name]["shape"] = list(shape)
        for name in self.bytes_fields:
            if name not in self.schema or self.schema[name]["type"] != "bytes":
                raise ParamValueError(f"Invalid parameter value. bytes_fields: {name!r} is no feature of bytes")

    def rows(self) -> Iterator[dict]:
        data = records.content(self.source)
        for span in records.spans(data, self.source):
            found, row = records.example(records.record(data, span, self.source), self.source), {}
            for name, spec in self.schema.items():
                if name not in found or not len(found[name]):
                    raise MindRecordError(f"{self.source}: a record has no feature {name!r}")
                value = found[name]
                if spec["type"] in ("bytes", "string"):
                    row[name] = value[0] if spec["type"] == "bytes" else value[0].decode()    # type: ignore[union-attr]
                else:
                    array = np.asarray(value).astype(dt.dtype(spec["type"]).numpy)
                    row[name] = array.reshape(spec["shape"]) if "shape" in spec else array[0].item()
            yield row
