"""Lowering of what data selects (nonzero, masked_select): room for all elements; the count that the kernel tells is the size."""
from __future__ import annotations

from ..common.dim import Shape
from ..common.dtype import DType, int64
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import CNode
from ..ops.sort import masked_select, nonzero_indices
from .lowering import Lowering, Made, lowers


@lowers(nonzero_indices)
def lower_nonzero(lowering: Lowering, node: CNode) -> Made:
    x = node.args[0].abstract
    return _selected(lowering, node, "positions", x.dtype, (x.size, x.ndim), x.shape)


@lowers(masked_select)
def lower_masked_select(lowering: Lowering, node: CNode) -> Made:
    x = node.args[0].abstract
    return _selected(lowering, node, "values", x.dtype, (x.size,), ())


def _selected(lowering: Lowering, node: CNode, kind: str, dtype: DType, most: Shape, sizes: Shape) -> Made:
    """Call the kernel; where the Target has none, the eval rule. most: the shape of the result if all is selected"""
    kernel = lowering.library_kernel("selected", kind=kind, dtype=dtype, ndim=node.args[0].abstract.ndim)
    if kernel is None:
        return lowering.operator(node)
    b, out = lowering.b, lowering.allocate(AbstractTensor(node.abstract.dtype, most))
    count = b.alloc(b.const(8), 8, lowering.device)
    args = [lowering.value_on(a, lowering.device, node.origin) for a in node.args]
    lowering.call_kernel(kernel, [*args, out, count], [most[0], *sizes], node)
    lowering.bind_sizes(node.abstract, [b.load(count, int64)] * node.abstract.ndim)
    return out
