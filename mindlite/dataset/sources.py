"""Sources that a program makes itself: GeneratorDataset, NumpySlicesDataset, PaddedDataset.

A source whose samples can be had by index describes them by index, so that they are read where and when they are needed; which
ones and in which order a sampler decides.
"""
from __future__ import annotations

import copy
import inspect
import itertools
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from . import config, draws
from .columns import as_row, names_list
from .dataset import Dataset
from .mersenne import SeededPass
from .pipeline import PipelineError, Row, Run
from .samplers import BuiltinSampler, RandomSampler, SequentialSampler, select_sampler


class Source(Dataset):
    """Base of sources whose samples have an index.

    sampler    : which ones, in which order
    sequential : True where rows have no index for MindSpore (text, iterators): `split` goes over all rows
    """
    by_row, sequential = True, False

    def __init__(self, sampler: BuiltinSampler, num_parallel_workers: int | None = None) -> None:
        super().__init__((), num_parallel_workers)
        self.sampler = sampler

    def length(self) -> int:
        """How many samples there are."""
        raise NotImplementedError

    def sample(self, index: int) -> Sequence:
        """The values of a sample."""
        raise NotImplementedError

    def labels(self) -> np.ndarray | None:
        """The class of each sample, where that is known without reading it (PKSampler)."""
        return None

    def size(self) -> int | None:
        return self.sampler.count(self.length()) if not self.sampler.wants_labels() else len(self._chosen(None, 0))

    def _chosen(self, run: Run | None, epoch: int) -> np.ndarray:
        if run is None or (self.sampler.is_sharded() and not run.seeded):    # all shards agree, without a seed too
            return self._indices(SeededPass(0, epoch))
        return self._indices(run.order(self, epoch))

    def _indices(self, order: SeededPass) -> np.ndarray:
        """The samples of one pass, in their order."""
        return self.sampler.indices(self.length(), order, self.labels() if self.sampler.wants_labels() else None)

    def walk(self, run: Run, epoch: int) -> Iterator:
        number = run.numbers[id(self)]
        return run.judge(self, ((number, (epoch, index)) for index in self._chosen(run, epoch).tolist()))

    def evaluate(self, run: Run, payload: Any) -> Row:
        epoch, index = payload
        run.doing(self, index)
        first = index[0] if isinstance(index, list) else index          # a batch sampler gives several
        run.draw_for(self, epoch, first)
        try:
            if run.seeded and self.draws():
                draws.lend_to_python()
            return as_row(self.sample(index))
        except Exception as error:                           # the user's source, or a file
            raise run.failed(error, self, index) from error

    def gather(self, run: Run, payloads: list, empty: Callable, columns: Sequence[int] | None = None) -> Row:
        """Of columns that lie in memory all at once, by an index array."""
        arrays = self.whole()
        if arrays is None:
            return super().gather(run, payloads, empty, columns)
        chosen = [index for _, index in payloads]
        return [array.take(chosen, 0) for array in (arrays if columns is None else [arrays[k] for k in columns])]

    def draws(self) -> bool:
        """True if reading a sample may draw from `numpy.random` or `random`."""
        return False

    def use_sampler(self, new_sampler: BuiltinSampler | None) -> None:
        """Put a sampler in the place of the outermost one: of a part of a split it chooses among the rows of this part."""
        if new_sampler is None:
            raise ArgumentError("Input sampler can not be None.")
        if not isinstance(new_sampler, BuiltinSampler):
            raise ArgumentError("Input sampler is not an instance of a sampler.")
        below = self.sampler.child_sampler
        self.sampler = new_sampler
        if below is not None:
            self.sampler, added = below, new_sampler
            self.add_sampler(added)
        self._size, self._first = None, None

    def add_sampler(self, new_sampler: BuiltinSampler) -> None:
        """Choose among what the present sampler chooses."""
        if not isinstance(new_sampler, BuiltinSampler):
            raise ArgumentError("Input sampler is not an instance of a sampler.")
        if self.sampler is not None:
            innermost = new_sampler
            while innermost.child_sampler is not None:
                innermost = innermost.child_sampler
            innermost.child_sampler = self.sampler
        self.sampler, self._size, self._first = new_sampler, None, None

    def _parts(self, counts: Sequence[int], randomize: bool) -> tuple:
        """By samplers, so that the rows of a part can be chosen further (`use_sampler`)."""
        if self.sequential:
            return super()._parts(counts, randomize)
        made, whole = [], RandomSampler.once()
        for start, count in zip(itertools.accumulate(counts, initial=0), counts):
            part = copy.copy(self)
            if randomize:
                part.add_sampler(RandomSampler.once(whole.chance))
            for sampler in (SequentialSampler(start, count), SequentialSampler()):
                part.add_sampler(sampler)
            made.append(part)
        return tuple(made)

    def is_shuffled(self) -> bool:
        return self.sampler.is_shuffled()

    def is_sharded(self) -> bool:
        return self.sampler.is_sharded()


class GeneratorDataset(Source):
    """Rows from a program's own source.

    source         : an object with `__getitem__` and `__len__`, an iterable, a generator function, or an iterator
    column_names   : names of the columns; each row is a tuple of as many values
    column_types   : dtypes that the values must have
    schema         : a Schema in place of column_names
    num_samples    : how many rows at most (0: all); of a shuffled source they are drawn with replacement, as in MindSpore
    num_parallel_workers, python_multiprocessing : with more than one worker samples are read in worker processes
    shuffle, sampler, num_shards, shard_id : for sources with `__getitem__`; they are shuffled by default
    max_rowsize    : accepted; shared memory grows by itself
    batch_sampler, collate_fn : lists of indices that are one row each, and what makes a row of their samples
    raises         : ArgumentError, ValueRangeError; PipelineError when it runs
    """

    def __init__(self, source: Any, column_names: Any = None, column_types: Any = None, schema: Any = None,
                 num_samples: int | None = None, num_parallel_workers: int = 1, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, python_multiprocessing: bool = True,
                 max_rowsize: Any = None, batch_sampler: Any = None, collate_fn: Callable | None = None) -> None:
        self.source = source
        self.random_access = hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, dict)
        if not (self.random_access or callable(source) or hasattr(source, "__iter__") or hasattr(source, "__next__")):
            raise ArgumentError("Input `source` function of GeneratorDataset should be callable, iterable or random accessible, "
                                "commonly it should implement one of the method like yield, __getitem__ or __next__(__iter__).")
        self.sequential = not self.random_access
        if column_names is None and schema is None:
            raise ValueRangeError("Neither columns_names nor schema are provided.")
        if isinstance(column_names, tuple):
            column_names = list(column_names)
        self.column_names = names_list(column_names, "column_names") if schema is None else list(schema.names())
        self.column_types = None if column_types is None else [dt.dtype(kind).numpy for kind in column_types]
        self.python_multiprocessing = config.flag(python_multiprocessing, "python_multiprocessing")
        config.check_max_rowsize(max_rowsize)
        self.batch_sampler, self.collate_fn = batch_sampler, collate_fn
        if batch_sampler is not None:
            _check_batch_sampler(batch_sampler, num_samples, shuffle, sampler, num_shards, self.random_access)
        elif collate_fn is not None:
            raise ValueRangeError("collate_fn can be specified only when batch_sampler is specified.")
        if collate_fn is not None and not callable(collate_fn):
            raise ArgumentError("collate_fn should be callable.")
        if not self.random_access and sampler is not None:
            raise ValueRangeError("sampler is not supported if source does not have attribute '__getitem__' or '__len__'.")
        if not self.random_access and num_shards is not None:
            raise ValueRangeError("num_shards is not supported if source does not have attribute '__getitem__' or '__len__'.")
        chosen = select_sampler(num_samples, sampler, shuffle, num_shards, shard_id,
                                default_shuffle=self.random_access and batch_sampler is None)
        super().__init__(chosen, num_parallel_workers)
        self.num_samples = num_samples

    def names(self) -> list[str]:
        return self.column_names

    def length(self) -> int:
        return len(self.source)

    def size(self) -> int | None:
        if self.batch_sampler is not None:
            return len(self.batch_sampler) if hasattr(self.batch_sampler, "__len__") else None
        if self.random_access:
            return super().size()
        if hasattr(self.source, "__len__"):
            return min(len(self.source), self.num_samples or len(self.source))
        if not callable(self.source) and iter(self.source) is self.source and not _begins_again(self.source):
            self.source = _Replayed(self.source)             # what is counted must be given again
        return None

    def processes(self) -> int:
        if not self.python_multiprocessing or not (self.random_access or self.batch_sampler is not None):
            return 1
        return self.num_parallel_workers or 1

    def is_shuffled(self) -> bool:
        return self.random_access and super().is_shuffled()

    def draws(self) -> bool:
        return True

    def walk(self, run: Run, epoch: int) -> Iterator:
        if self.batch_sampler is not None:
            number = run.numbers[id(self)]
            return ((number, (epoch, list(indices))) for indices in self.batch_sampler)
        if self.random_access:
            return super().walk(run, epoch)
        return self._iterated(run, epoch)

    def _iterated(self, run: Run, epoch: int) -> Iterator[Row]:
        index = 0
        try:
            values = iter(self.source() if callable(self.source) else self.source)
            for index, value in enumerate(itertools.islice(values, self.num_samples or None)):
                yield as_row(self._checked(value))
        except Exception as error:                           # the user's generator
            raise run.failed(error, self, index) from error

    def sample(self, index: Any) -> Sequence:
        if isinstance(index, list):
            rows = [self._checked(self.source[k]) for k in index]
            columns = list(zip(*rows))
            made = self.collate_fn(*columns) if self.collate_fn is not None else tuple(
                np.stack([np.asarray(value) for value in column]) for column in columns)
            return self._checked(made)
        return self._checked(self.source[index])

    def _checked(self, value: Any) -> Sequence:
        values = value if isinstance(value, (tuple, list)) else (value,)
        if len(values) != len(self.column_names):
            raise PipelineError(f"Invalid Python function, the 'source' of 'GeneratorDataset' should return same number of NumPy "
                                f"arrays as specified in column_names, the size of column_names is:{len(self.column_names)} and "
                                f"number of returned NumPy array is:{len(values)}", location=self.made_at)
        if self.column_types is not None:
            for name, kind, found in zip(self.column_names, self.column_types, values):
                if np.asarray(found).dtype != kind:
                    raise PipelineError(f"Invalid Python function, type of returned data in 'GeneratorDataset' should be same as "
                                        f"specified in column_types: column {name!r} is {np.asarray(found).dtype}, not {kind}",
                                        location=self.made_at)
        return values

    def describe(self, sample: int, operation: int | None = None) -> str:
        return f"sample {sample} of GeneratorDataset({type(self.source).__name__})"

    def failing(self, operation: int | None) -> str:
        return "GeneratorDataset's source failed."


def _begins_again(source: Any) -> bool:
    """May an iterator begin again where iter() is asked of it? One with an __iter__ in Python may; generators go on."""
    return inspect.isfunction(getattr(type(source), "__iter__", None))


class _Replayed:
    """An iterator that can be walked over more than once: what it has given is stored."""

    def __init__(self, source: Iterator) -> None:
        self.source, self.given = source, []                 # type: ignore[var-annotated]

    def __iter__(self) -> Iterator:
        yield from self.given
        for value in self.source:
            self.given.append(value)
            yield value


def _check_batch_sampler(batch_sampler: Any, num_samples: Any, shuffle: Any, sampler: Any, num_shards: Any, access: bool) -> None:
    if not access:
        raise ValueRangeError("batch_sampler is not supported if source does not have attribute '__getitem__'.")
    if not hasattr(batch_sampler, "__iter__") and not hasattr(batch_sampler, "__getitem__"):
        raise ArgumentError("batch_sampler should have __getitem__ or __iter__ method.")
    for name, value in {"num_samples": num_samples, "shuffle": shuffle, "sampler": sampler, "num_shards": num_shards}.items():
        if value is not None:
            raise ValueRangeError(f"batch_sampler is mutually exclusive with: num_samples, shuffle, num_shards, shard_id and "
                                  f"sampler, but {name} is {value}.")


class NumpySlicesDataset(Source):
    """Rows from arrays in memory: the k-th row has the k-th element of each array.

    data         : an array or list (one column), a tuple of them (several columns), or a dict {column: array}
    column_names : by default the keys of the dict, else column_0, column_1, ..
    raises       : ArgumentError, ValueRangeError
    """

    def __init__(self, data: Any, column_names: Any = None, num_samples: int | None = None, num_parallel_workers: int = 1,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None) -> None:
        if not isinstance(data, (list, tuple, dict, np.ndarray)):
            raise ArgumentError(f"Argument data with value {data} is not of type [<class 'list'>, <class 'tuple'>, "
                                f"<class 'dict'>, <class 'numpy.ndarray'>], but got {type(data)}.")
        if isinstance(data, dict):
            columns, default = list(data.values()), list(data)
        else:
            columns = list(data) if isinstance(data, tuple) else [data]
            default = [f"column_{k}" for k in range(len(columns))]
        if not columns or not all(np.ndim(c) for c in columns if isinstance(c, np.ndarray)):
            raise ValueRangeError("NumpySlicesDataset: data must be one array or more, each with a first axis")
        self.arrays = [column if isinstance(column, np.ndarray) else _array_or_list(column) for column in columns]
        if len({len(array) for array in self.arrays}) > 1:
            raise ValueRangeError("Data length in each column is not equal.")
        self.column_names = names_list(column_names, "column_names") or default
        if len(self.column_names) != len(self.arrays):
            raise ValueRangeError(f"Num of input column names is {len(self.column_names)}, but required is {len(self.arrays)}.")
        super().__init__(select_sampler(num_samples, sampler, shuffle, num_shards, shard_id), num_parallel_workers)

    def names(self) -> list[str]:
        return self.column_names

    def length(self) -> int:
        return len(self.arrays[0])

    def sample(self, index: int) -> Sequence:
        return [array[index] for array in self.arrays]

    def whole(self) -> Sequence[np.ndarray] | None:
        return self.arrays if all(isinstance(array, np.ndarray) for array in self.arrays) else None


def _array_or_list(values: Any) -> Any:
    """An array where all elements have one shape, else the list."""
    try:
        return np.asarray(values)
    except ValueError:
        return list(values)


class PaddedDataset(Source):
    """Rows that fill up a dataset so that it can be split into equal shards. padded_samples : dicts {column: value}"""

    def __init__(self, padded_samples: Sequence[dict]) -> None:
        if not isinstance(padded_samples, (list, tuple)) or not all(isinstance(sample, dict) for sample in padded_samples):
            raise ArgumentError("PaddedDataset: padded_samples must be a list of dicts")
        if not padded_samples:
            raise ValueRangeError("PaddedDataset: padded_samples is empty")
        super().__init__(select_sampler(None, None, False, None, None))
        self.padded_samples = list(padded_samples)

    def names(self) -> list[str]:
        return list(self.padded_samples[0])

    def length(self) -> int:
        return len(self.padded_samples)

    def sample(self, index: int) -> Sequence:
        return [self.padded_samples[index][name] for name in self.names()]
