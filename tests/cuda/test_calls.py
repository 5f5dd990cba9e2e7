"""How many functions of Python a call on a GPU runs: those of a warm call are counted, not its time."""
import collections
import gc
import sys

import numpy as np
import pytest
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.backend import layouts
from mindlite.common.storage import elsewhere
from mindlite.pynative import sharded

pytestmark = [runs_here, pytest.mark.skipif(not layouts.available(), reason="this Python lays out its objects in another way")]
X = np.linspace(-2, 2, 4000, dtype=np.float32).reshape(50, 80)


@pytest.fixture(autouse=True)
def nothing_was_sharded(monkeypatch):
    """As in a process of one rank, whatever ran before in this one."""
    monkeypatch.setattr(sharded, "calls", {})
    monkeypatch.setattr(elsewhere, "sharded", False)


def python_calls(function, *args):
    """{name: how many calls} of functions of Python in function(*args), whose result is given up in the end.

    What stands for libcuda here does not count: on a GPU it is C.
    """
    seen, below = collections.Counter(), []

    def see(frame, event, arg):
        if event == "call" and (below or "simulat" in frame.f_code.co_filename):
            below.append(frame)
        elif event == "return" and below:
            below.pop()
        elif event == "call":
            seen[f"{frame.f_code.co_filename.rpartition('mindlite/')[2]}:{frame.f_code.co_name}"] += 1
    gc.disable()
    sys.setprofile(see)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    return seen


def warm(function, *args):
    for _ in range(6):
        function(*args)


def on_gpu(*arrays):
    return [Tensor(a).to("GPU") for a in arrays]


def chain(x, y):
    return ops.softmax(ops.tanh(x) + y, axis=-1), (x * y).sum(0)


@pytest.mark.parametrize("graphs", [False, True], ids=["launched", "replayed"])
def test_a_warm_jitted_call_runs_at_most_20_functions_of_python(graphs):
    want = [t.asnumpy() for t in ms.jit(chain, fullgraph=True)(Tensor(X), Tensor(X))]
    with simulated_gpus(graphs=graphs, reuse=True) as library:
        jitted, args = ms.jit(chain, fullgraph=True), on_gpu(X, X)
        warm(jitted, *args)
        library.target.driver.synchronize(0)
        seen = python_calls(jitted, *args)
        assert seen.total() <= 20, seen
        out, counts = counted(library, lambda: jitted(*args))
        assert counts["LaunchKernel" if not graphs else "GraphLaunch"] == (2 if not graphs else 1) and counts["MemAlloc"] == 2
        assert "StreamSynchronize" not in counts
        for found, expected in zip(out, want):
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)


OPERATORS = {"add": lambda x, y: x + y, "tanh": lambda x, y: ops.tanh(x), "mul by a number": lambda x, y: x * 2.0,
             "sum": lambda x, y: ops.reduce_sum(x, axis=1)}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_warm_eager_operator_runs_at_most_25_functions_of_python(name):
    function = OPERATORS[name]
    want = function(Tensor(X), Tensor(X)).asnumpy()
    with simulated_gpus(graphs=True) as library:
        args = on_gpu(X, X)
        warm(function, *args)
        library.target.driver.synchronize(0)
        seen = python_calls(function, *args)
        assert seen.total() - 1 <= 25, seen                   # the function itself is the test's
        out, counts = counted(library, lambda: function(*args))
        assert counts["MemAlloc"] <= 2 and counts["LaunchKernel"] == 1 and "StreamSynchronize" not in counts
        np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-5)


def test_a_call_that_does_not_fit_asks_for_no_memory():
    with simulated_gpus() as library:
        jitted, (x, y) = ms.jit(chain, fullgraph=True), on_gpu(X, X)
        warm(jitted, x, y)
        others = on_gpu(X[:7], X[:7])
        jitted(*others)
        _, counts = counted(library, lambda: jitted(*others))
        assert counts["MemAlloc"] == 2


def test_arguments_that_lie_elsewhere_or_are_others_are_seen():
    """The fast paths of a call on a device refuse what they were not made for; the values are those of the CPU."""
    weight = Parameter(Tensor(X[:1]), name="weight")

    def function(x, y):
        return ops.tanh(x) * weight + y
    with simulated_gpus(graphs=True, reuse=True) as library:
        jitted, (x, y) = ms.jit(function, fullgraph=True), on_gpu(X, X)
        warm(jitted, x, y)
        want = np.tanh(X) * X[:1] + X
        fast = python_calls(jitted, x, y).total()
        assert fast <= 20
        for args, expected in (((x, y), want), ((Tensor(X), y), want), ((x, Tensor(X)), want), ((Tensor(X), Tensor(X)), want),
                               ((x, x), want), (on_gpu(X[:2], X[:2]), want[:2]), ((x, y), want)):
            for _ in range(3):
                out = jitted(*args)
                assert out.device == "GPU:0"
                np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5, atol=1e-6)
        weight.move_here(ms.common.device.CPU)               # a Parameter moves back to where kernels run
        np.testing.assert_allclose(jitted(x, y).asnumpy(), want, rtol=1e-5, atol=1e-6)
        assert weight.device == "GPU:0"
        weight.set_data(Tensor(2 * X[:1]))
        np.testing.assert_allclose(jitted(x, y).asnumpy(), np.tanh(X) * 2 * X[:1] + X, rtol=1e-5, atol=1e-6)
        ms.set_context(device_id=1)
        assert jitted(Tensor(X), Tensor(X)).device == "GPU:1"
        ms.set_context(device_id=0)
        np.testing.assert_allclose(jitted(*on_gpu(X, X)).asnumpy(), np.tanh(X) * 2 * X[:1] + X, rtol=1e-5, atol=1e-6)
        assert library.live > 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")        # of results that are given up then
def test_an_error_of_a_fast_call_is_that_of_a_slow_one(monkeypatch):
    def rows(x, i):
        return ops.gather(x, i, 0) * 2.0
    with simulated_gpus(graphs=True, reuse=True) as library:
        jitted, (x,) = ms.jit(rows, fullgraph=True), on_gpu(X)
        good = Tensor(np.array([1, 2, 3]))
        warm(jitted, x, good)
        texts = []
        for function in (jitted, ms.jit(rows, fullgraph=True)):
            with pytest.raises(IndexError) as caught:
                function(x, Tensor(np.array([1, 2, 50])))
            texts.append(str(caught.value))
        assert texts[0] == texts[1] and "50" in texts[0]
        library.target.driver.synchronize(0)
        np.testing.assert_allclose(jitted(x, good).asnumpy(), X[1:4] * 2)
        monkeypatch.setattr(library, "later", lambda work, stream: 1)
        with pytest.raises(ms.common.errors.DeviceError, match="CUDA_ERROR_INVALID_VALUE"):
            jitted(x, good)


def test_a_training_step_is_a_fast_call_too():
    def steps(gpu):
        weight = Parameter(Tensor(np.full((80, 3), 0.1, np.float32)), name="weight")
        optimizer = nn.Adam([weight], 0.05)
        gradient = ms.value_and_grad(lambda x: (ops.matmul(ops.tanh(x), weight) ** 2).mean(), None, optimizer.parameters)

        def step(x):
            loss, grads = gradient(x)
            optimizer(grads)
            return loss
        step, x = ms.jit(step, fullgraph=True), Tensor(X[:4])
        if gpu:
            x = x.to("GPU")
        losses = [float(step(x)) for _ in range(6)]
        return losses, python_calls(step, x).total()
    want, _ = steps(False)
    with simulated_gpus(graphs=True, reuse=True):
        losses, calls = steps(True)
        np.testing.assert_allclose(losses, want, rtol=1e-4)
        assert calls <= 20


def test_a_call_of_lengths_that_change_runs_at_most_20_functions_of_python():
    with simulated_gpus(graphs=True, nvidia=("cublasLt",)) as library:
        jitted = ms.jit(lambda x, w, b: ops.softmax(ops.matmul(x, w) + b, -1), fullgraph=True, dynamic=1)
        w, b = on_gpu(np.ones((8, 8), np.float32), np.ones(8, np.float32))
        inputs = on_gpu(*[np.full((n, 8), n, np.float32) for n in range(1, 30)])
        for x in inputs * 3:
            jitted(x, w, b)
        library.target.driver.synchronize(0)
        for x in inputs:
            seen = python_calls(jitted, x, w, b)
            assert seen.total() <= 20, seen
        np.testing.assert_allclose(jitted(inputs[5], w, b).asnumpy(), np.full((6, 8), 0.125), rtol=1e-6)
        assert len(jitted.variants) == 1
