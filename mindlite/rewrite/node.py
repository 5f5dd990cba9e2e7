"""Node: one statement of a network's computation, and Block: statements in a row.

A Node holds its statement as a syntax tree, and the places in it where its targets and arguments stand: reading an
argument reads the tree, setting one writes it. Who gives an argument and who uses a result is looked up in the Block:
the last statement before that writes the name. Inside and outside of a branch or loop know nothing of each other.

    sub_var = self.sub(a)         Node Tree "sub": targets [sub_var], args [a], symbol_tree
    if not_var: .. else: ..       Node ControlFlow "if_node" and Node ControlFlow "else_node", a Block each
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ..common.errors import ArgumentError, MissingAttributeError, ValueRangeError
from ..nn.cell import Cell
from ..ops.operations.define import Operation
from .value import NodeType, ScopedValue, check, check_all, dotted, expression_of, value_of

_PLACE = tuple[Any, str, "int | None"]


class Block:
    """Statements in a row: a function's, a branch's, or the Cells of a container, which run one after the other.

    tree       : the SymbolTree
    owner      : the Node whose inside this is, None for `construct`
    function   : the Python function; None for branches and containers
    definition : its ast.FunctionDef; receiver: the name of its `self`, "" for a function that has none
    """

    def __init__(self, tree: Any, owner: Node | None = None, function: Any = None, definition: Any = None,
                 receiver: str = "") -> None:
        self.tree, self.owner, self.function, self.definition, self.receiver = tree, owner, function, definition, receiver
        self.nodes: list[Node] = []

    def body_of_function(self) -> Block:
        """The Block of the function in which this one stands."""
        block = self
        while block.function is None and block.owner is not None and block.owner.block is not None:
            block = block.owner.block
        return block

    def walk(self) -> Iterator[Node]:
        """Its Nodes, then those inside of them, without those of other SymbolTrees."""
        yield from tuple(self.nodes)
        for node in tuple(self.nodes):
            if node.inside is not None:
                yield from node.inside.walk()

    def writer(self, name: str, before: Node) -> tuple[Node, int] | None:
        """(node, number of the target) of the last Node before another that writes a name.

        None where the name comes from elsewhere, or from a statement that is not understood.
        """
        for node in reversed(self.nodes[:self.nodes.index(before)]):
            targets = [str(target) for target in node.get_targets()]
            if name in targets:
                return node, targets.index(name)
            if name.partition(".")[0] in node.hidden_writes():
                return None
        return None


class Node:
    """A statement of a network's forward computation: a call, an operation, an argument, a `return`, a branch.

    node : what `get_handler` gives; `create_call_cell`, `create_call_function` and `create_input` make new ones
    """
    block: Block | None
    type: NodeType

    def __new__(cls, node: Node) -> Node:
        check("node", node, Node)
        return node

    @classmethod
    def make(cls, kind: NodeType, name: str, statement: Any, targets: tuple[_PLACE, ...] = (), args: tuple[_PLACE, ...] = (),
             kwargs: dict[str, _PLACE] | None = None, instance: Any = None) -> Node:
        """A Node that stands nowhere yet. targets, args, kwargs : (holder, field, index) of their places in the statement"""
        made = object.__new__(cls)
        made.type, made.name, made.statement, made.instance = kind, name, statement, instance
        made.places, made.arg_places, made.kwarg_places = list(targets), list(args), dict(kwargs or {})
        made.block, made.inside, made.symbol_tree, made.partner, made.attributes = None, None, None, None, {}
        made.origin, made.is_else, made.is_new = None, False, False      # origin: the place of a container's Cell in it
        return made

    def __init__(self, node: Node) -> None:
        """Nothing is to be set: `node` is what is given back."""
        self.name: str
        self.statement: Any
        self.instance: Any
        self.places: list[_PLACE]
        self.arg_places: list[_PLACE]
        self.kwarg_places: dict[str, _PLACE]
        self.inside: Block | None
        self.symbol_tree: Any
        self.partner: Node | None
        self.attributes: dict[str, Any]
        self.origin: int | None
        self.is_else: bool
        self.is_new: bool

    # ---------------------------------------------------------------- making

    @staticmethod
    def create_call_cell(cell: Any, targets: list, args: list | None = None, kwargs: dict | None = None, name: str = "",
                         is_sub_net: bool = False) -> Node:
        """`targets = self.name(*args, **kwargs)`, not in a SymbolTree yet.

        cell       : a Cell, or an operator as a class; it becomes the attribute `name` of the new network
        targets    : ScopedValues or str, the variables that are written
        args       : ScopedValues, or None for none; kwargs: {str: ScopedValue}, or None
        name       : "" takes the name of the class; a number is added where the name is taken
        is_sub_net : True makes a Node of type Tree of a Cell of the user
        raises     : ArgumentError (a TypeError) for other kinds
        """
        check("cell", cell, (Cell, Operation))
        check("name", name, str)
        check("is_sub_net", is_sub_net, bool)
        name = name or type(cell).__name__
        kind = NodeType.CallCell if isinstance(cell, Cell) else NodeType.CallPrimitive
        func = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())
        made = _call(kind, name, func, targets, args, kwargs, cell)
        made.attributes["is_sub_net"] = is_sub_net
        return made

    @staticmethod
    def create_call_function(function: Callable, targets: list, args: list | None = None, kwargs: dict | None = None) -> Node:
        """`targets = function(*args, **kwargs)`, not in a SymbolTree yet; what the function does is not looked into.

        function : a function or a class; targets, args, kwargs: as in `create_call_cell`
        raises   : ArgumentError (a TypeError) for other kinds
        """
        name = getattr(function, "__name__", None) or getattr(function, "name", None)          # ops.tanh is an object
        if not callable(function) or isinstance(function, (Cell, Operation)) or not isinstance(name, str):
            raise ArgumentError(f"create_call_function: function is a function or class, not {type(function).__name__}")
        return _call(NodeType.CallFunction, name, ast.Name(name, ast.Load()), targets, args, kwargs, function)

    @staticmethod
    def create_input(param_name: str, default: ScopedValue | None = None) -> Node:
        """A further argument of `construct`. default : its default, None for None. raises : ArgumentError"""
        check("param_name", param_name, str)
        check("default", default, (ScopedValue, type(None)))
        made = input_node(ast.arg(param_name))
        made.attributes["default"] = ast.Constant(None) if default is None else expression_of(default)
        return made

    # ---------------------------------------------------------------- what it is

    def get_handler(self) -> Node:
        """The Node itself."""
        return self

    def get_name(self) -> str:
        """The name, unique in its SymbolTree."""
        return self.name

    def get_node_type(self) -> NodeType:
        """What its statement is."""
        return self.type

    def get_instance(self) -> Any:
        """The Cell, operator or function that it calls, or None."""
        return self.instance

    def get_instance_type(self) -> Any:
        """The class of what it calls; the function where it calls one; NoneType where it calls nothing that is known."""
        function = self.type is NodeType.CallFunction and self.instance is not None
        return getattr(self.instance, "__func__", self.instance) if function else type(self.instance)

    def get_symbol_tree(self) -> Any:
        """The SymbolTree in which it stands, or None."""
        return None if self.block is None else self.block.tree

    def get_sub_tree(self) -> Any:
        """The SymbolTree of the network that a Node of type Tree calls. raises : ArgumentError for another type"""
        if self.type is not NodeType.Tree:
            raise ArgumentError(f"get_sub_tree: {self.name!r} is a {self.type}, not a NodeType.Tree")
        if self.symbol_tree is None:
            raise MissingAttributeError(f"get_sub_tree: {self.name!r} does not stand in a SymbolTree yet")
        return self.symbol_tree

    def get_node_manager(self) -> Any:
        """The Node whose inside it stands in: a branch, a function or a container; else the SymbolTree, or None."""
        return None if self.block is None else self.block.owner or self.block.tree

    def nodes(self) -> list[Node]:
        """The Nodes inside: of a function, a branch or a container; none for other types."""
        return list(self.inside.nodes) if self.inside is not None else []

    @property
    def node_list(self) -> list[Node]:
        """The Nodes inside."""
        return self.nodes()

    def get_node(self, node_name: str) -> Node | None:
        """The Node of this name inside, or None."""
        return next((node for node in self.inside.walk() if node.name == node_name), None) if self.inside is not None else None

    def code(self) -> str:
        """The statement as text; the first line of a branch or loop."""
        if isinstance(self.statement, ast.arg):
            return self.statement.arg
        text = ast.unparse(ast.fix_missing_locations(self.statement))
        return text.partition("\n")[0] if self.type is NodeType.ControlFlow else text

    def set_attribute(self, key: str, value: Any) -> None:
        """Note something at the Node. raises : ArgumentError for a key that is no str"""
        check("key", key, str)
        self.attributes[key] = value

    def get_attribute(self, key: str) -> Any:
        """What `set_attribute` noted under `key`, or None."""
        check("key", key, str)
        return self.attributes.get(key)

    def get_attributes(self) -> dict[str, Any]:
        """Everything that was noted."""
        return self.attributes

    # ---------------------------------------------------------------- values

    def get_targets(self) -> list[ScopedValue]:
        """The variables that it writes; none for a statement that is not understood."""
        return [ScopedValue.create_naming_value(self.statement.arg)] if isinstance(self.statement, ast.arg) else \
            [value_of(_get(place)) for place in self.places]

    def get_args(self) -> list[ScopedValue]:
        """Its arguments by position."""
        return [value_of(_get(place)) for place in self.arg_places]

    def get_kwargs(self) -> dict[str, ScopedValue]:
        """Its arguments by name."""
        return {name: value_of(_get(place)) for name, place in self.kwarg_places.items()}

    def set_arg(self, index: int, arg: ScopedValue | str) -> None:
        """Set argument `index`, those by name counted after those by position; a str names a variable.

        raises : ArgumentError for other kinds, ValueRangeError for an index that is too large
        """
        check("index", index, int)
        check("arg", arg, (ScopedValue, str))
        places = [*self.arg_places, *self.kwarg_places.values()]
        if not 0 <= index < len(places):
            raise ValueRangeError(f"set_arg: {self.name!r} has {len(places)} arguments, and none at {index}")
        _set(places[index], expression_of(arg))

    def set_arg_by_node(self, arg_idx: int, src_node: Node, out_idx: int | None = None) -> None:
        """Set argument `arg_idx` to result `out_idx` of another Node; None takes the only one.

        raises : ArgumentError for other kinds; ValueRangeError for an index that is too large, and for None where the other
                 Node has several results
        """
        check("arg_idx", arg_idx, int)
        check("src_node", src_node, Node)
        check("out_idx", out_idx, (int, type(None)))
        targets = src_node.get_targets()
        if out_idx is None and len(targets) > 1:
            raise ValueRangeError(f"set_arg_by_node: {src_node.name!r} has {len(targets)} results: which, says out_idx")
        if not 0 <= (out_idx or 0) < len(targets):
            raise ValueRangeError(f"set_arg_by_node: {src_node.name!r} has {len(targets)} results, and none at {out_idx or 0}")
        self.set_arg(arg_idx, targets[out_idx or 0])

    def append_kwarg(self, kwargs: dict[str, ScopedValue]) -> None:
        """Give a call further arguments by name. raises : ArgumentError for what is no call"""
        call = getattr(self.statement, "value", None)
        if not isinstance(call, ast.Call):
            raise ArgumentError(f"append_kwarg: {self.name!r} is no call")
        for name, value in kwargs.items():
            call.keywords.append(ast.keyword(name, expression_of(value)))
            self.kwarg_places[name] = call.keywords[-1], "value", None

    # ---------------------------------------------------------------- edges

    def get_arg_providers(self) -> dict[int, tuple[Node, int]]:
        """{number of the argument: (the Node that gives it, the number of its target)}."""
        if self.block is None:
            return {}
        values = [*self.get_args(), *self.get_kwargs().values()]
        found = ((index, self.block.writer(str(value), self)) for index, value in enumerate(values))
        return {index: writer for index, writer in found if writer is not None}

    def get_target_users(self, index: int = -1) -> Any:
        """{number of the target: [(a Node that uses it, the number of its argument)]}; of one target, its list."""
        users: dict[int, list] = {number: [] for number in range(len(self.get_targets()))}
        for node in self.block.nodes if self.block is not None else ():
            for number, (provider, target) in node.get_arg_providers().items():
                if provider is self:
                    users[target].append((node, number))
        return users if index == -1 else users[index]

    def get_inputs(self) -> list[Node]:
        """The Nodes that give its arguments, in the order of the arguments."""
        return [provider for provider, _ in self.get_arg_providers().values()]

    def get_users(self) -> list[Node]:
        """The Nodes that use its results, each once."""
        return list(dict.fromkeys(node for users in self.get_target_users().values() for node, _ in users))

    def hidden_writes(self) -> set[str]:
        """The variables that it writes apart from its targets: inside a branch, in a statement that is not understood."""
        if self.places or self.type in (NodeType.Input, NodeType.Output):
            return set()
        written = {node.id for node in ast.walk(self.statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for node in self.inside.walk() if self.inside is not None else ():
            written |= {str(target) for target in node.get_targets()} | node.hidden_writes()
        return written


def _get(place: _PLACE) -> Any:
    holder, field, index = place
    return getattr(holder, field) if index is None else getattr(holder, field)[index]


def _set(place: _PLACE, value: Any) -> None:
    holder, field, index = place
    if index is None:
        setattr(holder, field, value)
    else:
        getattr(holder, field)[index] = value


def input_node(argument: ast.arg) -> Node:
    """The Node of an argument of a function."""
    return Node.make(NodeType.Input, f"input_{argument.arg}", argument)


def _call(kind: NodeType, name: str, func: ast.expr, targets: Any, args: Any, kwargs: Any, instance: Any) -> Node:
    """A Node of a new statement."""
    check_all("targets", targets, (ScopedValue, str))
    check_all("args", args or [], ScopedValue)
    check("kwargs", kwargs or {}, dict)
    check_all("keys of kwargs", list(kwargs or {}), str)
    check_all("values of kwargs", list((kwargs or {}).values()), ScopedValue)
    keywords = [ast.keyword(key, expression_of(value)) for key, value in (kwargs or {}).items()]
    written = [stored(expression_of(target)) for target in targets]
    statement = ast.Assign(written if len(written) == 1 else [ast.Tuple(written, ast.Store())],
                           ast.Call(func, [expression_of(arg) for arg in args or []], keywords))
    return Node.make(kind, name, statement, *places_of(statement), instance)


def stored(tree: ast.expr) -> ast.expr:
    """A name or attribute, to be written. raises : ValueRangeError for another expression"""
    if not isinstance(tree, (ast.Name, ast.Attribute)):
        raise ValueRangeError(f"rewrite: a target is a variable or an attribute, not {ast.unparse(tree)!r}")
    tree.ctx = ast.Store()
    return tree


def places_of(statement: ast.Assign) -> tuple[tuple, tuple, dict[str, _PLACE]]:
    """The places of the targets, and of the arguments by position and by name, of `targets = call(..)`."""
    call: Any = statement.value
    return (target_places(statement) or (), tuple([(call, "args", index) for index in range(len(call.args))]),
            {keyword.arg or "**": (keyword, "value", None) for keyword in call.keywords})


def target_places(statement: ast.Assign) -> tuple[_PLACE, ...] | None:
    """The places of the variables and attributes that a statement writes; None where it writes something else."""
    if len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if isinstance(target, (ast.Tuple, ast.List)):
        items = all(dotted(item) is not None for item in target.elts)
        return tuple([(target, "elts", index) for index in range(len(target.elts))]) if items else None
    return ((statement, "targets", 0),) if dotted(target) is not None else None
