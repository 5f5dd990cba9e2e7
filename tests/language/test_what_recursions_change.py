"""Recursions that change what stands outside of them, and what the default factories of dataclasses make: as in Python."""
import dataclasses

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor

pytestmark = pytest.mark.python_runs("statements that change what stands outside of a recursion run in Python")


class Count:
    def __init__(self):
        self.n = 0

    def down(self, depth, n):
        self.n += 1
        return depth if depth >= n else self.down(depth + 1, n)


def an_argument_that_is_a_list(x, n):
    def visit(depth, v, seen):
        seen.append(depth)
        return v if depth >= n else visit(depth + 1, v * 2, seen)
    seen = []
    return visit(0, x, seen), seen


def a_list_of_the_enclosing_function(x, n):
    seen = []

    def visit(depth):
        if depth >= n:
            return x
        r = visit(depth + 1)
        seen.append(depth)
        return r + 1
    return visit(0), seen


def an_item_of_a_list(x, n):
    held = [x]

    def visit(depth):
        if depth >= n:
            return depth
        held[0] = held[0] * 2
        return visit(depth + 1)
    return visit(0), held[0]


def an_item_of_a_dict(x, n):
    held = {"k": 0}

    def visit(depth, v):
        held["k"] += depth + 1
        return v if depth >= n else visit(depth + 1, v * 2)
    return visit(0, x), held


def a_number_by_nonlocal(x, n):
    count = 0

    def visit(depth, v):
        nonlocal count
        count += depth + 1
        return v if depth >= n else visit(depth + 1, v * 2)
    return visit(0, x), count


def a_tensor_by_nonlocal(x, n):
    total = x

    def visit(depth):
        nonlocal total
        total = total + depth + 1
        return depth if depth >= n else visit(depth + 1)
    return visit(0), total


def a_set(x, n):
    seen = {7}

    def visit(depth):
        seen.add(depth)
        return depth if depth >= n else visit(depth + 1)
    return visit(0), sorted(seen), x


def an_attribute(x, n):
    count = Count()
    return count.down(0, n), count.n, x


@pytest.mark.parametrize("function", [
    an_argument_that_is_a_list, a_list_of_the_enclosing_function, an_item_of_a_list, an_item_of_a_dict, a_number_by_nonlocal,
    a_tensor_by_nonlocal, a_set, an_attribute], ids=lambda function: function.__name__)
def test_a_recursion_by_data_changes(function):
    jitted, x = ms.jit(function), Tensor(np.array([1.0, 2.0]))
    for n in (0, 1, 0, 3, 2):
        assert repr(jitted(x, n)) == repr(function(x, n)), n


# ---------------------------------------------------------------- default factories

@dataclasses.dataclass
class Point:
    x: object
    seen: list = dataclasses.field(default_factory=list)

    def moved(self, by):
        return dataclasses.replace(self, x=self.x + by)


@dataclasses.dataclass(frozen=True)
class Late:
    x: object
    seen: list = dataclasses.field(init=False, default_factory=list)
    names: dict = dataclasses.field(default_factory=lambda: {"a": 1}, kw_only=True)


def appended(x, n):
    p = Point(x)
    p.seen.append(n)
    return p.x, p.seen


def given(x, n):
    p = Point(x, [1, 2])
    p.seen.append(n)
    return p.x, p.seen, Point(x).seen


def late(x, n):
    p = Late(x)
    p.seen.append(n)
    p.names["b"] = n
    q = dataclasses.replace(p, x=x * 2)
    q.seen.append(4)
    return q.x, p.seen, q.seen, q.names, Late(x, names={}).names


def replaced_by_data(x, n):
    p = Point(x)
    p.seen.append(n)
    q = p.moved(x)
    if n > 2:
        q = q.moved(1)
    return q.x, len(p.seen), p.seen is q.seen


@pytest.mark.parametrize("function", [appended, given, late, replaced_by_data], ids=lambda function: function.__name__)
def test_what_a_default_factory_makes_is_made_in_each_call(function):
    jitted, x = ms.jit(function), Tensor(np.array([1.0, 2.0]))
    for n in (0, 0, 1, 5, 0, 0, 7, 1):
        assert repr(jitted(x, n)) == repr(function(x, n)), n


def test_a_dataclass_with_a_default_factory_is_native():
    for function in (appended, given, late):
        jitted, x = ms.jit(function, fullgraph=True), Tensor(np.array([1.0, 2.0]))
        for n in (0, 0, 3):
            assert repr(jitted(x, n)) == repr(function(x, n))
