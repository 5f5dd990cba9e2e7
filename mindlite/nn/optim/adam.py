"""Adam (Kingma & Ba 2015) and its kin: running means m of the gradient and v of its square, by element.

    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    p -= lr * correction * m / (sqrt(v) + eps)
"""
from __future__ import annotations

from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.errors import ArgumentError, ValueRangeError
from ...common.initializer import initializer
from ...common.tensor import Parameter, Tensor
from .optimizer import Decay, Optimizer, Params, Rate, in_unit_interval, positive


def _moments(beta1: float, beta2: float, m: Tensor, v: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """The new running means, written into m and v."""
    return (ops.assign(m, beta1 * m + (1 - beta1) * grad),
            ops.assign(v, beta2 * v + (1 - beta2) * grad * grad))


class _WithBetas(Optimizer):
    """beta1, beta2, eps, the powers of the betas (of `shape`) and the states m, v: what Adam's kin share."""
    beta1_power: Parameter
    beta2_power: Parameter

    def __init__(self, params: Params, learning_rate: Rate, beta1: float, beta2: float, eps: float, weight_decay: Any,
                 loss_scale: float, prefixes: tuple[str, str], powers: tuple[str, ...] = (), shape: tuple[int, ...] = ()) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        owner = type(self).__name__
        self.beta1, self.beta2 = in_unit_interval(owner, "beta1", beta1), in_unit_interval(owner, "beta2", beta2)
        self.eps = positive(owner, "eps", eps)
        for name in powers:
            setattr(self, name, Parameter(initializer("ones", shape, dt.float32), name=name))
        self.moment1, self.moment2 = self.states(prefixes[0]), self.states(prefixes[1])

    moments1 = property(lambda self: self.moment1, doc="moment1, as MindSpore's AdamWeightDecay and Lamb call it")
    moments2 = property(lambda self: self.moment2, doc="moment2, as MindSpore's AdamWeightDecay and Lamb call it")

    def _next(self, power: Parameter, beta: float) -> Tensor:
        """beta^t of this step, f32[], written into `power`."""
        return ops.reshape(ops.assign(power, power * beta), ())


class Adam(_WithBetas):
    """p -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps), t counted from 1.

    use_nesterov : beta1 * m + (1 - beta1) * g in place of m (Dozat 2016)
    use_amsgrad  : the greatest v so far in place of v (Reddi et al. 2018)
    use_lazy, use_offload, use_locking : MindSpore's hints on where and how to compute; the numbers are the same
    States: moment1.<name>, moment2.<name>, vhat.<name>, beta1_power, beta2_power. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    """

    _power_shape: tuple[int, ...] = ()

    def __init__(self, params: Params, learning_rate: Rate = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
                 use_locking: bool = False, use_nesterov: bool = False, weight_decay: Decay = 0.0, loss_scale: float = 1.0,
                 use_amsgrad: bool = False, use_lazy: bool = False, use_offload: bool = False) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale, ("moment1", "moment2"),
                         ("beta1_power", "beta2_power"), self._power_shape)
        for name, value in (("use_locking", use_locking), ("use_nesterov", use_nesterov), ("use_amsgrad", use_amsgrad),
                            ("use_lazy", use_lazy), ("use_offload", use_offload)):
            if not isinstance(value, bool):
                raise ArgumentError(f"Adam: {name} is a bool, not {type(value).__name__}")
        if use_lazy and use_offload:
            raise ValueRangeError("For 'Adam', 'use_lazy' and 'use_offload' can not both be True")
        if use_amsgrad and (use_lazy or use_offload):
            raise ValueRangeError("For lazy Adam and Adam with offload, there is no parameter named 'use_amsgrad'.")
        self.use_nesterov, self.use_amsgrad = use_nesterov, use_amsgrad
        self.vhat = self.states("vhat") if use_amsgrad else (None,) * len(self.parameters)

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        power1 = self._next(self.beta1_power, self.beta1)
        power2 = self._next(self.beta2_power, self.beta2)
        correction = ops.sqrt(1 - power2) / (1 - power1)
        states = zip(self.parameters, gradients, self.moment1, self.moment2, self.vhat, rates)
        for param, grad, m, v, vhat, lr in states:
            new_m, new_v = _moments(self.beta1, self.beta2, m, v, grad)
            if self.use_nesterov:
                new_m = self.beta1 * new_m + (1 - self.beta1) * grad
            if self.use_amsgrad:
                new_v = ops.assign(vhat, ops.maximum(vhat, new_v))
            ops.assign(param, param - lr * correction * new_m / (ops.sqrt(new_v) + self.eps))


class LazyAdam(Adam):
    """Adam, by MindSpore's name for gradients of a few rows; here gradients are whole, and the numbers are Adam's.

    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    beta1, beta2 : float in [0, 1)
    eps : float, added to the divisor
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    use_locking : bool, MindSpore's hint; it changes no number
    use_nesterov : bool
    """

    _power_shape = (1,)

    def __init__(self, params: Params, learning_rate: Rate = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
                 use_locking: bool = False, use_nesterov: bool = False, weight_decay: Decay = 0.0,
                 loss_scale: float = 1.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)


class AdamOffload(Adam):
    """Adam, by MindSpore's name for moments that are computed on the host; the numbers are Adam's.

    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    beta1, beta2 : float in [0, 1)
    eps : float, added to the divisor
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    use_locking : bool, MindSpore's hint; it changes no number
    use_nesterov : bool
    """

    _power_shape = (1,)

    def __init__(self, params: Params, learning_rate: Rate = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
                 use_locking: bool = False, use_nesterov: bool = False, weight_decay: Decay = 0.0,
                 loss_scale: float = 1.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)


class AdamWeightDecay(_WithBetas):
    """p -= lr * (m / (sqrt(v) + eps) + weight_decay * p): decay apart from the gradient, no bias correction (BERT's).

    States: adam_m.<name>, adam_v.<name>. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    beta1, beta2 : float in [0, 1)
    """

    def __init__(self, params: Params, learning_rate: Rate = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
                 weight_decay: Decay = 0.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, 1.0, ("adam_m", "adam_v"))

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.gradients_centralization(gradients)
        states = zip(self.parameters, gradients, self.moment1, self.moment2, rates, self.decays())
        for param, grad, m, v, lr, decay in states:
            new_m, new_v = _moments(self.beta1, self.beta2, m, v, grad)
            ops.assign(param, param - lr * (new_m / (ops.sqrt(new_v) + self.eps) + decay * param))


class AdamW(_WithBetas):
    """Adam with bias correction and decay apart from the gradient (Loshchilov & Hutter 2019).

    p = p * (1 - lr * weight_decay) - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
    States: moment1.<name>, moment2.<name>, beta1_power, beta2_power. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    loss_scale : float, by which gradients are divided
    """

    def __init__(self, params: Params, learning_rate: Rate = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
                 weight_decay: Decay = 0.01, loss_scale: float = 1.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale, ("moment1", "moment2"),
                         ("beta1_power", "beta2_power"))

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.gradients_centralization(self.scale_grad(gradients))
        power1 = self._next(self.beta1_power, self.beta1)
        power2 = self._next(self.beta2_power, self.beta2)
        states = zip(self.parameters, gradients, self.moment1, self.moment2, rates, self.decays())
        for param, grad, m, v, lr, decay in states:
            new_m, new_v = _moments(self.beta1, self.beta2, m, v, grad)
            step = (new_m / (1 - power1)) / (ops.sqrt(new_v / (1 - power2)) + self.eps)
            ops.assign(param, param - lr * (step + decay * param))


class AdaMax(_WithBetas):
    """p -= lr / (1 - beta1^t) * m / (u + eps), with u = max(beta2 * u, |g|) (Kingma & Ba 2015, section 7.1).

    States: moment1.<name>, moment2.<name> (u), beta1_power. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    weight_decay : float or a Cell of the step
    loss_scale : float, by which gradients are divided
    """

    def __init__(self, params: Params, learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
                 weight_decay: Decay = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale, ("moment1", "moment2"),
                         ("beta1_power",), (1,))

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.prepared(gradients)
        power1 = self._next(self.beta1_power, self.beta1)
        for param, grad, m, u, lr in zip(self.parameters, gradients, self.moment1, self.moment2, rates):
            new_m = ops.assign(m, self.beta1 * m + (1 - self.beta1) * grad)
            new_u = ops.assign(u, ops.maximum(self.beta2 * u, ops.abs(grad)))
            ops.assign(param, param - lr / (1 - power1) * new_m / (new_u + self.eps))


class Lamb(_WithBetas):
    """AdamW's step, scaled for each parameter by |p| / |step| where both are above zero (You et al. 2020).

    States: lamb_m.<name>, lamb_v.<name>. Arguments else as Optimizer's.
    params : Parameters, or dicts of groups, as Optimizer's `parameters`
    learning_rate : float, Tensor, list of floats or LearningRateSchedule
    beta1, beta2 : float in [0, 1)
    eps : float, added to the divisor
    weight_decay : float or a Cell of the step
    """

    def __init__(self, params: Params, learning_rate: Rate, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
                 weight_decay: Decay = 0.0) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, 1.0, ("lamb_m", "lamb_v"))

    def update(self, gradients: tuple[Tensor, ...], rates: tuple[Tensor, ...]) -> None:
        gradients = self.gradients_centralization(gradients)
        step = ops.cast(ops.reshape(self.global_step, ()), dtype=dt.float32) + 1
        power1, power2 = ops.pow(self.beta1, step), ops.pow(self.beta2, step)
        states = zip(self.parameters, gradients, self.moment1, self.moment2, rates, self.decays())
        for param, grad, m, v, lr, decay in states:
            new_m, new_v = _moments(self.beta1, self.beta2, m, v, grad)
            move = (new_m / (1 - power1)) / (ops.sqrt(new_v / (1 - power2)) + self.eps) + decay * param
            size, norm = ops.sqrt(ops.reduce_sum(param * param)), ops.sqrt(ops.reduce_sum(move * move))
            trust = ops.where(size > 0, ops.where(norm > 0, size / norm, 1.0), 1.0)
            ops.assign(param, param - lr * trust * move)
