"""Exponentials that wait in a result's row, sums that choose one element, masks that each reader makes for itself."""
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
from clusters import execute                                                                            # noqa: E402

from mindlite import Tensor, jit, ops, value_and_grad                                                   # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.common.errors import InternalError                                                        # noqa: E402
from mindlite.graph_kernel import lowering                                                              # noqa: E402
from mindlite.graph_kernel.expand import expand_composites                                              # noqa: E402
from mindlite.backend.printers.python_source import python_source                                       # noqa: E402
from run_text import run_source                                                                         # noqa: E402
from mindlite.graph_kernel.recompute import recompute_cheap                                             # noqa: E402
from mindlite.mindir.abstract import AbstractTensor                                                     # noqa: E402
from mindlite.mindir.builder import typed                                                               # noqa: E402
from mindlite.mindir.graph import FuncGraph                                                             # noqa: E402
from mindlite.mindir.scalar import Reduce, Select, index_var, reduce, where                             # noqa: E402


def graph_of(function, *abstracts):
    return expand_composites(typed(function, *abstracts))


def source_of(graph):
    return python_source(lowering(graph).nest)


# ---------------------------------------------------------------- rows

@pytest.mark.parametrize("shape", [(1, 17), (5, 1000), (64, 2100)])
def test_softmax_computes_each_exponential_once_and_keeps_it_in_the_result(shape):
    def softmax(x):
        return ops.softmax(x, axis=-1)
    graph = graph_of(softmax, AbstractTensor(dt.float32, shape))
    assert source_of(graph).count("exp(") == 1
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32) * 10
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    expected = e / e.sum(-1, keepdims=True)
    for out in (execute(lowering(graph), [x])[0], execute(lowering(graph), [x], chunks=3)[0],
                run_source(lowering(graph).nest, x)[0]):
        np.testing.assert_allclose(out, expected, rtol=2e-6, atol=1e-7)


def test_a_second_fold_reads_the_row_of_the_first():
    def weighted(x, w):
        e = ops.exp(x)
        total, other = ops.sum(e, dim=-1, keepdim=True), ops.sum(e * w, dim=-1, keepdim=True)
        return e / total * other
    graph = graph_of(weighted, *(AbstractTensor(dt.float32, (6, 90)),) * 2)
    assert source_of(graph).count("exp(") == 1
    x, w = np.random.default_rng(0).normal(size=(2, 6, 90)).astype(np.float32)
    e = np.exp(x.astype(np.float64))
    expected = e / e.sum(-1, keepdims=True) * (e * w).sum(-1, keepdims=True)
    np.testing.assert_allclose(execute(lowering(graph), [x, w])[0], expected, rtol=1e-5, atol=1e-6)


def test_a_result_that_would_round_the_value_is_no_place_for_it():
    def softmax(x):
        return ops.softmax(x, axis=-1)
    assert source_of(graph_of(softmax, AbstractTensor(dt.float16, (8, 100)))).count(" exp(") == 2


def test_a_result_in_the_memory_of_an_operand_is_no_place_for_it():
    def scaled(x, y):
        e = ops.exp(x)
        return e / ops.sum(e, dim=-1, keepdim=True) * y
    graph = graph_of(scaled, *(AbstractTensor(dt.float32, (8, 100)),) * 2)
    assert source_of(graph).count("exp(") == 1
    assert python_source(lowering(graph, in_place=((0, 1),)).nest).count("exp(") == 2
    with pytest.raises(InternalError):
        lowering(graph, in_place=((0, 0),))                  # the sum reads the whole row of x


# ---------------------------------------------------------------- sums that choose

def test_a_sum_of_what_one_index_alone_makes_nonzero_is_a_look_up():
    i, c = index_var("i", 4), index_var("c", 9)
    assert isinstance(reduce("sum", [9], lambda r: where(r == c, r * 2.0, 0.0)), Select)
    assert isinstance(reduce("sum", [9], lambda r: where(c == r, i * 2.0, 0.0)), Select)
    assert isinstance(reduce("sum", [9], lambda r: where((r == c) & (i > 2), r * 2.0, 0.0)), Select)
    assert isinstance(reduce("sum", [9], lambda r: where(r == c, r * 2.0, 1.0)), Reduce)
    assert isinstance(reduce("sum", [9], lambda r: where(r == r * 2, r * 2.0, 0.0)), Reduce)
    assert isinstance(reduce("sum", [9], lambda r: where((r == c) | (i > 2), r * 2.0, 0.0)), Reduce)
    assert isinstance(reduce("max", [9], lambda r: where(r == c, r * 2.0, 0.0)), Reduce)


def test_the_chosen_elements_of_rows_and_of_columns_and_labels_outside_count_nothing():
    labels = np.array([3, 0, -1, 40, 7, -100], np.int64)
    x = np.random.default_rng(0).normal(size=(6, 9)).astype(np.float32)
    x[0, 5] = np.inf                                        # not chosen, so it does not matter
    hot = labels[:, None] == np.arange(9)
    for axis, transposed in ((1, False), (0, True)):
        def chosen(x, labels):
            classes = ops.arange(9)
            hot = ops.equal(classes.reshape(9, 1), labels.reshape(1, 6)) if transposed else \
                ops.equal(classes, labels.reshape(6, 1))
            return ops.sum(ops.where(hot, x, 0.0), dim=axis)
        given = x.T.copy() if transposed else x
        graph = graph_of(chosen, AbstractTensor(dt.float32, given.shape), AbstractTensor(dt.int64, (6,)))
        source = source_of(graph)
        assert "total" not in source and source.count("for ") == 1, source
        expected = np.where(hot, x, 0).sum(1)
        np.testing.assert_array_equal(execute(lowering(graph), [given, labels])[0], expected)
        np.testing.assert_array_equal(run_source(lowering(graph).nest, given, labels)[0], expected)


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 2), (1, 2), (2,), (0, 1), (2, 1)])
def test_a_sum_over_several_axes_of_what_is_chosen_along_one_of_them(axes):
    """The index that counts hangs on variables of the same sum: it is looked up inside of it."""
    labels, weights = np.array([[3, 0, -1, 40], [7, 8, 9, 1]]), np.arange(8, dtype=np.float32).reshape(2, 4)
    table = np.random.default_rng(1).normal(size=(9,)).astype(np.float32)

    def chosen(labels, weights, table):
        hot = ops.equal(ops.expand_dims(labels, -1), ops.arange(9))
        count = ops.sum(ops.cast(hot, "int64"), dim=axes)
        return count, ops.sum(ops.where(hot, ops.expand_dims(weights, -1) * table, 0.0), dim=axes)
    hot = labels[..., None] == np.arange(9)
    count, total = jit(chosen, fullgraph=True)(Tensor(labels), Tensor(weights), Tensor(table))
    np.testing.assert_array_equal(count.asnumpy(), hot.sum(axes))
    np.testing.assert_allclose(total.asnumpy(), np.where(hot, weights[..., None] * table, 0).sum(axes), rtol=1e-5)
    for a, b in zip(chosen(Tensor(labels), Tensor(weights), Tensor(table)), (count, total), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)


def test_the_labels_that_are_there_are_counted():
    labels = Tensor(np.array([3, 0, -1, 40, 7]))
    assert int(jit(lambda x: ops.one_hot(x, 10).sum(), fullgraph=True)(labels)) == 3


# ---------------------------------------------------------------- masks

def test_every_reader_of_a_mask_has_its_own():
    def small_mask(x, labels):
        known = ops.less(labels, 50)
        return ops.where(known, x, 0.0), ops.where(known, 1.0, x)
    graph = graph_of(small_mask, *(AbstractTensor(dt.float32, (64, 100)),) * 2)
    assert recompute_cheap(graph) is graph                  # the mask is as large as what it is made of

    def two_readers(x, labels):
        hot = ops.equal(ops.arange(100), labels.reshape(64, 1))
        return ops.where(hot, x, 0.0), ops.where(hot, 1.0, x)
    graph = graph_of(two_readers, AbstractTensor(dt.float32, (64, 100)), AbstractTensor(dt.int64, (64,)))
    copied = recompute_cheap(graph)
    count = [sum(n.fn.name == "equal" for n in g.nodes) for g in (graph, copied)]
    assert count == [1, 2]
    assert [o.abstract for o in copied.outputs] == [o.abstract for o in graph.outputs]


def test_a_difference_from_a_small_value_is_made_by_each_reader_from_the_large_one():
    def moments_and_more(x, w):
        centred = x - ops.sum(x, dim=0, keepdim=True) / 64
        return centred * w, ops.sum(centred * centred, dim=0)
    graph = graph_of(moments_and_more, *(AbstractTensor(dt.float32, (64, 100)),) * 2)
    names = [node.fn.name for node in recompute_cheap(graph).nodes]
    assert names.count("sub") == 3 > [node.fn.name for node in graph.nodes].count("sub")

    def of_two_large(x, w):
        both = x - w
        return both * w, ops.sum(both * both, dim=0)
    graph = graph_of(of_two_large, *(AbstractTensor(dt.float32, (64, 100)),) * 2)
    assert recompute_cheap(graph) is graph                  # reading both again is more than reading their difference


def test_batch_normalisation_reads_its_input_twice_and_stores_nothing_between():
    x, w = (Tensor(np.random.default_rng(k).normal(size=s).astype(np.float32)) for k, s in enumerate([(300, 90), (90,)]))
    f = jit(lambda x, w: ops.batch_norm(x, None, None, w, w, training=True))
    out = f(x, w).asnumpy()
    variant, _, _ = f.compiled.select((x, w), {})
    kernels = [n for n in variant.compiled.stages["fuse"].nodes if isinstance(n.fn, FuncGraph)]
    made = [a.size for n in kernels for a in getattr(n.abstract, "elements", (n.abstract,))]
    assert len(kernels) == 2 and made.count(300 * 90) == 1
    a = x.asnumpy().astype(np.float64)
    expected = (a - a.mean(0)) / np.sqrt(a.var(0) + 1e-5) * w.asnumpy() + w.asnumpy()
    np.testing.assert_allclose(out, expected, rtol=2e-5, atol=2e-6)


def test_a_short_row_in_which_one_element_counts_is_added_up_without_a_branch():
    def chosen(x, labels):
        return ops.sum(ops.where(ops.equal(ops.arange(x.shape[1]), labels.reshape(-1, 1)), x, 0.0), dim=1)
    for length, branches in ((7, False), (40, True)):
        graph = graph_of(chosen, AbstractTensor(dt.float32, (20, length)), AbstractTensor(dt.int64, (20,)))
        assert any(line.strip().startswith("if ") for line in source_of(graph).splitlines()) == branches
        x, labels = np.random.default_rng(0).normal(size=(20, length)).astype(np.float32), np.arange(20) - 3
        x[:, 5] = np.inf
        expected = np.where(labels[:, None] == np.arange(length), x, np.float32(0)).sum(1)
        np.testing.assert_array_equal(execute(lowering(graph), [x, labels])[0], expected)


def test_a_mask_that_is_a_result_is_computed_once():
    def given_out(x, labels):
        hot = ops.equal(ops.arange(100), labels.reshape(64, 1))
        return hot, ops.where(hot, x, 0.0)
    graph = graph_of(given_out, AbstractTensor(dt.float32, (64, 100)), AbstractTensor(dt.int64, (64,)))
    assert sum(n.fn.name == "equal" for n in recompute_cheap(graph).nodes) == 1


def test_the_cross_entropy_and_its_gradient_read_the_logits_in_one_kernel():
    rng = np.random.default_rng(0)
    x, y = Tensor(rng.normal(size=(512, 300)).astype(np.float32)), Tensor(rng.integers(0, 300, 512).astype(np.int32))
    step = jit(value_and_grad(lambda x: ops.cross_entropy(x, y)))
    loss, gradient = step(x)
    variant, _, _ = step.compiled.select((x,), {})
    large = [n for n in variant.compiled.stages["fuse"].nodes if isinstance(n.fn, FuncGraph) and
             any(a.abstract.size == 512 * 300 for a in n.args)]
    assert len(large) == 1
    assert source_of(large[0].fn).count(" = exp(") == 1
    e = np.exp(x.asnumpy().astype(np.float64))
    soft, hot = e / e.sum(1, keepdims=True), np.eye(300)[y.asnumpy()]
    np.testing.assert_allclose(loss.asnumpy(), -np.log((soft * hot).sum(1)).mean(), rtol=1e-6)
    np.testing.assert_allclose(gradient.asnumpy(), (soft - hot) / 512, rtol=1e-5, atol=1e-9)
