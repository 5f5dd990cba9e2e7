"""Steps of training whose loss is scaled, so that small gradients of half precision do not vanish (Micikevicius et al. 2018).

    manager = nn.DynamicLossScaleUpdateCell(2 ** 12, 2, 1000)
    step = nn.TrainOneStepWithLossScaleCell(net_with_loss, optimizer, manager)
    loss, overflow, scale = step(data, label)

A step whose gradients are not all finite changes no weight and halves the scale; after `scale_window` good ones it doubles.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import functional, ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Parameter, Tensor
from ..functional.composite import HyperMap
from ..ops.collectives import all_reduce
from .cell import Cell
from .wrap import TrainOneStepCell


class DynamicLossScaleUpdateCell(Cell):
    """(loss_scale, overflow) -> overflow; the Parameter loss_scale is divided by scale_factor, but not below 1, where
    overflow is true, and multiplied by it after scale_window calls without.

    raises : ArgumentError, ValueRangeError for numbers that are not positive
    loss_scale_value : float, the scale at the beginning
    """

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int) -> None:
        super().__init__()
        for name, value in (("loss_scale_value", loss_scale_value), ("scale_window", scale_window)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ArgumentError(f"DynamicLossScaleUpdateCell: {name} is a number, not {type(value).__name__}")
            if value <= 0:
                raise ValueRangeError(f"DynamicLossScaleUpdateCell: {name} is above zero, not {value}")
        self.loss_scale_value, self.scale_factor, self.scale_window = loss_scale_value, scale_factor, scale_window
        self.cur_iter: Any = Parameter(Tensor(1, dt.int32), name="current_iterator_step", requires_grad=False)
        self.last_overflow_iter: Any = Parameter(Tensor(0, dt.int32), name="last_overflow_iterator_step", requires_grad=False)

    def get_loss_scale(self) -> float:
        """The scale at the beginning."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        grown = self.scale_window <= self.cur_iter - self.last_overflow_iter
        less = ops.maximum(loss_scale / self.scale_factor, 1.0)
        kept = ops.where(grown, loss_scale * self.scale_factor, loss_scale)
        self.last_overflow_iter = ops.where(ops.logical_or(overflow, grown), self.cur_iter, self.last_overflow_iter)
        ops.assign(loss_scale, ops.where(overflow, less, kept))
        self.cur_iter = self.cur_iter + 1
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """(loss_scale, overflow) -> overflow; the scale stays.

    loss_scale_value : float, the scale at the beginning
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step of training: (loss, overflow bool[], scale). Where a gradient is not finite the optimiser is not called.

    network     : Cell, from the inputs to a loss;   optimizer : Cell of nn.optim
    scale_sense : a Cell as above, or the scale itself, a Tensor that stays and that `set_sense_scale` replaces
    raises      : ArgumentError for another scale_sense

    A subclass's construct may ask `start_overflow_check`, `get_overflow_status` and `process_loss_scale`, in this order, beside
    what TrainOneStepCell has, and `hyper_map`.
    """

    hyper_map = HyperMap()

    def __init__(self, network: Cell, optimizer: Cell, scale_sense: Cell | Tensor) -> None:
        super().__init__(network, optimizer)
        self.loss_scaling_manager = scale_sense if isinstance(scale_sense, Cell) else None
        if self.loss_scaling_manager is not None:
            scale_sense = Tensor(np.float32(scale_sense.get_loss_scale()))
        if not isinstance(scale_sense, Tensor):
            raise ArgumentError("TrainOneStepWithLossScaleCell: scale_sense is a Cell or a Tensor, "
                                f"not {type(scale_sense).__name__}")
        self.scale_sense = Parameter(ops.cast(ops.reshape(scale_sense, ()), dtype=dt.float32), name="scale_sense",
                                     requires_grad=False)
        self.grad_fn = functional.value_and_grad(self._scaled, None, self.weights, has_aux=True)

    def _scaled(self, *inputs: Any) -> tuple[Tensor, Tensor]:
        loss = self.network(*inputs)
        return loss * ops.cast(self.scale_sense, dtype=loss.dtype), loss

    def set_sense_scale(self, sens: Tensor) -> None:
        """Another scale, a Tensor of one number. raises : ArgumentError"""
        if not isinstance(sens, Tensor):
            raise ArgumentError(f"set_sense_scale: takes a Tensor, not {type(sens).__name__}")
        self.scale_sense.set_data(ops.cast(ops.reshape(sens, ()), dtype=dt.float32))

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[bool, Any]:
        """(a status for `get_overflow_status`, compute_input as it is): no device here has a flag that is to be cleared."""
        return False, compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """True where a Tensor of `compute_output`, a Tensor or tuple of them, is not finite: bool[]; on any rank, where each has
        the gradients of its stage."""
        outputs = compute_output if isinstance(compute_output, (tuple, list)) else (compute_output,)
        overflow = ops.logical_not(ops.all(ops.stack([ops.all(ops.isfinite(output)) for output in outputs])))
        if self.is_staged:
            overflow = all_reduce(overflow, reduction="any")
        return overflow

    def process_loss_scale(self, overflow: Any) -> Any:
        """Let the Cell that manages the scale, if there is one, change it; overflow: bool[], which is returned."""
        if self.loss_scaling_manager is not None:
            overflow = self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow

    def construct(self, *inputs: Any) -> Any:
        scale = self.scale_sense * 1
        (_, loss), scaled = self.grad_fn(*inputs)
        if self.reducer_flag:                                # a rank's overflow reaches all
            scaled = self.grad_reducer(scaled)
        grads = tuple([grad / ops.cast(scale, dtype=grad.dtype) for grad in scaled])
        overflow = self.process_loss_scale(self.get_overflow_status(False, grads))
        if not overflow:
            self.optimizer(grads)
        return loss, overflow, scale
