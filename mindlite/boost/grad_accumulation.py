"""GradientAccumulation: the mean gradient of several steps, given to the optimiser at the last of them."""
from __future__ import annotations

from typing import Any

from .. import functional, ops
from ..common import dtype as dt
from ..common.errors import ArgumentError
from ..common.tensor import Parameter, Tensor
from ..nn import Cell
from ..nn.layer.basic import positive_int

# What a subclass with its own construct maps over gradients, as MindSpore has it.
gradient_accumulation_op = functional.MultitypeFuncGraph("gradient_accumulation_op")
gradient_clear_op = functional.MultitypeFuncGraph("gradient_clear_op")


@gradient_accumulation_op.register("Int64", "Tensor", "Tensor")
def _accumulate(steps: int, total: Parameter, grad: Tensor) -> Any:
    return ops.assign_add(total, grad / steps)


@gradient_clear_op.register("Tensor")
def _clear(total: Parameter) -> Any:
    return ops.assign(total, ops.zeros_like(total))


class GradientAccumulation(Cell):
    """Called with a step's loss and gradients; at every n-th call the optimiser gets the mean gradient of the last n.

    max_accumulation_step : int above 0, n
    optimizer             : an Optimizer
    loss, grads           : a Tensor, given back; a tuple of Tensors, one for each of the optimiser's parameters
    raises                : ArgumentError for another optimizer or step
    States: grad_accumulation.<name>, accumulation_step i32[].
    """

    def __init__(self, max_accumulation_step: int, optimizer: Cell) -> None:
        super().__init__()
        if not isinstance(optimizer, Cell) or not hasattr(optimizer, "parameters"):
            raise ArgumentError(f"GradientAccumulation: optimizer is an Optimizer, not {type(optimizer).__name__}")
        self._max_accumulation_step = positive_int("GradientAccumulation", "max_accumulation_step", max_accumulation_step)
        self.optimizer = optimizer
        self._keep("weights", optimizer.parameters)
        self.hyper_map = functional.HyperMap()
        self._grad_accumulation = optimizer.parameters.clone("grad_accumulation", "zeros")
        self._accumulation_step = Parameter(Tensor(0, dt.int32), name="accumulation_step", requires_grad=False)

    def construct(self, loss: Any, grads: tuple[Tensor, ...]) -> Any:
        for total, grad in zip(self._grad_accumulation, grads):
            ops.assign_add(total, grad / self._max_accumulation_step)
        ops.assign_add(self._accumulation_step, 1)
        if self._accumulation_step >= self._max_accumulation_step:
            self.optimizer(self._grad_accumulation)
            for total in self._grad_accumulation:
                ops.assign(total, ops.zeros_like(total))
            ops.assign(self._accumulation_step, 0)
        return loss
