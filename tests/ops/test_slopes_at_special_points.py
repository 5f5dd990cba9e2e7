"""The table of docs/design/autodiff.md: derivatives where there is none, in eager mode and as a graph."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor

INF, NAN = np.inf, np.nan
WEIGHTS = Tensor(np.array([1.0, 2.0, 3.0]))

TABLE = {                                                       # function, points, gradients
    "abs": (ops.abs, [[0.0]], [[0.0]]),
    "sign": (ops.sign, [[0.0]], [[0.0]]),
    "relu": (ops.relu, [[0.0]], [[0.0]]),
    "relu6": (ops.relu6, [[0.0, 6.0]], [[0.0, 0.0]]),
    "leaky_relu": (lambda x: ops.leaky_relu(x, 0.1), [[0.0]], [[0.1]]),
    "hardsigmoid": (ops.hardsigmoid, [[-3.0, 3.0]], [[0.0, 0.0]]),
    "hardtanh": (ops.hardtanh, [[-1.0, 1.0]], [[1.0, 1.0]]),
    "sqrt": (ops.sqrt, [[0.0]], [[INF]]),
    "sqrt behind a zero": (lambda x: ops.sqrt(x) * 0, [[0.0]], [[NAN]]),
    "square": (lambda x: x ** 2, [[0.0]], [[0.0]]),
    "pow 0": (lambda x: x ** 0, [[0.0]], [[0.0]]),
    "pow": (ops.pow, [[0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 0.0]], [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, np.log(2)]]),
    "maximum": (ops.maximum, [[1.0], [1.0]], [[0.5], [0.5]]),
    "amax": (lambda x: ops.amax(x, 0), [[1.0, 1.0, 0.0]], [[0.5, 0.5, 0.0]]),
    "max": (lambda x: ops.max(x, 0)[0], [[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]),
    "cummax": (lambda x: ops.cummax(x, 0)[0], [[1.0, 1.0, 0.0]], [[1.0, 2.0, 0.0]]),
    "sort": (lambda x: ops.sort(x, 0)[0] * WEIGHTS, [[1.0, 1.0, 0.0]], [[2.0, 3.0, 1.0]]),
    "where": (lambda x: ops.where(x > 0, x, x * 2), [[1.0, -1.0]], [[1.0, 2.0]]),
    "where with a nan inside": (lambda x: ops.where(x > 0, ops.sqrt(x), 0 * x), [[1.0, -1.0]], [[0.5, NAN]]),
    "prod": (ops.prod, [[0.0, 2.0, 3.0]], [[6.0, 0.0, 0.0]]),
    "prod of two zeros": (ops.prod, [[0.0, 0.0, 3.0]], [[0.0, 0.0, 0.0]]),
    "cumprod": (lambda x: ops.cumprod(x, 0), [[2.0, 0.0, 3.0]], [[1.0, 8.0, 0.0]]),
    "norm": (ops.norm, [[0.0, 0.0]], [[0.0, 0.0]]),
    "clamp": (lambda x: ops.clamp(x, 0, 1), [[0.0, 1.0, 2.0]], [[1.0, 1.0, 0.0]]),
    "floor": (ops.floor, [[1.5, 2.0]], [[0.0, 0.0]]),
    "log": (ops.log, [[0.0]], [[INF]]),
    "xlogy": (ops.xlogy, [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]),
    "atan2": (ops.atan2, [[0.0], [0.0]], [[0.0], [0.0]]),
    "asin": (ops.asin, [[1.0]], [[INF]]),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("way", ["eager", "jit"])
def test_the_slope_at_a_special_point_is_that_of_the_table(name, way):
    function, points, expected = TABLE[name]
    gradient = ms.grad(lambda *xs: function(*xs).sum(), tuple(range(len(points))))
    found = (ms.jit(gradient) if way == "jit" else gradient)(*[Tensor(np.array(p)) for p in points])
    for a, b in zip(found if isinstance(found, tuple) else (found,), expected):
        np.testing.assert_allclose(a.asnumpy(), b)


@pytest.mark.parametrize("point", [[1.0, 2, 3, 4], [0.0, 2, 3, 4], [0.0, 0, 3, 4], [2.0, 0, 3, 0], [1.0, 0, 0, 0]])
@pytest.mark.parametrize("second", [ms.jacfwd, ms.jacrev])
@pytest.mark.parametrize("function", [ops.prod, lambda x: (ops.cumprod(x, 0) * Tensor(np.arange(1.0, 5))).sum()],
                         ids=["prod", "cumprod"])
def test_second_derivatives_of_products_are_right_at_zeros(function, second, point):
    n = 4
    expected = np.zeros((n, n))                                 # a sum of products of distinct elements
    sums = [(range(n), 1.0)] if function is ops.prod else [(range(k + 1), k + 1.0) for k in range(n)]
    for factors, weight in sums:
        for i in factors:
            for j in factors:
                if i != j:
                    expected[i, j] += weight * np.prod([point[k] for k in factors if k not in (i, j)] + [1.0])
    np.testing.assert_allclose(second(ms.grad(function))(Tensor(np.array(point))).asnumpy(), expected, atol=1e-12)
