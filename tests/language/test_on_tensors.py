"""Python on Tensors means the same run by Python and compiled: values, effects on what stands outside, gradients."""
import numpy as np
import pytest
from constructs_on_tensors import CONSTRUCTS, NATIVE, PYTHON, outside, start

import mindlite as ms
from mindlite.compile.jit import JitFunction
from mindlite.mindir.control import segment

TABLE = [pytest.param(c, id=c.function.__name__) for c in CONSTRUCTS]


def plain(value):
    """A value without Tensors."""
    if isinstance(value, ms.Tensor):
        return "tensor", value.dtype.name, value.shape, np.round(value.asnumpy().astype(np.float64), 9).tolist()
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *map(plain, value))
    return type(value).__name__, value


def tensor():
    """The argument of all constructs."""
    return ms.Tensor(np.array([0.5, 1.5, 2.5]))


def calls(call, function, times):
    """What `times` calls give, one after the other, and what they leave outside."""
    start()
    log, found = [], []
    for _ in range(times):
        args = (tensor(),
                log) if "log" in function.__code__.co_varnames[:function.__code__.co_argcount] else (tensor(),)
        found.append((plain(call(*args)), plain(tuple(log)), plain(outside())))
    return found


def how_it_ran(compiled):
    """native, segments or python."""
    if compiled.in_python:
        return PYTHON
    nodes = [node for graph in compiled.graph("infer").reachable() for node in graph.nodes]
    return "segments" if compiled.runs_in_python or any(
        node.fn is segment and "changes an object" not in node.attrs["reason"] for node in nodes) else NATIVE


@pytest.mark.parametrize("construct", TABLE)
def test_a_graph_gives_what_python_gives(construct):
    compiled = JitFunction(construct.function, fullgraph=construct.how == NATIVE)
    assert calls(compiled, construct.function, 3) == calls(construct.function, construct.function, 3)
    assert how_it_ran(compiled) == construct.how, compiled.explain()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("construct", [p for p in TABLE if p.values[0].smooth and "log" not in
                                       p.values[0].function.__code__.co_varnames[:2]])
def test_gradients_of_graphs_are_those_of_pynative(construct):
    derivatives = []
    for make in (lambda f: ms.grad(f), lambda f: ms.jit(ms.grad(f))):
        def first(x, function=construct.function):
            made = function(x)
            return made[0] if isinstance(made, tuple) else made
        start()
        derivatives.append(plain(make(first)(tensor())))
    assert derivatives[0] == derivatives[1]
