"""Strategy files: which part of each Parameter a rank has, as MindSpore writes it.

    {"w": Strategy((2, 2), ((1,), ()), ..)}       a mesh of 2 x 2 ranks; axis 0 of w is split by the outer axis of the mesh

    device_matrix   the sizes of the mesh, the outer axis first; ranks in row-major order
    tensor_map      for each axis of the tensor the axes of the mesh that split it, counted from the inner one; none: whole
    opt_size        ranks that have the same part split it once more along axis 0 (-1: all of them), neighbours first

The file is a protobuf message (`.ckpt`), or JSON of the same fields (`.json`). Of a pipeline each stage has a file; merged into
one, names have the number of their stage in front: "1-w".

Source: mindspore/ccsrc/utils/node_strategy.proto, which `FIELDS` follows.
"""
from __future__ import annotations

import json
import math
import os
from typing import Any, NamedTuple, NoReturn

from ..common.errors import FileFormatError, ShapeError, ValueRangeError
from ..common.files import replacing
from ..common.protobuf import field, message_fields, signed, varints
from ..common.sbp import Broadcast, Partial, Split
from .layout import Mesh, Placement

FIELDS = {"dev_matrix": 1, "tensor_map": 2, "param_split_shape": 3, "indices_offset": 4, "field": 5, "opt_weight_shard_step": 6,
          "opt_weight_shard_size": 7}
OPERATOR = "Parameters"                          # the operator that stands in files of ours: MindSpore wants one, with the stage


class Strategy(NamedTuple):
    """How one Parameter lies on the ranks of its stage; the module says what the fields are."""
    device_matrix: tuple[int, ...]
    tensor_map: tuple[tuple[int, ...], ...]
    local_shape: tuple[int, ...] = ()            # of a rank's part, () where the file does not tell
    opt_step: int = 0                            # the ranks between two that split a part once more
    opt_size: int = 0

    @property
    def ranks(self) -> int:
        """How many ranks the stage has."""
        return math.prod(self.device_matrix)

    def parts(self) -> tuple[int, ...]:
        """Into how many parts each axis is split."""
        found = [math.prod(self.device_matrix[-1 - k] for k in axes) for axes in self.tensor_map]
        if self._copies() > 1 and found:
            found[0] *= self._copies()
        return tuple(found)

    def place(self, rank: int) -> tuple[int, ...]:
        """Which part of each axis a rank of the stage has."""
        at, rest = [], rank
        for size in reversed(self.device_matrix):            # at[k]: along the axis k of the mesh, counted from the inner one
            rest, here = divmod(rest, size)
            at.append(here)
        found = []
        for axes in self.tensor_map:
            number = 0
            for k in axes:
                number = number * self.device_matrix[-1 - k] + at[k]
            found.append(number)
        if self._copies() > 1 and found:
            number = 0
            for k in reversed(self._free()):
                number = number * self.device_matrix[-1 - k] + at[k]
            found[0] = found[0] * self._copies() + number % self._copies()
        return tuple(found)

    def _free(self) -> list[int]:
        used = {k for axes in self.tensor_map for k in axes}
        return [k for k, size in enumerate(reversed(self.device_matrix)) if k not in used and size > 1]

    def _copies(self) -> int:
        """Into how many parts ranks that have the same one split it once more."""
        if not self.opt_size or not self.opt_step:
            return 1
        free = math.prod(self.device_matrix[-1 - k] for k in self._free())
        size = free if self.opt_size == -1 else self.opt_size
        if size < 1 or free % size:
            raise ValueRangeError(f"{free} ranks that have the same part do not split it into {size}", note=str(self))
        return size

    def whole(self, local: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the tensor of which each rank has a part of this shape. raises : ShapeError for another number of axes"""
        if not self.tensor_map and not any(size > 1 for size in self.parts()):
            return tuple(local)
        if len(local) != len(self.tensor_map):
            raise ShapeError(f"a part has the shape {list(local)}, and the strategy tells of {len(self.tensor_map)} axes")
        return tuple(size * count for size, count in zip(local, self.parts()))

    def bounds(self, shape: tuple[int, ...], rank: int) -> tuple[tuple[int, int], ...]:
        """(begin, end) of a rank's part along each axis of a tensor of this shape. raises : ShapeError where it does not go"""
        if not self.tensor_map:
            return tuple((0, size) for size in shape)
        found = []
        for size, count, number in zip(shape, self.parts(), self.place(rank), strict=True):
            if size % count:
                raise ShapeError(f"an axis of {size} elements does not go into {count} equal parts", note=f"shape {list(shape)}")
            found.append((size // count * number, size // count * (number + 1)))
        return tuple(found)


WHOLE = Strategy((1,), ())                       # one rank has all
Layouts = dict[str, dict[int, Strategy]]         # {name: {stage: Strategy}}


def strategy_of(placement: Placement | None, shape: tuple[int, ...], ranks: int) -> Strategy:
    """The Strategy of a Placement, whose mesh has all ranks in order; None: every rank has all.

    raises : ValueRangeError for addends and for other ranks
    """
    mesh = Mesh((ranks,), ("ranks",), tuple(range(ranks))) if placement is None else placement.mesh
    if mesh.ranks != tuple(range(ranks)):
        raise ValueRangeError(f"a strategy file tells of the ranks 0 to {ranks - 1} in order, and the mesh {mesh} has "
                              f"{list(mesh.ranks)}")
    axes: list[list[int]] = [[] for _ in shape]
    for k, sbp in enumerate(() if placement is None else placement.sbps):
        if isinstance(sbp, Split):
            axes[sbp.axis].append(len(mesh.shape) - 1 - k)
        elif isinstance(sbp, Partial):
            raise ValueRangeError(f"a tensor that lies {placement} has no strategy: its addends are no parts")
    made = Strategy(mesh.shape, tuple(map(tuple, axes)))
    even = all(size % count == 0 for size, count in zip(shape, made.parts()))
    return made._replace(local_shape=tuple(size // count for size, count in zip(shape, made.parts())) if even else ())


def placement_of(strategy: Strategy, mesh: Mesh) -> Placement:
    """The Placement of a Strategy on a mesh of the same sizes.

    raises : ValueRangeError for another mesh, and for what is split once more
    """
    if strategy.device_matrix != mesh.shape:
        raise ValueRangeError(f"the strategy is for a mesh {list(strategy.device_matrix)}, and this one is {mesh}")
    if strategy.opt_size and strategy.opt_step:
        raise ValueRangeError("the strategy splits what an optimiser has once more", hint="hsdp(), or transform_checkpoints")
    sbps: list = [Broadcast()] * len(mesh.shape)
    for axis, inner in enumerate(strategy.tensor_map):
        for k in inner:
            sbps[len(mesh.shape) - 1 - k] = Split(axis)
    return Placement(mesh, tuple(sbps))


# ---------------------------------------------------------------- files

def write_strategy(path: str, strategies: Layouts, stage: int = 0, merged: bool = False) -> None:
    """Write a strategy file: JSON if its name ends so, else protobuf.

    strategies : {name: {stage: Strategy}}      stage: the one that the file is of
    merged     : it is of all stages, whose numbers stand before the names
    """
    items = [(f"{number}-{name}" if merged else name, strategy) for name, of_stage in strategies.items()
             for number, strategy in sorted(of_stage.items())]
    with replacing(path) as stream:
        if path.endswith(".json"):
            told = {"current_stage": stage + merged, "parallel_strategy_item": {
                OPERATOR: {"stage": stage, "parallel_strategy": []}}, "parallel_layout_item": {
                name: _as_json(strategy) for name, strategy in items}}
            stream.write(json.dumps(told).encode())
            return
        stream.write(field(1, stage + merged) + field(2, field(1, OPERATOR.encode()) + field(2, field(1, stage))))
        for name, strategy in items:
            stream.write(field(3, field(1, name.encode()) + field(2, _as_message(strategy))))


def _as_json(strategy: Strategy) -> dict[str, Any]:
    nested = any(len(axes) > 1 for axes in strategy.tensor_map)
    return {"dev_matrix": list(strategy.device_matrix),
            "tensor_map": [list(axes) or [-1] if nested else axes[0] if axes else -1 for axes in strategy.tensor_map],
            "param_split_shape": list(strategy.local_shape), "indices_offset": [], "field": 0,
            "opt_weight_shard_step": strategy.opt_step, "opt_weight_shard_size": strategy.opt_size}


def _as_message(strategy: Strategy) -> bytes:
    told, made = _as_json(strategy), b""
    if told["tensor_map"] and isinstance(told["tensor_map"][0], list):
        maps = told["tensor_map"]                            # a message for each axis
    else:
        maps = [told["tensor_map"]]
    for name, number in FIELDS.items():
        if name in ("dev_matrix", "tensor_map", "param_split_shape", "indices_offset"):
            for row in maps if name == "tensor_map" else [told[name]]:
                made += field(number, b"".join(field(1, value) for value in row))
        else:
            made += field(number, told[name])
    return made


def read_strategy(path: str) -> Layouts:
    """{name: {stage: Strategy}} of a strategy file.

    raises : ValueRangeError where there is no such file; FileFormatError for a damaged one
    """
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        raise ValueRangeError(f"there is no strategy file {path}")
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        items = _of_json(data) if os.fspath(path).endswith(".json") else _of_messages(data, path)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{path} is damaged, or no strategy file: {error}") from error
    found: Layouts = {}
    for name, stage, told in items:
        number, dash, rest = name.partition("-")
        if dash and number.isdigit():
            name, stage = rest, int(number)
        found.setdefault(name, {})[stage] = _checked(path, name, told)
    if not found:
        raise FileFormatError(f"{path} tells of no Parameter")
    return found


def _checked(path: str, name: str, told: dict) -> Strategy:
    """The Strategy of the fields of a file. raises : FileFormatError for what is none"""
    mesh, local, maps = [tuple(told.get(key, ())) for key in ("dev_matrix", "param_split_shape", "tensor_map")]
    axes = tuple([tuple(k for k in (entry if isinstance(entry, (list, tuple)) else (entry,)) if k != -1) for entry in maps])
    used = [k for entry in axes for k in entry]
    step, size = told.get("opt_weight_shard_step", 0), told.get("opt_weight_shard_size", 0)
    if not mesh or not all(type(n) is int and n > 0 for n in mesh) or len(set(used)) != len(used) or not all(
            type(k) is int and 0 <= k < len(mesh) for k in used) or type(step) is not int or type(size) is not int:
        raise FileFormatError(f"{path}: what it says of {name[:60]!r} is no strategy", note=repr(told)[:200])
    return Strategy(mesh, axes, local, step, size)


def _of_json(data: bytes) -> list:
    told = json.loads(data)
    stages = [entry["stage"] for entry in told.get("parallel_strategy_item", {}).values()]
    return [(name, stages[0] if stages else 0, dict(entry)) for name, entry in told.get("parallel_layout_item", {}).items()]


def _of_messages(data: bytes, path: str) -> list:
    def fail(what: str) -> NoReturn:
        raise FileFormatError(f"{path} is damaged, or no strategy file: {what}")

    def numbers(message: Any) -> list:
        found: list = []
        for _, value in message_fields(message, fail):
            found += [value] if isinstance(value, int) else varints(value, fail)
        return [signed(value) for value in found]
    stage, items = 0, []
    for kind, value in message_fields(data, fail):
        if kind == 2:
            inside = dict(message_fields(value, fail))
            stage = next((v for k, v in message_fields(inside.get(2), fail) if k == 1), 0)
        elif kind == 3:
            inside = dict(message_fields(value, fail))
            told: dict[str, Any] = {}
            maps = []
            for number, part in message_fields(inside.get(2), fail):
                name = next((name for name, known in FIELDS.items() if known == number), "")
                if name == "tensor_map":
                    maps.append(numbers(part))
                elif name:
                    told[name] = signed(part) if isinstance(part, int) else numbers(part)
            one_axis = len(told.get("param_split_shape", ())) == 1           # which several axes of the mesh may split
            told["tensor_map"] = maps[0] if len(maps) == 1 and not one_axis else [axes for axes in maps if axes]
            items.append((bytes(inside[1]).decode(), told))
    return [(name, stage, told) for name, told in items]
