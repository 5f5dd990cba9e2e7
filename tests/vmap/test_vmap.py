"""vmap of a graph is the stacked loop over its elements; control flow is masked."""

import numpy as np
import pytest

from mindlite import ops
from mindlite.ad import jvp_graph, vjp_graph
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import ArgumentError
from mindlite.common.events import counting
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from mindlite.mindir.builder import building, typed
from mindlite.mindir.control import call, cond, custom_vjp, make_tuple, tuple_getitem, while_loop
from mindlite.mindir.evaluate import run
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.primitive import eval_rule, infer_rule, Primitive
from mindlite.ops.linalg import batch_matmul
from mindlite.ops.scalar import scalar_binary, scalar_compare, tensor_to_scalar
from mindlite.optim import optimise
from mindlite.vmap import vmap_graph

B = 3


def f64(*shape):
    return AbstractTensor(dt.float64, shape)


def i64(*shape):
    return AbstractTensor(dt.int64, shape)


def check_vmap(graph, in_axes, arrays, out_axes=None, fallbacks=0, size=B):
    """The mapped graph gives what stacking the results for each element gives; so often it runs element by element."""
    out_axes = out_axes or (0,) * len(graph.outputs)
    with counting() as counted:
        mapped = vmap_graph(graph, in_axes, out_axes, size)
    assert counted["vmap_fallback"] == fallbacks
    each = [run(graph, *[a if axis is None else np.take(a, i, axis) for a, axis in zip(arrays, in_axes)])
            for i in range(B)]
    for number, (seen, axis) in enumerate(zip(run(mapped, *arrays), out_axes)):
        np.testing.assert_allclose(seen, np.stack([outs[number] for outs in each], axis), rtol=1e-12)
    for seen, wanted in zip(run(optimise(mapped), *arrays), run(mapped, *arrays)):
        np.testing.assert_allclose(seen, wanted, rtol=1e-12)
    return mapped


def data(*shape):
    return np.random.default_rng(0).normal(size=shape)


def test_operators_get_a_batch_axis():
    graph = typed(lambda x, w: ops.reduce_sum(x * w, axis=0), f64(4), f64(4))
    mapped = check_vmap(graph, (0, None), [data(B, 4), data(4)])
    assert not any(node.fn is while_loop for node in mapped.nodes)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_mapped_axis_may_stand_anywhere(axis):
    graph = typed(lambda x: (ops.tanh(x), ops.transpose(x, perm=(1, 0))), f64(2, 4))
    x = np.moveaxis(data(B, 2, 4), 0, axis)
    check_vmap(graph, (axis,), [x], out_axes=(1, 2))


def test_what_no_mapped_operand_reaches_stays_as_it_is():
    mapped = vmap_graph(typed(lambda x, w: x + ops.tanh(w), f64(2), f64(2)), (0, None), (0,), B)
    assert next(n for n in mapped.nodes if n.fn is ops.tanh).abstract == f64(2)


def test_an_output_that_does_not_depend_on_the_axis_is_repeated_or_left_alone():
    graph = typed(lambda x, w: (w * 2, x), f64(), f64(2))
    mapped = vmap_graph(graph, (0, None), (None, 0), B)
    assert run(mapped, data(B), data(2))[0].shape == (2,)
    check_vmap(graph, (0, None), [data(B), data(2)], out_axes=(1, 0))


def test_out_axes_none_for_a_mapped_output_is_an_error():
    with pytest.raises(ArgumentError, match="depends on the mapped axis"):
        vmap_graph(typed(lambda x: x, f64()), (0,), (None,), B)


def test_the_size_may_be_a_symbol():
    n = Symbol("B").dim
    graph = typed(lambda x, w: batch_matmul(x, w), f64(2, 4), f64(4, 2))
    check_vmap(graph, (0, None), [data(B, 2, 4), data(4, 2)], size=n)


halve = Primitive("halve", ("x",), {})      # x / 2, without a vmap rule, in no table of operators
infer_rule(halve)(lambda x: x)
eval_rule(halve)(lambda x: x / 2)


def test_an_operator_without_rule_runs_in_a_loop_and_says_so():
    graph = typed(lambda x: ops.tanh(halve(x)), f64(4))
    check_vmap(graph, (1,), [data(4, B)], fallbacks=1)


# ---------------------------------------------------------------- branches

def sides():
    return dict(true=typed(lambda x, w: (x * w, w), f64(2), f64(2)),
                false=typed(lambda x, w: (ops.tanh(w), x), f64(2), f64(2)))


@pytest.mark.parametrize("p", [0., 1.])
def test_a_branch_on_what_all_share_stays_a_branch(p):
    graph = typed(lambda p, x, w: cond(p > 0, x, w, **sides()), f64(), f64(2), f64(2))
    mapped = check_vmap(graph, (None, 0, None), [p, data(B, 2), data(2)])
    assert [n.fn for n in mapped.nodes].count(cond) == 1


def test_a_branch_that_each_element_decides_becomes_a_choice():
    graph = typed(lambda p, x, w: cond(p > 0, x, w, **sides()), f64(), f64(2), f64(2))
    mapped = check_vmap(graph, (0, 0, None), [np.array([1., -1, 2]), data(B, 2), data(2)])
    assert cond not in [n.fn for n in mapped.nodes]


# ---------------------------------------------------------------- loops

def loop(turn=lambda i, x, n: (i + 1, ops.tanh(x) * 2)):
    test = typed(lambda i, x, n: i < n, i64(), f64(2), i64())
    body = typed(turn, i64(), f64(2), i64())
    return typed(lambda n, x: while_loop(np.int64(0), x, n, cond=test, body=body, invariants=1)[:2], i64(), f64(2))


def test_a_loop_whose_turns_all_share():
    check_vmap(loop(), (None, 0), [np.int64(3), data(B, 2)])


def test_a_loop_whose_turns_each_element_decides():
    check_vmap(loop(), (0, 0), [np.array([3, 0, 1]), data(B, 2)])
    check_vmap(loop(), (0, None), [np.array([3, 0, 1]), data(2)])


def test_a_python_number_that_each_element_counts():
    number = AbstractScalar(int)
    test = typed(lambda i, x: scalar_compare(i, tensor_to_scalar(x), op="<"), number, i64())
    body = typed(lambda i, x: scalar_binary(i, 2, op="+"), number, i64())
    graph = typed(lambda x: while_loop(0, x, cond=test, body=body, invariants=1)[0], i64())
    check_vmap(graph, (0,), [np.array([5, 0, 2])])


def test_gradients_of_loops_are_mapped():
    check_vmap(vjp_graph(loop(), (1,), (1,)), (None, 0, 0), [np.int64(3), data(B, 2), data(B, 2)])


def test_gradients_of_loops_whose_turns_each_element_decides_run_element_by_element():
    check_vmap(vjp_graph(loop(), (1,), (1,)), (0, 0, 0), [np.array([3, 0, 1]), data(B, 2), data(B, 2)], fallbacks=1)


def test_nested_loops_keep_one_tape_for_the_batch():
    def turn(i, x, n):
        test = typed(lambda j, x, i: j < i, i64(), f64(2), i64())
        body = typed(lambda j, x, i: (j + 1, ops.tanh(x)), i64(), f64(2), i64())
        return i + 1, while_loop(np.int64(0), x, i, cond=test, body=body, invariants=1)[1] * 1.5
    check_vmap(vjp_graph(loop(turn), (1,), (1,)), (None, 0, 0), [np.int64(3), data(B, 2), data(B, 2)])


def test_the_gradient_of_a_mapped_loop_is_the_mapped_gradient():
    n, x, dout = np.array([3, 0, 1]), data(B, 2), data(B, 2)
    mapped = vmap_graph(loop(), (0, 0), (0, 0), B)
    seen = run(vjp_graph(mapped, (1,), (1,)), n, x, dout)[2]
    wanted = [run(vjp_graph(loop(), (1,), (1,)), *operands)[2] for operands in zip(n, x, dout)]
    np.testing.assert_allclose(seen, np.stack(wanted))


# ---------------------------------------------------------------- calls, custom gradients

def recursive():
    graph = FuncGraph("f")
    n, x = graph.add_parameter("n", i64()), graph.add_parameter("x", f64(2))
    deeper = FuncGraph("f/false")
    m, y = deeper.add_parameter("n", i64()), deeper.add_parameter("x", f64(2))
    with building(deeper):
        node = deeper.add(call, m - 1, ops.tanh(y), graph=graph, abstract=AbstractTuple((f64(2),)))
        deeper.set_outputs([deeper.add(tuple_getitem, node, index=0, abstract=f64(2)) + y], make_tuple)
    base = typed(lambda n, x: x * 2, i64(), f64(2))
    with building(graph):
        graph.set_outputs(cond(n < 1, n, x, true=base, false=deeper), make_tuple)
    return graph


def test_recursion():
    check_vmap(recursive(), (None, 0), [np.int64(3), data(B, 2)])


def test_recursion_whose_depth_each_element_decides_runs_element_by_element():
    check_vmap(recursive(), (0, 0), [np.array([2, 0, 1]), data(B, 2)], fallbacks=1)


def test_a_gradient_written_by_the_user_is_mapped_too():
    graph = typed(lambda x, w: x * w, f64(2), f64(2))
    bprop = typed(lambda x, w, out, dout: (dout * 10, dout * x), *[f64(2)] * 4)
    outer = typed(lambda x, w: custom_vjp(x, w, graph=graph, bprop=bprop), f64(2), f64(2))
    mapped = vmap_graph(outer, (0, None), (0,), B)
    x, w, dout = data(B, 2), data(2), data(B, 2)
    _, dx, dw = run(vjp_graph(mapped, (0, 1), (0,)), x, w, dout)
    np.testing.assert_allclose(dx, dout * 10)
    np.testing.assert_allclose(dw, (dout * x).sum(0))


def test_a_jacobian_is_a_mapped_derivative():
    graph = typed(lambda x: ops.tanh(x) * ops.reduce_sum(x), f64(2))
    x, eye = data(2), np.eye(2)
    backward = run(vmap_graph(vjp_graph(graph, (0,), (0,)), (None, 0), (None, 0), 2), x, eye)[1]
    forward = run(vmap_graph(jvp_graph(graph, (0,)), (None, 0), (None, 1), 2), x, eye)[1]
    np.testing.assert_allclose(backward, forward)


def test_mapping_twice():
    graph = vmap_graph(loop(), (0, 0), (0, 0), B)
    n, x = np.array([[3, 0, 1]] * B), data(B, B, 2)
    check_vmap(graph, (0, 0), [n, x])
