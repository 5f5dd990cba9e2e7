"""Datasets of sound: WAV files, read by Python's `wave`. waveform : float32 [channels, samples] in [-1, 1]."""
from __future__ import annotations

import csv
import os
import wave
from typing import Any

import numpy as np

from .table import BadFileError, Samples, file, files_below, folder, int32, lines, source, subfolders


def read_wave(path: str) -> tuple[np.ndarray, np.ndarray]:
    """(float32 [channels, samples], sample rate int32) of a WAV file with whole numbers. raises : BadFileError"""
    try:
        with wave.open(path, "rb") as stream:
            channels, width, rate, count = stream.getparams()[:4]
            data = stream.readframes(count)
    except (wave.Error, EOFError) as error:
        raise BadFileError(f"{path} is damaged or no WAV file: {error}") from None
    if width not in (1, 2, 4) or len(data) != count * channels * width:
        raise BadFileError(f"{path} is damaged: {len(data)} bytes for {count} samples of {channels} x {width} bytes")
    values = np.frombuffer(data, {1: "u1", 2: "<i2", 4: "<i4"}[width])
    sound: np.ndarray = values.astype(np.float32)
    sound = (sound - 128) / 128 if width == 1 else sound / np.float32(2 ** (8 * width - 1) - 1)
    return np.ascontiguousarray(sound.reshape(-1, channels).T), int32(rate)


def _sounds(paths: list[str], more: list[tuple], labels: Any = None, classes: dict | None = None) -> Samples:
    return Samples(len(paths), lambda k: (*read_wave(paths[k]), *more[k]), labels=labels, classes=classes, files=paths)


@source("waveform", "sample_rate", "label")
def YesNoDataset(dataset_dir):
    """Yes-No (OpenSLR 1): waveform, sample_rate, label int32 [8]: the words of the file's name."""
    paths = files_below(folder(dataset_dir), (".wav",), deep=False)
    try:
        labels = [np.array(os.path.splitext(os.path.basename(path))[0].split("_"), np.int32) for path in paths]
    except ValueError as error:
        raise BadFileError(f"a file in {dataset_dir} has no name like 0_1_0_1_0_1_0_1.wav: {error}") from None
    return _sounds(paths, [(label,) for label in labels])


@source("waveform", "sample_rate", "label", usage=("train", "valid", "test", "all"))
def GTZANDataset(dataset_dir, usage=None):
    """GTZAN genres (Tzanetakis, Cook 2002): waveform, sample_rate, label: the genre. Parts by the last digits of a file's name"""
    directory = folder(dataset_dir)
    found = [(path, genre) for genre in subfolders(directory) for path in files_below(os.path.join(directory, genre), (".wav",))]
    if usage not in (None, "all"):
        ranges = {"train": range(0, 60), "valid": range(60, 80), "test": range(80, 100)}
        found = [(path, genre) for path, genre in found
                 if int(os.path.splitext(os.path.basename(path))[0].rpartition(".")[2]) % 100 in ranges[usage]]
    return _sounds([path for path, _ in found], [(np.array(genre),) for _, genre in found])


@source("waveform", "sample_rate", "label", "speaker_id", "utterance_number", usage=("train", "test", "valid", "all"))
def SpeechCommandsDataset(dataset_dir, usage=None):
    """Speech commands (Warden 2018): waveform, sample_rate, label, speaker_id, utterance_number int32."""
    directory = folder(dataset_dir)
    listed = {word: {line.strip() for line in lines(path)} if os.path.isfile(path) else set() for word, path in (
        ("test", os.path.join(directory, "testing_list.txt")), ("valid", os.path.join(directory, "validation_list.txt")))}
    paths, more = [], []
    for word in subfolders(directory):
        if word.startswith("_"):
            continue
        for path in files_below(os.path.join(directory, word), (".wav",)):
            short = f"{word}/{os.path.basename(path)}"
            part = next((name for name, names in listed.items() if short in names), "train")
            if usage in (None, "all", part):
                speaker, _, number = os.path.splitext(os.path.basename(path))[0].partition("_nohash_")
                paths.append(path)
                more.append((np.array(word), np.array(speaker), int32(int(number or 0))))
    return _sounds(paths, more)


@source("waveform", "sample_rate", "transcription", "normalized_transcription")
def LJSpeechDataset(dataset_dir):
    """LJ Speech (Ito 2017): waveform, sample_rate, transcription, normalized_transcription."""
    directory = folder(dataset_dir)
    with open(file(os.path.join(directory, "metadata.csv")), encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream, delimiter="|", quoting=csv.QUOTE_NONE) if row]
    if any(len(row) < 2 for row in rows):
        raise BadFileError(f"metadata.csv in {directory}: a line has less than two fields")
    return _sounds([os.path.join(directory, "wavs", row[0] + ".wav") for row in rows],
                   [(np.array(row[1]), np.array(row[-1])) for row in rows])


@source("waveform", "sample_rate", "original_text", "normalized_text", "speaker_id", "chapter_id", "utterance_id",
        usage=("dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100", "train-clean-360", "train-other-500",
               "all"))
def LibriTTSDataset(dataset_dir, usage=None):
    """LibriTTS (Zen et al. 2019): waveform, sample_rate, original_text, normalized_text, speaker_id, chapter_id, utterance_id."""
    directory = folder(dataset_dir)
    places = [directory] if usage in (None, "all") else [folder(os.path.join(directory, usage))]
    paths, more = [], []
    for path in (path for place in places for path in files_below(place, (".wav",))):
        stem = path[:-4]
        words = os.path.basename(stem).split("_")
        paths.append(path)
        more.append((*(np.array("\n".join(lines(file(stem + end)))) for end in (".original.txt", ".normalized.txt")),
                     *(np.array(int(word), np.uint32) for word in words[:2]), np.array(os.path.basename(stem))))
    return _sounds(paths, more)


@source("waveform", "sample_rate", "transcript", "utterance_id")
def CMUArcticDataset(dataset_dir, name=None):
    """CMU Arctic (Kominek, Black 2003): waveform, sample_rate, transcript, utterance_id. name : the speaker, aew by default"""
    base = folder(os.path.join(folder(dataset_dir), f"cmu_us_{name or 'aew'}_arctic"))
    found = []
    for line in lines(file(os.path.join(base, "etc", "txt.done.data"))):
        key, _, text = line.strip("() ").partition(" ")
        if text:
            found.append((key, text.strip().strip('"')))
    return _sounds([os.path.join(base, "wav", key + ".wav") for key, _ in found],
                   [(np.array(text), np.array(key.rpartition("_")[2])) for key, text in found])
