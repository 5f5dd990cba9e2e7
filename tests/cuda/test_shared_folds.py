"""Sums over batch and picture: threads share the lines, too, and find their next element without a division."""
import numpy as np
import pytest
from gpus import runs_here, simulated_gpus

import mindlite as ms
from mindlite.backend.cuda import nvptx
from mindlite.backend.cuda.threads import joined, plan
from mindlite.common.dtype import float32
from mindlite.mindir.loops import Fold

pytestmark = runs_here


def statistics(x, y):
    """Of each channel."""
    return (x * y).sum((0, 2, 3)), ms.ops.amax(x, (0, 2, 3)), (x > y).any(0).any(1).any(1)


@pytest.mark.parametrize("shape", [(5, 7, 3, 3), (3, 4, 1, 1), (2, 3, 20, 25), (70, 2, 7, 7), (4, 3, 1, 5), (1, 1, 1, 1)])
def test_each_element_is_read_once_whatever_the_lines_are(shape):
    rng = np.random.default_rng(0)
    arrays = [ms.Tensor(rng.integers(-8, 9, shape).astype(np.float32)) for _ in range(2)]
    expected = ms.jit(statistics, fullgraph=True)(*arrays)
    with simulated_gpus():
        made = ms.jit(statistics, fullgraph=True)(*(x.to("GPU") for x in arrays))
        made = [each.asnumpy() for each in made]
    for out, want in zip(made, expected):
        np.testing.assert_array_equal(out, want.asnumpy())


def test_no_line_is_an_empty_sum():
    with simulated_gpus():
        out = ms.jit(lambda x: x.sum((0, 2, 3)), fullgraph=True)(ms.ops.zeros((3, 4, 0, 2), float32).to("GPU"))
        np.testing.assert_array_equal(out.asnumpy(), np.zeros(4, np.float32))


def test_threads_share_lines_and_elements_as_one_axis(monkeypatch):
    """The group of a row follows from both extents."""
    plans = []
    monkeypatch.setattr(nvptx, "plan", lambda nest: plans.append(plan(nest)) or plans[-1])
    with simulated_gpus():
        x = ms.Tensor(np.ones((20, 3, 7, 7), np.float32)).to("GPU")
        out = ms.jit(lambda x: x.sum((0, 2, 3)), fullgraph=True)(x)
        np.testing.assert_array_equal(out.asnumpy(), np.full(3, 980, np.float32))
    folds = [s for each in plans for s in each.body if isinstance(s, Fold)]
    assert any(joined(fold) == 0 for fold in folds)
