"""Windows: memory into which each rank of a machine writes its own row, and which all of them read.

    window = windows.open(ranks, 2 MiB)      rows 0 and 1 of half 0        what a rank writes here nobody reads yet
    .. kernels write into window.mine ..
    all ranks meet                           window.rows: those of all      everybody reads them until the end of the run
    the next window of these ranks           rows 0 and 1 of half 1

Nothing is copied: a rank's kernels read what the others have written, where it lies. There are two halves, which take turns:
who writes into one again has met the others in between, and each of them had left the run in which it read that half.

A memory is lent to one run at a time, for as long as its Window lives; a run inside of a run has another one. All ranks of a
group open, meet and end in the same order, so they have the same memories free at the same time; where one holds a window longer,
they see that when they meet.
"""
from __future__ import annotations

import functools
import itertools
import math
import weakref
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..common.ranks import Arrays, Window

Shapes: TypeAlias = tuple[tuple[int, ...], ...]
KEPT = 64                                        # programs, of which a Memory keeps the arrays
LINE = 64                                        # bytes: where an array of a row begins
LINES = 1 << 14                                  # a memory has a multiple of so many bytes: programs of a like size share one


class Memory:
    """halves: uint8[2, ranks, bytes], the same memory in all ranks;   number: how many these ranks have made before"""

    def __init__(self, halves: np.ndarray, number: int) -> None:
        self.halves, self.number, self.turn = halves, number, 0
        self.lent: Callable[[], Window | None] = lambda: None
        self.known: dict[tuple, tuple[list[Arrays], Arrays]] = {}

    @property
    def nbytes(self) -> int:
        """Of a row."""
        return self.halves.shape[2]

    def arrays(self, shapes: Shapes, dtype: np.dtype) -> tuple[list[Arrays], Arrays]:
        """For each rank the arrays of these shapes in its row of the half whose turn it is, and all of them; those of few
        programs are kept."""
        key = self.turn, shapes, dtype
        if key not in self.known:
            if len(self.known) >= KEPT:
                self.known.clear()
            begins = starts(shapes, dtype)
            rows = [Arrays(np.ndarray(shape, dtype, row, begin) for begin, shape in zip(begins, shapes))
                    for row in self.halves[self.turn]]
            self.known[key] = rows, Arrays(itertools.chain(*rows))
        return self.known[key]


class SharedWindow(Window):
    """One use of a Memory by one run."""

    def __init__(self, memory: Memory, place: int, shapes: Shapes, dtype: np.dtype) -> None:
        rows, self.theirs = memory.arrays(shapes, dtype)
        super().__init__(rows[place])
        self.memory = memory

    def place(self) -> str:
        """Which memory it is, in the words of all ranks: they compare them when they meet."""
        return f"memory {self.memory.number}, half {self.memory.turn}"

    def met(self) -> Arrays:
        """All ranks have met: their arrays. The next window is the other half."""
        self.memory.turn = 1 - self.memory.turn
        return self.theirs


class Windows:
    """The memories of one group of ranks, in which this rank has a place.

    make(bytes of a row, shapes, dtype) -> halves, called by all ranks for such arrays, or None where they cannot share memory
    """

    def __init__(self, place: int, make: Callable[[int, Shapes, np.dtype], np.ndarray | None]) -> None:
        self.place, self.make = place, make
        self.memories: list[Memory] = []
        self.made = itertools.count()

    def open(self, shapes: Shapes, dtype: np.dtype) -> SharedWindow | None:
        """A window for arrays of these shapes; None where ranks share no memory."""
        nbytes = starts(shapes, dtype)[-1]
        free = [memory for memory in self.memories if memory.lent() is None]
        memory = min([m for m in free if m.nbytes >= nbytes], key=lambda m: m.nbytes, default=None)
        if memory is None:
            halves = self.make(-(-nbytes // LINES) * LINES, shapes, dtype)
            if halves is None:
                return None
            memory = Memory(halves, next(self.made))
            if free:
                self.memories.remove(free[0])                # too small, and nobody uses it
            self.memories.append(memory)
        window = SharedWindow(memory, self.place, shapes, dtype)
        memory.lent = weakref.ref(window)
        return window


@functools.lru_cache(256)
def starts(shapes: Shapes, dtype: np.dtype) -> list[int]:
    """Where arrays of these shapes begin in a row, and where the row ends."""
    return list(itertools.accumulate([-(-math.prod(shape) * dtype.itemsize // LINE) * LINE for shape in shapes], initial=0))
