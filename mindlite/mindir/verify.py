"""The verifier of typed graphs: what has to hold between two passes is looked at, and a fault says where it was made.

    verify(graph, "simplify, of the stage optimise")     raises InternalError at the user's line, naming the node

| of | what holds |
|---|---|
| a graph | it is closed: what a node reads is a constant, a parameter of its graph, or stands before it in the same graph |
| a node | its type is what the infer rule of its operator says: dtype, axes, sizes as far as they can be told apart |
| a size | what it is computed from is bound above: by a parameter, a node before, a graph around |
| cond, while_loop, call | operands, parameters, state and results of their graphs are as many and of the same types |
| effects | Python code runs in the order in which it stood before the pass |

Rules are asked once for each operator, types and attributes (MAX_KNOWN are remembered), so what a pass leaves as is costs a look.
In the manner of LLVM's and MLIR's verifiers, which check operation by operation after each pass.
"""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, Iterable

from ..common.dim import Dim, compare, lone_symbol, symbols_of
from ..common.errors import InternalError, MindliteError
from .abstract import AbstractScalar, AbstractTensor, AbstractTuple, symbols_of_abstract
from .constraints import collecting
from .control import J, Vmap, call, check, cond, gate, make_tuple, segment, tuple_getitem, undefined, while_loop
from .graph import AnfNode, CNode, FuncGraph, Parameter, ValueNode
from .primitive import infer_rule

MAX_KNOWN = 1 << 14
_UNRULED = {cond, while_loop, call, J, Vmap, make_tuple, tuple_getitem, segment, check, undefined}
_known: OrderedDict = OrderedDict()


def verify(graph: FuncGraph, where: str, before: Iterable | None = None) -> None:
    """Look at a typed graph and all below it.

    where  : which pass has made it, for the error          before: `order_of_effects` of the graph before that pass
    raises : InternalError that names the pass, the graph, the node and the user's line
    """
    _Verifier(where).outermost(graph)
    if before is not None:
        _same_order(graph, list(before), where)


def order_of_effects(graph: FuncGraph) -> list:
    """What Python runs, in the order in which it stands in the graph and, at their calls, in the graphs below: [(id of the
    function, node)]. Gradients of the user's, which stand elsewhere once they are derived, are left out."""
    seen = set()
    found: dict = {}

    def walk(inner: FuncGraph) -> None:
        if inner in seen:
            return
        seen.add(inner)
        for node in inner.nodes:
            if node.fn is segment:
                found.setdefault(id(node.attrs["function"]), node)
            for name, value in (("", node.fn), *node.attrs.items()):
                if isinstance(value, FuncGraph) and node.fn is not gate and name != "bprop":
                    walk(value)
    walk(graph)
    return list(found.items())


def _same_order(graph: FuncGraph, before: list, where: str) -> None:
    after, rank = dict(order_of_effects(graph)), {key: number for number, (key, _) in enumerate(before)}
    last = -1
    for key, node in after.items():
        if key in rank:
            if rank[key] < last:
                raise _fault(where, graph, node, "it runs Python code behind code that stood behind it before the pass")
            last = rank[key]


def _fault(where: str, graph: FuncGraph, node: Any, what: str) -> InternalError:
    name = node.name if isinstance(node, Parameter) else getattr(node.fn, "name", node.fn) if isinstance(node, CNode) else node
    return InternalError(f"behind the pass {where}: in {graph.name}, {name} : {node.abstract}: {what}",
                         location=node.origin.location)


class _Verifier:
    """One walk over a graph and those below it, each once, under the Symbols that are bound where it stands first."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.done: set = set()

    def fault(self, graph: FuncGraph, node: Any, what: str) -> InternalError:
        return _fault(self.where, graph, node, what)

    def outermost(self, graph: FuncGraph) -> None:
        self.graph(graph, frozenset())

    def graph(self, graph: FuncGraph, outside: frozenset) -> None:
        if graph in self.done:
            return
        self.done.add(graph)
        bound = set(outside)
        seen: set[AnfNode] = set(graph.parameters)
        for p in graph.parameters:
            if p.abstract is None:
                raise self.fault(graph, p, "it has no type")
            bound |= symbols_of_abstract(p.abstract)
        for node in graph.nodes:
            self.reads(graph, node, node.args, seen)
            if node.abstract is None:
                raise self.fault(graph, node, "it has no type")
            self.sizes(graph, node, bound)
            self.types(graph, node)
            seen.add(node)
            for value in (node.fn, *node.attrs.values()):
                if isinstance(value, FuncGraph):
                    self.graph(value, frozenset(bound))
        if not isinstance(graph.output, CNode) or graph.output.fn is not make_tuple:
            raise InternalError(f"behind the pass {self.where}: {graph.name} has no make_tuple as its output",
                                location=graph.origin.location)
        self.reads(graph, graph.output, graph.outputs, seen)

    def reads(self, graph: FuncGraph, node: CNode, args: Iterable[AnfNode], seen: set) -> None:
        """Closedness, and that a value is made before it is read."""
        for arg in args:
            if isinstance(arg, ValueNode) or arg in seen:
                continue
            of = getattr(getattr(arg, "graph", None), "name", None)
            at = node if node is not graph.output else arg
            raise self.fault(graph, at, f"it reads {arg!r}, " + (
                "which stands behind it" if getattr(arg, "graph", None) is graph else f"which is a value of {of}"))

    def sizes(self, graph: FuncGraph, node: CNode, bound: set) -> None:
        """The scope of sizes: a result's size that is a single Symbol binds it, all others are computed from bound ones; J and
        Vmap stand for a graph that may bind any inside."""
        if node.fn is undefined:
            return
        for value in (*node.attrs.values(), *[a.value for a in node.args if isinstance(a, ValueNode)]):
            for symbol in _symbols_read(value):
                if symbol not in bound and node.fn not in (J, Vmap):
                    raise self.fault(graph, node, f"nothing above it has the size {symbol}")
        shapes = [a.shape for a in _elements(node.abstract) if isinstance(a, AbstractTensor)]
        single = {lone_symbol(s) for shape in shapes for s in shape} | {
            lone_symbol(a.dim) for a in _elements(node.abstract) if isinstance(a, AbstractScalar) and isinstance(a.dim, Dim)}
        bound |= single - {None}
        if node.fn in (J, Vmap):
            bound |= {symbol for shape in shapes for size in shape for symbol in symbols_of(size)}
        for shape in shapes:
            for size in shape:
                for symbol in symbols_of(size):
                    if symbol not in bound:
                        raise self.fault(graph, node, f"its size {size} is computed from {symbol}, which nothing above it has")

    # ------------------------------------------------------------ types

    def types(self, graph: FuncGraph, node: CNode) -> None:
        if node.fn is cond:
            self.branch(graph, node)
        elif node.fn is while_loop:
            self.loop(graph, node)
        elif node.fn is call:
            self.passed(graph, node, "it passes", [a.abstract for a in node.args],
                        [p.abstract for p in node.attrs["graph"].parameters])
            self.results(graph, node, node.attrs["graph"])
        elif node.fn is tuple_getitem:
            of, index = node.args[0].abstract, node.attrs["index"]
            if not isinstance(of, AbstractTuple) or not 0 <= index < len(of.elements):
                raise self.fault(graph, node, f"{of} has no element {index}")
            self.alike(graph, node, "its operand's element is", of.elements[index], node.abstract)
        elif isinstance(node.fn, FuncGraph):
            self.passed(graph, node, "it is given", [a.abstract for a in node.args], [p.abstract for p in node.fn.parameters])
        elif node.fn not in _UNRULED:
            made = self.inferred(graph, node)
            if made is not None:
                self.alike(graph, node, "its infer rule says", made, node.abstract)

    def inferred(self, graph: FuncGraph, node: CNode) -> Any:
        """What the infer rule says of a node; None where its operator has none, or the operands' sizes are open."""
        rule = infer_rule.get(node.fn)
        if rule is None:
            return None
        abstracts = tuple([a.abstract for a in node.args])
        try:
            key: Any = node.fn, abstracts, tuple(node.attrs.items())
            made = _known.get(key)
        except TypeError:                                    # an attribute without a hash: a function, a list
            key, made = None, None
        if made is None:
            try:
                with collecting():
                    made = rule(*abstracts, **node.attrs)
            except MindliteError as error:
                raise self.fault(graph, node, f"its infer rule refuses its operands: {error.message}") from error
            if key is not None:
                _known[key] = made
                if len(_known) > MAX_KNOWN:
                    _known.popitem(last=False)
        return made

    def branch(self, graph: FuncGraph, node: CNode) -> None:
        pred = node.args[0].abstract
        if not (isinstance(pred, AbstractScalar) or isinstance(pred, AbstractTensor) and pred.shape == ()):
            raise self.fault(graph, node, f"its condition is {pred}")
        for side in ("true", "false"):
            inner = node.attrs[side]
            self.passed(graph, node, f"its side {side} takes", [p.abstract for p in inner.parameters],
                        [a.abstract for a in node.args[1:]])
            self.results(graph, node, inner)

    def loop(self, graph: FuncGraph, node: CNode) -> None:
        test, body, count = node.attrs["cond"], node.attrs["body"], len(node.args) - node.attrs["invariants"]
        given = [a.abstract for a in node.args]
        if count < 0:
            raise self.fault(graph, node, f"it has {node.attrs['invariants']} invariants and {len(given)} operands")
        for inner in (test, body):
            self.passed(graph, node, f"{inner.name} takes", [p.abstract for p in inner.parameters], given)
        if len(test.outputs) != 1:
            raise self.fault(graph, node, f"its condition gives {len(test.outputs)} values")
        # a size of the state is that of one iteration inside, and that of the last one outside: of those nothing is known here
        of_iterations = set().union(*(symbols_of_abstract(p.abstract) for p in body.parameters[:count]))
        settled = [number for number, out in enumerate(body.outputs)
                   if not of_iterations & symbols_of_abstract(out.abstract)]
        if len(body.outputs) != count or len(node.abstract.elements) != count:
            raise self.fault(graph, node, f"its body gives {len(body.outputs)} values, not {count}")
        for number in settled:
            self.alike(graph, node, "its body gives", body.outputs[number].abstract, given[number])
            self.alike(graph, node, f"{body.name} gives", body.outputs[number].abstract, node.abstract.elements[number])
        for out, result in zip(body.outputs, node.abstract.elements):
            if not _same_kind(out.abstract, result):
                raise self.fault(graph, node, f"{body.name} gives {out.abstract}, not {result}")

    def results(self, graph: FuncGraph, node: CNode, inner: FuncGraph) -> None:
        if inner.output is not None:
            self.passed(graph, node, f"{inner.name} gives", [o.abstract for o in inner.outputs], list(node.abstract.elements))

    def passed(self, graph: FuncGraph, node: CNode, what: str, have: list, want: list) -> None:
        if len(have) != len(want):
            raise self.fault(graph, node, f"{what} {len(have)} values, not {len(want)}")
        for a, b in zip(have, want):
            self.alike(graph, node, what, a, b)

    def alike(self, graph: FuncGraph, node: CNode, what: str, have: Any, want: Any) -> None:
        if not _alike(have, want):
            raise self.fault(graph, node, f"{what} {have}, not {want}")


def _alike(a: Any, b: Any) -> bool:
    """True unless two types cannot be those of one value: sizes differ where no values of their Symbols make them equal."""
    if a is b:
        return True
    if isinstance(a, AbstractTensor) and isinstance(b, AbstractTensor):
        return a.dtype is b.dtype and len(a.shape) == len(b.shape) and all(
            m is n or compare("==", m, n) is not False for m, n in zip(a.shape, b.shape))
    if isinstance(a, AbstractTuple) and isinstance(b, AbstractTuple):
        return len(a.elements) == len(b.elements) and all(map(_alike, a.elements, b.elements))
    if isinstance(a, AbstractScalar) and isinstance(b, AbstractScalar):
        return a.type is b.type
    return type(a) is type(b)


def _same_kind(a: Any, b: Any) -> bool:
    """True where two types differ in sizes at most."""
    if isinstance(a, AbstractTensor) and isinstance(b, AbstractTensor):
        return a.dtype is b.dtype and len(a.shape) == len(b.shape)
    return type(a) is type(b)


def _elements(abstract: Any) -> tuple:
    return abstract.elements if isinstance(abstract, AbstractTuple) else (abstract,)


def _symbols_read(value: Any) -> set:
    """The Symbols in an attribute or a constant, but for types that it names."""
    if isinstance(value, Dim):
        return symbols_of(value)
    if type(value) in (tuple, list):
        return set().union(*map(_symbols_read, value))
    return set()
