"""A CallPlan interpreted by Python: for any call, also with numbers that vary, sizes that data decides, Python code, devices.

    fits(plan, signature)     may such a call run?  (guards.py: do the guards hold?)
    run(plan, leaves)         what the function gives; containers, variables and Tensors outside are written
    run_graph(plan, arrays)   the outputs of a graph
"""
from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from ..common.device import target_device
from ..common.dim import evaluate
from ..common.errors import ArgumentError
from ..common.storage import ShardedArray, address_of, empty_on, part_here
from ..common.tensor import HOOKS, Tensor, is_shared
from ..infer.results import Container, HookOn, Made, Result
from ..infer.values import Place
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.primitive import current_interpreter, eager
from ..ops.views import written
from .call_plan import CallPlan, lies_at
from .signature import Leaves, Signature, matches


class Ran(NamedTuple):
    """What a run gave: `values` and `outputs` as Executable.run does."""
    values: tuple[Any, ...]
    outputs: dict[int, Any]
    made: dict[int, Any]                     # {number of an output: its new array}
    copies: list[tuple[np.ndarray, np.ndarray]]          # arguments that are not contiguous, and the copies taken for them
    objects: list                            # the Python objects of the run
    sizes: dict                              # {Symbol: int} of the open sizes of results


def fits(plan: CallPlan, signature: Signature) -> bool:
    """True if a call with this signature may run: its sizes do, Parameters are as they were, kernels run where its own do."""
    env: dict = {}
    return matches(plan.signature, signature, env) and plan.allows(env) and held_as_it_was(plan)


def held_as_it_was(plan: CallPlan) -> bool:
    """True if the Tensors that it reads still have the dtypes, sizes and storage for
    which it was compiled, and kernels still run on the same device."""
    for tensor, dtype, shape, lies in plan.held:
        elements = tensor.elements
        if elements.shape != shape or elements.dtype != dtype or lies_at(elements) != lies:
            return False
    return plan.device == target_device()


def meets_hooks(plan: CallPlan, leaves: Leaves) -> bool:
    """True if what it differentiates by has hooks in this call."""
    return any(leaves[number].__dict__.get(HOOKS) for number in plan.differentiated)


def complete(plan: CallPlan, leaves: Leaves) -> Leaves:
    """The run-time arguments of a call: its Tensors, its numbers that vary, and what variables outside hold now."""
    if plan.scalars:
        leaves = leaves.with_numbers(plan.scalars)
    leaves.extend([leaves.containers[number] for number in plan.containers])
    leaves.extend([place.read() for place in plan.places])
    return leaves


def running(plan: CallPlan) -> AbstractContextManager[list]:
    """The list of the Python objects of a run, which live until it ends: a context."""
    return plan.objects.running() if plan.meets_python else contextlib.nullcontext([])


def _run(plan: CallPlan, arrays: Sequence[Any], objects: list) -> Ran:
    """The Ran of a run on ndarrays, DeviceArrays, numbers and objects. raises : as Executable.run"""
    env = {} if plan.static else dict(zip(plan.symbols, plan.sizes(arrays)))
    params, made, copies = [], {}, []
    for kind, index, more, *rest in plan.steps:
        if kind == "out":
            shape, device = rest
            if not plan.static:
                shape = tuple([evaluate(size, env) for size in shape])
            made[index] = array = np.empty(shape, more) if device is None else empty_on(device, shape, more)
            params.append(address_of(array))
            continue
        whole = value = arrays[index] if index is not None else plan.held[more].tensor.elements
        if plan.shared:
            value = part_here(value)
        if kind == "tensor":
            if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
                copies.append((value, np.ascontiguousarray(value)))
                value = copies[-1][1]
            params.append(address_of(value))
        elif kind == "size":
            params.append(whole.shape[rest[0]])
        elif kind == "scalar":
            params.append(value)
        else:
            params.append(len(objects))
            objects.append(value)
    values, outputs = plan.executable.run(params)
    return Ran(values, outputs, made, copies, objects, env)


def run_graph(plan: CallPlan, arrays: Sequence[Any]) -> list:
    """The outputs of a graph, a list of ndarrays, DeviceArrays, numbers and objects. raises : as Executable.run"""
    with running(plan) as objects:
        ran = _run(plan, arrays, objects)
        return [output_of(plan, number, ran) for number in range(len(plan.results))]


def output_of(plan: CallPlan, number: int, ran: Ran) -> Any:
    """An output of the graph: an ndarray, a DeviceArray, a number or an object."""
    kind, index = plan.results[number]
    if kind in ("param", "output"):
        made = ran.made[index] if kind == "param" else ran.outputs[index]
        if number in plan.parts:
            placement, shape = plan.parts[number]
            return ShardedArray(made, tuple([evaluate(size, ran.sizes) for size in shape]), placement)
        return made
    if kind == "value":
        value, abstract = ran.values[index], plan.abstracts[number]
        return abstract.type(value) if isinstance(abstract, AbstractScalar) else ran.objects[value]
    raise ArgumentError("a new value of a Parameter cannot be a result too")


def run(plan: CallPlan, leaves: Leaves) -> Any:
    """The function's value for the leaves of a call; what it did to containers, variables and Tensors is done.

    raises : as Executable.run
    """
    updated = [leaves[owner] if isinstance(owner, int) else owner for owner, _ in plan.updates]
    if updated and getattr(current_interpreter(), "records", False):
        for tensor in updated:
            current_interpreter().protect(tensor.elements)
    with running(plan) as objects:
        ran = _run(plan, [leaf.elements if isinstance(leaf, Tensor) else leaf for leaf in leaves], objects)
        if ran.copies:                                       # what is not contiguous gets what was assigned to its copy
            targets = {id(tensor.elements) for tensor in updated}
            for array, copy in ran.copies:
                if id(array) in targets:
                    array[...] = copy
        for tensor in updated:
            if is_shared(tensor):
                with eager():
                    written(tensor, Tensor.overwrite)
        contents = [(target, build(plan, content, ran, leaves)) for target, content in plan.changes]
        for target, content in contents:
            write(target, content, leaves)
        return build(plan, plan.output, ran, leaves)


def write(target: Place | HookOn | int, content: Any, leaves: Leaves) -> None:
    """Give a variable, a container of the caller or a Tensor's hooks what the function gave it."""
    if isinstance(target, Place):
        target.write(content)
    elif isinstance(target, HookOn):
        leaves[target.number].register_hook(content)
    elif type(leaves.containers[target]) is dict:
        leaves.containers[target].clear()
        leaves.containers[target].update(content)
    else:
        leaves.containers[target][:] = content


def build(plan: CallPlan, value: Any, ran: Ran, leaves: Leaves) -> Any:
    """A value with results in place of Results."""
    if isinstance(value, Result):
        if value.argument is not None:
            return leaves[value.argument]
        made = output_of(plan, value.number, ran)
        return Tensor.of_elements(made) if isinstance(plan.abstracts[value.number], AbstractTensor) else made
    if isinstance(value, tuple):
        items = [build(plan, v, ran, leaves) for v in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if type(value) is list:
        return [build(plan, v, ran, leaves) for v in value]
    if type(value) is dict:
        return {k: build(plan, v, ran, leaves) for k, v in value.items()}
    if isinstance(value, Made):
        return value.make(*[build(plan, v, ran, leaves) for v in value.items])
    return leaves.containers[value.number] if isinstance(value, Container) else value
