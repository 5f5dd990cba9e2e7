"""The parameters of distributions: what each may be, checked where the numbers are known; one dtype for all."""
from typing import Any

import numpy as np

from ....common import dtype as dt
from ....common.errors import ArgumentError, DTypeError, ValueRangeError
from ....common.tensor import Parameter, Tensor


def common_dtype(values: dict[str, Any], wanted: dt.DType | None) -> dt.DType:
    """The dtype of a distribution's parameters: that of its arrays, else `wanted`; float32 in place of integers.

    values : {name: a number, list, array, Tensor or None}; 64-bit arrays take the wanted dtype
    raises : DTypeError where arrays have several
    """
    wanted = wanted if wanted is not None and wanted.kind == "f" else dt.float32
    found = None
    for name, value in values.items():
        if not hasattr(value, "dtype"):
            continue
        dtype = dt.dtype(value.dtype)
        if found is not None and dtype is not found:
            raise DTypeError(f"{name} is {dtype.name}, another parameter {found.name}: they have one dtype")
        found = dtype
    if found is None or found is dt.float64:
        return wanted
    return found if found.kind == "f" else dt.float32


def as_parameter(name: str, value: Any, dtype: dt.DType) -> Any:
    """`value` as a Tensor of dtype; a Parameter as it is; None stays None. raises : ArgumentError"""
    if value is None or isinstance(value, Parameter):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple, np.ndarray, np.generic, Tensor)):
        raise ArgumentError(f"{name} is a number, a list, an array or a Tensor, not {type(value).__name__}")
    return Tensor(value, dtype)


def real(name: str, value: Any) -> None:
    """Any number."""


def positive(name: str, value: Any) -> None:
    """raises : ValueRangeError unless all are above 0"""
    if not (value > 0).all():
        raise ValueRangeError(f"{name} is above 0", note=f"{name}: {value}")


def probability(name: str, value: Any) -> None:
    """raises : ValueRangeError unless all are between 0 and 1, without the ends"""
    if not ((value > 0) & (value < 1)).all():
        raise ValueRangeError(f"{name} is in (0, 1)", note=f"{name}: {value}")


def classes(name: str, value: Any) -> None:
    """raises : ValueRangeError unless the numbers along the last axis are probabilities that sum to 1"""
    if value.ndim == 0:
        raise ValueRangeError(f"{name} has an axis of classes", note=f"{name}: {value}")
    probability(name, value)
    if not np.allclose(value.sum(-1), 1, rtol=10 * np.finfo(value.dtype).eps, atol=np.finfo(value.dtype).eps):
        raise ValueRangeError(f"{name} sums to 1 along its last axis", note=f"{name}: {value}")
