"""Walking a tape backwards: from cotangents of results to gradients of what was watched.

The structure of a tape, from its results back to the watched values, is a key. A structure that is new runs operation
by operation; when that has taken so long that compiling pays, the backward graphs of all its entries are written into one
graph, which is optimised and compiled as one Flow, beside the run (beside.py), and used from then on. Hooks and backwards
written in Python part it: what stands between them is compiled in this way (event "backward_parted").

Structures that differ in sizes only are one kind. They share what walks have taken, and from the second one on a Flow that is
compiled has Symbols for the sizes that differed (sizes.py): one compile serves all lengths. What a Flow needs of sizes that no
saved value shows is given to it as numbers.

    tape  %1 = mul(%0, 2.0); %2 = tanh(%1)        grad(2.0, out, dout):  d1 = dout * (1 - out * out);  d0 = d1 * 2.0

How a tape was walked stands on it (`Tape.walk`), for `explain`.
"""
import time
from collections import OrderedDict

import numpy as np

from .. import ops
from ..common.config import config
from ..common.dim import Dim, lone_symbol
from ..common.errors import InternalError, MindliteError, Stage, user_location
from ..common.events import emit, is_heard
from ..common.locks import new_lock
from ..common.recent import Recent
from ..common.storage import elsewhere
from ..common.tensor import Tensor
from ..common.threads import here
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.builder import building, constant, tensor_type
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.inline import inline, symbols_used
from ..ops.creation import of_type
from ..optim import optimise
from .array_walk import by_arrays
from .beside import Making, pays
from .finite import apply_checked, is_watching
from .hooks import through
from .interpreter import apply
from .kernels import Compiled
from .native import trace_tape
from .operation import GraphOperation
from .sizes import Fit, Visits

MAX_STRUCTURES = 512
MOST_FLOWS = 4                                   # of structures that differ in sizes only
REUSED, BUILT = "as one compiled Flow", "as one Flow, compiled for it"
FIRST = "operation by operation: the first of its structure"
SELDOM = "operation by operation: to compile its structure does not pay yet"
ORDERED = "operation by operation, while its structure is being compiled"
PARTS = "operation by operation: ranks have parts of what was saved"
CHECKED = "operation by operation, each one checked for NaN and infinity"
OF_ITS_OWN = "as the Flow of the one compiled function on it"
NOTHING = "not at all: nothing that is asked for depends on what was watched"
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
    traced = found = None
    if not is_watching() and all([number in wrt for number in tape.hooks]):    # those of `wrt` are called behind this
        traced = trace_tape(tape, tuple([number for number, _ in seeds]))
        if traced is not None:
            found = _structures.use((traced[0], *_asked(seeds, wrt)))
            if type(found) is Use:
                emit("backward_flow_reuse")
                tape.walk = REUSED
                return run_flow(found, traced[1], seeds)
    live = live_entries(tape, [number for number, _ in seeds])
    if not live:
        tape.walk = NOTHING
        return list(map(Cotangents(seeds).get, wrt))
    if found is not None and not tape.hooks:                 # all its entries are graphs
        tape.walk, gradients_found = of_plain(live, seeds, wrt, last, traced)
        return gradients_found
    in_python = sum(entry.backward.in_python or entry.backward.opaque for entry in live)
    of_all_sizes = sum(not entry.backward.in_python and entry.backward.open for entry in live)
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
    start = time.thread_time()
    key, saved = structure(live) if traced is None else traced
    if _is_single_flow(live) or live[0].backward.open:
        how, use, kind = OF_ITS_OWN, None, None
    else:
        how, use, kind = flow_of((key, *_asked(seeds, wrt)), live, seeds, wrt, saved)
    if use is not None:
        return how, run_flow(use, saved, seeds)
    saved.clear()                                    # whoever holds the list: what was saved is let go as the walk passes it
    found = one_by_one(live, seeds, wrt, last)
    if kind is not None:
        with _lock:
            kind.seconds += time.thread_time() - start
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
        given = [(n, cotangents.take(n)) for n in inside if n in cotangents]
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

    def take(self, number):
        """What has flowed to a value, which goes on from here; None if nothing has."""
        return self.pop(number, None)


def _asked(seeds, wrt):
    """What a structure is asked for, as a part of its key."""
    return tuple([(n, c.elements.shape, c.elements.dtype) for n, c in seeds]), tuple(wrt)


def run_flow(use, saved, seeds):
    """The gradients that a compiled structure gives. use: a Use"""
    results = iter(apply(use.flow.operation, [*saved, *[c for _, c in seeds], *use.numbers]))
    return [next(results) if flows else None for flows in use.flow.flows_to]


def _is_plain(backward):
    """True for a graph of known sizes that reads nothing but Tensors and numbers."""
    return not (backward.in_python or backward.opaque or backward.open)


def _is_single_flow(live):
    """True for one entry whose backward is a Flow already: a call of a jitted function."""
    return len(live) == 1 and not live[0].backward.in_python and isinstance(live[0].backward.operation.runner, Compiled)


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


class Flow:
    """A compiled structure.

    operation : the GraphOperation (*saved, *cotangents, *numbers) -> gradients
    flows_to  : for each of wrt whether it has a gradient
    symbols   : those whose sizes are the numbers
    """
    __slots__ = ("operation", "flows_to", "symbols")

    def __init__(self, operation, flows_to, symbols):
        self.operation, self.flows_to, self.symbols = operation, flows_to, symbols


class Walked:
    """A structure that was walked. backwards: those of it, whose addresses stand in its key"""
    __slots__ = ("kind", "sizes", "backwards")

    def __init__(self, kind, sizes, live):
        self.kind, self.sizes, self.backwards = kind, sizes, [entry.backward for entry in live]


class Use:
    """A Flow for the sizes of one structure. numbers: what the Flow takes behind the cotangents; backwards: those of the
    structure, whose addresses stand in its key"""
    __slots__ = ("flow", "numbers", "backwards")

    def __init__(self, flow, env, live):
        self.flow, self.numbers = flow, [env[symbol] for symbol in flow.symbols]
        self.backwards = [entry.backward for entry in live]


class Kind:
    """What is known of the structures that differ in sizes only.

    visits  : Visits of their sizes, with a Flow for each pattern, None where none could be made
    seconds : what walks have taken since the last Flow was made       making : the Flow that comes next; pattern : its pattern
    """
    __slots__ = ("seconds", "making", "pattern", "visits")
    pattern: tuple

    def __init__(self):
        self.seconds, self.making, self.pattern, self.visits = 0.0, Making(), (), Visits()

    def pays(self, live):
        """True once a Flow is worth its compilation; at the second visit where only counts decide."""
        return config.repeatable or not config.compile_beside or pays(self.seconds, nodes_of(live))

    def considered(self, sizes, live, make):
        """(how structures of these sizes run, their Use or None). make: pattern -> Recipe, to order what is worth it"""
        flow, env = self.visits.find(sizes)
        if flow is not None:
            return REUSED, Use(flow, env, live)
        if self.making.order is None:
            if env is not None or len(self.visits.made) >= MOST_FLOWS:
                return SELDOM, None
            self.pattern = tuple(sizes) if config.repeatable else self.visits.pattern()
        order = self.making.find(lambda: make(self.pattern).compile, nodes_of(live), self.seconds, lambda: self.pays(live),
                                 what=tuple([isinstance(size, Dim) for size in self.pattern]))
        if order is None:
            return (SELDOM if self.making.order is None or self.making.order.asks else ORDERED), None
        flow, nodes = order.result()
        self.seconds, self.making = 0.0, Making()
        self.visits.put(self.pattern, flow)
        if flow is None:
            return SELDOM, None
        emit("backward_flow_build", name=flow.operation.name, nodes=nodes)
        env = Fit(self.pattern)(sizes)
        return (SELDOM, None) if env is None else (BUILT, Use(flow, env, live))


def nodes_of(live):
    """How many nodes the backward graphs of these entries have."""
    return sum([entry.backward.nodes for entry in live])


class Structures(OrderedDict):
    """{key: the Use of a structure, or how it was Walked}, MAX_STRUCTURES of them; kinds: {key without sizes: Kind}"""

    def __init__(self):
        super().__init__()
        self.kinds = Recent()

    def clear(self):
        """Forget all, the kinds too."""
        super().clear()
        self.kinds.clear()

    def use(self, key):
        """What is known of a structure, which becomes the latest, or None."""
        with _lock:
            found = self.get(key)
            if found is not None:
                self.move_to_end(key)
            return found

    def enter(self, key, use):
        """A structure was seen."""
        self[key] = use
        self.move_to_end(key)
        if len(self) > MAX_STRUCTURES:
            self.popitem(last=False)


_structures = Structures()


def sizes_of(live, seeds):
    """The sizes of a structure: those in its Backwards that are copies, and those of cotangents above 1."""
    return (*[n for entry in live for n in entry.backward.sizes], *[n for _, c in seeds for n in c.elements.shape if n > 1])


def kind_key(live, seeds, wrt, saved):
    """What a structure is beside its sizes, hashable."""
    index_of = {id(value): index for index, value in enumerate(saved)}
    entries = [(e.backward.kind, e.inputs, e.outputs, tuple([index_of[id(value)] for value in e.saved])) for e in live]
    return tuple(entries), tuple([(n, tuple([min(size, 2) for size in c.elements.shape]), c.elements.dtype)
                                  for n, c in seeds]), tuple(wrt)


def flow_of(key, live, seeds, wrt, saved):
    """(how it will run, its Use or None: it is walked; its Kind, None where the walk does not count)."""
    if is_watching():
        return CHECKED, None, None
    if elsewhere.sharded and any([isinstance(value, Tensor) and value.placement is not None
                                  for value in (*saved, *[c for _, c in seeds])]):
        return PARTS, None, None                             # ranks would change to a Flow at different times
    known = _structures.use(key)
    if type(known) is Use:
        emit("backward_flow_reuse")
        return REUSED, known, None
    with _lock:
        is_first = known is None
        if is_first:
            known, is_new = walked(key, live, seeds, wrt, saved)
            if is_new and not config.repeatable:
                return FIRST, None, known.kind
        how, use = known.kind.considered(known.sizes, live, lambda pattern: Recipe(live, seeds, wrt, saved, pattern))
        if use is not None:
            _structures.enter(key, use)
            if how is REUSED:
                emit("backward_flow_reuse")
        return (FIRST if is_first and how is SELDOM else how), use, known.kind


def walked(key, live, seeds, wrt, saved):
    """(the Walked of a structure that is seen for the first time, whether its Kind is new)."""
    sizes, kinds = sizes_of(live, seeds), _structures.kinds
    like = kind_key(live, seeds, wrt, saved)
    kind = kinds.find(like)
    is_new = kind is None
    if is_new:
        kind = kinds.put(like, Kind(), MAX_STRUCTURES)
    kind.visits.enter(sizes)
    made = Walked(kind, sizes, live)
    _structures.enter(key, made)
    return made, is_new


class Recipe:
    """What a Flow is written from: the entries without the values that they saved, of which types and indices are kept.

    pattern : an int or Dim for each of `sizes_of`
    """

    def __init__(self, live, seeds, wrt, saved, pattern):
        indices = {id(value): index for index, value in enumerate(saved)}
        self.entries = [(entry.backward, entry.inputs, entry.outputs, [indices[id(value)] for value in entry.saved])
                        for entry in live]
        self.saved, self.wrt, self.pattern = [type_of(value) for value in saved], wrt, pattern
        self.seeds = [(number, type_of(value)) for number, value in seeds]
        self.is_open = any(isinstance(size, Dim) for size in pattern)
        self.is_here = all(t.device_of.is_host for t in (*saved, *[c for _, c in seeds]) if isinstance(t, Tensor))

    def compile(self):
        """(the Flow, how many nodes it has); (None, 0) where the sizes cannot be open."""
        with Stage("backward", user_location):
            graph, flows_to, symbols = self.write_open() if self.is_open else (*self.write(self.graphs()), [])
            if graph is None:
                return None, 0
            nodes = len(graph.nodes)
            operation = GraphOperation(graph)
            if self.is_here:
                operation.compile()                          # elsewhere it is, whenever it runs
        return Flow(operation, flows_to, symbols), nodes

    def graphs(self):
        """The graph of each entry, with what the pattern says in place of its sizes."""
        sizes = iter(self.pattern)
        return [backward.graph_of(tuple([next(sizes) for _ in backward.sizes])) for backward, *_ in self.entries]

    def write_open(self):
        """`write` for open sizes, and the Symbols whose sizes nothing that is given shows; None thrice where what one entry
        says of a size does not show that it is what another one says."""
        graphs, sizes = self.graphs(), iter(self.pattern[sum(len(backward.sizes) for backward, *_ in self.entries):])
        for graph, (_, _, _, reads) in zip(graphs, self.entries):
            for index, p in zip(reads, graph.parameters):
                self.saved[index] = p.abstract
        self.seeds = [(number, AbstractTensor(a.dtype, tuple([next(sizes) if n > 1 else n for n in a.shape])))
                      for number, a in self.seeds]
        try:
            graph, flows_to = self.write(graphs)
        except InternalError:
            raise
        except MindliteError:
            return None, None, None
        if graph is None:
            return None, None, None
        shown = {lone_symbol(size) for p in graph.parameters for size in getattr(p.abstract, "shape", ())}
        symbols = sorted(symbols_used(graph) - shown, key=lambda s: s.number)
        for symbol in symbols:
            graph.add_parameter(symbol.name, AbstractScalar(int, symbol.dim))
        return graph, flows_to, symbols

    def write(self, graphs):
        """(the graph (*saved, *cotangents) -> gradients of the entries, for each of wrt whether it has a gradient).

        (None, None) where open sizes are not shown to be equal that have to be
        """
        graph = FuncGraph("backward")
        parameters = [graph.add_parameter(f"saved{i}", abstract) for i, abstract in enumerate(self.saved)]
        with building(graph, by="grad") as builder, collecting() as assumed:
            cotangents = Cotangents([(number, graph.add_parameter(f"dout{i}", abstract))
                                     for i, (number, abstract) in enumerate(self.seeds)])
            for (backward, inputs, outputs, reads), below in zip(self.entries, graphs):
                if all(cotangents.get(outputs[i]) is None for i in backward.seeds):
                    continue
                args = [parameters[index] for index in reads]
                for i, p in zip(backward.seeds, below.parameters[len(args):]):
                    dout = cotangents.pop(outputs[i], None)
                    args.append(builder.lift(of_type(p.abstract)) if dout is None else dout)
                if self.is_open and any(isinstance(p.abstract, AbstractTensor) and p.abstract != arg.abstract
                                        for p, arg in zip(below.parameters, args)):
                    return None, None
                for number, gradient in zip(inputs, inline(graph, below, args)):
                    cotangents.add(number, gradient)
            if self.is_open and assumed:
                return None, None
            found = [cotangents.get(number) for number in self.wrt]
            graph.set_outputs([node for node in found if node is not None], make_tuple)
        return optimise(graph), [node is not None for node in found]


def type_of(value):
    """The abstract of a Tensor, wherever it lies, or a number."""
    return tensor_type(value) if isinstance(value, Tensor) else constant(value).abstract


def one_by_one(live, seeds, wrt, last=False):
    """The gradients, operation by operation. last: as `gradients` has it"""
    watching = is_watching()
    if not (config.repeatable or here.state.tapes or watching or any([e.backward.in_python for e in live])):
        return by_arrays(live, seeds, wrt, last)             # no code of the program runs in it, and nothing is recorded
    cotangents = Cotangents(seeds)
    for entry in live:
        backward = entry.backward
        douts = [cotangents.take(entry.outputs[i]) for i in backward.seeds]
        if all([dout is None for dout in douts]):
            continue
        if not backward.in_python or backward.materialize:
            douts = [Tensor.wrap(np.zeros(abstract.shape, abstract.dtype.numpy)) if dout is None else dout
                     for dout, abstract in zip(douts, backward.douts)]
        if backward.in_python:
            found = backward.run(entry.saved, douts)
        elif watching:
            found = apply_checked(backward.operation, [*entry.saved, *douts], getattr(entry, "location", None))
        else:
            found = apply(backward.operation, [*entry.saved, *douts])
        if last:
            entry.saved = ()
        for number, gradient in zip(entry.inputs, found):
            if gradient is not None:
                cotangents.add(number, gradient)
    return [cotangents.get(number) for number in wrt]
