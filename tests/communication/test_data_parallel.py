"""Data parallel training of N ranks = training of one on the whole batch: weights, in both modes; the number of messages."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.communication import SimWorld, get_group_size, get_rank
from mindlite.parallel import buckets

ROWS = 8


def dense():
    return nn.SequentialCell(nn.Dense(12, 7), nn.LayerNorm((7,)), nn.Tanh(), nn.Dense(7, 3)), (12,)


def convolution():
    return nn.SequentialCell(nn.Conv2d(2, 3, 3, pad_mode="same", has_bias=True), nn.ReLU(), nn.Flatten(),
                             nn.Dense(48, 3)), (2, 4, 4)


def train(make, optimizer, graph, parallel, mean=True):
    """The weights after 4 steps, on this rank's rows."""
    net, shape = make()
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((ROWS, *shape)).astype(np.float32), rng.standard_normal((ROWS, 3)).astype(np.float32)
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.3))
    if parallel:
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=mean)
    loss = nn.MSELoss() if mean else nn.MSELoss(reduction="sum")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer(net.trainable_params()))
    step = ms.jit(step) if graph else step
    rank, size = get_rank(), get_group_size()
    rows = slice(rank * ROWS // size, (rank + 1) * ROWS // size)
    for _ in range(4):
        step(Tensor(x[rows]), Tensor(y[rows]))
    return [param.asnumpy().copy() for param in net.trainable_params()]


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("make, optimizer, size", [
    (dense, lambda params: nn.Momentum(params, 0.1, 0.9), 4), (dense, lambda params: nn.Adam(params, 0.01), 2),
    (convolution, lambda params: nn.SGD(params, 0.05), 2)], ids=["dense momentum", "dense adam", "convolution"])
def test_many_ranks_train_as_one_does(make, optimizer, size, graph):
    alone = train(make, optimizer, graph, False)
    for weights in SimWorld(size).run(train, make, optimizer, graph, True):
        for a, b in zip(alone, weights):
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-6)


def test_sums_of_losses_want_sums_of_gradients():
    def optimizer(params):
        return nn.SGD(params, 0.01)
    alone = train(dense, optimizer, True, False, mean=False)
    for a, b in zip(alone, SimWorld(2).run(train, dense, optimizer, True, True, False)[1]):
        np.testing.assert_allclose(a, b, rtol=0, atol=5e-6)


def test_gradients_travel_together_in_the_order_of_the_backward(monkeypatch):
    def run():
        params = [ms.Parameter(Tensor(np.zeros(shape, np.float32)), name=f"p{i}") for i, shape in enumerate([(3, 2), (4,), (5,)])]
        grads = tuple([Tensor(np.full(p.shape, i + get_rank(), np.float32)) for i, p in enumerate(params)])
        made = []
        for fusion in (1, 0):
            reducer = nn.DistributedGradReducer(params, mean=True, fusion_type=fusion)
            made += [[g.asnumpy() for g in reducer(grads)], [g.asnumpy() for g in ms.jit(reducer)(grads)]]
        return made
    monkeypatch.setattr(buckets, "PIECE", 9 * 4)
    world = SimWorld(3)
    for made in world.run(run):
        for found in made:
            for i, g in enumerate(found):
                np.testing.assert_allclose(g, i + 1)
    assert world.sent[0]["all_reduce"][0] == 2 * 2 + 2 * 3    # p2 with p1, then p0; then each by itself


def test_a_gradient_that_overflows_on_one_rank_stops_the_step_on_all():
    def run():
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1),
                                                nn.DynamicLossScaleUpdateCell(8.0, 2, 10))
        x = np.full((2, 2), np.inf if get_rank() == 1 else 1.0, np.float32)
        _, overflow, _ = step(Tensor(x), Tensor(np.ones((2, 1), np.float32)))
        return bool(overflow), net.weight.asnumpy().tolist(), float(step.scale_sense)
    assert SimWorld(2).run(run) == [(True, [[1.0, 1.0]], 4.0)] * 2


def test_parameters_start_as_those_of_rank_0():
    def run():
        net = nn.Dense(2, 2, weight_init=Tensor(np.full((2, 2), get_rank(), np.float32)))
        ms.set_auto_parallel_context(parallel_mode="data_parallel", parameter_broadcast=True)
        nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
        return net.weight.asnumpy().tolist()
    assert SimWorld(3).run(run) == [[[0.0, 0.0], [0.0, 0.0]]] * 3


def test_settings_are_those_of_a_rank_and_are_checked():
    def run():
        ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=2, global_rank=get_rank())
        assert ms.get_auto_parallel_context("device_num") == 2
        for wrong, error in (({"device_num": 3}, ValueRangeError), ({"parallel_mode": "best"}, ValueRangeError),
                             ({"gradients_mean": 1}, ArgumentError), ({"search_mode": "x"}, ValueRangeError),
                             ({"nothing": 1}, ArgumentError)):
            with pytest.raises(error):
                ms.set_auto_parallel_context(**wrong)
        ms.reset_auto_parallel_context()
        return ms.get_auto_parallel_context("parallel_mode")
    assert SimWorld(2).run(run) == ["stand_alone"] * 2
    assert ms.get_auto_parallel_context("device_num") == 1


@pytest.mark.parametrize("shape", [(6, 3), (6, 3, 2, 2)])
def test_synchronised_batch_normalisation_of_parts_is_that_of_the_whole_batch(shape):
    whole = np.random.RandomState(5).randn(*shape).astype(np.float32) * 3 + 1
    weight = Tensor(np.random.RandomState(6).randn(*shape).astype(np.float32))
    alone = (nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d)(3)
    alone.set_train()
    slope, wanted = ms.grad(lambda x: (alone(x) * weight).sum())(Tensor(whole)), alone(Tensor(whole))

    def program():
        rank = get_rank()
        part = Tensor(whole[3 * rank:3 * rank + 3])
        net = nn.SyncBatchNorm(3, process_groups=[[0, 1]])
        net.set_train()
        loss = lambda x: (net(x) * weight[3 * rank:3 * rank + 3]).sum()                                     # noqa: E731
        made = [net(part).asnumpy(), net.moving_mean.asnumpy().copy(), net.moving_variance.asnumpy().copy(),
                ms.grad(loss)(part).asnumpy()]
        graph = ms.jit(lambda x: net(x), fullgraph=True)(part).asnumpy()
        net.set_train(False)
        return [*made, graph, net(part).shape]

    ran = SimWorld(2).run(program)
    once = (nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d)(3)
    once.set_train()
    once(Tensor(whole))
    for rank, (made, mean, variance, gradient, graph, size) in enumerate(ran):
        mine = slice(3 * rank, 3 * rank + 3)
        np.testing.assert_allclose(made, wanted.asnumpy()[mine], atol=1e-5)
        np.testing.assert_allclose(graph, made, atol=1e-6)
        np.testing.assert_allclose(mean, once.moving_mean.asnumpy(), rtol=1e-5)
        np.testing.assert_allclose(variance, once.moving_variance.asnumpy(), rtol=1e-5)
        np.testing.assert_allclose(gradient, slope.asnumpy()[mine], atol=1e-4)
        assert size == whole[mine].shape
