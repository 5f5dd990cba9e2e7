"""Steps with a scaled loss: the same weights as without, no step and a smaller scale where a gradient overflows."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, ValueRangeError


class Loss(nn.Cell):
    """The sum of (weight * x) squared."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([1.0, 2.0]), name="weight")

    def construct(self, x):
        return ops.reduce_sum((self.weight * x) ** 2)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def _mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=before)


def _step(scale):
    net = Loss()
    return net, nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.125), scale)


@pytest.mark.usefixtures("_mode")
def test_a_scale_changes_no_gradient_and_an_overflow_no_weight():
    manager = nn.DynamicLossScaleUpdateCell(1024, 2, 3)
    net, step = _step(manager)
    plain = Loss()
    other = nn.TrainOneStepCell(plain, nn.SGD(plain.trainable_params(), 0.125))
    x = Tensor([0.5, -1.0])
    loss, overflow, scale = step(x)
    assert loss.item() == other(x).item() and not overflow and scale.item() == 1024
    np.testing.assert_array_equal(net.weight.asnumpy(), plain.weight.asnumpy())
    before = net.weight.asnumpy().copy()
    _, overflow, scale = step(Tensor([float("inf"), 1.0]))
    assert overflow and scale.item() == 1024 and step.scale_sense.item() == 512
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    scales = [step(x)[2].item() for _ in range(5)]
    assert scales == [512, 512, 512, 1024, 1024]


@pytest.mark.usefixtures("_mode")
def test_a_fixed_scale_stays_and_may_be_replaced():
    net, step = _step(nn.FixedLossScaleUpdateCell(8))
    assert step(Tensor([float("nan"), 1.0]))[1] and step.scale_sense.item() == 8
    net, step = _step(Tensor(4.0))
    assert step(Tensor([1.0, 1.0]))[2].item() == 4
    step.set_sense_scale(Tensor([16.0]))
    assert step(Tensor([1.0, 1.0]))[2].item() == 16


def test_what_is_no_scale_is_an_error():
    with pytest.raises(ArgumentError, match="scale_sense"):
        _step(2.0)
    with pytest.raises(ValueRangeError, match="above zero"):
        nn.DynamicLossScaleUpdateCell(0, 2, 3)
