"""Mixed precision: what computes in 16 bits, the same in both modes and under gradients; scaling of losses."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import amp, nn, ops, Parameter, Tensor
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.ops import operations as P

MODES = [lambda f: f, lambda f: ms.jit(lambda *args: f(*args))]


def values(*shape, seed=0, dtype=np.float32):
    return Tensor(np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(dtype))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm = nn.Dense(4, 5), nn.LayerNorm((5,))
        self.weight = Parameter(values(5, 2, seed=3), name="weight")

    def construct(self, x):
        first = self.dense(x)
        second = self.norm(first)
        third = ops.matmul(second, self.weight)
        return ops.tanh(third), first, second, third


@pytest.mark.parametrize("mode", MODES, ids=["eager", "jit"])
@pytest.mark.parametrize("level, kinds", [
    ("O0", [ms.float32] * 4), ("O1", [ms.float32] * 4), ("O2", [ms.float32] * 4), ("O3", [ms.float32] * 4),
    ("auto", [ms.float16, ms.float32, ms.float32, ms.float16])])
def test_the_levels_give_these_dtypes_and_nearly_the_same_numbers(mode, level, kinds):
    net, x = Net(), values(6, 4)
    want = [out.asnumpy() for out in net(x)]
    made = amp.auto_mixed_precision(net, level)
    assert made is net
    found = mode(net)(x)
    assert [out.dtype for out in found] == kinds
    difference = max(np.abs(a.asnumpy() - b).max() for a, b in zip(found, want))
    assert difference < 2e-2 and (difference > 1e-5) == (level != "O0")


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
def test_values_and_gradients_agree_in_both_modes_and_nothing_compiles_twice(level):
    net, x = amp.auto_mixed_precision(Net(), level), values(6, 4)

    def f(a):
        return ops.cast(net(a)[0], ms.float32).sum()
    graph = ms.jit(ms.value_and_grad(f, 0, net.trainable_params()))
    for _ in range(2):
        (value, (dx, dw)), (expected, (ex, ew)) = graph(x), ms.value_and_grad(f, 0, net.trainable_params())(x)
        np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-3)
        for a, b in zip((dx, *dw), (ex, *ew)):
            assert a.dtype is b.dtype is ms.float32
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=5e-3)
    assert len(graph.variants) == 1


def test_what_is_inside_computes_in_sixteen_bits_and_black_cells_do_not():
    seen = []

    class Look(nn.Cell):
        def construct(self, x):
            seen.append(x.dtype)
            return x + 1

    class Black(Look):
        pass
    net = nn.SequentialCell(Look(), Black(), Look())
    out = amp.custom_mixed_precision(net, black_list=[Black], dtype=ms.bfloat16)(values(3))
    assert seen == [ms.bfloat16, ms.float32, ms.bfloat16] and out.dtype is ms.float32
    seen.clear()
    net = nn.SequentialCell(Look(), Black(), Look())
    out = amp.custom_mixed_precision(net, white_list=[Black, P.Exp])(values(3))
    assert seen == [ms.float32, ms.float16, ms.float32] and out.dtype is ms.float32


@pytest.mark.parametrize("mode", MODES, ids=["eager", "jit"])
def test_a_function_is_sorted_operator_by_operator(mode):
    def f(a, b, c):
        product = ops.matmul(a, b)
        return product, ops.exp(product), ops.concat([product, c]), product + c, ops.addn([product, product])
    made = amp.auto_mixed_precision(f, "auto")
    assert [x.dtype for x in f(*[values(2, 2)] * 3)] == [ms.float32] * 5
    assert [x.dtype for x in mode(made)(*[values(2, 2)] * 3)] == [ms.float16, ms.float32, ms.float32, ms.float32, ms.float16]
    doubles = [values(2, 2, dtype=np.float64)] * 3
    assert mode(lambda x: made(x, x, x)[3])(doubles[0]).dtype is ms.float64


@pytest.mark.parametrize("layer", [nn.Conv3d, nn.Conv3dTranspose])
def test_convolutions_over_three_axes_are_lowered_too(layer):
    whole = layer(2, 3, 3)
    x = values(1, 2, 4, 4, 4)
    before = whole(x).asnumpy()
    after = amp.auto_mixed_precision(whole, "O1")(x)
    assert after.dtype is ms.float32 and 0 < np.abs(after.asnumpy() - before).max() < 2e-2


def test_operators_of_the_white_list_give_float32_again():
    class Weighted(nn.Cell):
        def construct(self, a, b):
            return ops.matmul(a, b), ops.exp(a)
    net, x = amp.custom_mixed_precision(Weighted(), white_list=[P.MatMul]), values(8, 8)
    for mode in MODES:
        product, plain = mode(net)(x, x)
        assert product.dtype is plain.dtype is ms.float32
        assert 0 < np.abs(product.asnumpy() - x.array @ x.array).max() < 2e-2
        np.testing.assert_allclose(plain.asnumpy(), np.exp(x.array), rtol=1e-6)


def test_wrong_networks_levels_lists_and_dtypes_are_refused():
    net = Net()
    for error, make in [
            (ArgumentError, lambda: amp.auto_mixed_precision(lambda x: x, "O1")),
            (ArgumentError, lambda: amp.custom_mixed_precision(3, white_list=[])),
            (ValueRangeError, lambda: amp.auto_mixed_precision(net, "O4")),
            (ValueRangeError, lambda: amp.auto_mixed_precision(net, "O1", ms.float32)),
            (ValueRangeError, lambda: amp.custom_mixed_precision(net)),
            (ValueRangeError, lambda: amp.custom_mixed_precision(net, white_list=[], black_list=[])),
            (ValueRangeError, lambda: amp.custom_mixed_precision(net, white_list=[P.Elu])),
            (ValueRangeError, lambda: amp.DynamicLossScaler(0, 2, 3)),
            (ValueRangeError, lambda: amp.DynamicLossScaler(8, 2, 0)), (ValueRangeError, lambda: amp.StaticLossScaler(-1)),
            (ArgumentError, lambda: amp.all_finite(()))]:
        with pytest.raises(error):
            make()
    first, second = amp.get_white_list(), amp.get_black_list()
    first.append(nn.Flatten), second.clear()
    assert nn.Flatten not in amp.get_white_list() and nn.LayerNorm in amp.get_black_list()


@pytest.mark.parametrize("mode", MODES, ids=["eager", "jit"])
def test_the_scale_grows_after_a_window_of_finite_steps_and_shrinks_after_an_overflow(mode):
    scaler = amp.DynamicLossScaler(8, 2, 3)

    def step(x):
        return scaler.adjust(amp.all_finite((x, [x * 2])))
    run, scales = mode(step), []
    for value in (1, 1, 1, 1, np.inf, np.nan, np.inf, np.inf, np.inf, 1, 1, 1):
        assert run(Tensor(np.array([value, 1.0], np.float32)))
        scales.append(float(scaler.scale_value))
    assert scales == [8, 8, 16, 16, 8, 4, 2, 1, 1, 1, 1, 2] and int(scaler.counter) == 0


@pytest.mark.parametrize("mode", MODES, ids=["eager", "jit"])
def test_scaling_keeps_structure_and_dtypes(mode):
    scaler = amp.StaticLossScaler(2 ** 10)
    grads = (Tensor([1.5, 1.0], ms.float16), [Tensor([2.0], ms.float32)])
    half, (single,) = mode(scaler.unscale)(grads)
    assert half.dtype is ms.float16 and single.dtype is ms.float32
    np.testing.assert_array_equal(half.asnumpy(), np.array([1.5, 1], np.float16) / 1024)
    np.testing.assert_array_equal(mode(scaler.scale)(single).asnumpy(), [2.0])
    assert scaler.adjust(True) is False
