"""The matrix product kernels against np.matmul: every layout, odd and empty sizes, with a BLAS and without."""
import glob
import itertools
import os

import numpy as np
import pytest

import mindlite.backend.cpu.blas as blas                    # the module itself: the package's name may be a Late one
from mindlite.backend.cpu import native
from mindlite.backend.cpu.panels import panel_matmul_kernel
from mindlite.backend.cpu.tile import tile_shape
from mindlite.backend.target import current
from mindlite.common import dtype as dtypes

SIZES = [(3, 5, 7, 2), (1, 5, 7, 3), (4, 1, 7, 2), (1, 1, 1, 1), (4, 5, 1, 2), (17, 33, 70, 1), (3, 5, 0, 2),
         (0, 5, 7, 2), (3, 0, 7, 2), (3, 5, 7, 0), (7, 130, 70, 2), (9, 5, 600, 1)]
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5, "float64": 1e-13}


def numbers(rng, shape, dtype):
    """Random elements; small integers for integer types."""
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype.numpy)
    return rng.integers(-100 if dtype.kind == "i" else 0, 100, shape).astype(dtype.numpy)


def reference(a, b, transpose_a, transpose_b):
    """op(a) @ op(b), in float64 for floats and wrapped for integers."""
    if a.dtype.kind not in "iu":
        a, b = a.astype(np.float64), b.astype(np.float64)
    return np.matmul(np.swapaxes(a, -1, -2) if transpose_a else a, np.swapaxes(b, -1, -2) if transpose_b else b)


def check(call, dtype, transpose_a, transpose_b, batched, accumulate, m, n, k, batch, seed=0):
    rng = np.random.default_rng(seed)
    if batched == "none":
        batch = 1
    a = numbers(rng, ((batch,) if batched in ("both", "a") else ()) + ((k, m) if transpose_a else (m, k)), dtype)
    b = numbers(rng, ((batch,) if batched in ("both", "b") else ()) + ((n, k) if transpose_b else (k, n)), dtype)
    before = numbers(rng, (batch, m, n), dtype)
    out = before.copy() if accumulate else np.full_like(before, np.nan if dtype.kind == "f" else 99)
    kernel = blas.matmul_kernel(dtype, transpose_a, transpose_b, batched, accumulate)
    extent, pieces = (3, [3]) if batched == "none" else (batch, [])
    for begin, end in ((0, extent // 3), (extent // 3, extent)):         # in two chunks, as a launcher may cut it
        call(kernel, [a, b, out], [batch, m, n, k, *pieces], begin=begin, extent=end)
    expected = reference(a, b, transpose_a, transpose_b)
    expected = np.broadcast_to(expected, (batch, m, n)) + (before.astype(expected.dtype) if accumulate else 0)
    if dtype.kind == "f":
        scale = TOLERANCE[dtype.name] * max(1, k)
        np.testing.assert_allclose(out.astype(np.float64), expected, rtol=scale, atol=scale)
    else:
        np.testing.assert_array_equal(out, expected.astype(dtype.numpy))


def blas_of_32_bits():
    """SciPy's own OpenBLAS, whose integers have 32 bits; None where it has none."""
    scipy = pytest.importorskip("scipy")
    paths = glob.glob(os.path.join(os.path.dirname(scipy.__file__) + ".libs", "*openblas*"))
    return next((b for b in map(blas.open_blas, paths) if b is not None and b.width == 32), None)


@pytest.fixture(params=["BLAS", "BLAS of 32 bits", "loops"])
def library(request, monkeypatch):
    """Three worlds: the BLAS of this machine, one with integers of 32 bits, and none."""
    native.kernel_of.cache_clear()
    blas._address.cache_clear()
    if request.param == "loops":
        monkeypatch.setattr(blas, "find_blas", lambda: None)
    elif request.param == "BLAS of 32 bits":
        found = blas_of_32_bits()
        if found is None:
            pytest.skip("no BLAS with integers of 32 bits on this machine")
        monkeypatch.setattr(blas, "find_blas", lambda: found)
    elif blas.find_blas() is None:
        pytest.skip("no BLAS on this machine")
    yield request.param
    native.kernel_of.cache_clear()
    blas._address.cache_clear()


@pytest.mark.parametrize("transpose_a, transpose_b", list(itertools.product([False, True], repeat=2)))
def test_the_product_is_numpys_for_every_layout(call, library, transpose_a, transpose_b):
    for batched, (m, n, k, batch) in itertools.product(blas.BATCHED, SIZES):
        check(call, dtypes.float32, transpose_a, transpose_b, batched, False, m, n, k, batch)


@pytest.mark.parametrize("dtype", [dtypes.float64, dtypes.float16, dtypes.bfloat16], ids=str)
def test_the_other_float_types_agree(call, library, dtype):
    for (m, n, k, batch), transposed in itertools.product(SIZES, [False, True]):
        check(call, dtype, transposed, not transposed, "both", False, m, n, k, batch)


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.uint64], ids=str)
def test_integer_products_wrap_as_numpys_do(call, dtype):
    for m, n, k, batch in SIZES:
        check(call, dtype, False, True, "a", False, m, n, k, batch)


def test_accumulate_adds_to_what_stands_in_out(call, library):
    for dtype, (m, n, k, batch) in itertools.product([dtypes.float32, dtypes.float16], SIZES):
        check(call, dtype, True, False, "both", True, m, n, k, batch)


def test_products_larger_than_one_panel_of_the_loop_agree(call, library):
    check(call, dtypes.float32, False, True, "none", False, 5, 1100, 150, 1)
    check(call, dtypes.float32, True, False, "none", False, 5, 513, 65, 1)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=str)
def test_narrow_and_small_products_write_their_result_and_nothing_beside_it(call, lanes, dtype):
    rng = np.random.default_rng(3)
    kernel = blas.matmul_kernel(dtype)
    for m, n, k in itertools.product((2, 5, 6, 7, 13), (2, 3, 7, 8, 9, 15, 16, 17, 31), (1, 2, 255, 257)):
        a, b = (rng.standard_normal(shape).astype(dtype.numpy) for shape in ((m, k), (k, n)))
        guarded = np.full(m * n + 64, 7, dtype.numpy)
        out = guarded[32:-32].reshape(m, n)
        call(kernel, [a, b, out], [1, m, n, k, 1])
        np.testing.assert_allclose(out, reference(a, b, False, False), rtol=1e-4, atol=1e-4)
        assert (guarded[:32] == 7).all() and (guarded[-32:] == 7).all()


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=str)
def test_products_of_few_rows_and_of_short_sums_are_numpys(call, lanes, dtype, transpose_a):
    """b is larger than the cache that is near: it is read where it stands for few rows, by copied strips for more."""
    for m, n, k in ((2, 1031, 300), (16, 530, 257), (17, 600, 64), (50, 523, 33), (49, 2049, 1), (130, 1024, 16)):
        check(call, dtype, transpose_a, False, "none", transpose_a, m, n, k, 1)
        check(call, dtype, transpose_a, True, "none", transpose_a, m, n, 1, 1)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=str)
def test_products_of_few_long_rows_write_their_result_and_nothing_beside_it(call, lanes, dtype):
    """Both operands with k innermost: sums of vectors, of 1 to 3 rows by 1 to 4, with and without a rest of k."""
    rng = np.random.default_rng(3)
    for accumulate in (False, True):
        kernel = blas.matmul_kernel(dtype, transpose_b=True, accumulate=accumulate)
        for m, n, k in itertools.product((2, 3, 4, 5, 49), (2, 3, 4, 7, 9), (120, 121, 127, 1024, 1027)):
            a, b = (rng.standard_normal(shape).astype(dtype.numpy) for shape in ((m, k), (n, k)))
            guarded = np.full(m * n + 64, 7, dtype.numpy)
            call(kernel, [a, b, guarded[32:-32]], [1, m, n, k, 1])
            expected = reference(a, b, False, True) + 7 * accumulate
            np.testing.assert_allclose(guarded[32:-32].reshape(m, n), expected, rtol=1e-4, atol=1e-4)
            assert (guarded[:32] == 7).all() and (guarded[-32:] == 7).all()


def test_a_long_sum_is_added_up_in_pieces(call):
    """10,000 ones of 0.1 in float32: one running sum is off by 1e-4 of it, short sums of DEPTH terms by far less."""
    a, b, out = np.full((2, 10000), 0.1, np.float32), np.ones((10000, 3), np.float32), np.zeros((2, 3), np.float32)
    call(blas.matmul_kernel("float32"), [a, b, out], [1, 2, 3, 10000, 1])
    np.testing.assert_allclose(out, 10000 * np.float64(np.float32(0.1)), rtol=1e-5)


def test_a_chunk_of_the_batch_writes_that_chunk_alone(call):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((4, 3, 5)), rng.standard_normal((4, 5, 2))
    for batched, operand in (("both", b), ("a", b[0])):
        out = np.zeros((4, 3, 2))
        call(blas.matmul_kernel("float64", batched=batched), [a, operand, out], [4, 3, 2, 5], begin=1, extent=3)
        np.testing.assert_allclose(out[1:3], np.matmul(a[1:3], operand[1:3] if batched == "both" else operand))
        assert not out[[0, 3]].any()


def test_nan_and_infinity_spread_and_zeros_do_not_hide_them(call, library):
    a, b = np.zeros((2, 3), np.float32), np.ones((3, 4), np.float32)
    b[1, 2] = np.nan
    out = np.empty((2, 4), np.float32)
    call(blas.matmul_kernel("float32"), [a, b, out], [1, 2, 4, 3, 1])
    assert np.isnan(out[:, 2]).all() and not np.isnan(out[:, [0, 1, 3]]).any()


def test_dtypes_without_a_product_have_no_kernel():
    assert blas.matmul_kernel("bool") is None
    assert blas.matmul_kernel("complex64") is None


def test_an_unknown_batching_is_refused():
    with pytest.raises(ValueError, match="'c', not one of"):
        blas.matmul_kernel("float32", batched="c")


def test_equal_facts_give_the_same_kernel_and_its_source_can_be_read():
    kernel = blas.matmul_kernel("float32", transpose_b=True)
    assert kernel is blas.matmul_kernel(np.float32, transpose_b=True)
    assert "def write_matmul" in kernel.source and kernel.name == "matmul_f32_nt_none"


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16], ids=str)
def test_sixteen_bit_floats_are_rounded_once_and_to_nearest_even(call, dtype):
    rng = np.random.default_rng(2)
    a = np.append(rng.standard_normal(299), np.nan).astype(dtype.numpy).reshape(300, 1)
    b = np.append(rng.standard_normal(199), np.inf).astype(dtype.numpy).reshape(1, 200)
    out = np.zeros((300, 200), dtype.numpy)
    call(blas.matmul_kernel(dtype), [a, b, out], [1, 300, 200, 1, 1])
    expected = (a.astype(np.float32) * b.astype(np.float32)).astype(dtype.numpy)        # exact in float32
    np.testing.assert_array_equal(out.astype(np.float32), expected.astype(np.float32))


def test_sizes_beyond_a_blas_of_32_bits_go_to_the_loops(call, monkeypatch):
    found = blas_of_32_bits()
    if found is None:
        pytest.skip("no BLAS with integers of 32 bits on this machine")
    monkeypatch.setattr(blas, "find_blas", lambda: found)
    monkeypatch.setattr(blas, "LARGEST", 4)
    native.kernel_of.cache_clear()
    for m, n, k, batch in SIZES:
        check(call, dtypes.float64, True, True, "both", True, m, n, k, batch)
    native.kernel_of.cache_clear()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, n, k", [(2, 20, 5), (6, 48, 300), (17, 100, 600), (1, 7, 3)])
def test_chunks_of_panels_are_columns_of_the_product(call, lanes, dtype, m, n, k):
    dtype = dtypes.dtype(dtype)
    width, rng = tile_shape(dtype, current()).columns, np.random.default_rng(0)
    count = -(-n // width)
    a, b = (rng.standard_normal(shape).astype(dtype.numpy) for shape in ((m, k), (k, count * width)))
    panels = np.ascontiguousarray(b.reshape(k, count, width).swapaxes(0, 1))
    out = np.full((m, n), np.nan, dtype.numpy)
    for begin, end in ((0, count // 2), (count // 2, count)):
        call(panel_matmul_kernel(dtype), [a, panels, out], [m, n, k], begin=begin, extent=end)
    np.testing.assert_allclose(out, (a @ b)[:, :n], rtol=1e-4, atol=1e-4)


def test_other_dtypes_have_no_such_kernel():
    assert panel_matmul_kernel("float16") is None and panel_matmul_kernel("int32") is None
