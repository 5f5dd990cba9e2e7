"""Arrays put together, taken apart and laid out anew: NumPy's functions, on the operators."""
import builtins

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.dim import dim_max, dim_min
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.constraints import require
from ..ops.axes import as_size, normal_axis
from ..ops.indexing import widened
from .arrays import is_array, tensor, with_axes
from .reductions import sum


def reshape(x, new_shape):
    """The elements in another shape; one size may be -1."""
    return ops.reshape(tensor(x), (new_shape,) if isinstance(new_shape, int) else tuple(new_shape))


def ravel(x):
    """All elements in one axis."""
    return reshape(x, -1)


def transpose(a, axes=None):
    """The axes in another order; reversed where none is given."""
    a = tensor(a)
    axes = range(a.ndim)[::-1] if axes is None else [normal_axis("transpose", axis, a.ndim) for axis in axes]
    return ops.transpose(a, tuple(axes))


def swapaxes(x, axis1, axis2):
    """Two axes exchanged."""
    return ops.swapaxes(tensor(x), axis1, axis2)


def moveaxis(a, source, destination):
    """Axes moved to other places."""
    return ops.moveaxis(tensor(a), source, destination)


def rollaxis(x, axis, start=0):
    """An axis moved back until it stands before `start`."""
    x = tensor(x)
    axis, start = normal_axis("rollaxis", axis, x.ndim), start + x.ndim if start < 0 else start
    return ops.moveaxis(x, axis, start - 1 if axis < start else start)


def expand_dims(a, axis):
    """New axes of size 1."""
    a = tensor(a)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = a.ndim + len(axes)
    if any(not -ndim <= i < ndim for i in axes):
        raise ValueRangeError(f"expand_dims: axis {axis} is outside of {ndim} axes")
    for i in sorted([i % ndim for i in axes]):
        a = ops.expand_dims(a, i)
    return a


def squeeze(a, axis=None):
    """Without axes of size 1."""
    return ops.squeeze(tensor(a), axis)


def broadcast_to(array, shape):
    """The array repeated to a shape."""
    return ops.broadcast_to(tensor(array), (shape,) if isinstance(shape, int) else tuple(shape))


def broadcast_arrays(*args):
    """The arrays, broadcast against each other, a list."""
    arrays = [tensor(a) for a in args]
    return [ops.broadcast_to(a, np.broadcast_shapes(*[tuple(x.shape) for x in arrays])) for a in arrays]


def concatenate(arrays, axis=0):
    """The arrays behind each other along an axis; flat where that is None."""
    if is_array(arrays):
        arrays = [arrays[i] for i in range(arrays.shape[0])]
    arrays = [tensor(a) for a in arrays]
    return ops.concat([ravel(a) for a in arrays], 0) if axis is None else ops.concat(arrays, axis)


def append(arr, values, axis=None):
    """`values` behind the array."""
    return concatenate([arr, values], axis)


def stack(arrays, axis=0):
    """The arrays along a new axis."""
    if is_array(arrays):
        return ops.moveaxis(arrays, 0, axis)
    return ops.stack([tensor(a) for a in arrays], axis)


def _joined(op):
    def run(tup):
        return op([tensor(a) for a in (tup if not is_array(tup) else [tup[i] for i in range(tup.shape[0])])])
    run.__name__, run.__doc__ = op.__name__, f"{op.__name__} of arrays."
    return run


hstack, vstack, dstack, column_stack = map(_joined, (ops.hstack, ops.vstack, ops.dstack, ops.column_stack))


def _at_least(op):
    def run(*arys):
        made = [op(tensor(a)) for a in arys]
        return made[0] if len(made) == 1 else made
    run.__name__, run.__doc__ = op.__name__, f"{op.__name__} of each array; a list where there are several."
    return run


atleast_1d, atleast_2d, atleast_3d = map(_at_least, (ops.atleast_1d, ops.atleast_2d, ops.atleast_3d))


def _parts(x, places, axis):
    ends = [0, *(as_size("split", place, None) for place in places), x.shape[axis]]
    return tuple([x[tuple([slice(a, dim_max(a, b)) if i == axis else slice(None) for i in range(x.ndim)])]
                  for a, b in zip(ends, ends[1:])])


def split(x, indices_or_sections, axis=0):
    """The array in so many equal parts, or cut at these places, a tuple. raises : ShapeError for parts that are not equal"""
    x = with_axes("split", x)
    axis = normal_axis("split", axis, x.ndim)
    if isinstance(indices_or_sections, int):
        require("==", x.shape[axis] % indices_or_sections, 0, lambda: ShapeError(
            f"split: {x.shape[axis]} elements have no {indices_or_sections} equal parts"))
    return array_split(x, indices_or_sections, axis)


def array_split(x, indices_or_sections, axis=0):
    """The same; parts may differ by one."""
    x = with_axes("array_split", x)
    axis, places = normal_axis("split", axis, x.ndim), indices_or_sections
    if isinstance(places, int):
        small, more = x.shape[axis] // places, x.shape[axis] % places
        places = [small * n + dim_min(n, more) for n in range(1, places)]
    return _parts(x, places, axis)


def hsplit(x, indices_or_sections):
    """split along the second axis, of a vector along its own."""
    x = with_axes("hsplit", x)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(x, indices_or_sections):
    """split along the first axis."""
    return split(with_axes("vsplit", x, 2), indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    """split along the third axis."""
    return split(with_axes("dsplit", x, 3), indices_or_sections, 2)


def tile(a, reps):
    """The array repeated along its axes."""
    a, reps = tensor(a), (reps,) if isinstance(reps, int) else tuple(reps)
    ndim = max(a.ndim, len(reps))
    a = ops.reshape(a, (1,) * (ndim - a.ndim) + tuple(a.shape))
    return ops.tile(a, (1,) * (ndim - len(reps)) + reps)


def repeat(a, repeats, axis=None):
    """Each element repeated, along an axis or flat."""
    a = tensor(a)
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    return ops.repeat_interleave(a, repeats, axis)


def flip(m, axis=None):
    """The elements in the reversed order along the axes (None: all)."""
    m = tensor(m)
    axes = tuple(range(m.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return ops.flip(m, axes) if axes else m


def fliplr(m):
    """Reversed along the second axis."""
    return flip(m, 1)


def flipud(m):
    """Reversed along the first axis."""
    return flip(m, 0)


def roll(a, shift, axis=None):
    """Elements moved on along axes; what leaves at the end comes in in front."""
    a = tensor(a)
    return reshape(ops.roll(ravel(a), shift, 0), tuple(a.shape)) if axis is None else ops.roll(a, shift, axis)


def rot90(a, k=1, axes=(0, 1)):
    """Turned by 90 degrees k times in the plane of two axes."""
    a, k = tensor(a), k % 4
    axes = tuple([normal_axis("rot90", i, a.ndim) for i in axes])
    if k == 0:
        return a
    if k == 2:
        return flip(a, axes)
    return swapaxes(flip(a, axes[1]), *axes) if k == 1 else flip(swapaxes(a, *axes), axes[1])


def take(a, indices, axis=None, mode="clip"):
    """The elements at indices along an axis, or of the flat array.

    mode : what an index outside means: "clip" the nearest, "wrap" around, "raise" an error
    """
    a, indices = tensor(a), widened(tensor(indices))
    a, axis = (ravel(a), 0) if axis is None else (a, normal_axis("take", axis, a.ndim))
    size = a.shape[axis]
    if mode == "wrap":
        indices = indices % size
    elif mode == "clip":
        indices = ops.clip(indices, 0, size - 1)
    elif mode != "raise":
        raise ValueRangeError(f"take: there is no mode {mode!r}", hint="clip, wrap or raise")
    return ops.gather(a, indices, axis)


def take_along_axis(arr, indices, axis):
    """The elements at the indices, each in its row along the axis; of the flat array where that is None."""
    arr, indices = tensor(arr), tensor(indices)
    arr, axis = (ravel(arr), 0) if axis is None else (arr, normal_axis("take_along_axis", axis, arr.ndim))
    shape = tuple([n if i == axis else m for i, (m, n) in enumerate(zip(arr.shape, indices.shape))])
    return ops.gather_elements(arr, axis, ops.broadcast_to(indices, shape))


def choose(a, choices, mode="clip"):
    """In each place that one of the choices whose number stands there."""
    a, choices = tensor(a), [tensor(c) for c in choices]
    number = a % len(choices) if mode == "wrap" else ops.clip(a, 0, len(choices) - 1)
    made = choices[0]
    for place, choice in enumerate(choices[1:], 1):
        made = ops.where(ops.equal(number, place), choice, made)
    return ops.broadcast_to(made, np.broadcast_shapes(tuple(a.shape), tuple(made.shape)))


def pad(arr, pad_width, mode="constant", stat_length=None, constant_values=0, end_values=0, reflect_type="even", **kwargs):
    """The array with a margin; each axis alike, or (before, after) for all, or for each.

    mode         : "constant", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect", "symmetric", "wrap", "empty"
    end_values   : for "linear_ramp", the outermost elements, as pad_width; constant_values for "constant"
    stat_length  : for "maximum", "mean" and "minimum", how many elements from the edge count, as pad_width; None: all
    reflect_type : "even", or "odd": what is reflected goes on beyond the edge's value
    raises       : ArgumentError for another mode
    """
    arr = tensor(arr)
    widths = np.broadcast_to(np.asarray(pad_width), (arr.ndim, 2)).tolist()
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap", "empty", *_MARGINS):
        raise ArgumentError(f"pad: the mode {mode!r} is not known")
    if reflect_type not in ("even", "odd"):
        raise ArgumentError(f"pad: reflect_type is 'even' or 'odd', not {reflect_type!r}")
    if mode in _MARGINS:
        settings = end_values if mode == "linear_ramp" else 0 if stat_length is None else stat_length
        for axis, (ends, pair) in enumerate(zip(widths, np.broadcast_to(np.asarray(settings), (arr.ndim, 2)).tolist())):
            arr = ops.concat((_MARGINS[mode](arr, axis, ends[0], True, pair[0]), arr,
                              _MARGINS[mode](arr, axis, ends[1], False, pair[1])), axis)
        return arr
    values = np.broadcast_to(np.asarray(constant_values), (arr.ndim, 2)).tolist()
    for axis, (before, after) in enumerate(widths):
        if mode in ("constant", "empty"):
            ends = []
            for count, value in zip((before, after), values[axis]):
                shape = tuple([count if i == axis else s for i, s in enumerate(arr.shape)])
                ends.append([ops.broadcast_to(ops.cast(tensor(value), arr.dtype), shape)] if count else [])
            parts = [*ends[0], arr, *ends[1]]
            arr = ops.concat(parts, axis) if len(parts) > 1 else arr
        elif reflect_type == "odd" and mode in ("reflect", "symmetric"):
            arr = _odd(arr, axis, before, after, 1 if mode == "reflect" else 0)
        elif before or after:
            places = np.pad(np.arange(arr.shape[axis]), (before, after), mode)
            arr = ops.gather(arr, Tensor(places), axis)
    return arr


def _edge(arr, axis, count, first):
    """The first or last `count` slices along `axis`."""
    return ops.narrow(arr, axis, 0 if first else arr.shape[axis] - count, count)


def _odd(arr, axis, before, after, skip):
    """The array continued at both ends by 2 * edge - what is reflected. skip : 1 where the edge is not repeated."""
    if (before or after) and arr.shape[axis] <= skip:
        raise ArgumentError("pad: there is nothing to reflect", note=f"arr: {list(arr.shape)}, axis {axis}")
    while before or after:
        n = arr.shape[axis]
        left, right = builtins.min(before, n - skip), builtins.min(after, n - skip)
        low = 2 * _edge(arr, axis, 1, True) - ops.flip(ops.narrow(arr, axis, skip, left), (axis,))
        high = 2 * _edge(arr, axis, 1, False) - ops.flip(ops.narrow(arr, axis, n - skip - right, right), (axis,))
        arr, before, after = ops.concat((low, arr, high), axis), before - left, after - right
    return arr


def _ramp(arr, axis, count, first, end):
    """`count` slices that begin at the value `end` and go on in equal steps to the edge, which does not count."""
    shape = [1] * arr.ndim
    shape[axis] = count
    steps = (np.arange(count) / builtins.max(count, 1))[::1 if first else -1].reshape(shape)
    made = end + (_edge(arr, axis, 1, first) - end) * Tensor(steps.astype(np.float32))
    return ops.cast(ops.floor(made) if arr.dtype.kind in "iu" else made, arr.dtype)


def _statistic(function):
    def margin(arr, axis, count, first, length):
        """`count` times the statistic of `length` slices from the edge; 0 stands for all."""
        n = arr.shape[axis]
        found = function(_edge(arr, axis, builtins.min(length or n, n), first), axis)
        return ops.broadcast_to(ops.cast(found, arr.dtype), tuple([count if i == axis else s for i, s in enumerate(arr.shape)]))
    return margin


def _mean(x, axis):
    return ops.round(ops.mean(ops.cast(x, dt.float64), axis, True)) if x.dtype.kind in "iu" else ops.mean(x, axis, True)


_MARGINS = {"linear_ramp": _ramp, "mean": _statistic(_mean), "maximum": _statistic(lambda x, axis: ops.amax(x, axis, True)),
            "minimum": _statistic(lambda x, axis: ops.amin(x, axis, True))}


def size(a, axis=None):
    """How many elements there are, in all or along an axis."""
    shape = tuple(tensor(a).shape)
    return int(np.prod(shape)) if axis is None else shape[axis]


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonals of the planes of two axes."""
    return ops.diagonal(tensor(a), offset, axis1, axis2)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """The sums of the diagonals."""
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


def array_str(a):
    """The elements as text."""
    return str(tensor(a).asnumpy())


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """The function of each vector along an axis; its results stand there."""
    arr = tensor(arr)
    axis = normal_axis("apply_along_axis", axis, arr.ndim)
    rows = ops.moveaxis(arr, axis, -1)
    outer = tuple(rows.shape[:-1])
    rows = ops.reshape(rows, (-1, rows.shape[-1]))
    made = ops.stack([tensor(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])])
    made = ops.reshape(made, (*outer, *made.shape[1:]))
    for extra in range(made.ndim - len(outer)):
        made = ops.moveaxis(made, len(outer) + extra, axis + extra)
    return made


def apply_over_axes(func, a, axes):
    """The function over one axis after the other, which keep their places."""
    a = tensor(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        made = func(a, axis)
        a = made if made.ndim == a.ndim else expand_dims(made, axis)
    return a


def argwhere(a):
    """int64[count, axes]: the places of the elements that are not 0, in order."""
    return ops.nonzero(tensor(a))
