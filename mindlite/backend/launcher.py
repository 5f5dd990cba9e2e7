"""How a kernel with an extent is run: `launch`, called by address from every printer. Small work stays on the calling
thread.

    int64_t launch(kernel, int64_t *args, int64_t extent, int64_t cost)        the kernel's status

Work is extent * cost; from `Target.parallel_from` on, [0, extent) is cut into one chunk per thread, or per item if those
are fewer. What an item gives does not depend on the chunk that it is in, so neither the number of threads nor the
cuts show in a result. Where a chunk has so many items that it makes no difference (`Target.spare` times as many),
it begins at a multiple of a power of two, up to 64: then no two threads write to one cache line of a result that begins
at one, and vectors are whole. Workers are created at the first such launch and wait: they look at a counter for some
microseconds, then offer their core between one look and the next, then sleep on a condition variable. Whoever is free
takes the next chunk, the caller too: a worker that gets no core delays nothing. A launch that finds another one under way
(two Python threads) runs its chunks by itself, so nothing ever waits for a lock. If chunks fail, the first one's status is
the result.

The system may wake two threads of a launch on one core and leave them there for many launches, though another core is
idle: each then waits for the other. A worker that finds a thread of this launch on its core asks for another core
(`_APART`), and before a long launch the caller lets a worker go that stands in line behind it. As there may be no other core,
a worker does not keep one on which it only waits: hence the offers.

After a fork the child has no workers and makes its own; at the interpreter's exit they are ended and joined. Where
there is no pthread (Windows) every launch is sequential.
"""
import atexit
import ctypes
import os

from ..common.once import once
from .low_python import LowModule, source_of
from .machine_code import c_address
from .target import current

MAX_THREADS = 64
_SPINS, _YIELDS = 200, 100     # looks in a row, then looks between which the core is offered to others
_AFFINITY = ("sched_getcpu", "sched_getaffinity", "sched_setaffinity")       # where there are these
_THREADS = ("pthread_create", "pthread_join", "pthread_mutex_init", "pthread_mutex_lock", "pthread_mutex_unlock",
            "pthread_cond_init", "pthread_cond_wait", "pthread_cond_broadcast", "sched_yield")

_SEQUENTIAL = "def launch(kernel, args, extent, cost):\n    return call(kernel, args, 0, extent)\n"
_LINE = 8                      # words of a cache line: what several threads write stands in lines of its own
_WORDS = {**dict.fromkeys(("BUSY", "LEFT", "READY", "PENDING", "SLEEPERS", "THREADS", "CHUNKS"), _LINE),
          **dict.fromkeys(("STARTED", "FIRST_SEEN", "STOP", "KERNEL", "ARGS", "EXTENT"), 1), "STATUSES": MAX_THREADS,
          "HANDLES": MAX_THREADS, "CORES": 2 * _LINE, "MUTEX": 2 * _LINE, "CONDITION": 2 * _LINE}


class _Launcher:
    def __init__(self):
        self.code, self.parallel = launcher_code()
        if not self.parallel:
            return
        self.set_threads = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self.code.address("set_threads"))
        forget = ctypes.CFUNCTYPE(None)(self.code.address("forget"))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=forget)
        atexit.register(self.set_threads, 1)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.code.code.engine))     # a daemon thread may launch to the very end


@once
def launcher_code():
    """(its LowModule, which may be compiled while Python goes on; whether it has threads)."""
    here = {}
    for name in (*_THREADS, *_AFFINITY):
        try:
            here[f"ml_{name}"] = c_address(name)
        except KeyError:
            continue
    if not all(f"ml_{name}" in here for name in _THREADS):
        return LowModule(_SEQUENTIAL, {}, {}, "launcher", ahead=True), False
    target = current()                                       # level 0 takes a fifth of the time, and launches are as quick
    constants = {"SPINS": _SPINS, "PATIENCE": _SPINS + _YIELDS, "SPARE": target.spare, "WHOLE_LINE": target.line,
                 "WORTH_IT": target.parallel_from, "WORTH_YIELDING": target.yield_from,
                 "AFFINITY": all(f"ml_{name}" in here for name in _AFFINITY)}
    return LowModule(source_of(__file__, "launcher_code"), constants, _WORDS, "launcher", here.__getitem__, level=0,
                     ahead=True), True


@once
def _launcher():
    made = _Launcher()
    if made.parallel:
        made.set_threads(default_threads())
    return made


def default_threads():
    """The threads of the current Target, at most MAX_THREADS."""
    return min(current().threads, MAX_THREADS)


def set_threads(count):
    """Use `count` threads for large launches from now on; workers are ended and made anew. 1: everything is sequential.

    out : True, or False if a launch is under way in another thread, or threads are not to be had: nothing has changed
    """
    launcher = _launcher()
    return launcher.parallel and bool(launcher.set_threads(max(1, min(count, MAX_THREADS))))


def launch_address():
    """The address of `launch`."""
    return _launcher().code.address("launch")
