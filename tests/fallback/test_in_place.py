"""Python code that changes a Tensor of a graph in place: an argument, a Parameter, an intermediate value, a view.

A graph hands copies. So such a function runs in Python as a whole, from the first call that shows it; values, arguments and
what Python code keeps are those of plain Python in every call.
"""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor

kept = []
weight = ms.Parameter(np.array([1.0, 2.0, 3.0]), name="weight")
library = {}
exec("def change(x):\n    x[0] = 9\n"
     "def change_if_large(x):\n    if x.asnumpy()[0] > 2:\n        x.asnumpy()[0] = 9\n    return 1\n", library)
change, change_if_large = library["change"], library["change_if_large"]


def T(*values):
    return Tensor(np.array(values))


def an_argument_by_numpy(x):
    np.add(x.asnumpy(), 1.0, out=x.asnumpy())
    return x * 2


def an_intermediate_by_numpy(x):
    y = x * 2
    np.add(y.asnumpy(), 1.0, out=y.asnumpy())
    return y + 1


def a_view_by_numpy(x):
    y = x[1:]
    np.add(y.asnumpy(), 1.0, out=y.asnumpy())
    return x + 1, y


def the_root_of_a_view(x):
    y = x[1:]
    np.add(x.asnumpy(), 1.0, out=x.asnumpy())
    return x + 1, y + 0


def a_parameter(x):
    np.add(weight.asnumpy(), 1.0, out=weight.asnumpy())
    return x * weight


def a_parameter_read_before_and_behind(x):
    a = x * weight
    np.add(weight.asnumpy(), 1.0, out=weight.asnumpy())
    b = x * weight
    return a, b, a + b


def by_a_function_without_source(x):
    y = x * 1.5
    eval("change(y)")
    return y + 1, x


def by_a_method(x):
    y = x * 1.5
    eval("y.__setitem__(0, 5.0)")
    return y + 1


def through_an_array(x):
    y = x * 3
    a = y.asnumpy()
    a += 1
    return y * 2


def through_a_reshape(x):
    y = x * 3
    z = y.reshape((-1, 1))
    eval("change(z)")
    return y * 2, z


def in_a_loop(x):
    y = x * 3
    for _ in range(10):
        a = y.asnumpy()
        a += 1
        y = y * 2
    return y


def in_a_branch(x):
    y = x * 3
    if x.sum() > 0:
        eval("change(y)")
    return y * 2


def by_data(x):
    y = x * 2
    k = eval("change_if_large(x)") + eval("change_if_large(y)")
    return x * k, y


def by_data_through_an_array(x):
    y = x * 2
    a = y.asnumpy()  # noqa: F841
    z = y + 1
    eval("a.__setitem__(0, 5) if a[0] > 3 else None")
    return y, z


def in_a_dict(x):
    y = x * 2
    d = {"a": y}  # noqa: F841
    eval("d['a'].__setitem__(0, 5.0)")
    return y


def in_a_closure(x):
    y = x * 2

    def give():
        return y
    eval("give().__setitem__(0, 5.0)")
    return y


def in_a_cell(x):
    def give():
        nonlocal x
        x = x
        return 1
    for _ in range(2):
        text = (f"{x.sum()}" + str(give()))[-6:]
        x[0] = len(text)
    return x


def before_an_exception(x):
    y = x * 2
    try:
        eval("(y.__setitem__(0, 5.0), 1 // 0)")
    except ZeroDivisionError:
        pass
    return y


def by_the_graph_where_python_has_its_memory(x):
    a = x.asnumpy()
    x[0] = 5
    return float(a[0]) * x


def by_the_graph_where_a_list_outside_has_it(x):
    kept.append(x)
    x[0] = 5
    return float(kept[-1].sum()) * x


def by_the_graph_where_it_was_kept(x):
    y = x * 2
    kept.append(y)
    y[0] = 5
    return y


def by_the_graph_where_a_list_of_python_has_it(x):
    items = eval("[x * 2]")
    t = items[0]
    t[0] = 5
    return items[0] + t


def an_item_of_a_list_outside(x):
    y = x * 2
    kept.append(y)
    kept[-1][0] = 7
    return y


def a_global_that_a_statement_names(x):
    y = x * 2
    kept.append(y)
    with open("/dev/null") as file:
        np.add(kept[-1].asnumpy(), 1.0, out=kept[-1].asnumpy())
        file.read()
    return y


FUNCTIONS = [an_argument_by_numpy, an_intermediate_by_numpy, a_view_by_numpy, the_root_of_a_view, a_parameter,
             a_parameter_read_before_and_behind, by_a_function_without_source, by_a_method, through_an_array,
             through_a_reshape, in_a_loop, in_a_branch, by_data, by_data_through_an_array, in_a_dict, in_a_closure, in_a_cell,
             before_an_exception, by_the_graph_where_python_has_its_memory, by_the_graph_where_a_list_outside_has_it,
             by_the_graph_where_it_was_kept, by_the_graph_where_a_list_of_python_has_it, an_item_of_a_list_outside,
             a_global_that_a_statement_names]
ARGUMENTS = [(1.0, 2.0, 3.0), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0), (4.0, 2.0, 3.0), (4.0, 2.0, 3.0), (-9.0, 2.0, 3.0)]


def seen(function, values):
    """What a call gives, and what it leaves in its argument, the Parameter and the list outside."""
    kept.clear()
    weight.set_data(T(1.0, 2.0, 3.0))
    x = T(*values)
    return repr(function(x)), x.tolist(), weight.tolist(), [k.tolist() for k in kept]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.python_runs("Python code changes, or holds, a Tensor of the graph: np.add(.., out=..), x[0] = ..")
def test_every_call_does_what_python_does(function):
    jitted = ms.jit(function)
    for values in ARGUMENTS:
        assert seen(jitted, values) == seen(function, values), values


@pytest.mark.python_runs("Python code changes, or holds, a Tensor of the graph: np.add(.., out=..), x[0] = ..")
@pytest.mark.parametrize("function", [an_intermediate_by_numpy, in_a_branch, by_data, through_a_reshape])
def test_its_gradient_is_that_of_eager_mode(function):
    def loss(x):
        value = function(x)
        return (value[0] if isinstance(value, tuple) else value).sum() * x.sum()
    jitted = ms.jit(ms.grad(loss))
    for values in ARGUMENTS:
        assert np.allclose(jitted(T(*values)).asnumpy(), ms.grad(loss)(T(*values)).asnumpy())


def test_it_is_told_with_the_place_and_a_cure():
    jitted = ms.jit(through_an_array)
    with pytest.warns(ms.compile.jit.FallbackWarning, match="changes a Tensor that it is given in place"):
        for _ in range(3):
            jitted(T(1.0, 2.0))
    assert f"test_in_place.py:{through_an_array.__code__.co_firstlineno + 3}" in jitted.explain()


def test_code_that_changes_nothing_stays_between_native_code():
    def f(x):
        a = x.asnumpy()
        order = np.argsort(a)
        y = x[Tensor(order)]
        y[0] = float(a[0])
        return y * 2
    jitted = ms.jit(f)
    for values in ARGUMENTS:
        assert jitted(T(*values)).tolist() == f(T(*values)).tolist()
    assert not jitted.compiled.in_python, jitted.explain()


class Trap:
    """What looks for Tensors in this object is counted."""
    looked = 0

    @property
    def __dict__(self):
        Trap.looked += 1
        return {}


far_away = [Trap()]


@pytest.mark.python_runs("with open(..): a statement of Python's")
def test_what_a_statement_does_not_name_is_not_searched_for_tensors():
    """A module may hold a data set: each call of the function looked at all that is in it."""
    def f(x):
        y = x * 2
        for _ in range(2):
            kept.append(float(y.sum()))
        with open("/dev/null") as file:
            file.read()
        return y
    jitted, kept[:] = ms.jit(f), []
    Trap.looked = 0
    for _ in range(4):
        assert jitted(T(1.0, 2.0)).tolist() == [2.0, 4.0]
    assert Trap.looked == 0 and len(kept) == 8
