"""build_train_network: a network, a loss and an optimiser as the Cell of one training step, in the precision of a level."""
from __future__ import annotations

import warnings
from typing import Any

from .. import nn
from ..common import dtype as dt
from ..common.checks import check_value_type
from ..common.errors import ArgumentError, ValueRangeError
from ..functional.words import mixed_precision_cast
from .manager import DynamicLossScaleManager, LossScaleManager
from .precision import LEVELS, auto_mixed_precision

NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
SETTINGS = ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager")


class _WithLossInFloat32(nn.WithLossCell):
    """A network that computes in 16 bits, its loss in float32."""

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(*mixed_precision_cast(dt.float32, (self._backbone(data), label)))


def build_train_network(network: nn.Cell, optimizer: nn.Cell, loss_fn: Any = None, level: str = "O0",
                        boost_level: str = "O0", **kwargs: Any) -> nn.Cell:
    """The Cell of one training step, in training mode: (data, label) -> the loss, or (loss, overflow, scale).

    level       : see auto_mixed_precision; O2 scales the loss by a DynamicLossScaleManager unless kwargs say another
    boost_level : "O0", or "O1", "O2": MindSpore's boosts, which have no meaning here (a warning says it)
    cast_model_type     : float16 or float32: what the network computes in, whatever the level
    keep_batchnorm_fp32 : a network in float16 has its batch normalisations in float32
    loss_scale_manager  : a LossScaleManager, or None
    raises      : ArgumentError, ValueRangeError for other arguments
    """
    if level not in LEVELS:
        kind = ValueRangeError if isinstance(level, str) else ArgumentError
        raise kind(f"build_train_network: level is one of {', '.join(LEVELS)}, not {level!r}")
    if not isinstance(network, nn.Cell) or not isinstance(optimizer, nn.Cell):
        raise ArgumentError("build_train_network: network is a Cell and optimizer an Optimizer, "
                            f"not {type(network).__name__} and {type(optimizer).__name__}")
    check_boost_level(boost_level)
    unknown = [name for name in kwargs if name not in SETTINGS]
    if unknown:
        raise ValueRangeError(f"build_train_network: there is no argument {unknown[0]!r}", hint=", ".join(SETTINGS))
    manager = kwargs.get("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    if manager is not None:
        check_value_type("loss_scale_manager", manager, LossScaleManager, "build_train_network")
    low = _lower(network, level, kwargs.get("cast_model_type"), kwargs.get("keep_batchnorm_fp32"))
    if loss_fn is not None:
        if not callable(loss_fn):
            raise ArgumentError(f"build_train_network: loss_fn is a Cell or a function, not {type(loss_fn).__name__}")
        network = (_WithLossInFloat32 if low else nn.WithLossCell)(network, loss_fn)
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return nn.TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()
    scale = None if manager is None else manager.get_loss_scale()
    parts = next((cell.micro_size for _, cell in network.cells_and_names()
                  if isinstance(cell, (nn.GradAccumulationCell, nn.PipelineCell))), 1)
    if parts > 1:
        scale = (1.0 if scale is None else scale) / parts
    return nn.TrainOneStepCell(network, optimizer, scale).set_train()


def check_boost_level(level: str) -> None:
    """raises : ValueRangeError for a level that does not exist; warns for one that has no meaning here"""
    if level not in ("O0", "O1", "O2"):
        raise ValueRangeError(f"boost_level is O0, O1 or O2, not {level!r}")
    if level != "O0":
        warnings.warn(f"boost_level={level!r} has no meaning in mindlite: the training is that of O0", stacklevel=3)


def _lower(network: nn.Cell, level: str, kind: Any, keep: bool | None) -> bool:
    """Change the network to the precision that is wanted; True where its results may be in 16 bits."""
    if keep is not None:
        check_value_type("keep_batchnorm_fp32", keep, bool, "build_train_network")
    if kind is not None and kind not in (dt.float16, dt.float32):
        raise ArgumentError(f"build_train_network: cast_model_type is float16 or float32, not {kind}")
    if kind is dt.float16 or kind is None and level == "O2" and keep is False:
        network.to_float(dt.float16)
        if keep or keep is None and level == "O2":
            for _, cell in network.cells_and_names():
                if isinstance(cell, NORMALISATIONS):
                    cell.to_float(dt.float32)
        return True
    if kind is dt.float32 and level in ("O2", "O3"):
        return False
    auto_mixed_precision(network, level)
    return level in ("O2", "O3", "auto")
