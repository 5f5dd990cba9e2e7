"""From a cluster of operators to one loop nest: compose the kernel rules, make offsets, collapse axes.

    y = tanh(x) * w   (x: f32[N, C], w: f32[C])        for i0 < n0: for i1 < n1:
                                                  ->       y[i0*n1 + i1] = tanh(x[i0*n1 + i1]) * w[i1]

Reading an intermediate is computing it at that index, so operators fuse by composition (Halide's inlining); values
are shared because expressions are interned. An offset is a polynomial in loop variables and sizes (a Dim), so two
adjacent axes collapse exactly if each offset says so: coefficient(outer) = coefficient(inner) * extent(inner).
Sizes are run-time arguments n0, n1, ..: kernels of different static shapes are one kernel. Axes of at most 16 along
which a window slides, and short rows that are folded, transposed or stand beside what is repeated along them (a bias of
3 channels), are literal, so that they unroll and vectors are made of neighbouring windows and rows.
`schedule` then decides where each value is computed.
"""
import numpy as np

from ..backend.target import current
from ..common import dtype as dt
from ..common.dim import Dim, Symbol, coefficient, product, substitute, symbols_of
from ..common.errors import InternalError
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.control import tuple_getitem
from ..mindir.graph import CNode, Parameter, ValueNode
from ..mindir.loops import Access, CannotFuse, LoopNest, Output
from ..mindir.primitive import kernel_rule
from ..mindir.scalar import (BinOp, Call, Const, IndexVar, Load, Operand, Reduce, Size, as_expr, cast, constant,
                             index_var, make_expr, numbered_from_zero, rebuild, walk)
from .index_arithmetic import Indices, settled
from .rewriter import Rewriter


def build(graph, in_place=(), target=None):
    """The LoopNest of a closed typed FuncGraph whose nodes have kernel rules, with its loops collapsed, not scheduled.

    in_place : (number of an output, number of a parameter) pairs that share their memory
    target   : the Target, by default the current one
    raises   : CannotFuse if an operator has no rule, a dtype is complex, or the outputs do not share their outer axis;
               InternalError if an output may not be written over its parameter
    """
    with numbered_from_zero():
        nest = _compose(graph, target or current())
    _share_memory(nest, in_place)
    return nest


def _compose(graph, target):
    """The LoopNest, each argument of which has memory of its own."""
    composer = _Composer(graph)
    loops = []
    shared: dict = {}
    for number, node in enumerate(graph.outputs):
        if not isinstance(node.abstract, AbstractTensor):
            raise CannotFuse(f"a result is no tensor but {node.abstract}")
        loops.append(_output_loops(node.abstract, shared))
    if len({kept[0] if kept else None for _, kept in loops}) > 1:
        raise CannotFuse("the results do not share their outer axis")
    values = [cast(composer.element(node, 0, indices), node.abstract.dtype)
              for node, (indices, _) in zip(graph.outputs, loops)]
    _refuse_sums_compared_with_their_like(graph, composer.memo)
    values, subscripts, loops = settled(values, [i for i, _ in loops], [kept for _, kept in loops], composer.notes,
                                        composer.indices, target.fewest_rows)
    offsets = _Offsets(values, composer.indices, target, outputs=[node.abstract for node in graph.outputs], loops=loops)
    outputs = []
    for number, (node, subscript, kept, value) in enumerate(zip(graph.outputs, subscripts, loops, values)):
        operand = Operand(f"out{number}" if len(values) > 1 else "out", node.abstract)
        outputs.append(Output(operand, kept, offsets.linear(operand, subscript), value))
    return _collapse(graph.name, target, composer, offsets, outputs)


JUMPS = {"sign", "floor", "ceil", "round", "trunc", "floor_divide", "fmod", "remainder", "hardshrink"}     # and what is no float
CHOICES = {"reduce_max", "reduce_min"}                    # one of the sums, which may be compared with them or taken from them


def _refuse_sums_compared_with_their_like(graph, memo):
    """In another loop a sum of floats is added up in another order, and its last bit may differ: where the loops of a nest would
    compute one twice, nothing that a bit decides may depend on it. `sums == max(sums)` would be False everywhere, and
    `sqrt(sums - min(sums))` NaN.

    memo : of the _Composer that has made the values of the graph
    """
    found: dict = {}
    for (node, _, _), (value, _) in memo.items():
        found.setdefault(node, []).append(value)
    uncertain: set = set()
    for node in graph.nodes:
        depends = not uncertain.isdisjoint(node.args)
        if depends and (node.fn.name in JUMPS | CHOICES or getattr(node.abstract, "dtype", dt.float32).kind in "biu"):
            raise CannotFuse("what decides a comparison would be added up twice, in another order")
        values = found.get(id(node), ())
        if depends or len(values) > 1 and any(isinstance(e, Reduce) and e.fields[0] in ("sum", "prod") and e.dtype.kind == "f"
                                              for e in walk(values[:1])):
            uncertain.add(node)


def _share_memory(nest, in_place):
    """Note which arguments share memory; each may be read at the index that is written only, in the same loops."""
    for number, parameter in sorted(in_place):
        output, operand = nest.outputs[number], nest.inputs[parameter]
        first = nest.in_place.setdefault(len(nest.inputs) + number, parameter)
        if first != parameter:
            nest.in_place[parameter] = first
        for other in nest.outputs:
            reads = [e for e in walk([other.value]) if isinstance(e, Access) and e.fields[0] is operand]
            if any(e.fields[1] != output.offset or e.fields[2] for e in reads) or (reads and other.loops != output.loops):
                raise InternalError(f"{output.operand.name} cannot be written over {operand.name}: it is read elsewhere")
        if operand.dtype is not output.operand.dtype:
            raise InternalError(f"{output.operand.name} cannot be written over {operand.name}: their dtypes differ")
    written = [nest.memory_of(k) for k in range(len(nest.inputs), len(nest.inputs) + len(nest.outputs))]
    if len(set(written)) < len(written):
        raise InternalError("two results cannot be written over one parameter")


def _output_loops(abstract, shared):
    """(indices, loop variables) of an output; outputs whose leading sizes agree share their variables."""
    indices: list = []
    kept: tuple = ()
    path: tuple = ()
    for size in abstract.shape:
        if isinstance(size, int) and size == 1:
            indices.append(as_expr(0))
            continue
        path += (size,)
        if path not in shared:
            shared[path] = index_var(f"i{len(path) - 1}", size)
        indices.append(shared[path])
        kept += (shared[path],)
    return tuple(indices), kept


class _Composer:
    """The element of any node of a graph at any index, each computed once per index."""

    def __init__(self, graph):
        self.memo, self.rules, self.notes, self.indices = {}, {}, {}, Indices()
        self.inputs = tuple(Operand(p.name, _plain(p.abstract)) for p in graph.parameters)
        self.operands = dict(zip(map(id, graph.parameters), self.inputs))

    def element(self, node, number, indices):
        """Result `number` of `node` at `indices`."""
        indices = tuple([self.indices(x) for x in indices])
        if isinstance(node, Parameter):
            return self.operands[id(node)][indices]
        if isinstance(node, ValueNode):
            return _literal(node)
        if node.fn is tuple_getitem:
            return self.element(node.args[0], node.attrs["index"], indices)
        key = id(node), number, tuple(map(id, indices))
        if key not in self.memo:
            abstract = _plain(getattr(node.abstract, "elements", (node.abstract,))[number])
            value = self.functions(node)[number](*indices)
            value = cast(value, abstract.dtype) if isinstance(abstract, AbstractTensor) else as_expr(value)
            if not isinstance(value, (Const, Load)):
                self.notes.setdefault(value, node)
            self.memo[key] = value, indices                       # the indices stay alive, so their ids stay theirs
        return self.memo[key][0]

    def functions(self, node):
        """The kernel rule of `node` applied to its operands: a tuple of functions of the indices."""
        if id(node) not in self.rules:
            rule = kernel_rule.get(node.fn) if isinstance(node, CNode) else None
            if rule is None:
                raise CannotFuse(f"{getattr(node.fn, 'name', node.fn)} has no kernel rule")
            out = getattr(node.abstract, "elements", node.abstract)
            made = rule(*(self.operand(a) for a in node.args), out=out, **node.attrs)
            self.rules[id(node)] = made if isinstance(made, tuple) else (made,)
        return self.rules[id(node)]

    def operand(self, node):
        """What a kernel rule sees of an argument."""
        if id(node) in self.operands:
            return self.operands[id(node)]
        name = node.fn.name if isinstance(node, CNode) else "constant"
        return Operand(name, _plain(node.abstract), lambda indices: self.element(node, 0, indices))


def _plain(abstract):
    if isinstance(abstract, AbstractScalar):
        return abstract
    if not isinstance(abstract, AbstractTensor):
        raise CannotFuse(f"an operand is no tensor but {abstract}")
    if abstract.dtype.kind == "c":
        raise CannotFuse("complex numbers have no generated kernels")
    return abstract


def _literal(node):
    value = np.asarray(node.value)
    if value.size != 1:
        raise CannotFuse(f"a constant of {value.size} elements stands inside the cluster")
    if isinstance(node.abstract, AbstractTensor):
        return constant(value.reshape(())[()], node.abstract.dtype)
    return as_expr(value.item())


def _row(around, loads):
    """The last ones of some loops that are one loop for all that is read."""
    count = 1
    while count < len(around) and all(_are_one(load, *around[-count - 1:][:2]) for load in loads):
        count += 1
    return around[-count:]


def _are_one(load, outer, inner):
    """True if two loops go along neighbouring axes of what is read, or do not matter to it."""
    places = {id(index): place for place, index in enumerate(load.fields[1])}
    if id(outer) in places and id(inner) in places:
        return places[id(inner)] == places[id(outer)] + 1
    return outer not in load.free and inner not in load.free


class _Offsets:
    """Sizes as symbols n0, n1, .. and indices as polynomials over them and the loop variables."""

    def __init__(self, values, indices, target, outputs, loops):
        self.indices = indices
        self.numbers, self.sizes, self.symbols, self.variables = {}, {}, {}, {}
        exprs = walk(values)
        sliding = {v for e in exprs if isinstance(e, Load) for index in e.fields[1] if type(index) is not IndexVar
                   for v in index.free}
        windows = {v.fields[1] for e in exprs if isinstance(e, Reduce) for v in e.fields[1] if v in sliding}
        last = {e.fields[1][-1] for e in exprs if isinstance(e, Load) and e.fields[1]}
        called = {v.fields[1] for e in exprs if isinstance(e, Call) for v in e.free}
        loads = [e for e in exprs if isinstance(e, Load)]
        rows = [_row(e.fields[1], loads) for e in exprs if isinstance(e, Reduce) and not last.isdisjoint(e.fields[1])]
        for around in loops:
            row = _row(around, loads)
            if len(row) < len(around) and any(row[-1] in e.free for e in loads) or not last.isdisjoint(around[:-1]):
                rows.append(row)
        for row in rows:
            sizes = [v.fields[1] for v in row]
            count = product(sizes)
            if isinstance(count, int) and count <= (target.literal_row if called.isdisjoint(sizes) else target.literal_calls):
                windows |= set(sizes)
        self.dims = {s for e in exprs if isinstance(e, Load) for s in e.fields[0].shape if isinstance(s, int)}
        self.dims |= {s for abstract in outputs for s in abstract.shape if isinstance(s, int)}
        self.dims |= {v.fields[1] for around in loops for v in around if isinstance(v.fields[1], int)}
        self.literal = {e for e in windows if isinstance(e, int) and e <= target.literal_extent}

    def size(self, value):
        """The int or symbol that stands for a size of the caller."""
        if isinstance(value, int) and (value <= 1 or value in self.literal):
            return value
        if value not in self.numbers:
            symbol = Symbol(f"n{len(self.numbers)}", lo=0)
            self.numbers[value], self.sizes[symbol] = symbol.dim, value
        return self.numbers[value]

    def symbol(self, variable):
        """The polynomial that is one loop variable."""
        if variable not in self.symbols:
            self.symbols[variable] = Symbol(variable.fields[0], lo=0)
            self.variables[self.symbols[variable]] = variable
        return self.symbols[variable].dim

    def polynomial(self, expr):
        """`expr` as a polynomial, None where it is not one."""
        if isinstance(expr, Const):
            return expr.fields[0]
        if isinstance(expr, IndexVar):
            return self.symbol(expr)
        if isinstance(expr, Size):
            return self.size(expr.fields[0])
        if isinstance(expr, BinOp) and expr.dtype is dt.int64 and expr.fields[0] in ("add", "sub", "mul"):
            a, b = (self.factor(f) if expr.fields[0] == "mul" else self.polynomial(f) for f in expr.fields[1:])
            if a is not None and b is not None:
                return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b}[expr.fields[0]]()
        return None

    def factor(self, expr):
        """Like `polynomial`, but a number that is the size of an operand's axis is taken for that size."""
        if isinstance(expr, Const) and expr.fields[0] in self.dims:
            return self.size(expr.fields[0])
        return self.polynomial(expr)

    def linear(self, operand, indices):
        """The row-major offset of polynomial indices."""
        offset, stride = 0, 1
        for size, index in reversed(list(zip(operand.shape, indices))):
            offset, stride = offset + self.polynomial(index) * stride, stride * self.size(size)
        return offset

    def access(self, load, rewrite):
        """(offset, exprs, strides, safe) of a Load."""
        operand, indices = load.fields
        axes = [(s, i) for s, i in zip(operand.shape, indices) if not (isinstance(s, int) and s == 1)]
        safe = all(self.indices.is_inside(index, size) for size, index in axes)
        offset, stride, flat, strides = 0, 1, as_expr(0), []
        exprs: list = []
        for size, index in axes:
            flat = flat * as_expr(size) + index
        for size, index in reversed(axes):
            part = self.polynomial(index)
            if part is None:
                whole = self.polynomial(self.indices(flat)) if not exprs else None     # digits of one number
                if whole is not None:
                    return whole, (), (), safe
                exprs.append(rewrite(index))
                strides.append(stride)
            else:
                offset = offset + part * stride
            stride = stride * self.size(size)
        return offset, tuple(exprs), tuple(strides), safe


# ---------------------------------------------------------------- collapsing axes

def _collapse(name, target, composer, offsets, outputs):
    """Merge adjacent loops wherever every offset allows it, and rewrite the values with Accesses."""
    rewrite = _Rewriter(offsets, composer.notes)
    for output in outputs:
        output.value = rewrite(output.value)
    exprs = walk(o.value for o in outputs)
    reduced = [v for e in exprs if isinstance(e, Reduce) for v in e.fields[1]]
    for variable in [v for o in outputs for v in o.loops] + reduced:
        offsets.symbol(variable)
    for expr in exprs:
        if isinstance(expr, Size):
            offsets.size(expr.fields[0])
    extents = {v: offsets.size(v.fields[1]) for v in offsets.symbols}
    polynomials = {e.fields[1] for e in exprs if isinstance(e, Access)} | {o.offset for o in outputs}
    pinned = {v for e in exprs if not isinstance(e, Access) and not isinstance(e, Reduce)
              for v in e.children() if isinstance(v, IndexVar)}
    pinned |= {v for e in exprs if isinstance(e, Access) for v in e.fields[2] if isinstance(v, IndexVar)}
    pinned |= {o.value for o in outputs if isinstance(o.value, IndexVar)}
    gone = {}
    chains = [e.fields[1] for e in exprs if isinstance(e, Reduce)] + [_chain(outputs)]
    for chain in chains:
        for outer, inner in zip(chain, chain[1:]):
            a, b = offsets.symbols[outer], offsets.symbols[inner]
            if {outer, inner} & pinned or not all(_contiguous(p, a, b, extents[inner]) for p in polynomials):
                continue
            gone[a] = 0
            extents[inner] = extents[outer] * extents[inner]
            polynomials = {substitute(p, {a: 0}) if isinstance(p, Dim) else p for p in polynomials}
    merge = _Merger(gone, offsets, rewrite.notes)
    for output in outputs:
        output.loops = tuple(v for v in output.loops if offsets.symbols[v] not in gone)
        output.value, output.offset = merge(output.value), merge.offset(output.offset)
    symbols = {v: s for v, s in offsets.symbols.items() if s not in gone}
    return LoopNest(name, target, composer.inputs, outputs, offsets.sizes, symbols, extents,
                    merge.notes, offsets.size)


def _chain(outputs):
    """The outer loops that lie on the way to every output and where none ends before the last."""
    common = []
    for variables in zip(*(o.loops for o in outputs)):
        if any(v is not variables[0] for v in variables):
            break
        common.append(variables[0])
    return tuple(common)


def _contiguous(polynomial, outer, inner, extent):
    a, b = coefficient(polynomial, outer), coefficient(polynomial, inner)
    if a is None or b is None:
        return False
    return a == b * extent


class _Rewriter(Rewriter):
    """Loads become Accesses."""

    def __init__(self, offsets, notes):
        super().__init__(notes, {})
        self.offsets = offsets

    def make(self, expr):
        if isinstance(expr, Load):
            offset, exprs, strides, safe = self.offsets.access(expr, self)
            return self.make_access(expr, expr.fields[0], offset, exprs, strides, safe)
        return super().make(expr)

    def make_access(self, expr, operand, offset, exprs, strides, safe):
        names = sorted(symbols_of(offset), key=lambda s: s.number)
        variables = tuple(self.offsets.variables[s] for s in names if s in self.offsets.variables)
        return make_expr(Access, expr.dtype, expr.weak, operand, offset, exprs, strides, variables, safe)


class _Merger(_Rewriter):
    """Loop variables that were merged into others disappear."""

    def __init__(self, gone, offsets, notes):
        super().__init__(offsets, notes)
        self.gone = gone

    def offset(self, polynomial):
        return substitute(polynomial, self.gone) if isinstance(polynomial, Dim) else polynomial

    def make(self, expr):
        if isinstance(expr, Access):
            operand, offset, exprs, strides, _, safe = expr.fields
            return self.make_access(expr, operand, self.offset(offset), self.field(exprs), strides, safe)
        if isinstance(expr, Reduce):
            kind, variables, body = expr.fields
            left = tuple(v for v in variables if self.offsets.symbols[v] not in self.gone)
            return rebuild(expr, kind, left, self.field(body))
        return super().make(expr)
