"""Checkpoints of many ranks: each writes what it has, and reads what it needs, on any mesh.

    save_sharded_checkpoint(net, "ckpt")            ckpt/index.json         which box of which tensor stands in which file
                                                    ckpt/v3/rank_0.safetensors, rank_1.safetensors, ..
    load_sharded_checkpoint("ckpt", net)            with other ranks, other placements, or in one process

Nothing is gathered. Boxes that several ranks have are written by one of them. The index takes the place of the old one when all
files of the new version are on the disk; until then the old version is whole, whoever is killed. Of the files only the pages are
read in which a wanted box lies.
"""
import contextlib
import json
import mmap
import os
import re
import shutil
from typing import Any, NamedTuple

import numpy as np

from ..common import dtype as dt
from ..common.errors import ArgumentError, FileFormatError, ShapeError, ValueRangeError
from ..common.files import replacing
from ..common.ranks import WORLD, engine
from ..common.sbp import Partial
from ..common.storage import ShardedArray, part_here
from ..common.tensor import Tensor
from ..parallel import Placement
from ..pynative.tape import protect
from .checkpoint import read_safetensors, write_safetensors
from .serialization import tensors_of

INDEX = "index.json"


class Box(NamedTuple):
    """A part of a tensor: from `begin` to `end` along each axis, and the rank that writes it."""
    begin: tuple
    end: tuple
    rank: int

    @property
    def key(self) -> str:
        """Its name within a file, behind that of the tensor."""
        return ",".join(f"{b}:{e}" for b, e in zip(self.begin, self.end))

    @property
    def shape(self) -> tuple:
        """Its sizes."""
        return tuple(e - b for b, e in zip(self.begin, self.end))


def boxes_of(tensor: Tensor, number: int) -> list[Box]:
    """The boxes in which a tensor is written. number: of the tensor; ranks take turns with those that all have.

    raises : ValueRangeError for addends, which are no tensor yet
    """
    elements = tensor.elements
    if not isinstance(elements, ShardedArray):
        return [Box((0,) * tensor.ndim, tuple(tensor.shape), number % engine().size)]
    if any(isinstance(sbp, Partial) for sbp in elements.placement.sbps):
        raise ValueRangeError(f"a tensor that lies {elements.placement} is not written", hint="x.full_tensor() adds it up")
    owners: dict = {}
    for rank in elements.placement.mesh.ranks:
        owners.setdefault(elements.placement.bounds(elements.shape, rank), []).append(rank)
    return [Box(tuple(b for b, _ in bounds), tuple(e for _, e in bounds), ranks[number % len(ranks)])
            for bounds, ranks in owners.items()]


def save_sharded_checkpoint(save_obj: Any, folder: str) -> None:
    """Write the Tensors of all ranks, each what it has: a collective.

    save_obj : a Cell, a dict or a list, as save_checkpoint takes them; the same names on all ranks
    folder   : where; an earlier version there gives way once this one is whole
    raises   : ArgumentError, ValueRangeError, DTypeError, OSError
    """
    tensors, rank = tensors_of(save_obj), engine().rank
    version = f"v{int(engine().broadcast(np.array(_next_version(folder) if rank == 0 else 0), 0, WORLD))}"
    index: dict[str, Any] = {}
    mine: dict[str, np.ndarray] = {}
    for number, (name, tensor) in enumerate(tensors):
        boxes = boxes_of(tensor, number)
        index[name] = {"dtype": str(dt.dtype(tensor.dtype)), "shape": list(tensor.shape), "boxes": [
            {"begin": list(box.begin), "end": list(box.end), "file": _file_of(box.rank)} for box in boxes]}
        mine.update({f"{name}@{box.key}": part_here(tensor.elements) if isinstance(tensor.elements, ShardedArray)
                     else tensor.asnumpy() for box in boxes if box.rank == rank})
    with replacing(os.path.join(folder, version, _file_of(rank))) as stream:
        write_safetensors(stream, mine)
    engine().barrier(WORLD)                                  # all files are there
    if rank == 0:
        with replacing(os.path.join(folder, INDEX)) as stream:
            stream.write(json.dumps({"format": 1, "version": version, "tensors": index}).encode())
        for name in os.listdir(folder):
            if re.fullmatch(r"v\d+", name) and name != version:
                shutil.rmtree(os.path.join(folder, name))
    engine().barrier(WORLD)


def _file_of(rank: int) -> str:
    return f"rank_{rank}.safetensors"


def _next_version(folder: str) -> int:
    with contextlib.suppress(FileNotFoundError):
        return 1 + max([int(name[1:]) for name in os.listdir(folder) if re.fullmatch(r"v\d+", name)], default=0)
    return 1


class Loaded(NamedTuple):
    """missing: names that the checkpoint does not have; unused: names that nobody wanted; nbytes: what was taken from files."""
    missing: list
    unused: list
    nbytes: int


def load_sharded_checkpoint(folder: str, net: Any) -> Loaded:
    """Give the Tensors of `net` what a checkpoint says of them; each rank reads its boxes only, no collective.

    folder : as save_sharded_checkpoint wrote it, by any number of ranks
    net    : a Cell, a dict or a list of Tensors, sharded in any way or not
    raises : ArgumentError where there is no checkpoint; ShapeError where a shape differs; FileFormatError for damaged files
    """
    path = os.path.join(folder, INDEX)
    try:
        with open(path, "rb") as stream:
            described = json.loads(stream.read())
        tensors, version = described["tensors"], described["version"]
        entries = {name: (tuple(entry["shape"]), entry["boxes"]) for name, entry in tensors.items()}
    except FileNotFoundError:
        raise ArgumentError(f"load_sharded_checkpoint: there is no {path}", hint="save_sharded_checkpoint writes it") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{path} is damaged: {error!r}") from error
    missing, wanted, nbytes = [], tensors_of(net), 0
    with contextlib.ExitStack() as stack:
        files: dict = {}

        def arrays_of(name: str) -> dict:
            if name not in files:
                files[name] = _mapped(os.path.join(folder, version, os.path.basename(name)), stack)
            return files[name]
        for name, tensor in wanted:
            if name not in entries:
                missing.append(name)
                continue
            shape, boxes = entries[name]
            if shape != tuple(tensor.shape):
                raise ShapeError(f"{name} has shape {list(tensor.shape)}, and in the checkpoint {list(shape)}")
            nbytes += _read(name, tensor.init_data(), boxes, arrays_of)
        files.clear()
    return Loaded(missing, sorted(entries.keys() - {name for name, _ in wanted}), nbytes)


def _mapped(path: str, stack: contextlib.ExitStack) -> dict:
    """{name: ndarray on the file's pages} of a .safetensors file."""
    try:
        stream = stack.enter_context(open(path, "rb"))
    except FileNotFoundError:
        raise FileFormatError(f"{path} is missing, and the index names it") from None
    size = os.fstat(stream.fileno()).st_size
    return read_safetensors(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b"", path, copy=False)


def _read(name: str, tensor: Tensor, boxes: list, arrays_of: Any) -> int:
    """Fill this rank's part of a tensor; the bytes that were read. raises : FileFormatError where boxes leave a hole"""
    elements = tensor.elements
    placement: Placement | None = getattr(elements, "placement", None)
    if placement is not None and any(isinstance(sbp, Partial) for sbp in placement.sbps):
        raise ValueRangeError(f"{name} lies {placement}, and a checkpoint has no addends", hint="to_global places it otherwise")
    bounds = placement.bounds(elements.shape, engine().rank) if placement is not None else tuple((0, s) for s in tensor.shape)
    part = np.empty([end - begin for begin, end in bounds], elements.dtype)
    filled, nbytes = 0, 0
    for described in boxes:
        box = Box(tuple(described["begin"]), tuple(described["end"]), 0)
        shared = [(max(b, begin), min(e, end)) for b, e, (begin, end) in zip(box.begin, box.end, bounds)]
        if any(b >= e for b, e in shared):
            continue
        stored = arrays_of(described["file"]).get(f"{name}@{box.key}")
        if stored is None or stored.shape != box.shape:
            raise FileFormatError(f"{described['file']} does not hold {name}[{box.key}], and the index says so")
        source = stored[tuple([slice(b - begin, e - begin) for (b, e), begin in zip(shared, box.begin)])]
        part[tuple([slice(b - begin, e - begin) for (b, e), (begin, _) in zip(shared, bounds)])] = source
        filled, nbytes = filled + source.size, nbytes + source.nbytes
    if filled != part.size:
        raise FileFormatError(f"the checkpoint has {filled} of the {part.size} elements of {name} that are wanted here")
    protect(elements)
    if isinstance(elements, ShardedArray):
        elements.part[...] = part
    else:
        tensor.overwrite(part)
    return nbytes
