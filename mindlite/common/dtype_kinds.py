"""MindSpore's classes of dtypes: `isinstance(x.dtype, Float)` tells the kind, `Float(16)` gives the dtype of so many bits.

A dtype is of one class here, `DType`; each of these knows which of them are its own.
"""
from __future__ import annotations

from typing import Any

from . import dtype as dt
from .errors import ArgumentError


class Kind(type):
    """The class of the kinds of dtypes. members : the dtypes of a kind"""
    members: tuple[dt.DType, ...]

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, dt.DType) and value in cls.members

    def __call__(cls, bits: int = 0) -> dt.DType:                               # type: ignore[override]
        """The dtype of this kind that has so many bits. raises : ArgumentError where there is none"""
        for member in cls.members:
            if member.bits == bits:
                return member
        raise ArgumentError(f"{cls.__name__}({bits}): there is no such dtype")


def _of(kinds: str) -> tuple[dt.DType, ...]:
    return tuple(member for member in dt.ALL if member.kind in kinds and member is not dt.bfloat16)


class Type(metaclass=Kind):
    """Every dtype."""
    members = dt.ALL


class Number(Type):
    """Every dtype, as those of numbers are all there are."""


class Bool(Number):
    """bool."""
    members = (dt.bool_,)


class Int(Number):
    """int4 to int64."""
    members = _of("i")


class UInt(Number):
    """uint8 to uint64."""
    members = _of("u")


class Float(Number):
    """The floats but bfloat16."""
    members = _of("f")


class BFloat(Number):
    """bfloat16."""
    members = (dt.bfloat16,)


class Complex(Number):
    """complex64 and complex128."""
    members = _of("c")


class TensorType:
    """The type of Tensors of one dtype: `TensorType(float32)`. Equal dtypes make equal types."""

    def __init__(self, element: Any) -> None:
        self.element = dt.dtype(element)

    def element_type(self) -> dt.DType:
        """The dtype of the elements."""
        return self.element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and other.element is self.element

    def __hash__(self) -> int:
        return hash(("TensorType", self.element.name))

    def __repr__(self) -> str:
        return f"Tensor[{self.element}]"
