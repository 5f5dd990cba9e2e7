"""Dense, Flatten, Dropout and other small layers."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.dtype import DTypeLike
from ...common.annotations import Function
from ...common.errors import ArgumentError, ValueRangeError
from ...common.initializer import HeUniform, Init, Uniform, fans, initializer
from ...common.tensor import Parameter, Tensor
from ..cell import Cell
from .activation import as_activation


def positive_int(owner: str, name: str, value: Any) -> int:
    """`value` as an int. raises : ArgumentError for no int, ValueRangeError below 1"""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{owner}: {name} is an int, not {type(value).__name__}")
    value = value.__index__()
    if value < 1:
        raise ValueRangeError(f"{owner}: {name} is at least 1, not {value}")
    return value


def flag(owner: str, name: str, value: Any) -> bool:
    """`value`, a bool. raises : ArgumentError"""
    if not isinstance(value, bool):
        raise ArgumentError(f"{owner}: {name} is a bool, not {type(value).__name__}")
    return value


def ints(owner: str, name: str, value: Any, counts: Sequence[int], low: int = 1) -> tuple[int, ...]:
    """An int or a tuple of them as a tuple of ints, each at least `low`; a single one stands max(counts) times.

    counts : how many a tuple may hold; raises : ArgumentError, ValueRangeError
    """
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * max(counts)
    if len(values) not in counts or any(isinstance(v, bool) or not hasattr(v, "__index__") for v in values):
        raise ArgumentError(f"{owner}: {name} is an int or {' or '.join(map(str, counts))} of them, not {value!r}")
    if min(values) < low:
        raise ValueRangeError(f"{owner}: {name} is at least {low}, not {value!r}")
    return tuple(v.__index__() for v in values)


def channels_first(owner: str, data_format: str) -> str:
    """`data_format`, which must have the channels on axis 1. raises : ValueRangeError"""
    if data_format not in ("NCHW", "NCW", "NCDHW"):
        raise ValueRangeError(f"{owner}: data_format {data_format!r} is not supported",
                              hint="transpose, so that the channels stand on axis 1")
    return data_format


def weight_and_bias(shape: tuple[int, ...], channels: int, weight_init: Init | None, bias_init: Init | None, has_bias: bool,
                    dtype: DTypeLike) -> tuple[Parameter, Parameter | None]:
    """The Parameters of a linear layer: by default uniform in +-1 / sqrt(fan_in), He's rule with slope sqrt(5).

    shape : of the weight; channels : size of the bias; without one, None stands in its place
    """
    weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
    weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
    if not has_bias:
        return weight, None
    bias_init = Uniform(1 / math.sqrt(fans(shape)[0])) if bias_init is None else bias_init
    return weight, Parameter(initializer(bias_init, (channels,), dtype), name="bias")


class Dense(Cell):
    """activation(x @ weight.T + bias), over the last axis.

    in_channels, out_channels : sizes of the last axis before and after
    weight_init : initialiser of weight [out_channels, in_channels]; HeUniform(sqrt(5)) by default
    bias_init   : initialiser of bias [out_channels]; uniform in +-1 / sqrt(in_channels) by default
    activation  : name or Cell, applied last
    x           : [.., in_channels]; output : [.., out_channels]
    raises      : ArgumentError, ValueRangeError for bad arguments; ShapeError where the last axis is not in_channels
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, in_channels: int, out_channels: int, weight_init: Init | None = None, bias_init: Init | None = None,
                 has_bias: bool = True, activation: Cell | str | Function | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        self.in_channels = positive_int("Dense", "in_channels", in_channels)
        self.out_channels = positive_int("Dense", "out_channels", out_channels)
        self.has_bias = flag("Dense", "has_bias", has_bias)
        self.weight, self.bias = weight_and_bias((out_channels, in_channels), out_channels, weight_init, bias_init,
                                                 has_bias, dtype)
        self.activation = as_activation("Dense", activation)
        self.activation_flag = self.activation is not None

    def construct(self, x: Tensor) -> Tensor:
        x = ops.dense(x, self.cast_param(self.weight), self.cast_param(self.bias))
        if self.activation_flag:
            x = self.activation(x)
        return x

    def matmul(self, x: Tensor, weight: Tensor) -> Tensor:
        """x[.., in] @ weight[out, in].T, without bias: for a subclass's `construct`."""
        return ops.dense(x, weight)

    def bias_add(self, x: Tensor, bias: Tensor) -> Tensor:
        """x[.., out] + bias[out]: for a subclass's `construct`."""
        return x + bias

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        if self.activation_flag:
            text += f", activation={self.activation}"
        return text


class Flatten(Cell):
    """Axes start_dim to end_dim made one, in row-major order.

    x : [..]; a tensor without axes becomes [1]
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        if any(isinstance(axis, bool) or not isinstance(axis, int) for axis in (start_dim, end_dim)):
            raise ArgumentError("Flatten: start_dim and end_dim are ints")
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """x.

    x : anything;   output : x itself, a Tensor where it is one
    """

    def construct(self, x: Tensor) -> Tensor:
        return x


class Dropout(Cell):
    """In training each element is zero with probability p, the others are divided by 1 - p (Srivastava et al. 2014).

    p         : probability of zero, in [0, 1)
    keep_prob : the older argument, 1 - p; used where p is not given
    dtype     : MindSpore's; the result has the dtype of x
    x, output : float, any shape; unchanged unless `set_train()` was called
    raises    : ArgumentError for a p that is no number, ValueRangeError for one outside
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        if p is None:
            if not 0 < keep_prob <= 1:
                raise ValueRangeError(f"Dropout: keep_prob {keep_prob} is outside (0, 1]")
            p = 1 - keep_prob
        if isinstance(p, bool) or not isinstance(p, (int, float)):
            raise ArgumentError(f"Dropout: p is a number, not {type(p).__name__}")
        if not 0 <= p < 1:
            raise ValueRangeError(f"Dropout: p {p} is outside [0, 1)")
        self.p = p

    def construct(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        return ops.dropout(x, self.p)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class _ChannelDropout(Cell):
    """Zero whole channels [n, c, ..]: what Dropout1d, 2d and 3d share (Tompson et al. 2015)."""
    function: Any = None

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if isinstance(p, bool) or not isinstance(p, (int, float)):
            raise ArgumentError(f"{type(self).__name__}: p is a number, not {type(p).__name__}")
        if not 0 <= p <= 1:
            raise ValueRangeError(f"{type(self).__name__}: p {p} is outside [0, 1]")
        self.p = p

    def construct(self, x: Tensor) -> Tensor:
        return self.function(x, self.p, self.training)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_ChannelDropout):
    """Zero whole channels of [N, C, L] or [C, L] with probability p, in training."""
    function = staticmethod(ops.dropout1d)


class Dropout2d(_ChannelDropout):
    """Zero whole channels of [N, C, H, W] or [C, H, W] with probability p, in training."""
    function = staticmethod(ops.dropout2d)


class Dropout3d(_ChannelDropout):
    """Zero whole channels of [N, C, D, H, W] or [C, D, H, W] with probability p, in training."""
    function = staticmethod(ops.dropout3d)
