"""Jumps between blocks: which blocks a loop has, which values go along when a region is left, which generators are left
behind.

    payload of a jump = (the values of the block's parameters, {syntax node: value} of what the block uses freely)
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..mindir import syntax
from ..mindir.graph import AnfNode, FuncGraph, ValueNode
from ..mindir.syntax import Undefined
from .kinds import parts_of
from .state import Frame, Suspended
from .values import Box, ByExit, Conflict, Lives, Value

NOT_YET = Undefined("a syntax node")         # what has not been executed on this path


def successors(block: FuncGraph) -> list[FuncGraph]:
    """The blocks to which a block may go next."""
    end = block.output
    if end.fn is syntax.switch:
        return [end.attrs["true"], end.attrs["false"]]
    if end.fn is syntax.try_:
        return [end.attrs["body"], end.attrs["handler"]]
    if end.fn is syntax.yield_:
        return [end.attrs["resume"]]
    return [end.fn] if isinstance(end.fn, FuncGraph) else []


def loop_exits(header: FuncGraph) -> frozenset[FuncGraph]:
    """The blocks outside the natural loop of `header` to which its blocks jump (Aho et al.,
    section 9.6). A `try` inside the loop belongs to it. Cached."""
    known = header.transforms.get("loop_exits")
    if known is not None:
        return known
    order, todo = [], [header]
    predecessors: dict = {header: []}
    while todo:
        block = todo.pop()
        order.append(block)
        for after in successors(block):
            if after not in predecessors:
                predecessors[after] = []
                todo.append(after)
            predecessors[after].append(block)
    inside, todo = {header}, [*predecessors[header], *parts_of_try(header)]
    while todo:
        block = todo.pop()
        if block not in inside:
            inside.add(block)
            todo.extend(predecessors[block])
            todo.extend(parts_of_try(block))
    known = header.transforms["loop_exits"] = frozenset(b for block in inside for b in successors(block)
                                                        if b not in inside)
    return known


def parts_of_try(block: FuncGraph) -> list:
    """The blocks of the body and of the handler of a `try` with which a block ends: one that raises leads to the handler."""
    found, end = [], block.output
    if end.fn is syntax.try_:
        for first, exits in ("body", "exits"), ("handler", "handler_exits"):
            todo, seen = [end.attrs[first]], set(end.attrs[exits])
            while todo:
                part = todo.pop()
                if part not in seen:
                    seen.add(part)
                    found.append(part)
                    todo.extend(successors(part))
    return found


def live_into(block: FuncGraph) -> tuple[AnfNode, ...]:
    """The syntax nodes that are used in or after a block before they are defined there: they must outlive a region. Cached."""
    known = block.transforms.get("live_into")
    if known is not None:
        return known
    blocks = block.reachable()
    after = {here: list(here.subgraphs()) for here in blocks}
    defined = {here: {*here.parameters, *here.nodes} for here in blocks}
    live = {here: {a: None for node in [*here.nodes, here.output] for a in node.args
                   if not isinstance(a, ValueNode) and a not in defined[here]} for here in blocks}
    changed = True
    while changed:
        changed = False
        for here in reversed(blocks):
            before = len(live[here])
            for other in after[here]:
                live[here].update((n, None) for n in live[other] if n not in defined[here])
            changed |= len(live[here]) > before
    for here in blocks:
        here.transforms["live_into"] = tuple(live[here])
    return block.transforms["live_into"]


def may_wait(store: dict, outside: Any = ()) -> bool:
    """True if a generator of a store (not of the enclosing one) may be suspended inside
    a `try`: Python closes it when its last reference is gone."""
    return any(isinstance(box, Box) and box.name == "generator" and box not in outside and _waits(content)
               for box, content in store.items())


def _waits(content: Value) -> bool:
    if isinstance(content, ByExit):
        return any(_waits(x) for x in parts_of(content))
    if isinstance(content, Conflict):
        return True
    _, call, where, *_ = content
    if isinstance(where, Conflict):                          # on one path here, on another there
        return any(block.output.fn is syntax.yield_ and block.output.attrs["parts"] for block in call.graph.reachable())
    return isinstance(where, Suspended) and bool(where.end.attrs["parts"])


def leave_to(frame: Frame, block: FuncGraph, args: Sequence[Value]) -> tuple[tuple, Lives]:
    """The payload of a jump that may end a region: the block's arguments, and the values that it uses freely."""
    lives = () if getattr(block, "loop", None) else live_into(block)
    return tuple(args), Lives((node, frame.env.get(node, NOT_YET)) for node in lives)


def arrive(frame: Frame, block: FuncGraph, payload: tuple) -> None:
    """Bind the payload of `leave_to`."""
    args, lives = payload
    frame.env.update(zip(block.parameters, args))
    frame.env.update((node, value) for node, value in lives.items() if value is not NOT_YET)
