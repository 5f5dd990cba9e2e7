"""boost: gradients over several steps, groups of parameters that rest by turns, centralised gradients."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, boost, nn, ops
from mindlite.common.errors import ArgumentError, ValueRangeError

X = [np.random.RandomState(i).randn(4, 3).astype(np.float32) for i in range(6)]
Y = [np.random.RandomState(9 + i).randn(4, 2).astype(np.float32) for i in range(6)]


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=before)


def network():
    ms.set_seed(1)
    return nn.SequentialCell(nn.Dense(3, 5), nn.Tanh(), nn.Dense(5, 2))


def numbers(net):
    return [param.asnumpy().copy() for param in net.trainable_params()]


class Accumulating(nn.Cell):
    def __init__(self, net, optimizer, steps):
        super().__init__()
        self.loss = nn.WithLossCell(net, nn.MSELoss())
        self.grad = ms.value_and_grad(self.loss, None, optimizer.parameters)
        self.accumulate = boost.GradientAccumulation(steps, optimizer)

    def construct(self, x, y):
        loss, grads = self.grad(x, y)
        return self.accumulate(loss, grads)


def test_three_accumulated_steps_are_one_step_of_a_batch_three_times_as_large(mode):
    net, other = network(), network()
    step = Accumulating(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), 3)
    large = nn.TrainOneStepCell(nn.WithLossCell(other, nn.MSELoss()), nn.Momentum(other.trainable_params(), 0.1, 0.9))
    for first in (0, 3):
        for i in range(first, first + 3):
            step(Tensor(X[i]), Tensor(Y[i]))
        large(Tensor(np.concatenate(X[first:first + 3])), Tensor(np.concatenate(Y[first:first + 3])))
        for found, wanted in zip(numbers(net), numbers(other)):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_nothing_moves_before_the_last_accumulated_step(mode):
    net = network()
    before = numbers(net)
    step = Accumulating(net, nn.SGD(net.trainable_params(), 0.1), 3)
    step(Tensor(X[0]), Tensor(Y[0]))
    step(Tensor(X[1]), Tensor(Y[1]))
    assert all(np.array_equal(a, b) for a, b in zip(before, numbers(net)))
    step(Tensor(X[2]), Tensor(Y[2]))
    assert not any(np.array_equal(a, b) for a, b in zip(before, numbers(net)))


def test_a_frozen_step_moves_the_parameters_of_its_group_alone(mode):
    net = network()
    params = net.trainable_params()
    optimizer = boost.FreezeOpt(nn.Momentum(params, 0.1, 0.9), [params, params[2:]], [0, 1, 1])
    loss = nn.WithLossCell(net, nn.MSELoss())
    cells = boost.freeze_cell(False, loss, optimizer, 1.0, ms.GradOperation(get_by_list=True, sens_param=True), False)
    other = network()
    whole = nn.TrainOneStepCell(nn.WithLossCell(other, nn.MSELoss()), nn.Momentum(other.trainable_params(), 0.1, 0.9))
    cells[0](Tensor(X[0]), Tensor(Y[0]))
    whole(Tensor(X[0]), Tensor(Y[0]))
    for found, wanted in zip(numbers(net), numbers(other)):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    before = numbers(net)
    cells[optimizer.train_strategy[1].item()](Tensor(X[1]), Tensor(Y[1]))
    assert [np.array_equal(a, b) for a, b in zip(before, numbers(net))] == [True, True, False, False]


def test_rates_of_each_step_go_to_the_optimiser_of_that_step():
    params = network().trainable_params()
    optimizer = boost.FreezeOpt(nn.SGD(params, [0.1, 0.2, 0.3, 0.4]), [params, params[2:]], [0, 1, 0, 1])
    rates = [opt.learning_rate.learning_rate.asnumpy().round(3).tolist() for opt in optimizer.opts]
    assert rates == np.float32([[0.1, 0.3], [0.2, 0.4]]).round(3).tolist()


def test_the_sequence_of_groups_keeps_its_share_of_whole_steps():
    freeze = boost.GradientFreeze(4, 1, 0.5, 200)
    assert freeze.generate_freeze_index_sequence(4, 0, 0.5, 10) == [0, 0, 0, 1, 2, 3] * 2
    sequence = freeze.generate_freeze_index_sequence(4, 1, 0.5, 200)
    assert len(sequence) == 202 and sequence.count(0) == 101 and set(sequence) == {0, 1, 2, 3}
    assert freeze.generate_freeze_index_sequence(1, 1, 0.5, 3) == [0, 0, 0]
    with pytest.raises(ValueRangeError, match="no freezing strategy 2"):
        freeze.generate_freeze_index_sequence(4, 2, 0.5, 10)


def test_gradient_freeze_makes_optimisers_for_the_ends_of_a_network():
    net = nn.SequentialCell(*[nn.Dense(3, 3) for _ in range(6)])
    names = [param.name for param in net.trainable_params()]
    same, optimizer = boost.GradientFreeze(2, 1, 0.5, 20).freeze_generate(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    assert same is net and len(optimizer.train_strategy) == 20
    first, second = ([param.name for param in opt.parameters] for opt in optimizer.opts)
    assert first == names and second == names[-len(second):] and 0 < len(second) < len(names)
    assert optimizer.opts[1].momentum == 0.9
    states = [param.name for opt in optimizer.opts for param in opt.get_parameters() if param.name not in names]
    assert len(states) == len(set(states)) and all(name.startswith("boost_") for name in states)


def test_centralised_gradients_sum_to_zero_for_each_output_in_groups_alone():
    net = network()
    weights = [p for p in net.trainable_params() if "weight" in p.name]
    others = [p for p in net.trainable_params() if "weight" not in p.name]
    process = boost.OptimizerProcess(nn.SGD([{"params": weights, "weight_decay": 0.0}, {"params": others}], 1.0))
    process.add_grad_centralization(net)
    made = process.generate_new_optimizer()
    before = dict(zip([p.name for p in made.parameters], [p.asnumpy().copy() for p in made.parameters]))
    made(tuple(Tensor(np.arange(p.size, dtype=np.float32).reshape(p.shape)) for p in made.parameters))
    for param in made.parameters:
        moved = (param.asnumpy() - before[param.name])
        if "weight" in param.name:
            np.testing.assert_allclose(moved.sum(1), 0, atol=1e-5)
        else:
            np.testing.assert_allclose(moved, -np.arange(param.size), rtol=1e-6)


def test_groups_without_any_wanted_member_vanish_and_members_without_group_join_the_richest():
    a, b, c, d = (Parameter(Tensor([1.0]), name=name) for name in "abcd")
    groups = boost.ParameterProcess.generate_group_params([a, d], [{"params": [a, b], "lr": 0.1}, {"params": [c]}])
    assert groups == [{"params": [a], "lr": 0.1}, {"params": [d], "lr": 0.1}]
    assert boost.ParameterProcess.generate_group_params([a], [a, b]) == [{"params": [a]}]
    with pytest.raises(ValueRangeError, match="empty"):
        boost.ParameterProcess.generate_group_params([a], [])


def test_messages_are_numbered_from_the_split_points_on():
    params = network().trainable_params()
    assert [p.comm_fusion for p in boost.ParameterProcess().assign_parameter_group(params, [1, 3])] == [1, 2, 2, 3]
    assert [p.comm_fusion for p in boost.ParameterProcess().assign_parameter_group(params)] == [1, 1, 2, 2]


def test_the_last_dense_layer_of_each_cell_works_on_directions_after_less_bn(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.last, self.body = nn.Dense(3, 4), nn.Dense(4, 2), network()

        def construct(self, x):
            return self.last(ops.tanh(self.first(x))) + self.body(x)

    ms.set_seed(1)
    net = Net()
    weight, first, inner = net.last.weight, net.first, net.body[2].weight
    less = boost.LessBN(net, fn_flag=True)
    assert type(net.last) is type(net.body[2]) is boost.CommonHeadLastFN and net.first is first
    assert net.last.weight is weight and net.body[2].weight is inner
    assert [p.name.removeprefix("network.") for p in less.trainable_params()] == [
        "first.weight", "first.bias", "last.weight", "last.multiplier", "body.0.weight", "body.0.bias", "body.2.weight",
        "body.2.multiplier"]
    net.last.multiplier.set_data(Tensor([3.0], ms.float32))

    def unit(rows):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def dense(layer, x):
        return x @ layer.weight.asnumpy().T + layer.bias.asnumpy()
    wanted = 3 * unit(np.tanh(dense(first, X[0]))) @ unit(weight.asnumpy()).T + \
        unit(np.tanh(dense(net.body[0], X[0]))) @ unit(inner.asnumpy()).T
    np.testing.assert_allclose(less(Tensor(X[0])).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    gradients = ms.grad(lambda x: less(x).sum(), None, net.trainable_params())(Tensor(X[0]))
    assert all(np.isfinite(gradient.asnumpy()).all() for gradient in gradients) and gradients[3].asnumpy() != 0


def test_less_bn_leaves_a_network_as_it_is_without_fn_flag_and_when_it_has_been_there():
    net = network()
    assert type(boost.LessBN(net).network[2]) is nn.Dense and net.get_flags()["less_bn"]
    assert type(boost.LessBN(net, fn_flag=True).network[2]) is nn.Dense
    np.testing.assert_array_equal(boost.LessBN(net)(Tensor(X[0])).asnumpy(), net(Tensor(X[0])).asnumpy())


def test_a_boosted_step_uses_the_optimiser_that_the_strategy_says(mode):
    def trained(steps, make):
        net = network()
        step = make(nn.WithLossCell(net, nn.MSELoss()), net)
        losses = [float(step(Tensor(x), Tensor(y))) for x, y in list(zip(X, Y))[:steps]]
        return losses, numbers(net)

    def frozen(loss, net):
        params = net.trainable_params()
        groups = [params, params[2:]]
        return boost.BoostTrainOneStepCell(loss, boost.FreezeOpt(nn.SGD(params, 0.1), groups, [0, 1, 1]))

    def by_hand(loss, net):
        params = net.trainable_params()
        steps = [nn.TrainOneStepCell(loss, nn.SGD(params, 0.1)), nn.TrainOneStepCell(loss, nn.SGD(params[2:], 0.1))]
        order = iter([0, 1, 1, 0, 1])
        return lambda *inputs: steps[next(order)](*inputs)

    for left, right in zip(trained(5, frozen), trained(5, by_hand)):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    plain = trained(3, lambda loss, net: boost.BoostTrainOneStepCell(loss, nn.SGD(net.trainable_params(), 0.1), 2.0))
    wanted = trained(3, lambda loss, net: nn.TrainOneStepCell(loss, nn.SGD(net.trainable_params(), 0.1), 2.0))
    np.testing.assert_allclose(plain[0], wanted[0], rtol=1e-6)


def test_an_optimiser_tells_what_it_was_made_of():
    params = network().trainable_params()
    made = nn.Adam(iter(params), 0.1, beta1=0.5)
    assert made.init_params == {"params": params} and made.init_learning_rate == 0.1
    assert (made.init_args["beta1"], made.init_args["beta2"]) == (0.5, 0.999) and "params" not in made.init_args
    around = nn.LARS(made, epsilon=1e-3)
    assert around.init_args["epsilon"] == 1e-3 and "optimizer" not in around.init_args

    class Halved(nn.SGD):
        def __init__(self, params, learning_rate, by=2):
            super().__init__(params, learning_rate / by)

    assert Halved(params, 1.0).init_args == {"by": 2}


@pytest.mark.parametrize("wrong", [
    lambda: boost.GradientAccumulation(0, nn.SGD(network().trainable_params())), lambda: boost.GradientAccumulation(2, None),
    lambda: boost.FreezeOpt(network()), lambda: boost.freeze_cell(False, None, None, 1.0, None, False),
    lambda: boost.FreezeOpt(nn.SGD(network().trainable_params()), None, [0]), lambda: boost.OptimizerProcess(ops)])
def test_what_is_no_optimiser_or_count_is_refused(wrong):
    with pytest.raises((ArgumentError, ValueRangeError)):
        wrong()
