"""Compiled functions on the disk: a later process skips everything from inference to the plan.

    <cache_dir>/flows-3/3f/3f9c..22/81d0..e7.flow

A folder is the *question*: the function and its code, the kinds of its arguments, the switches, and the versions of all
that takes part (a hash of mindlite's own sources, Python, NumPy, llvmlite, the processor). A file in it is one *answer*:

    guards    what inference read: (kind, number of the owner, name, description of what it read)
    program   the Flow, planned, with its storage; what its parameters and results are; Parameters by number

Numbers are those of `description.py`: the reads are made again in the same order, each is described and compared, and
so the objects of this process get the numbers of those that they stand for. The first answer all of whose reads agree is
taken; its guards watch on, as those of a variant that was compiled here. That is how ccache's manifests and Shake's traces
(Mitchell 2012) are verified: nothing is used because of what it might depend on, but because of what it did depend on.

A file holds text and arrays, nothing that is executed but the names of object code, of kernels and of the Flow; its checksum
is looked at, and one that is damaged is reported and made anew. It is written under another name and renamed.
"""
from __future__ import annotations

import contextlib
import copy
import functools
import json
import os
import platform
import struct
import time
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import gast
import ml_dtypes
import numpy as np

from ..infer.outside import Guard, Part, current_value, is_large
from ..backend.kernel import Kernel
from ..backend.machine_code import machine_name
from ..backend.target import current
from ..common.config import SWITCHES, config
from ..common.device import target_device
from ..common.dim import Symbol
from ..common.errors import InternalError, MindliteError
from ..common.events import emit
from ..common.files import replacing
from ..common.lazy import LazyModule
from ..common.ranks import WORLD, engine
from ..common.sources import folder_hash, sources_hash
from ..common.tensor import Tensor
from ..infer.results import Container, Made, Result, copy_of
from ..infer.specialise import Specialised
from ..infer.values import Place
from ..mindir.control import make_tuple
from ..mindir.graph import AnfNode, FuncGraph
from ..ops.rank_program import on_rank
from ..parallel.partition import WISH
from . import flow as F
from .description import Description, Json, NotCacheable, is_standard, named
from .executable import Executable, thread_arenas
from .flow_text import DTYPES, Missing, Reader, Writer
from .lower import Lowered
from .pipeline import Compiled, compile_function
from .signature import ObjectSpec, SameSpec, ScalarSpec, Signature, TensorSpec, TreeSpec

if TYPE_CHECKING:
    from pathlib import Path

log, pathlib, hashlib = LazyModule("mindlite.common.log"), LazyModule("pathlib"), LazyModule("hashlib")
VERSION = 3
MAGIC = b"mindlite flow 3\n"
MOST = 8                         # answers to one question; the oldest gives way
NOT_IN_THE_KEY = ("cache_dir", "keep_flows", "show_framework_frames", "compile_workers", "compile_beside")
UNREADABLE = (KeyError, ValueError, TypeError, IndexError, AttributeError, struct.error, InternalError)
NOT_THE_SAME = (NotCacheable, MindliteError, AttributeError, LookupError, TypeError, ValueError)
FRAMEWORKS_OWN = (("mindlite.ops.generator", "generator_state"),)        # state of the framework's that graphs read


def compile_or_restore(function: Any, args: tuple, kwargs: dict[str, Any], signature: Signature, **options: Any) -> Compiled:
    """`pipeline.compile_function`, or what it once gave for the same: a Compiled.

    signature : that of the arguments;  options: those of compile_function
    """
    compiling = functools.partial(compile_function, function, args, kwargs, **options)
    why_not = unsuited(options)
    if why_not is not None:
        compiled = compiling()
        compiled.not_cached = why_not
        return compiled
    start = time.perf_counter()
    try:
        question = Question(function, signature, options)
    except (NotCacheable, RecursionError) as reason:
        compiled = compiling()
        compiled.not_cached = str(reason)
        return compiled
    for path in question.answers():
        found = question.restore(path, compiling)
        if found is not None and not any(is_split(p.default) for p in found.graph.parameters):
            found.seconds = {"disk": time.perf_counter() - start}
            emit("flow_restore", name=options["name"], seconds=found.seconds["disk"])
            return found
    compiled = compiling()
    is_of_rank = compiled.plan is not None or any(node.fn is on_rank for node in compiled.graph.nodes)
    compiled.not_cached = "ranks split it between them" if is_of_rank else question.store(compiled)
    return compiled


def is_split(param: Any) -> bool:
    """True for a Parameter that ranks split between them, in memory or for computing."""
    return isinstance(param, Tensor) and (param.placement is not None or WISH in param.__dict__)


def unsuited(options: dict[str, Any]) -> str | None:
    """Why a function is not looked for on the disk, None if it is; "" where the user wants none."""
    if not config.keep_flows or not config.cache_dir:
        return ""
    records = options["fallbacks"]
    if records is not None and (records.marks or len(records) or records.volatile):
        return "parts of it run in Python"
    if options["devices"] or target_device() is not None:
        return "it runs on another device than the host"
    if options["placements"]:
        return "ranks split it between them"
    if options["varying"]:
        return "variables outside of it are run-time values"
    return "it is tried as Python has run it" if options["pure"] else None


@functools.lru_cache(maxsize=None)
def versions() -> list[Json]:
    """What decides about the result besides the function: mindlite's sources, libraries, interpreter, processor."""
    return [VERSION, sources_hash(), folder_hash(os.path.dirname(gast.__file__)), platform.python_version(),
            platform.python_implementation(), np.__version__, ml_dtypes.__version__, machine_name()]


def circumstances() -> list[Json]:
    """What decides about the result besides the function, as it is now: versions, processor, switches, ranks."""
    switches: list[Json] = [[s.name, repr(getattr(config, s.name))] for s in SWITCHES if s.name not in NOT_IN_THE_KEY]
    here = engine()
    return [versions(), current().key, switches, [here.rank, here.size, sorted(here.groups.items()), here.link, here.pace,
                                               sorted(here.links.items()), here.is_near(WORLD)]]


class Question:
    """A function, the kinds of its arguments and how it is compiled, described."""

    def __init__(self, function: Any, signature: Signature, options: dict[str, Any]) -> None:
        description = Description()
        self.function, self.options = function, options
        self.symbols: list[Symbol] = []
        asked = [circumstances(), description.of(function), self.signature(description, signature),
                 [options["name"], options["fullgraph"], options["jit_level"], options["printer"]]]
        self.description, self.given = description, signature
        key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        self.folder = pathlib.Path(config.cache_dir) / f"flows-{VERSION}" / key[:2] / key

    def signature(self, description: Description, spec: Any) -> Json:
        """A signature as lists; its Symbols by number."""
        if isinstance(spec, TensorSpec):
            return ["tensor", spec.dtype.name, [self.symbol(s) if isinstance(s, Symbol) else s for s in spec.shape],
                    spec.parameter]
        if isinstance(spec, SameSpec):
            return ["same", spec.number]
        if isinstance(spec, ScalarSpec):
            return ["scalar", spec.type.__name__]
        if isinstance(spec, TreeSpec):
            raise NotCacheable("the kinds of a tree are numbered by classes of this process")
        if isinstance(spec, ObjectSpec):
            return ["object", description.of(spec.keep)]
        if isinstance(spec, tuple):
            return ["tuple", *[self.signature(description, s) for s in spec]]
        return description.of(spec)

    def symbol(self, symbol: Symbol) -> list[Json]:
        """A Symbol of the signature: its number among them."""
        if symbol not in self.symbols:
            self.symbols.append(symbol)
        return ["symbol", self.symbols.index(symbol), symbol.name if symbol.name != f"s{symbol.number}" else "",
                symbol.lo, symbol.hi]

    def again(self) -> Description:
        """A Description in which the function and its arguments are described, nothing else yet."""
        description = Description()
        begun = self.description
        description.objects, description.numbers = list(begun.objects), dict(begun.numbers)
        description.digests = dict(begun.digests)
        return description

    # -- looking

    def answers(self) -> list[Path]:
        """The files of the folder, newest first."""
        try:
            return sorted(self.folder.glob("*.flow"), key=lambda path: -path.stat().st_mtime_ns)
        except OSError:                                      # one was taken away while we looked: there are none
            return []

    def restore(self, path: Path, compiling: Callable[[], Compiled]) -> Compiled | None:
        """The Compiled in a file; None if it is for other objects, or cannot be used."""
        def made(text: dict[str, Any], data: bytes) -> Compiled | None:
            description = self.again()
            guards = self.read_again(description, text["guards"])
            if guards is None:
                return None
            thread_arenas().touch(text["arena"])
            return self.build(description, guards, text, data, compiling)
        return from_file(path, self.options["name"], made)

    @staticmethod
    def read_again(description: Description, guards: Iterable[list]) -> list[Guard] | None:
        """The guards of this process, None if something is not as it was when the file was written."""
        made = []
        for kind, owner, name, wanted in guards:
            try:
                owner = found_as(description, owner)
                name = Part(name[0], tuple(name[1]) if isinstance(name[1], list) else name[1]) if isinstance(name, list) else name
                seen, value = observed(description, kind, owner, name)
            except NOT_THE_SAME:
                return None
            if seen != wanted:
                return None
            made.append((kind, owner, name, value))
        return made

    def build(self, description: Description, guards: list[Guard], text: dict[str, Any], data: bytes,
              compiling: Callable[[], Compiled]) -> Compiled:
        """The Compiled that a file describes."""
        made: list = []
        reader = Reader(text["tables"], arrays_of(text["arrays"], data), self.symbols,
                        lambda number: kernels_in(made[0].full.executable.linked.program)[number].source)
        reader.others = {
            "named object": lambda t: found_as(description, t[1]),
            "variable": lambda t: Place(t[1], found_as(description, t[2]), t[3]),
            "Result": lambda t: Result(*t[1:]), "Container": lambda t: Container(t[1]),
            "made tensor": lambda t: Tensor.wrap(reader.read(t[1])),
            "made copy": lambda t: Made(functools.partial(copy_of, Tensor.wrap(reader.read(t[1]))), ()),
            "made range": lambda t: Made(range, reader.read(t[1]))}
        entry = {name: reader.read(value) for name, value in text["entry"].items()}
        lowered, executable, graph = restored(entry, self.options["name"], reader, self.options["printer"])
        specialised = Specialised(graph, entry["output"], entry["changes"], [], entry["updates"], guards, [],
                                  entry["reasons"], objects=entry["objects"],
                                  acts_and_raises=entry["acts_and_raises"],
                                  differentiated=entry["differentiated"])
        made.append(Compiled(specialised, lowered, executable, graph, {}, entry["nodes"], entry["notes"], entry["unfused"],
                             whole=compiling))
        return made[0]

    # -- storing

    def store(self, compiled: Compiled) -> str:
        """Write a Compiled; why it is not cached, "" if it is."""
        try:
            description = self.again()
            guards = self.describe_guards(description, compiled.specialised.guards)
            if self.read_again(self.again(), guards) is None:
                raise NotCacheable("what it reads is not the same when it is read again")
            text, arrays = self.text(description, guards, compiled)
        except (NotCacheable, RecursionError) as reason:
            return str(reason)
        write(self.folder, text, arrays)
        emit("flow_store", name=self.options["name"])
        return ""

    @staticmethod
    def describe_guards(description: Description, guards: Iterable[Guard]) -> list[list]:
        """[kind, owner, name, description] of each guard, in an order in which every owner is known."""
        made, waiting = [], list(guards)
        while waiting:
            later = []
            for guard in waiting:
                kind, owner, name, _ = guard
                reference = locate(description, owner)
                if reference is None:
                    later.append(guard)
                else:
                    said = [name.what, name.key] if isinstance(name, Part) else name
                    made.append([kind, reference, said, observed(description, kind, owner, name, guard)[0]])
            if len(later) == len(waiting):
                raise NotCacheable(f"a {type(later[0][1]).__name__} whose {later[0][2] or 'content'} it reads has no name")
            waiting = later
        return made

    def text(self, description: Description, guards: list[list], compiled: Compiled) -> tuple[dict[str, Any], list[np.ndarray]]:
        """(what is written as JSON, the arrays behind it)."""
        specialised, executable = compiled.specialised, compiled.executable
        if specialised.constraints or specialised.places or specialised.sites or specialised.keys:
            raise NotCacheable("facts about its sizes are checked at each call" if specialised.constraints else
                             "parts of it run in Python, or read variables")

        def other(value):
            if isinstance(value, (Result, Container)):
                return [type(value).__name__, value.number, *([value.argument] if isinstance(value, Result) else [])]
            if isinstance(value, Made) and value.make is range:
                return ["made range", writer.write(value.items)]
            if any(value is tensor for tensor in specialised.made):
                return ["made tensor", writer.array(value.host_array)]
            if isinstance(value, Made) and isinstance(value.make, functools.partial) and value.make.func is copy_of:
                return ["made copy", writer.array(value.make.args[0].host_array)]
            if isinstance(value, Place):
                return ["variable", value.kind, name_of(description, value.owner), value.name]
            return ["named object", name_of(description, value)]
        writer = Writer(self.symbols)
        writer.other = other
        entry = {
            **entry_of(compiled.lowered, executable, compiled.graph),
            "output": specialised.output, "changes": list(specialised.changes), "updates": list(specialised.updates),
            "objects": tuple(specialised.objects), "reasons": list(specialised.reasons), "nodes": compiled.nodes,
            "notes": list(compiled.notes), "unfused": list(compiled.unfused),
            "acts_and_raises": specialised.acts_and_raises, "differentiated": specialised.differentiated}
        entry = {name: writer.write(value) for name, value in entry.items()}
        arena = 0 if executable.plan.symbols else executable.plan.layout(()).peak
        made = {"guards": guards, "arena": arena, "entry": entry, "tables": writer.tables,
                "arrays": described_arrays(writer.arrays)}
        if " at 0x" in json.dumps(entry["output"]):
            raise NotCacheable("a text that it gives holds an address")
        return made, writer.arrays


def entry_of(lowered: Lowered, executable: Executable, graph: FuncGraph) -> dict[str, Any]:
    """What a file holds of a compiled graph, for `restored`."""
    number = {p: n for n, p in enumerate(graph.parameters)}
    return {
        "program": executable.linked.program, "memory": executable.plan, "needs": executable.linked.run_needs(),
        "file": executable.object_file, "results": list(lowered.outputs),
        "parameters": [(p.name, p.abstract, p.default) for p in graph.parameters],
        "outputs": [node.abstract for node in graph.outputs],
        "steps": [(s[0], number[s[1]], *s[2:]) if s[0] != "out" else tuple(s) for s in lowered.parameters]}


def restored(entry: dict[str, Any], name: str, reader: Reader, printer: str | None) -> tuple[Lowered, Executable, FuncGraph]:
    """(Lowered, Executable, a graph with the parameters and outputs) of a compiled graph from a file."""
    graph = FuncGraph(name)
    for parameter, abstract, default in entry["parameters"]:
        graph.add_parameter(parameter, abstract, default=None if default is None else default.init_data())
    graph.set_outputs([AnfNode(abstract) for abstract in entry["outputs"]], make_tuple)
    steps = [(s[0], graph.parameters[s[1]], *s[2:]) if s[0] != "out" else s for s in entry["steps"]]
    lowered = Lowered(entry["program"], entry["results"], [(None, kernel) for kernel in reader.kernels],
                      (reader.arrays, reader.objects), steps)
    return lowered, Executable.restored(entry["program"], entry["memory"], entry["needs"], entry["file"], printer), graph


# ---------------------------------------------------------------- what is read, and who holds it

def observed(description: Description, kind: str, owner: Any, name: Any, guard: Guard | None = None) -> tuple[Json, Any]:
    """(description of what is read, the value of the guard); guard: describe what this one has read."""
    if kind == "protocol":
        answer = owner.__mindir__() if guard is None else guard[3][1]
        return description.of(answer), (owner.cell_version, answer)
    if isinstance(name, Part):
        read = name.read(owner) if guard is None else guard[3]
        return [type(owner).__name__, description.of(read)], read.copy() if isinstance(read, np.ndarray) else read
    if kind == "content":
        held = owner if guard is None else guard[3]
        return [type(held).__name__, description.content(held)], copy.copy(owner)
    value = current_value(kind, owner, name) if guard is None else guard[3]
    if kind == "attr" and name == "cell_version":
        return description.structure(owner), value
    if is_large(value):                                      # what was read of it has a guard of its own
        description.enter(value)
        return ["large", type(value).__name__], value
    return description.of(value), value


def locate(description: Description, value: Any) -> int | list[str] | None:
    """How another process comes by an object: its number, or where the framework keeps it; None if there is no way."""
    if id(value) in description.numbers:
        return description.numbers[id(value)]
    module: str | None = None
    name: Any = None
    if type(value) is dict:
        module, name = value.get("__name__"), "__dict__"
    elif isinstance(value, (type, types.FunctionType)) and is_standard(value.__module__):
        module, name = value.__module__, value.__qualname__
    elif isinstance(value, Tensor):
        module, name = next(((m, n) for m, n in FRAMEWORKS_OWN if named(m, n) is value), (None, None))
    if not isinstance(module, str) or named(module, name) is not value:
        return None
    description.enter(value)
    return ["named", module, name]


def name_of(description: Description, value: Any) -> int | list[str]:
    """The same. raises : NotCacheable where there is no way"""
    reference = locate(description, value)
    if reference is None:
        raise NotCacheable(f"a {type(value).__name__} that it uses has no name")
    return reference


def found_as(description: Description, reference: int | list[str]) -> Any:
    """The object of this process that `locate` has named."""
    if isinstance(reference, int):
        return description.objects[reference]
    value = named(reference[1], reference[2])
    if value is None:
        raise NotCacheable(f"{reference[1]}.{reference[2]} is gone")
    description.enter(value)
    return value


def kernels_in(program: F.Program) -> list[Kernel]:
    """The kernels of a program as a Writer numbers them: by their first use."""
    return list(dict.fromkeys(i.kernel for flow in program.all_flows() for i in F.walk(flow.body)
                              if isinstance(i, (F.CallKernel, F.Handle))))


# ---------------------------------------------------------------- files

def described_arrays(arrays: Iterable[np.ndarray]) -> list[Json]:
    """The dtypes and sizes of arrays, for `arrays_of`."""
    return [[a.dtype.name, *a.shape] for a in arrays]


def arrays_of(kinds: Iterable[list], data: bytes) -> list[np.ndarray]:
    """The constant arrays that stand behind the text, each with memory of its own."""
    made, at = [], 0
    for name, *shape in kinds:
        dtype = DTYPES[name].numpy
        count = int(np.prod(shape, dtype=np.int64))
        made.append(np.frombuffer(data, dtype, count, at).reshape(shape).copy())
        at += count * dtype.itemsize
    return made


def read(path: Path) -> tuple[dict[str, Any], bytes] | None:
    """(the text, the bytes behind it) of a file; None where it is gone or damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("%s cannot be read: %s", path, error)
        return None
    head = len(MAGIC) + 32
    if data[:len(MAGIC)] != MAGIC or hashlib.sha256(data[head:]).digest() != data[len(MAGIC):head]:
        log.warning("%s is damaged; the function is compiled again", path)
        return None
    length, = struct.unpack_from("<q", data, head)
    return json.loads(data[head + 8:head + 8 + length]), data[head + 8 + length:]


def from_file(path: Path, name: str, make: Callable[[dict[str, Any], bytes], Any]) -> Any:
    """make(text, the bytes behind it) of a file; None, with a word, where there is none that can be used. name: what it is of"""
    try:
        found = read(path)
        return None if found is None else make(*found)
    except Missing as missing:
        log.info("%s is compiled again: %s is gone", name, missing)
    except UNREADABLE as error:
        log.warning("%s cannot be read (%r); %s is compiled again", path, error, name)
    return None


def write(folder: Path, text: dict[str, Any], arrays: Iterable[np.ndarray]) -> None:
    """Write a file under the hash of what it depends on; where there are too many, the oldest go."""
    name = hashlib.sha256(json.dumps(text["guards"]).encode()).hexdigest()[:32]
    if write_file(folder / f"{name}.flow", text, arrays):
        with contextlib.suppress(OSError):
            for old in sorted(folder.glob("*.flow"), key=lambda path: -path.stat().st_mtime_ns)[MOST:]:
                old.unlink(missing_ok=True)


def write_file(path: Path, text: dict[str, Any], arrays: Iterable[np.ndarray]) -> bool:
    """Write a file that `read` reads; False, with a warning, where that is impossible."""
    encoded = json.dumps(text, separators=(",", ":")).encode()
    body = struct.pack("<q", len(encoded)) + encoded + b"".join(a.tobytes() for a in arrays)
    try:
        with replacing(path, durable=False) as file:
            file.write(MAGIC + hashlib.sha256(body).digest() + body)
    except OSError as error:
        log.warning("%s cannot be written, so what was compiled is not kept: %s", path, error)
        return False
    return True
