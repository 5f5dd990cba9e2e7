"""A variable that has a value on some paths only: read where it has one it is that, elsewhere Python's exception is raised."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor


def T(*values):
    return Tensor(np.array(values))


def ends(function, *args):
    """How a call ends: what it gives, or the exception."""
    try:
        return repr(function(*args))
    except Exception as error:
        return repr(error)


def on_one_side(x, n):
    if x.sum() > 0:
        y = x
    return y


def of_a_constant(x, n):
    if x.sum() > 0:
        y = 1
    y += 1
    return x * y


def of_a_tuple(x, n):
    if x.sum() > 0:
        y = x, 2
    elif x[0] > 0:
        y = x + 1, 3
    a, b = y
    return a * b


def of_a_list(x, n):
    if x.sum() > 0:
        y = [x, 1]
    y.append(n)
    return x * len(y), y


def of_a_function(x, n):
    if x.sum() > 0:
        def y(v):
            return v * x
    return y(x)


def deleted(x, n):
    y = 1
    if x.sum() > 0:
        del y
    return x * y


def deleted_twice(x, n):
    if x.sum() > 0:
        y = 1
    del y
    return x


def read_under_the_same_condition(x, n):
    if x.sum() > 0:
        y = x * 2
    z = x
    if x.sum() > 0:
        z = y + z
    return z


def read_and_dropped(x, n):
    if x.sum() > 0:
        y = 1
    y
    return x


def after_an_effect(x, n):
    if x.sum() > 0:
        y = 1
    x[0] = 7
    return x * y


def of_a_function_around(x, n):
    if x.sum() > 0:
        y = x

    def inner():
        return y
    return inner() * 2


def of_a_cell_that_changes(x, n):
    if x.sum() > 0:
        y = 1

    def inner():
        nonlocal y
        y += 1
        return y
    return x * inner() + y


def caught(x, n):
    try:
        if x.sum() > 0:
            y = 1
        x = x * y
    except NameError as error:
        return x, type(error).__name__, str(error)
    return x


def in_a_called_function(x, n):
    return on_one_side(x + 1, n) * 2


def after_a_return(x, n):
    if x[0] > 0:
        if x.sum() > 0:
            return x
        y = 3
    return x * y


def before_it_is_assigned_in_a_loop(x, n):
    for i in range(n):
        if x[0] > i:
            x = x + y
        y = x * 2  # noqa: F841
    return x


def on_one_side_in_a_loop(x, n):
    for i in range(n):
        if x.sum() > i:
            y = x * 2
    return x + y


def on_the_other_side_in_a_loop(x, n):
    for i in range(n):
        if x.sum() > i:
            y = x * i
        else:
            x = x + y
    return x


def in_a_while_loop(x, n):
    while x.sum() < 10:
        x = x + 1
        if x.sum() > 5:
            y = 3
        if x.sum() > 7:
            x = x + y
    return x


def a_pair_in_a_loop(x, n):
    for i in range(n):
        if x.sum() > i:
            y = x, i
    return y[0] * y[1]


def behind_a_loop_that_is_left(x, n):
    for i in range(n):
        y = x * i
        if y.sum() > 5:
            break
    return y, i


def deleted_in_a_loop(x, n):
    y = 2
    for i in range(n):
        if x.sum() > i:
            x = x - y
        else:
            del y
            y = 3
        if x[0] > 20:
            del y
    return x


def by_python_code(x, n):
    if x.sum() > 0:
        y = eval("x * 2")
    return y + 1


class Holder:
    """An object with attributes."""


def an_attribute(x, n):
    h = Holder()
    if x.sum() > 0:
        h.n = 1
    return h.n, x


def an_attribute_that_is_deleted(x, n):
    h = Holder()
    h.n = x
    if x.sum() > 0:
        del h.n
    return h.n


def whether_there_is_an_attribute(x, n):
    h = Holder()
    for i in range(n):
        if x.sum() > i:
            h.n = i
    return hasattr(h, "n"), getattr(h, "n", 3), x


FUNCTIONS = [on_one_side, of_a_constant, of_a_tuple, of_a_list, of_a_function, deleted, deleted_twice,
             read_under_the_same_condition, read_and_dropped, after_an_effect, of_a_function_around, of_a_cell_that_changes,
             caught, in_a_called_function, after_a_return, before_it_is_assigned_in_a_loop, on_one_side_in_a_loop,
             on_the_other_side_in_a_loop, in_a_while_loop, a_pair_in_a_loop, behind_a_loop_that_is_left, deleted_in_a_loop,
             by_python_code, an_attribute, an_attribute_that_is_deleted, whether_there_is_an_attribute]
NOT_NATIVE = {of_a_list, of_a_function, by_python_code, an_attribute, an_attribute_that_is_deleted,
              whether_there_is_an_attribute}
ARGUMENTS = [(1.0, 2.0), (1.0, 2.0), (-1.0, -2.0), (3.0, -5.0), (1.0, 2.0), (-1.0, -2.0), (6.0, 4.0), (30.0, 1.0)]


@pytest.mark.python_runs("an_attribute_that_is_deleted: it is that of an object that Python made")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_call_ends_as_in_python(function):
    jitted = ms.jit(function)
    for values in ARGUMENTS:
        for n in (50, 2, 0, 50):
            a, b = T(*values), T(*values)
            assert ends(function, a, n) == ends(jitted, b, n), (values, n)
            assert a.tolist() == b.tolist()


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in NOT_NATIVE])
def test_nothing_of_it_runs_in_python(function):
    jitted = ms.jit(function)
    for values in ARGUMENTS:
        ends(jitted, T(*values), 50)
    assert not jitted.compiled.fallbacks and not jitted.compiled.in_python, jitted.explain()


@pytest.mark.parametrize("function", [on_one_side, read_under_the_same_condition, on_one_side_in_a_loop, in_a_while_loop])
def test_its_gradient_is_that_of_the_path_that_was_taken(function):
    def loss(x):
        return (function(x, 6) ** 2).sum()
    for values in (1.0, 2.0), (3.0, 2.5), (1.0, 2.0):
        expected = ms.grad(loss)(T(*values))
        assert np.allclose(ms.jit(ms.grad(loss))(T(*values)).asnumpy(), expected.asnumpy())


def test_the_exception_shows_the_line_of_the_reading():
    with pytest.raises(UnboundLocalError) as caught:
        ms.jit(on_one_side)(T(-1.0), 1)
    last = caught.traceback[-1]
    assert last.lineno == on_one_side.__code__.co_firstlineno + 2 and caught.value.name == "y"
