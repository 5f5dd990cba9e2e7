"""Operations that stack rows: batch, padded_batch, bucket_batch_by_length."""
from __future__ import annotations

import inspect
import itertools
from typing import Any, Callable, Iterator

import numpy as np

from ..common.errors import ArgumentError, MindliteError, ValueRangeError
from . import config, draws
from .columns import ColumnError, as_row, check_names, names_list, pad_to, stacked, stacked_as_they_come
from .config import whole_number
from .dataset import Dataset
from .pipeline import PipelineError, Row, Run


class BatchInfo:
    """Which batch it is, for `batch(batch_size=function)` and `per_batch_map`."""

    def __init__(self, epoch: int, batch: int) -> None:
        self.epoch, self.batch = epoch, batch

    def get_batch_num(self) -> int:
        """The number of the batch in this pass, from 0: below a repeat an epoch is several passes."""
        return self.batch

    def get_epoch_num(self) -> int:
        """The number of the iterator's epoch, from 0."""
        return self.epoch


def gathered(run: Run, described: list, names: list[str], empty: Callable) -> Row:
    """The described rows, stacked; a source of arrays takes them all at once."""
    if described and all(type(d) is tuple and d[0] == described[0][0] for d in described):
        return run.nodes[described[0][0]].gather(run, [d[1] for d in described], empty)
    return stacked_as_they_come((run.value(d) for d in described), len(described), names, empty)


def _stacked_or_listed(values: list, name: str) -> Any:
    """One array of the values of a column; of dicts a dict of lists, as MindSpore gives where there is a per_batch_map."""
    if values and all(isinstance(value, dict) for value in values):
        return {key: [value[key] for value in values] for key in values[0]}
    return stacked([[value] for value in values], [name])[0]


def _column_of(values: Any, name: str, count: int) -> Any:
    """A column of `count` values that per_batch_map gave one by one. raises : PipelineError"""
    if isinstance(values, dict):
        raise PipelineError("Failed to convert rows: mismatched types returned from per_batch_map function. If different types "
                            "are returned, all of them should be convertible to Python lists. Got: Python dict")
    if not isinstance(values, (list, tuple, np.ndarray)):
        raise PipelineError("Invalid data, the type of the return value of 'per_batch_map' function should be list, tuple or "
                            f"numpy array, but got: {type(values).__name__}")
    found = as_row(list(values))
    if len(found) != count:
        raise PipelineError(f"Invalid data, column: {name} expects: {count} rows returned from 'per_batch_map', but got: "
                            f"{len(found)}")
    return _stacked_or_listed(found, name)


def arguments_of(function: Any) -> int | None:
    """How many arguments a function takes; None where that is not known or not fixed."""
    try:
        named = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):                          # of some functions of C
        return None
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) or one.default is not one.empty for one in named):
        return None
    return len(named)


class BatchDataset(Dataset):
    """See Dataset.batch."""
    makes_rows = True

    def __init__(self, child: Dataset, batch_size: Any, drop_remainder: bool = False, num_parallel_workers: int | None = None,
                 per_batch_map: Callable | None = None, input_columns: Any = None, output_columns: Any = None,
                 python_multiprocessing: bool = False, max_rowsize: Any = None) -> None:
        super().__init__([child], num_parallel_workers)
        if not (callable(batch_size) or isinstance(batch_size, int)):
            raise ArgumentError("batch_size should either be an int or a callable.")
        batch_size = int(batch_size) if isinstance(batch_size, bool) else batch_size         # True is 1, as in MindSpore
        if callable(batch_size) and arguments_of(batch_size) not in (1, None):
            raise ValueRangeError("callable batch_size should take one parameter (BatchInfo).")
        if not callable(batch_size):
            if batch_size != -1:                             # MindSpore refuses it when rows are asked for
                whole_number(batch_size, "batch_size", 1)
            for node in child.tree():
                if hasattr(node, "condition_name"):          # a sync_wait counts batches
                    node.num_batch *= batch_size      # type: ignore[attr-defined]
        if per_batch_map is not None and not callable(per_batch_map):
            raise ValueRangeError(f"Input operations should be callable Python function, but got: {per_batch_map}")
        config.check_max_rowsize(max_rowsize)
        self.batch_size, self.drop_remainder = batch_size, config.flag(drop_remainder, "drop_remainder")
        self.per_batch_map = per_batch_map
        self.inputs = names_list(input_columns, "input_columns")
        self.outputs = names_list(output_columns, "output_columns") or self.inputs
        self.python_multiprocessing = config.flag(python_multiprocessing, "python_multiprocessing")
        if self.inputs and per_batch_map is None:
            raise ValueRangeError("input_columns can be specified only when per_batch_map is set.")
        if self.inputs and arguments_of(per_batch_map) not in (len(self.inputs) + 1, None):
            raise ValueRangeError("The signature of per_batch_map should match with input columns.",
                                  note=f"{', '.join(self.inputs)}, and BatchInfo")

    def names(self) -> list[str]:
        below = self.child.names()
        if self.per_batch_map is None:
            return below
        inputs = self.inputs or below
        for name in inputs:
            if name not in below:
                raise ColumnError(f"Invalid input_columns, '{name}' of 'input_columns' doesn't exist.",
                                  note=f"columns: {', '.join(below)}", location=self.made_at)
        outputs = self.outputs or inputs
        taken = [name for name in outputs if name in below and name not in inputs]
        if taken:
            raise ColumnError("Invalid output_columns, columns that are not involved in 'per_batch_map' should not be in "
                              f"output_columns, but got columns that are not in input_columns: {taken}", location=self.made_at)
        if len(outputs) == len(inputs):
            renamed = dict(zip(inputs, outputs))
            return [renamed.get(name, name) for name in below]
        return outputs + [name for name in below if name not in inputs]

    def size(self) -> int | None:
        below = self.child.size()
        if below is None or callable(self.batch_size):
            return None
        return below // self.batch_size if self.drop_remainder else -(-below // self.batch_size)

    def get_batch_size(self) -> int:
        return -1 if callable(self.batch_size) else self.batch_size

    def processes(self) -> int:
        return (self.num_parallel_workers or config.settings.num_parallel_workers) if self.python_multiprocessing else 1

    def may_use(self) -> int:
        return 1 if self.per_batch_map is None else 0

    def walk(self, run: Run, epoch: int) -> Iterator:
        number, source, of_iterator = run.numbers[id(self)], self.child.walk(run, epoch), run.epoch
        if self.batch_size == -1:
            raise PipelineError("Batch size cannot be -1 without using batch sampler.", location=self.made_at)
        for batch in itertools.count():
            first = list(itertools.islice(source, 1))
            if not first:
                return
            size = self._size_of(run, of_iterator, batch) if callable(self.batch_size) else self.batch_size
            described = first + list(itertools.islice(source, size - 1))
            if self.drop_remainder and len(described) < size:
                return
            yield number, ((epoch, of_iterator), batch, described)

    def _size_of(self, run: Run, epoch: int, batch: int) -> int:
        """What the function of BatchInfo gives. raises : PipelineError"""
        try:
            size = self.batch_size(BatchInfo(epoch, batch))
        except Exception as error:                           # the user's function
            raise run.failed(error, self, batch) from error
        if isinstance(size, bool) or not hasattr(size, "__index__") or size <= 0:
            raise PipelineError("Invalid batch_size, batch size function should return an integer greater than 0.",
                                note=f"for batch {batch} it has given {size!r}", location=self.made_at)
        return size.__index__()

    def evaluate(self, run: Run, payload: Any) -> Row:
        (epoch, of_iterator), batch, described = payload
        names = self.child.names()
        run.doing(self, batch)
        empty, run.empty = run.empty, np.empty
        try:
            if self.per_batch_map is None:
                return gathered(run, described, names, empty)
            rows = [run.value(d) for d in described]
            run.draw_for(self, epoch, batch)
            return self._mapped(run, rows, names, BatchInfo(of_iterator, batch))
        except MindliteError as error:
            raise error.at(self.made_at)

    def _mapped(self, run: Run, rows: list[Row], names: list[str], info: BatchInfo) -> Row:
        inputs = self.inputs or names
        outputs = self.outputs or inputs
        columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
        try:
            if run.seeded:
                draws.lend_to_python()
            result = self.per_batch_map(*(columns[name] for name in inputs), info)       # type: ignore[misc]
        except Exception as error:                           # the user's function
            raise run.failed(error, self, info.batch) from error
        result = result if isinstance(result, tuple) else (result,)
        if len(result) != len(outputs):
            raise PipelineError(f"Invalid parameter, the number of columns returned in 'per_batch_map' function should be "
                                f"{len(outputs)}, but got: {len(result)}")
        if all(isinstance(values, (np.ndarray, dict)) for values in result):
            mapped = dict(zip(outputs, result))              # whole columns
        else:
            mapped = {name: _column_of(values, name, len(rows)) for name, values in zip(outputs, result)}
        others = {name: _stacked_or_listed(values, name) for name, values in columns.items() if name not in inputs}
        return [{**others, **mapped}[name] for name in self.names()]

    def failing(self, operation: int | None) -> str:
        return "batch operation: per_batch_map failed." if self.per_batch_map else "batch operation failed."

    def describe(self, sample: int, operation: int | None = None) -> str:
        return f"batch {sample} of {self.label()}"


class PaddedBatchDataset(BatchDataset):
    """See Dataset.padded_batch."""

    def __init__(self, child: Dataset, batch_size: int, drop_remainder: bool, num_parallel_workers: int | None,
                 pad_info: dict | None) -> None:
        super().__init__(child, batch_size, drop_remainder, num_parallel_workers)
        self.pad_info = check_pad_info(pad_info)

    def evaluate(self, run: Run, payload: Any) -> Row:
        _, batch, described = payload
        names = self.child.names()
        check_names([*self.pad_info], names, self.made_at)
        run.doing(self, batch)
        return stacked(pad_to([run.value(d) for d in described], names, self.pad_info), names)


def check_pad_info(pad_info: Any) -> dict:
    """A pad_info that is sound. raises : ArgumentError"""
    if pad_info is None:
        return {}
    if not isinstance(pad_info, dict):
        raise ArgumentError(f"Argument pad_info with value {pad_info} is not of type [<class 'dict'>].")
    for column, info in pad_info.items():
        if not isinstance(column, str) or not isinstance(info, (tuple, type(None))):
            raise ArgumentError("pad_info is a dict {column: (shape or None, value or None)}, "
                                f"it has {column!r}: {info!r}")
        if info is not None and (len(info) != 2 or not isinstance(info[0], (list, tuple, type(None)))):
            raise ArgumentError(f"pad_info is a dict {{column: (shape or None, value or None)}}, it has {column!r}: {info!r}")
    return pad_info


class BucketDataset(Dataset):
    """See Dataset.bucket_batch_by_length."""
    makes_rows = True

    def __init__(self, child: Dataset, column_names: Any, boundaries: Any, sizes: Any, length: Callable | None,
                 pad_info: dict | None, pad_to_boundary: bool, drop_remainder: bool) -> None:
        super().__init__([child])
        self.columns = names_list(column_names, "column_names")
        if not isinstance(boundaries, (list, tuple)) or not isinstance(sizes, (list, tuple)):
            raise ArgumentError("bucket_boundaries and bucket_batch_sizes should be lists of int.")
        if not boundaries:
            raise ValueRangeError("bucket_boundaries cannot be empty.")
        for k, boundary in enumerate(boundaries):
            if not isinstance(boundary, int):
                raise ArgumentError(f"bucket_boundaries should be a list of int, but bucket_boundaries[{k}] is {boundary!r}.")
            if boundary < 1:
                raise ValueRangeError(f"bucket_boundaries must only contain positive numbers, but it has {boundary}.")
            whole_number(boundary, f"bucket_boundaries[{k}]", 1)
            if k and boundaries[k - 1] >= boundary:
                raise ValueRangeError("bucket_boundaries should be strictly increasing.")
        for k, n in enumerate(sizes):
            whole_number(n, f"bucket_batch_sizes[{k}]", 1)
        if len(sizes) != len(boundaries) + 1:
            raise ValueRangeError("bucket_batch_sizes must contain one element more than bucket_boundaries.")
        if length is None and len(self.columns) != 1:
            raise ValueRangeError("If element_length_function is not specified, exactly one column name should be passed.")
        if length is not None and not callable(length):
            raise ArgumentError("element_length_function object is not callable.")
        self.boundaries, self.sizes, self.length = list(boundaries), list(sizes), length
        self.pad_info, self.pad_to_boundary, self.drop_remainder = check_pad_info(pad_info), pad_to_boundary, drop_remainder
        self.pads = pad_info is not None

    def size(self) -> int | None:
        return None

    def walk(self, run: Run, epoch: int) -> Iterator[Row]:
        names = self.child.names()
        check_names(self.columns, names, self.made_at)
        places = [names.index(name) for name in self.columns]
        buckets: list[list[Row]] = [[] for _ in self.sizes]
        for index, row in enumerate(run.rows(self.child, epoch)):
            values = [row[place] for place in places]
            try:
                length = int(np.asarray(self.length(*values))) if self.length else (len(values[0]) if np.ndim(values[0]) else 1)
            except Exception as error:                       # the user's function
                raise run.failed(error, self, index) from error
            if length < 0:
                raise PipelineError(f"Invalid element_length_function: it gives {length} for row {index}", location=self.made_at)
            number = sum(length >= boundary for boundary in self.boundaries)
            buckets[number].append(row)
            if len(buckets[number]) == self.sizes[number]:
                yield self._batch(buckets[number], number, names)
                buckets[number] = []
        for number, rows in enumerate(buckets):
            if rows and not self.drop_remainder:
                yield self._batch(rows, number, names)

    def _batch(self, rows: list[Row], number: int, names: list[str]) -> Row:
        if not self.pads:
            return stacked(rows, names)
        last = self.boundaries[number] - 1 if self.pad_to_boundary and number < len(self.boundaries) else None
        if self.pad_to_boundary and last is None:
            raise PipelineError("Invalid data, requested to pad to bucket boundary, but an element falls in the last bucket.",
                                location=self.made_at)
        return stacked(pad_to(rows, names, self.pad_info, last), names)
