"""The state of a Cell by path: Parameters, persistent buffers and what a class adds, taken out and given back.

    state = net.state_dict()            {"dense.weight": .., "norm.mean": ..}, which shares memory with the Cell
    net.load_state_dict(state)          (missing paths, unexpected paths)

Hooks see both, and `to` casts and moves all of it.
"""
from __future__ import annotations

import itertools
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any, Callable

from ..common import dtype as dt
from ..common.errors import ArgumentError, MindliteError
from ..common.tensor import Parameter, Tensor
from .registry import Registry

EXTRA = "_extra_state"
Fit = namedtuple("Fit", ["missing_keys", "unexpected_keys"])
_numbers = itertools.count()


class StateError(ArgumentError, RuntimeError):
    """A state that does not fit."""


class DuplicateNameError(MindliteError, ValueError):
    """Two Parameters of one name."""


class StateHandle:
    """What registering a hook of states returns: `remove()` takes it away again."""

    def __init__(self, hooks: dict[int, Callable], hook: Callable) -> None:
        self.handle_id, self._hooks = next(_numbers), hooks
        hooks[self.handle_id] = hook

    def remove(self) -> None:
        """Take the hook away."""
        self._hooks.pop(self.handle_id, None)


class States(Registry):
    """The methods of a Cell that read and write its whole state."""

    def _hook_no_states(self) -> None:
        for name in ("_state_pre_hooks", "_state_post_hooks", "_load_pre_hooks", "_load_post_hooks"):
            self.__dict__[name] = OrderedDict()

    def _state_hook(self, name: str, hook: Callable) -> StateHandle:
        if not callable(hook):
            raise ArgumentError(f"{type(self).__name__}: a hook is a function, not {type(hook).__name__}")
        return StateHandle(self.__dict__[name], hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> StateHandle:
        """Call hook(cell, prefix, keep_vars) before this Cell's part of a `state_dict`."""
        return self._state_hook("_state_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> StateHandle:
        """Call hook(cell, state, prefix, metadata) after it; the hook may change state, and gives None."""
        return self._state_hook("_state_post_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> StateHandle:
        """Call hook(cell, state, prefix, metadata, strict, missing, unexpected, errors) before this Cell takes its part."""
        return self._state_hook("_load_pre_hooks", hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> StateHandle:
        """Call hook(cell, (missing, unexpected)) after it and all below; the hook may change the lists, and gives None."""
        return self._state_hook("_load_post_hooks", hook)

    def get_extra_state(self) -> Any:
        """What a class has beside Parameters and buffers; it stands in `state_dict` where a class defines this."""
        raise StateError(f"{type(self).__name__} does not define get_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Take back what get_extra_state gave; a class that defines the one defines the other."""
        raise StateError(f"{type(self).__name__} does not define set_extra_state(state)")

    def _has_extra(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(States, name)

    def _own_state(self) -> dict[str, Tensor]:
        """{name: Parameter or persistent buffer} of this Cell only."""
        found = {name: param for name, param in self._params.items() if param is not None}
        found.update((name, tensor) for name, tensor in self._buffers.items()
                     if tensor is not None and name not in self._transient)
        return found

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """{path: Parameter or persistent buffer}, sharing memory with the Cell, and {path + "_extra_state": ..}.

        destination : a dict that is filled and given back;   prefix : what stands before each path
        keep_vars   : MindSpore's; what is given are the Parameters themselves
        raises      : ArgumentError; StateError where a post hook gives something
        """
        if args and isinstance(args[0], str):
            args = (None, *args)
        destination = args[0] if args and destination is None else destination
        prefix = args[1] if len(args) > 1 and not prefix else prefix
        if destination is not None and not isinstance(destination, dict) or not isinstance(prefix, str):
            raise ArgumentError("state_dict: destination is a dict and prefix a string")
        state = OrderedDict() if destination is None else destination
        for hook in tuple(self._state_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        state.update((prefix + name, value) for name, value in self._own_state().items())
        if self._has_extra("get_extra_state"):
            state[prefix + EXTRA] = self.get_extra_state()
        for name, cell in self._cells.items():
            cell.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in tuple(self._state_post_hooks.values()):
            if hook(self, state, prefix, {}) is not None:
                raise StateError("state_dict post-hook must return None")
        return state

    def load_state_dict(self, state_dict: Any, strict: bool = True) -> Fit:
        """Take over values by path; gives (missing_keys, unexpected_keys).

        raises : ArgumentError for what is no mapping; StateError, after what fits was taken, if `strict` and there are
                 any of these, or where a value is no Tensor or of another shape
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"load_state_dict: takes a dict, not {type(state_dict).__name__}")
        fit = Fit([], [])
        errors: list = []
        self._load_part(OrderedDict(state_dict), "", fit, errors)
        if strict and fit.unexpected_keys:
            errors.insert(0, f"Unexpected key(s) in state_dict: {', '.join(map(repr, fit.unexpected_keys))}")
        if strict and fit.missing_keys:
            errors.insert(0, f"Missing key(s) in state_dict: {', '.join(map(repr, fit.missing_keys))}")
        if errors:
            raise StateError(f"{type(self).__name__}: the state does not fit", note="; ".join(errors),
                             hint="strict=False takes over what fits")
        return fit

    def _load_part(self, state: dict[str, Any], prefix: str, fit: Fit, errors: list[str]) -> None:
        for hook in tuple(self._load_pre_hooks.values()):
            hook(self, state, prefix, {}, True, fit.missing_keys, fit.unexpected_keys, errors)
        own = self._own_state()
        for name, value in own.items():
            path = prefix + name
            if path not in state:
                fit.missing_keys.append(path)
                continue
            given = state[path]
            given = given if isinstance(given, Tensor) or not hasattr(given, "dtype") else Tensor(given)
            if not isinstance(given, Tensor):
                errors.append(f"{path} is a {type(given).__name__}, no Tensor")
            elif tuple(given.shape) != tuple(value.shape):
                errors.append(f"size mismatch for {path}: shape {list(given.shape)} in the state, {list(value.shape)} here")
            else:
                value.overwrite(given)
        if self._has_extra("set_extra_state"):
            if prefix + EXTRA in state:
                self.set_extra_state(state[prefix + EXTRA])
            else:
                fit.missing_keys.append(prefix + EXTRA)
        known = {*own, *([EXTRA] if self._has_extra("set_extra_state") else [])}
        for path in state:
            first, _, rest = path[len(prefix):].partition(".")
            if path.startswith(prefix) and (first not in self._cells if rest else first not in known):
                fit.unexpected_keys.append(path)
        for name, cell in self._cells.items():
            below = f"{prefix}{name}."
            cell._load_part({path: value for path, value in state.items() if path.startswith(below)}, below, fit, errors)
        for hook in tuple(self._load_post_hooks.values()):
            if hook(self, fit) is not None:
                raise StateError("a post hook of load_state_dict gives None", hint="change the lists that it is given")

    # ---------------------------------------------------------------- all values

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Cast all float Parameters and buffers to a dtype; returns self.

        to(dtype), to(device), to(device, dtype) or by name (device, dtype, non_blocking): devices as Tensor.to takes them
        raises : as Tensor.to
        """
        dtype = kwargs.pop("dtype", None)
        places = []
        for value in args:
            if isinstance(value, dt.DType):
                dtype = value
            elif isinstance(value, Tensor):
                dtype = value.dtype
            else:
                places.append(value)
        place = kwargs.get("device", places[0] if places else None)
        for _, cell in self.cells_and_names():
            for name, value in cell._own_state().items():
                kind = dtype if dtype is not None and value.dtype.kind in "fc" else value.dtype
                moved = value if place is None else value.to(place)
                if kind is value.dtype and moved is value:
                    continue
                moved = moved if kind is value.dtype else moved.astype(kind)
                if isinstance(value, Parameter):
                    made = Parameter(moved, value.name, value.requires_grad, value.layerwise_parallel, value.parallel_optimizer)
                    cell._params[name] = cell.__dict__[name] = made
                else:
                    cell._buffers[name] = cell.__dict__[name] = moved
            cell._touch()
        return self

    def check_names(self) -> None:
        """raises : DuplicateNameError where two Parameters have one name"""
        seen: set[str] = set()
        for path, param in self.parameters_and_names():
            if param.name in seen:
                raise DuplicateNameError(f"the Parameter {path} has the name {param.name!r}, which another one has already",
                                         hint="give it a name of its own")
            seen.add(param.name)

    def check_names_and_refresh_name(self) -> None:
        """Name each Parameter that has no name by its path, then `check_names`."""
        for path, param in self.parameters_and_names():
            if param.name == "Parameter":
                param.name = path
        self.check_names()

    def cast_inputs(self, inputs: tuple, dst_type: Any) -> tuple:
        """The inputs, float Tensors among them in dst_type."""
        return tuple([x.astype(dst_type) if isinstance(x, Tensor) and x.dtype.is_float else x for x in inputs])
