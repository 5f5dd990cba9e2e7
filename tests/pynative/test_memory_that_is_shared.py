"""Which arrays and Tensors share memory with a Tensor or a Parameter, and which keep what they have (docs/differences.md)."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops

ZEROS, ONES = np.zeros(3, np.float32), np.ones(3, np.float32)


@pytest.fixture(autouse=True)
def the_mode_stays():
    """What a test sets ends with it."""
    before = ms.get_context("mode")
    yield
    ms.set_context(mode=before)


def adds(p):
    ops.assign_add(p, Tensor(ONES))


def parameter():
    return Parameter(Tensor(ZEROS), name="p")


def written(p):
    p[:] = 1.0


def loaded(p):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = p
    ms.load_param_into_net(Net(), {"p": Parameter(Tensor(ONES), name="p")})


@pytest.mark.parametrize("change", [lambda p: p.set_data(Tensor(ONES)), lambda p: p.assign_value(Tensor(ONES)), loaded,
                                    lambda p: p.set_data(Parameter(Tensor(ONES), name="q"))],
                         ids=["set_data", "assign_value", "load_param_into_net", "set_data of a Parameter"])
def test_new_data_leaves_what_was_taken_before(change):
    p = parameter()
    array, value, copy = p.asnumpy(), p.value(), p.copy()
    change(p)
    assert (p.asnumpy() == 1).all() and all((np.asarray(x) == 0).all() for x in (array, value, copy))


@pytest.mark.parametrize("write", [lambda p: ops.assign(p, Tensor(ONES)), adds,
                                   lambda p: p.set_data(Tensor(ONES)), written, lambda p: p.__setitem__(slice(None), 1.0),
                                   lambda p: p.assign_value(Tensor(ONES) + 0)],
                         ids=["assign", "assign_add", "set_data", "item", "__setitem__", "assign_value"])
@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def test_value_is_what_a_parameter_was_in_both_modes(write, mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = parameter()

        def construct(self, x):
            before = self.p.value()
            write(self.p)
            return before + x, self.p + x
    ms.set_context(mode=mode)
    net = Net()
    for start in (0, 1, 0):                                  # each run writes, the first one no more than the others
        net.p.set_data(Tensor(ZEROS + start))
        before, after = net(Tensor(ZEROS))
        added = start if write is adds else 0
        assert (before.asnumpy() == start).all() and (after.asnumpy() == 1 + added).all() and (net.p.asnumpy() == 1 + added).all()


def test_an_array_from_asnumpy_sees_writes_in_place_and_optimiser_steps():
    p = parameter()
    array = p.asnumpy()
    p[1] = 5
    assert array.tolist() == [0, 5, 0]
    array[0] = 4
    assert p.asnumpy().tolist() == [4, 5, 0]
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net = nn.Dense(2, 1, "ones", "zeros")
        weight = net.weight.asnumpy()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
        step(Tensor(np.ones((4, 2), np.float32)), Tensor(np.zeros((4, 1), np.float32)))
        assert np.allclose(weight, 0.6) and np.allclose(net.weight.asnumpy(), 0.6)


def test_from_numpy_shares_memory_and_tensor_copies():
    array = np.zeros(3, np.float32)
    copied, shared = Tensor(array), Tensor.from_numpy(array)
    array[0] = 1
    shared[1] = 2
    assert copied.asnumpy().tolist() == [0, 0, 0] and array.tolist() == shared.asnumpy().tolist() == [1, 2, 0]
    copied[2] = 9
    assert array.tolist() == [1, 2, 0]
    given = Parameter(shared, name="p")
    given.set_data(Tensor(ONES))
    assert array.tolist() == [1, 2, 0]


def test_a_parameter_does_not_share_memory_with_the_data_that_it_was_set_to():
    p, data = parameter(), Tensor(ONES)
    p.set_data(data)
    p[0] = 7
    data[1] = 8
    assert p.asnumpy().tolist() == [7, 1, 1] and data.asnumpy().tolist() == [1, 8, 1]
