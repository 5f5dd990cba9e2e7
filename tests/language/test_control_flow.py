"""Python's control flow means the same in PyNative mode, in graph mode and to the derivative."""
import numpy as np
import pytest
from programs import PROGRAMS

import mindlite as ms

CASES = [pytest.param(p.function, call, id=f"{p}-{n}") for p in PROGRAMS for n, call in enumerate(p.calls)]
SMOOTH = [pytest.param(p.function, call, id=f"{p}-{n}") for p in PROGRAMS if p.smooth for n, call in enumerate(p.calls)]


def arguments(call):
    """Tensors in place of floats and lists of them."""
    return [ms.Tensor(np.array(a, np.float64)) if isinstance(a, (float, list)) else a for a in call]


def plain(value):
    """A result without Tensors: what two runs are compared by."""
    if isinstance(value, ms.Tensor):
        return ("tensor", value.dtype.name, value.shape, value.tolist())
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *map(plain, value))
    if isinstance(value, dict):
        return ("dict", *[(k, plain(v)) for k, v in value.items()])
    return (type(value).__name__, value)


def close(a, b):
    """Equal, floats up to rounding."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-12 * max(abs(a), abs(b)))


@pytest.mark.parametrize("function, call", CASES)
def test_a_graph_gives_what_python_gives(function, call):
    jitted = ms.jit(function)
    want = plain(function(*arguments(call)))
    for _ in range(2):
        assert close(plain(jitted(*arguments(call))), want)


def differences(function, args, number, step=1e-6):
    """The derivative of the sum of function(*args) by the tensor args[number], by central differences."""
    base = args[number].asnumpy()
    made = np.zeros_like(base)
    for index in np.ndindex(base.shape):
        values = []
        for sign in (1, -1):
            moved = base.copy()
            moved[index] += sign * step
            inside = [*args[:number], ms.Tensor(moved), *args[number + 1:]]
            values.append(float(function(*inside).asnumpy().sum()))
        made[index] = (values[0] - values[1]) / (2 * step)
    return made


@pytest.mark.parametrize("function, call", SMOOTH)
def test_gradients_of_both_modes_are_the_differences(function, call):
    args = arguments(call)
    positions = tuple(n for n, a in enumerate(args) if isinstance(a, ms.Tensor))
    gradient = ms.grad(function, positions)
    for derivative in (gradient, ms.jit(gradient)):
        for number, got in zip(positions, derivative(*args)):
            want = differences(function, args, number)
            assert got.shape == want.shape
            assert np.allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6), (derivative is gradient, got, want)
