"""Loops: tail calls of a header graph.

    while c: body                 jump f/while          f/while(phis): switch(c, true=f/while.body, false=f/while.after)
                                                        f/while.body: ... jump f/while
    for t in xs: body             it = get_iter(xs); jump f/for(0)
                                  f/for(i, phis): switch(iter_more(it, i), true=f/for.body, false=f/for.after)
                                  f/for.body: t = iter_item(it, i); ... jump f/for(iter_step(i))

With an `else` clause or a `break` the false block is f/while.else, which jumps to f/while.after as `break` does.
The header's `exit` is f/while.after; its switch has no `join`.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, TYPE_CHECKING

import gast

from ..common.annotations import Function
from ..common.records import dataclass
from ..mindir import syntax
from ..mindir.graph import AnfNode, FuncGraph
from .exceptions import leave
from .scope import Variable
from .targets import store

if TYPE_CHECKING:
    from .parse import Parser


@dataclass
class Loop:
    """A loop being parsed: step() writes what precedes the jump back to the header; breaks: blocks that jump out.

    parts: how many parts of `try` are around it
    """
    header: Any
    step: Any
    parts: int
    breaks: list = field(default_factory=list)

    def again(self, p: Parser, node: gast.AST) -> None:
        """Jump back to the header, if the present block is alive."""
        if p.block is not None:
            self.step()
            p.jump(self.header, node)


def while_loop(p: Parser, node: gast.AST) -> None:
    """while test: body else: orelse"""
    header = _enter(p, "while", node)
    loop = Loop(header, lambda: None, len(p.parts))
    if isinstance(node.test, gast.Constant) and node.test.value:       # as CPython: no test, so no normal end
        body, after = p.new_block("while.body", [header], node), None
        p.jump(body, node)
    else:
        body, after = _test(p, "while", p.evaluate(node.test), loop, node.test, node.orelse or _breaks(node.body))
    _run(p, "while", loop, body, after, node, lambda: p.execute(node.body), node.orelse)


def for_loop(p: Parser, node: gast.AST) -> None:
    """for target in iter: body else: orelse"""
    def body(item):
        store(p, node.target, item)
        p.execute(node.body)
    iterate(p, p.evaluate(node.iter), node, body, node.body, node.orelse, at=node.iter)


def iterate(p: Parser, iterable: AnfNode, node: gast.AST, body: Any, statements: Sequence[gast.AST] = (),
            orelse: Sequence[gast.AST] = (), breaks: bool = False, at: Any = None) -> AnfNode:
    """A `for` over the node `iterable`; body(item) writes one iteration; it has breaks if `statements` have, or if `breaks`.
    Returns the iterator's node. at: the expression that errors of iterating point to; None: `node`"""
    at = at or node
    iterator = p.add(syntax.get_iter, iterable, node=at)
    index = Variable("index", "local")
    p.ssa.write(p.block, index, p.constant(0, node))
    header = _enter(p, "for", node)
    current = p.ssa.read(header, index)

    def step():
        p.ssa.write(p.block, index, p.add(syntax.iter_step, current, node=at))
    loop = Loop(header, step, len(p.parts))
    more = p.add(syntax.iter_more, iterator, current, node=at)
    first, after = _test(p, "for", more, loop, node, breaks or orelse or _breaks(statements))

    def round_():
        body(p.add(syntax.iter_item, iterator, current, node=at))
    _run(p, "for", loop, first, after, node, round_, orelse)
    return iterator


def _enter(p: Parser, kind: str, node: gast.AST) -> FuncGraph:
    header = p.new_block(kind, [p.block], node, loop=kind)
    p.jump(header, node)
    p.block = header
    return header


def _test(p: Parser, kind: str, condition: AnfNode, loop: Any, node: gast.AST, has_else: Any) -> tuple[FuncGraph, FuncGraph]:
    """The switch of a loop: (body block, block of the normal end)."""
    body, after, _ = p.switch(condition, f"{kind}.body", f"{kind}.else" if has_else else f"{kind}.after", node)
    if not has_else:
        loop.header.exit = after
    return body, after


def _run(p: Parser, kind: str, loop: Any, body: Any, after: Any, node: gast.AST, write_body: Function,
         orelse: Sequence[gast.AST]) -> None:
    p.block = body
    p.loops.append(loop)
    write_body()
    p.loops.pop()
    loop.again(p, node)
    p.block = after
    if loop.header.exit is None:
        p.execute(orelse)
        ends = [end for end in (p.block, *loop.breaks) if end is not None]
        p.block = None
        if ends:
            exit_ = loop.header.exit = p.new_block(f"{kind}.after", ends, node)
            for end in ends:
                p.ssa.jump(end, exit_, p.origin(node))
            p.block = exit_


def _breaks(statements: Sequence[gast.AST]) -> bool:
    """Does a `break` of this very loop stand in `statements`?"""
    for node in statements:
        if isinstance(node, gast.Break):
            return True
        if isinstance(node, (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)):
            continue
        inner = [node.orelse] if isinstance(node, (gast.For, gast.While)) else \
            [getattr(node, name, ()) for name in ("body", "orelse", "finalbody")]
        inner += [part.body for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
        if any(_breaks(part) for part in inner):
            return True
    return False


def break_(p: Parser, node: gast.AST) -> None:
    """Leave the loop."""
    loop = p.loops[-1]
    leave(p, loop.parts, node)
    if p.block is not None:
        loop.breaks.append(p.block)
        p.block = None


def continue_(p: Parser, node: gast.AST) -> None:
    """The next round."""
    loop = p.loops[-1]
    leave(p, loop.parts, node)
    loop.again(p, node)
