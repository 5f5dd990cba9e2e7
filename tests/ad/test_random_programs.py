"""Random programs, with control flow or without: derivatives equal differences, passes and vmap change no value."""
import numpy as np
from derivatives import check_vjp, f64, i64
from hypothesis import given, settings, strategies as st

from mindlite import ops
from mindlite.ad import jvp_graph, vjp_graph
from mindlite.mindir.builder import typed
from mindlite.mindir.control import cond, while_loop
from mindlite.mindir.evaluate import run
from mindlite.ops.basic import broadcast_to, reduce_sum, reshape, transpose
from mindlite.optim import optimise
from mindlite.vmap import vmap_graph

VALUES = 3                                  # a program has three values f64[3]; each step overwrites one of them
UNARY = {"tanh": ops.tanh, "neg": ops.neg, "one": lambda x: x * 1, "zero": lambda x: 0 + x, "sin": ops.sin,
         "iteration": lambda x: reshape(transpose(reshape(x, shape=(3, 1)), perm=(1, 0)), shape=(3,)),
         "mean": lambda x: broadcast_to(reduce_sum(x, axis=0) / 3, shape=(3,)), "twice": lambda x: x + x}
BINARY = {"add": ops.add, "sub": ops.sub, "mul": lambda x, y: ops.tanh(x) * y, "neg": lambda x, y: x - (-y)}

numbers = st.integers(0, VALUES - 1)
simple = st.one_of(st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY)), numbers, numbers),
                   st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), numbers, numbers, numbers),
                   st.tuples(st.just("constant"), st.sampled_from([0., 1., 0.5]), numbers))
straight = st.lists(simple, min_size=1, max_size=6)
steps = st.recursive(straight, lambda inner: st.lists(st.one_of(
    simple, st.tuples(st.just("cond"), numbers, inner, inner), st.tuples(st.just("while"), st.integers(0, 3), inner)),
    min_size=1, max_size=3), max_leaves=4)


def write(program, *values):
    """Run the steps of a program over nodes; gives its values at the end."""
    values, kinds = list(values), [f64(3)] * VALUES
    for kind, *step in program:
        if kind == "unary":
            values[step[2]] = UNARY[step[0]](values[step[1]])
        elif kind == "binary":
            values[step[3]] = BINARY[step[0]](values[step[1]], values[step[2]])
        elif kind == "constant":
            values[step[1]] = np.full(3, step[0])
        elif kind == "cond":
            number, true, false = step
            values = list(cond(reduce_sum(broadcast_to(values[number], shape=(3,))) > 0.1234, *values,
                               true=typed(lambda *v: write(true, *v), *kinds),
                               false=typed(lambda *v: write(false, *v), *kinds)))
        else:
            iterations, body = step
            test = typed(lambda i, *v: i < iterations, i64(), *kinds)
            iteration = typed(lambda i, *v: (i + 1, *write(body, *v)), i64(), *kinds)
            values = list(while_loop(np.int64(0), *values, cond=test, body=iteration, invariants=0)[1:])
    return tuple(values)


def graph_of(program):
    return typed(lambda *v: write(program, *v), *[f64(3)] * VALUES, name="f")


def data(*shape):
    return np.random.default_rng(7).normal(size=shape)


def same(seen, wanted):
    for a, b in zip(seen, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(straight)
def test_gradients_of_straight_line_programs(program):
    check_vjp(vjp_graph, graph_of(program), data(VALUES, 3))


@settings(max_examples=40, deadline=None)
@given(steps)
def test_gradients_of_programs_with_control_flow(program):
    check_vjp(vjp_graph, graph_of(program), data(VALUES, 3), tolerance=1e-5)


@settings(max_examples=15, deadline=None)
@given(steps)
def test_gradients_of_gradients(program):
    check_vjp(vjp_graph, vjp_graph(graph_of(program), (0, 1), (0, 2)), data(VALUES + 2, 3), tolerance=1e-4)


@settings(max_examples=40, deadline=None)
@given(steps)
def test_forward_and_reverse_mode_agree(program):
    graph, x, v, w = graph_of(program), data(VALUES, 3), data(VALUES, 3) + 1, data(VALUES, 3) - 1
    tangents = run(jvp_graph(graph, range(VALUES)), *x, *v)[VALUES:]
    gradients = run(vjp_graph(graph, range(VALUES), range(VALUES)), *x, *w)[VALUES:]
    np.testing.assert_allclose(np.sum(w * np.stack(tangents)), np.sum(v * np.stack(gradients)), rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_an_optimised_program_gives_the_same(program):
    same(run(optimise(graph_of(program)), *data(VALUES, 3)), run(graph_of(program), *data(VALUES, 3)))


@settings(max_examples=40, deadline=None)
@given(steps, st.tuples(*[st.sampled_from([0, 1, None])] * VALUES).filter(lambda axes: axes != (None,) * VALUES))
def test_a_mapped_program_gives_what_each_element_gives(program, axes):
    graph, x = graph_of(program), data(VALUES, 4, 3)
    operands = [a[0] if axis is None else a if axis == 0 else a.T for a, axis in zip(x, axes)]
    seen = run(vmap_graph(graph, axes, (0,) * VALUES, 4), *operands)
    wanted = [run(graph, *[a[0] if axis is None else a[i] for a, axis in zip(x, axes)]) for i in range(4)]
    same(seen, [np.stack(values) for values in zip(*wanted)])


@settings(max_examples=15, deadline=None)
@given(steps)
def test_a_mapped_gradient_gives_what_each_element_gives(program):
    graph, x = vjp_graph(graph_of(program), (0,), (1,)), data(VALUES + 1, 2, 3)
    seen = run(vmap_graph(graph, (0,) * 4, (0,) * 4, 2), *x)
    same(seen, [np.stack(values) for values in zip(*[run(graph, *x[:, i]) for i in range(2)])])
