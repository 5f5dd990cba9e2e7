"""Products, sets, searches and polynomials: NumPy's functions, on the operators."""
import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.checks import check_value_type
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..ops.axes import normal_axis
from .arrays import arange, cast, tensor, with_axes
from .elementwise import FUNCTIONS, floats
from .reductions import diff
from .shaping import ravel


# ---------------------------------------------------------------- products

def matmul(x1, x2, dtype=None):
    """Matrix product; vectors count as a row and a column."""
    return cast(ops.matmul(tensor(x1), tensor(x2)), dtype)


def dot(a, b):
    """The sum of products over the last axis of a and the last but one of b (its only one)."""
    a, b = tensor(a), tensor(b)
    if not a.ndim or not b.ndim:
        return a * b
    return tensordot(a, b, ((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def inner(a, b):
    """The sum of products over the last axes."""
    a, b = tensor(a), tensor(b)
    return a * b if not a.ndim or not b.ndim else tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(a, b):
    """Each element of a times each of b."""
    return ravel(a)[:, None] * ravel(b)[None, :]


def tensordot(a, b, axes=2):
    """The sum of products over axes: the last `axes` of a and first of b, or (those of a, those of b)."""
    a, b = (with_axes("tensordot", x, axes if isinstance(axes, int) else 0) for x in (a, b))
    if isinstance(axes, int):
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = [tuple([normal_axis("tensordot", i, x.ndim) for i in ((ax,) if isinstance(ax, int) else ax)])
                       for x, ax in zip((a, b), axes)]
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ShapeError("tensordot: the sizes of the summed axes differ",
                         note=f"{[a.shape[i] for i in left]}, {[b.shape[i] for i in right]}")
    free = [[i for i in range(x.ndim) if i not in ax] for x, ax in ((a, left), (b, right))]
    count = int(np.prod([a.shape[i] for i in left]))
    shape = tuple([a.shape[i] for i in free[0]] + [b.shape[i] for i in free[1]])
    rows = ops.reshape(ops.transpose(a, (*free[0], *left)), (-1, count))
    columns = ops.reshape(ops.transpose(b, (*right, *free[1])), (count, -1))
    return ops.reshape(ops.matmul(rows, columns), shape)


def kron(a, b):
    """Each element of a times b, put in its place."""
    return ops.kron(tensor(a), tensor(b))


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of two or three elements."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = tensor(a), tensor(b)
    if not a.ndim or not b.ndim:
        raise ShapeError("cross: a number is no vector", note=f"{list(a.shape)}, {list(b.shape)}")
    a, b = ops.moveaxis(a, axisa, -1), ops.moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ShapeError("cross: the vectors have two or three elements", note=f"{a.shape[-1]}, {b.shape[-1]}")
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

    def parts(x):
        return [x[..., i] if i < x.shape[-1] else x[..., 0] * 0 for i in range(3)]
    (x, y, z), (u, v, w) = parts(a), parts(b)
    return ops.moveaxis(ops.stack([y * w - z * v, z * u - x * w, x * v - y * u], -1), -1, axisc)


def multi_dot(arrays):
    """The product of several matrices."""
    made = tensor(arrays[0])
    for a in arrays[1:]:
        made = dot(made, a)
    return made


def convolve(a, v, mode="full"):
    """The sums of products of a vector with another one that runs over it reversed."""
    a, v = ravel(a), ravel(v)
    a, v = (a, v) if a.shape[0] >= v.shape[0] else (v, a)
    return _slide(a, v[::-1] if v.shape[0] > 1 else v, mode)


def correlate(a, v, mode="valid"):
    """The same without reversing, of the conjugate of v."""
    a, v = ravel(a), ops.conj(ravel(v))
    if v.shape[0] > a.shape[0]:
        made = _slide(v, a, mode)
        return made[::-1] if made.shape[0] > 1 else made
    return _slide(a, v, mode)


def _slide(a, v, mode):
    n, m = a.shape[0], v.shape[0]
    if not n or not m:
        raise ShapeError("convolve, correlate: arrays with elements are wanted")
    if mode not in ("full", "same", "valid"):
        raise ValueRangeError(f"there is no mode {mode!r}", hint="full, same or valid")
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    kind = promote(a, v)
    a, v = ops.cast(a, kind), ops.cast(v, kind)
    margin = [ops.zeros((max(k, 0),), kind) for k in (before, count + m - 1 - n - before)]
    a = ops.concat([margin[0], a, margin[1]])
    windows = Tensor(np.arange(count)[:, None] + np.arange(m)[None, :])
    return ops.sum(ops.gather(a, windows, 0) * v[None, :], 1)


def promote(a, b):
    """The element type of a sum."""
    return ops.add(ops.zeros((), a.dtype), ops.zeros((), b.dtype)).dtype


# ---------------------------------------------------------------- sets and searches

def _check_flags(function, **flags):
    for name, value in flags.items():
        check_value_type(name, value, bool, function)


def unique(x, return_inverse=False):
    """The elements once each, sorted; with return_inverse also where each element stands among them."""
    _check_flags("unique", return_inverse=return_inverse)
    x = tensor(x)
    found = np.unique(x.asnumpy(), return_inverse=return_inverse)
    return tuple([Tensor(a if not i else a.reshape(-1).astype(np.int32)) for i, a in enumerate(found)]) \
        if return_inverse else Tensor(found)


def isin(element, test_elements, invert=False):
    """Which elements are among the others. raises : ArgumentError for a flag that is no bool, as all set functions"""
    _check_flags("isin", invert=invert)
    element = tensor(element)
    found = ops.any(ops.equal(ops.expand_dims(element, -1), ravel(test_elements)), element.ndim)
    return ops.logical_not(found) if invert else found


def in1d(ar1, ar2, invert=False):
    """The same of the flat array."""
    return isin(ravel(ar1), ar2, invert)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """What stands in both, sorted; with return_indices also where it stands first in each."""
    _check_flags("intersect1d", assume_unique=assume_unique, return_indices=return_indices)
    made = np.intersect1d(tensor(ar1).asnumpy(), tensor(ar2).asnumpy(), assume_unique, return_indices)
    return tuple([Tensor(np.asarray(a)) for a in made]) if return_indices else Tensor(made)


def setdiff1d(ar1, ar2, assume_unique=False):
    """What stands in the first and not in the second, sorted."""
    _check_flags("setdiff1d", assume_unique=assume_unique)
    return Tensor(np.setdiff1d(tensor(ar1).asnumpy(), tensor(ar2).asnumpy(), assume_unique))


def searchsorted(a, v, side="left", sorter=None):
    """Where each value of v would be put into the sorted vector a; int32."""
    a, v = tensor(a), tensor(v)
    if side not in ("left", "right"):
        raise ValueRangeError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    a = a if sorter is None else ops.gather(a, tensor(sorter), 0)
    before = a < ops.expand_dims(v, -1) if side == "left" else a <= ops.expand_dims(v, -1)
    return ops.sum(ops.cast(before, dt.int32), -1, dtype=dt.int32)


def digitize(x, bins, right=False):
    """The number of the bin of each element; bins rise or fall."""
    x, bins = tensor(x), with_axes("digitize", bins)
    if not bins.shape[0]:
        return ops.zeros(tuple(x.shape), dt.int32)
    rising = searchsorted(bins, x, "left" if right else "right")
    falling = bins.shape[0] - searchsorted(bins[::-1] if bins.shape[0] > 1 else bins, x, "right" if right else "left")
    return ops.where(bins[0] <= bins[-1], rising, ops.cast(falling, dt.int32))


def interp(x, xp, fp, left=None, right=None):
    """The broken line through (xp, fp) at x; outside the end values, or left and right."""
    x, xp, fp = [floats(tensor(a)) for a in (x, xp, fp)]
    n = with_axes("interp", xp).shape[0]
    if not n:
        raise ShapeError("interp: xp has no points")
    high = ops.clip(searchsorted(xp, x, "right"), 1, max(n - 1, 1))
    low = high - 1
    high = ops.clip(high, 0, n - 1)
    x0, x1, y0, y1 = [ops.gather(a, i, 0) for a in (xp, fp) for i in (low, high)]
    wide = ops.where(ops.equal(x1, x0), ops.ones_like(x0), x1 - x0)
    made = y0 + (y1 - y0) * (x - x0) / wide
    made = ops.where(x < xp[0], fp[0] if left is None else floats(tensor(left)), made)
    return ops.where(x > xp[-1], fp[-1] if right is None else floats(tensor(right)), made)


def ravel_multi_index(multi_index, dims, mode="clip", order="C"):
    """The place in the flat array of indices, one array for each axis."""
    parts, dims = [tensor(i) for i in multi_index], tuple(dims)
    if mode not in ("clip", "wrap") or order not in ("C", "F"):
        raise ValueRangeError(f"ravel_multi_index: there is no mode {mode!r}, or no order {order!r}")
    parts = [i % n if mode == "wrap" else ops.clip(i, 0, n - 1) for i, n in zip(parts, dims)]
    pairs = list(zip(parts, dims))
    pairs = pairs if order == "C" else pairs[::-1]
    made = pairs[0][0]
    for part, n in pairs[1:]:
        made = made * n + part
    return made


def unravel_index(indices, shape, order="C"):
    """The indices, one array for each axis, of places in the flat array."""
    rest, made = tensor(indices), []
    for n in list(shape)[::-1] if order == "C" else shape:
        made.append(rest % n)
        rest = rest // n
    return tuple(made[::-1] if order == "C" else made)


# ---------------------------------------------------------------- differences, polynomials

def gradient(f, *varargs, axis=None, edge_order=1):
    """Central differences along the axes, one-sided at the ends; a list where there are several axes.

    varargs : the distance between two points, for all axes or for each
    """
    f = floats(tensor(f))
    axes = tuple(range(f.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    if edge_order != 1:
        raise ValueRangeError("gradient: edge_order is 1")
    made = []
    for i, step in zip(axes, steps):
        rows = ops.moveaxis(f, i, 0)
        if rows.shape[0] < 2:
            raise ShapeError("gradient: an axis has at least two points")
        middle = (rows[2:] - rows[:-2]) / 2
        made.append(ops.moveaxis(ops.concat([rows[1:2] - rows[:1], middle, rows[-1:] - rows[-2:-1]]), 0, i) / step)
    return made[0] if len(made) == 1 else made


def unwrap(p, discont=np.pi, axis=-1):
    """Angles without jumps: multiples of 2 pi are added where neighbours differ by more than `discont`."""
    p = floats(tensor(p))
    step = diff(p, axis=axis)
    wrapped = FUNCTIONS["mod"](step + np.pi, 2 * np.pi) - np.pi
    wrapped = ops.where(ops.logical_and(ops.equal(wrapped, -np.pi), step > 0), ops.full_like(wrapped, np.pi), wrapped)
    change = ops.where(ops.abs(step) < discont, ops.zeros_like(step), wrapped - step)
    first = ops.zeros_like(ops.moveaxis(p, axis, 0)[:1])
    return p + ops.concat([ops.moveaxis(first, 0, axis), ops.cumsum(change, normal_axis("unwrap", axis, p.ndim))], axis)


def _aligned(a1, a2):
    a, b = ravel(a1), ravel(a2)
    n = max(a.shape[0], b.shape[0])
    return [ops.concat([ops.zeros((n - x.shape[0],), x.dtype), x]) if x.shape[0] < n else x for x in (a, b)]


def polyadd(a1, a2):
    """The sum of two polynomials, given by their coefficients, the highest power first."""
    a, b = _aligned(a1, a2)
    return a + b


def polysub(a1, a2):
    """The difference of two polynomials."""
    a, b = _aligned(a1, a2)
    return a - b


def polymul(a1, a2):
    """The product of two polynomials."""
    return convolve(a1, a2)


def polyval(p, x):
    """The polynomial at x."""
    p, x = ravel(p), tensor(x)
    made = ops.zeros_like(x)
    for i in range(p.shape[0]):
        made = made * x + p[i]
    return made


def polyder(p, m=1):
    """The m-th derivative of a polynomial."""
    p = ravel(p)
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * ops.cast(arange(n, 0, -1), p.dtype) if n > 0 else p[:0]
    return p


def polyint(p, m=1, k=None):
    """The m-th integral of a polynomial; k: the constants, zeros by default."""
    p = floats(ravel(p))
    constants = [0.0] * m if k is None else [k] * m if isinstance(k, (int, float)) else list(k)
    for constant in constants[:m]:
        n = p.shape[0]
        p = ops.concat([p / ops.cast(arange(n, 0, -1), p.dtype), ops.reshape(ops.cast(tensor(constant), p.dtype), (1,))])
    return p


def matrix_power(a, n):
    """The square matrix, or each of a stack, to the power n >= 0. raises : ArgumentError for no int, ValueRangeError below 0"""
    if isinstance(n, bool) or not isinstance(n, int):
        raise ArgumentError(f"matrix_power: n is an int, not {type(n).__name__}")
    if n < 0:
        raise ValueRangeError(f"matrix_power: n is at least 0, not {n}")
    return ops.matrix_power(tensor(a), n)
