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
from ..mindir.inline import copy_graph
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
    ways = {node: way for node in graph.nodes if node.fn in _TOGETHER and (way := _way(node, target)) is not None}
    if not ways:
        return graph

    def emit(made, node, args):
        if node not in ways:
            return None
        with building(made, Origin(node.origin.location, node, "two stages")):
            return ways[node](*args)
    return copy_graph(graph, emit=emit)


def _way(node, target):
    """What writes the two stages of a reduction for its operand; None for one that stays as it is."""
    abstract = node.args[0].abstract
    if not isinstance(abstract, AbstractTensor) or not all(isinstance(s, int) for s in abstract.shape) or \
            abstract.dtype.kind == "c" or product(abstract.shape) < target.stages_from:
        return None
    leading = _leading(node, target)
    if leading is not None:
        return lambda x: _write(node, x, leading, target.stage_row)
    if getattr(node.args[0], "fn", None) is broadcast_to:                # nothing is read for it
        return None
    together = _rows_together(node, target)
    if together is not None:
        return lambda x: _write_rows(node, x, together)
    parts = _parts(node, target)
    return None if parts is None else lambda x: _write_parts(node, x, *parts)


def _leading(node, target):
    """How many leading axes the first stage keeps, 0 for a vector; None for a node that stays as it is."""
    shape, dtype = node.args[0].abstract.shape, node.args[0].abstract.dtype
    if len(node.attrs["axis"]) < len(shape) or dtype.kind == "f" and dtype.itemsize < 4:
        return None
    if len(shape) == 1:
        return 0
    return next((k for least in target.stage_rows for k in range(1, len(shape)) if product(shape[:k]) >= least), None)


def _rows_together(node, target):
    """How many rows of few columns are one row of the first stage; None for a node that is no long reduction along few."""
    shape, axis = node.args[0].abstract.shape, tuple(node.attrs["axis"])
    if not target.tiled_folds or target.parts_of_sums or len(shape) < 2 or axis != tuple(range(len(shape) - 1)) or shape[-1] < 2:
        return None
    return target.lanes * (target.columns_together // (target.lanes * shape[-1])) or None


def _parts(node, target):
    """(axis, count): the first stage of a reduction to few numbers keeps so many parts of an axis; None for another node."""
    shape, reduced = node.args[0].abstract.shape, node.attrs["axis"]
    if not reduced:
        return None
    number, elements = target.long_sums[len(shape) - 1 not in reduced]
    folded = product([shape[a] for a in reduced])
    sums = product(shape) // (folded or 1)
    if folded < elements or not 0 < sums < number:
        return None
    most = min(-(-number // sums), folded // target.least_part)
    counts = {a: max(k for k in range(1, min(most, shape[a]) + 1) if shape[a] % k == 0) for a in sorted(reduced)}
    axis = next((a for a, count in counts.items() if ENOUGH * count >= most), max(counts, key=lambda a: counts[a]))
    return (axis, counts[axis]) if counts[axis] > 1 else None


def _write_parts(node, x, axis, count):
    """The two stages of `node`, of the operand x, whose axis has so many parts."""
    fn, shape = node.fn, x.abstract.shape
    x = reshape(x, shape=(*shape[:axis], count, shape[axis] // count, *shape[axis + 1:]))
    x = _exact(node, x)                                      # behind the reshape: what makes x would store it a second time
    within = tuple(a + (a >= axis) for a in node.attrs["axis"])
    rows = fn(x, axis=within, keepdims=False)
    return _like(node, fn(rows, axis=(axis - sum(a < axis for a in within),), keepdims=False))


def _write_rows(node, x, together):
    """The two stages of `node`, of the operand x, with so many rows as one, and the rows that are left."""
    fn, shape = node.fn, x.abstract.shape
    rows, columns = product(shape[:-1]), shape[-1]
    whole, x = rows // together, reshape(_exact(node, x), shape=(rows, columns))

    def fold(y, *sizes):
        return fn(reshape(y, shape=sizes), axis=(0,), keepdims=False)

    def part(first, count):
        return x if count == rows else slice_(x, start=(first, 0), sizes=(count, columns), step=(1, 1))
    out = fold(fold(part(0, whole * together), whole, together * columns), together, columns)
    left = rows - whole * together
    if left:
        out = _TOGETHER[fn](out, fold(part(whole * together, left), left, columns))
    return _like(node, out)


def _exact(node, x):
    """The operand; halves that are summed are float32 until the sum is there."""
    return cast(x, dtype=float32) if node.fn is reduce_sum and x.dtype.kind == "f" and x.dtype.itemsize < 4 else x


def _like(node, out):
    """What the stages give, in the dtype and shape of the node."""
    out = cast(out, dtype=node.abstract.dtype) if out.dtype is not node.abstract.dtype else out
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
