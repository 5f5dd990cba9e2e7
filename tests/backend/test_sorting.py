"""Sorting: the kernel's order is NumPy's stable one, in both modes, for every dtype, any line and any number of threads."""
import ml_dtypes
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.cpu import library_kernel
from mindlite.backend.launcher import set_threads
from mindlite.common.errors import DTypeError

WHOLE = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SIZES = [(3, 1, 1), (5, 7, 1), (2, 63, 1), (2, 65, 3), (3, 200, 1), (2, 200, 37), (4, 9, 70), (1, 20000, 1), (0, 4, 1), (4, 0, 3)]


def numpy_type(dtype):
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def drawn(dtype, shape, seed=0):
    """Elements with many equals, of floats also zeros of both signs, NaN of both signs and infinities."""
    rng = np.random.default_rng(seed)
    kind = numpy_type(dtype)
    if dtype in WHOLE:
        if dtype == "bool":
            return rng.random(shape) < 0.5
        facts = np.iinfo(kind)
        wide = rng.integers(facts.min, facts.max, shape, kind, endpoint=True)
        return np.where(rng.random(shape) < 0.5, wide, rng.integers(0, 5, shape).astype(kind))
    x = rng.standard_normal(shape) * 50
    for value in (np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 3.0):
        x[rng.random(shape) < 0.08] = value
    return x.astype(kind)


def order(x, axis, descending):
    """The stable order in which NaN is the largest."""
    line = np.moveaxis(x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x, axis, -1)
    found = np.argsort(line[..., ::-1] if descending else line, axis=-1, kind="stable")
    found = (line.shape[-1] - 1 - found)[..., ::-1] if descending else found
    return np.moveaxis(found, -1, axis)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS])
def test_the_kernel_gives_the_bits_of_a_stable_sort(dtype, descending, call):
    kernel = library_kernel("sort", dtype=dtype, descending=descending)
    for rows, n, inner in SIZES:
        x = drawn(dtype, (rows, n, inner))
        values, indices = np.empty_like(x), np.empty(x.shape, np.int64)
        call(kernel, [x, values, indices], [n, inner], extent=rows * inner)
        wanted = order(x, 1, descending)
        np.testing.assert_array_equal(indices, wanted)
        assert values.tobytes() == np.take_along_axis(x, wanted, 1).tobytes()


def test_a_chunk_begins_and_ends_at_any_line(call):
    x = drawn("float32", (3, 50, 21))
    wanted = order(x, 1, False)
    values, indices = np.empty_like(x), np.empty(x.shape, np.int64)
    for begin, end in ((0, 5), (5, 40), (40, 41), (41, 63)):
        call(library_kernel("sort", dtype="float32", descending=False), [x, values, indices], [50, 21], begin=begin, extent=end)
    np.testing.assert_array_equal(indices, wanted)


def test_counting_and_radix_agree_with_every_width_of_vectors(lanes, call):
    kernel = library_kernel("sort", dtype="float32", descending=False)
    for n in (1, 15, 16, 17, 95, 96, 97, 130):
        x = drawn("float32", (4, n, 1), n)
        values, indices = np.empty_like(x), np.empty(x.shape, np.int64)
        call(kernel, [x, values, indices], [n, 1], extent=4)
        np.testing.assert_array_equal(indices, order(x, 1, False))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float32", "float64"])
def test_sort_and_argsort_are_numpys_in_both_modes(dtype, compiled):
    for shape, axis in (((), -1), ((0,), 0), ((3, 0, 2), 1), ((1,), 0), ((5, 40), -1), ((3, 9, 4), 1), ((130, 3), 0),
                        ((200, 300), 0)):
        x = drawn(dtype, shape) if shape else drawn(dtype, (1,)).reshape(())
        for descending in (False, True):
            def both(t):
                return (*ops.sort(t, axis, descending), ops.argsort(t, axis, descending))
            f = ms.jit(both, fullgraph=True) if compiled else both
            values, indices, alone = f(Tensor(x))
            wanted = order(x, axis, descending) if shape else np.zeros((), np.int64)
            assert values.dtype == Tensor(x).dtype and indices.dtype == ms.int64
            np.testing.assert_array_equal(indices.asnumpy(), wanted)
            np.testing.assert_array_equal(alone.asnumpy(), wanted)
            assert values.asnumpy().tobytes() == (np.take_along_axis(x, wanted, axis) if shape else x).tobytes()


def test_views_are_sorted_as_their_elements_stand():
    x = drawn("float32", (260, 120))
    t = Tensor(x)
    for view, array in ((t.T, x.T), (t[::2], x[::2]), (t[:, 3:90], x[:, 3:90]),
                        (ops.broadcast_to(t[:1], (200, 120)), np.repeat(x[:1], 200, 0))):
        for f in (lambda v: ops.sort(v, 0), ms.jit(lambda v: ops.sort(v, 0))):
            np.testing.assert_array_equal(f(view)[1].asnumpy(), order(array, 0, False))


def test_results_do_not_depend_on_the_threads():
    x = Tensor(drawn("float32", (301, 257)))
    found = []
    for threads in (1, 2, 3):
        set_threads(threads)
        try:
            found.append([y.asnumpy() for axis in (0, 1) for y in ms.jit(lambda v: ops.sort(v, axis))(x)])
        finally:
            set_threads(2)
    for other in found[1:]:
        for a, b in zip(found[0], other):
            assert a.tobytes() == b.tobytes()


def test_lines_of_any_number_and_length_are_one_native_graph():
    compiled = ms.jit(lambda x: ops.sort(x, 1), dynamic=1, fullgraph=True)
    for rows, n in ((0, 5), (1, 1), (7, 300), (300, 31), (2, 5000)):
        x = drawn("float32", (rows, n))
        np.testing.assert_array_equal(compiled(Tensor(x))[1].asnumpy(), order(x, 1, False))
    assert any(kernel.name.startswith("sort_") for kernel in compiled.kernels())


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_gradients_of_sorted_values_go_to_where_the_elements_stood(compiled):
    rng = np.random.default_rng(3)
    for shape, axis in (((40, 500), 1), ((500, 40), 0), ((7,), 0), ((3, 4, 5), 1)):
        x, w = rng.standard_normal(shape), rng.standard_normal(shape)

        def loss(t, u):
            return (ops.sort(t ** 3, axis, True)[0] * u).sum()
        gradient, double = ms.grad(loss), ms.grad(lambda t, u: (ms.grad(loss)(t, u) ** 2).sum())
        if compiled:
            gradient, double = ms.jit(gradient), ms.jit(double)
        place = np.empty(shape)
        np.put_along_axis(place, order(x ** 3, axis, True), w, axis)
        np.testing.assert_allclose(gradient(Tensor(x), Tensor(w)).asnumpy(), 3 * x ** 2 * place)
        np.testing.assert_allclose(double(Tensor(x), Tensor(w)).asnumpy(), 36 * x ** 3 * place ** 2)


def middle(x, axis, skip):
    """(value, index) by the stable order: of those that are no NaN where they are skipped, else the first NaN."""
    found, count = order(x, axis, False), x.shape[axis]
    numbers = (x == x).sum(axis, keepdims=True)
    lower = np.maximum(numbers - 1, 0) // 2
    found = np.take_along_axis(found, lower if skip else np.where(numbers < count, numbers, lower), axis)
    return np.take_along_axis(x, found, axis), found


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS])
def test_the_kernel_of_medians_reads_what_stands_in_the_middle_of_a_stable_sort(dtype, skip, call):
    kernel = library_kernel("median", dtype=dtype, skip=skip)
    for rows, n, inner in (s for s in SIZES if s[1]):
        for clean in (False, True):
            x = drawn(dtype, (rows, n, inner), n)
            x = np.where(x != x, np.array(1, x.dtype), x) if clean else x
            values, indices = np.empty((rows, 1, inner), x.dtype), np.empty((rows, 1, inner), np.int64)
            call(kernel, [x, values, indices], [n, inner], extent=rows * inner)
            wanted, place = middle(x, 1, skip)
            np.testing.assert_array_equal(indices, place)
            assert values.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_medians_and_their_gradients_are_those_of_the_sorted_row_in_both_modes(compiled):
    for dtype in ("float32", "bfloat16", "int16"):
        for shape, axis in (((1,), 0), ((7,), 0), ((5, 300), 1), ((300, 80), 0), ((3, 9, 4), 1)):
            x = drawn(dtype, shape)
            for name, skip in (("median", False), ("nanmedian", True)):
                def both(t):
                    return getattr(ops, name)(t, axis, True)
                values, indices = (ms.jit(both, fullgraph=True) if compiled else both)(Tensor(x))
                wanted, place = middle(x, axis, skip)
                np.testing.assert_array_equal(indices.asnumpy(), place)
                assert values.asnumpy().tobytes() == wanted.tobytes()
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((300, 80)), rng.standard_normal(80)

    def loss(t, u):
        return (ops.median(t ** 3, 0)[0] * u).sum()
    gradient, double = ms.grad(loss), ms.grad(lambda t, u: (ms.grad(loss)(t, u) ** 2).sum())
    if compiled:
        gradient, double = ms.jit(gradient), ms.jit(double)
    place = np.zeros(x.shape)
    np.put_along_axis(place, middle(x, 0, False)[1], w[None], 0)
    np.testing.assert_allclose(gradient(Tensor(x), Tensor(w)).asnumpy(), 3 * x ** 2 * place)
    np.testing.assert_allclose(double(Tensor(x), Tensor(w)).asnumpy(), 36 * x ** 3 * place ** 2)


def test_complex_numbers_have_no_order():
    assert library_kernel("sort", dtype="complex64", descending=False) is None
    with pytest.raises(DTypeError, match="no order"):
        ops.sort(Tensor(np.ones(3, np.complex64)))
