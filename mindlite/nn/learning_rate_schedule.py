"""Learning rates as Cells of the step: lr = schedule(global_step), computed inside the training step.

    step: i32[] or i32[1], counted from 0;   result: f32 of the same shape

The same curves as lists of numbers, one per step, are in `dynamic_lr`.
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Parameter, Tensor
from .cell import Cell


def _number(owner: str, name: str, value: Any, low: float | None = None, strict: bool = True) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{owner}: {name} is a number, not {type(value).__name__}")
    if low is not None and (value < low or (strict and value == low)):
        raise ValueRangeError(f"{owner}: {name} {value} is not {'above' if strict else 'at least'} {low}")
    return value


def _steps(owner: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"{owner}: {name} is an int, not {type(value).__name__}")
    return _number(owner, name, value, 0)


class LearningRateSchedule(Cell):
    """Base of schedules: a subclass defines construct(global_step).

    global_step : int Tensor [], the number of the step from 0;   output : float, the rate of that step
    raises      : NotImplementedError where construct is not defined
    """

    def construct(self, global_step: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define construct(global_step)")


class ListLR(LearningRateSchedule):
    """One rate per step, the last one from its end on.

    values : list, iterable or Tensor f32[n] of rates that are not negative
    """

    def __init__(self, values: Iterable[float] | Tensor, name: str = "learning_rate") -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(values, Tensor):
            if not isinstance(values, Iterable):
                raise ArgumentError(f"learning_rate: a list of numbers is wanted, not {type(values).__name__}")
            values = [float(_number("learning_rate", "a rate", value, 0, False)) for value in values]
        array = np.asarray(values, np.float32)
        if array.ndim != 1 or array.size == 0:
            raise ShapeError("learning_rate: the rates are a list of at least one number",
                             note=f"their shape is {list(array.shape)}")
        self.learning_rate = Parameter(Tensor(array), name=name)
        self.count = array.size

    def construct(self, global_step: Tensor) -> Tensor:
        return ops.gather(self.learning_rate, ops.minimum(global_step, self.count - 1), 0)


class ConstantLR(LearningRateSchedule):
    """One rate for all steps, a Parameter f32[]: that of a group beside others whose rates depend on the step."""

    def __init__(self, learning_rate: Parameter) -> None:
        super().__init__(auto_prefix=False)
        self.learning_rate = learning_rate

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate


class _Decay(LearningRateSchedule):
    """What the exponential and inverse decays share: learning_rate, decay_rate, decay_steps, is_stair."""

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False) -> None:
        super().__init__()
        owner = type(self).__name__
        self.learning_rate = _number(owner, "learning_rate", learning_rate, 0)
        self.decay_rate = _number(owner, "decay_rate", decay_rate, 0)
        self.decay_steps = _steps(owner, "decay_steps", decay_steps)
        if not isinstance(is_stair, bool):
            raise ArgumentError(f"{owner}: is_stair is a bool, not {type(is_stair).__name__}")
        self.is_stair = is_stair

    def progress(self, global_step: Tensor) -> Tensor:
        """step / decay_steps, as float32; with is_stair its whole part."""
        p = ops.cast(global_step, dtype=dt.float32) / self.decay_steps
        return ops.floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """learning_rate * decay_rate ** (step / decay_steps).

    learning_rate, decay_rate : float above 0;   decay_steps : int above 0
    is_stair : bool: the exponent is cut to whole numbers
    global_step : i32[] or i32[1]; output : f32 of its shape
    raises : ArgumentError for what is no number, ValueRangeError for numbers outside their range
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate * ops.exp(self.progress(global_step) * math.log(self.decay_rate))


class NaturalExpDecayLR(_Decay):
    """learning_rate * exp(-decay_rate * step).

    learning_rate, decay_rate : float above 0;   decay_steps : int above 0
    is_stair : bool: the step is cut to a multiple of decay_steps
    global_step : i32[] or i32[1]; output : f32 of its shape
    raises : ArgumentError for what is no number, ValueRangeError for numbers outside their range
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate * ops.exp(self.progress(global_step) * (-self.decay_rate * self.decay_steps))


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate * step / decay_steps).

    learning_rate, decay_rate : float above 0;   decay_steps : int above 0
    is_stair : bool: the quotient is cut to whole numbers
    global_step : i32[] or i32[1]; output : f32 of its shape
    raises : ArgumentError for what is no number, ValueRangeError for numbers outside their range
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate / (1 + self.progress(global_step) * self.decay_rate)


class CosineDecayLR(LearningRateSchedule):
    """From max_lr to min_lr along half a cosine over decay_steps, min_lr after (Loshchilov & Hutter 2017).

    min_lr, max_lr : float, min_lr below max_lr;   decay_steps : int above 0
    global_step : i32[] or i32[1]; output : f32 of its shape
    raises : ArgumentError for what is no number, ValueRangeError for numbers outside their range
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        self.min_lr = _number("CosineDecayLR", "min_lr", min_lr, 0, False)
        self.max_lr = _number("CosineDecayLR", "max_lr", max_lr, 0)
        self.decay_steps = _steps("CosineDecayLR", "decay_steps", decay_steps)
        if min_lr >= max_lr:
            raise ValueRangeError(f"CosineDecayLR: min_lr {min_lr} is not below max_lr {max_lr}")

    def construct(self, global_step: Tensor) -> Tensor:
        p = ops.minimum(ops.cast(global_step, dtype=dt.float32), float(self.decay_steps))
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1 + ops.cos(p * (math.pi / self.decay_steps)))


class PolynomialDecayLR(LearningRateSchedule):
    """(learning_rate - end) * (1 - step / decay_steps) ** power + end, with end = end_learning_rate, its value after.

    learning_rate, power : float above 0;   end_learning_rate : float, not negative;   decay_steps : int above 0
    update_decay_steps : bool: start over at decay_steps: they become the next multiple of themselves above the step
    global_step : i32[] or i32[1]; output : f32 of its shape
    raises : ArgumentError for what is no number, ValueRangeError for numbers outside their range
    """

    def __init__(self, learning_rate: float, end_learning_rate: float, decay_steps: int, power: float,
                 update_decay_steps: bool = False) -> None:
        super().__init__()
        owner = "PolynomialDecayLR"
        self.start = _number(owner, "learning_rate", learning_rate, 0)
        self.end = _number(owner, "end_learning_rate", end_learning_rate, 0, False)
        self.decay_steps = _steps(owner, "decay_steps", decay_steps)
        self.power = _number(owner, "power", power, 0)
        if not isinstance(update_decay_steps, bool):
            raise ArgumentError(f"{owner}: update_decay_steps is a bool, not {type(update_decay_steps).__name__}")
        self.update_decay_steps = update_decay_steps

    def construct(self, global_step: Tensor) -> Tensor:
        step = ops.cast(global_step, dtype=dt.float32)
        total: Any = float(self.decay_steps)
        if self.update_decay_steps:
            total = ops.maximum(ops.ceil(step / total), 1.0) * total
        else:
            step = ops.minimum(step, total)
        return (self.start - self.end) * ops.pow(1 - step / total, self.power) + self.end


class WarmUpLR(LearningRateSchedule):
    """learning_rate * step / warmup_steps, learning_rate after (Goyal et al. 2017).

    learning_rate : float, not negative;   warmup_steps : int above 0
    global_step : i32[] or i32[1]; output : f32 of its shape
    raises : ArgumentError for what is no number, ValueRangeError for numbers outside their range
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        self.learning_rate = _number("WarmUpLR", "learning_rate", learning_rate, 0, False)
        self.warmup_steps = _steps("WarmUpLR", "warmup_steps", warmup_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        p = ops.minimum(ops.cast(global_step, dtype=dt.float32), float(self.warmup_steps))
        return p * (self.learning_rate / self.warmup_steps)
