"""try and with: a part of the function from which exceptions lead to a handler.

    try: B                   here:      try(body=f/try, handler=f/except, exits=(f/left,), handler_exits=(f/left_2,))
    except E: H              f/try:     B; jump f/left
    else: L                  f/left:    L; jump f/after_try
                             f/except:  1 = caught(); switch(catches(1, E), true=f/caught, false=f/next)
                             f/caught:  H; jump f/left_2                  f/next: raise(1)

The part ends where one of its blocks jumps to one of `exits`. What `finally` holds is written once for each way out
(the end, return, break, continue: outside of the part, as CPython does) and once for exceptions, which go on
after it. `with` is a try whose way out calls __exit__ (PEP 343). A variable that is assigned in such a part and used
elsewhere lives in a cell (`scope.py`), since an exception may come before or after the assignment.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, TYPE_CHECKING

import gast

from ..common.annotations import Function
from ..common.records import dataclass
from ..mindir import syntax
from ..mindir.graph import AnfNode
from ..mindir.syntax import Undefined
from .targets import store

if TYPE_CHECKING:
    from .parse import Parser


@dataclass
class Part:
    """The body or the handler of a `try` that is being written.

    terminator, handles: the `try` and whether this is its handler     final: writes what is done on each way out
    loops, exits       : the loops around it; the blocks outside to which it jumps
    """
    terminator: Any
    handles: bool
    loops: list
    final: Any = None
    exits: list = field(default_factory=list)


def leave(p: Parser, depth: int, node: gast.AST) -> None:
    """Go on outside of all but `depth` parts, after what has to be done on the way out of each."""
    parts, loops = p.parts, p.loops
    while len(p.parts) > depth and p.block is not None:
        part, p.parts = p.parts[-1], p.parts[:-1]
        outside = p.new_block("left", [p.block], node)
        p.jump(outside, node)
        part.exits.append(outside)
        p.block = outside
        if part.final is not None:
            p.loops = list(part.loops)
            part.final()
    p.parts, p.loops = parts, loops


def leave_by_return(p: Parser, node: gast.AST) -> None:
    """Do what `finally` and `with` have to do before a return; the present block is None if they leave otherwise."""
    if any(part.final is not None for part in p.parts):
        leave(p, 0, node)


def protect(p: Parser, node: gast.AST, body: Any, handle: Function, final: Any = None, orelse: Sequence[gast.AST] = ()) -> None:
    """Write body() as the body of a `try`, `orelse` behind it and handle(exception) as its handler."""
    here, depth = p.block, len(p.parts)
    first, caught = [p.new_block(name, [here], node) for name in ("try", "except")]
    p.end(syntax.try_, node=node, body=first, handler=caught, exits=(), handler_exits=(),
          join=None)
    ends, exits, loops = [], [], list(p.loops)
    for block, handles in (first, False), (caught, True):
        part = Part(here.output, handles, list(loops), None if handles else final)
        p.block, p.parts = block, [*p.parts, part]
        if handles:
            handle(p.add(syntax.caught, node=node))
        else:
            body()
        leave(p, depth, node)
        p.parts = p.parts[:depth]
        if not handles:
            p.execute(orelse)
        ends.append(p.block)
        exits.append(tuple(part.exits))
    here.output.attrs.update(exits=exits[0], handler_exits=exits[1])
    p.join("after_try", ends, node, here.output)


def raise_again(p: Parser, exception: AnfNode, node: gast.AST) -> None:
    """The exception goes on."""
    if p.block is not None:
        p.end(syntax.raise_, exception, node=node, again=True)


def try_(p: Parser, node: gast.AST) -> None:
    """try: body except: .. else: .. finally: .."""
    def body():
        if node.handlers:
            protect(p, node, lambda: p.execute(node.body), lambda e: _handlers(p, node, e), orelse=node.orelse)
        else:
            p.execute(node.body)

    def final():
        p.execute(node.finalbody)

    def handle(exception):
        final()
        raise_again(p, exception, node)
    if node.finalbody:
        protect(p, node, body, handle, final)
    else:
        body()


def _handlers(p: Parser, node: gast.AST, exception: AnfNode) -> None:
    """except A as a: .. except B: ..: the first that catches it; else it goes on."""
    ends, part = [], p.parts[-1]
    for handler in node.handlers:
        otherwise = None
        if handler.type is not None:
            holds = p.add(syntax.catches, exception, p.evaluate(handler.type), node=handler.type)
            p.block, otherwise, _ = p.switch(holds, "caught", "next", handler)
        if handler.name is None:
            p.execute(handler.body)
        else:
            name = handler.name.id if isinstance(handler.name, gast.Name) else handler.name
            p.write(name, exception, handler)

            def forget(name=name, handler=handler):
                p.assign(p.find(name), p.constant(Undefined(name), handler), handler)
            part.final = forget
            p.execute(handler.body)
            part.final = None
            if p.block is not None:
                forget()
        ends.append(p.block)
        p.block = otherwise
    raise_again(p, exception, node)
    p.join("handled", ends, node)


def with_(p: Parser, node: gast.AST) -> None:
    """with a as b, c as d: body"""
    _with(p, node, node.items)


def _with(p: Parser, node: gast.AST, items: list) -> None:
    if not items:
        p.execute(node.body)
        return
    first, tree = items[0], items[0].context_expr
    manager = p.evaluate(first.context_expr)
    entered = p.add(syntax.enter_context, manager, node=tree)

    def body():
        if first.optional_vars is not None:
            store(p, first.optional_vars, entered)
        _with(p, node, items[1:])

    def final():
        p.add(syntax.exit_context, manager, p.constant(None, tree), node=tree)

    def handle(exception):
        swallowed = p.add(syntax.exit_context, manager, exception, node=tree)
        stay, p.block, _ = p.switch(swallowed, "swallowed", "again", tree)
        raise_again(p, exception, node)
        p.block = stay
    protect(p, node, body, handle, final)
