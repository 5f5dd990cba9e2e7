"""topk and sums of single elements: the kernels give NumPy's bits, and indices outside are errors before a kernel runs."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.launcher import set_threads
from mindlite.common.errors import IndexRangeError

SHAPES = [((5, 40), -1, 7), ((3, 9, 4), 1, 9), ((3, 1), 1, 1), ((50,), 0, 50), ((0, 4), 1, 2), ((2, 300), 1, 64),
          ((2, 300), 1, 65), ((40, 3, 70), 0, 3), ((4, 4), 1, 0), ((300, 90), 1, 5)]


def order(x, k, axis, largest):
    """What topk means: the first k places of a stable order in which NaN is the largest."""
    line = np.moveaxis(x, axis, -1)
    flipped = line[..., ::-1] if largest else line
    found = np.argsort(flipped, axis=-1, kind="stable")
    found = (line.shape[-1] - 1 - found)[..., ::-1] if largest else found
    return np.moveaxis(found[..., :k], -1, axis)


def lines(kind, shape, axis, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, shape) if kind == "ties" else rng.normal(size=shape) * 10
    x = (np.sort(x, axis) if kind == "rising" else -np.sort(-x, axis) if kind == "falling" else x).astype(dtype)
    if kind == "nan" and x.dtype.kind == "f":
        x[rng.random(shape) < 0.3], x[rng.random(shape) < 0.1], x[rng.random(shape) < 0.1] = np.nan, np.inf, -np.inf
    return x


@pytest.mark.parametrize("kind", ["random", "ties", "rising", "falling", "nan"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8", "uint8"])
def test_topk_is_the_beginning_of_a_stable_order(dtype, kind):
    for shape, axis, k in SHAPES:
        x = lines(kind, shape, axis, dtype)
        for largest in (True, False):
            wanted = order(x, k, axis, largest)

            def best(x):
                return ops.topk(x, k, axis, largest)
            for f in (best, ms.jit(best, fullgraph=True)):
                values, indices = f(Tensor(x))
                assert indices.dtype == ms.int64 and values.dtype == Tensor(x).dtype
                np.testing.assert_array_equal(indices.asnumpy(), wanted)
                np.testing.assert_array_equal(values.asnumpy(), np.take_along_axis(x, wanted, axis))


def test_topk_of_any_number_of_rows_is_one_native_graph():
    compiled = ms.jit(lambda x: ops.topk(x, 3)[0], dynamic=1, fullgraph=True)
    for rows in (0, 1, 7, 300):
        x = lines("random", (rows, 50), 1, "float32")
        np.testing.assert_array_equal(compiled(Tensor(x)).asnumpy(), -np.sort(-x, 1)[:, :3])
    assert len(compiled.variants) == 1 and any(kernel.name.startswith("topk_") for kernel in compiled.kernels())


@pytest.mark.parametrize("index", ["int32", "int64", "int16"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_gradients_of_chosen_elements_have_the_bits_of_numpy(dtype, index):
    rng = np.random.default_rng(1)
    for shape, axis, count in (((60, 70), 1, 300), ((60, 70), 0, 300), ((3, 50, 130), 1, 50), ((0, 4), 1, 2), ((4, 5, 6), 2, 1)):
        x, n = (rng.normal(size=shape) * 10).astype(dtype), shape[axis]
        places = rng.integers(-n, n, (*shape[:axis], count, *shape[axis + 1:])).astype(index)
        updates = (rng.normal(size=places.shape) * 10).astype(dtype)
        grid = list(np.ogrid[tuple(map(slice, places.shape))])
        grid[axis] = places.astype(np.int64)
        wanted = x.copy()
        np.add.at(wanted, tuple(grid), updates)

        def add(x, places, updates):
            return ops.tensor_scatter_elements(x, places, updates, axis, "add")
        for f in (add, ms.jit(add, fullgraph=True)):
            np.testing.assert_array_equal(f(Tensor(x), Tensor(places), Tensor(updates)).asnumpy(), wanted)


def test_sums_of_elements_do_not_depend_on_the_threads():
    rng = np.random.default_rng(2)
    x, i = Tensor(rng.normal(size=(257, 301)).astype(np.float32)), Tensor(rng.integers(0, 301, (257, 301)))
    found = []
    for threads in (1, 2, 3):
        set_threads(threads)
        found.append(ms.grad(lambda x: (ops.gather_elements(x, 1, i) ** 2).sum())(x).asnumpy())
    set_threads(2)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("bad", [-301, 300, 10 ** 12])
@pytest.mark.parametrize("rows", [2, 400])                  # NumPy computes a few, a kernel many
def test_an_index_outside_is_named_however_many_there_are(rows, bad):
    x = Tensor(np.zeros((rows, 300), np.float32))
    i = np.zeros((rows, 300), np.int64)
    i[rows - 1, 7] = bad
    table, rows_of = Tensor(np.zeros((300, 80), np.float32)), Tensor(np.zeros((rows * 300, 80), np.float32))
    for f in (lambda: ops.gather_elements(x, 1, Tensor(i)), lambda: ops.tensor_scatter_elements(x, Tensor(i), x, 1, "add"),
              lambda: ops.index_add(table, Tensor(i.ravel()), rows_of, 0),
              lambda: ops.tensor_scatter_add(table, Tensor(i.reshape(-1, 1)), rows_of)):
        with pytest.raises(IndexRangeError, match=str(bad)):
            f()
