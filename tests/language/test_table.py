"""docs/language.md is the table of constructs that the tests of this folder run."""
import pathlib

from constructs_on_tensors import CONSTRUCTS

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "language.md"
HOW = {"native": "native", "segments": "statement in Python", "python": "function in Python"}


def rows():
    """The lines of the table."""
    return [f"| {c.what} | {HOW[c.how]} | `{c.function.__name__}` |" for c in CONSTRUCTS]


def test_the_page_lists_what_is_tested():
    written = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "`" in line]
    assert written == rows()


def test_most_constructs_are_native():
    native = sum(c.how == "native" for c in CONSTRUCTS)
    assert native >= 0.8 * len(CONSTRUCTS), f"{native} of {len(CONSTRUCTS)}"
