"""Loss scales for `build_train_network` and Model: how large, and what a step whose gradients overflow changes.

    Model(net, loss_fn, optimizer, loss_scale_manager=amp.DynamicLossScaleManager())
"""
from __future__ import annotations

from typing import Any

from .. import nn
from ..common.checks import check_positive_int
from ..common.errors import MindliteError, ValueRangeError

BAD_STEPS = 1000                             # so many overflows in a row end a training


class LossScaleError(MindliteError, RuntimeError):
    """Gradients that overflow again and again."""


class LossScaleManager:
    """Base of managers: a subclass defines all three methods."""

    def get_loss_scale(self) -> float:
        """The scale now."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_loss_scale()")

    def update_loss_scale(self, overflow: bool) -> None:
        """Change the scale after a step that did, or did not, overflow."""
        raise NotImplementedError(f"{type(self).__name__} does not define update_loss_scale(overflow)")

    def get_update_cell(self) -> Any:
        """The Cell that changes the scale inside a step; None where steps are not looked at."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_update_cell()")

    def get_drop_overflow_update(self) -> bool:
        """True where a step that overflows changes no weight."""
        return self.get_update_cell() is not None


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays.

    loss_scale : at least 1;   drop_overflow_update : a step that overflows changes no weight. Where it is False the
    optimiser divides the gradients: give it the same loss_scale
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        if loss_scale < 1:
            raise ValueRangeError(f"FixedLossScaleManager: loss_scale {loss_scale} is below 1")
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self) -> float:
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """The scale stays."""

    def get_update_cell(self) -> Any:
        return nn.FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale that is divided by scale_factor, but not below 1, after a step that overflows, and multiplied by it after
    scale_window good steps. raises : ValueRangeError, ArgumentError; LossScaleError after 1,000 bad steps in a row
    """

    def __init__(self, init_loss_scale: float = 2 ** 24, scale_factor: float = 2, scale_window: int = 2000) -> None:
        if init_loss_scale < 1:
            raise ValueRangeError(f"DynamicLossScaleManager: init_loss_scale {init_loss_scale} is below 1")
        if scale_factor <= 0:
            raise ValueRangeError(f"DynamicLossScaleManager: scale_factor {scale_factor} is not above 0")
        self.scale_window = check_positive_int(scale_window, "scale_window", "DynamicLossScaleManager")
        self.loss_scale, self.scale_factor = init_loss_scale, scale_factor
        self.increase_ratio, self.decrease_ratio = scale_factor, 1 / scale_factor
        self.cur_iter, self.last_overflow_iter, self.bad_step = 1, 0, 0

    def get_loss_scale(self) -> float:
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter, self.bad_step = self.cur_iter, self.bad_step + 1
        else:
            self.bad_step = 0
            if (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
                self.loss_scale *= self.increase_ratio
        if self.bad_step > BAD_STEPS:
            raise LossScaleError(f"the gradients of {self.bad_step} steps in a row were not finite",
                                 hint="a smaller learning rate, or bfloat16")
        self.cur_iter += 1

    def get_update_cell(self) -> Any:
        return nn.DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
