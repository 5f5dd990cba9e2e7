"""On a machine with a GPU: kernels, library kernels and networks, with the CPU's numbers. `make test-gpu` runs it."""
import numpy as np
import pytest
from networks import CASES

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.backend.cuda.driver import libcuda
from mindlite.common import dtype as dt
from mindlite.common.config import config

pytestmark = pytest.mark.skipif(libcuda() is None and config.cuda != "simulator", reason="there is no NVIDIA driver")
rng = np.random.default_rng(0)
FUNCTIONS = {
    "chain": lambda x: ops.tanh(x) * x + 1.0,
    "softmax": lambda x: ops.softmax(x, axis=-1),
    "log_softmax of columns": lambda x: ops.log_softmax(x, axis=0),
    "sums": lambda x: (x.sum(), x.sum(0), x.sum(1), ops.amax(x, 1), ops.argmax(x, -1)),
    "transpose": lambda x: ops.transpose(x, (1, 0)) * 2.0,
    "running sum": lambda x: ops.cumsum(x, 0),
    "product": lambda x: ops.matmul(x, ops.transpose(x, (1, 0))),
    "gather": lambda x: ops.gather(x, Tensor([3, 1, 4, 1, 5]), 0),
    "topk": lambda x: ops.topk(x, 5)[0],
}


@pytest.fixture(autouse=True)
def on_the_cpu_again():
    yield
    ms.set_context(device_target="CPU")


@pytest.mark.parametrize("rows, columns", [(7, 5), (100, 1000), (1000, 33), (4096, 1024)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_the_cpus_numbers(name, rows, columns):
    x = Tensor(rng.standard_normal((rows, columns)).astype(np.float32))
    want = ms.jit(FUNCTIONS[name], fullgraph=True)(x)
    ms.set_context(device_target="GPU")
    made = ms.jit(FUNCTIONS[name], fullgraph=True)(x)
    for a, b in zip(made if isinstance(made, tuple) else [made], want if isinstance(want, tuple) else [want]):
        assert a.device == "GPU:0"
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_network_trains_with_the_cpus_losses(case):
    losses = []
    for target in ("CPU", "GPU"):
        ms.set_context(device_target=target)
        net, weights, x, labels = case.make(dt.float32)
        criterion, optimizer = nn.CrossEntropyLoss(), nn.Adam(weights, 1e-2)
        gradient = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, optimizer.parameters)

        def step(x, labels):
            loss, grads = gradient(x, labels)
            optimizer(grads)
            return loss
        step = ms.jit(step, fullgraph=True)
        losses.append([float(step(x, labels)) for _ in range(3)])
    np.testing.assert_allclose(*losses, rtol=1e-3, atol=1e-4)
