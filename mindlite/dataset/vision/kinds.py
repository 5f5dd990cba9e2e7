"""The words of vision: interpolations, borders, conversions."""
from __future__ import annotations

import enum

from PIL import Image

from ...common.errors import ArgumentError, ValueRangeError
from ..operation import DataError


class Inter(enum.IntEnum):
    """Interpolations."""
    NEAREST = 0
    ANTIALIAS = 1
    LINEAR = 2
    BILINEAR = 2
    CUBIC = 3
    BICUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(str, enum.Enum):
    """What stands beyond the border of an image."""
    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class ConvertMode(enum.IntEnum):
    """Conversions between orders of channels; A is alpha."""
    COLOR_BGR2BGRA = 0
    COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = 1
    COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = 2
    COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = 3
    COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = 4
    COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = 5
    COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = 8
    COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = 9
    COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


class ImageBatchFormat(enum.IntEnum):
    """Order of the axes of a batch."""
    NHWC = 0
    NCHW = 1


class ImageReadMode(enum.IntEnum):
    """How an image file is read."""
    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


class SliceMode(enum.IntEnum):
    """What `SlicePatches` does where sizes do not divide."""
    PAD = 0
    DROP = 1


class AutoAugmentPolicy(str, enum.Enum):
    """The policies of AutoAugment (Cubuk et al. 2019)."""
    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class InterpolationError(DataError, ArgumentError, ValueRangeError):
    """An interpolation that an operation does not know: a TypeError of some of MindSpore's, a ValueError of others."""


def known(how: Inter, of: str, *kinds: Inter) -> None:
    """raises : InterpolationError where `how` is none of the kinds"""
    if how not in kinds:
        raise InterpolationError(f"Unsupported interpolation {how.name}, only support "
                                 f"{', '.join(kind.name for kind in kinds)} for {of}.")


RESAMPLING = {Inter.NEAREST: Image.Resampling.NEAREST, Inter.ANTIALIAS: Image.Resampling.LANCZOS,
              Inter.BILINEAR: Image.Resampling.BILINEAR, Inter.BICUBIC: Image.Resampling.BICUBIC,
              Inter.AREA: Image.Resampling.BOX, Inter.PILCUBIC: Image.Resampling.BICUBIC}
OF_PIL = (Inter.NEAREST, Inter.ANTIALIAS, Inter.LINEAR, Inter.CUBIC)
PADDING = {Border.CONSTANT: "constant", Border.EDGE: "edge", Border.REFLECT: "reflect", Border.SYMMETRIC: "symmetric"}
