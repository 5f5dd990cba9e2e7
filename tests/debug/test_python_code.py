"""Graphs written as Python: the text runs, and gives what the graph gives."""
import numpy as np
import pytest

from mindlite import Tensor, debug, grad, jit, ops
from mindlite.common.errors import ArgumentError
from mindlite.debug.python_code import python_code
from mindlite.mindir.evaluate import run

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def straight(x):
    h = ops.tanh(x * 2.5 + 1)
    return (h * h).sum()


def branch(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = ops.exp(x) - 1
    return (y * x).sum()


def loop(x):
    n = 0
    while (x * x).sum() < 50:
        x = x * 1.5 + n
        n = n + 1
    return x.sum() * n


def nested(x):
    total = x.sum()
    for i in range(4):
        if total > i:
            total = total * 0.5
        else:
            total = total - x.mean()
    return total


def power(x, n):
    if n < 1:
        return x
    return x * power(x, n - 1)


def recursive(x):
    return power(x, (x.sum() > 0).astype("int32") + 2).sum()


def slices(x):
    y = ops.concat((x[:, 1:], x[:, :1]), axis=1)
    return ops.softmax(y, axis=-1).sum(axis=0)[1]


def table(x):
    return (x @ Tensor(np.arange(30, dtype=np.float32).reshape(3, 10) / 10)).max()


FUNCTIONS = [straight, branch, loop, nested, recursive, slices, table]


def check(compiled, stage, *arrays):
    """The text of a stage runs, and gives what the graph gives."""
    graph = compiled.graph(stage)
    text, namespace, name = python_code(graph)
    exec(text, namespace)
    inputs = [*arrays, *[p.default.array for p in graph.parameters if p.default is not None]]
    unfused = compiled.graph("optimise") if stage == "fuse" else graph
    got, want = namespace[name](*map(Tensor, inputs)), run(unfused, *inputs)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        np.testing.assert_allclose(np.asarray(getattr(a, "array", a)), b, rtol=1e-5, atol=1e-6)
    return text


@pytest.mark.parametrize("stage", ["infer", "optimise", "fuse"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_text_gives_what_the_graph_gives(function, stage):
    compiled = jit(function)
    compiled(Tensor(X))
    check(compiled, stage, X)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_so_does_the_text_of_a_gradient(function):
    def gradient(x):
        return grad(function)(x)
    compiled = jit(gradient)
    compiled(Tensor(X))
    check(compiled, "transform", X)
    check(compiled, "optimise", X)


def test_open_sizes_are_read_from_the_shapes():
    compiled = jit(lambda x: ops.reshape(x, (-1,)) / x.shape[0], dynamic=1)
    compiled(Tensor(X))
    text = check(compiled, "optimise", X)
    assert ".shape[0]" in text and ".shape[1]" in text
    check(compiled, "optimise", np.ones((5, 7), np.float32))


def test_two_sizes_of_one_name_are_two_variables():
    def f(x, y):
        first, second = x[x > 0], y[y > 0]
        return ops.concat([first, second, first]) * second.shape[0], first.shape[0] + 10 * second.shape[0]
    compiled = jit(f, fullgraph=True)
    compiled(Tensor(X), Tensor(X[:1]))
    check(compiled, "optimise", X, X[:1] + 1)


def test_a_gradient_reads_like_a_function():
    def gradient(x):
        return grad(straight)(x)
    compiled = jit(gradient)
    compiled(Tensor(X))
    text = debug.python(compiled)
    line = straight.__code__.co_firstlineno
    assert text.startswith("def gradient(x):\n")
    assert f"# test_python_code.py:{line + 1}\n" in text and f"# test_python_code.py:{line + 1} (grad)\n" in text
    assert " = tanh(" in text and "1.0 - " in text and "Tensor(" not in text


def test_what_has_no_text_in_python_is_refused():
    compiled = jit(lambda x: grad(straight)(x))
    compiled(Tensor(X))
    with pytest.raises(ArgumentError, match="J has no text in Python"):
        debug.python(compiled, "infer")
    with pytest.raises(ArgumentError, match="only typed graphs"):
        debug.python(compiled, "parse")
    with pytest.raises(ArgumentError, match="only typed graphs"):
        debug.python(compiled, "plan")


def test_python_between_native_code_is_called_by_the_text_as_well():
    def sorted_by_python(x):
        y = Tensor(np.sort(ops.exp(x).asnumpy(), axis=None))
        return y * 2
    compiled = jit(sorted_by_python)
    compiled(Tensor(X)), compiled(Tensor(X))
    text, namespace, name = python_code(compiled.graph())
    assert "CONSTANT_" in text
    exec(text, namespace)
    got, = namespace[name](Tensor(X))
    np.testing.assert_allclose(got.asnumpy(), np.sort(np.exp(X), axis=None) * 2, rtol=1e-6)


def test_a_check_raises_in_the_text_too():
    def positive(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2
    compiled = jit(positive)
    compiled(Tensor(-X + 1))
    text, namespace, name = python_code(compiled.graph())
    exec(text, namespace)
    with pytest.raises(ValueError, match="negative"):
        namespace[name](Tensor(-np.ones_like(X)))
