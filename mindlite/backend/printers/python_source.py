"""A scheduled LoopNest as Python text: what `mindlite kernel` shows, with the user's line beside what came from it.

    def fused_tanh_mul(x, w, out, n0, n1, begin, end):
        for i0 in range(begin, end):
            for i1 in range(n1):
                tanh = math.tanh(x[i0*n1 + i1])            # model.py:3: h = ops.tanh(x)
                out[i0*n1 + i1] = tanh * w[i1]             # model.py:4: return h * self.w

The text is real. `lower_numba` compiles it to machine code, with every name in it (`float32`, `tanh`, `where`, ..) and
every operator meaning what `lower_llvm` emits for it; run as Python, on flat NumPy arrays, it is the reference that machine
code is tested against (tests/graph_kernel/run_text.py). Both lowerings print the same statements.
`x += y` in a fold may be added up in any order; `full(n, x)` is a local array, one number for each lane of a tile.
"""
import keyword

import numpy as np

from ...common import dtype as dt
from ...common.dim import Dim
from ...common.errors import InternalError
from ...mindir.abstract import AbstractScalar
from ...mindir.loops import BLOCK, Access
from ...mindir.scalar import (BINARY_FUNCTIONS, UNARY_FUNCTIONS, BinOp, Call, Cast, Const, IndexVar, Neg, Select, Size,
                             compute_dtype)

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|",
              "xor": "^", "shl": "<<", "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
              "ge": ">="}
COMMENT_COLUMN = 60
FUNCTIONS = UNARY_FUNCTIONS + BINARY_FUNCTIONS + ("where", "exceeds", "undercuts", "full")
_RESERVED = {"begin", "end", "t", "inf", "nan", "range", *keyword.kwlist, *FUNCTIONS, *(d.name for d in dt.ALL)}


def python_source(nest, plain=False):
    """The text of a scheduled LoopNest: a function of flat arrays, sizes, begin and end.

    plain: no names and lines of the user, so that equal kernels have equal texts
    """
    return "\n".join(_Printer(nest, plain).function()) + "\n"


class _Printer:
    reserved = frozenset(_RESERVED)                          # names that no value has

    def __init__(self, nest, plain=False):
        self.nest, self.plain = nest, plain
        self.names, self.taken, self.lines, self.variables = {}, set(), [], {}
        self.operands = {}
        for operand in [*nest.inputs, *(o.operand for o in nest.outputs)]:
            self.operands[id(operand)] = self.fresh(operand.name)
        for symbol in nest.sizes:
            self.variables[symbol] = self.fresh(symbol.name)

    def fresh(self, wish):
        """A name that is not taken: wish, wish_1, .."""
        if self.plain:
            wish = f"v{len(self.taken)}"
        wish = "".join(c if c.isalnum() else "_" for c in str(wish)) or "t"
        wish = "_" + wish if wish[0].isdigit() else wish
        name, number = wish, 0
        while name in self.taken or name in self.reserved:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        return name

    def function(self):
        nest = self.nest
        parameters = [*self.operands.values(), *(self.variables[s] for s in nest.sizes), "begin", "end"]
        self.lines = [f"def {function_name(nest, self.plain)}({', '.join(parameters)}):"]
        if not self.plain:
            self.lines.append(f'    """{", ".join(str(o.abstract) for o in nest.inputs)} -> '
                              f'{", ".join(str(o.operand.abstract) for o in nest.outputs)}"""')
        if nest.parallel is None:
            self.line(1, "if begin >= end:")
            self.line(2, "return")
        self.statements(nest.body, 1)
        return self.lines

    def line(self, depth, text, note=None):
        text = "    " * depth + text
        location = note.origin.location if note is not None else None
        if location is not None and not self.plain:
            file = location.file.replace("\\", "/").rsplit("/", 1)[-1]
            text = f"{text:<{COMMENT_COLUMN}}  # {file}:{location.line}: {location.source().strip()}".rstrip(": ")
        self.lines.append(text)

    def statements(self, statements, depth):
        for s in statements:
            getattr(self, type(s).__name__.lower())(s, depth)

    def named(self, s):
        """A name for the value of a statement, after the operator that it came from."""
        name = self.names[s.expr] = self.fresh(s.note.fn.name if s.note is not None else "t")
        return name

    def let(self, s, depth):
        text = self.compute(s.expr if s.source is None else s.source)
        self.line(depth, f"{self.named(s)} = {text}", s.note)

    def store(self, s, depth):
        operand = s.output.operand
        note = self.nest.notes.get(s.expr) if s.expr not in self.names else None
        self.line(depth, f"{self.operands[id(operand)]}[{self.dim(s.offset)}] = {self.value(s.expr)}", note)

    def bind(self, variable):
        name = self.variables[self.nest.symbols[variable]] = self.fresh(variable.fields[0])
        return name

    def loop(self, s, depth):
        start, stop = ("begin", "end") if s.parallel else (str(s.start), self.dim(s.extent))
        if s.parallel and s.start:
            start = f"maximum({s.start}, begin)"
        stop = stop if s.stop is None else f"minimum({s.stop}, {stop})"
        if s.squares:
            self.squares(s, start, stop, depth)
            return
        if s.tiled:
            first, size = self.fresh("first"), self.fresh("lanes")
            self.tile = first, size
            self.line(depth, f"for {first} in range({start}, {stop}, {self.nest.target.tile}):")
            self.line(depth + 1, f"{size} = minimum({self.nest.target.tile}, {stop} - {first})")
        else:
            self.line(depth, f"for {self.bind(s.variable)} in range({'' if start == '0' else start + ', '}{stop}):")
        self.statements(s.body, depth + 1)

    def squares(self, s, start, stop, depth):
        """Two loops, in squares."""
        inner, = s.body
        width = self.dim(inner.extent)
        row, column = self.fresh("row"), self.fresh("column")
        self.line(depth, f"for {row} in range({start}, {stop}, {self.nest.target.side}):")
        self.line(depth + 1, f"for {column} in range(0, {width}, {self.nest.target.side}):")
        for k, (variable, first, last) in enumerate(((s.variable, row, stop), (inner.variable, column, width))):
            self.line(depth + 2 + k,
                      f"for {self.bind(variable)} in range({first}, minimum({first} + {self.nest.target.side}, {last})):")
        self.statements(inner.body, depth + 4)

    def lanes(self, s, depth):
        self.lane_header(s.variable, depth)
        self.statements(s.body, depth + 1)

    def lane_header(self, variable, depth):
        self.line(depth, f"for t in range({self.tile[1]}):")
        self.line(depth + 1, f"{self.bind(variable)} = {self.tile[0]} + t")

    def branch(self, s, depth):
        name = self.fresh(s.note.fn.name if s.note is not None else "t")
        self.line(depth, f"if {self.value(s.expr.fields[0])}:", s.note)
        for statements, value in (s.then, s.otherwise):
            self.statements(statements, depth + 1)
            self.line(depth + 1, f"{name} = {self.value(value)}")
            if value is s.then[1] and statements is s.then[0]:
                self.line(depth, "else:")
        self.names[s.expr] = name

    def fold(self, s, depth):
        kind = s.expr.fields[0]
        if s.lanes is None and kind in ("sum", "prod") and s.expr.dtype.is_float:
            self.fold_blocks(s, depth)
            return
        lane = "[t]" if s.lanes is not None else ""
        name = self.fresh(s.note.fn.name if s.note is not None else kind)
        best = self.fresh("best") if kind in ("argmax", "argmin") else name
        start = self.initial(s.expr)
        if best is not name:
            self.line(depth, f"{name} = {self.full('0') if lane else '0'}", s.note)
        self.line(depth, f"{best} = {self.full(start) if lane else start}",
                  s.note if best is name else None)
        for variable, extent, statements in s.loops:
            if variable is None:
                self.lane_header(s.lanes, depth)
            else:
                self.line(depth, f"for {self.bind(variable)} in range({self.dim(extent)}):")
            depth += 1
            self.statements(statements, depth)
        self.fold_step(s, name, best, lane, depth)
        self.names[s.expr] = name + lane

    def fold_step(self, s, name, best, lane, depth):
        """One element is folded in. best: what is held of an argmax or argmin, else name"""
        kind = s.expr.fields[0]
        value, held = self.value(s.value), best + lane
        if best is not name:
            number = "0"
            for variable in s.expr.fields[1]:
                i = self.variables[self.nest.symbols[variable]]
                number = i if number == "0" else f"({number})*{self.dim(self.nest.extents[variable])} + {i}"
            wide = compute_dtype(s.value.dtype)
            if s.value not in self.names or wide is not s.value.dtype:
                element, text = self.fresh("element"), self.strip(value)
                self.line(depth, f"{element} = {text if wide is s.value.dtype else f'{wide.name}({text})'}")
                value = element
            self.line(depth, f"if {_WINS[kind]}({value}, {held}):")
            self.line(depth + 1, f"{held} = {value}")
            self.line(depth + 1, f"{name}{lane} = {number}")
        elif kind in ("max", "min"):
            self.line(depth, f"{held} = {kind}imum({held}, {value})")
        else:
            self.line(depth, f"{held} {_FOLD[kind]}= {value}")

    def fold_blocks(self, s, depth):
        """A floating-point sum or product: blocks in the elements' type, their totals in double."""
        kind, dtype = s.expr.fields[0], s.expr.dtype.name
        name, total, part = self.fresh(s.note.fn.name if s.note is not None else kind), self.fresh("total"), self.fresh("part")
        neutral = {"sum": 0, "prod": 1}[kind]
        self.line(depth, f"{total} = float64({neutral})", s.note)
        outside = depth
        *outer, (variable, extent, statements) = s.loops
        for v, e, before in outer:
            self.line(depth, f"for {self.bind(v)} in range({self.dim(e)}):")
            depth += 1
            self.statements(before, depth)
        start, stop = "", self.dim(extent)
        if not isinstance(extent, int):
            first = self.fresh("first")
            self.line(depth, f"for {first} in range(0, {stop}, {BLOCK}):")
            start, stop, depth = f"{first}, ", f"minimum({first} + {BLOCK}, {stop})", depth + 1
        self.line(depth, f"{part} = {dtype}({neutral})")
        self.line(depth, f"for {self.bind(variable)} in range({start}{stop}):")
        self.statements(statements, depth + 1)
        self.line(depth + 1, f"{part} {_FOLD[kind]}= {self.value(s.value)}")
        self.line(depth, f"{total} = {total} {_FOLD[kind]} float64({part})")
        self.line(outside, f"{name} = {dtype}({total})")
        self.names[s.expr] = name

    def full(self, value):
        return f"full({self.tile[1]}, {value})"

    def initial(self, expr):
        kind, dtype = expr.fields[0], compute_dtype(expr.fields[2].dtype)
        if kind in ("sum", "prod", "any", "all"):
            value = {"sum": 0, "prod": 1, "any": False, "all": True}[kind]
            return f"{expr.dtype.name}({value})"
        sign = "-" if kind in ("max", "argmax") else ""
        if dtype.is_float:
            return f"{dtype.name}({sign}inf)"
        if dtype is dt.bool_:
            return str(not sign)
        info = np.iinfo(dtype.numpy)
        return f"{dtype.name}({info.min if sign else info.max})"

    # ------------------------------------------------------------ expressions

    def dim(self, polynomial):
        """An int or Dim as text over the names of sizes and loop variables."""
        if not isinstance(polynomial, Dim):
            return str(polynomial)
        parts = []
        for monomial, c in sorted(polynomial.terms.items(), key=lambda t: (-sum(p for _, p in t[0]), repr(t[0]))):
            factors = [self.variables[a] for a, p in monomial for _ in range(p)]
            if c != 1 or not factors:
                factors.append(str(c))
            parts.append("*".join(factors))
        return " + ".join(parts).replace("+ -", "- ")

    def value(self, expr):
        """The name of an expression, or its text in brackets where it needs them."""
        if expr in self.names:
            return self.names[expr]
        text = self.compute(expr)
        return f"({text})" if isinstance(expr, (BinOp, Neg)) else text

    def compute(self, expr):
        fields = expr.fields
        if isinstance(expr, Const):
            return self.number(fields[0], expr.dtype)
        if isinstance(expr, IndexVar):
            return self.variables[self.nest.symbols[expr]]
        if isinstance(expr, Size):
            return self.dim(self.nest.size_of(fields[0]))
        if isinstance(expr, Access):
            operand, offset, exprs, strides, _, _ = fields
            if isinstance(operand.abstract, AbstractScalar):
                return self.operands[id(operand)]
            terms = [self.dim(offset)] if offset != 0 or not exprs else []
            for index, stride in zip(exprs, strides):
                text = self.value(index) if index.dtype is dt.int64 else f"int64({self.strip(self.value(index))})"
                terms.append(text + (f"*({self.dim(stride)})" if stride != 1 else ""))
            return f"{self.operands[id(operand)]}[{' + '.join(terms)}]"
        if isinstance(expr, Neg):
            return "-" + self.value(fields[0])
        if isinstance(expr, Cast):
            return f"{expr.dtype.name}({self.strip(self.value(fields[0]))})"
        if isinstance(expr, Select):
            return f"where({', '.join(self.strip(self.value(f)) for f in fields)})"
        if isinstance(expr, BinOp):
            op, a, b = fields
            return f"{self.value(a)} {_OPERATORS[op]} {self.value(b)}"
        if isinstance(expr, Call):
            return f"{fields[0]}({', '.join(self.strip(self.value(a)) for a in fields[1])})"
        raise InternalError(f"no text for {type(expr).__name__}")

    @staticmethod
    def strip(text):
        """Without the brackets around the whole of it."""
        if not (text.startswith("(") and text.endswith(")")):
            return text
        depth = 0
        for position, c in enumerate(text):
            depth += (c == "(") - (c == ")")
            if depth == 0:
                return text[1:-1] if position == len(text) - 1 else text
        return text

    @staticmethod
    def number(value, dtype):
        if dtype is dt.int64 or dtype is dt.bool_:
            return str(value)
        return f"{compute_dtype(dtype).name}({value})"


_FOLD = {"sum": "+", "prod": "*", "any": "|", "all": "&"}
_WINS = {"argmax": "exceeds", "argmin": "undercuts"}


def numba_source(nest):
    """The plain text of a scheduled LoopNest, after the rest of a line that says what its arguments are."""
    words = []
    for number, operand in enumerate([*nest.inputs, *(o.operand for o in nest.outputs)]):
        scalar = isinstance(operand.abstract, AbstractScalar)
        words.append(operand.dtype.name if scalar else f"{operand.dtype.name}*[{nest.memory_of(number)}]")
    words += ["size"] * len(nest.sizes)
    return f"{', '.join(words)}\n{python_source(nest, plain=True)}"


def function_name(nest, plain=False):
    """The name of the function in the text."""
    return "kernel" if plain else "".join(c if c.isalnum() else "_" for c in nest.name)
