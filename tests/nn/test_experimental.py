"""Optimisers with groups and their schedulers: the numbers of torch 2.13, stored; both modes; what programs change is seen."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.config import config
from mindlite.nn import experimental as optim
from mindlite.nn.experimental import lr_scheduler as schedulers

GRADS = np.array([[0.5, -1.0, 0.25], [-0.3, 0.8, 0.1], [0.2, 0.4, -0.9], [1.5, -0.2, 0.05], [-0.7, -0.6, 0.3],
                  [0.1, 0.9, -0.4], [0.4, -0.5, 0.6]], np.float32)
START = np.array([1.0, -2.0, 0.5], np.float32)
CASES = {                                            # name: (class, settings, what torch 2.13 makes of START in seven steps)
    "SGD": (optim.SGD, dict(lr=0.1), [0.83, -1.98, 0.5]),
    "SGD, momentum": (optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01),
        [0.563045, -1.665754, 0.48239]),
    "SGD, nesterov": (optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, maximize=True), [1.698602, -2.104089, 0.402096]),
    "Adam": (optim.Adam, dict(lr=0.1, betas=(0.8, 0.9), weight_decay=0.1), [0.629453, -1.767263, 0.373765]),
    "Adam, amsgrad": (optim.Adam, dict(lr=0.1, betas=(0.8, 0.5), amsgrad=True, maximize=True),
        [1.252321, -2.079749, 0.603763]),
    "AdamW": (optim.AdamW, dict(lr=0.1, weight_decay=0.1), [0.634036, -1.772164, 0.38473]),
    "AdamW, amsgrad": (optim.AdamW, dict(lr=0.1, betas=(0.8, 0.5), amsgrad=True), [0.741698, -1.906816, 0.393497]),
    "NAdam": (optim.NAdam, dict(lr=0.1, weight_decay=0.05, momentum_decay=0.1), [0.750094, -1.891522, 0.383778]),
    "RAdam": (optim.RAdam, dict(lr=0.1, betas=(0.9, 0.9), weight_decay=0.05), [0.809249, -1.841419, 0.488355]),
    "Adamax": (optim.Adamax, dict(lr=0.1, weight_decay=0.05), [0.757938, -1.849771, 0.374686]),
    "Adadelta": (optim.Adadelta, dict(lr=2.0, rho=0.8, weight_decay=0.05), [0.988717, -1.995839, 0.493082]),
    "Adagrad": (optim.Adagrad, dict(lr=0.1, lr_decay=0.1, weight_decay=0.05, initial_accumulator_value=0.2),
        [0.864193, -1.934725, 0.463021]),
    "ASGD": (optim.ASGD, dict(lr=0.1, lambd=0.1, alpha=0.5, t0=2.0, weight_decay=0.05), [0.741099, -1.783788, 0.449302]),
    "RMSprop": (optim.RMSprop, dict(lr=0.1, alpha=0.8), [0.617811, -1.903916, 0.272601]),
    "RMSprop, centered": (optim.RMSprop, dict(lr=0.1, alpha=0.8, centered=True, momentum=0.5, weight_decay=0.05),
        [0.126659, -1.630275, 0.067769]),
    "Rprop": (optim.Rprop, dict(lr=0.1), [0.724, -1.9125, 0.112]),
    "Rprop, bounds": (optim.Rprop, dict(lr=0.1, etas=(0.3, 2.0), step_sizes=(0.05, 0.3), maximize=True), [1.4, -2.15, 1.03]),
}
SCHEDULES = {                                        # name: (class, settings, torch's rates in epoch 0, 1, ..)
    "StepLR": (schedulers.StepLR, dict(step_size=2, gamma=0.5),
        [1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625]),
    "MultiStepLR": (schedulers.MultiStepLR, dict(milestones=[2, 3, 3], gamma=0.5),
        [1.0, 1.0, 0.5, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125]),
    "ConstantLR": (schedulers.ConstantLR, dict(factor=0.5, total_iters=3),
        [0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    "LinearLR": (schedulers.LinearLR, dict(start_factor=0.5, end_factor=0.9, total_iters=3),
        [0.5, 0.633333, 0.766667, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]),
    "ExponentialLR": (schedulers.ExponentialLR, dict(gamma=0.9),
        [1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.478297, 0.430467]),
    "PolynomialLR": (schedulers.PolynomialLR, dict(total_iters=4, power=2.0),
        [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "CosineAnnealingLR": (schedulers.CosineAnnealingLR, dict(T_max=3, eta_min=0.1),
        [1.0, 0.775, 0.325, 0.1, 0.325, 0.775, 1.0, 0.775, 0.325]),
    "CosineAnnealingWarmRestarts": (schedulers.CosineAnnealingWarmRestarts, dict(T_0=2, T_mult=2, eta_min=0.1),
        [1.0, 0.55, 1.0, 0.868198, 0.55, 0.231802, 1.0, 0.965746, 0.868198]),
    "CyclicLR": (schedulers.CyclicLR, dict(base_lr=0.1, max_lr=0.5, step_size_up=2, step_size_down=3, mode='triangular2'),
        [0.1, 0.3, 0.5, 0.366667, 0.233333, 0.1, 0.2, 0.3, 0.233333]),
    "CyclicLR, exp_range": (schedulers.CyclicLR, dict(base_lr=0.1, max_lr=0.5, step_size_up=2, mode='exp_range', gamma=0.9),
        [0.1, 0.28, 0.424, 0.2458, 0.1, 0.218098, 0.312576, 0.195659, 0.1]),
}


def weight(name="w"):
    return Parameter(Tensor(START.copy()), name=name)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
def test_seven_steps_are_those_of_torch_in_both_modes(name):
    make, settings, expected = CASES[name]
    for compiled in (False, True):
        param = weight()
        optimizer = make([param], **settings)
        step = ms.jit(lambda grad: optimizer((grad,)), fullgraph=True) if compiled else lambda grad: optimizer((grad,))
        for grad in GRADS:
            step(Tensor(grad))
        np.testing.assert_allclose(param.asnumpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_are_those_of_torch(name):
    make, settings, expected = SCHEDULES[name]
    optimizer = optim.SGD([{"params": [weight()], "lr": 1.0}, {"params": [weight("v")], "lr": 1.0}], lr=1.0)
    scheduler = make(optimizer, **settings)
    for rate in expected:
        assert [float(lr.asnumpy()) for lr in scheduler.get_last_lr()] == pytest.approx([rate, rate], abs=2e-6)
        assert float(optimizer.param_groups[1]["lr"].asnumpy()) == pytest.approx(rate, abs=2e-6)
        scheduler.step()


@pytest.mark.parametrize("name", [name for name in SCHEDULES if "Warm" not in name])
def test_a_graph_steps_a_scheduler(name):
    make, settings, expected = SCHEDULES[name]
    scheduler = make(optim.SGD([weight()], lr=1.0), **settings)

    @ms.jit(fullgraph=True)
    def step():
        scheduler.step()
        return scheduler.get_last_lr()
    assert [float(step()[0].asnumpy()) for _ in expected[1:]] == pytest.approx(expected[1:], abs=2e-6)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if not name.startswith("Cyclic")])
def test_a_scheduler_goes_to_an_epoch_at_once(name):
    make, settings, expected = SCHEDULES[name]
    optimizer = optim.SGD([weight()], lr=1.0)
    scheduler = make(optimizer, **settings)
    for epoch in (5, 2, 7):
        scheduler.step(epoch)
        assert float(scheduler.get_last_lr()[0].asnumpy()) == pytest.approx(expected[epoch], abs=2e-6)


def test_functions_make_rates():
    optimizer = optim.SGD([{"params": [weight()], "lr": 1.0}, {"params": [weight("v")], "lr": 0.5}], lr=1.0)
    scheduler = schedulers.LambdaLR(optimizer, [lambda epoch: 0.5 ** epoch, lambda epoch: epoch + 1])
    scheduler.step(), scheduler.step()
    assert [float(lr.asnumpy()) for lr in optimizer.lrs] == [0.25, 1.5]
    optimizer = optim.SGD([weight()], lr=1.0)
    scheduler = schedulers.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    scheduler.step(), scheduler.step()
    assert float(optimizer.lrs[0].asnumpy()) == 0.25


def test_schedulers_follow_one_another():
    optimizer = optim.SGD([weight()], lr=1.0)
    parts = [schedulers.ConstantLR(optimizer, 0.5, 2), schedulers.ExponentialLR(optimizer, 0.9)]
    scheduler = schedulers.SequentialLR(optimizer, parts, [3])
    rates = [float(scheduler.get_last_lr()[0].asnumpy())]
    for _ in range(6):
        scheduler.step()
        rates.append(float(scheduler.get_last_lr()[0].asnumpy()))
    assert rates == pytest.approx([0.5, 0.5, 1.0, 1.0, 0.9, 0.81, 0.729])


@pytest.mark.parametrize("values, settings, expected", [
    ([3, 2, 2, 2, 2, 2, 1, 1, 1, 1], dict(factor=0.5, patience=1, cooldown=1),
     [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25]),
    ([1, 2, 2.05, 2.1, 2.1, 2.1], dict(factor=0.5, patience=1, mode="max", threshold=0.1, threshold_mode="abs", min_lr=0.3),
     [1.0, 1.0, 1.0, 0.5, 0.5, 0.3])])
def test_a_plateau_lowers_the_rate_as_in_torch(values, settings, expected):
    optimizer = optim.SGD([weight()], lr=1.0)
    scheduler = schedulers.ReduceLROnPlateau(optimizer, **settings)
    found = []
    for value in values:
        scheduler.step(Tensor(value, ms.float32))
        found.append(float(scheduler.get_last_lr()[0].asnumpy()))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def test_groups_have_settings_of_their_own_and_a_changed_rate_is_seen(mode):
    before = config.set(mode=mode)
    first, second = weight("a"), weight("b")
    optimizer = optim.SGD([{"params": [first], "lr": 0.5}, {"params": [second], "weight_decay": 0.1}], lr=0.1)
    optimizer((Tensor(GRADS[0]), Tensor(GRADS[1])))
    ops.assign(optimizer.param_groups[0]["lr"], Tensor(0.25))
    optimizer((Tensor(GRADS[0]), Tensor(GRADS[1])))
    config.set(**before)
    np.testing.assert_allclose(first.asnumpy(), START - 0.75 * GRADS[0], rtol=1e-6)
    expected = START - 0.1 * (GRADS[1] + 0.1 * START)
    np.testing.assert_allclose(second.asnumpy(), expected - 0.1 * (GRADS[1] + 0.1 * expected), rtol=1e-5)


def test_a_network_trains_in_graph_mode_with_a_schedule():
    before = config.set(mode=ms.GRAPH_MODE)
    net = nn.Dense(3, 1, weight_init="zeros", bias_init="zeros")
    optimizer = optim.Adam(net.trainable_params(), lr=0.1)
    scheduler = schedulers.StepLR(optimizer, 10)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    data, label = Tensor(GRADS), Tensor(GRADS.sum(axis=1, keepdims=True))
    losses = []
    for _ in range(30):
        losses.append(float(step(data, label).asnumpy()))
        scheduler.step()
    config.set(**before)
    assert losses[-1] < 0.1 * losses[0] and float(optimizer.lrs[0].asnumpy()) == pytest.approx(1e-4, rel=1e-3)


def test_states_are_named_by_their_parameter_and_groups_are_shown():
    optimizer = optim.Adam([weight("layer.weight")], lr=0.1)
    assert [p.name for p in optimizer.get_parameters()][:2] == ["learning_rate_group_0", "step_t"]
    assert optimizer.exp_avg[0].name == "exp_avg.layer.weight" and not optimizer.exp_avg[0].requires_grad
    assert "Parameter Group 0" in repr(optimizer) and "betas: (0.9, 0.999)" in repr(optimizer)


@pytest.mark.parametrize("error, make", [
    (ValueError, lambda: optim.SGD([], 0.1)), (TypeError, lambda: optim.SGD(3, 0.1)), (TypeError, lambda: optim.SGD([3], 0.1)),
    (ValueError, lambda: optim.SGD([weight()], -0.1)), (TypeError, lambda: optim.SGD([weight()], "0.1")),
    (ValueError, lambda: optim.SGD([weight()], 0.1, nesterov=True)), (ValueError, lambda: optim.Adam([weight()], betas=(1.0, 0))),
    (ValueError, lambda: optim.Adam([weight()], weight_decay=-1)), (ValueError, lambda: optim.Rprop([weight()], etas=(2, 3))),
    (ValueError, lambda: optim.Adadelta([weight()], rho=2)), (TypeError, lambda: optim.Adam([weight()], amsgrad=1)),
    (TypeError, lambda: schedulers.StepLR(3, 1)), (TypeError, lambda: schedulers.StepLR(optim.SGD([weight()], 0.1), 1.5)),
    (KeyError, lambda: schedulers.StepLR(optim.SGD([weight()], 0.1), 1, last_epoch=3)),
    (ValueError, lambda: schedulers.ConstantLR(optim.SGD([weight()], 0.1), 2)),
    (ValueError, lambda: schedulers.LambdaLR(optim.SGD([weight()], 0.1), [len, len])),
    (ValueError, lambda: schedulers.SequentialLR(optim.SGD([weight()], 0.1), [], [1]))])
def test_what_does_not_fit_is_refused(error, make):
    with pytest.raises(error):
        make()


def test_a_parameter_stands_in_one_group():
    param = weight()
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": [param]}, {"params": [param]}], 0.1)
