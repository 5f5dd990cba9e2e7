"""Reverse mode for one graph: a forward graph that saves what the reverse graph needs.

    g(x, y):  a = tanh(x);  b = a * y;  return b

    ▶g(tape, x, y):  a = tanh(x);  b = a * y;  tape = tape_push(tape, a, y);  return tape, b
    ◀g(tape, db):    tape, a, y = tape_pop(tape);  da = db * y;  dy = db * a;  dx = da * (1 - a*a)
                     return tape, dx, dy

This is the J transform (Pearlmutter & Siskind 2008, "Reverse-mode AD in a functional framework") with the closure of a
backpropagator written as data: ▶g leaves the values on an explicit stack, in the manner of Tapenade's adjoint code
(Hascoet & Pascual 2013, section 4.3), and ◀g is closed. For a graph that is not below control flow the two are one
piece of straight-line code and nothing is pushed: `vjp.py` puts them together.

The reverse is written first. Where a rule reads a value of the forward graph a *hole* stands for it; the holes that are
left after dead code is dropped are what has to be saved, so a value of which only the shape matters is not kept.
"""
from __future__ import annotations

from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.dim import Dim
from ..common.errors import GradientError, InternalError
from ..common.location import NOWHERE, Origin
from ..mindir.abstract import AbstractAny, AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.builder import building, constant
from ..mindir.constraints import collecting, sizes_may_be_asked
from ..mindir.control import gate, make_tuple, tape_new, tape_pop, tape_push, tuple_getitem
from ..mindir.graph import AnfNode, FuncGraph, Parameter, ValueNode
from ..mindir.inline import drop_dead_nodes, inline
from ..mindir.primitive import bprop_rule
from ..ops.creation import of_type
from .activity import Positions, active_nodes, expand_composites, is_differentiable, is_integer, result_of
from .control import FORWARD, PARTS, REVERSE, handed_on
from .reach import FLAG, FLAGGED, Part, Reach, either, flag_of, joined, keeps_zeros
from .symbols import Sizes


class Reverse:
    """The two halves of the derivative of `graph`. Made by `vjp_graph` and, for graphs below control flow, by itself.

    wrt      : numbers of the parameters whose cotangents are wanted
    seeds    : numbers of the outputs that have a cotangent
    calls    : {(graph, wrt, seeds): Reverse} of graphs that are called, so that recursion ties the knot
    parent   : the Reverse of the graph in which this one stands (cond, while_loop), which calls it with `operands`;
               None for a called graph
    top      : True for the graph of `vjp_graph`, whose values need no tape
    changing : of a loop's body, the Symbols that have another value at each iteration
    reaches  : for each seed, does its cotangent reach it (`reach.py`): True, UNKNOWN or FLAGGED. None: all do. Afterwards
               the same of each gradient: True, UNKNOWN, the node of a boolean, or False, as nothing arrives there at all
    forward  : ▶graph(tape, *parameters) -> (tape, *outputs); filled by `finish_forward`
    backward : ◀graph(tape, *given, *douts, *booleans) -> (tape, *gradients, *booleans); filled by `finish_backward`
    """

    def __init__(self, graph: FuncGraph, wrt: Positions, seeds: Any, calls: dict, parent: Any = None, top: Any = False,
                 operands: Any = (), reaches: Any = None, changing: Any = frozenset()) -> None:
        self.wrt, self.seeds, self.calls, self.top = tuple(wrt), tuple(seeds), calls, top
        self.forward = FuncGraph(f"▶{graph.name}", graph.origin)
        self.backward = FuncGraph(f"◀{graph.name}", graph.origin)
        self.handed: list[int] = []                      # of a called graph: the parameters that callers give to the reverse
        if not top and parent is None:
            calls[graph, self.wrt, self.seeds], self.handed = self, handed_on(graph)
        self.graph = expand_composites(graph, self.wrt, (bprop_rule,))
        self.active = active_nodes(self.graph, self.wrt)
        self.sizes = Sizes(self.graph, None if parent is None else parent.sizes, top, operands, changing)
        self.back = FuncGraph(self.backward.name, graph.origin)      # the reverse with holes
        self.holes: dict = {}
        self.cotangents: dict = {}
        self.parts: dict = {}
        self.gated: dict = {}                            # {port: what its gate has left for it}
        self.instead = {result_of(node.args[0]): node for node in self.graph.nodes
                        if node.fn is gate and node.attrs["whole"]}      # {key: the gate that is read for it}
        self.start = Parameter(self.back, "tape", AbstractTape())
        self.tape: AnfNode = self.start
        outputs = [self.graph.outputs[i] for i in self.seeds]
        reaches = [True] * len(outputs) if reaches is None else reaches
        self.douts = [Parameter(self.back, f"d{i}", self.sizes.renamed(node.abstract))
                      for i, node in zip(self.seeds, outputs)]
        flags = {i: Parameter(self.back, f"reaches{i}", FLAG) for i, reach in zip(self.seeds, reaches) if reach is FLAGGED}
        self.flags = list(flags.values())
        # What rules require of sizes follows from what the forward program required: nothing new is to be checked.
        with building(self.back, graph.origin, by="grad") as self.builder, collecting():
            for i, node, dout, reach in zip(self.seeds, outputs, self.douts, reaches):
                self.add(node, dout, flags.get(i, reach), exact=True)
            for node in reversed(self.graph.nodes):
                if node in self.active:
                    self.builder.origin = Origin(node.origin.location, node, "grad")
                    self._reverse(node)
            self.builder.origin = Origin(graph.origin.location, None, "grad")
            parameters = [self.graph.parameters[i] for i in self.wrt]
            self.gradients = [self.cotangent_or_zeros(p) for p in parameters]
            self.reaches = [p.abstract == AbstractTape() or self.reach(p) for p in parameters]
        if top or parent is None:
            self.close(range(0 if top else len(self.reaches)))

    def close(self, flagged: Any) -> None:
        """Give the reverse its results: the gradients, and for those numbered in `flagged` whether they arrive."""
        self.back.set_outputs([self.tape, *self.gradients, *[self.builder.lift(flag_of(self.reaches[k])) for k in flagged]],
                              make_tuple)
        drop_dead_nodes(self.back, tapes=True)
        used = set(self.back.outputs).union(*(node.args for node in self.back.nodes))
        self.holes = {key: hole for key, hole in self.holes.items() if hole in used}
        if self.top:                  # whose reverse came to nothing is not recorded: nothing may stand on a tape for ever
            read = {node for node, part in self.holes if isinstance(part, str)}
            self.parts = {node: part for node, part in self.parts.items() if node in read}

    # ------------------------------------------------------------ what rules and control flow ask for

    def value(self, node: Any, part: Any = None) -> Any:
        """The value of a forward node in the reverse graph. part: which result of it, or a name given by `FORWARD`."""
        if isinstance(node, ValueNode):
            return constant(self.sizes.renamed(node.value)) if isinstance(node.value, Dim) else node
        if part is None:
            node, part = result_of(node)
            if part is None and isinstance(node.abstract, AbstractTuple):
                return tuple(self.value(node, i) for i in range(len(node.abstract.elements)))
            if isinstance(node, ValueNode):
                return self.value(node)
        node, part = (self.instead[node, part], 0) if (node, part) in self.instead else (node, part)
        if (node, part) not in self.holes:
            abstract = _PARTS[part] if isinstance(part, str) else \
                node.abstract if part is None else node.abstract.elements[part]
            abstract = self.sizes.renamed(abstract)
            self.holes[node, part] = Parameter(self.back, name_of(node, part), abstract, node.origin)
        return self.holes[node, part]

    def add(self, node: Any, cotangent: Any, reach: Reach = True, exact: bool = False) -> None:
        """Add to the cotangent of a forward node; nodes that are not active take none. reach, exact: as `reach.Part` has them."""
        if node not in self.active or cotangent is None:
            return
        parts = self.cotangents.setdefault(result_of(node), [])
        for i, part in enumerate(parts):
            if part.reach is reach:
                parts[i] = Part(ops.add(part.value, cotangent), reach, part.exact and exact)
                return
        parts.append(Part(cotangent, reach, exact))

    def part(self, node: Any, index: Any = None) -> Part | None:
        """The cotangent of a forward node (or of its result `index`) and whether it arrives; None where nothing does."""
        key = result_of(node) if index is None else (node, index)
        parts = self.cotangents.get(key)
        if parts is None:
            return None
        self.cotangents[key] = [joined(parts)]
        return self.cotangents[key][0]

    def cotangent(self, node: Any, index: Any = None) -> Any:
        """The cotangent of a forward node (or of its result `index`): None if there is
        none, exactly zero where data decides that none arrives."""
        part = self.part(node, index)
        if part is None:
            return None
        if not part.exact:
            part = Part(part.annulled(), part.reach)
            self.cotangents[result_of(node) if index is None else (node, index)] = [part]
        return part.value

    def reach(self, node: Any, index: Any = None) -> Reach:
        """Whether a cotangent of a node (of its result `index`) arrives: True, UNKNOWN, a boolean, False."""
        part = self.part(node, index)
        return False if part is None else part.reach

    def zeros(self, abstract: Any) -> Any:
        """The zero cotangent of a value of this (forward) abstract."""
        return self.builder.lift(of_type(self.sizes.renamed(abstract)))

    def cotangent_or_zeros(self, node: Any, index: Any = None) -> Any:
        """The cotangent, zeros where nothing has flowed."""
        found = self.cotangent(node, index)
        if found is not None:
            return found
        return self.zeros(node.abstract if index is None else node.abstract.elements[index])

    def below(self, graph: FuncGraph, wrt: Positions, seeds: Any, operands: Any, reaches: Any,
              changing: Any = frozenset()) -> Reverse:
        """The Reverse of a graph that a control node of this one holds, and calls with these operands; to be closed."""
        return Reverse(graph, wrt, seeds, self.calls, parent=self, operands=operands, reaches=reaches, changing=changing)

    def called(self, graph: FuncGraph, wrt: Positions, seeds: Any) -> Reverse:
        """The Reverse of a called graph, made once, with a boolean for every seed and every
        gradient. Inside a recursion its graphs are still empty."""
        found = self.calls.get((graph, tuple(wrt), tuple(seeds)))
        if found is None:
            found = Reverse(graph, wrt, seeds, self.calls, reaches=[FLAGGED] * len(seeds))
            found.finish_backward(found.handed)
            found.finish_forward()
        return found

    def tape_after(self, node: Any) -> Any:
        """The tape as the forward part of `node` left it: threaded below control flow, one for each node at the top."""
        return self.value(node, "tape") if self.top else self.tape

    # ------------------------------------------------------------ the sweep

    def _reverse(self, node: Any) -> None:
        if node.fn in (tuple_getitem, make_tuple):
            return                                       # `result_of` looks through them
        if node.fn in REVERSE:
            REVERSE[node.fn](self, node)
            return
        several = isinstance(node.abstract, AbstractTuple)
        elements = node.abstract.elements if several else (node.abstract,)
        parts = [self.part(node, i if several else None) for i in range(len(elements))]
        if all(part is None for part in parts):
            return
        if node.fn not in bprop_rule:
            if all(is_integer(e) for e in elements):
                return                                   # an order, a bit pattern: integers without a slope
            raise GradientError(f"{node.fn.name} has no gradient", location=node.origin.location)
        reach = either([part.reach for part in parts if part is not None])
        douts = [part and (part.value if part.reach is reach else part.annulled()) for part in parts]
        exact = all(part is None or part.exact or part.reach is not reach for part in parts)
        if several:
            douts = [self.zeros(e) if d is None and is_differentiable(e) else d for d, e in zip(douts, elements)]
        values, start = [self.value(a) for a in node.args], len(self.back.nodes)
        with sizes_may_be_asked(node):
            gradients = bprop_rule[node.fn](*values, out=self.value(node),
                                            dout=tuple(douts) if several else douts[0],
                                            **{name: self.sizes.renamed(v) for name, v in node.attrs.items()})
        gradients = gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        if len(gradients) != len(node.args):
            raise InternalError(f"the bprop rule of {node.fn.name} gives {len(gradients)} gradients for "
                                f"{len(node.args)} operands", location=node.origin.location)
        for arg, gradient in zip(node.args, gradients):
            if gradient is not None and arg in self.active:
                gradient = self._checked(node, arg, self.builder.lift(gradient))
                whole = reach is True or exact and keeps_zeros(gradient, douts, self.back.nodes[start:])
                self.add(arg, gradient, reach, whole)

    def _checked(self, node: Any, arg: Any, gradient: Any) -> Any:
        wanted = self.sizes.renamed(arg.abstract)
        if is_integer(wanted) and isinstance(gradient.abstract, AbstractTensor):
            gradient = self.builder.lift(ops.cast(gradient, dtype=wanted.dtype))
        seen = gradient.abstract
        if not isinstance(seen, AbstractTensor) or seen.dtype is not wanted.dtype or seen.ndim != wanted.ndim or any(
                isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(seen.shape, wanted.shape)):
            raise InternalError(f"the bprop rule of {node.fn.name} gives {seen} for an operand {wanted}",
                                location=node.origin.location)
        return gradient

    # ------------------------------------------------------------ putting the halves together

    def emit_forward(self, target: FuncGraph, env: Any, tape: Any) -> Any:
        """Append the forward nodes to `target`, env holding its parameters; returns the tape at the end.

        At the top (tape None) control nodes get tapes of their own. env then gives every node and part.
        """
        for node in self.graph.nodes:
            args = [a if isinstance(a, ValueNode) else env[a] for a in node.args]
            if node in self.parts:
                with building(target, NOWHERE) as builder:
                    builder.origin = Origin(node.origin.location, node, "grad")
                    made = FORWARD[node.fn](node, args, tape_new() if self.top else tape, self.parts[node])
                names = PARTS[node.fn]
                env.update(zip([(node, name) for name in names], made))
                env[node] = made[len(names):]
                if not self.top and "tape" in names:
                    tape = env[node, "tape"]
            elif node.fn is tuple_getitem and isinstance(args[0], tuple):
                env[node] = args[0][node.attrs["index"]]
            else:
                env[node] = target.add_copy(node, args)
        return tape

    def fill(self, target: FuncGraph, env: Any) -> dict:
        """{hole: the node in `target` that it stands for}; env is what emit_forward left."""
        def read(node, part):
            if part is None or (node, part) in env:
                return env[node if part is None else (node, part)]
            found = env[node]
            if isinstance(found, tuple):
                return found[part]
            env[node, part] = target.add(tuple_getitem, found, index=part, origin=found.origin,
                                         abstract=found.abstract.elements[part])
            return env[node, part]
        return {hole: read(*key) for key, hole in self.holes.items()}

    def given(self) -> list[int]:
        """The numbers of the parameters whose values the reverse reads."""
        return [i for i, p in enumerate(self.graph.parameters) if (p, None) in self.holes]

    def finish_backward(self, given: Any) -> None:
        """Fill `backward`; the parameters numbered in `given` are handed to it, other values come from the tape."""
        target = self.backward
        handed = {(self.graph.parameters[i], None): None for i in given}
        self.saved = [key for key in self.holes if key not in handed]
        tape = target.add_parameter("tape", AbstractTape())
        holes = [self.holes[key] if key in self.holes else
                 Parameter(self.back, key[0].name, self.sizes.renamed(key[0].abstract)) for key in handed]
        holes += self.douts + self.flags
        made: list = [target.add_parameter(hole.name, self.sizes.opened(hole.abstract)) for hole in holes]
        self.needs_sizes = list(self.sizes.fresh.items())
        env: dict = {}
        with building(target, self.backward.origin, by="grad"), collecting():
            if self.needs_sizes:
                tape, *_ = tape_pop(tape, abstracts=tuple(AbstractScalar(int, own.dim) for _, own in self.needs_sizes))
            if self.saved:
                tape, *values = tape_pop(tape, abstracts=tuple(self.holes[key].abstract for key in self.saved))
                env.update(zip((self.holes[key] for key in self.saved), values))
            for hole, node in zip(holes, made):
                env[hole] = node if node.abstract == hole.abstract else ops.reshape(node, shape=hole.shape)
        env[self.start] = tape
        self.back.parameters = list(env)
        target.set_outputs(inline(target, self.back, list(env.values())), make_tuple)
        drop_dead_nodes(target, tapes=True)

    def finish_forward(self) -> None:
        """Fill `forward`; to be called after finish_backward."""
        target = self.forward
        tape = target.add_parameter("tape", AbstractTape())
        env: dict = {p: target.add_parameter(p.name, p.abstract, p.origin) for p in self.graph.parameters}
        tape = self.emit_forward(target, env, tape)
        filled = self.fill(target, env)
        with building(target, self.forward.origin, by="grad"):
            if self.saved:
                tape = tape_push(tape, *[filled[self.holes[key]] for key in self.saved])
            if self.needs_sizes:
                tape = tape_push(tape, *[symbol.dim for symbol, _ in self.needs_sizes])
        target.set_outputs([tape, *[o if isinstance(o, ValueNode) else env[o] for o in self.graph.outputs]], make_tuple)


_PARTS = {"tape": AbstractTape(), "count": AbstractTensor(dt.int64, ()), "recording": AbstractAny()}


def name_of(node: Any, part: Any) -> str:
    """A name to read for the hole of a value."""
    name = node.name if isinstance(node, Parameter) else node.fn.name
    return name if part is None else f"{name}_{part}"
