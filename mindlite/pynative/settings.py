"""Attributes that are given as Tensors: numbers, which each call reads.

Who caches operations by their attributes asks for this when it finds none: a key with a Tensor in it is never cached.
"""
from ..common.errors import ArgumentError, user_location
from ..common.tensor import Tensor
from ..common.threads import here


def hold_tensors(values):
    """True if a Tensor is among the values of attributes, or in a tuple or list among them."""
    for value in values:
        if isinstance(value, Tensor) or isinstance(value, (tuple, list)) and hold_tensors(value):
            return True
    return False


def settings_of(prim, attrs):
    """The attributes with numbers in place of Tensors of one number: an attribute is no operand, it has no gradient.

    raises : ArgumentError for another Tensor, and for a float of which a gradient that is being made may depend
    """
    def number(name, value):
        if isinstance(value, (tuple, list)) and hold_tensors(value):
            return tuple([number(name, each) for each in value])
        if not isinstance(value, Tensor):
            return value
        if value.size != 1:
            text = f"{prim.name}: {name!r} is one number, not a Tensor of shape {value.shape}"
        elif any(tape.number(value) is not None for tape in here.state.tapes) and value.dtype.is_float:
            text = (f"{prim.name}: {name!r} is a setting, which has no gradient, and a gradient with respect to the Tensor given "
                    f"for it is asked for; give a number, as {name}.item()")
        else:
            return value.item()
        raise ArgumentError(text).at(user_location())
    return {name: number(name, value) for name, value in attrs.items()}
