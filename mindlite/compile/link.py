"""Numbers for everything a printed Flow refers to: places that may fail, kernels, handles.

A *place* is an instruction that may stop the run or call Python; its number is what generated code stores when it
fails, so all printers fail with the same error. Handles whose sizes are known on entry stand in the instance's table
behind the storages.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..backend.kernel import Kernel
from ..common.device import Device, driver_of
from ..common.dim import Symbol, symbols_of
from ..common.dtype import ALL
from ..common.lazy import LazyAttributes
from ..common.storage import upload
from . import flow as F
from .flow_verify import verify as verify_program
from .memory import MemoryPlan, Site

Kinds = tuple[str, ...]        # of registers
DEVICE_ARGS = 5                # numbers that go before a kernel's to a device, at most
_PLACES = (F.Check, F.Exact, F.CallKernel, F.PythonSegment, F.Handle, F.Alloc, F.TapeNew, F.TapePush, F.TapePop,
           F.Output, F.CallFlow)


class Linked:
    """A planned program with its numbers.

    program, plan : what `memory.plan` gave
    verify        : poison and trace
    places        : the instructions that may fail, by number; `place(instruction)` is the number
    returns       : the kinds of what the entry returns;   outputs: how many places Outputs need
    kernels       : the kernels, each once; `kernel_number(kernel)`
    arrays        : the constant arrays, each once on each device; `array_number(array, device)`
    devices       : the devices other than the CPU; `device_number(device)`
    handles       : [Handle] made once per instance; `table_index(handle)` is its place in the table, None if made on
    the way
    segments      : {place: (instruction, kinds that it reads, kinds that it writes)} of those that call Python
    recursive     : True if any Flow calls one;   frame_bytes: about what one call takes of the stack, at most
    cleans_up     : True if a run leaves something that has to be freed
    """

    def __init__(self, program: F.Program, plan: MemoryPlan, verify: bool) -> None:
        self.program, self.plan, self.verify = program, plan, verify
        self.places: list[Any] = []                      # Instructions, each of its class
        self._place: dict[int, int] = {}
        self._kinds: list[tuple[Kinds, Kinds]] = []
        self.dtypes = {d.name: d for d in ALL}
        self.kernels: list[Kernel] = []
        self._kernel: dict[int, int] = {}
        self.arrays: list[Any] = []
        self._array: dict[tuple[int, Device | None], int] = {}
        self.handles: list[F.Handle] = []
        self._handle: dict[int, int] = {}
        self.allocs: dict[tuple[str, int], F.Alloc] = {}
        self.segments: dict[int, tuple[Any, Kinds, Kinds]] = {}
        self.recursive = self.cleans_up = False
        self.devices = F.devices_of(program)
        self.returns, self.outputs, symbols = program.entry.returns, 0, set(plan.symbols)
        self.frame_bytes = max(512 + 16 * (len(f.kinds) + self.scratch(f)) for f in program.all_flows())
        for flow in program.all_flows():
            for i in F.walk(flow.body):
                self._add(flow, i, symbols)

    def _add(self, flow: F.Flow, i: F.Instruction, symbols: set[Symbol]) -> None:
        if self.is_place(i) and id(i) not in self._place:
            self._place[id(i)] = len(self.places)
            self.places.append(i)
            self._kinds.append((tuple(flow.kinds[r] for r in i.reads), tuple(flow.kinds[r] for r in i.writes)))
        if isinstance(i, F.CallKernel) and id(i.kernel) not in self._kernel:
            self._kernel[id(i.kernel)] = len(self.kernels)
            self.kernels.append(i.kernel)
        if isinstance(i, F.Data) and (id(i.array), i.device) not in self._array:
            self._array[id(i.array), i.device] = len(self.arrays)
            self.arrays.append(i.array if i.device is None else upload(i.array, i.device))
        if isinstance(i, F.Alloc):
            self.allocs[flow.name, i.dst] = i
        if isinstance(i, F.Handle):
            if flow is self.program.entry and i.dims is not None and all(symbols_of(d) <= symbols for d in i.dims):
                self._handle[id(i)] = len(self.handles)
                self.handles.append(i)
            else:
                self._add_segment(i)
        if isinstance(i, F.Output):
            self.outputs = max(self.outputs, i.index + 1)
        self.recursive |= isinstance(i, F.CallFlow)
        if isinstance(i, F.PythonSegment):
            self._add_segment(i)
        self.cleans_up |= isinstance(i, F.TapeNew) or (
            isinstance(i, F.Alloc) and not self.plan.sites[flow.name, i.dst].planned)

    def _add_segment(self, i: F.Instruction) -> None:
        number = self._place[id(i)]
        self.segments[number] = i, *self._kinds[number]

    @property
    def has_python(self) -> bool:
        """True if a run may call Python."""
        return bool(self.segments)

    @property
    def has_others_code(self) -> bool:
        """True if a run may call Python code that does more than compute, as an operator's NumPy does."""
        return any(isinstance(i, F.PythonSegment) and not i.pure for i, *_ in self.segments.values())

    def run_needs(self) -> dict[str, Any]:
        """What is asked for to run it, beside its machine code: attributes by name."""
        return {name: getattr(self, name) for name in (
            "returns", "outputs", "kernels", "arrays", "handles", "segments", "recursive", "cleans_up", "frame_bytes",
            "devices")}

    @staticmethod
    def is_place(instruction: F.Instruction) -> bool:
        """True for an instruction that may fail or call Python."""
        return isinstance(instruction, _PLACES) or isinstance(instruction, F.Copy) and instruction.device is not None

    def place(self, instruction: F.Instruction) -> int:
        """The number of an instruction that may fail."""
        return self._place[id(instruction)]

    def kernel_number(self, kernel: Kernel) -> int:
        """The number of a kernel."""
        return self._kernel[id(kernel)]

    def array_number(self, array: np.ndarray, device: Device | None = None) -> int:
        """The number of a constant array on a device."""
        return self._array[id(array), device]

    def device_number(self, device: Device) -> int:
        """The number of a device other than the CPU."""
        return self.devices.index(device)

    def array_address(self, number: int) -> int:
        """Where a constant array lies, on its device."""
        array = self.arrays[number]
        return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else array.address

    def addresses(self) -> list[int]:
        """The addresses of the kernels, then of the constant arrays, then of what runs the devices."""
        return [*(kernel.address for kernel in self.kernels), *[self.array_address(x) for x in range(len(self.arrays))],
                *(driver_of(device).entry(device.index) for device in self.devices)]

    def table_index(self, handle: F.Handle) -> int | None:
        """Where the table holds the handle; None if it is made on the way."""
        number = self._handle.get(id(handle))
        return None if number is None else 2 * len(self.plan.storages) + number

    def alloc_of(self, flow: F.Flow, register: int) -> F.Alloc:
        """The Alloc of a register."""
        return self.allocs[flow.name, register]

    def site(self, flow: F.Flow, register: int) -> Site:
        """The memory Site of an Alloc."""
        return self.plan.sites[flow.name, register]

    def scratch(self, flow: F.Flow) -> int:
        """The most numbers that one instruction of the flow hands over at once."""
        most = 1
        for i in F.walk(flow.body):
            if isinstance(i, F.Alloc):
                most = max(most, len(self.site(flow, i.dst).avoid))
            most = max(most, len(i.reads), len(i.writes))
        return most + (DEVICE_ARGS if self.devices else 0)

    def kinds_of(self, place: int) -> tuple[Kinds, Kinds]:
        """(kinds of what the instruction at that place reads, kinds of what it writes)."""
        return self._kinds[place]


class KeptLinked(LazyAttributes, Linked):
    """The Linked of a program from the disk. The result of `run_needs` is stored with
    it; the program is verified and walked only on demand."""

    def __init__(self, program: F.Program, plan: MemoryPlan, verify: bool, needs: dict[str, Any]) -> None:
        def find():
            verify_program(program)
            return vars(Linked(program, plan, verify))
        super().__init__(find, program=program, plan=plan, verify=verify, **needs)
