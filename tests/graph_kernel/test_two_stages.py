"""Reductions of everything: the same number, in rows that threads can share."""
import numpy as np
import pytest

from mindlite import Tensor, jit, ops
from mindlite.backend.target import current, using
from mindlite.common import dtype as dt
from mindlite.graph_kernel.two_stages import in_two_stages
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.primitive import bind, eval_rule, interpreting
from mindlite.mindir.scalar import Reduce, walk
from mindlite.ops.basic import reduce_sum
from mindlite.ops.evaluate import NumpyInterpreter
from mindlite.ops.reduction import reduce_any, reduce_max

LARGE = current().stages_from
SHAPES = [(LARGE,), (LARGE + 577,), (700, 500), (2, 3, 40000), (9, 7, 5000)]


def kernels(function, *args):
    run = jit(function)
    run(*args)
    variant, _, _ = run.compiled.select(args, {})
    return run, [lowered for _, lowered in variant.compiled.lowered.kernels]


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_and_extrema_of_everything_are_numpys(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    for function, expected in ((lambda x: ops.sum(x * x), np.square(x.astype(np.float64)).sum()),
                               (lambda x: ops.reduce_max(x), x.max()), (lambda x: ops.reduce_min(x), x.min()),
                               (lambda x: ops.mean(x + 1.0), (x.astype(np.float64) + 1).mean())):
        np.testing.assert_allclose(jit(function)(Tensor(x)).asnumpy(), expected, rtol=1e-6)


def test_a_nan_in_the_last_elements_wins_and_a_single_truth_is_found():
    x = np.zeros(LARGE + 577, np.float32)
    x[-1] = np.nan
    assert np.isnan(jit(lambda x: ops.reduce_max(x))(Tensor(x)).asnumpy())
    flags = Tensor(x != 0)
    assert jit(lambda x: ops.reduce_any(x))(flags).asnumpy() and not jit(lambda x: ops.reduce_all(x))(flags).asnumpy()


def test_integers_add_up_exactly():
    x = np.random.default_rng(0).integers(-2**60, 2**60, LARGE + 5)
    assert jit(lambda x: ops.sum(x))(Tensor(x)).asnumpy() == x.sum()


@pytest.mark.parametrize("shape", [(LARGE + 577,), (700, 500), (9, 7, 5000)])
def test_the_first_stage_has_an_axis_for_threads(shape):
    _, made = kernels(lambda x: ops.sum(ops.exp(x)), Tensor(np.zeros(shape, np.float32)))
    extents = sorted(lowered.extent for lowered in made)
    assert extents[0] == 1 and extents[-1] >= 32 and len(made) <= 3


def test_the_number_of_threads_does_not_change_the_sum():
    from mindlite.backend.launcher import default_threads, set_threads
    x = Tensor(np.random.default_rng(0).normal(size=(1 << 18) + 99).astype(np.float32))
    run = jit(lambda x: ops.sum(x * 1.7))
    try:
        totals = [run(x).asnumpy() for threads in (1, 2, 3, 7) if set_threads(threads)]
    finally:
        set_threads(default_threads())
    assert totals and all(t == totals[0] for t in totals)


def test_small_reductions_half_precision_and_reductions_of_one_axis_stay_as_they_are():
    for abstract, axis in ((AbstractTensor(dt.float32, (100, 100)), None), (AbstractTensor(dt.float32, (4000, 4000)), 1),
                           (AbstractTensor(dt.float16, (4000, 4000)), None)):
        graph = typed(lambda x: ops.sum(x, dim=axis), abstract)
        assert in_two_stages(graph, current()) is graph


def computed(graph, x):
    """What the one result of a graph of one parameter is, node by node in NumPy."""
    values = {graph.parameters[0]: x}
    with interpreting(NumpyInterpreter()):
        for node in graph.nodes:
            values[node] = np.asarray(eval_rule[node.fn](*[values[a] for a in node.args], **node.attrs))
    return values[graph.outputs[0]]


COLUMNS = [((50000, 3), (0,)), ((50021, 3), (0,)), ((300, 150, 7), (0, 1)), ((70001, 2), (0,)), ((9001, 16), (0,))]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape, axis", COLUMNS)
def test_a_long_reduction_along_few_columns_takes_several_rows_as_one(shape, axis, keepdims):
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float64", "bfloat16", "int64", "bool"):
        x = rng.integers(0 if dtype == "bool" else -9, 2 if dtype == "bool" else 9, shape).astype(dt.dtype(dtype).numpy)
        for fn, numpys in ((reduce_any, np.any),) if dtype == "bool" else ((reduce_sum, np.sum), (reduce_max, np.max)):
            function = lambda x, fn=fn: bind(fn, (x,), {"axis": axis, "keepdims": keepdims})      # noqa: E731
            graph = typed(function, AbstractTensor(dt.dtype(dtype), shape))
            made = in_two_stages(graph, current())
            assert any(n.fn is fn and 128 <= n.abstract.size <= 256 for n in made.nodes)
            want = numpys(x.astype(np.float64 if fn is reduce_sum else x.dtype), axis=axis, keepdims=keepdims).astype(x.dtype)
            for found in (computed(made, x), jit(function, fullgraph=True)(Tensor(x)).asnumpy()):
                assert found.dtype == want.dtype and found.shape == want.shape
                np.testing.assert_array_equal(found, want)


def test_nan_and_the_rows_that_are_left_belong_to_their_columns():
    x = np.zeros((50021, 3), np.float32)
    x[-1, 1], x[7, 2] = 5.0, np.nan
    np.testing.assert_array_equal(jit(lambda x: ops.amax(x, 0))(Tensor(x)).asnumpy(), [0.0, 5.0, np.nan])
    np.testing.assert_array_equal(jit(lambda x: x.sum(0))(Tensor(x)).asnumpy(), [0.0, 5.0, np.nan])


def test_no_kernel_walks_down_a_long_column_for_each_item_of_another_fold():
    x, y = (Tensor(np.random.default_rng(5).standard_normal((50021, 3)).astype(np.float32)) for _ in range(2))
    made, lowered = kernels(lambda x, y: (x * y).sum(0), x, y)
    np.testing.assert_allclose(made(x, y).asnumpy(), (x.asnumpy().astype(np.float64) * y.asnumpy()).sum(0), rtol=1e-4)
    assert len(lowered) >= 2
    for each in lowered:
        for expr in walk(o.value for o in each.nest.outputs):
            assert not isinstance(expr, Reduce) or not any(isinstance(e, Reduce) and not e.free.isdisjoint(expr.fields[1])
                                                           for e in walk([expr.fields[2]]))


PARTS = current().replace(long_sums=((50, 1000), (900, 400)), least_part=64, stages_from=1 << 12)
FEW = {                                                      # shape, reduced axes: shapes of the first stage's operand and result
    "columns": ((1200, 33), (0,), (16, 75, 33), (16, 33)),
    "columns of two axes": ((6, 500, 30), (0, 1), (6, 25, 20, 30), (25, 30)),
    "rows": ((7, 4000), (1,), (7, 8, 500), (7, 8)),
    "planes": ((12, 5, 10, 20), (0, 2, 3), (6, 2, 5, 10, 20), (6, 5)),
    "an axis of parts": ((4, 30, 25, 20), (0, 2, 3), (2, 2, 30, 25, 20), (2, 30)),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", FEW)
def test_a_target_of_many_threads_has_parts_of_few_long_sums(name, keepdims, dtype):
    shape, axis, parted, first = FEW[name]
    dtype = dt.dtype(dtype)
    x = np.random.default_rng(1).integers(-40, 40, shape).astype(dtype.numpy)
    for fn, numpys in ((reduce_sum, np.sum), (reduce_max, np.max)):
        graph = typed(lambda x: bind(fn, (x,), {"axis": axis, "keepdims": keepdims}), AbstractTensor(dtype, shape))
        made = in_two_stages(graph, PARTS)
        shapes = [n.abstract.shape for n in made.nodes]
        assert made is not graph and parted in shapes and first in shapes
        want = numpys(x.astype(np.int64), axis=axis, keepdims=keepdims).astype(dtype.numpy)
        found = computed(made, x)
        assert found.dtype == want.dtype and found.shape == want.shape
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("shape, axis", [((60, 4000), (1,)), ((1200, 1000), (0,)), ((7, 900), (1,)), ((1201, 33), (0,)),
                                         ((0, 3), (0,))],
                         ids=["many rows", "many columns", "short rows", "a prime number", "nothing"])
def test_many_sums_and_short_ones_have_one_stage(shape, axis):
    graph = typed(lambda x: bind(reduce_sum, (x,), {"axis": axis, "keepdims": False}), AbstractTensor(dt.float32, shape))
    assert in_two_stages(graph, PARTS) is graph


PROGRAMS = {
    "a bias": lambda x, g: g - 0.1 * x.sum(0) / (ops.sqrt(ops.square(x.sum(0))) + 1.0),
    "centred rows": lambda x, g: ((x - x.mean(-1, keep_dims=True)) *
                                  ops.rsqrt(ops.square(x).mean(-1, keep_dims=True) + 1.0)).sum(0) * g,
    "a variance": lambda x, g: ops.square(x - x.mean(0)).mean(0) + g,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_kernel_has_a_long_fold_in_a_fold(name):
    """A kernel of both stages, or of rows and of what is added up down them, would be one thread's for each number."""
    rng = np.random.default_rng(4)
    x, g = Tensor(rng.standard_normal((1200, 96)).astype(np.float32)), Tensor(rng.standard_normal(96).astype(np.float32))
    want = jit(PROGRAMS[name], fullgraph=True)(x, g).asnumpy()
    with using(PARTS.replace(long_sums=((50, 1000), (4096, 400)), repeated_fold=8)):
        made, lowered = kernels(PROGRAMS[name], x, g)
        np.testing.assert_allclose(made(x, g).asnumpy(), want, rtol=1e-4, atol=1e-4)
        assert len(lowered) >= 2
        for each in lowered:
            for expr in walk(o.value for o in each.nest.outputs):
                assert not isinstance(expr, Reduce) or not any(isinstance(e, Reduce) and not e.free.isdisjoint(expr.fields[1])
                                                               for e in walk([expr.fields[2]]))
