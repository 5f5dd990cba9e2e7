"""Operations on sound, against SciPy, closed forms, and each other."""
import numpy as np
import pytest

pytest.importorskip("scipy")
from scipy import signal  # noqa: E402

from mindlite.dataset import audio  # noqa: E402

RATE = 8000
TIME = np.arange(1600) / RATE
WAVE = (0.5 * np.sin(2 * np.pi * 440 * TIME)).astype(np.float32)


def tone(frequency):
    return (0.1 * np.sin(2 * np.pi * frequency * TIME)).astype(np.float32)


def decibels(operation, frequency):
    """What an operation does to the loudness of a tone."""
    out = operation(tone(frequency))[400:]
    return 20 * np.log10(np.sqrt(np.mean(out ** 2.0)) / np.sqrt(np.mean(tone(frequency)[400:] ** 2.0)))


@pytest.mark.parametrize("operation, frequency, expected", [
    (audio.LowpassBiquad(RATE, 500.), 50, 0), (audio.LowpassBiquad(RATE, 500.), 500, -3), (audio.LowpassBiquad(RATE, 500.),
    3000, -50),
    (audio.HighpassBiquad(RATE, 500.), 3000, 0), (audio.HighpassBiquad(RATE, 500.), 500, -3), (audio.AllpassBiquad(RATE, 500.),
    900, 0),
    (audio.BandpassBiquad(RATE, 500.), 500, 0), (audio.BandrejectBiquad(RATE, 500.), 3900, 0),
    (audio.EqualizerBiquad(RATE, 500., 6.), 500, 6),
    (audio.BassBiquad(RATE, 6., 500.), 20, 6), (audio.BassBiquad(RATE, 6., 500.), 3900, 0),
    (audio.TrebleBiquad(RATE, 6., 500.), 3900, 6),
    (audio.TrebleBiquad(RATE, 6., 500.), 20, 0), (audio.Gain(6.), 440, 6), (audio.Vol(0.5), 440, -6.02),
])
def test_filters_change_loudness_as_they_say(operation, frequency, expected):
    found = decibels(operation, frequency)
    assert found < -35 if expected == -50 else abs(found - expected) < 0.6


def test_the_curve_of_vinyl_is_one_at_a_kilohertz():
    time = np.arange(44100) / 44100
    wave = 0.1 * np.sin(2 * np.pi * 1000 * time)
    out = audio.RiaaBiquad(44100)(wave)
    assert abs(out[20000:].std() / wave[20000:].std() - 1) < 0.01
    assert audio.DeemphBiquad(44100)(wave).std() < wave.std()


def test_general_filters_are_scipy_s_and_are_cut():
    assert np.allclose(audio.LFilter([1., 0.2, 0.3], [0.1, 0.2, 0.3])(WAVE), signal.lfilter([0.1, 0.2, 0.3], [1, 0.2, 0.3], WAVE),
                       atol=1e-6)
    assert np.allclose(audio.Biquad(0.1, 0.2, 0.3, 1., 0.2, 0.3)(WAVE), audio.LFilter([1., 0.2, 0.3], [0.1, 0.2, 0.3])(WAVE))
    assert abs(audio.LFilter([1.], [9.])(WAVE)).max() == 1 < abs(audio.LFilter([1.], [9.], False)(WAVE)).max()
    twice = audio.Filtfilt([1., 0.2], [0.5, 0.2])(WAVE)
    assert twice.shape == WAVE.shape


def test_loudness():
    assert np.allclose(audio.MuLawDecoding()(audio.MuLawEncoding()(WAVE)), WAVE, atol=0.02)
    assert audio.MuLawEncoding()(np.array([-1., 0., 1.])).tolist() == [0, 128, 255]
    assert np.allclose(audio.Contrast(0.)(WAVE), np.sin(WAVE * np.pi / 2), atol=1e-6)
    assert np.allclose(audio.DCShift(0.3)(WAVE), np.clip(WAVE + 0.3, -1, 1))
    faded = audio.Fade(100, 200)(np.ones(1000, np.float32))
    assert faded[0] == 0 == faded[-1] and (faded[100:800] == 1).all() and np.allclose(faded[:100], np.linspace(0, 1, 100))
    assert abs(audio.Overdrive()(WAVE)).max() <= 1


def test_a_spectrogram_shows_the_tone_and_is_undone():
    spectrum = audio.Spectrogram(n_fft=400)(WAVE)
    assert spectrum.shape == (201, 9) and (spectrum.argmax(0)[1:-1] == round(440 / (RATE / 400))).all()
    pairs = audio.Spectrogram(n_fft=400, power=0.)(WAVE)
    assert np.allclose(audio.ComplexNorm(2.)(pairs), spectrum, atol=1e-4)
    assert np.allclose(audio.InverseSpectrogram(1600, n_fft=400)(pairs), WAVE, atol=1e-5)
    size, phase = audio.Magphase()(pairs)
    assert np.allclose(size ** 2, spectrum, atol=1e-4) and np.allclose(phase, audio.Angle()(pairs))
    assert abs(audio.SpectralCentroid(RATE, 400)(WAVE)[0, 2:-2] - 440).max() < 30
    again = audio.GriffinLim(n_fft=400, n_iter=40, length=1600, rand_init=False)(spectrum)
    assert np.abs(audio.Spectrogram(n_fft=400)(again) - spectrum).mean() < 0.2 * spectrum.mean()


def test_mel_and_cosine():
    banks = audio.melscale_fbanks(201, 0.0, 4000.0, 20, RATE)
    assert banks.shape == (201, 20) and (banks >= 0).all() and banks.max() <= 1
    slaney = audio.melscale_fbanks(2001, 0.0, 4000.0, 20, RATE, audio.NormType.SLANEY, audio.MelType.SLANEY)
    assert np.allclose(slaney.sum(0) * 2, 1, atol=0.05), "each filter has the area 1: 2 Hz a bin"
    spectrum = audio.Spectrogram(n_fft=400)(WAVE)
    assert np.allclose(audio.MelSpectrogram(RATE, 400, n_mels=20)(WAVE), (spectrum.T @ banks).T, rtol=1e-4)
    dct = audio.create_dct(10, 10, audio.NormMode.ORTHO)
    assert np.allclose(dct.T @ dct, np.eye(10), atol=1e-6)
    assert audio.MFCC(RATE, 8, melkwargs={"n_fft": 400, "n_mels": 20})(WAVE).shape == (8, 9)
    assert audio.LFCC(RATE, 20, 8, speckwargs={"n_fft": 400})(WAVE).shape == (8, 9)
    levels = audio.AmplitudeToDB()(spectrum)
    assert abs(levels.max() - levels.min() - 80) < 1e-3
    assert np.allclose(audio.DBToAmplitude(1.0, 0.5)(np.array([20.0])), 10)
    assert np.allclose(audio.ComputeDeltas()(np.arange(20.0)[None])[:, 3:-3], 1)
    assert audio.linear_fbanks(20, 0.0, 4000.0, 5, RATE).shape == (20, 5)


def test_pitch_and_time():
    def peak(wave, rate=RATE):
        return np.abs(np.fft.rfft(wave * np.hanning(len(wave)))).argmax() * rate / len(wave)
    assert abs(peak(audio.PitchShift(RATE, 12)(WAVE)) - 880) < 15 and audio.PitchShift(RATE, 12)(WAVE).shape == WAVE.shape
    half = audio.Resample(RATE, 4000)(WAVE)
    assert len(half) == 800 and abs(peak(half, 4000) - 440) < 6 and np.allclose(half[50:-50], WAVE[::2][50:-50], atol=0.01)
    pairs = audio.Spectrogram(n_fft=400, power=0.)(WAVE)
    assert audio.TimeStretch(200, 201, 2.0)(pairs).shape == (201, 5, 2)
    assert np.allclose(audio.PhaseVocoder(1.0, np.zeros((201, 1)))(pairs), pairs)


def test_masks():
    ones = np.ones((2, 10, 12), np.float32)
    assert (audio.FrequencyMasking(False, 3, 2, 0.5)(ones)[:, 2:5] == 0.5).all()
    masked = audio.MaskAlongAxis(2, 3, 0.0, 2)(ones)
    assert not masked[:, :, 2:5].any() and masked.sum() == 2 * 10 * 9
    random = audio.TimeMasking(True, 6)(ones)
    assert set(random.ravel()) <= {0.0, 1.0} and random.shape == ones.shape
    with pytest.raises(RuntimeError):
        audio.MaskAlongAxis(8, 9, 0.0, 1)(ones)


@pytest.mark.parametrize("call, error", [
    (lambda: audio.LowpassBiquad(0, 1.), ValueError), (lambda: audio.LowpassBiquad(8000.5, 1.), TypeError),
    (lambda: audio.LowpassBiquad(8000, 1., 2.), ValueError), (lambda: audio.Contrast(101.), ValueError),
    (lambda: audio.Gain("1"), TypeError),
    (lambda: audio.RiaaBiquad(8000), ValueError), (lambda: audio.Spectrogram(n_fft=0), ValueError),
    (lambda: audio.Spectrogram(100, 200), ValueError), (lambda: audio.melscale_fbanks(20, 50.0, 10.0, 5, 8000), ValueError),
    (lambda: audio.LFilter([1.], [1., 2.]), ValueError), (lambda: audio.Angle()(np.ones(3)), RuntimeError),
    (lambda: audio.Gain()(np.array("x")), RuntimeError), (lambda: audio.Fade(9999)(WAVE), RuntimeError),
])
def test_operations_refuse_bad_arguments_and_data(call, error):
    with pytest.raises(error):
        call()


def syllables(rate=8000):
    """Four seconds: noise, and from 1.5 to 3.5 a voice of about 130 Hz with four syllables a second."""
    time = np.arange(4 * rate) / rate
    loudness = np.where((time > 1.5) & (time < 3.5), np.maximum(0, np.sin(2 * np.pi * 4 * time)) ** 2, 0)
    phase = 2 * np.pi * np.cumsum(130 + 20 * np.sin(2 * np.pi * 2 * time)) / rate
    voice = loudness * sum(np.sin(k * phase) / k for k in range(1, 15))
    return (np.random.default_rng(0).normal(size=len(time)) * 1e-4 + voice).astype(np.float32)


def test_vad_cuts_off_what_comes_before_speech():
    wave = syllables()
    found = audio.Vad(8000)(wave)
    begins = (len(wave) - len(found)) / 8000
    assert 1.2 < begins < 1.6
    np.testing.assert_array_equal(found, wave[len(wave) - len(found):])
    earlier = audio.Vad(8000, pre_trigger_time=0.5)(wave)
    assert len(earlier) - len(found) == 4000
    both = audio.Vad(8000)(np.stack([np.zeros_like(wave), wave]))      # the channel that speaks decides
    np.testing.assert_array_equal(both[1], found)


def test_vad_without_speech_gives_the_end_as_mindspore_does():
    noise = np.random.default_rng(1).normal(size=(2, 3, 1000)).astype(np.float32)
    assert audio.Vad(600)(noise).shape == (2, 3, 660)
    with pytest.raises(ValueError, match="noise_up_time should be greater than noise_down_time"):
        audio.Vad(1000, noise_up_time=1.0, noise_down_time=3.0)
    with pytest.raises(RuntimeError, match="leave nothing of the spectrum"):
        audio.Vad(8000, hp_lifter_freq=5000.0)(noise)


def test_inverse_mel_scale_finds_a_spectrogram_with_that_mel_scale():
    spectrum = np.random.default_rng(2).random((2, 20, 7))
    mel = audio.MelScale(n_mels=6, sample_rate=8000, n_stft=20)(spectrum)
    found = audio.InverseMelScale(20, n_mels=6, sample_rate=8000, tolerance_loss=1e-9, tolerance_change=1e-14)(mel)
    assert found.shape == spectrum.shape and found.dtype == mel.dtype and found.min() >= 0
    np.testing.assert_allclose(audio.MelScale(n_mels=6, sample_rate=8000, n_stft=20)(found), mel, atol=1e-3)
    with pytest.raises(ValueError, match="MelScale: f_max should be greater than f_min."):
        audio.InverseMelScale(20, f_min=1000, f_max=1000)
    with pytest.raises(RuntimeError, match="6 rows of mels, n_mels is 5"):
        audio.InverseMelScale(20, n_mels=5)(mel)
    with pytest.raises(ValueError, match="'sgd_momentum'"):
        audio.InverseMelScale(20, sgdargs={"sgd_lr": 0.1})


@pytest.mark.parametrize("call, error, why", [
    (lambda: audio.GriffinLim(100)(np.ones((60, 4), np.float32)), RuntimeError, "equal to n_fft / 2"),
    (lambda: audio.GriffinLim(100, momentum=1)(np.ones((51, 4), np.float32)), RuntimeError, "unstable, but got: 1.000000"),
    (lambda: audio.GriffinLim(64, length=300)(np.ones((33, 20), np.float32)), RuntimeError, "300 samples have 10 frames"),
    (lambda: audio.Biquad(1, 1, 1, 0, 1, 1), ValueError, r"\[-16777216, 0\) and \(0, 16777216\]"),
    (lambda: audio.TimeMasking(mask_value=-1), ValueError, "mask_value"),
    (lambda: audio.MFCC(dct_type=3), ValueError, "dct_type must be 2"),
    (lambda: audio.AmplitudeToDB(top_db="1"), TypeError, r"\[<class 'int'>, <class 'float'>\]"),
])
def test_operations_on_sound_refuse_bad_arguments(call, error, why):
    with pytest.raises(error, match=why):
        call()


@pytest.mark.parametrize("call", [audio.Angle(), audio.ComplexNorm(), audio.Magphase(), audio.TimeStretch(10, 4, 1.2),
                                  audio.PhaseVocoder(1.2, np.linspace(0, 30, 4)[:, None])])
def test_what_is_computed_of_whole_or_half_numbers_is_float32(call):
    spectrum = np.random.default_rng(0).integers(-9, 9, (1, 4, 6, 2))
    exact = call(spectrum.astype(np.float64))
    for kind in (np.int32, np.int16, np.float16, np.float32):
        for found, wanted in zip(np.atleast_1d(call(spectrum.astype(kind))), np.atleast_1d(exact)):
            assert found.dtype == np.float32 and wanted.dtype == np.float64 and np.allclose(found, wanted, atol=1e-4), kind


def test_filters_keep_the_dtype_and_refuse_whole_numbers():
    wave = np.linspace(-0.5, 0.5, 50)
    for kind in (np.float16, np.float32, np.float64):
        found = audio.LowpassBiquad(4000, 1500.0)(wave.astype(kind))
        assert found.dtype == kind and np.allclose(found, audio.LowpassBiquad(4000, 1500.0)(wave), atol=1e-2)
        assert audio.MuLawDecoding()(wave.astype(kind)).dtype == (np.float64 if kind == np.float64 else np.float32)
        assert audio.Flanger(44100)(wave[None].astype(kind)).dtype == kind
    assert audio.Fade()(np.arange(9)).dtype == np.int64 and audio.Gain()(np.array([True, False])).tolist() != [1, 0]
    for operation in (audio.LowpassBiquad(4000, 1500.0), audio.DetectPitchFrequency(8000), audio.LFilter([1.0], [1.0])):
        with pytest.raises(RuntimeError, match=r"Expecting tensor in type of \[float, double\]. But got type int64"):
            operation(np.arange(50))


def test_the_mu_law_has_mindspore_s_bits():
    assert audio.MuLawDecoding(128)(np.array([70, 170])).tolist() == [0.00506480922922492, 26.928272247314453]


@pytest.mark.parametrize("call, kind, words", [
    (lambda: audio.Angle()(np.array([["1", "2"]])), RuntimeError, "the data type of input tensor does not match"),
    (lambda: audio.Magphase()(np.array([["1", "2"]])), RuntimeError, "the data type of input tensor does not match"),
    (lambda: audio.AmplitudeToDB()({"x": 1}), TypeError, r"Got <class 'dict'>: {'x': 1}, cannot be converted into tensor"),
    (lambda: audio.TimeMasking(False, 2, 5)(np.ones((4, 6))), RuntimeError, "'mask_start' should be less than the length"),
    (lambda: audio.FrequencyMasking(False, 4, 1)(np.ones((4, 6))), RuntimeError, r"no more than 4, but got: 1 \+ 4"),
    (lambda: audio.TimeMasking(True, 7, 0)(np.ones((4, 6))), RuntimeError, "'time_mask_param' should be less than or equal to"),
    (lambda: audio.TimeMasking(True, 2, -10), ValueError, r"mask_start is not within the required interval of \[0, 16777216\]"),
])
def test_what_is_no_sound_is_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_the_mel_scale_may_begin_below_zero():
    scale = audio.MelScale(n_mels=2, sample_rate=10, f_min=-50, f_max=100, n_stft=2)
    made = scale(np.array([[1.0, -1.0], [0.5, 2.0]], np.float32))
    assert np.allclose(made, [[1.3472155, 0.73121077], [0.15278444, 0.26878923]], rtol=1e-5)     # MindSpore's
