"""Optimisers that make weights small or zero: proximal Adagrad (Duchi & Singer 2009) and FTRL (McMahan et al. 2013)."""
from __future__ import annotations

from typing import Any

from ... import ops
from ...common.errors import ArgumentError, ValueRangeError
from ...common.tensor import Tensor
from .optimizer import Decay, Optimizer, Params, Rate, not_negative


class ProximalAdagrad(Optimizer):
    """accum += g * g;  r = lr / sqrt(accum);  q = p - r * g;  p = sign(q) * max(|q| - r * l1, 0) / (1 + r * l2).

    accum : first value of the sum of squares;   use_locking : MindSpore's hint
    States: accum.<name>. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    """

    def __init__(self, params: Params, accum: float = 0.1, learning_rate: Rate = 0.001, l1: float = 0.0, l2: float = 0.0,
                 use_locking: bool = False, loss_scale: float = 1.0, weight_decay: Decay = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not isinstance(use_locking, bool):
            raise ArgumentError(f"ProximalAdagrad: use_locking is a bool, not {type(use_locking).__name__}")
        self.accum = self.states("accum", not_negative("ProximalAdagrad", "accum", accum))
        self.l1, self.l2 = not_negative("ProximalAdagrad", "l1", l1), not_negative("ProximalAdagrad", "l2", l2)

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        for param, grad, accum, lr in zip(self.parameters, gradients, self.accum, rates):
            rate = lr / ops.sqrt(ops.assign(accum, accum + grad * grad))
            moved = param - rate * grad
            if self.l1 > 0:
                moved = ops.sign(moved) * ops.maximum(ops.abs(moved) - rate * self.l1, 0.0)
            ops.assign(param, moved / (1 + rate * self.l2))


class FTRL(Optimizer):
    """n' = n + g * g;  s = (n'^-lr_power - n^-lr_power) / lr;  z += g - s * p;
    p = (sign(z) * l1 - z) / (n'^-lr_power / lr + 2 * l2) where |z| > l1, else 0.

    initial_accum : first value of n;   lr_power : not above 0;   use_locking : MindSpore's hint
    States: moments.<name> (n), linear.<name> (z). One learning rate, a number. Arguments else as Optimizer's.
    raises : ValueRangeError
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float above 0
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    """

    def __init__(self, params: Any, initial_accum: float = 0.1, learning_rate: float = 0.001, lr_power: float = -0.5,
                 l1: float = 0.0, l2: float = 0.0, use_locking: bool = False, loss_scale: float = 1.0,
                 weight_decay: Decay = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr or learning_rate <= 0:
            raise ValueRangeError("FTRL: learning_rate is one number above 0, the same for all groups and steps")
        if isinstance(lr_power, bool) or not isinstance(lr_power, float):
            raise ArgumentError(f"FTRL: lr_power is a float, not {type(lr_power).__name__}")
        if lr_power > 0:
            raise ValueRangeError(f"FTRL: lr_power {lr_power} is above 0")
        if not isinstance(use_locking, bool):
            raise ArgumentError(f"FTRL: use_locking is a bool, not {type(use_locking).__name__}")
        self.moments = self.states("moments", not_negative("FTRL", "initial_accum", initial_accum))
        self.linear = self.states("linear")
        self.l1, self.l2, self.lr_power = not_negative("FTRL", "l1", l1), not_negative("FTRL", "l2", l2), lr_power
        if not self.is_group:
            self.decay_everything(weight_decay)

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        for param, grad, moment, linear, lr in zip(self.parameters, gradients, self.moments, self.linear, rates):
            before = ops.pow(moment, -self.lr_power)
            after = ops.pow(ops.assign(moment, moment + grad * grad), -self.lr_power)
            z = ops.assign(linear, linear + grad - (after - before) / lr * param)
            new = (ops.sign(z) * self.l1 - z) / (after / lr + 2 * self.l2)
            ops.assign(param, ops.where(ops.abs(z) > self.l1, new, 0.0))
