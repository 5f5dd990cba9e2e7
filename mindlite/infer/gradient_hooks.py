"""Where hooks on gradients stand in a graph: gates, which let values pass and hold a graph for their gradients.

    y = cell(x), with hooks        ->    %1, %t = port(%x);  %2 = construct of %1;  %3 = gate(%2, %t; bprop, after)
    HookBackward(f)(x)             ->    %1 = gate(%x; bprop = f)
    h = ..; h.register_hook(f)     ->    %2 = gate(%1; bprop = f), in front of all that reads h

A hook on a Tensor sees its whole gradient, so its gate stands where the Tensor is made; it is written when the region
is done, with the hooks that are left. A hook on an input of a derivative, or on a weight, is called behind the derivative.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..common.errors import ArgumentError, Refusal
from ..common.tensor import Tensor
from ..mindir.builder import building
from ..mindir.control import gate, make_tuple, port, tuple_getitem
from ..mindir.graph import AnfNode, CNode, FuncGraph, Parameter
from ..mindir.primitive import interpreting
from ..mindir.protocol import Hooked
from .access import is_tensor
from .branches import write_check
from .state import AmbiguousTarget, Raises
from .evaluating import Evaluating
from .hooks import hooks_at, marks_of, name_of, pass_hook, pass_hooks
from .jumps import live_into
from .merging import fill
from .region import HookHandle, Region
from .transforms import Subgraph
from .values import Box, Closure, Value


class Passage:
    """A graph (*parameters, *read) -> results that a gate holds. read: what it uses of the graph around."""

    def __init__(self, ev: Evaluating, name: str, kinds: Sequence[Any], body: Callable[..., Value]) -> None:
        def call(sub):
            graph = ev.tracer.region.graph
            return tuple(body([graph.add_parameter(f"d{i}", kind) for i, kind in enumerate(kinds)]))
        made = Subgraph(ev, name, call)
        self.graph, self.read, self.count = made.region.graph, made.captured, len(kinds)
        with building(self.graph) as builder:
            self.graph.set_outputs([builder.lift(fill(g, self.graph.outputs)) for g in made.pattern], make_tuple)

    def reads(self, nodes: Iterable[AnfNode]) -> None:
        """Let the graph take these nodes of the graph around, in this order."""
        own = dict(zip(self.read, self.graph.parameters[self.count:]))
        parameters = [own[x] if x in own else self.graph.add_parameter("unread", x.abstract) for x in nodes]
        self.graph.parameters = [*self.graph.parameters[:self.count], *parameters]


def smooth(value: Value) -> bool:
    """True for a Tensor that can have a gradient."""
    return is_tensor(value) and (value.dtype if isinstance(value, Tensor) else value.abstract.dtype).is_differentiable


def tell(ev: Evaluating, what: str, hooks: Any) -> None:
    """Have `explain` say that these hooks are part of the graph."""
    names = ", ".join(dict.fromkeys(name_of(ev, hook) for hook in hooks))
    ev.reasons.append((ev.tracer.origin.location, f"hooks on the gradients of {what} are part of the graph: {names}"))


def through_gate(ev: Evaluating, values: Value, hook: Value) -> Value:
    """`values`; the gradients of the Tensors among them pass hook(gradients)."""
    values = tuple(ev.unbox(values) if isinstance(values, Box) else values)
    nodes = [ev.tracer.lift(x) for x in values if smooth(x)]
    if not nodes:
        return values
    tell(ev, "values", (hook,))
    bprop = Passage(ev, name_of(ev, hook), [x.abstract for x in nodes],
                    lambda douts: pass_hook(ev, hook, tuple(douts), (tuple(douts),)))
    return _put(values, write_gate(ev, nodes, bprop))


def write_gate(ev: Evaluating, nodes: Sequence[AnfNode], bprop: Any, after: Any = None, otherwise: Any = None, token: Any = None,
               whole: bool = False) -> Value:
    """The results of a gate around these nodes."""
    passages = [p for p in (bprop, after, otherwise) if p is not None]
    read = list(dict.fromkeys(x for p in passages for x in p.read))
    for passage in passages:
        passage.reads(read)
    with interpreting(ev.tracer):
        return gate(*nodes, *read, *([] if token is None else [token]), count=len(nodes), bprop=bprop.graph,
                    after=after and after.graph, otherwise=otherwise and otherwise.graph, whole=whole)


def _put(values: Value, nodes: Iterable[AnfNode]) -> Value:
    """`values` with these nodes in place of the Tensors that have gradients."""
    each = iter(nodes)
    return tuple([next(each) if smooth(x) else x for x in values])


def call_hooked(ev: Evaluating, what: Hooked, args: Sequence[Value], kwargs: dict[str, Any], call: Callable[..., Value]) -> Value:
    """A Cell with hooks. call(args, kwargs): the Cell without them"""
    inside, entries, token = args, [ev.tracer.lift(x) for x in args if smooth(x)], None
    if what.after and entries:
        with interpreting(ev.tracer):
            *entries, token = port(*entries)
        inside = _put(args, entries)
    value = call(inside, kwargs)
    if any(x in ev.store for x in entries) and token is not None:
        raise Refusal("a Cell with hooks on its gradients changes its argument in place")
    values = value if isinstance(value, tuple) else (value,)
    nodes = [ev.tracer.lift(x) for x in values if smooth(x)]
    if not nodes:
        if what.after:
            raise Refusal("a Cell with hooks on its gradients gives no Tensor, and no tuple of Tensors")
        return value
    kinds, owner = [x.abstract for x in nodes], what.owner

    def before(grads):
        grads = tuple(grads)
        for hook in what.before:
            grads = pass_hook(ev, hook, grads, (owner, grads))
        return grads

    def after(grads):
        gone, grads = tuple(grads[:len(nodes)]), tuple(grads[len(nodes):])
        for hook in what.after:
            grads = pass_hook(ev, hook, grads, (owner, grads, gone))
        return grads

    def otherwise(gone):
        grads = (None,) * sum(is_tensor(x) for x in args)
        for hook in what.after:
            try:
                pass_hook(ev, hook, grads, (owner, grads, tuple(gone)))
            except Refusal as left:                    # this graph is for a gradient that may never be asked for
                cause = left.__cause__
                raised = cause if isinstance(cause, Raises) else None
                if raised is None and not ev.fallback.fullgraph:
                    raise
                write_check(ev, False, raised or Raises(left, ev.tracer.origin))
        return ()

    def unwatched(grads):
        gone = before(grads)
        otherwise(gone)
        return gone
    name = type(owner).__name__
    made: dict[str, Any] = {}
    tell(ev, f"a {name}", what.before + what.after)
    made["bprop"] = Passage(ev, f"{name}'s gradient", kinds,
                            unwatched if what.after and token is None else before)
    if token is not None:
        made["after"] = Passage(ev, f"{name}'s gradient, done", kinds + [x.abstract for x in entries], after)
        made["otherwise"] = Passage(ev, f"{name}'s own gradient", kinds, otherwise)
    given = _put(values, write_gate(ev, nodes, token=token, **made))
    return given if isinstance(value, tuple) else given[0]


# ---------------------------------------------------------------- hooks on Tensors

def register_hook(ev: Evaluating, tensor: Value, hook: Value) -> Value:
    """tensor.register_hook(hook): a HookHandle. raises : AmbiguousTarget where Python has to run the function"""
    if not callable(hook) and not hasattr(hook, "signature") and not ev.is_object(hook):
        raise ArgumentError(f"register_hook: takes a function, not {type(hook).__name__}")
    region, node = ev.tracer.region, ev.tracer.current(tensor)
    if region is ev.tracer.root and isinstance(node, Parameter) and node.default is None:
        if isinstance(hook, Closure):                        # it stays with the caller's Tensor: Python has to make it
            raise Refusal("a hook on an argument is made inside the graph", marks_of(hook),
                                ev.tracer.origin.location)
    elif node in region.inputs:
        if not _seen_outside(hook, region):
            raise AmbiguousTarget("a hook on an input uses what the function has made")
    elif not (isinstance(node, CNode) and region.owns(node) or node in region.items):
        raise AmbiguousTarget("a hook is registered on a Tensor that the graph, or this part of it, has not made")
    if not region.hooks:
        region.last.append(lambda: _write_gates(ev, region))
    tell(ev, "a Tensor", (hook,))
    handle = HookHandle(region.hooks.setdefault(node, Box("hooks")), region)
    ev.store[handle.hooks] = (*ev.store.get(handle.hooks, ()), (handle, hook))       # there: a loop may begin again
    return handle


def remove_hook(ev: Evaluating, handle: Value) -> None:
    """handle.remove()"""
    if ev.tracer.region is not handle.region:
        raise AmbiguousTarget("whether a hook is removed is known at run time only")
    ev.store[handle.hooks] = tuple([pair for pair in ev.store[handle.hooks] if pair[0] is not handle])


def _seen_outside(hook: Value, region: Region) -> bool:
    """True for a function that uses nothing of what this region makes."""
    if not isinstance(hook, Closure):
        return not isinstance(hook, AnfNode)
    for node in live_into(hook.graph):
        value = hook.env.get(node)
        if isinstance(value, AnfNode) and region.owns(value) or isinstance(value, (Box, Closure)):
            return False
    return True


def made_at(graph: FuncGraph, x: Any) -> tuple:
    """Where eager mode would have made x: the later, the earlier its hooks are called; of several results the first."""
    if isinstance(x, Parameter):
        return -1, graph.parameters.index(x)
    several = x.fn is tuple_getitem
    return graph.nodes.index(x.args[0] if several else x), -x.attrs["index"] if several else 0


def _write_gates(ev: Evaluating, region: Region) -> None:
    """A gate for each Tensor of the region that has hooks, where it is made; who reads it reads what the gate gives."""
    nodes, behind = region.graph.nodes, 0                    # behind: where gates may stand, as hooks have an order
    hooked = [x for x in region.hooks if hooks_at(ev, region, x) and smooth(x)
              and (isinstance(x, CNode) or x in region.items)]
    for x in sorted(hooked, key=lambda x: made_at(region.graph, x)):
        start, hooks = len(nodes), hooks_at(ev, region, x)
        bprop = Passage(ev, "the gradient of a Tensor", [x.abstract],
                        lambda douts, hooks=hooks: [pass_hooks(ev, hooks, douts[0])])
        # x itself, not what it is by now where it, or that of which it is a view, has been written to
        newest, view = ev.tracer.store.pop(x, None), ev.tracer.effects.views.pop(x, None)
        made, = write_gate(ev, [x], bprop, whole=True)
        if view is not None:
            ev.tracer.effects.views[x] = view
        written, positions = nodes[start:], dict[AnfNode, int](zip(nodes[:start], itertools.count(1)))
        first = positions.get(x, 0)
        position = max([behind, first, *[positions.get(a, 0) for node in written for a in node.args]])
        while position < start and nodes[position].fn is tuple_getitem and nodes[position].args[0] in getattr(x, "args", ()):
            position += 1                                    # behind all results of the node that has made it
        if any(x in node.args for node in nodes[first:position]):
            raise AmbiguousTarget("a hook uses what is made of the Tensor that it is registered on")
        for node in nodes[position:start]:
            node.args = tuple([made if a is x else a for a in node.args])
        nodes[position:] = written + nodes[position:start]
        behind = position + len(written)
        ev.tracer.store[x] = made if newest is None else newest
