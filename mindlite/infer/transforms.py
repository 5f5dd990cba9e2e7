"""grad, jvp, vjp and linearize during inference: the function becomes a typed graph of its own, under a marker node.

The marker's type is known (a gradient is like its input), so inference goes on; `ad` and `vmap` replace it afterwards.

    value, pull = vjp(f, x)            kept = (x, what f captures), as they are now;  value = the nodes of f
    dx, = pull(dout)                   dx = J(kept, dout; graph of f, mode "pull")

vjp and linearize run the function where they are called. The function that they give pulls cotangents back, or pushes tangents,
later and as often as it is called. The graph under its marker computes f's values again, and equal nodes are merged. What f does
besides computing (it prints, appends, assigns) is done once, at the call of vjp, as in eager mode: ad leaves it out of "pull"
and "push".
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.dim import Dim, Symbol, symbols_of
from ..common.errors import ArgumentError, Refusal
from ..common.tensor import Parameter as TensorParameter, Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor, symbols_of_abstract
from ..mindir.builder import building
from ..mindir.constraints import collecting
from ..mindir.control import J, make_tuple, segment
from ..mindir.derivative import (USED, arrange, check_direction, check_loss, cotangents_in, first_of, in_order, inputs_of,
                                 weights_of)
from ..mindir.graph import AnfNode, CNode, FuncGraph, Parameter
from ..mindir.inline import inline, with_sizes
from ..mindir.primitive import interpreting
from ..mindir.protocol import Derivative
from ..ops.basic import cast, reduce_sum, scalar_to_tensor
from ..ops.creation import of_type
from ..ops.state import identity
from .access import wrap_container
from .branches import in_region
from .evaluating import Evaluating
from .hooks import hooks_of, pass_hooks
from .kinds import leaves, map_parts, walk
from .merging import Merge, Slot, convert, fill, writing
from .outside import guard_contents
from .region import align
from .state import Environment, Outcome, Raises, barrier
from .values import Box, Conflict, Mixed, Value


class _Frame:
    """in_region wants a frame to put a layer of values on; a marker has none."""

    def __init__(self) -> None:
        self.env = Environment()


def as_tensor(ev: Evaluating, value: Value) -> Value:
    """A tensor node of a number, array or Tensor that is differentiated or mapped."""
    if isinstance(value, np.ndarray):
        value = Tensor(value)
    if isinstance(value, (bool, int, float, Dim)):
        value = Tensor(value) if not isinstance(value, Dim) else ev.tracer.lift(value)
    node = ev.tracer.lift(value)
    if isinstance(node.abstract, AbstractScalar):
        with interpreting(ev.tracer):
            return scalar_to_tensor(node, dtype=dt.dtype(node.abstract.type))
    return node


def is_data(value: Value) -> bool:
    """True for what can be differentiated or mapped: tensors, arrays, numbers."""
    return isinstance(value, (AnfNode, Tensor, bool, int, float, Dim)) or type(value).__module__ == "numpy"


def is_tensor(value: Value) -> bool:
    """True for what gets a gradient: a Tensor or an array, not a number."""
    if isinstance(value, AnfNode):
        return not isinstance(value.abstract, AbstractScalar)
    return is_data(value) and not isinstance(value, (bool, int, float, Dim))


def is_float(value: Value) -> bool:
    """True for a float, known or of the run."""
    return isinstance(value, float) or isinstance(value, AnfNode) and isinstance(value.abstract, AbstractScalar) \
        and value.abstract.type is float


def holds_tensor(ev: Evaluating, value: Value) -> bool:
    """True where a value is a tensor, or a tuple, list or dict with one in it."""
    found: list = []
    replace_leaves(ev, value, found.append)
    return any(is_tensor(x) for x in found)


def replace_leaves(ev: Evaluating, value: Value, replace: Callable[..., Any]) -> Value:
    """`value` with each tensor or number x replaced by replace(x), through tuples, lists and dicts."""
    if type(value) in (list, dict):
        value = from_outside(ev, value)
    if isinstance(value, Mixed):
        raise Refusal("a function that is differentiated or mapped is given a value of several types")
    return replace(value) if is_data(value) else map_content(ev, lambda v: replace_leaves(ev, v, replace), value, ev.store.get)


def map_content(ev: Evaluating, change: Callable[..., Any], value: Value, content: Callable[..., Any]) -> Value:
    """map_parts; a list or dict of the graph is a new one. content: the function that gives what is in a Box"""
    if not isinstance(value, Box):
        return map_parts(change, value)
    items = content(value)
    made = [(k, change(v)) for k, v in items] if value.kind == "dict" else [change(v) for v in items]
    return ev.new_box(value.kind, tuple(made))


def from_outside(ev: Evaluating, value: Value) -> Value:
    """The Box of a list or dict of the world outside."""
    if not guard_contents(ev, (value,)):
        raise Refusal(f"a function is differentiated or mapped by a {type(value).__name__} that changes during the run")
    return wrap_container(ev, value)


class Subgraph:
    """A function written as a closed graph: `inputs` (nodes outside) are its first parameters."""

    def __init__(self, ev: Evaluating, name: str, call: Callable[..., Any], weights: Sequence[Any] = ()) -> None:
        self.ev = ev
        self.inputs: list[AnfNode] = []
        self.owners: dict = {}  # owners: {parameter: the Tensor or node it stands for}
        frame = _Frame()

        def body():
            for weight in weights:
                ev.store[weight] = self.parameter(ev.tracer.current(weight), getattr(weight, "name", "weight"))
            self.begin = dict(ev.store)
            self.value = call(self)
            return Outcome({})
        self.name = name
        outer = ev.tracer.region
        self.outer = outer
        with barrier(ev.attempts, "a function that is differentiated or mapped"):
            self.region, outcome, self.after = in_region(ev, frame, name, body, certain=True)
        if isinstance(outcome, Raises):
            raise outcome
        ev.after = (self.after, self.after)
        self.merge = Merge(ev, inlined=True)
        self.pattern = self.merge.only(self.value, 0)
        self.changed = {}
        for key, value in self.after.items():
            owner = self.owners.get(key, key)                # an argument that the function changes in place
            if not ev.made_inside(owner) and value is not self.begin.get(key):
                self.changed[owner] = self._own_slot(self.merge.only(value, 0))
        self.passed = {}                                 # Tensors that are given as they are: {Tensor: its node inside}
        self.passed = {leaf: self.merge.only(self.latest(leaf), 0) for leaf in self.leaves(self.pattern)
                       if isinstance(leaf, Tensor) and leaf in self.after}
        with writing(ev, self.region, self.after):
            outputs = [self.region.capture(convert(ev, slot[0], slot[2])) for slot in self.merge.slots]
            self.region.graph.set_outputs(outputs, make_tuple)
        self.captured = align([self.region])

    def parameter(self, value: Value, name: str = "x", abstract: Callable[[Any], Any] | None = None) -> Parameter:
        """A parameter of the graph for `value`, a node outside; abstract: its type inside, if it differs."""
        region = self.ev.tracer.region
        before = self.ev.tracer.enter(region.parent or region)
        node = as_tensor(self.ev, value)
        self.ev.tracer.enter(before)
        self.inputs.append(node)
        made = region.graph.add_parameter(name, abstract(node.abstract) if abstract else node.abstract, node.origin)
        if isinstance(value, (AnfNode, Tensor)):
            self.owners[made] = self.ev.tracer.derivatives.stands_for[made] = value
        if self.ev.tracer.is_parameter(value):
            self.ev.tracer.derivatives.leaves.append(made)
        return made

    def _own_slot(self, value: Value) -> Value:
        """A result of its own for what is assigned: under vmap its axis is not that of an output that is the same."""
        if not isinstance(value, Slot):
            return value
        self.merge.slots.append(self.merge.slots[value.number])
        return Slot(len(self.merge.slots) - 1, value.abstract)

    def latest(self, value: Value) -> Value:
        """What stands for a value at the end of the function."""
        while isinstance(value, (AnfNode, Tensor)) and value in self.after:
            value = self.after[value]
        return value

    def leaves(self, value: Value) -> list:
        """What is data in a part of `pattern`, in order: Slots, and what comes from outside."""
        if any(isinstance(v, Mixed) for v in walk(value, self.content)):
            raise Refusal("a function that is differentiated or mapped gives a value of several types")
        return [self.passed.get(v, v) if isinstance(v, Tensor) else v for v in leaves(value, self.content)
                if isinstance(v, Slot) or is_data(v)]

    def content(self, box: Box) -> Value:
        """What is in a Box of `pattern`."""
        content = dict(self.merge.boxes).get(box)
        return content if content is not None else self.ev.store.get(box, ())

    def outputs_of(self, value: Value) -> list[int]:
        """The numbers of the outputs inside a part of `pattern`."""
        return [leaf.number for leaf in self.leaves(value) if isinstance(leaf, Slot)]

    def finish(self, results: Sequence[AnfNode]) -> CNode:
        """Use the results of the marker: changed values go into the store. Returns the function's value."""
        for box, content in self.merge.boxes:
            self.ev.store[box] = fill(content, results)
        for key, value in self.changed.items():
            self.ev.store[key] = fill(value, results)
        return fill(self.pattern, results)


class Reversal:
    """A function written as a graph, and what gradients of its value need: by what, and of which of its results.

    sub    : the Subgraph       wrt, seeds: as J has them; seeds: the floats of the result that is differentiated
    leaves : the parts of that result       positions, chosen: the arguments with gradients, {position: numbers of its parts}
    """

    def __init__(self, ev: Evaluating, function: Value, options: dict[str, Any], args: tuple, parted: Callable[..., Any]) -> None:
        self.ev, self.options = ev, options
        self.positions, self.numbers_too = inputs_of(options, args, lambda value: holds_tensor(ev, value), is_float)
        self.weights = weights_of(options.get("weights"), TensorParameter)
        # a weight that is named twice is one parameter of the graph
        distinct = list({id(w): w for w in self.weights if _guarded(ev, w, "requires_grad")}.values())
        self.numbers = {id(weight): number for number, weight in enumerate(distinct)}
        self.chosen: dict = {}

        def call(sub):
            inside = list(args)
            for position in self.positions:
                first = len(sub.inputs)
                inside[position] = replace_leaves(
                    ev, args[position], lambda x: sub.parameter(x) if self.numbers_too or is_tensor(x) else x)
                self.chosen[position] = range(first, len(sub.inputs))
            ev.tracer.region.inputs.update(ev.tracer.region.graph.parameters[len(distinct):])
            value = ev.call(function, *parted(inside))
            if options.get("weights") is USED:               # a Parameter that is returned is used too: it is read here
                return replace_leaves(ev, value, lambda x: as_tensor(ev, x) if isinstance(x, TensorParameter) else x)
            return value
        sub = self.sub = Subgraph(ev, f"{getattr(function, '__name__', type(function).__name__)}", call, distinct)
        value, outputs = sub.pattern, sub.region.graph.outputs
        loss = first_of(value) if options.get("has_aux") else value
        self.leaves = sub.leaves(loss)
        self.seeds = tuple([leaf.number for leaf in self.leaves if isinstance(leaf, Slot)
                            and isinstance(outputs[leaf.number].abstract, AbstractTensor)
                            and outputs[leaf.number].dtype.is_differentiable])
        found = [outputs[leaf.number].abstract if isinstance(leaf, Slot) else leaf for leaf in self.leaves]
        if (self.positions or self.weights) and not any(isinstance(x, AbstractTensor) or is_tensor(x) for x in found):
            given = found[0] if found else ev.unbox(sub.value[0] if loss is not value else sub.value)
            if isinstance(given, Conflict):                  # of one type on one path, of another there
                raise given.error
            check_loss(given)
        self.wrt = tuple(range(len(sub.inputs)))
        if options.get("weights") is USED:
            used = used_weights(ev, sub)
            self.weights = tuple(used.values())
            self.numbers = {id(weight): len(self.wrt) + number for number, weight in enumerate(self.weights)}
            self.wrt += tuple([len(self.wrt) + place for place in used])
        owners = [(sub.owners.get(p), number) for number, p in enumerate(sub.region.graph.parameters[:len(sub.inputs)])]
        self.owners = owners[len(distinct):]

    def seen(self, gradients: Sequence[AnfNode]) -> list[CNode]:
        """The gradients behind the hooks of inputs and weights."""
        of_weights = [(w, self.numbers[id(w)]) for w in {id(w): w for w in self.weights}.values() if id(w) in self.numbers]
        return _see(self.ev, self.sub, self.owners, of_weights, gradients)

    def pulled(self, results: Value, args: Sequence[Value]) -> Value:
        """What a pullback gives, of what J gave."""
        return self.arranged("grad", None, self.seen(results), args, {**self.options, "has_aux": False})

    def arranged(self, kind: str, value: Value, gradients: Sequence[AnfNode], args: Sequence[Value],
                 options: dict[str, Any]) -> Value:
        """What the caller gets, of the gradients by `wrt` and of the arguments by which they are."""
        ev = self.ev
        weight_grads = [(w, gradients[self.numbers[id(w)]] if id(w) in self.numbers else
                         ev.trace(of_type, (as_tensor(ev, w).abstract,), {})) for w in self.weights]

        def structure(position):
            numbers = iter(self.chosen[position])
            return replace_leaves(ev, args[position], lambda x: gradients[next(numbers)] if self.numbers_too or is_tensor(x)
                                  else 0)
        input_grads = [(position, structure(position)) for position in self.positions]
        return arrange(kind, value, input_grads, weight_grads, options)


def _gradient(kind: str) -> Callable[..., Value]:
    def run(ev, function, options, args, kwargs):
        args, kwargs, sens = cotangents_in(options, args, kwargs)
        args, parted = in_order(args, kwargs)
        made = Reversal(ev, function, options, args, parted)
        sub = made.sub
        with interpreting(ev.tracer):
            seeds = made.seeds if sens else tuple([_summed(sub, n) for n in made.seeds])
            graph = sub.region.graph
            ones = cotangents_of(ev, kind, made.leaves, graph, seeds, sens[0]) if sens else [
                ev.trace(of_type, (graph.outputs[n].abstract, 1), {}) for n in seeds]
            again, count = options.get("again"), len(graph.outputs)
            results = J(*sub.inputs, *sub.captured, *ones, graph=graph, wrt=made.wrt, seeds=seeds,
                        mode="pull" if again else "vjp")
        if again:
            return made.pulled(results, args)
        gradients = made.seen(results[count:])
        return made.arranged(kind, sub.finish(results[:count]), gradients, args, options)
    return run


def _see(ev: Evaluating, sub: Subgraph, inputs: list, weights: list, gradients: Sequence[AnfNode]) -> list:
    """The gradients behind the hooks of inputs and weights. inputs, weights: [(what stands outside, number)]"""
    seen = list(gradients)
    for owner, number in [*inputs, *weights]:
        hooks = () if owner is None else hooks_of(ev, owner)
        if number < len(sub.inputs):
            box = sub.region.hooks.get(sub.region.graph.parameters[number])
            hooks = (*hooks, *[hook for _, hook in sub.after.get(box, ())])
        seen[number] = pass_hooks(ev, hooks, seen[number])
    return seen


def used_weights(ev: Evaluating, sub: Subgraph) -> dict[int, TensorParameter]:
    """{number among what the Subgraph captures: the Parameter that it is}, in the order of their first use."""
    if any(node.fn is segment for graph in sub.region.graph.reachable() for node in graph.nodes):
        raise Refusal("which Parameters Python code reads is known when it runs")
    owners = {ev.tracer.current(tensor) if tensor in ev.store else node: tensor
              for tensor, node in ev.tracer.inputs.values() if isinstance(tensor, TensorParameter)}
    return {place: owners[node] for place, node in enumerate(sub.captured)
            if node in owners and _guarded(ev, owners[node], "requires_grad")}


def _summed(sub: Subgraph, number: int) -> int:
    """The output whose cotangent is ones. If its size is computed by the function, so that the
    ones would need it before the run, its sum becomes an additional output."""
    output, graph = sub.region.graph.outputs[number], sub.region.graph
    if all(isinstance(size, int) for size in output.abstract.shape):
        return number
    with building(graph):
        graph.set_outputs([*graph.outputs, reduce_sum(output)], make_tuple)
    return len(graph.outputs) - 1


def _guarded(ev: Evaluating, owner: Any, name: str) -> bool:
    """An attribute of a Parameter, which is compiled in."""
    found = getattr(owner, name)
    ev.guard("attr", owner, name, found)
    return found


def cotangents_of(ev: Evaluating, kind: str, leaves: Sequence[Any], graph: FuncGraph, seeds: Any, sens: Any) -> Any:
    """The cotangents of the outputs numbered in `seeds`: what the user gave, for all leaves of the value or for the floats."""
    given, outputs = [], graph.outputs
    replace_leaves(ev, sens, lambda x: given.append(as_tensor(ev, x)))
    leaves = [leaf for leaf in leaves if not isinstance(leaf, Slot)
              or isinstance(outputs[leaf.number].abstract, AbstractTensor)]
    if len(given) == len(leaves):
        given = [x for x, leaf in zip(given, leaves) if isinstance(leaf, Slot) and leaf.number in seeds]
    if len(given) != len(seeds):
        raise ArgumentError(f"{kind}: {len(seeds)} cotangents are wanted, {len(given)} were given")
    outside = set().union(*[symbols_of_abstract(p.abstract) for p in graph.parameters])
    return [_direction(ev, x, outputs[number], (f"{kind}: a cotangent", "its result"), outside)
            for x, number in zip(given, seeds)]


def _direction(ev: Evaluating, given: AnfNode, node: AnfNode, what: tuple[str, str],
               outside: set[Symbol] | None = None) -> AnfNode:
    """The user's tangent or cotangent of a value, in its dtype. Sizes that the function computes (symbols
    that are not in `outside`) are not known here. what, raises : as check_direction"""
    with collecting() as open_sizes:
        to_cast = check_direction(what, given.abstract, node.abstract)
    for constraint in open_sizes:
        if outside is None or symbols_of(constraint.right) <= outside:
            ev.tracer.demand(constraint)
    with interpreting(ev.tracer):
        return cast(given, dtype=node.dtype) if to_cast else given


def along(ev: Evaluating, function: Value, primals: tuple, kwargs: dict[str, Any]) -> Subgraph:
    """(the Subgraph of a function of these arguments, all differentiated); primals: one, or a tuple or list of them"""
    primals = (primals,) if not isinstance(primals, (tuple, Box)) else tuple(ev.unbox(primals))

    def call(sub):
        return ev.call(function, tuple(replace_leaves(ev, p, lambda x: sub.parameter(x)) for p in primals), kwargs)
    return Subgraph(ev, "jvp", call)


def tangents_of(ev: Evaluating, kind: str, inputs: Sequence[AnfNode], tangents: Sequence[Value]) -> list:
    """The tangents that the user gave for these inputs, in order. raises : ShapeError where one is not like its input"""
    seeds = []
    for t in (tangents,) if not isinstance(tangents, (tuple, Box)) else tuple(ev.unbox(tangents)):
        replace_leaves(ev, t, lambda x: seeds.append(as_tensor(ev, x)))
    if len(seeds) != len(inputs):
        raise ArgumentError(f"{kind}: {len(seeds)} tangents were given for {len(inputs)} inputs")
    return [_direction(ev, t, node, (f"{kind}: a tangent", "its input")) for t, node in zip(seeds, inputs)]


def _jvp(ev: Evaluating, function: Value, options: dict[str, Any], args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    primals, tangents = args[:2]
    sub = along(ev, function, primals, kwargs)
    seeds = tangents_of(ev, "jvp", sub.inputs, tangents)
    again, count = options.get("again"), len(sub.region.graph.outputs)
    with interpreting(ev.tracer):
        results = J(*sub.inputs, *sub.captured, *seeds, graph=sub.region.graph, wrt=tuple(range(len(sub.inputs))),
                    seeds=(), mode="push" if again else "jvp")
    if again:
        return None, following(ev, sub, sub.pattern, results)
    value = sub.finish(results[:count])
    return value, following(ev, sub, sub.pattern, results[count:])


def following(ev: Evaluating, sub: Subgraph, value: Value, results: Sequence[AnfNode]) -> Value:
    """The tangents of a part of the function's value; what comes from outside has zeros."""
    if isinstance(value, Slot):
        return results[value.number]
    if is_data(value):
        return ev.trace(of_type, (as_tensor(ev, value).abstract,), {})
    return map_content(ev, lambda v: following(ev, sub, v, results), value, sub.content)


# ---------------------------------------------------------------- pullbacks

class Later:
    """What vjp and linearize leave for later, without a node in it: those are handed to it as `kept`."""

    def __init__(self, kind: str, sub: Subgraph, made: Value = None) -> None:
        self.kind, self.sub, self.made = kind, sub, made
        self.graph = _renamed(sub.region.graph)
        self.outputs = sub.region.graph.outputs

    def __mindir__(self) -> Any:
        return Derivative(self, self.kind)


def _renamed(graph: FuncGraph) -> Any:
    """A copy in which sizes that the graph itself makes have names of their own: it stands beside the one that has run."""
    given = {symbol for p in graph.parameters for symbol in symbols_of_abstract(p.abstract)}
    return with_sizes(graph, {symbol: symbol.dim for symbol in given})


def _run_now(ev: Evaluating, sub: Subgraph) -> Any:
    """(the function's value, what its graph was given): kept values have no name, so nobody assigns to them later."""
    with interpreting(ev.tracer):
        kept = [_nameless(ev.tracer.lift(x)) for x in (*sub.inputs, *sub.captured)]
        results = [_nameless(x) for x in inline(ev.tracer.graph, sub.region.graph, kept)]
    return sub.finish(results), tuple(kept)


def _nameless(x: Any) -> Any:
    return identity(x) if isinstance(x.abstract, AbstractTensor) else x


def _vjp(ev: Evaluating, function: Value, options: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> Value:
    """(value, what is kept, the function (kept, cotangents) -> gradients)"""
    args, parted = in_order(args, kwargs)
    made = Reversal(ev, function, {**options, "grad_position": "all", "numbers": True}, args, parted)
    like = tuple([replace_leaves(ev, a, lambda x: x) for a in args])
    value, kept = _run_now(ev, made.sub)
    return value, (kept, like), Later("pull", made.sub, made)


def _pull(ev: Evaluating, later: Later, options: dict[str, Any], args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    (kept, like), given = args
    made = later.made
    with interpreting(ev.tracer):
        douts = cotangents_of(ev, "vjp", made.leaves, later.graph, made.seeds, given)
        gradients = J(*kept, *douts, graph=later.graph, wrt=made.wrt, seeds=made.seeds, mode="pull")
    return made.pulled(gradients, like)


def _linearize(ev: Evaluating, function: Value, options: dict[str, Any], args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """(value, what is kept, the function (kept, tangents) -> tangents of the value)"""
    sub = along(ev, function, args[0], kwargs)
    value, kept = _run_now(ev, sub)
    return value, kept, Later("push", sub)


def _push(ev: Evaluating, later: Later, options: dict[str, Any], args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    kept, tangents = args
    count = len(later.sub.inputs)
    seeds = tangents_of(ev, "linearize", kept[:count], tangents)
    with interpreting(ev.tracer):
        results = J(*kept, *seeds, graph=later.graph, wrt=tuple(range(count)), seeds=(), mode="push")
    return following(ev, later.sub, later.sub.pattern, results)


DERIVATIVES: dict[str, Callable[..., Value]] = {
    "grad": _gradient("grad"), "value_and_grad": _gradient("value_and_grad"), "jvp": _jvp, "vjp": _vjp, "pull": _pull,
    "linearize": _linearize, "push": _push}


def differentiate(ev: Evaluating, what: Any, args: tuple, kwargs: dict[str, Any]) -> Value:
    """grad(f)(*args), value_and_grad, jvp, vjp, linearize, and what the last two gave."""
    return DERIVATIVES[what.kind](ev, what.function, what.options, args, kwargs)
