"""AdaFactor (Shazeer & Stern 2018): Adam whose second moments of matrices are kept as a row and a column."""
from __future__ import annotations

from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, ValueRangeError
from ...common.initializer import initializer
from ...common.tensor import Parameter, ParameterTuple, Tensor
from .optimizer import Optimizer, Params, Rate, not_negative


class AdaFactor(Optimizer):
    """u = g / sqrt(v), shrunk to a root mean square of clip_threshold;  p -= lr * (u + weight_decay * p).

    v = d * v + (1 - d) * (g * g + eps[0]), d = 1 - t^-decay_rate; of a matrix only the means of rows and columns are kept
    learning_rate   : None: min(0.01, 1 / sqrt(t)), with warmup_init min(1e-6 t, 1 / sqrt(t)) (relative_step)
    scale_parameter : the rate times max(eps[1], root mean square of p);   beta1 : a running mean of the steps, for above 0
    compression     : second moments of vectors in float16
    States: exp_avg.<name> (with beta1), exp_avg_sq_row_<name>, exp_avg_sq_col_<name>, exp_avg_sq_<name>, afactor_step.
    raises : ValueRangeError for settings that do not go together. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    loss_scale : float; as in MindSpore gradients are not divided by it: steps do not depend on their scale
    """

    def __init__(self, params: Params, learning_rate: Rate | None = None, eps: Any = (1e-30, 0.001), clip_threshold: float = 1.0,
                 decay_rate: float = 0.8, beta1: float | None = 0.9, weight_decay: float = 0.0, scale_parameter: bool = True,
                 relative_step: bool = True, warmup_init: bool = False, compression: bool = False,
                 loss_scale: float = 1.0) -> None:
        if (learning_rate is None) != relative_step:
            raise ValueRangeError("AdaFactor: give either a learning_rate or relative_step=True")
        if warmup_init and not relative_step:
            raise ValueRangeError("AdaFactor: warmup_init wants relative_step=True")
        for name, flag in (("scale_parameter", scale_parameter), ("relative_step", relative_step),
                           ("warmup_init", warmup_init), ("compression", compression)):
            if not isinstance(flag, bool):
                raise ArgumentError(f"AdaFactor: {name} is a bool, not {type(flag).__name__}")
        if not isinstance(eps, (list, tuple)) or len(eps) != 2:
            raise ValueRangeError(f"AdaFactor: eps are two numbers, not {eps!r}")
        if not 0 < decay_rate < 1 or not 0 <= weight_decay < 1:
            raise ValueRangeError(f"AdaFactor: decay_rate {decay_rate} is in (0, 1) and weight_decay {weight_decay} in [0, 1)")
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        self.eps = tuple([not_negative("AdaFactor", "eps", e) for e in eps])
        self.clip_threshold = not_negative("AdaFactor", "clip_threshold", clip_threshold)
        self.decay_rate, self.beta1 = decay_rate, not_negative("AdaFactor", "beta1", beta1 or 0.0)
        self.decay = weight_decay
        self.scale_parameter, self.relative_step, self.warmup_init = scale_parameter, relative_step, warmup_init
        self.exp_avg = self.states("exp_avg") if self.beta1 else (None,) * len(self.parameters)
        self.exp_avg_sq_row = self._squares("row", lambda shape: shape[:-1] if len(shape) > 1 else (1,))
        self.exp_avg_sq_col = self._squares("col", lambda shape: (*shape[:-2], shape[-1]) if len(shape) > 1 else (1,))
        self.exp_avg_sq = self._squares("", lambda shape: (1,) if len(shape) > 1 else shape, compression)
        self.step = Parameter(Tensor([0.0], dt.float32), name="afactor_step")

    def _squares(self, word: str, shape_of: Any, half: bool = False) -> ParameterTuple:
        ending = f"exp_avg_sq_{word}_" if word else "exp_avg_sq_"
        return ParameterTuple([Parameter(initializer("zeros", shape_of(param.shape), dt.float16 if half and param.ndim < 2
                                                     else param.dtype), name=ending + param.name)
                               for param in self.parameters])

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        step = ops.reshape(ops.assign_add(self.step, 1.0), ())
        kept = 1 - ops.pow(step, -self.decay_rate)
        states = zip(self.parameters, gradients, self.exp_avg, self.exp_avg_sq_row, self.exp_avg_sq_col, self.exp_avg_sq,
                     rates)
        for param, grad, mean, row, col, whole, lr in states:
            if self.relative_step:
                lr = ops.minimum(1e-6 * step if self.warmup_init else 0.01, 1 / ops.sqrt(step))
            if self.scale_parameter:
                lr = lr * ops.maximum(_rms(param), self.eps[1])
            squares = grad * grad + self.eps[0]
            if grad.ndim > 1:
                rows = ops.assign(row, kept * row + (1 - kept) * ops.mean(squares, -1))
                columns = ops.assign(col, kept * col + (1 - kept) * ops.mean(squares, -2))
                share = ops.expand_dims(rows / ops.mean(rows, -1, True), -1)
                move = grad / (ops.sqrt(share) * ops.sqrt(ops.expand_dims(columns, -2)))
            else:
                spread = kept * ops.cast(whole, grad.dtype) + (1 - kept) * squares
                ops.assign(whole, ops.cast(spread, whole.dtype))
                move = grad / ops.sqrt(spread)
            move = lr * move / ops.maximum(_rms(move) / self.clip_threshold, 1.0)
            if self.beta1 > 0:
                move = ops.assign(mean, self.beta1 * mean + (1 - self.beta1) * move)
            ops.assign(param, param - lr * self.decay * param - move)


def _rms(x: Tensor) -> Tensor:
    return ops.sqrt(ops.mean(x * x))
