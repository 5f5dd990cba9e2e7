"""How a pipeline runs: rows are described first and computed later, by whoever has time.

    GeneratorDataset(source) -> shuffle -> map(flip) -> batch(2)

    node 0 walks     (0, 5), (0, 2), (0, 7) ..                          "sample 5 of node 0"
    node 1 shuffles  (0, 7), (0, 5) ..                                  descriptions, no data
    node 2 walks     (2, (epoch, 0, (0, 7))), (2, (epoch, 1, (0, 5)))   "the map of sample 0 of this pass, which is .."
    node 3 walks     (3, (epoch, 0, [those two]))                       one batch

A description is a small tuple (node, payload); a row that is known already is a list of arrays. `Run.value` computes a row from
its description: in this process, or in a worker process that was forked and knows the same nodes (workers.py). Because a
description says everything (random operations draw by seed, node, pass and sample: draws.py), order and numbers are the same
wherever and in whatever order rows are computed.

A node that must see data to go on (filter, bucket, flat_map) walks over `run.rows(child)`, which are computed rows.
"""
from __future__ import annotations

import collections
import multiprocessing
import os
import sys
import threading
import time
import traceback
import warnings
import zlib
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ..common.errors import MindliteError, user_level
from ..common.location import Location, is_framework
from . import config, draws
from .callbacks import CallbackCalls
from .columns import stacked_as_they_come
from .mersenne import WORD, SeededPass
from .workers import Note, Pool

REPLACEMENTS = 16                        # good rows that stand in for bad ones, MindSpore's number
SPREAD_AFTER = 0.5                       # seconds that rows have cost in this process before workers go on with the others
SPREAD_FROM = 5e-4                       # seconds that a row, or a batch, costs at least where a worker is worth its way
Row = list                               # of arrays (or, where a user's function gives them, of Python objects)
Description = tuple                      # (node number, payload)


class PipelineError(MindliteError, RuntimeError):
    """A sample that could not be read or transformed."""


class BadSample(Exception):
    """What `value` raises for a sample that the mode of the pipeline leaves out."""


class Node:
    """A node of a pipeline: what its columns are, how many rows it has, how it walks over descriptions, how it computes a row.

    children   : the nodes it takes rows from;  made_at : the user's line
    makes_rows : True where computed rows share no memory with what the user holds
    by_row     : True where each row comes of one row below, or of one sample
    costly     : True after rows have cost so much in this process that workers went on with them
    """
    children: Sequence[Node]
    made_at: Location | None
    makes_rows = by_row = costly = False

    def names(self) -> list[str]:
        """The names of the columns."""
        return self.children[0].names()

    def size(self) -> int | None:
        """How many rows a pass has; None if that is known only afterwards."""
        return self.children[0].size()

    def walk(self, run: Run, epoch: int) -> Iterator[Description | Row]:
        """Descriptions of the rows of pass `epoch`."""
        raise NotImplementedError

    def evaluate(self, run: Run, payload: Any) -> Row:
        """The row that a description of this node stands for."""
        raise NotImplementedError

    def gather(self, run: Run, payloads: list, empty: Callable, columns: Sequence[int] | None = None) -> Row:
        """The rows of several descriptions of this node, stacked; of these columns alone: the others need not have one shape.

        empty : what makes the array of a batch, like np.empty
        """
        rows, names = (self.evaluate(run, payload) for payload in payloads), self.names()
        if columns is not None:
            rows, names = ([row[k] for k in columns] for row in rows), [names[k] for k in columns]
        return stacked_as_they_come(rows, len(payloads), names, empty)

    def whole(self) -> Sequence[np.ndarray] | None:
        """The columns as arrays, a row for each sample, where they lie in memory like that."""
        return None

    def processes(self) -> int:
        """How many worker processes this node wants; 1 for none."""
        return 1

    def may_use(self) -> int:
        """How many worker processes may compute its rows, though nobody has asked for some; 0 where that could be noticed.

        Built-in operations on files give the same in every process, a user's function and a user's object may not.
        """
        return 1 if self.children else 0

    def stays_home(self) -> bool:
        """True if rows must be computed in this process."""
        return False

    def label(self) -> str:
        """How the node is called in errors."""
        return type(self).__name__

    def describe(self, sample: int, operation: int | None = None) -> str:
        """Where an error has happened."""
        return f"sample {sample} of {self.label()}"

    def failing(self, operation: int | None) -> str:
        """The opening of an error."""
        return f"{self.label()} failed."

    def file_of(self, sample: int) -> str | None:
        """The file that a sample comes from, where that is known."""
        return None


class Run:
    """One iterator's way through a tree of datasets.

    nodes  : every node of the tree, children first;  numbers : {id(node): its place in nodes}
    seed   : what random orders and operations draw from;  seeded : True if the program has set it
    pool   : worker processes, made when the first row is asked for; None when everything runs in this process
    skipped: how many samples have been left out
    empty  : what makes the arrays of the batch that is asked for, like np.empty: in a worker they lie in shared memory. Whoever
             makes that batch takes it and leaves np.empty: rows below may be kept by functions of the user's
    spread : how many workers go on where rows cost time; 0 for none. cost, count : the seconds of so many rows until then
    judged : the nodes above which bad samples must be gone already, because what follows counts or groups rows
    epoch  : the epoch of the iterator. A node may be passed over several times in it, below a repeat: `walk` counts passes
    calls  : {number of a map: what calls its callbacks};  quiet : True if they are not called
    """

    def __init__(self, root: Node) -> None:
        self.root = root
        self.nodes: list[Node] = []
        self.numbers: dict[int, int] = {}
        self.judged: set[int] = set()
        self._number(root, None)
        self.seeded = config.settings.seed != config.DEFAULT_SEED
        self.seed = config.settings.seed if self.seeded else int.from_bytes(os.urandom(8), "little")
        self.pool: Pool | None = None
        self.note: Note | None = None
        self.empty: Callable = np.empty
        self.skipped = self.epoch = self.spread = self.count = 0
        self.cost = 0.0
        self.calls: dict[int, CallbackCalls] = {}
        self._streams: dict[int, int] = {}
        self._kept: dict[int, dict] = {}                     # {id(node): what SeededPass works out}
        self.started = self.quiet = False
        self.closed = threading.Event()

    def stream(self, node: Node) -> int:
        """Which random numbers a node draws.

        Without a seed each node has its own. With one it is the k-th node of its kind above a source, in each branch: branches of
        a zip that do the same, to images and to masks say, draw the same, as in MindSpore.
        """
        if id(node) not in self._streams:
            if self.seeded:
                kind = type(node).__name__ if node.children else "source"
                self._streams[id(node)] = zlib.crc32(kind.encode()) << 32 | self._rank(node, kind)
            else:
                self._streams[id(node)] = self.numbers[id(node)]
        return self._streams[id(node)]

    def _rank(self, node: Node, kind: str) -> int:
        """How many nodes of a kind stand on the longest way from a node down to a source."""
        ranks: dict[int, int] = {}
        for one in self.nodes:                               # children come first
            ranks[id(one)] = max((ranks[id(child)] for child in one.children), default=0) + (type(one).__name__ == kind)
        return ranks[id(node)]

    def draw_for(self, node: Node, epoch: int, sample: int) -> None:
        """From here on this thread draws for a sample of a node."""
        draws.begin(self.seed, self.stream(node), epoch, sample, self.numbers[id(node)])

    def end_epoch(self) -> None:
        """The iterator has given the last row of an epoch."""
        for calls in self.calls.values():
            calls.end()

    def _number(self, node: Node, parent: Node | None) -> None:
        if node.by_row and (parent is None or not parent.by_row):
            self.judged.add(id(node))
        if id(node) in self.numbers:
            return
        for child in node.children:
            self._number(child, node)
        self.numbers[id(node)] = len(self.nodes)
        self.nodes.append(node)

    def start(self) -> None:
        """Make the worker processes, if the pipeline wants some."""
        if self.started:
            return
        self.started = True
        if config.settings.debug_mode or not hasattr(os, "fork"):
            return
        count = max(node.processes() for node in self.nodes)
        if count > 1:
            self._fork(count)
            return
        allowed = [node.may_use() for node in self.nodes]
        self.spread = 0 if 0 in allowed or multiprocessing.current_process().daemon else max(allowed)
        if self.spread > 1 and any(node.costly for node in self.nodes):
            self._fork(self.spread)

    def _fork(self, count: int) -> None:
        self.pool = Pool(count, self._in_worker, self._explain, config.settings.multiprocessing_timeout_interval)

    def _workers_go_on(self) -> bool:
        """True from when on rows have cost so much here that workers compute those that follow, as `spread` allows."""
        if self.pool is None and self.spread > 1 and self.cost > SPREAD_AFTER and self.cost > SPREAD_FROM * self.count:
            for node in self.nodes:
                node.costly = True
            self._fork(self.spread)
        return self.pool is not None

    def rows(self, node: Node, epoch: int) -> Iterator[Row]:
        """The computed rows of one pass of a node, in order."""
        return self.computed(node.walk(self, epoch), node.stays_home())

    def judge(self, node: Node, described: Iterator) -> Iterator:
        """What a node walks over: its descriptions, or its good rows where bad ones are left out or replaced."""
        if config.error_mode() == config.ErrorSamplesMode.RETURN or id(node) not in self.judged:
            return described
        return self.computed(described, node.stays_home())

    def computed(self, described: Iterator, here: bool = False) -> Iterator[Row]:
        """The rows that are described, in order; bad ones are left out or replaced by good ones, as the settings say."""
        found = self._here(described, here) if here or self.pool is None else self.pool.stream(described)
        if config.error_mode() == config.ErrorSamplesMode.REPLACE:
            yield from self._replaced(found)
            return
        for row in found:
            if isinstance(row, _Skipped):
                self._count(row.why)
            else:
                yield row
                row = None                                   # it is the program's: nothing here holds its memory

    def _replaced(self, found: Iterator) -> Iterator[Row]:
        """The good rows, and one of them in place of each bad one.

        As in MindSpore 16 good rows wait: the oldest stands in before each row that follows, which takes its place; the rest at
        the end.
        """
        good: collections.deque[Row] = collections.deque()   # what stands in for bad rows, one after the other
        missing = 0
        for row in found:
            if isinstance(row, _Skipped):
                self._count(row.why)
                missing += 1
                continue
            if len(good) < REPLACEMENTS:
                good.append(row)
            elif missing:
                yield good.popleft()
                good.append(row)
                missing -= 1
            yield row
        if missing and not good:
            raise PipelineError("All data is garbage, cannot be replaced.")
        for k in range(missing):
            yield good[k % len(good)]

    def _here(self, described: Iterator, always: bool) -> Iterator:
        """The rows that this process computes. always : none of them may be a worker's"""
        for description in described:
            since = time.perf_counter()
            try:
                row = self.value(description)
            except BadSample as bad:
                row = _Skipped(str(bad))                     # type: ignore[assignment]
            finally:
                draws.end()
            self.cost += time.perf_counter() - since
            self.count += 1
            yield row
            if not always and self._workers_go_on():
                yield from self.pool.stream(described)       # type: ignore[union-attr]
                return

    def _count(self, why: str) -> None:
        self.skipped += 1
        if self.skipped == 1:
            warnings.warn(f"a bad sample is left out, and others may be (iterator.skipped counts them): {why}",
                          stacklevel=user_level())

    def value(self, description: Description | Row) -> Row:
        """The row that is described."""
        if type(description) is list:
            return description
        return self.nodes[description[0]].evaluate(self, description[1])

    def doing(self, node: Node, sample: int, operation: int = -1) -> None:
        """Remember what is being computed, for the case that this process dies."""
        if self.note is not None:
            numbers = self.note.numbers
            numbers[0], numbers[1], numbers[2] = self.numbers[id(node)], sample, operation
            if not node.children:
                numbers[3], numbers[4] = numbers[0], sample

    def _in_worker(self, description: Description | Row, note: Note, empty: Callable) -> Any:
        self.note = note
        self.empty = empty if type(description) is tuple and self.nodes[description[0]].makes_rows else np.empty
        try:
            return self.value(description)
        except BadSample as bad:
            return _Skipped(str(bad))
        except (SystemExit, KeyboardInterrupt) as error:     # of the user's code: Ctrl-C is the parent's business
            raise PipelineError(f"{type(error).__name__} {error}\n      {self._explain(note)}",
                                location=user_line(error)) from error
        finally:
            draws.end()

    def _explain(self, note: Note) -> str:
        number, sample, operation = note.numbers[0], note.numbers[1], note.numbers[2]
        if number < 0:
            return "before its first sample"
        node = self.nodes[number]
        leaf, read = note.numbers[3], ""
        if node.children and leaf >= 0:
            read = f", sample {note.numbers[4]} of {self.nodes[leaf].label()}"
        return "at " + node.describe(sample, operation if operation >= 0 else None) + read

    def origin(self, description: Any) -> str:
        """", sample 5 of ImageFolderDataset, cat/5.jpg": where a described row comes from; "" if that is not known."""
        found = self._source_of(description)
        return "" if found is None else ", " + found[0].describe(found[1])

    def _source_of(self, description: Any) -> tuple[Node, int] | None:
        """(source, number of its sample) that a described row comes from, where that is known."""
        while type(description) is tuple and len(description) == 2 and isinstance(description[0], int):
            node, payload = self.nodes[description[0]], description[1]
            if not node.children:
                return node, payload[1]
            description = payload[2] if type(payload) is tuple and len(payload) == 3 else payload
        return None

    def failed(self, error: Exception, node: Node, sample: int, operation: int | None = None, below: Any = None) -> Exception:
        """What is raised for an exception of a user's function, of an operation or of a file: it names the sample.

        below : the description of the row that the operation was applied to
        """
        if isinstance(error, (PipelineError, BadSample)):
            return error
        where = user_line(error)
        said = str(error) if isinstance(error, MindliteError) else f"{type(error).__name__}: {error}"
        first, _, rest = said.partition("\n")
        place = node.describe(sample, operation) + self.origin(below)
        source = self._source_of(below)
        file = None if source is None or isinstance(source[1], list) else source[0].file_of(source[1])
        opening = f"{node.failing(operation)} The corresponding data file is: {file}." if file else node.failing(operation)
        told = f"{opening} " if isinstance(error, MindliteError) else f"{opening} Error description:\n"
        text = f"{told}{first}\n      {place}"
        if rest:
            text += "\n" + rest
        location = where or node.made_at
        if config.error_mode() == config.ErrorSamplesMode.RETURN:
            return PipelineError(text, location=location)
        return BadSample(f"{first} ({place})")

    def order(self, node: Node, epoch: int) -> SeededPass:
        """What the random order of one pass of a node depends on: the seed alone where the program has set one."""
        seed = self.seed if self.seeded else (self.seed >> 32) + self.numbers[id(node)]
        return SeededPass(seed % WORD, epoch, self.seeded, self._kept.setdefault(id(node), {}))

    def close(self) -> None:
        """End the workers."""
        self.closed.set()
        self.started = True
        if self.pool is not None:
            self.pool.close()


class _Skipped:
    """What a worker sends for a sample that is left out."""

    def __init__(self, why: str) -> None:
        self.why = why


def user_line(error: BaseException) -> Location | None:
    """The innermost line of a traceback that is the user's: outside mindlite and outside installed packages if there is one."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not is_framework(f.filename)]
    own = [f for f in frames if "site-packages" not in f.filename and not f.filename.startswith(sys.base_prefix + os.sep + "lib")]
    for frame in (own or frames)[-1:]:
        return Location(frame.filename, frame.lineno or 0, scope="" if frame.name == "<module>" else frame.name)
    return None


def name_of(operation: Callable) -> str:
    """How an operation is called in errors: the class of one of ours, PyFunc and its name for a user's function."""
    if getattr(operation, "builtin", False):
        return type(operation).__name__
    return "PyFunc"
