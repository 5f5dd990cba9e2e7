"""The entry of inference: a Python function and a description of its arguments give a typed graph.

    specialise(f, (AbstractTensor(f32, (N, 3)), 2), {})  ->  Specialised(graph, output, inputs, updates, guards, ...)
"""
from dataclasses import dataclass

from ..common.errors import MindliteError, placing
from ..common.tensor import Tensor
from ..mindir.abstract import Abstract
from ..mindir.builder import constant
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import AnfNode
from .calls import call_value
from .evaluator import Evaluator
from .access import Formatted
from .values import Box
from . import execute  # noqa: F401  (fills the table of constructs)


@dataclass
class Specialised:
    """What inference gives.

    graph      : the typed graph; its first parameters are the run-time arguments in order, then implicit inputs (their
                 Tensor is the parameter's `default`)
    output     : the function's value with Results in place of run-time parts
    changes    : (number of a list or dict among the arguments, its new content): what the function did to it
    updates    : (Tensor, number of the output that it is assigned)
    guards     : what was read at compile time: (kind, owner, name, value)
    constraints: facts about sizes that must hold
    reasons    : (Location, why something fell back or was unrolled)
    """
    graph: object
    output: object
    changes: list
    updates: list
    guards: list
    constraints: list
    reasons: list


@dataclass(frozen=True)
class Result:
    """Stands for output `number` of the graph in a Specialised's output; argument: which argument it is, if it is one."""
    number: int
    argument: object = None


@dataclass(frozen=True)
class Container:
    """Stands for list or dict `number` of the arguments, itself."""
    number: int


def specialise(function, args, kwargs, name="f", fullgraph=False, fallbacks=None):
    """Infer `function` for arguments in which Abstracts stand for run-time values; everything else is constant.

    args, kwargs: pytrees (tuple, list, dict) of Abstract and constants. An Abstract met twice is two parameters.
    """
    ev = Evaluator(name, fullgraph, fallbacks)
    graph = ev.tracer.root.graph
    containers, entered = {}, {}                             # the Boxes of the arguments: their numbers, their first content

    def enter(value, label):
        if isinstance(value, Abstract):
            return graph.add_parameter(label, value)
        if isinstance(value, tuple):
            made = [enter(v, f"{label}_{i}") for i, v in enumerate(value)]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if type(value) in (list, dict):
            kind = type(value).__name__
            box = ev.new_box(kind, ())
            containers[box] = len(containers)
            ev.store[box] = tuple(enter(v, f"{label}_{i}") for i, v in enumerate(value)) if kind == "list" else \
                tuple((k, enter(v, f"{label}_{k}")) for k, v in value.items())
            entered[box] = ev.store[box]
            return box
        return value
    inside = tuple(enter(v, f"x{i}" if len(args) > 1 else "x") for i, v in enumerate(args))
    named = {k: enter(v, k) for k, v in kwargs.items()}
    arguments = {p: i for i, p in enumerate(graph.parameters)}
    with collecting() as constraints, placing(lambda: ev.tracer.origin.location):
        value = call_value(ev, function, inside, named)
    outputs = []

    def leave(value):
        value = ev.tracer.current(value) if isinstance(value, (AnfNode, Tensor)) else value
        if isinstance(value, AnfNode):
            outputs.append(value)
            return Result(len(outputs) - 1, arguments.get(value))
        if isinstance(value, tuple):
            made = [leave(v) for v in value]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if isinstance(value, Box):
            return Container(containers[value]) if value in containers else content_of(value)
        if type(value) is dict:
            return {k: leave(v) for k, v in value.items()}
        if isinstance(value, Formatted):
            raise MindliteError("a string made of run-time values cannot leave a graph")
        if hasattr(value, "terms"):                          # a Dim
            outputs.append(constant(value))
            return Result(len(outputs) - 1)
        return value

    def content_of(value):
        content = ev.store[value]
        return {k: leave(v) for k, v in content} if value.kind == "dict" else \
            [leave(v) for v in content] if value.kind == "list" else set(content)
    output = leave(value)
    changes = [(number, content_of(box)) for box, number in containers.items() if ev.store[box] is not entered[box]]
    updates = []
    for target, newest in ev.store.items():
        owner = target if isinstance(target, Tensor) else None
        if owner is None and isinstance(target, AnfNode) and target in arguments:
            owner = arguments[target]                        # an argument that the function changes in place
        if owner is not None:
            outputs.append(ev.tracer.current(newest))
            updates.append((owner, len(outputs) - 1))
    graph.set_outputs(outputs, make_tuple)
    return Specialised(graph, output, changes, updates, list(ev.guards.values()), constraints, ev.reasons)
