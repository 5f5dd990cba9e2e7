"""The words of audio: windows, borders, scales; and what all its operations take."""
from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ...common.errors import ValueRangeError
from ..operation import DataError, as_array, kind_of, number, whole


class WindowType(str, enum.Enum):
    """Windows."""
    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"


class BorderType(str, enum.Enum):
    """What stands beyond the ends."""
    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class NormType(str, enum.Enum):
    """Normalisation of mel filters."""
    NONE = "none"
    SLANEY = "slaney"


class NormMode(str, enum.Enum):
    """Normalisation of the cosine transform."""
    NONE = "none"
    ORTHO = "ortho"


class MelType(str, enum.Enum):
    """Mel scales."""
    HTK = "htk"
    SLANEY = "slaney"


class ScaleType(str, enum.Enum):
    """Power or magnitude."""
    MAGNITUDE = "magnitude"
    POWER = "power"


class GainType(str, enum.Enum):
    """How a gain is given."""
    AMPLITUDE = "amplitude"
    DB = "db"
    POWER = "power"


class FadeShape(str, enum.Enum):
    """Curves of a fade."""
    LINEAR = "linear"
    EXPONENTIAL = "exponential"
    LOGARITHMIC = "logarithmic"
    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"


class DensityFunction(str, enum.Enum):
    """Distributions of dither."""
    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class ResampleMethod(str, enum.Enum):
    """Windows of the resampling filter."""
    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class Interpolation(str, enum.Enum):
    """Interpolations of Flanger."""
    LINEAR = "linear"
    QUADRATIC = "quadratic"


class Modulation(str, enum.Enum):
    """Modulations of Flanger."""
    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


def as_numbers(data: Any, name: str, whole_numbers: bool = True) -> np.ndarray:
    """An array of numbers. raises : ArgumentError for what is no array, DataError for other element types"""
    array = as_array(data)
    if array.dtype.kind not in ("biuf" if whole_numbers else "f"):
        raise DataError(f"{name}: the data type of input tensor does not match the requirement of operator. Expecting tensor "
                        f"in type of [{'int, ' if whole_numbers else ''}float, double]. But got type {array.dtype}.")
    return array


def sound(data: Any, name: str, rank: int = 1, whole_numbers: bool = True) -> np.ndarray:
    """An array of numbers of at least `rank` axes, float32 unless it is float64. raises : DataError

    whole_numbers : False where they are refused, as MindSpore refuses them
    """
    array = as_numbers(data, name, whole_numbers)
    if array.ndim < rank:
        raise DataError(f"{name}: the shape of input tensor does not match the requirement of operator. Expecting tensor in "
                        f"shape of "
                        f"{'<..., time>' if rank == 1 else '<..., freq, time>'}. But got tensor with dimension {array.ndim}.")
    return array.astype(real_dtype(array), copy=False)


def real_dtype(data: Any) -> np.dtype:
    """The dtype of what is computed of an array: float64 of float64, float32 of all others."""
    return np.dtype(np.float64 if np.asarray(data).dtype == np.float64 else np.float32)


INT = 2 ** 31 - 1
positive = whole(1, INT)


def rate(value: Any, name: str) -> int:
    """A sample rate: an int that is not 0."""
    kind_of(int)(value, name)
    if value == 0 or not -2 ** 31 <= value < 2 ** 31:
        raise ValueRangeError(f"Input {name} is not within the required interval of [-2147483648, 0) and (0, 2147483647].")
    return value


quality = number(0, 1, open_left=True)


def one_of(*values: int) -> Any:
    """An int of a few."""
    def check(value: Any, name: str) -> int:
        kind_of(int)(value, name)
        if value not in values:
            raise ValueRangeError(f"Input {name} is not within the valid set of {list(values)}." if len(values) > 2 else
                                  f"Argument {name} should be {' or '.join(map(str, values))}, but got {value}.")
        return value
    return check
