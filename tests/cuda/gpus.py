"""GPUs of CUDA's simulator for tests: the driver of real ones, whose functions run on the CPU and are counted."""
import contextlib
import os
import platform
import re
import shutil
import subprocess

import pytest

import mindlite as ms
from mindlite.backend.cuda.driver import Driver
from mindlite.backend.cuda.simulated_library import SimulatedLibrary
from mindlite.backend.cuda.target import CUDA
from mindlite.backend.target import provide, withdraw
from mindlite.common.config import config

runs_here = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux",
                               reason="CUDA's simulator switches fibers on Linux on x86-64")
QUIET = {"cuCtxSetCurrent", "cuEventRecord"}                                  # calls that cost nothing worth counting


@contextlib.contextmanager
def simulated_gpus(tf32=False, graphs=False, recomputed=(1, CUDA.recomputed[1]), **settings):
    """GPUs on which kernels run; yields the SimulatedLibrary, whose `target` is the Target. graphs: Flows are captured;
    recomputed: as of the Target, small results as well"""
    before = config.set(cuda_graphs=graphs)
    library = SimulatedLibrary(**settings)
    library.target = CUDA(Driver(library), tf32=tf32, recomputed=recomputed)
    provide(library.target)
    ms.set_context(device_target="GPU")
    try:
        yield library
        library.target.driver.synchronize(0)
    finally:
        ms.set_context(device_target="CPU")
        config.set(device_id=0, **before)
        withdraw("GPU")


def counted(library, call):
    """(what the call gives, how often it called each of the driver's functions, by names without cu and Async)."""
    library.counts.clear()
    out = call()
    return out, {name[2:].replace("Async", "").replace("_v2", ""): n for name, n in library.counts.items() if name not in QUIET}


def ptxas():
    """NVIDIA's assembler, where one is installed; None."""
    found = shutil.which("ptxas")
    if found is None:
        try:
            import nvidia.cuda_nvcc as wheel
        except ImportError:
            return None
        found = os.path.join(list(wheel.__path__)[0], "bin", "ptxas")
    return found if os.path.exists(found) else None


def assembled(text, architecture, folder):
    """(registers, bytes of stack, bytes of spills) that NVIDIA's assembler reports of PTX."""
    (folder / "kernel.ptx").write_text(text)
    done = subprocess.run([ptxas(), f"-arch={architecture}", "-v", "kernel.ptx", "-o", "kernel.cubin"], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stack, stores, loads = map(int, re.search(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr).groups())
    return int(re.search(r"Used (\d+) registers", done.stderr)[1]), stack, stores + loads
