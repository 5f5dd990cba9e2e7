"""Effects with a memory or a noise, pitch, and normalisation: operations on waveforms [..., time] and features.

Sources: SoX (flanger, phaser, dither); Kaldi (sliding-window mean and variance); Sondhi 1968 (pitch by correlation).
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..draws import generator
from ..operation import DataError, flag, kind_of, number, operation, real, whole
from .kinds import DensityFunction, Interpolation, Modulation, positive, rate, sound


def _wave(kind: Modulation, count: int, low: float, high: float, turn: float) -> np.ndarray:
    """One period of a wave in [low, high] as `count` numbers; it begins after the part `turn` of a period."""
    at = (np.arange(count) + int(turn * count + 0.5)) % count / count
    if kind is Modulation.SINUSOIDAL:
        height = (np.sin(2 * np.pi * at) + 1) / 2
    else:                                                    # up to 1 at a quarter, down to 0 at three quarters
        height = np.where(at < 0.25, 2 * at + 0.5, np.where(at < 0.75, 1.5 - 2 * at, 2 * at - 1.5))
    return height * (high - low) + low


@operation(sample_rate=rate, delay=number(0, 30), depth=number(0, 10), regen=number(-95, 95), width=number(0, 100),
           speed=number(0.1, 10), phase=number(0, 100), modulation=kind_of(Modulation), interpolation=kind_of(Interpolation))
def Flanger(waveform, /, sample_rate, delay=0.0, depth=2.0, regen=0.0, width=71.0, speed=0.5, phase=25.0,
            modulation=Modulation.SINUSOIDAL, interpolation=Interpolation.LINEAR):
    """The waveform [..., channel, time] and an echo of it whose delay swings, cut to [-1, 1].

    delay, depth : milliseconds, the least delay and how far it swings;  speed : swings in a second
    regen : percent of the echo that is fed back;  width : percent of it that is mixed in
    phase : percent of a swing from one channel to the next;  interpolation : between samples of the echo
    """
    wave = sound(waveform, "Flanger", 2)
    channels, length = wave.shape[-2:]
    feedback, mixed = regen / 100, width / 100
    own, echo = 1 / (1 + mixed), mixed / (1 + mixed) * (1 - abs(feedback))
    size = int((delay + depth) / 1000 * sample_rate + 0.5) + 2
    swing = _wave(modulation, int(sample_rate / speed), math.floor(delay / 1000 * sample_rate + 0.5), size - 2, 0.75)
    swing = swing.astype(np.float32).astype(np.float64)
    shift = (np.arange(channels) * len(swing) * (phase / 100) + 0.5).astype(np.int64)
    every, data = np.arange(channels), wave.reshape(-1, channels, length).astype(np.float64)
    past, last, out = np.zeros((len(data), channels, size)), np.zeros((len(data), channels)), np.empty_like(data)
    for n in range(length):
        here = -n - 1                                        # the past runs backwards
        ago = swing[(n + shift) % len(swing)]
        whole_part = np.floor(ago).astype(np.int64)
        part = ago - whole_part
        past[:, :, here % size] = data[:, :, n] + last * feedback
        first, second, third = (past[:, every, (here + whole_part + k) % size] for k in range(3))
        if interpolation is Interpolation.LINEAR:
            last = first + (second - first) * part
        else:
            bend = (third - first) / 2 - (second - first)
            last = first + (bend * part + second - first - bend) * part
        out[:, :, n] = data[:, :, n] * own + last * echo
    return np.clip(out, -1, 1).astype(np.asarray(waveform).dtype).reshape(wave.shape)    # also whole numbers, as MindSpore


@operation(sample_rate=whole(-2 ** 31), gain_in=number(0, 1), gain_out=number(0, 1e9), delay_ms=number(0, 5.0),
           decay=number(0, 0.99), mod_speed=number(0.1, 2), sinusoidal=flag)
def Phaser(waveform, /, sample_rate, gain_in=0.4, gain_out=0.74, delay_ms=3.0, decay=0.4, mod_speed=0.5, sinusoidal=True):
    """The waveform [..., time] and its own echo, fed back with a delay that swings, cut to [-1, 1].

    gain_in, gain_out : factors before and after;  delay_ms : the greatest delay;  decay : how much of the echo comes back
    mod_speed : swings in a second;  sinusoidal : their form, else triangles
    """
    wave = sound(waveform, "Phaser")
    size, period = int(delay_ms * 0.001 * sample_rate + 0.5), int(sample_rate / mod_speed + 0.5)
    if size < 1 or period < 1:
        raise DataError("Phaser: delay_ms or mod_speed is too small for the sample rate")
    swing = _wave(Modulation.SINUSOIDAL if sinusoidal else Modulation.TRIANGULAR, period, 1.0, float(size), 0.25)
    swing = (swing + 0.5).astype(np.int64)
    data = wave.reshape(-1, wave.shape[-1]).astype(np.float64) * gain_in
    past, out = np.zeros((len(data), size)), np.empty_like(data)
    for n in range(data.shape[1]):
        out[:, n] = data[:, n] + past[:, (n + swing[n % period]) % size]
        past[:, (n + 1) % size] = out[:, n] * decay
    return np.clip(out * gain_out, -1, 1).astype(wave.dtype).reshape(wave.shape)


@operation(density_function=kind_of(DensityFunction), noise_shaping=flag)
def Dither(waveform, /, density_function=DensityFunction.TPDF, noise_shaping=False):
    """The waveform [..., time] rounded to 16 bits after an addend that hides the rounding.

    density_function : TPDF, a triangle over the time; RPDF, one number for all; GPDF, a sum of drawn ones
    noise_shaping    : the error of a sample goes to the next one
    """
    wave = sound(waveform, "Dither")
    data = wave.reshape(-1, wave.shape[-1]).astype(np.float64)
    count, numbers = data.shape[1], generator()
    if density_function is DensityFunction.TPDF:
        noise: Any = np.bartlett(count + 1)[:count] if count else 0.0
    else:
        row = data[numbers.integers(len(data))]
        noise = row[numbers.integers(count)] - 0.5 if density_function is DensityFunction.RPDF else \
            row[numbers.integers(count, size=7)].sum()
    rounded = np.round(data * (2 ** 15 - 2) + noise) / 2 ** 15
    if noise_shaping:
        error = rounded - data
        rounded[:, 1:] += error[:, :-1]
    return rounded.astype(wave.dtype).reshape(wave.shape)


@operation(cmn_window=whole(0), min_cmn_window=whole(0), center=flag, norm_vars=flag)
def SlidingWindowCmn(features, /, cmn_window=600, min_cmn_window=100, center=False, norm_vars=False):
    """Features [..., frame, feature] minus their mean over a window of frames; norm_vars : divided by their deviation too.

    cmn_window : frames of a window, which ends at the frame, or (center) holds it in its middle
    min_cmn_window : of the first windows, where not center
    """
    data = sound(features, "SlidingWindowCmn", 2)
    count = data.shape[-2]
    x = data.astype(np.float64)
    out = np.empty_like(x)
    for n in range(count):
        start = n - (cmn_window // 2 if center else cmn_window)
        end = start + cmn_window if center else n + 1
        start, end = max(start, 0), end - min(start, 0)
        if not center and end > n:
            end = max(n + 1, min_cmn_window)
        if end > count:
            start, end = max(start - (end - count), 0), count
        window = x[..., start:end, :]
        out[..., n, :] = x[..., n, :] - window.mean(-2)
        if norm_vars:
            with np.errstate(divide="ignore", invalid="ignore"):
                out[..., n, :] = out[..., n, :] / window.std(-2) if end - start > 1 else 0.0
    return out.astype(data.dtype)


@operation(sample_rate=rate, frame_time=number(0, open_left=True), win_length=positive, freq_low=real(0, open_left=True),
           freq_high=real(0, open_left=True))
def DetectPitchFrequency(waveform, /, sample_rate, frame_time=0.01, win_length=30, freq_low=85, freq_high=3400):
    """The pitch of each frame of the waveform [..., time]: the lag of the greatest normalised correlation, smoothed by medians.

    frame_time : seconds of a frame;  win_length : frames of a median;  freq_low, freq_high : where the pitch is looked for
    output : frequencies float32 [..., frame]
    """
    wave = sound(waveform, "DetectPitchFrequency", whole_numbers=False)
    data = wave.reshape(-1, wave.shape[-1]).astype(np.float64)
    lags, frame = math.ceil(sample_rate / freq_low), math.ceil(sample_rate * frame_time)
    frames, first = math.ceil(data.shape[1] / frame), math.ceil(sample_rate / freq_high)
    if first >= lags // 2:
        raise DataError("DetectPitchFrequency: freq_low and freq_high are too close for the sample rate")
    data = np.pad(data, ((0, 0), (0, lags + frames * frame - data.shape[1])))

    def cut(lag: int) -> np.ndarray:
        return data[:, lag:lag + frames * frame].reshape(-1, frames, frame)
    now, tiny = cut(0), 1e-9
    correlation = np.stack([(now * cut(lag)).sum(-1) / ((tiny + np.linalg.norm(now, axis=-1)) *
                                                        (tiny + np.linalg.norm(cut(lag), axis=-1))) ** 2
                            for lag in range(1, lags + 1)], -1).astype(np.float32)
    near, far = correlation[..., first:lags // 2], correlation[..., first:]
    best = np.where(near.max(-1) > 0.99 * far.max(-1), near.argmax(-1), far.argmax(-1)) + first + 1
    before = (win_length - 1) // 2
    best = np.concatenate([np.repeat(best[:, :1], before, 1), best], 1)
    if best.shape[1] < win_length:
        raise DataError(f"DetectPitchFrequency: {frames} frames are fewer than win_length {win_length} wants")
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(best, win_length, 1), -1)
    pitch = sample_rate / (tiny + windows[..., (win_length - 1) // 2])
    return pitch.astype(np.float32).reshape(*wave.shape[:-1], -1)
