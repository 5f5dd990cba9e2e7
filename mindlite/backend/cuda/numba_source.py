"""A scheduled LoopNest as Python text for `numba.cuda`: what each thread does, for people, Numba's simulator and its compiler.

    @cuda.jit
    def tanh_mul(x, w, out, n0, n1):
        for item in range(cuda.grid(1), n0*n1, cuda.gridsize(1)):
            i0 = item // n1
            i1 = item % n1
            out[i0*n1 + i1] = tanh(x[i0*n1 + i1]) * w[i1]        # model.py:4: return ops.tanh(x) * self.w

Arrays are flat. `threads` shares out the work, for this text and for `nvptx`, which is what a GPU runs. The names are those of
`numba_functions`. Threads that share a row or a column meet in shared memory only: the simulator has no shuffles.
"""
import re
from typing import Any

from ...common import dtype as dt
from ...common.records import dataclass
from ...mindir.abstract import AbstractScalar
from ...mindir.loops import BLOCK, Access, Fold, Let, Loop, Store
from ...mindir.scalar import BinOp, Call, Const, Size, compute_dtype
from ..printers.python_source import _Printer, function_name
from .threads import SIDE, THREADS, WARP, flattened, joined, plan, product_of

_OF_FLOATS = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "exp2": "exp2"}        # with an f for float32
_LIBRARY = {"exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
            "cosh", "tanh", "asinh", "acosh", "atanh", "hypot", "erf", "erfc", "copysign", "pow", "fmod", "maximum", "minimum"}
_WRITTEN = {                                                 # functions that have no name in CUDA
    "sigmoid": "1 / (1 + exp(-{0}))", "rsqrt": "1 / sqrt({0})", "normal_cdf": "erfc(-{0}*0.7071067811865476) / 2",
    "normal_pdf": "exp(-{0}*{0} / 2)*0.3989422804014327"}
_SHIFT = {"shl": "shifted_left", "shr": "shifted_right"}
MEANT = frozenset(                                           # what a text may import from `numba_functions`
    {d.name for d in dt.ALL if d.kind != "c"} | _LIBRARY | {"fabs", "isnan", "isinf", "isfinite", "erfc", "inf", "nan", "where"} |
    {name + end for name in _OF_FLOATS.values() for end in ("", "f")} | {*_SHIFT.values(), "shifted_out", "threads_for"} |
    {"exceeds", "undercuts", "sign", "integer_sign", "integer_abs", "integer_pow", "floor_divide", "remainder",
     "float_floor_divide", "float_remainder"})


@dataclass
class Share:
    """Threads that share a fold: the number of this one and how many there are, as text; stride: how far their places in
    shared memory are apart; first: where theirs begin."""
    number: str
    size: str
    stride: int
    first: str


def cuda_source(nest: Any, plain: bool = False) -> str:
    """The text of a scheduled LoopNest: a module with a function decorated for numba.cuda, of flat arrays and sizes.

    plain: no names and lines of the user
    """
    return "\n".join(_ThreadPrinter(nest, plain).module()) + "\n"


def kernel_name(nest: Any, plain: bool = False) -> str:
    """The name of the function in a text."""
    name = function_name(nest, plain)
    return f"{name}_kernel" if name in _ThreadPrinter.reserved else name


class _ThreadPrinter(_Printer):
    reserved = _Printer.reserved | MEANT | {"cuda"}

    def __init__(self, nest, plain=False):
        super().__init__(nest, plain)
        self.plan, self.share, self.writes = plan(nest), None, None
        self.rooms: dict = {}                               # names of arrays that the threads of a block share, by dtype
        self.thread = self.fresh("thread")

    def module(self):
        """The lines of the text."""
        nest = self.nest
        parameters = [*self.operands.values(), *(self.variables[s] for s in nest.sizes)]
        head = ["@cuda.jit", f"def {kernel_name(nest, self.plain)}({', '.join(parameters)}):"]
        if not self.plain:
            head.append(f'    """{", ".join(str(o.abstract) for o in nest.inputs)} -> '
                        f'{", ".join(str(o.operand.abstract) for o in nest.outputs)}"""')
        self.statements(self.plan.before, 1)
        getattr(self, f"by_{self.plan.way}")()
        if any(re.search(rf"\b{self.thread}\b", line) for line in self.lines):
            head.append(f"    {self.thread} = cuda.threadIdx.x")
        head += [f"    {name} = cuda.shared.array({shape}, {dtype})" for name, shape, dtype in self.rooms.values()]
        text = "\n".join(line.split("  # ")[0] for line in head + self.lines if '"""' not in line)
        named = sorted({*re.findall(r"(?<![\w.])[a-z]\w*", text)} & MEANT - self.taken)
        return [f"from mindlite.backend.cuda.numba_functions import {', '.join(['cuda', *named])}", "", "", *head, *self.lines]

    # ------------------------------------------------------------ ways

    def by_items(self):
        axes = self.plan.chain
        item = self.bind(axes[0][0]) if len(axes) == 1 else self.fresh("item")
        self.line(1, f"for {item} in range(cuda.grid(1), {self.dim(product_of(axes))}, cuda.gridsize(1)):")
        self.bind_all(axes, item, 2, len(axes) == 1)
        self.statements(self.plan.values + self.plan.body, 2)

    def by_rows(self):
        plan = self.plan
        lane, group = self.fresh("lane"), self.fresh("group")
        if not plan.chain:
            self.line(1, "if cuda.blockIdx.x > 0:")
            self.line(2, "return")
            self.line(1, f"{lane} = {self.thread}")
            self.line(1, f"{group} = cuda.blockDim.x")
            self.row(lane, group, None, plan.body, 1)
            return
        longest, *others = [self.dim(extent) for extent in plan.long]
        for other in others:
            longest = f"maximum({longest}, {other})"
        rows, first, active = self.fresh("rows"), self.fresh("first"), self.fresh("active")
        self.line(1, f"{group} = threads_for({longest}, cuda.blockDim.x)")
        self.line(1, f"{lane} = {self.thread} % {group}")
        self.line(1, f"{rows} = cuda.blockDim.x // {group}")
        self.across(first, rows, active, f"{first} + {self.thread} // {group}")
        self.row(lane, group, active, plan.values + plan.body, 2)

    def across(self, first, rows, active, mine):
        """The loop over rows or columns that a block takes at a time; a thread without one does the last and writes nothing."""
        chain, count = self.plan.chain, self.dim(product_of(self.plan.chain))
        self.line(1, f"for {first} in range(cuda.blockIdx.x*{rows}, {count}, cuda.gridDim.x*{rows}):")
        own = self.bind(chain[0][0]) if len(chain) == 1 else self.fresh("own")
        self.line(2, f"{own} = {mine}")
        self.line(2, f"{active} = {own} < {count}")
        self.line(2, f"{own} = minimum({own}, {count} - 1)")
        self.bind_all(chain, own, 2, len(chain) == 1)

    def row(self, lane, group, active, statements, depth):
        """The statements of a row, its loops and folds shared out."""
        first = f"{lane} == 0" if active is None else f"{active} and {lane} == 0"
        for number, s in enumerate(statements):
            if isinstance(s, Loop):
                inside = depth
                if active is not None:
                    self.line(depth, f"if {active}:")
                    inside += 1
                self.shared_loop(s, lane, group, inside)
                self.meet_after(s.body, number < len(statements) - 1, depth)
            elif isinstance(s, Fold) and self.plan.shared_loop(s) is not None:
                self.writes, self.share = active, Share(lane, group, 1, f"{self.thread} - {lane}")
                self.fold(s, depth)
                self.writes, self.share = None, None
                self.meet_after([t for _, _, body in s.loops for t in body], True, depth)
            else:
                self.writes = first
                self.statements([s], depth)
                self.writes = None

    def shared_loop(self, s, lane, group, depth):
        """A loop of a row, its iterations shared out; a chain of loops is one axis."""
        axes, body, _ = flattened(s)
        start, stop = lane, self.dim(product_of(axes))
        if len(axes) == 1:
            start = f"{s.start} + {lane}" if s.start else lane
            stop = stop if s.stop is None else f"minimum({s.stop}, {stop})"
        own = self.bind(axes[0][0]) if len(axes) == 1 else self.fresh("item")
        self.line(depth, f"for {own} in range({start}, {stop}, {group}):")
        self.bind_all(axes, own, depth + 1, len(axes) == 1)
        self.statements(body, depth + 1)

    def meet_after(self, statements, more, depth):
        """What a loop or fold has written is seen by the threads of the block."""
        if more and any(isinstance(s, Store) for s in statements):
            self.line(depth, "cuda.syncthreads()")

    def by_columns(self):
        lane, row, rows = (self.fresh(name) for name in ("lane", "row", "rows"))
        first, active = self.fresh("first"), self.fresh("active")
        self.line(1, f"{lane} = {self.thread} % {WARP}")
        self.line(1, f"{row} = {self.thread} // {WARP}")
        self.line(1, f"{rows} = cuda.blockDim.x // {WARP}")
        self.across(first, WARP, active, f"{first} + {lane}")
        for s in self.plan.values + self.plan.body:
            shared = isinstance(s, Fold) and self.plan.shared_loop(s) is not None
            self.writes = f"{active} and {row} == 0"
            self.share = Share(row, rows, WARP, lane) if shared else None
            self.statements([s], 2)
        self.writes = self.share = None

    def by_squares(self):
        (outer, height), (inner, width), across = self.plan.square
        height, width = self.dim(height), self.dim(width)
        down, right, square, row, column, t = (self.fresh(n) for n in ("down", "right", "square", "row", "column", "t"))
        self.line(1, f"{down} = ({height} + {SIDE - 1}) // {SIDE}")
        self.line(1, f"{right} = ({width} + {SIDE - 1}) // {SIDE}")
        count = product_of(self.plan.chain)
        around = "" if count == 1 else f"{_atom(self.dim(count))}*"
        self.line(1, f"for {square} in range(cuda.blockIdx.x, {around}{down}*{right}, cuda.gridDim.x):")
        self.line(2, f"{row} = {square} // {right} % {down} * {SIDE}")
        self.line(2, f"{column} = {square} % {right} * {SIDE}")
        if self.plan.chain:
            chain = self.plan.chain
            plane = self.bind(chain[0][0]) if len(chain) == 1 else self.fresh("plane")
            self.line(2, f"{plane} = {square} // ({down}*{right})")
            self.bind_all(chain, plane, 2, len(chain) == 1)
        self.statements(self.plan.values, 2)
        tiles = {e: self.tile_of(e) for e in across}
        i, j = self.bind(outer), self.bind(inner)

        def each(near, far):
            self.line(2, f"for {t} in range({self.thread}, {SIDE * SIDE}, cuda.blockDim.x):")
            for name, start in ((near, row if near is i else column), (far, row if far is i else column)):
                self.line(3, f"{name} = {start} + {t} {'%' if name is near else '//'} {SIDE}")
            self.line(3, f"if {i} < {height} and {j} < {width}:")
        each(i, j)
        for e, tile in tiles.items():
            self.line(4, f"{tile}[{j} - {column}, {i} - {row}] = {self.compute(e)}")
        self.line(2, "cuda.syncthreads()")
        each(j, i)
        for e, tile in tiles.items():
            self.names[e] = self.fresh("element")
            self.line(4, f"{self.names[e]} = {tile}[{j} - {column}, {i} - {row}]", self.nest.notes.get(e))
        self.statements([s for s in self.plan.body if not (isinstance(s, Let) and s.expr in tiles)], 4)
        self.line(2, "cuda.syncthreads()")

    def tile_of(self, e):
        """The name of a square that the threads of a block share; its rows are one longer, so that columns lie in other banks."""
        name = self.fresh("tile")
        self.rooms[e] = name, f"({SIDE}, {SIDE + 1})", compute_dtype(e.dtype).name
        return name

    # ------------------------------------------------------------ statements

    def bind_all(self, axes, number, depth, bound=False):
        """The loop variables of a chain, from the number of an iteration of all."""
        for k, (variable, extent) in enumerate(axes if not bound else ()):
            inner = product_of(axes[k + 1:])
            text = number if isinstance(inner, int) and inner == 1 else f"{number} // {_atom(self.dim(inner))}"
            self.line(depth, f"{self.bind(variable)} = {text}{f' % {_atom(self.dim(extent))}' if k else ''}")

    def loop(self, s, depth):
        """A loop that this thread does by itself."""
        stop = self.dim(s.extent) if s.stop is None else f"minimum({s.stop}, {self.dim(s.extent)})"
        self.line(depth, f"for {self.bind(s.variable)} in range({f'{s.start}, ' if s.start else ''}{stop}):")
        share, self.share = self.share, None
        self.statements(s.body, depth + 1)
        self.share = share

    def lanes(self, s, depth):
        """Of the lanes of a tile each is a thread."""
        share, self.share = self.share, None
        self.statements(s.body, depth)
        self.share = share

    def store(self, s, depth):
        if self.writes is not None:
            self.line(depth, f"if {self.writes}:")
            depth += 1
        super().store(s, depth)

    def fold(self, s, depth):
        kind, share = s.expr.fields[0], self.share
        spread = self.plan.shared_loop(s) if share is not None else None
        self.share = None                                    # folds inside are this thread's own
        floating = kind in ("sum", "prod") and s.expr.dtype.is_float
        name = self.fresh(s.note.fn.name if s.note is not None else kind)
        best, dtype = name, s.expr.dtype.name
        if floating:
            best = self.fresh("total")
            self.line(depth, f"{best} = float64({0 if kind == 'sum' else 1})", s.note)
        elif kind in ("argmax", "argmin"):
            best = self.fresh("best")
            self.line(depth, f"{name} = 0", s.note)
            self.line(depth, f"{best} = {self.initial(s.expr)}")
        else:
            self.line(depth, f"{best} = {self.initial(s.expr)}", s.note)
        part = self.fresh("part") if floating else None
        self.iterate(s, name, best, part, (share, spread), depth)
        if spread is not None:
            self.combine(s, name, best, share, depth)
        if floating:
            self.line(depth, f"{name} = {best if dtype == 'float64' else f'{compute_dtype(s.expr.dtype).name}({best})'}")
        self.names[s.expr] = name
        self.share = share

    def iterate(self, s, name, best, part, shared, depth):
        """The loops of a Fold; the one numbered `spread` is shared. Of a part, blocks of the innermost go into the total."""
        share, spread = shared
        kind, last = s.expr.fields[0], len([1 for variable, _, _ in s.loops if variable is not None]) - 1
        loops = [(k, *loop) for k, loop in enumerate(s.loops) if loop[0] is not None]
        neutral = f"{compute_dtype(s.expr.dtype).name}({0 if kind == 'sum' else 1})"
        sign, outside = "+" if kind == "sum" else "*", None
        if part is not None and last < 0:
            self.line(depth, f"{part} = {neutral}")
            outside = depth
        pair = joined(s) if spread is not None and self.plan.way == "rows" else None
        for number, (k, variable, extent, statements) in enumerate(loops):
            if k == pair:
                continue
            outer, length = None, extent
            if pair is not None and k == spread:
                _, outer, around, _ = loops[number - 1]
                extent = around * extent
            start, step = ("", "") if k != spread else (f"{share.number}, ", f", {share.size}")
            stop = self.dim(extent)
            if part is not None and number == last:
                if not isinstance(extent, int):
                    first, width = self.fresh("first"), str(BLOCK) if k != spread else f"{BLOCK}*{share.size}"
                    self.line(depth, f"for {first} in range(0, {stop}, {width}):")
                    start = f"{first}, " if k != spread else f"{first} + {start}"
                    stop, depth = f"minimum({first} + {width}, {stop})", depth + 1
                self.line(depth, f"{part} = {neutral}")
                outside = depth
            item = self.bind(variable) if outer is None else self.fresh("item")
            self.line(depth, f"for {item} in range({start}{stop}{step}):")
            depth += 1
            if outer is not None:
                self.line(depth, f"{self.bind(outer)} = {item} // ({self.dim(length)})")
                self.line(depth, f"{self.bind(variable)} = {item} % ({self.dim(length)})")
            self.statements(statements, depth)
        self.statements([t for variable, _, statements in s.loops if variable is None for t in statements], depth)
        if part is None:
            self.fold_step(s, name, best, "", depth)
            return
        self.line(depth, f"{part} {sign}= {self.value(s.value)}")
        self.line(outside, f"{best} {sign}= float64({part})")

    def fold_step(self, s, name, best, lane, depth):
        kind, dtype = s.expr.fields[0], compute_dtype(s.expr.dtype)
        if kind in ("sum", "prod") and _is_short(dtype):     # Numba's integers are 64 bits wide
            self.line(depth, f"{best} = {dtype.name}({best} {'+' if kind == 'sum' else '*'} {self.value(s.value)})")
        else:
            super().fold_step(s, name, best, lane, depth)

    def combine(self, s, name, best, share, depth):
        """Threads meet in shared memory: half of them take what the other half has, until one has all."""
        kind, dtype = s.expr.fields[0], compute_dtype(s.value.dtype)
        floating = kind in ("sum", "prod") and s.expr.dtype.is_float
        held = {"sum": s.expr.dtype, "prod": s.expr.dtype, "any": dt.bool_, "all": dt.bool_}.get(kind, dtype)
        slots = [(best, self.room(dt.float64 if floating else held))]
        slots += [(name, self.room(dt.int64, "places"))] if best is not name and not floating else []
        t, half, room = self.thread, self.fresh("half"), slots[0][1]
        for value, place in slots:
            self.line(depth, f"{place}[{t}] = {value}")
        self.line(depth, "cuda.syncthreads()")
        self.line(depth, f"{half} = {share.size} // 2")
        self.line(depth, f"while {half} > 0:")
        self.line(depth + 1, f"if {share.number} < {half}:")
        other = self.fresh("other")
        self.line(depth + 2, f"{other} = {t} + {half}{f'*{share.stride}' if share.stride > 1 else ''}")
        mine, theirs = f"{room}[{t}]", f"{room}[{other}]"
        if len(slots) == 2:
            wins, places = {"argmax": "exceeds", "argmin": "undercuts"}[kind], slots[1][1]
            earlier = f"{places}[{other}] < {places}[{t}]"    # of equals, and of NaNs, the first
            self.line(depth + 2, f"if {wins}({theirs}, {mine}) or not {wins}({mine}, {theirs}) and {earlier}:")
            for _, place in slots:
                self.line(depth + 3, f"{place}[{t}] = {place}[{other}]")
        elif kind in ("max", "min"):
            self.line(depth + 2, f"{mine} = {kind}imum({mine}, {theirs})")
        else:
            together = f"{mine} {({'sum': '+', 'prod': '*', 'any': '|', 'all': '&'})[kind]} {theirs}"
            self.line(depth + 2, f"{mine} = {f'{held.name}({together})' if _is_short(held) else together}")
        self.line(depth + 1, "cuda.syncthreads()")
        self.line(depth + 1, f"{half} //= 2")
        for value, place in slots:
            self.line(depth, f"{value} = {place}[{share.first}]")
        self.line(depth, "cuda.syncthreads()")

    def room(self, dtype, wish="shared"):
        """The name of an array with a number for each thread of a block."""
        key = wish, dtype.name
        if key not in self.rooms:
            self.rooms[key] = self.fresh(wish), THREADS, dtype.name
        return self.rooms[key][0]

    # ------------------------------------------------------------ expressions

    def compute(self, expr):
        fields, dtype = expr.fields, expr.dtype
        if isinstance(expr, Access):
            text = super().compute(expr)
            narrow = dtype.is_small and not isinstance(fields[0].abstract, AbstractScalar)
            return f"{compute_dtype(dtype).name}({text})" if narrow else text
        if isinstance(expr, BinOp):
            return self.operation(expr, *fields)
        if isinstance(expr, Call):
            return self.call(expr, fields[0], [self.strip(self.value(a)) for a in fields[1]])
        return super().compute(expr)

    def operation(self, expr, op, a, b):
        """The text of an operator: integers narrower than Numba's are cut to their own width."""
        dtype, known = a.dtype, isinstance(b, Size) or (isinstance(b, Const) and b.fields[0] > 0)
        x, y = self.strip(self.value(a)), self.strip(self.value(b))
        if op in ("floordiv", "mod") and dtype.is_float:
            text = f"{'float_floor_divide' if op == 'floordiv' else 'float_remainder'}({x}, {y})"
            return f"{dtype.name}({text})"
        if op in ("floordiv", "mod") and not known:
            text = f"{'floor_divide' if op == 'floordiv' else 'remainder'}({x}, {y})"
        elif op in _SHIFT and not (known and b.fields[0] < dtype.bits):
            name = "shifted_out" if op == "shr" and dtype.kind == "u" else _SHIFT[op]
            text = f"{name}({x}, {y}, {dtype.bits})"
        else:
            text = super().compute(expr)
        return f"{dtype.name}({text})" if _is_short(expr.dtype) and expr.dtype.kind != "b" else text

    def call(self, expr, name, args):
        """The text of a function: CUDA's where there is one, else in terms of those."""
        dtype = compute_dtype(expr.fields[1][0].dtype)
        if not dtype.is_float:
            text = f"{ {'sign': 'integer_sign', 'abs': 'integer_abs', 'pow': 'integer_pow'}.get(name, name)}({', '.join(args)})"
            if name in ("isnan", "isinf", "isfinite"):
                return str(name == "isfinite")
            return f"{dtype.name}({text})" if _is_short(dtype) else text
        if name in _OF_FLOATS:
            return f"{_OF_FLOATS[name]}{'f' if dtype is dt.float32 else ''}({args[0]})"
        if name in ("isnan", "isinf", "isfinite"):
            return f"{name}({args[0]})"
        if name == "abs":
            return f"fabs({args[0]})"
        if name in _LIBRARY:
            return f"{name}({', '.join(args)})"
        text = _WRITTEN[name].format(*map(_atom, args)) if name in _WRITTEN else f"{name}({', '.join(args)})"
        return f"{dtype.name}({text})"


def _is_short(dtype):
    """Is it an integer that Numba's arithmetic would widen?"""
    return not dtype.is_float and dtype.kind in "iu" and dtype.bits < 64


def _atom(text):
    """A text in brackets, where an operator beside it would tear it apart."""
    return text if re.fullmatch(r"[\w.]+(\[[^\[\]]*\]|\([^()]*\))?", text) else f"({text})"
