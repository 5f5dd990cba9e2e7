"""Distributions on the whole real line, each of z = (value - location) / scale.

source : Johnson, Kotz, Balakrishnan 1994 and 1995, "Continuous univariate distributions"
"""
import math
from typing import Any, NoReturn

from .... import ops
from ....common import dtype as dt
from ....common.errors import ValueRangeError
from ....common.tensor import Tensor
from ....ops.elementary import normal_cdf
from .distribution import Distribution
from .parameters import positive, real

HALF_LOG_2PI, EULER = 0.5 * math.log(2 * math.pi), 0.5772156649015329


def open_uniform(shape: tuple[int, ...], dtype: dt.DType, seed: int | None) -> Tensor:
    """Numbers evenly spread in (0, 1), without the ends."""
    return ops.maximum(ops.rand(shape, dtype=dtype, seed=seed), float(2.0 ** -25))


def raise_undefined(name: str, what: str) -> NoReturn:
    """raises : ValueRangeError"""
    raise ValueRangeError(f"{name}: it has no {what}")


def log_normal_cdf(z: Tensor) -> Tensor:
    """log of normal_cdf(z), precise in both tails: below -10 by the asymptotic series (Abramowitz and Stegun 26.2.12)."""
    far = ops.less(z, -10)
    low, high = ops.where(far, z, -10.0), ops.where(far, -10.0, z)
    step = 1 / ops.square(low)
    series = 1 - step * (1 - 3 * step * (1 - 5 * step * (1 - 7 * step * (1 - 9 * step))))
    tail = -0.5 * ops.square(low) - ops.log(-low) - HALF_LOG_2PI + ops.log(series)
    up = ops.greater(high, 0)
    near = ops.where(up, ops.log1p(-normal_cdf(ops.where(up, -high, 0.0))),
                     ops.log(normal_cdf(ops.where(up, 0.0, high))))
    return ops.where(far, tail, near)


class Normal(Distribution):
    """The normal distribution: density exp(-z^2 / 2) / (sd sqrt(2 pi)), z = (value - mean) / sd.

    mean, sd : numbers, lists, arrays or Tensors, sd above 0; None: given at each call
    seed, dtype, name : see Distribution
    """

    parameters_are = {"mean": real, "sd": positive}

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "Normal") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"mean": mean, "sd": sd}})

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return -0.5 * ops.square((value - mean) / sd) - ops.log(sd) - HALF_LOG_2PI

    def _cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return normal_cdf((value - mean) / sd)

    def _log_cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return log_normal_cdf((value - mean) / sd)

    def _survival_function(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return normal_cdf((mean - value) / sd)

    def _log_survival(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return log_normal_cdf((mean - value) / sd)

    def _mean(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean

    def _mode(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean

    def _sd(self, mean: Tensor, sd: Tensor) -> Tensor:
        return sd

    def _entropy(self, mean: Tensor, sd: Tensor) -> Tensor:
        return ops.log(sd) + HALF_LOG_2PI + 0.5

    def _kl_loss(self, dist: str, mean_b: Tensor, sd_b: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return 0.5 * (ops.square((mean - mean_b) / sd_b) + ops.square(sd / sd_b) - 1) - ops.log(sd / sd_b)

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        return ops.standard_normal(shape + tuple(mean.shape), self._stream, dtype=self.parameter_type) * sd + mean


class Laplace(Distribution):
    """The distribution of Laplace: density exp(-abs(z)) / (2 sd), z = (value - mean) / sd.

    mean, sd : numbers, lists, arrays or Tensors, sd above 0: the scale, whose sqrt(2) is the standard deviation;
               None: given at each call
    seed, dtype, name : see Distribution
    """

    parameters_are = {"mean": real, "sd": positive}

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "Laplace") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"mean": mean, "sd": sd}})

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return -ops.abs((value - mean) / sd) - ops.log(2 * sd)

    def _log_cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        small = ops.exp(-ops.abs(z)) / 2
        return ops.where(ops.less(z, 0), z - math.log(2), ops.log1p(-small))

    def _log_survival(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return self._log_cdf(2 * mean - value, mean, sd)

    def _mean(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean

    def _mode(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean

    def _sd(self, mean: Tensor, sd: Tensor) -> Tensor:
        return math.sqrt(2) * sd

    def _entropy(self, mean: Tensor, sd: Tensor) -> Tensor:
        return 1 + ops.log(2 * sd)

    def _kl_loss(self, dist: str, mean_b: Tensor, sd_b: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        gap = ops.abs(mean - mean_b)
        return (sd * ops.exp(-gap / sd) + gap) / sd_b + ops.log(sd_b / sd) - 1

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        u = ops.rand(shape + tuple(mean.shape), dtype=self.parameter_type, seed=self._stream) - 0.5
        return mean - sd * ops.sign(u) * ops.log1p(-2 * ops.abs(u) * (1 - 2.0 ** -24))


class Logistic(Distribution):
    """The logistic distribution: probability of at most value sigmoid(z), z = (value - loc) / scale.

    loc, scale : numbers, lists, arrays or Tensors, scale above 0; None: given at each call
    seed, dtype, name : see Distribution
    """

    parameters_are = {"loc": real, "scale": positive}

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "Logistic") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"loc": loc, "scale": scale}})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        z = (value - loc) / scale
        return ops.logsigmoid(z) + ops.logsigmoid(-z) - ops.log(scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.sigmoid((value - loc) / scale)

    def _log_cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.logsigmoid((value - loc) / scale)

    def _survival_function(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.sigmoid((loc - value) / scale)

    def _log_survival(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.logsigmoid((loc - value) / scale)

    def _mean(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc

    def _mode(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc

    def _sd(self, loc: Tensor, scale: Tensor) -> Tensor:
        return scale * (math.pi / math.sqrt(3))

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.log(scale) + 2

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        u = open_uniform(shape + tuple(loc.shape), self.parameter_type, self._stream)
        return loc + scale * (ops.log(u) - ops.log1p(-u))


class Cauchy(Distribution):
    """The distribution of Cauchy: density 1 / (pi scale (1 + z^2)), z = (value - loc) / scale. It has no mean.

    loc, scale : numbers, lists, arrays or Tensors, scale above 0; None: given at each call
    seed, dtype, name : see Distribution
    raises : ValueRangeError (mean, sd, var) : there is none
    """

    parameters_are = {"loc": real, "scale": positive}

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "Cauchy") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"loc": loc, "scale": scale}})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.log1p(ops.square((value - loc) / scale)) - ops.log(math.pi * scale)

    def _cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.atan2(ops.ones_like(value - loc), (loc - value) / scale) / math.pi

    def _survival_function(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.atan2(ops.ones_like(value - loc), (value - loc) / scale) / math.pi

    def _mean(self, loc: Tensor, scale: Tensor) -> Tensor:
        raise_undefined(self._name, "mean")

    def _sd(self, loc: Tensor, scale: Tensor) -> Tensor:
        raise_undefined(self._name, "standard deviation")

    def _mode(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.log(4 * math.pi * scale)

    def _kl_loss(self, dist: str, loc_b: Tensor, scale_b: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.log((ops.square(scale + scale_b) + ops.square(loc - loc_b)) / (4 * scale * scale_b))

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        u = open_uniform(shape + tuple(loc.shape), self.parameter_type, self._stream)
        return loc + scale * ops.tan(math.pi * (u - 0.5))


class Gumbel(Distribution):
    """The distribution of Gumbel: probability of at most value exp(-exp(-z)), z = (value - loc) / scale.

    loc, scale : numbers, lists, arrays or Tensors, scale above 0
    seed, dtype, name : see Distribution
    """

    parameters_are = {"loc": real, "scale": positive}

    def __init__(self, loc: Any, scale: Any, seed: int | None = 0, dtype: dt.DType = dt.float32, name: str = "Gumbel") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"loc": loc, "scale": scale}})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        z = (value - loc) / scale
        return -z - ops.exp(-z) - ops.log(scale)

    def _log_cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.exp((loc - value) / scale)

    def _survival_function(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return -ops.expm1(self._log_cdf(value, loc, scale))

    def _mean(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc + EULER * scale

    def _mode(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc

    def _sd(self, loc: Tensor, scale: Tensor) -> Tensor:
        return scale * (math.pi / math.sqrt(6))

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return 1 + EULER + ops.log(scale)

    def _kl_loss(self, dist: str, loc_b: Tensor, scale_b: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        ratio, shift = scale / scale_b, (loc_b - loc) / scale_b
        return EULER * (ratio - 1) - ops.log(ratio) + ops.expm1(shift + ops.lgamma(ratio + 1)) - shift

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return loc + scale * ops.gumbel(shape + tuple(loc.shape), self._stream, dtype=self.parameter_type)


class StudentT(Distribution):
    """Student's t distribution: density in proportion to (1 + z^2 / df)^(-(df + 1) / 2), z = (value - mean) / sd.

    df, mean, sd : numbers, lists, arrays or Tensors, df and sd above 0: sd is the scale; None: given at each call
    seed, dtype, name : see Distribution
    gradient     : samples have one by df too, that of the gamma numbers they are made of (Figurnov et al. 2018)
    """

    parameters_are = {"df": positive, "mean": real, "sd": positive}

    def __init__(self, df: Any = None, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "StudentT") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"df": df, "mean": mean, "sd": sd}})

    def _log_prob(self, value: Tensor, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        whole = ops.lgamma((df + 1) / 2) - ops.lgamma(df / 2) - 0.5 * ops.log(math.pi * df) - ops.log(sd)
        return whole - (df + 1) / 2 * ops.log1p(ops.square(z) / df)

    def _cdf(self, value: Tensor, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        outer = ops.betainc(df / 2, ops.full_like(df, 0.5), df / (df + ops.square(z))) / 2
        return ops.where(ops.less(z, 0), outer, 1 - outer)

    def _survival_function(self, value: Tensor, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return self._cdf(2 * mean - value, df, mean, sd)

    def _mean(self, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return ops.where(ops.greater(df, 1), mean, math.nan)

    def _mode(self, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return mean

    def _var(self, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        some = ops.greater(df, 2)
        none = ops.where(ops.greater(df, 1), math.inf, math.nan)
        return ops.where(some, ops.square(sd) * df / ops.where(some, df - 2, 1.0), none)

    def _entropy(self, df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        half = (df + 1) / 2
        beta = ops.lgamma(df / 2) + math.lgamma(0.5) - ops.lgamma(half)
        return half * (ops.digamma(half) - ops.digamma(df / 2)) + 0.5 * ops.log(df) + beta + ops.log(sd)

    def _sample(self, shape: tuple[int, ...], df: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        normal = ops.standard_normal(shape + tuple(df.shape), self._stream, dtype=self.parameter_type)
        return mean + sd * normal * ops.sqrt(df / 2 / ops.random_gamma(shape, df / 2, self._stream))
