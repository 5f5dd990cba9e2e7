"""The words of a SymbolTree: kinds of nodes, and values as they stand in source code.

    ScopedValue.create_naming_value("conv", "self")      self.conv           ast.Attribute
    ScopedValue.create_variable_value((1, "a"))          (1, 'a')            ast.Tuple of ast.Constant
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum
from typing import Any

from ..common.errors import ArgumentError, ValueRangeError
from ..common.syntax import syntax_tree

PLAIN = (type(None), int, float, str, bool)


class NodeType(Enum):
    """What the statement of a Node is."""
    Unknown = 0
    CallCell = 1             # y = self.conv(x), a Cell whose construct is not looked into
    CallPrimitive = 2        # y = self.add(x, z), an operator as a class
    CallModule = 3
    CallFunction = 4         # y = f(x) or y = self.f(x); a function of the user has nodes of its own
    CallMethod = 5           # y = (x, z), y = x[0], y = x, y = 1
    Python = 6               # any other statement, which is kept as it is
    Input = 7                # an argument
    Output = 8               # return
    Tree = 9                 # y = self.block(x), a Cell of the user: it has a SymbolTree of its own
    CellContainer = 10       # y = self.seq(x), blocks = self.blocks: a SequentialCell, or a row of Cells
    MathOps = 11             # y = x + z, y = not x, y = x > z
    ControlFlow = 12         # if, for, while, and each else


class ValueType(Enum):
    """What a ScopedValue is."""
    ConstantValue = 0        # None, a number, a str
    TupleValue = 20
    ListValue = 21
    DictValue = 22
    NamingValue = 40         # the name of a variable or attribute
    CustomObjValue = 41      # any other object
    UnsupportedValue = 50    # an expression


class ScopedValue:
    """A value in source code: a variable, an attribute or a constant.

    arg_type : a ValueType
    scope    : what stands before the dot: "self" of self.conv; "" for none
    value    : the name, or the constant
    raises   : ArgumentError (a TypeError) for an arg_type or scope of another kind
    """

    def __init__(self, arg_type: ValueType, scope: str = "", value: Any = None) -> None:
        check("arg_type", arg_type, ValueType)
        check("scope", scope, str)
        self.type, self.scope, self.value = arg_type, scope, value

    @classmethod
    def create_variable_value(cls, value: Any) -> ScopedValue:
        """The ScopedValue of a Python object, which becomes a constant of the code or an attribute of the network."""
        make = cls.create_variable_value
        if isinstance(value, PLAIN):
            return cls(ValueType.ConstantValue, "", value)
        if type(value) is tuple:
            return cls(ValueType.TupleValue, "", tuple([make(item) for item in value]))
        if type(value) is list:
            return cls(ValueType.ListValue, "", [make(item) for item in value])
        if type(value) is dict:
            return cls(ValueType.DictValue, "", {make(key): make(item) for key, item in value.items()})
        return cls(ValueType.CustomObjValue, "", value)

    @classmethod
    def create_naming_value(cls, name: str, scope: str = "") -> ScopedValue:
        """The ScopedValue of a variable `name`, or of the attribute `scope`.`name`. raises : ArgumentError for what is no str"""
        check("name", name, str)
        return cls(ValueType.NamingValue, scope, name)

    @staticmethod
    def create_name_values(names: Sequence[str], scopes: Sequence[str] | None = None) -> list[ScopedValue]:
        """A naming value for each of `names`. scopes : as many, or None. raises : ArgumentError, ValueRangeError"""
        check_all("names", names, str)
        check_all("scopes", scopes or [], str)
        if scopes is not None and len(scopes) != len(names):
            raise ValueRangeError(f"create_name_values: {len(names)} names and {len(scopes)} scopes")
        return [ScopedValue.create_naming_value(name, scope) for name, scope in zip(names, scopes or [""] * len(names))]

    def __str__(self) -> str:
        if self.type is ValueType.NamingValue:
            return f"{self.scope}.{self.value}" if self.scope else self.value
        return str(self.value)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScopedValue) and (self.type, self.scope) == (other.type, other.scope) and (
            self.value is other.value or self.type is not ValueType.CustomObjValue and self.value == other.value)

    def __hash__(self) -> int:
        return hash((self.type, self.scope, str(self.value)))


def value_of(tree: ast.expr) -> ScopedValue:
    """The ScopedValue of an expression."""
    path = dotted(tree)
    if path is not None:
        scope, _, name = path.rpartition(".")
        return ScopedValue(ValueType.NamingValue, scope, name)
    if isinstance(tree, ast.Constant):
        kind = ValueType.ConstantValue if isinstance(tree.value, PLAIN) else ValueType.CustomObjValue
        return ScopedValue(kind, "", tree.value)
    if isinstance(tree, (ast.Tuple, ast.List)):
        items = [value_of(item) for item in tree.elts]
        if all(item.type is not ValueType.UnsupportedValue for item in items):
            return ScopedValue(ValueType.TupleValue, "", tuple(items)) if isinstance(tree, ast.Tuple) else \
                ScopedValue(ValueType.ListValue, "", items)
    return ScopedValue(ValueType.UnsupportedValue, "", ast.unparse(tree))


def expression_of(value: ScopedValue | str) -> ast.expr:
    """The expression that a ScopedValue, or the dotted name of a variable, stands for.

    raises : ArgumentError for another kind, ValueRangeError for a str that is no expression
    """
    if isinstance(value, ScopedValue) and value.type is not ValueType.NamingValue:
        if value.type is ValueType.TupleValue:
            return ast.Tuple([expression_of(item) for item in value.value], ast.Load())
        if value.type is ValueType.ListValue:
            return ast.List([expression_of(item) for item in value.value], ast.Load())
        if value.type is ValueType.DictValue:
            return ast.Dict([expression_of(key) for key in value.value], [expression_of(item) for item in value.value.values()])
        if value.type is not ValueType.UnsupportedValue:
            return ast.Constant(value.value)
    check("a value", value, (ScopedValue, str))
    try:
        body = syntax_tree(str(value).strip()).body
    except SyntaxError:
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ValueRangeError(f"rewrite: {str(value)!r} is not the name of a variable")
    return body[0].value


def dotted(tree: ast.expr) -> str | None:
    """"self.conv" of its expression; None for what is no chain of names."""
    names = []
    while isinstance(tree, ast.Attribute):
        names.append(tree.attr)
        tree = tree.value
    return ".".join([tree.id, *reversed(names)]) if isinstance(tree, ast.Name) else None


def check(name: str, value: Any, kinds: type | tuple[type, ...]) -> None:
    """raises : ArgumentError where `value` is not one of `kinds`"""
    if not isinstance(value, kinds) or isinstance(value, bool) and kinds is int:
        wanted = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise ArgumentError(f"rewrite: {name} is a {wanted}, not {type(value).__name__}")


def check_all(name: str, values: Any, kinds: type | tuple[type, ...]) -> None:
    """raises : ArgumentError where `values` is no list or tuple of `kinds`"""
    check(name, values, (list, tuple))
    for value in values:
        check(f"an item of {name}", value, kinds)
