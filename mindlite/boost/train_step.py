"""One step of training that knows frozen groups."""
from __future__ import annotations

from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.tensor import Parameter, Tensor
from ..nn import Cell, TrainOneStepCell
from .grad_freeze import FreezeOpt, freeze_cell


class BoostTrainOneStepCell(TrainOneStepCell):
    """TrainOneStepCell whose optimiser may be a FreezeOpt: each step then uses the optimiser that the strategy says, or all of
    them by turns. Gives the loss before the update.

    network   : a Cell that gives a loss
    optimizer : an Optimizer or a FreezeOpt
    sens      : factor of the gradients; None for 1
    raises    : ArgumentError for what is no Cell, ValueRangeError for a sens of 0
    """

    def __init__(self, network: Cell, optimizer: Any, sens: Any = None) -> None:
        super().__init__(network, optimizer, sens)
        self.freeze = isinstance(optimizer, FreezeOpt)
        self.step = Parameter(Tensor(0, dt.int32), name="step", requires_grad=False)
        if self.freeze:
            self.freeze_nets = freeze_cell(self.reducer_flag, network, optimizer, self.sens, self.grad, False)
            self.train_strategy = optimizer.train_strategy
            self.steps = len(self.freeze_nets) if self.train_strategy is None else len(self.train_strategy)

    def construct(self, *inputs: Any) -> Any:
        """The loss."""
        if not self.freeze:
            return super().construct(*inputs)
        chosen = self.step if self.train_strategy is None else self.train_strategy[self.step]
        ops.assign(self.step, (self.step + 1) % self.steps)
        return self._trained(0, chosen, inputs)

    def _trained(self, number: int, chosen: Any, inputs: tuple) -> Any:
        """A step of the optimiser `chosen`, which is `number` or a later one."""
        if number + 1 == len(self.freeze_nets) or chosen == number:
            return self.freeze_nets[number](*inputs)
        return self._trained(number + 1, chosen, inputs)
