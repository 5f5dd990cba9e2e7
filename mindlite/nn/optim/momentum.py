"""Gradient descent along the gradient or its running sum: SGD, Momentum (Sutskever et al. 2013), and averaged SGD."""
from __future__ import annotations

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, ValueRangeError
from ...common.tensor import Parameter, ParameterTuple, Tensor
from .optimizer import Decay, Optimizer, Params, Rate, not_negative


class Momentum(Optimizer):
    """v = momentum * v + g;  p -= lr * v,  or with Nesterov  p -= lr * (g + momentum * v).

    States: momentum, moments.<name>. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    use_nesterov : bool
    """

    def __init__(self, params: Params, learning_rate: Rate, momentum: float, weight_decay: Decay = 0.0, loss_scale: float = 1.0,
                 use_nesterov: bool = False) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum = Parameter(Tensor(not_negative("Momentum", "momentum", momentum), dt.float32), name="momentum")
        if not isinstance(use_nesterov, bool):
            raise ArgumentError(f"Momentum: use_nesterov is a bool, not {type(use_nesterov).__name__}")
        self.use_nesterov = use_nesterov
        self.moments = self.states("moments")

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        for param, grad, moment, lr in zip(self.parameters, gradients, self.moments, rates):
            v = ops.assign(moment, self.momentum * moment + grad)
            step = grad + self.momentum * v if self.use_nesterov else v
            ops.assign(param, param - lr * step)


class SGD(Optimizer):
    """v = momentum * v + (1 - dampening) * g, at the first step v = g;  p -= lr * v.

    nesterov : p -= lr * (g + momentum * v)
    States   : momentum, accum.<name>, stat.<name> (1 before the first step, 0 after it; accum and stat stay as they are
               without momentum). Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    """

    def __init__(self, params: Params, learning_rate: Rate = 0.1, momentum: float = 0.0, dampening: float = 0.0,
                 weight_decay: Decay = 0.0, nesterov: bool = False, loss_scale: float = 1.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._runs = not_negative("SGD", "momentum", momentum) > 0
        self.momentum = Parameter(Tensor(float(momentum), dt.float32), name="momentum")
        self.dampening = not_negative("SGD", "dampening", dampening)
        if not isinstance(nesterov, bool):
            raise ArgumentError(f"SGD: nesterov is a bool, not {type(nesterov).__name__}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueRangeError("SGD: nesterov needs a momentum above zero and no dampening")
        self.nesterov = nesterov
        self.accum, self.stat = self.states("accum"), self.states("stat", "ones")

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        if not self._runs:
            for param, grad, lr in zip(self.parameters, gradients, rates):
                ops.assign(param, param - lr * grad)
        else:
            for param, grad, accum, stat, lr in zip(self.parameters, gradients, self.accum, self.stat, rates):
                v = self.momentum * accum + (1 - self.dampening) * grad
                if self.dampening:
                    v = ops.where(stat > 0, grad, v)
                v = ops.assign(accum, v)
                ops.assign(stat, ops.zeros_like(stat))
                step = grad + self.momentum * v if self.nesterov else v
                ops.assign(param, param - lr * step)


class ASGD(Optimizer):
    """Gradient descent with the average of the parameters over the steps (Polyak & Juditsky 1992).

    eta = lr / (1 + lambd * lr * step) ** alpha;  p = p * (1 - lambd * eta) - eta * g;
    ax += mu * (p - ax), mu = 1 / max(1, step - t0); ax = p while mu is 1
    A step takes the eta and mu that the one before has left, eta of the first step is lr.
    States: mu_<name>, eta_<name>, ax_.<name> (the average). Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    """

    def __init__(self, params: Params, learning_rate: Rate = 0.1, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: Decay = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.lambd, self.alpha = not_negative("ASGD", "lambd", lambd), not_negative("ASGD", "alpha", alpha)
        self.t0 = not_negative("ASGD", "t0", t0)
        self.mu, self.eta = self._numbers("mu", 1.0), self._numbers("eta", 0.0)
        self.ax = self.states("ax_")

    def _numbers(self, word: str, value: float) -> ParameterTuple:
        return ParameterTuple([Parameter(Tensor(value, dt.float32), name=f"{word}_{param.name}") for param in self.parameters])

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        step = ops.cast(ops.reshape(self.global_step, ()), dtype="float32") + 1
        states = zip(self.parameters, gradients, self.mu, self.eta, self.ax, rates)
        for param, grad, mu, eta, ax, lr in states:
            eta_now = ops.where(step == 1, lr, eta)
            new = ops.assign(param, param * (1 - self.lambd * eta_now) - eta_now * grad)
            ops.assign(ax, ops.where(mu == 1, new, ax + (new - ax) * mu))
            ops.assign(eta, lr / ops.pow(1 + self.lambd * lr * step, self.alpha))
            ops.assign(mu, 1 / ops.maximum(step - self.t0, 1.0))


class Rprop(Optimizer):
    """Steps by the gradient's sign, grown while it stays and shrunk where it turns (Riedmiller & Braun 1993).

    etas : factors (below 1, above 1); step_sizes : least and greatest step
    States: prev.<name> (last gradient), step_size.<name>. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    """

    def __init__(self, params: Params, learning_rate: Rate = 0.1, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50.0), weight_decay: Decay = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay)
        if not isinstance(etas, tuple) or len(etas) != 2 or not 0 < etas[0] < 1 < etas[1]:
            raise ValueRangeError(f"Rprop: etas are a number in (0, 1) and one above 1, not {etas}")
        if not isinstance(step_sizes, tuple) or len(step_sizes) != 2 or step_sizes[0] > step_sizes[1]:
            raise ValueRangeError(f"Rprop: step_sizes are the least and the greatest step, not {step_sizes}")
        self.etas, self.step_sizes = etas, step_sizes
        self.prev, self.step_size = self.states("prev"), self.states("step_size")

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        first = ops.reshape(self.global_step, ()) == 0
        for param, grad, prev, size, lr in zip(self.parameters, gradients, self.prev, self.step_size, rates):
            agrees = grad * prev
            size_now = ops.where(first, lr, size)
            factor = ops.where(agrees > 0, self.etas[1], ops.where(agrees < 0, self.etas[0], 1.0))
            size_now = ops.maximum(ops.minimum(size_now * factor, self.step_sizes[1]), self.step_sizes[0])
            kept = ops.where(agrees < 0, 0.0, grad)
            ops.assign(param, param - ops.sign(kept) * size_now)
            ops.assign(prev, kept)
            ops.assign(size, ops.broadcast_to(size_now, size.shape))
