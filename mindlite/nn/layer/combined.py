"""A linear layer, a BatchNorm and an activation as one layer."""
from typing import Any

from ...common.errors import ArgumentError
from ..cell import Cell
from .activation import LeakyReLU, as_activation
from .basic import Dense
from .conv import Conv2d
from .normalization import BatchNorm1d, BatchNorm2d


def _after(owner, activation, alpha, after_fake):
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
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1,
                 has_bias=False, weight_init="normal", bias_init="zeros", has_bn=False, momentum=0.997, eps=1e-5,
                 activation=None, alpha=0.2, after_fake=True):
        super().__init__()
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                           weight_init, bias_init)
        self.has_bn, self.has_act, self.after_fake = has_bn, activation is not None, after_fake
        self.batchnorm: Any = BatchNorm2d(out_channels, eps, momentum) if has_bn else None
        self.activation = _after("Conv2dBnAct", activation, alpha, after_fake)

    def construct(self, x):
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
    """

    def __init__(self, in_channels, out_channels, weight_init="normal", bias_init="zeros", has_bias=True, has_bn=False,
                 momentum=0.9, eps=1e-5, activation=None, alpha=0.2, after_fake=True):
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self.has_bn, self.has_act, self.after_fake = has_bn, activation is not None, after_fake
        self.batchnorm: Any = BatchNorm1d(out_channels, eps, momentum) if has_bn else None
        self.activation = _after("DenseBnAct", activation, alpha, after_fake)

    def construct(self, x):
        x = self.dense(x)
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x
