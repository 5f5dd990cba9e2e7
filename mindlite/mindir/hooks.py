"""What a hook on gradients may give, in eager mode and in graphs: nothing, or gradients like those that it has seen.

    hook((dx, dy))  ->  None: they go on     (a, b): a and b go on; None among them is zeros      a, where there is one
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common.errors import GradientError
from ..common.tensor import Tensor
from .builder import constant

hooked = False                               # has any Tensor that is no Parameter had a hook?


def note_hook() -> None:
    """A Tensor has got a hook: functions that differentiate by their arguments look for them from now on."""
    global hooked
    hooked = True


def replaced(given: Any, gradients: Any) -> Any:
    """What goes on behind a hook that has given `given` for `gradients`, a tuple of Tensors (None where there is none).

    raises : GradientError where it gives what can not stand for them
    """
    return tuple([None if gradient is None else one_replaced(made, gradient)
                  for made, gradient in zip(as_many(given, gradients), gradients)])


def as_many(given: Any, gradients: Any) -> Any:
    """`given` as a tuple of as many gradients as these. raises : GradientError"""
    if given is None:
        return tuple(gradients)
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(given) != len(gradients):
        raise GradientError(f"a hook gives {len(given)} gradients for {len(gradients)}")
    return given


def one_replaced(given: Any, gradient: Any) -> Any:
    """The same for one Tensor; None is zeros."""
    if given is None:
        return Tensor.wrap(np.zeros_like(gradient.host_array))
    wanted = constant(gradient).abstract
    to_cast = check_replaced(constant(given).abstract if isinstance(given, Tensor) else given, wanted)
    return given.astype(wanted.dtype) if to_cast else given


def check_replaced(made: Any, wanted: Any) -> Any:
    """What a hook gave (an abstract, or what is no Tensor) for a gradient of the type `wanted`.

    result : has it to be cast?       raises : GradientError where it has another shape, or is no Tensor
    """
    shape = getattr(made, "shape", None)
    if shape is None or len(shape) != len(wanted.shape) or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(shape, wanted.shape)):
        made = type(made).__name__ if shape is None else made
        raise GradientError(f"a hook gives {made} as the gradient of {wanted}")
    return made.dtype is not wanted.dtype
