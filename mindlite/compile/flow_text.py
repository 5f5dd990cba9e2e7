"""A Program as text and arrays, to be read by another process: lists, numbers and strings, and nothing that runs.

    text = encode(value, described)                ["CallKernel", 3, ["tuple", 0, 1], 2, None, ["origin", 4], 7]
    value = decode(text, Reader(..))

Instructions are written by the names of their classes (`flow.py`), dtypes, operators and errors by theirs. A kernel is
the key of its object code (`backend/kernel_cache.py`) or the question that a library is asked; a Symbol is its number. What
has no such form (the user's Python code in a segment, a message made at run time) raises NotCacheable.

Bodies of Flows and the lifetimes of storages are read when somebody looks at them: machine code and addresses are
enough to run, and most of the text is these.
"""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..backend.kernel import Kernel
from ..backend.target import current
from ..common import errors
from ..common.dim import Dim, Operation, Symbol
from ..common.dtype import ALL, DType
from ..common.lazy import LazyAttributes
from ..common.location import Location, Origin
from ..common.recent import Recent
from ..mindir.abstract import AbstractAny, AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.primitive import PRIMITIVES, Primitive, find_primitive
from . import flow as F
from . import memory
from .description import Json, NotCacheable
from .python_calls import Evaluation, Failure, Objects, OpenWindow, PythonCall, ReadWindow

RECORDS = {cls.__name__: cls for cls in (
    F.Program, F.Flow, F.Block, F.Param, F.OutputSpec, F.Const, F.Data, F.Arith, F.Exact, F.Unary, F.Load, F.Store, F.Alloc,
    F.Kill, F.CallFlow, F.If, F.While, F.Check, F.Copy, F.TapeNew, F.TapePush, F.TapePop, F.Output, F.PythonSegment,
    F.Return, F.CallKernel, F.Handle, Evaluation, Failure, Location, AbstractAny, AbstractScalar, AbstractTape,
    AbstractTensor, AbstractTuple, memory.Storage, memory.Site, memory.Layout)}
TYPES = {cls.__name__: cls for cls in (bool, int, float)}
DTYPES = {dtype.name: dtype for dtype in ALL}
MAX_BYTES = 1 << 26                 # of constant arrays


class Writer:
    """Writes values; kernels, locations, arrays and Symbols go to tables, each once.

    symbols: those that the reader has too, in this order;   other: writes what has no form here
    """
    other: Callable[[Any], Json] | None = None

    def __init__(self, symbols: Iterable[Symbol] = ()) -> None:
        self.tables: dict[str, list] = {"kernels": [], "locations": [], "symbols": []}
        self.arrays: list[np.ndarray] = []
        self.numbers: dict[tuple[str, Any], int] = {}
        self.alive: list[Any] = []
        self.bytes = 0
        for symbol in symbols:
            self.numbered("symbols", symbol, None)

    def numbered(self, table: str, key: Any, entry: Callable[[], Json] | Json) -> int:
        """The number of something in a table; entry: what it is there, if it is new."""
        found = self.numbers.setdefault((table, key), len(self.tables[table]))
        if found == len(self.tables[table]):
            self.tables[table].append(entry() if callable(entry) else entry)
            self.alive.append(key)
        return found

    def write(self, value: Any) -> Json:
        """The text of a value."""
        cls = type(value)
        if value is None or cls is int or cls is str:
            return value
        if cls in WRITE:
            return WRITE[cls](self, value)
        if cls is Primitive and value.name in PRIMITIVES and PRIMITIVES[value.name] is value:
            return ["primitive", value.name]
        if cls is type and value.__name__ in TYPES and TYPES[value.__name__] is value:
            return ["type", value.__name__]
        if isinstance(value, memory.MemoryPlan):
            return ["plan", *[self.write(x) for x in value.fields()]]
        if cls is PythonCall and value.arrays and isinstance(value.function, Evaluation):
            return ["evaluate", *[self.write(x) for x in (value.function, value.given, value.gives, value.borrowed)]]
        if cls in (OpenWindow, ReadWindow):
            return ["window", cls is OpenWindow, *[self.write(x) for x in (value.shapes, value.dtype, value.group)]]
        if cls is PythonCall:
            raise NotCacheable("a part of it runs in Python")
        if cls is Failure and not self.is_error(value.error):
            raise NotCacheable("it raises an exception of the user's")
        if cls is functools.partial and self.is_error(value):
            return ["error", value.func.__name__, self.write(value.args)]
        if RECORDS.get(cls.__name__) is cls:
            return self.record(value)
        if cls.__module__.startswith("numpy") and isinstance(value, np.generic):
            return ["number", value.dtype.name, value.tobytes().hex()]
        if self.other is None:
            raise NotCacheable(f"a {cls.__qualname__} in the program")
        return self.other(value)

    def symbol(self, symbol: Symbol) -> list[Json]:
        """What a Symbol is in the table: its name and facts, as `Symbol` takes them."""
        return [symbol.name, *facts_of(symbol)]

    def location(self, location: Location) -> int:
        """The number of a Location."""
        return self.numbered("locations", (location, location.cell), lambda: self.record(location))

    @staticmethod
    def is_error(value: functools.partial) -> bool:
        """True for a mindlite error of known texts."""
        return isinstance(value, functools.partial) and not value.keywords and all(
            isinstance(a, str) for a in value.args) and getattr(errors, value.func.__name__, None) is value.func

    def record(self, value: Any) -> list[Json]:
        """A dataclass: its name and its fields."""
        return [type(value).__name__, *[self.write(getattr(value, f.name)) for f in dataclasses.fields(value)]]

    def kernel(self, kernel: Kernel) -> list[Json]:
        """A kernel: how another process comes by it."""
        if kernel.recipe is None:
            raise NotCacheable(f"the kernel {kernel.name} is of this process only")
        return [kernel.name, kernel.cost, self.write(kernel.recipe)]

    def array(self, value: np.ndarray) -> list[Json]:
        """A constant array, which stands behind the text, once."""
        if ("arrays", id(value)) in self.numbers:
            return ["array", self.numbers["arrays", id(value)]]
        self.bytes += value.nbytes
        if value.dtype.hasobject or value.dtype.name not in DTYPES or self.bytes > MAX_BYTES:
            raise NotCacheable(f"constant arrays of more than {MAX_BYTES >> 20} MB, or of objects")
        self.numbers["arrays", id(value)] = len(self.arrays)
        self.arrays.append(np.ascontiguousarray(value))
        self.alive.append(value)
        return ["array", len(self.arrays) - 1]


WRITE: dict[type, Callable[[Writer, Any], Json]] = {
    bool: lambda writer, value: ["bool", int(value)],
    float: lambda writer, value: ["float", value.hex()],
    tuple: lambda writer, value: ["tuple", *[writer.write(x) for x in value]],
    list: lambda writer, value: ["list", *[writer.write(x) for x in value]],
    dict: lambda writer, value: ["dict", *[[writer.write(k), writer.write(v)] for k, v in value.items()]],
    Origin: lambda writer, value: ["origin", None if value.location is None else writer.location(value.location)],
    Location: lambda writer, value: ["location", writer.location(value)],
    Kernel: lambda writer, value: ["kernel", writer.numbered("kernels", value, lambda: writer.kernel(value))],
    np.ndarray: lambda writer, value: writer.array(value),
    Symbol: lambda writer, value: ["symbol", writer.numbered("symbols", value, lambda: writer.symbol(value))],
    Dim: lambda writer, value: ["dim", *[[c, *[[writer.write(a), p] for a, p in term]] for term, c in value.terms.items()]],
    Operation: lambda writer, value: ["op", value.op, writer.write(value.a), writer.write(value.b)],
    DType: lambda writer, value: ["dtype", value.name],
}


def facts_of(symbol: Symbol) -> list[Json]:
    """What is known of a Symbol, as `Symbol` takes it behind the name."""
    return [symbol.lo, symbol.hi, None, None, symbol.divisor, symbol.remainder]


class Missing(Exception):
    """What was cached cannot be used here: a kernel's object code is gone, a library has another kernel."""


class Reader:
    """Reads what a Writer wrote. arrays: its constant arrays; symbols: those that the writer was given.

    source: number of a kernel -> its text;   others: {kind: reads what `other` of the Writer wrote}
    """

    def __init__(self, tables: dict[str, list], arrays: list[np.ndarray], symbols: Iterable[Symbol] = (),
                 source: Callable[[int], str] = str) -> None:
        self.arrays, self.objects, self.source = arrays, Objects(), source
        self.others: dict[str, Callable[[list], Any]] = {}
        self.symbols = list(symbols)
        for entry in tables["symbols"][len(self.symbols):]:
            self.symbols.append(Symbol(*entry))
        self.locations = [self.read(entry) for entry in tables["locations"]]
        self.origins = [Origin(location) for location in self.locations]
        self.kernels = [self.kernel(name, cost, recipe, number)
                        for number, (name, cost, recipe) in enumerate(tables["kernels"])]

    def kernel(self, name: str, cost: int, recipe: Json, number: int) -> Kernel:
        """The Kernel of a table's entry. raises : Missing"""
        kind, key, *facts = self.read(recipe)
        if kind == "library":
            found = current().library_kernel(key, **facts[0])
        else:
            found = current().cached(name, key, lambda: self.source(number), cost)
        if found is None or found.name != name or found.cost != cost:
            raise Missing(f"the kernel {name}")
        return found

    def read(self, text: Json) -> Any:
        """The value of a text. raises : KeyError, ValueError, TypeError, IndexError for one that no Writer wrote"""
        if type(text) is not list:
            return text
        kind = text[0]
        if kind in READ:
            return READ[kind](self, text)
        cls = RECORDS.get(kind)
        return self.others[kind](text) if cls is None else cls(*[self.read(x) for x in text[1:]])


class KeptBlock(LazyAttributes, F.Block):
    """The body of a Flow; a run does not need it."""


def _flow(reader: Reader, text: list) -> F.Flow:
    name, params, kinds, symbols, devices = [reader.read(x) for x in text[1:4] + text[5:]]
    return F.Flow(name, params, kinds, KeptBlock(lambda: vars(reader.read(text[4]))), symbols, devices)


class KeptPlan(LazyAttributes, memory.MemoryPlan):
    """A MemoryPlan; a run needs its layout, where it has one."""


def _plan(reader: Reader, text: list) -> memory.MemoryPlan:
    symbols, layouts = [reader.read(x) for x in text[1:3]]

    def find():
        return dict(zip(("storages", "sites", "slots"), [reader.read(x) for x in text[3:]]))
    return KeptPlan(find, symbols=symbols, layouts=Recent(layouts), conflicts=None)


def _dim(reader: Reader, text: list) -> Dim:
    terms = {}
    for coefficient, *monomial in text[1:]:
        terms[tuple((reader.read(atom), power) for atom, power in monomial)] = coefficient
    return Dim(terms)


def _error(reader: Reader, text: list) -> functools.partial:
    cls = getattr(errors, text[1])
    if not (isinstance(cls, type) and issubclass(cls, errors.MindliteError)):
        raise ValueError(text[1])
    return functools.partial(cls, *reader.read(text[2]))


def _evaluate(reader: Reader, text: list) -> PythonCall:
    function, given, gives, borrowed = [reader.read(x) for x in text[1:]]
    return PythonCall(function, given, gives, reader.objects, True, borrowed)


def _window(reader: Reader, text: list) -> OpenWindow | ReadWindow:
    shapes, dtype, group = [reader.read(x) for x in text[2:]]
    return (OpenWindow if text[1] else ReadWindow)(shapes, dtype, group, reader.objects)


READ = {
    "Flow": _flow,
    "window": _window,
    "plan": _plan,
    "bool": lambda reader, text: bool(text[1]),
    "float": lambda reader, text: float.fromhex(text[1]),
    "tuple": lambda reader, text: tuple([reader.read(v) for v in text[1:]]),
    "list": lambda reader, text: [reader.read(v) for v in text[1:]],
    "dict": lambda reader, text: {reader.read(k): reader.read(v) for k, v in text[1:]},
    "origin": lambda reader, text: Origin() if text[1] is None else reader.origins[text[1]],
    "location": lambda reader, text: reader.locations[text[1]],
    "kernel": lambda reader, text: reader.kernels[text[1]],
    "array": lambda reader, text: reader.arrays[text[1]],
    "symbol": lambda reader, text: reader.symbols[text[1]],
    "dim": _dim,
    "op": lambda reader, text: Operation(text[1], reader.read(text[2]), reader.read(text[3])),
    "dtype": lambda reader, text: DTYPES[text[1]],
    "primitive": lambda reader, text: find_primitive(text[1]),
    "type": lambda reader, text: TYPES[text[1]],
    "evaluate": _evaluate,
    "error": _error,
    "number": lambda reader, text: np.frombuffer(bytes.fromhex(text[2]), DTYPES[text[1]].numpy)[0],
}
