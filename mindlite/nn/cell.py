"""Cell: a layer or network, its parameters, its children, and the call of its `construct`.

    class Net(nn.Cell):                         net = Net()
        def __init__(self):                     net.parameters_dict()    {"dense.weight": .., "dense.bias": ..}
            super().__init__()                  net(x)                   hooks, casts, construct; in GRAPH_MODE one grap
            self.dense = nn.Dense(3, 4)         print(net)               Net<
        def construct(self, x):                                            (dense): Dense(input_channels=3, ..)
            return self.dense(x)                                           >

Assigning a Parameter or a Cell to an attribute registers it (registry.py); this file holds the modes, the hooks, the
call and the printed form.
"""
from __future__ import annotations

import inspect
import itertools
import textwrap
import weakref
from collections import OrderedDict
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Function
from ..common.config import GRAPH_MODE, config
from ..common.device import device as device_named
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, GradientError, HookError, MissingAttributeError, user_location
from ..common.storage import moved
from ..common.tensor import Tensor
from ..functional.autocast import WithPolicy
from ..functional.cell import compiled_cell, run_as_graph
from ..functional.jit import Jitted
from ..mindir.hooks import replaced
from ..mindir.primitive import is_interpreting
from ..mindir.protocol import CallOf, CustomGradient, Hooked, Recomputed
from ..ops import cast
from ..pynative import custom, gate, is_recording, is_watched, recompute
from .checked import checked
from .parallel_settings import ParallelSettings
from .registry import This
from .states import States

_FLAG_TYPES = {"fp16": dt.float16, "fp32": dt.float32, "bf16": dt.bfloat16}
_hook_numbers = itertools.count()
P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Constructs(Protocol[P, R]):
    """What has a `construct`: calling a Cell takes what that takes and gives what that gives."""

    def construct(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the Cell computes."""


class HookHandle:
    """What registering a hook returns: `remove()` takes the hook away again; a second time it does nothing."""

    def __init__(self, cell: Cell, hooks: dict) -> None:
        self._cell, self._hooks, self._number = weakref.ref(cell), hooks, next(_hook_numbers)

    @property
    def handle_id(self) -> int:
        """The number under which the hook is kept."""
        return self._number

    def remove(self) -> None:
        """Take the hook away."""
        cell = self._cell()
        if self._hooks.pop(self._number, None) is not None and cell is not None:
            cell._touch()


class Cell(States, ParallelSettings):
    """Base of all layers and networks: a subclass defines `construct`.

    auto_prefix : give the parameters below a child, when it is assigned, names that start with the attribute's
    flags       : {name: value} set by `add_flags`
    raises      : MissingAttributeError where a Parameter or Cell is assigned before super().__init__() has run
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "__init__" in cls.__dict__ and cls.__module__.startswith("mindlite."):
            setattr(cls, "__init__", checked(cls.__dict__["__init__"]))

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        self._register_nothing(auto_prefix)
        self._hook_no_states()
        made = self.__dict__
        made["_forward_pre_hooks"], made["_forward_hooks"] = OrderedDict(), OrderedDict()
        made["_backward_pre_hooks"], made["_backward_hooks"] = OrderedDict(), OrderedDict()
        made["_flags"], made["_dst_type"], made["_inputs"], made["_jit_config"] = {}, None, None, {}
        made["_recompute"], made["_policy"], made["_out_type"] = False, None, None
        made["training"], made["requires_grad"] = False, False
        if flags:
            self.add_flags(**flags)

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @property
    def param_prefix(self) -> str:
        """The path from the outermost Cell to this one, as `update_cell_prefix` left it."""
        return self._param_prefix

    # ---------------------------------------------------------------- modes and flags

    def add_flags(self: This, **flags: Any) -> This:
        """Set flags of this Cell, which are attributes too; returns self."""
        self._flags.update(flags)
        for name, value in flags.items():
            setattr(self, name, value)
        return self

    def add_flags_recursive(self: This, **flags: Any) -> This:
        """Set flags of this Cell and all below; returns self."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """{name: value} of the flags."""
        return self._flags

    def recompute(self, mp_comm_recompute: bool = True, parallel_optimizer_comm_recompute: bool = False) -> None:
        """A gradient keeps nothing of this Cell but its inputs: construct runs again when its gradient is made.

        A Cell with a `bprop` is not run again. The arguments are MindSpore's, for parallel runs.
        """
        self.__dict__["_recompute"] = not hasattr(type(self), "bprop")

    @property
    def has_bprop(self) -> bool:
        """True where the class has a `bprop` of its own, which makes the gradient."""
        return hasattr(type(self), "bprop")

    def to_empty(self: This, *, device: str | None = None, recurse: bool = True) -> This:
        """Give every Parameter and Buffer memory of its own, whose numbers mean nothing until they are set; returns self.

        device  : the device of the memory, None for that on which each lies now
        recurse : bool; False: those of this Cell only
        raises  : DeviceError for a device that is not here
        """
        wanted = None if device is None else device_named(device, "to_empty")
        for x in (*self.get_parameters(expand=recurse), *self.buffers(recurse)):
            x.elements = moved(np.empty(x.shape, x.dtype.numpy), wanted or x.device_of)
        return self

    def get_scope(self) -> str | None:
        """What MindSpore puts before the names of this Cell's operators: "recompute_" where it is run again, or None."""
        return "recompute_" if self._recompute else None

    def set_train(self: This, mode: bool = True) -> This:
        """Set `training` here and below; returns self."""
        return self.add_flags_recursive(training=bool(mode))

    def set_grad(self: This, requires_grad: bool = True) -> This:
        """Set the flag `requires_grad` here and below; returns self."""
        return self.add_flags_recursive(requires_grad=bool(requires_grad))

    def to_float(self: This, dst_type: DTypeLike) -> This:
        """Compute in `dst_type` here and below: float inputs, and the weights of layers, are cast to it; returns self.

        dst_type : float16, bfloat16 or float32
        raises   : ArgumentError for another one
        """
        names = [name for name, dtype in _FLAG_TYPES.items() if dtype is dt.dtype(dst_type)]
        if not names:
            raise ArgumentError(f"to_float: takes float16, bfloat16 or float32, not {dst_type}")
        self.add_flags_recursive(**{name: name in names for name in _FLAG_TYPES})
        for _, cell in self.cells_and_names():
            cell._dst_type = dt.dtype(dst_type)
        return self

    def mix_precision(self, policy: Any = None, out_type: Any = None) -> None:
        """What mindlite.amp sets: the policy (ops.autocast) under which construct runs, None for none, and the dtype to
        which float results are cast, None for as they are."""
        self.__dict__["_policy"], self.__dict__["_out_type"] = policy, out_type
        self._touch()

    def cast_param(self, param: Any) -> Any:
        """`param`, cast to what `to_float` set, if it did; None for None. Layers read their weights through this."""
        if param is None or self._dst_type is None or param.dtype is self._dst_type or not param.dtype.is_float:
            return param
        return cast(param, dtype=self._dst_type)

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Declare the inputs of the compiled Cell (graph mode, `jit`): Tensors whose shape may hold None or Symbols, by position
        or by name."""
        if inputs and kwargs:
            raise ArgumentError("set_inputs: takes inputs by position or by name, not both")
        if kwargs:
            names = [p.name for p in inspect.signature(self.construct).parameters.values()]
            unknown = [name for name in kwargs if name not in names]
            if unknown:
                raise ArgumentError(f"set_inputs: construct has no argument named {unknown[0]!r}", note=str(names))
            inputs = tuple(kwargs.get(name) for name in names[:max(map(names.index, kwargs)) + 1])
        self._inputs = inputs
        if isinstance(self.construct, Jitted):
            self.construct.set_options({**self.construct.options, "inputs": inputs})

    def set_jit_config(self, jit_config: Any) -> None:
        """How graph mode compiles this Cell: a JitConfig."""
        level = jit_config.jit_level or None
        self.__dict__["_jit_config"] = {"jit_level": "O1" if level == "O2" else level,
                                        "fullgraph": jit_config.fullgraph}

    def get_jit_config(self) -> dict[str, Any]:
        """What `set_jit_config` said, as keyword arguments of compilation."""
        return self._jit_config

    def get_inputs(self) -> tuple | None:
        """What `set_inputs` declared, a tuple, or None."""
        return self._inputs

    @property
    def jit_config_dict(self) -> dict[str, Any]:
        """What `set_jit_config` said."""
        return self._jit_config

    # ---------------------------------------------------------------- compiling

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this Cell as one graph for these arguments, without running it."""
        compiled_cell(self).select(args, kwargs)

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Compile this Cell as one graph for these arguments, and run it. Gives what it gives."""
        return run_as_graph(self, args, kwargs)

    def run_construct(self, cast_inputs: tuple, kwargs: dict[str, Any]) -> Any:
        """construct(*cast_inputs, **kwargs), with hooks and casts."""
        return self._entry()(*cast_inputs, **kwargs)

    @property
    def phase(self) -> str:
        """A word for what is being compiled, as `Model` sets it: "train", "eval", "predict"; it changes nothing."""
        return self.__dict__.get("_phase", "train" if self.training else "predict")

    @phase.setter
    def phase(self, word: str) -> None:
        self.__dict__["_phase"] = word

    # ---------------------------------------------------------------- hooks

    def register_forward_pre_hook(self, hook_fn: Function, with_kwargs: bool = False, *, prepend: bool = False) -> HookHandle:
        """Call hook_fn(cell, inputs) before construct; what it returns, unless None, replaces the inputs.

        Returns a HookHandle.
        prepend : before the hooks that are there already
        with_kwargs : hook_fn(cell, inputs, kwargs), which returns None or (inputs, kwargs)
        """
        return self._add_hook(self._forward_pre_hooks, hook_fn, with_kwargs, prepend)

    def register_forward_hook(self, hook_fn: Function, with_kwargs: bool = False, *, prepend: bool = False) -> HookHandle:
        """Call hook_fn(cell, inputs, output) after construct; what it returns, unless None, replaces the output.

        prepend : before the hooks that are there already
        with_kwargs : hook_fn(cell, inputs, kwargs, output)
        """
        return self._add_hook(self._forward_hooks, hook_fn, with_kwargs, prepend)

    def register_backward_pre_hook(self, hook_fn: Function) -> HookHandle:
        """Call hook_fn(cell, grad_output) before the Cell's gradient is computed."""
        return self._add_hook(self._backward_pre_hooks, hook_fn, False)

    def register_backward_hook(self, hook_fn: Function) -> HookHandle:
        """Call hook_fn(cell, grad_input, grad_output) after the Cell's gradient is computed."""
        return self._add_hook(self._backward_hooks, hook_fn, False)

    def _add_hook(self, hooks: OrderedDict, hook: Function, with_kwargs: bool, prepend: bool = False) -> HookHandle:
        if not callable(hook):
            raise ArgumentError(f"{type(self).__name__}: a hook is a function, not {type(hook).__name__}")
        handle = HookHandle(self, hooks)
        hooks[handle.handle_id] = (hook, with_kwargs)
        if prepend:
            hooks.move_to_end(handle.handle_id, last=False)
        self._touch()
        return handle

    # ---------------------------------------------------------------- the call

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """What the Cell computes; a subclass defines it."""
        raise MissingAttributeError(f"{type(self).__name__}: the method construct is not defined").at(user_location())

    def __call__(self: Constructs[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        cell: Any = self
        _check_arguments(cell, args, kwargs)
        if config.mode == GRAPH_MODE and not is_interpreting():
            return run_as_graph(cell, args, kwargs)
        if is_recording():
            return cell._recorded(args, kwargs)
        return cell._entry()(*args, **kwargs)

    def _recorded(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call while a gradient is being made: with the `bprop` of the class, or run again for the gradient, and
        between the backward hooks."""
        if self._backward_hooks or self._backward_pre_hooks:
            return self._between_backward_hooks(self._differentiated, args, kwargs)
        return self._differentiated(*args, **kwargs)

    def _differentiated(self, *args: Any, **kwargs: Any) -> Any:
        entry = self._entry()
        if hasattr(type(self), "bprop"):
            if config.mindspore_rules and hasattr(type(self.bprop), "__mindir__"):
                raise GradientError(f"{type(self).__name__}.bprop is compiled by jit, which MindSpore refuses here",
                                    hint="leave out @jit: the gradient is compiled as a whole in GRAPH_MODE")
            return custom(entry, self.bprop, args, kwargs)
        return recompute(entry, *args, **kwargs) if self._recompute else entry(*args, **kwargs)

    def _between_backward_hooks(self, run: Function, args: tuple, kwargs: dict[str, Any]) -> Any:
        """run(*args, **kwargs), on a tape between gates; infer/gates.py does the same in graphs."""
        outgoing, silent, gates = None, None, True          # outgoing: None while nothing has come to the results

        def before(grads):
            nonlocal outgoing
            for hook, _ in tuple(self._backward_pre_hooks.values()):
                grads = replaced(hook(self, grads), grads)
            outgoing = grads
            if silent is not None:
                after(silent)
            return grads

        def after(grads):
            nonlocal outgoing
            seen, outgoing = outgoing if gates else (), None
            for hook, _ in tuple(self._backward_hooks.values()) if seen is not None else ():
                grads = replaced(hook(self, grads, seen), grads)
            return grads
        if is_watched(args):
            args = gate(args, after)
        else:                                               # only weights: the hooks see that inputs have no gradient
            silent = (None,) * sum(hasattr(arg, "register_hook") for arg in args)
        output = run(*args, **kwargs)
        gates = any(isinstance(x, Tensor) for x in (output if isinstance(output, tuple) else (output,)))
        return gate(output, before) if isinstance(output, tuple) else gate((output,), before)[0]

    def __mindir__(self) -> Any:
        """Calling the Cell in a graph is calling its construct, between its hooks and casts where it has any."""
        called = self._called()
        if not (self._backward_hooks or self._backward_pre_hooks):
            return called
        before, after = [tuple([hook for hook, _ in hooks.values()])
                         for hooks in (self._backward_pre_hooks, self._backward_hooks)]
        return Hooked(called, self, before, after, self._between_backward_hooks)

    def _called(self) -> Any:
        scope = type(self).__qualname__.replace("<locals>.", "")
        if hasattr(type(self), "bprop"):
            return CustomGradient(self._entry(), self.bprop, scope=scope,
                                  at_once=lambda run, args, kwargs: custom(run, self.bprop, args, kwargs))
        if self._recompute:
            return Recomputed(self._entry(), lambda run, args, kwargs: recompute(run, *args, **kwargs), scope)
        return CallOf(self._entry(), scope=scope)

    def _entry(self) -> Any:
        around = self._forward_pre_hooks or self._forward_hooks or self._dst_type is not None or self._out_type is not None
        entry = self._construct_between_hooks if around else self.construct
        return entry if self._policy is None else WithPolicy(entry, self._policy)

    def _construct_between_hooks(self, *args: Any, **kwargs: Any) -> Any:      # plain Python: parsed in graphs, run in eager mode
        for hook, with_kwargs in tuple(self._forward_pre_hooks.values()):
            if with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise HookError("a forward pre hook with kwargs gives None or (args, kwargs)")
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        if self._dst_type is not None:
            args = tuple([_cast_floats(arg, self._dst_type) for arg in args])
            kwargs = {name: _cast_floats(arg, self._dst_type) for name, arg in kwargs.items()}
        output = self.construct(*args, **kwargs)
        for hook, with_kwargs in tuple(self._forward_hooks.values()):
            changed = hook(self, args, kwargs, output) if with_kwargs else hook(self, args, output)
            if changed is not None:
                output = changed
        return output if self._out_type is None else _cast_floats(output, self._out_type)

    # ---------------------------------------------------------------- printing

    def extend_repr(self) -> str:
        """What stands between the angle brackets: a subclass names its settings."""
        return ""

    def __repr__(self) -> str:
        if "_cells" not in self.__dict__:
            return f"{type(self).__name__}(not initialised)"
        extra = self.extend_repr()
        if not self._cells:
            return f"{type(self).__name__}({extra})"
        lines = ([extra] if extra else []) + [f"({name}): {cell!r}" for name, cell in self._cells.items()]
        return f"{type(self).__name__}(\n" + textwrap.indent("\n".join(lines), "  ") + "\n)"


def _cast_floats(value: Any, dtype: dt.DType) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_cast_floats(x, dtype) for x in value])
    if hasattr(value, "dtype") and value.dtype is not dtype and value.dtype.is_float:
        return cast(value, dtype=dtype)
    return value


_signatures: dict = {}          # construct's function -> (signature, least and most arguments by position)


def _signature_of(function: Function) -> tuple:
    known = _signatures.get(function)
    if known is None:
        signature = inspect.signature(function)
        params = list(signature.parameters.values())[1:]
        positions = [p for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        least: float = sum(p.default is p.empty for p in positions)
        if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in params):
            least = float("inf")                                # arguments by position only never do
        most = float("inf") if any(p.kind is p.VAR_POSITIONAL for p in params) else len(positions)
        known = _signatures[function] = (signature, least, most)
    return known


def _check_arguments(cell: Cell, args: tuple, kwargs: dict[str, Any]) -> None:
    """raises : ArgumentError where the arguments do not fit construct"""
    function = getattr(type(cell).construct, "__func__", type(cell).construct)
    if "construct" in cell.__dict__ or not inspect.isfunction(function):
        return                                            # replaced on the instance, or wrapped: it checks for itself
    signature, least, most = _signature_of(function)
    if not kwargs and least <= len(args) <= most:
        return
    try:
        signature.bind(cell, *args, **kwargs)
    except TypeError as error:
        shown = str(signature.replace(parameters=list(signature.parameters.values())[1:]))
        raise ArgumentError(f"{type(cell).__name__}.construct: {error}",
                            note=f"{len(args)} given by position" + (f", {sorted(kwargs)} by name" if kwargs else ""),
                            hint=f"construct{shown}").at(user_location()) from None
