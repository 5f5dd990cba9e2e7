"""First and second derivatives of whole functions over many operators, against central differences in float64."""
import numpy as np
import pytest

from mindlite import Tensor, grad, jit, ops
from mindlite.ad import vjp_graph
from mindlite.common import dtype as dt
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.evaluate import run

FUNCTIONS = {
    "attention": lambda x: ops.scaled_dot_product_attention(x, x, x, is_causal=True).sum(),
    "layer_norm": lambda x: (ops.layer_norm(x, (4,)) ** 2 * x[:, 0][:, None]).sum(),
    "batch_norm": lambda x: (ops.batch_norm_train(x, np.ones(4), np.zeros(4))[0] ** 3).sum(),
    "batch moments": lambda x: (ops.batch_norm_train(x, None, None)[1] * ops.batch_norm_train(x, None, None)[2]).sum(),
    "group_norm": lambda x: (ops.group_norm(x[:, :, None], 2) ** 3).sum(),
    "rms_norm": lambda x: (ops.rms_norm(x, np.arange(4.0))[0] ** 2 * x).sum(),
    "cross_entropy": lambda x: ops.cross_entropy(x, np.array([0, 1, 3]), np.arange(1.0, 5.0), label_smoothing=0.1),
    "cosine_similarity": lambda x: ops.cosine_similarity(x, x[:, ::-1]).sum(),
    "huber_loss": lambda x: ops.huber_loss(x, np.zeros((3, 4)), delta=0.5),
    "bce_with_logits": lambda x: ops.binary_cross_entropy_with_logits(x, np.full((3, 4), 0.3)),
    "conv and pool": lambda x: (ops.max_pool2d(ops.conv2d(ops.reshape(x, (1, 1, 3, 4)), np.ones((2, 1, 2, 2)),
                                                          pad_mode="same"), 2) ** 2).sum(),
    "conv of itself": lambda x: (ops.conv2d(ops.reshape(x, (1, 1, 3, 4)),
                                            ops.reshape(x[:2, :2], (1, 1, 2, 2))) ** 2).sum(),
    "adaptive pool": lambda x: (ops.adaptive_avg_pool2d(ops.reshape(x, (1, 1, 3, 4)), (2, 3)) ** 2).sum(),
    "einsum": lambda x: ops.einsum("ij,kj->ik", x, x * x).sum(),
    "indices": lambda x: (x[::-1, [0, 2]] * x[:, 1:3]).sum() + ops.setitem(x, (0, slice(None)), x[1])[0, 2] ** 2,
    "padding": lambda x: (ops.pad(x, (1, 2), mode="reflect") ** 2).sum() + ops.roll(x, 1, 0)[0, 0] ** 3,
    "embedding": lambda x: (ops.embedding(np.array([1, 1, 0]), x) ** 2).sum(),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients_and_their_gradients_are_those_of_central_differences(function):
    rng = np.random.default_rng(1)
    x, direction, other = (rng.standard_normal((3, 4)) for _ in range(3))
    value = typed(function, AbstractTensor(dt.float64, (3, 4)))
    first = vjp_graph(value, (0,), (0,))
    second = vjp_graph(first, (0,), (1,))

    def gradient(at):
        return run(first, at, np.array(1.0))[-1]

    def central(f):
        return (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6

    np.testing.assert_allclose((gradient(x) * direction).sum(), central(lambda at: run(value, at)[0]), rtol=1e-5,
                               atol=1e-6)
    product = run(second, x, np.array(1.0), other)[-1]
    np.testing.assert_allclose((product * direction).sum(), central(lambda at: (gradient(at) * other).sum()), rtol=1e-4,
                               atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_slope_of_a_remainder_by_its_divisor_is_a_whole_number_that_no_rounding_lowers(dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0.3, 3, 20000).astype(dtype) for _ in range(2))
    x[:10000] *= rng.choice([-1, 1], 10000)
    for function, want in ((ops.fmod, np.trunc), (ops.remainder, np.floor)):
        for transform in (lambda f: f, jit):
            got = transform(grad(lambda x, y: function(x, y).sum(), 1))(Tensor(x), Tensor(y)).asnumpy()
            rest = np.fmod(x, y) if function is ops.fmod else np.remainder(x, y)
            exact = want((x.astype(np.longdouble) - rest) / y + np.sign(x) * (np.longdouble(0.5)) if function is ops.fmod
                         else (x.astype(np.longdouble) - rest) / y + np.longdouble(0.5))
            np.testing.assert_array_equal(got, -exact.astype(dtype))
