"""A Parameter is a leaf: its gradient is that of all its reads, and none flows into what was assigned to it."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    """100 p, then the assignment, then 5 p + x."""

    def __init__(self, assignment):
        super().__init__()
        self.p, self.assignment = Parameter(Tensor(3.0), name="p"), assignment

    def construct(self, x):
        before = self.p * 100
        self.assignment(self, x)
        return before + self.p * 5 + x


def by_operator(net, x):
    ops.assign(net.p, x * 2)


def by_attribute(net, x):
    net.p = x * 2


def by_augmented_assignment(net, x):
    net.p += x * 2


def by_assign_add(net, x):
    ops.assign_add(net.p, x * 2)


def by_method(net, x):
    net.p.add_(x * 2)


def by_item(net, x):
    net.p[...] = x * 2


def on_one_path(net, x):
    if x > 0:
        net.p = x * 2


def in_a_loop(net, x):
    i = x
    while i > 0:
        net.p = net.p * i
        i = i - 1


def twice(net, x):
    net.p = net.p * x
    ops.assign(net.p, net.p * net.p)


EVERY = [by_operator, by_attribute, by_augmented_assignment, by_assign_add, by_method, by_item, on_one_path, in_a_loop,
         twice]


def gradients(assignment, run):
    net = Net(assignment)
    of_x, (of_p,) = run(net)(Tensor(4.0))
    return float(of_x), float(of_p), float(net.p)


@pytest.mark.parametrize("assignment", EVERY, ids=lambda a: a.__name__)
def test_what_is_assigned_gets_no_gradient_and_all_reads_give_theirs(assignment):
    def eager(net):
        return ms.grad(net.construct, 0, weights=net.trainable_params())

    def graph(net):
        return ms.jit(eager(net), fullgraph=True)

    def graph_within_a_tape(net):
        return ms.grad(ms.jit(net.construct), 0, weights=net.trainable_params())
    seen = gradients(assignment, eager)
    assert seen[:2] == (1, 105)
    assert gradients(assignment, graph) == seen
    assert gradients(assignment, graph_within_a_tape) == seen


def test_the_result_of_assign_is_the_parameter():
    def f(p, x):
        return ops.assign(p, x * 2) * 7
    for wrap in (lambda run: run, lambda run: ms.jit(run, fullgraph=True)):
        p = Parameter(Tensor(3.0), name="p")
        of_x, (of_p,) = wrap(ms.grad(lambda x: f(p, x), 0, weights=[p]))(Tensor(4.0))
        assert (float(of_x), float(of_p), float(p)) == (0, 7, 8)


def test_forward_mode_goes_by_the_same_rule():
    p = Parameter(Tensor(3.0), name="p")

    def f(x):
        ops.assign(p, x * 2)
        return p * x
    assert float(ms.jvp(f, Tensor(4.0), Tensor(1.0))[1]) == 8
    assert float(ms.jit(lambda x: ms.jvp(f, x, Tensor(1.0))[1])(Tensor(4.0))) == 8


def test_tensors_that_are_changed_in_place_carry_gradients():
    def f(x):
        y = x * 1
        y.mul_(x)
        return y
    assert float(ms.grad(f)(Tensor(4.0))) == 8 == float(ms.jit(ms.grad(f))(Tensor(4.0)))


def test_what_was_assigned_costs_nothing_once_derivatives_are_made():
    p = Parameter(Tensor(np.ones(4, np.float32)), name="p")

    @ms.jit
    def f(x):
        ops.assign(p, x * 2)
        return p + 1
    f(Tensor(np.ones(4, np.float32)))
    names = {node.fn.name for graph in f.graph("optimise").reachable() for node in graph.nodes}
    assert names == {"mul", "add"}


def test_in_place_methods_reach_the_tensor_from_within_a_branch_or_loop():
    def f(x, c):
        y = x
        for i in range(6):
            if c > i:
                x.add_(x * 2)
        return y * 5
    expected, seen = Tensor(2.0), Tensor(2.0)
    assert float(f(expected, Tensor(3))) == 270 == float(ms.jit(f)(seen, Tensor(3)))
    assert float(expected) == 54 == float(seen)


def test_a_parameter_that_is_an_argument_is_a_leaf_too():
    def f(p, x):
        before = p * 100
        if x > 0:
            ops.assign(p, x * 2)
        p.add_(x)
        return before + p * 5 + x

    def values(run):
        p = Parameter(Tensor(3.0), name="p")
        return [float(g) for g in run(p, Tensor(4.0))], float(p)
    gradient = ms.grad(f, (0, 1))
    assert values(gradient) == values(ms.jit(gradient, fullgraph=True)) == values(ms.grad(ms.jit(f), (0, 1))) \
        == ([105, 1], 12)
    by_x = ms.grad(f, 1)
    for run in (by_x, ms.jit(by_x, fullgraph=True), ms.grad(ms.jit(f), 1)):
        assert float(run(Parameter(Tensor(3.0), name="p"), Tensor(4.0))) == 1
        assert float(run(Tensor(3.0), Tensor(4.0))) == 16


@pytest.mark.parametrize("make", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_assign_gives_the_variable_so_that_writing_to_its_result_writes_the_variable(make):
    def written_twice(x, v):
        t = ops.assign(x, x + v)
        ops.assign(t, t * 10)
        return t

    def read_later(x, v):
        t = ops.assign_add(x, v)
        ops.assign_add(x, v)
        return t
    for f, want in ((written_twice, 30), (read_later, 5)):
        x = Tensor([1])
        assert int(make(f)(x, Tensor([2]))) == want == int(x)
