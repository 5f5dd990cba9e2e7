"""The driver of GPUs, with the simulator in libcuda's place: its calls, memory, copies, failures, two devices."""
import os
import subprocess
import sys

import numpy as np
import pytest
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend import doctor
from mindlite.backend.cuda import ptx_cache
from mindlite.backend.cuda.code import kernel_text
from mindlite.backend.cuda.driver import FUNCTIONS, Driver
from mindlite.backend.cuda.simulated_library import BASE, SimulatedLibrary
from mindlite.common.config import config
from mindlite.common.device import CPU, Device
from mindlite.common.errors import DeviceError

pytestmark = runs_here
GPU = Device("GPU")
X = np.linspace(-2, 2, 4000, dtype=np.float32).reshape(50, 80)


def work(x, y):
    return ops.softmax(ops.tanh(x) + y, axis=-1), (x * y).sum(0)


def test_a_second_call_launches_and_copies_the_arguments_in_and_waits_for_nothing():
    expected = [t.asnumpy() for t in ms.jit(work, fullgraph=True)(Tensor(X), Tensor(X))]
    with simulated_gpus() as library:
        jitted = ms.jit(work, fullgraph=True)
        jitted(Tensor(X), Tensor(X))
        outs, counts = counted(library, lambda: jitted(Tensor(X), Tensor(X)))
        assert counts == {"MemAlloc": 2, "MemcpyHtoD": 2, "LaunchKernel": 2}
        assert all(out.device == "GPU:0" for out in outs) and len(library.queue) > 0
        arrays, counts = counted(library, lambda: [out.asnumpy() for out in outs])
        assert counts == {"MemcpyDtoH": 2, "StreamSynchronize": 2}
        for array, want in zip(arrays, expected):
            np.testing.assert_allclose(array, want, rtol=1e-6, atol=1e-6)
        here = [Tensor(X).to("GPU") for _ in range(2)]
        assert counted(library, lambda: jitted(*here))[1] == {"MemAlloc": 2, "LaunchKernel": 2}


def test_kernels_are_loaded_once_for_each_device_when_they_are_launched_first():
    with simulated_gpus() as library:
        jitted = ms.jit(work, fullgraph=True)
        _, counts = counted(library, lambda: jitted(Tensor(X), Tensor(X)))
        assert counts["ModuleLoadData"] == counts["LaunchKernel"] == 2
        ms.set_context(device_id=1)
        outs, counts = counted(library, lambda: jitted(Tensor(X), Tensor(X)))
        assert counts["ModuleLoadData"] == 2 and all(out.device == "GPU:1" for out in outs)
        np.testing.assert_array_equal(outs[0].asnumpy(), jitted(Tensor(X), Tensor(X))[0].asnumpy())


def test_tensors_move_between_devices_and_python_cannot_read_them():
    with simulated_gpus():
        x = Tensor(X).to("GPU")
        y = x.move_to("GPU:1")
        assert (x.device, y.device) == ("GPU:0", "GPU:1") and x.storage.address >= BASE
        with pytest.raises(DeviceError):
            x.host_array
        np.testing.assert_array_equal(y.to("CPU").asnumpy(), X)
        assert (x + x).device == "GPU:0"
        np.testing.assert_array_equal((x + x).asnumpy(), X + X)


def test_memory_goes_back_behind_the_work_on_it_and_its_most_is_known():
    with simulated_gpus() as library:
        driver, gpu = library.target.driver, library.target.driver.gpu(0)
        first = driver.allocate(0, 1000)
        driver.release(0, first)
        assert first in library.blocks and (gpu.live, gpu.most) == (0, 1000)     # it waits in the queue
        driver.synchronize(0)
        assert first not in library.blocks


def test_out_of_memory_says_how_much_there_is():
    with simulated_gpus(memory=1 << 20):
        words = "GPU:0 has no 4.0 MiB left: 0.0 MiB are in use by this process, 1.0 of 1.0 MiB are free"
        with pytest.raises(MemoryError, match=words):
            Tensor(np.zeros((1024, 1024), np.float32)).to("GPU")
        with pytest.raises(MemoryError, match="MiB left"):
            ms.jit(lambda x: ops.tanh(x) @ x, fullgraph=True)(Tensor(np.zeros((600, 600), np.float32)))


def test_memory_that_was_given_back_and_bytes_behind_the_end_are_errors_when_somebody_waits():
    with simulated_gpus() as library:
        driver, out = library.target.driver, np.zeros(100, np.uint8)
        address = driver.allocate(0, 50)
        with pytest.raises(DeviceError, match="CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"):
            driver.copy(CPU, out.ctypes.data, GPU, address, 51)
        driver.release(0, address)
        driver.synchronize(0)
        with pytest.raises(DeviceError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
            driver.copy(CPU, out.ctypes.data, GPU, address, 10)
        with pytest.raises(KeyError):
            driver.release(0, address)


def test_a_kernel_that_fails_is_raised_by_whoever_waits_next(monkeypatch):
    with simulated_gpus() as library:
        jitted = ms.jit(work, fullgraph=True)
        jitted(Tensor(X), Tensor(X))
        library.target.driver.synchronize(0)
        for kernel in library.kernels.values():
            monkeypatch.setattr(kernel, "run", lambda *args: False)
        outs = jitted(Tensor(X), Tensor(X))                   # nothing has waited yet
        with pytest.raises(DeviceError, match="CUDA_ERROR_LAUNCH_FAILED"):
            outs[0].asnumpy()


def test_a_failure_of_the_driver_inside_a_flow_is_raised_at_once(monkeypatch):
    with simulated_gpus() as library:
        jitted = ms.jit(work, fullgraph=True)
        jitted(Tensor(X), Tensor(X))
        monkeypatch.setattr(library, "later", lambda work, stream: 1)
        with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_VALUE: invalid argument"):
            jitted(Tensor(X), Tensor(X))


def test_the_simulator_has_every_function_that_the_driver_calls():
    library = SimulatedLibrary()
    assert set(library.addresses) == set(FUNCTIONS) and all(library.addresses.values())
    driver = Driver(library)
    assert driver.count == 2 and driver.version == "12.8"
    assert (driver.gpu(1).architecture, driver.gpu(1).name) == ("sm_90", "CUDA simulator")


def test_no_device_is_an_error():
    with pytest.raises(DeviceError, match="finds no device"):
        Driver(SimulatedLibrary(devices=0))


def test_ptx_is_kept_on_the_disk_and_a_damaged_file_is_made_anew(tmp_path, monkeypatch):
    part = "; shared 0\ndefine void @part(i64 %b, i64 %x) { ret void }\ndefine i64 @blocks(i64 %x) { ret i64 1 }\n"
    texts, before = kernel_text([part]), config.set(cache_dir=str(tmp_path))
    try:
        text = ptx_cache.ptx_of(texts, "sm_90")
        file, = tmp_path.rglob("*.ptx")
        monkeypatch.setattr(ptx_cache, "_made", {})
        monkeypatch.setattr(ptx_cache.code, "ptx", lambda *args: "made anew")
        assert ptx_cache.ptx_of(texts, "sm_90") == text
        file.write_bytes(file.read_bytes()[:-3])
        ptx_cache._made.clear()
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert ptx_cache.ptx_of(texts, "sm_90") == "made anew"
        assert ptx_cache.ptx_of(texts, "sm_80") == "made anew" and len(list(tmp_path.rglob("*.ptx"))) == 2
    finally:
        config.set(**before)


PROGRAM = """
import mindlite as ms
x = ms.Tensor([1.0, 2.0])
print(ms.jit(lambda x: x + 1, fullgraph=True)(x).device)
ms.set_device("GPU", 1)
print(x.to("GPU").device, x.move_to("GPU:1").device)
"""


def test_the_environment_alone_chooses_the_simulator():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          env={**os.environ, "MINDLITE_CUDA": "simulator", "MINDLITE_DEVICE_TARGET": "GPU"})
    assert done.stdout.split() == ["GPU:0", "GPU:0", "GPU:1"], done.stderr
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          env={**os.environ, "MINDLITE_CUDA": "fast", "MINDLITE_DEVICE_TARGET": "GPU"})
    assert "MINDLITE_CUDA is 'fast'" in done.stderr


def test_the_doctor_names_the_gpus_or_what_is_missing(monkeypatch):
    monkeypatch.setattr(doctor.driver, "libcuda", SimulatedLibrary)
    assert doctor.cuda() == ("CUDA", "driver for CUDA 12.8: CUDA simulator (sm_90, 8 GiB), CUDA simulator (sm_90, 8 GiB)", "")
    monkeypatch.setattr(doctor.driver, "libcuda", lambda: SimulatedLibrary(devices=0))
    assert doctor.cuda()[1] == "the driver does not answer: CUDA's driver finds no device"
    monkeypatch.setattr(doctor.driver, "libcuda", lambda: None)
    monkeypatch.setattr(doctor.ctypes.util, "find_library", lambda name: None)
    assert doctor.cuda() == ("CUDA", "no driver", "")
