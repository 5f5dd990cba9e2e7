"""grad and value_and_grad with sens_param: the last argument is the cotangent of the output, in every mode."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops


def product_and_sum(x, y):
    return x * y, x + y


X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
ONE, BOTH = Tensor([1.0, 10.0]), (Tensor([1.0, 10.0]), Tensor([100.0, 1000.0]))


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE, "jit"], ids=["pynative", "graph", "jit"])
def run(request):
    if request.param == "jit":
        yield lambda f: ms.jit(f)
        return
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield lambda f: f
    ms.set_context(mode=before)


def _lists(value):
    return [_lists(v) for v in value] if isinstance(value, tuple) else value.tolist()


def test_the_last_argument_is_the_cotangent(run):
    assert _lists(run(ms.grad(lambda x, y: x * y, (0, 1), sens_param=True))(X, Y, ONE)) == [[3, 40], [1, 20]]
    assert _lists(run(ms.grad(product_and_sum, (0, 1), sens_param=True))(X, Y, BOTH)) == [[103, 1040], [101, 1020]]
    value, slope = run(ms.value_and_grad(product_and_sum, 0, sens_param=True))(X, Y, BOTH)
    assert _lists(value) == [[3, 8], [4, 6]] and slope.tolist() == [103, 1040]


def test_with_other_results_the_cotangent_is_of_the_first(run):
    slope, others = run(ms.grad(product_and_sum, 0, has_aux=True, sens_param=True))(X, Y, ONE)
    assert slope.tolist() == [3, 40] and _lists(others) == [[4, 6]]


def test_weights_have_gradients_by_the_cotangent_too(run):
    weight = ms.Parameter(Tensor([2.0, 3.0]), name="weight")
    slopes = run(ms.grad(lambda x: x * ops.square(weight), 0, (weight,), sens_param=True))(X, ONE)
    assert _lists(slopes) == [[4, 90], [[4, 120]]]


def test_the_cotangent_may_be_anything_that_a_vjp_takes():
    f = lambda x: ops.tanh(x) * x                                                            # noqa: E731
    _, pull = ms.vjp(f, X)
    np.testing.assert_array_equal(ms.grad(f, sens_param=True)(X, ONE).asnumpy(), pull(ONE)[0].asnumpy())
