"""`make test-gpu` and `make bench-gpu`: without a GPU they say what is missing; in the simulator their lines run."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
from gpus import runs_here

from mindlite.backend.cuda.driver import libcuda
from mindlite.backend.cuda.nvidia import LIBRARIES

ROOT = pathlib.Path(__file__).parents[2]


def started(*command, **settings):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, **settings})


@pytest.mark.skipif(libcuda() is not None, reason="this machine has a GPU")
def test_without_a_driver_both_say_so_in_a_line():
    done = started("bench/gpu.py")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and not done.stdout
    assert "there is no NVIDIA driver (libcuda.so.1)" in done.stderr and "MINDLITE_CUDA=simulator" in done.stderr
    done = started("-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests/gpu")
    skipped = [line for line in done.stdout.split("\n") if line.startswith("SKIPPED")]
    assert done.returncode == 0 and skipped and all("there is no NVIDIA driver" in line for line in skipped)


@runs_here
@pytest.mark.slow
def test_every_row_of_the_bench_runs_in_the_simulator(tmp_path):
    file = tmp_path / "gpu.json"
    done = started("bench/gpu.py", "--side", "16", "--runs", "1", "--peers", "", "--json", str(file), MINDLITE_CUDA="simulator")
    assert done.returncode == 0, done.stderr
    results = json.loads(file.read_text())
    assert results["device"] == "CUDA simulator" and results["libraries"] == {name: None for name in LIBRARIES}
    assert len(results["rows"]) == 19 == done.stdout.count("\n") - 1
    assert not {name: row["mindlite"] for name, row in results["rows"].items() if "error" in row["mindlite"]}


@runs_here
def test_the_tests_for_a_gpu_pass_in_the_simulator_at_a_small_size():
    done = started("-m", "pytest", "-v", "-p", "no:cacheprovider", "tests/gpu", "-k", "7-5", MINDLITE_CUDA="simulator")
    assert done.returncode == 0 and "9 passed" in done.stdout, done.stdout
