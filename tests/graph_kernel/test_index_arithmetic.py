"""Indices are simplified without changing them, and reshapes around transposes leave no division in an inner loop."""
import itertools
import operator
import os
import random
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
from test_ranges import check, normal                                                                   # noqa: E402

import mindlite as ms                                                                                   # noqa: E402
from mindlite import Tensor, ops                                                                        # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.common.dim import Symbol, evaluate                                                        # noqa: E402
from mindlite.graph_kernel import fusable                                                               # noqa: E402
from mindlite.graph_kernel.index_arithmetic import Indices, Settled                                     # noqa: E402
from mindlite.graph_kernel.loopnest import build                                                        # noqa: E402
from mindlite.mindir.abstract import AbstractTensor                                                     # noqa: E402
from mindlite.mindir.builder import typed                                                               # noqa: E402
from mindlite.mindir.scalar import Const, IndexVar, Size, as_expr, binary, index_var, walk              # noqa: E402

MEANING = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
           "mod": operator.mod, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
           "eq": operator.eq, "ne": operator.ne}


def value(expr, env):
    """The number that an index is."""
    if isinstance(expr, Const):
        return expr.fields[0]
    if isinstance(expr, IndexVar):
        return env[expr]
    if isinstance(expr, Size):
        return evaluate(expr.fields[0], env)
    op, a, b = expr.fields
    return MEANING[op](value(a, env), value(b, env))


def divisions(expr):
    return sum(e.fields[0] in ("floordiv", "mod") for e in walk([expr]) if not isinstance(e, (Const, IndexVar, Size)))


def some_index(rng, variables, depth, sizes=()):
    """A sum, product, quotient or remainder of loop variables, numbers and sizes."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(variables) if rng.random() < 0.7 else as_expr(rng.randrange(0, 9))
    op = rng.choice(["add", "add", "mul", "mul", "floordiv", "mod", "sub"])
    left = some_index(rng, variables, depth - 1, sizes)
    if op == "add":
        return binary(op, left, some_index(rng, variables, depth - 1, sizes))
    return binary(op, left, as_expr(rng.choice([2, 3, 4, 6, 12, *sizes])))


@pytest.mark.parametrize("seed", range(8))
def test_a_simplified_index_is_the_same_number_everywhere(seed):
    rng = random.Random(seed)
    variables = [index_var("i", 3), index_var("j", 4), index_var("k", 6)]
    indices = Indices()
    for _ in range(60):
        index = some_index(rng, variables, 5)
        limit = as_expr(rng.randrange(0, 30))
        compared = binary(rng.choice(["lt", "le", "gt", "ge", "eq", "ne"]), index, limit)
        made, settled = indices(index), Settled(indices, {})(compared)
        low, high = indices.bounds(index)
        for point in itertools.product(range(3), range(4), range(6)):
            env = dict(zip(variables, point))
            expected = value(index, env)
            assert value(made, env) == expected and value(settled, env) == value(compared, env)
            assert low is None or low <= expected <= high


@pytest.mark.parametrize("seed", range(4))
def test_a_simplified_index_of_open_sizes_is_the_same_number_everywhere(seed):
    rng, n, m = random.Random(seed), Symbol("n", lo=0), Symbol("m", lo=0)
    extents = n.dim, 4 * n.dim * m.dim, 6
    variables, indices = [index_var(*each) for each in zip("ijk", extents)], Indices()
    sizes = n.dim, m.dim, n.dim * m.dim, 4 * m.dim, 2 * n.dim * m.dim
    for _ in range(60):
        index = some_index(rng, variables, 5, sizes)
        made = indices(index)
        for found in ({n: 2, m: 3}, {n: 3, m: 1}, {n: 1, m: 1}):
            for point in itertools.product(*[range(evaluate(extent, found)) for extent in extents]):
                env = {**found, **dict(zip(variables, point))}
                assert value(made, env) == value(index, env)


def test_what_a_reshape_makes_and_undoes_is_the_index_itself():
    i, j, indices = index_var("i", 8), index_var("j", 128), Indices()
    flat = i * 128 + j
    assert indices(flat // 128) is i and indices(flat % 128) is j
    n = Symbol("N", lo=1).dim
    rows, columns = index_var("r", 5), index_var("c", n)
    flat = rows * n + columns
    assert indices(flat // as_expr(n)) is rows and indices(flat % as_expr(n)) is columns
    t = index_var("t", 1024)
    assert indices((t // 128) * 128 + t % 128) is t
    assert divisions(indices(((t // 24) * 24 + t % 24) // 7)) == 1


def test_numbers_that_could_wrap_are_left_alone():
    i, indices = index_var("i", 8), Indices()
    assert indices.bounds(i * 2**62) == (None, None)
    assert divisions(Settled(indices, {})((i * 2**62) // 2**62)) == 1


def heads(x):
    return ops.transpose(ops.reshape(x, (4, 16, 3, 2, 32))[:, :, 1], (0, 2, 1, 3)) * 2.0


def test_heads_of_attention_are_read_without_a_division():
    text = check(heads, normal(64, 192))
    assert "//" not in text and "%" not in text


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_heads_of_a_batch_of_open_size_are_read_without_a_division(rows):
    """The same kernel for every number of rows, there and back."""
    batch = Symbol("N", lo=0)

    def there_and_back(x):
        n = x.shape[0]
        y = ops.transpose(ops.reshape(x, (n, 16, 2, 32)), (0, 2, 1, 3)) * 2.0
        return ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (n, 16, 64)) + x
    abstract = AbstractTensor(dt.float32, (batch.dim, 16, 64))
    text = check(there_and_back, normal(rows, 16, 64), env={batch: rows}, abstracts=[abstract])
    assert "//" not in text and "%" not in text


@pytest.mark.parametrize("rows, height, width", [(2, 5, 7), (1, 1, 1), (3, 0, 4), (2, 4, 0), (0, 3, 3), (2, 1, 40)])
def test_rows_of_open_sizes_that_a_reshape_joins_are_read_without_a_division(rows, height, width):
    """GroupNorm of x + b: a row is four channels of a picture, whose sizes are open."""
    n, h, w = (Symbol(name, lo=0) for name in "NHW")

    def groups(x, b):
        y = ops.reshape(x + b, (x.shape[0], 2, 4 * x.shape[2] * x.shape[3]))
        y = (y - ops.sum(y, 2, keepdim=True)) * 0.5
        return ops.reshape(y, (x.shape[0], 8, x.shape[2], x.shape[3])) * b
    abstracts = [AbstractTensor(dt.float32, (n.dim, 8, h.dim, w.dim)), AbstractTensor(dt.float32, (8, 1, 1))]
    text = check(groups, normal(rows, 8, height, width), normal(8, 1, 1), env={n: rows, h: height, w: width}, abstracts=abstracts)
    assert "//" not in text and "%" not in text


def test_a_loop_of_open_size_that_is_all_there_is_is_cut():
    """What the rows alone decide is divided once for each."""
    h, w = Symbol("H", lo=0), Symbol("W", lo=0)
    abstracts = [AbstractTensor(dt.float32, (4, h.dim, w.dim)), AbstractTensor(dt.float32, (4, 1, 1))]
    text = check(lambda x, b: ops.reshape(x + b, (4 * x.shape[1] * x.shape[2],)), normal(4, 3, 5), normal(4, 1, 1),
                 env={h: 3, w: 5}, abstracts=abstracts)
    assert re.findall(r"(\S+) (?://|%)", text) == ["b[(i0"]


def test_a_loop_that_a_reshape_cuts_becomes_two():
    """The way back: rows and columns are digits of four axes; what the outer loop alone decides is divided once."""
    text = check(lambda x: ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (64, 64)) * 2.0, normal(4, 2, 16, 32))
    assert re.findall(r"(\S+) (?://|%)", text) == ["(i0", "(i0"]


def test_gradients_of_slices_behind_a_reshape_are_cut_at_the_edges():
    def back(q, k):
        def wide(y, number):
            y = ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (64, 1, 64))
            return ops.pad(y, (0, 0, number, 2 - number))
        return ops.reshape(wide(q, 0) + wide(k, 2), (64, 192))
    text = check(back, normal(4, 2, 16, 32), normal(4, 2, 16, 32) + 1)
    assert {*re.findall(r"(\S+) (?://|%)", text)} <= {"i0", "(i0"} and "if " not in text and "where(" not in text


@pytest.mark.parametrize("axis", [0, 1])
def test_a_fold_over_digits_of_a_loop_is_right(axis):
    check(lambda x: ops.sum(ops.reshape(ops.transpose(x, (1, 0, 2)), (12, 30)), dim=axis), normal(5, 12, 6))
    check(lambda x: ops.argmax(ops.reshape(ops.transpose(x, (1, 0, 2)), (12, 30)), dim=axis), normal(5, 12, 6))


def test_columns_are_not_added_up_beside_rows_that_happen_to_be_as_many():
    """Equal sizes alone do not make rows of one result and columns of another one loop: it would walk down columns."""
    def rows_and_columns(x):
        return x * 2.0, ops.sum(x * 2.0, dim=0)
    x = AbstractTensor(dt.float32, (64, 64))
    assert "down columns" in fusable(typed(rows_and_columns, x))
    assert fusable(typed(lambda x: (x * 2.0, ops.sum(x * 2.0, dim=1)), x)) is None


def test_an_empty_axis_divides_nothing():
    def iterations(x, n):
        total = x.sum()
        for k in range(n):
            total = total + x[k]
        return total
    for shape in (2, 0), (2, 3), (2, 0, 3):
        x = Tensor(np.ones(shape, np.float32))
        assert ms.jit(iterations)(x, 2).tolist() == iterations(x, 2).tolist()


def test_what_was_found_out_about_indices_holds_for_the_next_nest_and_no_two_of_its_loops_are_one(monkeypatch):
    def rows(x):
        return ops.sum(ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (64, 64)), 1) + ops.sum(ops.sum(x, 1), (1, 2))[0]
    graph = typed(rows, AbstractTensor(dt.float32, (4, 2, 16, 32)))
    first = build(graph)
    simplified = []
    plain = Indices.simplify
    monkeypatch.setattr(Indices, "simplify", lambda self, expr: simplified.append(expr) or plain(self, expr))
    again = build(graph)
    assert not simplified and again.outputs[0].loops[0] is first.outputs[0].loops[0]
    numbers = [v.fields[2] for v in again.symbols]
    assert len(set(numbers)) == len(numbers) > 3
    assert index_var("i0", 4) is not index_var("i0", 4)          # outside of a nest each is another
