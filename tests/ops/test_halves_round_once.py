"""Functions of halves compute in float32 and round once: the result is the half next to the true value, in both modes."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

_rng = np.random.default_rng(3)
ANY = _rng.normal(0, 2, (10, 40)).astype(np.float16)
OTHER = _rng.normal(0, 2, (10, 40)).astype(np.float16)
PART = _rng.uniform(0.02, 0.98, (10, 40)).astype(np.float16)
FUNCTIONS = {
    **{name: getattr(ops, name) for name in (
        "silu mish gelu softplus logsigmoid sigmoid hardsigmoid hardswish softsign tanhshrink fast_gelu selu celu elu "
        "sinc deg2rad rad2deg exp tanh glu swiglu".split())},
    "softmax": lambda x: ops.softmax(x, -1), "log_softmax": lambda x: ops.log_softmax(x, -1),
    "logaddexp2": lambda x: ops.logaddexp2(x, Tensor(np.abs(OTHER) + 1).astype(x.dtype)),
    "lerp": lambda x: ops.lerp(x, Tensor(OTHER).astype(x.dtype), 0.3),
    "with logits": lambda x: ops.binary_cross_entropy_with_logits(x, ops.sigmoid(Tensor(PART)).astype(x.dtype), reduction="none"),
}
FUNCTIONS_OF_PARTS = {"logit": ops.logit, "rsqrt": ops.rsqrt, "log1p": ops.log1p,
                      "xlogy": lambda x: ops.xlogy(Tensor(OTHER).astype(x.dtype), x)}


def steps_apart(got, wanted):
    """How many units in the last place of a half `got` is from `wanted`."""
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(wanted), 2.0 ** -14))) - 10)
    return np.max(np.abs(got.astype(np.float64) - wanted) / unit)


@pytest.mark.parametrize("name", [*FUNCTIONS, *FUNCTIONS_OF_PARTS])
def test_a_half_is_the_one_next_to_the_true_value(name):
    function, x = (FUNCTIONS[name], ANY) if name in FUNCTIONS else (FUNCTIONS_OF_PARTS[name], PART)
    wanted = function(Tensor(x.astype(np.float64))).asnumpy()
    for way in (function, ms.jit(function, fullgraph=True)):
        got = way(Tensor(x)).asnumpy()
        assert got.dtype == np.float16
        assert steps_apart(got, wanted) < 0.75


@pytest.mark.parametrize("mode, axes", [("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3), ("area", 2)])
@pytest.mark.parametrize("way", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_halves_between_points_round_once(mode, axes, way):
    x = ANY.reshape(-1)[:5 ** axes].reshape(1, 1, *[5] * axes)
    resized = way(lambda x: ops.interpolate(x, size=(7,) * axes, mode=mode))
    wanted = resized(Tensor(x.astype(np.float32))).asnumpy()
    assert steps_apart(resized(Tensor(x)).asnumpy(), wanted.astype(np.float64)) < 0.52


def test_brain_floats_round_once_too():
    x = Tensor(np.float32([[0.01, 0.02, -0.03]])).astype(ms.bfloat16)
    got = ops.tanhshrink(x)
    assert got.dtype == ms.bfloat16
    exact = ops.tanhshrink(x.astype(ms.float32)).asnumpy()
    np.testing.assert_allclose(got.astype(ms.float32).asnumpy(), exact, rtol=2.0 ** -8)


def test_the_slope_of_softmax_rounds_once():
    def slope(x):
        return ms.grad(lambda x: ops.softmax(x, -1)[:, 0].sum())(x)
    wanted = slope(Tensor(ANY.astype(np.float64))).asnumpy()
    got = slope(Tensor(ANY)).asnumpy()
    np.testing.assert_allclose(got, wanted, rtol=3e-3, atol=1e-5)


@pytest.mark.parametrize("dtype, unit", [(ms.float16, 2.0 ** -11), (ms.bfloat16, 2.0 ** -8)], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sigmoid", "tanh", "expm1", "elu"])
def test_the_slope_near_saturation_is_not_that_of_the_rounded_result(name, dtype, unit):
    x = Tensor(np.array([-9, -8, -6, -4, -1, 0.5, 3, 5, 7], np.float32)).astype(dtype)
    function, factor = getattr(ops, name), 16.0                  # no slope is a subnormal half
    wanted = ms.grad(lambda x: function(x).sum())(x.astype(ms.float64)).asnumpy() * factor
    for way in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
        slope = way(ms.grad(lambda x: (function(x) * factor).sum()))(x)
        assert slope.dtype == dtype
        np.testing.assert_allclose(slope.astype(ms.float64).asnumpy(), wanted, rtol=4 * unit, atol=1e-5)
