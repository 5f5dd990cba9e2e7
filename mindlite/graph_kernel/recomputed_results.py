"""Results of clusters that their readers compute again, where that moves fewer bytes than storing and loading them.

    %x = matmul(..) : bf16[N, C]                           %x = matmul(..)
    %y, %t, %s = fused(%x) : bf16, f32, f32        ->      %y = fused(%x)
    %z = matmul(%y, ..)                                    %z = matmul(%y, ..)
    %dx = fused'(%d, %t, %s)                               %dx = fused''(%d, %x)

So GELU keeps its operand for the gradient, not four arrays of float32, and the sum of a bias's gradient reads halves, not their
copy in float32. Which values are stored is known when the clusters are: `cluster` asks here then. A result is dropped where all
who read it are kernels, it is elementwise work on what is in memory anyway, of few operations, and bytes are saved: of all
such results one after the other is stored as before, while that moves fewer bytes (a minimum cut would be exact: He and Yu 2023).
The values are the same to the last bit.
"""
import math
from dataclasses import field
from typing import Any

from ..common.records import dataclass
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.inline import has_effect

SAME_PLACE = frozenset(("reshape", "broadcast_to"))


@dataclass(eq=False)
class Part:
    """A cluster, or a node of its own. members: in program order;  fused: it is a kernel;  elsewhere: on another device"""
    members: list
    fused: bool
    elsewhere: bool = False


@dataclass
class Recomputed:
    """What changes.

    copies  : {number of a part: {id: a node of another part that it computes again}}
    dropped : {id of a result: (the number of its part, the numbers of its readers)}
    """
    copies: dict = field(default_factory=dict)
    dropped: dict = field(default_factory=dict)


class _Graph:
    """Who reads what, and where."""

    def __init__(self, graph, parts):
        self.graph, self.parts = graph, parts
        self.part_of = {id(m): k for k, part in enumerate(parts) for m in part.members}
        self.position = {id(n): k for k, n in enumerate(graph.nodes)}
        self.results = {id(o) for o in graph.outputs}
        self.readers: dict = {}                             # {id of a node: the numbers of the parts that read it, its own not}
        self.effects: dict = {}                             # {id of a node: the positions of effects on it}
        self.reads = [{id(arg) for m in part.members for arg in m.args} for part in parts]
        known: dict = {}
        for node in graph.nodes:
            for arg in node.args:
                if self.part_of.get(id(arg)) != self.part_of[id(node)]:
                    self.readers.setdefault(id(arg), set()).add(self.part_of[id(node)])
            if has_effect(node, known):
                for arg in node.args:
                    self.effects.setdefault(id(arg), []).append(self.position[id(node)])

    def stored(self, number):
        """The members of a part that something else reads."""
        return [m for m in self.parts[number].members if id(m) in self.results or id(m) in self.readers]

    def is_written(self, leaf, nodes, reader):
        """Is a leaf written between the nodes that read it and the part that would do so in their place?"""
        start, stop = min(self.position[id(n)] for n in nodes), self.position[id(self.parts[reader].members[-1])]
        return any(start < at < stop for at in self.effects.get(id(leaf), ()))


def recomputed_results(graph, parts, units, target, refused):
    """A Recomputed, None where every result stays.

    parts   : Parts, which have all nodes of the graph
    units   : {id of a member of a kernel: operations of an element of it}
    refused : ids of results that stay
    """
    known, found = _Graph(graph, parts), Recomputed()
    pinned: set = set()
    for number, part in enumerate(parts):
        if not part.fused:
            continue
        candidates = {id(m): m for m in known.stored(number) if id(m) not in refused and id(m) not in pinned and
                      _may_be_dropped(m, part, known, target)}
        cones = _best(candidates, known, number, _Limits(units, target.recomputed[1], found.dropped))
        for cone in cones.values():
            readers = known.readers[id(cone.node)]
            found.dropped[id(cone.node)] = number, readers
            pinned.update(map(id, cone.leaves))
            for reader in readers:
                copies = found.copies.setdefault(reader, {})
                copies.update((id(n), n) for n in cone.nodes)
    return found if found.dropped else None


def _may_be_dropped(m, part, known, target):
    least, _ = target.recomputed
    return is_recomputable(m) and bytes_of(m) >= least and id(m) not in known.results and \
        all(known.parts[r].fused and known.parts[r].elsewhere == part.elsewhere for r in known.readers[id(m)])


def is_recomputable(node):
    """True for what one thread computes of an element from the elements in the same place."""
    traits = getattr(node.fn, "traits", ())
    plain = "elementwise" in traits or "creation" in traits or getattr(node.fn, "name", None) in SAME_PLACE
    return plain and not {"random", "effect", "volatile"} & set(traits) and isinstance(node.abstract, AbstractTensor) and \
        all(isinstance(size, int) for size in node.abstract.shape)


def bytes_of(node):
    """The bytes of a result, 0 for what is no array of known size."""
    abstract = node.abstract
    if not isinstance(abstract, AbstractTensor) or not all(isinstance(size, int) for size in abstract.shape):
        return 0
    return math.prod(abstract.shape) * abstract.dtype.itemsize


@dataclass(eq=False)
class _Cone:
    """What a result is made of. nodes: those computed again;  leaves: what they read"""
    node: Any
    nodes: list
    leaves: list


@dataclass(eq=False)
class _Limits:
    """units, most: operations of an element of each node, and of a byte of a result at most;  dropped: ids of what is no leaf"""
    units: dict
    most: int
    dropped: dict


def _best(candidates, known, number, limits):
    """{id: _Cone} of the candidates to drop: of all that can be, then one is kept after the other, or a value that several are
    made of is stored in their place, as long as that saves bytes."""
    if not candidates:
        return {}
    search = _Search(candidates, known, number, limits)
    state: tuple = frozenset(candidates), frozenset()
    cones = search.cones(*state)
    least = search.moved(cones)
    while cones:
        wanted = frozenset(cones)
        states = [(wanted - {key}, state[1]) for key in cones] + [(wanted, state[1] | {key}) for key in search.narrower(cones)]
        found = [search.cones(*each) for each in states]
        costs = [search.moved(each) for each in found]
        best = min(range(len(costs)), key=costs.__getitem__)
        if costs[best] > least or best >= len(cones) and costs[best] == least:
            return cones
        state, cones, least = states[best], found[best], costs[best]
    return cones


class _Search:
    """What costs how many bytes, of one part."""

    def __init__(self, candidates, known, number, limits):
        self.candidates, self.known, self.number, self.limits = candidates, known, number, limits
        self.inside = {id(m) for m in known.parts[number].members}
        self.stored = {id(m) for m in known.stored(number)}

    def cones(self, wanted, anew):
        """{id: _Cone} of those candidates of `wanted` that can be computed again; the others stay, and are read, as is what is
        stored anew."""
        while True:
            kept = self.stored - wanted | anew
            cones = {key: _cone(m, self.inside, kept) for key, m in self.candidates.items() if key in wanted}
            bad = {key for key, cone in cones.items() if not _is_cheap(cone, self.limits) or
                   _is_lost(cone, self.known, self.limits.dropped)}
            if not bad:
                return cones
            wanted -= bad

    def narrower(self, cones):
        """The ids of values inside of several cones that have fewer bytes than what they are made of."""
        counts: dict = {}
        for cone in cones.values():
            for n in cone.nodes:
                counts[id(n)] = counts.get(id(n), (0, n))[0] + 1, n
        kept = self.stored - cones.keys()
        return [key for key, (count, n) in counts.items() if count > 1 and key not in cones and
                0 < bytes_of(n) < sum(bytes_of(leaf) for leaf in _cone(n, self.inside, kept).leaves)]

    def moved(self, cones):
        """The bytes that are stored and loaded for the candidates: those that stay, and what is read for those of `cones`."""
        known, written, total = self.known, {}, 0
        read: set = set()
        for key, m in self.candidates.items():
            if key not in cones:
                written[key] = m
            for reader in known.readers[key]:
                for each in cones[key].leaves if key in cones else [m]:
                    if (reader, id(each)) not in read and (id(each) in self.candidates or id(each) not in known.reads[reader]):
                        read.add((reader, id(each)))
                        total += bytes_of(each)
        written.update((id(leaf), leaf) for cone in cones.values() for leaf in cone.leaves
                       if id(leaf) in self.inside and id(leaf) not in self.stored)
        return total + sum(bytes_of(each) for each in written.values())


def _cone(m, inside, kept):
    nodes: dict = {}
    leaves: dict = {}
    todo = [m]
    while todo:
        node = todo.pop()
        if id(node) in nodes:
            continue
        nodes[id(node)] = node
        for arg in node.args:
            if isinstance(arg, ValueNode) and arg.abstract is not None and bytes_of(arg) <= 8:
                continue
            if id(arg) in inside and id(arg) not in kept and is_recomputable(arg):
                todo.append(arg)
            else:
                leaves[id(arg)] = arg
    return _Cone(m, list(nodes.values()), list(leaves.values()))


def _is_cheap(cone, limits):
    """Are its operations, for each byte of the result, few enough?"""
    return sum((1 + limits.units.get(id(n), 0)) * math.prod(n.abstract.shape) for n in cone.nodes) <= \
        limits.most * bytes_of(cone.node)


def _is_lost(cone, known, dropped):
    """Is a leaf no value that the readers would find?"""
    own = known.part_of[id(cone.node)]
    return any(id(leaf) in dropped or not isinstance(leaf.abstract, (AbstractTensor, AbstractScalar)) or
               known.part_of.get(id(leaf)) == own and leaf.fn is tuple_getitem or
               any(known.is_written(leaf, cone.nodes, reader) for reader in known.readers[id(cone.node)])
               for leaf in cone.leaves)


def rewritten(graph, parts, changes):
    """(the graph in which readers compute dropped results again, {number of a part: its Part there}, {id of a node: its copies}).
    A part that nothing reads any longer is gone."""
    made = FuncGraph(graph.name, graph.origin, graph.kind)
    made.signature = graph.signature
    env: dict = {id(p): made.add_parameter(p.name, p.abstract, p.origin, p.default) for p in graph.parameters}
    part_of = {id(m): k for k, part in enumerate(parts) for m in part.members}
    again: dict = {number: {} for number in changes.copies}  # {number of a part: {id of a node: the copy that it has}}
    members: dict = {number: [] for number in range(len(parts))}
    copies: dict = {}

    def add(node, number, args):
        members[number].append(made.add_copy(node, args))
        copies.setdefault(id(node), []).append(made.nodes[-1])
        return made.nodes[-1]

    def compute(node, number):
        if id(node) not in changes.copies[number]:
            return node if isinstance(node, ValueNode) else env[id(node)]
        own = again[number]
        if id(node) not in own:
            own[id(node)] = add(node, number, [compute(arg, number) for arg in node.args])
        return own[id(node)]

    def read(arg, number):
        if isinstance(arg, ValueNode):
            return arg
        return compute(arg, number) if id(arg) in changes.dropped and part_of[id(arg)] != number else env[id(arg)]
    for node in graph.nodes:
        number = part_of[id(node)]
        args = [read(arg, number) for arg in node.args]
        env[id(node)] = add(node, number, args)
    made.set_outputs([o if isinstance(o, ValueNode) else env[id(o)] for o in graph.outputs], make_tuple)
    lost = {number for number, _ in changes.dropped.values()}
    _drop_dead(made, members, lost)
    return made, {k: Part(own, parts[k].fused, parts[k].elsewhere) for k, own in members.items() if own}, copies


def _drop_dead(made, members, lost):
    """Take away what nothing reads of the parts that lost a result, from the graph and from their members."""
    inside = {id(m) for number in lost for m in members[number]}
    read, live = {id(o) for o in made.outputs}, []
    for node in reversed(made.nodes):
        if id(node) in read or id(node) not in inside:
            live.append(node)
            read.update(map(id, node.args))
    made.nodes[:] = live[::-1]
    alive = set(map(id, live))
    for number in lost:
        members[number] = [m for m in members[number] if id(m) in alive]
