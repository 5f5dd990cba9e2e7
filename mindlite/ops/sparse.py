"""Sparse tensors: named tuples of the Tensors that hold them, so that graphs and transformations take them as tuples.

    COOTensor(indices, values, shape)             values[k] stands at indices[k]; equal indices add up
    CSRTensor(indptr, indices, values, shape)     row i holds values[indptr[i]:indptr[i + 1]], in the columns `indices`
    RowTensor(indices, values, dense_shape)       the rows `indices` of a tensor, all others 0

What is done to the elements is done to `values`; products and conversions are gathers and scatters.

Source: Barrett et al. 1994, Templates for the Solution of Linear Systems, section 4.3.1.
"""
from collections import namedtuple
from typing import Any

from ..common import dtype as dt
from ..common.errors import ArgumentError, DTypeError, ShapeError
from . import arithmetic
from .arithmetic import floor_divide, remainder
from .axes import broadcast_shapes
from .basic import broadcast_to, cast, reshape
from .creation import ones, zeros
from .define import as_operand, cast_to, dtype_of
from .indexing import gather_nd
from .lookup import gather, scatter_nd
from .scan import cumsum
from .scatter import tensor_scatter_add
from .sort import argsort, unique
from .structure import concat, expand_dims, stack
from collections.abc import Callable


class _Values:
    """What sparse tensors have in common: their elements are `values`."""
    __slots__ = ()
    values: Any
    _replace: Callable[..., Any]
    __iter__: Callable[..., Any]

    @property
    def dtype(self):
        """The element type."""
        return dtype_of(self.values)

    @property
    def size(self):
        """The number of values that are held."""
        return self.values.shape[0]

    @property
    def itemsize(self):
        """Bytes of one value."""
        return self.dtype.numpy.itemsize

    @property
    def ndim(self):
        """The number of axes."""
        return len(getattr(self, "shape"))

    def astype(self, dtype):
        """With values of `dtype`."""
        return self._replace(values=cast(self.values, dtype=dt.dtype(dtype)))

    def abs(self):
        """The absolute value of each element."""
        return self._replace(values=arithmetic.abs(self.values))

    def to_tuple(self):
        """The parts, as a plain tuple."""
        return tuple(self)

    def __neg__(self):
        """The negative of each element."""
        return self._replace(values=-self.values)

    def __abs__(self):
        """The absolute value of each element."""
        return self.abs()


def _up_to(places, count):
    """int[count] : how many of `places`, int[n] in [0, count), are at each number or below. Linear in n and count."""
    dtype = dtype_of(places)
    marks = tensor_scatter_add(zeros((count,), dtype), reshape(places, shape=(-1, 1)), ones(places.shape, dtype))
    return cast_to(cumsum(marks, 0), dtype)


class _Arithmetic(_Values):
    """+ and - of two sparse tensors of one form, and of one and a Tensor, which gives a Tensor; * and / of a sparse tensor and
    a number, or a Tensor that broadcasts to its shape: only the values change."""
    __slots__ = ()
    shape: Any
    to_dense: Callable[..., Any]
    _at_places: Callable[..., Any]
    _summed: Callable[..., Any]

    def __add__(self, other):
        """self + other. raises : ShapeError, ArgumentError for another form"""
        if not isinstance(other, _Values):
            return self._on_dense(f"{type(self).__name__} + other", other)
        if type(other) is not type(self):
            raise ArgumentError(f"+ of a {type(self).__name__} and a {type(other).__name__}", hint="to_coo() or to_dense()")
        return self._summed(other)

    def __radd__(self, other):
        """other + self, a Tensor. raises : as +"""
        return self + other

    def __sub__(self, other):
        """self - other. raises : as +"""
        return self + -other

    def __rsub__(self, other):
        """other - self, a Tensor. raises : as +"""
        return -self + other

    def __mul__(self, other):
        """Each value times the element of `other` at its place. raises : ShapeError, ArgumentError for a sparse `other`"""
        return self._replace(values=self.values * self._at_places(f"{type(self).__name__} * other", other))

    def __rmul__(self, other):
        """other * self. raises : as *"""
        return self * other

    def __truediv__(self, other):
        """Each value divided by the element of `other` at its place. raises : as *"""
        return self._replace(values=self.values / self._at_places(f"{type(self).__name__} / other", other))

    def _on_dense(self, name, other):
        """The sum of the elements of a Tensor of this shape and the values."""
        other = as_operand(other)
        if tuple(other.shape) != tuple(self.shape):
            raise ShapeError(f"{name}: the Tensor has another shape", note=f"{list(other.shape)} and {list(self.shape)}")
        return other + self.to_dense()


class COOTensor(_Arithmetic, namedtuple("COOTensor", "indices values shape")):
    """A sparse tensor by coordinates.

    indices : int[N, axes]      values : [N]      shape : tuple of int
    raises  : ShapeError where the parts do not fit together, DTypeError for indices that are no integers
    """
    __slots__ = ()

    def __new__(cls, indices=None, values=None, shape=None, coo_tensor=None):
        if coo_tensor is not None:
            return coo_tensor
        shape = _shape_of("COOTensor", shape)
        _check("COOTensor: indices", indices, 2, integers=True)
        _check("COOTensor: values", values, 1)
        if indices.shape[1] != len(shape) or indices.shape[0] != values.shape[0]:
            raise ShapeError("COOTensor: indices are [values, axes]", note=f"indices: {list(indices.shape)}, "
                             f"values: {list(values.shape)}, shape: {list(shape)}")
        return super().__new__(cls, indices, values, shape)

    def __repr__(self):
        return _printed(self, "indices", "values")

    def to_dense(self):
        """The Tensor of this shape."""
        return scatter_nd(self.indices, self.values, self.shape)

    def to_csr(self):
        """The matrix by rows, its values in order. raises : ShapeError for what is no matrix"""
        if len(self.shape) != 2:
            raise ShapeError("to_csr: a matrix is wanted", note=f"shape: {list(self.shape)}")
        rows, columns = self.indices[:, 0], self.indices[:, 1]
        order = argsort(cast(rows, dtype=dt.int64) * self.shape[1] + columns)
        indptr = _up_to(rows + 1, self.shape[0] + 1)
        return CSRTensor(indptr, gather(columns, order, 0), gather(self.values, order, 0), self.shape)

    def coalesce(self):
        """With one value for each index, in row-major order: those of equal indices are summed."""
        indices, values = summed(self.indices, self.values, self.shape)
        return COOTensor(indices, values, self.shape)

    def add(self, other, thresh=None):
        """self + other: the values of both. thresh: must be None or 0, no value is left out."""
        if thresh is not None and float(thresh) != 0:
            raise ArgumentError("COOTensor.add: values are not left out", note=f"thresh: {thresh}")
        if self.shape != other.shape:
            raise ShapeError("COOTensor.add: the shapes differ", note=f"{list(self.shape)} and {list(other.shape)}")
        return COOTensor(concat((self.indices, other.indices)), concat((self.values, other.values)), self.shape)

    def _summed(self, other):
        return self.add(other).coalesce()

    def _at_places(self, name, other):
        """A number, or the elements of a Tensor at the places of the values."""
        _no_sparse(name, other)
        if isinstance(other, (int, float)):
            return other
        return gather_nd(broadcast_to(_broadcast(name, other, self.shape), shape=self.shape), self.indices)


class CSRTensor(_Arithmetic, namedtuple("CSRTensor", "indptr indices values shape")):
    """A sparse matrix by rows, of numbers or of blocks of one shape.

    indptr : int[rows + 1], from 0 to N      indices : int[N], columns      values : [N, ..]      shape : (rows, columns, ..)
    raises : ShapeError where the parts do not fit together, DTypeError for indices that are no integers
    """
    __slots__ = ()

    def __new__(cls, indptr=None, indices=None, values=None, shape=None, csr_tensor=None):
        if csr_tensor is not None:
            return csr_tensor
        shape = _shape_of("CSRTensor", shape)
        _check("CSRTensor: indptr", indptr, 1, integers=True)
        _check("CSRTensor: indices", indices, 1, integers=True)
        if len(shape) < 2:
            raise ShapeError("CSRTensor: shape has at least two axes", note=f"shape: {list(shape)}")
        _check("CSRTensor: values", values, len(shape) - 1)
        if (indptr.shape[0] != shape[0] + 1 or indices.shape[0] != values.shape[0]
                or tuple(values.shape[1:]) != tuple(shape[2:])):
            raise ShapeError("CSRTensor: indptr is [rows + 1], indices and values are of one size",
                             note=f"indptr: {list(indptr.shape)}, indices: {list(indices.shape)}, "
                             f"values: {list(values.shape)}, shape: {list(shape)}")
        return super().__new__(cls, indptr, indices, values, shape)

    def __repr__(self):
        return _printed(self, "indptr", "indices", "values")

    def rows(self):
        """The row of each value: how many rows end at its place or before."""
        count = self.values.shape[0]
        return cast_to(_up_to(self.indptr[1:], count + 1)[:count], dtype_of(self.indices))

    def to_coo(self):
        """The matrix by coordinates. raises : ShapeError for more than two axes"""
        self.check_matrix("to_coo")
        return COOTensor(stack((self.rows(), self.indices), 1), self.values, self.shape)

    def to_dense(self):
        """The Tensor of this shape."""
        return scatter_nd(stack((self.rows(), self.indices), 1), self.values, self.shape)

    def check_matrix(self, name):
        """raises : ShapeError for more than two axes"""
        if len(self.shape) != 2:
            raise ShapeError(f"{name}: a sparse matrix is wanted", note=f"shape: {list(self.shape)}")

    def mm(self, matrix):
        """self @ matrix, a Tensor; raises : ShapeError where the inner sizes differ"""
        _no_sparse("mm", matrix)
        self.check_matrix("mm")
        matrix = as_operand(matrix)
        if matrix.ndim != 2 or matrix.shape[0] != self.shape[1]:
            raise ShapeError("mm: the contracted sizes differ", note=f"{list(self.shape)} and {list(matrix.shape)}")
        parts = reshape(self.values, shape=(-1, 1)) * gather(matrix, self.indices, 0)
        return scatter_nd(reshape(self.rows(), shape=(-1, 1)), parts, (self.shape[0], matrix.shape[1]))

    def add(self, b, alpha=1, beta=1):
        """alpha * self + beta * b, a CSRTensor of one shape; values at one place are added. raises : ShapeError"""
        if self.shape != b.shape:
            raise ShapeError("csr_add: the shapes differ", note=f"{list(self.shape)} and {list(b.shape)}")
        first, second = self.to_coo(), b.to_coo()
        values = concat((as_operand(alpha) * first.values, as_operand(beta) * second.values))
        return COOTensor(concat((first.indices, second.indices)), values, self.shape).coalesce().to_csr()

    def sum(self, axis):
        """The sum of each row, [rows, 1, ..]. axis: 1 or -1. raises : ArgumentError for another axis"""
        if axis not in (1, 1 - len(self.shape)):
            raise ArgumentError(f"csr_reduce_sum: axis is 1, not {axis}")
        added = scatter_nd(reshape(self.rows(), shape=(-1, 1)), self.values, (self.shape[0], *self.shape[2:]))
        return expand_dims(added, 1)

    def mv(self, vector):
        """self @ vector for a vector as a column, [columns, 1]; gives [rows, 1]."""
        return self.mm(vector)

    def _summed(self, other):
        return self.add(other)

    def _at_places(self, name, other):
        """A number, or the elements of a Tensor at the places of the values."""
        _no_sparse(name, other)
        if isinstance(other, (int, float)):
            return other
        other = _broadcast(name, other, self.shape)
        other = reshape(other, shape=(1,) * (len(self.shape) - other.ndim) + tuple(other.shape))
        height, width = other.shape[:2]
        rows = self.rows() * width if height == self.shape[0] else self.indices * 0
        flat = rows + self.indices if width == self.shape[1] else rows
        return gather(reshape(other, shape=(height * width, *other.shape[2:])), flat, 0)


class RowTensor(_Values, namedtuple("RowTensor", "indices values dense_shape")):
    """Some rows of a tensor: indices int[N], values [N, ...]; dense_shape: the shape of the whole."""
    __slots__ = ()

    @property
    def shape(self):
        """The shape of the whole."""
        return self.dense_shape

    def to_dense(self):
        """The Tensor of this shape."""
        return scatter_nd(reshape(self.indices, shape=(-1, 1)), self.values, self.dense_shape)


def _no_sparse(name, operand):
    if isinstance(operand, _Values):
        raise ArgumentError(f"{name}: a Tensor is wanted, not {type(operand).__name__}", hint="to_dense() makes a Tensor")


def _broadcast(name, other, shape):
    """`other`, a Tensor that broadcasts to `shape`. raises : ShapeError"""
    other = as_operand(other)
    if broadcast_shapes(name, tuple(other.shape), shape) != shape:
        raise ShapeError(f"{name}: the Tensor does not broadcast to the sparse one",
                         note=f"{list(other.shape)} and {list(shape)}")
    return other


def _printed(tensor, *parts):
    """COOTensor(shape=[3, 4], dtype=Int32, indices=Tensor(..), values=Tensor(..)); raises nothing, whatever the parts are."""
    values = ", ".join(f"{part}=Tensor(shape={list(x.shape)}, dtype={x.dtype}, value={x})"
                       for part, x in ((part, getattr(tensor, part)) for part in parts))
    return f"{type(tensor).__name__}(shape={list(tensor.shape)}, dtype={tensor.values.dtype}, {values})"


def _shape_of(name, shape):
    if not isinstance(shape, (tuple, list)) or not shape:
        raise ArgumentError(f"{name}: shape is a tuple of int", note=repr(shape))
    return tuple(shape)


def _check(name, part, ndim, integers=False):
    if len(part.shape) != ndim:
        raise ShapeError(f"{name} has {ndim} axis(es)", note=f"shape: {list(part.shape)}")
    if integers and dtype_of(part).kind not in "iu":
        raise DTypeError(f"{name} holds integers", note=dtype_of(part).name)


def summed(indices, values, shape):
    """(different indices in order, the sums of their values): what several values at one place mean."""
    flat = ravelled(indices, shape)
    places, group = unique(flat)
    order = argsort(places)
    total = tensor_scatter_add(zeros(places.shape, dtype_of(values)), expand_dims(group, -1), values)
    places, total = gather(places, order, 0), gather(total, order, 0)
    parts, rest = [], places
    for size in reversed(shape):
        parts.append(remainder(rest, size))
        rest = floor_divide(rest, size)
    return cast_to(stack(parts[::-1], 1), dtype_of(indices)), total


def ravelled(indices, shape):
    """int64[N]: the places of indices[N, axes] in a flat tensor of that shape."""
    flat = 0
    for axis, size in enumerate(shape):
        flat = flat * size + cast_to(indices[:, axis], dt.int64)
    return flat
