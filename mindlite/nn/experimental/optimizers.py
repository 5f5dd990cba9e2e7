"""The optimisers of `experimental.optim`, with the formulas and arguments of torch.optim.

Everywhere g is the gradient (negated with maximize) plus weight_decay * p, t the number of the step from 1 on.
"""
from __future__ import annotations

from typing import Any

from ... import ops
from ...common.errors import ValueRangeError
from ...common.tensor import Parameter, Tensor
from .optimizer import Optimizer


class SGD(Optimizer):
    """v = momentum * v + (1 - dampening) * g, at the first step v = g;  p -= lr * v, with nesterov lr * (g + momentum * v).

    raises : ValueRangeError for nesterov without momentum, or with dampening
    """

    STATES = ("accum",)

    def __init__(self, params: Any, lr: Any, momentum: float = 0, dampening: float = 0, weight_decay: float = 0.0,
                 nesterov: bool = False, *, maximize: bool = False) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueRangeError("SGD: nesterov needs a momentum above zero and no dampening")
        super().__init__(params, {"lr": lr, "momentum": float(momentum), "dampening": float(dampening),
                                  "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
                                  "grad_centralization": False})

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        momentum = group["momentum"]
        if momentum == 0:
            ops.assign(param, param - lr * grad)
        else:
            first = step == 1
            accum = self.accum[number]
            v = ops.assign(accum, ops.where(first, grad, momentum * accum + (1 - group["dampening"]) * grad))
            ops.assign(param, param - lr * (grad + momentum * v if group["nesterov"] else v))


class _Moments(Optimizer):
    """m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g * g."""

    STATES: tuple[str, ...] = ("exp_avg", "exp_avg_sq")

    def moments(self, group: dict[str, Any], number: int, grad: Tensor) -> tuple[Tensor, Tensor]:
        beta1, beta2 = group["betas"]
        m, v = self.exp_avg[number], self.exp_avg_sq[number]
        return (ops.assign(m, beta1 * m + (1 - beta1) * grad), ops.assign(v, beta2 * v + (1 - beta2) * grad * grad))

    def largest(self, group: dict[str, Any], number: int, v: Tensor) -> Tensor:
        """v, with amsgrad the greatest v so far."""
        if group["amsgrad"]:
            greatest = self.max_exp_avg_sq[number]
            v = ops.assign(greatest, ops.maximum(greatest, v))
        return v


class Adam(_Moments):
    """p -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps) (Kingma & Ba 2015).

    amsgrad : the greatest v so far in place of v (Reddi et al. 2018)
    """

    STATES = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0, amsgrad: bool = False, *, maximize: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize})

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        beta1, beta2 = group["betas"]
        m, v = self.moments(group, number, grad)
        spread = ops.sqrt(self.largest(group, number, v)) / ops.sqrt(1 - ops.pow(beta2, step)) + group["eps"]
        ops.assign(param, param - lr / (1 - ops.pow(beta1, step)) * m / spread)


class AdamW(Adam):
    """Adam with p *= 1 - lr * weight_decay in place of decay in the gradient (Loshchilov & Hutter 2019)."""

    DECAYS_GRADIENTS = False

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.01, amsgrad: bool = False, *, maximize: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        beta1, beta2 = group["betas"]
        m, v = self.moments(group, number, grad)
        spread = ops.sqrt(self.largest(group, number, v)) / ops.sqrt(1 - ops.pow(beta2, step)) + group["eps"]
        ops.assign(param, param * (1 - lr * group["weight_decay"]) - lr / (1 - ops.pow(beta1, step)) * m / spread)


class NAdam(_Moments):
    """Adam with Nesterov's momentum, mu_t = beta1 * (1 - 0.96^(t * momentum_decay) / 2) (Dozat 2016)."""

    STATES = ("exp_avg", "exp_avg_sq", "mu_product")

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0, momentum_decay: float = 4e-3) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay})
        self.mu_product = self._state("mu_product", 1.0)

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        beta1, beta2 = group["betas"]
        m, v = self.moments(group, number, grad)
        mu = beta1 * (1 - 0.5 * ops.pow(0.96, step * group["momentum_decay"]))
        after = beta1 * (1 - 0.5 * ops.pow(0.96, (step + 1) * group["momentum_decay"]))
        product = ops.assign(self.mu_product[number], self.mu_product[number] * mu)
        spread = ops.sqrt(v / (1 - ops.pow(beta2, step))) + group["eps"]
        step_size = (1 - mu) / (1 - product) * grad + after / (1 - product * after) * m
        ops.assign(param, param - lr * step_size / spread)


class RAdam(_Moments):
    """Adam whose spread is trusted only when enough steps lie behind (Liu et al. 2020)."""

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        beta1, beta2 = group["betas"]
        m, v = self.moments(group, number, grad)
        left1, left2 = 1 - ops.pow(beta1, step), 1 - ops.pow(beta2, step)
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * ops.pow(beta2, step) / left2
        trusted = length > 5.0
        safe = ops.where(trusted, length, 6.0)
        rectified = ops.sqrt((safe - 4) * (safe - 2) * most / ((most - 4) * (most - 2) * safe))
        adapted = ops.where(trusted, rectified * ops.sqrt(left2) / (ops.sqrt(v) + group["eps"]), 1.0)
        ops.assign(param, param - lr * m / left1 * adapted)


class Adamax(Optimizer):
    """u = max(beta2 * u, |g| + eps);  p -= lr / (1 - beta1^t) * m / u (Kingma & Ba 2015, section 7.1)."""

    STATES = ("exp_avg", "exp_inf")

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0, *, maximize: bool = False) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        beta1, beta2 = group["betas"]
        m, u = self.exp_avg[number], self.exp_inf[number]
        m = ops.assign(m, beta1 * m + (1 - beta1) * grad)
        u = ops.assign(u, ops.maximum(beta2 * u, ops.abs(grad) + group["eps"]))
        ops.assign(param, param - lr / (1 - ops.pow(beta1, step)) * m / u)


class Adadelta(Optimizer):
    """a = rho * a + (1 - rho) * g * g;  d = g * sqrt(u + eps) / sqrt(a + eps);  u likewise of d;  p -= lr * d (Zeiler 2012)."""

    STATES = ("accum", "accum_update")

    def __init__(self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0, *,
                 maximize: bool = False) -> None:
        if not 0 <= rho <= 1:
            raise ValueRangeError(f"Adadelta: rho {rho} is outside [0, 1]")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        rho, eps = group["rho"], group["eps"]
        a, u = self.accum[number], self.accum_update[number]
        a = ops.assign(a, rho * a + (1 - rho) * grad * grad)
        d = grad * ops.sqrt(u + eps) / ops.sqrt(a + eps)
        ops.assign(u, rho * u + (1 - rho) * d * d)
        ops.assign(param, param - lr * d)


class Adagrad(Optimizer):
    """a += g * g;  p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(a) + eps) (Duchi et al. 2011)."""

    STATES = ("accum",)

    def __init__(self, params: Any, lr: Any = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
                 initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False) -> None:
        if initial_accumulator_value < 0:
            raise ValueRangeError(f"Adagrad: initial_accumulator_value {initial_accumulator_value} is below 0")
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps,
                                  "initial_accumulator_value": initial_accumulator_value, "maximize": maximize})
        self.accum = self._state("accum", initial_accumulator_value)

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        accum = self.accum[number]
        total = ops.assign(accum, accum + grad * grad)
        ops.assign(param, param - lr / (1 + (step - 1) * group["lr_decay"]) * grad / (ops.sqrt(total) + group["eps"]))


class ASGD(Optimizer):
    """p = p * (1 - lambd * eta) - eta * g, eta = lr / (1 + lambd * lr * (t - 1))^alpha; ax is the mean of p after t0 steps."""

    STATES = ("eta", "mu", "ax")

    def __init__(self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0.0, maximize: bool = False) -> None:
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "maximize": maximize})
        self.mu = self._state("mu", 1.0)

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        eta, mu, ax, lambd = self.eta[number], self.mu[number], self.ax[number], group["lambd"]
        now = ops.where(step == 1, lr, eta)
        new = ops.assign(param, param * (1 - lambd * now) - now * grad)
        ops.assign(ax, ax + (new - ax) * mu)
        ops.assign(eta, ops.broadcast_to(lr / ops.pow(1 + lambd * lr * step, group["alpha"]), eta.shape))
        ops.assign(mu, ops.broadcast_to(1 / ops.maximum(step - group["t0"], 1.0), mu.shape))


class RMSprop(Optimizer):
    """s = alpha * s + (1 - alpha) * g * g;  p -= lr * g / (sqrt(s) + eps), or with momentum its running sum (Hinton 2012).

    centered : s minus the square of the gradient's running mean in place of s
    """

    STATES = ("mean_square", "mean_grad", "moment")

    def __init__(self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
                 momentum: float = 0.0, centered: bool = False, maximize: bool = False) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "maximize": maximize})

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        alpha, square, mean, moment = group["alpha"], self.mean_square[number], self.mean_grad[number], self.moment[number]
        spread = ops.assign(square, alpha * square + (1 - alpha) * grad * grad)
        if group["centered"]:
            centre = ops.assign(mean, alpha * mean + (1 - alpha) * grad)
            spread = spread - centre * centre
        move = grad / (ops.sqrt(spread) + group["eps"])
        if group["momentum"] > 0:
            move = ops.assign(moment, group["momentum"] * moment + move)
        ops.assign(param, param - lr * move)


class Rprop(Optimizer):
    """Steps by the gradient's sign, grown while it stays and shrunk where it turns (Riedmiller & Braun 1993).

    etas : factors (below 1, above 1);   step_sizes : least and greatest step;   raises : ValueRangeError
    """

    STATES = ("prev", "step_size")

    def __init__(self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, maximize: bool = False) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueRangeError(f"Rprop: etas are a number in (0, 1) and one above 1, not {etas}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def update(self, group: dict[str, Any], lr: Any, step: Tensor, number: int, param: Parameter, grad: Tensor) -> None:
        smaller, larger = group["etas"]
        least, most = group["step_sizes"]
        prev, size = self.prev[number], self.step_size[number]
        agrees = grad * prev
        now = ops.where(step == 1, lr, size) * ops.where(agrees > 0, larger, ops.where(agrees < 0, smaller, 1.0))
        now = ops.assign(size, ops.minimum(ops.maximum(now, least), most))
        kept = ops.assign(prev, ops.where(agrees < 0, 0.0, grad))
        ops.assign(param, param - ops.sign(kept) * now)
