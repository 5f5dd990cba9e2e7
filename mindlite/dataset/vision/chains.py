"""What usual pipelines of images end in, as one loop over the pixels: the bits and the draws of one operation after the other.

    [RandomCropDecodeResize(224), RandomHorizontalFlip(), Normalize(mean, std), HWC2CHW()]      written to its place in the batch
"""
from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from ...common.lazy import LazyModule
from .. import draws
from ..operation import in_turn, joins, pair
from .colour import HWC2CHW, Normalize
from .formats import Decode, RandomCropDecodeResize, part_of_pixels, pixels
from .geometry import RandomHorizontalFlip, RandomResizedCrop, Resize, random_part, target_size
from .kinds import Inter
from .resizing import is_linear, resize_array

kernels = LazyModule("mindlite.dataset.vision.kernels")
Part = Callable[[Any], tuple[np.ndarray, tuple[int, int]]]  # image -> (bytes that are resized, to which height and width)


def _random_part(crop: Any, read: Callable[[Any, Callable], np.ndarray]) -> Part:
    """A part that is drawn. read : (image, what chooses of height and width) -> the part"""
    choose = functools.partial(random_part, scale=crop.scale, ratio=crop.ratio, attempts=crop.max_attempts)
    return lambda image: (read(image, choose), pair(crop.size))


def _decoded_part(name: str) -> Callable[[Any, Callable], np.ndarray]:
    return lambda image, choose: part_of_pixels(image, name, choose)


def _cut(image: np.ndarray, choose: Callable) -> np.ndarray:
    top, left, height, width = choose(*image.shape[:2])
    return image[top:top + height, left:left + width]


def _whole(resize: Any, read: Callable[[Any], np.ndarray]) -> Part:
    def part(image: Any) -> tuple[np.ndarray, tuple[int, int]]:
        array = read(image)
        return array, target_size(array.shape[:2], resize.size)
    return part


# {operations that resize: (of the last of them the Part, True if images come encoded)}
RESIZED: dict[tuple[type, ...], tuple[Callable[[Any], Part], bool]] = {
    (RandomCropDecodeResize,): (lambda crop: _random_part(crop, _decoded_part("RandomCropDecodeResize")), True),
    (Decode, RandomResizedCrop): (lambda crop: _random_part(crop, _decoded_part("Decode")), True),
    (Decode, Resize): (lambda resize: _whole(resize, lambda image: pixels(image, "Decode")), True),
    (RandomResizedCrop,): (lambda crop: _random_part(crop, _cut), False),
    (Resize,): (lambda resize: _whole(resize, lambda image: image), False)}


def _chain(kinds: tuple[type, ...], flips: bool) -> Callable:
    """What makes one function of the operations of `kinds`, RandomHorizontalFlip, Normalize and HWC2CHW."""
    part_of, encoded = RESIZED[kinds]

    def make(*operations: Any) -> Callable | None:
        resize, normalize = operations[len(kinds) - 1], operations[-2]
        if resize.interpolation != Inter.LINEAR or not normalize.is_hwc or len(normalize.mean) not in (1, 3) or \
                getattr(operations[0], "to_pil", False):
            return None
        part, probability = part_of(resize), operations[-3].prob if flips else 0.0

        def chain(image: Any, *more: Any, out: np.ndarray | None = None) -> Any:
            if more or not encoded and not _of_three_bytes(image):
                found = in_turn(operations, (image, *more))
                return found if len(found) > 1 else found[0]
            array, (height, width) = part(image)
            mirror = flips and draws.generator().random() < probability
            if is_linear(array, height, width):
                return kernels.sampled(array, height, width, mirror, normalize.mean, normalize.std, out)
            array = resize_array(array, height, width, Inter.LINEAR)
            return kernels.normalised(array[:, ::-1] if mirror else array, normalize.mean, normalize.std, True, out)
        chain.writes = True                                  # type: ignore[attr-defined]
        return chain
    return make


def _of_three_bytes(image: Any) -> bool:
    return isinstance(image, np.ndarray) and kernels.byte_image(image) and image.shape[2] == 3


for _kinds in RESIZED:
    for _flip in ((), (RandomHorizontalFlip,)):
        joins(*_kinds, *_flip, Normalize, HWC2CHW)(_chain(_kinds, bool(_flip)))
