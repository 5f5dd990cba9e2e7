"""Running sums, products and recurrences: NumPy's bits in both modes, on any number of threads."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.launcher import set_threads
from mindlite.mindir.primitive import eval_rule
from mindlite.ops.scan import cumulative_product, cumulative_sum, linear_recurrence, running_max, running_min

SHAPES = [((7,), 0), ((1,), 0), ((0,), 0), ((5, 0), 0), ((0, 5), 1), ((33, 600), 1), ((600, 33), 0), ((3, 50, 130), 1),
          ((2, 3, 4), 2), ((300, 70), 1)]


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 9, shape).astype(dtype) if dtype.startswith("int") else rng.uniform(-1.1, 1.1, shape).astype(dtype)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "int8"])
@pytest.mark.parametrize("prim", [cumulative_sum, cumulative_product], ids=lambda p: p.name)
def test_running_sums_and_products_have_the_bits_of_numpy(prim, dtype, exclusive, reverse):
    for shape, axis in SHAPES:
        x = numbers(shape, dtype)
        attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
        wanted = eval_rule[prim](x, **attrs)

        def scan(x):
            return prim(x, **attrs)
        for f in (scan, ms.jit(scan, fullgraph=True)):
            found = f(Tensor(x)).asnumpy()
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_recurrences_have_the_bits_of_numpy(dtype, reverse):
    for shape, axis in SHAPES:
        a, d = numbers(shape, dtype), numbers(shape, dtype, 1)
        wanted = eval_rule[linear_recurrence](a, d, axis=axis, reverse=reverse)
        compiled = ms.jit(lambda a, d: linear_recurrence(a, d, axis=axis, reverse=reverse), fullgraph=True)
        np.testing.assert_array_equal(compiled(Tensor(a), Tensor(d)).asnumpy(), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "int8"])
@pytest.mark.parametrize("prim", [running_max, running_min], ids=lambda p: p.name)
def test_running_extrema_are_numpys_with_the_last_of_equals_and_nan(prim, dtype):
    for shape, axis in SHAPES:
        x = np.round(numbers(shape, dtype) * 4).astype(dtype) + np.array(0, dtype)
        if x.size > 10 and dtype.startswith("float"):
            x.reshape(-1)[::7], x.reshape(-1)[3] = np.nan, -np.inf
            x[x == 0] = 0                                    # which of two zeros is the larger one nobody says
        wanted = eval_rule[prim](x, axis=axis)

        def scan(x):
            return prim(x, axis=axis)
        for f in (scan, ms.jit(scan, fullgraph=True)):
            for found, want in zip(f(Tensor(x)), wanted):
                assert found.asnumpy().dtype == want.dtype
                np.testing.assert_array_equal(found.asnumpy(), want)


def test_minus_zero_stays():
    x = Tensor(np.full((4, 3), -0.0, np.float32))
    for axis in 0, 1:
        assert np.signbit(ms.jit(lambda x: x.cumsum(axis), fullgraph=True)(x).asnumpy()).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_threads_change_nothing(axis):
    x = Tensor(numbers((501, 703), "float32"))
    compiled, found = ms.jit(lambda x: ops.cumsum(x, axis), fullgraph=True), []
    for threads in (1, 2, 3):
        set_threads(threads)
        found.append(compiled(x).asnumpy())
    set_threads(2)
    assert all((f == found[0]).all() for f in found)


def test_a_running_sum_of_any_length_and_its_gradient_are_one_native_graph():
    def loss(x):
        return (ops.cumsum(x, 1) ** 2).sum()
    compiled = ms.jit(ms.grad(loss), dynamic=1, fullgraph=True)
    for shape in ((3, 5), (1, 1), (4, 300), (0, 3)):
        x = numbers(shape, "float64")
        wanted = np.flip(np.cumsum(np.flip(2 * np.cumsum(x, 1), 1), 1), 1)
        np.testing.assert_allclose(compiled(Tensor(x)).asnumpy(), wanted, rtol=1e-12)
    assert len(compiled.variants) == 1 and any(kernel.name.startswith("scan_sum") for kernel in compiled.kernels())
