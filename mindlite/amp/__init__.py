"""Mixed precision: what computes in 16 bits, and the scaling of losses that keeps small gradients in their range.

    net = amp.auto_mixed_precision(net, "O1")               products and convolutions in float16
    scaler = amp.DynamicLossScaler(2 ** 10, 2, 1000)        scale the loss, unscale the gradients, adjust
"""
from .precision import auto_mixed_precision, custom_mixed_precision, get_black_list, get_white_list  # noqa: F401
from .scaling import DynamicLossScaler, LossScaler, StaticLossScaler, all_finite  # noqa: F401

__all__ = ["DynamicLossScaler", "LossScaler", "StaticLossScaler", "all_finite", "auto_mixed_precision",
           "custom_mixed_precision", "get_black_list", "get_white_list"]
