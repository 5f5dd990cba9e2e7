"""The distributions of weights: a fixed one before anything is learned, and one with Parameters."""
from typing import Any

from .... import ops
from ....common import dtype as dt
from ....common.checks import check_value_type
from ....common.errors import ArgumentError, ValueRangeError
from ....common.initializer import Normal as Spread, initializer
from ....common.tensor import Parameter
from ...cell import Cell
from ..distribution import Normal


class NormalPrior(Cell):
    """A normal distribution; called with the name of a function of it and its arguments.

    dtype : a float type; mean, std : numbers, std above 0
    """

    def __init__(self, dtype: dt.DType = dt.float32, mean: float = 0, std: float = 0.1) -> None:
        super().__init__()
        self.normal = Normal(mean, std, dtype=dtype)

    def construct(self, *inputs: Any) -> Any:
        return self.normal(*inputs)


class NormalPosterior(Cell):
    """A normal distribution for each weight, of the learned mean and standard deviation 1e-6 + softplus(untransformed_std).

    name  : begins the Parameters' names                   shape : of the weights, a tuple or list
    dtype : of the Parameters, a float type
    loc_mean, loc_std : of the normal numbers with which the means begin
    untransformed_scale_mean, untransformed_scale_std : of those with which untransformed_std begins
    raises: ArgumentError for arguments of other types, ValueRangeError for a negative standard deviation
    """

    def __init__(self, name: str, shape: Any, dtype: dt.DType = dt.float32, loc_mean: float = 0, loc_std: float = 0.1,
                 untransformed_scale_mean: float = -5, untransformed_scale_std: float = 0.1) -> None:
        super().__init__()
        check_value_type("name", name, str, "NormalPosterior")
        check_value_type("shape", shape, (tuple, list), "NormalPosterior")
        for what, number in (("loc_mean", loc_mean), ("loc_std", loc_std), ("untransformed_scale_mean", untransformed_scale_mean),
                             ("untransformed_scale_std", untransformed_scale_std)):
            check_value_type(what, number, (int, float), "NormalPosterior")
            if what.endswith("std") and number < 0:
                raise ValueRangeError(f"NormalPosterior: {what} is not negative, but {number}")
        self.mean = Parameter(initializer(Spread(loc_std, loc_mean), tuple(shape), dtype), name=name + "_mean")
        self.untransformed_std = Parameter(
            initializer(Spread(untransformed_scale_std, untransformed_scale_mean), tuple(shape), dtype),
            name=name + "_untransformed_std")
        self.normal = Normal(dtype=dtype)

    def construct(self, *inputs: Any) -> Any:
        return self.normal(*inputs, mean=self.mean, sd=1e-6 - ops.logsigmoid(-self.untransformed_std))


def normal_post_fn(name: str, shape: Any) -> NormalPosterior:
    """A NormalPosterior of this name and shape."""
    return NormalPosterior(name=name, shape=shape)


def as_prior(fn: Any, what: str) -> Cell:
    """The distribution that `fn`, a Cell or what makes one, is. raises : ArgumentError"""
    prior = fn if isinstance(fn, Cell) else fn() if callable(fn) else None
    if not isinstance(prior, Cell) or not isinstance(getattr(prior, "normal", None), Normal):
        raise ArgumentError(f"{what} is a NormalPrior or makes one")
    return prior


def as_posterior(fn: Any, name: str, shape: tuple[int, ...], what: str) -> Cell:
    """What fn(name=.., shape=..) gives. raises : ArgumentError"""
    posterior = fn(name=name, shape=shape) if callable(fn) else None
    if not isinstance(posterior, Cell) or not isinstance(getattr(posterior, "normal", None), Normal):
        raise ArgumentError(f"{what} makes a NormalPosterior of a name and a shape")
    return posterior
