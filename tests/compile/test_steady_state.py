"""A warm call computes and does nothing else; its result does not depend on what other threads do meanwhile."""
import json
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.backend.launcher import default_threads, set_threads

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
from steady import counts                                                                               # noqa: E402


def normal(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def training_step(net, x, y):
    """A compiled step: loss, gradients and Adam."""
    optimiser = nn.Adam(net.trainable_params(), 1e-3)
    gradients = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, optimiser.parameters)

    @ms.jit
    def step(x, y):
        loss, grads = gradients(x, y)
        optimiser(grads)
        return loss
    return lambda: step(x, y)


def layers(convolution):
    if not convolution:
        net = nn.SequentialCell(nn.Dense(300, 256), nn.ReLU(), nn.LayerNorm((256,)), nn.Dense(256, 10))
        return net, Tensor(normal(64, 300))
    net = nn.SequentialCell(nn.Conv2d(3, 8, 3, pad_mode="pad", padding=1), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
                            nn.Dense(8 * 8 * 8, 10))
    return net, Tensor(normal(64, 3, 16, 16))


@pytest.mark.parametrize("convolution", [False, True])
def test_a_warm_training_step_touches_no_new_page_and_enters_no_function_but_those_that_look_at_attributes(convolution):
    net, x = layers(convolution)
    run = training_step(net, x, Tensor(np.arange(64, dtype=np.int32) % 10))
    for _ in range(20):
        run()
    found = counts(run, 40, lambda: 0)
    assert found["page faults"] < 1 and found["bytes of heap"] < 2000
    files = {name.rpartition(" (")[2].rstrip(")") for name in found["which"].split(", ") if name}
    assert all(file in ("guards.py", "values.py", "hooks.py") or file.startswith("<test of ") for file in files)


def test_warm_steps_of_four_networks_ask_the_system_for_nothing():
    """What chunks work in (convolutions, 16-bit products) is borrowed from a stock, all else lies in the arena."""
    program = pathlib.Path(__file__).with_name("steady_steps.py")
    path = os.pathsep.join([str(pathlib.Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": path})
    told = json.loads(done.stdout)
    found = told["steps"]
    assert told["allocations in all"] > 0                                  # or nothing would count
    assert set(found) == {"LeNet", "transformer", "LSTM", "ResNet"}
    for name, asked in found.items():
        assert asked["allocations by machine code"] < 0.1, (name, asked)      # a thread may be late to grow its first piece
        assert asked["page faults"] < 2 and asked["bytes of heap"] < 2000, (name, asked)


def test_a_call_in_python_enters_functions_that_the_count_names():
    assert counts(lambda: layers(False), 2, lambda: 0)["Python functions entered"] > 10


@pytest.mark.parametrize("threads", [2, 3])
def test_a_hundred_runs_on_the_same_threads_give_the_same_bits(threads):
    """Odd sizes, so that no chunk ends where a vector, a tile or a cache line does."""
    before = default_threads()
    assert set_threads(threads)
    try:
        weight, x = Tensor(normal(11, 7, 3, 3)), Tensor(normal(5, 7, 37, 41))
        wide, tall = Tensor(normal(301, 1003)), Tensor(normal(1003, 67))

        def f(x, wide, tall):
            y = ops.gelu(ops.conv2d(x, weight, None, 1, "pad", 1))
            z = ops.softmax(ops.matmul(ops.tanh(wide), tall), axis=-1)
            return ops.layer_norm(wide, (1003,), ops.ones((1003,)), ops.zeros((1003,))).sum() + y.sum() + (z * z).sum(0).sum()
        g = ms.jit(ms.value_and_grad(f, (0, 1, 2)))
        value, slopes = g(x, wide, tall)
        expected = [value.asnumpy(), *[slope.asnumpy() for slope in slopes]]
        for _ in range(100):
            value, slopes = g(x, wide, tall)
            for out, wanted in zip([value, *slopes], expected):
                assert out.asnumpy().tobytes() == wanted.tobytes()
    finally:
        set_threads(before)


def test_results_are_the_same_bits_for_one_number_of_threads_whatever_runs_beside_them():
    """Chunks are cut at the same places; a launch that finds another under way does its chunks one after the other."""
    before = default_threads()
    assert set_threads(2)
    try:
        weight = Tensor(normal(16, 8, 3, 3))

        @ms.jit
        def f(x):
            y = ops.relu(ops.conv2d(x, weight, None, 1, "pad", 1))
            return ops.softmax(ops.matmul(y.reshape((32, -1)), y.reshape((32, -1)).T), axis=-1).sum(0), y.sum()
        x, large = Tensor(normal(32, 8, 32, 32)), Tensor(normal(700, 700))
        g, ended = ms.jit(lambda x: ops.tanh(x) * 2.0), threading.Event()
        expected = [out.asnumpy() for out in f(x)]
        g(large)

        def disturb():
            while not ended.is_set():
                g(large)
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            for _ in range(30):
                for out, wanted in zip(f(x), expected):
                    np.testing.assert_array_equal(out.asnumpy(), wanted)
        finally:
            ended.set()
            thread.join()
    finally:
        set_threads(before)
