"""Products that are added where the other summand lies: the same values, no temporary, and nobody else's memory."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.compile.flow import Copy, walk
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


@pytest.mark.parametrize("iterations", [0, 1, 2, 7])
def test_the_gradient_of_a_weight_in_a_loop_is_added_up_in_place(iterations):
    def loss(w, x, iterations):
        state, i = x * 0, 0
        while i < iterations:
            state, i = ops.tanh(state @ w + x), i + 1
        return (state * state).sum()
    gradient = ms.grad(loss)
    compiled, w, x = ms.jit(gradient), tensor(6, 6) * 0.2, tensor(3, 6)
    close(compiled(w, x, iterations), gradient(w, x, iterations))
    if iterations > 2:
        close(compiled(w, x, iterations - 1), gradient(w, x, iterations - 1))
        assert count(compiled) == 1


def test_what_the_sum_of_a_loop_starts_with_stays_as_it_is():
    def add_up(total, x, iterations):
        i = 0
        while i < iterations:
            total, x, i = total + x.T @ x, x * 0.5, i + 1
        return total
    compiled, total, x = ms.jit(add_up), tensor(6, 6), tensor(3, 6)
    before = total.asnumpy().copy()
    for iterations in (0, 3, 5):
        close(compiled(total, x, iterations), add_up(total, x, iterations))
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


def same(function, *args):
    """The compiled function, which gives what the function gives."""
    compiled = ms.jit(function)
    found, expected = compiled(*args), function(*args)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected))):
        close(a, b)
    return compiled


def test_a_loop_writes_a_row_of_what_it_carries_in_place():
    def rows(x):
        out = ops.zeros((50, 4))
        out[0] = x
        for t in range(1, 50):
            out[t] = ops.tanh(out[t - 1] * 1.5)
        return out
    assert count(same(rows, tensor(4)), "write_slice(") == 1
    assert count(same(ms.grad(lambda x: rows(x).sum()), tensor(4)), "write_slice(") == 1     # forward; the reverse reads


def test_rows_may_be_counted_from_the_end_and_read_again():
    def rows(x):
        out, total = ops.zeros((50, 4)), x * 0
        for t in range(50):
            out[-1 - t] = x + t
            total = total + out[t] + out.sum()
        return out, total
    assert count(same(rows, tensor(4)), "write_slice(") == 1


def test_what_still_needs_the_old_rows_gets_a_memory_of_its_own():
    def all_of_them(x):
        out = ops.zeros((50, 4))
        for t in range(50):
            old = out + 1
            out[t] = x + t
            x = x + old.sum() * 0.01
        return out, x

    def the_last_ones(x):
        out, before = ops.zeros((50, 4)), ops.zeros((50, 4))
        for t in range(50):
            before = out * 1
            out[t] = x + t
        return out, before

    def columns(x):
        out = ops.zeros((4, 50))
        for t in range(50):
            out[:, t] = x + t
        return out
    for function in (all_of_them, the_last_ones, columns):
        assert count(same(function, tensor(4)), "write_slice(") == 0


def test_the_gradient_of_a_row_that_a_loop_reads_is_added_to_the_row():
    def loss(xs, w):
        h = xs[0] * 0
        for t in range(40):
            h = ops.tanh(h @ w + xs[t])
        return (h * h).sum()
    assert count(same(ms.grad(loss, (0, 1)), tensor(40, 3, 4), tensor(4, 4)), "write_slice(") == 1


@pytest.mark.parametrize("first, last, offset", [(0, 40, 0), (2, 38, -1), (0, 39, 1)])
@pytest.mark.parametrize("batch_first", [False, True])
def test_what_a_loop_multiplies_row_by_row_is_one_product_before_it(first, last, offset, batch_first):
    def loss(xs, w, u):
        h = ops.zeros((3, 4))
        for t in range(first, last):
            x = xs[:, t + offset] if batch_first else xs[t + offset]
            h = ops.tanh(x @ w + h @ u)
        return (h * h).sum()
    xs = tensor(3, 40, 4) if batch_first else tensor(40, 3, 4)
    compiled = same(ms.grad(loss, (0, 1, 2)), xs, tensor(4, 4), tensor(4, 4))
    text = ir(compiled, "optimise", source=False)
    assert f"f32[{3 * (last - first)}, 4]" in text and text.count("batch_matmul(") == 6


def test_products_of_turns_that_are_not_known_stay_in_the_loop():
    def until(xs, w):
        h, t = ops.zeros((3, 4)), 0
        while h.sum() < 10 and t < 40:
            h, t = h + (xs[t] @ w) ** 2, t + 1
        return h
    compiled = same(until, tensor(40, 3, 4), tensor(4, 4))
    assert "f32[120, 4]" not in ir(compiled, "optimise", source=False)


READINGS = {"rows": lambda x, i, j: x[i].sum() + (x[j] * 2).sum() + (x * x).sum(),
            "elements": lambda x, i, j: ops.gather_elements(x, 0, i[:, None] + 0 * x[:4].astype(ms.int64)).sum() + (
                ops.gather_elements(x, 0, j[:, None] + 0 * x[:4].astype(ms.int64)) ** 2).sum(),
            "by positions": lambda x, i, j: (ops.gather_nd(x, i[:, None]) * ops.gather_nd(x, j[:, None])).sum(),
            "the same twice": lambda x, i, j: (x[i] * x[i]).sum() + x[j].sum()}


@pytest.mark.parametrize("rows", [1, 5, 300])
@pytest.mark.parametrize("reading", READINGS)
def test_the_gradient_of_a_table_that_is_read_twice_is_one_table(reading, rows):
    function = ms.grad(READINGS[reading])
    compiled, x = ms.jit(function, fullgraph=True), tensor(rows, 3)
    i, j = (Tensor(np.arange(k, k + 4) * 7 % rows) for k in (0, 5))
    close(compiled(x, i, j), function(x, i, j))
    lines = ir(compiled, "fuse", source=False).split("}")[0].split("\n")
    result = lines[-2].split()[-1]
    assert lines[-2].split() == ["return", result] and copies(compiled) == 0
    made = next(line for line in lines if line.strip().startswith(f"{result} ="))
    assert "index_add_axis(" in made or "scatter_" in made           # and no sum of two tables


def copies(compiled):
    """How many copies of memory the last compiled function makes."""
    return sum(isinstance(step, Copy) for step in walk(compiled.variants[-1].compiled.lowered.program.entry.body))


PUT = {"rows added": lambda x, i, u: ops.index_add(x, i, u, 0),
       "rows written": lambda x, i, u: ops.tensor_scatter_update(x, i[:, None], u),
       "the largest": lambda x, i, u: ops.tensor_scatter_max(x, i[:, None], u),
       "products": lambda x, i, u: ops.tensor_scatter_mul(x, i[:, None], u)}


@pytest.mark.parametrize("put", PUT)
def test_what_is_put_into_a_table_that_nothing_else_reads_is_put_where_it_lies(put):
    x, i, u = tensor(7, 3), Tensor(np.array([5, 0, 5])).astype(ms.int32), tensor(3, 3)
    before = x.asnumpy().copy()
    for function, expected in ((lambda x, i, u: PUT[put](x * 2, i, u), 0), (lambda x, i, u: PUT[put](x, i, u), 1),
                               (lambda x, i, u: PUT[put](x * 2, i, u) * ops.tanh(x * 2).sum(), 0),
                               (lambda x, i, u: ops.stack((PUT[put](ops.cumsum(x, 0), i, u), ops.cumsum(x, 0))), 1),
                               (lambda x, i, u: (lambda y: (PUT[put](y, i, u), y))(x * 2), 1),
                               (lambda x, i, u: (lambda y: PUT[put](ops.reshape(y, (7, 3)), i, u) + ops.reshape(y, (7, 3)))(
                                   ops.cumsum(x.reshape(-1), 0)), 1)):
        compiled = ms.jit(function, fullgraph=True)
        found, wanted = compiled(x, i, u), function(x, i, u)
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, wanted))):
            close(a, b)
        assert copies(compiled) == expected
        np.testing.assert_array_equal(x.asnumpy(), before)


def test_a_table_that_a_loop_reads_again_is_not_written_over():
    def passes(x, i, u, n):
        y, k = x * 2, 0
        total = y * 0
        while k < n:
            total, k = total + ops.index_add(y, i, u, 0), k + 1
        return total
    x, i, u = tensor(7, 3), Tensor(np.array([5, 0, 5])), tensor(3, 3)
    compiled = ms.jit(passes, fullgraph=True)
    for n in (3, 0):
        close(compiled(x, i, u, n), passes(x, i, u, n))
