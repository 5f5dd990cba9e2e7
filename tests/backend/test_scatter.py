"""Rows added to a table: the bits of NumPy's add.at, whatever the dtypes, the axis, the threads; nothing outside is written."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, jit, ops
from mindlite.backend.launcher import set_threads

SHAPES = [((50, 33), 0, 70), ((7, 20, 5), 1, 40), ((30,), 0, 100), ((4, 9), 1, 0), ((0, 3), 0, 0), ((6, 1), 0, 9),
          ((5, 3000), 0, 300), ((300, 7), 1, 500)]


def program(shape, axis, count, dtype, index):
    """(table, indices, rows, what NumPy makes of them)"""
    rng = np.random.default_rng(0)
    x, size = (rng.normal(size=shape) * 10).astype(dtype), shape[axis]
    i = rng.integers(-size, size, count).astype(index) if size else np.zeros(0, index)
    rows = (rng.normal(size=(*shape[:axis], count, *shape[axis + 1:])) * 10).astype(dtype)
    wanted = np.moveaxis(x.copy(), axis, 0)
    np.add.at(wanted, i, np.moveaxis(rows, axis, 0))
    return Tensor(x), Tensor(i), Tensor(rows), np.moveaxis(wanted, 0, axis)


@pytest.mark.parametrize("index", ["int32", "int64", "int16"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8", "bool"])
def test_sums_along_an_axis_have_the_bits_of_numpy(dtype, index):
    for shape, axis, count in SHAPES:
        x, i, rows, wanted = program(shape, axis, count, dtype, index)
        for f in (ops.index_add, jit(ops.index_add)):
            found = f(x, i, rows, axis).asnumpy()
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("depth, shape", [(1, (6, 4)), (2, (6, 4, 5)), (3, (3, 4, 5)), (2, (6, 4))])
def test_sums_at_places_of_several_axes_have_the_bits_of_numpy(depth, shape):
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape).astype(np.float32)
    i = np.stack([rng.integers(-shape[d], shape[d], (11, 2)) for d in range(depth)], -1)
    rows = rng.normal(size=(11, 2, *shape[depth:])).astype(np.float32)
    wanted = x.copy()
    np.add.at(wanted, tuple(i[..., d] for d in range(depth)), rows)
    found = jit(ops.tensor_scatter_add)(Tensor(x), Tensor(i), Tensor(rows)).asnumpy()
    np.testing.assert_array_equal(found, wanted)


def test_the_sums_do_not_hang_on_the_threads():
    x, i, rows, wanted = program((50, 3001), 0, 700, "float32", "int32")
    compiled = jit(lambda x, i, rows: ops.index_add(x, i, rows, 0))
    for threads in (1, 2, 3):
        set_threads(threads)
        np.testing.assert_array_equal(compiled(x, i, rows).asnumpy(), wanted)
    set_threads(2)


@pytest.mark.parametrize("index", [7, -8])
@pytest.mark.parametrize("add", [lambda x, i, rows: ops.index_add(x, i, rows, 0),
                                 lambda x, i, rows: ops.tensor_scatter_add(x, ops.expand_dims(i, -1), rows)])
@pytest.mark.filterwarnings("ignore:.*runs again in Python")
def test_an_index_outside_is_the_same_error_in_every_mode(index, add):
    said = []
    for f in (add, jit(add)):
        with pytest.raises(IndexError, match=f"index {index} is outside an axis of size 7") as caught:
            f(Tensor(np.ones((7, 3), np.float32)), Tensor(np.array([1, index])), Tensor(np.ones((2, 3), np.float32)))
        said.append(str(caught.value).split("\n")[0])
    assert said[0] == said[1]


def test_the_gradient_of_an_embedding_is_native_and_of_any_number_of_rows():
    def total(table, i):
        return (ops.gather(table, i, 0) ** 2).sum()
    compiled, rng = jit(ms.grad(total), dynamic=True), np.random.default_rng(2)
    for count, columns in ((3, 4), (100, 4), (17, 33)):
        table, i = rng.normal(size=(9, columns)).astype(np.float32), rng.integers(-9, 9, count)
        wanted = np.zeros_like(table)
        np.add.at(wanted, i, 2 * table[i])
        np.testing.assert_allclose(compiled(Tensor(table), Tensor(i)).asnumpy(), wanted, rtol=1e-6)
    assert "index_add_f32_i64_1" in compiled.explain(details=True)
