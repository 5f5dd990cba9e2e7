"""MindIR as text: what people read, and what `reader` reads back.

    def f(x):                          graph @f(%x: f32[N, 3]) {
        h = ops.tanh(x)                  %1 = tanh(%x) : f32[N, 3]                # model.py:2  h = ops.tanh(x)
        return h * 2.0                   %2 = mul(%1, f32(2.0)) : f32[N, 3]       # model.py:3  return h * 2.0
                                         return %2
                                       }

Arrays stand in parentheses, attributes by keyword, then the type; nested graphs (of cond, while_loop, call, clusters)
follow, each once. `show` is for people: large constants are named `#0` and described. `write` leaves nothing out: sizes'
bounds, every constant (base64), every place in the user's files. Both are the same language; MLIR's textual form is
the model. The syntax dialect prints alike, with its blocks as graphs and its terminators as last lines.
"""
from __future__ import annotations

import base64
import itertools
import json
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Function
from ..common.dim import Dim, Operation, Size, Symbol, atoms_in, fold_atoms, substitute, symbols_of
from ..common.dtype import DType
from ..common.location import Location, Origin
from ..common.storage import DeviceArray
from ..common.tensor import Parameter, Tensor
from .abstract import Abstract, AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple, dims_in
from .graph import CNode, FuncGraph, ValueNode
from .syntax import DICT_STAR, Syntax, Undefined, raise_, return_, switch

INLINE = 8                                   # constants of more elements get a line of their own at the end
LONG_SIZE, LONG_PART = 40, 12                # atoms: parts of a long size that are long themselves get names
LARGEST = 1 << 62                            # no size is below its negative
COMMENT_COLUMN = 60
MAX_COMMENT = 60
RESERVED = frozenset({"True", "False", "None", "inf", "nan", "max", "min", "slice", "int", "float", "bool", "tape", "any",
                      "bool_", "complex", "bytes", "Tensor", "Parameter", "in", "at", "by", "return", "graph",
                      *(d.short for d in dt.ALL)})
_PLAIN = re.compile(r"[A-Za-z_][\w.]*\Z", re.ASCII)
_GRAPH_NAME = re.compile(r"[A-Za-z_][\w./]*\Z", re.ASCII)


def show(graph: FuncGraph, source: bool = True, names: str = "numbers", only: Any = None) -> str:
    """The text of a graph of either dialect, and of all graphs below it, for people.

    source : put the user's line beside what came from it
    names  : what nodes are called: "numbers" (%3), or "operators" (%mul, %mul:2): names that last when nodes come and go
    only   : a function of a node; the lines of those for which it is true are all that is printed
    """
    printer = _Printer(graph, full=False, source=source, names=names)
    return printer.text() if only is None else printer.lines(only)


def write(graph: FuncGraph, apart: list | None = None) -> str:
    """The text of a typed graph from which `reader.read` makes the same graph: all constants, sizes and places.

    apart : a list, to which large constants are added in the order of their numbers; their bytes are not in the text then
    """
    printer = _Printer(graph, full=True, source=False, apart=apart is not None)
    text = printer.text()
    if apart is not None:
        apart += printer.blobs
    return text


def opaque(value: Any) -> str:
    """The text of an object that cannot be written: the reader refuses it."""
    name = getattr(value, "__qualname__", None) or getattr(value, "name", None) or type(value).__name__
    return f"?{json.dumps(str(name))}"


class _Printer:
    """Names for everything that a text speaks of, and the text.

    graphs : {FuncGraph: "@f"}     values : {node: "%1"}     blobs : arrays of the table, by number
    parts  : {atom of a long size: what stands for it in the text};    sizes : {the name of a part: its text}
    """

    def __init__(self, graph: FuncGraph, full: bool, source: bool, names: str = "numbers", apart: bool = False) -> None:
        self.full, self.source, self.apart = full, source, apart
        self.all = graph.reachable()
        self.is_syntax = any(isinstance(g.output, CNode) and (isinstance(g.output.fn, Syntax) or g.kind == "block")
                             for g in self.all)
        self.blobs: list = []
        self.parts: dict[Operation, Size] = {}
        self.sizes: dict[str, str] = {}
        self.locations: dict = {}
        self.values: dict = {}
        self.graphs = _distinct(self.all, lambda g: "@" + _quote(g.name, _GRAPH_NAME))
        self.symbols = self._name_symbols()
        number = 0
        for g in self.all:
            self.values.update(_distinct(g.parameters, lambda p: "%" + _quote(p.name, _PLAIN)))
            if names == "operators" and not self.is_syntax:
                self.values = _distinct([*g.parameters, *g.nodes], self.word) | self.values
                continue
            number = number if self.is_syntax else 0         # blocks see their ancestors' values: one numbering
            for node in g.nodes:
                number += 1
                self.values[node] = f"%{number}"

    def _name_symbols(self) -> dict[Symbol, Symbol]:
        """{Symbol: Symbol whose name is a distinct word}, in the order in which they were made."""
        named, taken = {}, set()
        for symbol in symbols_in(self.all):
            stem = re.sub(r"\W", "_", symbol.name, flags=re.ASCII)
            stem = name = stem if stem not in RESERVED and not stem[:1].isdigit() and stem else f"_{stem}"
            count = 1
            while name in taken:
                count += 1
                name = f"{stem}_{count}"
            taken.add(name)
            named[symbol] = symbol if symbol.name == name else Symbol(name, symbol.lo, symbol.hi)
        return named

    def word(self, node: Any) -> str:
        """What a node is called by its operator, a parameter by its name."""
        if isinstance(node, CNode):
            name = getattr(node.fn, "name", "value")
            return "%" + (f"{name}.{node.attrs['index']}" if name == "tuple_getitem" else _quote(name, _PLAIN))
        return "%" + _quote(node.name, _PLAIN)

    # ------------------------------------------------------------------------------------------------------- text

    def text(self) -> str:
        """Everything."""
        parts = [self.graph(g) for g in self.all]
        if self.sizes:
            parts.insert(0, "\n".join(["sizes {", *(f"  {name} = {text}" for name, text in self.sizes.items()), "}"]))
        if self.symbols:
            parts.insert(0, "symbols " + ", ".join(map(self.symbol, self.symbols)))
        if self.blobs:
            parts.append("\n".join(["constants {", *map(self.blob, range(len(self.blobs))), "}"]))
        if self.locations:
            parts.append("\n".join(["locations {", *(f"  l{n} = {self.location(place)}"
                                                     for place, n in self.locations.items()), "}"]))
        return "\n\n".join(parts) + "\n"

    def symbol(self, symbol: Symbol) -> str:
        """`N in 1..`, and its own name where that is no word."""
        named = self.symbols[symbol].name
        text = f"{named} in {symbol.lo}..{'' if symbol.hi is None else symbol.hi}"
        return text if named == symbol.name else f"{text} = {json.dumps(symbol.name)}"

    def location(self, place: Location) -> str:
        """`"model.py" 3:8-3:20 "Net.construct"`"""
        return (f"{json.dumps(place.file)} {place.line}:{place.col}-{place.end_line}:{place.end_col}"
                f" {json.dumps(place.scope)}")

    def graph(self, g: FuncGraph) -> str:
        """One graph: header, a line per node, the last line."""
        parameters = ", ".join(map(self.parameter, g.parameters))
        word = "block" if g.kind == "block" else "graph"
        loop = f" loop {g.loop}" if g.loop else ""
        header = f"{word} {self.graphs[g]}({parameters}){loop}{self.place(g)} {{"
        if self.source and g.origin.location is not None and g is self.all[0]:
            header = self.with_comment(header, g, None)
        lines, before = [header], None
        for node in g.nodes:
            before = self.line(lines, node, f"  {self.values[node]} = {self.application(node)}", before)
        if g.output is not None:
            self.line(lines, g.output, "  " + self.last_line(g), before)
        return "\n".join([*lines, "}"])

    def lines(self, only: Function | None) -> str:
        """The lines of some nodes."""
        before = None
        lines: list = []
        for g in self.all:
            for node in filter(only, g.nodes):
                before = self.line(lines, node, f"{self.values[node]} = {self.application(node)}", before)
        return "\n".join(lines) + "\n" if lines else ""

    def line(self, lines: list[str], node: CNode, text: str, before: Origin | None) -> Origin:
        """Append a node's line; returns its origin, whose source is not shown again by the next."""
        text += self.place(node)
        lines.append(self.with_comment(text, node, before) if self.source else text)
        return node.origin

    def with_comment(self, text: str, node: CNode | FuncGraph, before: Origin | None) -> str:
        """The line with the user's line beside it, unless it came from the same place as the one before."""
        place, by = node.origin.location, f"  ({node.origin.by})" if node.origin.by else ""
        if place is None or (before is not None and before.location is not None and before.by == node.origin.by
                             and (place.file, place.line) == (before.location.file, before.location.line)):
            return text
        code = " ".join(place.source().split())
        code = code if len(code) <= MAX_COMMENT else code[:MAX_COMMENT - 3] + "..."
        name = place.file.replace("\\", "/").rpartition("/")[2]
        return f"{text:<{COMMENT_COLUMN}}  # {name}:{place.line}  {code}{by}".rstrip()

    def place(self, node: Any) -> str:
        """` at l3 by "vjp"` in full texts."""
        if not self.full:
            return ""
        text = ""
        if node.origin.location is not None:
            text = f" at l{self.locations.setdefault(node.origin.location, len(self.locations))}"
        return text + (f" by {json.dumps(node.origin.by)}" if node.origin.by else "")

    def parameter(self, p: Any) -> str:
        """`%x: f32[N]`, with `= Tensor(..)` for an implicit input."""
        text = self.values[p]
        if p.abstract is not None:
            text += f": {self.type(p.abstract)}"
        if p.default is not None:
            text += f" = {self.value(p.default)}"
        return text + self.place(p)

    def application(self, node: CNode) -> str:
        """`cond(%p, %1, true=@f/true, false=@f/false) : (f32[N],)`"""
        fn = node.fn
        name = self.graphs[fn] if isinstance(fn, FuncGraph) else self.operand(fn) if hasattr(fn, "origin") and \
            not hasattr(fn, "traits") else fn.name
        parts = [self.operand(a) for a in node.args] + [f"{k}={self.value(v)}" for k, v in node.attrs.items()]
        return f"{name}({', '.join(parts)})" + (f" : {self.type(node.abstract)}" if node.abstract is not None else "")

    def last_line(self, g: FuncGraph) -> str:
        """The results of a typed graph, or the terminator of a block."""
        out = g.output
        if isinstance(out, CNode) and isinstance(out.fn, FuncGraph):
            return f"jump {self.application(out)}"
        if isinstance(out, CNode) and out.fn in (switch, raise_):
            return self.application(out)
        results = out.args if isinstance(out, CNode) and (out.fn is return_ or out not in self.values) else (out,)
        return " ".join(["return", ", ".join(map(self.operand, results))]).rstrip()

    def operand(self, node: Any) -> str:
        """A value by its name, a constant by itself."""
        if not isinstance(node, ValueNode):
            return self.values.get(node) or opaque(node)
        if node.abstract is None or node.abstract == natural_abstract(node.value):
            return self.value(node.value)
        return f"({self.value(node.value)} : {self.type(node.abstract)})"

    # ------------------------------------------------------------------------------------------------------ values

    def type(self, abstract: Abstract) -> str:
        """`f32[N, C]`, `int=N`, `(f32[2], bool)`, `tape`"""
        if isinstance(abstract, AbstractTensor):
            return f"{abstract.dtype.short}[{', '.join(map(self.size, abstract.shape))}]"
        if isinstance(abstract, AbstractScalar):
            return abstract.type.__name__ + (f"={self.size(abstract.dim)}" if abstract.dim is not None else "")
        if isinstance(abstract, AbstractTuple):
            return f"({', '.join(map(self.type, abstract.elements))}{',' if len(abstract.elements) == 1 else ''})"
        return "tape" if isinstance(abstract, AbstractTape) else "any"

    def size(self, size: Size) -> str:
        """An int or a Dim over named symbols."""
        if not isinstance(size, Dim):
            return str(size)
        if atoms_in(size) > LONG_SIZE:
            return repr(self.in_parts(size))
        return repr(substitute(size, {s: n.dim for s, n in self.symbols.items()}))

    def in_parts(self, size: Size) -> Size:
        """A size in which the name of a part stands for each long one; parts are written once, however often they stand in it."""
        return fold_atoms(size, self.part)

    def part(self, atom: Symbol | Operation) -> Size:
        """What stands for an atom of a long size."""
        if isinstance(atom, Symbol):
            return self.symbols[atom].dim
        if atom not in self.parts:
            made = atom.of(self.in_parts(atom.a), self.in_parts(atom.b))
            if isinstance(made, Dim) and atoms_in(made) > LONG_PART:
                taken = {symbol.name for symbol in self.symbols.values()}
                name = next(word for word in map("d{}".format, itertools.count(len(self.sizes) + 1))
                            if word not in taken and word not in self.sizes)
                low, high = atom.bounds()
                self.sizes[name] = repr(made)
                made = Symbol(name, -LARGEST if low is None else low, high).dim
            self.parts[atom] = made
        return self.parts[atom]

    def value(self, value: Any) -> str:
        """A constant or a static value."""
        cls = type(value)
        if value is None or cls in (bool, int):
            return str(value)
        if cls is float:
            return repr(value)
        if cls is str:
            return json.dumps(value)
        if cls in (tuple, list):
            inside = ", ".join(map(self.value, value))
            return f"[{inside}]" if cls is list else f"({inside}{',' if len(value) == 1 else ''})"
        if cls is dict:
            return "{" + ", ".join(f"{self.value(k)}: {self.value(v)}" for k, v in value.items()) + "}"
        if cls is slice:
            return f"slice({', '.join(map(self.value, (value.start, value.stop, value.step)))})"
        if cls is complex:
            return f"complex({value.real!r}, {value.imag!r})"
        if cls is bytes:
            return f'bytes("{value.hex()}")'
        if isinstance(value, Dim):
            return self.size(value)
        if isinstance(value, FuncGraph):
            return self.graphs.get(value) or opaque(value)
        if cls is type and value in SCALARS:
            return value.__name__
        if isinstance(value, DType):
            return "bool_" if value is dt.bool_ else value.short
        if isinstance(value, Abstract):
            return f"<{self.type(value)}>"
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array(np.asarray(value))
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, Undefined) or value is DICT_STAR:
            return repr(value) if value is not DICT_STAR else "**"
        return opaque(value)

    def tensor(self, value: Tensor) -> str:
        """A Tensor, or a Parameter by name with what is not as usual."""
        if not isinstance(value, Parameter):
            return f"Tensor({self.array(value.asnumpy())})"
        words = [f"{name}={getattr(value, name)}" for name, usual in PARAMETER_FIELDS.items()
                 if getattr(value, name) != usual]
        return f"Parameter({', '.join([json.dumps(value.name), self.array(value.asnumpy()), *words])})"

    def array(self, array: np.ndarray) -> str:
        """`f32[2](1.0, 2.0)`, or `f32[64](#0)` with a line in the table."""
        kind = dt.dtype(array.dtype)
        shape = f"[{', '.join(map(str, array.shape))}]" if array.ndim else ""
        if array.size <= INLINE:
            text = ", ".join(map(element_text, array.ravel()))
            if kind.kind != "c" and from_elements(text, kind, array.shape).tobytes() == array.tobytes():
                return f"{kind.short}{shape}({text})"
        number = next((n for n, known in enumerate(self.blobs) if known is array), len(self.blobs))
        if number == len(self.blobs):
            self.blobs.append(array)
        return f"{kind.short}{shape}(#{number})"

    def blob(self, number: int) -> str:
        """The line of a large constant in the table."""
        array = self.blobs[number]
        head = f"  #{number} = {array.nbytes} bytes"
        if self.apart or not self.full:
            return head + self.summary(array) * (not self.full)
        coded = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
        return "\n".join([head, *(f'    "{line}"' for line in textwrap.wrap(coded, 108))])

    @staticmethod
    def summary(array: np.ndarray) -> str:
        """What people want to know of a large constant."""
        if array.dtype.kind not in "fiu" or not array.size:
            return ""
        return f"  # from {array.min():.6g} to {array.max():.6g}, mean {array.astype(np.float64).mean():.6g}"


SCALARS = (bool, int, float)                 # classes of numbers, as static values
PARAMETER_FIELDS = {"requires_grad": True, "layerwise_parallel": False, "parallel_optimizer": True}


def natural_abstract(value: Any) -> Abstract | None:
    """The abstract that a constant has if nothing else is said; None for objects."""
    if isinstance(value, Tensor):
        value = value.elements
    if isinstance(value, DeviceArray):
        return AbstractTensor(dt.dtype(value.dtype), value.shape)
    if isinstance(value, (np.ndarray, np.generic)):
        return AbstractTensor(dt.dtype(value.dtype), value.shape)
    if type(value) in (bool, int, float):
        return AbstractScalar(type(value), value if type(value) is int else None)
    return AbstractScalar(int, value) if isinstance(value, Dim) else None


def element_text(element: Any) -> str:
    """The shortest text that stands for an array's element."""
    if element.dtype.kind == "b":
        return str(bool(element))
    if element.dtype.kind in "iu":
        return str(int(element))
    if not np.isfinite(element):
        return str(float(element)) if element.dtype.kind != "c" else "nan"
    text = str(element)
    return text if any(c in text for c in ".en(") else text + ".0"


def from_elements(text: str, kind: DType, shape: tuple[int, ...]) -> np.ndarray:
    """The array of such texts, separated by commas; what cannot be written exactly is caught by comparing bytes."""
    items = [_number(part) for part in text.split(",")] if text.strip() else []
    return np.array(items, kind.numpy).reshape(shape)


def _number(text: str) -> float | int:
    text = text.strip()
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return math.nan


def _quote(name: str, plain: Any) -> str:
    return name if plain.match(name) and not name.isdigit() else json.dumps(name)


def _distinct(things: Any, name_of: Function) -> Any:
    """{thing: name}; the second of a name gets `:2`."""
    made = {}
    count: dict = {}
    for thing in things:
        name = name_of(thing)
        count[name] = count.get(name, 0) + 1
        made[thing] = name if count[name] == 1 else f"{name}:{count[name]}"
    return made


def symbols_in(graphs: Sequence[FuncGraph]) -> list[Symbol]:
    """The Symbols in types, attributes and constants of the graphs, in the order in which they were made."""
    sizes: list = []
    for g in graphs:
        results = g.output.args if isinstance(g.output, CNode) else ()
        for node in (*g.parameters, *g.nodes, *(a for n in g.nodes for a in n.args), *results):
            more = node.value if isinstance(node, ValueNode) else node.attrs if isinstance(node, CNode) else None
            sizes += dims_in(node.abstract) + dims_in(more)
    return sorted(set().union(*map(symbols_of, sizes)), key=lambda s: s.number)
