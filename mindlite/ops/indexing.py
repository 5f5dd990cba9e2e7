"""Reading and writing by position: gather and scatter, and Python's x[index] for every NumPy form of index.

gather and its transpose `index_add` along one axis, `gather_nd` and `scatter_nd_add` over several, `gather_elements`
and `scatter_elements_add` element by element: each one's gradient is its partner. `dynamic_slice` and
`dynamic_update` take their start at run time. Integer indices are like Python's: negative ones count from the end;
an index outside the axis raises IndexRangeError eagerly, and inside a kernel is clamped to the edge (no stray read).
"""
import numpy as np

from ..common import dtype as dt
from ..common.errors import DTypeError, IndexRangeError, ShapeError, ValueRangeError
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from ..mindir.scalar import as_expr, maximum as max_scalar, minimum as min_scalar, where as where_scalar
from .axes import normal_axis
from .basic import batched, broadcast_to, cast, move_batch_axis, reshape
from .define import as_operand, cast_to, dtype_of
from .logic import not_equal
from .sbp import letters, sbp_rule
from .structure import concat, expand_dims, inside_slice, slice_, whole_axes, zeros_like_shape
from .state import stop_gradient


def check_indices(name, indices, what="indices"):
    """raises : DTypeError unless `indices` are integers."""
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"{name}: {what} are integers, not {indices.dtype.name}", note=f"{what}: {indices}")


def checked(name, indices, size):
    """The ndarray `indices` with negative ones counted from the end; raises : IndexRangeError outside [-size, size)."""
    outside = (indices < -size) | (indices >= size)
    if outside.any():
        raise IndexRangeError(f"{name}: index {indices[outside].flat[0]} is outside an axis of size {size}")
    return np.where(indices < 0, indices + size, indices)


def wrapped(index, size):
    """The scalar expression of an index: negative ones count from the end, and it stays inside [0, size)."""
    return max_scalar(min_scalar(where_scalar(index < 0, index + size, index), size - 1), 0)


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
    return args, {**attrs, "axis": normal_axis("gather", attrs["axis"], args[0].ndim)}


@primitive(name="gather_axis", prepare=_axis_prepare)
def gather_axis(x, indices, *, axis=0):
    """out[a.., i.., b..] = x[a.., indices[i..], b..], `axis` being where the indices' axes stand in the result.

    x: any; indices: integers of any shape; raises : IndexRangeError (eagerly) for an index outside the axis
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


def _spread_batch(indices, per_item, lead):
    """Indices of each batch item moved into the item's own stretch of a flattened axis. Batch axis in front."""
    positive = cast(indices, dtype=dt.int64)
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
    return gather_axis(flat, _spread_batch(indices, n, size), axis=axis), axis


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
    out = index_add_axis(flat, _spread_batch(indices, n, size), updates, axis=axis)
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


sbp_rule(gather_axis, _gather_axis_spec, linear=[{0}])
sbp_rule(index_add_axis, _index_add_axis_spec, linear=[{0, 2}])


# ---------------------------------------------------------------- gather_nd and scatter_nd: over the leading axes

@primitive
def gather_nd(input_x, indices):
    """out[i.., b..] = input_x[indices[i.., 0], .., indices[i.., k - 1], b..]; the last axis of indices has size k."""


def _depth(name, x, indices):
    check_indices(name, indices)
    if not indices.shape or not isinstance(indices.shape[-1], int) or indices.shape[-1] > len(x.shape):
        raise ShapeError(f"{name}: the last axis of indices counts axes of x", note=f"x: {x}, indices: {indices}")
    return indices.shape[-1]


@infer_rule(gather_nd)
def gather_nd_infer(input_x, indices):
    return AbstractTensor(input_x.dtype, indices.shape[:-1] + input_x.shape[_depth("gather_nd", input_x, indices):])


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


@primitive(traits={"library"})
def scatter_nd_add(x, indices, updates):
    """x with updates[i.., b..] added at [indices[i.., 0], .., indices[i.., k - 1], b..]; an index may come several times."""


@primitive(traits={"library"})
def scatter_nd_update(x, indices, updates):
    """x with updates[i.., b..] written at [indices[i.., 0], .., b..]; of equal indices the last one counts."""


def _scatter_nd_infer(x, indices, updates):
    depth = _depth("scatter_nd", x, indices)
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


# ---------------------------------------------------------------- gather_elements: element by element

def _elements_prepare(args, attrs):
    return args, {"axis": normal_axis("gather_elements", attrs["axis"], args[0].ndim)}


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


sbp_rule(gather_elements_axis, _gather_elements_spec, linear=[{0}])
sbp_rule(scatter_elements_add, _scatter_elements_spec, linear=[{0, 2}])


# ---------------------------------------------------------------- slices that are written, and that start at run time

@primitive
def slice_update(x, value, *, start, step):
    """x with a slice replaced: out[start + i * step] = value[i], the rest as in x. Attributes as those of slice."""


@infer_rule(slice_update)
def slice_update_infer(x, value, *, start, step):
    infer_rule[slice_](x, start=start, sizes=value.shape, step=step)
    return x


@eval_rule(slice_update)
def slice_update_eval(x, value, *, start, step):
    out = np.array(x)
    if value.size:
        where = tuple(np.arange(n) * s + b for n, b, s in zip(value.shape, start, step))
        out[np.ix_(*where) if where else ()] = value
    return out


@kernel_rule(slice_update)
def slice_update_kernel(x, value, out, *, start, step):
    def element(*index):
        inside, inner = inside_slice(index, value.shape, start, step)
        return value[()] if inside is None else where_scalar(inside, value[inner], x[index])
    return element


@bprop_rule(slice_update)
def slice_update_bprop(x, value, out, dout, *, start, step):
    return (slice_update(dout, zeros_like_shape(value), start=start, step=step),
            slice_(dout, start=start, sizes=tuple(value.shape), step=step))


@jvp_rule(slice_update)
def slice_update_jvp(primals, tangents, out, *, start, step):
    dx, dvalue = (zeros_like_shape(p) if t is None else t for p, t in zip(primals, tangents))
    return slice_update(dx, dvalue, start=start, step=step)


@vmap_rule(slice_update)
def slice_update_vmap(args, dims, size, *, start, step):
    x, value = (batched(a, d, size) for a, d in zip(args, dims))
    return slice_update(x, value, start=(0,) + start, step=(1,) + step), 0


@primitive
def dynamic_slice(x, *starts, sizes):
    """out[i] = x[start + i] on every axis, the starts being integers known at run time (numbers or tensors i[]).

    sizes : a tuple of int or Dim. A start below 0 counts from the end; the slice is kept inside x.
    """


def _starts_infer(x, starts):
    if len(starts) != x.ndim:
        raise ShapeError(f"dynamic_slice: {len(starts)} starts for {x.ndim} axes", note=f"x: {x}")
    for start in starts:
        if isinstance(start, AbstractScalar) and start.type is int:
            continue
        if not isinstance(start, AbstractTensor) or start.shape != () or start.dtype.kind not in "iu":
            raise DTypeError(f"dynamic_slice: a start is an integer, not {start}")


@infer_rule(dynamic_slice)
def dynamic_slice_infer(x, *starts, sizes):
    _starts_infer(x, starts)
    for n, size in zip(x.shape, sizes):
        require("<=", size, n, lambda n=n, size=size: ShapeError(
            f"dynamic_slice: {size} elements of an axis of size {n}", note=f"x: {x}"))
    return AbstractTensor(x.dtype, sizes)


def _region(shape, starts, sizes):
    made = []
    for n, start, size in zip(shape, starts, sizes):
        first = int(start)
        if not -n <= first <= n - size:
            raise IndexRangeError(f"index {first} is outside an axis of size {n}" if size == 1 else
                                  f"dynamic_slice: {size} elements from {first} leave an axis of size {n}")
        first = first + n if first < 0 else first
        made.append(slice(first, first + size))
    return tuple(made)


def _first(start, n, size):
    start = as_expr(start)
    return max_scalar(min_scalar(where_scalar(start < 0, start + n, start), n - size), 0)


@eval_rule(dynamic_slice)
def dynamic_slice_eval(x, *starts, sizes):
    return np.ascontiguousarray(x[_region(x.shape, starts, sizes)]).reshape(sizes)


@kernel_rule(dynamic_slice)
def dynamic_slice_kernel(x, *starts, out, sizes):
    return lambda *i: x[tuple(_first(s, n, size) + k for s, n, size, k in zip(starts, x.shape, sizes, i))]


@bprop_rule(dynamic_slice)
def dynamic_slice_bprop(x, *starts, out, dout, sizes):
    return (dynamic_update(zeros_like_shape(x), dout, *starts),) + (None,) * len(starts)


@jvp_rule(dynamic_slice)
def dynamic_slice_jvp(primals, tangents, out, *, sizes):
    return dynamic_slice(tangents[0], *primals[1:], sizes=sizes)


def _start_column(starts, dims, shape, sizes, size):
    """The starts of each batch item as int64[size, k], negative ones counted from the end and kept inside."""
    columns = []
    for start, d, n, count in zip(starts, dims, shape, sizes):
        start = cast_to(as_operand(start, dt.int64), dt.int64)
        start = start if d is not None else broadcast_to(reshape(start, shape=(1,)), shape=(size,))
        start = start + cast(start < 0, dtype=dt.int64) * as_operand(n, dt.int64)
        columns.append(reshape(start, shape=(size, 1)))
    return columns


def _grid(starts, dims, shape, sizes, size):
    """For batched starts: indices int64[size, sizes.., 1 + k] of every element of every item's slice."""
    rank, grid = len(sizes), [reshape(iota(size), shape=(size,) + (1,) * len(sizes))]
    for a, (column, count) in enumerate(zip(_start_column(starts, dims, shape, sizes, size), sizes)):
        line = column + iota(count)
        grid.append(reshape(line, shape=(size,) + tuple(count if b == a else 1 for b in range(rank))))
    full = (size,) + tuple(sizes)
    return concat([expand_dims(broadcast_to(g, shape=full), rank + 1) for g in grid], rank + 1)


@vmap_rule(dynamic_slice)
def dynamic_slice_vmap(args, dims, size, *, sizes):
    x, starts = batched(args[0], dims[0], size), args[1:]
    if all(d is None for d in dims[1:]):
        return dynamic_slice(x, 0, *starts, sizes=(size,) + sizes), 0
    return gather_nd(x, _grid(starts, dims[1:], x.shape[1:], sizes, size)), 0


@primitive
def dynamic_update(x, value, *starts):
    """x with the slice of value's shape at `starts` replaced by value; starts as those of dynamic_slice."""


@infer_rule(dynamic_update)
def dynamic_update_infer(x, value, *starts):
    _starts_infer(x, starts)
    for n, size in zip(x.shape, value.shape):
        require("<=", size, n, lambda n=n, size=size: ShapeError(
            f"dynamic_update: {size} elements of an axis of size {n}", note=f"x: {x}, value: {value}"))
    return x


@eval_rule(dynamic_update)
def dynamic_update_eval(x, value, *starts):
    out = np.array(x)
    out[_region(x.shape, starts, value.shape)] = value
    return out


@kernel_rule(dynamic_update)
def dynamic_update_kernel(x, value, *starts, out):
    def element(*index):
        first = tuple(_first(s, n, size) for s, n, size in zip(starts, x.shape, value.shape))
        inside, inner = inside_slice(index, value.shape, first, (1,) * len(index))
        return value[()] if inside is None else where_scalar(inside, value[inner], x[index])
    return element


@bprop_rule(dynamic_update)
def dynamic_update_bprop(x, value, *starts, out, dout):
    return (dynamic_update(dout, zeros_like_shape(value), *starts),
            dynamic_slice(dout, *starts, sizes=tuple(value.shape))) + (None,) * len(starts)


@jvp_rule(dynamic_update)
def dynamic_update_jvp(primals, tangents, out):
    dx, dvalue = (zeros_like_shape(p) if t is None else t for p, t in zip(primals[:2], tangents[:2]))
    return dynamic_update(dx, dvalue, *primals[2:])


@vmap_rule(dynamic_update)
def dynamic_update_vmap(args, dims, size):
    x, value = (batched(a, d, size) for a, d in zip(args[:2], dims[:2]))
    if all(d is None for d in dims[2:]):
        return dynamic_update(x, value, 0, *args[2:]), 0
    return scatter_nd_update(x, _grid(args[2:], dims[2:], x.shape[1:], value.shape[1:], size), value), 0


def _slice_update_spec(x, value, *, start, step):
    axes = whole_axes(x.shape, value.shape, start, step)
    return f"{axes},{axes}->{axes}"


def _covered(shape, sizes):
    return "".join(name if n == m else "_" for name, n, m in zip(letters(len(shape)), shape, sizes))


def _dynamic_slice_spec(x, *starts, sizes):
    axes = _covered(x.shape, sizes)
    return ",".join([axes] + [""] * len(starts)) + "->" + axes


def _dynamic_update_spec(x, value, *starts):
    axes = _covered(x.shape, value.shape)
    return ",".join([axes, axes] + [""] * len(starts)) + "->" + axes


sbp_rule(slice_update, _slice_update_spec, linear=[{0, 1}])
sbp_rule(dynamic_slice, _dynamic_slice_spec, linear=[{0}], local=lambda attrs, shapes: {"sizes": tuple(shapes[0])})
sbp_rule(dynamic_update, _dynamic_update_spec, linear=[{0, 1}])


# ---------------------------------------------------------------- public names

def gather(input_params, input_indices, axis=0, batch_dims=0):
    """Slices of `input_params` along `axis` at `input_indices`; the first `batch_dims` axes of both go together."""
    x, indices = as_operand(input_params), as_operand(input_indices)
    axis = normal_axis("gather", axis, x.ndim)
    if not batch_dims:
        return gather_axis(x, indices, axis=axis)
    if not 0 < batch_dims <= min(axis, indices.ndim):
        raise ValueRangeError(f"gather: batch_dims {batch_dims} with axis {axis}")
    lead, size = tuple(x.shape[:batch_dims]), 1
    for n in lead:
        size = size * n
    flat = reshape(x, shape=(size,) + tuple(x.shape[batch_dims:]))
    flat_indices = reshape(indices, shape=(size,) + tuple(indices.shape[batch_dims:]))
    out, dim = gather_axis_vmap((flat, flat_indices), (0, 0), size, axis=axis - batch_dims)
    out = move_batch_axis(out, dim)
    return reshape(out, shape=lead + tuple(out.shape[1:]))


def index_select(input, axis, index):
    """Slices of `input` along `axis` at the one-axis `index`."""
    return gather(input, index, axis)


def gather_elements(input, dim, index):
    """out[.., i, ..] = input[.., index[.., i, ..], ..] along `dim` (torch's gather)."""
    return gather_elements_axis(input, as_operand(index), axis=dim)


def gather_d(x, dim, index):
    """The same as `gather_elements`."""
    return gather_elements(x, dim, index)


def index_add(x, indices, y, axis=0):
    """x with y added at `indices` along `axis`; an index that comes twice is added twice."""
    x = as_operand(x)
    return index_add_axis(x, as_operand(indices), cast_to(as_operand(y), dtype_of(x)), axis=axis)


def tensor_scatter_add(input_x, indices, updates):
    """input_x with updates added at indices[.., k]."""
    return scatter_nd_add(input_x, as_operand(indices), cast_to(as_operand(updates), dtype_of(input_x)))


def tensor_scatter_elements(input_x, indices, updates, axis=0, reduction="none"):
    """input_x with updates written ("none") or added ("add") at indices along `axis`, element by element."""
    indices, updates = cast_to(as_operand(indices), dt.int64), cast_to(as_operand(updates), dtype_of(input_x))
    if reduction == "add":
        return scatter_elements_add(input_x, indices, updates, axis=axis)
    if reduction != "none":
        raise ValueRangeError(f"tensor_scatter_elements: reduction is 'none' or 'add', not {reduction!r}")
    axis, rank, shape = normal_axis("tensor_scatter_elements", axis, input_x.ndim), input_x.ndim, tuple(indices.shape)
    columns = [indices if a == axis else broadcast_to(reshape(iota(n), shape=tuple(n if b == a else 1 for b in range(rank))),
                                                      shape=shape) for a, n in enumerate(shape)]
    return scatter_nd_update(input_x, concat([expand_dims(c, rank) for c in columns], rank), updates)


def tensor_scatter_update(input_x, indices, updates):
    """input_x with updates written at indices[.., k]."""
    return scatter_nd_update(input_x, as_operand(indices), cast_to(as_operand(updates), dtype_of(input_x)))


def scatter_nd(indices, updates, shape):
    """Zeros of `shape` with updates added at indices[.., k]."""
    updates = as_operand(updates)
    return scatter_nd_add(zeros_like_shape(updates, shape), as_operand(indices), updates)


def embedding(input, weight, padding_idx=None):
    """Rows of `weight` at the integers `input`: out[i.., :] = weight[input[i..], :].

    padding_idx : a row that gets no gradient
    """
    if padding_idx is not None:
        rows, width = weight.shape
        row = padding_idx + rows if padding_idx < 0 else padding_idx
        keep = cast_to(not_equal(iota(rows), row), dtype_of(weight))
        kept = reshape(keep, shape=(rows, 1))
        from_there = stop_gradient(weight)
        weight = weight * kept + from_there * (1 - kept)
    return gather_axis(weight, as_operand(input), axis=0)
