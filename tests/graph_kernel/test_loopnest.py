"""Clusters as machine code, as text, and in NumPy agree; axes collapse; what is no single kernel is refused."""
import ast
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, check, tensor                                                              # noqa: E402

import mindlite as ms                                                                                   # noqa: E402
from mindlite import ops                                                                                # noqa: E402
from mindlite.backend.loops import INTERLEAVE, PARALLEL, UNROLL_ALL                                                # noqa: E402
from mindlite.backend.target import current                                                             # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.common.dim import Symbol                                                                  # noqa: E402
from mindlite.graph_kernel import CannotFuse, fusable, lowering                                         # noqa: E402
from mindlite.graph_kernel.loopnest import build                                                        # noqa: E402
from mindlite.backend.printers.lower_llvm import emit                                                       # noqa: E402
from run_text import assembly                                                                           # noqa: E402
from mindlite.graph_kernel.schedule import Branch, Fold, Lanes, Let, Loop, bound_once, schedule         # noqa: E402
from mindlite.mindir.abstract import AbstractScalar                                                     # noqa: E402
from mindlite.mindir.scalar import Reduce, index_var, walk                                              # noqa: E402

SHAPES = [(), (1,), (7,), (0,), (3, 5), (1, 5), (5, 1), (2, 3, 4), (0, 3), (3, 0), (2, 1, 3), (4, 33)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_chain_of_elementwise_operators_is_one_loop(shape):
    w = Writer(x=tensor("float32", *shape), y=tensor("float32", *shape))
    lowered = check(w.graph(w(c.mul, w(c.tanh, w(c.add, w.x, w.y)), 2.0)))
    loops = [s for s in lowered.nest.body if isinstance(s, Loop)]
    assert len(loops) == (any(s != 1 for s in shape)) and not any(isinstance(s, Loop) for x in loops for s in x.body)


@pytest.mark.parametrize("a, b", [((4, 5), (5,)), ((4, 5), (1, 5)), ((4, 5), (4, 1)), ((4, 5), (1, 1)), ((4, 5), ()),
                                  ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((1, 4), (3, 1)), ((0, 4), (1, 4))])
def test_broadcast_operands_read_index_zero(a, b):
    w = Writer(x=tensor("float32", *a), y=tensor("float32", *b))
    check(w.graph(w(c.sub, w.x, w.y), w(c.mul, w.y, w.x)))


@pytest.mark.parametrize("axis", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_over_leading_middle_and_trailing_axes(axis, keepdims):
    for shape in [(3, 4, 5), (30, 2, 300), (1, 20, 1), (2, 0, 3), (0, 2, 2)]:
        w = Writer(x=tensor("float32", *shape))
        check(w.graph(w(c.reduce_sum, w(c.square, w.x), axis=axis, keepdims=keepdims)), rtol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float64"])
def test_other_reductions(name, axis, dtype):
    w = Writer(x=tensor(dtype, 6, 20))
    x = c.sample(tensor(dtype, 6, 20), np.random.default_rng(1))
    x[3, 4] = x[1, 7] = 3 if dtype == "uint8" else -5
    check(w.graph(w(getattr(c, name), w.x, axis=axis)), [x], rtol=1e-5)


@pytest.mark.parametrize("length", [2, 7, 8, 9, 16, 17])
def test_short_rows_are_unrolled_so_that_vectors_are_made_of_rows(length):
    for rows in (3, 100):
        w = Writer(x=tensor("float32", rows, length))
        shifted = w(c.sub, w.x, w(c.reduce_max, w.x, axis=(1,), keepdims=True))
        for value, calls in ((shifted, False), (w(c.exp, shifted), True)):
            made = w(c.div, value, w(c.reduce_sum, value, axis=(1,), keepdims=True))
            nest = check(w.graph(made, w(c.argmax, value, axis=(1,))), rtol=1e-5).nest
            assert isinstance(nest.extents[nest.outputs[0].loops[-1]], int) == (length <= (8 if calls else 16))


def is_unrolled(nest, loop):
    return isinstance(nest.extents[loop], int)


@pytest.mark.parametrize("side, unrolled", [(2, True), (5, True), (7, False), (14, False)])
def test_pictures_are_unrolled_only_where_all_of_their_elements_are(side, unrolled):
    """LLVM makes no vectors of a literal loop of more elements than it unrolls."""
    w = Writer(x=tensor("float32", 3, 6, side, side))
    nest = check(w.graph(w(c.reduce_sum, w.x, axis=(2, 3))), rtol=1e-5).nest
    fold, = {e for e in walk([nest.outputs[0].value]) if isinstance(e, Reduce)}
    assert is_unrolled(nest, fold.fields[1][-1]) == unrolled
    w = Writer(x=tensor("bfloat16", 3, 6, side, side), y=tensor("bfloat16", 6, 1, 1))
    nest = check(w.graph(w(c.mul, w.x, w.y)), rtol=1e-2).nest
    assert is_unrolled(nest, nest.outputs[0].loops[-1]) == unrolled


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("length", [3, 8, 13, 40])
def test_short_rows_beside_what_is_repeated_along_them_are_unrolled(dtype, length):
    for other in ((length,), (50, 1)):
        w = Writer(x=tensor(dtype, 50, length), y=tensor(dtype, *other))
        nest = check(w.graph(w(c.add, w(c.mul, w.x, 0.5), w.y)), rtol=1e-2).nest
        assert is_unrolled(nest, nest.outputs[0].loops[-1]) == (length <= 16)
    w = Writer(x=tensor(dtype, 50, length), y=tensor(dtype, 50, length))
    assert not is_unrolled(*(lambda nest: (nest, nest.outputs[0].loops[-1]))(check(w.graph(w(c.add, w.x, w.y)), rtol=1e-2).nest))


def test_no_copies_are_made_of_loops_whose_length_is_an_argument():
    """The channels of a group are literal, the pixels are not: copies of their loop for each channel would only be more code."""
    w = Writer(x=tensor("float32", 6, 32, 50), y=tensor("float32", 32, 1), z=tensor("float32", 6, 4))
    groups = w(c.reshape, w(c.mul, w.x, w.y), shape=(6, 8, 4 * 50))
    nest = lowering(w.graph(w(c.reduce_sum, groups, axis=(2,)))).nest
    assert 4 in [nest.extents[v] for e in walk([nest.outputs[0].value]) if isinstance(e, Reduce) for v in e.fields[1]]
    assert UNROLL_ALL not in emit(nest)
    assert UNROLL_ALL in emit(lowering(w.graph(w(c.reduce_sum, w(c.mul, w.z, w.z), axis=(1,)))).nest)


@pytest.mark.parametrize("shape", [(60, 16, 4), (6, 16, 16)])
def test_to_say_that_iterations_are_apart_changes_no_code(shape):
    """LLVM compares no loads and stores of a loop of which it makes no vectors, as of one around literal rows."""
    w = Writer(x=tensor("float32", *shape), y=tensor("float32", *shape[:-1], 1))
    rows = w(c.reduce_max, w.x, axis=tuple(range(1, len(shape))), keepdims=True)
    text = emit(check(w.graph(w(c.mul, w(c.sub, w.x, rows), w.y))).nest)
    assert f'"{PARALLEL}"' in text and "distinct !{ }" in text and ", !llvm.access.group !" in text
    assert assembly(text) == assembly(text.replace(f'"{PARALLEL}"', '"nothing"'))


def test_of_sums_that_are_no_vectors_nothing_is_said_on_stderr(capfd):
    """LLVM would warn of a loop for which vectors were demanded and not made."""
    w = Writer(x=tensor("float32", 30, 50, 70))
    sums = w(c.reduce_sum, w(c.exp, w(c.reduce_max, w.x, axis=(2,))), axis=(1,))
    assert "llvm.loop.vectorize.width" in emit(check(w.graph(sums), rtol=1e-5).nest)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
@pytest.mark.parametrize("length", [17, 18, 20, 23, 24, 31])
def test_the_end_of_a_row_of_narrow_elements_is_read_no_further(dtype, length):
    w = Writer(x=tensor(dtype, 4, length), y=tensor(dtype, length))
    check(w.graph(w(c.add, w(c.mul, w.x, 2), w.y)), rtol=1e-2)
    w = Writer(x=tensor(dtype, 4, length))
    check(w.graph(w(c.reduce_max, w.x, axis=(1,))), rtol=1e-2)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "argmax", "argmin", "reduce_sum"])
def test_a_nan_wins_every_reduction_and_argmax_gives_the_first(name):
    x = np.random.default_rng(0).standard_normal((3, 70)).astype(np.float32)
    x[1, 40] = x[1, 50] = np.nan
    x[2, :] = -np.inf
    for axis in [(1,), (0,)]:
        w = Writer(x=tensor("float32", 3, 70))
        check(w.graph(w(getattr(c, name), w.x, axis=axis)), [x])


@pytest.mark.parametrize("name", ["reduce_any", "reduce_all"])
def test_any_and_all(name):
    for axis in [(0,), (1,), (0, 1)]:
        w = Writer(x=tensor("float32", 4, 9), y=tensor("float32", 4, 9))
        check(w.graph(w(getattr(c, name), w(c.less, w.x, w.y), axis=axis)))


def test_a_long_float32_sum_is_as_accurate_as_pairwise_summation():
    n = 1_000_003
    w = Writer(x=tensor("float32", n))
    graph = w.graph(w(c.reduce_sum, w.x, axis=(0,)))
    x = np.random.default_rng(0).random(n).astype(np.float32)
    out, = c.execute(lowering(graph), [x])
    exact = x.astype(np.float64).sum()
    assert abs(out - exact) <= 2e-6 * exact and abs(np.add.reduce(x) - exact) <= 2e-6 * exact


def test_softmax_is_one_kernel_row_by_row():
    for shape in [(5, 40), (2, 3, 17), (4, 1), (0, 3), (33,)]:
        check(c.softmax_graph(*shape))
    nest = lowering(c.softmax_graph(5, 40)).nest
    row, = nest.body
    assert [type(s) for s in row.body].count(Fold) == 2 and row.parallel


def test_layer_norm_with_three_results_is_one_kernel():
    for shape in [(6, 40), (3, 2, 11)]:
        check(c.layer_norm_graph(*shape), rtol=1e-5)


def test_a_column_sum_runs_over_lanes():
    w = Writer(x=tensor("float32", 50, 700))
    lowered = check(w.graph(w(c.reduce_sum, w.x, axis=(0,))), rtol=1e-5)
    loop, = lowered.nest.body
    assert loop.tiled and isinstance(loop.body[-1], Lanes)


def test_a_column_sum_with_a_number_of_each_row_runs_over_lanes():
    """The gradient of a scale: sum over rows of (x - mean) / deviation * dout."""
    w = Writer(x=tensor("float32", 70, 300), mean=tensor("float32", 70, 1), scale=tensor("float32", 70, 1),
               dout=tensor("float32", 70, 300))
    normal = w(c.mul, w(c.sub, w.x, w.mean), w.scale)
    nest = check(w.graph(w(c.reduce_sum, w(c.mul, w.dout, normal), axis=(0,))), rtol=1e-4, atol=1e-5).nest
    loop, = nest.body
    assert loop.tiled and isinstance(loop.body[-1], Lanes)


def test_column_statistics_stitch_over_lanes():
    w = Writer(x=tensor("float32", 40, 300))
    mean = w(c.divide_by_size, w.x, w(c.reduce_sum, w.x, axis=(0,), keepdims=True), axis=(0,))
    var = w(c.reduce_sum, w(c.square, w(c.sub, w.x, mean)), axis=(0,), keepdims=True)
    check(w.graph(mean, var), rtol=1e-5)


@pytest.mark.parametrize("perm", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (0, 1, 2)])
def test_transposes_fuse_with_their_neighbours(perm):
    w = Writer(x=tensor("float32", 3, 4, 5))
    check(w.graph(w(c.tanh, w(c.transpose, w(c.neg, w.x), perm=perm))))


def test_slices_pads_and_gathers():
    w = Writer(x=tensor("float32", 3, 20))
    check(w.graph(w(c.neg, w(c.cut, w.x, start=2, step=3, size=5))))
    w = Writer(x=tensor("float32", 3, 20))
    check(w.graph(w(c.tanh, w(c.pad, w(c.square, w.x), before=4, after=2))))
    w = Writer(x=tensor("float32", 6, 5), i=tensor("int32", 2, 3))
    x = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    i = np.array([[0, 5, 2], [3, 3, 1]], np.int32)
    check(w.graph(w(c.tanh, w(c.gather, w.x, w.i))), [x, i])


def test_a_pad_never_reads_outside_its_operand():
    """An operand of no elements, far from any mapped page: only the guard keeps the loads from happening."""
    w = Writer(x=tensor("float32", 2, 0))
    check(w.graph(w(c.pad, w.x, before=40, after=60)))


def test_a_reshape_between_elementwise_operators_collapses():
    w = Writer(x=tensor("float32", 4, 6))
    lowered = check(w.graph(w(c.tanh, w(c.reshape, w(c.neg, w.x), shape=(2, 3, 4)))))
    loop, = lowered.nest.body
    assert not any(isinstance(s, Loop) for s in loop.body) and "%" not in lowered.kernel.source
    w = Writer(x=tensor("float32", 4, 6), b=tensor("float32", 6))
    check(w.graph(w(c.tanh, w(c.reshape, w(c.add, w.x, w.b), shape=(8, 3)))))
    w = Writer(x=tensor("float32", 1, 6))
    assert "%" not in check(w.graph(w(c.tanh, w(c.reshape, w(c.neg, w.x), shape=(6,))))).kernel.source


def test_an_operator_with_two_results():
    w = Writer(x=tensor("float32", 5, 30))
    m = w(c.moments, w.x)
    check(w.graph(w.item(m, 0), w(c.neg, w.item(m, 1))), rtol=1e-5)


def test_dynamic_sizes_are_arguments():
    ns, ms = Symbol("N"), Symbol("M")
    n, m = ns.dim, ms.dim
    w = Writer(x=tensor("float32", n, m), y=tensor("float32", m))
    graph = w.graph(w(c.tanh, w(c.mul, w.x, w.y)))
    for sizes in [(3, 5), (1, 1), (0, 4), (4, 0), (17, 100)]:
        lowered = check(graph, env={ns: sizes[0], ms: sizes[1]})
    assert lowered.sizes == (m, n) or lowered.sizes == (n, m)
    graph = c.softmax_graph(n, m)
    for sizes in [(3, 5), (1, 1), (0, 4), (17, 100)]:
        check(graph, env={ns: sizes[0], ms: sizes[1]})


def test_a_dynamic_size_is_a_number_in_an_expression():
    ns, ms = Symbol("N"), Symbol("M")
    for sizes in [(3, 5), (1, 1), (17, 100)]:
        check(c.layer_norm_graph(ns.dim, ms.dim), env={ns: sizes[0], ms: sizes[1]}, rtol=1e-4, atol=1e-5)


def test_equal_kernels_of_different_static_shapes_are_one():
    texts = {emit(schedule(build(c.softmax_graph(*shape)))) for shape in [(30, 40), (50, 60), (99, 17)]}
    assert len(texts) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_computes_in_float32_and_rounds_at_each_operator(dtype):
    w = Writer(x=tensor(dtype, 3, 50), y=tensor(dtype, 50))
    graph = w.graph(w(c.mul, w(c.add, w.x, w.y), w.y), w(c.neg, w.x))
    rng = np.random.default_rng(0)
    inputs = [c.sample(p.abstract, rng) for p in graph.parameters]
    want = c.evaluate_graph(graph, inputs)
    for out, expected in zip(c.execute(lowering(graph), inputs), want):
        np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16))
    check(c.softmax_graph(4, 30, dtype=dtype))
    w = Writer(x=tensor(dtype, 5000))
    check(w.graph(w(c.reduce_sum, w.x, axis=(0,))), text=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_casts_to_half_precision_round_once_to_even(dtype):
    rng = np.random.default_rng(0)
    half = dt.dtype(dtype)
    with np.errstate(over="ignore"):
        grid = (rng.standard_normal(2000) * 10.0 ** rng.integers(-9, 6, 2000)).astype(half.numpy).astype(np.float64)
    spread = np.spacing(np.abs(grid).astype(np.float32)).astype(np.float64)
    near = np.concatenate([grid, grid * (1 + 2.0 ** -11), grid * (1 + 2.0 ** -9), grid + spread * 1e-9,
                           [0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, 65519.999, 65520.0, 1e-8, 2.0 ** -25]])
    for source in ("float64", "float32"):
        x = near.astype(source)
        w = Writer(x=tensor(source, len(x)))
        graph = w.graph(w(c.cast_to, w.x, dtype=half))
        out, = c.execute(lowering(graph), [x])
        with np.errstate(over="ignore"):
            if dtype == "float16":
                want = x.astype(np.float16)
            else:                                               # ml_dtypes rounds a double twice
                want = _bfloat16(x)
        same = (out.view(np.uint16) == want.view(np.uint16)) | (np.isnan(x) & np.isnan(out.astype(np.float32)))
        assert same.all(), (x[~same], out[~same], want[~same])


def _bfloat16(x):
    """The nearest bfloat16, ties to even, by comparing the two neighbours in double."""
    low = x.astype(np.float32).view(np.uint32) & np.uint32(0xffff0000)
    low = np.where(np.abs(low.view(np.float32).astype(np.float64)) > np.abs(x), low - np.uint32(0x10000), low)
    high = low + np.uint32(0x10000)
    with np.errstate(invalid="ignore"):
        a, b = (v.astype(np.uint32).view(np.float32).astype(np.float64) for v in (low, high))
        up = (np.abs(b - x) < np.abs(x - a)) | ((np.abs(b - x) == np.abs(x - a)) & ((low >> 16) & 1 == 1))
    finite = np.isfinite(x)
    bits = np.where(finite, np.where(up & (x != a), high, low), x.astype(np.float32).view(np.uint32))
    return (bits >> 16).astype(np.uint16).view(dt.bfloat16.numpy)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap_and_divide_as_in_numpy(dtype):
    info = np.iinfo(dtype)
    edge = np.array([info.min, info.min + 1, 0, 1, 2, 3, 7, info.max - 1, info.max, 100], dtype)
    if info.min < 0:
        edge = np.append(edge, np.array([-1, -2, -7, -100], dtype))
    a, b = (v.ravel() for v in np.meshgrid(edge, edge))
    for prim in (c.add, c.sub, c.mul, c.floordiv, c.mod, c.maxi, c.mini):
        w = Writer(x=tensor(dtype, len(a)), y=tensor(dtype, len(a)))
        check(w.graph(w(prim, w.x, w.y)), [a, b], text=False)
    w = Writer(x=tensor(dtype, len(a)))
    check(w.graph(w(c.neg, w.x)), [a])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_division_and_remainder_of_floats_are_numpys(dtype):
    edge = np.array([0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 7.5, -7.5, 1e-30, 1e30, np.inf, -np.inf, np.nan, 3.0], dtype)
    a, b = (v.ravel() for v in np.meshgrid(edge, edge))
    for prim in (c.floordiv, c.mod):
        w = Writer(x=tensor(dtype, len(a)), y=tensor(dtype, len(a)))
        graph = w.graph(w(prim, w.x, w.y))
        out, = c.execute(lowering(graph), [a, b])
        want, = c.evaluate_graph(graph, [a, b])
        np.testing.assert_array_equal(out, want)
        np.testing.assert_array_equal(np.signbit(out)[out == 0], np.signbit(want)[out == 0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("have", ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("want", ["bool", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32",
                                  "float64"])
def test_casts_are_astype(have, want):
    x = c.sample(tensor(have, 40), np.random.default_rng(0))
    w = Writer(x=tensor(have, 40))
    check(w.graph(w(c.cast_to, w.x, dtype=dt.dtype(want))), [x], text=have != "bool")


def test_comparisons_selections_and_bools():
    w = Writer(x=tensor("float32", 30), y=tensor("float32", 30))
    mask = w(c.invert, w(c.less, w.x, w.y))
    check(w.graph(w(c.select, mask, w.x, w.y), mask))


def test_scalars_are_arguments():
    w = Writer(x=tensor("float32", 30), s=AbstractScalar(float))
    check(w.graph(w(c.scale, w.x, w.s)), [np.arange(30, dtype=np.float32), 0.25])
    w = Writer(x=tensor("int32", 30), s=AbstractScalar(int))
    check(w.graph(w(c.scale, w.x, w.s)), [np.arange(30, dtype=np.int32), -3])


def test_the_source_names_the_users_line_and_is_python():
    w = Writer("my fused", x=tensor("float32", 3, 4))
    here = sys._getframe().f_lineno
    graph = w.graph(w(c.tanh, w(c.neg, w.x, line=here), line=here + 1))
    source = lowering(graph).kernel.source
    assert f"clusters.py:{here}" in source and f"clusters.py:{here + 1}" in source
    ast.parse(source)


def test_what_would_be_computed_again_is_refused():
    w = Writer(x=tensor("float32", 300, 400))
    column = w(c.reduce_sum, w.x, axis=(0,), keepdims=True)
    assert "again" in fusable(w.graph(w(c.sub, w.x, column)))
    w = Writer(x=tensor("float32", 300, 400))
    everything = w(c.reduce_sum, w.x, axis=(0, 1), keepdims=True)
    assert "again" in fusable(w.graph(w(c.sub, w.x, everything)))
    w = Writer(x=tensor("float32", 30, 40))
    everything = w(c.reduce_sum, w.x, axis=(0, 1), keepdims=True)
    check(w.graph(w(c.sub, w.x, everything)), rtol=1e-5, atol=1e-4)      # small enough to run in one piece


@pytest.mark.parametrize("rows, share", [(4, False), (4096, True)])
def test_long_loops_after_a_sum_of_few_numbers_are_shared_by_threads(rows, share):
    """One thread runs the kernel of such a sum: long loops are no part of it."""
    w = Writer(x=tensor("float32", rows, 64), g=tensor("float32", 64))
    total = w(c.reduce_sum, w.g, axis=(0,), keepdims=True)
    graph = w.graph(w(c.mul, w.x, total))
    if share:
        assert "threads would not share" in fusable(graph)
    else:
        assert fusable(graph) is None and schedule(build(graph)).parallel is None


def test_results_without_a_common_outer_axis_are_refused():
    w = Writer(x=tensor("float32", 3, 4), y=tensor("float32", 5))
    with pytest.raises(CannotFuse, match="outer axis"):
        lowering(w.graph(w(c.neg, w.x), w(c.neg, w.y)))
    w = Writer(x=tensor("complex64", 3))
    with pytest.raises(CannotFuse, match="complex"):
        lowering(w.graph(w(c.neg, w.x)))


def test_an_expression_may_be_deeper_than_pythons_stack_allows_for_each_level_of_it():
    deep = c.elementwise("deep", lambda x: sum(((x + k) * x for k in range(150)), x), lambda x: x)
    w = Writer(x=tensor("float32", 40))
    graph = w.graph(w(deep, w.x))
    x = np.linspace(-1, 1, 40, dtype=np.float32)
    want = x + 150 * x * x + sum(range(150)) * x
    np.testing.assert_allclose(c.execute(lowering(graph), [x])[0], want, rtol=1e-4, atol=1e-2)


def test_kernels_are_vectorised():
    w = Writer(x=tensor("float32", 500, 4), y=tensor("float32", 500, 4))
    code = assembly(emit(schedule(build(w.graph(w(c.tanh, w(c.exp, w(c.mul, w.x, w.y))))))))
    assert any(line.split()[0] in ("vmulps", "mulps", "fmul") and ("mm" in line or ".4s" in line)
               for line in code.splitlines() if line.split())
    assert "callq" not in code and "exp" not in code


def test_long_arithmetic_takes_four_vectors_a_turn_and_short_one_what_llvm_likes():
    w = Writer(x=tensor("float32", 500, 4))
    assert INTERLEAVE in emit(schedule(build(w.graph(w(c.tanh, w.x)))))
    for short in (lambda x: w(c.mul, x, x), lambda x: w(c.maxi, x, x)):
        w = Writer(x=tensor("float32", 500, 4))
        assert "llvm.loop" not in emit(schedule(build(w.graph(short(w.x)))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_item_of_a_loop_of_long_arithmetic_is_computed_once(dtype):
    whole = current().wide
    for count in [0, 1, 7, 8, 9, whole - 1, whole, whole + 1, 2 * whole, 3 * whole + 17, 10_003]:
        w = Writer(x=tensor(dtype, count))
        check(w.graph(w(c.mul, w(c.tanh, w.x), w.x)))


@pytest.mark.parametrize("shape, perm", [((40, 50), (1, 0)), ((3, 33, 67), (0, 2, 1)), ((32, 64), (1, 0)),
                                         ((2, 20, 3, 5), (0, 2, 3, 1)), ((1, 40), (1, 0)), ((0, 3), (1, 0))])
def test_a_transpose_runs_in_squares(shape, perm):
    w = Writer(x=tensor("float32", *shape), y=tensor("float32", *(shape[p] for p in perm)))
    lowered = check(w.graph(w(c.add, w(c.transpose, w.x, perm=perm), w.y)))
    loops = [s for s in lowered.nest.body if isinstance(s, Loop)]
    loops += [s for loop in loops for s in loop.body if isinstance(s, Loop)]
    assert any(loop.squares for loop in loops) == (sum(s != 1 for s in shape) > 1 and shape[perm[-1]] > 16)


@pytest.mark.parametrize("shape", [(7, 300), (16, 41), (300, 7)])
def test_short_rows_of_a_transpose_are_unrolled(shape):
    w = Writer(x=tensor("float32", *shape))
    nest = check(w.graph(w(c.neg, w(c.transpose, w.x, perm=(1, 0))))).nest
    assert isinstance(nest.extents[nest.outputs[0].loops[-1]], int) == (shape[0] <= 16)


def test_rows_of_a_transpose_that_are_folded_and_written_are_not_read_down_its_columns():
    w = Writer(x=tensor("float32", 300, 70))
    rows = w(c.transpose, w.x, perm=(1, 0))
    reason = fusable(w.graph(w(c.sub, rows, w(c.reduce_max, rows, axis=(1,), keepdims=True))))
    assert reason == "a reduction would walk down columns for results that are written in rows"
    x = c.sample(tensor("float32", 300, 70), np.random.default_rng(0))
    f = ms.jit(lambda x: x.T - ops.amax(x.T, 1, True))
    np.testing.assert_array_equal(f(ms.Tensor(x)).asnumpy(), x.T - x.T.max(1, keepdims=True))


def test_squares_are_cut_at_the_ends_of_a_chunk():
    w = Writer(x=tensor("float32", 37, 53))
    x = np.arange(37 * 53, dtype=np.float32).reshape(37, 53)
    lowered = lowering(w.graph(w(c.transpose, w.x, perm=(1, 0))))
    for chunks in (1, 2, 7, 53):
        np.testing.assert_array_equal(c.execute(lowered, [x], chunks=chunks)[0], x.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "bool"])
def test_transposes_of_every_dtype_in_whole_and_broken_squares(lanes, dtype):
    """float32 moves in vectors each way where a square is whole; what is left, and other dtypes, number by number."""
    w = Writer(x=tensor(dtype, 3, 75, 70))
    graph = w.graph(w(c.transpose, w.x, perm=(0, 2, 1)))
    check(graph)
    assert ("shufflevector" in emit(schedule(build(graph)))) == (dtype == "float32")


def test_what_a_square_reads_twice_is_read_from_its_copy_both_times(lanes):
    w = Writer(x=tensor("float32", 70, 64), y=tensor("float32", 64, 70))
    t = w(c.transpose, w.x, perm=(1, 0))
    graph = w.graph(w(c.add, w(c.mul, t, w(c.tanh, t)), w.y), w(c.mul, t, w.y))
    check(graph, rtol=1e-5)
    assert emit(schedule(build(graph))).count(f"load <{lanes} x float>") == lanes      # one vector for each of so many rows


def test_squares_inside_a_part_of_a_batch_find_their_rows():
    """What the outermost loop alone decides, as x[n // 8, .., n % 8, ..], is part of the whole square's address."""
    w = Writer(x=tensor("float32", 5, 40, 8, 66))
    t = w(c.transpose, w.x, perm=(0, 2, 3, 1))
    check(w.graph(w(c.tanh, w(c.reshape, t, shape=(40, 66, 40)))), rtol=1e-5)


def test_rows_that_a_reshape_cuts_are_no_neighbours_of_one_another():
    """x[r // 8, c, r % 8] as [r, c]: along r numbers are neighbours for a piece only, so they move one by one."""
    w = Writer(x=tensor("float32", 8, 70, 8))
    check(w.graph(w(c.reshape, w(c.transpose, w.x, perm=(0, 2, 1)), shape=(64, 70))))


def test_a_value_with_a_name_before_a_branch_gets_no_other_one_in_it():
    a, b, c = (index_var(name, 4) for name in "abc")
    inside, after = Let(a), Let(a)
    statements = [Let(b), Branch(c, ([inside], a), ([Let(b)], b)), after]
    kept = bound_once(statements, {a})
    assert kept == statements[:2] and kept[1].then[0] == [] and kept[1].otherwise[0] == []
    again = [Branch(c, ([inside], a), ([], b)), after]
    assert bound_once(again, set()) == again and again[0].then[0] == [inside]
