"""set_context(check_nan=True): the operator that makes NaN or infinity out of finite operands is named, with its line."""
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.config import config
from mindlite.common.errors import NotFiniteError
from mindlite.pynative import finite

ZERO = Tensor([0.0, 1.0])


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"], autouse=True)
def checked(request):
    before = config.mode
    ms.set_context(check_nan=True, mode=request.param)
    yield
    ms.set_context(check_nan=False, mode=before)


def logarithm(x):
    y = x * 2
    return ops.log(y).sum()                                  # the forward line


def root(x):
    y = ops.sqrt(x)                                          # the backward line
    return (y * 3).sum()


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, 2)

    def construct(self, x):
        return ops.log(ops.relu(self.dense(x)) * 0).sum()    # the line of the Cell


RUNS = {
    "a function": (lambda: logarithm(ZERO), "log makes -inf", "the forward line"),
    "a jitted function": (lambda: ms.jit(logarithm)(ZERO), "log makes -inf", "the forward line"),
    "a Cell": (lambda: Net()(ZERO.reshape(1, 2)), "log makes -inf", "the line of the Cell"),
    "the forward part of a gradient": (lambda: ms.grad(logarithm)(ZERO), "log makes -inf", "the forward line"),
    "a gradient": (lambda: ms.grad(root)(ZERO), "out of finite operands, in grad sqrt", "the backward line"),
    "a jitted gradient": (lambda: ms.jit(lambda x: ms.grad(root)(x))(ZERO), "in grad sqrt", "the backward line"),
    "a gradient of Parameters": (lambda: train(), "in grad sqrt", "the backward line"),
    "a gradient, met a second time": (lambda: [fine(), ms.grad(root)(ZERO)], "in grad sqrt", "the backward line"),
    "vmap": (lambda: ms.vmap(logarithm)(ZERO.reshape(2, 1)), "log makes -inf", "the forward line"),
}


def fine():
    return [ms.grad(root)(ZERO + 1) for _ in range(3)]


def train():
    weight = ms.Parameter(Tensor([0.0, 2.0]), name="weight")
    return ms.value_and_grad(lambda x: root(weight * x), None, [weight])(ZERO + 1)


@pytest.mark.parametrize("what", RUNS)
def test_the_first_such_operator_is_named_with_the_line_of_its_call(what):
    run, text, line = RUNS[what]
    with pytest.raises(NotFiniteError) as raised:
        run()
    assert text in str(raised.value) and line in str(raised.value), raised.value


def test_what_is_given_may_be_passed_on():
    masked = ops.masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), -np.inf)
    assert ops.softmax(masked).tolist() == [0, 1]
    assert np.isnan(ops.add(Tensor([np.nan]), 1).item()) and ops.full((1,), np.inf).item() == np.inf


def test_a_program_that_stays_finite_gives_the_same_numbers():
    net = Net()
    net.construct = lambda x: ops.softmax(net.dense(x)).max()
    x = Tensor([[1.0, 2.0]])
    step = ms.value_and_grad(net, None, net.trainable_params())
    with_check = step(x)
    ms.set_context(check_nan=False)
    for a, b in zip((with_check[0], *with_check[1]), (lambda out: (out[0], *out[1]))(step(x))):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


def test_threads_that_are_started_meanwhile_check_too_and_the_end_is_an_end():
    seen = []

    def work():
        try:
            logarithm(ZERO)
        except NotFiniteError as error:
            seen.append(error)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(seen) == 1 and finite.is_watching()
    ms.set_context(check_nan=False)
    assert logarithm(ZERO).item() == -np.inf and ms.jit(logarithm)(ZERO).item() == -np.inf and not finite.is_watching()
