"""Counting, positions, blocks, boxes, resizing and filling as classes."""
from ...common import dtype as dt
from .. import (
    affine_grid, batch_to_space_nd, bounding_box_decode, bounding_box_encode, bucketize, cast, channel_shuffle,
    check_valid, choice_with_mask, count_nonzero, depth_to_space, dyn_shape, einsum, fill_diagonal, fills,
    histc, index_fill, inplace_update, interpolate, intopk, iou, masked_scatter, matmul, max_unpool2d, max_unpool3d, minimum,
    mirror_pad, nonzero, permute, reshape, reverse_sequence, scatter_nd, searchsorted, space_to_batch_nd,
    space_to_depth, tensor_scatter_elements, tril_indices, triu_indices, tuple_to_array, unique_consecutive, unravel_index,
    unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum, where)
from ..define import as_operand, cast_to, dtype_of
from .define import operation, table

globals().update(table({
    "CheckValid": check_valid, "Fills": fills, "MaskedScatter": masked_scatter, "NonZero": nonzero,
    "TupleToArray": tuple_to_array, "UnravelIndex": unravel_index, "TensorShape": dyn_shape,
}))


@operation
def TrilIndices(*, row, col, offset=0, dtype=dt.int32):
    """Places on and below a diagonal."""
    return tril_indices(row, col, offset, dtype=dtype)


@operation
def TriuIndices(*, row, col, offset=0, dtype=dt.int32):
    """Places on and above a diagonal."""
    return triu_indices(row, col, offset, dtype=dtype)


# ---------------------------------------------------------------- counting

@operation
def IndexFill(x, dim, index, value):
    """x with the slices at `index` (int[n]) along `dim`, an int or a Tensor of one, filled with `value`."""
    return index_fill(x, int(dim), index, value)


@operation
def Bincount(array, size, weights):
    """out[i], i < size : the sum of the weights where array is i; larger numbers do not count."""
    size, numbers = int(size), reshape(as_operand(array), (-1,))
    one = as_operand(weights)
    each = reshape(one, (-1,)) if one.ndim and one.shape[0] else cast(numbers * 0 + 1, dtype=dtype_of(one))
    total = unsorted_segment_sum(each, minimum(numbers, size), size + 1)
    return total[:size]


@operation
def Bucketize(x, *, boundaries):
    """Between which boundaries each element lies, int32."""
    return bucketize(x, list(boundaries), right=True)


@operation
def CountNonZero(x, *, dims=None):
    """How many elements along `dims` are not zero, int64."""
    return count_nonzero(x, () if dims is None else tuple(dims) if isinstance(dims, list) else dims, dtype=dt.int64)


@operation
def Histogram(x, *, bins=100, min=0.0, max=0.0):
    """How many elements lie in each of equal intervals, int32."""
    return cast(histc(x, bins, min, max), dtype=dt.int32)


@operation
def HistogramFixedWidth(x, range, *, nbins, dtype="int32"):
    """How many elements lie in each of nbins intervals of range[0] to range[1]; those outside count at the ends."""
    low, high = (float(end) for end in range)
    x = as_operand(x)
    return cast(histc(cast_to(x, dt.float64).clip(low, high), nbins, low, high), dtype=dtype)


@operation
def UniqueConsecutive(x, *, return_inverse=False, return_counts=False, dim=None):
    """(elements that differ from the one before, the run of each, the length of each run)."""
    return unique_consecutive(x, True, True, dim)


@operation
def LowerBound(sorted_x, values, *, out_type=dt.int32):
    """Where each value would be put into its sorted row, before equals."""
    return cast(searchsorted(sorted_x, values), dtype=out_type)


@operation
def UpperBound(sorted_x, values, *, out_type=dt.int32):
    """Where each value would be put into its sorted row, behind equals."""
    return cast(searchsorted(sorted_x, values, right=True), dtype=out_type)


@operation
def InTopK(x1, x2, *, k):
    """Is the score at each label among the k largest of its row?"""
    return intopk(x1, x2, k)


def _segments(name, reduce):
    def call(x, segment_ids):
        """The segments of rows of x that segment_ids, which rise and are known, name."""
        ids = as_operand(segment_ids)
        return reduce(as_operand(x), ids, int(ids[-1].item()) + 1)
    call.__name__ = name
    return operation(call)


def _members(x, ids, count):
    """How many rows each segment has, with x's number of axes."""
    return reshape(unsorted_segment_sum(ids * 0 + 1, ids, count), (-1,) + (1,) * (x.ndim - 1))


def _or_zero(reduce):
    return lambda x, ids, count: where(_members(x, ids, count) > 0, reduce(x, ids, count), 0)


def _mean(x, ids, count):
    there = _members(x, ids, count)
    return unsorted_segment_sum(x, ids, count) / cast(where(there > 0, there, 1), dtype=dtype_of(x))


SegmentSum, SegmentProd = _segments("SegmentSum", unsorted_segment_sum), _segments("SegmentProd", unsorted_segment_prod)
SegmentMax, SegmentMin = (_segments(name, _or_zero(reduce)) for name, reduce in (
    ("SegmentMax", unsorted_segment_max), ("SegmentMin", unsorted_segment_min)))
SegmentMean = _segments("SegmentMean", _mean)


# ---------------------------------------------------------------- blocks, boxes, sequences

@operation
def SpaceToDepth(x, *, block_size):
    """Blocks of pictures as channels."""
    return space_to_depth(x, block_size)


@operation
def DepthToSpace(x, *, block_size):
    """Channels as blocks of pictures."""
    return depth_to_space(x, block_size)


@operation
def SpaceToBatch(x, *, block_size, paddings):
    """Blocks of pictures as pictures."""
    return space_to_batch_nd(x, (block_size, block_size), paddings)


@operation
def BatchToSpace(x, *, block_size, crops):
    """Pictures as blocks of pictures."""
    return batch_to_space_nd(x, (block_size, block_size), crops)


@operation
def ChannelShuffle(x, *, group):
    """The channels of groups in turn."""
    return channel_shuffle(x, group)


@operation
def IOU(anchor_boxes, gt_boxes, *, mode="iou"):
    """How much boxes overlap."""
    return iou(anchor_boxes, gt_boxes, mode)


@operation
def BoundingBoxEncode(anchor_box, groundtruth_box, *, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0)):
    """Boxes as offsets from anchors."""
    return bounding_box_encode(anchor_box, groundtruth_box, means, stds)


@operation
def BoundingBoxDecode(anchor_box, deltas, *, max_shape, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0),
                      wh_ratio_clip=0.016):
    """Boxes from offsets."""
    return bounding_box_decode(anchor_box, deltas, max_shape, means, stds, wh_ratio_clip)


@operation
def ReverseSequence(x, seq_lengths, *, seq_dim, batch_dim=0):
    """The beginnings of sequences in reverse order."""
    return reverse_sequence(x, seq_lengths, seq_dim, batch_dim)


@operation
def RandomChoiceWithMask(x, *, count=256, seed=0, seed2=0):
    """(indices of `count` trues in random order, which of them are there)."""
    return choice_with_mask(x, count, seed or None)


# ---------------------------------------------------------------- sizes

@operation
def ResizeLinear1D(x, size, *, coordinate_transformation_mode="align_corners"):
    """x[N, C, L] at `size` points."""
    size = size.tolist() if hasattr(size, "tolist") else size
    return interpolate(x, tuple(size), None, "linear", coordinate_transformation_mode == "align_corners")


def _volume(x, output_size, scales, mode, align_corners):
    return interpolate(x, None if output_size is None else tuple(output_size), None if scales is None else tuple(scales), mode,
                       align_corners)


@operation
def UpsampleNearest3D(x, output_size, scales=None):
    """x[N, C, D, H, W] of another size, the nearest points."""
    return _volume(x, output_size, scales, "nearest", None)


@operation
def UpsampleTrilinear3D(x, output_size, scales=None, *, align_corners=False):
    """x[N, C, D, H, W] of another size, between points."""
    return _volume(x, output_size, scales, "trilinear", align_corners)


@operation
def MaxUnpool2D(x, argmax, *, ksize, strides=0, pads=0, output_shape=(), data_format="NCHW"):
    """Values at their positions among zeros."""
    return max_unpool2d(x, argmax, ksize, strides or None, pads, tuple(output_shape) or None)


@operation
def MaxUnpool3D(x, argmax, *, ksize, strides=0, pads=0, output_shape=(), data_format="NCDHW"):
    """Values at their positions among zeros."""
    return max_unpool3d(x, argmax, ksize, strides or None, pads, tuple(output_shape) or None)


@operation
def AffineGrid(theta, size, *, align_corners=False):
    """The grid of affine transformations."""
    return affine_grid(theta, tuple(size), align_corners)


# ---------------------------------------------------------------- elements

@operation
def MirrorPad(x, paddings, *, mode="REFLECT"):
    """x continued at its ends by its mirror image."""
    return mirror_pad(x, paddings, mode)


@operation
def FillDiagonal(x, *, fill_value, wrap=False):
    """x with its diagonal filled."""
    return fill_diagonal(x, fill_value, wrap)


@operation
def TensorScatterElements(x, indices, updates, *, axis=0, reduction="none"):
    """x with updates written or added at indices along `axis`, element by element."""
    return tensor_scatter_elements(x, indices, updates, axis, reduction)


@operation
def InplaceUpdateV2(x, indices, v):
    """x with v written to rows."""
    return inplace_update(x, v, indices)


@operation
def IndexPut(x, values, indices, *, accumulate=0):
    """x with values written (or added) at indices, one index per axis."""
    return as_operand(x).index_put(tuple(indices), values, bool(accumulate))


@operation
def Expand(x, shape):
    """x repeated to `shape`."""
    return as_operand(x).expand(tuple(shape.tolist() if hasattr(shape, "tolist") else shape))


@operation
def Einsum(operands, *, equation):
    """Einstein's sum of the tensors of a tuple."""
    return einsum(equation, *operands)


@operation
def ConjugateTranspose(x, perm):
    """The axes in another order, conjugated."""
    return permute(as_operand(x).conj(), tuple(perm))


@operation
def IdentityN(xs):
    """The tensors of a tuple, as they are."""
    return tuple(x * 1 for x in xs)


@operation
def SparseToDense(indices, values, sparse_shape):
    """The Tensor of that shape with values at indices."""
    return scatter_nd(indices, values, tuple(sparse_shape))


@operation
def SparseTensorDenseMatmul(indices, values, sparse_shape, dense, *, adjoint_st=False, adjoint_dt=False):
    """A sparse matrix, or its transpose, times a matrix, or its transpose."""
    sparse, dense = scatter_nd(indices, values, tuple(sparse_shape)), as_operand(dense)
    return matmul(sparse.T if adjoint_st else sparse, dense.T if adjoint_dt else dense)
