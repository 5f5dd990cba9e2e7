"""A compiled function that assigns to a Tensor: its views, strided ones too, and what it is a view of follow."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor


def first(x):
    x[0] = 9
    return x.sum()


def twice(x):
    x *= 2
    return x


def with_python(x):
    eval("None")
    x[-1] = 7
    return x + 0


@pytest.mark.parametrize("function", [first, twice, with_python])
def test_views_follow_what_a_compiled_function_assigns(function):
    jitted = ms.jit(function)
    for _ in range(4):
        seen = []
        for call in function, jitted:
            x = Tensor(np.arange(1.0, 7.0))
            views = x[::2], x[::-1], x.reshape((2, 3)), x.reshape((2, 3))[:, 1], x.reshape((3, 2)).T[1]
            call(x)
            seen.append([x.tolist(), *[v.tolist() for v in views]])
        assert seen[0] == seen[1]


@pytest.mark.parametrize("function", [first, twice, with_python])
def test_what_it_is_a_view_of_follows(function):
    jitted = ms.jit(function)
    for _ in range(4):
        seen = []
        for call in function, jitted:
            x = Tensor(np.arange(1.0, 7.0))
            other, given = x[1:], x[::2]
            call(given)
            seen.append([x.tolist(), other.tolist(), given.tolist()])
        assert seen[0] == seen[1]


def test_views_of_a_parameter_follow_in_a_first_call():
    weight = ms.Parameter(np.arange(4.0), name="w")
    view = weight[::2]

    @ms.jit
    def step(x):
        ms.ops.assign(weight, weight * 0 + x)
        return x
    step(Tensor(np.array(5.0)))
    assert view.tolist() == [5.0, 5.0]
