"""Values that are cheaper to compute again than to store: each reader gets its own.

    %m = equal(%labels[N, 1], %classes[C]) : bool[N, C]             %m  = ..   for the first reader
    .. = where(%m, ..);  .. = cast(%m)                        ->    %m' = ..   for the second

A mask, a range or a number repeated to a large tensor is made of little: reading it from memory takes longer than
making it. So it is with a difference x - mean[C]: to read x is as much as to read the difference, and nothing is stored.
Shared by two clusters it would have to be stored, and it would tie them together (XLA duplicates such producers as
well). Inside one cluster equal expressions are one, so nothing is computed twice there.
"""
from ..backend.target import current
from ..mindir.abstract import AbstractTensor
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph, ValueNode
from .schedule import nominal

CHEAP = {"broadcast_to", "cast", "add", "sub", "mul", "neg", "where", "equal", "not_equal", "less", "less_equal",
         "greater", "greater_equal", "logical_and", "logical_or", "logical_not"}


def recompute_cheap(graph, target=None):
    """A copy of `graph` in which each reader of a cheap large value has its own; `graph` itself where there is none.

    Graphs in attributes stay as they are. target: the Target that says how much larger, and for how many
    readers, by default the current one
    """
    target = target or current()
    made_of: dict = {}
    users: dict = {}
    for node in graph.nodes:
        for arg in node.args:
            users.setdefault(arg, []).append(node)
        cone = _cone(node, made_of, target)
        if cone is not None:
            made_of[node] = cone
    copies, results = {node: 1 for node in graph.nodes}, set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in made_of and node not in results:
            readers = sum(copies[user] for user in users.get(node, ()))
            copies[node] = max(1, readers) if readers <= target.regrown[1] else 1
    return graph if max(copies.values(), default=1) == 1 else _copy(graph, copies)


def _cone(node, made_of, target):
    """(how many operators, {values that they read}) of a cheap node, or None for another."""
    traits, abstract = getattr(node.fn, "traits", ()), node.abstract
    cheap = "creation" in traits or "view" in traits or getattr(node.fn, "name", None) in CHEAP
    if not cheap or not isinstance(abstract, AbstractTensor):
        return None
    count, leaves = 1, set()
    for arg in node.args:
        inner = made_of.get(arg)
        if inner is None:
            leaves.add(arg)
        else:
            count, leaves = count + inner[0], leaves | inner[1]
    read = [leaf.abstract for leaf in leaves if isinstance(leaf.abstract, AbstractTensor)]
    size = abstract.dtype.itemsize
    like = [a for a in read if a.shape == abstract.shape and a.dtype.itemsize <= size] if "elementwise" in traits else []
    small = sum(nominal(a.size) for a in read) - sum(nominal(a.size) for a in like[:1])
    return (count, leaves) if count <= target.regrown[0] and target.regrows * small <= nominal(abstract.size) else None


def _copy(graph, copies):
    """The graph with so many copies of each node; a reader takes the next one that is left."""
    target = FuncGraph(graph.name, graph.origin, graph.kind)
    target.signature = graph.signature
    env: dict = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in graph.parameters}
    waiting: dict = {}

    def read(arg):
        if arg in waiting and len(waiting[arg]) > 1:
            return waiting[arg].pop()
        return arg if isinstance(arg, ValueNode) else env[arg]
    for node in graph.nodes:
        made = [target.add_copy(node, [read(a) for a in node.args]) for _ in range(copies[node])]
        env[node], waiting[node] = made[0], made
    target.set_outputs([read(o) for o in graph.outputs], make_tuple)
    return target
