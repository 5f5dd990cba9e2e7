"""Sparse tensors as classes that take their parts; what they give are Tensors, too.

    by rows        : indptr, indices, values, shape      by coordinates : indices [K, axes], values [K], shape, a Tensor [axes]
"""
from ...common.errors import ShapeError
from .. import coo2csr, csr2coo, csr_div, csr_gather, csr_mm, csr_mul, csr_mv, csr_reduce_sum
from ..arithmetic import abs, floor_divide, maximum, remainder
from ..axes import as_size
from ..basic import reshape
from ..creation import arange, ones, zeros
from ..define import as_operand, cast_to, dtype_of
from ..elementary import sqrt
from ..logic import equal, greater_equal, where
from ..lookup import gather, tensor_scatter_add
from ..indexing import gather_nd
from ..reduction import prod, sum
from ..scalar import tensor_to_scalar
from ..scan import cumprod
from ..segments import unsorted_segment_sum
from ..sort import argsort, nonzero
from ..sparse import CSRTensor, summed
from ..structure import concat, expand_dims, has_size_one, stack
from .define import operation, table

globals().update(table({"CSRGather": csr_gather, "CSR2COO": csr2coo, "COO2CSR": coo2csr}))


@operation
def CSRReduceSum(indptr, indices, values, shape, axis):
    """The sum of each row: Tensor [M, 1]; see csr_reduce_sum."""
    return csr_reduce_sum(CSRTensor(indptr, indices, values, shape), axis)


@operation
def CSRMV(indptr, indices, values, shape, dense_tensor):
    """The product of the matrix and a column [K, 1]: Tensor [M, 1]."""
    return csr_mv(CSRTensor(indptr, indices, values, shape), dense_tensor)


@operation
def CSRMM(indptr, indices, values, shape, dense):
    """The product of the matrix and a dense one [K, N]: Tensor [M, N]."""
    return csr_mm(CSRTensor(indptr, indices, values, shape), dense)


@operation
def CSRMul(indptr, indices, values, shape, dense_tensor):
    """Each value that is held times the element of dense_tensor at its place: the new values, a Tensor."""
    return csr_mul(CSRTensor(indptr, indices, values, shape), dense_tensor).values


@operation
def CSRDiv(indptr, indices, values, shape, dense_tensor):
    """Each value that is held, divided by the element of dense_tensor at its place: the new values, a Tensor."""
    return csr_div(CSRTensor(indptr, indices, values, shape), dense_tensor).values


# ---------------------------------------------------------------- by coordinates

def _at(name, indices, dense):
    """The elements of a dense tensor, repeated along axes that it has not or that are 1, at coordinates [K, axes]."""
    dense, missing = as_operand(dense), indices.shape[1] - len(dense.shape)
    if missing < 0:
        raise ShapeError(f"{name}: the dense tensor has more axes than the sparse one",
                         note=f"{len(dense.shape)} and {indices.shape[1]}")
    places = [indices[:, missing + axis] * (0 if has_size_one(name, dense, axis) else 1) for axis in range(dense.ndim)]
    return gather_nd(dense, stack(places, 1)) if places else dense


@operation
def SparseDenseCwiseAdd(x1_indices, x1_values, x1_shape, x2):
    """Each value that is held plus the element of x2 at its place. raises : ShapeError where x2 has more axes"""
    return x1_values + _at("SparseDenseCwiseAdd", x1_indices, x2)


@operation
def SparseDenseCwiseMul(x1_indices, x1_values, x1_shape, x2):
    """Each value that is held times the element of x2 at its place. raises : ShapeError where x2 has more axes"""
    return x1_values * _at("SparseDenseCwiseMul", x1_indices, x2)


@operation
def SparseDenseCwiseDiv(x1_indices, x1_values, x1_shape, x2):
    """Each value that is held, divided by the element of x2 at its place. raises : ShapeError where x2 has more axes"""
    return x1_values / _at("SparseDenseCwiseDiv", x1_indices, x2)


@operation
def SparseAddmm(x1_indices, x1_values, x1_shape, x2, x3, alpha, beta):
    """alpha * (x1 @ x2) + beta * x3 for a sparse matrix x1 [M, K], dense x2 [K, N] and x3 [M, N]."""
    rows = expand_dims(x1_values, -1) * gather(x2, x1_indices[:, 1], 0)
    return alpha * tensor_scatter_add(zeros(tuple(x3.shape), dtype_of(rows)), x1_indices[:, :1], rows) + beta * x3


def _sizes(shape, axes):
    return [shape[axis] for axis in range(axes)]


@operation
def SparseAdd(x1_indices, x1_values, x1_shape, x2_indices, x2_values, x2_shape, thresh):
    """(indices in order, sums, shape) of two sparse tensors of one shape; sums of a magnitude below `thresh` are left out."""
    indices, values = summed(concat((x1_indices, x2_indices)), concat((x1_values, x2_values)),
                             _sizes(x1_shape, x1_indices.shape[1]))
    positions = reshape(nonzero(greater_equal(abs(values), thresh)), shape=(-1,))
    return gather(indices, positions, 0), gather(values, positions, 0), x1_shape


def _strides(shape):
    """How far apart in a flat tensor two neighbours along each axis are, of the sizes [axes]."""
    return floor_divide(prod(shape), maximum(cumprod(shape, 0), 1))


def _flat_places(indices, shape):
    return sum(cast_to(indices, dtype_of(shape)) * _strides(shape), 1)


@operation
def SparseReorder(indices, values, shape):
    """(indices, values) in row-major order of the places."""
    order = argsort(_flat_places(indices, shape))
    return gather(indices, order, 0), gather(values, order, 0)


@operation
def SparseReshape(indices, shape, new_shape):
    """(the indices of the same values in a tensor of another shape, that shape); one size of new_shape may be -1."""
    known = where(equal(new_shape, -1), 1, new_shape)
    made = where(equal(new_shape, -1), floor_divide(prod(shape), maximum(prod(known), 1)), new_shape)
    places = expand_dims(_flat_places(indices, shape), -1)
    return cast_to(remainder(floor_divide(places, _strides(made)), maximum(made, 1)), dtype_of(indices)), made


# ---------------------------------------------------------------- rows of a matrix, gathered and summed by segments

def _segments(name, x, indices, segment_ids, num_segments, scale):
    """The sums of the rows x[indices] by segment, over what `scale` makes of how many they are; zeros where there is none."""
    if num_segments is None:
        num_segments = as_size(name, tensor_to_scalar(reshape(segment_ids[-1:] + 1, shape=())))
    total = unsorted_segment_sum(gather(x, indices, 0), segment_ids, num_segments)
    if scale is None:
        return total
    counts = unsorted_segment_sum(ones(tuple(segment_ids.shape), dtype_of(x)), segment_ids, num_segments)
    return total / reshape(scale(maximum(counts, 1)), shape=(-1,) + (1,) * (len(total.shape) - 1))


@operation
def SparseSegmentSum(x, indices, segment_ids):
    """The sums of the rows x[indices] by segment. segment_ids : int[K], in order; the last one + 1 is the number of segments"""
    return _segments("SparseSegmentSum", x, indices, segment_ids, None, None)


@operation
def SparseSegmentSumWithNumSegments(x, indices, segment_ids, num_segments):
    """SparseSegmentSum for a given number of segments, an int or a Tensor []; zeros where there is no row."""
    return _segments("SparseSegmentSumWithNumSegments", x, indices, segment_ids, _count(num_segments), None)


@operation
def SparseSegmentMeanWithNumSegments(x, indices, segment_ids, num_segments):
    """The means of the rows x[indices] by segment, of a given number of segments; zeros where there is no row."""
    return _segments("SparseSegmentMeanWithNumSegments", x, indices, segment_ids, _count(num_segments), lambda n: n)


@operation
def SparseSegmentMean(x, indices, segment_ids):
    """The means of the rows x[indices] by segment. segment_ids : as in SparseSegmentSum"""
    return _segments("SparseSegmentMean", x, indices, segment_ids, None, lambda n: n)


@operation
def SparseSegmentSqrtN(x, indices, segment_ids):
    """The sums of the rows x[indices] by segment, over the square roots of how many they are."""
    return _segments("SparseSegmentSqrtN", x, indices, segment_ids, None, sqrt)


@operation
def SparseSegmentSqrtNWithNumSegments(x, indices, segment_ids, num_segments):
    """SparseSegmentSqrtN for a given number of segments; zeros where there is no row."""
    return _segments("SparseSegmentSqrtNWithNumSegments", x, indices, segment_ids, _count(num_segments), sqrt)


def _count(num_segments):
    """An int of a Tensor of one element."""
    return num_segments if isinstance(num_segments, int) else tensor_to_scalar(reshape(num_segments, shape=()))


@operation
def ConcatOffsetV1(axis, x):
    """Where each of the shapes x, int[axes] each, begins along `axis` in their concatenation: Tensors like them."""
    n, made = x[0].shape[0], [x[0] * 0]
    chosen = cast_to(equal(arange(n), remainder(axis, n)), dtype_of(x[0]))
    for shape in x[:-1]:
        made.append(made[-1] + chosen * shape)
    return tuple(made)
