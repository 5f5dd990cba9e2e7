"""Regions of interest: feature maps read inside boxes, and boxes chosen among those that overlap.

    roi_align       each cell of a region is the mean of samples, each read between the points of the map (He et al. 2017)
    ps_roi_pooling  each cell is the mean of its own channel over its part of the region (Dai et al. 2016)
    nms_with_mask   from the best box on, each is kept if it does not overlap one that is kept before

Reading between points is separable: a region is rows @ map @ columns, with a small matrix of weights for each axis.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, planned, primitive, vmap_rule
from .arithmetic import abs, ceil, clamp, floor, maximum, minimum
from .basic import batched, reduce_sum, reshape
from .creation import arange
from .define import as_operand, cast_to, check_tensors, dtype_of
from .indexing import gather_axis
from .linalg import matmul
from .logic import greater, greater_equal, less, less_equal, logical_and, where
from .sbp import sbp_rule
from .sort import argsort
from .structure import expand_dims, swapaxes


def _map(name, features, rois, columns):
    features, rois = as_operand(features), as_operand(rois)
    for what, value in (("features", features), ("rois", rois)):
        if dtype_of(value) not in (dt.float16, dt.float32, dt.float64):
            raise DTypeError(f"{name}: {what} are floats, not {dtype_of(value).name}")
    if features.ndim != 4 or rois.ndim != 2 or rois.shape[1] != columns:
        raise ShapeError(f"{name}: features are [N, C, H, W] and rois [R, {columns}]",
                         note=f"features: {list(features.shape)}, rois: {list(rois.shape)}")
    return features, cast_to(rois, dtype_of(features))


def _between(start, size, cells, samples, length, dtype):
    """f[R, cells, length]: the weight of each point of an axis in each cell of a region. start, size: f[R, 1]"""
    if samples <= 0:
        return _between_many(start, size, cells, length, dtype)
    position = cast_to(arange(cells * samples), dtype)
    y = start + (position + 0.5) * size / (cells * samples)
    inside = logical_and(greater_equal(y, -1.0), less_equal(y, length))
    y = expand_dims(clamp(y, 0.0, length - 1), 2)
    weight = maximum(1.0 - abs(y - cast_to(arange(length), dtype)), 0.0)
    weight = where(expand_dims(inside, 2), weight, 0.0)
    return reduce_sum(reshape(weight, shape=(-1, cells, samples, length)), axis=2, keepdims=False) / samples


def _between_many(start, size, cells, length, dtype):
    """_between with as many samples in a cell as it has whole elements.

    Samples are then at least 1 apart, or one in each cell: of a cell at most three are within 1 of a point, and only
    those are read.
    """
    samples = maximum(floor(size / cells), 1.0)                                            # f[R, 1]
    step = size / (samples * cells)
    point = cast_to(arange(length), dtype)
    begin = expand_dims(samples * cast_to(arange(cells), dtype), 2)                        # f[R, cells, 1]: a cell's first sample
    near = expand_dims(floor((point - 1.0 - start) / maximum(step, 1.0) - 0.5), 1)         # f[R, 1, length]
    samples, step, start = (reshape(x, shape=(-1, 1, 1)) for x in (samples, step, start))
    near = minimum(maximum(near, begin), begin + samples - 1.0)
    total: Any = 0.0
    for i in range(4):                                                                     # one more: `near` is rounded down
        number = near + float(i)
        y = start + (number + 0.5) * step
        inside = logical_and(logical_and(greater_equal(y, -1.0), less_equal(y, length)), less(number, begin + samples))
        total = total + where(inside, maximum(1.0 - abs(clamp(y, 0.0, length - 1) - point), 0.0), 0.0)
    return total / samples


@planned
def roi_align(features: Tensor, rois: Tensor, pooled_height: int, pooled_width: int, spatial_scale: float, sample_num: int = 2,
              roi_end_mode: int = 1) -> Tensor:
    """The features inside each box, as a picture of pooled_height x pooled_width cells.

    features      : f[N, C, H, W]
    rois          : f[R, 5], (number of the picture, x0, y0, x1, y1); coordinates times spatial_scale are those of the map
    sample_num    : samples along each side of a cell; 0 or less: as many as the cell has whole elements, at least 1
    roi_end_mode  : 1: the box ends one pixel further; 0: it ends at (x1, y1), and is at least 1 x 1
    out           : f[R, C, pooled_height, pooled_width]; gradients go to the features only
    raises        : ShapeError, DTypeError, ArgumentError, ValueRangeError
    source        : He et al. 2017 (Mask R-CNN), section 3
    """
    features, rois = _map("roi_align", features, rois, 5)
    if roi_end_mode not in (0, 1):
        raise ValueRangeError(f"roi_align: roi_end_mode is 0 or 1, not {roi_end_mode!r}")
    if isinstance(sample_num, bool) or not isinstance(sample_num, int):
        raise ArgumentError(f"roi_align: sample_num is an int, not {sample_num!r}")
    dtype, (height, width) = dtype_of(features), features.shape[2:]
    x0, y0, x1, y1 = (rois[:, i:i + 1] * spatial_scale for i in range(1, 5))
    wide, high = x1 + roi_end_mode * spatial_scale - x0, y1 + roi_end_mode * spatial_scale - y0
    if not roi_end_mode:
        wide, high = maximum(wide, 1.0), maximum(high, 1.0)
    rows = _between(y0, high, pooled_height, sample_num, height, dtype)
    columns = _between(x0, wide, pooled_width, sample_num, width, dtype)
    pictures = gather_axis(features, cast_to(rois[:, 0], dt.int32), axis=0)
    return matmul(matmul(expand_dims(rows, 1), pictures), expand_dims(swapaxes(columns, 1, 2), 1))


@planned
def ps_roi_pooling(features: Tensor, rois: Tensor, spatial_scale: float, group_size: int, output_dim: int) -> Tensor:
    """Position-sensitive means: cell (i, j) of output channel d is the mean of input channel (d * G + i) * G + j.

    features      : float[N, output_dim * G * G, H, W], G = group_size
    rois          : float[B, 5, R], (number of the picture, x0, y0, x1, y1) on the middle axis
    spatial_scale : float, by which the corners are multiplied: the size of features over that of the picture
    group_size, output_dim : ints
    out           : float[B * R, output_dim, G, G]; an empty cell is 0
    raises        : ShapeError, DTypeError, ArgumentError, ValueRangeError
    source        : Dai et al. 2016 (R-FCN), section 2
    """
    for name, value in (("group_size", group_size), ("output_dim", output_dim)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"ps_roi_pooling: {name} is an int, not {type(value).__name__}")
        if value < 1:
            raise ValueRangeError(f"ps_roi_pooling: {name} is at least 1, not {value}")
    if group_size > 127:
        raise ValueRangeError(f"ps_roi_pooling: group_size is at most 127, not {group_size}")
    check_tensors("ps_roi_pooling", features=features, rois=rois)
    rois = as_operand(rois)
    if rois.ndim != 3:
        raise ShapeError("ps_roi_pooling: rois are [B, 5, R]", note=f"rois: {list(rois.shape)}")
    features, rois = _map("ps_roi_pooling", features, reshape(swapaxes(rois, 1, 2), shape=(-1, rois.shape[1])), 5)
    require("==", features.shape[1], output_dim * group_size * group_size, lambda: ShapeError(
        "ps_roi_pooling: features have output_dim * group_size * group_size channels", note=f"features: {list(features.shape)}"))
    dtype, (height, width) = dtype_of(features), features.shape[2:]
    x0, y0, x1, y1 = (floor(rois[:, i:i + 1] * spatial_scale + 0.5) for i in range(1, 5))
    cell = cast_to(arange(group_size), dtype)

    def part(start, end, length):
        size = maximum(end - start, 0.1) / group_size
        first = clamp(floor(cell * size + start), 0, length)
        last = clamp(ceil((cell + 1.0) * size + start), 0, length)
        position = cast_to(arange(length), dtype)
        inside = logical_and(greater_equal(position, expand_dims(first, 2)), less(position, expand_dims(last, 2)))
        return cast_to(inside, dtype), maximum(last - first, 0.0)
    (rows, high), (columns, wide) = part(y0, y1, height), part(x0, x1, width)
    pictures = gather_axis(features, cast_to(rois[:, 0], dt.int32), axis=0)
    pictures = reshape(pictures, shape=(-1, output_dim, group_size, group_size, height, width))
    count = rois.shape[0]
    rows = reshape(rows, shape=(count, 1, group_size, 1, height, 1))
    columns = reshape(columns, shape=(count, 1, 1, group_size, 1, width))
    area = reshape(high, shape=(count, 1, group_size, 1)) * reshape(wide, shape=(count, 1, 1, group_size))
    total = reduce_sum(pictures * rows * columns, axis=(4, 5), keepdims=False)
    return where(greater(area, 0.0), total / maximum(area, 1.0), 0.0)


@primitive(traits={"library"})
def first_apart(overlaps):
    """bool[.., N]: from the first on, whether a thing overlaps none that is kept before it.

    overlaps : bool[.., N, N], of which the part above the diagonal counts
    """


@infer_rule(first_apart)
def first_apart_infer(overlaps):
    if overlaps.dtype != dt.bool_ or overlaps.ndim < 2:
        raise ShapeError("first_apart: bool[.., N, N] is wanted", note=f"overlaps: {overlaps}")
    require("==", overlaps.shape[-1], overlaps.shape[-2], lambda: ShapeError(
        "first_apart: bool[.., N, N] is wanted", note=f"overlaps: {overlaps}"))
    return AbstractTensor(dt.bool_, overlaps.shape[:-1])


@eval_rule(first_apart)
def first_apart_eval(overlaps):
    keep = np.ones(overlaps.shape[:-1], np.bool_)
    for i in range(overlaps.shape[-1]):
        keep[..., i + 1:] &= ~(keep[..., i:i + 1] & overlaps[..., i, i + 1:])
    return keep


@vmap_rule(first_apart)
def first_apart_vmap(args, dims, size):
    return first_apart(batched(args[0], dims[0], size)), 0


bprop_rule(first_apart)(lambda overlaps, out, dout: None)
jvp_rule(first_apart)(lambda primals, tangents, out: None)


def _spec(overlaps):
    lead = "abcdefgh"[:overlaps.ndim - 2]
    return f"{lead}__->{lead}_"


sbp_rule(first_apart, _spec)


def nms_with_mask(bboxes: Tensor, iou_threshold: float = 0.5) -> Any:
    """Non-maximum suppression. (the boxes by descending score, 0 to N - 1, whether each is kept)

    bboxes        : f16 or f32[N, 5], (x0, y0, x1, y1, score)
    iou_threshold : a box is dropped whose common area with a kept one, over that of both together, is above this
    out           : f[N, 5], i32[N], bool[N]
    raises        : ShapeError, DTypeError, ArgumentError
    source        : Girshick et al. 2014, section 2.2
    """
    bboxes = as_operand(bboxes)
    if isinstance(iou_threshold, bool) or not isinstance(iou_threshold, float):
        raise ArgumentError(f"nms_with_mask: iou_threshold is a float, not {type(iou_threshold).__name__}")
    if dtype_of(bboxes) not in (dt.float16, dt.float32):
        raise DTypeError(f"nms_with_mask: bboxes are float16 or float32, not {dtype_of(bboxes).name}")
    if bboxes.ndim != 2 or bboxes.shape[1] != 5:
        raise ShapeError("nms_with_mask: bboxes are [N, 5]", note=f"bboxes: {list(bboxes.shape)}")
    order = argsort(bboxes[:, 4], descending=True)
    boxes = gather_axis(bboxes, order, axis=0)
    first = [boxes[:, i:i + 1] for i in range(4)]
    second = [reshape(b, shape=(1, -1)) for b in first]
    width = maximum(minimum(first[2], second[2]) - maximum(first[0], second[0]), 0.0)
    height = maximum(minimum(first[3], second[3]) - maximum(first[1], second[1]), 0.0)
    common = width * height
    area, other = ((b[2] - b[0]) * (b[3] - b[1]) for b in (first, second))
    return boxes, arange(boxes.shape[0], dtype=dt.int32), first_apart(greater(common, iou_threshold * (area + other - common)))
