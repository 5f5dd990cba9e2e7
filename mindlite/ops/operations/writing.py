"""Operations that write into a Parameter and return what it holds then, as a Tensor of its own (as MindSpore's do)."""
from ..define import cast_to, dtype_of
from ..state import assign


def written(variable, value):
    """`value` in variable's dtype, after it was assigned to the variable. raises : ShapeError where the shapes differ"""
    value = cast_to(value, dtype_of(variable))
    assign(variable, value)
    return value
