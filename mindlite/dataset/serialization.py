"""Pipelines as JSON, in the words of MindSpore's: each reads what the other has written, as far as MindSpore's C++ reads itself.

    {"op_type": "Batch", "batch_size": 2, .., "children": [
        {"op_type": "Map", "operations": [{"tensor_op_name": "Invert", "tensor_op_params": ..}], "children": [
            {"op_type": "MnistDataset", "dataset_dir": .., "sampler": {"sampler_name": ..}, "children": []}]}]}

NODES says for each operation on rows what is written and how it is read again; sources are written by their arguments.
An operation is written by its arguments too: numbers stand for enumerations (those of MindSpore's C++), {"data", "shape",
"type"} for arrays. A user's function is written by its name and cannot be read again.
"""
from __future__ import annotations

import enum
import functools
import inspect
import json
import os
from typing import Any, Callable

import numpy as np

from ..common import log
from ..common.errors import ArgumentError, FileFormatError, MindliteError, ValueRangeError
from . import audio, config, text, transforms, vision
from .dataset import Dataset, make
from .files.records import Schema
from .files.table import FileSource
from .mindrecord.reader import MindDataset
from .operation import Operation
from .samplers import (BuiltinSampler, DistributedSampler, PKSampler, RandomSampler, SequentialSampler, Shuffle,
                       SubsetRandomSampler, SubsetSampler, WeightedRandomSampler)
from .sources import Source


class PipelineFormatError(MindliteError, RuntimeError):
    """JSON that describes no pipeline, or one that cannot be made of JSON."""


# ------------------------------------------------------------------- values of arguments

INTERPOLATIONS = {vision.Inter.LINEAR: 0, vision.Inter.NEAREST: 1, vision.Inter.CUBIC: 2, vision.Inter.AREA: 3,
                  vision.Inter.PILCUBIC: 4, vision.Inter.ANTIALIAS: 5}
SHUFFLES = {False: 0, Shuffle.FALSE: 0, Shuffle.FILES: 1, Shuffle.GLOBAL: 2, True: 2, None: 2}
TYPES = (None, "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
         "string", "bytes")                   # MindSpore's numbers of types
ENUMERATIONS: dict[str, Any] = {         # of arguments without a default; the others tell by theirs
    "convert_mode": vision.ConvertMode, "image_batch_format": vision.ImageBatchFormat, "operator": transforms.Relational}
RENAMED = {"Rotate": {"degrees": "degree"}, "Mask": {"operator": "op"}, "BertTokenizer": {"normalization_form": "normalize_form"},
           "FrequencyMasking": {"freq_mask_param": "frequency_mask_param"}}
CLASSES = {"HWC2CHW": "HwcToChw", "ToType": "TypeCast"}      # MindSpore's C++ name
SINGLE = ("Resize", "ResizeWithBBox", "RandomResize", "RandomResizeWithBBox")     # a size of one number is not a square
ABSENT: dict[str, list] = {              # what stands for None
    "padding": [0, 0, 0, 0], "ignore": [], "center": [], "offset": [], "sigma": [0.0], "scale": [1.0, 1.0],
    "shear": [0.0, 0.0, 0.0, 0.0]}
PLACED = ("AdjustBrightness", "AdjustContrast", "AdjustHue", "AdjustSaturation", "AdjustSharpness", "Affine", "AutoContrast",
          "ConvertColor", "Crop", "Decode", "Equalize", "Erase", "GaussianBlur", "HorizontalFlip", "Invert", "Normalize", "Pad",
          "Perspective", "Posterize", "Resize", "ResizedCrop", "Rotate", "Solarize", "VerticalFlip")     # they have a device
FOREIGN = ("device_target", "rgb")       # arguments of MindSpore's operations that say nothing here
WHOLE = ("hop_length", "orig_freq", "new_freq")              # numbers that MindSpore writes as floats


def number_of(member: enum.Enum) -> int:
    """The number that MindSpore's C++ has for a member of an enumeration."""
    if isinstance(member, vision.Inter):
        return INTERPOLATIONS[member]
    return int(member) if isinstance(member, enum.IntEnum) else list(type(member)).index(member)


def member_of(kind: type[enum.Enum], number: int) -> enum.Enum:
    """The member with that number. raises : PipelineFormatError"""
    for member in kind:
        if number_of(member) == number:
            return member
    raise PipelineFormatError(f"{kind.__name__} has no member with number {number}")


def written(value: Any) -> Any:
    """A value of an argument as JSON."""
    if isinstance(value, enum.Enum):
        return number_of(value)
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        kind = "string" if array.dtype.kind == "U" else array.dtype.name
        return {"data": array.ravel().tolist(), "shape": list(array.shape), "type": kind}
    if isinstance(value, np.dtype):
        return "string" if value.kind == "U" else value.name
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if value is ...:
        return {"slice": "..."}
    if isinstance(value, text.Vocab):
        return value.vocab()
    if isinstance(value, (list, tuple)):
        return [written(one) for one in value]
    if isinstance(value, dict):
        return {name: written(one) for name, one in value.items()}
    return write_operation(value) if callable(value) else value


def read(value: Any) -> Any:
    """The value of an argument that `written` has written; enumerations and types stay numbers and names."""
    if isinstance(value, dict) and {"data", "shape", "type"} <= value.keys():
        kind = np.dtype("U") if value["type"] == "string" else np.dtype(value["type"])
        array = np.array(value["data"], None if kind.kind == "U" else kind).reshape(value["shape"])
        return array if array.ndim else array.item()
    if isinstance(value, dict) and "slice" in value:
        return ... if value["slice"] == "..." else slice(*value["slice"])
    if isinstance(value, dict) and "tensor_op_name" in value:
        return read_operation(value)
    if isinstance(value, list):
        return [read(one) for one in value]
    return value


# ------------------------------------------------------------------- operations

class Unreadable(Operation):
    """Stands for a user's function in a pipeline that was read: it has a name, and no meaning."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *data: Any) -> Any:
        raise self.error()

    def error(self) -> PipelineFormatError:
        """What MindSpore says."""
        return PipelineFormatError("Failed to find key 'tensor_op_params' in PyFuncOp' JSON file or input dict",
                                   note=f"the operation {self.name!r} is a Python function, which JSON does not hold")


def write_operation(operation: Any) -> dict:
    """An operation as JSON: {"tensor_op_name", "tensor_op_params"}."""
    if isinstance(operation, Unreadable):
        raise operation.error()
    kind = type(operation).__name__
    if not isinstance(operation, Operation) or _module_of(kind) is None or isinstance(operation, text.PythonTokenizer):
        name = getattr(operation, "__name__", None) or kind
        return {"tensor_op_name": name, "python_module": getattr(operation, "__module__", None) or "builtins"}
    names = RENAMED.get(kind, {})
    arguments = {names.get(name, name): _form(kind, name, getattr(operation, name)) for name in _arguments(type(operation))}
    if kind == "Fill":
        arguments = written(np.asarray(arguments["fill_value"]))
    if kind in PLACED:
        arguments["device_target"] = "CPU"
    if kind == "Decode":
        arguments["rgb"] = True
        if not arguments["to_pil"]:
            del arguments["to_pil"]
    return {"tensor_op_name": CLASSES.get(kind, kind), "tensor_op_params": arguments or None}


def _form(kind: str, name: str, value: Any) -> Any:
    """The form in which MindSpore writes an argument."""
    if value is None and name in ABSENT:
        return ABSENT[name]
    if _module_of(kind) is vision:
        if name == "size" and isinstance(value, int):
            return [value] if kind in SINGLE else [value, value]
        if name == "fill_value" and isinstance(value, int) and kind != "SlicePatches":
            return [value] * 3
        if name == "policy" and isinstance(value, list):
            return [[{"tensor_op": written(one), "prob": prob} for one, prob in part] for part in value]
    if kind == "Erase" and name == "value" and not isinstance(value, (list, tuple)):
        return [value]
    if kind == "Mask" and name == "dtype":
        return TYPES.index(written(value))
    return written(np.asarray(value)) if name in ("constant", "pad_value") and value is not None else written(value)


def _module_of(kind: str) -> Any:
    return next((room for room in (vision, transforms, text, audio) if hasattr(room, kind)), None)


def _arguments(kind: Any) -> list[str]:
    return [name for name in inspect.signature(kind).parameters]


@functools.lru_cache(None)
def _enumerations(kind: Any) -> dict[str, type[enum.Enum]]:
    """{argument: its enumeration}"""
    defaults = {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}
    return {name: type(default) if isinstance(default, enum.Enum) else ENUMERATIONS[name] for name, default in defaults.items()
            if isinstance(default, enum.Enum) or name in ENUMERATIONS}


def read_operation(description: dict) -> Any:
    """The operation that JSON describes. raises : PipelineFormatError"""
    name = str(description.get("tensor_op_name"))
    kind_name = next((ours for ours, theirs in CLASSES.items() if theirs == name and ours != "ToType"), name)
    room = _module_of(kind_name)
    if "tensor_op_params" not in description:
        return Unreadable(name)
    if room is None:
        raise PipelineFormatError(f"Invalid data, unsupported operation: {name}")
    kind, given = getattr(room, kind_name), description["tensor_op_params"] or {}
    if name == "Fill" and "data" in given:
        given = {"fill_value": given}
    in_python = "python_module" in description   # then they are the attributes of MindSpore's object, some of them its own
    arguments, renamed = {}, {theirs: ours for ours, theirs in RENAMED.get(kind_name, {}).items()}
    for theirs, value in given.items():
        ours = renamed.get(theirs, theirs)
        if ours in _arguments(kind):
            arguments[ours] = _argument(kind, ours, value, in_python)
        elif theirs not in FOREIGN and not in_python:
            raise PipelineFormatError(f"Invalid data, operation {name} has no argument {theirs!r}")
    slices = arguments.pop("slices", ())
    try:
        return kind(*slices, **arguments)
    except (MindliteError, TypeError, ValueError) as error:
        raise PipelineFormatError(f"Invalid data, operation {name}: {error}") from None


def _argument(kind: Any, name: str, value: Any, in_python: bool = False) -> Any:
    """The value of an argument of an operation. in_python : numbers of enumerations are those of Python"""
    if name in _enumerations(kind) and isinstance(value, int):
        return vision.Inter(value) if in_python and name == "interpolation" else member_of(_enumerations(kind)[name], value)
    if name in WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)
    if name == "policy" and isinstance(value, list):
        return [[(read_operation(one["tensor_op"]), one["prob"]) for one in part] for part in value]
    if name == "vocab":
        return text.Vocab.from_dict(value)
    if name in ABSENT and value == ABSENT[name] and inspect.signature(kind).parameters[name].default is None:
        return None
    if name == "dtype" and isinstance(value, int):
        value = TYPES[value]
    if name in ("data_type", "dtype", "output_type") and isinstance(value, str) and kind.__name__ != "NormalizePad":
        return np.dtype("U") if value == "string" else np.dtype(value)
    found = read(value)
    if (name in ("size", "kernel_size", "sigma") or (kind.__name__, name) == ("Erase", "value")) and isinstance(found, list):
        return found[0] if len(found) == 1 else tuple(found)
    if name in ("fill_value", "n", "left_pad", "right_pad", "pad_width") and isinstance(found, list):
        return tuple(found)
    return found


# ------------------------------------------------------------------- samplers

SAMPLERS: dict[str, tuple] = {           # name: what is written, and what makes it again
    "SequentialSampler": (lambda s: {"start_index": s.start_index or 0},
                          lambda d, n: SequentialSampler(d["start_index"], n)),
    "RandomSampler": (lambda s: {"replacement": s.replacement, "reshuffle_each_epoch": s.chance is None,
                                 "shuffle_mode": SHUFFLES[s.shuffle]},
                      lambda d, n: RandomSampler.once() if not d.get("reshuffle_each_epoch", True) else
                      RandomSampler(d["replacement"], n)),
    "DistributedSampler": (lambda s: {"num_shards": s.num_shards, "shard_id": s.shard_id, "offset": s.offset, "even_dist": True,
                                      "seed": s.seed + 1, "shuffle_mode": SHUFFLES[s.shuffle]},
                           lambda d, n: DistributedSampler(d["num_shards"], d["shard_id"], d["shuffle_mode"] != 0, n,
                                                           d["offset"]).with_seed(d["seed"] - 1)),
    "PKSampler": (lambda s: {"num_val": s.num_val, "shuffle": s.shuffle},
                  lambda d, n: PKSampler(d["num_val"], None, d["shuffle"], num_samples=n)),
    "SubsetSampler": (lambda s: {"indices": s.chosen.tolist()}, lambda d, n: SubsetSampler(d["indices"], n)),
    "SubsetRandomSampler": (lambda s: {"indices": s.chosen.tolist()}, lambda d, n: SubsetRandomSampler(d["indices"], n)),
    "WeightedRandomSampler": (lambda s: {"weights": s.weights.tolist(), "replacement": s.replacement},
                              lambda d, n: WeightedRandomSampler(d["weights"], n, d["replacement"])),
}


def write_sampler(sampler: BuiltinSampler) -> dict:
    """A sampler as JSON; one that the user has written has no name there."""
    found: dict = {"num_samples": sampler.num_samples or 0}
    name = type(sampler).__name__
    if name in SAMPLERS:
        found.update(SAMPLERS[name][0](sampler), sampler_name=name)
    if sampler.child_sampler is not None:
        found["child_sampler"] = [write_sampler(sampler.child_sampler)]
    return found


def read_sampler(description: dict) -> BuiltinSampler:
    """The sampler that JSON describes. raises : PipelineFormatError"""
    name = description.get("sampler_name")
    if name not in SAMPLERS:
        raise PipelineFormatError("Failed to find sampler_name" if name is None else f"Invalid data, unsupported sampler: {name}")
    found = SAMPLERS[name][1](description, description.get("num_samples") or None)
    for child in description.get("child_sampler", ()):
        found.add_child(read_sampler(child))
    return found


# ------------------------------------------------------------------- nodes

def _columns(node: Any) -> dict:
    return {"input_columns": node.inputs, "output_columns": node.outputs}


def _map(node: Any) -> dict:
    flat = [inner for one in node.operations for inner in (one.transforms if isinstance(one, transforms.Compose) else [one])]
    return {"operations": [write_operation(one) for one in flat], "callback": [], **_columns(node)}


def _batch(node: Any) -> dict:
    size = {"batch_size": 1, "batch_size_func": "pyfunc"} if callable(node.batch_size) else {"batch_size": node.batch_size}
    mapped = {"per_batch_map": "pyfunc"} if node.per_batch_map is not None else {}
    return {**size, "drop_remainder": node.drop_remainder, **_columns(node), **mapped}


def _padded(node: Any) -> dict:
    return {"batch_size": node.batch_size, "drop_remainder": node.drop_remainder, "input_columns": [], "output_columns": [],
            "pad_info": written(node.pad_info)}


def _bucket(node: Any) -> dict:
    return {"column_names": node.columns, "bucket_boundaries": node.boundaries, "bucket_batch_sizes": node.sizes,
            "pad_info": written(node.pad_info) if node.pads else None, "pad_to_bucket_boundary": node.pad_to_boundary,
            "drop_remainder": node.drop_remainder, **({"element_length_function": "pyfunc"} if node.length is not None else {})}


def _read_pads(pad_info: dict | None) -> dict | None:
    return None if pad_info is None else {name: None if info is None else tuple(read(info)) for name, info in pad_info.items()}


def _read_batch(child: Dataset, d: dict) -> Dataset:
    if "pad_info" in d:
        return child.padded_batch(d["batch_size"], d["drop_remainder"], None, _read_pads(d["pad_info"]) or None)
    return child.batch(d["batch_size"], d["drop_remainder"])


def _read_bucket(child: Dataset, d: dict) -> Dataset:
    return child.bucket_batch_by_length(d["column_names"], d["bucket_boundaries"], d["bucket_batch_sizes"], None,
                                        _read_pads(d["pad_info"]), d["pad_to_bucket_boundary"], d["drop_remainder"])


NODES: dict[str, tuple[str, Callable, Callable | None]] = {  # class: (op_type, what is written, what makes it again)
    "MapDataset": ("Map", _map, lambda child, d: child.map(
        [read_operation(one) for one in d["operations"]], d["input_columns"] or None, d["output_columns"] or None)),
    "BatchDataset": ("Batch", _batch, _read_batch),
    "PaddedBatchDataset": ("Batch", _padded, _read_batch),
    "BucketDataset": ("BucketBatchByLength", _bucket, _read_bucket),
    "ShuffleDataset": ("Shuffle", lambda n: {"buffer_size": n.buffer_size, "reset_each_epoch": n.each_pass},
                       lambda child, d: _each_pass(child.shuffle(d["buffer_size"]), d)),
    "RepeatDataset": ("Repeat", lambda n: {"count": n.count}, lambda child, d: child.repeat(d["count"])),
    "SkipDataset": ("Skip", lambda n: {"count": n.count}, lambda child, d: child.skip(d["count"])),
    "TakeDataset": ("Take", lambda n: {"count": n.count}, lambda child, d: child.take(d["count"])),
    "RenameDataset": ("Rename", lambda n: {"input_columns": n.old, "output_columns": n.new},
                      lambda child, d: child.rename(d["input_columns"], d["output_columns"])),
    "ProjectDataset": ("Project", lambda n: {"columns": n.columns}, lambda child, d: child.project(d["columns"])),
    "TransferDataset": ("Transfer", lambda n: {
        "send_epoch_end": n.send_epoch_end, "create_data_info_queue": n.create_data_info_queue, "queue_name": n.queue_name,
        "device_id": 0, "device_type": "CPU", "total_batch": 0},
        lambda child, d: child.device_que(d["send_epoch_end"], d["create_data_info_queue"], d["queue_name"])),
    "FilterDataset": ("Filter", lambda n: {"input_columns": n.inputs, "predicate": "pyfunc"}, None),
    "FlatMapDataset": ("FlatMap", lambda n: {"func": "pyfunc"}, None),
    "SyncWaitDataset": ("SyncWait", lambda n: {"condition_name": n.condition_name, "num_batch": n.num_batch}, None),
    "ZipDataset": ("Zip", lambda n: {}, lambda *children_and_d: make("ZipDataset", tuple(children_and_d[:-1]))),
    "ConcatDataset": ("Concat", lambda n: {}, lambda *children_and_d: make("ConcatDataset", children_and_d[:-1])),
}
FUNCTIONS = ("per_batch_map", "batch_size_func", "element_length_function", "predicate", "func")


def _each_pass(node: Any, d: dict) -> Dataset:
    node.each_pass = d.get("reset_each_epoch", True)
    return node


_EMPTY = {"class_indexing": {}, "extensions": [], "column_names": [], "columns_list": [], "column_defaults": [], "usage": "all",
          "compression_type": ""}         # what stands for None
_CHOICE = ("num_samples", "shuffle", "num_shards", "shard_id")


def _write_source(node: Any) -> dict:
    given = {name: value for name, value in node.arguments.items() if name not in ("cache", "num_parallel_workers", "sampler")}
    found = {name: written(_EMPTY.get(name) if value is None else value) for name, value in given.items() if name not in _CHOICE}
    found = {name: value for name, value in found.items() if value is not None}
    if "schema" in found:
        schema = found.pop("schema")
        found.update({"schema_file_path": schema} if isinstance(schema, str) else {"schema_json_string": json.loads(str(schema))})
    if not isinstance(node, FileSource) or not node.sequential:
        return {**found, "sampler": write_sampler(node.sampler)}
    if "dataset_files" in given and node.found.files:
        found["dataset_files"] = [os.path.realpath(path) for path in dict.fromkeys(node.found.files)]
    return {**found, "num_samples": given["num_samples"] or 0, "shuffle": SHUFFLES[given["shuffle"]],
            "num_shards": given["num_shards"] or 1, "shard_id": given["shard_id"] or 0}


def _read_source(kind: Any, d: dict) -> Dataset:
    known = _arguments(kind)
    found: dict[str, Any] = {name: None if name in _EMPTY and value in ([], {}, "") else read(value)
                             for name, value in d.items() if name in known}
    found.pop("num_parallel_workers", None)
    if "schema_file_path" in d:
        found["schema"] = d["schema_file_path"]
    if "schema_json_string" in d:
        found["schema"] = Schema()
        found["schema"].from_json(d["schema_json_string"])
    if "dataset_files" in known and "dataset_files" not in found and isinstance(d.get("dataset_dir"), list):
        found["dataset_files"] = d["dataset_dir"]            # MindSpore's CLUEDataset
    if "sampler" in d:
        found["sampler"] = read_sampler(d["sampler"])
    else:
        found["shuffle"] = (Shuffle.FALSE, Shuffle.FILES, Shuffle.GLOBAL)[d.get("shuffle", 2)]
        found["num_samples"] = d.get("num_samples") or None
        if d.get("num_shards", 1) == 1:
            found["num_shards"] = found["shard_id"] = None
    return kind(**found)


def describe(node: Dataset) -> dict:
    """A pipeline as a dict that JSON holds. raises : PipelineFormatError for one that was read with a function missing"""
    kind = type(node).__name__
    shared = {"num_parallel_workers": node.num_parallel_workers or config.settings.num_parallel_workers,
              "connector_queue_size": config.settings.prefetch_size}
    if kind in NODES:
        found = {"op_type": NODES[kind][0], **NODES[kind][1](node)}
        if found["op_type"] in ("Map", "Batch", "Zip", "Concat", "Filter", "BucketBatchByLength", "SyncWait"):
            found.update(shared)
    elif isinstance(node, (FileSource, MindDataset)):
        found = {"op_type": kind, **_write_source(node), **shared}
    elif isinstance(node, Source):
        found = {"op_type": "GeneratorDataset", **shared}
    else:
        raise PipelineFormatError(f"Invalid data, unsupported operation type: {kind}")
    found["children"] = [describe(child) for child in node.children]
    return json.loads(json.dumps(found, sort_keys=True))     # what a file would give


def made(description: Any) -> Dataset:
    """The pipeline that `describe` has described. raises : PipelineFormatError"""
    if not isinstance(description, dict) or "op_type" not in description:
        raise PipelineFormatError("Failed to find op_type in json.")
    kind, children = description["op_type"], [made(child) for child in description.get("children", ())]
    row = next((row for row in NODES.values() if row[0] == kind), None)
    if row is not None:
        if row[2] is None or any(name in description for name in FUNCTIONS):
            raise PipelineFormatError(f"Invalid data, unsupported operation type: {kind}",
                                      note="it has a Python function, which JSON does not hold")
        build = functools.partial(row[2], *children, description)
    elif kind in Dataset.kinds and issubclass(Dataset.kinds[kind], (FileSource, MindDataset)):
        build = functools.partial(_read_source, Dataset.kinds[kind], description)
    else:
        raise PipelineFormatError(f"Invalid data, unsupported operation type: {kind}",
                                  note="its samples are Python objects, which JSON does not hold")
    try:
        found = build()
        if "num_parallel_workers" in description:
            found.num_parallel_workers = config.workers(description["num_parallel_workers"])
        return found
    except (KeyError, TypeError, ArgumentError, ValueRangeError) as error:
        what = f"Failed to find {error}" if isinstance(error, KeyError) else str(error)
        raise PipelineFormatError(f"{what} in {kind}") from error


# ------------------------------------------------------------------- the door

def serialize(dataset: Dataset, json_filepath: str = "") -> dict:
    """The pipeline as a dict, and as a JSON file.

    dataset       : the last node;  json_filepath : "" for no file
    out           : MindSpore's description; a Python function stands there by its name and cannot be read again
    raises        : ArgumentError, PipelineFormatError (a RuntimeError), OSError
    """
    if not isinstance(dataset, Dataset):
        raise ArgumentError(f"serialize: a Dataset is expected, not {type(dataset).__name__}")
    return dataset.to_json(json_filepath)


def deserialize(input_dict: dict | str | None = None, json_filepath: str | None = None) -> Dataset | None:
    """The pipeline that `serialize`, here or in MindSpore, has described.

    input_dict : a dict, or the path of a file;  json_filepath : the path of a file, which counts if both are given
    out        : None if neither is given
    raises     : PipelineFormatError (a RuntimeError) for what JSON does not hold: filter, flat_map, sync_wait, sources in Python,
                 functions; a map with a function raises it at its first row
    """
    source = json_filepath or input_dict
    if not source:
        return None
    if isinstance(source, dict):
        return made(source)
    if not os.path.isfile(source):
        raise PipelineFormatError(f"Invalid file, failed to find file: {source}")
    try:
        with open(source, encoding="utf-8") as stream:
            return made(json.load(stream))
    except ValueError as error:
        raise FileFormatError(f"{source} is no JSON: {error}") from None


def show(dataset: Dataset, indentation: int | None = 2) -> None:
    """Write the pipeline's description to the log, at level INFO. indentation : spaces a level, None for one line"""
    log.info(json.dumps(dataset.to_json(), indent=indentation))


def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """True if two pipelines have the same description."""
    return pipeline1.to_json() == pipeline2.to_json()


__all__ = ["serialize", "deserialize", "show", "compare", "PipelineFormatError"]
