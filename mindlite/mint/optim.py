"""mint.optim: Adam, AdamW and SGD with torch's arguments: lr, betas, groups of parameters whose settings may change.

    optimizer = mint.optim.AdamW(net.trainable_params(), lr=1e-3)          optimizer(gradients)
    optimizer.param_groups[0]["lr"]         a Parameter: ops.assign(it, 1e-4) changes the rate, in compiled steps too

Sources: Kingma and Ba 2015 (Adam), Loshchilov and Hutter 2019 (AdamW), Reddi et al. 2018 (amsgrad), Sutskever et al. 2013
(momentum); the order of operations is torch 2's.
"""
from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Parameter, ParameterTuple, Tensor
from ..nn import Cell
from ..ops.optim_update import check_gradients

__all__ = ["Adam", "AdamW", "FusedAdamW", "SGD"]


def _not_negative(owner, **numbers):
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise ValueRangeError(f"{owner}: {name} is a number that is not negative, not {value!r}")


class Optimizer(Cell):
    """Parameters in groups, each with settings of its own: what the optimisers of this module share.

    params       : Parameters, or dicts {"params": Parameters, setting: value}
    param_groups : [{"params": [Parameter], "lr": a Parameter, setting: value}]
    step         : how many steps were taken, a Parameter
    raises       : ArgumentError for no Parameters, for other things, for a Parameter that comes twice; ValueRangeError
    """

    def __init__(self, params, defaults):
        super().__init__()
        owner = type(self).__name__
        params = list(params)
        if not params:
            raise ArgumentError(f"{owner}: there are no parameters")
        groups = params if isinstance(params[0], dict) else [{"params": params}]
        found, whole, settings = [], [], []
        for number, group in enumerate(groups):
            if not isinstance(group, dict) or "params" not in group or group.keys() - {"params", *defaults}:
                raise ArgumentError(f"{owner}: a group is a dict of params and {', '.join(defaults)}, not {group!r}"[:200])
            made = {**defaults, **group}
            made["params"] = [made["params"]] if isinstance(made["params"], Parameter) else list(made["params"])
            self.check(made)
            rate = made["lr"]
            made["lr"] = rate if isinstance(rate, Parameter) else Parameter(Tensor(float(rate), dt.float32),
                                                                             name=f"learning_rate_group_{number}",
                                                                             requires_grad=False)
            found.append(made)
            whole += made["params"]
            settings += [number] * len(made["params"])
        if not all(isinstance(p, Parameter) for p in whole):
            raise ArgumentError(f"{owner}: takes Parameters", hint="net.trainable_params()")
        if len({id(p) for p in whole}) < len(whole):
            raise ArgumentError(f"{owner}: a Parameter is there twice")
        self.defaults = defaults
        self._keep("param_groups", found)
        self._keep("parameters", ParameterTuple(whole))
        self._group_of = tuple(settings)
        self.lrs = ParameterTuple([group["lr"] for group in found])
        self.step = Parameter(Tensor(0.0, dt.float32), name="state_step", requires_grad=False)

    def check(self, group):
        """raises : ValueRangeError for a setting out of range"""
        if not isinstance(group["lr"], Tensor):
            _not_negative(type(self).__name__, lr=group["lr"])
        _not_negative(type(self).__name__, weight_decay=group["weight_decay"])

    def states(self, prefix):
        """A state of zeros for each parameter, named by prefix and its name."""
        made = self.parameters.clone(prefix, "zeros")
        for state in made:
            state.requires_grad = False
        return made

    def construct(self, gradients):
        check_gradients(type(self).__name__, self.parameters, gradients)
        step = ops.assign_add(self.step, 1)
        for i in range(len(self.parameters)):
            number = self._group_of[i]
            group = self.param_groups[number]
            grad = gradients[i].astype(self.parameters[i].dtype)
            if group["maximize"]:
                grad = -grad
            self.update(i, self.parameters[i], grad, group, group["lr"], step)
        return True


class SGD(Optimizer):
    """p -= lr * d, d = g + weight_decay * p; with momentum b = momentum * b + (1 - dampening) * d (the first b is d) in
    place of d, with nesterov d + momentum * b."""

    def __init__(self, params, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False):
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))
        self.momenta = self.states("momentum_buffer")

    def check(self, group):
        """raises : ValueRangeError"""
        super().check(group)
        _not_negative("SGD", momentum=group["momentum"])
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueRangeError("SGD: nesterov wants a momentum and no dampening")

    def update(self, i, param, grad, group, lr, step):
        """One parameter's step."""
        if group["weight_decay"] != 0:
            grad = grad + group["weight_decay"] * param
        momentum = group["momentum"]
        if momentum != 0:
            buffer = self.momenta[i]
            new = momentum * buffer + (1 - group["dampening"]) * grad
            buffer = ops.assign(buffer, ops.where(ops.equal(step, 1), grad, new))
            grad = grad + momentum * buffer if group["nesterov"] else buffer
        ops.assign(param, param - lr * grad)


class _Moments(Optimizer):
    """Adam's kin: exp_avg, exp_avg_sq, max_exp_avg_sq; `decoupled` decay goes to the parameter, not to the gradient."""
    decoupled = False

    def __init__(self, params, lr, betas, eps, weight_decay, amsgrad, maximize):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize))
        self.exp_avg, self.exp_avg_sq = self.states("exp_avg"), self.states("exp_avg_sq")
        self.max_exp_avg_sq = self.states("max_exp_avg_sq")

    def check(self, group):
        """raises : ValueRangeError"""
        super().check(group)
        _not_negative(type(self).__name__, eps=group["eps"])
        if not all(0 <= beta < 1 for beta in group["betas"]):
            raise ValueRangeError(f"{type(self).__name__}: betas are in [0, 1), not {group['betas']!r}")

    def update(self, i, param, grad, group, lr, step):
        """One parameter's step."""
        decay, (beta1, beta2) = group["weight_decay"], group["betas"]
        if decay != 0 and self.decoupled:
            param = ops.assign(param, param * (1 - lr * decay))
        elif decay != 0:
            grad = grad + decay * param
        mean = ops.assign(self.exp_avg[i], beta1 * self.exp_avg[i] + (1 - beta1) * grad)
        square = ops.assign(self.exp_avg_sq[i], beta2 * self.exp_avg_sq[i] + (1 - beta2) * grad * grad)
        if group["amsgrad"]:
            square = ops.assign(self.max_exp_avg_sq[i], ops.maximum(self.max_exp_avg_sq[i], square))
        root = ops.sqrt(square) / ops.sqrt(1 - ops.pow(beta2, step)) + group["eps"]
        ops.assign(param, param - lr / (1 - ops.pow(beta1, step)) * mean / root)


class Adam(_Moments):
    """p -= lr * m' / (sqrt(v') + eps) with the corrected means m', v' of g and g * g; g has weight_decay * p added."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)


class AdamW(_Moments):
    """Adam whose weight decay goes to the parameter: p *= 1 - lr * weight_decay first."""
    decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False, *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)


class FusedAdamW(AdamW):
    """AdamW; on a CPU the operators of a compiled step are fused in any case."""
