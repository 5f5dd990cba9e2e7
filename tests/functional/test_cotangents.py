"""grad and value_and_grad with sens_param: the last argument is the cotangent of the output, in every mode."""
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ShapeError
from mindlite.compile.jit import FallbackWarning


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


WRONG = [Tensor([1.0]), Tensor([1.0, 2.0, 3.0]), Tensor([[1.0, 2.0]]), Tensor(1.0), 1.0]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_a_cotangent_of_another_shape_is_refused_before_anything_reads_it(run, given):
    refused = pytest.raises(ms.ShapeError, match="a cotangent has another shape than its result")
    with refused:
        run(ms.grad(lambda x: x * x, sens_param=True))(X, given)
    with refused:
        run(lambda x, dout: ms.vjp(lambda x: x * x, x)[1](dout))(X, given)


def test_sizes_that_are_known_when_it_runs_are_compared_then():
    slope = ms.jit(lambda x, dout: ms.grad(lambda x: x * x, sens_param=True)(x, dout), dynamic=1)
    for n in (2, 3, 4):
        assert slope(ops.ones((n,)), ops.ones((n,))).tolist() == [2.0] * n
    with pytest.raises(ms.ShapeError, match="a cotangent has another shape"):
        slope(ops.ones((4,)), ops.ones((3,)))


@pytest.mark.parametrize("dtype", [ms.float64, ms.float16, ms.int32], ids=str)
def test_a_tangent_or_cotangent_is_cast_to_the_type_of_what_it_belongs_to(run, dtype):
    product = lambda x: ops.matmul(x, x)                                                      # noqa: E731
    square, given = Tensor([[1.0, 2.0], [3.0, 4.0]]), ops.ones((2, 2), dtype)
    slope = run(ms.grad(product, sens_param=True))(square, given)
    _, tangent = run(lambda x, v: ms.jvp(product, x, v))(square, given)
    assert slope.dtype == tangent.dtype == ms.float32
    assert slope.tolist() == [[7.0, 11.0], [9.0, 13.0]] and tangent.tolist() == [[7.0, 9.0], [11.0, 13.0]]


def test_a_complex_cotangent_of_a_real_result_is_an_error(run):
    given = Tensor(np.array([1j, 2.0], np.complex64))
    with pytest.raises(ms.GradientError, match="a cotangent is complex, and its result is not"):
        run(ms.grad(lambda x: x * x, sens_param=True))(X, given)


def test_as_many_tangents_as_inputs_are_wanted(run):
    with pytest.raises(ms.ArgumentError, match="1 tangents were given for 2 inputs"):
        run(lambda x, y: ms.jvp(lambda x, y: x * y, (x, y), (x,)))(X, Y)


@pytest.mark.parametrize("function", [lambda x: x, lambda x: (x,), lambda x: [x, x]], ids=["one", "tuple", "list"])
def test_has_aux_wants_several_results(run, function):
    for transform in (ms.grad, ms.value_and_grad):
        with pytest.raises(ms.ArgumentError, match="has_aux: the function gives one result"):
            run(transform(function, has_aux=True))(X)


@pytest.mark.parametrize("count", [1, 4, 9])
def test_a_cotangent_of_a_result_whose_size_the_data_decides_has_that_size_or_is_refused(count):
    def over_two(x):
        return x[x > 2] * x[x > 2]

    def with_sens(x, v):
        return ms.grad(over_two, sens_param=True)(x, v)

    def pulled(x, v):
        return ms.vjp(over_two, x)[1](v)[0]
    x, v = Tensor([1.0, 2, 3, 4, 5, 6]), Tensor(np.ones(count, np.float32))
    inner = ms.jit(over_two)
    for f in (with_sens, pulled, ms.jit(with_sens), ms.jit(pulled), lambda x, v: ms.grad(inner, sens_param=True)(x, v),
              lambda x, v: ms.vjp(inner, x)[1](v)[0]):
        if count == 4:
            assert f(x, v).asnumpy().tolist() == [0, 0, 6, 8, 10, 12]
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            with pytest.raises(ShapeError, match="a cotangent has another shape than its result"):
                f(x, v)
