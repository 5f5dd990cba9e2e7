"""Python's control flow means the same in PyNative mode, in graph mode and to the derivative."""
import numpy as np
import pytest
from programs import PROGRAMS

import mindlite as ms
from mindlite import Tensor, jit, ops

CASES = [pytest.param(p.function, call, id=f"{p}-{n}") for p in PROGRAMS for n, call in enumerate(p.calls)]
SMOOTH = [pytest.param(p.function, call, id=f"{p}-{n}") for p in PROGRAMS if p.smooth for n, call in enumerate(p.calls)]


def arguments(call):
    """Tensors in place of floats and lists of them."""
    return [ms.Tensor(np.array(a, np.float64)) if isinstance(a, (float, list)) else a for a in call]


def plain(value):
    """A result without Tensors: what two runs are compared by."""
    if isinstance(value, ms.Tensor):
        return ("tensor", value.dtype.name, value.shape, value.tolist())
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *map(plain, value))
    if isinstance(value, dict):
        return ("dict", *[(k, plain(v)) for k, v in value.items()])
    return (type(value).__name__, value)


def close(a, b):
    """Equal, floats up to rounding."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-12 * max(abs(a), abs(b)))


@pytest.mark.parametrize("function, call", CASES)
def test_a_graph_gives_what_python_gives(function, call):
    jitted = ms.jit(function)
    want = plain(function(*arguments(call)))
    for _ in range(2):
        assert close(plain(jitted(*arguments(call))), want)


def differences(function, args, number, step=1e-6):
    """The derivative of the sum of function(*args) by the tensor args[number], by central differences."""
    base = args[number].asnumpy()
    made = np.zeros_like(base)
    for index in np.ndindex(base.shape):
        values = []
        for sign in (1, -1):
            moved = base.copy()
            moved[index] += sign * step
            inside = [*args[:number], ms.Tensor(moved), *args[number + 1:]]
            values.append(float(function(*inside).asnumpy().sum()))
        made[index] = (values[0] - values[1]) / (2 * step)
    return made


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function, call", SMOOTH)
def test_gradients_of_both_modes_are_the_differences(function, call):
    args = arguments(call)
    positions = tuple(n for n, a in enumerate(args) if isinstance(a, ms.Tensor))
    gradient = ms.grad(function, positions)
    wanted = [differences(function, args, number) for number in positions]
    compiled = ms.jit(gradient)
    for derivative in (gradient, compiled, compiled, ms.grad(ms.jit(function), positions)):
        found = derivative(*args)
        found = found if len(positions) > 1 else (found,)            # of one position it comes alone
        assert len(found) == len(wanted)
        for got, want in zip(found, wanted):
            assert got.shape == want.shape
            assert np.allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6), (derivative, got, want)


def test_a_gradient_through_statements_of_python_runs_them_once_in_each_call():
    seen = []

    def cube(x):
        y = x * x
        try:
            seen.append(x.ndim)
            y = y * x
        finally:
            y = y + 1
        return y
    x = ms.Tensor(np.array(2.0))
    gradient = ms.grad(cube)
    for derivative in (gradient, ms.jit(gradient), ms.grad(ms.jit(cube))):
        for _ in range(3):
            seen.clear()
            assert float(derivative(x)) == 12 and seen == [0]


@pytest.mark.parametrize("mode", ["pynative", "graph"])
def test_a_training_step_through_statements_of_python_descends(mode):
    net = ms.nn.Dense(2, 1, weight_init="ones", bias_init="zeros", dtype=ms.float64)
    optimizer = ms.nn.SGD(net.trainable_params(), 1 / 64)

    def loss(x):
        y = ops.reduce_sum(net(x) ** 2)
        try:
            y = y * 0.5
        finally:
            y = y + 0.0
        return y
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    def step(x):
        value, grads = gradient(x)
        optimizer(grads)
        return value
    run = ms.jit(step) if mode == "graph" else step
    x, weight, bias = np.array([[1.0, 2.0], [0.5, -1.0]]), np.ones((1, 2)), np.zeros(1)
    for _ in range(4):
        y = x @ weight.T + bias
        assert np.isclose(float(run(ms.Tensor(x))), 0.5 * (y ** 2).sum(), rtol=1e-12)
        weight, bias = weight - y.T @ x / 64, bias - y.sum(0) / 64


def test_sizes_that_do_not_fit_inside_a_loop_raise_at_the_line_as_eager_does():
    def grow(x):
        i = 0
        while x.sum() < 100:
            x = ops.concat((x, x), 0)
            if i == 2:
                x = ops.matmul(x, x)
            i += 1
        return x
    f, seen = ms.jit(grow), []
    for call in (grow, f, f):
        with pytest.raises(ms.ShapeError) as caught:
            call(Tensor(np.ones((2, 3), np.float32)))
        seen.append(str(caught.value))
    assert seen[0] == seen[1] == seen[2] and "f32[16, 3]" in seen[0]
    fits = Tensor(np.full((2, 16), 0.01, np.float32))
    np.testing.assert_allclose(f(fits).asnumpy(), grow(fits).asnumpy(), rtol=1e-6)


def test_sizes_that_do_not_fit_what_data_decides_raise_as_eager_does():
    def pick(x):
        return x[x > 0] + ops.ones((3,), ms.float32)
    f = ms.jit(pick)
    good, bad = (Tensor(np.array(v, np.float32)) for v in ([1, 2, -1, 3], [1, 2, -1, -3]))
    for x in (good, bad, good):
        try:
            expected = pick(x).asnumpy().tolist()
        except ms.ShapeError as error:
            with pytest.raises(ms.ShapeError) as caught:
                f(x)
            assert str(caught.value) == str(error)
        else:
            assert f(x).asnumpy().tolist() == expected


def test_texts_of_open_sizes_hold_the_sizes_of_the_run(capsys):
    def tell(x):
        print(x.shape, f"{x.shape} {x.shape[0]:3d}", [x.shape[0]])
        return f"{x.shape}", str(x.shape), "%d %s" % (x.shape[0], x.shape), "{}".format(x.shape), {"n": x.shape[1]}

    def complain(x):
        if x.sum() > 0:
            raise ValueError("bad", x.shape, f"{x.shape[0]}")
        return x
    f, g = ms.jit(tell, dynamic=1), ms.jit(complain, dynamic=1)
    for shape in ((2, 3), (2, 3), (4, 5), (4, 5)):
        x = Tensor(np.ones(shape, np.float32))
        expected = tell(x), capsys.readouterr().out
        assert (f(x), capsys.readouterr().out) == expected
        with pytest.raises(ValueError) as caught:
            g(x)
        assert caught.value.args == ("bad", shape, str(shape[0]))


def first_assigned_in_a_while(x, n):
    while n.sum() > 0:
        y, n = x * n.sum(), n - 1
    return y


def first_assigned_in_a_for(x, n):
    for i in range(int(n.sum())):
        y = x + i
    return y + i


def first_assigned_and_read_in_the_next_turn(x, n):
    i = 0
    while n.sum() > 0:
        if i > 0:
            x = x + y                                                                           # noqa: F821
        y, n, i = x * 2, n - 1, i + 1                                                           # noqa: F841
    return x


@pytest.mark.python_runs("a loop without iterations leaves a variable as it was")
@pytest.mark.parametrize("function", [first_assigned_in_a_while, first_assigned_in_a_for,
                                      first_assigned_and_read_in_the_next_turn], ids=lambda f: f.__name__)
def test_what_a_loop_without_turns_does_not_assign_has_no_value(function):
    f, x = ms.jit(function), Tensor(np.ones(2, np.float32))
    for iterations in (3, 1, 0, 2, 0):
        n = Tensor(np.array([iterations], np.int32))
        try:
            expected = function(x, n).asnumpy().tolist()
        except UnboundLocalError as error:
            with pytest.raises(UnboundLocalError) as caught:
                f(x, n)
            assert str(caught.value) == str(error)
        else:
            assert f(x, n).asnumpy().tolist() == expected
    assert not f.compiled.in_python


def endless(x):
    if x.sum() > 0:
        return endless(x - 1)
    return endless(x + 1)


def test_a_recursion_without_an_end_is_told_before_it_runs():
    with pytest.raises(RecursionError, match="every path of endless leads to endless again, a loop without end") as caught:
        jit(endless)(Tensor([5.0]))
    assert caught.value.location.file == __file__


@pytest.mark.python_runs("except RecursionError: whether a recursion ends is not known in a graph")
def test_it_may_be_caught_by_the_program_and_effects_come_before_it():
    seen = []

    def caught(x):
        try:
            return endless(x)
        except RecursionError:
            return x * 2

    def counted(x):
        seen.append(1)
        return endless(x)
    assert float(jit(caught)(Tensor([5.0]))) == 10
    with pytest.raises(RecursionError):
        jit(counted)(Tensor([5.0]))
    assert seen == [1]


def first_item(x, n):
    for row in x:
        return row * 2
    return x.sum()


def stops_at_once(x, n):
    for _ in x:
        break
    return x.sum()


def raises_at_once(x, n):
    for item in range(int(x.sum())):
        raise ValueError(item)
    return x


def leaves_in_two_ways(x, n):
    for row in x:
        if row > 0:
            return row
        raise KeyError(n)
    return x.sum()


def leaves_from_inside(x, n):
    for row in x:
        for item in range(n):
            if item > 2:
                break
            return row + item
    return x.sum()


def while_that_raises(x, n):
    while x.sum() > n:
        raise ValueError(n)
    return x


@pytest.mark.parametrize("function", [first_item, stops_at_once, raises_at_once, leaves_in_two_ways, leaves_from_inside,
                                      while_that_raises])
def test_a_loop_that_nothing_jumps_back_to_is_a_branch(function):
    def ends(f, *args):
        try:
            return plain(f(*args))
        except (ValueError, KeyError) as error:
            return repr(error)
    graph = ms.jit(function, fullgraph=True)
    for values in ([3.0, 4.0, 5.0], [-3.0, 4.0, -5.0], [0.5], [-1.0] * 6):
        for n in (0, 4):
            assert ends(graph, Tensor(np.array(values)), n) == ends(function, Tensor(np.array(values)), n)
