"""Writes signatures.json: what `inspect` says of MindSpore's public names, and members.json: what `dir` says of a Cell, a
Parameter and a Tensor. Run it with an interpreter that has MindSpore 2.10.

    python tests/mindspore/make_signatures.py DIRECTORY       of lists with one name a line after its count, <namespace>.txt

{namespace: {name: [[parameter, kind, default], ..], or null for what is no function or tells nothing}}; a default is its text.
"""
import importlib
import inspect
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
MEMBERS = {"Tensor", "Parameter", "Cell", "Model", "COOTensor", "CSRTensor"}      # classes whose members are listed
KINDS = {"POSITIONAL_ONLY": "", "POSITIONAL_OR_KEYWORD": "", "VAR_POSITIONAL": "*", "VAR_KEYWORD": "**", "KEYWORD_ONLY": "key"}


def text(value):
    """A default as text that is the same for both libraries: dtypes by their name, enumerations by their value."""
    value = getattr(value, "value", value) if type(value).__module__.split(".")[0] in ("mindspore", "mindlite", "enum") else value
    if isinstance(value, list):
        value = tuple(value)
    plain = repr(value) if isinstance(value, (int, float, str, bool, tuple, dict, type(None))) else str(
        getattr(value, "__name__", value))
    plain = re.sub(r"^'(hccl_world_group|world)'$", "WORLD", plain)
    return re.sub(r"^(mindspore|mindlite)\.", "", plain).lower().replace("bool_", "bool")


def signature(value):
    """[[name, kind, default], ..] of something that can be called; None of anything else."""
    if not callable(value):
        return None
    try:
        parameters = inspect.signature(value).parameters.values()
    except (ValueError, TypeError):
        return None
    return [[p.name, KINDS[p.kind.name], None if p.default is p.empty else text(p.default)] for p in parameters]


def home(root, namespace):
    """The module, or the class whose members are listed."""
    parent, _, last = {"Cell": "nn.Cell"}.get(namespace, namespace).rpartition(".")
    if last in MEMBERS:
        return getattr(importlib.import_module(f"{root}.{parent}".rstrip(".")), last)
    return importlib.import_module(f"{root}.{namespace}".rstrip("."))


def members():
    """{class: the public names of an object of it}."""
    mindspore = importlib.import_module("mindspore")
    objects = {"Cell": mindspore.nn.Cell(), "Parameter": mindspore.Parameter(mindspore.Tensor([1.0]), name="p"),
               "Tensor": mindspore.Tensor([1.0])}
    return {name: [member for member in dir(one) if not member.startswith("_")] for name, one in objects.items()}


def main(lists):
    found = {}
    for path in sorted(pathlib.Path(lists).glob("*.txt")):
        namespace = path.stem.partition(".")[2]
        place, names = home("mindspore", namespace), re.findall(r"^ *\d+  (\w+)", path.read_text(), re.M)
        found[namespace] = {name: signature(getattr(place, name)) for name in names if hasattr(place, name)}
    lines = [f" {json.dumps(name)}: {{\n" + ",\n".join(f"  {json.dumps(n)}: {json.dumps(s)}" for n, s in names.items()) + "\n }"
             for name, names in found.items()]
    (HERE / "members.json").write_text(json.dumps(members(), indent=1) + "\n")
    (HERE / "signatures.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
