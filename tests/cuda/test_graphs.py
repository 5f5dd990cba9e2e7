"""Compiled functions as CUDA graphs: what is captured, what is replayed, with which addresses; what is launched as it is."""
import numpy as np
import pytest
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.config import config
from mindlite.common.errors import ValueRangeError

pytestmark = runs_here
X = np.linspace(-2, 2, 4000, dtype=np.float32).reshape(50, 80)


def work(x, y):
    return ops.softmax(ops.tanh(x) + y, axis=-1), (x * y).sum(0)


def on_gpu(*arrays):
    return [Tensor(a).to("GPU") for a in arrays]


def arrays(out):
    return [t.asnumpy() for t in out]


def check(out, want):
    for a, b in zip(arrays(out), want):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_the_second_call_is_captured_and_later_ones_are_one_launch_each():
    with simulated_gpus(graphs=True, reuse=True) as library:
        jitted, (x, y), want = ms.jit(work, fullgraph=True), on_gpu(X, X + 1), arrays(ms.jit(work)(Tensor(X), Tensor(X + 1)))
        seen = []
        for _ in range(6):
            out, counts = counted(library, lambda: jitted(x, y))
            names = "LaunchKernel", "StreamBeginCapture", "GraphLaunch", "StreamSynchronize"
            seen.append([counts.get(name, 0) for name in names])
            check(out, want)
            del out
            library.target.driver.synchronize(0)
        assert seen == [[2, 0, 0, 0], [2, 1, 1, 0]] + [[0, 0, 1, 0]] * 4


def test_other_arguments_and_results_are_seen_at_their_own_addresses():
    wants = [arrays(ms.jit(work)(Tensor(X + shift), Tensor(X * shift))) for shift in range(12)]
    with simulated_gpus(graphs=True) as library:                         # no address is ever used again
        jitted = ms.jit(work, fullgraph=True)
        for shift, want in enumerate(wants):
            out = jitted(*on_gpu(X + shift, X * shift))
            library.target.driver.synchronize(0)
            check(out, want)
        assert library.counts["cuGraphExecUpdate_v2"] > 0 and len(library.graphs) <= 4


def test_the_double_finds_a_graph_that_is_replayed_with_addresses_of_another_run():
    with simulated_gpus(graphs=True) as library:
        jitted, (x, y) = ms.jit(work, fullgraph=True), on_gpu(X, X)
        keep = [jitted(x, y) for _ in range(2)]
        graph = next(iter(library.graphs))
        library.target.driver.synchronize(0)
        del keep, x, y
        library.target.driver.synchronize(0)
        library.cuGraphLaunch(graph, 1)
        with pytest.raises(ms.common.errors.DeviceError, match="ILLEGAL_ADDRESS"):
            library.target.driver.synchronize(0)


def test_what_comes_from_the_cpu_is_copied_for_each_replay_and_what_the_cpu_checks_it_checks():
    table = Parameter(Tensor(X), name="table")

    def rows(x, i):
        return ops.gather(table, i, 0) + x
    with simulated_gpus(graphs=True, reuse=True) as library:
        jitted = ms.jit(rows, fullgraph=True)
        for n in range(6):
            x, i = X[:3] * n, np.array([n, 1, 49 - n])
            out, counts = counted(library, lambda: jitted(Tensor(x), Tensor(i)))
            np.testing.assert_allclose(out.asnumpy(), X[i] + x, rtol=1e-6)
            del out
            library.target.driver.synchronize(0)
        assert counts["GraphLaunch"] == 1 and counts["MemcpyHtoD"] == 2 and "LaunchKernel" not in counts


def test_training_with_parameters_that_are_updated_gives_the_cpus_losses():
    def losses():
        weight = Parameter(Tensor(np.full((80, 3), 0.1, np.float32)), name="weight")
        optimizer = nn.Adam([weight], 0.05)
        gradient = ms.value_and_grad(lambda x: (ops.matmul(ops.tanh(x), weight) ** 2).mean(), None, optimizer.parameters)

        def step(x):
            loss, grads = gradient(x)
            optimizer(grads)
            return loss
        step = ms.jit(step, fullgraph=True)
        return [float(step(Tensor(X[:4] + n))) for n in range(8)]
    want = losses()
    with simulated_gpus(graphs=True, reuse=True, nvidia=("cublasLt",)) as library:
        np.testing.assert_allclose(losses(), want, rtol=1e-4)
        assert library.counts["cuGraphLaunch"] >= 6 and library.counts["cublasLtMatmul"] <= 8


DECISIONS = {
    "a number of the data": (lambda x: x * (2.0 if (x + 1).sum() > 0 else 3.0), {}),
    "a size of the data": (lambda x: ops.masked_select(x, x > 0).sum(), {}),
    "an operator without a kernel": (lambda x: ops.atan(x.astype(ms.float64)) + x, {}),
    "open sizes": (lambda x: ops.tanh(x).sum(1), {"dynamic": True}),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_what_decides_or_waits_is_never_captured(name):
    function, settings = DECISIONS[name]
    want = ms.jit(function)(Tensor(X)).asnumpy()
    with simulated_gpus(graphs=True, reuse=True) as library:
        jitted, (x,) = ms.jit(function, **settings), on_gpu(X)
        for _ in range(4):
            np.testing.assert_allclose(jitted(x).asnumpy(), want, rtol=1e-5, atol=1e-5)
        assert library.counts["cuStreamBeginCapture_v2"] == 0


def test_numbers_that_change_each_time_are_launched_as_they_are_before_long():
    with simulated_gpus(graphs=True, reuse=True) as library:
        jitted, (x,) = ms.jit(lambda x, n: x * n, fullgraph=True), on_gpu(X)
        for n in range(40):
            out = jitted(x, float(n) + 0.5)
            np.testing.assert_array_equal(out.asnumpy(), X * np.float32(n + 0.5))
        assert library.counts["cuStreamBeginCapture_v2"] <= 17


def test_a_check_that_fails_in_a_replay_launches_nothing_and_the_next_call_is_right():
    with simulated_gpus(graphs=True, reuse=True) as library:
        jitted, (x,) = ms.jit(lambda x, i: ops.gather(x, i, 0) * 2.0, fullgraph=True), on_gpu(X)
        for _ in range(3):
            jitted(x, Tensor([1, 2]))
        before = library.counts["cuGraphLaunch"]
        with pytest.raises((ValueRangeError, IndexError)):
            jitted(x, Tensor([1, 77]))
        assert library.counts["cuGraphLaunch"] == before
        np.testing.assert_array_equal(jitted(x, Tensor([3, 4])).asnumpy(), X[3:5] * 2)


def test_a_switch_turns_graphs_off():
    with simulated_gpus(graphs=True) as library:
        config.set(cuda_graphs=False)
        jitted, (x, y) = ms.jit(work, fullgraph=True), on_gpu(X, X)
        for _ in range(3):
            jitted(x, y)
        assert library.counts["cuStreamBeginCapture_v2"] == 0 and library.counts["cuLaunchKernel"] == 6
