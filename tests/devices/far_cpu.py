"""A far CPU: a second Target, in tests alone. What holds here holds of a device that Python cannot look into.

Its memory has addresses of its own: no pointer of this process, so that whoever follows one crashes at once; only the worker
of the device knows where the bytes are. No address is used twice: what is read after it was given back is seen. New
memory is poison, and so is what a Kill leaves (config.verify). Kernels are those of the CPU; the one thread of the device
runs what was asked for, in order, while the caller goes on. Every launch, copy and wait is counted.
"""
import bisect
import collections
import contextlib
import ctypes
import dataclasses
import queue
import threading

import mindlite as ms
from mindlite.backend.cpu.target import CPU as CPU_TARGET
from mindlite.backend.target import current, provide, withdraw
from mindlite.common.config import config
from mindlite.common.device import COPY, CPU, FAILED, GIVE, LAUNCH, POISON, TAKE, Device
from mindlite.common.errors import DeviceError

FAR = Device("FAR")
BASE, END = 0x5FA7 << 48, 0x5FA8 << 48                       # no process has such addresses
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64)
_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
HANDLES = 0x0000_0100_0000_0000                              # from here on an i64 may be a pointer of this process


class FarCPU:
    """The driver. counts: how many launches, copies "in", "out" and "on" the device, waits; failed: the first failure."""
    count = 2

    def __init__(self):
        self.blocks, self.starts, self.next = {}, [], BASE
        self.lock, self.work = threading.RLock(), queue.Queue()
        self.counts, self.taken, self.failed, self.broken = collections.Counter(), {}, None, None
        self.most = self.live = 0
        self._entry = _ENTRY(self.asked)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # -- memory

    def allocate(self, index, nbytes):
        with self.lock:
            address = self.next
            self.next += -(-max(nbytes, 1) // 64) * 64 + 4096        # a gap: what runs over the end is nobody's
            self.blocks[address] = ctypes.create_string_buffer(b"\xff" * max(nbytes, 1), max(nbytes, 1)), nbytes
            self.starts.append(address)
            self.live += nbytes
            self.most = max(self.most, self.live)
            return address

    def release(self, index, address):
        self.work.put(lambda: self.drop(address))                    # work that was asked for before may use it

    def drop(self, address):
        with self.lock:
            _, nbytes = self.blocks.pop(address)
            del self.starts[bisect.bisect_left(self.starts, address)]
            self.live -= nbytes

    def real(self, address, nbytes=0):
        """Where the bytes of an address are."""
        with self.lock:
            at = bisect.bisect_right(self.starts, address) - 1
            start = self.starts[at] if at >= 0 else None
            if start is None or address + nbytes > start + self.blocks[start][1] or address - start > self.blocks[start][1]:
                raise DeviceError(f"the far CPU has no memory at {address:x}, {nbytes} bytes")
            return ctypes.addressof(self.blocks[start][0]) + address - start

    # -- the queue

    def run(self):
        while True:
            work = self.work.get()
            if work is None:
                return
            try:
                if self.failed is None:
                    work()
            except BaseException as error:                           # raised by whoever waits next
                self.failed = error
            finally:
                self.work.task_done()

    def wait(self):
        self.counts["waits"] += 1
        self.work.join()
        if self.failed is not None:
            error, self.failed = self.failed, None
            raise error

    def synchronize(self, index):
        self.wait()

    def copy(self, to, target, source, start, nbytes):
        if to == CPU:
            self.counts["out"] += 1
            self.work.put(lambda: ctypes.memmove(target, self.real(start, nbytes), nbytes))
            self.wait()
        elif source == CPU:
            self.counts["in"] += 1
            assert not BASE <= start < END
            data = ctypes.string_at(start, nbytes)
            self.work.put(lambda: ctypes.memmove(self.real(target, nbytes), data, nbytes))
        else:
            self.counts["on"] += 1
            self.work.put(lambda: ctypes.memmove(self.real(target, nbytes), self.real(start, nbytes), nbytes))

    # -- what Flows ask

    def entry(self, index):
        return ctypes.cast(self._entry, ctypes.c_void_p).value

    def asked(self, what, args, count):
        try:
            return self.answer(what, args, [args[n] for n in range(count)])
        except Exception as error:
            self.broken = error
            return FAILED

    def answer(self, what, args, given):
        if what == LAUNCH:
            _, kernel, extent, cost, *values = given
            self.counts["launches"] += 1
            self.work.put(lambda: self.launch(kernel, extent, values))
        elif what == COPY:
            _, target, source, nbytes, kind = given
            self.copy(CPU if kind == 1 else FAR, target, CPU if kind == 0 else FAR, source, nbytes)
        elif what == TAKE:
            args[0] = self.allocate(0, given[1])
            if given[0]:
                self.taken.setdefault(given[0], set()).add(args[0])
        elif what == GIVE:
            self.taken[given[0]].remove(given[1])
            self.release(0, given[1])
        elif what == POISON:
            self.counts["poisoned"] += 1
            self.work.put(lambda: ctypes.memset(self.real(given[1], given[2]), 0xff, given[2]))
        else:
            raise DeviceError(f"the far CPU cannot do {what}")
        return 0

    def launch(self, kernel, extent, values):
        words = [self.real(v) if BASE <= v < END else v for v in values]
        for place, v in enumerate(values):
            if HANDLES <= v < 1 << 48 and place:                     # the first may be the handle of a library
                raise DeviceError(f"a kernel was given the pointer {v:x}, which is none of the far CPU")
        status = _KERNEL(kernel)((ctypes.c_int64 * max(1, len(words)))(*words), 0, 1 if extent < 0 else extent)
        if status:
            raise DeviceError(f"a kernel failed on the far CPU with status {status}")

    def failure(self, index):
        error, self.broken = self.broken, None
        return error

    def end_run(self, index, run):
        for address in self.taken.pop(run, ()):
            self.release(index, address)


@dataclasses.dataclass(frozen=True)
class FarTarget(CPU_TARGET):
    """The Target of the far CPU: kernels as the CPU has them, but other choices, which are counted by name."""
    kind = "FAR"
    library = CPU_TARGET.library - {"panel_matmul", "topk"}
    launched_together: int = 4
    chosen: collections.Counter = dataclasses.field(default_factory=collections.Counter, compare=False)
    made: dict = dataclasses.field(default_factory=dict, compare=False)

    __hash__ = CPU_TARGET.__hash__

    def far(self, kernel):
        """What runs there in place of a Kernel of the CPU."""
        if kernel is None:
            return None
        if id(kernel) not in self.made:
            self.made[id(kernel)] = dataclasses.replace(kernel, device=self.kind, where=lambda: kernel.address), kernel
        return self.made[id(kernel)][0]

    def write(self, nest):
        assert nest.target == self
        self.chosen["written"] += 1
        return super().write(nest)

    def compiled(self, name, text, source, cost=1):
        self.chosen["compiled"] += 1
        return super().compiled(name, text, source, cost)         # of this kind

    def library_kernel(self, name, **facts):
        assert name in self.library
        self.chosen[name] += 1
        return self.far(super().library_kernel(name, **facts))


@contextlib.contextmanager
def far_cpu():
    """A far CPU on which kernels run; yields its driver, whose `target` is its Target."""
    driver = FarCPU()
    driver.target = FarTarget(driver, **{f.name: getattr(current(), f.name) for f in dataclasses.fields(CPU_TARGET)
                                         if f.name not in ("driver", "launched_together")})
    provide(driver.target)
    ms.set_context(device_target="FAR")
    try:
        yield driver
        driver.wait()
    finally:
        ms.set_context(device_target="CPU")
        config.set(device_id=0)
        driver.work.put(None)
        withdraw("FAR")
