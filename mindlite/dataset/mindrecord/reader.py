"""Reading MindRecord files: FileReader gives dicts, MindPage the rows of a category, MindDataset is the source of pipelines."""
from __future__ import annotations

import json
import os
from typing import Any, Iterator, Sequence

import numpy as np

from ...common.errors import ArgumentError, IndexRangeError, ValueRangeError
from ..columns import ColumnError, as_row, names_list
from ..config import whole_number
from ..mersenne import Minstd, SeededPass
from ..operation import kind_of
from ..pipeline import Run
from ..samplers import BuiltinSampler, DistributedSampler, RandomSampler, Shuffle, select_sampler
from ..sources import Source
from .errors import MindRecordError, MRMFetchDataError, ParamTypeError, ParamValueError
from .layout import SCALARS, MindRecordFile


def files_of(names: Any) -> list[MindRecordFile]:
    """The files of a data set. names : one file, whose header names its sisters, or a list of files. raises : MindRecordError"""
    if names is None or isinstance(names, (str, list)) and not names:
        raise ParamValueError("Invalid parameter value. File path is not allowed None or empty!")
    if isinstance(names, (str, os.PathLike)):
        first = MindRecordFile(_existing(names))
        folder = os.path.dirname(first.path)
        found = [first if name == os.path.basename(first.path) else MindRecordFile(_existing(os.path.join(folder, name)))
                 for name in (first.addresses if os.path.basename(first.path) in first.addresses else [first.path])]
    else:
        found = [MindRecordFile(_existing(name)) for name in names]
    for other in found[1:]:
        if other.schema != found[0].schema:
            raise MindRecordError(f"Invalid file, {other.path} and {found[0].path} have different schemas")
    return found


class RowNumberError(IndexRangeError, RuntimeError):
    """The number of a row that there is not."""


class MissingFileError(ValueRangeError, MindRecordError):
    """A file that is not there."""


def _existing(path: Any) -> str:
    if not os.path.isfile(path):
        raise MissingFileError(f"The file {os.path.abspath(path)} does not exist or permission denied!")
    return os.fspath(path)


class Rows:
    """The rows of several files, by number. Files are opened when they are read, in each process for itself."""

    def __init__(self, files: list[MindRecordFile]) -> None:
        self.files = files
        self.positions = [(number, row) for number, file in enumerate(files) for row in range(len(file.locations))]
        self.streams: dict[tuple[int, int], Any] = {}        # (process, file): a process that was forked opens its own

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: int) -> dict[str, Any]:
        number, row = self.positions[index]
        key = os.getpid(), number
        if key not in self.streams:
            self.streams[key] = self.files[number].open()
        return self.files[number].row(row, self.streams[key])

    def close(self) -> None:
        """Close the files."""
        for stream in self.streams.values():
            stream.close()
        self.streams.clear()

    def __del__(self) -> None:
        self.close()


class FileReader:
    """Rows as dicts of numbers, text, bytes and arrays.

    file_name : a file, whose sisters are read too, or a list of files;  columns : which fields
    num_consumer, operator : accepted
    raises    : ParamTypeError, MindRecordError
    """

    def __init__(self, file_name: Any, num_consumer: int = 4, columns: list[str] | None = None, operator: Any = None) -> None:
        check_consumers(num_consumer)
        if columns is not None and not isinstance(columns, list):
            raise ParamTypeError("Invalid parameter type. 'columns' expect list type.")
        self.rows: Rows | None = Rows(files_of(file_name))
        schema = self.rows.files[0].schema
        for name in columns or ():
            if name not in schema:
                raise MRMFetchDataError(f"Invalid data, column name: {name} can not found in schema.")
        self.columns, self.read_schema = columns or list(schema), schema
        self._len = len(self.rows)

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows, one after the other; once."""
        rows, self.rows = self.rows, None
        for index in range(len(rows) if rows is not None else 0):
            row = rows[index]                                # type: ignore[index]
            yield {name: row[name] for name in self.columns}

    def schema(self) -> dict:
        """The schema of the files."""
        return self.read_schema

    def len(self) -> int:
        """How many rows there are."""
        return self._len

    def close(self) -> None:
        """Close the files; nothing more is given."""
        if self.rows is not None:
            self.rows.close()
            self.rows = None
        self.read_schema = {}


def check_consumers(count: Any) -> None:
    """raises : ParamValueError"""
    if count is None:
        raise ParamValueError("Invalid parameter value. Parameter num_consumer is None.")
    if isinstance(count, bool) or not isinstance(count, int):
        raise ParamValueError("Invalid parameter value. Parameter num_consumer is not int.", note=f"it is {count!r}")
    if count < 1:
        raise ParamValueError(f"Invalid parameter value. Parameter num_consumer: {count} should be at least 1.")


class MindPage:
    """Rows by category: the different values of an index field.

    file_name : as for FileReader;  num_consumer : accepted
    """

    def __init__(self, file_name: Any, num_consumer: int = 4) -> None:
        check_consumers(num_consumer)
        self.rows = Rows(files_of(file_name))
        self._field: str | None = None
        self._groups: dict[str, list[int]] = {}

    @property
    def candidate_fields(self) -> list[str]:
        """The index fields."""
        return self.rows.files[0].index_fields

    @property
    def category_field(self) -> str | None:
        """The field whose values are the categories."""
        return self._field

    @category_field.setter
    def category_field(self, name: str) -> None:
        if not isinstance(name, str):
            raise ParamTypeError("Invalid parameter type. 'category_field' expect str type.")
        if name not in self.candidate_fields:
            raise MRMFetchDataError(f"Invalid data, category field {name!r} is none of {self.candidate_fields}")
        self._field, self._groups, number = name, {}, 0
        for file in self.rows.files:
            for (value,) in file.values((name,)):
                self._groups.setdefault(str(value), []).append(number)
                number += 1

    def get_category_fields(self) -> list[str]:
        """The index fields."""
        return self.candidate_fields

    def set_category_field(self, category_field: str) -> str:
        """Choose the field whose values are the categories."""
        self.category_field = category_field
        return "SUCCESS"

    def _check(self, page: Any, count: Any) -> None:
        if self._field is None:
            raise MRMFetchDataError("category_field has not been set")
        for name, value, low in (("page", page, 0), ("num_row", count, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < low:
                raise ParamValueError(f"Invalid parameter value. Parameter {name} should be int and not less than {low}, "
                                      f"it is {value!r}.")

    def read_category_info(self) -> str:
        """The categories as JSON: {"categories": [{"count", "id", "name"}], "key": field}"""
        if self._field is None:
            raise MRMFetchDataError("category_field has not been set")
        found = [{"count": len(rows), "id": number, "name": name} for number, (name, rows) in enumerate(self._groups.items())]
        return json.dumps({"categories": found, "key": self._field}, separators=(",", ":"))

    def read_at_page_by_id(self, category_id: int, page: int, num_row: int) -> list[dict]:
        """Page number `page` of `num_row` rows of a category by its number. raises : ParamValueError, MindRecordError"""
        if isinstance(category_id, bool) or not isinstance(category_id, int) or category_id < 0:
            raise ParamValueError("Invalid parameter value. Category id should be int and not less than 0.")
        self._check(page, num_row)
        if category_id >= len(self._groups):
            raise MindRecordError(f"Invalid data, category_id: {category_id} must be in the range [0, {len(self._groups)}].")
        return self._page(list(self._groups.values())[category_id], page, num_row)

    def read_at_page_by_name(self, category_name: str, page: int, num_row: int) -> list[dict]:
        """The same by the name of the category."""
        if not isinstance(category_name, str):
            raise ParamValueError("Invalid parameter value. Category name should be str.")
        self._check(page, num_row)
        if category_name not in self._groups:
            raise MindRecordError(f"Invalid data, category_name: {category_name} could not found.")
        return self._page(self._groups[category_name], page, num_row)

    def _page(self, rows: list[int], page: int, count: int) -> list[dict]:
        return [self.rows[index] for index in rows[page * count:(page + 1) * count]]


class PaddedShards(BuiltinSampler):
    """Shards of the rows followed by copies of a padding row. real, padding : how many there are"""

    def __init__(self, num_shards: int, shard_id: int, shuffle: bool) -> None:
        super().__init__()
        self.num_shards, self.shard_id, self.shuffle = num_shards, shard_id, shuffle

    def choose(self, size, order, labels=None):
        places = order.shuffled(id(self), np.arange(size)) if self.shuffle else np.arange(size)
        return places[self.shard_id::self.num_shards]

    def is_shuffled(self):
        return self.shuffle

    def is_sharded(self):
        return True


class MindDataset(Source):
    """Rows of MindRecord files.

    dataset_files : a file, whose sisters are read too, or a list of files
    columns_list  : which columns, in this order; all in the order of their names by default
    padded_sample, num_padded : a row {column: value} that is added so often, so that shards are equally long
    raises        : ArgumentError, ValueRangeError, MindRecordError
    """

    def __init__(self, dataset_files: Any, columns_list: Any = None, num_parallel_workers: int | None = None, shuffle: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, sampler: Any = None,
                 padded_sample: dict | None = None,
                 num_padded: int | None = None, num_samples: int | None = None, cache: Any = None) -> None:
        if not isinstance(dataset_files, (str, list, os.PathLike)):
            raise ArgumentError(f"Argument dataset_files with value {dataset_files} is not of type [<class 'str'>, <class "
                                f"'list'>], "
                                f"but got {type(dataset_files)}.")
        if padded_sample is not None and num_padded is None:
            raise MindRecordError("padded_sample is specified and requires num_padded as well.")
        if num_padded is not None and padded_sample is None:
            raise MindRecordError("num_padded is specified but padded_sample is not.")
        if num_padded is not None:
            whole_number(num_padded, "num_padded", 0)
            if not isinstance(padded_sample, dict):
                raise ArgumentError(f"Argument padded_sample with value {padded_sample} is not of type [<class 'dict'>].")
            if columns_list is None:
                raise RuntimeError("padded_sample is specified and requires columns_list as well.")
            if num_shards is None:
                raise RuntimeError("padded_sample is specified and requires num_shards and shard_id as well.")
        self.rows = Rows(files_of(dataset_files))
        self.schema = self.rows.files[0].schema
        self.column_names = names_list(columns_list, "columns_list") or list(self.schema)
        for name in self.column_names:
            if name not in self.schema:
                raise ColumnError(f"Invalid data, column name: {name} can not found in schema. Please check the 'column_list'.",
                                  note=f"columns: {', '.join(self.schema)}")
        self.padded_sample, self.num_padded = padded_sample, num_padded or 0
        for name in self.column_names if padded_sample is not None else ():
            if name not in padded_sample:                    # type: ignore[operator]
                raise ValueRangeError(f"padded_sample cannot match columns_list: it has no {name!r}")
        chosen = select_sampler(num_samples, sampler, shuffle, num_shards, shard_id)
        if type(chosen) is RandomSampler and isinstance(shuffle, Shuffle):
            chosen.shuffle = shuffle
        if self.num_padded and num_shards is not None:
            chosen = PaddedShards(num_shards, shard_id, shuffle not in (False, Shuffle.FALSE))     # type: ignore[arg-type]
        super().__init__(chosen, num_parallel_workers)
        self._order: tuple[BuiltinSampler, np.ndarray] | None = None
        self.arguments = {"dataset_files": dataset_files, "columns_list": columns_list, "padded_sample": padded_sample,
                          "num_padded": num_padded}

    def names(self) -> list[str]:
        return self.column_names

    def length(self) -> int:
        total = len(self.rows) + self.num_padded
        if self.num_padded and isinstance(self.sampler, PaddedShards) and total % self.sampler.num_shards:
            raise MindRecordError(f"Invalid data, the size of dataset and padded samples: {total} can not be divisible by the "
                                  f"value of 'num_shards': {self.sampler.num_shards}.\n Please adjust the value of 'num_padded'.",
                                  location=self.made_at)
        return total

    def _indices(self, order: SeededPass) -> np.ndarray:
        """MindSpore's reader of MindRecord has a generator of its own, which begins with the next seed."""
        chosen, size = self.sampler, self.length()
        if type(chosen) is RandomSampler and not (chosen.replacement or chosen.num_samples or chosen.child_sampler):
            if chosen.shuffle in (Shuffle.FILES, Shuffle.INFILE):
                return self._by_files(chosen.shuffle, Minstd(order.seed + 1 + order.epoch))
            return order.shuffled(id(chosen), np.arange(size), first=order.seed + 1, kind=Minstd)
        if type(chosen) is DistributedSampler and chosen.is_random() and not chosen.child_sampler:
            mixed = Minstd(chosen.seed + 1 + order.epoch).shuffle(list(range(size)))
            return np.array(mixed, np.int64)[chosen.places(size)]
        return super()._indices(order)

    def _by_files(self, shuffle: Shuffle, engine: Minstd) -> np.ndarray:
        """Files in random order, or rows in random order within each file."""
        parts: list[list[int]] = [[] for _ in self.rows.files]
        for row, (file, _) in enumerate(self.rows.positions):
            parts[file].append(row)
        for part in [parts] if shuffle == Shuffle.FILES else parts:
            engine.shuffle(part)
        return np.concatenate([np.array(part, np.int64) for part in parts])

    def may_use(self) -> int:
        return 1

    def labels(self) -> np.ndarray | None:
        column = getattr(self.sampler, "class_column", "label")
        if column not in self.rows.files[0].index_fields:
            raise ColumnError(f"PKSampler: {column!r} is none of the index fields {self.rows.files[0].index_fields}")
        return np.array([value for file in self.rows.files for (value,) in file.values((column,))])

    def sample(self, index: int) -> Sequence:
        row = self.padded_sample if index >= len(self.rows) else self.rows[index]
        return [_column(row[name], self.schema[name]) for name in self.column_names]    # type: ignore[index]

    def __getitem__(self, index: int) -> list[np.ndarray]:
        """The columns of a row, by its number in the order of the first pass.

        raises : ArgumentError if the index is no int, ValueRangeError below 0, RuntimeError above the last one
        """
        if kind_of(int)(index, "index") < 0:
            raise ValueRangeError(f"index cannot be negative, but got {index}.")
        if self._order is None or self._order[0] is not self.sampler:
            self._order = self.sampler, self._chosen(Run(self), 0)
        order = self._order[1]
        if index >= len(order):
            raise RowNumberError(f"Input index is not within the required interval of [0, {len(order) - 1}], but got {index}.")
        return as_row(self.sample(int(order[index])))

    def describe(self, sample: int, operation: int | None = None) -> str:
        if sample >= len(self.rows):
            return f"the padding row of {self.label()}"
        number, row = self.rows.positions[sample]
        return f"sample {sample} of {self.label()}, row {row} of {self.rows.files[number].path}"

    def file_of(self, sample: int) -> str | None:
        return self.rows.files[self.rows.positions[sample][0]].path if sample < len(self.rows) else None

    def failing(self, operation: int | None) -> str:
        return "MindDataset failed to read a sample."


def _column(value: Any, spec: dict) -> np.ndarray:
    """A field as MindDataset gives it: bytes as an array of one element."""
    if spec["type"] in ("string", "bytes"):
        return np.array(value) if spec["type"] == "string" else np.array([value])
    return np.asarray(value, SCALARS[spec["type"]])
