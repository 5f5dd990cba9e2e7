"""mint's layers compute as nn's do; their arguments and parameters are called weight and bias."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.errors import ValueRangeError
from mindlite.common.initializer import One
from mindlite.mindspore import mint

X = Tensor(np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32))


def test_group_norm_has_weight_and_bias():
    ours, theirs = nn.GroupNorm(2, 4), mint.nn.GroupNorm(2, 4)
    ours.gamma.set_data(Tensor([1.0, 2.0, 3.0, 4.0]))
    theirs.weight.set_data(Tensor([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(theirs(X).asnumpy(), ours(X).asnumpy(), rtol=1e-6)
    assert [p.name for p in theirs.trainable_params()] == ["weight", "bias"]
    assert mint.nn.GroupNorm(2, 4, affine=False).trainable_params() == []
    with pytest.raises(ValueRangeError):
        mint.nn.GroupNorm(3, 4)


def test_layer_norm_takes_a_size_or_sizes():
    np.testing.assert_allclose(mint.nn.LayerNorm(3)(X).asnumpy(), nn.LayerNorm((3,), epsilon=1e-5)(X).asnumpy(),
                               rtol=1e-5)
    both = mint.nn.LayerNorm((4, 3), bias=False)
    assert both.weight.shape == (4, 3) and both.bias is None and both(X).shape == X.shape


def test_linear_takes_bias_third():
    assert mint.nn.Linear(3, 5, False).bias is None and mint.nn.Linear(3, 5)(X).shape == (2, 4, 5)


def test_a_tensor_that_promises_its_data_is_an_argument():
    f = ms.jit(lambda x: x * 2)
    assert f(Tensor(shape=(1, 3), dtype=ms.float32, init=One())).tolist() == [[2, 2, 2]]
