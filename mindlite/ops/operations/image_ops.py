"""Colours, sizes and boxes of pictures as classes. Pictures have their channels last, but for windows and offsets.

Sources: Smith 1978 (hue, saturation, value), Duff 1989 and Mitchell & Netravali 1988 (kernels), Girshick et al. 2014 (boxes)
"""
import math

import numpy as np

from ...common import dtype as dt
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from .. import (abs, arange, argsort, cast, clamp, concat, einsum, equal, floor_mod, full, gather, greater, less_equal,
                logical_and, logical_not, maximum, minimum, reshape, stack, standard_normal, topk, transpose, uniform, where)
from ..define import as_operand, cast_to, dtype_of
from ..regions import first_apart
from .. import masked_select
from .define import operation


# ---------------------------------------------------------------- colours

def _channels(name, pictures):
    pictures = as_operand(pictures)
    if pictures.ndim < 1 or pictures.shape[-1] != 3:
        raise ShapeError(f"{name}: pictures are [.., 3]", note=f"{list(pictures.shape)}")
    return [pictures[..., i] for i in range(3)]


@operation
def RGBToHSV(images):
    """Hue, saturation and value of colours, each in [0, 1]. images : f[.., 3] in [0, 1]; raises : ShapeError"""
    red, green, blue = _channels("RGBToHSV", images)
    value = maximum(maximum(red, green), blue)
    spread = value - minimum(minimum(red, green), blue)
    over = where(spread > 0, spread, 1)
    sixth = where(equal(red, value), (green - blue) / over,
                  where(equal(green, value), (blue - red) / over + 2, (red - green) / over + 4))
    hue = floor_mod(where(spread > 0, sixth, 0) / 6, 1)
    return stack((hue, where(value > 0, spread / where(value > 0, value, 1), 0), value), -1)


@operation
def HSVToRGB(x):
    """Red, green and blue of colours given by hue, saturation and value. x : f[.., 3] in [0, 1]; raises : ShapeError"""
    hue, saturation, value = _channels("HSVToRGB", x)
    turn = hue * 6
    shares = (clamp(abs(turn - 3) - 1, 0, 1), clamp(2 - abs(turn - 2), 0, 1), clamp(2 - abs(turn - 4), 0, 1))
    return stack([(1 - saturation + saturation * share) * value for share in shares], -1)


@operation
def AdjustHue(image, delta):
    """The colours turned by `delta`, a share of the circle. image : f[.., 3] in [0, 1]; raises : ShapeError"""
    hue, saturation, value = _channels("AdjustHue", RGBToHSV()(image))
    turned = stack((floor_mod(hue + as_operand(delta), 1), saturation, value), -1)
    return cast_to(HSVToRGB()(turned), dtype_of(as_operand(image)))


@operation
def AdjustSaturation(image, scale):
    """The colours with their saturation times `scale`. image : f[.., 3] in [0, 1]; raises : ShapeError"""
    hue, saturation, value = _channels("AdjustSaturation", RGBToHSV()(image))
    made = stack((hue, clamp(saturation * as_operand(scale), 0, 1), value), -1)
    return cast_to(HSVToRGB()(made), dtype_of(as_operand(image)))


# ---------------------------------------------------------------- sizes: along each axis a matrix of weights

def _two(name, what, values):
    values = tuple(as_operand(values).tolist())
    if len(values) != 2:
        raise ValueRangeError(f"{name}: {what} are two numbers", note=repr(values))
    return values


def _resampled(images, rows, columns):
    """einsum of [N, H, W, C] with rows [H', H] and columns [W', W]."""
    rows, columns = (as_operand(weights.astype(np.float32)) for weights in (rows, columns))
    return einsum("ph,nhwc,qw->npqc", rows, cast(images, dtype=dt.float32), columns)


def _areas(count, size, align_corners):
    """[count, size]: which share of output pixel i comes from input pixel j, by the area that they have in common."""
    scale = (size - 1) / (count - 1) if align_corners and count > 1 else size / count
    weights = np.zeros((count, size))
    for i in range(count):
        begin, end = i * scale, (i + 1) * scale
        for j in range(math.floor(begin), math.ceil(end)):
            weights[i, min(j, size - 1)] += (min(j + 1, end) - max(j, begin)) / scale
    return weights


@operation
def ResizeArea(images, size, *, align_corners=False):
    """Pictures of another size, each pixel the mean of the area that it covers.

    images : [N, H, W, C] of any number type; size : (height, width); out : f32[N, height, width, C]
    raises : ShapeError, ValueRangeError
    """
    images = as_operand(images)
    if images.ndim != 4:
        raise ShapeError("ResizeArea: images are [N, H, W, C]", note=f"{list(images.shape)}")
    height, width = _two("ResizeArea", "size", size)
    return _resampled(images, _areas(height, images.shape[1], align_corners), _areas(width, images.shape[2], align_corners))


def _lanczos(radius):
    def kernel(x):
        inner = np.where(x < 1e-3, 1.0, np.sinc(x) * np.sinc(x / radius))
        return np.where(x > radius, 0.0, inner)
    return radius, kernel


def _cubic(near, far):
    """Radius 2; near, far : the polynomials below 1 and from 1 to 2, the highest power first"""
    return 2, lambda x: np.where(x >= 2, 0.0, np.where(x >= 1, np.polyval(far, x), np.polyval(near, x)))


_KERNELS = {
    **{f"lanczos{radius}": _lanczos(radius) for radius in (1, 3, 5)},
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0.0, np.exp(-2 * x * x))),
    "box": (1, lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))),
    "triangle": (1, lambda x: np.maximum(1 - x, 0.0)),
    "keyscubic": _cubic((1.5, -2.5, 0, 1), (-0.5, 2.5, -4, 2)),
    "mitchellcubic": _cubic((7 / 6, -2, 0, 8 / 9), (-7 / 18, 2, -10 / 3, 16 / 9))}


def _spans(count, size, scale, translation, kernel_type, antialias):
    """[count, size]: the weights of the input pixels around the place that output pixel i comes from; 0 for a place outside."""
    radius, kernel = _KERNELS[kernel_type]
    wide = max(1 / scale, 1.0) if antialias else 1.0
    weights = np.zeros((count, size))
    for i in range(count):
        place = (i + 0.5 - translation) / scale
        if not 0 <= place <= size:
            continue
        first = max(math.ceil(place - radius * wide - 0.5), 0)
        last = min(math.floor(place + radius * wide - 0.5), size - 1)
        near = kernel(np.abs(np.arange(first, last + 1) + 0.5 - place) / wide)
        weights[i, first:last + 1] = near / near.sum() if near.sum() else near
    return weights


@operation
def ScaleAndTranslate(images, size, scale, translation, *, kernel_type="lanczos3", antialias=True):
    """Pictures of another size: pixel i of an axis comes from (i + 0.5 - translation) / scale, smoothed by a kernel.

    images : [N, H, W, C]; size, scale, translation : two numbers each, for height and width; out : f32[N, height, width, C]
    kernel_type : lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic or mitchellcubic
    antialias : a wider kernel when shrinking
    raises : ShapeError, ValueRangeError
    """
    images = as_operand(images)
    if images.ndim != 4:
        raise ShapeError("ScaleAndTranslate: images are [N, H, W, C]", note=f"{list(images.shape)}")
    if kernel_type not in _KERNELS:
        raise ValueRangeError(f"ScaleAndTranslate: kernel_type is one of {', '.join(_KERNELS)}, not {kernel_type!r}")
    sizes, scales, moves = (_two("ScaleAndTranslate", what, values) for what, values in (
        ("size", size), ("scale", scale), ("translation", translation)))
    if min(scales) <= 0:
        raise ValueRangeError(f"ScaleAndTranslate: scale is above 0, not {min(scales)}")
    rows, columns = (_spans(sizes[i], images.shape[1 + i], scales[i], moves[i], kernel_type, antialias) for i in (0, 1))
    return _resampled(images, rows, columns)


@operation
def ExtractGlimpse(x, size, offsets, *, centered=True, normalized=True, uniform_noise=True, noise="uniform"):
    """A window of each picture, and noise where it lies outside.

    x : f[N, H, W, C]; size : (height, width); offsets : f[N, 2], the middle of the window (y, x)
    centered : offsets are counted from the middle of the picture; in halves of a pixel; normalized : in the picture's sizes
    noise : "uniform", "gaussian" or "zero"
    raises : ShapeError, ValueRangeError
    """
    x, offsets = as_operand(x), as_operand(offsets)
    if x.ndim != 4 or tuple(offsets.shape) != (x.shape[0], 2):
        raise ShapeError("ExtractGlimpse: x is [N, H, W, C], offsets are [N, 2]", note=f"{list(x.shape)}, {list(offsets.shape)}")
    if noise not in ("uniform", "gaussian", "zero"):
        raise ValueRangeError(f"ExtractGlimpse: noise is uniform, gaussian or zero, not {noise!r}")
    (n, height, width, channels), (high, wide) = x.shape, _two("ExtractGlimpse", "size", size)
    places = []
    for axis, (whole, part) in enumerate(((height, high), (width, wide))):
        middle = offsets[:, axis] * (whole if normalized else 1)
        middle = middle / 2 + whole / 2 if centered else middle
        places.append(reshape(cast(middle - part / 2, dtype=dt.int32), shape=(n, 1)) + reshape(arange(part), shape=(1, part)))
    rows, columns = reshape(places[0], shape=(n, high, 1)), reshape(places[1], shape=(n, 1, wide))
    inside = logical_and(logical_and(rows >= 0, rows < height), logical_and(columns >= 0, columns < width))
    flat = clamp(rows, 0, height - 1) * width + clamp(columns, 0, width - 1)
    flat = flat + reshape(arange(n), shape=(n, 1, 1)) * (height * width)
    made = gather(reshape(x, shape=(n * height * width, channels)), reshape(flat, shape=(-1,)), 0)
    shape = (n, high, wide, channels)
    around = (uniform(shape, 0.0, 1.0) if noise == "uniform" else standard_normal(shape) if noise == "gaussian"
              else full(shape, 0.0))
    return where(reshape(inside, shape=(n, high, wide, 1)), reshape(made, shape=shape), around)


@operation
def ExtractVolumePatches(input_x, *, kernel_size, strides, padding):
    """The windows of a volume as channels.

    input_x : [N, C, D, H, W]; kernel_size, strides : (1, 1, d, h, w) or an int; padding : "SAME" (zeros) or "VALID"
    out     : [N, C * d * h * w, D', H', W'], the channel changing fastest
    raises  : ShapeError, ValueRangeError
    """
    x = as_operand(input_x)
    sizes, steps = ((value,) * 3 if isinstance(value, int) else tuple(value)[-3:] for value in (kernel_size, strides))
    if x.ndim != 5:
        raise ShapeError("ExtractVolumePatches: input_x is [N, C, D, H, W]", note=f"{list(x.shape)}")
    if str(padding).upper() not in ("SAME", "VALID"):
        raise ValueRangeError(f"ExtractVolumePatches: padding is SAME or VALID, not {padding!r}")
    places, inside = [], []
    for axis in range(3):
        whole, size, step = x.shape[2 + axis], sizes[axis], steps[axis]
        same = str(padding).upper() == "SAME"
        count = -(-whole // step) if same else (whole - size) // step + 1
        before = max((count - 1) * step + size - whole, 0) // 2 if same else 0
        shape = [1] * 6
        shape[axis], shape[3 + axis] = size, count
        place = (np.arange(size)[:, None] + np.arange(count)[None] * step - before).reshape(shape)
        inside.append((place >= 0) & (place < whole))
        places.append(np.clip(place, 0, whole - 1))
    depth, height, width = x.shape[2:]
    flat = (places[0] * height + places[1]) * width + places[2]
    mask = inside[0] & inside[1] & inside[2]
    made = gather(reshape(x, shape=(*x.shape[:2], depth * height * width)), as_operand(flat.reshape(-1)), 2)
    made = reshape(made, shape=(*x.shape[:2], *flat.shape)) * cast_to(as_operand(mask), dtype_of(x))
    made = transpose(made, perm=(0, 2, 3, 4, 1, 5, 6, 7))
    return reshape(made, shape=(x.shape[0], -1, *flat.shape[3:]))


# ---------------------------------------------------------------- boxes

def _common(boxes):
    """[.., N, N]: of each two boxes [.., N, 4] the common area over that of both."""
    lower = [minimum(boxes[..., i], boxes[..., i + 2]) for i in (0, 1)]
    upper = [maximum(boxes[..., i], boxes[..., i + 2]) for i in (0, 1)]
    area = (upper[0] - lower[0]) * (upper[1] - lower[1])
    sides = [maximum(minimum(u[..., :, None], u[..., None, :]) - maximum(lo[..., :, None], lo[..., None, :]), 0)
             for u, lo in zip(upper, lower)]
    both = sides[0] * sides[1]
    union = area[..., :, None] + area[..., None, :] - both
    return where(union > 0, both / where(union > 0, union, 1), 0)


def _selected(overlaps, scores, max_output_size, iou_threshold, score_threshold):
    """int32: the kept boxes by descending score. overlaps : [N, N]"""
    order = argsort(scores, descending=True)
    above = greater(gather(scores, order, 0), score_threshold)
    ranked = greater(gather(gather(overlaps, order, 0), order, 1), iou_threshold)
    keep = logical_and(first_apart(logical_and(ranked, above[:, None])), above)
    return cast(masked_select(order, keep)[:max_output_size], dtype=dt.int32)


@operation
def NonMaxSuppressionV3(boxes, scores, max_output_size, iou_threshold, score_threshold):
    """The boxes that overlap no better one by more than a threshold, by descending score.

    boxes : f[N, 4], two opposite corners; scores : f[N]; max_output_size, iou_threshold, score_threshold : numbers or Tensors []
    out   : i32[at most max_output_size], their numbers
    raises : ShapeError
    """
    boxes, scores = as_operand(boxes), as_operand(scores)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or tuple(scores.shape) != (boxes.shape[0],):
        raise ShapeError("NonMaxSuppressionV3: boxes are [N, 4], scores [N]", note=f"{list(boxes.shape)}, {list(scores.shape)}")
    return _selected(_common(boxes), scores, int(max_output_size), iou_threshold, score_threshold)


@operation
def NonMaxSuppressionWithOverlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold):
    """As NonMaxSuppressionV3, of the overlap of each two boxes, f[N, N]. raises : ShapeError"""
    overlaps, scores = as_operand(overlaps), as_operand(scores)
    if overlaps.ndim != 2 or tuple(overlaps.shape) != (scores.shape[0],) * 2:
        raise ShapeError("NonMaxSuppressionWithOverlaps: overlaps are [N, N], scores [N]",
                         note=f"{list(overlaps.shape)}, {list(scores.shape)}")
    return _selected(overlaps, scores, int(max_output_size), overlap_threshold, score_threshold)


@operation
def CombinedNonMaxSuppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold, *,
                              pad_per_class=False, clip_boxes=True):
    """Non-maximum suppression for each class, and the best of all classes.

    boxes  : f[B, N, q, 4], q is 1 or the number of classes; scores : f[B, N, classes]
    max_output_size_per_class, max_total_size : ints; iou_threshold, score_threshold : floats; all may be Tensors []
    pad_per_class : at most max_output_size_per_class * classes are given; clip_boxes : to [0, 1]
    out    : (boxes f[B, M, 4], scores f[B, M], classes f[B, M], how many are held i32[B]), 0 behind those
    raises : ShapeError, ArgumentError
    """
    boxes, scores = as_operand(boxes), as_operand(scores)
    if boxes.ndim != 4 or scores.ndim != 3 or boxes.shape[3] != 4 or boxes.shape[2] not in (1, scores.shape[2]):
        raise ShapeError("CombinedNonMaxSuppression: boxes are [B, N, q, 4], scores [B, N, classes]",
                         note=f"{list(boxes.shape)}, {list(scores.shape)}")
    batch, count, classes = scores.shape
    most, total = int(max_output_size_per_class), int(max_total_size)
    if most < 1 or total < 1:
        raise ArgumentError("CombinedNonMaxSuppression: the sizes are above 0", note=f"{most}, {total}")
    total = min(total, most * classes) if pad_per_class else total
    scores, boxes = transpose(scores, perm=(0, 2, 1)), transpose(boxes, perm=(0, 2, 1, 3))
    order = argsort(scores, descending=True)                                               # [B, classes, N]
    parts, values, marks = [], [], []
    for b in range(batch):
        for c in range(classes):
            ranked = gather(boxes[b, c if boxes.shape[1] > 1 else 0], order[b, c], 0)
            value = gather(scores[b, c], order[b, c], 0)
            above = greater(value, score_threshold)
            near = logical_and(greater(_common(ranked), iou_threshold), above[:, None])
            keep = logical_and(first_apart(near), above)
            keep = logical_and(keep, less_equal(cast(keep, dtype=dt.int32).cumsum(0), most))
            parts.append(ranked)
            values.append(where(keep, value, float("-inf")))
            marks.append(full((count,), float(c)))
    flat = reshape(concat(values), shape=(batch, classes * count))
    spare = max(total - classes * count, 0)
    flat = concat((flat, full((batch, spare), float("-inf"))), 1) if spare else flat
    best, where_from = topk(flat, total)
    held = greater(best, float("-inf"))
    where_from = minimum(where_from, classes * count - 1) + reshape(arange(batch), shape=(batch, 1)) * (classes * count)
    found = reshape(gather(concat(parts), reshape(where_from, shape=(-1,)), 0), shape=(batch, total, 4))
    found = clamp(found, 0, 1) if clip_boxes else found
    kinds = reshape(gather(concat(marks), reshape(where_from, shape=(-1,)), 0), shape=(batch, total))
    nothing = logical_not(held)
    return (where(nothing[:, :, None], 0, found), where(nothing, 0, best), where(nothing, 0, kinds),
            cast(cast(held, dtype=dt.int32).sum(1), dtype=dt.int32))
