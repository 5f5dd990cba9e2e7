"""Expressions in place of others: the walk that the rewrites of kernels share."""
from typing import Any

from ..mindir.scalar import ScalarExpr, rebuild, walk


class Rewriter:
    """Expressions in place of others, each made once, its parts first; a subclass says what `make` makes of one.

    memo  : {expression: what stands for it}
    given : {expression: CNode}, notes of the expressions before; `notes` has them for those that are made
    """

    def __init__(self, given: dict, notes: dict) -> None:
        self.memo: dict = {}
        self.given, self.notes = given, notes

    def __call__(self, value: Any) -> Any:
        for part in walk([value], self.memo):
            made = self.memo[part] = self.make(part)
            if part in self.given:
                self.notes.setdefault(made, self.given[part])
        return self.memo[value]

    def make(self, expr: Any) -> Any:
        """What stands for an expression of whose parts the memo knows: the same with what stands for them."""
        return rebuild(expr, *[self.field(x) for x in expr.fields])

    def field(self, value: Any) -> Any:
        """What stands for a field of an expression."""
        if isinstance(value, tuple):
            return tuple([self.field(x) for x in value])
        return self.memo.get(value, value) if isinstance(value, ScalarExpr) else value
