"""Operations on sound: MindSpore's `dataset.audio`. Needs SciPy (extra `data`).

    filters.py  filters and loudness;  effects.py  effects with a memory, pitch
    activity.py  where speech begins
    spectra.py  spectrograms, features, pitch, masks;  kinds.py  the enumerations
"""
from .activity import Vad
from .effects import DetectPitchFrequency, Dither, Flanger, Phaser, SlidingWindowCmn
from .filters import (AllpassBiquad, BandBiquad, BandpassBiquad, BandrejectBiquad, BassBiquad, Biquad, Contrast, DCShift,
                      DeemphBiquad, EqualizerBiquad, Fade, Filtfilt, Gain, HighpassBiquad, LFilter, LowpassBiquad,
                      MuLawDecoding, MuLawEncoding, Overdrive, RiaaBiquad, TrebleBiquad, Vol)
from .kinds import (BorderType, DensityFunction, FadeShape, GainType, Interpolation, MelType, Modulation, NormMode, NormType,
                    ResampleMethod, ScaleType, WindowType)
from .spectra import (AmplitudeToDB, Angle, ComplexNorm, ComputeDeltas, DBToAmplitude, FrequencyMasking, GriffinLim,
                      InverseMelScale, InverseSpectrogram,
                      LFCC, MFCC, Magphase, MaskAlongAxis, MaskAlongAxisIID, MelScale, MelSpectrogram,
                      PhaseVocoder, PitchShift, Resample, SpectralCentroid, Spectrogram, TimeMasking, TimeStretch, create_dct,
                      linear_fbanks, melscale_fbanks)

__all__ = ["AllpassBiquad", "AmplitudeToDB", "Angle", "BandBiquad", "BandpassBiquad", "BandrejectBiquad", "BassBiquad",
           "Biquad", "BorderType", "ComplexNorm", "ComputeDeltas", "Contrast", "DBToAmplitude", "DCShift", "DeemphBiquad",
           "DensityFunction", "DetectPitchFrequency", "Dither", "EqualizerBiquad", "Fade", "FadeShape", "Filtfilt", "Flanger",
           "FrequencyMasking", "Gain", "GainType", "GriffinLim", "HighpassBiquad", "Interpolation", "InverseMelScale",
           "InverseSpectrogram", "LFCC", "LFilter", "LowpassBiquad", "MFCC", "Magphase", "MaskAlongAxis", "MaskAlongAxisIID",
           "MelScale", "MelSpectrogram", "MelType", "Modulation", "MuLawDecoding", "MuLawEncoding", "NormMode", "NormType",
           "Overdrive", "PhaseVocoder", "Phaser", "PitchShift", "Resample", "ResampleMethod", "RiaaBiquad", "ScaleType",
           "SlidingWindowCmn", "SpectralCentroid", "Spectrogram", "TimeMasking", "TimeStretch", "TrebleBiquad", "Vad", "Vol",
           "WindowType", "create_dct", "linear_fbanks", "melscale_fbanks"]
