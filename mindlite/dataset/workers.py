"""Worker processes that compute rows, in the order in which they are asked for.

    pool = Pool(count=2, compute=..)       forks two processes, which inherit datasets, functions and open files
    for row in pool.stream(requests): ..   results come in the order of the requests, whoever computes them

A request is a small nested tuple (see pipeline.py); a result is a row of arrays. Both travel by pickle's protocol 5 with their
arrays out of band: the bytes of arrays lie in shared memory, only names, shapes and offsets go through a pipe.

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
import mmap
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
import warnings
from multiprocessing import connection
from typing import Any, Callable, Iterable, Iterator

import numpy as np

from ..common import log
from ..common.errors import MindliteError

ALIGNMENT = 64
DEPTH = 2                                # requests that a worker holds: it computes one while the other waits or is taken
FIRST_SIZE = 1 << 20                     # bytes of a region; it grows by doubling
END_AFTER = 1.0                          # seconds that a worker has to end before it is killed


class WorkerError(MindliteError, RuntimeError):
    """A worker process has raised, or has died."""


class Region:
    """Bytes that two processes see, without a name in the file system; either side lets it grow."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("mindlite-dataset")
        else:
            with tempfile.TemporaryFile() as stream:         # unlinked at once
                self.fd = os.dup(stream.fileno())
        self.map: mmap.mmap | None = None

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
    spans, offset, raws = [], 0, [buffer.raw() for buffer in buffers]
    for raw in raws:
        spans.append((offset, raw.nbytes))
        offset += -(-raw.nbytes // ALIGNMENT) * ALIGNMENT
    if spans:
        room = np.frombuffer(region.bytes(offset), np.uint8)
        for (start, size), raw in zip(spans, raws):
            room[start:start + size] = np.frombuffer(raw, np.uint8)
    return head, spans


def unpack(head: bytes, spans: list[tuple[int, int]], region: Region) -> Any:
    """What `pack` was given; its arrays are copies."""
    if not spans:
        return pickle.loads(head)
    last, size = spans[-1]
    room = np.frombuffer(region.bytes(last + size), np.uint8)
    return pickle.loads(head, buffers=[room[start:start + size].copy() for start, size in spans])


class _Worker:
    """One process as its parent sees it.

    link    : the pipe to it;  free : numbers of regions that wait for a request;  busy : {region: ticket}
    """

    def __init__(self, pool: Pool, context: Any) -> None:
        self.link, theirs = context.Pipe()
        self.inward = [Region() for _ in range(DEPTH)]
        self.outward = [Region() for _ in range(DEPTH)]
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


class Note:
    """A few whole numbers in shared memory: what a worker is doing, for the case that it dies."""

    def __init__(self) -> None:
        self.map = mmap.mmap(-1, mmap.PAGESIZE)
        self.numbers = memoryview(self.map).cast("q")
        self.numbers[0] = self.numbers[3] = -1


class Pool:
    """Worker processes.

    count   : how many
    compute : (request, Note) -> result, called in the workers
    explain : Note -> text: what a worker was doing
    """

    def __init__(self, count: int, compute: Callable[[Any, Note], Any], explain: Callable[[Note], str],
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
            worker.busy[slot] = ticket
            try:
                worker.link.send((slot, *pack(request, worker.inward[slot])))
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
            raise WorkerError(value)
        return value

    def _receive(self, worker: _Worker) -> None:
        try:
            slot, good, head, spans = worker.link.recv()
        except (EOFError, ConnectionResetError):
            self._died(worker)
        ticket = worker.busy.pop(slot)
        value = unpack(head, spans, worker.outward[slot])
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
    os.close(life[1])
    for other in others:
        other.close()
    threading.Thread(target=_end_with_parent, args=(life[0],), daemon=True).start()
    while True:
        try:
            slot, head, spans = link.recv()
        except EOFError:
            os._exit(0)
        try:
            good, value = True, compute(unpack(head, spans, worker.inward[slot]), worker.note)
        except BaseException as error:                       # the border of a process: the parent raises it again
            good, value = False, report(error)
        try:
            link.send((slot, good, *pack(value, worker.outward[slot])))
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)


def report(error: BaseException) -> str:
    """What another process gets of an exception."""
    return str(error) if isinstance(error, MindliteError) else f"{type(error).__name__}: {error}"


def _end_with_parent(read_end: int) -> None:
    os.read(read_end, 1)
    os._exit(0)
