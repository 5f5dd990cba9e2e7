"""Columns: names, values as arrays, stacking and padding."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

import numpy as np

from ..common.errors import ArgumentError, MindliteError, ShapeError, ValueRangeError
from ..common.location import Location
from ..common.tensor import Tensor

LARGE = 1 << 15                          # bytes of an array that is worth a place of its own in a batch
PLACED: Any = object()                   # stands for a value that is in its place in the batch already


class ColumnError(MindliteError, RuntimeError):
    """A column that does not exist, or exists twice."""


class ValueKindError(MindliteError, RuntimeError):
    """A value that cannot stand in a column."""


class StackError(ShapeError, RuntimeError):
    """Rows that cannot be stacked."""


def names_list(names: Any, argument: str) -> list[str]:
    """Column names as a list; [] for None. raises : ArgumentError, ValueRangeError"""
    if names is None:
        return []
    if not isinstance(names, (str, list)):
        raise ArgumentError(f"Argument {argument} with value {names} is not of type [<class 'list'>, <class 'str'>], "
                            f"but got {type(names)}.")
    found = [names] if isinstance(names, str) else list(names)
    for k, name in enumerate(found):
        if not isinstance(name, str):
            raise ArgumentError(f"Argument {argument}[{k}] with value {name} is not of type [<class 'str'>], "
                                f"but got {type(name)}.")
        if not name:
            raise ValueRangeError(f"{argument}[{k}] should not be empty.")
    if len(set(found)) != len(found):
        raise ValueRangeError(f"Every column name should not be same with others in {argument}.")
    return found


def check_names(wanted: Sequence[str], present: Sequence[str], location: Location | None, message: str = "") -> None:
    """raises : ColumnError if one of `wanted` is not present"""
    for name in wanted:
        if name not in present:
            raise ColumnError(message or f"Invalid column, column name: {name} does not exist.",
                              note=f"{name!r} is none of {', '.join(present)}", location=location)


def as_value(value: Any) -> Any:
    """What stands in a column for a value of the user's: an array; a dict or list of Python objects stays what it is.

    raises : ValueKindError
    """
    if isinstance(value, np.ndarray):
        found = value
    elif isinstance(value, Tensor):
        return value.asnumpy()
    elif isinstance(value, dict):
        return value
    else:
        try:
            found = np.asarray(value)
        except ValueError as error:                          # a ragged list
            raise ValueKindError(f"a value of type {type(value).__name__} is no array: {error}") from None
    if found.dtype.kind not in "biufcUS" and found.dtype.name != "bfloat16":
        raise ValueKindError(f"Invalid data type: a value of type {type(value).__name__} is no array of numbers or text",
                             hint="return a NumPy array, a number, a str or bytes")
    return found


def as_row(values: Sequence) -> list:
    """The values of a row, each as `as_value` gives it."""
    return [as_value(value) for value in values]


def stacked(rows: list[list], names: Sequence[str]) -> list:
    """One array a column, with a new first axis. raises : StackError where shapes or types differ"""
    found: list[Any] = []
    for column, values in enumerate(zip(*rows)):
        first = values[0]
        if not isinstance(first, np.ndarray):
            if isinstance(first, dict):
                found.append(_stacked_dicts(values, names[column]))
                continue
            values = tuple(map(np.asarray, values))
            first = values[0]
        for k, value in enumerate(values):
            if value.shape != first.shape:
                raise StackError(f"Cannot batch tensors with different shapes in column {column}. First element had shape "
                                 f"{_shape(first)} and this element had shape {_shape(value)}",
                                 note=f"column {names[column]!r}, rows 0 and {k} of the batch", hint="padded_batch pads them")
            if value.dtype != first.dtype and (value.dtype.kind != first.dtype.kind or first.dtype.kind not in "US"):
                raise StackError(f"Cannot batch tensors with different types in column {column}. First element had type "
                                 f"{first.dtype} and this element had type {value.dtype}",
                                 note=f"column {names[column]!r}, rows 0 and {k} of the batch")
        found.append(np.array(values) if first.ndim == 0 else np.stack(values))
    return found


def stacked_as_they_come(rows: Iterable[list], count: int, names: Sequence[str], empty: Callable = np.empty,
                         places: list[np.ndarray | None] | None = None) -> list:
    """`stacked` of `count` rows that are computed one after the other.

    Large arrays are written to their places at once: what a row was computed in serves the next row, where memory for all of
    them would be asked of the system anew for each batch. empty : what makes the array of a batch, like np.empty
    places : gets the arrays of the batch after the first row, None for a column that has none; a value that is in its place
             already comes as PLACED
    """
    held: list[list] = []
    places = [] if places is None else places
    for k, computed in enumerate(rows):
        row = list(computed)
        if not held:
            places += [empty((count, *value.shape), value.dtype) if isinstance(value, np.ndarray) and value.nbytes >= LARGE
                      and value.dtype.kind in "biufc" else None for value in row]
        for column, place in enumerate(places):
            if place is not None and row[column] is PLACED:
                row[column] = 0
            elif place is not None:
                value = row[column]
                if not isinstance(value, np.ndarray) or value.shape != place.shape[1:] or value.dtype != place.dtype:
                    whole = [[value if there is None else there[j] for value, there in zip(values, places)]
                             for j, values in enumerate(held)]
                    return stacked([*whole, computed], names)        # which says what differs
                place[k] = value
                row[column] = 0
        held.append(row)
    found = stacked(held, names)
    return [values if place is None else place for values, place in zip(found, places)]


def _stacked_dicts(values: tuple, name: str) -> dict:
    keys = list(values[0])
    if any(list(value) != keys for value in values):
        raise StackError(f"Cannot batch dicts with different keys in column {name!r}")
    return {key: stacked([[as_value(value[key])] for value in values], [f"{name}[{key!r}]"])[0] for key in keys}


def _shape(array: np.ndarray) -> str:
    return "<" + ",".join(map(str, array.shape)) + ">"


def pad_to(rows: list[list], names: Sequence[str], pad_info: dict, last: int | None = None) -> list[list]:
    """The rows with each column padded, or cut, at its ends.

    pad_info : {column: (shape or None, value or None)}; empty: every column, to the largest, with 0
    last     : the size that None in a shape stands for, None for the largest of the rows
    raises   : StackError if a row is of another rank
    """
    padded = [list(row) for row in rows]
    for name in (pad_info or names):
        column = names.index(name)
        shape, fill = (pad_info.get(name) or (None, None)) if pad_info else (None, None)
        values = [row[column] for row in padded]
        rank = values[0].ndim
        if shape is None:
            shape = [None] * rank
        if len(shape) != rank or any(value.ndim != rank for value in values):
            raise StackError(f"Invalid pad_info, the rank of the pad shape {list(shape)} and of column {name!r} differ: "
                             f"{len(shape)} and {rank}")
        target = tuple((last if last is not None else max(value.shape[axis] for value in values)) if n in (None, -1) else n
                       for axis, n in enumerate(shape))
        for row, value in zip(padded, values):
            row[column] = pad_end(value[tuple(slice(n) for n in target)], target, fill)
    return padded


def pad_end(value: np.ndarray, shape: Sequence[int], fill: Any = None) -> np.ndarray:
    """The array in the corner of a larger one that is filled with `fill` (0 or empty text by default)."""
    if value.dtype.kind in "US":
        fill = np.asarray("" if fill is None else fill).astype(value.dtype.kind)
        out = np.full(shape, fill, np.promote_types(value.dtype, fill.dtype))
    else:
        fill = 0 if fill is None else np.asarray(fill).astype(value.dtype)
        out = np.full(shape, fill, value.dtype)
    out[tuple(slice(n) for n in value.shape)] = value
    return out
