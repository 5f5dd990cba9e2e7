"""Filters and loudness: operations on waveforms [..., time].

Sources: R. Bristow-Johnson, Audio EQ Cookbook; SoX.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import signal

from ...common.errors import ValueRangeError
from ..operation import FLOAT_MAX, DataError, flag, items, kind_of, number, operation, optional, whole, within
from .kinds import FadeShape, GainType, one_of, positive, quality, rate, real_dtype, sound


def filtered(data: Any, b: Any, a: Any, name: str, clamp: bool = True) -> np.ndarray:
    """The waveform through b / a, cut to [-1, 1], in its own dtype. raises : DataError for whole numbers"""
    wave, kind = sound(data, name, whole_numbers=False), np.asarray(data).dtype
    out = signal.lfilter(np.asarray(b, np.float64), np.asarray(a, np.float64), wave.astype(np.float64))
    return (np.clip(out, -1, 1) if clamp else out).astype(kind)


def _angle(sample_rate: int, frequency: float, q: float) -> tuple[float, float, float]:
    """(cosine, sine, alpha) of the cookbook."""
    w = 2 * math.pi * frequency / sample_rate
    return math.cos(w), math.sin(w), math.sin(w) / 2 / q


def not_zero(value: Any, name: str) -> float:
    """A number that is not 0. raises : ArgumentError, ValueRangeError"""
    if not kind_of(float, int)(value, name) or not -FLOAT_MAX <= value <= FLOAT_MAX:
        raise ValueRangeError(f"Input {name} is not within the required interval of [-{FLOAT_MAX}, 0) and (0, {FLOAT_MAX}].")
    return value


@operation(b0=number(), b1=number(), b2=number(), a0=not_zero, a1=number(), a2=number())
def Biquad(waveform, /, b0, b1, b2, a0, a1, a2):
    """y(n) = (b0 x(n) + b1 x(n-1) + b2 x(n-2) - a1 y(n-1) - a2 y(n-2)) / a0"""
    return filtered(waveform, [b0, b1, b2], [a0, a1, a2], "Biquad")


@operation(sample_rate=rate, cutoff_freq=number(), Q=quality)
def LowpassBiquad(waveform, /, sample_rate, cutoff_freq, Q=0.707):
    """Lets low frequencies pass."""
    c, _, a = _angle(sample_rate, cutoff_freq, Q)
    return filtered(waveform, [(1 - c) / 2, 1 - c, (1 - c) / 2], [1 + a, -2 * c, 1 - a], "LowpassBiquad")


@operation(sample_rate=rate, cutoff_freq=number(), Q=quality)
def HighpassBiquad(waveform, /, sample_rate, cutoff_freq, Q=0.707):
    """Lets high frequencies pass."""
    c, _, a = _angle(sample_rate, cutoff_freq, Q)
    return filtered(waveform, [(1 + c) / 2, -1 - c, (1 + c) / 2], [1 + a, -2 * c, 1 - a], "HighpassBiquad")


@operation(sample_rate=rate, central_freq=number(), Q=quality)
def AllpassBiquad(waveform, /, sample_rate, central_freq, Q=0.707):
    """Changes phases only."""
    c, _, a = _angle(sample_rate, central_freq, Q)
    return filtered(waveform, [1 - a, -2 * c, 1 + a], [1 + a, -2 * c, 1 - a], "AllpassBiquad")


@operation(sample_rate=rate, central_freq=number(), Q=quality, const_skirt_gain=flag)
def BandpassBiquad(waveform, /, sample_rate, central_freq, Q=0.707, const_skirt_gain=False):
    """Lets a band pass. const_skirt_gain : the gain is Q at the centre, else 1"""
    c, s, a = _angle(sample_rate, central_freq, Q)
    top = s / 2 if const_skirt_gain else a
    return filtered(waveform, [top, 0, -top], [1 + a, -2 * c, 1 - a], "BandpassBiquad")


@operation(sample_rate=rate, central_freq=number(), Q=quality)
def BandrejectBiquad(waveform, /, sample_rate, central_freq, Q=0.707):
    """Takes a band out."""
    c, _, a = _angle(sample_rate, central_freq, Q)
    return filtered(waveform, [1, -2 * c, 1], [1 + a, -2 * c, 1 - a], "BandrejectBiquad")


@operation(sample_rate=rate, central_freq=number(), Q=quality, noise=flag)
def BandBiquad(waveform, /, sample_rate, central_freq, Q=0.707, noise=False):
    """SoX's band filter. noise : for noise in place of tones"""
    w = 2 * math.pi * central_freq / sample_rate
    a2 = math.exp(-2 * math.pi * central_freq / Q / sample_rate)
    a1 = -4 * a2 / (1 + a2) * math.cos(w)
    b0 = math.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
    if noise:
        b0 *= math.sqrt(((1 + a2) ** 2 - a1 * a1) * (1 - a2) / (1 + a2)) / b0
    return filtered(waveform, [b0, 0, 0], [1, a1, a2], "BandBiquad")


@operation(sample_rate=rate, center_freq=number(), gain=number(), Q=quality)
def EqualizerBiquad(waveform, /, sample_rate, center_freq, gain, Q=0.707):
    """Raises or lowers a band by `gain` decibels."""
    c, _, a = _angle(sample_rate, center_freq, Q)
    amp = 10 ** (gain / 40)
    return filtered(waveform, [1 + a * amp, -2 * c, 1 - a * amp], [1 + a / amp, -2 * c, 1 - a / amp], "EqualizerBiquad")


def _shelf(waveform: Any, sample_rate: int, gain: float, frequency: float, q: float, sign: int, name: str) -> np.ndarray:
    c, _, alpha = _angle(sample_rate, frequency, q)
    a = 10 ** (gain / 40)
    root, plus, minus = 2 * math.sqrt(a) * alpha, a + 1, a - 1
    c *= sign                                                # 1: low frequencies, -1: high ones
    return filtered(waveform, [a * (plus - minus * c + root), sign * 2 * a * (minus - plus * c), a * (plus - minus * c - root)],
                    [plus + minus * c + root, -sign * 2 * (minus + plus * c), plus + minus * c - root], name)


@operation(sample_rate=rate, gain=number(), central_freq=number(), Q=quality)
def BassBiquad(waveform, /, sample_rate, gain, central_freq=100.0, Q=0.707):
    """Raises or lowers low frequencies by `gain` decibels."""
    return _shelf(waveform, sample_rate, gain, central_freq, Q, 1, "BassBiquad")


@operation(sample_rate=rate, gain=number(), central_freq=number(), Q=quality)
def TrebleBiquad(waveform, /, sample_rate, gain, central_freq=3000, Q=0.707):
    """Raises or lowers high frequencies by `gain` decibels."""
    return _shelf(waveform, sample_rate, gain, central_freq, Q, -1, "TrebleBiquad")


@operation(sample_rate=one_of(44100, 48000))
def DeemphBiquad(waveform, /, sample_rate):
    """The de-emphasis of compact discs (IEC 60908)."""
    frequency, slope, gain = (5283, 0.4845, -9.477) if sample_rate == 44100 else (5356, 0.479, -9.62)
    w = 2 * math.pi * frequency / sample_rate
    a, c = 10 ** (gain / 40), math.cos(w)
    root = 2 * math.sqrt(a) * math.sin(w) / 2 * math.sqrt((a + 1 / a) * (1 / slope - 1) + 2)
    return filtered(waveform, [a * ((a + 1) + (a - 1) * c + root), -2 * a * ((a - 1) + (a + 1) * c),
                               a * ((a + 1) + (a - 1) * c - root)],
                    [(a + 1) - (a - 1) * c + root, 2 * ((a - 1) - (a + 1) * c), (a + 1) - (a - 1) * c - root], "DeemphBiquad")


_RIAA = {44100: ([-0.2014898, 0.9233820], [0.7083149, 0.9924091]), 48000: ([-0.1766069, 0.9321590], [0.7396325, 0.9931330]),
         88200: ([-0.1168735, 0.9648312], [0.8590646, 0.9964002]), 96000: ([-0.1141486, 0.9676817], [0.8699137, 0.9966946])}


@operation(sample_rate=one_of(*_RIAA))
def RiaaBiquad(waveform, /, sample_rate):
    """The playback curve of vinyl records, 1 at 1 kHz."""
    zeros, poles = _RIAA[sample_rate]
    b, a = np.poly(zeros), np.poly(poles)
    y = 2 * math.pi * 1000 / sample_rate
    z = np.exp(-1j * y * np.arange(3))
    return filtered(waveform, b / abs((b @ z) / (a @ z)), a, "RiaaBiquad")


coefficients = items(number())


def _same_length(arguments: dict) -> None:
    if len(arguments["a_coeffs"]) != len(arguments["b_coeffs"]):
        raise ValueRangeError(f"LFilter: a_coeffs size should be the same as that of b_coeffs, but got a_coeffs: "
                              f"{len(arguments['a_coeffs'])} and b_coeffs: {len(arguments['b_coeffs'])}.")


@operation(a_coeffs=coefficients, b_coeffs=coefficients, clamp=flag, together=_same_length)
def LFilter(waveform, /, a_coeffs, b_coeffs, clamp=True):
    """A linear filter by its coefficients."""
    return filtered(waveform, b_coeffs, a_coeffs, "LFilter", clamp)


@operation(a_coeffs=coefficients, b_coeffs=coefficients, clamp=flag, together=_same_length)
def Filtfilt(waveform, /, a_coeffs, b_coeffs, clamp=True):
    """A linear filter forwards, then backwards."""
    forwards = filtered(waveform, b_coeffs, a_coeffs, "Filtfilt", False)
    return filtered(forwards[..., ::-1], b_coeffs, a_coeffs, "Filtfilt", clamp)[..., ::-1].copy()


# ------------------------------------------------------------------- loudness

@operation(gain_db=number())
def Gain(waveform, /, gain_db=1.0):
    """Louder by `gain_db` decibels."""
    wave = sound(waveform, "Gain")
    return wave if gain_db == 0 else (wave * 10 ** (gain_db / 20)).astype(wave.dtype)


@operation(enhancement_amount=number(0, 100))
def Contrast(waveform, /, enhancement_amount=75.0):
    """SoX's contrast: sounds louder without being it."""
    wave = sound(waveform, "Contrast")
    turned = wave.astype(np.float64) * (math.pi / 2)
    return np.sin(turned + enhancement_amount / 750.0 * np.sin(turned * 4)).astype(wave.dtype)


def _vol(arguments: dict) -> None:
    if arguments["gain_type"] == GainType.POWER:
        within(arguments["gain"], 0, 16777216, "gain", open_left=True)
    elif arguments["gain_type"] == GainType.AMPLITUDE:
        within(arguments["gain"], 0, 16777216, "gain")


@operation(gain=number(), gain_type=kind_of(GainType), together=_vol)
def Vol(waveform, /, gain, gain_type=GainType.AMPLITUDE):
    """Louder by a factor, by decibels, or by a factor of the power; cut to [-1, 1]."""
    wave = sound(waveform, "Vol")
    factor = {GainType.AMPLITUDE: lambda: gain, GainType.DB: lambda: 10 ** (gain / 20), GainType.POWER: lambda: math.sqrt(gain)}
    return np.clip(wave * factor[gain_type](), -1, 1).astype(wave.dtype)


@operation(shift=number(-2.0, 2.0), limiter_gain=optional(number()))
def DCShift(waveform, /, shift, limiter_gain=None):
    """The waveform moved up or down. limiter_gain : keeps peaks inside"""
    wave = sound(waveform, "DCShift").copy()
    if limiter_gain is None:
        return np.clip(wave + shift, -1, 1).astype(wave.dtype)
    threshold = 1.0 - (abs(shift) - limiter_gain)
    sign = 1 if shift > 0 else -1
    loud = sign * wave > threshold
    squeezed = (sign * wave - threshold) * limiter_gain / (1 - threshold) + threshold + abs(shift)
    return np.where(loud, sign * np.minimum(squeezed, threshold), np.clip(wave + shift, -1, 1)).astype(wave.dtype)


@operation(gain=number(0, 100), color=number(0, 100))
def Overdrive(waveform, /, gain=20.0, color=20.0):
    """SoX's overdrive."""
    wave = sound(waveform, "Overdrive").astype(np.float64)
    driven = wave * 10 ** (gain / 20) + color / 200
    driven = np.where(driven < -1, -2 / 3, np.where(driven > 1, 2 / 3, driven - driven ** 3 / 3))
    smooth = signal.lfilter([1, -1], [1, -0.995], driven)
    return np.clip(wave * 0.5 + smooth * 0.75, -1, 1).astype(real_dtype(waveform))


_FADES = {
    FadeShape.LINEAR: lambda x: x, FadeShape.EXPONENTIAL: lambda x: 2 ** (x - 1) * x,
    FadeShape.LOGARITHMIC: lambda x: np.log10(0.1 + x) + 1, FadeShape.QUARTER_SINE: lambda x: np.sin(x * math.pi / 2),
    FadeShape.HALF_SINE: lambda x: np.sin(x * math.pi - math.pi / 2) / 2 + 0.5}


@operation(fade_in_len=whole(0), fade_out_len=whole(0), fade_shape=kind_of(FadeShape))
def Fade(waveform, /, fade_in_len=0, fade_out_len=0, fade_shape=FadeShape.LINEAR):
    """Louder over the first samples, softer over the last ones."""
    wave = sound(waveform, "Fade")
    if not fade_in_len and not fade_out_len:
        return np.asarray(waveform)
    count, gain = wave.shape[-1], np.ones(wave.shape[-1])
    for length, name in ((fade_in_len, "fade_in_len"), (fade_out_len, "fade_out_len")):
        if length > count:
            raise DataError(f"Fade: {name} should be less than waveform length, but got: {length}, {count}")
    curve = _FADES[fade_shape]
    gain[:fade_in_len] *= np.clip(curve(np.linspace(0, 1, fade_in_len)), 0, 1)
    gain[count - fade_out_len:] *= np.clip(curve(np.linspace(0, 1, fade_out_len))[::-1], 0, 1)
    return (wave * gain).astype(wave.dtype)


@operation(quantization_channels=positive)
def MuLawEncoding(waveform, /, quantization_channels=256):
    """Whole numbers of the mu-law (ITU G.711), int32."""
    mu = quantization_channels - 1
    wave = sound(waveform, "MuLawEncoding").astype(np.float64)
    return ((np.sign(wave) * np.log1p(mu * np.abs(wave)) / np.log1p(mu) + 1) / 2 * mu + 0.5).astype(np.int32)


@operation(quantization_channels=positive)
def MuLawDecoding(waveform, /, quantization_channels=256):
    """The waveform of whole numbers of the mu-law: float64 of float64, float32 of others."""
    wave = sound(waveform, "MuLawDecoding")
    mu = wave.dtype.type(quantization_channels - 1)
    wave = wave / mu * 2 - 1
    return np.sign(wave) * np.expm1(np.abs(wave) * np.log1p(mu)) / mu
