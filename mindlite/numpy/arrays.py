"""Making arrays: what NumPy's functions of the same names make, as Tensors.

Python's ints become int32 and its floats float32, as in MindSpore; NumPy arrays and Tensors keep their element type,
but float64 made of lists of floats becomes float32.
"""
import math

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.dim import Dim
from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from ..ops.axes import new_shape

pi, e, euler_gamma, inf, nan, newaxis = math.pi, math.e, float(np.euler_gamma), math.inf, math.nan, None
NARROW = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}


def is_array(value):
    """True for a Tensor, or a node that stands for one."""
    return hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, (np.ndarray, np.generic))


def tensor(value):
    """A Tensor of an array, number or list; Tensors are taken as they are."""
    if is_array(value):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return Tensor(np.asarray(value))
    if isinstance(value, (list, tuple)) and any(map(holds_array, value)):
        return ops.stack([tensor(v) for v in value])
    made = np.asarray(value)
    return Tensor(made.astype(NARROW.get(made.dtype, made.dtype)))


def with_axes(name, x, least=1):
    """`x` as a Tensor of that many axes or more."""
    x = tensor(x)
    if x.ndim < least:
        raise ShapeError(f"{name}: an array of {least} or more axes is wanted", note=f"x: {list(x.shape)}")
    return x


def holds_array(value):
    """True for an array, and a list with one in it."""
    return is_array(value) or isinstance(value, (list, tuple)) and any(map(holds_array, value))


def element_type(dtype):
    """The DType of what MindSpore and NumPy call one: int, "float32", float16."""
    return {int: dt.int32, float: dt.float32, bool: dt.bool_}.get(dtype) or dt.dtype(dtype)


def cast(x, dtype):
    """`x` in another element type; None leaves it."""
    return x if dtype is None or x.dtype is element_type(dtype) else ops.cast(x, element_type(dtype))


def array(obj, dtype=None, copy=True, ndmin=0):
    """A Tensor of a number, list, array or Tensor.

    ndmin : axes of one element are put in front until there are so many
    """
    made = cast(tensor(obj), dtype)
    if made.ndim < ndmin:
        made = ops.reshape(made, (1,) * (ndmin - made.ndim) + tuple(made.shape))
    return made + 0 if copy and made is obj and made.dtype is not dt.bool_ else made


def asarray(a, dtype=None):
    """The same without a copy of a Tensor."""
    return array(a, dtype, copy=False)


def asfarray(a, dtype=dt.float32):
    """The same in a float type."""
    return array(a, dt.float32 if dtype is None or element_type(dtype).kind in "iub" else dtype, copy=False)


def copy(a):
    """A copy of the array."""
    return tensor(a).copy()


def shape_of(shape):
    """A shape as a tuple."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


def full(shape, fill_value, dtype=None):
    """An array of one value, or of an array that is repeated over the shape."""
    value = tensor(fill_value)
    made = ops.broadcast_to(cast(value, dtype), new_shape("full", shape_of(shape)))
    return made if element_type(dtype or value.dtype) is dt.bool_ else made + cast(tensor(0), dtype or value.dtype)


def zeros(shape, dtype=dt.float32):
    """Zeros."""
    return ops.zeros(shape_of(shape), dtype=element_type(dt.float32 if dtype is None else dtype))


def ones(shape, dtype=dt.float32):
    """Ones."""
    return ops.ones(shape_of(shape), dtype=element_type(dt.float32 if dtype is None else dtype))


def empty(shape, dtype=dt.float32):
    """An array of any values: here zeros."""
    return zeros(shape, dtype)


def full_like(a, fill_value, dtype=None, shape=None):
    """An array of one value, of the type and shape of another."""
    a = tensor(a)
    return full(tuple(a.shape) if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)


def zeros_like(a, dtype=None, shape=None):
    """Zeros of the type and shape of another array."""
    a = tensor(a)
    return zeros(tuple(a.shape) if shape is None else shape, a.dtype if dtype is None else dtype)


def ones_like(a, dtype=None, shape=None):
    """Ones of the type and shape of another array."""
    a = tensor(a)
    return ones(tuple(a.shape) if shape is None else shape, a.dtype if dtype is None else dtype)


empty_like = zeros_like


def arange(start, stop=None, step=None, dtype=None):
    """start, start + step, .. below stop; from 0 where only one number is given."""
    first, last = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    numbers = [v.item() if isinstance(v, Tensor) else v for v in (first, last, step)]
    if any(isinstance(v, (AnfNode, Dim)) for v in numbers):
        made = ops.arange(*numbers)
        return cast(made, dt.int32 if dtype is None and made.dtype is dt.int64 else dtype)
    kind = dt.float32 if any(isinstance(v, float) for v in numbers) else dt.int32
    return Tensor(np.arange(*numbers), dtype=element_type(kind if dtype is None else dtype))


def spaced(make):
    """A function of start, stop and a number of points, made with NumPy: they are numbers, known when it is called."""
    def run(start, stop, num=50, endpoint=True, dtype=None, axis=0, **kwargs):
        made = make(_known(start), _known(stop), num, endpoint, axis=axis, **kwargs)
        return Tensor(made, dtype=element_type(dt.float32 if dtype is None else dtype))
    return run


def _known(value):
    return value.asnumpy() if isinstance(value, Tensor) else value


geomspace = spaced(np.geomspace)
_linspace, _logspace = spaced(np.linspace), spaced(np.logspace)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """`num` powers of `base`, a float, whose exponents lie evenly from start to stop, as numpy.logspace has them."""
    return _logspace(start, stop, num, endpoint, dtype, axis, base=base)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """`num` numbers from start to stop.

    retstep : give (the numbers, the distance between two) instead
    """
    made = _linspace(start, stop, num, endpoint, dtype=dtype, axis=axis)
    if not retstep:
        return made
    return made, tensor((_known(stop) - _known(start)) / (num - 1 if endpoint else num))


def eye(N, M=None, k=0, dtype=dt.float32):
    """Ones on the k-th diagonal of N x M zeros."""
    return Tensor(np.eye(N, M, k), dtype=element_type(dtype))


def identity(n, dtype=dt.float32):
    """Ones on the diagonal of n x n zeros."""
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=dt.float32):
    """Ones at and below the k-th diagonal."""
    return Tensor(np.tri(N, M, k), dtype=element_type(dtype))


def tril(m, k=0):
    """The array with zeros above the k-th diagonal."""
    return ops.tril(tensor(m), k)


def triu(m, k=0):
    """The array with zeros below the k-th diagonal."""
    return ops.triu(tensor(m), k)


def _indices(made):
    return tuple([Tensor(part.astype(np.int32)) for part in made])


def tril_indices(n, k=0, m=None):
    """The indices of what stands at and below the k-th diagonal of n x m."""
    return _indices(np.tril_indices(n, k, m))


def triu_indices(n, k=0, m=None):
    """The indices of what stands at and above the k-th diagonal of n x m."""
    return _indices(np.triu_indices(n, k, m))


def tril_indices_from(arr, k=0):
    """tril_indices for an array of two axes."""
    return tril_indices(arr.shape[0], k, arr.shape[1])


def triu_indices_from(arr, k=0):
    """triu_indices for an array of two axes."""
    return triu_indices(arr.shape[0], k, arr.shape[1])


def diag_indices(n, ndim=2):
    """The indices of the diagonal of an array with `ndim` axes of size n."""
    return _indices(np.diag_indices(n, ndim))


def indices(dimensions, dtype=dt.int32, sparse=False):
    """The indices of an array of that shape, a list of arrays, one for each axis."""
    made = np.indices(tuple(dimensions), sparse=sparse)
    return [Tensor(np.asarray(part), dtype=element_type(dtype)) for part in made]


def meshgrid(*xi, sparse=False, indexing="xy"):
    """Coordinate arrays of coordinate vectors, a list.

    raises : ValueRangeError for an indexing that is neither "xy" nor "ij"
    """
    if indexing not in ("xy", "ij"):
        raise ValueRangeError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    vectors = [ops.reshape(tensor(x), (-1,)) for x in xi]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = 1, 0
    laid = [ops.reshape(v, tuple([-1 if axis == place else 1 for axis in range(len(vectors))]))
            for v, place in zip(vectors, places)]
    if sparse:
        return laid
    sizes = [0] * len(vectors)
    for vector, place in zip(vectors, places):
        sizes[place] = vector.shape[0]
    return [ops.broadcast_to(x, tuple(sizes)) for x in laid]


class _Grid:
    """mgrid and ogrid: grid[0:3, 0:1:5j]"""

    def __init__(self, grid):
        self.grid = grid

    def __getitem__(self, key):
        made = self.grid[key]
        if isinstance(made, (list, tuple)):
            return [tensor(part.tolist()) if part.size else Tensor(part) for part in made]
        return tensor(made.tolist())


mgrid, ogrid = _Grid(np.mgrid), _Grid(np.ogrid)


def ix_(*args):
    """Vectors as arrays that index a block: each along an axis of its own."""
    vectors = [tensor(a) for a in args]
    if any(v.ndim != 1 for v in vectors):
        raise ArgumentError("ix_: takes vectors")
    return tuple([ops.reshape(v, tuple([-1 if axis == place else 1 for axis in range(len(vectors))]))
                  for place, v in enumerate(vectors)])


def diag(v, k=0):
    """The k-th diagonal of a matrix, or the matrix with a vector there."""
    v = tensor(v)
    return v.diagonal(k) if v.ndim == 2 else diagflat(v, k)


def diagflat(v, k=0):
    """The matrix with the elements of `v` on its k-th diagonal."""
    v = ops.reshape(tensor(v), (-1,))
    n = v.shape[0] + abs(k)
    rows = np.arange(v.shape[0]) + max(-k, 0)
    return zeros((n, n), v.dtype).index_put((Tensor(rows), Tensor(rows + k)), v) if v.shape[0] else zeros((n, n), v.dtype)


def vander(x, N=None, increasing=False):
    """The powers of a vector, side by side."""
    x = with_axes("vander", x)
    x = ops.cast(x, dt.int32) if x.dtype.kind in "bui" and x.dtype.bits < 32 else x
    powers = np.arange(x.shape[0] if N is None else N)
    return x[:, None] ** Tensor((powers if increasing else powers[::-1]).astype(x.dtype.numpy))


def _window(make):
    def run(M):
        return Tensor(make(M).astype(np.float32))
    return run


bartlett, blackman, hamming, hanning = map(_window, (np.bartlett, np.blackman, np.hamming, np.hanning))


def rand(*shape, dtype=dt.float32):
    """Random numbers in [0, 1)."""
    return ops.rand(*shape, dtype=element_type(dtype))


def randn(*shape, dtype=dt.float32):
    """Random numbers of the standard normal distribution."""
    return ops.randn(*shape, dtype=element_type(dtype))


def randint(minval, maxval=None, shape=None, dtype=dt.int32):
    """Random ints in [minval, maxval); in [0, minval) where only one number is given."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    return ops.randint(low, high, () if shape is None else shape_of(shape), dtype=element_type(dtype))
