"""Batching rules of control flow and tapes: rule(batch, node, args, dims) -> [(result, dim)].

    cond(p, x; t, f), p mapped             where(p, vmap t(lent(p, x)), vmap f(lent(not p, x))), result by result
    while_loop(s; c, b), c(s) mapped       a = c(s);  while any(a):  s = where(a, vmap b(lent(a, s)), s);  a = c(s)
    call(x; g)                             call(x; vmap g), one for each choice of mapped operands, so recursion ends

What is lent stands in `masking.py`. A side of a branch in which a loop is runs if any element wants it.

A tape holds every tensor with its batch axis in front, mapped or not, so that who pops knows what was pushed; only
integers and bools without axes (counts, predicates) and what Python code has recorded stand on it as they are, and must
not be mapped.
"""
from __future__ import annotations

from typing import Any

from .. import ops
from ..common import dtype as dt
from ..mindir.abstract import Abstract, AbstractAny, AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.builder import append, written
from ..mindir.control import (call, check, cond, custom_vjp, gate, policy_of, port, tape_pop, tape_push,
                              while_loop)
from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import inline
from ..ops.basic import move_batch_axis, reduce_sum
from ..ops.creation import of_type
from ..ops.reduction import reduce_all
from ..ops.scalar import tensor_to_scalar
from .batch import Batch, Batched, CannotMask, as_batch, batched_abstract
from .masking import choose, is_linear, lend, shield, wanted


def _in_front(args: Any, dims: Any) -> tuple[list, list]:
    """The operands with their batch axes in front, and the dims they then have."""
    return [move_batch_axis(x, dim) for x, dim in zip(args, dims)], [None if dim is None else 0 for dim in dims]


def _abstract(batch: Batch, node: CNode, dims: Any) -> AbstractTuple:
    return AbstractTuple(tuple(batched_abstract(e, dim, batch.size) for e, dim in zip(node.abstract.elements, dims)))


def _check_maskable(node: CNode, *graphs: Any) -> None:
    """raises : CannotMask where running a graph for an element that does not want it could be seen or never end."""
    if any(isinstance(x.abstract, AbstractTape) for x in node.args):
        raise CannotMask(f"a tape below a {node.fn.name} that each element decides")
    for graph in dict.fromkeys(g for start in graphs for g in start.reachable()):
        for inner in graph.nodes:
            if inner.fn is call or "effect" in inner.fn.traits and not _is_retry(inner):
                raise CannotMask(f"{inner.fn.name} below a {node.fn.name} that each element decides")


def _is_retry(node: CNode) -> bool:
    """True for a check that only asks Python to run the call: where it fails for nothing, nothing is wrong."""
    return node.fn is check and node.attrs.get("again", False)


def batch_check(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """A check for all elements at once."""
    if not _is_retry(node) or len(args) > 1:
        raise CannotMask("check has an effect for each element")
    condition, _ = _in_front(args, dims)
    with batch.builder.at(node.origin):
        holds = tensor_to_scalar(reduce_all(as_batch(condition[0], 0, batch.size), axis=(0,), keepdims=False))
    batch.builder.graph.add(check, batch.builder.lift(holds), abstract=node.abstract, origin=node.origin, **node.attrs)
    return []


def batch_cond(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """One branch for all, or both and a choice for each element."""
    args, dims = _in_front(args, dims)
    pred, *operands = args
    sides = [node.attrs["true"], node.attrs["false"]]
    if dims[0] is None:
        found = [batch.below(side, dims[1:])[1] for side in sides]
        want = [any(dim is not None for dim in pair) for pair in zip(*found)]
        (true, out), (false, _) = [batch.below(side, dims[1:], want) for side in sides]
        made = append(cond, pred, *operands, true=true, false=false, abstract=_abstract(batch, node, out))
        return list(zip(made, out))
    _check_maskable(node, *sides)
    mask = batch.builder.lift(ops.not_equal(pred, 0) if pred.dtype is not dt.bool_ else pred)
    pairs = zip(*[_side(batch, node, side, chosen, operands, dims[1:])
                  for side, chosen in zip(sides, (mask, batch.builder.lift(ops.logical_not(mask))))])
    return [(choose(mask, true, false, batch.size), 0) for true, false in pairs]


def _side(batch: Batch, node: CNode, side: Any, chosen: Any, operands: Any, dims: Any) -> Any:
    """The results of one side of a branch for the elements chosen, anything for the others; batch axes in front."""
    def emit(values):
        made = Batch(side, batch.size, batch.control, batch.calls).emit(values, dims)
        return [as_batch(batch.builder.lift(x), dim, batch.size) for x, dim in made]
    if is_linear(side):
        return emit(operands)
    if not any(inner.fn is while_loop for graph in side.reachable() for inner in graph.nodes):
        return emit(shield(chosen, lend(chosen, operands, dims, batch.size), dims))
    kinds = [batched_abstract(e, 0, batch.size) for e in node.abstract.elements]
    run = batch.below(side, dims, [True] * len(kinds))[0]
    names, given = zip(("chosen", chosen.abstract), *[(p.name, p.abstract) for p in run.parameters])
    return append(cond, wanted(chosen), chosen, *operands, abstract=AbstractTuple(tuple(kinds)),
                  true=written(run.name, names, given, by="vmap", write=lambda target, chosen, *values:
                               inline(target, run, lend(chosen, values, dims, batch.size))),
                  false=written(f"{run.name}/nobody", names, given, by="vmap", write=lambda target, *_: [
                      of_type(kind) for kind in kinds]))


def batch_while(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """One condition for all, or iterations as long as any element wants one."""
    args, dims = _in_front(args, dims)
    test, body, k = node.attrs["cond"], node.attrs["body"], node.attrs["invariants"]
    n = len(args) - k
    state, masked = dims[:n], False
    while True:
        if not masked and batch.below(test, state + dims[n:])[1][0] is not None:
            _check_maskable(node, test, body)
            masked = True
        after = batch.below(body, state + dims[n:])[1]
        grown = [0 if masked or 0 in pair else None for pair in zip(state, after)]
        if grown == state:
            break
        state = grown
    tests = batch.below(test, state + dims[n:], [masked])[0]
    iterations = batch.below(body, state + dims[n:], [dim is not None for dim in state])[0]
    lift = batch.builder.lift
    args = [as_batch(lift(x), have, batch.size) if have is None and dim is not None else x
            for x, have, dim in zip(args, dims, state + dims[n:])]
    if not masked:
        made = append(while_loop, *args, cond=tests, body=iterations, invariants=k, **policy_of(node),
                      abstract=_abstract(batch, node, state))
        return list(zip(made, state))
    mask, linear = AbstractTensor(dt.bool_, (batch.size,)), is_linear(body)

    def masked_iteration(target, active, *values):
        given = values if linear else lend(active, values, state + dims[n:], batch.size)
        new = [choose(active, x, old, batch.size) for x, old in zip(inline(target, iterations, given), values)]
        return [inline(target, tests, [*new, *values[n:]])[0], *new]

    def any_active(target, active, *values):
        return [wanted(active)]
    names = ["active", *[p.name for p in body.parameters]]
    kinds = [mask, *[p.abstract for p in iterations.parameters]]
    first = inline(batch.builder.graph, tests, [lift(x) for x in args])[0]
    made = append(while_loop, first, *args, invariants=k, **policy_of(node),
                  cond=written(f"{tests.name}/any", names, kinds, any_active, by="vmap"),
                  body=written(iterations.name, names, kinds, masked_iteration, by="vmap"),
                  abstract=AbstractTuple((mask, *_abstract(batch, node, state).elements)))
    return list(zip(made[1:], state))


def batch_call(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """A call of the batched graph, all of whose results are batched."""
    args, dims = _in_front(args, dims)
    graph, out = node.attrs["graph"], [None if isinstance(e, AbstractTape) else 0 for e in node.abstract.elements]
    key = graph, tuple(dims)
    if key not in batch.calls:
        target = batch.calls[key] = FuncGraph(f"vmap {graph.name}", graph.origin)
        batch.fill(target, graph, dims, [dim is not None for dim in out])
    made = append(call, *args, graph=batch.calls[key], abstract=_abstract(batch, node, out))
    return list(zip(made, out))


def batch_custom(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """The batched graph with the batched bprop, which adds up the gradients of operands that all elements share."""
    args, dims = _in_front(args, dims)
    n = len(node.abstract.elements)
    graph, out = batch.below(node.attrs["graph"], dims, [True] * n)
    given = dims + out + out
    inner, _ = batch.below(node.attrs["bprop"], given, [True] * len(dims))

    def summed(target, *values):
        return [reduce_sum(g, axis=0) if dim is None and isinstance(p.abstract, AbstractTensor) else g
                for g, dim, p in zip(inline(target, inner, values), dims, node.args)]
    names, kinds = zip(*[(p.name, p.abstract) for p in inner.parameters])
    bprop = written(inner.name, names, kinds, summed, by="vmap")
    made = append(custom_vjp, *args, graph=graph, bprop=bprop, abstract=_abstract(batch, node, out))
    return list(zip(made, out))


def batch_port(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """All values have the batch axis, so that the gate behind knows; the token has none."""
    args = [as_batch(batch.builder.lift(x), dim, batch.size) for x, dim in zip(*_in_front(args, dims))]
    dims = [0] * len(args) + [None]
    return list(zip(append(port, *args, abstract=_abstract(batch, node, dims)), dims))


def batch_gate(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """Every element passes the hooks, and all see it with their own gradient."""
    args, dims = _in_front(args, dims)
    attrs, count, out = node.attrs, node.attrs["count"], [0] * node.attrs["count"]
    ties = attrs["after"] is not None
    read = dims[count:len(dims) - ties]
    batched = {"bprop": batch.below(attrs["bprop"], out + read, [True] * count)[0]}
    if ties:
        wanted = len(attrs["after"].outputs)
        batched["after"] = batch.below(attrs["after"], out + [0] * wanted + read, [True] * wanted)[0]
        batched["otherwise"] = batch.below(attrs["otherwise"], out + read)[0]
    args[:count] = [as_batch(batch.builder.lift(x), dim, batch.size) for x, dim in zip(args, dims[:count])]
    made = append(gate, *args, **{**attrs, **batched}, abstract=_abstract(batch, node, out))
    return list(zip(made, out))


def _stays(abstract: Abstract) -> bool:
    """True for what stands on a tape without a batch axis."""
    return isinstance(abstract, (AbstractAny, AbstractScalar)) or (
        isinstance(abstract, AbstractTensor) and abstract.shape == () and abstract.dtype.kind in "bui")


def batch_push(batch: Batch, node: CNode, args: Any, dims: Any) -> Batched:
    """All tensors go onto the tape with a batch axis."""
    values = []
    for x, dim, of in zip(args[1:], dims[1:], node.args[1:]):
        if _stays(of.abstract) and dim is not None:
            raise CannotMask("a count or a predicate on a tape that differs between elements")
        values.append(x if _stays(of.abstract) else as_batch(batch.builder.lift(x), dim, batch.size))
    return tape_push(args[0], *values), None


def batch_pop(batch: Batch, node: CNode, args: Any, dims: Any) -> list[Batched]:
    """All tensors come from the tape with a batch axis."""
    abstracts = node.attrs["abstracts"]
    out = [None if _stays(a) else 0 for a in abstracts]
    made = tape_pop(args[0], abstracts=tuple(batched_abstract(a, dim, batch.size) for a, dim in zip(abstracts, out)))
    return list(zip(made, [None, *out]))


CONTROL = {check: batch_check, cond: batch_cond, while_loop: batch_while, call: batch_call, custom_vjp: batch_custom,
           gate: batch_gate, port: batch_port, tape_push: batch_push, tape_pop: batch_pop}
