"""Images as bytes, files, PIL images and arrays: Decode, ToPIL, ToTensor, read_image, write_png. Pillow reads and writes."""
from __future__ import annotations

import functools
import io
import os
import re
from typing import Any, Callable

import numpy as np
from PIL import Image, UnidentifiedImageError

try:
    import simplejpeg
except ImportError:                      # the extra `data` is not installed
    simplejpeg = None

from ...common.errors import ArgumentError, FileFormatError, ValueRangeError
from ...common.files import replacing
from ..operation import DataError, as_pil, dtype_of, flag, image_array, joins, kind_of, operation, pair, whole
from .geometry import PART, RandomResizedCrop, random_part
from .kinds import ImageReadMode, Inter
from .resizing import resize_array


BASELINE_FRAME, START_OF_SCAN, END_OF_IMAGE = 0xc0, 0xda, b"\xff\xd9"
OTHER_FRAMES = {0xc0 + k for k in range(1, 16)} - {0xc4, 0xc8, 0xcc}             # these three are no frames
MORE_FOLLOWS = re.compile("Corrupt JPEG data: [0-9]+ extraneous bytes before marker 0xd[0-9]")        # rows that nobody wants
BELOW = 2                                # rows that colours of the last one are interpolated from


class ImageError(FileFormatError, RuntimeError):
    """Bytes that are no image, or a damaged one."""


def opened(data: Any, name: str) -> Image.Image:
    """The RGB image that encoded bytes hold. raises : ImageError"""
    if isinstance(data, np.ndarray):
        if data.dtype.kind == "S" and data.size == 1:        # bytes, as MindDataset gives them
            data = np.frombuffer(data.tobytes(), np.uint8)
        if data.ndim != 1:
            raise ArgumentError(f"{name}: the number of array dimensions of the encoded image should be 1, but got {data.ndim}.")
        if data.dtype.kind in "US":
            raise DataError(f"{name}: invalid input type, only support bytes, but got {data.dtype}")
    elif not isinstance(data, (bytes, bytearray)):
        raise ArgumentError(f"Input should be an encoded image in 1-D NumPy format, got {type(data)}.")
    try:
        return Image.open(io.BytesIO(bytes(data))).convert("RGB")
    except UnidentifiedImageError:
        raise ImageError(f"{name}: the image is damaged or of an unknown format: it begins with {bytes(data[:8])!r}") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise ImageError(f"{name}: the image is damaged or of an unknown format: {error}") from None


def pixels(data: Any, name: str) -> np.ndarray:
    """The pixels (height, width, 3) of the RGB image that encoded bytes hold. raises : ImageError

    A sound JPEG is read by simplejpeg where it is installed, in half of Pillow's time: both are libjpeg-turbo and give the same
    bytes. Everything else, and every doubt, is Pillow's.
    """
    if jpeg_size(data) is not None:
        try:
            return simplejpeg.decode_jpeg(data)
        except ValueError:                                   # damaged
            return np.asarray(opened(data, name))
    return np.asarray(opened(data, name))


def jpeg_size(data: Any) -> tuple[int, int] | None:
    """(height, width) of a JPEG that simplejpeg reads as Pillow does; None for everything else."""
    if simplejpeg is None or not isinstance(data, np.ndarray) or data.ndim != 1 or data.dtype != np.uint8 or \
            data[:3].tobytes() != b"\xff\xd8\xff":
        return None
    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data)
    except ValueError:                                       # damaged, or of a kind that it does not know
        return None
    known = colours in ("YCbCr", "Gray") and 0 < height * width <= (Image.MAX_IMAGE_PIXELS or 0)
    return (height, width) if known else None


def part_of_pixels(data: Any, name: str, choose: Callable[[int, int], tuple[int, int, int, int]]) -> np.ndarray:
    """The part (top, left, height, width) = choose(height, width) of `pixels`. raises : ImageError

    The rows below the part are not decoded where the header of a JPEG, which then says that there are fewer rows, allows it.
    """
    size = jpeg_size(data)
    if size is None:
        array = pixels(data, name)
        top, left, height, width = choose(*array.shape[:2])
    else:
        top, left, height, width = choose(*size)
        array = _upper_rows(data, name, min(top + height + BELOW, size[0]), *size)
    return array[top:top + height, left:left + width]


def _upper_rows(data: np.ndarray, name: str, count: int, height: int, width: int) -> np.ndarray:
    """The first rows, `count` at least, of the pixels of a JPEG that simplejpeg reads."""
    encoded = bytearray(data)
    place = height_in_header(encoded)
    if place is None or count == height or encoded[-2:] != END_OF_IMAGE:
        return pixels(data, name)
    encoded[place:place + 2] = count.to_bytes(2, "big")
    rows = np.empty((count, width, 3), np.uint8)
    try:
        simplejpeg.decode_jpeg(encoded, buffer=rows)
    except ValueError as error:
        if not MORE_FOLLOWS.fullmatch(str(error)):           # damaged
            return np.asarray(opened(data, name))
    return rows


def height_in_header(encoded: bytearray) -> int | None:
    """Where a JPEG says how many rows it has (ITU T.81, B.2.2); None where it has more scans than one, or is not baseline."""
    at, end, place, components = 2, len(encoded) - 9, None, 0
    while at < end and encoded[at] == 0xff:
        marker = encoded[at + 1]
        if marker == START_OF_SCAN:
            return place if encoded[at + 4] == components else None
        if marker == BASELINE_FRAME:
            place, components = at + 5, encoded[at + 9]
        elif marker in OTHER_FRAMES:
            return None
        at += 2 + (encoded[at + 2] << 8 | encoded[at + 3])
    return None


@operation(to_pil=flag)
def Decode(image, /, to_pil=False):
    """The pixels (height, width, 3), red first, of an encoded image: JPEG, PNG, BMP, WebP, TIFF and what else Pillow reads.

    to_pil : give a PIL image
    raises : ImageError, a RuntimeError, for damaged data
    """
    return opened(image, "Decode") if to_pil else pixels(image, "Decode")


@operation(random=True, each=True, **PART)
def RandomCropDecodeResize(image, /, size, scale=(0.08, 1.0), ratio=(3. / 4., 4. / 3.), interpolation=Inter.BILINEAR,
                           max_attempts=10):
    """RandomResizedCrop of an encoded image."""
    choose = functools.partial(random_part, scale=scale, ratio=ratio, attempts=max_attempts)
    part = part_of_pixels(image, "RandomCropDecodeResize", choose)
    return resize_array(part, *pair(size), interpolation)


@joins(Decode, RandomResizedCrop)
def decode_and_crop(decode: Any, crop: Any) -> Callable:
    """RandomResizedCrop after Decode, without the rows below the part."""
    choose = functools.partial(random_part, scale=crop.scale, ratio=crop.ratio, attempts=crop.max_attempts)

    def both(image: Any, *more: Any) -> Any:
        if decode.to_pil or more:
            return crop(decode(image, *more))
        return resize_array(part_of_pixels(image, "Decode", choose), *pair(crop.size), crop.interpolation)
    return both


@operation()
def ToPIL(image, /):
    """A PIL image of an array (height, width[, channels])."""
    if isinstance(image, Image.Image):
        return image
    if not isinstance(image, np.ndarray):
        raise ArgumentError(f"The input of ToPIL should be ndarray or PIL Image. Got {type(image)}.")
    if image.ndim not in (2, 3):
        raise ValueRangeError(f"ToPIL: the dimension of input image should be 2 or 3. Got {image.ndim}.")
    return as_pil(image)


@operation()
def ToNumpy(image, /):
    """The pixels of a PIL image as an array; a copy of an array."""
    return np.array(image)


@operation(output_type=dtype_of)
def ToTensor(image, /, output_type=np.dtype(np.float32)):
    """(height, width[, channels]) with values in [0, 255] as (channels, height, width) with values in [0, 1]."""
    array = image_array(image, "ToTensor")
    if array.ndim > 3:
        raise DataError(f"ToTensor: the image should have 2 or 3 dimensions, but got {array.ndim}")
    if array.dtype.kind in "USO" or array.dtype in (np.uint32, np.int64, np.uint64):
        raise DataError("ToTensor: Input includes unsupported data type in [uint32, int64, uint64, string, bytes].",
                        note=f"dtype: {array.dtype}")
    if array.dtype == bool:
        array = array.astype(np.uint8) * 255
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    out = np.empty(planes.shape, np.float32)
    if isinstance(image, Image.Image):
        np.divide(planes, np.float32(255), out=out, casting="unsafe")
    else:
        np.multiply(planes, np.float32(1 / 255), out=out, casting="unsafe")
    return out.astype(output_type, copy=False)


@operation(data_type=dtype_of)
def ToType(image, /, data_type):
    """The array with another element type."""
    if not isinstance(image, (np.ndarray, Image.Image)):
        raise ArgumentError(f"The input should be a NumPy or PIL image. Got {type(image)}.")
    return np.asarray(image).astype(data_type)


# ------------------------------------------------------------------- files

def check_file(name: Any) -> str:
    """A path to a file. raises : ArgumentError, RuntimeError if it is none or cannot be read"""
    kind_of(str)(name, "filename")
    if not os.path.isfile(name):
        raise RuntimeError(f"Invalid file path, {name} does not exist." if not os.path.exists(name) else
                           f"Invalid file path, {name} is not a regular file.")
    return name


def read_file(filename: str) -> np.ndarray:
    """The bytes of a file. raises : ArgumentError, RuntimeError"""
    with open(check_file(filename), "rb") as stream:
        return np.frombuffer(stream.read(), np.uint8)


def write_file(filename: str, data: Any) -> None:
    """Write bytes, whole or not at all. data : one-dimensional uint8"""
    kind_of(str)(filename, "filename")
    data = _bytes(data, "data")
    if data.ndim != 1:
        raise DataError(f"Invalid data shape, expected a 1D tensor, but got rank {data.ndim}")
    with replacing(filename) as stream:
        stream.write(data.tobytes())


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> np.ndarray:
    """The pixels (height, width, channels) of an image file. raises : ArgumentError, RuntimeError"""
    kind_of(ImageReadMode)(mode, "mode")
    try:
        image = Image.open(check_file(filename))
        wanted = {ImageReadMode.GRAYSCALE: "L", ImageReadMode.COLOR: "RGB"}.get(mode)
        if wanted is None:
            wanted = "L" if image.mode == "L" else "RGB"     # without an alpha channel, as in MindSpore
        array = np.array(image.convert(wanted))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ImageError(f"read_image: {filename} is damaged or of an unknown format: {error}") from None
    return array if array.ndim == 3 else array[..., None]


def _bytes(value: Any, name: str) -> np.ndarray:
    value = value.asnumpy() if hasattr(value, "asnumpy") else value
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"Input {name} is not of type [<class 'numpy.ndarray'>, Tensor], but got: {type(value)}.")
    if value.dtype != np.uint8:
        raise DataError(f"The type of the {name} is not uint8, but {value.dtype}.")
    return value


def _encoded(image: Any, kind: str, **options: Any) -> np.ndarray:
    image = _bytes(image, "image")
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (1, 3)):
        raise DataError(f"The image has invalid shape {image.shape}: it should be (H, W), (H, W, 1) or (H, W, 3)")
    stream = io.BytesIO()
    as_pil(image).save(stream, kind, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


def encode_jpeg(image: Any, quality: int = 75) -> np.ndarray:
    """The bytes of a JPEG. quality : 1 to 100"""
    return _encoded(image, "JPEG", quality=whole(1, 100)(quality, "quality"))


def encode_png(image: Any, compression_level: int = 6) -> np.ndarray:
    """The bytes of a PNG. compression_level : 0 to 9"""
    return _encoded(image, "PNG", compress_level=whole(0, 9)(compression_level, "compression_level"))


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Write a JPEG file."""
    write_file(filename, encode_jpeg(image, quality))


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Write a PNG file."""
    write_file(filename, encode_png(image, compression_level))


def get_image_size(image: Any) -> list[int]:
    """[height, width]"""
    if isinstance(image, Image.Image):
        return [image.height, image.width]
    if not isinstance(image, np.ndarray):
        raise ArgumentError(f"Input image is not of type {np.ndarray} or {Image.Image}, but got: {type(image)}.")
    if image.ndim < 2:
        raise DataError(f"GetImageSize: invalid parameter, image should have at least 2 dimensions, but got {image.ndim}")
    return list(image.shape[:2])


def get_image_num_channels(image: Any) -> int:
    """How many channels."""
    if isinstance(image, Image.Image):
        return len(image.getbands())
    if not isinstance(image, np.ndarray):
        raise ArgumentError(f"Input image is not of type {np.ndarray} or {Image.Image}, but got: {type(image)}.")
    if image.ndim < 2:
        raise DataError("GetImageNumChannels: invalid parameter, image should have at least two dimensions, but got: "
                        f"{image.ndim}")
    return 1 if image.ndim == 2 else image.shape[-1]


_VIDEO = "is not available: no library for video is among mindlite's dependencies"


def _no_video(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ValueRangeError(f"{name} {_VIDEO}")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Refused: {name} {_VIDEO}."
    return refuse


DecodeVideo, VideoDecoder, read_video, read_video_timestamps = map(
    _no_video, ("DecodeVideo", "VideoDecoder", "read_video", "read_video_timestamps"))
