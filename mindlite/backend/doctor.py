"""What this machine offers to mindlite, and what would help: `mindlite doctor` prints it.

    report() -> [("BLAS", "libscipy_openblas64_.so 0.3.30, core Zen, 2 threads", ""),
                 ("oneDNN", "missing", "pip install onednn-cpu-gomp"), ...]
"""
import ctypes.util
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import sys
import tempfile

import numpy as np

from ..common.config import config
from ..common.errors import DeviceError
from . import layouts
from .cpu.blas import blas_facts
from .cpu.onednn import find_onednn, why_not
from .cuda import driver, nvidia
from .machine_code import host_features
from .cpu.target import processors
from .target import current

MISSING = "missing"
VECTORS = ("avx2", "fma", "f16c", "avx512f", "avx512bf16", "amx-tile", "neon", "sve")


def report():
    """A list of (name, state, advice), all texts; the advice is "" where nothing is to be done."""
    return [python(), package("numpy"), package("llvmlite"), package("numba"), blas(), dnn(), cpu(), native_calls(),
            threads(), cache(), cuda(), *nvidia_libraries()]


def python():
    """Python's version; 3.10 to 3.13 are tested."""
    tested = (3, 10) <= sys.version_info[:2] <= (3, 13)
    return ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}",
            "" if tested else "mindlite is tested with Python 3.10 to 3.13")


def native_calls():
    """Whether operators and compiled functions are called below Python, and why not."""
    why = layouts.reason()
    if not why:
        return ("calls", "below Python: its objects lie as expected", "")
    return ("calls", f"by Python code: {why}", "" if not config.native_calls else
            "eager operators and calls of compiled functions give the same results and take more time")


def package(name):
    """The version of an installed package."""
    try:
        return (name, importlib.metadata.version(name), "")
    except importlib.metadata.PackageNotFoundError:
        return (name, MISSING, f"pip install {name}")


def blas():
    """The BLAS, the CPU that it takes this one for, and a warning if the environment says so."""
    facts = blas_facts()
    if not facts:
        return ("BLAS", MISSING, f"NumPy {np.__version__} brings none that can be called: pip install scipy-openblas64")
    core = os.environ.get("OPENBLAS_CORETYPE")
    advice = "" if not core else (f"OPENBLAS_CORETYPE={core} decides which code OpenBLAS runs, not your CPU; unset it "
                                  "unless you know that it guesses wrong")
    return ("BLAS", f"{facts['name']} {facts['version']}, core {facts['core']}, {facts['threads']} threads", advice)


def dnn():
    """oneDNN, or how to get it."""
    library = find_onednn()
    if library is not None:
        return ("oneDNN", f"{library.version()} ({library.path})", "")
    reason, cure = why_not()
    if reason == "not installed":
        return ("oneDNN", MISSING, f"convolutions with groups, and gradients with strides, take up to 1.5 times as long: {cure}")
    return ("oneDNN", reason, cure)


def cpu():
    """The vector units that LLVM sees."""
    features = host_features()
    present = [name for name in VECTORS if features.get(name)]
    return ("CPU", ", ".join(present) or "no vector unit that is known",
            "" if present else "kernels will use scalar code")


def threads():
    """How many threads kernels use, and how many cores there are."""
    cores, wanted = processors(), current().threads
    return ("threads", f"{wanted} on {cores} cores",
            f"more threads than cores slow kernels down: MINDLITE_THREADS={cores}" if wanted > cores else "")


def _size(path):
    """Bytes of a file; None for what is no file, or one that another process has removed."""
    try:
        return path.stat().st_size if path.is_file() else None
    except FileNotFoundError:
        return None


def cache():
    """Where compiled kernels are cached, how large that is, and whether it can be written."""
    if not config.cache_dir:
        return ("cache", "off", "set MINDLITE_CACHE_DIR, or every process compiles anew")
    folder = pathlib.Path(config.cache_dir)
    sizes = [size for size in map(_size, folder.rglob("*")) if size is not None]
    parent = next(p for p in (folder, *folder.parents) if p.exists())
    writable = parent.is_dir() and _writable(parent)
    return ("cache", f"{folder}, {len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB",
            "" if writable else f"{parent} cannot be written: set MINDLITE_CACHE_DIR")


def _writable(directory):
    """Try it: permissions do not tell of read-only file systems."""
    try:
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def cuda():
    """NVIDIA's driver and the GPUs that it drives; what they lack."""
    if config.cuda == "simulator":
        return ("CUDA", "simulated: kernels for a GPU run on the CPU", "unset MINDLITE_CUDA to use the GPUs of this machine")
    if ctypes.util.find_library("cuda") is None and driver.libcuda() is None:
        return ("CUDA", "no driver", "")
    library = driver.libcuda()
    if library is None:
        return ("CUDA", "a driver older than CUDA 12.0", "stream-ordered memory and graphs are needed: install a newer driver")
    try:
        found = driver.Driver(library)
        gpus = [found.gpu(index) for index in range(found.count)]
    except DeviceError as error:
        return ("CUDA", f"the driver does not answer: {error.message}", "nvidia-smi says more")
    names = ", ".join(f"{gpu.name} ({gpu.architecture}, {gpu.memory / 2**30:.0f} GiB)" for gpu in gpus)
    return ("CUDA", f"driver for CUDA {found.version}: {names}", "")


def nvidia_libraries():
    """The libraries that the GPUs' kernels come from, where there are GPUs; what does their work otherwise."""
    found = driver.libcuda() if config.cuda != "simulator" else None
    if found is None:
        return []
    try:
        version = driver.Driver(found).version
    except DeviceError:
        return []
    rows = []
    for name in nvidia.LIBRARIES:
        loaded = found.nvidia(name)
        missing = f"{nvidia.USES[name]}: {nvidia.advice(name, version)}"
        rows.append((name, MISSING, missing) if loaded is None else (name, loaded.path, ""))
    return rows
