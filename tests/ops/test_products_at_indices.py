"""Products and quotients at indices, products of segments: what they are, their gradients also at zeros, open numbers of rows.

test_extrema_at_indices.py says that the graph does not grow with the indices."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

INDICES = np.array([3, 0, -1, 3, 3, 1])
UFUNCS = {"mul": (np.multiply, ops.tensor_scatter_mul), "div": (np.true_divide, ops.tensor_scatter_div)}
MODES = {"eager": lambda f: f, "graph": lambda f: ms.jit(f, fullgraph=True)}
TABLES = [(5, 3), (1, 1), (5,), (4, 0), (7, 2, 9)]


def numbers(seed, dtype, *shape):
    drawn = np.random.default_rng(seed).uniform(0.5, 2, shape) * np.random.default_rng(seed + 1).choice([-1, 1], shape)
    return (drawn * 4 if dtype.startswith(("int", "uint")) else drawn).astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", UFUNCS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_values_are_those_of_the_ufunc_one_after_the_other(dtype, how, mode):
    ufunc, function = UFUNCS[how]
    run = MODES[mode](lambda x, i, u: function(x, i[:, None], u))
    for shape in TABLES:
        for count in (0, 1, 6):
            indices = np.clip(INDICES[:count], -shape[0], shape[0] - 1)
            x, updates = numbers(1, dtype, *shape), numbers(2, dtype, count, *shape[1:])
            wanted = x.copy()
            ufunc.at(wanted, indices, updates)
            found = run(Tensor(x), Tensor(indices), Tensor(updates)).asnumpy()
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype.startswith("complex") else 0)


@pytest.mark.parametrize("mode", MODES)
def test_integers_are_multiplied_and_divided_towards_zero(mode):
    x, i, u = Tensor(np.array([7, -9, 100])), Tensor(np.array([[0], [1], [2], [2]])), Tensor(np.array([2, 2, 3, 4]))
    assert MODES[mode](ops.tensor_scatter_mul)(x, i, u).tolist() == [14, -18, 1200]
    assert MODES[mode](ops.tensor_scatter_div)(x, i, u).tolist() == [3, -4, 8]
    rows, ids = Tensor(np.array([[2], [3], [5], [7]], np.int8)), Tensor(np.array([1, -1, 1, 3]))
    made = MODES[mode](lambda x, ids: ops.unsorted_segment_prod(x, ids, 4))(rows, ids)
    assert made.dtype is ms.int64 and made.tolist() == [[1], [10], [1], [7]]


@pytest.mark.parametrize("mode", MODES)
def test_rows_without_elements_are_put_nowhere(mode):
    x, i, u = Tensor(np.zeros((4, 0), np.float32)), Tensor(INDICES[:2]), Tensor(np.zeros((2, 0), np.float32))
    for name in "add sub mul div max min".split():
        assert MODES[mode](lambda x, i, u: getattr(ops, f"tensor_scatter_{name}")(x, i[:, None], u))(x, i, u).shape == (4, 0)
    for name in "sum max min prod".split():
        assert MODES[mode](lambda u, i: getattr(ops, f"unsorted_segment_{name}")(u, i, 4))(u, i).shape == (4, 0)


def by_differences(f, x, step=1e-6):
    """d f / d x of a float64 array."""
    slope = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][at] += step
        moved[1][at] -= step
        slope[at] = (f(moved[0]) - f(moved[1])) / (2 * step)
    return slope


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", UFUNCS)
def test_gradients_are_those_of_differences_also_where_updates_are_zero(how, mode):
    ufunc, function = UFUNCS[how]
    x, u, weights = numbers(3, "float64", 4, 2), numbers(4, "float64", 6, 2), numbers(5, "float64", 4, 2)
    if how == "mul":
        u[0, 0] = u[1, 1] = u[3, 1] = u[4, 1] = x[1, 0] = 0  # one of three, the only one, two of three; a factor of the table

    def plain(x, u):
        out = x.copy()
        ufunc.at(out, INDICES, u)
        return (out * weights).sum()
    gradient = MODES[mode](ms.grad(lambda x, u: (function(x, Tensor(INDICES[:, None]), u) * Tensor(weights)).sum(), (0, 1)))
    dx, du = gradient(Tensor(x), Tensor(u))
    np.testing.assert_allclose(dx.asnumpy(), by_differences(lambda x: plain(x, u), x), atol=1e-7)
    np.testing.assert_allclose(du.asnumpy(), by_differences(lambda u: plain(x, u), u), atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_the_gradient_of_a_product_of_segments_leaves_rows_out_that_have_no_segment(mode):
    rows, ids = numbers(6, "float64", 5, 3), np.array([1, 0, -2, 1, 1])
    rows[3, 2] = 0
    gradient = MODES[mode](ms.grad(lambda x: ops.unsorted_segment_prod(x, Tensor(ids), 3).sum()))

    def plain(x):
        return sum(x[ids == k].prod(0).sum() for k in range(3))
    np.testing.assert_allclose(gradient(Tensor(rows)).asnumpy(), by_differences(plain, rows), atol=1e-7)


CALLS = {"tensor_scatter_mul": lambda x, i, u: ops.tensor_scatter_mul(x, i[:, None], u),
         "tensor_scatter_div": lambda x, i, u: ops.tensor_scatter_div(x, i[:, None], u),
         "unsorted_segment_prod": lambda x, i, u: ops.unsorted_segment_prod(u, i, x.shape[0])}


@pytest.mark.parametrize("name", CALLS)
def test_one_compiled_function_serves_all_numbers_of_rows(name):
    run = ms.jit(CALLS[name], fullgraph=True, dynamic=1)
    for rows in (6, 2, 1, 0):
        x, u = Tensor(numbers(7, "float32", 4, 3)), Tensor(numbers(8, "float32", rows, 3))
        i = Tensor(INDICES[:rows] % 4)
        np.testing.assert_array_equal(run(x, i, u).asnumpy(), CALLS[name](x, i, u).asnumpy())
    assert len(run.variants) == 1
