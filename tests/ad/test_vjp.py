"""Reverse mode: every construct against central differences, to the third order where it matters."""
import numpy as np
import pytest
from derivable_graphs import X, Y, branch, growing, halves, power, recursive, smooth
from derivatives import check_vjp, f64, i64, private

from mindlite import ops
from mindlite.ad.vjp import vjp_graph
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import GradientError
from mindlite.common.location import Location, Origin
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import building, typed
from mindlite.mindir.control import cond, custom_vjp, make_tuple, while_loop
from mindlite.mindir.evaluate import run
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.primitive import infer_rule
from mindlite.ops.linalg import batch_matmul


def names(graph):
    return [node.fn.name for node in graph.nodes]


# ---------------------------------------------------------------- straight-line code

def test_straight_line_code_becomes_straight_line_code():
    derived = vjp_graph(typed(lambda x, y: ops.tanh(x) * y, f64(2), f64(2)), (0,), (0,))
    assert names(derived) == ["tanh", "mul", "mul", "mul", "sub", "mul"]


def test_a_chain_of_operators():
    check_vjp(vjp_graph, typed(lambda x, y: ops.tanh(x) * y + ops.exp(x * y) - x / y, f64(2), f64(2)), [X, Y])


def test_several_outputs_of_which_one_has_a_cotangent():
    graph = typed(lambda x, y: (x * y, ops.exp(x)), f64(2), f64(2))
    check_vjp(vjp_graph, graph, [X, Y], seeds=(1,))
    check_vjp(vjp_graph, graph, [X, Y])


def test_broadcast_operands_get_gradients_of_their_own_shape():
    check_vjp(vjp_graph, typed(lambda x, y: x * y + y, f64(3, 2), f64(1, 2)), [np.ones((3, 2)) * X, Y[None]])


def test_matrix_products():
    graph = typed(lambda a, b: ops.tanh(batch_matmul(a, b)), f64(2, 3), f64(3, 2))
    check_vjp(vjp_graph, graph, [np.arange(6).reshape(2, 3) / 7, np.arange(6).reshape(3, 2) / 5])


def test_a_parameter_that_nothing_depends_on_has_zeros():
    derived = vjp_graph(typed(lambda x, y: x * x, f64(2), f64(3)), (1,), (0,))
    np.testing.assert_array_equal(run(derived, X, [1, 2, 3], X)[1], np.zeros(3))
    assert names(derived) == ["mul", "broadcast_to"]


def test_integers_carry_no_gradient():
    graph = typed(lambda x: ops.cast(ops.cast(x * 3, dtype=dt.int32), dtype=dt.float64) + x, f64(2))
    np.testing.assert_array_equal(run(vjp_graph(graph, (0,), (0,)), X, [1, 1])[1], [1, 1])


def test_an_integer_parameter_has_a_zero_gradient_of_its_own_dtype():
    graph = typed(lambda i, x: x * ops.cast(i, dtype=dt.float64), i64(2), f64(2))
    gradient = run(vjp_graph(graph, (0,), (0,)), [1, 2], X, X)[1]
    assert gradient.dtype == np.int64 and not gradient.any()


def test_an_output_that_is_a_parameter_hands_its_cotangent_through():
    graph = typed(lambda x: (x, x), f64(2))
    np.testing.assert_array_equal(run(vjp_graph(graph, (0,), (0, 1)), X, [1, 2], [3, 4])[2], [4, 6])


def test_seeding_a_bool_output_is_an_error():
    with pytest.raises(GradientError, match="no gradient"):
        vjp_graph(typed(lambda x: x > 0, f64(2)), (0,), (0,))


def test_integers_made_of_floats_hand_no_cotangent_through():
    graph = typed(lambda x: ops.cast(x, dtype=dt.int32), f64(2))
    np.testing.assert_array_equal(run(vjp_graph(graph, (0,), (0,)), X, np.ones(2, np.int32))[1], [0, 0])


def test_the_gradient_of_integers_is_made_of_integers():
    graph = typed(lambda x: x * x * 2.0, AbstractTensor(dt.int32, (2,)))
    gradient = run(vjp_graph(graph, (0,), (0,)), np.array([2, 5], np.int32), np.ones(2, np.float32))[1]
    np.testing.assert_array_equal(gradient, [8, 20])
    assert gradient.dtype == np.int32


def test_an_operator_without_gradient_is_an_error_at_the_users_line():
    without_gradient = private("without_gradient", "x")
    infer_rule(without_gradient)(lambda x: x)
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f64(2))
    with building(graph, Origin(Location("model.py", 3))):
        out = without_gradient(x)
    graph.set_outputs([out], make_tuple)
    with pytest.raises(GradientError, match="without_gradient has no gradient") as error:
        vjp_graph(graph, (0,), (0,))
    assert error.value.location.line == 3


def test_an_operator_with_two_results_gets_a_zero_for_the_one_that_is_not_used():
    derived = vjp_graph(typed(lambda x: halves(x)[1], f64(2)), (0,), (0,))
    assert names(derived)[:2] == ["halves", "tuple_getitem"] and "broadcast_to" in names(derived)


def test_gradients_of_gradients():
    first = vjp_graph(typed(lambda x, y: ops.tanh(x) * ops.exp(y * x), f64(2), f64(2)), (0, 1), (0,))
    second = check_vjp(vjp_graph, first, [X, Y, X + Y])
    check_vjp(vjp_graph, second, [X, Y, X + Y, X, Y, X * Y], tolerance=1e-5)


def test_sizes_may_be_symbols():
    n, m = Symbol("N").dim, Symbol("M").dim
    graph = typed(lambda a, b: ops.reduce_sum(batch_matmul(a, b) * 2, axis=0), f64(n, m), f64(m, 3))
    check_vjp(vjp_graph, graph, [np.ones((4, 2)), np.ones((2, 3))])


def test_every_new_node_points_at_the_users_line():
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f64(2))
    with building(graph, Origin(Location("model.py", 7))):
        out = ops.tanh(x)
    graph.set_outputs([out], make_tuple)
    new = vjp_graph(graph, (0,), (0,)).nodes[1:]
    assert new and all(n.origin.location.line == 7 and n.origin.by == "grad" for n in new)


# ---------------------------------------------------------------- cond

@pytest.mark.parametrize("p", [0, 1])
def test_both_sides_of_a_branch(p):
    check_vjp(vjp_graph, branch(), [p, X, Y], wrt=(1, 2))
    check_vjp(vjp_graph, branch(), [p, X, Y], wrt=(1,), seeds=(1,))


@pytest.mark.parametrize("p", [0, 1])
def test_the_gradient_of_a_branchs_gradient(p):
    first = vjp_graph(branch(), (1, 2), (0, 1))
    second = vjp_graph(first, (1, 2, 3, 4), (2, 3))
    check_vjp(vjp_graph, first, [p, X, Y, X, Y], wrt=(1, 2, 3, 4))
    check_vjp(vjp_graph, second, [p, X, Y, X, Y, X, Y], wrt=(1, 2, 3), tolerance=1e-5)


def test_a_branch_that_no_gradient_passes_stays_as_it_is():
    derived = vjp_graph(branch(), (1,), ())
    assert names(derived).count("cond") == 1


# ---------------------------------------------------------------- while_loop

@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_loop_whose_number_of_turns_is_data(n):
    check_vjp(vjp_graph, power(smooth), [n, X, Y], wrt=(1, 2))


@pytest.mark.parametrize("n", [0, 3])
def test_the_gradient_of_a_loops_gradient(n):
    first = vjp_graph(power(smooth), (1, 2), (0,))
    check_vjp(vjp_graph, first, [n, X, Y, X], wrt=(1, 2, 3), tolerance=1e-5)


def test_the_third_derivative_of_a_loop():
    first = vjp_graph(power(smooth), (1,), (0,))
    second = vjp_graph(first, (1, 3), (1,))
    check_vjp(vjp_graph, second, [3, X, Y, X, Y], wrt=(1, 2, 3, 4), tolerance=1e-4)


def test_a_branch_in_a_loop():
    true, false = typed(lambda x, w: x * w, f64(2), f64(2)), typed(lambda x, w: ops.tanh(x), f64(2), f64(2))

    def body(i, x, w):
        odd = ops.reduce_sum(x) > 0
        return cond(odd, x, w, true=true, false=false)[0] - 0.3
    check_vjp(vjp_graph, power(body), [4, X, Y], wrt=(1, 2))
    check_vjp(vjp_graph, vjp_graph(power(body), (1, 2), (0,)), [3, X, Y, X], wrt=(1, 2, 3), tolerance=1e-5)


def test_a_loop_in_a_loop():
    def body(i, x, w):
        test = typed(lambda j, x, n, w: j < n, i64(), f64(2), i64(), f64(2))
        iteration = typed(lambda j, x, n, w: (j + 1, ops.tanh(x) * w), i64(), f64(2), i64(), f64(2))
        return while_loop(np.int64(0), x, i, w, cond=test, body=iteration, invariants=2)[1] + x * 0.5
    check_vjp(vjp_graph, power(body), [3, X, Y], wrt=(1, 2))
    check_vjp(vjp_graph, vjp_graph(power(body), (1, 2), (0,)), [3, X, Y, X], wrt=(1, 2, 3), tolerance=1e-5)


def test_a_state_that_becomes_active_at_the_second_turn():
    test = typed(lambda i, a, b: i < 3, i64(), f64(2), f64(2))
    iteration = typed(lambda i, a, b: (i + 1, b * 2, ops.tanh(b) + a), i64(), f64(2), f64(2))
    graph = typed(lambda x: while_loop(np.int64(0), np.ones(2), x, cond=test, body=iteration, invariants=0)[1], f64(2))
    check_vjp(vjp_graph, graph, [X])


def test_values_of_the_loop_that_only_shapes_need_are_not_saved():
    derived = vjp_graph(power(lambda i, x, w: x + 1.5), (1,), (0,))
    loops = [node for node in derived.nodes if node.fn is while_loop]
    assert not any(n.fn.name == "tape_push" for n in loops[0].attrs["body"].nodes)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_loop_that_changes_the_shape_of_its_state(n):
    check_vjp(vjp_graph, growing(), [n, X, 1.5], wrt=(1, 2))


def test_the_gradient_of_the_gradient_of_such_a_loop():
    first = vjp_graph(growing(), (1, 2), (0,))
    check_vjp(vjp_graph, first, [2, X, 1.5, np.arange(8) / 8], wrt=(1, 2, 3), tolerance=1e-5)


# ---------------------------------------------------------------- call

@pytest.mark.parametrize("n", [0, 1, 3])
def test_recursion(n):
    check_vjp(vjp_graph, recursive(), [n, X, Y], wrt=(1, 2))


def test_the_gradient_of_a_recursions_gradient():
    check_vjp(vjp_graph, vjp_graph(recursive(), (1, 2), (0,)), [2, X, Y, X], wrt=(1, 2, 3), tolerance=1e-5)


def test_a_recursion_is_differentiated_once():
    graph = recursive()
    derived = vjp_graph(graph, (1, 2), (0,))
    assert len([g for g in derived.reachable() if g.name == "◀f"]) == 1


# ---------------------------------------------------------------- gradients written by the user

def test_a_gradient_written_by_the_user_is_used():
    graph = typed(lambda x: x * x, f64(2))
    bprop = typed(lambda x, out, dout: dout * 100 + out, f64(2), f64(2), f64(2))
    outer = typed(lambda x: custom_vjp(x * 2, graph=graph, bprop=bprop), f64(2))
    np.testing.assert_allclose(run(vjp_graph(outer, (0,), (0,)), X, Y)[1], 2 * (100 * Y + 4 * X * X))


def test_the_users_gradient_is_differentiated_in_turn():
    graph = typed(lambda x: ops.tanh(x), f64(2))
    bprop = typed(lambda x, out, dout: dout * (1 - out * out), f64(2), f64(2), f64(2))
    outer = typed(lambda x: custom_vjp(x, graph=graph, bprop=bprop), f64(2))
    check_vjp(vjp_graph, vjp_graph(outer, (0,), (0,)), [X, Y])


def test_mixed_dtypes_keep_their_own():
    graph = typed(lambda x, y: ops.cast(x, dtype=dt.float64) * y, AbstractTensor(dt.float32, (2,)), f64(2))
    gradients = run(vjp_graph(graph, (0, 1), (0,)), X, Y, X)[1:]
    assert [g.dtype for g in gradients] == [np.float32, np.float64]


def test_state_that_reaches_no_seed_is_not_differentiated():
    test = typed(lambda i, a, b: i < 3, i64(), f64(2), f64(2))
    iteration = typed(lambda i, a, b: (i + 1, ops.tanh(a), b * a), i64(), f64(2), f64(2))
    graph = typed(lambda x: while_loop(np.int64(0), x, x, cond=test, body=iteration, invariants=0)[1:], f64(2))
    derived = check_vjp(vjp_graph, graph, [X], seeds=(0,))
    reverse = [node for node in derived.nodes if node.fn is while_loop][1]
    assert len(reverse.args) == len(("tape", "count", "da"))
