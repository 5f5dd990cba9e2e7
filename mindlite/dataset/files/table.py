"""Datasets in files: a decorator makes a source of a function that finds the samples of a folder.

    @source("image", "label", usage=("train", "test", "all"))
    def MnistDataset(dataset_dir: str, usage: str | None = None) -> Samples: ..

The class takes the arguments of the function, then those of every source: num_samples, num_parallel_workers, shuffle, sampler,
num_shards, shard_id, cache; keyword-only arguments of the function come after `shuffle`, or all stand in the order that is given.
Files are found when the dataset is made and read when samples are.
"""
from __future__ import annotations

import glob
import inspect
import os
from typing import Any, Callable, Sequence

import numpy as np

from ...common.errors import ArgumentError, FileFormatError, ValueRangeError
from ..config import MOST_WORKERS, settings, whole_number, workers
from ..operation import flag
from ..pipeline import Run
from ..mersenne import SeededPass, buffered
from ..samplers import BuiltinSampler, Shuffle, select_sampler
from ..sources import Source
from ..vision.formats import pixels


LEAST_BUFFER, FILES_IN_BUFFER = 10000, 4     # rows of the buffer that text is drawn from, or the rows of so many files


class BadFileError(FileFormatError, RuntimeError):
    """A file of a dataset that is missing, damaged, or of another format."""


class ConflictError(ValueRangeError, RuntimeError):
    """Arguments of a source that contradict each other."""


class Samples:
    """What a function of the table gives.

    sample  : index -> the values of a sample;  count : how many there are
    columns : their names, where they depend on arguments
    labels  : the class of each sample, if that is known;  classes : {name: number}
    files   : the file of each sample, for errors; groups : the file number of each sample, for shuffling and sharding by file
    arrays  : the columns, where `sample` gives the elements of arrays;  limit : how many rows there are where none is asked for
    """

    def __init__(self, count: int, sample: Callable[[int], Sequence], columns: Sequence[str] | None = None,
                 labels: Sequence[int] | np.ndarray | None = None, classes: dict | None = None,
                 files: Sequence[str] | None = None,
                 groups: Sequence[int] | None = None, arrays: Sequence[np.ndarray] | None = None,
                 limit: int | None = None) -> None:
        self.arrays, self.limit = arrays, limit
        self.count, self.sample, self.columns = count, sample, columns
        self.labels = None if labels is None else np.asarray(labels)
        self.classes, self.files, self.groups = classes, files, groups


def rows_of(rows: Sequence[Sequence], columns: Sequence[str] | None = None, groups: Sequence[int] | None = None,
            files: Sequence[str] | None = None) -> Samples:
    """Samples that are read already."""
    return Samples(len(rows), rows.__getitem__, columns, groups=groups, files=files)


def in_turn(groups: np.ndarray, readers: int | None) -> np.ndarray:
    """The places of rows in the order of MindSpore's text sources: reader k of `readers` reads the files k, k + readers, .., and
    the readers give a row each in turn. groups : the file of each row;  readers : None for one a file"""
    if not groups.size:
        return np.arange(0)
    files = np.cumsum(np.diff(groups, prepend=groups[0]) != 0)
    reader = files % readers if readers else files
    order = np.argsort(reader, kind="stable")
    starts = np.searchsorted(reader[order], reader[order])
    turn = np.empty_like(order)
    turn[order] = np.arange(groups.size) - starts
    return np.lexsort((reader, turn))


class TextOrder(BuiltinSampler):
    """The rows of files of text, as MindSpore reads them: files in an order, a line of each reader in turn, then a buffer.

    groups   : the file of each row;  readers : see `in_turn`
    files, rows : whether files, or rows, are in random order
    num_shards, shard_id : one of equal blocks of rows; the last ones begin again with the first rows
    by_file  : shards are every num_shards-th file
    """

    def __init__(self, groups: Sequence[int] | np.ndarray, readers: int | None, files: bool, rows: bool, num_samples: int | None,
                 num_shards: int = 0, shard_id: int = 0, by_file: bool = False) -> None:
        super().__init__(num_samples)
        self.groups, self.readers, self.files, self.rows = np.asarray(groups), readers, files, rows
        self.num_shards, self.shard_id, self.by_file = num_shards, shard_id, by_file

    def choose(self, size, order, labels=None):
        count = int(self.groups.max()) + 1 if size else 0
        files = np.arange(count)
        if self.files:                                       # shards agree, whatever the seed
            files = order.shuffled(id(self), files, step=1, first=1) if self.num_shards > 1 else \
                order.shuffled(id(self), files, step=0)
        rank = np.empty(count, np.int64)
        rank[files] = np.arange(count)
        places = np.argsort(rank[self.groups], kind="stable")
        if self.by_file:
            places = places[rank[self.groups[places]] % self.num_shards == self.shard_id]
        elif self.num_shards:
            places = places[self._block(size)]
        places = places[in_turn(self.groups[places], self.readers)][:self.num_samples or None]
        return self._mixed(places, count, order) if self.rows else places

    def _block(self, size: int) -> np.ndarray:
        each = -(-size // self.num_shards)
        return np.arange(self.shard_id * each, (self.shard_id + 1) * each) % max(size, 1)

    def _mixed(self, places: np.ndarray, files: int, order: SeededPass) -> np.ndarray:
        buffer = max(LEAST_BUFFER, FILES_IN_BUFFER * (len(places) // max(files, 1)))
        numbers = order.numbers64(order.epoch * len(places))
        return np.fromiter(buffered(iter(places.tolist()), buffer, numbers), np.int64, len(places))

    def count(self, size):
        found = len(self._block(size)) if self.num_shards and not self.by_file else size
        if self.by_file:
            found = int((self.groups % self.num_shards == self.shard_id).sum())
        return min(self.num_samples or found, found)

    def is_shuffled(self):
        return self.files or self.rows

    def is_sharded(self):
        return self.num_shards > 1


class FileSource(Source):
    """Base of the sources of the table. found : Samples"""
    found: Samples
    columns: tuple[str, ...]
    arguments: dict[str, Any]

    def names(self) -> list[str]:
        return list(self.found.columns or self.columns)

    def length(self) -> int:
        return self.found.count

    def sample(self, index: int) -> Sequence:
        return self.found.sample(index)

    def whole(self) -> Sequence[np.ndarray] | None:
        return self.found.arrays

    def may_use(self) -> int:
        return 0 if any(map(callable, self.arguments.values())) else 1

    def labels(self) -> np.ndarray | None:
        return self.found.labels

    def num_classes(self) -> int | None:
        return len(self.found.classes) if self.found.classes is not None else None

    def get_class_indexing(self) -> dict:
        """{class name: number}"""
        return dict(self.found.classes or {})

    def describe(self, sample: int, operation: int | None = None) -> str:
        file = f", {self.found.files[sample]}" if self.found.files is not None else ""
        return f"sample {sample} of {self.label()}{file}"

    def file_of(self, sample: int) -> str | None:
        return self.found.files[sample] if self.found.files is not None else None

    def failing(self, operation: int | None) -> str:
        return f"{self.label()} failed to read a sample."

    def _chosen(self, run: Run | None, epoch: int) -> np.ndarray:
        if not self.found.count:
            raise BadFileError(f"Invalid data, {self.label()} API can't read the data file (interface mismatch or no data "
                               f"found).", location=self.made_at)
        return super()._chosen(run, epoch)


_COMMON = ("num_samples", "num_parallel_workers", "shuffle", "sampler", "num_shards", "shard_id", "cache")
WORKERS_LAST = "num_samples shuffle num_shards shard_id num_parallel_workers cache"


def source(*columns: str, usage: Sequence[str] = (), text: bool = False, order: str = "", defaults: dict | None = None,
           **valid: Sequence) -> Callable:
    """A decorator that makes a FileSource of a function.

    columns : names;  usage, valid : what the arguments of these names may be
    text    : rows are shuffled with Shuffle.GLOBAL by default, shards are blocks of rows, there is no `sampler`
    order   : of the arguments behind the function's own ones, where MindSpore has another than that above
    defaults: of common arguments, where MindSpore has others than None
    """
    allowed = {**({"usage": usage} if usage else {}), **valid}

    def make(function: Callable) -> type:
        own = list(inspect.signature(function).parameters.values())
        first = [p for p in own if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        late = [p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in own if p not in first]
        default = {**({"shuffle": Shuffle.GLOBAL} if text else {}), **(defaults or {})}
        own_names = [p.name for p in own]
        common = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default.get(n)) for n in _COMMON
                  if not (text and n == "sampler") and n not in own_names]
        rest = [*common[:3], *late, *common[3:]]
        if order:
            rest.sort(key=lambda parameter: order.split().index(parameter.name))
        signature = inspect.Signature([*first, *rest])

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise ArgumentError(f"{function.__name__}: {error}") from None
            bound.apply_defaults()
            given = dict(bound.arguments)
            _check(function.__name__, given, allowed)
            refuse_contradictions(given)
            if given["num_parallel_workers"] is not None:
                workers(given["num_parallel_workers"], MOST_WORKERS)
            self.found = function(**{p.name: given[p.name] for p in own})      # which may read files: after all other checks
            Source.__init__(self, _sampler_of(self.found, given, text), given["num_parallel_workers"])
            self.arguments = given
        return type(function.__name__, (FileSource,), {
            "__init__": __init__, "__doc__": function.__doc__, "__module__": function.__module__, "columns": columns,
            "__qualname__": function.__name__, "__signature__": signature, "sequential": text})
    return make


def _check(name: str, given: dict, allowed: dict) -> None:
    for argument, words in allowed.items():
        value = given[argument]
        if value is not None and not isinstance(value, str):
            raise ArgumentError(f"Argument {argument} with value {value} is not of type [<class 'str'>], but got {type(value)}.")
        if value is not None and value not in words:
            raise ValueRangeError(f"Input {argument} is not within the valid set of {list(words)}.")
    if "decode" in given and given["decode"] is not None:
        flag(given["decode"], "decode")
    if given["num_samples"] is not None:
        if whole_number(given["num_samples"], "num_samples", -2 ** 63, 2 ** 63 - 1) < 0:
            raise ValueRangeError(f"num_samples exceeds the boundary between 0 and {2 ** 63 - 1}(INT64_MAX)!")


def refuse_contradictions(given: dict) -> None:
    """raises : ConflictError for arguments that exclude each other or want another one, ValueRangeError for a shard's number"""
    shards, shard = given["num_shards"], given["shard_id"]
    if given.get("sampler") is not None:
        others = {"shuffle": given["shuffle"], "sharding": shards if shard is None else shard,
                  "num_samples": given["num_samples"]}
        for word, value in others.items():
            if value is not None:
                raise ConflictError(f"sampler and {word} cannot be specified at the same time.")
    if shards is None and shard is not None:
        raise ConflictError("shard_id is specified but num_shards is not.")
    if shards is not None:
        whole_number(shards, "num_shards", 1, 2 ** 31 - 1)
        if shard is None:
            raise ConflictError("num_shards is specified and currently requires shard_id as well.")
        whole_number(shard, "shard_id", 0, shards - 1)


def _sampler_of(found: Samples, given: dict, text: bool) -> BuiltinSampler:
    count, shuffle, shards, shard = (given[name] for name in ("num_samples", "shuffle", "num_shards", "shard_id"))
    if not text:
        return select_sampler(count, given["sampler"], shuffle, shards, shard)
    if shuffle is not None and not isinstance(shuffle, (bool, Shuffle)):
        raise ArgumentError("shuffle must be of boolean or enum of 'Shuffle' values like 'Shuffle.GLOBAL' or 'Shuffle.FILES'.")
    count = count or found.limit
    groups = np.zeros(found.count, np.int64) if found.groups is None else found.groups
    files = shuffle not in (False, Shuffle.FALSE)
    by_file = shards is not None and "shard_equal_rows" in given and not given["shard_equal_rows"]
    return TextOrder(groups, given["num_parallel_workers"] or settings.workers_asked, files, files and shuffle != Shuffle.FILES,
                     count, shards or 0, shard or 0, by_file)


# ------------------------------------------------------------------- folders and files

def folder(path: Any) -> str:
    """A folder that exists. raises : ArgumentError, BadFileError"""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"Argument dataset_dir with value {path} is not of type [<class 'str'>], but got {type(path)}.")
    if not os.path.isdir(path):
        raise BadFileError(f"The folder {path} does not exist or is not a directory or permission denied!")
    return os.fspath(path)


def file(path: Any) -> str:
    """A file that exists. raises : ArgumentError, BadFileError"""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"The path of a file is a str, not {type(path)}.")
    if not os.path.isfile(path):
        raise BadFileError(f"The file {path} does not exist or permission denied!")
    return os.fspath(path)


def matching(patterns: Any) -> list[str]:
    """The files that a pattern, or each of a list of patterns, stands for. raises : ArgumentError, ValueRangeError"""
    if not isinstance(patterns, (str, list)):
        raise ArgumentError(f"Argument dataset_files with value {patterns} is not of type [<class 'str'>, <class 'list'>], "
                            f"but got {type(patterns)}.")
    wanted = [patterns] if isinstance(patterns, str) else patterns
    found, missing = [], []
    for pattern in wanted:
        files = sorted(f for f in glob.glob(pattern, recursive=True) if os.path.isfile(f))
        found += files
        if not files:
            missing.append(pattern)
    if missing:
        raise ValueRangeError(f"The following patterns did not match any files: {missing}.")
    if not found:
        raise ValueRangeError("The list of path names matching the patterns is empty.")
    return found


def present(directory: str, names: Sequence[str], what: str = "") -> list[str]:
    """Those of the files that exist in the folder, as paths; an error if none does. what : how the error calls them"""
    found = [os.path.join(directory, name) for name in names if os.path.isfile(os.path.join(directory, name))]
    if not found:
        raise BadFileError(f"none of {', '.join(names)} is in {directory}: the {what + ' ' if what else ''}files are missing "
                           f"(does not exist or permission denied!)")
    return found


def subfolders(directory: str) -> list[str]:
    """The names of the folders in a folder, sorted."""
    return sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())


def files_below(directory: str, extensions: Sequence[str] = (), deep: bool = True) -> list[str]:
    """The files of a folder (and of those below it) with one of the extensions, sorted by path."""
    found = []
    for here, folders, names in os.walk(directory):
        folders.sort()
        found += [os.path.join(here, name) for name in sorted(names)
                  if not extensions or os.path.splitext(name)[1].lower() in extensions]
        if not deep:
            break
    return found


def raw(path: str) -> np.ndarray:
    """The bytes of a file."""
    with open(path, "rb", buffering=0) as stream:
        return np.frombuffer(stream.readall(), np.uint8)


def picture(path: str, decode: bool | None) -> np.ndarray:
    """An image file: its bytes, or its pixels."""
    return pixels(raw(path), "decode") if decode else raw(path)


def lines(path: str) -> list[str]:
    """The lines of a text file without their ends. raises : BadFileError if it is not UTF-8"""
    try:
        with open(path, encoding="utf-8") as stream:
            return [line.rstrip("\r\n") for line in stream]
    except UnicodeDecodeError as error:
        raise BadFileError(f"{path} is not text in UTF-8: {error}") from None


def int32(value: int) -> np.ndarray:
    """A scalar array."""
    return np.array(value, np.int32)


def uint32(value: int) -> np.ndarray:
    """A scalar array."""
    return np.array(value, np.uint32)
