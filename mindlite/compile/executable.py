"""Executable: a Program that runs. Parameters in, results out; everything in between is machine code.

    executable = Executable(program)                      # printer: config.printer
    values, outputs = executable.run([x.ctypes.data, out.ctypes.data, 1024])

A run works with a Context: one vector of i64 that holds the parameters, the results, and what `printers/runtime.py`
needs. Each thread keeps its own contexts, and a run inside a run (from a PythonSegment) takes another one, so runs
never share memory. A thread has one arena for each depth of runs, which grows to the largest instance seen; an
*instance* is a tuple of entry sizes, and its table of addresses and handles is made once.
"""
from __future__ import annotations

import ctypes
import itertools
import mmap
import operator
import os
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from ..backend.kernel import Kernel
from ..backend.launcher import default_threads
from ..common.config import config
from ..common.device import FAILED, Device, driver_of
from ..common.dim import evaluate
from ..common.errors import (InexactError, InternalError, MindliteError, Passed, RankError, Signal, ValueRangeError, fault,
                             user_location)
from ..common.tracebacks import passed_through
from ..common.events import emit
from ..common.location import Location
from ..common.recent import Recent
from ..common.storage import Buffer, adopted
from . import flow as F
from .flow_verify import verify as verify_program
from .hoist import hoist_checks
from .captured import key_of, replays_of
from .link import KeptLinked, Linked
from .memory import ALIGNMENT, MemoryPlan, plan
from .printers import runtime as R
from .printers.native import compile_native, native_ir
from .printers.python import from_bits, load_python, print_python, to_bits
from .printers.vm import load_vm, print_vm
from .printers.vm_file import read_vm, save_vm
from .python_calls import OpenWindow, PythonCall, ReadWindow, is_operator

STACK = 4 << 20               # bytes that calls of Flows may take of the machine's stack
WORTH_TOUCHING = 16 << 20     # bytes of an arena that a thread of its own touches
MAX_HANDLES, FEWEST = 1024, 16  # handles of library kernels that a context remembers; tuples of sizes of which it does anyway
_NUMBERS = ctypes.POINTER(ctypes.c_int64)
_SEGMENT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, _NUMBERS, _NUMBERS)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
Numbers = Union[ctypes.Array, ctypes._Pointer]                          # of int64
_contexts: weakref.WeakValueDictionary[int, Context] = weakref.WeakValueDictionary()  # by address, for the Python printer


class Executable:
    """A Program, planned, linked and printed.

    program : flow.Program; verified, its early checks hoisted, its storage planned
    printer : "native", "vm" or "python"; by default config.printer
    verify  : poison dead storage and keep a trace; by default config.verify
    plan    : the MemoryPlan;   trace: with verify, the allocation events of the latest run:
              ("alloc" or "kill", number of the storage, offset in the arena or -1, bytes)
    raises  : InternalError if the program is not well formed
    """

    def __init__(self, program: F.Program, printer: str | None = None, verify: bool | None = None) -> None:
        verify_program(program)
        planned, memory = plan(hoist_checks(program))
        if not memory.symbols:                           # while kernels are still being compiled
            _threads.arenas.touch(memory.layout(()).peak)
        self._start(Linked(planned, memory, config.verify if verify is None else verify), printer or config.printer)

    @classmethod
    def restored(cls, program: F.Program, memory: MemoryPlan, needs: dict[str, Any], file: str | None,
                 printer: str | None) -> Executable:
        """The Executable of a program that another process has made.

        program, memory, needs, file: `linked.program`, `plan`, `linked.run_needs()` and `object_file` there
        """
        self = cls.__new__(cls)
        self._start(KeptLinked(program, memory, config.verify, needs), printer or config.printer, file=file)
        return self

    def _start(self, linked: Linked, printer: str, file: str | None = None) -> None:
        self.linked, self.printer, self.plan = linked, printer, linked.plan
        self.name = linked.program.entry.name
        self.places: dict[int, int] = {}
        self.entry: Callable[[int], int]
        if printer == "native":
            self.address, self._keep, self.places = compile_native(linked, file)
            self.entry = _RUN(self.address)
        elif printer == "vm":
            address, self._keep, self.places = load_vm(linked)
            self.entry = _RUN(address)
        elif printer == "python":
            self.entry = load_python(linked, _contexts.__getitem__)
        else:
            raise ValueRangeError(f"there is no printer {printer!r}", hint="one of native, vm, python")
        entry = linked.program.entry
        kinds = ["d" if entry.kinds[p.register] == "f64" else "q" for p in entry.params]
        self._pack = struct.Struct("=" + "".join(kinds))
        self._unpack = struct.Struct("=" + "".join("d" if kind == "f64" else "q" for kind in linked.returns))
        self._results_at = 8 * (R.PARAMS + len(entry.params))
        order = {p.register: n for n, p in enumerate(entry.params)}
        self.entry_sizes = _getter([order[register] for register in entry.symbols.values()])
        self.output_count = linked.outputs
        self._specs = {spec.index: spec for spec in linked.program.outputs}
        self._local = threading.local()
        self.cleans_up, self._elsewhere = linked.cleans_up, bool(linked.devices)
        self.trace: list[tuple[str, int, int, int]] = []
        self.unpack_params = self._pack.unpack_from
        self.replays: Any = replays_of(linked) if self._elsewhere and printer == "native" else None
        if self.replays is not None:
            self.replay_key = key_of(linked.program, linked.devices[0])

    @property
    def object_file(self) -> str | None:
        """The name of its machine code on the disk; None where it is not cached."""
        return self._keep[0].file if self.printer == "native" else None

    def source(self) -> str:
        """The program as this printer writes it: LLVM IR, the table in words, or Python."""
        return {"native": native_ir.print_native, "vm": print_vm, "python": print_python}[self.printer](self.linked)

    def run(self, params: Sequence[int | float]) -> tuple[tuple[int | float, ...], dict[int, Any]]:
        """Run once.

        params : pointers and ints as int, floats as float, in the order of the entry's params
        out    : (the returned values, {index: array} of the Outputs: of the dtype and dims in the program's OutputSpec,
                 else the bytes as uint8)
        raises : the error of the Check that failed; InexactError; what a PythonSegment raised, unchanged; RecursionError;
                 MemoryError; InternalError where a kernel reports a failure
        """
        try:
            free = self._local.free
        except AttributeError:
            free = self._local.free = []
        context = free.pop() if free else Context(self)
        arenas = _threads.arenas
        arenas.depth += 1
        try:
            self._pack.pack_into(context.array, 8 * R.PARAMS, *params)
            sizes = self.entry_sizes(params)
            if sizes != context.sizes or context.buffer is not arenas.buffers[arenas.depth] or self._elsewhere or \
                    len(context.handles) > MAX_HANDLES:
                context.enter(sizes)
            context.called_python = False
            if self.entry(context.address) if self.replays is None else self._replayed(context, params):
                raise self.failure(context)
            outputs = context.take_outputs() if self.output_count else {}
            return self.results(context), outputs
        finally:
            arenas.depth -= 1
            if self.cleans_up or context.traces:
                context.end()
            free.append(context)

    def _replayed(self, context: Context, params: Sequence[int | float]) -> int:
        """The status of a run of a straight Flow on a device, which may be a replay of an earlier one."""
        addresses = tuple([there.address for there in context.elsewhere.values()])
        return self.replays.run((self.replay_key(params), addresses), lambda: self.entry(context.address))

    def results(self, context: Context) -> tuple[int | float, ...]:
        """What the entry returned in the run of a context, a tuple."""
        return self._unpack.unpack_from(context.array, self._results_at)

    def save(self, path: str | os.PathLike) -> None:
        """Write the program to a file that `load` runs without a compiler; see printers/vm_file.py."""
        save_vm(self.linked, path)

    @classmethod
    def load(cls, path: str | os.PathLike, kernels: Mapping[str, Kernel]) -> Executable:
        """The Executable in a file that `save` wrote, run by the register machine. kernels: {name: Kernel} it calls."""
        self = cls.__new__(cls)
        self._start(read_vm(path, kernels), "vm")
        return self

    def failure(self, context: Context) -> BaseException:
        """The exception for what the context says of the failed run."""
        error, again = self._error(context)
        _threads.ending = Ending(id(error), again, context.called_python)
        return error

    def _error(self, context: Context) -> tuple[BaseException, bool]:
        """(the exception, whether Python is to make the call again)"""
        place, status = int(context.array[R.FAIL_SITE]), int(context.array[R.FAIL_STATUS])
        if context.error is not None:
            error, context.error = context.error, None
            return passed_through(error, getattr(getattr(self.linked.places[place], "origin", None), "location", None)), False
        if place < 0:
            return MemoryError(f"{self.name}: no memory for the registers of a call"), False
        instruction = self.linked.places[place]
        location = getattr(getattr(instruction, "origin", None), "location", None)
        device = getattr(instruction, "device", None)
        if device is not None and status == FAILED:
            return passed_through(driver_of(device).failure(device.index), location), False
        if isinstance(instruction, F.Exact) or getattr(instruction, "message", None) == F.INEXACT:
            error = InexactError(F.INEXACT, location=location,
                                 hint="compute it with floats or Tensors, or outside of the compiled function")
            return error, True
        if isinstance(instruction, F.Check):
            kinds = self.linked.kinds_of(place)[0][1:]
            values = [from_bits(context.words[R.FAIL_VALUES + n], kind) for n, kind in enumerate(kinds)]
            message = instruction.message
            error = message(*values) if callable(message) else ValueRangeError(message.format(*values))
            if isinstance(error, MindliteError):
                error.at(location)
            elif not error.__traceback__:
                passed_through(error, location)
            return error, instruction.again
        return self._failed(instruction, status, context, location), False

    def _failed(self, instruction: F.Instruction, status: int, context: Context, location: Location | None) -> Exception:
        """The exception of an instruction that reports a failure of its own."""
        if isinstance(instruction, F.CallKernel):
            texts = instruction.kernel.errors
            text = texts[status - 1] if 0 < status <= len(texts) else f"status {status}"
            if callable(text):
                return text().at(location)
            return InternalError(f"the kernel {instruction.kernel.name} failed: {text}").at(location)
        if isinstance(instruction, F.CallFlow):
            name = instruction.flow.rpartition(".")[0] or instruction.flow
            text = f"maximum recursion depth exceeded: {name} calls itself more than {context.limit} times"
            return passed_through(RecursionError(text), location)
        if isinstance(instruction, F.TapePop):
            return InternalError(f"{self.name}: a tape is popped more often than it was pushed")
        if isinstance(instruction, F.Alloc) and any(s.register == instruction.dst for s in self.plan.storages):
            return InternalError(f"{self.name}: %{instruction.dst} asks for more bytes than were planned")
        if isinstance(instruction, F.PythonSegment):
            return InternalError(f"{self.name}: a call of Python did not come back", stage="run").at(location)
        return MemoryError(f"{self.name}: no memory for {type(instruction).__name__}")


def _getter(positions: list[int]) -> Callable[[Sequence[Any]], tuple]:
    """params -> tuple of those at the positions."""
    if len(positions) > 1:
        return operator.itemgetter(*positions)
    if positions:
        position, = positions
        return lambda params: (params[position],)
    return lambda params: ()


class Arenas:
    """The arenas of a thread, one for each depth of runs inside runs; every Executable uses them, each at its time.

    touched : (thread, a byte of each page) while a thread touches the newest arena
    version : another object each time that an arena of another device is another one
    """
    __slots__ = ("depth", "buffers", "touched", "elsewhere", "version")

    def __init__(self) -> None:
        self.depth = -1
        self.touched: tuple[threading.Thread, np.ndarray] | None = None
        self.buffers: list[np.ndarray | None] = [None]
        self.elsewhere: dict[tuple[Device, int], Buffer] = {}          # by device and depth
        self.version = object()

    def on(self, device: Device, nbytes: int) -> Buffer:
        """The Buffer that is the arena of the current depth on another device, grown to nbytes."""
        found = self.elsewhere.get((device, self.depth))
        if found is None or found.nbytes < nbytes + ALIGNMENT or found.driver is not driver_of(device):
            found = self.elsewhere[device, self.depth] = Buffer(device, nbytes + ALIGNMENT)
            self.version = object()
        return found

    def touch(self, nbytes: int) -> None:
        """Have a thread touch the arena of the next run while Python goes on, where that run needs a larger one.

        The first touch of memory costs the system more than the work of a first run does: it clears each page, and a virtual
        machine's host finds one. NumPy gives its lock back meanwhile.
        """
        buffer = self.buffers[self.depth + 1]
        if nbytes < WORTH_TOUCHING or buffer is not None and buffer.size >= nbytes + ALIGNMENT or self.touched is not None \
                or default_threads() < 2:
            return
        try:
            buffer = np.empty(nbytes + ALIGNMENT, np.uint8)
        except MemoryError:                              # the run says so, if it comes
            return
        self.buffers[self.depth + 1], pages = buffer, buffer[::mmap.PAGESIZE]
        thread = threading.Thread(target=pages.fill, args=(0,), daemon=True)
        thread.start()
        self.touched = thread, pages

    def at_least(self, nbytes: int) -> np.ndarray:
        """The arena of the current depth, grown to nbytes; a larger one is another array."""
        if self.touched is not None:
            thread, pages = self.touched
            pages[::-1].fill(0)                          # who waits begins at the other end; a touched page costs nothing
            thread.join()
            self.touched = None
        buffer = self.buffers[self.depth]
        if buffer is None or buffer.size < nbytes + ALIGNMENT:
            buffer = self.buffers[self.depth] = np.empty(nbytes + ALIGNMENT, np.uint8)
        if len(self.buffers) <= self.depth + 1:
            self.buffers.append(None)
        return buffer


class Ending(NamedTuple):
    """How a run ended with an exception.

    error : its id;    again: it met what compiled code does not know, so Python, which sees the values, is to say;
    begun : it had called Python, so that something may have happened
    """
    error: int
    again: bool
    begun: bool


def as_raised(error: BaseException) -> BaseException:
    """What to raise for an exception out of a run: itself, if the run has ended with it; else it is a fault."""
    expected = isinstance(error, (MindliteError, Signal, MemoryError)) or ending_of(error) is not None
    return error if expected else fault(error, "run", user_location)


class _Threads(threading.local):
    def __init__(self) -> None:
        self.arenas, self.ending = Arenas(), Ending(0, False, False)


_threads = _Threads()


def ending_of(error: BaseException) -> Ending | None:
    """How a run of this thread ended with `error`, which was just caught: an Ending; None if no run did."""
    found = _threads.ending
    return found if found.error == id(error) else None


def thread_arenas() -> Arenas:
    """The arenas of this thread."""
    return _threads.arenas


class Context:
    """The memory of one run at a time: the vector, the table of each instance, the arena that the tables point into."""

    def __init__(self, executable: Executable) -> None:
        linked, entry = executable.linked, executable.linked.program.entry
        self.executable, self.linked = executable, linked
        self.array: Any = np.zeros(R.PARAMS + len(entry.params) + len(linked.returns) + 1, np.int64)
        self.address = self.array.ctypes.data
        self.words = self.array.data                     # the same numbers, read and written as Python's
        self.instances = Recent()
        self.sizes: tuple[int, ...] | None = None
        self.current: Any = None
        self.buffer: np.ndarray | None = None
        self.handles: dict[tuple[int, tuple[int, ...]], Any] = {}
        self.elsewhere: dict[Device, Buffer] = {}
        self.error: BaseException | None = None
        self.traces, self.called_python = linked.verify, False
        self.runtime = R.runtime()
        self.limit = min(sys.getrecursionlimit(), STACK // linked.frame_bytes)
        self.array[R.LIMIT], self.array[R.VERIFY] = self.limit, linked.verify
        if linked.has_python:
            self._callback = _SEGMENT(_segment_of(weakref.ref(self)))
            self.array[R.CALLBACK] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        if executable.output_count:
            self.outputs = np.zeros((executable.output_count, R.OUTPUT_RECORD), np.int64)
            self.array[R.OUTPUTS] = self.outputs.ctypes.data
        for place, number in executable.places.items():
            self.array[place] = number
        weakref.finalize(self, _free_context, self.array, self.address, getattr(self, "outputs", None))
        _contexts[self.address] = self

    def enter(self, sizes: tuple[int, ...]) -> None:
        """Make the instance of these entry sizes the current one; those that came last are remembered."""
        if len(self.handles) > MAX_HANDLES:             # of sizes that data decides
            self.handles.clear()
        layout = self.linked.plan.layout(sizes)
        buffer = _threads.arenas.at_least(layout.peak)
        if buffer is not self.buffer:                   # other addresses: no table holds any longer
            self.instances.clear()
            self.buffer = buffer
            self.array[R.ARENA] = -(-buffer.ctypes.data // ALIGNMENT) * ALIGNMENT
        bases: dict[Device | None, int] = {None: int(self.array[R.ARENA])}
        for device, peak, _ in layout.elsewhere:
            there = _threads.arenas.on(device, peak)
            if there is not self.elsewhere.get(device):
                self.instances.clear()
                self.elsewhere[device] = there
            bases[device] = -(-there.address // ALIGNMENT) * ALIGNMENT
        found = self.instances.find(sizes)
        if found is None:
            numbers = []
            for storage, offset, size in zip(self.linked.plan.storages if layout.elsewhere else itertools.repeat(None),
                                             layout.offsets, layout.sizes):
                numbers += [bases[storage.device if storage else None] + offset, size]
            env = dict(zip(self.linked.plan.symbols, sizes))
            handles = [h.kernel.prepare(tuple([evaluate(d, env) for d in h.dims or ()])) for h in self.linked.handles]
            numbers += [handle.address for handle in handles]
            most = min(self.linked.plan.most, max(FEWEST, MAX_HANDLES // (len(handles) or 1)))
            found = self.instances.put(sizes, (np.array(numbers or [0], np.int64), handles), most)
            emit("instance", name=self.executable.name, sizes=sizes)
        self.current, self.sizes = found[0], sizes
        self.array[R.TABLE] = found[0].ctypes.data

    def handle(self, kernel: Kernel, sizes: tuple[int, ...]) -> int:
        """The address of what kernel.prepare makes for these sizes, which data has decided."""
        key = (id(kernel), sizes)
        if key not in self.handles:
            self.handles[key] = kernel.prepare(sizes)
        return self.handles[key].address

    def table(self, index: int) -> int:
        """A number of the current instance's table."""
        return int(self.current[index])

    @staticmethod
    def param_place(number: int) -> int:
        """Where a parameter stands in the vector."""
        return R.PARAMS + number

    def params(self) -> tuple[int | float, ...]:
        """The parameters of the current run."""
        return self.executable._pack.unpack_from(self.array, 8 * R.PARAMS)

    def segment(self, place: int, args: Numbers, results: Numbers) -> int:
        """Call the Python function of a place: 0, or 1 if it raised; the exception is kept for the end of the run."""
        instruction, reads, writes = self.linked.segments[place]
        try:
            values: list[Any] = [from_bits(args[n], kind) for n, kind in enumerate(reads)]
            if isinstance(instruction, F.Handle):
                given: Any = (self.handle(instruction.kernel, tuple(values)),)
            else:
                self.called_python |= not instruction.pure
                given = instruction.function(*values)
                given = () if not writes else (given,) if len(writes) == 1 and not isinstance(given, tuple) else given
            if len(given) != len(writes):
                raise InternalError(f"a Python segment gave {len(given)} values for {len(writes)} registers")
            for n, (value, kind) in enumerate(zip(given, writes)):
                results[n] = to_bits(float(value)) if kind == "f64" else int(value)
        except Passed as passed:
            self.error = passed.error
            return 1
        except BaseException as error:
            if isinstance(error, RankError) and is_operator(instruction.function):
                error.location = getattr(instruction.origin, "location", None) or error.location     # not that of the call
            ours = isinstance(error, Exception) and not isinstance(error, MindliteError) and (
                isinstance(instruction, F.Handle) or isinstance(instruction.function, (PythonCall, OpenWindow, ReadWindow)))
            self.error = fault(error, "run", lambda: getattr(instruction.origin, "location", None)) if ours else error
            return 1
        return 0

    def take_outputs(self) -> dict[int, Any]:
        """{index: array} of the Outputs of this run; the arrays own their memory."""
        taken: dict[int, Any] = {}
        for index, record in enumerate(self.outputs):
            pointer, nbytes, ndims = (int(n) for n in record[:3])
            if not pointer:
                continue
            record[0] = 0
            dims = tuple(int(n) for n in record[3:3 + ndims])
            array: Any = np.asarray(_NativeMemory(pointer, nbytes))
            spec = self.executable._specs.get(index)
            if spec is not None and spec.dtype is not None:
                if spec.device is None:
                    array = array.view(spec.dtype.numpy).reshape(dims)
                else:                                        # the bytes are the address of what lies there
                    array = adopted(spec.device, int(np.frombuffer(array, np.int64)[0]), dims, spec.dtype.numpy)
            taken[index] = array
        return taken

    def end(self) -> None:
        """Free what the run left, hand over its trace, and give back a pool that is much larger than was needed."""
        array = self.array
        if self.traces:
            length = int(array[R.TRACE_LENGTH])
            events = (ctypes.c_int64 * (4 * length)).from_address(int(array[R.TRACE])) if length else ()
            names = ("kill", "alloc")
            self.executable.trace = [(names[a], b, c, d) for a, b, c, d in itertools.zip_longest(*[iter(events)] * 4)]
            array[R.TRACE_LENGTH] = 0
        self.runtime.rt_end(self.address)
        for device in self.linked.devices:
            driver_of(device).end_run(device.index, self.address)
        words = self.words
        words[R.DEPTH] = 0
        if words[R.POOL_TOTAL] > 2 * words[R.POOL_PEAK] + (1 << 20):
            self.runtime.rt_clear(self.address)
        words[R.POOL_PEAK] = 0


def _segment_of(context: Callable[[], Any]) -> Callable[[int, Numbers, Numbers], int]:
    """The callback of a context, a weak reference, without keeping it alive."""
    return lambda place, args, results: context().segment(place, args, results)


class _NativeMemory:
    """malloc'ed bytes as an array; freed when no array uses them."""

    def __init__(self, pointer: int, nbytes: int) -> None:
        self.__array_interface__ = {"data": (pointer, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}
        weakref.finalize(self, _free, pointer)


_free = ctypes.CFUNCTYPE(None, ctypes.c_int64)(R.c_address("free"))


def _free_context(array: np.ndarray, address: int, outputs: np.ndarray | None) -> None:
    """Give back the native memory of a context that nobody uses any more."""
    shared = R.runtime()
    shared.rt_end(address)
    shared.rt_clear(address)
    _free(int(array[R.TRACE]))
    if outputs is not None:
        for record in outputs:
            _free(int(record[0]))
