"""What the compiler remembers of clusters may be forgotten at any moment: other threads compile, too."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.config import config
from mindlite.graph_kernel import cluster, lower


class Forgetful(dict):
    """What is put into it is forgotten at once, as by a thread that has made room."""

    def __setitem__(self, key, value):
        """Keeps nothing."""


@pytest.mark.parametrize("module, name", [(lower, "_written"), (cluster, "_verdicts"), (cluster, "_of_elements")])
def test_a_thread_that_makes_room_takes_nothing_from_another(module, name, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, Forgetful())
    x, before = np.arange(15, dtype=np.float32).reshape(3, 5) / 7, config.set(cache_dir=str(tmp_path))
    try:
        found = ms.jit(ms.grad(lambda x: (ops.tanh(x * 3 + 1) / (x + 2)).sum()), fullgraph=True)(Tensor(x)).asnumpy()
    finally:
        config.set(**before)
    inner = np.tanh(3 * x + 1)
    np.testing.assert_allclose(found, 3 * (1 - inner ** 2) / (x + 2) - inner / (x + 2) ** 2, atol=1e-5)
