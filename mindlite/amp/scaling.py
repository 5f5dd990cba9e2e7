"""Scaling of losses: small gradients stay within the range of float16, and an overflow makes the scale smaller.

    grads = scaler.unscale(grad_fn(x))              where grad_fn differentiates scaler.scale(loss)
    finite = all_finite(grads);  scaler.adjust(finite)          a step whose gradients are not finite is left out

Source: Micikevicius et al., Mixed precision training (2018), section 3.2.
"""
from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Parameter, Tensor
from ..functional.composite import map_leaves


class LossScaler:
    """Base: scale(inputs), unscale(inputs) and adjust(grads_finite), which a subclass defines."""

    def scale(self, inputs):
        """The inputs (a Tensor, or Tensors in tuples and lists), times the scale."""
        raise NotImplementedError("LossScaler: define scale")

    def unscale(self, inputs):
        """The inputs, divided by the scale."""
        raise NotImplementedError("LossScaler: define unscale")

    def adjust(self, grads_finite):
        """Change the scale after a step."""
        raise NotImplementedError("LossScaler: define adjust")


class StaticLossScaler(LossScaler):
    """A scale that stays as it is. scale_value : a number above 0"""

    def __init__(self, scale_value):
        self.scale_value = Parameter(Tensor(_above_zero("scale_value", scale_value), dt.float32), name="scale_value",
                                     requires_grad=False)

    def scale(self, inputs):
        """The inputs times scale_value, each in its own dtype."""
        return _times(inputs, self.scale_value)

    def unscale(self, inputs):
        """The inputs divided by scale_value, each in its own dtype."""
        return _times(inputs, 1 / self.scale_value)

    def adjust(self, grads_finite):
        """Nothing changes; gives False."""
        return False


class DynamicLossScaler(LossScaler):
    """A scale that grows by scale_factor after scale_window steps with finite gradients, and shrinks by it (to 1 at least)
    after a step without.

    scale_value, counter : Parameters: the scale now, and how many steps with finite gradients lie behind
    """

    def __init__(self, scale_value, scale_factor, scale_window):
        if isinstance(scale_window, bool) or not isinstance(scale_window, int) or scale_window < 1:
            raise ValueRangeError(f"DynamicLossScaler: scale_window is an int above 0, not {scale_window!r}")
        self.scale_factor, self.scale_window = _above_zero("scale_factor", scale_factor), scale_window
        self.scale_value = Parameter(Tensor(_above_zero("scale_value", scale_value), dt.float32), name="scale_value",
                                     requires_grad=False)
        self.counter = Parameter(Tensor(0, dt.int32), name="counter", requires_grad=False)

    def scale(self, inputs):
        """The inputs times scale_value, each in its own dtype."""
        return _times(inputs, self.scale_value)

    def unscale(self, inputs):
        """The inputs divided by scale_value, each in its own dtype."""
        return _times(inputs, 1 / self.scale_value)

    def adjust(self, grads_finite):
        """Change scale_value and counter; gives True. grads_finite : bool Tensor, of `all_finite`"""
        larger, one = self.scale_value * self.scale_factor, ops.ones_like(self.scale_value)
        smaller = ops.maximum(one, self.scale_value / self.scale_factor)
        grows = ops.logical_and(self.counter == self.scale_window - 1, ops.isfinite(larger))
        ops.assign(self.scale_value, ops.where(grads_finite, ops.where(grows, larger, self.scale_value), smaller))
        counted = (self.counter + 1) % self.scale_window
        ops.assign(self.counter, ops.where(grads_finite, counted, ops.zeros_like(self.counter)))
        return True


def init_status():
    """Eight zeros, int32: the status register of an overflow check on Ascend, which `all_finite` took in MindSpore 2.0."""
    return Tensor([0] * 8, dt.int32)


def all_finite(inputs, status=None):
    """True, a bool Tensor, where no element of the inputs is infinite or nan.

    inputs : a tuple or list of Tensors, nested or not      raises : ArgumentError where there is none
    status : what `init_status` gave; it is not needed
    """
    found = None
    for x in _leaves(inputs):
        finite = ops.isfinite(x).all()
        found = finite if found is None else ops.logical_and(found, finite)
    if found is None:
        raise ArgumentError("all_finite: there is no Tensor")
    return found


def _leaves(value):
    if isinstance(value, (tuple, list)):
        made: list = []
        for item in value:
            made = made + _leaves(item)
        return made
    return [value]


def _times(inputs, factor):
    def times(x):
        return ops.cast(x * factor, x.dtype)
    return map_leaves(times, (inputs,))


def _above_zero(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise ValueRangeError(f"loss scaling: {name} is a number above 0, not {value!r}")
    return float(value)
