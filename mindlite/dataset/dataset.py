"""Dataset: a node of a pipeline, its operations as methods, and what a program asks of it.

What a node is stands in pipeline.py. The nodes are in sources.py, rows.py, order.py and batches.py.
"""
from __future__ import annotations

import itertools
import json
import os
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ..common.errors import ArgumentError, ValueRangeError, user_location
from ..common.lazy import LazyModule
from . import config
from .config import whole_number
from .iterators import DictIterator, TupleIterator
from .pipeline import Node, PipelineError, Row, Run
from .samplers import BuiltinSampler

serialization = LazyModule(__package__ + ".serialization")       # it knows all operations
convert = LazyModule(__package__ + ".mindrecord.convert")


SPLIT_BUFFER = 10000                     # rows from which `split` draws, where it cannot choose by samplers: MindSpore's number


class Dataset(Node):
    """Rows with named columns. Base of all sources and operations.

    init_step : where iterators begin
    kinds     : every class of nodes by its name: methods here make what stands in files above
    """
    init_step = 0
    kinds: dict[str, type[Dataset]] = {}

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        Dataset.kinds[cls.__name__] = cls

    def __init__(self, children: Sequence[Dataset] = (), num_parallel_workers: int | None = None) -> None:
        for child in children:
            if not isinstance(child, Dataset):
                raise ArgumentError(f"Invalid dataset, expected Dataset object, but got {type(child)}!")
        self.children: list[Dataset] = list(children)        # type: ignore[assignment]
        self.num_parallel_workers = None if num_parallel_workers is None else config.workers(
            num_parallel_workers, config.MOST_WORKERS)
        self.made_at = user_location()
        self._size: int | None = None
        self._first: Row | None = None

    @property
    def child(self) -> Dataset:
        """The only child."""
        return self.children[0]

    # ---- operations

    def map(self, operations: Any, input_columns: Any = None, output_columns: Any = None, num_parallel_workers: int | None = None,
            python_multiprocessing: bool = False, cache: Any = None, callbacks: Any = None, max_rowsize: Any = None,
            offload: bool | None = None) -> Dataset:
        """Apply operations, one after the other, to columns of each row.

        operations    : a function of as many arrays as there are columns, or a list of them; a tuple as result is several columns
        input_columns : what the first operation takes; the first column by default
        output_columns: names of the last result, by default those of the input
        python_multiprocessing : run in worker processes (num_parallel_workers of them)
        callbacks     : DSCallback or a list of them
        max_rowsize, offload, cache : accepted; shared memory grows by itself, everything runs on the host
        raises        : ArgumentError, ValueRangeError; PipelineError when it runs
        """
        config.check_max_rowsize(max_rowsize)
        return make("MapDataset", self, operations, input_columns, output_columns, num_parallel_workers, python_multiprocessing,
                    callbacks)

    def batch(self, batch_size: int | Callable, drop_remainder: bool = False, num_parallel_workers: int | None = None,
              per_batch_map: Callable | None = None, input_columns: Any = None, output_columns: Any = None,
              python_multiprocessing: bool = False, max_rowsize: Any = None) -> Dataset:
        """Stack rows.

        batch_size     : how many, or a function of BatchInfo
        drop_remainder : leave out a last batch that is smaller
        per_batch_map  : a function of (a list of arrays for each input column, BatchInfo) that gives the lists to stack
        raises         : ArgumentError, ValueRangeError; PipelineError for rows of different shapes
        """
        return make("BatchDataset", self, batch_size, drop_remainder, num_parallel_workers, per_batch_map, input_columns,
                    output_columns, python_multiprocessing, max_rowsize)

    def padded_batch(self, batch_size: int, drop_remainder: bool = False, num_parallel_workers: int | None = None,
                     pad_info: dict | None = None) -> Dataset:
        """Stack rows after padding them at their ends.

        pad_info : {column: (shape, value)}, None in a shape is the largest of the batch; without it all columns are padded with 0
        """
        return make("PaddedBatchDataset", self, batch_size, drop_remainder, num_parallel_workers, pad_info)

    def bucket_batch_by_length(self, column_names: Sequence[str], bucket_boundaries: Sequence[int],
                               bucket_batch_sizes: Sequence[int], element_length_function: Callable | None = None,
                               pad_info: dict | None = None, pad_to_bucket_boundary: bool = False,
                               drop_remainder: bool = False) -> Dataset:
        """Batches of rows of similar length, padded.

        column_names : what `element_length_function` takes; without one the length is the first size of the only column
        bucket_boundaries, bucket_batch_sizes : n growing lengths, n + 1 batch sizes
        pad_to_bucket_boundary : None in a shape of pad_info means boundary - 1 and not the largest of the batch
        """
        return make("BucketDataset", self, column_names, bucket_boundaries, bucket_batch_sizes, element_length_function, pad_info,
                             pad_to_bucket_boundary, drop_remainder)

    def shuffle(self, buffer_size: int) -> Dataset:
        """Rows in random order: each is drawn from a buffer of the next `buffer_size` ones, anew in each pass."""
        return make("ShuffleDataset", self, buffer_size)

    def repeat(self, count: int | None = None) -> Dataset:
        """Several passes as one; None or -1: without end."""
        return make("RepeatDataset", self, count)

    def skip(self, count: int) -> Dataset:
        """Without the first `count` rows."""
        return make("SkipDataset", self, count)

    def take(self, count: int = -1) -> Dataset:
        """The first `count` rows; -1: all."""
        return make("TakeDataset", self, count)

    def filter(self, predicate: Callable, input_columns: Any = None, num_parallel_workers: int | None = None) -> Dataset:
        """The rows for which `predicate(*columns)` is true."""
        return make("FilterDataset", self, predicate, input_columns)

    def flat_map(self, func: Callable) -> Dataset:
        """The rows of the datasets that `func(*columns)` makes of each row, one dataset after the other."""
        return make("FlatMapDataset", self, func)

    def zip(self, datasets: Dataset | tuple) -> Dataset:
        """The columns of several datasets side by side, as many rows as the shortest has."""
        if not isinstance(datasets, (Dataset, tuple)):
            raise ArgumentError(f"Invalid datasets, expected Dataset object or tuple of Dataset, but got {datasets}!")
        return make("ZipDataset", (self, *((datasets,) if isinstance(datasets, Dataset) else datasets)))

    def concat(self, datasets: Dataset | list) -> Dataset:
        """The rows of several datasets one after the other."""
        return make("ConcatDataset", (self, *((datasets,) if isinstance(datasets, Dataset) else datasets)))

    __add__ = concat

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Other names for columns."""
        return make("RenameDataset", self, input_columns, output_columns)

    def project(self, columns: Any) -> Dataset:
        """These columns, in this order."""
        return make("ProjectDataset", self, columns)

    def apply(self, apply_func: Callable) -> Dataset:
        """`apply_func(self)`, which must give a Dataset."""
        if not callable(apply_func):
            raise ArgumentError("apply_func must be a function.")
        found = apply_func(self)
        if not isinstance(found, Dataset):
            raise ArgumentError("apply_func must return a dataset.")
        return found

    def split(self, sizes: Sequence, randomize: bool = True) -> tuple:
        """Parts that share no row.

        sizes     : numbers of rows that add up to the size, or fractions that add up to 1
        randomize : rows are spread at random, in the same way in each pass
        """
        return self._parts(split_sizes(sizes, self.get_dataset_size()), randomize)

    def _parts(self, counts: Sequence[int], randomize: bool) -> tuple:
        """The parts of a split, one after the other, with so many rows each."""
        whole = self.shuffle(SPLIT_BUFFER) if randomize else self
        if whole is not self:
            whole.each_pass, whole.chance = False, int.from_bytes(os.urandom(4), "little")       # type: ignore[attr-defined]
        starts = itertools.accumulate(counts, initial=0)
        return tuple((whole.skip(start) if start else whole).take(count) for start, count in zip(starts, counts))

    def sync_wait(self, condition_name: str, num_batch: int = 1, callback: Callable | None = None) -> Dataset:
        """Wait after `num_batch` rows until `sync_update(condition_name)` is called; its data goes to `callback`."""
        return make("SyncWaitDataset", self, condition_name, num_batch, callback)

    def sync_update(self, condition_name: str, num_batch: int | None = None, data: Any = None) -> None:
        """Let a `sync_wait` of this pipeline go on. raises : RuntimeError if there is none of that name"""
        if num_batch is not None and (isinstance(num_batch, bool) or not isinstance(num_batch, int) or num_batch <= 0):
            self.disable_sync()
            raise RuntimeError(f"Sync_update batch size can only be positive integer, got: {num_batch}.")
        found: list[Any] = [node for node in self.tree() if getattr(node, "condition_name", None) == condition_name]
        if not found:
            self.disable_sync()
            raise RuntimeError("Condition name not found.")
        for node in found:
            node.update(None if num_batch is None else num_batch * self.get_batch_size(), data)

    def disable_sync(self) -> None:
        """No `sync_wait` of this pipeline waits any more."""
        for node in self.tree():
            if hasattr(node, "condition_name"):
                node.off = True          # type: ignore[attr-defined]

    def device_que(self, send_epoch_end: bool = True, create_data_info_queue: bool = False, queue_name: str = "") -> Dataset:
        """The dataset with the methods of a device's queue.

        There is no such queue here: a training loop reads the rows by an iterator. raises : ArgumentError
        """
        return make("TransferDataset", self, send_epoch_end, create_data_info_queue, queue_name)

    to_device = device_que

    # ---- what a program asks

    def tree(self) -> Iterator[Dataset]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.tree()

    def create_tuple_iterator(self, columns: Any = None, num_epochs: int = -1, output_numpy: bool = False,
                              do_copy: bool = False) -> TupleIterator:
        """An iterator over rows as lists of Tensors.

        columns : which ones, all by default;  num_epochs : -1 for any number
        output_numpy : arrays in place of Tensors; text is arrays always;  do_copy : memory that nobody else has
        """
        _check_iterator(num_epochs, output_numpy, do_copy)
        return TupleIterator(self if columns is None else self.project(columns), num_epochs, output_numpy, do_copy)

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False) -> DictIterator:
        """An iterator over rows as dicts by column name; arguments as for `create_tuple_iterator`."""
        _check_iterator(num_epochs, output_numpy, do_copy)
        return DictIterator(self, num_epochs, output_numpy, do_copy)

    def __iter__(self) -> TupleIterator:
        return self.create_tuple_iterator(num_epochs=1)

    def __len__(self) -> int:
        return self.get_dataset_size()

    def __bool__(self) -> bool:
        return True

    def get_dataset_size(self) -> int:
        """How many rows a pass has. Where only a pass can tell, one is made."""
        if self._size is None:
            size = self.size()
            self._size = sum(1 for _ in all_rows(self, asked=True)) if size is None else size
        return self._size

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return self.names()

    def first_row(self) -> Row:
        """The first row of the first pass."""
        if self._first is None:
            rows: Any = all_rows(self, asked=True)
            found = next(rows, None)
            rows.close()
            if found is None:
                raise PipelineError("the dataset has no rows, so its shapes and types are not known", location=self.made_at)
            self._first = found
        return self._first

    def output_shapes(self, estimate: bool = False) -> list[list[int | None]]:
        """The shape of each column of the first row; with `estimate` sizes that differ among the rows are None."""
        if not isinstance(estimate, bool):
            raise ArgumentError(f"Argument estimate with value {estimate} is not of type [<class 'bool'>].")
        shapes: list[list[int | None]] = [_shape_of(value) for value in self.first_row()]
        if estimate:
            for row in all_rows(self, asked=True):
                for shape, value in zip(shapes, row):
                    for axis, n in enumerate(_shape_of(value)):
                        if shape[axis] != n:
                            shape[axis] = None
        return shapes

    def output_types(self) -> list:
        """The NumPy dtype of each column of the first row; of text without a length."""
        kinds = [np.asarray(value).dtype for value in self.first_row()]
        return [np.dtype(kind.kind) if kind.kind in "US" else kind for kind in kinds]

    def get_batch_size(self) -> int:
        """Rows in a batch, 1 if there are no batches."""
        return self.child.get_batch_size() if self.children else 1

    def get_repeat_count(self) -> int:
        """How often `repeat` repeats, 1 without one."""
        return self.child.get_repeat_count() if self.children else 1

    def num_classes(self) -> int | None:
        """How many classes the source has; None if it has none."""
        return self.child.num_classes() if self.children else None

    def get_class_indexing(self) -> dict:
        """{class name: number}; empty if the source has none."""
        return self.child.get_class_indexing() if self.children else {}

    def is_shuffled(self) -> bool:
        """True if the order is random."""
        return any(child.is_shuffled() for child in self.children)

    def is_sharded(self) -> bool:
        """True if this is one of several shards."""
        return any(child.is_sharded() for child in self.children)

    def reset(self) -> None:
        """MindSpore's name: each iterator begins at the first epoch by itself."""

    def set_init_step(self, init_step: int) -> None:
        """Iterators begin after that many rows, counted over epochs; nothing is computed for the rows before."""
        self.init_step = whole_number(init_step, "init_step", 0)

    def get_init_step(self) -> int:
        """See `set_init_step`."""
        return self.init_step

    def to_json(self, filename: str = "") -> dict:
        """The pipeline as a dict that JSON holds, and as a JSON file if a name is given: `dataset.serialize`."""
        found = serialization.describe(self)
        if filename:
            with open(filename, "w", encoding="utf-8") as stream:
                json.dump(found, stream, indent=2, sort_keys=True)
        return found

    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Write one pass as MindRecord, which MindDataset reads: a column is a field of int32, int64, float32, float64 or string.

        file_name : the file, or with num_files > 1 the files file_name0, file_name1, ..
        raises    : ArgumentError, ValueRangeError, PipelineError; MindRecordError for columns that no field holds
        """
        if not isinstance(file_name, str):
            raise ArgumentError(f"Argument file_name with value {file_name} is not of type [<class 'str'>], "
                                f"but got {type(file_name)}.")
        if isinstance(num_files, bool) or not isinstance(num_files, int) or not 0 < num_files <= 1000:
            raise ValueRangeError("num_files should between 0 and 1000.")
        if file_type != "mindrecord":
            raise ValueRangeError(f"{file_type} dataset format is not supported.")
        convert.save_rows(file_name, num_files, self.get_col_names(), all_rows(self))

    def use_sampler(self, new_sampler: BuiltinSampler | None) -> None:
        """Exchange the sampler of the source. raises : ArgumentError where there is none"""
        raise ArgumentError(f"{self.label()} has no sampler")

    def add_sampler(self, new_sampler: BuiltinSampler) -> None:
        """Let a sampler choose among what the source's sampler chooses."""
        raise ArgumentError(f"{self.label()} has no sampler")


def _shape_of(value: Any) -> list:
    """The shape of a value of a row; [0] of a dict, as in MindSpore."""
    return [0] if isinstance(value, dict) else list(np.shape(value))


def make(kind: str, *arguments: Any) -> Dataset:
    """A node of that class."""
    return Dataset.kinds[kind](*arguments)


def all_rows(dataset: Dataset, asked: bool = False) -> Iterator[Row]:
    """The rows of one pass, computed here, without workers. asked : what asks for sizes and shapes calls no callbacks"""
    run = Run(dataset)
    run.started, run.quiet = True, asked
    yield from run.rows(dataset, 0)
    run.end_epoch()


def _check_iterator(num_epochs: Any, output_numpy: Any, do_copy: Any) -> None:
    whole_number(num_epochs, "num_epochs", -1)
    if num_epochs == 0:
        raise ValueRangeError("num_epochs should be either -1 or positive integer, range[1, INT32_MAX].")
    config.flag(output_numpy, "output_numpy"), config.flag(do_copy, "do_copy")


def split_sizes(sizes: Sequence, size: int) -> list[int]:
    """Numbers of rows that `split` gives for sizes or fractions. raises : ArgumentError, ValueRangeError, RuntimeError"""
    if not isinstance(sizes, list) or not sizes:
        raise (ArgumentError if not isinstance(sizes, list) else ValueRangeError)("sizes should be a list of int or float, "
                                                                                   "and not be empty.")
    if size is None or size <= 0:
        raise RuntimeError("dataset_size is unknown, unable to split.")
    if all(isinstance(s, int) and not isinstance(s, bool) for s in sizes):
        if min(sizes) <= 0:
            raise ValueRangeError("sizes is a list of int, but there should be no negative or zero numbers.")
        if sum(sizes) != size:
            raise RuntimeError(f"Sum of split sizes {sum(sizes)} is not equal to dataset size {size}.")
        return list(sizes)
    if not all(isinstance(s, float) for s in sizes):
        raise ValueRangeError("sizes should be list of int or list of float.")
    if not all(0 < s <= 1 for s in sizes):
        raise ValueRangeError("sizes is a list of float, but there should be no numbers outside the range (0, 1].")
    if abs(sum(sizes) - 1) > 1e-5:
        raise ValueRangeError("sizes is a list of float, but the percentages do not sum up to 1.")
    counts = [round(s * size) for s in sizes]
    if 0 in counts:
        raise RuntimeError(f"Percentage {sizes[counts.index(0)]} is too small.")
    rest = size - sum(counts)
    for part in range(len(counts)):                         # the rounding is made good at the first parts that can bear it
        if rest and counts[part] + rest > 0:
            counts[part] += rest
            rest = 0
    return counts
