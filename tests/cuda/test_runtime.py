"""MindSpore's hal and runtime on a simulated GPU: they say what the driver says, and wait for the device."""
import numpy as np
import pytest
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import DeviceError, ValueRangeError
from mindlite.functional import runtime

pytestmark = runs_here
X = np.ones((256, 256), np.float32)


def test_the_devices_are_those_of_the_driver():
    with simulated_gpus():
        assert (runtime.device_count(), runtime.device_count("GPU"), runtime.device_count("CPU")) == (2, 2, 1)
        found = runtime.get_device_properties(1)
        assert (found.name, found.total_memory, found.multi_processor_count) == ("CUDA simulator", 1 << 33, 1)
        assert runtime.get_device_name(0, "GPU") == "CUDA simulator" != runtime.get_device_name(0, "CPU")
        assert (runtime.get_device_capability(0), runtime.get_arch_list()) == ((9, 0), ["sm_90"])
        assert runtime.is_available("GPU") and "GPU" in repr(runtime.current_stream())
        for call in (lambda: runtime.get_device_name(2), lambda: runtime.get_device_capability(0, "CPU")):
            with pytest.raises(ValueRangeError):
                call()


def test_memory_is_that_of_the_device():
    with simulated_gpus() as library:
        x = Tensor(X).to("GPU")
        assert runtime.memory_allocated() == runtime.memory_reserved() == X.nbytes != runtime.memory_allocated("CPU")
        y = Tensor(X).to("GPU")
        del y
        runtime.synchronize()
        assert (runtime.memory_allocated("GPU"), runtime.max_memory_allocated()) == (X.nbytes, 2 * X.nbytes)
        stats = runtime.memory_stats()
        assert (stats["total_reserved_memory"], stats["total_idle_memory"]) == (2 * X.nbytes, X.nbytes)
        runtime.empty_cache()
        runtime.reset_peak_memory_stats()
        assert runtime.max_memory_allocated() == runtime.memory_reserved() == runtime.max_memory_reserved() == X.nbytes
        assert library.live == x.nbytes


def test_synchronize_waits_and_only_then_is_a_stream_idle():
    with simulated_gpus() as library:
        jitted = ms.jit(lambda x: ops.tanh(x), fullgraph=True)
        out = jitted(Tensor(X))
        assert library.queue and not runtime.current_stream().query()
        _, counts = counted(library, runtime.synchronize)
        assert counts == {"StreamSynchronize": 1} and not library.queue and runtime.current_stream().query()
        assert out.device == "GPU:0"
        with pytest.raises(DeviceError, match="launched without waiting"):
            runtime.launch_blocking()


def test_an_event_is_a_moment_of_the_device():
    with simulated_gpus() as library:
        jitted = ms.jit(lambda x: ops.tanh(x), fullgraph=True)
        first, last = (runtime.Event(enable_timing=True) for _ in range(2))
        jitted(Tensor(X))
        own = len(library.moments)                            # of the copies
        first.record()
        jitted(Tensor(X))
        last.record()
        assert not first.query()                              # nobody has waited for the kernels before it
        first.synchronize()
        while not last.query():
            pass
        assert first.query() and first.elapsed_time(last) > 0 > last.elapsed_time(first)
        on_cpu = runtime.Event(enable_timing=True)
        ms.set_context(device_target="CPU")
        on_cpu.record()
        ms.set_context(device_target="GPU")
        with pytest.raises(RuntimeError, match="on one device"):
            on_cpu.elapsed_time(last)
        events = len(library.moments)
        del first, last
        runtime.synchronize()
        assert (events - own, len(library.moments) - own) == (2, 0)


def test_a_failure_of_the_device_is_raised_by_who_waits_for_an_event(monkeypatch):
    with simulated_gpus() as library:
        jitted = ms.jit(lambda x: ops.tanh(x), fullgraph=True)
        jitted(Tensor(X))
        runtime.synchronize()
        for kernel in library.kernels.values():
            monkeypatch.setattr(kernel, "run", lambda *args: False)
        jitted(Tensor(X))
        event = runtime.Event()
        event.record()
        with pytest.raises(DeviceError, match="CUDA_ERROR_LAUNCH_FAILED"):
            event.synchronize()


def test_out_of_memory_names_the_largest_storages():
    with simulated_gpus(memory=1 << 20):
        weight = ms.Parameter(Tensor(X), name="net.weight")
        ms.jit(lambda x: x + weight, fullgraph=True)(Tensor(X[:1]))
        big = Tensor(np.zeros((300, 256), np.float32)).to("GPU")
        with pytest.raises(MemoryError) as caught:
            Tensor(np.zeros((600, 256), np.float32)).to("GPU")
        lines = str(caught.value).split("\n")
        assert lines[0].endswith("the largest storages:") and lines[1].split() == ["0.3", "MiB", "Tensor", "f32[300,", "256]"]
        assert "net.weight f32[256, 256]" in lines[2] and len(lines) <= 11 and big.device == "GPU:0"
