"""Replace what matches a pattern: a tree of kinds of Cells that feed one another.

    class Fuse(Replacement):
        def build(self, pattern, is_chain_pattern, matched):
            relu = matched[pattern.name()]
            ..                                              return [new nodes]

    PatternEngine([nn.Conv2d, nn.ReLU], Fuse()).apply(stree)          every ReLU of a Conv2d that nothing else uses
"""
from __future__ import annotations

import abc
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from ..common.errors import ArgumentError
from ..nn.cell import Cell
from .node import Block, Node
from .symbol_tree import SymbolTree
from .value import NodeType, check, check_all


class PatternNode:
    """One place of a pattern.

    pattern_node_name : the key under which `Replacement.build` finds the Node
    match_type        : the class of the Cell or operator that the Node calls
    inputs            : the PatternNodes of its inputs; none lets them be anything
    raises            : ArgumentError
    """

    def __init__(self, pattern_node_name: str, match_type: Any = type(None), inputs: list[PatternNode] | None = None) -> None:
        check("pattern_node_name", pattern_node_name, str)
        self._name, self._type = pattern_node_name, match_type
        self.set_inputs(inputs or [])

    @staticmethod
    def from_node(node: Node) -> PatternNode:
        """The place that a Node would match, without its inputs. raises : ArgumentError"""
        check("node", node, Node)
        return PatternNode(node.get_name(), node.get_instance_type() if node.type is NodeType.CallCell else type(None))

    @staticmethod
    def create_pattern_from_node(node: Node) -> PatternNode:
        """The pattern that a Node and everything that feeds it match. raises : ArgumentError"""
        made = PatternNode.from_node(node)
        made.set_inputs([PatternNode.create_pattern_from_node(giver) for giver in node.get_inputs()])
        return made

    @staticmethod
    def create_pattern_from_list(type_list: Sequence[Any]) -> PatternNode:
        """The pattern of Cells of these classes, each the only input of the next. raises : ArgumentError for no class"""
        if not type_list:
            raise ArgumentError("PatternNode: a pattern has one class at least")
        made: PatternNode | None = None
        for number, kind in enumerate(type_list):
            made = PatternNode(f"{number}-{kind.__name__}", kind, [made] if made is not None else [])
        return made                                                      # type: ignore[return-value]

    def add_input(self, node: PatternNode) -> None:
        """Add an input. raises : ArgumentError"""
        check("node", node, PatternNode)
        self._inputs.append(node)

    def set_inputs(self, inputs: list[PatternNode]) -> None:
        """Set the inputs. raises : ArgumentError"""
        check_all("inputs", inputs, PatternNode)
        self._inputs = list(inputs)

    def get_inputs(self) -> list[PatternNode]:
        """The inputs."""
        return self._inputs

    def match(self, node: Node) -> bool:
        """True if a Node calls what is wanted here. raises : ArgumentError"""
        check("node", node, Node)
        return self._type == node.get_instance_type()

    def name(self) -> str:
        """The key in what was matched."""
        return self._name

    def type(self) -> Any:
        """The class that is wanted."""
        return self._type


class VarNode(PatternNode):
    """A place that any Node matches; it is no part of what is replaced."""

    def __init__(self) -> None:
        super().__init__("placeholder", Cell, [])

    def match(self, node: Node) -> bool:
        """True."""
        return node is not None


class Replacement(abc.ABC):
    """Makes the Nodes that take the place of what was matched."""

    @abc.abstractmethod
    def build(self, pattern: PatternNode, is_chain_pattern: bool, matched: OrderedDict[str, Node]) -> list[Node]:
        """New Nodes, in order; the last one takes the place of the pattern's root. An empty list leaves all as it is.

        matched : {name of a PatternNode: the Node}
        """

    def __call__(self, pattern: PatternNode, is_chain_pattern: bool, matched: OrderedDict[str, Node]) -> list[Node]:
        return self.build(pattern, is_chain_pattern, matched)


class PatternEngine:
    """Replaces what matches a pattern.

    pattern     : the root, a PatternNode, or a list of classes of which each is the only input of the next
    replacement : a Replacement, or None, which replaces nothing
    raises      : ArgumentError
    """

    def __init__(self, pattern: PatternNode | list, replacement: Replacement | None = None) -> None:
        check("replacement", replacement, (Replacement, type(None)))
        self._is_chain, self._replacement = isinstance(pattern, list), replacement
        if isinstance(pattern, list):
            check_all("pattern", pattern, type)
            pattern = PatternNode.create_pattern_from_list(pattern)
        check("pattern", pattern, PatternNode)
        self._pattern = pattern

    def pattern(self) -> PatternNode:
        """The root of the pattern."""
        return self._pattern

    def apply(self, stree: SymbolTree) -> bool:
        """Replace every match, also inside of functions, branches, containers and other SymbolTrees; True if there was one.

        What only a part of the match feeds may not be used elsewhere. Nodes that were put in are not matched again.
        raises : ArgumentError
        """
        check("stree", stree, SymbolTree)
        nodes = list(stree.block.walk())
        blocks = [stree.block, *(node.inside for node in nodes if node.inside is not None)]
        changed = [self._replace_in(block) for block in blocks]
        changed += [self.apply(node.symbol_tree) for node in nodes if node.block is not None and node.symbol_tree is not None]
        return any(changed)

    def _replace_in(self, block: Block) -> bool:
        changed = False
        for node in tuple(block.nodes):
            matched = self._match(self._pattern, node) if node.block is block else None
            if matched is None or self._leaks(matched, node) or self._replacement is None:
                continue
            made = self._replacement(self._pattern, self._is_chain, matched)
            if made:
                changed = True
                block.tree.replace(node, made)
                for other in reversed(matched.values()):
                    if other is not node:
                        block.tree.erase(other)
        return changed

    def _match(self, pattern: PatternNode, node: Node) -> OrderedDict[str, Node] | None:
        """What a pattern matches, inputs first; None for no match."""
        if isinstance(pattern, VarNode):
            return OrderedDict()
        if node.type not in (NodeType.CallCell, NodeType.CallPrimitive) or not pattern.match(node):
            return None
        wanted, inputs = pattern.get_inputs(), node.get_inputs()
        if wanted and len(wanted) != len(inputs):
            return None
        found: OrderedDict[str, Node] = OrderedDict()
        for place, giver in zip(wanted, inputs):
            part = self._match(place, giver)
            if part is None:
                return None
            found.update(part)
        found[pattern.name()] = node
        return found

    @staticmethod
    def _leaks(matched: OrderedDict[str, Node], root: Node) -> bool:
        """True if something outside uses what is to be replaced."""
        inside = list(matched.values())
        return any(user not in inside for node in inside if node is not root for user in node.get_users())
