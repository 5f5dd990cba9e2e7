"""Tensors side by side and apart, as NumPy names it: hstack, vstack, dstack, their splits, and matrices in a diagonal.

All are combinations of concat, reshape and slices.
"""
from __future__ import annotations

from typing import Any

from collections.abc import Sequence

from ..common.annotations import Ints
from ..common.errors import ArgumentError, ShapeError
from ..common.tensor import Tensor, TensorLike
from .basic import reshape
from .creation import zeros
from .define import as_operand, dtype_of
from .structure import concat, narrow


def _each(tensors, least):
    """Every tensor (or the one that is given) with at least `least` axes."""
    single = not isinstance(tensors, (tuple, list))
    made = [least(as_operand(x)) for x in ([tensors] if single else tensors)]
    return made[0] if single else tuple(made)


def atleast_1d(inputs: Sequence[TensorLike]) -> Any:
    """Numbers become one-axis tensors. inputs : a tensor, or several, which are given as a tuple"""
    return _each(inputs, lambda x: x if x.ndim >= 1 else reshape(x, shape=(1,)))


def atleast_2d(inputs: Sequence[TensorLike]) -> Any:
    """At least two axes, new ones in front."""
    return _each(inputs, lambda x: x if x.ndim >= 2 else reshape(x, shape=(1,) * (2 - x.ndim) + tuple(x.shape)))


def atleast_3d(inputs: Sequence[TensorLike]) -> Any:
    """At least three axes: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]."""
    def three(x):
        if x.ndim >= 3:
            return x
        return reshape(x, shape=tuple(x.shape) + (1,) if x.ndim == 2 else (1, *x.shape, 1) if x.ndim else (1, 1, 1))
    return _each(inputs, three)


def _several(name, tensors):
    if not isinstance(tensors, (tuple, list)) or not tensors:
        raise ArgumentError(f"{name}: a tuple or list of tensors is wanted, not {type(tensors).__name__}")
    return tensors


def hstack(tensors: Sequence[TensorLike]) -> Tensor:
    """Side by side: along axis 1, one-axis tensors along axis 0."""
    made = atleast_1d(_several("hstack", tensors))
    return concat(made, 0 if made[0].ndim == 1 else 1)


def vstack(inputs: Sequence[TensorLike]) -> Tensor:
    """One below the other: along axis 0, one-axis tensors as rows."""
    return concat(atleast_2d(_several("vstack", inputs)), 0)


def dstack(tensors: Sequence[TensorLike]) -> Tensor:
    """One behind the other: along axis 2."""
    return concat(atleast_3d(_several("dstack", tensors)), 2)


def column_stack(tensors: Sequence[TensorLike]) -> Tensor:
    """One-axis tensors as the columns of a matrix, matrices side by side."""
    made = [as_operand(x) for x in _several("column_stack", tensors)]
    return concat([reshape(x, shape=(-1, 1)) if x.ndim < 2 else x for x in made], 1)


row_stack = vstack


def tensor_split(input: TensorLike, indices_or_sections: Ints, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut along `axis`: into as many parts of nearly the same size (int), or at the given places (tuple).

    raises : ArgumentError for a number of parts below 1
    """
    x = as_operand(input)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1:
            raise ArgumentError(f"tensor_split: at least one part is wanted, not {indices_or_sections}")
        least, more = size // indices_or_sections, size % indices_or_sections
        ends = [least * (i + 1) + min(i + 1, more) for i in range(indices_or_sections)]
    else:
        ends = [min(e + size if e < 0 else e, size) for e in indices_or_sections] + [size]
    starts = [0, *ends[:-1]]
    return tuple([narrow(x, axis, start, max(end - start, 0)) for start, end in zip(starts, ends)])


def hsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along axis 1 (0 of one-axis tensors)."""
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


def vsplit(input: TensorLike, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along axis 0."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along axis 2. raises : ShapeError for fewer than three axes"""
    if input.ndim < 3:
        raise ShapeError(f"dsplit: a tensor of three axes or more is wanted, this has {input.ndim}")
    return tensor_split(input, indices_or_sections, 2)


def block_diag(*inputs: Any) -> Tensor:
    """The matrices (numbers and rows are such) along the diagonal of a matrix of zeros."""
    blocks = atleast_2d([as_operand(x) for x in inputs])
    width, rows, before = sum([b.shape[1] for b in blocks]), [], 0
    for block in blocks:
        high, wide = block.shape
        parts = [zeros((high, before), dtype_of(block)), block, zeros((high, width - before - wide), dtype_of(block))]
        rows.append(concat(parts, 1))
        before += wide
    return concat(rows, 0)
