"""The pages that people read first are run: every Python block in order, in one namespace; a `text` block after it is
what it prints, where `...` stands for anything.

A block keeps its line numbers: what it prints as `tour.py:12` is line 12 of tour.md.
"""
import contextlib
import doctest
import io
import pathlib
import re

import pytest

from mindlite.common.config import config
from mindlite.mindir.primitive import PRIMITIVES

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/tour.md", "docs/training.md", "docs/dataset.md", "docs/contributing.md", "docs/parallel.md",
         *(f.relative_to(ROOT).as_posix() for f in sorted(ROOT.glob("docs/tutorial/*.md")))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(language, code, line of its first line) of each block of a page."""
    return [(m.group(1), m.group(2), text.count("\n", 0, m.start(2))) for m in BLOCK.finditer(text)]


def programs(text):
    """(code with its place kept by blank lines, the expected output or None, its line) of each Python block."""
    found = blocks(text)
    for k, (language, code, line) in enumerate(found):
        if language == "python":
            after = found[k + 1] if k + 1 < len(found) and found[k + 1][0] == "text" else None
            yield code, after and after[1], line


def run_page(text, directory, name):
    """Run a page; gives [(line, expected, printed)] of the blocks whose output is not as written."""
    lines = [""] * (text.count("\n") + 1)
    for code, _, line in programs(text):
        lines[line:line + code.count("\n")] = code.splitlines()
    file = directory / f"{name}.py"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    namespace, wrong = {"__name__": name, "__file__": str(file)}, []
    for code, expected, line in programs(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, str(file), "exec"), namespace)
        if expected is not None and not doctest.OutputChecker().check_output(
                expected, printed.getvalue(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
            wrong.append((line, expected, printed.getvalue()))
    return wrong


@pytest.fixture(autouse=True)
def _settings_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)                  # pages write files
    before = {name: getattr(config, name) for name in ("mode", "jit_level", "repeatable")}
    yield
    config.set(**before)
    for name in [name for name, prim in PRIMITIVES.items() if prim.origin and prim.origin[0].startswith(str(tmp_path))]:
        del PRIMITIVES[name]                      # what a page declared


@pytest.mark.python_runs("pages show what Python runs: the tour's `power` leaves 64 bits")
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_is_what_happens(page, tmp_path):
    text = (ROOT / page).read_text(encoding="utf-8")
    wrong = run_page(text, tmp_path, pathlib.Path(page).stem)
    report = "\n".join(f"--- {page}, block at line {line}: written\n{expected}--- printed\n{printed}"
                       for line, expected, printed in wrong)
    assert not wrong, "\n" + report


def test_the_tour_shows_and_checks_something():
    found = list(programs((ROOT / "docs/tour.md").read_text(encoding="utf-8")))
    assert len(found) >= 10 and sum(expected is not None for _, expected, _ in found) >= 8


def test_a_page_that_lies_is_caught(tmp_path):
    page = "# x\n```python\nprint(1)\n```\n```text\n2\n```\n```python\nprint(3, 4)\n```\n```text\n3 ...\n```\n"
    assert run_page(page, tmp_path, "page") == [(2, "2\n", "1\n")]


ALL = ["README.md", "CHANGELOG.md", *(f.relative_to(ROOT).as_posix() for f in sorted(ROOT.glob("docs/**/*.md")))]


@pytest.mark.parametrize("page", ALL)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("http") or ((ROOT / page).parent / target).exists(), target


FILES = [f.as_posix() for d in ("mindlite", "tests", "bench", "docs", "examples") for f in ROOT.glob(f"{d}/**/*.*")]


@pytest.mark.parametrize("page", sorted({*ALL} - {"CHANGELOG.md"}))
def test_files_that_a_page_names_are_there(page):
    """`ad/reverse.py` is a file whose path ends so. What blocks of code write, or pages call theirs, is no such name."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    missing = [name for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|md))\b", text)
               if not any(file.endswith(f"/{name}") for file in FILES)]
    assert not missing, missing
