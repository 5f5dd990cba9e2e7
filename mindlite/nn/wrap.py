"""Cells around a network: with its loss, for evaluation, and for one step of training.

    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    loss = step.set_train()(data, label)

None of them prefixes the names of the network's parameters.
"""
from .. import functional, ops
from ..common import dtype as dt
from ..common.errors import ArgumentError
from ..common.tensor import Parameter, ParameterTuple
from .cell import Cell


def _is_cell(owner, name, value):
    if not isinstance(value, Cell):
        raise ArgumentError(f"{owner}: {name} is a Cell, not {type(value).__name__}")
    return value


class WithLossCell(Cell):
    """loss_fn(backbone(data), label); loss_fn may be a function too."""

    def __init__(self, backbone, loss_fn):
        super().__init__(auto_prefix=False)
        self._backbone = _is_cell("WithLossCell", "backbone", backbone)
        self._loss_fn = loss_fn

    def construct(self, data, label):
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self):
        """The network."""
        return self._backbone


class WithEvalCell(Cell):
    """(loss_fn(network(data), label), network(data), label); add_cast_fp32 : outputs are made float32 first."""

    def __init__(self, network, loss_fn, add_cast_fp32=False):
        super().__init__(auto_prefix=False)
        self._network = _is_cell("WithEvalCell", "network", network)
        if not isinstance(add_cast_fp32, bool):
            raise ArgumentError(f"WithEvalCell: add_cast_fp32 is a bool, not {type(add_cast_fp32).__name__}")
        self._loss_fn, self.add_cast_fp32 = loss_fn, add_cast_fp32

    def construct(self, data, label):
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs, label = ops.cast(outputs, dtype=dt.float32), ops.cast(label, dtype=dt.float32)
        return self._loss_fn(outputs, label), outputs, label


class ForwardValueAndGrad(Cell):
    """(network(*inputs), its gradients).

    weights     : Parameters for get_by_list
    get_all     : gradients of all inputs, a tuple; else, without get_by_list, of the first
    get_by_list : gradients of the weights, a tuple; with get_all (those of inputs, those of weights)
    sens_param  : the last input is the gradient of the output, of its shape; else it is 1
    """

    def __init__(self, network, weights=None, get_all=False, get_by_list=False, sens_param=False):
        super().__init__(auto_prefix=False)
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise ArgumentError(f"ForwardValueAndGrad: {name} is a bool, not {type(value).__name__}")
        if get_by_list and not isinstance(weights, (list, tuple)):
            raise ArgumentError("ForwardValueAndGrad: get_by_list wants weights, a tuple or list of Parameters",
                                note=f"they are {type(weights).__name__}")
        self.network = network
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param
        self._keep("weights", ParameterTuple(weights) if get_by_list else None)
        position = "all" if get_all else None if get_by_list else "first"
        self.grad_fn = functional.Derived(self.network, "value_and_grad", {
            "grad_position": position, "weights": self.weights, "sens_param": sens_param})

    def construct(self, *inputs):
        return self.grad_fn(*inputs)


class TrainOneStepCell(Cell):
    """One step: the loss network(*inputs), its gradients, the optimiser's update. Gives the loss before the update.

    network   : a Cell that gives a scalar loss
    optimizer : an Optimizer; its parameters are the weights
    sens      : factor of the gradients, as an optimiser with loss_scale expects it; None for 1
    return_grad : give (loss, {parameter's name: gradient})
    """

    def __init__(self, network, optimizer, sens=None, return_grad=False):
        super().__init__(auto_prefix=False)
        self.network = _is_cell("TrainOneStepCell", "network", network)
        self.network.set_grad()
        self.optimizer = _is_cell("TrainOneStepCell", "optimizer", optimizer)
        if not isinstance(return_grad, bool):
            raise ArgumentError(f"TrainOneStepCell: return_grad is a bool, not {type(return_grad).__name__}")
        self._keep("weights", optimizer.parameters)
        self.sens, self.return_grad = 1.0 if sens is None else sens, return_grad
        self.grad_fn = functional.value_and_grad(self.network, None, self.weights)

    def construct(self, *inputs):
        loss, grads = self.grad_fn(*inputs)
        if self.sens != 1.0:
            grads = tuple([grad * self.sens for grad in grads])
        self.optimizer(grads)
        if self.return_grad:
            return loss, {param.name: grad for param, grad in zip(self.weights, grads)}
        return loss


class ParameterUpdate(Cell):
    """Write x into a Parameter; gives x. raises : ArgumentError for what is no Parameter"""

    def __init__(self, param):
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise ArgumentError(f"ParameterUpdate: param is a Parameter, not {type(param).__name__}")
        self._keep("_param", param)

    def construct(self, x):
        ops.assign(self._param, x)
        return x
