"""Products, convolutions and scans of half precision are kernels: they run in float32 between casts, and round once."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.debug.target import compiled_of
from mindlite.graph_kernel.widen import WIDENED, widen_halves
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed

X, W, M = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((2, 3, 9, 8), (5, 3, 3, 3), (7, 6)))
CASES = {"convolution": (lambda x, w: ops.conv2d(x, w, None, 2, "pad", 1), X, W), "product": (lambda a: ops.matmul(a, a.T), M),
         "sums": (lambda a: ops.cumsum(a, 1), M), "products": (lambda a: ops.cumprod(a, 0), M)}


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_operators_of_half_precision_and_their_gradients_are_kernels(name, dtype):
    function, *arrays = CASES[name]
    inputs = [Tensor(array).astype(dtype) for array in arrays]
    for of in (function, ms.grad(lambda *args: function(*args).sum(), tuple(range(len(inputs))))):
        jitted = ms.jit(of, fullgraph=True)
        results, eager = jitted(*inputs), of(*inputs)
        for out, want in zip(*[r if isinstance(r, tuple) else (r,) for r in (results, eager)]):
            assert out.dtype == want.dtype == dtype
            np.testing.assert_allclose(*[t.astype(ms.float32).asnumpy() for t in (out, want)], rtol=2e-2, atol=2e-2)
        kernels = compiled_of(jitted).latest().compiled.full.lowered.kernels
        assert kernels and not [made for _, made in kernels if isinstance(made, str)]


def test_the_sum_is_rounded_once():
    a = Tensor(np.full((1, 4096), 1.0, np.float32)).astype(ms.bfloat16)
    jitted = ms.jit(lambda a: ops.matmul(a, a.T), fullgraph=True)
    assert float(jitted(a).astype(ms.float32)) == 4096.0        # added up in bfloat16, it would stay at 256


def test_other_dtypes_are_left_alone():
    graph = typed(lambda x, w: ops.conv2d(x, w, None, 2, "pad", 1), *(AbstractTensor(ms.float32, a.shape) for a in (X, W)))
    assert any(node.fn in WIDENED for node in graph.nodes) and widen_halves(graph) is graph
