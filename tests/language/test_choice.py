"""Items of tuples and lists by a number that data decides: part of the graph."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, grad, jit, nn, ops


def number(n):
    return Tensor(n, ms.int32)


def same(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-6)


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.last = (nn.ReLU(), nn.Tanh(), nn.Dense(3, 3)), [nn.Dense(3, 2), nn.Dense(3, 2)]

    def construct(self, x, i, j):
        return self.last[j](self.first[i](x))


def function_of_a_list(x, i):
    def double(x, scale=1.0):
        return 2 * x * scale
    return [ops.sin, double, lambda x, scale=1.0: x + scale][i](x)


def keywords(x, i):
    return (lambda x, k=1: x + k, lambda x, k=2: x * k)[i](x, k=5)


def tensors(x, i):
    return (x, x + 1, x * 3)[i] * 2


def numbers(x, i):
    return [1.5, 2.5, 3.5][i] * x


def in_a_loop(x, i):
    for k in range(7):
        x = (ops.sin, ops.cos)[(i + k) % 2](x)
    return x


PROGRAMS = [function_of_a_list, keywords, tensors, numbers, in_a_loop]


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("i", [0, 1, -1, -2])
def test_the_item_is_that_of_python(function, i):
    compiled, x = jit(function, fullgraph=True), Tensor([0.5, -1.0, 2.0])
    same(compiled(x, number(i)), function(x, i))
    same(jit(grad(function), fullgraph=True)(x, number(i)), grad(function)(x, i))


@pytest.mark.parametrize("i, j", [(0, 0), (1, 1), (2, 0), (-1, -1)])
def test_cells_are_chosen_and_their_weights_have_gradients(i, j):
    net, x = Layers(), Tensor(np.ones((2, 3), np.float32))
    want = net.last[j](net.first[i](x))
    same(jit(net.construct, fullgraph=True)(x, number(i), number(j)), want)
    weights = net.trainable_params() + net.last[0].trainable_params() + net.last[1].trainable_params()
    loss = lambda x, i, j: net(x, i, j).sum()  # noqa: E731
    for a, b in zip(jit(grad(loss, None, weights), fullgraph=True)(x, number(i), number(j)),
                    grad(loss, None, weights)(x, i, j)):
        same(a, b)


@pytest.mark.parametrize("i", [3, -4, 7])
@pytest.mark.parametrize("function", [tensors, function_of_a_list, numbers])
def test_an_index_outside_is_pythons_error(function, i):
    errors = []
    for run in (lambda: function(Tensor([1.0]), i), lambda: jit(function)(Tensor([1.0]), number(i))):
        with pytest.raises(IndexError) as caught:
            run()
        errors.append(caught.value.args)
    assert errors[0] == errors[1]


def test_it_may_be_caught():
    def f(x, i):
        try:
            return (x, x + 1)[i]
        except IndexError:
            return x * 10
    for i in (0, 1, 2, -3):
        same(jit(f)(Tensor([1.0]), number(i)), f(Tensor([1.0]), i))


def test_items_of_several_kinds_and_functions_that_are_kept_are_pythons():
    def kinds(x, i):
        return ("one", x, 3)[i]

    def kept(x, i):
        chosen = (ops.sin, ops.cos)[i]
        return chosen(x) + chosen(x + 1)
    for i in (0, 1):
        x = Tensor([1.0])
        a, b = jit(kinds)(x, number(i)), kinds(x, i)
        assert type(a) is type(b) and (a == b if isinstance(a, str) else float(a) == float(b))
        same(jit(kept)(x, number(i)), kept(x, i))
