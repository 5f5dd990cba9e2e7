"""Typed graphs in eager mode before they are compiled: node by node, as the lines of a Python function.

    Walk(graph).run(arrays)                       OpenWalk(graph over n).of_sizes({n: 7})  ->  a Walk of these sizes

The text of such a function says no sizes, so graphs that differ in those alone share its code. A graph of open sizes is written
once; what depends on sizes (attributes, and who computes an operator) is filled in for each tuple of them, no graph is copied.
A graph that is walked often is compiled beside the run (beside.py) once that is worth it (Karlin et al. 1988, ski rental).
"""
import time
import types
from typing import Any, ClassVar

import numpy as np

from ..common.config import config
from ..common.dim import evaluate, lone_symbol
from ..common.errors import InternalError, MindliteError, Stage, user_location
from ..common.recent import Recent
from ..mindir.abstract import AbstractTensor, AbstractTuple, dims_in, map_dims
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.inline import symbols_of_graph
from ..mindir.primitive import eval_rule
from .beside import Making, pays
from .kernels import Compiled, compute_of, depends_on_sizes, is_half

MAX_CODES = 1 << 12                              # texts of walks whose code is kept
SEVERAL = 6                                      # nodes of a graph: NumPy does fewer before a call of a Flow has begun


class NodeOperation:
    """What decides how a node is computed, as an Operation has it."""
    __slots__ = ("prim", "abstracts", "attrs", "outs", "several")

    def __init__(self, prim, abstracts, attrs, abstract):
        self.prim, self.abstracts, self.attrs = prim, abstracts, attrs
        self.several = isinstance(abstract, AbstractTuple)
        self.outs = abstract.elements if self.several else (abstract,)


class Code:
    """The lines of a graph without control flow, and what they read.

        def walk(arrays, f, k):      x0, x1 = arrays; v2 = f0(x0, x1, axis=k0); v3 = f1(v2, k1); return [v3]

    known : {name: a function or constant that the lines read}
    """
    _codes: ClassVar[Recent] = Recent()                      # {text: code}

    def __init__(self, graph):
        self.names = {p: f"x{i}" for i, p in enumerate(graph.parameters)}
        self.known: dict[str, Any] = {"as_array": _as_array}
        lines = [f"({', '.join(self.names.values())},) = arrays"] if graph.parameters else []
        for number, node in enumerate(graph.nodes):
            self.names[node] = f"v{number}"
            lines.append(f"v{number} = {self._expression(node)}")
        outputs = [f"as_array({self._name(node)})" for node in graph.outputs]
        text = "\n ".join(["def walk(arrays):", *lines, f"return [{', '.join(outputs)}]"])
        self.code = self._codes.find(text) or self._codes.put(
            text, compile(text, f"<{graph.name}>", "exec").co_consts[0], MAX_CODES)
        del self.names

    def _expression(self, node):
        """The right side of a node's line."""
        args = [self._name(a) for a in node.args]
        if node.fn is tuple_getitem:
            return f"{args[0]}[{node.attrs['index']}]"
        if node.fn is make_tuple:
            return f"({''.join([a + ', ' for a in args])})"
        attrs = [f"{name}={self._constant(value)}" for name, value in node.attrs.items()]
        return f"{self._function(node)}({', '.join(args + attrs)})"

    def _function(self, node):
        """The name of the function that computes a node."""
        operation = NodeOperation(node.fn, tuple([a.abstract for a in node.args]), node.attrs, node.abstract)
        compute = compute_of(operation)
        return self._constant(ufunc_of(operation, compute) or compute)

    def _constant(self, value):
        """The name of something that the function reads."""
        name = f"k{len(self.known)}"
        self.known[name] = value
        return name

    def _name(self, node):
        """What a node, or a constant, is called."""
        if isinstance(node, ValueNode) and node not in self.names:
            self.names[node] = self._constant(node.value)
        return self.names[node]


class Walk:
    """A typed graph of known sizes and without control flow, computed node by node. code: its Code, or None and `known`"""

    def __init__(self, graph):
        self._read(Code(graph))

    def _read(self, code, known=None):
        known = code.known if known is None else known
        self.is_quiet = any([type(value) is np.ufunc for value in known.values()])
        self.function = types.FunctionType(code.code, known)

    def run(self, arrays):
        """The outputs, a list of ndarrays and numbers."""
        if not self.is_quiet:
            return self.function(arrays)
        with np.errstate(all="ignore"):                      # inf and NaN are results
            return self.function(arrays)


class OpenWalk(Code):
    """What the Walks of a graph for different sizes share.

    sized : [(name, value with Dims)], constants and attributes;  choices : [(name, node)], operators of which sizes decide
            who computes them: `known` has the function for few elements
    """

    def __init__(self, graph):
        self.sized, self.choices = [], []
        super().__init__(graph)

    def _function(self, node):
        small = eval_rule[node.fn]
        operation = NodeOperation(node.fn, tuple([a.abstract for a in node.args]), node.attrs, node.abstract)
        name = self._constant(ufunc_of(operation, small) or small)
        if depends_on_sizes(node.fn, any(map(is_half, (*operation.abstracts, *operation.outs)))):
            self.choices.append((name, node))
        return name

    def _constant(self, value):
        name = super()._constant(value)
        if dims_in(value):
            self.sized.append((name, value))
        return name

    def of_sizes(self, env):
        """The Walk for {Symbol: size}."""
        known, abstracts = self.known.copy(), {}

        def number(dim):
            return evaluate(dim, env)

        def abstract(node):
            """The abstract of a node for these sizes; many nodes share one."""
            opened = node.abstract
            if id(opened) not in abstracts:
                abstracts[id(opened)] = map_dims(number, opened)
            return abstracts[id(opened)]
        for name, value in self.sized:
            known[name] = map_dims(number, value)
        for name, node in self.choices:
            attrs = {key: map_dims(number, value) for key, value in node.attrs.items()}
            compute = compute_of(NodeOperation(node.fn, tuple(map(abstract, node.args)), attrs, abstract(node)))
            if compute is not eval_rule[node.fn]:
                known[name] = compute
        walk = Walk.__new__(Walk)
        walk._read(self, known)
        return walk


def ufunc_of(operation, compute):
    """NumPy's own function where it gives for such operands what an operator's eval rule gives, in its dtype, as an ndarray."""
    ufunc, out = getattr(compute, "ufunc", None), operation.outs[0]
    if type(ufunc) is not np.ufunc or operation.attrs or not out.ndim:
        return None
    if not all([isinstance(a, AbstractTensor) and a.dtype.numpy.isbuiltin == 1 for a in operation.abstracts]):
        return None
    made = ufunc.resolve_dtypes((*[a.dtype.numpy for a in operation.abstracts], None))[-1]
    return ufunc if made == out.dtype.numpy else None


def _as_array(value):
    """A result of an eval rule, an ndarray where it is a number of NumPy's."""
    return np.asarray(value) if isinstance(value, np.generic) else value


class ImprovingWalk(Walk):
    """A Walk that is compiled beside the run once it has taken as long as that will: a part of tapes that comes again and again,
    as the step of a loop does."""

    def __init__(self, graph):
        super().__init__(graph)
        self.graph, self.nodes, self.seconds, self.making = graph, len(graph.nodes), 0.0, Making()

    def run(self, arrays):
        """The outputs, a list of ndarrays and numbers."""
        order = self.making.find(lambda: self.compile, self.nodes, self.seconds, lambda: pays(self.seconds, self.nodes))
        if order is not None:
            return order.result().run(arrays)
        start = time.thread_time()
        outs = super().run(arrays)
        self.seconds += time.thread_time() - start
        return outs

    def compile(self):
        """The graph as a Compiled one."""
        with Stage("backward", user_location):
            return Compiled(self.graph)


class KernelOfSizes:
    """A graph of open sizes that is computed otherwise for each tuple of sizes, and compiled for all of them once these runs have
    taken as long as that will.

    compile : () -> the Compiled graph        nodes : how many it has        seconds : what runs without it have taken
    """
    __slots__ = ("compile", "nodes", "seconds", "making", "is_possible")

    def __init__(self, compile_, nodes, is_possible):
        self.compile, self.nodes, self.seconds, self.making, self.is_possible = compile_, nodes, 0.0, Making(), is_possible

    def find(self):
        """The Compiled graph; None while it does not pay, or is being made, and where there is none."""
        if not self.is_possible or not config.compile_beside or config.repeatable:
            return None
        order = self.making.find(lambda: self.compile, self.nodes, self.seconds, lambda: pays(self.seconds, self.nodes))
        if order is None:
            return None
        try:
            return order.result()
        except InternalError:
            raise
        except MindliteError:                                # its rules say it of known sizes only
            self.is_possible = False
            return None

    def run_without(self, run, arrays):
        """run(arrays), whose time counts."""
        if not self.is_possible:
            return run(arrays)
        start = time.thread_time()
        outs = run(arrays)
        self.seconds += time.thread_time() - start
        return outs


class OpenGraph:
    """A graph of open sizes as it is run for known ones. walk: the OpenWalk; kernel: the KernelOfSizes"""
    __slots__ = ("walk", "kernel")

    def __init__(self, graph, kernel):
        self.walk, self.kernel = OpenWalk(graph), kernel

    def of_sizes(self, env):
        """The GraphOfSizes for {Symbol: size}."""
        return GraphOfSizes(self, env)


class GraphOfSizes:
    """An OpenGraph for {Symbol: size}: its kernel once that is there, a Walk before."""
    __slots__ = ("opened", "env", "walk")

    def __init__(self, opened, env):
        self.opened, self.env, self.walk = opened, env, None

    def run(self, arrays):
        """The outputs, a list of ndarrays and numbers."""
        kernel = self.opened.kernel
        compiled = kernel.find()
        if compiled is not None:
            return compiled.run(arrays)
        if self.walk is None:
            self.walk = self.opened.walk.of_sizes(self.env)
        return kernel.run_without(self.walk.run, arrays)

    def run_quietly(self, arrays):
        """`run` in a block in which NumPy does not warn of inf and NaN."""
        if self.walk is not None and not self.opened.kernel.is_possible:
            return self.walk.function(arrays)
        return self.run(arrays)


def shows_its_sizes(graph):
    """True if the sizes of its parameters show all Symbols of a graph."""
    shown = {lone_symbol(size) for p in graph.parameters for size in getattr(p.abstract, "shape", ())}
    return symbols_of_graph(graph) <= shown


def walk_of(graph):
    """The Walk of a graph; one that improves itself where it has several steps and nothing depends on when that is."""
    several = len(graph.nodes) >= SEVERAL and config.compile_beside and not config.repeatable
    return (ImprovingWalk if several else Walk)(graph)


def can_walk(graph, open_sizes=False):
    """True if every node is an operator with an eval rule and known sizes. open_sizes: or open ones"""
    if not open_sizes and any(map(_has_open_size, [*graph.outputs, *[arg for node in graph.nodes for arg in node.args]])):
        return False                                         # the number of elements of a mean
    return all((node.fn in eval_rule or node.fn in (tuple_getitem, make_tuple)) and (open_sizes or _is_known(node.abstract))
               and not any(isinstance(v, FuncGraph) for v in node.attrs.values()) for node in graph.nodes)


def _has_open_size(node):
    return isinstance(node, ValueNode) and bool(dims_in(node.value))


def _is_known(abstract):
    if isinstance(abstract, AbstractTensor):
        return all(isinstance(s, int) for s in abstract.shape)
    return all(map(_is_known, abstract.elements)) if isinstance(abstract, AbstractTuple) else True
