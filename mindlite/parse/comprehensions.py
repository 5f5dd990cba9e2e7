"""Comprehensions are loops that fill a fresh list, set or dict; any(x for ...) and all(x for ...) are loops that break.

    [f(x) for x in xs if c]        made = make_list(); for x in xs: if c: list_append(made, f(x))
    any(f(x) for x in xs)          found = False; for x in xs: if f(x): found = True; break
    sum(f(x) for x in xs)          sum([f(x) for x in xs])
    iter(f(x) for x in xs)         a call of a generator function: def f(xs): for x in xs: yield f(x)
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import gast

from ..common.annotations import Function
from ..mindir import syntax
from ..mindir.graph import AnfNode
from .expressions import call, suspend
from .interpret import interpret_call, looks_at_frame
from .loops import iterate
from .scope import SEARCHES, Variable
from .targets import store

if TYPE_CHECKING:
    from .parse import Parser


def _display(make: Any, add: Any, parts: Any) -> Function:
    """The rule of a comprehension that fills a new list, set or dict: add(made, *its parts) for each item."""
    def rule(p, node):
        made = p.add(make, node=node, **({} if make is syntax.make_dict else {"stars": ()}))
        _comprehension(p, node, lambda: p.add(add, made, *p.evaluate_all([getattr(node, part) for part in parts]), node=node))
        return made
    return rule


list_comprehension = _display(syntax.make_list, syntax.list_append, ["elt"])


def generator(p: Parser, node: gast.AST) -> AnfNode:
    """A list if its only user takes all items at once (`scope.py` knows), else a generator."""
    if p.names.scopes[node].kind == "comprehension":
        return list_comprehension(p, node)
    first = p.evaluate(node.generators[0].iter)
    graph = p.inner(node, "<genexpr>")
    function = p.add(syntax.make_function, node=node, graph=graph, signature=graph.signature)
    return p.add(syntax.call, function, first, node=node, layout=("",))


def yield_from(p: Parser, node: gast.AST) -> AnfNode:
    """yield from values: for value in values: yield value; its value is what they return in the end"""
    iterator = iterate(p, p.evaluate(node.value), node, lambda item: suspend(p, node, item, delegates=True))
    return p.add(syntax.iter_returned, iterator, node=node)


def call_or_search(p: Parser, node: gast.AST) -> AnfNode:
    """any(x for ...) and all(x for ...) are loops, locals() and its like run in Python, all else is a call."""
    word = getattr(node.func, "id", None)
    if looks_at_frame(p, node):
        return interpret_call(p, node)
    eager = [a for a in node.args if isinstance(a, gast.GeneratorExp) and p.names.scopes[a].kind == "comprehension"]
    return search(p, eager[0], word, SEARCHES[word]) if eager and word in SEARCHES else call(p, node)


def search(p: Parser, node: gast.AST, word: str, truth: bool) -> AnfNode:
    """Is there an item that is `truth`? Stops at the first."""
    result, loop = Variable(word, "local"), len(p.loops)

    def test():
        true, false, _ = p.switch(p.evaluate(node.elt), "true", "false", node)
        found, p.block = (true, false) if truth else (false, true)
        p.ssa.write(found, result, p.constant(truth, node))
        p.loops[loop].breaks.append(found)
    p.ssa.write(p.block, result, p.constant(not truth, node))
    _comprehension(p, node, test, breaks=True)
    return p.ssa.read(p.block, result)


def _comprehension(p: Parser, node: gast.AST, one: Function, breaks: bool = False) -> None:
    """The loops of a comprehension around what `one()` writes, which may break out of the outermost if `breaks`."""
    first = p.evaluate(node.generators[0].iter)              # in the scope around
    outer, p.scope = p.scope, p.names.scopes[node]
    p.make_cells(p.scope, node)

    loops(p, node, first, one, breaks)
    p.scope = outer


def loops(p: Parser, node: gast.AST, first: AnfNode, one: Function, breaks: bool = False) -> None:
    """The loops of a comprehension or generator expression."""
    def nest(number, iterable):
        if number == len(node.generators):
            one()
            return
        generator = node.generators[number]
        if generator.is_async:
            raise p.error("an asynchronous comprehension cannot become a graph", node)

        def body(item):
            store(p, generator.target, item)
            for test in generator.ifs:
                keep, p.block, _ = p.switch(p.evaluate(test), "true", "false", test)
                p.loops[-1].again(p, test)
                p.block = keep
            inner = node.generators[number + 1:number + 2]
            nest(number + 1, p.evaluate(inner[0].iter) if inner else None)
        iterate(p, iterable, generator.target, body, breaks=breaks and number == 0, at=generator.iter)
    nest(0, first)


COMPREHENSIONS = {gast.ListComp: list_comprehension, gast.SetComp: _display(syntax.make_set, syntax.set_add, ["elt"]),
                  gast.DictComp: _display(syntax.make_dict, syntax.store_item, ["key", "value"]),
                  gast.GeneratorExp: generator, gast.Call: call_or_search, gast.YieldFrom: yield_from}
