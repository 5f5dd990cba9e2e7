"""Complex numbers in kernels: operators on them become operators on pairs of floats, which are the same memory.

    %2 = mul(%z, %w) : c64[N]   ->   %a = as_pairs(%z) : f32[N, 2];  %b = as_pairs(%w);  %c = where([1, 0], a0 b0 - a1 b1, ..)
    %3 = real(%2)                    %2 = as_complex(%c);   %3 = slice(%c)

What is made of pairs is read as pairs, so chains of such operators are ordinary kernels. Operators without a rule here, and
operands of which some are real, stay as they are: Python calls NumPy.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common.location import Origin
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.builder import building
from ..mindir.constraints import collecting
from ..mindir.graph import AnfNode, CNode, FuncGraph
from ..mindir.inline import clone
from ..mindir.primitive import Primitive
from ..ops.arithmetic import add, mul, neg, sub
from ..ops.basic import broadcast_to, cast, reduce_sum, reshape, transpose
from ..ops.complex_numbers import as_complex, as_pairs, conj, imaginary_part, make_complex, part_dtype, real_part
from ..ops.creation import arange
from ..ops.logic import equal, where
from ..ops.slicing import take_range

RULES: dict[Primitive, Callable[..., Any]] = {}          # (the operands, complex ones as pairs, the node) -> the result's pairs


def pairs_of(*primitives: Primitive) -> Callable[[Callable], Callable]:
    """Register what operators are on pairs."""
    def register(rule: Callable) -> Callable:
        RULES.update(dict.fromkeys(primitives, rule))
        return rule
    return register


def complex_as_pairs(graph: FuncGraph) -> FuncGraph:
    """A copy of a typed graph in which operators on complex numbers that have a rule are written on pairs; `graph` itself where
    there is none."""
    if not any(_has_rule(node) for below in graph.reachable() for node in below.nodes):
        return graph
    graph = clone(graph)
    for below in graph.reachable():
        _write(below)
    return graph


def _is_complex(node: AnfNode) -> bool:
    return isinstance(node.abstract, AbstractTensor) and node.abstract.dtype.kind == "c"


def _has_rule(node: CNode) -> bool:
    if node.fn not in RULES or not (_is_complex(node) or _is_complex(node.args[0])):
        return False
    if node.fn in (make_complex, cast):
        return _is_complex(node)                         # of complex numbers cast leaves the real part, with a warning
    scalars = (int, float) if node.fn is mul else ()
    return all(_is_complex(arg) or isinstance(arg.abstract, AbstractScalar) and arg.abstract.type in scalars for arg in node.args)


def _write(graph: FuncGraph) -> None:
    """Write the nodes of one graph."""
    before, graph.nodes = graph.nodes, []
    pairs: dict[AnfNode, Any] = {}
    for node in before:
        if not _has_rule(node):
            graph.nodes.append(node)
            continue
        with collecting(), building(graph, Origin(node.origin.location, node, "pairs")) as builder:
            args = []
            for arg in node.args:
                if _is_complex(arg) and arg not in pairs:
                    pairs[arg] = as_pairs(arg)
                args.append(pairs.get(arg, arg))
            out = builder.lift(RULES[node.fn](*args, node=node))
            if _is_complex(node):
                pairs[node] = out
                node.fn, node.args, node.attrs = as_complex, (out,), {}
            else:
                node.fn, node.args, node.attrs = reshape, (out,), {"shape": tuple(node.abstract.shape)}
        graph.nodes.append(node)


def _first() -> Any:
    """bool[2]: which of a pair is the real part."""
    return equal(arange(2), 0)


def _part(pairs: Any, number: int) -> Any:
    """A part, [.., 1]."""
    return take_range(pairs, pairs.ndim - 1, number, number + 1)


def _beside(x: Any) -> Any:
    """Real numbers with one more axis."""
    return reshape(x, shape=(*x.abstract.shape, 1)) if isinstance(x.abstract, AbstractTensor) else x


@pairs_of(make_complex)
def make_rule(x: Any, y: Any, *, node: CNode) -> Any:
    dtype = part_dtype(node.abstract.dtype)
    parts = [part if isinstance(part.abstract, AbstractScalar) else cast(_beside(part), dtype=dtype) for part in (x, y)]
    return _whole(where(_first(), *parts), node)


def _whole(made: Any, node: CNode) -> Any:
    """Pairs in the result's shape and dtype."""
    shape, dtype = (*node.abstract.shape, 2), part_dtype(node.abstract.dtype)
    made = made if made.abstract.dtype is dtype else cast(made, dtype=dtype)
    return made if made.abstract.shape == shape else broadcast_to(made, shape=shape)


@pairs_of(mul)
def mul_rule(z: Any, w: Any, *, node: CNode) -> Any:
    if any(isinstance(x.abstract, AbstractScalar) for x in (z, w)):
        return mul(z, w)
    a, b, c, d = _part(z, 0), _part(z, 1), _part(w, 0), _part(w, 1)
    return where(_first(), a * c - b * d, a * d + b * c)


@pairs_of(cast)
def cast_rule(x: Any, *, node: CNode) -> Any:
    if _is_complex(node.args[0]):
        return cast(x, dtype=part_dtype(node.abstract.dtype))
    return _whole(where(_first(), cast(_beside(x), dtype=part_dtype(node.abstract.dtype)), 0), node)


@pairs_of(broadcast_to)
def broadcast_rule(z: Any, *, node: CNode) -> Any:
    lead = node.abstract.ndim + 1 - z.ndim
    z = reshape(z, shape=(*[1] * lead, *z.abstract.shape)) if lead else z
    return broadcast_to(z, shape=(*node.attrs["shape"], 2))


RULES.update({
    real_part: lambda z, node: _part(z, 0),
    imaginary_part: lambda z, node: _part(z, 1),
    conj: lambda z, node: where(_first(), z, -z),
    neg: lambda z, node: neg(z),
    add: lambda z, w, node: add(z, w),
    sub: lambda z, w, node: sub(z, w),
    reshape: lambda z, node: reshape(z, shape=(*node.attrs["shape"], 2)),
    transpose: lambda z, node: transpose(z, perm=(*node.attrs["perm"], z.ndim - 1)),
    reduce_sum: lambda z, node: reduce_sum(z, axis=node.attrs["axis"], keepdims=node.attrs["keepdims"]),
})
