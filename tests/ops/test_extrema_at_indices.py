"""The largest and smallest updates at indices: what they are, whose gradient it is, and that work grows with the indices."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common import dtype as dt
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed

INDICES = np.array([3, 0, -1, 3, 3, 1])
FOLDS = {"max": (np.maximum, ops.tensor_scatter_max, ops.unsorted_segment_max),
         "min": (np.minimum, ops.tensor_scatter_min, ops.unsorted_segment_min)}
MODES = {"eager": lambda f: f, "graph": lambda f: ms.jit(f, fullgraph=True)}


def numbers(dtype, *shape):
    return (np.random.default_rng(len(shape)).normal(size=shape) * 20).astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8", "uint8", "bool"])
def test_values_are_those_of_the_ufunc(dtype, fold, mode):
    ufunc, scattered, by_segment = FOLDS[fold]
    x, updates = numbers(dtype, 5, 3), numbers(dtype, 6, 3)
    if dtype.startswith("float"):
        updates[0, 1] = x[1, 2] = np.nan
    wanted = x.copy()
    ufunc.at(wanted, INDICES, updates)
    run = MODES[mode](lambda x, i, u: scattered(x, i[:, None], u))
    np.testing.assert_array_equal(run(Tensor(x), Tensor(INDICES), Tensor(updates)).asnumpy(), wanted)
    numbers_of_rows = np.array([1, 0, -2, 1, 1, 3])
    made = MODES[mode](lambda u, i: by_segment(u, i, 4))(Tensor(updates), Tensor(numbers_of_rows)).asnumpy()
    for k in (0, 1, 3):
        np.testing.assert_array_equal(made[k], ufunc.reduce(updates[numbers_of_rows == k]))
    limits = (0, 1) if dtype == "bool" else (np.finfo(dtype).min, np.finfo(dtype).max) if dtype.startswith("float") else (
        np.iinfo(dtype).min, np.iinfo(dtype).max)
    assert (made[2] == limits[fold == "min"]).all()


@pytest.mark.parametrize("mode", MODES)
def test_equals_share_the_gradient(mode):
    x, i = Tensor(np.array([[1.0, 5.0], [2.0, 2.0], [0.0, 0.0]])), Tensor(np.array([[0], [0], [2]]))
    updates = Tensor(np.array([[1.0, 2.0], [1.0, 7.0], [-1.0, 3.0]]))
    gradient = MODES[mode](ms.grad(lambda x, u: ops.tensor_scatter_max(x, i, u).sum(), (0, 1)))
    dx, du = (g.asnumpy() for g in gradient(x, updates))
    np.testing.assert_allclose(dx, [[1 / 3, 0], [1, 1], [1, 0]])
    np.testing.assert_allclose(du, [[1 / 3, 0], [1 / 3, 1], [0, 1]])
    gradient = MODES[mode](ms.grad(lambda u: ops.unsorted_segment_max(u, Tensor(np.array([0, 0, 2])), 3).sum()))
    np.testing.assert_allclose(gradient(updates).asnumpy(), [[0.5, 0], [0.5, 1], [1, 1]])


CALLS = {
    "tensor_scatter_max": lambda x, i, u: ops.tensor_scatter_max(x, i[:, None], u),
    "tensor_scatter_min": lambda x, i, u: ops.tensor_scatter_min(x, i[:, None], u),
    "unsorted_segment_max": lambda x, i, u: ops.unsorted_segment_max(u, i, x.shape[0]),
    "unsorted_segment_min": lambda x, i, u: ops.unsorted_segment_min(u, i, x.shape[0]),
    "tensor_scatter_mul": lambda x, i, u: ops.tensor_scatter_mul(x, i[:, None], u),
    "tensor_scatter_div": lambda x, i, u: ops.tensor_scatter_div(x, i[:, None], u),
    "unsorted_segment_prod": lambda x, i, u: ops.unsorted_segment_prod(u, i, x.shape[0]),
    "index_copy": lambda x, i, u: ops.index_copy(x, 0, i, u), "put": lambda x, i, u: ops.put(x[:, 0], i, u[:, 0])}


@pytest.mark.parametrize("name", CALLS)
def test_work_grows_with_the_indices_and_the_table_not_with_their_product(name):
    def graph(rows, count):
        types = AbstractTensor(dt.float32, (rows, 2)), AbstractTensor(dt.int64, (count,)), AbstractTensor(dt.float32, (count, 2))
        return typed(CALLS[name], *types)
    few, many = graph(5, 3), graph(1000, 300)
    assert len(many.nodes) == len(few.nodes)
    assert max(node.abstract.size for node in many.nodes if isinstance(node.abstract, AbstractTensor)) <= 2 * 1001


def test_the_last_of_equal_indices_is_copied_and_gets_the_gradient():
    x, i = Tensor(np.zeros((4, 2))), Tensor(np.array([2, 0, -2, 2]))
    source = Tensor(np.arange(8.0).reshape(4, 2))
    assert ops.index_copy(x, 0, i, source).tolist() == [[2, 3], [0, 0], [6, 7], [0, 0]]
    assert ms.grad(lambda s: ops.index_copy(x, 0, i, s).sum())(source).tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
