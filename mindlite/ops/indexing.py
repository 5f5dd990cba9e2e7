"""Reading and writing by position: the primitives of gather and scatter.

`gather_axis` and its transpose `index_add_axis` along one axis, `gather_nd` and `scatter_nd_add` over several,
`gather_elements` and `scatter_elements_add` element by element: each one's gradient is its partner. Integer indices
are like Python's: negative ones count from the end; an index outside the axis raises OperandIndexError: eagerly here, in
a graph by the check that inference writes (`infer.bounds`). Inside a kernel it is clamped to the edge (no stray read).
Numbers that are compared with positions instead of being read at (labels, segments) pass through `bounded_indices`.
"""
from __future__ import annotations

import functools
import math

import numpy as np

from ..common import dtype as dt
from ..common.errors import DTypeError, OperandIndexError, ShapeError
from ..common.tensor import TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import as_expr, maximum as max_scalar, minimum as min_scalar, where as where_scalar
from .axes import axes_of, normal_axis
from .basic import batched, broadcast_to, cast, move_batch_axis, reshape
from .define import as_operand, cast_to, conjugate, elementwise
from .logic import equal, logical_and, where
from .sbp import letters, sbp_rule
from .slicing import pad_slice, slice_, zeros_like_shape
from .structure import concat


WIDE = 64                                        # steps of a slice whose gradient is written number by number
# the names of operators along one axis as messages have them: one text in both modes
SHOWN = {"gather_axis": "gather", "gather_elements": "gather_elements", "index_add_axis": "index_add",
         "scatter_elements_add": "scatter_elements"}


def check_indices(name, indices, what="indices"):
    """raises : DTypeError unless `indices` are integers."""
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"{name}: {what} are integers, not {indices.dtype.name}", note=f"{what}: {indices}")


def refuse_outside(what, indices, low, high, ignored=None):
    """raises : OperandIndexError naming the first of the ndarray `indices` that is outside [low, high); None: no bound"""
    outside = np.zeros(indices.shape, bool) if high is None else indices >= high
    if low is not None:
        outside |= indices < low
    if ignored is not None:
        outside &= indices != ignored
    if outside.any():
        first = indices[outside].flat[0]
        if high is None:
            raise OperandIndexError(f"{what} {first} is less than {low}")
        raise OperandIndexError(f"{what} {first} is outside an axis of size {high}" if low is not None and low == -high else
                              f"{what} {first} is outside {0 if low is None else low}..{high - 1}")


def checked(name, indices, size):
    """The ndarray `indices` with negative ones counted from the end; raises : OperandIndexError outside [-size, size)."""
    indices = indices if indices.dtype.itemsize == 8 else indices.astype(np.int64)
    refuse_outside(f"{name}: index", indices, -size, size)
    return np.where(indices < 0, indices + size, indices)


def widened(indices):
    """Indices in a dtype that holds every position: narrow integers as int64. What is no integer stays, to be refused."""
    return cast(indices, dtype=dt.int64) if indices.dtype.kind in "iu" and indices.dtype.itemsize < 4 or \
        indices.dtype is dt.uint32 else indices


def _widened_second(args, attrs):
    return (as_operand(args[0]), widened(as_operand(args[1])), *args[2:]), attrs


def wrapped(index, size):
    """The scalar expression of an index: negative ones count from the end, and it stays inside [0, size)."""
    return max_scalar(min_scalar(where_scalar(index < 0, index + size, index), size - 1), 0)


@elementwise(scalar=lambda x, **bounds: x, accepts="iu", derivatives=[None], traits={"checks"},
             array=lambda x, *, what, low, high, ignored: refuse_outside(what, x, low, high, ignored) or np.array(x))
def bounded_indices(indices, *, what, low, high, ignored=None):
    """The integers `indices`, all of which must be in [low, high) or equal `ignored`.

    what   : begins the error's text: "nll_loss: label";   low, high : int, Dim, or None for no bound
    raises : OperandIndexError
    """


def iota(size):
    """0 .. size - 1 as int64[size]; size is an int or a Dim."""
    return count_up(size=size)


@primitive(traits={"creation"})
def count_up(*, size):
    """The int64 numbers 0 .. size - 1."""


@infer_rule(count_up)
def count_up_infer(*, size):
    return AbstractTensor(dt.int64, (size,))


@eval_rule(count_up)
def count_up_eval(*, size):
    return np.arange(size)


@kernel_rule(count_up)
def count_up_kernel(out, *, size):
    return lambda i: i


@bprop_rule(count_up)
def count_up_bprop(out, dout, *, size):
    return ()


sbp_rule(count_up, "->_")


# ---------------------------------------------------------------- gather and index_add: along one axis

def _axis_prepare(args, attrs):
    args, attrs = _widened_second(args, attrs)
    return args, {**attrs, "axis": normal_axis("gather", attrs["axis"], args[0].ndim)}


@primitive(name="gather_axis", prepare=_axis_prepare)
def gather_axis(x, indices, *, axis=0):
    """out[a.., i.., b..] = x[a.., indices[i..], b..], `axis` being where the indices' axes stand in the result.

    x: any; indices: integers of any shape; raises : OperandIndexError (eagerly) for an index outside the axis
    """


@infer_rule(gather_axis)
def gather_axis_infer(x, indices, *, axis):
    check_indices("gather", indices)
    return AbstractTensor(x.dtype, x.shape[:axis] + indices.shape + x.shape[axis + 1:])


@eval_rule(gather_axis)
def gather_axis_eval(x, indices, *, axis):
    return np.take(x, checked("gather", indices, x.shape[axis]), axis)


@kernel_rule(gather_axis)
def gather_axis_kernel(x, indices, out, *, axis):
    k = len(indices.shape)
    return lambda *i: x[i[:axis] + (wrapped(indices[i[axis:axis + k]], x.shape[axis]),) + i[axis + k:]]


@bprop_rule(gather_axis)
def gather_axis_bprop(x, indices, out, dout, *, axis):
    return index_add_axis(zeros_like_shape(x), indices, dout, axis=axis), None


@jvp_rule(gather_axis)
def gather_axis_jvp(primals, tangents, out, *, axis):
    return gather_axis(tangents[0], primals[1], axis=axis)


def _spread_batch(name, indices, per_item, lead):
    """Indices of each batch item moved into the item's own stretch of a flattened axis. Batch axis in front."""
    positive = cast(bounded_indices(indices, what=f"{name}: index", low=-per_item, high=per_item), dtype=dt.int64)
    first = reshape(iota(lead), shape=(lead,) + (1,) * (indices.ndim - 1)) * as_operand(per_item, dt.int64)
    below = cast(positive < 0, dtype=dt.int64) * as_operand(per_item, dt.int64)
    return positive + below + first


@vmap_rule(gather_axis)
def gather_axis_vmap(args, dims, size, *, axis):
    x, indices = args
    if dims[1] is None:
        return gather_axis(move_batch_axis(x, dims[0]), indices, axis=axis + 1), 0
    indices = move_batch_axis(indices, dims[1])
    if dims[0] is None:
        return gather_axis(x, indices, axis=axis), axis
    x = move_batch_axis(x, dims[0], axis)
    n = x.shape[axis + 1]
    flat = reshape(x, shape=tuple(x.shape[:axis]) + (size * n,) + tuple(x.shape[axis + 2:]))
    return gather_axis(flat, _spread_batch("gather", indices, n, size), axis=axis), axis


@primitive(traits={"library"}, prepare=_axis_prepare)
def index_add_axis(x, indices, updates, *, axis=0):
    """x with updates added: out[a.., indices[i..], b..] += updates[a.., i.., b..]; an index may come several times."""


@infer_rule(index_add_axis)
def index_add_axis_infer(x, indices, updates, *, axis):
    check_indices("index_add", indices)
    want = x.shape[:axis] + indices.shape + x.shape[axis + 1:]
    _same_shape("index_add", updates, want, x)
    return x


def _same_shape(name, updates, want, x):
    error = lambda: ShapeError(f"{name}: updates have shape {list(updates.shape)}, not {list(want)}",  # noqa: E731
                               note=f"x: {x}, updates: {updates}")
    if len(updates.shape) != len(want):
        raise error()
    for have, size in zip(updates.shape, want):
        require("==", have, size, error)


@eval_rule(index_add_axis)
def index_add_axis_eval(x, indices, updates, *, axis):
    k = indices.ndim
    out = np.moveaxis(np.array(x), axis, 0)
    moved = np.moveaxis(updates, tuple(range(axis, axis + k)), tuple(range(k)))
    np.add.at(out, checked("index_add", indices, x.shape[axis]), moved)
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


@bprop_rule(index_add_axis)
def index_add_axis_bprop(x, indices, updates, out, dout, *, axis):
    return dout, None, gather_axis(dout, indices, axis=axis)


@jvp_rule(index_add_axis)
def index_add_axis_jvp(primals, tangents, out, *, axis):
    dx = zeros_like_shape(out) if tangents[0] is None else tangents[0]
    return dx if tangents[2] is None else index_add_axis(dx, primals[1], tangents[2], axis=axis)


@vmap_rule(index_add_axis)
def index_add_axis_vmap(args, dims, size, *, axis):
    x, indices, updates = args
    if dims[1] is None:
        return index_add_axis(batched(x, dims[0], size), indices, batched(updates, dims[2], size), axis=axis + 1), 0
    indices = move_batch_axis(indices, dims[1])
    x = move_batch_axis(batched(x, dims[0], size), 0, axis)
    updates = move_batch_axis(batched(updates, dims[2], size), 0, axis)
    n = x.shape[axis + 1]
    flat = reshape(x, shape=tuple(x.shape[:axis]) + (size * n,) + tuple(x.shape[axis + 2:]))
    out = index_add_axis(flat, _spread_batch("index_add", indices, n, size), updates, axis=axis)
    return reshape(out, shape=tuple(x.shape)), axis


def _along_axis_specs(x, indices, axis):
    names = letters(x.ndim + indices.ndim)
    before, after, inner = names[:axis], names[axis + 1:x.ndim], names[x.ndim:]
    return before, after, inner


def _gather_axis_spec(x, indices, *, axis):
    before, after, inner = _along_axis_specs(x, indices, axis)
    return f"{before}_{after},{inner}->{before}{inner}{after}"


def _index_add_axis_spec(x, indices, updates, *, axis):
    before, after, inner = _along_axis_specs(x, indices, axis)
    gone = "_" * len(inner)
    return f"{before}_{after},{gone},{before}{gone}{after}->{before}_{after}"


def here(prim, args, attrs, first, size):
    """prim, of which this device has the elements from `first` on along the axis of `size` from which indices choose: what it
    reads elsewhere is zero, what it would add elsewhere is left out. An index outside of all of them is an error."""
    x, indices, *updates = args
    axis, count = attrs["axis"], x.shape[attrs["axis"]]
    known = bounded_indices(indices, what=f"{SHOWN[prim.name]}: index", low=-size, high=size)
    position = where(known < 0, known + size, known) - first
    inside = logical_and(position >= 0, position < count)
    there = where(inside, position, 0)
    if prim in (gather_axis, index_add_axis):
        inside = reshape(inside, shape=(1,) * axis + tuple(indices.shape) + (1,) * (x.ndim - axis - 1))
    if updates:
        return prim(x, there, where(inside, updates[0], zeros_like_shape(updates[0])), **attrs)
    found = prim(x, there, **attrs)
    return where(inside, found, zeros_like_shape(found))


def _lookup(prim):
    return lambda args, attrs, first, size: here(prim, args, attrs, first, size)


sbp_rule(gather_axis, _gather_axis_spec, linear=[{0}], lookup=_lookup(gather_axis))
sbp_rule(index_add_axis, _index_add_axis_spec, linear=[{0, 2}], lookup=_lookup(index_add_axis))


@bprop_rule(slice_)
def slice_bprop(x, out, dout, *, start, sizes, step):
    """Zeros around what was read. Few numbers among many zeros, as a diagonal, are written there one by one."""
    if step and abs(step[-1]) >= WIDE:
        places = iota(sizes[-1]) * step[-1] + start[-1]
        line = zeros_like_shape(dout, (*dout.shape[:-1], x.shape[-1]))
        dout, start, step = index_add_axis(line, places, dout, axis=x.ndim - 1), (*start[:-1], 0), (*step[:-1], 1)
        if tuple(dout.shape) == tuple(x.shape) and set(step) == {1}:
            return dout
    return pad_slice(dout, shape=tuple(x.shape), start=start, step=step, value=0)


# ---------------------------------------------------------------- gather_nd and scatter_nd: over the leading axes

@primitive(prepare=_widened_second)
def gather_nd(input_x: TensorLike, indices: TensorLike):
    """out[i.., b..] = input_x[indices[i.., 0], .., indices[i.., k - 1], b..]; the last axis of indices has size k."""


def index_depth(name, x, indices):
    """How many leading axes of x the indices stand for, a known number: the ranks hang on it. raises : ShapeError"""
    check_indices(name, indices)
    if not indices.shape or not isinstance(indices.shape[-1], int) or indices.shape[-1] > len(x.shape):
        raise ShapeError(f"{name}: the last axis of indices counts axes of x", note=f"x: {x}, indices: {indices}")
    return indices.shape[-1]


@infer_rule(gather_nd)
def gather_nd_infer(input_x, indices):
    return AbstractTensor(input_x.dtype, indices.shape[:-1] + input_x.shape[index_depth("gather_nd", input_x, indices):])


def _columns(name, x, indices):
    return tuple(checked(name, indices[..., k], x.shape[k]) for k in range(indices.shape[-1]))


@eval_rule(gather_nd)
def gather_nd_eval(input_x, indices):
    if not indices.shape[-1]:
        return np.array(np.broadcast_to(input_x, indices.shape[:-1] + input_x.shape))
    return np.asarray(input_x[_columns("gather_nd", input_x, indices)])


@kernel_rule(gather_nd)
def gather_nd_kernel(input_x, indices, out):
    lead, depth = len(indices.shape) - 1, indices.shape[-1]

    def element(*i):
        at = tuple(wrapped(indices[i[:lead] + (as_expr(k),)], input_x.shape[k]) for k in range(depth))
        return input_x[at + i[lead:]]
    return element


@bprop_rule(gather_nd)
def gather_nd_bprop(input_x, indices, out, dout):
    return scatter_nd_add(zeros_like_shape(input_x), indices, dout), None


@jvp_rule(gather_nd)
def gather_nd_jvp(primals, tangents, out):
    return gather_nd(tangents[0], primals[1])


def _batch_column(indices, size):
    """The batch number as one more index column in front. Batch axis in front of indices."""
    shape = (size,) + (1,) * (indices.ndim - 1)
    column = broadcast_to(reshape(iota(size), shape=shape), shape=tuple(indices.shape[:-1]) + (1,))
    return concat([column, cast_to(indices, dt.int64)], -1)


@vmap_rule(gather_nd)
def gather_nd_vmap(args, dims, size):
    x, indices = args
    if dims[0] is None:
        return gather_nd(x, move_batch_axis(indices, dims[1])), 0
    return gather_nd(move_batch_axis(x, dims[0]), _batch_column(batched(indices, dims[1], size), size)), 0


@primitive(traits={"library"}, prepare=_widened_second)
def scatter_nd_add(x, indices, updates):
    """x with updates[i.., b..] added at [indices[i.., 0], .., indices[i.., k - 1], b..]; an index may come several
    times."""


@primitive(traits={"library"}, prepare=_widened_second)
def scatter_nd_update(x, indices, updates):
    """x with updates[i.., b..] written at [indices[i.., 0], .., b..]; of equal indices the last one counts."""


def _scatter_nd_infer(x, indices, updates):
    depth = index_depth("scatter_nd", x, indices)
    _same_shape("scatter_nd", updates, indices.shape[:-1] + x.shape[depth:], x)
    return x


infer_rule(scatter_nd_add)(_scatter_nd_infer)
infer_rule(scatter_nd_update)(_scatter_nd_infer)


@eval_rule(scatter_nd_add)
def scatter_nd_add_eval(x, indices, updates):
    out = np.array(x)
    if not indices.shape[-1]:
        return out + updates.sum(tuple(range(indices.ndim - 1)))
    np.add.at(out, _columns("scatter_nd_add", x, indices), updates)
    return out


@eval_rule(scatter_nd_update)
def scatter_nd_update_eval(x, indices, updates):
    out = np.array(x)
    out[_columns("scatter_nd_update", x, indices)] = updates
    return out


@bprop_rule(scatter_nd_add)
def scatter_nd_add_bprop(x, indices, updates, out, dout):
    return dout, None, gather_nd(dout, indices)


@bprop_rule(scatter_nd_update)
def scatter_nd_update_bprop(x, indices, updates, out, dout):
    return scatter_nd_update(dout, indices, zeros_like_shape(updates)), None, gather_nd(dout, indices)


def _scatter_rules(prim):
    @jvp_rule(prim)
    def jvp(primals, tangents, out):
        x, indices, updates = primals
        dx, dupdates = (zeros_like_shape(p) if t is None else t for p, t in ((x, tangents[0]), (updates, tangents[2])))
        return prim(dx, indices, dupdates)

    @vmap_rule(prim)
    def vmap(args, dims, size):
        x, indices, updates = (batched(a, d, size) for a, d in zip(args, dims))
        return prim(x, _batch_column(indices, size), updates), 0


_scatter_rules(scatter_nd_add)
_scatter_rules(scatter_nd_update)


@primitive(traits={"library"}, prepare=_widened_second)
def scatter_nd_max(x, indices, updates, *, include_self=True):
    """x with the largest of updates[i.., b..] at [indices[i.., 0], .., b..], and of what x has there where include_self.

    A NaN wins. Equals share the gradient evenly, as amax has it.
    """


@primitive(traits={"library"}, prepare=_widened_second)
def scatter_nd_min(x, indices, updates, *, include_self=True):
    """x with the smallest of updates[i.., b..] at [indices[i.., 0], .., b..], and of what x has there where include_self.

    A NaN wins. Equals share the gradient evenly, as amin has it.
    """


def _scatter_extremum(prim, fold):
    @infer_rule(prim)
    def infer(x, indices, updates, *, include_self):
        if x.dtype.kind == "c":
            raise DTypeError(f"{prim.name}: complex numbers have no order", note=f"x: {x}")
        return _scatter_nd_infer(x, indices, updates)

    @eval_rule(prim)
    def evaluate(x, indices, updates, *, include_self):
        out = np.array(x)
        if not indices.shape[-1]:
            slices = list(updates.reshape(math.prod(indices.shape[:-1]), *x.shape))
            return np.array(functools.reduce(fold, slices, out if include_self or not slices else slices[0]))
        columns = _columns(prim.name, x, indices)
        if not include_self:
            out[columns] = updates
        fold.at(out, columns, updates)
        return out

    def shares(x, indices, updates, out, include_self):
        """Which part of the results x and the updates are: 1 over the number of equals."""
        counted = x.dtype if x.dtype.itemsize > 2 else dt.float32
        theirs = cast_to(equal(updates, gather_nd(out, indices)), counted)
        if include_self:
            mine = cast_to(equal(x, out), counted)
        else:
            mine = scatter_nd_update(cast_to(zeros_like_shape(x), counted) + 1, indices, zeros_like_shape(theirs))
        count = scatter_nd_add(mine, indices, theirs)
        return cast_to(mine / count, x.dtype), cast_to(theirs / gather_nd(count, indices), x.dtype)

    @bprop_rule(prim)
    def bprop(x, indices, updates, out, dout, *, include_self):
        if not x.dtype.is_differentiable:
            return None, None, None
        mine, theirs = shares(x, indices, updates, out, include_self)
        return mine * dout, None, theirs * gather_nd(dout, indices)

    @jvp_rule(prim)
    def jvp(primals, tangents, out, *, include_self):
        x, indices, updates = primals
        mine, theirs = shares(x, indices, updates, out, include_self)
        dx = zeros_like_shape(x) if tangents[0] is None else mine * tangents[0]
        return dx if tangents[2] is None else scatter_nd_add(dx, indices, theirs * tangents[2])

    @vmap_rule(prim)
    def vmap(args, dims, size, *, include_self):
        x, indices, updates = (batched(a, d, size) for a, d in zip(args, dims))
        return prim(x, _batch_column(indices, size), updates, include_self=include_self), 0

    sbp_rule(prim, lambda x, indices, updates, *, include_self: _scatter_nd_spec(x, indices, updates))


@primitive(traits={"library"}, prepare=_widened_second)
def scatter_nd_mul(x, indices, updates):
    """x multiplied by updates[i.., b..] at [indices[i.., 0], .., b..]; where an index comes several times, by all.

    The gradient of an update is the product of the others, a quotient where none of them is 0.
    """


@primitive(traits={"library"}, prepare=_widened_second)
def scatter_nd_div(x, indices, updates):
    """x, of floats, divided by updates[i.., b..] at [indices[i.., 0], .., b..], by one after the other."""


infer_rule(scatter_nd_mul)(_scatter_nd_infer)


@infer_rule(scatter_nd_div)
def scatter_nd_div_infer(x, indices, updates):
    if x.dtype.kind not in "fc":
        raise DTypeError(f"scatter_nd_div: floats are wanted, not {x.dtype.name}", note=f"x: {x}")
    return _scatter_nd_infer(x, indices, updates)


def _scatter_factors(prim, fold, slope):
    """Rules of a product with updates, or a quotient by them. slope(x, indices, updates, out): d out / d update, for each"""
    @eval_rule(prim)
    def evaluate(x, indices, updates):
        out = np.array(x)
        with np.errstate(all="ignore"):
            if not indices.shape[-1]:
                return np.array(functools.reduce(fold, updates.reshape(math.prod(indices.shape[:-1]), *x.shape), out))
            fold.at(out, _columns(prim.name, x, indices), updates)
        return out

    @bprop_rule(prim)
    def bprop(x, indices, updates, out, dout):
        if not x.dtype.is_differentiable:
            return None, None, None
        return (prim(dout, indices, conjugate(updates)), None,
                gather_nd(dout, indices) * conjugate(slope(x, indices, updates, out)))

    @jvp_rule(prim)
    def jvp(primals, tangents, out):
        x, indices, updates = primals
        dx = zeros_like_shape(x) if tangents[0] is None else prim(tangents[0], indices, updates)
        return dx if tangents[2] is None else scatter_nd_add(dx, indices, slope(x, indices, updates, out) * tangents[2])

    @vmap_rule(prim)
    def vmap(args, dims, size):
        x, indices, updates = (batched(a, d, size) for a, d in zip(args, dims))
        return prim(x, _batch_column(indices, size), updates), 0

    sbp_rule(prim, _scatter_nd_spec, linear=[{0}])


def _product_with_the_others(x, indices, updates, out):
    """x times the other updates of the same place: the product of all that are not 0, divided by this one unless it is 0; and
    0 where another one is 0."""
    zero = equal(updates, 0)
    factors = where(zero, cast_to(as_operand(1), x.dtype), updates)
    whole = gather_nd(scatter_nd_mul(x, indices, factors), indices)
    zeros = cast_to(zero, dt.int32)
    count = scatter_nd_add(cast_to(zeros_like_shape(x), dt.int32), indices, zeros)
    return where(equal(gather_nd(count, indices), zeros), whole / factors, cast_to(as_operand(0), x.dtype))


def _gather_nd_spec(input_x, indices):
    depth, lead = indices.shape[-1], letters(indices.ndim - 1)
    rest = letters(input_x.ndim - depth, indices.ndim - 1)
    return f"{'_' * depth}{rest},{lead}_->{lead}{rest}"


def _scatter_nd_spec(x, indices, updates):
    depth, lead = indices.shape[-1], "_" * (indices.ndim - 1)
    rest = letters(x.ndim - depth)
    return f"{'_' * depth}{rest},{lead}_,{lead}{rest}->{'_' * depth}{rest}"


sbp_rule(gather_nd, _gather_nd_spec, linear=[{0}])
sbp_rule(scatter_nd_add, _scatter_nd_spec, linear=[{0, 2}])
sbp_rule(scatter_nd_update, _scatter_nd_spec, linear=[{0, 2}])
_scatter_extremum(scatter_nd_max, np.maximum)
_scatter_extremum(scatter_nd_min, np.minimum)
_scatter_factors(scatter_nd_mul, np.multiply, _product_with_the_others)
_scatter_factors(scatter_nd_div, np.true_divide, lambda x, indices, updates, out: -gather_nd(out, indices) / updates)


# ---------------------------------------------------------------- gather_elements: element by element

def _elements_prepare(args, attrs):
    axis = normal_axis("gather_elements", attrs["axis"], axes_of("gather_elements", args[0]))
    return _widened_second(args, attrs)[0], {"axis": axis}


@primitive(name="gather_elements", prepare=_elements_prepare)
def gather_elements_axis(x, indices, *, axis):
    """out[.., i, ..] = x[.., indices[.., i, ..], ..] along `axis`; indices may be smaller than x on the other axes."""


def _elements_infer(name, x, indices, axis):
    check_indices(name, indices)
    error = lambda: ShapeError(f"{name}: indices do not fit x outside axis {axis}",  # noqa: E731
                               note=f"x: {x}, indices: {indices}")
    if x.ndim != indices.ndim:
        raise error()
    for a, (n, m) in enumerate(zip(x.shape, indices.shape)):
        if a != axis:
            require("<=", m, n, error)


@infer_rule(gather_elements_axis)
def gather_elements_infer(x, indices, *, axis):
    _elements_infer("gather_elements", x, indices, axis)
    return AbstractTensor(x.dtype, indices.shape)


def _element_grid(name, x, indices, axis):
    grid = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[axis] = checked(name, indices, x.shape[axis])
    return tuple(grid)


@eval_rule(gather_elements_axis)
def gather_elements_eval(x, indices, *, axis):
    return x[_element_grid("gather_elements", x, indices, axis)]


@kernel_rule(gather_elements_axis)
def gather_elements_kernel(x, indices, out, *, axis):
    return lambda *i: x[i[:axis] + (wrapped(indices[i], x.shape[axis]),) + i[axis + 1:]]


@bprop_rule(gather_elements_axis)
def gather_elements_bprop(x, indices, out, dout, *, axis):
    return scatter_elements_add(zeros_like_shape(x), indices, dout, axis=axis), None


@jvp_rule(gather_elements_axis)
def gather_elements_jvp(primals, tangents, out, *, axis):
    return gather_elements_axis(tangents[0], primals[1], axis=axis)


@vmap_rule(gather_elements_axis)
def gather_elements_vmap(args, dims, size, *, axis):
    return gather_elements_axis(*(batched(a, d, size) for a, d in zip(args, dims)), axis=axis + 1), 0


@primitive(traits={"library"}, prepare=_elements_prepare)
def scatter_elements_add(x, indices, updates, *, axis):
    """x with updates[.., i, ..] added at [.., indices[.., i, ..], ..] along `axis`."""


@infer_rule(scatter_elements_add)
def scatter_elements_infer(x, indices, updates, *, axis):
    _elements_infer("scatter_elements", x, indices, axis)
    _same_shape("scatter_elements", updates, indices.shape, x)
    return x


@eval_rule(scatter_elements_add)
def scatter_elements_eval(x, indices, updates, *, axis):
    out = np.array(x)
    np.add.at(out, _element_grid("scatter_elements", x, indices, axis), updates)
    return out


@bprop_rule(scatter_elements_add)
def scatter_elements_bprop(x, indices, updates, out, dout, *, axis):
    return dout, None, gather_elements_axis(dout, indices, axis=axis)


@jvp_rule(scatter_elements_add)
def scatter_elements_jvp(primals, tangents, out, *, axis):
    dx = zeros_like_shape(out) if tangents[0] is None else tangents[0]
    return dx if tangents[2] is None else scatter_elements_add(dx, primals[1], tangents[2], axis=axis)


@vmap_rule(scatter_elements_add)
def scatter_elements_vmap(args, dims, size, *, axis):
    return scatter_elements_add(*(batched(a, d, size) for a, d in zip(args, dims)), axis=axis + 1), 0


def _elements_axes(x, indices, axis):
    return "".join(name if a != axis and n == m else "_" for a, (name, n, m) in
                   enumerate(zip(letters(x.ndim), x.shape, indices.shape)))


def _gather_elements_spec(x, indices, *, axis):
    read = _elements_axes(x, indices, axis)
    made = read[:axis] + letters(1, x.ndim) + read[axis + 1:]
    return f"{read},{made}->{made}"


def _scatter_elements_spec(x, indices, updates, *, axis):
    axes = _elements_axes(x, indices, axis)
    return f"{axes},{axes},{axes}->{axes}"


sbp_rule(gather_elements_axis, _gather_elements_spec, linear=[{0}], lookup=_lookup(gather_elements_axis))
sbp_rule(scatter_elements_add, _scatter_elements_spec, linear=[{0, 2}], lookup=_lookup(scatter_elements_add))
