"""Results of some MB lie in memory that was used before: a step that frees several of them together gets no new pages."""
import ctypes
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(getattr(ctypes.CDLL(None), "mallopt", None) is None, reason="another malloc")
PROGRAM = """
import resource
import numpy as np
import mindlite as ms
from mindlite import Tensor, ops

x = Tensor(np.ones(300_000, np.float32))


def step():
    return [x * 2.0 for _ in range(6)]


for _ in range(10):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = 10 * 6 * 300_000 * 4 // 4096                         # of all results


def faults(**environment):
    """New pages of ten steps, in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_", "MINDLITE_KEPT"))}
    return int(subprocess.run([sys.executable, "-c", PROGRAM], env={**kept, **environment}, check=True, capture_output=True,
                              text=True).stdout)


def test_steps_that_free_several_results_get_no_new_pages():
    assert faults() < PAGES / 20


@pytest.mark.parametrize("environment", [{"MINDLITE_KEPT_MEMORY": "0"}, {"MALLOC_TRIM_THRESHOLD_": "131072"},
                                         {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=131072"}])
def test_malloc_is_left_as_it_is_where_it_was_told(environment):
    assert faults(**environment) > PAGES / 2
