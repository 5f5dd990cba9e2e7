"""What drives NVIDIA GPUs: CUDA's driver API by address. No toolkit, no Python package: libcuda.so.1 comes with the driver.

    driver = Driver(libcuda())          or Driver(SimulatedLibrary()): the same code, and functions that run on the CPU

A Flow calls `entry`, which is machine code: a launch is cuCtxSetCurrent and cuLaunchKernel, with the words of the kernel where
the Flow has them. Each device has one stream, on which all is done in order; memory comes from its stream-ordered pool, so
what is given back may be taken again before the work on it is done, and nothing waits. Only copies to the CPU wait.
"""
from __future__ import annotations

import atexit
import ctypes
import gc
import re
import threading
import weakref
from typing import Any

import numpy as np

from ...common.device import COPY, CPU, FAILED, GIVE, LAUNCH, POISON, TAKE, Device
from ...common.dtype import dtype as dtype_of
from ...common.errors import DeviceError
from ...common.events import emit
from ...common.storage import DeviceArray
from ...common.tensor import Tensor
from ..low_python import LowModule, source_of
from . import graphs, library_call, nvidia, ptx_cache
from .code import MOST_THREADS, words_of
from .nvidia import CudaError
from .staging import NO_TIMING, Staging

KIND = "GPU"
LIBRARIES = ("libcuda.so.1", "libcuda.so")
OUT_OF_MEMORY, NOT_READY = 2, 600
FROM_CPU = 100                                              # what machine code asks of `answer` besides: a copy of a replay
MAJOR, MINOR, PROCESSORS = 75, 76, 16                       # numbers of attributes
RELEASE_THRESHOLD, RESERVED, MOST_RESERVED = 4, 5, 6        # numbers of a pool's attributes
LONGEST_NAME = 100                                          # characters of a name in PTX
LARGEST = 10                                                # storages that an error for memory names
BLOCKS_OF_A_PROCESSOR = 8                                   # 256 threads each: as many as a multiprocessor holds at a time
WORK_OF_A_THREAD = 8                                        # operations that are worth a thread
_ref = ctypes.byref
_I, _L, _P = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64)

# The functions of the driver that are called, and their arguments; each gives 0 or the number of an error.
FUNCTIONS = {
    "cuInit": (ctypes.c_uint,),
    "cuDriverGetVersion": (_P,),
    "cuDeviceGetCount": (_P,),
    "cuDeviceGet": (_P, _I),
    "cuDeviceGetName": (_P, _I, _I),
    "cuDeviceGetAttribute": (_P, _I, _I),
    "cuDeviceTotalMem_v2": (_P, _I),
    "cuDevicePrimaryCtxRetain": (_P, _I),
    "cuCtxSetCurrent": (_P,),
    "cuDeviceGetDefaultMemPool": (_P, _I),
    "cuMemPoolSetAttribute": (_P, _I, _P),
    "cuMemGetInfo_v2": (_P, _P),
    "cuMemAllocAsync": (_P, _L, _P),
    "cuMemFreeAsync": (_L, _P),
    "cuMemAllocHost_v2": (_P, _L),
    "cuMemFreeHost": (_P,),
    "cuMemcpyHtoDAsync_v2": (_L, _P, _L, _P),
    "cuMemcpyDtoHAsync_v2": (_P, _L, _L, _P),
    "cuMemcpyDtoDAsync_v2": (_L, _L, _L, _P),
    "cuMemsetD8Async": (_L, ctypes.c_ubyte, _L, _P),
    "cuStreamCreate": (_P, ctypes.c_uint),
    "cuStreamSynchronize": (_P,),
    "cuStreamQuery": (_P,),
    "cuEventCreate": (_P, ctypes.c_uint),
    "cuEventRecord": (_P, _P),
    "cuEventQuery": (_P,),
    "cuEventSynchronize": (_P,),
    "cuEventElapsedTime": (_P, _P, _P),
    "cuEventDestroy_v2": (_P,),
    "cuMemPoolGetAttribute": (_P, _I, _P),
    "cuMemPoolTrimTo": (_P, _L),
    "cuModuleLoadData": (_P, _P),
    "cuModuleGetFunction": (_P, _P, _P),
    "cuLaunchKernel": (_P, *[ctypes.c_uint] * 7, _P, _P, _P),
    "cuStreamWaitEvent": (_P, _P, ctypes.c_uint),
    "cuStreamBeginCapture_v2": (_P, _I),
    "cuStreamEndCapture": (_P, _P),
    "cuGraphInstantiateWithFlags": (_P, _P, ctypes.c_ulonglong),
    "cuGraphExecUpdate_v2": (_P, _P, _P),
    "cuGraphLaunch": (_P, _P),
    "cuGraphDestroy": (_P,),
    "cuGraphExecDestroy": (_P,),
    "cuGetErrorName": (_I, _P),
    "cuGetErrorString": (_I, _P),
}


class Libcuda:
    """The driver's own library. addresses: {name of a function: where it is}; image(texts, architecture, name): what it loads"""

    def __init__(self, library):
        self.library = library
        self.addresses = {name: ctypes.cast(getattr(library, name), _P).value for name in FUNCTIONS}

    @staticmethod
    def image(texts: tuple, architecture: str, name: str) -> bytes:
        """The PTX of a kernel, which the driver assembles. texts: of `code.kernel_text`; name: what profilers call it"""
        return ptx_cache.ptx_of(texts, architecture).replace(".entry kernel(", f".entry {name}(").encode() + b"\0"

    @staticmethod
    def threads(least: int) -> int:
        """How many threads a block has, of a kernel that needs at least so many."""
        return MOST_THREADS

    @staticmethod
    def nvidia(name: str) -> Any:
        """A library of NVIDIA's (`nvidia.LIBRARIES`), None where it is not installed."""
        return nvidia.load(name)


def libcuda() -> Any:
    """The Libcuda of this machine; None where there is no driver."""
    for name in LIBRARIES:
        try:
            return Libcuda(ctypes.CDLL(name))
        except (OSError, AttributeError):                    # it is not there, or older than stream-ordered memory
            continue
    return None


class _Gpu:
    """One device. index, device (CUDA's number), context, stream, name, architecture, memory, processors, limit (of blocks)."""

    def __init__(self, driver, index):
        self.index, self.device = index, driver.asked("cuDeviceGet", _I(), index).value
        name = ctypes.create_string_buffer(100)
        driver.call("cuDeviceGetName", name, 100, self.device)
        self.name = name.value.decode()
        major, minor, self.processors = (driver.asked("cuDeviceGetAttribute", _I(), attribute, self.device).value
                                         for attribute in (MAJOR, MINOR, PROCESSORS))
        self.capability, self.architecture = (major, minor), f"sm_{major}{minor}"
        self.memory = driver.asked("cuDeviceTotalMem_v2", _L(), self.device).value
        self.context = driver.asked("cuDevicePrimaryCtxRetain", _P(), self.device).value
        driver.call("cuCtxSetCurrent", self.context)
        self.stream = driver.asked("cuStreamCreate", _P(), 1).value
        self.pool = driver.asked("cuDeviceGetDefaultMemPool", _P(), self.device).value
        driver.call("cuMemPoolSetAttribute", self.pool, RELEASE_THRESHOLD, ctypes.byref(ctypes.c_uint64(2 ** 64 - 1)))
        self.limit = self.processors * BLOCKS_OF_A_PROCESSOR
        self.copies = driver.asked("cuStreamCreate", _P(), 1).value      # of copies from the CPU beside the work
        self.table = (ctypes.c_int64 * 5)(self.context, self.stream or 0, self.limit, 0, graphs.AS_IT_IS)
        self.lock = threading.RLock()
        self.staging = Staging(driver, self)
        self.arrived = driver.asked("cuEventCreate", _P(), NO_TIMING).value      # what `upload` has copied
        self.replays: Any = None                             # whose Flow runs
        self.sizes: dict = {}                                # bytes of what is taken, by address
        self.live = self.most = 0
        self.modules: dict = {}
        self.driver: Any = weakref.ref(driver)
        self.rooms: dict = {}                                # of libraries to work in, by bytes
        self.handles: dict = {}                              # of libraries, by name

    def workspace(self, nbytes):
        """The address of room in which the libraries work, one call after the other; it lives as long as the process."""
        if nbytes not in self.rooms:
            self.rooms[nbytes] = self.driver().allocate(self.index, nbytes)
        return self.rooms[nbytes]

    def library_handle(self, loaded, create, *settings):
        """The handle that a library has made for this device. settings: names of functions that tell it the stream"""
        if loaded.name not in self.handles:
            made = self.handles[loaded.name] = loaded.asked(create)
            for name in settings:
                loaded.call(name, made, self.stream)
        return self.handles[loaded.name]


class Driver:
    """Drives all GPUs of the machine (`common.device.Driver`). library: a Libcuda or a SimulatedLibrary

    raises : DeviceError if the library says that there is no device
    """

    def __init__(self, library):
        self.library, self.lock = library, threading.RLock()
        self.functions = {name: ctypes.CFUNCTYPE(_I, *arguments)(library.addresses[name])
                          for name, arguments in FUNCTIONS.items()}
        self.call("cuInit", 0)
        self.count = self.asked("cuDeviceGetCount", _I()).value
        if not self.count:
            raise DeviceError("CUDA's driver finds no device")
        version = self.asked("cuDriverGetVersion", _I()).value
        self.version = f"{version // 1000}.{version % 1000 // 10}"
        self.gpus: dict = {}
        self.entries: dict = {}
        self.records: list = []                              # of kernels, whose addresses Flows have
        self.taken: dict = {}                                # {run: addresses}
        self.library_kernels: dict = {}                      # of its Target, by their facts
        self.nvidia: dict = {}                               # libraries of NVIDIA's, by name
        self.handles: Any = weakref.WeakValueDictionary()    # of kernels that are calls of those
        calls = Record((), "calls of libraries", 0)
        self.records.append(calls)
        self.calls_libraries = calls.address
        self.broken: Any = None
        self.ended = False
        atexit.register(self.end)

    def end(self) -> None:
        """The process ends: the driver's library may be gone before the last Tensor."""
        self.ended = True

    def gpu(self, index: int) -> _Gpu:
        """A device, made ready when it is asked for first."""
        with self.lock:
            if index not in self.gpus:
                self.gpus[index] = _Gpu(self, index)
            return self.gpus[index]

    # -- calls

    def call(self, name: str, *args: Any) -> None:
        """Call a function of the driver. raises : MemoryError, or CudaError with the driver's words"""
        status = self.functions[name](*args)
        if status:
            raise self.error(status, name)

    def asked(self, name: str, out: Any, *args: Any) -> Any:
        """Call a function that writes its result to `out`; gives it."""
        self.call(name, ctypes.byref(out), *args)
        return out

    def error(self, status: int, doing: str) -> Exception:
        """The exception for the number of an error."""
        if status == OUT_OF_MEMORY:
            return MemoryError(f"{KIND}: out of memory ({doing})")
        words = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            if self.functions[name](status, ctypes.byref(text)) == 0 and text.value:
                words.append(text.value.decode())
        made = CudaError(f"{KIND}: {doing}: {': '.join(words) or f'error {status}'}")
        made.number = status
        return made

    def current(self, index: int) -> _Gpu:
        """A device, whose context is that of this thread from now on."""
        gpu = self.gpus.get(index) or self.gpu(index)
        status = self.functions["cuCtxSetCurrent"](gpu.context)
        if status:
            raise self.error(status, "cuCtxSetCurrent")
        return gpu

    # -- memory

    def allocate(self, index: int, nbytes: int, stream: Any = None) -> int:
        """The address of new memory, from the device's pool, for a stream (None: that of the work). raises : MemoryError"""
        gpu, out, call = self.gpus.get(index) or self.gpu(index), _L(), self.functions     # each result comes this way: one call
        status = call["cuCtxSetCurrent"](gpu.context) or call["cuMemAllocAsync"](_ref(out), nbytes or 1, stream or gpu.stream)
        if status:
            raise self._no_memory(gpu, nbytes) if status == OUT_OF_MEMORY else self.error(status, "cuMemAllocAsync")
        address = out.value
        with self.lock:
            gpu.sizes[address] = nbytes
            gpu.live += nbytes
            if gpu.live > gpu.most:
                gpu.most = gpu.live
        return address

    def _no_memory(self, gpu: _Gpu, nbytes: int) -> MemoryError:
        """The error of an allocation that the device has no room for."""
        free, total = _L(), _L()
        self.call("cuMemGetInfo_v2", _ref(free), _ref(total))
        return MemoryError(f"{KIND}:{gpu.index} has no {nbytes / 2**20:.1f} MiB left: {gpu.live / 2**20:.1f} MiB are in use by "
                           f"this process, {free.value / 2**20:.1f} of {total.value / 2**20:.1f} MiB are free"
                           f"{self.largest(gpu.index)}")

    def largest(self, index: int) -> str:
        """The largest storages, for an error: their sizes, and what lies there."""
        sizes = dict(self.gpu(index).sizes)
        named = {}
        for tensor in gc.get_objects():                      # whoever asks has no memory left, and no haste
            if isinstance(tensor, Tensor) and isinstance(array := getattr(tensor, "away", None), DeviceArray) and \
                    array.device == Device(KIND, index) and getattr(array.storage.buffer, "driver", None) is self:
                name = getattr(tensor, "name", "") or type(tensor).__name__
                named[array.address] = f"{name} {dtype_of(array.dtype).short}{list(array.shape)}"
        rows = sorted(sizes.items(), key=lambda item: -item[1])[:LARGEST]
        lines = [f"\n    {nbytes / 2**20:10.1f} MiB  {named.get(address, 'intermediate results of a compiled function')}"
                 for address, nbytes in rows]
        return "; the largest storages:" + "".join(lines) if lines else ""

    def release(self, index: int, address: int) -> None:
        """Give memory back, behind the work that was asked for; when the process ends it goes by itself."""
        if self.ended:
            return
        gpu, call = self.gpus.get(index) or self.gpu(index), self.functions
        with self.lock:
            gpu.live -= gpu.sizes.pop(address)
        status = call["cuCtxSetCurrent"](gpu.context) or call["cuMemFreeAsync"](address, gpu.stream)
        if status:
            raise self.error(status, "cuMemFreeAsync")

    def copy(self, to: Device, target: int, source: Device, start: int, nbytes: int) -> None:
        """Copy; to the CPU it waits."""
        if nbytes == 0:
            return
        gpu = self.current((source if to == CPU else to).index)
        if to == CPU:
            self.call("cuMemcpyDtoHAsync_v2", target, start, nbytes, gpu.stream)
            self.call("cuStreamSynchronize", gpu.stream)
        elif source == CPU:
            gpu.staging.copy(target, start, nbytes, gpu.stream)
        elif to == source:
            self.call("cuMemcpyDtoDAsync_v2", target, start, nbytes, gpu.stream)
        else:                                                # each has a stream: what is there is done, and then seen
            other = self.gpu(source.index)
            self.follow(gpu, gpu.stream, other, other.stream)
            self.call("cuMemcpyDtoDAsync_v2", target, start, nbytes, gpu.stream)
            self.follow(other, other.stream, gpu, gpu.stream)

    def upload(self, index: int, start: int, nbytes: int) -> int:
        """The address of new memory with bytes of the CPU, copied beside work that was asked for before. raises : MemoryError"""
        gpu = self.current(index)
        address = self.allocate(index, nbytes, gpu.copies)
        if nbytes:
            with gpu.lock:                                   # while nothing is captured
                gpu.staging.copy(address, start, nbytes, gpu.copies)
                self.call("cuEventRecord", gpu.arrived, gpu.copies)
                self.call("cuStreamWaitEvent", gpu.stream, gpu.arrived, 0)
        return address

    def follow(self, waiting: _Gpu, stream: int, gpu: _Gpu, before: int) -> None:
        """What is asked of a stream from now on waits for what was asked of another, which may be another device's."""
        self.call("cuCtxSetCurrent", gpu.context)
        event = self.asked("cuEventCreate", _P(), NO_TIMING).value
        self.call("cuEventRecord", event, before)
        self.call("cuCtxSetCurrent", waiting.context)
        self.call("cuStreamWaitEvent", stream, event, 0)
        self.call("cuEventDestroy_v2", event)

    def synchronize(self, index: int) -> None:
        """Wait until all work is done. raises : CudaError if some of it failed"""
        self.call("cuStreamSynchronize", self.current(index).stream)

    # -- what `functional.runtime` asks: memory and moments

    def memory(self, index: int) -> dict[str, int]:
        """Bytes: in use now and at most, held from the system now and at most."""
        gpu = self.current(index)
        held, most = ctypes.c_uint64(), ctypes.c_uint64()
        self.call("cuMemPoolGetAttribute", gpu.pool, RESERVED, ctypes.byref(held))
        self.call("cuMemPoolGetAttribute", gpu.pool, MOST_RESERVED, ctypes.byref(most))
        return {"allocated": gpu.live, "most allocated": gpu.most, "reserved": held.value, "most reserved": most.value}

    def forget_most(self, index: int) -> None:
        """Count the most bytes from here on."""
        gpu = self.current(index)
        gpu.most = gpu.live
        self.call("cuMemPoolSetAttribute", gpu.pool, MOST_RESERVED, ctypes.byref(ctypes.c_uint64(0)))

    def trim(self, index: int) -> None:
        """Give memory back to the system that is held and not in use."""
        gpu = self.current(index)
        self.call("cuStreamSynchronize", gpu.stream)
        self.call("cuMemPoolTrimTo", gpu.pool, 0)

    def properties(self, index: int) -> tuple[str, int, int, tuple[int, int]]:
        """(name, bytes of memory, multiprocessors, compute capability) of a device."""
        gpu = self.gpu(index)
        return gpu.name, gpu.memory, gpu.processors, gpu.capability

    def idle(self, index: int) -> bool:
        """Is all work done that was asked for?"""
        return self._done("cuStreamQuery", self.current(index).stream)

    def stream(self, index: int) -> int:
        """The handle of the one stream of a device, for other libraries."""
        return self.gpu(index).stream

    def replays(self, index: int) -> graphs.Replays:
        """What runs one straight Flow again and again, as a CUDA graph."""
        return graphs.Replays(self, index)

    def wait_for(self, index: int, stream: int) -> None:
        """Wait until another library's stream on a device is idle."""
        self.current(index)
        self.call("cuStreamSynchronize", stream)

    def _done(self, name, handle):
        status = self.functions[name](handle)
        if status not in (0, NOT_READY):
            raise self.error(status, name)
        return status == 0

    def moment(self, index: int) -> Moment:
        """The Moment at which the work is done that was asked for before."""
        return Moment(self, self.current(index))

    # -- libraries of NVIDIA's

    def library_of(self, name: str) -> Any:
        """A library by its name in `nvidia.LIBRARIES`; None where it is not installed."""
        with self.lock:
            if name not in self.nvidia:
                self.nvidia[name] = self.library.nvidia(name)
            return self.nvidia[name]

    @staticmethod
    def library_number(name: str) -> int:
        """The number of a library in the status of a call; 0 is the driver."""
        return 1 + list(nvidia.LIBRARIES).index(name)

    def _failed(self, status: int) -> Exception:
        """The exception for a status in the table: the number of an error, above it that of a library."""
        number, status = status >> 32, status & 0xffffffff
        if number == 0:
            return self.error(status, "a kernel or copy before this one")
        return self.library_of(list(nvidia.LIBRARIES)[number - 1]).error(status, "a call")

    # -- kernels

    def loaded(self, texts: tuple, name: str, least: int = 32) -> int:
        """The address of what a Flow launches: a record of the function on each device, filled when it is launched there first.

        texts : of `code.kernel_text`;   least: threads of a block that it needs
        """
        record = Record(texts, name, self.library.threads(least))
        with self.lock:
            self.records.append(record)
        return record.address

    def function(self, index: int, address: int) -> int:
        """CUDA's handle of the kernel of a record, on a device."""
        with self.lock:
            record = next(r for r in reversed(self.records) if r.address == address)
            gpu = self.current(index)
            if record.texts not in gpu.modules:
                name = re.sub(r"\W", "_", f"ml_{record.name}")[:LONGEST_NAME]
                image = self.library.image(record.texts, gpu.architecture, name)
                module = self.asked("cuModuleLoadData", _P(), image).value
                gpu.modules[record.texts] = self.asked("cuModuleGetFunction", _P(), module, name.encode()).value
                emit("kernel_load", name=record.name, key=gpu.architecture, seconds=0.0)
            return gpu.modules[record.texts]

    # -- what Flows ask

    def entry(self, index: int) -> int:
        """The address of the C function that a Flow calls; machine code that launches and copies, the rest is `answer`."""
        with self.lock:
            if index not in self.entries:
                gpu = self.gpu(index)

                def asked(what, args, count):
                    try:
                        return self.answer(index, what, args)
                    except (DeviceError, MemoryError) as error:
                        self.broken = error
                        return FAILED
                slow = _ENTRY(asked)
                constants = {"LAUNCH": LAUNCH, "COPY": COPY, "FAILED": FAILED, "MOST": 1 << 30, "FROM_CPU": FROM_CPU,
                             "AS_IT_IS": graphs.AS_IT_IS, "REPLAYED": graphs.REPLAYED, "WIDTH": 8 * library_call.WIDTH,
                             "NUMBER": library_call.NUMBER, "PLACE": library_call.PLACE, "STREAM": library_call.STREAM}
                words = dict.fromkeys(("DEVICE", "ANSWER", "INDEX"), 1)
                made = LowModule(source_of(__file__, "driver_code"), constants, words, "cuda_entry",
                                 self.library.addresses.__getitem__)
                made.set("DEVICE", ctypes.addressof(gpu.table), ctypes.cast(slow, _P).value, index)
                self.entries[index] = made, slow
            return self.entries[index][0].address("entry")

    def answer(self, index: int, what: int, args: Any) -> int:
        """What machine code does not do itself: the first launch of a kernel, memory, and errors. 0, and 1 for: again"""
        gpu = self.current(index)
        if what == LAUNCH and Record.at(args[1])[2] == 0:
            self.handles[args[4]].ready_for(gpu)
            return 1
        if what == LAUNCH:
            Record.at(args[1])[0] = self.function(index, args[1])
            Record.at(args[1])[1] = index
            return 1
        if what == COPY:                                     # it failed, with the number in the table
            raise self._failed(gpu.table[3])
        if what == FROM_CPU and gpu.table[4] == graphs.AS_IT_IS:
            gpu.staging.copy(args[1], args[2], args[3], gpu.stream)
        elif what == FROM_CPU:
            gpu.replays.copied(gpu.table[4], args[1], args[2], args[3])
        elif what == TAKE:
            run = args[0]
            args[0] = self.allocate(index, args[1])
            if run:
                self.taken.setdefault(run, set()).add(args[0])
        elif what == GIVE:
            self.taken[args[0]].remove(args[1])
            self.release(index, args[1])
        elif what == POISON:
            self.call("cuMemsetD8Async", args[1], 0xff, args[2], gpu.stream)
        else:
            raise DeviceError(f"{KIND} cannot do {what}")
        return 0

    def failure(self, index: int) -> Exception:
        """The exception for a FAILED."""
        error, self.broken = self.broken, None
        return error

    def end_run(self, index: int, run: int) -> None:
        """Give back what was taken for a run."""
        for address in self.taken.pop(run, ()):
            self.release(index, address)


class Moment:
    """An event of CUDA, recorded in the stream of a device when it is made."""

    def __init__(self, driver: Driver, gpu: _Gpu) -> None:
        self.driver, self.index = driver, gpu.index
        self.handle = driver.asked("cuEventCreate", _P(), 0).value
        driver.call("cuEventRecord", self.handle, gpu.stream)

    def done(self) -> bool:
        """Is the work done that was asked for before?"""
        self.driver.current(self.index)
        return self.driver._done("cuEventQuery", self.handle)

    def wait(self) -> None:
        """Wait for it. raises : CudaError if some of it failed"""
        self.driver.current(self.index)
        self.driver.call("cuEventSynchronize", self.handle)

    def milliseconds_to(self, later: Moment) -> float:
        """The time between this moment and a later one, on the device; waits for that."""
        later.wait()
        return self.driver.asked("cuEventElapsedTime", ctypes.c_float(), self.handle, later.handle).value

    def __del__(self) -> None:
        if not self.driver.ended and "handle" in vars(self):
            self.driver.functions["cuEventDestroy_v2"](self.handle)


class Record:
    """What stands at the address of a Kernel: CUDA's function, 0 before the first launch; the device that it is of; threads of a
    block, 0 for calls of NVIDIA's libraries; operations of a block, by which the number of blocks follows from the extent and
    the cost; the bytes of its parameters: a launch hands over so many, and CUDA refuses more."""

    def __init__(self, texts, name, threads):
        self.texts, self.name = texts, name
        nbytes = words_of(texts[0], "kernel") * np.dtype(np.int64).itemsize if texts else 0
        self.words = np.array([0, 0, threads, threads * WORK_OF_A_THREAD, nbytes], np.int64)
        self.address = self.words.ctypes.data

    @staticmethod
    def at(address):
        """The words at an address."""
        return (ctypes.c_int64 * 5).from_address(address)
