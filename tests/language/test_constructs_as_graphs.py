"""Every construct of Python's functions through the compiler: the value, effects and exceptions are those of Python.

The table of constructs is that of tests/parse; each function is called twice, for the first call may run some of it in
Python to see what it gives.
"""
import importlib.util
import pathlib
import sys

import pytest

from mindlite.compile.jit import JitFunction

PARSE = pathlib.Path(__file__).resolve().parent.parent / "parse"


def table():
    """The module with the table of constructs."""
    sys.path.insert(0, str(PARSE))
    try:
        spec = importlib.util.spec_from_file_location("table_of_constructs", PARSE / "test_constructs.py")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(PARSE))


constructs = table()


@pytest.mark.parametrize("fn, given", constructs.CASES)
def test_a_compiled_function_does_what_python_does(fn, given):
    compiled = JitFunction(fn)
    for _ in range(2):
        expected = constructs.outcome(fn, given)
        assert constructs.outcome(lambda log, *args: compiled(log, *args), given) == expected
