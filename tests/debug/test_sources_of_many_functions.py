"""ms.ad.source over the language: what is printed runs, and gives the numbers of the derivative itself."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor

X = np.array([0.3, -1.2, 2.0])


class Scaled(nn.Cell):
    def __init__(self, scale):
        super().__init__()
        self.scale, self.activation = Tensor(np.array(scale)), nn.Tanh()

    def construct(self, x):
        return self.activation(x * self.scale)


class Stack(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Scaled([1.5, 0.5, -1.]), Scaled([0.2, 2., 1.])])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x) * 1.2
        return x


stack = Stack()


def straight(x):
    return ops.tanh(x) * x


def branch_in_branch(x):
    y = x
    if x[0] > 0:
        y = ops.sin(x)
        if x[1] > 0:
            y = y * 2
        else:
            y = y * x
    return y


def one_line_branch(x):
    return x * 2 if x.sum() > 0 else ops.exp(x)


def while_with_counter(x):
    n = 0
    while (x * x).sum() < 50:
        x = x * 1.5 + n
        n = n + 1
    return x * n


def for_loop(x):
    for i in range(4):
        x = ops.tanh(x + i)
    return x


def loop_with_break(x):
    for i in range(6):
        if x.sum() > 5:
            break
        x = x * 1.3 + 0.2
    return x


def loop_with_continue(x):
    y = x * 0
    for i in range(5):
        if x[0] * i > 0.5:
            continue
        y = y + x * i
    return y


def loop_in_loop(x):
    total = x * 0
    for i in range(3):
        while total.sum() < i:
            total = total + x * x
    return total * x


def value_from_the_turn_before(x):
    n = 0
    while n < 3:
        if n > 0:
            x = x + last                                     # noqa: F821
        last = x * n + 1
        n = n + 1
    return x * last


def value_made_in_a_loop(x):
    for i in range(3):
        y = ops.concat([x, x])[:3] * i
    return y * x


def size_that_grows(x):
    y = x
    for i in range(3):
        if y.sum() < 100:
            y = ops.concat([y, x])
    return y.sum() * x


def list_of_tensors(x):
    items = [x, x * 2]
    items.append(ops.sin(x))
    items[0] = items[1] * items[2]
    total = x * 0
    for item in items:
        total = total + item * item
    return total


def list_that_grows(x):
    items = []
    for i in range(3):
        items.append(x * i)
    return ops.stack(items).sum(axis=0) * x


def dictionary(x):
    table = {"a": x, "b": x * 2}
    table["c"] = table["a"] * table["b"]
    for key in table:
        x = x + table[key]
    return x


def tuples(x):
    a, (b, c) = x, (x * 2, x * x)
    return a * b + c


def closure(x):
    k = x * 2

    def times(t):
        return t * k
    return times(times(x))


def list_of_functions(x):
    for f in [ops.sin, ops.cos, lambda t: t * t]:
        x = f(x) + x
    return x


def recursion(x):
    def power(x, n):
        if n < 1:
            return x
        return x * power(x, n - 1)
    return power(x, (x.sum() > 0).astype("int32") + 2)


def assigned_items(x):
    y = x * 1
    y[1] = x[0] * 2
    y[::2] += 1.5
    return y * x


def assigned_view(x):
    y = x * 1
    view = y[1:]
    view[0] = x[2] * x[0]
    return y * y


def items_assigned_in_a_loop(x):
    y, i = x * 1, 0
    while i < 3:
        y[i] = y[i] * y[0] + i
        i = i + 1
    return y


def handled_error(x):
    try:
        y = x * 2
    except ValueError:
        y = x
    return y * x


def gathered(x):
    return ops.gather(x, Tensor([2, 0, 1]), 0) * x


def chosen(x):
    return ops.where(x > 0, ops.sqrt(ops.abs(x)), x * x)


def largest(x):
    return ops.maximum(x, 0.5) * x.max()


def numbers(x):
    return x * float(2.5) + max(1, 3) + x ** int(3)


def matrix(x):
    return ops.matmul(ops.expand_dims(x, 1) * x, x)


def sorted_elements(x):
    return ops.sort(x)[0] * x


def sums(x):
    return ops.cumsum(x, 0) * ops.softmax(x)


def stopped(x):
    return ops.stop_gradient(x) * x


def cell(x):
    return stack.layers[0](x)


def cells(x):
    return stack(x)


def gradient_inside(x):
    return ms.grad(lambda t: (t * t * t).sum())(x)


def tangent_inside(x):
    return ms.jvp(ops.sin, x, x)[1]


def pullback_inside(x):
    value, pull = ms.vjp(lambda t: ops.sin(t) * x, x)
    return pull(value)[0]


def pushforward_inside(x):
    value, push = ms.linearize(lambda t: ops.tanh(t) * t, x)
    return value + push(x)


def recomputed(x):
    return ms.recompute(lambda t: ops.sin(t) * t, x)


def mapped(x):
    return ms.vmap(lambda t: t * t + x.sum())(x)


def mapped_branch(x):
    def root(t):
        if t > 0:
            return ops.sqrt(t)
        return t * t
    return ms.vmap(root)(x)


def mapped_loop(x):
    def grow(t):
        while t * t < 4:
            t = t * 1.7
        return t
    return ms.vmap(grow)(x)


FUNCTIONS = [value for value in list(globals().values())
             if callable(value) and getattr(value, "__module__", "") == __name__ and not isinstance(value, type)
             and value is not stack]


def total(f):
    return lambda x: f(x).sum()


ALWAYS = {"grad": lambda f: ms.grad(total(f)), "jvp": lambda f: ms.jit(lambda x: ms.jvp(f, x, x * 0.5 + 1))}
IN_TURN = [("jacfwd", ms.jacfwd), ("vmap of grad", lambda f: ms.vmap(ms.grad(total(f)))),
           ("grad of grad", lambda f: ms.grad(total(ms.grad(total(f)))))]


@pytest.fixture(autouse=True)
def no_kernels():
    before = ms.get_context("jit_level")
    ms.set_context(jit_level="O0")
    yield
    ms.set_context(jit_level=before)


def same(seen, wanted):
    if isinstance(wanted, tuple):
        assert len(seen) == len(wanted)
        for a, b in zip(seen, wanted):
            same(a, b)
    else:
        np.testing.assert_allclose(seen.asnumpy(), wanted.asnumpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(len(FUNCTIONS)), ids=[f.__name__ for f in FUNCTIONS])
def test_the_source_gives_the_numbers_of_the_derivative(number):
    name, turn = IN_TURN[number % len(IN_TURN)]
    for kind, derive in {**ALWAYS, name: turn}.items():
        derived, x = derive(FUNCTIONS[number]), Tensor(np.stack([X, X * 0.7 - 0.2]) if kind == "vmap of grad" else X)
        same(ms.ad.source(derived, x).function()(x), derived(x))


def kept_in_a_list(x):
    items, n = [], 0
    while n < 3 and x.sum() < 100:
        items.append(x * n)
        x = x * 1.5
        n = n + 1
    return ops.stack(items).sum(axis=0) * x if len(items) else x


def sorted_by_numpy(x):
    return x * Tensor(np.sort(x.asnumpy()))


@pytest.mark.parametrize("function", [kept_in_a_list, sorted_by_numpy])
@pytest.mark.parametrize("kind", ["grad", "jvp", "grad of grad"])
@pytest.mark.filterwarnings("ignore::mindlite.compile.jit.FallbackWarning")
def test_the_source_around_python_code(function, kind):
    derived, x = ms.jit({**ALWAYS, **dict(IN_TURN)}[kind](function)), Tensor(X)
    derived(x)
    wanted = derived(x)
    same(ms.ad.source(derived).function()(x), wanted)


def test_a_derivative_that_runs_in_python_has_no_source_and_says_why():
    derived = ms.jacfwd(kept_in_a_list)
    derived(Tensor(X))
    with pytest.warns(UserWarning, match="would run once more"):
        derived(Tensor(X))
    with pytest.raises(ms.common.errors.ArgumentError, match="would run once more"):
        ms.ad.source(derived)
