"""Errors have one form, and name the user's line in eager mode."""
import ast
import linecache
import sys
import threading

import pytest

import mindlite as ms
from mindlite import ops
from mindlite.common.errors import (ArgumentError, DTypeError, GradientError, GraphSyntaxError, IndexRangeError,
                                    InternalError, MindliteError, MissingAttributeError, NameLookupError, ShapeError,
                                    ValueRangeError, _only_expression_on, placing, user_location)
from mindlite.common.location import Location, is_framework
from mindlite.common.tensor import Tensor

MODEL = """\
def construct(x, w):
    h = ops.matmul(x, w)
    return h
def wide(größe, w):
    ä = "ä"; h = ops.matmul(größe, w)
def over_lines(x, w):
    return ops.tanh(
        ops.matmul(x,
                   w))
def tabbed(x, w):
\tif True:
\t\treturn ops.matmul(x, w)
class Network:
    def construct(self, x, w):
        return (lambda a: x @ w)(1)
"""


@pytest.fixture
def model():
    """The functions of MODEL, compiled as a file named model.py whose text can be read."""
    name = "somewhere/model.py"
    linecache.cache[name] = len(MODEL), None, MODEL.splitlines(True), name
    namespace = {"ops": ops}
    exec(compile(MODEL, name, "exec"), namespace)
    yield namespace
    del linecache.cache[name]


def error_of(function, *args):
    with pytest.raises(MindliteError) as caught:
        function(*args)
    return caught.value


X, W = Tensor([[1.0, 2.0]]), Tensor([[1.0, 2.0]])
exact_columns = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 keeps no columns")


def test_an_error_prints_message_place_caret_note_and_hint():
    linecache.cache["m.py"] = 24, None, ["x = 1\n", "y = f(x, 2)\n"], "m.py"
    error = ShapeError("f: the sizes differ", note="x: f32[3]; 3 != 2", hint="f(x, 3)",
                       location=Location("m.py", 2, 4, 2, 11, "Net.g"))
    assert str(error) == """\
f: the sizes differ
  --> m.py:2, in Net.g
    2 | y = f(x, 2)
      |     ^^^^^^^ x: f32[3]; 3 != 2
  hint: f(x, 3)"""
    del linecache.cache["m.py"]


def test_without_source_the_place_is_still_named():
    error = ShapeError("f: no", note="seen: 3", location=Location("nowhere.py", 7))
    assert str(error) == "f: no\n  --> nowhere.py:7\n      seen: 3"


def test_a_span_over_lines_has_carets_to_the_end_of_the_first():
    linecache.cache["m.py"] = 20, None, ["    y = f(x,\n", "          2)\n"], "m.py"
    lines = Location("m.py", 1, 8, 2, 12).show("note").splitlines()
    assert lines[1:] == ["    1 |     y = f(x,", "      |         ^^^^ note"]
    del linecache.cache["m.py"]


def test_an_error_keeps_its_first_place():
    first, second = Location("a.py", 1), Location("b.py", 2)
    error = ShapeError("no", location=first)
    assert error.at(second) is error and error.location is first


def test_placing_says_where_and_only_in_its_thread():
    here = Location("here.py", 3)
    others = []
    with placing(lambda: here):
        assert ShapeError("no").location is here
        thread = threading.Thread(target=lambda: others.append(ShapeError("no").location))
        thread.start()
        thread.join()
    assert others[0] is not here and ShapeError("no").location is not here


@pytest.mark.parametrize("error, builtin", [
    (ShapeError, ValueError), (DTypeError, TypeError), (ArgumentError, TypeError), (ValueRangeError, ValueError),
    (NameLookupError, NameError), (MissingAttributeError, AttributeError), (IndexRangeError, IndexError),
    (GraphSyntaxError, SyntaxError), (GradientError, TypeError), (InternalError, RuntimeError)])
def test_errors_are_pythons_too(error, builtin):
    made = error("what is wrong")
    assert isinstance(made, builtin) and isinstance(made, MindliteError) and str(made).startswith("what is wrong")


def test_an_eager_error_names_line_and_function(model):
    error = error_of(model["construct"], X, W)
    assert isinstance(error, ShapeError)
    assert (error.location.file, error.location.line, error.location.scope) == ("somewhere/model.py", 2, "construct")
    lines = str(error).splitlines()
    assert lines[2] == "    2 |     h = ops.matmul(x, w)"
    assert lines[3].startswith("      |         ^^^^^^^^^^^^^^^^")


def test_columns_count_characters_not_bytes(model):
    error = error_of(model["wide"], X, W)
    text = error.location.source()
    if sys.version_info >= (3, 11):
        assert text[error.location.col:error.location.end_col] == "ops.matmul(größe, w)"
    caret = str(error).splitlines()[3]
    assert error.location.line == 5 and "^" in caret


def test_a_call_over_several_lines_is_found_where_it_stands(model):
    location = error_of(model["over_lines"], X, W).location
    assert location.line == 8
    if sys.version_info >= (3, 11):
        assert location.source()[location.col:] == "ops.matmul(x,"


@exact_columns
def test_a_caret_stands_under_its_text_also_behind_tabs(model):
    lines = str(error_of(model["tabbed"], X, W)).splitlines()
    source, caret = lines[2], lines[3]
    assert "\t" not in source
    assert source[caret.index("^"):][:caret.count("^")] == "ops.matmul(x, w)"


def test_methods_and_lambdas_have_their_full_name(model):
    location = error_of(lambda: model["Network"]().construct(X, W)).location
    assert location.line == 15
    if sys.version_info >= (3, 11):
        assert location.scope == "Network.construct.<lambda>"


def test_code_without_a_file_is_placed_too():
    namespace = {"ops": ops}
    exec("def f(x, w):\n    return ops.matmul(x, w)", namespace)
    location = error_of(namespace["f"], X, W).location
    assert (location.file, location.line) == ("<string>", 2)


@pytest.mark.parametrize("line, expected", [
    ("    h = ops.matmul(x, w)", "ops.matmul(x, w)"),
    ("  größe = ä(x) ", "ä(x)"),
    ("return \"ä\" + f(x)", "\"ä\" + f(x)"),
    ("x = -y", "-y"),
    ("x = y[3]  # ä", "y[3]"),
    ("    if f(x):", "f(x)"),
    ("  elif größe > f(x):  # ä", "größe > f(x)"),
    ("while x:", "x"),
])
def test_where_python_keeps_no_columns_the_outermost_expression_is_taken(line, expected):
    linecache.cache["old.py"] = len(line), None, [line + "\n"], "old.py"
    found = _only_expression_on(Location("old.py", 1))
    assert line[found.col:found.end_col] == expected
    del linecache.cache["old.py"]


@pytest.mark.parametrize("line", ["f(x,", "", "else:", "x = 3"])
def test_where_nothing_is_to_be_found_the_line_is_the_place(line):
    linecache.cache["old.py"] = len(line), None, [line + "\n"], "old.py"
    spot = Location("old.py", 1)
    assert _only_expression_on(spot) is spot
    del linecache.cache["old.py"]


def test_the_users_frame_is_the_innermost_that_is_not_the_frameworks():
    location = user_location()
    assert location.file == __file__
    assert is_framework(ops.__file__) and not is_framework(__file__)


def test_the_text_is_the_same_in_both_modes():
    def product(x, w):
        return ops.matmul(x, w)

    def total(x, w):
        return ops.reduce_sum(x, axis=5)

    def absent(x, w):
        return x.nothing
    for function in (product, total, absent):
        eager, graph = error_of(function, X, W), error_of(ms.jit(function), X, W)
        assert type(eager) is type(graph)
        if sys.version_info >= (3, 11):
            assert str(eager) == str(graph)


def test_the_sample_above_is_python():
    ast.parse(MODEL)
