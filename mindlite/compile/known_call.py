"""KnownCall: a CallPlan whose sizes are known, in one thread. Its context is filled once; a builtin checks arguments and runs.

    known = KnownCall(plan, [(TENSOR, Tensor, float32, (3,)), ..], sizes);    known.enter(x, y, out)  ->  0

By it run compiled graphs of eager mode, the function that `quick.py` generates, and the machine code whose numbers
`short_plan.py` writes. It compiles nothing. A graph of open sizes has one OpenKnownCall, which is aimed at the sizes of each run.
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
from ..common.dim import Dim, Symbol, evaluate
from ..common.recent import Recent
from ..common.storage import DeviceArray, DeviceForm
from . import flow as F
from .call_plan import CallPlan
from .executable import Context, thread_arenas
from .printers import runtime as R

Argument = tuple[int, type, np.dtype, tuple[int, ...], Device | None]
OpenArgument = tuple[int, type, np.dtype, tuple[int | Dim, ...], Device | None]
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
BRIEF_KERNELS, BRIEF_BYTES = 8, 1 << 15  # up to which a run without loops is so short that other threads need not run meanwhile
MAX_SIZES = 256                          # tuples of sizes of which it is remembered what they make of an OpenKnownCall


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
                self.makers.append(maker(more, shape, device))
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
        made, held = [(dtype, shape) for _, shape, dtype in self.made], [(each.dtype, each.shape) for each in self.plan.held]
        return self.peak + sum(dtype.itemsize * math.prod(shape) for dtype, shape in (*arguments, *held, *made)) <= BRIEF_BYTES \
            and self.is_straight

    @functools.cached_property
    def is_straight(self) -> bool:
        """True for a Flow of few kernels on the CPU, without loops."""
        if self.executable.linked.devices:
            return False
        every = list(F.walk(self.executable.linked.program.entry.body))
        return not any(isinstance(i, (F.While, F.CallFlow)) for i in every) and sum(
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


class OpenKnownCall(KnownCall):
    """A KnownCall for all sizes of a CallPlan: `aim` sets those of the runs that follow.

    aimed : the sizes, values of plan.symbols; None while they are being set
    opens : [(the array of sizes of an item, or where those of a device's stand in the entry, its shape with Dims)]
    """

    def __init__(self, plan: CallPlan, arguments: Sequence[OpenArgument], sizes: Sequence[int]) -> None:
        """arguments: of Tensors or arrays as a KnownCall has them, with open shapes"""
        env = dict(zip(plan.symbols, sizes))
        super().__init__(plan, [(kind, owner, dtype, _of_sizes(shape, env), device)
                                for kind, owner, dtype, shape, device in arguments], sizes)
        self.arguments, self.ready = arguments, Recent()
        self.aimed: tuple[int, ...] | None = None
        shapes = [step[3] if step[0] == "out" else () if step[1] is None else arguments[step[1]][3]
                  for step in plan.steps if step[0] != "size"]
        read = {step[1] for step in plan.steps if step[0] == "tensor"}
        shapes += [shape for n, (_, _, _, shape, _) in enumerate(arguments) if n not in read]
        self.opens = [(kept[0] if isinstance(kept[0], np.ndarray) else python_entry.HEAD + n * python_entry.WIDTH + 5, shape)
                      for n, (kept, shape) in enumerate(zip(self.entry.keep[0], shapes)) if not _is_known(shape)]
        self.counts = [(Context.param_place(n), *step[1:]) for n, step in enumerate(plan.steps) if step[0] == "size"]

    def aim(self, sizes: tuple[int, ...]) -> OpenKnownCall:
        """From now on the sizes are these. A run that breaks in meanwhile may set others: its arrays fit no other ones."""
        if sizes != self.aimed:
            shapes, counts, makers, entry_sizes, brief = self.ready.get(sizes) or self.ready.put(
                sizes, self.read(sizes), MAX_SIZES)
            self.aimed, plan, words = None, self.entry.plan, self.context.array
            for (place, _), shape in zip(self.opens, shapes):
                if isinstance(place, int):
                    plan[place] = id(shape)
                else:
                    place[:] = shape
            for (place, *_), size in zip(self.counts, counts):
                words[place] = size
            self.makers, self.sizes, plan[4] = makers, entry_sizes, brief
            self.point_into_arena()
            self.aimed = sizes
        return self

    def read(self, sizes: tuple[int, ...]) -> tuple:
        """What these sizes make of it: (shapes of `opens`, numbers of `counts`, makers, sizes of the Flow's entry, brief)."""
        env, params = dict(zip(self.plan.symbols, sizes)), [0] * len(self.plan.steps)
        given = [(dtype, _of_sizes(shape, env)) for _, _, dtype, shape, _ in self.arguments]
        made = [(step[2], _of_sizes(step[3], env), step[4]) for step in self.plan.steps if step[0] == "out"]
        counts = [given[n][1][axis] if n is not None else self.plan.held[k].shape[axis] for _, n, k, axis in self.counts]
        for (place, *_), size in zip(self.counts, counts):
            params[place - Context.param_place(0)] = size
        entry_sizes = self.executable.entry_sizes(params)
        self.peak = self.executable.plan.layout(entry_sizes).peak
        self.made = [(number, shape, dtype) for (number, *_), (dtype, shape, _) in zip(self.made, made)]
        return ([_of_sizes(shape, env) for _, shape in self.opens], counts, [maker(*each) for each in made], entry_sizes,
                self.is_brief(given))


def maker(dtype: np.dtype, shape: tuple[int, ...], device: Device | None) -> Callable[[], Any]:
    """The function that gives a new array of the host, or a device's."""
    return functools.partial(np.empty, shape, dtype) if device is None else DeviceForm(device, shape, dtype).new


def _of_sizes(shape: Iterable[int | Dim], env: dict[Symbol, int]) -> tuple[int, ...]:
    return tuple([size if type(size) is int else evaluate(size, env) for size in shape])


def _is_known(shape: Iterable[int | Dim]) -> bool:
    return all(type(size) is int for size in shape)


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
