"""Gradients pass Python code in a graph: they are PyNative's, to any order, through lists, loops and weights."""
import itertools
import operator

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.mindir.control import segment
from mindlite.mindir.primitive import eager

KEPT = []


def evaluated(x, y):
    z = eval("x * y")
    return (ops.tanh(z) * x).sum()


def in_a_loop(x, y):
    for _ in range(6):
        x = ops.tanh(x) * eval("x * y") + y
    return x.sum()


def in_a_loop_whose_end_is_data(x, y):
    while x.sum() < 100:
        x = x * 2 + eval("y * y") * x + ops.abs(y)
    return x.sum()


def through_a_list_of_pythons(x, y):
    xs = list(itertools.accumulate((x, y, x * y), operator.mul))
    return (xs[1] * 2 + xs[2]).sum()


def on_one_path(x, y):
    if x.sum() > 0:
        z = eval("x * y")
    else:
        z = y
    return (ops.tanh(z) * x).sum()


def through_a_list_outside(x, y):
    KEPT.clear()
    for _ in range(6):
        KEPT.append(ops.tanh(x) * y)
        x = x * 2
    return (KEPT[0] * KEPT[5] * x).sum()


def through_a_list_that_python_shares(x, y):
    kept = []
    for n in range(5):
        kept.append(ops.tanh(x) * y)
        x = x * 1.5
    eval("kept.reverse()")
    return (kept[0] * kept[3] * x).sum()


def mapped(x, y):
    return ms.vmap(lambda a, b: eval("a * b") * a)(x, y).sum()


def twice_the_same_argument(x, y):
    return (eval("x * x") + eval("x")).sum() + y.sum()


PROGRAMS = [f for f in list(globals().values())
            if getattr(f, "__code__", None) and f.__code__.co_varnames[:2] == ("x", "y")]
POINTS = [[0.1, 0.2, 0.3], [2.0, -1.0, 0.5]], [[-0.1, -0.2, 0.1], [2.0, -1.0, 0.5]]


def arguments(point):
    return [Tensor(np.array(v, np.float32)) for v in point]


def close(a, b):
    for left, right in zip(a, b, strict=True):
        np.testing.assert_allclose(left.asnumpy(), right.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("point", POINTS, ids=["first", "second"])
@pytest.mark.parametrize("program", PROGRAMS, ids=[f.__name__.replace("_", " ") for f in PROGRAMS])
def test_the_gradient_of_a_graph_is_pynatives(program, point):
    jitted = ms.jit(ms.grad(program, (0, 1)))
    for _ in range(3):
        close(jitted(*arguments(point)), ms.grad(program, (0, 1))(*arguments(point)))
    assert not jitted.compiled.in_python and len(jitted.variants) == 1


@pytest.mark.parametrize("program", PROGRAMS, ids=[f.__name__.replace("_", " ") for f in PROGRAMS])
def test_the_second_derivative_of_a_graph_is_pynatives(program):
    def twice(x, y):
        dx, dy = ms.grad(program, (0, 1))(x, y)
        return dx.sum() + dy.sum()
    jitted = ms.jit(ms.grad(twice, (0, 1)))
    for _ in range(3):
        close(jitted(*arguments(POINTS[0])), ms.grad(twice, (0, 1))(*arguments(POINTS[0])))
    assert not jitted.compiled.in_python


def test_the_third_derivative_passes_python_code():
    def f(x):
        return eval("x * x * x * x").sum()

    def third(x):
        return ms.grad(lambda x: ms.grad(lambda x: ms.grad(f)(x).sum())(x).sum())(x)
    x = Tensor(np.array([1.0, 2.0], np.float32))
    jitted = ms.jit(third)
    for _ in range(3):
        assert jitted(x).tolist() == [24.0, 48.0]


class Mixed(nn.Cell):
    """Parameters that only Python code reads, and one that the graph reads."""

    def __init__(self):
        super().__init__()
        self.v = ms.Parameter(Tensor(np.array([0.5, 0.2, 0.3], np.float32)), name="v")
        self.w = ms.Parameter(Tensor(np.array([1.0, 2.0, 3.0], np.float32)), name="w")

    def construct(self, x):
        y = x * self.v
        z = eval("self.w * y * self.w")
        xs = list(itertools.accumulate((x, y, z), operator.mul))
        return (xs[2] + z).sum()


def test_parameters_that_python_code_reads_get_their_gradients():
    x = Tensor(np.array([0.1, 0.2, 0.3], np.float32))
    net, jitted = Mixed(), Mixed()
    jitted.construct = ms.jit(jitted.construct)
    value, (dx, dw) = ms.value_and_grad(net, 0, net.trainable_params())(x)
    whole = ms.jit(lambda x: ms.value_and_grad(net, 0, net.trainable_params())(x))
    for _ in range(3):
        for found, (fx, fw) in (whole(x), ms.value_and_grad(jitted, 0, jitted.trainable_params())(x)):
            close([found, fx, *fw], [value, dx, *dw])
    assert not whole.compiled.in_python and not jitted.construct.compiled.in_python


def test_the_backward_graph_calls_python_where_the_forward_graph_did():
    jitted = ms.jit(ms.grad(evaluated, (0, 1)))
    for _ in range(2):
        jitted(*arguments(POINTS[0]))
    reasons = [node.attrs["reason"] for graph in jitted.graph("optimise").reachable() for node in graph.nodes
               if node.fn is segment]
    assert len(reasons) == 2 and reasons[1] == "the gradient of: " + reasons[0]


def test_a_jitted_function_with_python_in_it_is_recorded_as_one_operation():
    f = ms.jit(lambda x: (eval("ops.tanh(x) * x") * x).sum())

    def plain(x):
        return (eval("ops.tanh(x) * x") * x).sum()
    x = Tensor(np.array([0.1, 0.2, 0.3], np.float32))
    for _ in range(3):
        close([ms.grad(f)(x)], [ms.grad(plain)(x)])
        close([ms.grad(lambda x: ms.grad(f)(x).sum())(x)], [ms.grad(lambda x: ms.grad(plain)(x).sum())(x)])


def test_only_what_leaves_the_tensors_stops_gradients():
    def f(x):
        return (x * Tensor(x.asnumpy()) + eval("x")).sum()
    x = Tensor(np.array([3.0, 4.0], np.float32))
    jitted = ms.jit(ms.grad(f))
    for _ in range(3):
        assert jitted(x).tolist() == [4.0, 5.0] == ms.grad(f)(x).tolist()


TURN = [0]


def gives_another_type(x, y):
    a = eval("x * y")
    n = eval("3 if TURN[0] == 1 else 2.5")
    return (ops.tanh(a) * n * x).sum()


def goes_another_way(x, y):
    a = eval("x * y")
    b = ops.sin(a) * x
    for n in range(2):
        b = b * eval("ops.cos(x)") + a
        if b.sum() > 0 and n == 1:
            b = eval("b * x")
    return (ops.tanh(b) * a).sum()


def keeps_what_it_is_given(x, y):
    KEPT.clear()
    z = x * y
    for _ in range(3):
        KEPT.append(z)
        KEPT.append(z * 1)
    n = eval("3 if TURN[0] == 1 else 2.5")
    return (KEPT[0] * KEPT[5] * z * n).sum()


class Holder:
    """An object outside."""


HOLDER = Holder()


def writes_a_variable(x, y):
    HOLDER.z = ops.tanh(x * y)
    q = operator.mul(HOLDER.z, eval("HOLDER.z * 2"))
    n = eval("3 if TURN[0] == 1 else 2.5")
    return (q * HOLDER.z * n * x).sum()


def holds_tensors_in_an_iterator(x, y):
    pairs = list(zip((x, y), (x * y, x)))
    eval("pairs.reverse()")
    n = eval("3 if TURN[0] == 1 else 2.5")
    return (pairs[0][0] * n * pairs[1][1]).sum() + pairs[0][1].sum()


def raises_what_is_caught(x, y):
    a = eval("x * y")
    try:
        b = eval("x / y if TURN[0] == 1 else int('q')")
    except ValueError:
        b = a
    return (a * b * x).sum()


BEGINNING_AGAIN = (gives_another_type, goes_another_way, keeps_what_it_is_given, writes_a_variable, holds_tensors_in_an_iterator,
                   raises_what_is_caught)


def of_second_order(program):
    def twice(x, y):
        dx, dy = ms.grad(program, (0, 1))(x, y)
        return (dx * x).sum() + (dy * dy).sum()
    return ms.grad(twice, (0, 1))


@pytest.mark.sampled(2)
@pytest.mark.python_runs("writes_a_variable: Python code in a branch sees z, which was assigned before")
@pytest.mark.parametrize("how", [lambda f: ms.jit(ms.grad(f, (0, 1))), lambda f: ms.grad(ms.jit(f), (0, 1)),
                                 lambda f: ms.jit(of_second_order(f))], ids=["jit of grad", "grad of jit", "second order"])
@pytest.mark.parametrize("program", BEGINNING_AGAIN, ids=[f.__name__.replace("_", " ") for f in BEGINNING_AGAIN])
def test_a_gradient_that_begins_again_is_pynatives(program, how, request):
    derivative = how(program)
    plain = of_second_order(program) if "second" in request.node.name else ms.grad(program, (0, 1))
    for iteration, point in enumerate([POINTS[0], POINTS[0], POINTS[1], POINTS[0]]):
        TURN[0] = iteration
        close(derivative(*arguments(point)), plain(*arguments(point)))


def reads_locals_behind_a_variable_outside(x, y):
    HOLDER.z = ops.tanh(x * y)
    q = eval("HOLDER.z * x")
    return (q * HOLDER.z).sum()


def passes_no_gradient(x, y):
    KEPT.clear()
    with ms.no_grad():
        a = eval("x * y")
        KEPT.append(a * x)
        eval("KEPT.append(a * y)")
    return (a * x * KEPT[0] * KEPT[1]).sum()


@pytest.mark.parametrize("program", [reads_locals_behind_a_variable_outside, passes_no_gradient])
@pytest.mark.python_runs("Python code in a branch sees the variable z, which was assigned before")
def test_what_python_code_reads_and_records_is_the_same_in_every_run(program):
    jitted, plain = ms.jit(ms.grad(program, (0, 1))), ms.grad(program, (0, 1))
    for point in POINTS[0], POINTS[0], POINTS[1]:
        close(jitted(*arguments(point)), plain(*arguments(point)))


TANGENTS = tuple([Tensor(np.array(v, np.float32)) for v in ([1.0, -2.0, 0.5], [0.3, 0.7, -1.0])])


def pushed(program):
    return lambda x, y: ms.jvp(program, (x, y), TANGENTS)


def differentiated_once_pushed(program):
    return ms.grad(lambda x, y: ms.jvp(program, (x, y), TANGENTS)[1] ** 2, (0, 1))


def pushed_once_differentiated(program):
    return lambda x, y: ms.jvp(ms.grad(program, (0, 1)), (x, y), TANGENTS)


def pushed_twice(program):
    return lambda x, y: ms.jvp(lambda x, y: ms.jvp(program, (x, y), TANGENTS)[1], (x, y), TANGENTS)


def linearised(program):
    def both(x, y):
        value, push = ms.linearize(program, (x, y))
        return value, push(TANGENTS), push(TANGENTS[::-1])
    return both


def jacobian(program):
    return ms.jacfwd(program, (0, 1))


def hessian(program):
    return ms.jacfwd(ms.jacrev(program, (0, 1)), (0, 1))


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def check_forward(program, how, *points):
    """A graph of this derivative gives what eager mode gives, at each of the points in turn. One that is asked for later,
    when the function has run, needs the recording of its Python code: it runs in Python, and says so."""
    derivative = how(program)
    jitted = ms.jit(lambda x, y: derivative(x, y))
    for iteration, point in enumerate(points):
        TURN[0] = iteration
        with eager():
            expected = leaves(derivative(*arguments(point)))
        TURN[0] = iteration
        for found, wanted in zip(leaves(jitted(*arguments(point))), expected, strict=True):
            np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-3, atol=1e-4)
    reasons = [str(reason) for reason in jitted.compiled.in_python.values()]
    if how in (linearised, jacobian, hessian) and reasons:
        assert all("a derivative that is asked for later" in reason for reason in reasons)
    else:
        assert not reasons


@pytest.mark.parametrize("program", PROGRAMS, ids=[f.__name__.replace("_", " ") for f in PROGRAMS])
def test_forward_mode_passes_python_code(program):
    check_forward(program, pushed, POINTS[0], POINTS[0], POINTS[1])


@pytest.mark.python_runs("on_one_path, through_a_list: a derivative that is asked for later passes Python code")
@pytest.mark.parametrize("how", [differentiated_once_pushed, pushed_once_differentiated, pushed_twice, linearised, jacobian])
@pytest.mark.parametrize("program", [on_one_path, through_a_list_that_python_shares])
def test_forward_and_reverse_mode_pass_python_code_in_any_order(program, how):
    check_forward(program, how, POINTS[0], POINTS[0])


@pytest.mark.python_runs("on_one_path: a derivative that is asked for later passes Python code")
def test_the_hessian_of_python_code_on_one_path_is_pynatives():
    check_forward(on_one_path, hessian, POINTS[0], POINTS[0])


@pytest.mark.parametrize("how", [pushed, differentiated_once_pushed])
@pytest.mark.parametrize("program", [gives_another_type, goes_another_way, keeps_what_it_is_given])
def test_forward_mode_that_begins_again_is_pynatives(program, how):
    check_forward(program, how, POINTS[0], POINTS[0], POINTS[1], POINTS[0])


def test_the_tangents_of_parameters_that_python_code_reads_are_zero():
    net, x = Mixed(), Tensor(np.array([0.1, 0.2, 0.3], np.float32))
    jitted = ms.jit(lambda x: ms.jvp(net, x, TANGENTS[0]))
    plain = [float(ms.jvp(lambda x: Mixed()(x), x, TANGENTS[0])[1])]
    for _ in range(3):
        np.testing.assert_allclose([float(jitted(x)[1])], plain, rtol=1e-5)
