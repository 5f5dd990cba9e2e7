"""Operations on any arrays, MindSpore's `dataset.transforms`: TypeCast, OneHot, PadEnd, and those that compose operations."""
from __future__ import annotations

import ctypes
import enum
from typing import Any, Callable

import numpy as np

from ..common.errors import ArgumentError, ValueRangeError
from . import draws
from .columns import pad_end
from .operation import (DataError, Operation, dtype_of, functions, joins, kind_of, number, operation, optional, probability,
                        stacks, whole)


class Relational(enum.IntEnum):
    """Comparisons of `Mask`."""
    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARE = {Relational.EQ: np.equal, Relational.NE: np.not_equal, Relational.GT: np.greater, Relational.GE: np.greater_equal,
            Relational.LT: np.less, Relational.LE: np.less_equal}


@operation(data_type=dtype_of)
def TypeCast(data, /, data_type):
    """The data with another element type. data_type : a dtype of mindlite or NumPy"""
    return np.asarray(data).astype(data_type)


@stacks(TypeCast)
def cast_stack(cast: Any, data: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """TypeCast of many rows."""
    return data.astype(cast.data_type) if cast.data_type.kind in "biuf" else None


@operation(num_classes=whole(1), smoothing_rate=number(0.0, 1.0))
def OneHot(data, /, num_classes, smoothing_rate=0.0):
    """A vector of `num_classes` for each whole number, 1 at its position. data : a scalar or [n], sizes of 1 aside

    smoothing_rate : the 1 becomes 1 - rate, and rate is shared by all (Szegedy et al. 2016); the result is float64 then
    """
    data = np.asarray(data)
    if data.dtype.kind not in "iu":
        raise DataError(f"OneHot: OneHot only supports input of int type, but got: {data.dtype}")
    data = data.squeeze()
    if data.ndim > 1:
        raise DataError(f"OneHot: Only support scalar or 1D input, got rank: {data.ndim}")
    if data.size and data.max() >= num_classes:
        raise DataError(f"OneHot: index values should not bigger than num classes: {num_classes}, but got: {data.max()}")
    if data.size and data.min() < 0:
        raise DataError(f"OneHot: index values should not be negative, but got: {data.min()}")
    hot = np.arange(num_classes) == data[..., None]
    return hot.astype(data.dtype) if not smoothing_rate else hot * (1 - smoothing_rate) + smoothing_rate / num_classes


@stacks(OneHot)
def one_hot_stack(one_hot: Any, data: np.ndarray, at: Any, out: np.ndarray | None) -> np.ndarray | None:
    """OneHot of many numbers."""
    if data.ndim != 1 or data.dtype.kind not in "iu" or not (0 <= data.min() and data.max() < one_hot.num_classes):
        return None
    hot, rate = np.arange(one_hot.num_classes) == data[:, None], one_hot.smoothing_rate
    return hot.astype(data.dtype) if not rate else hot * (1 - rate) + rate / one_hot.num_classes


def _ends(value: Any, name: str) -> tuple:
    """A list of sizes or None. raises : ArgumentError, ValueRangeError"""
    for size in kind_of(list)(value, name):
        if size is not None and not isinstance(size, int):
            raise ArgumentError("a value in the list is not an integer.")
        optional(whole(1))(size, name)
    return tuple(value)


@operation(pad_shape=_ends)
def PadEnd(data, /, pad_shape, pad_value=None):
    """The data padded, or cut, at its ends to a shape. pad_shape : None keeps a size; pad_value : 0 or empty text by default

    Data without axes stays as it is.
    """
    data = np.asarray(data)
    if not data.ndim:
        return data
    if len(pad_shape) != data.ndim:
        raise DataError(f"PadEnd: invalid pad shape, as rank of input is: {data.ndim}, and rank of pad value: {len(pad_shape)}")
    if pad_value is not None and isinstance(pad_value, (str, bytes)) != (data.dtype.kind in "US"):
        raise DataError(f"PadEnd: can not pad numeric and string tensors together, type of pad_value: "
                        f"{type(pad_value).__name__}, and type of dataset item: {data.dtype}")
    shape = [have if want is None else want for have, want in zip(data.shape, pad_shape)]
    return pad_end(data[tuple(slice(n) for n in shape)], shape, pad_value)


def _one_axis(value: Any, name: str) -> int:
    """0 or -1. raises : ArgumentError, ValueRangeError"""
    if whole()(value, name) not in (0, -1):
        raise ValueRangeError("only 1D concatenation supported.")
    return value


def _end(value: Any, name: str) -> np.ndarray:
    """An array of one axis. raises : ArgumentError, ValueRangeError"""
    if kind_of(np.ndarray)(value, name).ndim != 1:
        raise ValueRangeError(f"can only {name} 1D arrays.")
    return value


@operation(axis=_one_axis, prepend=optional(_end), append=optional(_end), many=True)
def Concatenate(columns, /, axis=0, prepend=None, append=None):
    """`prepend`, the columns and `append` one after the other."""
    parts = [np.asarray(part) for part in (prepend, *columns, append) if part is not None]
    if any(part.ndim != 1 for part in parts):
        raise DataError("Concatenate: only 1D input supported")
    for part in parts:
        if part.dtype.kind != parts[0].dtype.kind:
            raise DataError(f"Concatenate: input datatype does not match: {parts[0].dtype} and {part.dtype}")
    return np.concatenate(parts)


@operation()
def Duplicate(data, /):
    """The data twice, as two columns."""
    return data, np.array(data)


@operation(fill_value=kind_of(str, float, bool, int, bytes))
def Fill(data, /, fill_value):
    """An array of the data's shape and type, full of one value."""
    data = np.asarray(data)
    if isinstance(fill_value, (str, bytes)) != (data.dtype.kind in "US"):
        raise DataError(f"Fill: fill_value and the input tensor must be of the same type: {type(fill_value).__name__}, "
                        f"{data.dtype}")
    if data.dtype.kind in "US":
        return np.full(data.shape, fill_value)
    limits = np.iinfo(data.dtype) if data.dtype.kind in "iu" else np.finfo(data.dtype) if data.dtype.kind == "f" else None
    endless = data.dtype.kind == "f" and not np.isfinite(fill_value)
    if limits is not None and not endless and not int(limits.min) <= fill_value <= int(limits.max):
        raise DataError(f"Fill: {fill_value} is outside of {data.dtype}")
    return np.full(data.shape, fill_value, data.dtype)


@operation(operator=kind_of(Relational), constant=kind_of(str, float, bool, int, bytes), dtype=dtype_of)
def Mask(data, /, operator, constant, dtype=np.dtype(bool)):
    """Where the data compares with a constant as `operator` says: a mask of type `dtype`."""
    data = np.asarray(data)
    if isinstance(constant, (str, bytes)) != (data.dtype.kind in "US"):
        raise DataError("Mask: input datatype does not match the value datatype, both should be numeric or both text.",
                        note=f"{data.dtype} and {type(constant).__name__}")
    if data.dtype.kind not in "US":
        constant = np.asarray(constant).astype(data.dtype)   # cut off, as MindSpore's is
    return _COMPARE[operator](data, constant).astype(dtype)


class Slice(Operation):
    """A part of the data. slices : for each axis an int, a list of ints, a slice; None, ... or True for all of it

    raises : ArgumentError; DataError for an index outside of the axis, and for nothing to take ([] or False)
    """

    def __init__(self, *slices: Any) -> None:
        for one in slices:
            kind_of(int, list, slice, bool, type(...), type(None))(one, "slice")
            for k, index in enumerate(one if isinstance(one, list) else ()):
                kind_of(int)(index, f"slice[{k}]")
            if isinstance(one, slice) and one.step == 0:
                raise DataError("Slice: Wrong slice object: its step is 0.")
            if one is False or one == []:
                raise DataError("Slice: Both indices and slices can not be empty.")
        self.slices = slices

    def __call__(self, data: Any) -> Any:
        data = np.asarray(data)
        if len(self.slices) > data.ndim:
            raise DataError("Slice: Invalid shape, should be greater than slices index.",
                            note=f"{len(self.slices)} slices of {data.ndim} axes")
        for axis, one in enumerate(self.slices):
            if one is None or one is ... or one is True:
                continue
            if isinstance(one, slice):
                data = data[(slice(None),) * axis + (one,)]
                continue
            chosen, size = np.atleast_1d(one), data.shape[axis]
            outside = chosen[(chosen < -size) | (chosen >= size)]
            if outside.size:
                raise DataError(f"Slice: Index {outside[0]} is out of bounds.", note=f"axis {axis} has {size} elements")
            data = data.take(chosen, axis, mode="wrap")
        return data


@joins(Slice, PadEnd)
def sliced_and_padded(cut: Slice, pad: Any) -> Callable:
    """Slice, then PadEnd: of numbers on one axis, of which a slice is taken, in one array."""
    one = cut.slices[0] if len(cut.slices) == 1 and isinstance(cut.slices[0], slice) else None
    size, fill = pad.pad_shape[0] if len(pad.pad_shape) == 1 else None, pad.pad_value

    def both(data: Any, *more: Any) -> Any:
        if more or one is None or size is None or not isinstance(data, np.ndarray) or data.ndim != 1 or \
                data.dtype.kind not in "iuf" or isinstance(fill, (str, bytes)):
            return pad(cut(data, *more))
        part, out = data[one], np.empty(size, data.dtype)
        count = min(len(part), size)
        out[:count] = part[:count]
        out[count:] = 0 if fill is None else np.asarray(fill).astype(data.dtype)
        return out
    return both


@operation()
def Unique(data, /):
    """(the different values in the order in which they come, for each value its position among them, how often each appears)"""
    data = np.asarray(data)
    if data.ndim < 2:
        raise DataError(f"Unique: input must be at least 2-D in order to do unique op, got rank:{data.ndim}")
    values, first, positions, counts = np.unique(data.ravel(), return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    return values[order], np.argsort(order)[positions.ravel()].astype(np.int32), counts[order].astype(np.int32)


class Plugin(Operation):
    """A function of a shared library, `int function(const void *in, int64 count, void *out)` on float32 arrays.

    lib_path, func_name : where it is;  user_args : text that is handed over, if the function takes a fourth argument
    """

    def __init__(self, lib_path: str, func_name: str, user_args: str | None = None) -> None:
        for name, value in {"lib_path": lib_path, "func_name": func_name}.items():
            kind_of(str)(value, name)
        optional(kind_of(str))(user_args, "user_args")
        self.call = getattr(ctypes.CDLL(lib_path), func_name)
        self.user_args = user_args

    def __call__(self, data: Any) -> np.ndarray:
        source = np.ascontiguousarray(data, np.float32)
        out = np.empty_like(source)
        arguments = [ctypes.c_void_p(source.ctypes.data), ctypes.c_int64(source.size), ctypes.c_void_p(out.ctypes.data)]
        if self.user_args is not None:
            arguments.append(ctypes.c_char_p(self.user_args.encode()))   # type: ignore[arg-type]
        code = self.call(*arguments)
        if code:
            raise DataError(f"Plugin: {self.call.__name__} has given the error code {code}")
        return out


# ------------------------------------------------------------------- operations made of operations

def apply_all(transforms: list[Callable], *data: Any) -> Any:
    """One operation after the other; a tuple stands for several columns."""
    for transform in transforms:
        result = transform(*data)
        data = result if isinstance(result, tuple) else (result,)
    return data if len(data) > 1 else data[0]


class _OfOperations(Operation):
    """Base of operations that hold others."""

    def __init__(self, transforms: list[Callable]) -> None:
        self.transforms = functions(transforms, kind="transforms op (TensorOperation)")


class Compose(_OfOperations):
    """Operations one after the other. What the last one gives is an array, or a tuple for several columns."""

    def __call__(self, *data: Any) -> Any:
        result = apply_all(self.transforms, *data)
        if result is None:
            raise DataError(f"Compose: {self.transforms[-1]} has given None")
        return np.asarray(result) if isinstance(result, (list, bool, int, float, str, bytes)) else result


class RandomChoice(_OfOperations):
    """One of the operations."""
    random = True

    def __call__(self, *data: Any) -> Any:
        return apply_all([self.transforms[draws.generator().integers(len(self.transforms))]], *data)


class RandomOrder(_OfOperations):
    """All operations, in random order."""
    random = True

    def __call__(self, *data: Any) -> Any:
        return apply_all([self.transforms[k] for k in draws.generator().permutation(len(self.transforms))], *data)


class RandomApply(_OfOperations):
    """All operations with probability `prob`, else none."""
    random = True

    def __init__(self, transforms: list[Callable], prob: float = 0.5) -> None:
        super().__init__(transforms)
        self.prob = probability(prob, "prob")

    def __call__(self, *data: Any) -> Any:
        if draws.generator().random() < self.prob:
            return apply_all(self.transforms, *data)
        return data if len(data) > 1 else data[0]


def not_random(function: Callable) -> Callable:
    """MindSpore's mark for a function without random numbers; nothing depends on it here."""
    function.random = False                                  # type: ignore[attr-defined]
    return function


__all__ = ["Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "Plugin", "RandomApply", "RandomChoice",
           "RandomOrder", "Relational", "Slice", "TypeCast", "Unique", "not_random"]
