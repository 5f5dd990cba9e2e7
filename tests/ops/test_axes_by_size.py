"""An axis that is found by its size is found anew where another axis comes to have that size."""
import numpy as np
import pytest

import mindlite as ms
import mindlite.numpy as mnp
from mindlite import Tensor, mint, ops

MODES = pytest.mark.parametrize("make", [lambda f: f, lambda f: ms.jit(f, fullgraph=True),
                                         lambda f: ms.jit(f, fullgraph=True, dynamic=1)], ids=["eager", "jit", "dynamic"])


@MODES
def test_the_vector_product_is_along_the_first_axis_of_size_three(make):
    call, draw = make(lambda x, y: ops.cross(x, y)), np.random.default_rng(2)
    for shape in [(5, 3), (7, 3), (9, 3), (3, 3), (11, 3), (3, 5), (3, 3), (3, 4), (2, 6, 3), (2, 8, 3), (2, 3, 3)]:
        x, y = (draw.standard_normal(shape).astype(np.float32) for _ in range(2))
        want = np.cross(x, y, axis=shape.index(3))
        np.testing.assert_allclose(call(Tensor(x), Tensor(y)).asnumpy(), want, rtol=1e-5, atol=1e-6, err_msg=str(shape))


@MODES
@pytest.mark.parametrize("function, reference", [
    (ops.squeeze, np.squeeze),
    (lambda x: mint.squeeze(x, 0), lambda x: x[0] if len(x) == 1 else x),
    (lambda x: mnp.cov(x), np.cov),
    (lambda x: x.sum_to_size(1, 4), lambda x: x.sum(0, keepdims=True)),
], ids=["squeeze", "mint.squeeze", "cov", "sum_to_size"])
def test_an_axis_that_comes_to_have_size_one_is_treated_as_such(make, function, reference):
    call, draw = make(lambda x: function(x)), np.random.default_rng(3)
    for n in (3, 5, 6, 1, 7):
        x = draw.standard_normal((n, 4)).astype(np.float32)
        want, got = reference(x), call(Tensor(x)).asnumpy()
        assert got.shape == want.shape, n
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
