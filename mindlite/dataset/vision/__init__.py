"""Operations on images: MindSpore's `dataset.vision`. An image is an array (height, width[, channels]) or a PIL image.

    formats.py    bytes, files, PIL images, arrays;  geometry.py  where pixels stand;  colour.py, hsv.py  what they are
    augment.py    policies of random operations;  boxes.py  bounding boxes;  mixing.py  mixes of a batch
    smoothing.py  GaussianBlur;  resizing.py  interpolation;  kinds.py  the enumerations
    kernels.py    loops over pixels;  stacks.py  what is done with many rows at once;  chains.py  what several do at once
"""
from ..transforms import not_random
from . import chains, stacks             # noqa: F401  their rules enter the tables
from .augment import AutoAugment, RandAugment, RandomSelectSubpolicy, TrivialAugmentWide, UniformAugment
from .boxes import (BoundingBoxAugment, RandomCropWithBBox, RandomHorizontalFlipWithBBox, RandomResizedCropWithBBox,
                    RandomResizeWithBBox, RandomVerticalFlipWithBBox, ResizeWithBBox)
from .colour import (AdjustBrightness, AdjustContrast, AdjustGamma, AdjustHue, AdjustSaturation, AdjustSharpness, AutoContrast,
                     ConvertColor, CutOut, Equalize, Erase, Grayscale, HWC2CHW, Invert,
                     LinearTransformation, Normalize, NormalizePad, Posterize, RandomAdjustSharpness, RandomAutoContrast,
                     RandomColor, RandomColorAdjust, RandomEqualize, RandomErasing, RandomGrayscale, RandomInvert, RandomLighting,
                     RandomPosterize, RandomSharpness, RandomSolarize, Rescale, Solarize)
from .formats import (Decode, DecodeVideo, ImageError, RandomCropDecodeResize, ToNumpy, ToPIL, ToTensor, ToType, VideoDecoder,
                      encode_jpeg, encode_png, get_image_num_channels, get_image_size, read_file, read_image, read_video,
                      read_video_timestamps, write_file, write_jpeg, write_png)
from .geometry import (Affine, CenterCrop, Crop, FiveCrop, HorizontalFlip, Pad, PadToSize, Perspective, RandomAffine, RandomCrop,
                       RandomHorizontalFlip, RandomPerspective, RandomResize, RandomResizedCrop, RandomRotation,
                       RandomVerticalFlip, Resize, ResizedCrop, Rotate, SlicePatches, TenCrop, VerticalFlip)
from .hsv import HsvToRgb, RgbToHsv
from .kinds import AutoAugmentPolicy, Border, ConvertMode, ImageBatchFormat, ImageReadMode, Inter, SliceMode
from .mixing import CutMixBatch, MixUp, MixUpBatch
from .smoothing import GaussianBlur

__all__ = ["AdjustBrightness", "AdjustContrast", "AdjustGamma", "AdjustHue", "AdjustSaturation", "AdjustSharpness", "Affine",
           "AutoAugment", "AutoAugmentPolicy", "AutoContrast", "Border", "BoundingBoxAugment", "CenterCrop", "ConvertColor",
           "ConvertMode", "Crop", "CutMixBatch", "CutOut", "Decode", "DecodeVideo", "Equalize", "Erase", "FiveCrop",
           "GaussianBlur", "Grayscale", "HWC2CHW", "HorizontalFlip", "HsvToRgb", "ImageBatchFormat", "ImageError",
           "ImageReadMode", "Inter", "Invert", "LinearTransformation", "MixUp", "MixUpBatch", "Normalize", "NormalizePad", "Pad",
           "PadToSize", "Perspective", "Posterize", "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomAutoContrast",
           "RandomColor", "RandomColorAdjust", "RandomCrop", "RandomCropDecodeResize", "RandomCropWithBBox", "RandomEqualize",
           "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomHorizontalFlipWithBBox", "RandomInvert",
           "RandomLighting", "RandomPerspective", "RandomPosterize", "RandomResize", "RandomResizeWithBBox", "RandomResizedCrop",
           "RandomResizedCropWithBBox", "RandomRotation", "RandomSelectSubpolicy", "RandomSharpness", "RandomSolarize",
           "RandomVerticalFlip", "RandomVerticalFlipWithBBox", "Rescale", "Resize", "ResizeWithBBox", "ResizedCrop", "RgbToHsv",
           "Rotate", "SliceMode", "SlicePatches", "Solarize", "TenCrop", "ToNumpy", "ToPIL", "ToTensor", "ToType",
           "TrivialAugmentWide", "UniformAugment", "VerticalFlip", "VideoDecoder", "encode_jpeg", "encode_png",
           "get_image_num_channels", "get_image_size", "not_random", "read_file", "read_image", "read_video",
           "read_video_timestamps", "write_file", "write_jpeg", "write_png"]
