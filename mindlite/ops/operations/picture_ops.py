"""Pictures, windows and channels as classes: pooling with positions, sampling, dropout of channels, layouts."""
from ...common import dtype as dt
from ...common.errors import ValueRangeError
from .. import (adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool2d, adaptive_max_pool3d, cast, dropout2d, dropout3d,
                fold, gather, grid_sample, matrix_diag, matrix_diag_part, matrix_set_diag, max_pool2d, not_equal, ones_like,
                padding, population_count, remainder, reshape, searchsorted, unique_with_pad, where)
from ..define import as_operand
from ..patches import patches
from .define import operation, table

globals().update(table({"PopulationCount": population_count, "UniqueWithPad": unique_with_pad}))


@operation
def AdaptiveAvgPool2D(x, *, output_size):
    """The mean of each part of a plane."""
    return adaptive_avg_pool2d(x, output_size)


@operation
def AdaptiveAvgPool3D(x, *, output_size):
    """The mean of each part of a volume."""
    return adaptive_avg_pool3d(x, output_size)


@operation
def AdaptiveMaxPool2D(x, *, output_size):
    """(the largest element of each part of a plane, its position)"""
    return adaptive_max_pool2d(x, output_size, True)


@operation
def AdaptiveMaxPool3D(x, output_size):
    """(the largest element of each part of a volume, its position)"""
    return adaptive_max_pool3d(x, tuple(as_operand(output_size).tolist()), True)


@operation
def MaxPoolWithArgmaxV2(x, *, kernel_size, strides=None, pads=0, dilation=(1, 1), ceil_mode=False, argmax_type=dt.int64):
    """(the largest element of each window of x[N, C, H, W], its position in the plane)"""
    values, positions = max_pool2d(x, kernel_size, strides, pads, dilation, True, ceil_mode)
    return values, cast(positions, dtype=argmax_type)


@operation
def Im2Col(x, *, ksizes, strides=1, dilations=1, pads=0):
    """The windows of x[N, C, H, W] as columns: [N, C, KH * KW, L]."""
    made = patches("Im2Col", as_operand(x), ksizes, dilations, pads, strides)
    return reshape(made, shape=(*made.shape[:3], -1))


@operation
def Col2Im(x, output_size, *, kernel_size, dilation=1, padding=0, stride=1):
    """The picture [N, C, *output_size] of the columns x[N, C, KH * KW, L], added where they overlap."""
    columns = reshape(x, shape=(x.shape[0], x.shape[1] * x.shape[2], x.shape[3]))
    return fold(columns, output_size, kernel_size, dilation, padding, stride)


@operation
def GridSampler2D(x, grid, *, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """x[N, C, H, W] at the points grid[N, .., 2]."""
    return grid_sample(x, grid, interpolation_mode, padding_mode, align_corners)


@operation
def GridSampler3D(x, grid, *, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """x[N, C, D, H, W] at the points grid[N, .., 3]."""
    return grid_sample(x, grid, interpolation_mode, padding_mode, align_corners)


@operation
def Padding(x, *, pad_dim_size=8):
    """x[.., 1] with zeros up to pad_dim_size."""
    return padding(x, pad_dim_size)


@operation
def SearchSorted(sorted_sequence, values, sorter=None, *, dtype=dt.int64, right=False):
    """Where each value would be put into the sorted row."""
    return cast(searchsorted(sorted_sequence, values, right=right, sorter=sorter), dtype=dtype)


# ---------------------------------------------------------------- channels and layouts

def _kept(drop, x, keep_prob):
    """(x without the channels that are dropped, which elements are kept)"""
    if not 0 <= keep_prob <= 1:
        raise ValueRangeError(f"keep_prob is in [0, 1], not {keep_prob}")
    x = as_operand(x)
    scale = drop(cast(ones_like(x), dtype=dt.float32), 1.0 - keep_prob)
    valid = not_equal(scale, 0)
    return where(valid, cast(x * scale, dtype=x.dtype), 0), valid


@operation
def Dropout2D(x, *, keep_prob=0.5):
    """(x[N, C, H, W] with each channel kept with probability keep_prob, divided by it; which elements are kept)"""
    return _kept(dropout2d, x, keep_prob)


@operation
def Dropout3D(x, *, keep_prob=0.5):
    """(x[N, C, D, H, W] with each channel kept with probability keep_prob, divided by it; which elements are kept)"""
    return _kept(dropout3d, x, keep_prob)


@operation
def DataFormatDimMap(x, *, src_format="NHWC", dst_format="NCHW"):
    """For each number of an axis in the destination layout, negative ones from the end, its number in the source layout."""
    for layout in (src_format, dst_format):
        if sorted(layout) != sorted("NHWC"):
            raise ValueRangeError(f"DataFormatDimMap: a layout is NHWC or NCHW, not {layout!r}")
    x = as_operand(x)
    return cast(gather(as_operand([src_format.index(axis) for axis in dst_format]), remainder(x, 4), 0), dtype=x.dtype)


# ---------------------------------------------------------------- diagonals

@operation
def MatrixDiagV3(x, k, num_rows, num_cols, padding_value, *, align="RIGHT_LEFT"):
    """Matrices with the diagonals k made of x."""
    return matrix_diag(x, k, num_rows, num_cols, padding_value, align)


@operation
def MatrixDiagPartV3(x, k, padding_value, *, align="RIGHT_LEFT"):
    """The diagonals k of matrices."""
    return matrix_diag_part(x, k, padding_value, align)


@operation
def MatrixSetDiagV3(x, diagonal, k, *, align="RIGHT_LEFT"):
    """x with its diagonals k replaced."""
    return matrix_set_diag(x, diagonal, k, align)
