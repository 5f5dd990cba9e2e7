"""When a compiled function is compiled again: what it read is seen to change, numbers that vary become variables."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.compile.jit import JitFunction


class Holder:
    """An object with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


factor = 2.0
table = [1.0, 2.0]


def x():
    return Tensor(np.ones(3))


def value(out):
    return out.asnumpy().tolist()


def test_a_changed_global_is_seen_and_the_reason_told():
    global factor
    f = JitFunction(lambda x: x * factor)
    factor = 2.0
    assert value(f(x())) == [2.0] * 3
    factor = 5.0
    assert value(f(x())) == [5.0] * 3 and "factor changed" in f.explain()
    factor = 2.0


def test_a_changed_attribute_is_seen_and_an_unchanged_one_compiles_nothing():
    holder = Holder(n=2)
    f = JitFunction(lambda x: x * holder.n)
    assert value(f(x())) == value(f(x())) == [2.0] * 3 and len(f.variants) == 1
    holder.n = 3
    assert value(f(x())) == [3.0] * 3
    assert "Holder.n changed" in f.explain()


def test_an_attribute_that_comes_into_being_is_seen():
    holder = Holder()
    f = JitFunction(lambda x: x * getattr(holder, "n", 1))
    assert value(f(x())) == [1.0] * 3
    holder.n = 4
    assert value(f(x())) == [4.0] * 3


def test_a_changed_closure_cell_is_seen():
    n = 2

    def multiply(x):
        return x * n
    f = JitFunction(multiply)
    assert value(f(x())) == [2.0] * 3
    n = 7
    assert value(f(x())) == [7.0] * 3


def test_a_changed_default_argument_is_seen():
    def multiply(x, n=2):
        return x * n
    f, g = JitFunction(multiply), JitFunction(lambda x: multiply(x))
    assert value(f(x())) == value(g(x())) == [2.0] * 3
    multiply.__defaults__ = (3,)
    assert value(f(x())) == value(g(x())) == [3.0] * 3


def test_what_a_list_outside_holds_is_seen_to_change():
    f = JitFunction(lambda x: x * sum(table) + len(table))
    assert value(f(x())) == [5.0] * 3
    table.append(4.0)
    assert value(f(x())) == [10.0] * 3
    table[0] = 0.0
    assert value(f(x())) == [9.0] * 3
    table[:] = [1.0, 2.0]
    assert value(f(x())) == [5.0] * 3


def test_a_counter_that_is_read_and_assigned_compiles_once():
    holder = Holder(step=0)

    def count(x):
        holder.step += 1
        return x * holder.step
    f = JitFunction(count)
    assert [value(f(x()))[0] for _ in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert holder.step == 5 and len(f.variants) == 1 and not f.history


def test_a_tensor_attribute_that_is_read_and_assigned_compiles_once():
    holder = Holder(state=x())

    def step(x):
        holder.state = holder.state * 0.5 + x
        return holder.state
    f = JitFunction(step)
    assert [value(f(x()))[0] for _ in range(4)] == [1.5, 1.75, 1.875, 1.9375]
    assert len(f.variants) == 1 and not f.history


def test_a_number_becomes_a_variable_after_its_second_value():
    f = JitFunction(lambda x, n: x * n)
    assert [value(f(x(), n))[0] for n in (1, 2, 3, 4, 5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(f.variants) == 2 and "another number: 1 -> 2" in f.explain()
    assert value(f(x(), 1.5)) == [1.5] * 3 and len(f.variants) == 3
    assert value(f(x(), 2.5)) == [2.5] * 3 and len(f.variants) == 4
    assert value(f(x(), 3.5)) == [3.5] * 3 and len(f.variants) == 4


def test_a_number_that_must_be_known_stays_one():
    f = JitFunction(lambda x, axis: x.sum(axis))
    data = Tensor(np.arange(6.0).reshape(2, 3))
    assert value(f(data, 0)) == [3.0, 5.0, 7.0] and value(f(data, 1)) == [3.0, 12.0]
    assert value(f(data, 0)) == [3.0, 5.0, 7.0] and not f.in_python and len(f.variants) == 2


def test_numbers_beyond_64_bits_stay_constants():
    f = JitFunction(lambda n: n + 1)
    assert [f(n) for n in (1, 2, 3, 2 ** 70, 2 ** 70 + 1)] == [2, 3, 4, 2 ** 70 + 1, 2 ** 70 + 2]


def test_dividing_by_a_variable_that_is_zero_raises_as_python_does():
    for function in (lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b):
        f = JitFunction(function)
        assert [f(a, b) for a, b in ((6, 3), (7, 2), (9, 4))] == [function(a, b) for a, b in ((6, 3), (7, 2), (9, 4))]
        with pytest.raises(ZeroDivisionError):
            f(1, 0)


def test_powers_of_variables_are_those_of_python():
    f = JitFunction(lambda a, b: a ** b)
    for a, b in ((2, 3), (3, 2), (2, -1), (5, -2), (2, 70)):
        got = f(a, b)
        assert got == a ** b and type(got) is type(a ** b)


def test_mutable_makes_a_number_a_variable_at_once():
    f = ms.jit(lambda x, n: x * n)
    assert value(f(x(), ms.mutable(2))) == [2.0] * 3 and value(f(x(), ms.mutable(3))) == [3.0] * 3
    assert len(f.variants) <= 2
