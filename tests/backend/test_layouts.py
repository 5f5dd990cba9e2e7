"""Where objects keep their fields is probed without a crash, and where it is unknown everything goes by Python."""
import collections
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from mindlite.backend import doctor, layouts
from mindlite.common.config import config

KNOWN = platform.python_implementation() == "CPython" and layouts.OLDEST <= sys.version_info[:2] <= layouts.NEWEST and \
    getattr(sys, "_is_gil_enabled", lambda: True)()
PROGRAM = """
import numpy as np
import mindlite as ms
from mindlite import ops
from mindlite.backend import doctor, layouts
from mindlite.pynative import native
x, w = ms.Tensor([1.0, 2.0, 3.0]), ms.Parameter(ms.Tensor([2.0, 3.0, 4.0]), name="w")
f = ms.jit(lambda x: ops.tanh(x * w) + 1)
for _ in range(100):
    y = ops.tanh(x * w) + 1
    z = f(x)
    d = ms.grad(lambda x: (x * w * x).sum())(x)
assert np.allclose(y.array, z.array) and np.allclose(d.array, 2 * x.array * w.array), (y, z, d)
print(type(ms.Tensor.__add__).__name__, type(type(f).__call__).__name__, layouts.available(), native.installed is not None,
      doctor.native_calls()[1], y.array.tobytes().hex())
"""


def run(before="", **environment):
    made = subprocess.run([sys.executable, "-c", before + PROGRAM], capture_output=True, text=True,
                          env={**os.environ, **environment})
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def test_an_address_that_is_none_gives_an_error_and_no_crash():
    for address in (0, 8, 1 << 46, (1 << 63) + 8):
        with pytest.raises(OSError):
            layouts.words_at(address, 2)
    held = np.arange(4)
    assert layouts.words_at(held.ctypes.data, 4) == [0, 1, 2, 3]


@pytest.mark.skipif(not KNOWN, reason="another interpreter")
def test_this_interpreter_is_known():
    assert layouts.available() and layouts.reason() == "" and doctor.native_calls()[1].startswith("below Python")


@pytest.mark.parametrize("what, change", [
    ("free-threaded", lambda patch: patch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)),
    ("has not been tried", lambda patch: patch.setattr(sys, "version_info", (3, 15, 0))),
    ("has not been tried", lambda patch: patch.setattr(sys, "version_info", (3, 9, 0))),
    ("PyPy", lambda patch: patch.setattr(platform, "python_implementation", lambda: "PyPy")),
    ("MINDLITE_NATIVE_CALLS", lambda patch: patch.setitem(config.__dict__, "native_calls", False))])
def test_what_is_unknown_is_refused_with_a_sentence(monkeypatch, what, change):
    change(monkeypatch)
    with pytest.raises(layouts.Unknown, match=what):
        layouts.interpreter()


@pytest.mark.skipif(not KNOWN, reason="another interpreter")
@pytest.mark.parametrize("shift", [-1, 1, 2])
def test_fields_that_lie_elsewhere_are_noticed(monkeypatch, shift):
    """Each field that is probed is moved, one after the other."""
    real, asked = layouts.words_at, collections.Counter()
    monkeypatch.setattr(layouts, "words_at", lambda address, count: asked.update("n") or real(address, count))
    layouts._probe()
    for number in range(asked.total()):
        left = iter(range(asked.total()))

        def moved(address, count):
            return real(address + 8 * shift if next(left) == number else address, count)
        monkeypatch.setattr(layouts, "words_at", moved)
        with pytest.raises((layouts.Unknown, OSError)):
            layouts._probe()


@pytest.mark.skipif(not layouts.available(), reason="another interpreter")
def test_only_loops_of_numpys_own_library_are_called():
    address, _ = layouts.ufunc_loop(np.add, "fff")
    assert layouts.is_numpys(address) and not layouts.is_numpys(id(np.add)) and not layouts.is_numpys(0)
    assert layouts.ufunc_loop(np.add, "fdf") is None                # no such loop


def test_the_switch_turns_machine_code_off_and_the_results_are_the_same():
    on, off = run().split(), run(MINDLITE_NATIVE_CALLS="0")
    assert off.startswith("function function False False by Python code: switched off by MINDLITE_NATIVE_CALLS")
    assert off.split()[-1] == on[-1]
    if KNOWN:
        assert on[:4] == ["method_descriptor", "method_descriptor", "True", "True"]


def test_a_free_threaded_build_runs_by_python_alone():
    found = run("import sys; sys._is_gil_enabled = lambda: False\n")
    assert found.startswith("function function False False by Python code: objects of a free-threaded")


def test_the_switch_is_decided_at_import():
    with pytest.raises(AttributeError, match="set MINDLITE_NATIVE_CALLS in the environment"):
        config.set(native_calls=False)
