"""SimWorld: N ranks as threads of one process, for tests and for study.

    SimWorld(4).run(train)          [what train() gives on rank 0, 1, 2, 3]

A collective is a meeting: each rank puts down what it is about to do and what it has, waits until the group is complete, and
looks at what lies there. What does not fit, a rank that fails and one that does not come end the world for all, by one error.
"""
import collections
import itertools
import sys
import threading
import time

import numpy as np

from ..common.config import config
from ..common.errors import ArgumentError, RankError, ValueRangeError
from ..common.ranks import Engine, described, folded, kind_of, kinds_of, set_thread_engine
from ..common.seed import begin_own_seed, end_own_seed


PLACES = 6                                       # lines of a program that a message tells


class SimWorld:
    """size : how many ranks       timeout: seconds after which a rank that waits gives up; None for config.ranks_timeout

    sent : after a run, {operator: [calls, bytes]} of each rank
    """

    def __init__(self, size, timeout=None):
        if isinstance(size, bool) or not isinstance(size, int):
            raise ArgumentError(f"SimWorld: an int is wanted, not {type(size).__name__}")
        if size < 1:
            raise ValueRangeError(f"SimWorld: there is no world of {size} ranks")
        self.size, self.timeout = size, config.ranks_timeout if timeout is None else timeout
        self.sent: tuple = ()

    def run(self, function, *args):
        """[function(*args) on each rank], at once, in a thread each.

        raises : what the first rank to fail has raised; RankError if a rank does not come to a collective
        """
        room = _Room(self.timeout)
        engines = [SimEngine(rank, self.size, room) for rank in range(self.size)]
        results, failures = [None] * self.size, []

        def work(engine):
            room.threads[engine.rank] = threading.get_ident()
            set_thread_engine(engine)
            begin_own_seed()
            try:
                results[engine.rank] = function(*args)
                engine.close()
            except BaseException as error:
                failures.append(error)
                room.end(f"rank {engine.rank} has failed: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
            finally:
                if engine.beside is not None:
                    engine.beside.end()
                end_own_seed()
                set_thread_engine(None)
        threads = [threading.Thread(target=work, args=(engine,), name=f"rank {engine.rank}", daemon=True) for engine in engines]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive() and not (room.ended and time.monotonic() > room.ended_at + self.timeout):
                thread.join(0.5)
        self.sent = tuple(engine.sent for engine in engines)
        if failures:
            raise failures[0]
        return results


class _Room:
    """Where ranks meet: the meetings that are under way, by (ranks, number), and the letters that were sent."""

    def __init__(self, timeout):
        self.timeout, self.change = timeout, threading.Condition()
        self.meetings, self.letters, self.ended, self.ended_at = {}, {}, "", 0.0
        self.handed, self.taken = {}, {}                     # how many letters of each kind were handed over, and taken
        self.threads = {}                                    # {rank: ident of its thread}

    def place(self, rank):
        """Where the program of a rank is, innermost line last."""
        frame = sys._current_frames().get(self.threads.get(rank, 0))
        lines: list[str] = []
        while frame is not None and len(lines) < PLACES:
            lines.append(f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno} {frame.f_code.co_name}")
            frame = frame.f_back
        return f"rank {rank} is at {', '.join(reversed(lines))}" if lines else f"rank {rank} has ended"

    def end(self, why):
        """End the world; the first reason stands."""
        with self.change:
            if not self.ended:
                self.ended, self.ended_at = why, time.monotonic()
            self.change.notify_all()

    def wait(self, holds, late):
        """Wait until `holds()`; self.change is held. raises : RankError if the world ends, or nobody comes: late() says who"""
        until = time.monotonic() + self.timeout
        while not holds():
            if self.ended:
                raise RankError(self.ended)
            left = until - time.monotonic()
            if left <= 0:
                self.ended, self.ended_at = late(), time.monotonic()
                self.change.notify_all()
                raise RankError(self.ended)
            self.change.wait(left)


class _Ticket:
    """Of a letter, the `number`-th of its kind that was handed over."""

    def __init__(self, room, key, number):
        self.room, self.key, self.number = room, key, number

    def is_over(self):
        """True once the receiver has it."""
        return self.room.taken.get(self.key, 0) >= self.number

    def wait(self):
        """Until the receiver has it. raises : RankError"""
        with self.room.change:
            self.room.wait(self.is_over, lambda: f"rank {self.key[0]} waits until rank {self.key[1]} takes what it was "
                           f"sent with tag {self.key[2]}, for {self.room.timeout:g} seconds")


class _Expected:
    """Of a letter that will come. queue: those that are expected before it, of the same kind, and itself"""

    def __init__(self, owner, queue, *wanted):
        self.owner, self.queue, self.wanted, self.letter = owner, queue, wanted, None

    def is_over(self):
        """True once it is there."""
        _, _, source, tag = self.wanted
        return self.letter is not None or len(self.owner.room.letters.get((source, self.owner.rank, tag), ())) > (
            self.queue.index(self))

    def wait(self):
        """The array. raises : RankError"""
        while self.letter is None:
            first = self.queue.popleft()
            first.letter = self.owner.taken(*first.wanted)
        return self.letter


class SimEngine(Engine):
    """One rank of a SimWorld."""

    def __init__(self, rank, size, room):
        super().__init__(rank, size)
        self.room, self.numbers = room, {}
        self.expected = collections.defaultdict(collections.deque)           # {(source, tag): _Expected's}

    def fold(self, array, reduction, ranks, owned=False, kind=""):
        arrays = self._meet(ranks, f"fold by {reduction}: {kind or kind_of(array)}", array.copy())
        return folded(arrays, reduction)                     # others may still read what was put down

    def fold_parts(self, parts, reduction, ranks):
        mine = ranks.index(self.rank)
        what = f"fold of parts by {reduction}: {', '.join(map(kind_of, parts))}"
        heaps = self._meet(ranks, what, [part.copy() for part in parts])
        return folded([heap[mine] for heap in heaps], reduction)

    def exchange(self, parts, shapes, ranks):
        mine = ranks.index(self.rank)
        heaps = self._meet(ranks, f"exchange of {parts[mine].dtype}", ([part.copy() for part in parts], shapes))
        for (to, (_, wanted)), (source, (sent, _)) in itertools.product(zip(ranks, heaps), repeat=2):
            shape, array = wanted[ranks.index(source)], sent[ranks.index(to)]
            if array.shape != tuple(shape):
                raise RankError(f"rank {to} waits for {described(array.dtype, tuple(shape))} from rank {source}, which sends "
                                f"{kind_of(array)}")
        return [sent[mine].copy() for sent, _ in heaps]

    def gather(self, array, shapes, ranks):
        arrays = self._meet(ranks, f"gather of {array.dtype}, {_shapes(shapes)}", array.copy())
        return np.concatenate([part.reshape(-1) for part in arrays])

    def spread(self, array, root, ranks):
        return self._meet(ranks, f"broadcast from {root}: {kind_of(array)}", array.copy())[root].copy()

    def put_down(self, window, arrays, ranks):
        heaps = self._meet(ranks, f"sum, where it is read, of {kinds_of(arrays)}", [array.copy() for array in arrays])
        return [array for heap in heaps for array in heap]

    def deliver(self, array, to, tag):
        self.hand_over(array, to, tag)

    def hand_over(self, array, to, tag):
        room, key = self.room, (self.rank, to, tag)
        with room.change:
            room.handed[key] = number = room.handed.get(key, 0) + 1
            room.letters.setdefault(key, []).append(array.copy())
            room.change.notify_all()
        return _Ticket(room, key, number)

    def look_out(self, shape, dtype, source, tag):
        queue = self.expected[source, tag]
        queue.append(_Expected(self, queue, shape, dtype, source, tag))
        return queue[-1]

    def collect(self, shape, dtype, source, tag):
        return self.look_out(shape, dtype, source, tag).wait()

    def taken(self, shape, dtype, source, tag):
        """The next letter of a kind. raises : RankError if it is another array, or none comes"""
        key, room = (source, self.rank, tag), self.room
        with room.change:
            room.wait(lambda: room.letters.get(key), lambda: f"rank {self.rank} waits for a tensor from rank {source} with tag "
                      f"{tag}, which has not come after {room.timeout:g} seconds")
            array = room.letters[key].pop(0)
            room.taken[key] = room.taken.get(key, 0) + 1
            room.change.notify_all()
        if array.shape != shape or array.dtype != dtype:
            raise RankError(f"rank {self.rank} waits for {described(dtype, tuple(shape))} from rank {source}, which has sent "
                            f"{kind_of(array)}")
        return array

    def close(self):
        self.in_turn()
        self._meet(tuple(range(self.size)), "the end of the program", None)

    def abort(self, message):
        self.room.end(message)

    def _meet(self, ranks, what, value):
        """What all ranks of the group have put down, by place. raises : RankError where one does something else"""
        number = self.numbers[ranks] = self.numbers.get(ranks, 0) + 1
        room, key = self.room, (ranks, number)
        with room.change:
            if room.ended:
                raise RankError(room.ended)
            there = room.meetings.setdefault(key, {})
            there[self.rank] = (what, value)
            room.change.notify_all()
            room.wait(lambda: len(there) >= len(ranks),
                      lambda: f"rank {self.rank} waits in collective {number} of its group ({what}); "
                      f"rank {', '.join(str(r) for r in ranks if r not in there)} has not come after {room.timeout:g} seconds; "
                      + "; ".join([room.place(r) for r in ranks if r not in there]))
            kinds = {entry[0] for rank, entry in there.items() if rank >= 0}
            if len(kinds) > 1:
                raise RankError("the ranks do not do the same: " + "; ".join(
                    f"rank {rank}: collective {number} of the ranks {list(ranks)}: {there[rank][0]}" for rank in ranks))
            values = [there[rank][1] for rank in ranks]
            there[-1 - self.rank] = "", None                  # has looked: the last one clears up
            if len(there) == 2 * len(ranks):
                del room.meetings[key]
        return values


def _shapes(shapes):
    return " and ".join([str(list(shape)) for shape in shapes])
