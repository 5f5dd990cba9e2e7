"""What compiled code reads of trees: records in memory (common.trees). Eager mode has Python's own objects.

    tree_kind(t)  ->  the number of the record's kind;    tree_part(t, index=1)  ->  the second part, a tree itself
    tree_value(t, kind=f32[300])  ->  the Tensor that a leaf is
"""
from typing import Any

from ..common.dim import Symbol
from ..mindir.abstract import AbstractScalar, AbstractTensor, AbstractTree
from ..mindir.primitive import bprop_rule, infer_rule, primitive


@primitive(traits={"scalar"})
def tree_kind(tree: Any) -> Any:
    """The number of the kind of a record, an int."""


@primitive(traits={"scalar"})
def tree_part(tree: Any, *, index: int) -> Any:
    """The part of a node with this index. The node has such a part: that was looked at before."""


@primitive(traits={"scalar", "dynamic"})
def tree_value(tree: Any, *, kind: Any) -> Any:
    """The Tensor or number that a leaf of the LeafKind `kind` is; sizes that are open are bound here."""


infer_rule(tree_kind)(lambda tree: AbstractScalar(int))
infer_rule(tree_part)(lambda tree, *, index: AbstractTree(tree.type))


@infer_rule(tree_value)
def tree_value_infer(tree, *, kind):
    if kind.dtype is None:
        return AbstractScalar(kind.cls)
    return AbstractTensor(kind.dtype, tuple([Symbol(lo=0).dim if n is None else n for n in kind.shape]))


bprop_rule(tree_kind)(lambda tree, out, dout: None)
bprop_rule(tree_part)(lambda tree, out, dout, *, index: None)
bprop_rule(tree_value)(lambda tree, out, dout, *, kind: None)
