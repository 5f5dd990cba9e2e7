"""A linear layer, a BatchNorm and an activation as one layer."""
from __future__ import annotations

from typing import Any
from ...common.annotations import Function, Ints

from ...common.errors import ArgumentError
from ...common.initializer import Init
from ...common.tensor import Tensor
from ..cell import Cell
from .activation import LeakyReLU, as_activation
from .basic import Dense
from .conv import Conv2d
from .normalization import BatchNorm1d, BatchNorm2d


def _after(owner: str, activation: Any, alpha: float, after_fake: bool) -> Any:
    """The activation as a Cell, or None; "leakyrelu" takes the slope alpha."""
    if not isinstance(after_fake, bool):
        raise ArgumentError(f"{owner}: after_fake is a bool, not {type(after_fake).__name__}")
    return LeakyReLU(alpha) if activation == "leakyrelu" else as_activation(owner, activation)


class Conv2dBnAct(Cell):
    """activation(BatchNorm2d(Conv2d(x))), of which the last two may be left out.

    in_channels .. bias_init : as of Conv2d; has_bn : with BatchNorm2d(momentum, eps)
    activation : name, Cell or None; alpha : the slope of "leakyrelu"
    after_fake : a setting for quantised training; it changes nothing here
    x          : f32[N, in_channels, H, W]; output : f32[N, out_channels, OH, OW]
    raises     : ArgumentError, ValueRangeError for bad arguments
    weight_init : a name, a number, a Tensor or an Initializer
    kernel_size, stride, dilation : int, or one int for each axis
    pad_mode : "same", "valid" or "pad"
    padding : int or a tuple, with pad_mode "pad" only
    group : int, into which the channels split
    has_bias : bool: with a bias
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, pad_mode: str = "same",
                 padding: Ints = 0, dilation: Ints = 1, group: int = 1, has_bias: bool = False, weight_init: Init = "normal",
                 bias_init: Init = "zeros", has_bn: bool = False, momentum: float = 0.997, eps: float = 1e-5,
                 activation: Cell | str | Function | None = None, alpha: float = 0.2, after_fake: bool = True) -> None:
        super().__init__()
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                           weight_init, bias_init)
        self.has_bn, self.has_act, self.after_fake = has_bn, activation is not None, after_fake
        self.batchnorm: Any = BatchNorm2d(out_channels, eps, momentum) if has_bn else None
        self.activation = _after("Conv2dBnAct", activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x


class DenseBnAct(Cell):
    """activation(BatchNorm1d(Dense(x))), of which the last two may be left out.

    in_channels .. has_bias : as of Dense; has_bn : with BatchNorm1d(momentum, eps)
    activation : name, Cell or None; alpha : the slope of "leakyrelu"
    after_fake : a setting for quantised training; it changes nothing here
    x          : f32[N, in_channels]; output : f32[N, out_channels]
    raises     : ArgumentError, ValueRangeError for bad arguments
    weight_init, bias_init : a name, a number, a Tensor or an Initializer
    """

    def __init__(self, in_channels: int, out_channels: int, weight_init: Init = "normal", bias_init: Init = "zeros",
                 has_bias: bool = True, has_bn: bool = False, momentum: float = 0.9, eps: float = 1e-5,
                 activation: Cell | str | Function | None = None, alpha: float = 0.2, after_fake: bool = True) -> None:
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self.has_bn, self.has_act, self.after_fake = has_bn, activation is not None, after_fake
        self.batchnorm: Any = BatchNorm1d(out_channels, eps, momentum) if has_bn else None
        self.activation = _after("DenseBnAct", activation, alpha, after_fake)

    def construct(self, x: Tensor) -> Tensor:
        x = self.dense(x)
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x
