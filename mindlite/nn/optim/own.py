"""What an optimiser of one's own uses besides what it defines: MindSpore's protected names of Optimizer, and what it was made of.

    class Mine(nn.Optimizer):
        def construct(self, gradients):
            gradients = self.scale_grad(self.flatten_gradients(gradients))
            for param, grad in zip(self._parameters, gradients):
                ops.assign(param, param - self.get_lr() * grad)
            self.assignadd(self.global_step, self.global_step_increase_tensor)
            return True
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.config import config
from ...common.device import known_kind
from ...common.errors import ArgumentError
from ...common.tensor import Tensor
from ...functional.composite import HyperMap, Map
from ..cell import Cell


def opt_init_args_register(init: Callable[..., None]) -> Callable[..., None]:
    """MindSpore's mark for the `__init__` of an optimiser of one's own: `init` itself, as each tells its `init_args` anyway."""
    return init


def _remembering(init: Callable[..., None]) -> Callable[..., None]:
    """`init` that leaves its arguments in the object; a subclass's, which ends later, takes the place of its base's."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def remembering(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        self.__dict__["_given"] = signature.bind(self, *args, **kwargs)
    return remembering


class MadeOf(Cell):
    """A Cell that tells what it was made of, so that another can be made of other parameters."""

    own_args: tuple[str, ...] = ("params", "learning_rate", "optimizer")     # those that are not in init_args
    _given: inspect.BoundArguments

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            cls.__init__ = _remembering(cls.__init__)                   # type: ignore[method-assign]

    @property
    def init_args(self) -> dict[str, Any]:
        """The arguments and defaults that it was made with, by name, but for parameters and learning rate."""
        given = self._given
        given.apply_defaults()
        found = dict(list(given.arguments.items())[1:])
        for parameter in given.signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                found.update(found.pop(parameter.name))
        return {name: value for name, value in found.items() if name not in self.own_args}


class UntilSet:
    """A property in whose place a subclass may set an attribute of its own."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __get__(self, owner: Any, cls: type) -> Any:
        return self if owner is None else self.compute(owner)


class Own(MadeOf):
    """The names by which a `construct` of one's own reads an Optimizer."""

    parameters: Any
    loss_scale: float
    _decays: tuple
    _target: str | None = None

    hyper_map, map_ = HyperMap(), Map()
    use_parallel = False                     # each rank holds all parameters; ZeRO shares states by placements

    @UntilSet
    def reciprocal_scale(self) -> float:
        """1 / loss_scale, the factor of gradients."""
        return 1.0 / self.loss_scale

    @UntilSet
    def exec_weight_decay(self) -> bool:
        """True where any parameter decays."""
        return any(isinstance(decay, Cell) or decay > 0 for decay in self._decays)

    @UntilSet
    def dynamic_weight_decay(self) -> bool:
        """True where a weight decay depends on the step."""
        return any(isinstance(decay, Cell) for decay in self._decays)

    @UntilSet
    def param_length(self) -> int:
        """The number of parameters."""
        return len(self.parameters)

    @UntilSet
    def optim_filter(self) -> tuple[bool, ...]:
        """Which parameters this rank updates: all."""
        return (True,) * len(self.parameters)

    @UntilSet
    def ps_parameters(self) -> tuple[bool, ...]:
        """Which parameters a parameter server holds, and, of `cache_enable`, keeps a cache of: none."""
        return (False,) * len(self.parameters)

    cache_enable = ps_parameters

    @UntilSet
    def global_step_increase_tensor(self) -> Tensor:
        """What each step adds to global_step, i32[1]."""
        return Tensor([1], dt.int32)

    @staticmethod
    def assignadd(param: Any, value: Any) -> Any:
        """param += value, two Tensors of one shape: ops.assign_add."""
        return ops.assign_add(param, value)

    @staticmethod
    def flatten_gradients(gradients: Any) -> Any:
        """`gradients`, a tuple of Tensors, as they are: each lies in memory of its own."""
        return gradients

    def _grad_sparse_indices_deduplicate(self, gradients: Any) -> Any:
        return gradients                     # gradients are dense

    def broadcast_params(self, optim_result: Any) -> Any:
        """`optim_result`, a tuple of Tensors, as it is: no rank updates parameters of another."""
        return optim_result

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        return self.dynamic_lr or self.dynamic_weight_decay

    @UntilSet
    def dynamic_lr(self) -> bool:
        """True where a learning rate depends on the step."""
        raise NotImplementedError

    @property
    def target(self) -> str:
        """The kind of device that updates the parameters, a str; here they are updated where they lie."""
        return self._target or config.device_target

    @target.setter
    def target(self, value: str) -> None:
        self._set_base_target(value)

    def _set_base_target(self, value: str) -> None:
        if not isinstance(value, str):
            raise ArgumentError(f"{type(self).__name__}: target is a str, not {type(value).__name__}")
        self._target = known_kind(value, "target")
