"""One step of an optimiser as a function: (parameter, state.., gradient, rate) -> (parameter', state'..).

    param, m, v = adam_update(param, m, v, grad, lr, beta1_power, beta2_power, beta1=0.9, beta2=0.999, epsilon=1e-8)

All elementwise, so that a step fuses into one kernel per parameter. Rates are numbers or tensors []; the arithmetic is
done in the state's dtype and each result has the dtype of what it replaces.
"""
from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..common.errors import ArgumentError, DTypeError, ShapeError
from ..common.tensor import Parameter, Tensor, TensorLike
from ..mindir.abstract import AbstractTuple
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from .basic import reduce_sum
from .define import as_operand, cast_to, check_tensors, composite, documented, dtype_of
from .elementary import sqrt
from .logic import logical_and, where
from .sbp import letters, sbp_rule


def check_gradients(name: str, parameters: Sequence[Parameter], gradients: Any) -> None:
    """See to it that there is one gradient for each parameter, of its shape. name: the optimiser's

    raises : ArgumentError for what is no tuple, another number of gradients or None in place of one; ShapeError
    """
    if not isinstance(gradients, (tuple, list)):
        raise ArgumentError(f"{name}: a tuple of gradients is wanted, one for each parameter, not {type(gradients).__name__}",
                            hint="optimizer((gradient,)) for one parameter")
    if len(gradients) != len(parameters):
        raise ArgumentError(f"{name}: {len(parameters)} gradients are wanted, {len(gradients)} were given")
    for parameter, gradient in zip(parameters, gradients):
        if gradient is None:
            raise ArgumentError(f"{name}: the gradient of {parameter.name} is None",
                                hint="give the optimiser only parameters that have gradients")
        if isinstance(gradient, (Tensor, AnfNode)) and tuple(gradient.shape) != tuple(parameter.shape):
            raise ShapeError(f"{name}: the gradient of {parameter.name} has another shape",
                             note=f"gradient: {list(gradient.shape)}, parameter: {list(parameter.shape)}",
                             hint="gradients come in the order of the optimiser's parameters")


_STATE = """
    param  : float Tensor, the parameter
    {states} : float Tensors of its shape, the state of the optimiser; the step is computed in their dtype
    grad   : Tensor of its shape
    lr     : number or Tensor [], the rate
    """
_RESULTS = """
    out    : the new ({results}), each in the dtype of what it replaces; nothing is written
    raises : ShapeError for a state, gradient or rate of another shape, DTypeError for a parameter or state that is no float
    """


def _declare(name, states, local=True):
    """Decorate the body of an update with `states` arrays before the gradient: its infer rule, what prepares operands,
    its SBP.

    local : each element depends on the same elements of the operands only
    """
    def infer(*args, **attrs):
        param = args[0]
        if args[1].dtype.kind != "f" or param.dtype.kind != "f":
            raise DTypeError(f"{name}: parameter and state are floats", note=f"param: {param}, {args[1]}")
        for x in args[1:states + 1]:
            error = lambda x=x: ShapeError(f"{name}: state or gradient unlike the parameter",  # noqa: E731
                                           note=f"param: {param}, {x}")
            if x.ndim != param.ndim:
                raise error()
            for have, want in zip(x.shape, param.shape):
                require("==", have, want, error)
        for x in args[states + 1:]:
            if x.shape != ():
                raise ShapeError(f"{name}: a rate is a number or a tensor without axes", note=str(x))
        return AbstractTuple(args[:states])

    def prepare(args, attrs):
        check_tensors(name, param=args[0], state=args[1])
        wide = dtype_of(args[1])
        arrays = args[:states] + tuple(cast_to(as_operand(x), wide) for x in args[states:states + 1])
        return arrays + tuple(cast_to(as_operand(x, wide), wide) for x in args[states + 1:]), attrs

    def spec(param, *others, **attrs):
        axes = letters(param.ndim) if local else "_" * param.ndim
        return ",".join([axes] * (states + 1) + [""] * (len(others) - states)) + "->" + ",".join([axes] * states)

    def declare(body):
        held = list(inspect.signature(body).parameters)[:states]
        shared = documented(state=_STATE.format(states=", ".join(held[1:])), results=_RESULTS.format(results=", ".join(held)))
        prim = composite(shared(body), infer=infer, prepare=prepare, name=name)
        sbp_rule(prim, spec)
        return prim
    return declare


def _like(values, originals):
    return tuple(cast_to(value, dtype_of(x)) for value, x in zip(values, originals))


@_declare("adam_update", 3)
def adam_update(param: Tensor, m: Tensor, v: Tensor, grad: Tensor, lr: TensorLike, beta1_power: Any, beta2_power: Any, *,
                beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                use_nesterov: bool = False) -> tuple[Tensor, ...]:
    """One step of Adam.

    {state}
    beta1_power, beta2_power : number or Tensor [], beta1 and beta2 to the power of the step's number, counted from 1
    beta1, beta2 : float, the decay of the running means of grad and grad ** 2
    epsilon : float, added to the root of the second
    use_nesterov : bool; True steps along the mean that the next gradient would see
    {results}
    source : Kingma and Ba 2015, section 2, with its efficient order of operations; Dozat 2016 for use_nesterov
    """
    wide = cast_to(param, dtype_of(m))
    new_m = m * beta1 + grad * (1 - beta1)
    new_v = v * beta2 + grad * grad * (1 - beta2)
    rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
    ahead = new_m * beta1 + grad * (1 - beta1) if use_nesterov else new_m
    return _like((wide - rate * ahead / (sqrt(new_v) + epsilon), new_m, new_v), (param, m, v))


@_declare("adamw_update", 3)
def adamw_update(param: Tensor, m: Tensor, v: Tensor, grad: Tensor, lr: TensorLike, beta1_power: Any, beta2_power: Any, *,
                 beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 weight_decay: float = 0.01) -> tuple[Tensor, ...]:
    """One step of Adam whose parameter itself shrinks by lr * weight_decay.

    {state}
    beta1_power, beta2_power : number or Tensor [], beta1 and beta2 to the power of the step's number, counted from 1
    beta1, beta2 : float, the decay of the running means of grad and grad ** 2
    epsilon : float, added to the root of the second
    weight_decay : float
    {results}
    source : Loshchilov and Hutter 2019, algorithm 2
    """
    wide = cast_to(param, dtype_of(m))
    new_m = m * beta1 + grad * (1 - beta1)
    new_v = v * beta2 + grad * grad * (1 - beta2)
    step = new_m / (1 - beta1_power) / (sqrt(new_v / (1 - beta2_power)) + epsilon)
    return _like((wide - lr * (step + weight_decay * wide), new_m, new_v), (param, m, v))


@_declare("adam_weight_decay_update", 3)
def adam_weight_decay_update(param: Tensor, m: Tensor, v: Tensor, grad: Tensor, lr: TensorLike, *, beta1: float = 0.9,
                             beta2: float = 0.999, epsilon: float = 1e-6, weight_decay: float = 0.0) -> tuple[Tensor, ...]:
    """One step of Adam without the correction of the moments' start, the parameter decayed: BERT's optimiser.

    {state}
    beta1, beta2 : float, the decay of the running means of grad and grad ** 2
    epsilon : float, added to the root of the second
    weight_decay : float; lr * weight_decay is the part by which the parameter shrinks
    {results}
    source : Devlin et al. 2019; MindSpore's AdamWeightDecay
    """
    wide = cast_to(param, dtype_of(m))
    new_m = m * beta1 + grad * (1 - beta1)
    new_v = v * beta2 + grad * grad * (1 - beta2)
    return _like((wide - lr * (new_m / (sqrt(new_v) + epsilon) + weight_decay * wide), new_m, new_v), (param, m, v))


@_declare("lamb_update", 3, local=False)
def lamb_update(param: Tensor, m: Tensor, v: Tensor, grad: Tensor, lr: TensorLike, beta1_power: Any, beta2_power: Any, *,
                beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6, weight_decay: float = 0.0) -> tuple[Tensor, ...]:
    """One step of LAMB: AdamW's step scaled by |param| / |step|, 1 where one of them is 0.

    {state}
    beta1_power, beta2_power : number or Tensor [], beta1 and beta2 to the power of the step's number, counted from 1
    beta1, beta2 : float, the decay of the running means of grad and grad ** 2
    epsilon : float, added to the root of the second
    weight_decay : float; weight_decay * param is part of the step
    {results}
    source : You et al. 2020, algorithm 2
    """
    wide = cast_to(param, dtype_of(m))
    new_m = m * beta1 + grad * (1 - beta1)
    new_v = v * beta2 + grad * grad * (1 - beta2)
    step = new_m / (1 - beta1_power) / (sqrt(new_v / (1 - beta2_power)) + epsilon) + weight_decay * wide
    length, size = sqrt(reduce_sum(wide * wide)), sqrt(reduce_sum(step * step))
    both = logical_and(length > 0, size > 0)
    trust = where(both, length / where(both, size, 1), 1)
    return _like((wide - lr * trust * step, new_m, new_v), (param, m, v))


@_declare("momentum_update", 2)
def momentum_update(param: Tensor, accum: Tensor, grad: Tensor, lr: TensorLike, momentum: TensorLike, *,
                    use_nesterov: bool = False) -> tuple[Tensor, ...]:
    """One step with momentum: accum' = accum * momentum + grad; param' = param - lr * accum'.

    {state}
    momentum : number or Tensor [], the decay of accum
    use_nesterov : bool; True steps by lr * (grad + momentum * accum')
    {results}
    source : Sutskever et al. 2013, in MindSpore's form, where the rate is outside accum
    """
    wide = cast_to(param, dtype_of(accum))
    new = accum * momentum + grad
    return _like((wide - lr * (grad + new * momentum if use_nesterov else new), new), (param, accum))


@_declare("sgd_update", 2)
def sgd_update(param: Tensor, accum: Tensor, grad: Tensor, lr: TensorLike, momentum: TensorLike, first: Tensor, *,
               dampening: float = 0.0, nesterov: bool = False) -> tuple[Tensor, ...]:
    """One step of torch's SGD: accum' = grad on the first step, else accum * momentum + grad * (1 - dampening).

    {state}
    momentum : number or Tensor [], the decay of accum
    first  : Tensor [], above 0 on the first step
    dampening : float
    nesterov : bool; True steps by lr * (grad + momentum * accum')
    {results}
    source : Sutskever et al. 2013, in torch's form
    """
    wide = cast_to(param, dtype_of(accum))
    new = where(first > 0, grad, accum * momentum + grad * (1 - dampening))
    return _like((wide - lr * (grad + new * momentum if nesterov else new), new), (param, accum))


@_declare("adagrad_update", 2)
def adagrad_update(param: Tensor, accum: Tensor, grad: Tensor, lr: TensorLike, *, epsilon: float = 0.0) -> tuple[Tensor, ...]:
    """One step of Adagrad: accum' = accum + grad ** 2; param' = param - lr * grad / (sqrt(accum') + epsilon).

    {state}
    epsilon : float
    {results}
    source : Duchi, Hazan, Singer 2011
    """
    wide = cast_to(param, dtype_of(accum))
    new = accum + grad * grad
    return _like((wide - lr * grad / (sqrt(new) + epsilon), new), (param, accum))


@_declare("rmsprop_update", 3)
def rmsprop_update(param: Tensor, mean_square: Tensor, moment: Tensor, grad: Tensor, lr: TensorLike, *, decay: float = 0.9,
                   momentum: float = 0.0, epsilon: float = 1e-10) -> tuple[Tensor, ...]:
    """One step scaled by the root of the running mean of grad ** 2.

    {state}
    decay  : float, of the running mean
    momentum : float, the part of the last step (`moment`) that is done again
    epsilon : float, added to the mean below the root
    {results}
    source : Tieleman and Hinton 2012, lecture 6.5
    """
    wide = cast_to(param, dtype_of(mean_square))
    square = mean_square * decay + grad * grad * (1 - decay)
    new = moment * momentum + lr * grad / sqrt(square + epsilon)
    return _like((wide - new, square, new), (param, mean_square, moment))


@_declare("centered_rmsprop_update", 4)
def centered_rmsprop_update(param: Tensor, mean_grad: Tensor, mean_square: Tensor, moment: Tensor, grad: Tensor, lr: TensorLike,
                            *, decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10) -> tuple[Tensor, ...]:
    """One step of rmsprop_update with the running variance of grad in place of its mean square.

    {state}
    decay  : float, of the running means of grad and grad ** 2
    momentum : float, the part of the last step (`moment`) that is done again
    epsilon : float, added to the variance below the root
    {results}
    source : Graves 2013, equation 40
    """
    wide = cast_to(param, dtype_of(mean_square))
    mean = mean_grad * decay + grad * (1 - decay)
    square = mean_square * decay + grad * grad * (1 - decay)
    new = moment * momentum + lr * grad / sqrt(square - mean * mean + epsilon)
    return _like((wide - new, mean, square, new), (param, mean_grad, mean_square, moment))
