"""Optimisers against their formulas in NumPy; groups, learning rates and weight decay."""
import math

import numpy as np
import pytest

from mindlite import jit, nn
from mindlite.common import dtype as dt
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.common.tensor import Parameter, ParameterTuple, Tensor
from mindlite.nn.optim.optimizer import ParameterGroupError

STEPS = 4
RNG = np.random.default_rng(3)
START = RNG.normal(size=(3, 2))
GRADS = RNG.normal(size=(STEPS, 3, 2))


def weight(name="w", value=START):
    return Parameter(Tensor(np.array(value), dt.float64), name=name)


def run(make, steps=STEPS):
    """The parameter after `steps` updates by make([parameter])."""
    param = weight()
    optimizer = make([param])
    for grad in GRADS[:steps]:
        assert optimizer((Tensor(grad),)) is True
    assert optimizer.global_step.asnumpy().tolist() == [steps]
    return param.asnumpy()


def sgd(w, g, s, t, lr=0.1):
    return w - lr * g


def momentum(w, g, s, t, lr=0.1, u=0.9, nesterov=False):
    s["v"] = u * s.get("v", 0) + g
    return w - lr * (g + u * s["v"] if nesterov else s["v"])


def dampened(w, g, s, t, lr=0.1, u=0.9, d=0.5):
    s["v"] = u * s["v"] + (1 - d) * g if "v" in s else g
    return w - lr * s["v"]


def moments(g, s, b1=0.9, b2=0.99):
    s["m"], s["v"] = b1 * s.get("m", 0) + (1 - b1) * g, b2 * s.get("v", 0) + (1 - b2) * g * g
    return s["m"], s["v"]


def adam(w, g, s, t, lr=0.1, b1=0.9, b2=0.99, eps=1e-3, nesterov=False, amsgrad=False, l2=0.0):
    g = g + l2 * w
    m, v = moments(g, s)
    if nesterov:
        m = b1 * m + (1 - b1) * g
    if amsgrad:
        v = s["vhat"] = np.maximum(s.get("vhat", 0), v)
    return w - lr * math.sqrt(1 - b2 ** t) / (1 - b1 ** t) * m / (np.sqrt(v) + eps)


def adam_weight_decay(w, g, s, t, lr=0.1, eps=1e-3, wd=0.01):
    m, v = moments(g, s)
    return w - lr * (m / (np.sqrt(v) + eps) + wd * w)


def adamw(w, g, s, t, lr=0.1, eps=1e-3, wd=0.01):
    m, v = moments(g, s)
    return w * (1 - lr * wd) - lr * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.99 ** t)) + eps)


def adamax(w, g, s, t, lr=0.1, eps=1e-3):
    s["m"], s["u"] = 0.9 * s.get("m", 0) + 0.1 * g, np.maximum(0.99 * s.get("u", 0), abs(g))
    return w - lr / (1 - 0.9 ** t) * s["m"] / (s["u"] + eps)


def lamb(w, g, s, t, lr=0.1, eps=1e-3, wd=0.01):
    m, v = moments(g, s)
    step = (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.99 ** t)) + eps) + wd * w
    return w - lr * np.linalg.norm(w) / np.linalg.norm(step) * step


def adagrad(w, g, s, t, lr=0.1):
    s["a"] = s.get("a", 0.1) + g * g
    return w - lr * g / np.sqrt(s["a"])


def rmsprop(w, g, s, t, lr=0.1, rho=0.9, u=0.5, eps=1e-3, centered=False):
    s["s"], s["c"] = rho * s.get("s", 1) + (1 - rho) * g * g, rho * s.get("c", 0) + (1 - rho) * g
    spread = s["s"] - s["c"] ** 2 if centered else s["s"]
    s["d"] = u * s.get("d", 0) + lr * g / np.sqrt(spread + eps)
    return w - s["d"]


def adadelta(w, g, s, t, lr=1.0, rho=0.9, eps=1e-6):
    s["a"] = rho * s.get("a", 0) + (1 - rho) * g * g
    d = g * np.sqrt(s.get("u", 0) + eps) / np.sqrt(s["a"] + eps)
    s["u"] = rho * s.get("u", 0) + (1 - rho) * d * d
    return w - lr * d


def asgd(w, g, s, t, lr=0.1):
    eta = lr / (1 + 1e-4 * lr * (t - 1)) ** 0.75
    return w * (1 - 1e-4 * eta) - eta * g


def rprop(w, g, s, t, lr=0.1):
    agrees = g * s.get("prev", np.zeros_like(g))
    size = s.get("size", np.full_like(g, lr)) * np.where(agrees > 0, 1.2, np.where(agrees < 0, 0.5, 1))
    s["size"], s["prev"] = np.clip(size, 1e-6, 50), np.where(agrees < 0, 0, g)
    return w - np.sign(s["prev"]) * s["size"]


BETAS = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-3}


@pytest.mark.parametrize("make, formula", [
    (lambda p: nn.SGD(p, 0.1), sgd),
    (lambda p: nn.SGD(p, 0.1, momentum=0.9), momentum),
    (lambda p: nn.SGD(p, 0.1, momentum=0.9, nesterov=True), lambda *a: momentum(*a, nesterov=True)),
    (lambda p: nn.SGD(p, 0.1, momentum=0.9, dampening=0.5), dampened),
    (lambda p: nn.Momentum(p, 0.1, 0.9), momentum),
    (lambda p: nn.Momentum(p, 0.1, 0.9, use_nesterov=True), lambda *a: momentum(*a, nesterov=True)),
    (lambda p: nn.Momentum(p, 0.1, 0.9, weight_decay=0.1), lambda w, g, s, t: momentum(w, g + 0.1 * w, s, t)),
    (lambda p: nn.Momentum(p, 0.1, 0.9, loss_scale=4.0), lambda w, g, s, t: momentum(w, g / 4, s, t)),
    (lambda p: nn.Adam(p, 0.1, **BETAS), adam),
    (lambda p: nn.Adam(p, 0.1, use_nesterov=True, **BETAS), lambda *a: adam(*a, nesterov=True)),
    (lambda p: nn.Adam(p, 0.1, use_amsgrad=True, **BETAS), lambda *a: adam(*a, amsgrad=True)),
    (lambda p: nn.Adam(p, 0.1, weight_decay=0.1, **BETAS), lambda *a: adam(*a, l2=0.1)),
    (lambda p: nn.AdamWeightDecay(p, 0.1, weight_decay=0.01, **BETAS), adam_weight_decay),
    (lambda p: nn.AdamW(p, 0.1, weight_decay=0.01, **BETAS), adamw),
    (lambda p: nn.AdaMax(p, 0.1, **BETAS), adamax),
    (lambda p: nn.Lamb(p, 0.1, weight_decay=0.01, **BETAS), lamb),
    (lambda p: nn.Adagrad(p, learning_rate=0.1), adagrad),
    (lambda p: nn.RMSProp(p, 0.1, momentum=0.5, epsilon=1e-3), rmsprop),
    (lambda p: nn.RMSProp(p, 0.1, momentum=0.5, epsilon=1e-3, centered=True), lambda *a: rmsprop(*a, centered=True)),
    (lambda p: nn.Adadelta(p), adadelta),
    (lambda p: nn.ASGD(p, 0.1), asgd),
    (lambda p: nn.Rprop(p, 0.1), rprop),
], ids=lambda x: getattr(x, "__name__", None))
def test_an_optimiser_follows_its_formula(make, formula):
    w, state = START, {}
    for t, grad in enumerate(GRADS, 1):
        w = formula(w, grad, state, t)
    assert np.allclose(run(make), w, rtol=1e-5, atol=1e-6)


def test_adagrad_from_nothing_leaves_a_weight_without_a_gradient_where_it_is():
    param = weight("a")
    nn.Adagrad([param], accum=0.0, learning_rate=0.1)((Tensor(0 * GRADS[0]),))
    assert np.array_equal(param.asnumpy(), START)


def test_states_are_named_by_their_parameter_and_stand_after_it():
    optimizer = nn.Adam([weight("net.w")], use_amsgrad=True)
    assert list(optimizer.parameters_dict()) == ["global_step", "learning_rate", "net.w", "beta1_power", "beta2_power",
                                                 "moment1.net.w", "moment2.net.w", "vhat.net.w"]


def test_a_training_step_leaves_the_networks_names_alone_and_a_cell_that_names_its_children_does_not():
    net = nn.Dense(2, 2)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    assert [param.name for param in net.get_parameters()] == ["weight", "bias"]
    assert [path for path, _ in step.parameters_and_names()] == [
        "weight", "bias", "optimizer.global_step", "optimizer.learning_rate", "optimizer.momentum",
        "optimizer.moments.weight", "optimizer.moments.bias"]
    wrapper = nn.Cell()
    wrapper.net = net
    wrapper.optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    assert [param.name for param in net.get_parameters()] == ["optimizer.net.weight", "optimizer.net.bias"]
    assert isinstance(wrapper.optimizer.parameters, ParameterTuple)


def test_groups_have_their_own_rates_decays_and_order():
    a, b, c = weight("a"), weight("b"), weight("c")
    optimizer = nn.SGD([{"params": [a], "lr": 0.5}, {"params": iter([b, c]), "weight_decay": 0.1},
                        {"order_params": [c, a, b]}], 0.1)
    assert list(optimizer.parameters) == [c, a, b] and optimizer.is_group and optimizer.is_group_lr
    assert [float(rate.asnumpy()) for rate in optimizer.get_lr()] == pytest.approx([0.1, 0.5, 0.1])
    optimizer((Tensor(GRADS[0]), Tensor(GRADS[1]), Tensor(GRADS[2])))
    for param, grad, lr, decay in ((c, GRADS[0], 0.1, 0.1), (a, GRADS[1], 0.5, 0.0), (b, GRADS[2], 0.1, 0.1)):
        assert np.allclose(param.asnumpy(), START - lr * (grad + decay * START))
    assert optimizer.get_lr_parameter(a).asnumpy() == pytest.approx(0.5)


def test_groups_show_rates_decays_and_flags_in_the_order_of_the_parameters():
    a, b = weight("a"), weight("b")
    optimizer = nn.SGD([{"params": [a], "lr": 0.5}, {"params": [b], "weight_decay": 0.25},
                        {"order_params": [b, a]}], 0.125)
    assert optimizer.is_group_params_ordered and optimizer.decay_flags == (True, False)
    assert [float(decay) for decay in optimizer.weight_decay] == [0.25, 0.0]
    assert [float(rate) for rate in optimizer.learning_rate] == [0.125, 0.5]
    assert [rate.name for rate in optimizer.get_lr_parameter([b, a])] == ["learning_rate", "learning_rate_group_0"]
    plain = nn.SGD([weight("dense.weight"), weight("bn.gamma")], 0.1, weight_decay=0.25)
    assert not plain.is_group_params_ordered and plain.decay_flags == (True, False)
    assert float(plain.weight_decay) == 0.25


def test_beside_a_list_of_rates_a_number_is_the_rate_of_all_steps():
    a, b = weight("a"), weight("b")
    optimizer = nn.SGD([{"params": [a], "lr": [0.5, 0.25]}, {"params": [b]}], 0.125)
    assert [rate.learning_rate.asnumpy().tolist() for rate in optimizer.learning_rate] == [[0.5, 0.25], 0.125]
    assert optimizer.get_lr_parameter(b).asnumpy().tolist() == 0.125
    for first in (0.5, 0.25):
        assert [float(rate) for rate in optimizer.get_lr()] == [first, 0.125]
        optimizer((Tensor(GRADS[0]), Tensor(GRADS[0])))


def test_decay_without_groups_spares_beta_and_gamma_and_with_groups_does_not():
    gamma = weight("bn.gamma")
    zero = (Tensor(np.zeros_like(START)),)
    nn.SGD([gamma], 0.1, weight_decay=0.1)(zero)
    assert np.array_equal(gamma.asnumpy(), START)
    nn.SGD([{"params": [gamma], "weight_decay": 0.1}], 0.1)(zero)
    assert np.allclose(gamma.asnumpy(), START * 0.99)


def test_centralised_gradients_have_mean_zero_over_all_axes_but_the_first():
    param = weight()
    nn.SGD([{"params": [param], "grad_centralization": True}], 1.0)((Tensor(GRADS[0]),))
    assert np.allclose(START - param.asnumpy(), GRADS[0] - GRADS[0].mean(axis=1, keepdims=True))


@pytest.mark.parametrize("rate, expected", [
    ([0.4, 0.2], [0.4, 0.2, 0.2]),
    (Tensor([0.4, 0.2, 0.1]), [0.4, 0.2, 0.1]),
    (Tensor(0.3), [0.3, 0.3, 0.3]),
    (nn.ExponentialDecayLR(0.4, 0.5, 1), [0.4, 0.2, 0.1])], ids=["list", "tensor", "scalar", "schedule"])
def test_the_rate_of_each_step_is_taken_from_what_was_given(rate, expected):
    optimizer = nn.SGD([weight()], rate)
    for wanted in expected:
        assert float(optimizer.get_lr().asnumpy()) == pytest.approx(wanted)
        before = optimizer.parameters[0].asnumpy().copy()
        optimizer((Tensor(GRADS[0]),))
        assert np.allclose(before - optimizer.parameters[0].asnumpy(), wanted * GRADS[0])
    assert optimizer.dynamic_lr == (not isinstance(rate, Tensor) or rate.ndim == 1)


def test_a_rate_changed_between_steps_is_used():
    optimizer = nn.SGD([weight()], 0.1)
    optimizer.learning_rate.set_data(0.5)
    optimizer((Tensor(GRADS[0]),))
    assert np.allclose(optimizer.parameters[0].asnumpy(), START - 0.5 * GRADS[0])


def test_weight_decay_may_be_a_cell_of_the_step():
    optimizer = nn.SGD([weight()], 0.1, weight_decay=nn.ExponentialDecayLR(0.4, 0.5, 1))
    w = START
    for step in range(2):
        optimizer((Tensor(GRADS[step]),))
        w = w - 0.1 * (GRADS[step] + 0.4 * 0.5 ** step * w)
    assert np.allclose(optimizer.parameters[0].asnumpy(), w)


def test_a_16_bit_parameter_keeps_its_dtype():
    param = Parameter(Tensor(np.ones(3, np.float16)), name="w")
    nn.Adam([param], 0.1)((Tensor(np.ones(3, np.float16)),))
    assert param.dtype is dt.float16 and (param.asnumpy() < 1).all()


@pytest.mark.parametrize("bad, error", [
    (lambda: nn.SGD([]), ValueRangeError),
    (lambda: nn.SGD(weight()), ArgumentError),
    (lambda: nn.SGD([3]), ArgumentError),
    (lambda: nn.SGD([weight(), weight()]), ParameterGroupError),
    (lambda: nn.SGD([{"params": [weight()], "lr": [0.1, 0.2]}, {"params": [weight("b")]}], [0.1]), ValueRangeError),
    (lambda: nn.SGD([weight()]).get_lr_parameter([1]), ArgumentError),
    (lambda: nn.SGD([weight()]).get_lr_parameter(weight("b")), ArgumentError),
    (lambda: nn.SGD([weight()], -0.1), ValueRangeError),
    (lambda: nn.SGD([weight()], "0.1"), ArgumentError),
    (lambda: nn.SGD([weight()], [0.1, -0.1]), ValueRangeError),
    (lambda: nn.SGD([weight()], weight_decay=-1), ValueRangeError),
    (lambda: nn.SGD([weight()], loss_scale=0), ValueRangeError),
    (lambda: nn.SGD([{"params": [weight()], "rate": 1}]), ArgumentError),
    (lambda: nn.SGD([{"lr": 0.1}]), ArgumentError),
    (lambda: nn.SGD([{"params": []}]), ValueRangeError),
    (lambda: nn.SGD([{"params": [weight("a")]}, {"order_params": [weight("b")]}]), ParameterGroupError),
    (lambda: nn.SGD([weight()], nesterov=True), ValueRangeError),
    (lambda: nn.Adam([weight()], beta1=1.0), ValueRangeError),
    (lambda: nn.Adam([weight()], beta2="0.9"), ArgumentError),
    (lambda: nn.Adam([weight()], eps=0), ValueRangeError),
    (lambda: nn.Adam([weight()], use_nesterov=1), ArgumentError),
    (lambda: nn.Adam([weight()], use_lazy=True, use_amsgrad=True), ValueRangeError),
    (lambda: nn.RMSProp([weight()], centered=1), ArgumentError),
    (lambda: nn.Momentum([weight()], 0.1, -1), ValueRangeError),
    (lambda: nn.SGD([weight()])(()), ArgumentError),
    (lambda: nn.Rprop([weight()], etas=(1.0, 1.2)), ValueRangeError),
])
def test_bad_arguments_are_refused(bad, error):
    with pytest.raises(error):
        bad()


# ---------------------------------------------------------------- sparse weights, factored moments, rates by layer

def proximal(w, g, s, t, lr=0.1, l1=0.05, l2=0.2, accum=0.1):
    s["a"] = s.get("a", accum) + g * g
    rate = lr / np.sqrt(s["a"])
    moved = w - rate * g
    return np.sign(moved) * np.maximum(np.abs(moved) - rate * l1, 0) / (1 + rate * l2)


def ftrl(w, g, s, t, lr=0.1, l1=0.05, l2=0.2, power=-0.5, accum=0.1):
    before = s.get("n", np.full_like(w, accum))
    s["n"] = before + g * g
    s["z"] = s.get("z", 0) + g - (s["n"] ** -power - before ** -power) / lr * w
    new = (np.sign(s["z"]) * l1 - s["z"]) / (s["n"] ** -power / lr + 2 * l2)
    return np.where(np.abs(s["z"]) > l1, new, 0)


def adafactor(w, g, s, t, lr=0.1, eps=1e-30, clip=1.0, decay=0.8, b1=0.9, scale=False, relative=False, wd=0.0):
    def rms(x):
        return np.sqrt(np.mean(x * x))
    d = 1 - t ** -decay
    rate = min(0.01, 1 / math.sqrt(t)) if relative else lr
    rate = rate * max(1e-3, rms(w)) if scale else rate
    squares = g * g + eps
    if w.ndim > 1:
        s["r"] = d * s.get("r", 0) + (1 - d) * squares.mean(-1)
        s["c"] = d * s.get("c", 0) + (1 - d) * squares.mean(-2)
        move = g / np.sqrt(np.outer(s["r"] / s["r"].mean(), s["c"]))
    else:
        s["v"] = d * s.get("v", 0) + (1 - d) * squares
        move = g / np.sqrt(s["v"])
    move = rate * move / max(1, rms(move) / clip)
    if b1:
        move = s["m"] = b1 * s.get("m", 0) + (1 - b1) * move
    return w - rate * wd * w - move


def lars(w, g, s, t, lr=0.1, coefficient=0.1, wd=0.5, eps=1e-5, clip=False):
    size, slope = np.linalg.norm(w), np.linalg.norm(g)
    trust = coefficient * size / (slope + wd * size + eps)
    trust = min(trust / lr, 1) if clip else trust
    return w - lr * trust * (g + wd * w)


@pytest.mark.parametrize("make, formula, settings", [
    (lambda p: nn.ProximalAdagrad(p, learning_rate=0.1, l1=0.05, l2=0.2), proximal, {}),
    (lambda p: nn.ProximalAdagrad(p, learning_rate=0.1), proximal, {"l1": 0, "l2": 0}),
    (lambda p: nn.FTRL(p, learning_rate=0.1, l1=0.05, l2=0.2), ftrl, {}),
    (lambda p: nn.FTRL(p, learning_rate=0.1, lr_power=-0.7, l1=2.0), ftrl, {"l1": 2.0, "l2": 0, "power": -0.7}),
    (lambda p: nn.AdaFactor(p, 0.1, scale_parameter=False, relative_step=False), adafactor, {}),
    (lambda p: nn.AdaFactor(p, 0.1, beta1=0.0, weight_decay=0.1, relative_step=False), adafactor,
     {"b1": 0, "wd": 0.1, "scale": True}),
    (lambda p: nn.AdaFactor(p), adafactor, {"relative": True, "scale": True}),
    (lambda p: nn.LARS(nn.SGD(p, 0.1, weight_decay=0.5), coefficient=0.1), lars, {}),
    (lambda p: nn.LARS(nn.SGD(p, 0.1, weight_decay=0.5, loss_scale=1.0), coefficient=0.1, use_clip=True), lars, {"clip": True}),
    (lambda p: nn.LazyAdam(p, 0.1, 0.9, 0.99, 1e-3), adam, {}),
    (lambda p: nn.AdamOffload(p, 0.1, 0.9, 0.99, 1e-3, weight_decay=0.2), adam, {"l2": 0.2})])
@pytest.mark.parametrize("vector", [False, True])
def test_further_optimisers_are_their_formulas_in_both_modes(make, formula, settings, vector):
    start, grads = (START[:, 0], GRADS[:, :, 0]) if vector else (START, GRADS)
    expected, state = start, {}
    for number, grad in enumerate(grads):
        expected = formula(expected, grad, state, number + 1, **settings)
    for compiled in (False, True):
        param = weight(value=start)
        optimizer = make([param])
        step = jit(lambda grad: optimizer((grad,)), fullgraph=True) if compiled else lambda grad: optimizer((grad,))
        for grad in grads:
            step(Tensor(grad))
        np.testing.assert_allclose(param.asnumpy(), expected, rtol=1e-5)


def test_rates_by_layer_leave_out_what_the_filter_says():
    bias = weight("dense.bias")
    nn.LARS(nn.SGD([bias], 0.1, weight_decay=0.5))((Tensor(GRADS[0]),))
    np.testing.assert_allclose(bias.asnumpy(), START - 0.1 * GRADS[0], rtol=1e-6)


@pytest.mark.parametrize("make", [
    lambda p: nn.AdaFactor(p, 0.1), lambda p: nn.AdaFactor(p, relative_step=False),
    lambda p: nn.AdaFactor(p, 0.1, relative_step=False, warmup_init=True), lambda p: nn.FTRL(p, learning_rate=[0.1, 0.2]),
    lambda p: nn.FTRL(p, lr_power=0.5), lambda p: nn.ProximalAdagrad(p, l1=-1.0)])
def test_settings_that_do_not_go_together_are_refused(make):
    with pytest.raises((ArgumentError, ValueRangeError)):
        make([weight()])
