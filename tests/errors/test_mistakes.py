"""A hundred mistakes: graph mode and PyNative say the same, at the same line, and so does the gradient."""
import functools
import sys

import pytest
from mistakes import MISTAKES, __file__ as FILE
from test_same_errors import X, check_text, raised

import mindlite as ms
from mindlite import nn

with open(FILE, encoding="utf-8") as file:
    LINES = file.read().splitlines()


def line_of(function):
    """The number of the line marked `wrong` in a function."""
    first = function.__code__.co_firstlineno
    return next(n for n in range(first, len(LINES) + 1) if LINES[n - 1].endswith("# wrong"))


@pytest.mark.parametrize("name", MISTAKES)
def test_a_graph_says_what_python_says_at_the_same_line(name):
    function = MISTAKES[name]
    eager = raised(lambda: function(X))
    check_text(eager, line_of(function), FILE)
    for options in ({}, {"dynamic": 1}):
        call = ms.jit(function, **options)
        for _ in range(2):
            graph = raised(lambda: call(X))
            assert type(graph) is type(eager) or isinstance(graph, type(eager)), repr(graph)
            assert str(graph) == str(eager)
            check_text(graph, line_of(function), FILE)


IN_GRADIENTS = ("parts_of_a_concat", "unbound_after_a_branch_on_data", "none_as_a_result", "tensor_plus_text", "truth_by_bool",
                "division_by_zero_at_run_time", "index_outside_at_run_time", "assigned_rows_of_another_size",
                "rows_unpacked_into_too_many", "sizes_in_a_loop", "raised_at_run_time", "labels_of_a_wrong_count")


@pytest.mark.parametrize("name", IN_GRADIENTS)
def test_the_gradient_says_so_too(name):
    function = MISTAKES[name]
    eager = raised(lambda: function(X))
    for gradient in (ms.grad(function), ms.jit(ms.grad(function)), ms.grad(ms.jit(function))):
        found = raised(lambda: gradient(X))
        assert isinstance(found, type(eager)) and str(found) == str(eager)
        check_text(found, line_of(function), FILE)


# ---------------------------------------------------------------- recursion

def endless(n):
    return endless(n + 1)                                                                                   # endless


def endless_on_data(x):
    if x.sum() > -1:
        return endless_on_data(x + 1)                                                                       # endless
    return x


@pytest.mark.parametrize("limit", [1000, 20_000])
@pytest.mark.parametrize("function", [lambda x: endless(0), endless_on_data], ids=["constants", "data"])
def test_recursion_without_an_end_is_python_s_error_at_a_line_of_the_recursion(function, limit, request):
    import traceback
    request.addfinalizer(functools.partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    sys.setrecursionlimit(limit)
    for call in (function, ms.jit(function), ms.jit(function, printer="vm"), ms.jit(function, printer="python")):
        error = raised(lambda: call(X))
        assert type(error) is RecursionError and "maximum recursion depth exceeded" in str(error)
        lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
        assert any("# endless" in line for line in lines), lines


# ---------------------------------------------------------------- Cells

class Forgot(nn.Cell):
    """A Cell that does not call super().__init__()."""

    def __init__(self):
        self.dense = nn.Dense(3, 4)


class Twice(nn.Cell):
    """Two Parameters of one name."""

    def __init__(self):
        super().__init__()
        self.a = ms.Parameter(X, name="weight")
        self.b = ms.Parameter(X, name="weight")


def test_a_cell_without_its_base_s_init_says_what_to_do():
    error = raised(Forgot)
    assert "super().__init__() has not been called" in str(error) and "call super().__init__() first" in str(error)


def test_two_parameters_of_one_name_are_told_of():
    error = raised(lambda: nn.SGD(Twice().trainable_params(), 0.1))
    assert "weight" in str(error), error


class Middle(nn.Cell):
    """Its construct takes two arguments."""

    def construct(self, x, y):
        return x + y


class Outer(nn.Cell):
    """Calls Middle with one."""

    def __init__(self):
        super().__init__()
        self.middle = Middle()

    def construct(self, x):
        return self.middle(x)                                                                               # wrong


def test_wrong_arguments_of_a_construct_are_told_at_the_call_in_both_modes():
    texts = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        before = ms.get_context("mode")
        ms.set_context(mode=mode)
        try:
            error = raised(lambda: Outer()(X))
        finally:
            ms.set_context(mode=before)
        assert isinstance(error, TypeError) and "missing a required argument: 'y'" in str(error)
        texts.append((type(error), str(error)))
    assert texts[0] == texts[1]
