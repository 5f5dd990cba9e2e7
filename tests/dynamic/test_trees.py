"""A tree given as a nested tuple or dataclass of any depth is one compiled function: recursion and its gradient are native."""
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops
from mindlite.common.errors import GraphSyntaxError, MindliteError
from mindlite.compile.jit import FallbackWarning, JitFunction

D = 4
RNG = np.random.default_rng(7)
W = ms.Parameter(ms.Tensor(RNG.normal(size=(D, D)) * 0.3), name="W")


def vector(size=D):
    return ms.Tensor(RNG.normal(size=size))


def tree(nodes):
    """A random tree of this many nodes: (x, left, right) or None."""
    if nodes == 0:
        return None
    left = int(RNG.integers(0, nodes))
    return vector(), tree(left), tree(nodes - 1 - left)


def chain(depth):
    made = None
    for _ in range(depth):
        made = vector(), made, None
    return made


@dataclass
class Node:
    x: ms.Tensor
    children: "tuple[Node | None, Node | None]"
    weight: float = 1.0

    def scaled(self):
        return self.x * self.weight


class Pair(NamedTuple):
    left: "Pair | ms.Tensor"
    right: "Pair | ms.Tensor"


def of_nodes(nodes):
    if nodes == 0:
        return None
    left = int(RNG.integers(0, nodes))
    return Node(vector(), (of_nodes(left), of_nodes(nodes - 1 - left)), float(RNG.normal()))


def pairs(depth):
    return vector() if depth == 0 or RNG.random() < 0.2 else Pair(pairs(depth - 1), pairs(depth - 1))


def summed(t):
    if t is None:
        return ops.zeros(D, ms.float64)
    x, left, right = t
    return ops.tanh(ops.matmul(W, x) + summed(left) * 0.5 - summed(right) * 0.3)


def of_dataclass(t):
    if not t:
        return ops.zeros(D, ms.float64)
    a, b = t.children
    return ops.tanh(W @ t.scaled() + of_dataclass(a) - of_dataclass(b) * t.weight)


def of_pairs(t):
    if isinstance(t, Pair):
        return ops.tanh(of_pairs(t.left)) * of_pairs(t.right)
    return t * 2 + W[0]


def agree(function, trees, compiles=1, rtol=1e-11):
    jitted = ms.jit(function, fullgraph=True)
    for t in trees:
        got, want = jitted(t), function(t)
        for a, b in zip(flat(got), flat(want), strict=True):
            assert np.allclose(a, b, rtol=rtol, atol=1e-13)
    assert len(jitted.compiled.variants) == compiles
    return jitted


def flat(value):
    return [a for v in value for a in flat(v)] if isinstance(value, tuple) else [value.asnumpy()]


def test_fifty_trees_are_one_compile():
    agree(summed, [tree(12), *[tree(int(n)) for n in RNG.integers(0, 40, 50)]])


def test_a_dataclass_that_holds_itself_is_a_tree_from_the_first_call():
    agree(of_dataclass, [of_nodes(n) for n in (6, 1, 0, 15, 3)], compiles=1)


def test_leaves_may_be_tensors_and_nodes_namedtuples():
    full = Pair(Pair(vector(), Pair(vector(), vector())), Pair(Pair(vector(), vector()), vector()))
    agree(of_pairs, [full, *[pairs(d) for d in (3, 6, 1, 0)]])


def test_the_gradient_by_the_weights_is_that_of_eager_mode():
    step = ms.value_and_grad(lambda t: (summed(t) ** 2).sum(), None, [W])
    agree(step, [tree(n) for n in (12, 3, 25, 1)])


@pytest.fixture
def deep():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


def test_a_tree_may_be_a_thousand_nodes_deep(deep):
    agree(summed, [tree(12), chain(1000)])
    agree(ms.value_and_grad(lambda t: (summed(t) ** 2).sum(), None, [W]), [chain(1000)], rtol=1e-8)


def test_no_python_runs_between_the_call_and_its_result():
    jitted = agree(summed, [tree(12)])
    big, events = tree(60), []
    jitted(big)
    sys.setprofile(lambda frame, event, arg: events.append(frame.f_code.co_name) if event == "call" else None)
    jitted(big)
    sys.setprofile(None)
    assert "summed" not in events and "matmul" not in events
    assert not jitted.compiled.variants[0].calls_python


def test_shallow_tuples_are_a_tree_once_their_structure_has_changed():
    """Before that their structure is a constant: a pair of states is no tree."""
    agree(summed, [(vector(), (vector(), None, None), None), (vector(), None, (vector(), None, None)), tree(9), None, tree(1)], 2)
    agree(lambda s: s[0][0] + s[1][1], [((vector(), vector()), (vector(), vector())) for _ in range(3)])


def test_a_cell_may_recurse_and_train_on_trees():
    class TreeNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor(np.eye(D) * 0.4), name="w")
            self.b = ms.Parameter(ms.Tensor(np.zeros(D)), name="b")

        def node(self, t):
            if t is None:
                return self.b
            return ops.tanh(self.w @ t[0] + self.node(t[1]) - self.node(t[2]))

        def construct(self, t):
            return (self.node(t) ** 2).sum()

    def trained(jitted):
        net = TreeNet()
        optimizer = nn.Adam(net.trainable_params(), 0.05)
        gradient = ms.value_and_grad(net, None, optimizer.parameters)

        def step(t):
            loss, gradients = gradient(t)
            optimizer(gradients)
            return loss
        step = ms.jit(step, fullgraph=True) if jitted else step
        return [float(step(t)) for t in trees], step
    trees = [tree(n) for n in (8, 3, 14, 1, 20)]
    (got, step), (want, _) = trained(True), trained(False)
    assert np.allclose(got, want, rtol=1e-9)
    assert len(step.compiled.variants) == 1


def test_sizes_of_leaves_that_differ_are_open():
    def total(t):
        if t is None:
            return ops.zeros((), ms.float64)
        return (t[0] ** 2).sum() + total(t[1]) + total(t[2])

    def varied(depth):
        return None if depth == 0 else (vector(int(RNG.integers(1, 9))), varied(depth - 1), varied(depth - 1))
    agree(total, [varied(4), varied(5), varied(2)])


def test_another_kind_of_leaf_is_one_more_compile_and_both_are_kept():
    def total(t):
        if t is None:
            return 0.0
        return t[0] * 2.0 + total(t[1]) + total(t[2])

    def numbers(depth, kind):
        return None if depth == 0 else (kind(depth), numbers(depth - 1, kind), numbers(depth - 1, kind))
    jitted = ms.jit(total, fullgraph=True)
    for kind in (float, float, float):
        assert jitted(numbers(5, kind)) == total(numbers(5, kind))
    assert len(jitted.compiled.variants) == 1


def test_an_object_that_is_in_a_tree_twice_is_one_record_and_the_result_is_the_same():
    shared = tree(5)
    agree(summed, [(vector(), shared, (vector(), shared, shared))])


@pytest.mark.parametrize("bad", [3.5, (vector(), None)])
def test_a_node_that_the_function_cannot_take_raises_what_python_raises(bad):
    jitted = agree(summed, [tree(12)])
    wrong = vector(), tree(3), bad
    with pytest.raises(Exception) as eager:
        summed(wrong)
    with pytest.raises(type(eager.value)):
        ms.jit(summed)(wrong)
    with pytest.raises((type(eager.value), MindliteError)):
        jitted(wrong)


@pytest.mark.python_runs("the structure is a constant of each graph: a part of a tree leaves it")
def test_what_a_graph_cannot_say_of_a_tree_is_said_of_its_structure():
    def left(t):
        return t[1]
    jitted, t = ms.jit(left), tree(9)
    got = jitted(t)
    assert (got is None) == (t[1] is None)


@pytest.mark.python_runs("a gradient in eager mode of a compiled function of a tree")
def test_a_compiled_function_of_a_tree_under_an_eager_gradient_says_that_python_runs_it():
    jitted, t = ms.jit(summed), tree(12)
    jitted(t)
    with pytest.warns(FallbackWarning, match="whose argument is a tree"):
        got = ms.grad(lambda: jitted(t).sum(), None, [W])()
    want = ms.grad(lambda: summed(t).sum(), None, [W])()
    assert np.allclose(flat(got)[0], flat(want)[0])


def test_a_whole_graph_of_a_tree_is_not_run_by_python_for_an_eager_gradient():
    jitted, t = ms.jit(summed, fullgraph=True), tree(12)
    jitted(t)
    with pytest.raises(GraphSyntaxError, match="jit what takes the gradient"):
        ms.grad(lambda: jitted(t).sum(), None, [W])()
    got = ms.jit(lambda t: ms.grad(lambda: summed(t).sum(), None, [W])(), fullgraph=True)(t)
    assert np.allclose(flat(got)[0], flat(ms.grad(lambda: summed(t).sum(), None, [W])())[0])


@pytest.mark.parametrize("printer", ["native", "vm", "python"])
def test_all_ways_to_run_read_the_same_records(printer):
    function, t = JitFunction(summed, fullgraph=True, printer=printer), tree(12)
    assert np.allclose(function(t).asnumpy(), summed(t).asnumpy(), rtol=1e-12)


def by_pattern(t):
    match t:
        case (x, None, _):
            return x
        case (x, (y, *_), _):
            return x + y
        case _:
            return ops.zeros(D, ms.float64)


def by_loop(t):
    total = ops.zeros(D, ms.float64)
    while t is not None:
        total = total * 0.5 + t[0]
        t = t[1] or t[2]
    return total


@pytest.mark.parametrize("function", [by_pattern, by_loop])
def test_patterns_and_loops_go_through_a_tree(function):
    agree(function, [tree(12), tree(3), tree(20), tree(1)])


def test_the_arguments_of_a_call_are_no_tree_however_deep_they_nest():
    def total(x, cache=None, more=None):
        for pair in (cache or ()) + (more or ()):
            x = x + pair[0] * pair[1]
        return x

    compiled, x = ms.jit(total), ms.Tensor([2.0, 3.0])
    cache = ((x, x + 1), (x + 2, x + 3))
    for args, named in [((x,), {}), ((x, cache), {}), ((x, cache), {}), ((x,), {"cache": cache, "more": cache})]:
        assert compiled(*args, **named).asnumpy().tolist() == total(*args, **named).asnumpy().tolist()
