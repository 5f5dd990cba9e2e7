"""SymbolTree: the statements of a network, to be looked at and changed, and the network that comes out.

    stree = SymbolTree.create(net)
    stree.insert(stree.after("dense"), node)         stree.erase("relu")         stree.replace(old, [new1, new2])
    print(stree.get_code())                          changed = stree.get_network()
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.files import replacing
from ..common.records import dataclass
from ..nn.cell import Cell
from .flatten import Names
from .node import Block, Node
from .reader import Reader, definition_of
from .source import Source
from .static import flatten_static_branches
from .value import NodeType, check, check_all, expression_of


@dataclass(frozen=True)
class Position:
    """A place beside a Node."""
    node: Node
    before: bool


class NodeIterator:
    """Gives Nodes as they stood when it was made; its length is how many are left."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = list(nodes)[::-1]

    def __iter__(self) -> Iterator[Node]:
        return self

    def __next__(self) -> Node:
        if not self._nodes:
            raise StopIteration
        return self._nodes.pop()

    def __len__(self) -> int:
        return len(self._nodes)


class SymbolTree:
    """The forward computation of a network as Nodes.

    handler : what `get_handler` gives; `SymbolTree.create(net)` makes one
    """
    block: Block

    def __new__(cls, handler: SymbolTree) -> SymbolTree:
        check("handler", handler, SymbolTree)
        return handler

    def __init__(self, handler: SymbolTree) -> None:
        """Nothing is to be set: `handler` is what is given back."""
        self.cell: Any
        self.path: str
        self.parent: SymbolTree | None
        self.names: Names
        self.function_names: Names
        self.variables: Names
        self.being_read: list[Any]
        self.file_name: str

    @classmethod
    def create(cls, network: Any) -> SymbolTree:
        """The SymbolTree of a network, whose statements are written one operation each.

        network : a Cell whose construct is Python of the user. Calls of Cells of his have SymbolTrees of their own (type Tree),
                  calls of methods and functions of his have Nodes inside (CallFunction), so have SequentialCells and lists of
                  Cells (CellContainer) and branches and loops (ControlFlow). Other statements are kept as they are (Python).
        raises  : ArgumentError (a TypeError) for what is no Cell, and for a Cell without such a construct
        """
        check("network", network, Cell)
        return cls._made(network, "", None)

    @classmethod
    def _made(cls, network: Any, path: str, parent: SymbolTree | None) -> SymbolTree:
        construct = type(network).construct
        definition = definition_of(construct)
        if definition is None:
            raise ArgumentError(f"SymbolTree.create: {type(network).__name__}.construct is no Python that can be read",
                                hint="a layer of the framework has no SymbolTree; nor has a construct that defines functions")
        made = object.__new__(cls)
        made.cell, made.path, made.parent, made.file_name = network, path, parent, ""
        made.names, made.variables = Names(), Names()
        made.function_names = Names() if parent is None else parent.function_names
        made.being_read = [] if parent is None else parent.being_read
        made.block = Reader(made, cls._made).function(construct, definition)
        return made

    def name(self, node: Node) -> None:
        """Give a Node that is to stand here a name that is free; functions have names that are free in all SymbolTrees."""
        taken = Names(self.names.taken | self.function_names.taken) if node.inside is not None else self.names
        node.name = taken.unique(node.name)
        self.names.taken.add(node.name)
        if node.inside is not None and node.type is NodeType.CallFunction:
            self.function_names.taken.add(node.name)

    # ---------------------------------------------------------------- looking

    def get_handler(self) -> SymbolTree:
        """The SymbolTree itself."""
        return self

    def get_origin_network(self) -> Any:
        """The network that it was made from."""
        return self.cell

    def nodes(self, all_nodes: bool = False) -> NodeIterator:
        """An iterator over the Nodes as they stand now, in order.

        all_nodes : those inside of functions, branches, containers and other SymbolTrees, too
        raises    : ArgumentError
        """
        check("all_nodes", all_nodes, bool)
        return NodeIterator(self.all_nodes() if all_nodes else self.block.nodes)

    def all_nodes(self, subtree_nodes: bool = True) -> list[Node]:
        """Every Node. subtree_nodes : those of other SymbolTrees, too"""
        check("subtree_nodes", subtree_nodes, bool)
        found = list(self.block.walk())
        for tree in [node.symbol_tree for node in found if node.symbol_tree is not None] if subtree_nodes else ():
            found += tree.all_nodes()
        return found

    def get_node(self, node_name: str) -> Node | None:
        """The Node of this name, also inside of functions, branches and containers, or None. raises : ArgumentError"""
        check("node_name", node_name, str)
        return next((node for node in self.block.walk() if node.name == node_name), None)

    def get_inputs(self) -> list[Node]:
        """The Nodes of the arguments of `construct`."""
        return [node for node in self.block.nodes if node.type is NodeType.Input]

    def unique_name(self, name: str = "output") -> str:
        """`name`, or name_1, name_2, .. where a variable is called so. raises : ArgumentError"""
        check("name", name, str)
        return self.variables.unique(name)

    def print_node_tabulate(self, all_nodes: bool = False) -> None:
        """Print a table: type and name of each Node, its statement, who gives its arguments and who uses its results.

        all_nodes : the tables of functions, branches and other SymbolTrees, too. raises : ArgumentError
        """
        check("all_nodes", all_nodes, bool)
        print(f"[{type(self.cell).__name__}Opt]\n{_table(self.block.nodes)}")
        for node in self.block.walk() if all_nodes else ():
            if node.inside is not None:
                print(f"\n[{node.name}]\n{_table(node.inside.nodes)}")
        for node in self.block.walk() if all_nodes else ():
            if node.symbol_tree is not None:
                print()
                node.symbol_tree.print_node_tabulate(True)

    # ---------------------------------------------------------------- changing

    def before(self, node: Node | str) -> Position:
        """The place before a Node, for `insert`. raises : ArgumentError; ValueRangeError for a Node that stands nowhere here"""
        return Position(self._found(node), True)

    def after(self, node: Node | str) -> Position:
        """The place after a Node, for `insert`. raises : ArgumentError; ValueRangeError for a Node that stands nowhere here"""
        return Position(self._found(node), False)

    def _found(self, node: Node | str) -> Node:
        check("node", node, (Node, str))
        found = self.get_node(node) if isinstance(node, str) else node
        if found is None or found.block is None:
            raise ValueRangeError(f"SymbolTree: no node {node if isinstance(node, str) else node.name!r} stands here")
        return found

    def insert(self, position: Position, node: Node) -> Node:
        """Put a Node at a place. Its name gets a number where it is taken; so does the attribute that holds its Cell.

        The Parameters of its Cell are named by where it stands; all others keep their names. raises : ArgumentError for
        other kinds, and for a Cell in a function that has no `self`; ValueRangeError for a place in another SymbolTree, between
        arguments or after `return`'s Node, and for a Node that stands somewhere already
        """
        check("position", position, Position)
        check("node", node, Node)
        block = position.node.block
        if block is None or block.tree is not self:
            raise ValueRangeError(f"SymbolTree.insert: {position.node.name!r} does not stand in this SymbolTree")
        if node.block is not None:
            raise ValueRangeError(f"SymbolTree.insert: {node.name!r} stands in a SymbolTree already")
        beside_input = position.node.type is NodeType.Input and position.before
        if beside_input and node.type is not NodeType.Input:
            raise ValueRangeError(f"SymbolTree.insert: {node.name!r} cannot stand before the argument {position.node.name!r}")
        index = block.nodes.index(position.node) + (not position.before)
        if node.type is not NodeType.Input:
            index = max(index, sum(other.type is NodeType.Input for other in block.nodes))
        self._settle(node, block)
        block.nodes.insert(index, node)
        node.block, node.is_new = block, True
        self.variables.taken |= {str(target) for target in node.get_targets()}
        return node

    def _settle(self, node: Node, block: Block) -> None:
        """Give a new Node its name, and its Cell an attribute and names of Parameters."""
        new_attribute = node.type in (NodeType.CallCell, NodeType.CallPrimitive)
        in_container = block.owner is not None and block.owner.type is NodeType.CellContainer
        receiver = block.body_of_function().receiver
        if new_attribute and not receiver and not in_container:
            raise ArgumentError(f"SymbolTree.insert: Cannot insert {node.type} node '{node.name}' into no-method function "
                                f"'{block.body_of_function().definition.name}'.")
        if new_attribute:
            node.name = Names(self.names.taken | set(dir(self.cell))).unique(node.name)
        self.name(node)
        if not new_attribute:
            return
        if not in_container:
            node.statement.value.func = ast.Attribute(ast.Name(receiver, ast.Load()), node.name, ast.Load())
        row = block.owner.name.removeprefix("self.") if in_container and block.owner is not None else ""
        path = ".".join(filter(None, [self.path, row, node.name]))
        if isinstance(node.instance, Cell):
            node.instance.update_parameters_name(path + ".")
            if node.attributes.pop("is_sub_net", False):
                Reader(self, type(self)._made).of_cell(node, node.instance, block, path)

    def erase(self, node: Node | str) -> Node | None:
        """Take a Node out; those that use its results read what the variable was before. Gives it, None where it stands nowhere.

        raises : ArgumentError
        """
        check("node", node, (Node, str))
        found = self.get_node(node) if isinstance(node, str) else node
        if found is None or found.block is None:
            return None
        found.block.nodes.remove(found)
        found.block.tree.names.taken.discard(found.name)
        found.block = None
        return found

    erase_node = erase

    def replace(self, old_node: Node, new_nodes: list[Node]) -> Node:
        """Put Nodes, in this order, where another stands; gives the last of them.

        raises : ArgumentError for other kinds; ValueRangeError for no Nodes, and as `insert`
        """
        check("old_node", old_node, Node)
        check_all("new_nodes", new_nodes, Node)
        if not new_nodes:
            raise ValueRangeError("SymbolTree.replace: new_nodes is empty", hint="erase(node) takes a node out")
        last = old_node
        for node in new_nodes:
            last = self.insert(self.after(last), node)
        self.erase(old_node)
        return last

    def set_output(self, index: int, return_value: str) -> Node:
        """Let item `index` of what `construct` returns last be a variable; gives the Node of `return`.

        raises : ArgumentError for other kinds; ValueRangeError for an index that is too large, and without a `return`
        """
        check("return_value", return_value, str)
        output = next((node for node in reversed(self.block.nodes) if node.type is NodeType.Output), None)
        if output is None:
            raise ValueRangeError("SymbolTree.set_output: construct ends without return")
        output.set_arg(index, return_value)
        return output

    def set_node_target(self, node: Node, index: int, target: Any) -> None:
        """Let a Node write its result `index` to another variable. target : a ScopedValue or str"""
        holder, field, place = node.places[index]
        written: Any = expression_of(target)
        written.ctx = ast.Store()
        if place is None:
            setattr(holder, field, written)
        else:
            getattr(holder, field)[place] = written
        self.variables.taken.add(str(target))

    def flatten_static_if_control_flow(self) -> None:
        """Put what a branch holds in its place where its condition is known now: constants, names of the module, attributes of
        the network that no statement writes, and what is computed of them. The other branch goes."""
        flatten_static_branches(self.block)

    # ---------------------------------------------------------------- writing

    def get_code(self) -> str:
        """The source of the network as it stands now: a class for each SymbolTree, functions, and what they import."""
        return Source(self).text

    def get_network(self) -> Any:
        """The network as it stands now: a Cell of a new class, with the attributes and the very Parameters of the original.

        The original stays as it is. Calling it a second time gives another network, with the same Parameters.
        """
        return Source(self).network()

    def set_saved_file_name(self, file_name: str) -> None:
        """Name the file of `save_network_to_file`; ".py" is added where it lacks. raises : ArgumentError"""
        check("file_name", file_name, str)
        self.file_name = file_name if file_name.endswith(".py") else file_name + ".py"

    def get_saved_file_name(self) -> str:
        """What `set_saved_file_name` said, or ""."""
        return self.file_name

    def save_network_to_file(self) -> None:
        """Write `get_code` to the file of `set_saved_file_name`. raises : ValueRangeError where none was named; OSError"""
        if not self.file_name:
            raise ValueRangeError("save_network_to_file: no file is named", hint="set_saved_file_name(name) first")
        with replacing(self.file_name) as stream:
            stream.write(self.get_code().encode())


def _table(nodes: list[Node]) -> str:
    """Nodes, a row each."""
    rows: list[tuple[str, ...]] = [("node type", "name", "codes", "arg providers", "target users")]
    for node in nodes:
        providers = [[index, (giver.name, target)] for index, (giver, target) in node.get_arg_providers().items()]
        users = [[index, [(user.name, number) for user, number in found]] for index, found in node.get_target_users().items()]
        rows.append((str(node.type), node.name, node.code(), str(providers), str(users)))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    rows.insert(1, tuple(["-" * width for width in widths]))
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
