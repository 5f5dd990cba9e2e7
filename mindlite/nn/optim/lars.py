"""LARS (You et al. 2017): gradients scaled by layer before another optimiser uses them."""
from __future__ import annotations

from typing import Any, Callable

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError
from ...common.tensor import Parameter, Tensor
from ..cell import Cell
from .optimizer import Optimizer, not_negative
from .own import MadeOf


def _is_scaled(param: Parameter) -> bool:
    return "LayerNorm" not in param.name and "bias" not in param.name


class LARS(MadeOf):
    """optimizer with gradients scale * (g + weight_decay * p), scale = coefficient * |p| / (|g| + weight_decay * |p| + epsilon).

    use_clip    : scale is cut at the learning rate: min(scale / lr, 1)
    lars_filter : a function of a Parameter: those that it is false for keep their gradients, without decay
    The weight decay and the loss_scale are the optimizer's, which no longer applies them itself.
    States      : fake_lr and fake_param, zeros that are never read; else the optimizer's
    raises      : ArgumentError for what is no Optimizer
    """

    def __init__(self, optimizer: Optimizer, epsilon: float = 1e-5, coefficient: float = 0.001, use_clip: bool = False,
                 lars_filter: Callable[[Parameter], bool] = _is_scaled) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"LARS: takes an Optimizer, not {type(optimizer).__name__}")
        if not isinstance(use_clip, bool):
            raise ArgumentError(f"LARS: use_clip is a bool, not {type(use_clip).__name__}")
        self.global_step = optimizer.global_step
        for path, name in (("learning_rate", "fake_lr"), ("fake_param", "fake_param")):      # MindSpore's checkpoints hold them
            self._params[path] = Parameter(Tensor(0.0, dt.float32), name=name)
        self.parameters = optimizer.parameters
        if use_clip:
            self.origin_learning_rate = optimizer.learning_rate
        self.opt, self.use_clip = optimizer, use_clip
        self.epsilon = not_negative("LARS", "epsilon", epsilon)
        self.coefficient = not_negative("LARS", "coefficient", coefficient)
        self.lars_flag = tuple([bool(lars_filter(param)) for param in optimizer.parameters])
        self.loss_scale, self._decays = optimizer.loss_scale, optimizer.take_over_decay()

    @property
    def learning_rate(self) -> Any:
        """The optimizer's."""
        return self.opt.learning_rate

    def construct(self, gradients: tuple[Tensor, ...]) -> Any:
        scaled = []
        rates = self.opt.rates()
        for param, grad, decay, lr, wanted in zip(self.parameters, gradients, self._decays, rates, self.lars_flag):
            grad = grad / self.loss_scale
            if wanted:
                rate = ops.reshape(decay(self.opt.global_step), ()) if isinstance(decay, Cell) else decay
                size, slope = ops.sqrt(ops.reduce_sum(param * param)), ops.sqrt(ops.reduce_sum(grad * grad))
                trust = self.coefficient * size / (slope + rate * size + self.epsilon)
                trust = ops.where(ops.logical_and(size > 0, slope > 0), trust, 1.0)
                if self.use_clip:
                    trust = ops.minimum(trust / lr, 1.0)
                grad = trust * (grad + rate * param)
            scaled.append(grad)
        return self.opt(tuple(scaled))
