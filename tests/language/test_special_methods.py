"""Special methods of the users' classes: what a graph takes for an object is what Python would find in it, at each call.

Each expression is asked three things: of an object that the function makes, of one outside that the user changes between the
calls, and of one outside that the function changes before it is asked.
"""
import copy
import functools
import math
import operator
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.common.errors import GraphSyntaxError


class Doubling:
    """A descriptor that looks at its owner."""

    def __get__(self, owner, cls):
        return owner.k * 2


class Thing:
    """An object whose special methods all look at `k`; its class has another `k`."""
    k = 1
    doubled = Doubling()

    def __init__(self, k):
        self.k = k

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.k, name

    def __format__(self, spec):
        return f"thing {self.k} {spec}"

    def __round__(self, digits=None):
        return self.k

    def __reversed__(self):
        return iter([self.k, 1])

    def __iadd__(self, other):
        self.k = self.k + other
        return self

    def __isub__(self, other):
        return NotImplemented

    def __sub__(self, other):
        return self.k - other

    def __divmod__(self, other):
        return self.k, other

    def __rpow__(self, other):
        return other ** self.k

    def __getitem__(self, index):
        if index >= self.k:
            raise IndexError
        return index * self.k

    def __copy__(self):
        return Thing(self.k + 100)

    def __str__(self):
        return f"Thing({self.k})"

    def __hash__(self):
        return self.k

    def __eq__(self, other):
        return self.k == other.k

    def __lt__(self, other):
        return self.k < other.k

    __repr__ = lambda self: f"<{self.k}>"                                    # noqa: E731
    __bool__ = lambda self: self.k > 2                                       # noqa: E731
    __int__ = __index__ = __abs__ = __floor__ = __len__ = lambda self: self.k    # noqa: E731
    __float__ = lambda self: float(self.k)                                   # noqa: E731
    __complex__ = lambda self: complex(self.k, 1)                            # noqa: E731

    @functools.cached_property
    def cached(self):
        return self.k * 10

    @property
    def tripled(self):
        return self.k * 3

    @tripled.setter
    def tripled(self, value):
        self.k = value


class Sized:
    """An object whose truth is its length."""
    k = 1

    def __init__(self, k):
        self.k = k

    def __len__(self):
        return self.k - 3


def added_in_place(a):
    a += 5
    b = a
    b -= 1
    return a.k, b


def set_by_a_property(a):
    a.tripled = 9
    return a.k, a.tripled


NATIVE = {
    "str": str, "repr": repr, "format": lambda a: f"{a}, {a:q}", "conversions": lambda a: f"{a!s} {a!r:>8}",
    "bool": lambda a: (bool(a), not a, 1 if a else 2), "int": int, "float": float, "abs": abs, "round": round,
    "range": lambda a: list(range(a)), "reversed": lambda a: list(reversed(a)), "rpow": lambda a: 2 ** a,
    "divmod": lambda a: divmod(a, 3), "iteration": lambda a: ([*a], list(enumerate(a)), sum(a), [i for i in a], max(a)),
    "comparison": lambda a: (a == Thing(3), a != Thing(3), a < Thing(4), a > Thing(2)),
    "order": lambda a: ([b.k for b in sorted([Thing(9), a])], max(a, Thing(2)).k, min([Thing(4), a]).k),
    "search": lambda a: (a in [Thing(1), Thing(3)], [Thing(2), Thing(3)].count(a)), "descriptor": lambda a: a.doubled,
    "getattr": lambda a: a.anything, "property": lambda a: a.tripled, "cached": lambda a: Thing(a.k).cached,
    "in place": lambda a: added_in_place(Thing(a.k)), "setter": lambda a: set_by_a_property(Thing(a.k)),
}
ASKED_IN_PYTHON = {
    "in a list": lambda a: repr([a, (a,)]), "index": lambda a: list(range(20))[a], "slice": lambda a: [1, 2, 3, 4, 5][:a],
    "times": lambda a: [7] * a, "complex": complex, "key": lambda a: {a: 1}.get(Thing(3)), "set": lambda a: len({a, Thing(3)}),
    "hash": hash, "floor": math.floor, "dict": lambda a: dict(a.__dict__), "vars": lambda a: dict(vars(a)),
    "copy": lambda a: copy.copy(a).k, "percent": lambda a: "%s" % a, "str.format": lambda a: "{} {:q}".format(a, a),
    "shape": lambda a: Tensor(np.ones(12, np.float32)).reshape((-1, a)).shape, "attrgetter": operator.attrgetter("k"),
}
EVERY = {**NATIVE, **ASKED_IN_PYTHON}


def outcome(function):
    """What a call gives or raises."""
    try:
        return repr(function())
    except GraphSyntaxError:
        raise
    except Exception as error:
        return type(error).__name__, str(error)


def outside(ask, changes):
    """A function that asks an object outside, of which it may first change an attribute; and that object."""
    thing = Thing(2)

    def asked(x):
        if changes:
            thing.k = thing.k + 1
        return ask(thing)
    return asked, thing


def four_calls(make, ask, changes):
    """What four calls give, between which the user changes the object."""
    function, thing = outside(ask, changes)
    call, found = make(function), []
    for _ in range(4):
        found.append(outcome(lambda: call(Tensor([1.0]))))
        if not changes:
            thing.k = thing.k + 1
    return found, thing.k


@pytest.mark.parametrize("name", NATIVE)
def test_special_methods_of_an_object_made_inside_are_in_the_graph(name):
    def asked(x):
        return NATIVE[name](Thing(3))
    assert outcome(lambda: ms.jit(asked, fullgraph=True)(Tensor([1.0]))) == outcome(lambda: asked(Tensor([1.0])))


@pytest.mark.parametrize("name", NATIVE)
def test_special_methods_of_an_object_outside_are_in_the_graph(name):
    assert four_calls(lambda f: ms.jit(f, fullgraph=True), NATIVE[name], False) == four_calls(lambda f: f, NATIVE[name], False)


@pytest.mark.python_runs("what Python would look into on its own")
@pytest.mark.parametrize("name", EVERY)
def test_an_object_is_for_python_code_what_the_function_has_made_of_it(name):
    def asked(x):
        return EVERY[name](Thing(3))
    compiled = ms.jit(asked)
    assert [outcome(lambda: compiled(Tensor([1.0]))) for _ in range(3)] == [outcome(lambda: asked(Tensor([1.0])))] * 3


@pytest.mark.python_runs("what Python would look into on its own")
@pytest.mark.parametrize("changes", (False, True), ids=("the user changes it", "the function changes it"))
@pytest.mark.parametrize("name", EVERY)
def test_an_object_outside_is_what_it_is_at_each_call(name, changes):
    assert four_calls(ms.jit, EVERY[name], changes) == four_calls(lambda f: f, EVERY[name], changes)


@pytest.mark.parametrize("name", ASKED_IN_PYTHON)
def test_what_python_would_look_into_is_refused_by_name(name):
    """`fullgraph` gives no number that Python would not give."""
    function, _ = outside(ASKED_IN_PYTHON[name], True)
    with pytest.raises(GraphSyntaxError, match="fullgraph|Thing|special methods"):
        ms.jit(function, fullgraph=True)(Tensor([1.0]))


def test_a_length_below_zero_is_an_error_where_truth_is_asked():
    def asked(x, n):
        return bool(Sized(int(n))), x
    compiled = ms.jit(asked, fullgraph=True)
    assert bool(compiled(Tensor([1.0]), Tensor(5))[0]) and not compiled(Tensor([1.0]), Tensor(3))[0]
    assert compiled(Tensor([1.0]), 3)[0] is False and compiled(Tensor([1.0]), 4)[0] is True
    for function in (asked, compiled):
        with pytest.raises(ValueError, match="should return >= 0"):
            function(Tensor([1.0]), 2)
        with pytest.raises(ValueError, match="should return >= 0"):
            function(Tensor([1.0]), Tensor(1))


def test_a_truth_that_is_no_bool_is_an_error():
    class Odd:
        def __bool__(self):
            return 3

    def asked(x):
        return x if Odd() else -x
    for function in (asked, ms.jit(asked, fullgraph=True)):
        with pytest.raises(TypeError, match="__bool__ should return bool, returned int"):
            function(Tensor([1.0]))


class Wrong:
    """Special methods that give what Python does not take."""
    __int__ = __index__ = __float__ = lambda self: "3"                       # noqa: E731
    __str__ = __repr__ = lambda self: 5                                      # noqa: E731
    __format__ = lambda self, spec: 5                                        # noqa: E731


@pytest.mark.parametrize("ask", (int, float, str, repr, lambda a: f"{a}", lambda a: f"{a!r}", lambda a: list(range(a))),
                         ids=("int", "float", "str", "repr", "format", "conversion", "index"))
def test_what_special_methods_give_is_of_the_class_that_python_takes(ask):
    def asked(x):
        return ask(Wrong())
    wanted = outcome(lambda: asked(Tensor([1.0])))
    assert wanted[0] == "TypeError" and outcome(lambda: ms.jit(asked, fullgraph=True)(Tensor([1.0]))) == wanted


class Slots:
    """A class without a __dict__."""
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


def test_objects_with_slots_have_those_attributes_only():
    def kept(x):
        made = Slots(x)
        made.b = 3
        del made.a
        return made.b * x, hasattr(made, "a")

    def missing(x):
        return Slots(x).b

    def another(x):
        made = Slots(x)
        made.c = 1
        return x
    assert outcome(lambda: ms.jit(kept, fullgraph=True)(Tensor([1.0]))) == outcome(lambda: kept(Tensor([1.0])))
    for function in (missing, another):
        for call in (function, ms.jit(function, fullgraph=True)):
            with pytest.raises(AttributeError, match="'Slots' object has no attribute"):
                call(Tensor([1.0]))


def test_what_sorted_max_and_min_say_of_a_wrong_key_is_what_python_says():
    calls = [lambda x: sorted([3, "a"]), lambda x: sorted([1, 2], reverse="a"), lambda x: max([1, "a"]), lambda x: max([]),
             lambda x: max([], default=4), lambda x: min(["aa", "b"], key=len), lambda x: sorted([(1, "a"), (1, 2)]),
             lambda x: max([x, 1], key=lambda v: 1 if isinstance(v, int) else 2).shape, lambda x: sorted([(1, x), (0, x)])[0][0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in calls:
            assert outcome(lambda: ms.jit(call, fullgraph=True)(Tensor([1.0]))) == outcome(lambda: call(Tensor([1.0])))


@pytest.mark.parametrize("ask", (lambda x: divmod(x, 2), lambda x: divmod(9, x), lambda x: round(x, 1), round, abs),
                         ids=("divmod", "rdivmod", "round to a digit", "round", "abs"))
def test_what_python_asks_of_a_tensor_is_the_same_in_a_graph(ask):
    x = Tensor([2.5, -1.25])
    assert outcome(lambda: ms.jit(lambda x: ask(x), fullgraph=True)(x)) == outcome(lambda: ask(x))
    assert not outcome(lambda: ask(x))[0].startswith("TypeError")
