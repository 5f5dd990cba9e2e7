"""Three steps of training leave the same weights, optimiser state and moving statistics in every mode."""
import numpy as np
import pytest
from networks import CASES

import mindlite as ms
from mindlite import nn
from mindlite.common import dtype as dt


def train(case, mode, make_optimizer):
    """(losses, {name: array} of all parameters of network and optimiser) after three steps."""
    net, weights, x, labels = case.make(dt.float64)
    criterion, optimizer = nn.CrossEntropyLoss(), make_optimizer(weights)
    if mode == "cell":
        step = nn.TrainOneStepCell(nn.WithLossCell(net, criterion), optimizer).set_train()
    else:
        gradient = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, optimizer.parameters)

        def step(x, labels):
            loss, grads = gradient(x, labels)
            optimizer(grads)
            return loss
        step = ms.jit(step) if mode == "jit" else step
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE if mode == "cell" else ms.PYNATIVE_MODE)
    try:
        losses = [float(step(x, labels)) for _ in range(3)]
    finally:
        ms.set_context(mode=before)
    arrays = {f"net.{p.name}": p.asnumpy() for p in net.get_parameters()}
    arrays.update({f"optimizer.{n}.{p.name}": p.asnumpy() for n, p in enumerate(optimizer.get_parameters())})
    return losses, arrays


def adam(weights):
    return nn.Adam(weights, 1e-2, weight_decay=0.01)


def momentum(weights):
    return nn.Momentum(weights, 1e-2, 0.9)


RUNS = [("lenet", adam), ("lenet", momentum), ("resnet18", adam), ("lstm", adam), ("lstm", momentum)]


@pytest.mark.parametrize("name, make_optimizer", RUNS)
def test_three_steps_leave_the_same_state_in_every_mode(name, make_optimizer):
    case = next(c for c in CASES if c.name == name)
    losses, state = train(case, "eager", make_optimizer)
    assert len(set(losses)) == 3 and losses[2] < losses[0]
    initial = {f"net.{p.name}": p.asnumpy() for p in case.make(dt.float64)[0].get_parameters()}
    assert all(not np.array_equal(state[name], initial[name]) for name in initial)
    for mode in ("jit", "cell"):
        other_losses, other_state = train(case, mode, make_optimizer)
        assert np.allclose(other_losses, losses, rtol=1e-9)
        assert sorted(other_state) == sorted(state)
        for name, array in state.items():
            scale = max(1e-3, np.abs(array).max())
            assert np.abs(other_state[name] - array).max() <= 1e-7 * scale, (mode, name)
