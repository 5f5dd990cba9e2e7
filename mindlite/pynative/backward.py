"""Walking a tape backwards: from cotangents of results to gradients of what was watched.

The structure of a tape, from its results back to the watched values, is a key. A structure that is new runs operation
by operation; when it comes a second time, the backward graphs of all its entries are written into one graph, which is
optimised and compiled as one Flow and reused from then on.

    tape  %1 = mul(%0, 2.0); %2 = tanh(%1)        grad(2.0, out, dout):  d1 = dout * (1 - out * out);  d0 = d1 * 2.0
"""
import threading
from collections import OrderedDict

import numpy as np

from .. import ops
from ..ad.zeros import zeros_like_abstract
from ..common.events import emit
from ..common.tensor import Tensor
from ..mindir.builder import building, constant
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline
from ..optim import optimise
from .hooks import through
from .interpreter import apply
from .kernels import Compiled
from .native import trace_tape
from .operation import GraphOperation

MAX_STRUCTURES = 512
_structures = OrderedDict()                     # key: None after its first appearance, then the GraphOperation
_lock = threading.RLock()


def gradients(tape, seeds, wrt):
    """The gradient of each value numbered in `wrt`, a list of Tensors, None where nothing flows.

    seeds : [(number of a value, its cotangent)]
    """
    traced = None
    if not tape.hooks:
        traced = trace_tape(tape, tuple([number for number, _ in seeds]))
        if traced is not None:
            key = traced[0], *_asked(seeds, wrt)
            with _lock:
                flow = _structures.get(key)
                if flow is not None:
                    _structures.move_to_end(key)
            if flow is not None:
                emit("backward_flow_reuse")
                return run_flow(flow, traced[1], seeds)
    live = live_entries(tape, [number for number, _ in seeds])
    if not live:
        return [_sum_of([c for n, c in seeds if n == number]) for number in wrt]
    flow, saved = None, None
    hooks = tape.hooks
    hooked = hooks and any(number in hooks for entry in live for number in entry.outputs)
    if not hooked and all(_is_plain(entry.backward) for entry in live) and not _is_compiled_alone(live):
        if traced is not None:
            saved = traced[1]
        else:
            key, saved = structure(live)
            key = key, *_asked(seeds, wrt)
        flow = flow_of(key, live, seeds, wrt, saved)
    return one_by_one(live, seeds, wrt, hooks) if flow is None else run_flow(flow, saved, seeds)


def _asked(seeds, wrt):
    """What a structure is asked for, as a part of its key."""
    return tuple([(n, c.array.shape, c.array.dtype) for n, c in seeds]), tuple(wrt)


def run_flow(flow, saved, seeds):
    """The gradients that a compiled structure gives."""
    results = iter(apply(flow[0], [*saved, *[c for _, c in seeds]]))
    return [next(results) if flows else None for flows in flow[1]]


def _is_plain(backward):
    """True for a graph that reads nothing but Tensors and numbers."""
    return backward.graph is not None and not backward.opaque


def _is_compiled_alone(live):
    """True for one entry whose backward is a Flow already: a call of a jitted function."""
    return len(live) == 1 and isinstance(live[0].backward.operation.runner, Compiled)


def live_entries(tape, numbers):
    """The entries on which the values with these numbers depend, last first."""
    wanted, live = set(numbers), []
    for entry in reversed(tape.entries):
        if not wanted.isdisjoint(entry.outputs):
            live.append(entry)
            wanted.update(entry.inputs)
    return live


def structure(live):
    """(a hashable key of what these entries compute, the saved values, each once): `trace_tape` in Python."""
    places, saved, key = {}, [], []
    for entry in live:
        reads = []
        for value in entry.saved:
            place = places.get(id(value))
            if place is None:
                place = places[id(value)] = len(saved)
                saved.append(value)
            reads.append(place)
        key.append((entry.backward.number, entry.inputs, entry.outputs, tuple(reads)))
    return tuple(key), saved


def flow_of(key, live, seeds, wrt, saved):
    """(the GraphOperation of a structure, for each of wrt whether it has a gradient, the Backwards in it, which its key
    keeps alive); None at its first appearance."""
    with _lock:
        if key not in _structures:
            _structures[key] = None
            if len(_structures) > MAX_STRUCTURES:
                _structures.popitem(last=False)
            return None
        _structures.move_to_end(key)
        if _structures[key] is None:
            graph, flows_to = write_flow(live, seeds, wrt, saved)
            operation = GraphOperation(graph)
            operation.compile()
            _structures[key] = operation, flows_to, [entry.backward for entry in live]
            emit("backward_flow_build", name=graph.name, nodes=len(graph.nodes))
        else:
            emit("backward_flow_reuse")
        return _structures[key]


def write_flow(live, seeds, wrt, saved):
    """(the graph (*saved, *cotangents) -> gradients of these entries, for each of wrt whether it has a gradient)."""
    graph = FuncGraph("backward")
    parameters = {id(value): graph.add_parameter(f"saved{i}", constant(value).abstract)
                  for i, value in enumerate(saved)}
    cotangents = {}
    with building(graph, by="grad") as builder, collecting():
        def add(number, cotangent):
            before = cotangents.get(number)
            cotangents[number] = cotangent if before is None else ops.add(before, cotangent)
        for i, (number, value) in enumerate(seeds):
            add(number, graph.add_parameter(f"dout{i}", constant(value).abstract))
        for entry in live:
            backward = entry.backward
            if all(cotangents.get(entry.outputs[i]) is None for i in backward.seeds):
                continue
            args = [parameters[id(value)] for value in entry.saved]
            for i, abstract in zip(backward.seeds, backward.douts):
                dout = cotangents.pop(entry.outputs[i], None)
                args.append(builder.lift(zeros_like_abstract(abstract)) if dout is None else dout)
            for number, gradient in zip(entry.inputs, inline(graph, backward.graph, args)):
                add(number, gradient)
        found = [cotangents.get(number) for number in wrt]
        graph.set_outputs([node for node in found if node is not None], make_tuple)
    return optimise(graph), [node is not None for node in found]


def one_by_one(live, seeds, wrt, hooks):
    """The gradients, operation by operation. hooks: as Tape.hooks; those of `wrt` are not called"""
    cotangents = {}

    def add(number, cotangent):
        before = cotangents.get(number)
        cotangents[number] = cotangent if before is None else ops.add(before, cotangent)
    for number, value in seeds:
        add(number, value)
    for entry in live:
        backward = entry.backward
        if all(cotangents.get(entry.outputs[i]) is None for i in backward.seeds):
            continue
        douts = []
        for i, abstract in zip(backward.seeds, backward.douts):
            dout = cotangents.pop(entry.outputs[i], None)
            if dout is None and (backward.graph is not None or backward.materialize):
                dout = Tensor.wrap(np.zeros(abstract.shape, abstract.dtype.numpy))
            elif dout is not None and entry.outputs[i] in hooks:
                dout = through(hooks[entry.outputs[i]], dout)
            douts.append(dout)
        found = backward.run(entry.saved, douts) if backward.graph is None else \
            apply(backward.operation, [*entry.saved, *douts])
        for number, gradient in zip(entry.inputs, found):
            if gradient is not None:
                add(number, gradient)
    return [cotangents.get(number) for number in wrt]


def _sum_of(cotangents):
    total = None
    for cotangent in cotangents:
        total = cotangent if total is None else ops.add(total, cotangent)
    return total
