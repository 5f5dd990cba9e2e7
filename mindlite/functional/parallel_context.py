"""How a program runs on many ranks: set_auto_parallel_context and what it sets, for each rank (in a SimWorld: for each thread).

    set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
"""
import threading
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.ranks import engine


class ParallelMode:
    """MindSpore's modes. STAND_ALONE: ranks know nothing of each other; DATA_PARALLEL: TrainOneStepCell reduces the gradients;
    SEMI_AUTO_PARALLEL, AUTO_PARALLEL: Model trains by an `AutoParallel`. HYBRID_PARALLEL: the program has its own collectives."""
    STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL = "stand_alone", "data_parallel", "hybrid_parallel"
    SEMI_AUTO_PARALLEL, AUTO_PARALLEL = "semi_auto_parallel", "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


DEFAULTS = {"parallel_mode": ParallelMode.STAND_ALONE, "device_num": None, "global_rank": None, "gradients_mean": False,
            "parameter_broadcast": False, "search_mode": "recursive_programming", "full_batch": False,
            "enable_parallel_optimizer": False, "parallel_optimizer_threshold": 64, "pipeline_stages": 1}
VALUES = {"parallel_mode": tuple(ParallelMode.MODE_LIST), "search_mode": ("recursive_programming", "sharding_propagation")}


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
    enable_parallel_optimizer: split the optimiser's states there (ZeRO-1), those of parallel_optimizer_threshold KiB or more
    gradients_mean      : data_parallel divides the sum of the gradients by the number of ranks
    parameter_broadcast : data_parallel starts from the Parameters of rank 0
    pipeline_stages     : into how many groups the ranks are divided, each of which has a stage of a PipelineCell; 1: none
    device_num, global_rank: the launcher tells them; others than its are an error
    raises              : ArgumentError for another setting; ValueRangeError for a value that is none
    """
    for name, value in settings.items():
        if name not in DEFAULTS:
            raise ArgumentError(f"set_auto_parallel_context: there is no setting {name!r}",
                                hint=f"one of {', '.join(DEFAULTS)}; for what is split: mindlite.parallel.shard")
        if name in VALUES and value not in VALUES[name]:
            raise ValueRangeError(f"set_auto_parallel_context: {name} {value!r} does not exist here",
                                  hint=f"one of {', '.join(VALUES[name])}")
        if DEFAULTS[name] is False and not isinstance(value, bool):
            raise ArgumentError(f"set_auto_parallel_context: {name} is a bool, not {type(value).__name__}")
        if name == "parallel_optimizer_threshold" and (type(value) is not int or value < 0):
            raise ValueRangeError(f"set_auto_parallel_context: {name} is a number of KiB, not {value!r}")
        if name == "pipeline_stages" and (type(value) is not int or value < 1 or engine().size % value):
            raise ValueRangeError(f"set_auto_parallel_context: pipeline_stages divides the {engine().size} ranks, not {value!r}")
        real = {"device_num": engine().size, "global_rank": engine().rank}.get(name, value)
        if value != real:
            raise ValueRangeError(f"set_auto_parallel_context: {name} is {real}, not {value!r}",
                                  hint="leave it out: the launcher tells it; call communication.init() first")
    _settings.values.update(settings)


def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of a setting of runs on several devices.

    attr_key : str, its name: "parallel_mode", "device_num", "global_rank", ..
    out      : int, bool, str or list, as it was set; its default before
    raises   : ArgumentError for a setting that does not exist
    """
    if attr_key not in DEFAULTS:
        raise ArgumentError(f"get_auto_parallel_context: there is no setting {attr_key!r}", hint=f"one of {', '.join(DEFAULTS)}")
    return {"device_num": engine().size, "global_rank": engine().rank}.get(attr_key, _settings.values[attr_key])


def reset_auto_parallel_context() -> None:
    """Back to the defaults."""
    _settings.values = dict(DEFAULTS)
