"""Writes what `make docs` makes a site of: the pages of docs/, and a reference of every public name.

    python docs/site.py DIRECTORY && python -m mkdocs build -f DIRECTORY/mkdocs.yml

The reference is made of the signatures and docstrings of what is there. A name stands where its room offers it; what it is
(a function, an operator, a class) is seen from the object alone. A room of many names has a page for each letter.

    room -> {name: object} -> "## name", the call, the docstring's sentences, a table of its fields
"""
import importlib
import inspect
import json
import pathlib
import re
import shutil
import sys
import typing

from mindlite import nn
from mindlite.common.tensor import Parameter, Tensor
from mindlite.mindir.primitive import Primitive

DOCS = pathlib.Path(__file__).resolve().parent
GUIDES = ("tour", "language", "dynamic", "training", "dataset", "parallel", "cuda", "performance", "differences",
          "special_points", "contributing", "api")
ROOMS = ("mindlite", "mindlite.nn", "mindlite.ops", "mindlite.Tensor", "mindlite.Parameter", "mindlite.nn.Cell", "mindlite.mint",
         "mindlite.mint.nn", "mindlite.mint.nn.functional", "mindlite.mint.linalg", "mindlite.mint.special",
         "mindlite.mint.optim", "mindlite.numpy", "mindlite.nn.probability.distribution", "mindlite.nn.probability.bijector",
         "mindlite.nn.probability.bnn_layers", "mindlite.scipy.linalg", "mindlite.scipy.optimize", "mindlite.scipy.fft",
         "mindlite.dataset", "mindlite.dataset.transforms", "mindlite.dataset.vision", "mindlite.dataset.text",
         "mindlite.dataset.audio", "mindlite.mindrecord", "mindlite.train", "mindlite.amp", "mindlite.parallel",
         "mindlite.communication", "mindlite.debug", "mindlite.boost")
CLASSES = {"mindlite.Tensor": Tensor, "mindlite.Parameter": Parameter, "mindlite.nn.Cell": nn.Cell}
MOST = 150                                               # a room with more names has a page for each letter
FIELD = re.compile(r"([\w*., /()]{1,60}?)\s+: +(.*)")     # "axis, keepdims : int or tuple", "out    : like x"


def members(room: str) -> dict[str, typing.Any]:
    """{name: object} of what a room offers; of a class, what it adds to the classes that have a page of their own."""
    if room in CLASSES:
        place = CLASSES[room]
        inherited = {name for other in place.__mro__[1:] for name in vars(other)}
        names = [name for name in vars(place) if name not in inherited]
    else:
        place = importlib.import_module(room)
        names = list(getattr(place, "__all__", ())) or dir(place)
    found = {name: getattr(place, name) for name in sorted(names, key=str.lower) if not name.startswith("_")}
    return {name: value for name, value in found.items() if not inspect.ismodule(value)
            and (room in CLASSES or callable(value))}


def call(name: str, value: typing.Any) -> str:
    """How the name is called: "softmax(input, axis=-1, *, dtype=None)"; the name alone where nothing is known of it."""
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    if isinstance(value, property):
        return name
    try:
        signature = value.signature if isinstance(value, Primitive) else inspect.signature(value)
    except (TypeError, ValueError):
        return name
    params = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"]
    return name + re.sub(r" at 0x[0-9a-f]+", "", str(inspect.Signature(params)))


def plain(text: str) -> str:
    """Text in which Markdown and HTML find no marks but those for code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if k % 2 else re.sub(r"([*_#\[\]|\\{}])", r"\\\1", part).replace("<", "&lt;")
                   for k, part in enumerate(parts))


def described(doc: str) -> str:
    """A docstring as Markdown: sentences, fields as tables; what is laid out by hand stays as it was written."""
    made: list[str] = []
    doc = re.sub(r"; {2,}(?=[\w*, ]{1,60}: )", "\n", inspect.cleandoc(doc))              # two fields on a line
    for block in re.split(r"\n\s*\n", doc):
        rows: list[list[str]] = []
        text: list[str] = []
        for line in block.splitlines():
            if found := FIELD.fullmatch(line):
                rows.append([found[1], found[2]])
            elif rows:
                rows[-1][1] += " " + line.strip()
            else:
                text.append(line)
        if any(line.startswith(" ") for line in text) or ">>>" in block:
            made.append(f"```text\n{block}\n```")
            continue
        made += [plain("\n".join(text))] if text else []
        if rows:
            cells = "\n".join(f"| {plain(name)} | {plain(text)} |" for name, text in rows)
            made.append(f"| argument | |\n|---|---|\n{cells}")
    return "\n\n".join(made)


def entry(name: str, value: typing.Any) -> str:
    kind = "class " if inspect.isclass(value) else ""
    return f"## {plain(name)}\n\n```python\n{kind}{call(name, value)}\n```\n\n{described(inspect.getdoc(value) or '')}\n"


def pages(room: str) -> dict[str, str]:
    """{title: text} of a room: one page, or one for each letter."""
    found = members(room)
    place = CLASSES.get(room) or importlib.import_module(room)
    groups: dict[str, list[str]] = {}
    for name, value in found.items():
        title = f"{room}, {name[0].upper()}" if len(found) > MOST else room
        groups.setdefault(title, []).append(entry(name, value))
    about = "" if room in CLASSES else plain(inspect.cleandoc(place.__doc__ or "").split("\n\n")[0])
    return {title: "\n".join([f"# {title}\n\n{about}\n", *entries]) for title, entries in groups.items()}


def guides(target: pathlib.Path) -> list[dict[str, typing.Any]]:
    """Copies the pages that people write; gives their part of the table of contents."""
    shutil.copytree(DOCS, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    readme = DOCS.parent.joinpath("README.md").read_text(encoding="utf-8")
    target.joinpath("index.md").write_text(readme.replace("](docs/", "]("), encoding="utf-8")
    rooms = [{title: sorted(f"{room}/{path.name}" for path in DOCS.joinpath(room).glob("*.md"))}
             for title, room in (("Tutorials", "tutorial"), ("Design", "design"))]
    return [{"mindlite": "index.md"}, {"Guides": [f"{name}.md" for name in GUIDES]}, *rooms]


def reference(target: pathlib.Path) -> list[dict[str, typing.Any]]:
    """Writes the pages of all rooms; gives their part of the table of contents."""
    contents: list[dict[str, typing.Any]] = []
    for room in ROOMS:
        place = target / "reference" / room
        place.mkdir(parents=True, exist_ok=True)
        written = []
        for title, text in pages(room).items():
            path = place / (re.sub(r"\W+", "_", title) + ".md")
            path.write_text(text, encoding="utf-8")
            written.append({title.removeprefix(f"{room}, "): path.relative_to(target).as_posix()})
        contents.append(written[0] if len(written) == 1 else {room: written})
    return [{"Reference": contents}]


def main(directory: str) -> None:
    target = pathlib.Path(directory).resolve()
    shutil.rmtree(target, ignore_errors=True)
    pages_of = target / "pages"
    settings = {
        "site_name": "mindlite", "docs_dir": str(pages_of), "site_dir": str(target / "site"), "use_directory_urls": False,
        "theme": {"name": "readthedocs", "navigation_depth": 2}, "plugins": ["search"],
        "markdown_extensions": ["tables", "fenced_code"],
        "nav": [*guides(pages_of), *reference(pages_of)]}
    target.joinpath("mkdocs.yml").write_text(json.dumps(settings, indent=1), encoding="utf-8")      # JSON is YAML


if __name__ == "__main__":
    main(sys.argv[1])
