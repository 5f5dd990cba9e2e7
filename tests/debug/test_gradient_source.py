"""ms.ad.source: a gradient as Python that runs, and gives the same numbers, below the user's lines."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.errors import ArgumentError

X = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])


def straight(x):
    h = ops.tanh(x * 2.5 + 1)
    return (h * h).sum()


def branch(x):
    y = x * 2 if x.sum() > 0 else ops.exp(x) - 1
    return (y * x).sum()


def loop(x):
    n = 0
    while (x * x).sum() < 50:
        x = x * 1.5 + n
        n = n + 1
    return x.sum() * n


def loop_in_loop(x):
    total = x.sum() * 0
    for i in range(5):
        while total < i:
            total = total + (x * x).mean()
            if total > 3:
                break
    return total * x.sum()


def power(x, n):
    if n < 1:
        return x
    return x * power(x, n - 1)


def recursive(x):
    return power(x, (x.sum() > 0).astype("int32") + 2).sum()


def structures(x):
    pieces = [x[:, :1] * 1, ops.softmax(x[:, 1:], axis=-1)]
    pieces[0][0] = 3.0
    return {"a": (pieces[0] * pieces[1]).sum()}["a"]


def table(x):
    return ops.gather(ops.matmul(x, Tensor(np.arange(30.).reshape(3, 10) / 10)), Tensor([1, 3]), 1).max()


FUNCTIONS = [straight, branch, loop, loop_in_loop, recursive, structures, table]
DERIVED = {
    "grad": ms.grad, "value_and_grad": ms.value_and_grad, "jacfwd": ms.jacfwd, "jacrev": ms.jacrev,
    "grad of grad": lambda f: ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum()),
    "vmap of grad": lambda f: ms.vmap(ms.grad(lambda row: f(ops.stack([row, row])))),
    "jvp": lambda f: ms.jit(lambda x: ms.jvp(f, x, x * x)),
}


def same(a, b):
    if isinstance(b, (tuple, list)):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function, kind", list(itertools.product(FUNCTIONS, DERIVED)),
                         ids=lambda x: getattr(x, "__name__", x))
def test_the_source_runs_and_gives_the_numbers_of_the_gradient(function, kind):
    derived, x = DERIVED[kind](function), Tensor(X)
    text = ms.ad.source(derived, x)
    same(text.function()(Tensor(X)), derived(x))


def test_the_source_is_a_module_of_its_own_below_the_users_lines():
    text = ms.ad.source(ms.grad(loop), Tensor(X))
    namespace = {}
    exec(text, namespace)
    same(namespace[text.name](Tensor(X)), ms.grad(loop)(Tensor(X)))
    lines = [line.strip() for line in text.splitlines()]
    assert "# x = x * 1.5 + n" in lines and "# gradient of: x = x * 1.5 + n" in lines
    assert "def grad_loop(x):" in lines and "while True:" in lines
    assert text.inputs == ["x"] and text.namespace == {}
    assert all(len(line) <= 120 for line in text.splitlines())


def test_weights_are_the_last_parameters_and_the_result_has_the_structure_of_the_gradient():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))
    weights, x = net.trainable_params(), Tensor(X.astype(np.float32))
    gradient = ms.value_and_grad(lambda a, scale: (net(a) * scale).sum(), 0, weights)
    text = ms.ad.source(gradient, x, 3.0)
    assert len(text.inputs) == 5 and text.inputs[0] == "a"
    value, (dx, dws) = text.function()(x, *weights)
    expected, (dx_, dws_) = gradient(x, 3.0)
    for a, b in zip((value, dx, *dws), (expected, dx_, *dws_)):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)


def test_a_function_that_trains_gives_its_new_weights_too():
    w = ms.Parameter(Tensor(X), name="w")

    @ms.jit
    def step(x):
        loss, dw = ms.value_and_grad(lambda a: (ops.sin(w) * a).sum(), None, w)(x)
        ops.assign_sub(w, dw * 0.1)
        return loss
    text = ms.ad.source(step, Tensor(X))
    loss, (new,) = text.function()(Tensor(X), Tensor(X))
    np.testing.assert_allclose(new.asnumpy(), X - 0.1 * np.cos(X) * X)
    np.testing.assert_allclose(loss.asnumpy(), (np.sin(X) * X).sum())
    np.testing.assert_allclose(w.asnumpy(), X)                                    # nothing has run


def test_open_sizes_are_read_from_the_tensors():
    gradient = ms.jit(ms.grad(lambda x: (x * x.shape[0]).sum() + loop(x)), fullgraph=True)
    for n in (2, 3):
        gradient(Tensor(np.ones((n, 3))))
    text = ms.ad.source(gradient)
    assert ".shape[0]" in text
    x = Tensor(np.random.default_rng(0).normal(size=(5, 3)))
    same(text.function()(x), gradient(x))


def test_what_has_no_source_says_why():
    gradient = ms.grad(straight)
    with pytest.raises(ArgumentError, match="has not been called"):
        ms.ad.source(gradient)
    with pytest.raises(ArgumentError, match="is not compiled"):
        ms.ad.source(straight)


def test_sizes_that_come_from_a_tape_have_names():
    def f(x, y):
        if x.sum() > 0:
            z = eval("x * y")
        else:
            z = y
        return (ops.tanh(z) * x).sum()
    gradient, args = ms.jit(ms.grad(f, (0, 1))), [Tensor(np.array(v, np.float32)) for v in ([0.1, 0.2], [2.0, -1.0])]
    for _ in range(2):
        expected = gradient(*args)
    made = ms.ad.source(gradient, *args)
    for a, b in zip(made.function()(*args), expected, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)
