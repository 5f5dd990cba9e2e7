"""Worker processes that compute rows, in the order in which they are asked for.

    pool = Pool(count=2, compute=..)       forks two processes, which inherit datasets, functions and open files
    for row in pool.stream(requests): ..   results come in the order of the requests, whoever computes them

A request is a small nested tuple (see pipeline.py); a result is a row of arrays. Both travel by pickle's protocol 5 with their
arrays out of band: the bytes of arrays lie in shared memory, only names, shapes and offsets go through a pipe. The arrays of a
batch are made there in the first place (`Region.empty`). The parent lends them to the program without a copy, for as long as
these arrays live, from SPARE regions of each worker; while all of these are lent it copies.

Why fork: a dataset holds what cannot be pickled (open files, lambdas, closures, Tensors), and nothing needs to be imported
again. What is dangerous about fork are locks that other threads hold at that moment. Those of mindlite are free in the child
(common/locks.py), and a fork waits for the thread that is inside of LLVM (backend/object_code.py); the threads of the kernel
launcher are forgotten (backend/launcher.py); oneDNN, which cannot be used after a fork, refuses itself there; OpenBLAS
restarts its threads. The child calls nothing but the user's functions and operations.

Why files without a name (memfd) and not multiprocessing.shared_memory: a name has to be unlinked by somebody, and nobody does
after kill -9. A file without a name lives as long as a process has it open; there is nothing to leave behind. It also grows.

A worker ends when its parent does: a thread of it waits for the end of a pipe whose other end only the parent holds.
"""
from __future__ import annotations

import collections
import math
import mmap
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
import warnings
import weakref
from multiprocessing import connection
from typing import Any, Callable, Iterable, Iterator

import numpy as np

from ..common import log
from ..common.errors import MindliteError
from ..common.kept_memory import keep_memory

ALIGNMENT = 64
DEPTH = 2                                # requests that a worker holds: it computes one while the other waits or is taken
SPARE = 4                                # results of a worker that wait for their turn, or that the program holds, without a copy
FIRST_SIZE = 1 << 20                     # bytes of a region; it grows by doubling
KEPT = 32 << 20                          # bytes of free memory that a worker keeps
END_AFTER = 1.0                          # seconds that a worker has to end before it is killed


class WorkerError(MindliteError, RuntimeError):
    """A worker process has raised, or has died."""

    @classmethod
    def told(cls, text: str) -> WorkerError:
        """The error with a worker's text, which may show the line already where the rows are asked for."""
        error = cls(text)
        if error.location is not None and error.location.show().partition("\n")[0] + "\n" in text:
            error.location = None
        return error


class Region:
    """Bytes that two processes see, without a name in the file system; either side lets it grow."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("mindlite-dataset")
        else:
            with tempfile.TemporaryFile() as stream:         # unlinked at once
                self.fd = os.dup(stream.fileno())
        self.map: mmap.mmap | None = None
        self.used = 0                    # bytes that arrays of the present request take
        self.made: dict[int, int] = {}   # {address of such an array: its offset}

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array in these bytes, like np.empty."""
        dtype = np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        if not size:
            return np.empty(shape, dtype)
        start, self.used = self.used, self.used + _padded(size)
        array = np.frombuffer(self.bytes(self.used), np.uint8)[start:start + size].view(dtype).reshape(shape)
        self.made[array.__array_interface__["data"][0]] = start
        return array

    def clear(self) -> None:
        """The next request begins: its arrays take the place of those of the last one."""
        self.used = 0
        self.made.clear()

    def bytes(self, size: int) -> mmap.mmap:
        """The first `size` bytes or more."""
        if self.map is None or len(self.map) < size:
            room = max(FIRST_SIZE, 1 << (size - 1).bit_length() if size else 0)
            if os.fstat(self.fd).st_size < room:
                os.ftruncate(self.fd, room)
            self.map = mmap.mmap(self.fd, os.fstat(self.fd).st_size)
        return self.map

    def close(self) -> None:
        """Give it back."""
        self.map = None
        os.close(self.fd)


def pack(value: Any, region: Region) -> tuple[bytes, list[tuple[int, int]]]:
    """Put the arrays of `value` into the region; gives (the rest, where they lie: [(offset, size)])."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    raws = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
    spans, absent, offset = [], [], region.used
    for raw in raws:
        start = region.made.get(raw.__array_interface__["data"][0]) if raw.size else None
        if start is None:
            start, offset = offset, offset + _padded(raw.size)
            absent.append((start, raw))
        spans.append((start, raw.size))
    if offset:
        room = np.frombuffer(region.bytes(offset), np.uint8)
        for start, raw in absent:
            room[start:start + raw.size] = raw
    return head, spans


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def unpack(head: bytes, spans: list[tuple[int, int]], region: Region, given_back: Callable[[], None] | None = None) -> Any:
    """What `pack` was given.

    given_back : called when the last array is gone, which lies in the region; None: the arrays are copies
    """
    if not spans:
        if given_back is not None:
            given_back()
        return pickle.loads(head)
    room = np.frombuffer(region.bytes(max(start + size for start, size in spans)), np.uint8)
    if given_back is None:
        return pickle.loads(head, buffers=[room[start:start + size].copy() for start, size in spans])
    weakref.finalize(room, given_back).atexit = False        # every array over it has it as its base
    return pickle.loads(head, buffers=[room[start:start + size] for start, size in spans])


class _Worker:
    """One process as its parent sees it.

    link    : the pipe to it;  free : numbers of requests that it can take;  busy : {number: (ticket, region of the result)}
    outward : regions for results, of which those in `lent` belong to the program and the others to nobody or to a request
    """

    def __init__(self, pool: Pool, context: Any) -> None:
        self.link, theirs = context.Pipe()
        self.inward = [Region() for _ in range(DEPTH)]
        self.outward = [Region() for _ in range(DEPTH + SPARE)]
        self.results = list(range(DEPTH + SPARE))            # numbers of free ones among them
        self.lent: set[int] = set()
        self.free = list(range(DEPTH))
        self.busy: collections.OrderedDict = collections.OrderedDict()
        self.note = Note()
        others = [worker.link for worker in pool.workers] + [self.link]
        self.process = context.Process(target=_serve, daemon=True, name="mindlite-dataset-worker",
                                       args=(theirs, self, pool.compute, pool.life, others))
        with warnings.catch_warnings():          # Python 3.12 warns of threads; see the top of this module
            warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
            self.process.start()
        theirs.close()

    def lend(self, number: int) -> Callable[[], None] | None:
        """What gives a region back that the program gets; None, and it is free at once, where too many are lent."""
        if len(self.lent) >= SPARE:
            self.results.append(number)
            return None
        lent, results = self.lent, self.results
        lent.add(number)

        def given_back() -> None:
            lent.discard(number)
            results.append(number)
        return given_back


class Note:
    """A few whole numbers in shared memory: what a worker is doing, for the case that it dies."""

    def __init__(self) -> None:
        self.map = mmap.mmap(-1, mmap.PAGESIZE)
        self.numbers = memoryview(self.map).cast("q")
        self.numbers[0] = self.numbers[3] = -1


class Pool:
    """Worker processes.

    count   : how many
    compute : (request, Note, what makes arrays of results like np.empty) -> result, called in the workers
    explain : Note -> text: what a worker was doing
    """

    def __init__(self, count: int, compute: Callable[[Any, Note, Callable], Any], explain: Callable[[Note], str],
                 patience: float = 300) -> None:
        self.compute, self.explain, self.patience, self.owner = compute, explain, patience, os.getpid()
        self.life = os.pipe()                    # the parent never writes: its end is the message
        self.workers: list[_Worker] = []
        self.waiting: collections.deque = collections.deque()     # (ticket, request) that no worker has yet
        self.results: dict[int, Any] = {}
        self.tickets = 0
        context = multiprocessing.get_context("fork")
        for _ in range(count):
            self.workers.append(_Worker(self, context))
        os.close(self.life[0])

    @property
    def capacity(self) -> int:
        """Requests that are under way at most."""
        return len(self.workers) * DEPTH

    def stream(self, requests: Iterable) -> Iterator:
        """The results of the requests, in their order; as many are under way as the workers hold."""
        asked: collections.deque[int] = collections.deque()
        source: Iterator | None = iter(requests)
        try:
            while True:
                while source is not None and len(asked) < self.capacity + 1:
                    request = next(source, _END)
                    if request is _END:
                        source = None
                    else:
                        asked.append(self.submit(request))
                if not asked:
                    return
                yield self.result(asked.popleft())
        finally:
            for ticket in asked:                 # nobody will fetch these
                if self.results.pop(ticket, None) is None:
                    self.results[ticket] = _FORGET

    def submit(self, request: Any) -> int:
        """Hand a request to the workers; gives the ticket for its result."""
        self.tickets += 1
        self.waiting.append((self.tickets, request))
        self._hand_out()
        return self.tickets

    def _hand_out(self) -> None:
        while self.waiting:
            worker = min(self.workers, key=lambda w: len(w.busy))
            if not worker.free:
                return
            ticket, request = self.waiting.popleft()
            slot = worker.free.pop()
            worker.busy[slot] = ticket, worker.results.pop()
            try:
                worker.link.send((slot, worker.busy[slot][1], *pack(request, worker.inward[slot])))
            except (BrokenPipeError, ConnectionResetError):
                self._died(worker)

    def result(self, ticket: int) -> Any:
        """Wait for a result. raises : WorkerError"""
        since = time.monotonic()
        while ticket not in self.results:
            links: dict[Any, _Worker] = {w.link: w for w in self.workers}
            ready = connection.wait([*links, *(w.process.sentinel for w in self.workers)], timeout=self.patience)
            if not ready:
                doing = "; ".join(self.explain(w.note) for w in self.workers if w.busy)
                log.warning(f"dataset workers have given nothing for {time.monotonic() - since:.0f} s: {doing}")
            for link in ready:
                if link in links:
                    self._receive(links[link])
            for worker in self.workers:
                if worker.process.sentinel in ready and not worker.link.poll():
                    self._died(worker)
        good, value = self.results.pop(ticket)
        if not good:
            self.close()
            raise WorkerError.told(value)
        return value

    def _receive(self, worker: _Worker) -> None:
        try:
            slot, good, head, spans = worker.link.recv()
        except (EOFError, ConnectionResetError):
            self._died(worker)
        ticket, number = worker.busy.pop(slot)
        value = unpack(head, spans, worker.outward[number], worker.lend(number))
        worker.free.append(slot)
        if self.results.get(ticket) is _FORGET:
            del self.results[ticket]
        else:
            self.results[ticket] = good, value
        self._hand_out()

    def _died(self, worker: _Worker) -> None:
        worker.process.join(END_AFTER)
        code = worker.process.exitcode
        if code is not None and code < 0:
            how = f"by signal {signal.Signals(-code).name}"
        else:
            how = f"with exit code {code}"
        doing = self.explain(worker.note)
        self.close()
        raise WorkerError(f"a dataset worker process has ended {how} {doing}",
                          hint="killed from outside or out of memory? num_parallel_workers=1 runs it in this process")

    def close(self) -> None:
        """End the workers; called more than once it does nothing more."""
        if not self.workers or os.getpid() != self.owner:
            return
        workers, self.workers = self.workers, []
        os.close(self.life[1])                   # each worker sees this and ends itself
        for worker in workers:
            worker.link.close()
        until = time.monotonic() + END_AFTER
        for worker in workers:
            worker.process.join(max(0, until - time.monotonic()))
            if worker.process.is_alive():        # it holds the interpreter's lock, say in a long call of native code
                worker.process.kill()
                worker.process.join()
            worker.process.close()
            for region in worker.inward + worker.outward:
                region.close()

    def __del__(self) -> None:
        self.close()


_END, _FORGET = object(), object()


def _serve(link: Any, worker: _Worker, compute: Callable, life: tuple[int, int], others: list) -> None:
    """The life of a worker: requests come and results go until the parent ends or hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)             # Ctrl-C is the parent's business
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    keep_memory(KEPT)                                        # images come and go
    os.close(life[1])
    for other in others:
        other.close()
    threading.Thread(target=_end_with_parent, args=(life[0],), daemon=True).start()
    while True:
        try:
            slot, number, head, spans = link.recv()
        except EOFError:
            os._exit(0)
        region = worker.outward[number]
        region.clear()
        try:
            good, value = True, compute(unpack(head, spans, worker.inward[slot]), worker.note, region.empty)
        except BaseException as error:                       # the border of a process: the parent raises it again
            good, value = False, report(error)
        try:
            link.send((slot, good, *pack(value, region)))
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)


def report(error: BaseException) -> str:
    """What another process gets of an exception."""
    return str(error) if isinstance(error, MindliteError) else f"{type(error).__name__}: {error}"


def _end_with_parent(read_end: int) -> None:
    os.read(read_end, 1)
    os._exit(0)
