"""Cells around a network. Gradients come from central differences here, so that only the wrapping is under test."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import functional, nn
from mindlite.common import dtype as dt
from mindlite.common.config import config
from mindlite.common.errors import ArgumentError
from mindlite.common.tensor import Parameter, Tensor

DATA = np.random.default_rng(17).normal(size=(6, 3))
LABEL = DATA @ np.array([[1.0], [-2.0], [0.5]])


def value_and_grad(fn, grad_position=0, weights=None, has_aux=False):
    """What functional.value_and_grad promises, by central differences."""
    def derivative(array, loss):
        grad = np.zeros_like(array)
        for index in np.ndindex(*array.shape):
            kept = array[index]
            array[index] = kept + 1e-5
            above = loss()
            array[index] = kept - 1e-5
            grad[index] = (above - loss()) / 2e-5
            array[index] = kept
        return Tensor(grad)

    def run(*inputs):
        def loss():
            out = fn(*inputs)
            return float((out[0] if has_aux else out).asnumpy())
        value = fn(*inputs)
        by_weight = None if weights is None else tuple(derivative(param.asnumpy(), loss) for param in weights)
        if grad_position is None:
            return value, by_weight
        places = grad_position if isinstance(grad_position, tuple) else (grad_position,)
        by_input = tuple(derivative(inputs[place].asnumpy(), loss) for place in places)
        by_input = by_input if isinstance(grad_position, tuple) else by_input[0]
        return value, by_input if weights is None else (by_input, by_weight)
    return run


@pytest.fixture(autouse=True)
def differences(monkeypatch):
    monkeypatch.setattr(functional, "value_and_grad", value_and_grad, raising=False)


def network():
    return nn.Dense(3, 1, weight_init="zeros", bias_init="zeros", dtype=dt.float64)


def test_a_training_step_descends_and_gives_the_loss_before_it():
    net = network()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)).set_train()
    assert [param.name for param in net.get_parameters()] == ["weight", "bias"] and net.training and net.requires_grad
    loss = step(Tensor(DATA), Tensor(LABEL))
    assert float(loss.asnumpy()) == pytest.approx((LABEL ** 2).mean())
    expected = -0.1 * 2 * (-LABEL * DATA).mean(axis=0)
    assert np.allclose(net.weight.asnumpy()[0], expected, atol=1e-6)
    for _ in range(60):
        loss = step(Tensor(DATA), Tensor(LABEL))
    assert float(loss.asnumpy()) < 0.02


def test_sens_and_loss_scale_cancel_and_gradients_are_given_by_name():
    plain, scaled = network(), network()
    data, label = Tensor(DATA), Tensor(LABEL)
    one = nn.TrainOneStepCell(nn.WithLossCell(plain, nn.MSELoss()), nn.SGD(plain.trainable_params(), 0.1))
    two = nn.TrainOneStepCell(nn.WithLossCell(scaled, nn.MSELoss()),
                              nn.SGD(scaled.trainable_params(), 0.1, loss_scale=8.0), sens=8.0, return_grad=True)
    one(data, label)
    _, grads = two(data, label)
    assert np.allclose(plain.weight.asnumpy(), scaled.weight.asnumpy()) and list(grads) == ["weight", "bias"]
    assert np.allclose(grads["bias"].asnumpy(), 8 * 2 * -LABEL.mean(), atol=1e-5)


def test_forward_value_and_grad_gives_what_is_asked_for():
    class Product(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor(np.array([3.0])))

        def construct(self, x, y):
            return (x * y * self.w).sum()

    class Vector(nn.Cell):
        def construct(self, x):
            return x * x
    net, x, y = Product(), Tensor(np.array([1.0, 2.0])), Tensor(np.array([4.0, 5.0]))
    weights = list(net.get_parameters())
    value, dx = nn.ForwardValueAndGrad(net)(x, y)
    assert float(value.asnumpy()) == 42 and np.allclose(dx.asnumpy(), [12, 15])
    _, (dx, dy) = nn.ForwardValueAndGrad(net, get_all=True)(x, y)
    assert np.allclose(dy.asnumpy(), [3, 6])
    _, (dw,) = nn.ForwardValueAndGrad(net, weights, get_by_list=True)(x, y)
    assert np.allclose(dw.asnumpy(), [14])
    _, ((_, dy), (dw,)) = nn.ForwardValueAndGrad(net, weights, get_all=True, get_by_list=True)(x, y)
    assert np.allclose(dw.asnumpy(), [14]) and np.allclose(dy.asnumpy(), [3, 6])
    _, dx = nn.ForwardValueAndGrad(Vector(), get_all=True, sens_param=True)(x, y)
    assert isinstance(dx, tuple) and len(dx) == 1           # of all inputs, a tuple even for one
    out, dx = nn.ForwardValueAndGrad(Vector(), sens_param=True)(x, y)
    assert np.allclose(out.asnumpy(), [1, 4]) and np.allclose(dx.asnumpy(), [8, 20])


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_a_network_without_inputs_has_gradients_of_its_weights_alone(mode):
    class Square(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor(np.array([2.0, 3.0])))

        def construct(self):
            return self.w * self.w
    net = Square()
    before = config.set(mode=mode)
    try:
        out, (inputs, (dw,)) = nn.ForwardValueAndGrad(net, list(net.get_parameters()), get_all=True, get_by_list=True)()
        assert inputs == () and out.asnumpy().tolist() == [4, 9] and dw.asnumpy().tolist() == [4, 6]
        assert nn.ForwardValueAndGrad(net, get_all=True)()[1] == ()
    finally:
        config.set(**before)


def test_evaluation_gives_loss_outputs_and_label():
    net = network()
    loss, outputs, label = nn.WithEvalCell(net, nn.MSELoss(), True)(Tensor(DATA), Tensor(LABEL))
    assert outputs.dtype is label.dtype is dt.float32 and outputs.shape == (6, 1)
    assert float(loss.asnumpy()) == pytest.approx((LABEL ** 2).mean(), rel=1e-5)
    assert nn.WithLossCell(net, nn.MSELoss()).backbone_network is net


def test_a_parameter_update_writes_and_passes_on():
    param = Parameter(Tensor([0.0, 0.0]))
    out = nn.ParameterUpdate(param)(Tensor([1.0, 2.0]))
    assert param.asnumpy().tolist() == out.asnumpy().tolist() == [1, 2]


def test_wrong_parts_are_refused():
    net = network()
    for bad in (lambda: nn.WithLossCell(3, nn.MSELoss()), lambda: nn.TrainOneStepCell(net, 3),
                lambda: nn.ForwardValueAndGrad(net, get_by_list=True), lambda: nn.ForwardValueAndGrad(net, get_all=1),
                lambda: nn.WithEvalCell(net, nn.MSELoss(), 1), lambda: nn.ParameterUpdate(Tensor([1.0]))):
        with pytest.raises(ArgumentError):
            bad()
