"""From a network to the Nodes of its SymbolTree.

    Cell  ->  the source of its construct  ->  flat statements  ->  Nodes; a call of a Cell, method or function of the user
                                                                    has a SymbolTree or a Block of its own
"""
from __future__ import annotations

import ast
import builtins
import inspect
import sys
import sysconfig
import types
from typing import Any

import gast

from ..common.errors import Refusal
from ..common.location import is_framework
from ..nn.cell import Cell
from ..nn.layer.container import CellList, SequentialCell
from ..ops.operations.define import Operation
from ..parse.read import read
from .flatten import Names, flatten, names_in
from .node import Block, Node, input_node, places_of, target_places
from .value import NodeType, dotted

_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_MISSING = object()


def definition_of(function: Any) -> ast.FunctionDef | None:
    """The ast.FunctionDef of a function that can be written anew. None for others: of the framework or a library, a generator,
    one that defines functions, one whose source is not to be found."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not isinstance(function, types.FunctionType):
        return None
    file, flags = function.__code__.co_filename, inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if is_framework(file) or file.startswith(_INSTALLED) or function.__code__.co_flags & flags:
        return None
    try:
        tree = gast.gast_to_ast(read(function).tree)
    except Refusal:
        return None
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal)
    return tree if isinstance(tree, ast.FunctionDef) and not any(
        isinstance(node, inner) for statement in tree.body for node in ast.walk(statement)) else None


def is_of_user(cell: Any) -> bool:
    """True for a Cell whose construct is to be read: it is no layer of the framework, and has no gradient of its own."""
    kind = type(cell)
    return isinstance(cell, Cell) and not kind.__module__.startswith("mindlite.") and not hasattr(kind, "bprop") \
        and "construct" not in cell.__dict__ and definition_of(kind.construct) is not None


class Reader:
    """Reads the functions of one network. tree : its SymbolTree; make_tree: (Cell, path) -> the SymbolTree of another one"""

    def __init__(self, tree: Any, make_tree: Any) -> None:
        self.tree, self.cell, self.make_tree = tree, tree.cell, make_tree

    def function(self, function: Any, definition: ast.FunctionDef, owner: Node | None = None) -> Block:
        """The Block of a function that the network calls, or of its construct."""
        function = inspect.unwrap(getattr(function, "__func__", function))
        arguments = definition.args
        static = any(isinstance(word, ast.Name) and word.id == "staticmethod" for word in definition.decorator_list)
        positional = [*arguments.posonlyargs, *arguments.args]
        method = not static and bool(positional) and self._is_method(function)
        block = Block(self.tree, owner, function, definition, positional[0].arg if method else "")
        _NoBareSuper(self._owner_class(function), block.receiver).visit(definition)
        everything = [*positional, *filter(None, [arguments.vararg]), *arguments.kwonlyargs, *filter(None, [arguments.kwarg])]
        for argument in everything[method:]:
            argument.annotation = None
            self._add(block, input_node(argument))
        definition.returns = None
        names = Names(names_in(definition))
        first = definition.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(definition.body) > 1:
            del definition.body[0]                                       # the docstring
        statements = flatten(definition.body, names)
        self.tree.variables.taken |= names.taken
        self._block(statements, block)
        return block

    def _is_method(self, function: Any) -> bool:
        return self._owner_class(function) is not None

    def _owner_class(self, function: Any) -> type | None:
        """The class of the network, or base of it, that has the function as a method."""
        for base in type(self.cell).__mro__:
            found = base.__dict__.get(function.__name__)
            if found is not None and inspect.unwrap(getattr(found, "__func__", found)) is function:
                return base
        return None

    def _add(self, block: Block, node: Node) -> Node:
        self.tree.name(node)
        node.block = block
        block.nodes.append(node)
        return node

    def _block(self, statements: list[ast.stmt], block: Block) -> None:
        for statement in statements:
            if isinstance(statement, (ast.If, ast.For, ast.While)):
                self._branches(statement, block)
            else:
                self._add(block, self._node(statement, block))

    def _branches(self, statement: Any, block: Block) -> None:
        word = type(statement).__name__.lower()
        names = ("if_node", "else_node") if word == "if" else (f"{word}_node", f"{word}_else_node")
        head, partner = (statement, "iter" if word == "for" else "test", None), None
        for name, body in zip(names, (statement.body, statement.orelse)):
            if body:
                node = Node.make(NodeType.ControlFlow, name, statement, args=(head,))
                node.inside = Block(self.tree, node)
                node.is_else = name != names[0]
                if partner is not None:
                    partner.partner, node.partner = node, partner
                self._add(block, node)
                self._block(body, node.inside)
                partner = node
        statement.body, statement.orelse = [], []

    def _node(self, statement: ast.stmt, block: Block) -> Node:
        """The Node of a statement that is no branch or loop."""
        if isinstance(statement, ast.Return):
            return Node.make(NodeType.Output, "return", statement, args=((statement, "value", None),) if statement.value else ())
        targets = target_places(statement) if isinstance(statement, ast.Assign) else None
        if targets is None:
            return Node.make(NodeType.Python, type(statement).__name__, statement)
        value: Any = statement.value                                     # type: ignore[attr-defined]
        if isinstance(value, ast.Call):
            return self._call(statement, value, block)
        kind, name = NodeType.MathOps, ""
        args: tuple[Any, ...] = ()
        if isinstance(value, ast.BinOp):
            name, args = f"binop_{type(value.op).__name__.lower()}", ((value, "left", None), (value, "right", None))
        elif isinstance(value, ast.UnaryOp):
            name, args = f"unaryop_{type(value.op).__name__.lower()}", ((value, "operand", None),)
        elif isinstance(value, ast.Compare):
            name = "_".join(["compare", *(type(op).__name__.lower() for op in value.ops)])
            args = ((value, "left", None), *((value, "comparators", index) for index in range(len(value.ops))))
        elif isinstance(value, ast.BoolOp):
            name = f"boolop_{type(value.op).__name__.lower()}"
            args = tuple([(value, "values", index) for index in range(len(value.values))])
        else:
            kind = NodeType.CallMethod
            if isinstance(value, (ast.Tuple, ast.List)) and not any(isinstance(item, ast.Starred) for item in value.elts):
                name, args = type(value).__name__.lower(), tuple([(value, "elts", index) for index in range(len(value.elts))])
            elif isinstance(value, ast.Subscript):
                name, args = "subscript_var", ((value, "value", None),)
            elif isinstance(value, (ast.Name, ast.Attribute, ast.Constant)):
                row = self._row_of(value)
                if row is not None:
                    node = Node.make(NodeType.CellContainer, dotted(value) or "", statement, targets, instance=row)
                    self.container(node, row, block, ".".join(filter(None, [self.tree.path, value.attr])))  # type: ignore
                    return node
                name, args = f"{type(value).__name__.lower()}_assign", ((statement, "value", None),)
            else:
                return Node.make(NodeType.Python, "Assign", statement)
        return Node.make(kind, name, statement, targets, args)

    # ---------------------------------------------------------------- calls

    def _call(self, statement: Any, call: ast.Call, block: Block) -> Node:
        path = dotted(call.func) or ""
        called = self._object(path, block)
        node = Node.make(NodeType.CallFunction, path.rpartition(".")[2] or "call", statement, *places_of(statement),
                         None if called is _MISSING else called)
        own = bool(block.body_of_function().receiver) and path == f"{block.body_of_function().receiver}.{node.name}"
        if isinstance(called, Cell):
            self.of_cell(node, called, block, ".".join(filter(None, [self.tree.path, node.name])) if own else None)
        elif isinstance(called, Operation):
            node.type = NodeType.CallPrimitive
        elif isinstance(called, (types.FunctionType, types.MethodType)) and (
                own or "." not in path or _is_module_path(path, block)):
            definition = definition_of(called)
            stack = self.tree.being_read
            function = inspect.unwrap(getattr(called, "__func__", called))
            if definition is not None and function not in stack and (own or self._owner_class(function) is None):
                stack.append(function)
                node.block = block
                node.inside = self.function(called, definition, node)
                stack.pop()
        return node

    def of_cell(self, node: Node, cell: Any, block: Block, path: str | None) -> None:
        """Say what a Node that calls a Cell is.

        path : where the Cell stands in the outermost network; None for one that cannot be put in anew: no attribute of the
               network, and in no container of it
        """
        node.type = NodeType.CallCell
        if path is not None and type(cell) is SequentialCell:
            self.container(node, cell, block, path)
        elif path is not None and is_of_user(cell):
            node.type, node.symbol_tree = NodeType.Tree, self.make_tree(cell, path, self.tree)

    def container(self, node: Node, cells: Any, block: Block, path: str) -> None:
        """Make the Node of a SequentialCell, CellList or list of Cells, with a Node for each of them."""
        node.type, node.inside, node.block = NodeType.CellContainer, Block(self.tree, node), block
        for number, cell in enumerate(cells):
            child = container_item(cell)
            child.origin = number
            self.of_cell(child, cell, node.inside, f"{path}.{number}")
            self._add(node.inside, child)

    def _row_of(self, value: ast.expr) -> Any:
        """The CellList or list of Cells that an attribute of the network is, or None."""
        if not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Name) or value.value.id != "self":
            return None
        found = self.cell.__dict__.get(value.attr)
        cells = isinstance(found, (CellList, SequentialCell)) or type(found) is list and found and \
            all(isinstance(cell, Cell) for cell in found)
        return found if cells else None

    def _object(self, path: str, block: Block) -> Any:
        """What a dotted name stands for in a function, where that is known: not for its variables."""
        first, *others = path.split(".")
        function = block.body_of_function()
        if first and first == function.receiver:
            found: Any = self.cell
        elif first in {node.id for node in ast.walk(function.definition) if isinstance(node, ast.Name)
                       and isinstance(node.ctx, ast.Store)} or any(
                           str(t) == first for node in function.walk() for t in node.get_targets()):
            return _MISSING
        else:
            found = global_of(function.function, first)
        for name in others:
            found = inspect.getattr_static(found, name, _MISSING) if found is not self.cell else getattr(found, name, _MISSING)
            if found is _MISSING or isinstance(found, property):
                return _MISSING
            found = getattr(found, "__func__", found) if isinstance(found, staticmethod) else found
        return found


def _is_module_path(path: str, block: Block) -> bool:
    """True for `module.function`."""
    return isinstance(global_of(block.body_of_function().function, path.partition(".")[0]), types.ModuleType)


def global_of(function: Any, name: str) -> Any:
    """What a name that is no variable of a function stands for in it; `_MISSING` for nothing."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    if name in cells:
        return cells[name].cell_contents
    for names in (function.__globals__, vars(builtins)):
        if name in names:
            return names[name]
    return sys.modules.get(name, _MISSING)


def container_item(cell: Any) -> Node:
    """The Node of a Cell in a container: it takes what the one before gives."""
    variable = ast.Name("x", ast.Load())
    statement = ast.Assign([ast.Name("x", ast.Store())], ast.Call(ast.Name(type(cell).__name__, ast.Load()), [variable], []))
    kind = NodeType.CallCell if isinstance(cell, Cell) else NodeType.CallPrimitive
    return Node.make(kind, type(cell).__name__, statement, *places_of(statement), cell)


class _NoBareSuper(ast.NodeTransformer):
    """`super()` as `super(Net, self)`: the function is written in a class of its own."""

    def __init__(self, owner: type | None, receiver: str) -> None:
        self.owner, self.receiver = owner, receiver

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """One call."""
        self.generic_visit(node)
        if self.owner is not None and isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            node.args = [ast.Name(self.owner.__name__, ast.Load()), ast.Name(self.receiver, ast.Load())]
        return node
