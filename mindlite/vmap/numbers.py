"""Python numbers that differ between the elements of a batch: they become tensors with the batch axis only.

A rule takes tensors [size] and gives one, or None where it cannot.
"""
from __future__ import annotations

from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.annotations import Function
from ..ops.basic import cast, reshape, scalar_to_tensor
from ..ops.scalar import scalar_binary, scalar_cast, scalar_compare, scalar_unary, tensor_to_scalar

NUMBERS: dict = {}
NUMBER_DTYPES = {bool: dt.bool_, int: dt.int64, float: dt.float64}
_BINARY = {"+": ops.add, "-": ops.sub, "*": ops.mul, "max": ops.maximum}
_BITS = {"&": ops.bitwise_and, "|": ops.bitwise_or, "^": ops.bitwise_xor}
_COMPARE = {"<": ops.less, "<=": ops.less_equal, ">": ops.greater, ">=": ops.greater_equal, "==": ops.equal,
            "!=": ops.not_equal}


def _rule(prim: Any) -> Function:
    def register(rule):
        NUMBERS[prim] = rule
        return rule
    return register


def _as_integers(*args: Any) -> list:
    """bool counts as 0 and 1 in arithmetic, as in Python."""
    return [cast(x, dtype=dt.int64) if x.dtype is dt.bool_ else x for x in args]


@_rule(scalar_binary)
def binary(a: Any, b: Any, *, op: str) -> Any:
    if op == "/":
        return ops.div(cast(a, dtype=dt.float64), cast(b, dtype=dt.float64))
    if op in _BITS:
        return _BITS[op](*((a, b) if a.dtype is b.dtype else _as_integers(a, b)))
    return _BINARY[op](*_as_integers(a, b)) if op in _BINARY else None


@_rule(scalar_unary)
def unary(a: Any, *, op: str) -> Any:
    if op == "not":
        return ops.equal(a, 0)
    a, = _as_integers(a)
    return {"-": lambda: ops.neg(a), "+": lambda: a, "abs": lambda: ops.maximum(a, ops.neg(a))}.get(op, lambda: None)()


@_rule(tensor_to_scalar)
def number_of(x: Any) -> Any:
    kind = {"b": dt.bool_, "f": dt.float64}.get(x.dtype.kind, dt.int64)
    return cast(reshape(x, shape=x.shape[:1]), dtype=kind)


NUMBERS.update({
    scalar_compare: lambda a, b, *, op: _COMPARE[op](a, b),
    scalar_cast: lambda a, *, type: cast(a, dtype=NUMBER_DTYPES[type]),
    scalar_to_tensor: lambda x, *, dtype: cast(x, dtype=dtype),
})
