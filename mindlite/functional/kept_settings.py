"""Settings that programs for MindSpore make and that decide nothing here: they are checked and kept, so that they can be read.

    set_algo_parameters(fully_use_devices=True)     # of a search for strategies; the search here is exact and takes none
    set_ps_context(enable_ps=False)                 # of parameter servers, which are not here: enable_ps=True is an error
"""
from __future__ import annotations

import threading
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError

ALGORITHM = {"fully_use_devices": False, "elementwise_op_strategy_follow": False, "enable_algo_approxi": False,
             "algo_approxi_epsilon": 0.1, "tensor_slice_align_enable": False, "tensor_slice_align_size": 16}
SERVERS = {"enable_ps": False, "config_file_path": "", "scheduler_manage_port": 11202, "enable_ssl": False, "client_password": "",
           "server_password": ""}
RANGES = {"tensor_slice_align_size": ("in [1, 1024]", lambda n: 1 <= n <= 1024),
          "algo_approxi_epsilon": ("in (0, 1]", lambda x: 0 < x <= 1)}


class _Kept(threading.local):
    def __init__(self) -> None:
        self.algorithm, self.servers = dict(ALGORITHM), dict(SERVERS)


_kept = _Kept()


def _checked(owner: str, settings: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    for name, value in settings.items():
        _known(owner, name, defaults)
        if type(value) is not type(defaults[name]):
            raise ArgumentError(f"{owner}: {name} is a {type(defaults[name]).__name__}, not {type(value).__name__}")
        range_, inside = RANGES.get(name, ("", lambda value: True))
        if not inside(value):
            raise ValueRangeError(f"{owner}: {name} is {range_}, not {value!r}")
    return settings


def _known(owner: str, name: str, defaults: dict[str, Any]) -> None:
    if name not in defaults:
        raise ValueRangeError(f"{owner}: there is no setting {name!r}", hint=f"one of {', '.join(defaults)}")


def set_algo_parameters(**kwargs: Any) -> None:
    """Settings of MindSpore's search for strategies, kept and readable. The search here is exact: they change no result.

    fully_use_devices, elementwise_op_strategy_follow, enable_algo_approxi, tensor_slice_align_enable : bool
    algo_approxi_epsilon    : float in (0, 1]
    tensor_slice_align_size : int in [1, 1024]
    raises                  : ArgumentError for another type, ValueRangeError for another setting or a value outside
    """
    _kept.algorithm.update(_checked("set_algo_parameters", kwargs, ALGORITHM))


def get_algo_parameters(attr_key: str) -> Any:
    """The value of a setting of set_algo_parameters.

    attr_key : str, its name
    out      : bool, int or float
    raises   : ValueRangeError for another setting
    """
    _known("get_algo_parameters", attr_key, ALGORITHM)
    return _kept.algorithm[attr_key]


def reset_algo_parameters() -> None:
    """Back to the defaults of set_algo_parameters."""
    _kept.algorithm = dict(ALGORITHM)


def set_ps_context(**kwargs: Any) -> None:
    """Settings of MindSpore's parameter servers, kept and readable; there are none here.

    enable_ps, enable_ssl                             : bool; enable_ps=True is an error
    config_file_path, client_password, server_password : str
    scheduler_manage_port                             : int
    raises : ArgumentError for another type, ValueRangeError for another setting and for enable_ps=True
    """
    _checked("set_ps_context", kwargs, SERVERS)
    if kwargs.get("enable_ps"):
        raise ValueRangeError("set_ps_context: there are no parameter servers here",
                              hint="set_auto_parallel_context(parallel_mode='data_parallel', enable_parallel_optimizer=True)")
    _kept.servers.update(kwargs)


def get_ps_context(attr_key: str) -> Any:
    """The value of a setting of set_ps_context.

    attr_key : str, its name
    out      : bool, int or str
    raises   : ValueRangeError for another setting
    """
    _known("get_ps_context", attr_key, SERVERS)
    return _kept.servers[attr_key]


def reset_ps_context() -> None:
    """Back to the defaults of set_ps_context."""
    _kept.servers = dict(SERVERS)
