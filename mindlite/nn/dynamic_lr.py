"""Learning rates as lists, one number per step, computed before training. An epoch is step_per_epoch steps.

    nn.cosine_decay_lr(0.01, 0.1, total_step=6, step_per_epoch=2, decay_epoch=2)   [0.1, 0.1, 0.055, 0.055, 0.01, 0.01]

The same curves as Cells of the step are in `learning_rate_schedule`.
"""
from __future__ import annotations

import math
from typing import Any
from collections.abc import Callable, Sequence

from ..common.errors import ArgumentError, ValueRangeError


def _check(function: str, **values: Any) -> None:
    """Positive numbers; those whose name ends in step or epoch are ints. min_lr, end_learning_rate and warm_lr may be zero."""
    for name, value in values.items():
        kind = int if name.endswith(("step", "epoch")) else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind):
            raise ArgumentError(f"{function}: {name} is {'an int' if kind is int else 'a number'}, "
                                f"not {type(value).__name__}")
        if value < 0 or (value == 0 and name not in ("min_lr", "end_learning_rate", "warm_lr")):
            raise ValueRangeError(f"{function}: {name} {value} is not positive")


def _by_epoch(total_step: int, step_per_epoch: int, rate: Callable[[int], float]) -> list[float]:
    return [float(rate(step // step_per_epoch)) for step in range(total_step)]


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """learning_rates[i] up to step milestone[i] (exclusive); len(milestone) == len(learning_rates), milestones do not fall.

    raises : ArgumentError, ValueRangeError
    """
    for name, value in (("milestone", milestone), ("learning_rates", learning_rates)):
        if not isinstance(value, (list, tuple)):
            raise ArgumentError(f"piecewise_constant_lr: {name} is a list, not {type(value).__name__}")
    if len(milestone) != len(learning_rates) or not milestone:
        raise ValueRangeError(f"piecewise_constant_lr: {len(milestone)} milestones for {len(learning_rates)} rates")
    rates, last = [], 0
    for step, rate in zip(milestone, learning_rates):
        _check("piecewise_constant_lr", milestone_step=step)
        if isinstance(rate, bool) or not isinstance(rate, (int, float)):
            raise ArgumentError(f"piecewise_constant_lr: a rate is a number, not {type(rate).__name__}")
        if step < last:
            raise ValueRangeError(f"piecewise_constant_lr: milestone {step} is before {last}")
        rates += [rate] * (step - last)
        last = step
    return rates


def exponential_decay_lr(learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
                         is_stair: bool = False) -> list[float]:
    """learning_rate * decay_rate ** (epoch / decay_epoch), the exponent cut to whole numbers with is_stair."""
    _check("exponential_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate, total_step=total_step,
           step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)
    return _by_epoch(total_step, step_per_epoch, lambda epoch: learning_rate * decay_rate ** (
        epoch // decay_epoch if is_stair else epoch / decay_epoch))


def natural_exp_decay_lr(learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
                         is_stair: bool = False) -> list[float]:
    """learning_rate * exp(-decay_rate * epoch), the epoch cut to a multiple of decay_epoch with is_stair."""
    _check("natural_exp_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate, total_step=total_step,
           step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)
    return _by_epoch(total_step, step_per_epoch, lambda epoch: learning_rate * math.e ** (     # not exp: MindSpore's bits
        -decay_rate * (epoch // decay_epoch * decay_epoch if is_stair else epoch)))


def inverse_decay_lr(learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
                     is_stair: bool = False) -> list[float]:
    """learning_rate / (1 + decay_rate * epoch / decay_epoch), the quotient cut to whole numbers with is_stair."""
    _check("inverse_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate, total_step=total_step,
           step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)
    return _by_epoch(total_step, step_per_epoch, lambda epoch: learning_rate / (
        1 + decay_rate * (epoch // decay_epoch if is_stair else epoch / decay_epoch)))


def cosine_decay_lr(min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int) -> list[float]:
    """From max_lr to min_lr along half a cosine over decay_epoch epochs, min_lr after (Loshchilov & Hutter 2017)."""
    _check("cosine_decay_lr", min_lr=min_lr, max_lr=max_lr, total_step=total_step, step_per_epoch=step_per_epoch,
           decay_epoch=decay_epoch)
    if min_lr >= max_lr:
        raise ValueRangeError(f"cosine_decay_lr: min_lr {min_lr} is not below max_lr {max_lr}")
    return _by_epoch(total_step, step_per_epoch, lambda epoch: min_lr + 0.5 * (max_lr - min_lr) * (
        1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch)))


def polynomial_decay_lr(learning_rate: float, end_learning_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
                        power: float, update_decay_epoch: bool = False) -> list[float]:
    """(learning_rate - end) * (1 - epoch / decay_epoch) ** power + end; the end's rate after.

    update_decay_epoch : start over at decay_epoch: it becomes the next multiple of itself above the epoch
    """
    _check("polynomial_decay_lr", learning_rate=learning_rate, end_learning_rate=end_learning_rate, power=power,
           total_step=total_step, step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)

    def rate(epoch):
        total = decay_epoch * max(1, math.ceil(epoch / decay_epoch)) if update_decay_epoch else decay_epoch
        return (learning_rate - end_learning_rate) * (1 - min(epoch, total) / total) ** power + end_learning_rate
    return _by_epoch(total_step, step_per_epoch, rate)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """learning_rate * epoch / warmup_epoch, learning_rate after (Goyal et al. 2017)."""
    _check("warmup_lr", warm_lr=learning_rate, total_step=total_step, step_per_epoch=step_per_epoch,
           warmup_epoch=warmup_epoch)
    return _by_epoch(total_step, step_per_epoch, lambda epoch: learning_rate * min(epoch, warmup_epoch) / warmup_epoch)
