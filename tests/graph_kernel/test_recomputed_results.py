"""Results that readers compute again: which ones, that the values stay, and what is stored as before."""
import os
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, evaluate_graph, tensor                                                     # noqa: E402
from whole_graphs import kernels, matmul, random_graph, run, same, write                                # noqa: E402

from mindlite.backend.target import current                                                             # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.graph_kernel.cluster import cluster                                                       # noqa: E402
from mindlite.graph_kernel.recomputed_results import Part, recomputed_results                           # noqa: E402

MOST = 32


def recomputing(graph, most=MOST):
    return cluster(graph, target=current().replace(recomputed=(1, most)))


def results_of(node):
    """The shapes and dtypes of a kernel's results."""
    return [str(a).split("@")[0] for a in getattr(node.abstract, "elements", (node.abstract,))]


def inputs_of(graph, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(p.abstract.shape).astype(p.abstract.dtype.numpy) for p in graph.parameters]


def bits(graph, clustered):
    """Both give the same numbers, to the last bit."""
    inputs = inputs_of(graph)
    for out, want in zip(run(recomputing(graph), inputs), run(clustered, inputs)):
        np.testing.assert_array_equal(out, want)


def forward_and_backward():
    """h = tanh(a) + a^2 of a product a, a product of h, and the derivative, which reads tanh(a) and a^2."""
    w = Writer(x=tensor("float32", 6, 8), v=tensor("float32", 8, 8))
    a = w(matmul, w.x, w.v)
    t, s = w(c.tanh, w(c.neg, a)), w(c.square, a)
    d = w(matmul, w(c.add, t, s), w.v)
    return w.graph(d, w(c.sub, w(c.mul, d, t), w(c.mul, d, s)))


def test_a_gradient_computes_values_again_from_the_product_that_is_in_memory():
    graph = forward_and_backward()
    before, after = cluster(graph), recomputing(graph)
    assert [len(results_of(k)) for k in kernels(before)] == [3, 1]
    assert [len(results_of(k)) for k in kernels(after)] == [1, 1]
    product, = [n for n in after.nodes if n.fn is matmul and n.args[0] in after.parameters]
    assert product in kernels(after)[1].args
    bits(graph, before)


def test_operations_are_limited():
    graph = forward_and_backward()
    assert [len(results_of(k)) for k in kernels(recomputing(graph, 1))] == [2, 1]         # tanh is more than the square
    bits(graph, recomputing(graph, 1))


def test_what_would_be_read_is_no_more_than_what_was_stored():
    """a + b is one array, and two are read in its place."""
    w = Writer(x=tensor("float32", 6, 8), y=tensor("float32", 6, 8), v=tensor("float32", 8, 8))
    s = w(c.add, w.x, w.y)
    d = w(matmul, w(c.tanh, s), w.v)
    e = w(matmul, w(c.mul, d, s), w.v)
    f = w(matmul, w(c.mul, e, s), w.v)
    graph = w.graph(w(c.mul, f, s))
    assert [len(results_of(k)) for k in kernels(recomputing(graph))] == [2, 1, 1, 1]
    bits(graph, cluster(graph))


def test_a_value_that_several_results_are_made_of_is_stored_in_their_place():
    """Of a + b three functions are read, each later: one array is stored, not three, and not two are read."""
    w = Writer(x=tensor("float32", 6, 8), y=tensor("float32", 6, 8), v=tensor("float32", 8, 8))
    s = w(c.add, w.x, w.y)
    made = [w(c.square, s), w(c.neg, s), w(c.relu, s)]
    d = w(matmul, w(c.tanh, s), w.v)
    for m in made:
        d = w(matmul, w(c.mul, d, m), w.v)
    graph = w.graph(d)
    assert len(results_of(kernels(cluster(graph))[0])) == 4
    after = recomputing(graph)
    assert [len(results_of(k)) for k in kernels(after)] == [2, 1, 1, 1]
    bits(graph, cluster(graph))


def test_a_value_that_is_written_in_between_is_not_read_again():
    """neg(p) is of p before the write."""
    w = Writer(p=tensor("float32", 6, 8), v=tensor("float32", 8, 8))
    n = w(c.neg, w.p)
    d = w(matmul, w(c.tanh, n), w.v)
    w(write, w.p, d)
    graph = w.graph(w(c.mul, w(matmul, d, w.v), n))
    inputs = inputs_of(graph)
    made, expected = [run(each, [np.copy(x) for x in inputs]) for each in (recomputing(graph), cluster(graph))]
    for out, want in zip(made, expected):
        np.testing.assert_array_equal(out, want)
    assert [len(results_of(k)) for k in kernels(recomputing(graph))] == [2, 1]


def test_results_of_the_function_and_operands_of_libraries_stay():
    w = Writer(x=tensor("float32", 6, 8), v=tensor("float32", 8, 8))
    t = w(c.neg, w.x)
    graph = w.graph(t, w(c.mul, w(matmul, t, w.v), t))
    units = {id(n): 1 for n in graph.nodes}
    parts = [Part([n], n.fn is not matmul) for n in graph.nodes]
    assert recomputed_results(graph, parts, units, current().replace(recomputed=(1, MOST)), frozenset()) is None


def test_small_results_and_other_targets_stay_as_they_were():
    graph = forward_and_backward()
    made = cluster(graph, target=current().replace(recomputed=(6 * 8 * 4 + 1, MOST)))
    assert [len(results_of(k)) for k in kernels(made)] == [3, 1]


@pytest.mark.parametrize("seed", range(16))
def test_random_graphs_keep_their_values(seed):
    graph = random_graph(random.Random(seed), steps=20)
    inputs = [x * np.float32(0.5) for x in inputs_of(graph, seed)]
    same(graph, recomputing(graph), inputs)


def test_random_graphs_are_recomputed_and_have_no_more_results():
    counts = []
    for seed in range(16):
        graph = random_graph(random.Random(seed), steps=20)
        counts.append([sum(len(results_of(k)) for k in kernels(made)) for made in (cluster(graph), recomputing(graph))])
    assert all(after <= before for before, after in counts) and any(after < before for before, after in counts)


def test_the_meaning_is_that_of_the_graph():
    graph = forward_and_backward()
    inputs = inputs_of(graph)
    for out, want in zip(run(recomputing(graph), inputs), evaluate_graph(graph, inputs)):
        assert out.dtype == want.dtype == dt.float32.numpy
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
