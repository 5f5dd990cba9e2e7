"""Copying typed graphs: into another graph (inlining), or node by node through a function; dropping dead nodes."""
from ..common.location import Origin
from .control import make_tuple
from .graph import FuncGraph, CNode, ValueNode


def inline(target, graph, args, by=""):
    """Append copies of `graph`'s nodes to `target`, its parameters being `args`; returns the nodes of its outputs.

    Nested graphs in attributes are shared, not copied: typed graphs are closed, and passes make new ones.
    """
    env = dict(zip(graph.parameters, args))
    for node in graph.nodes:
        origin = Origin(node.origin.location, node, by) if by else node.origin
        copy = CNode(target, node.fn, [_read(env, a) for a in node.args], node.attrs, node.abstract, origin)
        target.nodes.append(copy)
        env[node] = copy
    return [_read(env, output) for output in graph.outputs]


def _read(env, node):
    return node if isinstance(node, ValueNode) else env[node]


def copy_graph(graph, name=None, emit=None):
    """A copy of a typed graph. emit(target, node, args) -> node may replace a node (None keeps it as it is)."""
    target = FuncGraph(name or graph.name, graph.origin)
    env = {}
    for p in graph.parameters:
        env[p] = target.add_parameter(p.name, p.abstract, p.origin, p.default)
    for node in graph.nodes:
        args = [_read(env, a) for a in node.args]
        made = emit(target, node, args) if emit else None
        if made is None:
            made = CNode(target, node.fn, args, node.attrs, node.abstract, node.origin)
            target.nodes.append(made)
        env[node] = made
    target.set_outputs([_read(env, output) for output in graph.outputs], make_tuple)
    return target


def drop_dead_nodes(graph):
    """Remove, in place, the nodes that no output needs; nodes with an effect stay. Returns the graph."""
    used, live, known = set(graph.outputs), [], {}
    for node in reversed(graph.nodes):
        if node in used or has_effect(node, known):
            used.update(node.args)
            live.append(node)
    graph.nodes[:] = reversed(live)
    return graph


def has_effect(node, known=None):
    """True if the node, or one in the graphs that it holds, has an effect. known: a dict that remembers graphs."""
    if "effect" in node.fn.traits:
        return True
    known = {} if known is None else known
    for graph in node.attrs.values():
        if isinstance(graph, FuncGraph):
            if graph not in known:
                known[graph] = any("effect" in n.fn.traits for g in graph.reachable() for n in g.nodes)
            if known[graph]:
                return True
    return False


def clone(graph):
    """A copy of a typed graph and of all graphs below it, for passes that change graphs in place."""
    made = {}
    for old in graph.reachable():
        new = made[old] = FuncGraph(old.name, old.origin)
        for p in old.parameters:
            new.add_parameter(p.name, p.abstract, p.origin, p.default)
    for old, new in made.items():
        env = dict(zip(old.parameters, new.parameters))
        for node in old.nodes:
            attrs = {name: made[v] if isinstance(v, FuncGraph) else v for name, v in node.attrs.items()}
            env[node] = CNode(new, node.fn, [_read(env, a) for a in node.args], attrs, node.abstract, node.origin)
            new.nodes.append(env[node])
        new.set_outputs([_read(env, output) for output in old.outputs], make_tuple)
    return made[graph]
