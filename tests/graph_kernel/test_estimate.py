"""Estimates of clusters: groups are joined by shapes, a loop nest judges each in the end; a wrong estimate joins nothing."""
import os
import random
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, tensor                                                                     # noqa: E402
from test_cluster import kernels, random_graph, same                                                    # noqa: E402

from mindlite import nn, ops                                                                            # noqa: E402
from mindlite.graph_kernel import cluster as module                                                     # noqa: E402
from mindlite.graph_kernel.cluster import cluster                                                       # noqa: E402
from mindlite.graph_kernel.estimate import FOLD, estimated, kind_of                                     # noqa: E402
from mindlite.graph_kernel.expand import expand_composites                                              # noqa: E402
from mindlite.graph_kernel.loopnest import build                                                        # noqa: E402
from mindlite.graph_kernel.schedule import schedule, total_cost                                         # noqa: E402
from mindlite.mindir.builder import typed                                                               # noqa: E402


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
