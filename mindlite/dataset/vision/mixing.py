"""Images mixed with one another: MixUpBatch, CutMixBatch on batches, MixUp for `batch(per_batch_map=..)`."""
from __future__ import annotations

import numpy as np

from ...common.errors import ValueRangeError
from .. import draws
from ..operation import DataError, flag, kind_of, number, operation, probability, whole
from .kinds import ImageBatchFormat

positive = number(0, open_left=True)


def _labels(images: np.ndarray, labels: np.ndarray, name: str) -> np.ndarray:
    if images.ndim != 4:
        raise DataError(f"{name}: input must be a batch of images of 4 dimensions (make sure you have batched before), got "
                        f"{images.ndim}")
    if labels.dtype.kind not in "biuf":
        raise DataError(f"{name}: invalid label type, label must be in a numeric type, but got: {labels.dtype}. You may need to "
                        f"perform OneHot first.")
    if labels.ndim not in (2, 3) or len(labels) != len(images):
        raise DataError(f"{name}: wrong labels shape. The second column (labels) must have a shape of NC or NLC (one-hot) for "
                        f"{len(images)} images, got {labels.shape}")
    return labels.astype(np.float32)


@operation(alpha=positive, random=True)
def MixUpBatch(images, labels, /, alpha=1.0):
    """Each image and its one-hot label mixed with another's, by a share from Beta(alpha, alpha) (Zhang et al. 2018).

    Images keep their dtype; whole numbers are rounded.
    """
    labels, numbers = _labels(images, labels, "MixUpBatch"), draws.generator()
    share, other = numbers.beta(alpha, alpha), numbers.permutation(len(images))
    mixed = share * images.astype(np.float32) + (1 - share) * images[other].astype(np.float32)
    mixed = mixed if images.dtype.kind == "f" else np.rint(mixed)
    return mixed.astype(images.dtype), (share * labels + (1 - share) * labels[other]).astype(np.float32)


@operation(image_batch_format=kind_of(ImageBatchFormat), alpha=positive, prob=probability, random=True)
def CutMixBatch(images, labels, /, image_batch_format, alpha=1.0, prob=1.0):
    """With probability `prob` a rectangle of each image comes from another of the batch (Yun et al. 2019)."""
    labels, numbers = _labels(images, labels, "CutMixBatch"), draws.generator()
    out, mixed = images.copy(), labels.copy()
    view = out if image_batch_format == ImageBatchFormat.NHWC else np.moveaxis(out, 1, -1)
    source = images if image_batch_format == ImageBatchFormat.NHWC else np.moveaxis(images, 1, -1)
    height, width = view.shape[1:3]
    for k, other in enumerate(numbers.permutation(len(images))):
        if numbers.random() >= prob:
            continue
        side = np.sqrt(1 - numbers.beta(alpha, alpha))
        y, x = numbers.integers(height), numbers.integers(width)
        half = int(height * side) // 2, int(width * side) // 2
        top, bottom = max(0, y - half[0]), min(height, y + half[0])
        left, right = max(0, x - half[1]), min(width, x + half[1])
        view[k, top:bottom, left:right] = source[other, top:bottom, left:right]
        share = 1 - (bottom - top) * (right - left) / (height * width)
        mixed[k] = share * labels[k] + (1 - share) * labels[other]
    return out, mixed


@operation(batch_size=whole(1), alpha=positive, is_single=flag, random=True)
def MixUp(image, label, /, batch_size, alpha, is_single=True):
    """For per_batch_map: images mixed with others of the batch (is_single) or with the batch before, and their one-hot labels."""
    images, labels = np.asarray(image).astype(np.float32), np.asarray(label).astype(np.float32)
    if len(images) != batch_size:
        raise ValueRangeError(f"MixUp: the batch has {len(images)} images, not {batch_size}")
    numbers = draws.generator()
    share, other = numbers.beta(alpha, alpha), numbers.permutation(batch_size)
    return share * images + (1 - share) * images[other], share * labels + (1 - share) * labels[other]
