"""Optimizer: what all optimisers share. Parameters in groups, the learning rate and weight decay of each, and the step.

    groups = [{"params": biases, "lr": 0.1}, {"params": others, "weight_decay": 0.01}, {"order_params": all_of_them}]
    optimizer = nn.Momentum(groups, learning_rate=0.05, momentum=0.9)
    optimizer(gradients)

A subclass gives `update`, which runs over zipped tuples of Parameters and gradients and writes by `ops.assign`: plain
Python that runs line by line or becomes one graph. Learning rates are Parameters or Cells of the step, so that a
compiled step sees them change. Names, order and shapes of what is registered here (global_step, learning rates, the
network's weights, states) are MindSpore's, so that a checkpoint of either loads in the other.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Union

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, MindliteError, ValueRangeError
from ...common.initializer import Init, initializer
from ...common.records import dataclass
from ...common.tensor import Parameter, ParameterTuple, Tensor
from ...ops.optim_update import check_gradients
from ..cell import Cell
from ..layer.container import CellList
from ..learning_rate_schedule import ConstantLR, ListLR
from .own import Own, UntilSet

Params = Union[Iterable[Parameter], Iterable[dict[str, Any]]]
Rate = Union[float, Tensor, Iterable[float], Cell]
Decay = Union[float, Cell]
GROUP_KEYS = ("params", "lr", "weight_decay", "grad_centralization", "order_params")


class ParameterGroupError(MindliteError, ValueError, RuntimeError):
    """Groups that hold a Parameter twice, or other Parameters than order_params."""


@dataclass(frozen=True)
class Group:
    """One group as the user gave it; None where it leaves the optimiser's own setting."""
    params: tuple
    lr: Any = None
    weight_decay: Decay | None = None
    grad_centralization: bool = False


class Optimizer(Own):
    """Base of optimisers.

    learning_rate : number or Tensor f32[]; a list, iterable or Tensor f32[n], one rate per step; a LearningRateSchedule
    parameters    : iterable of Parameters, or of dicts with "params" and optionally "lr", "weight_decay",
                    "grad_centralization"; one dict may be {"order_params": Parameters}, the order of the gradients
    weight_decay  : number, or a Cell of the step; without groups it leaves out parameters named beta or gamma
    loss_scale    : gradients are divided by it
    raises        : ArgumentError for what is no Parameter, ValueRangeError for numbers outside their range,
                    ParameterGroupError for a Parameter that stands twice, or not where order_params says

    With groups, weight_decay, decay_flags and (where rates differ) learning_rate are tuples in the order of parameters.
    """

    gradient_placements: Any = None              # a Placement (or None) for each; None: gradients lie as they come (ZeRO)

    def __init__(self, learning_rate: Rate, parameters: Params, weight_decay: Decay = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        groups, order = self._read_groups(parameters)
        self._keep("init_learning_rate", learning_rate)
        self.is_group, self.is_group_params_ordered = groups is not None, bool(order) and groups is not None
        if groups is None:
            groups = [Group(order)]
        params = order if order else tuple(param for group in groups for param in group.params)
        names = [param.name for param in params]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            self._refuse(f"two parameters are named {sorted(twice)[0]!r}", ParameterGroupError,
                         hint="each stands in one group, once")
        group_of = {id(param): number for number, group in enumerate(groups) for param in group.params}
        self._place = tuple(group_of[id(param)] for param in params)
        self.is_group_lr = any(group.lr is not None for group in groups)
        if isinstance(loss_scale, bool) or not isinstance(loss_scale, (int, float)) or loss_scale <= 0:
            self._refuse(f"loss_scale is a positive number, not {loss_scale!r}", ValueRangeError)
        self.loss_scale, self.need_scale = float(loss_scale), loss_scale != 1
        self.global_step = Parameter(initializer("zeros", (1,), dt.int32), name="global_step")
        self._make_rates(learning_rate, groups)
        self.parameters = ParameterTuple(params)
        self._keep("_parameters", self.parameters)
        self._make_decays(weight_decay, groups, params)
        self._centralized = tuple(groups[place].grad_centralization for place in self._place)

    def _refuse(self, message: str, kind: type[Exception] = ArgumentError, **fields: Any) -> NoReturn:
        raise kind(f"{type(self).__name__}: {message}", **fields)

    # ---------------------------------------------------------------- groups

    def _read_groups(self, parameters: Any) -> tuple[list[Group] | None, tuple[Parameter, ...]]:
        """(groups, order): groups is None where the user gave plain Parameters, order () where none is prescribed."""
        if isinstance(parameters, (Parameter, str, dict)) or not isinstance(parameters, Iterable):
            self._refuse(f"parameters is an iterable of Parameters or dicts, not {type(parameters).__name__}")
        items = list(parameters)
        self._keep("init_params", {"params": items})
        if not items:
            raise ValueRangeError(f"For 'Optimizer', the argument parameters must not be empty ({type(self).__name__})")
        if all(isinstance(item, Parameter) for item in items):
            return None, tuple(items)
        groups: list[Group] = []
        order: tuple[Parameter, ...] = ()
        for item in items:
            if not isinstance(item, dict):
                self._refuse(f"parameters holds Parameters or dicts, not {type(item).__name__}")
            unknown = [key for key in item if key not in GROUP_KEYS]
            if unknown:
                self._refuse(f"a group has no key {unknown[0]!r}", hint="keys are " + ", ".join(GROUP_KEYS))
            if "order_params" in item:
                if len(item) > 1:
                    self._refuse("order_params has a dict of its own")
                order = self._only_parameters(item["order_params"])
            elif "params" not in item:
                self._refuse("a group needs the key 'params'")
            else:
                groups.append(Group(self._only_parameters(item["params"]), item.get("lr"), item.get("weight_decay"),
                                    item.get("grad_centralization", False)))
        if order:
            grouped = {id(param) for group in groups for param in group.params}
            if grouped != {id(param) for param in order}:
                self._refuse("order_params and the groups do not hold the same parameters", ParameterGroupError)
        return groups, order

    def _only_parameters(self, params: Any) -> tuple[Parameter, ...]:
        params = tuple(params) if isinstance(params, Iterable) else (params,)
        for param in params:
            if not isinstance(param, Parameter):
                self._refuse(f"a group's params are Parameters, not {type(param).__name__}")
        if not params:
            self._refuse("a group has no parameters", ValueRangeError)
        return params

    # ---------------------------------------------------------------- learning rate

    def _make_rates(self, learning_rate: Rate, groups: Any) -> None:
        if not self.is_group_lr:
            self.learning_rate = self._rate(learning_rate, "learning_rate")
            self._rates = None
            return
        own = self._rate(learning_rate, "learning_rate") if any(group.lr is None for group in groups) else None
        rates = [own if group.lr is None else self._rate(group.lr, f"learning_rate_group_{number}")
                 for number, group in enumerate(groups)]
        counts = {rate.count for rate in rates if isinstance(rate, ListLR)}
        if len(counts) > 1:
            self._refuse(f"lists of learning rates have different lengths, {sorted(counts)}", ValueRangeError)
        if any(isinstance(rate, Cell) for rate in rates):
            constant = {id(rate): ConstantLR(rate) for rate in rates if isinstance(rate, Parameter)}
            rates = [constant.get(id(rate), rate) for rate in rates]
        in_order = [rates[place] for place in self._place]
        self.learning_rate = (CellList(in_order, auto_prefix=False) if isinstance(rates[0], Cell)
                              else ParameterTuple(in_order))
        self._keep("_rates", tuple(rates))

    def _rate(self, rate: Any, name: str) -> Any:
        """The Parameter f32[] or the Cell of the step that gives a learning rate."""
        if isinstance(rate, Cell):
            return rate
        if isinstance(rate, bool) or not isinstance(rate, (int, float, Tensor, Iterable)) or isinstance(rate, str):
            self._refuse(f"learning_rate is a number, Tensor, list or schedule, not {type(rate).__name__}")
        if isinstance(rate, Tensor) and rate.ndim == 0:
            rate = rate.item()
        if isinstance(rate, (int, float)):
            if rate < 0:
                self._refuse(f"learning_rate {rate} is negative", ValueRangeError)
            return Parameter(Tensor(float(rate), dt.float32), name=name)
        return ListLR(rate, name)

    @UntilSet
    def dynamic_lr(self) -> bool:
        """True where a learning rate depends on the step."""
        return any(isinstance(rate, Cell) for rate in self._rates or (self.learning_rate,))

    def get_lr(self) -> Any:
        """The learning rate of this step, a Tensor f32[]; with rates by group, a tuple with that of each parameter."""
        if self._rates is None:
            return self._rate_now(self.learning_rate)
        rates = [self._rate_now(rate) for rate in self._rates]
        return tuple([rates[place] for place in self._place])

    def _rate_now(self, rate: Any) -> Any:
        if isinstance(rate, Parameter):
            return rate
        return ops.reshape(rate(self.global_step), ())

    def get_lr_parameter(self, param: Any) -> Any:
        """What gives the learning rate of `param`: a Parameter f32[], f32[n] with one rate per step, or a schedule.

        For a list of Parameters a list of them. raises : ArgumentError for what is not optimised here
        """
        if isinstance(param, (list, tuple)):
            return [self.get_lr_parameter(item) for item in param]
        for own, place in zip(self.parameters, self._place):
            if own is param:
                rate = self.learning_rate if self._rates is None else self._rates[place]
                return rate.learning_rate if isinstance(rate, (ListLR, ConstantLR)) else rate
        name = repr(param.name) if isinstance(param, Parameter) else repr(param)
        return self._refuse(f"{name} is no parameter that is optimised here")

    # ---------------------------------------------------------------- weight decay

    def _make_decays(self, weight_decay: Any, groups: Any, params: Any) -> None:
        own = self._decay(weight_decay)
        kinds = []
        for number, group in enumerate(groups):
            decay = own if group.weight_decay is None else self._decay(group.weight_decay)
            if isinstance(decay, Cell):
                setattr(self, f"weight_decay_group_{number}", decay)
            kinds.append(decay)
        if self.is_group:
            decays = [kinds[place] for place in self._place]
        else:
            decays = [0.0 if "beta" in param.name or "gamma" in param.name else own for param in params]
        self._decays = tuple(decays)
        if self.is_group:
            self.decay_flags = tuple(isinstance(decay, Cell) or decay > 0 for decay in decays)
            self._keep("weight_decay", tuple(map(self._scaled_decay, decays)))
        else:
            self.decay_flags = tuple("beta" not in param.name and "gamma" not in param.name for param in params)
            self.weight_decay = self._scaled_decay(own)

    def _scaled_decay(self, decay: Any) -> Any:
        return decay if isinstance(decay, Cell) else Tensor(decay * self.loss_scale, dt.float32)

    def decay_everything(self, weight_decay: Decay) -> None:
        """Let weight_decay hold for Parameters named beta or gamma too."""
        self._decays = (self._decay(weight_decay),) * len(self.parameters)
        self.decay_flags = (True,) * len(self.parameters)

    def take_over_decay(self) -> tuple:
        """What decays each Parameter, a tuple of floats and Cells; from now on this optimiser decays and scales nothing."""
        taken, self._decays, self.loss_scale = self._decays, (0.0,) * len(self.parameters), 1.0
        return taken

    def _decay(self, decay: Any) -> Any:
        if isinstance(decay, Cell):
            return decay
        if isinstance(decay, bool) or not isinstance(decay, (int, float)):
            self._refuse(f"weight_decay is a number or a Cell, not {type(decay).__name__}")
        if decay < 0:
            self._refuse(f"weight_decay {decay} is negative", ValueRangeError)
        return float(decay)

    def decays(self) -> tuple:
        """The weight decay of each parameter at this step: a tuple of floats and, from a Cell, Tensors f32[]."""
        return tuple([ops.reshape(decay(self.global_step), ()) if isinstance(decay, Cell) else decay
                      for decay in self._decays])

    def get_weight_decay(self) -> Any:
        """The weight decay of this step times loss_scale, a Tensor f32[]; with groups a tuple with that of each parameter."""
        if self.is_group:
            return tuple([self._decay_now(decay) for decay in self.weight_decay])
        return self._decay_now(self.weight_decay)

    def _decay_now(self, decay: Any) -> Any:
        return ops.reshape(decay(self.global_step), ()) * self.loss_scale if isinstance(decay, Cell) else decay

    def decay_weight(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """gradient + weight_decay * loss_scale * parameter, for each: it comes before `scale_grad`."""
        decayed = []
        for param, grad, decay in zip(self.parameters, gradients, self.decays()):
            if isinstance(decay, float) and decay == 0.0:
                decayed.append(grad)
            else:
                decayed.append(grad + decay * self.loss_scale * param)
        return tuple(decayed)

    # ---------------------------------------------------------------- the step

    def scale_grad(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Gradients divided by loss_scale."""
        if self.loss_scale == 1.0:
            return gradients
        return tuple([grad / self.loss_scale for grad in gradients])

    def gradients_centralization(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Gradients minus their mean over all axes but the first, in the groups that ask for it (Yong et al. 2020)."""
        centred = []
        for grad, wanted in zip(gradients, self._centralized):
            if wanted and grad.ndim > 1:
                grad = grad - ops.mean(grad, tuple(range(1, grad.ndim)), True)
            centred.append(grad)
        return tuple(centred)

    def rates(self) -> tuple[Tensor, ...]:
        """The learning rate of each parameter, a tuple."""
        lr = self.get_lr()
        if self._rates is None:
            lr = (lr,) * len(self.parameters)
        return lr

    def prepared(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Gradients with weight decay added, centralised and scaled: what most `update`s start from."""
        return self.scale_grad(self.gradients_centralization(self.decay_weight(gradients)))

    def states(self, prefix: str, init: Init = "zeros") -> ParameterTuple:
        """One new Parameter for each parameter, like it, named by prefix and its name."""
        return self.parameters.clone(prefix, init)

    def construct(self, gradients: tuple[Tensor, ...]) -> Any:
        if self.gradient_placements is not None:
            gradients = tuple([grad if placement is None else grad.to_global(placement)
                               for grad, placement in zip(gradients, self.gradient_placements)])
        check_gradients(type(self).__name__, self.parameters, gradients)
        self.update(gradients, self.rates())
        ops.assign_add(self.global_step, 1)
        return True

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        """Write the new values of parameters and states; rates is the learning rate of each parameter."""
        raise NotImplementedError(f"{type(self).__name__} does not define update(gradients, rates)")


def in_unit_interval(owner: str, name: str, value: Any) -> float:
    """`value` as a float in [0, 1). raises : ArgumentError, ValueRangeError"""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{owner}: {name} is a number, not {type(value).__name__}")
    if not 0 <= value < 1:
        raise ValueRangeError(f"{owner}: {name} {value} is outside [0, 1)")
    return float(value)


def not_negative(owner: str, name: str, value: Any) -> float:
    """`value` as a float that is not negative. raises : ArgumentError, ValueRangeError"""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{owner}: {name} is a number, not {type(value).__name__}")
    if value < 0:
        raise ValueRangeError(f"{owner}: {name} {value} is negative")
    return float(value)


def positive(owner: str, name: str, value: Any) -> float:
    """`value` as a float above zero. raises : ArgumentError, ValueRangeError"""
    if not_negative(owner, name, value) == 0:
        raise ValueRangeError(f"{owner}: {name} is zero")
    return float(value)
