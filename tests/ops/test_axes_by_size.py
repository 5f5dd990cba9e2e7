"""An axis that is found by its size is found anew where another axis comes to have that size."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops


@pytest.mark.parametrize("make", [lambda f: f, lambda f: ms.jit(f, fullgraph=True),
                                  lambda f: ms.jit(f, fullgraph=True, dynamic=1)],
                         ids=["eager", "jit", "dynamic"])
def test_the_vector_product_is_along_the_first_axis_of_size_three(make):
    call, draw = make(lambda x, y: ops.cross(x, y)), np.random.default_rng(2)
    for shape in [(5, 3), (7, 3), (9, 3), (3, 3), (11, 3), (3, 5), (3, 3), (3, 4), (2, 6, 3), (2, 8, 3), (2, 3, 3)]:
        x, y = (draw.standard_normal(shape).astype(np.float32) for _ in range(2))
        want = np.cross(x, y, axis=shape.index(3))
        np.testing.assert_allclose(call(Tensor(x), Tensor(y)).asnumpy(), want, rtol=1e-5, atol=1e-6, err_msg=str(shape))
