"""JIT Fallback's half of parsing: what a graph cannot say becomes Python code with named inputs and outputs.

    try:                                  interpret(x, n; reads=("x", "n"), cells=(), writes=("y",), leaves=("return",))
        y = open(x).read()                    -> (leave, value, y)
    except OSError:
        return n

The statement is compiled as the body of a function without arguments whose variables are all closure cells:
`run_segment` makes the cells and fills them from the inputs, and what they hold at the end are the outputs. An
undefined variable is an empty cell, so Python itself raises NameError where it is read. Variables that live in
cells already (an inner function changes them) are passed as those cells, so the statement and the functions it
calls see each other's assignments. Jumps that leave the statement become `return (how, value)`, and the graph goes
on from `how`.
"""
from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterable
from types import CellType, CodeType
from typing import Any

import gast

from ..mindir.graph import CNode
from ..mindir.syntax import Undefined
from .record import ABSENT


def compile_segment(statements: list[gast.stmt] | gast.expr, names: Iterable[str], global_names: Iterable[str], source: Any,
                    scope: str, super_arguments: tuple[str, ...] = ()) -> tuple[CodeType, tuple[str, ...]]:
    """(code, leaves): the code object of a function that runs `statements` with `names` as its free variables.

    statements      : list of gast statements, or one gast expression whose value is returned
    global_names    : names of globals that they assign
    source, scope   : the Source that they stand in, and the qualified name of their function
    super_arguments : names that `super()` stands for, or ()
    leaves          : which of "return", "break", "continue" leave the statements
    """
    expression = isinstance(statements, gast.expr)
    if expression:
        statements = [gast.Return(statements)]
        gast.copy_location(statements[0], statements[0].value)
    trees = [gast.gast_to_ast(statement) for statement in statements]
    leaves = _Leaves(super_arguments)
    body = [leaves.visit(tree) if not expression else _Super(super_arguments).visit(tree) for tree in trees]
    names = sorted(names)
    lines = {"lineno": body[0].lineno, "col_offset": 0, "end_lineno": body[0].lineno, "end_col_offset": 0}
    for statement, declared in (ast.Nonlocal, names), (ast.Global, list(global_names)):
        if declared:
            body.insert(0, statement(declared, **lines))
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    inner = ast.FunctionDef("segment", nothing, body, [], **lines)
    empty = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in names]
    outer = ast.FunctionDef("outside", nothing, [*empty, inner], [], **lines)
    for made in (inner, outer):
        if "type_params" in made._fields:
            setattr(made, "type_params", [])
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = compile(module, source.file, "exec", source.flags, dont_inherit=True)
    for name in ("outside", "segment"):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    name = scope.rpartition(".")[2]
    qualified = {"co_qualname": scope} if hasattr(code, "co_qualname") else {}
    return code.replace(co_name=name, **qualified), tuple(sorted(leaves.found))


LOCAL, FREE = ("cannot access local variable {!r} where it is not associated with a value",
               "cannot access free variable {!r} where it is not associated with a value in enclosing scope") \
    if sys.version_info >= (3, 11) else ("local variable {!r} referenced before assignment",
                                         "free variable {!r} referenced before assignment in enclosing scope")


def unbound(name: str, free: bool = False) -> NameError:
    """Python's exception for a variable without a value: one of the function, or (free) of a function around it."""
    error = NameError(FREE.format(name)) if free else UnboundLocalError(LOCAL.format(name))
    error.name = name
    return error


def run_segment(node: CNode, values: Iterable[Any], namespace: dict[str, Any]) -> Any:
    """Run an `interpret` node: `values` of its arguments, `namespace` the user's globals. Returns its results, a tuple.

    A value may be Undefined, and so may a result. A name in the node's `cells` is passed as a types.CellType.
    An exception of the user's statement passes through unchanged. How the statement left is a number: 0 at its end,
    else one more than the lines of the jump in the node's `leaves`; what it returns is ABSENT where it does not.
    """
    attrs = node.attrs
    cells = {}
    for name, value in zip(attrs["reads"], values):
        shared = name in attrs["cells"]
        empty = isinstance(value, Undefined)
        cells[name] = value if shared else types.CellType() if empty else types.CellType(value)
    code = attrs["code"]
    run = types.FunctionType(code, namespace, code.co_name, None, tuple(cells[name] for name in code.co_freevars))
    try:
        left = run()
    except NameError as error:
        frame, name = getattr(error.__traceback__, "tb_next", None), error.name or ""
        if frame is not None and frame.tb_next is None and name in cells and name not in attrs["cells"]:
            raise unbound(name).with_traceback(frame) from None      # to the segment it is one around it
        raise
    if attrs["writes"] is None:
        return left
    results = tuple(_content(cells[name], name) for name in attrs["writes"])
    if not attrs["leaves"]:
        return results
    how, value = left or (None, None)
    number = 0 if how is None else 1 + attrs["leaves"].index(how)
    return (number, value if how == "return" else ABSENT, *results)


def _content(cell: CellType, name: str) -> Any:
    try:
        return cell.cell_contents
    except ValueError:                       # the cell is empty: no path of the statement assigned it
        return Undefined(name)


class _Super(ast.NodeTransformer):
    """super() needs the frame of the method: super(__class__, self) does not."""

    def __init__(self, super_arguments: tuple[str, ...]) -> None:
        self.super_arguments = super_arguments

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """super() -> super(__class__, self)"""
        self.generic_visit(node)
        if self.super_arguments and isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            node.args = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in self.super_arguments]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Another class has another super."""
        return node


class _Leaves(_Super):
    """Jumps out of the statement -> return (how, value); `found` collects how."""

    def __init__(self, super_arguments: tuple[str, ...]) -> None:
        super().__init__(super_arguments)
        self.found: set[str] = set()
        self.loops = 0

    def _leave(self, how: str, value: ast.expr | None, node: ast.AST) -> ast.AST:
        self.found.add(how)
        pair = ast.Tuple([ast.Constant(how), value or ast.Constant(None)], ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Return(pair), node))

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """return x -> return ("return", x)"""
        self.generic_visit(node)
        return self._leave("return", node.value, node)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        """Of a loop in the statement it stays."""
        return node if self.loops else self._leave("break", None, node)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        """As break."""
        return node if self.loops else self._leave("continue", None, node)

    def _loop(self, node: Any) -> ast.AST:
        self.loops += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.loops -= 1
        node.orelse = [self.visit(statement) for statement in node.orelse]
        for field in ("iter", "test"):
            if hasattr(node, field):
                setattr(node, field, self.visit(getattr(node, field)))
        return node

    visit_For = visit_While = visit_AsyncFor = _loop

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        """Its returns are its own."""
        inner = _Super(self.super_arguments)
        return inner.generic_visit(node)

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef
