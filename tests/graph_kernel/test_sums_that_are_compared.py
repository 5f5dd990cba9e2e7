"""A sum that is compared with others of its kind is computed once: added up in another order it may be another number."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

LARGEST = {
    "of columns": lambda x: ops.abs(x).sum(0).max(), "of rows": lambda x: (x * x).sum(1).max(),
    "norm of order 1": lambda x: ops.matrix_norm(x, 1), "smallest of columns": lambda x: (x @ x.T).sum(0).min(),
    "of deviations": lambda x: ops.std(x, 0).max(),
    "of means, in pairs": lambda x: ops.amax(x.mean(0)[:, None] - x.mean(0)[None]),
}


@pytest.mark.parametrize("name", LARGEST)
def test_the_gradient_of_the_largest_sum_goes_to_that_sum(name):
    draw = np.random.default_rng(5)
    function = LARGEST[name]
    compiled = ms.jit(ms.grad(function), fullgraph=True, dynamic=1)
    for rows, columns in [(rows, columns) for rows in (8, 9, 13, 17, 31, 59) for columns in (2, 3, 5, 7)]:
        x = Tensor(draw.standard_normal((rows, columns)).astype(np.float32))
        eager = ms.grad(function)(x).asnumpy()
        assert np.abs(eager).max() > 0
        for call in (ms.jit(ms.grad(function), fullgraph=True), compiled):
            np.testing.assert_allclose(call(x).asnumpy(), eager, rtol=2e-4, atol=2e-5, err_msg=f"{rows} x {columns}")


def test_as_many_are_the_largest_as_python_counts():
    def largest(x):
        sums = x.sum(0)
        return (sums == sums.max()).astype(ms.int32).sum(), (sums >= sums.max()).astype(ms.int32).sum()
    compiled, draw = ms.jit(largest, fullgraph=True), np.random.default_rng(6)
    for rows in range(2, 60):
        counts = compiled(Tensor(draw.standard_normal((rows, 3)).astype(np.float32)))
        assert [int(n) for n in counts] == [1, 1]


def test_the_largest_of_some_sums_is_one_of_them():
    def both(x):
        sums = ops.abs(x).sum(0)
        return sums, sums.max(), sums.min()
    compiled, draw = ms.jit(both, fullgraph=True, dynamic=1), np.random.default_rng(7)
    for rows in range(2, 60):
        for columns in (1, 2, 3, 7):
            sums, *found = compiled(Tensor(draw.standard_normal((rows, columns)).astype(np.float32)))
            assert all(one.asnumpy() in sums.asnumpy() for one in found)


@pytest.mark.parametrize("jump", ["floor", "ceil", "round", "trunc", "sign", "hardshrink"])
def test_what_jumps_is_apart_from_sums_that_would_be_computed_twice(jump):
    def steps(x):
        sums = (x * x).sum(-1)
        return getattr(ops, jump)(sums - sums.max() * 0.6)
    compiled, draw = ms.jit(steps, fullgraph=True), np.random.default_rng(8)
    for rows, columns in [(5, 3), (8, 9), (31, 17), (5, 64)]:
        x = Tensor(draw.standard_normal((rows, columns)))
        np.testing.assert_allclose(compiled(x).asnumpy(), steps(x).asnumpy(), rtol=1e-12)


def test_no_sum_is_below_the_smallest_of_them():
    def above(x):
        means = x.mean(0)
        return ops.sqrt(means - means.min()), means.max() - means
    compiled, draw = ms.jit(above, fullgraph=True), np.random.default_rng(9)
    for rows in range(3, 60, 5):
        for columns in (2, 3, 7):
            found = compiled(Tensor(draw.standard_normal((rows, columns)).astype(np.float32)))
            assert all(one.asnumpy().min() == 0 for one in found)
