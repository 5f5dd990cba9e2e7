"""Settings of all pipelines: `mindlite.dataset.config`, MindSpore's names.

One table holds name, first value and what is allowed; every `get_NAME` and `set_NAME` is made of a row of it.
"""
from __future__ import annotations

import enum
import json
import os
import warnings

from ..common import seed as global_seed
from ..common.errors import ArgumentError, ValueRangeError, user_level
from . import draws
from .debug import DebugHook

DEFAULT_SEED = 5489                      # MindSpore's sign for "no seed set": numbers come from the operating system


class ErrorSamplesMode(enum.IntEnum):
    """What happens to a sample that cannot be read or transformed: an error, another sample in its place, or none."""
    RETURN = 0
    REPLACE = 1
    SKIP = 2


class _Settings:
    seed = DEFAULT_SEED
    debug_hooks: list = []
    num_parallel_workers = min(8, os.cpu_count() or 1)
    workers_asked: int | None = None     # what a program has set, also above the number of cores
    prefetch_size = 16
    monitor_sampling_interval = 1000
    callback_timeout = 60
    multiprocessing_timeout_interval = 300
    autotune_interval = 0
    auto_num_workers = False
    auto_offload = False
    enable_autotune = False
    enable_shared_mem = True
    enable_watchdog = True
    fast_recovery = True
    dynamic_shape = False
    debug_mode = False
    numa_enable = False
    error_samples_mode = ErrorSamplesMode.RETURN
    multiprocessing_start_method = "fork"
    video_backend = "CPU"
    sending_batches = 0
    iterator_mode = {"do_copy": False, "parallel_convert": False}


settings = _Settings()
_MAX = 2 ** 31 - 1
MOST_WORKERS = 128                       # of one operation; MindSpore's limit is the number of cores
_WHOLE = {                               # name: the smallest and the largest number allowed
    "prefetch_size": (1, _MAX), "monitor_sampling_interval": (1, _MAX), "callback_timeout": (1, _MAX),
    "multiprocessing_timeout_interval": (1, _MAX), "autotune_interval": (0, _MAX), "sending_batches": (0, _MAX),
}
_FLAGS = ("auto_num_workers", "auto_offload", "enable_shared_mem", "enable_watchdog", "fast_recovery", "dynamic_shape",
          "numa_enable")


def whole_number(value: object, name: str, low: int, high: int = _MAX) -> int:
    """`value` if it is an int in [low, high]. raises : ArgumentError (a TypeError), ValueRangeError (a ValueError)"""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"Argument {name} with value {value} is not of type [<class 'int'>], but got {type(value)}.")
    if not low <= value.__index__() <= high:
        raise ValueRangeError(f"Input {name} is not within the required interval of [{low}, {high}].")
    return value.__index__()


def flag(value: object, name: str) -> bool:
    """`value` if it is a bool. raises : ArgumentError"""
    if not isinstance(value, bool):
        raise ArgumentError(f"Argument {name} with value {value} is not of type [<class 'bool'>], but got {type(value)}.")
    return value


def workers(count: object, most: int = _MAX) -> int:
    """A number of workers, at most the number of cores; more is cut down with a warning.

    raises : ArgumentError, ValueRangeError below 1 and above `most` and the number of cores
    """
    number, cores = whole_number(count, "num_parallel_workers", -_MAX, _MAX), os.cpu_count() or 1
    if not 1 <= number <= max(most, cores):
        raise ValueRangeError(f"num_parallel_workers exceeds the boundary between 1 and {max(most, cores)}!")
    if number > cores:
        warnings.warn(f"num_parallel_workers={number} is more than the {cores} cores of this machine: {cores} are used",
                      stacklevel=user_level())
    return min(number, cores)


def check_max_rowsize(value: object) -> None:
    """MindSpore's limit of shared memory for a row: None, an int from -1, or a list of two.

    raises : ArgumentError, ValueRangeError
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, list)):
        raise ArgumentError(f"Argument max_rowsize with value {value} is not of type [<class 'int'>, <class 'list'>], but got "
                            f"{type(value)}.")
    if isinstance(value, list) and len(value) != 2:
        raise ArgumentError("max_rowsize should be a single integer or a list[in_rowsize, out_rowsize] of length 2.")
    for k, size in enumerate(value if isinstance(value, list) else [value]):
        whole_number(size, f"max_rowsize[{k}]" if isinstance(value, list) else "max_rowsize", -1)


def set_seed(seed: int) -> None:
    """Make the order of shuffles and the numbers of random operations repeatable.

    seed   : int in [0, 2**32)
    raises : ArgumentError if it is no int, ValueRangeError outside that range
    """
    settings.seed = whole_number(seed, "seed", 0, 2 ** 32 - 1)
    draws.seed_eager(settings.seed)


def get_seed() -> int:
    """The seed last set; 5489 if none was, and then each pipeline draws its own."""
    return settings.seed


def set_num_parallel_workers(num: int) -> None:
    """The number of worker processes of operations that name none. raises : ArgumentError, ValueRangeError"""
    settings.num_parallel_workers, settings.workers_asked = workers(num), num


def get_num_parallel_workers() -> int:
    """The number of workers of operations that name none."""
    return settings.num_parallel_workers


def error_mode() -> ErrorSamplesMode:
    """What happens to a bad sample: in debug mode it is always an error."""
    return ErrorSamplesMode.RETURN if settings.debug_mode else settings.error_samples_mode


def set_error_samples_mode(error_samples_mode: ErrorSamplesMode) -> None:
    """What happens to a sample that cannot be read or transformed. raises : ArgumentError"""
    if not isinstance(error_samples_mode, ErrorSamplesMode):
        raise ArgumentError(f"Argument error_samples_mode with value {error_samples_mode} is not of type [{ErrorSamplesMode}], "
                            f"but got {type(error_samples_mode)}.")
    settings.error_samples_mode = error_samples_mode


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list | None = None) -> None:
    """Run pipelines in this process, one sample at a time, so that a debugger stops in them.

    debug_hook_list : DebugHooks that see what each operation of `map` is given and gives;  raises : ArgumentError
    """
    flag(debug_mode_flag, "debug_mode_flag")
    if not isinstance(debug_hook_list, (list, type(None))):
        raise ArgumentError("debug_hook_list is not a list.")
    if not all(isinstance(hook, DebugHook) for hook in debug_hook_list or ()):
        raise ArgumentError("All items in debug_hook_list must be of type DebugHook.")
    settings.debug_mode, settings.debug_hooks = debug_mode_flag, list(debug_hook_list or ())


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Accepted: pipelines of built-in operations get workers where rows cost time in any case. raises : ArgumentError"""
    settings.enable_autotune = flag(enable, "enable")


def set_multiprocessing_start_method(start_method: str = "fork") -> None:
    """How worker processes are made. Sources and functions are not pickled here, so "fork" is the only way.

    raises : ArgumentError if it is no str, ValueRangeError for another method
    """
    if not isinstance(start_method, str):
        raise ArgumentError(f"set_multiprocessing_start_method: a str is expected, not {type(start_method).__name__}")
    if start_method not in ("fork", "spawn"):
        raise ValueRangeError(f"set_multiprocessing_start_method: {start_method!r} is neither 'fork' nor 'spawn'")
    if start_method == "spawn":
        raise ValueRangeError("set_multiprocessing_start_method: 'spawn' would have to pickle the dataset and its functions",
                              hint="workers are made by fork; they inherit everything")


def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """do_copy: iterators hand out copies. parallel_convert: accepted, conversion to Tensors copies nothing here."""
    settings.iterator_mode = {"do_copy": flag(do_copy, "do_copy"), "parallel_convert": flag(parallel_convert, "parallel_convert")}


def set_video_backend(backend: str) -> None:
    """Only "CPU". raises : ValueRangeError"""
    if backend != "CPU":
        raise ValueRangeError(f"set_video_backend: {backend!r} is not available, only 'CPU'")


def load(file: str) -> None:
    """Read settings from a JSON file: {"numParallelWorkers": 2, "seed": 1, ...}. raises : FileNotFoundError, ValueRangeError"""
    if not os.path.exists(file):
        raise RuntimeError(f"{file} does not exist or permission denied.")
    with open(file, encoding="utf-8") as stream:
        found = json.load(stream)
    for key, value in found.items():
        name = "".join("_" + c.lower() if c.isupper() else c for c in key)
        setter = globals().get("set_" + name)
        if setter is not None:
            setter(value)


def _getter(name: str):
    def get():
        return getattr(settings, name)
    get.__name__ = get.__qualname__ = "get_" + name
    get.__doc__ = f"The setting `{name}`."
    return get


def _setter(name: str, check):
    def set_it(value):
        setattr(settings, name, check(value, name))
    set_it.__name__ = set_it.__qualname__ = "set_" + name
    set_it.__doc__ = f"Set `{name}`. raises : ArgumentError, ValueRangeError"
    return set_it


for _name in (n for n in vars(_Settings) if not n.startswith("_")):
    globals().setdefault("get_" + _name, _getter(_name))
for _name, (_low, _high) in _WHOLE.items():
    globals()["set_" + _name] = _setter(_name, lambda v, n, low=_low, high=_high: whole_number(v, n, low, high))
for _name in _FLAGS:
    globals()["set_" + _name] = _setter(_name, flag)

global_seed.when_seeded(set_seed)
