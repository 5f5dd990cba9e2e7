"""Kernels as Python text for numba.cuda: their numbers in Numba's simulator, their text for a reader, their PTX by numba-cuda.

`numba_source` writes them; golden/NAME.py are some for a reader. Where numba-cuda is installed (pip install numba-cuda[cu12])
it compiles them, too.
"""
import importlib.util

import clusters as c
import numpy as np
import pytest
import test_operators
import test_random_kernels as random_kernels
from clusters import for_gpu, on_gpu
from gpus import assembled, ptxas, simulated_gpus, runs_here
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from numba_simulator import compiled_text, process, simulate_text
from operator_checks import graph_of, in_float32, lower_attrs, meaning, normal_form
from samples import SAMPLES
from test_kernels import CASES, inputs_of, scheduled

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.cuda.numba_source import MEANT, cuda_source
from mindlite.compile import flow as F
from mindlite.graph_kernel import lowering
from mindlite.mindir.loops import CannotFuse

compiler = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
EXACT = ("broadcast", "bfloat16", "transpose of planes", "argmax", "concat", "windows")     # no sums, no functions


@pytest.mark.parametrize("threads, blocks", [(32, 3), (64, 1)])
@pytest.mark.parametrize("name", CASES)
def test_a_text_gives_the_cpus_numbers_in_numbas_simulator(name, threads, blocks):
    graph = CASES[name][1](1)
    nest, inputs = scheduled(graph), inputs_of(graph)
    for out, want in zip(simulate_text(nest, inputs, None, threads, blocks), c.execute(lowering(graph), inputs), strict=True):
        if name in EXACT:
            np.testing.assert_array_equal(out, want)
        else:
            np.testing.assert_allclose(out, want, rtol=2e-6, atol=2e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", test_operators.NAMES)
def test_an_operator_computes_in_numbas_simulator_what_it_means(name):
    prim = test_operators.OPERATORS[name]
    args, attrs = normal_form(prim, *SAMPLES[name][0])
    args, attrs = in_float32(args), lower_attrs(attrs)
    graph, arrays = graph_of(prim, args, attrs)
    nest = for_gpu(graph)
    if any(isinstance(a, np.ndarray) and a.dtype.kind == "c" for a in args) or not on_gpu(nest):
        return
    for got, want in zip(simulate_text(nest, arrays), meaning(prim, args, attrs), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


step = random_kernels.step
clusters = dict(n=random_kernels.size, m=random_kernels.size, threads=st.just(32), blocks=st.integers(1, 2),
                dtype=st.sampled_from(["float32", "float64", "int32", "int8"]))


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=1, max_size=3), **clusters)
def test_a_random_cluster_gives_the_numbers_of_its_eval_rules(steps, n, m, threads, blocks, dtype):
    check(steps, n, m, threads, blocks, dtype)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=1, max_size=6), **clusters)
def test_many_random_clusters_give_the_numbers_of_their_eval_rules(steps, n, m, threads, blocks, dtype):
    check(steps, n, m, threads, blocks, dtype)


def check(steps, n, m, threads, blocks, dtype):
    assume(dtype.startswith("float") or all(name != "tanh" for name, *_ in steps))
    graph = random_kernels.cluster(steps, min(n, 40), min(m, 70), dtype)
    try:
        nest = for_gpu(graph)
    except CannotFuse:
        assume(False)
    rng = np.random.default_rng(n * 1000 + m)
    inputs = [(rng.integers(-3, 4, p.abstract.shape) / (4 if dtype.startswith("float") else 1)).astype(p.abstract.dtype.numpy)
              for p in graph.parameters]
    found = simulate_text(nest, inputs, None, threads, blocks)
    for got, want in zip(found, c.simulate(nest, inputs, None, threads, blocks), strict=True):
        if dtype.startswith("int"):
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5 * max(1.0, float(np.abs(want).max())))


def test_integers_wrap_and_divide_as_numpys():
    """Numba's own integers are 64 bits wide, and its quotients fail where the divisor is 0."""
    w = c.Writer("integers", x=c.tensor("int8", 256), y=c.tensor("int8", 256))
    graph = w.graph(w(c.mul, w.x, w.y), w(c.floordiv, w.x, w.y), w(c.mod, w.x, w.y), w(c.square, w.x))
    x = np.arange(-128, 128, dtype=np.int8)
    y = np.roll(x, 77)
    for got, want in zip(simulate_text(scheduled(graph), [x, y]), c.evaluate_graph(graph, [x, y]), strict=True):
        np.testing.assert_array_equal(got, want)
    text = cuda_source(scheduled(graph))
    assert "= int8(" in text and "floor_divide(" in text


def meaningless():
    """The names that a text may import and that mean nothing in the process that asks."""
    from mindlite.backend.cuda.numba_functions import NAMES
    return sorted(MEANT - {*NAMES})


def test_every_name_of_a_text_has_a_meaning():
    assert process().submit(meaningless).result() == []


@runs_here
def test_a_kernel_of_a_gpu_is_shown_as_what_its_threads_do():
    with simulated_gpus():
        jitted = ms.jit(lambda x: ops.softmax(x, axis=-1), fullgraph=True)
        jitted(Tensor(np.ones((5, 78), np.float32)))
        program = jitted.variants[-1].compiled.lowered.program
        kernel, = [i.kernel for flow in program.all_flows() for i in F.walk(flow.body) if isinstance(i, F.CallKernel)]
        assert "@cuda.jit" in kernel.source and "cuda.syncthreads()" in kernel.source and "begin" not in kernel.source


# ---------------------------------------------------------------- numba-cuda, to which a text has no bfloat16

@pytest.mark.sampled(3)
@compiler
@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (10, 0)], ids=str)
@pytest.mark.parametrize("name", [name for name in CASES if name != "bfloat16"])
def test_numba_cuda_compiles_a_text(name, capability, tmp_path):
    text = compiled_text(scheduled(CASES[name][1](1)), capability)
    number = "".join(map(str, capability))
    assert f".target sm_{number}" in text and ".extern" not in text and ".local" not in text
    if ptxas() is not None:
        assert assembled(text, f"sm_{number}", tmp_path)[1:] == (0, 0)
