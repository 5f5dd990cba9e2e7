"""Calls of NVIDIA's libraries out of a Flow: what is decided once for some sizes, as a list of calls that machine code makes.

    kernel = called(driver, "cublasLt", name, plan)            plan(gpu, loaded, sizes, keep) -> [Call, ..]

A Flow launches such a Kernel like all others. Its first word is the address of a Handle (`Kernel.prepare`), which has for each
device the functions to call and their arguments: numbers, pointers of the launch, the stream. When it is launched first on
a device, Python makes the plan: descriptors, the algorithm that the library advises, room to work in. From then on machine code
(`driver_code`) makes the calls.
"""
from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np

from ...common.events import emit
from ...common.records import dataclass
from ..kernel import Kernel
from . import nvidia

MOST_HANDLES = 4096                                          # of a kernel that are remembered
MOST = 16                                                    # arguments of a call
NUMBER, POINTER, PLACE, STREAM = range(4)                    # kinds of arguments
WIDTH = 2 + 2 * MOST                                         # words of a call: function, library, then kinds and values


@dataclass(frozen=True)
class Given:
    """The pointer number `index` that the launch is given, and so many bytes behind."""
    index: int
    offset: int = 0


@dataclass(frozen=True)
class WhereGiven:
    """The address at which the pointer number `index` of the launch stands."""
    index: int


class _Stream:
    """Stands for the stream of the device."""


THE_STREAM = _Stream()
Argument = Union[int, Given, WhereGiven, _Stream]


@dataclass(frozen=True)
class Call:
    """A call of a function: name, arguments."""
    function: str
    args: Sequence[Argument]


class Handle:
    """What a launch finds in its first word, for one tuple of sizes. address: of (device + 1, calls, how many)

    plan : (gpu, sizes, keep) -> [Call, ..]; what `keep` is given lives as long as the Handle
    """

    def __init__(self, driver: Any, name: str, library: str, plan: Callable[..., list[Call]], sizes: tuple) -> None:
        self.driver, self.name, self.library, self.plan, self.sizes = driver, name, library, plan, sizes
        self.made: dict[int, np.ndarray] = {}
        self.kept: list = []
        self.words = np.zeros(3, np.int64)
        self.address = self.words.ctypes.data
        driver.handles[self.address] = self

    def ready_for(self, gpu: Any) -> None:
        """Make the plan for a device, where there is none, and let the words be those of this device."""
        if gpu.index not in self.made:
            loaded = self.driver.library_of(self.library)
            calls = self.plan(gpu, loaded, self.sizes, self.kept.append)
            self.made[gpu.index] = np.array([self._words(loaded, call) for call in calls], np.int64).reshape(-1, WIDTH)
            emit("library_plan", name=self.name, library=self.library, sizes=self.sizes)
        made = self.made[gpu.index]
        self.words[:] = gpu.index + 1, made.ctypes.data, len(made)

    def _words(self, loaded: nvidia.Loaded, call: Call) -> list[int]:
        """The words of a call."""
        addresses, number = loaded.addresses, self.driver.library_number(loaded.name)
        if call.function not in addresses:                   # one of the driver's
            addresses, number = self.driver.library.addresses, 0
        words = [addresses[call.function], number]
        for arg in call.args:
            words += _words_of(arg)
        return words + [NUMBER, 0] * (MOST - len(call.args))


def _words_of(arg: Argument) -> list[int]:
    """Kind and value of an argument; of a pointer the kind has its number, too."""
    if isinstance(arg, Given):
        return [POINTER | arg.index << 8, arg.offset]
    if isinstance(arg, WhereGiven):
        return [PLACE | arg.index << 8, 0]
    return [STREAM, 0] if isinstance(arg, _Stream) else [NUMBER, arg]


def called(driver: Any, name: str, library: str, plan: Callable[..., list[Call]], why: str) -> Kernel:
    """The Kernel that a library does. Each thread has Handles of its own, remembered: a call may write into a description."""
    handles: dict[tuple, Handle] = {}

    def prepare(sizes: tuple) -> Handle:
        key = threading.get_ident(), *(int(size) for size in sizes)
        if key not in handles:
            if len(handles) >= MOST_HANDLES:
                handles.clear()
            handles[key] = Handle(driver, name, library, plan, key[1:])
        return handles[key]
    return Kernel(name, driver.calls_libraries, why, "GPU", prepare=prepare, why=why)


class Kept:
    """An object of a library's: destroyed when nobody uses it."""

    def __init__(self, loaded: nvidia.Loaded, destroy: str, handle: int) -> None:
        self.handle = handle
        weakref.finalize(self, loaded.functions[destroy], handle)


def host_number(kind: Any, value: Any, keep: Callable[[Any], None]) -> int:
    """The address of a number in the CPU's memory."""
    number = kind(value)
    keep(number)
    return ctypes.addressof(number)
