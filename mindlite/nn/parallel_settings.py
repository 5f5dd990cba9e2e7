"""What Cells say to MindSpore's parallel runs. Programs set it also where there is one device: then nothing changes.

The settings are kept where they can be read back; `shard` splits the work of a Cell between ranks.
"""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .. import functional
from ..common.errors import ArgumentError, ValueRangeError
from .registry import Registry


class ParallelSettings(Registry):
    """The methods of a Cell that say how it runs on several devices."""

    @property
    def pipeline_stage(self) -> int | None:
        """Which stage of a pipeline this Cell belongs to; None for none."""
        return self.__dict__.get("_pipeline_stage")

    @pipeline_stage.setter
    def pipeline_stage(self, value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(f"pipeline_stage: an int, not {type(value).__name__}")
        if value < 0:
            raise ValueRangeError(f"pipeline_stage: {value} is below 0")
        self.__dict__["_pipeline_stage"] = value

    @property
    def parameter_layout_dict(self) -> dict[str, Any]:
        """{name: how a Parameter lies on several devices}: empty, there is one."""
        return {}

    def shard(self, in_strategy: tuple, out_strategy: tuple | None = None, parameter_plan: dict | None = None,
              device: str = "CPU", level: int = 0) -> Any:
        """This Cell as a function whose work ranks split between them: `mindlite.shard`."""
        return functional.shard(self, in_strategy, out_strategy, parameter_plan, device, level)

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Any:
        """Which Parameters' gradients are reduced together: kept as `comm_fusion` of each; returns self."""
        if isinstance(fusion_type, bool) or not isinstance(fusion_type, int) or fusion_type < 0:
            raise ValueRangeError(f"set_comm_fusion: an int that is not negative, not {fusion_type!r}")
        for param in self.get_parameters(recurse):
            param.comm_fusion = fusion_type
        return self

    def set_broadcast_flag(self, mode: bool = True) -> Any:
        """Whether the first device's Parameters are sent to the others; returns self."""
        self.__dict__["broadcast_flag"] = bool(mode)
        return self

    def set_data_parallel(self) -> None:
        """Let each device compute a part of the batch: with one device, all of it."""

    def set_boost(self, boost_type: str) -> Any:
        """MindSpore's boosts, which have no meaning here; returns self. raises : ValueRangeError for an unknown one"""
        if boost_type not in ("less_bn",):
            raise ValueRangeError(f"set_boost: there is no boost {boost_type!r}", hint="less_bn")
        return self

    def parameters_broadcast_dict(self, recurse: bool = True) -> dict[str, Any] | None:
        """{name: Parameter} of those that are sent to other devices, which layerwise_parallel ones are not; None for none."""
        found = OrderedDict((param.name, param) for param in self.get_parameters(recurse) if not param.layerwise_parallel)
        return found or None

    def update_cell_type(self, cell_type: str) -> None:
        """Keep a word for the kind of this Cell: `cell_type`."""
        self.__dict__["cell_type"] = cell_type

    def generate_scope(self) -> None:
        """Let every Cell below know its path, as `update_cell_prefix` does."""
        self.update_cell_prefix()

    def remove_redundant_parameters(self) -> None:
        """Free the parts of Parameters that lie on other devices: with one device, nothing."""
