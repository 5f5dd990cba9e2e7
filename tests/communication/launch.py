"""Programs run as several processes by mpiexec, each with a hard time limit; skipped, with the reason, where MPI is missing."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

STARTER = next((str(path) for path in (pathlib.Path(sys.executable).parent / "mpiexec", shutil.which("mpiexec"))
                if path and os.access(path, os.X_OK)), None)
HERE = pathlib.Path(__file__).resolve().parents[2]


def needs_mpi():
    """Skip the test where mpi4py or mpiexec is missing."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'mindlite[mpi]'")
    if STARTER is None:
        pytest.skip("there is no mpiexec: pip install 'mindlite[mpi]'")


def start(command, limit=400):
    """(status, standard output, standard error) of a command; it and all that it has started are killed at the limit."""
    env = {**os.environ, "PYTHONPATH": str(HERE), "MINDLITE_COMPILE_WORKERS": "0"}
    env.setdefault("MINDLITE_THREADS", "1")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"not ended after {limit} seconds\n{out}\n{err}")
    return process.returncode, out, err


def mpirun(count, file, *arguments, limit=400):
    """`start` of a Python program as `count` ranks."""
    return start([STARTER, "-n", str(count), sys.executable, str(file), *arguments], limit)
