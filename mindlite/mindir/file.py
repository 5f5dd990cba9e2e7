"""A .mindir file: a graph, its arrays, and what its arguments and results look like. A zip without anything executable:

    model.mindir      graph.mindir        the text of `printer.write`, large constants named #0, #1, ..
                      constants/0.npy     their elements, in NumPy's format
                      program.json        {"format": 1, "inputs": [..], "output": .., "updates": [[0, 2]]}

What is read is checked before it is believed: the text by `reader`, the arrays' sizes by the text, numbers by their
range.
"""
from __future__ import annotations

import io
import json
import math
import os
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common.errors import FileFormatError
from ..common.lazy import LazyModule
from ..common.records import dataclass
from .printer import write
from .reader import read
from .tokens import ReadError

zipfile, tokenize = LazyModule("zipfile"), LazyModule("tokenize")
FORMAT = 1
GRAPH, PROGRAM = "graph.mindir", "program.json"
PLAIN = (type(None), bool, int, str)


@dataclass(frozen=True)
class Input:
    """Stands, among the arguments of a Module, for the next Tensor."""


@dataclass(frozen=True)
class Output:
    """Stands, in the result of a Module, for output `number` of the graph, or for the Tensor that is input `input`."""
    number: int
    input: Any = None


@dataclass(frozen=True)
class Module:
    """A typed graph that can be called.

    graph   : its parameters are the Tensors among the arguments, in order, and those with a default: Parameters, Tensors
    inputs  : the arguments, a tuple of tuples, lists, dicts and constants, with an Input for each Tensor
    output  : the result, likewise, with Outputs
    updates : ((number of the parameter of the graph that is assigned, number of the output that is its new value), ..)
    """
    graph: Any
    inputs: tuple
    output: Any
    updates: tuple = ()

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self.graph.name

    def parameters(self) -> Any:
        """The Parameters and Tensors of the graph itself, in order."""
        return [p.default for p in self.graph.parameters if p.default is not None]


# ---------------------------------------------------------------- writing

def write_stream(stream: Any, module: Module) -> None:
    """Write a Module to an open binary file. raises : ArgumentError, OSError"""
    arrays: list = []
    text = write(module.graph, apart=arrays)
    program = {"format": FORMAT, "inputs": encoded(module.inputs), "output": encoded(module.output),
               "updates": [list(pair) for pair in module.updates]}
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(PROGRAM, json.dumps(program))
        archive.writestr(GRAPH, text, compress_type=zipfile.ZIP_DEFLATED)
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.save(buffer, storable(array), allow_pickle=False)
            archive.writestr(constant_name(number), buffer.getvalue())


def constant_name(number: int) -> str:
    """The member that holds a large constant."""
    return f"constants/{number}.npy"


def storable(array: np.ndarray) -> np.ndarray:
    """The array itself, or, of a type that NumPy's format does not know (bfloat16), the same bytes as unsigned ints."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.dtype.itemsize}")


def encoded(value: Input | Output | tuple[Input | Output, ...]) -> Any:
    """A structure of arguments or results as JSON. raises : TypeError for what has no form"""
    if isinstance(value, Input):
        return ["tensor"]
    if isinstance(value, Output):
        return ["output", value.number, value.input]
    if type(value) in PLAIN:
        return value
    if type(value) is float:
        return ["float", value.hex() if math.isfinite(value) else repr(value)]
    if type(value) in (tuple, list):
        return [type(value).__name__, *map(encoded, value)]
    if type(value) is dict:
        return ["dict", *[[encoded(k), encoded(v)] for k, v in value.items()]]
    raise TypeError(f"a {type(value).__name__} has no form in a .mindir file")


# ---------------------------------------------------------------- reading

def read_file(path: os.PathLike | str, source: Any = None) -> Module:
    """The Module in a file. source : what it holds, as an open file; None: it is opened. raises : FileFormatError, OSError"""
    try:
        with zipfile.ZipFile(source or path) as archive:
            return _Reading(path, archive).module()
    except zipfile.BadZipFile as error:
        raise FileFormatError(f"{path} is no .mindir file: {error}") from None


class _Reading:
    def __init__(self, path: os.PathLike | str, archive: Any) -> None:
        self.path, self.archive = path, archive

    def fail(self, what: str) -> None:
        """Raise the error for a file that is damaged."""
        raise FileFormatError(f"{self.path} is damaged: {what}")

    def member(self, name: str) -> Any:
        """The bytes of a member."""
        try:
            return self.archive.read(name)
        except KeyError:
            self.fail(f"it has no member {name!r}")
        except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
            self.fail(f"{name}: {error}")

    def module(self) -> Module:
        """All of it."""
        try:
            program, text = json.loads(self.member(PROGRAM)), self.member(GRAPH).decode()
        except (ValueError, RecursionError) as error:
            self.fail(str(error))
        if not isinstance(program, dict) or program.get("format") != FORMAT:
            self.fail(f"{PROGRAM} is not of format {FORMAT}")
        constants = {int(name[10:-4]): self.elements(name) for name in self.archive.namelist()
                     if name.startswith("constants/") and name.endswith(".npy") and name[10:-4].isdecimal()}
        try:
            graph = read(text, constants)
        except ReadError as error:
            self.fail(f"{GRAPH}, {error}")
        inputs, output = self.structure(program.get("inputs")), self.structure(program.get("output"))
        leaves = leaves_of(inputs)
        arguments = sum(p.default is None for p in graph.parameters)
        if type(inputs) is not tuple or sum(isinstance(leaf, Input) for leaf in leaves) != arguments:
            self.fail(f"its graph takes {arguments} Tensors, its arguments are others")
        for leaf in leaves_of(output):
            if isinstance(leaf, Output) and (leaf.number >= len(graph.outputs) if leaf.input is None else
                                             leaf.input >= arguments):
                self.fail(f"its result asks for a value that the graph does not give: {leaf}")
        updates = program.get("updates")
        if not isinstance(updates, list) or not all(
                isinstance(u, list) and len(u) == 2 and all(type(n) is int and n >= 0 for n in u)
                and u[0] < len(graph.parameters) and u[1] < len(graph.outputs) for u in updates):
            self.fail("what it assigns to is not there")
        return Module(graph, inputs, output, tuple(map(tuple, updates)))

    def elements(self, name: str) -> Any:
        """The bytes of a constant's elements."""
        try:
            return np.lib.format.read_array(io.BytesIO(self.member(name)), allow_pickle=False).tobytes()
        except (ValueError, EOFError, OSError, TypeError, OverflowError, MemoryError, tokenize.TokenError) as error:
            self.fail(f"{name}: {error}")

    def structure(self, described: Sequence[Any] | None) -> Any:
        """What `encoded` has described."""
        if type(described) in PLAIN:
            return described
        word, rest = (described[0], described[1:]) if isinstance(described, list) and described else (None, ())
        if word in ("tuple", "list"):
            return (tuple if word == "tuple" else list)([self.structure(t) for t in rest])
        if word == "dict" and all(isinstance(pair, list) and len(pair) == 2 for pair in rest):
            keys = [self.structure(k) for k, _ in rest]
            if all(type(k) in PLAIN for k in keys):
                return dict(zip(keys, [self.structure(v) for _, v in rest]))
        if word == "float" and len(rest) == 1 and isinstance(rest[0], str):
            return self.number(rest[0])
        if word == "tensor" and not rest:
            return Input()
        if word == "output" and len(rest) == 2 and type(rest[0]) is int and rest[0] >= 0 and (
                rest[1] is None or type(rest[1]) is int and rest[1] >= 0):
            return Output(*rest)
        self.fail(f"{PROGRAM} holds {json.dumps(described)[:60]}")

    def number(self, text: str) -> Any:
        """The float of a text."""
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            self.fail(f"{text[:40]!r} is no number")


def leaves_of(structure: Input | Output | tuple[Input | Output, ...] | None) -> list[Input | Output | None]:
    """What stands in a structure of arguments or results, in order."""
    if isinstance(structure, (tuple, list)):
        return [leaf for part in structure for leaf in leaves_of(part)]
    if isinstance(structure, dict):
        return [leaf for part in structure.values() for leaf in leaves_of(part)]
    return [structure]
