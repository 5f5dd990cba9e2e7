"""Step sizes by element from past squared gradients: Adagrad, RMSProp, Adadelta."""
from __future__ import annotations

from ... import ops
from ...common.errors import ArgumentError
from ...common.tensor import Tensor
from .optimizer import Decay, Optimizer, Params, Rate, in_unit_interval, not_negative, positive


class Adagrad(Optimizer):
    """accum += g * g;  p -= lr * g / sqrt(accum + 1e-8) (Duchi et al. 2011; the 1e-8 is MindSpore's).

    accum        : first value of the sum of squares; update_slots : False leaves the sum as it is
    States: accum.<name>. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    """

    def __init__(self, params: Params, accum: float = 0.1, learning_rate: Rate = 0.001, update_slots: bool = True,
                 loss_scale: float = 1.0, weight_decay: Decay = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not isinstance(update_slots, bool):
            raise ArgumentError(f"Adagrad: update_slots is a bool, not {type(update_slots).__name__}")
        self.accum = self.states("accum", not_negative("Adagrad", "accum", accum))
        self.update_slots = update_slots

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        for param, grad, accum, lr in zip(self.parameters, gradients, self.accum, rates):
            total = ops.assign(accum, accum + grad * grad) if self.update_slots else accum
            ops.assign(param, param - lr * grad / ops.sqrt(total + 1e-8))


class RMSProp(Optimizer):
    """s = decay * s + (1 - decay) * g * g;  d = momentum * d + lr * g / sqrt(s + epsilon);  p -= d.

    Source: Tieleman & Hinton 2012, lecture 6.5.
    centered : s minus the square of the gradient's running mean in place of s
    States: mean_grad.<name> (where centered), mean_square.<name>, moment.<name>. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    use_locking : bool, MindSpore's hint; it changes no number
    """

    def __init__(self, params: Params, learning_rate: Rate = 0.1, decay: float = 0.9, momentum: float = 0.0,
                 epsilon: float = 1e-10, use_locking: bool = False, centered: bool = False, loss_scale: float = 1.0,
                 weight_decay: Decay = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, value in (("use_locking", use_locking), ("centered", centered)):
            if not isinstance(value, bool):
                raise ArgumentError(f"RMSProp: {name} is a bool, not {type(value).__name__}")
        self.decay = not_negative("RMSProp", "decay", decay)
        self.momentum = not_negative("RMSProp", "momentum", momentum)
        self.epsilon, self.centered = positive("RMSProp", "epsilon", epsilon), centered
        self.mg = self.states("mean_grad") if centered else (None,) * len(self.parameters)
        self.ms, self.moment = self.states("mean_square", "ones"), self.states("moment")

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        states = zip(self.parameters, gradients, self.ms, self.moment, self.mg, rates)
        for param, grad, square, moment, mean, lr in states:
            spread = ops.assign(square, self.decay * square + (1 - self.decay) * grad * grad)
            if self.centered:
                centre = ops.assign(mean, self.decay * mean + (1 - self.decay) * grad)
                spread = spread - centre * centre
            step = ops.assign(moment, self.momentum * moment + lr * grad / ops.sqrt(spread + self.epsilon))
            ops.assign(param, param - step)


class Adadelta(Optimizer):
    """a = rho * a + (1 - rho) * g * g;  d = g * sqrt(u + epsilon) / sqrt(a + epsilon);  u likewise of d;  p -= lr * d.

    States: accum.<name> (a), accum_update.<name> (u). Source: Zeiler 2012. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    """

    def __init__(self, params: Params, learning_rate: Rate = 1.0, rho: float = 0.9, epsilon: float = 1e-6,
                 loss_scale: float = 1.0, weight_decay: Decay = 0.0) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho = in_unit_interval("Adadelta", "rho", rho)
        self.epsilon = not_negative("Adadelta", "epsilon", epsilon)
        self.accum, self.accum_update = self.states("accum"), self.states("accum_update")

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        for param, grad, accum, moved, lr in zip(self.parameters, gradients, self.accum, self.accum_update, rates):
            total = ops.assign(accum, self.rho * accum + (1 - self.rho) * grad * grad)
            step = grad * ops.sqrt(moved + self.epsilon) / ops.sqrt(total + self.epsilon)
            ops.assign(moved, self.rho * moved + (1 - self.rho) * step * step)
            ops.assign(param, param - lr * step)
