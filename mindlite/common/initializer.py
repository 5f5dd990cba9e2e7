"""Initialisers: how the first values of a Parameter are drawn.

    initializer("he_uniform", (512, 784))        a Tensor f32[512, 784], uniform in +-sqrt(6 / 784)

An Initializer is a rule `init(array)` that fills an array in place, so that one rule serves every shape and dtype. All
random ones draw from `seed.generator()`, in the order in which they are called.

Sources: Glorot & Bengio 2010 (Xavier), He et al. 2015 (He), Saxe et al. 2014 (Orthogonal), Martens 2010 (Sparse).
"""
from __future__ import annotations

import math
from typing import Any, Union

import numpy as np

from . import dtype as dt
from .annotations import Ints
from .dtype import DTypeLike
from .errors import ArgumentError, ShapeError, ValueRangeError
from .seed import generator
from .tensor import Tensor

BY_NAME: dict = {}


class Initializer:
    """Base of initialisers: a subclass gives `values(shape)`, an ndarray or number, or fills an array in `_initialize(array)`.

    settings : what is printed
    """

    def __init__(self, **settings: float | str) -> None:
        self.settings = settings

    def __init_subclass__(cls, names: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in (cls.__name__, *names):
            BY_NAME[name.lower()] = cls

    def values(self, shape: tuple[int, ...]) -> Any:
        """The values for `shape` (tuple of int), as float64 or a number."""
        raise NotImplementedError(f"{type(self).__name__} does not define values(shape)")

    def __call__(self, array: np.ndarray) -> None:
        """Fill `array` in place; values are cast to its dtype."""
        self._initialize(array)

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = self.values(array.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self.settings.items())})"


Init = Union[Initializer, str, float, Tensor]                # how a Parameter begins: what `initializer` takes


class Zero(Initializer, names=("zeros",)):
    """All zeros."""

    def values(self, shape: tuple[int, ...]) -> Any:
        return 0


class One(Initializer, names=("ones",)):
    """All ones."""

    def values(self, shape: tuple[int, ...]) -> Any:
        return 1


class Constant(Initializer):
    """All `value`, a number or an array that broadcasts to the shape."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def values(self, shape: tuple[int, ...]) -> Any:
        return self.value


class Normal(Initializer):
    """Normal numbers of standard deviation `sigma` around `mean`."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        self.sigma, self.mean = sigma, mean

    def values(self, shape: tuple[int, ...]) -> Any:
        return generator().normal(self.mean, self.sigma, shape)


class TruncatedNormal(Initializer, names=("truncated_normal",)):
    """Normal numbers, drawn again while outside [a, b] standard deviations of the mean."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        if a >= b:
            raise ValueRangeError(f"TruncatedNormal: a={a} is not below b={b}")
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def values(self, shape: tuple[int, ...]) -> Any:
        return self.mean + self.sigma * _truncated_normal(shape, self.a, self.b)


class Uniform(Initializer):
    """Uniform numbers in [-scale, scale]."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def values(self, shape: tuple[int, ...]) -> Any:
        return generator().uniform(-self.scale, self.scale, shape)


class XavierUniform(Initializer, names=("xavier_uniform",)):
    """Uniform in +-gain * sqrt(6 / (fan_in + fan_out))."""

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def values(self, shape: tuple[int, ...]) -> Any:
        bound = self.gain * math.sqrt(6.0 / sum(fans(shape)))
        return generator().uniform(-bound, bound, shape)


class XavierNormal(Initializer, names=("xavier_normal",)):
    """Normal with sigma = gain * sqrt(2 / (fan_in + fan_out))."""

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def values(self, shape: tuple[int, ...]) -> Any:
        return generator().normal(0.0, self.gain * math.sqrt(2.0 / sum(fans(shape))), shape)


class _He(Initializer):
    """What HeUniform and HeNormal share: sigma = gain / sqrt(fan)."""

    def __init__(self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        if mode not in ("fan_in", "fan_out"):
            raise ValueRangeError(f"{type(self).__name__}: mode is fan_in or fan_out, not {mode!r}")
        self.mode, self.gain = mode, gain_of(nonlinearity, negative_slope)

    def sigma(self, shape: tuple[int, ...]) -> float:
        """The standard deviation for `shape`."""
        fan_in, fan_out = fans(shape)
        return self.gain / math.sqrt(fan_in if self.mode == "fan_in" else fan_out)


class HeUniform(_He, names=("he_uniform",)):
    """Uniform in +-gain * sqrt(3 / fan); gain is that of `nonlinearity` (He et al. 2015)."""

    def values(self, shape: tuple[int, ...]) -> Any:
        bound = math.sqrt(3.0) * self.sigma(shape)
        return generator().uniform(-bound, bound, shape)


class HeNormal(_He, names=("he_normal",)):
    """Normal with sigma = gain / sqrt(fan); gain is that of `nonlinearity` (He et al. 2015)."""

    def values(self, shape: tuple[int, ...]) -> Any:
        return generator().normal(0.0, self.sigma(shape), shape)


class VarianceScaling(Initializer, names=("variance_scaling",)):
    """Variance scale / n, n being fan_in, fan_out or their mean (fan_avg).

    distribution : "uniform", "truncated_normal" or "untruncated_normal"
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        if scale <= 0:
            raise ValueRangeError(f"VarianceScaling: scale {scale} is not positive")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueRangeError(f"VarianceScaling: mode is fan_in, fan_out or fan_avg, not {mode!r}")
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueRangeError(f"VarianceScaling: unknown distribution {distribution!r}")
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def values(self, shape: tuple[int, ...]) -> Any:
        fan_in, fan_out = fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        sigma = math.sqrt(self.scale / fan)
        if self.distribution == "uniform":
            return generator().uniform(-math.sqrt(3.0) * sigma, math.sqrt(3.0) * sigma, shape)
        if self.distribution == "untruncated_normal":
            return generator().normal(0.0, sigma, shape)
        return sigma / 0.87962566103423978 * _truncated_normal(shape, -2.0, 2.0)  # the sigma that cutting leaves


class Orthogonal(Initializer):
    """Orthonormal rows or columns of the matrix [shape[0], rest], times gain (Saxe et al. 2014)."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def values(self, shape: tuple[int, ...]) -> Any:
        if len(shape) < 2:
            raise ShapeError(f"Orthogonal: at least two axes are needed, the shape is {list(shape)}")
        rows, columns = shape[0], math.prod(shape[1:])
        q, r = np.linalg.qr(generator().normal(size=(max(rows, columns), min(rows, columns))))
        q = q * np.sign(np.diag(r))                       # makes q uniform among orthogonal matrices (Mezzadri 2007)
        return self.gain * (q if rows >= columns else q.T).reshape(shape)


class Identity(Initializer):
    """The identity matrix; the shape has two axes."""

    def values(self, shape: tuple[int, ...]) -> Any:
        if len(shape) != 2:
            raise ShapeError(f"Identity: two axes are needed, the shape is {list(shape)}")
        return np.eye(*shape)


class Dirac(Initializer):
    """The convolution kernel that passes its input through, channel by channel: [out, in / groups, ..], 3 to 5 axes."""

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        if groups < 1:
            raise ValueRangeError(f"Dirac: groups {groups} is not positive")
        self.groups = groups

    def values(self, shape: tuple[int, ...]) -> Any:
        if not 3 <= len(shape) <= 5:
            raise ShapeError(f"Dirac: 3 to 5 axes are needed, the shape is {list(shape)}")
        if shape[0] % self.groups:
            raise ShapeError(f"Dirac: {shape[0]} output channels do not split into {self.groups} groups")
        array, per_group = np.zeros(shape), shape[0] // self.groups
        middle = tuple(size // 2 for size in shape[2:])
        for group in range(self.groups):
            for channel in range(min(per_group, shape[1])):
                array[(group * per_group + channel, channel, *middle)] = 1.0
        return array


class Sparse(Initializer):
    """Normal numbers of which in each column the fraction `sparsity` is zero (Martens 2010); two axes."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        super().__init__(sparsity=sparsity, sigma=sigma)
        self.sparsity, self.sigma = sparsity, sigma

    def values(self, shape: tuple[int, ...]) -> Any:
        if len(shape) != 2:
            raise ShapeError(f"Sparse: two axes are needed, the shape is {list(shape)}")
        array = generator().normal(0.0, self.sigma, shape)
        for column in range(shape[1]):
            array[generator().permutation(shape[0])[:math.ceil(self.sparsity * shape[0])], column] = 0.0
        return array


def initializer(init: Any, shape: Ints | None = None, dtype: DTypeLike = dt.float32) -> Tensor:
    """A Tensor of `shape` and `dtype` with first values by `init`.

    init   : an Initializer, its name ("normal", "he_uniform", "zeros", ..), a number, or a Tensor of that shape
    shape  : int, tuple or list of int
    raises : ArgumentError for another kind of init, ShapeError where a Tensor's shape differs,
             ValueRangeError for an unknown name
    """
    if isinstance(init, Tensor):
        if shape is not None and _as_shape(shape) != init.shape:
            raise ShapeError(f"initializer: the Tensor has shape {list(init.shape)}, not {list(_as_shape(shape))}")
        return Tensor(init, dtype)
    if isinstance(init, str):
        if init.lower() not in BY_NAME:
            raise ValueRangeError(f"initializer: no initialiser is named {init!r}",
                                  hint="one of " + ", ".join(sorted(BY_NAME)))
        init = BY_NAME[init.lower()]()
    elif isinstance(init, (int, float)) and not isinstance(init, bool):
        init = Constant(init)
    elif not isinstance(init, Initializer):
        raise ArgumentError("initializer: init is an Initializer, its name, a number or a Tensor, "
                            f"not {type(init).__name__}")
    return Tensor(shape=() if shape is None else _as_shape(shape), dtype=dtype, init=init).init_data()


def _as_shape(shape: Any) -> tuple[int, ...]:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for size in shape:
        if isinstance(size, bool) or not hasattr(size, "__index__") or size < 0:
            raise ArgumentError(f"initializer: a size is an int that is not negative, not {size!r}")
    return tuple(size.__index__() for size in shape)


def fans(shape: Any) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight [out, in, *receptive field]; raises ShapeError below two axes."""
    if len(shape) < 2:
        raise ShapeError(f"the fans of a weight need at least two axes, the shape is {list(shape)}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def gain_of(nonlinearity: str, negative_slope: float = 0) -> float:
    """The factor by which `nonlinearity` shrinks the standard deviation of what passes through it, inverted."""
    if nonlinearity in ("linear", "sigmoid", "conv1d", "conv2d", "conv3d"):
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + negative_slope ** 2))
    raise ValueRangeError(f"no gain is known for the nonlinearity {nonlinearity!r}")


def _truncated_normal(shape: tuple[int, ...], a: float, b: float) -> Any:
    """Standard normal numbers in [a, b], by drawing again those outside."""
    array = np.asarray(generator().normal(size=shape))
    outside = (array < a) | (array > b)
    while outside.any():
        array[outside] = generator().normal(size=int(outside.sum()))
        outside = (array < a) | (array > b)
    return array
