"""Python numbers that are known at run time only: int, float and bool in registers, by Python's own rules.

A loop counter, a size that depends on data, a number that a Tensor gave by `item()`. Nothing here has a gradient: a
number has left the Tensors, in eager mode as in graph mode.
"""
import operator

import numpy as np

from ..common.dim import Dim, Symbol
from ..common.errors import ArgumentError, ShapeError
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, primitive
from collections.abc import Callable
from typing import Any

BINARY: dict[str, Callable[..., Any]]
BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
          "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
          "<<": operator.lshift, ">>": operator.rshift, "max": max, "min": min}
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
UNARY: dict[str, Callable[..., Any]]
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_, "abs": abs}
_DIM_OPERATIONS = {"+", "-", "*", "//", "%"}


@primitive(traits={"scalar"})
def scalar_binary(a, b, *, op):
    """a op b for Python numbers; op is one of BINARY."""


@primitive(traits={"scalar"})
def scalar_compare(a, b, *, op):
    """a op b as bool; op is one of COMPARE."""


@primitive(traits={"scalar"})
def scalar_unary(a, *, op):
    """op a; op is one of UNARY."""


@primitive(traits={"scalar"})
def scalar_cast(a, *, type):
    """int(a), float(a) or bool(a)."""


@primitive(traits={"scalar"})
def tensor_to_scalar(x):
    """The one element of a tensor as a Python number. raises : ShapeError if there are several."""


@primitive(traits={"scalar", "dynamic"})
def number_to_size(n, *, least=0):
    """The int n as a size: from here on it is a Symbol, of which sizes are computed.

    least : what n is known to be at least, or None
    """


@infer_rule(number_to_size)
def number_to_size_infer(n, *, least):
    return AbstractScalar(int, Symbol("n", lo=least).dim)


@infer_rule(scalar_binary)
def scalar_binary_infer(a, b, *, op):
    types = {a.type, b.type}
    if op == "/" or float in types:
        return AbstractScalar(float)
    if op in "&|^" and types == {bool}:
        return AbstractScalar(bool)
    dim = BINARY[op](a.dim, b.dim) if op in _DIM_OPERATIONS and a.dim is not None and b.dim is not None else None
    return AbstractScalar(int, dim)


@infer_rule(scalar_compare)
def scalar_compare_infer(a, b, *, op):
    return AbstractScalar(bool)


@infer_rule(scalar_unary)
def scalar_unary_infer(a, *, op):
    if op == "not":
        return AbstractScalar(bool)
    return AbstractScalar(int if a.type is bool else a.type, -a.dim if op == "-" and a.dim is not None else None)


@infer_rule(scalar_cast)
def scalar_cast_infer(a, *, type):
    return AbstractScalar(type, a.dim if type is int and a.type is int else None)


@infer_rule(tensor_to_scalar)
def tensor_to_scalar_infer(x):
    if isinstance(x, AbstractTensor):
        for size in x.shape:
            require("==", size, 1, lambda: ShapeError("only a tensor of one element is a number", note=f"x: {x}"))
    if not isinstance(x, AbstractTensor) or x.dtype.kind == "c":
        raise ArgumentError("a real tensor of one element is wanted", note=f"x: {x}")
    return AbstractScalar({"b": bool, "f": float}.get(x.dtype.kind, int))


eval_rule(scalar_binary)(lambda a, b, *, op: BINARY[op](a, b))
eval_rule(scalar_compare)(lambda a, b, *, op: COMPARE[op](a, b))
eval_rule(scalar_unary)(lambda a, *, op: UNARY[op](a))
eval_rule(scalar_cast)(lambda a, *, type: type(a))
eval_rule(tensor_to_scalar)(lambda x: np.asarray(x).item())
eval_rule(number_to_size)(lambda n, *, least: n)
bprop_rule(scalar_binary, scalar_compare)(lambda a, b, out, dout, **attrs: (None, None))
bprop_rule(scalar_unary, scalar_cast, tensor_to_scalar, number_to_size)(lambda a, out, dout, **attrs: None)


def is_number(value):
    """True for a Python real number or a Dim."""
    return isinstance(value, (bool, int, float, Dim))
