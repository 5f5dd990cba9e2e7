"""Modules that are imported when they are used first, by whichever thread comes first."""
import sys
import threading
import time

import pytest

from mindlite.common.lazy import LazyModule

SLOW = """
import {gate}
{gate}.begun.set()
assert {gate}.go_on.wait(60)
answer = 42
"""


def test_a_module_that_another_thread_imports_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    gate = type(sys)("gate_of_a_late_module")
    gate.begun, gate.go_on = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, gate.__name__, gate)
    (tmp_path / "a_slow_late_module.py").write_text(SLOW.format(gate=gate.__name__))
    found, late = [], LazyModule("a_slow_late_module")
    threads = [threading.Thread(target=lambda: found.append(late.answer)) for _ in range(2)]
    threads[0].start()
    assert gate.begun.wait(60)
    threads[1].start()
    threads[1].join(0.2)                         # it waits, or has failed
    gate.go_on.set()
    for thread in threads:
        thread.join()
    monkeypatch.delitem(sys.modules, "a_slow_late_module")
    assert found == [42, 42]


def test_what_a_module_does_not_have_is_told():
    with pytest.raises(AttributeError, match="no_such_thing"):
        LazyModule("mindlite.common.lazy").no_such_thing


def test_a_lazy_module_that_another_thread_imports_is_used_when_it_is_complete(tmp_path, monkeypatch):
    (tmp_path / "slowly_made.py").write_text("import time\ndef first():\n    return second()\n"
                                             "time.sleep(0.3)\ndef second():\n    return 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    slowly, found = LazyModule("slowly_made"), []
    threads = [threading.Thread(target=lambda: found.append(slowly.first())) for _ in range(3)]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    assert found == [2, 2, 2]
