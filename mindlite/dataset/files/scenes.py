"""Datasets of faces, streets, rooms and patches, each with files of lists or masks beside its images."""
from __future__ import annotations

import json
import os

import numpy as np

from ...common.errors import ArgumentError, ValueRangeError
from ..vision.formats import opened
from .images import _by_folder, _listed
from .table import BadFileError, Samples, file, files_below, folder, lines, picture, raw, source, subfolders, uint32


def _words(path: str) -> list[list[str]]:
    return [line.split() for line in lines(path) if line.strip()]


# ------------------------------------------------------------------- faces

@source("image", "label", usage=("10fold", "train", "test", "all"), task=("people", "pairs"),
        image_set=("original", "funneled", "deepfunneled"))
def LFWDataset(dataset_dir, task=None, usage=None, image_set=None, *, decode=False):
    """Labeled Faces in the Wild (Huang et al. 2007).

    people : image, label uint32: the number of the person in lfw-names.txt
    pairs  : image1, image2, label uint32: 1 for two images of one person
    usage  : "10fold", "train", "test", or both of these;  image_set : "original", "funneled" (by default), "deepfunneled"
    """
    directory, task = folder(dataset_dir), task or "people"
    images = os.path.join(directory, {"original": "lfw", "deepfunneled": "lfw-deepfunneled"}.get(image_set, "lfw_funneled"))
    parts = {"10fold": [""], "train": ["DevTrain"], "test": ["DevTest"]}.get(usage or "all", ["DevTrain", "DevTest"])
    lists = [_words(file(os.path.join(directory, f"{task}{part}.txt"))) for part in parts]

    def image(name: str, number: str) -> str:
        return os.path.join(images, name, f"{name}_{int(number):04d}.jpg")
    if task == "people":
        numbers = {row[0]: k for k, row in enumerate(_words(file(os.path.join(directory, "lfw-names.txt"))))}
        found = [(image(row[0], str(n + 1)), numbers[row[0]]) for rows in lists for row in rows if len(row) == 2
                 for n in range(int(row[1]))]
        return _listed(found, decode, uint32, numbers)
    pairs = [(image(row[0], row[1]), image(row[-2], row[-1]) if len(row) == 4 else image(row[0], row[2]), len(row) == 3)
             for rows in lists for row in rows[1:]]
    return Samples(len(pairs), lambda k: (*(picture(path, decode) for path in pairs[k][:2]), uint32(pairs[k][2])),
                   ["image1", "image2", "label"], files=[pair[0] for pair in pairs])


_FACES = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")


@source("image", "bbox", *_FACES, usage=("train", "test", "valid", "all"))
def WIDERFaceDataset(dataset_dir, usage=None, *, decode=False):
    """WIDER FACE (Yang et al. 2016).

    image, bbox int32 [n, 4], and int32 [n] of each face blur, expression, illumination, occlusion, pose, invalid: the fifth
    to tenth numbers of a line in this order, as MindSpore reads them (the data's own page puts invalid before occlusion)
    test : only the image
    """
    directory, found = folder(dataset_dir), []
    split = os.path.join(directory, "wider_face_split")
    if usage == "test":
        paths = [os.path.join(directory, "WIDER_test", "images", row[0])
                 for row in _words(file(os.path.join(split, "wider_face_test_filelist.txt")))]
        return Samples(len(paths), lambda k: (picture(paths[k], decode),), ["image"], files=paths)
    for word in {"train": ["train"], "valid": ["val"]}.get(usage or "all", ["train", "val"]):
        rows = _words(file(os.path.join(split, f"wider_face_{word}_bbx_gt.txt")))
        while rows:
            path, count = os.path.join(directory, f"WIDER_{word}", "images", rows[0][0]), int(rows[1][0])
            count = max(count, 1)                            # an image without faces has one line of zeros
            found.append((path, np.array(rows[2:2 + count], np.int32)))
            rows = rows[2 + count:]
    return Samples(len(found), lambda k: (picture(found[k][0], decode), found[k][1][:, :4], *found[k][1][:, 4:].T),
                   files=[path for path, _ in found])


# ------------------------------------------------------------------- streets and rooms

_TASKS = {"instance": "instanceIds.png", "semantic": "labelIds.png", "color": "color.png", "polygon": "polygons.json"}


@source("image", "task", quality_mode=("fine", "coarse"), task=tuple(_TASKS))
def CityscapesDataset(dataset_dir, usage="train", quality_mode="fine", task="instance", *, decode=None):
    """Cityscapes (Cordts et al. 2016): image, task: the mask of the instances, classes or colours, or polygons as JSON.

    usage : "train", "test", "val" or "all" of fine masks; "train", "train_extra", "val" or "all" of coarse ones
    """
    directory, fine = folder(dataset_dir), quality_mode == "fine"
    parts = ["train", "test", "val"] if fine else ["train", "train_extra", "val"]
    if not isinstance(usage, str):
        raise ArgumentError(f"Argument usage with value {usage} is not of type [<class 'str'>], but got {type(usage)}.")
    if usage not in (*parts, "all"):
        raise ValueRangeError(f"Input usage is not within the valid set of {[*parts, 'all']}.")
    words = ("gtFine" if fine else "gtCoarse"), parts if usage == "all" else [usage]
    found = []
    for part in words[1]:
        base, notes = (os.path.join(directory, name, part) for name in ("leftImg8bit", words[0]))
        for city in subfolders(folder(base)):
            for path in files_below(os.path.join(base, city), (".png",)):
                stem = os.path.basename(path).removesuffix("_leftImg8bit.png")
                found.append((path, os.path.join(notes, city, f"{stem}_{words[0]}_{_TASKS[task]}")))
    missing = [note for _, note in found if not os.path.isfile(note)]
    if missing:
        raise BadFileError(f"{missing[0]} does not exist")

    def mask(path: str) -> np.ndarray:
        if task != "polygon":
            return picture(path, decode)
        with open(path, encoding="utf-8") as stream:
            return np.array(json.dumps(json.load(stream), separators=(",", ":")))
    return Samples(len(found), lambda k: (picture(found[k][0], decode), mask(found[k][1])), files=[path for path, _ in found])


_ROOMS = ("bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room", "kitchen", "living_room",
          "restaurant", "tower")


@source("image", "label", usage=("train", "test", "valid", "all"))
def LSUNDataset(dataset_dir, usage=None, classes=None, *, decode=False):
    """LSUN (Yu et al. 2015) as folders <class>_train and <class>_val of images: image, label uint32: the number of the folder.

    classes : a list of names: the only ones; all by default. Folders that are read are numbered by name, as MindSpore does
    """
    directory = folder(dataset_dir)
    wanted = [classes] if isinstance(classes, str) else classes
    if wanted is not None and (not isinstance(wanted, list) or any(name not in _ROOMS for name in wanted)):
        raise ArgumentError(f"LSUNDataset: classes is a list of {', '.join(_ROOMS)}, not {classes!r}")
    if usage == "test":
        return _listed([(path, 0) for path in files_below(os.path.join(directory, "test"), (".jpg", ".jpeg"))], decode, uint32)
    parts = {"train": ["train"], "valid": ["val"]}.get(usage or "all", ["train", "val"])
    folders = [name for name in subfolders(directory) if name.rpartition("_")[0] in (wanted or _ROOMS)
               and name.rpartition("_")[2] in parts]
    return _by_folder(directory, (".jpg", ".jpeg"), decode, {name: k for k, name in enumerate(folders)}, uint32)


# ------------------------------------------------------------------- boundaries and patches

@source("image", "task", usage=("train", "val", "train_noval", "all"), task=("Boundaries", "Segmentation"),
        defaults={"num_parallel_workers": 1})
def SBDataset(dataset_dir, task="Boundaries", usage="all", *, decode=None):
    """Semantic boundaries (Hariharan et al. 2011): image, task: uint8 [20, height, width] boundaries by class, or a mask."""
    from scipy.io import loadmat
    directory = folder(dataset_dir)
    names = [row[0] for part in (["train", "val"] if usage == "all" else [usage])
             for row in _words(file(os.path.join(directory, f"{part}.txt")))]
    images = [os.path.join(directory, "img", name + ".jpg") for name in names]

    def sample(k: int) -> tuple:
        truth = loadmat(os.path.join(directory, "cls", names[k] + ".mat"))["GTcls"][0][task][0]
        if task == "Boundaries":
            truth = np.stack([truth[n][0].toarray() for n in range(len(truth))])
        return picture(images[k], decode), truth
    return Samples(len(names), sample, files=images)


_SIDE, _ACROSS = 64, 16                                      # patches of 64 x 64, 16 x 16 of them in a file


@source("image", usage=("train", "test"), name=("notredame", "yosemite", "liberty", "notredame_harris", "yosemite_harris",
                                                "liberty_harris"))
def PhotoTourDataset(dataset_dir, name, usage=None):
    """Photo tourism patches (Winder, Brown 2007), uint8 [64, 64, 1].

    train : image;  test : image1, image2, matches uint32: 1 where both show one point
    """
    directory = folder(os.path.join(folder(dataset_dir), name))
    points = [int(row[0]) for row in _words(file(os.path.join(directory, "info.txt")))]
    sheets: dict[int, np.ndarray] = {}

    def patch(k: int) -> np.ndarray:
        number, place = divmod(k, _ACROSS * _ACROSS)
        if number not in sheets:
            sheets.clear()
            sheets[number] = np.asarray(opened(raw(os.path.join(directory, f"patches{number:04d}.bmp")), "decode").convert("L"))
        y, x = (_SIDE * n for n in divmod(place, _ACROSS))
        return np.ascontiguousarray(sheets[number][y:y + _SIDE, x:x + _SIDE, None])
    if usage != "test":
        return Samples(len(points), lambda k: (patch(k),), ["image"])
    pairs = [(int(row[0]), int(row[3]), row[1] == row[4])
             for row in _words(file(os.path.join(directory, "m50_100000_100000_0.txt")))]
    return Samples(len(pairs), lambda k: (patch(pairs[k][0]), patch(pairs[k][1]), uint32(pairs[k][2])),
                   ["image1", "image2", "matches"], [int(matches) for _, _, matches in pairs])
