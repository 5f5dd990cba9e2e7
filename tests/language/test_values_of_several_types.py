"""A variable that is an int on one path and a float, bool or Tensor on another stays what it is, as in Python."""
import numpy as np
import pytest
from test_unassigned_variables import T, ends

import mindlite as ms


def int_or_float(x, n):
    y = 1 if x.sum() > 0 else 0.5
    return y, y + 1, y / 2, x * y


def in_a_loop(x, n):
    y = 0
    for _ in range(n):
        y = y + 0.5
    return y


def on_one_side_in_a_loop(x, n):
    y = 0
    for i in range(n):
        if x.sum() > i:
            y = y + 0.5
    return y, y * 2


def loss_of_a_loop(x, n):
    loss = 0
    for _ in range(n):
        loss = loss + x.sum()
    return loss


def loss_of_some_turns(x, n):
    loss = 0
    for i in range(n):
        if x.sum() > i:
            loss += (x * i).sum()
    return loss


def number_or_tensor(x, n):
    scale = 1.0
    if x.sum() > 2:
        scale = 2 / x.sum()
    return scale, x * scale, scale + 1


def operators_that_ask_for_the_type(x, n):
    k = 7
    if x.sum() > 2:
        k = 7.0
    return k // 2, k % 4, -k, k == 7, str(k), f"{k:5} {k!r}", isinstance(k, int), (k, [k, 1]), abs(k), k ** 2


def a_bool_or_an_int(x, n):
    b = True
    if x.sum() > 2:
        b = 3
    return b, b + 1, isinstance(b, bool), not b, x if b else -x


def three_types(x, n):
    k = 2
    if x.sum() > 2:
        k = 1.5
    elif x.sum() < -2:
        k = x
    return k, k * 2, k + x


def in_a_while_loop(x, n):
    i = 0
    while i < n:
        i = i + 0.5 if x[0] > i else i + 1
    return i


def an_index_that_may_be_no_index(x, n):
    k = 1
    if x.sum() > 2:
        k = 1.0
    return x[k]


def an_operator_that_raises_for_one_type(x, n):
    k = 4
    if x.sum() > 2:
        k = 4.0
    try:
        y = k << 1
    except TypeError as error:
        y = str(error)
    return y


def given_to_functions(x, n):
    def twice(v):
        return v + v
    k = twice(1 if x.sum() > 0 else 2.5)
    return twice(k), max(k, 3), int(k), float(k), round(k), eval("k")


def written_outside(x, n):
    k = 1 if x.sum() > 0 else 2.5
    print(k)
    state["n"] = k
    return x * k


def raised(x, n):
    k = 1 if x.sum() > 0 else 2.5
    if x[0] > 2:
        raise ValueError(f"{k} is too much", k)
    return k


def left_early(x, n):
    for i in range(n):
        if x.sum() > i:
            return i
        x = x - 0.5
    return -1.0


def sizes_of_python_code(x, n):
    out = 0
    for _ in eval("range(n % 9)"):                           # each looks through all that a test can reach
        out = out + eval("x * 2")
    return out


state = {}
FUNCTIONS = [int_or_float, in_a_loop, on_one_side_in_a_loop, loss_of_a_loop, loss_of_some_turns, number_or_tensor,
             operators_that_ask_for_the_type, a_bool_or_an_int, three_types, in_a_while_loop,
             an_index_that_may_be_no_index, an_operator_that_raises_for_one_type, given_to_functions, written_outside,
             raised, left_early, sizes_of_python_code]
NATIVE = [int_or_float, in_a_loop, on_one_side_in_a_loop, loss_of_a_loop, loss_of_some_turns, number_or_tensor,
          operators_that_ask_for_the_type, a_bool_or_an_int, three_types, in_a_while_loop, raised, left_early]
ARGUMENTS = [(1.0, 2.0), (1.0, 2.0), (-1.0, -2.0), (3.0, -5.0), (0.5, 0.25), (-1.0, -2.0), (6.0, 4.0)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.python_runs("a loop without iterations leaves a variable as it was")
def test_every_call_ends_as_in_python(function, capsys):
    jitted = ms.jit(function)
    for values in ARGUMENTS:
        for n in (50, 2, 0, 50):
            seen = []
            for call in function, jitted:
                state.clear()
                seen.append((ends(call, T(*values), n), repr(state), capsys.readouterr().out))
            assert seen[0] == seen[1], (values, n)


@pytest.mark.parametrize("function", NATIVE)
def test_nothing_of_it_runs_in_python(function):
    jitted = ms.jit(function)
    for values in ARGUMENTS:
        ends(jitted, T(*values), 50)
    assert not jitted.compiled.fallbacks and not jitted.compiled.in_python, jitted.explain()


@pytest.mark.parametrize("function", [loss_of_a_loop, loss_of_some_turns, number_or_tensor, three_types])
def test_its_gradient_is_that_of_the_path_that_was_taken(function):
    def loss(x):
        value = function(x, 6)
        return ((value[1] if isinstance(value, tuple) else value) * x).sum()
    for values in (1.0, 2.0), (3.0, 2.5), (-3.0, -2.5), (1.0, 2.0):
        expected = ms.grad(loss)(T(*values))
        assert np.allclose(ms.jit(ms.grad(loss))(T(*values)).asnumpy(), expected.asnumpy())


def test_what_leaves_a_loop_has_the_sizes_of_its_turn():
    def f(x):
        i = 0
        while True:
            if i >= x.sum():
                return x
            x = x[1:]
            if x.shape[0] < 2:
                return x * 2
            i = i + 1
    jitted = ms.jit(f)
    for values in (1.0, 2.0), (1.0, 2.0, 0.0, 0.0), (3.0, 4.0, -1.0, -2.0, 0.0, 0.0):
        assert jitted(T(*values)).tolist() == f(T(*values)).tolist()
