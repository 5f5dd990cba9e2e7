"""Eager operators on float16 and bfloat16, which NumPy converts element by element, have kernels from few elements on."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.config import config
from mindlite.common.events import counters

CALLS = {"x * y": lambda x, y: x * y, "x + 1": lambda x, y: x + 1, "exp": lambda x, y: ops.exp(x), "x > y": lambda x, y: x > y,
         "where": lambda x, y: ops.where(x > 0, x, y), "sum": lambda x, y: x.sum(-1), "mean": lambda x, y: x.mean(0),
         "amax": lambda x, y: ops.amax(x, 0), "softmax": lambda x, y: ops.softmax(x, -1),
         "cast": lambda x, y: x.astype(ms.float32),
         "broadcast": lambda x, y: x * y[0], "sqrt": lambda x, y: ops.sqrt(abs(x))}


@pytest.fixture
def at_once():
    """What is compiled is compiled at once."""
    before = config.set(compile_beside=False)
    yield
    config.set(**before)


def operands(rows, columns, dtype):
    rng = np.random.default_rng(rows)
    return [Tensor(rng.uniform(-2, 2, (rows, columns)).astype(np.float32)).astype(dtype) for _ in range(2)]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16])
def test_results_are_those_of_few_elements_side_by_side(dtype, name, at_once):
    x, y = operands(41, 101, dtype)
    whole = CALLS[name](x, y).astype(ms.float32).asnumpy()
    wide = CALLS[name](x.astype(ms.float32), y.astype(ms.float32)).astype(ms.float32).asnumpy()
    np.testing.assert_allclose(whole, wide, rtol=2e-2, atol=2e-2)
    if name not in ("sum", "mean", "amax"):
        rows = [CALLS[name](x[k:k + 1], y[:1] if name == "broadcast" else y[k:k + 1]) for k in range(3)]
        np.testing.assert_array_equal(whole[:3], np.concatenate([row.astype(ms.float32).asnumpy() for row in rows]))


def test_a_kernel_computes_many_halves_and_numpy_few(at_once):
    def compiled(x, y):
        before = counters["flow_compile"] + counters["flow_restore"] + counters["flow_load"]
        for _ in range(3):
            x - y, x.prod(-1), x + y[:1]
        return counters["flow_compile"] + counters["flow_restore"] + counters["flow_load"] - before
    assert compiled(*operands(3, 5, ms.bfloat16)) == 0
    assert compiled(*operands(37, 83, ms.bfloat16)) >= 2
    assert compiled(*operands(37, 83, ms.float32)) == 0
