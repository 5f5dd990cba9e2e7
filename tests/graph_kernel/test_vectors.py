"""Rows of any length by vectors: what is left of a row is neither read nor written behind its end, and counts."""
import ctypes
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
from clusters import execute                                                                            # noqa: E402

from mindlite import Tensor, ops                                                                           # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.graph_kernel import lowering                                                              # noqa: E402
from mindlite.graph_kernel.expand import expand_composites                                              # noqa: E402
from mindlite.backend.printers.lower_llvm import emit                                                       # noqa: E402
from mindlite.mindir.abstract import AbstractTensor                                                     # noqa: E402
from mindlite.mindir.builder import typed                                                               # noqa: E402

LENGTHS = (17, 23, 24, 31, 32, 33, 47, 63, 64, 65, 127, 1000, 1025, 2049)


def check(function, *inputs, rtol=1e-5):
    """The text of the kernel of `function`, whose results are those of the operators one by one."""
    abstracts = [AbstractTensor(dt.dtype(x.dtype), x.shape) for x in inputs]
    lowered = lowering(expand_composites(typed(function, *abstracts)))
    expected = function(*map(Tensor, inputs)).asnumpy()
    for chunks in (1, 2):
        out, = execute(lowered, inputs, None, chunks=chunks)
        np.testing.assert_allclose(out, expected, rtol=rtol, atol=1e-6)
    return emit(lowered.nest)


def rows(n, dtype=np.float32, m=5):
    x = np.random.default_rng(n).normal(size=(m, n)) * 3
    return x > 0 if dtype is bool else x.astype(dtype)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("extremum", [ops.amax, ops.amin])
@pytest.mark.parametrize("n", [3, 33, 300])
def test_extrema_down_columns_are_right_for_dtypes_of_any_width(extremum, dtype, n):
    """Also where an element is less than a byte in a register: bools of a vector would share bytes."""
    x = np.random.default_rng(n).integers(0, 2, (5, n)).astype(dtype)
    lowered = lowering(expand_composites(typed(lambda x: extremum(x, 0), AbstractTensor(dt.dtype(x.dtype), x.shape))))
    for chunks in (1, 2):
        out, = execute(lowered, [x], None, chunks=chunks)
        np.testing.assert_array_equal(out, (np.max if extremum is ops.amax else np.min)(x, 0))


@pytest.mark.parametrize("n", LENGTHS)
def test_softmax_and_its_sums_are_right_for_rows_of_any_length(n):
    assert " x float>" in check(lambda x: ops.softmax(x, axis=-1), rows(n))
    assert " x float>" in check(lambda x: ops.sum(x * x, dim=-1) - ops.amax(x, -1) + ops.amin(x, -1), rows(n))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.int64, np.int8, np.uint16, bool])
@pytest.mark.parametrize("n", [17, 40, 77])
def test_rows_of_every_dtype_are_read_and_written_by_vectors(n, dtype):
    x, y, keep = rows(n, dtype), rows(n + 1000, dtype)[:, :n], rows(n, bool)
    tolerance = 1e-2 if dtype is np.float16 else 1e-5
    check(lambda x, y, keep: ops.where(keep, x, y), x, y[:, :1].copy(), keep)
    check(lambda x: ops.cast(ops.cast(x, dt.float32) * x[:, :1] > 0.5, dt.float16), x)
    if dtype is not bool:
        check(lambda x: ops.sum(x, dim=-1), x, rtol=tolerance)
        check(lambda x, b: ops.abs(x - b) * x, x, x[0], rtol=tolerance)
        check(lambda x: ops.amax(x, -1), x)
    check(lambda x: ops.any(x, -1), x > 2)
    check(lambda x: ops.all(x, -1), x <= 2)


@pytest.mark.parametrize("n", [17, 37])
def test_a_nan_an_infinity_and_minus_zero_behind_the_last_whole_vector_count(lanes, n):
    x = rows(n)
    x[0, -1], x[1, -1], x[2, n // 8 * 8], x[3, -1] = np.nan, np.inf, -np.inf, -0.0
    check(lambda x: ops.amax(x, -1), x)
    check(lambda x: ops.amin(x, -1), x)
    check(lambda x: ops.sum(x, dim=-1), x)
    check(lambda x: ops.prod(x, -1), x)
    check(lambda x: ops.softmax(x, axis=-1), np.where(np.isinf(x), 0, x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.int64, np.uint8])
def test_the_first_of_equal_extrema_and_the_first_nan_is_found_whatever_lane_it_is_in(lanes, dtype):
    for n in (17, 64, 77, 300):
        x = (rows(n, np.float32, 41) * 2).astype(np.int8).astype(dtype)                 # many are equal
        if x.dtype.kind == "f":
            x[1], x[2, n // 2], x[3, n // 3:], x[4], x[5], x[5, 3] = -np.inf, np.nan, np.nan, np.nan, 0, -0.0
        for function, expected in ((lambda x: ops.argmax(x, 1), np.argmax), (lambda x: ops.argmin(x, 1), np.argmin)):
            lowered = lowering(typed(function, AbstractTensor(dt.dtype(x.dtype), x.shape)))
            assert f"<{2 * lanes} x i32>" in emit(lowered.nest)
            np.testing.assert_array_equal(execute(lowered, [x], None, chunks=2)[0], expected(x, 1))


@pytest.mark.parametrize("n", [1, 8, 17, 39])
def test_nothing_is_written_behind_the_end_of_a_row(lanes, n):
    x, b = rows(n), rows(n)[0]
    lowered = lowering(typed(lambda x, b: ops.tanh(x) * b + x, *(AbstractTensor(dt.float32, a.shape) for a in (x, b))))
    address = lowered.kernel.address
    out = np.full((7, n), 7.0, np.float32)
    arguments = np.array([x.ctypes.data, b.ctypes.data, out[1:].ctypes.data, *lowered.sizes], np.int64)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    for row in (4, 2, 0, 1, 3):                                   # a later row cannot mend what was written into it
        before = out.copy()
        call(arguments.ctypes.data, row, row + 1)
        changed = np.flatnonzero((out != before).any(1))
        assert list(changed) == [row + 1]
    np.testing.assert_allclose(out[1:6], np.tanh(x) * b + x, rtol=1e-5, atol=1e-5)
    assert (out[[0, 6]] == 7).all()


def test_strides_libm_and_quotients_of_integers_are_left_to_llvm():
    n = 37
    assert " x float>" not in check(lambda x: ops.atan(x) + x[:, :1], rows(n, np.float64))
    assert " x i32>" not in check(lambda x: x // 3 + x[:, :1], rows(n, np.int32))


@pytest.mark.parametrize("shape", [(5, 7), (4, 8), (33, 17), (7, 300), (9, 257), (3, 33)], ids=str)
def test_folds_down_columns_are_right_for_any_number_of_rows_and_columns(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x[-1, -1], x[0, 0] = np.inf, -0.0
    for function in (lambda x: ops.sum(x, dim=0), lambda x: ops.prod(x, 0),
                     lambda x: ops.amax(x, 0) - ops.amin(x * x, 0), lambda x: ops.sum(ops.exp(-x * x), dim=0) + 1.0):
        assert " x float>" in check(function, x, rtol=1e-4)
    check(lambda x: ops.any(x > 1, 0), x)
    check(lambda x: ops.where(ops.all(x > -1, 0), 1.0, 2.0), x)
    check(lambda x: ops.argmax(x, 0), x)
    check(lambda x: ops.sum(ops.cast(x[:-1] * 10, dt.int8), dim=0), x)
    check(lambda x: ops.sum(ops.cast(x, dt.float16), dim=0), x, rtol=1e-2)
    check(lambda x: ops.var(x, 0), x[:-1])


@pytest.mark.parametrize("axes", [(0, 2), (0, 2, 3), (1,), (0, 1)], ids=str)
def test_sums_over_axes_in_the_middle_and_around_are_right(axes):
    x = np.random.default_rng(0).normal(size=(3, 5, 7, 13)).astype(np.float32)
    check(lambda x: ops.sum(x, dim=axes), x, rtol=1e-4)
