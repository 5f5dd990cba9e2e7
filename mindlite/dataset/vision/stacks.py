"""What operations on images make of many rows in one array, with the bits and the draws of one row after the other.

    [RandomCrop(28, 4), Rescale(1 / 255, 0.0)] on 64 rows      a border, 64 parts and one product in place of 64 calls of each
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...common.lazy import LazyModule
from .. import draws
from ..operation import pair, stacks
from .colour import HWC2CHW, Normalize, Rescale, normalised_channels
from .formats import ToTensor, ToType
from .geometry import RandomCrop, RandomHorizontalFlip
from .kinds import Border

kernels = LazyModule("mindlite.dataset.vision.kernels")


@stacks(Normalize)
def normalise_stack(normalize: Any, images: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """Normalize of many images."""
    mean, axis = normalize.mean, -1 if normalize.is_hwc else 1
    if images.ndim != 4 or len(mean) not in (1, images.shape[axis]):
        return None
    return normalised_channels(images, mean, normalize.std, normalize.is_hwc)


@stacks(HWC2CHW)
def transpose_stack(transpose: Any, images: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """HWC2CHW of many images."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)) if images.ndim == 4 else None


@stacks(Normalize, HWC2CHW)
def normalise_planes_of_stack(normalize: Any, transpose: Any, images: np.ndarray, at: Any,
                              out: np.ndarray | None) -> np.ndarray | None:
    """Normalize, then HWC2CHW, of many images: of bytes in one loop over the pixels, written where they belong."""
    if images.ndim != 4 or not (normalize.is_hwc and kernels.byte_image(images[0], True) and
                                len(normalize.mean) in (1, images.shape[3])):
        found = normalise_stack(normalize, images, at, None)
        return None if found is None else transpose_stack(transpose, found, at, out)
    shape = (len(images), images.shape[3], *images.shape[1:3])
    if out is None or out.shape != shape or out.dtype != np.float32:
        out = np.empty(shape, np.float32)
    for image, place in zip(images, out):
        kernels.normalised(image, normalize.mean, normalize.std, True, place)
    return out


@stacks(Rescale)
def rescale_stack(rescale: Any, images: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray:
    """Rescale of many arrays."""
    found = np.multiply(images, np.float32(rescale.rescale), dtype=np.float32)
    return np.add(found, np.float32(rescale.shift), out=found)


@stacks(RandomCrop, crops=True)
def crop_stack(crop: Any, images: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """RandomCrop of many images: they get their border together."""
    if images.ndim != 4 or crop.pad_if_needed or crop.padding_mode != Border.CONSTANT or \
            np.ndim(crop.fill_value) and len(crop.fill_value) != images.shape[3]:
        return None
    (height, width), (left, top, right, bottom) = pair(crop.size), crop.padding or (0, 0, 0, 0)
    tall, wide = images.shape[1] + top + bottom - height, images.shape[2] + left + right - width
    if min(tall, wide) < 0:
        return None
    if crop.padding:
        bordered = np.empty((len(images), height + tall, width + wide, images.shape[3]), images.dtype)
        bordered[...] = crop.fill_value
        bordered[:, top:top + images.shape[1], left:left + images.shape[2]] = images
        images = bordered
    found = np.empty((len(images), height, width, images.shape[3]), images.dtype)
    for k, image in enumerate(images):
        at(k)
        integers = draws.generator().integers
        y, x = int(integers(tall + 1)), int(integers(wide + 1))
        found[k] = image[y:y + height, x:x + width]
    return found


@stacks(RandomHorizontalFlip)
def flip_stack(flip: Any, images: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """RandomHorizontalFlip of many images; of one image a view, which what follows reads from right to left."""
    if images.ndim != 4:
        return None
    found = images
    if len(images) == 1:
        at(0)
        return images[:, :, ::-1] if draws.generator().random() < flip.prob else images
    for k, image in enumerate(images):
        at(k)
        if draws.generator().random() < flip.prob:
            found = images.copy() if found is images else found
            found[k] = kernels.mirrored(image) if kernels.byte_image(image) else image[:, ::-1]
    return found


@stacks(ToTensor)
def tensor_stack(to_tensor: Any, images: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """ToTensor of many images."""
    if images.ndim not in (3, 4) or images.dtype in (np.uint32, np.int64, np.uint64, np.bool_):
        return None
    planes = images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2)
    found = np.empty(planes.shape, np.float32)
    np.multiply(planes, np.float32(1 / 255), out=found, casting="unsafe")
    return found.astype(to_tensor.output_type, copy=False)


@stacks(ToType)
def typed_stack(to_type: Any, images: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """ToType of many images."""
    return images.astype(to_type.data_type) if to_type.data_type.kind in "biuf" else None
