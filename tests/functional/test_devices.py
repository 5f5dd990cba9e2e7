"""Devices that are missing are refused by whoever is asked for one, in one line that says what is missing."""
import ctypes.util
import os
import subprocess
import sys

import numpy as np
import pytest

import mindlite as ms
import mindlite.mindspore as mindspore
from mindlite.backend.cuda import target
from mindlite.common.config import config
from mindlite.common.device import CPU, Device, device
from mindlite.common.errors import DeviceError, ValueRangeError

X = ms.Tensor(np.array([1.5, -2.5], np.float32))
ASKS = {
    "set_context": lambda kind: ms.set_context(device_target=kind),
    "set_device": lambda kind: ms.set_device(kind),
    "mindspore.set_context": lambda kind: mindspore.set_context(device_target=kind),
    "mindspore.context.set_context": lambda kind: mindspore.context.set_context(device_target=kind),
    "mindspore.set_device": lambda kind: mindspore.set_device(kind, 0),
    "Tensor.to": lambda kind: X.to(kind),
    "Tensor.to(device, dtype)": lambda kind: X.to(kind, ms.float16),
    "Tensor.to(device=..)": lambda kind: X.to(device=kind),
    "Tensor.move_to": lambda kind: X.move_to(kind),
    "jitted Tensor.to": lambda kind: ms.jit(lambda x: x.to(kind), fullgraph=True)(X),
}


driver = pytest.mark.skipif(ctypes.util.find_library("cuda") is not None, reason="this machine has an NVIDIA driver")


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(target, "libcuda", lambda: None)
    before = {name: getattr(config, name) for name in ("device_target", "device_id")}
    yield
    config.set(**before)


@pytest.mark.parametrize("kind, lacks", [("GPU", "there is no NVIDIA driver"), ("Ascend", "mindlite has no kernels"),
                                         ("CUDA", "there is no NVIDIA driver")])
@pytest.mark.parametrize("name", ASKS)
def test_a_device_that_is_missing_is_refused_in_one_line(name, kind, lacks):
    with pytest.raises(DeviceError, match=f"{kind!r} cannot be used: {lacks}.*; what can be used here: CPU") as caught:
        ASKS[name](kind)
    assert "\n" not in caught.value.message and isinstance(caught.value, RuntimeError)
    assert config.device_target == "CPU"


@pytest.mark.parametrize("kind", ["TPU", "cpu", "", 3])
@pytest.mark.parametrize("name", ["set_context", "set_device", "mindspore.set_context", "Tensor.move_to"])
def test_an_unknown_device_names_the_known_ones(name, kind):
    with pytest.raises(ValueRangeError) as caught:
        ASKS[name](kind)
    assert "CPU, GPU, Ascend" in str(caught.value)


@pytest.mark.parametrize("name", ["set_context", "set_device", "mindspore.set_context", "mindspore.set_device"])
def test_the_cpu_is_there_whatever_its_number(name):
    ASKS[name]("CPU")
    ms.set_context(device_target="CPU", device_id=3)                 # a script for several processes
    assert ms.get_context("device_target") == "CPU" and ms.get_context("device_id") == 3


@driver
@pytest.mark.parametrize("name, error", [("GPU", "'GPU' cannot be used: there is no NVIDIA driver"),
                                         ("Abacus", "there is no device 'Abacus'")])
def test_the_environment_names_a_device_and_is_refused_in_the_same_words(name, error):
    code = "import mindlite; mindlite.jit"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "MINDLITE_DEVICE_TARGET": name},
                          capture_output=True, text=True)
    assert done.returncode and any(f"MINDLITE_DEVICE_TARGET: {error}" in line for line in done.stderr.splitlines())


def test_to_converts_and_stays_on_the_cpu():
    assert X.to("CPU") is X and X.to(device="CPU") is X and X.move_to("CPU") is X and X.to() is X
    for x in (X.to(ms.int32), X.to("CPU", ms.int32), X.to(dtype=ms.int32), X.to("int32"), X.to(ms.Tensor([1], ms.int32))):
        assert x.dtype == ms.int32 and x.tolist() == [1, -2]
    copy = X.to("CPU", copy=True)
    assert copy is not X and not np.shares_memory(copy.asnumpy(), X.asnumpy()) and copy.tolist() == X.tolist()
    assert ms.jit(lambda x: x.to("CPU", ms.int32) + x.to(ms.int32), fullgraph=True)(X).tolist() == [2, -4]


@pytest.mark.parametrize("args", [(3,), (ms.float32, ms.float16), ("CPU", "CPU")])
def test_to_refuses_what_is_neither_device_nor_dtype(args):
    with pytest.raises(TypeError):
        X.to(*args)


def test_a_backend_of_jit_is_one_that_is_there():
    for backend in ("", "ms_backend", "GE"):
        assert ms.jit(lambda x: x + 1, backend=backend)(X).tolist() == [2.5, -1.5]
    with pytest.raises(ValueRangeError, match="no backend 'inductor'"):
        ms.jit(lambda x: x, backend="inductor")


def test_devices_have_names():
    assert device("CPU") == CPU == device(CPU) and str(CPU) == "CPU" and str(Device("GPU", 1)) == "GPU:1"
    with pytest.raises(ValueRangeError, match="names no device"):
        device("CPU:x")
