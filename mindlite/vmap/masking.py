"""Safe masking: what runs for an element of a batch that does not want it, runs with the values of one that does.

    lent(p, x) = where(p, x, stop_gradient(x[the first element with p]))

So nothing is computed that the program would not compute: a loop ends, an index stays inside, and no infinity or NaN comes
up whose product with a zero cotangent would be a NaN in the gradient of what all elements share. No gradient comes back
through what is lent. (`where` on both ends of what may be infinite is the usual advice to users of masks; here it is
the rule, and the value is one at which the program can be run.)
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

from .. import ops
from ..common import dtype as dt
from ..mindir.abstract import AbstractTensor
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import CNode, FuncGraph
from ..mindir.primitive import sbp_rule_table
from ..ops.basic import broadcast_to, cast, reshape
from ..ops.dynamic_slicing import dynamic_slice
from ..ops.logic import where
from ..ops.reduction import reduce_any
from .numbers import NUMBERS

if TYPE_CHECKING:
    from ..common.dim import Size


def choose(mask: Any, new: Any, old: Any, size: Size) -> Any:
    """new where the element's mask is true, else old; both with the batch axis in front."""
    return where(reshape(mask, shape=(size,) + (1,) * (new.ndim - 1)), new, old)


def wanted(mask: Any) -> Any:
    """True if any element has it."""
    return reduce_any(mask, axis=(0,), keepdims=False)


def lend(mask: Any, values: Any, dims: Any, size: Size) -> list:
    """The values, those with a batch axis (in front) with rows lent to the elements that the mask leaves out."""
    first = ops.argmax(cast(mask, dtype=dt.int64), 0) if size != 0 else 0

    def filled(x):
        row = dynamic_slice(x, first, *[0] * (x.ndim - 1), sizes=(1, *x.shape[1:]))
        return choose(mask, x, broadcast_to(ops.stop_gradient(row), shape=x.shape), size)
    return [x if dim is None or size == 0 else filled(x) for x, dim in zip(values, dims)]


def shield(mask: Any, values: Any, dims: Any) -> list:
    """The values, those that all elements share without a gradient if no element is in the mask, when nothing is lent."""
    some = wanted(mask)
    return [where(some, x, ops.stop_gradient(x)) if dim is None and isinstance(x.abstract, AbstractTensor)
            and x.abstract.dtype.is_differentiable else x for x, dim in zip(values, dims)]


def is_linear(graph: FuncGraph) -> bool:
    """True for a graph that can be run with any values: by the SBP facts of its operators it is linear in
    its inputs, so its slopes are constants; and no index or size depends on them."""
    varying: set = set(graph.parameters)
    for node in graph.nodes:
        read = {i for i, arg in enumerate(node.args) if arg in varying}
        if not read:
            continue
        varying.add(node)
        if node.fn in (make_tuple, tuple_getitem) or node.fn in NUMBERS or _decides(node):
            continue
        if not any(read - _bools(node) <= together for together in _linear(node)):
            return False
    return True


def _decides(node: CNode) -> bool:
    """True for comparisons and their kin: no gradient passes them."""
    return "elementwise" in node.fn.traits and not node.abstract.dtype.is_differentiable


def _bools(node: CNode) -> set[int]:
    return {i for i, arg in enumerate(node.args) if isinstance(arg.abstract, AbstractTensor) and arg.abstract.dtype.kind == "b"}


def _linear(node: CNode) -> Any:
    if node.fn not in sbp_rule_table:
        return ()
    linear = sbp_rule_table[node.fn].linear
    return linear(*[arg.abstract for arg in node.args], **node.attrs) if callable(linear) else linear
