"""A function compiled for one signature: where each parameter of its Flow comes from, and what its results become."""
from dataclasses import field
from typing import Any

import numpy as np

from ..common.device import target_device
from ..common.dim import Symbol, compare, evaluate, symbols_of
from ..common.records import dataclass
from ..common.tensor import HOOKS, Tensor, is_shared
from ..infer.results import Container, HookOn, Made, Result
from ..infer.values import Place
from ..mindir.abstract import AbstractTensor
from ..mindir.primitive import current_interpreter, eager
from ..ops.views import written
from .call_plan import CallPlan
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
    slow: str = ""                          # why there is no fast path of calling it (quick.py)


class Runner(Variant):
    """A Variant that runs: it knows where each register of the Flow's entry comes from and what each result becomes."""

    def __init__(self, signature, compiled, reason, seconds, guards):
        self.plans = []                                      # the ShortPlans that run it
        super().__init__(signature, compiled, reason, seconds, guards)
        specs: list = []
        flat_specs(signature, specs)
        self.specs = specs
        graph, lowered = compiled.graph, compiled.lowered
        self.device = target_device()
        self.places, self.objects = compiled.specialised.places, compiled.specialised.objects
        self.scalars = frozenset(number for number, spec in enumerate(numbers_in(signature))
                                 if isinstance(spec, ScalarSpec))
        self.incomplete = bool(self.places or self.objects or self.scalars)
        symbols: dict = {}
        for number, spec in enumerate(specs):
            for axis, size in enumerate(getattr(spec, "shape", ())):
                if isinstance(size, Symbol):
                    symbols.setdefault(size, (number, axis))
        self.plan = CallPlan(compiled.executable, lowered, graph, [p for p in graph.parameters if p.default is None], symbols,
                             None if compiled.plan is None else compiled.plan.results)
        self.inputs = self.plan.held
        self.input_shapes = [(t.elements.dtype, t.elements.shape) for t in self.inputs]
        self.input_devices = [lies_at(t.elements) for t in self.inputs]
        self.output = compiled.specialised.output
        self.constraints = compiled.specialised.constraints
        self.calls_python = self.executable.linked.has_python
        found = compiled.specialised
        self.differentiated = found.differentiated
        self.has_effects = bool(found.changes or found.updates or found.acts_and_raises)

    @property
    def executable(self):
        """The Executable; where another one is put in its place, calls go the general way."""
        return self.plan.executable

    @executable.setter
    def executable(self, executable):
        self.plan.executable = executable
        for plan in self.plans:
            plan.end()

    def end_plan(self, plan):
        """Machine code does not run it by this plan any more; its calls count."""
        plan.end()
        if plan in self.plans:
            self._calls += int(plan.words[CALLS])
            self.plans.remove(plan)

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
                    device is not None if isinstance(array, np.ndarray) else device != lies_at(array)):
                return False
        return self.device == target_device()

    def meets_hooks(self, leaves):
        """True if what it differentiates by has hooks in this call."""
        return any(leaves[number].__dict__.get(HOOKS) for number in self.differentiated)

    def run(self, leaves):
        """Run on the leaves (Tensors) of a call; what the function did to the lists and dicts among its arguments is
        done."""
        updated = [leaves[owner] if isinstance(owner, int) else owner for owner, _ in self.compiled.specialised.updates]
        if updated and getattr(current_interpreter(), "records", False):
            for tensor in updated:
                current_interpreter().protect(tensor.elements)

        def finish(ran):
            self.write_back(ran.copies, leaves)
            for tensor in updated:
                if is_shared(tensor):
                    with eager():
                        written(tensor, _copy_to)
            return self.finish(ran, leaves)
        return self.plan.run([leaf.elements if isinstance(leaf, Tensor) else leaf for leaf in leaves], finish)

    def write_back(self, copies, leaves):
        """Give arrays that are not contiguous what was assigned to their copies."""
        if copies:
            updates = self.compiled.specialised.updates
            targets = {id((leaves[owner] if isinstance(owner, int) else owner).elements) for owner, _ in updates}
            for array, copy in copies:
                if id(array) in targets:
                    array[...] = copy

    def finish(self, ran, leaves):
        """The function's value; the containers of the caller get their new content first."""
        for target, content in [(t, self.build(c, ran, leaves))
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
        return self.build(self.output, ran, leaves)

    def build(self, value, ran, leaves):
        """The function's value, with results in place of Results."""
        if isinstance(value, Result):
            if value.argument is not None:
                return leaves[value.argument]
            made = self.plan.result(value.number, ran)
            return Tensor.of_elements(made) if isinstance(self.plan.abstracts[value.number], AbstractTensor) else made
        if isinstance(value, tuple):
            items = [self.build(v, ran, leaves) for v in value]
            return value._make(items) if hasattr(value, "_make") else tuple(items)
        if type(value) is list:
            return [self.build(v, ran, leaves) for v in value]
        if type(value) is dict:
            return {k: self.build(v, ran, leaves) for k, v in value.items()}
        if isinstance(value, Made):
            return value.make(*[self.build(v, ran, leaves) for v in value.items])
        if isinstance(value, Container):
            return leaves.containers[value.number]
        return value


def lies_at(elements):
    """The Device or Placement of elements; None for this process' own on the CPU."""
    return None if isinstance(elements, np.ndarray) else getattr(elements, "placement", None) or elements.device


def _copy_to(tensor, value):
    tensor.overwrite(value)


def unknown(constraint, env):
    """True if a constraint uses Symbols that the signature does not bind (it is checked in the Flow)."""
    return bool((symbols_of(constraint.left) | symbols_of(constraint.right)) - set(env))
