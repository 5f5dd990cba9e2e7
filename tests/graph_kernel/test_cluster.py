"""Clusters: the same values, few kernels, no cycles, effects in their place, refusals with reasons."""
import os
import random
import sys
from collections import Counter

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, tensor                                                                     # noqa: E402
from whole_graphs import kernels, matmul, random_graph, run, same, write                                # noqa: E402

import mindlite as ms  # noqa: E402
from mindlite import Tensor, nn, ops  # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.backend.target import current                                                             # noqa: E402
from mindlite.graph_kernel import cluster as module                                                     # noqa: E402
from mindlite.graph_kernel.cluster import _Clusterer, _judge, cluster                                   # noqa: E402
from mindlite.graph_kernel.estimate import FOLD, estimated, kind_of                                     # noqa: E402
from mindlite.graph_kernel.expand import expand_composites                                              # noqa: E402
from mindlite.graph_kernel.horizontal import parts_of                                                   # noqa: E402
from mindlite.graph_kernel.loopnest import build                                                        # noqa: E402
from mindlite.graph_kernel.schedule import schedule, total_cost                                         # noqa: E402
from mindlite.graph_kernel.signature import signature, take_nest                                        # noqa: E402
from mindlite.mindir.abstract import AbstractTuple                                                      # noqa: E402
from mindlite.mindir.builder import typed                                                               # noqa: E402
from mindlite.mindir.control import cond, tuple_getitem                                                 # noqa: E402
from mindlite.mindir.graph import FuncGraph                                                             # noqa: E402


def test_a_chain_between_library_operators_is_one_kernel():
    w = Writer(x=tensor("float32", 6, 8), v=tensor("float32", 8, 8), b=tensor("float32", 8))
    h = w(c.tanh, w(c.add, w(matmul, w.x, w.v), w.b))
    y = w(c.mul, w(c.neg, w(matmul, h, w.v)), h)
    graph = w.graph(y)
    clustered = cluster(graph)
    assert [k.fn.name for k in kernels(clustered)] == ["fused_test_add_test_tanh", "fused_test_neg_test_mul"]
    rng = np.random.default_rng(0)
    same(graph, clustered, [rng.standard_normal(p.abstract.shape).astype(np.float32) for p in graph.parameters])
    assert any("library" in reason for _, reason in clustered.transforms["refused"])


def test_level_o0_makes_a_kernel_of_each_operator():
    graph = c.softmax_graph(4, 30)
    assert len(kernels(cluster(graph, level="O0"))) == len(graph.nodes) and len(kernels(cluster(graph))) == 1
    x = np.random.default_rng(0).standard_normal((4, 30)).astype(np.float32)
    same(graph, cluster(graph, level="O0"), [x])
    same(graph, cluster(graph), [x])


def test_layer_norm_with_three_results_is_one_node_read_by_getitem():
    clustered = cluster(c.layer_norm_graph(6, 40))
    node, = kernels(clustered)
    assert isinstance(node.abstract, AbstractTuple) and all(o.fn is tuple_getitem for o in clustered.outputs)


def test_a_column_reduction_and_its_use_are_two_kernels_with_a_reason():
    w = Writer(x=tensor("float32", 300, 40))
    graph = w.graph(w(c.sub, w.x, w(c.reduce_sum, w(c.square, w.x), axis=(0,), keepdims=True)))
    clustered = cluster(graph)
    assert len(kernels(clustered)) == 2 and any("again" in reason for _, reason in clustered.transforms["refused"])
    same(graph, clustered, [np.random.default_rng(0).standard_normal((300, 40)).astype(np.float32)])


def test_no_cycle_arises_through_a_library_operator():
    """neg and mul may not be one kernel: matmul needs neg and mul needs matmul."""
    w = Writer(x=tensor("float32", 5, 5))
    a = w(c.neg, w.x)
    graph = w.graph(w(c.mul, a, w(matmul, a, w.x)))
    clustered = cluster(graph)
    assert len(kernels(clustered)) == 2
    same(graph, clustered, [np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)])


def test_a_read_before_a_write_stays_before_it_and_what_is_not_touched_moves():
    w = Writer(p=tensor("float32", 4), x=tensor("float32", 4))
    before = w(c.add, w.p, w.x)
    w(write, w.p, w.x)
    after = w(c.mul, w(c.neg, w.p), before)
    graph = w.graph(after)
    clustered = cluster(graph)
    names = [n.fn.name for n in clustered.nodes]
    assert names == ["fused_test_add", "test_write", "fused_test_neg_test_mul"]
    inputs = [np.arange(4, dtype=np.float32), np.ones(4, np.float32)]
    out, = run(clustered, [np.copy(x) for x in inputs])
    np.testing.assert_array_equal(out, -np.ones(4) * (inputs[0] + 1))
    w = Writer(p=tensor("float32", 4), x=tensor("float32", 4), y=tensor("float32", 4))
    first = w(c.neg, w.y)
    w(write, w.p, w.x)
    assert len(kernels(cluster(w.graph(w(c.tanh, first))))) == 1


def test_graphs_in_attributes_are_clustered_too():
    inner = Writer("branch", x=tensor("float32", 4))
    branch = inner.graph(inner(c.tanh, inner(c.neg, inner.x)))
    w = Writer(p=tensor("bool"), x=tensor("float32", 4))
    node = w.made.add(cond, w.p, w.x, abstract=AbstractTuple((tensor("float32", 4),)), true=branch, false=branch)
    graph = w.graph(w.item(node, 0))
    made = next(n for n in cluster(graph).nodes if n.fn is cond)
    assert made.attrs["true"] is made.attrs["false"] is not branch and len(kernels(made.attrs["true"])) == 1


def test_an_operator_with_two_results_moves_with_its_readers():
    w = Writer(x=tensor("float32", 5, 30))
    m = w(c.moments, w.x)
    a = w.item(m, 0)
    graph = w.graph(a, w(c.div, w.item(m, 1), a))
    clustered = cluster(graph)
    assert len(kernels(clustered)) == 1
    same(graph, clustered, [np.random.default_rng(0).standard_normal((5, 30)).astype(np.float32)])


def test_what_would_be_computed_for_each_row_again_is_stored():
    w = Writer(x=tensor("float32", 300, 400), b=tensor("float32", 400))
    graph = w.graph(w(c.add, w.x, w(c.tanh, w.b)))
    clustered = cluster(graph)
    assert len(kernels(clustered)) == 2 and any("storing" in reason for _, reason in clustered.transforms["refused"])
    w = Writer(x=tensor("float32", 300, 400), b=tensor("float32", 300, 1))
    assert len(kernels(cluster(w.graph(w(c.add, w.x, w(c.tanh, w.b)))))) == 1        # once per row: computed outside


def test_the_graph_that_was_given_is_left_alone():
    graph = c.softmax_graph(3, 4)
    nodes = list(graph.nodes)
    cluster(graph)
    assert graph.nodes == nodes and all(not isinstance(n.fn, FuncGraph) for n in nodes)


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_keep_their_values(seed):
    graph = random_graph(random.Random(seed))
    numbers = np.random.default_rng(seed)
    inputs = [numbers.standard_normal(p.abstract.shape).astype(dt.float32.numpy) * 0.5 for p in graph.parameters]
    same(graph, cluster(graph), inputs)


def test_what_is_known_without_a_loop_nest_is_what_a_loop_nest_says(monkeypatch):
    goes_on, elementwise, seen = _Clusterer.goes_on, _Clusterer.elementwise, Counter()

    def judged(self, members):
        return _judge(self.fuse(members)[0], self.target)[:2]

    def looked_at(self, first, second):
        answer = goes_on(self, first, second)
        if answer:
            reason, cost = judged(self, self.in_order(first.members + second.members))
            assert reason is None and cost <= first.cost + second.cost
        seen["goes on", answer] += 1
        return answer

    def counted(self, node):
        answer = elementwise(self, node)
        assert answer is None or answer == judged(self, [node])
        seen["elementwise", answer is None] += 1
        return answer
    monkeypatch.setattr(_Clusterer, "goes_on", looked_at)
    monkeypatch.setattr(_Clusterer, "elementwise", counted)
    for seed in range(40):
        rng = random.Random(seed)
        cluster(random_graph(rng, rng.choice([1, 6, 70]), rng.choice([1, 5, 90]), 30))
    assert len(seen) == 4 and min(seen.values()) > 20


def test_the_loop_nest_that_was_judged_is_the_one_that_is_written():
    kept = 0
    for seed in range(20):
        graph = cluster(random_graph(random.Random(seed), 70, 90, 20))
        for fused in (part for n in graph.nodes if isinstance(n.fn, FuncGraph) for part, _, _ in parts_of(n.fn)):
            nest = take_nest(signature(fused), current())
            if nest is not None:
                kept += 1
                assert current().write(nest) == current().write(schedule(build(fused)))
    assert kept > 20


@pytest.mark.parametrize("seed", range(6))
def test_sets_of_ancestors_say_what_walks_along_the_edges_say(monkeypatch, seed):
    quick, asked = _Clusterer.path_between, []

    def walked(self, first, second):
        todo, seen = [group.live for group in second.before if group.live is not first], set()
        while todo:
            group = todo.pop()
            if group not in seen:
                seen.add(group)
                todo += [earlier.live for earlier in group.before if earlier.live is not group]
        return first in seen

    def both(self, first, second):
        asked.append(quick(self, first, second))
        assert asked[-1] == walked(self, first, second)
        return asked[-1]
    monkeypatch.setattr(_Clusterer, "path_between", both)
    rng, w = random.Random(seed), Writer(x=tensor("float32", 6, 8), v=tensor("float32", 8, 8))
    values = [w.x]
    for _ in range(60):
        a, b = rng.choice(values[-12:]), rng.choice(values[-12:])
        values.append(w(matmul, a, w.v) if rng.random() < 0.15 else w(c.add, a, b) if rng.random() < 0.7 else w(c.tanh, a))
    cluster(w.graph(*values[-2:]))
    assert len(asked) > 20 and set(asked) == {True, False}


# ---------------------------------------------------------------- estimates

def units_of(graph):
    """What `estimated` is told: an operation for each operator."""
    return {id(node): 1 for node in graph.nodes}


def rows(function, *shape):
    return expand_composites(typed(function, tensor("float32", *shape)))


def standardised(x):
    apart = x - x.mean(-1, True)
    return apart * ops.rsqrt((apart ** 2).mean(-1, True) + 1.0)


def test_a_value_that_two_loops_read_counts_twice_and_one_of_a_row_once_for_each_row():
    graph = rows(lambda x: ops.tanh(x) - ops.reduce_sum(ops.tanh(x), axis=(1,), keepdims=True), 32, 100)
    assert [kind_of(node) for node in graph.nodes].count(FOLD) == 1
    cost = estimated(graph.nodes, graph.outputs, units_of(graph))
    assert cost == 3200 + 3200 * (2 + 1 + 1)                   # stored; tanh twice, the sum, the difference


def test_an_estimate_is_near_what_a_loop_nest_costs():
    for function, shape in ((lambda x: ops.softmax(x, -1), (32, 100)), (standardised, (32, 100)),
                            (lambda x: (x * x).reshape(8, 400).sum(1), (32, 100))):
        graph = rows(function, *shape)
        exact = total_cost(schedule(build(graph)))
        calls = {id(n): 20 if n.fn.name in ("exp", "rsqrt") else 1 for n in graph.nodes}
        assert 0.4 < estimated(graph.nodes, graph.outputs, calls) / exact < 2.5


def test_what_shapes_do_not_tell_is_left_to_a_loop_nest():
    for function in (lambda x: x - ops.reduce_sum(x, axis=(0,)), lambda x: ops.transpose(ops.softmax(x, -1), (1, 0)),
                     lambda x: ops.cumsum(x, 1)):
        graph = rows(function, 30, 20)
        assert estimated(graph.nodes, graph.outputs, units_of(graph)) is None


def test_a_group_norm_is_one_kernel_and_one_loop_nest_judges_it(monkeypatch):
    judged = []

    def judge(graph, target):
        judged.append(len(graph.nodes))
        return plain(graph, target)
    plain = module._judge
    monkeypatch.setattr(module, "_judge", judge)
    monkeypatch.setattr(module, "_verdicts", {})
    x = tensor("float32", 3, 24, 5, 7)
    norm = nn.GroupNorm(4, 24)
    graph = expand_composites(typed(lambda x: ops.silu(norm(x)) + x, x))
    made = cluster(graph)
    assert len(kernels(made)) == 1 and len([count for count in judged if count > 1]) == 1
    same(graph, made, [np.random.default_rng(0).standard_normal(x.shape).astype(np.float32),
                       *[np.asarray(p.default.asnumpy()) for p in graph.parameters[1:]]])


@pytest.mark.parametrize("seed", range(6))
def test_estimates_that_are_wrong_join_what_loop_nests_join(monkeypatch, seed):
    """Whatever an estimate says, a group that is no loop nest, or too dear a one, is taken apart."""
    graph = random_graph(random.Random(seed))
    numbers = np.random.default_rng(seed)
    inputs = [numbers.standard_normal(p.abstract.shape).astype(np.float32) * 0.5 for p in graph.parameters]
    monkeypatch.setattr(module, "estimated", lambda members, results, units: None)
    exact = cluster(graph)
    monkeypatch.setattr(module, "estimated", lambda members, results, units: 0)
    made = cluster(graph)
    same(graph, made, inputs)
    assert len(made.nodes) <= len(exact.nodes) + 2


def test_a_loop_is_cut_where_only_one_term_of_a_divided_sum_reaches_the_divisor():
    w = Writer(x=tensor("float32", 4, 8, 30))
    mean = w(c.reduce_sum, w.x, axis=(2,), keepdims=True)
    graph = w.graph(w(ops.reshape, w(c.sub, w.x, mean), shape=(4, 24, 10)))
    nest = schedule(build(graph))
    assert total_cost(nest) < 4 * 8 * 30 * 6                   # the sum is made once for a row, not once for an element


def test_a_fold_of_an_open_axis_to_known_sizes_is_judged_by_its_loops():
    """An estimate from shapes needs numbers: the cost of such a fold is none."""
    def f(x):
        top = ops.topk(x, 2, 0)[1]
        top = ops.sign(top - top.mean(-1, keep_dims=True)) * top
        rows = ops.logsumexp(top, 1) * 1
        rows[1:] += rows[0]
        squares = ops.square(top)
        weights = 1 / (ops.where(squares == squares.max(), squares, 0.2 * squares) ** 2 + 0.5)
        return rows, ((weights ** 3).sum(1) + 1) ** 0.5
    compiled = ms.jit(f, dynamic=1, fullgraph=True)
    for shape in ((5, 3), (7, 17), (40, 5)):
        x = Tensor(np.random.default_rng(3).normal(size=shape).astype(np.float32))
        for a, b in zip(compiled(x), f(x)):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)
