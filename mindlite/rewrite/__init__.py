"""Edit the forward computation of a network: its statements as nodes that are inserted, erased and replaced.

    stree = SymbolTree.create(net)                       node = stree.get_node("relu")
    new = Node.create_call_cell(nn.Tanh(), ["x"], [ScopedValue.create_naming_value("x")], name="tanh")
    stree.replace(node, [new])                           changed = stree.get_network()

`flatten.py` writes a function's statements one operation each, `reader.py` makes nodes of them, `node.py` and
`symbol_tree.py` are what users hold, `source.py` writes the class of the new network, `pattern.py` replaces by pattern.
"""
from .node import Node  # noqa: F401
from .pattern import PatternEngine, PatternNode, Replacement, VarNode  # noqa: F401
from .symbol_tree import Position, SymbolTree  # noqa: F401
from .value import NodeType, ScopedValue, ValueType  # noqa: F401
