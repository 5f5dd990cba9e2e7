"""What a step of training in bfloat16 stores on a GPU: no copies in float32, and GELU only its operand."""
import re

import numpy as np
from gpus import runs_here, simulated_gpus
from test_networks import kernels_of

import mindlite as ms
from mindlite import ops

pytestmark = runs_here
ROWS, WIDTH = 64, 32


def trained(**settings):
    """(the loss and gradients of a layer with GELU, the results of its kernels as text)"""
    rng = np.random.default_rng(0)

    def loss(x, w, b, v):
        h = ops.gelu(ops.matmul(x, w) + b, approximate="tanh")
        return ops.matmul(h, v).astype(ms.float32).sum()
    with simulated_gpus(**settings):
        arrays = [ms.Tensor(rng.standard_normal(shape).astype(np.float32)).astype(ms.bfloat16).to("GPU")
                  for shape in ((ROWS, 16), (16, WIDTH), (WIDTH,), (WIDTH, 8))]
        step = ms.jit(ms.value_and_grad(loss, (1, 2, 3)), fullgraph=True)
        value, gradients = step(*arrays)
        numbers = [each.astype(ms.float32).asnumpy() for each in (value, *gradients)]
        results = [re.search('"""(.*)"""', str(call.kernel.source))[1].split("->")[1] for call in kernels_of(step)
                   if '"""' in str(call.kernel.source)]
    return numbers, results


def test_no_array_of_float32_is_stored_and_the_numbers_are_the_same():
    numbers, results = trained()
    expected, before = trained(recomputed=(0, 0))
    wide = f"f32[{ROWS}, {WIDTH}]"
    assert any(wide in text for text in before) and not any(wide in text for text in results)
    for out, want in zip(numbers, expected):
        np.testing.assert_array_equal(out, want)
