"""Walking a tape backwards: from cotangents of results to gradients of what was watched.

The structure of a tape, from its results back to the watched values, is a key. A structure that is new runs operation
by operation; when that has taken so long that compiling pays, the backward graphs of all its entries are written into one
graph, which is optimised and compiled as one Flow, beside the run (beside.py), and used from then on. Hooks and backwards
written in Python part it: what stands between them is compiled in this way (event "backward_parted").

    tape  %1 = mul(%0, 2.0); %2 = tanh(%1)        grad(2.0, out, dout):  d1 = dout * (1 - out * out);  d0 = d1 * 2.0

How a tape was walked stands on it (`Tape.walk`), for `explain`.
"""
import time
from collections import OrderedDict
from typing import ClassVar

import numpy as np

from .. import ops
from ..ad.zeros import zeros_like_abstract
from ..common.config import config
from ..common.errors import Stage, user_location
from ..common.events import emit, is_heard
from ..common.locks import new_lock
from ..common.tensor import Tensor
from ..mindir.builder import building, constant, tensor_type
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline
from ..optim import optimise
from .beside import compile_beside
from .finite import apply_checked, is_watching
from .hooks import through
from .interpreter import apply
from .kernels import Compiled
from .native import trace_tape
from .operation import GraphOperation

MAX_STRUCTURES = 512
REUSED, BUILT = "as one compiled Flow", "as one Flow, compiled for it"
FIRST = "operation by operation: the first of its structure"
SELDOM = "operation by operation: to compile its structure does not pay yet"
ORDERED = "operation by operation, while its structure is being compiled"
PARTS = "operation by operation: ranks have parts of what was saved"
CHECKED = "operation by operation, each one checked for NaN and infinity"
OF_ITS_OWN = "as the Flow of the one compiled function on it"
NOTHING = "not at all: nothing that is asked for depends on what was watched"
PAYS = 0.25                                      # compile once walking has taken this share of what compiling will take
_structures: OrderedDict = OrderedDict()        # key: a Structure
_lock = new_lock()


def gradients(tape, seeds, wrt, last=False):
    """The gradient of each value numbered in `wrt`, a list of Tensors, None where nothing flows.

    seeds  : [(number of a value, its cotangent)]
    last   : the tape is walked for the last time: what it has saved is let go as the walk passes it (a compiled Flow holds
             all until its end)
    effect : tape.walk says how it was done
    """
    if not is_heard():
        return _gradients(tape, seeds, wrt, last)
    start = time.perf_counter()
    try:
        return _gradients(tape, seeds, wrt, last)
    finally:
        emit("backward_walk", name="backward", seconds=time.perf_counter() - start)


def _gradients(tape, seeds, wrt, last):
    traced = None
    if not is_watching() and all(number in wrt for number in tape.hooks):      # those of `wrt` are called behind this
        traced = trace_tape(tape, tuple([number for number, _ in seeds]))
        if traced is not None:
            key = traced[0], *_asked(seeds, wrt)
            with _lock:
                seen = _structures.get(key)
                flow = None if seen is None else seen.flow
                if flow is not None:
                    _structures.move_to_end(key)
            if flow is not None:
                emit("backward_flow_reuse")
                tape.walk = REUSED
                return run_flow(flow, traced[1], seeds)
    live = live_entries(tape, [number for number, _ in seeds])
    if not live:
        tape.walk = NOTHING
        return list(map(Cotangents(seeds).get, wrt))
    in_python = sum(entry.backward.graph is None or entry.backward.opaque for entry in live)
    of_all_sizes = sum(entry.backward.graph is not None and entry.backward.open for entry in live)
    hooked = sum(bool(tape.hooks.get(number)) for entry in live for number in entry.outputs)
    if in_python or hooked or of_all_sizes and len(live) > 1:
        parts, compiled, found = in_parts(live, seeds, wrt, tape.hooks, last)
        tape.walk = (f"in {parts} parts, {compiled} of them as a compiled Flow (gradients in Python: {in_python}, "
                     f"values with hooks: {hooked}"
                     + (f", compiled functions of open sizes: {of_all_sizes})" if of_all_sizes else ")"))
        return found
    tape.walk, found = of_plain(live, seeds, wrt, last, traced)
    return found


def of_plain(live, seeds, wrt, last=False, traced=None):
    """(how, the gradients) by entries that are graphs, with no hooks between them. traced: what `trace_tape` gave for them"""
    key, saved = structure(live) if traced is None else traced
    how, flow = (OF_ITS_OWN, None) if _is_single_flow(live) or live[0].backward.open else flow_of(
        (key, *_asked(seeds, wrt)), live, seeds, wrt, saved)
    if flow is not None:
        return how, run_flow(flow, saved, seeds)
    saved.clear()                                    # whoever holds the list: what was saved is let go as the walk passes it
    start = time.perf_counter()
    found = one_by_one(live, seeds, wrt, last)
    if how is not OF_ITS_OWN and how is not CHECKED:
        _structures_walked((key, *_asked(seeds, wrt)), time.perf_counter() - start)
    return how, found


def in_parts(live, seeds, wrt, hooks, last=False):
    """(how many parts, how many of them ran as a compiled Flow, the gradients): part by part of the tape.

    hooks : as Tape.hooks; those of `wrt` are not called
    """
    cotangents, count, compiled = Cotangents(seeds), 0, 0
    for count, part in enumerate(parts_between(live, hooks), 1):
        for number in part[0].outputs[::-1 if part[0].backward.of_function else 1]:
            if hooks.get(number) and number in cotangents:
                cotangents[number] = through(hooks[number], cotangents[number])
        inside = dict.fromkeys(n for entry in part for n in entry.outputs)
        given = [(n, cotangents.pop(n)) for n in inside if n in cotangents]
        if not given:
            continue
        asked = list(dict.fromkeys(n for entry in part for n in entry.inputs if n not in inside))
        how, found = of_plain(part, given, asked, last) if len(part) > 1 else (None, one_by_one(part, given, asked, last))
        compiled += how in (REUSED, BUILT) or _is_single_flow(part)
        if last:
            for entry in part:
                entry.saved = ()
        for number, gradient in zip(asked, found):
            if gradient is not None:
                cotangents.add(number, gradient)
    emit("backward_parted", parts=count, compiled=compiled)
    return count, compiled, [cotangents.get(number) for number in wrt]


def parts_between(live, hooks):
    """Runs of entries that are graphs, each entry with hooks on its results being the first of one; others by themselves."""
    part: list = []
    for entry in live:
        if part and not (_is_plain(entry.backward) and _is_plain(part[-1].backward)
                         and not any(map(hooks.get, entry.outputs))):
            yield part
            part = []
        part.append(entry)
    yield part


class Cotangents(dict):
    """{number of a value: the sum of what has flowed to it}"""

    def __init__(self, seeds=()):
        super().__init__()
        for number, value in seeds:
            self.add(number, value)

    def add(self, number, cotangent):
        """Add to what has flowed to a value."""
        before = self.get(number)
        self[number] = cotangent if before is None else ops.add(before, cotangent)


def _asked(seeds, wrt):
    """What a structure is asked for, as a part of its key."""
    return tuple([(n, c.elements.shape, c.elements.dtype) for n, c in seeds]), tuple(wrt)


def run_flow(flow, saved, seeds):
    """The gradients that a compiled structure gives."""
    results = iter(apply(flow[0], [*saved, *[c for _, c in seeds]]))
    return [next(results) if flows else None for flows in flow[1]]


def _is_plain(backward):
    """True for a graph of known sizes that reads nothing but Tensors and numbers."""
    return backward.graph is not None and not backward.opaque and not backward.open


def _is_single_flow(live):
    """True for one entry whose backward is a Flow already: a call of a jitted function."""
    return len(live) == 1 and live[0].backward.graph is not None and isinstance(live[0].backward.operation.runner, Compiled)


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
    key = []
    indices: dict = {}
    saved: list = []
    for entry in live:
        reads = []
        for value in entry.saved:
            index = indices.get(id(value))
            if index is None:
                index = indices[id(value)] = len(saved)
                saved.append(value)
            reads.append(index)
        key.append((entry.backward.number, entry.inputs, entry.outputs, tuple(reads)))
    return tuple(key), saved


class Structure:
    """What is known of one structure of tapes.

    seconds : what walks of it have taken       order : the Order of its Flow, None before it is worth one
    flow    : (the GraphOperation, for each of wrt whether it has a gradient, the Backwards in it, which its key keeps alive)
    """
    __slots__ = ("seconds", "order", "flow")
    of_an_entry: ClassVar[float] = 5e-3                      # seconds of compiling, by what was compiled last

    def __init__(self):
        self.seconds, self.order, self.flow = 0.0, None, None

    def pays(self, entries):
        """True once a Flow is worth its compilation (Karlin et al. 1988); at the second visit where only counts decide."""
        return config.repeatable or not config.compile_beside or self.seconds >= PAYS * entries * Structure.of_an_entry


def _structures_walked(key, seconds):
    """A walk of the structure has taken so long."""
    with _lock:
        if key in _structures:
            _structures[key].seconds += seconds


def flow_of(key, live, seeds, wrt, saved):
    """(how it will run, the `flow` of its Structure; None where it is walked)."""
    if is_watching():
        return CHECKED, None
    if any([isinstance(value, Tensor) and value.placement is not None for value in (*saved, *[c for _, c in seeds])]):
        return PARTS, None                                   # ranks would change to a Flow at different times
    with _lock:
        seen = _structures.get(key)
        if seen is None:
            seen = _structures[key] = Structure()
            if len(_structures) > MAX_STRUCTURES:
                _structures.popitem(last=False)
            if not config.repeatable:
                return FIRST, None
        _structures.move_to_end(key)
        if seen.flow is None:
            if seen.order is None:
                if not seen.pays(len(live)):
                    return SELDOM, None
                recipe = Recipe(live, seeds, wrt, saved)
                seen.order = compile_beside(recipe.compile)
            if not seen.order.is_ready:
                return ORDERED, None
            seen.flow, nodes = seen.order.result()
            emit("backward_flow_build", name=seen.flow[0].name, nodes=nodes)
            return BUILT, seen.flow
        emit("backward_flow_reuse")
        return REUSED, seen.flow


class Recipe:
    """What a Flow is written from: the entries without the values that they saved, of which types and indices are kept."""

    def __init__(self, live, seeds, wrt, saved):
        indices = {id(value): index for index, value in enumerate(saved)}
        self.entries = [(entry.backward, entry.inputs, entry.outputs, [indices[id(value)] for value in entry.saved])
                        for entry in live]
        self.saved, self.wrt = [type_of(value) for value in saved], wrt
        self.seeds = [(number, type_of(value)) for number, value in seeds]
        self.is_here = all(t.device_of.is_host for t in (*saved, *[c for _, c in seeds]) if isinstance(t, Tensor))

    def compile(self):
        """(the `flow` of a Structure, how many nodes it has)."""
        start = time.perf_counter()
        with Stage("backward", user_location):
            graph, flows_to = self.write()
            nodes = len(graph.nodes)
            operation = GraphOperation(graph)
            if self.is_here:
                operation.compile()                          # elsewhere it is, whenever it runs
        Structure.of_an_entry = (Structure.of_an_entry + (time.perf_counter() - start) / max(1, len(self.entries))) / 2
        return (operation, flows_to, [backward for backward, *_ in self.entries]), nodes

    def write(self):
        """(the graph (*saved, *cotangents) -> gradients of the entries, for each of wrt whether it has a gradient)."""
        graph = FuncGraph("backward")
        parameters = [graph.add_parameter(f"saved{i}", abstract) for i, abstract in enumerate(self.saved)]
        with building(graph, by="grad") as builder, collecting():
            cotangents = Cotangents([(number, graph.add_parameter(f"dout{i}", abstract))
                                     for i, (number, abstract) in enumerate(self.seeds)])
            for backward, inputs, outputs, reads in self.entries:
                if all(cotangents.get(outputs[i]) is None for i in backward.seeds):
                    continue
                args = [parameters[index] for index in reads]
                for i, abstract in zip(backward.seeds, backward.douts):
                    dout = cotangents.pop(outputs[i], None)
                    args.append(builder.lift(zeros_like_abstract(abstract)) if dout is None else dout)
                for number, gradient in zip(inputs, inline(graph, backward.graph, args)):
                    cotangents.add(number, gradient)
            found = [cotangents.get(number) for number in self.wrt]
            graph.set_outputs([node for node in found if node is not None], make_tuple)
        return optimise(graph), [node is not None for node in found]


def type_of(value):
    """The abstract of a Tensor, wherever it lies, or a number."""
    return tensor_type(value) if isinstance(value, Tensor) else constant(value).abstract


def one_by_one(live, seeds, wrt, last=False):
    """The gradients, operation by operation. last: as `gradients` has it"""
    cotangents = Cotangents(seeds)
    for entry in live:
        backward = entry.backward
        if all(cotangents.get(entry.outputs[i]) is None for i in backward.seeds):
            continue
        douts = []
        for i, abstract in zip(backward.seeds, backward.douts):
            dout = cotangents.pop(entry.outputs[i], None)
            if dout is None and (backward.graph is not None or backward.materialize):
                dout = Tensor.wrap(np.zeros(abstract.shape, abstract.dtype.numpy))
            douts.append(dout)
        if backward.graph is None:
            found = backward.run(entry.saved, douts)
        elif is_watching():
            found = apply_checked(backward.operation, [*entry.saved, *douts], getattr(entry, "location", None))
        else:
            found = apply(backward.operation, [*entry.saved, *douts])
        if last:
            entry.saved = ()
        for number, gradient in zip(entry.inputs, found):
            if gradient is not None:
                cotangents.add(number, gradient)
    return [cotangents.get(number) for number in wrt]
