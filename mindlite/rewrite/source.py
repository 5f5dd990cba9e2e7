"""From a SymbolTree to source, and from source to a network.

    class NetOpt(Net, nn.Cell):
        def __init__(self, obj):
            adopt(self, obj)                         # the attributes of the original
            self.block = BlockOpt(self.block)        # a network that has a SymbolTree of its own
            self.tanh = obj.tanh                     # a Cell that was inserted
        def construct(self, x):
            ..

Equal classes and functions are written once. All names of the text are one namespace: where two modules call different
things by one name, one of them gets a number. What a module's variables were when the text is made, they are in the new network.
"""
from __future__ import annotations

import ast
import builtins
import copy
import inspect
import linecache
import symtable
import sys
import textwrap
import types
from typing import Any

from .. import nn, ops
from ..common.records import dataclass
from ..common.syntax import syntax_tree
from .flatten import Names, names_in
from .node import Block, Node
from .reader import _MISSING, global_of
from .value import PLAIN, NodeType

_REGISTRIES = ("_params", "_cells", "_buffers", "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks",
               "_backward_hooks", "_flags")


def adopt(cell: Any, original: Any) -> None:
    """Give a new Cell the attributes of another: the same Parameters, Cells and values, registered separately."""
    made = cell.__dict__
    made.update(original.__dict__)
    for name in _REGISTRIES:
        made[name] = copy.copy(made[name])
    made["_transient"] = set(made["_transient"])
    made["_auto_prefix"] = False                     # Parameters keep their names while Cells are put in


def with_cells(row: Any, cells: list) -> Any:
    """A SequentialCell, CellList or list like `row`, of other Cells. Their Parameters keep their names."""
    if isinstance(row, list):
        return cells
    made = object.__new__(type(row))
    adopt(made, row)
    for name in row._cells:
        del made.__dict__[name]
    made._cells.clear()
    made._set_row([(str(number), cell) for number, cell in enumerate(cells)])
    made.__dict__["_auto_prefix"] = row._auto_prefix
    return made


@dataclass(frozen=True)
class _Written:
    """What a definition is in the text: its name, and what tells equal ones."""
    name: str
    key: Any


class _Class:
    """What a class of the text has: methods apart from `construct`, and the attributes that Nodes call instead of their own."""

    def __init__(self) -> None:
        self.methods: dict[str, ast.FunctionDef] = {}
        self.attributes: dict[Node, str] = {}

    def method(self, definition: ast.FunctionDef) -> str:
        """The name under which the class has a method; one that differs from another of its name gets a number."""
        names = Names(["construct"])
        name = definition.name
        while True:
            definition.name = names.unique(name)
            known = self.methods.setdefault(definition.name, definition)
            if known is definition or _unparsed(known) == _unparsed(definition):
                return definition.name


class Source:
    """The text of a SymbolTree and of those inside of it. tree : the outermost"""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.namespace: dict[str, Any] = {}
        self.imports: list[str] = []
        self.definitions: list[str] = []
        self.written: list[_Written] = []
        self.begun: dict[Any, str] = {}                                  # functions that are being written: their names
        self.offered: list[tuple[Any, str, Any]] = []                    # (original Cell, attribute, what was inserted)
        self.reserved = Names(dir(builtins))
        for inner in [tree, *(node.symbol_tree for node in tree.all_nodes() if node.symbol_tree is not None)]:
            self.reserved.taken |= inner.variables.taken
        for helper in (nn, adopt, with_cells):
            self.bind(helper.__name__.rpartition(".")[2], helper)
        self.name = self.class_of(tree)
        self.text = "\n".join(self.imports) + "\n\n\n" + "\n\n\n".join(self.definitions) + "\n"

    # ---------------------------------------------------------------- names

    def bind(self, name: str, value: Any, home: str = "") -> str:
        """The name under which the text has a value: `name`, or one with a number where that means something else.

        home : the module in which the name was found
        """
        for known, other in self.namespace.items():
            if other is value and (known == name or known.rpartition("_")[0] == name):
                return known
        chosen = name if self._is_free(name) else self._free(name)
        self.namespace[chosen] = value
        suffix = "" if chosen == name else f" as {chosen}"
        if isinstance(value, types.ModuleType):
            package, _, last = value.__name__.rpartition(".")
            self.imports.append(f"import {last}{suffix}" if not package and last == name else
                                f"from {package} import {last}{'' if last == chosen else f' as {chosen}'}" if package else
                                f"import {last} as {chosen}")
            return chosen
        for module in (getattr(value, "__module__", "") or "", home, ops.__name__):
            if getattr(sys.modules.get(module), name, _MISSING) is value:
                self.imports.append(f"from {module} import {name}{suffix}")
                break
        else:
            self.imports.append(f"# {chosen} is a name of the function in which {home or 'it'} is defined")
        return chosen

    def _is_free(self, name: str) -> bool:
        return name not in self.namespace and name not in self.begun.values() and all(row.name != name for row in self.written)

    def _free(self, name: str) -> str:
        taken = Names(self.reserved.taken | set(self.namespace) | {row.name for row in self.written} | set(self.begun.values()))
        taken.taken.add(name)
        return taken.unique(name)

    def _resolve(self, definition: ast.FunctionDef, function: Any, cell: Any, written: set[str]) -> None:
        """Bind the names that a definition takes from its module; rename those that the text calls otherwise."""
        wanted = _globals_of(definition) - written
        classes = {base.__name__: base for base in type(cell).__mro__}
        renamed = {}
        for name in sorted(wanted):
            value = global_of(function, name)
            if value is _MISSING or name in classes and value not in classes.values():
                value = classes.get(name, _MISSING)
            if value is _MISSING or value is getattr(builtins, name, _MISSING):
                continue
            own = inspect.unwrap(value) if isinstance(value, types.FunctionType) else None
            chosen = self.begun.get(own) or self.bind(name, value, function.__module__)
            if chosen != name:
                renamed[name] = chosen
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and node.id in renamed:
                node.id = renamed[node.id]

    # ---------------------------------------------------------------- definitions

    def class_of(self, tree: Any) -> str:
        """Write the class of a SymbolTree and what it needs; its name."""
        made = _Class()
        kind = type(tree.cell)
        init = "".join(f"\n    self.{name} = {value}" for name, value in self._children(tree, made).items())
        construct = self.definition(tree.block, made)
        construct.name = "construct"
        parts = ["def __init__(self, obj):\n    adopt(self, obj)" + init,
                 *(_unparsed(definition) for definition in (*made.methods.values(), construct))]
        text = f"({self.bind(kind.__name__, kind, kind.__module__)}, nn.Cell):\n\n" + \
            "\n\n".join(textwrap.indent(part, "    ") for part in parts)
        return self._once(kind.__name__ + "Opt", (kind, text), "class ", text)

    def _once(self, name: str, key: Any, word: str, text: str) -> str:
        """The name of a definition, which is written if no equal one is."""
        known = next((row.name for row in self.written if row.key == key), None)
        if known is not None:
            return known
        if not self._is_free(name):
            name = self._free(name)
        self.written.append(_Written(name, key))
        self.definitions.append(word + name + text)
        return name

    def _children(self, tree: Any, made: _Class) -> dict[str, str]:
        """{attribute: expression} of what the new network has in place of the original's attributes, or beside them."""
        found: dict[str, str] = {}
        for node in tree.block.walk():
            if node.block.owner is not None and node.block.owner.type is NodeType.CellContainer:
                continue
            was = attribute = _attribute(node) if node.type is not NodeType.CellContainer else _attribute(node) or \
                node.statement.value.attr
            if attribute is None or node.type not in (NodeType.Tree, NodeType.CellContainer) and not node.is_new:
                continue
            if node.is_new:
                self.offered.append((tree.cell, attribute, node.instance))
            expression = self._cell(node, f"obj.{was}" if node.is_new else f"self.{was}")
            if expression == f"self.{was}":
                continue
            if found.get(attribute, expression) != expression:           # called twice, and changed in one place
                attribute = Names({*dir(tree.cell), *found}).unique(attribute)
                expression = expression.replace(f"self.{was}", f"obj.{was}")
            found[attribute], made.attributes[node] = expression, attribute
        return found

    def _cell(self, node: Node, was: str) -> str:
        """The expression of the Cell that a Node calls. was : that of the original one"""
        if node.type is NodeType.Tree:
            return f"{self.class_of(node.symbol_tree)}({was})"
        if node.type is not NodeType.CellContainer:
            return was
        parts = []
        for child in node.nodes():
            if child.origin is None:
                self.offered.append((child.block.tree.cell, child.name, child.instance))    # type: ignore[union-attr]
            parts.append(self._cell(child, f"{was}[{child.origin}]" if child.origin is not None else f"obj.{child.name}"))
        same = parts == [f"{was}[{number}]" for number in range(len(node.instance))]
        return was if same else f"with_cells({was}, [{', '.join(parts)}])"

    def definition(self, block: Block, made: _Class) -> ast.FunctionDef:
        """The ast.FunctionDef of a function's Block."""
        written: set[str] = set()
        definition = copy.copy(block.definition)
        definition.args, definition.body = _arguments(block), self.statements(block, made, written, block) or [ast.Pass()]
        definition = _copied(definition)
        _ObjectsOf(block, self).visit(definition)
        self._resolve(definition, block.function, block.tree.cell, written)
        return definition

    def statements(self, block: Block, made: _Class, written: set[str], function: Block) -> list[ast.stmt]:
        """The statements of a Block. written : takes the names of this text that they call; function : the Block around it"""
        out: list[ast.stmt] = []
        for node in block.nodes:
            if node.inside is not None and node.type is NodeType.ControlFlow:
                body: list[ast.stmt] = self.statements(node.inside, made, written, function) or [ast.Pass()]
                if node.is_else and node.partner in block.nodes:
                    branch: Any = out[-1]
                    branch.orelse = body
                    continue
                statement = copy.copy(node.statement)
                statement.body, statement.orelse = ([ast.Pass()], body) if node.is_else else (body, [])
                out.append(statement)
            elif node.type is not NodeType.Input:
                out.append(self._call(node, made, written, function))
        return out

    def _call(self, node: Node, made: _Class, written: set[str], function: Block) -> ast.stmt:
        """The statement of a Node, calling what the text calls by another name."""
        receiver = ast.Name(function.receiver, ast.Load())
        func: ast.expr | None = None
        if node.type is NodeType.CallFunction and node.inside is not None:
            if _attribute(node) is not None:
                func = ast.Attribute(receiver, made.method(self.definition(node.inside, made)), ast.Load())
            else:
                func = ast.Name(self._function(node.inside, made), ast.Load())
        elif node.type is NodeType.CallFunction and node.is_new:
            name = node.statement.value.func.id
            func = ast.Name(self.bind(name, node.instance), ast.Load())
        elif made.attributes.get(node, _attribute(node)) != _attribute(node):
            func = ast.Attribute(receiver, made.attributes[node], ast.Load())
        if func is None:
            return node.statement
        if isinstance(func, ast.Name):
            written.add(func.id)
        statement = copy.copy(node.statement)
        statement.value = copy.copy(statement.value)
        statement.value.func = func
        return statement

    def _function(self, block: Block, made: _Class) -> str:
        """Write a function; its name. Where it calls itself it calls what is written."""
        name = block.definition.name
        name = name if self._is_free(name) else self._free(name)
        self.begun[block.function] = name
        definition = self.definition(block, made)
        del self.begun[block.function]
        start = f"def {definition.name}"
        before, _, text = _unparsed(definition).partition(start)
        return self._once(name, (block.function, before, text), before + "def ", text)

    # ---------------------------------------------------------------- the network

    def network(self) -> Any:
        """A Cell of the text's class, with the attributes of the original network."""
        module = syntax_tree(self.text)
        module.body = [part for part in module.body if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
        namespace = {**self.namespace, "__name__": f"mindlite_rewritten.{self.name}", "__builtins__": builtins}
        exec(compile(module, _file(self.name, self.text), "exec"), namespace)
        before = [(cell, name, cell.__dict__.get(name, _MISSING)) for cell, name, _ in self.offered]
        try:
            for cell, name, value in self.offered:                       # where the new Cells take them from
                cell.__dict__[name] = value
            made = namespace[self.name](self.tree.cell)
        finally:
            for cell, name, value in before:
                if value is _MISSING:
                    cell.__dict__.pop(name, None)
        for _, cell in made.cells_and_names():
            if type(cell).__module__ == namespace["__name__"]:
                cell.__dict__["_auto_prefix"] = True
        return made


def _attribute(node: Node) -> str | None:
    """"relu" of a Node that calls self.relu."""
    func = getattr(getattr(node.statement, "value", None), "func", None)
    receiver = node.block.body_of_function().receiver if node.block is not None else ""
    own = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == receiver
    return func.attr if own else None                                    # type: ignore[union-attr]


def _arguments(block: Block) -> ast.arguments:
    """The arguments of a function: those of the original that still have a Node, and new ones."""
    nodes = [node for node in block.nodes if node.type is NodeType.Input]
    there, old = {id(node.statement) for node in nodes}, copy.copy(block.definition.args)
    positional = [*old.posonlyargs, *old.args]
    there |= {id(positional[0])} if block.receiver else set()
    defaults = dict(zip([id(arg) for arg in reversed(positional)], reversed(old.defaults)))
    old.posonlyargs, old.args = [[arg for arg in args if id(arg) in there] for args in (old.posonlyargs, old.args)]
    keywords = [(arg, value) for arg, value in zip(old.kwonlyargs, old.kw_defaults) if id(arg) in there]
    old.vararg, old.kwarg = [arg if id(arg) in there else None for arg in (old.vararg, old.kwarg)]
    for node in [node for node in nodes if node.is_new]:
        if old.vararg is None and not keywords:
            old.args = [*old.args, node.statement]
            defaults[id(node.statement)] = node.attributes["default"]
        else:
            keywords.append((node.statement, node.attributes["default"]))
    old.defaults = [defaults[id(arg)] for arg in (*old.posonlyargs, *old.args) if id(arg) in defaults]
    old.kwonlyargs, old.kw_defaults = [arg for arg, _ in keywords], [value for _, value in keywords]
    return old


class _ObjectsOf(ast.NodeTransformer):
    """Constants that are no literals as attributes of the network, or names of a function that has no `self`."""

    def __init__(self, block: Block, source: Source) -> None:
        self.block, self.source, self.cell = block, source, block.tree.cell

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """One constant."""
        value: Any = node.value
        if isinstance(value, (*PLAIN, bytes, complex, type(...))):
            return node
        if not self.block.receiver:
            return ast.Name(self.source.bind("value", value), ast.Load())
        name = next((name for cell, name, other in self.source.offered if cell is self.cell and other is value), None)
        if name is None:
            name = Names({*dir(self.cell), *(name for _, name, _ in self.source.offered)}).unique("value")
            self.source.offered.append((self.cell, name, value))
        return ast.Attribute(ast.Name(self.block.receiver, ast.Load()), name, ast.Load())


def _copied(tree: Any) -> Any:
    """A syntax tree of its own; what constants hold is the same."""
    if isinstance(tree, list):
        return [_copied(part) for part in tree]
    if not isinstance(tree, ast.AST):
        return tree
    return type(tree)(**{name: _copied(part) for name, part in ast.iter_fields(tree)})


def _unparsed(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


def _globals_of(definition: ast.FunctionDef) -> set[str]:
    """The names that a definition does not define: of its module, or builtins. Decorators and defaults are read there, too."""
    outside = set()
    for tree in (*definition.decorator_list, *definition.args.defaults, *filter(None, definition.args.kw_defaults)):
        outside |= names_in(tree)
    table = symtable.symtable(_unparsed(definition), "<definition>", "exec")
    waiting = list(table.get_children())
    while waiting:
        inner = waiting.pop()
        outside |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global()}
        waiting += inner.get_children()
    return outside


def _file(name: str, text: str) -> str:
    """A file name under which linecache has a text: errors show its lines, and graphs are read from it."""
    number, file = 0, f"<rewrite of {name}>"
    while file in linecache.cache and "".join(linecache.getlines(file)) != text:
        number += 1
        file = f"<rewrite of {name} {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return file
