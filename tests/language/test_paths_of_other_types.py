"""Two paths may leave Tensors of other types or ranks: Python knows no rule against it."""
import pytest

import mindlite as ms
from mindlite import Tensor, ops


def other_dtype(x):
    if x > 0:
        return x.astype(ms.int32)
    return x


def other_rank(x):
    if x > 0:
        y = x.reshape((1,))
    else:
        y = x
    return y * 2


def more_and_more(x):
    for _ in range(3):
        if x.sum() > 2:
            x = ops.stack([x, x])
    return x


def by_and(x):
    return x and Tensor([2.0, 3.0]).sum().astype(ms.int64)


@pytest.mark.python_runs("a Tensor is of another dtype, or another number of axes, on another path")
@pytest.mark.parametrize("function", [other_dtype, other_rank, more_and_more, by_and], ids=lambda f: f.__name__)
def test_a_function_may_give_other_types_by_its_data(function):
    jitted = ms.jit(function)
    for value in (1.0, -1.0, 5.0, 0.0):
        seen, expected = jitted(Tensor(value)), function(Tensor(value))
        assert repr(seen) == repr(expected)


@pytest.mark.parametrize("function", [other_dtype, other_rank, by_and], ids=lambda f: f.__name__)
def test_a_full_graph_says_what_does_not_fit(function):
    with pytest.raises(ms.common.errors.GraphSyntaxError, match="on one path and .* on another"):
        ms.jit(function, fullgraph=True)(Tensor(1.0))


def of_two_lengths(x):
    parts = (x, x) if False else (x,)
    if x.sum() > 0:
        parts = (x, x)
    return parts[0] + len(parts)


def of_a_loop(x):
    items = (x,)
    while x.sum() < 10:
        items = (x, items)
        x = x + 1
    return items


def a_list(x):
    items = [x]
    if x.sum() > 0:
        items.append(x)
    return items


def an_expression(x):
    return "a" if x.sum() > 0 else {"b": 1}


@pytest.mark.parametrize("function, text", [
    (of_two_lengths, "the variable 'parts' is a tuple of 2 on one path and a tuple of 1 on another"),
    (of_a_loop, "the variable 'items' is a tuple of 1 on one path and a tuple of 2 on another"),
    (a_list, "the list that is made in line [0-9]+ holds 2 on one path and 1 on another"),
    (an_expression, "the value of an expression is 'a' on one path and a dict on another")])
def test_a_graph_that_is_refused_names_the_variable_that_differs(function, text):
    with pytest.raises(ms.GraphSyntaxError, match=text):
        ms.jit(function, fullgraph=True)(ms.Tensor([1.0, 2.0]))
