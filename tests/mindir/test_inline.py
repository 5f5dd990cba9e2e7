"""Copying typed graphs: what is copied means the same, and shares nothing that a pass could change."""
import numpy as np

from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from mindlite.mindir.builder import append, typed
from mindlite.mindir.control import check, cond, make_tuple
from mindlite.mindir.equality import same_graph
from mindlite.mindir.evaluate import run
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.inline import clone, copy_graph, drop_dead_nodes, has_effect, inline

F2 = AbstractTensor(dt.float32, (2,))
X, Y = np.array([1.0, 2.0], np.float32), np.array([3.0, 5.0], np.float32)


def branching():
    true, false = typed(lambda x: x * 2, F2, name="f/true"), typed(lambda x: ops.tanh(x), F2, name="f/false")
    return typed(lambda p, x: append(cond, p, x + 1, abstract=true.output.abstract, true=true, false=false)[0],
                 AbstractScalar(bool), F2, name="f")


def checking():
    """A graph with a check and two nodes that nothing reads."""
    graph = typed(lambda x, y: (ops.tanh(x), x * y)[1], F2, F2)
    graph.nodes.insert(0, graph.add(check, typed_true(), abstract=AbstractTuple(()), error=ValueError))
    graph.nodes.pop()
    return graph


def typed_true():
    return typed(lambda: True).outputs[0]


def test_inlining_appends_copies_and_gives_their_results():
    inner = typed(lambda x, y: (ops.tanh(x), x * y), F2, F2, name="inner")
    outer = FuncGraph("outer")
    a = outer.add_parameter("a", F2)
    first, second = inline(outer, inner, [a, a])
    again = inline(outer, inner, [first, second])
    outer.set_outputs(again, make_tuple)
    assert len(outer.nodes) == 4 and len(inner.nodes) == 2 and not set(outer.nodes) & set(inner.nodes)
    got = run(outer, X)
    np.testing.assert_allclose(got[0], np.tanh(np.tanh(X)), rtol=1e-6)
    np.testing.assert_allclose(got[1], np.tanh(X) * X * X, rtol=1e-6)


def test_inlined_nodes_know_what_they_were_copied_of():
    inner = typed(lambda x: ops.tanh(x), F2, name="inner")
    outer = FuncGraph("outer")
    made, = inline(outer, inner, [outer.add_parameter("a", F2)], by="test")
    assert made.origin.of is inner.nodes[0] and made.origin.by == "test" and made.graph is outer


def test_parameters_and_constants_are_handed_through():
    inner = typed(lambda x: (x, 3), F2)
    outer = FuncGraph("outer")
    a = outer.add_parameter("a", F2)
    through, number = inline(outer, inner, [a])
    assert through is a and number.value == 3 and outer.nodes == []


def test_a_copy_is_an_equal_graph_of_its_own():
    graph = branching()
    copy = copy_graph(graph)
    assert same_graph(graph, copy) and copy is not graph and not set(copy.nodes) & set(graph.nodes)


def test_a_copy_may_replace_nodes():
    graph = typed(lambda x, y: ops.tanh(x) * y, F2, F2)

    def emit(target, node, args):
        return target.add(ops.exp, *args, abstract=node.abstract) if node.fn is ops.tanh else None
    got, = run(copy_graph(graph, emit=emit), X, Y)
    np.testing.assert_allclose(got, np.exp(X) * Y, rtol=1e-6)
    np.testing.assert_allclose(run(graph, X, Y)[0], np.tanh(X) * Y, rtol=1e-6)


def test_dead_nodes_go_and_effects_stay():
    graph = checking()
    names = [n.fn.name for n in drop_dead_nodes(graph).nodes]
    assert names == ["check", "mul"]
    np.testing.assert_allclose(run(graph, X, Y)[0], X * Y)


def test_what_only_dead_nodes_read_is_dead():
    graph = typed(lambda x: (ops.tanh(ops.exp(x)) * 2, x + 1)[1], F2)
    assert [n.fn.name for n in drop_dead_nodes(graph).nodes] == ["add"]


def test_an_effect_is_found_in_the_graphs_below():
    graph = branching()
    branch = next(n for n in graph.nodes if n.fn is cond)
    assert not has_effect(branch)
    below = branch.attrs["true"]
    below.add(check, typed_true(), abstract=AbstractTuple(()), error=ValueError)
    assert has_effect(branch) and branch in drop_dead_nodes(graph).nodes
    graph.set_outputs([graph.parameters[1]], make_tuple)
    assert branch in drop_dead_nodes(graph).nodes


def test_a_clone_has_graphs_of_its_own_all_the_way_down():
    graph = branching()
    copy = clone(graph)
    assert same_graph(graph, copy) and not set(map(id, graph.reachable())) & set(map(id, copy.reachable()))
    for p in (True, False):
        np.testing.assert_array_equal(run(copy, p, X)[0], run(graph, p, X)[0])


def test_a_clone_keeps_what_is_shared_shared():
    below = typed(lambda x: x * 2, F2, name="both")
    graph = typed(lambda p, x: append(cond, p, x, abstract=below.output.abstract, true=below, false=below)[0],
                  AbstractScalar(bool), F2)
    branch = next(n for n in clone(graph).nodes if n.fn is cond)
    assert branch.attrs["true"] is branch.attrs["false"] is not below
