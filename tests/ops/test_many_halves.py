"""Halves in numbers that a half cannot count: means, moments, norms and losses over more than 65504 elements."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

COUNT = 80_000
FUNCTIONS = {
    "mean": lambda x: ops.mean(x), "var": lambda x: ops.var(x), "std": lambda x: ops.std(x), "norm": lambda x: ops.norm(x),
    "global pooling": lambda x: ops.adaptive_avg_pool2d(x.reshape(1, 200, 400), 1).sum(),
    "mse_loss": lambda x: ops.mse_loss(x, x * 0.5), "l1_loss": lambda x: ops.l1_loss(x, x * 0.5),
    "smooth_l1_loss": lambda x: ops.smooth_l1_loss(x, x * 0.5, reduction="mean"),
    "huber_loss": lambda x: ops.huber_loss(x, x * 0.5),
    "binary_cross_entropy_with_logits": lambda x: ops.binary_cross_entropy_with_logits(
        x, ops.zeros_like(x), ops.ones_like(x), ops.ones_like(x)),
    "cross_entropy": lambda x: ops.cross_entropy(x.reshape(-1, 1).expand((-1, 2)) * Tensor(np.array([1, -1], np.float16)),
                                                 Tensor(np.arange(COUNT) % 2)),
}


@pytest.mark.parametrize("way", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mean_of_many_halves_is_that_of_floats(name, way):
    function = FUNCTIONS[name]
    x = np.random.RandomState(2).randn(COUNT).astype(np.float16)
    got, wanted = (way(function)(Tensor(part)).asnumpy() for part in (x, x.astype(np.float32)))
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, wanted, rtol=3e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["mean", "mse_loss", "binary_cross_entropy_with_logits", "cross_entropy", "global pooling"])
def test_its_gradient_is_no_zero(name):
    x = np.random.RandomState(2).randn(COUNT).astype(np.float16)

    def scaled(x):                                       # as a loss scale does: the gradient of an element is no subnormal half
        return FUNCTIONS[name](x) * 1000
    got, wanted = (ms.jit(ms.grad(scaled), fullgraph=True)(Tensor(part)).asnumpy() for part in (x, x.astype(np.float32)))
    assert np.abs(got).max() > 0
    np.testing.assert_allclose(got, wanted, rtol=2e-2, atol=2e-5)
