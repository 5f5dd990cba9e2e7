"""match: a case is a chain of tests; one that fails jumps to the next case, captures are assigned when all have held.

Literals, dotted names, captures, wildcards, or-patterns and sequences are tests in the graph. Mapping and class
patterns are asked of Python, one `interpret` node per pattern; the bodies of the cases stay in the graph.

Source: PEP 634.
"""
import gast

from ..mindir import syntax
from .interpret import interpret_pattern
from .scope import Variable
from .targets import item, shape_of


def match(p, node):
    """match subject: case pattern if guard: body"""
    subject, ends = p.evaluate(node.subject), []
    for case in node.cases:
        captures, failed = {}, []
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


def _require(p, condition, failed, node):
    """Go on where the condition holds; where it does not is one more block in `failed`."""
    p.block, false, _ = p.switch(condition, "matched", "mismatched", node)
    failed.append(false)


def _capture(p, name, value, captures):
    if name is not None:
        p.ssa.write(p.block, captures.setdefault(name, Variable(name, "local")), value)


def _test(p, pattern, subject, captures, failed):
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
    else:
        _ask_python(p, pattern, subject, captures, failed)


def _alternatives(p, pattern, subject, captures, failed):
    matched = []
    for alternative in pattern.patterns:
        mismatched = []
        _test(p, alternative, subject, captures, mismatched)
        matched.append(p.block)
        p.join("or", mismatched, alternative)
        if p.block is None:
            break
    if p.block is not None:
        failed.append(p.block)
    p.join("matched", matched, pattern)


def _sequence(p, pattern, subject, captures, failed):
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


def _ask_python(p, pattern, subject, captures, failed):
    result, names = interpret_pattern(p, pattern, subject)
    _require(p, item(p, result, 0, pattern), failed, pattern)
    for number, name in enumerate(names):
        _capture(p, name, item(p, result, number + 1, pattern), captures)
