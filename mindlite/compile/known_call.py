"""KnownCall: a CallPlan whose sizes are known, in one thread. Its context is filled once; a builtin checks arguments and runs.

    known = KnownCall(plan, [(TENSOR, Tensor, float32, (3,)), ..], sizes);    known.enter(x, y, out)  ->  0

By it run compiled graphs of eager mode, the function that `quick.py` generates, and the machine code whose numbers
`short_plan.py` writes. It compiles nothing.
"""
from __future__ import annotations

import ctypes
import functools
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..backend import python_entry
from ..common.device import Device
from ..common.dim import evaluate
from ..common.storage import DeviceArray, DeviceForm
from . import flow as F
from .call_plan import CallPlan
from .executable import Context, thread_arenas
from .printers import runtime as R

Argument = tuple[int, type, np.dtype, tuple[int, ...], Device | None]
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
BRIEF_KERNELS, BRIEF_BYTES = 8, 1 << 15  # up to which a run without loops is so short that other threads need not run meanwhile


class KnownCall:
    """A CallPlan for arguments of known sizes, in one thread: `enter(*arguments, *new arrays)` checks and runs.

    enter : a builtin; gives 0, python_entry.MISFIT where the arguments are not as expected (nothing has run), or another
            number where the run failed
    made  : [(number of the output, shape, dtype)] of the new arrays
    makers: a function for each, which gives a new one: an ndarray, or a DeviceArray
    """

    def __init__(self, plan: CallPlan, arguments: Sequence[Argument], sizes: Sequence[int],
                 parts: Mapping[int, int] = types.MappingProxyType({})) -> None:
        """arguments: (python_entry.TENSOR or ARRAY, class, dtype, shape, device or None) of each; sizes: the values of
        plan.symbols; parts: {number of a held Tensor that ranks split: number of the argument that is this rank's part}"""
        self.plan, self.executable, self.arenas = plan, plan.executable, thread_arenas()
        self.short: Any = None                               # the ShortPlan of it
        self.context, self.made = Context(self.executable), list[tuple[int, tuple, np.dtype]]()
        self.makers: list[Callable[[], Any]] = []
        env, items, params = dict(zip(plan.symbols, sizes)), [], []
        for n, (kind, index, more, *rest) in enumerate(plan.steps):
            at = Context.param_place(n)
            params.append(0)
            if index is None and kind == "tensor":
                index = parts.get(more)
            if kind == "out":
                shape, device = tuple([evaluate(size, env) for size in rest[0]]), rest[1]
                owner = np.ndarray if device is None else DeviceArray
                number = len(arguments) + len(self.made)
                items.append(python_entry.item(python_entry.ARRAY, number, owner, more, shape, at, device))
                self.made.append((index, shape, more))
                self.makers.append(functools.partial(np.empty, shape, more) if device is None else
                                   DeviceForm(device, shape, more).new)
            elif kind == "size":
                shape = arguments[index][3] if index is not None else plan.held[more].shape
                params[-1] = self.context.array[at] = shape[rest[0]]
            elif index is not None:
                source, owner, dtype, shape, device = arguments[index]
                items.append(python_entry.item(source, index, owner, dtype, shape, at, device))
            else:
                held = plan.held[more]
                items.append(python_entry.item(python_entry.HELD, held.tensor, type(held.tensor), held.dtype, held.shape, at,
                                               held.lies))
        read, unused = {step[1] for step in plan.steps if step[0] == "tensor"}, R.PARAMS - 1     # a slot that nothing reads
        items += [python_entry.item(source, n, owner, dtype, shape, unused, device)  # what the Flow does not read is checked too
                  for n, (source, owner, dtype, shape, device) in enumerate(arguments) if n not in read]
        self.sizes = self.executable.entry_sizes(params)
        layout = self.executable.plan.layout(self.sizes)
        self.peak = layout.peak
        self.elsewhere = bool(layout.elsewhere)              # is there an arena on another device?
        self.count = len(arguments)
        self.replay = Replay(self.context) if self.executable.replays is not None else None
        self.entry = python_entry.Entry(self.executable.address if self.replay is None else self.replay.address,
                                        self.context.address, self.count + len(self.made), items,
                                        self.is_brief([(dtype, shape) for _, _, dtype, shape, _ in arguments]))
        self.enter = self.entry.call
        self.asks_for_memory = not all(self.is_on_host(n) for n in range(len(self.made)))       # of a device
        order = {number: i for i, (number, _, _) in enumerate(self.made)}
        self.order = [order[index] if kind == "param" else -1 for kind, index in plan.results]   # -1 for what is no new array
        self.point_into_arena()

    def is_brief(self, arguments: Iterable[tuple[np.dtype, tuple[int, ...]]]) -> bool:
        """True if a run takes less time than letting other threads run meanwhile. arguments: (dtype, shape) of each"""
        if self.executable.linked.devices:
            return False
        program, made = self.executable.linked.program, [(dtype, shape) for _, shape, dtype in self.made]
        held = [(each.dtype, each.shape) for each in self.plan.held]
        nbytes = self.peak + sum(dtype.itemsize * math.prod(shape) for dtype, shape in (*arguments, *held, *made))
        every = list(F.walk(program.entry.body))
        return nbytes <= BRIEF_BYTES and not any(isinstance(i, (F.While, F.CallFlow)) for i in every) and sum(
            isinstance(i, F.CallKernel) for i in every) <= BRIEF_KERNELS

    def is_on_host(self, number: int) -> bool:
        """True if a new array is an ndarray, not a DeviceArray."""
        return not isinstance(getattr(self.makers[number], "__self__", None), DeviceForm)

    def point_into_arena(self) -> None:
        """Point the context into the thread's arena, which may be another one than before. The ShortPlan gets it too."""
        self.arenas.depth += 1
        try:
            self.context.enter(self.sizes)
        finally:
            self.arenas.depth -= 1
        if self.replay is not None:
            self.replay.addresses = tuple([there.address for there in self.context.elsewhere.values()])
        self.version = self.arenas.version
        if self.short is not None:
            self.short.use_arenas(self.context.buffer, self.version)

    def failure(self) -> BaseException:
        """The exception of the run that has failed."""
        if self.replay is not None and self.replay.error is not None:
            error, self.replay.error = self.replay.error, None
            return error
        error = self.executable.failure(self.context)
        if self.executable.cleans_up:
            self.context.end()
        return error

    def run(self, arrays: Sequence[Any]) -> list[Any] | None:
        """The outputs of the graph as new arrays; None, with nothing run, if the arguments do not fit
        or a run is in progress in this thread. arrays: ndarrays and DeviceArrays. raises : as Executable.run"""
        arenas, made = self.arenas, []
        if arenas.depth >= 0 or self.asks_for_memory and not self.entry.fits(*arrays):
            return None
        if arenas.buffers[0] is not self.context.buffer or arenas.version is not self.version:
            self.point_into_arena()
        for make in self.makers:
            made.append(make())
        status = self.enter(*arrays, *made)
        if status == python_entry.MISFIT:
            return None
        if status:
            raise self.failure()
        if self.executable.cleans_up:
            self.context.end()
        return list(map(made.__getitem__, self.order))       # no frame of Python


class Replay:
    """A run of a Flow that a device captures and replays, as a function of C that a builtin calls like the Flow itself.

    address   : of the function;   addresses: where the context's arenas on devices lie
    error     : what was raised in the run that failed last, and is to be raised by whoever called
    """

    def __init__(self, context: Context) -> None:
        executable, words, start = context.executable, context.array, 8 * R.PARAMS
        run, call = executable.replays.run, functools.partial(executable.entry, context.address)
        key, unpack = executable.replay_key, executable.unpack_params
        self.error: BaseException | None = None
        self.addresses: tuple[int, ...] = ()

        def replayed(_: int) -> int:
            try:
                return run((key(unpack(words, start)), self.addresses), call)
            except BaseException as error:                   # of the driver; a function of C cannot raise it
                self.error = error
                return -2
        self.function = _RUN(replayed)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value
