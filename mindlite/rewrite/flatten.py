"""Statements of one operation each, in Python's order of evaluation.

    x = self.relu(0.5 * self.dense(x))          dense_var = self.dense(x)
                                                mult_var = 0.5 * dense_var
                                                x = self.relu(mult_var)

An operand is moved before its statement only where it is evaluated always and first: what stands in a lambda, a
comprehension, an `a if b else c`, the test of a `while`, or behind the first operand of `and` and `or` stays where it is.
A statement with an assignment expression stays whole.
"""
from __future__ import annotations

import ast

_MOVED = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Tuple, ast.List, ast.Subscript, ast.JoinedStr)


class Names:
    """Names that are in use."""

    def __init__(self, taken=()) -> None:
        self.taken = set(taken)

    def unique(self, name: str) -> str:
        """`name`, or name_1, name_2, .. where it is taken; it is taken then."""
        found, number = name, 0
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found


def names_in(tree: ast.AST) -> set[str]:
    """Every name of variables and arguments in a tree."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | \
        {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def flatten(statements: list[ast.stmt], names: Names) -> list[ast.stmt]:
    """The statements, one operation each. names : those of the function, which new variables do not take"""
    out: list[ast.stmt] = []
    for statement in statements:
        if not any(isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for node in ast.walk(statement)):
            _statement(statement, names, out)
        out.append(statement)
    return out


def _statement(statement: ast.stmt, names: Names, out: list[ast.stmt]) -> None:
    if isinstance(statement, ast.Assign):
        _operands(statement.value, names, out)
        if len(statement.targets) > 1 and all(isinstance(target, ast.Name) for target in statement.targets):
            first, *others = statement.targets
            out.append(ast.Assign([first], statement.value))
            for target in others[:-1]:
                out.append(ast.Assign([target], ast.Name(first.id, ast.Load())))     # type: ignore[attr-defined]
            statement.targets, statement.value = others[-1:], ast.Name(first.id, ast.Load())   # type: ignore[attr-defined]
    elif isinstance(statement, ast.Return) and statement.value is not None:
        statement.value = _moved(statement.value, names, out)
    elif isinstance(statement, ast.Expr):
        _operands(statement.value, names, out)
    elif isinstance(statement, ast.If):
        statement.test = _moved(statement.test, names, out)
        statement.body, statement.orelse = flatten(statement.body, names), flatten(statement.orelse, names)
    elif isinstance(statement, (ast.For, ast.While)):
        if isinstance(statement, ast.For):
            whole = dotted_attribute(statement.iter)
            statement.iter = _variable(statement.iter, names, out, whole) if whole else _moved(statement.iter, names, out)
        statement.body, statement.orelse = flatten(statement.body, names), flatten(statement.orelse, names)


def dotted_attribute(tree: ast.expr) -> str | None:
    """"self_blocks" of `self.blocks`, None for other expressions."""
    return f"self_{tree.attr}" if isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name) \
        and tree.value.id == "self" else None


def _operands(tree: ast.expr, names: Names, out: list[ast.stmt]) -> None:
    """Move the operands of an expression before it, in the order in which they are evaluated."""
    places = [(holder, field, index) for holder, field, index in _places(tree)]
    wanted = [number for number, place in enumerate(places) if isinstance(_get(place), _MOVED) and not _is_super(_get(place))]
    last = max(wanted, default=-1)
    calls = [any(isinstance(node, ast.Call) for node in ast.walk(_get(place))) for place in places]
    for number, place in enumerate(places[:last + 1]):
        operand = _get(place)
        changed_later = any(calls[n] for n in wanted if n > number)
        stays = isinstance(operand, (ast.Name, ast.Constant)) or _is_super(operand) or \
            isinstance(operand, ast.Attribute) and not changed_later
        if not stays or number in wanted:
            _set(place, _moved(operand, names, out) if number in wanted else _variable(operand, names, out))


def _is_super(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "super"


def _moved(tree: ast.expr, names: Names, out: list[ast.stmt]) -> ast.expr:
    """The expression, or the variable that it is kept in if it has an operation."""
    if not isinstance(tree, _MOVED) or _is_super(tree):
        _operands(tree, names, out)
        return tree
    _operands(tree, names, out)
    return _variable(tree, names, out)


def _variable(tree: ast.expr, names: Names, out: list[ast.stmt], name: str | None = None) -> ast.Name:
    name = names.unique(name or _word(tree) + "_var")
    out.append(ast.Assign([ast.Name(name, ast.Store())], tree))
    return ast.Name(name, ast.Load())


def _word(tree: ast.expr) -> str:
    """A word for what an expression does: "dense" of self.dense(x), "mult" of x * y."""
    if isinstance(tree, ast.Call):
        return tree.func.attr if isinstance(tree.func, ast.Attribute) else \
            tree.func.id if isinstance(tree.func, ast.Name) else "call"
    if isinstance(tree, (ast.BinOp, ast.UnaryOp, ast.BoolOp)):
        return type(tree.op).__name__.lower()
    return tree.attr if isinstance(tree, ast.Attribute) else type(tree).__name__.lower()


def _places(tree: ast.expr):
    """(holder, field, index) of the operands that are evaluated always, before the operation and in this order."""
    if isinstance(tree, ast.Call):
        if isinstance(tree.func, ast.Attribute):
            inner: ast.expr = tree.func
            while isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Attribute):
                inner = inner.value
            yield inner, "value", None
        elif not isinstance(tree.func, ast.Name):
            yield tree, "func", None
        for index, arg in enumerate(tree.args):
            yield (arg, "value", None) if isinstance(arg, ast.Starred) else (tree, "args", index)
        for keyword in tree.keywords:
            yield keyword, "value", None
    elif isinstance(tree, ast.BinOp):
        yield from ((tree, "left", None), (tree, "right", None))
    elif isinstance(tree, ast.UnaryOp):
        yield tree, "operand", None
    elif isinstance(tree, ast.Compare):
        yield from ((tree, "left", None), (tree, "comparators", 0))
    elif isinstance(tree, ast.BoolOp):
        yield tree, "values", 0
    elif isinstance(tree, (ast.Tuple, ast.List)):
        for index, item in enumerate(tree.elts):
            yield (item, "value", None) if isinstance(item, ast.Starred) else (tree, "elts", index)
    elif isinstance(tree, (ast.Subscript, ast.Attribute)):
        yield tree, "value", None


def _get(place):
    holder, field, index = place
    return getattr(holder, field) if index is None else getattr(holder, field)[index]


def _set(place, value):
    holder, field, index = place
    if index is None:
        setattr(holder, field, value)
    else:
        getattr(holder, field)[index] = value
