"""Devices: where a storage lies and a kernel runs. A kind has a name, and a device of a kind a number.

    device("CPU")  ->  CPU          device("GPU:1")  ->  Device("GPU", 1), where something drives it

What can drive a kind says so with `provide`, which `backend.target.provide` calls; until then whoever asks for a device of that
kind hears what is missing. So set_context, Tensor.to and the environment refuse a device in the same words.
"""
from __future__ import annotations

from typing import Any, Protocol

from .annotations import Function
from .config import config
from .errors import DeviceError, ValueRangeError
from .locks import new_lock
from .records import dataclass

# MindSpore's kinds, and what a machine without them lacks.
MISSING = {"GPU": "nothing drives it", "Ascend": "mindlite has no kernels for Ascend processors"}
_SYNONYMS = {"CUDA": "GPU", "Davinci": "Ascend"}
_drivers: dict = {"CPU": None}
_offers: dict = {}               # {kind: a function that provides what drives it}
_devices: dict = {}              # {(kind, index): the one Device that `numbered` gives}: machine code compares by identity
_lock = new_lock()
listeners: list = []             # called without arguments after what drives a kind has changed


@dataclass(frozen=True)
class Device:
    """kind: "CPU", "GPU", ..; index: which device of that kind."""
    kind: str
    index: int = 0

    def __str__(self) -> str:
        return self.kind if self.is_host else f"{self.kind}:{self.index}"

    @property
    def is_host(self) -> bool:
        """True for the device whose memory Python reads: it drives all others and needs no driver."""
        return self.kind == "CPU"


CPU: Device = Device("CPU")              # the host


def name_of(device: Device | None) -> str:
    """The name of a Device, of the host for None."""
    return str(device or CPU)


def target_device() -> Any:
    """The Device on which kernels run, by config.device_target and device_id; None for the host. raises : as `numbered`"""
    return None if config.device_target == CPU.kind else numbered(config.device_target, config.device_id)


class Driver(Protocol):
    """What drives the devices of a kind: memory, copies and launches. Addresses are the device's own; the CPU cannot follow them.

    count   : how many devices of this kind there are
    Work is done in the order in which it is asked for (a stream), while the CPU goes on; a copy to the CPU waits for what was
    asked for before, a copy from the CPU has read its source when it returns. A failure of work that the CPU did not wait for is
    raised by the next call that waits.
    """
    count: int

    def allocate(self, index: int, nbytes: int) -> int:
        """The address of new memory. raises : MemoryError"""

    def release(self, index: int, address: int) -> None:
        """Give memory back; work that was asked for before may still use it."""

    def copy(self, to: Device, target: int, source: Device, start: int, nbytes: int) -> None:
        """Copy nbytes; `to` or `source` is a device of this kind, the other one too or the CPU."""

    def synchronize(self, index: int) -> None:
        """Wait until all work is done."""

    # What `functional.runtime` (MindSpore's hal) asks; a device can do without.

    def memory(self, index: int) -> dict[str, int]:
        """Bytes: "allocated" and "reserved" (held from the system), and of each the "most"."""

    def upload(self, index: int, start: int, nbytes: int) -> int:
        """`allocate` and `copy` from the CPU, beside what was asked for before; what is asked for next sees it."""

    def forget_most(self, index: int) -> None:
        """Count the most bytes from here on."""

    def trim(self, index: int) -> None:
        """Give memory back to the system that is held and not in use."""

    def properties(self, index: int) -> tuple[str, int, int, tuple[int, int]]:
        """(name, bytes of memory, multiprocessors, version of its abilities)."""

    def idle(self, index: int) -> bool:
        """Is all work done that was asked for?"""

    def moment(self, index: int) -> Any:
        """When the work is done that was asked for before: done(), wait(), milliseconds_to(a later one), index."""

    def stream(self, index: int) -> int:
        """The handle of the stream in which work is done, for other libraries that share memory (`common/dlpack.py`)."""

    def replays(self, index: int) -> Any:
        """What runs one straight Flow again and again: run(key, call) -> status; see `compile/captured.py`."""

    def wait_for(self, index: int, stream: int) -> None:
        """Wait until another library's stream on a device is idle."""

    def entry(self, index: int) -> int:
        """The address of a C function that a Flow calls, `int64_t entry(int64_t what, int64_t *args, int64_t count)`.

        It gives 0, the kernel's status, or FAILED; what is one of LAUNCH .. POISON, which say what args are.
        """

    def failure(self, index: int) -> Exception:
        """The exception for a FAILED."""

    def end_run(self, index: int, run: int) -> None:
        """Give back what was taken with TAKE for a run."""


# What a Flow asks of a driver:
LAUNCH = 0        # stream, address of the kernel, extent (-1: one piece), cost, then the kernel's args
COPY = 1          # stream, target, source, bytes, kind: 0 from the CPU, 1 to the CPU, 2 on devices
TAKE = 2          # run, bytes; the address is put into args[0]: memory until GIVE, or the end of the run (0: for ever)
GIVE = 3          # run, address
POISON = 4        # stream, address, bytes: what was there is dead (config.verify)
FAILED = -1


def kinds() -> tuple:
    """The kinds of devices that can be used here."""
    return tuple(_drivers)


def known_kind(kind: str, what: str = "device_target") -> str:
    """The name of a kind of device that can be used here.

    kind   : a str;   what: the name of the argument, for the error
    raises : ValueRangeError for a name of no device, DeviceError for a device that is missing here
    """
    known = dict.fromkeys((*_drivers, *MISSING))
    name = _SYNONYMS.get(kind, kind) if isinstance(kind, str) else None
    if name is None or name not in known:
        raise ValueRangeError(f"{what}: there is no device {kind!r}", hint=f"one of {', '.join(known)}")
    if name not in _drivers and name in _offers:
        try:
            _offers[name]()
        except DeviceError as error:
            raise DeviceError(f"{what}: {kind!r} cannot be used: {error.message}; what can be used here: {', '.join(_drivers)}",
                              hint=error.hint) from None
    if name not in _drivers:
        raise DeviceError(f"{what}: {kind!r} cannot be used: {MISSING[name]}; what can be used here: {', '.join(_drivers)}")
    return name


def device(named: Any, what: str = "device") -> Device:
    """The Device that `named` is or names: "CPU", "GPU:1". raises : as `known_kind`, ValueRangeError for a bad number"""
    if isinstance(named, Device):
        known_kind(named.kind, what)
        return named
    kind, colon, number = named.partition(":") if isinstance(named, str) else (named, "", "")
    kind = known_kind(kind, what)
    if colon and not number.isdecimal():
        raise ValueRangeError(f"{what}: {named!r} names no device", hint=f"{kind}, or {kind}:0")
    return numbered(kind, int(number or 0), what)


def numbered(kind: str, index: int, what: str = "device_id") -> Device:
    """The device of a kind that is here with that number; there is one CPU, whatever the number.

    raises : ValueRangeError if there are not so many
    """
    driver = _drivers[known_kind(kind, what)]
    if driver is None:
        return CPU
    if index >= driver.count:
        raise ValueRangeError(f"{what}: there is no device {kind}:{index}", hint=f"the number is less than {driver.count}")
    return _devices.setdefault((kind, index), Device(kind, index))


def provide(kind: str, driver: Any) -> None:
    """From now on `driver` drives devices of that kind; None: nothing does."""
    with _lock:
        if driver is None:
            _drivers.pop(kind, None)
        else:
            _drivers[kind] = driver
    for tell in listeners:
        tell()


def offer(kind: str, start: Function) -> None:
    """When a device of that kind is asked for first, `start()` calls `provide`, or raises a DeviceError: what is missing."""
    _offers[kind] = start


def driver_of(device: Device) -> Any:
    """What drives a device; None for the CPU, whose memory Python reads."""
    return _drivers[device.kind]


if config.device_target not in MISSING:
    known_kind(config.device_target, "MINDLITE_DEVICE_TARGET")
