"""The reference meaning of a typed graph: every operator by its eval rule, over NumPy arrays, one node after the other.

    run(graph, x, y)  ->  (out, ...)                slow and plain; compilers and transformations are tested against it

Symbols get their values where they first appear: from the shapes of parameters, from sizes that are passed as numbers,
and from the results of operators whose size depends on data. A tape is a linked list, so that it is a value like any other.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common.dim import Dim, Size, Symbol, evaluate, product, symbols_of
from ..common.errors import ArgumentError, InternalError, MindliteError
from ..common.tensor import Tensor
from .abstract import Abstract, AbstractScalar, AbstractTensor, AbstractTuple, map_dims
from .control import (J, Vmap, call, check, cond, custom_vjp, gate, make_tuple, port, segment, tape_new, tape_pop, tape_push,
                      tuple_getitem, undefined, while_loop)
from .graph import AnfNode, CNode, FuncGraph, ValueNode
from .primitive import eval_rule


def run(graph: FuncGraph, *arrays: int | np.ndarray | Sequence[int], symbols: Any = None) -> tuple[int | np.ndarray, ...]:
    """The outputs of a typed graph, a tuple of ndarrays and numbers.

    arrays : one per parameter; those that are left out at the end are taken from the parameters' defaults
    symbols: {Symbol: int} for sizes that no parameter shows
    raises : ArgumentError for a wrong number of arrays, InternalError for a node without a meaning of its own (J, Vmap)
    """
    rest = graph.parameters[len(arrays):]
    if len(arrays) > len(graph.parameters) or any(p.default is None for p in rest):
        raise ArgumentError(f"{graph.name} takes {len(graph.parameters)} arrays, {len(arrays)} were given")
    values = list(arrays) + [p.default for p in rest]
    return _call(graph, [_plain(v, p.abstract) for v, p in zip(values, graph.parameters)], dict(symbols or {}))


def _plain(value: Any, abstract: Abstract) -> Any:
    if isinstance(value, Tensor):
        return value.host_array
    if isinstance(abstract, AbstractTensor):
        return np.asarray(value, abstract.dtype.numpy)
    return value


def _call(graph: FuncGraph, values: Any, symbols: dict) -> tuple[Any, ...]:
    symbols = dict(symbols)
    _bind_all([p.abstract for p in graph.parameters], values, symbols)
    env: dict = dict(zip(graph.parameters, values))
    for node in graph.nodes:
        args = [_read(env, a, symbols) for a in node.args]
        try:
            env[node] = _apply(node, args, symbols)
        except MindliteError as error:
            raise error.at(node.origin.location)
        _bind_all([node.abstract], [env[node]], symbols)
    return tuple([_read(env, output, symbols) for output in graph.outputs])


def _read(env: dict[AnfNode, Any], node: AnfNode, symbols: dict[Symbol, int]) -> Any:
    if not isinstance(node, ValueNode):
        return env[node]
    value = node.value
    if isinstance(value, Dim):
        return evaluate(value, symbols)
    return value.host_array if isinstance(value, Tensor) else value


def _apply(node: CNode, args: Sequence[Any], symbols: dict[Symbol, int]) -> Any:
    prim: Any = node.fn
    attrs = node.attrs
    if prim in _CONTROL:
        return _CONTROL[prim](args, attrs, symbols)
    if prim in (J, Vmap):
        raise InternalError(f"{prim.name} is a marker: expand it before the graph is run")
    if prim not in eval_rule:
        raise InternalError(f"{prim.name} has no eval rule")
    out = eval_rule[prim](*args, **{name: map_dims(lambda size: evaluate(size, symbols), value) for name, value in attrs.items()})
    return out if isinstance(out, tuple) else _shaped(out)


def _shaped(out: np.ndarray) -> np.ndarray:
    return np.asarray(out) if isinstance(out, np.generic) else out


# ---------------------------------------------------------------- control flow

def _run_cond(args: Sequence[bool | np.ndarray], attrs: dict[str, FuncGraph], symbols: dict) -> Any:
    pred, *operands = args
    return _call(attrs["true"] if bool(pred) else attrs["false"], operands, symbols)


def _run_while(args: Sequence[np.ndarray], attrs: dict[str, Any], symbols: dict) -> Any:
    n = len(args) - attrs["invariants"]
    state, invariants = tuple(args[:n]), tuple(args[n:])
    while bool(_call(attrs["cond"], state + invariants, symbols)[0]):
        state = _call(attrs["body"], state + invariants, symbols)
    return state


def _run_pop(args: Sequence[Any], attrs: dict[str, tuple[Abstract, ...]], symbols: dict) -> tuple[Any, ...]:
    if args[0] is None:
        raise InternalError("tape_pop of an empty tape")
    below, values = args[0]
    if len(values) != len(attrs["abstracts"]):
        raise InternalError(f"tape_pop of {len(attrs['abstracts'])} values where {len(values)} were pushed")
    return (below, *values)


def _run_segment(args: Sequence[np.ndarray], attrs: dict[str, Any], symbols: dict) -> tuple[np.ndarray, ...]:
    made = attrs["function"](*[Tensor.wrap(a) if isinstance(a, np.ndarray) else a for a in args])
    return tuple([_plain(value, abstract) for value, abstract in zip(made, attrs["abstracts"], strict=True)])


def _run_check(args: Sequence[bool | np.ndarray], attrs: dict[str, Any], symbols: dict) -> tuple[Any, ...]:
    if not bool(args[0]):
        raise attrs["error"](*args[1:])
    return ()


def _undefined(args: Any, attrs: dict[str, Any], symbols: dict) -> Any:
    abstract = attrs["abstract"]
    if isinstance(abstract, AbstractTensor):
        return np.zeros([max(evaluate(s, symbols), 0) if symbols_of(s) <= symbols.keys() else 0 for s in abstract.shape],
                        abstract.dtype.numpy)
    return abstract.type(0) if isinstance(abstract, AbstractScalar) else None


_CONTROL = {
    make_tuple: lambda args, attrs, symbols: tuple(args),
    tuple_getitem: lambda args, attrs, symbols: args[0][attrs["index"]],
    cond: _run_cond,
    while_loop: _run_while,
    call: lambda args, attrs, symbols: _call(attrs["graph"], args, symbols),
    custom_vjp: lambda args, attrs, symbols: _call(attrs["graph"], args, symbols),
    port: lambda args, attrs, symbols: (*args, False),
    gate: lambda args, attrs, symbols: tuple(args[:attrs["count"]]),
    tape_new: lambda args, attrs, symbols: None,
    tape_push: lambda args, attrs, symbols: (args[0], tuple(args[1:])),
    tape_pop: _run_pop,
    undefined: _undefined,
    segment: _run_segment,
    check: _run_check,
}


# ---------------------------------------------------------------- symbols

def _bind_all(abstracts: Sequence[Abstract], values: tuple[np.ndarray, ...] | list[Any], symbols: dict[Symbol, int]) -> None:
    """Give the symbols in `abstracts` the sizes of `values`: plain symbols first, then sums with one unknown symbol."""
    pairs = [pair for a, v in zip(abstracts, values) for pair in _sizes(a, v)]
    fresh = {}
    for size, actual in pairs:
        symbol = _plain_symbol(size)
        if symbol is not None:
            fresh[symbol] = actual
    symbols.update(fresh)
    for size, actual in pairs:
        unknown = [s for s in symbols_of(size) if s not in symbols]
        if len(unknown) == 1:
            solved = _solve(size, unknown[0], actual, symbols)
            if solved is not None:
                symbols[unknown[0]] = solved


def _sizes(abstract: Abstract, value: Any) -> list[tuple[Dim, int]]:
    if isinstance(abstract, AbstractTensor) and isinstance(value, np.ndarray):
        return [(size, actual) for size, actual in zip(abstract.shape, value.shape) if isinstance(size, Dim)]
    if isinstance(abstract, AbstractScalar) and isinstance(abstract.dim, Dim):
        return [(abstract.dim, int(value))]
    if isinstance(abstract, AbstractTuple) and isinstance(value, tuple):
        return [pair for a, v in zip(abstract.elements, value) for pair in _sizes(a, v)]
    return []


def _plain_symbol(size: Size) -> Symbol | None:
    found = symbols_of(size)
    if len(found) == 1:
        symbol, = found
        if size == symbol.dim:
            return symbol
    return None


def _solve(size: Size, symbol: Symbol, actual: int, symbols: dict[Symbol, int]) -> int | None:
    """The value of `symbol` with size == actual, where size is linear in it; else None."""
    slope = intercept = 0
    for monomial, c in size.terms.items():
        if monomial == ((symbol, 1),):
            slope = c
        elif all(symbol not in atom.symbols() for atom, _ in monomial):
            intercept += c * product(atom.evaluate(symbols, {}) ** power for atom, power in monomial)
        else:
            return None
    return (actual - intercept) // slope if slope and (actual - intercept) % slope == 0 else None
