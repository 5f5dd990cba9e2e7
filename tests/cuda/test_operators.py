"""Every operator with a kernel rule as a CUDA kernel in the simulator, on the samples of tests/ops, beside its meaning."""
import numpy as np
import pytest
from clusters import for_gpu, on_gpu, simulate
from gpus import counted, runs_here, simulated_gpus
from operator_checks import graph_of, in_float32, lower_attrs, meaning, normal_form
from samples import SAMPLES

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.mindir.primitive import PRIMITIVES, kernel_rule

pytestmark = runs_here
OPERATORS = {name: prim for name, prim in PRIMITIVES.items() if prim in kernel_rule}
NAMES = sorted(name for name in OPERATORS.keys() & SAMPLES.keys()
               if OPERATORS[name].inputs and name not in ("scalar_to_tensor", "assign", "barrier", "print_values",
                                                          "summary_value"))
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 88.0, -104.0, 1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)


def check(prim, args, attrs, rtol, atol):
    """Run one case; False where a GPU has no code for it."""
    graph, arrays = graph_of(prim, args, attrs)
    nest = for_gpu(graph)
    if not on_gpu(nest):
        return False
    for got, want in zip(simulate(nest, arrays, backwards=True), meaning(prim, args, attrs)):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
    return True


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_an_operator_computes_on_a_gpu_what_it_means(name):
    prim = OPERATORS[name]
    for args, attrs in (normal_form(prim, *sample) for sample in SAMPLES[name][:2]):
        if not any(isinstance(a, np.ndarray) and a.dtype.kind == "c" for a in args):
            check(prim, in_float32(args), lower_attrs(attrs), 1e-5, 1e-5)


def test_a_gpu_has_code_for_every_operator_of_float32():
    refused = set()
    for name in NAMES:
        args, attrs = normal_form(OPERATORS[name], *SAMPLES[name][0])
        graph, _ = graph_of(OPERATORS[name], in_float32(args), lower_attrs(attrs))
        refused |= set() if on_gpu(for_gpu(graph)) else {name}
    assert not refused


def test_what_has_no_code_runs_on_the_cpu_between_kernels():
    x = Tensor(np.linspace(-2, 2, 60, dtype=np.float32).reshape(5, 12))

    def function(x):
        return (ops.atan(ops.tanh(x).astype(ms.float64) * 2.0) + x).sum(0)
    want = ms.jit(function, fullgraph=True)(x).asnumpy()
    with simulated_gpus() as library:
        jitted = ms.jit(function, fullgraph=True)
        jitted(x)
        out, counts = counted(library, lambda: jitted(x))
        assert out.device == "GPU:0" and counts["MemcpyDtoH"] == counts["StreamSynchronize"] == 1 and counts["LaunchKernel"] >= 2
        np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-6, atol=1e-6)


ALONE = [name for name in NAMES if "elementwise" in OPERATORS[name].traits and len(OPERATORS[name].inputs) == 1
         and name not in ("cast", "logical_not", "bitwise_not", "bounded_indices", "probabilities", "sin", "cos", "tan",
                         "bessel_j", "bessel_y")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ALONE)
def test_an_operator_treats_special_numbers_on_a_gpu_as_on_the_cpu(name):
    prim = OPERATORS[name]
    check(prim, (SPECIAL,), normal_form(prim, *SAMPLES[name][0])[1], 1e-5, 1e-37)
