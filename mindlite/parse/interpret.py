"""JIT Fallback in the graph: the `interpret` nodes of statements that Python runs.

    try: y = f(x)                 1 = interpret(x, undefined(y); reads=(x, y), writes=(y,))      y = load_item(1, 0)
    except E: return 0            with leaves=("return",): 1 gives (how, value, y);  switch(how == 1, ...)

What the code of such a node is, and how it is run, is in `fallback/segment.py`.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TYPE_CHECKING

import gast

from ..fallback.segment import compile_segment
from ..mindir import syntax
from ..mindir.graph import AnfNode, CNode
from .exceptions import leave_by_return
from .loops import break_, continue_
from .scope import FRAME, Variable
from .targets import item

if TYPE_CHECKING:
    from .parse import Parser

REASONS = {gast.AsyncWith: "with", gast.ClassDef: "class",
           gast.AsyncFunctionDef: "coroutine"}
LAMBDA = -1                                  # what is left to Python at a spot: the lambda that stands there
if hasattr(gast, "TryStar"):                 # Python 3.11+
    REASONS[gast.TryStar] = "try"


def interpret_statement(p: Parser, node: gast.AST, why: str | None = None) -> None:
    """What a graph cannot say runs in Python, with its variables handed in and out."""
    word = REASONS.get(type(node))
    if word is None and why is None:
        raise p.error(f"{type(node).__name__} is not a statement that graph mode knows", node)
    why, word = why or f"{word} statements run in Python", word or type(node).__name__.lower()
    _, written, deleted, _ = p.names.uses(node)
    written = [variable for variable in written if not _in_cell(variable)]
    before = {variable: p.value_of(variable) for variable in written}
    made = _interpret(p, node, [node], writes=[v.name for v in written], reason=why)
    leaves = made.attrs["leaves"]
    for number, variable in enumerate(written, start=2 if leaves else 0):
        value = item(p, made, number, node)
        p.ssa.unsure[value] = None if variable in deleted else before[variable]
        p.assign(variable, value, node)
    for number, how in enumerate(leaves, start=1):
        left = p.add(syntax.compare, item(p, made, 0, node), p.constant(number, node), node=node, op="==")
        p.block, stay, _ = p.switch(left, how, f"after_{word}", node)
        if how == "return":
            value = item(p, made, 1, node)
            leave_by_return(p, node)
            if p.block is not None:
                p.end(syntax.return_, value, node=node)
        else:
            (break_ if how == "break" else continue_)(p, node)
        p.block = stay


def leave_statement(p: Parser, node: gast.AST, why: str) -> None:
    """A statement that inference leaves to Python: of one that assigns, returns or drops a value, only the expression."""
    value = getattr(node, "value", None)
    simple = isinstance(node, (gast.Return, gast.Expr)) or isinstance(node, (gast.Assign, gast.AnnAssign)) and all(
        isinstance(target, gast.Name) for target in getattr(node, "targets", None) or [node.target])
    if value is None or not simple or any(isinstance(part, gast.NamedExpr) for part in gast.walk(value)):
        interpret_statement(p, node, why)
        return
    made = _interpret(p, node, value, writes=None, reason=why)
    if isinstance(node, gast.Return):
        leave_by_return(p, node)
        if p.block is not None:
            p.end(syntax.return_, made, node=node)
    for target in [] if isinstance(node, (gast.Return, gast.Expr)) else getattr(node, "targets", None) or [node.target]:
        p.write(target.id, made, node)


def why_left(p: Parser, node: gast.AST) -> Any:
    """Why a statement is left to Python, or None: it is the n-th around a spot."""
    for (spot, n), why in p.left.items():
        if n != LAMBDA and statements_around(p, node, spot) == n + 1:
            return why
    return None


def statements_around(p: Parser, node: gast.AST, spot: tuple) -> int:
    """How many statements, `node` and those inside it, are around a spot; 0 if `node` is not."""
    here = p.source.location(node, p.name)
    if not (here.line, here.col) <= spot[1:3] or not spot[3:5] <= (here.end_line, here.end_col):
        return 0
    return 1 + max([statements_around(p, inner, spot) for inner in _statements_in(node)], default=0)


def _statements_in(node: gast.AST) -> Iterator[gast.AST]:
    for part in gast.iter_child_nodes(node):
        if isinstance(part, gast.stmt):
            yield part
        elif isinstance(part, (gast.ExceptHandler, gast.match_case)):
            yield from _statements_in(part)


def interpret_lambda(p: Parser, node: gast.AST) -> AnfNode | None:
    """A lambda that Python has to make, as Python will call it; None for others."""
    here = p.source.location(node, p.name)
    why = p.left.get(((here.file, here.line, here.col, here.end_line, here.end_col), LAMBDA))
    return None if why is None else _interpret(p, node, node, writes=None, reason=why)


def interpret_call(p: Parser, node: gast.AST) -> AnfNode:
    """locals(), eval(text) and their like look at the caller's frame: they run in Python with all local variables."""
    _, written, _, _ = p.names.uses(node)
    if any(not _in_cell(variable) for variable in written):
        raise p.error("an assignment inside a call that looks at the function's frame cannot become a graph", node)
    return _interpret(p, node, node, writes=None, reason="calls that look at the frame run in Python")


def looks_at_frame(p: Parser, node: gast.AST) -> bool:
    """True for a call of locals(), eval(text) or their like."""
    if not isinstance(node, gast.Call) or not isinstance(node.func, gast.Name) or node.keywords:
        return False
    word = node.func.id
    return word in FRAME and word in p.names.builtins and len(node.args) <= FRAME[word]


def _in_cell(variable: Variable) -> bool:
    return variable.cell or variable.kind == "closure"


def _interpret(p: Parser, node: gast.AST, statements: Any, *, writes: Any, reason: str) -> CNode:
    """An `interpret` node. Its inputs are the names that `node` uses; all names if something in it looks at the frame."""
    given = {}
    variables, _, _, globals_ = p.names.uses(node)
    if any(looks_at_frame(p, part) for part in gast.walk(node)):
        variables = [*variables, *p.names.scopes[p.tree].variables.values()]
    variables = list(dict.fromkeys(variables))
    super_arguments = p.super_arguments() if any(v.name == "__class__" for v in variables) else ()
    for name in super_arguments:
        if p.find(name) not in variables:
            variables.append(p.find(name))
    for variable in variables:
        if variable.kind == "closure":
            given[variable.name] = p.add(syntax.closure_cell, node=node, name=variable.name)
        else:
            given[variable.name] = p.cells[variable] if variable.cell else p.value_of(variable)
    globals_ = [name for name in globals_ if name not in given]
    code, leaves = compile_segment(statements, list(given), globals_, p.source, p.name, super_arguments)
    return p.add(syntax.interpret, *given.values(), node=node, source=p.source.segment(node), reads=tuple(given),
                 cells=tuple(v.name for v in variables if _in_cell(v)), changes=_changed_by(node),
                 writes=None if writes is None else tuple(writes), leaves=leaves, code=code, reason=reason)


def _changed_by(node: gast.AST) -> frozenset[str]:
    """Names of the variables that a statement changes in place: by an item assignment, by `x += y`, or by registering a hook."""
    changed = set()
    for part in gast.walk(node):
        hooked = isinstance(part, gast.Attribute) and part.attr == "register_hook"
        target = part.target if isinstance(part, gast.AugAssign) else part.value if hooked else part
        while isinstance(target, gast.Subscript) and not isinstance(target.ctx, gast.Load) \
                or target is not part and isinstance(target, gast.Subscript):
            target = target.value
        if target is not part and isinstance(target, gast.Name):
            changed.add(target.id)
    return frozenset(changed)
