"""Collectives between ranks of one machine, through memory that they share.

    rank 0  x0 -> area 0        barrier        x0 = area 0 + area 1
    rank 1  x1 -> area 1                       x1 = area 0 + area 1

Each rank writes what it has into its area, and all read after a barrier: bytes are copied once on their way, and each rank adds
up in the order of the ranks, so all have the same bits. There are two areas for a rank, which take turns: who writes into one
knows from the barrier between that nobody reads it any more. Larger arrays go in pieces of an area, which stay in the cache.

What ranks are about to do is compared behind the first barrier of a collective, before anything that came is used.

The barrier is a semaphore for each pair of ranks, in the same memory. A rank that waits looks a few times and then sleeps in the
kernel. MPI's calls never sleep: with more threads than cores they take the time of the rank that they wait for.

The memory is a file without a name (memfd) of the first rank, which the others open below /proc. A rank that is killed leaves
nothing behind, and /dev/shm, which has 64 MB in many containers and ends who writes more by a bus error, is not used.
"""
from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..common import log
from ..common.ranks import FOLDS

RECORD = 512                                     # bytes of what ranks exchange to agree
HASH = 8                                         # of them that must be the same: a number
_STEP = RECORD // HASH                           # from one such number to the next
PIECE = 1 << 20                                  # bytes of an area
LOOKS = 20                                       # at a semaphore before a rank sleeps: some microseconds
_SEMAPHORE = 64                                  # bytes, a cache line; glibc's sem_t has 32
_MARK = 16                                       # random bytes by which the ranks know that they see the same memory
_ELEMENTWISE = {**FOLDS, "any": np.maximum, "all": np.minimum}   # of bool as bytes


class Differ(Exception):
    """The ranks are about to do different things. All of them see it at the same barrier."""


def shared(communicator: Any, wanted: bool) -> SharedMemory | None:
    """The memory of the ranks of mpi4py's communicator. None on all of them where one does not want it, or cannot have it."""
    place, count = communicator.Get_rank(), communicator.Get_size()
    memory = mapped_by_all(communicator, _SEMAPHORE * count ** 2 + 2 * count * (RECORD + PIECE), wanted)
    if memory is None:
        return None
    made = SharedMemory(place, count, memory)
    communicator.Barrier()                                   # all semaphores are there
    return made


def mapped_by_all(communicator: Any, nbytes: int, wanted: bool = True) -> mmap.mmap | None:
    """New memory, of zeros, that all ranks of the communicator see; None on all of them where one does not want it, or cannot."""
    if not all(communicator.allgather(wanted and hasattr(os, "memfd_create"))):
        return None
    mark, file, path = os.urandom(_MARK), -1, ""
    if communicator.Get_rank() == 0:
        file = os.memfd_create("mindlite-ranks")
        os.ftruncate(file, nbytes)
        os.pwrite(file, mark, 0)
        path = f"/proc/{os.getpid()}/fd/{file}"
    path, mark = communicator.bcast((path, mark))
    memory, reason = _mapped(path, mark)
    reasons = [reason for reason in communicator.allgather(reason) if reason]
    if file >= 0:
        os.pwrite(file, bytes(_MARK), 0)
        os.close(file)                                       # the others have opened it
    if reasons:
        log.warning("ranks share no memory, so MPI carries their collectives: %s", reasons[0])
        return None
    return memory


def _mapped(path: str, mark: bytes) -> tuple[Any, str]:
    """(the bytes of the file, "") or (None, why there are none)."""
    try:
        file = os.open(path, os.O_RDWR)
        try:
            memory = mmap.mmap(file, 0)
        finally:
            os.close(file)
    except OSError as error:
        return None, str(error)
    return memory, "" if memory[:_MARK] == mark else f"{path} is another file for some of them"


class SharedMemory:
    """One rank's door to the memory that the ranks of a communicator share.

    What is given and filled is flat and contiguous. All ranks of the group call the same methods in the same order.
    """

    def __init__(self, place: int, count: int, memory: mmap.mmap) -> None:
        self.place, self.count = place, count
        everything = np.frombuffer(memory, np.uint8)
        semaphores, records = _SEMAPHORE * count ** 2, 2 * count * RECORD
        self.records = everything[semaphores:semaphores + records].reshape(2, count, RECORD)
        self.marks = memoryview(memory)[semaphores:semaphores + records].cast("Q")       # the first number of each counts
        self.areas = everything[semaphores + records:].reshape(2, count, PIECE)
        self.turn, self.announced = 0, False                 # announced: records are compared at the next barrier
        library, brief = ctypes.CDLL(None, use_errno=True), ctypes.PyDLL(None)      # brief: without letting other threads run
        self.post, self.wait, self.look = brief.sem_post, library.sem_wait, brief.sem_trywait
        others = [rank for rank in range(count) if rank != place]

        def semaphore(giver: int, taker: int) -> ctypes.c_void_p:
            return ctypes.c_void_p(everything.ctypes.data + _SEMAPHORE * (giver * count + taker))
        self.mine = [semaphore(place, rank) for rank in others]
        self.theirs = [semaphore(rank, place) for rank in others]
        for mark in self.mine:
            if library.sem_init(mark, 1, 0) != 0:
                raise OSError(ctypes.get_errno(), "sem_init")

    def barrier(self) -> None:
        """Wait until all ranks are here. What they have written before it is seen behind it. raises : Differ"""
        for mark in self.mine:
            self.post(mark)
        for mark in self.theirs:
            for _ in range(LOOKS):
                if self.look(mark) == 0:
                    break
            else:
                while self.wait(mark) != 0:                  # a signal has come: Python sees to it between two calls
                    pass
        first, self.turn = self._mark(0), 1 - self.turn
        if self.announced:
            self.announced = False
            marks = self.marks[first:first + self.count * _STEP:_STEP].tolist()
            if marks.count(marks[0]) != self.count:
                raise Differ

    def _mark(self, place: int) -> int:
        """Where the mark of a rank is, this time."""
        return (self.turn * self.count + place) * _STEP

    def announce(self, mark: int, data: np.ndarray | None) -> None:
        """Say by a number of 64 bits what this rank is about to do, and up to RECORD - HASH bytes with it.

        raises : Differ, at the next barrier, where others say another number
        """
        self.marks[self._mark(self.place)] = mark
        if data is not None:
            self.records[self.turn, self.place, HASH:HASH + data.size] = data
        self.announced = True

    def settle(self) -> np.ndarray:
        """All ranks' records, a row for each, which stay until the next but one barrier. raises : Differ"""
        if self.announced:
            self.barrier()
        return self.records[1 - self.turn]

    def _published(self, *parts: np.ndarray) -> np.ndarray:
        """All ranks' areas, of elements like those of `parts`, which lie in that of this rank one behind the other."""
        areas = self.areas[self.turn].view(parts[0].dtype)
        mine, begin = areas[self.place], 0
        for part in parts:
            mine[begin:begin + part.size] = part
            begin += part.size
        self.barrier()
        return areas

    def fold(self, arrays: list[np.ndarray], reduction: str, out: np.ndarray) -> None:
        """Put the fold of what all ranks have into `out`; arrays: what this one has, in pieces, of which `out` may be one."""
        step = PIECE // out.itemsize
        for begin, parts in zip(range(0, out.size, step), _cut(arrays, step)):
            piece = out[begin:begin + step]
            _fold(self._published(*parts)[:, :piece.size], reduction, piece)

    def fold_parts(self, array: np.ndarray, sizes: list[int], out: np.ndarray, reduction: str) -> None:
        """Fold this rank's part of all ranks' arrays into `out`; sizes: how many elements each rank's part has."""
        step, mine = PIECE // array.itemsize, sum(sizes[:self.place])
        for begin in range(0, array.size, step):
            areas = self._published(array[begin:begin + step])
            low, high = max(begin, mine), min(begin + step, mine + out.size)
            if low < high:
                _fold(areas[:, low - begin:high - begin], reduction, out[low - mine:high - mine])

    def gather(self, array: np.ndarray, sizes: list[int], out: np.ndarray) -> None:
        """Put all ranks' bytes one behind the other; sizes: how many each has."""
        self._copy(array, sizes, [0] * self.count, sizes, out)

    def exchange(self, array: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
        """Put what all ranks have for this one, one behind the other. array: the bytes for rank 0, 1, ..; table: for each rank
        how many bytes go there, a mark of what they are, how many come from there, and the mark of that.

        raises : Differ, on all ranks before anything is moved
        """
        told = self._published(table.reshape(-1))[:, :table.size].reshape(self.count, *table.shape).copy()
        check_exchange(told)
        sent = told[:, 0]
        self._copy(array, sent.sum(1).tolist(), sent[:, :self.place].sum(1).tolist(), table[2].tolist(), out)

    def _copy(self, array: np.ndarray, totals: list[int], starts: list[int], sizes: list[int], out: np.ndarray) -> None:
        """Put parts of all ranks' bytes one behind the other: from rank r sizes[r] of its totals[r] bytes, from starts[r] on."""
        ends = np.cumsum(sizes).tolist()
        for begin in range(0, max(totals), PIECE):
            areas = self._published(array[begin:begin + PIECE])
            for area, start, size, end in zip(areas, starts, sizes, ends):
                low, high = max(begin, start), min(begin + PIECE, start + size)
                if low < high:
                    shift = end - size - start
                    out[shift + low:shift + high] = area[low - begin:high - begin]

    def spread(self, array: np.ndarray, root: int) -> None:
        """Put the bytes of the rank `root` into `array`."""
        for begin in range(0, array.size, PIECE):
            piece = array[begin:begin + PIECE]
            if self.place == root:
                self._published(piece)
            else:
                area = self.areas[self.turn, root]
                self.barrier()
                piece[:] = area[:piece.size]


def check_exchange(told: np.ndarray) -> None:
    """raises : Differ where a rank sends another array than is waited for. told: each rank's table (SharedMemory.exchange)"""
    if (told[:, :2].transpose(2, 1, 0) != told[:, 2:]).any():
        raise Differ


def _cut(arrays: list[np.ndarray], size: int) -> Iterator[list[np.ndarray]]:
    """Lists of parts of arrays, in their order: each list has `size` elements, the last one fewer."""
    found, room = list[np.ndarray](), size
    for array in arrays:
        while array.size >= room:
            yield [*found, array[:room]]
            array, found, room = array[room:], [], size
        if array.size:
            found.append(array)
            room -= array.size
    if found:
        yield found


def _fold(rows: np.ndarray, reduction: str, out: np.ndarray) -> None:
    """The fold of rows, in their order, into `out`."""
    fold = _ELEMENTWISE[reduction]
    with np.errstate(all="ignore"):                          # an inf is a result like others
        fold(rows[0], rows[1], out=out)
        for row in rows[2:]:
            fold(out, row, out=out)
