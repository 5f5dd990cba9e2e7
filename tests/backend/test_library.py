"""The door to library kernels: what it returns, what it tells, and what the doctor says of the machine."""
import os
import subprocess
import sys

import numpy as np
import pytest

from mindlite.backend import doctor
from mindlite.backend.address import files_of_distribution, loaded_libraries
from mindlite.backend.cpu import blas, convolution_ways, explain, library_kernel, onednn
from mindlite.common.config import config
from mindlite.common.events import listen


@pytest.fixture
def switches():
    """Give back every switch that the test iterations."""
    before = {name: getattr(config, name) for name in ("onednn", "cache_dir", "threads")}
    yield config
    config.set(**before)


def test_the_door_gives_kernels_that_compute(call):
    a, b, out = np.arange(6.).reshape(2, 3), np.arange(12.).reshape(3, 4), np.empty((2, 4))
    call(library_kernel("matmul", dtype="float64"), [a, b, out], [1, 2, 4, 3, 1])
    np.testing.assert_array_equal(out, a @ b)
    assert library_kernel("conv2d", kind="forward", dtype="float64").name == "conv2d_forward_f64"
    assert library_kernel("conv2d_part", part="forward", dtype="float64", direct=True).name == "conv2d_forward_f64_direct"
    assert library_kernel("pool2d", kind="avg_backward", dtype="float32", window=(2, 2, 2, 2, 1, 1)).name \
        == "pool2d_avg_backward_f32_2_2_2_2_1_1"


def test_every_choice_is_an_event_with_its_reason():
    heard = []
    with listen(lambda event, fields: heard.append((event, fields))):
        library_kernel("matmul", dtype="float32")
        library_kernel("conv2d", kind="forward", dtype="float16")
    chosen, = (fields for event, fields in heard if event == "library_kernel")
    refused, = (fields for event, fields in heard if event == "library_kernel_missing")
    assert chosen["kernel"] == "matmul_f32_nn_none" and chosen["why"]
    assert "cast to float32" in refused["why"]


def test_the_reason_names_what_answers(switches):
    assert "integers" in explain("matmul", dtype="int32")
    if blas.find_blas():
        assert blas.blas_facts()["name"] in explain("matmul", dtype="float32")
    switches.set(onednn=False)
    assert "kernels of our own" in explain("conv2d", kind="forward", dtype="float32")
    if onednn.library_path():                                # it is installed, and loads where the system has what it needs
        assert "switched off" in explain("conv2d", kind="forward", dtype="float32")
        switches.set(onednn=True)
        said = explain("conv2d", kind="forward", dtype="float32")
        assert said.startswith("oneDNN 3") if onednn.find_onednn() else "oneDNN is not loaded" in said


def test_a_library_that_does_not_load_is_told_with_what_it_lacks(monkeypatch, switches):
    if onednn.library_path() is None:
        pytest.skip("oneDNN is not installed")
    lacks = "libgomp.so.1: cannot open shared object file: No such file or directory"
    monkeypatch.setattr(onednn, "_load", lambda: lacks)
    switches.set(onednn=True)
    assert onednn.find_onednn() is None
    assert explain("conv2d", kind="forward", dtype="float32").endswith(
        f"oneDNN is not loaded, {lacks} (install GCC's OpenMP (Debian, Ubuntu: apt install libgomp1))")
    assert doctor.dnn()[1:] == (f"not loaded, {lacks}", "install GCC's OpenMP (Debian, Ubuntu: apt install libgomp1)")


def test_every_part_of_a_convolution_says_why_it_is_taken():
    assert set(convolution_ways.PARTS) == set(convolution_ways.PART_REASONS)
    kernel = library_kernel("conv2d_part", part="winograd", kind="forward", dtype="float32")
    assert kernel.why == explain("conv2d_part", part="winograd", kind="forward", dtype="float32")
    assert kernel.why.startswith("3 x 3")


def test_an_unknown_library_kernel_is_an_error():
    with pytest.raises(KeyError):
        library_kernel("fast_fourier", dtype="float32")


def test_loading_onednn_leaves_the_environment_as_it_was():
    code = ("import os; before = dict(os.environ); from mindlite.backend.cpu import onednn; onednn.find_onednn();"
            "assert dict(os.environ) == before; print('same')")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "same\n"


def test_importing_the_door_loads_neither_numba_nor_onednn():
    code = ("import sys, mindlite.backend.cpu; from mindlite.backend.address import loaded_libraries;"
            "print('numba' in sys.modules, loaded_libraries('dnnl'))")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False []\n"


def test_libraries_are_found_among_the_loaded_and_in_packages():
    assert files_of_distribution(["no such file"], ["numpy", "no-such-distribution"]) == []
    assert files_of_distribution(["METADATA"], ["numpy"])[0].endswith("METADATA")
    if os.path.exists("/proc/self/maps"):
        assert loaded_libraries("_multiarray_umath") and not loaded_libraries("no such library")


def test_the_doctor_has_a_line_for_everything_and_advice_where_something_lacks(switches, monkeypatch, tmp_path):
    lines = {name: (state, advice) for name, state, advice in doctor.report()}
    assert set(lines) == {"Python", "numpy", "llvmlite", "numba", "BLAS", "oneDNN", "CPU", "threads", "cache", "CUDA",
                          "calls"}
    assert lines["numpy"] == (np.__version__, "")

    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setattr(onednn, "library_path", lambda: None)
    monkeypatch.setattr(doctor, "find_onednn", lambda: None)
    switches.set(cache_dir=str(tmp_path / "not" / "yet"), threads=1000)
    (tmp_path / "file").write_bytes(b"x" * 2**20)
    if blas.find_blas():
        assert "OPENBLAS_CORETYPE=Haswell" in doctor.blas()[2]
    assert "pip install onednn-cpu-gomp" in doctor.dnn()[2]
    assert "MINDLITE_THREADS" in doctor.threads()[2]
    assert doctor.cache()[1:] == (f"{tmp_path / 'not' / 'yet'}, 0 files, 0.0 MiB", "")
    switches.set(cache_dir=str(tmp_path))
    assert "1 files, 1.0 MiB" in doctor.cache()[1]
    switches.set(cache_dir=str(tmp_path / "file"))
    assert "cannot be written" in doctor.cache()[2]
    assert doctor.package("no-such-package") == ("no-such-package", "missing", "pip install no-such-package")
