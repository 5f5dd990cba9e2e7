"""Checkpoints of many ranks in MindSpore's layout: a file for each rank, a strategy file for all; from one layout to another.

    src/rank_0/a.ckpt .. src/rank_3/a.ckpt, src.ckpt    ->  transform_checkpoints  ->    dst/rank_0/b0.ckpt, .., by dst.ckpt

A part that is wanted is a box of the tensor; the boxes of the old ranks that it meets are copied into it (`Strategy.bounds`).
Nothing but the files that are needed is read. Rank r of a layout of several stages is rank r % n of stage r // n, n ranks to one.
`sharded_checkpoint.py` has the layout of our own, which needs none of this.
"""
from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from ..common.errors import ArgumentError, FileFormatError, MindliteError, ShapeError, ValueRangeError
from ..common.files import replacing
from ..common.protobuf import message_fields
from ..common.ranks import engine
from ..common.storage import ShardedArray
from ..common.tensor import Parameter, Tensor
from ..parallel.strategy import WHOLE, Layouts, Strategy, read_strategy, write_strategy
from .checkpoint import read_safetensors, write_safetensors
from .serialization import load_checkpoint, load_param_into_net, save_checkpoint, tensors_of

PART = 3 << 30                                   # bytes of a file that unified_safetensors writes
HYPER, NAMES = "hyper_param.safetensors", "param_name_map.json"


class NotAFolderError(MindliteError, NotADirectoryError):
    """What should be a folder is none."""


class Ranks:
    """All ranks of a layout: of a strategy file, {name: {stage: Strategy}}, or None for one rank that has all."""

    def __init__(self, given: Any) -> None:
        self.layouts: Layouts | None = read_strategy(os.fspath(given)) if isinstance(given, (str, os.PathLike)) else given
        found = [(stage, strategy.ranks) for of in (self.layouts or {"": {0: WHOLE}}).values() for stage, strategy in of.items()]
        self.stages, self.of_stage = 1 + max(stage for stage, _ in found), found[0][1]
        if {stage for stage, _ in found} != set(range(self.stages)) or any(ranks != self.of_stage for _, ranks in found):
            raise ValueRangeError(f"a strategy tells of the stages {sorted({stage for stage, _ in found})} with "
                                  f"{sorted({ranks for _, ranks in found})} ranks each", hint="merge_pipeline_strategys joins "
                                  "the files of all stages; each has as many ranks")
        self.count = self.stages * self.of_stage

    def split(self, rank: int) -> tuple[int, int]:
        """(its stage, its number there). raises : ValueRangeError for a rank that is not of these"""
        if type(rank) is not int or not 0 <= rank < self.count:
            raise ValueRangeError(f"rank_id is one of the {self.count} ranks from 0 on, not {rank!r}")
        return divmod(rank, self.of_stage)

    def strategies(self, name: str) -> dict[int, Strategy]:
        """{stage: how it lies there} of a Parameter; {} for one that the layout does not tell of, which lies whole on all."""
        return {0: WHOLE} if self.layouts is None else self.layouts.get(name, {})

    def wants(self, name: str, rank: int) -> bool:
        """True if a rank has a part of this Parameter, or a whole one."""
        found = self.strategies(name)
        return not found or self.split(rank)[0] in found


def _pieces(name: str, shape: tuple, rank: int, source: Ranks, target: Ranks) -> Iterator[tuple[int, tuple, tuple, tuple]]:
    """(source rank, the box that is wanted, the box that it has, what they share) of each part that `rank` needs."""
    stage, local = target.split(rank)
    want = target.strategies(name)[stage].bounds(shape, local) if target.strategies(name) else tuple((0, n) for n in shape)
    have = source.strategies(name) or {0: WHOLE._replace(device_matrix=(source.of_stage,))}
    home = min(have)                                         # where several stages have it, all have the same
    done = set()
    for number in sorted(range(source.of_stage), key=lambda number: (number != local % source.of_stage, number)):
        box = have[home].bounds(shape, number)
        shared = tuple([(max(b, begin), min(e, end)) for (b, e), (begin, end) in zip(box, want)])
        if box not in done and all(b < e for b, e in shared):
            done.add(box)
            yield home * source.of_stage + number, want, box, shared


def _assembled(name: str, rank: int, local: tuple, source: Ranks, target: Ranks, read: Callable[[int], dict]) -> np.ndarray:
    """A rank's part of a Parameter. local: the shape of the old ranks' parts; read: an old rank -> {name: ndarray}"""
    told = source.strategies(name) or {0: WHOLE}
    shape, made = told[min(told)].whole(local), None
    for number, want, box, shared in _pieces(name, shape, rank, source, target):
        part = read(number)[name]
        if part.shape != tuple(e - b for b, e in box):
            raise ShapeError(f"{name} of rank {number} has the shape {list(part.shape)}, and by the strategy "
                             f"{[e - b for b, e in box]}")
        if shared == want and shared == box:
            return part
        if made is None:
            made = np.empty([e - b for b, e in want], part.dtype)
        made[tuple([slice(b - begin, e - begin) for (b, e), (begin, _) in zip(shared, want)])] = \
            part[tuple([slice(b - begin, e - begin) for (b, e), (begin, _) in zip(shared, box)])]
    assert made is not None
    return made


def rank_list_for_transform(rank_id: int, src_strategy_file: str | None = None,
                            dst_strategy_file: str | None = None) -> list[int]:
    """The ranks of the old layout whose checkpoints are needed to make that of a rank of the new one, the last one first.

    rank_id           : of the new layout
    src_strategy_file : the strategy file of the old layout; None: one rank has all
    dst_strategy_file : of the new one
    raises            : ValueRangeError for a file or rank that does not exist, FileFormatError
    """
    source, target = Ranks(src_strategy_file), Ranks(dst_strategy_file)
    stage, local = target.split(rank_id)
    found = set()
    for name, of in (source.layouts or {}).items():
        if target.layouts is not None and stage not in target.layouts.get(name, {}):
            continue
        strategies = [*of.values(), *target.strategies(name).values()]
        counts = [strategy.parts() for strategy in strategies if strategy.tensor_map]
        shape = tuple(math.lcm(*each) for each in zip(*counts))              # any whose axes go into all parts
        found |= {number for number, *_ in _pieces(name, shape, rank_id, source, target)}
        found |= {other * source.of_stage + local % source.of_stage for other in of}       # what no strategy tells of
    return sorted(found or {0}, reverse=True)


def transform_checkpoint_by_rank(rank_id: int, checkpoint_files_map: dict[int, str], save_checkpoint_file_name: str,
                                 src_strategy_file: str | None = None, dst_strategy_file: str | None = None) -> None:
    """Write the checkpoint of one rank of the new layout.

    checkpoint_files_map      : {rank of the old layout: its file}, those of `rank_list_for_transform` or more
    save_checkpoint_file_name : where to; it ends with .ckpt or .safetensors
    rank_id and the strategy files are those of `rank_list_for_transform`
    raises                    : ArgumentError, ValueRangeError, ShapeError, FileFormatError, OSError
    """
    if not isinstance(checkpoint_files_map, dict) or not isinstance(save_checkpoint_file_name, str):
        raise ArgumentError("transform_checkpoint_by_rank: takes {rank: file} and the name of a file")
    ending = save_checkpoint_file_name.rpartition(".")[2]
    if ending not in ("ckpt", "safetensors"):
        raise ValueRangeError(f"transform_checkpoint_by_rank: {save_checkpoint_file_name} ends neither with .ckpt nor with "
                              ".safetensors")
    source, target = Ranks(src_strategy_file), Ranks(dst_strategy_file)
    _write_rank(rank_id, source, target, _Files(checkpoint_files_map), save_checkpoint_file_name, ending)


def _write_rank(rank: int, source: Ranks, target: Ranks, files: "_Files", path: str, ending: str) -> None:
    made = {}
    for name, told in files.everything(source).items():
        if isinstance(told, str) or not source.strategies(name) and not target.strategies(name):
            made[name] = told
        elif target.wants(name, rank):
            made[name] = _assembled(name, rank, told.shape, source, target, files.read)
    save_checkpoint({name: value if isinstance(value, str) else Tensor(value) for name, value in made.items()
                     if not isinstance(value, str)}, path, format=ending,
                    append_dict={name: value for name, value in made.items() if isinstance(value, str)})


class _Files:
    """The checkpoints of the old ranks, each read once when it is wanted. paths: {rank: file}; key, mode: of encrypted ones"""

    def __init__(self, paths: dict[int, str], key: bytes | None = None, mode: str = "AES-GCM") -> None:
        self.paths, self.key, self.mode, self.known = paths, key, mode, dict[int, dict]()

    def read(self, rank: int) -> dict[str, Any]:
        """{name: ndarray or string} of a rank. raises : ValueRangeError where its file is not there"""
        if rank not in self.known:
            if rank not in self.paths:
                raise ValueRangeError(f"the checkpoint of rank {rank} is needed, and there is none",
                                      note=f"there are those of the ranks {sorted(self.paths)}")
            path = os.fspath(self.paths[rank])
            found = load_checkpoint(path, dec_key=self.key, dec_mode=self.mode, format=path.rpartition(".")[2])
            self.known[rank] = {name: value if isinstance(value, str) else value.asnumpy() for name, value in found.items()}
        return self.known[rank]

    def everything(self, source: Ranks) -> dict[str, Any]:
        """{name: a part of it} of all stages whose files are there."""
        found: dict[str, Any] = {}
        for stage in range(source.stages):
            there = [rank for rank in self.paths if rank // source.of_stage == stage]
            if there:
                found = {**self.read(min(there)), **found}
        return found


def transform_checkpoints(src_checkpoints_dir: str, dst_checkpoints_dir: str, ckpt_prefix: str,
                          src_strategy_file: str | None = None, dst_strategy_file: str | None = None, process_num: int = 1,
                          output_format: str = "ckpt") -> None:
    """Write the checkpoints of all ranks of a new layout.

    src_checkpoints_dir : has rank_0/*.ckpt (or .safetensors), rank_1/*.ckpt, ..; of several files the last by name
    dst_checkpoints_dir : gets rank_0/<ckpt_prefix>0.ckpt, ..
    process_num         : MindSpore's; one process reads each file once
    output_format       : "ckpt" or "safetensors"
    raises              : NotADirectoryError, ValueRangeError, ShapeError, FileFormatError, OSError
    """
    if output_format not in ("ckpt", "safetensors"):
        raise ValueRangeError(f"transform_checkpoints: there is no output_format {output_format!r}", hint="ckpt or safetensors")
    source, target = Ranks(src_strategy_file), Ranks(dst_strategy_file)
    files = _Files(_files_of(src_checkpoints_dir, "transform_checkpoints"))
    for rank in range(target.count):
        path = os.path.join(dst_checkpoints_dir, f"rank_{rank}", f"{ckpt_prefix}{rank}.{output_format}")
        _write_rank(rank, source, target, files, path, output_format)


def _files_of(folder: str, what: str, suffix: str = "") -> dict[int, str]:
    """{rank: file} of a folder with rank_0, rank_1, .."""
    if not os.path.isdir(folder):
        raise NotAFolderError(f"{what}: {folder} is no folder")
    found, endings = {}, set()
    for name in os.listdir(folder):
        match = re.fullmatch(r"rank_(\d+)", name)
        inside = os.path.join(folder, name)
        if match and os.path.isdir(inside):
            files = sorted(file for file in os.listdir(inside) if file.endswith((f"{suffix}.ckpt", f"{suffix}.safetensors")))
            if files:
                found[int(match.group(1))] = os.path.join(inside, files[-1])
                endings.add(files[-1].rpartition(".")[2])
    if not found or len(endings) > 1:
        raise ValueRangeError(f"{what}: {folder} has " + ("both .ckpt and .safetensors files" if found else
                              f"no rank_0/*{suffix}.ckpt or .safetensors"))
    return found


def merge_pipeline_strategys(src_strategy_dirs: str, dst_strategy_file: str) -> None:
    """Write one strategy file of those of all stages of a pipeline.

    src_strategy_dirs : a folder with their files, all .ckpt or all .json; ranks of one stage may each have one
    raises            : NotADirectoryError, ValueRangeError, FileFormatError
    """
    if not os.path.isdir(src_strategy_dirs):
        raise NotAFolderError(f"merge_pipeline_strategys: {src_strategy_dirs} is no folder")
    names = sorted(name for name in os.listdir(src_strategy_dirs) if name.endswith((".ckpt", ".json")))
    if len({name.rpartition(".")[2] for name in names}) != 1:
        raise ValueRangeError(f"merge_pipeline_strategys: the files of {src_strategy_dirs} are all .ckpt or all .json",
                              note=", ".join(names))
    found: Layouts = {}
    for name in names:
        for param, of_stage in read_strategy(os.path.join(src_strategy_dirs, name)).items():
            for stage, strategy in of_stage.items():
                if found.setdefault(param, {}).setdefault(stage, strategy) != strategy:
                    raise ValueRangeError(f"merge_pipeline_strategys: two files of stage {stage} tell of {param} differently")
    write_strategy(dst_strategy_file, found, merged=True)


def build_searched_strategy(strategy_filename: str) -> dict[str, Strategy]:
    """{name: how the Parameter lies} of a strategy file; of one that is in several stages, in the first.

    raises : ValueRangeError where there is no such file, FileFormatError
    """
    return {name: of_stage[min(of_stage)] for name, of_stage in read_strategy(strategy_filename).items()}


def merge_sliced_parameter(sliced_parameters: list[Parameter], strategy: dict[str, Any] | None = None) -> Parameter:
    """The Parameter of which these are the parts of the ranks 0, 1, ..

    strategy : {name: Strategy, or a list [mesh, tensor map, ..]}, see `build_searched_strategy`; None: joined along axis 0
    raises   : ArgumentError for what are no Parameters; ValueRangeError for another number; ShapeError; KeyError for another name
    """
    if not isinstance(sliced_parameters, list) or not sliced_parameters or not all(
            isinstance(part, Parameter) for part in sliced_parameters):
        raise ArgumentError("merge_sliced_parameter: takes a list of Parameters")
    first, arrays = sliced_parameters[0], [part.asnumpy() for part in sliced_parameters]
    if any(part.name != first.name or part.shape[1:] != first.shape[1:] for part in sliced_parameters):
        raise ShapeError(f"merge_sliced_parameter: the parts of {first.name} differ in name, or not along axis 0 alone",
                         note=", ".join(f"{part.name} {list(part.shape)}" for part in sliced_parameters))
    if not strategy:
        made = np.concatenate(arrays)
    else:
        told = strategy[first.name]
        told = told if isinstance(told, Strategy) else Strategy(tuple(told[0]), tuple(
            [tuple(k for k in (entry if isinstance(entry, (list, tuple)) else (entry,)) if k != -1) for entry in told[1]]))
        if told.ranks != len(arrays):
            raise ValueRangeError(f"merge_sliced_parameter: the strategy is of {told.ranks} ranks, and there are "
                                  f"{len(arrays)} parts")
        made = _assembled(first.name, 0, arrays[0].shape, Ranks({first.name: {0: told}}), Ranks(None),
                          lambda rank: {first.name: arrays[rank]})
    return Parameter(Tensor(made), first.name, first.requires_grad, first.layerwise_parallel)


def load_distributed_checkpoint(network: Any, checkpoint_filenames: list[str] | None = None, predict_strategy: Any = None,
                                train_strategy_filename: str | None = None, strict_load: bool = False,
                                dec_key: bytes | None = None, dec_mode: str = "AES-GCM", format: str = "ckpt",
                                unified_safetensors_dir: str | None = None, dst_safetensors_dir: str | None = None,
                                rank_id: int | None = None, output_format: str = "safetensors",
                                name_map: dict[str, str] | None = None, max_process_num: int = 64,
                                return_param_dict: bool = False) -> Any:
    """Give a network what checkpoints of many ranks say of it: from files of ranks, or from those of `unified_safetensors`.

    network                 : a Cell, whose sharded Parameters get this rank's part; None: files are written (see below)
    checkpoint_filenames    : format "ckpt": the files of the ranks 0, 1, ..
    train_strategy_filename : their strategy file
    predict_strategy        : how this program's ranks have the Parameters: a strategy file, {name: Strategy}; None: as they lie
    dec_key, dec_mode       : of encrypted files            strict_load: see load_param_into_net
    unified_safetensors_dir : format "safetensors": the folder that unified_safetensors wrote
    dst_safetensors_dir     : where files are written for rank `rank_id`, or for all ranks: rank_0/net.safetensors, ..
    name_map                : {name of the network: name in the files}
    return_param_dict       : give {name: Parameter} and load nothing        max_process_num: MindSpore's
    out                     : True; with a network and format "safetensors" what load_param_into_net gives
    raises                  : ArgumentError, ValueRangeError, ShapeError, FileFormatError, OSError
    """
    if format not in ("ckpt", "safetensors") or output_format not in ("ckpt", "safetensors"):
        raise ValueRangeError("load_distributed_checkpoint: a format is ckpt or safetensors, not "
                              f"{format!r} and {output_format!r}")
    target = Ranks(predict_strategy if not isinstance(predict_strategy, dict) else {
        name: told if isinstance(told, dict) else {0: told} for name, told in predict_strategy.items()})
    if format == "ckpt":
        if not checkpoint_filenames or train_strategy_filename is None or not hasattr(network, "parameters_and_names"):
            raise ArgumentError("load_distributed_checkpoint: takes a Cell, checkpoint_filenames and train_strategy_filename")
        source = Ranks(train_strategy_filename)
        if len(checkpoint_filenames) != source.count:
            raise ValueRangeError(f"load_distributed_checkpoint: {len(checkpoint_filenames)} files, and the strategy is of "
                                  f"{source.count} ranks")
        files = _Files(dict(enumerate(checkpoint_filenames)), dec_key, dec_mode)
        _load(network, _parts(network, target, source, files.everything(source), files.read, {}), target, strict_load)
        return True
    if unified_safetensors_dir is None or checkpoint_filenames is not None or train_strategy_filename is not None:
        raise ArgumentError("load_distributed_checkpoint: format 'safetensors' takes unified_safetensors_dir, and no "
                            "checkpoint_filenames or train_strategy_filename")
    whole = _unified(unified_safetensors_dir)
    if network is not None:
        parts = _parts(network, target, Ranks(None), whole, lambda rank: whole, name_map or {})
        return {name: Parameter(Tensor(value), name=name) for name, value in parts.items()} if return_param_dict else \
            _load(network, parts, target, strict_load)
    if dst_safetensors_dir is None:
        raise ArgumentError("load_distributed_checkpoint: without a network dst_safetensors_dir says where to write")
    for rank in range(target.count) if rank_id is None else [rank_id]:
        made = {name: Tensor(_assembled(name, rank, array.shape, Ranks(None), target, lambda rank: whole))
                for name, array in whole.items() if target.wants(name, rank)}
        save_checkpoint(made, os.path.join(dst_safetensors_dir, f"rank_{rank}", f"net.{output_format}"), format=output_format)
    return True


def _parts(network: Any, target: Ranks, source: Ranks, known: dict, read: Callable[[int], dict], names: dict[str, str]) -> dict:
    """{name: what this rank has of a Parameter of the network}; the whole where no strategy is given."""
    rank, found = engine().rank if target.layouts is not None else 0, {}
    for name, _ in tensors_of(network):
        there = names.get(name, name)
        if there in known and not isinstance(known[there], str) and target.wants(name, rank):
            told = target.strategies(name) if target.layouts is not None else {}
            found[name] = _assembled(there, rank if told else 0, known[there].shape, source,
                                     Ranks({there: told} if told else None), read)
    return found


def _load(network: Any, parts: dict[str, np.ndarray], target: Ranks, strict: bool) -> Any:
    """Load this rank's parts, or whole arrays, into a network whose Parameters may be sharded."""
    given = {}
    for name, param in tensors_of(network):
        if name not in parts:
            continue
        value: Any = parts[name]
        if param.placement is not None and target.layouts is not None and target.strategies(name):
            if value.shape != tuple(param.to_local().shape):
                raise ShapeError(f"{name}: rank {engine().rank} has a part {list(param.to_local().shape)} by its placement "
                                 f"{param.placement}, and {list(value.shape)} by the strategy")
            value = ShardedArray(value, tuple(param.shape), param.placement)
        given[name] = Parameter(Tensor.of_elements(value), name=name)
    return load_param_into_net(network, given, strict)


def unified_safetensors(src_dir: str, src_strategy_file: str, dst_dir: str, merge_with_redundancy: bool = True,
                        file_suffix: str | None = None, max_process_num: int = 64,
                        choice_func: Callable[[str], bool | str] | None = None, split_dst_file: tuple = ()) -> None:
    """Write the whole Parameters of the checkpoints of many ranks: part0.safetensors, .., and param_name_map.json.

    src_dir, src_strategy_file : rank_0/*.safetensors, .., and their layout
    merge_with_redundancy      : False: of ranks that have the same part one alone has written it
    file_suffix                : how the files' names end before .safetensors
    choice_func                : a function of a name: False leaves it out, a string is its new name
    split_dst_file             : (k, n): write the k-th of n shares of the files, counted from 1
    max_process_num            : MindSpore's
    What the strategy does not tell of is written to hyper_param.safetensors.
    raises                     : NotADirectoryError, ValueRangeError, ShapeError, FileFormatError, OSError
    """
    source, target = Ranks(src_strategy_file), Ranks(None)
    files = _Files(_files_of(src_dir, "unified_safetensors", file_suffix or ""))
    names: dict[str, str] = {}
    everywhere: dict[str, list[int]] = {}
    for rank in sorted(files.paths):
        for name in files.read(rank):
            everywhere.setdefault(name, []).append(rank)
    for name in everywhere:
        chosen = True if choice_func is None else choice_func(name)
        if source.strategies(name) and not name.startswith("accu_grads") and chosen is not False:
            names[name] = chosen if isinstance(chosen, str) else name

    def read(name: str) -> Callable[[int], dict]:
        def of_rank(rank: int) -> dict:
            if merge_with_redundancy or rank in everywhere[name]:
                return files.read(rank)
            return files.read(_twin(source.strategies(name), source.of_stage, rank, everywhere[name], name))
        return of_rank
    packs: list[dict[str, np.ndarray]] = [{}]
    for name, saved in sorted(names.items()):
        local = files.read(everywhere[name][0])[name].shape
        packs[-1][saved] = _assembled(name, 0, local, source, target, read(name))
        if sum(array.nbytes for array in packs[-1].values()) >= PART:
            packs.append({})
    packs = [pack for pack in packs if pack]
    share, of = split_dst_file or (1, 1)
    for number, pack in enumerate(packs):
        if number % of == share - 1:
            with replacing(os.path.join(dst_dir, f"part{number}.safetensors")) as stream:
                write_safetensors(stream, pack)
    if share == 1:
        rest = {name: value for name, value in files.read(min(files.paths)).items() if not source.strategies(name)}
        if rest:
            with replacing(os.path.join(dst_dir, HYPER)) as stream:
                write_safetensors(stream, rest)
        with replacing(os.path.join(dst_dir, NAMES)) as stream:
            where = {name: f"part{number}.safetensors" for number, pack in enumerate(packs) for name in pack}
            size = sum(array.nbytes for pack in packs for array in pack.values())
            stream.write(json.dumps({"metadata": {"total_size": size}, "weight_map": where}, indent=4).encode())


def _twin(strategies: dict[int, Strategy], of_stage: int, rank: int, there: list[int], name: str) -> int:
    """A rank whose file has the part of a Parameter that `rank` has. raises : ValueRangeError where none has"""
    stage, local = divmod(rank, of_stage)
    for other in there:
        if other // of_stage == stage and strategies[stage].place(other % of_stage) == strategies[stage].place(local):
            return other
    raise ValueRangeError(f"no file has the part of {name} that rank {rank} has", note=f"those of the ranks {there} have it")


def _unified(folder: str) -> dict[str, np.ndarray]:
    """{name: ndarray} of what unified_safetensors wrote, or of a folder with one .safetensors file."""
    files = sorted(name for name in os.listdir(folder) if name.endswith(".safetensors")) if os.path.isdir(folder) else []
    if not files:
        raise ValueRangeError(f"load_distributed_checkpoint: {folder} has no .safetensors file")
    found: dict[str, np.ndarray] = {}
    for name in files:
        path = os.path.join(folder, name)
        with open(path, "rb") as stream:
            found.update(read_safetensors(stream.read(), path))
    return found


def load_segmented_checkpoints(ckpt_file_dir: str, net: Any = None, strict_load: bool = False, filter_prefix: Any = None,
                               dec_key: bytes | None = None, dec_mode: str = "AES-GCM", specify_prefix: Any = None,
                               choice_func: Callable[[str], bool] | None = None) -> dict[str, Any]:
    """{name: Parameter, or string} of all .ckpt files of a folder, together; the arguments are those of `load_checkpoint`.

    raises : NotADirectoryError, ValueRangeError for a folder without them, and what load_checkpoint raises
    """
    if not os.path.isdir(ckpt_file_dir):
        raise NotAFolderError(f"load_segmented_checkpoints: {ckpt_file_dir} is no folder")
    names = sorted(name for name in os.listdir(ckpt_file_dir) if name.endswith(".ckpt"))
    if not names:
        raise ValueRangeError(f"load_segmented_checkpoints: {ckpt_file_dir} has no .ckpt file")
    found: dict[str, Any] = {}
    for name in names:
        found.update(load_checkpoint(os.path.join(ckpt_file_dir, name), None, False, filter_prefix, dec_key, dec_mode,
                                     specify_prefix, choice_func))
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def restore_group_info_list(group_info_file_name: str) -> list[int]:
    """The ranks whose checkpoints have the same Parameters as this one's, of a group file (protobuf).

    raises : ValueRangeError where there is no such file, or it has no such list; FileFormatError
    """
    def fail(what: str) -> NoReturn:
        raise FileFormatError(f"{group_info_file_name} is damaged, or no group file: {what}")
    if not os.path.isfile(group_info_file_name):
        raise ValueRangeError(f"there is no group file {group_info_file_name}")
    with open(group_info_file_name, "rb") as stream:
        data = stream.read()
    found = [rank for kind, value in message_fields(data, fail) if kind == 2
             for _, rank in message_fields(value, fail)]
    if not found:
        raise ValueRangeError(f"restore_group_info_list: {group_info_file_name} has no list of ranks")
    return found


def parameter_broadcast(net: Any, layout: dict[str, Any], cur_rank: int = 0, initial_rank: int = 0) -> None:
    """Give all ranks that have the same part of a Parameter what the first of them has: a collective.

    net          : a Cell
    layout       : {name: Strategy}, as `build_searched_strategy` gives it; a name that it lacks is left as it is
    cur_rank     : this rank            initial_rank: the first rank of this stage
    raises       : ValueRangeError for another rank, a layout of more ranks than there are, or a name that the net does not have
    """
    rank, params = engine().rank, dict(tensors_of(net))
    if cur_rank != rank:
        raise ValueRangeError(f"parameter_broadcast: this is rank {rank}, not {cur_rank}")
    for name, told in layout.items():
        if name not in params:
            raise ValueRangeError(f"parameter_broadcast: the network has no Parameter {name!r}")
        if not initial_rank <= rank < initial_rank + told.ranks <= engine().size:
            raise ValueRangeError(f"parameter_broadcast: rank {rank} is not one of {told.ranks} from {initial_rank} on")
        same = tuple([initial_rank + k for k in range(told.ranks) if told.place(k) == told.place(rank - initial_rank)])
        if len(same) > 1:
            here = params[name].to_local()
            params[name].to_local().overwrite(engine().broadcast(here.asnumpy(), 0, same))
