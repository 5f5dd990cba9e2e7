"""Generators and iterators on Tensors are part of the graph: each item, and each effect, comes in program order."""
import contextlib
import warnings

import numpy as np
import pytest
from constructs_on_tensors import Countdown

from mindlite import Tensor
from mindlite.compile.jit import FallbackWarning, JitFunction
from mindlite.mindir.control import segment

CASES = []


def case(function):
    """f(x, log)"""
    CASES.append(function)
    return function


def scaled(x, count):
    """A generator of Tensors."""
    for n in range(count):
        yield x * (n + 1)


def noted(values, log):
    """A generator with effects, and one that uses another."""
    for number, value in enumerate(values):
        log.append(number)
        yield value
    log.append("end")
    return len(values)


@case
def consumed_by_a_loop(x, log):
    y = x * 0
    for v in scaled(x, 3):
        y = y + v
    return y


@case
def effects_come_in_turn(x, log):
    for v in noted([x, x * 2], log):
        log.append("body")
        x = x + v
    return x


@case
def left_early(x, log):
    for n, v in enumerate(noted([x, x * 2, x * 3], log)):
        if n == 1:
            break
        x = x + v
    return x


@case
def all_items_at_once(x, log):
    first, *rest = scaled(x, 3)
    return first + sum(scaled(x, 2)) + sum(rest) + sum(list(scaled(x, 1))) + max(len(tuple(scaled(x, 4))), 2)


@case
def next_and_default(x, log):
    items = scaled(x, 2)
    a, b = next(items), next(items)
    log.append(next(items, "none"))
    try:
        next(items)
    except StopIteration as stop:
        log.append(stop.value)
    return a * b


@case
def sent_and_thrown(x, log):
    def running(total):
        while True:
            try:
                value = yield total
                total = total + value
            except ValueError:
                total = total * 0
    totals = running(x)
    next(totals)
    a = totals.send(x * 2)
    b = totals.throw(ValueError)
    c = totals.send(x * 5)
    totals.close()
    return a + b * 2 + c


@case
def one_from_another(x, log):
    def twice(values):
        count = yield from noted(values, log)
        yield values[0] * count
    return sum(twice([x, x + 1]))


@case
def zip_and_enumerate_are_lazy(x, log):
    for n, (a, b) in enumerate(zip(noted([x, x], log), scaled(x, 2))):
        log.append(("body", n))
        x = x + a * b
    return x


@case
def a_lazy_expression(x, log):
    doubled = (v * 2 for v in noted([x, x + 1], log))
    log.append("made")
    return next(doubled) + next(doubled)


@case
def map_and_filter_of_a_generator(x, log):
    kept = filter(lambda pair: pair[0] != 1, enumerate(scaled(x, 3)))
    return sum(map(lambda pair: pair[1] * 2, kept))


@case
def an_endless_one(x, log):
    def powers(v):
        while True:
            yield v
            v = v * x
    total = x * 0
    for n, v in zip(range(4), powers(x)):
        total = total + v
    return total


@case
def branches_inside(x, log):
    def chosen(v):
        if v.sum() > 1:
            v = v * 2
        yield v
        yield v + 1
    return sum(chosen(x))


class Tree:
    """A tree whose items a generator method gives."""

    def __init__(self, value, *children):
        self.value, self.children = value, children

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child


@case
def an_iterator_class(x, log):
    for n in Countdown(3):
        log.append(n)
        x = x * (n + 1)
    return x


@case
def a_recursive_generator(x, log):
    return sum(Tree(x, Tree(x * 2, Tree(x * 3)), Tree(x * 4)))


@case
def iter_of_a_list(x, log):
    items = iter([x, x * 2, x * 3])
    return next(items) + sum(items)


@contextlib.contextmanager
def bracketed(log, value):
    """A context manager that is a generator."""
    log.append("in")
    try:
        yield value
    except KeyError:
        log.append("caught")
    finally:
        log.append("out")


@case
def a_context_manager_from_a_generator(x, log):
    with bracketed(log, x * 2) as y:
        x = x + y
    with bracketed(log, x):
        x = x * 3
        raise KeyError("k")
    with contextlib.suppress(ZeroDivisionError):
        x = x * (1 // 0)
    return x


def outcome(function):
    """What a call gives and logs."""
    log = []
    return function(Tensor(np.array([0.5, 1.5, 2.5])), log).asnumpy().round(9).tolist(), log


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_a_generator_in_a_graph_means_what_it_means_in_python(function):
    compiled = JitFunction(function, fullgraph=True)
    for _ in range(2):
        assert outcome(compiled) == outcome(function)
    nodes = [node for graph in compiled.graph("infer").reachable() for node in graph.nodes]
    assert not compiled.in_python and not any(n.fn is segment for n in nodes)


def test_python_code_gets_a_generator_of_python():
    def f(x):
        return x * float(np.fromiter(numbers(3), np.float64).sum())

    def numbers(n):
        for i in range(n):
            yield i * 2.0
    compiled = JitFunction(f)
    for _ in range(3):
        assert compiled(Tensor(np.ones(2))).asnumpy().tolist() == [6, 6]


def test_how_often_it_yields_may_depend_on_data_then_python_runs_it():
    def until(x, limit):
        while x.sum() < limit:
            yield x
            x = x * 2

    def f(x):
        total = x * 0
        for v in until(x, 10):
            total = total + v
        return total
    compiled = JitFunction(f)
    for value in (1.0, 3.0, 20.0, 1.0):
        x = Tensor(np.array([value]))
        assert compiled(x).asnumpy().tolist() == f(x).asnumpy().tolist()


def closing_noted(x, log):
    """A generator that notes when it is left."""
    try:
        yield x
        yield x + 1
    finally:
        log.append("closed")


def test_one_that_is_left_inside_of_its_try_by_data_is_closed_where_python_closes_it():
    def f(x, log):
        for v in closing_noted(x, log):
            if v.sum() > 0:
                break
        log.append("behind")
        other = closing_noted(x, log)
        next(other)
        other.close()
        return x
    jitted = JitFunction(f)
    for value in 1.0, -5.0, 1.0, -0.5:
        logs = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            for function, log in zip((f, jitted), logs):
                function(Tensor(np.array([value])), log)
        assert logs[0] == logs[1]


def test_a_return_by_data_inside_of_a_context_manager_from_a_generator_is_part_of_the_graph():
    @contextlib.contextmanager
    def doubled(x, log):
        log.append("in")
        try:
            yield x * 2
        finally:
            log.append("out")

    def f(x, log):
        with doubled(x, log) as y:
            if y.sum() > 2:
                return y
            x = x + y
        return x
    jitted = JitFunction(f, fullgraph=True)
    for value in 1.0, 5.0, -1.0, 5.0:
        x, logs = Tensor(np.array([value])), ([], [])
        assert f(x, logs[0]) == jitted(x, logs[1]) and logs[0] == logs[1]


def test_how_far_an_iteration_is_may_depend_on_data():
    def of_a_generator(x):
        rest = scaled(x, 3)
        if x.sum() > 0:
            next(rest)
        return next(rest)

    def of_a_list(x):
        rest = enumerate([x, x + 1, x + 2])
        if x.sum() > 0:
            next(rest)
        return next(rest)[1]
    for function in of_a_generator, of_a_list:
        jitted = JitFunction(function)
        for value in 1.0, -1.0, 2.0, -1.0, 1.0:
            x = Tensor(np.array([value]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FallbackWarning)
                assert function(x) == jitted(x)
        assert jitted.runs_in_python < 3
