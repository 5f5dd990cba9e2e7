"""Products that are added where the other summand lies: the same values, no temporary, and nobody else's memory."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.debug import ir

rng = np.random.default_rng(0)


def tensor(*shape):
    return Tensor(rng.standard_normal(shape).astype(np.float32))


def close(found, expected):
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-5)


def count(function, operator="matmul_add("):
    return ir(function, "fuse", source=False).count(operator)


def test_a_sum_of_products_is_one_memory_that_the_products_are_added_to():
    def layer(x, h, w, u, v):
        return ops.tanh(x @ w + h @ u + x @ v)
    compiled, args = ms.jit(layer), (tensor(4, 8), tensor(4, 5), tensor(8, 6), tensor(5, 6), tensor(8, 6))
    close(compiled(*args), layer(*args))
    assert count(compiled) == 2


def test_a_product_that_is_read_elsewhere_keeps_its_memory():
    def twice(x, w, u):
        first = x @ w
        return ops.tanh(first + x @ u) * first
    compiled, args = ms.jit(twice), (tensor(4, 8), tensor(8, 6), tensor(8, 6))
    close(compiled(*args), twice(*args))
    assert ms.jit(lambda x, w: ops.tanh(x @ w + x @ w))(*args[:2]).shape == (4, 6)


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
def test_the_gradient_of_a_weight_in_a_loop_is_added_up_in_place(turns):
    def loss(w, x, turns):
        state, i = x * 0, 0
        while i < turns:
            state, i = ops.tanh(state @ w + x), i + 1
        return (state * state).sum()
    gradient = ms.grad(loss)
    compiled, w, x = ms.jit(gradient), tensor(6, 6) * 0.2, tensor(3, 6)
    close(compiled(w, x, turns), gradient(w, x, turns))
    if turns > 2:
        close(compiled(w, x, turns - 1), gradient(w, x, turns - 1))
        assert count(compiled) == 1


def test_what_the_sum_of_a_loop_starts_with_stays_as_it_is():
    def add_up(total, x, turns):
        i = 0
        while i < turns:
            total, x, i = total + x.T @ x, x * 0.5, i + 1
        return total
    compiled, total, x = ms.jit(add_up), tensor(6, 6), tensor(3, 6)
    before = total.asnumpy().copy()
    for turns in (0, 3, 5):
        close(compiled(total, x, turns), add_up(total, x, turns))
    np.testing.assert_array_equal(total.asnumpy(), before)
    assert count(compiled) == 1


def test_a_sum_that_the_loop_reads_has_two_memories():
    def grows(total, x):
        while total.sum() < 100:
            total, x = total + x.T @ x, x + total[:3]
        return total, x
    compiled, total, x = ms.jit(grows), Tensor(np.ones((4, 4), np.float32)), Tensor(np.ones((3, 4), np.float32))
    for found, expected in zip(compiled(total, x), grows(total, x)):
        close(found, expected)
    assert count(compiled) == 0


def test_one_kernel_per_operator_where_nothing_is_to_be_fused():
    compiled = ms.jit(lambda x, w, u: ops.tanh(x @ w + x @ u), jit_level="O0")
    compiled(tensor(4, 8), tensor(8, 6), tensor(8, 6))
    assert count(compiled) == 0
