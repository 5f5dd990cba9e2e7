"""KnownCall: a CallPlan whose sizes are known, in one thread. Its context is filled once; a builtin checks arguments and runs.

    known = KnownCall(plan, [(TENSOR, Tensor, float32, (3,)), ..], sizes);    known.enter(x, y, out)  ->  0

By it run compiled graphs of eager mode, the function that `quick.py` generates, and the machine code whose numbers
`short_plan.py` writes. It compiles nothing.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..backend import python_entry
from ..common.dim import evaluate
from . import flow as F
from .call_plan import CallPlan
from .executable import Context, thread_arenas
from .printers import runtime as R

BRIEF_KERNELS, BRIEF_BYTES = 8, 1 << 15  # up to which a run without loops is so short that other threads need not run meanwhile


class KnownCall:
    """A CallPlan for arguments of known sizes, in one thread: `enter(*arguments, *new arrays)` checks and runs.

    enter : a builtin; gives 0, python_entry.MISFIT where the arguments are not as expected (nothing has run), or another
            number where the run failed
    made  : [(number of the output, shape, dtype)] of the new arrays
    """

    def __init__(self, plan: CallPlan, arguments: Sequence[tuple[int, type, np.dtype, tuple[int, ...]]],
                 sizes: Sequence[int]) -> None:
        """arguments: (python_entry.TENSOR or ARRAY, class, dtype, shape) of each; sizes: the values of plan.symbols"""
        self.plan, self.executable, self.arenas = plan, plan.executable, thread_arenas()
        self.short: Any = None                               # the ShortPlan of it
        self.context, self.made = Context(self.executable), list[tuple[int, tuple, np.dtype]]()
        env, items, params = dict(zip(plan.symbols, sizes)), [], []
        for n, (kind, index, more, *rest) in enumerate(plan.steps):
            at = Context.param_place(n)
            params.append(0)
            if kind == "out":
                shape = tuple([evaluate(size, env) for size in rest[0]])
                items.append(python_entry.item(python_entry.ARRAY, len(arguments) + len(self.made), np.ndarray, more, shape, at))
                self.made.append((index, shape, more))
            elif kind == "size":
                shape = arguments[index][3] if index is not None else plan.held[more].shape
                params[-1] = self.context.array[at] = shape[rest[0]]
            elif index is not None:
                source, owner, dtype, shape = arguments[index]
                items.append(python_entry.item(source, index, owner, dtype, shape, at))
            else:
                held = plan.held[more]
                items.append(python_entry.item(python_entry.HELD, held.tensor, type(held.tensor), held.dtype, held.shape, at))
        read, unused = {step[1] for step in plan.steps if step[0] == "tensor"}, R.PARAMS - 1     # a slot that nothing reads
        items += [python_entry.item(source, n, owner, dtype, shape, unused)      # what the Flow does not read is checked too
                  for n, (source, owner, dtype, shape) in enumerate(arguments) if n not in read]
        self.sizes = self.executable.entry_sizes(params)
        self.peak = self.executable.plan.layout(self.sizes).peak
        self.count = len(arguments)
        self.entry = python_entry.Entry(self.executable.address, self.context.address, self.count + len(self.made), items,
                                        self.is_brief([(dtype, shape) for _, _, dtype, shape in arguments]))
        self.enter = self.entry.call
        order = {number: i for i, (number, _, _) in enumerate(self.made)}
        self.order = [order[index] if kind == "param" else -1 for kind, index in plan.results]   # -1 for what is no new array
        self.point_into_arena()

    def is_brief(self, arguments: Iterable[tuple[np.dtype, tuple[int, ...]]]) -> bool:
        """True if a run takes less time than letting other threads run meanwhile. arguments: (dtype, shape) of each"""
        program, made = self.executable.linked.program, [(dtype, shape) for _, shape, dtype in self.made]
        held = [(each.dtype, each.shape) for each in self.plan.held]
        nbytes = self.peak + sum(dtype.itemsize * math.prod(shape) for dtype, shape in (*arguments, *held, *made))
        every = list(F.walk(program.entry.body))
        return nbytes <= BRIEF_BYTES and not any(isinstance(i, (F.While, F.CallFlow)) for i in every) and sum(
            isinstance(i, F.CallKernel) for i in every) <= BRIEF_KERNELS

    def point_into_arena(self) -> None:
        """Point the context into the thread's arena, which may be another one than before. The ShortPlan gets it too."""
        self.arenas.depth += 1
        try:
            self.context.enter(self.sizes)
        finally:
            self.arenas.depth -= 1
        if self.short is not None:
            self.short.use_buffer(self.context.buffer)

    def failure(self) -> BaseException:
        """The exception of the run that has failed."""
        error = self.executable.failure(self.context)
        if self.executable.cleans_up:
            self.context.end()
        return error

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """The outputs of the graph as new arrays; None, with nothing run, if the arguments do not fit
        or a run is in progress in this thread. raises : as Executable.run"""
        if self.arenas.depth >= 0:
            return None
        if self.arenas.buffers[0] is not self.context.buffer:
            self.point_into_arena()
        made = [np.empty(shape, dtype) for _, shape, dtype in self.made]
        status = self.enter(*arrays, *made)
        if status == python_entry.MISFIT:
            return None
        if status:
            raise self.failure()
        if self.executable.cleans_up:
            self.context.end()
        return [made[i] for i in self.order]
