"""try and with on Tensors are part of the graph: what is raised, certainly or by data, reaches its handler."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.compile.jit import JitFunction
from mindlite.mindir.control import segment

CASES = []


class Mine(Exception):
    """A user's exception."""

    def __init__(self, code, text="mine"):
        super().__init__(text)
        self.code = code


class Noted:
    """A context manager that notes what it sees, and swallows what it is told to."""

    def __init__(self, log, swallows=()):
        self.log, self.swallows = log, swallows

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(None if kind is None else kind.__name__)
        self.log.append(None if value is None else str(value))
        return kind is not None and issubclass(kind, self.swallows)


def case(*arguments, native=True):
    """f(x, log, argument) for each of them; from the second on they are run-time values of the graph. native: no part
    of it runs in Python; what is logged on one of two paths cannot be, as then a list's length depends on data."""
    def add(function):
        CASES.append(pytest.param(function, arguments, native, id=function.__name__))
        return function
    return add


def check(x, limit):
    """A function that raises, two calls deep."""
    if x.sum() > limit:
        raise Mine(limit, f"{x.sum()} is more than {limit}")
    return x * 2


@case(0, 1, 6, 0)
def raised_in_a_loop_by_data(x, log, n):
    k = 0
    for i in range(6):
        try:
            if x.sum() * n > i:
                raise Mine(n + i)
            k = k + 100 // n
        except Mine as error:
            k = k + error.code
        except ZeroDivisionError:
            k = k - 1
    return x * k


@case(0, 1, 2, 5, native=False)
def division(x, log, n):
    try:
        y = x * (6 // n)
        log.append("divided")
    except ZeroDivisionError as error:
        log.append(str(error))
        y = x - 1
    return y


@case(1.0, 100.0, native=False)
def raised_below(x, log, limit):
    try:
        y = check(check(x, limit), limit * 2)
        log.append("passed")
    except (KeyError, Mine) as error:
        log.append(str(error))
        y = x * error.code
    else:
        y = y + 1
    finally:
        log.append("end")
    return y


@case(0, 1, 2, 3)
def which_handler(x, log, n):
    try:
        if x.sum() + n > 6.5:
            raise KeyError("k")
        elif x.sum() + n > 5.5:
            raise IndexError("i")
        y = 6 // n * x
    except LookupError as error:
        y = x * len(type(error).__name__)
    except ArithmeticError:
        y = x * 3
    return y


@case(0, 1, 3)
def in_a_loop(x, log, n):
    total = x
    for i in range(5):
        try:
            if i == 1:
                continue
            if x.sum() * i > 13:
                break
            total = total + 6 // (i - n)
        except ZeroDivisionError:
            total = total * 2
        finally:
            total = total + i
    return total


@case(1.0, 100.0, native=False)
def finally_on_every_way_out(x, log, limit):
    for i in range(3):
        try:
            log.append(i)
            if i == 1:
                return check(x, limit)
        except Mine:
            return x * 5
        finally:
            log.append("finally")
    return x


@case(1.0, 100.0)
def finally_that_returns(x, log, limit):
    try:
        check(x, limit)
    except Mine:
        raise ValueError("lost") from None
    finally:
        if limit < 50:
            return x * 7                                             # noqa: B012
    return x


@case(1.0, 100.0, native=False)
def raised_in_a_handler(x, log, limit):
    try:
        try:
            return check(x, limit)
        except Mine as error:
            raise KeyError(error.code) from error
    except KeyError as error:
        log.append((type(error.__cause__).__name__, error.args[0]))
        return x * error.args[0]


@case(1.0, 100.0, native=False)
def raised_again(x, log, limit):
    try:
        try:
            y = check(x, limit)
        except Mine:
            log.append("inner")
            raise
    except Mine as error:
        y = x + error.code
    return y


@case(1.0, 100.0, native=False)
def swallowed(x, log, limit):
    y = x
    with Noted(log, Mine) as outer, Noted(log) as inner:
        y = y * 2
        y = y + check(x, limit)
        log.append(outer is inner)
    return y


@case(1.0, 100.0)
def with_and_return(x, log, limit):
    with Noted(log):
        if limit > 5:
            return x * 3
    return x


@case("a", "b")
def key_error(x, log, key):
    table = {"a": x}
    try:
        return table[key]
    except KeyError as error:
        log.append(error.args)
    return x * 10


@case(0, 1)
def several_errors_of_python(x, log, n):
    found = []
    for action in (lambda: [1][n], lambda: int("x1"), lambda: None.shape, lambda: {}["k"], lambda: "a" + 1,
                   lambda: [].pop(), lambda: (1, 2).index(3), lambda: undefined_name):   # noqa: F821
        try:
            action()
        except (IndexError, ValueError, AttributeError, KeyError, TypeError, NameError, StopIteration) as error:
            found.append(type(error).__name__)
    log.append(len(found))
    return x * len(found)


@case(0)
def errors_of_operators(x, log, n):
    try:
        y = x + ms.ops.ones((5,), ms.float64)
    except ValueError:
        y = x * 3
    try:
        y = x.reshape(7)
    except ValueError as error:
        log.append(type(error).__name__)
    return y


@case(1.0, 100.0)
def a_list_in_a_try(x, log, limit):
    values = [x]
    try:
        values.append(x * 2)
        values.append(check(x, limit))
    except Mine:
        values.append(x * 3)
    return sum(values)


@case(1.0, 100.0, native=False)
def assigned_before_the_exception(x, log, limit):
    state = "start"
    try:
        state = "first"
        y = x + 1
        y = check(y, limit)
        state = "second"
    except Mine:
        y = y * 2
    log.append(state)
    return y


@case(1.0, 100.0, native=False)
def asserts(x, log, limit):
    try:
        assert x.sum() < limit, "large"
        return x
    except AssertionError as error:
        log.append(str(error).partition("\n")[0])
        return x * 2


@case(0, 2)
def a_gradient_inside(x, log, n):
    def f(v):
        try:
            return (v * v * (4 // n)).sum()
        except ZeroDivisionError:
            return (v * 3).sum()
    return ms.grad(f)(x)


def outcome(function, x, argument):
    """What a call gives and logs."""
    log = []
    try:
        made = function(x, log, argument)
        made = made.asnumpy().round(9).tolist()
    except Exception as error:
        made = type(error), str(error)
    return made, [v if not isinstance(v, Tensor) else v.asnumpy().tolist() for v in log]


@pytest.mark.parametrize("function, arguments, native", CASES)
def test_a_try_in_a_graph_means_what_it_means_in_python(function, arguments, native):
    compiled = JitFunction(function, fullgraph=native)
    for argument in (*arguments, *arguments):
        x = Tensor(np.array([0.5, 1.5, 2.5]))
        assert outcome(compiled, x, argument) == outcome(function, x, argument), argument
    if native:
        nodes = [node for graph in compiled.graph("infer").reachable() for node in graph.nodes]
        assert not compiled.in_python and not compiled.runs_in_python and not any(n.fn is segment for n in nodes)


def test_what_no_handler_takes_arrives_as_itself():
    def f(x, n):
        try:
            return x * (6 // n)
        except KeyError:
            return x
        finally:
            x = x + 1
    compiled = JitFunction(f)
    for n in (1, 2, 0, 3):
        if n:
            assert compiled(Tensor(np.ones(2)), n).asnumpy().tolist() == f(Tensor(np.ones(2)), n).asnumpy().tolist()
        else:
            with pytest.raises(ZeroDivisionError):
                compiled(Tensor(np.ones(2)), n)


def test_what_comes_before_a_raise_happens_only_if_it_is_raised(capsys):
    def f(x):
        if x.sum() > 3:
            print("too large")
            raise ValueError("no")
        return x * 2
    compiled = JitFunction(f)
    assert compiled(Tensor(np.ones(2))).asnumpy().tolist() == [2, 2]
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError):
        compiled(Tensor(np.ones(2) * 4))
    assert capsys.readouterr().out == "too large\n"
