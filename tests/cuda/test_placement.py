"""Graphs of which a part runs on the CPU: the copies that they cost, what `explain` says of them, and that they train."""
import numpy as np
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops

pytestmark = runs_here
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)


def mixed(x):
    y = ops.tanh(x)
    z = ops.atan(y)                                           # of float64 a GPU has no code for it
    return ops.relu(z) * y + (z * z).sum()


def test_a_part_on_the_cpu_costs_one_copy_out_and_one_back_and_explain_has_a_line_for_each():
    x = Tensor(X.astype(np.float64))
    want = mixed(x).asnumpy()
    with simulated_gpus() as library:
        jitted = ms.jit(mixed, fullgraph=True)
        jitted(x)
        out, counts = counted(library, lambda: jitted(x))
        assert (counts["MemcpyHtoD"], counts["MemcpyDtoH"], counts["StreamSynchronize"]) == (2, 1, 1)    # x, z; y; for y
        np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-6)
        lines = [line.strip() for line in jitted.explain(details=True).split("\n") if line.strip().startswith("copy from")]
        assert len(lines) == 3
        for line, start, text in zip(lines, ("copy from CPU to GPU:0; ", "copy from GPU:0 to CPU: the CPU waits; ",
                                             "copy from CPU to GPU:0; "), ("y = ops.tanh(x)", "z = ops.atan(y)", "ops.relu(z)")):
            assert line.startswith(start) and text in line and "test_placement.py:" in line


def training():
    """The losses of three steps of a network with a layer that runs on the CPU, and the weight then."""
    weight = Parameter(Tensor(np.full((6, 3), 0.5, np.float32)), name="weight")
    optimizer = nn.SGD([weight], 0.1)

    def loss_of(x):
        return (ops.atan(ops.matmul(ops.tanh(x), weight).astype(ms.float64)) ** 2).mean()
    gradient = ms.value_and_grad(loss_of, None, optimizer.parameters)

    def step(x):
        loss, grads = gradient(x)
        optimizer(grads)
        return loss
    step = ms.jit(step, fullgraph=True)
    return [float(step(Tensor(X))) for _ in range(3)], weight


def test_a_mixed_graph_trains_with_the_cpus_losses_and_its_weight_stays_on_the_device():
    want, on_cpu = training()
    with simulated_gpus():
        losses, weight = training()
        assert weight.device == "GPU:0" and want[2] < want[0]
        np.testing.assert_allclose(losses, want, rtol=1e-5)
        np.testing.assert_allclose(weight.asnumpy(), on_cpu.asnumpy(), rtol=1e-5)
