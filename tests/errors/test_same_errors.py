"""What is wrong is told once, at the user's line, in the same words in both modes; and nothing is changed."""
import re
import traceback

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops
from mindlite.common.errors import GradientError, MindliteError
from mindlite.common.location import is_framework

X = ms.Tensor(np.ones((2, 3), np.float32))


def wrong_shape(x):
    y = x + 1
    return ops.matmul(y, x)                                                                             # wrong


def wrong_broadcast(x):
    return x + ops.ones((4,), x.dtype)                                                                  # wrong


def wrong_dtype(x):
    return ops.bitwise_and(x, x)                                                                        # wrong


def wrong_axis(x):
    return ops.reduce_sum(x, axis=5)                                                                    # wrong


def wrong_index(x):
    return x[:, 7]                                                                                      # wrong


def unknown_keyword(x):
    return ops.tanh(x, colour=3)                                                                        # wrong


def unknown_keyword_of_a_function(x):
    def inner(y):
        return y * 2
    return inner(x, colour=3)                                                                           # wrong


def undefined_name(x):
    return undefined_thing + x                                                              # noqa: F821  # wrong


def missing_attribute(x):
    return x.colour                                                                                     # wrong


def missing_attribute_of_a_module(x):
    return ops.no_such_operator(x)                                                                      # wrong


def too_few_arguments(x):
    return ops.matmul(x)                                                                                # wrong


def too_many_arguments(x):
    return ops.tanh(x, x)                                                                               # wrong


def too_many_arguments_of_a_function(x):
    def inner(y):
        return y * 2
    return inner(x, x, x)                                                                               # wrong


def ambiguous_truth(x):
    if x:                                                                                               # wrong
        return x
    return -x


def raised_by_the_user(x):
    if x.ndim == 2:
        raise ValueError(f"two axes, {x.shape[0]} rows")                                                # wrong
    return x


def division_of_constants(x):
    n = x.ndim - 2
    return x * (1 // n)                                                                                 # wrong


def unpacked_wrongly(x):
    a, b, c = (x, x)                                                                                    # wrong
    return a + b + c


def missing_key(x):
    table = {"a": x}
    return table["b"]                                                                                   # wrong


def in_a_branch(x):
    if ops.reduce_sum(x) > 0:
        y = ops.matmul(x, x)                                                                            # wrong
    else:
        y = x
    return y


def in_a_loop(x):
    for _ in range(3):
        x = ops.concat((x, x[0]), 0)                                                                    # wrong
    return x


def called_with_something(x):
    return wrong_shape(x * 2)


FUNCTIONS = (wrong_shape, wrong_broadcast, wrong_dtype, wrong_axis, wrong_index, unknown_keyword,
             unknown_keyword_of_a_function, undefined_name, missing_attribute, missing_attribute_of_a_module,
             too_few_arguments, too_many_arguments, too_many_arguments_of_a_function, ambiguous_truth,
             raised_by_the_user, division_of_constants, unpacked_wrongly, missing_key, in_a_branch, in_a_loop,
             called_with_something)


def raised(call):
    """What `call()` raises."""
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def line_of(function):
    """The number of the line marked `wrong` in a function (of wrong_shape for what only calls it)."""
    function = wrong_shape if function is called_with_something else function
    first = function.__code__.co_firstlineno
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return next(n for n in range(first, len(lines) + 1) if lines[n - 1].endswith("# wrong"))


def check_text(error, line, file=__file__):
    """An error of ours shows file, line, its text and a caret below it; one of Python's own ends at the line."""
    if not isinstance(error, MindliteError):
        *_, before, last = [None, *traceback.extract_tb(error.__traceback__)]
        if is_framework(last.filename) and last.name == "__getattr__":     # of a module that loads its names when asked for
            last = before
        assert (last.filename, last.lineno) == (file, line)
        return
    text = str(error)
    assert f"{file}:{line}" in text, text
    shown, caret = re.search(rf"\n +{line} \| (.*)\n +\| ( *\^+)", text).groups()
    assert shown.strip() and caret.strip() and shown[caret.index("^")] != " ", text
    assert text.count("-->") == 1, text


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_both_modes_raise_the_same_error_at_the_same_line(function):
    eager = raised(lambda: function(X))
    for call in (ms.jit(function), ms.jit(function, dynamic=1), ms.jit(function, jit_level="O0")):
        for _ in range(2):
            graph = raised(lambda: call(X))
            assert type(graph) is type(eager) or isinstance(graph, type(eager)), repr(graph)
            assert str(graph) == str(eager)
            check_text(graph, line_of(function))
    check_text(eager, line_of(function))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_raise_the_function_s_error(function):
    eager = raised(lambda: function(X))
    for gradient in (ms.grad(function), ms.jit(ms.grad(function)), ms.grad(ms.jit(function))):
        found = raised(lambda: gradient(X))
        assert isinstance(found, type(eager)), repr(found)
        assert str(found) == str(eager)
        check_text(found, line_of(function))


# ---------------------------------------------------------------- Cells and training steps

class Network(nn.Cell):
    """One dense layer and, in `fault`, what is wrong with it."""

    def __init__(self, fault):
        super().__init__()
        self.dense, self.fault = nn.Dense(3, 4), fault

    def construct(self, x):
        y = self.dense(x)
        return self.fault(self, y)


def fault_shape(net, y):
    return net.dense(y)                                                                                 # wrong


def fault_attribute(net, y):
    return net.second(y)                                                                                # wrong


def fault_name(net, y):
    return y + not_there                                                                    # noqa: F821  # wrong


def fault_keyword(net, y):
    return net.dense(y, colour=3)                                                                       # wrong


def fault_count(net, y):
    return net.dense()                                                                                  # wrong


def fault_nothing(net, y):
    ops.reduce_sum(y)


FAULTS = (fault_shape, fault_attribute, fault_name, fault_keyword, fault_count, fault_nothing)


def train(fault, mode):
    """(the error of a training step, what parameters and optimiser's state were before and after)"""
    ms.set_seed(3)
    net = Network(fault)
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    state = [*net.get_parameters(), *optimizer.get_parameters()]
    gradient = ms.value_and_grad(lambda x: net(x), None, optimizer.parameters)

    def step(x):
        loss, grads = gradient(x)
        optimizer(grads)
        return loss
    run = ms.jit(step) if mode == "graph" else step
    before = [p.asnumpy().copy() for p in state]
    errors = [raised(lambda: run(X)) for _ in range(2)]
    assert str(errors[0]) == str(errors[1])
    return errors[0], before, [p.asnumpy() for p in state]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_a_training_step_that_fails_tells_the_same_and_changes_nothing(fault):
    texts = []
    for mode in ("pynative", "graph"):
        error, before, after = train(fault, mode)
        assert all(np.array_equal(a, b) for a, b in zip(before, after))
        texts.append((type(error), str(error)))
        if fault is not fault_nothing:
            check_text(error, line_of(fault))
        else:
            assert "None" in str(error) and "return" in str(error)
    assert texts[0] == texts[1]


@pytest.mark.parametrize("fault", FAULTS[:-1], ids=lambda f: f.__name__)
def test_a_cell_called_in_either_mode_tells_the_same(fault):
    ms.set_seed(3)
    net, found = Network(fault), []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        before = ms.get_context("mode")
        ms.set_context(mode=mode)
        try:
            error = raised(lambda: net(X))
        finally:
            ms.set_context(mode=before)
        check_text(error, line_of(fault))
        found.append((type(error), str(error)))
    assert found[0] == found[1]


def test_an_error_after_an_effect_comes_after_it_in_both_modes():
    counter = ms.Parameter(ms.Tensor(np.zeros(2, np.float32)), name="counter")

    def run(x, y):
        ops.assign(counter, counter + 1)
        return ops.matmul(x, y)
    jitted = ms.jit(run)
    texts = [str(raised(lambda: step(X, X))) for step in (run, jitted, run, jitted)]
    assert counter.asnumpy().tolist() == [4, 4] and len(set(texts)) == 1


def test_an_error_says_so_again_after_it_has_been_mended():
    net = Network(fault_shape)
    jitted = ms.jit(lambda x: net(x))
    first = str(raised(lambda: jitted(X)))
    assert str(raised(lambda: jitted(X))) == first
    net.fault = lambda net, y: y * 2
    assert jitted(X).shape == (2, 4)


def test_what_has_no_gradient_is_told_in_the_same_words():
    def nothing(x):
        ops.reduce_sum(x)

    def text(x):
        return "loss"

    for loss in (nothing, text):
        found = [raised(lambda: f(X)) for f in (ms.grad(loss), ms.jit(ms.grad(loss)), ms.value_and_grad(loss))]
        assert {type(e) for e in found} == {GradientError} and len({str(e) for e in found}) == 1, found
