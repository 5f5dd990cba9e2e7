"""Mixed precision: what computes in 16 bits, and the scaling of losses that keeps small gradients in their range.

    net = amp.auto_mixed_precision(net, "O1")               products and convolutions in float16
    scaler = amp.DynamicLossScaler(2 ** 10, 2, 1000)        scale the loss, unscale the gradients, adjust
    step = amp.build_train_network(net, optimizer, loss_fn, level="O2")         a whole training step
"""
from .build import build_train_network  # noqa: F401
from .manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager  # noqa: F401
from .precision import auto_mixed_precision, custom_mixed_precision, get_black_list, get_white_list  # noqa: F401
from .scaling import DynamicLossScaler, LossScaler, StaticLossScaler, all_finite, init_status  # noqa: F401

__all__ = ["DynamicLossScaleManager", "DynamicLossScaler", "FixedLossScaleManager", "LossScaleManager", "LossScaler",
           "StaticLossScaler", "all_finite", "auto_mixed_precision", "build_train_network", "custom_mixed_precision",
           "get_black_list", "get_white_list", "init_status"]
