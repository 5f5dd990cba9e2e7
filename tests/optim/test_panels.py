"""Fixed matrices that loops multiply by: put in panels once, and the same products as before."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.cpu.tile import tile_shape
from mindlite.backend.target import current
from mindlite.common import dtype as dtypes
from mindlite.debug import ir


def tensor(*shape, seed=0, dtype=np.float32):
    return Tensor((np.random.default_rng(seed).standard_normal(shape) * 0.1).astype(dtype))


def close(found, expected):
    """Equal but for rounding: a dozen iterations carry the last bit of a product on and make it larger."""
    tolerance = 3e-5 if found.dtype == ms.float32 else 1e-12
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=tolerance, atol=tolerance)


def panels_in(compiled):
    """How many products of a compiled function are with panels."""
    return ir(compiled, "fuse", source=False).count("panel_matmul(")


def walk(h, w, back, iterations):
    i = 0
    while i < iterations:
        h, i = ops.tanh(ops.tanh(h @ w) @ back.T) + h, i + 1
    return h


@pytest.mark.parametrize("rows, k, n", [(2, 100, 100), (16, 33, 250), (7, 300, 49), (33, 70, 128), (100, 64, 72)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loop_multiplies_by_panels_of_what_it_does_not_change(rows, k, n, dtype):
    args = tensor(rows, k, dtype=dtype), tensor(k, n, seed=1, dtype=dtype), tensor(k, n, seed=2, dtype=dtype)
    compiled = ms.jit(walk)
    for iterations in (0, 1, 9, 12):
        close(compiled(*args, iterations), walk(*args, iterations))
    pays = k * n * dtype().itemsize > 16384
    assert panels_in(compiled) == sum(pays and columns > tile_shape(dtypes.dtype(dtype), current()).columns for columns in (n, k))


def test_leading_axes_are_more_rows():
    def function(h, w):
        for _ in range(20):
            h = ops.tanh(h @ w)
        return h
    compiled, args = ms.jit(function), (tensor(2, 3, 80), tensor(80, 80, seed=1))
    close(compiled(*args), function(*args))
    assert panels_in(compiled) == 1


def test_gradients_multiply_by_panels_of_the_transposed_matrix():
    def loss(h, w):
        for _ in range(40):
            h = ops.tanh(h @ w)
        return (h * h).sum()
    gradient = ms.value_and_grad(loss, (0, 1))
    compiled, args = ms.jit(gradient), (tensor(5, 96), tensor(96, 96, seed=1))
    value, found = compiled(*args)
    expected, gradients = gradient(*args)
    close(value, expected)
    for one, other in zip(found, gradients):
        close(one, other)
    assert panels_in(compiled) == 2


@pytest.mark.parametrize("rows, iterations", [(1, 20), (200, 20), (16, 5)])
def test_one_row_many_rows_and_few_turns_read_the_matrix_as_it_lies(rows, iterations):
    def function(h, w):
        for _ in range(iterations):
            h = ops.tanh(h @ w)
        return h
    compiled, args = ms.jit(function), (tensor(rows, 80), tensor(80, 80, seed=1))
    close(compiled(*args), function(*args))
    assert panels_in(compiled) == 0


def test_a_matrix_that_changes_is_not_put_in_panels():
    def function(h, w):
        for _ in range(20):
            h, w = ops.tanh(h @ w), w * 0.99
        return h
    compiled, args = ms.jit(function), (tensor(16, 80), tensor(80, 80, seed=1))
    close(compiled(*args), function(*args))
    assert panels_in(compiled) == 0


def test_one_operator_a_kernel_leaves_products_as_they_are():
    compiled = ms.jit(walk, jit_level="O0")
    compiled(tensor(16, 80), tensor(80, 80, seed=1), tensor(80, 80, seed=2), 9)
    assert panels_in(compiled) == 0
