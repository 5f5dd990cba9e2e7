"""Random clusters as CUDA kernels: with any number and order of threads, blocks and sizes they give what the eval rules say.

    x f32[n, m], row f32[m], column f32[n, 1]: elementwise operators, folds along an axis, and what those give to all again
"""
import clusters as c
import numpy as np
import pytest
from clusters import Writer, for_gpu, tensor
from gpus import assembled, ptxas, runs_here
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from test_kernels import ARCHITECTURES

from mindlite.backend.cuda import nvptx
from mindlite.backend.cuda.code import kernel_text, ptx
from mindlite.mindir.loops import CannotFuse

UNARY = {"neg": c.neg, "relu": c.relu, "tanh": c.tanh, "square": c.square}
BINARY = {"add": c.add, "sub": c.sub, "mul": c.mul, "maximum": c.maxi, "minimum": c.mini}
FOLDS = {"sum": c.reduce_sum, "max": c.reduce_max, "min": c.reduce_min}

number = st.integers(0, 9)                       # of a value, counted round
step = st.one_of(st.tuples(st.sampled_from(sorted(UNARY)), number), st.tuples(st.sampled_from(sorted(BINARY)), number, number),
                 st.tuples(st.sampled_from(sorted(FOLDS)), number, st.sampled_from([0, 1])))
machine = st.tuples(st.sampled_from([32, 64, 128, 256]), st.integers(1, 5), st.booleans())
size = st.one_of(st.integers(1, 9), st.sampled_from([31, 32, 33, 64, 70, 300]))


def cluster(steps, n, m, dtype):
    """The graph of a list of steps; its results are the last value and the last fold."""
    w = Writer("random", x=tensor(dtype, n, m), row=tensor(dtype, m), column=tensor(dtype, n, 1))
    values, folded = [w.x, w.row, w.column], None
    for name, *rest in steps:
        args = [values[i % len(values)] for i in rest[:1 + (name in BINARY)]]
        if name in FOLDS:
            axis = rest[1] if len(args[0].abstract.shape) == 2 else 0
            values.append(w(FOLDS[name], args[0], axis=(axis,), keepdims=True))
            folded = values[-1]
        else:
            values.append(w({**UNARY, **BINARY}[name], *args))
    out = w(c.add, values[-1], w(c.mul, w.x, w(c.add, w.row, w.column)))         # every operand is read
    return w.graph(out) if folded is None else w.graph(out, folded)


@runs_here
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=1, max_size=6), n=size, m=size, machine=machine,
       dtype=st.sampled_from(["float32", "float64", "int32"]))
def test_a_random_cluster_gives_the_numbers_of_its_eval_rules(steps, n, m, machine, dtype):
    check(steps, n, m, machine, dtype)


@pytest.mark.slow
@runs_here
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=1, max_size=9), n=size, m=size, machine=machine,
       dtype=st.sampled_from(["float32", "float64", "int32"]))
def test_many_random_clusters_give_the_numbers_of_their_eval_rules(steps, n, m, machine, dtype):
    check(steps, n, m, machine, dtype)


@pytest.mark.slow
@pytest.mark.skipif(ptxas() is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc-cu12")
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=1, max_size=9), n=size, m=size, dtype=st.sampled_from(["float32", "float64", "int32"]))
def test_random_clusters_become_ptx_that_spills_nothing(tmp_path_factory, steps, n, m, dtype):
    assume(dtype != "int32" or all(name != "tanh" for name, *_ in steps))
    try:
        text = kernel_text([nvptx.emit(for_gpu(cluster(steps, n, m, dtype)))])
    except CannotFuse:
        assume(False)
    for architecture in ARCHITECTURES:
        assert assembled(ptx(text, architecture), architecture, tmp_path_factory.mktemp("ptx"))[1:] == (0, 0)


def check(steps, n, m, machine, dtype):
    threads, blocks, backwards = machine
    assume(dtype != "int32" or all(name != "tanh" for name, *_ in steps))
    graph = cluster(steps, n, m, dtype)
    try:
        nest = for_gpu(graph)
    except CannotFuse:                                       # two folds that no loop nest holds: clusters are cut there
        assume(False)
    rng = np.random.default_rng(n * 1000 + m)
    inputs = [rng.integers(-3, 4, p.abstract.shape).astype(p.abstract.dtype.numpy) / (1 if dtype == "int32" else 4)
              for p in graph.parameters]
    inputs = [array.astype(p.abstract.dtype.numpy) for array, p in zip(inputs, graph.parameters)]
    want = c.evaluate_graph(graph, inputs)
    found = c.simulate(nest, inputs, None, threads, blocks, backwards)
    for got, expected in zip(found, want, strict=True):
        if dtype == "int32":
            np.testing.assert_array_equal(got, expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-5 * max(1.0, float(np.abs(expected).max())))
    for architecture in ARCHITECTURES:
        text = ptx(kernel_text([nvptx.emit(nest)]), architecture)
        assert f".target {architecture}" in text and ".local" not in text and ".extern" not in text
