"""Exceptions inside compiled functions arrive as themselves, show the user's line, and come after what happened
before."""
import traceback

import numpy as np
import pytest

from mindlite import Tensor, jit
from mindlite.common.config import config
from mindlite.compile.jit import JitFunction


class Mine(Exception):
    """A user's exception."""


def vector(*values):
    return Tensor(np.array(values))


def lines_of(error):
    """The source lines of a traceback."""
    return [frame.line for frame in traceback.extract_tb(error.__traceback__)]


def test_an_exception_on_a_run_time_condition_shows_the_line_that_raises():
    def check(x):
        if x.sum() > 3:
            raise Mine(f"too large: {x.sum()}")
        return x * 2
    f = JitFunction(check)
    assert f(vector(1.0, 1.0)).asnumpy().tolist() == [2.0, 2.0]
    for _ in range(2):
        with pytest.raises(Mine, match="too large: 4") as caught:
            f(vector(2.0, 2.0))
        assert lines_of(caught.value)[-1] == 'raise Mine(f"too large: {x.sum()}")'
    assert f(vector(1.0, 1.0)).asnumpy().tolist() == [2.0, 2.0] and len(f.variants) == 1


def test_an_exception_that_is_certain_shows_the_users_frames_and_comes_after_the_effects():
    def inner(log):
        log.append("before")
        return log[7]

    def outer(x, log):
        return inner(log) + x
    f = JitFunction(outer)
    for _ in range(2):
        log = []
        with pytest.raises(IndexError, match="list index out of range") as caught:
            f(vector(1.0), log)
        assert log == ["before"]
        assert lines_of(caught.value)[-2:] == ["return inner(log) + x", "return log[7]"]


def test_an_exception_of_a_function_that_runs_in_python_shows_its_frame():
    def sort(x):
        return np.stack([x.asnumpy(), np.zeros(5)])
    for _ in range(2):
        f = JitFunction(lambda x: sort(x))
        with pytest.raises(ValueError, match="same shape") as caught:
            f(vector(1.0))
        lines = lines_of(caught.value)
        outer, inner = "f = JitFunction(lambda x: sort(x))", "return np.stack([x.asnumpy(), np.zeros(5)])"
        assert lines.index(outer) < lines.index(inner)


def test_exceptions_keep_their_cause_and_arguments():
    def chain(x, n):
        if n:
            raise Mine("outer", n) from KeyError("cause")
        return x
    f = JitFunction(chain)
    with pytest.raises(Mine) as caught:
        f(vector(1.0), 3)
    assert caught.value.args == ("outer", 3) and isinstance(caught.value.__cause__, KeyError)


def test_a_wrong_call_says_what_python_says():
    def two(a, b):
        return a + b
    f = JitFunction(lambda x: two(x))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        f(vector(1.0))


def test_python_code_that_gives_another_type_is_not_run_twice_and_compiled_for_both_then():
    given = iter([1, 1, 2.5, 3.5, 4])
    f = JitFunction(lambda x: x * next(given))
    found = [f(vector(1.0)).asnumpy().tolist() for _ in range(5)]
    assert found == [[1.0], [1.0], [2.5], [3.5], [4.0]] and f.runs_in_python == 2 and not f.in_python


def low(x):
    if x.sum() > 3:
        raise Mine("deep")
    return x


def middle(x):
    return low(x) * 2


@pytest.mark.parametrize("prints", [False, True])
def test_the_traceback_shows_the_users_calls_and_none_of_the_compilers_frames(prints, capsys):
    def top(x):
        if prints:
            print("before")
        return middle(x) + 1
    f, errors = jit(top), []
    for _ in range(3):                                        # the first call, the second, the short way
        with pytest.raises(Mine, match="deep") as caught:
            f(vector(2.0, 2.0))
        errors.append(caught.value)
        entries = traceback.extract_tb(caught.value.__traceback__)
        users = [e.line for e in entries if e.filename == __file__]
        assert users[1:] == ["return middle(x) + 1", "return low(x) * 2", 'raise Mine("deep")']
        assert len(entries) - len(users) <= 2                 # the call of the compiled function
        assert caught.value.__context__ is None
    assert len({id(error) for error in errors}) == 3
    assert capsys.readouterr().out == "before\n" * 3 * prints


def test_show_framework_frames_keeps_the_compilers_frames_in_the_traceback():
    f = jit(lambda x: low(x))
    before = config.set(show_framework_frames=True)
    try:
        with pytest.raises(Mine) as caught:
            f(vector(2.0, 2.0))
    finally:
        config.set(**before)
    assert "decide" in [e.name for e in traceback.extract_tb(caught.value.__traceback__)]


def test_an_exception_of_a_users_class_is_made_anew_in_each_run_and_keeps_what_it_holds():
    class Detailed(Exception):
        def __init__(self, code, text):
            super().__init__(f"{code}: {text}")
            self.code = code

    def check(x):
        if x.sum() > 3:
            raise Detailed(7, "seven") from KeyError("k")
        return x
    f, seen = jit(check), []
    f(vector(1.0))
    for _ in range(2):
        with pytest.raises(Detailed, match="7: seven") as caught:
            f(vector(5.0))
        assert caught.value.code == 7 and isinstance(caught.value.__cause__, KeyError)
        seen.append(caught.value)
    assert seen[0] is not seen[1]


def test_an_exception_that_holds_a_tensor_comes_after_what_happened_before(capsys):
    log = []

    def f(x):
        log.append("before")
        print("before")
        if x.sum() > 1:
            raise ValueError(x)
        log.append("behind")
        return x
    jitted = jit(f)
    for values in (1.0, 2.0), (0.0, 0.0), (1.0, 2.0), (3.0, 0.0, 1.0):
        ends = []
        for function in f, jitted:
            log.clear()
            try:
                end = function(vector(*values))
            except ValueError as error:
                end = error.args
            ends.append((repr(end), list(log), capsys.readouterr().out))
        assert ends[0] == ends[1]
