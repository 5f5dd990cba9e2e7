"""Branches whose condition is known when a SymbolTree is changed: what is taken moves out of them.

    compare_var = self.kind == "a"                    compare_var = self.kind == "a"
    if compare_var: x = self.relu(x)         ->       x = self.relu(x)
    else: x = self.tanh(x)

Known are constants, names of the module, attributes of the network that no statement writes, and what is computed of them.
"""
from __future__ import annotations

import ast
import builtins
from typing import Any

from .node import Block, Node
from .reader import _MISSING, global_of
from .value import PLAIN, NodeType, dotted

_CALLS = ("get_context", "isinstance", "len", "hasattr", "getattr", "bool", "int", "abs", "min", "max")


def flatten_static_branches(block: Block) -> None:
    """Put the statements of each known branch of a Block, and of the Blocks inside of it, in the place of the branch."""
    waiting = list(block.nodes)
    while waiting:
        node = waiting.pop(0)
        known = _MISSING
        if node.type is NodeType.ControlFlow and isinstance(node.statement, ast.If) and not node.is_else:
            known = _value(node.statement.test, block, node)
        if known is _MISSING:
            if node.inside is not None and node.type in (NodeType.ControlFlow, NodeType.CallFunction):
                flatten_static_branches(node.inside)
            continue
        branches = [node, *([node.partner] if node.partner in block.nodes and node.partner is not None else [])]
        taken = [branch for branch in branches if branch.is_else is not bool(known)]
        inside = taken[0].nodes() if taken else []
        place = block.nodes.index(node)
        for branch in branches:
            block.tree.erase(branch)
        for inner in inside:
            inner.block = block
        block.nodes[place:place] = inside
        waiting = inside + [other for other in waiting if other not in branches]


def _value(tree: ast.expr, block: Block, before: Node) -> Any:
    """What an expression is each time when it is reached; `_MISSING` where that is not known, or no plain value."""
    values: dict[str, Any] = {}
    for part in ast.walk(tree):
        if isinstance(part, (ast.Lambda, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)) or \
                isinstance(part, ast.Call) and (dotted(part.func) or "").rpartition(".")[2] not in _CALLS:
            return _MISSING
        if isinstance(part, ast.Name) and part.id not in values:
            values[part.id] = _variable(part.id, block, before)
            if values[part.id] is _MISSING:
                return _MISSING
    receiver = block.body_of_function().receiver
    read = {dotted(part) for part in ast.walk(tree) if isinstance(part, ast.Attribute)}
    written = {str(target) for node in block.tree.block.walk() for target in node.get_targets()}
    if receiver and any(path is not None and path in written for path in read):
        return _MISSING
    try:
        found = eval(compile(ast.fix_missing_locations(ast.Expression(tree)), "<condition>", "eval"),
                     {"__builtins__": builtins}, values)
    except (AttributeError, TypeError, KeyError, IndexError, ValueError):         # the branch raises it where it is reached
        return _MISSING
    return found if isinstance(found, PLAIN) else _MISSING


def _variable(name: str, block: Block, before: Node) -> Any:
    function = block.body_of_function()
    if name == function.receiver:
        return block.tree.cell
    writer = block.writer(name, before)
    if writer is not None and writer[0].type in (NodeType.MathOps, NodeType.CallMethod, NodeType.CallFunction):
        statement = writer[0].statement
        return _value(statement.value, block, writer[0]) if isinstance(statement.targets[0], ast.Name) else _MISSING
    written = {str(target) for node in function.walk() for target in node.get_targets()} | {
        hidden for node in function.nodes for hidden in node.hidden_writes()}
    return _MISSING if name in written else global_of(function.function, name)
