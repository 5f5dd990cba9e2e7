"""Functions of Python's own library, run as graphs: what they compute stays the same."""
import difflib
import fractions
import inspect
import json.decoder
import json.scanner
import re
import string
import textwrap
import types
from urllib import parse as urls

import pytest
from interpreter import run

from mindlite.parse.parse import parse_function

sre = re._parser if hasattr(re, "_parser") else re.sre_parse             # from Python 3.11 on, and before


def as_graph(fn):
    """`fn`, which runs its graph when it is called."""
    graph = parse_function(fn)

    def through_graph(*args, **kwargs):
        through_graph.calls += 1
        return run(graph, fn, *args, **kwargs)
    through_graph.calls = 0
    return through_graph


def replaceable(value):
    """Is it a plain function?"""
    suspended = inspect.CO_GENERATOR | inspect.CO_COROUTINE
    return (isinstance(value, types.FunctionType) and not value.__code__.co_flags & suspended
            and not hasattr(value, "__wrapped__") and not value.__code__.co_filename.startswith("<"))


@pytest.fixture
def through_graphs(monkeypatch):
    """through_graphs(owner, ...): run the functions of these modules and classes as graphs."""
    made = []

    def replace(*owners):
        for owner in owners:
            for name, value in list(vars(owner).items()):
                if replaceable(value) and (not inspect.ismodule(owner) or value.__module__ == owner.__name__):
                    made.append(as_graph(value))
                    monkeypatch.setattr(owner, name, made[-1])
    yield replace
    assert any(fn.calls for fn in made)


TEXT = "It was a dark and stormy-looking night;\n\tthe rain fell in torrents -- except at occasional intervals. " * 2


def test_text_is_wrapped(through_graphs):
    expected = [textwrap.wrap(TEXT, width, **more) for width in (7, 30) for more in (
        {}, {"max_lines": 3}, {"break_long_words": False, "fix_sentence_endings": True, "subsequent_indent": "  "})]
    expected.append(textwrap.dedent("  a\n    b\n\n  c"))
    through_graphs(textwrap, textwrap.TextWrapper)
    assert expected == [textwrap.wrap(TEXT, width, **more) for width in (7, 30) for more in (
        {}, {"max_lines": 3}, {"break_long_words": False, "fix_sentence_endings": True, "subsequent_indent": "  "})
    ] + [textwrap.dedent("  a\n    b\n\n  c")]


@pytest.mark.parametrize("text", ['{"a": [1, -2.5e3, true, null, {}], "b\\u00e4\\n": "x"}', "[]", "[1, 2",
                                  '{"a" 1}', '"\\q"', "[NaN, -Infinity]"])
def test_json_is_read(through_graphs, text):
    def outcome():
        decoder = json.decoder.JSONDecoder()
        decoder.parse_object, decoder.parse_array = json.decoder.JSONObject, json.decoder.JSONArray
        decoder.parse_string = json.decoder.py_scanstring
        decoder.scan_once = json.scanner.py_make_scanner(decoder)
        try:
            return repr(decoder.decode(text))
        except ValueError as error:
            return str(error)
    expected = outcome()
    through_graphs(json.decoder, json.scanner, json.decoder.JSONDecoder)
    assert outcome() == expected


def test_sequences_are_compared(through_graphs):
    def outcome():
        matcher = difflib.SequenceMatcher(None, "private volatile Thread;", "private Thread current;", autojunk=True)
        return (matcher.get_matching_blocks(), matcher.get_opcodes(), matcher.ratio(), matcher.quick_ratio(),
                difflib.get_close_matches("appel", ["ape", "apple", "peach", "puppy"]))
    expected = outcome()
    through_graphs(difflib.SequenceMatcher, difflib)
    assert outcome() == expected


def test_fractions_are_calculated(through_graphs):
    def outcome():
        a, b = fractions.Fraction("3.25"), fractions.Fraction(-7, 3)
        return (str(a + b), a * b, a ** 2, a // b, a % b, round(b, 1), a < b, a == 3.25, hash(b),
                b.limit_denominator(2), fractions.Fraction(0.1).limit_denominator(100), int(b), divmod(a, 2))
    expected = outcome()
    through_graphs(fractions.Fraction)
    assert outcome() == expected


@pytest.mark.parametrize("pattern", ["a(b|c)*[^d-f]+?(?P<n>x{2,3})(?=y)\\1", "(?i:A.)(?<!q)\\d\\s$", "(unclosed",
                                     "[z-a]"])
def test_regular_expressions_are_parsed(through_graphs, pattern):
    def outcome():
        try:
            return str(sre.parse(pattern).data)
        except re.error as error:
            return str(error)
    expected = outcome()
    through_graphs(sre, sre.Tokenizer, sre.SubPattern, sre.State)
    assert outcome() == expected


def test_addresses_and_templates(through_graphs):
    def outcome():
        return (urls.urlsplit("http://user@host:80/a;b?q=1#f"), urls.urljoin("http://a/b/c/d;p?q", "../../g;x=1/./y"),
                urls.quote("a b/ä"), urls.unquote("a%20b%C3"), urls.parse_qs("a=1&b=2&a=3"),
                urls.urlencode({"k": [1, 2]}, True),
                string.Template("$x and ${y} $$ $z").safe_substitute(x=1, y=2), string.capwords("a bc  d"))
    expected = outcome()
    through_graphs(urls, string, string.Template)
    assert outcome() == expected
