"""Primitives of the graph itself: tuples, control flow, transformation markers, tapes. Rules: `infer`, `ad`, `compile`.

    cond(pred, *operands, true=g, false=h)                 (..) the results of g or h
    while_loop(*state, *invariants, cond=c, body=b, invariants=k)     s = state; while c(*s, *inv): s = b(*s, *inv); (..) s
    call(*operands, graph=g)                               (..) recursion
    custom_vjp(*operands, graph=g, bprop=h)                (..) the results of g; its gradient is h
    gate(*values, *captured, bprop=h)                      (..) the values, whose gradients pass the hook h
"""
from __future__ import annotations

from typing import Any

from ..common.annotations import Function
from .abstract import Abstract, AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from .graph import CNode, FuncGraph
from .primitive import PRIMITIVES, Primitive, infer_rule, parameters_of

TOKEN = AbstractScalar(bool)                         # what ties a gate to a port: a number, which has no gradient


def _control(name: str, declared: Function, doc: str, traits: tuple[str, ...] = ("control",)) -> Primitive:
    made: Primitive[..., Any] = Primitive(name, *parameters_of(declared), traits=traits, doc=doc)
    PRIMITIVES[name] = made
    return made


make_tuple = _control("make_tuple", lambda *elements: 0, "A tuple of values.")
tuple_getitem = _control("tuple_getitem", lambda x, *, index: 0, "Element `index` of a node with several results.")
cond = _control("cond", lambda pred, *operands, true, false: 0, "true(*operands) if pred else false(*operands); a tuple.")
while_loop = _control("while_loop", lambda *operands, cond, body, invariants, remat=None: 0, """\
The state after the loop; the last `invariants` operands are passed to both graphs unchanged.

remat: "sqrt": reverse mode keeps the state at some iterations, and runs those between again (`ad/remat.py`).
""")
call = _control("call", lambda *operands, graph: 0, "graph(*operands), not inlined: recursion; a tuple.")
J = _control("J", lambda *operands, graph, wrt, seeds, mode: 0, """Marker for a derivative of `graph`, replaced by ad.

mode "vjp": operands are the primals and one cotangent for each output numbered in `seeds` (the others count as zero);
            the results are graph's outputs, then the gradient of each parameter numbered in `wrt`.
mode "recompute": operands as for "vjp"; the results are the gradients only, and the forward values are computed again.
mode "jvp": operands are the primals and one tangent for each parameter in `wrt`; seeds is ();
            the results are graph's outputs, then their tangents.
mode "pull", "push": as "vjp" and "jvp" where the graph has run before: the results are the gradients, or tangents, only, and no
            effect of the graph is repeated.
""")
Vmap = _control("Vmap", lambda *operands, graph, in_axes, out_axes, size: 0, """\
Marker for `graph` mapped over an axis of its operands, replaced by vmap.

in_axes: per operand an axis or None; out_axes: per output an axis or None (the result does not depend on the mapped axis);
size: the mapped axis' size, int or Dim. graph's parameters are typed without the axis.
""")
tape_new = _control("tape_new", lambda: 0, "An empty tape.", ("control", "tape"))
tape_push = _control("tape_push", lambda tape, *values: 0, "The tape with the values on top.", ("control", "tape"))
tape_pop = _control("tape_pop", lambda tape, *, abstracts: 0,
                    "(tape without its top, *values): what the last push put there; abstracts are theirs.", ("control", "tape"))
custom_vjp = _control("custom_vjp", lambda *operands, graph, bprop: 0, """\
graph(*operands), a tuple, whose gradient is written by the user.

bprop: a graph (*operands, *outs, *douts) -> one cotangent per operand, in the operands' order; where it is of another
       dtype than the operand, or the operand carries no gradient, it is not read.
""")
port = _control("port", lambda *values: 0, """\
The values, and then a token: the gate that is given it calls hooks on the gradients of these values too.
""")
gate = _control("gate", lambda *operands, count, bprop, after=None, otherwise=None, whole=False: 0, """\
The first `count` operands, whose gradients a user's hooks see and may replace.

The other operands are what the hooks read; with `after`, the last is the token of a port. Graphs for the way back:
bprop: (*cotangents, *read) -> the cotangents that go on, of the same types
after: (*those that went on, *cotangents of the port's values, *read) -> the cotangents that go on from the port
otherwise: (*those that went on, *read) -> (): in place of `after`, where nothing is differentiated by the port's values
whole: gradients of gradients pass too: who reads the value on the way back reads what comes out of the gate
""")
segment = _control("segment", lambda *operands, function, abstracts, reason, keeps=True, weights=(): 0, """\
A Python call between native code (JIT Fallback).

function(*values) is called with Tensors, numbers and objects; it gives values that fit `abstracts`. reason: why it fell back.
keeps  : False where nothing that it is given stays anywhere or comes back (print): no gradient passes it
weights: Parameters that the call reads by itself; the last operands are their values, handed over without a copy
""", ("control", "effect"))
check = _control("check", lambda condition, *operands, error, again=False: 0, """\
Stop with error(*operand values), before anything after it runs, unless condition holds.

again: Python is to run the call instead, where it can; it sees the values, and raises its own error.
""", ("control", "effect"))
undefined = _control("undefined", lambda *, abstract: 0, "A value that is never used: the other side of a branch that leaves.")


def policy_of(node: CNode) -> dict:
    """The attributes of a while_loop that say how it is differentiated: a loop made of it has them too."""
    return {"remat": node.attrs["remat"]} if "remat" in node.attrs else {}


@infer_rule(make_tuple)
def make_tuple_infer(*elements: Abstract) -> AbstractTuple:
    return AbstractTuple(tuple(elements))


@infer_rule(tuple_getitem)
def tuple_getitem_infer(x: Any, *, index: int) -> Abstract:
    return x.elements[index]


@infer_rule(cond)
def cond_infer(pred: Abstract, *operands: Abstract, true: FuncGraph, false: FuncGraph) -> AbstractTuple:
    return true.output.abstract


@infer_rule(while_loop)
def while_loop_infer(*operands: Abstract, cond: FuncGraph, body: FuncGraph, invariants: int, remat: Any = None) -> AbstractTuple:
    return body.output.abstract


@infer_rule(call)
def call_infer(*operands: Abstract, graph: FuncGraph) -> Abstract:
    return graph.output.abstract


@infer_rule(custom_vjp)
def custom_vjp_infer(*operands: Abstract, graph: FuncGraph, bprop: FuncGraph) -> Abstract:
    return graph.output.abstract


@infer_rule(J)
def J_infer(*operands: Abstract, graph: FuncGraph, wrt: tuple[int, ...], seeds: tuple[int, ...], mode: str) -> AbstractTuple:
    outs, gradients = tuple(node.abstract for node in graph.outputs), tuple(graph.parameters[i].abstract for i in wrt)
    return AbstractTuple({"vjp": outs + gradients, "recompute": gradients, "pull": gradients, "jvp": outs + outs,
                          "push": outs}[mode])


@infer_rule(Vmap)
def Vmap_infer(*operands: Any, graph: FuncGraph, in_axes: tuple, out_axes: tuple, size: Any) -> Any:
    def with_axis(x, axis):
        if axis is None:
            return x
        axis = axis % (x.ndim + 1)
        return AbstractTensor(x.dtype, x.shape[:axis] + (size,) + x.shape[axis:])
    return AbstractTuple(tuple(with_axis(node.abstract, axis) for node, axis in zip(graph.outputs, out_axes)))


@infer_rule(tape_new)
def tape_new_infer() -> AbstractTape:
    return AbstractTape()


@infer_rule(tape_push)
def tape_push_infer(tape: Abstract, *values: Abstract) -> AbstractTape:
    return AbstractTape()


@infer_rule(tape_pop)
def tape_pop_infer(tape: Abstract, *, abstracts: tuple[Abstract, ...]) -> AbstractTuple:
    return AbstractTuple((AbstractTape(),) + tuple(abstracts))


@infer_rule(port)
def port_infer(*values: Abstract) -> Any:
    return AbstractTuple((*values, TOKEN))


@infer_rule(gate)
def gate_infer(*operands: Abstract, count: int, bprop: Any, after: Any = None, otherwise: Any = None,
               whole: bool = False) -> Any:
    return AbstractTuple(tuple(operands[:count]))


@infer_rule(segment)
def segment_infer(*operands: Abstract, function: Function, abstracts: tuple[Abstract, ...], reason: str,
                  keeps: bool, weights: tuple[Any, ...]) -> AbstractTuple:
    return AbstractTuple(tuple(abstracts))


@infer_rule(check)
def check_infer(condition: Abstract, *operands: Abstract, error: Function, again: bool = False) -> AbstractTuple:
    return AbstractTuple(())


@infer_rule(undefined)
def undefined_infer(*, abstract: Abstract) -> Abstract:
    return abstract
