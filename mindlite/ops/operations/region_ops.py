"""Regions, pooling at drawn steps, drawn classes, pictures by cubics, and scalars, as classes."""
from ...common.checks import check_positive_float, check_positive_int
from ...common.errors import ArgumentError, ShapeError
from .. import (
    fractional_max_pool2d, fractional_max_pool3d, nms_with_mask, ps_roi_pooling, roi_align, scalar_cast,
    scatter_nd, uniform_candidate_sampler)
from ..define import as_operand
from ..resize import resize
from ..structure import concat
from .define import checking, operation


@operation
def ROIAlign(features, rois, *, pooled_height, pooled_width, spatial_scale, sample_num=2, roi_end_mode=1):
    """See roi_align."""
    return roi_align(features, rois, pooled_height, pooled_width, spatial_scale, sample_num, roi_end_mode)


@operation
@checking(spatial_scale=check_positive_float, group_size=check_positive_int, output_dim=check_positive_int)
def PSROIPooling(features, rois, *, spatial_scale, group_size, output_dim):
    """See ps_roi_pooling."""
    return ps_roi_pooling(features, rois, spatial_scale, group_size, output_dim)


@operation
def NMSWithMask(bboxes, *, iou_threshold=0.5):
    """See nms_with_mask."""
    return nms_with_mask(bboxes, iou_threshold)


def _channels_first(name, data_format, wanted):
    if data_format != wanted:
        raise ArgumentError(f"{name}: data_format is {wanted!r}, not {data_format!r}")


@operation
def FractionalMaxPoolWithFixedKsize(input, random_samples, *, ksize, output_shape, data_format="NCHW"):
    """(maxima, their positions); see fractional_max_pool2d."""
    _channels_first("FractionalMaxPoolWithFixedKsize", data_format, "NCHW")
    return fractional_max_pool2d(input, ksize, output_shape, None, True, random_samples)


@operation
def FractionalMaxPool3DWithFixedKsize(input, random_samples, *, ksize, output_shape, data_format="NCDHW"):
    """(maxima, their positions); see fractional_max_pool3d."""
    _channels_first("FractionalMaxPool3DWithFixedKsize", data_format, "NCDHW")
    return fractional_max_pool3d(input, ksize, output_shape, None, True, random_samples)


@operation
def UniformCandidateSampler(true_classes, *, num_true, num_sampled, unique, range_max, seed=0, remove_accidental_hits=False):
    """See uniform_candidate_sampler."""
    return uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed, remove_accidental_hits)


@operation
def ParallelConcat(values):
    """Tensors whose first axis has size 1, one behind the other along it. raises : ShapeError"""
    values = [as_operand(value) for value in values]
    if any(value.ndim < 1 or value.shape[0] != 1 for value in values):
        raise ShapeError("ParallelConcat: the first axis of each tensor has size 1",
                         note=", ".join(str(list(value.shape)) for value in values))
    return concat(tuple(values), 0)


@operation
def ScalarCast(input_x, input_y):
    """See scalar_cast."""
    return scalar_cast(input_x, input_y)


@operation
def SparseTensorDenseAdd(x1_indices, x1_values, x1_shape, x2):
    """The dense tensor x2 plus the values at x1_indices."""
    x2 = as_operand(x2)
    return scatter_nd(x1_indices, x1_values, tuple(x2.shape)) + x2


@operation
def ResizeBicubic(images, size, *, align_corners=False, half_pixel_centers=False):
    """images[N, C, H, W] interpolated to `size` (two ints or int[2]) by cubics through four points. raises : ArgumentError"""
    if align_corners and half_pixel_centers:
        raise ArgumentError("ResizeBicubic: align_corners and half_pixel_centers exclude each other")
    return resize(images, tuple(size), "bicubic", align_corners, half_pixel_centers)
