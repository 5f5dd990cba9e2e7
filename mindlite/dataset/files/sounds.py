"""Datasets of sound: WAV files, read by Python's `wave`, and SPHERE files. waveform : float32 [channels, samples] in [-1, 1]."""
from __future__ import annotations

import csv
import os
import wave
from typing import Any

import numpy as np

from ...common.errors import ArgumentError, ValueRangeError
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


def _sounds(paths: list[str], more: list[tuple], labels: Any = None, classes: dict | None = None,
            rate: Any = np.int32) -> Samples:
    """rate : the type of the sample rates"""
    def sample(k: int) -> tuple:
        waveform, sample_rate = read_wave(paths[k])
        return waveform, sample_rate.astype(rate), *more[k]
    return Samples(len(paths), sample, labels=labels, classes=classes, files=paths)


@source("waveform", "sample_rate", "label")
def YesNoDataset(dataset_dir):
    """Yes-No (OpenSLR 1): waveform, sample_rate, label int32 [8]: the words of the file's name."""
    paths = files_below(folder(dataset_dir), (".wav",), deep=False)
    try:
        labels = [np.array(os.path.splitext(os.path.basename(path))[0].split("_"), np.int32) for path in paths]
    except ValueError as error:
        raise BadFileError(f"a file in {dataset_dir} has no name like 0_1_0_1_0_1_0_1.wav: {error}") from None
    return _sounds(paths, [(label,) for label in labels])


# the numbers of each part's pieces, without repetitions, wrong labels and distortions (Sturm 2013): 443, 197, 290 of 1,000
_GTZAN = {
    "train": {"blues": "29-49 73-97", "classical": "30-33 43-48 50-67 80-99", "country": "19-26 28-29 65-99",
              "disco": "5 15-20 22-37 39-45 47 49 53-54 56-57 59 61 70 73-74 89", "hiphop": "2-25 28-29 31-38 41-42 55-61 77-80",
              "jazz": "0-1 11-24 41 47-72", "metal": "2-3 5 21 24 35 46-57 59-66 69 71-72 79-80 84 86 89-99",
              "pop": "2-9 11-12 16-20 23-29 31-36 38-42 44 46 49-50 80 97-99",
              "reggae": "0-2 4 6 9 11-12 14-32 42-45 49-51 54-60 63 69", "rock": "0-9 16-26 57-70 91-99"},
    "valid": {"blues": "0-11 50-60", "classical": "0-10 68-76", "country": "0-7 9-18 27 41-42 45 49",
              "disco": "0 2-4 6-14 46 48 52 67-68 72 75 90 95", "hiphop": "81-98", "jazz": "2-10 25-32",
              "metal": "0-1 6-11 16-20 36-37 68 76-77 81-82", "pop": "10 53 55 58-62 81 83-86",
              "reggae": "61-62 70 72 74 76-78 85 92-99", "rock": "38 49-56 71-85"},
    "test": {"blues": "12-28 61-72 98-99", "classical": "11-29 34-41 49 77-79", "country": "30-40 43-44 46-48 50-51 53-64",
             "disco": "1 21 58 62-66 69 76-88 91-94 96-97 99", "hiphop": "0 26-27 30 40 43-45 51-54 62-75 99", "jazz": "73-99",
             "metal": "12-15 22-23 25-33 38-39 67 70 73-75 78 83 85 87-88", "pop": "0-1 13-14 43 63-66 69-79 82 88-96",
             "reggae": "34-40 46-48 52-53 64-68 71 79 82-84 87-90", "rock": "10-15 27-37 39-48 86-90"},
}


def _numbers(ranges: str) -> set[int]:
    """{2, 3, 5} of "2-3 5"."""
    ends = [(int(low), int(high or low)) for low, _, high in (part.partition("-") for part in ranges.split())]
    return {n for low, high in ends for n in range(low, high + 1)}


@source("waveform", "sample_rate", "label", usage=("train", "valid", "test", "all"))
def GTZANDataset(dataset_dir, usage=None):
    """GTZAN genres (Tzanetakis, Cook 2002): waveform, sample_rate uint32, label: the genre. Parts by Sturm's lists (2013)."""
    directory = folder(dataset_dir)
    found = [(path, genre) for genre in subfolders(directory) for path in files_below(os.path.join(directory, genre), (".wav",))]
    if usage not in (None, "all"):
        wanted = {genre: _numbers(ranges) for genre, ranges in _GTZAN[usage].items()}
        found = [(path, genre) for path, genre in found
                 if int(os.path.basename(path).split(".")[1]) in wanted.get(genre, ())]
    return _sounds([path for path, _ in found], [(np.array(genre),) for _, genre in found], rate=np.uint32)


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
    """LibriTTS (Zen et al. 2019): waveform, sample_rate, original_text, normalized_text, speaker_id, chapter_id, utterance_id.

    The texts stand in the file speaker_chapter.trans.tsv of a folder. sample_rate and the first two ids are uint32
    """
    directory = folder(dataset_dir)
    folders = [directory] if usage in (None, "all") else [folder(os.path.join(directory, usage))]
    paths, more = [], []
    for table in (path for below in folders for path in files_below(below, (".tsv",)) if path.endswith(".trans.tsv")):
        for line in lines(table):
            fields, name = line.split("\t"), line.partition("\t")[0]
            if len(fields) != 3 or name.count("_") != 3:
                raise BadFileError(f"{table}: the line {line!r} is not: speaker_chapter_segment_part, text, normalized text")
            paths.append(os.path.join(os.path.dirname(table), name + ".wav"))
            more.append((np.array(fields[1]), np.array(fields[2]),
                         *(np.array(int(word), np.uint32) for word in name.split("_")[:2]), np.array(name)))
    return _sounds(paths, more, rate=np.uint32)


@source("waveform", "sample_rate", "transcript", "utterance_id",
        name="aew ahw aup awb axb bdl clb eey fem gka jmk ksp ljm lnh rms rxr slp slt".split())
def CMUArcticDataset(dataset_dir, name=None):
    """CMU Arctic (Kominek, Black 2003): waveform, sample_rate uint32, transcript, utterance_id.

    name : the speaker, aew by default
    """
    base = folder(os.path.join(folder(dataset_dir), f"cmu_us_{name or 'aew'}_arctic"))
    found = []
    for line in lines(file(os.path.join(base, "etc", "txt.done.data"))):
        key, _, text = line.strip("() ").partition(" ")
        if text:
            found.append((key, text.strip().strip('"')))
    return _sounds([os.path.join(base, "wav", key + ".wav") for key, _ in found],
                   [(np.array(text), np.array(key.rpartition("_")[2])) for key, text in found], rate=np.uint32)


def read_sphere(path: str) -> tuple[np.ndarray, np.ndarray]:
    """(float32 [channels, samples], sample rate int32) of a NIST SPHERE file of 16 bits, not compressed. raises : BadFileError"""
    with open(path, "rb") as stream:
        data = stream.read()
    head = data[:1024].decode("ascii", "replace").split("\n")
    fields = dict(line.split(" ", 2)[::2] for line in head[2:] if line.count(" ") >= 2)
    try:
        start, channels, rate, count = (int(v) for v in (head[1], *(fields[name] for name in (
            "channel_count", "sample_rate", "sample_count"))))
    except (KeyError, ValueError, IndexError):
        start = count = channels = -1
    if not data.startswith(b"NIST_1A\n") or channels < 1 or fields.get("sample_n_bytes") != "2" \
            or not fields.get("sample_coding", "pcm").startswith("pcm") or len(data) < start + 2 * count * channels:
        raise BadFileError(f"{path} is damaged, or no NIST SPHERE file of 16 bits")
    order = ">" if fields.get("sample_byte_format") == "10" else "<"
    values = np.frombuffer(data, order + "i2", count * channels, start).astype(np.float32) / np.float32(2 ** 15)
    return np.ascontiguousarray(values.reshape(-1, channels).T), int32(rate)


@source("waveform", "sample_rate", "transcript", "talk_id", "speaker_id", "identifier",
        release=("release1", "release2", "release3"))
def TedliumDataset(dataset_dir, release, usage=None, extensions=None):
    """TED-LIUM (Rousseau et al. 2012): waveform, sample_rate, transcript, talk_id, speaker_id, identifier.

    usage : "train", "test", "dev" or "all" of releases 1 and 2, "all" of release 3;  extensions : ".sph"
    Each line of an .stm file is a sample: the part of its .sph file from one second to another.
    """
    directory = folder(dataset_dir)
    usages = ("all",) if release == "release3" else ("train", "test", "dev", "all")
    if not isinstance(release, str):
        raise ArgumentError(f"Argument release with value {release} is not of type [<class 'str'>], but got {type(release)}.")
    if usage is not None and not isinstance(usage, str):
        raise ArgumentError(f"Argument usage with value {usage} is not of type [<class 'str'>], but got {type(usage)}.")
    if usage not in (None, *usages):
        raise ValueRangeError(f"Input usage is not within the valid set of {list(usages)}.")
    if extensions not in (None, ".sph"):
        raise BadFileError(f"Invalid file, the extension {extensions!r} is not supported.")
    parts = ["data"] if release == "release3" else ["train", "test", "dev"] if usage in (None, "all") else [usage]
    found = []
    for part in parts:
        for path in files_below(folder(os.path.join(directory, part, "stm")), (".stm",)):
            for line in lines(path):
                words = line.split(" ", 6)
                if len(words) == 7:
                    found.append((os.path.join(directory, part, "sph", words[0] + ".sph"), words))

    def sample(k: int) -> tuple:
        path, (talk, _, speaker, start, end, identifier, text) = found[k]
        sound, rate = read_sphere(path)
        sound = sound[:, int(float(start) * rate):int(float(end) * rate)]
        return sound, rate, np.array(text), np.array(talk), np.array(speaker), np.array(identifier)
    return Samples(len(found), sample, files=[path for path, _ in found])
