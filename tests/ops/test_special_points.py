"""Values and gradients where mathematics leaves a choice: ties, bends, zeros, infinities, NaN; and what is refused."""
import math

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops
from mindlite.ad import vjp_graph
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol, evaluate
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from mindlite.common.tensor import Tensor
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import constant, typed
from mindlite.mindir.constraints import collecting
from mindlite.mindir.evaluate import run
from mindlite.ops import operations as P


def gradients(function, *arrays, dout=1.0):
    """The gradient of function(*arrays), contracted with dout, with respect to each array."""
    arrays = [np.asarray(a, np.float64) for a in arrays]
    graph = typed(function, *[constant(a).abstract for a in arrays], name="f")
    out = run(graph, *arrays)[0]
    cotangent = np.broadcast_to(np.asarray(dout, np.float64), out.shape).copy()
    return [g.tolist() for g in run(vjp_graph(graph, tuple(range(len(arrays))), (0,)), *arrays, cotangent)[1:]]


def test_a_tie_of_maximum_gives_each_side_half():
    assert gradients(ops.maximum, [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]) == [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]
    assert gradients(ops.minimum, [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]) == [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]


def test_amax_shares_the_gradient_among_equals_and_max_gives_it_to_the_index():
    x = [[3.0, 1.0, 3.0]]
    assert gradients(lambda x: ops.amax(x, 1), x) == [[[0.5, 0.0, 0.5]]]
    assert gradients(lambda x: ops.max(x, 1)[0], x) == [[[1.0, 0.0, 0.0]]]


def test_slopes_at_zero_are_those_of_the_flat_side():
    for function, slope in [(ops.relu, 0.0), (ops.abs, 0.0), (ops.sign, 0.0), (lambda x: ops.leaky_relu(x, 0.2), 0.2),
                            (lambda x: ops.hypot(x, x), 0.0), (lambda x: ops.norm(x), 0.0)]:
        assert gradients(function, [0.0]) == [[slope]]


def test_clamp_passes_the_gradient_on_its_bounds():
    assert gradients(lambda x: ops.clamp(x, -1, 1), [-2.0, -1.0, 0.0, 1.0, 2.0]) == [[0.0, 1.0, 1.0, 1.0, 0.0]]
    assert ops.clamp(Tensor([0.0, 5.0]), 3, 1).tolist() == [1.0, 1.0]
    assert np.isnan(ops.clamp(Tensor([math.nan]), 0, 1).tolist()[0])


def test_power_has_slope_zero_where_the_exponent_or_the_base_is_zero():
    dx, dy = gradients(ops.power, [0.0, 0.0, 2.0], [0.0, 2.0, 0.0])
    assert dx == [0.0, 0.0, 0.0]
    assert dy == [0.0, 0.0, math.log(2.0)]


def test_an_infinite_gradient_on_the_dead_side_does_no_harm():
    assert gradients(ops.relu, [-1.0, 1.0], dout=[math.inf, 2.0]) == [[0.0, 2.0]]
    assert gradients(lambda x: ops.where(x > 0, ops.sqrt(ops.maximum(x, 1e-3)), 0 * x), [-1.0, 4.0])[0][1] == 0.25
    assert gradients(lambda c, x, y: ops.where(c > 0, x, y), [1.0], [2.0], [3.0], dout=math.inf)[2] == [0.0]


def test_softplus_and_logsigmoid_do_not_overflow():
    x = Tensor([-1000.0, 0.0, 1000.0])
    assert ops.softplus(x).tolist() == pytest.approx([0.0, math.log(2), 1000.0])
    assert ops.logsigmoid(x).tolist() == pytest.approx([-1000.0, -math.log(2), 0.0])
    assert gradients(lambda x: ops.softplus(x), [-1000.0, 1000.0]) == [[0.0, 1.0]]
    assert gradients(lambda x: ops.logsigmoid(x), [-1000.0, 1000.0]) == [[1.0, 0.0]]


def test_softmax_and_logsumexp_of_huge_numbers_are_finite():
    x = Tensor(np.array([[1e30, 1e30, -1e30]], np.float32))
    assert ops.softmax(x).tolist() == [[0.5, 0.5, 0.0]]
    assert ops.log_softmax(x).tolist()[0][2] == pytest.approx(-2e30)
    assert ops.logsumexp(Tensor([-math.inf, -math.inf])).tolist() == -math.inf
    assert ops.logsumexp(Tensor([math.inf, 1.0])).tolist() == math.inf


def test_gradients_of_products_are_right_where_elements_are_zero():
    assert gradients(lambda x: ops.prod(x), [2.0, 0.0, 3.0]) == [[0.0, 6.0, 0.0]]
    assert gradients(lambda x: ops.prod(x), [0.0, 0.0, 3.0]) == [[0.0, 0.0, 0.0]]
    assert gradients(lambda x: ops.cumprod(x, 0), [2.0, 0.0, 3.0, 0.0]) == [[1.0, 8.0, 0.0, 0.0]]


def test_integers_divide_by_zero_to_zero_and_floats_to_infinity():
    assert ops.floor_divide(Tensor([5, -5]), 0).tolist() == [0, 0]
    assert ops.div(Tensor([1.0, -1.0]), 0).tolist() == [math.inf, -math.inf]
    assert (Tensor([7, -7]) // 2).tolist() == [3, -4]
    assert (Tensor([7, -7]) % 4).tolist() == [3, 1]
    assert ops.fmod(Tensor([7, -7]), 4).tolist() == [3, -3]
    assert ops.div(Tensor([7, -7]), 2, rounding_mode="trunc").tolist() == [3, -3]


def test_a_negative_power_of_an_integer_is_zero_unless_the_base_is_a_unit():
    assert ops.pow(Tensor([1, -1, -1, 2]), Tensor([-3, -3, -2, -1])).tolist() == [1, -1, 1, 0]


def test_numbers_written_in_the_program_do_not_widen_a_tensor():
    half = Tensor(np.ones(2, np.float16))
    assert (half * 2.5).dtype is dt.float16
    assert (Tensor([1, 2]) * 2.5).dtype is dt.float32
    assert (Tensor([True]) + 1).dtype is dt.int64
    assert ops.where(Tensor([True]), half, 0.0).dtype is dt.float16
    assert ops.exp(Tensor([1])).dtype is dt.float32


def test_half_precision_means_are_added_in_single_precision():
    assert ops.mean(Tensor(np.full(4000, 60.0, np.float16))).tolist() == 60.0


def test_complex_numbers_have_conjugate_gradients():
    z = np.array([3 + 4j, 0j, 1 - 1j])
    graph = typed(lambda z: ops.abs(z), constant(z).abstract)
    value, gradient = run(vjp_graph(graph, (0,), (0,)), z, np.ones(3))
    assert value.tolist() == pytest.approx([5.0, 0.0, math.sqrt(2)])
    assert gradient.tolist() == pytest.approx([0.6 + 0.8j, 0j, (1 - 1j) / math.sqrt(2)])
    assert ops.angle(Tensor([1j, -1.0])).tolist() == pytest.approx([math.pi / 2, math.pi])


def test_erf_is_right_to_the_last_digits_over_its_whole_range():
    x = np.concatenate([np.linspace(-6, 6, 4001), np.linspace(6, 26, 500), [0.46875, 4.0, math.inf, -math.inf]])
    want = [math.erf(v) for v in x]
    assert np.max(np.abs(ops.erf(Tensor(x)).asnumpy() - want)) < 3e-16
    np.testing.assert_allclose(ops.erfc(Tensor(x)).asnumpy(), [math.erfc(v) for v in x], rtol=2e-15)
    assert np.isnan(ops.erf(Tensor([math.nan])).asnumpy()[0])


@pytest.mark.parametrize("call, error, text", [
    (lambda: ops.add(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0])), ShapeError, "add: the shapes do not broadcast"),
    (lambda: ops.bitwise_and(Tensor([1.0]), 1), DTypeError, "bitwise_and: does not take float32"),
    (lambda: ops.less(Tensor([1j]), 1), DTypeError, "less: does not take complex64"),
    (lambda: ops.amax(Tensor(np.zeros((0, 2), np.float32)), 0), ShapeError, "an empty axis has no extremum"),
    (lambda: ops.sum(Tensor([1.0]), 3), ValueRangeError, "axis 3 is outside"),
    (lambda: ops.topk(Tensor([1.0]), 2), ValueRangeError, "topk: k is 2"),
    (lambda: ops.gelu(Tensor([1.0]), "fast"), ArgumentError, "approximate is 'none' or 'tanh'"),
    (lambda: ops.arange(0, 5, 0), ValueRangeError, "step is 0"),
    (lambda: ops.arange(5, 0), ValueRangeError, "leads nowhere"),
    (lambda: ops.clamp(Tensor([1.0])), ArgumentError, "min or max must be given"),
    (lambda: ops.zeros((2, -1)), ShapeError, "a size is negative"),
    (lambda: ops.prelu(Tensor(np.ones((2, 3), np.float32)), Tensor([1.0, 2.0])), ShapeError,
     "one element for each channel"),
])
def test_what_is_wrong_is_said_in_one_line(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_public_functions_are_numpys():
    x = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]])
    t = Tensor(x)
    pairs = [(ops.var(t, 1), np.var(x, 1)), (ops.std(t, None, 1), np.std(x, ddof=1)), (ops.argmax(t), np.argmax(x)),
             (ops.tril(t), np.tril(x)), (ops.triu(t, 1), np.triu(x, 1)), (ops.cumsum(t, 1), np.cumsum(x, 1)),
             (ops.norm(t, 1, 0), np.abs(x).sum(0)),
             (ops.norm(t, 3, 1), (np.abs(x) ** 3).sum(1) ** (1 / 3)), (ops.argsort(t, 1), np.argsort(x, 1)),
             (ops.round(t * 1.234, decimals=1), np.round(x * 1.234, 1)), (t.T, x.T), (t.max(axis=0), x.max(0)),
             (ops.eye(2, 3, dt.float64), np.eye(2, 3)), (ops.linspace(0, 1, 7, dtype=dt.float64), np.linspace(0, 1, 7)),
             (ops.arange(5, -2, -2), np.arange(5, -2, -2)),
             (ops.arange(0.0, 1.0, 0.3, dtype=dt.float64), np.arange(0, 1, 0.3)),
             (ops.count_nonzero(t), np.int32(6)), (ops.lerp(t, t * 3, 0.5), x * 2),
             (ops.addcmul(t, t, t, 2), x + 2 * x * x),
             (ops.isclose(t, t + 1e-9), np.isclose(x, x + 1e-9)), (t.max(where=t < 3, initial=-9.0), np.float64(2.0)),
             (ops.one_hot(Tensor([1, 0]), 3, axis=0), np.array([[0, 1], [1, 0], [0, 0]])),
             (ops.nan_to_num(Tensor(np.array([np.nan, -np.inf])), 1.0, neginf=-5.0), np.array([1.0, -5.0]))]
    for got, want in pairs:
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-12)


def test_creation_and_reductions_take_sizes_that_are_symbols():
    symbol = Symbol("N")
    n = symbol.dim

    def body(x):
        weights = ops.arange(x.shape[0]) + 1
        return ops.mean(x, 0), ops.softmax(x, 0), ops.tril(x), x * ops.full_like(x, 2.0), weights, ops.var(x, 0), \
            ops.zeros((x.shape[0], 2)), ops.max(x, 0)[1]
    with collecting():
        graph = typed(body, AbstractTensor(dt.float64, (n, 3)))
    for size in (1, 2, 5):
        x = np.random.default_rng(size).standard_normal((size, 3))
        outs = run(graph, x)
        env = {symbol: size}
        for node, out in zip(graph.outputs, outs):
            assert tuple(evaluate(s, env) for s in node.abstract.shape) == out.shape
        want = (x.mean(0), np.exp(x) / np.exp(x).sum(0), np.tril(x), x * 2, np.arange(size) + 1, x.var(0),
                np.zeros((size, 2)), x.argmax(0))
        for got, expected in zip(outs, want):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_the_imaginary_part_of_real_numbers_is_zero():
    x = Tensor(np.array([1.5, -2], np.float32))
    assert ops.imag(x).tolist() == [0, 0] and ops.imag(x).dtype is ms.float32


def test_a_tuple_of_tensors_beside_a_tensor_is_their_stack_and_has_gradients():
    x, y = (Tensor(np.array(v, np.float32)) for v in ([1, 2], [3, 4]))

    def f(a, b):
        return (a, b) + x * [a, [b, 1][0]]
    want = np.stack([x.array, y.array]) + x.array * np.stack([x.array, y.array])
    for way in (f, ms.jit(f)):
        np.testing.assert_array_equal(way(x, y).asnumpy(), want)
        np.testing.assert_array_equal(ms.grad(way, 1)(x, y).asnumpy(), 1 + x.array)


def test_a_reduction_takes_its_axes_as_a_tensor():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert P.ReduceSum()(x, Tensor(1)).tolist() == [3, 12] and P.ReduceSum()(x, Tensor([0, 1])).tolist() == 15


def test_a_method_of_tensor_is_for_tensors():
    with pytest.raises(ArgumentError, match="a method of Tensor is called on list"):
        Tensor.add([1], [2])


@pytest.mark.parametrize("call", [ops.exp, ops.sum, ops.relu, lambda t: ops.matmul(t, Tensor(np.eye(2, dtype=np.float32))),
                                  lambda t: ops.add(t, Tensor(1.0)), nn.Dense(2, 3), lambda t: ops.softmax(t, -1)])
def test_several_results_are_no_operand(call):
    """y = x.max(1) is a pair; networks that take it for a Tensor are told, not given a stack of values and indices."""
    x = Tensor(np.array([[1, 2], [4, 3]], np.float32))
    for way in (lambda x: call(x.max(1)), lambda x: call([x, x])):
        messages = set()
        for mode in (way, ms.jit(way, fullgraph=True)):
            with pytest.raises(ArgumentError, match="a tensor or a number is wanted, not a (tuple|list) of tensors") as caught:
                mode(x)
            messages.add(caught.value.message)
        assert len(messages) == 1
