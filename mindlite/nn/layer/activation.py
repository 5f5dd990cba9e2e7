"""Activation functions as Cells; their mathematics stands in `ops`. `get_activation("relu")` makes one by name."""
from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...common import dtype
from ...common.errors import ArgumentError, ValueRangeError
from ...common.initializer import Init, initializer
from ...common.tensor import Parameter, Tensor
from ..cell import Cell


class ReLU(Cell):
    """max(x, 0) (Nair & Hinton 2010).

    x      : float[...]; output : like x
    raises : DTypeError for a bool or complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu(x)


class ReLU6(Cell):
    """min(max(x, 0), 6) (Krizhevsky 2010).

    x      : float[...]; output : like x
    raises : DTypeError for a bool or complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu6(x)


class LeakyReLU(Cell):
    """x where x >= 0, else alpha * x (Maas et al. 2013).

    alpha  : float, the slope below 0
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.leaky_relu(x, self.alpha)


class PReLU(Cell):
    """x where x >= 0, else w * x with a learned w: one, or one for each channel on axis 1 (He et al. 2015).

    channel : 1 or the number of channels
    w       : first value, a number, a Tensor of [channel] or a list of `channel` floats
    raises  : ValueRangeError for another list, ShapeError for another Tensor
    """

    def __init__(self, channel: int = 1, w: Init | list[float] = 0.25) -> None:
        super().__init__()
        if isinstance(channel, bool) or not isinstance(channel, int) or channel < 1:
            raise ValueRangeError(f"PReLU: channel is a positive int, not {channel!r}")
        if isinstance(w, list):
            if len(w) != channel or not all(isinstance(x, (float, np.floating)) for x in w):
                raise ValueRangeError(f"PReLU: w is a list of {channel} floats, not {w!r}")
            w = Tensor(w, dtype.float32)
        self.w = Parameter(initializer(w, (channel,)), name="a")

    def construct(self, x: Tensor) -> Tensor:
        return ops.prelu(x, self.cast_param(self.w))


class ELU(Cell):
    """x where x > 0, else alpha * (exp(x) - 1) (Clevert et al. 2016).

    alpha  : float, minus the limit below
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.elu(x, self.alpha)


class CELU(Cell):
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0) (Barron 2017).

    alpha  : float, minus the limit below; not 0
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return ops.celu(x, self.alpha)


class SeLU(Cell):
    """The scaled ELU that keeps mean 0 and variance 1 (Klambauer et al. 2017).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.selu(x)


class GELU(Cell):
    """x * Phi(x) (Hendrycks & Gimpel 2016).

    approximate : bool; True: by tanh, False: by erf
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = "tanh" if approximate else "none"

    def construct(self, x: Tensor) -> Tensor:
        return ops.gelu(x, self.approximate)


class SiLU(Cell):
    """x * sigmoid(x) (Elfwing et al. 2018).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.silu(x)


class FastGelu(Cell):
    """x * sigmoid(1.702 x), close to GELU (Hendrycks & Gimpel 2016).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.fast_gelu(x)


class Mish(Cell):
    """x * tanh(softplus(x)) (Misra 2019).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.mish(x)


class HSwish(Cell):
    """x * relu6(x + 3) / 6 (Howard et al. 2019).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardswish(x)


class HSigmoid(Cell):
    """relu6(x + 3) / 6 (Howard et al. 2019).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardsigmoid(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.sigmoid(x)


class LogSigmoid(Cell):
    """log(sigmoid(x)), without overflow.

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.logsigmoid(x)


class Tanh(Cell):
    """tanh(x).

    x      : float[...] or complex[...]; output : like x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanh(x)


class Tanhshrink(Cell):
    """x - tanh(x).

    x      : float[...] or complex[...]; output : like x
    """

    def construct(self, x: Tensor) -> Tensor:
        return x - ops.tanh(x)


class Hardtanh(Cell):
    """x cut to [min_val, max_val]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        if min_val > max_val:
            raise ValueRangeError(f"Hardtanh: min_val={min_val} is above max_val={max_val}")
        self.min_val, self.max_val = min_val, max_val

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardtanh(x, self.min_val, self.max_val)


class HShrink(Cell):
    """x where |x| > lambd, else 0.

    lambd  : float, the threshold
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Tensor) -> Tensor:
        return ops.hardshrink(x, self.lambd)

    def extend_repr(self) -> str:
        return f"lambd={self.lambd}"


class SoftShrink(Cell):
    """x moved towards 0 by lambd, 0 inside [-lambd, lambd]."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Tensor) -> Tensor:
        return ops.softshrink(x, self.lambd)

    def extend_repr(self) -> str:
        return f"lambd={self.lambd}"


class Softsign(Cell):
    """x / (1 + |x|).

    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.softsign(x)


class Threshold(Cell):
    """x where x > threshold, else value.

    threshold, value : float
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def construct(self, x: Tensor) -> Tensor:
        return ops.where(ops.greater(x, self.threshold), x, self.value)


class GLU(Cell):
    """a * sigmoid(b), with a and b the halves of x along `axis` (Dauphin et al. 2017).

    axis   : int
    x      : float[...]; output : half as long along axis
    raises : DTypeError for a complex x, ShapeError for an odd size
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return ops.glu(x, self.axis)


class Softmax(Cell):
    """exp(x) normalised to sum 1 along `axis`.

    axis   : int
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    @property
    def softmax(self) -> Any:
        """The operation, as MindSpore's layer has it: its axis is a tuple."""
        return ops.operations.Softmax((self.axis,))

    def construct(self, x: Tensor) -> Tensor:
        return ops.softmax(x, self.axis)

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


class Softmax2d(Cell):
    """Softmax over the channels of x : [N, C, H, W] or [C, H, W]."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.softmax(x, -3)


class RReLU(Cell):
    """x where it is not negative, else times a slope drawn from [lower, upper) (Xu et al. 2015).

    lower, upper : float, the range of slopes
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower, self.upper = lower, upper

    def construct(self, x: Tensor) -> Tensor:
        return ops.rrelu(x, self.lower, self.upper)

    def extend_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


class Softmin(Cell):
    """softmax(-x) along `axis`.

    axis   : int
    x      : float[...]; output : like x
    raises : DTypeError for a bool or complex x
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return ops.softmin(x, self.axis)

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


class LogSoftmax(Cell):
    """log(softmax(x)) along `axis`, without overflow.

    axis   : int
    x      : float[...]; output : like x
    raises : DTypeError for a complex x
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return ops.log_softmax(x, self.axis)

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


_BY_NAME = {
    "relu": ReLU, "relu6": ReLU6, "leakyrelu": LeakyReLU, "prelu": PReLU, "elu": ELU, "selu": SeLU, "gelu": GELU,
    "silu": SiLU, "mish": Mish, "hswish": HSwish, "hsigmoid": HSigmoid, "sigmoid": Sigmoid, "logsigmoid": LogSigmoid,
    "tanh": Tanh,
    "softshrink": SoftShrink, "hshrink": HShrink, "softsign": Softsign, "softmax": Softmax, "logsoftmax": LogSoftmax,
}


def get_activation(name: str | None, prim_name: str | None = None) -> Any:
    """A new Cell of the activation that `name` names; None for None.

    raises : ValueRangeError if there is none; prim_name names who asks
    """
    if name is None:
        return None
    if name not in _BY_NAME:
        raise ValueRangeError(f"{prim_name or 'get_activation'}: no activation is named {name!r}",
                              hint="one of " + ", ".join(sorted(_BY_NAME)))
    return _BY_NAME[name]()


def as_activation(owner: str, activation: Any) -> Any:
    """The activation that a layer was given: a name, a Cell or another callable, or None. raises : ArgumentError"""
    if activation is None or isinstance(activation, str):
        return get_activation(activation, owner)
    if not callable(activation):
        raise ArgumentError(f"{owner}: activation is a name or a Cell, not {type(activation).__name__}")
    return activation
