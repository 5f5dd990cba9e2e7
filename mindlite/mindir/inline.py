"""Copying typed graphs: into another graph (inlining), or node by node through a function; dropping dead nodes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..common.annotations import Function
from ..common.dim import Dim, Symbol, substitute, symbols_of
from ..common.location import Origin
from .abstract import AbstractTape, AbstractTuple, map_dims, symbols_of_abstract
from .control import make_tuple, tuple_getitem, undefined
from .graph import AnfNode, CNode, FuncGraph, Parameter, ValueNode


def inline(target: FuncGraph, graph: FuncGraph, args: Any, by: str = "") -> list[AnfNode]:
    """Append copies of `graph`'s nodes to `target`, its parameters being `args`; returns the nodes of its outputs.

    Nested graphs in attributes are shared, not copied: typed graphs are closed, and passes make new ones.
    """
    env: dict = dict(zip(graph.parameters, args))
    for node in graph.nodes:
        origin = Origin(node.origin.location, node, by) if by else node.origin
        env[node] = target.add_copy(node, [_read(env, a) for a in node.args], origin)
    return [_read(env, output) for output in graph.outputs]


def _read(env: dict[AnfNode, AnfNode], node: AnfNode) -> AnfNode:
    return node if isinstance(node, ValueNode) else env[node]


def copy_nodes(target: FuncGraph, nodes: Sequence[CNode], env: dict, emit: Function | None = None) -> None:
    """Append copies of nodes to `target`, or what stands for them.

    env  : {node: what stands for it}, is filled
    emit : (target, node, args) -> what stands for a node, of several results a tuple; None: its copy
    """
    for node in nodes:
        args = [env.get(a, a) for a in node.args]
        if node.fn is tuple_getitem and isinstance(args[0], tuple):
            env[node] = args[0][node.attrs["index"]]
            continue
        made = emit(target, node, args) if emit else None
        env[node] = target.add_copy(node, args) if made is None else made


def copy_graph(graph: FuncGraph, emit: Function | None = None, into: FuncGraph | None = None) -> FuncGraph:
    """A copy of a typed graph. emit: as for `copy_nodes`; into: the new graph, if it is there already, empty"""
    target = into or FuncGraph(graph.name, graph.origin, graph.kind)
    target.signature = graph.signature
    env: dict = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in graph.parameters}
    copy_nodes(target, graph.nodes, env, emit)
    target.set_outputs([env.get(output, output) for output in graph.outputs], make_tuple)
    return target


def with_sizes(graph: FuncGraph, sizes: dict, whole: bool = True) -> FuncGraph:
    """A copy of a typed graph, and of all graphs below it, with ints or Dims in place of some Symbols.

    sizes : {Symbol: int or Dim}
    whole : other Symbols, sizes that data decides, get new ones of their own; else they stay
    """
    every = graph.reachable()
    env = {s: Symbol(s.name, *s.bounds()).dim for s in set().union(*[
        symbols_of_abstract(n.abstract) for g in every for n in (*g.parameters, *g.nodes)])} if whole else {}
    env.update(sizes)
    if not env:
        return clone(graph)
    made: dict = {}

    def value(v):
        return made[v] if isinstance(v, FuncGraph) else map_dims(lambda size: substitute(size, env), v)

    def operand(env, node):
        return ValueNode(value(node.value), value(node.abstract), node.origin) if isinstance(node, ValueNode) else env[node]
    for old in every:
        new = made[old] = FuncGraph(old.name, old.origin)
        for p in old.parameters:
            new.add_parameter(p.name, value(p.abstract), p.origin, p.default)
    for old, new in made.items():
        inside = dict(zip(old.parameters, new.parameters))
        for node in old.nodes:
            inside[node] = CNode(new, node.fn, [operand(inside, a) for a in node.args],
                                 {name: value(v) for name, v in node.attrs.items()}, value(node.abstract), node.origin)
            new.nodes.append(inside[node])
        new.set_outputs([operand(inside, output) for output in old.outputs], make_tuple)
    return made[graph]


def drop_dead_nodes(graph: FuncGraph, tapes: bool = False) -> FuncGraph:
    """Remove, in place, the nodes that no output needs; nodes with an effect stay. Returns the graph.

    tapes : what takes a tape that is made here stays with it. A graph that will be differentiated wants that: behind the
            last pop a tape is empty, and so is its cotangent; behind mere pushes it would have to hold zeros
    """
    outputs = list(graph.outputs)
    while True:
        live = live_nodes(graph, outputs)[0]
        kept, more = set(live), []
        for node in graph.nodes if tapes else ():
            if node not in kept and any(_is_tape_of(a, kept) for a in node.args):
                more.append(node)
        if not more:
            graph.nodes[:] = live
            return graph
        outputs += more


def _is_tape_of(value: AnfNode, nodes: set[CNode]) -> bool:
    """True for a tape that one of the nodes gives."""
    return isinstance(value, CNode) and isinstance(value.abstract, AbstractTape) and (
        value in nodes or value.fn is tuple_getitem and value.args[0] in nodes)


def live_nodes(graph: FuncGraph, outputs: Sequence[AnfNode], effects: bool = True) -> tuple[list[CNode], set[AnfNode]]:
    """(the nodes that these outputs, or effects, need, in order; the set of what they and the outputs read).

    A node may be needed for its size only: `nonzero(x).shape[0] * 2` uses a Symbol that only running nonzero binds.
    effects: False leaves out effects that the outputs do not need
    """
    used, live, sizes = set(outputs), [], set()
    known: dict = {}
    held: dict = {}
    binds = _sizes_bound(graph, held)
    if binds:
        for output in outputs:
            sizes |= _symbols_in(output, held)
    for node in reversed(graph.nodes):
        if node in used or effects and has_effect(node, known) or (node in binds and not sizes.isdisjoint(binds[node])):
            used.update(node.args)
            live.append(node)
            if binds:
                sizes |= _symbols_read(node, held) | symbols_of_abstract(node.abstract)
    return live[::-1], used


def users_of(graph: FuncGraph) -> dict[AnfNode, list[CNode]]:
    """{node: those that read it, once for each time that they do, the node of the outputs among them}, of what is read at all."""
    users: dict = {}
    for node in [*graph.nodes, graph.output]:
        for arg in node.args:
            users.setdefault(arg, []).append(node)
    return users


def without_effects(graph: FuncGraph) -> FuncGraph:
    """A copy of a typed graph, and of those below it, that computes its outputs and does nothing else."""
    made = clone(graph)
    for inner in made.reachable():
        inner.nodes[:] = live_nodes(inner, inner.outputs, effects=False)[0]
    return made


def _sizes_bound(graph: FuncGraph, held: dict) -> dict:
    """{node: the Symbols of its sizes that only running it tells: no parameter and no node before it has them}.

    held: {graph below: its `_symbols_from_outside`}, which is filled. An undefined value has no sizes.
    """
    binds: dict = {}
    seen: set = set()
    for p in graph.parameters:
        seen |= symbols_of_abstract(p.abstract)
    for node in graph.nodes:
        fresh = symbols_of_abstract(node.abstract) - seen
        if fresh and node.fn is not undefined:
            seen |= fresh
            fresh -= _symbols_read(node, held)
            if fresh:
                binds[node] = fresh
    return binds


def _symbols_from_outside(graph: FuncGraph, held: dict[FuncGraph, set]) -> set:
    """The Symbols that a graph below a node uses, and that none of its parameters and nodes bind."""
    if graph not in held:
        held[graph] = set()                                  # of a recursion: what it uses beside its calls of itself
        read = set().union(*[_symbols_read(node, held) for node in graph.nodes])
        if graph.output is not None:
            read = read.union(*[_symbols_in(output, held) for output in graph.outputs])
        held[graph] = read.difference(*[symbols_of_abstract(p.abstract) for p in graph.parameters],
                                      *_sizes_bound(graph, held).values()) if read else read
    return held[graph]


def size_edges(graph: FuncGraph) -> list:
    """[(a node that binds a Symbol, a node that uses the Symbol)]: the order of these nodes, beside that of operands."""
    held: dict = {}
    binds = {symbol: node for node, symbols in _sizes_bound(graph, held).items() for symbol in symbols}
    if not binds:
        return []
    position = {node: number for number, node in enumerate(graph.nodes)}
    return [(binds[symbol], node) for node in graph.nodes
            for symbol in _symbols_read(node, held) | symbols_of_abstract(node.abstract)
            if symbol in binds and position[binds[symbol]] < position[node]]


def sized_results(graph: FuncGraph) -> dict:
    """{node of several results: the numbers of those whose Symbols it binds and something else uses}."""
    found = {}
    held: dict = {}
    for node, symbols in _sizes_bound(graph, held).items():
        if isinstance(node.abstract, AbstractTuple):
            others = [n for n in graph.nodes if n is not node and node not in n.args]
            used = symbols.intersection(*[set().union(*[_symbols_read(n, held) for n in others],
                                                      *[_symbols_in(output, held) for output in graph.outputs])])
            found[node] = {number for number, part in enumerate(node.abstract.elements) if symbols_of_abstract(part) & used}
    return found


def symbols_needed(graph: FuncGraph, outputs: Any) -> Any:
    """The Symbols in what these outputs, or effects, need."""
    held: dict = {}
    return set().union(*[_symbols_in(output, held) for output in outputs], *[
        _symbols_read(node, held) | symbols_of_abstract(node.abstract) for node in live_nodes(graph, outputs)[0]])


def symbols_used(graph: FuncGraph) -> set:
    """The Symbols that the nodes of a graph, and of those below it, compute with or have as sizes."""
    every = graph.reachable()
    held: dict = dict.fromkeys(every, set())                 # each graph is looked at by itself
    return set().union(*[_symbols_read(n, held) | symbols_of_abstract(n.abstract) for g in every for n in g.nodes],
                       *[_symbols_in(output, held) for g in every if g.output is not None for output in g.outputs],
                       *[symbols_of_abstract(p.abstract) for g in every if g is not graph for p in g.parameters])


def symbols_of_graph(graph: FuncGraph) -> set:
    """All Symbols of a graph: `symbols_used` and those in the sizes of its parameters."""
    return symbols_used(graph).union(*[symbols_of_abstract(p.abstract) for p in graph.parameters])


_PLAIN = frozenset((int, bool, float, str, type(None)))


def _symbols_in(value: Any, held: dict[FuncGraph, set]) -> set:
    """The Symbols of a node, or of a value among its attributes; of a graph those that it has from outside."""
    if type(value) in _PLAIN:
        return set()
    if isinstance(value, Dim):
        return symbols_of(value)
    if isinstance(value, ValueNode):
        return _symbols_in(value.value, held) | symbols_of_abstract(value.abstract)
    if isinstance(value, (tuple, list)):
        return set().union(*[_symbols_in(v, held) for v in value])
    if isinstance(value, FuncGraph):
        return _symbols_from_outside(value, held)
    if isinstance(value, Parameter) or isinstance(value, CNode) and value.fn is not undefined:
        return symbols_of_abstract(value.abstract)
    return set()


def _symbols_read(node: CNode, held: dict[FuncGraph, set]) -> set[Symbol]:
    """The Symbols in the operands and attributes of a node."""
    return set().union(*[_symbols_in(v, held) for v in (*node.args, *node.attrs.values())])


def has_effect(node: Any, known: dict[FuncGraph, bool] | None = None) -> bool:
    """True if the node, or one in the graphs that it calls or holds, has an effect. known: a dict that remembers graphs."""
    if "effect" in getattr(node.fn, "traits", ()):
        return True
    known = {} if known is None else known
    for graph in (node.fn, *node.attrs.values()):
        if isinstance(graph, FuncGraph):
            if graph not in known:
                known[graph] = graph.output is None or has_effects(graph)
            if known[graph]:
                return True
    return False


def has_effects(graph: FuncGraph) -> bool:
    """True if a node of the graph, or of one below it, must not be dropped. A graph below it that is still being written (it
    has no outputs yet, as that of a recursion) may come to have an effect."""
    return any("effect" in getattr(node.fn, "traits", ()) for g in graph.reachable() for node in g.nodes) or any(
        g.output is None for g in graph.reachable() if g is not graph)


def clone(graph: FuncGraph) -> FuncGraph:
    """A copy of a typed graph and of all graphs below it, for passes that change graphs in place."""
    made = {}
    for old in graph.reachable():
        new = made[old] = FuncGraph(old.name, old.origin)
        for p in old.parameters:
            new.add_parameter(p.name, p.abstract, p.origin, p.default)
    for old, new in made.items():
        env: dict = dict(zip(old.parameters, new.parameters))
        for node in old.nodes:
            attrs = {name: made[v] if isinstance(v, FuncGraph) else v for name, v in node.attrs.items()}
            env[node] = new.add_copy(node, [_read(env, a) for a in node.args], attrs=attrs)
        new.set_outputs([_read(env, output) for output in old.outputs], make_tuple)
    return made[graph]
