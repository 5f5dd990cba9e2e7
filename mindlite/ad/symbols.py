"""Sizes in a reverse graph: a symbol that a loop's body or a recursive call defines has another value at each iteration.

    ▶body: .. x: f32[S] .. push x, push S            ◀body: pop S', pop x: f32[S'] ..

The reverse graph therefore renames such a symbol, and pops its value before the values whose shapes use it.
"""
from __future__ import annotations

from typing import Any

from ..common.dim import Dim, Symbol, substitute, symbols_of
from ..mindir.abstract import AbstractTensor, Abstract, map_dims, symbols_of_abstract
from ..mindir.control import undefined
from ..mindir.graph import FuncGraph


def changing_sizes(body: Any) -> frozenset[Symbol]:
    """The Symbols of a loop's body whose value changes between iterations: a parameter's size is a Symbol, and the
    next iteration has another size. So is a size of a state without a value before the loop."""
    found = set()
    for parameter, after in zip(body.parameters, body.outputs):
        if parameter.abstract != after.abstract:
            found |= symbols_of_abstract(parameter.abstract) - symbols_kept(parameter.abstract, after.abstract)
    return frozenset(found)


def symbols_kept(before: Any, after: Any) -> set[Symbol]:
    """The Symbols of the sizes that are the same in both abstracts."""
    if not isinstance(before, AbstractTensor) or not isinstance(after, AbstractTensor):
        return set()
    return {s for a, b in zip(before.shape, after.shape) if a == b for s in symbols_of(a)}


class Sizes:
    """The renaming of one graph's own symbols: those that its operands, `given`, do not have, or that a loop's body gives
    another value at the next iteration (`changing_sizes`). Others are renamed as in the graphs around it.

    top: the graph's symbols are known everywhere below and keep their names.
    """

    def __init__(self, graph: FuncGraph, parent: Any, top: Any, given: Any = (), changing: Any = frozenset()) -> None:
        self.parent = parent
        self.fresh: dict = {}
        self.changing = changing                             # under the same name the graph around has the size after the loop
        outside = frozenset(s for node in given for s in symbols_of_abstract(node.abstract)) - changing
        self.defined = frozenset() if top else frozenset(
            s for node in graph.parameters + graph.nodes if getattr(node, "fn", None) is not undefined
            for s in symbols_of_abstract(node.abstract)) - outside                  # no size of undefined is a value

    def rename(self, symbol: Symbol) -> Symbol:
        """The symbol of the reverse graph that has the value of `symbol`."""
        if self.parent is not None and symbol not in self.changing and (symbol not in self.defined or self.parent.owns(symbol)):
            return self.parent.rename(symbol)
        if symbol not in self.defined:
            return symbol
        if symbol not in self.fresh:
            self.fresh[symbol] = Symbol(f"{symbol.name}'", *symbol.bounds())
        return self.fresh[symbol]

    def owns(self, symbol: Symbol) -> bool:
        """True if this graph or one around it gives `symbol` its value."""
        return symbol in self.defined or (self.parent is not None and self.parent.owns(symbol))

    def renamed(self, value: Any) -> Any:
        """An abstract, or an attribute, with the Dims in it renamed."""
        def rename(size):
            names = {s: self.rename(s) for s in symbols_of(size)}
            return substitute(size, {old: new.dim for old, new in names.items() if new is not old})
        return map_dims(rename, value)

    def opened(self, abstract: Any) -> Abstract:
        """A (renamed) abstract with new symbols for sizes that use own ones: a parameter, before anything is popped."""
        if not isinstance(abstract, AbstractTensor):
            return abstract
        own = set(self.fresh.values())
        return AbstractTensor(abstract.dtype, tuple(
            Symbol(lo=0).dim if isinstance(s, Dim) and symbols_of(s) & own else s for s in abstract.shape))
