"""Sums and their kin over axes: NumPy's names and keywords, on the operators.

axis: None for all, an int, or a tuple;   dtype: the element type that is computed in;   keepdims: reduced axes stay, of size 1
"""
import builtins
from typing import Any

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError
from ..common.tensor import Tensor
from ..ops.axes import normal_axes, normal_axis
from ..ops.complex_numbers import part_dtype
from ..ops.structure import has_size_one
from .arrays import cast, tensor, with_axes
from .elementwise import FUNCTIONS, floats


def axes_of(name, axis, ndim):
    """The axes as a tuple, counted from the front; () are none. raises : ValueRangeError for one outside or named twice"""
    return () if isinstance(axis, (tuple, list)) and not axis else normal_axes(name, axis, ndim)


def _kept(keepdims):
    """keepdims as the operators take it: NumPy reads any int as a bool."""
    return bool(keepdims) if isinstance(keepdims, int) else keepdims


def sum(a, axis=None, dtype=None, keepdims=False, initial=None):
    """The sum of the elements, and of `initial`; of ints and bools it is int64 where no dtype is given."""
    a = tensor(a)
    a = cast(a, dt.int64 if dtype is None and a.dtype.kind in "iub" else dtype)
    axes = axes_of("sum", axis, a.ndim)
    made = ops.sum(a, axes, _kept(keepdims)) if axes else a
    return made if initial is None else made + initial


def mean(a, axis=None, keepdims=False, dtype=None):
    """The mean; of ints it is a float."""
    a = floats(cast(tensor(a), dtype))
    axes = axes_of("mean", axis, a.ndim)
    return ops.mean(a, axes, _kept(keepdims)) if axes else a


def average(x, axis=None, weights=None, returned=False):
    """The mean, or the weighted mean. returned: give (it, the sum of the weights)"""
    x = floats(tensor(x))
    if weights is None:
        made, total = mean(x, axis), None
        size = np.prod([x.shape[i] for i in axes_of("average", axis, x.ndim)])
        total = ops.ones_like(made) * float(size)
    else:
        weights = floats(tensor(weights))
        if tuple(weights.shape) != tuple(x.shape) and isinstance(axis, int):
            along = normal_axis("average", axis, x.ndim)
            weights = ops.reshape(weights, tuple([-1 if i == along else 1 for i in range(x.ndim)]))
        weights = ops.broadcast_to(weights, tuple(x.shape))
        total = sum(weights, axis)
        made = sum(x * weights, axis) / total
    return (made, total) if returned else made


def _squares(x):
    """The squared sizes, also of complex numbers."""
    return ops.square(ops.abs(x)) if x.dtype.kind == "c" else ops.square(x)


def var(x, axis=None, ddof=0, keepdims=False):
    """The mean of the squared distances from the mean; ddof: how much less than the count they are divided by."""
    x = floats(tensor(x))
    axes = axes_of("var", axis, x.ndim)
    if not axes:
        return ops.zeros_like(_squares(x))
    count = float(np.prod([x.shape[i] for i in axes]))
    return ops.sum(_squares(x - ops.mean(x, axes, True)), axes, _kept(keepdims)) / (count - ddof)


def std(x, axis=None, ddof=0, keepdims=False):
    """The square root of the variance."""
    return ops.sqrt(var(x, axis, ddof, keepdims))


def _extreme(name, reduce, combine, start):
    def run(a, axis=None, keepdims=False, initial=None, where=True):
        a = tensor(a)
        if where is not True:
            least = start if initial is None else initial
            a = ops.where(ops.cast(tensor(where), dt.bool_), a, ops.cast(tensor(least), a.dtype))
        made = a
        for axis in reversed(axes_of(name, axis, a.ndim)):
            made = reduce(made, axis=axis, keepdims=_kept(keepdims))
        return made if initial is None else combine(made, ops.cast(tensor(initial), a.dtype))
    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"""The {'largest' if 'max' in name else 'smallest'} element.

    initial: one that is there besides;   where: the elements that count
    """
    return run


amax = max = _extreme("amax", ops.amax, ops.maximum, float("-inf"))
amin = min = _extreme("amin", ops.amin, ops.minimum, float("inf"))


def ptp(x, axis=None, keepdims=False):
    """The largest minus the smallest element."""
    return amax(x, axis, keepdims) - amin(x, axis, keepdims)


def _without_nan(a, value):
    """(the array with `value` in place of each NaN, 1 where there was none and 0 where there was one); integers have none"""
    a = tensor(a)
    if a.dtype.kind in "bui":
        return a, ops.ones(tuple(a.shape), dt.float32)
    return ops.where(ops.isnan(a), ops.full_like(a, value), a), ops.cast(ops.logical_not(ops.isnan(a)), part_dtype(a.dtype))


def nansum(a, axis=None, dtype=None, keepdims=False):
    """The sum of what is no NaN."""
    return sum(_without_nan(a, 0)[0], axis, dtype, keepdims)


def nanmean(a, axis=None, dtype=None, keepdims=False):
    """The mean of what is no NaN."""
    values, counts = _without_nan(floats(cast(tensor(a), dtype)), 0)
    return sum(values, axis, None, keepdims) / sum(counts, axis, None, keepdims)


def nanvar(a, axis=None, dtype=None, ddof=0, keepdims=False):
    """The variance of what is no NaN."""
    values, counts = _without_nan(floats(cast(tensor(a), dtype)), 0)
    far = (values - sum(values, axis, None, True) / sum(counts, axis, None, True)) * counts
    return sum(_squares(far), axis, None, keepdims) / (sum(counts, axis, None, keepdims) - ddof)


def nanstd(a, axis=None, dtype=None, ddof=0, keepdims=False):
    """The square root of that."""
    return ops.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


def nanmax(a, axis=None, dtype=None, keepdims=False):
    """The largest element that is no NaN."""
    return amax(_without_nan(cast(tensor(a), dtype), float("-inf"))[0], axis, keepdims)


def nanmin(a, axis=None, dtype=None, keepdims=False):
    """The smallest element that is no NaN."""
    return amin(_without_nan(cast(tensor(a), dtype), float("inf"))[0], axis, keepdims)


def _flat(a, axis):
    return (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def cumsum(a, axis=None, dtype=None):
    """The sums up to each element."""
    a, axis = _flat(tensor(a), axis)
    a = ops.cast(a, dt.int32) if a.dtype is dt.bool_ and dtype is None else cast(a, dtype)
    return ops.cumsum(a, axis)


def cumprod(a, axis=None, dtype=None):
    """The products up to each element."""
    a, axis = _flat(tensor(a), axis)
    return ops.cumprod(cast(a, dtype), axis)


def nancumsum(a, axis=None, dtype=None):
    """cumsum, in which NaNs count as zeros."""
    return cumsum(_without_nan(a, 0)[0], axis, dtype)


def argmax(a, axis=None):
    """The index of the largest element, of the first of several."""
    a, axis = _flat(tensor(a), axis)
    return ops.argmax(a, axis)


def argmin(a, axis=None):
    """The index of the smallest element, of the first of several."""
    a, axis = _flat(tensor(a), axis)
    return ops.argmin(a, axis)


def count_nonzero(x, axis=None, keepdims=False):
    """How many elements are not zero."""
    return sum(ops.cast(ops.not_equal(tensor(x), 0), dt.int32), axis, dt.int32, keepdims)


def all(a, axis=None, keepdims=False):
    """Are all elements true?"""
    a = ops.cast(tensor(a), dt.bool_)
    axes = axes_of("all", axis, a.ndim)
    return ops.reduce_all(a, axis=axes, keepdims=_kept(keepdims)) if axes else a


def any(a, axis=None, keepdims=False):
    """Is an element true?"""
    a = ops.cast(tensor(a), dt.bool_)
    axes = axes_of("any", axis, a.ndim)
    return ops.reduce_any(a, axis=axes, keepdims=_kept(keepdims)) if axes else a


sometrue = any


def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of vectors and matrices, as numpy.linalg.norm has it."""
    return ops.norm(floats(tensor(x)), ord, axis, keepdims)


def trapz(y, x=None, dx=1.0, axis=-1):
    """The integral of y by trapezoids."""
    y = floats(tensor(y))
    steps = dx if x is None else diff(floats(tensor(x)), axis=axis if tensor(x).ndim == y.ndim else -1)
    heights = ops.swapaxes(y, axis, -1)
    if x is not None and steps.ndim == y.ndim:
        steps = ops.swapaxes(steps, axis, -1)
    return ops.sum((heights[..., 1:] + heights[..., :-1]) / 2 * steps, -1)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours, n times."""
    a = with_axes("diff", a)
    axis = normal_axis("diff", axis, a.ndim)
    ends: list = []
    for end in (prepend, append):
        if end is None:
            ends.append([])
            continue
        end = ops.cast(tensor(end), a.dtype)
        shape = tuple([1 if i == axis else s for i, s in enumerate(a.shape)])
        ends.append([ops.broadcast_to(end, shape) if end.ndim == 0 else end])
    parts = [*ends[0], a, *ends[1]]
    a = ops.concat(parts, axis) if len(parts) > 1 else a
    for _ in range(n):
        size = a.shape[axis]
        after, before = [tuple([slice(b, t) if i == axis else slice(None) for i in range(a.ndim)])
                         for b, t in ((1, size), (0, size - 1))]
        a = ops.not_equal(a[after], a[before]) if a.dtype is dt.bool_ else a[after] - a[before]
    return a


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flat array, with what is to stand before and behind."""
    made = diff(ops.reshape(tensor(ary), (-1,)))
    ends = [[] if end is None else [ops.cast(ops.reshape(tensor(end), (-1,)), made.dtype)] for end in (to_begin, to_end)]
    parts = [*ends[0], made, *ends[1]]
    return ops.concat(parts) if len(parts) > 1 else made


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """The covariance of variables, which stand in rows (rowvar) or columns."""
    def rows(x):
        x = floats(cast(tensor(x), dtype))
        x = ops.reshape(x, (1, -1)) if x.ndim < 2 else x
        return x if rowvar or has_size_one("cov", x, 0) else x.T
    m = rows(m) if y is None else ops.concat([rows(m), rows(y)], 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights: Any = None
    total: Any
    for given in (fweights, aweights):
        if given is not None:
            given = floats(tensor(given))
            weights = given if weights is None else weights * given
    if weights is None:
        total, far = float(m.shape[1]), m - ops.mean(m, 1, True)
        made, fact = far @ ops.conj(far.T), total - ddof
    else:
        total = ops.sum(weights)
        far = m - ops.sum(m * weights, 1, True) / total
        spent = ddof if aweights is None else ddof * ops.sum(weights * floats(tensor(aweights))) / total
        made, fact = (far * weights) @ ops.conj(far.T), total - spent
    made = made / fact
    return ops.reshape(made, ()) if has_size_one("cov", made, 0) else made


def _bounded(x):
    """-1 to 1; NaN stays."""
    return FUNCTIONS["minimum"](FUNCTIONS["maximum"](x, -1.0), 1.0)


def corrcoef(x, y=None, rowvar=True, dtype=None):
    """Covariances divided by the standard deviations, at most 1 in size."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviations = ops.sqrt(ops.real(ops.diagonal(c)))
    c = c / deviations[:, None] / deviations[None, :]
    return ops.complex(_bounded(ops.real(c)), _bounded(ops.imag(c))) if c.dtype.kind == "c" else _bounded(c)


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of `bins` bins of one width between the smallest and the largest element, or over `range`."""
    a = floats(tensor(a))
    if not isinstance(bins, int):
        return tensor(bins)
    low, high = (amin(a), amax(a)) if range is None else (tensor(float(range[0])), tensor(float(range[1])))
    wide = ops.where(ops.equal(low, high), ops.ones_like(low), ops.zeros_like(low)) / 2
    low, high = low - wide, high + wide
    return low + (high - low) * Tensor(np.linspace(0, 1, bins + 1).astype(np.float32))


def histogram(a, bins=10, range=None, weights=None, density=False):
    """(how many elements, or how much weight, each bin has; the edges of the bins)"""
    a = ops.reshape(floats(tensor(a)), (-1,))
    given = histogram_bin_edges(a, bins, range)
    edges = floats(given)
    inside = ops.logical_and(a[:, None] >= edges[None, :-1], a[:, None] < edges[None, 1:])
    ends = Tensor(np.arange(edges.shape[0] - 1) == edges.shape[0] - 2)      # the last bin has its upper edge
    inside = ops.cast(ops.logical_or(inside, ops.logical_and(ops.equal(a, edges[-1])[:, None], ends[None, :])), a.dtype)
    counts = ops.sum(inside if weights is None else inside * ops.reshape(floats(tensor(weights)), (-1, 1)), 0)
    if density:
        counts = counts / ops.sum(counts) / (edges[1:] - edges[:-1])
    return counts, given


def histogramdd(sample, bins=10, range=None, weights=None, density=False):
    """How many points, or how much weight, each cell of a grid has.

    sample : [N, D] a Tensor or array of points, or a list or tuple of D vectors of N coordinates
    bins   : int, or one int or vector of edges for each axis
    range  : None, or for each axis (lowest, highest) or None: its least and largest coordinate
    out    : (float[bins, ..], a list of the D vectors of edges)
    raises : ArgumentError where bins or range do not fit the number of axes
    """
    if isinstance(sample, (list, tuple)):
        columns = [ops.reshape(floats(tensor(part)), (-1,)) for part in sample]
    else:
        sample = floats(tensor(sample))
        columns = [sample[:, i] for i in builtins.range(sample.shape[1])] if sample.ndim > 1 else [sample]
    several = isinstance(bins, (list, tuple))
    bins = list(bins) if several else [bins] * len(columns)
    ranges = [None] * len(columns) if range is None else list(range)
    if len(bins) != len(columns) or len(ranges) != len(columns):
        raise ArgumentError("histogramdd: bins and range have one entry for each axis",
                            note=f"axes: {len(columns)}, bins: {len(bins)}, range: {len(ranges)}")
    edges = [histogram_bin_edges(column, part, limits) for column, part, limits in zip(columns, bins, ranges)]
    shape = [e.shape[0] - 1 for e in edges]
    inside: Any = None
    cells: Any = 0
    for column, edge, count in zip(columns, edges, shape):
        place = ops.searchsorted(edge, column, right=True) - 1
        place = ops.where(ops.equal(column, edge[-1]), count - 1, place)                 # the last cell has its upper edge
        fits = ops.logical_and(place >= 0, place < count)
        inside = fits if inside is None else ops.logical_and(inside, fits)
        cells = cells * count + ops.clamp(place, 0, count - 1)
    weight = ops.ones_like(columns[0]) if weights is None else ops.reshape(floats(tensor(weights)), (-1,))
    weight = ops.where(inside, weight, ops.zeros_like(weight))
    total = ops.zeros((int(np.prod(shape)),), weight.dtype)
    counts = ops.reshape(ops.tensor_scatter_add(total, cells[:, None], weight), tuple(shape))
    if density:
        counts = counts / ops.sum(counts)
        for axis, edge in enumerate(edges):
            counts = counts / ops.reshape(edge[1:] - edge[:-1], tuple(-1 if i == axis else 1 for i in builtins.range(len(edges))))
    return counts, edges


def histogram2d(x, y, bins=10, range=None, weights=None, density=False):
    """(how many points (x[i], y[i]) each cell has, the edges along x, the edges along y). bins : as of histogramdd, or one vector
    of edges for both axes; raises : ArgumentError"""
    if not isinstance(bins, (int, list, tuple)) or isinstance(bins, (list, tuple)) and len(bins) not in (1, 2):
        bins = [bins, bins]
    elif isinstance(bins, (list, tuple)) and len(bins) == 1:
        bins = bins[0]
    counts, (first, second) = histogramdd((x, y), bins, range, weights, density)
    return counts, first, second


def bincount(x, weights=None, minlength=0, length=None):
    """How often each int from 0 to the largest stands in `x`, or the sum of its weights; float32."""
    x = ops.reshape(tensor(x), (-1,))
    count = length if length is not None else builtins.max(int(amax(x)) + 1 if x.shape[0] else 0, minlength)
    place = ops.cast(x, dt.int64)
    counts = ops.logical_and(ops.logical_and(place >= 0, place < count), ops.equal(ops.cast(place, x.dtype), x))
    each = ops.ones(x.shape, dt.int64 if weights is None else dt.float32)
    each = each if weights is None else each * ops.reshape(floats(tensor(weights)), (-1,))
    found = ops.index_add(ops.zeros((count + 1,), each.dtype), ops.where(counts, place, count), each)[:count]
    return ops.cast(found, dt.float32) if weights is None else found
