"""Numbers that are known at run time only are sizes of a graph: slices, new tensors, shapes; one compile for all of them."""
import numpy as np
import pytest

import mindlite as ms
import mindlite.numpy as mnp
from mindlite import ops
from mindlite.common.errors import ValueRangeError

X = ms.Tensor(np.arange(12.0).reshape(6, 2) / 7)


def i(value):
    return ms.Tensor(np.int32(value))


def numbers(value):
    """The arrays in a result."""
    return [a for v in value for a in numbers(v)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def same_in_one_graph(function, *calls):
    jitted = ms.jit(function, fullgraph=True)
    for args in calls:
        for got, want in zip(numbers(jitted(*args)), numbers(function(*args)), strict=True):
            assert got.shape == want.shape and np.allclose(got, want, rtol=1e-12), args
    assert len(jitted.variants) == 1


def set_rows(x, k):
    y = x * 1
    y[:int(k)] = 0
    return y


USES = {
    "the end of a slice": lambda x, k: x[:int(k) + 1] * 2,
    "a Tensor as the end of a slice": lambda x, k: x[:k] * 2,
    "the start of a slice": lambda x, k: x[int(k):],
    "a part and the rest": lambda x, k: ops.concat([x[:int(k)] * 2, x[int(k):]]),
    "steps": lambda x, k: x[int(k)::2],
    "steps downwards": lambda x, k: (x[::-1][int(k)::-1], x[:int(k):-1]),
    "a slice that is written": set_rows,
}


@pytest.mark.parametrize("use", USES)
def test_a_slice_may_end_or_begin_at_a_number_of_the_run_of_any_sign(use):
    same_in_one_graph(USES[use], *[(X, i(k)) for k in (2, 3, 0, 6, 9, -1, -2, -7)])


@pytest.mark.parametrize("function", [
    lambda k: ops.zeros(int(k)) + 1, lambda k: ops.ones((int(k), 3)), lambda k: ops.arange(int(k)) * 2,
    lambda k: ops.eye(int(k)), lambda k: ops.tril(ops.ones((int(k), int(k)))), lambda k: ops.one_hot(i([0, 1]), int(k)),
    lambda k: ops.broadcast_to(X[0], (int(k), 2)), lambda k: ops.tile(X, (int(k), 1)), lambda k: ops.pad(X, (0, int(k))),
    lambda k: ops.repeat_interleave(X, int(k), 0), lambda k: ops.topk(X.T, int(k)), lambda k: ops.roll(X, int(k), 0),
    lambda k: X.reshape(int(k), -1), lambda k: ops.cumsum(X[:k], 0),
], ids="zeros ones arange eye tril one_hot broadcast_to tile pad repeat topk roll reshape cumsum".split())
def test_an_operator_takes_a_number_of_the_run_as_a_size(function):
    same_in_one_graph(function, (i(2),), (i(3),), (i(6),))


def test_a_number_of_the_run_is_one_size_wherever_it_is_used():
    def rows(x, k):
        k = int(k)
        return x[:k] + ops.ones((k, 2), ms.float64)
    same_in_one_graph(rows, (X, i(2)), (X, i(5)))


def causal(x, k):
    """Means over growing beginnings, in a loop whose number of iterations is in a Tensor."""
    total = ops.zeros((), x.dtype)
    for t in range(int(k)):
        total = total + (x[:t + 1] ** 2).mean() + x[t:].sum()
    return total


def chosen(x, k):
    k = int(k)
    if k > 3:
        return (x[:k] ** 2).sum()
    return (x[k:] ** 3).sum()


@pytest.mark.parametrize("function", [causal, chosen, lambda x, k: (ops.softmax(x[:int(k)], 0) ** 2).sum()],
                         ids=["loop", "branch", "softmax"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_gradients_pass_sizes_that_are_numbers_of_the_run(function, order):
    for _ in range(order):
        function = ms.grad(lambda x, k, inner=function: (inner(x, k) ** 2).sum())
    same_in_one_graph(function, *[(X, i(k)) for k in (3, 5, 1)])


def test_forward_mode_and_a_batch_pass_such_sizes():
    same_in_one_graph(lambda x, k: ms.jvp(lambda x: (x[:int(k)] ** 2).sum(), (x,), (x,)), (X, i(2)), (X, i(4)))
    same_in_one_graph(ms.vmap(lambda x, k: x[:int(k)].sum(), (0, None)), (X, i(1)), (X, i(2)))


def test_a_negative_size_is_refused_as_in_eager_mode_before_a_kernel_runs():
    weight = ms.Parameter(ms.Tensor(np.zeros(2)), name="w")

    def step(k):
        made = ops.zeros(int(k))
        ops.assign(weight, weight + 1)
        return made
    jitted = ms.jit(step)
    assert jitted(i(2)).shape == (2,)
    with pytest.raises(Exception) as eager:
        step(i(-2))
    with pytest.raises(type(eager.value), match="negative"):
        jitted(i(-2))
    assert weight.asnumpy()[0] == 1
    assert "made = ops.zeros(int(k))" in str(eager.value)


def test_a_size_of_minus_one_that_only_python_can_read_is_what_it_is_in_eager_mode():
    jitted = ms.jit(lambda x, k: x.reshape(int(k), 4))
    assert jitted(X, i(3)).shape == (3, 4)
    with pytest.warns(UserWarning, match="runs again in Python"):
        assert np.array_equal(jitted(X, i(-1)).asnumpy(), X.asnumpy().reshape(-1, 4))


def test_where_python_would_have_to_make_a_call_again_fullgraph_raises():
    f = ms.jit(lambda x, k: x.reshape(int(k), 4), fullgraph=True)
    assert f(X, i(3)).shape == (3, 4)
    with pytest.raises(ValueRangeError, match="a size that is known at run time only is below 0"):
        f(X, i(-1))
    held = []

    def shown(x, k):
        held.append(x)
        return x.reshape(int(k), 4)
    f = ms.jit(shown, fullgraph=True)
    assert f(X, i(3)).shape == (3, 4)
    before = len(held)
    with pytest.raises(ValueRangeError, match="below 0"):
        f(X, i(-1))
    assert len(held) == before + 1                           # Python did not make the call again


def test_fullgraph_shows_the_error_of_eager_mode_where_that_raises_too():
    f = ms.jit(lambda x, k: x[:int(k)] + x[:2], fullgraph=True)
    assert f(X, i(2)).shape == (2, 2)
    with pytest.raises(ms.ShapeError, match=r"3.*2"):
        f(X, i(3))


@pytest.mark.parametrize("ends", [(0.0, 5.0, 0.0), (0.0, 5.0, np.inf), (0.0, np.inf, 1.0), (np.nan, 1.0, 1.0), (0.0, -1.0, 1.0),
                                  (-3e38, 3e38, 1e-300)])
def test_a_range_that_has_no_end_is_refused_alike_in_both_modes(ends):
    def of_numbers(a, b, c):
        return ops.arange(a, b, c)
    given = [ms.Tensor(np.float64(value)) for value in ends]
    with pytest.raises(ValueRangeError) as eager:
        of_numbers(*given)
    with pytest.raises(ValueRangeError) as graph:
        ms.jit(of_numbers, fullgraph=True)(*given)
    assert str(graph.value) == str(eager.value)


def test_numpys_arange_of_numbers_of_the_run_is_one_graph():
    same_in_one_graph(lambda k: mnp.arange(k), (i(3),), (i(1),))
    same_in_one_graph(lambda a, b: mnp.arange(a, b, 0.5), (i(1), i(3)), (i(0), i(4)))
    same_in_one_graph(lambda k: mnp.arange(k, dtype=ms.float16), (i(3),), (i(5),))
    sizes = ms.jit(lambda x: mnp.arange(x.shape[0]) * 2, fullgraph=True, dynamic=1)
    for n in (4, 3, 5):
        made = sizes(ms.Tensor(np.ones((n, 2), np.float32)))
        assert made.dtype == ms.int32 and np.array_equal(made.asnumpy(), np.arange(n) * 2)
    assert len(sizes.variants) == 1
