"""set_context and what it sets: the mode, the device, the level of compilation.

    set_context(mode=GRAPH_MODE, device_target="CPU", jit_level="O1")
"""
import warnings
from typing import Any

from ..common.config import GRAPH_MODE, LAX, PYNATIVE_MODE, STRICT, config
from ..common.device import known_kind, numbered
from ..common.errors import ArgumentError, ValueRangeError
from ..common.seed import get_seed, set_seed
from ..common.tensor import Tensor
from ..pynative.finite import watch

_MODES = {GRAPH_MODE: GRAPH_MODE, PYNATIVE_MODE: PYNATIVE_MODE,
          "GRAPH_MODE": GRAPH_MODE, "PYNATIVE_MODE": PYNATIVE_MODE}
_SYNTAX = {STRICT: STRICT, LAX: LAX, "STRICT": STRICT, "LAX": LAX, "COMPATIBLE": LAX, 1: LAX}
# MindSpore's settings that say how its own runtime works, with their defaults. They are remembered; nothing answers to them.
WITHOUT_EFFECT = {
    "save_graphs": 0, "save_graphs_path": ".", "enable_compile_cache": False, "compile_cache_path": "", "max_call_depth": 1000,
    "enable_graph_kernel": False, "graph_kernel_flags": "", "memory_optimize_level": "O0", "max_device_memory": "1024GB",
    "pynative_synchronize": False, "ascend_config": {}, "gpu_config": {}, "reserve_class_name_in_scope": True,
    "mempool_block_size": "1GB", "print_file_path": "", "env_config_path": "", "check_bprop": False, "grad_for_scalar": False,
    "support_binary": False, "inter_op_parallel_num": 0, "runtime_num_threads": 30, "variable_memory_max_size": "0",
    "precompile_only": False, "aoe_tune_mode": "", "aoe_config": {}, "auto_tune_mode": "", "debug_level": 0,
    "jit_enable_inplace_ops": True, "enable_reduce_precision": True, "save_dump_path": "", "deterministic": "OFF"}
_remembered: dict[str, Any] = {}


def _mode(value):
    try:
        return _MODES[value]
    except (KeyError, TypeError):
        raise ValueRangeError(f"set_context: mode is GRAPH_MODE or PYNATIVE_MODE, not {value!r}") from None


def _level(value):
    if value not in ("", "O0", "O1", "O2"):
        raise ValueRangeError(f"set_context: there is no jit_level {value!r}", hint="one of O0, O1, O2")
    return {"": "O1", "O2": "O1"}.get(value, value)


def _syntax(value):
    if isinstance(value, bool) or value not in _SYNTAX:
        raise ValueRangeError(f"set_context: there is no jit_syntax_level {value!r}", hint="STRICT or LAX")
    return _SYNTAX[value]


def _count(value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueRangeError(f"set_context: a count that is not negative is wanted, not {value!r}")
    return value


def _bool(value):
    if not isinstance(value, bool):
        raise ValueRangeError(f"set_context: a bool is wanted, not {value!r}")
    return value


def _deterministic(value):
    if value not in ("ON", "OFF", True, False):
        raise ValueRangeError(f"set_context: deterministic is ON or OFF, not {value!r}")
    return value                              # every kernel gives the same numbers each time, in either case


_SETTINGS = {"mode": ("mode", _mode), "device_target": ("device_target", known_kind), "device_id": ("device_id", _count),
             "jit_level": ("jit_level", _level), "jit_syntax_level": ("jit_syntax_level", _syntax),
             "runtime_threads": ("threads", _count), "check_nan": ("check_nan", _bool)}


def set_context(**settings: Any) -> None:
    """Change settings of the process.

    mode          : GRAPH_MODE or PYNATIVE_MODE (the default)
    device_target : the kind of device that kernels are made for, "CPU" by default;   device_id: which of them, an int
    jit_level     : "O0", "O1", "O2"                jit_config: {"jit_level": .., "jit_syntax_level": ..}
    jit_syntax_level: LAX, the default: what a graph cannot say runs in Python; STRICT: it is an error. It is read when a
                    function is compiled; jit(fullgraph=..) and a JitConfig say it for one function
    check_nan     : True: the first operator that makes NaN or infinity out of finite operands raises NotFiniteError at its
                    line, in both modes, forward and backward; nothing is compiled meanwhile
    deterministic : "ON" or "OFF"; results are repeatable in either case
    warns         : for one of MindSpore's settings that has no meaning here
    raises        : ArgumentError for an unknown setting; ValueRangeError; DeviceError for a device that is missing here
    """
    changes = {}
    for name, value in settings.items():
        if name == "jit_config":
            changes["jit_level"] = _level(value.get("jit_level", ""))
            if "jit_syntax_level" in value:
                changes["jit_syntax_level"] = _syntax(value["jit_syntax_level"])
        elif name == "deterministic":
            _remembered[name] = _deterministic(value)
        elif name in _SETTINGS:
            switch, read = _SETTINGS[name]
            changes[switch] = read(value)
        elif name in WITHOUT_EFFECT:
            warnings.warn(f"set_context: {name} has no meaning in mindlite and is left out", stacklevel=2)
            _remembered[name] = value
        else:
            raise ArgumentError(f"set_context: there is no setting {name!r}", hint=f"one of {', '.join(_SETTINGS)}")
    if "device_target" in changes or "device_id" in changes:
        numbered(changes.get("device_target", config.device_target), changes.get("device_id", config.device_id))
    config.set(**changes)
    watch(config.check_nan)


def set_mindspore_context(**settings: Any) -> None:
    """set_context by its name in `mindlite.mindspore`: with mode=.. what MindSpore refuses by rules of its own is refused
    (config.mindspore_rules), as scripts for it expect: names that are defined nowhere, when a function is compiled.

    raises : as set_context
    """
    set_context(**settings)
    if "mode" in settings:
        config.set(mindspore_rules=True)


def get_context(attr_key: str) -> Any:
    """The value of a setting.

    attr_key : str, its name; of a setting that has no meaning here it is what was given last, or MindSpore's default
    raises   : ArgumentError for one that does not exist
    """
    if attr_key in WITHOUT_EFFECT:
        return _remembered.get(attr_key, WITHOUT_EFFECT[attr_key])
    if attr_key not in _SETTINGS:
        raise ArgumentError(f"get_context: there is no setting {attr_key!r}", hint=f"one of {', '.join(_SETTINGS)}")
    return getattr(config, _SETTINGS[attr_key][0])


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Choose the device that kernels are made for.

    device_target : str, "CPU" or another kind of device that is here;   device_id: int, which of them; None is 0
    raises        : ValueRangeError for what is no device, DeviceError for one that is missing here
    """
    set_context(device_target=device_target, device_id=device_id or 0)


def set_deterministic(deterministic: bool) -> None:
    """Accepted for MindSpore's sake: results are repeatable in either case.

    deterministic : bool
    raises        : ArgumentError for what is no bool
    """
    if not isinstance(deterministic, bool):
        raise ArgumentError(f"set_deterministic: takes a bool, not {type(deterministic).__name__}")
    set_context(deterministic="ON" if deterministic else "OFF")


def threads_num(num: int) -> None:
    """Kernels run on at most `num` threads. raises : ArgumentError for what is no positive int"""
    if isinstance(num, bool) or not isinstance(num, int) or num < 1:
        raise ArgumentError(f"threads_num: takes a positive int, not {num!r}")
    config.set(threads=num)


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """`input_data` itself. Tensors inside tuples, lists and dicts are run-time values of a graph in any case.

    dynamic_len : a tuple or list may come with another length next time; there is a graph for each length
    raises      : ArgumentError for anything but Tensors and numbers, and for dynamic_len of what is no tuple or list
    """
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise ArgumentError(f"mutable: dynamic_len is for a tuple or list, not {type(input_data).__name__}")
    _only_values(input_data)
    return input_data


def _only_values(value):
    if isinstance(value, (tuple, list)):
        for item in value:
            _only_values(item)
    elif isinstance(value, dict):
        _only_values(tuple(value.values()))
    elif not isinstance(value, (Tensor, bool, int, float)):
        raise ArgumentError("mutable: takes Tensors, numbers, tuples, lists and dicts of them, "
                            f"not {type(value).__name__}")


__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "get_context", "get_seed", "mutable", "set_context", "set_deterministic",
           "set_device", "set_seed"]
