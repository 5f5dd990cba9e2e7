"""The functions of CUDA's driver on the CPU: `driver.Driver` calls these as it calls libcuda's, and kernels run in `simulator`.

    Driver(SimulatedLibrary())          MINDLITE_CUDA=simulator

Memory has addresses that no process has: Python and the CPU's kernels cannot touch it without a copy. A copy that runs over the
end of an allocation or reads one that was given back is an error, and new memory is full of 0xff (NaN). Work is put in the queue
of its stream and done when somebody waits for that stream, so who does not wait where he must reads what was there before. A
captured graph is the work with the addresses that it was captured with. counts says how often each
function was called.
"""
import bisect
import collections
import ctypes
import threading
import time
from typing import Any

import numpy as np

from .driver import (FUNCTIONS, MAJOR, MINOR, MOST_RESERVED, NOT_READY, OUT_OF_MEMORY, PROCESSORS,
                     RESERVED)
from .simulated_cudnn import SimulatedCudnn
from .simulated_nvidia import SimulatedLt
from .simulator import Simulated

BASE, END = 0x5C0D << 48, 0x5C0E << 48                       # no process has such addresses
GAP = 4096                                                   # bytes behind an allocation that are nobody's
MOST_WAITING = 4096                                          # pieces of work that wait in the queue
INVALID, ILLEGAL_ADDRESS, OUT_OF_RESOURCES, LAUNCH_FAILED, NOT_WHILE_CAPTURED, UPDATE_FAILURE = 1, 700, 701, 719, 900, 910
_WORDS = {INVALID: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
          ILLEGAL_ADDRESS: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
          OUT_OF_RESOURCES: ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
          NOT_WHILE_CAPTURED: ("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"),
          UPDATE_FAILURE: ("CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed"),
          LAUNCH_FAILED: ("CUDA_ERROR_LAUNCH_FAILED", "the threads of a block wait at different barriers")}
SIMULATED = {"cublasLt": SimulatedLt, "cudnn": SimulatedCudnn}
THREADS = 64                                                 # of a block where a kernel does not need more


class Failed(Exception):
    """A function fails. Fields: number."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


class SimulatedLibrary:
    """As `driver.Libcuda`. devices: how many; memory: bytes of each; architecture; backwards: threads run last to first;
    nvidia: the libraries that are installed, names in `SIMULATED`; reuse: addresses come again,
    as those of a GPU

    counts: {name of a function: how often it was called};  waiting: how many pieces of work wait
    """

    def __init__(self, devices: int = 2, memory: int = 1 << 33, architecture: tuple = (9, 0), backwards: bool = False,
                 nvidia: tuple = (), reuse: bool = False) -> None:
        self.lock = threading.RLock()
        self.reuse = reuse
        self.free: dict = {}                                 # {bytes: addresses that were given back}
        self.devices, self.memory, self.architecture, self.backwards = devices, memory, architecture, backwards
        self.counts: collections.Counter = collections.Counter()
        self.installed = {name: SIMULATED[name](name, self) for name in nvidia}
        self.blocks: dict = {}
        self.starts: list = []
        self.next, self.live, self.most = BASE, 0, 0
        self.held, self.most_held = 0, 0                     # what the pool has of the device's memory
        self.last_event = 0
        self.moments: dict = {}                              # {event: when the work before it was done, None before}
        self.queues: dict = collections.defaultdict(collections.deque)   # {stream: pieces of work that wait}
        self.pinned: dict = {}                               # {address: the bytes of the CPU that a GPU reads by itself}
        self.captured: dict = {}                             # {stream: pieces of work, while it is captured}
        self.graphs: dict = {}
        self.failed = 0
        self.images: list = []
        self.kernels: dict = {}
        self.texts: dict = {}
        self.streams = 0
        self._keep = {name: self._function(name, arguments) for name, arguments in FUNCTIONS.items()}
        self.addresses = {name: ctypes.cast(function, ctypes.c_void_p).value for name, function in self._keep.items()}
        self._names = {number: [ctypes.c_char_p(text.encode()) for text in texts] for number, texts in _WORDS.items()}

    def _function(self, name, arguments):
        method = getattr(self, name)

        def called(*args):
            with self.lock:
                self.counts[name] += 1
                try:
                    return method(*args) or 0
                except Failed as failed:
                    return failed.number
        return ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(called)

    def image(self, texts: tuple, architecture: str, name: str) -> bytes:
        """What stands for a kernel: its number."""
        with self.lock:
            self.images.append((texts, name.encode()))
            return b"%d\0" % len(self.images)

    @staticmethod
    def threads(least: int) -> int:
        """How many threads a block has, of a kernel that needs at least so many."""
        return max(least, THREADS)

    def nvidia(self, name: str) -> Any:
        """A library of NVIDIA's; None where it is not installed."""
        return self.installed[name].loaded if name in self.installed else None

    # -- devices

    def cuInit(self, flags):
        """Nothing is to be done."""

    def cuDriverGetVersion(self, out):
        _write(out, ctypes.c_int, 12080)

    def cuDeviceGetCount(self, out):
        _write(out, ctypes.c_int, self.devices)

    def cuDeviceGet(self, out, index):
        _write(out, ctypes.c_int, index)

    def cuDeviceGetName(self, out, size, device):
        ctypes.memmove(out, b"CUDA simulator\0", 15)

    def cuDeviceGetAttribute(self, out, attribute, device):
        _write(out, ctypes.c_int, {MAJOR: self.architecture[0], MINOR: self.architecture[1], PROCESSORS: 1}[attribute])

    def cuDeviceTotalMem_v2(self, out, device):
        _write(out, ctypes.c_size_t, self.memory)

    def cuDevicePrimaryCtxRetain(self, out, device):
        _write(out, ctypes.c_void_p, 1 + device)

    def cuCtxSetCurrent(self, context):
        """Contexts differ by their addresses only."""

    def cuStreamCreate(self, out, flags):
        self.streams += 1
        _write(out, ctypes.c_void_p, self.streams)

    def cuDeviceGetDefaultMemPool(self, out, device):
        _write(out, ctypes.c_void_p, 1 + device)

    def cuMemPoolSetAttribute(self, pool, attribute, value):
        """The pool keeps what it is given here, too."""
        if attribute == MOST_RESERVED:
            self.most_held = self.held

    def cuMemPoolGetAttribute(self, pool, attribute, out):
        _write(out, ctypes.c_uint64, {RESERVED: self.held, MOST_RESERVED: self.most_held}[attribute])

    def cuMemPoolTrimTo(self, pool, least):
        self.held = max(self.live, least)

    def cuMemGetInfo_v2(self, free, total):
        _write(free, ctypes.c_size_t, self.memory - self.live)
        _write(total, ctypes.c_size_t, self.memory)

    def cuGetErrorName(self, number, out):
        return self._said(number, out, 0)

    def cuGetErrorString(self, number, out):
        return self._said(number, out, 1)

    def _said(self, number, out, which):
        if number not in self._names:
            return INVALID
        _write(out, ctypes.c_void_p, ctypes.cast(self._names[number][which], ctypes.c_void_p).value or 0)
        return 0

    # -- memory

    def cuMemAllocAsync(self, out, nbytes, stream):
        self.allowed(stream)
        if self.live + nbytes > self.memory:
            self.flush(stream)                               # what was given back is there again
            if self.live + nbytes > self.memory:
                return OUT_OF_MEMORY
        if self.free.get(nbytes):
            address = self.free[nbytes].pop()
        else:
            address, self.next = self.next, self.next + -(-nbytes // 256) * 256 + GAP
        self.blocks[address] = np.full(nbytes + 16, 0xff, np.uint8), nbytes
        bisect.insort(self.starts, address)
        self.live += nbytes
        self.most, self.held = max(self.most, self.live), max(self.held, self.live)
        self.most_held = max(self.most_held, self.held)
        _write(out, ctypes.c_size_t, address)
        return 0

    def cuMemFreeAsync(self, address, stream):
        if address not in self.blocks:
            return INVALID
        return self.later(lambda: self.drop(address), stream)

    def drop(self, address):
        """Forget an allocation."""
        nbytes = self.blocks.pop(address)[1]
        self.live -= nbytes
        if self.reuse:
            self.free.setdefault(nbytes, []).append(address)
        del self.starts[bisect.bisect_left(self.starts, address)]

    def real(self, address, nbytes=0):
        """Where the bytes of an address are. raises : Failed where there are none, or too few"""
        at = bisect.bisect_right(self.starts, address) - 1
        start = self.starts[at] if at >= 0 else None
        if start is None or address - start + nbytes > self.blocks[start][1] or address - start > self.blocks[start][1]:
            raise Failed(ILLEGAL_ADDRESS)
        data = self.blocks[start][0]
        return -(-data.ctypes.data // 16) * 16 + address - start

    def cuMemAllocHost_v2(self, out, nbytes):
        buffer = np.full(nbytes, 0xff, np.uint8)
        self.pinned[buffer.ctypes.data] = buffer
        _write(out, ctypes.c_void_p, buffer.ctypes.data)

    def cuMemFreeHost(self, address):
        if self.pinned.pop(address, None) is None:
            return INVALID
        return 0

    def cuMemcpyHtoDAsync_v2(self, target, source, nbytes, stream):
        self.allowed(stream)                                 # a graph would read the source each time
        if any(start <= source and source + nbytes <= start + buffer.size for start, buffer in self.pinned.items()):
            return self.later(lambda: ctypes.memmove(self.real(target, nbytes), source, nbytes), stream)
        self.flush(stream)                                   # a GPU waits as well, before it copies ordinary memory
        data = ctypes.string_at(source, nbytes)
        return self.later(lambda: ctypes.memmove(self.real(target, nbytes), data, nbytes), stream)

    def cuMemcpyDtoHAsync_v2(self, target, source, nbytes, stream):
        return self.later(lambda: ctypes.memmove(target, self.real(source, nbytes), nbytes), stream)

    def cuMemcpyDtoDAsync_v2(self, target, source, nbytes, stream):
        return self.later(lambda: ctypes.memmove(self.real(target, nbytes), self.real(source, nbytes), nbytes), stream)

    def cuMemsetD8Async(self, target, byte, nbytes, stream):
        return self.later(lambda: ctypes.memset(self.real(target, nbytes), byte, nbytes), stream)

    # -- streams: a queue for each; nobody does the work of one because another one is waited for

    @property
    def queue(self):
        """All work that waits."""
        return [work for queue in self.queues.values() for work in queue]

    def later(self, work, stream):
        """Put work in the queue of a stream; 0, or the number of a failure of earlier work, which a GPU keeps as well."""
        if stream in self.captured:
            self.captured[stream].append(work)
            return 0
        self.queues[stream].append(work)
        if len(self.queues[stream]) > MOST_WAITING:
            self.flush(stream)
        return self.failed

    def flush(self, stream, pieces=None):
        """Do what waits in a stream, or so many pieces of it."""
        queue = self.queues[stream]
        for _ in range(len(queue) if pieces is None else min(pieces, len(queue))):
            work = queue.popleft()
            if not self.failed:
                try:
                    work()
                except Failed as failed:
                    self.failed = failed.number

    def allowed(self, stream=None):
        """Refuse what may not be done while a stream, or that one, is captured."""
        if self.captured if stream is None else stream in self.captured:
            raise Failed(NOT_WHILE_CAPTURED)

    def cuStreamSynchronize(self, stream):
        self.allowed(stream)
        self.flush(stream)
        failed, self.failed = self.failed, 0                 # a GPU's context would be lost; the next test goes on
        return failed

    def cuStreamQuery(self, stream):
        self.flush(stream, 1)                                # time passes while somebody asks
        return NOT_READY if self.queues[stream] else self.failed

    def cuStreamWaitEvent(self, stream, event, flags):
        moment = self.moments[event]
        return self.later(lambda: self.reach(moment), stream)

    def reach(self, moment):
        """Do the work of its stream until a moment is there."""
        while moment is not None and moment[0] is None and self.queues[moment[1]]:
            self.flush(moment[1], 1)

    # -- graphs

    def cuStreamBeginCapture_v2(self, stream, mode):
        self.captured[stream] = []

    def cuStreamEndCapture(self, stream, out):
        self._made(out, self.captured.pop(stream))

    def _made(self, out, work):
        self.last_event += 1
        self.graphs[self.last_event] = work
        _write(out, ctypes.c_void_p, self.last_event)

    def cuGraphInstantiateWithFlags(self, out, graph, flags):
        self._made(out, self.graphs[graph])

    def cuGraphExecUpdate_v2(self, graph, other, info):
        if len(self.graphs[graph]) != len(self.graphs[other]):
            return UPDATE_FAILURE
        self.graphs[graph] = self.graphs[other]
        return 0

    def cuGraphLaunch(self, graph, stream):
        for work in self.graphs[graph]:
            self.later(work, stream)
        return self.failed

    def cuGraphDestroy(self, graph):
        del self.graphs[graph]

    cuGraphExecDestroy = cuGraphDestroy

    # -- events: [when it was, None before; the stream]

    def cuEventCreate(self, out, flags):
        self.last_event += 1
        self.moments[self.last_event] = None
        _write(out, ctypes.c_void_p, self.last_event)

    def cuEventRecord(self, event, stream):
        moment = self.moments[event] = [None, stream]

        def pass_by():
            moment[0] = time.perf_counter()
        return self.later(pass_by, stream)

    def cuEventQuery(self, event):
        moment = self.moments[event]
        self.flush(moment[1], 1)
        return self.failed or (NOT_READY if moment[0] is None else 0)

    def cuEventSynchronize(self, event):
        moment = self.moments[event]
        if moment[0] is None:
            self.reach(moment)
            failed, self.failed = self.failed, 0
            return failed

    def cuEventElapsedTime(self, out, start, end):
        first, last = (self.moments.get(event) for event in (start, end))
        if first is None or last is None:
            return INVALID
        if None in (first[0], last[0]):
            return NOT_READY
        _write(out, ctypes.c_float, (last[0] - first[0]) * 1000)

    def cuEventDestroy_v2(self, event):
        self.moments.pop(event, None)

    # -- kernels

    def cuModuleLoadData(self, out, image):
        self.allowed()
        number = int(ctypes.string_at(image))
        _write(out, ctypes.c_void_p, number)

    def cuModuleGetFunction(self, out, module, name):
        texts, called = self.images[module - 1]
        if ctypes.string_at(name) != called:
            return INVALID
        if module not in self.kernels:
            self.kernels[module] = Simulated(texts)
        _write(out, ctypes.c_void_p, module)

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
        said = (ctypes.c_size_t * 5).from_address(extra)
        if (said[0], said[2], said[4]) != (1, 2, 0) or (gy, gz, by, bz, shared) != (1, 1, 1, 1, 0) or not 0 < gx <= 1 << 16:
            return INVALID
        size = ctypes.c_size_t.from_address(said[3]).value
        words = np.frombuffer(ctypes.string_at(said[1], size), np.int64).copy()
        kernel = self.kernels[function]
        if words.size != kernel.words:
            return OUT_OF_RESOURCES

        def run():
            real = np.array([self.real(int(w)) if BASE <= w < END else w for w in words], np.int64)
            if not kernel.run(real, bx, gx, self.backwards):
                raise Failed(LAUNCH_FAILED)
        return self.later(run, stream)


def _write(address: int, kind: Any, value: int) -> None:
    """Write a number where C wants it."""
    kind.from_address(address).value = value
