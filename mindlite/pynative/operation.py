"""Operations: what eager mode knows of one operator for one signature, or of one typed graph.

    Operation(add, f32[2], f32[2])      compute(a, b) -> array          backward((0, 1)) -> Backward: dout -> da, db

Both kinds give a `Backward` for the inputs that are differentiated: a typed graph from saved values and cotangents to
gradients. A Backward is a graph, so it is an operation too, and has a Backward itself: order is unbounded.

The derivative of an operator is written once for all sizes: where a signature differs in sizes from earlier ones of the operator,
the rule is asked for it with Symbols, and what it gives is copied with the sizes of each signature in their places.

    mul, f32[5, 8], f32[5, 1]      mul, f32[9, 8], f32[9, 1]      ->  a Derivative over n; Backwards of n = 9, n = 7, ..
"""
import copy
import functools
import itertools
import weakref

import numpy as np

from ..ad import gradients_only
from ..ad.activity import is_differentiable, is_integer
from ..common.config import config
from ..common.device import listeners
from ..common.dim import UnknownValueError, evaluate, lone_symbol
from ..common.errors import GradientError, InternalError, MindliteError, Stage, user_location
from ..common.events import emit
from ..common.locks import new_lock
from ..common.recent import Recent
from ..common.storage import DeviceArray, ShardedArray, moved
from ..mindir.abstract import AbstractAny, AbstractTensor, AbstractTuple, map_dims
from ..mindir.builder import building, typed
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.inline import clone, drop_dead_nodes, symbols_of_graph, symbols_used, with_sizes
from ..mindir.primitive import bprop_rule, expand_rule, infer_rule
from ..ops.basic import cast
from ..optim import optimise
from .kernels import Compiled
from .local_program import LocalProgram, program_key
from .products import Waiting, are_few_rows, is_product, waiting_of
from .sizes import Fit, Guards, Visits, symbols_in
from .walks import SEVERAL, KernelOfSizes, OpenGraph, Walk, can_walk, shows_its_sizes, walk_of
from collections.abc import Callable
from typing import Any

MOST_FAMILIES = 1 << 12
FEW_PATTERNS = 2                                 # of a family that leave as little open as they can; then as much as varied
MOST_PATTERNS = 8                                # of a family: each costs as much as the derivative of one signature
FEW_NODES = 4                                    # of a derivative, as an operator's rule writes it: no pass changes such a one
SIZED = frozenset(("shape", "size", "sizes", "start"))       # attributes whose numbers are sizes, or places among them
_numbers = itertools.count()
_families = Recent()                             # {what a signature is beside its sizes: Visits of its sizes}
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
    sizes : those in it that come from a Derivative; () where it is of its own
    kind  : a number that Backwards of one Derivative share
    nodes : how many the graph has
    """

    in_python, sizes = False, ()

    def __init__(self, wrt, seeds, sources, graph, of_function=False):
        self.wrt, self.seeds, self.number, self.of_function = wrt, seeds, next(_numbers), of_function
        self.kind, n = self.number, len(sources)
        used = set(graph.outputs).union(*(node.args for node in graph.nodes), what_shows_sizes(graph, n))
        sources, graph.parameters = [source for source, p in zip(sources, graph.parameters) if p in used], [
            *[p for p in graph.parameters[:n] if p in used], *graph.parameters[n:]]
        self.saved, self.open = tuple(sources), bool(symbols_of_graph(graph))
        self.douts = tuple([p.abstract for p in graph.parameters[len(self.saved):]])
        self.graph, self.nodes = graph, len(graph.nodes)
        self.opaque = reads_objects(graph)
        self.operation = GraphOperation(graph)

    def of_sizes(self, outs):
        """The same for the sizes of these results of the operation: `douts` are known."""
        if not self.open:
            return self
        made = copy.copy(self)
        made.douts = tuple([AbstractTensor(d.dtype, outs[i].shape) for i, d in zip(self.seeds, self.douts)])
        return made

    def graph_of(self, sizes):
        """The graph with these, ints or Dims, in place of its sizes."""
        return self.graph


class BackwardOfSizes:
    """A Backward that is a copy of a Derivative. Its graph is written when it is walked; a Flow of all sizes does not need it.

    outs : the abstracts of the results; sizes : a number for each Symbol of the Derivative
    """

    in_python = open = False

    def __init__(self, derivative, seeds, outs, sizes):
        self.derivative, self.sizes, self.number, self.kind = derivative, sizes, next(_numbers), derivative.number
        self.wrt, self.seeds, self.of_function = derivative.wrt, seeds, derivative.of_function
        self.saved, self.nodes, self.opaque = derivative.sources, len(derivative.graph.nodes), derivative.opaque
        self.douts = tuple([outs[i] for i in seeds])

    @functools.cached_property
    def graph(self):
        """As of a Backward."""
        return self.derivative.with_sizes(self.sizes)

    @functools.cached_property
    def operation(self):
        """As of a Backward."""
        return OperationOfSizes(self) if self.derivative.walks else GraphOperation(self.graph)

    def of_sizes(self, outs):
        """Itself: its sizes are known."""
        return self

    def graph_of(self, sizes):
        """As of a Backward."""
        return self.graph if sizes == self.sizes else self.derivative.with_sizes(sizes)


def reads_objects(graph):
    """True for a graph that reads objects of Python."""
    return any(isinstance(p.abstract, AbstractAny) for p in graph.parameters)


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
        self.name, self.of_function = prim.name, prim not in bprop_rule
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

    def key(self, opening):
        """What the signature is beside its sizes, hashable."""
        return (self.prim, *[(a.dtype, opening(a.shape)) if isinstance(a, AbstractTensor) else repr(a) for a in self.abstracts],
                repr({name: opening(value) if name in SIZED else value for name, value in self.attrs.items()}))

    def family(self):
        """(what the signature is beside its sizes, the sizes)."""
        opening = Opening()
        key = self.key(opening)
        return key, tuple(opening.taken)

    def opened(self, opening):
        """The same operator for other sizes."""
        abstracts = tuple([opening(a) if isinstance(a, AbstractTensor) else a for a in self.abstracts])
        attrs = {name: opening(value) if name in SIZED else value for name, value in self.attrs.items()}
        return Operation(self.prim, abstracts, attrs, infer_rule[self.prim](*abstracts, **attrs))

    def _build(self, wrt):
        derivative, env = derivative_for(self, wrt)
        if derivative is not None:
            return derivative.of_sizes(self, env)
        if self.prim not in bprop_rule and self.prim not in expand_rule:
            if all(map(is_integer, self.outs)):
                return None
            raise GradientError(f"{self.prim.name} has no gradient")
        wrt, sources, graph = self.derive(wrt)
        return Backward(wrt, self.seeds, sources, graph, of_function=self.of_function)

    def derive(self, wrt):
        """(the operands with a gradient, sources, graph) of a Backward, by the rule of the operator or what it is written in."""
        if self.prim not in bprop_rule:
            graph = typed(lambda *args: self.prim(*args, **self.attrs), *self.abstracts, name=self.prim.name)
            return derived(graph, wrt, self.seeds)
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
        graph = drop_dead_nodes(graph)
        return wrt, sources, graph if len(graph.nodes) <= FEW_NODES else optimise(graph)


class Derivative:
    """What the Backwards of an operator for different sizes are copies of.

    wrt, sources, graph : as a Backward is made of them; symbols : those of the sizes, in order
    guards : what has to hold of the sizes;   is_possible : False where the rules ask for more than the sizes
    walks : one graph is run for all sizes; False where a copy with known sizes may be compiled, and that of all sizes not
    """

    def __init__(self, operation, wrt, symbols, assumed):
        with collecting() as more:
            self.wrt, sources, graph = operation.derive(wrt)
        self.number, self.symbols, self.of_function = next(_numbers), symbols, operation.of_function
        self.guards = Guards((*assumed, *more), set(symbols))
        self.is_possible = self.guards.are_known and symbols_of_graph(graph) <= set(symbols)
        used = set(graph.outputs).union(*(node.args for node in graph.nodes))
        saved = graph.parameters[:len(sources)]
        self.sources = tuple([source for source, p in zip(sources, saved) if p in used])
        graph.parameters = [p for p in saved if p in used] + graph.parameters[len(sources):]
        self.graph, self.outs, self.opaque = graph, operation.outs, reads_objects(graph)
        self.walks = can_walk(graph, open_sizes=True) and (len(graph.nodes) < SEVERAL or shows_its_sizes(graph))
        self.without_products: dict = {}

    @functools.cached_property
    def operation(self):
        """The graph as an operation over Symbols."""
        return GraphOperation(self.graph)

    @functools.cached_property
    def opened(self):
        """The graph as it is run for known sizes, an OpenGraph."""
        return improving(self.graph)

    @functools.cached_property
    def products(self):
        """[(number, operands, node)] of the gradients that may be products which wait (products.py)."""
        return [(i, node.args, node) for i, node in enumerate(self.graph.outputs) if is_product(node)]

    def waiting(self, env):
        """(the OpenGraph without the products that wait for these sizes, its results); None where none does."""
        numbers = frozenset([i for i, operands, node in self.products if are_few_rows(
            [evaluate(a.abstract.size, env) for a in operands], evaluate(node.abstract.size, env))])
        if not numbers:
            return None
        if numbers not in self.without_products:
            made = Waiting(self.graph, numbers)
            self.without_products[numbers] = improving(made.graph), made.results
        return self.without_products[numbers]

    def of_sizes(self, operation, env):
        """The Backward of an operation. env: {Symbol: its size}

        raises : InternalError where the rules gave another type for Symbols
        """
        if tuple([map_dims(lambda dim: evaluate(dim, env), out) for out in self.outs]) != tuple(operation.outs):
            raise InternalError(f"{operation.name} gives {self.outs} for open sizes, and {operation.outs}")
        return BackwardOfSizes(self, operation.seeds, operation.outs, tuple([env[s] for s in self.symbols]))

    def with_sizes(self, sizes):
        """A copy of the graph. sizes: an int or Dim for each of the symbols"""
        return with_sizes(self.graph, dict(zip(self.symbols, sizes)), whole=False)


def improving(graph):
    """A graph of open sizes as an OpenGraph, which is compiled where it has several nodes."""
    def compiled():
        with Stage("backward", user_location):
            return Compiled(graph)
    return OpenGraph(graph, KernelOfSizes(compiled, len(graph.nodes), len(graph.nodes) >= SEVERAL and shows_its_sizes(graph)))


class _Size:
    """Stands in a key where a size was taken out: None, and all that a user can write, means something else there."""

    def __repr__(self):
        return "<size>"


SIZE = _Size()


class Opening:
    """A walk over arguments that takes the sizes out, or puts others in their places: `taken` are those that it met.

    given : an iterator of what to put there, or None
    """

    def __init__(self, given=None):
        self.given, self.taken = given, []

    def __call__(self, value, least=2):
        """A value with what is given, or SIZE, for each int in it that may be a size: those from `least` on."""
        if type(value) in (tuple, list):
            return type(value)([self(part, least) for part in value])
        if isinstance(value, AbstractTensor):
            return AbstractTensor(value.dtype, self(value.shape))
        if type(value) is not int or value < least:
            return value
        self.taken.append(value)
        return SIZE if self.given is None else next(self.given)


def derivative_for(operation, wrt):
    """(the Derivative that serves these sizes, {Symbol: size}); (None, None) where the signature is the first of its kind, or a
    rule asks for the numbers. Where a program that runs again is to compute the same there is none."""
    if config.repeatable or any(not isinstance(size, int) for a in operation.abstracts for size in getattr(a, "shape", ())):
        return None, None
    key, sizes = operation.family()
    made, env = made_for((key, wrt), sizes, lambda pattern: open_derivative(operation, wrt, pattern))
    return (None, None) if made is None or not made.guards.hold(env) else (made, env)


def made_for(key, sizes, make):
    """(what serves these sizes, {Symbol: size}), by make(pattern) the first time; (None, None) for the first sizes of their
    family, and where make gives None. key: what is known beside the sizes"""
    visits = _families.find(key) or _families.put(key, Visits(), MOST_FAMILIES)
    made, env = visits.find(sizes)
    if env is None and len(visits.made) < MOST_PATTERNS:
        pattern = visits.nearest(sizes) if len(visits.made) < FEW_PATTERNS else visits.pattern(sizes)
        if pattern is not None:
            made, env = make(pattern), Fit(pattern)(sizes)
            visits.put(pattern, made)
    visits.enter(sizes)
    return (None, None) if made is None else (made, env)


def open_derivative(operation, wrt, pattern):
    """The Derivative of an operator for sizes of a pattern; None where its rules do not say it of Symbols."""
    try:
        with collecting() as assumed:
            made = operation.opened(Opening(iter(pattern)))
    except InternalError:
        raise
    except (MindliteError, UnknownValueError):
        return None
    return derivative_of(made, wrt, symbols_in(pattern), assumed) if made.seeds == operation.seeds else None


def derivative_of(operation, wrt, symbols, assumed=()):
    """The Derivative of an operation over Symbols; None where its rules ask for more. assumed: what holds of them besides"""
    try:
        found = Derivative(operation, wrt, symbols, assumed)
    except InternalError:
        raise
    except (MindliteError, UnknownValueError):
        return None
    return found if found.is_possible else None


class GraphOperation:
    """A typed graph as one operation: node by node, or compiled."""

    several = True
    abstracts: Any
    outs: Any

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
                self.runner = walk_of(self.graph) if can_walk(self.graph) else Compiled(self.graph)
        return self.runner.run(arrays)

    def run_quietly(self, arrays):
        """`run` for ndarrays, in a block in which NumPy does not warn of inf and NaN."""
        runner = self.runner
        return runner.function(arrays) if type(runner) is Walk else self.run(arrays)

    @functools.cached_property
    def waiting(self):
        """(the GraphOperation of a Waiting, its results); None where no product may wait."""
        made = waiting_of(self.graph) if self.runner is None and can_walk(self.graph) else None
        return None if made is None else (GraphOperation(made.graph), made.results)

    def run_sharded(self, arrays):
        """`run`, where ranks have parts of some arrays: each computes its own."""
        key = program_key(arrays)
        if key not in self.programs:
            self.programs[key] = LocalProgram(self.graph, key[2])
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
                    self.backwards[wrt] = self._build(wrt)
                emit("backward_graph_build", name=self.name)
        return self.backwards[wrt]

    def _build(self, wrt):
        return backward_of_graph(self.graph, wrt, self.seeds)


class OperationOfSizes(GraphOperation):
    """The operation of a BackwardOfSizes, which runs by the graph of all sizes. Its own is written where it is asked for."""

    def __init__(self, backward):
        derivative = backward.derivative
        opened = derivative.operation
        self.of, self.name, self.seeds, self.differentiable = backward, opened.name, opened.seeds, opened.differentiable
        self.env = dict(zip(derivative.symbols, backward.sizes))
        self.backwards, self.runner, self.offered, self.programs = {}, None, False, {}

    @functools.cached_property
    def graph(self):
        """As of a GraphOperation."""
        return self.of.graph

    @functools.cached_property
    def abstracts(self):
        """As of a GraphOperation."""
        return tuple([p.abstract for p in self.graph.parameters])

    @functools.cached_property
    def outs(self):
        """As of a GraphOperation."""
        return tuple([node.abstract for node in self.graph.outputs])

    @functools.cached_property
    def waiting(self):
        """As of a GraphOperation."""
        made = self.of.derivative.waiting(self.env)
        return None if made is None else (made[0].of_sizes(self.env), made[1])

    def run(self, arrays):
        """As of a GraphOperation; by the kernel of all sizes once it is there."""
        if not {ShardedArray, DeviceArray}.isdisjoint(map(type, arrays)):
            return super().run(arrays)
        return self.opened().run(arrays)

    def run_quietly(self, arrays):
        """As of a GraphOperation."""
        return self.opened().run_quietly(arrays)

    def opened(self):
        """The GraphOfSizes."""
        if self.runner is None:
            self.runner = self.of.derivative.opened.of_sizes(self.env)
        return self.runner


def backward_of_graph(graph, wrt, seeds):
    """The Backward of a graph by ad: the gradients only, from parameters and cotangents."""
    wrt, sources, made = derived(graph, wrt, seeds)
    return Backward(wrt, seeds, sources, made, of_function=True)


def derived(graph, wrt, seeds):
    """(wrt, sources, graph) of the Backward of a graph."""
    return wrt, [("in", i) for i in range(len(graph.parameters))], optimise(gradients_only(graph, wrt, seeds))
