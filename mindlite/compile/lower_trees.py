"""Lowering of what is read of trees (ops.trees): loads from the records that common.trees has written."""
from __future__ import annotations

from ..common import dtype as dt
from ..common.dtype import DType
from ..common.trees import WORD
from ..mindir.abstract import AbstractScalar
from ..mindir.graph import CNode
from ..ops.trees import tree_kind, tree_part, tree_value
from .lowering import Lowering, lowers


def _word(lowering: Lowering, tree: int, index: int, dtype: DType = dt.int64) -> int:
    b = lowering.b
    return b.load(b.arith("add", tree, b.const(index * WORD)) if index else tree, dtype)


@lowers(tree_kind)
def lower_kind(lowering: Lowering, node: CNode) -> int:
    return _word(lowering, lowering.value(node.args[0]), 0)


@lowers(tree_part)
def lower_part(lowering: Lowering, node: CNode) -> int:
    return _word(lowering, lowering.value(node.args[0]), 1 + node.attrs["index"])


@lowers(tree_value)
def lower_value(lowering: Lowering, node: CNode) -> int:
    tree, made = lowering.value(node.args[0]), node.abstract
    if isinstance(made, AbstractScalar):
        return _word(lowering, tree, 1, dt.float64 if made.type is float else dt.int64)
    lowering.bind_sizes(made, [_word(lowering, tree, 2 + axis) for axis in range(made.ndim)])
    return _word(lowering, tree, 1)
