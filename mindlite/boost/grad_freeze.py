"""Training in which the first layers rest at some steps: each step has its own group of parameters, all from some layer on.

    network, optimizer = boost.GradientFreeze(10, 1, 0.5, 2000).freeze_generate(network, optimizer)
    steps = boost.freeze_cell(False, network, optimizer, 1.0, ops.GradOperation(get_by_list=True, sens_param=True), False)
    for step, (data, label) in enumerate(batches):
        loss = steps[optimizer.train_strategy[step].item()](data, label)
"""
from __future__ import annotations

from typing import Any
from collections.abc import Iterable, Sequence

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Parameter, Tensor
from ..nn import Cell, DistributedGradReducer, Identity
from ..nn.learning_rate_schedule import ListLR
from ..nn.layer.basic import positive_int
from .grad_accumulation import GradientAccumulation
from .optimizers import ParameterProcess, checked_optimizer, made_again

CONTINUOUS, INTERVAL = 0, 1


class FreezeOpt(Cell):
    """One optimiser for each group of parameters, and which of them each step uses.

    opt                    : an Optimizer, or a LARS around one
    train_parameter_groups : tuple or list with one tuple or list of Parameters (or groups of them) for each optimiser;
                             None: all parameters
    train_strategy         : tuple or list of ints, or Tensor i32[steps]: the number of the optimiser at each step; None: by turns
    raises                 : ArgumentError for other kinds, ValueRangeError for a train_strategy without groups
    A learning rate for each step goes to the optimiser of that step.
    """

    def __init__(self, opt: Cell, train_parameter_groups: Any = None, train_strategy: Any = None) -> None:
        super().__init__()
        inner = checked_optimizer("FreezeOpt", opt)
        self._keep("parameters", inner.parameters)
        self.dynamic_lr = inner.dynamic_lr
        if train_parameter_groups is None:
            if train_strategy is not None:
                raise ValueRangeError("FreezeOpt: a train_strategy needs train_parameter_groups")
            train_parameter_groups = [inner.parameters]
        if not isinstance(train_parameter_groups, (tuple, list)):
            raise ArgumentError("FreezeOpt: train_parameter_groups is a tuple or list, "
                                f"not {type(train_parameter_groups).__name__}")
        self.groups_num = len(train_parameter_groups)
        self.train_strategy = self._strategy(train_strategy)
        self.opts = [self._made(opt, inner, number, params) for number, params in enumerate(train_parameter_groups)]

    @staticmethod
    def _strategy(strategy: Any) -> Tensor | None:
        if strategy is None:
            return None
        if isinstance(strategy, (tuple, list)):
            if not all(isinstance(number, int) for number in strategy):
                raise ValueRangeError("FreezeOpt: train_strategy holds ints")
            return Tensor(np.asarray(strategy, np.int32))
        if not isinstance(strategy, Tensor):
            raise ArgumentError(f"FreezeOpt: train_strategy is a tuple, list or Tensor, not {type(strategy).__name__}")
        if strategy.ndim != 1 or strategy.dtype != dt.int32:
            raise ValueRangeError(f"FreezeOpt: train_strategy is i32[steps], not {strategy.dtype} {strategy.shape}")
        return strategy

    def _made(self, opt: Cell, inner: Any, number: int, params: Any) -> Cell:
        """The optimiser of the group `number`; its states have boost_<number> before their names."""
        if not isinstance(params, (tuple, list)):
            raise ArgumentError("FreezeOpt: each of train_parameter_groups is a tuple or list of Parameters, "
                                f"not {type(params).__name__}")
        rate = None
        if isinstance(inner.learning_rate, ListLR) and self.train_strategy is not None:
            listed = [float(r) for r in inner.learning_rate.learning_rate.asnumpy()]
            order = self.train_strategy.asnumpy()
            if len(listed) <= len(order):
                rate = [r for r, used in zip(listed, order) if used == number] or None
        made = made_again(opt, list(params), rate)
        weights = {id(param) for param in inner.parameters}
        for param in made.get_parameters():
            if id(param) not in weights:
                param.name = f"boost_{number}{param.name}"
        return made


class _TrainFreezeCell(Cell):
    """One step of training with one of the optimisers: gives the loss before it."""

    def __init__(self, net: Cell, sens: float, grad: Any, grad_reducer: Cell, use_grad_accumulation: bool, optimizer: Any,
                 max_accumulation_step: int) -> None:
        super().__init__(auto_prefix=False)
        self.net, self.sens, self.grad, self.grad_reducer, self.opt = net, sens, grad, grad_reducer, optimizer
        self._keep("parameters", optimizer.parameters)
        self.use_grad_accumulation = use_grad_accumulation
        if use_grad_accumulation:
            self.grad_accumulation = GradientAccumulation(max_accumulation_step, optimizer)

    def construct(self, *inputs: Any) -> Any:
        loss = self.net(*inputs)
        grads = self.grad(self.net, self.parameters)(*inputs, ops.full_like(loss, self.sens))
        grads = self.grad_reducer(grads)
        if self.use_grad_accumulation:
            return self.grad_accumulation(loss, grads)
        self.opt(grads)
        return loss


class GradientFreeze:
    """Which parameters rest at which step.

    param_groups : int, number of groups; group i has the parameters from the i-th part of the network to its end
    freeze_type  : 0: the whole network for some steps, then group 1, 2, ..; 1: the whole network and a drawn group by turns
    freeze_p     : float in (0, 1), which share of the steps trains the whole network
    total_steps  : int, the steps of the training
    """

    def __init__(self, param_groups: int, freeze_type: int, freeze_p: float, total_steps: int) -> None:
        self._param_groups = positive_int("GradientFreeze", "param_groups", param_groups)
        self._freeze_type, self._freeze_p, self._total_steps = freeze_type, freeze_p, total_steps

    def split_parameters_groups(self, net: Cell, freeze_para_groups_number: int) -> list[list[Parameter]]:
        """The groups, each a list of Parameters. net : Cell;  freeze_para_groups_number : int, how many

        A layer's biases and the normalisation after it stay with it.
        """
        layers: list[list[Parameter]] = [[]]
        for param in net.trainable_params():
            belongs = "bn" in param.name or "bias" in param.name or len(layers[-1]) < 3
            if not belongs:
                layers.append([])
            layers[-1].append(param)
        layers = [layer for layer in layers if layer]
        stride = len(layers) // freeze_para_groups_number
        return [[param for layer in layers[number * stride:] for param in layer]
                for number in range(freeze_para_groups_number)]

    def generate_freeze_index_sequence(self, parameter_groups_number: int, freeze_strategy: int, freeze_p: float,
                                       total_steps: int) -> list[int]:
        """The number of the group of each step, a list of ints a little longer than total_steps.

        parameter_groups_number : int   freeze_strategy : 0 or 1, see freeze_type   freeze_p : float   total_steps : int
        raises : ValueRangeError for another freeze_strategy, or a freeze_p outside of (0, 1)
        Groups are drawn by NumPy's generator, nearly whole networks more often.
        """
        steps = int(total_steps * 1.01)
        if parameter_groups_number <= 1:
            return [0] * steps
        if freeze_strategy not in (CONTINUOUS, INTERVAL):
            raise ValueRangeError(f"GradientFreeze: there is no freezing strategy {freeze_strategy}", hint="0 or 1")
        if not 0 < freeze_p < 1:
            raise ValueRangeError(f"GradientFreeze: freeze_p {freeze_p} is outside (0, 1)")
        if freeze_strategy == CONTINUOUS:
            whole = int(freeze_p * (parameter_groups_number - 1) // (1 - freeze_p) + 0.5)
            one_round = [0] * whole + list(range(1, parameter_groups_number))
            return one_round * -(-steps // len(one_round))
        groups = np.arange(1, parameter_groups_number)
        sequence, frozen = [0], 0
        while len(sequence) < steps:
            if frozen / len(sequence) < 1 - freeze_p:
                sequence.append(int(np.random.choice(groups[::-1], p=groups / groups.sum())))
                frozen += 1
            else:
                sequence.append(0)
        return sequence

    def freeze_generate(self, network: Cell, optimizer: Cell) -> tuple[Cell, FreezeOpt]:
        """(network, the FreezeOpt that takes the place of optimizer). network : Cell;  optimizer : Optimizer or LARS"""
        origin = checked_optimizer("GradientFreeze", optimizer).init_params["params"]
        groups = [ParameterProcess.generate_group_params(group, origin)
                  for group in self.split_parameters_groups(network, self._param_groups)]
        sequence = self.generate_freeze_index_sequence(self._param_groups, self._freeze_type, self._freeze_p,
                                                       self._total_steps)
        return network, FreezeOpt(optimizer, groups, sequence)


def freeze_cell(reducer_flag: bool, network: Cell, optimizer: FreezeOpt, sens: float, grad: Any,
                use_grad_accumulation: bool, mean: bool | None = None, degree: int | None = None,
                max_accumulation_step: int = 1) -> Sequence[Cell]:
    """A tuple with the Cell of one training step for each optimiser of a FreezeOpt.

    reducer_flag          : bool: gradients are reduced over the ranks, as DistributedGradReducer does with mean and degree
    network, optimizer    : a Cell that gives a loss; a FreezeOpt
    sens                  : float, the gradient of the loss
    grad                  : a GradOperation(get_by_list=True, sens_param=True)
    use_grad_accumulation : bool: the optimiser runs at every max_accumulation_step-th call of its Cell
    mean, degree          : bool, int, as DistributedGradReducer's
    max_accumulation_step : int
    raises                : ArgumentError for what is no FreezeOpt
    """
    if not isinstance(optimizer, FreezeOpt):
        raise ArgumentError(f"freeze_cell: optimizer is a FreezeOpt, not {type(optimizer).__name__}")
    reducers: Iterable[Cell] = [DistributedGradReducer(opt.parameters, mean, degree) if reducer_flag else Identity()
                                for opt in optimizer.opts]
    return tuple(_TrainFreezeCell(network, sens, grad, reducer, use_grad_accumulation, opt, max_accumulation_step)
                 for opt, reducer in zip(optimizer.opts, reducers))
