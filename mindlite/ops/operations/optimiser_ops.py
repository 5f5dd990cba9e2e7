"""Steps of optimisers as classes: `P.ApplyFtrl()(variable, .., gradient)` writes the variable and its state.

With a gradient of some rows (Sparse.., FusedSparse..) the step is made for these rows only, or as with zeros in the others.
"""
import functools
import inspect

from ...common.errors import DTypeError, ShapeError
from .. import abs, adam_update, exp, expand_dims, gather, maximum, ones_like, pow, sign, sqrt, where, zeros_like
from ..define import as_operand, check_tensors, dtype_of
from ..scatter import tensor_scatter_add, tensor_scatter_update
from .define import operation
from .writing import written


# operands of steps that are no states: numbers, or Tensors of one element
SETTINGS = frozenset("""lr learning_rate l1 l2 alpha rho epsilon decay momentum lr_power beta beta1 beta2 beta1_power beta2_power
                     logbase sign_decay global_step weight_decay loss_scale""".split())


def whole_step(function):
    """A decorator of one step for all elements: states and gradient have the shape of the variable, the first that is no setting.

    raises : ShapeError for another one, which would be broadcast
    """
    names = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def call(*args, **attrs):
        (variable, stored), *others = [pair for pair in zip(names, args) if pair[0] not in SETTINGS]
        for name, operand in others:
            if tuple(as_operand(operand).shape) != tuple(stored.shape):
                raise ShapeError(f"{function.__name__}: {name} has another shape than {variable}",
                                 note=f"{variable}: {list(stored.shape)}, {name}: {list(as_operand(operand).shape)}")
        return function(*args, **attrs)
    return call


def stepped(*pairs):
    """Write each value into its variable; returns what they hold then."""
    return tuple(written(variable, value) for variable, value in pairs)


@operation
@whole_step
def ApplyAdagradV2(variable, accumulation, lr, gradient, *, epsilon, update_slots=True):
    """accumulation += gradient^2; variable -= lr gradient / (sqrt(accumulation) + epsilon); returns both."""
    total = accumulation + gradient * gradient if update_slots else accumulation
    return stepped((variable, variable - lr * gradient / (sqrt(total) + epsilon)), (accumulation, total))


@operation
@whole_step
def ApplyAdamWithAmsgrad(variable, m, v, vhat, beta1_power, beta2_power, lr, gradient,
                         *, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False):
    """One step of AMSGrad (Reddi et al. 2018); returns (variable, m, v, vhat)."""
    rate = lr * sqrt(1 - as_operand(beta2_power)) / (1 - beta1_power)
    new_m, new_v = m * beta1 + gradient * (1 - beta1), v * beta2 + gradient * gradient * (1 - beta2)
    largest = maximum(vhat, new_v)
    return stepped(
        (variable, variable - rate * new_m / (sqrt(largest) + epsilon)),
        (m, new_m),
        (v, new_v),
        (vhat, largest))


def _proximal(value, rate, l1, l2):
    return sign(value) * maximum(abs(value) - rate * l1, 0) / (1 + rate * l2)


@operation
@whole_step
def ApplyProximalAdagrad(variable, accumulation, lr, l1, l2, gradient, *, use_locking=False):
    """One step of Adagrad with the proximal operator of l1 |x| + l2 x^2 / 2 (Duchi et al. 2011); returns both."""
    total = accumulation + gradient * gradient
    rate = lr / sqrt(total)
    return stepped((variable, _proximal(variable - rate * gradient, rate, l1, l2)), (accumulation, total))


@operation
@whole_step
def ApplyProximalGradientDescent(variable, alpha, l1, l2, delta):
    """One step of gradient descent with the proximal operator; returns the variable."""
    return stepped((variable, _proximal(variable - alpha * delta, alpha, l1, l2)))[0]


@operation
@whole_step
def ApplyAdaMax(variable, m, v, beta1_power, lr, beta1, beta2, epsilon, gradient):
    """One step of AdaMax (Kingma & Ba 2015); returns (variable, m, v)."""
    new_m, new_v = m * beta1 + gradient * (1 - beta1), maximum(v * beta2, abs(gradient))
    return stepped((variable, variable - lr / (1 - beta1_power) * new_m / (new_v + epsilon)), (m, new_m), (v, new_v))


@operation
@whole_step
def ApplyAdadelta(variable, accumulation, update, lr, rho, epsilon, gradient):
    """One step of Adadelta (Zeiler 2012); returns (variable, accumulation, update)."""
    total = accumulation * rho + gradient * gradient * (1 - rho)
    step = sqrt(update + epsilon) / sqrt(total + epsilon) * gradient
    return stepped((variable, variable - lr * step), (accumulation, total),
                    (update, update * rho + step * step * (1 - rho)))


@operation
@whole_step
def ApplyRMSProp(variable, mean_square, moment, lr, gradient, decay, momentum, epsilon, *, use_locking=False):
    """One step of RMSProp; returns the variable."""
    square_mean = mean_square * decay + gradient * gradient * (1 - decay)
    new_moment = moment * momentum + lr * gradient / sqrt(square_mean + epsilon)
    return stepped((variable, variable - new_moment), (mean_square, square_mean), (moment, new_moment))[0]


@operation
@whole_step
def ApplyAddSign(variable, m, lr, alpha, sign_decay, beta, gradient):
    """One step of AddSign (Bello et al. 2017); returns (variable, m)."""
    new = m * beta + gradient * (1 - beta)
    return stepped((variable, variable - lr * (alpha + sign_decay * sign(gradient) * sign(new)) * gradient), (m, new))


@operation
@whole_step
def ApplyPowerSign(variable, m, lr, logbase, sign_decay, beta, gradient):
    """One step of PowerSign (Bello et al. 2017); returns (variable, m)."""
    new = m * beta + gradient * (1 - beta)
    return stepped(
        (variable, variable - lr * exp(logbase * sign_decay * sign(gradient) * sign(new)) * gradient),
        (m, new))


def _followed(variable, accumulation, linear, gradient, lr, l1, l2, lr_power):
    """One step of FTRL-proximal (McMahan et al. 2013, algorithm 1): the new (variable, accumulation, linear)."""
    total = accumulation + gradient * gradient
    before, after = pow(accumulation, -lr_power), pow(total, -lr_power)
    line = linear + gradient - (after - before) / lr * variable
    step = (sign(line) * l1 - line) / (after / lr + 2 * l2)
    return where(abs(line) > l1, step, 0), total, line


@operation
@whole_step
def ApplyFtrl(variable, accumulation, linear, gradient, lr, l1, l2, lr_power, *, use_locking=False):
    """One step of FTRL-proximal; returns the variable."""
    new = _followed(variable, accumulation, linear, gradient, lr, l1, l2, lr_power)
    return stepped((variable, new[0]), (accumulation, new[1]), (linear, new[2]))[0]


# ---------------------------------------------------------------- gradients of some rows

def _check_rows(name, variable, states, gradient, indices):
    check_tensors(name, gradient=gradient, indices=indices)
    for state in states:
        if tuple(state.shape) != tuple(variable.shape):
            raise ShapeError(f"{name}: state unlike the variable",
                             note=f"variable: {list(variable.shape)}, state: {list(state.shape)}")
    if len(indices.shape) != 1 or not gradient.shape or indices.shape[0] != gradient.shape[0] \
            or tuple(gradient.shape[1:]) != tuple(variable.shape[1:]):
        raise ShapeError(f"{name}: the rows of the gradient do not fit", note=f"variable: {list(variable.shape)}, "
                         f"gradient: {list(gradient.shape)}, indices: {list(indices.shape)}")
    if dtype_of(indices).kind not in "iu":
        raise DTypeError(f"{name}: indices are integers, not {dtype_of(indices).name}")


def _dense(name, variable, states, gradient, indices):
    """The gradient with zeros in the other rows; rows that are named twice are added."""
    _check_rows(name, variable, states, gradient, indices)
    return tensor_scatter_add(zeros_like(variable), expand_dims(indices, -1), gradient)


def _rows_stepped(name, step, variable, states, gradient, indices):
    """step(*rows, gradient) gives new rows; they are written. Rows that are named twice: the last one counts."""
    _check_rows(name, variable, states, gradient, indices)
    stored = (variable, *states)
    new = step(*[gather(x, indices, 0) for x in stored], gradient)
    return stepped(*[(x, tensor_scatter_update(x, expand_dims(indices, -1), rows)) for x, rows in zip(stored, new)])


@operation
def SparseApplyAdagrad(variable, accumulation, gradient, indices, *, lr, update_slots=True, use_locking=False):
    """One step of Adagrad for the rows `indices`; returns (variable, accumulation)."""
    def step(rows, total, gradient):
        total = total + gradient * gradient if update_slots else total
        return rows - lr * gradient / sqrt(total), total
    return _rows_stepped("SparseApplyAdagrad", step, variable, (accumulation,), gradient, indices)


@operation
def SparseApplyAdagradV2(variable, accumulation, gradient, indices, *, lr, epsilon, use_locking=False, update_slots=True):
    """One step of Adagrad for the rows `indices`, with epsilon beside the root; returns (variable, accumulation)."""
    def step(rows, total, gradient):
        total = total + gradient * gradient if update_slots else total
        return rows - lr * gradient / (sqrt(total) + epsilon), total
    return _rows_stepped("SparseApplyAdagradV2", step, variable, (accumulation,), gradient, indices)


@operation
def SparseApplyFtrl(variable, accumulation, linear, gradient, indices, *, lr, l1, l2, lr_power, use_locking=False):
    """One step of FTRL-proximal for the rows `indices`; returns (variable, accumulation, linear)."""
    def step(rows, total, line, gradient):
        return _followed(rows, total, line, gradient, lr, l1, l2, lr_power)
    return _rows_stepped("SparseApplyFtrl", step, variable, (accumulation, linear), gradient, indices)


@operation
def FusedSparseFtrl(variable, accumulation, linear, gradient, indices, *, lr, l1, l2, lr_power, use_locking=False):
    """As SparseApplyFtrl; rows that are named twice are added."""
    total = _dense("FusedSparseFtrl", variable, (accumulation, linear), gradient, indices)
    new = _followed(variable, accumulation, linear, total, lr, l1, l2, lr_power)
    touched = tensor_scatter_update(zeros_like(variable), expand_dims(indices, -1), ones_like(gradient)) > 0
    return stepped(*[(x, where(touched, made, x)) for x, made in zip((variable, accumulation, linear), new)])


@operation
def FusedSparseAdam(variable, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon,
                    gradient, indices, *, use_locking=False, use_nesterov=False):
    """One step of Adam with a gradient of some rows; rows named twice are added. Returns (variable, m, v)."""
    gradient = _dense("FusedSparseAdam", variable, (m, v), gradient, indices)
    new = adam_update(variable, m, v, gradient, lr, beta1_power, beta2_power, beta1=float(beta1), beta2=float(beta2),
                      epsilon=float(epsilon), use_nesterov=use_nesterov)
    return stepped((variable, new[0]), (m, new[1]), (v, new[2]))


@operation
@whole_step
def SGD(parameters, gradient, learning_rate, accum, momentum, stat, *, dampening=0.0, weight_decay=0.0, nesterov=False):
    """One step of stochastic gradient descent with momentum; returns the parameters.

    stat : above 0 where a step is the first: there accum becomes the gradient; it is 0 afterwards
    """
    gradient = gradient + parameters * weight_decay if weight_decay else gradient
    total = where(stat > 0, gradient, accum * momentum + gradient * (1 - dampening))
    step = gradient + total * momentum if nesterov else total
    return stepped((parameters, parameters - learning_rate * step), (accum, total), (stat, zeros_like(stat)))[0]


@operation
@whole_step
def AdamWeightDecay(variable, m, v, lr, beta1, beta2, epsilon, decay, gradient, *, use_locking=False):
    """One step of Adam without bias correction, the variable itself shrunk by lr * decay; returns (variable, m, v).

    source : Loshchilov and Hutter 2019, as MindSpore has it
    """
    new_m, new_v = m * beta1 + gradient * (1 - beta1), v * beta2 + gradient * gradient * (1 - beta2)
    step = new_m / (sqrt(new_v) + epsilon) + decay * variable
    return stepped((variable, variable - lr * step), (m, new_m), (v, new_v))


@operation
@whole_step
def ApplyAdamWithAmsgradV2(variable, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient, *,
                           use_locking=False):
    """One step of AMSGrad (Reddi et al. 2018); returns (variable, m, v, vhat)."""
    rate = lr * sqrt(1 - as_operand(beta2_power)) / (1 - beta1_power)
    new_m, new_v = m * beta1 + gradient * (1 - beta1), v * beta2 + gradient * gradient * (1 - beta2)
    largest = maximum(vhat, new_v)
    return stepped((variable, variable - rate * new_m / (sqrt(largest) + epsilon)), (m, new_m), (v, new_v), (vhat, largest))


@operation
@whole_step
def ApplyCenteredRMSProp(variable, mean_gradient, mean_square, moment, gradient, learning_rate, decay, momentum, epsilon, *,
                         use_locking=False):
    """One step of RMSProp by the variance of gradients (Graves 2013, section 4.2); returns the variable."""
    mean = mean_gradient * decay + gradient * (1 - decay)
    square = mean_square * decay + gradient * gradient * (1 - decay)
    step = moment * momentum + learning_rate * gradient / sqrt(square - mean * mean + epsilon)
    return stepped((variable, variable - step), (mean_gradient, mean), (mean_square, square), (moment, step))[0]


@operation
@whole_step
def ApplyAdagradDA(variable, gradient_accumulator, gradient_squared_accumulator, gradient, lr, l1, l2, global_step, *,
                   use_locking=False):
    """One step of Adagrad by dual averaging (Duchi et al. 2011); returns the variable."""
    total = gradient_accumulator + gradient
    squares = gradient_squared_accumulator + gradient * gradient
    step = as_operand(global_step)
    shrunk = where(as_operand(l1) > 0, sign(total) * maximum(abs(total) - l1 * step, 0), total)
    return stepped((variable, -1 * lr * shrunk / (l2 * step * lr + sqrt(squares))), (gradient_accumulator, total),
                   (gradient_squared_accumulator, squares))[0]


@operation
def SparseApplyProximalAdagrad(variable, accumulation, lr, l1, l2, gradient, indices, *, use_locking=False):
    """ApplyProximalAdagrad for the rows `indices`; returns both."""
    def step(rows, total, gradient):
        total = total + gradient * gradient
        rate = lr / sqrt(total)
        return _proximal(rows - rate * gradient, rate, l1, l2), total
    return _rows_stepped("SparseApplyProximalAdagrad", step, variable, (accumulation,), gradient, indices)


@operation
def SparseApplyAdadelta(variable, accumulation, update, lr, rho, gradient, indices, *, epsilon, use_locking=False):
    """ApplyAdadelta for the rows `indices`; returns (variable, accumulation, update)."""
    def step(rows, total, before, gradient):
        total = total * rho + gradient * gradient * (1 - rho)
        change = sqrt(before + epsilon) / sqrt(total + epsilon) * gradient
        return rows - lr * change, total, before * rho + change * change * (1 - rho)
    return _rows_stepped("SparseApplyAdadelta", step, variable, (accumulation, update), gradient, indices)


@operation
def SparseApplyRMSProp(variable, mean_square, moment, lr, gradient, indices, *, rho, momentum, epsilon, use_locking=False):
    """ApplyRMSProp for the rows `indices`; returns (variable, mean_square, moment)."""
    def step(rows, squares, before, gradient):
        squares = squares * rho + gradient * gradient * (1 - rho)
        before = before * momentum + lr * gradient / sqrt(squares + epsilon)
        return rows - before, squares, before
    return _rows_stepped("SparseApplyRMSProp", step, variable, (mean_square, moment), gradient, indices)


@operation
@whole_step
def FusedWeightScaleApplyMomentum(weight_decay, loss_scale, variable, accumulation, learning_rate, gradient, momentum):
    """One step of momentum with the gradient times loss_scale and weight_decay times the variable added; returns the variable."""
    total = accumulation * momentum + gradient * loss_scale + variable * weight_decay
    return stepped((variable, variable - learning_rate * total), (accumulation, total))[0]


@operation
@whole_step
def ApplyKerasMomentum(variable, accumulation, lr, gradient, momentum, *, use_locking=False, use_nesterov=False):
    """accumulation = momentum accumulation - lr gradient; variable += accumulation, or by Nesterov; returns both."""
    total = accumulation * momentum - lr * gradient
    step = total * momentum - lr * gradient if use_nesterov else total
    return stepped((variable, variable + step), (accumulation, total))


@operation
def FusedSparseProximalAdagrad(variable, accumulation, lr, l1, l2, gradient, indices, *, use_locking=False):
    """As SparseApplyProximalAdagrad; rows that are named twice are added."""
    gradient = gather(_dense("FusedSparseProximalAdagrad", variable, (accumulation,), gradient, indices), indices, 0)
    return SparseApplyProximalAdagrad()(variable, accumulation, lr, l1, l2, gradient, indices)


@operation
def FusedSparseLazyAdam(variable, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient, indices, *,
                        use_locking=False, use_nesterov=False):
    """One step of Adam for the rows `indices` alone; rows that are named twice are added. Returns (variable, m, v)."""
    gradient = gather(_dense("FusedSparseLazyAdam", variable, (m, v), gradient, indices), indices, 0)
    rate = lr * sqrt(1 - as_operand(beta2_power)) / (1 - beta1_power)

    def step(rows, mean, square, gradient):
        mean, square = mean * beta1 + gradient * (1 - beta1), square * beta2 + gradient * gradient * (1 - beta2)
        ahead = mean * beta1 + gradient * (1 - beta1) if use_nesterov else mean
        return rows - rate * ahead / (sqrt(square) + epsilon), mean, square
    return _rows_stepped("FusedSparseLazyAdam", step, variable, (m, v), gradient, indices)
