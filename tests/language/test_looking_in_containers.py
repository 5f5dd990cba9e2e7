"""`in`, count, index, remove, == and `is` on values that a graph knows at run time only: Python's rules."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn


SET, TABLE = {3, 9}, {1: "a", 7: "b"}


def small_ints_are_one_object(x, y):
    n = int(x)
    return n is 3, n is not 3, (n > 2) is True, n is True, 3 is int(y)     # noqa: F632


def count(x, y):
    return (x, y, "a", 1).count(x), [x, y, 1].count(3), (1, int(x), int(y)).count(3), [1, 2, 2].count(2)


def index(x, y):
    return [x, 5].index(x), (1, "a").index("a"), ["q", x].index(x), (7, 1, 7).index(7, 1)


def contains(x, y):
    return int(x) in (1, 3), x in [y, 3], int(x) in [7, 8], int(y) not in {1: 2}, \
        int(x) in range(2, 8, 2), int(y) in SET, int(x) in TABLE


def compare(x, y):
    return (int(x), 1) == (3, 1), [int(x), 1] != [3, int(y)], (x, y) == (3, 4), ([x], 1) == ([y], 1)


def remove(x, y):
    items = [1, x, "s", 1]
    items.remove("s")
    items.remove(1)
    return items


def operate_on_lists(x, y):
    return x + (y,), (x, y) * x, [1, 2] + x, x - [x, [y]][0]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("function", [small_ints_are_one_object, count, index, contains, compare, remove],
                         ids=lambda f: f.__name__)
def test_containers_are_searched_as_python_searches_them(function):
    jitted = ms.jit(function, fullgraph=True)
    for x, y in ((3, 4), (3, 3), (1, 1), (7, 3)):
        try:
            expected = repr(function(Tensor(x), Tensor(y)))
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                jitted(Tensor(x), Tensor(y))
            continue
        assert repr(jitted(Tensor(x), Tensor(y))) == expected


def test_sizes_that_depend_on_data_are_compared_at_run_time():
    def f(x):
        found = x.nonzero()
        return found.shape == (2, 1), found.shape[:1] == (3,), found.shape != (2, 1)
    jitted = ms.jit(f, fullgraph=True)
    for data in ([1, 0, 1], [1, 1, 1], [0, 0, 0]):
        assert jitted(Tensor(data)) == f(Tensor(data))


@pytest.mark.python_runs("what a container holds is known at run time only")
def test_which_item_it_is_may_be_known_to_python_alone():
    def f(x, y):
        return (1, y, x).index(x), TABLE[int(x)], {3: "c", 7: "d"}[int(x)]
    for y in (7, 4):
        assert ms.jit(f)(Tensor(7), Tensor(y)) == f(Tensor(7), Tensor(y))


def test_lists_of_tensors_are_operands_and_carry_gradients():
    jitted = ms.jit(operate_on_lists, fullgraph=True)
    x, y = Tensor([1.0]), Tensor([2.0])
    assert repr(jitted(x, y)) == repr(operate_on_lists(x, y))
    gradient = ms.grad(lambda a, b: (a * (b,)).sum(), (0, 1))
    for run in (gradient, ms.jit(gradient)):
        np.testing.assert_array_equal([g.asnumpy() for g in run(x, y)], [[2], [1]])


def test_a_row_of_cells_is_indexed_by_a_tensor():
    layers = nn.CellList([nn.Dense(3, 3), nn.ReLU(), nn.Tanh()])

    def f(x):
        i = Tensor(0)
        while i < 3:
            x = layers[i](x)
            i = i + 1
        return x
    x = Tensor(np.ones((2, 3), np.float32))
    for _ in range(2):
        np.testing.assert_allclose(ms.jit(f)(x).asnumpy(), f(x).asnumpy(), rtol=1e-6)


def test_what_answers_for_a_number_is_called_by_its_name():
    def f(x, y):
        return x.__index__() + 1, y.__float__(), (x > 3).__bool__(), int(x).__index__()
    x, y = Tensor(7), Tensor(2.5)
    assert ms.jit(f, fullgraph=True)(x, y) == (8, 2.5, True, 7)


def within(x, y):
    return (3.0 in x, 9 in x, x in x, x[1] in x, y in x, y not in x, True in x, None in x, "a" in x, [1.0] in x,
            float("nan") in x, 1 in x[:0], 3 in x[1, 0])


def test_a_number_is_in_a_tensor_where_an_element_equals_it():
    x, y = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)), Tensor([3.0, 0.0, 0.0])
    wanted = (True, False, True, True, True, False, True, False, False, False, False, False, True)
    for run in (within, ms.jit(within, fullgraph=True)):
        found = run(x, y)
        assert found == wanted and {type(each) for each in found} == {bool}
    for run in (lambda x: Tensor([1.0, 2.0]) in x, ms.jit(lambda x: Tensor([1.0, 2.0]) in x, fullgraph=True)):
        with pytest.raises(ValueError, match="equal: the shapes do not broadcast"):
            run(x)


NAN = float("nan")
ORDER = {
    "a key": lambda x: max(x[0], key=lambda v: -v), "keys of items": lambda x: max([x.sum(), x.max()], key=lambda v: -v),
    "keys of numbers": lambda x: min([1, 2, 3], key=lambda v: x[0, v - 1]), "no key": lambda x: max(x[0], key=None),
    "tensors": lambda x: max([x[0], x[1]], key=lambda v: -v.sum()), "elements": lambda x: (max(x[1]), min(x[0]), min(x[0] > 1)),
    "NaN first": lambda x: (max(x[0] * NAN), min(Tensor([NAN, 1.0]) + x[0, 0])),
    "NaN later": lambda x: (max(Tensor([1.0, NAN, 3.0]) + x[0, 0]), min(Tensor([1.0, NAN]) + x[0, 0])),
    "numbers of the run": lambda x: (max(int(x.sum()), 4), max(float(x.sum()), 4.5, NAN), max(NAN, float(x.sum()))),
    "a number": lambda x: (max(x.sum(), 3), min(x.max(), 99.5)), "rows": lambda x: max(x), "vectors": lambda x: max(x[0], x[1]),
    "default": lambda x: (max([], default=x.sum()), min([x], default=1)), "one row": lambda x: min(x[:1]),
    "none": lambda x: max(x[0][:0]), "tensors of one element": lambda x: (max(x[0, :1], x[0, 1:2]), min(x[1, :1], x[0, :1])),
    "two defaults": lambda x: max(1, x.sum(), default=2), "another name": lambda x: max(x[0], foo=1),
    "gradient where two are equal": lambda x: ms.grad(lambda x: max(x.reshape(-1) * 0) + min(x[0, 0], x[0, 1] * 0))(x),
    "any and all": lambda x: (any([x.sum() > 3, False]), all([x.sum() > 3, x.max() > 9]), any(x[0]), all(v > 2 for v in x[1]),
                              any([int(x.sum()) > 30, x.sum() > 99])),
}


@pytest.mark.parametrize("name", ORDER)
def test_max_min_any_and_all_are_those_of_python(name):
    def told(function):
        try:
            return repr(function(Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))))
        except (ValueError, TypeError) as error:
            return str(error).split("\n")[0]
    assert told(ms.jit(ORDER[name], fullgraph=True)) == told(ORDER[name])


@pytest.mark.parametrize("function", [lambda x: round(float(x.max()), 1), lambda x: [0] * int(x[0, 2]),
                                      lambda x: [1, 2, 3][int(x[0, 1]):], lambda x: max((x[0, 0], 1), (x[0, 1], 2))[1]])
def test_what_waits_for_a_number_of_the_run_is_refused_in_words_of_the_user(function):
    with pytest.raises(ms.common.errors.GraphSyntaxError, match="^a value that is known at run time only"):
        ms.jit(function, fullgraph=True)(Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)))


def test_a_number_beside_a_tensor_becomes_a_tensor_where_it_is_the_result():
    made = ms.jit(lambda x: (min(3, x.sum()), max(x.max(), 99.5)), fullgraph=True)(Tensor(np.arange(6, dtype=np.float32)))
    assert [(type(each), each.tolist()) for each in made] == [(Tensor, 3.0), (Tensor, 99.5)]
