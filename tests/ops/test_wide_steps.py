"""What memory is read at: gradients of slices with wide steps, and elements of reshaped tensors at indices of the run."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, debug, ops


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


@pytest.mark.parametrize("of", [lambda dw: ops.tanh(dw) * 3, lambda dw: (ops.tanh(dw).sum(0), dw[::2, 1:])], ids=["all", "parts"])
def test_a_reshape_between_sizes_that_are_known_to_fit_when_it_runs(of):
    draw = np.random.default_rng(0)
    w = Parameter(Tensor(draw.normal(size=(6, 5)).astype(np.float32)), name="w")

    def step(x):                                             # the gradient is [6, n] for an open n, which is the 5 of w
        (dw,) = ms.value_and_grad(lambda x: (x @ ops.transpose(w, (1, 0)) ** 2).sum(), None, [w])(x)[1]
        return of(dw)

    jitted = ms.jit(step, dynamic=1, fullgraph=True)
    for n in 1, 3:
        x = Tensor(draw.normal(size=(n, 5)).astype(np.float32))
        found, wanted = (made if isinstance(made, tuple) else (made,) for made in (jitted(x), step(x)))
        for one, other in zip(found, wanted):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)
