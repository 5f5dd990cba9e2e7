"""Sets, sequences and places of values as classes: differences, distances, counts, ranges, and slices of sparse tensors.

Sources: Levenshtein 1966, Wagner & Fischer 1974 (the distance of sequences)
"""
from ...common import dtype as dt
from ...common.errors import ShapeError, ValueRangeError
from .. import (all, any, arange, argsort, broadcast_to, cast, ceil, coalesce, concat, cummin, cumsum, equal, expand_dims, full,
                full_like, gather, gather_elements, greater, logical_and, logical_not, maximum, minimum, nonzero, not_equal,
                reshape, scatter_nd, searchsorted, stack, sum, where, zeros)
from ..define import as_operand, cast_to, dtype_of
from .define import operation, table

globals().update(table({"Coalesce": coalesce}))


@operation
def ListDiff(x, y, *, out_idx=dt.int32):
    """(the elements of the vector x that are not in the vector y, in their order; their places)"""
    x, y = as_operand(x), as_operand(y)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError("ListDiff: x and y are vectors", note=f"{list(x.shape)}, {list(y.shape)}")
    places = reshape(nonzero(all(not_equal(x[:, None], y[None, :]), 1)), shape=(-1,))
    return gather(x, places, 0), cast(places, dtype=out_idx)


@operation
def SubAndFilter(input_x, max_num, offset):
    """(the elements less `offset` that lie in [0, max_num); their places), of a vector of integers"""
    x = as_operand(input_x) - offset
    places = reshape(nonzero(logical_and(x >= 0, x < max_num)), shape=(-1,))
    return gather(x, places, 0), cast_to(places, dtype_of(x))


@operation
def MapUniform(input_x, per_group_size, group_num):
    """The numbers dealt to `group_num` groups in turn: x % group_num * per_group_size + x // group_num"""
    x = as_operand(input_x)
    return x % group_num * per_group_size + x // group_num


@operation
def CompareAndBitpack(x, threshold):
    """Whether each element is above the threshold, eight of the last axis in a byte, the first as its highest bit.

    x : [.., 8 k]; threshold : []; out : u8[.., k]; raises : ShapeError
    """
    x = as_operand(x)
    if x.ndim < 1 or x.shape[-1] % 8:
        raise ShapeError("CompareAndBitpack: the last axis of x is a multiple of 8", note=f"{list(x.shape)}")
    bits = reshape(cast(greater(x, threshold), dtype=dt.int32), shape=(*x.shape[:-1], x.shape[-1] // 8, 8))
    return cast(sum(bits * as_operand([128, 64, 32, 16, 8, 4, 2, 1]), -1), dtype=dt.uint8)


@operation
def ConfusionMatrix(labels, predictions, weights=None, *, num_classes, dtype="int32"):
    """[num_classes, num_classes] : how often, or with which weight, a label was predicted as each class. Both are vectors."""
    labels, predictions = as_operand(labels), as_operand(predictions)
    pairs = stack((cast(labels, dtype=dt.int64), cast(predictions, dtype=dt.int64)), 1)
    weights = full((labels.shape[0],), 1, dtype=dt.dtype(dtype)) if weights is None else cast_to(weights, dt.dtype(dtype))
    return scatter_nd(pairs, weights, (num_classes, num_classes))


@operation
def ComputeAccidentalHits(true_classes, sampled_candidates, *, num_true=1):
    """Where a sampled class is a true one of a row: (rows i32, places among the samples i64, the least float32 for each)."""
    true_classes, sampled = as_operand(true_classes), as_operand(sampled_candidates)
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise ShapeError(f"ComputeAccidentalHits: true_classes are [N, {num_true}]", note=f"{list(true_classes.shape)}")
    hits = nonzero(any(equal(true_classes[:, :, None], sampled[None, None, :]), 1))
    lowest = full((hits.shape[0],), -3.4028234663852886e38, dtype=dt.float32)
    return cast(hits[:, 0], dtype=dt.int32), cast(hits[:, 1], dtype=dt.int64), lowest


@operation
def RaggedRange(starts, limits, deltas, *, Tsplits=dt.int64):
    """Ranges one after the other: (where each begins and the last ends, of the dtype Tsplits; the numbers of all of them).

    starts, limits, deltas : [N] or [], numbers; deltas are not 0
    """
    starts, limits, deltas = (reshape(as_operand(x), shape=(-1,)) for x in (starts, limits, deltas))
    spans = cast(limits - starts, dtype=dt.float64) / cast(deltas, dtype=dt.float64)
    counts = cast(maximum(ceil(spans), 0), dtype=dt.int64)
    ends = cumsum(counts, 0)
    places = arange(int(sum(counts)))
    rows = searchsorted(ends, places, right=True)
    begins = gather(ends - counts, rows, 0)
    values = gather(starts, rows, 0) + cast_to(places - begins, dtype_of(starts)) * gather(deltas, rows, 0)
    return concat((zeros((1,), dt.dtype(Tsplits)), cast(ends, dtype=dt.dtype(Tsplits)))), values


@operation
def SparseSlice(indices, values, shape, start, size):
    """The part of a sparse tensor that begins at `start`: (indices, values, shape).

    indices : i64[K, axes]; values : [K]; shape, start, size : i64[axes]; the part ends with the tensor
    """
    indices, start, size = as_operand(indices), as_operand(start), as_operand(size)
    size = minimum(size, as_operand(shape) - start)
    moved = indices - start
    inside = all(logical_and(moved >= 0, moved < size), 1)
    places = reshape(nonzero(inside), shape=(-1,))
    return gather(moved, places, 0), gather(values, places, 0), size


# ---------------------------------------------------------------- distances

def _sequences(name, indices, values, shape, lead):
    """(values [cells, length], how many of each cell count): the sequences along the last axis of a sparse tensor, no gaps."""
    indices, values = cast(as_operand(indices), dtype=dt.int64), as_operand(values)
    if indices.ndim != 2 or indices.shape[1] != len(shape) or tuple(values.shape) != (indices.shape[0],):
        raise ShapeError(f"{name}: indices are [K, {len(shape)}], values [K]",
                         note=f"{list(indices.shape)}, {list(values.shape)}")
    cell, cells = 0, 1
    for axis, whole in enumerate(lead):
        cell, cells = cell * whole + indices[:, axis], cells * whole
    order = argsort(cell * shape[-1] + indices[:, -1])
    rows = gather(cell + 0 * indices[:, -1], order, 0)
    counts = scatter_nd(expand_dims(rows, -1), full((values.shape[0],), 1), (cells,))
    places = arange(values.shape[0]) - gather(cumsum(counts, 0) - counts, rows, 0)
    return scatter_nd(stack((rows, places), 1), gather(values, order, 0), (cells, shape[-1])), counts


@operation
def EditDistance(hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape, *,
                 normalize=True):
    """How many values are put in, left out or replaced to make each sequence of `truth` of that of the hypothesis.

    indices : i64[K, axes] in order; values : [K]; shape : i64[axes], constant, the sequences lie along the last axis
    normalize : divided by the length of the truth; inf where that is 0 and the hypothesis is not
    out       : f32[all sizes but the last, the greater of both]
    raises    : ShapeError, ValueRangeError
    """
    shapes = [tuple(int(s) for s in as_operand(shape).tolist()) for shape in (hypothesis_shape, truth_shape)]
    if len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 1:
        raise ValueRangeError("EditDistance: the shapes are of one length", note=f"{shapes[0]}, {shapes[1]}")
    lead = tuple(max(a, b) for a, b in zip(shapes[0][:-1], shapes[1][:-1]))
    hypothesis, length = _sequences("EditDistance", hypothesis_indices, hypothesis_values, shapes[0], lead)
    truth, wanted = _sequences("EditDistance", truth_indices, truth_values, shapes[1], lead)
    columns = arange(shapes[1][-1] + 1)
    row = broadcast_to(expand_dims(columns, 0), shape=(length.shape[0], columns.shape[0]))
    for i in range(shapes[0][-1]):
        other = cast(not_equal(hypothesis[:, i:i + 1], truth), dtype=dt.int64)
        best = concat((full_like(row[:, :1], i + 1), minimum(row[:, 1:] + 1, row[:, :-1] + other)), 1)
        best = cummin(best - columns, 1)[0] + columns                      # what is put in, along the row
        row = where(expand_dims(length > i, -1), best, row)
    steps = cast(reshape(gather_elements(row, 1, expand_dims(wanted, -1)), shape=(-1,)), dtype=dt.float32)
    if normalize:
        empty = logical_not(wanted > 0)
        whole = cast(where(empty, 1, wanted), dtype=dt.float32)
        steps = where(empty, where(length > 0, float("inf"), 0.0), steps / whole)
    return reshape(steps, shape=lead)
