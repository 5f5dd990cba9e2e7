"""Hooks on Tensors and Parameters."""
import collections
import copy
import pickle

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, GradientError
from mindlite.common.events import listen


def vector(*numbers):
    return Tensor(np.array(numbers, np.float32))


class Weighted(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = Parameter(vector(1, 2), name="a"), Parameter(vector(3, 4), name="b")

    def construct(self, x):
        self.b * 2
        return (x * self.a).sum()


def test_a_hook_on_an_input_sees_its_whole_gradient_each_time():
    x, seen = vector(1, 2), []
    handle = x.register_hook(lambda grad: seen.append(grad.asnumpy().tolist()))
    x.register_hook(lambda grad: grad * 10)
    for _ in range(2):
        found = ms.grad(lambda a: (a * a + a).sum())(x)
        np.testing.assert_array_equal(found.asnumpy(), [30, 50])
    assert seen == [[3, 5], [3, 5]] and len(x.hooks()) == 2
    handle.remove(), handle.remove()
    assert len(x.hooks()) == 1


def test_a_hook_on_a_weight_sees_its_gradient_even_if_it_is_zero():
    net, x, seen = Weighted(), vector(5, 6), []
    net.a.register_hook(lambda grad: seen.append(grad.asnumpy().tolist()))
    net.b.register_hook(lambda grad: grad + 7)
    of_a, of_b = ms.grad(net, None, [net.a, net.b])(x)
    assert seen == [[5, 6]]
    np.testing.assert_array_equal(of_b.asnumpy(), [7, 7])
    ms.grad(net)(x)
    assert len(seen) == 1                                     # no gradient of the weight was asked for


def test_a_hook_sees_what_was_made_of_the_tensor_before_it_was_registered_too():
    seen = []

    def f(a):
        b = a * 2
        c = b * 2
        b.register_hook(lambda grad: seen.append(float(grad)))
        return b * 3 + c
    assert float(ms.grad(f)(Tensor(1.0))) == 10 and seen == [5]


def test_a_hook_is_not_called_where_nothing_flows():
    seen = []

    def f(a):
        b = a * 2
        b.register_hook(seen.append)
        return a * 3
    assert float(ms.grad(f)(Tensor(1.0))) == 3 and not seen


def test_each_of_several_results_has_hooks_of_its_own():
    def f(a):
        left, right = ops.split(a, 2)
        left.register_hook(lambda grad: grad * 2)
        handle = left.register_hook(lambda grad: grad * 100)
        right.register_hook(lambda grad: grad * 3)
        handle.remove()
        return left + right
    np.testing.assert_array_equal(ms.grad(f)(vector(0, 1, 2, 3)).asnumpy(), [2, 2, 3, 3])


def test_a_hook_on_an_input_sees_the_gradient_of_its_gradient_too():
    x = Tensor(2.0)
    x.register_hook(lambda grad: grad * 2)
    assert float(ms.grad(ms.grad(lambda a: a ** 3))(x)) == 4 * 6 * 2


def test_recomputing_calls_the_hooks_of_a_weight_once():
    net, seen = Weighted(), []
    net.a.register_hook(lambda grad: seen.append(1))
    ms.grad(lambda x: ms.recompute(net, x), None, net.a)(vector(5, 6))
    assert seen == [1]


def test_a_value_that_is_changed_in_place_has_no_hooks_any_more():
    seen = []

    def f(a):
        b = a * a
        b.register_hook(lambda grad: grad * 2)
        b.add_(2.0)
        seen.append(len(b.hooks()))
        b.register_hook(lambda grad: grad * 3)
        return b + 1.0
    np.testing.assert_array_equal(ms.grad(f)(vector(1, 2)).asnumpy(), [12, 24])
    assert seen == [0]


def test_copies_and_files_have_no_hooks():
    x = vector(1)
    x.register_hook(lambda grad: grad)
    assert copy.deepcopy(x).hooks() == [] and pickle.loads(pickle.dumps(x)).hooks() == []


def test_what_cannot_be_a_hook_is_refused():
    with pytest.raises(GradientError, match="requires_grad is False"):
        Parameter(vector(1), requires_grad=False).register_hook(print)
    with pytest.raises(ArgumentError, match="takes a function, not int"):
        vector(1).register_hook(3)
    x = vector(1, 2)
    x.register_hook(lambda grad: grad[0])
    with pytest.raises(GradientError, match=r"a hook gives f32\[\] as the gradient of f32\[2\]"):
        ms.grad(lambda a: a.sum())(x)


def flows(function, *args):
    """[(backward flows built, reused, parts of the tape)] at each of four calls."""
    counts = []
    for _ in range(4):
        count = collections.Counter()

        def hear(event, fields, count=count):
            count[event] += fields.get("parts", 1)
        with listen(hear):
            function(*args)
        counts.append([count[event] for event in ("backward_flow_build", "backward_flow_reuse", "backward_parted")])
    return counts


def test_between_hooks_the_backward_is_compiled_and_reused():
    w = Parameter(vector(2, 3), name="w")

    def f(x, hooks):
        h = ops.tanh(x * w) * x
        if hooks:
            h.register_hook(lambda grad: grad * 2)
        return (h * h * x).sum()
    x = vector(1, 2)
    gradient = ms.grad(f, 0, w)
    plain, hooked = flows(gradient, x, False), flows(gradient, x, True)
    assert sum(built for built, _, _ in plain) == 1 and plain[-1] == [0, 1, 0]
    assert sum(built for built, _, _ in hooked) == 2 and hooked[-1] == [0, 2, 2]
    handle = w.register_hook(lambda grad: grad * 5)
    assert flows(gradient, x, False) == [[0, 1, 0]] * 4         # of a weight: it is called behind
    handle.remove()


def test_gradients_are_the_same_compiled_between_hooks_or_not():
    class Pair(nn.Cell):
        def construct(self, x, y):
            return x * y, ops.tanh(x) + y
    net, seen = Pair(), []
    net.register_backward_hook(lambda cell, grads, out: seen.append(len(out)) or (grads[0] * 2, grads[1] + out[0]))

    def f(x, y):
        a = ops.exp(x * 0.5) * y
        left, right = net(a, a * y)
        left.register_hook(lambda grad: grad + 1)
        a.register_hook(lambda grad: seen.append("a") or grad * 3)
        return (left * right + a).sum()
    x, y = vector(1, 2), vector(3, 4)
    gradient = ms.grad(f, (0, 1))
    first = [g.asnumpy() for g in gradient(x, y)]
    for _ in range(3):
        for found, expected in zip(gradient(x, y), first):
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)
    assert seen == [2, "a"] * 4
