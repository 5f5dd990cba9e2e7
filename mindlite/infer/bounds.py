"""Indices that are known at run time only: one outside of its axis is an error in a graph, as it is in eager mode.

    out = gather(x, i)        check(all(-n <= i < n));  out = gather(x, i)

Where the check fails Python runs the call again, and its operator raises with the index that is wrong. Inside vmap an
element that does not take a branch may fail it too: Python then finds nothing wrong, and its result is the call's.
"""
import functools

import numpy as np

from ..common.dim import compare
from ..common.errors import IndexRangeError
from ..mindir.abstract import AbstractTuple
from ..mindir.control import check
from ..mindir.graph import AnfNode, ValueNode
from ..mindir.primitive import PRIMITIVES, interpreting
from ..ops.reduction import reduce_all
from ..ops.define import as_operand
from ..ops.indexing import checked
from ..ops.logic import greater_equal, less, logical_and
from ..ops.scalar import tensor_to_scalar

# {operator: (operands, attributes) -> (indices, the size of the axis that they stand for)}
INDICES = {PRIMITIVES[name]: lambda args, attrs: (args[1], args[0].shape[attrs["axis"]])
           for name in ("gather_axis", "gather_elements", "index_add_axis")}
SAME_VALUES = ("reshape", "slice", "cast", "transpose", "tuple_getitem", "expand_dims")


def demand_bounds(tracer, prim, args, attrs):
    """Write the check for the indices of an operator that is about to be written, if it has any.

    raises : IndexRangeError for known indices that are outside
    """
    if prim not in INDICES:
        return
    indices, size = INDICES[prim](args, attrs)
    if not isinstance(indices, AnfNode):
        indices = tracer.lift(indices)
    if isinstance(indices, ValueNode):
        if isinstance(size, int):
            checked(prim.name.partition("_")[0], np.asarray(indices.value), size)
            return
    elif inside(indices, size):
        return
    with interpreting(tracer):
        low = greater_equal(indices, -as_operand(size, indices.dtype)) if indices.dtype.kind == "i" else None
        high = less(indices, as_operand(size, indices.dtype))
        holds = tensor_to_scalar(reduce_all(high if low is None else logical_and(low, high),
                                            axis=tuple(range(indices.ndim)), keepdims=False))
    error = functools.partial(IndexRangeError, f"{prim.name.partition('_')[0]}: an index is outside an axis of size {size}")
    tracer.graph.add(check, tracer.lift(holds), origin=tracer.origin, abstract=AbstractTuple(()), error=error, again=True)


def inside(node, size):
    """True for indices that are inside by how they are made: 0, 1, .. and places in an axis of that size."""
    while not isinstance(node, ValueNode) and getattr(getattr(node, "fn", None), "name", "") in SAME_VALUES:
        node = node.args[0]
    name = getattr(getattr(node, "fn", None), "name", "")
    if name == "count_up":
        return compare("<=", node.attrs["size"], size) is True
    return name.startswith("nonzero") and any(compare("==", n, size) is True for n in node.args[0].shape)
