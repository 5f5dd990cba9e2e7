"""Lowering of what data selects (nonzero, masked_select): room for all elements; the count that the kernel tells is the size."""
from ..common.dtype import int64
from ..mindir.abstract import AbstractTensor
from ..ops.sort import masked_select, nonzero_indices


def lower_nonzero(lowering, node):
    x = node.args[0].abstract
    return _selected(lowering, node, "places", x.dtype, (x.size, x.ndim), x.shape)


def lower_masked_select(lowering, node):
    x = node.args[0].abstract
    return _selected(lowering, node, "values", x.dtype, (x.size,), ())


def _selected(lowering, node, kind, dtype, most, sizes):
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


SELECTED = {nonzero_indices: lower_nonzero, masked_select: lower_masked_select}
