"""What each expression writes into the graph: EXPRESSIONS[type of tree node](parser, node) -> the node of its value.

Operands are evaluated from left to right, as Python does. `and`, `or`, `a if c else b` and chained comparisons
branch; the value where the branches meet is a variable that no program can name.
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import gast

from ..common.annotations import Function
from ..mindir import syntax
from ..mindir.graph import AnfNode
from .interpret import interpret_lambda
from .scope import Variable

if TYPE_CHECKING:
    from .parse import Parser

EXPRESSIONS: dict = {}

UNARY = {gast.USub: "-", gast.UAdd: "+", gast.Invert: "~", gast.Not: "not"}
BINARY = {gast.Add: "+", gast.Sub: "-", gast.Mult: "*", gast.Div: "/", gast.FloorDiv: "//", gast.Mod: "%",
          gast.Pow: "**", gast.MatMult: "@", gast.LShift: "<<", gast.RShift: ">>", gast.BitAnd: "&", gast.BitOr: "|",
          gast.BitXor: "^"}
COMPARE = {gast.Lt: "<", gast.LtE: "<=", gast.Gt: ">", gast.GtE: ">=", gast.Eq: "==", gast.NotEq: "!=", gast.Is: "is",
           gast.IsNot: "is not", gast.In: "in", gast.NotIn: "not in"}


def expression(*types: type) -> Function:
    """Register the rule of these tree nodes."""
    def register(rule):
        EXPRESSIONS.update(dict.fromkeys(types, rule))
        return rule
    return register


EXPRESSIONS.update({
    gast.Constant: lambda p, node: p.constant(node.value, node),
    gast.Name: lambda p, node: p.read(node.id, node),
    gast.Attribute: lambda p, node: p.add(syntax.load_attr, p.evaluate(node.value), node=node, name=node.attr),
    gast.Subscript: lambda p, node: p.add(syntax.load_item, p.evaluate(node.value), p.evaluate(node.slice), node=node),
    gast.BinOp: lambda p, node: p.add(syntax.binary, p.evaluate(node.left), p.evaluate(node.right), node=node,
                                      op=BINARY[type(node.op)]),
    gast.JoinedStr: lambda p, node: p.add(syntax.join_str, *p.evaluate_all(node.values), node=node),
})


@expression(gast.Slice)
def slice_(p: Parser, node: gast.AST) -> AnfNode:
    """a:b:c in an index"""
    parts = [p.constant(None, node) if part is None else p.evaluate(part)
             for part in (node.lower, node.upper, node.step)]
    return p.add(syntax.make_slice, *parts, node=node)


@expression(gast.UnaryOp)
def unary(p: Parser, node: gast.AST) -> AnfNode:
    """-x; the negative of a literal number is a literal"""
    value = p.evaluate(node.operand)
    if isinstance(node.op, gast.USub) and isinstance(node.operand, gast.Constant) \
            and type(node.operand.value) in (int, float, complex):
        return p.constant(-node.operand.value, node)
    return p.add(syntax.unary, value, node=node, op=UNARY[type(node.op)])


@expression(gast.Compare)
def compare(p: Parser, node: gast.AST) -> AnfNode:
    """a < b <= c: b is evaluated once, and c only if a < b"""
    left, temporary, ends = p.evaluate(node.left), Variable("compared", "local"), []
    for number, (op, right) in enumerate(zip(node.ops, node.comparators)):
        right = p.evaluate(right)
        value = p.add(syntax.compare, left, right, node=node, op=COMPARE[type(op)])
        left = right
        if number + 1 < len(node.ops):
            ends.append(_leave_if(p, value, False, temporary, node))
    return _meet(p, value, temporary, ends, node) if ends else value


@expression(gast.BoolOp)
def bool_op(p: Parser, node: gast.AST) -> AnfNode:
    """a and b: b is evaluated only if a is true; the value is the last one evaluated"""
    stops_at, ends = isinstance(node.op, gast.Or), []
    temporary = Variable("or" if stops_at else "and", "local")
    for part in node.values[:-1]:
        ends.append(_leave_if(p, p.evaluate(part), stops_at, temporary, node))
    return _meet(p, p.evaluate(node.values[-1]), temporary, ends, node)


def _leave_if(p: Parser, value: AnfNode, truth: bool, temporary: Variable, node: gast.AST) -> tuple:
    """Go on where `value` is not `truth`; returns (the block where it is, the terminator)."""
    true, false, switch = p.switch(value, "true", "false", node)
    leave, p.block = (true, false) if truth else (false, true)
    p.ssa.write(leave, temporary, value)
    return leave, switch


def _meet(p: Parser, value: AnfNode, temporary: Variable, ends: list, node: gast.AST) -> AnfNode:
    """All ends of a short circuit, from the last to the first: each switch has a join of its own."""
    for leave, switch in reversed(ends):
        p.ssa.write(p.block, temporary, value)
        p.join(temporary.name, [p.block, leave], node, switch)
        value = p.ssa.read(p.block, temporary)
    return value


@expression(gast.IfExp)
def if_expression(p: Parser, node: gast.AST) -> AnfNode:
    """a if c else b"""
    temporary, ends = Variable("if", "local"), []
    true, false, switch = p.switch(p.evaluate(node.test), "true", "false", node.test)
    for block, value in (true, node.body), (false, node.orelse):
        p.block = block
        value = p.evaluate(value)
        p.ssa.write(p.block, temporary, value)
        ends.append(p.block)
    p.join("after_if", ends, node, switch)
    return p.ssa.read(p.block, temporary)


@expression(gast.NamedExpr)
def walrus(p: Parser, node: gast.AST) -> AnfNode:
    """(x := value)"""
    value = p.evaluate(node.value)
    p.write(node.target.id, value, node)
    return value


def call(p: Parser, node: gast.AST) -> AnfNode:
    """f(a, *b, c=d, **e); super() is given its two arguments"""
    fn = p.evaluate(node.func)
    args, layout = [], []
    for argument in node.args:
        starred = isinstance(argument, gast.Starred)
        args.append(p.evaluate(argument.value if starred else argument))
        layout.append("*" if starred else "")
    for keyword in node.keywords:
        args.append(p.evaluate(keyword.value))
        layout.append("**" if keyword.arg is None else keyword.arg)
    if not args and isinstance(node.func, gast.Name) and node.func.id == "super":
        args = [p.read(name, node) for name in p.super_arguments()]
        layout = [""] * len(args)
    return p.add(syntax.call, fn, *args, node=node, layout=tuple(layout))


def _display(primitive: Any) -> Function:
    def rule(p, node):
        stars = tuple(i for i, element in enumerate(node.elts) if isinstance(element, gast.Starred))
        values = p.evaluate_all([e.value if isinstance(e, gast.Starred) else e for e in node.elts])
        return p.add(primitive, *values, node=node, stars=stars)
    return rule


expression(gast.Tuple)(_display(syntax.make_tuple))
expression(gast.List)(_display(syntax.make_list))
expression(gast.Set)(_display(syntax.make_set))


@expression(gast.Dict)
def dict_(p: Parser, node: gast.AST) -> AnfNode:
    """{a: b, **c}"""
    args = []
    for key, value in zip(node.keys, node.values):
        args.append(p.constant(syntax.DICT_STAR, value) if key is None else p.evaluate(key))
        args.append(p.evaluate(value))
    return p.add(syntax.make_dict, *args, node=node)


@expression(gast.FormattedValue)
def formatted(p: Parser, node: gast.AST) -> AnfNode:
    """{value!r:spec} in an f-string"""
    value = p.evaluate(node.value)
    spec = p.constant("", node) if node.format_spec is None else p.evaluate(node.format_spec)
    conversion = "" if node.conversion < 0 else chr(node.conversion)
    return p.add(syntax.format_value, value, spec, node=node, conversion=conversion)


def make_function(p: Parser, node: gast.AST, name: str) -> AnfNode:
    """The function that a def or lambda makes: defaults now, the body as a graph."""
    defaults = p.evaluate_all([d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None])
    graph = p.inner(node, name)
    return p.add(syntax.make_function, *defaults, node=node, graph=graph, signature=graph.signature)


@expression(gast.Lambda)
def lambda_(p: Parser, node: gast.AST) -> AnfNode:
    """lambda x: ..."""
    for part in gast.walk(node.body):
        if isinstance(part, (gast.Yield, gast.YieldFrom, gast.Await)):
            raise p.error("a lambda that yields cannot become a graph", part, hint="write a generator function")
    made = interpret_lambda(p, node) if p.left else None
    return make_function(p, node, "<lambda>") if made is None else made


@expression(gast.Yield)
def yield_(p: Parser, node: gast.AST) -> AnfNode:
    """yield value"""
    return suspend(p, node, p.constant(None, node) if node.value is None else p.evaluate(node.value))


def suspend(p: Parser, node: gast.AST, value: AnfNode, delegates: bool = False) -> AnfNode:
    """Give `value` to who goes on with the generator; what is sent back."""
    resume = p.new_block("resumed", [p.block], node)
    parts = tuple([(part.terminator, part.handles) for part in p.parts])
    p.end(syntax.yield_, value, node=node, resume=resume, parts=parts)
    p.block = resume
    return p.add(syntax.sent, node=node, delegates=delegates)


@expression(gast.Await)
def await_(p: Parser, node: gast.AST) -> None:
    """Only a coroutine may wait, and such a function is not parsed."""
    raise p.error("a function that waits cannot become a graph", node)
