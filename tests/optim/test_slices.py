"""Gradients of slices that fill a tensor: one concatenation, and the same values."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.ops.slicing import pad_slice
from mindlite.ops.structure import concatenate
from mindlite.optim.slices import join_slices
from passes import check_pass, f32, i64

ZERO = np.zeros((), np.float32)


def put(x, shape, start, value=0, step=(1, 1)):
    return pad_slice(x, shape=shape, start=start, step=step, value=value)


def test_slices_in_any_order_become_one_concatenation():
    check_pass(join_slices, lambda a, b, c: (put(b, (4, 9), (0, 2)) + put(c, (4, 9), (0, 5))) + put(a, (4, 9), (0, 0)),
               lambda a, b, c: concatenate(a, b, c, axis=1) + ZERO, f32(4, 2), f32(4, 3), f32(4, 4))


def test_integers_need_no_zero():
    check_pass(join_slices, lambda a, b: put(a, (5, 2), (0, 0)) + put(b, (5, 2), (3, 0)), lambda a, b: concatenate(a, b, axis=0),
               i64(3, 2), i64(2, 2))


@pytest.mark.parametrize("second", [
    lambda b: put(b, (4, 9), (0, 3)), lambda b: put(b, (4, 9), (0, 1)), lambda b: put(b, (4, 9), (0, 2), value=1),
    lambda b: put(b, (4, 9), (0, 2), step=(1, 2)), lambda b: ops.tanh(put(b, (4, 9), (0, 2)))],
    ids=["a gap", "an overlap", "no zeros", "steps", "something else"])
def test_other_sums_stay(second):
    before = lambda a, b: put(a, (4, 9), (0, 0)) + second(b)  # noqa: E731
    check_pass(join_slices, before, before, f32(4, 2), f32(4, 4))


def test_a_part_of_the_sum_that_something_else_reads_stays():
    def before(a, b, c):
        two = put(a, (4, 9), (0, 0)) + put(b, (4, 9), (0, 2))
        return two + put(c, (4, 9), (0, 5)), ops.tanh(two)
    check_pass(join_slices, before, before, f32(4, 2), f32(4, 3), f32(4, 4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_are_those_of_eager_mode_and_signs_of_zeros_stay(dtype):
    def f(x, w):
        q, k, v = x[:, :3], x[:, 3:7], x[:, 7:]
        return (q * w[0]).sum() + (k * k * w[1]).sum() + (v * v).sum()
    x = Tensor(np.random.default_rng(0).standard_normal((5, 9)).astype(dtype))
    w = Tensor(np.array([-0.0, 1.5], dtype))
    want, found = ms.grad(f)(x, w), ms.jit(ms.grad(f), fullgraph=True)(x, w)
    np.testing.assert_array_equal(found.asnumpy(), want.asnumpy())
    assert not np.signbit(found.asnumpy()[:, :3]).any() and not np.signbit(want.asnumpy()[:, :3]).any()


def test_one_compiled_function_serves_all_lengths():
    f = ms.jit(ms.grad(lambda x: ops.tanh(x[:, :2]).sum() + (x[:, 2:] ** 2).sum()), dynamic=True)
    for rows in (3, 1, 8):
        x = np.random.default_rng(rows).standard_normal((rows, 6)).astype(np.float32)
        want = np.concatenate([1 - np.tanh(x[:, :2]) ** 2, 2 * x[:, 2:]], 1)
        np.testing.assert_allclose(f(Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)
    assert len(f.variants) == 1
