"""Gradients of functions that call themselves: what a function hands on as it is stays where it is."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.ad.control import handed_on
from mindlite.mindir.control import call, tape_push


def powers(x, w, n):
    if n <= 0:
        return x
    return powers(ops.tanh(x @ w), w, n - 1)


def twice(x, w, n):
    if n <= 0:
        return x * 2.0
    return twice(x @ w, w, n - 1) + ops.sin(twice(x, w, n - 2))


def swapped(x, w, n):
    """Its operands change places: neither is handed on as it is."""
    if n <= 0:
        return (x * w).sum(0)
    return swapped(w, ops.tanh(x), n - 1)


def in_a_loop(x, w, n):
    for _ in range(2):
        x = ops.tanh(x @ w)
        if n > 0:
            x = x + in_a_loop(x, w, n - 1)
    return x


def scaled(x, w, n):
    """The weight is another one in each call."""
    if n <= 0:
        return x @ w
    return scaled(ops.tanh(x @ w), w * 0.5, n - 1)


def even(x, w, n):
    return x if n <= 0 else odd(ops.tanh(x @ w), w, n - 1)


def odd(x, w, n):
    return x * 0.5 if n <= 0 else even(ops.sin(x @ w), w, n - 1)


def left(x, w, n):
    return x if n <= 0 else left(ops.tanh(x @ w), w, n - 1) + right(x, w, n - 1)


def right(x, w, n):
    return x * 0.5 if n <= 0 else right(ops.sin(x @ w), w, n - 1) * left(x, w, n - 2)


FUNCTIONS = {f.__name__: f for f in (powers, twice, swapped, in_a_loop, scaled, even, left)}
HANDED_ON = {"powers", "twice", "in_a_loop", "even"}             # these hand their weight on; `left` does so by another function
X, W = (Tensor(np.random.default_rng(n).standard_normal((3, 3)).astype(np.float32) * 0.5) for n in (0, 1))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_their_gradients_are_those_of_eager_mode(name):
    function = FUNCTIONS[name]

    def loss(x, w, n):
        return (function(x, w, n) ** 2).sum()

    def of_gradients(x, w, n):
        dx, dw = ms.grad(loss, (0, 1))(x, w, n)
        return (dx * dx).sum() + ops.sin(dw).sum()
    for derive in (ms.grad(loss, (0, 1)), ms.grad(of_gradients, (0, 1))):
        jitted = ms.jit(derive, fullgraph=True)
        for n in (0, 1, 3):
            depth = Tensor(np.int32(n))
            for have, want in zip(jitted(X, W, depth), derive(X, W, depth)):
                np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=2e-4, atol=1e-5)
        assert len(jitted.compiled.variants) == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_weight_that_is_handed_on_as_it_is_goes_onto_no_tape(name):
    function = FUNCTIONS[name]
    w = Tensor(np.random.default_rng(2).standard_normal((3, 3)).astype(np.float32))
    jitted = ms.jit(ms.grad(lambda x, w, n: (function(x[:2] if name != "swapped" else x, w, n) ** 2).sum(), (0, 1)),
                    fullgraph=True)
    jitted(X, w, Tensor(np.int32(2)))
    stages = jitted.compiled.variants[0].compiled.walked
    pushed = [a.abstract.shape for g in stages["transform"].reachable() for node in g.nodes if node.fn is tape_push
              for a in node.args[1:] if hasattr(a.abstract, "shape")]
    assert pushed and ((3, 3) not in pushed) is (name in HANDED_ON), name
    called = {node.attrs["graph"] for g in stages["infer"].reachable() for node in g.nodes if node.fn is call}
    assert called and (any(map(handed_on, called))) is (name in HANDED_ON)
