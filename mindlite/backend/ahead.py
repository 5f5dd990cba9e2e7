"""Object code that is ordered before it is needed: processes beside this one compile while Python goes on.

    order = Order({"text": .., "passes": 3})   ...   order.code()        compiled here, unless it was begun elsewhere

Lowering a function orders its kernels one after the other; what is loaded in the end is waited for. From so much text on
that it pays (PAYS), `config.compile_workers` processes take orders from the front of the queue; who needs an order that
nobody has begun compiles it itself. So this process never waits for more than one compilation, every order is made whatever
becomes of a worker (one that does not answer for PATIENCE is not waited for), and a function of two or three kernels starts
none. A worker runs `object_code.py` only, which imports llvmlite but not mindlite, never the caller's main module, and ends
when there was nothing to do for a second, or with us.
"""
import collections
import json
import os
import struct
import sys
import threading

from ..common.config import config
from ..common.events import emit
from ..common.lazy import LazyModule

PAYS = 12000                     # characters of text in waiting orders: some tenths of a second of work
IDLE = 1.0                       # seconds without an order after which a worker ends
PATIENCE = 10.0                  # seconds after which an order that somebody has begun is made by who needs it
object_code, subprocess = LazyModule("mindlite.backend.object_code"), LazyModule("subprocess")
_queue: collections.deque = collections.deque()
_changed = threading.Condition()
_running: set = set()            # orders that a worker has begun
_workers: set = set()            # the threads that speak to workers


class Order:
    """A request of `object_code`, and its answer when there is one."""

    def __init__(self, request):
        self.request, self.answer, self.error, self.done = request, None, None, threading.Event()
        with _changed:
            _queue.append(self)
            if len(_workers) < config.compile_workers and sum(order.size for order in _queue) > PAYS:
                thread = threading.Thread(target=_converse, daemon=True)
                _workers.add(thread)
                thread.start()
            _changed.notify()

    @property
    def size(self):
        """How much there is to compile."""
        return len(self.request["text"])

    def code(self):
        """The bytes; who has to wait for a worker compiles other orders meanwhile.

        raises : as `object_code.object_code`
        """
        while not self.done.is_set():
            with _changed:
                order = self if self in _queue else _queue[-1] if _queue else None
                if order is not None:
                    _queue.remove(order)
            if order is not None:
                order.make()
            elif not self.done.wait(PATIENCE):               # a worker hangs, or is very slow
                emit("compile_worker_late", seconds=PATIENCE)
                self.make()
        if self.answer is None and self.error is None:   # a worker has failed
            self.make()
        if self.error is not None:
            raise self.error
        return self.answer

    def make(self):
        """Compile here."""
        try:
            self.answer = object_code.object_code(self.request)
        except (RuntimeError, LookupError) as error:
            self.error = error
        finally:
            self.done.set()


def _converse():
    """Start a worker and hand it one order after the other; what it fails at is left to those who need it."""
    order = None
    try:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        with subprocess.Popen([sys.executable, object_code.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment) as process:
            while (order := _next()) is not None:
                text = json.dumps(order.request).encode()
                process.stdin.write(struct.pack("<q", len(text)) + text)
                process.stdin.flush()
                length, = struct.unpack("<q", process.stdout.read(8))
                answer = process.stdout.read(length)
                if len(answer) == length and answer[:1] == b"\1":
                    order.answer = answer[1:]
                _finish(order)
    except (OSError, MemoryError, struct.error) as error:    # no process is to be had, or it has ended in disorder
        emit("compile_worker_failed", error=repr(error))
    finally:
        with _changed:
            _workers.discard(threading.current_thread())
        if order is not None:
            _finish(order)


def _next():
    """The order at the front, now begun; None where none came for a while."""
    with _changed:
        if not _changed.wait_for(lambda: _queue, IDLE):
            return None
        _running.add(_queue[0])                  # a fork in between finds the order in one of the two
        return _queue.popleft()


def _finish(order):
    with _changed:
        _running.discard(order)
    order.done.set()


def _after_fork():
    """In the child of a fork: the threads are gone, so what they had begun is left to those who need it."""
    global _changed
    _changed = threading.Condition()
    for order in list(_running):
        order.done = threading.Event()
        order.done.set()
    _running.clear()
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
