"""Bijectors, and the distribution of what one makes of the numbers of another distribution.

    Exp()(Normal(0.0, 1.0))  is  TransformedDistribution(Exp(), Normal(0.0, 1.0)),  the log-normal distribution
    y = g(x),  log p(y) = log p_x(g^-1(y)) + log |(g^-1)'(y)|              (Papamakarios et al. 2021, equation 2)
"""
from collections.abc import Callable
from typing import Any

from .... import ops
from ....common import dtype as dt
from ....common.checks import check_value_type
from ....common.errors import ArgumentError, DTypeError, ValueRangeError
from ....common.tensor import Tensor
from ....ops.axes import broadcast_shapes
from ...cell import Cell
from .distribution import Distribution
from .parameters import as_parameter


FUNCTIONS = ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian")


class Bijector(Cell):
    """A function of a number with an inverse, and the logarithm of the slope of both.

    A class writes _forward, _inverse, _forward_log_jacobian, _inverse_log_jacobian. Called with a distribution a bijector
    gives the transformed one; called with the name of a function and its arguments, what the function gives.

    is_constant_jacobian : the slope is the same everywhere          is_injective : no value is met twice
    name  : a word for messages
    dtype : of values and parameters, a float type; None: parameters are cast to the dtype of the value
    param : {"param_dict": {name: value}}, the parameters
    raises: ArgumentError, DTypeError for arguments of other types
    """

    def __init__(self, is_constant_jacobian: bool = False, is_injective: bool = True, name: str | None = None,
                 dtype: dt.DType | None = None, param: dict[str, Any] | None = None) -> None:
        super().__init__()
        name = str(check_value_type("name", name, str, type(self).__name__))
        check_value_type("is_constant_jacobian", is_constant_jacobian, bool, name)
        check_value_type("is_injective", is_injective, bool, name)
        if dtype is not None and dt.dtype(dtype).kind != "f":
            raise DTypeError(f"{name}: dtype is a float type, not {dt.dtype(dtype).name}")
        self._name: str = name
        self._dtype = dtype
        self._is_constant_jacobian, self._is_injective = is_constant_jacobian, is_injective
        self._given = {k: v for k, v in (param or {}).items() if k not in ("self", "param") and not k.startswith("_")}
        values = [v for v in self._given.get("param_dict", {}).values() if v is not None]
        shapes = [tuple(getattr(as_parameter(name, v, dt.float32), "shape", ())) for v in values]
        self._batch_shape = tuple(broadcast_shapes(name, (), *shapes)) if "param_dict" in self._given else None
        self._is_scalar_batch = self._batch_shape is not None and all(isinstance(v, (int, float)) for v in values)
        self.default_parameters: list[Any] = []
        self.parameter_names: list[str] = []
        self.common_dtype: dt.DType | None = None

    def _add_parameter(self, value: Any, name: str) -> Any:
        """`value` as a Tensor of floats, noted. raises : ArgumentError;
        DTypeError for integers, or parameters of several dtypes"""
        if value is None:
            raise ArgumentError(f"{self._name}: {name} is wanted")
        given = getattr(value, "dtype", None)
        wanted = dt.dtype(given) if given is not None else self._dtype or dt.float32
        made = as_parameter(name, value, wanted)
        expected = self._dtype or self.common_dtype or wanted
        if wanted.kind != "f" or wanted is not expected:
            raise DTypeError(f"{self._name}: {name} is {wanted.name}", hint=f"{expected.name} is wanted")
        self.common_dtype = wanted
        self.default_parameters.append(value)
        self.parameter_names.append(name)
        return made

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def dtype(self) -> dt.DType | None:
        """The dtype of values and parameters; None: any float type."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """What it was made with."""
        return self._given

    @property
    def is_constant_jacobian(self) -> bool:
        """True if its slope is the same everywhere."""
        return self._is_constant_jacobian

    @property
    def is_injective(self) -> bool:
        """True if no value is met twice."""
        return self._is_injective

    @property
    def batch_shape(self) -> tuple[int, ...] | None:
        """The shape of its parameters together; None without parameters."""
        return self._batch_shape

    @property
    def is_scalar_batch(self) -> bool:
        """True if its parameters are numbers."""
        return self._is_scalar_batch

    def is_increasing(self) -> bool | Tensor:
        """True, or bools Tensor: where a larger number has a larger value."""
        return True

    def _check_value_dtype(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{self._name}: the value is a Tensor, not {type(value).__name__}")
        if value.dtype.kind != "f" or self._dtype is not None and value.dtype is not self._dtype:
            wanted = "floats" if self._dtype is None else self._dtype.name
            raise DTypeError(f"{self._name}: does not take {value.dtype.name}", hint=f"{wanted} are wanted")
        return value

    def cast_param_by_value(self, value: Tensor, para: Tensor) -> Tensor:
        """A parameter in the dtype of the value."""
        return ops.cast(para, value.dtype)

    def _shape_mapping(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(broadcast_shapes(self._name, shape, self._batch_shape or ()))

    def shape_mapping(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of what a value of this shape becomes."""
        return self._shape_mapping(shape)

    def forward(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What the value becomes, float like it."""
        return self._forward(self._check_value_dtype(value), *args, **kwargs)

    def inverse(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """What becomes this value, float like it."""
        return self._inverse(self._check_value_dtype(value), *args, **kwargs)

    def forward_log_jacobian(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the slope of forward, without its sign."""
        return self._forward_log_jacobian(self._check_value_dtype(value), *args, **kwargs)

    def inverse_log_jacobian(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the slope of inverse, without its sign."""
        return self._inverse_log_jacobian(self._check_value_dtype(value), *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Distribution):
            return TransformedDistribution(self, args[0])
        return super().__call__(*args, **kwargs)

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The function `name` of these arguments. raises : ValueRangeError for another name"""
        if name not in FUNCTIONS:
            raise ValueRangeError(f"{self._name}: {name!r} is none of {', '.join(FUNCTIONS)}")
        return getattr(self, name)(*args, **kwargs)


def _where_increasing(bijector: Any, rising: Callable[[], Tensor], falling: Callable[[], Tensor]) -> Tensor:
    """rising() where the bijector increases, falling() where it decreases."""
    increasing = bijector.is_increasing()
    return rising() if increasing is True else ops.where(increasing, rising(), falling())


class TransformedDistribution(Distribution):
    """The distribution of bijector.forward(x), x of `distribution`, whose parameters are this one's.

    bijector     : a Bijector                    distribution : a Distribution of floats
    seed, name   : see Distribution; samples are drawn by `distribution`
    raises       : ArgumentError for another bijector or distribution, DTypeError for one of integers
    """

    def __init__(self, bijector: Any, distribution: Any, seed: int | None = None, name: str = "transformed_distribution") -> None:
        check_value_type("bijector", bijector, Bijector, type(self).__name__)
        check_value_type("distribution", distribution, Distribution, type(self).__name__)
        if distribution.dtype.kind != "f":
            raise DTypeError(f"{name}: the numbers of the distribution are floats, not {distribution.dtype.name}")
        super().__init__(seed, distribution.dtype, name, {"bijector": bijector, "distribution": distribution})
        self.parameter_names, self.default_parameters = distribution.parameter_names, distribution.default_parameters
        self.parameter_type, self._batch_shape = distribution.parameter_type, distribution.batch_shape
        self._is_scalar_batch = distribution.is_scalar_batch and bijector.is_scalar_batch
        known = self._batch_shape is not None and bijector.batch_shape is not None
        self._broadcast_shape = tuple(broadcast_shapes(name, self._batch_shape, bijector.batch_shape)) if known else None
        self._bijector, self._distribution = bijector, distribution

    @property
    def bijector(self) -> Bijector:
        """The bijector."""
        return self._bijector

    @property
    def distribution(self) -> Distribution:
        """The distribution that is transformed."""
        return self._distribution

    @property
    def is_linear_transformation(self) -> bool:
        """True if the bijector's slope is the same everywhere."""
        return self._bijector.is_constant_jacobian

    def _filled(self, args: Any) -> tuple[Tensor, ...]:
        return self._distribution._filled(args)

    def _log_prob(self, value: Tensor, *args: Any) -> Tensor:
        unadjusted = self._distribution.log_prob(self._bijector.inverse(value), *args)
        outside = ops.equal(unadjusted, -float("inf"))
        return ops.where(outside, unadjusted, unadjusted + self._bijector.inverse_log_jacobian(value))

    def _cdf(self, value: Tensor, *args: Any) -> Tensor:
        inverse = self._bijector.inverse(value)
        return _where_increasing(self._bijector, lambda: self._distribution.cdf(inverse, *args),
                                 lambda: self._distribution.survival_function(inverse, *args))

    def _survival_function(self, value: Tensor, *args: Any) -> Tensor:
        inverse = self._bijector.inverse(value)
        return _where_increasing(self._bijector, lambda: self._distribution.survival_function(inverse, *args),
                                 lambda: self._distribution.cdf(inverse, *args))

    def _mean(self, *args: Any) -> Tensor:
        if not self.is_linear_transformation:
            raise ValueRangeError(f"{self._name}: the mean of a transformation that is not linear is not known")
        return self._bijector.forward(self._distribution.mean(*args))

    def _sample(self, shape: tuple[int, ...], *args: Any) -> Tensor:
        return self._bijector.forward(self._distribution.sample(shape, *args))
