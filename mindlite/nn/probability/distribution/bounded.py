"""Continuous distributions on a half line or an interval: outside of it the density is 0.

Formulas are taken at a position inside where `value` is outside, so that gradients are 0 there and not NaN.
source : Johnson, Kotz, Balakrishnan 1994 and 1995, "Continuous univariate distributions"
"""
import math
from collections.abc import Callable
from typing import Any

from .... import ops
from ....common import dtype as dt
from ....common.errors import ValueRangeError
from ....common.tensor import Parameter, Tensor
from .distribution import Distribution
from .parameters import positive, real
from .real_line import HALF_LOG_2PI, log_normal_cdf, open_uniform


def within(support: Tensor, value: Tensor, inner: Tensor | float, formula: Callable[[Tensor], Tensor], outside: float) -> Tensor:
    """formula(value) where `support` (bool) says so, else the number `outside`; inner : a position of the support."""
    return ops.where(support, formula(ops.where(support, value, inner)), outside)


def _between(value: Tensor, low: Tensor | float, high: Tensor | float) -> Tensor:
    return ops.logical_and(ops.greater_equal(value, low), ops.less_equal(value, high))


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """The logarithm of Euler's beta function."""
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


class LogNormal(Distribution):
    """The distribution of exp(n), n normal of mean loc and standard deviation scale.

    loc, scale : numbers, lists, arrays or Tensors, scale above 0; None: given at each call
    seed, dtype, name : see Distribution
    """

    parameters_are = {"loc": real, "scale": positive}

    def __init__(self, loc: Any = None, scale: Any = None, seed: int | None = 0, dtype: dt.DType = dt.float32,
                 name: str = "LogNormal") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"loc": loc, "scale": scale}})

    def _log_prob(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        def density(x):
            logs = ops.log(x)
            return -0.5 * ops.square((logs - loc) / scale) - ops.log(scale) - HALF_LOG_2PI - logs
        return within(ops.greater(value, 0), value, 1.0, density, -math.inf)

    def _log_cdf(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return within(ops.greater(value, 0), value, 1.0, lambda x: log_normal_cdf((ops.log(x) - loc) / scale), -math.inf)

    def _log_survival(self, value: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return within(ops.greater(value, 0), value, 1.0, lambda x: log_normal_cdf((loc - ops.log(x)) / scale), 0.0)

    def _mean(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(loc + ops.square(scale) / 2)

    def _mode(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(loc - ops.square(scale))

    def _var(self, loc: Tensor, scale: Tensor) -> Tensor:
        return ops.expm1(ops.square(scale)) * ops.exp(2 * loc + ops.square(scale))

    def _entropy(self, loc: Tensor, scale: Tensor) -> Tensor:
        return loc + 0.5 + ops.log(scale) + HALF_LOG_2PI

    def _kl_loss(self, dist: str, loc_b: Tensor, scale_b: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        return 0.5 * (ops.square((loc - loc_b) / scale_b) + ops.square(scale / scale_b) - 1) - ops.log(scale / scale_b)

    def _sample(self, shape: tuple[int, ...], loc: Tensor, scale: Tensor) -> Tensor:
        return ops.exp(ops.standard_normal(shape + tuple(loc.shape), self._stream, dtype=self.parameter_type) * scale + loc)


class HalfNormal(Distribution):
    """The distribution of mean + abs(n), n normal of mean 0 and standard deviation sd.

    mean, sd : numbers, lists, arrays or Tensors, sd above 0: where it begins, and the scale; None: given at each call
    seed, dtype, name : see Distribution
    """

    parameters_are = {"mean": real, "sd": positive}

    def __init__(self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "HalfNormal") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"mean": mean, "sd": sd}})

    def _log_prob(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        z = (value - mean) / sd
        return ops.where(ops.less(z, 0), -math.inf, math.log(2) - HALF_LOG_2PI - 0.5 * ops.square(z) - ops.log(sd))

    def _cdf(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return within(ops.greater(value, mean), value, mean, lambda x: ops.erf((x - mean) / (sd * math.sqrt(2))), 0.0)

    def _log_survival(self, value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        return within(ops.greater(value, mean), value, mean,
                      lambda x: math.log(2) + log_normal_cdf((mean - x) / sd), 0.0)

    def _mean(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean + sd * math.sqrt(2 / math.pi)

    def _mode(self, mean: Tensor, sd: Tensor) -> Tensor:
        return mean

    def _sd(self, mean: Tensor, sd: Tensor) -> Tensor:
        return sd * math.sqrt(1 - 2 / math.pi)

    def _entropy(self, mean: Tensor, sd: Tensor) -> Tensor:
        return 0.5 + HALF_LOG_2PI - math.log(2) + ops.log(sd)

    def _kl_loss(self, dist: str, mean_b: Tensor, sd_b: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        gap = mean - mean_b
        square = ops.square(sd) + 2 * math.sqrt(2 / math.pi) * gap * sd + ops.square(gap)
        return ops.where(ops.less(gap, 0), math.inf, square / (2 * ops.square(sd_b)) - 0.5 - ops.log(sd / sd_b))

    def _sample(self, shape: tuple[int, ...], mean: Tensor, sd: Tensor) -> Tensor:
        return mean + sd * ops.abs(ops.standard_normal(shape + tuple(mean.shape), self._stream, dtype=self.parameter_type))


class Uniform(Distribution):
    """The distribution that is even between low and high.

    low, high : numbers, lists, arrays or Tensors, low below high; None: given at each call
    seed, dtype, name : see Distribution
    raises : ValueRangeError unless low is below high
    """

    parameters_are = {"low": real, "high": real}

    def __init__(self, low: Any = None, high: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "Uniform") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"low": low, "high": high}})
        known = all(v is not None and not isinstance(v, Parameter) for v in (self.low, self.high))
        if known and not (self.low.asnumpy() < self.high.asnumpy()).all():
            raise ValueRangeError(f"{name}: low is below high", note=f"low: {low}, high: {high}")

    def _log_prob(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return ops.where(_between(value, low, high), -ops.log(high - low), -math.inf)

    def _cdf(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return ops.clamp((value - low) / (high - low), 0.0, 1.0)

    def _survival_function(self, value: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return ops.clamp((high - value) / (high - low), 0.0, 1.0)

    def _mean(self, low: Tensor, high: Tensor) -> Tensor:
        return (low + high) / 2

    def _var(self, low: Tensor, high: Tensor) -> Tensor:
        return ops.square(high - low) / 12

    def _entropy(self, low: Tensor, high: Tensor) -> Tensor:
        return ops.log(high - low)

    def _kl_loss(self, dist: str, low_b: Tensor, high_b: Tensor, low: Tensor, high: Tensor) -> Tensor:
        inside = ops.logical_and(ops.less_equal(low_b, low), ops.less_equal(high, high_b))
        return ops.where(inside, ops.log((high_b - low_b) / (high - low)), math.inf)

    def _sample(self, shape: tuple[int, ...], low: Tensor, high: Tensor) -> Tensor:
        u = ops.rand(shape + tuple(low.shape), dtype=self.parameter_type, seed=self._stream)
        return low + u * (high - low)


class Exponential(Distribution):
    """The exponential distribution: density rate exp(-rate value) from 0 on.

    rate : a number, list, array or Tensor above 0; None: given at each call
    seed, dtype, name : see Distribution
    """

    parameters_are = {"rate": positive}

    def __init__(self, rate: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "Exponential") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"rate": rate}})

    def _log_prob(self, value: Tensor, rate: Tensor) -> Tensor:
        return ops.where(ops.less(value, 0), -math.inf, ops.log(rate) - rate * value)

    def _log_survival(self, value: Tensor, rate: Tensor) -> Tensor:
        return -rate * ops.relu(value)

    def _cdf(self, value: Tensor, rate: Tensor) -> Tensor:
        return -ops.expm1(self._log_survival(value, rate))

    def _mean(self, rate: Tensor) -> Tensor:
        return 1 / rate

    def _mode(self, rate: Tensor) -> Tensor:
        return ops.zeros_like(rate)

    def _sd(self, rate: Tensor) -> Tensor:
        return 1 / rate

    def _entropy(self, rate: Tensor) -> Tensor:
        return 1 - ops.log(rate)

    def _kl_loss(self, dist: str, rate_b: Tensor, rate: Tensor) -> Tensor:
        return rate_b / rate - 1 - ops.log(rate_b / rate)

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return -ops.log(open_uniform(shape + tuple(rate.shape), self.parameter_type, self._stream)) / rate


class Gamma(Distribution):
    """The gamma distribution: density in proportion to value^(concentration - 1) exp(-rate value) from 0 on.

    concentration, rate : lists, arrays or Tensors above 0; None: given at each call
    seed, dtype, name   : see Distribution
    gradient            : samples have one by both; that by the concentration is the slope of the quantile function
                          (Figurnov et al. 2018, "Implicit reparameterization gradients")
    """

    parameters_are = {"concentration": positive, "rate": positive}
    numbers = False

    def __init__(self, concentration: Any = None, rate: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32,
                 name: str = "Gamma") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"concentration": concentration, "rate": rate}})

    def _log_prob(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        return within(ops.greater_equal(value, 0), value, 1.0, lambda x:
                      ops.xlogy(concentration - 1, x) + concentration * ops.log(rate) - rate * x - ops.lgamma(concentration),
                      -math.inf)

    def _cdf(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        return ops.igamma(concentration, rate * ops.relu(value))

    def _survival_function(self, value: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        return ops.igammac(concentration, rate * ops.relu(value))

    def _mean(self, concentration: Tensor, rate: Tensor) -> Tensor:
        return concentration / rate

    def _mode(self, concentration: Tensor, rate: Tensor) -> Tensor:
        return ops.where(ops.greater(concentration, 1), (concentration - 1) / rate, math.nan)

    def _var(self, concentration: Tensor, rate: Tensor) -> Tensor:
        return concentration / ops.square(rate)

    def _entropy(self, concentration: Tensor, rate: Tensor) -> Tensor:
        return (concentration - ops.log(rate) + ops.lgamma(concentration)
                + (1 - concentration) * ops.digamma(concentration))

    def _kl_loss(self, dist: str, concentration_b: Tensor, rate_b: Tensor, concentration: Tensor, rate: Tensor) -> Tensor:
        return ((concentration - concentration_b) * ops.digamma(concentration) + ops.lgamma(concentration_b)
                - ops.lgamma(concentration) + concentration_b * ops.log(rate / rate_b) + concentration * (rate_b / rate - 1))

    def _sample(self, shape: tuple[int, ...], concentration: Tensor, rate: Tensor) -> Tensor:
        return ops.random_gamma(shape, concentration, self._stream) / rate


class Beta(Distribution):
    """The beta distribution: density in proportion to value^(concentration1 - 1) (1 - value)^(concentration0 - 1) in (0, 1).

    concentration1, concentration0 : lists, arrays or Tensors above 0; None: given at each call
    seed, dtype, name : see Distribution
    gradient          : samples have one by both, that of the gamma numbers they are made of (Figurnov et al. 2018)
    """

    parameters_are = {"concentration1": positive, "concentration0": positive}
    numbers = False

    def __init__(self, concentration1: Any = None, concentration0: Any = None, seed: int | None = None,
                 dtype: dt.DType = dt.float32, name: str = "Beta") -> None:
        super().__init__(seed, dtype, name,
                         {"param_dict": {"concentration1": concentration1, "concentration0": concentration0}})

    def _log_prob(self, value: Tensor, concentration1: Tensor, concentration0: Tensor) -> Tensor:
        return within(_between(value, 0.0, 1.0), value, 0.5, lambda x: ops.xlogy(concentration1 - 1, x)
                      + ops.xlogy(concentration0 - 1, 1 - x) - log_beta(concentration1, concentration0), -math.inf)

    def _cdf(self, value: Tensor, concentration1: Tensor, concentration0: Tensor) -> Tensor:
        return ops.betainc(concentration1, concentration0, ops.clamp(value, 0.0, 1.0))

    def _survival_function(self, value: Tensor, concentration1: Tensor, concentration0: Tensor) -> Tensor:
        return ops.betainc(concentration0, concentration1, ops.clamp(1 - value, 0.0, 1.0))

    def _mean(self, concentration1: Tensor, concentration0: Tensor) -> Tensor:
        return concentration1 / (concentration1 + concentration0)

    def _mode(self, concentration1: Tensor, concentration0: Tensor) -> Tensor:
        inner = ops.logical_and(ops.greater(concentration1, 1), ops.greater(concentration0, 1))
        return ops.where(inner, (concentration1 - 1) / ops.where(inner, concentration1 + concentration0 - 2, 1.0), math.nan)

    def _var(self, concentration1: Tensor, concentration0: Tensor) -> Tensor:
        whole = concentration1 + concentration0
        return concentration1 * concentration0 / (ops.square(whole) * (whole + 1))

    def _entropy(self, concentration1: Tensor, concentration0: Tensor) -> Tensor:
        whole = concentration1 + concentration0
        return (log_beta(concentration1, concentration0) - (concentration1 - 1) * ops.digamma(concentration1)
                - (concentration0 - 1) * ops.digamma(concentration0) + (whole - 2) * ops.digamma(whole))

    def _kl_loss(self, dist: str, concentration1_b: Tensor, concentration0_b: Tensor, concentration1: Tensor,
                 concentration0: Tensor) -> Tensor:
        gap1, gap0 = concentration1 - concentration1_b, concentration0 - concentration0_b
        return (log_beta(concentration1_b, concentration0_b) - log_beta(concentration1, concentration0)
                + gap1 * ops.digamma(concentration1) + gap0 * ops.digamma(concentration0)
                - (gap1 + gap0) * ops.digamma(concentration1 + concentration0))

    def _sample(self, shape: tuple[int, ...], concentration1: Tensor, concentration0: Tensor) -> Tensor:
        ones = ops.random_gamma(shape, concentration1, self._stream)
        return ones / (ones + ops.random_gamma(shape, concentration0, self._stream))
