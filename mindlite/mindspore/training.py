"""What programs and tests take from inside MindSpore's train, where mindlite has the same thing or can say so honestly."""
from __future__ import annotations

import contextlib
import enum
import os
from typing import Any, Iterator

import numpy as np

from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from ..common.log import logger
from ..common.tensor import Parameter, Tensor
from ..communication import get_group_size, get_rank
from ..functional.cell import compiled_cell
from ..functional.words import mixed_precision_cast
from ..nn.cell import Cell
from ..ops import summary
from ..train import load_param_into_net
from ..train.saving import free_prefix, save_graph  # noqa: F401
from ..train.serialization import FileSystem, load_checkpoint
from ..train.summary import PARTS, bins_for

_DEFAULT_EXPORT_OPTIONS, _calc_histogram_bins = PARTS, bins_for
GENERATED = "Parameter#"


class TrainFaultTolerance:
    """MindSpore's callback for clusters of Ascend devices that MindIO TTP watches: none can be made here.

    raises : ValueRangeError, as MindSpore does where the variable MS_ENABLE_TFT is not set
    """

    def __init__(self, ckpt_save_path: str | None = None, **kwargs: Any) -> None:
        raise ValueRangeError("TrainFaultTolerance: it repairs clusters of Ascend devices, and there are none",
                              hint="train.SaveState and load_state go on after a crash; OnRequestExit ends at a signal")


# ---------------------------------------------------------------- checkpoints

class CheckpointManager:
    """The checkpoints of one prefix in a folder. format : how their names end"""

    def __init__(self, format: str = "ckpt") -> None:
        self.format = format
        self.ckpoint_filelist: list[str] = []

    @property
    def ckpoint_num(self) -> int:
        """How many there are."""
        return len(self.ckpoint_filelist)

    def update_ckpoint_filelist(self, directory: str, prefix: str) -> None:
        """Look for <prefix>-.. in the folder; a name with letters behind the prefix is another one's."""
        ending = f".{self.format}"
        self.ckpoint_filelist = [
            os.path.join(directory, name) for name in os.listdir(directory)
            if name.startswith(f"{prefix}-") and name.endswith(ending)
            and not any(letter.isalpha() for letter in name[len(prefix):-len(ending)])]

    def remove_ckpoint_file(self, file_name: str) -> None:
        """Remove a file; one that cannot be removed is logged."""
        try:
            os.remove(file_name)
            self.ckpoint_filelist.remove(file_name)
        except (OSError, ValueError) as error:
            logger.warning("the checkpoint %s is not removed: %s", file_name, error)

    def remove_oldest_ckpoint_file(self) -> None:
        """Remove the file that was written first."""
        self.remove_ckpoint_file(min(self.ckpoint_filelist, key=os.path.getmtime))

    def keep_one_ckpoint_per_minutes(self, minutes: float, cur_time: float) -> None:
        """Of the files of the last so many minutes before `cur_time` keep the oldest."""
        times = {path: os.path.getmtime(path) for path in self.ckpoint_filelist}
        late = sorted((path for path, when in times.items() if cur_time - when < 60 * minutes), key=lambda path: times[path])
        for path in late[1:]:
            self.remove_ckpoint_file(path)


def _chg_ckpt_file_name_if_same_exist(directory: Any, prefix: Any, exception: bool = False) -> Any:
    """The prefix, with the next free number where the folder has files of it; a function stays."""
    if callable(prefix) or callable(directory):
        return prefix
    return free_prefix(directory, prefix, "_breakpoint.ckpt" if exception else ".ckpt")


_current: list[Any] = [None]                 # the network that the next `_checkpoint_cb_for_save_op` fills


def set_cur_net(net: Any) -> None:
    """Say which network `checkpoint_cb_for_save_op` fills, once."""
    _current[0] = net


def checkpoint_cb_for_save_op(parameter_list: list[dict[str, Any]]) -> bool:
    """Load [{"name": .., "data": Tensor}] into the network of `set_cur_net`; False where there is none."""
    net, _current[0] = _current[0], None
    if net is None:
        return False
    load_param_into_net(net, {found["name"]: Parameter(found["data"], name=found["name"]) for found in parameter_list},
                        strict_load=True)
    parameter_list.clear()
    return True


def _is_parameter_generated(param_name: Any) -> bool:
    """Whether a Parameter was named by its number, as one in a list is that was given no name."""
    return isinstance(param_name, str) and param_name.startswith(GENERATED)


def _fast_load_file(filename: str) -> dict[str, np.ndarray]:
    """{name: array} of a .safetensors file."""
    return {name: value.asnumpy() for name, value in load_checkpoint(filename, format="safetensors").items()}


def _register_basic_file_system(fs: FileSystem) -> bool:
    """Let files be opened by Python's `open`. True"""
    fs.__init__()                                                                     # type: ignore[misc]
    return True


def _register_mindio_file_system(fs: FileSystem) -> bool:
    """False: MindIO, a file system for Ascend clusters, is not used here."""
    return False


@contextlib.contextmanager
def no_init_parameters() -> Iterator[None]:
    """MindSpore's, to spare the memory of values that a checkpoint replaces: Parameters have their values all the same here."""
    yield


# ---------------------------------------------------------------- batches and layouts

def _construct_tensor_list(types: Any, shapes: Any, batch_expand_num: int = 1) -> list[Tensor]:
    """Tensors of zeros, one for each dtype and shape, their first axis that many times as long. raises : ValueRangeError"""
    if len(types) != len(shapes):
        raise ValueRangeError(f"there are {len(types)} dtypes and {len(shapes)} shapes: {types}, {shapes}")
    return [Tensor(np.zeros([shape[0] * batch_expand_num, *shape[1:]] if len(shape) else [], dt.dtype(kind).numpy))
            for kind, shape in zip(types, shapes)]


def get_parameter_redundancy(layout_obj: Any, initial_rank: int | None = None) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Which ranks hold the same part of each Parameter: {name: ((ranks of the first part), (of the second), ..)}.

    layout_obj   : {name: (device matrix, tensor map, shape of a part, .., group of the optimiser's shards or "")}, where the
                   tensor map says of each axis which axis of the device matrix, counted from the right, cuts it, or -1; or a
                   Cell, of which every rank holds all
    initial_rank : the first rank of the matrix; None: of the one in which this rank is
    raises       : ArgumentError for other forms
    """
    if isinstance(layout_obj, Cell):
        everyone = (tuple(range(get_group_size())),)
        return {name: everyone for name in sorted(parameter.name for parameter in layout_obj.get_parameters())}
    if not isinstance(layout_obj, dict):
        raise ArgumentError(f"get_parameter_redundancy: takes a dict of layouts or a Cell, not {type(layout_obj).__name__}",
                            hint="of a strategy file: transform_checkpoints")
    found = {}
    for name in sorted(layout_obj):
        matrix, tensor_map, *more = layout_obj[name]
        count = int(np.prod(matrix))
        first = get_rank() // count * count if initial_rank is None else initial_rank
        ranks = np.arange(first, first + count).reshape(matrix)
        cut = [len(matrix) - 1 - axis for axis in sorted({axis for axis in tensor_map if axis >= 0}, reverse=False)]
        left = [axis for axis in range(len(matrix)) if axis not in cut]
        parts = ranks.transpose(*cut, *left).reshape(-1, int(np.prod([matrix[axis] for axis in left], dtype=int)))
        groups = [tuple(part.tolist()) for part in parts]
        if len(more) > 3 and more[3]:
            shards = get_group_size(more[3]) if get_group_size() > 1 else 1
            groups = [group[number::shards] for group in groups if len(group) % shards == 0 for number in range(shards)]
        found[name] = tuple(groups)
    return found


def remove_param_redundancy(param_redundancy_dict: dict, keep_redundancy: int = 1) -> dict[int, set[str]]:
    """{rank: the Parameters that it writes}, so that each part is written by one rank, or by keep_redundancy of them.

    What the same groups of ranks hold is dealt out in turn within each group.
    """
    by_group: dict[tuple[int, ...], list[str]] = {}
    for name, groups in param_redundancy_dict.items():
        for group in groups:
            by_group.setdefault(tuple(group), []).append(name)
    found: dict[int, set[str]] = {}
    for turn in range(keep_redundancy):
        for group, names in by_group.items():
            for number, name in enumerate(names):
                found.setdefault(group[(number + turn) % len(group)], set()).add(name)
    return found


def _get_dp_tp_from_layout(parameter_layout_dict: dict, initial_rank: int | None = None) -> tuple[list, list]:
    """(groups of ranks with the same data cut, groups with the same model cut) of the Parameter in most parts."""
    parts = max(get_parameter_redundancy(parameter_layout_dict, initial_rank).values(), key=len, default=())
    return [list(group) for group in parts], [list(group) for group in zip(*parts)]


# ---------------------------------------------------------------- summaries

class PluginEnum(enum.Enum):
    """MindSpore's kinds of summaries. SummaryRecord takes graph, scalar, image, tensor, histogram, and text."""
    GRAPH, SCALAR, IMAGE, TENSOR, HISTOGRAM = "graph", "scalar", "image", "tensor", "histogram"
    TRAIN_LINEAGE, EVAL_LINEAGE, CUSTOM_LINEAGE_DATA = "train_lineage", "eval_lineage", "custom_lineage_data"
    DATASET_GRAPH, EXPLAINER, LANDSCAPE = "dataset_graph", "explainer", "landscape"

    @classmethod
    def to_list(cls) -> list[str]:
        """The values."""
        return [member.value for member in cls]


class ModeEnum(enum.Enum):
    """What a run does."""
    TRAIN, EVAL = "train", "eval"

    @classmethod
    def to_list(cls) -> list[str]:
        """The values."""
        return [member.value for member in cls]


def cache_summary_tensor_data(summaries: list[dict[str, Any]]) -> bool:
    """Hand [{"name": "loss[:Scalar]", "data": Tensor}] to the SummaryRecords that are open, as a network's operators do. True

    raises : ValueRangeError for a name that ends otherwise
    """
    for found in summaries:
        tag, _, kind = found["name"].rpartition("[:")
        if not tag or kind[-1:] != "]" or kind[:-1].lower() not in summary.RANKS:
            raise ValueRangeError(f"{found['name']!r} is no name of a summary", hint="loss[:Scalar]")
        for listener in tuple(summary.listeners):
            listener.noted(kind[:-1].lower(), tag, np.array(found["data"].asnumpy()))
    return True


# ---------------------------------------------------------------- mixed precision

class OutputTo32(Cell):
    """A network whose floating-point results are float32. backbone : a Cell"""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """What the network gives, in float32."""
        return mixed_precision_cast(dt.float32, self._backbone(*args, **kwargs))


def get_funcgraph(net: Cell, *inputs: Any) -> Any:
    """The graph of a Cell for arguments like these: a FuncGraph. raises : ArgumentError for what is no Cell"""
    if not isinstance(net, Cell):
        raise ArgumentError(f"get_funcgraph: takes a Cell, not {type(net).__name__}")
    compiled = compiled_cell(net)
    compiled.select(inputs, {})
    return compiled.graph("infer")
