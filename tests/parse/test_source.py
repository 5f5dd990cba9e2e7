"""Reading: wherever a function was typed, its text and its places are found, or the error says what to do."""
import linecache
import subprocess
import sys
import textwrap

import gast
import pytest

from mindlite.common.errors import GraphSyntaxError
from mindlite.parse.parse import parse_function
from mindlite.parse.read import _by_code, _parse, read


def body_of(fn):
    """The text of what a function or lambda does."""
    source = read(fn)
    body = source.tree.body
    return source.segment(body[-1] if isinstance(body, list) else body)


def test_a_function_of_a_file_has_the_places_of_the_file():
    def f(x):
        return x + "ä" + (x *
                          2)
    source = read(f)
    assert source.file == __file__
    place = source.location(source.tree.body[0].value)
    assert place.line == f.__code__.co_firstlineno + 1 and place.end_line == place.line + 1
    assert place.source()[place.col:] == 'x + "ä" + (x *' and place.scope == (
        "test_a_function_of_a_file_has_the_places_of_the_file.f")
    assert source.segment(source.tree.body[0].value.left) == 'x + "ä"'
    right = source.location(source.tree.body[0].value.right)
    assert place.source()[right.col:] == "x *" and right.end_col == 27


def test_two_lambdas_on_a_line_are_told_apart():
    f, g = (lambda x: x + 1), (lambda x: x + 2)
    assert (body_of(f), body_of(g)) == ("x + 1", "x + 2")


def test_a_lambda_in_a_lambda_on_one_line():
    f = lambda x: lambda x: x                                             # noqa: E731
    assert (body_of(f), body_of(f(1))) == ("lambda x: x", "x")


def test_lambdas_without_columns_are_told_apart_by_their_code():
    text = "fs = [lambda x: x + 1, lambda x: x + 2, lambda x: y.z, lambda x: lambda x: x, lambda x, y: x]\n"
    namespace = {}
    exec(compile(text, "<lambdas>", "exec"), namespace)
    module = _parse(text)
    candidates = [(node, ()) for node in module.body[0].value.elts]
    for number, f in enumerate(namespace["fs"]):
        assert _by_code(candidates, module, f.__code__) == [candidates[number]]


def test_lambdas_over_several_lines():
    fs = [lambda x: x,
          lambda x: (x +
                     3)]
    assert body_of(fs[1]).split() == ["x", "+", "3"]


def decorator(*arguments):
    """Leaves a function as it is."""
    return lambda fn: fn


@decorator(1,
           2)
@decorator(lambda x: x)
def decorated(x):
    """A docstring."""
    return x


def test_a_decorated_function_is_found():
    assert body_of(decorated) == "return x"


class Outer:
    """Classes in classes, with private names."""

    class Inner:
        """The owner of the names."""

        def method(self, __private):
            """Uses private names."""
            return self.__field + __private


def commented(x):
    y = x
# a comment that is less indented than the body
    text = """
and so is this"""
    return y, text


def test_a_function_ends_where_python_ends_it_whatever_the_indentation_of_comments_and_strings():
    source = read(commented)
    assert isinstance(source.tree.body[-1], gast.Return)
    assert source.tree.lineno == commented.__code__.co_firstlineno


def test_private_names_belong_to_the_innermost_class():
    source = read(Outer.Inner.method)
    assert source.scope == "Outer.Inner.method"
    names = {node.attr for node in gast.walk(source.tree) if isinstance(node, gast.Attribute)}
    assert names == {"_Inner__field"}
    assert read(Outer.Inner().method).tree.args.args[1].id == "_Inner__private"


def test_exec_with_the_text_in_linecache():
    text = "def f(x):\n    return x\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    namespace = {}
    exec(compile(text, "<cell 1>", "exec"), namespace)
    assert read(namespace["f"]).file == "<cell 1>"


def test_exec_with_the_text_in_its_globals():
    sources = []
    for text in ("def f(x):\n    return x + 1\n", "def f(x):\n    return x - 1\n"):
        namespace = {"__source__": text}
        exec(text, namespace)
        sources.append(read(namespace["f"]))
        assert sources[-1].location(sources[-1].tree.body[0]).source() == text.splitlines()[1]
    assert sources[0].file != sources[1].file


def test_exec_without_its_text_says_what_to_do():
    namespace = {}
    exec("def f(x):\n    return x\n", namespace)
    with pytest.raises(GraphSyntaxError, match="the source of 'f' is not to be found") as caught:
        read(namespace["f"])
    assert "__source__" in caught.value.hint


def test_a_wrong_text_is_not_taken():
    namespace = {"__source__": "def f(x):\n    return x + 2\n"}
    exec("def f(x):\n    return x + 1\n", namespace)
    with pytest.raises(GraphSyntaxError):
        read(namespace["f"])


SCRIPT = """
from mindlite.parse.read import read
def f(x):
    return x + 1
g = [lambda x: x * 2, lambda x: x * 3][1]
for fn in (f, g):
    source = read(fn)
    node = source.tree.body[-1] if isinstance(source.tree.body, list) else source.tree.body
    print(source.location(node).line, source.segment(node), "|", source.location(node).source())
"""
EXPECTED = "4 return x + 1 |     return x + 1\n5 x * 3 | g = [lambda x: x * 2, lambda x: x * 3][1]\n"


def test_python_minus_c():
    assert subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout == EXPECTED


def test_python_reading_a_file_from_standard_input(tmp_path):
    path = tmp_path / "script"
    path.write_text(SCRIPT)
    with open(path) as script:
        result = subprocess.run([sys.executable], stdin=script, capture_output=True, text=True, check=True)
    assert result.stdout == EXPECTED


def test_the_history_of_the_interactive_interpreter():
    readline = pytest.importorskip("readline")
    code = """
        import readline, code
        from mindlite.parse.read import read
        typed = ["f = 1", "def f(x):", "    return x + 1", "", "def f(x):", "    if x:", "", "        return x + 2", "",
                 "g = f", "@staticmethod", "def f(x):", "    return x + 3", "", "h = lambda x: x", "f"]
        for line in typed:
            readline.add_history(line)
        for text in ("def f(x):\\n    return x + 1\\n", "def f(x):\\n    if x:\\n\\n        return x + 2\\n",
                     "@staticmethod\\ndef f(x):\\n    return x + 3\\n", "f = lambda x: x\\n"):
            exec(compile(text, "<stdin>", "single"))
            source = read(getattr(f, "__func__", f))
            print(source.location(source.tree).line, source.file, source.text.strip().splitlines()[-1].strip())
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False,
                            stdin=subprocess.DEVNULL)
    assert result.stdout.splitlines() == ["1 <stdin>#1 return x + 1", "1 <stdin>#2 return x + 2",
                                          "2 <stdin>#3 return x + 3", "1 <stdin>#4 h = lambda x: x"], result.stderr
    assert readline


def test_a_coroutine_is_refused_at_its_line():
    async def coroutine():
        pass

    async def generate():
        yield 1
    for fn, kind in (generate, "asynchronous generator"), (coroutine, "coroutine"):
        with pytest.raises(GraphSyntaxError, match=f"is a {kind}") as caught:
            parse_function(fn)
        assert caught.value.location.line == fn.__code__.co_firstlineno


def test_a_graph_is_parsed_once_per_code_and_forgotten_with_it():
    def make(n):
        return lambda x: x + n
    assert parse_function(make(1)) is parse_function(make(2))
    namespace = {"__source__": "def f(x): return x\n"}
    exec(namespace["__source__"], namespace)
    first = parse_function(namespace.pop("f"))
    exec(namespace["__source__"], namespace)
    assert parse_function(namespace["f"]) is not first


def test_constant_lambdas_on_one_line_are_told_apart():
    functions = (lambda a: None, lambda a: 3, lambda a: 3.0, lambda a: "x", lambda a: (
        4))
    assert [parse_function(f).output.args[0].value for f in functions] == [None, 3, 3.0, "x", 4]
    for f in (lambda a: None, lambda a: 3):
        assert parse_function(f).output.args[0].value == f(0)
