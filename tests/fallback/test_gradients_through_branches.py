"""Python code on one side of a branch by data: gradients that are taken in eager mode of the compiled function."""
from typing import NamedTuple

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor


class Pair(NamedTuple):
    a: object
    b: object = 1.5


def one_side_replaces(x, y):
    p = Pair(x * 2)
    if x.sum() > 0:
        p = p._replace(a=y)
    a, b = p
    return (a * b).sum()


def one_side_copies(x, y):
    p = Pair(x * 2)
    if x.sum() > 0:
        p = Pair(*list(p._asdict().values()))
    return (p.a * p.b * y).sum()


def a_loop_replaces(x, y):
    p = Pair(x * 2)
    n = 0
    while n < 3 and x.sum() > 0:
        p = p._replace(a=p.a * y)
        n += 1
    return (p.a * p.b).sum()


@pytest.mark.python_runs("of the loop, once a gradient is taken")
@pytest.mark.parametrize("function", [one_side_replaces, one_side_copies, a_loop_replaces], ids=lambda one: one.__name__)
@pytest.mark.parametrize("signs", [(-1, -1, 1, 1, -1), (1, 1, -1, 1)], ids=["not taken at first", "taken at first"])
def test_the_gradient_of_the_compiled_function_is_that_of_the_function(function, signs):
    jitted = ms.grad(ms.jit(function, dynamic=1), (0, 1))
    for sign in signs:
        x, y = Tensor(np.array([1.0, 2.0]) * sign), Tensor(np.array([3.0, 5.0]))
        assert repr(jitted(x, y)) == repr(ms.grad(function, (0, 1))(x, y)), sign
