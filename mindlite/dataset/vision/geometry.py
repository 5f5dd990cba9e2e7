"""Where pixels stand: crops, flips, padding, rotations, affine and perspective maps, other sizes."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from PIL import Image

from ...common.errors import ArgumentError, ValueRangeError
from ...common.lazy import LazyModule
from .. import draws
from ..operation import (FLOAT_MAX, DataError, as_pil, crop_size, either, flag, image_array, image_operation, image_size, items,
                         kind_of, number, operation, optional, pair, probability, real, whole, within)
from .kinds import OF_PIL, PADDING, RESAMPLING, Border, Inter, SliceMode, known
from .resizing import resize_array, resize_pil
from .warping import warped, warped_pil

kernels = LazyModule("mindlite.dataset.vision.kernels")
inter, border = kind_of(Inter), kind_of(Border)


def fill(value: Any, name: str) -> int | tuple[int, ...]:
    """A number in [0, 255], or three. raises : ArgumentError, ValueRangeError"""
    if isinstance(value, (tuple, list)) and len(value) == 3:
        return tuple(within(kind_of(int)(part, name), 0, 255, name) for part in value)
    if not isinstance(value, int):
        raise ArgumentError(f"{name} should be a single integer or a 3-tuple.")
    return within(value, 0, 255, name)


def padding_of(value: Any, name: str) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of an int, (left and right, top and bottom), or four ints."""
    if not isinstance(value, (tuple, list)):
        return (whole(0)(value, name),) * 4
    if len(value) not in (2, 4):
        raise ValueRangeError("The size of the padding list or tuple should be 2 or 4.", note=f"it is {value!r}")
    sides = items(whole(0))(value, name)
    return sides * 2 if len(sides) == 2 else sides           # type: ignore[return-value]


def resized(image: Any, height: int, width: int, how: Inter) -> Any:
    """An array by OpenCV's rules, a PIL image by Pillow's."""
    if isinstance(image, Image.Image):
        known(how, "PIL images", *OF_PIL)
        return image.resize((width, height), RESAMPLING[how])
    return resize_array(image_array(image, "Resize"), height, width, how)


def target_size(have: tuple[int, int], size: tuple[int, int] | int) -> tuple[int, int]:
    """(height, width) that `Resize` gives: an int is the shorter side."""
    if not isinstance(size, int):
        return size
    height, width = have
    return (size, int(size * width / height)) if height < width else (int(size * height / width), size)


def shape_of(image: Any, name: str) -> tuple[int, int]:
    """(height, width)"""
    if isinstance(image, Image.Image):
        return image.height, image.width
    return image_array(image, name).shape[:2]                # type: ignore[return-value]


@operation(size=image_size, interpolation=inter, video=True)
def Resize(image, /, size, interpolation=Inter.BILINEAR):
    """The image in another size. size : (height, width), or the shorter side

    Arrays are sampled as OpenCV does it, PIL images as Pillow does it, with a filter that grows with the scale.
    """
    return resized(image, *target_size(shape_of(image, "Resize"), size), interpolation)


@operation(size=image_size, random=True, video=True, each=True)
def RandomResize(image, /, size):
    """Resize with an interpolation drawn at random."""
    how = [Inter.LINEAR, Inter.NEAREST, Inter.CUBIC, Inter.AREA][draws.generator().integers(4)]
    array = image_array(image, "RandomResize")
    return resize_array(array, *target_size(array.shape[:2], size), how)


def crop_array(image: np.ndarray, top: int, left: int, height: int, width: int, name: str = "Crop") -> np.ndarray:
    """A part of the image. raises : DataError where it leaves the image"""
    if top + height > image.shape[0]:
        raise DataError(f"{name}: Crop height dimension: {top + height} exceeds image height: {image.shape[0]}")
    if left + width > image.shape[1]:
        raise DataError(f"{name}: Crop width dimension: {left + width} exceeds image width: {image.shape[1]}")
    return image[top:top + height, left:left + width]


def corner(value: Any, name: str) -> tuple:
    """(y, x). raises : ArgumentError, ValueRangeError"""
    if len(kind_of(list, tuple)(value, name)) != 2:
        raise ArgumentError("Coordinates should be a list/tuple (y, x) of length 2.", note=f"it is {value!r}")
    return items(whole(0))(value, name)


@image_operation(coordinates=corner, size=crop_size, pil=False)
def Crop(image, /, coordinates, size):
    """The part with its upper left corner at coordinates (top, left). size : int or (height, width)"""
    (top, left), (height, width) = coordinates, pair(size)
    return crop_array(image, top, left, height, width).copy()


@operation(top=whole(0), left=whole(0), height=whole(1), width=whole(1), size=crop_size, interpolation=inter)
def ResizedCrop(image, /, top, left, height, width, size, interpolation=Inter.BILINEAR):
    """A part of the image, in another size."""
    array = image_array(image, "ResizedCrop")
    return _part_resized(array, crop_array(array, top, left, height, width, "ResizedCrop"), size, interpolation)


def _part_resized(image: Any, part: np.ndarray, size: Any, how: Inter) -> Any:
    target = target_size(part.shape[:2], size) if not isinstance(size, int) else pair(size)
    if isinstance(image, Image.Image):
        known(how, "PIL images", *OF_PIL)
        return as_pil(resize_pil(as_pil(part), *target, how))
    return resize_array(part, *target, how)


@operation(size=crop_size, video=True)
def CenterCrop(image, /, size):
    """The middle of the image; what is missing is 0. Of an odd rest more is cut below and to the right; PIL: rounded."""
    is_pil, image = isinstance(image, Image.Image), image_array(image, "CenterCrop")
    height, width = pair(size)
    tall, wide = max(0, height - image.shape[0]), max(0, width - image.shape[1])
    if math.ceil(tall / 2) > 3 * image.shape[0] or math.ceil(wide / 2) > 3 * image.shape[1]:
        raise DataError(f"CenterCrop: Padding size cannot be more than 3 times of the original image size, got top padding: "
                        f"{math.ceil(tall / 2)}, left padding: {math.ceil(wide / 2)}, while the original image size: "
                        f"{image.shape[0]}, {image.shape[1]}")
    if tall or wide:
        image = pad_array(image, (math.ceil(wide / 2), math.ceil(tall / 2), wide // 2, tall // 2))
    top, left = [round(free / 2) if is_pil else free // 2 for free in (image.shape[0] - height, image.shape[1] - width)]
    part = image[top:top + height, left:left + width].copy()
    return as_pil(part) if is_pil else part


def pad_array(image: np.ndarray, sides: tuple, value: Any = 0, mode: Border = Border.CONSTANT) -> np.ndarray:
    """The image with a border. sides : (left, top, right, bottom)"""
    left, top, right, bottom = sides
    widths = ((top, bottom), (left, right)) + ((0, 0),) * (image.ndim - 2)
    if mode != Border.CONSTANT:
        return np.pad(image, widths, PADDING[mode])          # type: ignore[call-overload]
    out = np.empty((image.shape[0] + top + bottom, image.shape[1] + left + right, *image.shape[2:]), image.dtype)
    out[...] = value if np.ndim(value) == 0 or image.ndim == 3 and image.shape[2] > 1 else value[0]
    out[top:top + image.shape[0], left:left + image.shape[1]] = image
    return out


@image_operation(padding=padding_of, fill_value=fill, padding_mode=border)
def Pad(image, /, padding, fill_value=0, padding_mode=Border.CONSTANT):
    """The image with a border. padding : int, (left and right, top and bottom), or (left, top, right, bottom)"""
    return pad_array(image, padding, fill_value, padding_mode)


def padded_size(value: Any, name: str) -> tuple[int, int] | int:
    """An int, or (height, width). raises : ArgumentError, ValueRangeError"""
    if isinstance(value, (list, tuple)) and len(value) != 2:
        raise ValueRangeError("The size must be a sequence of length 2.", note=f"it is {value!r}")
    return crop_size(value, name)


def padded_offset(value: Any, name: str) -> tuple | int:
    """An int, (top, left), or nothing in a sequence. raises : ArgumentError, ValueRangeError"""
    if not isinstance(kind_of(int, list, tuple)(value, name), (list, tuple)):
        return whole(0)(value, name)
    if len(value) not in (0, 2):
        raise ValueRangeError("The offset must be empty or a sequence of length 2.", note=f"it is {value!r}")
    return items(whole(0))(value, name)


@image_operation(size=padded_size, offset=optional(padded_offset), fill_value=fill,
                 padding_mode=border, pil=False)
def PadToSize(image, /, size, offset=None, fill_value=0, padding_mode=Border.CONSTANT):
    """The image with a border that makes it `size`. offset : (top, left) of the image, in the middle by default"""
    height, width = pair(size)
    tall, wide = height - image.shape[0], width - image.shape[1]
    if tall < 0 or wide < 0:
        raise DataError(f"PadToSize: the target size to pad should be no less than the original image size, but got target size: "
                        f"({height}, {width}), original size: {image.shape[:2]}.")
    top, left = (tall // 2, wide // 2) if offset is None or offset == () else pair(offset)
    return pad_array(image, (left, top, wide - left, tall - top), fill_value, padding_mode)


@image_operation(pil=False, video=True)
def HorizontalFlip(image, /):
    """Left and right exchanged."""
    return mirrored(image)


def mirrored(image: np.ndarray) -> np.ndarray:
    """See HorizontalFlip."""
    loops = kernels.byte_image(image) or kernels.float_image(image)
    return kernels.mirrored(image) if loops else image[:, ::-1].copy()


@image_operation(pil=False, video=True)
def VerticalFlip(image, /):
    """Above and below exchanged."""
    return image[::-1].copy()


@image_operation(prob=probability, random=True, video=True, each=True)
def RandomHorizontalFlip(image, /, prob=0.5):
    """Left and right exchanged with probability `prob`."""
    if draws.generator().random() >= prob:
        return image
    return mirrored(image)


@image_operation(prob=probability, random=True, each=True)
def RandomVerticalFlip(image, /, prob=0.5):
    """Above and below exchanged with probability `prob`."""
    return image[::-1].copy() if draws.generator().random() < prob else image


def random_corner(image: np.ndarray, size: tuple[int, int], name: str = "RandomCrop") -> tuple[int, int]:
    """(top, left) of a part drawn at random. raises : DataError if the image is smaller"""
    spare = image.shape[0] - size[0], image.shape[1] - size[1]
    if min(spare) < 0:
        raise DataError(f"{name}: invalid crop size. Crop size {size} is larger than the image size {image.shape[:2]}")
    numbers = draws.generator()
    return int(numbers.integers(spare[0] + 1)), int(numbers.integers(spare[1] + 1))


def padded_for_crop(image: np.ndarray, size: tuple[int, int], padding: Any, if_needed: bool, value: Any, mode: Border) -> tuple:
    """(the image with a border, how far its corner has moved: (left, top))"""
    sides = padding or (0, 0, 0, 0)
    if padding:
        image = pad_array(image, sides, value, mode)
    moved = sides[0], sides[1]
    if if_needed:
        tall, wide = max(0, size[0] - image.shape[0]), max(0, size[1] - image.shape[1])
        image = pad_array(image, (wide, tall, wide, tall), value, mode)
        moved = moved[0] + wide, moved[1] + tall
    return image, moved


CROP: dict[str, Any]
CROP = dict(size=crop_size, padding=optional(padding_of), pad_if_needed=flag, fill_value=fill, padding_mode=border)


@image_operation(random=True, video=True, each=True, **CROP)
def RandomCrop(image, /, size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=Border.CONSTANT):
    """A part of the image at a random position, after padding."""
    image, _ = padded_for_crop(image, pair(size), padding, pad_if_needed, fill_value, padding_mode)
    top, left = random_corner(image, pair(size))
    return crop_array(image, top, left, *pair(size)).copy()


def random_part(height: int, width: int, scale: tuple, ratio: tuple, attempts: int,
                pil: bool = False) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a part with a random area and aspect (Szegedy et al. 2015); the middle if none fits.

    pil : a PIL image's height is rounded from the whole width, and halves go to even numbers, as in MindSpore
    """
    numbers, (low, high) = draws.generator(), (math.log(end) for end in ratio)
    for _ in range(attempts):
        share, shape, y, x = numbers.random(4).tolist()
        area = height * width * (scale[0] + (scale[1] - scale[0]) * share)
        aspect = math.exp(low + (high - low) * shape)
        w = round(math.sqrt(area * aspect))
        h = round(w / aspect) if pil else round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return int(y * (height - h + 1)), int(x * (width - w + 1)), h, w
    aspect = min(max(width / height, ratio[0]), ratio[1])
    w, h = min(width, round(height * aspect)), min(height, round(width / aspect))
    return (round((height - h) / 2), round((width - w) / 2), h, w) if pil else ((height - h + 1) // 2, (width - w + 1) // 2, h, w)


def growing(low_open: bool, sequence: str = "list/tuple") -> Any:
    """Two numbers >= 0, the second not smaller. sequence : the word for them in an error"""
    def check(value: Any, name: str) -> tuple:
        if len(kind_of(tuple, list)(value, name)) != 2:
            raise ArgumentError(f"{name} should be a {sequence} of length 2.", note=f"it is {value!r}")
        first, second = items(number(0, open_left=low_open))(value, name)
        if first > second:
            raise ValueRangeError(f"{name} should be in (min,max) format. Got (max,min).")
        return within(first, 0, second, name), second
    return check


PART = dict(size=crop_size, scale=growing(False), ratio=growing(True), interpolation=inter, max_attempts=whole(1))


@operation(random=True, video=True, each=True, **PART)
def RandomResizedCrop(image, /, size, scale=(0.08, 1.0), ratio=(3. / 4., 4. / 3.), interpolation=Inter.BILINEAR, max_attempts=10):
    """A random part of the image in a given size: Szegedy et al. 2015.

    scale, ratio : bounds of the part's share of the area and of width / height
    """
    array = image_array(image, "RandomResizedCrop")
    rows, columns = array.shape[:2]
    top, left, height, width = random_part(rows, columns, scale, ratio, max_attempts, isinstance(image, Image.Image))
    return _part_resized(image, array[top:top + height, left:left + width], size, interpolation)


def crops_of(image: Any, size: Any, name: str) -> list:
    """The four corners and the middle of a PIL image."""
    if not isinstance(image, Image.Image):
        raise ArgumentError(f"img should be PIL image. Got {type(image)}. Use Decode() for encoded data or ToPIL() for decoded "
                            f"data.")
    height, width = pair(size)
    if height > image.height or width > image.width:
        raise ValueRangeError(f"{name}: crop size {(height, width)} is larger than the image {(image.height, image.width)}")
    right, below = image.width - width, image.height - height
    corners = [(0, 0), (right, 0), (0, below), (right, below), (int(round(right / 2.)), int(round(below / 2.)))]
    return [image.crop((x, y, x + width, y + height)) for x, y in corners]


@operation(size=crop_size)
def FiveCrop(image, /, size):
    """The four corners and the middle of a PIL image, as a tuple."""
    return tuple(crops_of(image, size, "FiveCrop"))


@operation(size=crop_size, use_vertical_flip=flag)
def TenCrop(image, /, size, use_vertical_flip=False):
    """FiveCrop of a PIL image and of its mirror image, as a tuple."""
    crops = crops_of(image, size, "TenCrop")
    how = Image.Transpose.FLIP_TOP_BOTTOM if use_vertical_flip else Image.Transpose.FLIP_LEFT_RIGHT
    return tuple(crops + crops_of(image.transpose(how), size, "TenCrop"))


@operation(num_height=whole(1), num_width=whole(1), slice_mode=kind_of(SliceMode), fill_value=whole(0, 255))
def SlicePatches(image, /, num_height=1, num_width=1, slice_mode=SliceMode.PAD, fill_value=0):
    """The image cut into num_height x num_width parts, row by row, as a tuple."""
    image = image_array(image, "SlicePatches")
    height, width = image.shape[:2]
    if slice_mode == SliceMode.PAD:
        image = pad_array(image, (0, 0, -width % num_width, -height % num_height), fill_value)
    tall, wide = image.shape[0] // num_height, image.shape[1] // num_width
    parts = tuple(image[i * tall:(i + 1) * tall, j * wide:(j + 1) * wide].copy()
                  for i in range(num_height) for j in range(num_width))
    return parts if len(parts) > 1 else parts[0]


# ------------------------------------------------------------------- maps of the plane

def affine_inverse(centre: tuple, angle: float, shift: tuple, scale: float, shear: tuple) -> list[float]:
    """The inverse of: rotate by `angle` degrees, shear, scale about the centre (x, y), then shift."""
    a, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    m = np.array([[math.cos(a - sy) / math.cos(sy), -math.cos(a - sy) * math.tan(sx) / math.cos(sy) - math.sin(a)],
                  [math.sin(a - sy) / math.cos(sy), -math.sin(a - sy) * math.tan(sx) / math.cos(sy) + math.cos(a)]]) * scale
    inverse = np.linalg.inv(m)
    offset = np.array(centre) - inverse @ (np.array(centre) + np.array(shift))
    return [*inverse[0], offset[0], *inverse[1], offset[1]]


def rotated(image: np.ndarray, degrees: float, how: Inter, expand: bool, centre: tuple | None, value: Any) -> np.ndarray:
    """The image rotated counter-clockwise. expand : its size becomes that of the turned image, also where the centre is not
    the middle and parts are lost"""
    height, width = image.shape[:2]
    middle = (width / 2, height / 2) if centre is None else (centre[0] + 0.5, centre[1] + 0.5)
    if not expand:
        return warped(image, (height, width), affine_inverse(middle, -degrees, (0, 0), 1.0, (0, 0)), how, value)
    if degrees % 90 == 0 and centre is None:
        return np.rot90(image, int(degrees // 90) % 4).copy()
    a = math.radians(degrees)
    wide = width * abs(math.cos(a)) + height * abs(math.sin(a))
    tall = width * abs(math.sin(a)) + height * abs(math.cos(a))
    inverse = affine_inverse(middle, -degrees, (wide / 2 - width / 2, tall / 2 - height / 2), 1.0, (0, 0))
    return warped(image, (round(tall), round(wide)), inverse, how, value)


def centre_of(value: Any, name: str) -> tuple | None:
    """None or (x, y). raises : ValueRangeError for what is none, ArgumentError for what is no number"""
    if value is not None and (not isinstance(value, (tuple, list)) or len(value) != 2):
        raise ValueRangeError(f"Value {name} needs to be a 2-tuple.")
    return None if value is None else items(real())(value, name)


@image_operation(degrees=number(), resample=inter, expand=flag, center=centre_of, fill_value=fill, pil=False, video=True)
def Rotate(image, /, degrees, resample=Inter.NEAREST, expand=False, center=None, fill_value=0):
    """The image rotated counter-clockwise. center : (x, y), the middle by default"""
    return rotated(image, degrees, resample, expand, center, fill_value)


def both_ways(value: Any, name: str) -> tuple:
    """(-v, v) of one number v >= 0, or (low, high)."""
    kind_of(int, float, list, tuple)(value, name)
    if isinstance(value, (int, float)):
        return -within(value, 0, FLOAT_MAX, name), value
    if len(value) != 2:
        raise ArgumentError(f"If {name} is a sequence, the length must be 2.")
    low, high = items(real())(value, name)
    if low > high:
        raise ValueRangeError(f"{name} should be in (min,max) format. Got (max,min).")
    return low, high


@operation(degrees=both_ways, resample=inter, expand=flag, center=centre_of, fill_value=fill, random=True)
def RandomRotation(image, /, degrees, resample=Inter.NEAREST, expand=False, center=None, fill_value=0):
    """The image rotated by an angle drawn from `degrees`, (low, high) or (-degrees, degrees)."""
    angle = draws.generator().uniform(*degrees)
    if isinstance(image, Image.Image):
        one = len(image.getbands()) == 1 and isinstance(fill_value, (tuple, list))
        return image.rotate(angle, RESAMPLING[resample], expand, center, fillcolor=fill_value[0] if one else fill_value)
    return rotated(image_array(image, "RandomRotation"), angle, resample, expand, center, fill_value)


def shear_of(value: Any, name: str) -> tuple:
    """(low, high) of the shear along x, and of that along y."""
    if isinstance(value, (tuple, list)) and len(value) not in (2, 4):
        raise ArgumentError(f"{name} must be of length 2 or 4.")
    if isinstance(value, (tuple, list)) and len(value) == 4:
        return (*both_ways(value[:2], name), *both_ways(value[2:], name))
    return (*both_ways(value, name), 0.0, 0.0)


@image_operation(degrees=number(-180, 180), translate=items(number(-1.0, 1.0), 2), scale=number(0, open_left=True),
                 shear=either(number(-180, 180), items(number(-180, 180), 2)), resample=inter, fill_value=fill, pil=False)
def Affine(image, /, degrees, translate, scale, shear, resample=Inter.NEAREST, fill_value=0):
    """The image rotated, sheared, scaled about its middle, and moved by shares of its width and height."""
    height, width = image.shape[:2]
    shears = shear if isinstance(shear, tuple) else (shear, 0.0)
    inverse = affine_inverse((width / 2, height / 2), degrees, (translate[0] * width, translate[1] * height), scale, shears)
    return warped(image, (height, width), inverse, resample, fill_value)


@operation(degrees=both_ways, translate=optional(items(number(-1.0, 1.0), 2, 4)),
           scale=optional(growing(False, "list or tuple")), shear=optional(shear_of), resample=inter, fill_value=fill,
           random=True)
def RandomAffine(image, /, degrees, translate=None, scale=None, shear=None, resample=Inter.NEAREST, fill_value=0):
    """An affine map with angle, shift, scale and shear drawn from intervals.

    translate : (low, high) shares of the width, or of the width and the height;  shear : degrees
    """
    numbers, (height, width) = draws.generator(), image_array(image, "RandomAffine").shape[:2]
    angle, factor = numbers.uniform(*degrees), 1.0 if scale is None else numbers.uniform(*scale)
    moves = (0.0, 0.0, 0.0, 0.0) if translate is None else (*translate, 0.0, 0.0)[:4]
    shift = numbers.uniform(*sorted(moves[:2])) * width, numbers.uniform(*sorted(moves[2:])) * height
    shears = (0.0, 0.0) if shear is None else (numbers.uniform(*shear[:2]), numbers.uniform(*shear[2:]))
    inverse = affine_inverse((width / 2, height / 2), angle, shift, factor, shears)
    return either_warped(image, (height, width), inverse, resample, fill_value)


def either_warped(image: Any, size: tuple[int, int], inverse: list[float], how: Inter, value: Any = 0) -> Any:
    """A PIL image by Pillow, an array as OpenCV does it."""
    return (warped_pil if isinstance(image, Image.Image) else warped)(image, size, inverse, how, value)


def perspective_inverse(start: Any, end: Any) -> list[float]:
    """The eight numbers of the map that takes the four points `end` back to `start`."""
    rows, right = [], []
    for (x, y), (u, v) in zip(end, start):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.linalg.lstsq(np.array(rows, float), np.array(right, float), rcond=None)[0].tolist()


points = items(items(whole(), 2), 4)


@operation(start_points=points, end_points=points, interpolation=inter)
def Perspective(image, /, start_points, end_points, interpolation=Inter.BILINEAR):
    """The image seen so that four points (x, y) come to stand at four others: top left, top right, bottom right, bottom left."""
    size = image_array(image, "Perspective").shape[:2]
    return either_warped(image, size, perspective_inverse(start_points, end_points), interpolation)


@operation(distortion_scale=probability, prob=probability, interpolation=inter, random=True)
def RandomPerspective(image, /, distortion_scale=0.5, prob=0.5, interpolation=Inter.BICUBIC):
    """With probability `prob` the image with its corners moved inwards at random, by up to `distortion_scale` / 2 of a side."""
    numbers = draws.generator()
    if numbers.random() >= prob:
        return image
    height, width = image_array(image, "RandomPerspective").shape[:2]
    tall, wide = int(distortion_scale * (height // 2)), int(distortion_scale * (width // 2))
    start = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
    end = [(abs(x - int(numbers.integers(wide + 1))), abs(y - int(numbers.integers(tall + 1)))) for x, y in start]
    return either_warped(image, (height, width), perspective_inverse(start, end), interpolation)
