"""Learning rates of `experimental.optim`'s groups, by the number of calls of `step`, as in torch.optim.lr_scheduler.

    scheduler = StepLR(optimizer, step_size=2, gamma=0.5)           scheduler.step()        after each epoch

A scheduler begins at epoch 0 when it is made. It computes from the rates as they are, in float32, so that several of them
may act on one optimiser. `step` is plain Python over ops: it runs line by line, or in a graph.
"""
from __future__ import annotations

import bisect
import collections
import math
from typing import Any, Callable

import numpy as np

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, MindliteError, ValueRangeError
from ...common.tensor import Parameter, Tensor
from .optimizer import Optimizer

__all__ = ["ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
           "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
           "StepLR"]


class ResumeError(MindliteError, KeyError):
    """A group that does not know the rate with which it began."""


def _number(owner: str, name: str, value: Any, kinds: Any = (int, float)) -> Any:
    if isinstance(value, bool) or not isinstance(value, kinds):
        words = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise ArgumentError(f"{owner}: {name} is {words}, not {type(value).__name__}")
    return value


class LRScheduler:
    """Base of schedulers: a subclass defines get_lr(), the rates of all groups at `last_epoch`.

    last_epoch : -1, or the epoch after which a training goes on
    raises     : ArgumentError for what is no optimiser with groups; ResumeError where a group does not know its first rate
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(self).__name__}: {type(optimizer).__name__} is no Optimizer of experimental.optim")
        if _number(type(self).__name__, "last_epoch", last_epoch, int) < -1:
            raise ValueRangeError(f"{type(self).__name__}: last_epoch {last_epoch} is below -1")
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", Tensor(group["lr"].asnumpy().copy()))
            elif "initial_lr" not in group:
                raise ResumeError(f"{type(self).__name__}: param 'initial_lr' is not specified in param_groups[{number}]")
        self.optimizer = optimizer
        self.base_lrs = [float(group["initial_lr"].asnumpy()) for group in optimizer.param_groups]
        self._last_lr = [_rate(group) for group in optimizer.param_groups]
        self.last_epoch = Parameter(Tensor(last_epoch, dt.float32), name=f"last_epoch_{type(self).__name__}",
                                    requires_grad=False)
        self.step()

    @property
    def epoch(self) -> int:
        """last_epoch as an int."""
        return int(self.last_epoch.asnumpy())

    def get_lr(self) -> list[Any]:
        """The rates of all groups at last_epoch."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[Any]:
        """The rates of all groups as they are: Tensors f32[]."""
        return [rate * 1.0 for rate in self._last_lr]

    def step(self, epoch: int | None = None) -> None:                      # parsed where a graph calls it
        """Go on to the next epoch, or to this one, and set the rates."""
        if epoch is None:
            ops.assign_add(self.last_epoch, 1)
            rates = self.get_lr()
        else:
            ops.assign(self.last_epoch, epoch)
            rates = self._get_closed_form_lr()
        for rate, new in zip(self._last_lr, rates):
            ops.assign(rate, new)

    def _get_closed_form_lr(self) -> list[Any]:
        return self.get_lr()

    def _times(self, factor: Any) -> list[Any]:
        """The rates as they are, times a factor."""
        return [rate * factor for rate in self._last_lr]


def _rate(group: dict[str, Any]) -> Parameter:
    """A group's rate. raises : ArgumentError where a program put something else there"""
    if not isinstance(group["lr"], Parameter):
        raise ArgumentError("a group's lr is a Parameter", note=f"a {type(group['lr']).__name__} was put there",
                            hint='ops.assign(group["lr"], rate)')
    return group["lr"]


class StepLR(LRScheduler):
    """Times gamma after every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = _number("StepLR", "step_size", step_size, int), _number("StepLR", "gamma", gamma, float)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch = self.last_epoch
        return self._times(ops.where(ops.logical_or(epoch == 0, epoch % self.step_size != 0), 1.0, self.gamma))

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at each epoch of milestones."""

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        for milestone in _number("MultiStepLR", "milestones", milestones, list):
            _number("MultiStepLR", "a milestone", milestone, int)
        self.milestones, self.gamma = collections.Counter(milestones), _number("MultiStepLR", "gamma", gamma)
        self.counted = tuple(self.milestones.items())
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        factor = ops.ones_like(self.last_epoch)
        for milestone, count in self.counted:
            factor = ops.where(self.last_epoch == milestone, self.gamma ** count, factor)
        return self._times(factor)

    def _get_closed_form_lr(self) -> list[Any]:
        passed = sum(count for epoch, count in self.milestones.items() if epoch <= self.epoch)
        return [base * self.gamma ** passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times factor until total_iters epochs lie behind."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueRangeError(f"ConstantLR: factor {factor} is outside [0, 1]")
        self.factor, self.total_iters = factor, _number("ConstantLR", "total_iters", total_iters, int)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        back = 1 / self.factor if self.factor > 0 else math.inf
        factor = ops.where(self.last_epoch == self.total_iters, back, 1.0)
        return self._times(ops.where(self.last_epoch == 0, self.factor, factor))

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * (1 if self.epoch >= self.total_iters else self.factor) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The factor goes from start_factor to end_factor in total_iters epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueRangeError(f"LinearLR: start_factor {start_factor} is in (0, 1] and end_factor {end_factor} in [0, 1]")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = _number("LinearLR", "total_iters", total_iters, int)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, grown = self.last_epoch, self.end_factor - self.start_factor
        factor = 1 + grown / (self.total_iters * self.start_factor + (ops.minimum(epoch, self.total_iters) - 1) * grown)
        return self._times(ops.where(epoch == 0, self.start_factor, ops.where(epoch > self.total_iters, 1.0, factor)))

    def _get_closed_form_lr(self) -> list[Any]:
        share = min(self.total_iters, self.epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * share) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times gamma after each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = _number("ExponentialLR", "gamma", gamma, float)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._times(ops.where(self.last_epoch == 0, 1.0, self.gamma))

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** self.epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """(1 - epoch / total_iters)^power of the first rate, 0 after."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        if _number("PolynomialLR", "power", power, float) < 0:
            raise ValueRangeError(f"PolynomialLR: power {power} is below 0")
        self.total_iters, self.power = _number("PolynomialLR", "total_iters", total_iters, int), power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch = ops.minimum(self.last_epoch, self.total_iters)
        share = ops.pow((1 - epoch / self.total_iters) / (1 - (epoch - 1) / self.total_iters), self.power)
        kept = ops.logical_or(self.last_epoch == 0, self.last_epoch > self.total_iters)
        return self._times(ops.where(kept, 1.0, share))

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * (1 - min(self.total_iters, self.epoch) / self.total_iters) ** self.power for base in self.base_lrs]


class LambdaLR(LRScheduler):
    """The first rate times lr_lambda(epoch); one function, or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _per_group(type(self).__name__, "lr_lambda", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [base * factor(self.last_epoch) for factor, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """The rate times lr_lambda(epoch) after each epoch."""

    def get_lr(self) -> list[Any]:
        return [ops.where(self.last_epoch > 0, rate * factor(self.last_epoch), rate)
                for factor, rate in zip(self.lr_lambdas, self._last_lr)]


def _value(factor: Any) -> Any:
    return np.float32(factor.asnumpy() if isinstance(factor, Tensor) else factor)


def _per_group(owner: str, name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueRangeError(f"{owner}: expected {count} values for {name}, got {len(values)}")
    return values


class CosineAnnealingLR(LRScheduler):
    """From the first rate to eta_min along half a cosine in T_max epochs, and back (Loshchilov & Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = _number("CosineAnnealingLR", "T_max", T_max, int)
        self.eta_min = _number("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        before = self.last_epoch - 1
        turns = (before - self.T_max) % (2 * self.T_max) == 0
        below = ops.where(turns, 1.0, 1 + ops.cos(before * (math.pi / self.T_max)))
        factor = (1 + ops.cos(self.last_epoch * (math.pi / self.T_max))) / below
        climb = (1 - math.cos(math.pi / self.T_max)) / 2
        rates = [ops.where(turns, rate + (base - self.eta_min) * climb, factor * (rate - self.eta_min) + self.eta_min)
                 for base, rate in zip(self.base_lrs, self._last_lr)]
        return [ops.where(self.last_epoch == 0, rate, new) for rate, new in zip(self._last_lr, rates)]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine in T_0 epochs, then again in T_mult times as many, and so on (Loshchilov & Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueRangeError(f"CosineAnnealingWarmRestarts: {name} should be an integer and at least 1, not {value!r}")
        self.T_0, self.T_mult, self.T_i = T_0, T_mult, T_0
        self.T_cur: float = last_epoch
        self.eta_min = _number("CosineAnnealingWarmRestarts", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        epoch = epoch.item() if isinstance(epoch, Tensor) else epoch
        if epoch is not None and epoch < 0:
            raise ValueRangeError(f"CosineAnnealingWarmRestarts: the epoch {epoch} is below 0")
        if epoch is None and self.epoch >= 0:
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
            ops.assign_add(self.last_epoch, 1)
        else:
            left: float = epoch or 0
            length = self.T_0
            while left >= length:
                left, length = left - length, length * self.T_mult
            self.T_cur, self.T_i = left, length
            ops.assign(self.last_epoch, float(math.floor(epoch or 0)))
        for rate, new in zip(self._last_lr, self.get_lr()):
            ops.assign(rate, new)


class CyclicLR(LRScheduler):
    """From base_lr to max_lr in step_size_up epochs, back in step_size_down, and again (Smith 2017).

    mode     : triangular; triangular2: half as high each time; exp_range: times gamma^epoch
    scale_fn : a function of the number of the cycle, or (scale_mode "iterations") of the epoch, in place of mode
    raises   : ValueRangeError
    """

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: float = 2000,
                 step_size_down: float | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable | None = None, scale_mode: str = "cycle", last_epoch: int = -1) -> None:
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueRangeError(f"CyclicLR: mode {mode!r} is invalid and scale_fn is None")
        lows = [float(_value(low)) for low in _per_group("CyclicLR", "base_lr", base_lr, optimizer)]
        self.max_lrs = [float(_value(high)) for high in _per_group("CyclicLR", "max_lr", max_lr, optimizer)]
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size, self.up_share = float(step_size_up + down), float(step_size_up) / (step_size_up + down)
        self.mode, self.gamma = mode, gamma
        self._scale, self.scale_mode = scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self._lows = lows
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows):
                _rate(group).set_data(Tensor(low, dt.float32))
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: Any) -> Any:
        """The height of a cycle."""
        if self._scale is not None:
            return self._scale(x)
        if self.mode == "triangular":
            return 1.0
        return ops.pow(2.0, 1 - x) if self.mode == "triangular2" else ops.pow(self.gamma, x)

    def get_lr(self) -> list[Any]:
        cycle = ops.floor(1 + self.last_epoch / self.total_size)
        position = 1 + self.last_epoch / self.total_size - cycle
        height = ops.where(position <= self.up_share, position / self.up_share, (position - 1) / (self.up_share - 1))
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return [low + (high - low) * height * scale for low, high in zip(self._lows, self.max_lrs)]


class SequentialLR:
    """Schedulers one after the other: the next one begins at each epoch of milestones. raises : ValueRangeError"""

    def __init__(self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1) -> None:
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueRangeError("SequentialLR: expects all schedulers to belong to the same optimizer")
        if len(milestones) != len(schedulers) - 1:
            raise ValueRangeError(f"SequentialLR: {len(schedulers)} schedulers have {len(schedulers) - 1} milestones between "
                                  f"them, not {len(milestones)}")
        self._schedulers, self.milestones, self.optimizer = schedulers, milestones, optimizer
        self.last_epoch = Parameter(Tensor(last_epoch + 1, dt.float32), name="last_epoch_SequentialLR", requires_grad=False)
        for group in optimizer.param_groups:
            _rate(group).set_data(Tensor(group["initial_lr"].asnumpy().copy()))
        for scheduler in schedulers:
            ops.assign_sub(scheduler.last_epoch, 1)
        schedulers[0].step()

    def step(self) -> None:
        """Go on to the next epoch."""
        epoch = int(self.last_epoch.asnumpy()) + 1
        self.last_epoch.set_data(Tensor(epoch, dt.float32))
        number = bisect.bisect_right(self.milestones, epoch)
        if number > 0 and self.milestones[number - 1] == epoch:
            self._schedulers[number].step(0)
        else:
            self._schedulers[number].step()

    def get_last_lr(self) -> list[Any]:
        """The rates of all groups as they are."""
        return self._schedulers[0].get_last_lr()


class ReduceLROnPlateau:
    """Times factor when the number given to `step` has not got better for more than `patience` epochs.

    mode : min, max;   threshold : by how much, a share (threshold_mode "rel") or a number ("abs")
    cooldown : epochs after a reduction that do not count;   min_lr : the least rate, one or by group;   eps : the least change
    raises : ArgumentError, ValueRangeError
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0,
                 eps: float = 1e-8) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"ReduceLROnPlateau: {type(optimizer).__name__} is no Optimizer of experimental.optim")
        if factor >= 1.0:
            raise ValueRangeError("ReduceLROnPlateau: the lr factor should be less than 1.0")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueRangeError(f"ReduceLROnPlateau: mode is min or max and threshold_mode rel or abs, not {mode!r} and "
                                  f"{threshold_mode!r}")
        self.optimizer, self.mode, self.factor, self.patience, self.eps = optimizer, mode, factor, patience, eps
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lrs = [_value(low) for low in _per_group("ReduceLROnPlateau", "min_lr", min_lr, optimizer)]
        self.best = math.inf if mode == "min" else -math.inf
        self.wait = self.cooldown_counter = self.last_epoch = 0

    def step(self, metrics: Any) -> None:
        """Look at a number, a Tensor f32[] or a float."""
        current = float(_value(metrics))
        self.last_epoch += 1
        if self._is_improvement(current):
            self.best, self.wait = current, 0
        else:
            self.wait += 1
        if self.in_cooldown():
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.wait > self.patience:
            for group, low in zip(self.optimizer.param_groups, self.min_lrs):
                now = np.float32(_rate(group).asnumpy())
                new = max(now * np.float32(self.factor), low)
                if now > new + self.eps:
                    _rate(group).set_data(Tensor(new, dt.float32))
            self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self) -> bool:
        """True while epochs after a reduction do not count."""
        return self.cooldown_counter > 0

    def _is_improvement(self, current: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return sign * current > sign * self.best * (1 + sign * self.threshold)
        return sign * current > sign * self.best + self.threshold

    def get_last_lr(self) -> list[Any]:
        """The rates of all groups as they are."""
        return [Tensor(np.float32(_rate(group).asnumpy()), dt.float32) for group in self.optimizer.param_groups]
