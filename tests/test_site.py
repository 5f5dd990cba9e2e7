"""The reference of `make docs` has every public name, and no docstring's marks are taken for Markdown's; docs/api.md is true."""
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def loaded(path):
    """A script of the project as a module."""
    spec = importlib.util.spec_from_file_location(path.stem + "_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site = loaded(ROOT / "docs" / "site.py")


@pytest.mark.parametrize("room, some", [
    ("mindlite", ["grad", "jit", "vmap", "set_context"]), ("mindlite.ops", ["add", "softmax", "fft", "ctc_loss"]),
    ("mindlite.nn", ["Cell", "Conv2d", "LSTM"]), ("mindlite.Tensor", ["reshape", "asnumpy"]),
    ("mindlite.mint.nn", ["Linear"]), ("mindlite.train", ["Model"]), ("mindlite.dataset.vision", ["Resize"])])
def test_a_room_has_its_names(room, some):
    text = "\n".join(site.pages(room).values())
    assert not [name for name in some if f"\n## {site.plain(name)}\n" not in text]
    assert text.count("\n## ") == len(site.members(room)) > len(some)


def test_what_an_entry_shows():
    def lerp(input, end, *, weight=0.5):
        """input + weight * (end - input), for |weight| < 1.

        input, end : Tensor [.., N]
                     of one dtype;   weight : float
        raises     : ShapeError
        """
    assert site.entry("lerp", lerp) == r"""## lerp

```python
lerp(input, end, *, weight=0.5)
```

input + weight \* (end - input), for \|weight\| &lt; 1.

| argument | |
|---|---|
| input, end | Tensor \[.., N\] of one dtype |
| weight | float |
| raises | ShapeError |
"""


def test_a_docstring_that_is_laid_out_by_hand_stays_so():
    assert site.described("Idea.\n\n    x -> y\n      -> z") == "Idea.\n\n```text\nx -> y\n  -> z\n```"


def test_the_contents_name_every_page(tmp_path):
    contents = site.guides(tmp_path)
    named = [page for part in contents for value in part.values() for page in ([value] if isinstance(value, str) else value)]
    here = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    assert set(named) == here


def test_the_table_of_mindspores_names_is_true():
    """Else: cd tests/mindspore && python make_api.py"""
    make_api = importlib.import_module("make_api")
    assert "make_api" in sys.modules and make_api.PAGE.read_text(encoding="utf-8") == make_api.page()
