"""in_axes and out_axes of vmap as trees: tuples, lists, namedtuples and dicts, in graphs and item by item in Python."""
import collections

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError

Pair = collections.namedtuple("Pair", "left right")
X, Y = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(2, 3) * 10


@pytest.fixture(params=["graph", "python"])
def mapped(request):
    """vmap; of Python code, where each item is looked at with NumPy."""
    def vmap(function, *axes, **named):
        def looked(tree):
            X.sum() if request.param == "graph" else np.asarray(first_of(tree).asnumpy())
            return function(tree)
        return ms.vmap(looked, *axes, **named)
    return vmap


def first_of(tree):
    """The first Tensor of a tree."""
    while not isinstance(tree, Tensor):
        tree = list(tree.values())[0] if isinstance(tree, dict) else tree[0]
    return tree


TREES = {
    "tuple": (lambda x, y: (x, y), lambda t: t[0] + t[1], (0, 1)),
    "list": (lambda x, y: [x, y], lambda t: t[0] + t[1], [0, 1]),
    "namedtuple": (lambda x, y: Pair(x, y), lambda t: t.left + t.right, (0, 1)),
    "dict": (lambda x, y: {"a": x, "b": y}, lambda t: t["a"] + t["b"], {"a": 0, "b": -1}),
    "dict in a tuple": (lambda x, y: ({"a": x}, y), lambda t: t[0]["a"] + t[1], ({"a": 0}, 1)),
    "tuple in a dict": (lambda x, y: {"a": (x, y)}, lambda t: t["a"][0] + t["a"][1], {"a": (0, 1)}),
}


@pytest.mark.parametrize("tree", TREES)
def test_an_argument_that_is_a_tree_is_mapped_part_by_part(mapped, tree):
    make, function, axes = TREES[tree]
    want = np.stack([x + y for x, y in zip(X, Y.T)])
    np.testing.assert_array_equal(mapped(function, (axes,))(make(Tensor(X), Tensor(Y))).asnumpy(), want)
    alike = mapped(function)(make(Tensor(X), Tensor(Y.T.copy())))               # one axis for all parts
    np.testing.assert_array_equal(alike.asnumpy(), want)


def test_a_part_that_is_not_mapped_is_given_whole(mapped):
    scaled = mapped(lambda t: t["x"] * t["by"], ({"x": 0, "by": None},))
    assert scaled({"x": Tensor(X), "by": Tensor([1.0, 10.0])}).tolist() == (X * [1, 10]).tolist()
    assert scaled({"x": Tensor(X), "by": 2.0}).tolist() == (X * 2).tolist()


def test_a_result_that_is_a_tree_has_its_axes_part_by_part(mapped):
    for make, axes in ((lambda x: {"a": x, "b": x * 2}, {"a": 0, "b": 1}), (lambda x: [x, x * 2], [0, 1]),
                       (lambda x: Pair(x, x * 2), (0, 1))):
        made = mapped(lambda t, make=make: make(t[0]), 0, axes)((Tensor(X),))
        first, second = made.values() if isinstance(made, dict) else made
        assert type(made) is type(make(0)) and first.tolist() == X.tolist() and second.tolist() == (X * 2).T.tolist()
    deep = mapped(lambda t: (t, {"s": "text", "none": None}), 0, 1)(Tensor(X))
    assert deep[0].tolist() == X.T.tolist() and deep[1]["s"] == "text" and deep[1]["none"] is None


def test_a_number_in_a_result_is_repeated(mapped):
    made = mapped(lambda x: {"x": x, "n": 3})(Tensor(X))
    assert made["n"].tolist() == [3, 3, 3]


@pytest.mark.parametrize("make, axes", [(lambda x: (x, x), (0, 0, 0)), (lambda x: (x, x), (0,)), (lambda x: x, (0, 0)),
                                        (lambda x: {"a": x, "b": x}, {"a": 0, "c": 0}), (lambda x: [x], {"a": 0})],
                         ids=["too many", "too few", "no tree", "other names", "names of a list"])
def test_axes_that_are_not_like_the_argument_are_an_error(mapped, make, axes):
    with pytest.raises(ArgumentError, match=r"in_axes names \d parts of an argument that has \d"):
        mapped(lambda t: t, (axes,))(make(Tensor(X)))


def test_arguments_are_named_by_their_places():
    with pytest.raises(ArgumentError, match="in_axes names the arguments by their positions"):
        ms.vmap(lambda d: d["a"], {"a": 0})


def test_gradients_pass_a_mapped_dict():
    def loss(x):
        return ms.vmap(lambda d: d["a"] * d["b"].sum(), ({"a": 0, "b": None},))({"a": x, "b": x}).sum()
    x = Tensor(X)
    np.testing.assert_allclose(ms.grad(loss)(x).asnumpy(), np.full(X.shape, 2 * X.sum()))
    np.testing.assert_array_equal(ms.jit(ms.grad(loss))(x).asnumpy(), ms.grad(loss)(x).asnumpy())


def test_what_is_written_into_an_item_is_written_into_the_argument(mapped):
    def write(t):
        x, y = t
        ops.assign(x, x + 1)
        y[0] = 7.0
        return x * y
    x, y = ms.Parameter(Tensor(X), name="x"), Tensor(Y)
    made = mapped(write, ((0, 1),))((x, y))
    after = Y.copy()
    after[0] = 7
    assert x.tolist() == (X + 1).tolist() and y.tolist() == after.tolist()
    assert made.tolist() == ((X + 1) * after.T).tolist()


def test_sizes_that_differ_are_found_before_the_function_runs(mapped):
    def add(t):
        return t[0] + t[1]
    with pytest.raises(ms.ShapeError, match="the mapped axes differ in size"):
        mapped(add, ((1, 0),))((Tensor(X), Tensor(X)))
    with pytest.raises(ArgumentError, match="no argument is mapped"):
        mapped(add, ((None, None),))((Tensor(X), Tensor(X)))
