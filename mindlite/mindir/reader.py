"""Reading MindIR's text back: read(write(graph)) is the same graph.

A recursive-descent parser over tokens. What it reads is checked as it goes: every value is defined before it is used,
operators exist and get their arguments, sizes and bytes of constants agree; the first thing that is wrong raises a
ReadError that shows the line and the column. Operators are found by name, so the rooms that make them are imported by
the caller (`import mindlite`). Nothing in a text is executed.
"""
from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Function
from ..common.dim import Dim, Symbol, dim_max, dim_min, is_dim, product
from ..common.dtype import DType
from ..common.location import NOWHERE, Location, Origin
from ..common.tensor import Parameter, Tensor
from .abstract import Abstract, AbstractAny, AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from .control import make_tuple
from .graph import AnfNode, CNode, FuncGraph, ValueNode
from .primitive import HOMES, PRIMITIVES, find_primitive
from .printer import PARAMETER_FIELDS, natural_abstract
from .tokens import Cursor, Token

DTYPES = {("bool_" if d is dt.bool_ else d.short): d for d in dt.ALL}
TYPE_DTYPES = {d.short: d for d in dt.ALL}
SCALARS = {"int": int, "float": float, "bool": bool}


def read(text: str, constants: dict[int, bytes] | None = None) -> FuncGraph:
    """The FuncGraph of a text that `printer.write` made (or `show`, where it has no large constants).

    constants : {number: bytes} of those that the text leaves out
    raises : ReadError if the text is malformed, names an operator that does not exist, or holds an object that has no text
    """
    return _Reader(text, constants or {}).read()


class _Reader(Cursor):
    """The cursor, and what was defined so far.

    symbols : {word: Symbol}     sizes : {word: size}     locations : {word: Location}
    graphs : {"@f": FuncGraph}, defined and used ones
    bytes   : {number of a constant: bytes, None if left out}     values : {"%1": node} of the graph that is read
    """

    def __init__(self, text: str, given: dict[int, bytes]) -> None:
        super().__init__(text)
        self.given = given
        self.symbols: dict = {}
        self.sizes: dict = {}
        self.locations: dict = {}
        self.bytes: dict = {}
        self.arrays: dict = {}
        self.graphs: dict = {}
        self.defined: set = set()
        self.uses: dict = {}
        self.values: dict = {}

    # ------------------------------------------------------------------------------------------------------- file

    def read(self) -> FuncGraph:
        """The first graph of the text, with all that it holds."""
        self.each_part({"symbols": self.read_symbols, "sizes": self.read_sizes, "constants": self.read_constants,
                        "locations": self.read_locations, "graph": self.skip_graph})
        self.at, graphs = 0, []
        self.each_part({"symbols": self.skip_line, "sizes": self.skip_graph, "constants": self.skip_graph,
                        "locations": self.skip_graph, "graph": lambda: graphs.append(self.read_graph())})
        if not graphs:
            self.fail("the text holds no graph")
        for name, token in self.uses.items():
            if name not in self.defined:
                self.fail(f"the graph {name} is defined nowhere", token)
        return graphs[0]

    def each_part(self, readers: dict[str, Function]) -> None:
        """Go through the text's parts; tables stand at the end, so there are two such walks."""
        self.skip_newlines()
        while self.next.kind != "end":
            token = self.take()
            if token.text == "block":
                self.fail("blocks of the syntax dialect are printed only, they cannot be read", token)
            if token.kind != "word" or token.text not in readers:
                self.fail(f"one of {', '.join(readers)} is expected, not {token.text!r}", token)
            readers[token.text]()
            if self.next.kind != "end":
                self.take("newline")
            self.skip_newlines()

    def skip_line(self) -> None:
        """Go to the end of the line."""
        while self.next.kind not in ("newline", "end"):
            self.take()

    def skip_graph(self) -> None:
        """Go behind the brace that closes the part."""
        open_braces = 0
        while self.next.kind != "end":
            token = self.take()
            open_braces += (token.text == "{") - (token.text == "}")
            if token.text == "}" and open_braces <= 0:
                return
        self.fail("'}' is expected, the text ends")

    def read_symbols(self) -> None:
        """`symbols N in 1.., K in 0..8 = "batch size"`"""
        while True:
            token = self.take("word")
            if token.text in self.symbols:
                self.fail(f"the symbol {token.text} is defined twice", token)
            self.take(text="in")
            lo = self.integer()
            self.take(text="..")
            hi = self.integer() if self.next.kind == "int" or self.next.text == "-" else None
            if hi is not None and hi < lo:
                self.fail("the bounds of this symbol hold nothing", token)
            name = self.string() if self.accept("=") else token.text
            self.symbols[token.text] = Symbol(name, lo, hi)
            if not self.accept(","):
                return

    def read_sizes(self) -> None:
        """`d1 = max(N - 1, 0)`: parts of long sizes, each after those that stand in it."""
        self.open_table()
        while not self.accept("}"):
            token = self.take("word")
            if token.text in self.symbols or token.text in self.sizes:
                self.fail(f"the size {token.text} is defined twice", token)
            self.take(text="=")
            self.sizes[token.text] = self.size()
            self.take("newline")
            self.skip_newlines()

    def read_locations(self) -> None:
        """`l3 = "model.py" 3:8-3:20 "Net.construct"`"""
        self.open_table()
        while not self.accept("}"):
            token = self.take("word")
            if token.text in self.locations:
                self.fail(f"the location {token.text} is defined twice", token)
            self.take(text="=")
            file, numbers = self.string(), [self.integer()]
            for sign in (":", "-", ":"):
                self.take(text=sign)
                numbers.append(self.integer())
            line, col, end_line, end_col = numbers
            self.locations[token.text] = Location(file, line, col, end_line, end_col, self.string())
            self.take("newline")

    def open_table(self) -> None:
        """The brace, and the end of its line."""
        self.take(text="{")
        self.take("newline")

    def read_constants(self) -> None:
        """`#0 = 24 bytes` and lines of base64."""
        self.open_table()
        while not self.accept("}"):
            token = self.take("blob")
            number = self.blob_number(token)
            if number in self.bytes:
                self.fail(f"the constant #{number} is defined twice", token)
            self.take(text="=")
            nbytes = self.number(self.take("int"))
            self.take(text="bytes")
            self.take("newline")
            coded = []
            while self.next.kind == "string":
                coded.append(self.string())
                self.take("newline")
            try:
                data = base64.b64decode("".join(coded), validate=True)
            except (binascii.Error, ValueError):
                self.fail(f"the bytes of #{number} are no base64", token)
            if coded and len(data) != nbytes:
                self.fail(f"#{number} has {len(data)} bytes, {nbytes} are announced", token)
            self.bytes[number] = data if coded or not nbytes else self.given.get(number)

    def blob_number(self, token: Token) -> int:
        """The number of `#3`."""
        return self.number(Token("int", token.text[1:], token.position))

    # ------------------------------------------------------------------------------------------------------ graphs

    def graph_named(self, token: Token) -> FuncGraph:
        """The graph of a name like `@f/true:2`, which may be defined later."""
        found = self.graphs.get(token.text)
        if found is None:
            name = re.sub(r":\d+\Z", "", token.text[1:])
            name = self.unquote(name, token) if name.startswith('"') else name
            found = self.graphs[token.text] = FuncGraph(name)
        self.uses.setdefault(token.text, token)
        return found

    def read_graph(self) -> FuncGraph:
        """`graph @f(%x: f32[N]) { .. return %1 }`"""
        token = self.take("graph")
        if token.text in self.defined:
            self.fail(f"the graph {token.text} is defined twice", token)
        graph = self.graph_named(token)
        self.defined.add(token.text)
        self.values = {}
        self.take(text="(")
        while not self.accept(")"):
            self.read_parameter(graph)
            if self.next.text != ")":
                self.take(text=",")
        graph.origin = self.origin()
        self.take(text="{")
        self.take("newline")
        while not self.accept("return"):
            self.read_node(graph)
        results = []
        while self.next.kind != "newline" and self.next.text != "at":
            results.append(self.operand())
            if not self.accept(","):
                break
        graph.set_outputs(results, make_tuple)
        graph.output.origin = self.origin()
        self.take("newline")
        self.take(text="}")
        return graph

    def define(self, token: Token, node: AnfNode) -> None:
        """Give `%name` its node."""
        if token.text in self.values:
            self.fail(f"{token.text} is defined twice", token)
        self.values[token.text] = node

    def read_parameter(self, graph: FuncGraph) -> None:
        """`%x: f32[N]` or, of an implicit input, `%w: f32[3] = Parameter("w", ..)`"""
        token = self.take("name")
        name = re.sub(r":\d+\Z", "", token.text[1:])
        name = self.unquote(name, token) if name.startswith('"') else name
        self.take(text=":")
        abstract = self.type()
        default = None
        if self.accept("="):
            where = self.next
            default = self.value()
            if not isinstance(default, Tensor):
                self.fail("a parameter's default is a Tensor or a Parameter", where)
        self.define(token, graph.add_parameter(name, abstract, self.origin(), default))

    def read_node(self, graph: FuncGraph) -> None:
        """`%1 = tanh(%x) : f32[N]`"""
        target = self.take("name")
        self.take(text="=")
        token = self.next
        if token.kind == "graph":
            fn: Any = self.graph_named(self.take())
        else:
            word = self.take("word").text
            fn = find_primitive(word) if word in PRIMITIVES or word in HOMES else None
            if fn is None:
                self.fail(f"no operator is named {token.text!r}", token)
        self.take(text="(")
        args, attrs = [], {}
        while not self.accept(")"):
            if self.next.kind == "word" and self.tokens[self.at + 1].text == "=":
                key = self.take()
                if key.text in attrs:
                    self.fail(f"the attribute {key.text!r} is given twice", key)
                self.take(text="=")
                attrs[key.text] = self.value()
            elif attrs:
                self.fail("arrays stand before attributes")
            else:
                args.append(self.operand())
            if self.next.text != ")":
                self.take(text=",")
        self.check_call(fn, args, attrs, token)
        self.take(text=":")
        node = CNode(graph, fn, args, attrs, self.type(), self.origin())
        graph.nodes.append(node)
        self.define(target, node)
        self.take("newline")

    def check_call(self, fn: Any, args: Sequence[AnfNode], attrs: dict[str, int | tuple[int, int]], token: Token) -> None:
        """An operator gets as many arrays as it takes, and the attributes that it has."""
        if isinstance(fn, FuncGraph):
            return
        if not fn.variadic and len(args) != len(fn.inputs):
            self.fail(f"{fn.name} takes {len(fn.inputs)} arrays, {len(args)} are given", token)
        optional = {"remat"} & fn.attrs.keys()
        if attrs.keys() | optional != fn.attrs.keys():
            wrong = sorted((attrs.keys() | optional) ^ fn.attrs.keys())[0]
            self.fail(f"{fn.name} {'has no' if wrong in attrs else 'needs the'} attribute {wrong!r}", token)

    def operand(self) -> AnfNode:
        """A value by its name, a constant, or `(constant : type)`."""
        if self.next.kind == "name":
            token = self.take()
            if token.text not in self.values:
                self.fail(f"{token.text} is used before it is defined", token)
            return self.values[token.text]
        if self.next.text == "(":
            start = self.at
            self.take()
            value = self.value()
            if self.accept(":"):
                abstract = self.type()
                self.take(text=")")
                return ValueNode(value, abstract)
            self.at = start
        value = self.value()
        return ValueNode(value, natural_abstract(value))

    def origin(self) -> Origin:
        """`at l3 by "vjp"`, or nothing."""
        location, by = None, ""
        if self.accept("at"):
            token = self.take("word")
            location = self.locations.get(token.text)
            if location is None:
                self.fail(f"the location {token.text} is defined nowhere", token)
        if self.accept("by"):
            by = self.string()
        return Origin(location, None, by) if location is not None or by else NOWHERE

    # ------------------------------------------------------------------------------------------------------- types

    def type(self) -> Any:
        """`f32[N, C]`, `int=N`, `(f32[2], bool)`, `tape`, `any`"""
        token = self.take()
        if token.text == "(":
            return AbstractTuple(tuple(self.listed(")", self.type)[0]))
        if token.kind == "word" and token.text in TYPE_DTYPES and self.next.text == "[":
            self.take()
            return AbstractTensor(TYPE_DTYPES[token.text], tuple(self.listed("]", self.size)[0]))
        if token.kind == "word" and token.text in SCALARS:
            return AbstractScalar(SCALARS[token.text], self.size() if self.accept("=") else None)
        if token.text in ("tape", "any"):
            return AbstractTape() if token.text == "tape" else AbstractAny()
        self.fail(f"a type is expected, not {token.text!r}", token, hint="such as f32[N, 3], int, (f32[2], bool), tape")

    def size(self) -> int:
        """A sum of products over ints and symbols."""
        token = self.next
        value = self.nested(self.sum)
        if not is_dim(value):
            self.fail("a size is expected", token)
        return value

    # ------------------------------------------------------------------------------------------------------ values

    def value(self) -> Any:
        """A constant or static value; arithmetic on sizes included."""
        return self.nested(self.sum)

    def sum(self) -> Any:
        """value + value - value"""
        value = self.term()
        while self.next.text in ("+", "-"):
            token = self.take()
            other = self.term()
            self.needs_sizes(token, value, other)
            value = value + other if token.text == "+" else value - other
        return value

    def term(self) -> Any:
        """value * value // value % value"""
        value = self.factor()
        while self.next.text in ("*", "//", "%"):
            token = self.take()
            other = self.factor()
            self.needs_sizes(token, value, other)
            if token.text != "*" and other == 0:
                self.fail("a division by zero", token)
            value = value * other if token.text == "*" else value // other if token.text == "//" else value % other
        return value

    def needs_sizes(self, token: Token, *values: Any) -> None:
        """Arithmetic is for sizes only."""
        if not all(map(is_dim, values)):
            self.fail(f"{token.text!r} stands between sizes only", token)

    def factor(self) -> Any:
        """A value without arithmetic around it."""
        token = self.take()
        if token.text == "-" and token.kind == "sign":
            value = self.nested(self.factor)
            if isinstance(value, bool) or not isinstance(value, (int, float, Dim)):
                self.fail("'-' stands before numbers only", token)
            return -value
        reader = BY_KIND.get(token.kind) or BY_SIGN.get(token.text)
        if reader is None and token.kind == "word":
            return self.word(token)
        if reader is None:
            return self.fail(f"a value is expected, not {token.text!r}" if token.text.strip() else "a value is expected", token)
        return reader(self, token)

    def word(self, token: Token) -> Any:
        """True, inf, a dtype, a symbol, or a constructor by its name."""
        if token.text in self.symbols:
            return self.symbols[token.text].dim
        if token.text in self.sizes:
            return self.sizes[token.text]
        if token.text in WORDS:
            return WORDS[token.text]
        if token.text in CONSTRUCTORS and self.next.text == "(":
            return CONSTRUCTORS[token.text](self, token)
        if token.text in TYPE_DTYPES and self.next.text in ("[", "("):
            return self.array(token)
        if token.text in DTYPES:
            return DTYPES[token.text]
        if token.text in SCALARS:
            return SCALARS[token.text]
        self.fail(f"{token.text!r} is no value, and no symbol of that name is defined", token)

    def parenthesis(self, token: Token) -> float | Dim | tuple[Any, ...]:
        """A tuple, or a value in parentheses."""
        items, comma = self.listed(")", self.value)
        return items[0] if len(items) == 1 and not comma else tuple(items)

    def bracket(self, token: Token) -> list[Any]:
        """A list."""
        return self.listed("]", self.value)[0]

    def brace(self, token: Token) -> dict:
        """A dict."""
        def pair():
            where = self.next
            key = self.value()
            try:
                hash(key)
            except TypeError:
                self.fail("this cannot be the key of a dict", where)
            self.take(text=":")
            return key, self.value()
        return dict(self.listed("}", pair)[0])

    def angle(self, token: Token) -> Abstract:
        """`<f32[2]>`: a type as a value."""
        made = self.type()
        self.take(text=">")
        return made

    def question(self, token: Token) -> None:
        """`?"name"`: what could not be written."""
        self.fail(f"the object {self.next.text} lives in the process that wrote this, it has no text", token)

    def array(self, token: Token) -> np.ndarray:
        """`f32[2](1.0, 2.0)`, or `f32[64](#0)`"""
        kind = TYPE_DTYPES[token.text]
        shape = tuple(self.listed("]", self.size)[0]) if self.accept("[") else ()
        if not all(isinstance(s, int) and s >= 0 for s in shape):
            self.fail("the sizes of a constant are ints that are not negative", token)
        self.take(text="(")
        if self.next.kind == "blob":
            return self.stored_array(kind, shape, self.take(), token)
        items = self.listed(")", self.value)[0]
        if len(items) != product(shape):
            self.fail(f"this constant has {product(shape)} elements, {len(items)} are given", token)
        if not all(isinstance(i, (bool, int, float)) for i in items):
            self.fail("the elements of a constant are numbers", token)
        try:
            with np.errstate(over="raise", invalid="raise"):
                return np.array(items, kind.numpy).reshape(shape)
        except (OverflowError, ValueError, TypeError, FloatingPointError):
            self.fail(f"an element does not fit into {kind.short}", token)

    def stored_array(self, kind: DType, shape: Any, blob: Token, token: Token) -> np.ndarray:
        """An array whose bytes stand in the table at the end; one that is named twice is one array."""
        self.take(text=")")
        number = self.blob_number(blob)
        if number not in self.bytes:
            self.fail(f"the constant #{number} is defined nowhere", blob)
        data = self.bytes[number]
        if data is None:
            self.fail(f"the bytes of #{number} were left out of this text", blob, hint="use printer.write")
        if len(data) != product(shape) * kind.itemsize:
            self.fail(f"#{number} has {len(data)} bytes, {token.text}{list(shape)} needs {product(shape) * kind.itemsize}",
                      blob)
        key = number, kind, shape
        if key not in self.arrays:
            self.arrays[key] = np.frombuffer(data, kind.numpy).reshape(shape).copy()
        return self.arrays[key]

    def call_of(self, token: Token, count: int) -> list[Any]:
        """The arguments in parentheses of a constructor, which takes `count` of them."""
        self.take(text="(")
        items = self.listed(")", self.value)[0]
        if len(items) != count:
            self.fail(f"{token.text} takes {count} values, {len(items)} are given", token)
        return items

    def slice_value(self, token: Token) -> slice:
        """`slice(0, N, None)`"""
        return slice(*self.call_of(token, 3))

    def complex_value(self, token: Token) -> complex:
        """`complex(1.0, -2.0)`"""
        items = self.call_of(token, 2)
        if not all(type(i) is float for i in items):
            self.fail("complex takes two floats", token)
        return complex(*items)

    def bytes_value(self, token: Token) -> bytes:
        """`bytes("00ff")`"""
        text, = self.call_of(token, 1)
        try:
            return bytes.fromhex(text)
        except (TypeError, ValueError):
            self.fail("bytes takes hexadecimal digits", token)

    def extreme(self, token: Token) -> Dim:
        """`max(N, 0)` and `min(N, 8)` of sizes"""
        items = self.call_of(token, 2)
        self.needs_sizes(token, *items)
        return (dim_max if token.text == "max" else dim_min)(*items)

    def tensor_value(self, token: Token) -> Tensor:
        """`Tensor(f32[2](1.0, 2.0))`"""
        array, = self.call_of(token, 1)
        if not isinstance(array, np.ndarray):
            self.fail("Tensor takes a constant array", token)
        return Tensor.wrap(array)

    def parameter_value(self, token: Token) -> Parameter:
        """`Parameter("net.weight", f32[2](1.0, 2.0), requires_grad=False)`"""
        self.take(text="(")
        name = self.string()
        self.take(text=",")
        where = self.next
        array = self.value()
        if not isinstance(array, np.ndarray):
            self.fail("a Parameter holds a constant array", where)
        fields = {}
        while self.accept(","):
            key = self.take("word")
            if key.text not in PARAMETER_FIELDS:
                self.fail(f"a Parameter has no field {key.text!r}", key)
            self.take(text="=")
            fields[key.text] = self.word(self.take("word"))
        self.take(text=")")
        return Parameter(Tensor.wrap(array), name, **fields)

    def string_value(self, token: Token) -> str:
        """`"text"`"""
        return self.unquote(token.text, token)

    def float_value(self, token: Token) -> float:
        """`2.5e-3`"""
        return float(token.text)


WORDS = {"True": True, "False": False, "None": None, "inf": math.inf, "nan": math.nan}
CONSTRUCTORS = {"slice": _Reader.slice_value, "complex": _Reader.complex_value, "bytes": _Reader.bytes_value,
                "max": _Reader.extreme, "min": _Reader.extreme, "Tensor": _Reader.tensor_value,
                "Parameter": _Reader.parameter_value}
BY_KIND = {"int": _Reader.number, "float": _Reader.float_value, "string": _Reader.string_value,
           "graph": _Reader.graph_named}
BY_SIGN = {"(": _Reader.parenthesis, "[": _Reader.bracket, "{": _Reader.brace, "<": _Reader.angle,
           "?": _Reader.question}
