"""A network trains to the same losses line by line, with a jitted step, and in GRAPH_MODE."""
import copy

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, Tensor
from mindlite.common.events import counting
from mindlite.functional.cell import compiled_cell
from mindlite.pynative import backward


class Net(nn.Cell):
    """LeNet's shape, small: convolution, pooling, one dense layer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, pad_mode="valid")
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.dense = nn.Dense(4 * 5 * 5, 10)

    def construct(self, x):
        return self.dense(self.flatten(self.pool(self.relu(self.conv(x)))))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return (Tensor(rng.standard_normal((8, 1, 12, 12)).astype(np.float32)),
            Tensor(rng.integers(0, 10, 8).astype(np.int32)))


@pytest.fixture(autouse=True)
def mode():
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def make_step(jitted):
    ms.set_seed(1)
    net, loss_fn = Net(), nn.CrossEntropyLoss()
    opt = nn.Adam(net.trainable_params(), 1e-2)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

    def train_step(x, y):
        loss, grads = grad_fn(x, y)
        opt(grads)
        return loss
    return (ms.jit(train_step) if jitted else train_step), net, opt


def losses_of(step, data, steps=6):
    return [float(step(*data)) for _ in range(steps)]


def test_all_ways_of_training_give_the_same_losses_and_weights(data):
    step, eager_net, _ = make_step(False)
    eager = losses_of(step, data)
    assert eager[-1] < 0.5 * eager[0]
    step, jit_net, opt = make_step(True)
    np.testing.assert_allclose(losses_of(step, data), eager, rtol=2e-4)
    assert opt.global_step.asnumpy()[0] == 6
    ms.set_context(mode=ms.GRAPH_MODE)
    step, graph_net, _ = make_step(False)
    np.testing.assert_allclose(losses_of(step, data), eager, rtol=2e-4)
    for net in (jit_net, graph_net):
        for have, want in zip(net.trainable_params(), eager_net.trainable_params()):
            np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=2e-2, atol=2e-4)


def test_eager_training_runs_a_compiled_backward_from_the_second_step_on(data, monkeypatch):
    monkeypatch.setattr(backward, "_structures", type(backward._structures)())
    step, _, _ = make_step(False)
    counts = []
    for _ in range(4):
        with counting() as count:
            step(*data)
        counts.append([count[e] for e in ("backward_graph_build", "backward_flow_build", "backward_flow_reuse")])
    assert [c[1:] for c in counts] == [[0, 0], [1, 0], [0, 1], [0, 1]]
    assert all(c[0] == 0 for c in counts[1:])


def test_a_jitted_step_is_compiled_once(data):
    step, _, _ = make_step(True)
    losses_of(step, data, 3)
    assert len(step.variants) == 1 and step.variants[0].calls == 3
    assert step.kernels() and "variant 0" in step.explain()


def test_a_jitted_network_inside_an_eager_step_trains_to_the_same_losses(data):
    step, _, _ = make_step(False)
    eager = losses_of(step, data, 4)
    ms.set_seed(1)
    net, loss_fn = ms.jit(Net()), nn.CrossEntropyLoss()
    opt = nn.Adam(net.trainable_params(), 1e-2)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)
    losses = []
    for _ in range(4):
        loss, grads = grad_fn(*data)
        opt(grads)
        losses.append(float(loss))
    np.testing.assert_allclose(losses, eager, rtol=2e-4)


def test_set_train_chooses_another_graph(data):
    ms.set_context(mode=ms.GRAPH_MODE)
    net = nn.SequentialCell(nn.Dense(12, 6), nn.Dropout(p=0.5))
    x = data[0][:, 0, 0]
    net.set_train()
    assert (net(x).asnumpy() == 0).any()
    net.set_train(False)
    assert not (net(x).asnumpy() == 0).any()
    net.set_train()
    assert (net(x).asnumpy() == 0).any()


def test_declared_sizes_are_open_in_graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    net = nn.Dense(3, 2)
    net.set_inputs(Tensor(shape=[None, 3], dtype=ms.float32))
    for n in (4, 1, 7):
        x = Tensor(np.ones((n, 3), np.float32))
        want = x.asnumpy() @ net.weight.asnumpy().T + net.bias.asnumpy()
        np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-6)
    assert len(compiled_cell(net).variants) == 1


def test_copies_of_a_compiled_cell_have_graphs_of_their_own():
    ms.set_context(mode=ms.GRAPH_MODE)
    net, x = nn.Dense(3, 2), Tensor(np.ones((1, 3), np.float32))
    before = net(x).asnumpy()
    twin = copy.deepcopy(net)
    twin.weight.set_data(Tensor(np.zeros((2, 3), np.float32)))
    np.testing.assert_array_equal(twin(x).asnumpy()[0], net.bias.asnumpy())
    np.testing.assert_array_equal(net(x).asnumpy(), before)
