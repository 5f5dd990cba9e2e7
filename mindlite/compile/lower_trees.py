"""Lowering of what is read of trees (ops.trees): loads from the records that common.trees has written."""
from ..common import dtype as dt
from ..common.trees import WORD
from ..mindir.abstract import AbstractScalar
from ..ops.trees import tree_kind, tree_part, tree_value


def _word(lowering, tree, index, dtype=dt.int64):
    b = lowering.b
    return b.load(b.arith("add", tree, b.const(index * WORD)) if index else tree, dtype)


def lower_kind(lowering, node):
    return _word(lowering, lowering.value(node.args[0]), 0)


def lower_part(lowering, node):
    return _word(lowering, lowering.value(node.args[0]), 1 + node.attrs["index"])


def lower_value(lowering, node):
    tree, made = lowering.value(node.args[0]), node.abstract
    if isinstance(made, AbstractScalar):
        return _word(lowering, tree, 1, dt.float64 if made.type is float else dt.int64)
    lowering.bind_sizes(made, [_word(lowering, tree, 2 + axis) for axis in range(made.ndim)])
    return _word(lowering, tree, 1)


TREES = {tree_kind: lower_kind, tree_part: lower_part, tree_value: lower_value}
