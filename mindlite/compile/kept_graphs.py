"""Compiled graphs of eager mode on the disk: a later process neither fuses nor lowers them again.

    <cache_dir>/graphs-1/3f/3f9c..22.flow

The key is a hash of the typed graph, with all that is in it (types, attributes, constants, the user's lines), and of what
decides about the result besides (`disk_cache.circumstances`). A typed graph is closed: nothing else is read, so there is
nothing to guard. Symbols stand in the key by number, in the order in which the graph shows them.

    program   the Flow, planned, with its storage; what its parameters and results are
"""
from __future__ import annotations

import contextlib
import functools
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..common.config import config
from ..common.device import Device, target_device
from ..common.dim import Symbol
from ..common.errors import Signal
from ..common.events import emit
from ..common.lazy import LazyModule
from ..mindir.graph import AnfNode, FuncGraph, ValueNode
from .description import Json, NotCacheable
from .disk_cache import (arrays_of, circumstances, described_arrays, entry_of, from_file, kernels_in, restored, write_file)
from .executable import Executable
from .flow_text import Reader, Writer, facts_of
from .lower import Lowered, lower
from .passes import DERIVED, EAGER, PIPELINE, SIMPLIFIED, Wanted

if TYPE_CHECKING:
    from pathlib import Path

log, pathlib, hashlib = LazyModule("mindlite.common.log"), LazyModule("pathlib"), LazyModule("hashlib")
VERSION = 1
FOLDER = f"graphs-{VERSION}"


class NotKept(Signal):
    """A graph is not on the disk, and only what is there was wanted."""


_wanted = threading.local()                      # only_kept: True inside `only_kept`


@contextlib.contextmanager
def only_kept() -> Iterator[None]:
    """In this thread `compile_or_restore` raises NotKept where it would compile."""
    _wanted.only_kept = True
    try:
        yield
    finally:
        _wanted.only_kept = False


def may_hold() -> bool:
    """True if graphs of an earlier process may be on the disk."""
    return bool(config.keep_flows and config.cache_dir) and _was_there(config.cache_dir)


@functools.lru_cache(maxsize=None)
def _was_there(cache_dir: str) -> bool:
    return (pathlib.Path(cache_dir) / FOLDER).is_dir()


class CompiledGraph(NamedTuple):
    """A compiled graph. ends: a graph with its parameters and outputs"""
    lowered: Lowered
    executable: Executable
    ends: FuncGraph


def compile_graph(graph: FuncGraph, level: str, device: Device | None = None) -> CompiledGraph:
    """Compile a typed graph, derived and simplified, for the CPU or a device. level: as config.jit_level"""
    fused = PIPELINE.run(graph, Wanted(level, device=device), (DERIVED, SIMPLIFIED), EAGER)
    lowered = lower(fused, device=device)
    return CompiledGraph(lowered, Executable(lowered.program), fused)


def compile_or_restore(graph: FuncGraph, level: str, device: Device | None = None) -> CompiledGraph:
    """`compile_graph`, or what it once gave for such a graph in such a process. raises : NotKept inside `only_kept`"""
    def compiling() -> CompiledGraph:
        if getattr(_wanted, "only_kept", False):
            raise NotKept(graph.name)
        return compile_graph(graph, level, device)
    if not (config.keep_flows and config.cache_dir) or device is not None or target_device() is not None:
        return compiling()
    try:
        question = Question(graph, level)
    except (NotCacheable, RecursionError):
        return compiling()
    found = question.restore(functools.partial(compile_graph, graph, level, device))
    if found is None:
        found = compiling()
        question.store(found)
    return found


class GraphWriter(Writer):
    """Writes typed graphs too. A Symbol without a name of its own is known by its number in the graph alone."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs: dict[FuncGraph, int] = {}
        self.other = self.graph_number

    def symbol(self, symbol: Symbol) -> list[Json]:
        """What a Symbol is in the table."""
        return ["" if symbol.name == f"s{symbol.number}" else symbol.name, *facts_of(symbol)]

    def graph_number(self, value: Any) -> Json:
        """A graph below: its number. raises : NotCacheable for anything else that has no form"""
        if value in self.graphs:
            return ["graph", self.graphs[value]]
        raise NotCacheable(f"a {type(value).__qualname__} in the graph")

    def write_graphs(self, graph: FuncGraph) -> list[Json]:
        """The text of a typed graph and of those below it."""
        every = graph.reachable()
        self.graphs = {one: number for number, one in enumerate(every)}
        return [self.write_graph(one) for one in every]

    def write_graph(self, graph: FuncGraph) -> Json:
        """The text of one of the graphs."""
        numbers: dict[AnfNode, int] = {}
        parameters: list[Json] = []
        for p in graph.parameters:
            if p.default is not None:
                raise NotCacheable("a Tensor of this process among its parameters")
            numbers[p] = len(numbers)
            parameters.append([p.name, self.write(p.abstract), self.write(p.origin)])

        def operand(node: AnfNode) -> Json:
            if isinstance(node, ValueNode):
                return ["constant", self.write(node.value), self.write(node.abstract)]
            return numbers[node]
        nodes: list[Json] = []
        for node in graph.nodes:
            nodes.append([self.write(node.fn), [operand(a) for a in node.args], self.write(node.attrs),
                          self.write(node.abstract), self.write(node.origin), node.origin.by])
            numbers[node] = len(numbers)
        return [graph.name, parameters, nodes, [operand(node) for node in graph.outputs]]


class Question:
    """A typed graph, described, and its file."""

    def __init__(self, graph: FuncGraph, level: str) -> None:
        writer = GraphWriter()
        text = writer.write_graphs(graph)
        self.name = graph.name
        self.symbols: list[Symbol] = [key for kind, key in writer.numbers if kind == "symbols"]
        asked = [VERSION, circumstances(), level, text, writer.tables, described_arrays(writer.arrays)]
        digest = hashlib.sha256(json.dumps(asked).encode())
        for array in writer.arrays:
            digest.update(array.tobytes())
        key = digest.hexdigest()
        self.path: Path = pathlib.Path(config.cache_dir) / FOLDER / key[:2] / f"{key}.flow"

    def restore(self, compiling: Callable[[], CompiledGraph]) -> CompiledGraph | None:
        """What the file holds; None where there is none that can be used."""
        start = time.perf_counter()
        made = from_file(self.path, self.name, lambda text, data: self.build(text, data, functools.cache(compiling)))
        if made is not None:
            emit("graph_restore", name=self.name, seconds=time.perf_counter() - start)
        return made

    def build(self, text: dict[str, Any], data: bytes, compiling: Callable[[], CompiledGraph]) -> CompiledGraph:
        """The CompiledGraph that a file describes."""
        reader = Reader(text["tables"], arrays_of(text["arrays"], data), self.symbols,
                        lambda number: kernels_in(compiling().executable.linked.program)[number].source)
        entry = {name: reader.read(value) for name, value in text["entry"].items()}
        return CompiledGraph(*restored(entry, self.name, reader, None))

    def store(self, compiled: CompiledGraph) -> None:
        """Write what was compiled, if it has a form."""
        writer = Writer(self.symbols)
        try:
            entry = {name: writer.write(value) for name, value in entry_of(*compiled).items()}
        except (NotCacheable, RecursionError):
            return
        write_file(self.path, {"entry": entry, "tables": writer.tables, "arrays": described_arrays(writer.arrays)}, writer.arrays)
        emit("graph_store", name=self.name)
