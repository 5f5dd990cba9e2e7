"""Vad: where speech begins. The silence before it is cut off.

SoX's detector (vad.c): the spectrum of short windows is smoothed, an estimate of the noise is taken off, and the power of a
band of the cepstrum of what is left, in logarithms, is the measure; speech begins where its running mean reaches a level.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...common.errors import ValueRangeError
from ..operation import DataError, operation, optional, real
from .kinds import positive, sound


def _hann(count: int) -> np.ndarray:
    """A periodic Hann window times 2 / sqrt(count)."""
    return 2.0 / math.sqrt(count) * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(count) / count))


@dataclass
class _Detector:
    """What the detector measures with, and what it remembers, for all channels at once.

    band, lifter : positions in the spectrum and the cepstrum;  smooth, up, down : how much of the past stays in a step
    boot : number of the first measurements, -1 after `boots` of them;  spectrum, noise : [channel, position]
    """
    size: int
    band: slice
    lifter: slice
    window: np.ndarray
    reduction: float
    smooth: float
    up: float
    down: float
    boots: int
    boot: int = 0
    spectrum: Any = 0.0
    noise: Any = 0.0
    tapers: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.tapers = _hann(self.band.stop - self.band.start)

    def measure(self, samples: np.ndarray) -> np.ndarray:
        """The measure of the next window [channel, sample]: one number for each channel."""
        found = np.abs(np.fft.rfft(samples * self.window, self.size))[:, self.band]
        keep = self.boot / (1.0 + self.boot) if self.boot >= 0 else self.smooth
        self.spectrum = self.spectrum * keep + found * (1 - keep)
        power = self.spectrum ** 2
        stay = 0.0 if self.boot >= 0 else np.where(power > self.noise, self.up, self.down)
        self.noise = self.noise * stay + power * (1 - stay)
        clean = np.sqrt(np.maximum(power - self.reduction * self.noise, 0.0))
        half = np.zeros((len(samples), self.size // 2))
        half[:, self.band] = clean * self.tapers
        cepstrum = np.abs(np.fft.rfft(half))[:, self.lifter] ** 2
        mean = cepstrum.sum(-1) / (self.lifter.stop - self.lifter.start)
        if self.boot >= 0:
            self.boot = -1 if self.boot == self.boots else self.boot + 1
        with np.errstate(divide="ignore"):
            return np.maximum(0.0, 21 + np.log(mean))


def _before(measures: np.ndarray, latest: int, level: float, gap: int) -> int:
    """How many measurements before the trigger still belong to the speech. measures : a ring, the latest stands at `latest`"""
    count = len(measures)
    last_loud = last_quiet = count
    for ago in range(count):
        value = measures[(latest - ago) % count]
        if value >= level and ago <= last_loud + gap:
            last_loud = last_quiet = ago
        elif value == 0 and last_loud >= last_quiet:
            last_quiet = ago
    return min(count - 1, last_quiet)


def _up_and_down(arguments: dict) -> None:
    up, down = arguments["noise_up_time"], arguments["noise_down_time"]
    if up < down:
        raise ValueRangeError(f"Input noise_up_time should be greater than noise_down_time, but got noise_up_time: {up} and "
                              f"noise_down_time: {down}.")


_time, _frequency = real(0), real(0, open_left=True)


@operation(sample_rate=positive, trigger_level=real(), trigger_time=_time, search_time=_time, allowed_gap=_time,
           pre_trigger_time=_time, boot_time=_time, noise_up_time=_time, noise_down_time=_time, noise_reduction_amount=_time,
           measure_freq=_frequency, measure_duration=optional(_time), measure_smooth_time=_time, hp_filter_freq=_frequency,
           lp_filter_freq=_frequency, hp_lifter_freq=_frequency, lp_lifter_freq=_frequency, together=_up_and_down)
def Vad(waveform, /, sample_rate, trigger_level=7.0, trigger_time=0.25, search_time=1.0, allowed_gap=0.25, pre_trigger_time=0.0,
        boot_time=0.35, noise_up_time=0.1, noise_down_time=0.01, noise_reduction_amount=1.35, measure_freq=20.0,
        measure_duration=None, measure_smooth_time=0.4, hp_filter_freq=50.0, lp_filter_freq=6000.0, hp_lifter_freq=150.0,
        lp_lifter_freq=2000.0):
    """The waveform [..., time] from where one of its channels begins to speak.

    Where none does: its last `search_time` seconds and a measurement, as MindSpore gives them; a waveform that is shorter than
    that loses at its front what it lacks. MindSpore's own detector has been seen to find no speech at all.

    sample_rate   : samples in a second;  trigger_level : the measure that counts as speech
    trigger_time  : seconds over which the measure is averaged, so that short bursts do not count
    search_time, allowed_gap : seconds before the trigger in which quieter bursts are looked for, and how far apart they may be
    pre_trigger_time : seconds that are kept before what was found;  boot_time : seconds of the first estimate of noise
    noise_up_time, noise_down_time, noise_reduction_amount : how fast the estimate follows, how much of it is taken off
    measure_freq, measure_duration, measure_smooth_time : measurements in a second; seconds of one, two periods by default
    hp_filter_freq, lp_filter_freq, hp_lifter_freq, lp_lifter_freq : the bands of the spectrum and of the cepstrum
    raises        : ArgumentError, ValueRangeError; DataError where the bands leave nothing
    source        : SoX, vad.c
    """
    wave = sound(waveform, "Vad")
    channels = wave.reshape(-1, wave.shape[-1])
    seconds = measure_duration or 2.0 / measure_freq
    length, period = int(sample_rate * seconds + 0.5), int(sample_rate / measure_freq + 0.5)
    size = max(16, 1 << max(length - 1, 0).bit_length())
    band = slice(max(int(hp_filter_freq / sample_rate * size + 0.5), 1), min(int(lp_filter_freq / sample_rate * size + 0.5),
                                                                            size // 2))
    lifter = slice(math.ceil(sample_rate * 0.5 / lp_lifter_freq), min(math.floor(sample_rate * 0.5 / hp_lifter_freq), size // 4))
    if lifter.stop <= lifter.start or band.stop <= band.start:
        raise DataError("Vad: the frequencies of filters and lifters leave nothing of the spectrum at this sample_rate.")
    keep = {name: math.exp(-1.0 / (time * measure_freq)) if time else 0.0 for name, time in {
        "smooth": measure_smooth_time, "up": noise_up_time, "down": noise_down_time, "trigger": trigger_time}.items()}
    detector = _Detector(size, band, lifter, _hann(length), noise_reduction_amount, keep["smooth"], keep["up"], keep["down"],
                         int(boot_time * measure_freq - 0.5))
    count = max(math.ceil(search_time * measure_freq), 1)
    ring, mean = np.zeros((len(channels), count)), np.zeros(len(channels))
    for step, end in enumerate(range(length, wave.shape[-1], period)):
        slot = step % count
        ring[:, slot] = detector.measure(channels[:, end - length:end])
        mean = mean * keep["trigger"] + ring[:, slot] * (1 - keep["trigger"])
        loud = mean >= trigger_level
        if loud.any():
            gap = int(allowed_gap * measure_freq + 0.5)
            kept = max(_before(ring[channel], slot, trigger_level, gap) for channel in np.flatnonzero(loud))
            start = end - int(pre_trigger_time * sample_rate + 0.5) - kept * period - length
            return wave[..., max(start, 0):]
    held = int(pre_trigger_time * sample_rate + 0.5) + math.ceil(search_time * measure_freq) * period + length
    return wave[..., wave.shape[-1] - held:]
