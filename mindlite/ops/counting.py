"""Counting and choosing: how often numbers occur, in which interval they lie, what runs are equal, all pairs.

Sizes that depend on data are fresh Symbols, as those of `nonzero`: bincount's is the largest number plus one.
"""
from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Axes
from ..common.dim import Symbol, compare, product
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, planned, primitive
from .arithmetic import floor, minimum
from .axes import as_flag, as_known_int, as_number, as_shape, as_size, normal_axis
from .basic import broadcast_to, cast, reshape
from .creation import arange, full, ones, zeros
from .define import as_operand, cast_to, dtype_of
from .indexing import bounded_indices, gather_axis, gather_elements_axis, scatter_elements_add, widened
from .logic import greater_equal, less_equal, logical_and, not_equal, where
from .reduction import amax, amin, any
from .scan import cumsum
from .sort import masked_select
from .sorted_search import searchsorted
from .structure import concat, meshgrid, stack


def _vector(name, x):
    x = as_operand(x)
    if x.ndim != 1:
        raise ShapeError(f"{name}: a vector is wanted", note=f"input: {list(x.shape)}")
    return x


def _not_negative(name, setting, value):
    value = as_size(name, value)
    if compare("<", value, 0):
        raise ValueRangeError(f"{name}: {setting} is not negative, not {value}")
    return value


def _counting_prepare(args, attrs):
    x, weights = map(as_operand, args)
    return (cast_to(x, dt.int64), weights), attrs


@primitive(traits={"dynamic"}, prepare=_counting_prepare)
def occurrences(x, weights, *, minlength):
    """out[i] = the sum of weights[k] where x[k] = i; x : int[n], as many as the largest plus one, at least minlength.

    raises : when run: ValueRangeError for a negative number
    """


@infer_rule(occurrences)
def occurrences_infer(x, weights, *, minlength):
    for name, operand in (("input", x), ("weights", weights)):
        if operand.ndim != 1:
            raise ShapeError(f"bincount: {name} is a vector", note=f"{operand}")
    require("==", x.shape[0], weights.shape[0], lambda: ShapeError(
        "bincount: there are not as many weights as numbers", note=f"input: {x}, weights: {weights}"))
    return AbstractTensor(weights.dtype, (Symbol("counted", lo=minlength).dim,))


@eval_rule(occurrences)
def occurrences_eval(x, weights, *, minlength):
    if x.size and x.min() < 0:
        raise ValueRangeError("bincount: a number is negative", note=f"{x.min()}")
    out = np.zeros(max(int(x.max()) + 1 if x.size else 0, minlength), weights.dtype)
    np.add.at(out, x, weights)
    return out


bprop_rule(occurrences)(lambda x, weights, out, dout, *, minlength: (
    None, gather_axis(dout, x, axis=0) if weights.dtype.is_differentiable else None))
jvp_rule(occurrences)(lambda primals, tangents, out, *, minlength:
                      occurrences(primals[0], tangents[1], minlength=minlength) if tangents[1] is not None else None)


def bincount(input: TensorLike, weights: TensorLike | None = None, minlength: int = 0) -> Tensor:
    """out[i] : how often i stands in `input` : int[n], none negative, or the sum of its weights.

    out    : as long as the largest of input plus one, at least minlength; float32 or float64 as the weights are, float32 of
             integers and halves, int64 without weights
    raises : ShapeError for what is no vector; ValueRangeError for negative numbers
    """
    x = as_operand(input)
    if dtype_of(x).kind not in "bui":
        raise DTypeError(f"bincount: takes integers, not {dtype_of(x).name}")
    each = ones(tuple(x.shape), dt.int64) if weights is None else as_operand(weights)
    if weights is not None and dtype_of(each) not in (dt.float32, dt.float64):
        each = cast_to(each, dt.float32)
    return occurrences(x, each, minlength=_not_negative("bincount", "minlength", minlength))


@planned
def histc(input: TensorLike, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many elements lie in each of `bins` equal intervals of [min, max]; those outside do not count.

    min, max : where both are 0, or equal, the smallest and the largest element
    out      : of input's dtype      raises : ValueRangeError for bins below 1 or min above max
    """
    x = reshape(as_operand(input), shape=(-1,))
    if dtype_of(x).kind == "c":
        raise DTypeError(f"histc: complex numbers have no order: {dtype_of(x).name}")
    bins, ends = as_size("histc", bins), [as_number("histc", name, v) for name, v in (("min", min), ("max", max))]
    if not all(isinstance(v, (int, float)) and math.isfinite(v) for v in ends):
        raise ValueRangeError("histc: min and max are finite numbers", note=f"min {min}, max {max}")
    if bins < 1 or min > max:
        raise ValueRangeError("histc: bins is at least 1 and min at most max", note=f"bins {bins}, min {min}, max {max}")
    values = cast_to(x, dt.float64)
    if isinstance(x.shape[0], int) and not x.shape[0]:
        return zeros((bins,), dtype_of(x))
    low, high = (amin(values), amax(values)) if min == max else (float(min), float(max))
    width = where(as_operand(high) > low, as_operand(high) - low, 1.0) if min == max else high - low
    low = where(as_operand(high) > low, low, as_operand(low) - 0.5) if min == max else low
    place = minimum(cast(floor((values - low) * (bins / width)), dtype=dt.int64), bins - 1)
    inside = logical_and(greater_equal(values, low), less_equal(values, low + width))
    counts = scatter_elements_add(zeros((bins,), dt.int64), where(inside, place, 0), cast(inside, dtype=dt.int64), axis=0)
    return cast_to(counts, dtype_of(x))


def bucketize(input: Tensor, boundaries: Any, *, right: bool = False) -> Tensor:
    """The number of boundaries that are less than each element: between which of them it lies.

    input  : Tensor of real dtype, any shape
    boundaries : list or tuple of numbers in rising order; of others the result has no meaning
    right  : bool; True counts equal boundaries, too
    out    : int32 of input's shape
    raises : ArgumentError for boundaries that are no list, ShapeError for nested ones
    """
    if not isinstance(boundaries, (list, tuple)):
        raise ArgumentError(f"bucketize: boundaries are a list, not {type(boundaries).__name__}")
    return searchsorted(as_operand(list(boundaries)), input, out_int32=True, right=right)


def unique_consecutive(input: TensorLike, return_inverse: bool = False, return_counts: bool = False, dim: Axes = None) -> Any:
    """Elements, or slices along `dim`, that differ from the one before.

    input          : Tensor of any dtype
    return_inverse : bool; True: also for each element the number of its run, int64
    return_counts  : bool; True: also the length of each run, int64
    dim            : int, or None for the elements in row-major order
    out            : one Tensor, or a tuple of those that are asked for
    raises         : ValueRangeError for an axis outside
    """
    x = as_operand(input)
    flat = reshape(x, shape=(-1,)) if dim is None else x
    axis = 0 if dim is None else normal_axis("unique_consecutive", dim, x.ndim)
    return_inverse = as_flag("unique_consecutive", "return_inverse", return_inverse)
    return_counts = as_flag("unique_consecutive", "return_counts", return_counts)
    lead, size = (slice(None),) * axis, flat.shape[axis]
    changed = not_equal(flat[lead + (slice(1, None),)], flat[lead + (slice(0, size - 1),)])
    for other in reversed(range(flat.ndim)):
        if other != axis:
            changed = any(changed, other)
    first = concat((full((1,), True)[:size], changed), 0)
    places = masked_select(arange(size), first)
    made = [gather_axis(flat, places, axis=axis)]
    if return_inverse:
        run = cumsum(cast(first, dtype=dt.int64), 0) - 1
        made.append(reshape(run, shape=tuple(x.shape)) if dim is None else run)
    if return_counts:
        made.append(concat((places[1:], full((1,), size, dtype=dt.int64)), 0)[:places.shape[0]] - places)
    return made[0] if len(made) == 1 else tuple(made)


# ---------------------------------------------------------------- pairs, triples, triangles

def cartesian_prod(*inputs: Any) -> Tensor:
    """Each choice of one element of every vector, in the order of itertools.product: [count, vectors]; of one: itself."""
    vectors = [_vector("cartesian_prod", x) for x in inputs]
    if len(vectors) == 1:
        return vectors[0]
    return stack([reshape(grid, shape=(-1,)) for grid in meshgrid(*vectors, indexing="ij")], 1)


def combinations(input: TensorLike, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Each choice of r elements of a vector, in its order.

    input  : Tensor [n], any dtype
    r      : int, 1 or more
    with_replacement : bool; True chooses an element several times, too
    out    : Tensor [count, r], in the order of itertools.combinations
    raises : ShapeError for what is no vector, ValueRangeError for r below 1
    """
    x, r = _vector("combinations", input), as_size("combinations", r)
    if r < 1:
        raise ValueRangeError(f"combinations: at least one element is wanted, not {r}")
    again = as_flag("combinations", "with_replacement", with_replacement)
    choose = itertools.combinations_with_replacement if again else itertools.combinations
    chosen = list(choose(range(x.shape[0]), r))
    if not chosen:
        return zeros((0, r), dtype_of(x))
    return gather_axis(x, as_operand(chosen), axis=0)


def _places(name, row, col, dtype, mask, offset):
    """The rows and columns of a matrix where mask(row, col, offset) is true."""
    dtype, (row, col, offset) = dt.dtype(dtype), [as_known_int(name, n) for n in (row, col, offset)]
    if row < 0 or col < 0:
        raise ValueRangeError(f"{name}: a size is negative", note=f"row {row}, col {col}")
    if dtype.kind not in "ui" or max(row, col) - 1 > dtype.limits.max:
        raise ValueRangeError(f"{name}: {dtype.name} does not hold the indices of {row} x {col}")
    return Tensor.wrap(np.stack(np.nonzero(mask(row, col, offset))).astype(dtype.numpy))


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = dt.int64) -> Tensor:
    """int[2, count]: rows and columns of the elements on and below the diagonal `offset` of a row x col matrix.

    row, col : ints >= 0;     offset : int, above the main diagonal positive
    dtype    : of the indices, an integer one, int64 by default
    raises   : ValueRangeError for a negative size or a dtype that does not hold the indices
    """
    return _places("tril_indices", row, col, dtype, lambda m, n, k: np.tri(m, n, k, bool), offset)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = dt.int64) -> Tensor:
    """int[2, count]: rows and columns of the elements on and above the diagonal `offset` of a row x col matrix.

    row, col : ints >= 0;     offset : int, above the main diagonal positive
    dtype    : of the indices, an integer one, int64 by default
    raises   : ValueRangeError for a negative size or a dtype that does not hold the indices
    """
    return _places("triu_indices", row, col, dtype, lambda m, n, k: ~np.tri(m, n, k - 1, bool), offset)


@planned
def unravel_index(indices: Tensor, dims: Any) -> Tensor:
    """[axes, ..] : row-major numbers of elements as indices of a tensor with the sizes `dims`. raises : IndexRangeError"""
    dims = as_shape("unravel_index", dims.tolist() if hasattr(dims, "tolist") else dims)
    indices = bounded_indices(widened(as_operand(indices)), what="unravel_index: index", low=0, high=product(dims))
    made = []
    for size in reversed(dims):
        made.append(indices % size)
        indices = indices // size
    return stack(made[::-1], 0)


def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """bool[.., maxlen] : true for the first lengths[..] places. maxlen : by default the largest length."""
    lengths = as_operand(lengths)
    if maxlen is None:
        maxlen = bincount(reshape(lengths, shape=(-1,))).shape[0] - 1
    return arange(maxlen) < reshape(lengths, shape=(*lengths.shape, 1))


@planned
def reverse_sequence(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """x with the first seq_lengths[b] elements along seq_dim of each part b along batch_dim in reverse order."""
    x, lengths = as_operand(x), as_operand(seq_lengths)
    seq, batch = (normal_axis("reverse_sequence", axis, x.ndim) for axis in (seq_dim, batch_dim))
    if seq == batch:
        raise ValueRangeError("reverse_sequence: seq_dim is batch_dim", note=f"{seq_dim}, {batch_dim}")
    shape = [1] * x.ndim
    shape[batch] = -1
    lengths = bounded_indices(widened(lengths), what="reverse_sequence: length", low=0, high=x.shape[seq] + 1)
    lengths = reshape(cast(lengths, dtype=dt.int64), shape=shape)
    shape[batch], shape[seq] = 1, -1
    places = reshape(arange(x.shape[seq]), shape=shape)
    index = where(places < lengths, lengths - 1 - places, places)
    return gather_elements_axis(x, broadcast_to(index, shape=tuple(x.shape)), axis=seq)
