"""The short way of calling a variant gives what the general way gives, and steps aside where it does not fit."""
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.backend import python_entry
from mindlite.common.errors import RankError
from mindlite.common.ranks import Alone
from mindlite.compile.jit import MAX_QUICK_CALLS, JitFunction
from mindlite.compile.quick import MISS
from mindlite.ops.collectives import all_reduce

pytestmark = pytest.mark.skipif(not python_entry.available(), reason="this Python lays out its objects in another way")


def tensor(*shape, dtype=np.float32, seed=0):
    return Tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def twice(function, *args):
    """A JitFunction that has been called twice, so that it knows the short way."""
    jitted = JitFunction(function)
    jitted(*args)
    jitted(*args)
    return jitted


def test_the_second_call_makes_the_short_way_and_the_third_takes_it():
    x, y = tensor(4), tensor(4, seed=1)
    jitted = twice(lambda x, y: ops.tanh(x) + y, x, y)
    (call,) = jitted.quick.calls
    value = call((x, y))
    assert isinstance(value, Tensor) and np.allclose(value.asnumpy(), np.tanh(x.asnumpy()) + y.asnumpy(), atol=1e-6)
    assert jitted(x, y).asnumpy().tobytes() == value.asnumpy().tobytes()
    assert jitted(x, y).array is not jitted(x, y).array


@pytest.mark.parametrize("args", [
    (tensor(5), tensor(5)), (tensor(4, dtype=np.float64), tensor(4)), (tensor(4),), (tensor(4), tensor(4), tensor(4)),
    (tensor(4), 2.0), (Tensor(np.zeros((4, 2), np.float32)).array[:, 0], tensor(4)),
    (Tensor.wrap(np.zeros((4, 2), np.float32)[:, 0]), tensor(4)), (tensor(2, 2), tensor(4)), (None, tensor(4)),
], ids=["size", "dtype", "fewer", "more", "number", "array", "strided", "rank", "none"])
def test_other_arguments_are_a_miss_and_nothing_runs(args):
    (call,) = twice(lambda x, y: x + y, tensor(4), tensor(4)).quick.calls
    assert call(args) is MISS


def test_a_strided_tensor_is_computed_the_general_way():
    jitted = twice(lambda x, y: x + y, tensor(4), tensor(4))
    strided = Tensor.wrap(np.arange(8, dtype=np.float32).reshape(4, 2)[:, 1])
    assert np.array_equal(jitted(strided, Tensor(np.zeros(4, np.float32))).asnumpy(), [1, 3, 5, 7])


def test_sizes_that_alternate_take_their_own_short_ways():
    jitted = JitFunction(lambda x: ops.tanh(x).sum(), dynamic=1)
    for n in (3, 3, 5, 5, 0, 0, 1, 1):
        x = tensor(n)
        assert np.allclose(jitted(x).asnumpy(), np.tanh(x.asnumpy()).sum(), atol=1e-6)
    assert len(jitted.variants) == 1 and len(jitted.quick.calls) == 4
    for n in (5, 3, 1, 0):
        x = tensor(n)
        assert np.allclose(jitted(x).asnumpy(), np.tanh(x.asnumpy()).sum(), atol=1e-6)


def test_constants_and_structure_among_the_arguments_are_compared():
    def f(pair, flag, name):
        return pair[0] * 2 if flag else pair[1]
    x, y = tensor(3), tensor(3, seed=1)
    jitted = twice(f, (x, y), True, "a")
    (call,) = jitted.quick.calls
    assert np.array_equal(call(((x, y), True, "a")).asnumpy(), x.asnumpy() * 2)
    for other in (((x, y), False, "a"), ((x, y), True, "b"), ([x, y], True, "a"), ((x, y), 1, "a")):
        assert call(other) is MISS
    assert jitted((x, y), False, "a") is y or np.array_equal(jitted((x, y), False, "a").asnumpy(), y.asnumpy())


class Scale(nn.Cell):
    """Multiplies by an attribute."""

    def __init__(self):
        super().__init__()
        self.factor = 2.0
        self.weight = ms.Parameter(Tensor(np.ones(3, np.float32)), name="w")

    def construct(self, x):
        return x * self.weight * self.factor


def test_a_changed_attribute_is_seen():
    net, x = Scale(), tensor(3)
    jitted = twice(lambda x: net(x), x)
    assert jitted.quick.calls
    net.factor = 3.0
    assert np.allclose(jitted(x).asnumpy(), x.asnumpy() * 3)


def test_a_parameter_with_other_data_or_of_another_size_is_seen():
    net, x = Scale(), tensor(3)
    jitted = twice(lambda x: net(x), x)
    net.weight.array = np.full(3, 5, np.float32)
    assert np.allclose(jitted(x).asnumpy(), x.asnumpy() * 10)
    net.weight.set_data(Tensor(np.array([7.0], np.float32)), slice_shape=True)
    assert np.allclose(jitted(x).asnumpy(), x.asnumpy() * 14)


def test_parameters_are_updated_by_the_short_way_as_in_eager_mode():
    x, losses = tensor(4, 3), []
    for compiled in (False, True):
        net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        optimiser = nn.Momentum(net.trainable_params(), 0.01, 0.9)
        grads_of = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, optimiser.parameters)

        def step(x):
            loss, grads = grads_of(x)
            optimiser(grads)
            return loss
        run = JitFunction(step) if compiled else step
        losses.append([float(run(x).asnumpy()) for _ in range(6)])
    assert run.quick.calls
    assert np.allclose(*losses, rtol=1e-5) and losses[0][0] != losses[0][5]


def test_operators_that_run_in_python_are_called_on_the_short_way():
    """A collective of one rank runs in Python, between two kernels. A run in it uses other memory: x @ x is read behind it."""
    def f(x):
        product = x @ x
        return all_reduce(product) + product
    inner, seen = JitFunction(lambda x: (x @ x) @ x), []
    inner(tensor(60, 60))
    jitted = twice(f, tensor(50, 50))
    (call,) = jitted.quick.calls
    assert call.short is None
    real = Alone.all_reduce

    def nested(self, array, *rest):
        inner(tensor(60, 60, seed=5))
        seen.append(array.shape)
        return real(self, array, *rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Alone, "all_reduce", nested)
        values = [jitted(tensor(50, 50, seed=n)).asnumpy() for n in range(3)]
    for n, value in enumerate(values):
        x = tensor(50, 50, seed=n).asnumpy()
        assert np.allclose(value, x @ x * 2, rtol=1e-4, atol=1e-3)
    assert len(seen) == 3 and jitted.plans == []


def test_what_an_operator_raises_in_python_arrives_and_the_next_call_is_fine():
    jitted, x = twice(lambda x: all_reduce(x) * 2, tensor(4)), tensor(4)

    def fails(self, array, *rest):
        raise RankError("the other rank has gone")
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Alone, "all_reduce", fails)
            with pytest.raises(RankError, match="the other rank has gone"):
                jitted(x)
        assert jitted.quick.calls[0]((x,)) is not MISS
        assert np.array_equal(jitted(x).asnumpy(), x.asnumpy() * 2)


def test_an_error_of_the_run_arrives_and_the_next_call_is_fine():
    def f(x, i):
        if x.sum() > 0:
            raise ValueError("too large")
        return x * 2
    low, high = Tensor(-np.ones(3, np.float32)), Tensor(np.ones(3, np.float32))
    jitted = twice(f, low, None)
    with pytest.raises(ValueError, match="too large"):
        jitted(high, None)
    assert np.array_equal(jitted(low, None).asnumpy(), [-2, -2, -2])


def test_threads_have_short_ways_of_their_own_and_agree():
    a, b = tensor(64, 64), tensor(64, 64, seed=1)
    jitted = twice(lambda a, b: ops.softmax(ops.matmul(a, b)) + a, a, b)
    expected, wrong = jitted(a, b).asnumpy().tobytes(), []

    def work():
        for _ in range(50):
            if jitted(a, b).asnumpy().tobytes() != expected:
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_of_many_kinds_come_back():
    x, y = tensor(3), tensor(3, seed=1)
    jitted = twice(lambda x, y: (x + y, (x.shape[0], "text"), y), x, y)
    total, constants, same = jitted(x, y)
    assert np.array_equal(total.asnumpy(), x.asnumpy() + y.asnumpy()) and constants == (3, "text")
    assert np.array_equal(same.asnumpy(), y.asnumpy())


def test_sizes_that_come_again_and_again_keep_a_bounded_number_of_fast_paths():
    f = ms.jit(lambda x, y: x * 2 + y, dynamic=1, fullgraph=True)
    count = 0
    for _ in range(4):
        for n in range(1, 41):
            x = Tensor(np.full(n, 3, np.float32))
            np.testing.assert_array_equal(f(x, x + 1).asnumpy(), np.full(n, 10))
            count += 1
    variant = f.compiled.latest()
    assert len(f.compiled.quick.known) == MAX_QUICK_CALLS == len(f.compiled.quick.calls) - 1
    assert f.compiled.quick.made <= 3 * MAX_QUICK_CALLS
    assert len(variant.fast) <= MAX_QUICK_CALLS and variant.calls == count
    for _ in range(3):
        f(x, x + 1)
    assert variant.calls == count + 3
    f.compiled.end_plans()
    assert not variant.fast and variant.calls == count + 3
