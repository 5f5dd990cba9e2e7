"""Ranks: the processes (or, in a simulated world, the threads) that run one program together, and the protocol that joins them.

    engine().all_reduce(array, "sum", WORLD)        the engine of this thread: its rank, its groups, its collectives

An engine moves arrays. There are three: `Alone` here, one rank that has nobody to talk to; `communication/simulation.py`, ranks
as threads of one process; `communication/mpi.py`, ranks as processes. Operators (`ops/collectives.py`) ask for the one of their
thread and know no other.
"""
from __future__ import annotations

import functools
import itertools
import math
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .dim import Size
from .errors import ArgumentError, ValueRangeError

WORLD = "world"                                  # the group of all ranks
SYNONYMS = {"hccl_world_group": WORLD, "nccl_world_group": WORLD, "mccl_world_group": WORLD, None: WORLD}
MOST = 4                                         # ranks of a sum that is made where it is read: each is an operand there
FOLDS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "any": np.logical_or, "all": np.logical_and}


class Wishes(threading.local):
    """What the program of a thread wants of its collectives.

    joined : bytes of all_reduces that travel as one, at most; None: as many as parallel/buckets.py says
    """
    joined: int | None = None


wishes = Wishes()


class Engine:
    """One rank's door to the others.

    rank, size : its number in the world, and how many there are        groups: {name: ranks of the world, ascending}
    sent       : {operator: [calls, bytes that this rank sent]}, counted from the arrays by the cost of a ring (`ring_bytes`)
    link       : (seconds of a collective, of a byte that is sent), as communication/links.py measured them; None: not measured
    links      : {(operator, reach): the same}, of those that were measured
    pace       : (seconds of a floating-point operation in a product, of an element that is computed), measured with it
    steps      : what this rank took part in, a key for each; None while nobody collects it (communication/execution_order.py)

    An engine defines the methods that raise NotImplementedError. Arrays are contiguous, `ranks` is the tuple of a group in which
    this rank is; what they give is a new array.

    `begin(job)` lets a thread of its own run collectives while this one computes (Beside); all others wait until it is done, so
    that all ranks call the same ones in the same order.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.sent: dict[str, list[int]] = {}
        self.steps: list | None = None
        self.link: tuple[float, float] | None = None
        self.links: dict[tuple[str, str], tuple[float, float]] = {}
        self.pace: tuple[float, float] | None = None
        self.groups = {WORLD: tuple(range(size))}
        self.beside: Beside | None = None
        self.posted: dict[tuple, deque] = {}                 # messages of `post_within` that are under way
        self.left: list = []                                 # those of `leave`

    def begin(self, job: Callable[[], Any]) -> Pending:
        """Run job(), which calls collectives of this engine, beside the program; `wait()` of the result returns its value."""
        if self.size == 1:
            return Pending.done(job())
        if self.beside is None:
            self.beside = Beside(self)
        return self.beside.begin(job)

    def in_turn(self) -> None:
        """Wait until what was begun beside this is done; not in the thread that does it."""
        if self.beside is not None:
            self.beside.drain()

    # -- what an engine defines

    def fold(self, array: np.ndarray, reduction: str, ranks: tuple[int, ...], owned: bool = False, kind: str = "") -> Any:
        """The elementwise fold of everybody's `array`; owned: the result may lie in its memory; kind: what ranks tell each other
        of it, where it is several packed ones (`kinds_of`)."""
        raise NotImplementedError

    def fold_joined(self, arrays: list[np.ndarray], reduction: str, ranks: tuple[int, ...]) -> Any:
        """The fold of everybody's elements of contiguous arrays of one dtype, which travel as one: a flat array."""
        return self.fold(packed(arrays), reduction, ranks, owned=True, kind=kinds_of(arrays))

    def fold_parts(self, parts: list, reduction: str, ranks: tuple[int, ...]) -> Any:
        """The fold of everybody's part for this rank; parts: an array for each rank, empty ones too."""
        raise NotImplementedError

    def exchange(self, parts: list, shapes: list, ranks: tuple[int, ...]) -> Any:
        """What everybody has for this rank. parts: an array for each rank; shapes: those of what comes."""
        raise NotImplementedError

    def gather(self, array: np.ndarray, shapes: list, ranks: tuple[int, ...]) -> Any:
        """Everybody's elements, a flat array for each rank, which lie one behind the other; shapes: those of what comes."""
        raise NotImplementedError

    def spread(self, array: np.ndarray, root: int, ranks: tuple[int, ...]) -> Any:
        """The array of the rank ranks[root]; everybody gives one of its shape."""
        raise NotImplementedError

    def put_down(self, window: Window, arrays: Sequence[np.ndarray], ranks: tuple[int, ...]) -> list[np.ndarray]:
        """Everybody's arrays, those of the first rank first; arrays: this rank's, which may be window.mine."""
        raise NotImplementedError

    def deliver(self, array: np.ndarray, to: int, tag: int) -> Any:
        """Send to a rank of the world."""
        raise NotImplementedError

    def collect(self, shape: tuple[int, ...], dtype: Any, source: int, tag: int) -> Any:
        """What a rank of the world has sent with that tag."""
        raise NotImplementedError

    def hand_over(self, array: np.ndarray, to: int, tag: int) -> Any:
        """`deliver` that does not wait; a ticket, whose `wait()` returns once the receiver has taken it, as `is_over()` says."""
        raise NotImplementedError

    def look_out(self, shape: tuple[int, ...], dtype: Any, source: int, tag: int) -> Any:
        """`collect` that does not wait; a ticket, whose `wait()` gives the array, and `is_over()` says whether it is there."""
        raise NotImplementedError

    def close(self) -> None:
        """The end of the world: wait until all ranks are here."""

    def abort(self, message: str) -> None:
        """End all ranks."""

    # -- groups

    def members(self, group: Any) -> tuple[int, ...]:
        """The ranks of a group, ascending; a tuple of ranks, in any order, is its own.

        raises : ArgumentError for what is no name; ValueRangeError for an unknown group, and for what are no ranks
        """
        if isinstance(group, tuple):
            if not _differ(group, self.size):
                raise ValueRangeError(f"{group} are not different ranks of {self.size}")
            return group
        if group is not None and not isinstance(group, str):
            raise ArgumentError(f"a group is a name, or a tuple of ranks, not {type(group).__name__}",
                                hint="create_group(name, ranks), on all of its ranks")
        name = SYNONYMS.get(group, group)
        if name not in self.groups:
            raise ValueRangeError(f"there is no group {group!r}", hint="create_group(name, ranks), on all of its ranks")
        return self.groups[name]

    def place(self, group: Any) -> int:
        """This rank's number in a group. raises : ValueRangeError if it is not in it"""
        ranks = self.members(group)
        if self.rank not in ranks:
            raise ValueRangeError(f"rank {self.rank} is not in the group {group!r}", note=f"its ranks: {list(ranks)}")
        return ranks.index(self.rank)

    def place_of(self, rank: int, group: Any) -> int:
        """The number in a group of a rank of the world. raises : ArgumentError for no int, ValueRangeError if it is not in it"""
        ranks = self.members(group)
        if isinstance(rank, bool) or not isinstance(rank, int):
            raise ArgumentError(f"a rank is an int, not {type(rank).__name__}")
        if rank not in ranks:
            raise ValueRangeError(f"rank {rank} is not in the group {group!r}", note=f"its ranks: {list(ranks)}")
        return ranks.index(rank)

    def create_group(self, name: str, ranks: Any) -> None:
        """Give a name to some ranks. raises : ArgumentError, ValueRangeError for what are no ranks, or a name that is taken"""
        if not isinstance(name, str) or not isinstance(ranks, (list, tuple, range)):
            raise ArgumentError(f"create_group: takes a name and a list of ranks, not {type(name).__name__} and "
                                f"{type(ranks).__name__}")
        for rank in ranks:
            if isinstance(rank, bool) or not isinstance(rank, int):
                raise ArgumentError(f"create_group: a rank is an int, not {type(rank).__name__}")
        ranks = tuple(sorted(ranks))
        if not ranks or len(set(ranks)) != len(ranks) or not all(0 <= r < self.size for r in ranks):
            raise ValueRangeError(f"create_group: {list(ranks)} are not different ranks of {self.size}")
        if self.groups.get(name, ranks) != ranks or name in SYNONYMS:
            raise ValueRangeError(f"create_group: there is a group {name!r} already",
                                  note=f"its ranks: {list(self.members(name))}")
        self.groups[name] = ranks

    def destroy_group(self, name: str) -> None:
        """Forget a group. raises : ValueRangeError for WORLD, and for a group that is not there"""
        if SYNONYMS.get(name, name) == WORLD:
            raise ValueRangeError("destroy_group: the group of all ranks stays", hint="release() ends it")
        self.members(name)
        del self.groups[name]

    # -- collectives

    def all_reduce(self, array: np.ndarray, reduction: str, group: Any, owned: bool = False, kind: str = "") -> np.ndarray:
        """The fold of all ranks' arrays, on each; owned, kind: as of `fold`."""
        ranks = self._joined("all_reduce", group, array.nbytes)
        if len(ranks) == 1:
            return array if owned else array.copy()
        return self.fold(np.asarray(array, order="C"), reduction, ranks, owned, kind)

    def all_reduce_joined(self, arrays: Sequence[np.ndarray], reduction: str, group: Any) -> np.ndarray:
        """all_reduce of the elements of arrays of one dtype, one array behind the other; flat."""
        arrays = [np.asarray(array, order="C") for array in arrays]
        ranks = self._joined("all_reduce", group, sum([array.nbytes for array in arrays]))
        return packed(arrays) if len(ranks) == 1 else self.fold_joined(arrays, reduction, ranks)

    def around(self) -> tuple[int, ...]:
        """The ranks of the machine of this rank."""
        return tuple(range(self.size))

    def reach(self, groups: Sequence[tuple[int, ...]]) -> str:
        """"far" where one of these groups of ranks is on several machines, else "near": a key of `links`."""
        return "near"

    def is_near(self, group: Any) -> bool:
        """True where all ranks of the group read each other's memory, so that nothing has to be moved between them."""
        return False

    def open_window(self, shapes: tuple[tuple[int, ...], ...], dtype: np.dtype, group: Any) -> Window:
        """A Window for arrays of these shapes, the same on all ranks, which all open in the same order."""
        return Window(Arrays([np.empty(shape, dtype) for shape in shapes]))

    def read_window(self, window: Window, arrays: Sequence[np.ndarray], group: Any) -> list[np.ndarray]:
        """All ranks' arrays, those of the first rank first, for who folds them where they are read: an all_reduce of them; Arrays
        where they lie in a memory that stays. They may be read until the window, which is of one use, is gone."""
        ranks = self._joined("all_reduce", group, sum([array.nbytes for array in arrays]))
        return self.put_down(window, arrays, ranks)

    def all_gather(self, array: np.ndarray, sizes: Any, axis: int, group: Any) -> np.ndarray:
        """All ranks' arrays one after the other along `axis`; sizes: those along it, by rank."""
        array = np.asarray(array, order="C")
        shapes = [(*array.shape[:axis], size, *array.shape[axis + 1:]) for size in sizes]
        ranks = self._joined("all_gather", group, sum(map(math.prod, shapes)) * array.itemsize)
        flat = self.gather(array, shapes, ranks)
        if math.prod(array.shape[:axis]) == 1:               # the parts lie as the whole does
            return flat.reshape(*array.shape[:axis], sum(sizes), *array.shape[axis + 1:])
        parts = parted(flat, [math.prod(shape) for shape in shapes], 0)
        return np.concatenate([part.reshape(shape) for part, shape in zip(parts, shapes)], axis)

    def reduce_scatter(self, array: np.ndarray, reduction: str, sizes: Any, axis: int, group: Any) -> np.ndarray:
        """This rank's part, along `axis`, of the fold of all ranks' arrays; sizes: those of the parts."""
        ranks = self._joined("reduce_scatter", group, array.nbytes)
        return self.fold_parts(parted(array, sizes, axis), reduction, ranks)

    def all_to_all(self, array: np.ndarray, splits: Any, split_axis: int, gathers: Any, gather_axis: int,
                   group: Any) -> np.ndarray:
        """Part i along split_axis goes to rank i; what comes is put together along gather_axis.

        splits, gathers : the sizes of the parts that go and of those that come, by rank
        """
        ranks = self._joined("all_to_all", group, array.nbytes)
        parts = parted(array, splits, split_axis)
        mine = list(parts[ranks.index(self.rank)].shape)
        shapes = [(*mine[:gather_axis], size, *mine[gather_axis + 1:]) for size in gathers]
        return np.concatenate(self.exchange(parts, shapes, ranks), gather_axis)

    def broadcast(self, array: np.ndarray, root: int, group: Any) -> np.ndarray:
        """The array of the group's rank `root`, on each."""
        ranks = self._joined("broadcast", group, array.nbytes)
        return self.spread(np.asarray(array, order="C"), root, ranks)

    def send(self, array: np.ndarray, to: int, tag: int, group: Any) -> None:
        """Send to a rank of the group; it may wait until that has called `receive`."""
        ranks = self._joined("send", group, array.nbytes, to)
        self.deliver(np.asarray(array, order="C"), ranks[to], tag)

    def post(self, array: np.ndarray, to: int, tag: int, group: Any) -> Any:
        """Send to a rank of the group and go on at once; `wait()` of what this gives returns once the receiver has taken it."""
        ranks = self._joined("send", group, array.nbytes, to)
        return self.hand_over(np.asarray(array, order="C"), ranks[to], tag)

    def leave(self, array: np.ndarray, to: int, tag: int, group: Any) -> None:
        """`post` whose end nobody waits for; the array may change at once."""
        self.left = [ticket for ticket in self.left if not ticket.is_over()]
        self.left.append(self.post(array, to, tag, group))

    def post_within(self, credits: int, array: np.ndarray, to: int, tag: int, group: Any) -> None:
        """`post`; where so many messages to that rank with this tag are under way, wait until the oldest is received."""
        waiting = self.posted.setdefault((to, tag, self.members(group)), deque())
        while len(waiting) >= credits:
            waiting.popleft().wait()
        waiting.append(self.post(array, to, tag, group))

    def settle(self) -> None:
        """Wait until all messages of `post_within` are received."""
        for waiting in self.posted.values():
            while waiting:
                waiting.popleft().wait()

    def receive(self, shape: tuple[int, ...], dtype: Any, source: int, tag: int, group: Any) -> np.ndarray:
        """What a rank of the group has sent."""
        return self.collect(tuple(shape), np.dtype(dtype), self._source(source, group), tag)

    def expect(self, shape: tuple[int, ...], dtype: Any, source: int, tag: int, group: Any) -> Any:
        """`receive` that goes on at once: `wait()` of what this gives is the array. Messages come in the order in which they are
        expected."""
        return self.look_out(tuple(shape), np.dtype(dtype), self._source(source, group), tag)

    def _source(self, source: int, group: Any) -> int:
        self.in_turn()
        ranks = self.members(group)
        self._note("send", group, f"{ranks[source]})->({self.rank}")
        return ranks[source]

    def barrier(self, group: Any) -> None:
        """Wait until all ranks of the group are here."""
        ranks = self._joined("barrier", group, 0)
        self.fold(np.zeros(1, np.int32), "sum", ranks)

    def _joined(self, operator: str, group: Any, nbytes: int, to: int | None = None) -> tuple[int, ...]:
        self.in_turn()
        ranks = self.members(group)
        if self.rank not in ranks:
            self.place(group)                                # which says so
        if self.steps is not None:
            self._note(operator, group, ",".join(map(str, ranks)) if to is None else f"{self.rank})->({ranks[to]}")
        entry = self.sent.setdefault(operator, [0, 0])
        entry[0] += 1
        entry[1] += ring_bytes(operator, nbytes, len(ranks))
        return ranks

    def _note(self, operator: str, group: Any, ranks: Any) -> None:
        if self.steps is not None:
            self.steps.append(f"{operator}_{SYNONYMS.get(group, group)}_({ranks})")


class Arrays(list[np.ndarray]):
    """Arrays that are used in many runs. places: where they begin"""

    def __init__(self, arrays: Iterable[np.ndarray]) -> None:
        super().__init__(arrays)
        self.places = tuple(map(address, self))


class Window:
    """What a rank is about to add to a sum that is made where it is read. mine: Arrays, which it may fill"""

    def __init__(self, mine: Arrays) -> None:
        self.mine = mine


class Pending:
    """The value of a job that runs beside the program, or why there is none."""

    def __init__(self) -> None:
        self.over, self.value, self.error = threading.Event(), None, None

    @staticmethod
    def done(value: Any) -> Pending:
        """One that is there already."""
        made = Pending()
        made.value = value
        made.over.set()
        return made

    def is_over(self) -> bool:
        """True once it is there."""
        return self.over.is_set()

    def wait(self) -> Any:
        """The value. raises : what the job has raised"""
        self.over.wait()                                     # the job has a deadline: each of its collectives has
        if self.error is not None:
            raise self.error
        return self.value


class Beside:
    """The thread that does the jobs of one engine in their order."""

    def __init__(self, owner: Engine) -> None:
        self.jobs: queue.SimpleQueue = queue.SimpleQueue()
        self.last = Pending.done(None)
        self.thread = threading.Thread(target=self._work, args=(owner,), name="communication", daemon=True)
        self.thread.start()

    def begin(self, job: Callable[[], Any]) -> Pending:
        """Put a job behind the others."""
        self.last = Pending()
        self.jobs.put((job, self.last))
        return self.last

    def drain(self) -> None:
        """Wait until all jobs are done, unless this is one of them. What failed is told by its own `wait`."""
        if threading.current_thread() is not self.thread:
            self.last.over.wait()

    def end(self) -> None:
        """Let the thread end."""
        self.jobs.put(None)

    def _work(self, owner: Engine) -> None:
        set_thread_engine(owner)
        while (task := self.jobs.get()) is not None:
            job, pending = task
            try:
                pending.value = job()
            except BaseException as error:                   # the thread that waits for it raises it
                pending.error = error
            pending.over.set()


_SENT = {"all_reduce": (2, 1), "all_gather": (1, 1), "reduce_scatter": (1, 1), "all_to_all": (1, 1), "broadcast": (1, 1),
         "send": (1, 0), "barrier": (0, 0)}      # {operator: (times, fewer)}: times * (count - fewer) parts


def ring_bytes(operator: str, nbytes: Size, count: int) -> Size:
    """The bytes that each of `count` ranks sends, for a whole of `nbytes` (of all_to_all: for this rank's part of it): a function
    of the sizes that are open.

    source : Thakur, Rabenseifner and Gropp 2005, section 4; parallel/boxing.py predicts by the same
    """
    often, less = _SENT[operator]
    times = often * (count - less)
    return (2 * times * nbytes + count) // (2 * count)       # to the nearest


@functools.lru_cache(256)
def _differ(ranks: tuple, size: int) -> bool:
    """True for one rank and more of a world of that size, none of them twice."""
    return 0 < len(ranks) == len(set(ranks)) and all([isinstance(rank, int) and 0 <= rank < size for rank in ranks])


def kind_of(array: np.ndarray) -> str:
    """What ranks tell each other of an array: its dtype and shape, "float32[3, 2]"."""
    return described(array.dtype, array.shape)


def kinds_of(arrays: Sequence[np.ndarray]) -> str:
    """`kind_of` of each of several arrays of one dtype, which travel as one."""
    return _all_described(arrays[0].dtype, tuple([array.shape for array in arrays]))


@functools.lru_cache(1024)
def described(dtype: np.dtype, shape: tuple[int, ...]) -> str:
    """The kind of an array of this dtype and shape."""
    return f"{dtype}{list(map(int, shape))}"


@functools.lru_cache(1024)
def _all_described(dtype: np.dtype, shapes: tuple[tuple[int, ...], ...]) -> str:
    return " and ".join([described(dtype, shape) for shape in shapes])


def address(array: np.ndarray) -> int:
    """Where an array begins."""
    return array.__array_interface__["data"][0]


def packed(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The elements of arrays of one dtype, one array behind the other."""
    return np.concatenate([array.reshape(-1) for array in arrays])


def unpacked(flat: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Arrays of these shapes in the memory of one that was packed."""
    ends = list(itertools.accumulate(map(math.prod, shapes)))
    return [flat[end - math.prod(shape):end].reshape(shape) for end, shape in zip(ends, shapes)]


def folded(arrays: list, reduction: str) -> np.ndarray:
    """The fold of arrays, in the order of the ranks."""
    narrow = arrays[0].dtype.itemsize < 4 and arrays[0].dtype.kind in "fV"
    total = arrays[0].astype(np.float32) if narrow else arrays[0].copy()
    with np.errstate(all="ignore"):                          # an inf is a result like others
        for array in arrays[1:]:
            total = FOLDS[reduction](total, array)
        total = total.astype(arrays[0].dtype)
    return np.asarray(total, order="C")


def parted(array: np.ndarray, sizes: Any, axis: int) -> list[np.ndarray]:
    """`array` in parts of these sizes along `axis`, each contiguous."""
    ends = np.cumsum(sizes)
    return [np.ascontiguousarray(array[(slice(None),) * axis + (slice(end - size, end),)]) for size, end in zip(sizes, ends)]


def even_sizes(size: Size, count: int, unit: Size = 1) -> tuple[Size, ...]:
    """The sizes of `count` parts of `size` elements, an int or Dim: the first ones have one more where they are uneven, and the
    last ones none where there are fewer elements than parts.

    unit : how many elements stay together; it divides the size
    """
    if unit != 1:
        return tuple([unit * part for part in even_sizes(size // unit if unit != 0 else 0, count)])
    more = 0 if size % count == 0 else count - 1             # proved, where the size is open
    return tuple([(size + max(more - i, 0)) // count for i in range(count)])


class Alone(Engine):
    """One rank: what it sends comes back."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def fold(self, array: np.ndarray, reduction: str, ranks: tuple[int, ...], owned: bool = False, kind: str = "") -> Any:
        return array.copy()

    def fold_parts(self, parts: list, reduction: str, ranks: tuple[int, ...]) -> Any:
        return parts[0].copy()

    def exchange(self, parts: list, shapes: list, ranks: tuple[int, ...]) -> Any:
        return [part.copy() for part in parts]

    def gather(self, array: np.ndarray, shapes: list, ranks: tuple[int, ...]) -> Any:
        return array.reshape(-1).copy()

    def spread(self, array: np.ndarray, root: int, ranks: tuple[int, ...]) -> Any:
        return array.copy()

    def put_down(self, window: Window, arrays: Sequence[np.ndarray], ranks: tuple[int, ...]) -> list[np.ndarray]:
        return list(arrays)

    def deliver(self, array: np.ndarray, to: int, tag: int) -> Any:
        raise ValueRangeError("send: there is one rank, and nobody to send to")

    def hand_over(self, array: np.ndarray, to: int, tag: int) -> Any:
        raise ValueRangeError("send: there is one rank, and nobody to send to")

    def collect(self, shape: tuple[int, ...], dtype: Any, source: int, tag: int) -> Any:
        raise ValueRangeError("receive: there is one rank, and nobody who sends")

    look_out = collect


class _Engines(threading.local):
    engine: Engine | None = None


_of_thread, _of_process = _Engines(), [Alone()]


def engine() -> Engine:
    """The Engine of this thread: that of its simulated rank, or that of the process."""
    return _of_thread.engine or _of_process[0]


def set_thread_engine(made: Engine | None) -> None:
    """Make `made` the engine of this thread; None: that of the process."""
    _of_thread.engine = made


def set_process_engine(made: Any) -> None:
    """Make `made` the engine of all threads that have none of their own; None: Alone."""
    _of_process[0] = made or Alone()
