"""What each statement writes into the graph: STATEMENTS[type of tree node](parser, node).

Loops and match have files of their own; what a graph cannot say stands in no table and is left to JIT Fallback.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import gast

from ..common.annotations import Function
from ..mindir import syntax
from ..mindir.graph import AnfNode
from .exceptions import leave_by_return, try_, with_
from .expressions import BINARY, make_function
from .loops import break_, continue_, for_loop, while_loop
from .patterns import match
from .targets import store

if TYPE_CHECKING:
    from .parse import Parser

STATEMENTS = {gast.For: for_loop, gast.While: while_loop, gast.Break: break_, gast.Continue: continue_,
              gast.Match: match, gast.Try: try_, gast.With: with_}


def statement(*types: type) -> Function:
    """Register the rule of these tree nodes."""
    def register(rule):
        STATEMENTS.update(dict.fromkeys(types, rule))
        return rule
    return register


@statement(gast.Expr)
def expression_statement(p: Parser, node: gast.AST) -> None:
    """An expression for its effects."""
    p.evaluate(node.value)


@statement(gast.Pass, gast.Global, gast.Nonlocal)
def nothing(p: Parser, node: gast.AST) -> None:
    """`global` and `nonlocal` were heard when names were resolved."""


@statement(gast.Assign)
def assign(p: Parser, node: gast.AST) -> None:
    """a = b, c = value; a literal tuple for as many names needs no tuple: a, b = b, a"""
    target = node.targets[0]
    if len(node.targets) == 1 and _pairwise(target, node.value):
        for part, value in zip(target.elts, p.evaluate_all(node.value.elts)):
            store(p, part, value)
        return
    value = p.evaluate(node.value)
    for target in node.targets:
        store(p, target, value)


def _pairwise(target: gast.AST, value: AnfNode) -> bool:
    sequences = (gast.Tuple, gast.List)
    return (isinstance(target, sequences) and isinstance(value, sequences) and len(target.elts) == len(value.elts)
            and not any(isinstance(element, gast.Starred) for element in (*target.elts, *value.elts)))


@statement(gast.AnnAssign)
def annotated(p: Parser, node: gast.AST) -> None:
    """x: int = value; the annotation is not evaluated in a function"""
    if node.value is not None:
        store(p, node.target, p.evaluate(node.value))


@statement(gast.AugAssign)
def augmented(p: Parser, node: gast.AST) -> None:
    """target op= value; the parts of the target are evaluated once"""
    op, target = BINARY[type(node.op)], node.target
    if isinstance(target, gast.Name):
        old = p.read(target.id, target)
        p.write(target.id, p.add(syntax.inplace, old, p.evaluate(node.value), node=node, op=op), node)
    elif isinstance(target, gast.Attribute):
        owner = p.evaluate(target.value)
        old = p.add(syntax.load_attr, owner, node=target, name=target.attr)
        new = p.add(syntax.inplace, old, p.evaluate(node.value), node=node, op=op)
        p.add(syntax.store_attr, owner, new, node=node, name=target.attr)
    else:
        owner = p.evaluate(target.value)
        index = p.evaluate(target.slice)
        old = p.add(syntax.load_item, owner, index, node=target)
        new = p.add(syntax.inplace, old, p.evaluate(node.value), node=node, op=op)
        p.add(syntax.store_item, owner, index, new, node=node)


@statement(gast.Delete)
def delete(p: Parser, node: gast.AST) -> None:
    """del a, b.c, d[e], (f, g)"""
    for target in node.targets:
        if isinstance(target, gast.Name):
            p.delete(target.id, target)
        elif isinstance(target, gast.Attribute):
            p.add(syntax.delete_attr, p.evaluate(target.value), node=target, name=target.attr)
        elif isinstance(target, gast.Subscript):
            owner = p.evaluate(target.value)
            p.add(syntax.delete_item, owner, p.evaluate(target.slice), node=target)
        else:
            delete(p, gast.copy_location(gast.Delete(targets=target.elts), target))


@statement(gast.If)
def if_(p: Parser, node: gast.AST) -> None:
    """if test: body else: orelse. A literal test leaves one branch, as in CPython."""
    if isinstance(node.test, gast.Constant):
        p.execute(node.body if node.test.value else node.orelse)
        return
    true, false, switch = p.switch(p.evaluate(node.test), "true", "false", node.test)
    ends = []
    for block, body in (true, node.body), (false, node.orelse):
        p.block = block
        p.execute(body)
        ends.append(p.block)
    p.join("after_if", ends, node, switch)


@statement(gast.Return)
def return_(p: Parser, node: gast.AST) -> None:
    """return value"""
    value = p.constant(None, node) if node.value is None else p.evaluate(node.value)
    leave_by_return(p, node)
    if p.block is not None:
        p.end(syntax.return_, value, node=node)


@statement(gast.Raise)
def raise_(p: Parser, node: gast.AST) -> None:
    """raise, raise exception, raise exception from cause"""
    p.end(syntax.raise_, *p.evaluate_all([part for part in (node.exc, node.cause) if part is not None]), node=node)


@statement(gast.Assert)
def assert_(p: Parser, node: gast.AST) -> None:
    """assert test, message; nothing under `python -O`"""
    if sys.flags.optimize:
        return
    passed, failed, _ = p.switch(p.evaluate(node.test), "asserted", "assert", node.test)
    p.block = failed
    args = [] if node.msg is None else [p.evaluate(node.msg)]
    error = p.add(syntax.call, p.constant(AssertionError, node), *args, node=node, layout=("",) * len(args))
    p.end(syntax.raise_, error, node=node)
    p.block = passed


@statement(gast.FunctionDef)
def function(p: Parser, node: gast.AST) -> None:
    """def: decorators first, then defaults, then the function goes through the decorators from the innermost."""
    decorators = p.evaluate_all(node.decorator_list)
    value = make_function(p, node, node.name)
    for decorator, tree in zip(reversed(decorators), reversed(node.decorator_list)):
        value = p.add(syntax.call, decorator, value, node=tree, layout=("",))
    p.write(node.name, value, node)


@statement(gast.Import)
def import_(p: Parser, node: gast.AST) -> None:
    """import a.b assigns a; import a.b as c assigns a.b"""
    for alias in node.names:
        value = p.add(syntax.import_module, node=node, name=alias.name, level=0, attribute=None)
        first, *parts = alias.name.split(".")
        if alias.asname:
            for part in parts:
                value = p.add(syntax.load_attr, value, node=node, name=part)
        p.write(alias.asname or first, value, node)


@statement(gast.ImportFrom)
def import_from(p: Parser, node: gast.AST) -> None:
    """from ..a import b as c"""
    for alias in node.names:
        value = p.add(syntax.import_module, node=node, name=node.module or "", level=node.level or 0,
                      attribute=alias.name)
        p.write(alias.asname or alias.name, value, node)
