"""Effects of audio on fixed waveforms, in several settings.

`python tests/dataset/audio_cases.py OUT.json` in an environment with MindSpore writes what MindSpore makes of them;
audio_effects.json is its output with MindSpore 2.10.0. test_audio.py compares mindlite with it.
"""
import json
import sys

import numpy as np

TIME = np.arange(60)
WAVE = (0.6 * np.sin(TIME * 0.21) + 0.3 * np.sin(TIME * 0.057 + 1)).astype(np.float32)
PAIR = np.stack([WAVE, WAVE[::-1] * 0.7])
FEATURES = np.sin(np.arange(2 * 9 * 4) * 1.3).reshape(2, 9, 4).astype(np.float32)
SPECTRUM = np.abs(np.sin(np.arange(5 * 6) * 0.9)).reshape(5, 6)
TONE = (np.sin(np.arange(3000) * 2 * np.pi * 200 / 4000) * 0.5).astype(np.float32)


def cases(audio):
    """{name: (operation, waveform)}"""
    found = {}

    def add(name, *waves, **settings):
        for wave in waves:
            shown = ", ".join(f"{key}={value}" for key, value in settings.items())
            found[f"{name}({shown}) of {list(wave.shape)}"] = getattr(audio, name)(**settings), wave
    flanger = {"sample_rate": 1000, "speed": 9.0}
    add("Flanger", PAIR, sample_rate=1000)
    add("Flanger", PAIR, sample_rate=1000, delay=2.0, depth=3.0, regen=30.0, width=50.0, speed=7.0, phase=50.0)
    add("Flanger", PAIR, modulation=audio.Modulation.TRIANGULAR, **flanger)
    add("Flanger", PAIR, PAIR[None].astype(np.float64), interpolation=audio.Interpolation.QUADRATIC, delay=1.0, **flanger)
    add("Phaser", PAIR, WAVE, sample_rate=1000)
    add("Phaser", PAIR, sample_rate=1000, gain_in=0.8, decay=0.2, mod_speed=2.0)
    add("Phaser", WAVE, sample_rate=1000, sinusoidal=False, delay_ms=5.0, mod_speed=1.5)
    for shaped in (False, True):
        add("Dither", PAIR, WAVE, noise_shaping=shaped)
    add("SlidingWindowCmn", FEATURES)
    for settings in ({"min_cmn_window": 2}, {"center": True}, {"norm_vars": True, "min_cmn_window": 3},
                     {"center": True, "norm_vars": True}):
        add("SlidingWindowCmn", FEATURES, FEATURES[0], cmn_window=4, **settings)
    add("SlidingWindowCmn", FEATURES, cmn_window=1, min_cmn_window=1, norm_vars=True)
    for momentum in (0.0, 0.5, 0.99):
        add("GriffinLim", SPECTRUM, n_fft=8, n_iter=3, momentum=momentum, rand_init=False)
    tones = np.stack([TONE, TONE ** 3])
    add("DetectPitchFrequency", tones, TONE, sample_rate=4000)
    add("DetectPitchFrequency", tones, sample_rate=4000, frame_time=0.02, win_length=4, freq_low=50, freq_high=1000)
    return found


def described(operation, wave):
    """[dtype, shape, numbers]"""
    out = np.asarray(operation(wave))
    return [str(out.dtype), list(out.shape), [float(f"{value:.6g}") for value in out.ravel().tolist()]]


if __name__ == "__main__":
    import mindspore.dataset.audio
    with open(sys.argv[1], "w") as stream:
        stream.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(described(*case), separators=(',', ':'))}"
                                        for name, case in cases(mindspore.dataset.audio).items()) + "\n}\n")
