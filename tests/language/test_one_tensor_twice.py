"""A Tensor that is given to a function twice is one Tensor, in a graph as in Python."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops


def tensor(value):
    return Tensor(np.full(3, value, np.float32))


def write_one_read_the_other(a, b):
    a[0] = 5.0
    b.add_(1.0)
    return a * 2 + b


def compare(a, b):
    return a is b, a is not b


def compute(a, b):
    return a * b + a


@pytest.mark.parametrize("function", [write_one_read_the_other, compare, compute], ids=lambda f: f.__name__)
def test_a_graph_knows_which_arguments_are_one_tensor(function):
    jitted = ms.jit(function, fullgraph=True)
    for _ in range(4):                                      # the third call goes the short way
        for same in (False, True):
            seen, expected = [], []
            for run, found in ((jitted, seen), (function, expected)):
                x = tensor(1)
                y = x if same else tensor(2)
                found += [run(x, y), x, y]
            assert str(seen) == str(expected)


def test_in_looks_for_the_very_tensor_first():
    x, y = tensor(1), tensor(2)
    jitted = ms.jit(lambda a, b: a in b)
    assert jitted(x, [x, y]) is True and (x in [x, y])


def test_one_tensor_in_a_list_and_by_name_is_one():
    def f(a, items, *, named):
        items[1][0] = 9.0
        return a + named
    jitted = ms.jit(f, fullgraph=True)
    for run in (f, jitted, jitted):
        x = tensor(1)
        np.testing.assert_array_equal(run(x, [tensor(0), x], named=x).asnumpy(), [18, 2, 2])


def test_gradients_by_position_stay_apart():
    x = tensor(2)
    gradient = ms.grad(lambda a, b: (a * a * b).sum(), (0, 1))
    for run in (gradient, ms.jit(gradient)):
        of_a, of_b = run(x, x)
        assert of_a.tolist() == [8] * 3 and of_b.tolist() == [4] * 3


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(tensor(0.0), name="count")

    def construct(self, x):
        self.count.add_(x)
        return self.count, x


def write_item(x):
    x[0] = 3


@pytest.mark.parametrize("change", [lambda x: x.add_(1), write_item, lambda x: ops.assign(x, x * 2)],
                         ids=["in place", "item", "assign"])
def test_an_argument_that_is_changed_and_given_is_the_caller_s(change):
    def gives(x):
        change(x)
        return x, [x], {"x": x}, x * 1
    compiled = ms.jit(gives, fullgraph=True)
    for _ in range(4):
        x, y = tensor(1.0), tensor(1.0)
        wanted, found = gives(x), compiled(y)
        assert found[0] is found[1][0] is found[2]["x"] is y and found[3] is not y
        np.testing.assert_array_equal(found[0].asnumpy(), wanted[0].asnumpy())
        np.testing.assert_array_equal(found[3].asnumpy(), y.asnumpy())


def test_a_parameter_that_is_changed_and_given_is_the_cell_s():
    net = Counter()
    compiled = ms.jit(net, fullgraph=True)
    for step in range(1, 5):
        count, x = compiled(tensor(1.0))
        assert count is net.count and count.asnumpy().tolist() == [step] * 3
    np.testing.assert_array_equal(ms.jit(ms.grad(lambda x: net(x)[0].sum()), fullgraph=True)(tensor(1.0)).asnumpy(),
                                  ms.grad(lambda x: net(x)[0].sum())(tensor(1.0)).asnumpy())


def test_a_file_gives_the_new_value_of_what_it_changes(tmp_path):
    net = Counter()
    ms.export(net, tensor(1.0), file_name=str(tmp_path / "count"), file_format="MINDIR")
    loaded = nn.GraphCell(ms.load(str(tmp_path / "count.mindir")))
    for step in (1, 2, 3):
        assert loaded(tensor(1.0))[0].asnumpy().tolist() == [step] * 3
