"""Discrete distributions: their prob is the probability of a value. Their samples have no gradient.

source : Johnson, Kemp, Kotz 2005, "Univariate discrete distributions"
"""
import math
from typing import Any

from .... import ops
from ....common import dtype as dt
from ....common.tensor import Tensor
from .distribution import Distribution
from .parameters import classes, positive, probability
from .real_line import open_uniform


class Bernoulli(Distribution):
    """The distribution of 1 with the probability probs, else 0.

    probs  : a number, list, array or Tensor in (0, 1); None: given at each call
    dtype  : any integer or float type              seed, name : see Distribution
    values : log_prob of a value between 0 and 1 is value log(probs) + (1 - value) log(1 - probs)
    """

    parameters_are = {"probs": probability}
    kinds = "iuf"

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: dt.DType = dt.int32, name: str = "Bernoulli") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"probs": probs}})

    def _log_prob(self, value: Tensor, probs: Tensor) -> Tensor:
        inside = ops.logical_and(ops.greater_equal(value, 0), ops.less_equal(value, 1))
        x = ops.where(inside, value, 0.0)
        return ops.where(inside, ops.xlogy(x, probs) + ops.xlogy(1 - x, 1 - probs), -math.inf)

    def _cdf(self, value: Tensor, probs: Tensor) -> Tensor:
        return ops.where(ops.less(value, 0), 0.0, ops.where(ops.less(value, 1), 1 - probs, 1.0))

    def _mean(self, probs: Tensor) -> Tensor:
        return probs

    def _mode(self, probs: Tensor) -> Tensor:
        return ops.cast(ops.greater(probs, 0.5), self._dtype)

    def _var(self, probs: Tensor) -> Tensor:
        return probs * (1 - probs)

    def _entropy(self, probs: Tensor) -> Tensor:
        return -probs * ops.log(probs) - (1 - probs) * ops.log1p(-probs)

    def _kl_loss(self, dist: str, probs_b: Tensor, probs: Tensor) -> Tensor:
        return probs * ops.log(probs / probs_b) + (1 - probs) * ops.log((1 - probs) / (1 - probs_b))

    def _sample(self, shape: tuple[int, ...], probs: Tensor) -> Tensor:
        return ops.less(ops.rand(shape + tuple(probs.shape), dtype=self.parameter_type, seed=self._stream), probs)


class Geometric(Distribution):
    """The number of failures before the first success: probability probs (1 - probs)^value for value = 0, 1, ..

    probs  : a number, list, array or Tensor in (0, 1), the probability of a success; None: given at each call
    dtype  : any integer or float type              seed, name : see Distribution
    values : are rounded down
    """

    parameters_are = {"probs": probability}
    kinds = "iuf"

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: dt.DType = dt.int32, name: str = "Geometric") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"probs": probs}})

    def _log_prob(self, value: Tensor, probs: Tensor) -> Tensor:
        return ops.where(ops.less(value, 0), -math.inf, ops.floor(value) * ops.log1p(-probs) + ops.log(probs))

    def _log_survival(self, value: Tensor, probs: Tensor) -> Tensor:
        return ops.relu(ops.floor(value) + 1) * ops.log1p(-probs)

    def _mean(self, probs: Tensor) -> Tensor:
        return (1 - probs) / probs

    def _mode(self, probs: Tensor) -> Tensor:
        return ops.zeros_like(probs, dtype=self._dtype)

    def _var(self, probs: Tensor) -> Tensor:
        return (1 - probs) / ops.square(probs)

    def _entropy(self, probs: Tensor) -> Tensor:
        return -ops.log(probs) - (1 - probs) / probs * ops.log1p(-probs)

    def _kl_loss(self, dist: str, probs_b: Tensor, probs: Tensor) -> Tensor:
        return ops.log(probs / probs_b) + (1 - probs) / probs * ops.log((1 - probs) / (1 - probs_b))

    def _sample(self, shape: tuple[int, ...], probs: Tensor) -> Tensor:
        u = open_uniform(shape + tuple(probs.shape), self.parameter_type, self._stream)
        return ops.stop_gradient(ops.floor(ops.log(u) / ops.log1p(-probs)))


class Poisson(Distribution):
    """The distribution of Poisson: probability rate^value exp(-rate) / value! for value = 0, 1, ..

    rate  : a number, list, array or Tensor above 0; None: given at each call
    dtype : any integer or float type              seed, name : see Distribution
    """

    parameters_are = {"rate": positive}
    kinds = "iuf"

    def __init__(self, rate: Any = None, seed: int | None = None, dtype: dt.DType = dt.float32, name: str = "Poisson") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"rate": rate}})

    def _log_prob(self, value: Tensor, rate: Tensor) -> Tensor:
        x = ops.relu(value)
        return ops.where(ops.less(value, 0), -math.inf, ops.xlogy(x, rate) - rate - ops.lgamma(x + 1))

    def _cdf(self, value: Tensor, rate: Tensor) -> Tensor:
        return ops.where(ops.less(value, 0), 0.0, ops.igammac(ops.floor(ops.relu(value)) + 1, rate))

    def _survival_function(self, value: Tensor, rate: Tensor) -> Tensor:
        return ops.where(ops.less(value, 0), 1.0, ops.igamma(ops.floor(ops.relu(value)) + 1, rate))

    def _mean(self, rate: Tensor) -> Tensor:
        return rate

    def _mode(self, rate: Tensor) -> Tensor:
        return ops.floor(rate)

    def _var(self, rate: Tensor) -> Tensor:
        return rate

    def _kl_loss(self, dist: str, rate_b: Tensor, rate: Tensor) -> Tensor:
        return rate * ops.log(rate / rate_b) - rate + rate_b

    def _sample(self, shape: tuple[int, ...], rate: Tensor) -> Tensor:
        return ops.random_poisson(shape, rate, self._stream, dtype=self.parameter_type)


class Categorical(Distribution):
    """The distribution of the numbers 0 .. C - 1 with the probabilities probs.

    probs  : a list, array or Tensor [.., C] of numbers in (0, 1) that sum to 1 along the last axis; None: given at each call
    dtype  : any integer or float type              seed, name : see Distribution
    values : are rounded towards 0; out : of value's shape broadcast with that of probs without its last axis
    """

    parameters_are = {"probs": classes}
    kinds = "iuf"
    event_axes = 1

    def __init__(self, probs: Any = None, seed: int | None = None, dtype: dt.DType = dt.int32, name: str = "Categorical") -> None:
        super().__init__(seed, dtype, name, {"param_dict": {"probs": probs}})
        self._is_scalar_batch = self._batch_shape == ()

    @staticmethod
    def _chosen(value: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
        """(true where value is a class, table[.., value]), table : [.., C]."""
        value = ops.expand_dims(ops.trunc(value), -1)
        hit = ops.equal(value, ops.arange(table.shape[-1], dtype=value.dtype))
        return ops.any(hit, -1), ops.sum(ops.where(hit, table, 0.0), -1)

    def _log_prob(self, value: Tensor, probs: Tensor) -> Tensor:
        there, found = self._chosen(value, probs)
        return ops.where(there, ops.log(ops.where(there, found, 1.0)), -math.inf)

    def _cdf(self, value: Tensor, probs: Tensor) -> Tensor:
        there, found = self._chosen(value, ops.cumsum(probs, -1))
        return ops.where(there, found, ops.where(ops.less(value, 0), 0.0, 1.0))

    def _mean(self, probs: Tensor) -> Tensor:
        return ops.sum(probs * _numbers(probs), -1)

    def _mode(self, probs: Tensor) -> Tensor:
        return ops.cast(ops.argmax(probs, -1), self._dtype)

    def _var(self, probs: Tensor) -> Tensor:
        return ops.sum(probs * ops.square(_numbers(probs)), -1) - ops.square(self._mean(probs))

    def _entropy(self, probs: Tensor) -> Tensor:
        return -ops.sum(ops.xlogy(probs, probs), -1)

    def _kl_loss(self, dist: str, probs_b: Tensor, probs: Tensor) -> Tensor:
        return ops.sum(ops.xlogy(probs, probs) - ops.xlogy(probs, probs_b), -1)

    def _sample(self, shape: tuple[int, ...], probs: Tensor) -> Tensor:
        noise = ops.gumbel(shape + tuple(probs.shape), self._stream, dtype=self.parameter_type)
        return ops.argmax(ops.log(probs) + noise, -1)


def _numbers(probs: Tensor) -> Tensor:
    """0 .. C - 1, in the dtype of probs[.., C]."""
    return ops.arange(probs.shape[-1], dtype=probs.dtype)
