"""Datasets of images. Formats: IDX (LeCun), CIFAR's binary version, folders, COCO's JSON, VOC's XML, MATLAB's by SciPy."""
from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import struct
import xml.etree.ElementTree as ElementTree
from typing import Any, Sequence

import numpy as np

from ...common.errors import ArgumentError, ValueRangeError
from ..operation import items, whole
from ..vision.formats import pixels
from .table import (BadFileError, Samples, file, files_below, folder, int32, lines, picture, present, raw, rows_of, source,
                    subfolders, uint32)

METADATA_LAST = "num_samples num_parallel_workers shuffle decode sampler num_shards shard_id cache extra_metadata decrypt"
IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".gif", ".tif", ".tiff", ".webp")


# ------------------------------------------------------------------- MNIST and its relatives

def read_idx(path: str) -> np.ndarray:
    """An array in IDX format: 0, 0, type, rank, sizes as big-endian 32 bits, data. Also compressed. raises : BadFileError"""
    with open(path, "rb") as stream:
        data = stream.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    kinds = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in kinds or not 1 <= data[3] <= 4 or len(data) < 4 + 4 * data[3]:
        raise BadFileError(f"{path} is no IDX file")
    shape = struct.unpack(f">{data[3]}I", data[4:4 + 4 * data[3]])
    kind, count = np.dtype(kinds[data[2]]), int(np.prod(shape, dtype=object))
    if len(data) - 4 - 4 * data[3] != count * kind.itemsize:
        raise BadFileError(f"{path} is damaged: {len(data)} bytes do not hold an array of shape {shape}")
    return np.frombuffer(data, kind, count, 4 + 4 * data[3]).reshape(shape)


def in_memory(arrays: Sequence[np.ndarray], labels: np.ndarray, files: list[str]) -> Samples:
    """Samples whose columns are arrays, an element for each."""
    return Samples(len(labels), lambda k: [array[k].copy() for array in arrays], labels=labels, files=files, arrays=arrays)


def _mnist(directory: str, stems: list[tuple[str, str]], name: str) -> Samples:
    images, labels, files = [], [], []                       # type: ignore[var-annotated]
    for image, label in stems:
        pictures, numbers = ([path for path in (os.path.join(directory, stem + end) for end in ("", ".gz"))
                              if os.path.isfile(path)] for stem in (image, label))
        if pictures and numbers:
            images.append(read_idx(pictures[0]))
            labels.append(read_idx(numbers[0]))
            files += [pictures[0]] * len(images[-1])
            if images[-1].ndim != 3 or len(images[-1]) != len(labels[-1]):
                raise BadFileError(f"{pictures[0]} and {numbers[0]} do not fit together: {images[-1].shape}, {labels[-1].shape}")
    if not images:
        raise BadFileError(f"Invalid data, {name} API can't read the data file (interface mismatch or no data found). "
                           f"Check {name.removesuffix('Dataset').lower()} file in directory: {directory}")
    every, classes = np.concatenate(images), np.concatenate([n if n.ndim == 1 else n[:, 0] for n in labels])
    return in_memory((every[..., None], classes.astype(np.uint32)), classes, files)


def _stems(usage: str | None, pattern: str = "{}") -> list[tuple[str, str]]:
    words = {"train": ["train"], "test": ["t10k"]}.get(usage or "all", ["t10k", "train"])
    return [(pattern.format(w) + "-images-idx3-ubyte", pattern.format(w) + "-labels-idx1-ubyte") for w in words]


USAGE = ("train", "test", "all")


@source("image", "label", usage=USAGE)
def MnistDataset(dataset_dir, usage=None):
    """MNIST (LeCun, Cortes, Burges 1998): image uint8 [28, 28, 1], label uint32."""
    return _mnist(folder(dataset_dir), _stems(usage), "MnistDataset")


@source("image", "label", usage=USAGE)
def FashionMnistDataset(dataset_dir, usage=None):
    """Fashion-MNIST (Xiao, Rasul, Vollgraf 2017), as MNIST."""
    return _mnist(folder(dataset_dir), _stems(usage), "FashionMnistDataset")


@source("image", "label", usage=USAGE)
def KMnistDataset(dataset_dir, usage=None):
    """Kuzushiji-MNIST (Clanuwat et al. 2018), as MNIST."""
    return _mnist(folder(dataset_dir), _stems(usage), "KMnistDataset")


@source("image", "label", usage=USAGE, name=("byclass", "bymerge", "balanced", "letters", "digits", "mnist"))
def EMnistDataset(dataset_dir, name, usage=None):
    """EMNIST (Cohen et al. 2017), as MNIST. name : byclass, bymerge, balanced, letters, digits or mnist"""
    words = {"train": ["train"], "test": ["test"]}.get(usage or "all", ["test", "train"])
    return _mnist(folder(dataset_dir), [(f"emnist-{name}-{w}-images-idx3-ubyte", f"emnist-{name}-{w}-labels-idx1-ubyte")
                                        for w in words], "EMnistDataset")


@source("image", "label", usage=("train", "test", "test10k", "test50k", "nist", "all"))
def QMnistDataset(dataset_dir, usage=None, compat=True):
    """QMNIST (Yadav, Bottou 2019): image uint8 [28, 28, 1], label uint32; compat=False: all eight numbers of a label."""
    directory, parts, files = folder(dataset_dir), [], []    # type: ignore[var-annotated]
    for word, wanted in (("train", ("train", "all")), ("test", ("test", "test10k", "test50k", "all")), ("nist", ("nist", "all"))):
        stem = "xnist" if word == "nist" else f"qmnist-{word}"
        if (usage or "all") in wanted:
            path = present(directory, [f"{stem}-images-idx3-ubyte", f"{stem}-images-idx3-ubyte.gz"])[0]
            images = read_idx(path)
            labels = read_idx(present(directory, [f"{stem}-labels-idx2-int", f"{stem}-labels-idx2-int.gz"])[0])
            part = {"test10k": slice(10000), "test50k": slice(10000, None)}.get(usage or "", slice(None))
            parts.append((images[part], labels[part]))
            files += [path] * len(labels[part])
    images, labels = (np.concatenate(column) for column in zip(*parts))
    if compat:
        return in_memory((images[..., None], labels[:, 0].astype(np.uint32)), labels[:, 0], files)
    return in_memory((images[..., None], labels.astype(np.uint32)), labels[:, 0], files)


def _cifar(directory: str, names: list[str], label_bytes: int, what: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(images, labels, the file of each)"""
    images, labels, files = [], [], []                       # type: ignore[var-annotated]
    for path in present(directory, names, "cifar(.bin)"):
        data = raw(path)
        if not len(data) or len(data) % (3072 + label_bytes):
            raise BadFileError(f"Invalid {what} file, failed to read data from: {path}, re-download dataset(make sure it is "
                               f"{what.upper()[:5]}-{what[5:]} binary version).")
        records = data.reshape(-1, 3072 + label_bytes)
        labels.append(records[:, :label_bytes])
        images.append(records[:, label_bytes:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        files += [path] * len(records)
    return np.concatenate(images), np.concatenate(labels), files


@source("image", "label", usage=USAGE)
def Cifar10Dataset(dataset_dir, usage=None):
    """CIFAR-10 (Krizhevsky 2009), the binary version: image uint8 [32, 32, 3], label uint32."""
    train, test = [f"data_batch_{k}.bin" for k in range(1, 6)], ["test_batch.bin"]
    names = {"train": train, "test": test}.get(usage or "all", train + test)
    images, labels, files = _cifar(folder(dataset_dir), names, 1, "cifar10")
    return in_memory((images, labels[:, 0].astype(np.uint32)), labels[:, 0], files)


@source("image", "coarse_label", "fine_label", usage=USAGE)
def Cifar100Dataset(dataset_dir, usage=None):
    """CIFAR-100 (Krizhevsky 2009), the binary version: image uint8 [32, 32, 3], coarse_label uint32, fine_label uint32."""
    names = {"train": ["train.bin"], "test": ["test.bin"]}.get(usage or "all", ["test.bin", "train.bin"])
    images, labels, files = _cifar(folder(dataset_dir), names, 2, "cifar100")
    return in_memory((images, *labels[:, :2].astype(np.uint32).T), labels[:, 1], files)


@source("image", "label", usage=USAGE, text=True)
def USPSDataset(dataset_dir, usage=None):
    """USPS (Hull 1994) in LIBSVM's text format, also compressed by bzip2: image uint8 [16, 16, 1], label uint32."""
    rows, files, groups = [], [], []
    for group, word in enumerate({"train": ["usps"], "test": ["usps.t"]}.get(usage or "all", ["usps", "usps.t"])):
        path = present(folder(dataset_dir), [word, word + ".bz2"])[0]
        with (bz2.open(path, "rt") if path.endswith("bz2") else open(path, encoding="ascii")) as stream:
            for number, line in enumerate(stream):
                words = line.split()
                try:
                    values = np.array([w.split(":")[1] for w in words[1:]], np.float32).astype(np.float64)
                    label = int(float(words[0])) - 1
                except (IndexError, ValueError):
                    raise BadFileError(f"{path}: line {number + 1} is not in LIBSVM's format") from None
                if len(values) != 256:
                    raise BadFileError(f"{path}: line {number + 1} has {len(values)} values, not 256")
                rows.append((((values + 1) / 2 * 255).astype(np.uint8).reshape(16, 16, 1), uint32(label)))
                files.append(path)
                groups.append(group)
    return rows_of(rows, groups=groups, files=files)


@source("image", "label")
def SemeionDataset(dataset_dir):
    """Semeion digits (Buscema 1998): image uint8 [16, 16], label uint32."""
    path = present(folder(dataset_dir), ["semeion.data"])[0]
    rows = []
    for number, line in enumerate(lines(path)):
        values = line.split()
        if not values:
            continue
        if len(values) != 266:
            raise BadFileError(f"{path}: line {number + 1} has {len(values)} values, not 266")
        rows.append((np.array([float(v) for v in values[:256]]).astype(np.uint8).reshape(16, 16),
                     uint32(int(np.argmax([int(v) for v in values[256:]])))))
    return rows_of(rows, files=[path] * len(rows))


@source("image", "label", usage=("train", "test", "unlabeled", "train+unlabeled", "all"))
def STL10Dataset(dataset_dir, usage=None):
    """STL-10 (Coates, Lee, Ng 2011), the binary version: image uint8 [96, 96, 3], label int32, -1 where there is none."""
    directory, images, labels, files = folder(dataset_dir), [], [], []       # type: ignore[var-annotated]
    words = {"all": ["test", "train", "unlabeled"], "train+unlabeled": ["train", "unlabeled"]}.get(usage or "all", [usage])
    for word in words:
        path = present(directory, [f"{word}_X.bin"])[0]
        data = raw(path)
        if len(data) % 27648:
            raise BadFileError(f"{word}_X.bin in {directory} is damaged: {len(data)} bytes")
        images.append(data.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1))
        numbers = raw(present(directory, [f"{word}_y.bin"])[0]).astype(np.int32) - 1 if word != "unlabeled" else None
        labels.append(np.full(len(images[-1]), -1, np.int32) if numbers is None else numbers)
        files += [path] * len(images[-1])
    every, classes = np.concatenate(images), np.concatenate(labels)
    return in_memory((every, classes.astype(np.int32)), classes, files)


@source("image", "label", usage=("train", "test", "extra", "all"), defaults={"num_parallel_workers": 1})
def SVHNDataset(dataset_dir, usage=None):
    """Street View House Numbers (Netzer et al. 2011), format 2: image uint8 [32, 32, 3], label uint32. Needs SciPy."""
    from scipy.io import loadmat
    images, labels, files = [], [], []                       # type: ignore[var-annotated]
    for word in ([usage] if usage and usage != "all" else ["train", "test", "extra"]):
        path = present(folder(dataset_dir), [f"{word}_32x32.mat"])[0]
        content = loadmat(path)
        files += [path] * content["X"].shape[3]
        images.append(content["X"].transpose(3, 0, 1, 2))
        labels.append(content["y"].ravel() % 10)
    every, classes = np.concatenate(images), np.concatenate(labels)
    return in_memory((every, classes.astype(np.uint32)), classes, files)


@source("image", "label")
def FakeImageDataset(num_images=1000, image_size=(224, 224, 3), num_classes=10, base_seed=0):
    """Images of noise, the same for the same arguments: image uint8 [height, width, 3], label uint32."""
    for name, value in {"num_images": num_images, "num_classes": num_classes}.items():
        whole(1)(value, name)
    whole(0)(base_seed, "base_seed")
    items(whole(1), 3)(image_size, "image_size")

    def numbers(k: int, word: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=np.array([base_seed, k], np.uint64), counter=[0, 0, 0, word]))
    labels = [int(numbers(k, 1).integers(num_classes)) for k in range(num_images)]
    return Samples(num_images, lambda k: (numbers(k, 0).integers(0, 256, image_size, np.uint8), uint32(labels[k])), labels=labels)


# ------------------------------------------------------------------- folders of images

def _by_folder(directory: str, extensions: tuple, decode: bool | None, classes: dict | None = None, label: Any = int32,
               deep: bool = True) -> Samples:
    named = {name: k for k, name in enumerate(subfolders(directory))} if classes is None else classes
    missing = [name for name in named if not os.path.isdir(os.path.join(directory, name))]
    if missing:
        raise BadFileError(f"Invalid subdirectory, class: {missing[0]} doesn't exist in folder {directory}.")
    found = [(path, number) for name, number in sorted(named.items(), key=lambda item: item[0])
             for path in files_below(os.path.join(directory, name), extensions, deep)]
    return Samples(len(found), lambda k: (picture(found[k][0], decode), label(found[k][1])), labels=[n for _, n in found],
                   classes=named, files=[path for path, _ in found])


@source("image", "label",
        order="num_samples num_parallel_workers shuffle sampler extensions class_indexing decode num_shards shard_id cache "
              "decrypt")
def ImageFolderDataset(dataset_dir, *, extensions=None, class_indexing=None, decode=False, decrypt=None):
    """A folder of images for each class: image uint8 [bytes] or [height, width, 3], label int32; a folder in a class is refused.

    extensions     : which files, all images by default;  class_indexing : {folder: number}, numbered by name by default
    decode         : give pixels;  decrypt : a function of (path, ..) that gives the bytes of an image
    """
    if class_indexing is not None and not isinstance(class_indexing, dict):
        raise ArgumentError(f"Argument class_indexing with value {class_indexing} is not of type [<class 'dict'>].")
    wanted = tuple(e.lower() for e in extensions) if extensions else IMAGES
    directory = folder(dataset_dir)
    for name in subfolders(directory):
        for inner in subfolders(os.path.join(directory, name)):
            raise BadFileError(f"Invalid file found: {os.path.join(directory, name, inner)}, should be file, but got directory.",
                               hint="a class is a folder of files: its images would lose the name of the inner folder")
    found = _by_folder(directory, wanted, decode, class_indexing)
    return _decrypted(found, decrypt, decode)


def _decrypted(found: Samples, decrypt: Any, decode: bool | None) -> Samples:
    if decrypt is None:
        return found
    if not callable(decrypt):
        raise ArgumentError("decrypt is a function of a path that gives the bytes of an image")
    plain = found.sample

    def sample(k: int) -> tuple:
        data = decrypt(found.files[k])                       # type: ignore[index]
        return (pixels(data, "decode") if decode else np.frombuffer(data, np.uint8), *plain(k)[1:])
    return Samples(found.count, sample, labels=found.labels, classes=found.classes, files=found.files)    # type: ignore[arg-type]


@source("image", "label")
def Caltech256Dataset(dataset_dir, *, decode=False):
    """Caltech-256 (Griffin, Holub, Perona 2007): image, label uint32, by folders."""
    return _by_folder(folder(dataset_dir), (".jpg", ".jpeg"), decode, label=uint32)


@source("image", "label")
def SUN397Dataset(dataset_dir, *, decode=False):
    """SUN397 (Xiao et al. 2010): image, label uint32; ClassName.txt names the folders."""
    directory = folder(dataset_dir)
    names = {line.strip("/"): k for k, line in enumerate(lines(present(directory, ["ClassName.txt"])[0])) if line}
    return _by_folder(directory, (".jpg", ".jpeg"), decode, names, uint32)


@source("image", "label")
def OmniglotDataset(dataset_dir, background=None, *, decode=False):
    """Omniglot (Lake et al. 2015): image, label int32, a class for each character of each alphabet."""
    directory = os.path.join(folder(dataset_dir), "images_evaluation" if background is False else "images_background")
    names = [f"{a}/{c}" for a in subfolders(folder(directory)) for c in subfolders(os.path.join(directory, a))]
    return _by_folder(directory, IMAGES, decode, {name: k for k, name in enumerate(names)})


@source("image", "label", usage=("train", "val", "test", "all"))
def RenderedSST2Dataset(dataset_dir, usage=None, *, decode=False):
    """Rendered SST-2 (Radford et al. 2021): image, label uint32: negative 0, positive 1."""
    directory, found = folder(dataset_dir), []
    for word in {"train": ["train"], "val": ["valid"], "test": ["test"]}.get(usage or "all", ["train", "valid", "test"]):
        for k, name in enumerate(("negative", "positive")):
            found += [(path, k) for path in files_below(os.path.join(directory, word, name), (".png",))]
    return _listed(found, decode, uint32)


def _listed(found: list[tuple[str, int]], decode: bool | None, label: Any = int32, classes: dict | None = None) -> Samples:
    return Samples(len(found), lambda k: (picture(found[k][0], decode), label(found[k][1])), labels=[n for _, n in found],
                   classes=classes, files=[path for path, _ in found])


@source("image", "label", usage=USAGE)
def Food101Dataset(dataset_dir, usage=None, *, decode=False):
    """Food-101 (Bossard et al. 2014): image, label: the name of the class."""
    directory, found = folder(dataset_dir), []
    for word in {"train": ["train"], "test": ["test"]}.get(usage or "all", ["train", "test"]):
        found += [line.strip() for line in lines(file(os.path.join(directory, "meta", f"{word}.txt"))) if line.strip()]
    paths = [os.path.join(directory, "images", name + ".jpg") for name in found]
    return Samples(len(found), lambda k: (picture(paths[k], decode), np.array(found[k].partition("/")[0])), files=paths)


@source("image", "label", usage=("train-standard", "train-challenge", "val"))
def Places365Dataset(dataset_dir, usage=None, small=True, decode=False):
    """Places365 (Zhou et al. 2017): image, label uint32. small : the images of 256 x 256"""
    directory, word = folder(dataset_dir), usage or "train-standard"
    stem = {"train-standard": "places365_train_standard", "train-challenge": "places365_train_challenge", "val": "places365_val"}
    size = "256" if small else "large"
    place = f"val_{size}" if word == "val" else f"data_{size}_{word.split('-')[1]}"
    found = []
    for line in lines(file(os.path.join(directory, stem[word] + ".txt"))):
        path, _, number = line.strip().rpartition(" ")
        if path:
            found.append((os.path.join(directory, place, path.strip("/")), int(number)))
    return _listed(found, decode, uint32)


@source("image", "label", usage=("train", "eval", "inference"),
        order="num_samples num_parallel_workers shuffle sampler class_indexing decode num_shards shard_id cache")
def ManifestDataset(dataset_file, usage="train", *, class_indexing=None, decode=False):
    """A manifest: a JSON object a line with source, usage and annotation: image, label int32, [n] of several annotations.

    class_indexing : {name: number}, numbered by name by default; an annotation of another class is left out, and so is an image
                     without one
    """
    entries = []
    for number, line in enumerate(lines(file(dataset_file))):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            path, use, notes = entry["source"], entry.get("usage", "train"), entry.get("annotation") or [{"name": ""}]
            if use.lower() == (usage or "train"):
                entries.append((path, [note["name"] for note in notes]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadFileError(f"{dataset_file}: line {number + 1} is no entry of a manifest") from None
    classes = class_indexing or {name: k for k, name in enumerate(sorted({name for _, names in entries for name in names}))}
    found = [(path, numbers) for path, names in entries if (numbers := [classes[name] for name in names if name in classes])]
    return Samples(len(found), lambda k: (picture(found[k][0], decode), np.squeeze(np.array(found[k][1], np.int32))),
                   labels=[numbers[0] for _, numbers in found], classes=classes, files=[path for path, _ in found])


# ------------------------------------------------------------------- images with annotations

_CELEBA = {"train": 0, "valid": 1, "test": 2}


@source("image", "attr",
        order="num_parallel_workers shuffle usage sampler decode extensions num_samples num_shards shard_id cache decrypt")
def CelebADataset(dataset_dir, *, usage="all", decode=False, extensions=None, decrypt=None):
    """CelebA (Liu et al. 2015): image, attr uint32 [40], 1 where a face has the attribute."""
    directory = folder(dataset_dir)
    if usage not in ("all", *_CELEBA):
        raise ValueRangeError(f"Input usage is not within the valid set of {['all', *_CELEBA]}.")
    table = [line.split() for line in lines(present(directory, ["list_attr_celeba.txt"])[0])[2:] if line.strip()]
    if usage != "all":
        parts = dict(line.split() for line in lines(present(directory, ["list_eval_partition.txt"])[0]) if line.strip())
        table = [words for words in table if int(parts[words[0]]) == _CELEBA[usage]]
    wanted = tuple(e.lower() for e in extensions) if extensions else IMAGES
    table = [words for words in table if os.path.splitext(words[0])[1].lower() in wanted]
    paths = [next((p for p in (os.path.join(directory, place, words[0]) for place in ("", "img_align_celeba", "images"))
                   if os.path.isfile(p)), os.path.join(directory, words[0])) for words in table]
    attributes = [(np.array(words[1:], np.int64) > 0).astype(np.uint32) for words in table]
    found = Samples(len(table), lambda k: (picture(paths[k], decode), attributes[k]), files=paths)
    return _decrypted(found, decrypt, decode)


@source("image", "label", usage=("train", "valid", "test", "all"), task=("Classification", "Segmentation"),
        defaults={"num_parallel_workers": 1})
def Flowers102Dataset(dataset_dir, task="Classification", usage="all", *, decode=False):
    """Oxford Flowers 102 (Nilsback, Zisserman 2008): image, label uint32, with Segmentation also segmentation. Needs SciPy."""
    from scipy.io import loadmat
    directory = folder(dataset_dir)
    labels = loadmat(present(directory, ["imagelabels.mat"])[0])["labels"].ravel() - 1
    split = loadmat(present(directory, ["setid.mat"])[0])
    names = {"train": ["trnid"], "valid": ["valid"], "test": ["tstid"]}.get(usage, ["trnid", "tstid", "valid"])
    numbers = np.concatenate([split[name].ravel() for name in names])
    paths = [os.path.join(directory, "jpg", f"image_{n:05d}.jpg") for n in numbers]
    masks = [os.path.join(directory, "segmim", f"segmim_{n:05d}.jpg") for n in numbers]
    if task == "Classification":
        return _listed([(path, labels[n - 1]) for path, n in zip(paths, numbers)], decode, uint32)
    return Samples(len(paths), lambda k: (picture(paths[k], decode), picture(masks[k], decode), uint32(labels[numbers[k] - 1])),
                   ["image", "segmentation", "label"], labels=labels[numbers - 1], files=paths)


@source("image", "label", target_type=("category", "annotation", "all"), defaults={"num_parallel_workers": 1})
def Caltech101Dataset(dataset_dir, target_type=None, *, decode=False):
    """Caltech-101 (Fei-Fei, Fergus, Perona 2004): image and category int64; with annotation the outline. SciPy for outlines."""
    directory = folder(os.path.join(folder(dataset_dir), "101_ObjectCategories"))
    names = {name: k for k, name in enumerate(n for n in subfolders(directory) if n != "BACKGROUND_Google")}
    found = _by_folder(directory, (".jpg",), decode, names, np.array)
    if (target_type or "category") == "category":
        found.columns = ("image", "category")
        return found
    special = {"Faces": "Faces_2", "Faces_easy": "Faces_3", "Motorbikes": "Motorbikes_16", "airplanes": "Airplanes_Side_2"}

    def outline(path: str) -> np.ndarray:
        from scipy.io import loadmat
        name, image = os.path.split(os.path.relpath(path, directory))
        number = re.findall(r"\d+", image)[0]
        place = os.path.join(dataset_dir, "Annotations", special.get(name, name), f"annotation_{number}.mat")
        return loadmat(place)["obj_contour"]

    def sample(k: int) -> tuple:
        image, category = found.sample(k)
        drawn = outline(found.files[k])                      # type: ignore[index]
        return (image, drawn) if target_type == "annotation" else (image, category, drawn)
    columns = ["image", "annotation"] if target_type == "annotation" else ["image", "category", "annotation"]
    return Samples(found.count, sample, columns, found.labels, names, found.files)       # type: ignore[arg-type]


def _boxes(path: str, classes: dict) -> tuple[np.ndarray, list[np.ndarray]]:
    """(boxes x, y, width, height in float32 [n, 4]; label, difficult, truncate as uint32 [n, 1]) of one of VOC's XML files."""
    try:
        tree = ElementTree.parse(path)
    except ElementTree.ParseError as error:
        raise BadFileError(f"{path} is no XML: {error}") from None
    boxes, columns = [], ([], [], [])                        # type: ignore[var-annotated]
    for item in tree.iter("object"):
        name, box = item.findtext("name", ""), item.find("bndbox")
        if name not in classes or box is None:
            continue
        x0, y0, x1, y1 = (float(box.findtext(side, "0")) for side in ("xmin", "ymin", "xmax", "ymax"))
        boxes.append((x0, y0, x1 - x0, y1 - y0))
        for column, value in zip(columns, (classes[name], item.findtext("difficult", "0"), item.findtext("truncated", "0"))):
            column.append([int(value)])
    return np.array(boxes, np.float32).reshape(-1, 4), [np.array(c, np.uint32).reshape(-1, 1) for c in columns]


@source("image", "target", task=("Segmentation", "Detection"), order=METADATA_LAST)
def VOCDataset(dataset_dir, task="Segmentation", usage="train", class_indexing=None, *, decode=False, extra_metadata=False,
               decrypt=None):
    """Pascal VOC (Everingham et al. 2010).

    Segmentation : image, target;  Detection : image, bbox float32 [n, 4], label, difficult, truncate uint32 [n, 1]
    extra_metadata : a last column [_meta-filename] with the name of the image
    """
    directory = folder(dataset_dir)
    words = [w.strip().split()[0] for w in lines(file(os.path.join(directory, "ImageSets", {"Segmentation": "Segmentation"}.get(
        task, "Main"), f"{usage}.txt"))) if w.strip()]
    images = [os.path.join(directory, "JPEGImages", w + ".jpg") for w in words]
    extra = (lambda k: (np.array(words[k]),)) if extra_metadata else (lambda k: ())
    more = ["_meta-filename"] if extra_metadata else []
    if task == "Segmentation":
        masks = [os.path.join(directory, "SegmentationClass", w + ".png") for w in words]
        return Samples(len(words), lambda k: (picture(images[k], decode), picture(masks[k], decode), *extra(k)),
                       ["image", "target", *more], files=images)
    notes = [os.path.join(directory, "Annotations", w + ".xml") for w in words]
    classes = class_indexing
    if classes is None:
        names = {item.findtext("name", "") for path in notes for item in ElementTree.parse(file(path)).iter("object")}
        classes = {name: k for k, name in enumerate(sorted(names))}

    def sample(k: int) -> tuple:
        boxes, columns = _boxes(notes[k], classes)
        return picture(images[k], decode), boxes, *columns, *extra(k)
    kept = [k for k, path in enumerate(notes) if len(_boxes(file(path), classes)[0])]
    return Samples(len(kept), lambda k: sample(kept[k]), ["image", "bbox", "label", "difficult", "truncate", *more],
                   classes=classes, files=[images[k] for k in kept])


_COCO = {"Detection": ["bbox", "category_id", "iscrowd"], "Stuff": ["segmentation", "iscrowd"],
         "Keypoint": ["keypoints", "num_keypoints"], "Panoptic": ["bbox", "category_id", "iscrowd", "area"],
         "Captioning": ["captions"]}


@source("image", task=tuple(_COCO), order=METADATA_LAST)
def CocoDataset(dataset_dir, annotation_file, task="Detection", *, decode=False, extra_metadata=False, decrypt=None):
    """COCO (Lin et al. 2014): image and the annotations of a task, as MindSpore names them.

    Detection : bbox float32 [n, 4], category_id, iscrowd uint32 [n, 1];  Stuff : segmentation, iscrowd
    Keypoint : keypoints, num_keypoints;  Panoptic : bbox, category_id, iscrowd, area;  Captioning : captions
    """
    directory = folder(dataset_dir)
    try:
        with open(file(annotation_file), encoding="utf-8") as stream:
            content = json.load(stream)
        names = {image["id"]: image["file_name"] for image in content["images"]}
        found: dict[Any, list] = {}
        for note in content["annotations"]:
            found.setdefault(note["image_id"], []).extend(note["segments_info"] if task == "Panoptic" else [note])
        classes = {c["name"]: [c["id"], c["isthing"]] if task == "Panoptic" else [c["id"]] for c in content.get("categories", [])}
    except (ValueError, KeyError, TypeError) as error:
        raise BadFileError(f"{annotation_file} is no annotation file of COCO: {error!r}") from None
    keys = [key for key in names if found.get(key)]
    paths = [os.path.join(directory, names[key]) for key in keys]

    def column(name: str, notes: list) -> np.ndarray:
        if name == "captions":
            return np.array([[note["caption"]] for note in notes])
        if name == "segmentation":
            outlines = [np.ravel(part) for note in notes for part in (
                [note["segmentation"]["counts"]] if note["iscrowd"] else note["segmentation"])]
            out = np.full((len(outlines), max(map(len, outlines), default=0)), -1, np.float32)
            for k, outline in enumerate(outlines):
                out[k, :len(outline)] = outline
            return out
        kind = np.float32 if name in ("bbox", "keypoints") else np.uint32
        return np.array([np.ravel(note.get(name, 0)) for note in notes], kind)

    def sample(k: int) -> tuple:
        extra = (np.array(os.path.splitext(names[keys[k]])[0]),) if extra_metadata else ()
        return picture(paths[k], decode), *(column(name, found[keys[k]]) for name in _COCO[task]), *extra
    return Samples(len(keys), sample, ["image", *_COCO[task], *(["_meta-filename"] if extra_metadata else [])], classes=classes,
                   files=paths)


@source("image", "annotation")
def FlickrDataset(dataset_dir, annotation_file, *, decode=None):
    """Flickr8k and 30k (Hodosh et al. 2013, Young et al. 2014): image, annotation: its captions."""
    directory, captions = folder(dataset_dir), {}            # type: ignore[var-annotated]
    for line in lines(file(annotation_file)):
        name, _, text = line.partition("\t")
        if text:
            captions.setdefault(name.rpartition("#")[0], []).append(text)
    names = [name for name in captions if os.path.isfile(os.path.join(directory, name))]
    paths = [os.path.join(directory, name) for name in names]
    return Samples(len(names), lambda k: (picture(paths[k], decode), np.array(captions[names[k]])), files=paths)


@source("image", "caption")
def SBUDataset(dataset_dir, *, decode=False):
    """SBU captioned photos (Ordonez, Kulkarni, Berg 2011): image, caption."""
    directory = folder(dataset_dir)
    urls = lines(present(directory, ["SBU_captioned_photo_dataset_urls.txt"])[0])
    texts = lines(present(directory, ["SBU_captioned_photo_dataset_captions.txt"])[0])
    host = len("http://static.flickr.co")                    # m/3326/1.jpg, the rest of ..com/3326/1.jpg, is m_3326_1.jpg
    found = [(os.path.join(directory, "sbu_images", url.strip()[host:].replace("/", "_")), text.rstrip(" "))
             for url, text in zip(urls, texts)]
    found = [(path, text) for path, text in found if os.path.isfile(path)]
    return Samples(len(found), lambda k: (picture(found[k][0], decode), np.array(found[k][1])), files=[p for p, _ in found])


@source("hr_image", "lr_image", usage=("train", "valid", "all"), downgrade=("bicubic", "unknown", "mild", "difficult", "wild"))
def DIV2KDataset(dataset_dir, usage="train", downgrade="bicubic", scale=2, *, decode=None):
    """DIV2K (Agustsson, Timofte 2017): hr_image and the smaller lr_image. scale : 2, 3, 4 or 8"""
    if scale not in (2, 3, 4, 8):
        raise ValueRangeError("Input scale is not within the valid set of [2, 3, 4, 8].")
    directory, found = folder(dataset_dir), []
    for word in {"all": ["train", "valid"]}.get(usage, [usage]):
        low = f"DIV2K_{word}_LR_{downgrade}"
        place = os.path.join(directory, low, *([f"X{scale}"] if downgrade in ("bicubic", "unknown") else []))
        end = f"x{scale}" + {"mild": "m", "difficult": "d", "wild": "w"}.get(downgrade, "")
        for path in files_below(os.path.join(directory, f"DIV2K_{word}_HR"), (".png",)):
            stem = os.path.splitext(os.path.basename(path))[0]
            found.append((path, os.path.join(place, f"{stem}{end}.png")))
    return Samples(len(found), lambda k: tuple(picture(path, decode) for path in found[k]), files=[p for p, _ in found])


@source("image", "label", usage=("train", "test"))
def KITTIDataset(dataset_dir, usage=None, *, decode=False):
    """KITTI objects (Geiger, Lenz, Urtasun 2012).

    train : image, label uint32 [n, 1], truncated, occluded, alpha, bbox [n, 4], dimensions, location, rotation_y;  test : image
    """
    directory, word = folder(dataset_dir), usage or "train"
    base = os.path.join(directory, "data_object_image_2", "training" if word == "train" else "testing", "image_2")
    paths = files_below(base, (".png",))
    if word == "test":
        return Samples(len(paths), lambda k: (picture(paths[k], decode),), ["image"], files=paths)
    stems = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    notes = [os.path.join(directory, "data_object_label_2", "training", "label_2", stem + ".txt") for stem in stems]
    tables = [[line.split() for line in lines(file(note)) if line.strip()] for note in notes]
    names = {name: k for k, name in enumerate(sorted({row[0] for table in tables for row in table}))}

    def sample(k: int) -> tuple:
        rows = tables[k]
        values = np.array([row[1:15] for row in rows], np.float32).reshape(len(rows), 14)
        return (picture(paths[k], decode), np.array([[names[row[0]]] for row in rows], np.uint32), values[:, :1],
                values[:, 1:2].astype(np.uint32), values[:, 2:3], values[:, 3:7], values[:, 7:10], values[:, 10:13],
                values[:, 13:])
    return Samples(len(paths), sample, ["image", "label", "truncated", "occluded", "alpha", "bbox", "dimensions", "location",
                                        "rotation_y"], classes=names, files=paths)
