"""Images with bounding boxes: rows (x, y, width, height, ...) that are moved, scaled and cut along with the image."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import draws
from ..operation import DataError, image_array, image_size, number, operation, pair, probability
from .geometry import CROP, PART, inter, padded_for_crop, random_corner, random_part, target_size
from .kinds import Border, Inter
from .resizing import resize_array


def checked(image: Any, boxes: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The image and a copy of its boxes. raises : DataError for boxes that are none or lie outside"""
    image, boxes = image_array(image, name), np.array(boxes)
    if boxes.ndim != 2:
        raise DataError(f"{name}: bounding boxes shape should be two-dimensional, but got rank: {boxes.ndim}")
    if boxes.shape[1] < 4:
        raise DataError(f"{name}: bounding boxes should have at least 4 features, but got: {boxes.shape[1]}")
    if (boxes[:, :4] < 0).any():
        raise DataError(f"{name}: bounding boxes have a negative value: {boxes[:, :4].min()}")
    if (boxes[:, 0] + boxes[:, 2] > image.shape[1]).any() or (boxes[:, 1] + boxes[:, 3] > image.shape[0]).any():
        raise DataError(f"{name}: bounding boxes is out of bounds of the image: image width: {image.shape[1]}, "
                        f"image height: {image.shape[0]}")
    return image, boxes


def cut(boxes: np.ndarray, top: float, left: float, height: float, width: float) -> np.ndarray:
    """The boxes as seen from a part of the image; one empty box if none is left."""
    x0, y0 = np.maximum(boxes[:, 0], left), np.maximum(boxes[:, 1], top)
    x1, y1 = np.minimum(boxes[:, 0] + boxes[:, 2], left + width), np.minimum(boxes[:, 1] + boxes[:, 3], top + height)
    stays = (x1 > x0) & (y1 > y0)
    if not stays.any():
        return np.zeros((1, boxes.shape[1]), boxes.dtype)
    found = boxes[stays].copy()
    found[:, :4] = np.stack([x0 - left, y0 - top, x1 - x0, y1 - y0], 1)[stays]
    return found


def scaled(boxes: np.ndarray, tall: float, wide: float) -> np.ndarray:
    """The boxes of an image that becomes `tall` times as high and `wide` times as wide."""
    out = boxes.copy()
    out[:, :4] = (boxes[:, :4] * np.array([wide, tall, wide, tall])).astype(boxes.dtype)
    return out


def resized(image: np.ndarray, boxes: np.ndarray, height: int, width: int, how: Inter) -> tuple:
    """Both in another size."""
    return (resize_array(image, height, width, how), scaled(boxes, height / image.shape[0], width / image.shape[1]))


@operation(size=image_size, interpolation=inter)
def ResizeWithBBox(image, bboxes, /, size, interpolation=Inter.LINEAR):
    """Resize of an image with its boxes."""
    image, boxes = checked(image, bboxes, "ResizeWithBBox")
    return resized(image, boxes, *target_size(image.shape[:2], size), interpolation)


@operation(size=image_size, random=True)
def RandomResizeWithBBox(image, bboxes, /, size):
    """RandomResize of an image with its boxes."""
    image, boxes = checked(image, bboxes, "RandomResizeWithBBox")
    how = [Inter.LINEAR, Inter.NEAREST, Inter.CUBIC, Inter.AREA][draws.generator().integers(4)]
    return resized(image, boxes, *target_size(image.shape[:2], size), how)


@operation(prob=probability, random=True)
def RandomHorizontalFlipWithBBox(image, bboxes, /, prob=0.5):
    """Left and right exchanged with probability `prob`."""
    image, boxes = checked(image, bboxes, "RandomHorizontalFlipWithBBox")
    if draws.generator().random() >= prob:
        return image, boxes
    boxes[:, 0] = image.shape[1] - boxes[:, 0] - boxes[:, 2]
    return image[:, ::-1].copy(), boxes


@operation(prob=probability, random=True)
def RandomVerticalFlipWithBBox(image, bboxes, /, prob=0.5):
    """Above and below exchanged with probability `prob`."""
    image, boxes = checked(image, bboxes, "RandomVerticalFlipWithBBox")
    if draws.generator().random() >= prob:
        return image, boxes
    boxes[:, 1] = image.shape[0] - boxes[:, 1] - boxes[:, 3]
    return image[::-1].copy(), boxes


@operation(random=True, **CROP)
def RandomCropWithBBox(image, bboxes, /, size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=Border.CONSTANT):
    """RandomCrop of an image with its boxes."""
    image, boxes = checked(image, bboxes, "RandomCropWithBBox")
    image, (left, top) = padded_for_crop(image, pair(size), padding, pad_if_needed, fill_value, padding_mode)
    boxes[:, 0] += np.array(left).astype(boxes.dtype)
    boxes[:, 1] += np.array(top).astype(boxes.dtype)
    y, x = random_corner(image, pair(size), "RandomCropWithBBox")
    height, width = pair(size)
    return image[y:y + height, x:x + width].copy(), cut(boxes, y, x, height, width)


@operation(random=True, **PART)
def RandomResizedCropWithBBox(image, bboxes, /, size, scale=(0.08, 1.0), ratio=(3. / 4., 4. / 3.), interpolation=Inter.BILINEAR,
                              max_attempts=10):
    """RandomResizedCrop of an image with its boxes."""
    image, boxes = checked(image, bboxes, "RandomResizedCropWithBBox")
    top, left, height, width = random_part(image.shape[0], image.shape[1], scale, ratio, max_attempts)
    part = image[top:top + height, left:left + width]
    return resized(part, cut(boxes, top, left, height, width), *pair(size), interpolation)


def _operation(value: Any, name: str) -> Callable:
    if not callable(value):
        raise ValueError(f"{name} is not an operation: {value!r}")
    return value


@operation(transform=_operation, ratio=number(0, 1), random=True)
def BoundingBoxAugment(image, bboxes, /, transform, ratio=0.3):
    """An operation of images applied inside of each box with the probability `ratio`."""
    image, boxes = checked(image, bboxes, "BoundingBoxAugment")
    out = image.copy()
    chosen = draws.generator().random(len(boxes)) < ratio
    for x, y, width, height in boxes[chosen, :4].astype(int):
        if width and height:
            part = transform(out[y:y + height, x:x + width].copy())
            part = part[0] if isinstance(part, tuple) else part
            out[y:y + height, x:x + width] = resize_array(np.asarray(part), height, width, Inter.LINEAR)
    return out, boxes
