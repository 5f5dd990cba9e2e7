"""Operations: what eager mode knows of one operator for one signature, or of one typed graph.

    Operation(add, f32[2], f32[2])      compute(a, b) -> array          backward((0, 1)) -> Backward: dout -> da, db

Both kinds give a `Backward` for the inputs that are differentiated: a typed graph from saved values and cotangents to
gradients. A Backward is a graph, so it is an operation too, and has a Backward itself: order is unbounded.
"""
import copy
import itertools
import weakref

import numpy as np

from ..ad import gradients_only
from ..ad.activity import is_differentiable, is_integer
from ..common.device import listeners
from ..common.dim import lone_symbol
from ..common.errors import GradientError, Stage, user_location
from ..common.events import emit
from ..common.locks import new_lock
from ..common.storage import DeviceArray, ShardedArray, moved
from ..mindir.abstract import AbstractAny, AbstractTensor, AbstractTuple
from ..mindir.builder import building, typed
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.inline import clone, drop_dead_nodes, symbols_of_graph, symbols_used
from ..mindir.primitive import bprop_rule, expand_rule
from ..ops.basic import cast
from ..optim import optimise
from .kernels import Compiled, Walk, can_walk
from .local_program import LocalProgram, program_key
from collections.abc import Callable
from typing import Any

_numbers = itertools.count()
_lock = new_lock()
_elsewhere: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()        # {GraphOperation: {where operands lie: Compiled}}
listeners.append(_elsewhere.clear)                           # what drives a device may be gone


class Backward:
    """The derivative of an operation.

    wrt   : numbers of the inputs that get a gradient
    seeds : numbers of the results whose cotangents it reads
    saved : what else it reads: ("in", number of the input) or ("out", number of the result)
    douts : the abstracts of those cotangents
    graph : (*saved, *cotangents) -> gradients, typed and optimised
    number: unique, for the structure of tapes
    open  : True where sizes are Symbols: one Backward for all sizes, which is not written into the Flow of a tape
    of_function : its results are of operators one after the other, so hooks see the last one's gradient first
    """

    def __init__(self, wrt, seeds, sources, graph, of_function=False):
        self.wrt, self.seeds, self.number, self.of_function = wrt, seeds, next(_numbers), of_function
        n = len(sources)
        used = set(graph.outputs).union(*(node.args for node in graph.nodes), what_shows_sizes(graph, n))
        self.open = bool(symbols_of_graph(graph))
        self.saved = tuple([source for source, p in zip(sources, graph.parameters) if p in used])
        graph.parameters = [p for p in graph.parameters[:n] if p in used] + graph.parameters[n:]
        self.douts = tuple([p.abstract for p in graph.parameters[len(self.saved):]])
        self.graph = graph
        self.opaque = any(isinstance(p.abstract, AbstractAny) for p in graph.parameters)    # it reads objects of Python
        self.operation = GraphOperation(graph)

    def of_sizes(self, outs):
        """The same for the sizes of these results of the operation: `douts` are known."""
        if not self.open:
            return self
        made = copy.copy(self)
        made.douts = tuple([AbstractTensor(d.dtype, outs[i].shape) for i, d in zip(self.seeds, self.douts)])
        return made


def what_shows_sizes(graph, n):
    """Those of the first n parameters that no node reads, but that are the only ones with a size which nodes use."""
    wanted = symbols_used(graph)
    if wanted:
        for p in reversed(graph.parameters):
            shown = {lone_symbol(size) for size in getattr(p.abstract, "shape", (getattr(p.abstract, "dim", None),))}
            if p in graph.parameters[:n] and wanted & shown:
                yield p
            wanted -= shown


class Operation:
    """An operator for operands of these abstracts. outs: the abstracts of its results; several: it gives a tuple."""
    compute: Callable[..., Any]
    is_view: bool

    def __init__(self, prim, abstracts, attrs, result):
        self.prim, self.abstracts, self.attrs = prim, abstracts, attrs
        self.several = isinstance(result, AbstractTuple)
        self.outs = result.elements if self.several else (result,)
        whole = any(map(is_integer, abstracts))                 # integers made of floats have no slope
        self.seeds = tuple([i for i, out in enumerate(self.outs)
                            if is_differentiable(out) and (whole or not is_integer(out))])
        self.differentiable = bool(self.seeds) and "stop_gradient" not in prim.traits
        self.backwards, self.offered = {}, False
        self.calls, self.plans = 0, 0                           # in Python, and how many plans were made of them (plans.py)

    def backward(self, wrt):
        """The Backward for the inputs numbered in `wrt`, built once. raises : GradientError if the operator has none"""
        found = self.backwards.get(wrt)
        if found is not None:
            return found
        with _lock:
            if wrt not in self.backwards:
                with Stage("backward", user_location):
                    self.backwards[wrt] = self._build(wrt)
                emit("backward_graph_build", name=self.prim.name)
        return self.backwards[wrt]

    def _build(self, wrt):
        if self.prim not in bprop_rule:
            if self.prim not in expand_rule:
                if all(map(is_integer, self.outs)):
                    return None
                raise GradientError(f"{self.prim.name} has no gradient")
            graph = typed(lambda *args: self.prim(*args, **self.attrs), *self.abstracts, name=self.prim.name)
            return backward_of_graph(graph, wrt, self.seeds)
        graph = FuncGraph(f"grad {self.prim.name}")
        args = [graph.add_parameter(f"x{i}", a) for i, a in enumerate(self.abstracts)]
        outs = [graph.add_parameter("out" if not self.several else f"out{i}", a) for i, a in enumerate(self.outs)]
        douts = {i: graph.add_parameter("dout" if not self.several else f"dout{i}", self.outs[i]) for i in self.seeds}
        with building(graph, by="grad") as builder, collecting():
            dout = tuple([douts.get(i) for i in range(len(outs))]) if self.several else douts[0]
            found = bprop_rule[self.prim](*args, out=tuple(outs) if self.several else outs[0], dout=dout, **self.attrs)
            found = found if isinstance(found, (tuple, list)) else (found,)
            wrt = tuple([i for i in wrt if found[i] is not None])
            ends = [cast(found[i], dtype=self.abstracts[i].dtype) if is_integer(self.abstracts[i]) else found[i]
                    for i in wrt]
            graph.set_outputs([builder.lift(end) for end in ends], make_tuple)
        sources = [("in", i) for i in range(len(args))] + [("out", i) for i in range(len(outs))]
        return Backward(wrt, self.seeds, sources, optimise(drop_dead_nodes(graph)))


class GraphOperation:
    """A typed graph as one operation: node by node, or compiled."""

    several = True

    def __init__(self, graph):
        self.graph, self.name = graph, graph.name
        self.abstracts = tuple([p.abstract for p in graph.parameters])
        self.outs = tuple([node.abstract for node in graph.outputs])
        self.seeds = tuple([i for i, out in enumerate(self.outs) if is_differentiable(out)])
        self.differentiable = bool(self.seeds)
        self.backwards, self.runner, self.offered, self.programs = {}, None, False, {}

    def run(self, arrays):
        """The outputs, a list of arrays and numbers, for ndarrays, DeviceArrays and numbers; they lie where those lie that are
        not on the CPU."""
        kinds = set(map(type, arrays))
        if ShardedArray in kinds:
            return self.run_sharded(arrays)
        if DeviceArray in kinds:
            return self.run_elsewhere(arrays)
        if self.runner is None:
            with Stage("backward", user_location):
                self.runner = Walk(self.graph, Operation) if can_walk(self.graph) else Compiled(self.graph)
        return self.runner.run(arrays)

    def run_sharded(self, arrays):
        """`run`, where ranks have parts of some arrays: each computes its own."""
        key = program_key(arrays)
        if key not in self.programs:
            self.programs[key] = LocalProgram(self.graph, key[2], Operation)
        return self.programs[key].run(arrays)

    def run_elsewhere(self, arrays):
        """`run`, compiled for where the arrays lie."""
        devices = tuple([a.device if type(a) is DeviceArray else None for a in arrays])
        device = next(filter(None, devices))
        known = _elsewhere.setdefault(self, {})
        if devices not in known:
            with Stage("backward", user_location):
                graph = clone(self.graph)
                for p, where in zip(graph.parameters, devices):
                    if where is not None:
                        p.abstract = p.abstract.on(where)
                known[devices] = Compiled(graph, device=device)
        return [moved(out, device) if isinstance(out, np.ndarray) else out for out in known[devices].run(arrays)]

    def compile(self):
        """From now on run as one compiled Flow."""
        with Stage("backward", user_location):
            self.runner = Compiled(self.graph)
        return self

    def backward(self, wrt):
        """The Backward for the parameters numbered in `wrt`, built once; it computes again what it needs."""
        found = self.backwards.get(wrt)
        if found is not None:
            emit("backward_graph_reuse", name=self.name)
            return found
        with _lock:
            if wrt not in self.backwards:
                with Stage("backward", user_location):
                    self.backwards[wrt] = backward_of_graph(self.graph, wrt, self.seeds)
                emit("backward_graph_build", name=self.name)
        return self.backwards[wrt]


def backward_of_graph(graph, wrt, seeds):
    """The Backward of a graph by ad: the gradients only, from parameters and cotangents."""
    sources = [("in", i) for i in range(len(graph.parameters))]
    return Backward(wrt, seeds, sources, optimise(gradients_only(graph, wrt, seeds)), of_function=True)
