"""Lists, dicts and sets from outside of a function: what it gives is the very object, what it reads is what it holds then."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, jit, nn, ops

numbers, names, nested = [1, 2, 3], {"a": 1}, [[1, 2], {"x": [3]}, (4, [5])]
whole = (1, [2], {"a": (3,)})


class Holder:
    """An object with a list."""

    def __init__(self):
        self.items = [Tensor([1.0]), 2]


holder = Holder()


def gives_globals():
    return numbers, names, [names]


def gives_what_is_inside():
    return nested[0], nested[1]["x"], nested[2][1], nested[-1], whole


def gives_by_a_branch(x):
    if x.sum() > 0:
        return numbers
    return numbers


def gives_an_attribute():
    return holder.items


def makes_its_own(x):
    return [1, 2, 3], {"a": [x]}


def test_a_container_from_outside_is_given_as_itself():
    for _ in range(3):
        a, b, c = f(gives_globals)()
        assert a is numbers and b is names and c[0] is names
        a, b, c, d, e = f(gives_what_is_inside)()
        assert a is nested[0] and b is nested[1]["x"] and c is nested[2][1] and d[1] is c and e is whole
        assert f(gives_by_a_branch)(Tensor([1.0])) is numbers and f(gives_an_attribute)() is holder.items


def test_one_that_is_made_inside_is_new_in_each_run():
    compiled = jit(makes_its_own)
    (a, _), (b, _) = compiled(Tensor([1])), compiled(Tensor([1]))
    a.append(4)
    assert b == [1, 2, 3] and compiled(Tensor([1]))[0] == [1, 2, 3]


_compiled = {}


def f(function):
    """The compiled function, the same one each time."""
    return _compiled.setdefault(function, jit(function))


METHODS = {
    "reverse": lambda kept: kept.reverse(), "append": lambda kept: kept.append(7), "sort": lambda kept: kept.sort(),
    "extend": lambda kept: kept.extend((8, 9)), "insert": lambda kept: kept.insert(1, 5), "pop": lambda kept: kept.pop(),
    "clear": lambda kept: kept.clear(), "setitem": lambda kept: kept.__setitem__(0, 6)}


@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_changes_is_seen_behind_it_in_every_run(name):
    def run(items, change):
        def function():
            change(items)
            return items, len(items), [i for i in items], 7 in items
        compiled = jit(function)
        return [(given is items, count, copied, found, list(given)) for given, count, copied, found in
                (compiled() for _ in range(3))], function
    items, plain = [3, 1, 2], [3, 1, 2]
    made, _ = run(items, METHODS[name])
    for ok, count, copied, found, _ in made:
        METHODS[name](plain)
        assert (ok, count, copied, found) == (True, len(plain), plain, 7 in plain)
    assert items == plain


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.parts = [Tensor([1.0]), Tensor([2.0])]
        self.table = {"Name": "a"}

    def construct(self, y):
        self.parts.extend((y,))
        self.table["count"] = len(self.parts)
        return ops.addn(self.parts), self.table, sum(self.parts)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_operators_and_builtins_read_what_a_list_holds_after_a_change(mode):
    net, y = Net(), Tensor([5.0])
    ms.set_context(mode=mode)
    try:
        for iteration in (1, 2, 3):
            total, table, again = net(y)
            assert float(total) == float(again) == 3 + 5 * iteration and len(net.parts) == 2 + iteration
            assert table is net.table and table == {"Name": "a", "count": 2 + iteration}
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("first, second", [
    (lambda x: {"abc": x, "n": [1]}, lambda x: {"cba": x, "n": [2]}), (lambda x: {1: x, 2: x}, lambda x: {2: x, 1: x + 1}),
    (lambda x: {1, 2}, lambda x: {2, 3}), (lambda x: {"a": x}, lambda x: {"a": x + 1})])
def test_dicts_of_other_keys_and_sets_of_other_elements_on_two_paths(first, second):
    def choose(x):
        made = first(x) if x.sum() > 0 else second(x)
        return made, len(made), list(made)
    compiled = jit(choose)
    for sign in (1.0, -1.0, 1.0):
        made, want = compiled(Tensor([sign])), choose(Tensor([sign]))
        assert repr(made) == repr(want)
        assert not isinstance(made[0], dict) or np.array_equal(*[[float(v) for k, v in m[0].items() if k != "n"]
                                                                for m in (made, want)])
