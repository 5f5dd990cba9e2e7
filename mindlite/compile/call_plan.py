"""CallPlan: how a call becomes a run of an Executable, and what the run gives.

    steps    what each parameter of the Flow is        ("tensor", 0) ("size", 0, axis 1) ("out", 0, f32, [N, 4]) ..
    results  where each output of the graph is          ("param", 0) ("value", 1) ..

One plan, three interpreters. `CallPlan.run` reads addresses and sizes at each call, of any arguments. Once the sizes are
known, a `KnownCall` has filled the context, so that a builtin only checks the arguments and takes their addresses: by it run
compiled graphs of eager mode, the function that `quick.py` generates, and the machine code whose numbers `short_plan.py`
writes (design/calls.md).
"""
import math
from typing import NamedTuple

import numpy as np

from ..backend import python_entry
from ..common.dim import evaluate
from ..common.errors import ArgumentError
from ..common.storage import ShardedArray, address_of, empty_on, part_here
from ..mindir.abstract import AbstractScalar
from . import flow as F
from .executable import Context, thread_arenas
from .printers import runtime as R

BRIEF_KERNELS, BRIEF_BYTES = 8, 1 << 15  # up to which a run without loops is so short that other threads need not run meanwhile


class Ran(NamedTuple):
    """What a run gave.

    values, outputs : as Executable.run      made : {number of an output: its new array}
    copies          : [(an argument that is not contiguous, the copy that was taken for it)]
    objects         : the Python objects of the run
    """
    values: tuple
    outputs: dict
    made: dict
    copies: list
    objects: list


class CallPlan:
    """How an Executable is called.

    steps   : what each parameter of the Flow is, in order; argument n, or (n None) held[k]:
              ("tensor", n, k), ("size", n, k, axis), ("scalar", n, k), ("object", n, k),
              ("out", number, dtype, shape, device): a new array for that output of the graph
    results : where each output of the graph is, as Lowered.outputs says;   abstracts: their types
    held    : Tensors that are no arguments;   symbols: {Symbol: (argument, axis), axis None: it is the argument}
    objects : where Python objects of a run live
    """

    def __init__(self, executable, lowered, graph, arguments, symbols, parts=None):
        """arguments: the parameters of the graph that a call gives, in order; parts: {number of an output: (Placement, shape)}
        of those of which a rank has a part, None where ranks share nothing"""
        self.shared, self.parts = parts is not None, parts or {}
        self.executable, self.results, self.symbols = executable, lowered.outputs, symbols
        self.abstracts, self.objects = [node.abstract for node in graph.outputs], lowered.keep[1]
        given = {p: n for n, p in enumerate(arguments)}
        others = [p for p in graph.parameters if p not in given]
        self.held, number = [p.default for p in others], {p: k for k, p in enumerate(others)}
        devices = {spec.index: spec.device for spec in lowered.program.outputs}
        self.steps = tuple([
            ("out", step[1], self.abstracts[step[1]].dtype.numpy, self.abstracts[step[1]].shape, devices.get(step[1]))
            if step[0] == "out" else (step[0], given.get(step[1]), number.get(step[1]), *step[2:])
            for step in lowered.parameters])
        self.static = all(isinstance(size, int) for step in self.steps if step[0] == "out" for size in step[3])
        self.meets_python = executable.linked.has_python or any(step[0] == "object" for step in self.steps)

    def sizes(self, arrays):
        """The values of `symbols` for these arguments, a tuple."""
        return tuple([arrays[n] if axis is None else arrays[n].shape[axis] for n, axis in self.symbols.values()])

    def run(self, arrays, finish):
        """finish(Ran) of a run; Python objects of the run live until then.

        arrays : the arguments: ndarrays, DeviceArrays, numbers, objects
        raises : as Executable.run
        """
        if not self.meets_python:
            return finish(self._run(arrays, []))
        with self.objects.running() as objects:
            return finish(self._run(arrays, objects))

    def _run(self, arrays, objects):
        env = {} if self.static else dict(zip(self.symbols, self.sizes(arrays)))
        params, made, copies = [], {}, []
        for kind, place, more, *rest in self.steps:
            if kind == "out":
                shape, device = rest
                if not self.static:
                    shape = tuple([evaluate(size, env) for size in shape])
                made[place] = array = np.empty(shape, more) if device is None else empty_on(device, shape, more)
                params.append(address_of(array))
                continue
            value = arrays[place] if place is not None else self.held[more].elements
            if self.shared:
                value = part_here(value)
            if kind == "tensor":
                if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
                    copies.append((value, np.ascontiguousarray(value)))
                    value = copies[-1][1]
                params.append(address_of(value))
            elif kind == "size":
                params.append(value.shape[rest[0]])
            elif kind == "scalar":
                params.append(value)
            else:
                params.append(len(objects))
                objects.append(value)
        values, outputs = self.executable.run(params)
        return Ran(values, outputs, made, copies, objects)

    def result(self, number, ran):
        """An output of the graph: an ndarray, a DeviceArray, a number or an object."""
        kind, place = self.results[number]
        if kind in ("param", "output"):
            made = ran.made[place] if kind == "param" else ran.outputs[place]
            if number in self.parts:
                placement, shape = self.parts[number]
                return ShardedArray(made, shape, placement)
            return made
        if kind == "value":
            value, abstract = ran.values[place], self.abstracts[number]
            return abstract.type(value) if isinstance(abstract, AbstractScalar) else ran.objects[value]
        raise ArgumentError("a new value of a Parameter cannot be a result too")

    def why_not_known(self):
        """Why there is no KnownCall of it; "" where there is."""
        executable = self.executable
        if self.shared:
            return "ranks split it between them"
        if not python_entry.available():
            return "this Python lays out its objects in another way"
        if executable.printer != "native" or executable.linked.verify:
            return "the Flow is checked or printed otherwise"
        if executable.linked.has_python or executable.output_count:
            return "the Flow calls Python, or gives results whose size depends on data"
        if executable.linked.devices:
            return "it runs on another device than the host"
        if any(step[0] in ("scalar", "object") for step in self.steps):
            return "a number among the parameters"
        return ""


class KnownCall:
    """A CallPlan for arguments of known sizes, in one thread: `enter(*arguments, *new arrays)` checks and runs.

    enter : a builtin; gives 0, python_entry.MISFIT where the arguments are not as expected (nothing has run), or another
            number where the run failed
    made  : [(number of the output, shape, dtype)] of the new arrays
    """

    def __init__(self, plan, arguments, sizes):
        """arguments: (python_entry.TENSOR or ARRAY, class, dtype, shape) of each; sizes: the values of plan.symbols"""
        self.plan, self.executable, self.arenas = plan, plan.executable, thread_arenas()
        self.context, self.made = Context(self.executable), list[tuple[int, tuple, np.dtype]]()
        env, items, params = dict(zip(plan.symbols, sizes)), [], []
        for n, (kind, place, more, *rest) in enumerate(plan.steps):
            at = Context.param_place(n)
            params.append(0)
            if kind == "out":
                shape = tuple([evaluate(size, env) for size in rest[0]])
                items.append(python_entry.item(python_entry.ARRAY, len(arguments) + len(self.made), np.ndarray, more, shape, at))
                self.made.append((place, shape, more))
            elif kind == "size":
                shape = arguments[place][3] if place is not None else plan.held[more].elements.shape
                params[-1] = self.context.array[at] = shape[rest[0]]
            elif place is not None:
                source, owner, dtype, shape = arguments[place]
                items.append(python_entry.item(source, place, owner, dtype, shape, at))
            else:
                tensor = plan.held[more]
                items.append(python_entry.item(python_entry.HELD, tensor, type(tensor), tensor.elements.dtype,
                                               tensor.elements.shape, at))
        read, unused = {step[1] for step in plan.steps if step[0] == "tensor"}, R.PARAMS - 1     # a place that nothing reads
        items += [python_entry.item(source, n, owner, dtype, shape, unused)      # what the Flow does not read is checked too
                  for n, (source, owner, dtype, shape) in enumerate(arguments) if n not in read]
        self.sizes = self.executable.entry_sizes(params)
        self.peak = self.executable.plan.layout(self.sizes).peak
        self.count = len(arguments)
        self.entry = python_entry.Entry(self.executable.address, self.context.address, self.count + len(self.made), items,
                                        self.is_brief([(dtype, shape) for _, _, dtype, shape in arguments]))
        self.enter = self.entry.call
        order = {number: i for i, (number, _, _) in enumerate(self.made)}
        self.order = [order.get(place, -1) for _, place in plan.results]         # -1 for what is no new array
        self.point_into_arena()

    def is_brief(self, arguments):
        """True if a run takes less time than letting other threads run meanwhile. arguments: (dtype, shape) of each"""
        program, made = self.executable.linked.program, [(dtype, shape) for _, shape, dtype in self.made]
        held = [(tensor.elements.dtype, tensor.elements.shape) for tensor in self.plan.held]
        nbytes = self.peak + sum(dtype.itemsize * math.prod(shape) for dtype, shape in (*arguments, *held, *made))
        every = list(F.walk(program.entry.body))
        return nbytes <= BRIEF_BYTES and not any(isinstance(i, (F.While, F.CallFlow)) for i in every) and sum(
            isinstance(i, F.CallKernel) for i in every) <= BRIEF_KERNELS

    def point_into_arena(self):
        """Point the context into the thread's arena, which may be another one than before."""
        self.arenas.depth += 1
        try:
            self.context.enter(self.sizes)
        finally:
            self.arenas.depth -= 1

    def failure(self):
        """The exception of the run that has failed."""
        error = self.executable.failure(self.context)
        if self.executable.cleans_up:
            self.context.end()
        return error

    def run(self, arrays):
        """The outputs of the graph, new arrays all of them; None where the arguments are not as expected, or a run is under way
        in this thread: nothing has run. raises : as Executable.run"""
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
