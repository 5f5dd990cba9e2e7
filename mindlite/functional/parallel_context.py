"""How a program runs on many ranks: set_auto_parallel_context and what it sets, for each rank (in a SimWorld: for each thread).

    set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
"""
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.ranks import engine, wishes


class ParallelMode:
    """MindSpore's modes. STAND_ALONE: ranks know nothing of each other; DATA_PARALLEL: TrainOneStepCell reduces the gradients;
    SEMI_AUTO_PARALLEL, AUTO_PARALLEL: Model trains by an `AutoParallel`. HYBRID_PARALLEL: the program has its own collectives."""
    STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL = "stand_alone", "data_parallel", "hybrid_parallel"
    SEMI_AUTO_PARALLEL, AUTO_PARALLEL = "semi_auto_parallel", "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


DEFAULTS: dict[str, Any] = {
    "parallel_mode": ParallelMode.STAND_ALONE, "device_num": None, "global_rank": None, "gradients_mean": False,
    "parameter_broadcast": False, "search_mode": "recursive_programming", "full_batch": False,
    "dataset_strategy": "data_parallel", "enable_parallel_optimizer": False, "parallel_optimizer_threshold": 64,
    "pipeline_stages": 1, "pipeline_scheduler": "1f1b", "pipeline_result_broadcast": False, "comm_fusion": None,
    "strategy_ckpt_save_file": "", "strategy_ckpt_load_file": ""}
VALUES = {"parallel_mode": tuple(ParallelMode.MODE_LIST), "search_mode": ("recursive_programming", "sharding_propagation"),
          "pipeline_scheduler": ("1f1b", "gpipe")}
# MindSpore's settings that are dicts: the settings here that their keys say, and what has one value here.
GROUPS = {"pipeline_config": ("pipeline_scheduler",), "parallel_optimizer_config": ("parallel_optimizer_threshold",)}
FIXED: dict[str, dict[str, Any]] = {
    "pipeline_config": {"pipeline_interleave": False},
    "parallel_optimizer_config": {"gradient_accumulation_shard": False, "optimizer_weight_shard_size": -1}}
SYNONYMS = {"auto_parallel_search_mode": "search_mode"}
JOINED = ("allreduce", "allgather", "reducescatter")


class _Settings(threading.local):
    def __init__(self):
        self.values = dict(DEFAULTS)


_settings = _Settings()


def set_auto_parallel_context(**settings: Any) -> None:
    """Change settings of this rank.

    parallel_mode       : "stand_alone", the default; "data_parallel": TrainOneStepCell and Model reduce the gradients over all
                          ranks; "hybrid_parallel": the program calls collectives itself; "semi_auto_parallel" and
                          "auto_parallel": Model trains by a parallel.AutoParallel. Else what is split is said by `shard`
    search_mode         : of auto_parallel: "recursive_programming" or "sharding_propagation"
    full_batch          : each rank gives the whole batch to such a Model, not its own rows; ranks of one stage of a PipelineCell
                          give the same rows
    dataset_strategy    : "full_batch", the same; "data_parallel": not; or what `AutoParallel.dataset_strategy` takes
    enable_parallel_optimizer: split the optimiser's states there (ZeRO-1), those of parallel_optimizer_threshold KiB or more
                          (`parallel_optimizer_config` may say that, too)
    gradients_mean      : data_parallel divides the sum of the gradients by the number of ranks
    parameter_broadcast : data_parallel starts from the Parameters of rank 0
    pipeline_stages     : into how many groups the ranks are divided, each of which has a stage of a PipelineCell; 1: none
    pipeline_config     : {"pipeline_scheduler": "1f1b" or "gpipe"}: the order of a stage's forwards and backwards. All ranks have
                          a pipeline's result, whatever pipeline_result_broadcast is
    comm_fusion         : what travels as one, as `AutoParallel.comm_fusion` takes it
    strategy_ckpt_save_file, strategy_ckpt_load_file: of such a Model: the file that says where Parameters lie, written, read
    device_num, global_rank: the launcher tells them; others than its are an error
    raises              : ArgumentError for another setting; ValueRangeError for a value that is none
    """
    changes: dict[str, Any] = {}
    for name, value in settings.items():
        if name in GROUPS:
            changes.update(_grouped(name, value))
        else:
            changes[SYNONYMS.get(name, name)] = value
    for name, value in changes.items():
        if name not in DEFAULTS:
            raise ArgumentError(f"set_auto_parallel_context: there is no setting {name!r}",
                                hint=f"one of {', '.join(DEFAULTS)}; for what is split: mindlite.parallel.shard")
        _check(name, value)
    if "dataset_strategy" in changes:
        changes["full_batch"] = changes["dataset_strategy"] == "full_batch"
    if "comm_fusion" in changes:
        wishes.joined = joined_bytes("set_auto_parallel_context", changes["comm_fusion"])
    _settings.values.update(changes)


def _grouped(name: str, value: Any) -> dict[str, Any]:
    """The settings that a dict of them says."""
    if not isinstance(value, dict):
        raise ArgumentError(f"set_auto_parallel_context: {name} is a dict, not {type(value).__name__}")
    for key, one in value.items():
        if key not in GROUPS[name] and (key not in FIXED[name] or one != FIXED[name][key]):
            raise ValueRangeError(f"set_auto_parallel_context: {name} has no {key!r}: {one!r}",
                                  hint=f"{', '.join(GROUPS[name])}; as they are {FIXED[name]}")
    return {key: one for key, one in value.items() if key in GROUPS[name]}


def _check(name: str, value: Any) -> None:
    """raises : ArgumentError, ValueRangeError for what a setting cannot be"""
    if name in VALUES and value not in VALUES[name]:
        raise ValueRangeError(f"set_auto_parallel_context: {name} {value!r} does not exist here",
                              hint=f"one of {', '.join(VALUES[name])}")
    if (DEFAULTS[name] is False and not isinstance(value, bool)) or (DEFAULTS[name] == "" and not isinstance(value, str)):
        raise ArgumentError(f"set_auto_parallel_context: {name} is a {type(DEFAULTS[name]).__name__}, not {type(value).__name__}")
    if name == "parallel_optimizer_threshold" and (type(value) is not int or value < 0):
        raise ValueRangeError(f"set_auto_parallel_context: {name} is a number of KiB, not {value!r}")
    if name == "pipeline_stages" and (type(value) is not int or value < 1 or engine().size % value):
        raise ValueRangeError(f"set_auto_parallel_context: pipeline_stages divides the {engine().size} ranks, not {value!r}")
    if name == "dataset_strategy" and value not in ("data_parallel", "full_batch") and not isinstance(value, tuple):
        raise ValueRangeError('set_auto_parallel_context: dataset_strategy is "data_parallel", "full_batch" or a tuple, '
                              f"not {value!r}")
    real = {"device_num": engine().size, "global_rank": engine().rank}.get(name, value)
    if value != real:
        raise ValueRangeError(f"set_auto_parallel_context: {name} is {real}, not {value!r}",
                              hint="leave it out: the launcher tells it; call communication.init() first")


def joined_bytes(owner: str, config: Any) -> int | None:
    """Bytes of the all_reduces that travel as one, at most, of a setting `comm_fusion`; 0: each by itself; None: as many as is
    usual here (4 MiB).

    config : None, or {"openstate": bool, "allreduce": {"mode": "auto" or "size", "config": MiB of "size"}}. "allgather" and
             "reducescatter" may stand there, with mode "auto": they are not joined
    raises : ArgumentError, ValueRangeError
    """
    if config is None:
        return None
    if not isinstance(config, dict):
        raise ArgumentError(f"{owner}: comm_fusion is a dict, not {type(config).__name__}")
    for kind, said in config.items():
        if kind == "openstate":
            if not isinstance(said, bool):
                raise ArgumentError(f"{owner}: openstate of comm_fusion is a bool, not {type(said).__name__}")
        elif kind not in JOINED or not isinstance(said, dict) or not said.keys() <= {"mode", "config"}:
            raise ValueRangeError(f"{owner}: comm_fusion has no {kind!r}: {said!r}",
                                  hint=f'"openstate", and {{"mode": .., "config": ..}} for {", ".join(JOINED)}')
        elif said.get("mode", "auto") != "auto":
            size = said.get("config")
            if kind != "allreduce" or said["mode"] != "size":
                raise ValueRangeError(f"{owner}: comm_fusion has no mode {said['mode']!r} of {kind} here",
                                      hint='all_reduces are joined by "size"; others are not joined: "auto"')
            if type(size) is not int or size < 1:
                raise ValueRangeError(f"{owner}: comm_fusion joins by a number of MiB, not {size!r}")
    said = config.get("allreduce", {})
    return 0 if not config.get("openstate", True) else said["config"] << 20 if said.get("mode", "auto") == "size" else None


@contextlib.contextmanager
def under(**settings: Any) -> Iterator[None]:
    """A block in which this rank has other settings."""
    before, joined = dict(_settings.values), wishes.joined
    try:
        set_auto_parallel_context(**settings)
        yield
    finally:
        _settings.values, wishes.joined = before, joined


def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of a setting of runs on several devices.

    attr_key : str, its name: "parallel_mode", "device_num", "global_rank", ..
    out      : int, bool, str or list, as it was set; its default before
    raises   : ArgumentError for a setting that does not exist
    """
    attr_key = SYNONYMS.get(attr_key, attr_key)
    if attr_key not in DEFAULTS:
        raise ArgumentError(f"get_auto_parallel_context: there is no setting {attr_key!r}", hint=f"one of {', '.join(DEFAULTS)}")
    return {"device_num": engine().size, "global_rank": engine().rank}.get(attr_key, _settings.values[attr_key])


def reset_auto_parallel_context() -> None:
    """Back to the defaults."""
    _settings.values = dict(DEFAULTS)
    wishes.joined = None
