"""ZeRO: losses and Parameters of one process over 20 steps, in both modes, dropout on; the bytes of each rank; the bytes sent."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld
from mindlite.compile.quick import MISS
from mindlite.functional.shard import place
from mindlite.functional.zero import bytes_here, zero
from mindlite.parallel import Layout

STEPS = 20
OPTIMIZERS = {"momentum": lambda params: nn.Momentum(params, 0.1, 0.9), "adam": lambda params: nn.Adam(params, 0.01)}


def train(level, graph, optimizer):
    """(losses, Parameters, bytes of Parameters and states here, what a step sends, what the Plan says) on this rank."""
    ms.set_seed(3)
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(nn.Dense(6, 9), nn.Tanh(), nn.Dropout(p=0.2), nn.Dense(9, 4))
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.4))
    x, y = Tensor(rng.standard_normal((7, 6)).astype(np.float32)), Tensor(rng.standard_normal((7, 4)).astype(np.float32))
    optimizer = OPTIMIZERS[optimizer](net.set_train().trainable_params())
    if level is not None:
        mesh = Layout((engine().size,), ("dp",))
        x, y = x.to_global(mesh("dp")), y.to_global(mesh("dp"))
        if level:
            assert zero(optimizer, mesh, level=level) is optimizer
    grads = ms.value_and_grad(lambda x, y: nn.MSELoss()(net(x), y), None, net.trainable_params())

    def step(x, y):
        loss, found = grads(x, y)
        optimizer(found)
        return loss
    step = ms.jit(step, fullgraph=True) if graph else step
    losses = [float(step(x, y)) for _ in range(STEPS)]
    sent = {name: [calls / STEPS, nbytes / STEPS] for name, (calls, nbytes) in engine().sent.items()}
    plan = step.compiled.latest().compiled.plan.sent if graph and level is not None else None
    params = bytes_here(net.trainable_params())
    here = params, bytes_here(optimizer.get_parameters()) - params
    return losses, [p.asnumpy().copy() for p in net.trainable_params()], here, sent, plan


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("level, optimizer, size", [(1, "momentum", 2), (2, "adam", 2), (3, "momentum", 4)])
def test_each_level_trains_as_one_process_in_less_memory(level, optimizer, size, graph):
    losses, params, (of_params, of_states), _, _ = train(None, graph, optimizer)
    for found, weights, (mine, states), sent, plan in SimWorld(size).run(train, level, graph, optimizer):
        np.testing.assert_allclose(found, losses, rtol=0, atol=1e-6)
        for got, want in zip(weights, params, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)
        slack = 4 * (9 + 6 + 4 + 4) * 2                      # parts are uneven by a row of each
        assert mine <= of_params / size + slack if level == 3 else mine == of_params
        assert states <= of_states / size + slack
        if graph:
            assert sent == plan                              # bytes predicted = bytes counted


def test_gradients_of_level_2_are_scattered_and_not_reduced_for_all():
    for *_, sent, _ in SimWorld(2).run(train, 2, False, "momentum"):
        assert sent["all_reduce"] == [1.0, 4.0]              # the loss
        assert sent["reduce_scatter"][1] == sent["all_gather"][1] == (6 * 9 + 9 + 9 * 4 + 4) * 4 / 2


def test_what_is_small_or_split_already_stays():
    def run():
        params = [ms.Parameter(Tensor(np.ones(shape, np.float32)), name=name) for name, shape in
                  (("w", (8, 8)), ("row", (1, 8)), ("short", (1,)), ("small", (3,)))]
        mesh = Layout((2, 2), ("dp", "mp"))
        place(params[0], mesh("mp", "None"))
        optimizer = zero(nn.Momentum(params, 0.1, 0.9), mesh, "dp", level=2, threshold=16)
        with pytest.raises(ValueRangeError):
            zero(optimizer, mesh, level=4)
        with pytest.raises(ValueRangeError):
            zero(optimizer, mesh, "pp")
        with pytest.raises(ArgumentError):
            zero(optimizer, 2)
        return [str(state.placement) for state in optimizer.moments], [tuple(s.to_local().shape) for s in optimizer.moments]
    assert SimWorld(4).run(run) == [(["(S0, S0)", "(S1, B)", "None", "None"], [(2, 8), (1, 4), (1,), (3,)])] * 4


@pytest.mark.parametrize("level", [None, 1, 3])
def test_steps_of_sharded_tensors_have_the_fast_path_of_calls(level):
    """And leave it where a Tensor lies otherwise, or comes twice: the values are those of the general way."""
    def run(fast):
        ms.set_seed(3)
        engine().pace = 1e-6, 1e-6
        mesh, rng = Layout((engine().size,), ("dp",)), np.random.default_rng(0)
        net = nn.Dense(6, 4, weight_init="ones")
        optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
        if level:
            zero(optimizer, mesh, level=level)
        gradients = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, optimizer.parameters)

        @ms.jit(fullgraph=True)
        def step(x, y):
            loss, grads = gradients(x, y)
            optimizer(grads)
            return loss, x * 2
        found = []
        for number in range(8):
            x, y = [Tensor(rng.standard_normal((8, size)).astype(np.float32)) for size in (6, 4)]
            x, y = x.to_global(mesh("dp") if number != 5 else mesh("None", "dp")), y.to_global(mesh("dp"))
            if number == 6:
                x = Tensor(rng.standard_normal((8, 6)).astype(np.float32))
            if not fast:
                step.compiled.forget_calls()
            loss, doubled = step(x, y)
            found.append([float(loss), doubled.placement, doubled.full_tensor().asnumpy() if doubled.placement is not None
                          else doubled.asnumpy()])
        known = step.compiled.quick.known
        weights = [p.full_tensor().asnumpy() if p.placement is not None else p.asnumpy().copy() for p in optimizer.parameters]
        return found, weights, [call((x, y)) is MISS for call in known]
    quick, general = SimWorld(2).run(run, True), SimWorld(2).run(run, False)
    for (found, weights, known), (wanted, others, _) in zip(quick, general, strict=True):
        assert known == [False], "the last call, and those like it, have a fast path"
        for (loss, placement, doubled), (other, lies, array) in zip(found, wanted, strict=True):
            assert loss == other and placement == lies
            np.testing.assert_array_equal(doubled, array)
        for a, b in zip(weights, others, strict=True):
            np.testing.assert_array_equal(a, b)
