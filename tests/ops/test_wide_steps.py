"""What memory is read at: gradients of slices with wide steps, and elements of reshaped tensors at indices of the run."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, debug, ops


@pytest.mark.parametrize("mode", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
@pytest.mark.parametrize("slices", [np.s_[:, ::70], np.s_[1:, 200:3:-90], np.s_[::2, 5:10:64], np.s_[0, 7::150]])
def test_the_gradient_of_a_slice_with_a_wide_step(slices, mode):
    x = np.random.default_rng(0).normal(size=(3, 201))
    wanted = np.zeros_like(x)
    wanted[slices] = 2 * x[slices]
    gradient = mode(ms.grad(lambda x: (x[slices] ** 2).sum()))
    np.testing.assert_allclose(gradient(Tensor(x)).asnumpy(), wanted)
    second = mode(ms.grad(lambda x: (ms.grad(lambda x: (x[slices] ** 3).sum())(x) ** 2).sum()))
    wanted[slices] = 36 * x[slices] ** 3
    np.testing.assert_allclose(second(Tensor(x)).asnumpy(), wanted)


def test_the_gradient_of_a_diagonal_divides_no_index():
    x = Tensor(np.zeros((100, 120), np.float32))
    gradient = ms.jit(ms.grad(lambda x: ops.diagonal(x).sum()), fullgraph=True)
    np.testing.assert_array_equal(gradient(x).asnumpy(), np.eye(100, 120))
    assert "% 121" not in debug.kernel(gradient) and "pad_slice" not in debug.kernel(gradient)


def test_axes_that_a_reshape_leaves_have_their_own_index():
    x, i = Tensor(np.arange(2 * 5 * 4 * 3.0).reshape(2, 5, 4, 3)), Tensor(np.array([[[11, 0, 7]] * 5] * 2))
    read = ms.jit(lambda x, i: ops.gather_elements(ops.reshape(x, (2, 5, 12)), 2, i), fullgraph=True)
    np.testing.assert_array_equal(read(x, i).asnumpy(), x.asnumpy().reshape(2, 5, 12)[:, :, [11, 0, 7]])
    assert "% 5" not in debug.kernel(read) and "// 5" not in debug.kernel(read)
