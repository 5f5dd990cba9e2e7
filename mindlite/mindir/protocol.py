"""What an object tells graph mode about itself: its `__mindir__()` gives one of these.

So parse and infer recognise Cells, grad, vmap and jit without importing nn or functional.
"""
from dataclasses import field
from typing import Any

from ..common.records import dataclass


@dataclass(frozen=True)
class CallOf:
    """Calling the object is calling `function` (a bound `construct`, what a jit wraps). scope names it in errors."""
    function: Any
    scope: str = ""


@dataclass(frozen=True)
class Rematerialised:
    """Calling the object is calling `function`, whose loops are differentiated by the policy `remat` ("sqrt")."""
    function: Any
    remat: str


@dataclass(frozen=True)
class Autocasted:
    """Calling the object is calling `function`, whose operators cast their operands as `policy` (ops.autocast) says."""
    function: Any
    policy: Any


@dataclass(frozen=True)
class Derivative:
    """Calling the object differentiates `function`.

    kind   : "grad" (gradients), "value_and_grad", "jvp"; "vjp", "linearize": (value, what is kept, a function of that and of
             cotangents or tangents)
    options: grad_position (None, int, tuple), weights (None, Parameter, sequence), has_aux, return_ids, sens_param, numbers,
             again (the function has run before: its effects are left out) ..
    """
    function: Any
    kind: str
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class CustomGradient:
    """Calling the object is calling `function`, whose gradient is `bprop(*arguments, out, dout)`.

    at_once: (function, args, kwargs) -> the same for another function in eager mode;   scope names it in errors
    """
    function: Any
    bprop: Any
    at_once: Any
    scope: str = ""


@dataclass(frozen=True)
class Recomputed:
    """Calling the object is calling `function`, of which a gradient keeps nothing but its inputs.

    at_once: (function, args, kwargs) -> the same for another function in eager mode;   scope names it in errors
    """
    function: Any
    at_once: Any
    scope: str = ""


@dataclass(frozen=True)
class Hooked:
    """Calling the object does what `call`, another of these, says, between hooks that see, and may replace, gradients.

    before : functions (owner, gradients of the results); backwards they come first
    after  : functions (owner, gradients of the arguments, what `before` has let go on)
    at_once: (function, args, kwargs) -> the same for another function in eager mode
    """
    call: Any
    owner: Any
    before: tuple
    after: tuple
    at_once: Any


@dataclass(frozen=True)
class Gate:
    """Calling the object with (values, hook) gives the values; the gradients of the Tensors among them pass
    hook(gradients)."""


@dataclass(frozen=True)
class CallOfModule:
    """Calling the object is executing a typed graph, a mindir.file.Module."""
    module: Any


@dataclass(frozen=True)
class CallOfModuleFor:
    """Calling the object is executing the mindir.file.Module that function(*abstracts of the arguments) gives."""
    function: Any


@dataclass(frozen=True)
class Mapped:
    """Calling the object maps `function` over axes of its arguments: in_axes and out_axes as jax.vmap takes them.

    may_draw : random operators are allowed in the function; the items get the same numbers
    """
    function: Any
    in_axes: Any = 0
    out_axes: Any = 0
    may_draw: bool = True
