"""Spectrograms, mel scales, cepstra, time and pitch, masks.

A spectrogram is [..., frequency, time]; complex numbers of it are a last axis of two.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import fft, signal

from ...common.errors import ValueRangeError
from .. import draws
from ..operation import FLOAT_MAX, DataError, flag, kind_of, number, operation, optional, real, whole
from .kinds import (BorderType, MelType, NormMode, NormType, ResampleMethod, ScaleType, WindowType, as_numbers, positive, rate,
                    real_dtype,
                    sound)


def window_of(kind: WindowType, length: int) -> np.ndarray:
    """A periodic window; Kaiser's with beta 12."""
    return signal.get_window(("kaiser", 12.0) if kind == WindowType.KAISER else kind.value, length, fftbins=True)


def short_time(wave: np.ndarray, n_fft: int, win_length: int, hop: int, window: WindowType, center: bool = True,
               mode: BorderType = BorderType.REFLECT, onesided: bool = True) -> np.ndarray:
    """The short-time Fourier transform [..., frequency, frame]."""
    taps = np.zeros(n_fft)
    start = (n_fft - win_length) // 2
    taps[start:start + win_length] = window_of(window, win_length)
    if center:
        wave = np.pad(wave, [(0, 0)] * (wave.ndim - 1) + [(n_fft // 2, n_fft // 2)], mode.value)
    if wave.shape[-1] < n_fft:
        raise DataError(f"Spectrogram: n_fft should be more than 0 and less than the length of the waveform, got {n_fft}, "
                        f"{wave.shape[-1]}")
    frames = np.lib.stride_tricks.sliding_window_view(wave, n_fft, -1)[..., ::hop, :] * taps
    return np.swapaxes((fft.rfft if onesided else fft.fft)(frames, axis=-1), -1, -2)


def inverse_short_time(spectrum: np.ndarray, n_fft: int, win_length: int, hop: int, window: WindowType, length: int | None = None,
                       center: bool = True, onesided: bool = True) -> np.ndarray:
    """The waveform by overlap and add (Griffin, Lim 1984)."""
    taps = np.zeros(n_fft)
    start = (n_fft - win_length) // 2
    taps[start:start + win_length] = window_of(window, win_length)
    frames = np.swapaxes(spectrum, -1, -2)
    frames = (fft.irfft(frames, n_fft, axis=-1) if onesided else fft.ifft(frames, axis=-1).real) * taps
    count = frames.shape[-2]
    out, weight = np.zeros((*frames.shape[:-2], n_fft + hop * (count - 1))), np.zeros(n_fft + hop * (count - 1))
    for k in range(count):
        out[..., k * hop:k * hop + n_fft] += frames[..., k, :]
        weight[k * hop:k * hop + n_fft] += taps ** 2
    out /= np.where(weight > 1e-11, weight, 1)
    if center:
        out = out[..., n_fft // 2:]
        out = out[..., :length] if length is not None else out[..., :out.shape[-1] - n_fft // 2]
    if length is not None and out.shape[-1] < length:
        out = np.pad(out, [(0, 0)] * (out.ndim - 1) + [(0, length - out.shape[-1])])
    return out if length is None else out[..., :length]


def _lengths(arguments: dict) -> None:
    n_fft, win = arguments["n_fft"], arguments.get("win_length")
    if win is not None and win > n_fft:
        raise ValueRangeError(f"Input win_length should be no more than n_fft, but got win_length: {win} and n_fft: {n_fft}.")


SHORT: dict[str, Any]
SHORT = dict(n_fft=positive, win_length=optional(positive), hop_length=optional(positive), window=kind_of(WindowType),
             together=_lengths)


def _spectrum(wave: np.ndarray, n_fft: int, win: int | None, hop: int | None, pad: int, window: WindowType, power: float,
              normalized: bool, center: bool, mode: BorderType, onesided: bool) -> np.ndarray:
    win = win or n_fft
    if pad:
        wave = np.pad(wave, [(0, 0)] * (wave.ndim - 1) + [(pad, pad)])
    found = short_time(wave.astype(np.float64), n_fft, win, hop or win // 2, window, center, mode, onesided)
    if normalized:
        found = found / np.sqrt((window_of(window, win) ** 2).sum())
    if power == 0:
        return np.stack([found.real, found.imag], -1).astype(wave.dtype)
    return (np.abs(found) ** power).astype(wave.dtype)


@operation(pad=whole(0), power=real(0), normalized=flag, center=flag, pad_mode=kind_of(BorderType), onesided=flag, **SHORT)
def Spectrogram(waveform, /, n_fft=400, win_length=None, hop_length=None, pad=0, window=WindowType.HANN, power=2.0,
                normalized=False, center=True, pad_mode=BorderType.REFLECT, onesided=True):
    """The power of frequencies over time. power : exponent of the magnitude, 0 for complex numbers"""
    return _spectrum(sound(waveform, "Spectrogram"), n_fft, win_length, hop_length, pad, window, power, normalized, center,
                     pad_mode,
                     onesided)


@operation(length=optional(whole(0)), pad=whole(0), normalized=flag, center=flag, pad_mode=kind_of(BorderType), onesided=flag,
           **SHORT)
def InverseSpectrogram(spectrum, /, length=None, n_fft=400, win_length=None, hop_length=None, pad=0, window=WindowType.HANN,
                       normalized=False, center=True, pad_mode=BorderType.REFLECT, onesided=True):
    """The waveform of a complex spectrogram."""
    found, win = complex_of(spectrum, "InverseSpectrogram"), win_length or n_fft
    if normalized:
        found = found * np.sqrt((window_of(window, win) ** 2).sum())
    wanted = None if length is None else length + 2 * pad
    out = inverse_short_time(found, n_fft, win, hop_length or win // 2, window, wanted, center, onesided)
    return out[..., pad:out.shape[-1] - pad].astype(np.float32)


def complex_of(data: Any, name: str) -> np.ndarray:
    """Complex numbers of a last axis of two. raises : DataError"""
    array = as_numbers(data, name)
    if array.ndim < 2 or array.shape[-1] != 2:
        raise DataError(f"{name}: the shape of input tensor does not match the requirement of operator. Expecting tensor in "
                        f"shape of "
                        f"<..., complex=2>. But got {array.shape}.")
    array = array.astype(np.float64, copy=False)
    return array[..., 0] + 1j * array[..., 1]


@operation()
def Angle(spectrum, /):
    """The phase of complex numbers."""
    return np.angle(complex_of(spectrum, "Angle")).astype(real_dtype(spectrum))


@operation(power=real(0))
def ComplexNorm(spectrum, /, power=1.0):
    """The magnitude of complex numbers to a power."""
    found = complex_of(spectrum, "ComplexNorm")
    return ((found.real ** 2 + found.imag ** 2) ** (power / 2)).astype(real_dtype(spectrum))


@operation(power=real(0))
def Magphase(spectrum, /, power=1.0):
    """(magnitude to a power, phase) of complex numbers."""
    found, kind = complex_of(spectrum, "Magphase"), real_dtype(spectrum)
    return (np.abs(found) ** power).astype(kind), np.angle(found).astype(kind)


@operation(stype=kind_of(ScaleType), ref_value=real(0, open_left=True), amin=real(0, open_left=True),
           top_db=real(0, open_left=True))
def AmplitudeToDB(spectrum, /, stype=ScaleType.POWER, ref_value=1.0, amin=1e-10, top_db=80.0):
    """Decibels; what is more than `top_db` below the largest of a channel is cut."""
    data = sound(spectrum, "AmplitudeToDB", 2)
    factor = 10.0 if stype == ScaleType.POWER else 20.0
    out = factor * np.log10(np.maximum(data.astype(np.float64), amin)) - factor * math.log10(max(amin, ref_value))
    axes = tuple(range(max(0, out.ndim - 3), out.ndim))
    return np.maximum(out, out.max(axes, keepdims=True) - top_db).astype(data.dtype)


@operation(ref=number(), power=number())
def DBToAmplitude(data, /, ref, power):
    """ref * (10^(0.1 x))^power"""
    data = sound(data, "DBToAmplitude")
    return (ref * (10.0 ** (0.1 * data)) ** power).astype(data.dtype)


# ------------------------------------------------------------------- mel and cosine

def to_mel(frequency: Any, kind: MelType) -> Any:
    """Mel of hertz."""
    f = np.asarray(frequency, np.float64)
    if kind == MelType.HTK:
        return 2595.0 * np.log10(1.0 + f / 700.0)
    return np.where(f >= 1000, 15 + np.log(np.maximum(f, 1e-9) / 1000) / (math.log(6.4) / 27), f * 3 / 200)


def from_mel(mel: Any, kind: MelType) -> Any:
    """Hertz of mel."""
    m = np.asarray(mel, np.float64)
    if kind == MelType.HTK:
        return 700.0 * (10.0 ** (m / 2595.0) - 1.0)
    return np.where(m >= 15, 1000 * np.exp(math.log(6.4) / 27 * (m - 15)), m * 200 / 3)


def triangles(n_freqs: int, points: np.ndarray, sample_rate: int) -> np.ndarray:
    """Triangular filters [frequency, filter] between points in hertz."""
    every = np.linspace(0, sample_rate // 2, n_freqs)
    slopes = points[None, :] - every[:, None]
    steps = np.diff(points)
    return np.maximum(0, np.minimum(-slopes[:, :-2] / steps[:-1], slopes[:, 2:] / steps[1:]))


def melscale_fbanks(n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int, norm: NormType = NormType.NONE,
                    mel_type: MelType = MelType.HTK) -> np.ndarray:
    """Filters on the mel scale, float32 [n_freqs, n_mels]. raises : ArgumentError, ValueRangeError"""
    positive(n_freqs, "n_freqs"), number()(f_min, "f_min"), number()(f_max, "f_max"), positive(n_mels, "n_mels")
    positive(sample_rate, "sample_rate"), kind_of(NormType)(norm, "norm"), kind_of(MelType)(mel_type, "mel_type")
    if f_max <= 0:
        raise ValueRangeError("Input f_max is not within the required interval of (0, 16777216].")
    if f_min >= f_max:
        raise ValueRangeError(f"Input f_min should be no more than f_max, but got f_min: {f_min} and f_max: {f_max}.")
    points = from_mel(np.linspace(to_mel(f_min, mel_type), to_mel(f_max, mel_type), n_mels + 2), mel_type)
    found = triangles(n_freqs, points, sample_rate)
    if norm == NormType.SLANEY:
        found *= 2.0 / (points[2:] - points[:-2])
    return found.astype(np.float32)


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> np.ndarray:
    """Filters on the linear scale, float32 [n_freqs, n_filter]."""
    positive(n_freqs, "n_freqs"), positive(n_filter, "n_filter"), positive(sample_rate, "sample_rate")
    number()(f_min, "f_min"), number()(f_max, "f_max")
    if f_min > f_max:
        raise ValueRangeError(f"Input f_min should be no more than f_max, but got f_min: {f_min} and f_max: {f_max}.")
    return triangles(n_freqs, np.linspace(f_min, f_max, n_filter + 2), sample_rate).astype(np.float32)


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> np.ndarray:
    """The cosine transform of type 2, float32 [n_mels, n_mfcc]."""
    positive(n_mfcc, "n_mfcc"), positive(n_mels, "n_mels"), kind_of(NormMode)(norm, "norm")
    found = np.cos(math.pi / n_mels * (np.arange(n_mels)[:, None] + 0.5) * np.arange(n_mfcc))
    if norm == NormMode.NONE:
        return (found * 2).astype(np.float32)
    found[:, 0] /= math.sqrt(2)
    return (found * math.sqrt(2 / n_mels)).astype(np.float32)


def _mel(data: np.ndarray, n_mels: int, sample_rate: int, f_min: float, f_max: float | None, n_stft: int, norm: NormType,
         kind: MelType) -> np.ndarray:
    banks = melscale_fbanks(n_stft, f_min, f_max or sample_rate // 2, n_mels, sample_rate, norm, kind)
    return np.swapaxes(np.swapaxes(data, -1, -2) @ banks, -1, -2).astype(data.dtype)


MEL: dict[str, Any] = dict(n_mels=positive, sample_rate=positive, f_min=real(), f_max=optional(real(0, open_left=True)),
           norm=kind_of(NormType))


def _band(arguments: dict) -> None:
    low, high, half = arguments["f_min"], arguments["f_max"], arguments["sample_rate"] // 2
    if high is None and low >= half:
        raise ValueRangeError("MelScale: sample_rate // 2 should be greater than f_min when f_max is set to None.")
    if high is not None and low >= high:
        raise ValueRangeError("MelScale: f_max should be greater than f_min.")


@operation(n_stft=positive, mel_type=kind_of(MelType), together=_band, **MEL)
def MelScale(spectrum, /, n_mels=128, sample_rate=16000, f_min=0.0, f_max=None, n_stft=201, norm=NormType.NONE,
             mel_type=MelType.HTK):
    """A spectrogram on the mel scale."""
    return _mel(sound(spectrum, "MelScale", 2), n_mels, sample_rate, f_min, f_max, n_stft, norm, mel_type)


def _descent(value: Any, name: str) -> dict:
    kind_of(dict)(value, name)
    for word in ("sgd_lr", "sgd_momentum"):
        if word not in value:
            raise ValueRangeError(f"{name} has no {word!r}")
        number(0)(value[word], word)
    return value


@operation(random=True, n_stft=positive, max_iter=positive, tolerance_loss=real(0, open_left=True),
           tolerance_change=real(0, open_left=True), sgdargs=optional(_descent), mel_type=kind_of(MelType), together=_band,
           **MEL)
def InverseMelScale(spectrum, /, n_stft, n_mels=128, sample_rate=16000, f_min=0.0, f_max=None, max_iter=100000,
                    tolerance_loss=1e-5, tolerance_change=1e-8, sgdargs=None, norm=NormType.NONE, mel_type=MelType.HTK):
    """A spectrogram [..., n_stft, time] whose mel scale is the data [..., n_mels, time], found by gradient descent.

    sgdargs : {"sgd_lr", "sgd_momentum"}, 0.1 and 0.9 by default
    max_iter, tolerance_loss, tolerance_change : when it ends: after so many steps, at such a mean squared error, or when a step
              changes it by less. It begins with random numbers: many spectrograms have the same mel scale
    raises  : ArgumentError, ValueRangeError; DataError for data that has not n_mels rows
    source  : torchaudio.transforms.InverseMelScale of version 0.13 for the objective
    """
    data = sound(spectrum, "InverseMelScale", 2)
    if data.shape[-2] != n_mels:
        raise DataError(f"InverseMelScale: the input has {data.shape[-2]} rows of mels, n_mels is {n_mels}.")
    banks = melscale_fbanks(n_stft, f_min, f_max or sample_rate // 2, n_mels, sample_rate, norm, mel_type).astype(np.float64)
    wanted = np.swapaxes(data, -1, -2).reshape(-1, n_mels).astype(np.float64)
    found = draws.generator().random((len(wanted), n_stft))
    speed, last, options = np.zeros_like(found), math.inf, sgdargs or {"sgd_lr": 0.1, "sgd_momentum": 0.9}
    for _ in range(max_iter):
        missing = wanted - found @ banks
        loss = np.square(missing).sum() / len(wanted)
        speed = options["sgd_momentum"] * speed - (missing @ banks.T) * (2 / len(wanted))
        found = np.maximum(found - options["sgd_lr"] * speed, 0.0)
        if loss < tolerance_loss or abs(last - loss) < tolerance_change:
            break
        last = loss
    shape = (*data.shape[:-2], data.shape[-1], n_stft)
    return np.swapaxes(found.reshape(shape), -1, -2).astype(data.dtype)


@operation(pad=whole(0), power=real(0, open_left=True), normalized=flag, center=flag, pad_mode=kind_of(BorderType),
           onesided=flag,
           mel_scale=kind_of(MelType), **MEL, **SHORT)
def MelSpectrogram(waveform, /, sample_rate=16000, n_fft=400, win_length=None, hop_length=None, f_min=0.0, f_max=None, pad=0,
                   n_mels=128, window=WindowType.HANN, power=2.0, normalized=False, center=True, pad_mode=BorderType.REFLECT,
                   onesided=True, norm=NormType.NONE, mel_scale=MelType.HTK):
    """Spectrogram, then MelScale."""
    found = _spectrum(sound(waveform, "MelSpectrogram"), n_fft, win_length, hop_length, pad, window, power, normalized, center,
                      pad_mode, onesided)
    return _mel(found, n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1 if onesided else n_fft, norm, mel_scale)


def _cosine(data: np.ndarray, count: int, filters: int, norm: NormMode, log: bool) -> np.ndarray:
    data = np.log(data + 1e-6) if log else AmplitudeToDB()(data)
    return np.swapaxes(np.swapaxes(data, -1, -2) @ create_dct(count, filters, norm), -1, -2).astype(data.dtype)


def two(value: Any, name: str) -> int:
    """2. raises : ValueRangeError"""
    if value != 2:
        raise ValueRangeError(f"Input {name} must be 2, but got : {value}.")
    return 2


@operation(sample_rate=positive, n_mfcc=positive, dct_type=two, norm=kind_of(NormMode), log_mels=flag,
           melkwargs=optional(kind_of(dict)))
def MFCC(waveform, /, sample_rate=16000, n_mfcc=40, dct_type=2, norm=NormMode.ORTHO, log_mels=False, melkwargs=None):
    """Mel-frequency cepstral coefficients (Davis, Mermelstein 1980). melkwargs : arguments of MelSpectrogram"""
    made = MelSpectrogram(sample_rate=sample_rate, **{"n_fft": 400, "n_mels": 128, **(melkwargs or {})})
    if n_mfcc > made.n_mels:
        raise ValueRangeError(f"The number of MFCC coefficients should be no more than the number of mel bins: {n_mfcc}, "
                              f"{made.n_mels}")
    return _cosine(made(waveform), n_mfcc, made.n_mels, norm, log_mels)


@operation(sample_rate=positive, n_filter=positive, n_lfcc=positive, f_min=real(0), f_max=optional(real(0)),
           dct_type=two, norm=kind_of(NormMode), log_lf=flag, speckwargs=optional(kind_of(dict)))
def LFCC(waveform, /, sample_rate=16000, n_filter=128, n_lfcc=40, f_min=0.0, f_max=None, dct_type=2, norm=NormMode.ORTHO,
         log_lf=False, speckwargs=None):
    """Linear-frequency cepstral coefficients. speckwargs : arguments of Spectrogram"""
    made = Spectrogram(**(speckwargs or {}))
    found = made(waveform)
    banks = linear_fbanks(found.shape[-2], f_min, f_max or sample_rate // 2, n_filter, sample_rate)
    return _cosine(np.swapaxes(np.swapaxes(found, -1, -2) @ banks, -1, -2), n_lfcc, n_filter, norm, log_lf)


@operation(win_length=whole(3), pad_mode=kind_of(BorderType))
def ComputeDeltas(data, /, win_length=5, pad_mode=BorderType.EDGE):
    """How features change over time: the slope over a window."""
    data, n = sound(data, "ComputeDeltas", 2), (win_length - 1) // 2
    padded = np.pad(data, [(0, 0)] * (data.ndim - 1) + [(n, n)], pad_mode.value)
    total = sum(k * padded[..., n + k:padded.shape[-1] - n + k] for k in range(-n, n + 1))
    return (total / (n * (n + 1) * (2 * n + 1) / 3)).astype(data.dtype)


@operation(sample_rate=rate, pad=whole(0), **SHORT)
def SpectralCentroid(waveform, /, sample_rate, n_fft=400, win_length=None, hop_length=None, pad=0, window=WindowType.HANN):
    """The mean frequency of each frame."""
    wave = sound(waveform, "SpectralCentroid")
    found = _spectrum(wave, n_fft, win_length, hop_length, pad, window, 1.0, False, True, BorderType.REFLECT, True)
    points = np.linspace(0, sample_rate // 2, n_fft // 2 + 1)[:, None]
    return ((points * found).sum(-2, keepdims=True) / found.sum(-2, keepdims=True)).astype(wave.dtype)


# ------------------------------------------------------------------- time and pitch

def vocoded(spectrum: np.ndarray, speed: float, advance: np.ndarray) -> np.ndarray:
    """The spectrogram played `speed` times as fast at the same pitch (Flanagan, Golden 1966)."""
    if speed == 1:
        return spectrum
    steps = np.arange(0, spectrum.shape[-1], speed)
    padded = np.concatenate([spectrum, np.zeros((*spectrum.shape[:-1], 2))], -1)
    first, second = padded[..., steps.astype(int)], padded[..., (steps + 1).astype(int)]
    turn = np.angle(second) - np.angle(first) - advance
    turn = turn - 2 * math.pi * np.round(turn / (2 * math.pi)) + advance
    phase = np.cumsum(np.concatenate([np.angle(padded[..., :1]), turn[..., :-1]], -1), -1)
    share = steps % 1.0
    return (share * np.abs(second) + (1 - share) * np.abs(first)) * np.exp(1j * phase)


def _as_pairs(found: np.ndarray, kind: Any) -> np.ndarray:
    return np.stack([found.real, found.imag], -1).astype(kind)


@operation(rate=real(0, open_left=True), phase_advance=kind_of(np.ndarray))
def PhaseVocoder(spectrum, /, rate, phase_advance):
    """A complex spectrogram played `rate` times as fast. phase_advance : [frequency, 1]"""
    return _as_pairs(vocoded(complex_of(spectrum, "PhaseVocoder"), rate, phase_advance), real_dtype(spectrum))


@operation(hop_length=optional(positive), n_freq=positive, fixed_rate=optional(real(0, open_left=True)))
def TimeStretch(spectrum, /, hop_length=None, n_freq=201, fixed_rate=None):
    """A complex spectrogram played `fixed_rate` times as fast at the same pitch."""
    found = complex_of(spectrum, "TimeStretch")
    advance = np.linspace(0, math.pi * (hop_length or n_freq - 1), n_freq)[:, None]
    return _as_pairs(vocoded(found, fixed_rate or 1.0, advance), real_dtype(spectrum))


def resampled(wave: np.ndarray, old: int, new: int, width: int = 6, rolloff: float = 0.99,
              kaiser: float | None = None) -> np.ndarray:
    """Another sample rate by a windowed sinc (J. O. Smith, Digital audio resampling)."""
    divisor = math.gcd(old, new)
    old, new = old // divisor, new // divisor
    if old == new:
        return wave
    base = min(old, new) * rolloff
    reach, count = math.ceil(width * old / base), math.ceil(new * wave.shape[-1] / old)
    out = np.arange(count)
    taps = (out * old // new)[:, None] + np.arange(-reach, reach + 2)       # the samples around each new one
    t = np.clip((taps / old - out[:, None] / new) * base, -width, width)
    if kaiser is None:
        window = np.cos(t * math.pi / width / 2) ** 2
    else:
        window = np.i0(kaiser * np.sqrt(1 - (t / width) ** 2)) / np.i0(kaiser)
    kernel = np.sinc(t) * window * (base / old)
    kernel[(taps < 0) | (taps >= wave.shape[-1])] = 0
    return np.einsum("...nk,nk->...n", wave[..., np.clip(taps, 0, wave.shape[-1] - 1)], kernel)


@operation(orig_freq=positive, new_freq=positive, resample_method=kind_of(ResampleMethod), lowpass_filter_width=positive,
           rolloff=number(0, 1, open_left=True), beta=optional(number()))
def Resample(waveform, /, orig_freq=16000, new_freq=16000, resample_method=ResampleMethod.SINC_INTERPOLATION,
             lowpass_filter_width=6, rolloff=0.99, beta=None):
    """Another sample rate. beta : of Kaiser's window, 14.769656459379492 by default"""
    wave = sound(waveform, "Resample")
    kaiser = (beta or 14.769656459379492) if resample_method == ResampleMethod.KAISER_WINDOW else None
    return resampled(wave, orig_freq, new_freq, lowpass_filter_width, rolloff, kaiser).astype(wave.dtype)


@operation(sample_rate=whole(0), n_steps=kind_of(int), bins_per_octave=kind_of(int), **SHORT)
def PitchShift(waveform, /, sample_rate, n_steps, bins_per_octave=12, n_fft=512, win_length=None, hop_length=None,
               window=WindowType.HANN):
    """The pitch moved by `n_steps` of an octave's `bins_per_octave`."""
    wave = sound(waveform, "PitchShift")
    win = win_length or n_fft
    hop = hop_length or win // 4
    speed = 2.0 ** (-n_steps / bins_per_octave)
    spectrum = short_time(wave.astype(np.float64), n_fft, win, hop, window)
    advance = np.linspace(0, math.pi * hop, spectrum.shape[-2])[:, None]
    stretched = vocoded(spectrum, speed, advance)
    longer = inverse_short_time(stretched, n_fft, win, hop, window, round(wave.shape[-1] / speed))
    out = resampled(longer, int(sample_rate / speed), sample_rate)[..., :wave.shape[-1]]
    return np.pad(out, [(0, 0)] * (out.ndim - 1) + [(0, wave.shape[-1] - out.shape[-1])]).astype(wave.dtype)


@operation(n_fft=positive, n_iter=positive, win_length=optional(whole(0)), hop_length=optional(whole(0)),
           window_type=kind_of(WindowType), power=real(0, open_left=True), momentum=real(0), length=optional(whole(0)),
           rand_init=flag, random=True, together=_lengths)
def GriffinLim(spectrum, /, n_fft=400, n_iter=32, win_length=None, hop_length=None, window_type=WindowType.HANN, power=2.0,
               momentum=0.99, length=None, rand_init=True):
    """The waveform of a spectrogram without phases (Griffin, Lim 1984; Perraudin et al. 2013).

    momentum : m of [0, 1), of which the step before counts m / (1 + 2 m): MindSpore's share, torchaudio's is m / (1 + m)
    """
    data, win = sound(spectrum, "GriffinLim", 2), win_length or n_fft
    if data.shape[-2] != n_fft // 2 + 1:
        raise DataError("GriffinLim: the frequency of the input should equal to n_fft / 2 + 1", note=f"shape {data.shape}")
    if momentum >= 1:
        raise DataError(f"GriffinLim: momentum equal to or greater than 1 can be unstable, but got: {momentum:f}")
    hop, size = hop_length or win // 2, data.astype(np.float64) ** (1 / power)
    phase = np.exp(2j * math.pi * draws.generator().random(size.shape)) if rand_init else np.ones(size.shape, complex)
    before = np.zeros(size.shape, complex)
    for _ in range(n_iter):
        rebuilt = short_time(inverse_short_time(size * phase, n_fft, win, hop, window_type, length), n_fft, win, hop, window_type)
        if rebuilt.shape != size.shape:
            raise DataError(f"GriffinLim: {length} samples have {rebuilt.shape[-1]} frames, but the spectrogram has "
                            f"{size.shape[-1]}", hint="length cuts off less than a frame, or pads by less than one")
        phase = rebuilt - momentum / (1 + 2 * momentum) * before
        phase /= np.abs(phase) + 1e-16
        before = rebuilt
    return inverse_short_time(size * phase, n_fft, win, hop, window_type, length).astype(data.dtype)


# ------------------------------------------------------------------- masks

def masked(data: np.ndarray, start: int, width: int, value: float, axis: int) -> np.ndarray:
    """A stripe set to a value."""
    out = np.array(data)
    np.moveaxis(out, axis, 0)[start:start + width] = value
    return out


@operation(mask_start=whole(0), mask_width=positive, mask_value=real(), axis=whole(1, 2))
def MaskAlongAxis(spectrum, /, mask_start, mask_width, mask_value, axis):
    """A stripe set to a value. axis : 1 for frequencies, 2 for time"""
    data = sound(spectrum, "MaskAlongAxis", 2)
    if mask_start + mask_width > data.shape[axis - 3]:
        raise DataError("MaskAlongAxis: the sum of mask_start and mask_width is out of bounds.")
    return masked(data, mask_start, mask_width, mask_value, axis - 3)


def _stripes(data: np.ndarray, each: bool, limit: int, start: int, value: float, axis: int, name: str) -> np.ndarray:
    size = data.shape[axis]
    if limit > size:
        dimension, param = ("time", "time_mask_param") if axis == -1 else ("frequency", "frequency_mask_param")
        raise DataError(f"{name}: '{param}' should be less than or equal to the length of {dimension} dimension {size}, but got: "
                        f"{limit}")
    if not each and limit and start + limit > size:
        raise DataError(f"{name}: 'mask_start' should be less than the length of the masked dimension: the sum of 'mask_start' "
                        f"and 'mask_width' should be no more than {size}, but got: {start} + {limit}")
    numbers = draws.generator()
    if each and data.ndim > 2:
        return np.stack([_stripes(part, each, limit, 0, value, axis, name) for part in data])
    width = int(numbers.random() * limit) if each else limit
    return masked(data, int(numbers.random() * (size - width)) if each else start, width, value, axis)


def mask_param(value: Any, name: str) -> int:
    """A width >= 0. raises : ArgumentError, ValueRangeError"""
    return whole(0, FLOAT_MAX)(value, "mask_param")


MASK: dict[str, Any] = dict(iid_masks=flag, mask_start=whole(0, FLOAT_MAX), mask_value=real(0))


@operation(freq_mask_param=mask_param, random=True, **MASK)
def FrequencyMasking(spectrum, /, iid_masks=False, freq_mask_param=0, mask_start=0, mask_value=0.0):
    """SpecAugment's mask of frequencies (Park et al. 2019). iid_masks : a random one for each channel"""
    return _stripes(sound(spectrum, "FrequencyMasking", 2), iid_masks, freq_mask_param, mask_start, mask_value, -2,
                    "FrequencyMasking")


@operation(time_mask_param=mask_param, random=True, **MASK)
def TimeMasking(spectrum, /, iid_masks=False, time_mask_param=0, mask_start=0, mask_value=0.0):
    """SpecAugment's mask of time. iid_masks : a random one for each channel"""
    return _stripes(sound(spectrum, "TimeMasking", 2), iid_masks, time_mask_param, mask_start, mask_value, -1, "TimeMasking")


@operation(mask_param=whole(0), mask_value=real(), axis=whole(1, 2), random=True)
def MaskAlongAxisIID(spectrum, /, mask_param, mask_value, axis):
    """A random stripe for each channel. axis : 1 for frequencies, 2 for time"""
    return _stripes(sound(spectrum, "MaskAlongAxisIID", 2), True, mask_param, 0, mask_value, axis - 3, "MaskAlongAxisIID")
