"""x[index] and x[index] = value for every NumPy form of index, taken apart onto slice, gather and scatter.

    x[2, ::-1, None, i]   ->   slice, then reshape (ints drop an axis, None adds one), then gather along i's axis

Ints, slices, Ellipsis, None, integer tensors (and lists, and tuples within the index), bool masks and numbers known at
run time may be mixed; the result is NumPy's (advanced indexing, "Combining advanced and basic indexing"). `setitem` gives
a new tensor; in eager mode a Tensor is then given its data. Both are executed, not parsed, so that sizes may be Dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.dim import Dim, bounds, compare, dim_max, dim_min
from ..common.errors import ArgumentError, IndexRangeError, MaskShapeError, ShapeError
from ..common.records import dataclass
from ..common.tensor import Tensor, TensorLike, is_shared, lies_elsewhere
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.constraints import require
from ..mindir.graph import AnfNode, ValueNode
from ..mindir.primitive import current_interpreter, planned
from .axes import broadcast_shapes, size_of_run, takes_sizes_of_run
from .basic import broadcast_to, reshape, transpose
from .define import as_operand, as_stack, cast_to, dtype_of, is_array
from .dynamic_slicing import dynamic_slice, dynamic_update
from .indexing import gather_axis, gather_nd, scatter_nd_update
from .logic import where
from .scalar import scalar_binary, scalar_compare, tensor_to_scalar
from .slicing import slice_, slice_update
from .sort import nonzero_indices
from .state import assign
from .structure import concat, expand_dims


@dataclass
class Selection:
    """An index, read: what happens to each axis of x in turn.

    start, size, step : the slice of every axis (start: int, Dim, or a node where the axis is in `dynamic`)
    dynamic           : axes whose one element starts at a number known at run time
    dropped           : axes that an int removed
    advanced          : {axis: integer tensor}
    layout            : the axes of the result of the basic part in order: an axis of x, or None for a new one
    runs              : how many stretches of the index consist of ints and tensors
    """
    start: list
    size: list
    step: list
    dynamic: set
    dropped: set
    advanced: dict
    layout: list
    runs: int


# ---------------------------------------------------------------- reading an index

class _NoAxis:
    """The index True beside ints and tensors: one of them, but without an axis."""


NO_AXIS = _NoAxis()


def _axes_read(item):
    """How many axes of x an entry of an index reads, ... aside."""
    if item is None or item is Ellipsis or item is NO_AXIS:
        return 0
    return item.ndim if _is_mask(item) else 1


def _is_mask(item):
    return (isinstance(item, (bool, np.bool_))
            or (isinstance(item, (Tensor, np.ndarray)) and item.dtype in (dt.bool_, bool))
            or (isinstance(item, AnfNode) and isinstance(item.abstract, AbstractTensor) and item.dtype is dt.bool_))


def _is_mask_without_axes(item):
    """True for a bool of the run: x[b] is x with a new axis in front, of one element or of none."""
    return _is_mask(item) and not isinstance(item, (bool, np.bool_)) and len(item.shape) == 0


def _entries(x, index):
    """The index as a list with one entry per axis of x, None for each new axis; masks as integer tensors; ... stays as
    a mark."""
    items = list(index) if isinstance(index, tuple) or isinstance(index, list) and any(
        i is None or i is Ellipsis or isinstance(i, slice) for i in index) else [index]
    items = [as_stack(i) if isinstance(i, (list, tuple, range)) else i for i in items]
    items = [as_operand(np.asarray(i, np.int64)) if isinstance(i, np.ndarray) and i.size == 0 and i.dtype.kind == "f"
             else i for i in items]
    items = _without_bools(items)
    used, dots = sum(map(_axes_read, items)), sum(i is Ellipsis for i in items)
    if used > x.ndim or dots > 1:
        raise IndexRangeError("an index has one ... at most" if dots > 1 else
                              f"{used} indices for a tensor of {x.ndim} axes")
    spread, at = [], 0
    for item in items if dots else [*items, Ellipsis]:
        if _is_mask_without_axes(item):
            raise IndexRangeError("a mask without axes stands beside other indices",
                                  hint="index with the mask only: x[mask], and then its result")
        if _is_mask(item):
            _check_mask(x, item, at)
            spread.extend(mask_indices(item))
        else:
            spread.append(item)
        if item is Ellipsis:
            spread.extend([slice(None)] * (x.ndim - used))
            at += x.ndim - used
        at += _axes_read(item)
    return spread


def _without_bools(items):
    """True is a mask without axes: among slices it adds an axis of size 1, as None does, and a second one no other. Beside
    ints and tensors it is one more of them, an index of one element that reads no axis."""
    bools = [i for i, item in enumerate(items) if isinstance(item, (bool, np.bool_))]
    if not bools:
        return items
    if not all(items[i] for i in bools):
        raise IndexRangeError("a bool as an index can only be True", hint="a mask is a bool tensor")
    others = [item for i, item in enumerate(items) if i not in bools and _is_advanced(item)]
    if not others:
        place = bools[0] if bools[-1] - bools[0] == len(bools) - 1 else 0       # in front if others stand between them
        others = [item for i, item in enumerate(items) if i not in bools]
        return [*others[:place], None, *others[place:]]
    if not any(map(is_array, others)):                       # only ints: one of them becomes a tensor of one element
        first = next(i for i, item in enumerate(items) if item is others[0] and i not in bools)
        items = [*items[:first], reshape(as_operand(items[first]), shape=(1,)), *items[first + 1:]]
    return [NO_AXIS if i in bools else item for i, item in enumerate(items)]


def _is_advanced(item):
    """True for an int or a tensor, known or of the run."""
    return not (item is None or item is Ellipsis or isinstance(item, slice))


def _check_mask(x, mask, at):
    error = lambda: MaskShapeError("a mask has the shape of the axes that it selects from",  # noqa: E731
                                    note=f"mask: {list(mask.shape)}, x: {list(x.shape)}")
    for a, n in enumerate(mask.shape):
        if at + a >= x.ndim:
            raise error()
        require("==", n, x.shape[at + a], error)


def mask_indices(mask):
    """A bool mask as integer tensors, one for each axis: the positions of True. Their size depends on the data."""
    positions = nonzero_indices(as_operand(mask))
    return [reshape(slice_(positions, start=(0, a), sizes=(positions.shape[0], 1), step=(1, 1)),
                    shape=(positions.shape[0],)) for a in range(mask.ndim)]


def _known_int(item):
    """The int or Dim that `item` is, or None."""
    if isinstance(item, (int, Dim)) and not isinstance(item, bool):
        return item
    if isinstance(item, ValueNode) and isinstance(item.value, int):
        return item.value
    if isinstance(item, AnfNode):
        return item.abstract.dim if isinstance(item.abstract, AbstractScalar) and item.abstract.type is int else None
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, (Tensor, np.ndarray)):
        return None
    return item.__index__() if hasattr(item, "__index__") else None


def read_index(x, index):
    """The Selection that `index` makes of x.

    raises : IndexRangeError for an int outside its axis, for too many indices, and for what is no index
    """
    made = Selection([], [], [], set(), set(), {}, [], 0)
    axis, in_run = 0, False
    for item in _entries(x, index):
        in_run, was = item is not None and item is not Ellipsis and not isinstance(item, slice), in_run
        made.runs += in_run and not was
        if item is Ellipsis or item is NO_AXIS:     # ... stands for the slices after it; parts ints from tensors even if none
            continue
        if item is None:
            made.layout.append(None)
            continue
        n = x.shape[axis]
        start: Any = 0
        size, step = n, 1
        if isinstance(item, slice):
            start, size, step = _read_slice(item, n)
            made.layout.append(axis)
        elif is_array(item):
            _read_tensor(made, axis, as_operand(item))
        elif (known := _known_int(item)) is not None and _sign_known(known):
            start, size = _read_int(known, axis, n), 1
            made.dropped.add(axis)
        elif isinstance(item, Dim) or (isinstance(item, AnfNode) and isinstance(item.abstract, AbstractScalar)
                                       and item.abstract.type is int):
            start, size = item, 1
            made.dynamic.add(axis)
            made.dropped.add(axis)
        else:
            raise IndexRangeError(f"an index is an int, a slice, ..., None or an integer or bool tensor, "
                                  f"not {type(item).__name__}", note=repr(item)[:80])
        made.start.append(start)
        made.size.append(size)
        made.step.append(step)
        axis += 1
    return made


def _sign_known(value):
    low, high = bounds(value)
    return (low is not None and low >= 0) or (high is not None and high < 0)


def _read_int(value, axis, n):
    start = value + n if compare("<", value, 0) else value
    if compare("<", start, 0) or compare(">=", start, n):
        raise IndexRangeError(f"index {value} is out of bounds for dimension with size {n}", note=f"axis {axis}")
    return start


def _read_tensor(made, axis, item):
    if item.dtype.kind not in "iu":
        raise IndexRangeError(f"an index tensor holds integers or bools, not {dtype_of(item).name}")
    made.advanced[axis] = item
    made.layout.append(axis)


def _places_in_front(value, n, last):
    """How many places lie in front of an end of a slice of an axis of size n that is known at run time only. last: of a
    slice that runs backwards its first element counts, too."""
    if isinstance(value.abstract, AbstractTensor):
        value = tensor_to_scalar(value)
    from_end = scalar_binary(value, scalar_binary(scalar_compare(value, 0, op="<"), n, op="*"), op="+")
    return scalar_binary(scalar_binary(from_end, last, op="+"), 0, op="max")


def _of_run(value):
    """True for an int, or an integer Tensor without axes, that is known at run time only."""
    of = value.abstract if isinstance(value, AnfNode) and _known_int(value) is None else None
    return isinstance(of, AbstractScalar) and of.type is int or \
        isinstance(of, AbstractTensor) and of.shape == () and of.dtype.kind in "iu"


def slice_end(value, n, step):
    """An end of a slice as an int or Dim inside the axis of size n."""
    if _of_run(value) and takes_sizes_of_run():
        last = int(step < 0)
        return dim_min(size_of_run(value, lambda: _places_in_front(value, n, last), n, last), n) - last
    return _place(_known_end(value), n, step)


def _place(end, n, step):
    """The same of an int or Dim; a negative one counts from the end: n * [end < 0] is added."""
    if step > 0 and compare("<", end, 0):
        return n - dim_min(-end, n)                          # max(n + end, 0), with the same atom as the end -end has
    low, high = (0, n) if step > 0 else (-1, n - 1)
    return dim_min(dim_max(end + n * dim_min(dim_max(-end, 0), 1), low), high)


def _known_end(value):
    known = _known_int(value)
    if known is None and isinstance(value, (Tensor, np.ndarray)) and value.ndim == 0 and value.dtype.kind in "iu":
        known = int(value)
    if known is None:
        raise ArgumentError("the ends of a slice are ints, or sizes of tensors", note=repr(value)[:80],
                            hint="a slice whose length is known but whose start is not: ops.dynamic_slice")
    return known


def _read_slice(item, n):
    """(start, size, step) of a Python slice of an axis of size n."""
    step = 1 if item.step is None else _known_end(item.step)
    if not isinstance(step, int) or step == 0:
        raise ArgumentError("the step of a slice is an int that is not 0", note=repr(item.step))
    ends = item.start, item.stop
    if isinstance(n, int) and not any(map(_of_run, ends)):
        first, last = [None if e is None else _known_end(e) for e in ends]
        if not isinstance(first, Dim) and not isinstance(last, Dim):
            chosen = range(n)[slice(first, last, step)]
            return chosen.start if len(chosen) else 0, len(chosen), step
    edges = (0, n) if step > 0 else (n - 1, -1)
    start, stop = [edge if end is None else slice_end(end, n, step) for end, edge in zip(ends, edges)]
    size = dim_max(stop - start if step == 1 else (stop - start + step - (1 if step > 0 else -1)) // step, 0)
    return (0, 0, step) if isinstance(size, int) and size == 0 else (start, size, step)


# ---------------------------------------------------------------- reading elements

def _is_whole(x, s):
    return not s.dynamic and all(isinstance(b, int) and b == 0 and c == n and k == 1
                                 for b, c, k, n in zip(s.start, s.size, s.step, x.shape))


def _basic(x, s):
    """The slice of x before axes are dropped and added."""
    if s.dynamic:
        sizes = tuple(1 if a in s.dynamic else n for a, n in enumerate(x.shape))
        x = dynamic_slice(x, *(s.start[a] if a in s.dynamic else 0 for a in range(x.ndim)), sizes=sizes)
        s = Selection([0 if a in s.dynamic else b for a, b in enumerate(s.start)], s.size, s.step, set(), s.dropped,
                      s.advanced, s.layout, s.runs)
    return x if _is_whole(x, s) else slice_(x, start=tuple(s.start), sizes=tuple(s.size), step=tuple(s.step))


@planned
def getitem(x: Tensor, index: Any) -> Any:
    """x[index], for every form of index that NumPy takes.

    raises : IndexRangeError outside an axis, for too many indices, and for what is no index
    """
    x = as_operand(x)
    if isinstance(index, (Tensor, np.ndarray)) and index.ndim == 0 and index.dtype.kind in "iu" and not x.ndim == 0:
        return gather_axis(x, index, axis=0)
    if _is_mask_without_axes(index):
        return getitem(expand_dims(x, 0), expand_dims(index, 0))
    s = read_index(x, index)
    out = _basic(x, s)
    shape = tuple(1 if a is None else out.shape[a] for a in s.layout)
    if shape != tuple(out.shape):
        out = reshape(out, shape=shape)
    if not s.advanced:
        return out
    axes, tensors, front = _advanced(s)
    if len(axes) == 1 and front == axes[0]:
        return gather_axis(out, tensors[0], axis=axes[0])
    rest = [a for a in range(out.ndim) if a not in axes]
    moved = transpose(out, perm=tuple(axes + rest))
    got = gather_nd(moved, stack_indices(tensors))
    lead = got.ndim - len(rest)
    if front == 0:
        return got
    perm = list(range(lead, lead + front)) + list(range(lead)) + list(range(lead + front, got.ndim))
    return transpose(got, perm=tuple(perm))


@planned
def strided_slice(input_x: TensorLike, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], begin_mask: int = 0,
                  end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0) -> Tensor:
    """input_x[begin:end:strides], axis by axis; bit i of a mask says another thing of place i.

    input_x             : Tensor of any dtype
    begin, end, strides : ints, as many of each; negative ones as in Python's slices; no stride is 0
    begin_mask          : int: begin is open there;     end_mask : int: end is open there
    ellipsis_mask       : int: all axes that are left stand there, one place at most
    new_axis_mask       : int: an axis of size 1 is put in;     shrink_axis_mask : int: begin is an index, whose axis goes
    raises              : ArgumentError for other lengths or a stride 0, IndexRangeError for an index outside or more places
                          than axes
    """
    if not len(begin) == len(end) == len(strides):
        raise ArgumentError("strided_slice: begin, end and strides are of one length", note=f"{begin}, {end}, {strides}")
    index: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides)):
        if ellipsis_mask >> i & 1:
            index.append(...)
        elif new_axis_mask >> i & 1:
            index.append(None)
        elif shrink_axis_mask >> i & 1:
            index.append(b)
        else:
            index.append(slice(None if begin_mask >> i & 1 else b, None if end_mask >> i & 1 else e, s))
    return getitem(as_operand(input_x), tuple(index))


def _advanced(s):
    """(axes of the basic result that tensors index, the tensors, where their axes stand among the others).

    Ints beside tensors count as tensors for the place, as in NumPy: x[0, :, i] puts i's axes in front.
    """
    places = [k for k, a in enumerate(s.layout) if a in s.advanced]
    return places, [s.advanced[s.layout[k]] for k in places], places[0] if s.runs == 1 else 0


def stack_indices(tensors):
    """Integer tensors broadcast together and put side by side on a new last axis, as gather_nd takes them."""
    tensors = [cast_to(t, dt.int64) for t in tensors]
    shape = broadcast_shapes("index", *(tuple(t.shape) for t in tensors))
    tensors = [t if tuple(t.shape) == shape else broadcast_to(t, shape=shape) for t in tensors]
    return concat([expand_dims(t, len(shape)) for t in tensors], len(shape))


# ---------------------------------------------------------------- writing elements

def setitem(x: Tensor, index: Any, value: Any) -> Any:
    """A tensor like x in which the elements at `index` are `value`, broadcast to their shape and cast to x's dtype.

    index  : as for getitem; a mask of x's whole shape with a value of one element stays static in shape
    raises : ShapeError if value does not broadcast to x[index]
    """
    x = as_operand(x)
    value = as_stack(value, dtype_of(x)) if isinstance(value, (list, tuple)) else as_operand(value, dtype_of(x))
    value = cast_to(value, dtype_of(x))
    if _is_mask_without_axes(index):
        return where(index, _fit(value, tuple(x.shape)), x)
    if _is_mask(index) and not isinstance(index, bool) and value.ndim == 0 and len(index.shape) <= x.ndim:
        _check_mask(x, index, 0)
        mask = reshape(index, shape=tuple(index.shape) + (1,) * (x.ndim - len(index.shape)))
        return where(mask, value, x)
    s = read_index(x, index)
    if s.advanced:
        whole = _basic(x, s)
        region = _set_advanced(whole, s, value)
        return region if _is_whole(x, s) else _put(x, s, region)
    region = tuple(s.size)
    shape = tuple(1 if a is None else region[a] for a in s.layout)
    return _put(x, s, reshape(_fit(value, shape), shape=region))


def _fit(value, shape):
    """`value` broadcast to `shape`; leading axes of size 1 beyond it are dropped, as NumPy's assignment does."""
    while value.ndim > len(shape) and compare("==", value.shape[0], 1):
        value = reshape(value, shape=tuple(value.shape[1:]))
    if value.ndim > len(shape):
        raise ShapeError(f"a value of shape {list(value.shape)} is assigned to elements of shape {list(shape)}")
    return value if tuple(value.shape) == tuple(shape) else broadcast_to(value, shape=tuple(shape))


def _put(x, s, region):
    """x with the basic part of the selection replaced by `region`, which has its sizes."""
    if not s.dynamic:
        return slice_update(x, region, start=tuple(s.start), step=tuple(s.step))
    first = [s.start[a] if a in s.dynamic else 0 for a in range(x.ndim)]
    sizes = tuple(1 if a in s.dynamic else n for a, n in enumerate(x.shape))
    start = tuple(0 if a in s.dynamic else b for a, b in enumerate(s.start))
    row = dynamic_slice(x, *first, sizes=sizes)
    return dynamic_update(x, slice_update(row, region, start=start, step=tuple(s.step)), *first)


def _set_advanced(whole, s, value):
    """The basic part of the selection (before axes are dropped) with its advanced part written."""
    shape = tuple(1 if a is None else whole.shape[a] for a in s.layout)
    axes, tensors, front = _advanced(s)
    view = reshape(whole, shape=shape)
    rest = [a for a in range(len(shape)) if a not in axes]
    indices = stack_indices(tensors)
    lead = tuple(indices.shape[:-1])
    outer = [shape[a] for a in rest]
    value = _fit(value, tuple(outer[:front]) + lead + tuple(outer[front:]))
    if front:
        k = len(lead)
        perm = (*range(front, front + k), *range(front), *range(front + k, value.ndim))
        value = transpose(value, perm=perm)
    perm = tuple(axes + rest)
    out = scatter_nd_update(transpose(view, perm=perm), indices, value)
    out = transpose(out, perm=tuple(perm.index(a) for a in range(len(perm))))
    return reshape(out, shape=tuple(whole.shape))


def set_in_place(x, index, value):
    """Tensor.__setitem__: the new elements stand in the Tensor's own memory. With a gradient in the making it is an
    assign, which keeps what was saved of the old elements and lets the gradient flow to `value`."""
    if getattr(current_interpreter(), "records", False) or is_shared(x):
        assign(x, setitem(x, index, value))
        return
    if lies_elsewhere((x, value, *(index if isinstance(index, tuple) else (index,)))):
        assign(x, setitem(x, index, value))
        return
    try:
        x.host_array[_plain_index(index)] = value.host_array if isinstance(value, Tensor) else value
    except (IndexError, ValueError, TypeError, OverflowError):
        np.copyto(x.host_array, setitem(x, index, value).host_array)      # raises the error in our words


def _plain_index(index):
    """The index as NumPy takes it."""
    if isinstance(index, tuple):
        return tuple(_plain_index(i) for i in index)
    return index.host_array if isinstance(index, Tensor) else index
