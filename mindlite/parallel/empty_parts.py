"""Maxima and minima of parts that may have no element: the least (largest) number stands beside the part.

    x : f32[N:S0, 8]      reduce_max(x; axis=0)      ->      reduce_max(concatenate(part of x, -inf); axis=0), then all_reduce

Where N is open a rank may have no row. The whole has one: the operator demands that of it, so the number never is the result,
unless an element is that number.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common.dim import Dim
from ..common.dtype import DType
from ..common.sbp import Split
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import AnfNode, CNode
from ..ops.creation import full
from ..ops.reduction import reduce_max, reduce_min
from ..ops.structure import concatenate


def padded_axes(node: CNode, sbps: Sequence[Any]) -> tuple[int, ...]:
    """The axes of open size along which a rank's part of the operand of a maximum or minimum, which lies so, may be empty."""
    if node.fn not in (reduce_max, reduce_min):
        return ()
    split = {sbp.axis for sbp in sbps if isinstance(sbp, Split)}
    return tuple([axis for axis in node.attrs["axis"] if axis in split and isinstance(node.args[0].abstract.shape[axis], Dim)])


def padded_kind(part: AbstractTensor, axes: Sequence[int]) -> AbstractTensor:
    """The type of `padded`."""
    return AbstractTensor(part.dtype, tuple([size + 1 if axis in axes else size for axis, size in enumerate(part.shape)]))


def padded(node: CNode, part: AnfNode, axes: Sequence[int]) -> AnfNode:
    """The part with one more slice of the number that no element is beyond, along each of these axes."""
    for axis in axes:
        shape = tuple([1 if a == axis else size for a, size in enumerate(part.abstract.shape)])
        dtype = part.abstract.dtype
        part = concatenate(part, full(shape, _bound(dtype, node.fn is reduce_max), dtype=dtype), axis=axis)
    return part


def _bound(dtype: DType, least: bool) -> Any:
    """The least or largest number of a dtype."""
    if dtype.kind == "b":
        return not least
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.numpy)
        return int(limits.min if least else limits.max)
    return -np.inf if least else np.inf
