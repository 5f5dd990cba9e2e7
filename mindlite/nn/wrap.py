"""Cells around a network: with its loss, for evaluation, and for one step of training.

    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    loss = step.set_train()(data, label)

None of them prefixes the names of the network's parameters.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functional, ops
from ..common import dtype as dt
from ..common.annotations import Function
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Parameter, ParameterTuple, Tensor
from ..functional.parallel_context import ParallelMode
from ..functional.words import mixed_precision_cast
from .cell import Cell
from .layer.basic import Identity, positive_int
from .reducers import DistributedGradReducer, PipelineGradReducer, broadcast_parameters


def _is_cell(owner: str, name: str, value: Any) -> Cell:
    if not isinstance(value, Cell):
        raise ArgumentError(f"{owner}: {name} is a Cell, not {type(value).__name__}")
    return value


class WithLossCell(Cell):
    """loss_fn(backbone(data), label); loss_fn may be a function too."""

    def __init__(self, backbone: Cell, loss_fn: Function) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = _is_cell("WithLossCell", "backbone", backbone)
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        """The network."""
        return self._backbone


class WithEvalCell(Cell):
    """(loss_fn(network(data), label), network(data), label).

    network : Cell;   loss_fn : Cell or function
    add_cast_fp32 : bool: outputs, and what is floating of the label, are made float32 first
    raises  : ArgumentError for another network or add_cast_fp32
    """

    def __init__(self, network: Cell, loss_fn: Function, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network = _is_cell("WithEvalCell", "network", network)
        if not isinstance(add_cast_fp32, bool):
            raise ArgumentError(f"WithEvalCell: add_cast_fp32 is a bool, not {type(add_cast_fp32).__name__}")
        self._loss_fn, self.add_cast_fp32 = loss_fn, add_cast_fp32

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs, label = ops.cast(outputs, dtype=dt.float32), mixed_precision_cast(dt.float32, label)
        return self._loss_fn(outputs, label), outputs, label


class WithGradCell(Cell):
    """The gradients of the network's trainable Parameters, a tuple; with loss_fn those of loss_fn(network(data), label).

    sens : the gradient of the loss, of its shape; None for ones
    """

    def __init__(self, network: Cell, loss_fn: Function | None = None, sens: Any = None) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.loss_fn, self.sens = _is_cell("WithGradCell", "network", network), loss_fn, sens
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.weights = ParameterTuple(network.trainable_params())
        self.network_with_loss.set_train()
        self.grad = functional.GradOperation(get_by_list=True, sens_param=sens is not None)

    def construct(self, *inputs: Any) -> tuple[Tensor, ...]:
        if self.sens is not None:
            inputs = (*inputs, self.sens)
        return self.grad(self.network_with_loss, self.weights)(*inputs)


class ForwardValueAndGrad(Cell):
    """(network(*inputs), its gradients).

    weights     : Parameters for get_by_list
    get_all     : gradients of all inputs, a tuple; else, without get_by_list, of the first
    get_by_list : gradients of the weights, a tuple; with get_all (those of inputs, those of weights)
    sens_param  : the last input is the gradient of the output, of its shape; else it is 1
    """

    def __init__(self, network: Function, weights: Sequence[Parameter] | None = None, get_all: bool = False,
                 get_by_list: bool = False, sens_param: bool = False) -> None:
        super().__init__(auto_prefix=False)
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise ArgumentError(f"ForwardValueAndGrad: {name} is a bool, not {type(value).__name__}")
        if get_by_list and not isinstance(weights, (list, tuple)):
            raise ArgumentError("ForwardValueAndGrad: get_by_list wants weights, a tuple or list of Parameters",
                                note=f"they are {type(weights).__name__}")
        self.network = network
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param
        self.weights = ParameterTuple(weights or ()) if get_by_list else None
        position = "all" if get_all else None if get_by_list else "first"
        self.grad_fn: functional.Derived[..., Any] = functional.Derived(self.network, "value_and_grad", {
            "grad_position": position, "weights": self.weights, "sens_param": sens_param})

    def construct(self, *inputs: Any) -> Any:
        return self.grad_fn(*inputs)


class TrainOneStepCell(Cell):
    """One step: the loss network(*inputs), its gradients, the optimiser's update. Gives the loss before the update.

    network   : a Cell that gives a loss; one that is no scalar counts as its sum
    optimizer : an Optimizer; its parameters are the weights
    sens      : factor of the gradients, as an optimiser with loss_scale expects it; None for 1
    return_grad : give (loss, {parameter's name: gradient})
    raises    : ArgumentError for what is no Cell, ValueRangeError for a sens of 0

    A subclass finds what it may use in its own construct: `grad` (a GradOperation by list, with a cotangent), `grad_no_sens`,
    `weights`, `optimizer`, `grad_reducer` (under parallel_mode="data_parallel" a DistributedGradReducer, around a PipelineCell in
    stages a PipelineGradReducer, else it gives its argument; `reducer_flag` tells), `sens`, `sense_flag`.
    """

    def __init__(self, network: Cell, optimizer: Cell, sens: Any = None, return_grad: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self.network = _is_cell("TrainOneStepCell", "network", network)
        self.network.set_grad()
        self.optimizer = _is_cell("TrainOneStepCell", "optimizer", optimizer)
        if not isinstance(return_grad, bool):
            raise ArgumentError(f"TrainOneStepCell: return_grad is a bool, not {type(return_grad).__name__}")
        if sens is not None and not isinstance(sens, Tensor) and sens == 0:
            raise ValueRangeError("TrainOneStepCell: sens is 0, so that nothing would be learnt")
        self.weights = optimizer.parameters
        self.sens, self.return_grad, self.sense_flag = 1.0 if sens is None else sens, return_grad, sens is not None
        self.grad_fn = functional.value_and_grad(self.network, None, self.weights)
        self.grad = functional.GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = functional.GradOperation(get_by_list=True)
        self.read_settings()
        setting = functional.get_auto_parallel_context
        if setting("parallel_mode") == ParallelMode.DATA_PARALLEL and setting("parameter_broadcast"):
            broadcast_parameters(network)

    def read_settings(self) -> None:
        """Take up which ranks sum their gradients, as the settings of this rank's runs say; an AutoParallel calls it under its
        own."""
        setting = functional.get_auto_parallel_context
        self.is_staged = setting("pipeline_stages") > 1 and any(
            isinstance(cell, InParts) and cell.has_stages for _, cell in self.network.cells_and_names())
        self.reducer_flag = self.is_staged or setting("parallel_mode") == ParallelMode.DATA_PARALLEL
        made = PipelineGradReducer if self.is_staged else DistributedGradReducer if self.reducer_flag else None
        self.grad_reducer: Cell = Identity() if made is None else made(self.weights)

    def construct(self, *inputs: Any) -> Any:
        loss, grads = self.grad_fn(*inputs)
        if self.reducer_flag:
            grads = self.grad_reducer(grads)
        if self.sense_flag:
            grads = tuple([grad * self.sens for grad in grads])
        self.optimizer(grads)
        if self.return_grad:
            return loss, {param.name: grad for param, grad in zip(self.weights, grads)}
        return loss


class InParts(Cell):
    """The sum of network(*part) over equal parts of the inputs along their first axis.

    has_stages : may ranks have stages of the network?
    """

    has_stages = False

    def __init__(self, owner: str, network: Cell, count: int) -> None:
        super().__init__(auto_prefix=False)
        self.network, self._count = _is_cell(owner, "network", network), positive_int(owner, "the number of parts", count)

    def construct(self, *inputs: Any) -> Any:
        total = None
        for number in range(self._count):
            output = self.network(*[self._part(x, number) for x in inputs])
            total = output if total is None else total + output
        return total

    def _part(self, x: Tensor, number: int) -> Tensor:
        if x.shape[0] % self._count:
            raise ShapeError(f"{type(self).__name__}: the first axis, of size {x.shape[0]}, does not split into "
                             f"{self._count} equal parts")
        size = x.shape[0] // self._count
        return x[number * size:(number + 1) * size]


class GradAccumulationCell(InParts):
    """The sum of the losses of micro_size equal parts of a batch, so that their gradients add up.

    network : Cell, from a part of the inputs to a loss;   micro_size : int above 0
    `amp.build_train_network`, and so Model, divides the gradient by micro_size.
    raises  : ArgumentError, ValueRangeError for other arguments; ShapeError where a batch does not split
    """

    def __init__(self, network: Cell, micro_size: int) -> None:
        super().__init__("GradAccumulationCell", network, micro_size)
        self.micro_size = micro_size


class MicroBatchInterleaved(InParts):
    """The sum of network(*part) over interleave_num equal parts of a batch.

    network : Cell;   interleave_num : int above 0
    raises  : ArgumentError, ValueRangeError for other arguments; ShapeError where a batch does not split
    """

    def __init__(self, network: Cell, interleave_num: int = 2) -> None:
        super().__init__("MicroBatchInterleaved", network, interleave_num)
        self.interleave_num = interleave_num


class VirtualDatasetCellTriple(Cell):
    """backbone(a, b, c): MindSpore's mark for three inputs that parallel runs split; there is one process.

    backbone : Cell
    raises   : ArgumentError for what is no Cell
    """

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = _is_cell("VirtualDatasetCellTriple", "backbone", backbone)

    def construct(self, a: Any, b: Any, c: Any) -> Any:
        return self._backbone(a, b, c)


class TimeDistributed(Cell):
    """layer on each step of the axis time_axis, the results along that axis.

    layer             : a Cell, or a function of a Tensor
    reshape_with_axis : join this axis with that of time and run the layer once, which is faster where it does the same
    raises            : ArgumentError for what cannot be called, ShapeError for an axis that the input does not have
    """

    def __init__(self, layer: Function, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__(auto_prefix=True)
        if not callable(layer):
            raise ArgumentError(f"TimeDistributed: layer is a Cell or a function, not {type(layer).__name__}")
        for name, axis in (("time_axis", time_axis), ("reshape_with_axis", reshape_with_axis)):
            if not isinstance(axis, int) and not (axis is None and name == "reshape_with_axis"):
                raise ArgumentError(f"TimeDistributed: {name} is an int, not {type(axis).__name__}")
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs: Tensor) -> Tensor:
        time = self._axis(self.time_axis, inputs.ndim)
        if self.reshape_with_axis is None:
            return ops.stack([self.layer(x) for x in ops.unstack(inputs, time)], time)
        beside = self._axis(self.reshape_with_axis, inputs.ndim)
        order = tuple([axis for axis in range(inputs.ndim) if axis != time])
        position = order.index(beside)
        moved = ops.transpose(inputs, (*order[:position], time, *order[position:]))
        shape = moved.shape
        output = self.layer(ops.reshape(moved, (*shape[:position], shape[position] * shape[position + 1], *shape[position + 2:])))
        apart = ops.reshape(output, (*output.shape[:position], *shape[position:position + 2], *output.shape[position + 1:]))
        rest = [axis for axis in range(apart.ndim) if axis != position]
        return ops.transpose(apart, (*rest[:time], position, *rest[time:]))

    def _axis(self, axis: int, ndim: int) -> int:
        if not -ndim <= axis < ndim:
            raise ShapeError(f"TimeDistributed: the axis {axis} is outside an input of {ndim} axes")
        return axis % ndim


class ParameterUpdate(Cell):
    """Write x into a Parameter; gives x.

    param  : Parameter;   x : a Tensor of its shape
    raises : ArgumentError for what is no Parameter
    """

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise ArgumentError(f"ParameterUpdate: param is a Parameter, not {type(param).__name__}")
        self._keep("_param", param)

    def construct(self, x: Tensor) -> Any:
        ops.assign(self._param, x)
        return x
