"""A result is the same, to the last bit, wherever its work is cut: in one piece, item by item, on any number of threads.

The launcher is called as printed code calls it, with a cost that makes it cut, and the kernels by hand at places of its own
choice and at others. Sizes are odd: no axis is a whole number of vectors, tiles or blocks.
"""
import ctypes

import numpy as np
import pytest

from mindlite.backend.cpu import conv2d_plan, library_kernel
from mindlite.backend.cpu.convolution import output_sizes
from mindlite.backend.cpu.convolution_ways import WAYS
from mindlite.backend.launcher import default_threads, launch_address, set_threads
from mindlite.backend.target import current
from mindlite.common import dtype as dtypes

LAUNCH = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)
THREADS = (1, 2, 3, 4, 7)
#                   N  C   H   W   O KH KW SH SW PT PB PL PR DH DW  G
CONVOLUTIONS = [
    ("winograd",  (2, 19, 13, 37, 21, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
    ("direct",    (3, 5, 17, 41, 11, 5, 3, 1, 1, 2, 2, 1, 1, 1, 1, 1)),
    ("patches",   (5, 61, 9, 11, 13, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1)),            # of more channels than fit at a time
    ("patches",   (3, 7, 31, 29, 9, 3, 5, 2, 3, 1, 0, 2, 1, 1, 2, 1)),
    ("depthwise", (3, 7, 19, 23, 14, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 7)),
    ("product",   (7, 13, 5, 9, 17, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1)),
    ("dot",       (3, 11, 15, 13, 9, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1)),
]


@pytest.fixture(autouse=True)
def threads():
    """The threads that a test has asked for are ended."""
    yield
    set_threads(default_threads())


def cuts_of(extent):
    """Ways to cut [0, extent): whole, item by item at the ends, in two odd parts."""
    odd = sorted({0, 1, 2, extent // 3, extent // 3 + 1, extent - 1, extent} & set(range(extent + 1)))
    return [(0, extent), (0, extent // 2, extent), odd]


def same_bits(call, kernel, arrays, sizes, extent, written=-1):
    """Run a kernel in every way; arrays[written] is its result."""
    out = arrays[written]
    before, results = out.copy(), []
    for cuts in cuts_of(extent):
        out[...] = before
        for begin, end in zip(cuts, cuts[1:]):
            call(kernel, arrays, sizes, begin=begin, extent=end)
        results.append((f"cut at {cuts}", out.copy()))
    launch, args = LAUNCH(launch_address()), np.array([a.ctypes.data for a in arrays] + list(sizes), np.int64)
    for count in THREADS:
        assert set_threads(count)
        for iteration in range(2):
            out[...] = before
            assert launch(kernel.address, args.ctypes.data, extent, current().parallel_from) == 0
            results.append((f"{count} threads, iteration {iteration}", out.copy()))
    first = results[0][1]
    for how, result in results[1:]:
        np.testing.assert_array_equal(result.view(np.uint8), first.view(np.uint8), err_msg=how)


@pytest.mark.parametrize("way, sizes, dtype", [(way, sizes, dtype) for way, sizes in CONVOLUTIONS
                                               for dtype in (dtypes.float32, dtypes.float64)[:1 + (way != "winograd")]])
def test_a_number_does_not_depend_on_how_the_work_is_cut(call, lanes, way, sizes, dtype):
    rng = np.random.default_rng(0)
    n, c, h, w, o, kh, kw, *_, g = sizes
    x, weights, dout = (rng.standard_normal(s).astype(dtype.numpy)
                        for s in ((n, c, h, w), (o, c // g, kh, kw), (n, o, *output_sizes(sizes))))
    of = {"dot": ["backward_weights"], "winograd": ["forward", "backward_data", "backward_weights"],
             "depthwise": ["forward", "backward_data", "backward_weights"]}
    for kind in of.get(way, ["forward", "backward_data"]):
        left, right, shape = {"forward": (x, weights, dout.shape), "backward_data": (dout, weights, x.shape),
                              "backward_weights": (x, dout, weights.shape)}[kind]
        size, steps = WAYS[way](kind, dtype, sizes, target=current())
        places = {"left": left, "right": right, "out": np.zeros(shape, dtype.numpy), "workspace": np.zeros(size, dtype.numpy)}
        for step in steps:
            written = step.arrays.index("out" if "out" in step.arrays else "workspace")
            same_bits(call, library_kernel(**step.kernel), [places[name] for name in step.arrays], step.sizes,
                      step.extent or 1, written)


PRODUCTS = [(300, 257, 129), (257, 403, 600), (70, 700, 1500), (33, 1000, 300), (1, 5003, 40), (5003, 1, 40), (513, 257, 400),
            (200, 130, 3), (131, 17, 66)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("layout", [(False, False), (False, True), (True, False), (True, True)], ids=["nn", "nt", "tn", "tt"])
def test_a_product_of_any_layout_is_the_same_however_it_is_cut(call, lanes, layout, dtype):
    dtype, rng = dtypes.dtype(dtype), np.random.default_rng(0)
    for m, n, k in PRODUCTS[:None if dtype.bits == 32 and dtype.is_float else 2]:
        a, b = (rng.integers(-50, 50, s).astype(dtype.numpy) if not dtype.is_float else
                rng.standard_normal(s).astype(dtype.numpy)
                for s in ((k, m) if layout[0] else (m, k), (n, k) if layout[1] else (k, n)))
        kernel, pieces = library_kernel("matmul", dtype=dtype, transpose_a=layout[0], transpose_b=layout[1]), \
            current().product_pieces(m, n)
        assert pieces > 1 or max(m, n) < 128
        same_bits(call, kernel, [a, b, np.zeros((m, n), dtype.numpy)], [1, m, n, k, pieces], pieces)


def test_products_in_batches_and_by_panels_are_the_same_however_they_are_cut(call, lanes):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((11, 37, 65), (11, 65, 43)))
    for batched, left, right in (("both", a, b), ("a", a, b[0]), ("b", a[0], b)):
        kernel = library_kernel("matmul", dtype=dtypes.float32, batched=batched)
        same_bits(call, kernel, [left.copy(), right.copy(), np.zeros((11, 37, 43), np.float32)], [11, 37, 43, 65], 11)
    width = current().tile_vectors * current().lanes
    panels = rng.standard_normal((7, 300, width)).astype(np.float32)
    same_bits(call, library_kernel("panel_matmul", dtype=dtypes.float32),
              [rng.standard_normal((5, 300)).astype(np.float32), panels, np.zeros((5, 7 * width - 3), np.float32)],
              [5, 7 * width - 3, 300], 7)


@pytest.mark.parametrize("kind", ["max_forward", "max_backward", "avg_forward", "avg_backward"])
@pytest.mark.parametrize("window", [(2, 2, 2, 2, 1, 1), (3, 3, 1, 1, 1, 1), (3, 2, 2, 3, 2, 1)], ids=str)
def test_pooling_is_the_same_however_it_is_cut(call, lanes, kind, window):
    rng, (kh, kw, sh, sw, dh, dw) = np.random.default_rng(0), window
    n, c, h, w = 3, 5, 19, 37
    oh, ow = (h - dh * (kh - 1) - 1) // sh + 1, (w - dw * (kw - 1) - 1) // sw + 1
    x, dout = rng.standard_normal((n, c, h, w)).astype(np.float32), rng.standard_normal((n, c, oh, ow)).astype(np.float32)
    arrays = {"max_forward": [x, dout], "avg_forward": [x, dout], "max_backward": [x, dout, x.copy()],
              "avg_backward": [dout, x]}[kind]
    same_bits(call, library_kernel("pool2d", kind=kind, dtype=dtypes.float32, window=window), arrays,
              [n, c, h, w, oh, ow, 0, 0, 0, 0, 1, 0], n * c)


@pytest.mark.parametrize("tables, columns", [(1, 45), (9, 5)])
def test_sums_into_a_table_are_the_same_however_they_are_cut(call, lanes, tables, columns):
    rng = np.random.default_rng(0)
    indices, updates = rng.integers(0, 13, (100, 1)), rng.standard_normal((tables, 100, columns)).astype(np.float32)
    same_bits(call, library_kernel("index_add", dtype="float32", index="int64", depth=1),
              [indices, updates, np.zeros((tables, 13, columns), np.float32)], [tables, columns, 100, 13], max(tables, columns))


def test_the_plan_of_a_convolution_is_the_same_on_any_number_of_threads(lanes):
    for _, sizes in CONVOLUTIONS:
        plans = []
        for count in THREADS:
            set_threads(count)
            plans.append(conv2d_plan("forward", dtypes.float32, sizes))
        assert all(plan == plans[0] for plan in plans)
