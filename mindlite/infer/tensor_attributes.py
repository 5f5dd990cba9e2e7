"""Attributes of the Tensors and numbers of the run: of which class each is, what the graph says, and what only Python can say.

    x.shape, x.T, x.sum      of the type, an operator, a method
    x.storage, p.name        a refusal: the graph has values, not the objects that hold them
    x.data                   the elements without a gradient; a write to it, or a read after a write to x, is a refusal
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..common.device import name_of, target_device
from ..common.errors import MissingAttributeError, Refusal
from ..common.storage import elsewhere
from ..common.tensor import Parameter, Tensor
from ..common.tensor_states import TensorStates
from ..mindir.graph import AnfNode
from ..mindir.primitive import interpreting
from ..ops import methods
from .evaluating import Evaluating
from .values import BoundMethod, LeavingMethod, Value

# what Python's functions ask of a number, by the method that answers
CONVERSIONS: dict[str, Callable[..., Any]]
CONVERSIONS = {"__index__": int, "__int__": int, "__float__": float, "__bool__": bool, "__len__": len}
# methods that give Python's or NumPy's data: they are called at run time
LEAVES_TENSORS = ("asnumpy", "numpy", "tolist", "__array__", "get_bytes")
NEEDS_MEMORY = ("data_ptr",)     # methods that need the memory itself, of which Python code gets a copy
OF_TYPE = ("shape", "dtype", "ndim", "size")
STATES = ("is_pinned", "is_shared", "data_sync", "wait_pipeline", "flush_from_cache")          # the same for every Tensor
# what a Parameter has of its own, and Tensors lack or mean otherwise
OF_PARAMETERS = frozenset(vars(Parameter)) - frozenset(vars(object)) | {
    "name", "requires_grad", "layerwise_parallel", "parallel_optimizer", "storage_format", "key"}
MISSING = object()


def class_of_tensor(ev: Evaluating, value: AnfNode) -> Any:
    """The class of the Tensor that a node stands for. raises : Refusal where it may be a Parameter, or a Tensor"""
    classes = {Parameter if ev.tracer.is_parameter(one) else Tensor for one in _meanings(ev, value)}
    if len(classes) > 1:
        raise Refusal("whether a value is a Parameter is known at run time only")
    return classes.pop()


def _meanings(ev: Evaluating, value: AnfNode) -> set:
    """What a node may be: itself, or what a branch or a loop chooses for it."""
    root = ev.tracer.root_of(value)[0] if value not in ev.tracer.effects.views else value
    return ev.tracer.effects.may_be.get(root) or {root}


def attribute_of_tensor_node(ev: Evaluating, value: AnfNode, name: str) -> Value:
    """An attribute of a Tensor of the run."""
    if name in OF_TYPE:
        return getattr(value, name)
    if name in OF_PARAMETERS and class_of_tensor(ev, value) is Parameter:
        if name == "data":
            return value
        raise Refusal(f"{name!r} of a Parameter that is an argument is not in the graph",
                      hint="ask before the call, or use a Parameter of a Cell: self.weight." + name)
    if name == "data":
        return data_of_tensor(ev, value)
    if name == "device":
        return _device(ev)
    if name == "__class__":
        return class_of_tensor(ev, value)
    found = getattr(type(value), name, None)
    if isinstance(found, property):
        with interpreting(ev.tracer):
            return getattr(value, name)
    if name in LEAVES_TENSORS:
        return LeavingMethod(getattr(Tensor, name), value, name)
    if name in methods.METHODS and name not in NEEDS_MEMORY or name == "item":
        return BoundMethod(methods.METHODS.get(name), value, name)
    if name in STATES:
        return BoundMethod(getattr(TensorStates, name), value, name)
    if name in CONVERSIONS and (name != "__index__" or value.dtype.kind in "iub"):
        return functools.partial(CONVERSIONS[name], value)
    return _attribute_of_python(ev, value, name)


def data_of_tensor(ev: Evaluating, value: AnfNode | Tensor) -> Value:
    """value.data: no gradient flows through it, and both share their elements."""
    made = ev.trace(methods.METHODS["detach"], (value if ev.concrete else ev.tracer.lift(value),), {})
    if not ev.concrete:
        ev.tracer.choose(made, [value])
    return made


def _device(ev: Evaluating) -> str:
    """The name of the device, where there is one only."""
    if target_device() is not None or elsewhere.used:
        raise Refusal("the device of a Tensor is known at run time only", hint="ask before the call")
    ev.guard("attr", elsewhere, "used", False)
    return name_of(None)


def _attribute_of_python(ev: Evaluating, value: AnfNode, name: str) -> Value:
    """What only the object has. raises : Refusal; MissingAttributeError where there is none"""
    found = inspect.getattr_static(Tensor, name, MISSING)
    if isinstance(found, staticmethod):
        return found.__func__
    if found is not MISSING and name not in CONVERSIONS:
        raise Refusal(f"{name!r} of a Tensor is not in the graph, which has its values", hint="ask before or behind the call")
    raise MissingAttributeError(f"'Tensor' object has no attribute {name!r}")
