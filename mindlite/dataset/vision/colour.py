"""What colour pixels have: brightness, contrast, hue, histograms, conversions, noise, normalisation."""
from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from ...common.errors import ArgumentError, ValueRangeError
from ...common.lazy import LazyModule
from .. import draws
from ..operation import (FLOAT_MAX, DataError, either, flag, image_array, image_operation, items, joins, kind_of, number,
                         operation, probability, unnamed, whole, within)
from .hsv import from_hsv, to_hsv
from .kinds import ConvertMode

kernels = LazyModule("mindlite.dataset.vision.kernels")


def as_bytes(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Rounded and cut to the range of whole numbers; floats as they are."""
    if like.dtype.kind in "iu":
        limits = np.iinfo(like.dtype)
        return np.clip(np.rint(values), limits.min, limits.max).astype(like.dtype)
    return values.astype(like.dtype)


def colours(image: np.ndarray, name: str) -> np.ndarray:
    """The image if it has three channels. raises : DataError"""
    what = f"{name}: the {{}} of image tensor does not match the requirement of operator. Expecting tensor in {{}}. But got {{}}."
    if image.ndim != 3:
        raise DataError(what.format("dimension", "dimension of (3), in shape of <H, W, C>", f"dimension {image.ndim}"),
                        note=f"shape {image.shape}")
    if image.shape[2] != 3:
        raise DataError(what.format("channel", "channel of (3)", f"channel {image.shape[2]}"), note=f"shape {image.shape}")
    return image


GREY = 0.299, 0.587, 0.114


def grey_of(image: np.ndarray) -> np.ndarray:
    """The brightness of each pixel: of bytes in OpenCV's whole numbers, of others in float64; whole numbers are rounded."""
    if image.shape[2] == 3 and (kernels.byte_image(image) or kernels.float_image(image)):
        return kernels.grey(image)
    if image.dtype == np.uint8:
        parts = image.astype(np.int32)
        return ((parts[..., 0] * 9798 + parts[..., 1] * 19235 + parts[..., 2] * 3735 + 16384) >> 15).astype(np.uint8)
    red, green, blue = (image[..., k].astype(np.float64) * share for k, share in enumerate(GREY))
    return as_bytes(red + green + blue, image)


def of_bytes(image: np.ndarray, name: str) -> np.ndarray:
    """The image if it consists of bytes, of truth values too. raises : DataError"""
    if image.dtype == bool:
        return image.astype(np.uint8)
    if image.dtype != np.uint8:
        raise DataError(f"{name}: the data type of image tensor does not match the requirement of operator. Expecting tensor in "
                        f"type of (uint8). But got type {image.dtype}.")
    return image


def blended(image: np.ndarray, other: Any, factor: float) -> np.ndarray:
    """factor * image + (1 - factor) * other"""
    if factor == 1:
        return image.copy()
    if (kernels.byte_image(image) or kernels.float_image(image)) and (np.ndim(other) == 0 or other.dtype == image.dtype):
        return kernels.blended(image, other, factor)
    kind: Any = np.float64 if image.dtype == np.float64 else np.float32  # OpenCV's, which decides how halves are rounded
    return as_bytes(image.astype(kind) * kind(factor) + np.asarray(other, kind) * (kind(1) - kind(factor)), image)


def enhanced(enhance: Any, by_array: Any, coloured: bool = True) -> Any:
    """A PIL image through Pillow, an array through a function of (array, factor). coloured : an array must have three channels"""
    def adjust(image: Any, factor: float, name: str) -> Any:
        if isinstance(image, Image.Image):
            return enhance(image).enhance(factor)
        array = image_array(image, name)
        return by_array(colours(array, name) if coloured or array.ndim == 3 and array.shape[2] != 1 else array, factor)
    return adjust


brightness = enhanced(ImageEnhance.Brightness, lambda image, f: blended(image, 0, f), coloured=False)
contrast = enhanced(ImageEnhance.Contrast, lambda image, f: blended(image, as_bytes(grey_of(image).mean(), image), f))
saturation = enhanced(ImageEnhance.Color, lambda image, f: blended(image, grey_of(image)[..., None], f))


@operation(brightness_factor=number(0))
def AdjustBrightness(image, /, brightness_factor):
    """Brightness times a factor."""
    return brightness(image, brightness_factor, "AdjustBrightness")


@operation(contrast_factor=number(0))
def AdjustContrast(image, /, contrast_factor):
    """Distance from the mean brightness times a factor."""
    return contrast(image, contrast_factor, "AdjustContrast")


@operation(saturation_factor=unnamed(number(0)))
def AdjustSaturation(image, /, saturation_factor):
    """Distance from grey times a factor."""
    return saturation(image, saturation_factor, "AdjustSaturation")


def hue_turned(image: Any, factor: float) -> Any:
    """The hue moved by `factor` of a full turn: of a PIL image by Pillow, of an array as OpenCV does it."""
    if not isinstance(image, Image.Image):
        array = of_bytes(colours(image_array(image, "AdjustHue"), "AdjustHue"), "AdjustHue")
        if kernels.byte_image(array):
            return kernels.turned(array, int(factor * 255) % 256)
        hue, saturated, value = to_hsv(array)
        return from_hsv((hue + int(factor * 255)) % 256, saturated, value)
    if image.mode in ("L", "1", "I", "F"):                   # grey has no hue
        return image
    hsv = np.array(image.convert("HSV"))
    hsv[..., 0] = (hsv[..., 0].astype(np.int32) + int(factor * 255)) % 256
    return Image.fromarray(hsv, "HSV").convert("RGB")


@operation(hue_factor=number(-0.5, 0.5))
def AdjustHue(image, /, hue_factor):
    """The hue moved by a share of a full turn."""
    return hue_turned(image, hue_factor)


@image_operation(sharpness_factor=unnamed(number(0)), pil=False)
def AdjustSharpness(image, /, sharpness_factor):
    """Between a smoothed image (0), the image (1) and a sharper one (2)."""
    return sharpened(image, sharpness_factor)


def sharpened(image: np.ndarray, factor: float) -> np.ndarray:
    """See AdjustSharpness: Pillow's filter, the border as it is."""
    if factor == 1:
        return image.copy()
    if kernels.byte_image(image) or kernels.float_image(image):
        return kernels.sharpened(image, factor)
    smooth = image.astype(np.float64)
    if min(image.shape[:2]) >= 3:
        total: Any = sum(smooth[1 + i:smooth.shape[0] - 1 + i, 1 + j:smooth.shape[1] - 1 + j] * (5 if i == j == 0 else 1)
                    for i in (-1, 0, 1) for j in (-1, 0, 1)) / 13
        smooth[1:-1, 1:-1] = as_bytes(total, image)
    return blended(image, smooth, factor)


@image_operation(gamma=unnamed(number(0)), gain=unnamed(number()), video=True)
def AdjustGamma(image, /, gamma, gain=1):
    """255 gain (x / 255)^gamma for bytes, gain x^gamma in float32 for floats in [0, 1].

    Bytes are cut off after a factor of 255.999, as MindSpore and torchvision do it. raises : DataError for other dtypes
    """
    if image.dtype == np.uint8:
        table = np.clip((_VALUES / 255.0) ** gamma * 255.999 * gain, 0, 255).astype(np.uint8)
        return kernels.looked_up(image, np.stack([table] * image.shape[2])) if kernels.byte_image(image) else table[image]
    if image.dtype.kind != "f":
        raise DataError("AdjustGamma: Expecting tensor in type of (uint8, float16, float32, float64). But got type "
                        f"{image.dtype}.")
    return np.clip(gain * image.astype(np.float64) ** gamma, 0, 1).astype(np.float32)


def two_factors(low: float) -> Any:
    """(low, high) of a factor; one number v means (max(0, 1 - v), 1 + v), for hue (-v, v)."""
    def check(value: Any, name: str) -> tuple:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if value < 0:
                raise ValueRangeError(f"The input value of {name} cannot be negative.")
            within(value, low, 0.5 if low < 0 else FLOAT_MAX, "")
            return (-value, value) if low < 0 else (max(0, 1 - value), 1 + value)
        kind_of(list, tuple)(value, name)
        if len(value) != 2:
            raise ArgumentError(f"If {name} is a sequence, the length must be 2.")
        first, second = (unnamed(number(low, 0.5 if low < 0 else FLOAT_MAX))(v, name) for v in value)
        if first > second:
            raise ValueRangeError(f"{name} value should be in (min,max) format. Got ({first}, {second}).")
        return first, second
    return check


@operation(brightness=two_factors(0), contrast=two_factors(0), saturation=two_factors(0), hue=two_factors(-0.5), random=True)
def RandomColorAdjust(image, /, brightness=(1, 1), contrast=(1, 1), saturation=(1, 1), hue=(0, 0)):
    """Brightness, contrast, saturation and hue changed, in random order, by factors drawn from intervals."""
    if isinstance(image, np.ndarray) and colours(image, "RandomColorAdjust").dtype not in (np.uint8, np.uint16, np.float32):
        raise DataError("RandomColorAdjust: the data type of image tensor does not match the requirement of operator. Expecting "
                        f"tensor in type of (uint8, uint16, float32). But got type {image.dtype}.")
    numbers, pil = draws.generator(), isinstance(image, Image.Image)
    steps = [(_BRIGHTNESS, brightness), (_CONTRAST, contrast), (_SATURATION, saturation), (_HUE, hue)]
    for k in numbers.permutation(4):
        step, (low, high) = steps[k]
        if pil or (low, high) != ((0, 0) if step is _HUE else (1, 1)):       # Pillow's way to hues and back changes pixels
            image = step(image, numbers.uniform(low, high))
    return image


def _BRIGHTNESS(image: Any, f: float) -> Any:
    return brightness(image, f, "RandomColorAdjust")


def _CONTRAST(image: Any, f: float) -> Any:
    return contrast(image, f, "RandomColorAdjust")


def _SATURATION(image: Any, f: float) -> Any:
    return saturation(image, f, "RandomColorAdjust")


_HUE = hue_turned


def min_max(value: Any, name: str) -> tuple:
    """(low, high) with 0 <= low <= high."""
    low, high = items(number(0), 2)(value, name)
    if low > high:
        raise ValueRangeError(f"{name} should be in (min,max) format. Got (max,min).")
    return low, high


def strengths(value: Any, name: str) -> tuple:
    """The same for degrees. raises : ArgumentError, ValueRangeError for another length"""
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(f"{name} must be either a tuple or a list.")
    if len(value) != 2:
        raise ValueRangeError(f"{name} must be a sequence with length 2.")
    return min_max(value, name)


@operation(degrees=strengths, random=True)
def RandomColor(image, /, degrees=(0.1, 1.9)):
    """Saturation times a factor drawn from `degrees`."""
    return saturation(image, draws.generator().uniform(*degrees), "RandomColor")


@operation(degrees=strengths, random=True)
def RandomSharpness(image, /, degrees=(0.1, 1.9)):
    """AdjustSharpness by a factor drawn from `degrees`; of a PIL image Pillow's."""
    factor = draws.generator().uniform(*degrees)
    if isinstance(image, Image.Image):
        return ImageEnhance.Sharpness(image).enhance(factor)
    return sharpened(image_array(image, "RandomSharpness"), factor)


@image_operation(degree=number(0), prob=probability, random=True, pil=False)
def RandomAdjustSharpness(image, /, degree, prob=0.5):
    """AdjustSharpness with probability `prob`."""
    return sharpened(image, degree) if draws.generator().random() < prob else image


@image_operation(alpha=number(0), random=True)
def RandomLighting(image, /, alpha=0.05):
    """Noise along the principal components of ImageNet's colours (Krizhevsky et al. 2012)."""
    numbers = draws.generator().normal(0, alpha, 3) if alpha else np.zeros(3)
    vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    moved = vectors @ (numbers * [55.46, 4.794, 1.148])
    if kernels.byte_image(colours(image, "RandomLighting")):
        return kernels.looked_up(image, as_bytes(_VALUES + moved[:, None], image))
    if image.dtype == np.float32:        # along whole rows: a loop over the three channels of a pixel is short
        rows, out = image.reshape(len(image), -1), np.empty(image.shape, np.float32)
        np.add(rows, np.tile(moved, image.shape[1]), out=out.reshape(rows.shape), casting="unsafe")
        return out
    return as_bytes(image + moved, image)


# ------------------------------------------------------------------- histograms and bits

@image_operation()
def Invert(image, /):
    """255 - x"""
    return 255 - colours(image, "Invert")


@image_operation(prob=probability, random=True, pil=False)
def RandomInvert(image, /, prob=0.5):
    """255 - x with probability `prob`."""
    return 255 - image if draws.generator().random() < prob else image


@image_operation(bits=whole(0, 8), pil=False)
def Posterize(image, /, bits):
    """Bytes without their last 8 - bits bits."""
    return posterized(image, bits)


def posterized(image: np.ndarray, bits: int) -> np.ndarray:
    """See Posterize. raises : DataError"""
    return of_bytes(image, "Posterize") & np.uint8(256 - (1 << (8 - bits)))


def bit_range(value: Any, name: str) -> tuple[int, int]:
    """(low, high) of a number of bits."""
    if isinstance(value, int):
        return within(value, 1, 8, ""), value
    kind_of(list, tuple, int)(value, name)
    if len(value) != 2:
        raise ArgumentError("Size of bits should be a single integer or a list/tuple (min, max) of length 2.")
    low, high = items(whole(1, 8), 2)(value, name)
    if low > high:
        raise ValueRangeError("bits value should be in (min,max) format. Got (max,min).")
    return low, high


@image_operation(bits=bit_range, random=True, pil=False)
def RandomPosterize(image, /, bits=(8, 8)):
    """Posterize with a number of bits drawn from (low, high)."""
    return posterized(image, int(draws.generator().integers(bits[0], bits[1] + 1)))


def thresholds(value: Any, name: str) -> tuple:
    """(low, high) of one number or two."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = (value, value)
    kind_of(int, float, list, tuple)(value, name)
    if len(value) != 2:
        raise ArgumentError("threshold must be a single number or sequence of two numbers.")
    low, high = (number(0, 255)(v, f"{name}[{k}]") for k, v in enumerate(value))
    if low > high:
        raise ValueRangeError("threshold must be in order of (min, max).")
    return low, high


def solarized(image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Pixels in [low, high] inverted; with low == high those from there on."""
    if kernels.byte_image(image):
        return kernels.looked_up(image, np.stack([solarized(_VALUES, low, high)] * image.shape[2]))
    chosen = image >= low if low == high else (image >= low) & (image <= high)
    return np.where(chosen, 255 - image, image)


@image_operation(threshold=thresholds, pil=False)
def Solarize(image, /, threshold):
    """Values between two thresholds inverted; those from one threshold on."""
    if image.dtype.kind not in "iuf":
        raise DataError(f"Solarize: the data type {image.dtype} is not supported")
    if image.ndim == 3 and image.shape[2] not in (1, 3):
        raise DataError(f"Solarize: the channel of image tensor does not match the requirement of operator. Expecting tensor in "
                        f"channel of (1, 3). But got channel {image.shape[2]}.")
    return solarized(image, *threshold)


@image_operation(threshold=thresholds, random=True, pil=False)
def RandomSolarize(image, /, threshold=(0, 255)):
    """Solarize between two thresholds drawn from (low, high)."""
    low, high = sorted(draws.generator().integers(int(threshold[0]), int(threshold[1]) + 1, 2).tolist())
    return solarized(image, low, high)


_VALUES = np.arange(256, dtype=np.uint8)


def by_tables(image: np.ndarray, table: Any) -> np.ndarray:
    """Each channel of bytes by the table that a function makes of its histogram."""
    if image.ndim == 2:
        return table(np.bincount(image.ravel(), minlength=256))[image]
    if kernels.byte_image(image):
        return kernels.looked_up(image, np.stack([table(counts) for counts in kernels.counted(image).astype(np.int64)]))
    return np.stack([by_tables(image[..., c], table) for c in range(image.shape[2])], -1)


def _equalised(counts: np.ndarray) -> np.ndarray:
    """OpenCV's: the grey levels spread by their cumulated histogram."""
    first = int(np.flatnonzero(counts)[0])
    rest = counts.sum() - counts[first]
    if not rest:
        return _VALUES
    cumulated = np.cumsum(counts) - counts[first]
    return np.clip(np.rint(cumulated * np.float32(255.0 / rest)), 0, 255).astype(np.uint8)


@operation()
def Equalize(image, /):
    """A flat histogram, channel by channel: of arrays as OpenCV does it, of PIL images as Pillow does it."""
    return equalised(image)


def equalised(image: Any) -> Any:
    """See Equalize."""
    if isinstance(image, Image.Image):
        return ImageOps.equalize(image)
    return by_tables(of_bytes(image_array(image, "Equalize"), "Equalize"), _equalised)


@operation(prob=probability, random=True)
def RandomEqualize(image, /, prob=0.5):
    """Equalize with probability `prob`."""
    array = image_array(image, "RandomEqualize")
    return equalised(array) if draws.generator().random() < prob else array


def contrasted(image: Any, cutoff: float, ignore: Any) -> Any:
    """See AutoContrast; Pillow's rules for PIL images, cutoff in whole pixels."""
    if isinstance(image, Image.Image):
        return ImageOps.autocontrast(image, cutoff, ignore)
    array = of_bytes(image_array(image, "AutoContrast"), "AutoContrast")
    return by_tables(array, lambda counts: _auto(counts, cutoff, ignore or ()))


def _auto(counts: np.ndarray, cutoff: float, ignore: Any) -> np.ndarray:
    counts[list(ignore)] = 0
    cut = int(counts.sum() * cutoff / 100)
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])
    low = int(np.searchsorted(below, cut, "right")) if cut < below[-1] else 256
    high = 255 - int(np.searchsorted(above, cut, "right")) if cut < above[-1] else -1
    if high <= low:
        return _VALUES
    scale = 255.0 / (high - low)
    return np.clip(np.trunc(np.arange(256) * scale - low * scale), 0, 255).astype(np.uint8)


def ignored(value: Any, name: str) -> list[int] | None:
    """Grey levels."""
    if value is None:
        return None
    return [whole(0, 255)(v, name) for v in (value if isinstance(value, (list, tuple)) else [value])]


def cutoff_of(value: Any, name: str) -> float:
    """A share in percent, less than 50."""
    return within(kind_of(int, float)(value, name), 0, 50, name, open_right=True)


@operation(cutoff=cutoff_of, ignore=ignored)
def AutoContrast(image, /, cutoff=0.0, ignore=None):
    """Each channel's histogram stretched to [0, 255]. cutoff : percent of pixels left out at both ends; ignore : grey levels"""
    return contrasted(image, cutoff, ignore)


@operation(cutoff=cutoff_of, ignore=ignored, prob=probability, random=True)
def RandomAutoContrast(image, /, cutoff=0.0, ignore=None, prob=0.5):
    """AutoContrast with probability `prob`."""
    return image_array(contrasted(image, cutoff, ignore) if draws.generator().random() < prob else image, "RandomAutoContrast")


# ------------------------------------------------------------------- conversions

def grey_channels(value: Any, name: str) -> int:
    """1 or 3. raises : ArgumentError, ValueRangeError"""
    if kind_of(int)(value, name) not in (1, 3):
        raise ValueRangeError(f"Number of channels of the output grayscale image should be either 1 or 3. Got {value}.")
    return value


@operation(num_output_channels=grey_channels)
def Grayscale(image, /, num_output_channels=1):
    """A PIL image in grey, with 1 or 3 equal channels."""
    return _grey_pil(image, num_output_channels)


def _grey_pil(image: Any, channels: int) -> Image.Image:
    if not isinstance(image, Image.Image):
        raise ArgumentError(f"img should be PIL image. Got {type(image)}. Use Decode() for encoded data or ToPIL() for decoded "
                            f"data.")
    grey = image.convert("L")
    return grey if channels == 1 else Image.merge("RGB", (grey,) * 3)


@operation(prob=probability, random=True)
def RandomGrayscale(image, /, prob=0.1):
    """A PIL image, in grey with probability `prob`."""
    if draws.generator().random() < prob:
        return _grey_pil(image, 1 if getattr(image, "mode", "L") == "L" else 3)
    return image


_CONVERSIONS = {                         # order of the input's channels in the output; "A": the fourth, opaque where it has none
    ConvertMode.COLOR_RGB2RGBA: "012A", ConvertMode.COLOR_RGBA2RGB: "012", ConvertMode.COLOR_RGB2BGRA: "210A",
    ConvertMode.COLOR_RGBA2BGR: "210", ConvertMode.COLOR_RGB2BGR: "210", ConvertMode.COLOR_RGBA2BGRA: "210A",
    ConvertMode.COLOR_GRAY2RGB: "000", ConvertMode.COLOR_GRAY2RGBA: "000A",
}


@image_operation(convert_mode=kind_of(ConvertMode), pil=False)
def ConvertColor(image, /, convert_mode):
    """The channels in another order, with or without alpha, or as grey."""
    if convert_mode in (ConvertMode.COLOR_RGB2GRAY, ConvertMode.COLOR_RGBA2GRAY):
        return grey_of(image[..., :3])
    if convert_mode in (ConvertMode.COLOR_BGR2GRAY, ConvertMode.COLOR_BGRA2GRAY):
        return grey_of(image[..., 2::-1])
    order = _CONVERSIONS[convert_mode]
    image = image[..., None] if image.ndim == 2 else image
    channels = image.shape[2]
    if max(int(c) for c in order if c != "A") >= channels or "1" not in order and channels > 1:
        raise DataError(f"ConvertColor: number of channels of the image, {channels}, does not fit {convert_mode.name}")
    order = order.replace("A", "3") if channels == 4 else order
    if kernels.byte_image(image) or kernels.float_image(image):
        return kernels.reordered(image, order)
    alpha = np.full(image.shape[:2], np.iinfo(image.dtype).max if image.dtype.kind in "iu" else 1, image.dtype)
    return np.stack([alpha if c == "A" else image[..., int(c)] for c in order], -1)


# ------------------------------------------------------------------- numbers for networks

def mean_and_std(value: Any, name: str) -> tuple:
    """Numbers in [0, 255], for `std` not 0."""
    kind_of(list, tuple, np.ndarray)(value, name)
    return tuple(number(0, 255, open_left=name == "std")(v, f"{name}[{k}]") for k, v in enumerate(value))


def same_length(arguments: dict) -> None:
    """raises : ValueRangeError unless mean and std have equally many numbers"""
    if len(arguments["mean"]) != len(arguments["std"]):
        raise ValueRangeError("Length of mean and std must be equal.")


def normalised(image: np.ndarray, mean: tuple, std: tuple, is_hwc: bool) -> np.ndarray:
    """(x - mean) / std by channel, in float32."""
    image = image[..., None] if image.ndim == 2 and is_hwc else image
    channels = image.shape[-1 if is_hwc else 0]
    if len(mean) not in (1, channels):
        raise DataError(f"Normalize: number of channels does not match the size of mean and std vectors, got channels: "
                        f"{channels}, size of mean: {len(mean)}, size of std: {len(std)}")
    if is_hwc and kernels.byte_image(image):
        return kernels.normalised(image, mean, std, False)
    return normalised_channels(image, mean, std, is_hwc)


def normalised_channels(images: np.ndarray, mean: tuple, std: tuple, is_hwc: bool) -> np.ndarray:
    """(x - mean) / std of images [.., height, width, channels], or [.., channels, height, width], in float32."""
    numbers = np.array([mean, std], np.float32)
    if is_hwc:                           # along whole rows: a loop over the three channels of a pixel is short
        flat = images.reshape(*images.shape[:-2], -1)
        first, second = (np.tile(part, flat.shape[-1] // len(part)) for part in numbers)
    else:
        flat, (first, second) = images, numbers[..., None, None]
    out = np.subtract(flat, first, dtype=np.float32)
    return np.divide(out, second, out=out).reshape(images.shape)


@operation(mean=mean_and_std, std=mean_and_std, is_hwc=flag, together=same_length, video=True)
def Normalize(image, /, mean, std, is_hwc=True):
    """(x - mean) / std by channel, in float32. is_hwc : the channels are the last axis, else the first"""
    array = image_array(image, "Normalize")
    if array.ndim == 2:
        return normalised(array, mean, std, True)[..., 0]
    return normalised(array, mean, std, is_hwc)


def padded_dtype(value: Any, name: str) -> str:
    """ "float32" or "float16". raises : ArgumentError, ValueRangeError"""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} should be string.", note=f"it is {value!r}")
    if value not in ("float32", "float16"):
        raise ValueRangeError(f"{name} only supports float32 or float16.", note=f"it is {value!r}")
    return value


@operation(mean=mean_and_std, std=mean_and_std, dtype=padded_dtype, is_hwc=flag, together=same_length)
def NormalizePad(image, /, mean, std, dtype="float32", is_hwc=True):
    """Normalize, and a fourth channel of zeros. dtype : float32 or float16"""
    found = normalised(image_array(image, "NormalizePad"), mean, std, is_hwc)
    if not is_hwc:
        return np.concatenate([found, np.zeros_like(found[:1])]).astype(dtype)
    out = np.zeros((*found.shape[:-1], found.shape[-1] + 1), dtype)
    for k in range(found.shape[-1]):     # a loop over the channels of a pixel is short
        out[..., k] = found[..., k]
    return out


@operation(rescale=number(), shift=number())
def Rescale(image, /, rescale, shift):
    """x * rescale + shift in float32, of arrays of any shape."""
    if not isinstance(image, (np.ndarray, Image.Image)):
        raise ArgumentError(f"Input should be NumPy or PIL image, got {type(image)}.")
    found = np.multiply(np.asarray(image), np.float32(rescale), dtype=np.float32, casting="unsafe")
    found += np.float32(shift)
    return found


@image_operation(pil=False)
def HWC2CHW(image, /):
    """(height, width, channels) as (channels, height, width)."""
    return np.ascontiguousarray(image.transpose(2, 0, 1)) if image.ndim == 3 else image


@joins(Normalize, HWC2CHW)
def normalised_planes(normalize: Any, transpose: Any) -> Callable:
    """Normalize, then HWC2CHW: of bytes in one loop over the pixels."""
    def both(*images: Any) -> Any:
        image, mean = images[0], normalize.mean
        if len(images) == 1 and normalize.is_hwc and isinstance(image, np.ndarray) and kernels.byte_image(image) and \
                len(mean) in (1, image.shape[2]):
            return kernels.normalised(image, mean, normalize.std, True)
        found = normalize(*images)
        return transpose(*found) if isinstance(found, tuple) else transpose(found)
    return both


def square_and_vector(arguments: dict) -> None:
    """The matrix is square, and the vector as long. raises : ValueRangeError"""
    matrix, mean = arguments["transformation_matrix"], arguments["mean_vector"]
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueRangeError(f"transformation_matrix should be a square matrix. Got shape {matrix.shape} instead.")
    if mean.shape != matrix.shape[:1]:
        raise ValueRangeError(f"mean_vector length {len(mean)} should match either one dimension of the square"
                              f"transformation_matrix {matrix.shape}.")


@operation(transformation_matrix=kind_of(np.ndarray), mean_vector=kind_of(np.ndarray), together=square_and_vector)
def LinearTransformation(image, /, transformation_matrix, mean_vector):
    """(x - mean) @ matrix of the flattened image, for whitening. transformation_matrix : (n, n);  mean_vector : (n,)"""
    image = np.asarray(image) if not isinstance(image, Image.Image) else image
    if not isinstance(image, np.ndarray):
        raise ArgumentError(f"img should be NumPy array. Got {type(image)}.")
    matrix, mean = transformation_matrix, mean_vector
    if image.size != matrix.shape[0]:
        raise ValueRangeError(f"Transformation_matrix should have the same number of rows as the image has elements: "
                              f"{matrix.shape[0]} and {image.size}")
    return ((image.reshape(1, -1) - mean) @ matrix).reshape(image.shape)


# ------------------------------------------------------------------- erasing

@image_operation(length=whole(1), num_patches=whole(1), is_hwc=flag, random=True, pil=False)
def CutOut(image, /, length, num_patches=1, is_hwc=True):
    """Squares of side `length` around random points set to 0 (DeVries and Taylor 2017). raises : DataError for a larger one"""
    out, numbers = image.copy(), draws.generator()
    view = out if is_hwc else np.moveaxis(out, 0, -1)
    if length > min(view.shape[:2]):
        raise DataError("CutOut: box size is too large for image erase", note=f"{length}, of an image of {view.shape[:2]}")
    for _ in range(num_patches):
        y, x = int(numbers.integers(view.shape[0])), int(numbers.integers(view.shape[1]))
        view[max(0, y - length // 2):y + (length + 1) // 2, max(0, x - length // 2):x + (length + 1) // 2] = 0
    return out


@operation(top=whole(0), left=whole(0), height=whole(1), width=whole(1),
           value=either(number(0, 255), items(number(0, 255), 3)), inplace=flag)
def Erase(image, /, top, left, height, width, value=0, inplace=False):
    """A rectangle of the image set to a value, or to one for each channel."""
    array = image_array(image, "Erase")
    out = array if inplace and array.flags.writeable else array.copy()
    out[top:top + height, left:left + width] = value
    return out


def erased_value(value: Any, name: str) -> Any:
    """A number, three numbers, or "random"."""
    if value == "random":
        return value
    if isinstance(value, str) or isinstance(value, (list, tuple)) and len(value) != 3:
        raise ValueRangeError("The value for erasing should be either a single value, or a string 'random', or a sequence "
                              "of 3 elements for RGB respectively.")
    return either(number(0, 255), items(number(0, 255)))(value, name)


@operation(prob=probability, scale=min_max, ratio=min_max, value=erased_value, inplace=flag, max_attempts=whole(1), random=True)
def RandomErasing(image, /, prob=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False, max_attempts=10):
    """With probability `prob` a random rectangle of a (channels, height, width) array is erased (Zhong et al. 2020)."""
    if not isinstance(image, np.ndarray):
        raise ArgumentError(f"img should be NumPy array. Got {type(image)}.")
    numbers = draws.generator()
    if numbers.random() >= prob:
        return image
    out, (channels, height, width) = image if inplace else image.copy(), image.shape[-3:]
    for _ in range(max_attempts):
        area = numbers.uniform(*scale) * height * width
        aspect = math.exp(numbers.uniform(math.log(max(ratio[0], 1e-6)), math.log(max(ratio[1], 1e-6))))
        h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if h < height and w < width:
            top, left = int(numbers.integers(height - h)), int(numbers.integers(width - w))
            filling = numbers.normal(size=(channels, h, w)) if isinstance(value, str) else np.reshape(value, (-1, 1, 1))
            out[..., top:top + h, left:left + w] = filling
            break
    return out
