"""Every test compiles for itself: what an earlier run left on the disk is not taken
(tests/compile/test_disk_cache.py asks for it).

A FallbackWarning is an error: what a test compiles is a graph. Where Python has to run a call, the test says which statement
and why:

    @pytest.mark.python_runs("items[0].append: the list is an object of Python's")

A test of many cases may run some of them by default, evenly chosen, and all of them among the slow tests:

    @pytest.mark.sampled(3)                                       # every third
"""
import collections
import os

import pytest

os.environ.setdefault("MINDLITE_KEEP_FLOWS", "0")
os.environ.setdefault("MINDLITE_VERIFY_GRAPHS", "1")              # typed graphs are verified behind each pass
os.environ.setdefault("MINDLITE_COMPILE_BESIDE", "0")            # counts decide when something is compiled: tests can say when
IS_AN_ERROR = pytest.mark.filterwarnings("error::mindlite.compile.jit.FallbackWarning")


def pytest_collection_modifyitems(config, items):
    """A FallbackWarning is an error in each test that is not marked with `python_runs`. Names of tests hold no address."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: an address is no name: give ids")
        mark = item.get_closest_marker("python_runs")
        if mark is not None and not (len(mark.args) == 1 and isinstance(mark.args[0], str) and mark.args[0]):
            raise pytest.UsageError(f"{item.nodeid}: python_runs says which statement Python runs, and why")
        if mark is None:
            item.add_marker(IS_AN_ERROR)
    mark_what_is_not_sampled(items)


def mark_what_is_not_sampled(items):
    """Cases of `sampled` tests that do not run by default are slow. Multiples of the golden ratio choose them evenly."""
    seen = collections.Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            name = item.nodeid.split("[")[0]
            if seen[name] * 0.618033988749895 % 1 >= 1 / mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1
