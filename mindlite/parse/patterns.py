"""match: a case is a chain of tests; one that fails jumps to the next case, captures are assigned when all have held.

    case Point(a, y=b):     1 = match_class(subject, Point; count=1, names=(y,));  1 is not None;  a = 1[0];  b = 1[1]

Source: PEP 634.
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import gast

from ..mindir import syntax
from ..mindir.graph import AnfNode
from .scope import Variable
from .targets import item, shape_of

if TYPE_CHECKING:
    from .parse import Parser


def match(p: Parser, node: gast.AST) -> None:
    """match subject: case pattern if guard: body"""
    subject, ends = p.evaluate(node.subject), []
    for case in node.cases:
        captures: dict = {}
        failed: list = []
        _test(p, case.pattern, subject, captures, failed)
        for name, temporary in captures.items():
            p.write(name, p.ssa.read(p.block, temporary), case.pattern)
        if case.guard is not None:
            _require(p, p.evaluate(case.guard), failed, case.guard)
        p.execute(case.body)
        ends.append(p.block)
        p.join("case", failed, case.pattern)
        if p.block is None:                  # a pattern that cannot fail is the last
            break
    ends.append(p.block)
    p.join("after_match", ends, node)


def _require(p: Parser, condition: AnfNode, failed: list, node: gast.AST) -> None:
    """Go on where the condition holds; where it does not is one more block in `failed`."""
    p.block, false, _ = p.switch(condition, "matched", "mismatched", node)
    failed.append(false)


def _capture(p: Parser, name: str, value: AnfNode, captures: dict[str, Variable]) -> None:
    if name is not None:
        p.ssa.write(p.block, captures.setdefault(name, Variable(name, "local")), value)


def _test(p: Parser, pattern: gast.AST, subject: AnfNode, captures: dict[str, Variable], failed: list) -> None:
    """Write the test of one pattern: the present block goes on where it holds."""
    if isinstance(pattern, gast.MatchAs):
        if pattern.pattern is not None:
            _test(p, pattern.pattern, subject, captures, failed)
        _capture(p, pattern.name, subject, captures)
    elif isinstance(pattern, gast.MatchValue):
        _require(p, p.add(syntax.compare, subject, p.evaluate(pattern.value), node=pattern, op="=="), failed, pattern)
    elif isinstance(pattern, gast.MatchSingleton):
        value = p.constant(pattern.value, pattern)
        _require(p, p.add(syntax.compare, subject, value, node=pattern, op="is"), failed, pattern)
    elif isinstance(pattern, gast.MatchOr):
        _alternatives(p, pattern, subject, captures, failed)
    elif isinstance(pattern, gast.MatchSequence):
        _sequence(p, pattern, subject, captures, failed)
    elif isinstance(pattern, gast.MatchMapping):
        _mapping(p, pattern, subject, captures, failed)
    else:
        attributes = p.add(syntax.match_class, subject, p.evaluate(pattern.cls), node=pattern,
                           count=len(pattern.patterns), names=tuple(pattern.kwd_attrs))
        _parts(p, pattern, attributes, [*pattern.patterns, *pattern.kwd_patterns], captures, failed)


def _alternatives(p: Parser, pattern: gast.AST, subject: AnfNode, captures: dict[str, Variable], failed: list) -> None:
    matched = []
    for alternative in pattern.patterns:
        mismatched: list = []
        _test(p, alternative, subject, captures, mismatched)
        matched.append(p.block)
        p.join("or", mismatched, alternative)
        if p.block is None:
            break
    if p.block is not None:
        failed.append(p.block)
    p.join("matched", matched, pattern)


def _sequence(p: Parser, pattern: gast.AST, subject: AnfNode, captures: dict[str, Variable], failed: list) -> None:
    shape = shape_of(pattern.patterns, gast.MatchStar)
    length = shape["before"] + shape["after"]
    _require(p, p.add(syntax.match_sequence, subject, node=pattern, length=length, star=shape["star"]), failed, pattern)
    if all(isinstance(part, gast.MatchStar) and part.name is None for part in pattern.patterns):
        return
    items = p.add(syntax.unpack, subject, node=pattern, **shape)
    for number, part in enumerate(pattern.patterns):
        if isinstance(part, gast.MatchStar):
            if part.name is not None:
                _capture(p, part.name, item(p, items, number, part), captures)
        elif not (isinstance(part, gast.MatchAs) and part.pattern is None and part.name is None):
            _test(p, part, item(p, items, number, part), captures, failed)


def _mapping(p: Parser, pattern: gast.AST, subject: AnfNode, captures: dict[str, Variable], failed: list) -> None:
    keys = p.evaluate_all(pattern.keys)
    _parts(p, pattern, p.add(syntax.match_keys, subject, *keys, node=pattern), pattern.patterns, captures, failed)
    _capture(p, pattern.rest, pattern.rest and p.add(syntax.match_rest, subject, *keys, node=pattern), captures)


def _parts(p: Parser, pattern: gast.AST, values: Any, patterns: list[gast.AST], captures: dict[str, Variable],
           failed: list) -> None:
    """Go on where `values` is a tuple, and its items fit the patterns."""
    nothing = p.constant(None, pattern)
    _require(p, p.add(syntax.compare, values, nothing, node=pattern, op="is not"), failed, pattern)
    for number, part in enumerate(patterns):
        _test(p, part, item(p, values, number, part), captures, failed)
