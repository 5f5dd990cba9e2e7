"""A function compiled for one signature: where each parameter of its Flow comes from, and what its results become."""
from dataclasses import field
from typing import Any

import numpy as np

from ..common.config import config
from ..common.dim import Symbol, compare, evaluate, symbols_of
from ..common.errors import ArgumentError
from ..common.records import dataclass
from ..common.storage import DeviceArray, empty_on
from ..common.tensor import HOOKS, Tensor, is_shared
from ..infer.results import Container, HookOn, Made, Result
from ..infer.values import Place
from ..mindir.abstract import AbstractScalar
from ..mindir.primitive import current_interpreter, eager
from ..ops.views import written
from .placement import target_device
from .short_plan import CALLS
from .signature import ScalarSpec, flat_specs, matches, numbers_in


@dataclass(eq=False)
class Variant:
    """One compiled form. signature: with Symbols for open sizes; reason: why it was made, a Reason; calls: how often it ran."""
    signature: Any
    compiled: Any
    reason: Any
    seconds: float
    guards: list = field(default_factory=list)
    calls: int = 0
    slow: str = ""                          # why there is no short way of calling it (quick.py)


class Runner(Variant):
    """A Variant that runs: it knows where each register of the Flow's entry comes from and what each result becomes."""

    def __init__(self, signature, compiled, reason, seconds, guards):
        self.plans = []                                      # the ShortPlans that run it
        super().__init__(signature, compiled, reason, seconds, guards)
        specs: list = []
        flat_specs(signature, specs)
        self.specs = specs
        graph, lowered = compiled.graph, compiled.lowered
        self.executable = compiled.executable
        argument = {p: i for i, p in enumerate(q for q in graph.parameters if q.default is None)}
        self.inputs = [p.default for p in graph.parameters if p.default is not None]
        self.device = target_device()
        self.input_shapes = [(t.elements.dtype, t.elements.shape) for t in self.inputs]
        self.input_devices = [None if isinstance(t.elements, np.ndarray) else t.elements.device for t in self.inputs]
        where = {p: (i, None) for p, i in argument.items()}
        where.update({p: (None, k) for k, p in enumerate(q for q in graph.parameters if q.default is not None)})
        self.places, self.objects = compiled.specialised.places, compiled.specialised.objects
        self.scalars = frozenset(number for number, spec in enumerate(numbers_in(signature))
                                 if isinstance(spec, ScalarSpec))
        self.incomplete = bool(self.places or self.objects or self.scalars)
        self.outs = {}
        self.steps: list = []
        for step in lowered.parameters:
            kind = step[0]
            if kind == "out":
                self.outs[step[1]] = len(self.steps)
                abstract = graph.outputs[step[1]].abstract
                self.steps.append(("out", step[1], abstract.dtype.numpy, abstract.shape))
            else:
                self.steps.append((kind, *where[step[1]], *step[2:]))
        self.symbols: dict = {}                              # Symbol: (argument, axis) or (argument, None)
        for number, spec in enumerate(specs):
            for axis, size in enumerate(getattr(spec, "shape", ())):
                if isinstance(size, Symbol):
                    self.symbols.setdefault(size, (number, axis))
        self.results = lowered.outputs
        self.output = compiled.specialised.output
        self.constraints = compiled.specialised.constraints
        self.abstracts = [node.abstract for node in graph.outputs]
        self.places_of_results = {spec.index: spec.device for spec in lowered.program.outputs} \
            if self.executable.linked.devices else {}
        self.calls_python = self.executable.linked.has_python
        found = compiled.specialised
        self.differentiated = found.differentiated
        self.has_effects = bool(found.changes or found.updates or found.acts_and_raises)
        self.static = all(isinstance(s, int) for step in self.steps if step[0] == "out" for s in step[3])

    @property
    def executable(self):
        """The Executable; where another one is put in its place, calls go the general way."""
        return self._executable

    @executable.setter
    def executable(self, executable):
        self._executable = executable
        for plan in self.plans:
            plan.end()

    @property
    def calls(self):
        """How often it ran, calls by machine code included."""
        return self._calls + int(sum(plan.words[CALLS] for plan in self.plans))

    @calls.setter
    def calls(self, count):
        self._calls = count - int(sum(plan.words[CALLS] for plan in self.plans))

    def complete(self, leaves):
        """The run-time arguments of a call: its Tensors, its numbers that vary, and what the Places outside hold
        now."""
        if self.scalars:
            leaves = leaves.with_numbers(self.scalars)
        leaves.extend([leaves.containers[number] for number in self.objects])
        leaves.extend([place.read() for place in self.places])
        return leaves

    def fits(self, signature):
        """True if a call with this signature may use the variant."""
        env: dict = {}
        return matches(self.signature, signature, env) and all(
            compare(c.op, evaluate(c.left, env), evaluate(c.right, env)) for c in self.constraints
            if not unknown(c, env)) and self.inputs_hold()

    def inputs_hold(self):
        """True if the Parameters that it reads still have the dtypes and sizes that it was compiled for, where they were, and
        kernels still run where its own do."""
        for tensor, (dtype, shape), device in zip(self.inputs, self.input_shapes, self.input_devices):
            array = tensor.elements
            if array.shape != shape or array.dtype != dtype or (
                    device is not None if isinstance(array, np.ndarray) else device != array.device):
                return False
        return config.device_target == "CPU" if self.device is None else self.device == target_device()

    def meets_hooks(self, leaves):
        """True if what it differentiates by has hooks in this call."""
        return any(leaves[number].__dict__.get(HOOKS) for number in self.differentiated)

    def run(self, leaves):
        """Run on the leaves (Tensors) of a call; what the function did to the lists and dicts among its arguments is
        done."""
        if not self.calls_python:
            return self.run_with(leaves, [])
        with self.compiled.lowered.keep[1].running() as objects:
            return self.run_with(leaves, objects)

    def run_with(self, leaves, objects):
        """Run; objects: a list for the Python objects of this run."""
        arrays = [leaf.elements if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        env = None
        params, made, copies = [], {}, []
        for step in self.steps:
            kind = step[0]
            if kind == "tensor":
                array = arrays[step[1]] if step[1] is not None else self.inputs[step[2]].elements
                if type(array) is DeviceArray:
                    params.append(array.address)
                    continue
                if not array.flags.c_contiguous:
                    copies.append((array, np.ascontiguousarray(array)))
                    array = copies[-1][1]
                params.append(array.__array_interface__["data"][0])
            elif kind == "size":
                array = arrays[step[1]] if step[1] is not None else self.inputs[step[2]].elements
                params.append(array.shape[step[3]])
            elif kind == "scalar":
                params.append(arrays[step[1]])
            elif kind == "object":
                params.append(len(objects))
                objects.append(arrays[step[1]])
            else:
                shape = step[3]
                if not self.static:
                    if env is None:
                        env = {s: arrays[n].shape[axis] for s, (n, axis) in self.symbols.items()}
                    shape = tuple(evaluate(s, env) for s in shape)
                if self.places_of_results and self.places_of_results[step[1]] is not None:
                    made[step[1]] = array = empty_on(self.places_of_results[step[1]], shape, step[2])
                    params.append(array.address)
                    continue
                made[step[1]] = array = np.empty(shape, step[2])
                params.append(array.__array_interface__["data"][0])
        updated = [leaves[owner] if isinstance(owner, int) else owner for owner, _ in self.compiled.specialised.updates]
        if updated and getattr(current_interpreter(), "records", False):
            for tensor in updated:
                current_interpreter().protect(tensor.elements)
        values, outputs = self.executable.run(params)
        self.write_back(copies, leaves)
        for tensor in updated:
            if is_shared(tensor):
                with eager():
                    written(tensor, _copy_to)
        return self.finish(values, outputs, made, leaves, objects)

    def write_back(self, copies, leaves):
        """Give arrays that are not contiguous what was assigned to their copies."""
        if copies:
            updates = self.compiled.specialised.updates
            targets = {id((leaves[owner] if isinstance(owner, int) else owner).elements) for owner, _ in updates}
            for array, copy in copies:
                if id(array) in targets:
                    array[...] = copy

    def finish(self, values, outputs, made, leaves, objects):
        """The function's value; the containers of the caller get their new content first."""
        for target, content in [(t, self.build(c, values, outputs, made, leaves, objects))
                                for t, c in self.compiled.specialised.changes]:
            if isinstance(target, Place):
                target.write(content)
                continue
            if isinstance(target, HookOn):
                leaves[target.number].register_hook(content)
                continue
            container = leaves.containers[target]
            if type(container) is dict:
                container.clear()
                container.update(content)
            else:
                container[:] = content
        return self.build(self.output, values, outputs, made, leaves, objects)

    def build(self, value, values, outputs, made, leaves, objects):
        """The function's value, with results in place of Results."""
        if isinstance(value, Result):
            if value.argument is not None:
                return leaves[value.argument]
            kind, number = self.results[value.number]
            if kind == "param":
                return Tensor.of_elements(made[number])
            if kind == "output":
                return Tensor.of_elements(outputs[number])
            if kind == "value":
                abstract = self.abstracts[value.number]
                return abstract.type(values[number]) if isinstance(abstract,
                                                                   AbstractScalar) else objects[values[number]]
            raise ArgumentError("a new value of a Parameter cannot be a result too")
        if isinstance(value, tuple):
            items = [self.build(v, values, outputs, made, leaves, objects) for v in value]
            return value._make(items) if hasattr(value, "_make") else tuple(items)
        if type(value) is list:
            return [self.build(v, values, outputs, made, leaves, objects) for v in value]
        if type(value) is dict:
            return {k: self.build(v, values, outputs, made, leaves, objects) for k, v in value.items()}
        if isinstance(value, Made):
            return value.make(*[self.build(v, values, outputs, made, leaves, objects) for v in value.items])
        if isinstance(value, Container):
            return leaves.containers[value.number]
        return value


def _copy_to(tensor, value):
    tensor.overwrite(value)


def unknown(constraint, env):
    """True if a constraint uses Symbols that the signature does not bind (it is checked in the Flow)."""
    return bool((symbols_of(constraint.left) | symbols_of(constraint.right)) - set(env))
