"""MindSpore's `hal` and `runtime`: streams, events, memory and devices, with what is true of one process.

    start, end = Event(enable_timing=True), Event(enable_timing=True)
    start.record();  step();  end.record()
    start.elapsed_time(end)                     milliseconds

On the CPU operators run when they are called, in the order of the program, so there is one stream and nothing to wait for.
Memory is that of the process, as the operating system counts it. Another device works through its one stream while Python goes
on: `synchronize`, events and memory are its driver's (`common.device.Driver`). Who names no device means that of set_context.
"""
from __future__ import annotations

import os
import platform
import resource
import sys
import time
import warnings
from typing import Any

from ..common.checks import check_value_type
from ..common.config import config
from ..common.device import device as device_named, driver_of, known_kind, name_of, numbered, target_device
from ..common.errors import ArgumentError, DeviceError, MindliteError, ValueRangeError
from ..common.records import dataclass
from .context import threads_num

_STATUS = "/proc/self/status"


def synchronize() -> None:
    """Wait until every operator that was called has run; on the CPU it has. raises : DeviceError if one has failed on a device"""
    if (here := _driven(None)) is not None:
        here[0].synchronize(here[1])


def launch_blocking() -> None:
    """Let operators be called one after the other, so that an error stands where its cause is: on the CPU they are.

    raises : DeviceError on another device, where this does not exist
    """
    if _driven(None) is not None:
        raise DeviceError("launch_blocking: kernels of a device are launched without waiting",
                          hint="synchronize() after the line that is looked for")


# ---------------------------------------------------------------- streams and events

class EventError(MindliteError, RuntimeError):
    """An event that has not been recorded, or takes no time."""


class Event:
    """A moment in the program. enable_timing : it can be compared with another one;   blocking : MindSpore's"""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self.enable_timing = check_value_type("enable_timing", enable_timing, bool, "Event")
        self._moment: Any = None                             # seconds on the CPU, else the driver's

    def record(self, stream: Stream | None = None) -> None:
        """Now is the moment; on a device, when what was called before has run there."""
        here = _driven(None)
        self._moment = time.perf_counter() if here is None else here[0].moment(here[1])

    def query(self) -> bool:
        """Has run what was called before? Of an event that was not recorded: True."""
        return self._moment is None or isinstance(self._moment, float) or self._moment.done()

    def synchronize(self) -> None:
        """Wait for the moment. raises : DeviceError if what was called before has failed on a device"""
        if self._moment is not None and not isinstance(self._moment, float):
            self._moment.wait()

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for the moment: there is one, in which it lies behind."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this moment to another one.

        raises : EventError unless both take time and are recorded, on one device
        """
        first, last = self._moment, end_event._moment
        if not self.enable_timing or not end_event.enable_timing or first is None or last is None:
            raise EventError("elapsed_time: both events are recorded, and made with enable_timing=True")
        if isinstance(first, float) and isinstance(last, float):
            return (last - first) * 1000
        if isinstance(first, float) or isinstance(last, float) or first.index != last.index:
            raise EventError("elapsed_time: both events are recorded on one device")
        return float(first.milliseconds_to(last))


class Stream:
    """An order of operators. All operators run in the order of the program, whatever their stream."""

    def __init__(self, priority: int = 0, **kwargs: Any) -> None:
        self.priority, self.id = priority, kwargs.get("stream_id", 0)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, or a new one; gives it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Wait for an event, which lies behind."""

    def wait_stream(self, stream: Stream) -> None:
        """Wait for another stream, which has run."""

    def query(self) -> bool:
        """Has run what was called?"""
        here = _driven(None)
        return True if here is None else here[0].idle(here[1])

    def synchronize(self) -> None:
        """Wait until what was called has run."""
        synchronize()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Stream) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Stream(device name={config.device_target}, device id={config.device_id}, stream id={self.id})"


_DEFAULT = Stream()
_current = [_DEFAULT]


class StreamCtx:
    """A block whose operators belong to a stream; None: as they are."""

    def __init__(self, ctx_stream: Stream | None) -> None:
        if ctx_stream is not None and not isinstance(ctx_stream, Stream):
            raise ArgumentError(f"StreamCtx: takes a Stream, not {type(ctx_stream).__name__}")
        self.stream = ctx_stream

    def __enter__(self) -> None:
        _current.append(_current[-1] if self.stream is None else self.stream)

    def __exit__(self, *error: Any) -> None:
        _current.pop()


def current_stream() -> Stream:
    """The stream of the block that is running."""
    return _current[-1]


def default_stream() -> Stream:
    """The stream outside of any block."""
    return _DEFAULT


def communication_stream() -> Stream:
    """The stream of messages between devices: there is one process, so it is the default one."""
    return _DEFAULT


def set_cur_stream(stream: Stream | None) -> None:
    """Let operators belong to a stream from here on; None changes nothing. raises : ArgumentError"""
    if stream is not None and not isinstance(stream, Stream):
        raise ArgumentError(f"set_cur_stream: takes a Stream, not {type(stream).__name__}")
    if stream is not None:
        _current[-1] = stream


# ---------------------------------------------------------------- memory


def _driven(device_target: str | None, device_id: int | None = None) -> tuple[Any, int] | None:
    """(the driver, the number) of a device that is not the CPU, by default that of set_context; None for the CPU.

    raises : ValueRangeError for a device that does not exist, DeviceError for one that is missing here
    """
    if device_target is None:
        found = target_device()
    else:
        kind = known_kind(device_target, "hal")
        number = config.device_id if kind == config.device_target else 0
        found = numbered(kind, number if device_id is None else device_id, "hal")
    if found is None or found.is_host:
        return None
    return driver_of(found), found.index if device_id is None else numbered(found.kind, device_id, "hal").index


def _of_device(name: str, device_target: str | None) -> int | None:
    """A number of a device's memory, by its driver; None for the CPU."""
    here = _driven(device_target)
    return None if here is None else here[0].memory(here[1])[name]


def _status(name: str) -> int:
    """A row of /proc/self/status in bytes; 0 where there is none."""
    if not os.path.exists(_STATUS):
        return 0
    with open(_STATUS, encoding="ascii") as stream:
        for line in stream:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def memory_allocated(device_target: str | None = None) -> int:
    """Bytes of main memory that the process holds now; on a device, of storages and arenas."""
    if (found := _of_device("allocated", device_target)) is not None:
        return found
    return _status("VmRSS") or max_memory_allocated()


def max_memory_allocated(device_target: str | None = None) -> int:
    """The most bytes that it has held since the start, or since `reset_max_memory_allocated`."""
    if (found := _of_device("most allocated", device_target)) is not None:
        return found
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def memory_reserved(device_target: str | None = None) -> int:
    """As memory_allocated: no main memory is held that is not in use. On a device, what its pool has of the device."""
    found = _of_device("reserved", device_target)
    return memory_allocated(device_target) if found is None else found


def max_memory_reserved(device_target: str | None = None) -> int:
    """The most bytes of memory_reserved."""
    found = _of_device("most reserved", device_target)
    return max_memory_allocated(device_target) if found is None else found


def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """MindSpore's dict of numbers: those that there are here."""
    reserved, allocated = memory_reserved(device_target), memory_allocated(device_target)
    return {"total_reserved_memory": reserved, "total_allocated_memory": allocated,
            "total_idle_memory": 0 if _driven(device_target) is None else max(0, reserved - allocated),
            "total_eager_free_memory": 0, "max_reserved_memory": max_memory_reserved(device_target),
            "max_allocated_memory": max_memory_allocated(device_target)}


def memory_summary(device_target: str | None = None) -> str:
    """memory_stats as a text, a line for each number, in MiB."""
    return "\n".join(f"{name.replace('_', ' '):28} {value / 2 ** 20:10.1f} MiB"
                     for name, value in memory_stats(device_target).items())


def reset_max_memory_allocated(device_target: str | None = None) -> None:
    """Count the most bytes from here on; warns where the operating system counts only since the start."""
    if (here := _driven(device_target)) is not None:
        here[0].forget_most(here[1])
        return
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as stream:
            stream.write("5")
    except OSError as error:
        warnings.warn(f"reset_max_memory_allocated: the peak stays that since the start ({error})", stacklevel=2)


reset_max_memory_reserved = reset_peak_memory_stats = reset_max_memory_allocated


def empty_cache() -> None:
    """Give memory back that is held but not in use: on the CPU there is none."""
    if (here := _driven(None)) is not None:
        here[0].trim(here[1])


def set_memory(init_size: str = "2GB", increase_size: str = "2GB", max_size: str = "1024GB", optimize_level: str = "O0",
               huge_page_reserve_size: str = "0GB") -> None:
    """MindSpore's memory pool of a device, which a CPU does not have; warns."""
    _note("set_memory")


def set_cpu_affinity(enable_affinity: bool, affinity_cpu_list: list | None = None, module_to_cpu_dict: dict | None = None,
                     bind_file: str | None = None) -> None:
    """Which cores MindSpore's threads run on; the operating system chooses here; warns."""
    _note("set_cpu_affinity")


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """How MindSpore launches kernels; warns."""
    _note("set_kernel_launch_group")


def _note(name: str) -> None:
    warnings.warn(f"{name} has no meaning in mindlite and is left out", stacklevel=3)


def dispatch_threads_num(threads_num: int) -> None:
    """Kernels run on at most threads_num threads, an int. raises : ArgumentError for what is no positive int"""
    _set_threads(threads_num)


_set_threads = threads_num


# ---------------------------------------------------------------- devices

@dataclass(frozen=True)
class DeviceProperties:
    """name of the processor, bytes of its memory, number of cores or multiprocessors."""
    name: str
    total_memory: int
    multi_processor_count: int


def _properties(device_id: int, device_target: str | None) -> tuple[str, int, int, tuple[int, int]] | None:
    """What the driver says of a device (name, bytes, multiprocessors, capability); None for the CPU. raises : ArgumentError,
    ValueRangeError for a device that does not exist, DeviceError for one that is missing here"""
    if isinstance(device_id, bool) or not isinstance(device_id, int):
        raise ArgumentError(f"a device_id is an int, not {type(device_id).__name__}")
    if device_id < 0:
        raise ValueRangeError(f"there is no device {device_id}", hint="0")
    here = _driven(device_target, device_id)
    if here is None and device_id:
        raise ValueRangeError(f"there is no device {device_id}", hint="0")
    return None if here is None else here[0].properties(here[1])


def get_device_properties(device_id: int, device_target: str | None = None) -> DeviceProperties:
    """What is known of a device. raises : ArgumentError, ValueRangeError, DeviceError"""
    if (found := _properties(device_id, device_target)) is not None:
        return DeviceProperties(*found[:3])
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return DeviceProperties(get_device_name(device_id, device_target), total, os.cpu_count() or 1)


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """The processor's name. raises : as `get_device_properties`"""
    if (found := _properties(device_id, device_target)) is not None:
        return found[0]
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or name_of(None)


def device_count(device_target: str | None = None) -> int:
    """How many devices of a kind there are: one CPU."""
    here = _driven(device_target)
    return 1 if here is None else here[0].count


def is_available(device_target: str) -> bool:
    """True for a kind of device that is here."""
    try:
        device_named(device_target, "hal")
    except MindliteError:
        return False
    return True


def is_initialized(device_target: str) -> bool:
    """True for a kind of device that can be used now: all that is available."""
    return is_available(device_target)


def get_device_capability(device_id: int, device_target: str | None = None) -> tuple[int, int]:
    """CUDA's version of a device's abilities, as (9, 0). raises : ValueRangeError for a CPU, which has none"""
    if (found := _properties(device_id, device_target)) is None:
        raise ValueRangeError("get_device_capability: a CPU has no CUDA capability")
    return found[3]


def get_arch_list(device_target: str | None = None) -> list[str]:
    """What kernels are compiled for: the architecture of this machine or of the devices, as "sm_90"."""
    here = _driven(device_target)
    if here is None:
        return [platform.machine()]
    found = {here[0].properties(index)[3] for index in range(here[0].count)}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]
