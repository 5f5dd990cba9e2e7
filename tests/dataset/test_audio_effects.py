"""Effects give MindSpore's numbers (audio_effects.json, see audio_cases.py); those that draw, their bounds and seeds."""
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import mindlite.dataset as ds

pytest.importorskip("scipy")
from mindlite.dataset import audio  # noqa: E402

sys.path.insert(0, os.path.dirname(__file__))
from audio_cases import PAIR, WAVE, cases  # noqa: E402

WANTED = json.loads(Path(__file__).with_name("audio_effects.json").read_text())
CASES = cases(audio)


def test_every_case_of_mindspore_is_tried():
    assert set(CASES) == set(WANTED)


@pytest.mark.parametrize("name", CASES)
def test_an_effect_gives_mindspores_numbers(name):
    operation, wave = CASES[name]
    dtype, shape, numbers = WANTED[name]
    out = operation(wave)
    assert (str(out.dtype), list(out.shape)) == (dtype, shape)
    np.testing.assert_allclose(out.ravel(), np.array(numbers, np.float64), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", [audio.DensityFunction.RPDF, audio.DensityFunction.GPDF])
def test_drawn_dither_stays_near_the_waveform_and_follows_the_seed(kind):
    def made():
        before = ds.config.get_seed()
        ds.config.set_seed(5)
        try:
            rows = ds.NumpySlicesDataset([WAVE, WAVE[::-1].copy()], ["w"], shuffle=False).map(audio.Dither(kind), ["w"])
            return [row[0] for row in rows.create_tuple_iterator(output_numpy=True, num_epochs=1)]
        finally:
            ds.config.set_seed(before)
    first, second = made(), made()
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first[0], WAVE, atol=9 / 2 ** 15)


def test_silence_stays_silent():
    quiet = np.zeros((2, 50), np.float32)
    assert not audio.Flanger(1000, regen=50.0)(quiet).any() and not audio.Phaser(1000)(quiet).any()
    assert not audio.SlidingWindowCmn(4, 2)(quiet).any()


@pytest.mark.parametrize("make", [
    lambda: audio.Flanger(0), lambda: audio.Flanger(1000, delay=31.0), lambda: audio.Flanger(1000, regen=96.0),
    lambda: audio.Flanger(1000, speed=0.01), lambda: audio.Phaser(1000, gain_in=1.1), lambda: audio.Phaser(1000, mod_speed=3.0),
    lambda: audio.SlidingWindowCmn(-1), lambda: audio.DetectPitchFrequency(0), lambda: audio.DetectPitchFrequency(8000, 0.0)])
def test_settings_outside_their_range_are_refused(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize("run, words", [
    (lambda: audio.DetectPitchFrequency(4000)(WAVE), "fewer than win_length"),
    (lambda: audio.DetectPitchFrequency(1000, freq_low=85, freq_high=100)(PAIR), "too close"),
    (lambda: audio.Phaser(1000, delay_ms=0.0)(WAVE), "too small"), (lambda: audio.Flanger(1000)(WAVE), "Flanger")])
def test_what_cannot_be_computed_is_an_error(run, words):
    with pytest.raises(RuntimeError, match=words):
        run()
