"""The base of optimisers with `param_groups`: lists of Parameters with settings of their own.

    param_groups = [{"params": [..], "lr": Parameter f32[], "weight_decay": 0.0, "betas": (0.9, 0.999), ..}, ..]

A subclass says which states each Parameter has, and how one is updated: plain Python over ops, which runs line by line or
becomes one graph. Learning rates are Parameters, so that a compiled step sees a schedule change them.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, ValueRangeError
from ...common.tensor import Parameter, ParameterTuple, Tensor
from ...ops.optim_update import check_gradients
from ..cell import Cell


class Optimizer(Cell):
    """Base of optimisers with groups.

    params   : Parameters, or dicts with "params" and any of the settings;  defaults : {setting: value} for groups without it
    raises   : ArgumentError for what is no Parameter, ValueRangeError for none, a Parameter in two groups, or a setting
               outside its range
    """

    DECAYS_GRADIENTS = True                          # weight_decay * p is added to the gradient
    STATES: tuple[str, ...] = ()                     # one Parameter of zeros like each Parameter, named "<state>.<name>"

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(auto_prefix=False)
        self.defaults = {"maximize": False, "weight_decay": 0.0, **defaults}
        self.param_groups: list[dict[str, Any]] = []
        self._keep("parameters", ParameterTuple(()))
        for group in self._as_groups(params):
            self.add_param_group(group)
        self.step_t = Parameter(Tensor(0, dt.int32), name="step_t", requires_grad=False)
        for name in self.STATES:
            setattr(self, name, self._state(name, 0.0))

    def _state(self, name: str, value: float) -> ParameterTuple:
        made = self.parameters.clone(name, value)
        for state in made:
            state.requires_grad = False
        return made

    def _as_groups(self, params: Any) -> list[dict[str, Any]]:
        if isinstance(params, (Parameter, str, dict)) or not isinstance(params, Iterable):
            raise ArgumentError(f"{type(self).__name__}: params is an iterable of Parameters or dicts, "
                                f"not {type(params).__name__}")
        items = list(params)
        if not items:
            raise ValueRangeError(f"{type(self).__name__}: the argument params must not be empty")
        return items if isinstance(items[0], dict) else [{"params": items}]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group before the first step; settings that it leaves out are the defaults."""
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise ArgumentError(f"{type(self).__name__}: a group is a dict with the key 'params'")
        if isinstance(param_group["params"], set):
            raise ArgumentError(f"{type(self).__name__}: a set of Parameters has no order", hint="a list")
        params = param_group["params"]
        params = [params] if isinstance(params, Parameter) else list(params)
        for param in params:
            if not isinstance(param, Parameter):
                raise ArgumentError(f"{type(self).__name__}: a group's params are Parameters, not {type(param).__name__}")
        known = {id(param) for param in self.parameters}
        if len({id(param) for param in params} | known) < len(params) + len(known):
            raise ValueRangeError(f"{type(self).__name__}: some parameters appear in more than one parameter group")
        group = {**self.defaults, **param_group, "params": params}
        self._check(group)
        number = len(self.param_groups)
        rate = group["lr"]
        group["lr"] = Parameter(Tensor(rate, dt.float32), name=f"learning_rate_group_{number}", requires_grad=False)
        setattr(self, f"learning_rate_group_{number}", group["lr"])
        self.param_groups.append(group)
        self._keep("parameters", ParameterTuple((*self.parameters, *params)))

    def _check(self, group: dict[str, Any]) -> None:
        owner = type(self).__name__
        for name in ("lr", "eps", "weight_decay", "momentum", "alpha", "rho", "lr_decay", "momentum_decay"):
            value = group.get(name, 0)
            if isinstance(value, Tensor) and name == "lr" and value.ndim == 0:
                value = value.item()
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ArgumentError(f"{owner}: {name} is a number, not {type(value).__name__}")
            if value < 0:
                raise ValueRangeError(f"{owner}: {name} {value} is below 0")
        for beta in group.get("betas", ()):
            if not 0 <= beta < 1:
                raise ValueRangeError(f"{owner}: betas are in [0, 1), not {group['betas']}")
        for name in ("maximize", "amsgrad", "nesterov", "centered"):
            if not isinstance(group.get(name, False), bool):
                raise ArgumentError(f"{owner}: {name} is a bool, not {type(group[name]).__name__}")

    @property
    def lrs(self) -> list[Any]:
        """The learning rate of each group."""
        return [group["lr"] for group in self.param_groups]

    def construct(self, gradients: tuple[Tensor, ...]) -> Any:                  # parsed in graph mode
        check_gradients(type(self).__name__, self.parameters, gradients)
        step = ops.cast(ops.assign_add(self.step_t, 1), dtype=dt.float32)
        number = 0
        for group in self.param_groups:
            for param in group["params"]:
                grad = gradients[number]
                if group["maximize"]:
                    grad = -grad
                if self.DECAYS_GRADIENTS and group["weight_decay"] != 0:
                    grad = grad + group["weight_decay"] * param
                self.update(group, group["lr"], step, number, param, grad)
                number += 1
        return True

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        """Write the new values of the Parameter with this number and of its states; step is f32[], from 1 on."""
        raise NotImplementedError(f"{type(self).__name__} does not define update(..)")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {value.item() if isinstance(value, Tensor) else value}"
                      for key, value in sorted(group.items()) if key != "params"]
        return "\n".join(lines) + ")"
