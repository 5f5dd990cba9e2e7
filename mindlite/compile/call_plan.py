"""CallPlan: all that a call of compiled code needs, as data. It is built once; three interpreters read nothing else.

    checks    x is f32[N, 784], y is f32[784]; N > 0; net.weight is f32[784] as it was           signature, constraints, held
    guards    globals()["net"] is net, net.training is True                                     guards
    steps     ("tensor", 0) ("size", 0, axis 0) ("out", 0, f32, [N]) ..                         each parameter of the Flow
    results   ("param", 0) ("value", 1) ..                                                      each output of the graph
    output    (Result(0), "text"); changes, updates: what was written to                        the function's value, write-back

The interpreters: Python (`plain_call.py`), generated Python (`quick.py`), machine code (`short_plan.py`); design/calls.md.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..infer.outside import Guard
from ..backend import python_entry
from ..common.device import Device, target_device
from ..common.dim import Symbol, compare, evaluate, symbols_of
from ..common.tensor import Tensor
from ..infer.results import Result
from ..infer.values import Place
from ..mindir.constraints import Constraint
from ..mindir.graph import FuncGraph, Parameter
from .executable import Executable
from .lower import Lowered
from .pipeline import Compiled
from .signature import ScalarSpec, Signature, numbers_in, specs_in


class Held(NamedTuple):
    """A Tensor that is no argument, and what its elements were when the plan was made. lies: a Device or Placement, or None"""
    tensor: Tensor
    dtype: np.dtype
    shape: tuple[int, ...]
    lies: Any


def lies_at(elements: Any) -> Any:
    """The Device or Placement of elements; None for this process' own on the CPU."""
    return None if isinstance(elements, np.ndarray) else getattr(elements, "placement", None) or elements.device


class CallPlan:
    """How an Executable is called.

    steps   : what each parameter of the Flow is, in order; argument n, or (n None) held[k]:
              ("tensor", n, k), ("size", n, k, axis), ("scalar", n, k), ("object", n, k),
              ("out", number, dtype, shape, device): a new array for that output of the graph
    results : where each output of the graph is, as Lowered.outputs says;   abstracts: their types
    held    : the Held it reads;   symbols: {Symbol: (argument, axis), axis None: it is the argument}
    objects : where Python objects of a run live
    parts   : {number of an output: (Placement, shape)} of those of which a rank has a part;   shared: ranks share the work
    output  : what the value is made of: Results, tuples, constants ..

    Of a function, too; empty where the plan is that of a graph:

    signature, constraints : which calls it fits: sizes and numbers may be open, and sizes hang together
    guards                 : what was read outside when it was compiled (guards.py)
    device                 : where its kernels run
    scalars, containers, places : what else is an argument: numbers that vary, by ordinal; lists and dicts; variables outside
    differentiated         : arguments whose hooks are not those of the graph
    changes, updates       : what it writes: [(container, Place or HookOn, content)], [(Tensor or number of an argument, output)]

    calls counts its runs by Python, generated or not; all else but `executable` stays as it is.
    """
    signature: Signature = ()
    constraints: Sequence[Constraint] = ()
    guards: Sequence[Guard] = ()
    device: Device | None = None
    scalars: frozenset[int] = frozenset()
    containers: Sequence[int] = ()
    places: Sequence[Place] = ()
    differentiated: Sequence[int] = ()
    changes: Sequence[tuple[Any, Any]] = ()
    updates: Sequence[tuple[Tensor | int, int]] = ()
    has_effects = False
    calls = 0

    def __init__(self, executable: Executable, lowered: Lowered, graph: FuncGraph, arguments: Sequence[Parameter],
                 symbols: dict[Symbol, tuple[int, int | None]], parts: dict[int, tuple] | None = None) -> None:
        """arguments: the parameters of the graph that a call gives, in order; parts: None where ranks share nothing"""
        self.shared, self.parts = parts is not None, parts or {}
        self.executable, self.results, self.symbols = executable, lowered.outputs, symbols
        self.abstracts, self.objects = [node.abstract for node in graph.outputs], lowered.keep[1]
        given = {p: n for n, p in enumerate(arguments)}
        others = [p for p in graph.parameters if p not in given]
        self.held = [Held(t, t.elements.dtype, t.elements.shape, lies_at(t.elements)) for t in (p.default for p in others)]
        number = {p: k for k, p in enumerate(others)}
        devices = {spec.index: spec.device for spec in lowered.program.outputs}
        self.steps = tuple([
            ("out", step[1], self.abstracts[step[1]].dtype.numpy, self.abstracts[step[1]].shape, devices.get(step[1]))
            if step[0] == "out" else (step[0], given.get(step[1]), number.get(step[1]), *step[2:])
            for step in lowered.parameters])
        shapes = [*[step[3] for step in self.steps if step[0] == "out"], *[shape for _, shape in self.parts.values()]]
        self.static = all(isinstance(size, int) for shape in shapes for size in shape)
        self.meets_python = executable.linked.has_python or any(step[0] == "object" for step in self.steps)
        self.output: Any = tuple([Result(number) for number in range(len(self.results))])

    def sizes(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """The values of `symbols` for these arguments, a tuple."""
        return tuple([arrays[n] if axis is None else arrays[n].shape[axis] for n, axis in self.symbols.values()])

    def allows(self, env: dict[Symbol, int]) -> bool:
        """True if these sizes hang together as they must; facts about other sizes are checked in the Flow."""
        return all(compare(c.op, evaluate(c.left, env), evaluate(c.right, env)) for c in self.constraints
                   if symbols_of(c.left) | symbols_of(c.right) <= set(env))

    def why_not_known(self) -> str:
        """Why there is no KnownCall of it; "" where there is."""
        if self.executable.linked.has_python or self.shared:
            return "the Flow calls Python, or ranks split it between them"
        return self._why_not_entered()

    def _why_not_entered(self) -> str:
        """Why a builtin cannot check the arguments and run it; "" where one can."""
        executable = self.executable
        if self.shared and (self.symbols or any(step[0] == "size" for step in self.steps)):
            return "ranks split it between them, and sizes are open"
        if not python_entry.available():
            return "this Python lays out its objects in another way"
        if executable.printer != "native" or executable.linked.verify:
            return "the Flow is checked or printed otherwise"
        if executable.linked.has_others_code or executable.output_count:
            return "the Flow calls Python code that may do anything, or gives results whose size depends on data"
        if any(step[0] in ("scalar", "object") for step in self.steps):
            return "a number among the parameters"
        return ""

    def why_not_fast(self) -> str:
        """Why there is no fast path of calling the function, whose sizes are known; "" where there may be one."""
        if self.differentiated:
            return "hooks of its arguments are looked for"
        if any(isinstance(owner, int) for owner, _ in self.updates):
            return "an argument is assigned to, whose views follow"
        if self.containers or self.changes:
            return "lists or dicts among the arguments"
        if self.places or self.scalars:
            return "variables outside of the function, or numbers that vary"
        return self._why_not_entered()


def function_plan(signature: Signature, compiled: Compiled) -> CallPlan:
    """The CallPlan of a function that was compiled for a signature."""
    made, symbols = compiled.specialised, dict[Symbol, tuple[int, int | None]]()
    for number, spec in enumerate(specs_in(signature)):
        for axis, size in enumerate(getattr(spec, "shape", ())):
            if isinstance(size, Symbol):
                symbols.setdefault(size, (number, axis))
    plan = CallPlan(compiled.executable, compiled.lowered, compiled.graph,
                    [p for p in compiled.graph.parameters if p.default is None], symbols,
                    None if compiled.plan is None else compiled.plan.results)
    plan.signature, plan.constraints, plan.guards, plan.device = signature, made.constraints, made.guards, target_device()
    plan.scalars = frozenset(n for n, spec in enumerate(numbers_in(signature)) if isinstance(spec, ScalarSpec))
    plan.containers, plan.places, plan.differentiated = made.objects, made.places, made.differentiated
    plan.output, plan.changes, plan.updates = made.output, made.changes, made.updates
    plan.has_effects = bool(made.changes or made.updates or made.acts_and_raises)
    return plan
