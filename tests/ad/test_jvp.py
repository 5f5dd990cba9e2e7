"""Forward mode: against central differences, over and under reverse mode."""
import numpy as np
import pytest
from derivable_graphs import X, Y, branch, growing, halves, power, recursive, smooth
from derivatives import check_vjp, f64, numeric_jvp, private

from mindlite import ops
from mindlite.ad import derivative_graph, jvp_graph, vjp_graph
from mindlite.common.errors import GradientError
from mindlite.mindir.builder import typed
from mindlite.mindir.control import J, cond, custom_vjp
from mindlite.mindir.evaluate import run
from mindlite.mindir.markers import expand
from mindlite.mindir.primitive import bprop_rule, eval_rule, infer_rule
from mindlite.optim import optimise


def check_jvp(graph, arrays, wrt, tolerance=1e-6):
    """The derived graph gives graph's outputs and their slopes along random tangents."""
    random = np.random.default_rng(0)
    arrays = [np.asarray(a, p.abstract.dtype.numpy) for a, p in zip(arrays, graph.parameters)]
    tangents = [random.normal(size=arrays[i].shape) for i in wrt]
    results, outs = run(jvp_graph(graph, wrt), *arrays, *tangents), run(graph, *arrays)
    for seen, wanted in zip(run(optimise(jvp_graph(graph, wrt)), *arrays, *tangents), results):
        np.testing.assert_allclose(seen, wanted, rtol=1e-12)
    for seen, wanted in zip(results, (*outs, *numeric_jvp(graph, arrays, wrt, tangents))):
        np.testing.assert_allclose(seen, wanted, rtol=tolerance, atol=tolerance)
    return jvp_graph(graph, wrt)


def test_every_node_is_followed_by_its_tangent():
    derived = jvp_graph(typed(lambda x: ops.tanh(x) * 2, f64(2)), (0,))
    assert [n.fn.name for n in derived.nodes] == ["tanh", "mul", "sub", "mul", "mul", "mul"]


def test_a_chain_of_operators():
    check_jvp(typed(lambda x, y: (ops.tanh(x) * y - x / y, ops.exp(y)), f64(2), f64(2)), [X, Y], (0, 1))


def test_an_output_without_tangent_has_zeros():
    check_jvp(typed(lambda x, y: (x, y), f64(2), f64(2)), [X, Y], (1,))


@pytest.mark.parametrize("p", [0, 1])
def test_a_branch(p):
    check_jvp(branch(), [p, X, Y], (1, 2))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_loop(n):
    check_jvp(power(smooth), [n, X, Y], (1, 2))


def test_a_loop_that_changes_shapes():
    check_jvp(growing(), [2, X, 1.5], (1, 2))


def test_recursion():
    check_jvp(recursive(), [3, X, Y], (1, 2))


def test_forward_over_reverse():
    check_jvp(vjp_graph(power(smooth), (1, 2), (0,)), [3, X, Y, X], (1, 2, 3), tolerance=1e-5)
    check_jvp(vjp_graph(recursive(), (1, 2), (0,)), [2, X, Y, X], (1, 2, 3), tolerance=1e-5)
    check_jvp(vjp_graph(branch(), (1, 2), (0, 1)), [1, X, Y, X, Y], (1, 2, 3, 4), tolerance=1e-5)


def test_reverse_over_forward():
    check_vjp(vjp_graph, jvp_graph(power(smooth), (1, 2)), [3, X, Y, X, Y], wrt=(1, 2, 3, 4), tolerance=1e-5)


thrice = private("thrice", "x")                  # 3 * x, with a bprop rule alone
infer_rule(thrice)(lambda x: x)
eval_rule(thrice)(lambda x: 3 * x)
bprop_rule(thrice)(lambda x, out, dout: dout * 3)


def test_a_bprop_rule_is_transposed_where_there_is_no_jvp_rule():
    check_jvp(typed(lambda x: ops.tanh(thrice(x * x)), f64(2)), [X], (0,))
    check_jvp(typed(lambda x: halves(x * x)[0] * halves(x)[1], f64(2)), [X], (0,))


def test_a_bprop_written_by_the_user_is_transposed():
    bprop = typed(lambda x, out, dout: dout * (1 - out * out), f64(2), f64(2), f64(2))
    graph = typed(lambda x: custom_vjp(x * x, graph=typed(lambda x: ops.tanh(x), f64(2)), bprop=bprop), f64(2))
    check_jvp(graph, [X], (0,))


# ---------------------------------------------------------------- markers

def cube(x):
    return x * x * x


def test_markers_are_replaced_inner_ones_first():
    f = typed(cube, f64(2))
    first = typed(lambda x: J(x, np.ones(2), graph=f, wrt=(0,), seeds=(0,), mode="vjp")[1], f64(2))
    second = typed(lambda x: J(x, np.ones(2), graph=first, wrt=(0,), seeds=(0,), mode="vjp")[1], f64(2))
    graph = expand(second, {J: derivative_graph})
    assert not any(n.fn is J for g in graph.reachable() for n in g.nodes)
    np.testing.assert_allclose(run(graph, X)[0], 6 * X)


def test_markers_below_control_flow_are_replaced():
    f = typed(cube, f64(2))
    side = typed(lambda x: J(x, np.ones(2), graph=f, wrt=(0,), seeds=(), mode="jvp")[1], f64(2))
    graph = expand(typed(lambda x: cond(True, x, true=side, false=f), f64(2)), {J: derivative_graph})
    np.testing.assert_allclose(run(graph, X)[0], 3 * X * X)


def test_a_graph_without_markers_is_left_alone():
    f = typed(cube, f64(2))
    assert expand(f, {J: derivative_graph}) is f


def test_a_function_that_needs_its_own_derivative_is_an_error():
    f = typed(cube, f64(2))
    f.add(J, f.parameters[0], graph=f, wrt=(0,), seeds=(), mode="jvp", abstract=f.output.abstract)
    with pytest.raises(GradientError, match="needs itself"):
        expand(f, {J: derivative_graph})
