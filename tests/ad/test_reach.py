"""Where data decides whether a cotangent flows, a graph gives what Python gives: no infinity of a way that was not taken
comes back as 0 * inf."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops


def rooted(x):
    y = ops.sqrt(x)
    if x.sum() > 0:
        return y.sum()
    return x.sum()


def one_of_two_roots(x):
    y, z = ops.sqrt(x), ops.log(x)
    out = x * 3
    if x.sum() > 100:
        out = out + y
    elif x.sum() > 50:
        out = out * z
    return (out * out + out).sum()


def no_turn(x):
    y, s, n = ops.sqrt(x), x * 2, 0
    while n < x.sum():
        s = s + y
        n = n + 1
    return s.sum()


def a_last_turn_that_nobody_reads(x):
    out, n = x * 0, 0
    y = x + 2e60
    while n < 2 + x.sum():
        out = out + y * 1e-60
        y = y ** 3
        n = n + 1
    return out.sum()


def a_state_that_only_stops_the_loop(x):
    out = x + 1
    for _ in range(3):
        n = 0
        while n < 4:
            x = x * x * x + 1e30
            out = out * 1.5
            n = n + 1
            if (x * out).sum() < 0.1:
                break
    return out.sum()


def overwritten_in_some_turns(x):
    y = ops.log(x)
    total = x * 2
    for i in range(4):
        y = y * 2
        if total.sum() < i:
            y = total * i
        total = total + 1
        if i > 1 + x.sum():
            total = total + y
    return total.sum()


def deep(x, n):
    def walk(s, y, n):
        if n > 0:
            return walk(s + y, y * s, n - 1)
        return s
    return walk(x * 2, ops.sqrt(x), n).sum()


def recursive(x):
    return deep(x, x.sum())


def of_a_list(x):
    parts = [ops.sqrt(x), x * 2, ops.log(x)]
    chosen = {"value": parts[1]}
    if x.sum() > 3:
        chosen["value"] = parts[0] * parts[2]
    return (chosen["value"] * 2).sum()


def through_a_product(x):
    y = ops.matmul(ops.sqrt(x).reshape(1, 2), ops.ones((2, 2)))
    out = x
    if ops.any(x > 0):
        out = out + y.reshape(2)
    return out.sum()


def sliced(x):
    root = ops.sqrt(x)
    first, last = root[:1], root[1:]
    if x[0] > 0:
        return first.sum() * last.sum()
    return (x * x + 3 * x).sum()


def a_constant_on_one_side(x):
    z = ops.zeros_like(x)
    if x.sum() > 0:
        z = x * 2
    return ops.sqrt(z).sum() + (x * x).sum()


def a_state_that_begins_as_a_constant(x):
    h, n = ops.zeros_like(x), 0
    while n < x.sum():
        h = h + x
        n = n + 1
    return (ops.sqrt(h) + x).sum()


def overwritten_before_the_root(x):
    n, w = 0, x * 0 + 1
    while n < 2:
        x, w = -w, w * 1.3 + 0.1
        n = n + 1
    w = ops.sqrt(ops.relu(x - w))
    return (x + w * 0.1).sum()


PROGRAMS = [a_constant_on_one_side, a_state_that_begins_as_a_constant, overwritten_before_the_root, rooted,
            one_of_two_roots, no_turn, a_last_turn_that_nobody_reads, a_state_that_only_stops_the_loop,
            overwritten_in_some_turns, recursive, of_a_list, through_a_product, sliced]


def gradient(f):
    return ms.grad(f)


def pulled(f):
    def g(x):
        value, pull = ms.vjp(f, x)
        return pull(ops.ones_like(value))[0]
    return g


def twice(f):
    return ms.grad(lambda x: (ms.grad(f)(x) * Tensor([1., 3.])).sum())


def pushed_back(f):
    return ms.jacfwd(ms.grad(f))


def pushed(f):
    return lambda x: ms.jvp(f, x, Tensor([1., 3.]))[1]


def pushed_twice(f):
    return ms.jacfwd(pushed(f))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", [gradient, pulled, twice, pushed, pushed_twice, pushed_back])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_does_not_flow_in_python_does_not_flow_in_a_graph(program, way):
    for values in ([0., 0.], [0., -1.]):
        x = Tensor(np.array(values))
        expected = way(program)(x).asnumpy()
        np.testing.assert_allclose(ms.jit(way(program))(x).asnumpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("program", [f for f in PROGRAMS if f is not recursive], ids=lambda f: f.__name__)
def test_each_element_of_a_batch_has_its_own_flow(program):
    batch = np.array([[0., 0.], [4., 9.], [0., -1.]])
    expected = [ms.grad(program)(Tensor(row)).asnumpy() for row in batch]
    for over in (ms.vmap(ms.grad(program)), ms.jit(ms.vmap(ms.grad(program)))):
        np.testing.assert_allclose(over(Tensor(batch)).asnumpy(), expected, rtol=1e-12)


def test_an_infinity_on_a_way_that_was_taken_is_still_there():
    x = Tensor([0., 0.])
    for way in (lambda f: f, ms.jit):
        assert np.isinf(way(ms.grad(lambda x: ops.sqrt(x).sum()))(x).asnumpy()).all()
        assert np.isnan(way(ms.grad(lambda x: (ops.sqrt(x) * 0).sum()))(x).asnumpy()).all()


def test_where_everything_flows_after_the_first_turn_a_loop_carries_no_booleans():
    def f(h, c, w, n):
        i = 0
        while i < n:
            z = ops.tanh(h @ w)
            c = c * z + z
            h = z * ops.tanh(c)
            i = i + 1
        return h.sum()
    step, square = ms.jit(ms.grad(f, (0, 1, 2))), Tensor(np.ones((2, 2)))
    step(square, square, square, Tensor(4))
    nodes = [node for graph in step.graph("optimise").reachable() for node in graph.nodes]
    assert not [node for node in nodes if node.fn.name in ("flowing", "logical_or", "where")]
