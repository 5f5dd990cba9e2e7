"""The bijectors: each its formula, its inverse and the logarithms of their slopes.

source : Papamakarios et al. 2021, "Normalizing flows for probabilistic modeling and inference"; MindSpore
"""
from typing import Any

from .... import ops
from ....common.checks import check_value_type
from ....common.errors import ValueRangeError
from ....common.tensor import Parameter, Tensor
from ..distribution.transformed import Bijector


class ScalarAffine(Bijector):
    """scale x + shift.

    scale, shift : numbers, lists, arrays or Tensors of floats              name : a word for messages
    """

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine") -> None:
        super().__init__(True, True, name, None, {"param_dict": {"scale": scale, "shift": shift}})
        self.scale, self.shift = self._add_parameter(scale, "scale"), self._add_parameter(shift, "shift")

    def is_increasing(self) -> bool | Tensor:
        return ops.greater(self.scale, 0)

    def _forward(self, x: Tensor) -> Tensor:
        return self.cast_param_by_value(x, self.scale) * x + self.cast_param_by_value(x, self.shift)

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.cast_param_by_value(y, self.shift)) / self.cast_param_by_value(y, self.scale)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return ops.log(ops.abs(self.cast_param_by_value(x, self.scale)))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return -ops.log(ops.abs(self.cast_param_by_value(y, self.scale)))


class PowerTransform(Bijector):
    """(1 + power x)^(1 / power), or exp(x) where power is 0.

    power : numbers, lists, arrays or Tensors of floats, not negative       name : a word for messages
    raises: ValueRangeError for a negative power
    """

    def __init__(self, power: Any = 0.0, name: str = "PowerTransform", param: dict[str, Any] | None = None) -> None:
        super().__init__(False, True, name, None, param or {"param_dict": {"power": power}})
        self.power = self._add_parameter(power, "power")
        if not isinstance(self.power, Parameter) and (self.power.asnumpy() < 0).any():
            raise ValueRangeError(f"{name}: power is not negative", note=f"power: {power}")

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(where power is 0, power, or 1 there)."""
        power = self.cast_param_by_value(x, self.power)
        zero = ops.equal(power, 0)
        return zero, ops.where(zero, 1.0, power)

    def _forward(self, x: Tensor) -> Tensor:
        zero, power = self._split(x)
        return ops.exp(ops.where(zero, x, ops.log1p(ops.where(zero, 0.0, power * x)) / power))

    def _inverse(self, y: Tensor) -> Tensor:
        zero, power = self._split(y)
        logs = ops.log(y)
        return ops.where(zero, logs, ops.expm1(logs * power) / power)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        zero, power = self._split(x)
        return ops.where(zero, x, (1 / power - 1) * ops.log1p(ops.where(zero, 0.0, power * x)))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return (self.cast_param_by_value(y, self.power) - 1) * ops.log(y)


class Exp(PowerTransform):
    """exp(x): PowerTransform with the power 0. name : a word for messages"""

    def __init__(self, name: str = "Exp") -> None:
        super().__init__(0.0, name, {"param_dict": {}})


class Softplus(Bijector):
    """log(1 + exp(sharpness x)) / sharpness.

    sharpness : numbers, lists, arrays or Tensors of floats, not 0          name : a word for messages
    """

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus") -> None:
        super().__init__(False, True, name, None, {"param_dict": {"sharpness": sharpness}})
        self.sharpness = self._add_parameter(sharpness, "sharpness")

    def _scaled(self, x: Tensor) -> tuple[Tensor, Tensor]:
        sharpness = self.cast_param_by_value(x, self.sharpness)
        return sharpness, sharpness * x

    def _forward(self, x: Tensor) -> Tensor:
        sharpness, scaled = self._scaled(x)
        return -ops.logsigmoid(-scaled) / sharpness

    def _inverse(self, y: Tensor) -> Tensor:
        sharpness, scaled = self._scaled(y)
        return (scaled + ops.log(-ops.expm1(-scaled))) / sharpness

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return ops.logsigmoid(self._scaled(x)[1])

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return -ops.log(-ops.expm1(-self._scaled(y)[1]))


class GumbelCDF(Bijector):
    """exp(-exp(-(x - loc) / scale)), the probability of at most x of the distribution of Gumbel.

    loc, scale : numbers, lists, arrays or Tensors of floats, scale above 0 name : a word for messages
    raises     : ValueRangeError unless scale is above 0
    """

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF") -> None:
        super().__init__(False, True, name, None, {"param_dict": {"loc": loc, "scale": scale}})
        self.loc, self.scale = self._add_parameter(loc, "loc"), self._add_parameter(scale, "scale")
        if not isinstance(self.scale, Parameter) and not (self.scale.asnumpy() > 0).all():
            raise ValueRangeError(f"{name}: scale is above 0", note=f"scale: {scale}")

    def _both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.cast_param_by_value(x, self.loc), self.cast_param_by_value(x, self.scale)

    def _forward(self, x: Tensor) -> Tensor:
        loc, scale = self._both(x)
        return ops.exp(-ops.exp((loc - x) / scale))

    def _inverse(self, y: Tensor) -> Tensor:
        loc, scale = self._both(y)
        return loc - scale * ops.log(-ops.log(y))

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        loc, scale = self._both(x)
        z = (x - loc) / scale
        return -z - ops.exp(-z) - ops.log(scale)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return ops.log(self._both(y)[1] / (-ops.log(y) * y))


class Invert(Bijector):
    """The inverse of another bijector.

    bijector : a Bijector               name : a word for messages; "": Invert, and the other's name
    """

    def __init__(self, bijector: Any, name: str = "") -> None:
        check_value_type("bijector", bijector, Bijector, "Invert")
        check_value_type("name", name, str, "Invert")
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, name or "Invert" + bijector.name, bijector.dtype,
                         {"bijector": bijector})
        self._bijector = bijector
        self._batch_shape, self._is_scalar_batch = bijector.batch_shape, bijector.is_scalar_batch

    @property
    def bijector(self) -> Bijector:
        """The bijector that is inverted."""
        return self._bijector

    def is_increasing(self) -> bool | Tensor:
        return self._bijector.is_increasing()

    def _forward(self, x: Tensor) -> Tensor:
        return self._bijector.inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._bijector.forward(y)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return self._bijector.inverse_log_jacobian(x)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return self._bijector.forward_log_jacobian(y)
