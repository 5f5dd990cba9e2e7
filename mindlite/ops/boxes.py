"""Boxes in pictures as four numbers (x0, y0, x1, y1): how much two overlap, and one described by its distance from another.

Source: Ren et al. 2015 (Faster R-CNN), section 3.1.2.
"""
from __future__ import annotations

import math
from typing import Any
from collections.abc import Sequence

from ..common.errors import ArgumentError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .arithmetic import clamp, maximum, minimum
from .basic import reshape
from .define import as_operand
from .elementary import exp, log
from .logic import greater_equal, less_equal, logical_and
from .structure import stack


def _boxes(name, what, value):
    value = as_operand(value)
    if value.ndim != 2 or value.shape[1] != 4:
        raise ShapeError(f"{name}: {what} is [N, 4]", note=f"{list(value.shape)}")
    return value


def _numbers(name, what, values, count=4):
    if not hasattr(values, "__iter__"):
        raise ArgumentError(f"{name}: {what} are {count} numbers in a row, not {type(values).__name__}")
    values = tuple(values)
    if len(values) != count:
        raise ValueRangeError(f"{name}: {what} are {count} numbers", note=repr(values))
    return values


@planned
def iou(anchor_boxes: TensorLike, gt_boxes: TensorLike, mode: str = "iou") -> Tensor:
    """out[m, n] : the common area of gt_boxes[m] and anchor_boxes[n] over that of both together (mode "iou"), or over
    that of gt_boxes[m] ("iof"). Sides count both ends: x1 - x0 + 1."""
    if mode not in ("iou", "iof"):
        raise ValueRangeError(f"iou: mode is 'iou' or 'iof', not {mode!r}")
    anchors, truths = _boxes("iou", "anchor_boxes", anchor_boxes), _boxes("iou", "gt_boxes", gt_boxes)
    a = [reshape(anchors[:, i], shape=(1, -1)) for i in range(4)]
    t = [reshape(truths[:, i], shape=(-1, 1)) for i in range(4)]
    area_a, area_t = ((b[2] - b[0] + 1) * (b[3] - b[1] + 1) for b in (a, t))
    width = maximum(minimum(a[2], t[2]) - maximum(a[0], t[0]) + 1, 0)
    height = maximum(minimum(a[3], t[3]) - maximum(a[1], t[1]) + 1, 0)
    common = width * height
    return common / (area_t if mode == "iof" else area_a + area_t - common)


def _centre(box):
    """(x and y of the centre, width, height); sides count both ends."""
    x0, y0, x1, y1 = (box[:, i] for i in range(4))
    return (x0 + x1) * 0.5, (y0 + y1) * 0.5, x1 - x0 + 1, y1 - y0 + 1


@planned
def bounding_box_encode(anchor_box: TensorLike, groundtruth_box: TensorLike, means: Any = (0.0, 0.0, 0.0, 0.0),
                        stds: Any = (1.0, 1.0, 1.0, 1.0)) -> Tensor:
    """groundtruth_box [N, 4] as offsets from anchor_box [N, 4]: (centre's in widths and heights, logarithms of the ratios
    of sides), less `means`, over `stds`."""
    means, stds = _numbers("bounding_box_encode", "means", means), _numbers("bounding_box_encode", "stds", stds)
    px, py, pw, ph = _centre(_boxes("bounding_box_encode", "anchor_box", anchor_box))
    gx, gy, gw, gh = _centre(_boxes("bounding_box_encode", "groundtruth_box", groundtruth_box))
    deltas = ((gx - px) / pw, (gy - py) / ph, log(gw / pw), log(gh / ph))
    return stack([(d - m) / s for d, m, s in zip(deltas, means, stds)], 1)


@planned
def bounding_box_decode(anchor_box: Tensor, deltas: Tensor, max_shape: Sequence[int], means: Any = (0.0, 0.0, 0.0, 0.0),
                        stds: Any = (1.0, 1.0, 1.0, 1.0), wh_ratio_clip: float = 0.016) -> Tensor:
    """The boxes whose offsets from anchors bounding_box_encode gave, kept inside a picture.

    anchor_box : Tensor [N, 4]: (x0, y0, x1, y1)
    deltas : Tensor [N, 4]: the centre's offset in widths and heights, logarithms of the ratios of sides
    max_shape : (height, width) of the picture
    means, stds : four floats each, by which the offsets were normalised
    wh_ratio_clip : float; logarithms of ratios of sides are kept within that of this number
    out    : Tensor [N, 4]
    raises : ShapeError for other shapes, ValueRangeError for other numbers of means and stds
    source : Girshick et al. 2014, appendix C
    """
    means, stds = _numbers("bounding_box_decode", "means", means), _numbers("bounding_box_decode", "stds", stds)
    height, width = _numbers("bounding_box_decode", "max_shape", max_shape, 2)
    px, py, pw, ph = _centre(_boxes("bounding_box_decode", "anchor_box", anchor_box))
    deltas = _boxes("bounding_box_decode", "deltas", deltas)
    dx, dy, dw, dh = (deltas[:, i] * stds[i] + means[i] for i in range(4))
    most = -math.log(wh_ratio_clip) if wh_ratio_clip < 1 else math.log(wh_ratio_clip)
    gw, gh = (exp(clamp(d, -most, most)) * side for d, side in ((dw, pw), (dh, ph)))
    gx, gy = px + pw * dx, py + ph * dy
    ends = (gx - gw * 0.5 + 0.5, gy - gh * 0.5 + 0.5, gx + gw * 0.5 - 0.5, gy + gh * 0.5 - 0.5)
    return stack([clamp(end, 0, size - 1) for end, size in zip(ends, (width, height, width, height))], 1)


def check_valid(bboxes: TensorLike, img_metas: TensorLike) -> Tensor:
    """Whether each box lies in its picture.

    bboxes : Tensor [N, 4]: (x0, y0, x1, y1)
    img_metas : Tensor [3] or three numbers: (height, width, ratio); the borders are 0, width * ratio - 1 and height * ratio - 1
    out    : bool [N]
    raises : ShapeError for other shapes
    """
    boxes, meta = _boxes("check_valid", "bboxes", bboxes), as_operand(img_metas)
    if tuple(meta.shape) != (3,):
        raise ShapeError("check_valid: img_metas is (height, width, ratio)", note=f"img_metas: {list(meta.shape)}")
    height, width = (meta[i] * meta[2] - 1 for i in range(2))
    starts = logical_and(greater_equal(boxes[:, 0], 0), greater_equal(boxes[:, 1], 0))
    ends = logical_and(less_equal(boxes[:, 2], width), less_equal(boxes[:, 3], height))
    return logical_and(starts, ends)
