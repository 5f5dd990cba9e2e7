"""A reduction of everything to one number in two stages, so that threads can share it and it fuses with work on rows; on a GPU a
reduction to few numbers too. A reduction along few columns, of several rows at a time, so that it has whole vectors.

    %s = reduce_sum(%x : f32[4096, 1024])     ->     %r = reduce_sum(%x; axis=1);  %s = reduce_sum(%r)
    %s = reduce_sum(%x : f32[1000000])        ->     rows of 4096 of its first 999424 elements, and the 576 that are left
    %s = reduce_sum(%x : f32[16384, 768]; axis=0)
                       ->     %r = reduce_sum(reshape(%x; [64, 256, 768]); axis=1);  %s = reduce_sum(%r; axis=0)
    %s = reduce_sum(%x : f32[160000, 3]; axis=0)
                       ->     %r = reduce_sum(reshape(%x; [2000, 240]); axis=0);  %s = reduce_sum(reshape(%r; [80, 3]); axis=0)

The stages depend on the sizes, not on the number of threads, and so does the result. Sums of halves have parts of float32.
"""
from ..common.dim import product
from ..common.dtype import float32
from ..common.location import Origin
from ..mindir.abstract import AbstractTensor
from ..mindir.builder import building
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph, ValueNode
from ..ops.arithmetic import add, maximum, minimum
from ..ops.basic import broadcast_to, cast, reduce_sum, reshape
from ..ops.logic import logical_and, logical_or
from ..ops.reduction import reduce_all, reduce_any, reduce_max, reduce_min
from ..ops.slicing import slice_

ENOUGH = 4                     # a quarter of the parts that are wanted: then they are of the outermost axis
_TOGETHER = {reduce_sum: add, reduce_max: maximum, reduce_min: minimum, reduce_any: logical_or, reduce_all: logical_and}


def in_two_stages(graph, target):
    """A copy of `graph` whose large reductions of everything have two stages; `graph` itself where there is none.

    Graphs in attributes stay as they are.
    """
    ways = {node: way for node in graph.nodes if (way := _way(node, target)) is not None}
    if not ways:
        return graph
    made = FuncGraph(graph.name, graph.origin, graph.kind)
    made.signature = graph.signature
    env: dict = {p: made.add_parameter(p.name, p.abstract, p.origin, p.default) for p in graph.parameters}

    def read(arg):
        return arg if isinstance(arg, ValueNode) else env[arg]
    for node in graph.nodes:
        if node not in ways:
            env[node] = made.add_copy(node, [read(a) for a in node.args])
            continue
        with building(made, Origin(node.origin.location, node, "two stages")):
            env[node] = ways[node](read(node.args[0]))
    made.set_outputs([read(o) for o in graph.outputs], make_tuple)
    return made


def _way(node, target):
    """What writes the two stages of a node for its operand; None for a node that stays as it is."""
    leading = _leading(node, target)
    if leading is not None:
        return lambda x: _write(node, x, leading, target.stage_row)
    together = _rows_together(node, target)
    if together is not None:
        return lambda x: _write_rows(node, x, together)
    parts = _parts(node, target)
    return None if parts is None else lambda x: _write_parts(node, x, *parts)


def _leading(node, target):
    """How many leading axes the first stage keeps, 0 for a vector; None for a node that stays as it is."""
    if node.fn not in _TOGETHER or not isinstance(node.args[0].abstract, AbstractTensor):
        return None
    shape, dtype = node.args[0].abstract.shape, node.args[0].abstract.dtype
    if len(node.attrs["axis"]) < len(shape) or not all(isinstance(s, int) for s in shape) or \
            product(shape) < target.stages_from or (dtype.kind == "f" and dtype.itemsize < 4) or dtype.kind == "c":
        return None
    if len(shape) == 1:
        return 0
    return next((k for least in target.stage_rows for k in range(1, len(shape)) if product(shape[:k]) >= least), None)


def _rows_together(node, target):
    """How many rows of few columns are one row of the first stage; None for a node that is no long reduction along few."""
    if node.fn not in _TOGETHER or not target.tiled_folds or target.parts_of_sums:
        return None
    operand = node.args[0]
    if not isinstance(operand.abstract, AbstractTensor) or getattr(operand, "fn", None) is broadcast_to:
        return None
    shape, axis = operand.abstract.shape, tuple(node.attrs["axis"])
    if len(shape) < 2 or axis != tuple(range(len(shape) - 1)) or operand.abstract.dtype.kind == "c" or \
            not all(isinstance(s, int) for s in shape) or shape[-1] < 2 or product(shape) < target.stages_from:
        return None
    return target.lanes * (target.columns_together // (target.lanes * shape[-1])) or None


def _parts(node, target):
    """(axis, count): the first stage of a reduction to few numbers keeps so many parts of an axis; None for another node."""
    if node.fn not in _TOGETHER or not isinstance(node.args[0].abstract, AbstractTensor):
        return None
    shape, dtype, reduced = node.args[0].abstract.shape, node.args[0].abstract.dtype, node.attrs["axis"]
    if not all(isinstance(s, int) for s in shape) or dtype.kind == "c" or not reduced or \
            getattr(node.args[0], "fn", None) is broadcast_to:           # nothing is read for it
        return None
    number, elements = target.long_sums[len(shape) - 1 not in reduced]
    folded = product([shape[a] for a in reduced])
    sums = product(shape) // (folded or 1)
    if folded < elements or not 0 < sums < number or product(shape) < target.stages_from:
        return None
    most = min(-(-number // sums), folded // target.least_part)
    counts = {a: max(k for k in range(1, min(most, shape[a]) + 1) if shape[a] % k == 0) for a in sorted(reduced)}
    axis = next((a for a, count in counts.items() if ENOUGH * count >= most), max(counts, key=lambda a: counts[a]))
    return (axis, counts[axis]) if counts[axis] > 1 else None


def _write_parts(node, x, axis, count):
    """The two stages of `node`, of the operand x, whose axis has so many parts."""
    fn, shape, dtype = node.fn, x.abstract.shape, x.abstract.dtype
    if fn is reduce_sum and dtype.kind == "f" and dtype.itemsize < 4:
        x = cast(x, dtype=float32)
    x = reshape(x, shape=(*shape[:axis], count, shape[axis] // count, *shape[axis + 1:]))
    within = tuple(a + (a >= axis) for a in node.attrs["axis"])
    rows = fn(x, axis=within, keepdims=False)
    made = fn(rows, axis=(axis - sum(a < axis for a in within),), keepdims=False)
    if made.abstract.dtype is not node.abstract.dtype:
        made = cast(made, dtype=node.abstract.dtype)
    return reshape(made, shape=node.abstract.shape) if node.attrs["keepdims"] else made


def _write_rows(node, x, together):
    """The two stages of `node`, of the operand x, with so many rows as one, and the rows that are left."""
    fn, shape, dtype = node.fn, x.abstract.shape, x.abstract.dtype
    if fn is reduce_sum and dtype.kind == "f" and dtype.itemsize < 4:
        x = cast(x, dtype=float32)
    rows, columns = product(shape[:-1]), shape[-1]
    whole, x = rows // together, reshape(x, shape=(rows, columns))

    def fold(y, *sizes):
        return fn(reshape(y, shape=sizes), axis=(0,), keepdims=False)

    def part(first, count):
        return x if count == rows else slice_(x, start=(first, 0), sizes=(count, columns), step=(1, 1))
    out = fold(fold(part(0, whole * together), whole, together * columns), together, columns)
    left = rows - whole * together
    if left:
        out = _TOGETHER[fn](out, fold(part(whole * together, left), left, columns))
    if out.abstract.dtype is not node.abstract.dtype:
        out = cast(out, dtype=node.abstract.dtype)
    return reshape(out, shape=node.abstract.shape) if node.attrs["keepdims"] else out


def _write(node, x, leading, row):
    """The two stages of `node`, of the operand x; a vector in rows of `row`."""
    fn, keepdims, rank = node.fn, node.attrs["keepdims"], len(x.abstract.shape)
    if leading:
        rows = fn(x, axis=tuple(range(leading, rank)), keepdims=keepdims)
        return fn(rows, axis=tuple(range(len(rows.abstract.shape))), keepdims=keepdims)
    count = x.abstract.shape[0]
    whole = count // row * row
    front = reshape(slice_(x, start=(0,), sizes=(whole,), step=(1,)), shape=(whole // row, row))
    out = fn(fn(front, axis=(1,), keepdims=False), axis=(0,), keepdims=keepdims)
    if whole < count:
        rest = slice_(x, start=(whole,), sizes=(count - whole,), step=(1,))
        out = _TOGETHER[fn](out, fn(rest, axis=(0,), keepdims=keepdims))
    return out
