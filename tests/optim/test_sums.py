"""What a loop adds up: sums of products, rows of gradients, numbers that only count."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.debug import ir


def tensor(*shape, seed=0):
    return Tensor((np.random.default_rng(seed).standard_normal(shape) * 0.1).astype(np.float32))


def same(function, *args):
    """The compiled function, which gives what the function gives."""
    compiled = ms.jit(function)
    for found, expected in zip(flat(compiled(*args)), flat(function(*args)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    return compiled


def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [value.asnumpy() if isinstance(value, Tensor) else value]


def in_loops(compiled, operator, stage="optimise"):
    """How often an operator stands in the graphs of loops of a compiled function."""
    return sum(part.count(f" {operator}(") for part in ir(compiled, stage, source=False).split("\ngraph ")[1:])


def walk(w, xs, first=0, iterations=40):
    h = xs[0] * 0
    for t in range(first, first + iterations):
        h = ops.tanh(h @ w + xs[t])
    return (h * h).sum()


@pytest.mark.parametrize("first, count", [(0, 40), (3, 45)])
def test_the_way_back_through_a_loop_of_known_length_counts_in_a_number(first, count):
    gradient = ms.value_and_grad(lambda w, xs: walk(w, xs, first), (0, 1))
    compiled = same(gradient, tensor(48, 48), tensor(count, 5, 48, seed=1))
    assert in_loops(compiled, "greater") == 0 < in_loops(compiled, "scalar_compare")


def test_the_gradients_of_both_weights_are_as_in_python():
    def loss(w, u, xs):
        h = xs[0] * 0
        for t in range(40):
            h = ops.tanh(h @ w + xs[t] @ u)
        return (h * h).sum()
    same(ms.grad(loss, (0, 1)), tensor(48, 48), tensor(48, 48, seed=1), tensor(40, 5, 48, seed=2))


def test_an_unknown_number_of_turns_is_as_in_python():
    def loss(w, x, iterations):
        h, i = x * 0, 0
        while i < iterations:
            h, i = ops.tanh(h @ w + x), i + 1
        return (h * h).sum()
    gradient = ms.grad(loss)
    compiled, w, x = ms.jit(gradient), tensor(48, 48), tensor(5, 48, seed=1)
    for iterations in (0, 1, 30, 31):
        np.testing.assert_allclose(compiled(w, x, iterations).asnumpy(), gradient(w, x, iterations).asnumpy(), rtol=1e-5,
                                   atol=1e-5)


def test_what_the_total_starts_with_is_added():
    def add_up(total, xs, ys):
        for t in range(40):
            total = total + xs[t].T @ ops.tanh(ys[t])
        return total
    total = tensor(48, 40)
    before = total.asnumpy().copy()
    same(add_up, total, tensor(40, 5, 48, seed=1), tensor(40, 5, 40, seed=2))
    np.testing.assert_array_equal(total.asnumpy(), before)


def test_a_total_that_the_loop_reads_is_as_in_python():
    def grows(total, xs):
        for t in range(40):
            total = total + xs[t].T @ (xs[t] * total[0])
        return total
    same(grows, tensor(48, 48), tensor(40, 5, 48, seed=1))


def test_minus_zero_in_a_row_of_a_gradient_becomes_zero():
    def loss(w, xs):
        h = xs[0] * 0
        for t in range(40):
            h = ops.tanh(h @ w + xs[t] * -0.0)
        return (h * h).sum()
    gradient, args = ms.grad(loss, 1), (tensor(6, 6), tensor(40, 3, 6, seed=1))
    compiled = same(gradient, *args)
    np.testing.assert_array_equal(np.signbit(compiled(*args).asnumpy()), np.signbit(gradient(*args).asnumpy()))


def test_rows_that_not_every_turn_writes_keep_their_zeros():
    same(ms.grad(lambda xs, w: walk(w, xs, 3), 0), tensor(45, 3, 6), tensor(6, 6))


def test_a_loop_in_a_loop_is_as_in_python():
    def loss(w, xs):
        total = 0.0
        for _ in range(12):
            h = xs[0] * 0
            for t in range(40):
                h = ops.tanh(h @ w + xs[t])
            total, w = total + (h * h).sum(), w * 0.9
        return total
    same(ms.grad(loss, (0, 1)), tensor(48, 48), tensor(40, 5, 48, seed=1))


def test_second_derivatives_are_as_in_python():
    def slope(w, xs):
        return (ms.grad(walk)(w, xs) ** 2).sum()
    same(ms.grad(slope), tensor(48, 48), tensor(40, 3, 48, seed=1))


def test_numbers_that_only_count_are_known_behind_the_loop():
    def function(x):
        i, j, k = 0, 5, 1
        while i < 40:
            x, i, j, k = ops.tanh(x @ x), i + 1, j - 3, k * 2 % 7
        return x, i, j, k
    compiled = same(function, tensor(4, 4))
    assert compiled(tensor(4, 4))[1:3] == (40, -115)
    assert "(-115 : int)" in ir(compiled, source=False)


def test_a_loop_that_may_end_early_counts_as_it_goes():
    def function(x):
        count = 0
        for t in range(40):
            if x.sum() > 3:
                break
            x, count = x + 0.5, t
        return x, count
    same(function, tensor(4, 4))
    same(function, tensor(4, 4) * 0 + 9)


def test_a_sum_in_half_precision_is_rounded_at_every_turn():
    def add_up(total, xs):
        for t in range(40):
            total = total + xs[t].T @ xs[t]
        return total
    args = [Tensor(x.asnumpy().astype(np.float16)) for x in (tensor(48, 48), tensor(40, 5, 48, seed=1))]
    compiled = ms.jit(add_up)
    np.testing.assert_allclose(compiled(*args).asnumpy(), add_up(*args).asnumpy(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("last", [lambda i: 6 // (i - 6), lambda i: i % (i - 6), lambda i: 1 << (5 - i), lambda i: (i << 70) % 3])
@pytest.mark.filterwarnings("ignore:.*runs again in Python")
@pytest.mark.python_runs("last(i): i << 70 is no number of 64 bits, so that Python runs the call again")
def test_what_the_last_number_of_a_loop_would_raise_is_raised_only_where_it_is_reached(last):
    def halved(x):
        i = 0
        while i < 6:
            i += 1
            x = x * 0.5
        if x.sum() > 100:
            x = x * last(i)
        return x

    def outcome(f, start):
        try:
            return f(Tensor([start, 0.0])).asnumpy().tolist()
        except (ArithmeticError, ValueError) as error:
            return type(error), str(error).split("\n")[0]
    for start in (1.0, 1e6):
        assert outcome(halved, start) == outcome(ms.jit(halved), start)
