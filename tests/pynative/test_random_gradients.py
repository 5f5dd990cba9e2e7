"""Random programs: eager gradients, those of a jitted call on the tape, and those of a whole graph are the same."""
import random

import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor

UNARY = [ops.tanh, ops.exp, ops.sin, ops.sigmoid, lambda a: a * a, lambda a: -a, lambda a: ops.softmax(a, -1),
         lambda a: a.sum(-1, keepdims=True) + a * 0, lambda a: a.T.reshape(a.shape), lambda a: a[::-1],
         lambda a: ops.relu(a - 0.5), lambda a: a.max(axis=0) + a]
BINARY = [ops.add, ops.mul, ops.sub, ops.maximum, lambda a, b: a / (2 + b * b), lambda a, b: ops.where(a > b, a, b * 2),
          lambda a, b: ops.matmul(a, b.T) @ a / 5]


def program(seed):
    """A function of two matrices, made of 3 to 8 operators that read earlier values."""
    chance, plan = random.Random(seed), []
    for i in range(2, 2 + chance.randint(3, 8)):
        table = chance.choice((UNARY, BINARY))
        plan.append((chance.choice(table), [chance.randrange(i) for _ in range(1 if table is UNARY else 2)]))

    def f(a, b):
        values = [a, b]
        for operator, places in plan:
            values.append(operator(*[values[place] for place in places]))
        return (values[-1] * values[-2]).mean()
    return f


def inputs(seed):
    rng = np.random.default_rng(seed)
    return Tensor(rng.uniform(-1, 1, (3, 4))), Tensor(rng.uniform(-1, 1, (3, 4)))


def assert_close(have, want):
    for x, y in zip(have, want):
        np.testing.assert_allclose(x.asnumpy(), y.asnumpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", range(100, 106))
def test_three_ways_to_a_gradient_agree(seed):
    f, (a, b) = program(seed), inputs(seed)
    graph, jitted = ms.jit(ms.grad(f, (0, 1)))(a, b), ms.jit(f)
    for _ in range(3):
        assert_close(ms.grad(f, (0, 1))(a, b), graph)
    assert_close(ms.grad(jitted, (0, 1))(a, b), graph)


@pytest.mark.parametrize("seed", range(200, 203))
def test_three_ways_to_a_second_gradient_agree(seed):
    f, (a, b) = program(seed), inputs(seed)

    def second(g):
        return ms.grad(lambda x: (ms.grad(g)(x, b) ** 2).sum())
    graph = ms.jit(second(f))(a)
    for _ in range(2):
        assert_close([second(f)(a)], [graph])
    assert_close([second(ms.jit(f))(a)], [graph])
